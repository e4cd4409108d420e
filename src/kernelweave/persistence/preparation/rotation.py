"""`RotateOperation`: projection on components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Operation


@dataclass(frozen=True, eq=False, repr=False)
class RotateOperation(Operation):
    """z = (x - mean) V' / scale, with the components as the rows of V.

    Parameters
    ----------
    components : ndarray of shape (n_out, n_in)
    mean : ndarray of shape (n_in,) or None
    scale : ndarray of shape (n_out,) or None
        Standard deviations of the projected training samples, where the result is whitened.
    prefix : str
        The columns of the result are named by it and their number.
    """

    components: np.ndarray
    mean: np.ndarray | None
    scale: np.ndarray | None
    prefix: str

    @property
    def n_in(self) -> int:
        """Number of columns of the table."""
        return self.components.shape[1]

    @property
    def n_out(self) -> int:
        """Number of components."""
        return self.components.shape[0]

    def transform(self, X: Any) -> np.ndarray:
        """The projected samples, an array also where the table is sparse."""
        projected = np.asarray(self._table(X, sparse="csr") @ self.components.T)
        if self.mean is not None:
            projected -= self.mean.reshape(1, -1) @ self.components.T  # afterwards: a sparse table stays sparse
        if self.scale is not None:
            projected /= self.scale
        return projected

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """The prefix with the number of the component."""
        return np.array([f"{self.prefix}{place}" for place in range(self.n_out)], dtype=object)
