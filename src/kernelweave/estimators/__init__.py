"""The public estimators: check the input, let a combiner and a machine do the work, store the result."""

from .bayesian import BayesianMKLClassifier, BayesianMKLRegressor
from .boosting import ColumnBoostingClassifier, ColumnBoostingRegressor
from .calibration import calibrated
from .classifier import MKLClassifier
from .ensembles import KernelSAMME, KernelVoting, SparseLargeMarginClassifier
from .novelty import MKLOneClass
from .regressor import MKLRegressor
from .survival import MKLSurvival

__all__ = [
    "BayesianMKLClassifier",
    "BayesianMKLRegressor",
    "ColumnBoostingClassifier",
    "ColumnBoostingRegressor",
    "KernelSAMME",
    "KernelVoting",
    "MKLClassifier",
    "MKLOneClass",
    "MKLRegressor",
    "MKLSurvival",
    "SparseLargeMarginClassifier",
    "calibrated",
]
