"""Convex localized multiple kernel learning: weights for each of a few clusters of the samples."""

from experiments.benchmark.ingredients import is_sparse, kernels_of, machines
from kernelweave.combiners import ConvexLocalized, KernelMap
from kernelweave.compare import Problem

NAME = "ConvexLocalized"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two and four clusters, gradual or not, and two values of C. Clusters of one sparse view are of kernel values."""
    alone = len(problem.views) == 1 and all(is_sparse(problem.X, view) for view in problem.views)
    inputs = KernelMap(kernels_of(problem)[0][1]) if alone else None
    over = {"regions": (2, 4), "softness": (2.0, 0.5)}
    return machines(problem, ConvexLocalized(inputs=inputs), costs=(1.0, 10.0), over=over)
