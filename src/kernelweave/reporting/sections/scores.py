"""Scores of a report: their name in words, and cross-validation with, without and by each view alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, check_scoring, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from ...model_selection import view_importance, view_report
from .subject import Subject

_FOLDS = 5
_REPEATS = 5  # of permutations
_SHARES = ("accuracy", "balanced_accuracy", "top_k_accuracy")  # scores that are shares of samples
_TOGETHER = ("all views", "together")


@dataclass(frozen=True)
class Score:
    """What a score is called, and how it is written.

    Attributes
    ----------
    name : str
    kind : str
        As in `content.Column`.
    """

    name: str
    kind: str


@dataclass(frozen=True)
class Evaluation:
    """How well a model predicts, and what each view gives.

    Attributes
    ----------
    score : Score
    views : DataFrame or None
        What `model_selection.view_report` returns.
    folds : DataFrame or None
        Its results by fold.
    n_folds : int
    here : float
        The score on the samples of the report themselves; NaN where there are no targets.
    why_not : str
        Why there is no cross-validation; empty where there is one.
    permuted : DataFrame or None
        For a model without kernels, what `model_selection.view_importance` returns.
    """

    score: Score
    views: pd.DataFrame | None = None
    folds: pd.DataFrame | None = None
    n_folds: int = 0
    here: float = np.nan
    why_not: str = ""
    permuted: pd.DataFrame | None = None

    @property
    def together(self) -> pd.Series | None:
        """The row of the model with all views."""
        return None if self.views is None else self.views.loc[_TOGETHER]

    @property
    def fold_scores(self) -> np.ndarray:
        """The scores of the model with all views, by fold."""
        if self.folds is None:
            return np.empty(0)
        return self.folds.loc[self.folds["kernels"] == "together", "score"].to_numpy()


def score_of(subject: Subject, scoring: Any) -> Score:
    """The name of the score that `scoring` means for a model."""
    if scoring is None and hasattr(subject.estimator, "best_estimator_"):
        scoring = subject.estimator.scoring
    if scoring is None:
        return Score("accuracy", "percent") if subject.task == "classification" else Score("R²", "number")
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    return Score(name.replace("_", " "), "percent" if name in _SHARES else "number")


def evaluated(
    subject: Subject, cv: Any, scoring: Any, groups: Any = None, *, n_jobs: int | None, random_state: Any, verbose: int
) -> Evaluation:
    """The scores of a model by cross-validation, where there are targets and cross-validation is wanted."""
    score = score_of(subject, scoring)
    here = _score_here(subject, scoring)
    why_not = _why_not(subject, cv, scoring)
    if why_not:
        return Evaluation(score, here=here, why_not=why_not, permuted=_permuted(subject, scoring, random_state))
    folds = _folds(subject, random_state) if cv is None else cv
    whole, X, y = (subject.estimator, subject.X, subject.y)
    if subject.cohort is not None:
        rows = subject.decided
        whole, X, y = subject.model, _safe_indexing(subject.inner, rows), subject.inner_targets[rows]
        groups = None if groups is None else _safe_indexing(groups, rows)
    options = {"scoring": scoring, "groups": groups, "n_jobs": n_jobs, "random_state": random_state, "verbose": verbose}
    try:
        with warnings.catch_warnings():
            if cv is None:  # the report itself says that a class has few samples
                warnings.filterwarnings("ignore", message="The least populated class")
            views, by_fold = view_report(whole, X, y, cv=folds, return_folds=True, **options)
    except ValueError as error:
        if cv is not None:
            raise
        return Evaluation(score, here=here, why_not=f"The model could not be fitted to parts of these samples: {error}")
    found = Evaluation(score, views, by_fold, by_fold["fold"].nunique(), here)
    if not np.isfinite(found.fold_scores).any():
        return Evaluation(score, here=here, why_not=f"The {score.name} is not defined on parts of these samples.")
    return found


def _permuted(subject: Subject, scoring: Any, random_state: Any) -> pd.DataFrame | None:
    """What a model without kernels loses where a view is permuted; None for others, and without targets."""
    if subject.model is not None or subject.y is None or not isinstance(subject.X, pd.DataFrame):
        return None
    kinds = subject.cohort.kinds_
    groups = {
        view: [name for name in kinds.index[kinds["view"] == view] if name in subject.X] for view in subject.views
    }
    groups = {view: columns for view, columns in groups.items() if columns}
    options = {"groups": groups, "scoring": scoring, "n_repeats": _REPEATS, "random_state": random_state}
    return view_importance(subject.estimator, subject.X, subject.y, **options) if len(groups) > 1 else None


def _score_here(subject: Subject, scoring: Any) -> float:
    if subject.y is None or (subject.task == "novelty" and scoring is None):
        return np.nan
    if scoring is not None or hasattr(subject.estimator, "best_estimator_"):
        return float(check_scoring(subject.estimator, scoring=scoring)(subject.estimator, subject.X, subject.y))
    measure = accuracy_score if subject.task == "classification" else r2_score
    return float(measure(subject.y, subject.predicted)) if subject.n_samples > 1 else np.nan


def _why_not(subject: Subject, cv: Any, scoring: Any) -> str:
    """The reason why there is no cross-validation, or nothing."""
    if cv is False or (isinstance(cv, int) and cv == 0):
        return "Cross-validation was not asked for."
    if subject.y is None:
        return "Cross-validation needs the targets y, which were not given."
    if subject.task == "novelty" and scoring is None:
        return "Cross-validation of novelty detection needs y and a scoring."
    if subject.model is None:
        return "The model has no kernels, so its views cannot be left out one by one."
    if cv is None and subject.n_samples < 4:
        return f"{subject.n_samples} samples are too few for cross-validation."
    return ""


def _folds(subject: Subject, random_state: Any) -> Any:
    """Five folds, or as many as the smallest class has samples (of a regression, as there are pairs); at least two."""
    if subject.task != "classification":
        n_folds = int(np.clip(subject.n_samples // 2, 2, _FOLDS))  # R² takes two samples to be defined
        return KFold(n_folds, shuffle=True, random_state=random_state)
    smallest = np.unique(subject.y, return_counts=True)[1].min()
    return StratifiedKFold(int(np.clip(smallest, 2, _FOLDS)), shuffle=True, random_state=random_state)
