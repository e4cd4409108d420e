"""Weighted sums of kernels and of their products of two."""

from experiments.benchmark.ingredients import machines
from kernelweave.combiners import PolynomialMKL
from kernelweave.compare import Problem

NAME = "PolynomialMKL"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two values of C."""
    return machines(problem, PolynomialMKL(), costs=(1.0, 10.0))
