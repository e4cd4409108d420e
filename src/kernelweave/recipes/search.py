"""Inner validation: folds, the setting that predicts best in them, and probabilities from their decision values.

For each fold and each setting a model is fitted to the training part, and its decision values of the other part are
kept: they give the score, and those of the setting that wins give the calibration, without any further fit. Kernel
values are computed once for each fold and shared by the settings of all candidates, where their combiners read Gram
matrices; values of C are a path, each solution the start of the next.

Settings are compared by losses of the samples where there are some, rather than by the score: few labels change from
one setting to the next, and so the share of right ones chooses by chance. `recipes.choice` has what was measured.

`Calibration` turns decision values into probabilities. Two classes: Platt's sigmoid, Pr(second class) =
1 / (1 + exp(-(slope f + intercept))), with his targets (n_+ + 1) / (n_+ + 2) and 1 / (n_- + 2) in place of 1 and 0
(Platt 1999, Probabilistic outputs for support vector machines). More classes: the softmax of slope times the decision
values, a temperature of 1 / slope, so that the largest probability is always that of the largest decision value.
Platt's sigmoid need not be 1/2 at the decision value 0, where the label changes. From there to where it is 1/2,
probabilities are held just beyond 1/2, so that the more probable class is always the one that is predicted. Constants
minimise the log loss of decision values of samples that the model was not fitted to.

`SurvivalCalibration`: from risks to the chance of no event until a time, whatever model the risks are of.

With v the risk of a sample, ``S(t) = exp(-H(t) exp(slope v))``: a Cox model of one variable, fitted to risks of samples
that the model was not fitted to, as Platt's sigmoid is of classes. A penalised model is too timid and an unpenalised
one too bold; the slope, which maximises the partial likelihood (risks of different folds are not compared), corrects
either. It is penalised by 1/2 (slope spread)^2, as one more sample would, so that it has a limit where risks order all
events. H is Breslow's estimate (`survival.breslow`) for ``slope v``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logsumexp
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..estimators.base import KernelMachineEstimator
from ..estimators.reuse import SharedFoldKernels, fit_path
from ..kernels import named_kernels
from ..kernels.preparation import are_equal
from ..survival import breslow
from ..validation.schemas import Schema, Sizes, numbers, refuse
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
    # the one with the least mean loss or the best mean score; the first of those that are equal
    setting: dict[str, Any]
    score: float  # its mean score, NaN where there is no fold
    table: pd.DataFrame  # columns ``setting`` (as text), ``score``, ``std`` and, where settings have losses, ``loss``
    # (n_samples,) or (n_samples, n_outputs): decision values of the best setting for samples that the model was not
    # fitted to; NaN for those never tested
    values: np.ndarray
    losses: np.ndarray | None = None  # (n_tested,): its losses, where they decide


@dataclass
class KnownFit:
    """What the search of a method found, and its model with the best setting, fitted to all samples, once there is."""

    found: Found
    seconds: float = 0.0  # of the search
    fit_seconds: float = 0.0
    model: Any = None
    issued: list[Any] = field(default_factory=list)  # warnings of the fit
    notes: list[str] = field(default_factory=list)


_remembered: ContextVar[list[Any] | None] = ContextVar("remembered", default=None)


@contextmanager
def remembering(store: list[Any]) -> Iterator[None]:
    """Fits of methods to the same samples in `store` are taken as they are, and new ones are added to it."""
    token = _remembered.set(store)
    try:
        yield
    finally:
        _remembered.reset(token)


_OF_ONE_FIT = ("method", "verbose", "n_jobs")  # parameters of which the fit of a method does not depend


def known_fits(model: Any, X: Any, targets: np.ndarray) -> dict[str, KnownFit]:
    """The fits by method to these samples, with these parameters; a dict of its own where nothing is remembered."""
    store = _remembered.get()
    if store is None:
        return {}
    given = {name: value for name, value in model.get_params(deep=False).items() if name not in _OF_ONE_FIT}
    for source, labels, parameters, known in store:
        same = source is X and np.array_equal(labels, targets)
        if same and are_equal(parameters, given):
            return known
    store.append((X, targets, given, {}))
    return store[-1][-1]


@dataclass(frozen=True)
class Candidate:
    make: Callable[[np.ndarray, Views], Any]  # an unfitted model for training samples, at some positions
    grid: Mapping[str, Sequence[Any]]

    @property
    def settings(self) -> list[dict[str, Any]]:
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]


def search(
    candidates: Mapping[str, Candidate],
    table: Views,
    y: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    groups: np.ndarray | None = None,
    decide: Callable[[Any, Views, np.ndarray, np.ndarray], np.ndarray],
    score: Callable[[np.ndarray, np.ndarray], float],
    losses: Callable[[np.ndarray, np.ndarray], np.ndarray | None] = lambda values, y: None,
    shape: tuple[int, ...],
) -> dict[str, Found]:
    """Try all settings of each candidate on all folds: what was found for each.

    `decide` takes a fitted model, other samples, and positions of the samples of its fit and of the others, and returns
    decision values of the others; those of all samples have `shape`. A larger `score` of decision values and targets,
    which are labels or standardised numbers, is better, and so are smaller `losses` of samples, which choose where they
    are not None.
    """
    settings = {name: candidate.settings for name, candidate in candidates.items()}
    values = {name: [np.full(shape, np.nan) for _ in own] for name, own in settings.items()}
    scores: dict[str, list[list[float]]] = {name: [[] for _ in own] for name, own in settings.items()}
    n_fits = len(splits) * sum(map(len, settings.values()))
    show, done = _watching.get(), 0
    for train, test in splits:
        part, rest = table.rows(train), table.rows(test)
        models = {name: candidate.make(train, part) for name, candidate in candidates.items()}
        models = _sharing_kernels(models, settings, part, rest, y[train])
        for name, model in models.items():
            for place, one in _fitted(model, settings[name], part, y[train], groups, train):
                decided = decide(one, rest, train, test)
                values[name][place][test] = decided
                scores[name][place].append(score(decided, y[test]))
                done += 1
                if show is not None:
                    show(done, n_fits)
    found = {}
    for name, own in settings.items():
        lost = []
        for tried in values[name]:
            tested = np.isfinite(tried.reshape(len(tried), -1)).all(axis=1)
            lost.append(losses(tried[tested], y[tested]) if tested.any() else None)
        found[name] = _best(own, scores[name], values[name], lost)
    return found


def _best(
    settings: list[dict[str, Any]],
    scores: list[list[float]],
    values: list[np.ndarray],
    losses: list[np.ndarray | None],
) -> Found:
    defined = [[value for value in own if np.isfinite(value)] for own in scores]
    means = np.array([np.mean(own) if own else np.nan for own in defined])
    lost = np.array([np.nan if own is None else own.mean() for own in losses])
    worth = means if np.isnan(lost).any() else -lost
    best = (
        (len(settings) - 1) // 2 if np.isnan(worth).all() else int(np.flatnonzero(worth >= np.nanmax(worth) - TIE)[0])
    )
    report = pd.DataFrame(
        {
            "setting": pd.Series([setting_text(setting) for setting in settings], dtype=object),
            "score": means,
            "std": [np.std(own) if own else np.nan for own in defined],
        }
    )
    if worth is means:
        return Found(settings[best], float(means[best]), report, values[best])
    return Found(settings[best], float(means[best]), report.assign(loss=lost), values[best], losses[best])


def fitted(model: Any, table: Any, y: np.ndarray, groups: np.ndarray | None) -> Any:
    if groups is not None and has_fit_parameter(model, "groups"):
        return model.fit(table, y, groups=groups)
    return model.fit(table, y)


def setting_text(setting: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in setting.items()
    )


def _sharing_kernels(
    models: dict[str, Any],
    settings: Mapping[str, list[dict[str, Any]]],
    part: Views,
    rest: Views,
    targets: np.ndarray,
) -> dict[str, Any]:
    """The models, whose kernels look up values that are computed once for this fold, where several fits need them."""
    alike = [name for name, model in models.items() if isinstance(model, KernelMachineEstimator)]
    alike = [name for name in alike if SharedFoldKernels(models[name], settings[name][0]).possible]
    if sum(len(settings[name]) for name in alike) < 2:
        return models
    own = {name: named_kernels(models[name].kernels) for name in alike}
    every = {key: kernel for kernels in own.values() for key, kernel in kernels}
    shared = SharedFoldKernels(clone(models[alike[0]]).set_params(kernels=list(every.items())), settings[alike[0]][0])
    lookups = dict(shared.parameters([shared.of_parts(part, rest, targets)])["kernels"])
    return models | {
        name: clone(models[name]).set_params(kernels=[(key, lookups[key]) for key, _ in kernels])
        for name, kernels in own.items()
    }


def _fitted(
    model: Any,
    settings: list[dict[str, Any]],
    part: Any,
    targets: np.ndarray,
    groups: np.ndarray | None,
    train: np.ndarray,
) -> Iterator[tuple[int, Any]]:
    """The model fitted with each setting, and the place of the setting; values of C are a path."""
    if "C" not in settings[0] or not isinstance(model, KernelMachineEstimator):
        own = None if groups is None else groups[train]
        for place, setting in enumerate(settings):
            yield place, fitted(clone(model).set_params(**setting), part, targets, own)
        return
    paths: dict[tuple, list[int]] = {}
    for place, setting in enumerate(settings):
        paths.setdefault(tuple(value for name, value in setting.items() if name != "C"), []).append(place)
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
    """The slope of the softmax, positive; labels are smoothed as Platt's are, so that it has a limit without errors."""
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


# Chances of survival

_FLATTEST, _STEEPEST = 1e-3, 20.0  # slope times the spread of the risks
_SAME = 1e-9  # spread relative to the size of the risks that counts as none
_LARGEST = 700.0  # of a logarithm of a hazard: that of what is nearly the largest number


@dataclass(frozen=True, eq=False)
class SurvivalCalibration:
    """The slope, and the hazard H, cumulated over the times of events, of a sample of risk 0."""

    slope: np.ndarray  # (1,): positive
    times: np.ndarray  # (n_times,): increasing
    hazard: np.ndarray  # (n_times,): not decreasing

    _saved = Schema(
        {
            "slope": numbers(1, low=np.finfo(float).tiny),
            "times": numbers("times", low=0.0),
            "hazard": numbers("times", low=0.0),
        }
    )

    @classmethod
    def fit(cls, risks: np.ndarray, outcomes: np.ndarray, folds: np.ndarray) -> SurvivalCalibration:
        """Of risks by different models, one for each fold, which have no common level."""
        centred = risks.astype(np.float64)
        for fold in np.unique(folds):
            centred[folds == fold] -= centred[folds == fold].mean()
        spread = float(centred.std())
        if spread <= _SAME * max(float(np.abs(risks).max()), np.finfo(float).tiny):  # one risk for all, up to rounding
            centred, spread = np.zeros(len(centred)), 1.0
        time, event = outcomes["time"], outcomes["event"]
        parts = [(time[part], event[part], centred[part] / spread) for part in (folds == f for f in np.unique(folds))]

        def loss(slope: float) -> float:
            return sum(_partial_loss(t, delta, slope * v) for t, delta, v in parts) + 0.5 * slope**2

        slope = float(minimize_scalar(loss, bounds=(_FLATTEST, _STEEPEST), method="bounded").x) / spread
        hazard: Any = breslow(outcomes, slope * centred)
        return cls(np.array([slope]), hazard.times, hazard.values)

    def survival(self, risks: np.ndarray, times: np.ndarray) -> np.ndarray:
        """The chance of no event until each time, of shape (n_samples, n_times)."""
        known = np.concatenate([[0.0], self.hazard])[np.searchsorted(self.times, times, side="right")]
        return np.exp(-known * np.exp(np.minimum(self.slope[0] * risks, _LARGEST))[:, None])

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        for name, step in (("times", np.diff(self.times) > 0), ("hazard", np.diff(self.hazard) >= 0)):
            if not step.all():
                refuse(f"{path}.{name}", "does not increase")


def _partial_loss(time: np.ndarray, event: np.ndarray, risks: np.ndarray) -> float:
    """The negative logarithm of Cox's partial likelihood of risks v, ties as Breslow's.

    ``sum_i delta_i (log sum_{t_j >= t_i} exp(v_j) - v_i)``.
    """
    order = np.argsort(-time, kind="stable")
    later = -time[order]
    at_risk = np.logaddexp.accumulate(risks[order])[np.searchsorted(later, later, side="right") - 1]
    return float((at_risk - risks[order])[event[order]].sum())
