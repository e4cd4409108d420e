"""A sum of few kernel columns, found by column generation under an l1 penalty."""

from experiments.benchmark.ingredients import kernels_of
from kernelweave.compare import Problem
from kernelweave.estimators import ColumnBoostingClassifier

NAME = "columns"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Three values of C."""
    kernels = kernels_of(problem)
    return {f"C={C:g}": ColumnBoostingClassifier(kernels, C=C) for C in (10.0, 1.0, 100.0)}
