"""Tiles of the Gram matrix of one kernel, normalised while they are in the cache."""

from __future__ import annotations

import numpy as np

from ...views import Views
from ..base import Kernel
from ..symmetric import Tile
from .normalization import Normalizer, finite


def normalized_tile(
    kernel: Kernel, normalizer: Normalizer, name: str, samples: Views, present: np.ndarray, weight: np.ndarray
) -> Tile | None:
    """A function that gives normalised values between two ranges of training samples; None for kernels without tiles.

    The normaliser learns its constants from the diagonal.

    Parameters
    ----------
    kernel : Kernel
        Positive semidefinite, or not to be repaired.
    normalizer : Normalizer
        Any but "center".
    name : str
        What errors call the kernel.
    samples : Views
        The training samples.
    present, weight : ndarray of shape (n_samples,)
        As in `Normalizer.learn`.
    """
    raw = kernel.tile(samples)
    if raw is None:
        return None
    diagonal = finite(lambda: kernel.diagonal(samples), name)
    normalizer.learn(diagonal, present, weight)
    diagonal = normalizer.gram_diagonal(diagonal)

    def tile(rows: slice, columns: slice) -> np.ndarray:
        values = finite(lambda: raw(rows, columns), name)
        normalizer.scale(values, rows, columns)
        if rows == columns:
            np.fill_diagonal(values, diagonal[rows])
        return values

    return tile
