"""Where projections begin: at random, at principal components, or at directions between classes.

Copies of one kernel must not begin equal, or they stay equal, and while they are nearly equal separating their regions
gains little, so that descent may stop there. So directions found from the data are turned at random, by about as much
again, and gates begin a little open or closed. A given matrix is taken as it is. Since they are turned anyway,
directions need not be exact: a few steps of iterative methods find them, and no matrix of products is formed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from ...kernels.vectors import squared_norms
from ...validation import shown

STARTS = ("random", "pca", "lda")
RIDGE = 0.1  # in units of the mean eigenvalue of the scatter
STEPS = 30  # of the iterative methods
TURN = 1.0  # length of the random part that is added to each direction from the data


def starting_projection(
    method: str,
    features: Any,
    n_components: int,
    target: np.ndarray | None,
    weight: np.ndarray,
    rng: np.random.RandomState,
) -> np.ndarray:
    """A matrix of shape (n_features, n_components) with orthonormal columns.

    Parameters
    ----------
    method : {"random", "pca", "lda"}
        "lda": directions in which class means differ most for the spread within classes (for numeric targets, that
        covary most with the target), then principal components of what is left. Without targets it is "pca".
    features : ndarray or CSR matrix of shape (n_samples, n_features)
    n_components : int
    target : ndarray of shape (n_samples, n_targets) or None
        Indicators of classes (of all but one), or numeric targets; no columns where there is one class only.
    weight : ndarray of shape (n_samples,)
    rng : RandomState
    """
    random = np.linalg.qr(rng.normal(size=(features.shape[1], n_components)))[0]
    if method == "random":
        return random
    centered = _Centered(features, weight)
    found = np.zeros((features.shape[1], 0))
    if method == "lda" and target is not None and target.shape[1]:
        found = _towards(centered, _Centered(target, weight).times(np.eye(target.shape[1])), n_components)
    if found.shape[1] < n_components:
        found = np.hstack([found, _principal(centered, found, n_components - found.shape[1], rng)])
    return np.linalg.qr(found + TURN * random)[0]


def given_projections(init: Any, names: list[str], shapes: list[tuple[int, int]]) -> dict[int, np.ndarray]:
    """Matrices that the user gave by kernel name, by the position of their kernel."""
    given = {}
    for name, value in init.items():
        if name not in names:
            raise ValueError(f"init names a kernel that is not there: {name!r}; there are {names}")
        m = names.index(name)
        try:
            matrix = np.array(value, dtype=float)
        except (TypeError, ValueError):
            matrix = np.array(np.nan)
        if matrix.shape != shapes[m] or not np.isfinite(matrix).all() or not matrix.any():
            raise ValueError(
                f"init of the kernel {name!r} must be finite numbers of shape {shapes[m]} (features, components), not "
                f"all 0; not {shown(value)}"
            )
        given[m] = matrix
    return given


def class_indicators(labels: np.ndarray) -> np.ndarray:
    """1 for each sample's class, of shape (n_samples, n_classes - 1): those of the first class follow from the rest."""
    classes, positions = np.unique(labels, return_inverse=True)
    return np.eye(len(classes))[positions][:, 1:]


class _Centered:
    """Features minus their mean, each row times the root of its sample's weight, in units of the largest feature.

    Only products with it are ever formed, so that sparse features stay sparse.
    """

    def __init__(self, features: Any, weight: np.ndarray):
        self.features, self.root = features, np.sqrt(weight)
        self.unit = max(abs(features).max(), np.finfo(float).tiny)
        self.mean = np.asarray((features.T @ (weight / self.unit)) / weight.sum()).ravel()
        self.shape = features.shape

    def times(self, block: np.ndarray) -> np.ndarray:
        """This matrix times another."""
        return self.root[:, None] * (np.asarray(self.features @ (block / self.unit)) - self.mean @ block)

    def transposed_times(self, block: np.ndarray) -> np.ndarray:
        """The transpose of this matrix times another."""
        weighted = self.root[:, None] * block
        return np.asarray(self.features.T @ (weighted / self.unit)) - np.outer(self.mean, weighted.sum(axis=0))

    def norm(self) -> float:
        """The root of the sum of squares."""
        squares = self.root**2 @ squared_norms(self.features / self.unit)
        return float(np.sqrt(max(squares - (self.root**2).sum() * (self.mean @ self.mean), 0.0)))


def _towards(centered: _Centered, target: np.ndarray, limit: int) -> np.ndarray:
    """Directions of a ridge regression of the targets: for indicators of classes they span those of Fisher."""
    damp = np.sqrt(RIDGE / min(centered.shape)) * centered.norm()
    operator = LinearOperator(
        centered.shape,
        matvec=lambda v: centered.times(v.reshape(-1, 1))[:, 0],
        rmatvec=lambda v: centered.transposed_times(v.reshape(-1, 1))[:, 0],
        dtype=float,
    )
    exact = {"atol": 0.0, "btol": 0.0, "maxiter": STEPS}
    slopes = np.column_stack([lsmr(operator, column, damp, **exact)[0] for column in target.T])
    left, values, _ = np.linalg.svd(slopes, full_matrices=False)
    return left[:, values > 1e-10 * max(values[0], 1e-300)][:, :limit]


def _principal(centered: _Centered, found: np.ndarray, count: int, rng: np.random.RandomState) -> np.ndarray:
    """Leading principal directions of what directions found before leave, by subspace iteration."""
    block = rng.normal(size=(centered.shape[1], count))
    for _ in range(STEPS):
        block = np.linalg.qr(block - found @ (found.T @ block))[0]
        image = centered.transposed_times(centered.times(block))
        if not image.any():  # nothing varies
            break
        block = image
    return np.linalg.qr(block - found @ (found.T @ block))[0]
