import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict, cross_val_score

from kernelweave import MKLClassifier, MKLRegressor, stack_views
from kernelweave.combiners import AccuracyWeights, CorrelationWeights, ErrorWeights
from kernelweave.kernels import Linear

rng = np.random.default_rng(4)
X = rng.normal(size=(60, 3))
LABELS = np.digitize(X[:, 1] + 0.5 * X[:, 2], [-0.5, 0.5])
VALUES = 2 * X[:, 2] + X[:, 0] + 0.1 * rng.normal(size=60)
KERNELS = [("first", Linear([0])), ("second", Linear([1])), ("third", Linear([2]))]
FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)


def classifier(**options):
    combiner = AccuracyWeights(**{"cv": FOLDS, **options})
    return MKLClassifier(KERNELS, combiner, normalize=None, multiclass="one-vs-one").fit(X, LABELS)


def test_accuracy_weights():
    # One column tells no class from all others: machines one-vs-all would tie.
    plain = MKLClassifier(normalize=None, multiclass="one-vs-one")
    accuracy = np.array(
        [cross_val_score(plain.set_params(kernels=[kernel]), X, LABELS, cv=FOLDS).mean() for _, kernel in KERNELS]
    )
    model = classifier(threshold=0.1)
    np.testing.assert_allclose(model.combiner_.accuracy_, accuracy)  # the four folds have the same size
    np.testing.assert_allclose(model.kernel_weights_, (accuracy - 0.1) / (accuracy - 0.1).sum())
    chance = np.bincount(LABELS).max() / 60
    expected = np.maximum(accuracy - chance, 0)
    np.testing.assert_allclose(classifier().kernel_weights_, expected / expected.sum())
    assert model.history_["solves"].iloc[0] == 13  # three kernels, four folds, and the final one


def test_kernels_below_the_threshold():
    model = classifier(threshold=0.5)
    assert model.combiner_.accuracy_["first"] < 0.5 < model.combiner_.accuracy_["second"]
    assert model.kernel_weights_["first"] == 0
    np.testing.assert_allclose(classifier(threshold=1.0).kernel_weights_, 1 / 3)


@pytest.mark.parametrize("threshold", [-0.1, 1.5, "half", True])
def test_bad_threshold(threshold):
    with pytest.raises(ValueError, match="threshold of AccuracyWeights must be a number from 0 to 1 or None"):
        classifier(threshold=threshold)


@pytest.mark.parametrize("machine", ["svm", "least-squares"])
def test_correlation_and_error_weights(machine):
    cv = KFold(3)

    def fit(kernels, combiner=None):
        return MKLRegressor(kernels, combiner, normalize=None, C=10.0, machine=machine)

    predicted = [cross_val_predict(fit([kernel]), X, VALUES, cv=cv) for _, kernel in KERNELS]
    R = np.array([pearsonr(p, VALUES)[0] for p in predicted])
    model = fit(KERNELS, CorrelationWeights(cv)).fit(X, VALUES)
    np.testing.assert_allclose(model.combiner_.correlation_, R, atol=1e-9)
    R = np.maximum(R, 0)
    np.testing.assert_allclose(model.kernel_weights_, R / R.sum(), atol=1e-9)
    M = np.array([np.mean((p - VALUES) ** 2) for p in predicted])
    model = fit(KERNELS, ErrorWeights(cv)).fit(X, VALUES)
    np.testing.assert_allclose(model.combiner_.error_, M)
    np.testing.assert_allclose(model.kernel_weights_, (M.sum() - M) / (2 * M.sum()))


def test_negative_correlations_count_as_none():
    y = X[:, 0] + 3 * np.random.default_rng(1).normal(size=60)
    model = MKLRegressor(KERNELS, CorrelationWeights(KFold(5)), normalize=None).fit(X, y)
    assert model.combiner_.correlation_.min() < 0
    assert model.kernel_weights_.min() == 0 and model.kernel_weights_.sum() == pytest.approx(1)


def test_constant_targets_give_equal_weights():
    for combiner in (CorrelationWeights(), ErrorWeights()):
        model = MKLRegressor(KERNELS, combiner, random_state=0).fit(X, np.full(60, 3.0))
        np.testing.assert_allclose(model.kernel_weights_, 1 / 3)


def test_wrong_problems_are_told():
    with pytest.raises(ValueError, match="AccuracyWeights is for classification only"):
        MKLRegressor(KERNELS, AccuracyWeights()).fit(X, VALUES)
    for combiner in (CorrelationWeights(), ErrorWeights()):
        with pytest.raises(ValueError, match="is for regression only"):
            MKLClassifier(KERNELS, combiner).fit(X, LABELS)


def test_samples_without_a_view_do_not_judge_it():
    frame = stack_views({"a": X[:, :2], "b": X[:, 2:]})
    frame.loc[40:, "b__0"] = np.nan
    kernels = [Linear("a"), Linear("b")]
    split = [(np.r_[0:30, 40:50], np.r_[30:40, 50:60])]
    model = MKLRegressor(kernels, ErrorWeights(split), normalize=None).fit(frame, VALUES)
    alone = MKLRegressor([Linear([2])], normalize=None).fit(X[:30], VALUES[:30])
    error = np.mean((alone.predict(X[30:40]) - VALUES[30:40]) ** 2)
    assert model.combiner_.error_["b"] == pytest.approx(error)
    with pytest.raises(ValueError, match="no test sample has the view of the kernel 'b'"):
        MKLRegressor(kernels, ErrorWeights([(np.arange(40), np.arange(40, 60))])).fit(frame, VALUES)
