"""`LocalFisher` against sums over pairs of samples, discriminant analysis, and what does not change its result."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from conventions import checks
from kernelweave.reduction import LFDAGraph, LocalFisher
from kernelweave.reduction.local_fisher import _scatters

rng = np.random.default_rng(0)
X = rng.normal(size=(33, 5)) @ rng.normal(size=(5, 5)) + 3.0
y = np.array(["a", "b", "c"])[rng.permutation(np.arange(33) % 3)]
y[:4] = "a"  # classes of different sizes
NEW = rng.normal(size=(6, 5))


def scatters_by_pairs(X, y, k, affinity=None):
    """S^(w) and S^(b) as they are defined: sums over all pairs of samples, one at a time."""
    n, d = X.shape
    members = {label: np.flatnonzero(y == label) for label in set(y)}

    def scale(i):
        others = sorted(np.linalg.norm(X[i] - X[j]) for j in members[y[i]] if j != i)
        return others[min(k, len(others)) - 1] if others else 0.0

    scales = [scale(i) for i in range(n)]

    def local(i, j):
        squared, product = np.sum((X[i] - X[j]) ** 2), scales[i] * scales[j]
        return np.exp(-squared / product) if product else float(squared == 0)

    within, between = np.zeros((d, d)), np.zeros((d, d))
    for i in range(n):
        for j in range(n):
            pair = np.outer(X[i] - X[j], X[i] - X[j]) / 2
            if y[i] == y[j]:
                a, size = (affinity or local)(i, j), len(members[y[i]])
                within += a / size * pair
                between += a * (1 / n - 1 / size) * pair
            else:
                between += pair / n
    return within, between


def solved_by_pairs(X, y, k=7, ridge=1e-3):
    within, between = scatters_by_pairs(X, y, k)
    within += ridge * np.trace(within) / X.shape[1] * np.eye(X.shape[1])
    values, vectors = eigh(between, within)
    return within, between, values[::-1], vectors[:, ::-1]


@checks([LocalFisher()], [LocalFisher(1, n_neighbors=2, metric="orthonormalized", ridge=0.1)])
def test_scikit_learn_convention(estimator, check):
    check(estimator)


@pytest.mark.parametrize("k", [1, 3, 7, 100])
@pytest.mark.parametrize("ridge", [0.0, 1e-3, 1.0])
def test_directions_are_those_of_the_definition(k, ridge):
    _, _, values, vectors = solved_by_pairs(X, y, k, ridge)
    model = LocalFisher(4, n_neighbors=k, ridge=ridge, metric="plain").fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, values[:4], rtol=1e-8)
    signs = np.sign(np.sum(model.components_.T * vectors[:, :4], axis=0))
    np.testing.assert_allclose(model.components_.T, vectors[:, :4] * signs, rtol=1e-6, atol=1e-8)


def test_metrics():
    within, between, values, _ = solved_by_pairs(X, y)
    T = {metric: LocalFisher(3, metric=metric).fit(X, y).components_.T for metric in ("plain", "weighted")}
    np.testing.assert_allclose(T["plain"].T @ within @ T["plain"], np.eye(3), atol=1e-9)
    np.testing.assert_allclose(T["plain"].T @ between @ T["plain"], np.diag(values[:3]), atol=1e-8)
    np.testing.assert_allclose(np.abs(T["weighted"]), np.abs(T["plain"]) * np.sqrt(values[:3]), rtol=1e-7)
    orthonormal = LocalFisher(3, metric="orthonormalized").fit(X, y)
    Q = orthonormal.components_.T
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-12)
    for count in (1, 2, 3):  # the subspaces are nested
        assert subspace_angles(Q[:, :count], T["plain"][:, :count]).max() < 1e-7
    np.testing.assert_allclose(orthonormal.eigenvalues_, values[:3], rtol=1e-8)
    assert np.array_equal(LocalFisher(3).fit(X, y).components_.T, T["weighted"])


def test_features_are_projections_of_samples_less_their_mean():
    model = LocalFisher(3)
    features = model.fit_transform(X, y)
    np.testing.assert_allclose(features, (X - X.mean(axis=0)) @ model.components_.T, atol=1e-12)
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(model.transform(NEW), (NEW - model.mean_) @ model.components_.T, atol=1e-12)
    assert model.n_components_ == 3 and model.n_features_in_ == 5 and list(model.classes_) == ["a", "b", "c"]


def test_affinities_of_one_are_discriminant_analysis(monkeypatch):
    """Where all members of a class are equally near, the scatters are Fisher's."""
    wine, labels = load_wine(return_X_y=True)
    wine = StandardScaler().fit_transform(wine)
    monkeypatch.setattr("kernelweave.reduction.local_fisher.local_affinity", lambda squared, k, weight: 0 * squared + 1)
    model = LocalFisher(2, ridge=0.0).fit(wine, labels)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(wine, labels)
    for ours, direction in zip(model.components_, theirs.scalings_.T[:2], strict=True):
        assert subspace_angles(ours[:, None], direction[:, None]).max() < 1e-6
    shares = model.eigenvalues_ / model.eigenvalues_.sum()
    np.testing.assert_allclose(shares, theirs.explained_variance_ratio_[:2], rtol=1e-6)
    # Beyond n_classes - 1 directions the classes' means have nothing more to tell, unlike with local affinities.
    assert LocalFisher(3, ridge=0.0).fit(wine, labels).eigenvalues_[2] < 1e-10
    monkeypatch.undo()
    assert LocalFisher(3, ridge=0.0).fit(wine, labels).eigenvalues_[2] > 1.0


def test_the_definition_itself_is_discriminant_analysis_for_affinities_of_one():
    within, between = scatters_by_pairs(X, y, 7, affinity=lambda i, j: 1.0)
    means = {label: X[y == label].mean(axis=0) for label in "abc"}
    spread = sum(np.outer(x - means[label], x - means[label]) for x, label in zip(X, y, strict=True))
    apart = sum(np.outer(means[label] - X.mean(axis=0), means[label] - X.mean(axis=0)) for label in y)
    np.testing.assert_allclose(within, spread)
    np.testing.assert_allclose(between, apart, atol=1e-10)


def test_the_graph_of_mkldr_has_the_same_scatters():
    centred = X - X.mean(axis=0)
    labels = np.unique(y, return_inverse=True)[1]
    within, between = _scatters(centred, labels, 3, None)
    below, above = LFDAGraph(3).laplacians((centred @ centred.T)[None], np.ones((33, 1), dtype=bool), labels)
    np.testing.assert_allclose(within, centred.T @ below.dot(centred), atol=1e-9)
    np.testing.assert_allclose(within + between, centred.T @ above.dot(centred), atol=1e-9)


@pytest.mark.parametrize("metric", ["weighted", "orthonormalized", "plain"])
def test_more_features_than_samples(metric):
    """The span of the samples holds all there is: the whole eigenproblem of D features says the same."""
    wide = rng.normal(size=(20, 50)) + 2.0
    labels = np.arange(20) % 2
    wide[:, 0] += labels
    within, between, values, vectors = solved_by_pairs(wide, labels, 3, 1e-2)
    model = LocalFisher(4, n_neighbors=3, ridge=1e-2, metric=metric).fit(wide, labels)
    np.testing.assert_allclose(model.eigenvalues_, values[:4], rtol=1e-8)
    for count in (1, 2, 3, 4):
        assert subspace_angles(model.components_[:count].T, vectors[:, :count]).max() < 1e-6
    if metric == "plain":
        np.testing.assert_allclose(model.components_ @ within @ model.components_.T, np.eye(4), atol=1e-8)


def test_shift_rotation_and_scale():
    features = LocalFisher(3).fit(X, y).transform(X)
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    for other in (X + 1e3 * np.arange(5), X @ rotation, 1e200 * X, 1e-200 * X, X[:, ::-1]):
        again = LocalFisher(3).fit(other, y).transform(other)
        signs = np.sign(np.sum(features * again, axis=0))
        np.testing.assert_allclose(again * signs, features, atol=1e-8 * np.abs(features).max())
    larger = LocalFisher(3, metric="orthonormalized").fit(1e200 * X, y).components_
    np.testing.assert_allclose(larger, LocalFisher(3, metric="orthonormalized").fit(X, y).components_, atol=1e-8)


def test_order_of_samples_and_names_of_classes():
    order = np.random.default_rng(1).permutation(len(X))
    names = np.array([{"a": 7, "b": -1, "c": 3}[label] for label in y])
    again = LocalFisher(3).fit(X[order], names[order])
    np.testing.assert_allclose(again.components_, LocalFisher(3).fit(X, y).components_, rtol=1e-7, atol=1e-10)


def test_several_modes():
    """One class on both sides of the other: the means are the same, so Fisher's direction is an accident."""
    n = 60
    side = np.repeat([-6.0, 0.0, 6.0], n)
    noise = rng.normal(size=(3 * n, 4)) * [1.0, 5.0, 5.0, 5.0]
    data, labels = noise + np.outer(side, [1.0, 0, 0, 0]), (side == 0).astype(int)
    local = LocalFisher(1).fit(data, labels)
    global_ = LinearDiscriminantAnalysis().fit(data, labels)
    assert abs(local.components_[0, 0]) > 0.99 * np.linalg.norm(local.components_[0])

    def neighbours_agree(features):
        return KNeighborsClassifier(5).fit(features[::2], labels[::2]).score(features[1::2], labels[1::2])

    assert neighbours_agree(local.transform(data)) > 0.97
    assert neighbours_agree(global_.transform(data)) < 0.8
    # The modes of the class stay apart.
    features = local.transform(data)[:, 0]
    assert abs(features[side < 0].mean() - features[side > 0].mean()) > 5 * features[side < 0].std()


def test_sample_weights_are_numbers_of_copies():
    weight = rng.integers(0, 4, size=len(X))
    weighted = LocalFisher(3, n_neighbors=4).fit(X, y, sample_weight=weight)
    copied = LocalFisher(3, n_neighbors=4).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.eigenvalues_, copied.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(weighted.transform(NEW), copied.transform(NEW), rtol=1e-6, atol=1e-9)
    ones = LocalFisher(3).fit(X, y, np.ones(len(X)))
    np.testing.assert_allclose(ones.components_, LocalFisher(3).fit(X, y).components_, atol=1e-12)
    with pytest.raises(ValueError, match="only one class"):
        LocalFisher().fit(X, y, sample_weight=y == "a")
    with pytest.raises(ValueError, match="sample_weight has 2 entries"):
        LocalFisher().fit(X, y, sample_weight=[1.0, 2.0])


def test_duplicates():
    """A sample with k copies has the scale 0: it is alike to its copies only."""
    data, labels = np.vstack([X, np.repeat(X[:2], 9, axis=0)]), np.concatenate([y, np.repeat(y[:2], 9)])
    _, _, values, vectors = solved_by_pairs(data, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LocalFisher(3).fit(data, labels)
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-7)
    assert subspace_angles(model.components_.T, vectors[:, :3]).max() < 1e-6


def test_classes_of_identical_samples():
    data = np.repeat([[0.0, 0.1, 3.0], [4.0, 0.1, 0.0]], 5, axis=0)
    labels = np.repeat([0, 1], 5)
    features = LocalFisher().fit_transform(data, labels)
    assert features.shape == (10, 1) and np.isfinite(features).all() and np.ptp(features) > 0
    np.testing.assert_allclose(features[:, 0], np.repeat(features[[0, -1], 0], 5))
    # Without scatter within classes the criterion is that between them in units of its mean.
    np.testing.assert_allclose(LocalFisher(ridge=0.01).fit(data, labels).eigenvalues_, 3 / 0.01)


def test_a_class_with_one_member_and_constant_columns():
    labels = y.copy()
    labels[5] = "lonely"
    data = np.column_stack([np.full(33, 0.1), X, np.full(33, -7e5)])
    _, _, values, _ = solved_by_pairs(data, labels)
    model = LocalFisher(3).fit(data, labels)
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-7)
    np.testing.assert_allclose(model.components_[:, [0, -1]], 0.0, atol=1e-9 * np.abs(model.components_).max())


def test_numbers_of_components():
    assert LocalFisher().fit(X, y == "a").n_components_ == 2  # more than one less than the classes
    assert LocalFisher().fit(X[:, :1], y).n_components_ == 1
    assert LocalFisher(5).fit(X, y).n_components_ == 5
    with pytest.raises(ValueError, match="n_components is 6, but X has only 5 features"):
        LocalFisher(6).fit(X, y)
    flat = X[:, :2] @ rng.normal(size=(2, 4))
    with pytest.warns(UserWarning, match=r"n_components is 4, but the training samples span 2 dimension\(s\) only"):
        model = LocalFisher(4).fit(flat, y)
    assert model.n_components_ == 2 and list(model.get_feature_names_out()) == ["localfisher0", "localfisher1"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components of LocalFisher must be a positive whole number or None, not 0"),
        ({"n_neighbors": 0}, "n_neighbors of LocalFisher must be a positive whole number, not 0"),
        ({"n_neighbors": 2.5}, "n_neighbors of LocalFisher must be a positive whole number"),
        (
            {"metric": "euclidean"},
            'metric of LocalFisher must be "weighted", "orthonormalized" or "plain", not \'euclidean\'',
        ),
        ({"ridge": -1.0}, "ridge of LocalFisher must be a finite number of at least 0"),
        ({"ridge": np.nan}, "ridge of LocalFisher must be a finite number"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        LocalFisher(**parameters).fit(X, y)


def test_wrong_data_are_named_and_change_nothing():
    model = LocalFisher().fit(X, y)
    before = model.transform(NEW)
    holes = X.copy()
    holes[3, 2] = np.nan
    for data, labels, message in [
        (X, np.zeros(33, dtype=int), "only one class"),
        (X, None, "requires y to be passed"),
        (X, y[:-1], "inconsistent numbers of samples"),
        (X, np.linspace(0, 1, 33), "Unknown label type"),
        (holes, y, "NaN"),
        (np.full((33, 5), 0.1), y, "all samples of X are the same"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(data, labels)
    np.testing.assert_array_equal(model.transform(NEW), before)


@pytest.mark.parametrize("data", [rng.normal(size=(20, 30)), np.repeat(X[:10], 2, axis=0)])
def test_a_singular_scatter_needs_a_ridge(data):
    labels = np.arange(len(data)) // 2 % 2
    with pytest.raises(ValueError, match="ridge is too small"):
        LocalFisher(n_neighbors=1, ridge=0.0).fit(data, labels)
    assert np.isfinite(LocalFisher(n_neighbors=1).fit(data, labels).components_).all()


def test_frames_and_pickles():
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    model = LocalFisher().set_output(transform="pandas").fit(frame, y)
    features = model.transform(frame)
    assert list(features.columns) == ["localfisher0", "localfisher1"] and list(model.feature_names_in_) == list("vwxyz")
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(model)).transform(frame), features)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame.rename(columns={"v": "u"}))


def test_iris_with_merged_classes():
    """Thesis 5.4.1: two kinds of iris as one class; their features keep all three apart."""
    iris, kind = load_iris(return_X_y=True)
    features = LocalFisher(2).fit_transform(iris, kind == 1)
    assert KNeighborsClassifier(5).fit(features[::2], kind[::2]).score(features[1::2], kind[1::2]) > 0.93
