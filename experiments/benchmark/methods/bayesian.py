"""A posterior over kernel weights (Gönen, 2012), whose probabilities are its own."""

from experiments.benchmark.ingredients import kernels_of
from kernelweave.compare import Problem
from kernelweave.estimators import BayesianMKLClassifier

NAME = "Bayesian"
FAMILY = "kernelweave"
SPREADS = (0.1, 0.03, 0.3, 1.0)


def candidates(problem: Problem) -> dict:
    """Four values of `spread`."""
    kernels = kernels_of(problem)
    return {f"spread={spread:g}": BayesianMKLClassifier(kernels, spread=spread) for spread in SPREADS}
