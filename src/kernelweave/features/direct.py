"""`DirectMap`: features that are functions of a kernel's own features, normalised as the kernel is.

=================  ==========================================================
normalisation      phi'(x)
=================  ==========================================================
``unit-diagonal``  phi(x) / ||phi(x)||; 0 where phi(x) is 0
``unit-trace``     phi(x) / root of the mean of ||phi||^2 over the reservoir
``center``         phi(x) - the mean of phi over the reservoir
``None``           phi(x)
=================  ==========================================================

Features that are not centred or scaled by one of these are scaled to the trace of the kernel, see `features.base`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np

from ..kernels import Kernel, KernelStack
from ..kernels.stacking.normalization import finite
from ..kernels.stacking.single import single_stack
from ..views import Views
from .base import FeatureMap
from .moments import Moments, moments_of


class DirectMap(FeatureMap):
    """Features without whitening; subclasses write `expand`.

    Parameters
    ----------
    kernel : Kernel
        Fitted.
    label : str
        What messages call it.
    width : int
        Number of features.

    Attributes
    ----------
    by_norm : bool
        Whether each row is divided by its norm.
    factor : float
    mean : ndarray of shape (n_features,) or None
        What is subtracted before features are multiplied by the factor.
    """

    whitening = None

    def __init__(self, kernel: Kernel, label: str, width: int):
        self.kernel, self.label, self.width = kernel, label, width
        self.by_norm, self.factor, self.trace_share = False, 1.0, 1.0
        self.mean: np.ndarray | None = None

    @property
    def n_raw(self) -> int:
        """Number of features."""
        return self.width

    @abstractmethod
    def expand(self, views: Views) -> np.ndarray:
        """phi of samples before normalisation, a new array; rows of samples that lack the view may be anything."""

    def raw(self, views: Views, present: np.ndarray) -> np.ndarray:
        """phi, normalised."""
        features = finite(lambda: self.expand(views), self.label)
        if self.by_norm:
            norms = np.linalg.norm(features, axis=1)
            features *= np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0.0)[:, None]
        if self.mean is not None:
            features -= self.mean
        features *= self.factor
        features[~present] = 0.0
        return features

    def normalized(self, stack: KernelStack, m: int) -> Moments:
        """Take the constants of normalisation from the reservoir; parameters are those of `Approximation.fit_map`.

        Returns the means of the features before they are normalised.
        """
        normalize = stack.normalizers[m].method
        own = single_stack(stack, m, normalize=None)

        def compute(views: Views) -> tuple[np.ndarray, np.ndarray]:
            return self.raw(views, np.ones(views.n_samples, dtype=bool)), self.kernel.diagonal(views)

        found = moments_of(own.support, own.weight, self.width, compute)
        self.trace_share = found.share
        self.by_norm = normalize == "unit-diagonal"
        if normalize == "center":
            self.mean = found.mean
        scaled = replace(found, whole=1.0) if normalize == "unit-trace" else found
        self.factor = 1.0 if self.by_norm else scaled.gain
        return found
