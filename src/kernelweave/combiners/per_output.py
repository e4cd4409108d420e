"""`PerOutput`: a combiner of its own for each class, pair of classes or target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from ..arrays import Place
from ..kernels import Kernel, KernelStack
from ..machines import Machine
from ..machines.base import join
from ..machines.independent import in_threads
from ..stacks import FitControl, TrainingStack
from ..validation import Constraints, Instance, check_parameters
from ..validation.schemas import Schema, Sizes, agree, anything, expect, flags, indices, numbers, object_of, several
from ..views import Views
from .base import Combiner, check_record, fit_combiner
from .combined import RECORDS, CombinedKernel, ExplicitState, Record, record_of, restored


class OutputStates(Record):
    """For each output: ``states`` (its record), ``rows``, ``active``, ``thetas``."""

    _saved = Schema(
        {
            "rows": several(indices("own", below="support"), own=("own",)),
            "active": several(flags("kernels")),
            "thetas": several(numbers("own"), own=("own",)),
            "states": anything,
        }
    )

    @classmethod
    def of(cls, kernel: Any) -> Self:
        states = [record_of(own) for own in kernel.kernels]
        # The very array that a record holds, so that the file holds it once.
        pairs = zip(kernel.kernels, states, strict=True)
        active = [own.stack.active if isinstance(state, KernelStack) else own.active for own, state in pairs]
        return cls(states=states, rows=kernel.rows_of, active=active, thetas=[own.theta for own in kernel.kernels])

    def restored(self, combiner: Any, theta: np.ndarray) -> OutputKernels:
        parts = zip(combiner.combiners_, self.states, self.thetas, strict=True)
        return OutputKernels([restored(*part) for part in parts], self.rows)

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        for name in ("rows", "active", "thetas"):
            expect(len(self.states), len(getattr(self, name)), f"{path}.{name}", "outputs")
        for place, (state, rows) in enumerate(zip(self.states, self.rows, strict=True)):
            own = {**sizes, "own": len(rows)}
            object_of(RECORDS, "kernels", "columns", support="own")(state, own, f"{path}.states[{place}]")
            sizes.update((name, own[name]) for name in ("kernels", "columns") if name in own)


class PerOutput(Combiner):
    """One combined kernel for each output of a machine, each found by a copy of the same combiner.

    Optimises, for each class (one-vs-all), pair of classes (one-vs-one) or target by itself, what `combiner` optimises.
    Made by ``MKLClassifier(weights="per-class")`` and ``MKLRegressor(weights="per-target")``.

    Parameters
    ----------
    combiner : Combiner

    Attributes
    ----------
    combiners_ : list of Combiner
        The fitted copies, in the order of the machine's outputs.

    Notes
    -----
    Memory: the P Gram matrices; one-vs-one adds, for each thread, those of one pair of classes. With
    ``storage="lazy"``, what the combiner takes for each output. With explicit features (one-vs-all and several
    targets): what the combiner takes, and the features once for all outputs.

    Examples
    --------
    >>> from kernelweave.combiners import ConvexMKL
    >>> PerOutput(ConvexMKL())
    PerOutput(combiner=ConvexMKL())
    """

    _constraints = Constraints(combiner=Instance(Combiner, "a combiner such as Mean()"))

    _saved = Schema({"combiners_": several(object_of(Combiner))})
    _records = OutputStates, ExplicitState

    def __init__(self, combiner: Combiner):
        self.combiner = combiner

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> OutputKernels:
        check_parameters(self)
        stack.check_memory(3, "the combined kernel")
        outputs = stack.outputs(machine, reads_gram=self.combiner.reads_gram)
        self.combiners_ = [clone(self.combiner) for _ in outputs]
        seeds = control.rng.randint(np.iinfo(np.int32).max, size=len(outputs))

        def fit_one(output: int) -> CombinedKernel:
            inner, part, _ = outputs[output]
            return fit_combiner(self.combiners_[output], inner, part, control.quiet(seeds[output]))

        kernels = in_threads(fit_one, range(len(outputs)), machine.n_jobs)
        control.report(len(outputs), len(outputs))
        solutions: list[Any] = [kernel.solution for kernel in kernels]
        pairs = zip((own for _, _, own in outputs), solutions, strict=True)
        rows = [np.arange(len(solution.coef)) if own is None else own for own, solution in pairs]
        n = max(map(len, rows)) if outputs[0][2] is None else stack.n_samples
        coef = np.zeros((n, len(rows)))
        for output, (own, solution) in enumerate(zip(rows, solutions, strict=True)):
            coef[own, output] = solution.coef[:, 0]
        history = [{"output": output, **line} for output, part in enumerate(kernels) for line in part.history]
        return OutputKernels(kernels, rows).solved(join(solutions, coef), history)

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        return self.combiner.needs(kernels)

    def largest_value(self, names: list[str], largest: np.ndarray) -> float:
        return self.combiner.largest_value(names, largest)

    @property
    def methods(self) -> frozenset[str]:
        return self.combiner.methods & {"gates"}

    def _check_record(self, record: Any, theta: np.ndarray, sizes: Sizes, path: str) -> None:
        if not isinstance(record, OutputStates):
            return super()._check_record(record, theta, sizes, path)
        agree(sizes, "outputs", len(record.states), f"{path}._state.states")
        agree(sizes, "outputs", len(self.combiners_), f"{path}.combiner_.combiners_")
        for place, (own, inner) in enumerate(zip(self.combiners_, record.states, strict=True)):
            inner_sizes = {"kernels": sizes["kernels"], "support": len(record.rows[place])}
            check_record(own, inner, record.thetas[place], inner_sizes, f"{path}[{place}]")


class OutputKernels(CombinedKernel):
    def __init__(self, kernels: list[CombinedKernel], rows: list[np.ndarray]):
        self.kernels, self.rows_of = kernels, rows
        self.theta = np.concatenate([kernel.theta for kernel in kernels])

    @property
    def names(self) -> list[str]:
        return self.kernels[0].names

    @property
    def of_samples(self) -> bool:
        return self.kernels[0].of_samples

    @property
    def n_samples(self) -> int:
        if not self.of_samples:
            return self.kernels[0].n_samples
        return 1 + max((int(rows.max()) for rows in self.rows_of if len(rows)), default=-1)

    @property
    def is_indefinite(self) -> bool:
        return any(kernel.is_indefinite for kernel in self.kernels)

    @property
    def takes_fetch(self) -> bool:
        return self.kernels[0].takes_fetch

    @property
    def active(self) -> np.ndarray:
        return np.any([kernel.active for kernel in self.kernels], axis=0)

    def gram(self, out: np.ndarray | None = None) -> np.ndarray:
        raise ValueError(
            "with weights per class or target there is no single combined kernel; combiners_ has one for each output"
        )

    def rows(self, index: np.ndarray) -> np.ndarray:
        return self.gram()

    def cross(self, views: Views) -> np.ndarray:
        return self.gram()

    def _each(self, coef: np.ndarray) -> Iterator[tuple[CombinedKernel, np.ndarray]]:
        for output, (kernel, rows) in enumerate(zip(self.kernels, self.rows_of, strict=True)):
            yield kernel, coef[rows, output, None]

    def values(self, views: Views, coef: np.ndarray) -> np.ndarray:
        return np.hstack([kernel.values(views, own) for kernel, own in self._each(coef)])

    def sizes(self, views: Views, coef: np.ndarray) -> np.ndarray:
        return np.hstack([kernel.sizes(views, own) for kernel, own in self._each(coef)])

    def values_in(self, place: Place, views: Views, coef: np.ndarray) -> np.ndarray | None:
        found = [kernel.values_in(place, views, own) for kernel, own in self._each(coef)]
        known = [values for values in found if values is not None]
        return np.hstack(known) if len(known) == len(found) else None

    @property
    def is_sum(self) -> bool:
        return all(kernel.is_sum for kernel in self.kernels)

    @property
    def terms(self) -> list[str]:
        return list(dict.fromkeys(term for kernel in self.kernels for term in kernel.terms))

    def shares(self, views: Views, coef: np.ndarray) -> np.ndarray:
        place = {term: position for position, term in enumerate(self.terms)}
        shares = np.zeros((views.n_samples, len(self.kernels), len(place)))
        for output, (kernel, own) in enumerate(self._each(coef)):
            shares[:, output, [place[term] for term in kernel.terms]] = kernel.shares(views, own)[:, 0]
        return shares

    def feature_weights(self, m: int, coef: np.ndarray) -> np.ndarray | None:
        found = {
            output: kernel.feature_weights(m, own)
            for output, (kernel, own) in enumerate(self._each(coef))
            if kernel.active[m]
        }
        vectors = [vector for vector in found.values() if vector is not None]
        if len(vectors) < len(found):
            return None
        weights = np.zeros((len(vectors[0]), len(self.kernels)))
        weights[:, list(found)] = np.hstack(vectors)
        return weights

    def weights(self) -> np.ndarray:
        return np.stack([kernel.weights() for kernel in self.kernels])

    def sample_weights(self, views: Views) -> np.ndarray:
        return np.stack([kernel.sample_weights(views) for kernel in self.kernels], axis=1)

    def training_weights(self) -> np.ndarray | None:
        """The weights of training samples, of shape (n_samples, n_outputs, n_kernels); NaN for those of other pairs."""
        found = [kernel.training_weights() for kernel in self.kernels]
        if any(weights is None for weights in found):
            return None
        weights = np.full((self.n_samples, len(found), self.n_kernels), np.nan)
        for output, (rows, own) in enumerate(zip(self.rows_of, found, strict=True)):
            weights[rows, output] = own
        return weights

    def columns(self) -> np.ndarray:
        return np.unique(np.concatenate([kernel.columns() for kernel in self.kernels]))

    def reads(self) -> np.ndarray:
        return np.unique(np.concatenate([kernel.reads() for kernel in self.kernels]))

    def values_per_sample(self, coef: np.ndarray) -> int:
        parts = zip(self.kernels, self.rows_of, strict=True)
        return max(kernel.values_per_sample(coef[rows]) for kernel, rows in parts)

    def evaluations(self, coef: np.ndarray) -> np.ndarray:
        if not self.of_samples:
            return np.max([kernel.evaluations(coef) for kernel in self.kernels], axis=0)
        needed = np.zeros((len(coef), self.n_kernels), dtype=bool)
        for column, kernel in zip(coef.T, self.kernels, strict=True):
            needed |= (column != 0.0)[:, None] & kernel.active
        return needed.sum(axis=0).astype(float)

    def restrict(self, index: np.ndarray) -> OutputKernels:
        if not self.of_samples:
            return OutputKernels([kernel.restrict(index) for kernel in self.kernels], self.rows_of)
        kernels, places = [], []
        for kernel, own_rows in zip(self.kernels, self.rows_of, strict=True):
            own = np.flatnonzero(np.isin(own_rows, index))
            kernels.append(kernel.restrict(own))
            places.append(np.searchsorted(index, own_rows[own]))
        return OutputKernels(kernels, places)

    def replace(self, m: int, kernel: Kernel) -> None:
        for own in self.kernels:
            own.replace(m, kernel)

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        return [found for kernel in self.kernels for found in kernel.lookups()]

    def _record(self) -> OutputStates:
        return OutputStates.of(self)
