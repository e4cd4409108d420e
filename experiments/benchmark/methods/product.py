"""The product of all kernels; every sample must have every view."""

from experiments.benchmark.ingredients import machines
from kernelweave.combiners import Product
from kernelweave.compare import Problem

NAME = "product of kernels"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Four values of C."""
    return machines(problem, Product())
