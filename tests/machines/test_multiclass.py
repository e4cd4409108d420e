"""One-versus-one and one-versus-all: against scikit-learn, and independent of threads and layout."""

import numpy as np
import pytest
from sklearn.svm import SVC

from kernelweave.machines import BinaryMachine, OneVsAllMachine, OneVsOneMachine, independent


def data(n=160, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    X = rng.standard_normal((n, 5)) + 1.5 * np.eye(5)[labels]
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 5), labels, rng


def test_one_versus_one_is_sklearns():
    K, labels, rng = data()
    weight = rng.uniform(0.5, 2.0, len(labels))
    theirs = SVC(kernel="precomputed", C=3.0, tol=1e-7).fit(K, labels, sample_weight=weight)
    pairwise = theirs.set_params(decision_function_shape="ovo").decision_function(K)
    machine = OneVsOneMachine(labels, 3.0 * weight)
    solution = machine.solve(K, tol=1e-7)
    values = K @ solution.coef + solution.intercept
    np.testing.assert_allclose(values, -pairwise, atol=1e-4)  # theirs is positive for the first class of a pair
    # Votes and confidences of values on which both agree exactly.
    public = theirs.set_params(decision_function_shape="ovr").decision_function(K)
    decision = machine.decision(values)
    np.testing.assert_allclose(decision, public, atol=1e-4)
    np.testing.assert_array_equal(decision.argmax(axis=1), theirs.predict(K))
    assert machine.risk(values) == pytest.approx(np.mean(theirs.predict(K) != labels))


def test_votes_come_first_and_confidence_breaks_ties():
    machine = OneVsOneMachine(np.array([0, 1, 2]), 1.0)
    # (0,1) -> 0, (0,2) -> 2, (1,2) -> 1: one vote each; class 2 wins its pair by most and loses by least.
    decision = machine.decision(np.array([[-1.0, 5.0, -0.1], [-9.0, -0.1, 0.2]]))
    np.testing.assert_array_equal(np.round(decision), [[1, 1, 1], [2, 0, 1]])
    assert decision[0].argmax() == 2 and decision[1].argmax() == 0


def test_one_versus_all_is_one_binary_machine_a_class():
    K, labels, _ = data()
    machine = OneVsAllMachine(labels, 2.0)
    solution = machine.solve(K)
    parts = [BinaryMachine(np.where(labels == a, 1.0, -1.0), 2.0).solve(K) for a in range(4)]
    np.testing.assert_array_equal(solution.coef, np.hstack([part.coef for part in parts]))
    np.testing.assert_array_equal(solution.intercept, np.concatenate([part.intercept for part in parts]))
    assert solution.objective == pytest.approx(sum(part.objective for part in parts))
    assert solution.gap == pytest.approx(sum(part.gap for part in parts))
    assert solution.steps == sum(part.steps for part in parts)
    assert solution.violation == max(part.violation for part in parts)
    values = K @ solution.coef + solution.intercept
    np.testing.assert_array_equal(machine.decision(values), values)
    assert machine.risk(values) < 0.2


@pytest.mark.parametrize("cls", [OneVsOneMachine, OneVsAllMachine])
def test_columns_objective_and_restart(cls):
    K, labels, _ = data()
    machine = cls(labels, 2.0)
    solution = machine.solve(K, gap_tol=1e-8)
    assert solution.coef.shape == (160, machine.n_outputs) and solution.intercept.shape == (machine.n_outputs,)
    # J = l(C) - 1/2 sum_r c_r'Kc_r, with l the sum of |c| because c = alpha y
    quadratic = sum(column @ K @ column for column in solution.coef.T)
    assert solution.objective == pytest.approx(np.abs(solution.coef).sum() - 0.5 * quadratic)
    again = machine.solve(K, start=solution.coef, gap_tol=1e-8)
    assert again.steps == 0 and solution.converged
    assert not machine.solve(K, max_steps=2).converged


@pytest.mark.parametrize("cls", [OneVsOneMachine, OneVsAllMachine])
@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(cls, n_jobs):
    K, labels, _ = data(classes=5)
    K.flags.writeable = False
    alone = cls(labels, 2.0, n_jobs=None).solve(K)
    together = cls(labels, 2.0, n_jobs=n_jobs).solve(K)
    np.testing.assert_array_equal(alone.coef, together.coef)
    np.testing.assert_array_equal(alone.intercept, together.intercept)
    assert (alone.objective, alone.gap, alone.steps) == (together.objective, together.gap, together.steps)


def test_subsets_keep_the_classes_even_when_one_is_gone():
    K, labels, _ = data()
    kept = labels != 2
    for cls in (OneVsOneMachine, OneVsAllMachine):
        machine = cls(labels, 2.0).subset(kept)
        solution = machine.solve(K[np.ix_(kept, kept)])
        values = K[np.ix_(kept, kept)] @ solution.coef + solution.intercept
        assert machine.n_classes == 4 and values.shape[1] == machine.n_outputs
        assert machine.decision(values).shape == (kept.sum(), 4)
        assert 2 not in machine.decision(values).argmax(axis=1)
        np.testing.assert_array_equal(machine.strata, labels[kept])
    two_left = OneVsOneMachine(labels, 2.0).subset(labels < 2)
    assert two_left.solve(K[np.ix_(labels < 2, labels < 2)]).coef.shape[1] == 6


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: OneVsOneMachine(np.array([0.5, 1.0]), 1.0), "integers"),
        (lambda: OneVsOneMachine(np.array([0, -1]), 1.0), "n_classes"),
        (lambda: OneVsAllMachine(np.array([0, 3]), 1.0, n_classes=3), "n_classes"),
        (lambda: OneVsAllMachine(np.array([0, 0]), 1.0), "two classes"),
        (lambda: OneVsAllMachine(np.array([0, 1, 2]), 1.0).solve(np.eye(2)), "K must be"),
        (lambda: OneVsAllMachine(np.array([0, 1, 2]), 1.0, n_jobs=0).solve(np.eye(3)), "n_jobs"),
        (lambda: OneVsAllMachine(np.array([0, 1, 2]), 1.0).solve(np.eye(3), start=np.zeros((3, 2))), "shape"),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_small_pairs_are_solved_to_the_gap_that_was_asked_for(monkeypatch):
    """With and without the short way for few samples: the same optimum, every pair within its gap."""
    rng = np.random.default_rng(3)
    labels = np.arange(60) % 6
    X = rng.normal(size=(60, 3)) + 0.5 * labels[:, None]
    K = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2) / 4.0)
    for C in (0.1, 10.0, 1e4):
        machine = OneVsOneMachine(labels, C)
        exact = machine.solve(K, gap_tol=1e-10)
        for gap_tol in (1e-2, 1e-6):
            found = machine.solve(K, exact, gap_tol=gap_tol)
            assert found.converged
            assert all(part.gap <= gap_tol * max(1.0, abs(part.objective)) for part in found.outputs)
            assert exact.objective - found.objective <= found.gap + 1e-9 * exact.objective
    monkeypatch.setattr(independent, "FEW", 0)
    assert machine.solve(K, gap_tol=1e-10).objective == pytest.approx(exact.objective, rel=1e-9)


def test_refining_keeps_the_outputs_that_are_solved():
    rng = np.random.default_rng(4)
    labels = np.arange(40) % 4
    X = rng.normal(size=(40, 3)) + labels[:, None]
    K = X @ X.T
    for machine in (OneVsOneMachine(labels, 1.0), OneVsAllMachine(labels, 1.0)):
        rough = machine.solve(K, tol=0.5)
        tol = float(np.median([part.violation for part in rough.outputs]))
        fine = machine.refine(K, rough, tol)
        assert fine.violation <= tol and fine.objective >= rough.objective
        kept = [new is old for new, old in zip(fine.outputs, rough.outputs, strict=True)]
        assert kept == [part.violation <= tol for part in rough.outputs] and 0 < sum(kept) < len(kept)
        np.testing.assert_array_equal(fine.coef[:, kept], rough.coef[:, kept])
