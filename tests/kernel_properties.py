"""The properties that every kernel has, and those that its capabilities promise; for kernels of users, too."""

import warnings

import numpy as np
from numpy.testing import assert_allclose
from sklearn.base import clone

from kernelweave.kernels import Constant, KernelStack
from kernelweave.kernels.normalization import NORMALIZATIONS
from kernelweave.views import as_views


def check_kernel(kernel, X, tolerance=1e-9):
    """Check a kernel, fitted to X, on X; an `AssertionError` tells which property fails.

    Parameters
    ----------
    kernel : Kernel
    X : array, DataFrame or sparse matrix
        A few dozen samples; some may lack the kernel's view.
    tolerance : float
        What rounding may do to kernel values, relative to the largest.
    """
    views = as_views(X)
    fitted = clone(kernel).fit(views)
    K = fitted.gram(views)
    close = {"rtol": 0.0, "atol": tolerance * max(1.0, np.abs(K).max())}
    check_values(fitted, views, K, close)
    check_copies(kernel, views, K)
    if fitted.positive_semidefinite:
        assert np.linalg.eigvalsh(K).min() > -max(tolerance, 1e-9) * np.abs(K).sum(), "an eigenvalue is negative"
    if fitted.is_linear or fitted.is_stationary or fitted.is_differentiable:
        A, present = fitted.read(views)
        A = A[present] if isinstance(A, np.ndarray) else A[present].toarray()
        assert_allclose(fitted.gram_of(A), K[np.ix_(present, present)], **close, err_msg="gram_of is not gram")
        assert_allclose(fitted.diagonal_of(A), np.diagonal(K)[present], **close, err_msg="diagonal_of")
        if fitted.is_linear:
            assert_allclose(fitted.gram_of(A), A @ A.T, **close, err_msg="is_linear, but no inner product")
        if fitted.is_stationary:
            check_stationary(fitted, A, close)
        if fitted.is_differentiable:
            check_pullback(fitted, A)
        if fitted.has_width:
            check_width(fitted, A)
        if fitted.has_exponents:
            check_exponents(fitted, A, close)
    for normalize in NORMALIZATIONS:
        check_parts(kernel, views, normalize, tolerance)


def check_values(fitted, views, K, close):
    """Symmetric values that are the same however they are computed, and zero for samples without the view."""
    n = views.n_samples
    assert K.shape == (n, n) and K.dtype == np.float64 and np.isfinite(K).all()
    assert_allclose(K, K.T, **close, err_msg="gram is not symmetric")
    assert_allclose(fitted.cross(views, views), K, **close, err_msg="cross is not gram")
    assert_allclose(fitted.diagonal(views), np.diagonal(K), **close, err_msg="diagonal is not gram's")
    chosen = np.array([n - 1, 0, n // 2, 0])
    assert_allclose(fitted.gram_rows(views, chosen), K[chosen], **close, err_msg="gram_rows is not gram[rows]")
    part = np.arange(0, n, 3)
    assert_allclose(fitted.gram(views.rows(part)), K[np.ix_(part, part)], **close, err_msg="gram of some samples")
    assert_allclose(fitted.cross(views.rows(part), views), K[part], **close, err_msg="cross of some samples")
    check_tile(fitted.tile(views), K, close)
    present = fitted.present(views)
    assert present.shape == (n,) and present.dtype == bool
    assert not K[~present].any() and not K[:, ~present].any(), "samples without the view have values"
    assert np.issubdtype(fitted.columns().dtype, np.integer)
    first, second = fitted.gram(views), fitted.gram(views)
    assert first is not second and not np.shares_memory(first, second), "gram must be a new array each time"


def check_parts(kernel, views, normalize, tolerance=1e-9):
    """The kernel in parts has the values of the dense stack, whatever part is computed, in either precision."""
    n = views.n_samples
    kernels = [kernel, Constant(1.0)]  # so that every sample has some view
    weight = np.linspace(0.5, 2.0, n)
    dense = KernelStack(kernels, normalize).fit(views, weight)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        K = dense.gram(0)
    new = views.rows(np.arange(0, n, 3))
    cross, diagonal = dense.compare(0, new, dense.presence(new)[:, 0])
    rows, columns = np.array([n - 1, 0, n // 2, 2, 0]), np.array([1, n - 2, 0, n // 2])
    coef = np.random.RandomState(0).normal(size=(n, 2, 2))
    for dtype, close in (("float64", tolerance), ("float32", 1e-6)):
        allowed = {"rtol": 0.0, "atol": close * max(1.0, np.abs(K).max(), np.abs(cross).max(initial=0.0))}
        lazy = KernelStack(kernels, normalize, dtype=dtype, storage="lazy").fit(views, weight)
        with warnings.catch_warnings(record=True) as again:
            warnings.simplefilter("always")
            parts = lazy.in_parts()
        assert {str(w.message) for w in again} == {str(w.message) for w in told}, "warnings differ in parts"
        assert_allclose(parts.block(0, None, None), K, **allowed, err_msg="block is not gram")
        assert_allclose(parts.block(0, rows, columns), K[np.ix_(rows, columns)], **allowed, err_msg="block of some")
        assert_allclose(parts.diagonals()[:, 0], np.diagonal(K), **allowed, err_msg="diagonal in parts")
        some = coef[columns]
        loose = {"rtol": 0.0, "atol": 4.0 * allowed["atol"] * max(1.0, np.abs(coef).sum(axis=0).max())}
        assert_allclose(parts.images(None, None, coef)[:, 0], K @ coef[:, 0], **loose, err_msg="images of all")
        found = parts.images(rows, columns, some)
        assert found.dtype == np.float64
        assert_allclose(found[:, 0], K[np.ix_(rows, columns)] @ some[:, 0], **loose, err_msg="images of some")
        assert_allclose(parts.sources[0].times(rows, columns, some[:, 0]), found[:, 0], **loose, err_msg="times")
        kept = np.arange(n - 1, -1, -2)
        assert_allclose(parts.subset(kept).block(0, None, None), K[np.ix_(kept, kept)], **allowed, err_msg="subset")
        ahead = parts.against(new)
        assert_allclose(ahead.block(0, None, None), cross, **allowed, err_msg="against is not cross")
        assert_allclose(ahead.diagonals()[:, 0], diagonal, **allowed, err_msg="diagonal of new samples")
        assert_allclose(ahead.images(None, None, coef)[:, 0], cross @ coef[:, 0], **loose, err_msg="images of new ones")
        fewer = lazy.restrict(np.sort(kept)).in_parts().against(new)
        assert_allclose(fewer.block(0, None, None), cross[:, np.sort(kept)], **allowed, err_msg="after restrict")
        assert_allclose(lazy.cross(0, new, lazy.presence(new)[:, 0]), cross, **allowed, err_msg="constants in parts")
        assert_allclose(lazy.gram_rows(0, rows), K[rows], **allowed, err_msg="rows with the constants in parts")


def check_tile(tile, K, close):
    """Tiles, where the kernel has them, are new arrays with the values of the Gram matrix, which is symmetric."""
    if tile is not None:
        rows, columns = slice(len(K) // 2, len(K)), slice(0, len(K) // 3)
        assert_allclose(tile(rows, columns), K[rows, columns], **close, err_msg="tile is not gram[rows, columns]")
        assert not np.shares_memory(tile(rows, rows), tile(rows, rows)), "a tile must be a new array each time"
        np.testing.assert_array_equal(K, K.T, err_msg="a Gram matrix in tiles is not exactly symmetric")


def check_copies(kernel, views, K):
    """A copy that is fitted alike has the same values, and fitting changes no parameter."""
    before = kernel.get_params()
    again = clone(kernel).fit(views)
    np.testing.assert_array_equal(again.gram(views), K)
    for name, value in kernel.get_params().items():
        assert value is before[name] or np.array_equal(value, before[name]), f"fit changed the parameter {name}"
    assert isinstance(kernel.name, str) and kernel.name


def check_stationary(fitted, A, close):
    """The kernel of shifted points is the same, and k(x, x) is one number."""
    shift = np.random.RandomState(0).normal(size=A.shape[1])
    assert_allclose(fitted.gram_of(A + shift), fitted.gram_of(A), **close, err_msg="is_stationary, but not invariant")
    assert np.ptp(fitted.diagonal_of(A)) <= close["atol"], "is_stationary, but k(x, x) differs between samples"


def check_pullback(fitted, A, h=1e-6):
    """The derivatives by the points are those of finite differences, for new points and for samples."""
    rng = np.random.RandomState(0)
    A = A[:8]
    for Z in (A[:3] + 0.1 * rng.normal(size=A[:3].shape) * (1.0 + np.abs(A).mean()), A[:3].copy()):
        weights = rng.normal(size=(len(A), len(Z)))
        pulled = fitted.pullback(A, Z, weights)
        assert pulled.shape == Z.shape
        scale = 1.0 + np.abs(pulled).max()
        for direction in rng.normal(size=(4, *Z.shape)):
            ahead, behind = ((weights * fitted.cross_of(A, Z + sign * h * direction)).sum() for sign in (1, -1))
            difference = (ahead - behind) / (2 * h)
            assert abs((pulled * direction).sum() - difference) < 1e-5 * scale, "pullback is not the derivative"


def check_width(fitted, A):
    """Learning from other points makes another kernel and leaves this one as it is."""
    before = fitted.gram_of(A)
    other = fitted.learned_from(3.0 * A, np.ones(len(A)))
    assert type(other) is type(fitted) and np.isfinite(other.gram_of(A)).all()
    np.testing.assert_array_equal(fitted.gram_of(A), before)


def check_exponents(fitted, A, close):
    """k = exp(-e), and e falls with the square of the width of copies."""
    e, scale, other = fitted.exponents_of(A[:5], A), fitted.scale_, fitted.at_scale(2.0 * fitted.scale_)
    assert_allclose(np.exp(-e), fitted.cross_of(A[:5], A), **close, err_msg="exponents_of")
    assert_allclose(np.exp(-0.25 * e), other.cross_of(A[:5], A), **close, err_msg="at_scale")
    assert fitted.scale_ == scale and other is not fitted and other.get_params()["scale"] == other.scale_
