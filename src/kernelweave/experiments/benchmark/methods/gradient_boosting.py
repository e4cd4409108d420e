"""scikit-learn's gradient boosting on the columns of all views; views that are missing stay so (NaN).

Sparse views, and dense ones of more than 100 columns, are reduced to their 30 leading singular directions, because
trees for each class on all columns would take minutes.
"""

from sklearn.ensemble import HistGradientBoostingClassifier

from kernelweave.experiments import Problem
from kernelweave.experiments.benchmark.ingredients import on_columns

NAME = "gradient boosting"
FAMILY = "rival"


def candidates(problem: Problem) -> dict:
    """Two learning rates; one where there are more than three classes, each of which takes trees of its own."""
    rates = (0.1, 0.3) if len(set(problem.y.tolist())) <= 3 else (0.1,)
    return {
        f"learning_rate={rate:g}": on_columns(
            problem,
            HistGradientBoostingClassifier(learning_rate=rate, max_iter=60, random_state=0),
            fill=False,
            components=30,
            widest=100,
        )
        for rate in rates
    }
