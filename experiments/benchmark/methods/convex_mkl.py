"""Multiple kernel learning with weights on the simplex, which become sparse."""

from kernelweave.combiners import ConvexMKL
from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.ingredients import machines

NAME = "ConvexMKL"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Four values of C."""
    return machines(problem, ConvexMKL())
