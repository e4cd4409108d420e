"""A learned projection of each view to a few components, each with a kernel of its own."""

from experiments.benchmark.ingredients import machines
from kernelweave.combiners import Projected
from kernelweave.compare import Problem

NAME = "Projected"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two values of C."""
    return machines(problem, Projected(), costs=(1.0, 10.0))
