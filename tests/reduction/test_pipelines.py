"""Reduce, then linear SVM: what is in the pipeline, and that it is used like any other."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import SVC

from kernelweave.kernels import Gaussian
from kernelweave.reduction import KernelFisher, LocalFisher, reduced_svm

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:200], np.array(["malignant", "benign"])[y[:200]]
NEW = load_breast_cancer().data[200:260]
NAMES = ["pca", "kpca", "lda", "lfda", None]
every = pytest.mark.parametrize("reducer", NAMES)


def reduced_by_hand(reducer, n_components):
    """The reduced training and new samples, step by step."""
    scaler = StandardScaler().fit(X)
    train, new = scaler.transform(X), scaler.transform(NEW)
    if reducer is None:
        return train, new
    step = {
        "pca": PCA(n_components, svd_solver="full"),
        "kpca": KernelPCA(n_components, kernel="rbf", eigen_solver="dense"),
        "lda": LinearDiscriminantAnalysis(n_components=1),
        "lfda": LocalFisher(n_components, metric="orthonormalized"),
    }[reducer].fit(train, y)
    return step.transform(train), step.transform(new)


@every
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_it_is_a_linear_machine_on_reduced_samples(reducer, C):
    model = reduced_svm(reducer, 3, C=C, random_state=0).set_params(svm__tol=1e-6).fit(X, y)
    train, new = reduced_by_hand(reducer, 3)
    theirs = SVC(kernel="linear", C=C, tol=1e-6).fit(train, y)
    expected = theirs.decision_function(new)
    np.testing.assert_allclose(model.decision_function(NEW), expected, atol=2e-3 * np.abs(expected).max())
    assert abs(len(model["svm"].support_) - len(theirs.support_)) <= 2
    assert [name for name, _ in model.steps if name != "pca"] == ["scale", "reduce", "svm"]


def test_reduced_rows_are_not_normalised():
    """One dimension: samples of unit length would be +1 and -1 only."""
    model = reduced_svm("pca", 1).fit(X, y)
    assert len(np.unique(model.decision_function(NEW).round(9))) == len(NEW)


@every
def test_parameters_are_searched(reducer):
    grid = {"svm__C": [0.1, 1.0]} | ({} if reducer is None else {"reduce__n_components": [1, 2]})
    search = GridSearchCV(reduced_svm(reducer, random_state=0), grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.8 and search.best_params_["svm__C"] == search.best_estimator_["svm"].C
    if reducer is not None:
        assert search.best_estimator_["reduce"].n_components == search.best_params_["reduce__n_components"]


@every
def test_clones_and_pickles(reducer):
    model = reduced_svm(reducer, random_state=0)
    fitted = clone(model).fit(X, y)
    expected = fitted.decision_function(NEW)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).decision_function(NEW), expected)
    np.testing.assert_allclose(clone(fitted).fit(X, y).decision_function(NEW), expected)


def test_more_discriminants_than_there_are():
    """Two classes have one, which is what n_components=2 then gives; three classes have two."""
    assert reduced_svm("lda", 2).fit(X, y)[:-1].transform(X).shape == (200, 1)
    iris, kind = load_iris(return_X_y=True)
    assert reduced_svm("lda", 9).fit(iris, kind)[:-1].transform(iris).shape == (150, 2)


@pytest.mark.parametrize("reducer", ["pca", "lfda"])
def test_more_components_than_features_are_refused(reducer):
    with pytest.raises(ValueError, match="n_components"):
        reduced_svm(reducer, 31).fit(X, y)


def test_principal_components_before_local_discriminants():
    wide = np.random.default_rng(0).normal(size=(60, 300))
    labels = np.arange(60) % 2
    for limit, count in [(20, 20), (100, 60)]:  # all there are where these are fewer
        model = reduced_svm("lfda", pca_first=limit).fit(wide, labels)
        assert model["reduce"].n_features_in_ == count
        scaled = StandardScaler().fit_transform(wide)
        first = PCA(count, svd_solver="full").fit_transform(scaled)
        by_hand = LocalFisher(2, metric="orthonormalized").fit_transform(first, labels)
        np.testing.assert_allclose(np.abs(model[:-1].transform(wide)), np.abs(by_hand), atol=1e-7)
    without = reduced_svm("lfda", pca_first=None).fit(wide, labels)
    assert without["reduce"].n_features_in_ == 300 and [name for name, _ in without.steps] == ["scale", "reduce", "svm"]
    assert all(name != "pca" for name, _ in reduced_svm("pca").steps)


def test_transformers_of_the_user():
    given = KernelFisher(Gaussian(scale=5.0))
    model = reduced_svm(given, n_components=7)
    assert model["reduce"] is given
    assert model.fit(X, y).score(X, y) > 0.9 and model["svm"].n_features_in_ == 1
    assert reduced_svm(GaussianRandomProjection(4, random_state=0)).fit(X, y)["svm"].n_features_in_ == 4


def test_no_number_of_components():
    for reducer, count in [("pca", 30), ("lda", 1), ("lfda", 2)]:
        assert reduced_svm(reducer, None).fit(X, y)["svm"].n_features_in_ == count


@pytest.mark.parametrize(
    ("reducer", "options", "message"),
    [
        ("umap", {}, "reducer must be one of 'pca', 'kpca', 'lda', 'lfda', a transformer or None, not 'umap'"),
        (PCA, {}, "reducer must be one of"),
        (SVC(), {}, "reducer must be one of"),
        ("pca", {"n_components": 0}, "n_components must be a positive whole number or None, not 0"),
        ("lfda", {"pca_first": -1}, "pca_first must be a positive whole number or None, not -1"),
    ],
)
def test_wrong_parameters_are_named(reducer, options, message):
    with pytest.raises(ValueError, match=message):
        reduced_svm(reducer, **options)
