"""What holds of combined kernels and families in lazy storage: they are those of dense storage, without whole matrices.

``check_lazy_kernel(dense, lazy)`` compares one kernel over two stacks of the same samples, ``check_lazy_family`` the
objective and the gradient of two families at the same parameters.
"""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.kernels import LazyStorageError


def check_lazy_kernel(dense, lazy, tolerance=1e-10):
    """Rows, blocks, products and the kernel in parts are those of the whole matrix, which lazy storage refuses."""
    K, n, rng = dense.gram(), dense.n_samples, np.random.RandomState(0)
    close = {"rtol": 0.0, "atol": tolerance * max(1.0, np.abs(K).max())}
    with pytest.raises(LazyStorageError, match='storage="dense"'):
        lazy.gram()
    operand = lazy.operand()
    assert operand.n_samples == n
    assert_allclose(operand.diagonal, K.diagonal(), **close)
    for index in (np.array([n - 1, 0, n // 2]), np.arange(0, n, 4), np.arange(n), np.empty(0, dtype=int)):
        assert_allclose(lazy.rows(index), K[index], **close)
        assert_allclose(lazy.block(index), K[np.ix_(index, index)], **close)
        assert_allclose(operand.block(index), K[np.ix_(index, index)], **close)
        for coef in (rng.normal(size=len(index)), rng.normal(size=(len(index), 2))):
            assert_allclose(lazy.product(index, coef), K[:, index] @ coef, rtol=0.0, atol=n * close["atol"])
    check_image(operand, K, np.arange(n), n * close["atol"])
    some = np.arange(1, n, 3)
    check_image(operand.subset(some), K, some, n * close["atol"])


def check_image(operand, K, samples, atol):
    """Images follow the coefficients, at all samples or at some of them."""
    place, coef = operand.place, np.random.RandomState(1).normal(size=len(samples))
    image, half = operand.zero(), len(samples) // 2
    rows, targets = np.arange(len(samples)), np.arange(half)
    operand.add(image, rows[:half], coef[:half])
    operand.add(image, rows[half:], coef[half:], targets=targets)
    value = place.numpy(operand.value(image, place.asarray(coef)))
    assert_allclose(value[targets], (K[np.ix_(samples, samples)] @ coef)[targets], rtol=0.0, atol=atol)
    assert operand.reuses(image) and not operand.reuses(None)


def check_lazy_family(dense, lazy, machine, theta, tolerance=1e-6):
    """The same optimum, and the same gradient from the solution, from its coefficients alone, and in dense storage."""
    kernels = dense.at(theta), lazy.at(theta)
    first, second = (machine.solve(kernel.operand(), tol=1e-9) for kernel in kernels)
    assert abs(first.objective - second.objective) <= tolerance * max(1.0, abs(first.objective))
    expected = dense.pullback(kernels[0], second.coef)
    close = {"rtol": 0.0, "atol": tolerance * max(1.0, np.abs(expected).max())}
    assert_allclose(lazy.pullback(kernels[1], second.coef), expected, **close)
    assert_allclose(lazy.gradient(kernels[1], second), expected, **close)
    return second


def check_differences(family, machine, theta, solution, rng, count=3, step=1e-5):
    """The gradient along a few directions is what J of the machine, solved again, changes by."""
    gradient = family.gradient(family.at(theta), machine.solve(family.at(theta).operand(), solution.coef, tol=1e-9))
    for _ in range(count):
        direction = rng.normal(size=len(theta))
        ahead, behind = (
            machine.solve(family.at(theta + sign * step * direction).operand(), solution.coef, tol=1e-9).objective
            for sign in (1.0, -1.0)
        )
        assert_allclose((ahead - behind) / (2.0 * step), gradient @ direction, rtol=1e-3, atol=1e-4)


def peak_bytes(function):
    """The most memory that arrays take while a function runs."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
