"""The outer loop, for combiners of a few lines."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernelweave import MKLClassifier
from kernelweave.combiners import CombinedKernel, DescentCombiner, FitControl, KernelFamily, PolynomialMKL
from kernelweave.estimators.reuse import fit_path
from kernelweave.kernels import Gaussian, KernelStack, Linear
from kernelweave.machines import BinaryMachine
from kernelweave.solvers import ProductSpace, Space, Sphere
from kernelweave.stacks.descent import Watch

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)


class ScaledKernel(CombinedKernel):
    """exp(theta) k_1(x, z)."""

    def __init__(self, stack, theta, factor=1.0):
        self.stack, self.theta, self.factor = stack, theta, factor

    def gram(self, out=None):
        with np.errstate(over="ignore", invalid="ignore"):
            return self.factor * np.exp(self.theta[0]) * self.stack.matrices()[0]

    def cross(self, views):
        return np.exp(self.theta[0]) * self.stack.cross(0, views, self.stack.presence(views)[:, 0])

    def weights(self):
        return np.exp(self.theta)

    def sample_weights(self, views):
        return np.full((views.n_samples, 1), np.exp(self.theta[0]))

    def restrict(self, index):
        return ScaledKernel(self.stack.restrict(index), self.theta)


class Scales(KernelFamily):
    def __init__(self, stack, combiner):
        stack.matrices()
        self.stack, self.combiner = stack, combiner

    def at(self, theta):
        return ScaledKernel(self.stack, theta)

    def start(self, machine, rng):
        return np.array([self.combiner.begin + self.combiner.spread * rng.normal()])

    def pullback(self, kernel, coef):
        return np.array([-0.5 * np.einsum("ir,ij,jr->", coef, kernel.gram(), coef)])

    def penalty(self, theta):
        wave = self.combiner.wave
        with np.errstate(over="ignore"):
            size = np.exp(theta[0])
        return size + wave * np.sin(3 * theta[0]), np.array([size + 3 * wave * np.cos(3 * theta[0])])


class Scale(DescentCombiner):
    """k(x, z) = exp(theta) k_1(x, z) with the penalty exp(theta) + wave * sin(3 theta)."""

    kind = Scales

    def __init__(self, begin=0.0, spread=0.0, wave=0.0, n_init=1, n_jobs=None, max_iter=200, optimizer="lbfgs"):
        self.begin = begin
        self.spread = spread
        self.wave = wave
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.max_iter = max_iter
        self.optimizer = optimizer

    def family(self, stack, machine, control):
        return self.kind(stack, self)


class Counted(BinaryMachine):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.starts, self.options = [], []

    def solve(self, K, start=None, **options):
        self.starts.append(start)
        self.options.append(options)
        return super().solve(K, start, **options)


def stack_of(*kernels):
    return KernelStack(list(kernels)).fit(X)


def fit(combiner, machine=None, stack=None, **options):
    machine = BinaryMachine(Y, 1.0) if machine is None else machine
    stack = stack_of(Gaussian()) if stack is None else stack
    return combiner.fit(stack, machine, FitControl(np.random.RandomState(0), **options))


@pytest.mark.parametrize("optimizer", ["lbfgs", "armijo"])
def test_finds_the_minimum_of_the_machines_optimum(optimizer):
    found = fit(Scale(optimizer=optimizer), tol=1e-8)
    K, machine = stack_of(Gaussian()).matrices()[0], BinaryMachine(Y, 1.0)
    grid = np.linspace(-2, 6, 801)
    values = [machine.solve(np.exp(theta) * K, gap_tol=1e-9).objective + np.exp(theta) for theta in grid]
    assert found.theta[0] == pytest.approx(grid[np.argmin(values)], abs=0.02)
    assert found.history[-1]["objective"] == pytest.approx(min(values), rel=1e-4)


def test_the_final_solution_is_the_plain_machine_under_the_learned_kernel():
    found = fit(Scale(), tol=1e-6)
    plain = BinaryMachine(Y, 1.0).solve(np.exp(found.theta[0]) * stack_of(Gaussian()).matrices()[0], tol=1e-6)
    np.testing.assert_allclose(found.solution.coef, plain.coef, atol=1e-4)
    assert found.solution.converged and found.solution.violation <= 1e-6


def test_history_has_a_row_for_each_iteration():
    machine = Counted(Y, 1.0)
    found = fit(Scale(begin=-3.0), machine)
    objectives = [row["objective"] for row in found.history]
    assert objectives[-1] < 0.9 * objectives[0]  # there was something to do
    assert all(after < before + 1e-3 * before for before, after in pairwise(objectives))
    assert sum(row["solves"] for row in found.history) == len(machine.starts)
    assert found.history[0]["solves"] == 1 and found.history[-1]["n_support"] == np.count_nonzero(found.solution.coef)
    assert (
        found.history[-1]["objective"]
        == found.solution.objective + Scales(found.stack, Scale()).penalty(found.theta)[0]
    )
    assert all(row["seconds"] > 0 for row in found.history)


def test_solves_restart_from_the_last_solution():
    machine = Counted(Y, 1.0)
    fit(Scale(), machine)
    assert machine.starts[0] is None
    assert all(start is not None and start.converged for start in machine.starts[1:])


def test_solves_within_the_loop_are_finer_than_its_progress():
    machine = Counted(Y, 1.0)
    fit(Scale(), machine, tol=1e-2, max_steps=12345)
    *inner, final = machine.options
    assert {options["gap_tol"] for options in inner} == {1e-3}
    assert final == {"tol": 1e-2, "max_steps": 12345}  # as for a plain machine


def test_a_path_begins_at_the_last_model():
    cold = MKLClassifier([Gaussian()], Scale(), C=1.1).fit(X, Y)
    *_, warm = fit_path(MKLClassifier([Gaussian()], Scale()), X, Y, "C", [1.0, 1.1])
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=0.05)


def test_the_best_start_wins_whatever_the_threads():
    many = Scale(spread=3.0, wave=8.0, n_init=6)
    found = fit(many)
    again = fit(Scale(spread=3.0, wave=8.0, n_init=6, n_jobs=3))
    assert found.theta == again.theta
    np.testing.assert_array_equal(found.solution.coef, again.solution.coef)
    seeds = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=6)
    family = many.family(found.stack, None, None)
    starts = [family.start(None, np.random.RandomState(seed))[0] for seed in seeds]
    ends = [fit(Scale(begin=start, wave=8.0)).history[-1]["objective"] for start in starts]
    assert found.history[-1]["objective"] == min(ends) < max(ends) - 1.0


class SharedKernel(ScaledKernel):
    """sum_m theta_m^2 k_m(x, z)."""

    def gram(self, out=None):
        return np.tensordot(self.theta[:-1] ** 2, self.stack.matrices(), 1)


class SharesFamily(KernelFamily):
    def __init__(self, stack, combiner):
        self.stack, self.combiner = stack, combiner

    def at(self, theta):
        self.combiner.seen.append(theta.copy())
        return SharedKernel(self.stack, theta)

    def domain(self):
        return ProductSpace([(self.stack.n_kernels, Sphere()), (1, Space())])

    def blocks(self):
        P = self.stack.n_kernels
        return [(slice(0, P), Sphere()), (slice(P, P + 1), Space())] if self.combiner.in_blocks else None

    def start(self, machine, rng):
        return np.append(np.ones(self.stack.n_kernels), 0.0)

    def pullback(self, kernel, coef):
        forms = [-0.5 * np.einsum("ir,ij,jr->", coef, K, coef) for K in self.stack.matrices()]
        return np.append(2.0 * kernel.theta[:-1] * forms, 0.0)

    def penalty(self, theta):
        return (theta[-1] - 2.0) ** 2, np.append(np.zeros(self.stack.n_kernels), 2.0 * (theta[-1] - 2.0))


class Shares(DescentCombiner):
    """k(x, z) = sum_m theta_m^2 k_m(x, z) with theta of norm one, and a last theta whose penalty is (theta - 2)^2."""

    in_blocks = False

    def __init__(self, optimizer="lbfgs"):
        self.optimizer = optimizer
        self.seen = []

    def family(self, stack, machine, control):
        return SharesFamily(stack, self)


class BlockShares(Shares):
    in_blocks = True


THREE = (Gaussian([0]), Gaussian([0, 1]), Linear([2]))


def fit_shares(combiner):
    return fit(combiner, stack=stack_of(*THREE), tol=1e-7)


@cache
def least_on_a_grid():
    matrices = stack_of(*THREE).matrices()
    simplex = [(a, b, 1.0 - a - b) for a in np.linspace(0, 1, 41) for b in np.linspace(0, 1 - a, 41)]
    machine = BinaryMachine(Y, 1.0)
    return min(machine.solve(np.tensordot(shares, matrices, 1), gap_tol=1e-6).objective for shares in simplex)


@pytest.mark.parametrize("combiner", [Shares(), Shares("armijo"), BlockShares(), BlockShares("armijo")])
def test_theta_stays_in_its_domain(combiner):
    found = fit_shares(combiner)
    np.testing.assert_allclose([np.linalg.norm(theta[:-1]) for theta in combiner.seen], 1.0, atol=1e-14)
    assert found.history[-1]["objective"] == pytest.approx(least_on_a_grid(), rel=1e-3)
    assert found.theta[-1] == pytest.approx(2.0, abs=1e-2)


def test_armijo_descent_takes_blocks_in_turn_and_lbfgs_all_at_once():
    def together(combiner):
        """Whether some theta differs from each one before it in both parts."""
        fit_shares(combiner)
        seen = np.array(combiner.seen)
        same = [
            np.any((seen[:k, :-1] == theta[:-1]).all(axis=1) | (seen[:k, -1] == theta[-1]))
            for k, theta in enumerate(seen)
        ]
        return not all(same[1:])

    assert not together(BlockShares("armijo"))
    assert together(Shares("armijo")) and together(BlockShares())


class WatchedScales(Scales):
    def watch(self, machine, rng):
        part, combiner = np.arange(40), self.combiner

        def risk(theta, solution):
            assert len(solution.coef) == 40
            combiner.asked.append(theta[0])
            return abs(theta[0] - combiner.target)

        combiner.asked = []
        return Watch(Scales(self.stack.subset(part), combiner), machine.subset(part), risk)


class Watched(Scale):
    """Holds out samples whose risk is the distance of theta from a target; records what it is asked about."""

    target = 2.0
    kind = WatchedScales


def test_held_out_samples_choose_theta():
    combiner, machine = Watched(begin=-3.0), Counted(Y, 1.0)
    found = fit(combiner, machine, stack_of(Gaussian(scale="nearest")), tol=1e-9)
    distances = np.abs(np.array(combiner.asked) - combiner.target)
    assert distances[0] > distances.min() < distances[-1]
    assert abs(found.theta[0] - combiner.target) == distances.min()
    assert len(found.solution.coef) == 60 and len(machine.starts) == 1  # solved for all samples at the end, afresh
    assert [row.get("validation_risk") for row in found.history] == [*distances, None]
    plain = machine.solve(np.exp(found.theta[0]) * stack_of(Gaussian(scale="nearest")).gram(0), tol=1e-9)
    np.testing.assert_allclose(found.solution.coef, plain.coef, atol=1e-6)


def test_patience_ends(monkeypatch):
    monkeypatch.setattr("kernelweave.stacks.descent.PATIENCE", 2)
    combiner = Watched(begin=-3.0)
    combiner.target = -3.0
    found = fit(combiner, stack=stack_of(Gaussian(scale="nearest")), tol=1e-9)
    assert len(combiner.asked) == 3 and found.theta[0] == -3.0


def test_the_start_of_least_validation_risk_wins():
    combiner = Watched(spread=3.0, wave=8.0, n_init=6)
    found = fit(combiner)
    assert abs(found.theta[0] - 2.0) == np.abs(np.array(combiner.asked) - 2.0).min()


def test_kernels_that_overflow_are_backed_out_of():
    class FragileScales(Scales):
        def at(self, theta):
            return ScaledKernel(self.stack, theta, np.inf if theta[0] > 0.5 else 1.0)

    class Fragile(Scale):
        kind = FragileScales

    free, found = fit(Scale()), fit(Fragile())
    assert free.theta[0] > 1.0
    assert 0.2 < found.theta[0] <= 0.5 and np.isfinite(found.solution.coef).all()


def test_a_flat_start_ends_at_once():
    found = fit(Scale(begin=-600.0))
    assert found.theta[0] == -600.0 and len(found.history) == 1


def test_stopping_early_is_a_warning():
    with pytest.warns(
        ConvergenceWarning, match=r"Scale stopped after 1 outer iterations .*raise the combiner's max_iter"
    ):
        found = fit(Scale(begin=-3.0, max_iter=1))
    assert len(found.history) == 2


def test_progress_is_told():
    told = []
    found = fit(Scale(begin=-3.0, n_init=2), progress=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert len(told) >= len(found.history) - 1 and {total for _, total in told} == {400}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "sgd"}, "optimizer of .* must be"),
        ({"max_iter": 0}, "max_iter of Scale must be a positive whole number"),
        ({"n_init": 1.5}, "n_init of Scale must be a positive whole number"),
        ({"n_jobs": 0}, "n_jobs of Scale must be a whole number other than 0 or None"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        fit(Scale(**options))


def test_an_estimator_takes_any_learned_combiner():
    model = MKLClassifier([Gaussian()], Scale(), random_state=0).fit(X, Y)
    assert model.n_iter_ == len(model.history_) > 1
    assert list(model.history_) == ["objective", "solves", "seconds", "n_support"]
    np.testing.assert_array_equal(model.kernel_weights(X[:3]), np.full((3, 1), model.kernel_weights_.iloc[0]))


def test_loops_forget_the_gram_matrices():
    model = MKLClassifier([Linear([0]), Gaussian([1])], PolynomialMKL()).fit(X, Y)
    assert not model._kernel.stack.has_matrices
