"""The joint multiclass machine, hard and soft labels: against Clarabel, the binary machine, and its own certificate."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.machines import BinaryMachine, JointMachine
from reference_joint import clarabel_joint, joint_dual, joint_primal, recovered_alpha


def data(seed, n=40, classes=3, kind="gaussian"):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % classes)
    X = rng.standard_normal((n, 4)) + 1.2 * np.eye(classes, 4)[labels]
    X[n // 2] = X[0]
    K = X @ X.T if kind == "linear" else np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 4)
    return K, labels, rng


def posterior_of(rng, n, classes):
    return rng.dirichlet(np.full(classes, 0.7), n)


@pytest.mark.parametrize("kind", ["gaussian", "linear"])
@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_optimum_is_clarabels_and_the_certificate_holds(kind, soft, classes):
    K, labels, rng = data(classes, classes=classes, kind=kind)
    bound = rng.uniform(0.2, 5.0, len(labels))
    machine = JointMachine(labels, bound, posterior=posterior_of(rng, len(labels), classes) if soft else None)
    solution = machine.solve(K, gap_tol=1e-8)
    optimum = clarabel_joint(K, labels, machine.margins(), bound)
    assert solution.converged
    assert solution.objective == pytest.approx(optimum, rel=1e-6, abs=1e-7)
    C = solution.coef
    np.testing.assert_allclose(C.sum(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(C.sum(axis=1), 0.0, atol=1e-9)
    alpha = recovered_alpha(C, labels)
    assert (alpha >= 0).all() and (alpha <= bound[:, None]).all()
    assert solution.objective == pytest.approx(joint_dual(K, labels, machine.margins(), C), rel=1e-9, abs=1e-10)
    primal = joint_primal(K, labels, machine.margins(), bound, C, solution.intercept)
    assert solution.gap >= 0
    assert solution.gap == pytest.approx(primal - solution.objective, abs=1e-8 * max(1.0, primal))
    assert solution.intercept.sum() == pytest.approx(0.0, abs=1e-9)


def test_loose_tolerances_are_kept_and_certified():
    K, labels, _ = data(0, n=90, classes=4)
    machine = JointMachine(labels, 3.0)
    exact = machine.solve(K, gap_tol=1e-10)
    for gap_tol in (1e-1, 1e-2, 1e-4):
        loose = machine.solve(K, gap_tol=gap_tol)
        assert loose.converged and loose.gap <= gap_tol * max(1.0, loose.objective)
        slack = 1e-9 * exact.objective
        assert loose.objective - slack <= exact.objective <= loose.objective + loose.gap + slack
    for tol in (0.5, 1e-2, 1e-5):
        assert machine.solve(K, tol=tol).violation <= tol
    limited = machine.solve(K, max_steps=3, gap_tol=1e-9)
    assert not limited.converged and limited.gap > 0


@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_the_binary_machine(seed):
    K, labels, rng = data(seed, classes=2)
    bound = rng.uniform(0.2, 5.0, len(labels))
    binary = BinaryMachine(2.0 * labels - 1.0, bound).solve(K, gap_tol=1e-10)
    joint = JointMachine(labels, bound).solve(K, gap_tol=1e-10)
    assert joint.objective == pytest.approx(2 * binary.objective, rel=1e-8)
    values = K @ joint.coef + joint.intercept
    np.testing.assert_allclose(values[:, 1] - values[:, 0], 2 * (K @ binary.coef + binary.intercept)[:, 0], atol=1e-4)


def test_certain_posteriors_are_hard_labels():
    K, labels, _ = data(1, classes=4)
    hard = JointMachine(labels, 2.0).solve(K, gap_tol=1e-9)
    soft = JointMachine(labels, 2.0, posterior=np.eye(4)[labels]).solve(K, gap_tol=1e-9)
    np.testing.assert_array_equal(hard.coef, soft.coef)


def test_a_soft_label_takes_the_pull_from_a_mislabelled_sample():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [6, 0], [0, 6]])
    labels = np.arange(60) % 3
    X = centres[labels] + rng.normal(size=(60, 2))
    X[0] = [4.2, 0]  # an outlier of class 0 on the near side of class 1
    K = (1 + X @ X.T) ** 2 / 100
    posterior = np.eye(3)[labels]
    posterior[0] = [0.0, 1.0, 0.0]
    hard = JointMachine(labels, 1.0).solve(K, gap_tol=1e-8)
    soft = JointMachine(labels, 1.0, posterior=posterior).solve(K, gap_tol=1e-8)
    assert hard.coef[0].any() and not soft.coef[0].any()
    assert np.count_nonzero(soft.coef.any(axis=1)) < np.count_nonzero(hard.coef.any(axis=1))


def test_starts():
    K, labels, rng = data(2, n=80, classes=4)
    machine = JointMachine(labels, 2.0)
    cold = machine.solve(K, gap_tol=1e-6)
    assert machine.solve(K, start=cold, gap_tol=1e-6).steps == 0
    near = K * np.outer(*[1 + 0.001 * rng.standard_normal(80)] * 2)
    warm = machine.solve(near, start=cold, gap_tol=1e-6)
    fresh = machine.solve(near, gap_tol=1e-6)
    assert warm.objective == pytest.approx(fresh.objective, rel=1e-5) and warm.steps < 0.5 * fresh.steps
    # A start that is no feasible point: out of its box, wrong signs, unbalanced classes.
    wild = machine.solve(K, start=3 * rng.standard_normal((80, 4)), gap_tol=1e-8)
    assert wild.objective == pytest.approx(cold.objective, rel=2e-6)
    np.testing.assert_allclose(wild.coef.sum(axis=0), 0.0, atol=1e-9)


def test_layout_type_and_order_of_samples_do_not_matter():
    K, labels, rng = data(3, n=60, classes=4)
    machine = JointMachine(labels, 2.0)
    exact = machine.solve(K, gap_tol=1e-9)
    K.flags.writeable = False
    for other in (np.asfortranarray(K), K.astype(np.float32), np.kron(K, np.ones((2, 2)))[::2, ::2]):
        assert machine.solve(other, gap_tol=1e-9).objective == pytest.approx(exact.objective, rel=1e-5)
    order = rng.permutation(60)
    shuffled = machine.subset(order).solve(K[np.ix_(order, order)], gap_tol=1e-9)
    np.testing.assert_allclose(shuffled.coef, exact.coef[order], atol=1e-3)
    assert shuffled.objective == pytest.approx(exact.objective, rel=1e-8)


def test_memory_beside_the_kernel_is_small():
    K, labels, _ = data(5, n=1000, classes=6, kind="linear")
    machine = JointMachine(labels, 0.1)
    tracemalloc.start()
    solution = machine.solve(K, gap_tol=1e-3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert solution.converged and peak < 0.75 * K.nbytes


def test_what_floating_point_cannot_reach_ends_unconverged_and_indefinite_kernels_end():
    K, labels, rng = data(6, n=60, classes=4, kind="linear")
    solution = JointMachine(labels, 1.0).solve(K, gap_tol=1e-18)
    assert solution.gap < 1e-9 and solution.converged == (solution.gap <= 1e-18 * solution.objective)
    noise = rng.standard_normal((60, 60))
    assert np.isfinite(JointMachine(labels, 1.0).solve(noise + noise.T, gap_tol=1e-6).objective)


def test_subset_decision_and_risk():
    K, labels, rng = data(4, n=60, classes=4)
    machine = JointMachine(labels, 2.0, posterior=posterior_of(rng, 60, 4))
    kept = labels != 2
    small = machine.subset(kept)
    assert small.n_classes == small.n_outputs == 4 and small.n_samples == kept.sum()
    np.testing.assert_array_equal(small.margins(), machine.margins()[kept])
    np.testing.assert_array_equal(small.strata, labels[kept])
    without = JointMachine(labels, 2.0).subset(kept)
    inner = K[np.ix_(kept, kept)]
    solution = without.solve(inner, gap_tol=1e-8)
    values = inner @ solution.coef + solution.intercept
    assert solution.converged and 2 not in without.decision(values).argmax(axis=1)
    assert without.risk(values) == np.mean(values.argmax(axis=1) != labels[kept])
    alone = JointMachine(labels, 2.0).subset(labels == 1)
    solution = alone.solve(K[np.ix_(labels == 1, labels == 1)])
    assert solution.converged and not solution.coef.any() and solution.gap == pytest.approx(0.0, abs=1e-12)
    assert solution.intercept.argmax() == 1


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 25),
    classes=st.integers(2, 6),
    rank=st.integers(0, 4),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    soft=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_any_shape_is_solved_and_certified(n, classes, rank, scale, soft, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank))
    labels = rng.integers(0, classes, n)
    bound = rng.uniform(0, 2, n) * (rng.random(n) < 0.9)
    K = scale * X @ X.T
    machine = JointMachine(labels, bound, n_classes=classes, posterior=posterior_of(rng, n, classes) if soft else None)
    solution = machine.solve(K, gap_tol=1e-6)
    assert solution.converged and solution.gap >= 0
    primal = joint_primal(K, labels, machine.margins(), bound, solution.coef, solution.intercept)
    assert primal - solution.objective == pytest.approx(solution.gap, abs=1e-7 * max(1.0, primal))
    np.testing.assert_allclose(solution.coef.sum(axis=0), 0.0, atol=1e-10)


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: JointMachine(np.array([0.5, 1.0]), 1.0), "integers"),
        (lambda: JointMachine(np.array([0, 0]), 1.0), "two classes"),
        (lambda: JointMachine(np.array([0, 1]), np.ones(3)), "bound"),
        (lambda: JointMachine(np.array([0, 1]), 1.0, posterior=np.eye(3)), "shape"),
        (lambda: JointMachine(np.array([0, 1]), 1.0, posterior=2 * np.eye(2)), "from 0 to 1"),
        (lambda: JointMachine(np.array([0, 1]), 1.0, posterior=0.5 * np.eye(2)), "sum to 1"),
        (lambda: JointMachine(np.array([0, 1]), 1.0).solve(np.eye(3)), "K must be"),
        (lambda: JointMachine(np.array([0, 1]), 1.0).solve(np.full((2, 2), np.nan)), "NaN"),
        (lambda: JointMachine(np.array([0, 1]), 1.0).solve(np.eye(2), start=np.zeros((3, 2))), "shape"),
        (lambda: JointMachine(np.array([0, 1]), 1.0).risk(np.zeros((3, 2))), "shape"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()
