"""himalaya's `MultipleKernelRidgeCV` on +1/-1 targets of each class (Dupré la Tour et al., 2022).

It reads a linear and a Gaussian kernel of each view, side by side as the other rivals do, and chooses weights and
regularisation by its own cross-validation on three folds: 8 random weightings, and 7 regularisations for each class.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.columns import SideBySide

NAME = "himalaya ridge"
FAMILY = "rival"
REQUIRES = "himalaya"


class HimalayaRidge(ClassifierMixin, BaseEstimator):
    """One ridge regression per class on several kernels, the largest prediction wins.

    Parameters
    ----------
    views : sequence of str
    n_iter : int
        Random weightings of the kernels that are tried.
    random_state : int
    """

    def __init__(self, views: Any, *, n_iter: int = 8, random_state: int = 0):
        self.views = views
        self.n_iter = n_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> HimalayaRidge:
        """Fit the ridge regressions.

        Parameters
        ----------
        X : DataFrame
        y : array of shape (n_samples,)
        """
        ridge = import_module("himalaya.kernel_ridge")
        self.classes_ = np.unique(y)
        self.blocks_ = [SideBySide([view]).fit(X) for view in self.views]
        self.train_ = [_dense(block.transform(X)) for block in self.blocks_]
        self.n_stored_ = len(X)
        targets = np.where(np.asarray(y)[:, None] == self.classes_, 1.0, -1.0)
        self.model_ = ridge.MultipleKernelRidgeCV(
            kernels="precomputed",
            solver="random_search",
            solver_params={"n_iter": self.n_iter, "alphas": np.logspace(-3, 3, 7), "progress_bar": False},
            cv=3,
            random_state=self.random_state,
        )
        self.model_.fit(self._kernels(self.train_), targets)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The predictions of all classes; the difference of the two where there are two.

        Parameters
        ----------
        X : DataFrame
        """
        blocks = [_dense(block.transform(X)) for block in self.blocks_]
        values = np.asarray(self.model_.predict(self._kernels(blocks)))
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest prediction.

        Parameters
        ----------
        X : DataFrame
        """
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    def _kernels(self, blocks: list[np.ndarray]) -> np.ndarray:
        """Kernels of samples with the training samples, of shape (n_kernels, n_samples, n_train)."""
        found = []
        for block, train in zip(blocks, self.train_, strict=True):
            width = max(train.var(axis=0).sum(), 1e-12)
            found.append(block @ train.T / width)
            squared = (block**2).sum(axis=1)[:, None] - 2.0 * block @ train.T + (train**2).sum(axis=1)
            found.append(np.exp(-squared / width))
        return np.array(found)


def _dense(values: Any) -> np.ndarray:
    return values.toarray() if hasattr(values, "toarray") else values


def candidates(problem: Problem) -> dict:
    """One setting: it chooses by itself."""
    return {"": HimalayaRidge(list(problem.views))}
