"""What a machine is: targets and per-sample bounds, a dual to solve on any kernel, and nothing of kernels.

Every machine's optimum is  J = max l(.) - 1/2 sum_r c_r' K c_r  over the signed dual coefficients
C = [c_1 .. c_q],  its raw values are  K C + b,  and  dJ/dtheta = -1/2 sum_r c_r' (dK/dtheta) c_r  (Danskin), so a
caller needs no more than the `Solution` to learn the kernel.

======  =====================
symbol  name
======  =====================
C       Solution.coef
b       Solution.intercept
J       Solution.objective
C_i     bound (per sample)
======  =====================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from ..solvers import DualProgram, solve_box_qp
from ..solvers.qp.working_set import LazyKernel, solve_in_working_set
from ..solvers.result import Result


@dataclass(frozen=True)
class Solution:
    """A solved machine.

    Attributes
    ----------
    coef : ndarray of shape (n_samples, n_outputs)
        Signed dual coefficients C.
    intercept : ndarray of shape (n_outputs,)
        Biases b; raw values of samples with kernel rows `k` are ``k @ coef + intercept``.
    objective : float
        J, summed over outputs.
    gap : float
        Duality gap, summed over outputs: the optimum is at most ``objective + gap``.
    violation : float
        Largest KKT violation of any output.
    steps : int
        Pair updates, summed over outputs.
    converged : bool
        Whether every output reached the tolerance.
    outputs : tuple of Solution
        The solutions of independent outputs, each on its own samples, where there are several.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.machines import BinaryMachine
    >>> solution = BinaryMachine(np.array([1.0, -1.0]), bound=10.0).solve(np.eye(2))
    >>> solution.coef.shape, solution.converged
    ((2, 1), True)
    """

    coef: np.ndarray
    intercept: np.ndarray
    objective: float
    gap: float
    violation: float
    steps: int
    converged: bool
    outputs: tuple[Solution, ...] = field(default=(), repr=False, kw_only=True)


class Machine(ABC):
    """Targets and bounds of a kernel machine, ready to be solved on any Gram matrix of its samples.

    Attributes
    ----------
    n_samples : int
        Number of samples n.
    n_outputs : int
        Number of columns q of the coefficients.
    strata : ndarray of shape (n_samples,) or None
        Labels by which to stratify splits of the samples, where there are any.
    decides_with : tuple of str
        The attributes that `decision` reads; all that `without_samples` keeps.
    """

    n_samples: int
    n_outputs: int
    strata: np.ndarray | None
    decides_with: tuple[str, ...] = ()
    detects_novelty: bool = False

    @abstractmethod
    def solve(
        self,
        K: np.ndarray,
        start: np.ndarray | Solution | None = None,
        tol: float = 1e-3,
        gap_tol: float | None = None,
        max_steps: int | None = None,
    ) -> Solution:
        """Solve the dual on the Gram matrix K of this machine's samples.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
            Symmetric positive semidefinite, float64 or float32; read only.
        start : ndarray of shape (n_samples, n_outputs) or Solution, optional
            Coefficients to start from, usually the solution on a nearby kernel.
        tol : float, default=1e-3
            Largest KKT violation, as in libsvm; the duality gap is then at most ``10 * tol * max(1, |J|)``.
        gap_tol : float, optional
            If given, solve until ``gap <= gap_tol * max(1, |J|)`` instead (for each output).
        max_steps : int, optional
            Most pair updates for each output.
        """

    def refine(self, K: np.ndarray, solution: Solution, tol: float, max_steps: int | None = None) -> Solution:
        """Bring a solution on this very K to a KKT violation of `tol`; outputs that are there already are kept."""
        return solution if solution.violation <= tol else self.solve(K, solution, tol=tol, max_steps=max_steps)

    def solve_in_part(
        self, kernel: LazyKernel, start: Solution, gap_tol: float, max_steps: int | None = None
    ) -> Solution | None:
        """Solve on a kernel of which only parts are computed, from a nearby solution; parameters are those of `solve`.

        None where this machine has no such way (the default), or it would take too many samples.
        """
        return None

    @abstractmethod
    def programs(self) -> list[DualProgram]:
        """The dual written out, one program for each independent part."""

    def outputs(self) -> list[tuple[np.ndarray, Machine]]:
        """Independent machines, one for each column of C, each with the positions of its samples."""
        if self.n_outputs == 1:
            return [(np.arange(self.n_samples), self)]
        raise ValueError(f"the outputs of a {type(self).__name__} are solved together and cannot be taken apart")

    @abstractmethod
    def subset(self, index: np.ndarray) -> Machine:
        """Return the same machine on the chosen samples (integer positions or a boolean mask)."""

    @abstractmethod
    def decision(self, values: np.ndarray) -> np.ndarray:
        """Public decision values from raw values ``K C + b`` of shape (n, n_outputs)."""

    def without_samples(self) -> Machine:
        """What a fitted model keeps of the machine: it offers `decision`, but cannot be solved."""
        rule = object.__new__(type(self))
        rule.__dict__.update((name, getattr(self, name)) for name in self.decides_with)
        return rule

    @abstractmethod
    def losses(self, values: np.ndarray) -> np.ndarray:
        """What raw values of shape (n_samples, n_outputs) cost each sample: 1 for a wrong class, or a squared error."""

    def risk(self, values: np.ndarray) -> float:
        """How far raw values are from this machine's own targets: the mean loss, by default."""
        return float(np.mean(self.losses(values)))


class PlainMachine(Machine):
    """A machine whose dual is one box QP; a subclass supplies only the problem."""

    n_outputs = 1
    unit = 1.0  # of the KKT violation: slopes of the objective are compared with `tol * unit`

    @abstractmethod
    def problem(self) -> dict:
        """Return linear, lower, upper, total and insensitivity of `solve_box_qp`."""

    def solve(self, K, start=None, tol=1e-3, gap_tol=None, max_steps=None) -> Solution:  # noqa: D102
        first = start_columns(start, self.n_samples, 1)
        result = solve_box_qp(
            K,
            **self.problem(),
            start=None if first is None else first[:, 0],
            tol=tol * self.unit,
            gap_tol=gap_tol,
            max_steps=max_steps,
        )
        return self._solution(result)

    def solve_in_part(self, kernel, start, gap_tol, max_steps=None) -> Solution | None:  # noqa: D102
        result = solve_in_working_set(
            kernel, **self.problem(), start=start.coef[:, 0], gap_tol=gap_tol, max_steps=max_steps
        )
        return None if result is None else self._solution(result)

    def _solution(self, result: Result) -> Solution:
        return Solution(
            coef=result.solution[:, None],
            intercept=np.array([result.multiplier]),
            objective=result.objective,
            gap=result.gap,
            violation=result.violation / self.unit,
            steps=result.steps,
            converged=result.converged,
        )

    def programs(self) -> list[DualProgram]:  # noqa: D102
        return [box_program(**self.problem(), sample=np.arange(self.n_samples))]

    def decision(self, values: np.ndarray) -> np.ndarray:  # noqa: D102
        return columns(values, 1)[:, 0]


def box_program(
    linear: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    total: float,
    insensitivity: float,
    sample: np.ndarray,
    column: int | np.ndarray = 0,
) -> DualProgram:
    """The box QP of `solve_box_qp` as a program of one column; an l1 term splits each variable in two."""
    here, none = np.broadcast_to(column, len(sample)), np.full(len(sample), -1)
    if insensitivity == 0.0:
        return DualProgram(linear, np.zeros(len(sample)), lower, upper, sample, here, none, total)
    return DualProgram(
        linear=np.concatenate([linear - insensitivity, -linear - insensitivity]),
        quadratic=np.zeros(2 * len(sample)),
        lower=np.zeros(2 * len(sample)),
        upper=np.concatenate([upper, -lower]),
        sample=np.concatenate([sample, sample]),
        plus=np.concatenate([here, none]),
        minus=np.concatenate([none, here]),
        total=total,
    )


def join(parts: list[Solution], coef: np.ndarray) -> Solution:
    """Independent columns as one solution: J, gaps and steps add up, the worst violation counts."""
    return Solution(
        coef=coef,
        intercept=np.concatenate([part.intercept for part in parts]),
        objective=sum(part.objective for part in parts),
        gap=sum(part.gap for part in parts),
        violation=max(part.violation for part in parts),
        steps=sum(part.steps for part in parts),
        converged=all(part.converged for part in parts),
        outputs=tuple(parts),
    )


def start_columns(start: np.ndarray | Solution | None, n_samples: int, n_outputs: int) -> np.ndarray | None:
    """Return the starting coefficients as an (n, q) array."""
    if start is None:
        return None
    return columns(start.coef if isinstance(start, Solution) else start, n_outputs, n_samples)


def columns(values: np.ndarray, n_outputs: int, n_samples: int | None = None) -> np.ndarray:
    """`values` as an array with one column an output, or a ValueError."""
    values = np.asarray(values, dtype=np.float64)
    if n_outputs == 1 and values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] != n_outputs or n_samples not in (None, len(values)):
        rows = "n" if n_samples is None else n_samples
        raise ValueError(f"expected an array of shape ({rows}, {n_outputs}), got {values.shape}")
    return values


def as_bound(bound: float | np.ndarray, n_samples: int) -> np.ndarray:
    """The upper bound C_i of every sample, from one number or n of them."""
    bound = np.asarray(bound, dtype=np.float64)
    if bound.ndim == 0:
        bound = np.full(n_samples, float(bound))
    if bound.shape != (n_samples,):
        raise ValueError(f"bound must be one number or {n_samples}, got shape {bound.shape}")
    if not np.isfinite(bound).all() or (bound < 0).any():
        raise ValueError("bound (C times the sample weight) must be finite and not negative")
    return bound
