"""`ExplicitStack`: the kernels of a model with explicit features, over training samples in blocks.

For combiners it stands where a `KernelStack` stands, with ``storage="explicit"``.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ..features import FeatureMap
from ..kernels import Kernel, KernelStack
from ..kernels.stacking.normalization import Normalizer
from ..views import Views
from .base import Engine
from .slices import spans_of


class ExplicitStack:
    """Feature maps of several kernels, and the blocks that have their features.

    Parameters
    ----------
    reservoir : KernelStack
        The fitted kernels over the reservoir.
    maps : list of FeatureMap
    engine : Engine or None
        Over `Block`s; None for new samples only.
    n_samples : int
        Of all blocks.
    """

    storage = "explicit"

    def __init__(self, reservoir: KernelStack, maps: list[FeatureMap], engine: Any, n_samples: int):
        self.reservoir, self.maps, self.n_samples = reservoir, maps, n_samples
        self.engine: Engine = engine
        self.names, self.kernels, self.normalizers = reservoir.names, reservoir.kernels, reservoir.normalizers

    @property
    def n_kernels(self) -> int:
        """Number of kernels, P."""
        return len(self.maps)

    @property
    def offsets(self) -> np.ndarray:
        """Where the features of each kernel begin, and where the last ones end."""
        return np.cumsum([0, *(m.n_features for m in self.maps)])

    @property
    def n_features(self) -> int:
        """Of all kernels."""
        return int(self.offsets[-1])

    def repeated(self, by_kernel: np.ndarray) -> np.ndarray:
        """One number of each kernel for each of its features, as a column."""
        return np.repeat(by_kernel, np.diff(self.offsets))[:, None]

    def norms(self, vectors: np.ndarray) -> np.ndarray:
        """The squared norm of each kernel's part of vectors, of shape (n_features, n_outputs), summed over outputs."""
        squares = (vectors**2).sum(axis=1)
        return np.array([squares[span].sum() for span in spans_of(self.offsets)])

    def presence(self, views: Views, active: np.ndarray | None = None) -> np.ndarray:
        """Which samples have which view, see `KernelStack.presence`."""
        return self.reservoir.presence(views, active)

    def values_per_sample(self, active: np.ndarray) -> int:
        """Raw values and features of a sample for the active kernel (a boolean array) that has the most."""
        return max(found.n_raw + found.n_features for found, used in zip(self.maps, active, strict=True) if used)

    def check_memory(self, *_: Any, **__: Any) -> None:
        """No Gram matrix is made."""

    def lookups(self, active: np.ndarray) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices inside the kernels, each with the ids that prediction compares with (landmarks)."""
        found: list[tuple[Kernel, np.ndarray]] = []
        for m, is_active in enumerate(active.tolist()):
            landmarks = self.maps[m].landmarks
            if landmarks is not None:
                found += landmarks.lookups(np.array([is_active]))
        return found

    def replace(self, m: int, kernel: Any) -> None:
        """Put a kernel that is extended by new ids in the place of kernel m, see `KernelStack.replace`."""
        landmarks = self.maps[m].landmarks
        if landmarks is not None:
            landmarks.replace(0, kernel)
        self.reservoir.replace(m, kernel)

    def for_prediction(self, active: np.ndarray) -> ExplicitStack:
        """The feature maps of active kernels (a boolean array), and no training samples."""
        bare = copy(self.reservoir)
        # Presence of views is all that is left to find out from these kernels: feature maps have their own constants.
        bare.normalizers = [Normalizer(None, found.name) for found in self.normalizers]
        bare.repairs = [repair.unlearned() for repair in bare.repairs]
        maps = [found if used else NoFeatures(found.n_features) for found, used in zip(self.maps, active, strict=True)]
        kept = bare.restrict(np.empty(0, dtype=int), active)
        kept.normalizers = [Normalizer(found.method, found.name) for found in self.normalizers]
        return ExplicitStack(kept, maps, None, self.n_samples)


class NoFeatures(FeatureMap):
    """In the place of the features of a kernel that prediction does not evaluate: all are 0.

    Parameters
    ----------
    n_features : int
    """

    def __init__(self, n_features: int):
        self.whitening, self.trace_share = np.empty((0, n_features)), 0.0

    @property
    def n_raw(self) -> int:
        """None."""
        return 0

    def raw(self, views: Views, present: np.ndarray) -> np.ndarray:
        """Nothing."""
        return np.empty((views.n_samples, 0))
