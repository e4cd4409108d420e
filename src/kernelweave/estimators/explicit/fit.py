"""`fit_explicit`: the fit of an estimator on explicit features, wherever its samples are."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from ...combiners import CombinedKernel, Combiner, FitControl
from ...engines import Engine
from ...engines.stack import ExplicitStack
from ..convergence import warn_unless_converged
from ..progress import progress_bar
from .fitting import explicit_stack
from .refusals import refuse
from .samples import Counts, samples_of


def fit_explicit(
    estimator: Any, X: Any, y: Any, sample_weight: Any, posterior: Any, combiner: Combiner, control: FitControl
) -> CombinedKernel:
    """Fit an estimator on explicit features; returns the combined kernel, and stores what prediction reads.

    Parameters
    ----------
    estimator : MKLClassifier, MKLRegressor or MKLOneClass
        With checked parameters.
    X, y, sample_weight, posterior
        As given to `fit`.
    combiner : Combiner
        A copy of the user's.
    control : FitControl
    """
    refuse(estimator, combiner, posterior)
    with samples_of(estimator, X, y, sample_weight) as engine:
        return _fit_on(engine, estimator, combiner, control)


def _fit_on(engine: Engine, estimator: Any, combiner: Combiner, control: FitControl) -> CombinedKernel:
    """The fit on samples in blocks."""
    counts: Counts = engine.sum(estimator._count)
    if counts.n_samples < 2:
        raise ValueError("only one sample has a positive sample_weight; at least 2 samples are needed")
    targets = estimator._targets(counts)
    stack, machine, storage = explicit_stack(estimator, engine, counts.n_samples, targets, control.rng)
    estimator.combiner_ = estimator._combiner_for(combiner, machine)
    watched = progress_bar(f"Fitting {type(estimator).__name__}") if estimator.verbose else nullcontext()
    with watched as progress:
        kernel = estimator.combiner_.fit(stack, machine, None, replace(control, progress=progress))
    solution: Any = kernel.solution
    if isinstance(getattr(kernel, "stack", None), ExplicitStack):
        stack = kernel.stack  # whose features a combiner may have learned
    warn_unless_converged(estimator, solution, explicit=True)
    kernel.solution = estimator._finished(kernel, solution)
    estimator._forget()
    estimator.__dict__.update(_attributes(solution.coef, stack))
    estimator.storage_ = storage
    estimator._store(kernel, kernel.restrict(np.empty(0, dtype=int)), machine.without_samples(), stack)
    _store_summary(estimator, kernel)
    return kernel


def _attributes(coef: np.ndarray, stack: ExplicitStack) -> dict[str, Any]:
    """What a fitted model has in the place of support vectors and their coefficients."""
    parts = [part.copy() for part in np.split(coef, stack.offsets[1:-1])]
    return {
        "feature_coef_": dict(zip(stack.names, parts, strict=True)),
        "trace_shares_": pd.Series([own.trace_share for own in stack.maps], stack.names, dtype=float),
    }


def _store_summary(estimator: Any, kernel: CombinedKernel) -> None:
    """Store a summary of the gates of the training samples, where the model has gates."""
    estimator.__dict__.pop("gating_summary_", None)
    totals = getattr(kernel, "totals", None)
    if totals is not None:
        classes = estimator.classes_ if is_classifier(estimator) else None
        estimator.gating_summary_ = totals.table(kernel.names, classes)
