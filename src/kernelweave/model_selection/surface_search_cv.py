"""`ResponseSurfaceSearchCV`: choose positive parameters by response surfaces on the cross-validated error.

In Gönen's PhD thesis (2010, section 2.7) and in Gönen and Alpaydın (2011) regularised MKL searches the costs d_m of the
kernels this way (``combiner__costs__<name>``), RWKL the weights themselves (``combiner__weights__<name>``). The cost of
one kernel can stay fixed, and C may be a factor as well: multiplying all d_m by s and C by s^2 changes nothing.

====================  ====================================================================
thesis                here
====================  ====================================================================
d_2, ..., d_P         factors
Delta                 delta, 0.3 in section 5.2.2: levels of 1/2 and 2
ve(t)                 response: 1 - accuracy, or the negated score of another scoring
====================  ====================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import _safe_indexing, indexable, resample
from sklearn.utils.validation import _num_samples

from .._warnings import warn
from ..estimators.kernel_lists.sharing import SharedFoldKernels
from ..estimators.progress import progress_bar
from ..validation import Constraints, Flag, Number, Seed, Whole, check_parameters
from ..validation.inputs import check_row_labels, unchanged_on_failure
from .factors import Factors, check_factors
from .surface_minimum import minimize_response

_ACCURACIES = ("accuracy", "balanced_accuracy")


class ResponseSurfaceSearchCV(BaseSearchCV):
    """Search positive parameters by fitting response surfaces to the cross-validated error.

    Minimises the mean validation error over log10 of the factors (thesis (Gönen 2010), 2.7; Gönen and Alpaydın 2011):
    measures it on a Koshal design around the estimator's current values, fits a quadratic, measures at the minimum of
    the quadratic, adds that point and fits again, until the minimum stops moving. The result is the best point that was
    measured. It needs far fewer fits than a grid where the error is smooth, and ends in one of its local minima where
    it is not.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn estimator.
    factors : list of str, or mapping from str to (low, high) or (low, centre, high)
        Names of the parameters to search, such as ``"C"``, ``"combiner__costs__fac"`` or ``"kernels__kar__scale"``, and
        where given their range. The centre is the estimator's value, or 1 where it has none that is a positive number
        (in a range that leaves this out, the geometric mean of the range).
    delta : float
        Distance of the design's points from the centre in log10; 0.3 means half and twice the centre.
    order : {1, 2}
        2 fits a quadratic, from (k + 1)(k + 2)/2 points for k factors. 1 fits a plane to k + 1 points and then goes
        downhill by steps of `delta`, for many factors.
    subsample : float, int or None
        Share or number of the samples of each training part to fit candidates to, stratified for classifiers; the
        final model is fitted to everything.
    bounds : (low, high)
        Box of factors without a range, as multiples of their centre.
    tol : float
        The search has converged where the point moves by no more than this in log10.
    max_iter : int
        Limit on the number of points after the design.
    scoring : str, callable, list, tuple, dict or None
        As in `GridSearchCV`; with several metrics, `refit` names the one to optimise.
    cv : int, splitter, iterable or None
        As in `GridSearchCV`; the folds are drawn once.
    n_jobs : int or None
        Parallel fits, by joblib's current backend; the result does not depend on it.
    refit : bool, str or callable
        As in `GridSearchCV`.
    share_kernels : bool
        Whether to compute the base kernels of an estimator of this package once per fold and look them up in every
        candidate. False saves memory.
    random_state : int, RandomState or None
        For `subsample`.
    verbose : int
        Whether to show progress, and above 1 each fit.
    pre_dispatch, error_score, return_train_score
        As in `GridSearchCV`. A point after the design that fails in every fold ends the search with a warning.

    Attributes
    ----------
    cv_results_, best_estimator_, best_params_, best_score_, best_index_, scorer_, n_splits_, refit_time_, multimetric_
        As in `GridSearchCV`; ``cv_results_["iter"]`` is 0 for the design.
    design_ : DataFrame
        log10 of the factors and the response of each measured point, in order.
    path_ : DataFrame
        The points after the design, with the response that the surface predicted and the one that was measured.
    surface_ : ResponseSurface
        The last surface, in log10 of the factors.
    n_iter_ : int
        Number of surfaces fitted, one more than the points after the design.

    Notes
    -----
    The response is 1 - score for accuracies and -score for other scorings. Few samples or folds make it rough, and a
    surface over a narrow design follows the roughness: repeat the folds, or take a larger `delta`.

    Memory: with `share_kernels`, a matrix of n_training x n_samples for each kernel and fold (a `MemoryWarning` names
    where that is too much).

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import FixedWeights
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> from kernelweave.model_selection import ResponseSurfaceSearchCV
    >>> X, y = datasets.make_gauss(4, 200, random_state=0)
    >>> model = MKLClassifier([Linear(), Gaussian(scale=1.0)], FixedWeights({"linear": 1.0, "gaussian": 1.0}))
    >>> search = ResponseSurfaceSearchCV(model, ["combiner__weights__gaussian", "C"], cv=3).fit(X, y)
    >>> len(search.design_) - len(search.path_)
    6
    >>> bool(search.best_score_ >= search.cv_results_["mean_test_score"][0])
    True
    """

    # Of the other parameters scikit-learn takes care, and `check_factors` of factors and bounds.
    _constraints = Constraints(
        delta=Number(above=0),
        order=Whole(1, 2),
        subsample=Number(above=0, below=1) | Whole(2) | None,
        tol=Number(above=0),
        max_iter=Whole(1),
        share_kernels=Flag(),
        random_state=Seed(),
    )

    def __init__(
        self,
        estimator: Any,
        factors: Any,
        *,
        delta: float = 0.3,
        order: int = 2,
        subsample: float | int | None = None,
        bounds: tuple[float, float] = (0.1, 10.0),
        tol: float = 0.02,
        max_iter: int = 20,
        scoring: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        share_kernels: bool = True,
        random_state: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: float | str = np.nan,
        return_train_score: bool = False,
    ):
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.factors = factors
        self.delta = delta
        self.order = order
        self.subsample = subsample
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.share_kernels = share_kernels
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> ResponseSurfaceSearchCV:
        """Search, then fit the estimator at the best point to all samples.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,), optional
        **params : dict
            Parameters of the estimator's `fit`, the scorer and the splitter, as in `GridSearchCV`.

        Returns
        -------
        self
        """
        check_parameters(self)
        check_row_labels(X, y=y, **params)
        with unchanged_on_failure(self), self._during_fit(X, y, params):
            return super().fit(X, y, **params)

    @contextmanager
    def _during_fit(self, X: Any, y: Any, params: dict[str, Any]) -> Iterator[None]:
        """Keep what `_run_search` needs beside the callback that it is given."""
        self._data = (*indexable(X, y), params)
        self._extra: dict[str, Any] = {}
        try:
            yield
        finally:
            del self._data, self._extra

    def _run_search(self, evaluate_candidates: Any) -> None:
        X, y, params = self._data
        routed = self._get_routed_params_for_fit(params)
        factors = check_factors(self.estimator, self.factors, self.bounds)
        # Only newer versions of scikit-learn keep the splitter that they have made of cv.
        splitter = getattr(self, "_checked_cv_orig", None) or check_cv(
            self.cv, y, classifier=is_classifier(self.estimator)
        )
        splits = self._subsampled(list(splitter.split(X, y, **routed.splitter.split)), y)
        self._extra = self._shared_kernels(X, y, splits, routed.estimator.fit) if self.share_kernels else {}
        with progress_bar(type(self).__name__) if self.verbose else nullcontext() as progress:
            measure = _Measure(self, evaluate_candidates, factors, _FixedSplits(splits), progress)
            trace = minimize_response(
                measure,
                factors.centre,
                low=factors.low,
                high=factors.high,
                delta=self.delta,
                order=self.order,
                tol=self.tol,
                max_iter=self.max_iter,
            )
        if not trace.converged:
            warn(
                f"the response-surface search stopped after max_iter={self.max_iter} points beyond its design, and the "
                f"point still moves by more than tol={self.tol:g}; raise one of them",
                ConvergenceWarning,
            )
        n_steps = len(trace.predicted)
        self.n_iter_ = n_steps + 1
        self.surface_ = trace.surface
        self.design_ = pd.DataFrame(trace.points, columns=factors.names).assign(response=trace.responses)
        path = self.design_.iloc[len(self.design_) - n_steps :].reset_index(drop=True)
        path.insert(len(factors.names), "predicted", trace.predicted)
        self.path_ = path

    def _subsampled(self, splits: list, y: Any) -> list:
        """The folds with a random part of each training part, in the order of the samples."""
        if self.subsample is None:
            return splits
        rng = check_parameters(self).random_state
        parts = []
        for train, test in splits:
            train = np.asarray(train)
            size = self.subsample if isinstance(self.subsample, Integral) else round(self.subsample * len(train))
            if size < len(train):
                strata = _safe_indexing(y, train) if is_classifier(self.estimator) else None
                part = resample(train, replace=False, n_samples=max(2, size), stratify=strata, random_state=rng)
                train = np.sort(part)
            parts.append((train, test))
        return parts

    def _shared_kernels(self, X: Any, y: Any, splits: list, fit_params: Mapping[str, Any]) -> dict[str, Any]:
        """Further parameters of each candidate, by which its kernels are looked up; none where that cannot be."""
        shared = SharedFoldKernels(self.estimator, self.factors)
        if not shared.possible:
            return {}
        shared.warn_of_memory(_num_samples(X), len(splits))
        try:
            # In threads: another pool of processes would end the one that waits for the candidates.
            folds = Parallel(n_jobs=self.n_jobs, backend="threading")(
                delayed(shared.of_fold)(X, y, train, test, fit_params) for train, test in splits
            )
        except Exception:  # the fits raise any error of the data or a kernel, as error_score requires
            return {}
        return shared.parameters(folds)

    def _format_results(self, candidate_params, n_splits, out, more_results=None):
        """As in `GridSearchCV`, without the parameters that share kernels."""
        chosen = [{name: params[name] for name in params if name not in self._extra} for params in candidate_params]
        return super()._format_results(chosen, n_splits, out, more_results)


class _Measure:
    """Responses of points: cross-validation, as scikit-learn's searches do it."""

    def __init__(self, search: ResponseSurfaceSearchCV, evaluate: Any, factors: Factors, cv: Any, progress: Any):
        self.search, self.evaluate, self.factors, self.cv, self.progress = search, evaluate, factors, cv, progress
        self.n_calls, self.n_points, self.n_most = 0, 0, search.max_iter

    def __call__(self, points: np.ndarray) -> np.ndarray:
        candidates = [self.factors.parameters(point) | self.search._extra for point in points]
        try:
            results = self.evaluate(candidates, self.cv, more_results={"iter": [self.n_calls] * len(points)})
        except ValueError as error:
            # scikit-learn gives up where all fits of a call fail: right for the design, too hard on one more point.
            if self.n_calls == 0 or self.search.error_score == "raise":
                raise
            warn(f"the search ends at a point that failed: {error}", FitFailedWarning)
            return np.full(len(points), np.nan)
        self.n_most += len(points) if self.n_calls == 0 else 0
        self.n_calls += 1
        self.n_points += len(points)
        if self.progress is not None:
            self.progress(self.n_points, self.n_most)
        return self._responses(results)[-len(points) :]

    def _responses(self, results: Mapping[str, Sequence[float]]) -> np.ndarray:
        search = self.search
        metric = search.refit if isinstance(search.refit, str) else "score"
        if f"mean_test_{metric}" not in results:
            raise ValueError("with several metrics in scoring, refit must be the name of the one to optimise")
        scoring = search.scoring if metric == "score" else metric
        is_accuracy = scoring in _ACCURACIES if isinstance(scoring, str) else is_classifier(search.estimator)
        best = 1.0 if is_accuracy and not callable(scoring) else 0.0
        return best - np.asarray(results[f"mean_test_{metric}"], dtype=float)


class _FixedSplits:
    """A splitter that always returns the same folds."""

    def __init__(self, splits: list):
        self.splits = splits

    def split(self, X: Any = None, y: Any = None, **_: Any) -> Iterator:
        """The folds."""
        return iter(self.splits)
