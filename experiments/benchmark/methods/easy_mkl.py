"""EasyMKL: weights by the margins between the classes (Aiolli and Donini, 2015)."""

from experiments.benchmark.ingredients import machines
from kernelweave.combiners import EasyMKL
from kernelweave.compare import Problem

NAME = "EasyMKL"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two values of lambda and four of C."""
    return machines(problem, EasyMKL(), over={"lam": (0.1, 0.5)})
