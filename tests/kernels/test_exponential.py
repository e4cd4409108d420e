"""Laplacian and chi-squared kernels: their formulas and their own widths."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave.kernels import ChiSquared, Laplacian

rng = np.random.default_rng(0)
X = rng.poisson(2.0, size=(12, 5)).astype(float)
Y = rng.poisson(2.0, size=(7, 5)).astype(float)


def chi2(A, B):
    top, bottom = (A[:, None] - B[None]) ** 2, A[:, None] + B[None]
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0).sum(axis=2)


def test_formulas():
    L1 = np.abs(X[:, None] - Y[None]).sum(axis=2)
    np.testing.assert_allclose(Laplacian(scale=1.5).fit(X).cross(X, Y), np.exp(-L1 / 1.5))
    np.testing.assert_allclose(ChiSquared(scale=1.5).fit(X).cross(X, Y), np.exp(-chi2(X, Y) / 1.5))


@pytest.mark.parametrize("kernel", [Laplacian(), ChiSquared()])
def test_of_a_constant_view_gives_ones(kernel):
    np.testing.assert_array_equal(kernel.fit(np.ones((4, 2))).gram(np.ones((4, 2))), np.ones((4, 4)))


@pytest.mark.parametrize("kernel", [Laplacian, ChiSquared])
@pytest.mark.parametrize("scale", [0, -1.0, np.inf, np.nan, "wide", True])
def test_scale_must_be_positive(kernel, scale):
    message = f"scale of the kernel '{kernel.__name__.lower()}' must be a positive finite number"
    with pytest.raises(ValueError, match=message):
        kernel(scale=scale).fit(X)


@pytest.mark.parametrize("scale", [None, 1.0])
def test_negative_values_name_the_view(scale):
    frame = pd.DataFrame({"colour__0": [1.0, -0.5], "colour__1": [0.0, 2.0]})
    with pytest.raises(ValueError, match=r"view 'colour' holds negative values \(-0.5\).*kernel 'hue' .ChiSquared"):
        ChiSquared("colour", scale).fit(frame, label="hue")
    kernel = ChiSquared("colour", scale).fit(frame.abs())
    with pytest.raises(ValueError, match="view 'colour' holds negative values"):
        kernel.cross(frame, frame.abs())
    with pytest.raises(ValueError, match="view 'chisquared' holds negative"):
        ChiSquared(scale=scale).fit(-X)


def test_missing_samples_take_no_part_in_the_scale():
    A = X.copy()
    A[3] = np.nan
    for kernel in (Laplacian(), ChiSquared()):
        assert kernel.fit(A).scale_ == kernel.fit(np.delete(X, 3, axis=0)).scale_
        assert not kernel.fit(A).present(A)[3]


def test_chi_squared_does_not_take_sparse_views():
    with pytest.raises(ValueError, match="'chisquared' .ChiSquared. does not take sparse"):
        ChiSquared().fit(sp.csr_matrix(X))
