"""The sums of `totals` over blocks whose arrays are on a device, all samples of a block at once."""

from __future__ import annotations

from typing import Any

import numpy as np

NOTHING = np.empty(0)


def count_open(block: Any, amplitudes: Any) -> Any:
    """For how many samples of a block each kernel is open."""
    xp = block.place.xp
    gates = amplitudes.values(NOTHING, block, slice(0, block.n_samples))
    return xp.sum(xp.astype(gates > 0.0, xp.float64), axis=0)


def sums_of(
    block: Any, amplitudes: Any, weights: np.ndarray, intercept: np.ndarray, n_classes: int
) -> tuple[Any, Any, Any, Any]:
    """What `GateTotals` is made of."""
    place = block.place
    xp, dtype = place.xp, block.features.dtype
    a = amplitudes.values(NOTHING, block, slice(0, block.n_samples))
    values = xp.sum(a[:, :, None] * block.features.scores(weights), axis=1) + place.asarray(intercept, dtype)
    c = block.losses.coefficients(values)
    supports = xp.any(c != 0.0, axis=1)
    labels = None if n_classes == 1 else place.asarray(np.asarray(block.y))
    counts: list[Any] = []
    found: tuple[list[Any], ...] = ([], [], [])
    for chosen in (xp.ones_like(supports), supports):
        for k in range(n_classes):
            member = chosen if labels is None else chosen & (labels == k)
            there = xp.astype(member, a.dtype)[:, None]
            counts.append(xp.sum(there, dtype=xp.float64))
            for total, terms in zip(found, (a * a, a, xp.astype(a > 0.0, a.dtype)), strict=True):
                total.append(xp.sum(there * terms, axis=0, dtype=xp.float64))
    shape = 2, n_classes, a.shape[1]
    return xp.reshape(xp.stack(counts), shape[:2]), *(xp.reshape(xp.stack(total), shape) for total in found)


def spread_sums(block: Any, amplitudes: Any, average: np.ndarray | None) -> tuple[Any, Any]:
    """What `Spread` is made of."""
    place = block.place
    xp = place.xp
    weights = amplitudes.values(NOTHING, block, slice(0, block.n_samples)) ** 2
    if average is not None:
        weights = xp.abs(weights - place.asarray(average, block.features.dtype))
    whole = xp.ones_like(weights[:, :1])
    if block.present is not None:
        whole = xp.astype(xp.all(block.present, axis=1, keepdims=True), weights.dtype)
    return xp.sum(whole, dtype=xp.float64), xp.sum(whole * weights, axis=0, dtype=xp.float64)
