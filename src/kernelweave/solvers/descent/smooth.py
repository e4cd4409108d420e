"""Minimising a smooth function whose every value is costly: limited-memory BFGS, and descent with Armijo's rule.

The function here is J(theta), whose value is a kernel machine solved on K_theta, so evaluations are what counts, and
values are known to the machine's precision only. Both methods keep to a domain (see `domains`), which costs nothing
beside an evaluation, and stop at relative progress ``(J_old - J_new) / max(1, |J_new|) < tol``, which also means
something where J is negative or near 0. The end point is the best one, because a step that does not go down is never
taken; steps that promise less than the precision of the values are not tried.

- `minimize_lbfgs`: Nocedal's two-loop recursion. On a convex set the projected quasi-Newton step of Schmidt et al.
  (2009), the minimiser over the set of the quadratic model whose Hessian is the compact form of the same memory. On
  manifolds the memory is projected from tangent space to tangent space (Absil, Mahony and Sepulchre 2008, section 8.1).
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

import numpy as np

from ._directions import Gradient, QuasiNewton
from ._loop import (
    DECREASE,
    MOST_TRIALS,
    Callback,
    Descent,
    Function,
    Objective,
    Point,
    descend,
    is_finite,
    negligible_decrease,
)
from .domains import Domain, Space

STEEPNESS = 0.9  # Wolfe: a step is too short where the slope is still this share of the first one
EVERYWHERE = Space()


def minimize_lbfgs(
    function: Function,
    start: np.ndarray,
    domain: Domain = EVERYWHERE,
    tol: float = 1e-3,
    precision: float = 1e-12,
    max_iterations: int = 100,
    first_step: float = 1.0,
    memory: int = 6,
    callback: Callback | None = None,
) -> Descent:
    """Minimise a function by limited-memory BFGS, over all of space or within a domain.

    Parameters
    ----------
    function : callable
        ``function(position) -> (value, gradient, detail)``; the detail is handed back with the point. The
        gradient is the one in space. Positions where the value is NaN or infinite are backed out of.
    start : ndarray of shape (n,)
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
    search = _LineSearch(QuasiNewton(first_step, memory), domain, precision)
    return descend(Objective(function, domain), _entered(start, domain), search, tol, max_iterations, callback)


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
    search = _LineSearch(Gradient(first_step), domain, precision)
    return descend(Objective(function, domain), _entered(start, domain), search, tol, max_iterations, callback)


class _LineSearch:
    """An iteration: a direction by a rule, and a search along it by the weak Wolfe conditions."""

    def __init__(self, rule: Gradient | QuasiNewton, domain: Domain, precision: float):
        self.rule = rule
        self.domain = domain
        self.precision = precision
        self.longest = min(rule.longest, domain.longest)

    def step(self, objective: Objective, point: Point) -> Point | None:
        """A point further down along the rule's direction."""
        direction = self.rule.direction(point, self.domain)
        negligible = negligible_decrease(point, self.precision)
        if not -(point.gradient @ direction) > negligible:
            return None
        new = self._search(objective, point, direction, negligible)
        if new is not point:
            self.rule.learn(point, new, direction, self.domain)
        return new

    def retry(self) -> bool:
        """Another step is different where there was a memory to forget."""
        return self.rule.forget()

    def _search(self, objective: Objective, point: Point, direction: np.ndarray, negligible: float) -> Point:
        """A point further down that meets the Wolfe conditions, or just lower; the same point where there is none.

        Steps beyond 1 are tried only up to `longest`, and none whose promised decrease is negligible.
        """
        slope = point.gradient @ direction
        low, low_length, low_slope = point, 0.0, slope
        high_length = np.inf
        length = 1.0
        for _ in range(MOST_TRIALS):
            if -slope * length <= negligible:
                break
            position, velocity = self.domain.move(point.position, direction, length)
            trial = objective(position)
            finite = is_finite(trial)
            trial_slope = trial.gradient @ velocity if finite else np.nan
            if not finite or not trial.value < point.value + DECREASE * length * slope:
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


def _cubic(a, value_a, slope_a, b, value_b, slope_b) -> float:
    """Minimiser of the cubic with these values and slopes at a and b (Nocedal and Wright, (3.59)); -inf without one."""
    d1 = slope_a + slope_b - 3.0 * (value_a - value_b) / (a - b)
    square = d1 * d1 - slope_a * slope_b
    if not square >= 0.0:
        return -np.inf
    d2 = np.sqrt(square)
    bottom = slope_b - slope_a + 2.0 * d2
    return b - (b - a) * (slope_b + d2 - d1) / bottom if bottom != 0.0 else -np.inf


def _entered(start: np.ndarray, domain: Domain) -> np.ndarray:
    return domain.enter(np.array(start, dtype=float))
