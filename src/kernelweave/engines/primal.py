"""The function that training minimises on explicit features, as a sum over samples, and the certificate of a solution.

    P(w, b, theta) = 1/2 ||w||^2 + total sum_r b_r + sum_i loss_i(f_i) + penalty(theta)
    f_ir = sum_m a_m(x_i; theta) <w_mr, phi_m(x_i)> + b_r

The *amplitudes* a_m(x) are what a combiner is on explicit features: the kernel is sum_m a_m(x) k_m(x, z) a_m(z). They
are (eta_m)^(1/2) for weights and the gates for a gating model. One pass over the data gives value and gradient, since
the slope of sample i needs only its own score: with c = -slope,

    dP/dw_mr = w_mr - sum_i a_im c_ir phi_m(x_i),    dP/db_r = total - sum_i c_ir,    dP/da_im = -sum_r c_ir s_imr

s are the `scores`, a the `amplitudes`, c the coefficients (minus the slopes of the losses), and F'c is `Pass.pulled`.

For the certificate biases are minimised exactly. With biases that minimise P, sum_i c_ir = total for each output, so
that c is feasible for the dual, and

    P - D = 1/2 ||w - F'c||^2

which bounds how far P is from the optimum at these amplitudes. With other biases the difference is no bound. Rounding
leaves sum_i c_ir = total + e_r, and the bound is then larger by |b_r e_r|. Features around any point mu have the same
P, with the biases b + mu'w, and

    P - D <= 1/2 ||w - F'c + mu e'||^2 + sum_r |b_r + mu'w_r| |e_r|

Where features have a large mean, biases cancel it: they are large, and no floating-point number near them makes e
small. Around the mean the biases are those of the decision values, and what rounding leaves does not count.

The diagonal of the Hessian saves passes of L-BFGS. Features of a kernel are nearly uncorrelated, and their second
moments differ by orders of magnitude: the Hessian by the weights is badly scaled, but nearly diagonal. With the samples
A whose loss curves (those inside the margin, for a squared hinge), its diagonal is

    d2P/dw_j^2 = 1 + sum_(i in A) a_im^2 phi_j(x_i)^2 / h_i,        d2P/db^2 = sum_(i in A) 1 / h_i

which is estimated from a share of the samples of each block at the start, and again after 5, 10, 20, 40 ... steps. For
theta it is that of Gauss and Newton, sum_(i in A) (df_i/dtheta)^2 / h_i, estimated with random signs, and the
penalty's.

On generated problems (`benchmarks.scale_explicit`) and the data sets "letter" and "spambase", with three to six
Gaussian kernels, the diagonal leaves 22 to 57 of 48 to 122 evaluations at C = 1, and 50 to 274 of 179 to over 400 at C
= 30.

The offset of a one-class machine is a quantile of the scores of all training samples (`at_quantile`): the squared loss
rejects every sample that has a coefficient, so the bias of the machine is no boundary. The offset is moved to the
nu-quantile of the scores instead: samples that together have at most the share nu of all weight lie outside. The
quantile is found by weighted histograms over blocks, each of which divides the interval that holds it into `BINS`
parts, down to single floating-point numbers; no scores are gathered.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from ..arrays import Place, place_of
from ..machines import DualTerms, Solution
from ..solvers.descent import Point
from .base import Engine, added, in_any_place, spans_of
from .memory import Samples


class Amplitudes(Protocol):
    n_parameters: int

    def values(self, theta: np.ndarray, block: Samples, rows: slice) -> np.ndarray:
        """a of some samples of a block, of shape (n_rows, n_kernels), 0 where a view is missing."""

    def pullback(
        self, theta: np.ndarray, block: Samples, rows: slice, amplitudes: np.ndarray, slopes: np.ndarray
    ) -> np.ndarray:
        """dP/dtheta from dP/da of some samples, of shape (n_parameters,)."""


Penalty = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Pass:
    """What one pass over a block, or over all of them, gives.

    `loss` and `totals`, sums of c, have the shape (n_outputs,); `pulled` is F'c, of shape (n_features, n_outputs);
    `slopes` is dP/dtheta without the penalty.
    """

    loss: np.ndarray
    pulled: np.ndarray
    totals: np.ndarray
    slopes: np.ndarray

    def __add__(self, other: Pass) -> Pass:
        return Pass(
            self.loss + other.loss,
            self.pulled + other.pulled,
            self.totals + other.totals,
            self.slopes + other.slopes,
        )


@in_any_place
def sweep(block: Any, amplitudes: Amplitudes, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray) -> Pass:
    found = block.fused_pass(amplitudes, weights, intercept, theta)
    return plain_sweep(block, amplitudes, weights, intercept, theta) if found is None else Pass(*found)


def plain_sweep(
    block: Any, amplitudes: Amplitudes, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray
) -> Pass:
    place, xp = block.place, block.place.xp
    b = place.asarray(intercept, block.precision)
    sums = []

    def respond(rows: slice, scores: Any) -> Any:
        parameters, a = block.amplitudes_of(amplitudes, theta, rows)
        cost, c = block.losses.of(rows).respond(over_kernels(place, a, scores) + b)
        slopes = place.zeros(0)
        if amplitudes.n_parameters:
            slopes = block.theta_slopes(amplitudes, parameters, rows, a, -over_outputs(place, c, scores))
        sums.append((cost, xp.sum(c, axis=0, dtype=xp.float64), slopes))
        return a[:, :, None] * c[:, None, :]

    pulled = block.features.sweep(weights, respond)
    empty = place.zeros(len(intercept)), place.zeros(len(intercept)), place.zeros(amplitudes.n_parameters)
    loss, totals, slopes = added(sums) or empty
    return Pass(loss, pulled, totals, slopes)


def over_kernels(place: Place, a: Any, scores: Any) -> Any:
    """sum_m a_im s_imr; NumPy's einsum takes less time than its sum, and the array API has none."""
    return np.einsum("im,imr->ir", a, scores) if place.is_host else place.xp.sum(a[:, :, None] * scores, axis=1)


def over_outputs(place: Place, c: Any, scores: Any) -> Any:
    return np.einsum("ir,imr->im", c, scores) if place.is_host else place.xp.sum(c[:, None, :] * scores, axis=2)


class Vectors:
    shape: tuple[int, int]  # n_features, n_outputs
    evaluations = 0  # passes over the data

    def parts(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        D, q = self.shape
        return position[: D * q].reshape(D, q), position[D * q : D * q + q], position[D * q + q :]

    def join(self, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray) -> np.ndarray:
        return np.concatenate([weights.ravel(), intercept, theta])


class Primal(Vectors):
    """P and its gradient, over vectors [w, b, theta]; a bias costs `total`."""

    def __init__(
        self,
        engine: Engine,
        amplitudes: Amplitudes,
        n_features: int,
        n_outputs: int,
        *,
        total: float = 0.0,
        penalty: Penalty | None = None,
    ):
        self.engine, self.amplitudes, self.total, self.penalty = engine, amplitudes, total, penalty
        self.shape = n_features, n_outputs

    def __call__(self, position: np.ndarray) -> tuple[float, np.ndarray, Pass]:
        w, b, theta = self.parts(position)
        found = self.passed(w, b, theta)
        self.evaluations += 1
        extra: Any = (0.0, np.zeros(len(theta))) if self.penalty is None else self.penalty(theta)
        value = 0.5 * float(np.vdot(w, w)) + self.total * float(b.sum()) + float(found.loss.sum()) + extra[0]
        return value, self.join(w - found.pulled, self.total - found.totals, found.slopes + extra[1]), found

    def passed(self, w: np.ndarray, b: np.ndarray, theta: np.ndarray) -> Pass:
        return self.engine.sum(sweep, self.amplitudes, w, b, theta)


MOST_STEPS = 200
ROUNDING = 4.0 * np.finfo(float).eps  # of sums, relative to the sum of absolute values


@dataclass(frozen=True)
class Scored:
    scores: Any
    losses: DualTerms
    weight: Any


@in_any_place
def scored(block: Any, amplitudes: Any, weights: np.ndarray, theta: np.ndarray) -> Scored:
    place = block.place
    found = place.zeros((block.n_samples, weights.shape[1]), block.precision)

    def respond(rows: slice, scores: Any) -> None:
        found[rows, :] = over_kernels(place, block.amplitudes_of(amplitudes, theta, rows)[1], scores)

    block.features.sweep(weights, respond)
    return Scored(found, block.losses, block.weight)


@in_any_place
def slopes(block: Scored, intercept: np.ndarray) -> tuple[Any, Any, Any]:
    """Sums of c at some biases, of |c|, and how fast the first fall; each of shape (n_outputs,)."""
    place, losses = place_of(block.scores), block.losses
    xp = place.xp
    values = xp.astype(block.scores, xp.float64, copy=False) + place.asarray(intercept, "float64")
    c = losses.coefficients(values)
    return tuple(xp.sum(each, axis=0, dtype=xp.float64) for each in (c, xp.abs(c), losses.curvature(values)))


def best_intercepts(engine: Engine, start: np.ndarray, total: float) -> np.ndarray:
    """The biases that minimise P at given scores: Newton's method on a falling, piecewise linear function, safeguarded.

    Where P is flat, as for samples that are all beyond the margin, any of them is returned.
    """
    b = np.where(np.isfinite(start), start, 0.0)
    low, high = np.full(len(b), -np.inf), np.full(len(b), np.inf)
    reach = np.ones(len(b))  # of a step where the sum is constant; grows until it changes
    for _ in range(MOST_STEPS):
        sums, sizes, fall = engine.sum(slopes, b)
        excess = sums - total
        done = np.abs(excess) <= ROUNDING * np.maximum(sizes, abs(total))
        low, high = np.where(excess > 0.0, b, low), np.where(excess < 0.0, b, high)
        flat = fall <= 0.0
        step = np.where(flat, np.sign(excess) * reach * np.maximum(1.0, np.abs(b)), excess / np.where(flat, 1.0, fall))
        reach = np.where(flat, 2.0 * reach, reach)
        new = b + step
        outside = (new <= low) | (new >= high) | ~np.isfinite(new)
        closed = np.isfinite(low) & np.isfinite(high)
        middle = 0.5 * np.where(closed, low, 0.0) + 0.5 * np.where(closed, high, 0.0)
        new = np.where(outside & closed, middle, new)
        still = np.abs(new - b) <= ROUNDING * np.abs(b)
        if (done | still).all():
            break
        b = np.where(done, b, new)
    return b


def summed(block: Any, amplitudes: Any, n_features: int, theta: np.ndarray) -> tuple[np.ndarray, float]:
    def respond(rows: slice, _: np.ndarray) -> np.ndarray:
        return (block.weight[rows, None] * amplitudes.values(theta, block, rows))[:, :, None]

    return block.features.sweep(np.zeros((n_features, 1)), respond)[:, 0], float(block.weight.sum())


def gap_around(
    center: np.ndarray | float, weights: np.ndarray, intercept: np.ndarray, pulled: np.ndarray, excess: np.ndarray
) -> float:
    """The duality gap, with features around the point mu = `center`; `excess` are sums of c less `total`."""
    mu = np.broadcast_to(center, len(weights))
    difference = weights - pulled + np.outer(mu, excess)
    return 0.5 * float(np.vdot(difference, difference)) + float(np.abs(intercept + mu @ weights) @ np.abs(excess))


CURVED_ROWS, CURVED_SHARE = 256, 16  # the Hessian is estimated from this many samples of each block, or one in so many
MOST_CURVED = 2**15  # of those of a block on a device
MEMORY = 30  # steps whose curvature is remembered
FIRST_UPDATE = 5  # step before which the Hessian is estimated for the second time
PROBES = 8  # vectors of random signs, for the parameters theta
TINY = 1e-12
SMOOTH = 0.1  # share of the estimate that is taken as if all samples curved alike


@dataclass(frozen=True)
class Curvature:
    """Sums over samples that the diagonal of the Hessian is made of; those of blocks add up.

    `weights` of shape (n_features, n_outputs): a^2 phi^2 / h over samples whose loss curves, `intercept`: 1 / h over
    the same; `all_weights`, `all_intercept`: the same over all samples. `theta` of shape (n_parameters, PROBES):
    derivatives of the values by theta, times h^(-1/2) and random signs, of the samples whose loss curves: the mean of
    their squares over probes is an estimate of the sum of squares over samples.
    """

    weights: np.ndarray
    intercept: np.ndarray
    all_weights: np.ndarray
    all_intercept: np.ndarray
    theta: np.ndarray

    def __add__(self, other: Curvature) -> Curvature:
        parts = fields(self)
        return Curvature(*(getattr(self, part.name) + getattr(other, part.name) for part in parts))


@in_any_place
def curvature(
    block: Any, amplitudes: Amplitudes, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray
) -> Curvature:
    place, n, precision, bends = block.place, block.n_samples, block.precision, []
    xp = place.xp
    if not n:
        shapes = weights.shape, intercept.shape
        return Curvature(*(np.zeros(shape) for shape in (*shapes, *shapes, (amplitudes.n_parameters, PROBES))))
    count = min(n, max(CURVED_ROWS, n // CURVED_SHARE))
    rows = slice(0, count if place.is_host else min(count, MOST_CURVED))
    losses, spans = block.losses.of(rows), spans_of(block.features.offsets)
    phi = xp.astype(block.features.features(rows), getattr(xp, precision), copy=False)
    (parameters, a), w = block.amplitudes_of(amplitudes, theta, rows), place.asarray(weights, precision)
    scores = xp.stack([phi[:, span] @ w[span, :] for span in spans], axis=1)
    c = losses.coefficients(over_kernels(place, a, scores) + place.asarray(intercept, precision))
    all_rates = (n / rows.stop) / xp.broadcast_to(losses.quadratic, c.shape)
    rates = xp.where(losses.curves(c), all_rates, xp.zeros_like(all_rates))
    phi, sums = phi * phi, []  # not in place: float64 features are those of the block
    for rate in (rates, all_rates):
        by_kernel = [phi[:, span].T @ (a[:, m, None] ** 2 * rate) for m, span in enumerate(spans)]
        sums += [xp.astype(xp.concat(by_kernel), xp.float64), xp.sum(rate, axis=0, dtype=xp.float64)]
    if amplitudes.n_parameters:
        for signs in np.random.default_rng(block.first).choice([-1.0, 1.0], size=(PROBES, *c.shape)):
            slopes = over_outputs(place, place.asarray(signs, precision) * rates**0.5, scores)
            bends.append(xp.astype(amplitudes.pullback(parameters, block, rows, a, slopes), xp.float64))
    sums.append(xp.stack(bends, axis=1) if bends else place.zeros((0, PROBES)))
    return Curvature(*sums)


class Hessian:
    """The diagonal of the Hessian in the course of a descent; see `minimize_lbfgs`."""

    def __init__(self, primal: Primal):
        self.primal, self.due = primal, 0
        self.intercept: np.ndarray | None = None

    def __call__(self, steps: int, point: Point, last: np.ndarray | None) -> np.ndarray:
        if last is not None and steps < self.due:
            return last
        self.due = FIRST_UPDATE if last is None else 2 * self.due
        w, b, theta = self.primal.parts(point.position)
        found: Curvature = self.primal.engine.sum(curvature, self.primal.amplitudes, w, b, theta)
        share = np.maximum(found.intercept / np.maximum(found.all_intercept, TINY), 1e-3)
        bend = 1.0 + (1.0 - SMOOTH) * found.weights + SMOOTH * share * found.all_weights
        self.intercept = np.maximum(share * found.all_intercept, TINY)
        return self.primal.join(bend, self.intercept, self._theta(theta, found))

    def _theta(self, theta: np.ndarray, found: Curvature) -> np.ndarray:
        """Half the estimate of each parameter, which few probes make uncertain, and half the mean of all."""
        bend = np.square(found.theta).mean(axis=1)
        if len(theta):
            bend = 0.5 * (bend + bend.mean())
            if self.primal.penalty is not None:
                bend = bend + np.maximum(self.primal.penalty(np.ones_like(theta))[1], 0.0)
        return np.maximum(bend, TINY)


BINS = 1024
WEIGHT_ROUNDING = 1e-12  # share of all weight by which a sum of weights may be wrong
INSIDE = 1e-9  # of the offset, so that a sample on the boundary is inside in spite of rounding


@dataclass(frozen=True)
class Range:
    low: float
    high: float
    weight: float

    def __add__(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high), self.weight + other.weight)


def at_quantile(K: Any, solution: Solution, nu: float) -> Solution:
    """A one-class solution with its offset at the nu-quantile of the training samples' scores; J and gap are kept."""
    blocks = K.engine.replace(scored, K.amplitudes, solution.coef, np.empty(0))
    return dataclasses.replace(solution, intercept=np.array([-quantile(blocks, nu)]))


def quantile(engine: Engine, share: float) -> float:
    """A number below which there is at most this share of all weight, as large as possible.

    It lies halfway between two scores, so that rounding moves no sample across it.
    """
    whole: Range = engine.sum(_range, -np.inf, np.inf)
    wanted = share * whole.weight + WEIGHT_ROUNDING * whole.weight
    low, high, below = whole.low, np.nextafter(whole.high, np.inf), 0.0
    while np.nextafter(low, np.inf) < high:
        edges = np.unique(np.linspace(low, high, BINS + 1))
        held = below + np.cumsum(engine.sum(_histogram, edges))
        chosen = int(np.searchsorted(held, wanted, side="right"))
        if chosen >= len(held):  # at most this share is below any number
            return whole.high
        below = float(held[chosen - 1]) if chosen else below
        low, high = float(edges[chosen]), float(edges[chosen + 1])
    inside = low  # the first score with which more than the share is reached
    outside: Range = engine.sum(_range, -np.inf, inside)
    if outside.weight <= 0.0:
        return inside - INSIDE * abs(inside)
    return max(0.5 * outside.high + 0.5 * inside, float(np.nextafter(outside.high, np.inf)))


def _scores(block: Scored) -> tuple[np.ndarray, np.ndarray]:
    scores, weight = (np.asarray(place_of(each).numpy(each), dtype=float) for each in (block.scores, block.weight))
    return scores[:, 0], weight


def _range(block: Scored, low: float, high: float) -> Range:
    scores, weight = _scores(block)
    own = (scores >= low) & (scores < high)
    if not own.any():
        return Range(np.inf, -np.inf, 0.0)
    return Range(float(scores[own].min()), float(scores[own].max()), float(weight[own].sum()))


def _histogram(block: Scored, edges: np.ndarray) -> np.ndarray:
    scores, weight = _scores(block)
    place = np.searchsorted(edges, scores, side="right") - 1
    own = (place >= 0) & (place < len(edges) - 1)
    return np.bincount(place[own], weight[own], minlength=len(edges) - 1)
