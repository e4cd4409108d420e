"""The mean of all kernels in one machine for all classes, in place of one machine per class."""

from experiments.benchmark.ingredients import machines
from kernelweave.combiners import Mean
from kernelweave.compare import Problem

NAME = "mean, joint machine"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Four values of C; with two classes it is the mean of kernels."""
    return machines(problem, Mean(), multiclass="joint")
