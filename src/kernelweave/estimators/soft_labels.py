"""Soft labels: posterior probabilities given by the user, or estimated from the nearest neighbours.

The thesis (section 1.5, after Gönen, Tanuğur and Alpaydın, 2008) estimates Pr(l|x_i) by the share of class l among the
k nearest neighbours of x_i. Neighbours here are the k nearest *other* training samples in the feature space of the mean
of the normalised kernels, d^2(x, z) = k(x, x) + k(z, z) - 2 k(x, z): every view counts the same, and any kernel can be
used.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..combiners import WeightedSum
from ..stacks import TrainingStack

_BLOCK_ROWS = 512


def as_class_posteriors(posterior: np.ndarray | pd.Series | pd.DataFrame, classes: np.ndarray) -> np.ndarray:
    """Checked probabilities with one column for each class; one-dimensional ones are of the second of two classes."""
    labels = posterior.index.tolist() if isinstance(posterior, pd.Series | pd.DataFrame) else range(len(posterior))
    posterior = _in_order(posterior, classes)
    if posterior.ndim == 1 and len(classes) == 2:
        posterior = np.column_stack([1 - posterior, posterior])
    if posterior.ndim != 2 or posterior.shape[1] != len(classes):
        wanted = "one column for each class"
        wanted += f" or one dimension for Pr({classes[1]}|x)" if len(classes) == 2 else ""
        raise ValueError(
            f"posterior must have {wanted}, in the order {classes.tolist()}, but its shape is {posterior.shape}"
        )
    off = np.abs(posterior.sum(axis=1) - 1) > 1e-6
    if off.any():
        sample = labels[np.flatnonzero(off)[0]]
        raise ValueError(f"the posteriors of each sample must sum to 1, but those of sample {sample!r} do not")
    return posterior


def _in_order(posterior: np.ndarray | pd.Series | pd.DataFrame, classes: np.ndarray) -> np.ndarray:
    """The values, with the columns of a data frame in the order of the classes that they name.

    Columns numbered by pandas, 0 ... n_classes - 1, are no class names: they are in order.
    """
    if isinstance(posterior, pd.DataFrame) and not posterior.columns.equals(pd.RangeIndex(len(classes))):
        columns = list(posterior.columns)
        if len(set(columns)) < len(columns) or set(columns) != set(classes.tolist()):
            raise ValueError(
                f"the columns of posterior must be named by the classes {classes.tolist()}, not {columns}; rename "
                "them, or pass posterior.to_numpy() with its columns in that order"
            )
        posterior = posterior[classes.tolist()]
    elif isinstance(posterior, pd.Series) and len(classes) == 2 and posterior.name == classes[0]:
        raise ValueError(
            f"posterior is a series of the class {classes[0]!r}, by its name; one dimension means Pr({classes[1]}|x): "
            "pass 1 - posterior, or a data frame with a column for each class"
        )
    return np.asarray(posterior)


def neighbour_posteriors(stack: TrainingStack, labels: np.ndarray, n_classes: int, n_neighbors: int) -> np.ndarray:
    """Share of each class among the nearest other samples, of shape (n_samples, n_classes)."""
    n = len(labels)
    if n_neighbors >= n:
        raise ValueError(
            f"n_neighbors is {n_neighbors}, but there are only {n} samples: every one needs so many others"
        )
    K = WeightedSum(stack, np.full(stack.n_kernels, 1 / stack.n_kernels), owner="soft_labels").gram()
    diagonal = K.diagonal().copy()
    posterior = np.zeros((n, n_classes))
    for first in range(0, n, _BLOCK_ROWS):
        rows = np.arange(first, min(n, first + _BLOCK_ROWS))
        distance = diagonal - 2.0 * K[rows]  # up to k(x, x), which all candidates share
        distance[np.arange(len(rows)), rows] = np.inf
        nearest = np.argpartition(distance, n_neighbors - 1, axis=1)[:, :n_neighbors]
        np.add.at(posterior, (np.repeat(rows, n_neighbors), labels[nearest].ravel()), 1.0 / n_neighbors)
    return np.clip(posterior, 0.0, 1.0)
