"""Column generation: the optimum over all columns, and the certificate, against solvers that have every column."""

import numpy as np
import pytest

from kernelweave.machines import BinaryMachine, LeastSquaresMachine, OneVsAllMachine, RegressionMachine
from kernelweave.solvers import columns as module
from kernelweave.solvers.columns import generate_columns
from reference_columns import by_clarabel, by_highs, by_lasso, design, program

N = 40
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
DISTANCES = ((X[:, None] - X[None]) ** 2).sum(axis=2)
K = np.stack([np.exp(-DISTANCES), np.exp(-DISTANCES / 9.0), X @ X.T])
SIGNS = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=N) > 0, 1.0, -1.0)
NUMBERS = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=N)
WEIGHT = rng.uniform(0.5, 2.0, N)
# HiGHS leaves 1e-9 in each f, which costs at most 1e-9 C N = 4e-5 of objectives of about 40; references leave 1e-7.
CLOSE = {"rel": 1e-5}


class Spied:
    """Kernels (n_kernels, n_samples, n_samples), and the last v that they were multiplied by."""

    def __init__(self, K):
        self.K, self.last = K, []

    def products(self, V):
        self.last.append(V.copy())
        return self.K @ V

    def columns(self, m, i):
        return self.K[m, i].T


def fit_of(machine, K=K, *, tol=1e-6, per_step=5, most=None):
    spied = Spied(K)
    (fit,) = generate_columns(machine.terms, spied.products, spied.columns, tol=tol, per_step=per_step, most=most)
    return fit, spied


def primal(machine, K, fit):
    f = K[fit.kernels, fit.samples].T @ fit.coef + fit.intercept
    return np.abs(fit.coef).sum() + machine.loss(f)


MACHINES = {
    "hinge": (BinaryMachine(SIGNS, 2.0 * WEIGHT), program(K, SIGNS, 2.0 * WEIGHT, hinge=True)),
    "hinge, large C": (BinaryMachine(SIGNS, 1e3), program(K, SIGNS, np.full(N, 1e3), hinge=True)),
    "tube": (
        RegressionMachine(NUMBERS, 3.0 * WEIGHT, epsilon=0.1),
        program(K, NUMBERS, 3.0 * WEIGHT, 0.1, hinge=False),
    ),
    "no tube": (RegressionMachine(NUMBERS, WEIGHT, epsilon=0.0), program(K, NUMBERS, WEIGHT, hinge=False)),
}


@pytest.mark.parametrize("per_step", [1, 7, 1000])
@pytest.mark.parametrize("name", MACHINES)
def test_linear_programs_with_all_columns_have_the_same_optimum(name, per_step):
    machine, whole = MACHINES[name]
    fit, _ = fit_of(machine, per_step=per_step)
    assert fit.converged and fit.objective == pytest.approx(primal(machine, K, fit), rel=1e-9)
    assert fit.objective == pytest.approx(by_highs(*whole), **CLOSE)
    assert fit.objective == pytest.approx(by_clarabel(*whole), **CLOSE)
    assert 0.0 <= fit.gap <= 1e-5 * fit.objective
    assert 0 < np.count_nonzero(fit.coef) < len(fit.coef) or per_step == 1
    assert len({*zip(fit.kernels.tolist(), fit.samples.tolist(), strict=True)}) == len(fit.coef)  # none enters twice


@pytest.mark.parametrize("C", [0.5, 5.0, 100.0])
@pytest.mark.parametrize("target", [SIGNS, NUMBERS + 1000.0])
def test_squares_are_the_lasso_on_all_columns(target, C):
    machine = LeastSquaresMachine(target, C * WEIGHT)
    fit, _ = fit_of(machine)
    assert fit.converged and fit.objective == pytest.approx(primal(machine, K, fit), rel=1e-9)
    assert fit.objective == pytest.approx(by_lasso(K, target, C * WEIGHT), **CLOSE)
    assert 0.0 <= fit.gap <= 1e-5 * fit.objective


@pytest.mark.parametrize("most", [3, 10, None])
@pytest.mark.parametrize("name", [*MACHINES, "squares"])
def test_the_certificate_is_a_feasible_dual_of_the_whole(name, most):
    """By brute force over all n P columns: the last v times one factor is feasible, and its value is P - gap."""
    machine = LeastSquaresMachine(NUMBERS, 5.0 * WEIGHT) if name == "squares" else MACHINES[name][0]
    fit, spied = fit_of(machine, per_step=1, most=most)
    assert fit.converged is (most is None) and (most is None or len(fit.coef) == most)
    terms, best = machine.terms.column(0), 0.0
    p, lower, upper, h = (getattr(terms, each)[:, 0] for each in ("linear", "lower", "upper", "quadratic"))
    for V in spied.last:
        v = V[:, 0]
        rho = max(abs(sum(K[m, i, j] * v[j] for j in range(N))) for m in range(len(K)) for i in range(N))
        assert (v >= lower).all() and (v <= upper).all()
        assert abs(v.sum()) <= 1e-12 * np.abs(v).sum()
        for s in np.linspace(0.0, 1.0, 1001) / max(rho, 1.0):
            best = max(best, p @ (s * v) - terms.insensitivity * np.abs(s * v).sum() - 0.5 * h @ (s * v) ** 2)
    assert fit.largest == pytest.approx(rho, rel=1e-9)
    found = fit.objective - fit.gap
    assert best - 1e-9 * fit.objective <= found <= best + 1e-5 * fit.objective  # the factors tried are 0.001 apart
    least = by_lasso(K, NUMBERS, 5.0 * WEIGHT) if name == "squares" else by_highs(*MACHINES[name][1])
    assert found <= least * (1.0 + 1e-6) and least <= fit.objective * (1.0 + 1e-6)
    if most is None:
        assert rho <= 1.0 + 1e-6
    else:
        assert fit.gap > 1e-3 * fit.objective  # honest: it is far from the optimum


def test_outputs_are_fitted_by_themselves():
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    machine, spied = OneVsAllMachine(labels, 2.0 * WEIGHT), Spied(K)
    fits = generate_columns(machine.terms, spied.products, spied.columns, tol=1e-6, per_step=5)
    assert len(spied.last) == max(len(fit.history) for fit in fits)  # one product for all outputs in a step
    for k, fit in enumerate(fits):
        alone, _ = fit_of(BinaryMachine(np.where(labels == k, 1.0, -1.0), 2.0 * WEIGHT))
        assert fit.objective == pytest.approx(alone.objective, rel=1e-9)
        np.testing.assert_array_equal(fit.samples, alone.samples)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("name", ["hinge", "tube", "squares"])
def test_the_scale_of_kernels_targets_and_costs(name, size):
    """With kernels times s, C / s is the same problem up to a factor; with targets times s, C is and epsilon s."""
    made = {
        "hinge": lambda C, y, e: BinaryMachine(SIGNS, C),
        "tube": lambda C, y, e: RegressionMachine(y * NUMBERS, C, epsilon=e),
        "squares": lambda C, y, e: LeastSquaresMachine(y * NUMBERS, C),
    }[name]
    one, _ = fit_of(made(2.0, 1.0, 0.1))
    kernels, _ = fit_of(made(2.0 / size, 1.0, 0.1), K * size)
    assert kernels.converged and kernels.objective * size == pytest.approx(one.objective, **CLOSE)
    if name == "hinge":
        return
    C = 2.0 / size if name == "squares" else 2.0
    targets, _ = fit_of(made(C, size, 0.1 * size))
    assert targets.converged and targets.objective / size == pytest.approx(one.objective, **CLOSE)


@pytest.mark.parametrize("name", ["hinge", "tube", "squares"])
def test_columns_that_are_constant_zero_or_equal(name):
    """They are worth nothing beside the bias, or no more than the column that they equal."""
    made = {
        "hinge": lambda n: BinaryMachine(np.resize(SIGNS, n), 2.0),
        "tube": lambda n: RegressionMachine(np.resize(NUMBERS, n), 2.0, epsilon=0.1),
        "squares": lambda n: LeastSquaresMachine(np.resize(NUMBERS, n), 2.0),
    }[name]
    for useless in (np.zeros((2, N, N)), np.ones((1, N, N))):
        fit, _ = fit_of(made(N), useless)
        assert fit.converged and not fit.coef.any() and fit.gap <= 1e-9 * fit.objective
        both, _ = fit_of(made(N), np.concatenate([K, useless]))
        alone, _ = fit_of(made(N))
        assert both.objective == pytest.approx(alone.objective, **CLOSE)
        assert (both.kernels[both.coef != 0.0] < len(K)).all()
    twice = np.tile(K, (2, 2, 2))  # every sample and every kernel is there twice
    fit, _ = fit_of(made(2 * N), twice)
    halved, _ = fit_of(
        {
            "hinge": BinaryMachine(SIGNS, 4.0),
            "tube": RegressionMachine(NUMBERS, 4.0, epsilon=0.1),
            "squares": LeastSquaresMachine(NUMBERS, 4.0),
        }[name]
    )
    assert fit.converged and fit.objective == pytest.approx(halved.objective, **CLOSE)


def test_costs_that_no_column_is_worth():
    fit, spied = fit_of(BinaryMachine(SIGNS, 1e-4))
    assert fit.converged and len(fit.coef) == 0 and len(spied.last) == 1 and fit.largest < 1.0
    assert fit.objective == pytest.approx(2e-4 * min((SIGNS > 0).sum(), (SIGNS < 0).sum()))
    enough, _ = fit_of(BinaryMachine(SIGNS, 1.5 * 1e-4 / fit.largest))
    assert enough.coef.any()


def test_targets_that_are_constant():
    for machine in (RegressionMachine(np.full(N, 7.0), 1.0, epsilon=0.1), LeastSquaresMachine(np.full(N, 7.0), 1.0)):
        fit, _ = fit_of(machine)
        assert fit.converged and len(fit.coef) == 0 and fit.objective <= 1e-12 and abs(fit.intercept - 7.0) <= 0.1


def test_a_program_without_an_answer_is_an_error(monkeypatch):
    class Failed:
        status, message = 4, "Numerical difficulties encountered."

    monkeypatch.setattr(module, "linprog", lambda *arguments, **options: Failed)
    with pytest.raises(ValueError, match="no optimum of the linear program of 40 samples and 0 columns: Numerical"):
        fit_of(BinaryMachine(SIGNS, 1.0))


def test_a_program_that_is_solved_roughly_ends_and_says_so(monkeypatch):
    """Columns that are in the problem, and violate its dual nevertheless, do not enter again."""
    solve = module.solve_program

    def roughly(*problem):
        a, b, v = solve(*problem)
        return a, b, 1.01 * v

    monkeypatch.setattr(module, "solve_program", roughly)
    fit, _ = fit_of(BinaryMachine(SIGNS, 2.0), tol=1e-3)
    assert not fit.converged and 1.005 < fit.largest < 1.05
    assert len({*zip(fit.kernels.tolist(), fit.samples.tolist(), strict=True)}) == len(fit.coef)


@pytest.mark.parametrize("v", [[3.0, -1.0, -1.0, 0.0], [0.5, -2.0, 0.25, -1.0], [0.0, -2.0, -1.0], [0.0, 0.0]])
def test_a_dual_that_does_not_add_up_to_zero_is_made_smaller(v):
    found = module.balanced(np.array(v))
    assert abs(found.sum()) <= 1e-15 and (np.abs(found) <= np.abs(v)).all() and (found * v >= 0.0).all()
    assert np.abs(found).sum() == pytest.approx(2.0 * min(np.maximum(v, 0.0).sum(), -np.minimum(v, 0.0).sum()))


def test_newton_keeps_signs_and_meets_the_optimality_conditions():
    Phi = design(K)[:, ::5]
    a, b, v = module.solve_lasso(Phi, NUMBERS, 20.0 * WEIGHT, np.zeros(Phi.shape[1]), 1e-12)
    slopes = Phi.T @ v
    np.testing.assert_allclose(v, 20.0 * WEIGHT * (NUMBERS - Phi @ a - b), atol=1e-9 * np.abs(v).max())
    np.testing.assert_allclose(slopes[a != 0.0], np.sign(a[a != 0.0]), atol=1e-5)
    assert (np.abs(slopes) <= 1.0 + 1e-5).all() and 3 < np.count_nonzero(a) < len(a)


def test_progress_never_goes_back_by_much_and_ends_below_one():
    shares, spied = [], Spied(K)
    terms = BinaryMachine(SIGNS, 2.0).terms
    generate_columns(terms, spied.products, spied.columns, tol=1e-3, per_step=3, progress=shares.append)
    assert shares[0] == 0.0 and all(0.0 <= share <= 1.0 for share in shares) and shares[-1] > 0.2
