"""`minimize_response`: fit a response surface, measure at its minimum, add the point, fit again (thesis Figure 2.3).

====================  ============================================================
Figure 2.3            here
====================  ============================================================
lines 1-11            `koshal_design`
lines 12-16           ``measure(design)``, all points at once
lines 17-27           the loop of `minimize_response`
ResponseSurface       `fit_surface` and `ResponseSurface.minimum`, in a box
epsilon               tol
====================  ============================================================

The figure is safeguarded: the surface is minimised inside a box, for any curvature; no point is measured twice;
a surface is flat in directions that its points do not determine. Line 20 must read ``10^ld(t)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .quadratic_surface import ResponseSurface, fit_surface, koshal_design

_DECIMALS = 6  # of the logarithms; points that agree so far are the same point


@dataclass(frozen=True)
class ResponseTrace:
    """What a search has measured.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_factors)
        In the order of measurement: the design, then the path.
    responses : ndarray of shape (n_points,)
    predicted : ndarray of shape (n_steps,)
        What the surface of its time predicted for each point of the path.
    surface : ResponseSurface
        The last one fitted.
    converged : bool
        Whether the point stopped moving.
    """

    points: np.ndarray
    responses: np.ndarray
    predicted: np.ndarray
    surface: ResponseSurface
    converged: bool


def minimize_response(
    measure: Callable[[np.ndarray], np.ndarray],
    centre: np.ndarray,
    *,
    low: np.ndarray,
    high: np.ndarray,
    delta: float = 0.3,
    order: int = 2,
    tol: float = 0.02,
    max_iter: int = 20,
) -> ResponseTrace:
    """Minimise a noisy, expensive response over a box by response surfaces.

    Order 2 measures at the minimum of a quadratic surface until that minimum moves by no more than `tol`, or is a point
    that was measured before. Order 1 walks from the best point against the gradient of a plane through the nearest
    points, by `delta`, and halves the step where it finds nothing better, until the step is no more than `tol`.

    Parameters
    ----------
    measure : callable
        Responses of several points, of shape (n_points, n_factors) to (n_points,); NaN where a measurement fails. Where
        the whole design fails there is no surface, and the search ends.
    centre, low, high : ndarray of shape (n_factors,)
        Where the design stands, and the box.
    delta, order, tol, max_iter
        As in `ResponseSurfaceSearchCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.model_selection.surface_minimum import minimize_response
    >>> def response(points):
    ...     return (points[:, 0] - 0.5) ** 2 + (points[:, 1] + 0.2) ** 2
    >>> trace = minimize_response(response, np.zeros(2), low=-np.ones(2), high=np.ones(2))
    >>> trace.points[np.argmin(trace.responses)], len(trace.points)
    (array([ 0.5, -0.2]), 7)
    """
    points = _unique(koshal_design(centre, delta, low=low, high=high, order=order))
    responses = np.asarray(measure(points), dtype=float)
    if not np.isfinite(responses).any():
        unknown = ResponseSurface(
            np.nan, np.zeros(len(centre)), quadratic=np.zeros((len(centre),) * 2), low=low, high=high
        )
        return ResponseTrace(points, responses, np.empty(0), unknown, converged=True)
    predicted: list[float] = []
    step, last, converged = delta, None, False
    while True:
        best = points[np.nanargmin(responses)]
        near = _nearest(points, best, order)
        surface = fit_surface(
            points[near], responses[near], low=low, high=high, order=order, centre=centre, delta=delta
        )
        if order == 2:
            proposal = _rounded(surface, surface.minimum(best))
            converged = _is_known(proposal, points) or (
                last is not None and bool(np.linalg.norm(proposal - last) <= tol)
            )
        else:
            proposal, step = _downhill(surface, best, step, points, tol)
            converged = step <= tol
        if converged or len(predicted) == max_iter:
            break
        response = float(measure(proposal[None])[0])
        if not response < np.nanmin(responses):
            step /= 2.0
        predicted.append(float(surface.predict(proposal[None])[0]))
        points, responses, last = np.vstack([points, proposal]), np.append(responses, response), proposal
    return ResponseTrace(points, responses, np.array(predicted), surface, bool(converged))


def _downhill(
    surface: ResponseSurface, best: np.ndarray, step: float, points: np.ndarray, tol: float
) -> tuple[np.ndarray, float]:
    """The next point against the gradient inside the box, and the step that leads there: 0 where none does."""
    gradient = surface.gradient(best)
    leaves = ((gradient > 0) & (best <= surface.low)) | ((gradient < 0) & (best >= surface.high))
    direction = np.where(leaves, 0.0, -gradient)
    length = np.linalg.norm(direction)
    while length > 0 and step > tol:
        proposal = _rounded(surface, best + step * direction / length)
        if not _is_known(proposal, points):
            return proposal, step
        step /= 2.0
    return best, 0.0


def _nearest(points: np.ndarray, best: np.ndarray, order: int) -> np.ndarray:
    """The points that a surface is fitted to: all for a quadratic; for a plane, which fits locally, those nearby."""
    if order == 2:
        return np.arange(len(points))
    n_near = 2 * points.shape[1] + 1
    return np.sort(np.argsort(np.linalg.norm(points - best, axis=1), kind="stable")[:n_near])


def _rounded(surface: ResponseSurface, point: np.ndarray) -> np.ndarray:
    """A point rounded to the digits that count, in the box."""
    return np.clip(np.round(point, _DECIMALS), surface.low, surface.high)


def _is_known(point: np.ndarray, points: np.ndarray) -> bool:
    return bool((np.abs(points - point).max(axis=1) < 10.0**-_DECIMALS).any())


def _unique(points: np.ndarray) -> np.ndarray:
    """Each point once, in order; points that agree in the digits that count are the same."""
    _, first = np.unique(np.round(points, _DECIMALS), axis=0, return_index=True)
    return points[np.sort(first)]
