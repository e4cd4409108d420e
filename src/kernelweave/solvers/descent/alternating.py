"""Descent block after block with Armijo's rule, as the papers train projections.

Algorithm 1 of SLDR and Figures 4.1 and 4.2 of the thesis (Gönen 2010): one iteration is a cycle over the blocks
(projections, gating projection, gating parameters); each block goes down its own gradient and back to where it may be,
for orthonormal matrices by a singular value decomposition (SLDR A.3), before the function is evaluated for the next
block. The size of a step is found by Armijo's rule, as in the papers. `smooth.minimize_lbfgs` moves all blocks at once
and needs fewer evaluations.

==================  ========================================================
SLDR, Algorithm 1   here
==================  ========================================================
W, T, V             blocks of the position
Delta, nu, mu       rates, the step sizes that each block remembers
==================  ========================================================
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._line_search import DECREASE, MOST_TRIALS, first_length, is_finite, negligible_decrease, straight_step
from .domains import Domain, Space
from .smooth import Callback, Descent, Function, Objective, Point, descend

Blocks = Sequence[tuple[slice, Domain]]


def minimize_alternating(
    function: Function,
    start: np.ndarray,
    blocks: Blocks,
    tol: float = 1e-3,
    precision: float = 1e-12,
    max_iterations: int = 100,
    first_step: float = 1.0,
    callback: Callback | None = None,
) -> Descent:
    """Minimise a function by gradient steps of one block after another, with step sizes from Armijo's rule.

    The descent of Gönen and Alpaydın, *Supervised and localized dimensionality reduction from multiple feature
    representations or kernels*, Algorithm 1.

    Parameters
    ----------
    function : callable
        ``function(position) -> (value, gradient, detail)``, as for `minimize_lbfgs`.
    start : ndarray of shape (n,)
        Each block is brought into its domain.
    blocks : sequence of (slice, Domain)
        Parts of the position in the order in which they move. Every entry belongs to one block.
    tol : float, default=1e-3
        Relative progress of a cycle over all blocks that ends the descent.
    precision : float, default=1e-12
        By how much values may be wrong, relative to ``max(1, |value|)``; well below `tol`.
    max_iterations : int, default=100
        Most cycles.
    first_step : float, default=1
        Length of the first trial step of each block.
    callback : callable, optional
        ``callback(iteration, point)`` after the start (iteration 0) and each cycle; True ends the descent. Gradients of
        points are those in space.

    Examples
    --------
    The nearest point to (2, 2, 2) whose first two entries have norm one:

    >>> import numpy as np
    >>> from kernelweave.solvers import Space, Sphere
    >>> def bowl(x):
    ...     return float(np.sum((x - 2.0) ** 2)), 2.0 * (x - 2.0), None
    >>> blocks = [(slice(0, 2), Sphere(1.0)), (slice(2, 3), Space())]
    >>> minimize_alternating(bowl, np.array([1.0, 0.0, 0.0]), blocks, tol=1e-9).solution.round(3)
    array([0.707, 0.707, 2.   ])
    """
    start = np.array(start, dtype=float)
    _check(blocks, len(start))
    for part, domain in blocks:
        start[part] = domain.enter(start[part])
    cycle = _Cycle(blocks, precision, first_step)
    return descend(Objective(function, Space()), start, cycle, tol, max_iterations, callback)


def _check(blocks: Blocks, size: int) -> None:
    members = np.zeros(size, dtype=int)
    for part, _ in blocks:
        members[part] += 1
    if not (members == 1).all():
        at = int(np.flatnonzero(members != 1)[0])
        raise ValueError(f"every entry of the position must be in one block; entry {at} is in {members[at]}")


class _Cycle:
    """An iteration: each block takes one step."""

    def __init__(self, blocks: Blocks, precision: float, first_step: float):
        self.blocks = blocks
        self.precision = precision
        self.first_step = first_step
        self.rates: list[float | None] = [None] * len(blocks)  # of the last step of each block

    def step(self, objective: Objective, point: Point) -> Point | None:
        """The point after one step of each block."""
        before = objective.evaluations
        for block in range(len(self.blocks)):
            point = self._move(objective, point, block)
        return point if objective.evaluations > before else None

    def retry(self) -> bool:
        """Steps were shortened until they promised nothing, so no other cycle would be different."""
        return False

    def _move(self, objective: Objective, point: Point, block: int) -> Point:
        """A step of one block, halved until it goes down; the same point where none does."""
        part, domain = self.blocks[block]
        inside, gradient = point.position[part], point.gradient[part]
        downhill = -domain.tangent(inside, gradient)
        negligible = negligible_decrease(point, self.precision)
        rate = self._first_rate(block, gradient)
        for _ in range(MOST_TRIALS):
            promise = downhill @ straight_step(domain, inside, rate * downhill)
            if not promise > negligible:
                break
            position = point.position.copy()
            position[part] = domain.enter(inside - rate * gradient)  # SLDR Algorithm 1, lines 5, 8 and 11
            trial = objective(position)
            self.rates[block] = rate
            if is_finite(trial) and trial.value < point.value - DECREASE * promise:
                return trial
            rate *= 0.5
        return point

    def _first_rate(self, block: int, gradient: np.ndarray) -> float:
        """Twice the last rate, or the one of a first step."""
        last = self.rates[block]
        return first_length(self.first_step, gradient) if last is None else 2.0 * last
