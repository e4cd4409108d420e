"""scikit-learn's stacking: a support vector machine for each view, and a logistic regression on their decision values.

Where a problem has one view, there is a machine for each of three kernels instead.
"""

from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.columns import SideBySide

NAME = "stacking"
FAMILY = "rival"


def candidates(problem: Problem) -> dict:
    """Two values of C, of all machines."""
    return {f"C={C:g}": _stacked(problem, C) for C in (1.0, 10.0)}


def _stacked(problem: Problem, C: float) -> StackingClassifier:
    views = list(problem.views)
    kernels = ("rbf",) if len(views) > 1 else ("linear", "poly", "rbf")
    parts = [
        (f"{view}-{kernel}", make_pipeline(SideBySide([view]), SVC(kernel=kernel, C=C)))
        for view in views
        for kernel in kernels
    ]
    return StackingClassifier(parts, LogisticRegression(max_iter=500), cv=3)
