"""`PerOutput`: a combiner of its own for each binary machine of a multiclass problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._parameters import shown
from ..machines.base import join
from ..machines.multiclass import in_threads
from ..views import Views
from .base import Combination, Combiner, warn_of_memory


class PerOutput(Combiner):
    """One combined kernel for each output of a machine, each found by a copy of the same combiner.

    Optimises, for each class (one-vs-all) or pair of classes (one-vs-one) by itself, what `combiner` optimises. Made by
    ``MKLClassifier(weights="per-class")``.

    Parameters
    ----------
    combiner : Combiner

    Attributes
    ----------
    combiners_ : list of Combiner
        The fitted copies, in the order of the machine's outputs.

    Notes
    -----
    Memory: the P Gram matrices, and for one-vs-one those of one pair a running thread beside them.

    Examples
    --------
    >>> from kernelweave.combiners import ConvexMKL
    >>> PerOutput(ConvexMKL())
    PerOutput(combiner=ConvexMKL())
    """

    def __init__(self, combiner: Combiner):
        self.combiner = combiner

    def fit(self, stack, machine, y, rng, tol=1e-3, max_steps=None, progress=None) -> Combination:
        """Fit a copy of the combiner to each output."""
        if not isinstance(self.combiner, Combiner):
            raise ValueError(f"combiner of PerOutput must be a combiner such as Mean(), not {shown(self.combiner)}")
        warn_of_memory(stack)
        outputs = machine.outputs()
        self.combiners_ = [clone(self.combiner) for _ in outputs]
        seeds = rng.randint(np.iinfo(np.int32).max, size=len(outputs))
        if self.combiner.reads_gram and any(len(rows) < stack.n_samples for rows, _ in outputs):
            stack.matrices()  # once for all pairs

        def fit_one(output: int) -> Combination:
            rows, part = outputs[output]
            inner = stack if len(rows) == stack.n_samples else stack.subset(rows)
            own = np.random.RandomState(seeds[output])
            return self.combiners_[output].fit(inner, part, (part.strata > 0).astype(int), own, tol, max_steps)

        found = in_threads(fit_one, range(len(outputs)), machine.n_jobs)
        coef = np.zeros((stack.n_samples, len(outputs)))
        for output, (rows, _) in enumerate(outputs):
            coef[rows, output] = found[output].solution.coef[:, 0]
        if progress is not None:
            progress(len(outputs), len(outputs))
        thetas = [part.theta for part in found]
        state = OutputStates([part.state for part in found], [rows for rows, _ in outputs], self._active(found), thetas)
        history = [{"output": output, **line} for output, part in enumerate(found) for line in part.history]
        solution = join([part.solution for part in found], coef)
        return Combination(state, np.concatenate(thetas), solution, history)

    @property
    def takes_fetch(self) -> bool:
        """As the combiner does."""
        return self.combiner.takes_fetch

    def _active(self, found: list[Combination]) -> list[np.ndarray]:
        return [combiner.active(part.state, part.theta) for combiner, part in zip(self.combiners_, found, strict=True)]

    def active(self, state: OutputStates, theta: np.ndarray) -> np.ndarray:
        """The kernels that some output evaluates."""
        return np.any(state.active, axis=0)

    def gram(self, state: OutputStates, theta: np.ndarray) -> np.ndarray:
        """There is no single kernel."""
        raise ValueError("with weights per class there is no single combined kernel; ask combiners_ one by one")

    def cross(self, state: OutputStates, theta: np.ndarray, views: Views) -> np.ndarray:
        """There is no single kernel."""
        raise ValueError("with weights per class there is no single combined kernel; ask combiners_ one by one")

    def values(self, state: OutputStates, theta: np.ndarray, views: Views, coef: np.ndarray) -> np.ndarray:
        """Each output's own kernel times its own coefficients."""
        parts = zip(self.combiners_, state.states, state.thetas, state.rows, coef.T, strict=True)
        columns = [
            combiner.values(inner, own, views, column[rows, None]) for combiner, inner, own, rows, column in parts
        ]
        return np.hstack(columns)

    def kernel_weights(self, state: OutputStates, theta: np.ndarray, views: Views) -> np.ndarray:
        """The weight of each kernel for each new sample and output, of shape (n_new, n_outputs, n_kernels)."""
        parts = zip(self.combiners_, state.states, state.thetas, strict=True)
        return np.stack([combiner.kernel_weights(inner, own, views) for combiner, inner, own in parts], axis=1)

    def global_weights(self, state: OutputStates, theta: np.ndarray) -> np.ndarray:
        """One row of weights for each output."""
        parts = zip(self.combiners_, state.states, state.thetas, strict=True)
        return np.stack([combiner.global_weights(inner, own) for combiner, inner, own in parts])

    def sample_weights(self, state: OutputStates, theta: np.ndarray) -> np.ndarray | None:
        """The weights of training samples, of shape (n_samples, n_outputs, n_kernels); NaN for those of other pairs."""
        parts = zip(self.combiners_, state.states, state.thetas, strict=True)
        found = [combiner.sample_weights(inner, own) for combiner, inner, own in parts]
        if any(weights is None for weights in found):
            return None
        n_samples = 1 + max(rows.max() for rows in state.rows)
        weights = np.full((n_samples, len(found), found[0].shape[1]), np.nan)
        for output, (rows, own) in enumerate(zip(state.rows, found, strict=True)):
            weights[rows, output] = own
        return weights

    def reads(self, state: OutputStates) -> np.ndarray:
        """What some output reads beside the columns of kernels."""
        parts = zip(self.combiners_, state.states, strict=True)
        return np.unique(np.concatenate([combiner.reads(inner) for combiner, inner in parts]))

    def values_per_sample(self, state: OutputStates, coef: np.ndarray) -> int:
        """The most that an output takes."""
        parts = zip(self.combiners_, state.states, state.rows, strict=True)
        return max(combiner.values_per_sample(inner, coef[rows]) for combiner, inner, rows in parts)

    def evaluations(self, state: OutputStates, theta: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """How many support vectors each kernel compares a new sample with, for some output."""
        needed = np.zeros((len(coef), len(state.active[0])), dtype=bool)
        for column, active in zip(coef.T, state.active, strict=True):
            needed |= (column != 0.0)[:, None] & active
        return needed.sum(axis=0).astype(float)


class OutputStates:
    """What prediction needs of the training samples, for each output.

    Parameters
    ----------
    states : list of object
        The combiners' states.
    rows : list of ndarray
        The positions of each output's samples among all.
    active : list of ndarray of bool
        The kernels each output evaluates.
    thetas : list of ndarray
        The combiners' parameters, which may be more for one output than for another.
    """

    def __init__(self, states: list[Any], rows: list[np.ndarray], active: list[np.ndarray], thetas: list[np.ndarray]):
        self.states, self.rows, self.active, self.thetas = states, rows, active, thetas

    def restrict(self, rows: np.ndarray, active: np.ndarray) -> OutputStates:
        """Keep support vectors (of any output) and each output's own active kernels."""
        states, places = [], []
        for state, own_rows, own_active in zip(self.states, self.rows, self.active, strict=True):
            own = np.flatnonzero(np.isin(own_rows, rows))
            states.append(state.restrict(own, own_active))
            places.append(np.searchsorted(rows, own_rows[own]))
        return OutputStates(states, places, self.active, self.thetas)

    def replace(self, m: int, kernel: Any) -> None:
        """Put a kernel that is extended by new ids in the place of kernel m, for every output."""
        for state in self.states:
            state.replace(m, kernel)

    def lookups(self, active: np.ndarray) -> list[tuple[Any, np.ndarray]]:
        """The precomputed matrices inside the kernels of every output, each with the ids that prediction needs."""
        parts = zip(self.states, self.active, strict=True)
        return [found for state, own_active in parts for found in state.lookups(own_active)]
