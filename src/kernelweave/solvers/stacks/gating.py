"""Gates of samples from their scores, and back: softmax and sigmoid gates of length 1, or as in the papers.

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

from math import log

import numpy as np

from ..compiled import compiled
from .exponentials import _power64

_LOG2E = 1.0 / log(2.0)


@compiled(error_model="numpy")
def standardize(X, mean, spread, farthest, out):
    """out = (X - mean) / spread, with absolute values cut at `farthest`; X and the constants are float64."""
    for i in range(X.shape[0]):
        row, to = X[i], out[i]
        for j in range(len(mean)):
            to[j] = min(max((row[j] - mean[j]) / spread[j], -farthest), farthest)


@compiled(fastmath={"contract"}, error_model="numpy")
def open_gates(scores, biases, present, competes, unit, out):
    """Write the gates of samples.

    Parameters
    ----------
    scores : array of shape (n, n_kernels)
        Without the biases.
    biases : array of shape (n_kernels,)
    present : array of bool, shape (n, n_kernels)
    competes, unit : bool
    out : array of shape (n, n_kernels), float64
    """
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
