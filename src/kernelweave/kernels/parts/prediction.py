"""Values of new samples in parts: no matrix of new samples x support vectors is made, on the host or on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ...arrays import Place
from ...views import Views
from .stack import StackInParts

if TYPE_CHECKING:
    from ..stack import KernelStack

#: Numbers of new samples (features and images) that are in the place at once.
BLOCK_NUMBERS = 2**25
#: Blocks whose values are waited for at once.
PENDING = 8

# The parts of each stack at the last place, and for which kernels; they are no part of the stack's state, so that a
# copy of it, or a saved model, is without them.
_PLACED: WeakKeyDictionary[Any, tuple[Place, list[Any], StackInParts]] = WeakKeyDictionary()


def parts_at(stack: KernelStack, place: Place) -> StackInParts:
    """The kernels of a stack over the samples that prediction keeps, in parts in a place; the last ones are kept."""
    known = _PLACED.get(stack)
    if known is None or known[0] != place or any(a is not b for a, b in zip(known[1], stack.kernels, strict=True)):
        known = _PLACED[stack] = place, list(stack.kernels), stack.at(place).in_parts()
    return known[2]


def cross_values(
    parts: StackInParts,
    views: Views,
    left_new: np.ndarray,
    left_train: np.ndarray,
    weights: np.ndarray,
    coef: np.ndarray,
) -> np.ndarray:
    """sum_m weights[m] left_new[i, m] sum_j k_m(x_i, z_j) left_train[j, m] coef[j, r] for new samples x_i.

    Parameters
    ----------
    parts : StackInParts
        Over the training samples z_j (support vectors).
    views : Views
        The new samples.
    left_new, left_train : ndarray of shape (n_new, n_kernels) and (n_train, n_kernels)
        What samples are multiplied by in each kernel: gates, or a factor of the sample. With one column, in all.
    weights : ndarray of shape (n_kernels,)
        Kernels of weight 0 are not computed, and their views are not read.
    coef : ndarray of shape (n_train, n_outputs)

    Returns
    -------
    ndarray of shape (n_new, n_outputs)
    """
    used = np.flatnonzero((weights != 0.0) & (left_train != 0.0).any(axis=0))
    values = np.zeros((views.n_samples, coef.shape[1]))
    if not len(used) or not len(coef) or not views.n_samples:
        return values
    place, chosen = parts.place, StackInParts([parts.sources[m] for m in used.tolist()], parts.place)
    new, train = (left if left.shape[1] == 1 else left[:, used] for left in (left_new, left_train))
    V = place.asarray((weights[used] * train)[:, :, None] * coef[:, None, :], "float64")
    width = chosen.n_features + len(used) * (2 + coef.shape[1])
    free = place.free_memory()
    n_rows = max(1, (BLOCK_NUMBERS if free is None else min(BLOCK_NUMBERS, free // 64)) // width)
    pending: list[tuple[slice, Any]] = []  # the host prepares the next block while a device is at work
    for first in range(0, views.n_samples, n_rows):
        block = slice(first, min(first + n_rows, views.n_samples))
        part = views if n_rows >= views.n_samples else views.rows(block)
        images = chosen.against(part).images(None, None, V)
        gates = place.asarray(new[block], "float64")
        pending.append((block, place.xp.sum(images * gates[:, :, None], axis=1)))
        if len(pending) == PENDING or block.stop == views.n_samples:
            for done, found in pending:
                values[done] = place.numpy(found)
            pending.clear()
    return values
