"""The mean of all kernels: nothing is learned about them."""

from experiments.benchmark.ingredients import machines
from kernelweave.combiners import Mean
from kernelweave.compare import Problem

NAME = "mean of kernels"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """C from 0.01 to 1000."""
    return machines(problem, Mean(), costs=(1.0, 10.0, 0.1, 100.0, 0.01, 1000.0))
