"""Every machine of the package has the properties of the protocol, at unequal costs and, where allowed, costs of 0."""

import numpy as np
import pytest

from kernelweave import machines
from kernelweave.machines import (
    BinaryMachine,
    EpsilonInsensitive,
    Hinge,
    JointMachine,
    LeastSquaresClassMachine,
    LeastSquaresMachine,
    Loss,
    LossMachine,
    Machine,
    OneClassMachine,
    OneVsAllMachine,
    OneVsOneMachine,
    PosteriorMachine,
    RegressionMachine,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
    SquaredMargin,
    SquaredOneClassMachine,
    SurvivalMachine,
    TargetsMachine,
)
from machine_properties import check_machine

rng = np.random.default_rng(0)
N = 36
LABELS = rng.permutation(np.arange(N) % 4)
SIGNS = np.where(LABELS < 2, 1.0, -1.0)
BOUND = rng.uniform(0.3, 3.0, N)
WITHOUT = np.where(np.arange(N) == 5, 0.0, BOUND)
TARGET = rng.standard_normal(N)
TARGETS = np.column_stack([TARGET, 3.0 * SIGNS + TARGET, np.full(N, 2.0)])  # of different size; one is constant
TIMES = np.ceil(4.0 * rng.exponential(size=N))
BINARY_LOSSES = [Hinge(), SquaredHinge(), SquaredMargin()]
REGRESSION_LOSSES = [EpsilonInsensitive(epsilon=0.1), SquaredEpsilonInsensitive(epsilon=0.1), SquaredError()]
MACHINES = {
    "binary": BinaryMachine(SIGNS, WITHOUT),
    "regression": RegressionMachine(TARGET, WITHOUT, epsilon=0.1),
    "one-class": OneClassMachine(5 * BOUND / BOUND.sum()),
    "one-class, squared": SquaredOneClassMachine(5 * BOUND / BOUND.sum(), nu=0.2),
    "one-vs-one": OneVsOneMachine(LABELS, BOUND),
    "one-vs-all": OneVsAllMachine(LABELS, WITHOUT),
    "joint": JointMachine(LABELS, WITHOUT),
    "joint, soft": JointMachine(LABELS, BOUND, posterior=0.6 * np.eye(4)[LABELS] + 0.4 * rng.dirichlet(np.ones(4), N)),
    "posterior": PosteriorMachine(np.clip(0.5 + 0.3 * SIGNS + 0.1 * rng.standard_normal(N), 0.0, 1.0), BOUND),
    "least-squares": LeastSquaresMachine(TARGET, BOUND),
    "least-squares, outputs": LeastSquaresMachine(np.column_stack([TARGET, SIGNS]), BOUND),
    "least-squares, classes": LeastSquaresClassMachine(LABELS, BOUND),
    "squared hinge": SquaredHinge().for_targets(SIGNS, WITHOUT),
    "squared hinge, one-vs-all": SquaredHinge().one_vs_all(LABELS, WITHOUT),
    "squared hinge, one-vs-one": SquaredHinge().one_vs_one(LABELS, BOUND, n_jobs=2),
    "squared epsilon-insensitive": SquaredEpsilonInsensitive(epsilon=0.2).for_targets(TARGET, WITHOUT),
    "least-squares, one-vs-one": SquaredMargin().one_vs_one(LABELS, BOUND),
    "targets": EpsilonInsensitive(epsilon=0.1).several_targets(TARGETS, WITHOUT),
    "targets, smooth": SquaredEpsilonInsensitive(epsilon=0.1).several_targets(TARGETS, WITHOUT, n_jobs=2),
    "one target": EpsilonInsensitive(epsilon=0.1).several_targets(TARGETS[:, :1], BOUND),
    "targets, single least squares": TargetsMachine(SquaredError(), TARGETS, BOUND),
    "cox": SurvivalMachine(TIMES, LABELS > 0, 2.0, BOUND, LABELS % 2),
    "cox, Breslow's ties": SurvivalMachine(TIMES, LABELS > 0, 2.0, loss="cox-breslow"),
    "ranking": SurvivalMachine(TIMES, LABELS > 0, 2.0, BOUND, LABELS % 2, loss="ranking"),
} | {f"{type(loss).__name__} by its terms": LossMachine(loss, SIGNS, BOUND) for loss in BINARY_LOSSES}
MACHINES |= {f"{type(loss).__name__} by its terms": LossMachine(loss, TARGET, BOUND) for loss in REGRESSION_LOSSES}


@pytest.mark.parametrize("name", MACHINES)
def test_protocol(name):
    check_machine(MACHINES[name])


def test_every_public_machine_is_checked():
    public = [getattr(machines, name) for name in machines.__all__]
    concrete = {cls for cls in public if isinstance(cls, type) and issubclass(cls, Machine) and cls is not Machine}
    assert concrete == {type(machine) for machine in MACHINES.values()}
    losses = {cls for cls in public if isinstance(cls, type) and issubclass(cls, Loss)}
    assert losses - {Loss, machines.BinaryLoss, machines.RegressionLoss} == {
        type(loss) for loss in BINARY_LOSSES + REGRESSION_LOSSES
    }


@pytest.mark.parametrize("loss", BINARY_LOSSES + REGRESSION_LOSSES, ids=lambda loss: type(loss).__name__)
def test_a_loss_makes_the_machine_of_its_terms(loss):
    y = SIGNS if loss.has_classes else TARGET
    made, plain = loss.for_targets(y, BOUND), LossMachine(loss, y, BOUND)
    values = 2.0 * rng.standard_normal((N, 1))
    assert made.loss(values) == pytest.approx(plain.loss(values), rel=1e-12)
    np.testing.assert_allclose(made.slope(values), plain.slope(values))
    coef = -made.slope(values)
    assert made.conjugate(coef) == pytest.approx(plain.conjugate(coef), rel=1e-12)
    assert made.has_box_dual == plain.has_box_dual or isinstance(made, LeastSquaresMachine)


def test_losses_are_what_their_names_say():
    f = np.array([0.3, -2.0, 1.5])
    y, C = np.array([1.0, 1.0, -1.0]), np.array([1.0, 2.0, 3.0])
    lack = np.maximum(0.0, 1.0 - y * f)
    assert Hinge().for_targets(y, C).loss(f) == pytest.approx(C @ lack)
    assert SquaredHinge().for_targets(y, C).loss(f) == pytest.approx(0.5 * C @ lack**2)
    assert SquaredMargin().for_targets(y, C).loss(f) == pytest.approx(0.5 * C @ (y - f) ** 2)
    error = np.maximum(0.0, np.abs(y - f) - 0.2)
    assert EpsilonInsensitive(epsilon=0.2).for_targets(y, C).loss(f) == pytest.approx(C @ error)
    assert SquaredEpsilonInsensitive(epsilon=0.2).for_targets(y, C).loss(f) == pytest.approx(0.5 * C @ error**2)
    assert OneClassMachine(C).loss(f) == pytest.approx(C @ np.maximum(0.0, -f))
    joint = JointMachine(np.array([0, 1, 1]), C)
    pairs = np.column_stack([np.zeros(3), f])
    lead = np.array([-f[0], f[1], f[2]])
    assert joint.loss(pairs) == pytest.approx(C @ np.maximum(0.0, 2.0 - lead))


def test_capabilities():
    novelty = [name for name, machine in MACHINES.items() if machine.detects_novelty]
    assert novelty == ["one-class", "one-class, squared"]
    assert MACHINES["squared hinge, one-vs-one"].n_jobs == 2 and MACHINES["binary"].n_jobs is None
    boxes = {name for name, machine in MACHINES.items() if machine.has_box_dual}
    by_terms = {"Hinge by its terms", "EpsilonInsensitive by its terms"}
    assert boxes == {"binary", "regression", "one-class", "posterior"} | by_terms


def test_infeasible_coefficients_have_an_infinite_conjugate():
    over = 2.0 * BOUND * SIGNS
    assert BinaryMachine(SIGNS, BOUND).conjugate(over) == np.inf
    assert SquaredHinge().for_targets(SIGNS, BOUND).conjugate(over) < np.inf
    assert SquaredHinge().for_targets(SIGNS, BOUND).conjugate(-over) == np.inf
    for side in (1.0, -1.0):  # below the lower bound of one sample, above the upper bound of another
        one = np.where(np.arange(N) == np.flatnonzero(side == SIGNS)[0], -0.1 * side, 0.0)
        assert BinaryMachine(SIGNS, BOUND).conjugate(one) == np.inf
    coef = np.zeros((N, 6))
    coef[LABELS == 3, 0] = 0.1  # column 0 is classes 0 and 1
    assert OneVsOneMachine(LABELS, BOUND).conjugate(coef) == np.inf
    assert JointMachine(LABELS, BOUND).conjugate(np.full((N, 4), 0.1)) == np.inf


def test_bad_losses_are_named():
    class Mixed(machines.BinaryLoss):
        def terms(self, y, bound):
            ends = bound * y
            return machines.DualTerms(y, np.minimum(ends, 0.0), np.maximum(ends, 0.0), quadratic=np.maximum(y, 0.0))

    class Wrong(machines.RegressionLoss):
        def terms(self, y, bound):
            return {"linear": y}

    with pytest.raises(ValueError, match="quadratic terms of Mixed must be all positive or all zero"):
        Mixed().for_targets(SIGNS, BOUND).solve(np.eye(N))
    with pytest.raises(TypeError, match="Wrong.terms must return DualTerms, not dict"):
        Wrong().for_targets(TARGET, BOUND).solve(np.eye(N))
    with pytest.raises(ValueError, match="must hold \\+1 and -1 only"):
        SquaredHinge().for_targets(TARGET, BOUND)
    for y in (TARGET, np.full((N, 2), np.nan), np.empty((N, 0))):
        with pytest.raises(ValueError, match=r"y must be finite, of shape \(n_samples, n_targets\)"):
            EpsilonInsensitive().several_targets(y, BOUND)
    with pytest.raises(ValueError, match="y must be one-dimensional and finite"):
        SquaredEpsilonInsensitive().for_targets(np.full(N, np.nan), BOUND)
    for epsilon in (-1.0, np.nan, np.inf, "wide", None, [0.1], True):
        for loss in (EpsilonInsensitive(epsilon=epsilon), SquaredEpsilonInsensitive(epsilon=epsilon)):
            with pytest.raises(ValueError, match="epsilon of .* must be a finite number of at least 0"):
                loss.for_targets(TARGET, BOUND).solve(np.eye(N))
