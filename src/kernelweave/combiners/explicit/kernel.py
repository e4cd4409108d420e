"""`ExplicitSum`: sum_m a_m(x) k_m(x, z) a_m(z) with explicit features of each kernel.

`cross` gives the features a_m(x) phi_m(x) of all kernels side by side, so that values are ``cross(views) @ coef`` as
they are for every combined kernel; coefficients are the weight vectors w. `values` and `shares` go kernel by kernel and
never hold the features of more than one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Place
from ...engines.block import Block
from ...engines.device.prediction import values_on_device
from ...engines.stack import ExplicitStack
from ...engines.training.machine import ExplicitKernel
from ...kernels import Kernel
from ...views import Views
from ..combined import CombinedKernel
from ..weighted.missing import without_views
from .amplitudes import WeightAmplitudes


@dataclass(frozen=True)
class Lacking:
    """How many samples lack views.

    Attributes
    ----------
    some : int
        Samples that lack one view or more.
    all : int
        Samples that have none of the views in question.
    first : int or None
        Position of the first of the latter.
    """

    some: int
    all: int
    first: int | None

    def __add__(self, other: Lacking) -> Lacking:
        found = [place for place in (self.first, other.first) if place is not None]
        return Lacking(self.some + other.some, self.all + other.all, min(found, default=None))


def lacking(block: Block, used: np.ndarray) -> Lacking:
    """How many samples of a block lack a view, and how many all of the used ones."""
    if block.present is None:
        return Lacking(0, 0, None)
    present = np.asarray(block.present)
    without = np.flatnonzero(~present[:, used].any(axis=1))
    first = int(block.first + without[0]) if len(without) else None
    return Lacking(int((~present).any(axis=1).sum()), len(without), first)


class ExplicitSum(CombinedKernel):
    """k(x, z) = sum_m eta_m <phi_m(x), phi_m(z)> with one weight for each kernel.

    A sample that lacks a view has the features 0 there; the others are then multiplied by
    ``(sum_m eta_m / sum_{m present} eta_m) ** 0.5``, as in `WeightedSum`.

    Parameters
    ----------
    stack : ExplicitStack
    theta : ndarray of shape (n_kernels,)
        The weights, at least 0.
    missing : {"refuse", "warn"}
        What happens for a sample without any view that has a weight, see `WeightedSum`.
    owner : str
        What errors call the combiner.
    """

    is_sum = True
    stack: Any  # an ExplicitStack, in the place of a KernelStack

    def __init__(self, stack: ExplicitStack, theta: np.ndarray, *, missing: str = "refuse", owner: str = "WeightedSum"):
        self.stack, self.theta = stack, theta
        self.missing, self.owner = missing, owner
        self.amplitudes = WeightAmplitudes(theta)

    @property
    def active(self) -> np.ndarray:
        """The kernels with a weight."""
        return self.theta != 0

    def operand(self, out: np.ndarray | None = None) -> Any:
        """The features in blocks, with these weights."""
        self.scaling()
        return ExplicitKernel(self.stack.engine, self.amplitudes, self.stack.n_features)

    def scaling(self) -> np.ndarray:
        """The reference of `WeightAmplitudes` for these weights, for `mkl.operands.Operands.scale`.

        Ones where all samples have all views, so that no factor depends on it.
        """
        found: Lacking = self.stack.engine.sum(lacking, self.active)
        if found.first is not None:
            without_views(f"sample {found.first}", self.names, self.theta, self.missing)
        return self.theta if found.some else np.ones(len(self.theta))

    # New samples

    def cross(self, views: Views) -> np.ndarray:
        """a_m(x) phi_m(x) of all kernels, of shape (n_new, n_features)."""
        offsets = self.stack.offsets
        features = np.zeros((views.n_samples, offsets[-1]))
        for m, found in self._features(views):
            features[:, offsets[m] : offsets[m + 1]] = found
        return features

    def values(self, views: Views, coef: np.ndarray) -> np.ndarray:
        """Features of new samples times weight vectors, kernel by kernel."""
        offsets, values = self.stack.offsets, np.zeros((views.n_samples, coef.shape[1]))
        for m, found in self._features(views):
            values += found @ coef[offsets[m] : offsets[m + 1]]
        return values

    def values_in(self, place: Place, views: Views, coef: np.ndarray) -> np.ndarray:
        """The same in a place such as a CUDA device."""
        present = self.stack.presence(views, self.active)
        amplitudes = np.where(self.active, self._amplitudes(present, views), 0.0)
        return values_on_device(self.stack, place, views, amplitudes, present, coef)

    def shares(self, views: Views, coef: np.ndarray) -> np.ndarray:
        """What each kernel adds to `values`, of shape (n_new, n_outputs, n_kernels)."""
        offsets, shares = self.stack.offsets, np.zeros((views.n_samples, coef.shape[1], self.n_kernels))
        for m, found in self._features(views):
            shares[:, :, m] = found @ coef[offsets[m] : offsets[m + 1]]
        return shares

    def _features(self, views: Views) -> Iterator[tuple[int, np.ndarray]]:
        """a_m(x) phi_m(x), one active kernel after the other."""
        present = self.stack.presence(views, self.active)
        a = self._amplitudes(present, views)
        for m in np.flatnonzero(self.active).tolist():
            yield m, a[:, m, None] * self.stack.maps[m].transform(views, present[:, m])

    def _amplitudes(self, present: np.ndarray, views: Views) -> np.ndarray:
        without = ~present[:, self.active].any(axis=1)
        if without.any():
            without_views(views.first(without), self.names, self.theta, self.missing)
        return self.amplitudes.of(present)

    def feature_weights(self, m: int, coef: np.ndarray) -> np.ndarray | None:
        """The vectors of a linear kernel, where its features are kernel values to landmarks or linear in x."""
        offsets, found = self.stack.offsets, self.stack.maps[m]
        own = np.sqrt(self.theta[m]) * coef[offsets[m] : offsets[m + 1]]
        return found.feature_weights(own)

    # Weights

    def weights(self) -> np.ndarray:
        """The weights eta."""
        return self.theta

    def sample_weights(self, views: Views) -> np.ndarray:
        """The weights; those of views that a sample lacks are spread over the views that it has."""
        return self._amplitudes(self.stack.presence(views, self.active), views) ** 2

    # What prediction takes, and what is kept

    def values_per_sample(self, coef: np.ndarray) -> int:
        """The features of the kernel that has the most, before they are whitened too."""
        return self.stack.values_per_sample(self.active)

    def evaluations(self, coef: np.ndarray) -> np.ndarray:
        """With how many landmarks, or other raw values, each kernel compares a new sample."""
        return self.active * np.array([float(found.n_raw) for found in self.stack.maps])

    def restrict(self, index: np.ndarray) -> ExplicitSum:
        """The same kernel without training samples."""
        return ExplicitSum(self.stack.for_prediction(self.active), self.theta, missing=self.missing, owner=self.owner)

    def replace(self, m: int, kernel: Kernel) -> None:
        """Install a kernel with further ids in the place of base kernel m, in its feature map too."""
        self.stack.replace(m, kernel)
