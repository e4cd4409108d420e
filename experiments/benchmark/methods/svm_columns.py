"""scikit-learn's support vector machine on the columns of all views side by side."""

from sklearn.svm import SVC

from experiments.benchmark.ingredients import on_columns
from kernelweave.compare import Problem

NAME = "SVM on all columns"
FAMILY = "rival"


def candidates(problem: Problem) -> dict:
    """A Gaussian and a linear kernel, four values of C each."""
    return {
        f"{kernel}, C={C:g}": on_columns(problem, SVC(kernel=kernel, C=C))
        for kernel in ("rbf", "linear")
        for C in (1.0, 10.0, 0.1, 100.0)
    }
