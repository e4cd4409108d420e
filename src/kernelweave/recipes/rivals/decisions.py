"""What the models of this room share: targets, labels from decision values, tables of contributions, scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.validation import check_is_fitted

from ...estimators.classifier import EPS, without_ties
from ...estimators.explanations import part_names
from ...validation.inputs import check_labels, check_numeric_target, encode_labels


class Decisions(BaseEstimator):
    """Base of models with `task_` and, for classification, `classes_`."""

    task_: str
    classes_: np.ndarray
    n_features_in_: int

    def _targets(self, y: Any, n_samples: int) -> np.ndarray:
        """Positions in `classes_`, or numbers; sets `task_` and `classes_`."""
        for name in ("classes_", "class_count_"):
            self.__dict__.pop(name, None)
        if self.task_ == "classification":
            self.classes_, labels = encode_labels(self, check_labels(self, y, n_samples))
            self.class_count_ = np.bincount(labels).astype(np.float64)
            return labels
        values, names = check_numeric_target(self, y, n_samples)
        if names is not None and values.shape[1] != 1:
            raise ValueError(f"{type(self).__name__} takes one target, but y has {values.shape[1]} columns")
        return np.ravel(values)

    def _outputs(self) -> list[Any]:
        """What the columns of decision values stand for: all classes, or the only output."""
        several = self.task_ == "classification" and len(self.classes_) > 2
        return list(self.classes_) if several else [0]

    def _task(self) -> str:
        """The task that the parameters state."""
        raise NotImplementedError

    def _n_terms(self) -> int:
        """How many terms a decision value sums."""
        raise NotImplementedError

    def _decided(self, X: Any) -> np.ndarray:
        """Decision values of shape (n_samples, n_outputs)."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values: (n_samples,) for two classes (positive for ``classes_[1]``) or a regression.

        For more classes they have the shape (n_samples, n_classes). Those of a regression are its predictions.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        values = self._decided(X)

        def rounding(rows: np.ndarray) -> np.ndarray:
            return EPS * self._n_terms() * (1.0 + np.abs(values[rows]))

        return without_ties(_as_public, values, vars(self).get("class_count_"), rounding)

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, those with the largest decision value, or predicted numbers.

        Of classes whose values differ by no more than rounding, it is the most frequent one.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
        """
        values = self.decision_function(X)
        if self.task_ == "regression":
            return values
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    def score(self, X: Any, y: Any) -> float:
        """Accuracy, or the share of variance that a regression explains (R2).

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        """
        measure = accuracy_score if self.task_ == "classification" else r2_score
        return float(measure(y, self.predict(X)))

    def _as_contributions(self, parts: np.ndarray, views: list[str], X: Any) -> pd.DataFrame:
        """Parts of shape (n_samples, n_outputs, n_views + 1) as a data frame; the last part is the intercept."""
        names = part_names(views)
        columns = pd.Index(names)
        if parts.shape[1] > 1:
            columns = pd.MultiIndex.from_product([self._outputs(), names], names=["output", "kernel"])
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(parts.reshape(len(parts), -1), columns=columns, index=index)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        if self._task() == "classification":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags


def _as_public(values: np.ndarray) -> np.ndarray:
    return values[:, 0] if values.shape[1] == 1 else values
