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
from kernelweave.kernels import Gaussian
from kernelweave.stacks.descent import Start
from kernelweave.stacks.localized import CodesOnDemand, Coding
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
    """The exact family and the one on explicit features, over the same samples, each with its machine."""
    estimator, y = ESTIMATORS[name]
    estimator = estimator if samples is X else clone(estimator).set_params(kernels=KERNELS[:2])
    problems = exact_problem(estimator, samples, y), explicit_problem(clone(estimator).set_params(**EXACT), samples, y)
    return [(clone(combiner).family(*problem, FitControl()), problem[1]) for problem in problems]


def some_theta(family, machine):
    return 5.0 * family.start(machine, np.random.RandomState(1))


def solved(family, machine, theta):
    """The machine at some gates, P at its solution, and the gradient by V."""
    found = machine.solve(family.at(theta).operand(), tol=1e-12)
    primal = family.joint(machine, Start(theta, found)).primal
    value, gradient, _ = primal(primal.join(found.coef, found.intercept, theta))
    return found, value, primal.parts(gradient)[2]


def agrees(exact, explicit):
    """J and its gradient by V, at one V."""
    theta, (family, machine) = some_theta(*explicit), exact
    kernel = family.at(theta)
    wanted = machine.solve(kernel.gram(), gap_tol=1e-12)
    found, value, gradient = solved(*explicit, theta)
    assert found.gap <= 1e-9 * max(1.0, abs(found.objective))
    assert_allclose([found.objective, value], wanted.objective, rtol=1e-6)
    expected = family.pullback(kernel, wanted.coef)
    assert_allclose(gradient, expected, atol=2e-5 * np.abs(expected).max())


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
    family, machine = both("one-vs-all", Localized(gate))[1]
    family.strength = 0.3
    family.mean_optimum(machine)
    theta = some_theta(family, machine)
    primal, rng = family.joint(machine, Start(theta)).primal, np.random.RandomState(0)
    position = primal.join(rng.normal(size=primal.shape), rng.normal(size=primal.shape[1]), theta)
    _, gradient, _ = primal(position)
    for direction in rng.normal(size=(4, len(position))):
        ahead, behind = (primal(position + t * direction)[0] for t in (1e-6, -1e-6))
        assert_allclose(gradient @ direction, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-5)


def test_gradient_through_the_solved_machine():
    problem = both("binary", Localized())[1]
    theta = some_theta(*problem)
    gradient = solved(*problem, theta)[2]
    for direction in np.random.RandomState(0).normal(size=(3, len(theta))):
        ahead, behind = (solved(*problem, theta + t * direction)[0].objective for t in (1e-4, -1e-4))
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
    family = Localized().family(stack, machine, FitControl())
    theta = np.zeros(family.n_parameters)
    theta[-3:] = 0.5, -1.0, 0.2  # biases only
    found = solved(family, machine, theta)[0]
    eta = np.exp(theta[-3:]) / np.exp(theta[-3:]).sum()
    fixed = FixedWeights(eta).fit(stack, machine, FitControl(tol=1e-12))
    assert_allclose(found.objective, fixed.solution.objective, rtol=1e-9)


def test_codes_on_demand_are_those_that_are_held():
    estimator, y = ESTIMATORS["binary"]
    stack, machine = explicit_problem(clone(estimator).set_params(kernels=KERNELS[:2], **EXACT), MISSING, y)
    family = Localized().family(stack, machine, FitControl())
    theta, amplitudes = some_theta(family, machine), family.amplitudes
    for block in stack.engine.blocks:
        held = Coding(family.inputs, family.gate)(block)
        codes = CodesOnDemand(family.inputs, family.gate, block.views, np.dtype(np.float64))
        lazy, rows = dataclasses.replace(held, codes=codes), slice(1, block.n_samples)
        a = amplitudes.values(theta, held, rows)
        assert_allclose(amplitudes.values(theta, lazy, rows), a)
        slopes = np.ones_like(a)
        pulled = (amplitudes.pullback(theta, each, rows, a, slopes) for each in (held, lazy))
        assert_allclose(*pulled)
