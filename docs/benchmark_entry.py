"""An entry of the benchmark: the nearest neighbours of a sample, on the columns of all views side by side."""

from sklearn.neighbors import KNeighborsClassifier

from experiments.benchmark.ingredients import on_columns

NAME = "nearest neighbours"


def candidates(problem):
    """Five numbers of neighbours; `on_columns` prepares and joins the views and fills those that are missing."""
    return {f"k={k}": on_columns(problem, KNeighborsClassifier(k)) for k in (5, 1, 3, 11, 21)}
