import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


class Gated(ClassifierMixin, BaseEstimator):
    """Three gates over the plane, softmax of -2 x1, 0 and 2 x2; a decision at x1 + x2 = 0.5."""

    support_ = np.array([0, 3])
    epsilon = 0.25

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def kernel_weights(self, X):
        X = np.asarray(X, dtype=float)
        scores = np.column_stack([-2.0 * X[:, 0], np.zeros(len(X)), 2.0 * X[:, -1]])
        gates = np.exp(scores - scores.max(axis=1, keepdims=True))
        return pd.DataFrame(gates / gates.sum(axis=1, keepdims=True), columns=["left", "middle", "up"])

    def decision_function(self, X):
        return np.asarray(X).sum(axis=1) - 0.5

    def predict(self, X):
        return np.abs(np.asarray(X, dtype=float)[:, 0])


@pytest.fixture
def gated():
    return Gated()


@pytest.fixture
def legend_labels():
    def read(ax):
        return [text.get_text() for text in ax.get_legend().get_texts()]

    return read
