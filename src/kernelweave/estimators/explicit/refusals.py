"""Parameters that do not go with explicit features: one error with the remedy, before anything is computed."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone

from ...combiners import Combiner, PerOutput
from ...engines.losses import losses_of
from ...features import approximations_of
from ...validation import check_parameters, shown

EXACT = "or approximation=None for the exact model"


def refuse(estimator: Any, combiner: Combiner, posterior: Any) -> None:
    """Raise a `ValueError` where parameters of an estimator do not go with its approximation.

    Parameters
    ----------
    estimator : MKLClassifier, MKLRegressor or MKLOneClass
    combiner : Combiner
    posterior
        As given to `fit`.
    """
    if posterior is not None or getattr(estimator, "soft_labels", None) is not None:
        raise ValueError(
            "soft labels need approximation=None: the posterior-probability machine has no smooth loss, which explicit "
            f"features need; give labels without posteriors (soft_labels=None), {EXACT}"
        )
    _refuse_loss(estimator)
    if estimator.kernels is not None:
        approximations_of(estimator.approximation, estimator.kernels)
    check_parameters(combiner)
    if combiner.why_exact is not None:
        raise ValueError(
            f"approximation={shown(estimator.approximation)} gives kernels explicit features, but "
            f"{combiner.why_exact}; use {_remedies(combiner)}, {EXACT}"
        )


def _remedies(combiner: Combiner) -> str:
    """A parameter of the combiner that makes the difference, where there is one, and other combiners."""
    inner = combiner
    while isinstance(inner, PerOutput):
        inner = inner.combiner
    name = type(inner).__name__
    *first, last = [other for other in ("Mean", "ConvexMKL", "Localized") if other != name]
    own = []
    for parameter, entry in signature(type(inner)).parameters.items():
        if entry.default is not entry.empty and _with(inner, parameter, entry.default).why_exact is None:
            own.append(f"{name}({parameter}={shown(entry.default)}), which is the default, ")
    return f"{own[0] if own else ''}another combiner, such as {', '.join(first)} or {last}"


def _with(combiner: Combiner, parameter: str, value: Any) -> Combiner:
    return clone(combiner).set_params(**{parameter: value})


def _refuse_loss(estimator: Any) -> None:
    """Refuse losses with a kink."""
    if not hasattr(estimator, "_loss"):  # of one class
        return
    loss = estimator._loss()
    try:
        losses_of(loss.for_targets(np.array([1.0, -1.0]), np.ones(2)))
    except ValueError:
        smooth = ", ".join(f'"{name}"' for name in estimator._smooth)
        raise ValueError(
            f"machine={shown(estimator.machine)} is for approximation=None: explicit features are fitted by gradients, "
            f"and the loss {type(loss).__name__} is not smooth; use machine={smooth} or a smooth loss of your own, "
            f'{EXACT} (machine="auto", the default, chooses by itself)'
        ) from None


def refuse_multiclass(estimator: Any, n_classes: int) -> None:
    """Refuse what several classes are divided by, other than one machine for each class."""
    if n_classes > 2 and estimator.multiclass != "one-vs-all":
        raise ValueError(
            f"multiclass={shown(estimator.multiclass)} needs approximation=None: on explicit features {n_classes} "
            f'classes are one machine for each class; use multiclass="one-vs-all", {EXACT}'
        )
