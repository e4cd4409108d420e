"""The problems every benchmark measures on: MULTIFEAT's mean kernel and a nonlinear Gaussian problem."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

VIEWS = ("fac", "fou", "kar", "mor", "pix", "zer")


def multifeat(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Mean of six linear unit-diagonal kernels on n shuffled digits, and +-1 labels (5-9 against 0-4)."""
    with (files("kernelweave") / "datasets" / "data" / "multifeat.npz").open("rb") as stream:
        data = np.load(stream, allow_pickle=False)
        chosen = np.random.default_rng(seed).permutation(len(data["y"]))[:n]
        y = np.where(data["y"][chosen] >= 5, 1.0, -1.0)
        K = np.zeros((n, n))
        for view in VIEWS:
            features = data[view][chosen].astype(np.float64)
            spread = features.std(axis=0)
            features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
            features /= np.linalg.norm(features, axis=1, keepdims=True)  # unit diagonal, thesis (2.9)
            K += features @ features.T
    return K / len(VIEWS), y


def gaussian(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gaussian kernel on ten normal features, noisy nonlinear +-1 labels, and the smooth target behind them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10))
    target = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5
    y = np.where(target + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    squares = (X**2).sum(axis=1)
    K = X @ X.T
    K *= 2.0
    K -= squares[:, None]
    K -= squares
    K /= X.shape[1]  # exp(-||x - y||^2 / s^2) with s^2 the number of features
    np.minimum(K, 0.0, out=K)
    np.exp(K, out=K)
    return K, y, target
