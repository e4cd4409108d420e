"""Minimisation over x >= 0 of smooth functions that do not change when x is multiplied by a positive number.

Cosines and ratios of kernels are such functions of the weights. Scale costs nothing, so bounds suffice (L-BFGS-B) and
the solution is scaled to sum 1 at the end. There g'x = 0, and -min(g) is zero just at stationary points.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from ..result import Result


def minimize_scale_free(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    tol: float = 1e-5,
    max_steps: int = 10_000,
) -> Result:
    """Minimise a function f with f(s x) = f(x) for s > 0 over x >= 0, sum(x) = 1.

    Parameters
    ----------
    function : callable
        Gives value and gradient at x >= 0, x != 0.
    start : ndarray of shape (n,)
        At least 0, one entry positive.
    tol : float, default=1e-5
        Converged where ``-min(gradient) <= tol * max(1, |objective|)`` at sum 1.
    max_steps : int, default=10000

    Returns
    -------
    Result
        `violation`, also as `gap`, is ``-min(gradient)``. It bounds the distance to the minimum only where f is convex
        on the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> def ratio(x):  # |x| / (x_1 + 2 x_2)
    ...     size, weight = np.linalg.norm(x), np.array([1.0, 2.0])
    ...     return size / (weight @ x), x / size / (weight @ x) - size * weight / (weight @ x) ** 2
    >>> np.round(minimize_scale_free(ratio, np.ones(2)).solution, 4)
    array([0.3333, 0.6667])
    """
    size = len(start)
    answer = minimize(
        function,
        start * (size / start.sum()),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * size,
        options={"maxiter": max_steps, "maxfun": 10 * max_steps, "ftol": 1e-15, "gtol": 0.01 * tol / size},
    )
    point = answer.x / answer.x.sum()
    value, gradient = function(point)
    violation = float(max(0.0, -gradient.min()))
    return Result(
        solution=point,
        objective=float(value),
        gap=violation,
        steps=int(answer.nit),
        converged=bool(violation <= tol * max(1.0, abs(value))),
        violation=violation,
        multiplier=0.0,
    )
