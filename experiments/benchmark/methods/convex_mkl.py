"""Multiple kernel learning with weights on the simplex, which become sparse."""

from experiments.benchmark.ingredients import machines
from kernelweave.combiners import ConvexMKL
from kernelweave.compare import Problem

NAME = "ConvexMKL"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Four values of C."""
    return machines(problem, ConvexMKL())
