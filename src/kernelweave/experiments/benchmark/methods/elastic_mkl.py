"""Multiple kernel learning on the simplex with a pull towards equal weights."""

from kernelweave.combiners import ElasticMKL
from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.ingredients import machines

NAME = "ElasticMKL"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """Two values of the pull and four of C."""
    return machines(problem, ElasticMKL(), over={"l2": (1.0, 0.1)})
