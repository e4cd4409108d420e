"""`ProjectedStack`: the state of `Projected`, the features of training samples, their projections and their gates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...kernels import KernelStack
from ...kernels.points.projected import ProjectedSum
from ..gates.inputs import GatingInputs
from ..localized.gated_stack import GatedStack


class Evaluation(NamedTuple):
    """What the training samples are under one theta.

    Attributes
    ----------
    theta : ndarray
    codes : ndarray of shape (n_samples, ...)
        What the gating model reads: T' x^G where there is a T.
    kernel : ProjectedSum
        With points and gates.
    """

    theta: np.ndarray
    codes: np.ndarray
    kernel: ProjectedSum


class ProjectedStack(GatedStack):
    """Kernels, the features that are projected, and the gates of the training samples.

    Parameters
    ----------
    stack : KernelStack
    inputs : GatingInputs
        Fitted.
    codes : ndarray of shape (n_samples, ...) or None
        The gating inputs of the training samples; only needed while learning.
    maps : list of ViewFeatures or KernelFeatures
        Fitted, one for each kernel.
    features : list of ndarray or CSR matrix, or None
        The features of the training samples; only needed while learning.

    Attributes
    ----------
    points : list of ndarray of shape (n_samples, n_components)
        Projected training samples (support vectors, after `restrict`); empty while they are learned.
    directions : list of ndarray
        What makes points of what the maps read of new samples; empty while they are learned.
    """

    def __init__(self, stack: KernelStack, inputs: GatingInputs, codes: Any, maps: list, features: list | None):
        super().__init__(stack, inputs, codes)
        self.maps, self.features = maps, features
        self.points: list[np.ndarray] = []
        self.directions: list[np.ndarray] = []
        self.evaluation: Evaluation | None = None
        self.has_widths = False

    @property
    def by_kernel(self) -> np.ndarray:
        """Which kernels compare new samples with all training samples to find their features."""
        return np.array([each.by_kernel for each in self.maps])

    def whole_gram(self, gates: np.ndarray) -> np.ndarray:
        """The gated sum of the kernels of whole features, before they are projected."""
        K = np.zeros((self.stack.n_samples, self.stack.n_samples), self.stack.dtype)
        for m, (each, F) in enumerate(zip(self.maps, self.features, strict=True)):
            values = each.kernel.of_width(self.stack.kernels[m]).gram(F)
            values *= gates[:, m, None]
            values *= gates[:, m]
            K += values
        return K

    def learn_widths(self, matrices: list[np.ndarray]) -> None:
        """Take the widths that kernels learn by a rule from these projections of the training samples."""
        for m, (each, F, W) in enumerate(zip(self.maps, self.features, matrices, strict=True)):
            present = self.stack.present[:, m]
            each.kernel = each.kernel.with_width_of(np.asarray(F @ W)[present], self.stack.weight[present])
        self.has_widths = True

    def settle_projections(self, matrices: list[np.ndarray]) -> None:
        """Make these projections final."""
        self.points = [np.asarray(F @ W) for F, W in zip(self.features, matrices, strict=True)]
        self.directions = [each.directions(W) for each, W in zip(self.maps, matrices, strict=True)]
        self.evaluation = None

    def subset(self, rows: np.ndarray) -> ProjectedStack:
        """The same over some of the training samples, while theta is learned."""
        features = [F[rows] for F in self.features]
        return ProjectedStack(self.stack.subset(rows), self.inputs, self.codes[rows], self.maps, features)

    def restrict(self, rows: np.ndarray, active: np.ndarray | None = None) -> ProjectedStack:
        """What is left where only these training samples and active kernels count.

        All training samples are kept where kernel values give the features of new ones.
        """
        active = self.active if active is None else active
        compared = self.by_kernel & (active | self.inputs.reads_features)
        kept = np.arange(self.stack.n_samples) if compared.any() else np.empty(0, dtype=int)
        stack = self.stack.restrict(kept, compared)
        lean = ProjectedStack(stack, self.inputs.restrict(stack), None, [each.settled() for each in self.maps], None)
        lean.gates, lean.active, lean.open_share = self.gates[rows], self.active, self.open_share
        lean.points = [Z[rows] if is_active else Z[:0] for Z, is_active in zip(self.points, active, strict=True)]
        lean.directions = [D if is_active else D[:0] for D, is_active in zip(self.directions, active, strict=True)]
        return lean

    def lookups(self, active: np.ndarray) -> list:
        """The precomputed matrices inside the kernels and the gating kernel, each with the ids it is asked for."""
        return [*self.stack.lookups(self.stack.active), *self.inputs.lookups()]
