"""Class labels as the multiclass machines take them, and classes of values."""

from __future__ import annotations

import numpy as np

TIE = 1e-10  # relative: far above the rounding of values, and far below what the tolerance of a solver leaves open


def as_labels(labels: np.ndarray, n_classes: int | None) -> tuple[np.ndarray, int]:
    """Labels 0 .. n_classes - 1 and the number of classes, or a ValueError."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0 or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError("labels must be a one-dimensional array of integers")
    count = int(labels.max()) + 1 if n_classes is None else int(n_classes)
    if labels.min() < 0 or labels.max() >= count or count < 2:
        raise ValueError(f"labels must lie in 0 .. n_classes - 1 with at least two classes, got {n_classes=}")
    return labels, count


def predicted_classes(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The class of the largest value of each sample; in a tie the heaviest, as estimators predict it."""
    return heavier_first(values, TIE * (1.0 + np.abs(values).max(axis=1)), weight).argmax(axis=1)


def heavier_first(values: np.ndarray, error: np.ndarray | float, weight: np.ndarray | None) -> np.ndarray:
    """Values of classes, of which the heaviest one within `error` of the largest is raised just above it.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_classes)
    error : ndarray of shape (n_samples,) or float
        By how much two values may differ and be in a tie.
    weight : ndarray of shape (n_classes,) or None
        The sum of the sample weights of each class; of equal ones the first counts as heavier. None leaves values as
        they are.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.machines.labels import heavier_first
    >>> heavier_first(np.array([[-1.0, -1.0, -2.0]]), np.array([1e-12]), np.array([20, 35, 45])).argmax(axis=1)
    array([1])
    """
    if weight is None:
        return values
    rows, top = np.arange(len(values)), values.max(axis=1)
    near = values >= (top - error)[:, None]
    heaviest = np.where(near, weight, -np.inf).argmax(axis=1)
    settled = values.astype(np.float64)
    settled[rows, heaviest] = np.where(near.sum(axis=1) > 1, np.nextafter(top, np.inf), values[rows, heaviest])
    return settled
