"""Weights by the alignment of each kernel with the targets (thesis of Gönen, 2010, section 2.3)."""

from experiments.benchmark.ingredients import machines
from kernelweave.combiners import AlignmentWeights
from kernelweave.compare import Problem

NAME = "alignment"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Four values of C."""
    return machines(problem, AlignmentWeights())
