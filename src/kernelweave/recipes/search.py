"""The inner search: which setting of a method predicts best samples that it was not fitted to.

For each fold and each setting a model is fitted to the training part, and its decision values of the other part are
kept: they give the score, and those of the setting that wins give the calibration, without any further fit. Kernel
values are computed once for each fold and shared by its settings, where the combiner reads Gram matrices; values of C
are a path, each solution the start of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..estimators.base import KernelMachineEstimator
from ..estimators.reuse import SharedFoldKernels, fit_path

TIE = 1e-12
_watching: ContextVar[Callable[[int, int], None] | None] = ContextVar("watching", default=None)


@contextmanager
def watched(show: Callable[[int, int], None]) -> Iterator[None]:
    """Have searches report their progress.

    Parameters
    ----------
    show : callable
        Called after each fit with the number of fits so far and the number of all, over settings and folds.
    """
    token = _watching.set(show)
    try:
        yield
    finally:
        _watching.reset(token)


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes
    ----------
    setting : dict
        The one with the best mean score; the first of those that are equal.
    score : float
        Its mean score, NaN where no fold could be had.
    table : DataFrame
        Columns ``setting`` (as text), ``score`` and ``std``.
    values : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Decision values of the best setting for samples that the model was not fitted to; NaN for those never tested.
    """

    setting: dict[str, Any]
    score: float
    table: pd.DataFrame
    values: np.ndarray


def search(
    make: Callable[[np.ndarray], Any],
    grid: Mapping[str, Sequence[Any]],
    table: Any,
    y: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    groups: np.ndarray | None = None,
    decide: Callable[[Any, np.ndarray, np.ndarray], np.ndarray],
    score: Callable[[np.ndarray, np.ndarray], float],
    shape: tuple[int, ...],
) -> Found:
    """Try the settings of a grid on all folds.

    Parameters
    ----------
    make : callable
        From positions of training samples to an unfitted model for them.
    grid : mapping from parameter to values
    table : DataFrame
    y : ndarray
        Labels, or standardised targets.
    splits : sequence of (training, validation) positions
    groups : ndarray, optional
        For models whose `fit` takes them.
    decide : callable
        From a fitted model, and positions of the samples of its fit and of others, to decision values of the others.
    score : callable
        From decision values and targets to a score, the larger the better.
    shape : tuple of int
        Of decision values of all samples.
    """
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    values = [np.full(shape, np.nan) for _ in settings]
    scores: list[list[float]] = [[] for _ in settings]
    show, done = _watching.get(), 0
    for train, test in splits:
        for place, model in _fitted(make(train), settings, table, y, train, test, groups):
            decided = decide(model, train, test)
            values[place][test] = decided
            scores[place].append(score(decided, y[test]))
            done += 1
            if show is not None:
                show(done, len(splits) * len(settings))
    means = np.array([np.mean(own) if own else np.nan for own in scores])
    best = (
        (len(settings) - 1) // 2 if np.isnan(means).all() else int(np.flatnonzero(means >= np.nanmax(means) - TIE)[0])
    )
    report = pd.DataFrame(
        {
            "setting": pd.Series([setting_text(setting) for setting in settings], dtype=object),
            "score": means,
            "std": [np.std(own) if own else np.nan for own in scores],
        }
    )
    return Found(settings[best], float(means[best]), report, values[best])


def fitted(model: Any, table: Any, y: np.ndarray, groups: np.ndarray | None) -> Any:
    """A model, fitted; with groups where its `fit` takes them."""
    if groups is not None and has_fit_parameter(model, "groups"):
        return model.fit(table, y, groups=groups)
    return model.fit(table, y)


def setting_text(setting: Mapping[str, Any]) -> str:
    """A setting in words, such as ``C=10``."""
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in setting.items()
    )


def _fitted(
    model: Any,
    settings: list[dict[str, Any]],
    table: Any,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    groups: np.ndarray | None,
) -> Iterator[tuple[int, Any]]:
    """Fitted models of all settings on one fold, each with its place among the settings."""
    names = list(settings[0])
    if isinstance(model, KernelMachineEstimator) and len(settings) > 1:
        shared = SharedFoldKernels(model, names)
        if shared.possible:
            model = clone(model).set_params(
                **shared.parameters([shared.of_fold(table, y, train.tolist(), test.tolist())])
            )
    part, targets = table.iloc[train], y[train]
    if "C" not in names or not isinstance(model, KernelMachineEstimator):
        own = None if groups is None else groups[train]
        for place, setting in enumerate(settings):
            yield place, fitted(clone(model).set_params(**setting), part, targets, own)
        return
    paths: dict[tuple, list[int]] = {}
    for place, setting in enumerate(settings):
        paths.setdefault(tuple(setting[name] for name in names if name != "C"), []).append(place)
    for places in paths.values():
        others = {name: value for name, value in settings[places[0]].items() if name != "C"}
        start = clone(model).set_params(**others)
        path = fit_path(start, part, targets, "C", [settings[place]["C"] for place in places])
        yield from zip(places, path, strict=True)
