"""How similar kernels are to the targets and to each other, thesis 2.3: what every similarity-based combiner needs.

The ideal kernel is never formed: it is T = Z Z' with few columns, so that <K, T> = tr(Z'KZ). Centring (Cortes, Mohri
and Rostamizadeh, 2012) subtracts row means on the way, without a centred copy. Samples count by their weight,
<A, B> = sum_ij w_i w_j A_ij B_ij, so that a weight of 2 is a sample that stands there twice.

==============  =============================================  =======================
thesis          here                                           name
==============  =============================================  =======================
yy'             ideal kernel T = Z Z', binary                  `IdealColumns` gives Z
<K_m, yy'>      inner product with the ideal kernel            `Similarity.to_target`
<K_m, K_h>      inner product of two kernels                   `Similarity.between`
==============  =============================================  =======================

A sample that lacks a view has a zero row in that kernel and takes no part in its row means, so a kernel that few
samples have can only be a little similar to the targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...machines import Machine
from ...stacks import ExactStack, TrainingStack
from ...stacks.base import Similarity


@dataclass(frozen=True)
class IdealColumns:
    """z of some samples from their targets: T = Z Z' is the ideal kernel.

    Attributes
    ----------
    n_classes : int
        0 where targets are numbers: z is then the targets themselves.
    """

    n_classes: int

    def __call__(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Of shape (n_samples, n_columns)."""
        k = self.n_classes
        if k == 0:
            return y.reshape(len(y), -1).astype(float)
        if k == 2:
            return 2.0 * y[:, None] - 1.0
        return np.sqrt(k / (k - 1)) * (np.eye(k)[y] - 1.0 / k)


def n_classes_of(stack: TrainingStack, machine: Machine, combiner: object) -> int:
    """The number of classes, or an error where the machine is no classifier."""
    if machine.strata is None:
        raise ValueError(f"{type(combiner).__name__} is for classification only; Mean works for every machine")
    return len(stack.class_counts(machine))


def compared_with_targets(
    stack: TrainingStack, machine: Machine, combiner: object, centered: bool, pairs: bool
) -> Similarity:
    """Inner products of the kernels with the ideal kernel of a machine's targets and, with `pairs`, with each other."""
    if machine.strata is None and (machine.detects_novelty or not stack.has_targets):
        raise ValueError(f"{type(combiner).__name__} compares kernels with targets, and there are none; use Mean")
    n_classes = 0 if machine.strata is None else n_classes_of(stack, machine, combiner)
    return stack.inner_products(IdealColumns(n_classes), mean=n_classes == 0, centered=centered, pairs=pairs)


def ideal_factor(stack: ExactStack, machine: Machine, combiner: object) -> np.ndarray:
    """Z of the ideal kernel T = Z Z', of shape (n_samples, n_columns), of samples in memory."""
    y: Any = stack.targets
    weight = stack.weight
    if machine.strata is not None:
        return IdealColumns(n_classes_of(stack, machine, combiner))(y, weight)
    if y is None:
        raise ValueError(f"{type(combiner).__name__} compares kernels with targets, and there are none; use Mean")
    centred = (y - np.average(y, axis=0, weights=weight)).reshape(len(y), -1)
    return centred / np.sqrt(centred.shape[1])
