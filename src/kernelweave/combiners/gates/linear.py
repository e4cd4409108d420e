"""Softmax and sigmoid gates of many samples on the host, compiled: the same as `Gate.values` and `Gate.pullback`.

A pass over explicit features computes the gates of every sample and their derivatives; by NumPy, with a few kernels to
a row, that would take as long as the features themselves. Products with codes are taken by BLAS, in the codes' type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...solvers.tiles import open_gates, score_slopes
from .base import Gate, Sigmoid, Softmax


def serves(gate: Gate, codes: Any) -> bool:
    """Whether gates are of the plain form, with codes in memory."""
    return type(gate) in (Softmax, Sigmoid) and isinstance(codes, np.ndarray) and codes.dtype.kind == "f"


def values(gate: Gate, theta: np.ndarray, codes: np.ndarray, present: np.ndarray) -> np.ndarray:
    """The gates; parameters are those of `Gate.values`."""
    scores, biases = _scores(theta, codes, present.shape[1])
    found = np.empty(present.shape)
    open_gates(scores, biases, np.ascontiguousarray(present), gate.competes, gate.norm == "unit", found)
    return found


def pullback(gate: Gate, theta: np.ndarray, codes: np.ndarray, gates: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """dJ/dtheta; parameters are those of `Gate.pullback`."""
    unit, found = gate.norm == "unit", np.empty(gates.shape, dtype=codes.dtype)
    scores, biases = found, theta[-gates.shape[1] :]
    if unit and not gate.competes:
        scores, biases = _scores(theta, codes, gates.shape[1])
    score_slopes(gates, slopes, scores, biases, gate.competes, unit, found)
    return np.concatenate([(found.T @ codes).ravel(), found.sum(axis=0, dtype=np.float64)])


def _scores(theta: np.ndarray, codes: np.ndarray, n_kernels: int) -> tuple[np.ndarray, np.ndarray]:
    """<v_m, x> of samples, and the biases."""
    slopes = theta[:-n_kernels].reshape(n_kernels, -1).astype(codes.dtype)
    return np.ascontiguousarray((slopes @ codes.T).T), theta[-n_kernels:]
