"""Kernels of a view with more features than samples share its inner products."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from kernelweave.kernels import Gaussian, Linear, Polynomial, vectors
from kernelweave.kernels.distances import gaussian
from kernelweave.kernels.stack import KernelStack
from kernelweave.views import Views

random = np.random.default_rng(0)
X, NEW = random.normal(size=(30, 200)), random.normal(size=(7, 200))


@pytest.fixture
def products(monkeypatch):
    """How many samples are multiplied by themselves, each time."""
    found, symmetric = [], vectors.symmetric
    monkeypatch.setattr(vectors, "symmetric", lambda n, *rest: found.append(n) or symmetric(n, *rest))
    return found


def test_kernels_of_a_wide_view_share_its_products(products):
    views, others = Views(X), Views(NEW)
    kernels = [kernel.fit(views) for kernel in (Linear(), Polynomial(degree=3), Gaussian(), Gaussian(scale=5.0))]
    for kernel in kernels:
        K = kernel.gram(views)
        np.testing.assert_allclose(K, kernel.gram_of(X), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_array_equal(np.diag(K), kernel.diagonal(views))
        np.testing.assert_allclose(kernel.cross(others, views), kernel.cross_of(NEW, X), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(kernel.tile(views)(slice(3, 9), slice(4)), K[3:9, :4], rtol=1e-14, atol=0)
    assert products == [30] + [30] * 2  # once for all, and in the first two of `gram_of`
    kernels[0].gram(views)[:] = 0.0  # what is returned is a copy
    np.testing.assert_allclose(kernels[2].gram(views), gaussian(X, X, kernels[2].scale_), atol=1e-14)


def test_equal_transformers_of_a_view_share_products_and_others_do_not(products):
    plain, scaled = Linear(), Linear(transformer=StandardScaler())
    views = Views(10.0 * X)
    for kernel in (plain, scaled, Gaussian(transformer=StandardScaler())):
        kernel.fit(views).gram(views)
    assert products == [30, 30]
    np.testing.assert_allclose(scaled.gram(views), scaled.gram_of(StandardScaler().fit_transform(10.0 * X)), atol=1e-10)


def test_a_view_with_fewer_features_than_samples_keeps_no_products():
    views = Views(X[:, :29])
    for kernel in (Linear(), Gaussian()):
        kernel.fit(views).gram(views)
    assert not any("products" in key for key in views._read if isinstance(key, tuple))


@pytest.mark.parametrize("change", [lambda X: X + 1e7, lambda X: 1e-160 * X, lambda X: 1e160 * X])
def test_a_gaussian_kernel_is_as_exact_where_products_are_not(change):
    kernel = Gaussian().fit(change(X))
    np.testing.assert_allclose(kernel.gram(change(X)), Gaussian().fit(X).gram(X), atol=1e-6)
    np.testing.assert_allclose(kernel.cross(change(NEW), change(X)), Gaussian().fit(X).cross(NEW, X), atol=1e-6)


def test_samples_without_the_view_and_features_that_are_lowered_take_their_own_way():
    lacking = X.copy()
    lacking[3] = np.nan
    K = Gaussian(scale=9.0).fit(lacking).gram(lacking)
    expected = gaussian(X, X, 9.0)
    expected[3] = expected[:, 3] = 0.0
    np.testing.assert_allclose(K, expected, atol=1e-14)
    shifted = X + 100.0
    centred = [KernelStack([Linear()], "center").fit(values).gram(0) for values in (X, shifted)]
    np.testing.assert_allclose(centred[0], centred[1], rtol=1e-9, atol=1e-9)


def test_the_width_of_a_wide_view_is_the_root_of_its_variances():
    wide = random.normal(size=(40, 9000)) * random.lognormal(size=9000) + 1e3 * random.normal(size=9000)
    wide[:, ::7] = wide[0, ::7]  # constant columns
    weight = random.integers(1, 4, 40).astype(float)
    variance = np.average((wide - np.average(wide, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
    assert Gaussian().fit(wide, sample_weight=weight).scale_ == pytest.approx(np.sqrt(variance.sum()), rel=1e-12)


def test_a_subclass_with_values_of_its_own_does_not_use_the_products_of_its_base():
    class Doubled(Gaussian):
        def cross_of(self, A, B):
            return 2.0 * super().cross_of(A, B)

    np.testing.assert_allclose(Doubled().fit(X).cross(NEW, X), 2.0 * Gaussian().fit(X).cross(NEW, X))
