"""Values of one kernel, checked, and tiles of its Gram matrix, normalised while they are in the cache."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...views import Views
from ..base import Kernel
from ..tiles import Tile
from .normalization import Normalizer


def finite_values(compute: Callable[[], np.ndarray], name: str) -> np.ndarray:
    """Kernel values, or one error that names the kernel where they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        K = compute()
        finite = np.isfinite(K.sum())
    if not finite:
        raise ValueError(
            f"the kernel {name!r} gives NaN, infinite or overflowing values; scale its view first "
            "(sklearn.preprocessing.StandardScaler) or choose other kernel parameters"
        )
    return K


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
    diagonal = finite_values(lambda: kernel.diagonal(samples), name)
    normalizer.learn(diagonal, present, weight)
    diagonal = normalizer.gram_diagonal(diagonal)

    def tile(rows: slice, columns: slice) -> np.ndarray:
        values = finite_values(lambda: raw(rows, columns), name)
        normalizer.scale(values, rows, columns)
        if rows == columns:
            np.fill_diagonal(values, diagonal[rows])
        return values

    return tile
