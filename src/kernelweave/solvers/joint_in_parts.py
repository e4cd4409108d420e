"""The joint multiclass dual of `joint_qp` on a kernel in parts: rounds over working sets of samples, as in `in_parts`.

With the samples outside a working set W held fixed, what is left is a joint dual again, on K_WW, with the margins

    m'_il = m_il + g_l(i) - g_{y_i}(i),      g = the part of K C at W that comes from the other samples,

in which every class keeps the sum that it has in C_W. So a round takes the samples that violate the KKT conditions
most, and the best of the round before, moves along cycles of classes among them (`joint_qp.solve_within`), and brings
the images K c_l of all classes up to date by the rows of C that changed, in one product. Only K_WW and the slopes at W
are on the host; rounds, samples at rest, looks at the gap and the certificate are those of `in_parts`. Kernels of low
rank have interior points to go on from, as in `joint_qp`.

With biases b in the middle of those that violate least, sample i disagrees by  rank_i = max_l |z_il|  over the alphas
that may move the way that  z_il = S_il - (b_{y_i} - b_l)  points (`cycles`); it is at rest where all of its alphas are
at their bounds, and farther from moving than the best cycle gains.

C is `solution`, of shape (n, k), S_il `gradient`, b `multiplier`, and the image of a solution a tuple: one for each
class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .base import Result
from .box_qp import FINAL, GAP_PER_TOL, LEAST, RESOLUTION, STALL
from .cycles import best_cycle, fitted_biases, potentials
from .in_parts import FILLED, INNER, NOT_FINITE, REST_EVERY, KernelInParts, PartsSolve, State, nonzero_rows
from .joint_qp import Leaps, balance, checked_joint, polished_gap, signed, solve_within

WORKING_SET = 1024
STEPS_PER_SAMPLE = 1000
BLOCK_STEPS = 100  # for each sample of a working set
UNBALANCED = 1e-13  # of the alphas' sum: what rounding may leave of a class's sum


def solve_joint_in_parts(
    kernel: KernelInParts,
    labels: np.ndarray,
    margins: np.ndarray,
    bound: np.ndarray,
    start: np.ndarray | None = None,
    image: Any = None,
    tol: float = 1e-3,
    gap_tol: float | None = None,
    max_steps: int | None = None,
) -> Result:
    """Maximise ``sum(margins*alpha) - sum_l c_l'K c_l/2`` on a kernel in parts, as `solve_joint_qp` on a matrix.

    `image` is a tuple, the start's image for each class, where the kernel has stored them. There are at most
    ``max(10_000_000, 1000 n)`` steps by default. Memory: some twenty arrays of shape (n, k), a block, and k images.
    """
    labels, margins, bound = checked_joint((kernel.n_samples,) * 2, kernel.diagonal, labels, margins, bound)
    budget = max(10_000_000, STEPS_PER_SAMPLE * len(labels)) if max_steps is None else int(max_steps)
    solve = _JointSolve(kernel, (labels, margins, bound), tol, gap_tol, budget)
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite raises an error in the end
        solve.begin(start, image)
        return solve.run()


class _JointSolve(PartsSolve):
    def __init__(self, kernel: KernelInParts, problem: Any, tol: float, gap_tol: float | None, budget: int):
        self.labels, self.margins, self.bound = problem
        self.kernel, self.diagonal, self.budget = kernel, np.asarray(kernel.diagonal, dtype=np.float64), budget
        self.tol, self.gap_tol, self.floor = (
            (tol, GAP_PER_TOL * tol, 1.0) if gap_tol is None else (np.inf, gap_tol, 1.0)
        )
        self.room = float((self.margins.shape[1] - 1) * self.bound.sum())
        self._prepare(JointState(kernel, self.labels, self.margins, self.bound))
        self.rests = kernel.place.is_host and len(self.labels) > 2 * WORKING_SET
        every, margins = np.arange(len(self.labels)), np.where(self.state.own, 0.0, self.margins).T
        rest = (self.diagonal, self.labels, margins, self.bound)
        self.leaps = Leaps(lambda pivot: kernel.product(every, np.array([pivot]), np.ones(1)), *rest)

    def begin(self, start: np.ndarray | None, image: Any) -> None:
        state, kernel, shape = self.state, self.kernel, self.margins.shape
        if start is not None:
            start = np.asarray(start, dtype=np.float64)
            if start.shape != shape or not np.isfinite(start).all():
                raise ValueError(f"start must hold {shape} finite coefficients")
            alpha = np.where(state.own, 0.0, np.clip(-start, 0.0, self.bound[:, None]))
            c = self._balanced(signed(alpha.T, self.labels))
            if isinstance(image, tuple) and len(image) == shape[1] and all(map(kernel.reuses, image)):
                image = tuple(map(kernel.copy, image))
                rows = nonzero_rows(c - start)
                if len(rows):
                    state.add(image, rows, c[rows] - start[rows])
            else:
                image = None
            state.begin(c, image)
            if not state.objective(state.slopes()) < 0.0:
                return
        state.begin(np.zeros(shape))

    def _balanced(self, c: np.ndarray) -> np.ndarray:
        """The coefficients, some of them lowered where a class has not the sum 0."""
        if np.abs(c.sum(axis=0)).max() <= UNBALANCED * np.abs(c).sum():
            return c
        alpha = self.state.alphas(c)
        balance(alpha, self.labels)
        return signed(alpha, self.labels)

    def _repair_sum(self) -> None:
        c = self.state.c
        new = self._balanced(c)
        rows = nonzero_rows(new - c)
        if len(rows):
            self.state.move(rows, new[rows] - c[rows], new[rows])

    def _round(self, slopes: Any, target: float) -> None:
        state, violation = self.state, slopes.violation
        if self.steps >= self.leaps.due:
            state.wake()
            alpha = self.leaps.next_point(self.steps)
            if alpha is not None:
                self._leap(self._balanced(signed(alpha, self.labels)))
            return
        if self.rests and self.rounds % REST_EVERY == REST_EVERY - 1:
            state.rest(slopes)
        rows = state.choose(slopes, WORKING_SET)
        if self.block is None or not np.array_equal(rows, state.chosen):
            self.block = self.kernel.block(rows)
        state.chosen, m = rows, len(rows)
        before = state.c[rows]
        gradient = np.array(state.place.numpy(state.place.take(slopes.gradient, rows)))
        ends = m == len(state.c) or violation < FINAL * target
        new, after, steps = solve_within(
            self.block,
            self.labels[rows],
            self.bound[rows],
            before,
            gradient,
            0.9 * target if ends else INNER * violation,
            min(self.budget - self.steps, BLOCK_STEPS * m + 1000),
        )
        self.steps += steps
        self.rounds += 1
        if not np.isfinite(after).all():
            raise ValueError(NOT_FINITE)
        change = new - before
        moved = change.any(axis=1)
        self.moved = (rows[moved], change[moved], gradient[moved], slopes.bias)
        if moved.any():
            state.move(rows[moved], change[moved], new[moved])

    def _along_face(self, slopes: Any) -> bool:
        return False

    def _leap(self, c: np.ndarray) -> None:
        """Go on from the coefficients of an interior point, if their objective is larger."""
        state = self.state
        before, old = state.objective(state.slopes()), (state.c, state.image)
        state.begin(c)
        if not state.objective(state.slopes()) > before:
            state.begin(*old)

    def _judge(self, slopes: Any) -> None:
        """As there; changes of a class add up to 0, so that what the biases explain of the slopes is no rise."""
        if self.moved is None:
            return
        rows, change, gradient, bias = self.moved
        self.moved, place, labels = None, self.state.place, self.labels[self.moved[0]]
        shift = bias - bias[labels][:, None]
        others = np.arange(len(bias)) != labels[:, None]
        after = place.numpy(place.take(slopes.gradient, rows))
        gain = -0.5 * float(np.sum((change * ((gradient + shift) + (after + shift)))[others]))
        error = 2.0 * float(np.sum(np.abs(change * (gradient + shift))[others]))
        span = float(self.lengths @ np.abs(self.state.c).sum(axis=1))
        error += float(np.abs(change).sum(axis=1) @ self.lengths[rows]) * span
        if not gain > 0.0:
            self.weak = STALL
        else:
            self.weak = 0 if gain > RESOLUTION * error else self.weak + 1

    def _least_gap(self, slopes: Any, gap: float, b: Any, limit: float) -> tuple[float, Any]:
        arrays = self.state.alphas(self.state.c), self._on_host(slopes.gradient), self.labels, self.bound
        less, bias = polished_gap(*arrays, b, gap)
        return less, bias - bias.mean()

    def _on_host(self, values: Any) -> np.ndarray:
        return np.ascontiguousarray(self.state.place.numpy(values).T)


@dataclass
class JointSlopes:
    """Slopes S of shape (n, k), and which way alphas may move; edges between classes, and biases in their middle.

    `up` is S where an alpha may rise and `down` -S where it may fall, -inf elsewhere and at samples at rest.
    """

    gradient: Any
    up: Any
    down: Any
    edge: np.ndarray
    state: JointState

    def __post_init__(self) -> None:
        self.mean, self.cycle = best_cycle(self.edge)
        # the biases that violate least are a convex set, of which the two sides are its ends
        self.bias = 0.5 * (potentials(self.edge, self.mean) - potentials(np.ascontiguousarray(self.edge.T), self.mean))
        self.bias -= self.bias.mean()

    @property
    def violation(self) -> float:
        return max(0.0, self.mean)

    @cached_property
    def rank(self) -> Any:
        """How far each sample is from agreeing with the biases (positive: violating)."""
        shift, xp = self.state.shift(self.bias), self.state.xp
        return xp.max(xp.maximum(self.up + shift, self.down - shift), axis=1)

    @property
    def safe(self) -> Any:
        return self.rank < -self.violation


class JointState(State):
    """Coefficients C on the host and `there`, at the place; an image of each column, true at samples not at rest."""

    def __init__(self, kernel: KernelInParts, labels: np.ndarray, margins: np.ndarray, bound: np.ndarray):
        self._keep(kernel, len(labels))
        self.labels, n_classes = labels, margins.shape[1]
        self.own = np.arange(n_classes) == labels[:, None]
        self.is_own, self.m = self.place.asarray(self.own), self._there(np.where(self.own, 0.0, margins))
        self.u, self.positions = self._there(bound)[:, None], self.place.positions(labels)
        members = [np.flatnonzero(labels == a) for a in range(n_classes)]
        self.members = [self.place.positions(rows) if len(rows) else None for rows in members]

    def zero(self) -> tuple[Any, ...]:
        return tuple(self.kernel.zero() for _ in self.members)

    def add(self, image: Any, rows: np.ndarray, change: np.ndarray, targets: np.ndarray | None = None) -> None:
        self.kernel.add_columns(image, rows, change, targets)

    def values(self) -> Any:
        columns = [self.kernel.value(image, self.there[:, a]) for a, image in enumerate(self.image)]
        return self.xp.stack(columns, axis=1)

    def alphas(self, c: np.ndarray) -> np.ndarray:
        """Alpha of shape (k, n), on the host."""
        return np.ascontiguousarray(np.where(self.own, 0.0, -c).T)

    def shift(self, bias: np.ndarray) -> Any:
        """What is added to S_il for z_il: b_l - b_{y_i}."""
        there = self._there(bias)
        return there[None, :] - self.place.take(there, self.positions)[:, None]

    def slopes(self) -> JointSlopes:
        xp, values = self.xp, self.values()
        gradient = self.m + values - xp.sum(xp.where(self.is_own, values, 0.0), axis=1)[:, None]
        moves = ~self.is_own if self.mask is None else ~self.is_own & self.mask[:, None]
        up = xp.where(moves & (-self.there < self.u), gradient, -np.inf)
        down = xp.where(moves & (self.there < 0.0), -gradient, -np.inf)
        none = xp.full((len(self.members),), -np.inf, dtype=xp.float64, device=self.place.device)
        raised, lowered = (
            xp.stack([none if own is None else xp.max(self.place.take(side, own), axis=0) for own in self.members])
            for side in (up, down)
        )
        edge = self.place.numpy(xp.maximum(raised, lowered.T))
        return JointSlopes(gradient, up, down, np.ascontiguousarray(edge), self)

    def objective(self, slopes: JointSlopes) -> float:
        alpha = self.xp.where(self.is_own, 0.0, -self.there)
        return 0.5 * float(self.xp.sum(alpha * (self.m + slopes.gradient)))

    def certificate(self, slopes: JointSlopes) -> tuple[float, float, np.ndarray]:
        """Objective, and the smaller of the gaps at the biases in the middle and at those of the free alphas."""
        found = [(self._gap(slopes, b), b) for b in (slopes.bias, self._fitted(slopes))]
        gap, bias = found[1] if found[1][0] < found[0][0] else found[0]
        return self.objective(slopes), gap, bias

    def _gap(self, slopes: JointSlopes, bias: np.ndarray) -> float:
        xp, c = self.xp, self.there
        z = slopes.gradient + self.shift(bias)
        excess = xp.where(z > 0.0, self.u + c, c) * z
        counted = ~self.is_own if self.mask is None else ~self.is_own & self.mask[:, None]
        return float(xp.sum(xp.where(counted, excess, 0.0)))

    def _fitted(self, slopes: JointSlopes) -> np.ndarray:
        """Biases that fit the slopes of the free alphas by least squares."""
        xp = self.xp
        free = (slopes.up > -np.inf) & (slopes.down > -np.inf)
        z = xp.where(free, slopes.gradient + self.shift(slopes.bias), 0.0)
        k = len(self.members)
        totals = np.zeros((2, k, k))  # by the class of the sample, and that of the alpha
        for a, own in enumerate(self.members):
            if own is not None:
                sums = [xp.sum(self.place.take(v, own), axis=0) for v in (xp.astype(free, xp.float64), z)]
                totals[:, a] = self.place.numpy(xp.stack(sums))
        found = fitted_biases(slopes.bias, totals[0].T, totals[1].T, len(self.labels))
        return found - found.mean()

    def choose(self, slopes: JointSlopes, size: int) -> np.ndarray:
        """At most `size` samples, in increasing order: the most violating cycle's, half of the last set's, and new."""
        xp, place = self.xp, self.place
        rank = slopes.rank + 1e-6 * slopes.violation * self.jitter
        violating = int(xp.sum(xp.astype(rank > 0.0, xp.int64)))
        size = min(size, max(LEAST, int(FILLED * violating)))
        if len(self.labels) <= size:
            return np.flatnonzero(place.numpy(rank > -np.inf))
        worth = place.numpy(place.take(rank, self.chosen))
        kept = self.chosen[worth > -np.inf]
        if len(kept) > size // 2:
            kept = kept[np.argpartition(-worth[worth > -np.inf], size // 2 - 1)[: size // 2]]
        picked = np.union1d(self._critical(slopes), kept)
        place.put(rank, picked, -np.inf)
        most, excess = place.top(rank, min(max(0, size - len(picked)), len(self.labels)))
        return np.union1d(picked, most[excess > -np.inf])

    def _critical(self, slopes: JointSlopes) -> np.ndarray:
        """The samples of the most violating cycle."""
        xp, found = self.xp, []
        for source, target in zip(slopes.cycle, np.roll(slopes.cycle, -1), strict=True):
            for own, other, side in ((target, source, slopes.up), (source, target, slopes.down)):
                members = self.members[own]
                if members is not None:
                    column = self.place.take(side[:, int(other)], members)
                    best = int(xp.argmax(column))
                    if float(column[best]) == slopes.edge[target, source]:
                        found.append(int(members[best]))
                        break
        return np.array(found, dtype=np.int64)
