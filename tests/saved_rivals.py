"""Stacked views and models of all columns, for tests of saving; see `saved_models`."""

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.kernels import Gaussian, Linear, Precomputed
from kernelweave.recipes.baselines import ColumnModel, StackedViews
from saved_builders import FRAME, GAPS, GRAM, NEW, THREE, TWO, VALUE, N

_NUMBERS = ["u__0", "u__1", "v__0", "v__1", "w", "count"]


def _samples():
    """Training and new samples, some of which lack a view."""
    frame = FRAME.copy()
    frame.loc[[3, 7, N + 5], ["u__0", "u__1"]] = np.nan
    frame.loc[[4, N + 2], "word"] = None
    frame.loc[[5, N + 1], "id"] = np.nan
    return frame.iloc[:N], frame.iloc[N:]


def _preparation():
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()), _NUMBERS),
        (OneHotEncoder(handle_unknown="ignore"), ["flag"]),
        (TfidfVectorizer(analyzer="char", ngram_range=(1, 2)), "word"),
    )


def columns(kind, y=TWO, preparation=True, **options):
    """A model of all columns of the frame or, without preparation, of an array with gaps."""

    def fitted():
        old, new = _samples() if preparation else (GAPS, NEW)
        model = ColumnModel(kind, _preparation() if preparation else None, n_trees=3, random_state=0, **options)
        return model.fit(old, y), new

    return fitted


def stacked(y, machine):
    """Machines of two views and of a precomputed kernel."""

    def fitted():
        old, new = _samples()
        kernels = {
            "u": [Linear("u", transformer=StandardScaler())],
            "v": [Linear("v"), ("wide", Gaussian("v"))],
            "id": [Precomputed(GRAM, "id")],
        }
        machines = [(view, machine(own)) for view, own in kernels.items()]
        return StackedViews(machines, random_state=0).fit(old, y), new

    return fitted


RIVALS = {
    "stacked views": stacked(TWO, MKLClassifier),
    "stacked views, three classes": stacked(THREE, MKLClassifier),
    "stacked views, regression": stacked(VALUE, MKLRegressor),
    "columns, logistic regression": columns("linear"),
    "columns, logistic regression, three classes": columns("linear", THREE, preparation=False),
    "columns, ridge regression": columns("linear", VALUE, task="regression"),
    "columns, forest": columns("forest"),
    "columns, forest, three classes": columns("forest", THREE),
    "columns, forest, regression": columns("forest", VALUE, preparation=False, task="regression"),
    "columns, boosting": columns("boosting", preparation=False, learning_rate=1.0),
    "columns, boosting, three classes": columns("boosting", THREE, learning_rate=1.0),
    "columns, boosting, regression": columns("boosting", VALUE, task="regression", learning_rate=1.0),
}
