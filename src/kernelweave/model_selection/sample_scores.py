"""What single samples add to a score, for the test of two models on the same held-out samples.

A score that is a mean over samples is taken apart. Of any other score there are the values that it takes where samples
are drawn with replacement, quickly for the area under the ROC curve; what the model predicts is computed once for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from .paired_losses import mean_by_sample, paired_loss_test, paired_score_test
from .statistics import TestResult

N_RESAMPLES = 200  # of a bootstrap: its standard error is then known to 5 per cent
_SEED = 0  # of the bootstrap: all models of all folds see the same resamples

_SAME = 1e-9  # between a score and the mean that it is, relative: metrics may sum in another order
_METRICS = ("accuracy", "R2", "squared", "absolute", "area")  # those that are known, means first
_OUTPUTS = ("predict", "decision_function", "predict_proba", "predict_log_proba", "score_samples")


class Units:
    """What is drawn in a bootstrap, and counted in a test: samples, or groups of them.

    Parameters
    ----------
    groups : array of shape (n_samples,)
        Samples with the same entry are drawn together.
    """

    def __init__(self, groups: Any):
        self.of_sample = np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1)

    @cached_property
    def counts(self) -> np.ndarray:
        """How often each unit is drawn in each resample, of shape (n_resamples, n_units)."""
        n_units = int(self.of_sample.max()) + 1
        drawn = np.random.default_rng(_SEED).integers(n_units, size=(N_RESAMPLES, n_units))
        return np.stack([np.bincount(units, minlength=n_units) for units in drawn])

    def drawn(self, rows: np.ndarray) -> np.ndarray:
        """How often some samples are drawn in each resample, of shape (n_resamples, n_rows)."""
        return self.counts[:, self.of_sample[rows]]


class Scored:
    """The score of a fitted model on the test samples of a fold, and once it is `settled` what it is made of.

    Parameters
    ----------
    model : fitted estimator
    X, y : samples and their targets
    scorer : callable
        From model, samples and targets to the score.
    rows : ndarray of int
        The positions of these samples among all.

    Attributes
    ----------
    score : float
    samples : ndarray or None
        Scores of the samples, whose mean it is.
    resampled : ndarray or None
        Otherwise what it is in each resample of a bootstrap.
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
        """Which metrics the score may be."""
        ranked = _ranked(*self._given)
        is_area = ranked is not None and self._is(_areas(*ranked, np.ones((1, len(self.rows))))[0])
        return {*self._means, *(["area"] if is_area else [])}

    def settle(self, metric: str | None, units: Units) -> None:
        """Take the score apart, as one of its metrics, and forget the model."""
        model, X, y = self._given
        if not np.isfinite(self.score):  # not defined on these samples, and of no use on some of them
            self.resampled = np.full(N_RESAMPLES, np.nan)
        elif metric in self._means:
            self.samples = self._means[metric]
        elif metric == "area":
            ranked: Any = _ranked(model, X, y)
            values, is_positive = ranked
            self.resampled = _areas(values, is_positive, units.drawn(self.rows))
        else:
            self.resampled = _resampled(model, X, y, units.drawn(self.rows), self._scorer)
        self._given, self._scorer, self._means = None, None, {}

    def drawn(self, units: Units) -> np.ndarray:
        """The score in each resample."""
        if self.samples is None:
            return np.asarray(self.resampled)
        counts = units.drawn(self.rows)
        times = counts.sum(axis=1)
        return np.divide(counts @ self.samples, times, out=np.full(len(counts), np.nan), where=times > 0)


def settle(models: Sequence[Scored], units: Units) -> None:
    """Find out what the score is, of all models of a fold, and take it apart.

    A metric is told by its values, for it may be given as any callable. Of a few samples two metrics may have the same
    value by chance, but not for all models, unless these are all right.

    Parameters
    ----------
    models : sequence of Scored
    units : Units
    """
    defined = [one for one in models if np.isfinite(one.score)]
    common = set.intersection(*(one.metrics for one in defined)) if defined else set()
    metric = next((name for name in _METRICS if name in common), None)
    for one in models:
        one.settle(metric, units)


def compared_folds(first: Iterable[Scored], second: Iterable[Scored], units: Units, *, n_train: float) -> TestResult:
    """Test two models that were scored on the same samples of the same folds; NaN where there is one unit only.

    Parameters
    ----------
    first, second : iterable of Scored
        One for each fold.
    units : Units
    n_train : float
        How many samples train a model, on average.
    """
    pairs = list(zip(first, second, strict=True))
    samples = np.unique(np.concatenate([one.rows for one, _ in pairs]))
    own = units.of_sample[samples]
    n_units = len(np.unique(own))
    if n_units < 2:
        return TestResult(np.nan, np.nan)
    if all(one.samples is not None for pair in pairs for one in pair):
        parts = zip(*pairs, strict=True)
        losses = [mean_by_sample([one.rows for one in part], [-one.samples for one in part])[1] for part in parts]
        return paired_loss_test(*losses, n_train=n_train, groups=own)
    drawn = np.stack([b.drawn(units) - a.drawn(units) for a, b in pairs])
    n_known = np.isfinite(drawn).sum(axis=0)
    total = np.where(np.isfinite(drawn), drawn, 0.0).sum(axis=0)
    means = np.divide(total, n_known, out=np.full(len(total), np.nan), where=n_known > 0)
    difference = float(np.mean([b.score - a.score for a, b in pairs]))
    return paired_score_test(difference, means, n_samples=len(samples), n_units=n_units, n_train=n_train)


def _means(model: Any, X: Any, y: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Scores of the samples by metrics that are means: accuracy, R2 (by the variance of these targets), and errors."""
    if not hasattr(model, "predict"):
        return
    predicted, y = np.asarray(model.predict(X)), np.asarray(y)
    if predicted.shape != y.shape:
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


def _areas(values: np.ndarray, is_positive: np.ndarray, counts: np.ndarray) -> np.ndarray:
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
    known = _Remembering(model, X)
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


class _Remembering:
    """A fitted model that looks up what it has predicted for samples, where some of them are drawn again."""

    def __init__(self, model: Any, X: Any):
        self._model, self._X = model, X
        self._outputs: dict[str, np.ndarray] = {}
        self._rows: np.ndarray | None = None
        self._drawn: Any = None

    def at(self, rows: np.ndarray, drawn: Any) -> _Remembering:
        """The same model; `drawn` are the samples at these positions."""
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

        output.__name__ = name  # by which scikit-learn's scorers tell what they have
        return output
