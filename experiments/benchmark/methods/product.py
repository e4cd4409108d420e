"""The product of all kernels; every sample must have every view."""

from kernelweave.combiners import Product
from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.ingredients import machines

NAME = "product of kernels"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Four values of C."""
    return machines(problem, Product())
