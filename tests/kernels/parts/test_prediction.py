"""`cross_values`: values of new samples are those of the dense stack, in every place and in blocks."""

import numpy as np
import pytest

from kernelweave import MKLClassifier
from kernelweave.combiners import Localized, Mean
from kernelweave.kernels import ChiSquared, Gaussian, KernelStack, Laplacian, Linear, Polynomial
from kernelweave.kernels.parts import prediction
from kernelweave.kernels.parts.prediction import cross_values
from kernelweave.views import as_views
from places import in_every_place

rng = np.random.default_rng(0)
X, NEW = rng.random((30, 6)), rng.random((17, 6))
X[3, :2] = NEW[4, :2] = np.nan  # samples that lack a view
KERNELS = [Gaussian([0, 1]), Laplacian([2, 3]), Linear([4, 5]), Polynomial([2, 3]), ChiSquared([4, 5])]


@in_every_place
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("numbers", [1, 200, 2**26])
def test_values_are_those_of_the_dense_stack(place_of, numbers, dtype, monkeypatch):
    place = place_of()
    monkeypatch.setattr(prediction, "BLOCK_NUMBERS", numbers)
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


def test_nothing_to_compute_is_zero():
    parts = KernelStack(KERNELS, storage="lazy").fit(X).in_parts()
    ones, coef = np.ones((30, 5)), np.ones((30, 2))
    assert cross_values(parts, as_views(NEW), np.ones((17, 5)), ones, np.zeros(5), coef).tolist() == [[0.0, 0.0]] * 17
    nobody = as_views(NEW[:0])
    assert cross_values(parts, nobody, np.ones((0, 5)), ones, np.ones(5), coef).shape == (0, 2)


@pytest.mark.parametrize("combiner", [Mean(), Localized()])
def test_predictions_make_no_matrix_of_new_samples_and_support_vectors(combiner, monkeypatch):
    y = np.where(X[:, 4] > 0.5, "a", "b")
    models = [
        MKLClassifier(KERNELS[1:], combiner=combiner, storage=storage, dtype="float64", random_state=0).fit(X, y)
        for storage in ("dense", "lazy")
    ]
    dense, lazy = (model.decision_function(NEW) for model in models)
    assert np.allclose(dense, lazy, atol=1e-2)

    def refused(*_):
        raise AssertionError("a matrix of new samples and support vectors")

    monkeypatch.setattr(KernelStack, "compare", refused)
    assert np.array_equal(models[1].decision_function(NEW), lazy)
