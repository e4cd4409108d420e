"""Multiclass machines made of independent binary ones, thesis 1.4.1: one against one and one against all.

Both stack the binary coefficients as columns of C, so J, its gap and its Danskin gradient add up.

One-versus-one has k(k-1)/2 columns in the order (0,1), (0,2), ..., (1,2), ...; a positive value of column
(a, b) votes for b, the *second* class (as a positive binary value means classes_[1]). One-versus-all has k
columns; a positive value of column a favours class a. The binary machines are made by any loss for two classes
(`losses.BinaryLoss`); the hinge by default.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import Any, Protocol

import numpy as np

from ..solvers import DualProgram
from ..validation import Whole, check
from .base import Machine, Solution, as_bound, columns, join
from .binary import BinaryMachine
from .labels import as_labels

FEW = 64  # samples of a binary machine up to which a start saves less than it costs
FINE = 1e-4  # KKT violation below which the gap itself is computed


class BinaryMaker(Protocol):
    """What makes the binary machines: a `losses.BinaryLoss`, or anything else with this method."""

    def for_targets(self, y: np.ndarray, bound: float | np.ndarray) -> Machine:
        """Return a machine with one output for labels +1 and -1."""


class MulticlassMachine(Machine):
    """Independent binary machines on one Gram matrix.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,)
        Classes 0 .. n_classes - 1.
    bound : float or ndarray of shape (n_samples,)
        Largest alpha of each sample (C times its weight), in every binary machine it takes part in.
    n_classes : int, optional
        Number of classes; ``max(labels) + 1`` by default.
    n_jobs : int, optional
        Threads, as in joblib: None is 1, -1 is all cores. The result does not depend on it.
    binary : BinaryLoss, optional
        What makes the binary machines, by ``binary.for_targets(signs, bound)``; `BinaryMachine` by default.
    """

    decides_with = ("n_classes",)

    def __init__(
        self,
        labels: np.ndarray,
        bound: float | np.ndarray,
        *,
        n_classes: int | None = None,
        n_jobs: int | None = None,
        binary: BinaryMaker = BinaryMachine,
    ):
        self.labels, self.n_classes = as_labels(labels, n_classes)
        self.n_samples = len(self.labels)
        self.bound = as_bound(bound, self.n_samples)
        self.n_jobs = n_jobs
        self.binary = binary
        self.strata = self.labels

    @abstractmethod
    def parts(self) -> list[tuple[np.ndarray | None, np.ndarray]]:
        """Return, for each column, the samples that take part (None for all) and their labels +1 or -1."""

    def solve(  # noqa: D102
        self,
        K: np.ndarray,
        start: np.ndarray | Solution | None = None,
        tol: float = 1e-3,
        gap_tol: float | None = None,
        max_steps: int | None = None,
    ) -> Solution:
        return self._solve(K, self._starts(start), [None] * self.n_outputs, tol, gap_tol, max_steps)

    def refine(self, K: np.ndarray, solution: Solution, tol: float, max_steps: int | None = None) -> Solution:  # noqa: D102
        kept = [part if part.violation <= tol else None for part in solution.outputs]
        return self._solve(K, self._starts(solution), kept or [None] * self.n_outputs, tol, None, max_steps)

    def _starts(self, start: np.ndarray | Solution | None) -> list[np.ndarray | Solution | None]:
        """Where the solve of each output begins: at its own solution, which may carry more than coefficients."""
        first = self.first(start)
        if first is None:
            return [None] * self.n_outputs
        if isinstance(start, Solution) and len(start.outputs) == self.n_outputs:
            return list(start.outputs)
        return [first[rows, [column]] for column, (rows, _) in enumerate(self.two_class_problems())]

    def _solve(
        self,
        K: np.ndarray,
        starts: list[Any],
        kept: list[Solution | None],
        tol: float,
        gap_tol: float | None,
        max_steps: int | None,
    ) -> Solution:
        """Solve the outputs that are not kept."""
        K = np.asarray(K)
        if K.shape != (self.n_samples, self.n_samples):
            raise ValueError(f"K must be of shape ({self.n_samples}, {self.n_samples}), got {K.shape}")
        coef = np.zeros((self.n_samples, self.n_outputs))

        def one(column: int) -> Any:
            chosen, signs = parts[column]
            rows = slice(None) if chosen is None else chosen
            solution = kept[column]
            if solution is None and len(signs) == 0:  # neither class of a pair is left in this subset
                return Solution(np.zeros((0, 1)), np.zeros(1), 0.0, 0.0, 0.0, 0, True)
            if solution is None:
                block = K if chosen is None else K[np.ix_(chosen, chosen)]
                machine = self.binary.for_targets(signs, self.bound[rows])
                solution = solve_part(machine, block, starts[column], tol, gap_tol, max_steps)
            coef[rows, column] = solution.coef[:, 0]
            return solution

        parts = self.parts()
        solutions = in_threads(one, range(self.n_outputs), self.n_jobs)
        return join(solutions, coef)

    def outputs(self) -> list[tuple[np.ndarray, Machine]]:
        """The binary machines."""
        return [(rows, self.binary.for_targets(signs, self.bound[rows])) for rows, signs in self.two_class_problems()]

    def loss(self, values: np.ndarray) -> float:
        """The losses of the binary machines, summed; each counts its own samples only."""
        values = columns(values, self.n_outputs, self.n_samples)
        return float(sum(machine.loss(values[rows, k]) for k, rows, machine in self._used_outputs()))

    def slope(self, values: np.ndarray) -> np.ndarray:
        """The slopes of the binary machines, 0 for samples that do not take part."""
        values = columns(values, self.n_outputs, self.n_samples)
        slopes = np.zeros_like(values)
        for k, rows, machine in self._used_outputs():
            slopes[rows, k] = machine.slope(values[rows, k])[:, 0]
        return slopes

    def conjugate(self, coef: np.ndarray) -> float:
        """The conjugates of the binary machines, summed; infinite where a sample of another pair has a coefficient."""
        coef = columns(coef, self.n_outputs, self.n_samples)
        found, counted = 0.0, np.zeros(coef.shape, dtype=bool)
        for k, rows, machine in self._used_outputs():
            found += machine.conjugate(coef[rows, k])
            counted[rows, k] = True
        return np.inf if coef[~counted].any() else float(found)

    def _used_outputs(self) -> list[tuple[int, np.ndarray, Machine]]:
        """Column, samples and machine of each output that has samples."""
        return [(k, rows, machine) for k, (rows, machine) in enumerate(self.outputs()) if len(rows)]

    def programs(self) -> list[DualProgram]:
        """One program for each binary machine that has samples."""
        return [program.placed(rows, k) for k, rows, machine in self._used_outputs() for program in machine.programs()]

    def two_class_problems(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Samples and labels of each binary machine."""
        everybody = np.arange(self.n_samples)
        return [(everybody if chosen is None else chosen, signs) for chosen, signs in self.parts()]

    def subset(self, index: np.ndarray) -> MulticlassMachine:
        """Return the same machine on the chosen samples, with the same classes."""
        return type(self)(
            self.labels[index], self.bound[index], n_classes=self.n_classes, n_jobs=self.n_jobs, binary=self.binary
        )

    def losses(self, values: np.ndarray) -> np.ndarray:
        """1 for samples whose predicted class is wrong."""
        predicted = self.decision(columns(values, self.n_outputs, self.n_samples)).argmax(axis=1)
        return (predicted != self.labels).astype(float)


class OneVsOneMachine(MulticlassMachine):
    """One binary machine per pair of classes, on the samples of that pair only.

    Parameters are those of `MulticlassMachine`. Memory: for each thread, a dense copy of K restricted to one pair.
    A pair with an empty class (possible in a subset) has zero coefficients and a bias for the other class.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([-3.0, -2.0, 0.0, 0.1, 2.0, 3.0])
    >>> machine = OneVsOneMachine(np.array([0, 0, 1, 1, 2, 2]), bound=10.0)
    >>> K = np.outer(x, x)
    >>> solution = machine.solve(K)
    >>> machine.decision(K @ solution.coef + solution.intercept).argmax(axis=1)
    array([0, 0, 1, 1, 2, 2])
    """

    @property
    def n_outputs(self) -> int:
        """One column for each pair."""
        return self.n_classes * (self.n_classes - 1) // 2

    def pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of classes in the order of the columns."""
        return [(a, b) for a in range(self.n_classes) for b in range(a + 1, self.n_classes)]

    def parts(self) -> list[tuple[np.ndarray | None, np.ndarray]]:
        """Return the samples of each pair, +1 for its second class."""
        members = [np.flatnonzero(self.labels == a) for a in range(self.n_classes)]
        chosen = [np.sort(np.concatenate([members[a], members[b]])) for a, b in self.pairs()]
        seconds = [b for _, b in self.pairs()]
        signs = [np.where(self.labels[rows] == b, 1.0, -1.0) for rows, b in zip(chosen, seconds, strict=True)]
        return list(zip(chosen, signs, strict=True))

    def decision(self, values: np.ndarray) -> np.ndarray:
        """Votes for each class, plus a confidence below 1/3 in size that breaks ties (as scikit-learn's "ovr")."""
        values = columns(values, self.n_outputs)
        votes = np.zeros((len(values), self.n_classes))
        confidence = np.zeros_like(votes)
        for value, (a, b) in zip(values.T, self.pairs(), strict=True):
            votes[:, b] += value > 0
            votes[:, a] += value <= 0
            confidence[:, b] += value
            confidence[:, a] -= value
        return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))


class OneVsAllMachine(MulticlassMachine):
    """One binary machine for each class, against all other samples.

    Parameters are those of `MulticlassMachine`. Memory: no copy of K.

    Examples
    --------
    >>> import numpy as np
    >>> machine = OneVsAllMachine(np.array([0, 1, 2]), bound=10.0)
    >>> solution = machine.solve(np.eye(3))
    >>> machine.decision(solution.coef + solution.intercept).argmax(axis=1)
    array([0, 1, 2])
    """

    @property
    def n_outputs(self) -> int:
        """One column for each class."""
        return self.n_classes

    def parts(self) -> list[tuple[np.ndarray | None, np.ndarray]]:
        """Return all samples for each class, +1 for its own."""
        return [(None, np.where(self.labels == a, 1.0, -1.0)) for a in range(self.n_classes)]

    def decision(self, values: np.ndarray) -> np.ndarray:
        """Raw values: the largest wins."""
        return columns(values, self.n_outputs)


def solve_part(
    machine: Machine, K: np.ndarray, start: Any, tol: float, gap_tol: float | None, max_steps: int | None
) -> Solution:
    """`machine.solve`, with a short way to a gap where the samples are few and the dual is a box QP.

    The gap is then at most half the KKT violation times the sum of the bounds. For a few samples it costs less to solve
    anew to such a violation than to tighten it step by step from a start.
    """
    if gap_tol is None or machine.n_samples > FEW or not machine.has_box_dual:
        return machine.solve(K, start, tol, gap_tol, max_steps)
    enough = max(2.0 * gap_tol / max(machine.bound.sum(), np.finfo(float).tiny), FINE)
    solution = machine.solve(K, None, enough, None, max_steps)
    if solution.gap <= gap_tol * max(1.0, abs(solution.objective)):
        return dataclasses.replace(solution, converged=True)
    return machine.solve(K, solution, tol, gap_tol, max_steps)


def in_threads(function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None) -> list[Any]:
    """`function` of every item, in order, on `n_jobs` threads."""
    count = check(None, "n_jobs", n_jobs, Whole(but_not=0) | None) or 1
    if count < 0:
        count = max(1, (cpu_count() or 1) + 1 + count)
    if count == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, items))
