"""Moments of explicit features over all samples, by sums over blocks.

    totals_m = sum_i w_i p_im,      mu_m = sum_i w_i phi_im / totals_m,
    S_mh = sum_i w_i (phi_im - p_im mu_m) (phi_ih - p_ih mu_h)',      V = sum_i phi_i z_i'

where p_im is 1 for a sample that has the view of kernel m and 0 otherwise, where phi_im is 0 too. S_mh holds all that
inner products of two kernels take: sum_ij w_i w_j K_m,ij K_h,ij = ||S_mh||^2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .base import Engine, ranges, spans_of
from .memory import TILE, Block


def means_of(engine: Engine, offsets: np.ndarray, *, weighted: bool = True) -> tuple[np.ndarray, np.ndarray]:
    totals, sums = engine.sum(_first, weighted)
    spread = np.repeat(totals, np.diff(offsets))
    return totals, np.divide(sums, spread, out=np.zeros_like(sums), where=spread > 0.0)


def products_of(
    engine: Engine, offsets: np.ndarray, means: np.ndarray, *, pairs: bool, weighted: bool = True
) -> dict[tuple[int, int], np.ndarray]:
    """S_mh for all m <= h or, without `pairs`, for m = h only; `means` are zeros for moments that are not centred."""
    kernels = range(len(offsets) - 1)
    wanted = [(m, h) for m in kernels for h in kernels if h == m or (pairs and h > m)]
    found = engine.sum(_second, offsets, means, wanted, weighted)
    return dict(zip(wanted, found, strict=True))


def pulled_by(engine: Engine, n_features: int, columns: Callable[..., Any], *arguments: Any) -> np.ndarray:
    """V, of shape (n_features, n_columns), for the columns z = ``columns(block, *arguments)`` of each block."""
    return engine.sum(_pulled, n_features, columns, *arguments)


def counted(block: Block, weighted: bool) -> np.ndarray:
    weight = block.weight if weighted else np.ones(block.n_samples)
    if block.present is None:
        return np.broadcast_to(weight[:, None], (block.n_samples, len(block.features.offsets) - 1))
    return weight[:, None] * block.present


def _tiles(block: Block) -> Iterator[tuple[slice, np.ndarray]]:
    for rows in ranges(block.n_samples, TILE):
        yield rows, block.features.features(rows).astype(np.float64, copy=False)


def _first(block: Block, weighted: bool) -> tuple[np.ndarray, np.ndarray]:
    weight = block.weight if weighted else np.ones(block.n_samples)
    sums = np.zeros(int(block.features.offsets[-1]))
    for rows, tile in _tiles(block):
        sums += weight[rows] @ tile
    return counted(block, weighted).sum(axis=0), sums


def _second(
    block: Block, offsets: np.ndarray, means: np.ndarray, wanted: list[tuple[int, int]], weighted: bool
) -> tuple[np.ndarray, ...]:
    roots, widths = np.sqrt(counted(block, weighted)), np.diff(offsets)
    spans = spans_of(offsets)
    found = tuple(np.zeros((widths[m], widths[h])) for m, h in wanted)
    for rows, tile in _tiles(block):
        # the root is 0 where the view is missing, so that the mean vanishes there too
        parts = [roots[rows, m : m + 1] * (tile[:, span] - means[span]) for m, span in enumerate(spans)]
        for total, (m, h) in zip(found, wanted, strict=True):
            total += parts[m].T @ parts[h]
    return found


def _pulled(block: Block, n_features: int, columns: Callable[..., Any], *arguments: Any) -> np.ndarray:
    z = columns(block, *arguments)
    sums = np.zeros((n_features, z.shape[1]))
    for rows, tile in _tiles(block):
        sums += tile.T @ z[rows]
    return sums
