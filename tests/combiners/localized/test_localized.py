"""Localized multiple kernel learning: gradients through every machine, equalities, and what prediction reads."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from cases import each
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import (
    ClusterGate,
    FitControl,
    GaussianGate,
    InstanceGate,
    KernelMap,
    Localized,
    Sigmoid,
    Softmax,
    WeightedSum,
)
from kernelweave.combiners.localized import GatedSum
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import (
    BinaryMachine,
    PosteriorMachine,
    RegressionMachine,
)
from kernelweave.stacks import training
from kernelweave.views import Views
from localized_problem import (
    BOUND,
    GATES,
    KERNELS,
    LABELS,
    MACHINES,
    NEW,
    SIDE,
    SIGNS,
    STACKS,
    TARGET,
    TOY,
    N,
    X,
    prepared,
    rng,
    toy_model,
)
from reference_qp import exactly

CASES = [(gate, "unit") for gate in GATES] + [("softmax", "paper"), ("sigmoid", "paper")]


@each("stack", STACKS)
@each(("gate", "norm"), CASES)
@each("machine", MACHINES)
def test_gradient_through_the_solved_machine(machine, gate, norm, stack):
    machine = MACHINES[machine]
    family, theta = prepared(gate, stack, norm=norm)
    solution = exactly(machine, family.at(theta).gram())
    gradient = family.pullback(family.at(theta), solution.coef) + family.penalty(theta)[1]
    h = 1e-5
    for direction in np.random.RandomState(2).normal(size=(4, len(theta))):
        step = h * direction
        ahead, behind = (
            exactly(machine, family.at(point).gram(), solution).objective + family.penalty(point)[0]
            for point in (theta + step, theta - step)
        )
        assert gradient @ direction == pytest.approx((ahead - behind) / (2 * h), rel=1e-3, abs=2e-5)


@pytest.mark.parametrize(("gate", "norm"), CASES)
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("tol", [0.0, 0.3])
def test_the_kernel_is_what_the_thesis_says_for_training_and_new_samples(gate, norm, stack, tol):
    family, theta = prepared(gate, stack, norm=norm, gate_tol=tol)
    kernel = family.finish(theta)
    K, gates = kernel.gram(), kernel.gates
    matrices = STACKS[stack].matrices()
    np.testing.assert_allclose(K, np.einsum("im,mij,jm->ij", gates, matrices, gates), atol=1e-12)  # (3.9)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    views = STACKS[stack].reference
    np.testing.assert_allclose(kernel.cross(views), K, atol=1e-10)
    np.testing.assert_allclose(kernel.gates_of(views), gates, atol=1e-12)
    np.testing.assert_allclose(kernel.sample_weights(views), gates**2, atol=1e-12)
    if norm == "unit":  # these kernels have a unit diagonal, and so has any combination by gates of unit length
        np.testing.assert_allclose(K.diagonal(), 1.0)
    coef = rng.normal(size=(N, 2))
    np.testing.assert_allclose(kernel.values(views, coef), K @ coef, atol=1e-10)
    lean = kernel.restrict(np.array([2, 9, 30]))
    np.testing.assert_allclose(lean.cross(views), K[:, [2, 9, 30]], atol=1e-10)
    if tol:
        assert (gates[STACKS[stack].present] == 0).any() and not ((gates > 0) & (gates**2 < tol)).any()


@pytest.mark.parametrize("normalize", ["unit-trace", "center", None])
def test_normalisation_of_new_samples(normalize):
    stack = KernelStack(KERNELS, normalize).fit(X)
    family = Localized(gate_tol=0.3).family(training(stack), None, FitControl())
    kernel = family.finish(60.0 * family.start(None, np.random.RandomState(1)))
    K = kernel.gram()
    np.testing.assert_allclose(kernel.cross(Views(X)), K, atol=1e-10 * np.abs(K).max())


@pytest.mark.parametrize("gate", GATES)
def test_one_kernel_is_the_plain_machine(gate):
    model = MKLClassifier([Gaussian()], Localized(GATES[gate]), random_state=0).fit(X, LABELS)
    plain = MKLClassifier([Gaussian()]).fit(X, LABELS)
    np.testing.assert_allclose(model.decision_function(NEW), plain.decision_function(NEW), atol=1e-2)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-3)


def test_a_constant_gate_is_a_fixed_weight():
    family, theta = prepared("sigmoid", "complete", spread=0.0, norm="paper")
    eta = np.array([0.9, 0.2, 0.5])
    theta[-3:] = np.log(eta / (1 - eta))
    fixed = WeightedSum(STACKS["complete"], eta**2)
    np.testing.assert_allclose(family.at(theta).gram(), fixed.gram(), atol=1e-12)


@pytest.mark.parametrize("name", ["binary", "regression", "posterior"])
def test_learning_without_forming_the_kernel_changes_nothing(name, monkeypatch):
    stack, bound = KernelStack([Linear(), Linear()], None).fit(TOY), np.full(260, 10.0)
    target = np.abs(TOY[:, 0])
    machine = {
        "binary": BinaryMachine(np.where(SIDE, 1.0, -1.0), bound),
        "regression": RegressionMachine(target, bound, epsilon=0.2),
        "posterior": PosteriorMachine(np.where(SIDE, 0.9, 0.2), bound),
    }[name]
    solve, solved = machine.solve, []
    monkeypatch.setattr(machine, "solve", lambda *rest, **options: solved.append(1) or solve(*rest, **options))
    control, ends = FitControl(tol=1e-4), []
    for in_parts in (True, False):
        monkeypatch.setattr(GatedSum, "has_cheap_blocks", in_parts)
        ends.append(Localized(l2=1e-3).fit(stack, machine, replace(control, rng=np.random.RandomState(0))))
    assert len(solved) < sum(row["solves"] for end in ends for row in end.history)
    objectives = [end.history[-1]["objective"] for end in ends]
    assert objectives[0] == pytest.approx(objectives[1], rel=0.01)


@pytest.mark.parametrize(
    ("gate", "norm", "factor"),
    [("softmax", "paper", 1 / 3), ("gaussian", "paper", 1 / 3), ("sigmoid", "paper", 3 / 4)]
    + [(gate, "unit", 1.0) for gate in GATES],
)
def test_zero_parameters_are_the_mean_kernel(gate, norm, factor):
    family, theta = prepared(gate, "complete", spread=0.0, norm=norm)
    kernel = family.at(theta)
    mean = STACKS["complete"].matrices().mean(axis=0)
    np.testing.assert_allclose(kernel.gram(), factor * mean, atol=1e-12)
    scaled = BinaryMachine(SIGNS, BOUND).solve(kernel.gram(), gap_tol=1e-10)
    plain = BinaryMachine(SIGNS, factor * BOUND).solve(mean, gap_tol=1e-10)
    assert factor * scaled.objective == pytest.approx(plain.objective, rel=1e-8)


@pytest.mark.parametrize("gating", [Softmax(), GaussianGate(), ClusterGate(n_clusters=6), Sigmoid()])
@pytest.mark.parametrize("optimizer", ["lbfgs", "armijo"])
def test_copies_of_a_kernel_learn_a_piecewise_linear_model(gating, optimizer):
    model = toy_model(gating, optimizer=optimizer, max_iter=1000)
    flat = MKLClassifier([Linear()], C=10.0).fit(TOY[:160], SIDE[:160])
    assert flat.score(TOY[160:], SIDE[160:]) < 0.7
    assert model.score(TOY[160:], SIDE[160:]) > 0.9
    assert np.diff(model.history_["objective"]).max() <= 1e-3 * model.history_["objective"].iloc[0]


def test_quadratic_gating():
    inside = (TOY**2).sum(axis=1) < 1.4
    truth = (TOY[:, 1] > 0) ^ inside  # two linear models, one within a circle
    flat, curved = (
        MKLClassifier([Linear()] * 2, Localized(quadratic=quadratic, l2=0.01), C=10.0, normalize=None, random_state=0)
        .fit(TOY[:160], truth[:160])
        .score(TOY[160:], truth[160:])
        for quadratic in (False, True)
    )
    assert flat < 0.8 and curved > 0.9


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.filterwarnings("ignore:.*this model is not localized")
def test_every_estimator_and_machine(gate):
    """With a given penalty; `test_l2_path` has every machine choose one. The first gate has all, others every third."""
    gating, labels = GATES[gate], np.digitize(X[:, 0], [-0.4, 0.4])
    place = list(GATES).index(gate)
    every = [
        {},
        {"multiclass": "one-vs-all"},
        {"multiclass": "joint"},
        {"multiclass": "one-vs-all", "machine": "least-squares"},
        {"weights": "per-class"},
        {"weights": "per-class", "multiclass": "one-vs-all"},
    ]
    for options in every[place % 3 :: 3] if place else every:
        model = MKLClassifier(KERNELS, Localized(gating, l2=0.003), C=10.0, random_state=0, **options).fit(X, labels)
        assert model.decision_function(NEW).shape == (9, 3)
        assert model.score(X, labels) > 0.8
    model = MKLRegressor(KERNELS, Localized(gating, l2=0.003), C=10.0, random_state=0).fit(X, TARGET)
    assert model.score(X, TARGET) > 0.8
    model = MKLOneClass(KERNELS, Localized(gating, l2=0.003), random_state=0).fit(X)
    assert set(model.predict(NEW)) <= {-1, 1}


def test_a_gating_model_for_each_class():
    model = MKLClassifier(
        KERNELS,
        Localized(inputs=KernelMap(Gaussian()), l2=0.01),
        weights="per-class",
        multiclass="one-vs-one",
        random_state=0,
    ).fit(X, LABELS)  # pairs of classes have different numbers of landmarks, so of parameters
    weights = model.kernel_weights(NEW)
    assert weights.shape == (9, 9) and model.kernel_weights_.shape == (3, 3)
    np.testing.assert_allclose(weights["0 vs 1"].sum(axis=1), 1.0)
    assert not np.allclose(weights["0 vs 1"], weights["1 vs 2"])


def test_weights_are_the_squared_gates():
    model = toy_model()
    weights = model.kernel_weights(TOY[:160])
    np.testing.assert_allclose(model.gates(TOY[:160]) ** 2, weights)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert not hasattr(MKLClassifier(), "gates")
    np.testing.assert_allclose(model.kernel_weights_, weights.mean())
    right = TOY[:160, 0] > 0
    assert abs(weights.loc[right, "linear"].mean() - weights.loc[~right, "linear"].mean()) > 0.5


def test_restarts_are_reproducible_whatever_the_threads():
    one, again, threads = (toy_model(n_init=4, n_jobs=n_jobs, kernels=3) for n_jobs in (None, None, 3))
    for other in (again, threads):
        np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
        np.testing.assert_array_equal(one._kernel.theta, other._kernel.theta)
    single = toy_model(n_init=1, kernels=3)
    assert one.history_["objective"].iloc[-1] <= single.history_["objective"].iloc[-1] + 1e-9


def test_l2_keeps_parameters_small():
    sizes = [np.linalg.norm(toy_model(l2=l2)._kernel.theta) for l2 in (0.001, 0.1, 10.0)]
    assert sizes[0] > sizes[1] > sizes[2]


def test_early_stopping_keeps_the_theta_of_least_validation_risk(monkeypatch):
    noisy = SIDE ^ (np.random.default_rng(1).random(260) < 0.2)
    combiner = Localized(Sigmoid(), l2=0.0, validation_fraction=0.3)
    model = MKLClassifier([Linear()] * 3, combiner, C=10.0, random_state=0, tol=1e-9).fit(TOY[:160], noisy[:160])
    risks = model.history_["validation_risk"]
    assert np.isnan(risks.iloc[-1]) and risks.iloc[:-1].notna().all()  # the last row is the solve for all samples
    assert ((risks * 48).dropna() - (risks * 48).round().dropna()).abs().max() < 1e-9  # 48 samples are held out
    assert len(risks) - 2 - np.flatnonzero(risks == risks.min())[-1] <= 10
    monkeypatch.setattr("kernelweave.stacks.descent.PATIENCE", 10**6)
    assert len(clone(model).fit(TOY[:160], noisy[:160]).history_) > len(risks)  # the same descent, to its own end
    values = model.decision_function(TOY[:160])
    margin = np.where(noisy[:160], values, -values)
    assert (margin[np.setdiff1d(np.arange(160), model.support_)] > 1 - 2e-3).all()  # solved for all 160 samples


def test_validation_risk_is_that_of_the_held_out_samples():
    stack = KernelStack(KERNELS).fit(X)
    combiner = Localized(l2=0.1, validation_fraction=0.25)
    family = combiner.family(training(stack), None, FitControl())
    machine = MACHINES["regression"]
    family.l2 = 0.1
    watch = family.watch(machine, np.random.RandomState(3))
    theta = 50.0 * family.start(None, np.random.RandomState(1))
    solution = watch.machine.solve(watch.family.at(theta).gram())
    kept = watch.family.stack.chosen
    held_out = np.setdiff1d(np.arange(N), kept)
    assert len(held_out) == 8
    # the penalty is measured in the optimum of the part's own mean kernel
    mean = watch.machine.solve(watch.family.stack.matrices().mean(axis=0), gap_tol=1e-8)
    assert watch.family.strength == pytest.approx(0.1 * abs(mean.objective), rel=1e-3)
    K = family.at(theta).gram()
    values = K[np.ix_(held_out, kept)] @ solution.coef + solution.intercept
    assert watch.risk(theta, solution) == pytest.approx(machine.subset(held_out).risk(values))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gating": "softmax"}, "gating of .* must be a gating model"),
        ({"l2": -1.0}, 'l2 of Localized must be a finite number of at least 0, infinity or "auto", not -1.0'),
        ({"l2": "strong"}, "l2 of Localized must be a finite number of at least 0"),
        ({"validation_fraction": 0.2}, 'l2="auto" holds out samples by itself'),
        ({"gating": Softmax("l1")}, "norm of Softmax must be .unit. or .paper., not 'l1'"),
        ({"gate_tol": 1.0}, "gate_tol of Localized must be a number of at least 0 and below 1"),
        ({"validation_fraction": 1.0}, "validation_fraction of Localized must be"),
        (
            {"gating": InstanceGate(), "l2": 0.1, "validation_fraction": 0.2},
            "validation_fraction must be 0 with InstanceGate",
        ),
        ({"l2": 0.1, "validation_fraction": 0.001}, "does not fit these samples"),
        ({"optimizer": "sgd"}, "optimizer of .* must be"),
        ({"scaling": "rows"}, "scaling of .* must be"),
        ({"inputs": "nothing"}, "nothing"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        MKLClassifier(KERNELS, Localized(**options)).fit(X, LABELS)


def test_more_kernels_than_samples():
    model = MKLClassifier([Linear([k % 4]) for k in range(12)], Localized(l2=0.1), random_state=0).fit(X[:8], SIGNS[:8])
    assert model.kernel_weights(NEW).shape == (9, 12)


def test_a_constant_gating_input_learns_global_weights():
    frame = stack_views({"a": X[:, :2], "b": X[:, 2:], "one": np.ones((N, 1))})
    model = MKLClassifier([Gaussian("a"), Gaussian("b")], Localized(inputs="one", l2=0.01), random_state=0)
    with pytest.warns(UserWarning, match="every sample has nearly the same kernel weights .*: this model is not loc"):
        model.fit(frame, SIGNS)
    weights = model.kernel_weights(frame)
    np.testing.assert_allclose(weights - weights.iloc[0], 0.0, atol=1e-12)


def test_float32():
    fits = [
        MKLClassifier(KERNELS, Localized(l2=0.01), dtype=dtype, random_state=0).fit(X, LABELS)
        for dtype in ("float64", "float32")
    ]
    np.testing.assert_allclose(fits[0].kernel_weights(NEW), fits[1].kernel_weights(NEW), atol=0.02)
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-2)
