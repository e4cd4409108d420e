"""Methods with hyper-parameters that a response surface finds: RMKL and RWKL, thesis 2.7 and Figure 2.3.

A point of the search is an ordinary method with an ordinary cell in each fold, so an interrupted search reads the
points that it has measured and continues. ``TrainMKLSVM(d)`` of the figure is `measure` over all folds of a run; its
"average error on validation sets" is taken at the best setting of the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...model_selection.factors import check_factors
from ...model_selection.surface_minimum import minimize_response
from .cells import Cells
from .declaration import Experiment, Method
from .outcome import mean_validation


def search_surface(
    experiment: Experiment,
    method: Method,
    folds: Sequence[int],
    measure: Callable[[Sequence[Method], Sequence[int]], Cells],
) -> Cells:
    """Search the factors of a method over the folds of one run.

    Parameters
    ----------
    experiment : Experiment
    method : Method
        With a `search`.
    folds : sequence of int
    measure : callable
        From methods and folds to the records of each method in each fold.

    Returns
    -------
    dict from (method, fold) to records
        The records of every setting at every point that was tried.
    """
    search: Any = method.search
    kernels = [(name, experiment.kernels[name]) for name in method.kernels]
    factors = check_factors(experiment.estimator(method, kernels), list(search.factors), search.bounds)
    tried: Cells = {(method.name, fold): [] for fold in folds}

    def errors(points: np.ndarray) -> np.ndarray:
        places = [experiment.at(method, factors.parameters(point)) for point in points]
        cells = measure(places, folds)
        for place in places:
            for fold in folds:
                tried[method.name, fold] += cells[place.name, fold]
        scores = [mean_validation(experiment, place, [cells[place.name, fold] for fold in folds]) for place in places]
        if experiment.is_classification:
            return np.array([1.0 - score.max() / 100.0 for score in scores])
        return np.array([score.min() for score in scores])

    trace = minimize_response(
        errors,
        factors.centre,
        low=factors.low,
        high=factors.high,
        delta=search.delta,
        order=search.order,
        tol=search.tol,
        max_iter=search.max_iter,
    )
    if not trace.converged:
        warn(
            f"the response surface of {method.name!r} in experiment {experiment.name!r} stopped after "
            f"max_iter={search.max_iter} points beyond its design, and the point still moves",
            ConvergenceWarning,
        )
    return tried
