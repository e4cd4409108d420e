"""Localized multiple kernel learning: weights that a gating model gives to each sample."""

from experiments.benchmark.ingredients import is_sparse, kernels_of, machines
from kernelweave.combiners import KernelMap, Localized
from kernelweave.compare import Problem

NAME = "Localized"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two values of C. Gates over a single sparse view read its linear kernel to the training samples."""
    alone = len(problem.views) == 1 and all(is_sparse(problem.X, view) for view in problem.views)
    inputs = KernelMap(kernels_of(problem)[0][1]) if alone else None
    return machines(problem, Localized(inputs=inputs), costs=(1.0, 10.0))
