"""The training stack: the base kernels of a model over its training samples, in one of three forms.

A method is written once, against the operations of `base.TrainingStack`; the form decides how they are computed:

==============  ==============================================================================
`matrices`      whole Gram matrices in memory
`tiles`         kernel values in tiles, on the host or on a device; never a whole matrix
`features`      explicit features over blocks of samples: in memory, files, a device or Dask
==============  ==============================================================================
"""

from .base import FitControl, HeldOut, TrainingStack, WeightedSums
from .dense import ExactStack, training

__all__ = ["ExactStack", "FitControl", "HeldOut", "TrainingStack", "WeightedSums", "training"]
