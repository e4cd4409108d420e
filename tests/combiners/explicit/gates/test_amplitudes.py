"""Gates on explicit features: equal to the exact path with all samples as landmarks, in float64."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from explicit_gates import ALL, exact_problem, explicit_problem
from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import (
    ClusterGate,
    FitControl,
    FixedWeights,
    GaussianGate,
    KernelMap,
    Localized,
    Mean,
    Sigmoid,
    Softmax,
)
from kernelweave.combiners.explicit.gates.amplitudes import CodesOnDemand, Coding, GateAmplitudes
from kernelweave.combiners.explicit.gates.fitting import GatedFit
from kernelweave.kernels import Gaussian
from localized_problem import KERNELS, LABELS, MISSING, SIGNS, TARGET, X

GATES = {
    "softmax": Softmax(),
    "softmax, paper": Softmax("paper"),
    "sigmoid": Sigmoid(),
    "sigmoid, paper": Sigmoid("paper"),
    "gaussian": GaussianGate(),
    "clusters": ClusterGate(n_clusters=3),
}
TWO = np.column_stack([TARGET, 2.0 * X[:, 2]])
EXACT = {"approximation": ALL, "dtype": "float64", "tol": 1e-10}
ESTIMATORS = {
    "binary": (MKLClassifier(KERNELS, machine="squared-hinge", C=2.0), SIGNS),
    "one-vs-all": (MKLClassifier(KERNELS, machine="squared-hinge", C=2.0), LABELS),
    "least squares": (MKLClassifier(KERNELS, machine="least-squares", C=2.0), LABELS),
    "regression": (MKLRegressor(KERNELS, machine="squared-epsilon-insensitive", C=2.0), TARGET),
    "several targets": (MKLRegressor(KERNELS, machine="least-squares", C=2.0), TWO),
}


def both(name, combiner, samples=X):
    """The exact family at hand, and the fit on explicit features, over the same samples."""
    estimator, y = ESTIMATORS[name]
    estimator = estimator if samples is X else clone(estimator).set_params(kernels=KERNELS[:2])
    stack, machine = exact_problem(estimator, samples, y)
    family = clone(combiner).family(stack, machine, y, FitControl())
    explicit = clone(estimator).set_params(**EXACT)
    fit = GatedFit(clone(combiner), *explicit_problem(explicit, samples, y), FitControl(tol=1e-12))
    return family, machine, fit


def some_theta(fit, seed=1, size=5.0):
    return size * fit._start(np.random.RandomState(seed))


def agrees(family, machine, fit):
    """J and its gradient by V, at one V."""
    theta = some_theta(fit)
    kernel = family.at(theta)
    exact = machine.solve(kernel.gram(), gap_tol=1e-12)
    zero = fit.problem.mean_solution(fit.engine)
    found = fit.problem.solution_at(fit.engine, theta, zero)
    assert found.gap <= 1e-9 * max(1.0, abs(found.objective))
    assert_allclose(found.objective, exact.objective, rtol=1e-6)
    primal = fit.problem.primal(fit.engine, 0.0)
    _, gradient, _ = primal(primal.join(found.coef, found.intercept, theta))
    by_theta = primal.parts(gradient)[2]
    expected = family.pullback(kernel, exact.coef)
    assert_allclose(by_theta, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_objective_and_gradient_of_machines(name):
    agrees(*both(name, Localized(Softmax())))


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
def test_objective_and_gradient_of_gates(gate):
    agrees(*both("binary", Localized(gate)))


@pytest.mark.parametrize(
    "options",
    [{"quadratic": True}, {"scaling": "unit-row"}, {"scaling": None}, {"inputs": [0, 2]}],
    ids=str,
)
def test_objective_and_gradient_of_inputs(options):
    agrees(*both("binary", Localized(**options)))


def test_objective_and_gradient_of_missing_views():
    agrees(*both("binary", Localized(Softmax()), MISSING))


def test_objective_and_gradient_of_a_kernel_map():
    combiner = Localized(inputs=KernelMap(Gaussian(scale=2.0), n_landmarks=len(X)))
    agrees(*both("binary", combiner))


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
def test_gradient_by_all_parameters_is_that_of_differences(gate):
    _, _, fit = both("one-vs-all", Localized(gate))
    primal = fit.problem.primal(fit.engine, 0.3)
    rng = np.random.RandomState(0)
    shape = primal.shape
    position = primal.join(rng.normal(size=shape), rng.normal(size=shape[1]), some_theta(fit))
    _, gradient, _ = primal(position)
    for direction in rng.normal(size=(4, len(position))):
        ahead, behind = (primal(position + t * direction)[0] for t in (1e-6, -1e-6))
        assert_allclose(gradient @ direction, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-5)


def test_gradient_through_the_solved_machine():
    _, _, fit = both("binary", Localized())
    theta, primal = some_theta(fit), fit.problem.primal(fit.engine, 0.0)
    start = fit.problem.mean_solution(fit.engine)

    def optimum(at):
        return fit.problem.solution_at(fit.engine, at, start)

    found = optimum(theta)
    gradient = primal.parts(primal(primal.join(found.coef, found.intercept, theta))[1])[2]
    for direction in np.random.RandomState(0).normal(size=(3, len(theta))):
        ahead, behind = (optimum(theta + t * direction).objective for t in (1e-4, -1e-4))
        assert_allclose(gradient @ direction, (ahead - behind) / 2e-4, rtol=1e-4, atol=1e-5)


def fitted(combiner, samples=X, y=SIGNS, kernels=KERNELS, **options):
    model = MKLClassifier(kernels, combiner, approximation=ALL, dtype="float64", tol=1e-7, random_state=0, **options)
    return model.fit(samples, y)


@pytest.mark.filterwarnings("ignore:every sample has nearly the same")
def test_no_gating_parameters_are_the_mean_kernel():
    mean, even = fitted(Mean(), C=2.0), fitted(Localized(l2=np.inf), C=2.0)
    assert_allclose(even.objective_, mean.objective_, rtol=1e-6)
    assert_allclose(even.decision_function(X), mean.decision_function(X), atol=1e-3)
    assert_allclose(even.kernel_weights_, 1.0 / 3.0)


@pytest.mark.filterwarnings("ignore:every sample has nearly the same")
@pytest.mark.parametrize(("gate", "factor"), [(Softmax("paper"), 1 / 3), (Sigmoid("paper"), 3 / 4)], ids=str)
def test_no_parameters_of_the_papers_gates_are_the_mean_kernel_at_another_cost(gate, factor):
    # f = sum a_m <w_m, phi_m> with a_m = a; the mean kernel has 1/P, so the kernel is that times a^2 P: C times that
    even = fitted(Localized(gate, l2=np.inf), C=2.0)
    mean = fitted(Mean(), C=2.0 * factor)
    assert_allclose(even.objective_ * factor, mean.objective_, rtol=1e-5)


def test_one_kernel_is_the_plain_machine():
    plain = fitted(Mean(), kernels=KERNELS[:1])
    for gate in (Softmax(), GaussianGate(), Softmax("paper")):
        model = fitted(Localized(gate, l2=0.01), kernels=KERNELS[:1])
        assert_allclose(model.objective_, plain.objective_, rtol=1e-5)


def test_constant_gates_are_fixed_weights():
    estimator, y = ESTIMATORS["binary"]
    stack, machine = explicit_problem(clone(estimator).set_params(**EXACT), X, y)
    fit = GatedFit(Localized(), stack, machine, FitControl(tol=1e-12))
    theta = np.zeros(fit.problem.n_parameters)
    theta[-3:] = 0.5, -1.0, 0.2  # biases only
    found = fit.problem.solution_at(fit.engine, theta, fit.problem.mean_solution(fit.engine))
    eta = np.exp(theta[-3:]) / np.exp(theta[-3:]).sum()
    fixed = FixedWeights(eta).fit(stack, machine, None, FitControl(tol=1e-12))
    assert_allclose(found.objective, fixed.solution.objective, rtol=1e-9)


def test_codes_on_demand_are_those_that_are_held():
    estimator, y = ESTIMATORS["binary"]
    stack, machine = explicit_problem(clone(estimator).set_params(kernels=KERNELS[:2], **EXACT), MISSING, y)
    fit = GatedFit(Localized(), stack, machine, FitControl())
    theta = some_theta(fit)
    for block in stack.engine.blocks:
        held = Coding(fit.inputs, fit.gate)(block)
        codes = CodesOnDemand(fit.inputs, fit.gate, block.views, np.dtype(np.float64))
        lazy = dataclasses.replace(held, codes=codes)
        amplitudes, rows = GateAmplitudes(fit.gate, fit.problem.active, len(theta)), slice(1, block.n_samples)
        a = amplitudes.values(theta, held, rows)
        assert_allclose(amplitudes.values(theta, lazy, rows), a)
        slopes = np.ones_like(a)
        pulled = (amplitudes.pullback(theta, each, rows, a, slopes) for each in (held, lazy))
        assert_allclose(*pulled)
