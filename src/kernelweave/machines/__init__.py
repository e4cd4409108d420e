"""The duals: each machine knows its targets and bounds, and is solved on any Gram matrix of its samples."""

from .base import Machine, Solution
from .binary import BinaryMachine
from .joint import JointMachine
from .least_squares import FactoredSolution, LeastSquaresClassMachine, LeastSquaresMachine
from .multiclass import OneVsAllMachine, OneVsOneMachine
from .one_class import OneClassMachine
from .posterior import PosteriorMachine
from .regression import RegressionMachine

__all__ = [
    "BinaryMachine",
    "FactoredSolution",
    "JointMachine",
    "LeastSquaresClassMachine",
    "LeastSquaresMachine",
    "Machine",
    "OneClassMachine",
    "OneVsAllMachine",
    "OneVsOneMachine",
    "PosteriorMachine",
    "RegressionMachine",
    "Solution",
]
