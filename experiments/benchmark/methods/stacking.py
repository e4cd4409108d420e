"""scikit-learn's stacking: a classifier for each view, and a logistic regression on their outputs for held-out samples.

The classifiers are logistic regressions, which give probabilities, or support vector machines, which give decision
values. Where a problem has one view, there is a support vector machine for each of three kernels instead.
"""

from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from experiments.benchmark.ingredients import SideBySide, on_columns, view_preparations
from kernelweave.compare import Problem

NAME = "stacking"
FAMILY = "rival"


def candidates(problem: Problem) -> dict:
    """Two kinds of classifiers; two values of C where there is one view."""
    if len(problem.views) == 1:
        return {f"C={C:g}": _of_kernels(problem, C=C) for C in (1.0, 10.0)}
    kinds = {"logistic regressions": LogisticRegression(max_iter=500), "support vector machines": SVC(C=10.0)}
    return {label: _of_views(problem, classifier) for label, classifier in kinds.items()}


def _of_views(problem: Problem, classifier: LogisticRegression | SVC) -> StackingClassifier:
    parts = view_preparations(problem).items()
    return _stacked({view: make_pipeline(SideBySide({view: own}), classifier) for view, own in parts})


def _of_kernels(problem: Problem, *, C: float) -> StackingClassifier:
    kernels = ("linear", "poly", "rbf")
    return _stacked({kernel: on_columns(problem, SVC(kernel=kernel, C=C)) for kernel in kernels})


def _stacked(parts: dict) -> StackingClassifier:
    return StackingClassifier(list(parts.items()), LogisticRegression(max_iter=500), cv=3)
