"""Minimising a smooth function whose every value is costly: limited-memory BFGS, and descent with Armijo's rule.

The function here is J(theta), whose value is a kernel machine solved on K_theta, so evaluations are what counts, and
values are known to the machine's precision only. The methods stay in a domain (see `domains`), which costs nothing
beside an evaluation, and stop at relative progress ``(J_old - J_new) / max(1, |J_new|) < tol``, which makes sense also
where J is negative or near 0. A step that does not go down is never taken; steps whose slope predicts a decrease below
the precision of the values are not tried.

- `minimize_lbfgs`: Nocedal's two-loop recursion. On a convex set the projected quasi-Newton step of Schmidt et al.
  (2009), the minimiser over the set of the quadratic model whose Hessian is the compact form of the same memory. On
  manifolds the memory is projected from tangent space to tangent space (Absil, Mahony and Sepulchre 2008, section 8.1).
- `minimize_armijo`: gradient descent with a step length from Armijo's rule, as in section 3.3 of
  the thesis (Gönen 2010, PhD thesis, Boğaziçi University).
- `minimize_alternating`: Algorithm 1 of SLDR and Figures 4.1 and 4.2 of the thesis: one iteration is a cycle over the
  blocks (projections, gating projection, gating parameters: W, T, V of SLDR); each block goes down its own gradient and
  back to where it may be, for orthonormal matrices by a singular value decomposition (SLDR A.3), before the function is
  evaluated for the next block. `rates` are the step sizes Delta, nu, mu, by Armijo's rule. It needs more evaluations.
- `climb`: maximisation by SciPy's gradient methods, with a record of every iteration.

theta and x are `Point.position`, s and y the changes of position and gradient between two points, and sigma = y'y / s'y
is the scale of the quadratic model.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from .domains import Domain, Space

Function = Callable[[np.ndarray], tuple[float, np.ndarray, Any]]
Blocks = Sequence[tuple[slice, Domain]]
Progress = Callable[[int, int], None]
EVERYWHERE = Space()
_WINDOW = 10  # iterations over which progress of an ascent is judged, since single steps vary much
DECREASE = 1e-4  # Armijo: share of the decrease which the slope predicts
STEEPNESS = 0.9  # Wolfe: a step is too short where the slope is still this share of the first one
FLAT = 1e-200  # gradients below are zero
MOST_TRIALS = 20
MODEL_STEPS = 100


class Point(NamedTuple):
    """A position with its value, its gradient, and what else the function returned."""

    position: np.ndarray
    value: float
    gradient: np.ndarray
    detail: Any


Callback = Callable[[int, Point], bool | None]


@dataclass(frozen=True)
class Descent:
    """Where a descent ended.

    Attributes
    ----------
    solution : ndarray
        The best position.
    objective : float
        The value there.
    detail : object
        What the function returned beside value and gradient.
    steps : int
        Outer iterations.
    evaluations : int
        How often the function was called.
    progress : float
        Relative progress of the last iteration.
    status : {"converged", "max_iterations", "stopped"}
        "stopped" where the callback returned True.
    """

    solution: np.ndarray
    objective: float
    detail: Any
    steps: int
    evaluations: int
    progress: float
    status: str

    @property
    def converged(self) -> bool:
        """Whether progress fell below the tolerance."""
        return self.status == "converged"


def minimize_lbfgs(
    function: Function,
    start: np.ndarray | Point,
    domain: Domain = EVERYWHERE,
    tol: float = 1e-3,
    precision: float = 1e-12,
    max_iterations: int = 100,
    first_step: float = 1.0,
    memory: int = 6,
    callback: Callback | None = None,
    diagonal: Diagonal | None = None,
    noise: float = 0.0,
    model: QuasiNewton | None = None,
) -> Descent:
    """Minimise a function by limited-memory BFGS, over all of space or within a domain.

    Parameters
    ----------
    function : callable
        ``function(position) -> (value, gradient, detail)``; the detail is handed back with the point. The
        gradient is the one in space. Positions where the value is NaN or infinite are backed out of.
    start : ndarray of shape (n,) or Point
        A point is one where the function is known, and in the domain.
    domain : Domain, default=Space()
        Every position is in it; the start is brought in. Gradients of points are those along it.
    tol : float, default=1e-3
        Relative progress of an iteration that ends the descent.
    precision : float, default=1e-12
        By how much values may be wrong, relative to ``max(1, |value|)``; well below `tol`.
    max_iterations : int, default=100
    first_step : float, default=1
        Length of the first trial step, when nothing is known of the curvature.
    memory : int, default=6
        Number of steps whose curvature is remembered.
    callback : callable, optional
        ``callback(iteration, point)`` after the start (iteration 0) and each iteration; True ends the descent.
    diagonal : callable, optional
        ``diagonal(steps, point, last)`` gives an estimate of the diagonal of the Hessian before each step, all
        positive: a new one, or the last (None at first). Only without a domain; `first_step` is not used then.
    noise : float, default=0
        How far values scatter, relative to ``max(1, |value|)``, where gradients are better than that: where two values
        differ by less, slopes decide which point is better, and the end is the last point.
    model : QuasiNewton, optional
        What is known of the curvature, in the place of `first_step`, `memory` and `diagonal`; it learns more.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.solvers import ConvexSet, Sphere
    >>> def bowl(x):
    ...     return float(np.sum((x - 2.0) ** 2)), 2.0 * (x - 2.0), None
    >>> minimize_lbfgs(bowl, np.zeros(2)).solution.round(3)
    array([2., 2.])
    >>> minimize_lbfgs(bowl, np.zeros(2), ConvexSet(lambda x: np.clip(x, 0.0, 1.0))).solution.round(3)
    array([1., 1.])
    >>> minimize_lbfgs(bowl, np.array([1.0, 0.0]), Sphere(1.0)).solution.round(3)
    array([0.707, 0.707])
    """
    search = LineSearch(model or QuasiNewton(first_step, memory, diagonal), domain, precision, noise)
    begin = start if isinstance(start, Point) else _entered(start, domain)
    return descend(Objective(function, domain), begin, search, tol, max_iterations, callback)


def minimize_armijo(
    function: Function,
    start: np.ndarray,
    domain: Domain = EVERYWHERE,
    tol: float = 1e-3,
    precision: float = 1e-12,
    max_iterations: int = 100,
    first_step: float = 1.0,
    callback: Callback | None = None,
) -> Descent:
    """Minimise a function within a domain, by gradient descent with step lengths from Armijo's rule.

    Parameters are those of `minimize_lbfgs`. Each iteration first tries twice the last step length.

    Examples
    --------
    >>> import numpy as np
    >>> minimize_armijo(lambda x: (float(x @ x), 2.0 * x, None), np.ones(2), tol=1e-9).solution.round(3)
    array([0., 0.])
    """
    search = LineSearch(Gradient(first_step), domain, precision)
    return descend(Objective(function, domain), _entered(start, domain), search, tol, max_iterations, callback)


def _entered(start: np.ndarray, domain: Domain) -> np.ndarray:
    position = np.array(start, dtype=float)
    return position if domain.everywhere else domain.enter(position)


class Objective:
    """A function whose gradients are taken within a domain, and whose evaluations are counted."""

    def __init__(self, function: Function, domain: Domain):
        self.function, self.domain, self.evaluations = function, domain, 0

    def __call__(self, position: np.ndarray) -> Point:
        self.evaluations += 1
        value, gradient, detail = self.function(position)
        with np.errstate(invalid="ignore", over="ignore"):  # infinite gradients are for the searches to refuse
            if not self.domain.everywhere:
                gradient = self.domain.tangent(position, gradient)
            return Point(position, float(value), gradient, detail)


class Iteration(Protocol):
    def step(self, objective: Objective, point: Point) -> Point | None:
        """A better point, the same where none was found, None where no step can be better."""

    def retry(self) -> bool:
        """After a step that found nothing: whether another one would be different."""


def descend(
    objective: Objective,
    start: np.ndarray | Point,
    iteration: Iteration,
    tol: float,
    max_iterations: int,
    callback: Callback | None,
) -> Descent:
    point = start if isinstance(start, Point) else objective(start)
    if not np.isfinite(point.value):
        raise ValueError("the function to minimise is not finite at the start")
    status = "stopped" if callback and callback(0, point) else "max_iterations"
    steps, progress = 0, np.inf
    while status == "max_iterations" and steps < max_iterations:
        new = iteration.step(objective, point)
        if new is None:
            progress, status = 0.0, "converged"
            break
        steps += 1
        failed, progress = new is point, max(0.0, point.value - new.value) / max(1.0, abs(new.value))
        point = new
        if callback and callback(steps, point):
            status = "stopped"
        elif (failed or progress < tol) and not (failed and iteration.retry()):
            status = "converged"
    return Descent(point.position, point.value, point.detail, steps, objective.evaluations, progress, status)


#: ``diagonal(steps, point, last)`` gives the diagonal of the Hessian, all positive: a new one, or the last.
Diagonal = Callable[[int, "Point", "np.ndarray | None"], np.ndarray]


class LineSearch:
    """An iteration: a direction by a rule, and a search along it by the weak Wolfe conditions.

    Where values differ by less than their noise (relative), slopes decide in their place (the approximate Wolfe
    conditions of Hager and Zhang 2005).
    """

    def __init__(self, rule: Gradient | QuasiNewton, domain: Domain, precision: float, noise: float = 0.0):
        self.rule, self.noise, self.domain, self.precision = rule, noise, domain, precision
        self.longest = min(rule.longest, domain.longest)

    def step(self, objective: Objective, point: Point) -> Point | None:
        direction = self.rule.direction(point, self.domain)
        negligible = negligible_decrease(point, self.precision)
        if not -(point.gradient @ direction) > negligible:
            return None
        new = self._search(objective, point, direction, negligible)
        if new is not point:
            self.rule.learn(point, new, direction, self.domain)
        return new

    def retry(self) -> bool:
        return self.rule.forget()

    def _search(self, objective: Objective, point: Point, direction: np.ndarray, negligible: float) -> Point:
        """A point further down that meets the Wolfe conditions, or just lower; the same point where there is none."""
        slope = point.gradient @ direction
        low, low_length, low_slope = point, 0.0, slope
        high_length = np.inf
        length = 1.0
        for _ in range(MOST_TRIALS):
            if -slope * length <= negligible:
                break
            if self.domain.everywhere:
                position, velocity = point.position + length * direction, direction
            else:
                position, velocity = self.domain.move(point.position, direction, length)
            trial = objective(position)
            finite = is_finite(trial)
            trial_slope = trial.gradient @ velocity if finite else np.nan
            lower = trial.value < point.value + DECREASE * length * slope
            if self.noise and finite and not lower:
                slack = self.noise * max(1.0, abs(point.value))
                lower = trial.value <= point.value + slack and trial_slope <= (2.0 * DECREASE - 1.0) * slope
            if not finite or not lower:
                high_length = length
                step = _cubic(low_length, low.value, low_slope, length, trial.value, trial_slope) if finite else -np.inf
                length = np.clip(
                    step, low_length + 0.1 * (length - low_length), low_length + 0.5 * (length - low_length)
                )
            elif trial_slope < STEEPNESS * slope and length < min(high_length, self.longest):
                low, low_length, low_slope = trial, length, trial_slope
                length = min(4.0 * length, self.longest) if high_length == np.inf else 0.5 * (low_length + high_length)
            else:
                return trial
        return low


def _cubic(a: float, value_a: float, slope_a: float, b: float, value_b: float, slope_b: float) -> float:
    """Minimiser of the cubic with these values and slopes at a and b (Nocedal and Wright, (3.59)); -inf without one."""
    d1 = slope_a + slope_b - 3.0 * (value_a - value_b) / (a - b)
    square = d1 * d1 - slope_a * slope_b
    if not square >= 0.0:
        return -np.inf
    d2 = np.sqrt(square)
    bottom = slope_b - slope_a + 2.0 * d2
    return b - (b - a) * (slope_b + d2 - d1) / bottom if bottom != 0.0 else -np.inf


class Gradient:
    """Directions of steepest descent, of the last step's length doubled."""

    longest = 1.0  # Armijo's rule only ever shortens

    def __init__(self, first_step: float):
        self.first_step = first_step
        self.length: float | None = None

    def direction(self, point: Point, domain: Domain) -> np.ndarray:
        if self.length is None:
            self.length = first_length(self.first_step, point.gradient)
        return straight_step(domain, point.position, -self.length * point.gradient)

    def learn(self, old: Point, new: Point, direction: np.ndarray, domain: Domain) -> None:
        share = float(np.linalg.norm(new.position - old.position) / np.linalg.norm(direction))
        self.length = 2.0 * share * (self.first_step if self.length is None else self.length)

    def forget(self) -> bool:
        return False


class QuasiNewton:
    """Directions from the curvature of the last steps.

    The pairs (s, y) are kept in one array of shape (n_pairs, 2, n), oldest first, always in the tangent space of the
    last position: after each step all of them are projected onto the new one. Where the diagonal of the Hessian is
    known (all of space only), the model begins with it, up to a factor from the last step, instead of the identity.
    """

    longest = np.inf

    def __init__(self, first_step: float, memory: int, diagonal: Diagonal | None = None):
        self.first_step = first_step
        self.memory = memory
        self.pairs = np.empty((0, 2, 0))
        self.diagonal = diagonal
        self.bend: np.ndarray | None = None
        self.steps = 0

    def direction(self, point: Point, domain: Domain) -> np.ndarray:
        if self.diagonal is not None:
            self.bend = self.diagonal(self.steps, point, self.bend)
            if not len(self.pairs):
                return -point.gradient / self.bend
        if not len(self.pairs):
            length = first_length(self.first_step, point.gradient)
            return straight_step(domain, point.position, -length * point.gradient)
        if domain.longest == np.inf:
            return -self._inverse(point.gradient)
        return self._constrained(point, domain)

    def learn(self, old: Point, new: Point, direction: np.ndarray, domain: Domain) -> None:
        """Remember a step, and of all steps those along which the function does not curve down."""
        self.steps += 1
        # The chord and the step that was made differ by a vector normal at the new position, so projected they are one.
        last = np.array([[new.position - old.position, -old.gradient]])
        pairs = np.concatenate([self.pairs, last]) if len(self.pairs) else last
        if not domain.everywhere:
            pairs = domain.tangent(new.position, pairs)
        pairs[-1, 1] += new.gradient
        self.pairs = pairs[self._curved(pairs)][-self.memory :]

    def _curved(self, pairs: np.ndarray) -> np.ndarray:
        curvature = np.einsum("kn,kn->k", pairs[:, 0], pairs[:, 1])
        norms = np.sqrt(np.einsum("kpn,kpn->kp", pairs, pairs))
        return curvature > 1e-10 * norms.prod(axis=1)

    def bent(self, changes: list[np.ndarray]) -> None:
        """The function is another, whose gradient changes by so much more along each step that is remembered."""
        if changes:
            self.pairs = self.pairs + np.stack([np.zeros_like(changes), changes], axis=1)
            self.pairs = self.pairs[self._curved(self.pairs)]

    def forget(self) -> bool:
        """Drop the memory; False where it is empty, so that trying again would change nothing."""
        if not len(self.pairs):
            return False
        self.first_step = float(np.linalg.norm(self.pairs[-1][0]))
        self.pairs = self.pairs[:0]
        return True

    def _scale(self) -> float:
        s, y = self.pairs[-1]
        return (y @ y) / (s @ y)

    def _inverse(self, gradient: np.ndarray) -> np.ndarray:
        """The inverse Hessian of the model times a vector, by the two-loop recursion."""
        result = gradient.copy()
        shares = []
        for s, y in self.pairs[::-1]:
            share = (s @ result) / (s @ y)
            result -= share * y
            shares.append(share)
        if self.bend is None:
            result /= self._scale()
        else:
            s, y = self.pairs[-1]
            result *= (s @ y) / (y @ (y / self.bend)) / self.bend
        for (s, y), share in zip(self.pairs, reversed(shares), strict=True):
            result += (share - (y @ result) / (s @ y)) * s
        return result

    def _hessian(self) -> Callable[[np.ndarray], np.ndarray]:
        """The Hessian of the model, sigma I - W M^-1 W' (Byrd, Nocedal, Schnabel 1994, (3.4))."""
        S, Y = np.ascontiguousarray(self.pairs.transpose(1, 2, 0))
        sigma = self._scale()
        SY = S.T @ Y
        L = np.tril(SY, -1)
        M = np.block([[sigma * S.T @ S, L], [L.T, -np.diag(np.diag(SY))]])
        W = np.column_stack([sigma * S, Y])
        correction = np.linalg.solve(M, W.T)
        return lambda v: sigma * v - W @ (correction @ v)

    def _constrained(self, point: Point, domain: Domain) -> np.ndarray:
        """The step to the model's minimiser over the domain, by spectral projected gradients (Schmidt et al. 2009)."""
        hessian, candidate, slope = self._hessian(), point.position, point.gradient
        rate = 1.0 / self._scale()
        for _ in range(MODEL_STEPS):
            target = domain.limit(candidate - rate * slope)
            move = target - candidate
            bend = hessian(move)
            decrease, curvature = -(slope @ move), move @ bend
            if not decrease > 1e-10 * abs(point.gradient @ (target - point.position)):
                break
            length = 1.0 if curvature <= decrease else decrease / curvature
            candidate = target if length == 1.0 else candidate + length * move
            slope = slope + length * bend
            rate = (move @ move) / curvature if curvature > 0.0 else rate
        return candidate - point.position


def first_length(first_step: float, gradient: np.ndarray) -> float:
    return first_step / max(float(np.linalg.norm(gradient)), FLAT)


def negligible_decrease(point: Point, precision: float) -> float:
    return precision * max(1.0, abs(point.value))


def straight_step(domain: Domain, position: np.ndarray, step: np.ndarray) -> np.ndarray:
    return domain.limit(position + step) - position if domain.longest < np.inf else step


def is_finite(point: Point) -> bool:
    return bool(np.isfinite(point.value) and np.isfinite(point.gradient).all())


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
    tol, precision, max_iterations, first_step, callback
        As in `minimize_lbfgs`: an iteration is a cycle over all blocks. Gradients of points are those in space.

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
    def __init__(self, blocks: Blocks, precision: float, first_step: float):
        self.blocks, self.precision, self.first_step = blocks, precision, first_step
        self.rates: list[float | None] = [None] * len(blocks)  # of the last step of each block

    def step(self, objective: Objective, point: Point) -> Point | None:
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
        last = self.rates[block]
        rate = first_length(self.first_step, gradient) if last is None else 2.0 * last
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


@dataclass
class Ascent:
    """Where an ascent ended: the variables, and the values at the start and after each iteration, which never fall."""

    position: np.ndarray
    values: list[float] = field(default_factory=list)
    converged: bool = False

    def settled(self, tol: float) -> bool:
        values = self.values
        return len(values) > _WINDOW and values[-1] - values[-1 - _WINDOW] < tol * _WINDOW


def climb(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    method: str,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
) -> Ascent:
    """Maximise a function of an array, which gives value and gradient, by conjugate gradients or L-BFGS.

    The method is "cg" or "lbfgs". Ends where the value rises by less than `tol` an iteration, on average over ten.
    """
    ascent = Ascent(start, [function(start)[0]])

    def negative(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = function(flat.reshape(start.shape))
        return -value, -gradient.ravel()

    def record(intermediate_result: OptimizeResult) -> None:
        ascent.values.append(-float(intermediate_result.fun))
        ascent.position = intermediate_result.x.reshape(start.shape).copy()
        if progress is not None:
            progress(len(ascent.values) - 1, max_iter)
        if ascent.settled(tol):
            ascent.converged = True
            raise StopIteration

    options: dict[str, Any] = {"maxiter": max_iter, "gtol": 0.0}
    if method == "lbfgs":
        method, options = "L-BFGS-B", options | {"maxfun": 100 * max_iter, "ftol": 0.0}
    with warnings.catch_warnings():  # a line search that cannot rise any more ends the ascent, as expected
        warnings.simplefilter("ignore", RuntimeWarning)
        found = minimize(
            negative,
            start.ravel(),
            jac=True,
            method=method,
            callback=record,
            options=options,
        )
    ascent.converged = ascent.converged or found.nit < max_iter
    return ascent
