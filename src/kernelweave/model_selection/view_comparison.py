"""`view_report`: what each view gives a model, by cross-validation with that view alone and without it.

A row of the report is a model with some of the kernels: those of one view (``alone``), all others (``without``), or all
(``together``).

For the test of two models on the same held-out samples, a score that is a mean over samples is taken apart (`Scored`).
Of any other score there are the values that it takes where samples are drawn with replacement, quickly for the area
under the ROC curve; what the model predicts is computed once for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.validation import _num_samples

from .._warnings import warn
from ..estimators.fitted import n_compared
from ..estimators.kernel_lists import KernelSubsets, fitted_model, numbers_by_kernel
from ..estimators.progress import progress_bar
from ..estimators.reuse import SharedFoldKernels
from ..validation import Flag, Seed, check, shown
from ..validation.inputs import as_pandas, check_one_table, check_row_labels
from .statistics import (
    TEST_NAME,
    LossTestResult,
    least_error,
    mean_by_sample,
    paired_loss_test,
    paired_score_test,
)

_ALL = "all views"
_WORDS = {"together": "with", "alone": "with only", "without": "without"}
_FOLD_COLUMNS = ["fold", "view", "kernels", "score", "score_together", "difference"]
_FOLD_COLUMNS += ["stored_samples", "prediction_cost", "samples"]
N_RESAMPLES = 200  # resamples of a bootstrap: its standard error is then known to 5 per cent
_SEED = 0  # of the bootstrap: all models of all folds see the same resamples
_SAME = 1e-9  # between a score and the mean that it is, relative: metrics may sum in another order
_METRICS = ("accuracy", "R2", "squared", "absolute", "area")  # those that are known, means first
_OUTPUTS = ("predict", "decision_function", "predict_proba", "predict_log_proba", "score_samples")


@dataclass(frozen=True)
class _Part:
    """A model with some of the kernels: the row (view, kernels) of the report, and the names of its kernels."""

    view: str
    kernels: str
    names: list[str]


@overload
def view_report(
    model: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    scoring: Any = None,
    costs: Any = None,
    groups: Any = None,
    params: Mapping[str, Any] | None = None,
    share_kernels: bool = True,
    return_folds: Literal[False] = False,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> pd.DataFrame: ...


@overload
def view_report(
    model: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    scoring: Any = None,
    costs: Any = None,
    groups: Any = None,
    params: Mapping[str, Any] | None = None,
    share_kernels: bool = True,
    return_folds: Literal[True],
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> tuple[pd.DataFrame, pd.DataFrame]: ...


def view_report(
    model: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    scoring: Any = None,
    costs: Any = None,
    groups: Any = None,
    params: Mapping[str, Any] | None = None,
    share_kernels: bool = True,
    return_folds: bool = False,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
    """What each view gives a model: the view alone, all but that view, and all together, by cross-validation.

    Every fold fits one model with all kernels, and for each view one with the kernels of that view only (``alone``) and
    one with all other kernels (``without``). The parameters of the model stay as they are; costs, weights and groups
    that name kernels lose the entries of those left out.

    Parameters
    ----------
    model : estimator
        `MKLClassifier`, `MKLRegressor`, `MKLOneClass` or another model over kernels, fitted or not; alone, as the last
        step of a pipeline, or inside a search such as `GridSearchCV`, which then searches anew for each model.
    X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,) or (n_samples, n_targets)
    cv : int, splitter, iterable or None
        As in `sklearn.model_selection.cross_validate`; None means five folds, stratified for classifiers.
    scoring : str, callable or None
        One metric, as in `cross_validate`; None means the `score` of the model. Higher is better.
    costs : mapping, sequence, number or None
        What each kernel costs, by kernel name, by view name or in the order of the kernels; kernels that a mapping does
        not name cost 1. None means the costs of the model's combiner, or else equal ones.
    groups : array of shape (n_samples,), optional
        For splitters that keep groups together, and for the test.
    params : mapping, optional
        Parameters of the model's `fit`, such as ``{"sample_weight": w}``; arrays with an entry for each sample are
        split as X is.
    share_kernels : bool
        Whether to compute each kernel once per fold and look its values up in all models (of this package, alone or in
        a pipeline). Takes one matrix of n_training x n_samples values for each kernel and job.
    return_folds : bool
        Whether to return the results of every fold too.
    n_jobs : int or None
        Folds at a time, by joblib's current backend; the result does not depend on it.
    random_state : int, RandomState or None
        Seeds for models whose own `random_state` is None; one for each fold, the same for all models of that fold.
    verbose : int
        Whether to show progress.

    Returns
    -------
    report : DataFrame
        One row for the whole model, ``("all views", "together")``, and two for each view, ``(view, "alone")`` and
        ``(view, "without")``. Kernels over the same columns belong to one view; a kernel that combines several views,
        and each matrix whose values are looked up by ids (`Precomputed`), counts as a view of its own. A model with one
        view has no row ``without``. ``print(report.round(3).to_string())`` shows all columns:

        ``score``, ``std``
            Mean and standard deviation of the score over the folds.
        ``difference``
            Mean of the score less that of the whole model on the same samples. Below 0 in a row ``without`` the view
            helps.
        ``low``, ``high``
            Its 95 % confidence interval, which takes other samples and other training sets into account.
        ``p_value``
            How likely so large a difference is where there is none, by what the two models lose on the same samples
            (`paired_loss_test`); for a score that is no mean over samples, such as the area under the ROC curve, by a
            bootstrap over samples. Samples of one group count as one. The values are not corrected for the number of
            rows.
        ``stored_samples``
            Mean number of support vectors; NaN, as ``prediction_cost``, where an estimator holds several models, as
            `CalibratedClassifierCV` does by default.
        ``prediction_cost``
            Mean cost of predicting a sample, see `prediction_cost` of the model, as a share of the costs of *all*
            kernels: the rows can be compared, and in a row ``without`` it is what prediction would cost without that
            view.
        ``samples``
            How many different samples were predicted: those that have one of the views.
    folds : DataFrame
        With ``return_folds=True``: the same columns for each ``fold``, and ``score_together``, the score of the whole
        model on the same samples.

    Notes
    -----
    Samples that lack the view are left out of the rows ``alone``, in training and in scoring; the score of the whole
    model in ``difference`` is then that on the samples that have the view. A model that cannot be fitted in some fold,
    for example because one class is left, has NaN there, and a warning gives the reason; a fold in which the model with
    all kernels cannot be fitted counts in no row.

    Gating inputs that a combiner names (``Localized(inputs=...)``) are read by all models.

    See Also
    --------
    view_importance : what a fitted model loses where a view is permuted, without fitting again.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> from kernelweave.model_selection import view_report
    >>> from sklearn.model_selection import RepeatedStratifiedKFold
    >>> X, y = datasets.load_multifeat(target="even-vs-odd", return_X_y=True)
    >>> model = MKLClassifier([Linear("fou"), Gaussian("mor"), Gaussian("kar")])
    >>> halves = RepeatedStratifiedKFold(n_splits=2, n_repeats=5, random_state=0)
    >>> report = view_report(model, X[::10], y[::10], cv=halves)
    >>> report.loc["kar", ["score", "difference", "p_value", "prediction_cost"]].round(2).T
    kernels          alone  without
    score             0.97     0.69
    difference        0.00    -0.28
    p_value           0.93     0.00
    prediction_cost  23.33    52.13
    """
    check("view_report", "share_kernels", share_kernels, Flag())
    check("view_report", "return_folds", return_folds, Flag())
    check("view_report", "random_state", random_state, Seed())
    if y is None:
        raise ValueError("view_report needs y: a model is scored by how well it predicts the targets")
    check_one_table(X)
    check_row_labels(X, y=y, groups=groups)
    X, y, groups = indexable(as_pandas(X), as_pandas(y), groups)
    subsets = KernelSubsets(model, X, y)
    splits = list(check_cv(cv, y, classifier=is_classifier(model)).split(X, y, groups))
    job = _Job(
        subsets,
        X,
        y,
        units=Units(np.arange(_num_samples(X)) if groups is None else groups),
        scorer=check_scoring(model, scoring=one_metric(scoring)),
        parts=_parts(subsets),
        costs=_by_kernel(costs, subsets.views),
        params=dict(params or {}),
        shared=_shared(model, _num_samples(X), n_jobs, len(splits)) if share_kernels else None,
    )
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(splits))
    records = []
    with progress_bar("view_report") if verbose else nullcontext() as progress:
        work = (delayed(job.fold)(k, *split, seed) for k, (split, seed) in enumerate(zip(splits, seeds, strict=True)))
        for done, fold in enumerate(Parallel(n_jobs=n_jobs, return_as="generator")(work), 1):
            records += fold
            if progress is not None:
                progress(done, len(splits))
    _report_failures(records)
    folds = pd.DataFrame(records)
    folds["difference"] = folds["score"] - folds["score_together"]
    report = _summed_up(folds, job)
    folds["samples"] = folds["predicted"].map(len)
    return (report, folds[_FOLD_COLUMNS]) if return_folds else report


@dataclass(frozen=True)
class _Job:
    subsets: KernelSubsets
    X: Any
    y: Any
    units: Units
    scorer: Any
    parts: list[_Part]
    costs: Any
    params: dict[str, Any]
    shared: SharedFoldKernels | None

    def fold(self, number: int, train: np.ndarray, test: np.ndarray, seed: int) -> list[dict[str, Any]]:
        train, test = (np.arange(_num_samples(self.X))[part] for part in (train, test))
        objects = self._kernels(train, test)
        together, *others = self.parts
        estimator = self.subsets.of(together.names, objects)
        known: dict[bytes, Scored] = {}  # scores of the whole model, by the samples it was scored on
        record, whole = self._measured(together, estimator, train, test, seed, None, known)
        if whole is None:
            return [{"fold": number, **record, "view": part.view, "kernels": part.kernels} for part in self.parts]
        records = [record]
        samples, new_samples = self._rows(self.X, train), self._rows(self.X, test)
        presence = self.subsets.presence(samples, new_samples, y=self._rows(self.y, train), kernels=objects)
        for part in others:
            chosen = np.isin(self.subsets.names, part.names)
            rows, new = (p[there[:, chosen].any(axis=1)] for p, there in zip((train, test), presence, strict=True))
            estimator = self.subsets.of(part.names, objects)
            records.append(self._measured(part, estimator, rows, new, seed, whole, known)[0])
        take_apart(
            [*known.values(), *(record["own"] for record in records[1:] if record["own"] is not None)], self.units
        )
        return [{"fold": number, **record} for record in records]

    def _measured(
        self, part: _Part, estimator: Any, rows: np.ndarray, new: np.ndarray, seed: int, whole: Any, known: dict
    ) -> tuple[dict[str, Any], Any]:
        """The results of one model, and the fitted model; NaN and None where it cannot be fitted."""
        record: dict[str, Any] = {"view": part.view, "kernels": part.kernels, "predicted": new[:0], "failure": None}
        record |= dict.fromkeys(("score", "score_together", "stored_samples", "prediction_cost"), np.nan)
        record |= {"trained": len(rows), "own": None, "together": None}
        _seed(estimator, seed)
        try:
            if len(rows) == 0:
                raise ValueError("no training sample has the view")
            params = {name: self._rows(value, rows) for name, value in self.params.items()}
            fitted = estimator.fit(self._rows(self.X, rows), self._rows(self.y, rows), **params)
            if len(new) > 0:
                record["own"] = self._scored(fitted, new)
                record["score"] = record["own"].score
        except ValueError as error:
            return {**record, "failure": error}, None
        whole = fitted if whole is None else whole
        if len(new) > 0:
            place = new.tobytes()
            if place not in known:
                known[place] = record["own"] if fitted is whole else self._scored(whole, new)
            record |= {"together": known[place], "score_together": known[place].score}
        stored, cost = self._sizes(fitted_model(fitted), fitted_model(whole), part.names)
        return {**record, "predicted": new, "stored_samples": stored, "prediction_cost": cost}, fitted

    def _kernels(self, train: np.ndarray, test: np.ndarray) -> Any:
        if self.shared is None:
            return None
        try:
            fold = self.shared.of_fold(self.X, self.y, train.tolist(), test.tolist(), self.params)
        except ValueError:  # of the data or a kernel: the fit of the whole model raises it
            return None
        return next(iter(self.shared.parameters([fold]).values()))

    def _rows(self, values: Any, rows: np.ndarray) -> Any:
        has_rows = hasattr(values, "__len__") or hasattr(values, "shape")
        fits = has_rows and not isinstance(values, str) and _num_samples(values) == _num_samples(self.X)
        return _safe_indexing(values, rows) if fits else values

    def _scored(self, fitted: Any, rows: np.ndarray) -> Scored:
        return Scored(fitted, self._rows(self.X, rows), self._rows(self.y, rows), self.scorer, rows)

    def _sizes(self, model: Any, whole: Any, names: list[str]) -> tuple[float, float]:
        """Support vectors (landmarks), and the cost of prediction as a share of that of all kernels; NaN for others."""
        is_machine = hasattr(model, "support_") or hasattr(model, "feature_coef_")
        stored = float(n_compared(model)) if is_machine else np.nan
        if not hasattr(model, "prediction_cost"):
            return stored, np.nan
        costs = self.costs
        if costs is None and whole is not None:
            costs = getattr(getattr(whole, "combiner_", None), "costs_", None)
        d = numbers_by_kernel(costs, self.subsets.names)
        kept = {name: d[name] for name in names}
        total = sum(d.values())
        if sum(kept.values()) == 0.0:
            return stored, 0.0
        return stored, model.prediction_cost(kept) * sum(kept.values()) / total


def _parts(subsets: KernelSubsets) -> list[_Part]:
    parts = [_Part(_ALL, "together", subsets.names)]
    for view, names in subsets.views.items():
        others = [name for name in subsets.names if name not in names]
        parts.append(_Part(view, "alone", names))
        if others:
            parts.append(_Part(view, "without", others))
    return parts


def _shared(model: Any, n_samples: int, n_jobs: int | None, n_folds: int) -> SharedFoldKernels | None:
    shared = SharedFoldKernels(model, [])
    if not shared.possible:
        return None
    shared.warn_of_memory(n_samples, min(effective_n_jobs(n_jobs), n_folds))
    return shared


def _by_kernel(costs: Any, views: dict[str, list[str]]) -> Any:
    if not isinstance(costs, Mapping | pd.Series):
        return costs
    by_view = {name: costs[view] for view, names in views.items() if view in costs for name in names}
    return by_view | {name: cost for name, cost in costs.items() if name not in views}


def one_metric(scoring: Any) -> Any:
    if scoring is None or isinstance(scoring, str) or callable(scoring):
        return scoring
    raise ValueError(f"scoring must be one metric, by name or as a callable, not {shown(scoring)}")


def _seed(estimator: Any, seed: int) -> None:
    params = estimator.get_params(deep=True)
    unset = [name for name, value in params.items() if name.split("__")[-1] == "random_state" and value is None]
    estimator.set_params(**dict.fromkeys(unset, int(seed)))


def _report_failures(records: list[dict[str, Any]]) -> None:
    """Warn of models that could not be fitted in some folds; raise where the whole model could in none."""
    failures = {record["fold"]: record for record in records if record["failure"] is not None and _is_whole(record)}
    n_folds = 1 + max(record["fold"] for record in records)
    if len(failures) == n_folds:
        raise failures[0]["failure"]
    reasons: dict[str, list[Exception]] = {}
    for record in records:
        if record["failure"] is not None and (_is_whole(record) or record["fold"] not in failures):
            whose = "all views" if _is_whole(record) else f"the view {record['view']!r}"
            what = f"the model {_WORDS[record['kernels']]} {whose}"
            reasons.setdefault(what, []).append(record["failure"])
    for what, errors in reasons.items():
        warn(f"{what} could not be fitted in {len(errors)} of {n_folds} folds: {errors[0]}", FitFailedWarning)


def _is_whole(record: Mapping[str, Any]) -> bool:
    return record["kernels"] == "together"


def _summed_up(folds: pd.DataFrame, job: _Job) -> pd.DataFrame:
    rows = []
    for part in job.parts:
        own = folds[(folds["view"] == part.view) & (folds["kernels"] == part.kernels)]
        difference = own["difference"].mean()
        test = _UNKNOWN if part.kernels == "together" else _test(own, job.units)
        low, high = test.interval()
        shift = difference - test.difference  # folds of different sizes count as much in a mean of scores
        rows.append(
            {
                "score": own["score"].mean(),
                "std": own["score"].std(),
                "difference": difference,
                "low": low + shift,
                "high": high + shift,
                "p_value": test.pvalue,
                "stored_samples": own["stored_samples"].mean(),
                "prediction_cost": own["prediction_cost"].mean(),
                "samples": len(np.unique(np.concatenate(list(own["predicted"])))),
            }
        )
    index = pd.MultiIndex.from_tuples([(part.view, part.kernels) for part in job.parts], names=["view", "kernels"])
    report = pd.DataFrame(rows, index)
    report.attrs["test"] = TEST_NAME
    return report


_UNKNOWN = LossTestResult(np.nan, np.nan)


def _test(folds: pd.DataFrame, units: Units) -> LossTestResult:
    """The test of a model against the whole model, on the samples that both were tested on."""
    known = folds[folds["difference"].notna()]
    if known.empty:
        return _UNKNOWN
    pairs, n_train = list(zip(known["together"], known["own"], strict=True)), float(known["trained"].mean())
    samples = np.unique(np.concatenate([own.rows for _, own in pairs]))
    groups = units.of_sample[samples]
    n_units = len(np.unique(groups))
    if n_units < 2:
        return _UNKNOWN
    if all(one.samples is not None for pair in pairs for one in pair):
        parts = zip(*pairs, strict=True)
        losses = [mean_by_sample([one.rows for one in part], [-one.samples for one in part])[1] for part in parts]
        whole_losses, own_losses = losses
        test = paired_loss_test(own_losses, whole_losses, n_train=n_train, groups=groups)
        if np.isin(losses, (-1.0, 0.0)).all():  # right and wrong labels
            test = replace(test, error=max(test.error, least_error(len(samples), n_train)))
        return test
    resampled = np.stack([own.resampled_score(units) - whole.resampled_score(units) for whole, own in pairs])
    n_known = np.isfinite(resampled).sum(axis=0)
    total = np.where(np.isfinite(resampled), resampled, 0.0).sum(axis=0)
    means = np.divide(total, n_known, out=np.full(len(total), np.nan), where=n_known > 0)
    difference = float(np.mean([own.score - whole.score for whole, own in pairs]))
    return paired_score_test(difference, means, n_samples=len(samples), n_units=n_units, n_train=n_train)


class Units:
    """The units of a bootstrap and of a test: samples, or groups of them, which are drawn together."""

    def __init__(self, groups: Any):
        self.of_sample = np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1)

    @cached_property
    def counts(self) -> np.ndarray:
        n_units = int(self.of_sample.max()) + 1
        drawn = np.random.default_rng(_SEED).integers(n_units, size=(N_RESAMPLES, n_units))
        return np.stack([np.bincount(units, minlength=n_units) for units in drawn])

    def drawn(self, rows: np.ndarray) -> np.ndarray:
        return self.counts[:, self.of_sample[rows]]


class Scored:
    """The score of a fitted model on the test samples of a fold and, after `take_apart`, the values it is made of.

    `rows` are the positions of these samples among all; `samples` are scores whose mean the score is, and `resampled`
    otherwise what it is in each resample of a bootstrap.
    """

    def __init__(self, model: Any, X: Any, y: Any, scorer: Callable[..., float], rows: np.ndarray):
        self.score, self.rows = float(scorer(model, X, y)), rows
        self.samples: np.ndarray | None = None
        self.resampled: np.ndarray | None = None
        self._given: Any = (model, X, y)
        self._scorer: Any = scorer
        self._means = dict(_means(model, X, y))
        self._means = {name: values for name, values in self._means.items() if self._is(values.mean())}

    def _is(self, value: float) -> bool:
        return bool(abs(value - self.score) <= _SAME * max(1.0, abs(self.score)))

    @property
    def metrics(self) -> set[str]:
        ranked = _ranked(*self._given)
        is_area = ranked is not None and self._is(areas(*ranked, np.ones((1, len(self.rows))))[0])
        return {*self._means, *(["area"] if is_area else [])}

    def take_apart(self, metric: str | None, units: Units) -> None:
        model, X, y = self._given
        if not np.isfinite(self.score):  # not defined on these samples, and of no use on some of them
            self.resampled = np.full(N_RESAMPLES, np.nan)
        elif metric in self._means:
            self.samples = self._means[metric]
        elif metric == "area":
            ranked: Any = _ranked(model, X, y)
            values, is_positive = ranked
            self.resampled = areas(values, is_positive, units.drawn(self.rows))
        else:
            self.resampled = _resampled(model, X, y, units.drawn(self.rows), self._scorer)
        self._given, self._scorer, self._means = None, None, {}

    def resampled_score(self, units: Units) -> np.ndarray:
        if self.samples is None:
            return np.asarray(self.resampled)
        counts = units.drawn(self.rows)
        times = counts.sum(axis=1)
        return np.divide(counts @ self.samples, times, out=np.full(len(counts), np.nan), where=times > 0)


def take_apart(models: Sequence[Scored], units: Units) -> None:
    """Find by its values which metric the score (any callable) is, from all models of a fold, and take it apart."""
    defined = [one for one in models if np.isfinite(one.score)]
    common = set.intersection(*(one.metrics for one in defined)) if defined else set()
    metric = next((name for name in _METRICS if name in common), None)
    for one in models:
        one.take_apart(metric, units)


def _means(model: Any, X: Any, y: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Scores of the samples by metrics that are means: accuracy, R2 (by the variance of these targets), and errors."""
    if not hasattr(model, "predict"):
        return
    predicted, y = np.asarray(model.predict(X)), np.asarray(y)
    if predicted.shape != y.shape or y.dtype.names:  # times and events have no error of a sample
        return
    if y.ndim == 1:
        yield "accuracy", np.asarray(predicted == y, dtype=np.float64)
    if y.dtype.kind not in "fiu" or predicted.dtype.kind not in "fiu":
        return
    error = (predicted - y).astype(np.float64).reshape(len(y), -1)
    variance = y.reshape(len(y), -1).var(axis=0)
    if (variance > 0.0).all():
        yield "R2", 1.0 - (np.square(error) / variance).mean(axis=1)
    yield "squared", -np.square(error).mean(axis=1)
    yield "absolute", -np.abs(error).mean(axis=1)


def _ranked(model: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Decision values of two classes, and which samples are of the second one; None where there are no such."""
    y = np.asarray(y)
    classes = np.unique(y) if y.ndim == 1 else y
    if len(classes) != 2 or not hasattr(model, "decision_function"):
        return None
    values = np.asarray(model.decision_function(X))
    return (values, y == classes[1]) if values.shape == y.shape else None


def areas(values: np.ndarray, is_positive: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Areas under the ROC curve: shares of pairs, a positive and a negative, in the right order; equal ones as half."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(values[order]) > 0.0])  # of equal values
    positive, negative = (
        np.add.reduceat(np.where(own, counts, 0.0)[:, order], starts, axis=1) for own in (is_positive, ~is_positive)
    )
    below = np.cumsum(negative, axis=1) - 0.5 * negative
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    return np.divide((positive * below).sum(axis=1), pairs, out=np.full(len(counts), np.nan), where=pairs > 0.0)


def _resampled(model: Any, X: Any, y: Any, counts: np.ndarray, scorer: Callable[..., float]) -> np.ndarray:
    """The score where samples are drawn with replacement; NaN where it is not defined, for want of a class."""
    known = _CachedModel(model, X)
    found = np.full(len(counts), np.nan)
    for place, times in enumerate(counts):
        rows = np.repeat(np.arange(len(times)), times)
        if len(rows):
            drawn = _safe_indexing(X, rows)
            try:
                found[place] = scorer(known.at(rows, drawn), drawn, _safe_indexing(y, rows))
            except ValueError:  # a metric that needs two classes, and there is one
                continue
    return found


class _CachedModel:
    """A fitted model that looks up what it has predicted for samples, where some of them are drawn again."""

    def __init__(self, model: Any, X: Any):
        self._model, self._X = model, X
        self._outputs: dict[str, np.ndarray] = {}
        self._rows: np.ndarray | None = None
        self._drawn: Any = None

    def at(self, rows: np.ndarray, drawn: Any) -> _CachedModel:
        self._rows, self._drawn = rows, drawn
        return self

    def __getattr__(self, name: str) -> Any:
        own = getattr(self._model, name)
        if name not in _OUTPUTS:
            return own

        def output(X: Any) -> Any:
            if X is not self._drawn:
                return own(X)
            if name not in self._outputs:
                self._outputs[name] = np.asarray(own(self._X))
            return self._outputs[name][self._rows]

        output.__name__ = name  # by which scikit-learn's scorers recognise the model
        return output
