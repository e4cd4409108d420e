"""Joint, posterior-probability and least-squares machines behind the estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_score

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import BestSingle, FixedWeights
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import (
    JointMachine,
    LeastSquaresClassMachine,
    PosteriorMachine,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

rng = np.random.default_rng(0)
N = 90
THREE = np.array(["a", "b", "c"])[np.arange(N) % 3]
X = rng.normal(size=(N, 4)) + 1.5 * np.eye(3, 4)[np.arange(N) % 3]
NEW = rng.normal(size=(20, 4))
SIGN = np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0.5, "yes", "no")
KERNELS = [Linear(), Gaussian(scale=2.0)]
POSTERIOR = rng.dirichlet(np.ones(3), N)


def mean_gram():
    stack = KernelStack(KERNELS).fit(X)
    return 0.5 * (stack.gram(0) + stack.gram(1))


def test_joint_is_the_machine_on_the_combined_kernel():
    model = MKLClassifier(KERNELS, C=2.0, multiclass="joint", tol=1e-7).fit(X, THREE)
    solution = JointMachine(np.arange(N) % 3, 2.0).solve(mean_gram(), tol=1e-7)
    assert model.objective_ == pytest.approx(solution.objective, rel=1e-9)
    values = model.decision_function(X)
    np.testing.assert_allclose(values, mean_gram() @ solution.coef + solution.intercept, atol=1e-6)
    assert model.dual_coef_.shape == (3, len(model.support_)) and values.shape == (N, 3)
    np.testing.assert_array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0, atol=1e-9)
    assert model.score(X, THREE) > 0.8


def test_two_classes_are_one_binary_machine_whatever_multiclass_says():
    values = [MKLClassifier(multiclass=way).fit(X, SIGN).decision_function(NEW) for way in ("one-vs-one", "joint")]
    np.testing.assert_array_equal(*values)


def test_posteriors_of_two_classes():
    posterior = rng.random(N)
    posterior[:2] = 0.5, 0.51
    with pytest.warns(UserWarning, match="of 90 samples have a posterior within 0.025 of 1/2 and are left out"):
        model = MKLClassifier(KERNELS, tol=1e-7).fit(X, SIGN, posterior=posterior)
    solution = PosteriorMachine(posterior, 1.0).solve(mean_gram(), tol=1e-7)
    np.testing.assert_allclose(
        model.decision_function(X), (mean_gram() @ solution.coef + solution.intercept)[:, 0], atol=1e-5
    )
    assert not {0, 1} & set(model.support_)
    with pytest.warns(UserWarning, match="left out"):
        same = MKLClassifier(KERNELS, tol=1e-7).fit(X, SIGN, posterior=np.column_stack([1 - posterior, posterior]))
    np.testing.assert_allclose(same.decision_function(NEW), model.decision_function(NEW), atol=1e-9)


def test_posteriors_of_several_classes_and_of_none():
    model = MKLClassifier(KERNELS, multiclass="joint", tol=1e-7).fit(X, THREE, posterior=POSTERIOR)
    solution = JointMachine(np.arange(N) % 3, 1.0, posterior=POSTERIOR).solve(mean_gram(), tol=1e-7)
    assert model.objective_ == pytest.approx(solution.objective, rel=1e-9)
    hard = MKLClassifier(KERNELS, multiclass="joint").fit(X, THREE)
    certain = MKLClassifier(KERNELS, multiclass="joint").fit(X, THREE, posterior=np.eye(3)[np.arange(N) % 3])
    np.testing.assert_array_equal(hard.dual_coef_, certain.dual_coef_)


@pytest.mark.parametrize("labels", [SIGN, THREE], ids=["two", "three"])
def test_weight_zero_takes_the_posterior_away_too(labels):
    classes = np.unique(labels)
    posterior = 0.8 * (labels[:, None] == classes) + 0.2 / len(classes)
    weight = (np.arange(N) % 4 > 0).astype(float)
    kept = np.flatnonzero(weight)
    weighted = MKLClassifier(multiclass="joint").fit(X, labels, weight, posterior)
    without = MKLClassifier(multiclass="joint").fit(X[kept], labels[kept], posterior=posterior[kept])
    np.testing.assert_array_equal(weighted.dual_coef_, without.dual_coef_)
    np.testing.assert_array_equal(weighted.support_, kept[without.support_])


@pytest.mark.filterwarnings("ignore:.*left out")
def test_neighbours_decide_soft_labels():
    K = mean_gram()
    distance = K.diagonal()[:, None] + K.diagonal() - 2 * K
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1)[:, :5]
    expected = np.stack([(THREE[nearest] == label).mean(axis=1) for label in "abc"], axis=1)
    by_neighbours = MKLClassifier(KERNELS, multiclass="joint", soft_labels="knn", n_neighbors=5).fit(X, THREE)
    given = MKLClassifier(KERNELS, multiclass="joint").fit(X, THREE, posterior=expected)
    np.testing.assert_allclose(by_neighbours.decision_function(NEW), given.decision_function(NEW), atol=1e-8)
    first = MKLClassifier(KERNELS, multiclass="joint", soft_labels="knn").fit(X, THREE, posterior=POSTERIOR)
    second = MKLClassifier(KERNELS, multiclass="joint").fit(X, THREE, posterior=POSTERIOR)
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    assert MKLClassifier(KERNELS, soft_labels="knn").fit(X, SIGN).score(X, SIGN) > 0.75


def test_least_squares_classification():
    model = MKLClassifier(KERNELS, C=3.0, multiclass="one-vs-all", machine="least-squares").fit(X, THREE)
    solution = LeastSquaresClassMachine(np.arange(N) % 3, 3.0).solve(mean_gram())
    np.testing.assert_allclose(model.decision_function(X), mean_gram() @ solution.coef + solution.intercept, atol=1e-8)
    assert len(model.support_) == N and model.duality_gap_ < 1e-12
    two = MKLClassifier(KERNELS, machine="least-squares").fit(X, SIGN)
    assert two.decision_function(NEW).shape == (20,) and two.score(X, SIGN) > 0.8


def test_least_squares_regression_is_ridge_on_a_centred_kernel():
    y = X[:, 0] - X[:, 1] ** 2
    ours = MKLRegressor([Linear()], C=4.0, normalize="center", machine="least-squares").fit(X, y)
    centred = X - X.mean(axis=0)
    # the estimator scales a centred kernel; ridge with the same scale must agree
    scale = KernelStack([Linear()], "center").fit(X).gram(0).trace() / np.trace(centred @ centred.T)
    theirs = KernelRidge(alpha=0.25 / scale).fit(centred, y - y.mean())
    np.testing.assert_allclose(ours.predict(NEW), theirs.predict(NEW - X.mean(axis=0)) + y.mean(), atol=1e-8)


def test_searches_over_machines():
    grid = [
        {"machine": ["svm"], "multiclass": ["one-vs-one", "one-vs-all", "joint"], "C": [0.1, 1.0]},
        {"machine": ["least-squares"], "multiclass": ["one-vs-all"]},
        {"soft_labels": ["knn"], "multiclass": ["joint"], "n_neighbors": [3, 8]},
    ]
    search = GridSearchCV(MKLClassifier(KERNELS), grid, cv=3, error_score="raise").fit(X, THREE)
    assert search.best_score_ > 0.7
    for combiner in (BestSingle(cv=2), FixedWeights([1.0, 2.0])):
        model = MKLClassifier(KERNELS, combiner, multiclass="joint")
        assert cross_val_score(model, pd.DataFrame(X), THREE, cv=3, error_score="raise").mean() > 0.7


FIT = [
    (MKLClassifier(), SIGN, POSTERIOR, r"one column for each class or one dimension for Pr\(yes\|x\)"),
    (MKLClassifier(multiclass="joint"), THREE, POSTERIOR[:, 0], r"one column for each class, in the order \['a', 'b'"),
    (MKLClassifier(multiclass="joint"), THREE, POSTERIOR[:, :2], "one column for each class"),
    (MKLClassifier(), SIGN, POSTERIOR[:-1, 0], r"one row for each of the 90 samples of X, but its shape is \(89,\)"),
    (MKLClassifier(), SIGN, np.zeros((N, 2, 1)), "one row for each"),
    (MKLClassifier(), SIGN, np.full(N, 1.5), "probabilities from 0 to 1"),
    (MKLClassifier(), SIGN, np.full(N, np.nan), "without NaN"),
    (MKLClassifier(), SIGN, ["high"] * N, "array of probabilities"),
    (MKLClassifier(multiclass="joint"), THREE, 0.5 * POSTERIOR, "must sum to 1, but those of sample 0 do not"),
    (MKLClassifier(), THREE, POSTERIOR, "more than two classes need multiclass=\"joint\", not 'one-vs-all'"),
    (MKLClassifier(multiclass="one-vs-all", soft_labels="knn"), THREE, None, 'need multiclass="joint"'),
    (MKLClassifier(machine="least-squares", multiclass="joint"), THREE, None, 'multiclass="joint" needs machine="svm"'),
    (MKLClassifier(machine=SquaredHinge(), multiclass="joint"), THREE, None, "SquaredHinge is for two classes"),
    (MKLClassifier(machine=SquaredHinge()), SIGN, np.full(N, 0.9), "SquaredHinge has hard labels only"),
    (MKLClassifier(machine=SquaredEpsilonInsensitive()), SIGN, None, "or a BinaryLoss object, not SquaredEpsilon"),
    (MKLClassifier(machine=SquaredHinge), SIGN, None, "or a BinaryLoss object, not <class"),
    (MKLClassifier(machine="least-squares"), SIGN, np.full(N, 0.9), 'soft labels need machine="svm"'),
    (MKLClassifier(machine="ridge"), SIGN, None, "\"squared-hinge\" or a BinaryLoss object, not 'ridge'"),
    (MKLClassifier(soft_labels="parzen"), SIGN, None, 'soft_labels of MKLClassifier must be "knn" or None'),
    (
        MKLClassifier(soft_labels="knn", n_neighbors=0),
        SIGN,
        None,
        "n_neighbors of MKLClassifier must be a positive whole number",
    ),
    (MKLClassifier(soft_labels="knn", n_neighbors=N), SIGN, None, "n_neighbors is 90, but there are only 90 samples"),
]


@pytest.mark.parametrize(("model", "y", "posterior", "message"), FIT, ids=range(len(FIT)))
def test_bad_choices_are_named_and_change_nothing(model, y, posterior, message):
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, posterior=posterior)
    assert model.__dict__ == before


def test_a_regression_has_no_posterior():
    with pytest.raises(TypeError, match="posterior"):
        MKLRegressor().fit(X, X[:, 0], posterior=np.full(N, 0.5))
    with pytest.raises(ValueError, match="machine of .* must be"):
        MKLRegressor(machine="joint").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="RegressionLoss object, not SquaredHinge"):
        MKLRegressor(machine=SquaredHinge()).fit(X, X[:, 0])


def test_names_and_objects_are_the_same_machines():
    by_name = MKLClassifier(KERNELS, C=2.0, machine="squared-hinge").fit(X, THREE)
    by_object = MKLClassifier(KERNELS, C=2.0, machine=SquaredHinge()).fit(X, THREE)
    np.testing.assert_array_equal(by_name.dual_coef_, by_object.dual_coef_)
    assert by_name.score(X, THREE) > 0.8 and by_name.duality_gap_ < 1e-9
    y = X[:, 0] - X[:, 1] ** 2
    by_name = MKLRegressor(KERNELS, epsilon=0.3, machine="squared-epsilon-insensitive").fit(X, y)
    by_object = MKLRegressor(KERNELS, machine=SquaredEpsilonInsensitive(epsilon=0.3)).fit(X, y)
    np.testing.assert_array_equal(by_name.dual_coef_, by_object.dual_coef_)
    assert 0 < len(by_name.support_) < N
    search = GridSearchCV(by_object, {"machine__epsilon": [0.1, 1.0]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["machine__epsilon"] in (0.1, 1.0)


@pytest.mark.parametrize("machine", ["least-squares", "squared-hinge"])
def test_one_vs_one_takes_any_machine(machine):
    model = MKLClassifier(KERNELS, machine=machine, multiclass="one-vs-one").fit(X, THREE)
    assert model.dual_coef_.shape[0] == 3 and model.score(X, THREE) > 0.8
    pair = np.isin(THREE, ["a", "c"])
    alone = MKLClassifier([Linear()], normalize=None, machine=machine).fit(X[pair], THREE[pair])
    several = MKLClassifier([Linear()], normalize=None, machine=machine, multiclass="one-vs-one").fit(X, THREE)
    np.testing.assert_allclose(several._values(NEW)[:, 1], alone.decision_function(NEW), atol=1e-8)


def test_arguments_after_the_combiner_are_given_by_name():
    for estimator in (MKLClassifier, MKLRegressor):
        with pytest.raises(TypeError, match="positional"):
            estimator(KERNELS, None, 1.0)
