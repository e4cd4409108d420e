import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, datasets, stack_views
from kernelweave.combiners import FitControl, FixedWeights, Mean, PolynomialMKL
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import BinaryMachine
from kernelweave.stacks.held_out import positions_of_parts

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 4))
NEW = rng.normal(size=(20, 4))
Y = X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=70) > 0
KERNELS = [Gaussian([0], scale=1.5), Gaussian([1], scale=1.5), Gaussian([2, 3], scale=2.0)]


def test_one_kernel_of_degree_one_is_the_plain_machine():
    plain = MKLClassifier([Gaussian()], tol=1e-8).fit(X, Y)
    for optimizer in ("lbfgs", "armijo"):
        learned = MKLClassifier([Gaussian()], PolynomialMKL(degree=1, constant=0.0, optimizer=optimizer), tol=1e-8).fit(
            X, Y
        )
        assert learned.kernel_weights_.iloc[0] == pytest.approx(1.0)
        np.testing.assert_allclose(learned.decision_function(NEW), plain.decision_function(NEW), atol=1e-6)


def test_radius_zero_keeps_the_centre():
    fixed = MKLClassifier(KERNELS, FixedWeights([0.5, 0.2, 1.0]), tol=1e-8).fit(X, Y)
    model = MKLClassifier(KERNELS, PolynomialMKL(1, 0.0, ball_center=[0.5, 0.2, 1.0], ball_radius=0.0), tol=1e-8).fit(
        X, Y
    )
    np.testing.assert_allclose(model.decision_function(NEW), fixed.decision_function(NEW), atol=1e-6)
    one = MKLClassifier(
        [Linear()], PolynomialMKL(2, 0.0, ball_center=1.0, ball_radius=0.0, tau=1.0), normalize=None, tol=1e-8
    ).fit(X, Y)
    square = MKLClassifier([Linear() * Linear()], normalize=None, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(one.decision_function(NEW), square.decision_function(NEW), atol=1e-6)


@pytest.mark.parametrize(("degree", "constant"), [(1, 0.0), (2, 0.0), (3, 0.5)])
@pytest.mark.parametrize("center", [0.0, 0.2])
@pytest.mark.parametrize("tau", [1.0, 0.25])
def test_the_weights_minimise_the_optimum_over_the_ball(degree, constant, center, tau):
    combiner = PolynomialMKL(degree, constant, ball_center=center, ball_radius=0.6, tau=tau)
    model = MKLClassifier(KERNELS, combiner, C=2.0, tol=1e-7).fit(X, Y)
    family = combiner.family(KernelStack(KERNELS).fit(X), None, None)
    machine = BinaryMachine(np.where(Y, 1.0, -1.0), 2.0)

    def optimum(eta):
        kernel = family.at(np.maximum(eta, 0))
        solution = machine.solve(kernel.gram(), gap_tol=1e-9)
        return solution.objective, family.pullback(kernel, solution.coef)

    ball = {"type": "ineq", "fun": lambda eta: 0.36 - np.sum((eta - center) ** 2)}
    expected = minimize(optimum, np.full(3, 0.3), jac=True, bounds=[(0, None)] * 3, constraints=[ball], method="SLSQP")
    assert model.objective_ == pytest.approx(expected.fun, rel=1e-4)
    weights = model.kernel_weights_.to_numpy()
    assert weights.min() >= 0.0 and np.linalg.norm(weights - center) <= 0.6 * (1 + 1e-9)


@pytest.mark.parametrize("tau", [0.0, 0.3, 1.0])
def test_default_start_has_a_unit_diagonal(tau):
    for combiner in (
        PolynomialMKL(tau=tau),
        PolynomialMKL(3, constant=2.0, tau=tau),
        PolynomialMKL(ball_center=0.0, tau=tau),
    ):
        family = combiner.family(KernelStack(KERNELS).fit(X), None, None)
        np.testing.assert_allclose(family.at(family.start(None, None)).gram().diagonal(), 1.0)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_without_products_uniform_weights_are_the_mean_kernel(degree):
    uniform = PolynomialMKL(degree, tau=0.0)._uniform(3)
    model = MKLClassifier(KERNELS, PolynomialMKL(degree, ball_center=uniform, ball_radius=0.0, tau=0.0), tol=1e-8).fit(
        X, Y
    )
    mean = MKLClassifier(KERNELS, Mean(), tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(NEW), mean.decision_function(NEW), atol=1e-6)


def test_the_share_of_products_mixes_both_kernels():
    stack = KernelStack(KERNELS).fit(X)
    eta = np.array([0.3, 0.1, 0.5])

    def gram(tau):
        return PolynomialMKL(tau=tau).family(stack, None, None).at(eta).gram()

    np.testing.assert_allclose(gram(0.3), 0.7 * gram(0.0) + 0.3 * gram(1.0))


class TestHeldOutShare:
    def test_products_that_decide_are_taken(self):
        options = {"normalize": None, "C": 10.0, "random_state": 0}
        model = MKLClassifier([Linear([0]), Linear([1])], PolynomialMKL(), **options).fit(X, Y)
        assert model.combiner_.tau_ > 0.0
        plain = MKLClassifier([Linear([0]), Linear([1])], PolynomialMKL(tau=0.0), **options).fit(X, Y)
        fresh = np.random.default_rng(1).normal(size=(300, 4))
        truth = fresh[:, 0] * fresh[:, 1] > 0
        assert model.score(fresh, truth) > 0.9 > plain.score(fresh, truth)

    def test_products_that_are_nearly_diagonal_are_not(self):
        noise = np.random.default_rng(0).normal(size=(120, 2, 400))
        direction, side = np.random.default_rng(1).normal(size=400), np.arange(120) % 2
        views = noise + 0.12 * (2 * side[:, None, None] - 1) * direction
        A = stack_views({"a": views[:, 0], "b": views[:, 1]})
        model = MKLClassifier([Linear("a"), Linear("b")], PolynomialMKL(), random_state=0).fit(A[:60], side[:60])
        mean = MKLClassifier([Linear("a"), Linear("b")]).fit(A[:60], side[:60])
        assert model.combiner_.tau_ < 1.0
        assert model.score(A[60:], side[60:]) >= mean.score(A[60:], side[60:]) - 0.02

    def test_is_the_one_of_least_error_and_the_smallest_of_equals(self):
        stack, machine = KernelStack(KERNELS).fit(X), BinaryMachine(np.where(Y, 1.0, -1.0), 2.0)
        combiner = PolynomialMKL()
        combiner.fit(stack, machine, FitControl(np.random.RandomState(3)))
        errors = {}
        for tau in (0.0, 0.25, 0.5, 1.0):  # as the docstring has them
            given = PolynomialMKL(ball_center=combiner._uniform(3), ball_radius=0.0, tau=tau)
            wrong = 0
            for held_out in positions_of_parts(machine, np.random.RandomState(3)):
                training = np.setdiff1d(np.arange(len(Y)), held_out)
                model = MKLClassifier(KERNELS, given, C=2.0).fit(X[training], Y[training])
                wrong += np.sum(model.predict(X[held_out]) != Y[held_out])
            errors[tau] = wrong
        assert combiner.tau_ == min(errors, key=lambda tau: (errors[tau], tau))

    def test_given_numbers_are_used(self):
        model = MKLClassifier(KERNELS, PolynomialMKL(tau=0.3)).fit(X, Y)
        assert model.combiner_.tau_ == 0.3

    def test_repeats_with_the_random_state(self):
        shares = [MKLClassifier(KERNELS, PolynomialMKL(), random_state=5).fit(X, Y).combiner_.tau_ for _ in range(2)]
        assert shares[0] == shares[1]

    def test_novelty_has_a_documented_value(self):
        assert MKLOneClass(KERNELS, PolynomialMKL(), nu=0.2).fit(X).combiner_.tau_ == 0.0

    def test_classes_of_one_sample_cannot_be_held_out(self):
        model = MKLClassifier(KERNELS, PolynomialMKL()).fit(X[:4], np.arange(4))
        assert model.combiner_.tau_ == 0.0


def test_order_of_kernels_does_not_matter():
    options = {"tol": 1e-7, "random_state": 0}
    models = [MKLClassifier(kernels, PolynomialMKL(), **options).fit(X, Y) for kernels in (KERNELS, KERNELS[::-1])]
    np.testing.assert_allclose(models[0].decision_function(NEW), models[1].decision_function(NEW), atol=1e-3)
    np.testing.assert_allclose(models[0].kernel_weights_, models[1].kernel_weights_[::-1], atol=1e-3)


@pytest.mark.parametrize("tau", [0.25, 1.0])
def test_a_weight_of_two_is_a_sample_given_twice(tau):
    weight, combiner = np.where(np.arange(70) % 4 == 0, 2, 1), PolynomialMKL(tau=tau)
    model = MKLClassifier(KERNELS, combiner, tol=1e-7).fit(X, Y, sample_weight=weight)
    again = MKLClassifier(KERNELS, combiner, tol=1e-7).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(model.decision_function(NEW), again.decision_function(NEW), atol=1e-3)


def test_regression_novelty_and_more_classes():
    target = X[:, 0] * X[:, 1]
    linear = [Linear([0]), Linear([1]), Linear([2, 3])]
    model = MKLRegressor(linear, PolynomialMKL(), C=10.0, normalize=None).fit(X, target)
    assert model.score(NEW, NEW[:, 0] * NEW[:, 1]) > 0.95 and model.combiner_.tau_ > 0
    assert np.mean(MKLOneClass(KERNELS, PolynomialMKL(), nu=0.2).fit(X).predict(X) == 1) > 0.7
    classes = np.digitize(target, [-0.3, 0.3])
    for options in ({"multiclass": "joint"}, {"multiclass": "one-vs-all", "machine": "least-squares"}, {"n_jobs": 2}):
        model = MKLClassifier(linear, PolynomialMKL(), C=10.0, normalize=None, **options).fit(X, classes)
        assert model.score(X, classes) > 0.75


def test_samples_without_a_view_are_learned_from():
    gaps, new = X.copy(), NEW.copy()
    gaps[::7, 0] = np.nan
    new[::3, 2:] = np.nan
    model = MKLClassifier(KERNELS, PolynomialMKL(constant=0.0), C=10.0).fit(gaps, Y)
    weights = model.kernel_weights(new)
    assert (weights.iloc[::3, 2] == 0).all() and (weights.iloc[::3, 0] > model.kernel_weights_.iloc[0]).all()
    assert model.score(gaps, Y) > 0.85


def test_multifeat_beats_the_mean_kernel():
    data, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    train, test, y, y_test = train_test_split(data, y, train_size=667, stratify=y, random_state=0)
    scaler = StandardScaler().set_output(transform="pandas").fit(train)
    train, test = scaler.transform(train), scaler.transform(test)
    model, mean = (MKLClassifier(combiner=combiner, C=10.0).fit(train, y) for combiner in (PolynomialMKL(), None))
    assert model.score(test, y_test) >= 0.985
    assert mean.score(test, y_test) < 0.98


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degree": 0}, "degree of PolynomialMKL"),
        ({"degree": 1.5}, "degree of PolynomialMKL"),
        ({"constant": -1.0}, "constant of PolynomialMKL must be"),
        ({"ball_radius": np.inf}, "ball_radius of PolynomialMKL must be"),
        ({"ball_radius": "2"}, "ball_radius of PolynomialMKL must be"),
        ({"ball_center": {"unknown": 1.0}}, "ball_center names kernels that are not there"),
        ({"ball_center": [1.0]}, "ball_center must have one entry"),
        ({"ball_center": 0.0, "ball_radius": 0.0}, "every weight of PolynomialMKL is 0"),
        ({"tau": 1.5}, "tau of PolynomialMKL must be a number from 0 to 1"),
        ({"tau": "half"}, "tau of PolynomialMKL"),
        ({"tau": True}, "tau of PolynomialMKL"),
        ({"tau": [0.5]}, "tau of PolynomialMKL"),
        ({"max_iter": None}, "max_iter of PolynomialMKL"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        MKLClassifier(KERNELS, PolynomialMKL(**options)).fit(X, Y)


def test_parameters_of_the_centre_are_reached_by_name():
    model = MKLClassifier(KERNELS, PolynomialMKL(ball_center={"gaussian": 0.1}))
    changed = clone(model).set_params(combiner__ball_center__gaussian=0.7)
    assert changed.combiner.ball_center == {"gaussian": 0.7} and model.combiner.ball_center == {"gaussian": 0.1}
