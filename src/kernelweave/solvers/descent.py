"""Minimising a smooth function whose every value is costly: limited-memory BFGS, and descent with Armijo's rule.

The function here is J(theta), whose value is a kernel machine solved on K_theta, so evaluations are what counts, and
values are known to the machine's precision only. Both methods keep to a domain (see `domains`), which costs nothing
beside an evaluation, and stop at relative progress ``(J_old - J_new) / max(1, |J_new|) < tol``, which makes sense also
where J is negative or near 0. The end point is the best one, because a step that does not go down is never taken; steps
whose slope predicts a decrease below the precision of the values are not tried.

- `minimize_lbfgs`: Nocedal's two-loop recursion. On a convex set the projected quasi-Newton step of Schmidt et al.
  (2009), the minimiser over the set of the quadratic model whose Hessian is the compact form of the same memory. On
  manifolds the memory is projected from tangent space to tangent space (Absil, Mahony and Sepulchre 2008, section 8.1).
- `minimize_armijo`: gradient descent with a step length from Armijo's rule, as in section 3.3 of
  the thesis (Gönen 2010, PhD thesis, Boğaziçi University).

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
from typing import Any, NamedTuple, Protocol

import numpy as np

from ._line_search import Diagonal, Gradient, LineSearch, QuasiNewton
from .domains import Domain, Space

Function = Callable[[np.ndarray], tuple[float, np.ndarray, Any]]
EVERYWHERE = Space()


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
    start: np.ndarray,
    domain: Domain = EVERYWHERE,
    tol: float = 1e-3,
    precision: float = 1e-12,
    max_iterations: int = 100,
    first_step: float = 1.0,
    memory: int = 6,
    callback: Callback | None = None,
    diagonal: Diagonal | None = None,
    noise: float = 0.0,
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
    diagonal : callable, optional
        ``diagonal(steps, point, last)`` gives an estimate of the diagonal of the Hessian before each step, all
        positive: a new one, or the last (None at first). Only without a domain; `first_step` is not used then.
    noise : float, default=0
        How far values scatter, relative to ``max(1, |value|)``, where gradients are better than that: where two values
        differ by less, slopes decide which point is better, and the end is the last point.

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
    search = LineSearch(QuasiNewton(first_step, memory, diagonal), domain, precision, noise)
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
    search = LineSearch(Gradient(first_step), domain, precision)
    return descend(Objective(function, domain), _entered(start, domain), search, tol, max_iterations, callback)


def _entered(start: np.ndarray, domain: Domain) -> np.ndarray:
    position = np.array(start, dtype=float)
    return position if domain.everywhere else domain.enter(position)


class Objective:
    """A function whose gradients are taken within a domain, and whose evaluations are counted.

    Parameters
    ----------
    function : callable
        ``function(position) -> (value, gradient, detail)`` with the gradient in space.
    domain : Domain
    """

    def __init__(self, function: Function, domain: Domain):
        self.function = function
        self.domain = domain
        self.evaluations = 0

    def __call__(self, position: np.ndarray) -> Point:
        """The point at a position."""
        self.evaluations += 1
        value, gradient, detail = self.function(position)
        with np.errstate(invalid="ignore", over="ignore"):  # infinite gradients are for the searches to refuse
            if not self.domain.everywhere:
                gradient = self.domain.tangent(position, gradient)
            return Point(position, float(value), gradient, detail)


class Iteration(Protocol):
    """What a method of descent does in one iteration."""

    def step(self, objective: Objective, point: Point) -> Point | None:
        """A better point, the same where none was found, None where no step can be better."""

    def retry(self) -> bool:
        """After a step that found nothing: whether another one would be different."""


def descend(
    objective: Objective,
    start: np.ndarray,
    iteration: Iteration,
    tol: float,
    max_iterations: int,
    callback: Callback | None,
) -> Descent:
    """Iterate from a position in the domain until an iteration's relative progress is below `tol`."""
    point = objective(start)
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
