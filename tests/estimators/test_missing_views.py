import numpy as np
import pytest

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import BestSingle, FixedWeights, Mean, Product
from kernelweave.kernels import Gaussian, KernelStack, Linear

rng = np.random.default_rng(0)
A, B = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
Y = (A[:, 0] + B[:, 0] > 0).astype(int)
MISSING_A, MISSING_B = np.array([1, 5, 6]), np.array([0, 7])
X = stack_views({"a": A, "b": B})
X.loc[MISSING_A, ["a__0", "a__1", "a__2"]] = np.nan
X.loc[MISSING_B, ["b__0", "b__1"]] = np.nan
KERNELS = [Gaussian("a"), Linear("b")]


def combined(combiner, normalize="unit-diagonal"):
    stack = KernelStack(KERNELS, normalize).fit(X)
    eta = combiner.choose(stack, None, None)[0]
    return combiner.kernel(stack, eta).gram(), eta, stack


@pytest.mark.parametrize("weights", [[1.0, 1.0], [0.3, 2.0]])
def test_rows_are_rescaled_so_that_kernel_and_diagonal_are_kept(weights):
    K, eta, stack = combined(FixedWeights(weights))
    assert np.linalg.eigvalsh(K).min() > -1e-10
    np.testing.assert_allclose(np.diagonal(K), eta.sum())
    factor = np.sqrt(eta.sum() / (stack.present @ eta))
    i, j = 1, 3  # sample 1 lacks a
    np.testing.assert_allclose(K[i, j], factor[i] * eta[1] * stack.gram(1)[i, j])
    assert K[0, 1] == 0  # no view in common


def test_present_samples_are_not_changed():
    K, eta, stack = combined(Mean())
    full = np.setdiff1d(np.arange(30), np.union1d(MISSING_A, MISSING_B))
    expected = (stack.gram(0) + stack.gram(1)) / 2
    np.testing.assert_allclose(K[np.ix_(full, full)], expected[np.ix_(full, full)])


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
@pytest.mark.parametrize("model", [MKLClassifier(KERNELS), MKLRegressor(KERNELS), MKLOneClass(KERNELS)])
def test_training_and_prediction_share_one_kernel(model, normalize):
    model.set_params(normalize=normalize).fit(X, Y)
    K, _, _ = combined(Mean(), normalize)
    values = K[:, model.support_] @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model._values(X), values, atol=1e-10)


def test_weights_move_to_the_views_a_sample_has():
    model = MKLClassifier(KERNELS, FixedWeights([1.0, 3.0])).fit(X, Y)
    weights = model.kernel_weights(X)
    np.testing.assert_allclose(weights.iloc[1], [0.0, 4.0])
    np.testing.assert_allclose(weights.iloc[0], [4.0, 0.0])
    np.testing.assert_allclose(weights.iloc[2], [1.0, 3.0])


def test_messages_name_samples_by_their_place_in_the_whole_x(monkeypatch):
    bad = X.copy()
    bad.loc[9, "a__1"] = np.nan
    with pytest.raises(ValueError, match="sample 9 is NaN in some"):
        MKLClassifier(KERNELS).fit(bad, Y, sample_weight=np.r_[np.zeros(5), np.ones(25)])
    model = MKLClassifier(KERNELS).fit(X, Y)
    monkeypatch.setattr("kernelweave.views.table.BLOCK_VALUES", 60)
    with pytest.raises(ValueError, match="sample 9 is NaN in some"):
        model.predict(bad)


def test_product_needs_every_view():
    with pytest.raises(ValueError, match="sample 0 lacks the view of the kernel 'b'; Mean"):
        MKLClassifier(KERNELS, Product()).fit(X, Y)
    complete = stack_views({"a": A, "b": B})
    model = MKLClassifier(KERNELS, Product()).fit(complete, Y)
    with pytest.raises(ValueError, match="Product needs every view"):
        model.predict(X)


def test_best_single_takes_only_complete_views():
    with pytest.raises(ValueError, match="whose view no training sample lacks"):
        MKLClassifier(KERNELS, BestSingle()).fit(X, Y)
    X_b = stack_views({"a": A, "b": B})
    X_b.loc[MISSING_B, ["b__0", "b__1"]] = np.nan
    model = MKLClassifier(KERNELS, BestSingle()).fit(X_b, Y)
    assert model.kernel_weights_.to_dict() == {"a": 1.0, "b": 0.0}
    assert np.isnan(model.combiner_.risk_["b"])
    model.predict(X_b)


def test_a_sample_whose_only_view_has_no_weight_is_an_error():
    with pytest.raises(ValueError, match=r"sample 1 has none of the views whose kernels have a weight \(a\)"):
        MKLClassifier(KERNELS, FixedWeights({"a": 1.0})).fit(X, Y)
    complete = stack_views({"a": A, "b": B})
    model = MKLClassifier(KERNELS, FixedWeights({"a": 1.0})).fit(complete, Y)
    with pytest.raises(ValueError, match="sample 1 has none of the views"):
        model.predict(X)
