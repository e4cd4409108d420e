"""Spread and distance of classes under kernels with explicit features, for `FeatureSpaceMeasure`.

With the mean features mu_ma of class a, mean kernel values to a class are <phi_m(x), mu_ma>: one pass gives the means,
and one the covariances of these values within each class.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from ...engines.block import Block
from ...engines.moments import pulled_by

Pairs = list[tuple[np.ndarray, np.ndarray, np.ndarray]]


def explicit_pairs(stack: Any, n_classes: int) -> tuple[Pairs, float]:
    """For each pair of classes what `feature_space._pair` gives, and the largest mean kernel value.

    Parameters
    ----------
    stack : ExplicitStack
    n_classes : int
    """
    k, P, offsets = n_classes, stack.n_kernels, stack.offsets
    totals = stack.engine.sum(_class_weights, k)
    means = pulled_by(stack.engine, stack.n_features, _members, k) / totals
    parts = [means[a:b] for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    inner = np.stack([part.T @ part for part in parts])  # <mu_ma, mu_mb>, of shape (n_kernels, k, k)
    spread = stack.engine.sum(_spread, means, inner) / totals[:, None, None]
    spread = spread.reshape(k, P, k, P, k)
    pairs = []
    for a, b in combinations(range(k), 2):
        own = [
            spread[c][:, a, :, a] - spread[c][:, a, :, b] - spread[c][:, b, :, a] + spread[c][:, b, :, b]
            for c in (a, b)
        ]
        pairs.append((own[0], own[1], inner[:, a, a] - 2.0 * inner[:, a, b] + inner[:, b, b]))
    return pairs, float(np.abs(inner).max())


def _class_weights(block: Block, n_classes: int) -> np.ndarray:
    return np.bincount(np.asarray(block.y), block.weight, minlength=n_classes)


def _members(block: Block, n_classes: int) -> np.ndarray:
    return np.eye(n_classes)[np.asarray(block.y)] * block.weight[:, None]


def _spread(block: Block, means: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Sums of products of the values' differences from their class means, of shape (k, n_kernels k, n_kernels k)."""
    k, labels = means.shape[1], np.asarray(block.y)
    found = np.zeros((k, inner.shape[0] * k, inner.shape[0] * k))

    def respond(rows: slice, scores: np.ndarray) -> None:
        own = labels[rows]
        away = (scores - inner.transpose(1, 0, 2)[own]).reshape(len(own), -1)
        away *= np.sqrt(block.weight[rows])[:, None]
        for c in np.unique(own).tolist():
            inside = away[own == c]
            found[c] += inside.T @ inside

    block.features.sweep(means, respond)
    return found
