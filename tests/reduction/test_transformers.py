"""What all transformers of one kernel share: conventions, new samples, kernels, sparse and odd data."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from conventions import checks
from kernelweave import MKLClassifier, stack_views
from kernelweave.combiners import ConvexMKL, FixedWeights, Localized
from kernelweave.kernels import Gaussian, Linear, Polynomial, Precomputed
from kernelweave.reduction import AKDAQR, KernelFisher, KernelOrthogonalCentroid, KernelPLS, SubspaceKernel

TRANSFORMERS = [
    AKDAQR(),
    AKDAQR(Gaussian(scale=2.0), approximate=False),
    KernelFisher(),
    KernelOrthogonalCentroid(),
    KernelOrthogonalCentroid(n_clusters=2, random_state=0),
    KernelPLS(),
    SubspaceKernel(),
    SubspaceKernel(Gaussian(scale=2.0), 2, optimizer="lbfgs", center=True),
    SubspaceKernel(Gaussian(scale=2.0), landmarks="centroids", tol=0.05),
]
names = [f"{type(t).__name__}-{i}" for i, t in enumerate(TRANSFORMERS)]
every = pytest.mark.parametrize("transformer", TRANSFORMERS, ids=names)

rng = np.random.default_rng(0)
X = rng.normal(size=(45, 6)) + 2.0
y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1] * X[:, 2] / 3, [2.5, 4.5])]
NEW = rng.normal(size=(7, 6)) + 2.0


FIRST = {type(t): t for t in reversed(TRANSFORMERS)}.values()  # of each class


@checks(list(FIRST), [t for t in TRANSFORMERS if t not in FIRST])
def test_scikit_learn_convention(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "n_components is")  # constant data have a kernel of rank one
        check(estimator)


@every
def test_new_samples_and_training_samples_have_the_same_features(transformer):
    model = clone(transformer)
    features = model.fit_transform(X, y)
    np.testing.assert_allclose(model.transform(X), features, atol=1e-9 * np.abs(features).max())
    blocks = np.vstack([model.transform(X[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(blocks, features[:5], atol=1e-9 * np.abs(features).max())
    assert features.shape == (45, model.n_components_) and list(model.classes_) == ["a", "b", "c"]
    assert model.get_feature_names_out()[0] == type(model).__name__.lower() + "0"
    assert len(model.get_feature_names_out()) == model.n_components_


@every
def test_features_do_not_depend_on_the_order_of_samples_or_the_names_of_classes(transformer):
    order = np.random.default_rng(1).permutation(len(X))
    first = clone(transformer).fit(X, y).transform(NEW)
    second = clone(transformer).fit(X[order], np.array([{"a": 5, "b": 6, "c": 7}[label] for label in y[order]]))
    if getattr(transformer, "n_clusters", 1) == 1 and getattr(transformer, "landmarks", None) is None:
        # A basis is determined up to a rotation, or signs; the kernel of the subspace is not.
        np.testing.assert_allclose(distances(second.transform(NEW)), distances(first), rtol=1e-4, atol=1e-6)


def distances(features):
    return np.linalg.norm(features[:, None] - features[None], axis=2)


@every
def test_sparse_and_dense_agree(transformer):
    zeros = np.where(rng.random(X.shape) < 0.4, 0.0, X)
    dense = clone(transformer).fit(zeros, y)
    thin = clone(transformer).fit(sp.csr_matrix(zeros), y)
    tolerance = 1e-5 * np.abs(dense.transform(NEW)).max()
    np.testing.assert_allclose(thin.transform(sp.csr_array(NEW)), dense.transform(NEW), atol=tolerance)
    np.testing.assert_allclose(thin.transform(NEW), dense.transform(NEW), atol=tolerance)


@every
def test_float32_input(transformer):
    narrow = X.astype(np.float32)
    wide = clone(transformer).fit(narrow.astype(float), y).transform(NEW.astype(np.float32).astype(float))
    np.testing.assert_allclose(clone(transformer).fit(narrow, y).transform(NEW.astype(np.float32)), wide, rtol=1e-6)


@every
def test_a_class_with_one_member(transformer):
    labels = y.copy()
    labels[0] = "lonely"
    features = clone(transformer).fit_transform(X, labels)
    assert np.isfinite(features).all() and features.std(axis=0).min() > 0


@every
def test_more_samples_dimensions_and_components_than_rank(transformer):
    rank_two = np.outer(X[:, 0], [1.0, 2.0, 0.0, 1.0]) + np.outer(X[:, 1], [0.0, 1.0, 1.0, 1.0])
    model = clone(transformer).set_params(kernel=Linear(), n_components=5)
    if getattr(model, "landmarks", None) is not None:
        model.set_params(ridge=1e-6)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "n_components is")
        features = model.fit_transform(rank_two, y)
    assert np.isfinite(features).all() and np.linalg.matrix_rank(features, 1e-4 * np.abs(features).max()) <= 2


@every
def test_classes_may_be_missing_from_a_fold(transformer):
    order = np.argsort(y, kind="stable")
    model = make_pipeline(clone(transformer), KNeighborsClassifier(1))
    scores = cross_val_score(model, X[order], y[order], cv=KFold(3), error_score="raise")
    assert scores.shape == (3,)


@every
def test_kernel_parameters_can_be_searched(transformer):
    if transformer.kernel is None:
        transformer = clone(transformer).set_params(kernel=Gaussian())
    step = type(transformer).__name__.lower()
    search = GridSearchCV(
        make_pipeline(clone(transformer), KNeighborsClassifier(1)), {f"{step}__kernel__scale": [0.5, 4.0]}, cv=3
    ).fit(X, y)
    assert search.best_params_[f"{step}__kernel__scale"] in (0.5, 4.0)
    assert search.best_estimator_[0].kernel_.scale_ == search.best_params_[f"{step}__kernel__scale"]


@every
def test_set_output(transformer):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = clone(transformer).set_output(transform="pandas").fit(frame, y)
    assert list(model.transform(frame).columns) == list(model.get_feature_names_out())


@every
def test_sums_and_products_of_kernels(transformer):
    if getattr(transformer, "landmarks", None) is not None:
        pytest.skip("landmarks move under three plain kernels")
    both = clone(transformer).set_params(kernel=Linear([0, 1]) + Linear(slice(2, 6)))
    one = clone(transformer).set_params(kernel=Linear())
    np.testing.assert_allclose(
        distances(both.fit(X, y).transform(NEW)), distances(one.fit(X, y).transform(NEW)), rtol=1e-4
    )
    product = clone(transformer).set_params(kernel=Gaussian([0], scale=3.0) * Polynomial([1, 2]))
    assert np.isfinite(product.fit(X, y).transform(NEW)).all()


@every
def test_a_combined_kernel(transformer):
    """The kernel that an MKLClassifier learns: here weights 1 and 3, which a sum of kernels can also say."""
    if getattr(transformer, "landmarks", None) is not None:
        pytest.skip("landmarks take one plain kernel")
    machine = MKLClassifier([Linear([0, 1]), Linear([2, 3])], FixedWeights([1.0, 3.0]), normalize=None)
    combined = clone(transformer).set_params(kernel=machine).fit(X, y)
    by_hand = clone(transformer).set_params(kernel=Linear([0, 1]) + 3.0 * Linear([2, 3])).fit(X, y)
    np.testing.assert_allclose(
        distances(combined.transform(NEW)), distances(by_hand.transform(NEW)), rtol=1e-4, atol=1e-6
    )
    assert combined.kernel_.kernel_weights_.tolist() == [1.0, 3.0] and not hasattr(machine, "dual_coef_")
    searched = clone(combined).set_params(kernel__C=3.0)
    assert searched.kernel.C == 3.0
    with pytest.raises(ValueError, match="leave normalize None"):
        clone(combined).set_params(normalize="center").fit(X, y)


@pytest.mark.parametrize("cls", [KernelFisher, KernelOrthogonalCentroid, KernelPLS, SubspaceKernel])
def test_precomputed_kernels_are_looked_up(cls):
    everything = np.vstack([X, NEW])
    ids = np.arange(len(everything))[:, None]
    model = cls(Precomputed(everything @ everything.T)).fit(ids[:45], y)
    np.testing.assert_allclose(model.transform(ids[45:]), cls().fit(X, y).transform(NEW), rtol=1e-6)


@every
def test_wrong_input_is_named(transformer):
    with pytest.raises(ValueError, match="only one class"):
        clone(transformer).fit(X, np.zeros(45, dtype=int))
    with pytest.raises(ValueError, match="n_components of .* must be a positive whole number or None, not 0"):
        clone(transformer).set_params(n_components=0).fit(X, y)
    with pytest.raises(ValueError, match="kernel must be one kernel"):
        clone(transformer).set_params(kernel=[Linear()]).fit(X, y)
    with pytest.raises(ValueError, match="normalize must be "):
        clone(transformer).set_params(normalize="l2").fit(X, y)
    model = clone(transformer).fit(X, y)
    before = model.transform(NEW)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    np.testing.assert_array_equal(model.transform(NEW), before)


@pytest.mark.parametrize("cls", [AKDAQR, KernelOrthogonalCentroid, SubspaceKernel, KernelFisher, KernelPLS])
def test_a_kernel_of_zeros_is_an_error(cls):
    with pytest.raises(ValueError, match="zero between|same mean|no covariance"):
        cls().fit(np.zeros((6, 2)), [0, 0, 0, 1, 1, 1])


def test_columns_that_only_a_gate_reads_are_asked_for():
    frame = pd.DataFrame(X, columns=["u__0", "u__1", "v__0", "v__1", "gate", "idle"])
    kernel = MKLClassifier([Linear("u"), Gaussian("v")], Localized(inputs="gate"), C=1.0, random_state=0)
    model = KernelPLS(kernel, 2)
    features = model.fit_transform(frame, y == "a")
    np.testing.assert_allclose(model.transform(frame.drop(columns="idle")), features, atol=1e-9)
    with pytest.raises(ValueError, match=r"lacks all gating inputs \(gate\)"):
        model.transform(frame.drop(columns="gate"))


def test_precomputed_kernels_take_further_samples():
    everything = np.vstack([X, NEW])
    K = everything @ everything.T
    kernel = Precomputed(K[:45, :45])
    model = KernelFisher(kernel).fit(np.arange(45)[:, None], y)
    model.replace_kernel(model.kernel_names_[0], kernel.extend(K[45:, :45], np.diagonal(K)[45:]))
    expected = KernelFisher().fit(X, y).transform(NEW)
    np.testing.assert_allclose(model.transform(np.arange(45, 52)[:, None]), expected, atol=1e-8)


@pytest.mark.parametrize("cls", [KernelPLS, KernelFisher])
def test_a_sample_without_a_view_that_has_a_weight_has_no_place(cls):
    frame = stack_views({"a": X[:, :3], "b": np.random.default_rng(5).normal(size=(45, 2))})
    frame["a__0"] += np.where(y == "a", 9.0, 0.0)
    machine = MKLClassifier([Linear("a"), Linear("b")], ConvexMKL(), normalize=None)
    model = cls(machine).fit(frame, y == "a")
    assert model.kernel_.kernel_weights_["b"] == 0
    lacking = frame.copy()
    lacking.loc[7, ["a__0", "a__1", "a__2"]] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"sample 7 has none of the views whose kernels have a weight \(a\)"):
            model.transform(lacking)
