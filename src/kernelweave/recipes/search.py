"""Inner validation: folds, the setting that predicts best in them, and probabilities from their decision values.

For each fold and each setting a model is fitted to the training part, and its decision values of the other part are
kept: they give the score, and those of the setting that wins give the calibration, without any further fit. Kernel
values are computed once for each fold and shared by its settings, where the combiner reads Gram matrices; values of C
are a path, each solution the start of the next.

`Calibration` turns decision values into probabilities. Two classes: Platt's sigmoid, Pr(second class) =
1 / (1 + exp(-(slope f + intercept))), with his targets (n_+ + 1) / (n_+ + 2) and 1 / (n_- + 2) in place of 1 and 0
(Platt 1999, Probabilistic outputs for support vector machines). More classes: the softmax of slope times the decision
values, a temperature of 1 / slope, so that the largest probability is always that of the largest decision value.
Platt's sigmoid need not be 1/2 at the decision value 0, where the label changes. From there to where it is 1/2,
probabilities are held just beyond 1/2, so that the more probable class is always the one that is predicted. Constants
minimise the log loss of decision values of samples that the model was not fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..estimators.base import KernelMachineEstimator
from ..estimators.reuse import SharedFoldKernels, fit_path
from ..validation.schemas import Schema, numbers
from ..views import Views


def balanced_folds(
    groups: np.ndarray, labels: np.ndarray, n_folds: int, random_state: np.random.RandomState
) -> np.ndarray:
    """The fold of each sample.

    Groups are dealt out one by one, large ones first and in random order among those of one size, each to the fold in
    which ``sum_c (n_cf / n_c)^2`` grows least (n_cf samples of class c in fold f, n_c in all). Unlike scikit-learn's
    splitters it takes classes of a single sample, and fewer groups than folds: some folds are empty then. Labels are
    classes from 0, all 0 for a regression.
    """
    _, group_of = np.unique(groups, return_inverse=True)
    group_of = group_of.reshape(-1)
    counts = np.zeros((group_of.max() + 1, labels.max() + 1))
    np.add.at(counts, (group_of, labels), 1.0)
    counts /= np.maximum(counts.sum(axis=0), 1.0)
    order = random_state.permutation(len(counts))
    order = order[np.argsort(-np.bincount(group_of)[order], kind="stable")]
    filled = np.zeros((n_folds, counts.shape[1]))
    fold_of = np.empty(len(counts), dtype=int)
    for group in order:
        growth = 2.0 * filled @ counts[group]
        # Classes of one sample each would all go to the first fold: among equals the emptiest one takes it.
        best = np.flatnonzero(growth <= growth.min() + 1e-12)
        fold = best[filled[best].sum(axis=1).argmin()]
        filled[fold] += counts[group]
        fold_of[group] = fold
    return fold_of[group_of]


def inner_splits(
    labels: np.ndarray,
    groups: np.ndarray | None,
    n_folds: int,
    random_state: np.random.RandomState,
    *,
    only_first: bool = False,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and validation samples of each fold, or of the first only; folds that would be empty are left out.

    A class of one sample is in the training part of every fold, and a class of two or more is in each training part
    too, unless groups keep it together.
    """
    own = np.arange(len(labels)) if groups is None else groups
    folds = balanced_folds(own, labels, n_folds, random_state)
    tested = np.bincount(labels)[labels] > 1
    splits = []
    for fold in range(n_folds):
        test = np.flatnonzero((folds == fold) & tested)
        # A sample that is its class' only one trains in every fold, unless others of its group are tested.
        kept = ~tested & ~np.isin(own, own[test])
        train = np.flatnonzero((folds != fold) | kept)
        if len(test) and len(train) > 1:
            splits.append((train, test))
    return splits[:1] if only_first else splits


TIE = 1e-12
_watching: ContextVar[Callable[[int, int], None] | None] = ContextVar("watching", default=None)


@contextmanager
def watched(show: Callable[[int, int], None]) -> Iterator[None]:
    token = _watching.set(show)
    try:
        yield
    finally:
        _watching.reset(token)


@dataclass(frozen=True)
class Found:
    setting: dict[str, Any]  # the one with the best mean score; the first of those that are equal
    score: float  # its mean score, NaN where there is no fold
    table: pd.DataFrame  # columns ``setting`` (as text), ``score`` and ``std``
    # (n_samples,) or (n_samples, n_outputs): decision values of the best setting for samples that the model was not
    # fitted to; NaN for those never tested
    values: np.ndarray


def search(
    make: Callable[[np.ndarray], Any],
    grid: Mapping[str, Sequence[Any]],
    table: Any,
    y: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    groups: np.ndarray | None = None,
    decide: Callable[[Any, np.ndarray, np.ndarray], np.ndarray],
    score: Callable[[np.ndarray, np.ndarray], float],
    shape: tuple[int, ...],
) -> Found:
    """Try the settings of a grid on all folds of a table, a data frame or `Views`.

    `make` gives an unfitted model for training samples at some positions. `decide` takes a fitted model, and positions
    of the samples of its fit and of others, and returns decision values of the others; those of all samples have
    `shape`. A larger `score` of decision values and targets, which are labels or standardised numbers, is better.
    """
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    values = [np.full(shape, np.nan) for _ in settings]
    scores: list[list[float]] = [[] for _ in settings]
    show, done = _watching.get(), 0
    for train, test in splits:
        for place, model in _fitted(make(train), settings, table, y, train, test, groups):
            decided = decide(model, train, test)
            values[place][test] = decided
            scores[place].append(score(decided, y[test]))
            done += 1
            if show is not None:
                show(done, len(splits) * len(settings))
    defined = [[value for value in own if np.isfinite(value)] for own in scores]
    means = np.array([np.mean(own) if own else np.nan for own in defined])
    best = (
        (len(settings) - 1) // 2 if np.isnan(means).all() else int(np.flatnonzero(means >= np.nanmax(means) - TIE)[0])
    )
    report = pd.DataFrame(
        {
            "setting": pd.Series([setting_text(setting) for setting in settings], dtype=object),
            "score": means,
            "std": [np.std(own) if own else np.nan for own in defined],
        }
    )
    return Found(settings[best], float(means[best]), report, values[best])


def fitted(model: Any, table: Any, y: np.ndarray, groups: np.ndarray | None) -> Any:
    if groups is not None and has_fit_parameter(model, "groups"):
        return model.fit(table, y, groups=groups)
    return model.fit(table, y)


def setting_text(setting: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in setting.items()
    )


def _fitted(
    model: Any,
    settings: list[dict[str, Any]],
    table: Any,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    groups: np.ndarray | None,
) -> Iterator[tuple[int, Any]]:
    names = list(settings[0])
    if isinstance(model, KernelMachineEstimator) and len(settings) > 1:
        shared = SharedFoldKernels(model, names)
        if shared.possible:
            model = clone(model).set_params(
                **shared.parameters([shared.of_fold(table, y, train.tolist(), test.tolist())])
            )
    part, targets = table.rows(train) if isinstance(table, Views) else table.iloc[train], y[train]
    if "C" not in names or not isinstance(model, KernelMachineEstimator):
        own = None if groups is None else groups[train]
        for place, setting in enumerate(settings):
            yield place, fitted(clone(model).set_params(**setting), part, targets, own)
        return
    paths: dict[tuple, list[int]] = {}
    for place, setting in enumerate(settings):
        paths.setdefault(tuple(setting[name] for name in names if name != "C"), []).append(place)
    for places in paths.values():
        others = {name: value for name, value in settings[places[0]].items() if name != "C"}
        start = clone(model).set_params(**others)
        path = fit_path(start, part, targets, "C", [settings[place]["C"] for place in places])
        yield from zip(places, path, strict=True)


# Slope times the spread of decision values: probabilities are nearly 1/2 or the share of a class, or 0 and 1.
_FLATTEST, _STEEPEST = 1e-3, 1e3
_SAME, _SMALLEST = 1e-9, 1e-150  # spread relative to the size of decision values, and size, that count as none
_HELD = 1e-3  # share of the slope between 0 and where the sigmoid is 1/2
_LEAST = 4.0 * float(np.finfo(float).eps)  # of log-odds, so that a lead within rounding is one of probabilities, too


@dataclass(frozen=True, eq=False)
class Calibration:
    """Constants that turn decision values into probabilities."""

    slope: np.ndarray  # (1,): positive
    intercept: np.ndarray  # (1,): of two classes; 0 for more

    _saved = Schema({"slope": numbers(1, low=np.finfo(float).tiny), "intercept": numbers(1)})

    @classmethod
    def fit(cls, values: np.ndarray, labels: np.ndarray) -> Calibration:
        size = float(np.abs(values).max())
        size = size if size > _SMALLEST else 1.0
        values = values / size
        middle = float(values.mean()) if values.ndim == 1 else values.mean(axis=1, keepdims=True)
        values = values - middle
        spread = float(values.std())
        if spread <= _SAME:  # all samples have one decision value, up to rounding
            values, spread = np.zeros_like(values), 1.0
        if values.ndim > 1:
            return cls(np.array([_temperature(values / spread, labels) / spread / size]), np.zeros(1))
        slope, intercept = _sigmoid(values / spread, labels)
        return cls(np.array([slope / spread / size]), np.array([intercept - slope * middle / spread]))

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """Probabilities of all classes, of shape (n_samples, n_classes)."""
        if values.ndim == 1:
            scores, held = self.slope[0] * values + self.intercept[0], _HELD * self.slope[0] * np.abs(values)
            held = np.maximum(held, _LEAST)
            scores = np.where(values > 0, np.maximum(scores, held), np.minimum(scores, -held))
            return np.column_stack([expit(-scores), expit(scores)])
        scores = self.slope[0] * values
        scores = scores - scores.max(axis=1, keepdims=True)
        odds = np.exp(scores)
        odds[np.arange(len(values)), values.argmax(axis=1)] = 1.0 + _LEAST
        return odds / odds.sum(axis=1, keepdims=True)


def _sigmoid(values: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Slope, positive, and intercept of Platt's sigmoid."""
    positive = int((labels == 1).sum())
    negative = len(labels) - positive
    target = np.where(labels == 1, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        scores = theta[0] * values + theta[1]
        residual = expit(scores) - target
        total = np.logaddexp(0.0, scores) - target * scores
        return float(total.mean()), np.array([(residual * values).mean(), residual.mean()])

    start = np.array([1.0, np.log((positive + 1.0) / (negative + 1.0))])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(_FLATTEST, _STEEPEST), (None, None)])
    return float(found.x[0]), float(found.x[1])


def _temperature(values: np.ndarray, labels: np.ndarray) -> float:
    """The slope of the softmax, positive.

    Labels are smoothed, as Platt's targets are: all classes share 1 / (n + 2) of each. Otherwise the slope would grow
    without limit where all decisions are right.
    """
    n_samples = len(values)
    weight = 1.0 / (n_samples + 2.0)
    own = values[np.arange(n_samples), labels]
    mean = values.mean(axis=1)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        scores = theta[0] * values
        log_sum = logsumexp(scores, axis=1)
        expected = (np.exp(scores - log_sum[:, None]) * values).sum(axis=1)
        target = (1.0 - weight) * own + weight * mean
        return float((log_sum - theta[0] * target).mean()), np.array([(expected - target).mean()])

    found = minimize(loss, np.array([1.0]), jac=True, method="L-BFGS-B", bounds=[(_FLATTEST, _STEEPEST)])
    return float(found.x[0])
