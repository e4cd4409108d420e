"""scikit-learn's tools around the estimators: pipelines, searches, calibration, several containers."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import BestSingle, FixedWeights, Mean, Product
from kernelweave.kernels import Gaussian, Linear, Polynomial, Precomputed

rng = np.random.default_rng(0)
A, B = 5 + 3 * rng.normal(size=(90, 3)), 0.1 * rng.normal(size=(90, 4))
LABELS = np.where(A[:, 0] - 5 + 30 * B[:, 0] + rng.normal(size=90) > 0, "up", "down")
X = stack_views({"a": A, "b": B})
KERNELS = [Linear("a"), Gaussian("b")]


def test_behind_a_scaler():
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), MKLClassifier(KERNELS))
    assert cross_val_score(model, X, LABELS, cv=3).mean() > 0.75
    assert model.fit(X, LABELS)[-1].kernel_names_ == ["a", "b"]


def test_behind_a_column_transformer():
    scale = ColumnTransformer(
        [
            ("scaled", StandardScaler(), make_column_selector("^a__")),
            ("same", "passthrough", make_column_selector("^b__")),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    model = make_pipeline(scale, MKLClassifier(KERNELS)).fit(X, LABELS)
    assert model[-1].feature_names_in_.tolist() == X.columns.tolist()
    assert model.score(X, LABELS) > 0.8


def test_grid_search_over_kernels_combiners_and_costs():
    search = GridSearchCV(
        MKLClassifier(KERNELS),
        {
            "C": [0.1, 10.0],
            "kernels__b__scale": [None, 0.2],
            "combiner": [Mean(), Product(), BestSingle(cv=2), FixedWeights({"a": 1.0})],
        },
        cv=3,
    ).fit(X, LABELS)
    assert len(search.cv_results_["params"]) == 16
    assert search.best_score_ > 0.7
    assert search.best_estimator_.kernel_weights_.index.tolist() == ["a", "b"]


def test_many_precomputed_kernels_in_a_search():
    grams = [M @ M.T for M in (A - 5, B)] + [
        np.exp(-((A[:, None] - A[None]) ** 2).sum(axis=2) / s) for s in (1, 10, 100)
    ]
    kernels = [(f"k{m}", Precomputed(K)) for m, K in enumerate(grams)]
    ids = np.arange(90)[:, None]
    search = GridSearchCV(
        MKLClassifier(kernels),
        {"C": [1.0, 10.0], "kernels": [kernels, kernels[:2]]},
        cv=3,
        error_score="raise",
    ).fit(ids, LABELS)
    assert search.best_score_ > 0.7
    direct = MKLClassifier([Linear("a"), Linear("b")], normalize="center").fit(X, LABELS).decision_function(X)
    by_id = MKLClassifier(kernels[:2], normalize="center").fit(ids, LABELS)
    reference = MKLClassifier([Precomputed(A @ A.T), Precomputed(B @ B.T)], normalize="center").fit(
        ids, LABELS
    )  # centring removes the shift by 5
    np.testing.assert_allclose(reference.decision_function(ids), direct, atol=1e-6)
    np.testing.assert_allclose(by_id.decision_function(ids), direct, atol=2e-2)


def test_precomputed_beside_features_and_new_samples():
    frame = X.assign(id=np.arange(90))
    train, test = np.arange(60), np.arange(60, 90)
    K = A @ A.T
    known = Precomputed(K[np.ix_(train, train)], view="id")
    model = MKLClassifier([known, Gaussian("b")]).fit(frame.iloc[train], LABELS[train])
    with pytest.raises(ValueError, match="'id' must be whole numbers from 0 to 59"):
        model.predict(frame.iloc[test])
    model.replace_kernel("id", known.extend(K[np.ix_(test, train)], np.diagonal(K)[test]))
    everything = MKLClassifier([Precomputed(K, view="id"), Gaussian("b")]).fit(frame.iloc[train], LABELS[train])
    np.testing.assert_allclose(
        model.decision_function(frame.iloc[test]), everything.decision_function(frame.iloc[test]), atol=1e-12
    )
    with pytest.raises(ValueError, match="no kernel named 'x'"):
        model.replace_kernel("x", known)
    unused = MKLClassifier([known, Gaussian("b")], FixedWeights({"b": 1.0})).fit(frame.iloc[train], LABELS[train])
    unused.replace_kernel("id", known.extend(K[np.ix_(test, train)], np.diagonal(K)[test])).predict(frame.iloc[test])


def test_calibration_gives_probabilities():
    model = CalibratedClassifierCV(MKLClassifier(KERNELS), cv=3).fit(X, LABELS)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert ((probability[:, 1] > 0.5) == (LABELS == "up")).mean() > 0.8


@pytest.mark.parametrize("model", [MKLRegressor([Linear()], C=10.0), MKLOneClass([Gaussian()])])
def test_regression_and_novelty_cross_validate(model):
    y = None if isinstance(model, MKLOneClass) else A[:, 0]
    assert cross_val_predict(model, A, y, cv=3).shape == (90,)


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(), Gaussian(scale=1.0), Linear([0, 2]) * Gaussian(slice(1, 3))]
)
def test_arrays_frames_and_sparse_matrices_agree(kernel):
    values = [
        MKLClassifier([kernel], tol=1e-6).fit(data, LABELS).decision_function(data)
        for data in (A, A.tolist(), pd.DataFrame(A), sp.csr_matrix(A), sp.coo_matrix(A), sp.csr_array(A))
    ]
    for other in values[1:]:
        np.testing.assert_allclose(other, values[0], atol=1e-5)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(), Gaussian(scale=1.0), lambda P, Q: (P @ Q.T).toarray()])
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array])
def test_sparse_and_dense_samples_may_meet(kernel, make):
    model = MKLClassifier([kernel]).fit(make(A), LABELS)
    np.testing.assert_allclose(model.decision_function(A), model.decision_function(make(A)), atol=1e-10)
    if not callable(kernel):
        model = MKLClassifier([kernel]).fit(A, LABELS)
        np.testing.assert_allclose(model.decision_function(make(A)), model.decision_function(A), atol=1e-10)


def test_selection_by_callable_sees_the_frame():
    model = MKLClassifier([Linear(make_column_selector("^b__"))]).fit(X, LABELS)
    np.testing.assert_array_equal(model.kernels_[0].columns(), [3, 4, 5, 6])


def test_masked_and_integer_columns():
    frame = pd.DataFrame({"n": np.arange(90), "flag": LABELS == "up", "x": pd.array(A[:, 0], dtype="Float64")})
    numbers = frame.to_numpy(dtype=float)
    np.testing.assert_array_equal(
        MKLClassifier().fit(frame, LABELS).decision_function(frame),
        MKLClassifier().fit(numbers, LABELS).decision_function(numbers),
    )
