"""Weights by the accuracy of each kernel's own machine."""

from kernelweave.combiners import AccuracyWeights
from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.ingredients import machines

NAME = "weights by accuracy"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Four values of C."""
    return machines(problem, AccuracyWeights())
