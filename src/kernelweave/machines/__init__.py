"""The duals: each machine knows its targets and bounds, and is solved on any Gram matrix of its samples."""

from .base import Machine, Solution
from .binary import BinaryMachine
from .multiclass import OneVsAllMachine, OneVsOneMachine
from .one_class import OneClassMachine
from .regression import RegressionMachine

__all__ = [
    "BinaryMachine",
    "Machine",
    "OneClassMachine",
    "OneVsAllMachine",
    "OneVsOneMachine",
    "RegressionMachine",
    "Solution",
]
