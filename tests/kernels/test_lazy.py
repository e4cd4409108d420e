"""Stacks in lazy storage: what they refuse, and whose constants their parts have."""

import numpy as np
import pytest

from kernelweave.kernels import (
    Clinical,
    Function,
    Gaussian,
    IndefiniteKernelWarning,
    KernelStack,
    LazyStorageError,
    Linear,
    Precomputed,
)
from kernelweave.kernels.tiles import stack as tile_stack
from kernelweave.kernels.tiles.sources import ValuesSource

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))


def test_whole_matrices_are_refused():
    stack = KernelStack([("a", Gaussian()), ("b", Linear())], storage="lazy", dtype="float32").fit(X)
    with pytest.raises(LazyStorageError, match='a stack of 2 kernels needs 2 matrices of 40 x 40 float32.*"dense"'):
        stack.matrices()
    with pytest.raises(LazyStorageError, match="the Gram matrix of the kernel 'b' needs a matrix of 40 x 40"):
        stack.gram(1)
    assert issubclass(LazyStorageError, ValueError)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_subsets_keep_the_constants_of_all_samples(normalize):
    dense, lazy = (KernelStack([Linear(), Gaussian()], normalize, storage=s).fit(X) for s in ("dense", "lazy"))
    K, rows = dense.matrices(), np.array([3, 17, 5, 30])
    part = lazy.subset(rows)
    for m in range(2):
        np.testing.assert_allclose(part.in_parts().block(m, None, None), K[m][np.ix_(rows, rows)], atol=1e-12)
        np.testing.assert_allclose(part.subset(np.array([2, 0])).in_parts().block(m, None, None)[0, 1], K[m][5, 3])
        new = lazy.reference.rows(np.array([1, 2]))
        present = np.ones(2, dtype=bool)
        wanted = dense.cross(m, new, present)
        np.testing.assert_allclose(part.cross(m, new, present), wanted[:, rows], atol=1e-12)
        np.testing.assert_allclose(part.in_parts().against(new).block(m, None, None), wanted[:, rows], atol=1e-12)


@pytest.mark.parametrize("repair", ["clip", "shift"])
def test_repairs_by_eigenvalues_are_refused(repair):
    kernel = Function(lambda A, B: np.tanh(A @ B.T - 3.0), repair=repair)
    assert not kernel.takes_parts and Function(lambda A, B: A @ B.T).takes_parts and Gaussian().takes_parts
    stack = KernelStack([("odd", kernel)], None, storage="lazy").fit(X)
    with pytest.raises(LazyStorageError, match=f"repair='{repair}' of the kernel 'odd' needs .* 40 x 40 .*repair=None"):
        stack.in_parts()


def test_definiteness_is_checked_on_some_samples(monkeypatch):
    monkeypatch.setattr(tile_stack, "CHECKED_SAMPLES", 20)
    seen = []
    kernel = Function(lambda A, B: seen.append((len(A), len(B))) or np.tanh(A @ B.T - 3.0))
    stack = KernelStack([("odd", kernel)], None, storage="lazy").fit(X)
    with pytest.warns(IndefiniteKernelWarning, match="'odd' is not positive semidefinite"):
        stack.in_parts()
    assert max(max(shape) for shape in seen) <= 32  # the check, and blocks of the diagonal
    stack.gram_rows(0, np.array([1]))  # does not warn again
    KernelStack([Precomputed(np.eye(40))], storage="lazy").fit(np.arange(40)[:, None]).in_parts()  # nor does this


def test_a_subclass_with_other_values_is_computed_by_its_own_code():
    class Doubled(Gaussian):
        def cross_of(self, A, B):
            return 2.0 * super().cross_of(A, B)

        def gram_of(self, A):
            return self.cross_of(A, A)

        def diagonal_of(self, A):
            return np.full(len(A), 2.0)

    class Renamed(Gaussian):
        pass

    lazy = KernelStack([Doubled(), Renamed()], None, storage="lazy").fit(X).in_parts()
    assert isinstance(lazy.sources[0], ValuesSource) and not isinstance(lazy.sources[1], ValuesSource)
    np.testing.assert_allclose(lazy.block(0, None, None), 2.0 * lazy.block(1, None, None), atol=1e-12)


def test_values_that_overflow_are_named():
    stack = KernelStack([("large", Linear())], storage="lazy").fit(1e200 * X)
    with pytest.raises(ValueError, match="the kernel 'large' gives NaN, infinite or overflowing values"):
        stack.in_parts()


def test_the_view_is_read_once(monkeypatch):
    stack = KernelStack([Clinical(), Gaussian()], storage="lazy").fit(X)
    parts = stack.in_parts()
    for kernel in stack.kernels:
        monkeypatch.setattr(kernel, "read", None)
    assert parts.images(None, np.array([1, 2]), np.ones((2, 2, 1))).shape == (len(X), 2, 1)
    whole = parts.block(0, None, None)
    np.testing.assert_array_equal(parts.subset(np.arange(5)).block(0, None, None), whole[:5, :5])
