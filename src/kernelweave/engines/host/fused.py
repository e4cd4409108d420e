"""The fused pass: value and gradient of a block in one read of its features.

It gives what `primal.plain_sweep` gives by way of `FeatureBlock.sweep`, for losses by their terms. Amplitudes are
computed by NumPy for `CHUNK` samples at a time, for which that takes no time beside reading their features. Loss, slope
and sums are compiled (`solvers.stacks.passes`); products with features are compiled or by BLAS (`products`):

=====================  ==============================================================================
features               products
=====================  ==============================================================================
held, one output       one compiled loop, rows in the first cache of a core; float64
held, several outputs  BLAS on tiles in the second cache, in the features' type; summed in float64
computed, one output   values on tiles in the second cache, then the loop of held features; float64
computed, several      compiled loops, in float64; for many outputs BLAS, in float64
=====================  ==============================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...machines.terms import TERMS, DualTerms
from ..block import Block, HostFeatures
from ..slices import ranges
from .products import Chunk

CHUNK = 4096  # samples whose amplitudes are computed together

Sums = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Losses, F'c, sums of c, dP/dtheta."""


def is_fused(block: Block) -> bool:
    """Whether a block is served: features on the host, and losses of the plain form."""
    return isinstance(block.features, HostFeatures) and type(block.losses) is DualTerms


def fused_pass(block: Block, amplitudes: Any, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray) -> Sums:
    """One pass over a block."""
    n_outputs, e = len(intercept), float(block.losses.insensitivity)
    sums, theta_slopes = np.zeros((2, n_outputs)), np.zeros(amplitudes.n_parameters)
    assert isinstance(block.features, HostFeatures)
    products = block.features.products(weights)
    for rows in ranges(block.n_samples, CHUNK):
        a = np.ascontiguousarray(amplitudes.values(theta, block, rows), dtype=np.float64)
        slopes = np.empty(a.shape)
        terms = _terms(block.losses, rows, n_outputs)
        products.add(Chunk(rows, intercept, a, terms, e, slopes, sums))
        if len(theta_slopes):
            theta_slopes += amplitudes.pullback(theta, block, rows, a, slopes)
    return sums[0], products.pulled(), sums[1], theta_slopes


def _terms(losses: DualTerms, rows: slice, n_outputs: int) -> tuple[np.ndarray, ...]:
    """p, the bounds and h of some samples, each of shape (n_rows, n_outputs)."""
    n_rows, found = rows.stop - rows.start, []
    for name in TERMS:
        values = np.asarray(getattr(losses, name), dtype=np.float64)
        part = values[rows] if values.ndim == 2 and len(values) != 1 else values
        found.append(np.ascontiguousarray(np.broadcast_to(part, (n_rows, n_outputs))))
    return tuple(found)
