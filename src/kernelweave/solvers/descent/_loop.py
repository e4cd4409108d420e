"""The loop of all descents: points, how they are evaluated, when to stop, and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from .domains import Domain

Function = Callable[[np.ndarray], tuple[float, np.ndarray, Any]]
DECREASE = 1e-4  # Armijo: share of the decrease which the slope promises
FLAT = 1e-200  # gradients below are zero
MOST_TRIALS = 20


class Point(NamedTuple):
    """A position with its value, its gradient, and whatever else the function told about it."""

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
            return Point(position, float(value), self.domain.tangent(position, gradient), detail)


class Iteration(Protocol):
    """What a method of descent does in one iteration."""

    def step(self, objective: Objective, point: Point) -> Point | None:
        """A better point, the same where none was found, None where nothing promises to be better."""

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
        failed, progress = new is point, (point.value - new.value) / max(1.0, abs(new.value))
        point = new
        if callback and callback(steps, point):
            status = "stopped"
        elif progress < tol and not (failed and iteration.retry()):
            status = "converged"
    return Descent(point.position, point.value, point.detail, steps, objective.evaluations, progress, status)


def negligible_decrease(point: Point, precision: float) -> float:
    """Decreases up to this one are lost in the precision of the values."""
    return precision * max(1.0, abs(point.value))


def straight_step(domain: Domain, position: np.ndarray, step: np.ndarray) -> np.ndarray:
    """A tangent step, cut so that it ends in the domain where that limits straight steps."""
    return domain.limit(position + step) - position if domain.longest < np.inf else step


def is_finite(point: Point) -> bool:
    """Whether the function has a value and a gradient there."""
    return bool(np.isfinite(point.value) and np.isfinite(point.gradient).all())
