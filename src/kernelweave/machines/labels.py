"""Class labels as the multiclass machines take them."""

from __future__ import annotations

import numpy as np


def as_labels(labels: np.ndarray, n_classes: int | None) -> tuple[np.ndarray, int]:
    """Labels 0 .. n_classes - 1 and the number of classes, or a ValueError."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0 or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError("labels must be a one-dimensional array of integers")
    count = int(labels.max()) + 1 if n_classes is None else int(n_classes)
    if labels.min() < 0 or labels.max() >= count or count < 2:
        raise ValueError(f"labels must lie in 0 .. n_classes - 1 with at least two classes, got {n_classes=}")
    return labels, count
