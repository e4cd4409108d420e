"""The duals: a machine holds targets and costs and is solved on any Gram matrix; `base` defines the protocol."""

from .base import DualTerms, Machine, Solution
from .binary import BinaryMachine, PosteriorMachine
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
from .multiclass import JointMachine, OneVsAllMachine, OneVsOneMachine
from .one_class import OneClassMachine, SquaredOneClassMachine
from .regression import (
    FactoredSolution,
    LeastSquaresClassMachine,
    LeastSquaresMachine,
    RegressionMachine,
    TargetsMachine,
)
from .survival import SurvivalMachine

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
    "SurvivalMachine",
    "TargetsMachine",
]
