"""Multiple kernel learning with weights in the unit ball of the p-norm."""

from experiments.benchmark.ingredients import machines
from kernelweave.combiners import LpMKL
from kernelweave.compare import Problem

NAME = "LpMKL"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two values of p and four of C."""
    return machines(problem, LpMKL(), over={"p": (4.0 / 3.0, 2.0)})
