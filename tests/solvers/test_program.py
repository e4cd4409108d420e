import numpy as np
import pytest

from kernelweave.machines import LeastSquaresMachine, SquaredEpsilonInsensitive
from kernelweave.solvers import program as module
from kernelweave.solvers.program import curvature
from kernelweave.solvers.sums import images
from reference_mkl import small_problem
from reference_qp import exactly

MATRICES, MACHINES, _ = small_problem()
ETA = np.array([0.3, 0.2, 0.15, 0.25, 0.1])


def solved(machine, eta):
    return exactly(machine, np.tensordot(eta, MATRICES, axes=1), gap_tol=1e-12)


@pytest.mark.parametrize("name", MACHINES)
def test_programs_say_what_the_machine_solves(name):
    machine = MACHINES[name]
    K = np.tensordot(ETA, MATRICES, axes=1)
    solution = solved(machine, ETA)
    value, coef = 0.0, np.zeros_like(solution.coef)
    for program in machine.programs():
        z = program.variables(solution.coef)
        assert (z >= program.lower).all()
        assert (z <= program.upper).all()
        value += program.linear @ z - 0.5 * program.quadratic @ z**2
        for sign, columns in ((1.0, program.plus), (-1.0, program.minus)):
            has = columns >= 0
            np.add.at(coef, (program.sample[has], columns[has]), sign * z[has])
        for column in program.columns():
            assert coef[:, column].sum() == pytest.approx(program.total, abs=1e-8)
    np.testing.assert_allclose(coef, solution.coef, atol=1e-9)
    assert value - 0.5 * np.sum(coef * (K @ coef)) == pytest.approx(solution.objective, rel=1e-8)


@pytest.mark.parametrize("way", ["together", "direct", "conjugate gradients"])
@pytest.mark.parametrize("name", MACHINES)
def test_curvature_is_the_change_of_the_gradient(name, way, monkeypatch):
    """Against finite differences of -1/2 q through the re-solved machine."""
    monkeypatch.setattr(module, "SMALL", 10_000 if way == "together" else 0)
    monkeypatch.setattr(module, "TOGETHER", 2)
    direct = way != "conjugate gradients"
    if not direct:
        monkeypatch.setattr(module, "DIRECT", 0)
        monkeypatch.setattr(module, "MOST_STEPS", 500)
    machine, step = MACHINES[name], 1e-5
    solution = solved(machine, ETA)
    found = images(MATRICES, solution.coef)
    H = curvature(machine.programs(), np.tensordot(ETA, MATRICES, axes=1), solution.coef, found)

    def gradient(eta):
        coef = solved(machine, eta).coef
        return np.array([-0.5 * np.sum(coef * (K @ coef)) for K in MATRICES])

    differences = np.array(
        [(gradient(ETA + step * unit) - gradient(ETA - step * unit)) / (2 * step) for unit in np.eye(5)]
    )
    scale = np.abs(differences).max()
    np.testing.assert_allclose(H / scale, differences / scale, atol=2e-3 if direct else 2e-2)


@pytest.mark.parametrize("small", [0, 10_000])
def test_samples_that_the_kernel_has_nothing_of_add_no_curvature(small, monkeypatch):
    """Their views have weight 0: K is 0 for them, but not the kernel of their view."""
    monkeypatch.setattr(module, "SMALL", small)
    machine = MACHINES["binary"]
    here, there = MATRICES[:2].copy()
    here[-10:], here[:, -10:] = 0.0, 0.0
    there[:-10], there[:, :-10] = 0.0, 0.0
    solution = exactly(machine, here, gap_tol=1e-12)
    coef = solution.coef.copy()
    coef[-10:] *= 0.5  # free, as in a solution that is not exact
    H = curvature(machine.programs(), here, coef, images(np.stack([here, there]), coef))
    assert np.isfinite(H).all() and H[0, 0] > 0.0
    assert H[1, 1] == 0.0


def test_outputs_are_the_independent_machines():
    for name in ("one-vs-one", "one-vs-all", "binary"):
        machine = MACHINES[name]
        K = np.tensordot(ETA, MATRICES, axes=1)
        total = sum(part.solve(K[np.ix_(rows, rows)], tol=1e-8).objective for rows, part in machine.outputs())
        assert total == pytest.approx(machine.solve(K, tol=1e-8).objective, rel=1e-6)
    with pytest.raises(ValueError, match="solved together"):
        MACHINES["joint"].outputs()


def test_targets_of_least_squares_share_a_factorisation(monkeypatch):
    """The curvature of several targets is the sum of theirs, with one solve for all."""
    monkeypatch.setattr(module, "SMALL", 0)
    solves, solve = [], module._solve
    monkeypatch.setattr(module, "_solve", lambda G, right: solves.append(1) or solve(G, right))
    K, y = np.tensordot(ETA, MATRICES, axes=1), np.random.default_rng(0).normal(size=(len(MATRICES[0]), 4))

    def bend(machine):
        coef = machine.solve(K, gap_tol=1e-12).coef
        return curvature(machine.programs(), K, coef, images(MATRICES, coef))

    costs = np.random.default_rng(1).uniform(0.5, 2.0, len(MATRICES[0]))
    together = bend(LeastSquaresMachine(y, costs))
    assert len(solves) == 1
    np.testing.assert_allclose(together, sum(bend(LeastSquaresMachine(target, costs)) for target in y.T), rtol=1e-8)
    bend(SquaredEpsilonInsensitive(epsilon=0.5).several_targets(y, costs))  # of other free samples
    assert len(solves) == 1 + 4 + 4
