"""Targets of blocks: what makes the machine of some samples from their y and weights, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..machines import BinaryLoss, Machine, RegressionLoss, SquaredOneClassMachine


@dataclass(frozen=True)
class ClassTargets:
    """Machines of labels.

    Attributes
    ----------
    loss : BinaryLoss
    classes : ndarray
        All labels, sorted.
    C : float
    by_class : ndarray of shape (n_classes,)
        Factors of C.
    """

    loss: BinaryLoss
    classes: np.ndarray
    C: float
    by_class: np.ndarray

    def __call__(self, y: Any, weight: np.ndarray) -> tuple[Machine, np.ndarray]:
        """The machine of some samples, and their labels as numbers from 0."""
        labels = np.searchsorted(self.classes, y)
        bound = self.C * weight * self.by_class[labels]
        if len(self.classes) == 2:
            return self.loss.for_targets(2.0 * labels - 1.0, bound), labels
        return self.loss.one_vs_all(labels, bound, n_classes=len(self.classes)), labels


@dataclass(frozen=True)
class NumberTargets:
    """Machines of numbers.

    Attributes
    ----------
    loss : RegressionLoss
    C : float
    """

    loss: RegressionLoss
    C: float

    def __call__(self, y: Any, weight: np.ndarray) -> tuple[Machine, np.ndarray]:
        """The machine of some samples, and their targets."""
        bound = self.C * weight
        if y.ndim == 2 and y.shape[1] > 1:
            return self.loss.several_targets(y, bound), y
        y = y.reshape(-1)
        return self.loss.for_targets(y, bound), y


@dataclass(frozen=True)
class NoveltyTargets:
    """Machines of samples without targets; the offset is moved afterwards, by `novelty.at_quantile`.

    Attributes
    ----------
    C : float
        `machines.squared_one_class.default_cost` of the sum of all weights where the user gives none.
    nu : float
        The share of samples that is rejected.
    """

    C: float
    nu: float

    def __call__(self, y: Any, weight: np.ndarray) -> tuple[Machine, None]:
        """The machine of some samples."""
        return SquaredOneClassMachine(self.C * weight, nu=self.nu), None
