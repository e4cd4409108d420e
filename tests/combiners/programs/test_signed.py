import numpy as np
import pytest
from sklearn.base import clone

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import AlignmentWeights, ChosenWeights, FixedWeights, LinearMKL
from kernelweave.combiners import programs as module
from kernelweave.kernels import Gaussian, KernelStack, Linear

rng = np.random.default_rng(6)
X = rng.normal(size=(24, 3))
Y = np.where(X[:, 0] + 0.3 * rng.normal(size=24) > 0, 1, 0)
NEW = rng.normal(size=(5, 3))
KERNELS = [Gaussian([0, 1], scale=1.0), Gaussian([1], scale=1.0), Linear([2])]
MATRICES = KernelStack(KERNELS).fit(X).matrices()


def combined(eta):
    return np.tensordot(np.asarray(eta), MATRICES, 1)


def feasible(count, spread=1.0):
    """Random weights of any sign with a positive semidefinite kernel of trace n."""
    found = []
    while len(found) < count:
        eta = rng.normal(size=3) * spread + 1 / 3
        eta /= eta.sum()
        if np.linalg.eigvalsh(combined(eta))[0] > -1e-10:
            found.append(eta)
    return found


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MKLClassifier(KERNELS, C=2.0), Y),
        (MKLRegressor(KERNELS, C=2.0, epsilon=0.2), X[:, 0]),
        (MKLOneClass(KERNELS, nu=0.4), None),
    ],
)
def test_no_other_weights_have_a_smaller_optimum(model, y):
    found = clone(model).set_params(combiner=LinearMKL(), tol=1e-6).fit(X, y)
    eta = found.kernel_weights_.to_numpy()
    K = combined(eta)
    assert np.linalg.eigvalsh(K)[0] > -1e-6
    assert np.trace(K) == pytest.approx(24)
    assert found.objective_ == pytest.approx(found.combiner_.program_objective_, rel=1e-4)
    assert found.combiner_.gap_ < 1e-5
    for other in feasible(40):
        J = model.set_params(combiner=FixedOfAnySign(other)).fit(X, y).objective_
        assert found.combiner_.program_objective_ * (1 - np.sign(J) * 1e-5) <= J


class FixedOfAnySign(ChosenWeights):
    """Given weights instead of the program's."""

    any_sign = True

    def __init__(self, weights):
        self.weights = weights

    def choose(self, stack, machine, control):
        return self.weights, 0


def test_free_signs_can_only_lower_the_optimum():
    free = MKLClassifier(KERNELS, LinearMKL(), tol=1e-8).fit(X, Y)
    for eta in rng.dirichlet(np.ones(3), size=40):
        assert MKLClassifier(KERNELS, FixedWeights(eta), tol=1e-8).fit(X, Y).objective_ >= free.objective_ - 1e-6


def test_a_kernel_that_holds_the_noise_of_another_gets_a_negative_weight():
    kernels = [("both", Linear([0, 1])), ("noise", Linear([1]))]
    model = MKLClassifier(kernels, LinearMKL(), normalize="unit-trace", C=100.0).fit(X, X[:, 0] > 0)
    assert model.kernel_weights_["noise"] < 0
    stack = KernelStack(kernels, "unit-trace").fit(X)
    K = np.tensordot(model.kernel_weights_, stack.matrices(), 1)
    values = K[:, model.support_] @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-8)


def test_alignment_over_kernels_that_stay_positive_semidefinite():
    model = MKLClassifier(KERNELS, LinearMKL("alignment")).fit(X, Y)
    T = np.outer(2 * Y - 1, 2 * Y - 1)

    def alignment(eta):
        return (combined(eta) * T).sum() / np.linalg.norm(combined(eta)) / 24

    eta = model.kernel_weights_.to_numpy()
    assert np.linalg.eigvalsh(combined(eta))[0] > -1e-6
    assert np.trace(combined(eta)) == pytest.approx(24)
    assert model.combiner_.program_objective_ == pytest.approx(alignment(eta), abs=1e-6)
    for other in feasible(200):
        assert alignment(other) <= alignment(eta) + 1e-6
    positive = MKLClassifier(KERNELS, AlignmentWeights("qcqp", center=False)).fit(X, Y)
    assert alignment(eta) >= positive.combiner_.alignment_ - 1e-6


def test_alignment_takes_other_targets():
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    assert MKLClassifier(KERNELS, LinearMKL("alignment")).fit(X, three).predict(NEW).shape == (5,)
    assert MKLRegressor(KERNELS, LinearMKL("alignment")).fit(X, X[:, 0]).predict(NEW).shape == (5,)
    with pytest.raises(ValueError, match="LinearMKL compares kernels with targets"):
        MKLOneClass(KERNELS, LinearMKL("alignment")).fit(X)


def test_trace_is_a_scale_of_costs():
    one = MKLClassifier(KERNELS, LinearMKL(trace=48.0), C=1.0, tol=1e-8).fit(X, Y)
    other = MKLClassifier(KERNELS, LinearMKL(), C=2.0, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(one.kernel_weights_, 2 * other.kernel_weights_, atol=1e-4)
    np.testing.assert_allclose(one.decision_function(NEW), other.decision_function(NEW), atol=1e-3)


def test_limits_are_told(monkeypatch):
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    with pytest.raises(ValueError, match='criterion="margin" needs a support vector machine with one output'):
        MKLClassifier(KERNELS, LinearMKL()).fit(X, three)
    with pytest.raises(ValueError, match="criterion of LinearMKL must be"):
        MKLClassifier(KERNELS, LinearMKL("error")).fit(X, Y)
    with pytest.raises(ValueError, match="trace of LinearMKL must be a positive finite number"):
        MKLClassifier(KERNELS, LinearMKL(trace=0)).fit(X, Y)
    frame = stack_views({"a": X[:, :2], "b": X[:, 2:]})
    model = MKLClassifier([Linear("a"), Gaussian("b")], LinearMKL()).fit(frame, Y)
    frame.loc[2, "b__0"] = np.nan
    with pytest.raises(ValueError, match="sample 2 lacks the view of the kernel 'b'"):
        model.predict(frame)
    with pytest.raises(ValueError, match="sample 2 lacks the view of the kernel 'b'"):
        model.fit(frame, Y)
    monkeypatch.setattr(module, "LARGEST_RANK", 10)
    with pytest.raises(ValueError, match="joint rank, which is 24 here and may be at most 10"):
        MKLClassifier(KERNELS, LinearMKL()).fit(X, Y)
