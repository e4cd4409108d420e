"""Landmarks: where they start, how samples compare with them, and what they cannot do."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelweave.kernels import Gaussian, KernelStack, Linear, Precomputed
from kernelweave.kernels.points import LandmarkKernel, class_means, landmark_views, starting_landmarks, view_values
from kernelweave.views import Views

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
labels = np.arange(30) % 3


@pytest.mark.parametrize("sparse", [False, True])
def test_centroids_are_class_means_where_there_is_one_a_class(sparse):
    values = sp.csr_matrix(X) if sparse else X
    start = starting_landmarks("centroids", values, labels, 3, np.random.RandomState(0))
    np.testing.assert_allclose(start, [X[labels == label].mean(axis=0) for label in range(3)])


def test_shares_of_landmarks():
    uneven = np.array([0] * 20 + [1] * 8 + [2] * 2)
    for n_landmarks in (1, 2, 5, 12, 40):
        start = starting_landmarks("centroids", X, uneven, n_landmarks, np.random.RandomState(0))
        assert start.shape == (n_landmarks, 4)
    means = starting_landmarks("centroids", X, uneven, 4, np.random.RandomState(0))
    np.testing.assert_allclose(means[2], X[20:28].mean(axis=0))  # the largest class has the one landmark too many


def test_samples_and_arrays():
    start = starting_landmarks("samples", sp.csr_matrix(X), labels, 5, np.random.RandomState(0))
    assert all((row == X).all(axis=1).any() for row in start) and len(np.unique(start, axis=0)) == 5
    given = starting_landmarks(X[:2].tolist(), X, labels, 2, np.random.RandomState(0))
    np.testing.assert_array_equal(given, X[:2])
    with pytest.raises(ValueError, match="must be 3 rows of 4 finite numbers"):
        starting_landmarks(np.full((3, 4), np.nan), X, labels, 3, np.random.RandomState(0))


@pytest.mark.parametrize("normalize", [None, "unit-diagonal"])
def test_stack_compares_with_landmarks(normalize):
    kernel = Linear([3, 0])
    stack = KernelStack([kernel], normalize).fit(X)
    points = rng.normal(size=(2, 2))
    other = stack.compared_with(landmark_views(stack.kernels[0], points, 4))
    cross, products = X[:, [3, 0]] @ points.T, points @ points.T
    if normalize:
        length = np.linalg.norm(points, axis=1)
        cross = cross / length / np.linalg.norm(X[:, [3, 0]], axis=1, keepdims=True)
        products = products / np.outer(length, length)
    np.testing.assert_allclose(other.gram(0), products)
    np.testing.assert_allclose(other.cross(0, Views(X), np.ones(30, dtype=bool)), cross)
    np.testing.assert_allclose(stack.gram(0).shape, (30, 30))  # the stack itself is as before


def test_stack_refuses_constants_of_all_samples():
    for normalize in ("center", "unit-trace"):
        with pytest.raises(ValueError, match="landmarks take normalize=None"):
            KernelStack([Linear()], normalize).fit(X).compared_with(Views(X[:2]))


def test_means_of_several_kernels():
    views = Views(X)
    kernels = KernelStack([Linear([2]), Gaussian([0, 2])]).fit(views).kernels
    means = class_means(views, kernels, labels)
    np.testing.assert_allclose(means.read(np.array([2]), "x")[0], [[X[labels == k, 2].mean()] for k in range(3)])
    with pytest.raises(ValueError, match="was not kept"):
        means.read(np.array([1]), "x")
    ids = Views(np.arange(30)[:, None])
    with pytest.raises(ValueError, match="looks samples up by id"):
        class_means(ids, KernelStack([Precomputed(X @ X.T)]).fit(ids).kernels, labels)


def test_missing_views_are_named():
    gaps = X.copy()
    gaps[4] = np.nan
    stack = KernelStack([Linear([0, 1]), Linear([2, 3])]).fit(np.where(np.arange(4) < 2, X, gaps))
    with pytest.raises(ValueError, match="sample 4 lacks the view"):
        view_values(stack.kernels[1], stack.reference)


def test_projection():
    """Onto two landmarks in input space: lengths of projections, and a ridge that lets landmarks meet."""
    Z = rng.normal(size=(2, 4))
    features = LandmarkKernel(Linear().fit(X), X, ridge=0.0).project(Z).features
    basis = np.linalg.qr(Z.T)[0]
    np.testing.assert_allclose(features @ features.T, X @ basis @ basis.T @ X.T, atol=1e-10)
    with pytest.raises(ValueError, match="depend on each other"):
        LandmarkKernel(Linear().fit(X), X, ridge=0.0).project(Z[[0, 0]])
    assert np.isfinite(LandmarkKernel(Linear().fit(X), X, ridge=1e-6).project(Z[[0, 0]]).features).all()
