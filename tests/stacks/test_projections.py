"""`Projected` on explicit features: value, gradient, and the model that is learned."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import Mean, Projected, Sigmoid, Softmax
from kernelweave.combiners.base import FitControl
from kernelweave.engines.reservoir import fitted_maps
from kernelweave.engines.targets import ClassTargets
from kernelweave.estimators.samples import rows_in_memory
from kernelweave.estimators.training import Preparation
from kernelweave.features import ExactFeatures, FourierFeatures, NystroemFeatures
from kernelweave.kernels import Gaussian, KernelStack, Laplacian, Linear, Polynomial
from kernelweave.machines import SquaredHinge
from kernelweave.reduction import FromEstimator
from kernelweave.stacks import training
from kernelweave.stacks.descent import Start
from kernelweave.stacks.explicit import Features
from kernelweave.stacks.localized import NystroemTerm, ProjectedBlocks, ProjectedPrimal
from kernelweave.views import Views

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 5))
X_MISSING = X.copy()
X_MISSING[::9, 3:] = np.nan
Y = (X[:, 0] + X[:, 1] * (X[:, 2] > 0) > 0).astype(int)
CASES = {
    "linear": (Linear(), ExactFeatures()),
    "fourier": (Gaussian(), FourierFeatures(30)),
    "nystroem": (Gaussian(), NystroemFeatures(20)),
    "all samples": (Gaussian(), NystroemFeatures(90)),
    "polynomial": (Polynomial(), NystroemFeatures(20)),
    "exact polynomial": (Polynomial(), ExactFeatures()),
}


TARGETS = ClassTargets(SquaredHinge(), np.array([0, 1]), 1.0, np.ones(2))


def stack_of(kernels, approximation, X=X, normalize="unit-diagonal"):
    """Explicit features of all samples, and the machine."""
    engine, dtype = rows_in_memory(Views(X), Y, np.ones(len(X)), n_rows=40), np.dtype("float64")
    given = kernels, normalize, approximation, np.random.RandomState(0), dtype
    reservoir, stack, maps, _ = fitted_maps(engine, *given)
    blocks = engine.replace(Preparation(maps, stack, TARGETS, dtype))
    return Features(stack, maps, blocks, len(X)), TARGETS(reservoir.y, reservoir.weight)[0]


def problem_of(combiner, stack, machine):
    """The family, a start, and the problem of the descent from it."""
    family = combiner.family(stack, machine, FitControl(np.random.RandomState(0)))
    family.strength = 0.3
    theta = family.start(machine, np.random.RandomState(0))
    start = Start(theta, rest=stack.terms(family, theta, np.random.RandomState(1)))
    return family, start, family.joint(machine, start)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "combiner",
    [
        Projected(2),
        Projected(2, Softmax(), gating_components=2),
        Projected([1, 2], Sigmoid(), constraint="penalty", projection_l2=0.5),
    ],
)
def test_gradient(name, combiner):
    kernel, approximation = CASES[name]
    kernels = [("a", kernel.set_params(view=[0, 1, 2])), ("b", type(kernel)([3, 4]))]
    _, start, problem = problem_of(combiner, *stack_of(kernels, approximation, X_MISSING))
    primal, theta, draw = problem.primal, start.theta, np.random.RandomState(2)
    position = np.concatenate([draw.normal(size=primal.shape[0] + 1), theta + 0.1 * draw.normal(size=len(theta))])
    _, gradient, _ = primal(position)
    for part in (slice(0, primal.shape[0]), slice(primal.shape[0], primal.shape[0] + 1), slice(-len(theta), None)):
        direction = np.zeros_like(position)
        direction[part] = draw.normal(size=len(position[part]))
        h = 1e-6
        ahead, behind = (primal(position + sign * h * direction)[0] for sign in (1, -1))
        slope = (ahead - behind) / (2 * h)
        assert gradient @ direction == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", ["linear", "all samples"])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "center"])
def test_objective_and_gradient_at_given_parameters_are_those_of_the_exact_path(name, normalize):
    kernel, approximation = CASES[name]
    kernels = [("a", kernel.set_params(view=[0, 1, 2])), ("b", type(kernel)([3, 4]))]
    stack, machine = stack_of(kernels, approximation, X_MISSING, normalize)
    family, start, problem = problem_of(Projected(2, Softmax()), stack, machine)
    primal, theta = problem.primal, start.theta
    kernel, _ = problem.finish(family, theta, problem.solution)
    stack = kernel.stack
    solution = machine.solve(kernel.operand(), gap_tol=1e-10)

    machine, _ = TARGETS(Y, np.ones(len(X)))
    exact = training(KernelStack(kernels, normalize).fit(X_MISSING, None, Y)).for_machine(machine, Y)
    family = Projected(2, Softmax()).family(exact, machine, FitControl(np.random.RandomState(0)))
    family.strength = 0.3
    np.testing.assert_allclose(family.start(machine, np.random.RandomState(0)), theta, atol=1e-9)
    there = family.at(theta)
    best = machine.solve(there.operand(), gap_tol=1e-10)
    assert solution.objective == pytest.approx(best.objective, rel=1e-5)

    parts = np.split(solution.coef, stack.offsets[1:-1])
    for m, term in enumerate(start.rest):
        if isinstance(term, NystroemTerm):  # the coordinates of the descent
            parts[m] = np.linalg.solve(term.basis, stack.maps[m].whitening @ parts[m])
    value, gradient, _ = primal(primal.join(np.vstack(parts), solution.intercept, theta))
    penalty, by_theta = family.penalty(theta)
    assert value - penalty == pytest.approx(best.objective, rel=1e-5)
    wanted = family.gradient(there, best) + by_theta
    assert np.linalg.norm(gradient[-len(theta) :] - wanted) < 2e-3 * np.linalg.norm(wanted)


@pytest.mark.parametrize("name", ["linear", "all samples"])
def test_a_projection_that_only_turns_is_no_projection(name):
    kernel, approximation = CASES[name]
    kernel = kernel.set_params(view=[0, 1, 2], **({} if name == "linear" else {"scale": 2.0}))
    options = {"approximation": approximation, "dtype": "float64", "tol": 1e-6, "random_state": 0}
    whole = MKLClassifier([kernel], Mean(), **options).fit(X, Y)
    turned = MKLClassifier([kernel], Projected(3), **options).fit(X, Y)
    assert turned.objective_ == pytest.approx(whole.objective_, rel=1e-5)
    np.testing.assert_allclose(turned.decision_function(X), whole.decision_function(X), atol=2e-2)


@pytest.mark.parametrize("name", ["linear", "fourier", "nystroem"])
def test_a_fitted_model(name):
    kernel, approximation = CASES[name]
    kernels = [("a", kernel.set_params(view=[0, 1, 2])), ("b", type(kernel)([3, 4]))]
    combiner = Projected(2, Softmax(), gating_components=1)
    model = MKLClassifier(kernels, combiner, approximation=approximation, random_state=0).fit(X_MISSING, Y)
    assert model.score(X_MISSING, Y) > 0.75 and model.duality_gap_ <= 1e-3 * model.objective_
    assert model.history_.objective.iloc[0] > model.history_.objective.iloc[-1]
    W = model.projections_["a"]
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-10)
    points = model.project(X_MISSING)
    assert points.shape == (90, 4) and not points.iloc[0, 2:].any()
    np.testing.assert_allclose((model.gates(X_MISSING) ** 2).sum(axis=1), 1.0)
    assert set(model.feature_coef_) == {"a", "b"} and model.gating_projection_.shape == (5, 1)
    local = model.local_values(X_MISSING)
    assert local.notna().sum().tolist() == [90, 80]
    parts = model.feature_coef_["a"].shape[0] + model.feature_coef_["b"].shape[0]
    assert parts == sum(each.n_features for each in model.approximation_.values())
    again = MKLClassifier(kernels, combiner, approximation=approximation, random_state=0).fit(X_MISSING, Y)
    np.testing.assert_array_equal(again.decision_function(X_MISSING), model.decision_function(X_MISSING))
    features = FromEstimator(model).transform(X)
    assert features.shape == (90, 4) and np.isfinite(features).all()


def test_regression_and_starts():
    y = np.sin(X[:, 0] + X[:, 1])
    found = [
        MKLRegressor([Gaussian()], Projected(1, n_init=n), approximation=FourierFeatures(60), C=10.0, random_state=0)
        .fit(X, y)
        .history_.objective.iloc[-1]
        for n in (1, 3)
    ]
    assert found[1] <= found[0] * (1.0 + 1e-3)


@pytest.mark.parametrize(
    ("kernel", "approximation", "combiner", "message"),
    [
        (Laplacian(), FourierFeatures(20), Projected(2), r"whole Gram matrix of 'mine' \(Laplacian\)"),
        (Gaussian(), PCA(2), Projected(2), "cannot take this approximation of the kernel 'mine'"),
        (Linear(), ExactFeatures(), Projected(2, optimizer="armijo"), "optimizer='armijo'"),
        (Linear(), ExactFeatures(), Projected(2, validation_fraction=0.2), "holds out samples"),
        (Linear(), ExactFeatures(), Projected(2, features="kpca"), "kernel PCA"),
    ],
)
def test_what_cannot_be_had(kernel, approximation, combiner, message):
    with pytest.raises(ValueError, match=message):
        MKLClassifier([("mine", kernel)], combiner, approximation=approximation).fit(X, Y)


def test_a_combiner_by_itself_refuses_kernels_without_derivatives():
    with pytest.raises(ValueError, match="differentiable by their features.*'mine' is Laplacian"):
        Projected(2).fit(*stack_of([("mine", Laplacian())], FourierFeatures(20)))


def test_a_device_is_refused():
    stack, machine = stack_of([Linear()], ExactFeatures())
    stack.engine.place = SimpleNamespace(is_host=False)
    with pytest.raises(ValueError, match='learned on the CPU; use device="cpu"'):
        Projected(2).fit(stack, machine)


def test_blocks_are_gone_through_in_tiles(monkeypatch):
    kernels, found = [("a", Gaussian([0, 1, 2])), ("b", Gaussian([3, 4]))], []
    for tile in (90, 7):
        monkeypatch.setattr("kernelweave.stacks.localized.TILE", tile)
        _, start, problem = problem_of(Projected(2, Softmax()), *stack_of(kernels, NystroemFeatures(20)))
        position = np.concatenate([np.ones(problem.primal.shape[0] + 1), start.theta])
        found.append(problem.primal(position)[1])
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-9)


def test_what_is_sent_to_blocks_pickles():
    kernels = [("a", Linear()), ("b", Gaussian()), ("c", Gaussian())]
    approximation = {"a": ExactFeatures(), "b": FourierFeatures(10), "c": NystroemFeatures(10)}
    stack, machine = stack_of(kernels, approximation)
    family, start, problem = problem_of(Projected(2, Softmax()), stack, machine)
    primal = problem.primal
    again = pickle.loads(pickle.dumps(primal.model))
    position = np.concatenate([np.ones(primal.shape[0] + 1), start.theta])
    other = ProjectedPrimal(primal.engine, again, 1, total=machine.total, penalty=family.penalty)
    np.testing.assert_array_equal(other(position)[1], primal(position)[1])
    maps = problem.finish(family, start.theta, problem.solution)[0].stack.maps
    block = stack.engine.blocks[0]
    made = pickle.loads(pickle.dumps(ProjectedBlocks(maps, family.inputs, family.gate, None)))(block)
    assert made.n_samples == block.n_samples and made.features.offsets[-1] == 2 + 10 + maps[2].n_features


@pytest.mark.parametrize("weights", ["shared", "per-class"])
def test_a_class_that_the_reservoir_lacks(weights, monkeypatch):
    """Starts and sums over classes need no sample of each class among those that constants come from."""
    monkeypatch.setattr("kernelweave.features.LEAST_RESERVOIR", 60)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] > 0).astype(int)
    y[5] = 2
    kernels = [("a", Gaussian([0, 1])), ("b", Gaussian([2, 3]))]
    model = MKLClassifier(
        kernels, Projected(1, max_iter=3), approximation=FourierFeatures(2), random_state=3, weights=weights
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.decision_function(X).shape == (300, 3)
