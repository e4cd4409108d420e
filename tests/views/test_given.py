"""X that our own code gives as `Views` is taken as it is."""

import numpy as np
import pandas as pd

from kernelweave import MKLClassifier
from kernelweave.kernels import Linear
from kernelweave.recipes.baselines import StackedViews
from kernelweave.views import Views

rng = np.random.default_rng(0)
Y = np.repeat([0, 1], 15)
X = pd.DataFrame(rng.normal(size=(30, 5)) + Y[:, None], columns=["a__0", "a__1", "b__0", "b__1", "c"])


def test_a_model_is_the_same_of_views_and_of_their_table():
    for model in (MKLClassifier([Linear("a"), Linear("b")]), StackedViews([("a", MKLClassifier())], random_state=0)):
        expected = model.fit(X[::2], Y[::2]).decision_function(X[1::2])
        views = Views(X)
        model.fit(views.rows(slice(None, None, 2)), Y[::2])
        np.testing.assert_allclose(model.decision_function(views.rows(slice(1, None, 2))), expected, rtol=1e-12)
        assert model.n_features_in_ == 5 and model.feature_names_in_.tolist() == X.columns.tolist()
    model.fit(Views(X.assign(d=0.0)), Y)
    assert model.n_features_in_ == 6


def test_names_are_forgotten_where_views_have_none():
    model = MKLClassifier([Linear([0])]).fit(X, Y).fit(Views(X.to_numpy()), Y)
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == 5


def test_names_of_a_view_are_compared_once(monkeypatch):
    views, calls = Views(X), []
    monkeypatch.setattr(
        "kernelweave.views.table._named_columns", lambda view, names: calls.append(view) or np.arange(2)
    )
    for part in (views, views.rows(np.arange(3)), views.rows(np.arange(3)).rows(np.arange(2))):
        assert part.columns("a").tolist() == [0, 1]
    assert calls == ["a"]
