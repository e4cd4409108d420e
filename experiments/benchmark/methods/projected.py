"""A learned projection of each view to a few components, each with a kernel of its own."""

from kernelweave.combiners import Projected
from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.ingredients import machines

NAME = "Projected"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two values of C."""
    return machines(problem, Projected(), costs=(1.0, 10.0))
