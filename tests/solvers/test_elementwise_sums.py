import itertools

import numpy as np
import pytest

from kernelweave.solvers.sums import gaussian, gaussian_pullback, polynomial, polynomial_pullback

rng = np.random.default_rng(0)
N = 41  # more than one tile, and no whole number of them
FACTORS = rng.normal(size=(4, N, 3))
MATRICES = FACTORS @ FACTORS.transpose(0, 2, 1)
ETA = np.array([0.5, 0.0, 1.2, 0.3])
DIAGONALS = np.ascontiguousarray(MATRICES.diagonal(axis1=1, axis2=2).T)
ROWS = np.array([0, 3, 4, 17, 33, 40])
COEF = rng.normal(size=(len(ROWS), 2))


def enumerated(eta, degree, constant, products=1.0, sums=0.0):
    """The sum over all monomials but the constant alone, one by one, and the plain sum."""
    parts = [np.full((N, N), constant), *(weight * K for weight, K in zip(eta, MATRICES, strict=True))]
    monomials = list(itertools.combinations_with_replacement(parts, degree))[1:]
    return products * sum(np.prod(chosen, axis=0) for chosen in monomials) + sums * sum(parts[1:])


def distances():
    return np.array([((F[:, None] - F[None]) ** 2).sum(-1) for F in FACTORS])


def contraction(kernel_of, eta):
    """-1/2 sum_r c_r' (dK / deta_m) c_r by central differences of the whole matrix."""
    full = np.zeros((N, 2))
    full[ROWS] = COEF
    gradient = []
    for m in range(len(eta)):
        step = np.zeros(len(eta))
        step[m] = 1e-5
        change = (kernel_of(eta + step) - kernel_of(eta - step)) / 2e-5
        gradient.append(-0.5 * np.einsum("ir,ij,jr->", full, change, full))
    return np.array(gradient)


@pytest.mark.parametrize("constant", [0.0, 0.7])
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_polynomial_is_every_monomial_once(degree, constant):
    for shares in ((1.0, 0.0), (0.3, 0.9), (0.0, 2.0)):
        K = polynomial(MATRICES, ETA, degree, constant, *shares)
        np.testing.assert_allclose(K, enumerated(ETA, degree, constant, *shares), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("constant", [0.0, 0.7])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_polynomial_pullback(degree, constant):
    for shares in ((1.0, 0.0), (0.3, 0.9)):
        gradient, row_sums = polynomial_pullback(MATRICES, ETA, degree, constant, *shares, ROWS, COEF)
        expected = contraction(lambda eta, shares=shares: enumerated(eta, degree, constant, *shares), ETA)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6)
        K = enumerated(ETA, degree, constant, *shares)[np.ix_(ROWS, ROWS)]
        np.testing.assert_allclose(row_sums, ((COEF @ COEF.T) * K).sum(axis=1), rtol=1e-10)


def test_gaussian():
    K = gaussian(MATRICES, ETA, DIAGONALS)
    np.testing.assert_allclose(K, np.exp(-np.tensordot(ETA, distances(), 1)), rtol=1e-10)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K.diagonal(), 1.0)


def test_gaussian_pullback():
    eta = 0.2 * ETA  # K far from the identity, or there is no gradient to speak of
    expected = contraction(lambda eta: np.exp(-np.tensordot(eta, distances(), 1)), eta)
    np.testing.assert_allclose(gaussian_pullback(MATRICES, eta, DIAGONALS, ROWS, COEF), expected, rtol=1e-6)


def test_single_precision_and_given_space():
    matrices = MATRICES.astype(np.float32)
    out = np.empty((N, N), np.float32)
    assert polynomial(matrices, ETA, 2, out=out) is out
    np.testing.assert_allclose(out, enumerated(ETA, 2, 0.0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        polynomial_pullback(matrices, ETA, 2, 0.0, 1.0, 0.0, ROWS, COEF)[0],
        polynomial_pullback(MATRICES, ETA, 2, 0.0, 1.0, 0.0, ROWS, COEF)[0],
        rtol=1e-4,
    )
    assert gaussian(matrices, ETA, DIAGONALS, out) is out
    np.testing.assert_allclose(out, gaussian(MATRICES, ETA, DIAGONALS), atol=1e-5)


def test_no_support_vector_gives_no_gradient():
    none, empty = np.empty(0, dtype=int), np.empty((0, 1))
    np.testing.assert_array_equal(polynomial_pullback(MATRICES, ETA, 2, 0.0, 1.0, 0.0, none, empty)[0], 0.0)
    np.testing.assert_array_equal(gaussian_pullback(MATRICES, ETA, DIAGONALS, none, empty), 0.0)
