"""Ascent of a smooth function by SciPy's gradient methods, with a record of every iteration."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import OptimizeResult, minimize

Progress = Callable[[int, int], None]

# Progress is judged over so many iterations, since single steps vary much.
_WINDOW = 10


@dataclass
class Ascent:
    """Where an ascent ended.

    Attributes
    ----------
    position : ndarray
        The variables: W, or the landmarks.
    values : list of float
        The criterion's value at the start and after each iteration; never falls.
    converged : bool
    """

    position: np.ndarray
    values: list[float] = field(default_factory=list)
    converged: bool = False

    def settled(self, tol: float) -> bool:
        """Whether the value rose by less than `tol` an iteration over the last few."""
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
    """Maximise a function of an array with SciPy's conjugate gradients or L-BFGS.

    Parameters
    ----------
    function : callable
        From an array like `start` to a value and its gradient.
    start : ndarray
    method : {"cg", "lbfgs"}
    max_iter : int
    tol : float
        Stop where the value rises by less an iteration, on average over ten.
    progress : callable, optional
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

    if method == "cg":
        options = {"maxiter": max_iter, "gtol": 0.0}
    else:
        options = {"maxiter": max_iter, "maxfun": 100 * max_iter, "gtol": 0.0, "ftol": 0.0}
    with warnings.catch_warnings():  # a line search that cannot rise any more ends the ascent; that is no news
        warnings.simplefilter("ignore", RuntimeWarning)
        found = minimize(
            negative,
            start.ravel(),
            jac=True,
            method={"cg": "CG", "lbfgs": "L-BFGS-B"}[method],
            callback=record,
            options=options,
        )
    ascent.converged = ascent.converged or found.nit < max_iter
    return ascent
