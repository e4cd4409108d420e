"""What a fitted estimator says of itself, and that it agrees with scikit-learn's machines."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC, SVR, OneClassSVM

import kernelweave
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import FixedWeights, Mean
from kernelweave.kernels import ChiSquared, Distance, Gaussian, KernelStack, Laplacian, Linear, Polynomial

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
NEW = rng.normal(size=(30, 4))
SIGN = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=80) > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * rng.normal(size=80), [-0.5, 0.5])]
VALUE = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=80)
KERNELS = [Linear(), Gaussian(scale=2.0)]


def mean_kernel(A, B):
    def normalised(kernel):
        kernel.fit(X)
        return kernel.cross(A, B) / np.sqrt(np.outer(kernel.diagonal(A), kernel.diagonal(B)))

    return (normalised(Linear()) + normalised(Gaussian(scale=2.0))) / 2


def test_binary_classification_equals_svc_on_the_mean_kernel():
    ours = MKLClassifier(KERNELS, C=5.0, tol=1e-7).fit(X, SIGN)
    theirs = SVC(kernel="precomputed", C=5.0, tol=1e-7).fit(mean_kernel(X, X), SIGN)
    np.testing.assert_allclose(ours.decision_function(NEW), theirs.decision_function(mean_kernel(NEW, X)), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(NEW), theirs.predict(mean_kernel(NEW, X)))
    assert ours.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-all"])
def test_multiclass(multiclass):
    ours = MKLClassifier(KERNELS, C=5.0, multiclass=multiclass, tol=1e-6).fit(X, THREE)
    values = ours.decision_function(NEW)
    assert values.shape == (30, 3)
    np.testing.assert_array_equal(ours.predict(NEW), ours.classes_[values.argmax(axis=1)])
    assert ours.dual_coef_.shape == (3, len(ours.support_))
    if multiclass == "one-vs-one":
        theirs = SVC(kernel="precomputed", C=5.0, tol=1e-6).fit(mean_kernel(X, X), THREE)
        np.testing.assert_allclose(values, theirs.decision_function(mean_kernel(NEW, X)), atol=1e-3)
    else:
        for label, column in zip("abc", values.T, strict=True):
            alone = MKLClassifier(KERNELS, C=5.0, tol=1e-6).fit(X, label == THREE)
            np.testing.assert_allclose(column, alone.decision_function(NEW), atol=1e-3)


def test_regression_equals_svr_on_the_mean_kernel():
    ours = MKLRegressor(KERNELS, C=5.0, epsilon=0.05, tol=1e-7).fit(X, VALUE)
    theirs = SVR(kernel="precomputed", C=5.0, epsilon=0.05, tol=1e-7).fit(mean_kernel(X, X), VALUE)
    np.testing.assert_allclose(ours.predict(NEW), theirs.predict(mean_kernel(NEW, X)), atol=1e-4)


def test_one_class_equals_scikit_learns_up_to_its_scale():
    ours = MKLOneClass([Gaussian(scale=2.0)], nu=0.2, tol=1e-8).fit(X)
    theirs = OneClassSVM(gamma=0.25, nu=0.2, tol=1e-8).fit(X)
    scale = 0.2 * len(X)  # theirs has sum(alpha) = nu n
    np.testing.assert_allclose(scale * ours.decision_function(NEW), theirs.decision_function(NEW), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(NEW), theirs.predict(NEW))
    np.testing.assert_allclose(ours.score_samples(NEW) - ours.offset_, ours.decision_function(NEW))
    same = MKLOneClass([Gaussian(scale=2.0)], C=1 / (0.2 * len(X)), tol=1e-8).fit(X)
    np.testing.assert_allclose(same.decision_function(NEW), ours.decision_function(NEW), atol=1e-7)


@pytest.mark.parametrize("nu", [1.0, 0.999, 1e-6])
def test_extreme_nu(nu):
    model = MKLOneClass([Gaussian(scale=2.0)], nu=nu).fit(X)
    assert model.dual_coef_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MKLClassifier(KERNELS), SIGN),
        (MKLClassifier(KERNELS), THREE),
        (MKLRegressor(KERNELS), VALUE),
        (MKLOneClass(KERNELS), None),
    ],
)
def test_fitted_state_is_consistent(model, y):
    model.fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert model.kernel_names_ == ["linear", "gaussian"]
    assert model.kernel_weights_.to_dict() == {"linear": 0.5, "gaussian": 0.5}
    assert model.n_features_in_ == 4 and model.feature_names_in_.tolist() == list("abcd")
    assert 0 <= model.duality_gap_ < 0.1 * max(1, abs(model.objective_))
    assert model.n_iter_ == 1 == len(model.history_)
    assert set(model.history_) == {"objective", "solves", "seconds"}
    assert model.history_["objective"].iloc[-1] == model.objective_
    K = sum(KernelStack(KERNELS).fit(X).matrices()) / 2
    values = K[:, model.support_] @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model._values(pd.DataFrame(X, columns=list("abcd"))), values, atol=1e-10)
    quadratic = sum(c @ K[np.ix_(model.support_, model.support_)] @ c for c in model.dual_coef_)
    assert model.objective_ <= np.abs(model.dual_coef_).sum() * max(1.0, np.abs(VALUE).max()) - quadratic / 2 + 1e-9


def test_one_kernel_is_the_plain_machine():
    ours = MKLClassifier([Gaussian(scale=1.3)], C=2.0, tol=1e-6).fit(X, SIGN)
    theirs = SVC(gamma=1 / 1.3**2, C=2.0, tol=1e-6).fit(X, SIGN)
    np.testing.assert_allclose(ours.decision_function(NEW), theirs.decision_function(NEW), atol=1e-4)
    np.testing.assert_array_equal(np.sort(ours.support_), np.sort(theirs.support_))


def test_kernel_weights_are_labelled():
    frame = pd.DataFrame(NEW, index=[f"s{i}" for i in range(30)])
    weights = MKLClassifier(KERNELS, FixedWeights([1.0, 3.0])).fit(pd.DataFrame(X), SIGN).kernel_weights(frame)
    assert weights.columns.tolist() == ["linear", "gaussian"]
    assert weights.index[0] == "s0"
    np.testing.assert_array_equal(weights.to_numpy(), [[1.0, 3.0]] * 30)


def test_default_kernels_are_one_per_view():
    frame = pd.DataFrame(X, columns=["a__0", "a__1", "b__0", "b__1"])
    ours = MKLClassifier(C=3.0).fit(frame, SIGN)
    assert ours.kernel_names_ == ["a", "b"]
    explicit = MKLClassifier([Linear("a"), Linear("b")], Mean(), C=3.0).fit(frame, SIGN)
    np.testing.assert_array_equal(ours.dual_coef_, explicit.dual_coef_)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_predictions_for_one_sample_equal_those_for_many(normalize):
    model = MKLClassifier(KERNELS, C=50.0, normalize=normalize).fit(X, SIGN)
    together = model.decision_function(NEW)
    alone = [model.decision_function(NEW[i : i + 1])[0] for i in range(30)]
    np.testing.assert_allclose(together, alone, atol=1e-10)


def test_prediction_in_blocks_changes_nothing(monkeypatch):
    model = MKLClassifier(KERNELS).fit(X, THREE)
    whole = model.decision_function(NEW)
    monkeypatch.setattr("kernelweave.views.table.BLOCK_VALUES", 300)
    np.testing.assert_allclose(model.decision_function(NEW), whole, atol=1e-12)


def test_float32_gram_matrices():
    single = MKLClassifier(KERNELS, dtype="float32").fit(X, SIGN).decision_function(NEW)
    double = MKLClassifier(KERNELS).fit(X, SIGN).decision_function(NEW)
    np.testing.assert_allclose(single, double, atol=5e-3)


@pytest.mark.parametrize(
    ("model", "y"),
    [(MKLClassifier(KERNELS), SIGN), (MKLRegressor(KERNELS), VALUE), (MKLOneClass(KERNELS), None)],
)
def test_stopping_early_is_a_convergence_warning(model, y):
    with pytest.warns(ConvergenceWarning, match="stopped after .* solver steps .*raise max_iter"):
        model.set_params(max_iter=2, tol=1e-8).fit(X, y)


def test_where_rounding_ends_the_solve_the_warning_says_what_was_reached_and_not_to_raise_max_iter():
    model = MKLClassifier([Linear()], C=1e10, normalize=None)
    with pytest.warns(ConvergenceWarning, match=r"a relative duality gap of .*; lower C, scale the data") as record:
        model.fit(1e4 * X, SIGN)
    assert "max_iter" not in str(record[0].message)


def test_converged_fits_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MKLClassifier(KERNELS, C=100.0).fit(X, SIGN)
    assert model.duality_gap_ < 1e-2 * model.objective_


def test_failed_fit_leaves_the_estimator_as_it_was():
    fresh = MKLClassifier(KERNELS)
    before = dict(fresh.__dict__)
    with pytest.raises(ValueError, match="one class"):
        fresh.fit(X, ["yes"] * 80)
    assert fresh.__dict__ == before
    with pytest.raises(NotFittedError):
        fresh.predict(NEW)
    fitted = MKLClassifier(KERNELS).fit(X, SIGN)
    values = fitted.decision_function(NEW)
    with pytest.raises(ValueError, match="samples"):
        fitted.fit(NEW[:, :3], SIGN)
    np.testing.assert_array_equal(fitted.decision_function(NEW), values)


def test_threads_do_not_change_the_result():
    one = MKLClassifier(KERNELS).fit(X, THREE)
    two = MKLClassifier(KERNELS, n_jobs=2).fit(X, THREE)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "center"])
def test_changing_x_afterwards_does_not_change_the_model(normalize):
    data = X.copy()
    model = MKLClassifier(KERNELS, normalize=normalize).fit(data, SIGN)
    values = model.decision_function(NEW)
    data[:] = 0
    np.testing.assert_array_equal(model.decision_function(NEW), values)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_a_model_without_support_vectors_predicts_a_constant(normalize):
    model = MKLRegressor(KERNELS, epsilon=100.0, normalize=normalize).fit(X, VALUE)
    assert len(model.support_) == 0 and model.objective_ == 0
    assert len(set(model.predict(NEW))) == 1


def test_pickle_and_repr():
    model = MKLClassifier([*KERNELS, Polynomial()], C=2.0).fit(X, SIGN)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(NEW), model.decision_function(NEW))
    assert "Gaussian(scale=2.0)" in repr(model)


def test_progress_is_shown_when_asked(capsys):
    from kernelweave.combiners import BestSingle

    MKLClassifier(KERNELS, BestSingle(), verbose=1).fit(X, SIGN)
    assert "Fitting MKLClassifier" in capsys.readouterr().out
    MKLClassifier(KERNELS, BestSingle()).fit(X, SIGN)
    assert capsys.readouterr().out == ""


def test_kernel_weights_of_a_list():
    assert MKLClassifier().fit(X, SIGN).kernel_weights(X.tolist()).shape == (80, 1)


@pytest.mark.parametrize("kernel", [Laplacian(), ChiSquared(), Distance("cityblock"), lambda A, B: A @ B.T])
def test_no_support_vectors_and_any_kernel(kernel):
    model = MKLRegressor([kernel]).fit(np.abs(X), np.full(80, 5.0))
    np.testing.assert_allclose(model.predict(np.abs(NEW)), 5.0)


@pytest.mark.parametrize("name", [name for name in kernelweave.__all__ if isinstance(getattr(kernelweave, name), type)])
def test_names_are_listed_before_a_fit(name):
    model = getattr(kernelweave, name)()
    assert {"fit", "get_params"} <= set(dir(model))  # scikit-learn's listing evaluates every property
