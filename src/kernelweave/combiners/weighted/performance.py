"""Weights by how well each kernel predicts alone, thesis 2.2.1.3 (end): three heuristics without optimisation.

==========================================  ===========================================  ====================
thesis                                      here                                         class
==========================================  ===========================================  ====================
(pi_m - delta) / sum_h (pi_h - delta)       pi: accuracy, delta: threshold               `AccuracyWeights`
R_m / sum_h R_h                             R: correlation of prediction and target      `CorrelationWeights`
(sum_h M_h - M_m) / ((P - 1) sum_h M_h)     M: mean squared error                        `ErrorWeights`
==========================================  ===========================================  ====================

Accuracies, correlations and errors are those of held-out samples in an inner cross-validation. A sample that lacks a
kernel's view takes no part in judging that kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...machines import Machine
from ...stacks import TrainingStack
from ...validation import Constraints, Number, check_parameters
from .single_kernel import SingleKernelScores


class AccuracyWeights(SingleKernelScores):
    """Weights proportional to each kernel's own accuracy above a threshold (Tanabe et al., 2008).

    eta_m = (pi_m - delta) / sum_h (pi_h - delta), where pi_m is the cross-validated accuracy of the machine on kernel m
    alone and delta the threshold; a kernel below the threshold has weight 0. Nothing is optimised.

    It helps where kernels differ much in how good they are; kernels that repeat each other each get their full weight.
    For classification only. Where no kernel exceeds the threshold all weights are equal.

    Parameters
    ----------
    threshold : float or None
        delta, from 0 to 1. None is the share of the most frequent class, the accuracy of always predicting that class.
    cv : int, splitter or iterable
        As in `BestSingle`.

    Attributes
    ----------
    accuracy_ : Series
        pi by kernel name.

    Notes
    -----
    Memory: one n x n matrix at a time, and the part of it that a fold trains on; none with ``storage="lazy"``.

    Examples
    --------
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import AccuracyWeights
    >>> from kernelweave.kernels import Linear
    >>> X = [[float(i), float(i * 7 % 5)] for i in range(20)]
    >>> kernels = [("signal", Linear([0])), ("noise", Linear([1]))]
    >>> model = MKLClassifier(kernels, AccuracyWeights(), normalize="center", random_state=0)
    >>> bool(model.fit(X, [row[0] > 9 for row in X]).kernel_weights_["signal"] > 0.5)
    True
    """

    _constraints = Constraints(threshold=Number(low=0, high=1) | None)

    def __init__(self, threshold: float | None = None, cv: Any = 5):
        self.threshold = threshold
        self.cv = cv

    def choose(self, stack, machine, control):
        """Accuracies above the threshold, scaled to sum 1."""
        if machine.strata is None:
            raise ValueError("AccuracyWeights is for classification only; see CorrelationWeights for regression")
        check_parameters(self)
        threshold = self._threshold(stack, machine)
        risks, solves = self.scores(stack, machine, control, "risk", np.arange(stack.n_kernels))
        self.accuracy_ = 1.0 - risks
        return _shares(np.maximum(self.accuracy_.to_numpy() - threshold, 0.0)), solves  # thesis 2.2.1.3

    def _threshold(self, stack: TrainingStack, machine: Machine) -> float:
        if self.threshold is None:
            counts = stack.class_counts(machine)
            return counts.max() / counts.sum()
        return float(self.threshold)


class CorrelationWeights(SingleKernelScores):
    """Weights proportional to the correlation of each kernel's predictions with the targets (Qiu and Lane, 2009).

    eta_m = R_m / sum_h R_h, where R_m is Pearson's correlation between targets and held-out predictions of the machine
    on kernel m alone, averaged over targets where there are several; a negative correlation counts as 0. Nothing is
    optimised.

    It helps where some kernels are unrelated to the targets; kernels of similar quality get similar weights, and then
    `Mean` does as well. For regression only. Where no correlation is positive all weights are equal.

    Parameters
    ----------
    cv : int, splitter or iterable
        As in `BestSingle`.

    Attributes
    ----------
    correlation_ : Series
        R by kernel name; 0 for constant predictions.

    Notes
    -----
    Memory: one n x n matrix at a time, and the part of it that a fold trains on; none with ``storage="lazy"``.

    Examples
    --------
    >>> from kernelweave import MKLRegressor
    >>> from kernelweave.combiners import CorrelationWeights
    >>> from kernelweave.kernels import Linear
    >>> X = [[float(i), float(i * 7 % 5)] for i in range(20)]
    >>> kernels = [("signal", Linear([0])), ("noise", Linear([1]))]
    >>> model = MKLRegressor(kernels, CorrelationWeights(), normalize="center", random_state=0)
    >>> bool(model.fit(X, [2.0 * row[0] for row in X]).kernel_weights_["signal"] > 0.5)
    True
    """

    def __init__(self, cv: Any = 5):
        self.cv = cv

    def choose(self, stack, machine, control):
        """Positive correlations, scaled to sum 1."""
        _check_regression(self, stack, machine)
        self.correlation_, solves = self.scores(stack, machine, control, "correlation", np.arange(stack.n_kernels))
        return _shares(np.maximum(self.correlation_.to_numpy(), 0.0)), solves  # thesis 2.2.1.3, erratum: no negatives


class ErrorWeights(SingleKernelScores):
    """Weights that fall with the mean squared error of each kernel's predictions (Qiu and Lane, 2009).

    eta_m = (sum_h M_h - M_m) / ((P - 1) sum_h M_h), where M_m is the mean squared error of held-out predictions of the
    machine on kernel m alone, summed over targets where there are several. Nothing is optimised.

    It helps against one kernel that is much worse than the others; no weight exceeds 1/(P - 1), so with many kernels
    it hardly differs from `Mean`. For regression only.

    Parameters
    ----------
    cv : int, splitter or iterable
        As in `BestSingle`.

    Attributes
    ----------
    error_ : Series
        M by kernel name.

    Notes
    -----
    Memory: one n x n matrix at a time, and the part of it that a fold trains on; none with ``storage="lazy"``.

    Examples
    --------
    >>> from kernelweave import MKLRegressor
    >>> from kernelweave.combiners import ErrorWeights
    >>> from kernelweave.kernels import Linear
    >>> X = [[float(i), float(i * 7 % 5)] for i in range(20)]
    >>> kernels = [("signal", Linear([0])), ("noise", Linear([1]))]
    >>> model = MKLRegressor(kernels, ErrorWeights(), normalize="center", random_state=0)
    >>> bool(model.fit(X, [2.0 * row[0] for row in X]).kernel_weights_["signal"] > 0.5)
    True
    """

    def __init__(self, cv: Any = 5):
        self.cv = cv

    def choose(self, stack, machine, control):
        """What each kernel's error leaves of the sum of errors, scaled to sum 1."""
        _check_regression(self, stack, machine)
        self.error_, solves = self.scores(stack, machine, control, "risk", np.arange(stack.n_kernels))
        errors = self.error_.to_numpy()
        return _shares(errors.sum() - errors), solves  # thesis 2.2.1.3


def _check_regression(combiner: SingleKernelScores, stack: TrainingStack, machine: Machine) -> None:
    if machine.strata is not None or machine.detects_novelty or not stack.has_targets:
        raise ValueError(
            f"{type(combiner).__name__} is for regression only; AccuracyWeights is its counterpart for classification"
        )


def _shares(amounts: np.ndarray) -> np.ndarray:
    """Amounts of at least 0 as shares of their sum; equal shares where all are 0."""
    total = amounts.sum()
    return amounts / total if total > 0 else np.full(len(amounts), 1.0 / len(amounts))
