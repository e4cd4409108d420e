"""Weighted sums of kernels and of their products of two."""

from kernelweave.combiners import PolynomialMKL
from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.ingredients import machines

NAME = "PolynomialMKL"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two values of C."""
    return machines(problem, PolynomialMKL(), costs=(1.0, 10.0))
