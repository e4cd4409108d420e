"""`ExplicitKernel`: a kernel with explicit features in blocks, on which machines are solved in the primal.

By L-BFGS (`solvers.descent`), and by Newton's method on P(w, b) at fixed amplitudes: a few steps, where features are
few enough for their Gram matrix.

The losses are piecewise quadratic, so that P is, and each output r has a P of its own. With the samples whose loss
curves, d_i = 1 / h_i for these and 0 for others, and phi(x_i) the features times the amplitudes,

    Hessian by (w, b) = [I 0; 0 0] + sum_i d_i [phi_i; 1] [phi_i; 1]'

where the set of such samples does not change any more, one step ends at the minimiser. That is one step for least
squares. Around the mean mu = sum_i d_i phi_i / sum_i d_i, the bias separates from the weights,

    (I + S) dw = -(dP/dw - mu dP/db),    S = sum_i d_i (phi_i - mu)(phi_i - mu)',    db = -dP/db / sum_i d_i - mu'dw

and a large mean costs no precision. S is a sum over blocks like all else (`scatter`). Steps are shortened, for each
output by itself, until P decreases enough. Where there are fewer samples than features, features are first rotated into
as many directions as there are samples, outside of which w is 0.

A step costs n D^2 / 2 products for each output, and Cholesky's factors D^3 / 3, where a pass costs 4 n D: the more
features, the more steps of L-BFGS it must save. `Newton.patience` is the number of these that take as long, from times
of one core. L-BFGS has so many before Newton's method, so that together they take at most about twice the time of the
better one; where it is less than L-BFGS takes for nearly all problems, about `PER_DIGIT` for each digit of the
tolerance, Newton's method begins. On problems of 569 to 6000 samples and 100 to 1000 features, at C = 1 and 100, this
rule took at most about twice the time of the better method (0.02 to 1.0 s of one core).

d is `rates`, mu `Scatter.means`, and S `Scatter.products`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from ..machines import DualTerms, Machine, Solution
from ..solvers import Descent, minimize_lbfgs
from ..solvers.descent import Point
from .base import Engine, ranges
from .coupled import FeatureSpace, solve_on_features
from .memory import Block, InMemory, StoredFeatures
from .primal import MEMORY, TINY, Amplitudes, Hessian, Pass, Primal, best_intercepts, gap_around, scored, summed

ROWS = 1024  # samples whose products are summed up at once
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Scatter:
    """Weighted means and products of features around them, for some outputs; those of blocks add up.

    `totals` are sums of d, `means` mu, of shape (n_outputs, n_features), 0 where the total is 0, and `products` S, of
    shape (n_outputs, n_features, n_features).
    """

    totals: np.ndarray
    means: np.ndarray
    products: np.ndarray

    def __add__(self, other: Scatter) -> Scatter:
        joined = Scatter(self.totals.copy(), self.means.copy(), self.products.copy())
        for place in range(len(self.totals)):
            joined.add(place, other.totals[place], other.means[place], other.products[place])
        return joined

    def add(self, place: int, total: float, mean: np.ndarray, products: np.ndarray) -> None:
        if total <= 0.0:
            return
        whole, apart = self.totals[place] + total, mean - self.means[place]
        self.products[place] += products
        shift = self.totals[place] * total / whole
        if shift > 0.0:
            self.products[place] += np.outer(shift * apart, apart)
        self.means[place] += total / whole * apart
        self.totals[place] = whole


def scatter(
    block: Block,
    amplitudes: Amplitudes,
    weights: np.ndarray,
    intercept: np.ndarray,
    theta: np.ndarray,
    outputs: list[int],
) -> Scatter:
    D, q = weights.shape[0], len(outputs)
    found = Scatter(np.zeros(q), np.zeros((q, D)), np.zeros((q, D, D)))
    for rows in ranges(block.n_samples, ROWS):
        phi = weighted_features(block, amplitudes, theta, rows)
        rates = rates_of(block, rows, phi @ weights + intercept)
        for place, output in enumerate(outputs):
            d = rates[:, output]
            curved = np.flatnonzero(d)
            total = float(d.sum())
            if len(curved):
                own, d = phi[curved], d[curved]
                mean = d @ own / total
                own = (own - mean) * np.sqrt(d)[:, None]
                found.add(place, total, mean, own.T @ own)
    return found


def weighted_features(block: Block, amplitudes: Amplitudes, theta: np.ndarray, rows: slice) -> np.ndarray:
    a = np.asarray(amplitudes.values(theta, block, rows), dtype=np.float64)
    return block.features.features(rows) * np.repeat(a, np.diff(block.features.offsets), axis=1)


def rates_of(block: Block, rows: slice, values: np.ndarray) -> np.ndarray:
    return np.broadcast_to(block.losses.of(rows).curvature(values), values.shape)


def signatures(
    block: Block, amplitudes: Amplitudes, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray
) -> np.ndarray:
    """A number for each output, of which the sums over blocks are equal where d of all samples is."""
    rates = np.empty((block.n_samples, len(intercept)))
    for rows in ranges(block.n_samples, ROWS):
        rates[rows] = rates_of(block, rows, weighted_features(block, amplitudes, theta, rows) @ weights + intercept)
    return np.array([_digest(block, own.tobytes()) for own in rates.T], dtype=np.uint64)


def kinds(block: Block) -> tuple[int, int, int, np.ndarray]:
    """Numbers of blocks, samples, and losses that are not quadratic everywhere; signatures of outputs where all are."""
    losses, shape = block.losses, (block.n_samples, block.losses.n_outputs)
    without = (losses.lower == 0.0) & (losses.upper == 0.0)
    quadratic = without | ((losses.lower == -np.inf) & (losses.upper == np.inf) & (losses.insensitivity == 0.0))
    others = int((~np.broadcast_to(quadratic, shape)).sum())
    if others or shape[1] == 1:
        return 1, shape[0], others, np.zeros(shape[1], dtype=np.uint64)
    rates = np.broadcast_to(np.where(without, 0.0, 1.0 / losses.quadratic), shape)
    return 1, shape[0], others, np.array([_digest(block, own.tobytes()) for own in rates.T], dtype=np.uint64)


def _digest(block: Block, content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(str(block.first).encode() + content, digest_size=8).digest(), "big")


@dataclass(frozen=True)
class Gathered:
    """Weighted features of few samples, and their losses; those of blocks are put one below the other."""

    features: np.ndarray
    losses: DualTerms

    def __add__(self, other: Gathered) -> Gathered:
        return Gathered(np.concatenate([self.features, other.features]), self.losses.followed_by([other.losses]))


def gathered(block: Block, amplitudes: Amplitudes, theta: np.ndarray) -> Gathered:
    whole = slice(0, block.n_samples)
    phi = weighted_features(block, amplitudes, theta, whole)
    shape = block.n_samples, block.losses.n_outputs
    return Gathered(phi, block.losses.mapped(lambda term: np.array(np.broadcast_to(term, shape), dtype=np.float64)))


class Alone:
    n_parameters = 0

    def values(self, theta: np.ndarray, block: Any, rows: slice) -> np.ndarray:
        return np.ones((rows.stop - rows.start, 1))

    def pullback(self, theta: np.ndarray, block: Any, rows: slice, amplitudes: Any, slopes: Any) -> np.ndarray:
        return np.empty(0)


def solved(products: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(I + S)^-1 of some columns, by Cholesky's factors of the matrix scaled to a unit diagonal.

    Features that no sample has (rows of S that are 0) are left out. Where rounding leaves the matrix indefinite, the
    diagonal is made larger.
    """
    result = right.copy()
    used = np.flatnonzero(np.diag(products) > 0.0)
    if not len(used):
        return result
    whole = len(used) == len(products)
    matrix = products.copy() if whole else products[np.ix_(used, used)]
    matrix[np.diag_indices_from(matrix)] += 1.0
    root = np.sqrt(np.diag(matrix))
    matrix /= root
    matrix /= root[:, None]
    ridge = 0.0
    while True:
        given = matrix.T.copy(order="F") if ridge == 0.0 else (matrix + ridge * np.eye(len(matrix))).T
        factor, info = lapack.dpotrf(given, lower=True, overwrite_a=True)
        if info == 0:
            break
        ridge = max(100.0 * ridge, len(matrix) * EPS)
    result[used] = lapack.dpotrs(factor, right[used] / root[:, None], lower=True)[0] / root[:, None]
    return result


MOST_BYTES = 2**26  # of the products of all blocks, or an eighth of the features where that is more
# Seconds: of a step of either method beside its sums, of a pass for each feature of a sample, of products for each pair
# of features (half the samples count), of Cholesky's factors, and of the rotation for each product.
OVERHEAD, PASS, PRODUCTS, FACTORS, ROTATION = 5e-4, 8e-10, 2.5e-11, 2.2e-11, 2e-10
STEPS = 8  # that Newton's method takes, about; 1 for least squares
PER_DIGIT = 20  # steps of L-BFGS for each digit of the tolerance, about
MOST_STEPS = 60
MOST_TRIALS = 30  # lengths of a step
FLAT = 0.3  # share of the first slope that the last one may be where a step is shortened
DECREASE = 1e-4  # share of the decrease that the slope promises, which a step must bring
ROUNDING = 1e-13  # relative, of P and of other sums over samples


class Newton:
    def __init__(self, primal: Primal):
        self.primal = primal
        self.intercept: np.ndarray | None = None
        self.n_samples, self.room = 0, MOST_BYTES  # room: bytes of products, of each block

    def patience(self, gap_tol: float) -> float:
        """How many steps of L-BFGS come before this method, see the module; infinite where the method is not used.

        That is so on devices, for amplitudes that have parameters, and for products that take too much memory.
        """
        (D, q), engine = self.primal.shape, self.primal.engine
        if self.primal.amplitudes.n_parameters or not engine.takes_products:
            return np.inf
        n_blocks, n, others, alike = engine.sum(kinds)
        self.n_samples, width = n, min(n, D)
        self.room = max(MOST_BYTES, n * D // 2) // max(1, n_blocks if n >= D else 1)
        if not 0 < 8 * width * D <= self.room:
            return np.inf
        rotation = ROTATION * n**2 * D if n < D else 0.0
        taken, distinct = (STEPS, q) if others else (1, len(np.unique(alike)))
        step = OVERHEAD + 2.0 * PASS * n * D * q + distinct * (PRODUCTS * n * width**2 + FACTORS * width**3)
        steps = (taken * step + rotation) / (OVERHEAD + PASS * n * D * q)
        return 0.0 if steps <= PER_DIGIT * max(2.0, -np.log10(max(gap_tol, EPS))) else float(np.ceil(steps))

    def minimize(self, position: np.ndarray, max_steps: int, callback: Callable[[int, Any], bool | None]) -> Descent:
        primal = self.primal
        if self.n_samples >= primal.shape[0]:
            return self.descend(position, max_steps, callback)
        w, b, theta = primal.parts(position)
        found: Gathered = primal.engine.sum(gathered, primal.amplitudes, theta)
        rotation, triangle = scipy.linalg.qr(found.features.T, mode="economic", check_finite=False)
        offsets, n = np.array([0, triangle.shape[0]]), self.n_samples
        block = Block(0, StoredFeatures(np.ascontiguousarray(triangle.T), offsets), found.losses, None, np.ones(n))
        small = Primal(InMemory([block]), Alone(), n, primal.shape[1], total=primal.total)
        inner = Newton(small)

        def after(step: int, point: Any) -> bool | None:
            self.intercept = inner.intercept
            v, b, _ = small.parts(point.position)
            by_v, by_b, _ = small.parts(point.gradient)
            wide = (primal.join(rotation @ u, c, theta) for u, c in ((v, b), (by_v, by_b)))
            position, gradient = wide
            return callback(step, Point(position, point.value, gradient, point.detail))

        end = inner.descend(small.join(rotation.T @ w, b, theta), max_steps, after)
        v, b, _ = small.parts(end.solution)
        return replace(end, solution=primal.join(rotation @ v, b, theta))

    def descend(self, position: np.ndarray, max_steps: int, callback: Callable[[int, Any], bool | None]) -> Descent:
        """Steps until ``callback(step, point)`` is True (0: the start), none decreases P, or `max_steps` are made."""
        calls = self.primal.evaluations
        point = self._point(*self._with_intercepts(position))
        status = "stopped" if callback(0, point) else "max_iterations"
        steps, progress = 0, np.inf
        while status == "max_iterations" and steps < min(max_steps, MOST_STEPS):
            new = self._search(point, *self._directions(point))
            if new is None:
                progress, status = 0.0, "converged"
                break
            steps += 1
            progress = max(0.0, point.value - new.value) / max(1.0, abs(new.value))
            point = new
            if callback(steps, point):
                status = "stopped"
        calls = self.primal.evaluations - calls
        return Descent(point.position, point.value, point.detail, steps, calls, progress, status)

    def _with_intercepts(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        w, b, theta = self.primal.parts(position)
        engine = self.primal.engine.replace(scored, self.primal.amplitudes, w, theta)
        return w, best_intercepts(engine, b, self.primal.total)

    def _point(self, w: np.ndarray, b: np.ndarray) -> Point:
        position = self.primal.join(w, b, np.empty(0))
        return Point(position, *self.primal(position))

    def _values(self, w: np.ndarray, b: np.ndarray, found: Pass) -> np.ndarray:
        return 0.5 * (w**2).sum(axis=0) + self.primal.total * b + found.loss

    def _directions(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        primal, (w, b, theta) = self.primal, self.primal.parts(point.position)
        by_w, by_b, _ = primal.parts(point.gradient)
        given = primal.amplitudes, w, b, theta
        (D, q), groups = primal.shape, np.zeros(1, dtype=int)
        if q > 1:
            groups = np.unique(primal.engine.sum(signatures, *given), return_inverse=True)[1].ravel()
        alike = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]
        dw, db, bend = np.zeros((D, q)), np.zeros(q), np.zeros(q)
        width = max(1, self.room // (8 * D * D))
        for first in range(0, len(alike), width):
            some = alike[first : first + width]
            found: Scatter = primal.engine.sum(scatter, *given, [int(own[0]) for own in some])
            for place, own in enumerate(some):
                mean, total = found.means[place][:, None], float(found.totals[place])
                dw[:, own] = -solved(found.products[place], by_w[:, own] - mean * by_b[own])
                bend[own] = total
                if total > 0.0:
                    db[own] = -by_b[own] / total - mean[:, 0] @ dw[:, own]
        self.intercept = np.maximum(bend, TINY)
        return dw, db

    def _search(self, point: Point, dw: np.ndarray, db: np.ndarray) -> Point | None:
        """A point with a smaller P of each output that promises one; None where no output does.

        P is convex along a direction, and its slope piecewise linear and rising. The whole step is taken where it
        brings enough; else a length is searched at which the slope is small, between one where it falls and one where
        it rises (regula falsi with halved slopes). Where values are the same to rounding, slopes alone decide.
        """
        w, b, _ = self.primal.parts(point.position)
        values, slopes = self._values(w, b, point.detail), self._slopes(point, dw, db)
        noise = ROUNDING * np.maximum(1.0, np.abs(values))
        length = np.where(slopes < -EPS * np.abs(values), 1.0, 0.0)
        bracket = _Bracket(slopes)
        for _ in range(MOST_TRIALS):
            if not length.any():
                return None
            new = self._point(w + length * dw, b + length * db)
            new_w, new_b, _ = self.primal.parts(new.position)
            there, ends = self._values(new_w, new_b, new.detail), self._slopes(new, dw, db)
            with np.errstate(invalid="ignore", over="ignore"):
                small = np.abs(ends) <= FLAT * np.abs(slopes)
                lower = (there <= values + DECREASE * length * slopes) & (small | (length == 1.0))
                good = lower | ((np.abs(there - values) <= noise) & small) | (length == 0.0)
            if good.all():
                return new
            length = np.where(good, length, bracket.next(length, ends))
        length = np.where(good, length, bracket.low)  # where P has fallen all the way
        return self._point(w + length * dw, b + length * db) if length.any() else None

    def _slopes(self, point: Point, dw: np.ndarray, db: np.ndarray) -> np.ndarray:
        by_w, by_b, _ = self.primal.parts(point.gradient)
        return (by_w * dw).sum(axis=0) + by_b * db


class _Bracket:
    """Lengths between which the rising slopes cross 0; an entry for each output."""

    def __init__(self, slopes: np.ndarray):
        self.low, self.high = np.zeros(len(slopes)), np.full(len(slopes), np.inf)
        self.falls, self.rises = slopes.copy(), np.zeros(len(slopes))
        self.side = np.zeros(len(slopes))  # where the last length was: -1 below, 1 above

    def next(self, length: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        above = ~(slopes < 0.0)  # also where they are not finite
        side = np.where(above, 1.0, -1.0)
        again = side == self.side
        self.falls = np.where(~above, slopes, np.where(again & above, 0.5 * self.falls, self.falls))
        self.rises = np.where(above, slopes, np.where(again & ~above, 0.5 * self.rises, self.rises))
        self.low, self.high = np.where(above, self.low, length), np.where(above, length, self.high)
        self.side = side
        width = self.high - self.low
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            share = self.falls / (self.falls - self.rises)
        share = np.clip(np.where(np.isfinite(share), share, 0.1), 0.02, 0.98)
        return np.where(np.isfinite(width), self.low + share * width, 2.0 * length)


MOST_ITERATIONS = 2000
SHARE = 0.5  # share of the allowed gap at which a descent ends
FINER = 1e-6  # share of that at which Newton's method ends: its last steps bring nearly all
NOTHING = np.empty(0)


class ExplicitKernel:
    """The operand of machines with explicit features: blocks, and the amplitude of each kernel for each sample.

    The blocks have the targets; of a machine only the number of outputs and the cost of biases are read.
    """

    n_solves = 1  # all outputs are solved together

    def __init__(self, engine: Engine, amplitudes: Amplitudes, n_features: int):
        self.engine, self.amplitudes, self.n_features = engine, amplitudes, n_features
        self.progress: Callable[[float], None] | None = None  # called with the share of a solve that is done

    def solve(
        self,
        machine: Machine,
        start: Solution | None = None,
        tol: float = 1e-3,
        gap_tol: float | None = None,
        max_steps: int | None = None,
    ) -> Solution:
        """Solve until the duality gap is at most ``gap_tol * max(1, |J|)``; gap_tol is `tol` by default."""
        if not machine.is_separable:
            return solve_on_features(self, machine, start, tol if gap_tol is None else gap_tol, max_steps)
        primal = Primal(self.engine, self.amplitudes, self.n_features, machine.n_outputs, total=machine.total)
        position = np.zeros((self.n_features + 1) * machine.n_outputs)
        if start is not None:
            position = primal.join(start.coef, start.intercept, NOTHING)
        wanted = tol if gap_tol is None else gap_tol
        return certified_descent(primal, position, wanted, max_steps, progress=self.progress)[0]

    def refine(self, machine: Machine, solution: Solution, tol: float, max_steps: int | None = None) -> Solution:
        size = size_of(solution.objective, machine.total) if machine.is_separable else abs(solution.objective)
        if solution.gap <= tol * size:  # whatever was wanted of its solve
            return replace(solution, converged=True)
        return self.solve(machine, solution, tol=tol, max_steps=max_steps)

    def scores(self, solution: Solution) -> np.ndarray:
        """f of a solution of one output at all samples, without its bias."""
        return FeatureSpace(self).at(solution.coef)[1][:, 0]


def size_of(value: float, total: float) -> float:
    """The unit of relative tolerances: max(1, |J|), or |J| of a one-class machine (`total` is 1), which is small."""
    return max(1.0, abs(value)) if total == 0.0 else abs(value)


def certified_descent(
    primal: Primal,
    position: np.ndarray,
    gap_tol: float,
    max_steps: int | None = None,
    callback: Callable[[int, Any], bool | None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Solution, np.ndarray]:
    """Minimise to a gap of at most `gap_tol` times the size of J (`size_of`); returns solution and all parameters.

    Half the squared gradient by w is the gap, but for the biases, which are not yet the best: the descent ends where it
    is `share` of what is allowed, and so is the decrease that better biases promise. No pass is needed to see that. The
    certificate takes two passes or three; where it is not good enough after all, the descent goes on with a smaller
    share, and it is made again after the next step.
    """
    steps, budget, share = 0, MOST_ITERATIONS if max_steps is None else max_steps, SHARE
    watch, newton = _Watch(primal, gap_tol, callback, progress), Newton(primal)
    patience = newton.patience(gap_tol)
    solution: Solution | None = None
    while True:
        turn = steps >= patience  # of Newton's method
        if turn:
            watch.bend, watch.share = newton, FINER * share
            end = newton.minimize(position, budget - steps, watch)
        else:
            watch.bend, watch.share = Hessian(primal), share
            end = _lbfgs(primal, position, int(min(budget, patience)) - steps, watch)
        steps += end.steps
        if end.status == "max_iterations" and steps < budget:  # the other method goes on
            position, patience = end.solution, np.inf if turn else patience
            continue
        if solution is None or solution.steps < steps:
            solution = certificate(primal, end.solution, steps, gap_tol)
            w, _, theta = primal.parts(end.solution)
            position = primal.join(w, solution.intercept, theta)
        small = gap_tol * size_of(solution.objective, primal.total)
        stuck = end.status == "converged"
        if solution.gap <= small or steps >= budget or (stuck and not turn) or watch.stopped or share < 1e-6:
            return replace(solution, converged=solution.gap <= small), position
        patience, share = np.inf if stuck else patience, 0.1 * share


def _lbfgs(primal: Primal, position: np.ndarray, max_steps: int, watch: _Watch) -> Descent:
    return minimize_lbfgs(
        primal,
        position,
        tol=0.0,
        precision=ROUNDING,
        max_iterations=max_steps,
        memory=MEMORY,
        callback=watch,
        diagonal=watch.bend,
        noise=primal.engine.rounding,
    )


class _Watch:
    def __init__(self, primal: Primal, gap_tol: float, callback: Any, progress: Callable[[float], None] | None):
        self.primal, self.gap_tol, self.callback, self.progress = primal, gap_tol, callback, progress
        self.share, self.stopped, self.first, self.done = SHARE, False, 0.0, 0.0
        self.bend: Any = None  # what has the second derivatives by the biases, as `intercept`

    def __call__(self, iteration: int, point: Any) -> bool:
        w, b, _ = self.primal.parts(point.gradient)
        allowed = self.share * self.gap_tol * size_of(point.value, self.primal.total)
        gap = 0.5 * float(np.vdot(w, w))
        if self.progress is not None:
            self.progress(self._done(gap, allowed))
        if self.callback is not None and self.callback(iteration, point):
            self.stopped = True
            return True
        bend = self.bend.intercept
        promised = 0.0 if bend is None else 0.5 * float((b**2 / bend).sum())
        return gap <= allowed and promised <= allowed

    def _done(self, gap: float, allowed: float) -> float:
        self.first = max(self.first, gap)
        if gap > 0.0 and self.first > allowed:
            share = np.log(self.first / gap) / np.log(self.first / max(allowed, 1e-300))
            self.done = max(self.done, float(np.clip(share, 0.0, 1.0)))
        return self.done


def certificate(primal: Primal, position: np.ndarray, steps: int, gap_tol: float = 0.0) -> Solution:
    """The solution at a vector of parameters, with the best biases there and its duality gap.

    The mean of the features takes one more pass: it is used where the gap is larger than what is wanted without.
    """
    w, b, theta = primal.parts(position)
    engine = primal.engine.replace(scored, primal.amplitudes, w, theta)
    b = best_intercepts(engine, b, primal.total)
    value, _, found = primal(primal.join(w, b, theta))
    given = w, b, found.pulled, found.totals - primal.total
    gap = gap_around(0.0, *given)
    if gap > gap_tol * size_of(value - gap, primal.total):
        sums, weight = primal.engine.sum(summed, primal.amplitudes, len(w), theta)
        gap = min(gap, gap_around(sums / weight, *given))
    violation = float(np.abs(w - found.pulled).max(initial=0.0))
    return Solution(w, b, value - gap, gap, violation, steps, True, image=found.pulled)
