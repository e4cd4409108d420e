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
"""

from __future__ import annotations

from math import factorial, log

import numpy as np

from .compiled import compiled

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
