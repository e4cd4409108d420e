"""The warning of a fit that ended before its solution was as good as `tol` demands, with advice that helps."""

from __future__ import annotations

from math import isnan
from typing import Any

from sklearn.base import is_outlier_detector
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn
from ..engines.training import size_of
from ..machines import Solution


def warn_unless_converged(estimator: Any, solution: Solution, *, explicit: bool = False) -> None:
    """Warn where a solution is not good enough.

    Parameters
    ----------
    estimator : MKLClassifier, MKLRegressor or MKLOneClass
    solution : Solution
    explicit : bool
        Whether it was found on explicit features.
    """
    if solution.converged:
        return
    one_class = explicit and is_outlier_detector(estimator)
    relative = solution.gap / size_of(solution.objective, 1.0 if one_class else 0.0)
    # The default budget is far beyond what rounding leaves to do, so without max_iter it is rounding that ends.
    if 0 <= estimator.max_iter <= solution.steps:
        advice = "raise max_iter"
    elif explicit and estimator.dtype != "float64":
        advice = 'use dtype="float64", lower C, or raise tol'
    else:
        advice = "lower C, scale the data, or raise tol"
    if explicit:
        found = f"{solution.steps} steps with a relative duality gap of {relative:.2g} (tol is {estimator.tol:g})"
    else:
        found = (
            f"{solution.steps} solver steps with a largest KKT violation of {solution.violation:.2g} "
            f"(tol is {estimator.tol:g})"
        )
        if not isnan(relative):  # as it is where a kernel is not positive semidefinite
            found += f", a relative duality gap of {relative:.2g}"
    warn(f"{type(estimator).__name__} stopped after {found}; {advice}", ConvergenceWarning)
