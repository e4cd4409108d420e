"""Weights by the alignment of each kernel with the targets (thesis of Gönen, 2010, section 2.3)."""

from kernelweave.combiners import AlignmentWeights
from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.ingredients import machines

NAME = "alignment"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Four values of C."""
    return machines(problem, AlignmentWeights())
