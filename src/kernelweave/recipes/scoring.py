"""The score that settings and methods are chosen by: which one fits a target, and its value for stored predictions.

Accuracy says little where a class is rare: always predicting the other ones has a high one. So balanced accuracy, the
mean recall of the classes, decides where the smallest class has less than half its even share: of K classes, fewer than
one sample in 2 K. Of numbers, R2 decides; of times to an event, Harrell's C. Any other score of the table below can be
chosen, by scikit-learn's name.

A score that is ``base - mean_i loss_i`` over predicted samples has losses (`Scoring.losses`), which paired tests take.
With the classes c_i of n tested samples, n_c of class c and K classes in all,

==========================  ====================================  ======
score                       loss of sample i                      base
==========================  ====================================  ======
accuracy                    1 if it is wrong                      1
balanced accuracy           n / (K n_c) if it is wrong            1
R2                          (t_i - f_i)^2 / Var(t)                1
log loss, Brier score       see `metrics`                         0
mean absolute error, ...    abs(t_i - f_i), (t_i - f_i)^2         0
==========================  ====================================  ======

The area under the ROC curve, average precision and the C index compare decision values, which different models put on
different scales; they are computed within folds and averaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from ..validation import shown
from .metrics import scores, survival_scores
from .tasks import CLASSES, NUMBERS, SURVIVAL

# Scikit-learn's name: the task, what texts call it, whether it is a share, and whether it needs two classes.
_KNOWN = {
    "accuracy": (CLASSES, "accuracy", True, False),
    "balanced_accuracy": (CLASSES, "balanced accuracy", True, False),
    "f1": (CLASSES, "F1", False, True),
    "f1_macro": (CLASSES, "F1 (macro)", False, False),
    "f1_micro": (CLASSES, "F1 (micro)", False, False),
    "f1_weighted": (CLASSES, "F1 (weighted)", False, False),
    "precision": (CLASSES, "precision", True, True),
    "precision_macro": (CLASSES, "precision (macro)", True, False),
    "recall": (CLASSES, "recall", True, True),
    "recall_macro": (CLASSES, "recall (macro)", True, False),
    "jaccard": (CLASSES, "Jaccard index", False, True),
    "matthews_corrcoef": (CLASSES, "Matthews correlation", False, False),
    "roc_auc": (CLASSES, "ROC AUC", False, False),
    "roc_auc_ovr": (CLASSES, "ROC AUC", False, False),
    "average_precision": (CLASSES, "average precision", False, True),
    "neg_log_loss": (CLASSES, "log loss", False, False),
    "neg_brier_score": (CLASSES, "Brier score", False, False),
    "r2": (NUMBERS, "R²", False, False),
    "explained_variance": (NUMBERS, "explained variance", False, False),
    "neg_mean_absolute_error": (NUMBERS, "mean absolute error", False, False),
    "neg_mean_squared_error": (NUMBERS, "mean squared error", False, False),
    "neg_root_mean_squared_error": (NUMBERS, "root mean squared error", False, False),
    "neg_median_absolute_error": (NUMBERS, "median absolute error", False, False),
    "concordance": (SURVIVAL, "C index", False, False),
}
_AREAS = ("roc_auc", "roc_auc_ovr")
_RANKED = (*_AREAS, "average_precision")
_OF_RANKS = (*_RANKED, "concordance")
_BASES = {"accuracy": 1.0, "balanced_accuracy": 1.0, "r2": 1.0, "neg_log_loss": 0.0, "neg_brier_score": 0.0}
_BASES |= {"neg_mean_absolute_error": 0.0, "neg_mean_squared_error": 0.0}
_EPS = float(np.finfo(float).eps)  # a probability of 0 in the log loss, as in scikit-learn


def default_scoring(task: str, labels: Any = None) -> str:
    """The scikit-learn name of the score that fits a target.

    >>> default_scoring("classification", ["ill"] * 2 + ["well"] * 8), default_scoring("classification", ["a", "b"])
    ('balanced_accuracy', 'accuracy')
    """
    if task != CLASSES:
        return "r2" if task == NUMBERS else "concordance"
    counts = np.unique(np.asarray(labels), return_counts=True)[1]
    return "balanced_accuracy" if counts.min() < 0.5 * counts.sum() / len(counts) else "accuracy"


def positive_place(positive: Any, classes: Any) -> int:
    """The place of the positive one of two sorted classes: the second, or the one that is given, also as text.

    >>> positive_place(None, ["ill", "well"]), positive_place("ill", ["ill", "well"]), positive_place("0", [0, 1])
    (1, 0, 0)
    """
    if positive is None:
        return 1
    names = [str(label) for label in classes]
    if len(names) != 2:
        has = str(len(names)) if names else "numbers"
        raise ValueError(f"positive={str(positive)!r} is for a target of two classes, and this one has {has}")
    if str(positive) not in names:
        there = f"{names[0]!r} and {names[1]!r}"
        raise ValueError(f"positive={str(positive)!r} is no class of the target, which has {there}")
    return names.index(str(positive))


def scoring_named(name: str | None, task: str, labels: Any = None, positive: int = 1) -> Scoring:
    """The score of a name, or for None the one that fits the target; a ValueError where it does not fit."""
    if name is None:
        name = default_scoring(task, labels)
    known = [other for other, (of_task, *_) in _KNOWN.items() if of_task == task]
    if not isinstance(name, str) or name not in known:
        if name in _KNOWN:
            raise ValueError(f"the score {name!r} is for a {_KNOWN[name][0]}, not a {task}; take {', '.join(known)}")
        close = get_close_matches(str(name), known, n=1)
        meant = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"there is no score {shown(name)}; {meant}the scores of a {task} are {', '.join(known)}")
    if Scoring(name).is_of_one_class and len(np.unique(np.asarray(labels))) > 2:
        other = f"{name}_macro" if f"{name}_macro" in _KNOWN else "roc_auc"
        raise ValueError(f"the score {name!r} is for two classes, and there are more; take {other!r}")
    return Scoring(name, positive)


@dataclass(frozen=True)
class Scoring:
    """A score by scikit-learn's name; larger values are better, so that errors are negative.

    Labels are positions of classes, as columns of probabilities are; scores of one of two classes take `positive`.
    """

    name: str
    positive: int = 1

    @property
    def label(self) -> str:
        return _KNOWN[self.name][1]

    @property
    def task(self) -> str:
        return _KNOWN[self.name][0]

    @property
    def is_share(self) -> bool:
        """Whether it is a share of samples, which texts write in per cent."""
        return _KNOWN[self.name][2]

    @property
    def is_error(self) -> bool:
        return self.name.startswith("neg_")

    @property
    def is_mean(self) -> bool:
        return self.name in _BASES

    @property
    def is_balanced(self) -> bool:
        """Whether all classes count as much, whatever their numbers of samples."""
        return self.name == "balanced_accuracy"

    @property
    def is_of_one_class(self) -> bool:
        """Whether it is about the positive one of two classes."""
        return _KNOWN[self.name][3]

    @property
    def needs_probabilities(self) -> bool:
        return self.name in (*_RANKED, "neg_log_loss", "neg_brier_score")

    @property
    def within_folds(self) -> bool:
        return self.name in _OF_RANKS

    def value(self, y: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray | None, n_classes: int) -> float:
        """The score of some predictions; NaN where it is not defined, for want of a class."""
        if not len(y):
            return np.nan
        if self.is_balanced:  # over the classes that occur
            return scores(CLASSES, y, predicted)["balanced accuracy"]
        if self.is_mean:
            return self.base - float(self.losses(y, predicted, probabilities, n_classes).mean())
        if self.task == SURVIVAL:
            return survival_scores(y, predicted)["C index"]
        if self.name in _AREAS:
            return scores(CLASSES, y, predicted, probabilities, np.arange(n_classes))["ROC AUC"]
        if n_classes == 2 and self.positive == 0:  # scikit-learn's positive class is the second one
            y, predicted = 1 - y, 1 - predicted
            probabilities = None if probabilities is None else probabilities[:, ::-1]
        stored = (_StoredClasses if self.task == CLASSES else _StoredNumbers)(predicted, probabilities, n_classes)
        if self.within_folds and len(np.unique(y)) < 2:
            return np.nan
        return float(get_scorer(self.name)(stored, np.arange(len(y)), y))

    @property
    def base(self) -> float:
        return _BASES[self.name]

    def losses(
        self, y: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray | None, n_classes: int
    ) -> np.ndarray:
        """What each sample loses, for a score that is a mean over samples."""
        rows = np.arange(len(y))
        if self.name in ("accuracy", "balanced_accuracy"):
            wrong = (predicted != y).astype(np.float64)
            if self.name == "accuracy":
                return wrong
            counts = np.bincount(y, minlength=n_classes)
            return wrong * len(y) / (np.count_nonzero(counts) * np.maximum(counts, 1))[y]
        if self.name == "r2":
            squares, variance = (y - predicted) ** 2, float(np.var(y))
            return squares / variance if variance > 0.0 else np.full(len(y), float(squares.any()))
        if self.name.startswith("neg_mean"):
            return np.abs(y - predicted) if "absolute" in self.name else (y - predicted) ** 2
        assert probabilities is not None
        if self.name == "neg_log_loss":
            return -np.log(np.maximum(probabilities[rows, y], _EPS))
        squares = (probabilities - (y[:, None] == np.arange(n_classes))) ** 2
        return squares[:, 1] if n_classes == 2 else squares.sum(axis=1)


class _Stored(BaseEstimator):
    """A model of what it has predicted: X are positions."""

    def __init__(self, predicted: Any = None, probabilities: Any = None, n_classes: int = 0):
        self.predicted, self.probabilities, self.n_classes = predicted, probabilities, n_classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> np.ndarray:
        return self.predicted[X]


class _StoredClasses(ClassifierMixin, _Stored):
    @property
    def classes_(self) -> np.ndarray:
        return np.arange(self.n_classes)

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.probabilities[X]


class _StoredNumbers(RegressorMixin, _Stored):
    pass
