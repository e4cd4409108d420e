"""Response surfaces over positive parameters: their design and minimum, and the search `ResponseSurfaceSearchCV`.

A surface is a low-order polynomial fitted to measured responses (thesis section 2.7.1, after Myers and Montgomery,
"Response Surface Methodology", 2002), in decimal logarithms of the factors. `minimize_response` fits one, measures at
its minimum, adds the point and fits again (thesis Figure 2.3). The figure is safeguarded: the surface is minimised
inside a box, for any curvature; no point is measured twice; a surface is flat in directions that its points do not
determine. Line 20 must read ``10^ld(t)``.

====================  ==============================================================================
thesis                here
====================  ==============================================================================
beta_0                `ResponseSurface.intercept`
beta_m                `ResponseSurface.linear`
beta_mh               `ResponseSurface.quadratic`, symmetric: beta_mh / 2 off the diagonal
LD, columns           points, rows: `koshal_design`
Figure 2.3, 1-11      `koshal_design`
Figure 2.3, 12-16     ``measure(design)``, all points at once
Figure 2.3, 17-27     the loop of `minimize_response`
ResponseSurface       `fit_surface` and `ResponseSurface.minimum`, in a box
d_2, ..., d_P         factors
Delta                 delta, 0.3 in section 5.2.2: levels of 1/2 and 2
epsilon               tol
ve(t)                 response: 1 - accuracy, or the negated score of another scoring
====================  ==============================================================================

In the thesis (section 2.7) and in Gönen and Alpaydın (2011) regularised MKL searches the costs d_m of the kernels this
way (``combiner__costs__<name>``), RWKL the weights (``combiner__weights__<name>``). Multiplying all d_m by s and C by
s^2 changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass
from itertools import combinations, pairwise, product
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.optimize import minimize
from scipy.stats import qmc
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import _safe_indexing, indexable, resample
from sklearn.utils.validation import _num_samples

from .._warnings import warn
from ..estimators.progress import progress_bar
from ..estimators.reuse import SharedFoldKernels
from ..validation import Constraints, Flag, Number, Seed, Whole, blamed_on, check_parameters, shown
from ..validation.inputs import check_row_labels, unchanged_on_failure

# All 3^k faces of the box are tried up to this many factors; beyond it, descents from many starts.
_MOST_FACTORS_BY_FACES = 7
_STARTS = 128
# Singular values below this share of the largest count as zero: directions that the points do not determine.
_RANK_TOLERANCE = 1e-8
# Coefficients and differences below this share of the largest response are rounding.
_ROUNDING = 1e-10
_DECIMALS = 6  # of the logarithms; points that agree so far are the same point
_ACCURACIES = ("accuracy", "balanced_accuracy")


@dataclass(frozen=True)
class ResponseSurface:
    """A quadratic ``r(x) = intercept + linear @ x + x @ quadratic @ x`` over a box, thesis (Gönen 2010), 2.7.1.

    Attributes
    ----------
    intercept : float
    linear : ndarray of shape (n_factors,)
    quadratic : ndarray of shape (n_factors, n_factors)
        Symmetric; zero for a first-order surface.
    low, high : ndarray of shape (n_factors,)
        The box in which the surface is trusted.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.model_selection import ResponseSurface
    >>> low, high = np.array([-1.0]), np.array([1.0])
    >>> bowl = ResponseSurface(1.0, np.array([-1.0]), quadratic=np.array([[1.0]]), low=low, high=high)
    >>> bowl.minimum(), bowl.predict([[0.5]])
    (array([0.5]), array([0.75]))
    """

    intercept: float
    linear: np.ndarray
    _: KW_ONLY
    quadratic: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def predict(self, points: Any) -> np.ndarray:
        """The response at points, of shape (n_points,).

        Parameters
        ----------
        points : array of shape (n_points, n_factors)
            Decimal logarithms of the factors.
        """
        points = np.asarray(points, dtype=float)
        return self.intercept + points @ self.linear + np.einsum("ij,jk,ik->i", points, self.quadratic, points)

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """The gradient at a point."""
        return self.linear + 2.0 * self.quadratic @ point

    def minimum(self, anchor: np.ndarray | None = None) -> np.ndarray:
        """The lowest point in the box, for any curvature.

        Up to 7 factors this is exact: the minimum lies inside the box or inside one of its faces, where the surface
        restricted to the face is stationary, so every face is tried. With more factors it is the best end of
        projected quasi-Newton descents from fixed starts.

        Parameters
        ----------
        anchor : ndarray of shape (n_factors,), optional
            Returned where no point is lower, such as on a flat surface; the middle of the box by default.
        """
        anchor = 0.5 * (self.low + self.high) if anchor is None else np.asarray(anchor, dtype=float)
        by_faces = len(self.linear) <= _MOST_FACTORS_BY_FACES
        candidates = np.array([anchor, *(self._face_points() if by_faces else self._descents(anchor))])
        values = self.predict(candidates)
        lowest = int(np.argmin(values))
        return candidates[lowest if values[lowest] < values[0] - _ROUNDING * np.abs(values).max() else 0]

    def _face_points(self) -> list[np.ndarray]:
        """The stationary point inside each face of the box that has one; corners are faces too."""
        points = []
        for chosen in product((0, -1, 1), repeat=len(self.linear)):
            sides = np.array(chosen)
            free, fixed = sides == 0, sides != 0
            point = np.where(sides < 0, self.low, self.high)
            slope = self.linear[free] + 2.0 * self.quadratic[np.ix_(free, fixed)] @ point[fixed]
            curvature = 2.0 * self.quadratic[np.ix_(free, free)]
            if free.any():
                if np.linalg.matrix_rank(curvature) < free.sum():
                    continue  # flat along the face: as low on its rim, which is another face
                point[free] = np.linalg.solve(curvature, -slope)
            if (point >= self.low).all() and (point <= self.high).all():
                points.append(point)
        return points

    def _descents(self, anchor: np.ndarray) -> list[np.ndarray]:
        cube = qmc.Halton(len(self.linear), scramble=False).random(_STARTS)
        starts = [anchor, self.low, self.high, *(self.low + cube * (self.high - self.low))]
        bounds = list(zip(self.low, self.high, strict=True))
        return [
            minimize(lambda x: self.predict(x[None])[0], start, jac=self.gradient, method="L-BFGS-B", bounds=bounds).x
            for start in starts
        ]


def koshal_design(centre: Any, delta: float, *, low: Any, high: Any, order: int = 2) -> np.ndarray:
    """The Koshal design around a centre: as many points as the surface has coefficients (Gönen 2010, 2.7.1).

    Order 2: the centre, a step up and one down along each axis, and a step up along both axes of each pair. Order 1:
    the centre and a step up along each axis. Where the box leaves no room for a step, two steps go the other way.

    Parameters
    ----------
    centre : array of shape (n_factors,)
    delta : float
        Length of a step.
    low, high : array of shape (n_factors,)
        The box.
    order : {1, 2}

    Returns
    -------
    ndarray of shape (n_points, n_factors)

    Examples
    --------
    >>> from kernelweave.model_selection import koshal_design
    >>> koshal_design([0.0, 0.0], 0.3, low=[-1.0, -1.0], high=[1.0, 1.0]).T
    array([[ 0. ,  0.3, -0.3,  0. ,  0. ,  0.3],
           [ 0. ,  0. ,  0. ,  0.3, -0.3,  0.3]])
    """
    centre, low, high = (np.asarray(value, dtype=float) for value in (centre, low, high))
    up, down = centre + delta, centre - delta
    up, down = np.where(up > high, centre - 2 * delta, up), np.where(down < low, centre + 2 * delta, down)
    up, down = np.clip(up, low, high), np.clip(down, low, high)
    axes = np.eye(len(centre), dtype=bool)
    points = [centre]
    for axis in axes:
        points.append(np.where(axis, up, centre))
        if order == 2:
            points.append(np.where(axis, down, centre))
    if order == 2:
        points += [np.where(first | second, up, centre) for first, second in combinations(axes, 2)]
    return np.array(points)


def fit_surface(
    points: Any, responses: Any, *, low: Any, high: Any, order: int = 2, centre: Any = None, delta: float = 1.0
) -> ResponseSurface:
    """Fit a surface to measured responses by least squares.

    Where the points do not determine all coefficients, those of the smallest norm in steps of `delta` from `centre`
    are taken: directions that the points do not determine are flat.

    Parameters
    ----------
    points : array of shape (n_points, n_factors)
        Decimal logarithms of the factors.
    responses : array of shape (n_points,)
        NaN where the measurement failed; such points do not count, but one must be left.
    low, high : array of shape (n_factors,)
        The box of the surface.
    order : {1, 2}
    centre : array of shape (n_factors,), optional
        Where steps are counted from; the middle of the box by default.
    delta : float
        Length of a step.

    Examples
    --------
    >>> from kernelweave.model_selection import fit_surface
    >>> surface = fit_surface([[-1.0], [0.0], [1.0]], [4.0, 1.0, 0.0], low=[-2.0], high=[2.0])
    >>> surface.linear, surface.quadratic
    (array([-2.]), array([[1.]]))
    """
    points, low, high = (np.asarray(value, dtype=float) for value in (points, low, high))
    responses = np.asarray(responses, dtype=float)
    centre = 0.5 * (low + high) if centre is None else np.asarray(centre, dtype=float)
    n_factors = points.shape[1]
    measured = np.isfinite(responses)
    steps = (points[measured] - centre) / delta
    pairs = [(i, j) for i in range(n_factors) for j in range(i, n_factors)] if order == 2 else []
    terms = np.column_stack([np.ones(len(steps)), steps, *(steps[:, i] * steps[:, j] for i, j in pairs)])
    base = responses[measured].mean()
    coefficients = np.linalg.lstsq(terms, responses[measured] - base, rcond=_RANK_TOLERANCE)[0]
    coefficients[np.abs(coefficients) < _ROUNDING * np.abs(responses[measured]).max()] = 0.0
    quadratic = np.zeros((n_factors, n_factors))
    for (i, j), coefficient in zip(pairs, coefficients[1 + n_factors :], strict=True):
        quadratic[i, j] += 0.5 * coefficient / delta**2
        quadratic[j, i] += 0.5 * coefficient / delta**2
    slope = coefficients[1 : 1 + n_factors] / delta
    # From steps around the centre to the logarithms themselves.
    linear = slope - 2.0 * quadratic @ centre
    intercept = base + coefficients[0] - slope @ centre + centre @ quadratic @ centre
    return ResponseSurface(float(intercept), linear, quadratic=quadratic, low=low, high=high)


@dataclass(frozen=True)
class ResponseTrace:
    points: np.ndarray  # in the order of measurement: the design, then the path
    responses: np.ndarray
    predicted: np.ndarray  # for each point of the path, by the surface of its time
    surface: ResponseSurface  # the last one fitted
    converged: bool  # whether the point stopped moving


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

    `measure` takes points of shape (n_points, n_factors) and gives their responses, NaN where a measurement fails.
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
    return np.clip(np.round(point, _DECIMALS), surface.low, surface.high)


def _is_known(point: np.ndarray, points: np.ndarray) -> bool:
    return bool((np.abs(points - point).max(axis=1) < 10.0**-_DECIMALS).any())


def _unique(points: np.ndarray) -> np.ndarray:
    _, first = np.unique(np.round(points, _DECIMALS), axis=0, return_index=True)
    return points[np.sort(first)]


@dataclass(frozen=True)
class Factors:
    names: list[str]
    centre_values: np.ndarray  # on the original scale
    centre: np.ndarray  # decimal logarithms, as the box
    low: np.ndarray
    high: np.ndarray

    def parameters(self, point: np.ndarray) -> dict[str, float]:
        # Relative to the centre, so that the centre is exactly what the estimator has.
        values = self.centre_values * 10.0 ** (point - self.centre)
        return {name: float(f"{value:.12g}") for name, value in zip(self.names, values, strict=True)}


def check_factors(estimator: Any, factors: Any, bounds: Any) -> Factors:
    if isinstance(factors, str) or not isinstance(factors, Mapping | list | tuple) or len(factors) == 0:
        raise ValueError(
            f"factors must be a list of parameter names, or a mapping from name to (low, high), not {shown(factors)}"
        )
    names = list(factors)
    if any(not isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"factors must be different names of parameters, not {shown(names)}")
    low, high = _increasing("bounds", bounds, (2,))
    if not low <= 1.0 <= high:
        raise ValueError(f"bounds are multiples of the centre, so 1 must lie between them, not {shown(bounds)}")
    given = estimator.get_params(deep=True)
    boxes = []
    for name in names:
        current = given.get(name)
        current = float(current) if _is_positive(current) else None
        if isinstance(factors, Mapping):
            boxes.append(_box(name, factors[name], current))
        else:
            centre = 1.0 if current is None else current
            boxes.append((low * centre, centre, high * centre))
    low, centre, high = np.array(boxes).T
    with blamed_on("factors"):
        clone(estimator).set_params(**dict(zip(names, centre.tolist(), strict=True)))
    return Factors(names, centre, *np.log10([centre, low, high]))


def _box(name: str, values: Any, current: float | None) -> tuple[float, float, float]:
    values = _increasing(f"the range of the factor {name!r} (in factors)", values, (2, 3))
    if len(values) == 3:
        return values
    low, high = values
    if current is None:
        current = 1.0
    return low, current if low <= current <= high else float(np.sqrt(low * high)), high


def _increasing(what: str, values: Any, lengths: tuple[int, ...]) -> tuple[float, ...]:
    entries = list(values) if isinstance(values, tuple | list | np.ndarray) else []
    fits = len(entries) in lengths and all(_is_positive(entry) for entry in entries)
    if not fits or any(first > second for first, second in pairwise(entries)):
        expected = " or ".join({2: "(low, high)", 3: "(low, centre, high)"}[length] for length in lengths)
        raise ValueError(f"{what} must be {expected}: positive finite numbers in this order, not {shown(values)}")
    if not entries[0] < entries[-1]:
        raise ValueError(f"{what} must leave room between {entries[0]!r} and {entries[-1]!r}")
    return tuple(float(entry) for entry in entries)


def _is_positive(value: Any) -> bool:
    return Number(above=0).accepts(value)


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
    The response is 1 - score for accuracies and -score for other scorings. Few samples or folds make it rough: repeat
    the folds, or take a larger `delta`.

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
        chosen = [{name: params[name] for name in params if name not in self._extra} for params in candidate_params]
        return super()._format_results(chosen, n_splits, out, more_results)


class _Measure:
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
    def __init__(self, splits: list):
        self.splits = splits

    def split(self, X: Any = None, y: Any = None, **_: Any) -> Iterator:
        return iter(self.splits)
