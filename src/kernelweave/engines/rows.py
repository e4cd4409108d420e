"""`Rows`: a block of samples as given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..views import Views

TARGET_BYTES = 2**23  # of X, that a block in memory takes about


@dataclass(frozen=True)
class Rows:
    """Samples as given.

    Attributes
    ----------
    first : int
        Position of the first of them in the whole data.
    views : Views
    y : ndarray or None
        Targets as the user gave them, checked.
    weight : ndarray of shape (n_samples,)
        Positive.
    """

    first: int
    views: Views
    y: np.ndarray | None
    weight: np.ndarray

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.views.n_samples
