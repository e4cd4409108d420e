"""`fit_path`: the same optima as separate fits, for less work, whatever the estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave.combiners import BestSingle
from kernelweave.estimators.reuse import fit_path
from kernelweave.kernels import Gaussian, Linear
from kernelweave.machines import BinaryMachine

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
BINARY = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=120) > 0).astype(int)
KERNELS = [Linear(), Gaussian(scale=2.0)]
CASES = [
    (MKLClassifier(KERNELS, tol=1e-6), BINARY),
    (MKLClassifier(KERNELS, tol=1e-6), BINARY + (X[:, 2] > 0.5)),
    (MKLClassifier(KERNELS, BestSingle(cv=3), tol=1e-6, random_state=0), BINARY),
    (MKLRegressor(KERNELS, tol=1e-6), X[:, 0] ** 2 + X[:, 1]),
    (MKLRegressor(KERNELS, tol=1e-6), X[:, :2] ** 2 + X[:, 2:]),
    (MKLRegressor(KERNELS, machine="least-squares", tol=1e-6), X[:, :2] ** 2 + X[:, 2:]),
]
IDS = ["binary", "three classes", "best single", "regression", "targets", "targets, least squares"]


@pytest.mark.parametrize(("estimator", "y"), CASES, ids=IDS)
def test_path_finds_the_optima_of_separate_fits(estimator, y):
    values = [0.01, 1.0, 10.0, 0.1]
    for value, model in zip(values, fit_path(estimator, X, y, "C", values), strict=True):
        alone = clone(estimator).set_params(C=value).fit(X, y)
        assert value == model.C and model is not estimator
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-5)
        np.testing.assert_allclose(model._values(X), alone._values(X), atol=2e-3)
        assert "_start" not in vars(model)


def test_path_along_another_parameter():
    models = list(fit_path(MKLOneClass(KERNELS), X, None, "nu", [0.1, 0.3]))
    assert [model.nu for model in models] == [0.1, 0.3]
    costs = list(fit_path(MKLOneClass(KERNELS, nu=0.2), X, None, "C", [None, 0.1, None]))
    assert costs[0].objective_ == pytest.approx(costs[2].objective_, rel=1e-3)
    epsilons = list(fit_path(MKLRegressor(KERNELS), X, X[:, 0], "epsilon", [0.1, 0.5]))
    assert len(epsilons[1].support_) < len(epsilons[0].support_)


def test_restart_from_the_solution_takes_no_steps():
    K = X @ X.T + np.eye(120)
    machine = BinaryMachine(2.0 * BINARY - 1, 1.0)
    cold = machine.solve(K)
    restarted = machine.starting_at(cold.coef)
    assert isinstance(restarted, BinaryMachine) and machine.start is None
    assert restarted.solve(K).steps == 0 < cold.steps
    assert restarted.solve(K, start=np.zeros((120, 1)), tol=1e-3).steps == cold.steps
    assert restarted.n_samples == 120 and restarted.subset(np.arange(60)).start is None
    assert machine.starting_at(np.zeros((5, 1))).solve(K).steps == cold.steps  # of another size: as if there were none


def test_the_path_restarts(monkeypatch):
    starts = []
    solve = BinaryMachine.solve

    def spy(self, K, start=None, *rest, **options):
        starts.append(self.first(start))
        return solve(self, K, start, *rest, **options)

    monkeypatch.setattr(BinaryMachine, "solve", spy)
    first, _ = fit_path(MKLClassifier(KERNELS), X, BINARY, "C", [1.0, 2.0])
    assert starts[0] is None
    np.testing.assert_array_equal(starts[1][first.support_].T, 2.0 * first.dual_coef_)
    assert np.count_nonzero(starts[1]) == len(first.support_)


def test_a_path_of_costs_takes_fewer_steps_than_its_fits_alone(monkeypatch):
    steps = []
    solve = BinaryMachine.solve

    def spy(self, *arguments, **options):
        solution = solve(self, *arguments, **options)
        steps.append(solution.steps)
        return solution

    monkeypatch.setattr(BinaryMachine, "solve", spy)
    costs = [10.0, 11.0, 12.0, 13.0, 14.0]
    list(fit_path(MKLClassifier([Linear()]), X, BINARY, "C", costs))  # not separable: most samples are at their bound
    together = sum(steps)
    steps.clear()
    for cost in costs:
        MKLClassifier([Linear()], C=cost).fit(X, BINARY)
    assert together < 0.7 * sum(steps)


def test_other_estimators_run_without_restarts():
    models = list(fit_path(SVC(), X, BINARY, "C", [0.1, 1.0]))
    np.testing.assert_array_equal(models[1].dual_coef_, SVC(C=1.0).fit(X, BINARY).dual_coef_)
