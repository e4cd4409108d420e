"""`ExplicitStack`: the kernels of a model with explicit features, over training samples in blocks.

For combiners it stands where a `KernelStack` stands, with ``storage="explicit"``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..features import FeatureMap
from ..kernels import KernelStack
from ..views import Views
from .base import Engine


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

    def __init__(self, reservoir: KernelStack, maps: list[FeatureMap], engine: Engine | None, n_samples: int):
        self.reservoir, self.maps, self.engine, self.n_samples = reservoir, maps, engine, n_samples
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

    def presence(self, views: Views, active: np.ndarray | None = None) -> np.ndarray:
        """Which samples have which view, see `KernelStack.presence`."""
        return self.reservoir.presence(views, active)

    def check_memory(self, *_: Any, **__: Any) -> None:
        """No Gram matrix is made."""
