"""Tiles of kernel values: their exponentials and distances, products with coefficients, and the gates of samples.

    out[i, r] += sum_j 2^S[i, j] V[r, j]

2^x is 2^n times a polynomial of x - n in [-1/2, 1/2], n the nearest whole number: for float32 of degree 6 (relative
error 3e-9 before rounding), for float64 of degree 13 (2e-17). The whole part is added to the exponent of the float as
an integer, so that the compiler makes vectors of the loop. Products are summed in float64.

Gates of samples follow from their scores s by softmax or sigmoid, of length 1 or as in the papers:

==========  =========  ==========================================================
competes    unit       g_m
==========  =========  ==========================================================
yes         yes        exp(s_m / 2) / (sum_h exp(s_h))^(1/2)
yes         no         exp(s_m) / sum_h exp(s_h)
no          yes        p_m / (sum_h p_h^2)^(1/2)    with p_m = 1 / (1 + exp(-s_m))
no          no         p_m
==========  =========  ==========================================================

Gates of views that a sample lacks are 0, and the others share what is left.

One pass over explicit features takes values, slopes of losses, and what they pull, in one read of the features.

For rows i of a matrix F of features, kernels m (columns offsets[m] to offsets[m + 1]) and one output,

    s[i, m] = <w_m, F[i, m]>            f_i = sum_m a[i, m] s[i, m] + b
    c_i = -slope of the loss at f_i     pulled_m += sum_i a[i, m] c_i F[i, m]

Rows are taken four at a time, so that they are in the first cache of a core when they are read for the second time.
Products and sums are in float64, whatever F is. The loss of a sample is that of `ridge`,  max_v  z v - e |v| - h/2 v^2
over  lower <= v <= upper  with z = p - f, and c is the v at the maximum.
"""

from __future__ import annotations

from math import factorial, log

import numpy as np

from .compiled import compiled
from .ridge import best_response

# Chebyshev interpolation of 2^x on [-1/2, 1/2], in powers of x; the constant term is 1.
_S1, _S2, _S3, _S4, _S5, _S6 = (
    np.float32(value)
    for value in (
        0.693147206703,
        0.240226509223,
        0.0555032722667,
        0.00961805667843,
        0.00134004281777,
        0.000154614447248,
    )
)
# The Taylor series, which is exact enough this near to 0.
_D1, _D2, _D3, _D4, _D5, _D6, _D7, _D8, _D9, _D10, _D11, _D12, _D13 = (
    log(2.0) ** k / factorial(k) for k in range(1, 14)
)
_LEAST32, _ROUND32 = np.float32(-126.0), np.float32(1.5 * 2.0**23)
_LEAST64, _ROUND64 = -1022.0, 1.5 * 2.0**52
_TINY = np.float32(1e-18)  # so that a term with two zeros is 0; 1e-36 is still a number of float32
_LOG2E = 1.0 / log(2.0)


@compiled(inner=True, fastmath={"contract"})
def _power32(x):
    """2^x of a float32 that is at most 0; 2^-126, the least that it can be, for all below -126."""
    x = max(x, _LEAST32)
    shifted = x + _ROUND32  # the whole part is in its lowest bits
    f = x - (shifted - _ROUND32)
    value = np.float32(1.0) + f * (_S1 + f * (_S2 + f * (_S3 + f * (_S4 + f * (_S5 + f * _S6)))))
    bits = np.float32(value).view(np.int32) + (np.float32(shifted).view(np.int32) << np.int32(23))
    return np.int32(bits).view(np.float32)


@compiled(inner=True, fastmath={"contract"})
def _power64(x):
    """2^x of a float64 that is at most 0; 2^-1022, the least that it can be, for all below -1022."""
    x = max(x, _LEAST64)
    shifted = x + _ROUND64
    f = x - (shifted - _ROUND64)
    high = _D7 + f * (_D8 + f * (_D9 + f * (_D10 + f * (_D11 + f * (_D12 + f * _D13)))))
    value = 1.0 + f * (_D1 + f * (_D2 + f * (_D3 + f * (_D4 + f * (_D5 + f * (_D6 + f * high))))))
    bits = np.float64(value).view(np.int64) + (np.float64(shifted).view(np.int64) << np.int64(52))
    return np.int64(bits).view(np.float64)


@compiled
def powers32(S):
    """2^S of a float32 array of exponents that are at most 0 but for rounding, in place."""
    for i in range(S.shape[0]):
        row = S[i]
        for j in range(len(row)):
            row[j] = _power32(min(row[j], np.float32(0.0)))


@compiled
def powers64(S):
    for i in range(S.shape[0]):
        row = S[i]
        for j in range(len(row)):
            row[j] = _power64(min(row[j], 0.0))


@compiled(fastmath={"reassoc", "contract"})
def add_products(S, V, out):
    """out[i, r] += sum_j S[i, j] V[r, j], summed in float64."""
    for i in range(S.shape[0]):
        row = S[i]
        for r in range(V.shape[0]):
            v = V[r]
            total = 0.0
            for j in range(len(row)):
                total += np.float64(row[j]) * v[j]
            out[i, r] += total


@compiled(fastmath={"reassoc", "contract"})
def raise_power(S, coef0, degree, gain):
    """gain (S + coef0)^degree, in place; the degree is at least 0."""
    for i in range(S.shape[0]):
        row = S[i]
        if degree == 2:
            for j in range(len(row)):
                base = row[j] + coef0
                row[j] = gain * base * base
        elif degree == 3:
            for j in range(len(row)):
                base = row[j] + coef0
                row[j] = gain * base * base * base
        else:
            for j in range(len(row)):
                base, value = row[j] + coef0, gain
                for _ in range(degree):
                    value *= base
                row[j] = value


@compiled(fastmath={"contract"})
def absolute_distances(A, B, S):
    """S[i, j] = -sum_d |A[i, d] - B[d, j]|."""
    n_features = A.shape[1]
    for i in range(A.shape[0]):
        row, left = S[i], A[i]
        row[:] = 0.0
        d = 0
        while d + 4 <= n_features:
            a0, a1, a2, a3 = left[d], left[d + 1], left[d + 2], left[d + 3]
            b0, b1, b2, b3 = B[d], B[d + 1], B[d + 2], B[d + 3]
            for j in range(len(row)):
                row[j] -= (abs(a0 - b0[j]) + abs(a1 - b1[j])) + (abs(a2 - b2[j]) + abs(a3 - b3[j]))
            d += 4
        while d < n_features:
            a0, b0 = left[d], B[d]
            for j in range(len(row)):
                row[j] -= abs(a0 - b0[j])
            d += 1


@compiled(fastmath={"contract"}, error_model="numpy")
def chi_squared_distances(A, B, S):
    """S[i, j] = -sum_d (A[i, d] - B[d, j])^2 / (A[i, d] + B[d, j]); two features to a division."""
    n_features = A.shape[1]
    for i in range(A.shape[0]):
        row, left = S[i], A[i]
        row[:] = 0.0
        d = 0
        while d + 2 <= n_features:
            a0, a1 = left[d], left[d + 1]
            b0, b1 = B[d], B[d + 1]
            for j in range(len(row)):
                s0, s1 = a0 + b0[j] + _TINY, a1 + b1[j] + _TINY
                d0, d1 = a0 - b0[j], a1 - b1[j]
                row[j] -= (d0 * d0 * s1 + d1 * d1 * s0) / (s0 * s1)
            d += 2
        if d < n_features:
            a0, b0 = left[d], B[d]
            for j in range(len(row)):
                s0 = a0 + b0[j] + _TINY
                d0 = a0 - b0[j]
                row[j] -= d0 * d0 / s0


@compiled(fastmath={"contract"})
def add_weighted(S, left, right, out):
    for i in range(S.shape[0]):
        row, to, factor = S[i], out[i], left[i]
        for j in range(len(row)):
            to[j] += factor * np.float64(row[j]) * right[j]


@compiled(fastmath={"contract"})
def write_weighted(S, left, right, out, positions, first, begins):
    """out[positions[i], first + j] = left[i] S[i, j] right[j], or += where it has begun; in the type of `left`."""
    width = len(right)
    for i in range(S.shape[0]):
        row, to, factor = S[i], out[positions[i], first : first + width], left[i]
        if begins:
            for j in range(width):
                to[j] = factor * row[j] * right[j]
        else:
            for j in range(width):
                to[j] += factor * row[j] * right[j]


@compiled(fastmath={"contract"})
def add_rows(S, positions, coef, out, first):
    """out[j] += sum_i coef[i] S[positions[i], first + j], summed in float64 in the order of i, two rows at a time."""
    i, n, width = 0, len(positions), len(out)
    while i + 2 <= n:
        a, b = S[positions[i], first : first + width], S[positions[i + 1], first : first + width]
        u, v = coef[i], coef[i + 1]
        for j in range(width):
            out[j] += u * np.float64(a[j]) + v * np.float64(b[j])
        i += 2
    if i < n:
        a, u = S[positions[i], first : first + width], coef[i]
        for j in range(width):
            out[j] += u * np.float64(a[j])


@compiled(error_model="numpy")
def standardize(X, mean, spread, farthest, out):
    for i in range(X.shape[0]):
        row, to = X[i], out[i]
        for j in range(len(mean)):
            to[j] = min(max((row[j] - mean[j]) / spread[j], -farthest), farthest)


@compiled(fastmath={"contract"}, error_model="numpy")
def open_gates(scores, biases, present, competes, unit, out):
    """Write the gates of samples: of scores without the biases, for views that are present, of shape (n, n_kernels)."""
    n, n_kernels = out.shape
    factor = (0.5 if unit else 1.0) * _LOG2E
    for i in range(n):  # exponents of 2, at most 0
        if competes:
            top = -np.inf
            for m in range(n_kernels):
                out[i, m] = factor * (np.float64(scores[i, m]) + biases[m])
                if present[i, m]:
                    top = max(top, out[i, m])
            for m in range(n_kernels):
                out[i, m] = min(out[i, m] - top, 0.0) if present[i, m] else -np.inf
        else:
            for m in range(n_kernels):
                out[i, m] = -abs(_LOG2E * (np.float64(scores[i, m]) + biases[m]))
    flat = out.reshape(n * n_kernels)
    for j in range(len(flat)):
        flat[j] = _power64(flat[j])
    for i in range(n):
        total = 0.0
        for m in range(n_kernels):
            value = out[i, m]
            if not competes:
                value = (1.0 if scores[i, m] + biases[m] >= 0.0 else value) / (1.0 + value)
            value = value if present[i, m] else 0.0
            out[i, m] = value
            total += value * value if unit else value
        if (competes or unit) and total > 0.0:
            share = 1.0 / (np.sqrt(total) if unit else total)
            for m in range(n_kernels):
                out[i, m] *= share


@compiled(fastmath={"contract"}, error_model="numpy")
def score_slopes(gates, slopes, scores, biases, competes, unit, out):
    """Write dJ/dscores from dJ/dgates (`slopes`); the other parameters are those of `open_gates`."""
    n, n_kernels = gates.shape
    for i in range(n):
        total = 0.0
        for m in range(n_kernels):
            total += gates[i, m] * slopes[i, m]
        for m in range(n_kernels):
            g = gates[i, m]
            if unit:
                value = g * (slopes[i, m] - g * total)
                if competes:
                    value *= 0.5
                else:
                    value /= 1.0 + np.exp(np.float64(scores[i, m]) + biases[m])
            elif competes:
                value = g * (slopes[i, m] - total)
            else:
                value = g * (1.0 - g) * slopes[i, m]
            out[i, m] = value


# Passes over explicit features


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
