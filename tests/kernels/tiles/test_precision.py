"""Rows in float32 are exact to 1e-6 of the diagonal, whatever the means and widths of the columns."""

import numpy as np
import pytest

from cases import each
from kernelweave.kernels import ChiSquared, Gaussian, KernelStack, Laplacian, Linear, Polynomial
from kernelweave.kernels.tiles.functions import LARGEST
from kernelweave.views import as_views

rng = np.random.default_rng(0)
NORMAL = rng.normal(size=(300, 8))
KERNELS = {
    "gaussian": Gaussian(),
    "narrow": Gaussian(scale=0.2),
    "nearest": Gaussian(scale="nearest"),
    "laplacian": Laplacian(),
    "narrow laplacian": Laplacian(scale=0.3),
    "chi-squared": ChiSquared(),
    "polynomial": Polynomial(degree=3),
    "homogeneous": Polynomial(degree=3, coef0=0.0),
    "square": Polynomial(degree=3) * Polynomial(degree=3, coef0=0.0),
    "linear": Linear(),
    "sum": Gaussian() + Linear(),
}
COLUMNS = {
    "standard": np.abs(NORMAL),
    "mean of 100": 100.0 + NORMAL,
    "mean of 1e6": 1e6 + NORMAL,
    "far clusters": np.abs(NORMAL) + 1e3 * (np.arange(300) % 2)[:, None],
    "skewed": np.exp(2.0 * NORMAL),
}


@each("normalize", ["unit-diagonal", "center", None])
@each("columns", COLUMNS)
@each("name", KERNELS)
def test_single_precision_is_enough_or_not_used(name, columns, normalize):
    X = COLUMNS[columns]
    K = KernelStack([KERNELS[name]], normalize).fit(X).gram(0)
    parts = KernelStack([KERNELS[name]], normalize, dtype="float32", storage="lazy").fit(X).in_parts()
    rounding = 1e-14 * np.abs(KernelStack([KERNELS[name]], None).fit(X).gram(0)).max()  # of centred float64
    size = np.diagonal(K).max() + (rounding / 2e-6 if normalize == "center" else 0.0)
    np.testing.assert_allclose(parts.block(0, None, None), K, rtol=0.0, atol=2e-6 * size)
    coef = rng.normal(size=(300, 1, 1))
    found = parts.images(None, None, coef)[:, 0]
    np.testing.assert_allclose(found, K @ coef[:, 0], rtol=0.0, atol=2e-6 * size * np.sqrt(300))


@pytest.mark.parametrize("factor", [1e-8, 1e7])
@pytest.mark.parametrize("name", ["polynomial", "homogeneous", "square"])
def test_values_beyond_the_range_of_single_precision(name, factor):
    X = factor * np.abs(NORMAL)
    K = KernelStack([KERNELS[name]]).fit(X).gram(0)
    parts = KernelStack([KERNELS[name]], dtype="float32", storage="lazy").fit(X).in_parts()
    np.testing.assert_allclose(parts.block(0, None, None), K, rtol=0.0, atol=2e-6)
    np.testing.assert_allclose(parts.images(None, None, np.ones((300, 1, 1)))[:, 0, 0], K.sum(axis=1), rtol=2e-6)


def dtype_of(kernel, X, **options):
    source = KernelStack([kernel], dtype="float32", storage="lazy", **options).fit(X).in_parts().sources[0]
    return source.rows.features.dtype


def test_which_columns_need_double_precision():
    for kernel in (Gaussian(), Laplacian(), Polynomial()):
        assert dtype_of(kernel, NORMAL) == np.float32
    for kernel in (Gaussian(), Laplacian()):  # which are centred
        assert dtype_of(kernel, 1e6 + NORMAL) == np.float32
    assert dtype_of(Polynomial(), 1e6 + NORMAL) == np.float64
    assert dtype_of(Gaussian(scale=0.2), NORMAL) == np.float64
    assert dtype_of(Linear(), NORMAL) == np.float64
    assert dtype_of(Linear([0]), np.zeros((4, 1)), normalize=None) == np.float64
    X = NORMAL / np.linalg.norm(NORMAL - NORMAL.mean(axis=0), axis=1).max()
    assert dtype_of(Gaussian(scale=1.01 * LARGEST**-0.5), X) == np.float32
    assert dtype_of(Gaussian(scale=0.98 * LARGEST**-0.5), X) == np.float64


def test_new_samples_far_away():
    """A new sample whose squares overflow in float32 has the value 0, and so have all in its block the right ones."""
    stack = KernelStack([Gaussian(), Laplacian()], dtype="float32", storage="lazy").fit(NORMAL)
    new = as_views(np.vstack([NORMAL[:3], np.full((1, 8), 1e25)]))
    parts = stack.in_parts().against(new)
    for m in range(2):
        values = parts.block(m, None, None)
        assert not values[3].any() or np.abs(values[3]).max() < 1e-300
        np.testing.assert_allclose(values[:3], stack.cross(m, new, np.ones(4, dtype=bool))[:3], atol=1e-6)


def test_no_drift_of_large_coefficients():
    """Products with coefficients of 1e4 that cancel are those of values in float32, summed in float64."""
    stack = KernelStack([Gaussian()], dtype="float32", storage="lazy").fit(NORMAL)
    coef = 1e4 * rng.choice([-1.0, 1.0], size=(300, 1, 1))
    found = stack.in_parts().images(None, None, coef)[:, 0, 0]
    values = stack.in_parts().block(0, None, None).astype(float)
    np.testing.assert_allclose(found, values @ coef[:, 0, 0], rtol=0.0, atol=1e-12 * 300 * 1e4)
