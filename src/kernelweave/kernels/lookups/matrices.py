"""Matrices that users give: whether they are symmetric, and how they are shown."""

from __future__ import annotations

import numpy as np
import pandas as pd

TOLERANCE = {4: 1e-5, 8: 1e-8}  # of single and double precision, relative to the largest entry


class ShownBySize(np.ndarray):
    """A matrix whose repr is its size."""

    def __repr__(self) -> str:
        return f"<{self.shape[0]} x {self.shape[1]} matrix>" if self.ndim == 2 else repr(np.asarray(self))


class FrameShownBySize(pd.DataFrame):
    """A data frame whose repr is its size."""

    def __repr__(self) -> str:
        return f"<{self.shape[0]} x {self.shape[1]} matrix>"


def check_symmetric(K: np.ndarray, what: str) -> None:
    """Raise a `ValueError` where a square matrix is not finite or not symmetric (relative to its largest entry)."""
    ending = "" if what.startswith("the values") else "s"
    if not np.isfinite(K).all():
        raise ValueError(f"{what} contain{ending} NaN or infinity")
    largest = np.abs(K).max(initial=0.0)
    for start in range(0, len(K), 512):  # blockwise: no second matrix of this size
        rows = slice(start, start + 512)
        difference = np.abs(K[rows] - K[:, rows].T).max(initial=0.0)
        if difference > TOLERANCE[K.dtype.itemsize] * max(largest, np.finfo(float).tiny):
            raise ValueError(
                f"{what} must be symmetric, but differ{ending} from the transpose "
                f"by up to {difference:.3g}; (K + K.T) / 2 makes a matrix symmetric"
            )
