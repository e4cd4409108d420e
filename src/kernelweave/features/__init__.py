"""Explicit features of kernels: k(x, z) = <phi(x), phi(z)>, exactly or nearly."""

from .base import Approximation, FeatureMap
from .nystroem import NystroemFeatures

__all__ = ["Approximation", "FeatureMap", "NystroemFeatures"]
