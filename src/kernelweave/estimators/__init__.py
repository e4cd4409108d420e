"""The public estimators: check the input, let a combiner and a machine do the work, store the result."""

from .classifier import MKLClassifier
from .one_class import MKLOneClass
from .regressor import MKLRegressor

__all__ = ["MKLClassifier", "MKLOneClass", "MKLRegressor"]
