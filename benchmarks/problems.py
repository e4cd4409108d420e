"""The problems every benchmark measures on: MULTIFEAT's mean kernel and a nonlinear Gaussian problem."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

VIEWS = ("fac", "fou", "kar", "mor", "pix", "zer")


def multifeat_stack(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Six linear unit-diagonal kernels on n shuffled digits, and +-1 labels (5-9 against 0-4)."""
    with (files("kernelweave") / "datasets" / "data" / "multifeat.npz").open("rb") as stream:
        data = np.load(stream, allow_pickle=False)
        chosen = np.random.default_rng(seed).permutation(len(data["y"]))[:n]
        y = np.where(data["y"][chosen] >= 5, 1.0, -1.0)
        matrices = np.empty((len(VIEWS), n, n))
        for K, view in zip(matrices, VIEWS, strict=True):
            features = data[view][chosen].astype(np.float64)
            spread = features.std(axis=0)
            features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
            features /= np.linalg.norm(features, axis=1, keepdims=True)  # unit diagonal, thesis (2.9)
            np.matmul(features, features.T, out=K)
    return matrices, y


def multifeat(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the six kernels of `multifeat_stack`, and its labels."""
    matrices, y = multifeat_stack(n, seed)
    return matrices.mean(axis=0), y


def gaussian(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gaussian kernel on ten normal features, noisy nonlinear +-1 labels, and the smooth target behind them."""
    X, y, target = _nonlinear(n, seed)
    K = _squared_distances(X)
    K /= -X.shape[1]  # exp(-||x - y||^2 / s^2) with s^2 the number of features
    np.exp(K, out=K)
    return K, y, target


def gaussian_stack(n: int, kernels: list | None = None, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian kernels of six scales, or of given (scale, feature) pairs, on the problem of `gaussian`; and labels."""
    X, y, _ = _nonlinear(n, seed)
    if kernels is None:
        kernels = [(np.sqrt(10.0 * factor), slice(None)) for factor in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)]
    matrices = np.empty((len(kernels), n, n))
    for K, (scale, features) in zip(matrices, kernels, strict=True):
        K[:] = _squared_distances(X[:, features].reshape(n, -1))
        K /= -(scale**2)
        np.exp(K, out=K)
    return matrices, y


def gaussian_features(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The ten features and the labels of `gaussian`."""
    return _nonlinear(n, seed)[:2]


def _nonlinear(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10))
    target = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5
    y = np.where(target + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, y, target


def _squared_distances(X: np.ndarray) -> np.ndarray:
    squares = (X**2).sum(axis=1)
    distances = X @ X.T
    distances *= -2.0
    distances += squares[:, None]
    distances += squares
    return np.maximum(distances, 0.0, out=distances)
