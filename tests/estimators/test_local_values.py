"""The local models that gates choose from."""

import numpy as np
import pandas as pd
import pytest

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import Localized, Projected, Softmax
from kernelweave.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(60, 4)), columns=["a__0", "a__1", "b__0", "b__1"])
TARGET = np.where(X["a__0"] > 0, X["b__0"], -X["a__1"])
LABELS = np.digitize(TARGET, [-0.5, 0.5])
KERNELS = [Linear("a"), Gaussian("b")]


@pytest.mark.parametrize("combiner", [Localized(l2=0.01), Projected(1, Softmax()), Projected(2)])
def test_gates_times_local_values_are_the_decision_value(combiner):
    model = MKLRegressor(KERNELS, combiner, C=10.0, random_state=0).fit(X, TARGET)
    local, gates = model.local_values(X), model.gates(X)
    assert list(local) == ["a", "b"] and local.index.equals(X.index)
    bias = model.intercept_[0]
    np.testing.assert_allclose((gates * (local - bias)).sum(axis=1) + bias, model.predict(X), atol=1e-9)


def test_outputs_of_a_machine_for_several_classes():
    model = MKLClassifier(KERNELS, Localized(l2=0.01), multiclass="one-vs-all", random_state=0).fit(X, LABELS)
    local, gates = model.local_values(X), model.gates(X)
    assert list(local.columns) == [(label, kernel) for label in (0, 1, 2) for kernel in ("a", "b")]
    for place, label in enumerate((0, 1, 2)):
        bias = model.intercept_[place]
        values = (gates * (local[label] - bias)).sum(axis=1) + bias
        np.testing.assert_allclose(values, model.decision_function(X)[:, place], atol=1e-9)


def test_classes_of_the_joint_machine():
    model = MKLClassifier(KERNELS, Localized(l2=0.01), multiclass="joint", random_state=0)
    model.fit(X, np.digitize(TARGET, [-0.8, 0.0, 0.8]))
    assert list(model.local_values(X).columns.levels[0]) == [0, 1, 2, 3]


def test_missing_views_and_other_combiners():
    model = MKLRegressor(KERNELS, Localized(inputs="a", l2=0.01), random_state=0).fit(X, TARGET)
    partly = X.copy()
    partly.iloc[:3, 2:] = np.nan
    local = model.local_values(partly)
    assert local["b"].isna().tolist() == [True] * 3 + [False] * 57 and local["a"].notna().all()
    np.testing.assert_allclose(local["a"], model.local_values(X)["a"])
    assert not hasattr(MKLRegressor(KERNELS).fit(X, TARGET), "local_values")
