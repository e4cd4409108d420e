"""Rows of Gram matrices, against the whole matrices."""

import numpy as np
import pytest

from kernelweave.kernels import Function, Gaussian, KernelStack, Linear, Polynomial, Precomputed

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 5))
MISSING = X.copy()
MISSING[[2, 17], :2] = np.nan
WEIGHT = rng.uniform(0.5, 2.0, 30)
CHOSEN = np.array([29, 0, 17, 0, 5])
SIMILARITY = np.tanh(X @ X.T)
NORMALIZATIONS = ["unit-diagonal", "unit-trace", "center", None]
TRUSTED = [Linear([0, 1]), Polynomial([2, 3], coef0=0.0), Gaussian([2, 4]), Linear([0, 1]) + Gaussian([3])]
OTHERS = [
    Function(lambda A, B: np.tanh(A @ B.T), [0, 1], repair="shift"),
    Function(lambda A, B: np.tanh(A @ B.T), [0, 1], repair="clip"),
    Function(lambda A, B: A @ B.T, [0, 1]),
    Function(lambda A, B: np.tanh(A @ B.T), [2, 3, 4], repair="clip"),
]


def fitted(kernels, normalize, dtype="float64"):
    return KernelStack(kernels, normalize, dtype=dtype).fit(MISSING, WEIGHT)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("kernels", [TRUSTED, OTHERS], ids=["trusted", "others"])
def test_rows_are_those_of_the_whole_matrix(kernels, normalize, dtype):
    first, then = fitted(kernels, normalize, dtype), fitted(kernels, normalize, dtype)
    for m in range(len(kernels)):
        K = then.gram(m)
        for stack in (first, then, first):  # before the whole matrix is computed, after it, and again
            rows = stack.gram_rows(m, CHOSEN)
            assert rows.dtype == K.dtype
            np.testing.assert_allclose(rows, K[CHOSEN], atol=1e-12 if dtype == "float64" else 1e-5)
        np.testing.assert_allclose(first.gram(m), K, atol=1e-12 if dtype == "float64" else 1e-5)
    assert kernels is TRUSTED or all(then.repairs[m].smallest_ < 0.0 for m in (0, 1, 3))  # there is something to repair
    then.matrices()
    np.testing.assert_array_equal(then.gram_rows(0, CHOSEN), then.gram(0)[CHOSEN])


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", None])
def test_no_whole_matrix_is_computed(normalize, monkeypatch):
    stack = fitted(TRUSTED, normalize)
    for kernel in stack.kernels:
        monkeypatch.setattr(kernel, "gram", lambda X: pytest.fail("computed a Gram matrix"))
    for m in range(len(TRUSTED)):
        assert stack.gram_rows(m, CHOSEN).shape == (5, 30)
    new, present = stack.reference.rows(np.array([3, 4])), np.ones(2, dtype=bool)
    rows = stack.cross(0, new, present)  # the constants are learned
    np.testing.assert_allclose(rows, stack.gram_rows(0, np.array([3, 4])), atol=1e-12)


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
def test_nothing_is_computed_again_once_constants_are_known(normalize, monkeypatch):
    stack = fitted(OTHERS, normalize)
    expected = [stack.gram(m)[CHOSEN] for m in range(len(OTHERS))]
    for kernel in stack.kernels:
        monkeypatch.setattr(kernel, "gram", lambda X: pytest.fail("computed a Gram matrix"))
    for m, K in enumerate(expected):
        np.testing.assert_allclose(stack.gram_rows(m, CHOSEN), K, atol=1e-12)


def test_rows_of_precomputed_kernels_and_of_parts():
    kernel = Precomputed(SIMILARITY, repair="clip")
    stack = KernelStack([kernel]).fit(np.arange(30.0)[:, None])
    part = np.array([4, 9, 2, 20, 11])
    for each in (stack, stack.subset(part)):
        chosen = np.array([3, 0])
        np.testing.assert_allclose(each.gram_rows(0, chosen), each.gram(0)[chosen], atol=1e-12)
    stack.matrices()
    np.testing.assert_array_equal(stack.subset(part).gram_rows(0, chosen), stack.gram(0)[np.ix_(part[chosen], part)])
