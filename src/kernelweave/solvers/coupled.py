"""Losses of censored times, which couple samples, and Newton's method for such losses on any kernel.

A machine without a bias minimises, over coefficients c and with scores f = K c,

    P(c) = 1/2 c'Kc + L(f)

where L is convex and smooth, and adding a constant to all scores of a stratum changes nothing. For any c, d = -slope(f)
is feasible in the dual, L*(-d) = -d'f - L(f) (Fenchel and Young hold with equality there), and so

    P(c) - D(d) = 1/2 (c - d)'K(c - d),

a certificate that takes one product, for every such loss and without its conjugate. With H the second derivative of L
at f, a step of Newton's method solves (I + H K) s = d - c. In the inner product of K that matrix is symmetric, so that
conjugate gradients serve: a step takes one product with K and one with H, 1/2 r'Kr of the first residual is the gap,
and that of a later one is what the quadratic model has left. A line search on P follows, which takes no product.

`CoxLoss` is the negative log partial likelihood, with D_g the events among the samples of time t_g, R_g those with a
time of at least t_g, v_g the mean weight of D_g, and l = 0 .. |D_g| - 1:

    L(f) = sum_g [ v_g sum_l log( sum_{R_g} w_i e^f_i - l/|D_g| sum_{D_g} w_i e^f_i ) - sum_{D_g} w_i f_i ]

which is Efron's treatment of ties and of weights as in R's survival; without the terms l/|D_g| it is Breslow's. Sums
over risk sets are kept as logarithms and as ratios of one risk set to the next, so that no score is too large.

`RankingLoss` is the squared hinge over comparable pairs (Van Belle et al. 2011, Pölsterl et al. 2015), i with an event
before the time of j, divided by the number n of samples (by the sum of their weights):

    L(f) = 1/n sum_{i, j} w_i w_j 1/2 max(0, 1 - f_i + f_j)^2

Samples are sorted by time and by score; sums over pairs and products with H are sums in Fenwick trees, O(n log n).

Both losses take strata: only samples of one stratum are compared. Larger scores are earlier events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from .compiled import compiled
from .in_parts import NOT_FINITE
from .pairs import subtract_rows

MOST_STEPS, MOST_NEWTON = 50_000, 200  # of conjugate gradients, and of Newton's method
LEFT = 0.1  # of the gap that a step of Newton's method leaves to the next, at most
CLOSER = 0.3  # of the gap that is wanted: what the quadratic model may have left
IDLE, MOST_IDLE = 1e-13, 3  # relative change of P that is rounding, and steps with no more in a row that end a solve
FLAT = 0.1  # a line search ends at such a share of the first slope
MOST_TRIALS = 40
ROUNDING = 1e-6  # of P: what rounding of K in single precision may take from a gap
INDEFINITE = "K is not positive semidefinite: it has a clearly negative eigenvalue; repair the kernel"


# Cox's partial likelihood


@compiled(error_model="numpy")
def _risk_sets(f, weight, event, starts, last, efron, share, bend, slope, ratio, sums):
    """Shares of samples in their risk sets, slopes, and sums over the events of each group; returns the loss.

    Groups of equal times are in rising order; `last` says which are the last of a stratum. `sums` of a group are those
    over l of v / q, v l/d / q, v / q^2, v l/d / q^2 and v (l/d)^2 / q^2, with q the sum behind l over that of the risk
    set.
    """
    loss, log_sum = 0.0, -np.inf
    for g in range(len(starts) - 2, -1, -1):
        first, end = starts[g], starts[g + 1]
        before = -np.inf if last[g] else log_sum
        largest = before
        for i in range(first, end):
            if weight[i] > 0.0:
                largest = max(largest, f[i])
        share[first:end] = 0.0
        ratio[g] = 0.0
        sums[g, :] = 0.0
        log_sum = largest
        if largest == -np.inf:  # nobody of the risk set has a weight
            continue
        total = np.exp(before - largest)
        for i in range(first, end):
            if weight[i] > 0.0:
                total += weight[i] * np.exp(f[i] - largest)
        log_sum = largest + np.log(total)
        ratio[g] = np.exp(before - log_sum)
        events, heavy, own = 0, 0.0, 0.0
        for i in range(first, end):
            if weight[i] > 0.0:
                share[i] = weight[i] * np.exp(f[i] - log_sum)
            if event[i]:
                events += 1
                heavy += weight[i]
                own += share[i]
                loss -= weight[i] * f[i]
        for place in range(events):
            mean = heavy / events
            part = place / events if efron else 0.0
            q = 1.0 - part * own
            loss += mean * (log_sum + np.log(q))
            sums[g, 0] += mean / q
            sums[g, 1] += mean * part / q
            sums[g, 2] += mean / q**2
            sums[g, 3] += mean * part / q**2
            sums[g, 4] += mean * part**2 / q**2
    above = 0.0
    for g in range(len(starts) - 1):
        above = sums[g, 0] + (0.0 if g == 0 or last[g - 1] else ratio[g - 1] * above)
        for i in range(starts[g], starts[g + 1]):
            bend[i] = share[i] * (above - (sums[g, 1] if event[i] else 0.0))
            slope[i] = bend[i] - (weight[i] if event[i] else 0.0)
    return loss


@compiled(error_model="numpy")
def _risk_products(v, event, starts, last, share, bend, ratio, sums, upper, lower, out):
    """The second derivative of the loss times v, from what `_risk_sets` has found."""
    mean = 0.0
    for g in range(len(starts) - 2, -1, -1):
        mean = 0.0 if last[g] else ratio[g] * mean
        own = 0.0
        for i in range(starts[g], starts[g + 1]):
            mean += share[i] * v[i]
            if event[i]:
                own += share[i] * v[i]
        upper[g] = sums[g, 2] * mean - sums[g, 3] * own
        lower[g] = sums[g, 3] * mean - sums[g, 4] * own
    above = 0.0
    for g in range(len(starts) - 1):
        above = upper[g] + (0.0 if g == 0 or last[g - 1] else ratio[g - 1] * above)
        for i in range(starts[g], starts[g + 1]):
            out[i] = bend[i] * v[i] - share[i] * (above - (lower[g] if event[i] else 0.0))


@dataclass(frozen=True)
class AtScores:
    """A loss at some scores: its value, its slope, and the product of a function with its second derivative.

    That is a diagonal matrix, `bend`, less a positive semidefinite one.
    """

    value: float
    slope: np.ndarray
    bent: Callable[[np.ndarray], np.ndarray]
    bend: np.ndarray


class CoupledLoss(Protocol):
    """A convex smooth loss of all scores, which adding a constant to those of a stratum does not change."""

    def at(self, f: np.ndarray) -> AtScores:
        """The loss at scores of shape (n_samples,)."""


class _Sorted:
    """Samples by stratum and time, in groups of equal times."""

    def __init__(self, time: np.ndarray, event: np.ndarray, weight: np.ndarray, stratum: np.ndarray | None):
        stratum = np.zeros(len(time)) if stratum is None else stratum
        self.order = np.lexsort((time, stratum))
        self.event, self.weight = (event & (weight > 0.0))[self.order], weight[self.order]
        time, stratum = time[self.order], stratum[self.order]
        other = np.flatnonzero(stratum[1:] != stratum[:-1]) + 1
        new = np.union1d(np.flatnonzero(time[1:] != time[:-1]) + 1, other)
        self.starts = np.concatenate([[0], new, [len(time)]])
        self.strata = np.concatenate([[0], other, [len(time)]])
        self.last = np.isin(self.starts[1:], self.strata)

    def back(self, values: np.ndarray) -> np.ndarray:
        """Values of sorted samples in the order in which they came."""
        found = np.empty_like(values)
        found[self.order] = values
        return found


class CoxLoss:
    """Cox's negative log partial likelihood; arrays are of shape (n_samples,), samples of weight 0 have no part.

    >>> loss = CoxLoss(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]), np.ones(3))
    >>> round(loss.at(np.zeros(3)).value, 6) == round(float(np.log(3.0)), 6)
    True
    """

    def __init__(
        self,
        time: np.ndarray,
        event: np.ndarray,
        weight: np.ndarray,
        stratum: np.ndarray | None = None,
        efron: bool = True,
    ):
        self.sorted, self.efron = _Sorted(time, event, weight, stratum), efron

    def at(self, f: np.ndarray) -> AtScores:
        s = self.sorted
        share, bend, slope, out = (np.empty(len(f)) for _ in range(4))
        n_groups = len(s.last)
        ratio, sums, upper, lower = np.empty(n_groups), np.empty((n_groups, 5)), np.empty(n_groups), np.empty(n_groups)
        value = _risk_sets(f[s.order], s.weight, s.event, s.starts, s.last, self.efron, share, bend, slope, ratio, sums)

        def bent(v: np.ndarray) -> np.ndarray:
            _risk_products(v[s.order], s.event, s.starts, s.last, share, bend, ratio, sums, upper, lower, out)
            return s.back(out)

        return AtScores(float(value), s.back(slope), bent, s.back(bend))


# Comparable pairs


@compiled(inner=True)
def _add(tree, place, values):
    while place < len(tree):
        for k in range(tree.shape[1]):
            tree[place, k] += values[k]
        place += place & -place


@compiled(inner=True)
def _sum(tree, place, found):
    while place > 0:
        for k in range(tree.shape[1]):
            found[k] += tree[place, k]
        place -= place & -place


@compiled(error_model="numpy")
def _pair_sums(event, starts, rank, low, x, tree, later, earlier):
    """Sums of x over the active partners of each sample: later ones of an event, and earlier events of a sample.

    Of a pair of an event i and a later j it is active if the rank of j's score is at least `low` of i.
    """
    n = len(event)
    tree[:, :] = 0.0
    for g in range(len(starts) - 2, -1, -1):
        for i in range(starts[g], starts[g + 1]):
            later[i, :] = 0.0
            if event[i]:  # ranks run from the end of the tree: those of at least `low` are its first ones
                _sum(tree, n - low[i], later[i])
        for i in range(starts[g], starts[g + 1]):
            _add(tree, n - rank[i], x[i])
    tree[:, :] = 0.0
    for g in range(len(starts) - 1):
        for i in range(starts[g], starts[g + 1]):
            earlier[i, :] = 0.0
            _sum(tree, rank[i] + 1, earlier[i])
        for i in range(starts[g], starts[g + 1]):
            if event[i] and low[i] < n:
                _add(tree, low[i] + 1, x[i])


class ComparablePairs:
    """Pairs of an event and a sample of its stratum with a later time; parameters are those of `CoxLoss`."""

    def __init__(self, time: np.ndarray, event: np.ndarray, weight: np.ndarray, stratum: np.ndarray | None = None):
        self.sorted = _Sorted(time, event, weight, stratum)

    def sums(self, rank: np.ndarray, low: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums of columns over active partners, see `_pair_sums`, stratum by stratum."""
        s, later, earlier = self.sorted, np.empty(x.shape), np.empty(x.shape)
        for first, end in pairwise(s.strata.tolist()):
            own = slice(first, end)
            starts = s.starts[(s.starts >= first) & (s.starts <= end)] - first
            tree = np.empty((end - first + 1, x.shape[1]))
            _pair_sums(s.event[own], starts, rank[own], low[own], x[own], tree, later[own], earlier[own])
        return later, earlier

    def ranks(self, f: np.ndarray, margin: float, side: Any = "right") -> tuple[np.ndarray, np.ndarray]:
        """The rank of each score in its stratum, and the first rank that it is not ahead of by a margin."""
        strata = self.sorted.strata
        rank, low = np.empty(len(f), dtype=np.int64), np.empty(len(f), dtype=np.int64)
        for first, end in pairwise(strata.tolist()):
            own = f[first:end]
            order = np.argsort(own, kind="stable")
            rank[first:end][order] = np.arange(end - first)
            low[first:end] = np.searchsorted(own[order], own - margin, side=side)
        return rank, low

    def counts(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the pairs of each sample that are in the wrong order, ties by half, and of all its pairs."""
        s = self.sorted
        f, w = f[s.order], s.weight[:, None]
        every = np.zeros(len(f), dtype=np.int64)
        found = [self.sums(*self.ranks(f, 0.0, side), w) for side in ("left", "right")]
        of_all = self.sums(every, every, w)
        wrong = s.event * (found[0][0] + found[1][0])[:, 0] + (found[0][1] + found[1][1])[:, 0]
        pairs = s.event * of_all[0][:, 0] + of_all[1][:, 0]
        return s.back(0.5 * s.weight * wrong), s.back(s.weight * pairs)


class RankingLoss(ComparablePairs):
    """The squared hinge over comparable pairs; parameters are those of `CoxLoss`.

    >>> loss = RankingLoss(np.array([1.0, 2.0]), np.array([True, False]), np.ones(2))
    >>> loss.at(np.array([0.0, 0.5])).value  # 1/2 of half the square of 1 - 0 + 1/2
    0.5625
    """

    def at(self, f: np.ndarray) -> AtScores:
        s, w, event = self.sorted, self.sorted.weight, self.sorted.event
        f = f[s.order] - f.mean()
        rank, low = self.ranks(f, 1.0)
        (count, score, square), (before, score_before, _) = (
            found.T for found in self.sums(rank, low, np.column_stack([w, w * f, w * f**2]))
        )
        share = w / w.sum()
        own = share * event
        value = 0.5 * float(own @ (count * (1.0 - f) ** 2 + 2.0 * (1.0 - f) * score + square))
        slope = share * (before * (1.0 + f) - score_before) - own * (count * (1.0 - f) + score)
        bend = own * count + share * before

        def bent(v: np.ndarray) -> np.ndarray:
            v = v[s.order]
            later, earlier = self.sums(rank, low, (w * v)[:, None])
            return s.back(bend * v - own * later[:, 0] - share * earlier[:, 0])

        return AtScores(max(0.0, value), s.back(slope), bent, s.back(bend))


# Newton's method


class Space(Protocol):
    """Where Newton's method moves: points are tuples of arrays with a column for each problem, the last one scores.

    A point x stands for a function in the space of the kernel, of which these are the values at the samples.
    """

    progress: Callable[[float], None] | None

    def nothing(self) -> tuple[Any, ...]:
        """The function 0."""

    def of(self, coef: np.ndarray) -> tuple[Any, ...]:
        """The functions sum_i c_i k(x_i, .) for columns of coefficients, of shape (n_samples, n_columns)."""

    def afresh(self, point: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same point, with what follows from its coefficients computed again."""

    def inner(self, x: tuple[Any, ...], y: tuple[Any, ...]) -> np.ndarray:
        """Inner products of the columns of two points."""

    def plus(self, x: tuple[Any, ...], factor: Any, y: tuple[Any, ...]) -> tuple[Any, ...]:
        """x + factor y, of a number or one for each column."""


def plus(x: tuple[Any, ...], factor: Any, y: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a + factor * b for a, b in zip(x, y, strict=True))


class Whole:
    """A Gram matrix in memory; points are coefficients and their products with it."""

    progress: Callable[[float], None] | None = None

    def __init__(self, K: Any):
        self.K = K

    def nothing(self) -> tuple[Any, ...]:
        return np.zeros((len(self.K), 1)), np.zeros((len(self.K), 1))

    def of(self, coef: np.ndarray) -> tuple[Any, ...]:
        if self.K.dtype == np.float64:
            return coef, self.K @ coef
        found = np.zeros(coef.shape)  # in double precision, without a copy of the matrix
        for k, column in enumerate(coef.T):
            rows, own = np.flatnonzero(column), np.zeros(len(coef))
            subtract_rows(self.K, rows, -column[rows], own)
            found[:, k] = own
        return coef, found

    def afresh(self, point: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.of(point[0])

    def inner(self, x: tuple[Any, ...], y: tuple[Any, ...]) -> np.ndarray:
        return (x[0] * y[-1]).sum(axis=0)

    def plus(self, x: tuple[Any, ...], factor: Any, y: tuple[Any, ...]) -> tuple[Any, ...]:
        return plus(x, factor, y)


class InParts(Whole):
    """A kernel in parts; points are coefficients, the images that it keeps, and values."""

    def __init__(self, K: Any):
        self.K, self.progress = K, getattr(K, "progress", None)

    def nothing(self) -> tuple[Any, ...]:
        zeros = np.zeros((self.K.n_samples, 1))
        return zeros, self.K.no_images(1), zeros

    def of(self, coef: np.ndarray) -> tuple[Any, ...]:
        return self.with_images(coef, self.K.images(self.K.place.asarray(np.ascontiguousarray(coef), "float64")))

    def with_images(self, coef: np.ndarray, images: Any) -> tuple[Any, ...]:
        return coef, images, np.array(self.K.place.numpy(self.K.summed(images)), dtype=np.float64)

    def plus(self, x: tuple[Any, ...], factor: Any, y: tuple[Any, ...]) -> tuple[Any, ...]:
        (c, images, f), (d, others, g) = x, y
        there = self.K.place.asarray(np.atleast_1d(np.asarray(factor, dtype=np.float64)))
        return c + factor * d, images + there * others, f + factor * g


@dataclass(frozen=True)
class Found:
    """The end of a solve: the point, P - gap, the gap, and how many products it took."""

    point: tuple[Any, ...]
    slope: np.ndarray
    objective: float
    gap: float
    violation: float
    steps: int
    converged: bool


@dataclass(frozen=True)
class _State:
    point: tuple[Any, ...]
    at: AtScores
    value: float


def solve_coupled(
    space: Space,
    loss: CoupledLoss,
    start: tuple[Any, ...] | None = None,
    *,
    gap_tol: float = 1e-3,
    least: float = 0.0,
    max_steps: int | None = None,
) -> Found:
    """Minimise P until the duality gap is at most ``gap_tol * |D|``, with L = 0 at scores of 0.

    Parameters
    ----------
    space : Space
        Of a positive semidefinite kernel.
    loss : CoupledLoss
    start : point, optional
        Dropped where the function 0 is better.
    gap_tol : float, default=1e-3
    least : float, default=0
        A gap that is nothing but rounding.
    max_steps : int, optional
        Most steps of conjugate gradients.
    """
    most = MOST_STEPS if max_steps is None else int(max_steps)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite raises an error
        state = _begin(space, loss, start)
        steps, idle, is_fresh, first = 0, 0, True, 0.0
        for newton in range(MOST_NEWTON + 1):
            residual = space.plus(space.of(-state.at.slope[:, None]), -1.0, state.point)
            gap = 0.5 * float(space.inner(residual, residual)[0])
            if not np.isfinite(gap) or not np.isfinite(state.value):
                raise ValueError(NOT_FINITE)
            limit = max(gap_tol * abs(state.value - gap), least)
            if gap < -max(limit, ROUNDING * abs(state.value)):
                raise ValueError(INDEFINITE)
            stops = steps >= most or idle >= MOST_IDLE or newton == MOST_NEWTON
            first = _show(space.progress, gap, limit, first)
            if (gap <= limit or stops) and is_fresh:
                break
            if gap <= limit or stops:  # sums of products may have drifted: once more, with fresh ones
                state, is_fresh = _state(space, loss, space.afresh(state.point)), True
                continue
            enough = max(CLOSER * limit, min(LEFT, (gap / abs(state.value - gap)) ** 0.5) * gap)
            step, taken = solve_bent(space, state.at, residual, enough, most - steps)
            steps += taken
            after = _searched(space, loss, state, step)
            idle = idle + 1 if after.value >= state.value - IDLE * abs(state.value) else 0
            state, is_fresh = after, False
    gap, violation = max(0.0, gap), float(np.abs(residual[0]).max(initial=0.0))
    return Found(state.point, state.at.slope, state.value - gap, gap, violation, steps, gap <= limit)


def _show(progress: Callable[[float], None] | None, gap: float, limit: float, first: float) -> float:
    first = max(first, gap)
    if progress is not None and gap > 0.0:
        progress(1.0 if gap <= limit else float(np.log(first / gap) / np.log(first / limit)))
    return first


def _state(space: Space, loss: CoupledLoss, point: tuple[Any, ...]) -> _State:
    at = loss.at(point[-1][:, 0])
    return _State(point, at, 0.5 * float(space.inner(point, point)[0]) + at.value)


def _begin(space: Space, loss: CoupledLoss, start: tuple[Any, ...] | None) -> _State:
    nothing = _state(space, loss, space.nothing())
    if start is None or not np.any(start[0]):
        return nothing
    if not np.isfinite(start[0]).all():
        raise ValueError("start must hold finite coefficients")
    state = _state(space, loss, start)
    if not np.isfinite(state.value):
        raise ValueError(NOT_FINITE)
    return state if state.value < nothing.value else nothing


def solve_bent(
    space: Space, at: AtScores, residual: tuple[Any, ...], enough: Any, most: int = MOST_STEPS
) -> tuple[tuple[Any, ...], int]:
    """Conjugate gradients on (I + H K) s = r, until half the square of what is left of each column is `enough`.

    Returns s and the number of steps.
    """
    solved, direction = tuple(0.0 * each for each in residual), residual
    square = space.inner(residual, residual)
    steps = 0
    while steps < most and (0.5 * square > enough).any():
        bent = np.column_stack([at.bent(column) for column in direction[-1].T])
        bend = space.inner(direction, direction) + (direction[-1] * bent).sum(axis=0)
        length = np.divide(square, bend, out=np.zeros_like(bend), where=(bend > 0.0) & (square > 0.0))
        if not length.any():
            break
        solved = space.plus(solved, length, direction)
        residual = space.plus(space.plus(residual, -length, direction), -length, space.of(bent))
        steps += 1
        before, square = square, space.inner(residual, residual)
        direction = space.plus(
            residual, np.divide(square, before, out=np.zeros_like(square), where=before > 0.0), direction
        )
    return solved, steps


def curvature(space: Space, at: AtScores, seen: np.ndarray, left: float = 1e-2) -> np.ndarray:
    """G'H (I + K H)^-1 G for columns G of values at the samples, roughly: up to a share of each residual."""
    bent = np.column_stack([at.bent(column) for column in seen.T])
    residual = space.of(bent)
    solved, _ = solve_bent(space, at, residual, 0.5 * left**2 * space.inner(residual, residual))
    found = bent.T @ (seen - solved[-1])
    return 0.5 * (found + found.T)


def _searched(space: Space, loss: CoupledLoss, state: _State, step: tuple[Any, ...]) -> _State:
    """The end of a step, or a point on it where P is about least."""

    def slope(there: _State) -> float:
        return float(space.inner(there.point, step)[0] + step[-1][:, 0] @ there.at.slope)

    first = slope(state)
    if not first < 0.0:
        return state
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(MOST_TRIALS):
        there = _state(space, loss, space.plus(state.point, t, step))
        rise = slope(there) if np.isfinite(there.value) else np.inf
        if rise <= -FLAT * first and (t == 1.0 or rise >= FLAT * first):
            break
        low, high = (low, t) if rise > 0.0 else (t, high)
        t = 0.5 * (low + high)
    return there if there.value <= state.value + IDLE * abs(state.value) else state
