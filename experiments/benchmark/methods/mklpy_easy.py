"""MKLpy's `EasyMKL` with scikit-learn's support vector machine, one machine and one combination per class.

It reads a linear and a Gaussian kernel of each view, whose missing samples are filled as for the other rivals.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.svm import SVC

from experiments.benchmark.ingredients import OnKernelMatrices, view_preparations
from kernelweave.compare import Problem

NAME = "MKLpy EasyMKL"
FAMILY = "rival"
REQUIRES = "MKLpy"


class MKLpyEasyMKL(OnKernelMatrices):
    """EasyMKL of MKLpy on the kernels of views.

    Parameters
    ----------
    preparations : mapping from str to transformer
        As that of `SideBySide`.
    C : float
        Of the support vector machine.
    lam : float
        Of EasyMKL.
    """

    def __init__(self, preparations: Any, *, C: float = 1.0, lam: float = 0.1):
        self.preparations = preparations
        self.C = C
        self.lam = lam

    def fit(self, X: Any, y: Any) -> MKLpyEasyMKL:
        """Fit the weights and the machines.

        Parameters
        ----------
        X : DataFrame
        y : array of shape (n_samples,)
        """
        self.classes_, labels = np.unique(y, return_inverse=True)
        algorithm = import_module("MKLpy.algorithms").EasyMKL
        matrices = list(self._fit_views(X))
        self.model_ = algorithm(lam=self.lam, learner=SVC(kernel="precomputed", C=self.C)).fit(matrices, labels)
        self.n_stored_ = len(self._support())
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values of all classes, or of the second of two.

        Parameters
        ----------
        X : DataFrame
        """
        found = self.model_.decision_function(list(self._matrices(X)))
        if len(self.classes_) == 2:
            return np.asarray(found)
        return np.column_stack([np.asarray(found[label]) for label in range(len(self.classes_))])

    def _support(self) -> np.ndarray:
        """Positions of the support vectors of all machines."""
        if len(self.classes_) == 2:
            return self.model_.learner.support_
        parts = []
        for label, machine in self.model_.clf.estimators_.items():
            task = self.model_.clf.tasks[label]
            parts.append(np.array([*task["idx_pos"], *task["idx_neg"]])[machine.learner.support_])
        return np.unique(np.concatenate(parts))


def candidates(problem: Problem) -> dict:
    """Two values of lambda and two of C."""
    preparations = view_preparations(problem)
    settings = [(lam, C) for lam in (0.1, 0.5) for C in (1.0, 10.0)]
    return {f"lam={lam:g}, C={C:g}": MKLpyEasyMKL(preparations, C=C, lam=lam) for lam, C in settings}
