"""`BestSingle`: the one kernel that predicts best in an inner cross-validation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from ..kernels import KernelStack
from ..machines import Machine
from .base import WeightedSum


class BestSingle(WeightedSum):
    """The single kernel with the smallest cross-validated risk: k(x, z) = k_best(x, z).

    The risk is the share of errors (classification), the mean squared error (regression) or the distance between
    the share of held-out samples that are rejected and nu (novelty detection). Kernels that some training sample
    lacks are no candidates. Each Gram matrix is computed once for all folds.

    Parameters
    ----------
    cv : int, splitter or iterable
        A number of folds means shuffled folds, stratified for classification; at most as many as the smallest
        class has samples.

    Attributes
    ----------
    risk_ : Series
        Cross-validated risk by kernel name (on the estimator: ``combiner_.risk_``); NaN for kernels that are no
        candidates.

    Examples
    --------
    >>> from kernelweave import MKLRegressor
    >>> from kernelweave.combiners import BestSingle
    >>> from kernelweave.kernels import Linear
    >>> X = [[float(i), float(i * 7 % 5)] for i in range(20)]
    >>> model = MKLRegressor([("signal", Linear([0])), ("noise", Linear([1]))], BestSingle(), normalize="center")
    >>> model.fit(X, [2.0 * row[0] for row in X]).kernel_weights_
    signal    1.0
    noise     0.0
    dtype: float64
    """

    def __init__(self, cv: Any = 5):
        self.cv = cv

    def choose(self, stack, machine, y, rng, tol, max_steps, progress):
        """Weight 1 for the kernel with the smallest risk, 0 for the others."""
        splits = self._splits(machine, rng)
        candidates = np.flatnonzero(stack.present.all(axis=0))
        if len(candidates) == 0:
            raise ValueError("BestSingle needs a kernel whose view no training sample lacks; use Mean instead")
        risk = np.full(stack.n_kernels, np.nan)
        early = []
        for done, m in enumerate(candidates):
            risk[m], converged = self._risk(stack, m, machine, splits, tol, max_steps)
            early += [] if converged else [stack.names[m]]
            if progress is not None:
                progress(done + 1, len(candidates))
        if early:
            warnings.warn(
                f"BestSingle compares machines that stopped early, with the kernels {early}; raise max_iter, scale the "
                "data, or lower C",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.risk_ = pd.Series(risk, index=stack.names)
        eta = np.zeros(stack.n_kernels)
        eta[np.nanargmin(risk)] = 1.0
        return eta, len(candidates) * len(splits)

    def _risk(self, stack: KernelStack, m: int, machine: Machine, splits: list, tol: float, max_steps: int | None):
        K = stack.gram(m)
        total, converged = 0.0, True
        for train, test in splits:
            solution = machine.subset(train).solve(K[np.ix_(train, train)], tol=tol, max_steps=max_steps)
            values = K[np.ix_(test, train)] @ solution.coef + solution.intercept
            total += len(test) * machine.subset(test).risk(values)
            converged = converged and solution.converged
        return total / sum(len(test) for _, test in splits), converged

    def _splits(self, machine: Machine, rng: np.random.RandomState) -> list:
        strata = machine.strata
        if isinstance(self.cv, int | np.integer):
            smallest = machine.n_samples if strata is None else np.unique(strata, return_counts=True)[1].min()
            folds = min(self.cv, int(smallest))
            if folds < 2:
                raise ValueError(
                    f"BestSingle cannot split the samples into {self.cv} folds: it needs cv of at least 2 and two "
                    f"samples of every class, but cv is {self.cv} and the smallest class has {smallest}"
                )
            splitter = KFold if strata is None else StratifiedKFold
            cv = splitter(folds, shuffle=True, random_state=rng)
        else:
            cv = check_cv(self.cv, strata, classifier=strata is not None)
        splits = list(cv.split(np.zeros((machine.n_samples, 1)), strata))
        if not splits or any(len(part) == 0 for split in splits for part in split):
            raise ValueError("cv of BestSingle gives no folds, or a fold without training or test samples")
        return splits
