"""`BudgetedSelection`: nested selection under one budget, the same for every method of the benchmark.

A method gives at most 8 settings, each an unfitted classifier. All are tried on the same 3 stratified folds of the
training samples; the setting with the largest mean accuracy counts, the first of several equal ones, and is fitted to
all training samples. Folds depend on the labels and on a seed only, so that every method has the same.

Where a classifier has no probabilities of its own, its decision values on the samples that were held out give the
constants of a calibration (Platt's sigmoid, or a softmax with one temperature; `recipes.search`).

Settings of `MKLClassifier` that differ in C and in the combiner only look up kernels that are computed once per fold,
as in the library's searches.

A method that chooses by itself gives one setting. With probabilities of its own it is fitted once, and what it has as
`setting_` is what counts.

Time is limited softly: when a cell has taken its seconds, no further setting is begun, and the best of those that are
finished counts. Where not even the first is finished, it counts as it is. Seconds are those of the processor, so that
results do not depend on what else the machine does.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kernelweave.compare.cells import in_full
from kernelweave.estimators.reuse import SharedFoldKernels
from kernelweave.recipes.search import Calibration


def stored_samples(model: Any) -> int | None:
    """The number of training samples that predictions of a fitted classifier need.

    Support vectors count, those of all parts of a stacked model once; neighbours count all samples. A classifier may
    also have the number as `n_stored_`. None for models that keep no samples, such as linear models and trees.

    Parameters
    ----------
    model : classifier

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from experiments.benchmark.selection import stored_samples
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> stored_samples(make_pipeline(StandardScaler(), SVC(kernel="linear", C=100.0)).fit(X, y))
    2
    >>> stored_samples(LogisticRegression().fit(X, y)) is None
    True
    """
    if getattr(model, "n_stored_", None) is not None:
        return int(model.n_stored_)
    samples = _support(model)
    if samples is not None:
        return len(samples)
    if hasattr(model, "steps"):
        return stored_samples(model.steps[-1][1])
    number = getattr(model, "n_samples_fit_", None)  # of neighbours
    return None if number is None else int(number)


def _support(model: Any) -> np.ndarray | None:
    """Positions of the support vectors of a model or of its parts; None where there are none of the kind."""
    if hasattr(model, "steps"):
        return _support(model.steps[-1][1])
    if hasattr(model, "estimators_") and hasattr(model, "final_estimator_"):  # stacked
        parts = [found for part in model.estimators_ if (found := _support(part)) is not None]
        return np.unique(np.concatenate(parts)) if parts else None
    found = getattr(model, "support_", None)
    return None if found is None else np.asarray(found)


BUDGET = 8  # settings
FOLDS = 3


@dataclass
class _Tried:
    """One setting: accuracies by fold, and decision values of samples that were held out (None: probabilities)."""

    label: str
    accuracies: list[float]
    values: np.ndarray | None

    @property
    def score(self) -> float:
        return float(np.mean(self.accuracies)) if self.accuracies else float("nan")


class BudgetedSelection(ClassifierMixin, BaseEstimator):
    """The best of a few settings of a method by cross-validated accuracy, fitted to all samples and calibrated.

    Parameters
    ----------
    candidates : mapping from label to classifier
        The settings, unfitted; at most `budget` of them.
    budget : int
    n_folds : int
        Stratified folds, shuffled.
    max_seconds : float or None
        When so much processor time has passed, no further setting is begun.
    version : str
        Of the code of the method, where parameters do not tell it; part of the fingerprint of cells.
    random_state : int
        Of the folds.

    Attributes
    ----------
    setting_ : str
        The label that counts, with the number of settings that were tried where the time was too short for all. Without
        a label, the parameters that a classifier which chooses by itself has in its own `setting_`.
    validation_score_ : float or None
        Its mean accuracy; None where there was nothing to choose and nothing to calibrate.
    scores_ : dict from label to float
        Mean accuracies of the settings that were tried.
    best_estimator_ : classifier
        Fitted to all samples.
    n_stored_ : int or None
        Training samples that a prediction needs: support vectors, or all samples for methods that compare with all;
        None for models that keep none.
    calibration_ : Calibration or None
    classes_ : ndarray

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from experiments.benchmark.selection import BudgetedSelection
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BudgetedSelection({f"C={C:g}": SVC(C=C) for C in (0.01, 1.0)}).fit(X, y)
    >>> model.setting_, model.predict_proba(X[:1]).round(1)
    ('C=1', array([[1., 0., 0.]]))
    """

    def __init__(
        self,
        candidates: Mapping[str, Any],
        *,
        budget: int = BUDGET,
        n_folds: int = FOLDS,
        max_seconds: float | None = None,
        version: str = "",
        random_state: int = 0,
    ):
        self.candidates = candidates
        self.budget = budget
        self.n_folds = n_folds
        self.max_seconds = max_seconds
        self.version = version
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> BudgetedSelection:
        """Choose a setting, fit it to all samples, and calibrate it.

        Parameters
        ----------
        X : DataFrame or array
        y : array of shape (n_samples,)
        """
        self._start = time.process_time()
        candidates = self._checked()
        y = np.asarray(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        tried = self._tried(candidates, X, y, labels)
        best = max(tried, key=lambda one: -np.inf if np.isnan(one.score) else one.score)  # the first of equal ones
        self.scores_ = {one.label: one.score for one in tried}
        self.setting_ = best.label
        if len(tried) < len(candidates) or len(best.accuracies) not in (0, self.n_folds):
            some = f"{len(tried)} of {len(candidates)} settings within {self.max_seconds:g} s"
            self.setting_ = f"{best.label} ({some})"
        self.validation_score_ = None if np.isnan(best.score) else best.score
        self.calibration_ = _calibration(best.values, labels)
        self.best_estimator_ = clone(candidates[best.label]).fit(X, y)
        self.setting_ = self.setting_ or _own_setting(self.best_estimator_)
        self.n_stored_ = stored_samples(self.best_estimator_)
        del self._start
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Labels, as the chosen classifier predicts them.

        Parameters
        ----------
        X : DataFrame or array
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def _has_probabilities(self) -> bool:
        return hasattr(self.best_estimator_, "predict_proba") or self.calibration_ is not None

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of `classes_`: those of the chosen classifier, or calibrated decision values.

        Parameters
        ----------
        X : DataFrame or array
        """
        check_is_fitted(self)
        model = self.best_estimator_
        if hasattr(model, "predict_proba"):
            return model.predict_proba(X)
        calibration: Any = self.calibration_
        return calibration.probabilities(np.asarray(model.decision_function(X)))

    def _checked(self) -> dict[str, Any]:
        candidates = dict(self.candidates)
        if not 1 <= len(candidates) <= self.budget:
            raise ValueError(
                f"a method gives 1 to {self.budget} settings, and this one gives {len(candidates)}; leave some out"
            )
        return candidates

    def _is_over(self) -> bool:
        return self.max_seconds is not None and time.process_time() - self._start >= self.max_seconds

    def _tried(self, candidates: dict[str, Any], X: Any, y: np.ndarray, labels: np.ndarray) -> list[_Tried]:
        """The settings that were tried on all folds; where time was too short for one, the first as far as it came."""
        if len(candidates) == 1 and hasattr(next(iter(candidates.values())), "predict_proba"):
            return [_Tried(next(iter(candidates)), [], None)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of classes with fewer samples than folds
            folds = list(
                StratifiedKFold(self.n_folds, shuffle=True, random_state=self.random_state).split(labels, labels)
            )
        shared = _shared_kernels(list(candidates.values()), X, y, folds)
        tried: list[_Tried] = []
        for label, model in candidates.items():
            shape = (len(y),) if len(self.classes_) == 2 else (len(y), len(self.classes_))
            has_values = not hasattr(model, "predict_proba") and hasattr(model, "decision_function")
            own = _Tried(label, [], np.full(shape, np.nan) if has_values else None)
            for (train, test), parameters in zip(folds, shared, strict=True):
                if self._is_over() and (tried or own.accuracies):
                    return tried or [own]
                fitted = clone(model).set_params(**parameters).fit(_rows(X, train), y[train])
                held_out = _rows(X, test)
                own.accuracies.append(float(np.mean(fitted.predict(held_out) == y[test])))
                if own.values is not None:
                    own.values[test] = _aligned(fitted, held_out, self.classes_)
            tried.append(own)
        return tried


def _shared_kernels(models: list[Any], X: Any, y: np.ndarray, folds: list[Any]) -> list[dict[str, Any]]:
    """For each fold the parameters with which settings look up kernels that are computed once, where they can."""
    shared = SharedFoldKernels(models[0], ["C"])
    alike = shared.possible and all(
        isinstance(model, type(models[0])) and in_full(model.kernels) == in_full(models[0].kernels) for model in models
    )
    if not alike or len(models) == 1:
        return [{} for _ in folds]
    return [shared.parameters([shared.of_fold(X, y, train, test)]) for train, test in folds]


def _own_setting(model: Any) -> str:
    """What a classifier chose by itself."""
    found = getattr(model, "setting_", None)
    return ", ".join(f"{name}={value}" for name, value in found.items()) if isinstance(found, Mapping) else ""


def _rows(X: Any, index: np.ndarray) -> Any:
    return X.iloc[index] if hasattr(X, "iloc") else X[index]


def _aligned(fitted: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """Decision values with one column for each class; one that the fold lacks has the smallest value of the sample."""
    values = np.asarray(fitted.decision_function(X))
    if len(fitted.classes_) == len(classes):
        return values
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    all_values = np.repeat(values.min(axis=1, keepdims=True), len(classes), axis=1)
    all_values[:, np.searchsorted(classes, fitted.classes_)] = values
    return all_values


def _calibration(values: np.ndarray | None, labels: np.ndarray) -> Calibration | None:
    """From the decision values of samples that were held out."""
    if values is None:
        return None
    there = ~np.isnan(values) if values.ndim == 1 else ~np.isnan(values).any(axis=1)
    return Calibration.fit(values[there], labels[there]) if there.any() else None
