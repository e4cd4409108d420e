"""scikit-learn's gradient boosting on the columns of all views; views that are missing stay so (NaN).

Sparse views, and dense ones of more than 50 columns, are reduced to their 20 leading singular directions, because
trees for each class on all columns would take minutes. There are 60 iterations, 30 where there are more than 20
classes.
"""

from sklearn.ensemble import HistGradientBoostingClassifier

from experiments.benchmark.ingredients import on_columns
from kernelweave.compare import Problem

NAME = "gradient boosting"
FAMILY = "rival"


def candidates(problem: Problem) -> dict:
    """Two learning rates; one where there are more than three classes, each of which takes trees of its own."""
    n_classes = len(set(problem.y.tolist()))
    rates = (0.1, 0.3) if n_classes <= 3 else (0.1,)
    iterations = 60 if n_classes <= 20 else 30
    return {
        f"learning_rate={rate:g}": on_columns(
            problem,
            HistGradientBoostingClassifier(learning_rate=rate, max_iter=iterations, random_state=0),
            fill=False,
            components=20,
            widest=50,
        )
        for rate in rates
    }
