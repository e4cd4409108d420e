"""The duals: a machine holds targets and costs and is solved on any Gram matrix; `base` defines the protocol."""

from .base import Machine
from .binary import BinaryMachine
from .joint import JointMachine
from .least_squares import FactoredSolution, LeastSquaresClassMachine, LeastSquaresMachine
from .losses import (
    BinaryLoss,
    EpsilonInsensitive,
    Hinge,
    Loss,
    LossMachine,
    RegressionLoss,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
    SquaredMargin,
)
from .multiclass import OneVsAllMachine, OneVsOneMachine
from .one_class import OneClassMachine
from .posterior import PosteriorMachine
from .regression import RegressionMachine
from .solution import Solution
from .squared_one_class import SquaredOneClassMachine
from .targets import TargetsMachine
from .terms import DualTerms

__all__ = [
    "BinaryLoss",
    "BinaryMachine",
    "DualTerms",
    "EpsilonInsensitive",
    "FactoredSolution",
    "Hinge",
    "JointMachine",
    "LeastSquaresClassMachine",
    "LeastSquaresMachine",
    "Loss",
    "LossMachine",
    "Machine",
    "OneClassMachine",
    "OneVsAllMachine",
    "OneVsOneMachine",
    "PosteriorMachine",
    "RegressionLoss",
    "RegressionMachine",
    "Solution",
    "SquaredEpsilonInsensitive",
    "SquaredError",
    "SquaredHinge",
    "SquaredMargin",
    "SquaredOneClassMachine",
    "TargetsMachine",
]
