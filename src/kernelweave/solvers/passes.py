"""One pass over explicit features: values, slopes of losses, and what they pull, in one read of the features.

For rows i of a matrix F of features, kernels m (columns offsets[m] to offsets[m + 1]) and one output,

    s[i, m] = <w_m, F[i, m]>            f_i = sum_m a[i, m] s[i, m] + b
    c_i = -slope of the loss at f_i     pulled_m += sum_i a[i, m] c_i F[i, m]

Rows are taken four at a time, so that they are in the first cache of a core when they are read for the second time.
Products and sums are in float64, whatever F is. The loss of a sample is that of `ridge`,  max_v  z v - e |v| - h/2 v^2
over  lower <= v <= upper  with z = p - f, and c is the v at the maximum.
"""

from __future__ import annotations

import numpy as np

from .compiled import compiled
from .ridge import best_response


@compiled(inner=True)
def _response(f, p, lower, upper, h, e):
    z = p - f
    c = best_response(z, lower, upper, h, e)
    return z * c - e * abs(c) - 0.5 * h * c * c, c


@compiled(inner=True, fastmath={"reassoc", "contract"})
def _products(F0, F1, F2, F3, w, first, last):
    A, B, C, D, part = F0[first:last], F1[first:last], F2[first:last], F3[first:last], w[first:last]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for j in range(len(part)):
        s0 += part[j] * A[j]
        s1 += part[j] * B[j]
        s2 += part[j] * C[j]
        s3 += part[j] * D[j]
    return s0, s1, s2, s3


@compiled(inner=True, fastmath={"reassoc", "contract"})
def _pull(F0, F1, F2, F3, g0, g1, g2, g3, pulled, first, last):
    A, B, C, D, part = F0[first:last], F1[first:last], F2[first:last], F3[first:last], pulled[first:last]
    for j in range(len(part)):
        part[j] += (g0 * A[j] + g1 * B[j]) + (g2 * C[j] + g3 * D[j])


@compiled(fastmath={"reassoc", "contract"})
def one_output(F, offsets, w, b, a, p, lower, upper, h, e, pulled, slopes, sums):
    """A pass over rows of F with one output.

    `pulled` (n_features,) is added to, `slopes` (n, n_kernels) gets dP/da = -c s, and the sums of losses and of c are
    added to `sums` (2,).
    """
    n, n_kernels = F.shape[0], len(offsets) - 1
    i = 0
    while i + 4 <= n:
        F0, F1, F2, F3 = F[i], F[i + 1], F[i + 2], F[i + 3]
        f0, f1, f2, f3 = b, b, b, b
        for m in range(n_kernels):
            s0, s1, s2, s3 = _products(F0, F1, F2, F3, w, offsets[m], offsets[m + 1])
            slopes[i, m], slopes[i + 1, m], slopes[i + 2, m], slopes[i + 3, m] = s0, s1, s2, s3
            f0 += a[i, m] * s0
            f1 += a[i + 1, m] * s1
            f2 += a[i + 2, m] * s2
            f3 += a[i + 3, m] * s3
        l0, c0 = _response(f0, p[i], lower[i], upper[i], h[i], e)
        l1, c1 = _response(f1, p[i + 1], lower[i + 1], upper[i + 1], h[i + 1], e)
        l2, c2 = _response(f2, p[i + 2], lower[i + 2], upper[i + 2], h[i + 2], e)
        l3, c3 = _response(f3, p[i + 3], lower[i + 3], upper[i + 3], h[i + 3], e)
        sums[0] += (l0 + l1) + (l2 + l3)
        sums[1] += (c0 + c1) + (c2 + c3)
        for m in range(n_kernels):
            slopes[i, m] *= -c0
            slopes[i + 1, m] *= -c1
            slopes[i + 2, m] *= -c2
            slopes[i + 3, m] *= -c3
        if c0 != 0.0 or c1 != 0.0 or c2 != 0.0 or c3 != 0.0:
            for m in range(n_kernels):
                g0, g1, g2, g3 = c0 * a[i, m], c1 * a[i + 1, m], c2 * a[i + 2, m], c3 * a[i + 3, m]
                _pull(F0, F1, F2, F3, g0, g1, g2, g3, pulled, offsets[m], offsets[m + 1])
        i += 4
    while i < n:
        row, f = F[i], b
        for m in range(n_kernels):
            slopes[i, m] = _products(row, row, row, row, w, offsets[m], offsets[m + 1])[0]
            f += a[i, m] * slopes[i, m]
        loss, c = _response(f, p[i], lower[i], upper[i], h[i], e)
        sums[0] += loss
        sums[1] += c
        for m in range(n_kernels):
            slopes[i, m] *= -c
            _pull(row, row, row, row, c * a[i, m], 0.0, 0.0, 0.0, pulled, offsets[m], offsets[m + 1])
        i += 1


@compiled(fastmath={"reassoc", "contract"})
def respond(scores, b, a, p, lower, upper, h, e, G, slopes, sums):
    """What each sample of a tile pulls with, from its scores; any number of outputs.

    G, of the shape (n_kernels, n, n_outputs) of the scores, gets a c, `slopes` (n, n_kernels) gets dP/da = -sum_r c s,
    and the sums of losses and of c are added to `sums` (2, n_outputs).
    """
    n_kernels, n, n_outputs = scores.shape
    for i in range(n):
        for m in range(n_kernels):
            slopes[i, m] = 0.0
        for r in range(n_outputs):
            f = b[r]
            for m in range(n_kernels):
                f += a[i, m] * scores[m, i, r]
            loss, c = _response(f, p[i, r], lower[i, r], upper[i, r], h[i, r], e)
            sums[0, r] += loss
            sums[1, r] += c
            for m in range(n_kernels):
                slopes[i, m] -= c * scores[m, i, r]
                G[m, i, r] = a[i, m] * c


@compiled(fastmath={"reassoc", "contract"})
def inner_products(F, W, out):
    """out[i, r] = <F[i], W[r]>, summed in float64."""
    n, i = F.shape[0], 0
    for r in range(W.shape[0]):
        w = W[r]
        i = 0
        while i + 4 <= n:
            out[i, r], out[i + 1, r], out[i + 2, r], out[i + 3, r] = _products(
                F[i], F[i + 1], F[i + 2], F[i + 3], w, 0, len(w)
            )
            i += 4
        while i < n:
            out[i, r] = _products(F[i], F[i], F[i], F[i], w, 0, len(w))[0]
            i += 1


@compiled(fastmath={"reassoc", "contract"})
def add_pulled(F, G, out):
    """out[r] += sum_i G[i, r] F[i], in float64."""
    n, width = F.shape
    for r in range(G.shape[1]):
        pulled = out[r]
        i = 0
        while i + 4 <= n:
            g0, g1, g2, g3 = G[i, r], G[i + 1, r], G[i + 2, r], G[i + 3, r]
            if g0 != 0.0 or g1 != 0.0 or g2 != 0.0 or g3 != 0.0:
                _pull(F[i], F[i + 1], F[i + 2], F[i + 3], g0, g1, g2, g3, pulled, 0, width)
            i += 4
        while i < n:
            _pull(F[i], F[i], F[i], F[i], G[i, r], 0.0, 0.0, 0.0, pulled, 0, width)
            i += 1


@compiled(fastmath={"reassoc", "contract"})
def row_forms(X, shift, unit, has_norms, out):
    """Write (X - shift) unit, and with norms -1/2 ||x||^2 and 1 behind it; returns the largest ||x||^2 and ||x||_1."""
    width, squared, absolute = X.shape[1], 0.0, 0.0
    for i in range(X.shape[0]):
        row, to = X[i], out[i]
        total, size = 0.0, 0.0
        for j in range(width):
            to[j] = (row[j] - shift[j]) * unit
            value = np.float64(to[j])
            total += value * value
            size += abs(value)
        if has_norms:
            to[width] = -0.5 * total
            to[width + 1] = 1.0
        squared, absolute = max(squared, total), max(absolute, size)
    return squared, absolute
