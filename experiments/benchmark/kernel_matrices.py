"""`OnKernelMatrices`: the base of rivals from other packages that take kernel matrices and no missing views.

Each view is prepared as for the rivals that read columns (`SideBySide`), and has a linear and a Gaussian kernel, both
divided by the sum of the variances of its columns, as the library's Gaussian kernel of the usual width is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from .columns import SideBySide

_LEAST = 1e-12  # variance of a view that is constant


class OnKernelMatrices(ClassifierMixin, BaseEstimator, ABC):
    """A classifier that makes kernel matrices of views.

    Subclasses have `views` among their parameters, and `fit` and `decision_function`.
    """

    views: Any
    classes_: np.ndarray

    def _fit_views(self, X: Any) -> np.ndarray:
        """Kernels of the training samples, of shape (n_kernels, n_samples, n_samples)."""
        self.blocks_ = [SideBySide([view]).fit(X) for view in self.views]
        self.train_ = [_dense(block.transform(X)) for block in self.blocks_]
        return self._matrices(X)

    def _matrices(self, X: Any) -> np.ndarray:
        """Kernels of samples with the training samples, of shape (n_kernels, n_samples, n_train)."""
        found = []
        for preparation, train in zip(self.blocks_, self.train_, strict=True):
            block = _dense(preparation.transform(X))
            width = max(train.var(axis=0).sum(), _LEAST)
            products = block @ train.T
            squares = (block**2).sum(axis=1)[:, None] - 2.0 * products + (train**2).sum(axis=1)
            found += [products / width, np.exp(-squares.clip(min=0.0) / width)]
        return np.array(found)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest decision value.

        Parameters
        ----------
        X : DataFrame
        """
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    @abstractmethod
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values, of shape (n_samples,) for two classes, otherwise (n_samples, n_classes).

        Parameters
        ----------
        X : DataFrame
        """


def _dense(values: Any) -> np.ndarray:
    return values.toarray() if hasattr(values, "toarray") else values
