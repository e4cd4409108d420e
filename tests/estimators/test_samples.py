"""Samples in blocks: what is counted in them, and that their division does not matter."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils.class_weight import compute_class_weight

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.engines.base import Rows
from kernelweave.engines.targets import count_labels, count_numbers
from kernelweave.estimators import samples
from kernelweave.estimators.samples import rows_in_memory, samples_of
from kernelweave.kernels import Gaussian
from kernelweave.views import Views

X = np.random.default_rng(0).normal(size=(50, 3))
RARE = np.array(["b"] * 20 + ["a"] * 29 + ["z"])  # the last block alone has a "z"


def in_blocks(y, weight=None, n_rows=7):
    return rows_in_memory(Views(X), y, np.ones(len(X)) if weight is None else weight, n_rows)


@pytest.mark.parametrize("labels", [RARE, RARE.astype(object), np.arange(50) % 3 - 1, np.arange(50) % 2 == 0])
@pytest.mark.parametrize("n_rows", [1, 7, 50, 1000])
def test_labels_are_those_of_all_blocks(labels, n_rows):
    weight = np.linspace(0.5, 2.0, 50)
    found = in_blocks(labels, weight, n_rows).sum(count_labels)
    classes, counts = np.unique(labels, return_counts=True)
    np.testing.assert_array_equal(found.classes, classes)
    np.testing.assert_array_equal(found.counts, counts)
    assert found.n_samples == 50 and (found.lightest, found.heaviest) == (0.5, 2.0)
    assert found.weight == pytest.approx(weight.sum())
    for given in (None, "balanced", {label: 2.0 for label in classes.tolist()}):
        expected = compute_class_weight(given, classes=classes, y=labels)
        np.testing.assert_allclose(found.class_weights(given), expected)


def test_numbers_have_a_range_for_each_target():
    y = np.c_[X[:, 0], 5.0 * X[:, 1]]
    found = in_blocks(y).sum(count_numbers)
    np.testing.assert_array_equal(found.low, y.min(axis=0))
    np.testing.assert_array_equal(found.high, y.max(axis=0))
    assert in_blocks(y[:, 0]).sum(count_numbers).high.shape == (1,)


@pytest.mark.parametrize(
    ("count", "y", "message"),
    [
        (count_labels, np.where(np.arange(50) == 30, np.nan, 1.0), "NaN: sample 30"),
        (count_labels, np.where(np.arange(50) == 30, None, RARE.astype(object)), "NaN: sample 30"),
        (count_labels, np.where(np.arange(50) == 30, 0.5, 1.0), "continuous. y of sample 30 is .*MKLRegressor"),
        (count_labels, np.array([*RARE[:49], 3], dtype=object), "cannot be sorted"),
        (count_numbers, np.where(np.arange(50) == 30, np.nan, 1.0), "NaN: sample 30"),
        (count_numbers, np.where(np.arange(50) == 30, np.inf, 1.0)[:, None], "infinity: sample 30"),
    ],
)
def test_a_block_is_checked_where_it_is(count, y, message):
    with pytest.raises(ValueError, match=message):
        in_blocks(y).sum(count)


def test_a_block_with_too_few_targets_is_refused():
    with pytest.raises(ValueError, match="in the block from sample 14 on, 50 and 3"):
        count_labels(Rows(14, Views(X), RARE[:3], np.ones(50)))


@pytest.mark.parametrize("kind", ["array", "frame", "sparse"])
def test_samples_of_weight_0_are_left_out(kind):
    table = {"array": X, "frame": pd.DataFrame(X, columns=["u__0", "u__1", "v__0"]), "sparse": sp.csr_matrix(X)}[kind]
    weight = np.arange(50) % 3
    model = MKLClassifier(approximation="nystroem")
    engine = samples_of(model, table, RARE, weight).engine
    found = engine.sum(count_labels)
    assert found.n_samples == np.count_nonzero(weight) and found.weight == weight.sum()
    firsts = [block.first for block in engine.blocks]
    assert firsts == np.cumsum([0, *(block.n_samples for block in engine.blocks)])[:-1].tolist()
    assert model.n_features_in_ == 3 and hasattr(model, "feature_names_in_") == (kind == "frame")


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MKLClassifier(), RARE),
        (MKLRegressor(), X[:, 0] ** 2),
        (MKLRegressor(), X[:, :2] ** 2),
        (MKLOneClass(), None),
    ],
    ids=["classes", "number", "numbers", "one-class"],
)
def test_the_division_into_blocks_does_not_matter(model, y, monkeypatch):
    settings = {"approximation": "nystroem", "dtype": "float64", "tol": 1e-10, "random_state": 0}
    model.set_params(kernels=[("a", Gaussian([0])), ("b", Gaussian([1, 2]))], **settings)
    whole = _values(model.fit(X, y))
    monkeypatch.setattr(samples, "LEAST_ROWS", 1)
    monkeypatch.setattr(samples, "MOST_ROWS", 11)
    np.testing.assert_allclose(_values(model.fit(X, y)), whole, atol=1e-4)


def _values(model):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
