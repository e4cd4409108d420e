"""One list of properties, held against every kernel."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from kernelweave.kernels import Constant, Function, Gaussian, Linear, Polynomial, Precomputed

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 5))
Y = rng.normal(size=(7, 5))


def minimum(A, B):
    return np.exp(-np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))


KERNELS = {
    "linear": Linear(),
    "linear on two columns": Linear([3, 1]),
    "quadratic": Polynomial(),
    "cubic": Polynomial(degree=3, coef0=0.5),
    "gaussian": Gaussian(scale=1.5),
    "gaussian with its own scale": Gaussian(slice(0, 3)),
    "function": Function(minimum),
    "constant": Constant(2.0),
    "sum": Linear([0]) + Gaussian(),
    "product": 2.0 * Linear() * Gaussian([1, 2]) + 0.5,
}


@pytest.fixture(params=KERNELS, ids=list(KERNELS))
def kernel(request):
    return clone(KERNELS[request.param])


def test_gram_is_symmetric_and_positive_semidefinite(kernel):
    K = kernel.fit(X).gram(X)
    np.testing.assert_allclose(K, K.T, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-8 * np.abs(K).max()


def test_gram_equals_cross_and_diagonal(kernel):
    K = kernel.fit(X).gram(X)
    np.testing.assert_allclose(K, kernel.cross(X, X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.diagonal(K), kernel.diagonal(X), rtol=1e-10)


def test_order_of_samples_does_not_matter(kernel):
    order = rng.permutation(len(X))
    K = kernel.fit(X).gram(X)
    np.testing.assert_allclose(kernel.fit(X[order]).gram(X[order]), K[np.ix_(order, order)], rtol=1e-10, atol=1e-12)


def test_cross_has_a_row_per_first_sample(kernel):
    kernel.fit(X)
    np.testing.assert_allclose(kernel.cross(Y, X), kernel.cross(X, Y).T, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel.cross(Y, X)[2], kernel.cross(Y[2:3], X)[0], rtol=1e-8, atol=1e-12)


def test_gram_is_fresh_and_x_unchanged(kernel):
    before = X.copy()
    first = kernel.fit(X).gram(X)
    kernel.gram(X)[:] = -1
    np.testing.assert_array_equal(kernel.gram(X), first)
    np.testing.assert_array_equal(X, before)


def test_clone_keeps_parameters(kernel):
    for name, value in clone(kernel).get_params().items():
        assert repr(value) == repr(kernel.get_params()[name])


def test_formulas():
    np.testing.assert_allclose(Linear().fit(X).cross(X, Y), X @ Y.T)
    np.testing.assert_allclose(Polynomial(degree=3).fit(X).cross(X, Y), (X @ Y.T + 1) ** 3)
    squared = ((X[:, None] - Y[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        Gaussian(scale=1.5).fit(X).cross(X, Y), np.exp(-squared / 1.5**2)
    )  # scale^2, not 2 scale^2
    np.testing.assert_allclose(
        (2.0 * Linear() * Gaussian(scale=1.5) + 0.5).fit(X).cross(X, Y),
        2 * (X @ Y.T) * np.exp(-squared / 2.25) + 0.5,
    )


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=3), Gaussian(), Gaussian(scale=2.0)])
def test_sparse_equals_dense(kernel):
    dense = np.where(rng.random((9, 6)) < 0.5, 0.0, rng.normal(size=(9, 6)))
    sparse = sp.csr_matrix(dense)
    np.testing.assert_allclose(clone(kernel).fit(sparse).gram(sparse), clone(kernel).fit(dense).gram(dense), atol=1e-10)
    np.testing.assert_allclose(
        clone(kernel).fit(sparse).cross(sparse[:3], sparse),
        clone(kernel).fit(dense).cross(dense[:3], dense),
        atol=1e-10,
    )
    np.testing.assert_allclose(kernel.fit(sparse).diagonal(sparse), kernel.fit(dense).diagonal(dense))


class TestGaussianScale:
    def test_is_the_mean_nearest_neighbour_distance(self):
        A = rng.normal(size=(700, 2))  # more than one block
        distance = np.sqrt(((A[:, None] - A[None]) ** 2).sum(axis=2))
        np.fill_diagonal(distance, np.inf)
        assert Gaussian().fit(A).scale_ == pytest.approx(distance.min(axis=1).mean(), rel=1e-6)

    def test_repeating_samples_equals_weighting_them(self):
        weight = rng.integers(1, 4, size=len(X))
        repeated = Gaussian().fit(np.repeat(X, weight, axis=0)).scale_
        assert repeated == pytest.approx(Gaussian().fit(X, weight.astype(float)).scale_, rel=1e-9)

    def test_is_accurate_far_from_the_origin(self):
        assert Gaussian().fit(X + 1e6).scale_ == pytest.approx(Gaussian().fit(X).scale_, rel=1e-6)
        np.testing.assert_allclose(
            Gaussian(scale=1.0).fit(X).gram(X + 1e6), Gaussian(scale=1.0).fit(X).gram(X), atol=1e-6
        )

    def test_of_a_constant_view_gives_ones(self):
        np.testing.assert_array_equal(Gaussian().fit(np.ones((4, 2))).gram(np.ones((4, 2))), np.ones((4, 4)))

    def test_survives_extreme_values(self):
        A = X * 1e-170
        K = Gaussian(scale=1e-170).fit(A).gram(A)
        assert np.isfinite(K).all()

    @pytest.mark.parametrize("scale", [0, -1.0, np.inf, np.nan, "wide"])
    def test_must_be_positive(self, scale):
        with pytest.raises(ValueError, match="scale of the kernel 'gaussian' must be a positive number or None"):
            Gaussian(scale=scale).fit(X)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Polynomial(degree=0), "degree of the kernel 'polynomial' must be a whole number from 1, not 0"),
        (Polynomial(degree=1.5), "degree"),
        (Polynomial(coef0=-1.0), "coef0 of the kernel 'polynomial' must be at least 0"),
        (Constant(-1.0), "constant in a kernel must be at least 0"),
        (Constant(np.inf), "constant in a kernel"),
        (Function(lambda A, B: np.zeros(3)), "kernel 'lambda' returned shape .3,. for 12 and 12 samples"),
        (
            Function(lambda A, B: A @ B.T + np.arange(len(B))),
            "values of the kernel 'lambda' must be symmetric",
        ),
        (
            Function(lambda A, B: np.full((len(A), len(B)), np.nan)),
            "values of the kernel 'lambda' contain NaN",
        ),
        (Linear("a"), "'a' is a name, but X has no column names"),
    ],
)
def test_bad_parameters_are_named(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.fit(X).gram(X)


def test_only_kernels_and_numbers_combine():
    with pytest.raises(TypeError, match="not with 'a'"):
        Linear() + "a"


def test_absent_in_one_part_is_absent_in_the_whole():
    A = X.copy()
    A[3, 0] = np.nan
    kernel = (Linear([0]) * Linear([1, 2])).fit(A)
    np.testing.assert_array_equal(kernel.present(A), np.arange(12) != 3)
    np.testing.assert_array_equal(kernel.columns(), [0, 1, 2])


def test_function_sees_text_and_sparse_values():
    words = np.array([["ab"], ["abc"], ["x"]], dtype=object)
    same_letters = Function(lambda A, B: np.array([[len(set(a) & set(b)) for (b,) in B] for (a,) in A]), view=[0])
    np.testing.assert_array_equal(same_letters.fit(words).gram(words), [[2, 2, 0], [2, 3, 0], [0, 0, 1]])
    np.testing.assert_array_equal(same_letters.diagonal(words), [2, 3, 1])
    sparse = sp.csr_matrix(X)
    dot = Function(lambda A, B: (A @ B.T).toarray()).fit(sparse)
    np.testing.assert_allclose(dot.gram(sparse), X @ X.T)


def test_precomputed_does_not_take_sparse_ids():
    with pytest.raises(ValueError, match="'precomputed' .Precomputed. does not take sparse"):
        Precomputed(np.eye(3)).fit(sp.csr_matrix([[0.0], [1.0]]))
