"""`BestSingle`: the one kernel that predicts best in an inner cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from .single_kernel import SingleKernelScores


class BestSingle(SingleKernelScores):
    """The single kernel with the smallest cross-validated risk: k(x, z) = k_best(x, z).

    The risk is the share of errors (classification), the mean squared error (regression) or the distance between
    the share of held-out samples that are rejected and nu (novelty detection). Kernels that some training sample
    lacks are no candidates. Each Gram matrix is computed once for all folds, or not at all with ``storage="lazy"``.

    Parameters
    ----------
    cv : int, splitter or iterable
        A number of folds means shuffled folds, stratified for classification; at most as many as the smallest
        class has samples. With explicit features (``approximation=`` of an estimator) it must be a number, and folds
        are drawn without regard to classes.

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

    def choose(self, stack, machine, control):
        """Weight 1 for the kernel with the smallest risk, 0 for the others."""
        candidates = np.flatnonzero(stack.present_counts() == stack.n_samples)
        if len(candidates) == 0:
            raise ValueError("BestSingle needs a kernel whose view no training sample lacks; use Mean instead")
        self.risk_, solves = self.scores(stack, machine, control, "risk", candidates)
        eta = np.zeros(stack.n_kernels)
        eta[np.nanargmin(self.risk_)] = 1.0
        return eta, solves
