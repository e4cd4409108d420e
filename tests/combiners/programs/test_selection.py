from itertools import combinations

import clarabel
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import BinaryMKL, FixedWeights
from kernelweave.combiners.mkl import WeightProblem
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import BinaryMachine, JointMachine, OneVsOneMachine
from kernelweave.stacks import training
from reference_qp import exactly

rng = np.random.default_rng(7)
X = rng.normal(size=(40, 5))
Y = np.where(X[:, 0] + X[:, 3] + 0.5 * rng.normal(size=40) > 0, 1, 0)
KERNELS = [(name, Gaussian([i], scale=3.0)) for i, name in enumerate("abcde")]
PROBLEMS = [
    (MKLClassifier(KERNELS, C=1.0), Y),
    (MKLClassifier(KERNELS, multiclass="one-vs-all"), np.digitize(X[:, 0] + X[:, 3], [-0.5, 0.5])),
    (MKLClassifier(KERNELS, multiclass="joint"), np.digitize(X[:, 0] + X[:, 3], [-0.5, 0.5])),
    (MKLRegressor(KERNELS), X[:, 0] + X[:, 3]),
    (MKLRegressor(KERNELS, machine="least-squares"), X[:, 0] + X[:, 3]),
    (MKLOneClass(KERNELS, nu=0.3), None),
]


@pytest.mark.parametrize(("model", "y"), PROBLEMS)
def test_no_choice_of_kernels_is_below_the_bound(model, y):
    found = model.set_params(combiner=BinaryMKL(2), tol=1e-4).fit(X, y).combiner_
    chosen = model.kernel_weights_.to_numpy()
    assert set(chosen) == {0.0, 1.0} and chosen.sum() == 2
    assert found.relaxed_weights_.sum() == pytest.approx(2)
    assert found.relaxed_weights_.min() >= 0 and found.relaxed_weights_.max() <= 1
    assert found.relaxed_weights_[chosen == 1].min() >= found.relaxed_weights_[chosen == 0].max()
    assert 0 <= found.relaxed_objective_ - found.bound_ <= 1e-4 * max(1, abs(found.relaxed_objective_))
    relaxed = model.set_params(combiner=FixedWeights(found.relaxed_weights_)).fit(X, y).objective_
    assert relaxed == pytest.approx(found.relaxed_objective_, rel=1e-3)
    values = [
        model.set_params(combiner=FixedWeights([float(m in pair) for m in range(5)])).fit(X, y).objective_
        for pair in combinations(range(5), 2)
    ]
    assert min(values) >= found.bound_
    if y is not None:
        assert chosen.tolist() == [1, 0, 0, 1, 0]


def test_the_relaxed_optimum_is_that_of_the_conic_program():
    """maximise sum(alpha) - u, u the sum of k of the q_m = alpha'YK_mY alpha / 2 by duality: k v + sum w_m."""
    K = KernelStack(KERNELS).fit(X).matrices()
    signs = 2.0 * Y - 1
    n, P, k, C = 40, 5, 2, 1.0
    width = n + 1 + P + P  # alpha, v, w, q
    cost = np.r_[-np.ones(n), k, np.ones(P), np.zeros(P)]
    alpha, v, w, q = np.split(np.eye(width), [n, n + 1, n + 1 + P])
    rows = [signs @ alpha, -alpha, alpha, -w, q - v - w]
    right = [[0.0], np.zeros(n), np.full(n, C), np.zeros(P), np.zeros(P)]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n + 2 * P)]
    for m in range(P):  # (q + 1)^2 >= (q - 1)^2 + 2 |L'c|^2 says q >= |L'c|^2 / 2
        L = np.linalg.cholesky(K[m] + 1e-10 * np.eye(n))
        rows += [-q[m], -q[m], -np.sqrt(2) * L.T @ (signs[:, None] * alpha)]
        right += [[1.0], [-1.0], np.zeros(n)]
        cones.append(clarabel.SecondOrderConeT(n + 2))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    answer = clarabel.DefaultSolver(
        sparse.csc_matrix((width, width)),
        cost,
        sparse.csc_matrix(np.vstack(rows)),
        np.concatenate(right),
        cones,
        settings,
    ).solve()
    model = MKLClassifier(KERNELS, BinaryMKL(k), C=C, tol=1e-6).fit(X, Y)
    assert model.combiner_.relaxed_objective_ == pytest.approx(-answer.obj_val, rel=1e-5)
    assert model.combiner_.bound_ <= -answer.obj_val * (1 + 1e-6)


def test_the_machine_is_trained_on_the_sum():
    model = MKLClassifier(KERNELS, BinaryMKL(3), tol=1e-6).fit(X, Y)
    sum_of = MKLClassifier(KERNELS, FixedWeights(model.kernel_weights_), tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), sum_of.decision_function(X), atol=1e-5)


def test_all_kernels_have_weight_one_where_all_may():
    model = MKLClassifier(KERNELS, BinaryMKL(5)).fit(X, Y)
    assert model.kernel_weights_.tolist() == [1.0] * 5 and model.history_["solves"].iloc[0] == 2


def test_kernels_that_are_not_chosen_are_not_evaluated():
    calls = []

    def noise(A, B):
        calls.append(len(A))
        return A[:, 4:] @ B[:, 4:].T

    model = MKLClassifier([Linear([0]), Linear([3]), noise], BinaryMKL(2), C=0.1, normalize="unit-trace").fit(X, Y)
    assert model.kernel_weights_["noise"] == 0
    calls.clear()
    model.predict(X)
    assert not calls


def test_missing_views_are_zero_rows_while_weights_are_chosen():
    frame = stack_views({"a": X[:, :1], "b": X[:, 1:2], "d": X[:, 3:4]})
    frame.loc[3, "b__0"] = np.nan
    model = MKLClassifier(
        [Gaussian("a", scale=3.0), Gaussian("b", scale=3.0), Gaussian("d", scale=3.0)], BinaryMKL(2)
    ).fit(frame, Y)
    assert model.kernel_weights_.to_dict() == {"a": 1.0, "b": 0.0, "d": 1.0}
    frame.loc[5, ["a__0", "d__0"]] = np.nan
    with pytest.raises(ValueError, match="sample 5 has none of the views whose kernels have a weight"):
        MKLClassifier([Gaussian("a", scale=3.0), Gaussian("b", scale=3.0), Gaussian("d", scale=3.0)], BinaryMKL(1)).fit(
            frame, Y
        )


def test_bad_parameters_and_early_stops():
    for value in (0, 1.5, True, "two"):
        with pytest.raises(ValueError, match="n_selected of BinaryMKL must be a positive whole number"):
            MKLClassifier(KERNELS, BinaryMKL(value)).fit(X, Y)
    with pytest.raises(ValueError, match="n_selected is 6, but there are only 5 kernels"):
        MKLClassifier(KERNELS, BinaryMKL(6)).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="BinaryMKL stopped after 1 machines"):
        MKLClassifier(KERNELS, BinaryMKL(2, max_iter=1)).fit(X, Y)


def test_slopes_are_those_of_the_solved_machine():
    stack = KernelStack(KERNELS).fit(X)
    K = stack.matrices()
    K += 0.1 * np.eye(40)
    labels = np.digitize(X[:, 0] + X[:, 3], [-0.5, 0.5])
    for machine in (BinaryMachine(2.0 * Y - 1, 1.0), OneVsOneMachine(labels, 1.0), JointMachine(labels, 1.0)):
        eta = np.array([0.3, 0.5, 0.1, 0.9, 0.2])

        def optimum(eta, machine=machine):
            return exactly(machine, np.tensordot(eta, K, 1)).objective

        problem = WeightProblem(training(stack), machine, np.ones(5), np.ones(40), None)
        problem.evaluate(eta, None)
        slopes = -0.5 * problem.evaluate(eta, 1e-10).forms
        step = 1e-4
        differences = [(optimum(eta + step * e) - optimum(eta - step * e)) / (2 * step) for e in np.eye(5)]
        np.testing.assert_allclose(slopes, differences, rtol=1e-3)
