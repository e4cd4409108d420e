"""Elementwise functions of several Gram matrices, each in one pass over the lower triangle, with their derivatives.

A combined kernel K = F(K_1, .., K_P; eta) is made entry by entry, so that nothing of size n x n is needed beside the
matrices and the result. Its derivative is wanted only in the contraction of Danskin's theorem,

    -1/2 sum_ij G_ij dK_ij / deta_m,        G = sum_r c_r c_r',

over the samples with coefficients, so that is what the second function of each pair returns.

- `polynomial` is h_d(c, eta_1 K_1, .., eta_P K_P) - c^d, the complete homogeneous symmetric polynomial: every monomial
  of degree d once (thesis 2.2.2, Cortes et al. 2010) but the constant alone, and a multiple of the plain sum beside it.
  Adding one variable x at a time, h_k <- h_k + x h_(k-1) for k = 1 .. d, takes P d operations per entry for what are
  (P + d - 1 over d) monomials, and dh_d / dx = h_(d-1) + x h_(d-2) + .. + x^(d-1).
- `gaussian` is exp(-sum_m eta_m d_m^2) of the squared distances d_m^2(i, j) = K_m(i, i) + K_m(j, j) - 2 K_m(i, j)
  (thesis 2.2.2, Varma and Babu 2009).

Matrices may be float64 or float32; sums are double precision. Kernels of weight 0 are not read for K.
"""

from __future__ import annotations

import numpy as np

from .compiled import compiled

TILE = 32  # a square of the result and its mirror image fit into the first-level cache together
STRIP = 256  # a strip of a row, with its powers, stays in the first-level cache from kernel to kernel
FLAGS = {"reassoc", "contract"}  # sums in any order, so that they use vector instructions


def polynomial(
    matrices: np.ndarray,
    weights: np.ndarray,
    degree: int,
    constant: float = 0.0,
    products: float = 1.0,
    sums: float = 0.0,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Every monomial of the weighted matrices (and a constant) of this degree, summed, and their plain sum beside it.

    products (h_d(c, eta_1 K_1, ..) - c^d) + sums (eta_1 K_1 + .. + eta_P K_P),  into `out` if given. A degree
    of 1 is the weighted sum. A positive constant adds all monomials of lower degree, each times a power of it.

    >>> matrices = np.array([[[2.0]], [[3.0]]])
    >>> polynomial(matrices, np.ones(2), degree=2)  # 4 + 6 + 9
    array([[19.]])
    """
    out = np.empty(matrices.shape[1:], matrices.dtype) if out is None else out
    used = np.flatnonzero(weights)
    _polynomial(matrices, used, weights, int(degree), float(constant), float(products), float(sums), out)
    _mirror(out)
    return out


def polynomial_pullback(
    matrices: np.ndarray,
    weights: np.ndarray,
    degree: int,
    constant: float,
    products: float,
    sums: float,
    rows: np.ndarray,
    coef: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The contraction of `polynomial`'s derivative with coefficients of shape (n_support, n_outputs) at these rows.

    Returns the gradient -1/2 sum_ij G_ij dK_ij / deta_m, and sum_j G_ij K_ij of every row.
    """
    shares = (int(degree), float(constant), float(products), float(sums))
    return _polynomial_pullback(matrices, weights, *shares, rows, coef @ coef.T)


def gaussian(
    matrices: np.ndarray, weights: np.ndarray, diagonals: np.ndarray, out: np.ndarray | None = None
) -> np.ndarray:
    """exp(-sum_m eta_m d_m^2), the Gaussian of weighted squared distances in the kernels' feature spaces.

    `diagonals`, of shape (n, n_kernels), holds K_m(i, i). The result is put into `out` where that is given.

    >>> x = np.array([0.0, 1.0])
    >>> gaussian(np.outer(x, x)[None], np.array([2.0]), x[:, None] ** 2).round(3)  # exp(-2)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """
    out = np.empty(matrices.shape[1:], matrices.dtype) if out is None else out
    _polynomial(matrices, np.flatnonzero(weights), 2.0 * weights, 1, 0.0, 1.0, 0.0, out)
    _subtract_shifts(diagonals @ weights, out)
    _mirror(out)
    return np.exp(out, out=out)  # NumPy's is several times faster than a compiled loop


def gaussian_pullback(
    matrices: np.ndarray, weights: np.ndarray, diagonals: np.ndarray, rows: np.ndarray, coef: np.ndarray
) -> np.ndarray:
    """The contraction -1/2 sum_ij G_ij dK_ij / deta_m of `gaussian`'s derivative; see `polynomial_pullback`."""
    K = np.zeros((len(rows), len(rows)))
    _sums(matrices, np.flatnonzero(weights), 2.0 * weights, rows, K)
    _subtract_shifts(diagonals[rows] @ weights, K)
    np.exp(K, out=K)
    K *= coef @ coef.T
    return _gaussian_pullback(matrices, diagonals, rows, K)


@compiled
def _mirror(out):
    n = out.shape[0]
    for top in range(0, n, TILE):
        for left in range(0, top + 1, TILE):
            for i in range(top, min(top + TILE, n)):
                for j in range(left, min(left + TILE, i)):
                    out[j, i] = out[i, j]


@compiled(allocates=True)
def _polynomial(matrices, used, weights, degree, constant, products, sums, out):
    h = np.empty((degree + 1, STRIP))
    shift = constant if degree > 1 else 0.0
    x = np.empty(STRIP)
    for i in range(out.shape[0]):
        for left in range(0, i + 1, STRIP):
            width = min(STRIP, i + 1 - left)
            for k in range(1, degree):
                h[k] = constant**k
            h[degree] = 0.0  # without the constant alone
            for m in used:
                row, weight, first = matrices[m, i, left:], weights[m], h[1]
                for j in range(width):
                    x[j] = weight * row[j]
                    first[j] += x[j]
                for k in range(2, degree + 1):
                    lower, upper = h[k - 1], h[k]
                    for j in range(width):
                        upper[j] += x[j] * lower[j]  # h_k <- h_k + x h_(k-1), k - 1 being new already
            for j in range(width):
                out[i, left + j] = products * h[degree, j] + sums * (h[1, j] - shift)


@compiled(allocates=True, fastmath=FLAGS)
def _polynomial_pullback(matrices, weights, degree, constant, products, sums, rows, G):
    n_kernels, size = matrices.shape[0], len(rows)
    shift = constant if degree > 1 else 0.0
    gradient = np.zeros(n_kernels)
    row_sums = np.zeros(size)
    x = np.empty((n_kernels, size))
    h = np.empty((degree + 1, size))
    derivative = np.empty(size)
    for a in range(size):
        h[0, : a + 1] = 1.0
        for k in range(1, degree):
            h[k, : a + 1] = constant**k
        h[degree, : a + 1] = 0.0
        for m in range(n_kernels):
            row = matrices[m, rows[a]]
            for b in range(a + 1):
                x[m, b] = row[rows[b]]
            for k in range(1, degree + 1):
                for b in range(a + 1):
                    h[k, b] += weights[m] * x[m, b] * h[k - 1, b]
        for m in range(n_kernels):
            for b in range(a + 1):  # assigning a slice to a slice takes seconds to compile
                derivative[b] = h[0, b]
            for k in range(1, degree):  # Horner: h_(d-1) + x h_(d-2) + ..
                for b in range(a + 1):
                    derivative[b] = h[k, b] + weights[m] * x[m, b] * derivative[b]
            total = 0.5 * G[a, a] * x[m, a] * (products * derivative[a] + sums)
            for b in range(a):
                total += G[a, b] * x[m, b] * (products * derivative[b] + sums)
            gradient[m] -= total
        row_sums[a] += G[a, a] * (products * h[degree, a] + sums * (h[1, a] - shift))
        for b in range(a):
            share = G[a, b] * (products * h[degree, b] + sums * (h[1, b] - shift))
            row_sums[a] += share
            row_sums[b] += share
    return gradient, row_sums


@compiled
def _subtract_shifts(shifts, out):
    """From 2 sum_m eta_m K_m to -sum_m eta_m d_m^2, in the lower triangle; what rounding makes positive is 0."""
    for i in range(out.shape[0]):
        for j in range(i):
            out[i, j] = min(0.0, out[i, j] - (shifts[i] + shifts[j]))
        out[i, i] = 0.0


@compiled
def _sums(matrices, used, weights, rows, out):
    """sum_m eta_m K_m among these rows, in the lower triangle."""
    for a in range(len(rows)):
        target = out[a]
        for m in used:
            row, weight = matrices[m, rows[a]], weights[m]
            for b in range(a):
                target[b] += weight * row[rows[b]]


@compiled(allocates=True, fastmath=FLAGS)
def _gaussian_pullback(matrices, diagonals, rows, share):
    """Sum of share * d_m^2 over pairs: dK = -d_m^2 K, each pair twice, times -1/2."""
    gradient = np.zeros(matrices.shape[0])
    for a in range(len(rows)):
        i = rows[a]
        for m in range(matrices.shape[0]):
            row = matrices[m, i]
            total = 0.0
            for b in range(a):
                total += share[a, b] * (diagonals[i, m] + diagonals[rows[b], m] - 2.0 * row[rows[b]])
            gradient[m] += total
    return gradient
