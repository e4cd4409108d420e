"""Where projections begin: orthonormal, near what the data say, the same for weights and repetitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from cases import each
from kernelweave.combiners import feature_maps as projection_starts
from kernelweave.combiners.feature_maps import class_indicators, starting_projection

rng = np.random.default_rng(0)
LABELS = rng.integers(0, 3, 60)
X = rng.normal(size=(60, 5)) * [1.0, 2.0, 0.5, 3.0, 1.0] + np.eye(5)[LABELS] * 3.0
INDICATORS = class_indicators(LABELS)
ONES = np.ones(60)


def start(method, features=X, count=2, target=INDICATORS, weight=ONES, seed=0):
    return starting_projection(method, features, count, target, weight, np.random.RandomState(seed))


def overlap(W, U):
    """The smallest cosine between the spans, 1 where they are equal."""
    return np.linalg.svd(np.linalg.qr(W)[0].T @ np.linalg.qr(U)[0])[1].min()


@each("method", ["random", "pca", "lda"])
@each("count", [1, 3, 5])
@each("features", [X, sp.csr_matrix(X), np.hstack([X] * 20), np.ones((60, 5)), np.zeros((60, 5))])
def test_columns_are_orthonormal(method, features, count):
    for target in (INDICATORS, X[:, :1], None):
        W = start(method, features, count, target)
        assert W.shape == (features.shape[1], count)
        assert_allclose(W.T @ W, np.eye(count), atol=1e-10)
        assert not np.allclose(W, start(method, features, count, target, seed=1))  # copies of a kernel must differ


def test_principal_components(monkeypatch):
    assert overlap(start("pca"), PCA(2).fit(X).components_.T) > 0.65
    monkeypatch.setattr(projection_starts, "TURN", 0.0)
    monkeypatch.setattr(projection_starts, "STEPS", 500)
    assert overlap(start("pca"), PCA(2).fit(X).components_.T) > 1 - 1e-10
    wide = np.hstack([X, 0.1 * rng.normal(size=(60, 100))])
    assert overlap(start("pca", wide, 3), PCA(3).fit(wide).components_.T) > 1 - 1e-8
    assert overlap(start("lda", target=None), PCA(2).fit(X).components_.T) > 1 - 1e-10


def test_directions_between_classes(monkeypatch):
    monkeypatch.setattr(projection_starts, "TURN", 0.0)
    monkeypatch.setattr(projection_starts, "STEPS", 500)
    monkeypatch.setattr(projection_starts, "RIDGE", 1e-9)
    fisher = LinearDiscriminantAnalysis(solver="eigen").fit(X, LABELS).scalings_[:, :2]
    assert overlap(start("lda"), fisher) > 1 - 1e-6
    slopes = np.linalg.lstsq(X - X.mean(axis=0), X[:, 0] ** 2 - (X[:, 0] ** 2).mean(), rcond=None)[0]
    assert overlap(start("lda", count=1, target=X[:, :1] ** 2), slopes[:, None]) > 1 - 1e-6
    monkeypatch.setattr(projection_starts, "RIDGE", 0.1)
    twice = np.hstack([X] * 20)  # more features than samples
    assert overlap(start("lda", twice), np.tile(start("lda"), (20, 1))) > 0.99


def test_three_components_of_two_classes_go_on_with_principal_ones(monkeypatch):
    monkeypatch.setattr(projection_starts, "TURN", 0.0)
    monkeypatch.setattr(projection_starts, "STEPS", 500)
    W = start("lda", count=3, target=class_indicators(LABELS == 0))
    first = start("lda", count=1, target=class_indicators(LABELS == 0))
    rest = X - X.mean(axis=0)
    rest = rest - rest @ first @ first.T
    expected = np.hstack([first, PCA(2).fit(rest).components_.T])
    assert overlap(W, expected) > 1 - 1e-8


@pytest.mark.parametrize("method", ["pca", "lda"])
def test_weights_are_repetitions(method):
    weight = rng.integers(1, 5, 60)
    repeated = np.repeat(np.arange(60), weight)
    for target in (INDICATORS, X[:, :1] ** 2):
        one = start(method, weight=weight.astype(float), target=target)
        other = start(method, X[repeated], target=target[repeated], weight=np.ones(len(repeated)))
        assert overlap(one, other) > 1 - 1e-10


def test_indicators():
    assert_allclose(class_indicators(np.array(["b", "a", "b"])), [[1], [0], [1]])
