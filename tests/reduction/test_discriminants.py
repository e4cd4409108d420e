"""KOC, AKDA/QR and KFDA against what they are in input space."""

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler

from kernelweave.kernels import Gaussian, Linear, Precomputed
from kernelweave.reduction import AKDAQR, MKLDR, KernelFisher, KernelOrthogonalCentroid, KernelPLS

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X) + 0.5
MEANS = np.stack([X[y == label].mean(axis=0) for label in range(3)])


def test_centroids_are_spanned():
    model = KernelOrthogonalCentroid().fit(X, y)
    directions = X.T @ model.coef_  # the linear kernel has its directions in input space
    assert subspace_angles(directions, MEANS.T).max() < 1e-7
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(model.transform(X), X @ directions)
    # Distances between centroids survive the projection, under a nonlinear kernel too.
    K = Gaussian(scale=3.0).fit(X).gram(X)
    W = np.stack([(y == label) / np.sum(y == label) for label in range(3)], axis=1)
    features = KernelOrthogonalCentroid(Gaussian(scale=3.0)).fit_transform(X, y)
    np.testing.assert_allclose((features.T @ W).T @ (features.T @ W), W.T @ K @ W, atol=1e-10)


def test_clusters_in_classes():
    """Two far clusters in each class: their means, and nothing else, are spanned."""
    centres = 10.0 * np.random.default_rng(0).normal(size=(6, 13))
    which = np.repeat(np.arange(6), 10)
    data = centres[which] + 0.1 * np.random.default_rng(1).normal(size=(60, 13))
    model = KernelOrthogonalCentroid(n_clusters=2, random_state=0).fit(data, which % 3)
    assert model.n_components_ == 6
    means = np.stack([data[which == cluster].mean(axis=0) for cluster in range(6)])
    assert subspace_angles(data.T @ model.coef_, means.T).max() < 1e-6
    assert (
        KernelOrthogonalCentroid(n_clusters=2, n_components=4, random_state=0).fit(data, which % 3).n_components_ == 4
    )


def test_clusters_of_a_class_with_few_distinct_samples():
    small = np.vstack([X[:20], X[60:61], X[60:61]])
    labels = np.array([0] * 20 + [1] * 2)
    assert KernelOrthogonalCentroid(n_clusters=3, random_state=0).fit(small, labels).n_components_ == 4
    with pytest.raises(ValueError, match="n_clusters of .* must be a positive whole number, not 0"):
        KernelOrthogonalCentroid(n_clusters=0).fit(X, y)


def test_fewer_centroid_components_keep_the_strongest():
    few = KernelOrthogonalCentroid(n_components=1).fit(X, y)
    unit = MEANS / np.linalg.norm(MEANS, axis=1, keepdims=True)
    strongest = np.linalg.svd(unit)[2][0]
    assert subspace_angles(X.T @ few.coef_, strongest[:, None]).max() < 1e-7


def test_fisher_directions_are_those_of_lda():
    """A tiny ridge, more samples than columns: scikit-learn's discriminant directions up to scale."""
    model = KernelFisher(ridge=1e-12).fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    for ours, direction in zip((X.T @ model.coef_).T, theirs.scalings_.T[:2], strict=True):
        assert subspace_angles(ours[:, None], direction[:, None]).max() < 1e-3
    assert model.n_components_ == 2 and model.eigenvalues_[0] > model.eigenvalues_[1] > 0


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(scale=3.0)])
@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_fisher_solves_the_whole_eigenproblem(kernel, classes):
    chosen = np.isin(y, classes)
    data, labels = X[chosen], y[chosen]
    model = KernelFisher(kernel, ridge=1e-3).fit(data, labels)
    K = kernel.fit(data).gram(data)
    n = len(K)
    within, between, overall = np.zeros((n, n)), np.zeros((n, n)), K.mean(axis=0)
    for label in classes:
        rows = K[labels == label]
        spread = rows - rows.mean(axis=0)
        within += spread.T @ spread
        between += len(rows) * np.outer(rows.mean(axis=0) - overall, rows.mean(axis=0) - overall)
    assert model.ridge_ == pytest.approx(1e-3 * np.trace(within) / n)
    values, vectors = eigh(between, within + model.ridge_ * np.eye(n))
    k = len(classes) - 1
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:k], rtol=1e-6)
    np.testing.assert_allclose(np.abs(model.coef_), np.abs(vectors[:, ::-1][:, :k]), atol=1e-6 * np.abs(vectors).max())


def test_approximate_centroids_are_exact_under_the_linear_kernel():
    first, second = AKDAQR().fit(X, y), AKDAQR(approximate=False).fit(X, y)
    np.testing.assert_allclose(first.eigenvalues_, second.eigenvalues_, atol=1e-12)
    np.testing.assert_allclose(np.abs(first.transform(X)), np.abs(second.transform(X)), atol=1e-8)
    assert len(first.coef_) == 3 and len(second.coef_) == len(X)
    bent = Gaussian(scale=3.0)
    assert not np.allclose(AKDAQR(bent).fit(X, y).eigenvalues_, AKDAQR(bent, approximate=False).fit(X, y).eigenvalues_)


def test_two_stages_by_hand():
    """Project onto the class means, then Fisher's criterion there, all in input space."""
    model = AKDAQR(ridge=0.1).fit(X, y)
    basis = np.linalg.qr(MEANS.T)[0]
    Z = X @ basis
    means = np.stack([Z[y == label].mean(axis=0) for label in range(3)])
    within = sum((Z[y == label] - means[label]).T @ (Z[y == label] - means[label]) for label in range(3))
    sizes = np.bincount(y)
    between = (means - Z.mean(axis=0)).T @ np.diag(sizes) @ (means - Z.mean(axis=0))
    values, vectors = eigh(between, within + 0.1 * np.trace(within) / 3 * np.eye(3))
    np.testing.assert_allclose(model.eigenvalues_, values[::-1], atol=1e-10)
    expected = Z @ (vectors / np.linalg.norm(vectors, axis=0))[:, ::-1]
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(expected), atol=1e-7)


def test_means_need_numbers():
    ids = np.arange(len(X))[:, None]
    with pytest.raises(ValueError, match="looks samples up by id, and a mean of samples has no id"):
        AKDAQR(Precomputed(X @ X.T)).fit(ids, y)
    assert AKDAQR(Precomputed(X @ X.T), approximate=False).fit(ids, y).n_components_ == 3
    with pytest.raises(ValueError, match='landmarks take normalize=None or "unit-diagonal"'):
        AKDAQR(normalize="center").fit(X, y)


def test_unit_diagonal_kernels_compare_with_class_means_alike():
    scaled = X / np.linalg.norm(X, axis=1, keepdims=True)
    means = MEANS / np.linalg.norm(MEANS, axis=1, keepdims=True)
    model = AKDAQR(normalize="unit-diagonal").fit(X, y)
    basis = np.linalg.qr(means.T)[0]
    features = model.transform(X)
    # The features are coordinates in the span of the scaled means: lengths of projections tell.
    np.testing.assert_allclose(np.linalg.matrix_rank(np.hstack([features, scaled @ basis]), 1e-8), 3)


def test_iris_is_separated():
    data, labels = load_iris(return_X_y=True)
    features = KernelFisher(Gaussian(scale=2.0)).fit_transform(data, labels)
    assert LinearDiscriminantAnalysis().fit(features, labels).score(features, labels) > 0.97


def test_members_of_a_class_that_are_all_alike():
    """Their scatter is rounding, which must not become the ridge: that is relative to the scatter between classes."""
    data = np.random.default_rng(0).normal(size=(4, 3))[np.repeat(np.arange(4), 5)] + 0.1
    labels = np.repeat(np.arange(4), 5)
    K = data @ data.T
    model = KernelFisher(ridge=0.01).fit(data, labels)
    assert model.ridge_ == pytest.approx(0.01 * np.sum((K - K.mean(axis=0)) ** 2) / 20)
    joint = MKLDR([Linear()], normalize=None, ridge=0.01).fit(data, labels)
    assert joint.ridge_ == pytest.approx(model.ridge_) and joint.alphas_.shape == model.coef_.shape


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
