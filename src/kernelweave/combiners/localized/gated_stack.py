"""`GatedStack`: the state of `Localized`, the kernels with what decides how open each is for each training sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import KernelStack
from ..gates.inputs import GatingInputs
from ..gates.kernel_map import KernelMap


class GatedStack:
    """Kernels, the gating inputs, and the gates of the training samples.

    Parameters
    ----------
    stack : KernelStack
    inputs : GatingInputs
        Fitted.
    codes : ndarray of shape (n_samples, ...)
        The training samples as the gating model reads them; only needed while it is learned.

    Attributes
    ----------
    gates : ndarray of shape (n_samples, n_kernels) or None
        Gates of the training samples (of support vectors, after `restrict`); None while they are learned.
    active : ndarray of bool, shape (n_kernels,)
        The kernels that are open for some training sample.
    open_share : ndarray of shape (n_kernels,)
        For which share of the training samples each kernel is open.
    latest : tuple
        The theta of the last evaluation, and its gates.
    penalty : float
        What ||V||^2 / 2 costs while the gates are learned: l2 in units of the mean kernel's optimum.
    """

    def __init__(self, stack: KernelStack, inputs: GatingInputs, codes: np.ndarray | None):
        self.stack, self.inputs, self.codes = stack, inputs, codes
        self.gates: np.ndarray | None = None
        self.active = np.ones(stack.n_kernels, dtype=bool)
        self.open_share = np.ones(stack.n_kernels)
        self.penalty = 0.0
        self.latest: tuple[np.ndarray | None, np.ndarray | None] = (None, None)

    @property
    def n_kernels(self) -> int:
        """Number of kernels, P."""
        return self.stack.n_kernels

    def view_name(self, m: int) -> str:
        """What kernel m reads: its view's name or, where that has none, its own."""
        view = getattr(self.stack.kernels[m], "view", None)
        return view if isinstance(view, str) else self.stack.names[m]

    def settle(self, gates: np.ndarray, active: np.ndarray) -> None:
        """Make these gates of the training samples final."""
        self.gates, self.active, self.open_share = gates, active, (gates > 0.0).mean(axis=0)
        self.latest = (None, None)

    def subset(self, rows: np.ndarray) -> GatedStack:
        """The same over some of the training samples, while gates are learned; copies their Gram matrices."""
        return GatedStack(self.stack.subset(rows), self.inputs, self.codes[rows])

    def restrict(self, rows: np.ndarray, active: np.ndarray | None = None) -> GatedStack:
        """What is left where only these training samples and active kernels count."""
        lean = GatedStack(self.stack.restrict(rows, active), self.inputs, None)
        lean.gates, lean.active, lean.open_share = self.gates[rows], self.active, self.open_share
        return lean

    def replace(self, m: int, kernel: Any) -> None:
        """Put an extended kernel in the place of kernel m, and of the gating kernel if that reads the same matrix."""
        old = self.stack.kernels[m]
        self.stack.replace(m, kernel)
        if isinstance(self.inputs.source, KernelMap):
            self.inputs.source.replace(old, kernel)

    def lookups(self, active: np.ndarray) -> list:
        """The precomputed matrices inside the kernels, see `KernelStack.lookups`, and inside the gating kernel."""
        return [*self.stack.lookups(active), *self.inputs.lookups()]
