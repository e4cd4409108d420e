"""`LinearScores`: the coefficients of a fitted logistic or ridge regression, and their predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class LinearScores:
    """``X @ coef.T + intercept``.

    Attributes
    ----------
    coef : ndarray of shape (n_outputs, width)
    intercept : ndarray of shape (n_outputs,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from kernelweave.recipes.rivals.linear import LinearScores
    >>> X = np.arange(4.0)[:, None]
    >>> LinearScores.of(Ridge(0.0).fit(X, 2.0 * X[:, 0] + 1.0)).predict(X[:2]).round(6)
    array([[1.],
           [3.]])
    """

    coef: np.ndarray
    intercept: np.ndarray

    @property
    def width(self) -> int:
        """Number of features."""
        return self.coef.shape[1]

    @property
    def n_terms(self) -> int:
        """How many terms a prediction sums."""
        return 1 + self.width

    @property
    def n_outputs(self) -> int:
        """Number of columns of a prediction."""
        return len(self.intercept)

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for the rows of a table, of shape (n_samples, n_outputs).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, width)
        """
        return np.asarray(X @ self.coef.T) + self.intercept

    @classmethod
    def of(cls, model: Any) -> LinearScores:
        """Those of a fitted linear model of scikit-learn, with one output for two classes or one target.

        Parameters
        ----------
        model : LogisticRegression or Ridge
        """
        coef = np.array(np.atleast_2d(model.coef_), dtype=np.float64, order="C")
        return cls(coef, np.array(np.ravel(model.intercept_), dtype=np.float64))
