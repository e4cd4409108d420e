"""The public estimators: check the input, let a combiner and a machine do the work, store the result."""

from .classifier import MKLClassifier
from .ensembles.samme import KernelSAMME
from .ensembles.sparse_margin import SparseLargeMarginClassifier
from .ensembles.voting import KernelVoting
from .one_class import MKLOneClass
from .regressor import MKLRegressor

__all__ = [
    "KernelSAMME",
    "KernelVoting",
    "MKLClassifier",
    "MKLOneClass",
    "MKLRegressor",
    "SparseLargeMarginClassifier",
]
