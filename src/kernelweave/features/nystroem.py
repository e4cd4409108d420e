"""`NystroemFeatures`: kernel values to a few landmarks, whitened (Williams and Seeger 2001).

phi(x) = Lambda^(-1/2) U' k(L, x),      K_LL = U Lambda U'
"""

from __future__ import annotations

import numpy as np

from ..kernels import KernelStack
from ..validation import Choice, Constraints, Whole
from ..views import Views
from .base import Approximation, FeatureMap

SMALLEST = {"float32": 1e-6, "float64": 1e-13}  # eigenvalues that count, relative to the largest


class NystroemMap(FeatureMap):
    """Kernel values to landmarks, and what whitens them.

    Parameters
    ----------
    landmarks : KernelStack
        The kernel alone, over the landmarks.
    whitening : ndarray of shape (n_landmarks, n_features)
    trace_share : float
    """

    def __init__(self, landmarks: KernelStack, whitening: np.ndarray, trace_share: float):
        self.landmarks, self.whitening, self.trace_share = landmarks, whitening, trace_share

    def raw(self, views: Views, present: np.ndarray) -> np.ndarray:
        """k(x, L), normalised."""
        return self.landmarks.cross(0, views, present)


class NystroemFeatures(Approximation):
    """Features from kernel values to landmarks: phi(x) = Lambda^(-1/2) U' k(L, x) with K_LL = U Lambda U'.

    Parameters
    ----------
    n_components : int
        Number of landmarks for each kernel.
    method : {"rpcholesky", "kmeans++", "uniform"}
        How landmarks are drawn from the reservoir.

    Examples
    --------
    >>> from kernelweave.features import NystroemFeatures
    >>> NystroemFeatures(n_components=64)
    NystroemFeatures(n_components=64)
    """

    _constraints = Constraints(n_components=Whole(1), method=Choice("rpcholesky", "kmeans++", "uniform"))

    def __init__(self, n_components: int = 256, *, method: str = "rpcholesky"):
        self.n_components = n_components
        self.method = method

    def fit_map(self, stack: KernelStack, m: int, rng: np.random.RandomState, *, dtype: np.dtype) -> NystroemMap:
        """Draw landmarks among the samples that have the view, and whiten."""
        there = np.flatnonzero(stack.present[:, m])
        chosen = np.sort(rng.choice(there, min(self.n_components, len(there)), replace=False))
        landmarks = stack.only(m).restrict(chosen)
        among = landmarks.cross(0, landmarks.support, np.ones(len(chosen), dtype=bool))
        values, vectors = np.linalg.eigh(0.5 * (among + among.T))
        kept = values > SMALLEST[np.dtype(dtype).name] * max(values[-1], 0.0)
        whitening = vectors[:, kept] / np.sqrt(values[kept])
        cross, diagonal = landmarks.compare(0, stack.support, stack.present[:, m])
        weight = stack.weight * stack.present[:, m]
        captured, whole = weight @ ((cross @ whitening) ** 2).sum(axis=1), weight @ diagonal
        share = float(captured / whole) if whole > 0.0 else 1.0
        return NystroemMap(landmarks, whitening / np.sqrt(share), share)
