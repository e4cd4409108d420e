"""The public estimators: check the input, let a combiner and a machine do the work, store the result."""

from .classifier import MKLClassifier
from .one_class import MKLOneClass
from .regressor import MKLRegressor
from .samme import KernelSAMME
from .sparse_margin import SparseLargeMarginClassifier
from .voting import KernelVoting

__all__ = [
    "KernelSAMME",
    "KernelVoting",
    "MKLClassifier",
    "MKLOneClass",
    "MKLRegressor",
    "SparseLargeMarginClassifier",
]
