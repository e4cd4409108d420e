"""What holds of combined kernels and families in lazy storage: they are those of dense storage, without whole matrices.

``check_lazy_kernel(dense, lazy)`` compares one kernel over two stacks of the same samples, ``check_lazy_family`` the
objective and the gradient of two families at the same parameters.
"""

import tracemalloc

import numpy as np
from numpy.testing import assert_allclose

from combined_properties import check_parts, check_tiles


def check_lazy_kernel(dense, lazy, tolerance=1e-10):
    """Rows, blocks, products and the kernel in parts are those of the whole matrix, which lazy storage refuses."""
    K = dense.gram()
    close = {"rtol": 0.0, "atol": tolerance * max(1.0, np.abs(K).max())}
    check_tiles(lazy, K, close)
    check_parts(lazy, K, close)


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
