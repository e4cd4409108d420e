"""Minimisation of a smooth function over the simplex {eta >= 0, sum(eta) = 1} by projected gradients.

Each step tries the projected point P(eta - s g), with the step length s of Barzilai and Borwein, and moves along the
segment to it until Armijo's condition holds, so the objective never rises. For a convex function

    g'(eta - e_best),   e_best the corner with the smallest gradient entry,

bounds the distance to the minimum (the gap of Frank and Wolfe); for any function it is zero just at stationary points.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..result import Result

SUFFICIENT = 1e-4  # share of the predicted decrease that Armijo's condition requires
HALVINGS = 60
STEP_RANGE = 1e-12, 1e12


def project_on_simplex(point: np.ndarray, total: float = 1.0) -> np.ndarray:
    """The nearest point with entries of at least 0 that sum to `total`.

    Parameters
    ----------
    point : ndarray of shape (n,)
    total : float, default=1

    Examples
    --------
    >>> import numpy as np
    >>> project_on_simplex(np.array([0.5, 1.5, -3.0]))
    array([0., 1., 0.])
    """
    point = point - point.max()  # adds to every entry alike, and keeps huge ones from swallowing the total
    ordered = np.sort(point)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(point) + 1)
    return np.maximum(point - excess[np.flatnonzero(ordered > excess)[-1]], 0.0)


def minimize_on_simplex(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    tol: float = 1e-6,
    max_steps: int = 1000,
) -> Result:
    """Minimise a smooth function over the simplex.

    Parameters
    ----------
    function : callable
        Gives value and gradient at a point of the simplex.
    start : ndarray of shape (n,)
        Projected onto the simplex first.
    tol : float, default=1e-6
        Stop where the gap is at most ``tol * max(1, |objective|)``. Rounding of the objective ends the search at a gap
        of about 1e-8.
    max_steps : int, default=1000

    Returns
    -------
    Result
        `gap` bounds the distance to the minimum where the function is convex; `multiplier` is the smallest gradient
        entry.

    Examples
    --------
    >>> import numpy as np
    >>> target = np.array([0.2, 0.9, -0.4])
    >>> result = minimize_on_simplex(lambda x: (((x - target) ** 2).sum(), 2 * (x - target)), np.ones(3) / 3, 1e-10)
    >>> np.round(result.solution, 4), result.converged
    (array([0.15, 0.85, 0.  ]), True)
    """
    point = project_on_simplex(np.asarray(start, dtype=np.float64))
    value, gradient = function(point)
    length, steps, stuck = 1.0 / max(np.abs(gradient).max(), STEP_RANGE[0]), 0, False
    gap = gradient @ point - gradient.min()
    while gap > tol * max(1.0, abs(value)) and steps < max_steps and not stuck:
        direction = project_on_simplex(point - length * gradient) - point
        slope = gradient @ direction
        share, stuck = 1.0, True
        for _ in range(HALVINGS):
            trial = point + share * direction
            new_value, new_gradient = function(trial)
            if new_value <= value + SUFFICIENT * share * slope and slope < 0.0:
                stuck = False
                break
            share /= 2.0
        if stuck:  # the resolution of floating point
            break
        moved, turned = trial - point, new_gradient - gradient
        bend = moved @ turned
        length = np.clip(moved @ moved / bend if bend > 0.0 else 2.0 * length, *STEP_RANGE)
        point, value, gradient = trial, new_value, new_gradient
        gap = gradient @ point - gradient.min()
        steps += 1
    reached = gap <= tol * max(1.0, abs(value))
    return Result(
        solution=point,
        objective=float(value),
        gap=float(gap),
        steps=steps,
        converged=bool(reached),
        violation=float(gap),
        multiplier=float(gradient.min()),
    )
