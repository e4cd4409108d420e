"""Machines on kernels in parts have the solutions that they have on the whole matrix, or refuse them at once."""

import numpy as np
import pytest

from dense_parts import DenseParts
from kernelweave.machines import (
    BinaryMachine,
    EpsilonInsensitive,
    Hinge,
    JointMachine,
    LeastSquaresClassMachine,
    LeastSquaresMachine,
    OneClassMachine,
    OneVsAllMachine,
    OneVsOneMachine,
    PosteriorMachine,
    RegressionMachine,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    TargetsMachine,
)
from kernelweave.machines.one_class import SquaredOneClassMachine
from kernelweave.solvers import in_parts, joint_in_parts
from three_stacks import RoundedHinge

N = 120
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 3)
Y = X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=N)
SIGNS = np.where(Y > 0, 1.0, -1.0)
CLASSES = np.digitize(X[:, 0] + 0.3 * rng.normal(size=N), [-0.5, 0.5])
POSTERIOR = 0.6 * np.eye(3)[CLASSES] + 0.4 * rng.dirichlet(np.ones(3), N)
SERVED = {
    "binary": BinaryMachine(SIGNS, 2.0),
    "regression": RegressionMachine(Y, 2.0, epsilon=0.1),
    "one-class": OneClassMachine(np.full(N, 0.05)),
    "hinge": Hinge().for_targets(SIGNS, 2.0),
    "epsilon": EpsilonInsensitive(epsilon=0.1).for_targets(Y, 2.0),
    "one-vs-one": OneVsOneMachine(CLASSES, 2.0),
    "one-vs-all": OneVsAllMachine(CLASSES, 2.0),
    "bounds and a diagonal": RoundedHinge().for_targets(SIGNS, np.where(np.arange(N) % 9, 2.0, 0.0)),
    "bounds and a diagonal, one-vs-all": RoundedHinge().one_vs_all(CLASSES, np.full(N, 2.0)),
    "joint": JointMachine(CLASSES, 2.0),
    "joint, soft": JointMachine(CLASSES, 2.0, posterior=POSTERIOR),
    "posterior": PosteriorMachine(np.clip(0.5 + Y, 0.0, 1.0), 1.0),
    "targets": TargetsMachine(EpsilonInsensitive(epsilon=0.1), np.column_stack([Y, X[:, 0]]), 2.0),
}
SMOOTH = {
    "least squares": LeastSquaresMachine(Y, 1.0),
    "least squares of targets": LeastSquaresMachine(np.column_stack([Y, 100.0 + X[:, 0]]), 0.1 + (Y > 0.0)),
    "least squares of classes": LeastSquaresClassMachine(CLASSES, 1.0),
    "squared hinge": SquaredHinge().for_targets(SIGNS, np.where(np.arange(N) % 9, 2.0, 0.0)),
    "squared epsilon": SquaredEpsilonInsensitive(epsilon=0.3).for_targets(50.0 + Y, 1.0),
    "squared one-class": SquaredOneClassMachine(np.full(N, 0.05), nu=0.2),
    "one-vs-all of squared hinges": OneVsAllMachine(CLASSES, 1.0, binary=SquaredHinge()),
    "one-vs-one of squared hinges": OneVsOneMachine(CLASSES, 1.0, binary=SquaredHinge()),
    "targets of squared tubes": TargetsMachine(
        SquaredEpsilonInsensitive(epsilon=0.1), np.column_stack([Y, X[:, 0]]), 2.0
    ),
}
SERVED = {**SERVED, **SMOOTH}


class WholeMachine(BinaryMachine):
    """A machine of the user's own that reads whole matrices."""

    @property
    def takes_parts(self):
        return False

    def solve_dual(self, K, *given):
        return super().solve_dual(self.matrix(K), *given)


REFUSED = {
    "own": WholeMachine(SIGNS, 1.0),
    "one-vs-one of own": OneVsOneMachine(CLASSES, 1.0, binary=WholeMachine),
}


@pytest.fixture(autouse=True)
def small_sets(monkeypatch):
    for module in (in_parts, joint_in_parts):
        monkeypatch.setattr(module, "WORKING_SET", 32)


@pytest.mark.parametrize("name", SERVED)
def test_solutions_are_those_on_the_matrix(name):
    machine = SERVED[name]
    assert machine.takes_parts
    whole, parts = machine.solve(K, gap_tol=1e-7), machine.solve(DenseParts(K), gap_tol=1e-7)
    assert parts.converged and parts.coef.shape == whole.coef.shape == (N, machine.n_outputs)
    size = max(1.0, abs(whole.objective))
    assert parts.objective == pytest.approx(whole.objective, abs=3e-7 * size * machine.n_outputs)
    assert 0.0 <= parts.gap <= 1e-7 * size * machine.n_outputs
    values = K @ parts.coef + parts.intercept
    np.testing.assert_allclose(values, K @ whole.coef + whole.intercept, atol=3e-2)


@pytest.mark.parametrize("name", SERVED)
def test_tolerance_starts_and_refinement(name):
    machine, kernel = SERVED[name], DenseParts(K)
    rough = machine.solve(kernel, tol=0.1)
    fine = machine.refine(kernel, rough, 1e-5)
    if name in SMOOTH:  # the tolerance is that of the gap
        assert rough.converged and rough.gap <= 0.1 * machine.n_outputs * max(1.0, abs(rough.objective))
        assert fine.converged and fine.gap <= 1e-5 * machine.n_outputs * max(1.0, abs(fine.objective))
    else:
        assert rough.converged and rough.violation <= 0.1
        assert fine.converged and fine.violation <= 1e-5
    for start in (fine, fine.coef):
        again = machine.solve(kernel, start=start, tol=1e-4)
        assert again.steps == 0 and again.objective == pytest.approx(fine.objective, rel=1e-9, abs=1e-12)
    assert machine.starting_at(fine.coef).solve(kernel, tol=1e-4).steps == 0


@pytest.mark.parametrize("name", ["binary", "one-vs-all", "targets", "joint", "posterior"])
def test_a_start_with_its_image_costs_no_column(name):
    machine, kernel = SERVED[name], DenseParts(K)
    solution = machine.solve(kernel, tol=1e-4)
    kernel.columns.clear()
    machine.solve(kernel, start=solution, tol=1e-3)
    assert kernel.columns == []


def test_novelty_is_bounded_by_nu():
    machine = SERVED["one-class"]
    for solution in (machine.solve(K, tol=1e-2), machine.solve(DenseParts(K), tol=1e-2)):
        values = K @ solution.coef[:, 0] + solution.intercept[0]
        within = solution.coef[:, 0] < machine.bound * (1 - 1e-12)
        assert (values[within] > 0.0).all() and values[within].min() < 1e-6


@pytest.mark.parametrize("name", ["one-vs-one", "one-vs-all"])
def test_threads_do_not_share_a_kernel_in_parts(name):
    import threading

    seen = set()

    class Watched(DenseParts):
        def block(self, rows):
            seen.add(threading.get_ident())
            return super().block(rows)

        def subset(self, index):
            return Watched(self.matrices[:, index][:, :, index])

    machine = type(SERVED[name])(CLASSES, 2.0, n_jobs=2)
    machine.solve(Watched(K))
    assert seen == {threading.get_ident()}


def test_a_pair_without_samples_and_a_subset():
    machine = SERVED["one-vs-one"].subset(CLASSES != 1)
    rows = np.flatnonzero(CLASSES != 1)
    assert machine.takes_parts
    solution = machine.solve(DenseParts(K).subset(rows))
    expected = machine.solve(K[np.ix_(rows, rows)])
    assert solution.converged and solution.objective == pytest.approx(expected.objective, rel=1e-3)


@pytest.mark.parametrize("name", REFUSED)
def test_others_refuse_at_once(name):
    machine, kernel = REFUSED[name], DenseParts(K)
    assert not machine.takes_parts
    with pytest.raises(ValueError, match=r"120 x 120 samples.*GB.*storage='dense'"):
        machine.solve(kernel)
    assert kernel.blocks == [] and kernel.columns == []


def test_a_refusal_names_the_loss():
    with pytest.raises(ValueError, match="WholeMachine"):
        REFUSED["own"].solve(DenseParts(K))


@pytest.mark.parametrize("name", SERVED)
def test_another_number_of_samples(name):
    with pytest.raises(ValueError, match="K must"):
        SERVED[name].solve(DenseParts(K).subset(np.arange(50)))
