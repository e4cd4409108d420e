"""Minimising a smooth function whose every value is costly: limited-memory BFGS, and descent with Armijo's rule.

The function here is J(theta), whose value is a kernel machine solved on K_theta, so evaluations are what counts, and
values are known to the machine's precision only. Both methods keep to a convex set given by its Euclidean projection,
which costs nothing beside an evaluation, and stop at relative progress ``(J_old - J_new) / max(1, |J_new|) < tol``,
which also means something where J is negative or near 0. The end point is the best one, because a step that does not go
down is never taken; steps that promise less than the precision of the values are not tried.

- `minimize_lbfgs`: Nocedal's two-loop recursion; on a convex set the projected quasi-Newton step of Schmidt et al.
  (2009), the minimiser over the set of the quadratic model whose Hessian is the compact form of the same memory.
- `minimize_armijo`: gradient descent with a step length from Armijo's rule, as in thesis section 3.3.

==========  =========================================================
symbol      name
==========  =========================================================
theta, x    Point.position
s, y        changes of position and gradient between two points
sigma       scale of the quadratic model, y'y / s'y
==========  =========================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Function = Callable[[np.ndarray], tuple[float, np.ndarray, Any]]
Projection = Callable[[np.ndarray], np.ndarray]

DECREASE = 1e-4  # Armijo: share of the decrease which the slope promises
STEEPNESS = 0.9  # Wolfe: a step is too short where the slope is still this share of the first one
FLAT = 1e-200  # gradients below are zero
MOST_TRIALS = 20
MODEL_STEPS = 100


class Point(NamedTuple):
    """A position with its value, its gradient, and whatever else the function told about it."""

    position: np.ndarray
    value: float
    gradient: np.ndarray
    detail: Any


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
        What the function told about it beside value and gradient.
    steps : int
        Outer iterations.
    evaluations : int
        How often the function was called.
    progress : float
        Relative progress of the last iteration.
    status : {"converged", "max_iterations", "stopped"}
        "stopped" where the callback asked for it.
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
    start: np.ndarray,
    project: Projection | None = None,
    tol: float = 1e-3,
    precision: float = 1e-12,
    max_iterations: int = 100,
    first_step: float = 1.0,
    memory: int = 10,
    callback: Callable[[int, Point], bool | None] | None = None,
) -> Descent:
    """Minimise a function by limited-memory BFGS, over all of space or over a convex set.

    Parameters
    ----------
    function : callable
        ``function(position) -> (value, gradient, detail)``; the detail is handed back with the point. Positions where
        the value is NaN or infinite are backed out of.
    start : ndarray of shape (n,)
    project : callable, optional
        The Euclidean projection onto a convex set. Every position is in it.
    tol : float, default=1e-3
        Relative progress of an iteration that ends the descent.
    precision : float, default=1e-12
        By how much values may be wrong, relative to ``max(1, |value|)``; well below `tol`.
    max_iterations : int, default=100
    first_step : float, default=1
        Length of the first trial step, when nothing is known of the curvature.
    memory : int, default=10
        Number of steps whose curvature is remembered.
    callback : callable, optional
        ``callback(iteration, point)`` after the start (iteration 0) and each iteration; True ends the descent.

    Examples
    --------
    >>> import numpy as np
    >>> def bowl(x):
    ...     return float(np.sum((x - 2.0) ** 2)), 2.0 * (x - 2.0), None
    >>> minimize_lbfgs(bowl, np.zeros(2)).solution.round(3)
    array([2., 2.])
    >>> minimize_lbfgs(bowl, np.zeros(2), project=lambda x: np.clip(x, 0.0, 1.0)).solution.round(3)
    array([1., 1.])
    """
    return _descend(
        function, start, project, _QuasiNewton(first_step, memory), tol, precision, max_iterations, callback
    )


def minimize_armijo(
    function: Function,
    start: np.ndarray,
    project: Projection | None = None,
    tol: float = 1e-3,
    precision: float = 1e-12,
    max_iterations: int = 100,
    first_step: float = 1.0,
    callback: Callable[[int, Point], bool | None] | None = None,
) -> Descent:
    """Minimise a function by (projected) gradient descent with step lengths from Armijo's rule.

    Parameters are those of `minimize_lbfgs`. Each iteration first tries twice the last step length.

    Examples
    --------
    >>> import numpy as np
    >>> minimize_armijo(lambda x: (float(x @ x), 2.0 * x, None), np.ones(2), tol=1e-9).solution.round(3)
    array([0., 0.])
    """
    return _descend(function, start, project, _Gradient(first_step), tol, precision, max_iterations, callback)


def _descend(function, start, project, rule, tol, precision, max_iterations, callback) -> Descent:
    """The loop that both methods share; `rule` chooses directions."""
    evaluations = 0

    def evaluate(position: np.ndarray) -> Point:
        nonlocal evaluations
        evaluations += 1
        value, gradient, detail = function(position)
        return Point(position, float(value), gradient, detail)

    start = np.array(start, dtype=float)
    point = evaluate(start if project is None else project(start))
    if not np.isfinite(point.value):
        raise ValueError("the function to minimise is not finite at the start")
    status = "stopped" if callback and callback(0, point) else "max_iterations"
    steps, progress = 0, np.inf
    while status == "max_iterations" and steps < max_iterations:
        direction = rule.direction(point, project)
        negligible = precision * max(1.0, abs(point.value))
        if not -(point.gradient @ direction) > negligible:
            progress, status = 0.0, "converged"
            break
        steps += 1
        new = _search(evaluate, point, direction, negligible, rule.longest(project))
        failed, progress = new is point, (point.value - new.value) / max(1.0, abs(new.value))
        if not failed:
            rule.learn(point, new, direction)
            point = new
        if callback and callback(steps, point):
            status = "stopped"
        elif progress < tol and not (failed and rule.forget()):
            status = "converged"
    return Descent(point.position, point.value, point.detail, steps, evaluations, progress, status)


def _search(evaluate, point: Point, direction: np.ndarray, negligible: float, longest: float) -> Point:
    """A point further down along a direction, by the weak Wolfe conditions; the same point where there is none.

    Steps beyond 1 are tried only up to `longest`, and none whose promised decrease is negligible.
    """
    slope = point.gradient @ direction
    low, low_length, low_slope = point, 0.0, slope
    high_length = np.inf
    length = 1.0
    for _ in range(MOST_TRIALS):
        if -slope * length <= negligible:
            break
        trial = evaluate(point.position + length * direction)
        finite = np.isfinite(trial.value) and np.isfinite(trial.gradient).all()
        trial_slope = trial.gradient @ direction if finite else np.nan
        if not finite or not trial.value < point.value + DECREASE * length * slope:
            high_length = length
            step = _cubic(low_length, low.value, low_slope, length, trial.value, trial_slope) if finite else -np.inf
            length = np.clip(step, low_length + 0.1 * (length - low_length), low_length + 0.5 * (length - low_length))
        elif trial_slope < STEEPNESS * slope and length < min(high_length, longest):
            low, low_length, low_slope = trial, length, trial_slope
            length = min(4.0 * length, longest) if high_length == np.inf else 0.5 * (low_length + high_length)
        else:
            return trial
    return low


def _cubic(a, value_a, slope_a, b, value_b, slope_b) -> float:
    """Minimiser of the cubic with these values and slopes at a and b (Nocedal and Wright, (3.59)); -inf without one."""
    d1 = slope_a + slope_b - 3.0 * (value_a - value_b) / (a - b)
    square = d1 * d1 - slope_a * slope_b
    if not square >= 0.0:
        return -np.inf
    d2 = np.sqrt(square)
    bottom = slope_b - slope_a + 2.0 * d2
    return b - (b - a) * (slope_b + d2 - d1) / bottom if bottom != 0.0 else -np.inf


class _Gradient:
    """Directions of steepest descent, of the last step's length doubled."""

    def __init__(self, first_step: float):
        self.first_step = first_step
        self.length = None

    def direction(self, point: Point, project: Projection | None) -> np.ndarray:
        """A step down the gradient, back into the set."""
        if self.length is None:
            self.length = self.first_step / max(np.linalg.norm(point.gradient), FLAT)
        return _projected_step(point.position, -self.length * point.gradient, project)

    def longest(self, project: Projection | None) -> float:
        """Armijo's rule only ever shortens."""
        return 1.0

    def learn(self, old: Point, new: Point, direction: np.ndarray) -> None:
        """The next trial step is twice the length of this one."""
        self.length *= 2.0 * np.linalg.norm(new.position - old.position) / np.linalg.norm(direction)

    def forget(self) -> bool:
        """There is nothing to forget."""
        return False


class _QuasiNewton:
    """Directions from the curvature of the last steps."""

    def __init__(self, first_step: float, memory: int):
        self.first_step = first_step
        self.memory = memory
        self.pairs: list[tuple[np.ndarray, np.ndarray]] = []

    def direction(self, point: Point, project: Projection | None) -> np.ndarray:
        """The step to the minimiser of the quadratic model, within the set."""
        if not self.pairs:
            length = self.first_step / max(np.linalg.norm(point.gradient), FLAT)
            return _projected_step(point.position, -length * point.gradient, project)
        if project is None:
            return -self._inverse(point.gradient)
        return self._constrained(point, project)

    def longest(self, project: Projection | None) -> float:
        """A step may be stretched where no set limits it."""
        return np.inf if project is None else 1.0

    def learn(self, old: Point, new: Point, direction: np.ndarray) -> None:
        """Remember a step, unless the function curves down along it."""
        s, y = new.position - old.position, new.gradient - old.gradient
        if s @ y > 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
            self.pairs = [*self.pairs, (s, y)][-self.memory :]

    def forget(self) -> bool:
        """Drop the memory; False where it is empty, so that trying again would change nothing."""
        if not self.pairs:
            return False
        self.first_step = np.linalg.norm(self.pairs[-1][0])
        self.pairs = []
        return True

    def _scale(self) -> float:
        s, y = self.pairs[-1]
        return (y @ y) / (s @ y)

    def _inverse(self, gradient: np.ndarray) -> np.ndarray:
        """The inverse Hessian of the model times a vector, by the two-loop recursion."""
        result = gradient.copy()
        shares = []
        for s, y in reversed(self.pairs):
            share = (s @ result) / (s @ y)
            result -= share * y
            shares.append(share)
        result /= self._scale()
        for (s, y), share in zip(self.pairs, reversed(shares), strict=True):
            result += (share - (y @ result) / (s @ y)) * s
        return result

    def _hessian(self) -> Callable[[np.ndarray], np.ndarray]:
        """The Hessian of the model, sigma I - W M^-1 W' (Byrd, Nocedal, Schnabel 1994, (3.4))."""
        S, Y = (np.column_stack(part) for part in zip(*self.pairs, strict=True))
        sigma = self._scale()
        SY = S.T @ Y
        L = np.tril(SY, -1)
        M = np.block([[sigma * S.T @ S, L], [L.T, -np.diag(np.diag(SY))]])
        W = np.column_stack([sigma * S, Y])
        correction = np.linalg.solve(M, W.T)
        return lambda v: sigma * v - W @ (correction @ v)

    def _constrained(self, point: Point, project: Projection) -> np.ndarray:
        """The step to the model's minimiser over the set, by spectral projected gradients (Schmidt et al. 2009)."""
        hessian, candidate, slope = self._hessian(), point.position, point.gradient
        rate = 1.0 / self._scale()
        for _ in range(MODEL_STEPS):
            target = project(candidate - rate * slope)
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


def _projected_step(position: np.ndarray, step: np.ndarray, project: Projection | None) -> np.ndarray:
    return step if project is None else project(position + step) - position
