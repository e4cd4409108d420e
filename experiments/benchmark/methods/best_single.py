"""The one kernel with which a support vector machine is the best on samples that were held out."""

from kernelweave.combiners import BestSingle
from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.ingredients import machines

NAME = "best single kernel"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two values of C."""
    return machines(problem, BestSingle(), costs=(1.0, 10.0))
