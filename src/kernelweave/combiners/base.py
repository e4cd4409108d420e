"""The combiner protocol, and combiners with one weight per kernel.

A combiner stands between the kernels and the machine. Estimators call `fit` once and then only `cross` and
`kernel_weights`; what those need of the training samples is the *state*, an object with ``restrict(rows, active)`` that
keeps support vectors, the columns of active kernels and constants only.

=========  =====================================================
thesis     here
=========  =====================================================
eta        theta of a `WeightedSum`, one weight per kernel
k_eta      `gram` (training samples), `cross` (new samples)
=========  =====================================================
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..kernels import KernelStack
from ..kernels.stacking.memory import warn_if_too_large
from ..machines import Machine, Solution
from ..solvers.stacks.sums import weighted_sum
from ..views import Views

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Combination:
    """What `Combiner.fit` returns.

    Attributes
    ----------
    state : object
        What `cross` and `kernel_weights` need of the training samples; offers ``restrict(rows, active)``
        and ``replace(m, kernel)``.
    theta : ndarray
        The learned (or given) parameters.
    solution : Solution
        The machine's optimum under the combined kernel.
    history : list of dict
        Objective, machine solves and seconds of each outer iteration.
    """

    state: Any
    theta: np.ndarray
    solution: Solution
    history: list[dict[str, float]]


class Combiner(ABC, BaseEstimator):
    """A rule that makes one kernel K_theta of several, and how theta is found.

    Subclasses implement the methods below; parameters follow scikit-learn's conventions. One that reads a view only for
    the samples that need it says so in `takes_fetch`, see `views.FetchedViews`.
    """

    takes_fetch = False
    reads_gram = True  # whether base Gram matrices are read; where not, it does not help to compute them beforehand

    @abstractmethod
    def fit(
        self,
        stack: KernelStack,
        machine: Machine,
        y: np.ndarray | None,
        rng: np.random.RandomState,
        tol: float = 1e-3,
        max_steps: int | None = None,
        progress: Progress | None = None,
    ) -> Combination:
        """Find theta and solve the machine under K_theta.

        Parameters
        ----------
        stack : KernelStack
            The kernels over the training samples.
        machine : Machine
            The dual problem, with its targets and bounds.
        y : ndarray or None
            The targets as the user gave them (encoded labels for classification).
        rng : RandomState
        tol, max_steps
            Passed to the machine.
        progress : callable, optional
            Called with the number of finished and of all units of work.
        """

    @abstractmethod
    def active(self, state: Any, theta: np.ndarray) -> np.ndarray:
        """Which kernels prediction evaluates: a boolean array of shape (n_kernels,)."""

    @abstractmethod
    def gram(self, state: Any, theta: np.ndarray) -> np.ndarray:
        """K_theta of the training samples."""

    @abstractmethod
    def cross(self, state: Any, theta: np.ndarray, views: Views) -> np.ndarray:
        """K_theta between new samples (rows) and the training samples that `state` keeps (columns)."""

    def values(self, state: Any, theta: np.ndarray, views: Views, coef: np.ndarray) -> np.ndarray:
        """K_theta of new samples times coefficients of the kept training samples, of shape (n_new, n_outputs)."""
        return self.cross(state, theta, views) @ coef

    @abstractmethod
    def kernel_weights(self, state: Any, theta: np.ndarray, views: Views) -> np.ndarray:
        """The weight of each kernel for each new sample, of shape (n_new, n_kernels)."""

    @abstractmethod
    def global_weights(self, state: Any, theta: np.ndarray) -> np.ndarray:
        """One weight per kernel that sums the model up, of shape (n_kernels,), or (n_outputs, n_kernels)."""

    def sample_weights(self, state: Any, theta: np.ndarray) -> np.ndarray | None:
        """The weight of each kernel for each training sample; None (the default) where samples do not differ."""
        return None

    def reads(self, state: Any) -> np.ndarray:
        """Positions of the columns that prediction reads beside those of active kernels; none by default."""
        return np.empty(0, dtype=int)

    def values_per_sample(self, state: Any, coef: np.ndarray) -> int:
        """How many kernel values of one kernel prediction holds for each new sample."""
        return len(coef)

    def evaluations(self, state: Any, theta: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """How many support vectors each kernel compares a new sample with, of shape (n_kernels,)."""
        return self.active(state, theta) * float(len(coef))


def warn_of_memory(stack: KernelStack) -> None:
    """Warn where the combined kernel, a base kernel and the machine's copy of one do not fit into memory."""
    warn_if_too_large(3, stack.n_samples, stack.dtype, "the combined kernel")


def solve_once(
    combiner: Any,
    stack: KernelStack,
    theta: np.ndarray,
    machine: Machine,
    tol: float,
    max_steps: int | None,
    start: float,
    solves: int = 0,
) -> Combination:
    """Solve the machine under a combiner's kernel at given parameters, after earlier solves since time `start`."""
    solution = machine.solve(combiner.gram(stack, theta), tol=tol, max_steps=max_steps)
    history = [{"objective": solution.objective, "solves": solves + 1, "seconds": time.perf_counter() - start}]
    return Combination(stack, theta, solution, history)


class WeightedSum(Combiner):
    """k(x, z) = sum_m eta_m k_m(x, z) with one weight per kernel, of at least 0: what such combiners share.

    A sample that lacks a view has a zero row in that kernel; its row and column are then scaled by
    ``(sum_m eta_m / sum_{m present} eta_m) ** 0.5``, which keeps the kernel positive semidefinite and a unit
    diagonal one. Subclasses say how the weights are found (`fit`).

    Memory: two n x n matrices, the sum and the kernel being added, and at most one more inside the machine.
    """

    def gram(self, state: KernelStack, theta: np.ndarray) -> np.ndarray:
        """The combined kernel of the training samples; only kernels with a weight are computed."""
        factor = self._missing_factor(state, theta, state.present, state.support)
        K = weighted_sum(state.matrices(), theta) if state.has_matrices else self._sum(theta, state.gram)
        return self._scaled(K, factor, factor)

    def cross(self, state: KernelStack, theta: np.ndarray, views: Views) -> np.ndarray:
        """The combined kernel of new samples; only kernels with a weight are computed."""
        present = state.presence(views, theta != 0)
        K = self._sum(theta, lambda m: state.cross(m, views, present[:, m]))
        rows = self._missing_factor(state, theta, present, views)
        return self._scaled(K, rows, self._missing_factor(state, theta, state.present, state.support))

    def active(self, state: KernelStack, theta: np.ndarray) -> np.ndarray:
        """The kernels with a weight."""
        return theta != 0

    def kernel_weights(self, state: KernelStack, theta: np.ndarray, views: Views) -> np.ndarray:
        """The weights, for a sample that lacks a view spread over the views it has."""
        present = state.presence(views, theta != 0)
        return present * theta * self._missing_factor(state, theta, present, views)[:, None] ** 2

    def global_weights(self, state: KernelStack, theta: np.ndarray) -> np.ndarray:
        """The weights themselves."""
        return theta

    def _sum(self, eta: np.ndarray, kernel_of: Callable[[int], np.ndarray]) -> np.ndarray:
        total = None
        for m in np.flatnonzero(eta):
            K = kernel_of(m)
            if eta[m] != 1:
                K *= eta[m]
            total = K if total is None else np.add(total, K, out=total)
        return total

    def _missing_factor(self, stack: KernelStack, eta: np.ndarray, present: np.ndarray, views: Views) -> np.ndarray:
        weight = present @ eta
        without = weight <= 0
        if without.any():
            used = [name for name, weight_of in zip(stack.names, eta, strict=True) if weight_of > 0]
            self._tell_of_no_view(
                f"{views.first(without)} has none of the views whose kernels have a weight ({', '.join(used)})"
            )
        return np.sqrt(np.divide(eta.sum(), weight, out=np.ones(len(weight)), where=~without))

    def _tell_of_no_view(self, problem: str) -> None:
        """A sample without any view that has a weight: an error where the user gave the weights."""
        raise ValueError(f"{problem}; remove such samples or give another kernel a weight")

    def _scaled(self, K: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if (rows != 1).any() or (columns != 1).any():
            K *= rows[:, None]
            K *= columns[None, :]
        return K


class ChosenWeights(WeightedSum):
    """A weighted sum whose weights are chosen first, the machine being solved once under them.

    Subclasses implement `choose`; what it returns is checked. One whose weights may be negative says so in `any_sign`,
    and sees to samples that lack views itself. Memory: as `WeightedSum`, and what choosing takes.
    """

    any_sign = False

    @abstractmethod
    def choose(
        self,
        stack: KernelStack,
        machine: Machine,
        y: np.ndarray | None,
        rng: np.random.RandomState,
        tol: float,
        max_steps: int | None,
        progress: Progress | None,
    ) -> tuple[np.ndarray, int]:
        """The weights eta, of shape (n_kernels,), finite and not all 0, and the number of machine solves it took."""

    def fit(self, stack, machine, y, rng, tol=1e-3, max_steps=None, progress=None) -> Combination:
        """Choose the weights, then solve the machine once under the weighted sum."""
        start = time.perf_counter()
        warn_of_memory(stack)
        eta, solves = self._checked(self.choose(stack, machine, y, rng, tol, max_steps, progress), stack)
        return solve_once(self, stack, eta, machine, tol, max_steps, start, solves)

    def _checked(self, chosen: Any, stack: KernelStack) -> tuple[np.ndarray, int]:
        """The weights and the number of solves that `choose` returned, or a ValueError."""
        who = f"choose of {type(self).__name__}"
        if not isinstance(chosen, tuple) or len(chosen) != 2 or not isinstance(chosen[1], Integral):
            raise ValueError(f"{who} must return the weights and the number of machine solves, not {chosen!r:.200}")
        try:
            eta = np.asarray(chosen[0], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{who} must return weights that are numbers, not {chosen[0]!r:.200}") from None
        if eta.shape != (stack.n_kernels,):
            raise ValueError(
                f"{who} must return one weight for each of the {stack.n_kernels} kernels, but its weights have the "
                f"shape {eta.shape}"
            )
        for wrong, problem in ((~np.isfinite(eta), "not finite"), ((eta < 0) & (not self.any_sign), "negative")):
            if wrong.any():
                m = int(np.flatnonzero(wrong)[0])
                raise ValueError(
                    f"{who} returned a weight for the kernel {stack.names[m]!r} that is {problem}: {eta[m]}"
                )
        if not eta.any():
            raise ValueError(f"{who} returned the weight 0 for every kernel; at least one must have another")
        return eta, int(chosen[1])
