"""scikit-learn's logistic regression on the columns of all views side by side."""

from sklearn.linear_model import LogisticRegression

from experiments.benchmark.ingredients import on_columns
from kernelweave.compare import Problem

NAME = "logistic regression"
FAMILY = "rival"


def candidates(problem: Problem) -> dict:
    """C from 0.001 to 100."""
    costs = (1.0, 0.1, 0.01, 10.0, 0.001, 100.0)
    return {f"C={C:g}": on_columns(problem, LogisticRegression(C=C, max_iter=500)) for C in costs}
