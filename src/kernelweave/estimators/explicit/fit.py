"""`fit_explicit`: the fit of an estimator on explicit features, whatever its samples are held in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from ...combiners import CombinedKernel, FitControl, Mean
from ...features import NystroemFeatures
from ...machines import Machine
from .fitting import explicit_stack
from .samples import Counts, samples_of


def fit_explicit(estimator: Any, X: Any, y: Any, sample_weight: Any, given: Any) -> CombinedKernel:
    """Fit an estimator on explicit features; returns the combined kernel, and stores what prediction reads.

    Parameters
    ----------
    estimator : MKLClassifier, MKLRegressor or MKLOneClass
    X, y, sample_weight
        As given to `fit`.
    given : namespace
        The estimator's parameters, checked.
    """
    engine = samples_of(estimator, X, y, sample_weight)
    counts: Counts = engine.sum(estimator._count)
    if counts.n_samples < 2:
        raise ValueError("only one sample has a positive sample_weight; at least 2 samples are needed")
    combiner = clone(Mean() if given.combiner is None else given.combiner)
    approximation = NystroemFeatures() if estimator.approximation == "nystroem" else clone(estimator.approximation)
    stack, machine = explicit_stack(
        engine,
        counts.n_samples,
        estimator.kernels,
        estimator.normalize,
        approximation,
        estimator._targets(counts),
        given.random_state,
        np.dtype(given.dtype or "float32"),
    )
    estimator.combiner_ = combiner
    max_steps = None if given.max_iter == -1 else given.max_iter
    control = FitControl(given.random_state, given.tol, max_steps=max_steps)
    kernel = combiner.fit(stack, machine, None, control)
    _store(estimator, kernel, machine.without_samples(), stack)
    return kernel


def _store(estimator: Any, kernel: CombinedKernel, rule: Machine, stack: Any) -> None:
    solution: Any = kernel.solution
    estimator._rule = rule
    estimator._kernel = kernel.restrict(np.empty(0, dtype=int))
    estimator.storage_, estimator.kernels_, estimator.kernel_names_ = "dense", stack.kernels, stack.names
    estimator.dual_coef_ = np.ascontiguousarray(solution.coef.T)
    estimator.kernel_weights_ = pd.Series(kernel.weights(), stack.names, copy=True)
    estimator.intercept_, estimator.objective_ = solution.intercept, solution.objective
    estimator.duality_gap_, estimator.n_iter_ = solution.gap, len(kernel.history)
    estimator.history_ = pd.DataFrame(kernel.history)
