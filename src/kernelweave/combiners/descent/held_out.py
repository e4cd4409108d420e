"""Holding samples out: in parts, to choose a parameter by their losses, or to watch their risk for early stopping.

If `KernelFamily.watch` returns a `Watch`, theta is learned on the training part; the loop keeps the theta of least risk
(the last of equals, which has the smallest objective), stops if it has not been matched for `PATIENCE` iterations, and
the machine is then solved for all samples under that theta.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...machines import Machine, Solution

if TYPE_CHECKING:
    from .family import KernelFamily

PATIENCE = 10
N_FOLDS = 4
MANY = 1000  # from so many samples on, one fold is enough


@dataclass(frozen=True)
class Watch:
    """Held-out samples.

    Attributes
    ----------
    family : KernelFamily
        The kernels over the training part.
    machine : Machine
        The machine on the training part.
    risk : callable
        ``risk(theta, solution)``, the mean loss of the held-out samples under a solution on the training part.
    """

    family: KernelFamily
    machine: Machine
    risk: Callable[[np.ndarray, Solution], float]


def split(machine: Machine, fraction: float, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the training part and of the held-out one, stratified by class where there are classes."""
    from sklearn.model_selection import train_test_split

    try:
        training, held_out = train_test_split(
            np.arange(machine.n_samples), test_size=float(fraction), stratify=machine.strata, random_state=rng
        )
    except ValueError as error:
        raise ValueError(f"validation_fraction={fraction!r} does not fit these samples: {error}") from None
    return np.sort(training), np.sort(held_out)


def held_out_parts(machine: Machine, rng: np.random.RandomState) -> list[np.ndarray]:
    """Positions to hold out, part after part: `N_FOLDS` folds, only the first of them from `MANY` samples on.

    Folds are stratified and of equal size, and every class keeps a training sample: one that is alone is never held
    out.
    """
    strata, order = machine.strata, rng.permutation(machine.n_samples)
    if strata is not None:
        labels, counts = np.unique(strata, return_counts=True)
        order = order[np.argsort(strata[order], kind="stable")]  # dealt out class by class
        order = order[np.isin(strata[order], labels[counts > 1])]
    parts = [np.sort(order[k::N_FOLDS]) for k in range(N_FOLDS)]
    return [part for part in parts[: 1 if machine.n_samples >= MANY else N_FOLDS] if len(part)]
