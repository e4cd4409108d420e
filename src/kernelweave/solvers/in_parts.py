"""The box QP of `box` on a kernel in parts: rows of a small working set against all samples, never the whole matrix.

Each round takes the samples that violate the KKT conditions most and the best of the round before (`_state`),
solves the problem on them with the dense solver of `_block` while the others are held fixed, and brings the image K c
of all samples up to date by the columns whose coefficients changed. The state is arrays at the kernel's place; only
the working set's block of K, gradient and coefficients are on the host. Objective, duality gap and KKT violation are
those of *all* samples: before the certificate is computed, samples at rest are brought up to date, and the image is
compared with fresh values at some samples and computed afresh where rounding has changed it too much.

======  ======================================
symbol  name
======  ======================================
c       solution
K c     value of an image
p - Kc  gradient
======  ======================================
"""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

import numpy as np

from ..result import Result
from ._block import solve_block
from ._certificate import least_gap
from ._rounds import FINAL, RESOLUTION, STALL
from ._state import REST_EVERY, Slopes, State
from .box import GAP_PER_TOL, SUM_ERROR, checked_problem, feasible, least_size, some_rows, spread

WORKING_SET = 1024
INNER = 0.1  # a block is solved to this fraction of the violation that chose it
AIM = 0.5  # of the violation at which the gap would be small enough if it fell as the violation does
CHECKED = 64  # samples at which the image is compared with fresh values
DRIFT = 0.05  # of the violation that may remain: what rounding may have done to the gradient
LONGEST_WAIT = 8  # rounds without a look at the gap, which is a power of 2 times what is wanted
PATIENCE = 100  # rounds without a lower violation, after which the image is compared with fresh values
STEPS_PER_SAMPLE = 1000  # pair updates are on a block, so they cost less than those of `box`
NOT_FINITE = "K contains NaN or infinity, or overflows when multiplied by the bounds"


class KernelInParts(Protocol):
    """A symmetric positive semidefinite matrix K of which only parts are computed.

    An *image* is what a kernel keeps of K c; only the kernel itself reads it. Positions and coefficients are NumPy
    arrays; images and values are arrays of `place`. A kernel may have an attribute ``progress``: a function that is
    called after each round with an estimate of how much of the solve is done, from 0 to 1.
    """

    place: Any

    @property
    def n_samples(self) -> int:
        """Number of samples."""

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal of K."""

    def block(self, rows: np.ndarray) -> np.ndarray:
        """K at these rows and columns, a NumPy array."""

    def product(self, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """K at these rows and columns times coefficients, a NumPy array; computed afresh."""

    def zero(self) -> Any:
        """The image of coefficients 0."""

    def copy(self, image: Any) -> Any:
        """An image with the same values that can be changed by itself."""

    def add(self, image: Any, rows: np.ndarray, change: np.ndarray, targets: np.ndarray | None = None) -> None:
        """Bring an image up to date, in place (at some samples, or all), after coefficients changed by so much."""

    def value(self, image: Any, coef: Any) -> Any:
        """K c, of shape (n_samples,), from its image; `coef` is c, an array of the place."""

    def reuses(self, image: Any) -> bool:
        """Whether an image (or None) is one of this kernel."""

    def subset(self, index: np.ndarray) -> KernelInParts:
        """The kernel among some of the samples."""


class RidgedInParts:
    """A kernel in parts plus a diagonal, K + H; images are those of K."""

    def __init__(self, kernel: KernelInParts, ridge: np.ndarray):
        self.kernel, self.ridge, self.place = kernel, np.asarray(ridge, dtype=np.float64), kernel.place
        self.progress = getattr(kernel, "progress", None)
        self.zero, self.copy, self.add, self.reuses = kernel.zero, kernel.copy, kernel.add, kernel.reuses

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.kernel.n_samples

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal of K + H."""
        return self.kernel.diagonal + self.ridge

    def block(self, rows: np.ndarray) -> np.ndarray:
        """K + H at these rows and columns."""
        found = self.kernel.block(rows)
        found[np.diag_indices_from(found)] += self.ridge[rows]
        return found

    def product(self, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """K + H at these rows and columns times coefficients."""
        same = (rows[:, None] == columns) * self.ridge[rows][:, None]
        return self.kernel.product(rows, columns, coef) + same @ coef

    def value(self, image: Any, coef: Any) -> Any:
        """(K + H) c from the image of c."""
        return self.kernel.value(image, coef) + self.place.asarray(self.ridge, "float64") * coef

    def subset(self, index: np.ndarray) -> RidgedInParts:
        """The same among some of the samples."""
        return RidgedInParts(self.kernel.subset(index), self.ridge[index])


def is_in_parts(K: Any) -> TypeGuard[KernelInParts]:
    """Whether a kernel is computed in parts, and no matrix."""
    return not isinstance(K, np.ndarray) and hasattr(K, "add") and hasattr(K, "subset")


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
        Of the start, where the kernel reuses it. Computed by default.
    tol, gap_tol
        As in `solve_box_qp`.
    max_steps : int, optional
        Most pair updates; ``max(10_000_000, 1000 n)`` by default.

    Returns
    -------
    Result
        With the `image` of the solution.

    Notes
    -----
    Memory: a dozen vectors, the block of a working set, and what the kernel needs for an image.
    """
    n = kernel.n_samples
    linear, lower, upper = checked_problem((n, n), linear, lower, upper, total, insensitivity)
    diagonal = np.ascontiguousarray(kernel.diagonal, dtype=np.float64)
    if not np.isfinite(diagonal).all():
        raise ValueError("the diagonal of K contains NaN or infinity")
    budget = max(10_000_000, STEPS_PER_SAMPLE * n) if max_steps is None else int(max_steps)
    goal = (np.inf, gap_tol, 1.0)
    if gap_tol is None:  # without a linear term the objective has no other size than its own
        goal = (tol, GAP_PER_TOL * tol, 1.0 if linear.any() else least_size(diagonal, total))
    solve = _Solve(kernel, diagonal, (linear, lower, upper, total, float(insensitivity)), goal, budget)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite raises an error in the end
        solve.begin(start, image)
        return solve.run()


class _Solve:
    """One solve.

    Parameters
    ----------
    kernel : KernelInParts
    diagonal : ndarray of shape (n,)
    problem : tuple
        linear, lower, upper, total and insensitivity.
    goal : tuple
        The violation and the gap that are wanted, the latter relative to the objective, and the least size of it.
    budget : int
        Most steps.
    """

    def __init__(self, kernel: KernelInParts, diagonal: np.ndarray, problem: Any, goal: Any, budget: int):
        self.linear, self.lower, self.upper, self.total, self.e = problem
        self.kernel, self.diagonal, self.budget = kernel, diagonal, budget
        self.tol, self.gap_tol, self.floor = goal
        self.state = State(kernel, self.linear, self.lower, self.upper, self.e)
        self.lengths = np.sqrt(np.abs(diagonal))
        self.widths = float((self.upper - self.lower).sum())
        self.steps = self.rounds = self.checks = 0
        self.lowest = np.inf, 0  # violation so far, and the round
        self.weak = 0  # rounds in a row that gained less than their own rounding
        self.span: float | None = None  # sum_j sqrt(K_jj) |c_j|
        self.waiting = 0  # rounds without a look at the gap
        self.noise = 0.0  # what fresh values differ by from a fresh image
        self.block: np.ndarray | None = None  # of K at the last working set
        self.moved: Any = None  # what the last round changed
        self.rests = kernel.place.is_host and len(diagonal) > 2 * WORKING_SET
        self.aim = AIM  # of the violation: where the gap should be small enough
        self.first: float | None = None
        self.done = 0.0

    def begin(self, start: np.ndarray | None, image: Any) -> None:
        """The first point: the given start, unless it is worse than starting from nothing."""
        state, kernel = self.state, self.kernel
        if start is not None:
            start = np.array(start, dtype=np.float64).reshape(-1)
            c = feasible(start, self.lower, self.upper, self.total)
            if kernel.reuses(image):
                image = kernel.copy(image)
                rows = np.flatnonzero(c != start)
                if len(rows):
                    kernel.add(image, rows, c[rows] - start[rows])
            else:
                image = None
            state.begin(c, image)
            slopes = state.slopes()
            objective, gap, _ = state.certificate(slopes)
            zero_is_feasible = self.total == 0.0 and (self.lower <= 0.0).all() and (self.upper >= 0.0).all()
            # As in `box`: zero has objective 0; where it is not feasible, one sample alone has at most this gap.
            useless = objective < 0.0 if zero_is_feasible else gap > 0.5 * self.total**2 * self.diagonal.max()
            if not useless or not np.isfinite(gap):
                return
        state.begin(self._cold_start())

    def _cold_start(self) -> np.ndarray:
        """Zero where the box allows it; any missing sum goes to the samples that a rough gradient prefers."""
        c = np.minimum(np.maximum(0.0, self.lower), self.upper)
        missing = self.total - c.sum()
        if missing == 0.0:
            return c
        kernel, rows = self.kernel, some_rows(len(c))
        image, rough = kernel.zero(), np.zeros(len(c))
        rough[rows] = missing / len(rows)
        kernel.add(image, rows, rough[rows])
        values = kernel.place.numpy(kernel.value(image, kernel.place.asarray(rough)))
        return spread(c, missing, self.linear - values, self.lower, self.upper)

    def run(self) -> Result:
        """Rounds until violation and gap are reached, the budget is spent, or rounding ends progress."""
        state, target, best, lost = self.state, self.tol, np.inf, False
        while True:
            slopes = state.slopes()
            self._judge(slopes)
            lost = lost or self._lost(slopes)
            stalled = lost or self.weak >= STALL
            if not (stalled or self.steps >= self.budget or self._near(slopes, target)):
                self._round(slopes, target if self.tol < np.inf else self.aim * slopes.violation)
                continue
            if state.active is not None:
                state.wake()
                self.weak = 0
                continue
            fresh = self._refresh(slopes)
            slopes = state.slopes()
            objective, gap, b = state.certificate(slopes)
            self._check_finite(objective, gap, slopes)
            violation, limit = slopes.violation, self.gap_tol * max(self.floor, abs(objective))
            ends = self.steps >= self.budget or ((stalled or fresh) and not violation <= 0.9 * best)
            if violation <= self.tol and gap > limit and (ends or self.tol < np.inf):
                gap = self._least_gap(slopes, gap, limit)
            converged = violation <= self.tol and gap <= limit
            if converged or ends or violation == 0.0:
                return Result(
                    state.c, objective, gap, self.steps, converged, violation, b, rounds=self.rounds, image=state.image
                )
            best, self.weak, lost = min(best, violation), 0, False
            if violation <= self.tol < np.inf:
                target = violation * min(0.3, max(1e-3, 0.5 * limit / gap))

    def _lost(self, slopes: Slopes) -> bool:
        """Whether rounding, and no difficult problem, has kept the violation from falling for many rounds."""
        if slopes.violation <= 0.9 * self.lowest[0]:
            self.lowest = slopes.violation, self.rounds
        if self.rounds - self.lowest[1] < PATIENCE:
            return False
        self.lowest = slopes.violation, self.rounds
        return self._drift() > self._allowed(slopes)

    def _near(self, slopes: Slopes, target: float) -> bool:
        """Whether a certificate is due: the samples that are not at rest have what is wanted of all."""
        if self.tol < np.inf:
            self._show(slopes.violation, target)
            return slopes.violation <= target
        if self.waiting > 0:
            self.waiting -= 1
            return False
        objective, gap, _ = self.state.certificate(slopes)
        limit = self.gap_tol * max(self.floor, abs(objective))
        self._show(gap, limit)
        self.aim = AIM * min(1.0, limit / gap) if gap > 0.0 else AIM
        if not self.kernel.place.is_host and limit < gap < np.inf:  # a look takes as long as the other choices
            self.waiting = min(LONGEST_WAIT, int(np.log2(gap / limit)))
        return not gap > limit

    def _show(self, excess: float, wanted: float) -> None:
        """Call the kernel's `progress` with the share of the orders of magnitude that is done."""
        progress = getattr(self.kernel, "progress", None)
        if progress is None or not 0.0 < excess < np.inf:
            return
        self.first = excess if self.first is None else max(self.first, excess)
        if excess <= wanted:
            self.done = 1.0
        elif self.first > wanted > 0.0:
            self.done = max(self.done, np.log(self.first / excess) / np.log(self.first / wanted))
        progress(float(self.done))

    def _round(self, slopes: Slopes, target: float) -> None:
        """Solve one working set and take its coefficients over."""
        state, violation = self.state, slopes.violation
        if self.rests and self.rounds % REST_EVERY == REST_EVERY - 1:
            state.rest(slopes)
        rows = state.choose(slopes, WORKING_SET)
        if self.block is None or not np.array_equal(rows, state.chosen):
            self.block = self.kernel.block(rows)
        state.chosen, m = rows, len(rows)
        before = state.c[rows]
        gradient = np.array(state.place.numpy(state.place.take(slopes.gradient, rows)))
        new, after = before.copy(), gradient.copy()
        ends = m == len(state.c) or violation < FINAL * target
        K = self.block.view()
        K.flags.writeable = False
        self.steps += solve_block(
            (K, np.arange(m), self.block, np.arange(m + 1)),  # all rows are there
            self.diagonal[rows],
            (new, after, self.lower[rows], self.upper[rows], self.e),
            0.9 * target if ends else INNER * violation,
            min(self.budget - self.steps, 100 * m + 1000),
        )
        self.rounds += 1
        if not np.isfinite(after).all():
            raise ValueError(NOT_FINITE)
        change = new - before
        moved = change != 0.0
        self.moved = (rows[moved], change[moved], new[moved], before[moved], gradient[moved])
        if moved.any():
            state.move(*self.moved[:3])

    def _judge(self, slopes: Slopes) -> None:
        """Count the rounds in a row whose rise of the objective is below the rounding error of that rise."""
        if self.moved is None:
            return
        rows, change, new, before, gradient = self.moved
        self.moved, place = None, self.state.place
        growth, distance = np.abs(new) - np.abs(before), np.abs(change)
        after = place.numpy(place.take(slopes.gradient, rows))
        gain = 0.5 * change @ (gradient + after) - self.e * growth.sum()
        error = distance @ (2.0 * np.abs(gradient) + self.e)
        # |K_kj c_j| <= sqrt(K_kk) sqrt(K_jj) |c_j|: what the rounding of K c is relative to
        if self.span is None:
            self.span = float(self.lengths @ np.abs(self.state.c))
        else:
            self.span += float(self.lengths[rows] @ growth)
        error += (distance @ self.lengths[rows]) * self.span
        if not gain > 0.0:
            self.weak = STALL
        else:
            self.weak = 0 if gain > RESOLUTION * error else self.weak + 1

    def _refresh(self, slopes: Slopes) -> bool:
        """Remove what rounding has done to the sum and the image; returns whether it did too much to the image."""
        state = self.state
        c = state.c
        excess = c.sum() - self.total
        room = np.minimum(np.minimum(self.upper - c, c - self.lower), np.abs(c))
        widest = np.argmax(room)
        if SUM_ERROR * np.abs(c).sum() < abs(excess) < room[widest]:
            state.move(np.array([widest]), np.array([-excess]), np.array([c[widest] - excess]))
        if self.steps == 0 or self._drift() <= self._allowed(slopes):
            return False
        state.begin(c)
        self.noise = self._drift()
        return True

    def _allowed(self, slopes: Slopes) -> float:
        """What rounding may have done to the gradient: little, measured by the violation that may remain."""
        enough = self.tol
        if enough == np.inf:  # the gap is at most the violation times the widths of the boxes
            objective = self.state.certificate(slopes)[0]
            enough = self.gap_tol * max(self.floor, abs(objective)) / max(self.widths, np.finfo(float).tiny)
            enough = max(slopes.violation, enough)
        return max(DRIFT * enough, 2.0 * self.noise)

    def _drift(self) -> float:
        """The largest difference between the image and fresh values, at some samples that are not at rest."""
        state, kernel, place = self.state, self.kernel, self.kernel.place
        n = len(state.c) if state.active is None else len(state.active)
        rows = np.random.RandomState(self.checks).permutation(n)[:CHECKED]
        self.checks += 1
        rows = rows if state.active is None else state.active[rows]
        support = np.flatnonzero(state.c)
        fresh = kernel.product(rows, support, state.c[support]) if len(support) else 0.0
        kept = place.numpy(place.take(kernel.value(state.image, state.there), rows))
        return float(np.abs(fresh - kept).max())

    def _least_gap(self, slopes: Slopes, gap: float, limit: float) -> float:
        gradient = self.kernel.place.numpy(slopes.gradient)
        bounds = self.lower, self.upper, self.e, self.total
        return least_gap(self.state.c, gradient, self.linear, *bounds, gap, limit, slopes.violation)

    def _check_finite(self, objective: float, gap: float, slopes: Slopes) -> None:
        xp = self.state.xp
        if not (np.isfinite(objective) and np.isfinite(gap) and bool(xp.all(xp.isfinite(slopes.gradient)))):
            raise ValueError(NOT_FINITE)
