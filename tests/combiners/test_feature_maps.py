"""Vectors that projections act on: their inner products are the kernel, for training and for new samples."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from cases import each
from kernelweave.combiners.feature_maps import KernelFeatures, ViewFeatures, feature_maps
from kernelweave.combiners.inputs import ProjectedFeatures
from kernelweave.kernels import Gaussian, KernelStack, Laplacian, Linear, Polynomial, Precomputed
from kernelweave.views import Views
from projected_problem import MISSING, A, B, X

NEW = Views(np.random.default_rng(8).normal(size=(9, 7)))
NORMALIZE = ["unit-diagonal", "unit-trace", "center", None]


def fitted(kernel, normalize, feature_map, samples=X, weight=None):
    stack = KernelStack([kernel, Linear(A), Linear(B)], normalize).fit(samples, weight)  # every sample has a view
    return stack, feature_map.fit(stack, 0)


@pytest.mark.parametrize("normalize", NORMALIZE)
@pytest.mark.parametrize("samples", [X, MISSING])
def test_linear_features_have_the_normalised_kernel(normalize, samples):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(samples))
    stack, F = fitted(Linear(A), normalize, ViewFeatures(), samples, weight)
    assert_allclose(F @ F.T, stack.gram(0), atol=1e-12)
    each = ViewFeatures()
    each.fit(stack, 0)
    new = each.read(stack, 0, NEW)
    expected = stack.cross(0, NEW, np.ones(9, dtype=bool))
    assert_allclose(new @ F.T, expected, atol=1e-12)


@pytest.mark.parametrize("normalize", [None, "unit-trace"])
@pytest.mark.parametrize("kernel", [Polynomial(B, degree=3), Gaussian(B, scale=2.0)])
def test_curved_kernels_of_unprojected_features(kernel, normalize):
    stack, F = fitted(kernel, normalize, each := ViewFeatures())
    assert_allclose(each.kernel.gram(F), stack.gram(0), atol=1e-12)
    new = each.read(stack, 0, NEW)
    assert_allclose(each.kernel.cross(new, F), stack.cross(0, NEW, np.ones(9, dtype=bool)), atol=1e-12)


@pytest.mark.parametrize("kernel", [Polynomial(B, degree=3, coef0=0.5), Gaussian(B)])
def test_unit_diagonal_before_the_projection(kernel):
    _, F = fitted(kernel, "unit-diagonal", each := ViewFeatures())
    assert_allclose(each.kernel.gram(F).diagonal(), 1.0)


@each("normalize", NORMALIZE)
@each("kernel", [Gaussian(B), Laplacian(A), Polynomial(A), Linear(B)])
@each("samples", [X, MISSING])
def test_kernel_pca_features_have_the_kernel_as_inner_product(kernel, normalize, samples):
    stack, F = fitted(kernel, normalize, each := KernelFeatures("kpca"), samples)
    K = stack.gram(0)
    assert_allclose(F @ F.T, K, atol=1e-8 * np.abs(K).max())
    assert (np.diff((F**2).sum(axis=0)) <= 1e-12).all()  # by falling eigenvalue
    read = each.read(stack, 0, stack.reference)
    assert_allclose(each.features(read), F, atol=1e-5 * np.abs(F).max())
    cross = stack.cross(0, NEW, np.ones(9, dtype=bool))
    new = each.read(stack, 0, NEW)
    inside = cross @ np.linalg.pinv(K, rcond=1e-9, hermitian=True) @ K
    assert_allclose(each.features(new) @ F.T, inside, atol=1e-4 * np.abs(K).max())
    W = np.linalg.qr(np.random.default_rng(0).normal(size=(F.shape[1], 2)))[0]
    assert_allclose(read @ each.directions(W), F @ W, atol=1e-5 * np.abs(F).max())
    assert each.settled().training is None and each.training is not None
    assert_allclose(each.settled().read(stack, 0, NEW), new)


def test_the_empirical_kernel_map_is_the_kernel():
    stack, F = fitted(Gaussian(B), "center", each := KernelFeatures("map"))
    assert_allclose(F, stack.gram(0))
    new = each.read(stack, 0, NEW)
    assert_allclose(each.features(new), stack.cross(0, NEW, np.ones(9, dtype=bool)))
    assert each.names[2] == "sample 2"


def test_negative_eigenvalues_are_left_out():
    K = X @ X.T - 2.0 * np.eye(len(X))
    stack = KernelStack([Precomputed(K)], None).fit(np.arange(len(X))[:, None])
    with pytest.warns(UserWarning, match="precomputed"):
        F = KernelFeatures("kpca").fit(stack, 0)
    values, vectors = np.linalg.eigh(K)
    kept = values > 0
    assert F.shape[1] == kept.sum() < len(X)
    assert_allclose(F @ F.T, vectors[:, kept] * values[kept] @ vectors[:, kept].T, atol=1e-9)


def test_sparse_features_stay_sparse():
    thin = np.where(np.abs(X) < 0.4, 0.0, X)
    for kernel in (Linear(A), Polynomial(A), Gaussian(A)):
        for normalize in ("unit-diagonal", "unit-trace", None):
            _, dense = fitted(kernel, normalize, ViewFeatures(), thin)
            _, F = fitted(kernel, normalize, ViewFeatures(), sp.csr_matrix(thin))
            assert sp.issparse(F)
            assert_allclose(F.toarray(), dense, atol=1e-12)


def test_which_features_are_taken():
    stack = KernelStack([Linear(A), Gaussian(B), Laplacian(A), Linear(A) + Gaussian(B)], None).fit(X)
    assert [each.by_kernel for each in feature_maps("auto", stack)] == [False, False, True, True]
    assert [each.by_kernel for each in feature_maps("map", stack)] == [True] * 4
    chosen = feature_maps({"linear": "map", "laplacian": "kpca", "gaussian": "view"}, stack)
    assert [each.by_kernel for each in chosen] == [True, False, True, True]
    assert [each.method for each in chosen if each.by_kernel] == ["map", "kpca", "kpca"]


def test_gating_inputs_are_all_features_once():
    stack = KernelStack([Linear(A), Laplacian(B), Linear(A)], None).fit(MISSING)
    maps = feature_maps("auto", stack)
    features = [each.fit(stack, m) for m, each in enumerate(maps)]
    source = ProjectedFeatures(maps, features)
    fitted = source.fit(stack, None)
    assert_allclose(fitted[0], np.hstack(features[:2]), atol=1e-12)
    assert source.chosen == [0, 1]
    values, there = source.read(stack.reference)
    assert_allclose(values, np.hstack(features[:2]), atol=1e-6)
    assert there[:, 0].tolist() == (~np.isnan(MISSING[:, 0])).tolist()
    assert there[:, 3:].any(axis=1).tolist() == (~np.isnan(MISSING[:, 3])).tolist()
    assert source.columns().tolist() == [*A, *B]
    assert len(source.names(stack)) == values.shape[1] and source.names(stack)[0] == "linear: 0"
    assert source.restrict(stack).maps[1].training is not None  # still needed for new samples
