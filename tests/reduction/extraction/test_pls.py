"""Kernel partial least squares against scikit-learn's linear one."""

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_iris, load_wine

from kernelweave.kernels import Gaussian, Precomputed
from kernelweave.reduction import KernelPLS


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_linear_kernel_gives_the_scores_of_pls_regression(load):
    X, y = load(return_X_y=True)
    train, new = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    Y = np.eye(3)[y[train]]
    theirs = PLSRegression(3, scale=False, max_iter=10_000, tol=1e-14).fit(X[train], Y)
    ours = KernelPLS(n_components=3).fit(X[train], y[train])
    for part in (train, new):
        expected, features = theirs.transform(X[part]), ours.transform(X[part])
        signs = np.sign(np.sum(expected * features, axis=0))
        np.testing.assert_allclose(features * signs, expected, atol=1e-6 * np.abs(expected).max())


def test_scores_are_orthogonal_and_centred():
    X, y = load_wine(return_X_y=True)
    features = KernelPLS(Gaussian(), n_components=4).fit_transform(X, y)
    inner = features.T @ features
    np.testing.assert_allclose(inner / np.sqrt(np.outer(np.diag(inner), np.diag(inner))), np.eye(4), atol=1e-8)
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-10)


def test_centering_of_new_samples_is_that_of_the_feature_space():
    """Moving all samples leaves centred features alone, and changes the others."""
    X, y = load_iris(return_X_y=True)
    moved = X + 100.0
    centred = [KernelPLS(n_components=2).fit(part, y).transform(part[::7]) for part in (X, moved)]
    np.testing.assert_allclose(np.abs(centred[0]), np.abs(centred[1]), rtol=1e-5)
    plain = [KernelPLS(n_components=2, center=False).fit(part, y).transform(part[::7]) for part in (X, moved)]
    assert np.abs(np.abs(plain[0]) - np.abs(plain[1])).max() > 1.0


def test_no_more_components_than_there_are():
    X, y = load_iris(return_X_y=True)
    K = np.outer(X[:, 0], X[:, 0])
    model = KernelPLS(Precomputed(K), n_components=5).fit(np.arange(150)[:, None], y)
    assert model.n_components_ == 1
    assert KernelPLS().fit(X, y).n_components_ == 3
