"""Localized multiple kernel learning: weights that a gating model gives to each sample."""

from kernelweave.combiners import Localized
from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.ingredients import machines

NAME = "Localized"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two values of C."""
    return machines(problem, Localized(), costs=(1.0, 10.0))
