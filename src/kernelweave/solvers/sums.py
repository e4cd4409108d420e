"""Sums of kernels, products of every kernel with few vectors, and derivatives by gates.

    K = sum_m w_m K_m                             one weight for each kernel
    K = sum_m diag(g_m) K_m diag(h_m)             one gate for each kernel and sample, thesis (3.9) with g = h
    dJ/dg_im = -sum_r c_ir (K_m (g_m * c_r))_i    of J = l(C) - 1/2 sum_r c_r' K c_r
    images[m] = K_m C                             at the entries where C is not zero

All of them are bound by memory, not by arithmetic. The sum of a stack reads the lower triangles of three matrices at a
time and mirrors each band of rows while it is still in the cache; matrices of weight 0, and rows of a matrix whose gate
is 0, are not read. Derivative and images read only what nonzero coefficients touch.

K_m is kernels[m] or matrices[m], w `weights` of shape (P,), g_m weights[:, m] or gates[:, m], h_m column_weights[:, m],
and C `coef` of shape (n_rows, n_outputs).

Elementwise functions of several Gram matrices take one pass over the lower triangle, and so do their derivatives.

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

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .compiled import compiled, read_only
from .pairs import subtract_rows

FLAGS = {"reassoc", "contract"}  # sums in any order, which is what makes them fast
BAND = 32  # rows that are summed before they are mirrored
SPARSE = 0.125  # share of nonzero entries of C among its nonzero rows below which its columns are taken one by one


class KernelBlock(NamedTuple):
    """Values of kernel m, which `sum_kernels` writes to, at some rows and columns of the sum; None stands for all."""

    m: int
    values: np.ndarray
    rows: np.ndarray | None = None
    columns: np.ndarray | None = None


def sum_kernels(
    kernels: np.ndarray | Iterable[KernelBlock],
    weights: np.ndarray,
    column_weights: np.ndarray | None = None,
    *,
    out: np.ndarray | None = None,
    add: bool = False,
) -> np.ndarray:
    """The sum of kernels, each with a weight or with a gate for each sample.

    Kernels are a stack of symmetric matrices (float64 or float32), which is only read; or kernels computed one by one,
    each in memory only while it is added. Weights have the shape (P,), or (n_rows, P) for a gate of each sample and
    kernel, which multiplies the rows of that kernel; `column_weights` (n_columns, P) multiply the columns, where these
    are other samples than the rows (for kernels computed one by one).

    The sum is put into `out` or, with `add`, added to it (for a stack: a symmetric matrix of its type); by default it
    is a new matrix, or the first of the kernels that are computed one by one, so that two are in memory.

    >>> stack = np.array([np.eye(2), np.ones((2, 2))])
    >>> sum_kernels(stack, np.array([1.0, 0.5]))
    array([[1.5, 0.5],
           [0.5, 1.5]])
    >>> sum_kernels(stack, np.array([[1.0, 0.0], [0.5, 2.0]]))
    array([[1.  , 0.  ],
           [0.  , 4.25]])
    """
    if add and out is None:
        raise ValueError("add=True needs a matrix to add to: give it as out")
    if not isinstance(kernels, np.ndarray):
        return _sum_one_by_one(kernels, weights, column_weights, out, add)
    if column_weights is not None:
        raise ValueError("the matrices of a stack are symmetric, so they take no column_weights")
    if out is None:
        out = np.empty(kernels.shape[1:], kernels.dtype)
    if weights.ndim == 1:
        _add_weighted(read_only(kernels), np.flatnonzero(weights), weights.astype(kernels.dtype), out, not add)
    else:
        _add_gated(read_only(kernels), np.ascontiguousarray(weights.T, dtype=kernels.dtype), out, not add)
    return out


def _sum_one_by_one(blocks, weights, column_weights, out, add):
    started = add  # whether `out` holds a part of the sum
    for m, values, rows, columns in blocks:
        _weigh(values, m, rows, columns, weights, column_weights)
        if rows is None and columns is None:
            if out is None:
                out = values
            elif started:
                out += values
            else:
                out[...] = values
        else:
            if out is None or not started:
                out = _zeros(weights, column_weights, values.dtype, out)
            chosen = slice(None) if rows is None else rows if columns is None else rows[:, None]
            out[chosen, slice(None) if columns is None else columns] += values
        started = True
        del values  # or it would be in memory while the next one is computed
    return out if out is not None and started else _zeros(weights, column_weights, np.float64, out)


def _weigh(values, m, rows, columns, weights, column_weights):
    """Multiply the values of kernel m by its weight or by the gates of their rows and columns, in place."""
    if weights.ndim == 1:
        if weights[m] != 1.0:
            values *= weights[m]
        return
    left, right = weights[:, m], (weights if column_weights is None else column_weights)[:, m]
    values *= (left if rows is None else left[rows])[:, None]
    values *= right if columns is None else right[columns]


def _zeros(weights, column_weights, dtype, out):
    if out is not None:
        out[...] = 0.0
        return out
    if weights.ndim == 1:
        raise ValueError("the shape of the sum is not known: give out, or one kernel with values for all samples")
    return np.zeros((len(weights), len(weights if column_weights is None else column_weights)), dtype)


def gated_pullback(matrices: np.ndarray, gates: np.ndarray, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """The gradient of -1/2 sum_r c_r' K c_r by the gates, K being their sum with these gates; in double precision.

    `rows` are the samples with coefficients; the gradient, of shape (n, P), is zero at the others.

    >>> gated_pullback(np.ones((1, 2, 2)), np.array([[1.0], [0.5]]), np.array([1]), np.array([[2.0]]))
    array([[ 0.],
           [-2.]])
    """
    slopes = np.zeros(gates.shape)
    slopes[rows] = _slopes(read_only(matrices), rows, gates[rows].T.copy(), np.ascontiguousarray(coef.T)).T
    return slopes


class GatedKernel:
    """The sum of a stack with gates of shape (n, P), some entries at a time, for `solve_in_working_set`.

    >>> kernel = GatedKernel(np.ones((2, 2, 2)), np.array([[1.0, 0.0], [0.5, 2.0]]))
    >>> kernel.block(np.array([1])), kernel.product(np.array([1]), np.array([2.0]))
    (array([[4.25]]), array([1. , 8.5]))
    """

    def __init__(self, matrices: np.ndarray, gates: np.ndarray):
        self.matrices, self.gates = read_only(matrices), np.ascontiguousarray(gates.T, dtype=np.float64)

    def block(self, rows: np.ndarray) -> np.ndarray:
        return _block(self.matrices, rows, self.gates[:, rows].copy())

    def product(self, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        result = np.zeros(self.gates.shape[1])
        for matrix, gates in zip(self.matrices, self.gates, strict=True):
            part = np.zeros(len(result))
            subtract_rows(matrix, rows, -gates[rows] * coef, part)
            result += gates * part
        return result


@compiled
def _add_weighted(matrices, chosen, weights, out, afresh):
    n, k = out.shape[0], len(chosen)
    for top in range(0, n, BAND):
        bottom = min(top + BAND, n)
        for i in range(top, bottom):
            row = out[i, : i + 1]
            if afresh:
                row[:] = 0.0
            a = 0
            while a + 2 < k:
                first, second, third = chosen[a], chosen[a + 1], chosen[a + 2]
                u, v, w = weights[first], weights[second], weights[third]
                x, y, z = matrices[first, i, : i + 1], matrices[second, i, : i + 1], matrices[third, i, : i + 1]
                for j in range(i + 1):
                    row[j] += u * x[j] + v * y[j] + w * z[j]
                a += 3
            while a < k:
                u = weights[chosen[a]]
                x = matrices[chosen[a], i, : i + 1]
                for j in range(i + 1):
                    row[j] += u * x[j]
                a += 1
        for j in range(bottom):
            for i in range(max(top, j + 1), bottom):
                out[j, i] = out[i, j]


@compiled(allocates=True, fastmath={"contract"})
def _add_gated(matrices, gates, out, afresh):
    n_kernels, n = gates.shape
    chosen = np.empty(n_kernels, np.int64)
    for top in range(0, n, BAND):
        bottom = min(top + BAND, n)
        for i in range(top, bottom):
            row = out[i, : i + 1]
            if afresh:
                row[:] = 0.0
            k = 0
            for m in range(n_kernels):
                if gates[m, i] != 0.0:
                    chosen[k] = m
                    k += 1
            a = 0
            while a + 2 < k:
                first, second, third = chosen[a], chosen[a + 1], chosen[a + 2]
                u, v, w = gates[first, i], gates[second, i], gates[third, i]
                x, y, z = matrices[first, i, : i + 1], matrices[second, i, : i + 1], matrices[third, i, : i + 1]
                f, g, h = gates[first, : i + 1], gates[second, : i + 1], gates[third, : i + 1]
                for j in range(i + 1):
                    row[j] += u * f[j] * x[j] + v * g[j] * y[j] + w * h[j] * z[j]
                a += 3
            while a < k:
                u = gates[chosen[a], i]
                x = matrices[chosen[a], i, : i + 1]
                f = gates[chosen[a], : i + 1]
                for j in range(i + 1):
                    row[j] += u * f[j] * x[j]
                a += 1
        for j in range(bottom):
            for i in range(max(top, j + 1), bottom):
                out[j, i] = out[i, j]


@compiled(allocates=True, fastmath=FLAGS)
def _slopes(matrices, rows, gates, coef):
    """Each row of a matrix is gathered once for all columns of C."""
    n_kernels, n_rows, n_outputs = matrices.shape[0], len(rows), coef.shape[0]
    slopes = np.zeros((n_kernels, n_rows))
    gathered = np.empty(n_rows)
    weighted = np.empty((n_outputs, n_rows))
    for m in range(n_kernels):
        for r in range(n_outputs):
            for j in range(n_rows):
                weighted[r, j] = gates[m, j] * coef[r, j]
        for i in range(n_rows):
            row = matrices[m, rows[i]]
            for j in range(n_rows):
                gathered[j] = row[rows[j]]
            for r in range(n_outputs):
                if coef[r, i] == 0.0:
                    continue
                column = weighted[r]
                total = 0.0
                for j in range(n_rows):
                    total += gathered[j] * column[j]
                slopes[m, i] -= coef[r, i] * total
    return slopes


@compiled(allocates=True, fastmath={"contract"})
def _block(matrices, rows, gates):
    """The lower triangle, gathered row by row, and its mirror image."""
    n_kernels, n_rows = gates.shape
    block = np.zeros((n_rows, n_rows))
    for i in range(n_rows):
        target = block[i]
        for m in range(n_kernels):
            if gates[m, i] != 0.0:
                row, weights, weight = matrices[m, rows[i]], gates[m], gates[m, i]
                for j in range(i + 1):
                    target[j] += weight * weights[j] * row[rows[j]]
    for i in range(n_rows):
        for j in range(i):
            block[j, i] = block[i, j]
    return block


@dataclass(frozen=True)
class Images:
    """K_m C at the entries of C that are not zero, column by column: float64, of shape (P, n_entries).

    `rows` and `columns` (in increasing order) say where C is not zero, and `coef` is C there.
    """

    rows: np.ndarray
    columns: np.ndarray
    coef: np.ndarray
    values: np.ndarray

    def forms(self) -> np.ndarray:
        """q_m = sum_r c_r' K_m c_r, of shape (P,)."""
        return self.values @ self.coef

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        n = max(self.rows.max(initial=0), rows.max(initial=0)) + 1
        return self.values[:, np.searchsorted(self.columns * n + self.rows, columns * n + rows)]

    def scaled(self, factor: np.ndarray) -> Images:
        """The images under kernels whose rows and columns are multiplied by a factor, if C was multiplied by it."""
        here = factor[self.rows]
        return Images(self.rows, self.columns, self.coef / here, self.values * here)


def images(matrices: np.ndarray, coef: np.ndarray) -> Images:
    """K_m C at the nonzero entries of C, for each symmetric matrix K_m.

    What a column of C does not touch costs nothing, so that the pairs of many classes cost what their few samples do.

    >>> found = images(np.array([np.eye(3), np.ones((3, 3))]), np.array([[1.0], [0.0], [-2.0]]))
    >>> found.rows, found.values
    (array([0, 2]), array([[ 1., -2.],
           [-1., -1.]]))
    """
    rows, columns = np.nonzero(coef)
    order = np.argsort(columns, kind="stable")
    rows, columns = rows[order], columns[order]
    entries = np.ascontiguousarray(coef[rows, columns], dtype=np.float64)
    support = np.flatnonzero(np.bincount(rows, minlength=len(coef)))
    if len(entries) < SPARSE * len(support) * coef.shape[1]:
        values = np.empty((len(matrices), len(entries)))
        starts = np.searchsorted(columns, np.arange(coef.shape[1] + 1))
        _sparse_images(read_only(matrices), rows, starts, entries, values)
    else:
        dense = np.ascontiguousarray(coef[support].T, dtype=np.float64)
        every = np.empty((len(matrices), len(support), coef.shape[1]))
        _images(read_only(matrices), support, dense, np.empty(len(support)), every)
        values = every[:, np.searchsorted(support, rows), columns]
    return Images(rows, columns, entries, values)


@compiled(fastmath=FLAGS)
def _images(matrices, rows, coef, gathered, result):
    """Each row is gathered once for all columns of C."""
    n_rows = len(rows)
    for m in range(matrices.shape[0]):
        for i in range(n_rows):
            row = matrices[m, rows[i]]
            for j in range(n_rows):
                gathered[j] = row[rows[j]]
            for r in range(coef.shape[0]):
                column = coef[r]
                total = 0.0
                for j in range(n_rows):
                    total += gathered[j] * column[j]
                result[m, i, r] = total


@compiled(fastmath=FLAGS)
def _sparse_images(matrices, rows, starts, coef, result):
    """Each column of C reads only what its own entries touch."""
    for m in range(matrices.shape[0]):
        for r in range(len(starts) - 1):
            for a in range(starts[r], starts[r + 1]):
                row = matrices[m, rows[a]]
                total = 0.0
                for b in range(starts[r], starts[r + 1]):
                    total += row[rows[b]] * coef[b]
                result[m, a] = total


@compiled(fastmath=FLAGS)
def centred_square(K: np.ndarray, means: np.ndarray, mean: float, root: np.ndarray) -> float:
    """Sum over i, j of (root_i root_j (K_ij - means_i - means_j + mean))^2 of a symmetric matrix.

    `means` are the means of the rows, or zeros, and `mean` theirs; `root` the roots of the samples' weights, of which 0
    leaves a sample out. Reads the lower triangle once; sums are in double precision.
    """
    total = 0.0
    for i in range(len(means)):
        shift = mean - means[i]
        below = 0.0
        for j in range(i):
            value = (K[i, j] + shift - means[j]) * root[j]
            below += value * value
        value = (K[i, i] + shift - means[i]) * root[i]
        total += root[i] * root[i] * (2.0 * below + value * value)
    return total


# Elementwise functions

TILE = 32  # a square of the result and its mirror image fit into the first-level cache together
STRIP = 256  # a strip of a row, with its powers, stays in the first-level cache from kernel to kernel


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
