import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, datasets
from kernelweave.combiners import FixedWeights, PolynomialMKL
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import BinaryMachine

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
    model = MKLClassifier(KERNELS, PolynomialMKL(1, 0.0, [0.5, 0.2, 1.0], radius=0.0), tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(NEW), fixed.decision_function(NEW), atol=1e-6)
    one = MKLClassifier([Linear()], PolynomialMKL(2, 0.0, 1.0, radius=0.0), normalize=None, tol=1e-8).fit(X, Y)
    square = MKLClassifier([Linear() * Linear()], normalize=None, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(one.decision_function(NEW), square.decision_function(NEW), atol=1e-6)


@pytest.mark.parametrize(("degree", "constant"), [(1, 0.0), (2, 0.0), (3, 0.5)])
@pytest.mark.parametrize("center", [0.0, 0.2])
def test_the_weights_minimise_the_optimum_over_the_ball(degree, constant, center):
    combiner = PolynomialMKL(degree, constant, center, radius=0.6)
    model = MKLClassifier(KERNELS, combiner, C=2.0, tol=1e-7).fit(X, Y)
    stack = KernelStack(KERNELS).fit(X)
    machine = BinaryMachine(np.where(Y, 1.0, -1.0), 2.0)

    def optimum(eta):
        solution = machine.solve(combiner.gram(stack, np.maximum(eta, 0)), gap_tol=1e-9)
        return solution.objective, combiner.pullback(stack, np.maximum(eta, 0), solution.coef)

    ball = {"type": "ineq", "fun": lambda eta: 0.36 - np.sum((eta - center) ** 2)}
    expected = minimize(optimum, np.full(3, 0.3), jac=True, bounds=[(0, None)] * 3, constraints=[ball], method="SLSQP")
    assert model.objective_ == pytest.approx(expected.fun, rel=1e-4)
    weights = model.kernel_weights_.to_numpy()
    assert weights.min() >= 0.0 and np.linalg.norm(weights - center) <= 0.6 * (1 + 1e-9)


def test_default_start_has_a_unit_diagonal():
    stack = KernelStack(KERNELS).fit(X)
    for combiner in (PolynomialMKL(), PolynomialMKL(3, constant=2.0), PolynomialMKL(center=0.0)):
        start = combiner.start(stack, None, None, None)
        np.testing.assert_allclose(combiner.gram(stack, start).diagonal(), 1.0)


def test_order_of_kernels_does_not_matter():
    models = [MKLClassifier(kernels, PolynomialMKL(), tol=1e-7).fit(X, Y) for kernels in (KERNELS, KERNELS[::-1])]
    np.testing.assert_allclose(models[0].decision_function(NEW), models[1].decision_function(NEW), atol=1e-3)
    np.testing.assert_allclose(models[0].kernel_weights_, models[1].kernel_weights_[::-1], atol=1e-3)


def test_a_weight_of_two_is_a_sample_given_twice():
    weight = np.where(np.arange(70) % 4 == 0, 2, 1)
    model = MKLClassifier(KERNELS, PolynomialMKL(), tol=1e-7).fit(X, Y, sample_weight=weight)
    again = MKLClassifier(KERNELS, PolynomialMKL(), tol=1e-7).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(model.decision_function(NEW), again.decision_function(NEW), atol=1e-3)


def test_regression_novelty_and_more_classes():
    target = X[:, 0] * X[:, 1]
    linear = [Linear([0]), Linear([1]), Linear([2, 3])]
    model = MKLRegressor(linear, PolynomialMKL(), C=10.0, normalize=None).fit(X, target)
    assert model.score(NEW, NEW[:, 0] * NEW[:, 1]) > 0.95
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
        ({"constant": -1.0}, "constant must be"),
        ({"radius": np.inf}, "radius must be"),
        ({"radius": "2"}, "radius must be"),
        ({"center": {"unknown": 1.0}}, "center names kernels that are not there"),
        ({"center": [1.0]}, "center must have one entry"),
        ({"center": 0.0, "radius": 0.0}, "every weight of PolynomialMKL is 0"),
        ({"max_iter": None}, "max_iter of PolynomialMKL"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        MKLClassifier(KERNELS, PolynomialMKL(**options)).fit(X, Y)


def test_parameters_of_the_centre_are_reached_by_name():
    model = MKLClassifier(KERNELS, PolynomialMKL(center={"gaussian": 0.1}))
    changed = clone(model).set_params(combiner__center__gaussian=0.7)
    assert changed.combiner.center == {"gaussian": 0.7} and model.combiner.center == {"gaussian": 0.1}
