"""Scores of predictions, by the names that tables and reports show.

n samples with classes y_i or numbers t_i, p_ic the probability of class c for sample i, f_i a predicted number:

=================  =================================================================================================
name               value
=================  =================================================================================================
accuracy           share of samples whose class is predicted
balanced accuracy  mean over the classes that occur of the share of their samples that is predicted right
ROC AUC            share of pairs of a sample of a class and one of the others in which p_ic is larger for the first,
                   ties counted half; of the second of two classes, else the mean over the classes that occur
log loss           mean of -log p_i,y_i, where 0 counts as the smallest float step above 0, 2.2e-16
Brier score        mean of sum_c (p_ic - [y_i = c])^2; of two classes, of the second alone
R2                 1 - sum_i (t_i - f_i)^2 / sum_i (t_i - mean t)^2
MAE, RMSE          mean of |t_i - f_i|; root of the mean of (t_i - f_i)^2
C index            Harrell's: of the pairs of samples of which one is known to have the event first, the share in which
                   it has the larger risk, ties of risks counted half
Brier score        of survival, the mean over a range of times of the mean of (S_i(t) - [no event until t])^2, censored
over time          samples weighted for (`survival.integrated_brier_score`)
=================  =================================================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from ..survival import concordance, integrated_brier_score
from ..validation import shown

CLASS_SCORES = ("accuracy", "balanced accuracy")
PROBABILITY_SCORES = ("ROC AUC", "log loss", "Brier score")
NUMBER_SCORES = ("R2", "MAE", "RMSE")
SURVIVAL_SCORES = ("C index", "Brier score over time")
SMALLER_IS_BETTER = frozenset({"log loss", "Brier score", "MAE", "RMSE", "Brier score over time"})
SHARES = frozenset({"accuracy", "balanced accuracy"})  # scores that texts write in per cent
SHOWN_AS = {"R2": "R²"}
_LEAST = float(np.finfo(float).eps)


def scores(task: str, y_true: Any, predicted: Any, probabilities: Any = None, classes: Any = None) -> dict[str, float]:
    """All scores of some predictions, by name; NaN where one is undefined.

    Parameters
    ----------
    task : {"classification", "regression"}
    y_true, predicted : array of shape (n_samples,)
        Class labels of one type, or numbers.
    probabilities : array of shape (n_samples, n_classes), optional
        Without them there is no ROC AUC, log loss or Brier score.
    classes : array of shape (n_classes,), optional
        What the columns of `probabilities` are; by default the labels in `y_true`, sorted. A sample of another class
        counts as one for whose class the probability is 0.

    Returns
    -------
    dict
        "accuracy" and "balanced accuracy", with probabilities also "ROC AUC", "log loss" and "Brier score"; of a
        regression "R2", "MAE" and "RMSE".

    Examples
    --------
    >>> found = scores("classification", ["a", "b", "b"], ["a", "b", "a"], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> {name: round(value, 2) for name, value in found.items()}
    {'accuracy': 0.67, 'balanced accuracy': 0.75, 'ROC AUC': 1.0, 'log loss': 0.41, 'Brier score': 0.14}
    """
    if task not in ("classification", "regression"):
        raise ValueError(f'task must be "classification" or "regression", not {shown(task)}')
    given = np.asarray(y_true), np.asarray(predicted)
    if given[0].ndim != 1 or given[0].shape != given[1].shape:
        raise ValueError(
            f"y_true and predicted must be two arrays of one length, not of shapes {given[0].shape} and "
            f"{given[1].shape}"
        )
    if task == "regression":
        return _of_numbers(given[0].astype(np.float64), given[1].astype(np.float64))
    found = _of_labels(*given)
    if probabilities is not None:
        found |= _of_probabilities(given[0], np.asarray(probabilities, dtype=np.float64), classes)
    return found


def survival_scores(y: np.ndarray, risks: Any, survival: Any = None, times: Any = None) -> dict[str, float]:
    """The scores of predicted risks, and of the chances of no event until each of some times; NaN where undefined.

    Parameters
    ----------
    y : structured array of shape (n_samples,)
        Times and events, as `survival.outcome` makes them.
    risks : array of shape (n_samples,)
    survival : array of shape (n_samples, n_times), optional
        Without it, or with fewer than two times, there is no Brier score.
    times : array of shape (n_times,), optional
        Increasing; those beyond the times in `y` do not count.

    Examples
    --------
    >>> from kernelweave.survival import outcome
    >>> survival_scores(outcome([2.0, 5.0, 7.0], [True, False, True]), [1.5, 0.3, 0.4])
    {'C index': 1.0}
    """
    found = {"C index": float(concordance(y, risks)) if has_pairs(y) else np.nan}
    if survival is None or times is None or not len(y):
        return found
    times, survival = np.asarray(times), np.asarray(survival)
    inside = (times >= y["time"].min()) & (times < y["time"].max())
    if inside.sum() > 1:
        found["Brier score over time"] = float(integrated_brier_score(y, y, survival[:, inside], times[inside]))
    return found


def has_pairs(y: np.ndarray) -> bool:
    """Whether there are two samples of which one is known to have the event first."""
    times = y["time"][y["event"]]
    if not len(times):
        return False
    first = float(times.min())
    return bool((y["time"] > first).any() or (~y["event"] & (y["time"] == first)).any())


def _of_labels(y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    if not len(y):
        return dict.fromkeys(CLASS_SCORES, np.nan)
    right = y == predicted
    shares = [right[y == label].mean() for label in set(y.tolist())]
    return {"accuracy": float(right.mean()), "balanced accuracy": float(np.mean(shares))}


def _of_probabilities(y: np.ndarray, probabilities: np.ndarray, classes: Any) -> dict[str, float]:
    labels = np.unique(y) if classes is None else np.asarray(classes)
    if probabilities.shape != (len(y), len(labels)):
        raise ValueError(
            f"probabilities must be of shape (n_samples, n_classes), here {(len(y), len(labels))}, not "
            f"{probabilities.shape}"
        )
    if not len(y):
        return dict.fromkeys(PROBABILITY_SCORES, np.nan)
    own = y[:, None] == labels[None, :]
    two = len(labels) == 2
    areas = [_area(own[:, place], probabilities[:, place]) for place in ([1] if two else range(len(labels)))]
    occurring = [area for area in areas if not np.isnan(area)]
    likely = np.where(own, probabilities, 0.0).sum(axis=1)
    squares = (probabilities - own) ** 2
    brier = squares[:, 1] if two else squares.sum(axis=1)
    return {
        "ROC AUC": float(np.mean(occurring)) if occurring else np.nan,
        "log loss": float(-np.log(np.maximum(likely, _LEAST)).mean()),
        "Brier score": float(brier.mean()),
    }


def _area(is_own: np.ndarray, values: np.ndarray) -> float:
    n_own = int(is_own.sum())
    if n_own in (0, len(is_own)):
        return np.nan
    ranks = rankdata(values)[is_own]
    return float((ranks.mean() - (n_own + 1) / 2) / (len(is_own) - n_own))


def _of_numbers(y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    if not len(y):
        return dict.fromkeys(NUMBER_SCORES, np.nan)
    errors = y - predicted
    total = float(((y - y.mean()) ** 2).sum())
    return {
        "R2": 1.0 - float((errors**2).sum()) / total if total > 0.0 else np.nan,
        "MAE": float(np.abs(errors).mean()),
        "RMSE": float(np.sqrt((errors**2).mean())),
    }
