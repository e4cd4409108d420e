"""Multiple kernel learning that chooses views: the kernels of one view form a group."""

from experiments.benchmark.ingredients import kernels_of, machines
from kernelweave.combiners import GroupMKL
from kernelweave.compare import Problem

NAME = "GroupMKL"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two norms over the views and four values of C; each kernel by itself where there is one view."""
    several = len(problem.views) > 1
    groups = {name: name.rpartition("-")[0] if several else name for name, _ in kernels_of(problem)}
    return machines(problem, GroupMKL(groups), over={"p": (1.0, 2.0)})
