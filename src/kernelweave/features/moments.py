"""Means over the reservoir by which features are centred and scaled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..views import Views

BLOCK_VALUES = 2**22  # features that are computed together
NOTHING_LEFT = 1e-12  # what centring leaves of a constant kernel, by rounding


@dataclass(frozen=True)
class Moments:
    """Weighted means over samples that have the view.

    Attributes
    ----------
    captured : float
        Of ||phi(x)||^2.
    whole : float
        Of k(x, x).
    mean : ndarray of shape (n_features,)
        Of phi(x).
    """

    captured: float
    whole: float
    mean: np.ndarray

    def centered(self) -> Moments:
        """Those of phi(x) - mean; the mean stays what is subtracted."""
        length = float(self.mean @ self.mean)
        captured, whole = self.captured - length, self.whole - length
        if whole <= NOTHING_LEFT * self.whole:
            captured = whole = 0.0
        return Moments(max(captured, 0.0), whole, self.mean)

    @property
    def share(self) -> float:
        """What the features have of the kernel's trace; 1 of a kernel that is zero."""
        return self.captured / self.whole if self.whole > 0.0 else 1.0

    @property
    def gain(self) -> float:
        """What features are multiplied by, so that they have the kernel's trace."""
        return float(np.sqrt(max(self.whole, 0.0) / self.captured)) if self.captured > 0.0 else 0.0


def moments_of(
    views: Views, weight: np.ndarray, n_features: int, compute: Callable[[Views], tuple[np.ndarray, np.ndarray]]
) -> Moments:
    """Means over samples that all have the view, block by block.

    Parameters
    ----------
    views : Views
    weight : ndarray of shape (n_samples,)
    n_features : int
    compute : callable
        From views to phi and k(x, x) of their samples.
    """
    shares = weight / weight.sum()
    captured, whole, mean = 0.0, 0.0, np.zeros(n_features)
    step = max(1, BLOCK_VALUES // max(1, n_features))
    for first in range(0, views.n_samples, step):
        rows = slice(first, min(first + step, views.n_samples))
        features, diagonal = compute(views if step >= views.n_samples else views.rows(rows))
        captured += float(shares[rows] @ np.einsum("ij,ij->i", features, features))
        whole += float(shares[rows] @ diagonal)
        mean += shares[rows] @ features
    return Moments(captured, whole, mean)
