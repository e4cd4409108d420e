"""Machines made of independent ones with one output each, solved on one Gram matrix: `IndependentMachines`.

The coefficients of the single machines are the columns of C, so J, its gap and its Danskin gradient add up. Classes
(`multiclass`) and targets (`regression`) are taken apart in this way.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from os import cpu_count
from typing import Any, Protocol

import numpy as np

from ..solvers import DualProgram
from ..solvers.in_parts import KernelInParts, is_in_parts
from ..validation import Whole, check
from .base import TERMS, DualTerms, Machine, Operand, Solution, is_in_blocks, join

FEW = 64  # samples of a single machine up to which a start saves less than it costs
FINE = 1e-4  # KKT violation below which the gap itself is computed


class MachineMaker(Protocol):
    """What makes the single machines: a `losses.Loss`, or anything else with this method."""

    def for_targets(self, y: np.ndarray, bound: float | np.ndarray) -> Machine:
        """Return a machine with one output."""


class IndependentMachines(Machine):
    """Independent machines with one output on one Gram matrix; a subclass supplies `parts`."""

    maker: MachineMaker

    @property
    def takes_parts(self) -> bool:
        return all(machine.takes_parts for _, _, machine in self._used_outputs()[:1])

    @property
    def is_smooth(self) -> bool:
        return all(machine.is_smooth for _, _, machine in self._used_outputs()[:1])

    @property
    def is_unbounded(self) -> bool:
        return all(machine.is_unbounded for _, _, machine in self._used_outputs()[:1])

    @abstractmethod
    def parts(self) -> list[tuple[np.ndarray | None, np.ndarray]]:
        """Return, for each column, the samples that take part (None for all) and their targets."""

    def solve_dual(
        self,
        K: np.ndarray | KernelInParts,
        start: np.ndarray | Solution | None,
        tol: float,
        gap_tol: float | None,
        max_steps: int | None,
    ) -> Solution:
        return self._solve(K, self._starts(start), [None] * self.n_outputs, tol, gap_tol, max_steps)

    def refine(self, K: Operand, solution: Solution, tol: float, max_steps: int | None = None) -> Solution:
        if is_in_blocks(K) or (is_in_parts(K) and self.is_unbounded):
            return super().refine(K, solution, tol, max_steps)
        kept = [part if part.converged and part.violation <= tol else None for part in solution.outputs]
        return self._solve(K, self._starts(solution), kept or [None] * self.n_outputs, tol, None, max_steps)

    def _starts(self, start: np.ndarray | Solution | None) -> list[np.ndarray | Solution | None]:
        """Where the solve of each output begins: at its own solution, which may carry more than coefficients."""
        first = self.first(start)
        if first is None:
            return [None] * self.n_outputs
        if isinstance(start, Solution) and len(start.outputs) == self.n_outputs:
            return list(start.outputs)
        chosen = (slice(None) if rows is None else rows for rows, _ in self.parts())
        return [first[rows, [column]] for column, rows in enumerate(chosen)]

    def _solve(
        self,
        K: Any,
        starts: list[Any],
        kept: list[Solution | None],
        tol: float,
        gap_tol: float | None,
        max_steps: int | None,
    ) -> Solution:
        in_parts = is_in_parts(K) and self.takes_parts
        size = K.n_samples if in_parts else len(self.matrix(K))
        if size != self.n_samples:
            raise ValueError(f"K must have {self.n_samples} samples, got {size}")
        coef = np.zeros((self.n_samples, self.n_outputs))

        def one(column: int) -> Any:
            chosen, targets = parts[column]
            rows = slice(None) if chosen is None else chosen
            solution = kept[column]
            if solution is None and len(targets) == 0:  # neither class of a pair is left in this subset
                return Solution(np.zeros((0, 1)), np.zeros(1), 0.0, 0.0, 0.0, 0, True)
            if solution is None:
                block = K
                if chosen is not None:
                    block = _some(K, chosen) if in_parts else np.asarray(K)[np.ix_(chosen, chosen)]
                machine = self.maker.for_targets(targets, self.bound[rows])
                solution = solve_part(machine, block, starts[column], tol, gap_tol, max_steps)
            coef[rows, column] = solution.coef[:, 0]
            return solution

        parts = self.parts()
        # a kernel in parts keeps rows, which one output after the other uses, and has threads of its own
        solutions = in_threads(one, range(self.n_outputs), 1 if in_parts else self.n_jobs)
        return join(solutions, coef)

    def outputs(self) -> list[tuple[np.ndarray, Machine]]:
        everybody = np.arange(self.n_samples)
        chosen = [(everybody if rows is None else rows, targets) for rows, targets in self.parts()]
        return [(rows, self.maker.for_targets(targets, self.bound[rows])) for rows, targets in chosen]

    @cached_property
    def terms(self) -> DualTerms | None:
        """The terms of the single machines as columns, 0 for samples that do not take part."""
        used = self._used_outputs()
        parts = [(k, rows, machine.terms) for k, rows, machine in used]
        smooth = all(machine.is_smooth for _, _, machine in used)
        found = {name: np.zeros((self.n_samples, self.n_outputs)) for name in TERMS}
        found["quadratic"] += 1.0 if smooth else 0.0
        for k, rows, terms in parts:
            if terms is None:
                return None
            for name in TERMS:
                found[name][rows, k] = getattr(terms, name)[:, 0]
        tube = max((terms.insensitivity for _, _, terms in parts if terms is not None), default=0.0)
        return DualTerms(found["linear"], found["lower"], found["upper"], found["quadratic"], tube)

    def _used_outputs(self) -> list[tuple[int, np.ndarray, Machine]]:
        return [(k, rows, machine) for k, (rows, machine) in enumerate(self.outputs()) if len(rows)]

    def programs(self) -> list[DualProgram]:
        return [program.placed(rows, k) for k, rows, machine in self._used_outputs() for program in machine.programs()]


def solve_part(
    machine: Machine, K: Any, start: Any, tol: float, gap_tol: float | None, max_steps: int | None
) -> Solution:
    """`machine.solve`, with a short way to a gap where the samples are few and the dual is a box QP.

    The gap is then at most half the KKT violation times the sum of the bounds: such a violation is solved for at once.
    """
    if gap_tol is None or machine.n_samples > FEW or not machine.has_box_dual:
        return machine.solve(K, start, tol, gap_tol, max_steps)
    enough = max(2.0 * gap_tol / max(machine.bound.sum(), np.finfo(float).tiny), FINE)
    solution = machine.solve(K, None, enough, None, max_steps)
    if solution.gap <= gap_tol * max(1.0, abs(solution.objective)):
        return dataclasses.replace(solution, converged=True)
    return machine.solve(K, solution, tol, gap_tol, max_steps)


def in_threads(function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None) -> list[Any]:
    count = check(None, "n_jobs", n_jobs, Whole(but_not=0) | None) or 1
    if count < 0:
        count = max(1, (cpu_count() or 1) + 1 + count)
    if count == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, items))


def _some(K: KernelInParts, chosen: np.ndarray) -> KernelInParts:
    """A kernel in parts among some samples, whose solves are reported as those of the whole."""
    part: Any = K.subset(chosen)
    part.progress = getattr(K, "progress", None)
    return part
