"""Decision values, labels and inner scores of a `CohortModel`, for all classes of its fit and for all samples.

The model inside may know some of the classes only, where others have no sample with a view that the method reads, and
it decides only on samples that have such a view: the others have constant values, the logarithms of the shares of the
classes, the mean target or the average risk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..views import Views
from .scoring import Scoring, positive_place
from .search import Calibration
from .tasks import CLASSES, NUMBERS

LABELS_COUNT = ("accuracy", "balanced_accuracy")  # scores that count right labels of all classes


class CohortValues:
    task_: str
    classes_: np.ndarray
    positive: Any
    scoring_: str
    offsets_: np.ndarray | None
    target_mean_: float
    _prior: np.ndarray

    def _decided(self, model: Any, table: Any) -> np.ndarray:
        """Decision values for all classes of the fit, also where a model was fitted to samples of some only."""
        if self.task_ != CLASSES:
            return model.predict(table)
        values = model.decision_function(table)
        if len(model.classes_) < len(self.classes_):
            values = self._of_all_classes(model, values.reshape(len(values), -1, 1))[:, :, 0]
        offsets = getattr(self, "offsets_", None)  # files of earlier versions have none
        return values if offsets is None else values + offsets

    def _of_all_classes(self, model: Any, parts: np.ndarray) -> np.ndarray:
        """Parts that add up to decision values, (n_samples, n_outputs, n_parts), for all classes of the fit.

        Of a model that was fitted to samples of two out of several classes, the first has the opposite of its decision
        value. A class that a model does not know comes last: its value is below all others, and all in the last part.
        """
        if parts.shape[1] == len(self._constant()):
            return parts
        if parts.shape[1] == 1:
            parts = np.concatenate([0.0 - parts, parts], axis=1)  # 0 stays 0, and never becomes -0
        every = np.zeros((len(parts), len(self.classes_), parts.shape[2]))
        every[:, :, -1] = parts.sum(axis=2).min(axis=1, keepdims=True) - 1.0
        every[:, np.searchsorted(self.classes_, model.classes_)] = parts
        return every

    def _with_constants(self, model: Any, table: Views, decided: np.ndarray) -> np.ndarray:
        constant = self._constant()
        values = np.repeat(constant[None], table.n_samples, axis=0)
        values = values[:, 0] if len(constant) == 1 else values
        if decided.any():
            values[decided] = self._decided(model, table if decided.all() else table.rows(decided))
        return values

    def _constant(self) -> np.ndarray:
        if self.task_ != CLASSES:
            return np.zeros(1) if self.task_ == NUMBERS else np.array([-self.target_mean_])
        logs = np.log(self._prior)
        return logs[1:] - logs[:1] if len(logs) == 2 else logs

    def _score(self, values: np.ndarray, y: np.ndarray) -> float:
        """The inner score of decision values of labels, or of standardised numbers."""
        place = positive_place(self.positive, self.classes_) if self.task_ == CLASSES else 1
        scoring = Scoring(self.scoring_, place)
        if self.task_ != CLASSES:
            return _explained(values, y) if scoring.name == "r2" else scoring.value(y, values, None, 0)
        labels, n_classes = np.searchsorted(self.classes_, y), len(self.classes_)
        predicted = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        shares = Calibration.fit(values, labels).probabilities(values) if scoring.needs_probabilities else None
        return scoring.value(labels, predicted, shares, n_classes)

    def _losses(self, values: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        """What settings are compared by in place of `_score` (see `CohortModel.settings_`); None if it is as fine."""
        if self.task_ != CLASSES:
            return (values - y) ** 2 if self.scoring_ == "r2" else None
        if self.scoring_ not in LABELS_COUNT:
            return None
        labels = np.searchsorted(self.classes_, y)
        errors = Calibration.fit(values, labels).probabilities(values)
        errors[np.arange(len(labels)), labels] -= 1.0
        found = (errors**2).sum(axis=1)
        if self.scoring_ == "accuracy":
            return found
        counts = np.bincount(labels, minlength=len(self.classes_))
        return found * len(labels) / ((counts > 0).sum() * counts[labels])

    def _labels(self, values: np.ndarray) -> np.ndarray:
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]


def _explained(values: np.ndarray | float, y: np.ndarray) -> float:
    """R2 of standardised targets, relative to the variance of all training samples."""
    return 1.0 - float(((values - y) ** 2).mean())
