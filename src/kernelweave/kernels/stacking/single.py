"""Stacks that are made of fitted kernels: of one kernel out of several, or of several that were fitted separately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...views import Views
from .repair import Repair
from .stack import KernelStack


def single_stack(stack: KernelStack, m: int, *, normalize: str | None) -> KernelStack:
    """One kernel of a stack alone, over the training samples that have its view; its values are not repaired.

    Parameters
    ----------
    stack : KernelStack
        Fitted.
    m : int
    normalize : {"unit-diagonal", "unit-trace", None}
        Constants are learned from these samples.
    """
    name, kernel = stack.names[m], stack.kernels[m]
    other = KernelStack([(name, kernel)], normalize)
    other.kernels = [kernel]
    present = stack.present[:, m]
    rows = np.flatnonzero(present)
    views = stack.support if present.all() else stack.support.rows(rows)
    there = np.ones((len(rows), 1), dtype=bool)
    as_it_is = Repair(None, name, trusted=True).unlearned()
    other._hold(views, views, np.arange(len(rows)), stack.weight[rows], [as_it_is], there, np.ones(1, dtype=bool))
    return other


def joint_stack(stacks: Sequence[KernelStack], views: Views, weight: np.ndarray, y: Any = None) -> KernelStack:
    """Several fitted kernels over common samples; constants of normalisation are learned from these samples.

    Parameters
    ----------
    stacks : sequence of KernelStack
        Of one kernel each.
    views : Views
    weight : ndarray of shape (n_samples,)
    y : array, optional
    """
    pairs = [(each.names[0], each.kernels[0]) for each in stacks]
    joint = KernelStack(pairs, stacks[0].normalizers[0].method)
    joint.kernels = [kernel for _, kernel in pairs]
    repairs = [Repair.of(kernel, name) for name, kernel in pairs]
    rows, active = np.arange(views.n_samples), np.ones(len(pairs), dtype=bool)
    joint._hold(views, views, rows, weight, repairs, joint.presence(views), active)
    joint.y = None if y is None else np.asarray(y)
    return joint
