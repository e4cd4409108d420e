"""The mean of all kernels with the least-squares machine, which keeps every training sample."""

from experiments.benchmark.ingredients import machines
from kernelweave.combiners import Mean
from kernelweave.compare import Problem

NAME = "mean, least squares"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """C from 0.01 to 1000."""
    return machines(problem, Mean(), costs=(1.0, 10.0, 0.1, 100.0, 0.01, 1000.0), machine="least-squares")
