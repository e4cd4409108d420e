"""scikit-learn's random forest on the columns of all views side by side."""

from sklearn.ensemble import RandomForestClassifier

from experiments.benchmark.ingredients import on_columns
from kernelweave.compare import Problem

NAME = "random forest"
FAMILY = "rival"


def candidates(problem: Problem) -> dict:
    """Two smallest sizes of leaves."""
    return {
        f"min_samples_leaf={size}": on_columns(
            problem, RandomForestClassifier(100, min_samples_leaf=size, random_state=0, n_jobs=1)
        )
        for size in (1, 3)
    }
