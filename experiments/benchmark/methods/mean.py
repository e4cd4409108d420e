"""The mean of all kernels: nothing is learned about them."""

from kernelweave.combiners import Mean
from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.ingredients import machines

NAME = "mean of kernels"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """C from 0.01 to 1000."""
    return machines(problem, Mean(), costs=(1.0, 10.0, 0.1, 100.0, 0.01, 1000.0))
