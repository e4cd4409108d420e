"""The box QP of `box`, solved on a small working set of a kernel whose entries are computed when they are needed.

Near a solution of a nearby kernel only few samples matter: those with coefficients, and those close to getting one. On
them the problem is solved as usual; the certificate of `box` (objective, duality gap) is then computed for *all*
samples, which takes the kernel's product with the coefficients and no more. Where the gap is too large, samples whose
coefficient should not be 0 join. So the result is as certain as that of the whole problem, but most of the matrix is
never formed.

This is the short way for a kernel that is combined of whole Gram matrices, from a start near its solution; it gives up
where that takes too many samples, and the matrix is formed then. `in_parts` is the general way without any matrix.

======  ======================================
symbol  name
======  ======================================
c       solution
p - Kc  gradient
======  ======================================
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..result import Result
from ._rounds import certify
from .box import feasible, solve_box_qp

LARGEST_SHARE = 0.4  # of the samples; a working set beyond costs as much as all of them
# Samples in the first working set: a multiple of those with coefficients, and at least a share of all.
FIRST_FACTOR, FIRST_SHARE = 1.3, 0.1
MOST_ROUNDS = 5


class KernelBlocks(Protocol):
    """A symmetric positive semidefinite matrix of which some entries are computed at a time."""

    def block(self, rows: np.ndarray) -> np.ndarray:
        """The matrix at these rows and columns."""

    def product(self, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """The matrix times a vector that is zero but for these entries."""


def solve_in_working_set(
    kernel: KernelBlocks,
    linear: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    total: float,
    insensitivity: float,
    start: np.ndarray,
    gap_tol: float,
    max_steps: int | None = None,
) -> Result | None:
    """Solve the box QP from a start near its solution; None where that needs too many of the samples.

    Parameters are those of `solve_box_qp`, and so is the rule ``gap <= gap_tol * max(1, |objective|)``.

    Parameters
    ----------
    kernel : KernelBlocks
    linear, lower, upper : ndarray of shape (n,)
    total, insensitivity : float
    start : ndarray of shape (n,)
        Usually the solution under a nearby kernel.
    gap_tol : float
    max_steps : int, optional

    Examples
    --------
    >>> import numpy as np
    >>> class Dense:
    ...     def __init__(self, K):
    ...         self.K = K
    ...     def block(self, rows):
    ...         return self.K[np.ix_(rows, rows)]
    ...     def product(self, rows, coef):
    ...         return self.K[:, rows] @ coef
    >>> x = np.array([-9.0, -8.0, -7.0, -1.0, 1.0, 6.0, 7.0, 8.0, 9.0, 10.0])
    >>> y, upper = np.sign(x), np.maximum(10.0 * np.sign(x), 0.0)
    >>> start = np.where(np.abs(x) == 1.0, 0.4 * y, 0.0)
    >>> solve_in_working_set(Dense(np.outer(x, x)), y, upper - 10.0, upper, 0.0, 0.0, start, 1e-6).solution[3:5]
    array([-0.5,  0.5])
    """
    n_samples = len(linear)
    c = feasible(start, lower, upper, total)
    working = np.zeros(n_samples, dtype=bool)
    steps = 0
    for _ in range(MOST_ROUNDS):
        used = np.flatnonzero(c)
        if not 0 < len(used) <= LARGEST_SHARE * n_samples:
            return None
        gradient = linear - kernel.product(used, c[used])
        objective, gap, b, violation = certify(c, gradient, linear, lower, upper, insensitivity)
        if gap <= gap_tol * max(1.0, abs(objective)):
            return Result(c, objective, gap, steps, True, violation, b)
        distance = _distances(c, gradient - b, lower, upper, insensitivity)
        wanted = int(max(FIRST_FACTOR * len(used), FIRST_SHARE * n_samples))
        nearest = np.argpartition(distance, min(wanted, n_samples - 1))[:wanted]
        working[nearest] = working[used] = working[distance < 0.0] = True
        rows = np.flatnonzero(working)
        if len(rows) > LARGEST_SHARE * n_samples:
            return None
        part = solve_box_qp(
            kernel.block(rows),
            linear[rows],
            lower[rows],
            upper[rows],
            total,
            insensitivity,
            start=c[rows],
            gap_tol=0.5 * gap_tol,
            max_steps=None if max_steps is None else max(1, max_steps - steps),
        )
        steps += part.steps
        if not part.converged:
            return None
        c = np.zeros(n_samples)
        c[rows] = part.solution
    return None


def _distances(
    c: np.ndarray, slope: np.ndarray, lower: np.ndarray, upper: np.ndarray, insensitivity: float
) -> np.ndarray:
    """How far each sample is from wanting another coefficient; negative where it does."""
    up = np.where(c < upper, -(slope - np.where(c >= 0.0, insensitivity, -insensitivity)), np.inf)
    down = np.where(c > lower, slope - np.where(c > 0.0, insensitivity, -insensitivity), np.inf)
    return np.minimum(up, down)
