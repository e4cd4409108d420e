"""The one kernel with which a support vector machine is the best on samples that were held out."""

from experiments.benchmark.ingredients import machines
from kernelweave.combiners import BestSingle
from kernelweave.compare import Problem

NAME = "best single kernel"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two values of C."""
    return machines(problem, BestSingle(), costs=(1.0, 10.0))
