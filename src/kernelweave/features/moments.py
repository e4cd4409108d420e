"""Means over the reservoir by which features are centred and scaled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..views import Views

BLOCK_VALUES = 2**22  # features that are computed together
# Of the mean of k(x, x), by rounding: what the features may lack of it, and what centring may leave of a constant
# kernel. The first is a difference of two sums in float64; the second is a sum of squares, each of which is rounding.
LACKS, NOTHING_LEFT = 64.0 * float(np.finfo(float).eps), 1e-15


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
    spread : float
        Of ||phi(x) - mean||^2.
    """

    captured: float
    whole: float
    mean: np.ndarray
    spread: float

    def centered(self) -> Moments:
        """Those of phi(x) - mean; the mean stays what is subtracted."""
        lacking = self.whole - self.captured
        whole = self.spread + (lacking if lacking > LACKS * self.whole else 0.0)
        if whole <= NOTHING_LEFT * self.whole:
            return Moments(0.0, 0.0, self.mean, 0.0)
        return Moments(self.spread, whole, self.mean, self.spread)

    @property
    def share(self) -> float:
        """What the features have of the kernel's trace; 1 of a kernel that is zero."""
        return self.captured / self.whole if self.whole > 0.0 else 1.0

    @property
    def varied(self) -> float:
        """What differs between samples, as a share of the kernel's trace; 0 of a kernel that is zero."""
        return self.spread / self.whole if self.whole > 0.0 else 0.0

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
    captured, whole, square, mean = 0.0, 0.0, 0.0, np.zeros(n_features)
    origin: np.ndarray | None = None  # spreads are summed around a sample: around 0 a large mean would drown them
    step = max(1, BLOCK_VALUES // max(1, n_features))
    for first in range(0, views.n_samples, step):
        rows = slice(first, min(first + step, views.n_samples))
        features, diagonal = compute(views if step >= views.n_samples else views.rows(rows))
        captured += float(shares[rows] @ np.einsum("ij,ij->i", features, features))
        whole += float(shares[rows] @ diagonal)
        origin = features[0].copy() if origin is None else origin
        apart = features - origin
        square += float(shares[rows] @ np.einsum("ij,ij->i", apart, apart))
        mean += shares[rows] @ apart
    spread = max(0.0, square - float(mean @ mean))
    return Moments(captured, whole, mean if origin is None else origin + mean, spread)
