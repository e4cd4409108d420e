"""The box QP of `box` on a kernel in parts: rows of a small working set against all samples, never the whole matrix.

Each round takes the samples that violate the KKT conditions most, solves the problem on them (the rest held fixed) with
the dense solver of `_block`, and brings the image K c of all samples up to date by the columns whose coefficients
changed. Objective, duality gap and KKT violation are those of *all* samples.

======  ======================================
symbol  name
======  ======================================
c       solution
K c     value of an image
p - Kc  gradient
======  ======================================
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..result import Result
from ._block import solve_block
from ._certificate import least_gap
from ._rounds import FINAL, INNER, certify, choose_block, fixed_jitter
from .box import GAP_PER_TOL, LEAST_SIZE, feasible

WORKING_SET = 1024


class KernelInParts(Protocol):
    """A symmetric positive semidefinite matrix K of which only parts are computed.

    An *image* is what a kernel keeps of K c; only the kernel itself reads it. Positions and coefficients are NumPy
    arrays; images and values are arrays of `place`.
    """

    place: Any
    n_samples: int

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal of K."""

    def block(self, rows: np.ndarray) -> np.ndarray:
        """K at these rows and columns, a NumPy array."""

    def zero(self) -> Any:
        """The image of coefficients 0."""

    def add(self, image: Any, rows: np.ndarray, change: np.ndarray, targets: np.ndarray | None = None) -> None:
        """Bring an image up to date, in place (at some samples, or all), after coefficients changed by so much."""

    def value(self, image: Any, coef: Any) -> Any:
        """K c, of shape (n_samples,), from its image; `coef` is c, an array of the place."""

    def reuses(self, image: Any) -> bool:
        """Whether an image (or None) is one of this kernel."""

    def subset(self, index: np.ndarray) -> KernelInParts:
        """The kernel among some of the samples."""


def solve_in_parts(
    kernel: KernelInParts,
    linear: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    total: float = 0.0,
    insensitivity: float = 0.0,
    start: np.ndarray | None = None,
    image: Any = None,
    tol: float = 1e-3,
    gap_tol: float | None = None,
    max_steps: int | None = None,
) -> Result:
    """Solve the box QP on a kernel in parts; parameters and result are those of `solve_box_qp`.

    Parameters
    ----------
    kernel : KernelInParts
    linear, lower, upper : ndarray of shape (n,)
    total, insensitivity : float
    start : ndarray of shape (n,), optional
    image : image, optional
        Of the start, where the kernel reuses it; it is changed. Computed by default.
    tol, gap_tol, max_steps
        As in `solve_box_qp`.

    Returns
    -------
    Result
        With the `image` of the solution.
    """
    n = len(linear)
    c = np.clip(0.0, lower, upper) if start is None else feasible(np.array(start, dtype=float), lower, upper, total)
    if start is None and c.sum() != total:
        c = feasible(np.full(n, total / n), lower, upper, total)
    if not (kernel.reuses(image) and start is not None and np.array_equal(c, start)):
        image = kernel.zero()
        rows = np.flatnonzero(c)
        if len(rows):
            kernel.add(image, rows, c[rows])
    diagonal = kernel.diagonal
    place, steps = kernel.place, 0
    budget = max(10_000_000, 100 * n) if max_steps is None else int(max_steps)
    floor = 1.0 if linear.any() else LEAST_SIZE * total**2 * np.abs(diagonal).max()
    goal = (np.inf, gap_tol, 1.0) if gap_tol is not None else (tol, GAP_PER_TOL * tol, floor)
    jitter, rank = fixed_jitter(n), np.empty(n)
    target = goal[0]
    while True:
        gradient = linear - place.numpy(kernel.value(image, place.asarray(c)))
        objective, gap, b, violation = certify(c, gradient, linear, lower, upper, insensitivity)
        limit = goal[1] * max(goal[2], abs(objective))
        if violation <= goal[0] and gap > limit:
            gap = least_gap(c, gradient, linear, lower, upper, insensitivity, total, gap, limit, violation)
        converged = violation <= goal[0] and gap <= limit
        if converged or steps >= budget or violation == 0.0:
            return Result(c, objective, gap, steps, converged, violation, b, image=image)
        if violation <= target:
            target = 0.3 * violation
        top, low, block = choose_block(c, gradient, lower, upper, insensitivity, 0.0, WORKING_SET, jitter, rank)
        K = kernel.block(block)
        m = len(block)
        new = c[block]
        inner = 0.9 * target if m == n or top - low < FINAL * target else INNER * (top - low)
        steps += solve_block(
            (K, np.arange(m), np.empty((m, m)), np.full(m + 1, -1)),
            diagonal[block],
            (new, gradient[block], lower[block], upper[block], insensitivity),
            inner,
            min(budget - steps, 100 * m + 1000),
        )
        change = new - c[block]
        c[block] = new
        moved = change != 0.0
        kernel.add(image, block[moved], change[moved])
