"""One list of properties, held against every kernel."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from kernelweave.kernels import (
    ChiSquared,
    Constant,
    Distance,
    Function,
    Gaussian,
    Laplacian,
    Linear,
    Pairwise,
    Polynomial,
    Precomputed,
    Spectrum,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 5))
Y = rng.normal(size=(7, 5))
HISTOGRAMS = rng.poisson(2.0, size=(19, 5)).astype(float)
WORDS = pd.DataFrame({"seq": ["".join(rng.choice(list("ACGT"), size=rng.integers(1, 30))) for _ in range(19)]})
IDS = rng.permutation(19)[:, None].astype(float)
POINTS = rng.normal(size=(19, 3))
DISTANCES = np.sqrt(((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=2))
PAIRED_IDS = rng.integers(19, size=(19, 2))


def minimum(A, B):
    return np.exp(-np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2))


def steps(a, b):
    return float(np.abs(a - b).max())


def letters(a, b):
    return float(np.sqrt(len(set(a[0]) ^ set(b[0]))))


NUMBERS = {
    "linear": Linear(),
    "linear on two columns": Linear([3, 1]),
    "quadratic": Polynomial(),
    "cubic": Polynomial(degree=3, coef0=0.5),
    "gaussian": Gaussian(scale=1.5),
    "gaussian with its own scale": Gaussian(slice(0, 3)),
    "laplacian": Laplacian(scale=3.0),
    "laplacian with its own scale": Laplacian([4, 0]),
    "distance": Distance(scale=2.0),
    "distance with its own scale": Distance(),
    "angle": Distance("cosine", slice(0, 4), scale=0.2),
    "largest difference": Distance("chebyshev"),
    "function of two samples": Distance(steps, scale=0.3),
    "function": Function(minimum),
    "constant": Constant(2.0),
    "sum": Linear([0]) + Gaussian(),
    "product": 2.0 * Linear() * Gaussian([1, 2]) + 0.5,
    "pairs": Pairwise(Gaussian(), first=[0, 1], second=[2, 3]),
    "pairs under a sum": Pairwise(Linear([1]) + Gaussian([0]), first=slice(0, 2), second=slice(3, 5)),
    "sum of pairs": Pairwise(Linear(), first=[0, 1], second=[2, 3]) + Pairwise(Gaussian(), first=[4, 1], second=[2, 0]),
}
CASES = {name: (kernel, X, Y) for name, kernel in NUMBERS.items()} | {
    "chi-squared": (ChiSquared(scale=2.0), HISTOGRAMS[:12], HISTOGRAMS[12:]),
    "chi-squared with its own scale": (ChiSquared([0, 3]), HISTOGRAMS[:12], HISTOGRAMS[12:]),
    "spectrum": (Spectrum("seq", k=2), WORDS[:12], WORDS[12:]),
    "distance of strings": (Distance(letters), WORDS[:12], WORDS[12:]),
    "precomputed": (Precomputed(POINTS @ POINTS.T), IDS[:12], IDS[12:]),
    "precomputed distance": (Distance(DISTANCES), IDS[:12], IDS[12:]),
    "pairs of ids": (Pairwise(Precomputed(POINTS @ POINTS.T), first=[0], second=[1]), PAIRED_IDS[:12], PAIRED_IDS[12:]),
    "pairs of strings": (
        Pairwise(Spectrum(k=2), first=[0], second=[1]),
        *np.split(np.column_stack([WORDS["seq"], WORDS["seq"][::-1]]), [12]),
    ),
}


@pytest.fixture(params=CASES, ids=list(CASES))
def case(request):
    kernel, first, second = CASES[request.param]
    return clone(kernel), first, second


def rows(samples, index):
    return samples.iloc[index] if isinstance(samples, pd.DataFrame) else samples[index]


def test_gram_is_symmetric_and_positive_semidefinite(case):
    kernel, X, _ = case
    K = kernel.fit(X).gram(X)
    np.testing.assert_allclose(K, K.T, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-8 * np.abs(K).max()


def test_gram_equals_cross_and_diagonal(case):
    kernel, X, _ = case
    kernel = kernel.fit(X)
    K = kernel.gram(X)
    np.testing.assert_allclose(K, kernel.cross(X, X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(K, kernel.cross(rows(X, slice(None)), X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.diagonal(K), kernel.diagonal(X), rtol=1e-10)


def test_order_of_samples_does_not_matter(case):
    kernel, X, _ = case
    order = rng.permutation(len(X))
    shuffled = rows(X, order)
    K = kernel.fit(X).gram(X)
    np.testing.assert_allclose(kernel.fit(shuffled).gram(shuffled), K[np.ix_(order, order)], rtol=1e-10, atol=1e-12)


def test_cross_has_a_row_per_first_sample(case):
    kernel, X, Y = case
    kernel = kernel.fit(X)
    assert kernel.cross(Y, X).shape == (7, 12)
    np.testing.assert_allclose(kernel.cross(Y, X), kernel.cross(X, Y).T, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel.cross(Y, X)[2], kernel.cross(rows(Y, [2]), X)[0], rtol=1e-8, atol=1e-12)


def test_gram_is_fresh_and_x_unchanged(case):
    kernel, X, _ = case
    before = X.copy()
    kernel = kernel.fit(X)
    first = kernel.gram(X)
    kernel.gram(X)[:] = -1
    np.testing.assert_array_equal(kernel.gram(X), first)
    np.testing.assert_array_equal(X, before)


def test_fit_leaves_parameters_alone_and_clone_keeps_them(case):
    kernel, X, _ = case
    before = {name: repr(value) for name, value in kernel.get_params().items()}
    kernel.fit(X)
    for name, value in clone(kernel).get_params().items():
        assert repr(value) == before[name]


def test_no_constant_depends_on_copies_of_samples(case):
    kernel, X, _ = case
    weight = np.tile([1, 2, 3], 4)
    repeated = clone(kernel).fit(rows(X, np.repeat(np.arange(12), weight))).gram(X)
    np.testing.assert_allclose(kernel.fit(X, weight.astype(float)).gram(X), repeated, rtol=1e-9, atol=1e-12)


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


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Polynomial(degree=3),
        Gaussian(),
        Gaussian(scale=2.0),
        Laplacian(),
        Distance(),
        Distance("cosine"),
        Pairwise(Gaussian(), first=[0, 1, 2], second=[3, 4, 5]),
    ],
)
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


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Polynomial(degree=0), "degree of the kernel 'polynomial' must be a positive whole number, not 0"),
        (Polynomial(degree=1.5), "degree"),
        (Polynomial(coef0=-1.0), "coef0 of the kernel 'polynomial' must be a finite number of at least 0"),
        (Constant(-1.0), "value of a constant in a kernel must be a finite number of at least 0"),
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


@pytest.mark.parametrize(
    "kernel", [Linear(), Gaussian(), Laplacian(), ChiSquared(), Distance("cityblock"), Polynomial()]
)
def test_read_only_frames_and_column_order_make_no_difference(kernel):
    A = np.abs(rng.normal(size=(9, 3)))
    expected = clone(kernel).fit(A).gram(A)
    locked = A.copy()
    locked.flags.writeable = False
    for other in (locked, pd.DataFrame(A), np.asfortranarray(A)):
        np.testing.assert_allclose(clone(kernel).fit(other).gram(other), expected, rtol=1e-12)


def test_functions_see_only_samples_that_have_the_view_and_may_write():
    words = np.array([["ab"], [None], ["b"]], dtype=object)
    letters = Function(lambda P, Q: np.array([[len(set(p[0]) & set(q[0])) for q in Q] for p in P], float)).fit(words)
    np.testing.assert_array_equal(letters.gram(words), [[2, 0, 1], [0, 0, 0], [1, 0, 1]])
    np.testing.assert_array_equal(letters.cross(words[1:2], words), [[0, 0, 0]])
    np.testing.assert_array_equal(letters.diagonal(words), [2, 0, 1])

    def careless(P, Q):
        P -= 1.0
        return np.ones((len(P), len(Q)))

    A = np.zeros((3, 2))
    Function(careless).fit(A).gram(A)
    assert not A.any()
