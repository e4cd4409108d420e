"""`cross_values`: values of new samples are those of the dense stack, in every place and in blocks."""

import pickle

import numpy as np
import pytest

from kernelweave import MKLClassifier
from kernelweave.arrays import HOST
from kernelweave.combiners import BestSingle, Localized, Mean, PerOutput
from kernelweave.estimators import base
from kernelweave.kernels import ChiSquared, Gaussian, KernelStack, Laplacian, Linear, Polynomial, Precomputed
from kernelweave.kernels.tiles import stack as tile_stack
from kernelweave.kernels.tiles.stack import cross_values, tiles_at
from kernelweave.views import as_views
from places import STRICT, in_every_place

rng = np.random.default_rng(0)
X, NEW = rng.random((30, 6)), rng.random((17, 6))
X[3, :2] = NEW[4, :2] = np.nan  # samples that lack a view
KERNELS = [Gaussian([0, 1]), Laplacian([2, 3]), Linear([4, 5]), Polynomial([2, 3]), ChiSquared([4, 5])]


@in_every_place
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("numbers", [1, 200, 2**26])
def test_values_are_those_of_the_dense_stack(place_of, numbers, dtype, monkeypatch):
    place = place_of()
    monkeypatch.setattr(tile_stack, "BLOCK_NUMBERS", numbers)
    stack = KernelStack(KERNELS).fit(X)
    stack.matrices()
    views, coef = as_views(NEW), rng.normal(size=(30, 2))
    left_new, left_train, weights = rng.random((17, 5)), rng.random((30, 5)), np.array([1.0, 0.5, 2.0, 0.0, 1.0])
    wanted = np.zeros((17, 2))
    for m, weight in enumerate(weights):
        cross = stack.cross(m, views, stack.kernels[m].present(views))
        wanted += weight * left_new[:, [m]] * (cross @ (left_train[:, [m]] * coef))
    parts = KernelStack(KERNELS, dtype=dtype, storage="lazy", place=place).fit(X).in_parts()
    found = cross_values(parts, views, left_new, left_train, weights, coef)
    error = 1e-10 if dtype == "float64" else 2e-2 if place.is_cuda else 1e-4
    assert np.abs(found - wanted).max() < error


@in_every_place
@pytest.mark.parametrize("far", [3.0, 5.0, 10.0, 1e3, 1e10, 1e100])
def test_samples_far_away_are_as_exact(place_of, far):
    place = place_of()
    made = [Gaussian(scale=1.0), Laplacian(scale=1.0), ChiSquared(scale=1.0)]
    stack = KernelStack(made).fit(np.abs(X[:, 2:]))
    stack.matrices()
    new = as_views(np.vstack([far * np.ones(4), far * np.eye(4), np.abs(X[:3, 2:])]))
    coef, ones = rng.random((30, 1)), np.ones((30, 1))
    parts = KernelStack(made, dtype="float32", storage="lazy", place=place).fit(np.abs(X[:, 2:])).in_parts()
    for m in range(3):
        weights = np.eye(3)[m]
        found = cross_values(parts, new, np.ones((8, 1)), ones, weights, coef)
        with np.errstate(over="ignore"):
            wanted = stack.cross(m, new, np.ones(8, dtype=bool)) @ coef
        assert np.abs(found - wanted).max() < (2e-2 if place.is_cuda else 1e-5)


def test_nothing_to_compute_is_zero():
    parts = KernelStack(KERNELS, storage="lazy").fit(X).in_parts()
    ones, coef = np.ones((30, 5)), np.ones((30, 2))
    assert cross_values(parts, as_views(NEW), np.ones((17, 5)), ones, np.zeros(5), coef).tolist() == [[0.0, 0.0]] * 17
    nobody = as_views(NEW[:0])
    assert cross_values(parts, nobody, np.ones((0, 5)), ones, np.ones(5), coef).shape == (0, 2)


@in_every_place
@pytest.mark.parametrize("combiner", [Mean(), Localized(), PerOutput(BestSingle())])
def test_models_predict_in_a_place_without_a_matrix(place_of, combiner, monkeypatch):
    place = place_of()
    y = np.digitize(X[:, 4], [0.3, 0.6])
    model = MKLClassifier(KERNELS[1:], combiner=combiner, random_state=0).fit(X, y)
    wanted = model.decision_function(NEW)

    def refused(*_):
        raise AssertionError("a matrix of new samples and support vectors")

    monkeypatch.setattr(base, "chosen_place", lambda device: place)
    if not place.is_host:
        monkeypatch.setattr(KernelStack, "compare", refused)
    assert np.allclose(model.decision_function(NEW), wanted, atol=2e-2 if place.is_cuda else 1e-9)
    again = pickle.loads(pickle.dumps(model))  # what is computed in a place is no part of the model
    assert np.array_equal(again.decision_function(NEW), model.decision_function(NEW))


def test_parts_are_made_anew_for_another_place_or_kernel():
    stack = KernelStack([Gaussian([0, 1]), Precomputed(X[:, 2:] @ X[:, 2:].T, view=[2])])
    stack.fit(np.column_stack([X[:, 2:4], np.arange(30)]))
    parts = tiles_at(stack, STRICT)
    assert tiles_at(stack, STRICT) is parts and parts.place is STRICT
    assert tiles_at(stack, HOST).place is HOST
    parts = tiles_at(stack, STRICT)
    stack.replace(1, stack.kernels[1])
    assert tiles_at(stack, STRICT) is not parts
    assert stack.storage == "dense" and stack.place is HOST
