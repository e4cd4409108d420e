"""Explicit features of kernels: k(x, z) = <phi(x), phi(z)>, exactly or nearly.

They are what estimators take as `approximation`, for each kernel or for all of them.
"""

from .base import Approximation, FeatureMap
from .choosing import APPROXIMATION, approximations_of, reservoir_size
from .exact import ExactFeatures
from .fourier import FourierFeatures
from .nystroem import NystroemFeatures
from .transformer import TransformerFeatures

__all__ = [
    "APPROXIMATION",
    "Approximation",
    "ExactFeatures",
    "FeatureMap",
    "FourierFeatures",
    "NystroemFeatures",
    "TransformerFeatures",
    "approximations_of",
    "reservoir_size",
]
