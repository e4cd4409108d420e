"""himalaya's `MultipleKernelRidgeCV` on +1/-1 targets of each class (Dupré la Tour et al., 2022).

It reads a linear and a Gaussian kernel of each view, whose missing samples are filled as for the other rivals, and
chooses weights and regularisation by its own cross-validation on three folds: 8 random weightings, and the best of 7
regularisations for each class.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from experiments.benchmark.ingredients import OnKernelMatrices, view_preparations
from kernelweave.compare import Problem

NAME = "himalaya ridge"
FAMILY = "rival"
REQUIRES = "himalaya"


class HimalayaRidge(OnKernelMatrices):
    """One ridge regression per class on several kernels; the largest prediction counts.

    Parameters
    ----------
    preparations : mapping from str to transformer
        As that of `SideBySide`.
    n_iter : int
        Random weightings of the kernels that are tried.
    random_state : int
    """

    def __init__(self, preparations: Any, *, n_iter: int = 8, random_state: int = 0):
        self.preparations = preparations
        self.n_iter = n_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> HimalayaRidge:
        """Fit the ridge regressions.

        Parameters
        ----------
        X : DataFrame
        y : array of shape (n_samples,)
        """
        self.classes_ = np.unique(y)
        self.n_stored_ = len(X)
        targets = np.where(np.asarray(y)[:, None] == self.classes_, 1.0, -1.0)
        self.model_ = import_module("himalaya.kernel_ridge").MultipleKernelRidgeCV(
            kernels="precomputed",
            solver="random_search",
            solver_params={"n_iter": self.n_iter, "alphas": np.logspace(-3, 3, 7), "progress_bar": False},
            cv=3,
            random_state=self.random_state,
        )
        self.model_.fit(self._fit_views(X), targets)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The predictions of all classes; the difference of the two where there are two.

        Parameters
        ----------
        X : DataFrame
        """
        values = np.asarray(self.model_.predict(self._matrices(X)))
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values


def candidates(problem: Problem) -> dict:
    """One setting: it chooses by itself."""
    return {"": HimalayaRidge(view_preparations(problem))}
