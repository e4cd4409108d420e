"""The box QP of `box_qp` on a kernel in parts: rows of a small working set against all samples, never the whole matrix.

Each round takes the samples that violate the KKT conditions most and the best of the round before, solves the problem
on them with the dense solver of `pairs` while the others are held fixed, and brings the image K c of all samples up to
date by the columns whose coefficients changed. On a device all free samples move at once now and then, by conjugate
gradients on the face of the box that they span. The state is arrays at the kernel's place; only the working set's block
of K, gradient and coefficients are on the host. Objective, duality gap and KKT violation are those of *all* samples:
before the certificate is computed, samples at rest are brought up to date, and the image is compared with fresh values
at some samples and computed afresh where rounding has changed it too much.

Slopes and sides are those of `pairs`: c is optimal where max up <= min down. Samples that have been safely at their
bound for some rounds are *at rest*: the image is not brought up to date at them, and they are not chosen, until `wake`
brings it up to date there with one update for all changes since.

c is `solution`, K c the `value` of an image, and p - K c `gradient`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

import numpy as np

from .base import Result
from .box_qp import (
    FINAL,
    LEAST,
    RESOLUTION,
    STALL,
    checked_problem,
    cold_start,
    excess_of_sum,
    feasible,
    fixed_jitter,
    least_gap,
    wanted,
    worse_than_nothing,
)
from .compiled import read_only
from .pairs import solve_block

WORKING_SET = 1024
INNER = 0.1  # a block is solved to this fraction of the violation that chose it
AIM = 0.5  # of the violation at which the gap would be small enough if it fell as the violation does
CHECKED = 64  # samples at which the image is compared with fresh values
DRIFT = 0.05  # of the violation that may remain: what rounding may have done to the gradient
LONGEST_WAIT = 8  # rounds without a look at the gap, which is a power of 2 times what is wanted
PATIENCE = 100  # rounds without a lower violation, after which the image is compared with fresh values
STEPS_PER_SAMPLE = 1000  # pair updates are on a block, so they cost less than those of `box_qp`
NOT_FINITE = "K contains NaN or infinity, or overflows when multiplied by the bounds"
FILLED = 2.0  # a working set holds at most so many times as many samples as violate
REST_EVERY = 10  # rounds between two looks for samples at rest; a sample rests if it is safe at two in a row
FEW = 0.95  # of the samples that a working set may have; one that lacks more is filled up
# All free samples move at once after so many passes of the working sets over them, but not more often, nor where they
# are fewer than so many working sets; by so many steps of conjugate gradients, or until these leave such a residual
FACE_PASSES, FACE_EVERY, FACE_LEAST = 0.5, 20, 2
FACE_STEPS, FACE_TOL, FACE_TRIALS = 10, 0.2, 60
REST_SHARE = 0.1  # of the active samples; fewer are not put to rest
# Of a solve for which few of the kernel's values are to be computed: the samples of a working set, at least and as a
# share of all; and the share of the first working set beyond which coefficients are not few.
FEWEST, FEW_SHARE, MANY = 224, 8, 0.5


class KernelInParts(Protocol):
    """A symmetric positive semidefinite matrix K of which only parts are computed.

    An *image* is what a kernel keeps of K c; only the kernel itself reads it. Positions and coefficients are NumPy
    arrays; images and values are arrays of `place`. A function ``progress`` is called with the share of the solve that
    is done.
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

    def add_columns(
        self, images: Sequence[Any], rows: np.ndarray, change: np.ndarray, targets: np.ndarray | None = None
    ) -> None:
        """`add` to an image for each column of coefficients, by one product; change is (n_rows, n_columns)."""

    def value(self, image: Any, coef: Any) -> Any:
        """K c, of shape (n_samples,), from its image; `coef` is c, an array of the place."""

    def reuses(self, image: Any) -> bool:
        """Whether an image (or None) is one of this kernel."""

    def subset(self, index: np.ndarray) -> KernelInParts:
        """The kernel among some of the samples."""

    def times(self, rows: np.ndarray | None, columns: np.ndarray | None, coef: Any) -> Any:
        """K between some samples and others times coefficients, of shape (n_rows, n_outputs)."""


class ManyColumns(KernelInParts, Protocol):
    """The same for several columns of coefficients at once: images are side by side along the last axis of an array."""

    @property
    def rounding(self) -> float:
        """The relative rounding error of values of K."""

    @property
    def n_used(self) -> int:
        """How many base kernels make a value of K."""

    def part(self, rows: np.ndarray, columns: np.ndarray | None) -> Any:
        """K between some samples and others (None: all)."""

    def images(self, coef: Any) -> Any:
        """The images of columns of coefficients."""

    def no_images(self, n_outputs: int) -> Any:
        """The images of coefficients 0."""

    def summed(self, images: Any) -> Any:
        """K C from the images of C."""

    def column(self, images: Any, output: int, rows: np.ndarray | None = None) -> Any:
        """The image of one column, or of one that is 0 but for some samples, of the kernel among them (or None)."""

    def joined(self, images: Any) -> Any:
        """The images of single columns side by side; None unless all are of this kernel."""


def step_on_face(
    kernel: KernelInParts, free: np.ndarray, c: np.ndarray, gradient: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """By how much to change the coefficients of free samples together, others held: of sum 0, and within the bounds.

    Conjugate gradients on K_FF d = gradient, of which the end is put within the bounds; as far that way as is best.
    """
    place = kernel.place
    xp = place.xp
    r = place.asarray((gradient - gradient.mean())[:, None], "float64")
    d, p, square = xp.zeros_like(r), r, float(xp.sum(r * r))
    least = FACE_TOL**2 * square
    for _ in range(FACE_STEPS):
        image = kernel.times(free, free, p)
        bend = float(xp.sum(p * image))
        if not bend > 0.0:
            break
        length = square / bend
        d, r = d + length * p, r - length * (image - xp.mean(image))
        square, last = float(xp.sum(r * r)), square
        if square <= least:
            break
        p = r + (square / last) * p
    wanted = c + place.numpy(d)[:, 0]
    low, high = -np.abs(wanted - c).max(initial=0.0), np.abs(wanted - c).max(initial=0.0)
    for _ in range(FACE_TRIALS):  # the nearest point within the bounds that has the sum
        middle = 0.5 * (low + high)
        too_large = np.clip(wanted + middle, lower, upper).sum() > c.sum()
        low, high = (low, middle) if too_large else (middle, high)
    change = np.clip(wanted + low, lower, upper) - c
    image = place.numpy(kernel.times(free, free, place.asarray(change[:, None], "float64")))[:, 0]
    gain, bend = float(change @ (gradient - gradient.mean())), float(change @ image)
    return min(1.0, gain / bend) * change if gain > 0.0 and bend > 0.0 else np.zeros(len(c))


class RidgedInParts:
    """A kernel in parts plus a diagonal, K + H; images are those of K."""

    def __init__(self, kernel: KernelInParts, ridge: np.ndarray):
        self.kernel, self.ridge, self.place = kernel, np.asarray(ridge, dtype=np.float64), kernel.place
        self.progress = getattr(kernel, "progress", None)
        self.zero, self.copy, self.add, self.reuses = kernel.zero, kernel.copy, kernel.add, kernel.reuses
        self.add_columns = kernel.add_columns

    @property
    def n_samples(self) -> int:
        return self.kernel.n_samples

    @property
    def diagonal(self) -> np.ndarray:
        return self.kernel.diagonal + self.ridge

    def block(self, rows: np.ndarray) -> np.ndarray:
        found = self.kernel.block(rows)
        found[np.diag_indices_from(found)] += self.ridge[rows]
        return found

    def product(self, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
        same = (rows[:, None] == columns) * self.ridge[rows][:, None]
        return self.kernel.product(rows, columns, coef) + same @ coef

    def times(self, rows: np.ndarray | None, columns: np.ndarray | None, coef: Any) -> Any:
        place = self.place
        own = place.zeros((self.n_samples, coef.shape[1]))
        place.put(own, columns, coef * place.take(place.asarray(self.ridge), columns)[:, None])
        return self.kernel.times(rows, columns, coef) + place.take(own, rows)

    def value(self, image: Any, coef: Any) -> Any:
        return self.kernel.value(image, coef) + self.place.asarray(self.ridge, "float64") * coef

    def subset(self, index: np.ndarray) -> RidgedInParts:
        return RidgedInParts(self.kernel.subset(index), self.ridge[index])


def is_in_parts(K: Any) -> TypeGuard[KernelInParts]:
    return not isinstance(K, np.ndarray) and hasattr(K, "add") and hasattr(K, "subset")


def solve_in_parts(
    kernel: KernelInParts | RidgedInParts,
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
    most: float | None = None,
) -> Result:
    """Solve the box QP on a kernel in parts; parameters and result are those of `solve_box_qp`.

    `image` is that of the start, where the kernel has stored it; the result has the `image` of the solution. There are
    at most ``max(10_000_000, 1000 n)`` pair updates by default. `most` is the share of the kernel's values after which,
    or where most samples of the first working set have coefficients or values are not finite, the solve ends without a
    certificate. Memory: a dozen vectors, the working set's block, and an image.
    """
    n = kernel.n_samples
    linear, lower, upper = checked_problem((n, n), linear, lower, upper, total, insensitivity)
    diagonal = np.ascontiguousarray(kernel.diagonal, dtype=np.float64)
    goal = wanted(tol, gap_tol, linear, diagonal, total)
    budget = max(10_000_000, STEPS_PER_SAMPLE * n) if max_steps is None else int(max_steps)
    solve = PartsSolve(kernel, diagonal, (linear, lower, upper, total, float(insensitivity)), goal, budget, most)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite raises an error in the end
        solve.begin(start, image)
        return solve.run()


class PartsSolve:
    """One solve; the goal is what `box_qp.wanted` returns."""

    def __init__(self, kernel: Any, diagonal: np.ndarray, problem: Any, goal: Any, budget: int, most: float | None):
        self.linear, self.lower, self.upper, self.total, self.e = problem
        self.kernel, self.diagonal, self.budget = kernel, diagonal, budget
        self.tol, self.gap_tol, self.floor = goal
        self.room = float((self.upper - self.lower).sum())
        self._prepare(State(kernel, self.linear, self.lower, self.upper, self.e), most)

    def _prepare(self, state: Any, most: float | None = None) -> None:
        self.state, kernel, diagonal = state, self.kernel, self.diagonal
        self.lengths = np.sqrt(np.abs(diagonal))
        self.steps = self.rounds = self.checks = 0
        self.lowest = np.inf, 0  # violation so far, and the round
        self.weak = 0  # rounds in a row that gained less than their own rounding
        self.span: float | None = None  # sum_j sqrt(K_jj) |c_j|
        self.wait = 0  # rounds without a look at the gap
        self.noise = 0.0  # what fresh values differ by from a fresh image
        self.block: np.ndarray | None = None  # of K at the last working set
        self.moved: Any = None  # what the last round changed
        self.rests = kernel.place.is_host and len(diagonal) > 2 * WORKING_SET
        n = len(diagonal)
        self.most = None if most is None else float(most * n**2)  # values that may be computed
        self.size = WORKING_SET if most is None else min(max(FEWEST, n // FEW_SHARE), WORKING_SET)
        self.known = np.zeros(n, dtype=bool)  # samples whose rows were computed
        self.computed = 0.0  # values in blocks
        self.given_up = False
        self.aim = AIM  # of the violation: where the gap should be small enough
        self.first: float | None = None
        self.done = 0.0
        self.due: float = FACE_EVERY  # the round at which all free samples move at once

    def begin(self, start: np.ndarray | None, image: Any) -> None:
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
            if not worse_than_nothing(objective, gap, self.lower, self.upper, self.total, self.diagonal.max()):
                return
        state.begin(cold_start(self.linear, self.lower, self.upper, self.total, self._rough_image))

    def _rough_image(self, rows: np.ndarray, missing: float) -> np.ndarray:
        place, rough = self.kernel.place, np.zeros(len(self.linear))
        rough[rows] = missing / len(rows)
        return place.numpy(self.kernel.value(self.state.image_of(rough), place.asarray(rough)))

    def run(self) -> Result:
        """Rounds until violation and gap are reached, the budget is spent, or rounding ends progress."""
        state, xp, target, best, lost = self.state, self.state.xp, self.tol, np.inf, False
        while True:
            slopes = state.slopes()
            self._judge(slopes)
            lost = lost or self._lost(slopes)
            stalled = lost or self.weak >= STALL
            if not (stalled or self.steps >= self.budget or self._near(slopes, target)):
                if not self._along_face(slopes):
                    self._round(slopes, target if self.tol < np.inf else self.aim * slopes.violation)
                if self.given_up:
                    return self._uncertified()
                continue
            if state.active is not None:
                state.wake()
                self.weak = 0
                continue
            fresh = self._refresh(slopes)
            slopes = state.slopes()
            objective, gap, b = state.certificate(slopes)
            if not (np.isfinite(objective) and np.isfinite(gap) and bool(xp.all(xp.isfinite(slopes.gradient)))):
                if self.most is not None:
                    return self._uncertified()
                raise ValueError(NOT_FINITE)
            violation, limit = slopes.violation, self.gap_tol * max(self.floor, abs(objective))
            ends = self.steps >= self.budget or ((stalled or fresh) and not violation <= 0.9 * best)
            if violation <= self.tol and gap > limit and (ends or self.tol < np.inf):
                gap, b = self._least_gap(slopes, gap, b, limit)
            converged = violation <= self.tol and gap <= limit
            if converged or ends or violation == 0.0:
                return Result(
                    state.c, objective, gap, self.steps, converged, violation, b, rounds=self.rounds, image=state.image
                )
            best, self.weak, lost = min(best, violation), 0, False
            if violation <= self.tol < np.inf:
                target = violation * min(0.3, max(1e-3, 0.5 * limit / gap))

    def _uncertified(self) -> Result:
        return Result(self.state.c, 0.0, np.inf, self.steps, False, np.inf, 0.0, rounds=self.rounds)

    def _least_gap(self, slopes: Any, gap: float, b: Any, limit: float) -> tuple[float, Any]:
        """A smaller gap than that at the multiplier b, where there is one, and the multiplier to return."""
        gradient = self.kernel.place.numpy(slopes.gradient)
        bounds = self.lower, self.upper, self.e, self.total
        return least_gap(self.state.c, gradient, self.linear, *bounds, gap, limit, slopes.violation), b

    def _lost(self, slopes: Any) -> bool:
        """Whether rounding, and no difficult problem, has kept the violation from falling for many rounds."""
        if slopes.violation <= 0.9 * self.lowest[0]:
            self.lowest = slopes.violation, self.rounds
        if self.rounds - self.lowest[1] < PATIENCE:
            return False
        self.lowest = slopes.violation, self.rounds
        return self._drift() > self._allowed(slopes)

    def _near(self, slopes: Any, target: float) -> bool:
        """Whether a certificate is due: whether the samples that are not at rest meet what is wanted of all."""
        if self.tol < np.inf:
            self._show(slopes.violation, target)
            return slopes.violation <= target
        if self.wait > 0:
            self.wait -= 1
            return False
        objective, gap, _ = self.state.certificate(slopes)
        limit = self.gap_tol * max(self.floor, abs(objective))
        self._show(gap, limit)
        self.aim = AIM * min(1.0, limit / gap) if gap > 0.0 else AIM
        if not self.kernel.place.is_host and limit < gap < np.inf:  # a look takes as long as the other choices
            self.wait = min(LONGEST_WAIT, int(np.log2(gap / limit)))
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

    def _round(self, slopes: Any, target: float) -> None:
        state, violation = self.state, slopes.violation
        if self.rests and self.rounds % REST_EVERY == REST_EVERY - 1:
            state.rest(slopes)
        rows = state.choose(slopes, self.size)
        if self.block is None or not np.array_equal(rows, state.chosen):
            self.block = self.kernel.block(rows)
        state.chosen, m = rows, len(rows)
        before = state.c[rows]
        gradient = np.array(state.place.numpy(state.place.take(slopes.gradient, rows)))
        new, after = before.copy(), gradient.copy()
        ends = m == len(state.c) or violation < FINAL * target
        self.steps += solve_block(
            (read_only(self.block), np.arange(m), self.block, np.arange(m + 1)),  # all rows are there
            self.diagonal[rows],
            (new, after, self.lower[rows], self.upper[rows], self.e),
            0.9 * target if ends else INNER * violation,
            min(self.budget - self.steps, 100 * m + 1000),
        )
        self.rounds += 1
        is_finite = bool(np.isfinite(after).all())
        if not is_finite and self.most is None:
            raise ValueError(NOT_FINITE)
        change = new - before
        moved = change != 0.0
        if not (is_finite and self._are_few(rows, moved, new)):
            self.given_up = True
            if is_finite:
                state.c[rows] = new
            return
        self.moved = (rows[moved], change[moved], new[moved], before[moved], gradient[moved])
        if moved.any():
            state.move(*self.moved[:3])

    def _are_few(self, rows: np.ndarray, moved: np.ndarray, new: np.ndarray) -> bool:
        if self.most is None:
            return True
        self.known[rows[moved]] = True
        self.computed += 0.5 * len(rows) ** 2
        if self.rounds == 1 and np.count_nonzero(new) > MANY * len(rows):
            return False
        return bool(self.computed + self.known.sum() * len(self.known) <= self.most)

    def _along_face(self, slopes: Any) -> bool:
        """Every pass over the free samples, move all of them at once; whether that was due and they moved."""
        state = self.state
        c, e = state.c, self.e
        if self.kernel.place.is_host or self.rounds < self.due:  # values cost little on a device, and rounds much
            return False
        inside = (c > self.lower) & (c < self.upper) & ((c != 0.0) if e > 0.0 else True)
        if state.active is not None:
            inside[np.setdiff1d(np.arange(len(c)), state.active, assume_unique=True)] = False
        free = np.flatnonzero(inside)
        self.due = self.rounds + max(FACE_EVERY, FACE_PASSES * len(free) / WORKING_SET)
        if len(free) < FACE_LEAST * WORKING_SET:
            return False
        before = c[free]
        gradient = state.place.numpy(state.place.take(slopes.gradient, free)) - e * np.sign(before)
        ends = self.lower[free], self.upper[free]
        if e > 0.0:
            ends = np.where(before > 0.0, 0.0, ends[0]), np.where(before < 0.0, 0.0, ends[1])
        change = step_on_face(self.kernel, free, before, gradient, *ends)
        moved = change != 0.0
        if not moved.any():
            return False
        rows, change = free[moved], change[moved]
        new = np.clip(c[rows] + change, self.lower[rows], self.upper[rows])
        self.moved = self.span = None
        state.move(rows, new - c[rows], new)
        return True

    def _judge(self, slopes: Any) -> None:
        """Count the rounds in a row whose rise of the objective is below the rounding error of that rise.

        Changes add up to 0, but for rounding, so that slopes count from a middle one: what they share is no rise.
        """
        if self.moved is None:
            return
        rows, change, new, before, gradient = self.moved
        self.moved, place = None, self.state.place
        growth, distance = np.abs(new) - np.abs(before), np.abs(change)
        after = place.numpy(place.take(slopes.gradient, rows))
        middle = 0.5 * (gradient.min() + gradient.max()) if len(rows) else 0.0
        gain = 0.5 * change @ ((gradient - middle) + (after - middle)) - self.e * growth.sum()
        error = distance @ (2.0 * np.abs(gradient - middle) + self.e)
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

    def _refresh(self, slopes: Any) -> bool:
        """Remove what rounding has done to the sum and the image; returns whether it did too much to the image."""
        self._repair_sum()
        if self.steps == 0 or self.most is not None or self._drift() <= self._allowed(slopes):
            return False
        self.state.begin(self.state.c)
        self.noise = self._drift()
        return True

    def _repair_sum(self) -> None:
        c = self.state.c
        widest, excess = excess_of_sum(c, self.lower, self.upper, self.total)
        if excess:
            self.state.move(np.array([widest]), np.array([-excess]), np.array([c[widest] - excess]))

    def _allowed(self, slopes: Any) -> float:
        """What rounding may have done to the gradient: little, measured by the violation that may remain."""
        enough = self.tol
        if enough == np.inf:  # the gap is at most the violation times the widths of the boxes
            objective = self.state.certificate(slopes)[0]
            enough = self.gap_tol * max(self.floor, abs(objective)) / max(self.room, np.finfo(float).tiny)
            enough = max(slopes.violation, enough)
        return max(DRIFT * enough, 2.0 * self.noise)

    def _drift(self) -> float:
        """The largest difference between the image and fresh values, at some samples that are not at rest."""
        state, kernel, place = self.state, self.kernel, self.kernel.place
        n = len(state.c) if state.active is None else len(state.active)
        rows = np.random.RandomState(self.checks).permutation(n)[:CHECKED]
        self.checks += 1
        rows = rows if state.active is None else state.active[rows]
        support = nonzero_rows(state.c)
        fresh = kernel.product(rows, support, state.c[support]) if len(support) else 0.0
        kept = place.numpy(place.take(state.values(), rows))
        return float(np.abs(fresh - kept).max())


def nonzero_rows(c: np.ndarray) -> np.ndarray:
    """The samples whose coefficients, one or one for each column, are not zero."""
    return np.flatnonzero(c if c.ndim == 1 else c.any(axis=1))


@dataclass
class Slopes:
    """Gradient, up and down (-inf and +inf for samples that may not move or are at rest) at the place; max, min."""

    gradient: Any
    up: Any
    down: Any
    top: float
    low: float

    @property
    def violation(self) -> float:
        return max(0.0, self.top - self.low)

    @property
    def safe(self) -> Any:
        """Which samples are at a bound that they would not leave for any multiplier between low and top."""
        return (self.up < self.low) & (self.down > self.top)


class State:
    """Coefficients c on the host and `there`, at the place; their image, true at the samples that are not at rest."""

    def __init__(self, kernel: Any, linear: np.ndarray, lower: np.ndarray, upper: np.ndarray, insensitivity: float):
        self._keep(kernel, len(linear))
        self.e = insensitivity
        self.p, self.l, self.u = (self._there(values) for values in (linear, lower, upper))

    def _keep(self, kernel: Any, n_samples: int) -> None:
        self.kernel, self.place, self.xp = kernel, kernel.place, kernel.place.xp
        self.jitter = self._there(fixed_jitter(n_samples))
        self.chosen = np.empty(0, np.int64)
        self.active: np.ndarray | None = None
        self.resting: list[tuple[np.ndarray, np.ndarray]] = []  # samples, and the coefficients when they came to rest
        self.violating = np.inf  # how many samples do; on a device, did at the last choice
        self.mask: Any = None
        self.safe: Any = None

    def _there(self, values: np.ndarray) -> Any:
        return self.place.asarray(values, "float64")

    def begin(self, c: np.ndarray, image: Any = None) -> None:
        self.c, self.there = c, self._there(c.copy())
        self.image = self.image_of(c) if image is None else image

    def image_of(self, c: np.ndarray) -> Any:
        image, rows = self.zero(), nonzero_rows(c)
        if len(rows):
            self.add(image, rows, c[rows])
        return image

    def zero(self) -> Any:
        return self.kernel.zero()

    def add(self, image: Any, rows: np.ndarray, change: np.ndarray, targets: np.ndarray | None = None) -> None:
        self.kernel.add(image, rows, change, targets=targets)

    def values(self) -> Any:
        """K c; not true at samples at rest."""
        return self.kernel.value(self.image, self.there)

    def slopes(self) -> Any:
        xp, c = self.xp, self.there
        gradient = self.p - self.values()
        rises, falls = c < self.u, c > self.l
        if self.mask is not None:
            rises, falls = rises & self.mask, falls & self.mask
        up = down = gradient
        if self.e > 0.0:
            up = gradient + self.e - 2.0 * self.e * xp.astype(c >= 0.0, xp.float64)
            down = gradient + self.e - 2.0 * self.e * xp.astype(c > 0.0, xp.float64)
        up, down = xp.where(rises, up, -np.inf), xp.where(falls, down, np.inf)
        top, low = self._numbers(xp.max(up), xp.min(down))
        return Slopes(gradient, up, down, top, low)

    def _numbers(self, *values: Any) -> list[float]:
        """Single numbers of the place on the host, in one transfer."""
        if self.place.is_host:
            return [float(value) for value in values]
        return self.place.numpy(self.xp.stack([self.xp.astype(value, self.xp.float64) for value in values])).tolist()

    def certificate(self, slopes: Any) -> tuple[float, float, Any]:
        """Objective, gap at b, and the multiplier b, as `box_qp.survey` computes them."""
        xp, e, c, gradient, up, down = self.xp, self.e, self.there, slopes.gradient, slopes.up, slopes.down
        size = xp.abs(c)
        free = up == down
        objective, count, total = self._numbers(
            0.5 * xp.sum(c * (self.p + gradient)) - e * xp.sum(size),
            xp.sum(xp.astype(free, xp.int64)),
            xp.sum(xp.where(free, up, 0.0)),
        )
        if count > 0:
            b = total / count
        else:
            ends = [end for end in (slopes.top, slopes.low) if np.isfinite(end)]
            b = sum(ends) / len(ends) if ends else 0.0
        z = gradient - b
        best = xp.maximum(z * self.l - e * xp.abs(self.l), z * self.u - e * xp.abs(self.u))
        if e > 0.0:
            best = xp.where((best < 0.0) & (self.l < 0.0) & (self.u > 0.0), 0.0, best)
        excess = best - z * c + e * size
        counted = excess > 0.0 if self.mask is None else self.mask & (excess > 0.0)
        excess = xp.where(xp.isnan(excess) | counted, excess, 0.0)
        return objective, float(xp.sum(excess)), b

    def choose(self, slopes: Any, size: int) -> np.ndarray:
        """At most `size` samples, in increasing order, with the pair that violates most among them.

        Half of them are new, those that violate most on either side; the others are those of the last working set that
        are closest to violating, so that a sample is given up only after it has met some of the others.
        """
        xp, place = self.xp, self.place
        middle = 0.5 * (slopes.top + slopes.low)
        shake = 1e-6 * (slopes.top - slopes.low) * self.jitter  # equal slopes are broken at random
        above, below = slopes.up - middle, middle - slopes.down
        rank = xp.maximum(above, below) + shake
        violating = xp.sum(xp.astype(rank > 0.0, xp.float64))
        if place.is_host:
            self.violating = float(violating)
        size = min(size, max(LEAST, int(min(FILLED * self.violating, size))))
        if len(self.c) <= size:
            return np.flatnonzero(place.numpy(rank > -np.inf))
        pair = xp.stack([xp.argmax(slopes.up), xp.argmin(slopes.down)])
        chosen = place.positions(self.chosen)
        near, worth = place.best(place.take(rank, chosen), size // 2)
        kept = place.take(chosen, near)
        picked = [(pair, place.take(rank, pair)), (kept, worth)]
        room = (size - near.shape[0] - 2) // 2
        for side in (above, below):
            side = side + shake
            side = side if place.is_host else xp.astype(side, xp.float32)  # the largest are found sooner
            place.put(side, kept, -np.inf)
            rows, excess = place.best(side, room)
            picked.append((rows, xp.where(excess > 0.0, excess, -np.inf)))
        picked.append((pair[:1], xp.reshape(violating, (1,))))
        rows, worth = place.pairs(picked)
        rows, worth, self.violating = rows[:-1], worth[:-1], worth[-1]
        found = np.unique(rows[worth > -np.inf])
        if len(found) < FEW * size:  # few violate: those closest to it
            place.put(rank, found, -np.inf)
            close, excess = place.top(rank, size - len(found))
            found = np.union1d(found, close[excess > -np.inf])
        return found

    def move(self, rows: np.ndarray, change: np.ndarray, new: np.ndarray) -> None:
        self.c[rows] = new
        self.place.put(self.there, rows, self._there(new))
        self.add(self.image, rows, change, targets=self.active)

    def rest(self, slopes: Any) -> None:
        """Put samples to rest that are safe at their bound now and were so at the last look."""
        xp = self.xp
        safe = slopes.safe
        if self.mask is not None:
            safe = safe & self.mask
        if self.safe is not None:
            both = self.place.numpy(self.safe & safe)
            count, active = np.count_nonzero(both), len(self.c) if self.active is None else len(self.active)
            if count > REST_SHARE * active:
                self.resting.append((np.flatnonzero(both), self.c.copy()))
                mask = ~both if self.mask is None else ~both & self.place.numpy(self.mask)
                self.active = np.flatnonzero(mask)
                self.mask = self.place.asarray(mask)
                safe = xp.logical_and(safe, self.mask)
        self.safe = safe

    def wake(self) -> None:
        """Bring the image up to date at the samples at rest, and make them active."""
        for targets, before in self.resting:
            rows = nonzero_rows(self.c - before)
            if len(rows):
                self.add(self.image, rows, self.c[rows] - before[rows], targets=targets)
        self.active = self.mask = self.safe = None
        self.resting = []
