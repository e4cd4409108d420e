"""The duals: each machine knows its targets and bounds, and is solved on any Gram matrix of its samples."""

from kernelweave.machines.base import Machine, Solution
from kernelweave.machines.binary import BinaryMachine
from kernelweave.machines.multiclass import OneVsAllMachine, OneVsOneMachine
from kernelweave.machines.one_class import OneClassMachine
from kernelweave.machines.regression import RegressionMachine

__all__ = [
    "BinaryMachine",
    "Machine",
    "OneClassMachine",
    "OneVsAllMachine",
    "OneVsOneMachine",
    "RegressionMachine",
    "Solution",
]
