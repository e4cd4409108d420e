"""The training stack: the base kernels of a model over its training samples, in one of three forms.

A method is written once, against the operations of `base.TrainingStack`; the form decides how they are computed:

==============  ==============================================================================
`dense`         whole Gram matrices in memory; `completed`: without missing views
`tiles`         kernel values in tiles, on the host or on a device; never a whole matrix
`explicit`      explicit features over blocks of samples: in memory, files, a device or Dask
==============  ==============================================================================
"""

from __future__ import annotations

from typing import Any

from ..kernels import KernelStack
from ..kernels.completion import CompletedStack
from .base import FitControl, HeldOut, TrainingStack, WeightedSums
from .completed import CompletedMatrices
from .dense import ExactStack, Matrices
from .tiles import Tiles

__all__ = ["ExactStack", "FitControl", "HeldOut", "TrainingStack", "WeightedSums", "training"]


def training(stack: Any) -> Any:
    """A stack with the operations of `TrainingStack`: itself, or the same kernels and samples where it has none.

    Parameters
    ----------
    stack : TrainingStack or KernelStack
        The latter is whole matrices or tiles by its ``storage``.
    """
    if isinstance(stack, TrainingStack) or not isinstance(stack, KernelStack):
        return stack
    if isinstance(stack, CompletedStack):
        return CompletedMatrices._of(stack)
    return (Matrices if stack.storage == "dense" else Tiles)._of(stack)
