"""The penalty that holds gates to the mean kernel: its scale, its strong end, and its choice on held-out samples."""

import dataclasses
import warnings

import numpy as np
import pytest

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import ClusterGate, FitControl, InstanceGate, Localized, Mean, Sigmoid, Softmax
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import OneVsAllMachine
from kernelweave.stacks import training
from kernelweave.stacks.descent import Loop, Start
from kernelweave.stacks.held_out import positions_of_parts
from localized_problem import KERNELS, LABELS, MACHINES, MISSING, NEW, SIDE, SIGNS, TARGET, TOY, N, X, toy_model

HALVES = np.arange(80) % 2 == 1
# Every view tells the classes apart.
FAR = np.random.default_rng(3).normal(size=(80, 12)) + 8.0 * (HALVES[:, None] - 0.5)
PENALTIES = [np.inf, 0.3, 0.1, 0.03, 0.01, 0.003]  # as the docstring of `Localized` has them
LEAST_SQUARES = {"machine": "least-squares", "multiclass": "one-vs-all"}


def test_no_class_with_two_samples_leaves_the_mean_kernel():
    assert positions_of_parts(OneVsAllMachine(np.arange(4), 1.0), np.random.RandomState(0)) == []
    model = MKLClassifier(KERNELS, Localized(), random_state=0)
    with pytest.warns(UserWarning, match="no class has a second sample that could be held out"):
        model.fit(X[:3], [0, 1, 2])
    assert np.isinf(model.combiner_.l2_)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_penalty_is_relative_to_the_mean_kernel(machine):
    stack, machine = KernelStack(KERNELS).fit(X), MACHINES[machine]
    combiner = Localized(Sigmoid(), l2=0.02)
    found = combiner.fit(stack, machine, FitControl(tol=1e-5))
    optimum = abs(machine.solve(stack.matrices().mean(axis=0), gap_tol=1e-8).objective)
    penalty = 0.5 * 0.02 * optimum * found.theta @ found.theta
    expected = found.solution.objective + penalty
    assert found.history[-1]["objective"] == pytest.approx(expected, rel=1e-3)
    assert penalty > 1e-6 * optimum


def test_biases_are_penalised():
    family = Localized(l2=0.5).family(training(KernelStack(KERNELS).fit(X)), None, FitControl())
    family.strength = 0.5
    theta = np.zeros_like(family.start(None, np.random.RandomState(0)))
    theta[-1] = 2.0  # a bias
    value, gradient = family.penalty(theta)
    assert value == pytest.approx(1.0) and gradient[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("gating", [Softmax(), Sigmoid()])
def test_strong_penalties_end_in_the_mean_kernel(gating):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        strong = MKLClassifier(KERNELS, Localized(gating, l2=1e6), C=3.0, tol=1e-6, random_state=0).fit(X, SIGNS)
    plain = MKLClassifier(KERNELS, Mean(), C=3.0, tol=1e-6).fit(X, SIGNS)
    np.testing.assert_allclose(strong.decision_function(NEW), plain.decision_function(NEW), atol=1e-3)


def test_samples_that_give_no_reason_take_the_mean_kernel_and_say_so():
    model = MKLClassifier([Linear(slice(k, k + 3)) for k in (0, 3, 6, 9)], Localized(), random_state=0)
    with pytest.warns(UserWarning, match="took equal gates: this model is not localized; Mean.. is this model"):
        model.fit(FAR, HALVES)
    assert np.isinf(model.combiner_.l2_)
    np.testing.assert_array_equal(model.kernel_weights(FAR), 0.25)
    plain = MKLClassifier(model.kernels).fit(FAR, HALVES)
    np.testing.assert_allclose(model.decision_function(FAR), plain.decision_function(FAR), atol=1e-2)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-3)


def test_copies_of_one_kernel_leave_the_stationary_point():
    model = toy_model(l2="auto")
    assert model.score(TOY[160:], SIDE[160:]) > 0.9
    assert model.combiner_.l2_ in PENALTIES[1:]
    path = model.combiner_.l2_path_
    assert list(path.index) == PENALTIES and list(path) == ["risk", "difference", "error"]
    assert path["risk"].iloc[0] > 0.3 > path["risk"].min()
    assert model.history_["solves"].iloc[0] > 50  # those of the choice are counted


def descents(tol=1e-7):
    """A descent of gates under a strong penalty, and what makes another one."""
    stack = training(KernelStack(KERNELS).fit(X))
    stack.prepare()
    machine, control = MACHINES["binary"], FitControl(np.random.RandomState(0), tol=tol)
    family = Localized().family(stack, machine, control)
    family.strength = 0.1 * family.mean_optimum(machine)

    def made():
        return stack.descent(family, machine, None, Loop("lbfgs", 500, control, 0.0, lambda: None))

    run = made()
    return family, run, run.descend(Start(family.start(machine, control.rng))), made


def test_a_descent_goes_on_under_another_penalty():
    family, run, strong, made = descents()
    family.strength *= 0.1
    weak, fresh = run.go_on(), made().descend(Start(strong.solution))
    assert weak.objective == pytest.approx(fresh.objective, rel=1e-5) and weak.objective < 0.99 * strong.objective
    value, gradient, _ = made().evaluate(weak.solution)
    assert weak.objective == pytest.approx(value, rel=1e-6)
    assert np.linalg.norm(gradient) < 0.05 * family.strength * np.linalg.norm(weak.solution)
    family.strength *= 10.0
    back = run.go_on()
    assert back.objective == pytest.approx(strong.objective, rel=1e-5)


def test_going_on_begins_with_what_is_known():
    """No solve at the start, and the steps' curvature under the new penalty: y of each step as it would be now."""
    family, run, strong, made = descents(tol=1e-2)
    before, pairs, strength = run.total, run.model.pairs.copy(), family.strength
    family.strength *= 0.5
    run.loop = dataclasses.replace(run.loop, max_iter=1)
    end = run.go_on()
    assert run.total - before == end.evaluations  # and none for the start
    changed = pairs[:, 1] - 0.5 * strength * pairs[:, 0]
    kept = (pairs[:, 0] * changed).sum(axis=1) > 0
    assert kept.any()
    np.testing.assert_allclose(run.model.pairs[: kept.sum()][-5:, 1], changed[kept][-5:], rtol=1e-6, atol=1e-9)


def test_copies_have_gates_that_hardly_differ():
    """So that noise is added to their parameters, without which they would stay copies."""
    stack = training(KernelStack([Linear([0])] * 2).fit(X))
    family = Localized().family(stack, MACHINES["binary"], FitControl())
    theta = np.array([1.0, -1.0, 0.3, 0.3])  # slopes, biases
    assert family.differs(theta) and family.differs(np.array([1.0, 1.0, 0.3, 0.0]))
    assert not family.differs(np.array([1.0, 1.0 + 1e-3, 0.3, 0.3]))


def test_the_choice_does_not_depend_on_threads():
    one, other = toy_model(l2="auto"), toy_model(l2="auto", n_jobs=3)
    np.testing.assert_array_equal(one._kernel.theta, other._kernel.theta)
    assert one.combiner_.l2_path_.equals(other.combiner_.l2_path_)


def test_an_infinite_penalty_can_be_given():
    with pytest.warns(UserWarning, match="nearly the same kernel weights .* Mean.. is this model"):
        model = MKLClassifier(KERNELS, Localized(l2=np.inf), random_state=0).fit(X, SIGNS)
    np.testing.assert_allclose(model.kernel_weights(X), 1 / 3)


@pytest.mark.parametrize("gating", [Softmax(), Sigmoid(), ClusterGate(n_clusters=8)])
def test_starts_are_far_enough_from_the_stationary_point(gating):
    """Copies of one kernel: at V = 0 nothing promises to be better, and a start too near to it would end there."""
    samples = np.random.default_rng(0).normal(size=(200, 8))
    y = samples[:, 1] * np.sign(samples[:, 0]) > 0
    ends = [
        MKLClassifier([Linear()] * 3, Localized(gating, l2=1e-3), tol=tol, random_state=0).fit(samples, y)
        for tol in (1e-3, 1e-6)
    ]
    start, *_ = ends[0].history_["objective"]
    loose, fine = (model.history_["objective"].iloc[-1] for model in ends)
    assert loose < 0.5 * (start + fine)


def test_a_number_given_is_a_number_used():
    model = toy_model(l2=0.0123)
    assert model.combiner_.l2_ == 0.0123 and not hasattr(model.combiner_, "l2_path_")


@pytest.mark.filterwarnings("ignore:.*this model is not localized")
def test_every_machine_chooses():
    rare = np.where(np.arange(N) == 5, 7, LABELS)  # a class of one sample
    for options in ({}, {"multiclass": "one-vs-all"}, {"multiclass": "joint"}, LEAST_SQUARES):
        model = MKLClassifier(KERNELS, Localized(), random_state=0, **options).fit(X, rare)
        assert model.combiner_.l2_ in PENALTIES and len(model.classes_) == 4
    assert MKLRegressor(KERNELS, Localized(), random_state=0).fit(X, TARGET).combiner_.l2_ in PENALTIES
    missing = MKLClassifier(KERNELS[:2], Localized(), random_state=0).fit(MISSING, SIGNS)
    assert missing.combiner_.l2_ in PENALTIES
    four = MKLClassifier([Linear([0]), Linear([1])], Localized(), random_state=0).fit(X[:3], [0, 1, 1])
    assert np.isinf(four.combiner_.l2_)


@pytest.mark.filterwarnings("ignore:.*this model is not localized")
def test_what_cannot_be_held_out_has_a_documented_value():
    assert MKLOneClass(KERNELS, Localized(), random_state=0).fit(X).combiner_.l2_ == 0.3
    model = MKLClassifier([Gaussian()] * 2, Localized(InstanceGate()), random_state=0).fit(X, SIGNS)
    assert model.combiner_.l2_ == pytest.approx(3.0 / N)
