"""Learned weights on explicit features: the exact path, forms, second derivatives."""

import dataclasses
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from explicit_problem import CASES, KERNELS, Twin, X, some_missing
from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import BinaryMKL, ConvexMKL, ElasticMKL, FixedWeights, GroupMKL, LpMKL, Mean, SparseMKL
from kernelweave.combiners.mkl import WeightProblem
from kernelweave.kernels import Gaussian, Linear, Polynomial

LEARNERS = {
    "convex": lambda: ConvexMKL(),
    "lp": lambda: LpMKL(p=1.5),
    "closed form": lambda: LpMKL(p=2, solver="closed-form"),
    "costs": lambda: ConvexMKL({"product": 0.8, "noise": 2.0}, min_weight=0.02),
    "elastic": lambda: ElasticMKL(l2=4.0),
    "group": lambda: GroupMKL({"good": ["product", "smooth"]}),
}


@pytest.mark.parametrize("case", CASES)
def test_every_loss_agrees_with_the_exact_path(case):
    """For weights that are given, and for learned ones of one kind; all learners are tried below, with one loss."""
    twin = Twin(case)
    twin.check(lambda: Mean())
    twin.check(lambda: LpMKL(p=2) if "several" in case else ConvexMKL())


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_agrees_with_the_exact_path(name):
    tol = 1e-10 if name == "group" else 1e-11  # rounding leaves 2e-12 to 2e-11 of the gap of groups, by the BLAS
    exact, found = Twin("squared-hinge").check(LEARNERS[name], tol=tol)
    assert found.solution.gap <= 1e-7 * found.solution.objective
    assert all("n_support" not in line for line in found.history)


@pytest.mark.parametrize(("solver", "tol"), [("reduced-gradient", 1e-2), ("silp", 1e-4), ("level", 1e-4)])
def test_every_solver_of_convex_weights_agrees(solver, tol):
    exact, found = Twin("squared-hinge").fits(lambda: ConvexMKL(solver=solver), tol=tol)
    np.testing.assert_allclose(found.solution.objective, exact.solution.objective, rtol=tol)
    assert found.solution.gap <= 2 * tol * found.solution.objective


def test_samples_that_lack_views_are_scaled_as_in_the_exact_path():
    twin = Twin("squared-hinge", X=some_missing(X))
    for combiner in (lambda: Mean(), lambda: ConvexMKL(), lambda: LpMKL()):
        twin.check(combiner, tol=1e-11)


def test_sparse_and_selected_kernels_are_those_of_the_exact_path():
    for combiner in (lambda: SparseMKL(), lambda: BinaryMKL(2)):
        exact, found = Twin("squared-hinge").check(combiner, tol=1e-6, allowed=1e-4)
        np.testing.assert_array_equal(found.active, exact.active)


def test_kernels_of_weight_zero_have_their_forms():
    twin = Twin("squared-hinge", X=some_missing(X))
    eta = np.array([0.0, 0.7, 0.0, 0.3])
    exact = WeightProblem(twin.dense, twin.machine, np.ones(4), np.ones(90), None)
    found = WeightProblem(twin.explicit, twin.machine, np.ones(4), np.zeros(4), None)
    for problem in (exact, found):
        problem.evaluate(eta, None)
    mine, theirs = found.evaluate(eta, 1e-10), exact.evaluate(eta, 1e-10)
    assert (theirs.forms > 0.01).all()
    np.testing.assert_allclose(mine.forms, theirs.forms, rtol=1e-4)


@pytest.mark.parametrize(
    "case", ["squared-hinge", "one-vs-all", "squared-epsilon-insensitive", "several least squares"]
)
def test_slopes_and_second_derivatives_are_those_of_the_solved_machine(case):
    twin = Twin(case, X=some_missing(X))
    eta = np.array([0.4, 0.3, 0.5, 0.2])
    problem = WeightProblem(twin.explicit, twin.machine, np.ones(4), np.full(4, 0.25), None)
    problem.evaluate(eta, None)

    def forms(eta):
        return problem.evaluate(eta, 1e-10).forms

    def optimum(eta):
        return problem.evaluate(eta, 1e-10).value

    step = 2e-3
    ways = step * np.eye(4)
    slopes = [(optimum(eta + e) - optimum(eta - e)) / (2 * step) for e in ways]
    np.testing.assert_allclose(-0.5 * forms(eta), slopes, rtol=1e-4)
    bends = np.array([(forms(eta - e) - forms(eta + e)) / (4 * step) for e in ways])
    H = problem.evaluate(eta, 1e-10).curvature()
    np.testing.assert_allclose(H, 0.5 * (bends + bends.T), atol=0.03 * np.abs(bends).max())
    # what the descent leaves open makes it larger, never smaller
    assert np.linalg.eigvalsh(H - 0.5 * (bends + bends.T)).min() > -1e-3 * np.abs(bends).max()


def test_a_solve_begins_at_the_coefficients_of_the_last_one():
    twin = Twin("squared-hinge")
    problem = WeightProblem(twin.explicit, twin.machine, np.ones(4), np.ones(4), None)
    problem.evaluate(np.array([0.5, 0.0, 0.5, 0.0]), None)
    last = problem.evaluate(np.array([0.5, 0.0, 0.5, 0.0]), 1e-10).detail
    problem.sums.at(np.array([0.5, 0.1, 0.4, 0.0]))
    start = problem.sums.start(last).coef
    assert (twin.explicit.norms(start)[:3] > 0.0).all() and twin.explicit.norms(start)[3] == 0.0


def test_a_sample_without_any_used_view_is_refused_or_warned_of():
    twin = Twin("squared-hinge", X=some_missing(X))
    with pytest.raises(ValueError, match=r"sample 0 has none of the views .*\(product\); remove such samples"):
        twin.fits(lambda: FixedWeights({"product": 1.0}))
    with pytest.raises(ValueError, match="sample 0 has none of the views"):
        FixedWeights({"product": 1.0}).fit(twin.explicit, twin.machine)
    X_lacking = X.copy()
    X_lacking[4, 4:] = np.nan
    missing = Twin("squared-hinge", X=X_lacking, kernels=[KERNELS[0], KERNELS[3]])
    with pytest.warns(UserWarning, match=r"sample 4 has none of the views .*\(noise\); its prediction is the bias"):
        kernel = ConvexMKL({"product": 50.0}).fit(missing.explicit, missing.machine)
    with pytest.warns(UserWarning, match="sample 4 has none of the views"):
        kernel.values(missing.dense.support, kernel.solution.coef)


def test_only_the_cone_solver_needs_exact_kernels():
    assert not (ConvexMKL().needs() or LpMKL().needs() or BinaryMKL(1).needs())
    assert "cone solver" in ConvexMKL(solver="conic").needs()["gram"]


@pytest.mark.filterwarnings("ignore:y varies by")
@pytest.mark.parametrize("combiner", [ConvexMKL(), LpMKL(), ElasticMKL(), GroupMKL()], ids=repr)
def test_no_warning_where_the_tube_holds_every_target(combiner):
    """J is 0, which no gap relative to J can reach."""
    rng = np.random.default_rng(0)
    X = 1e6 * rng.normal(size=(20, 6))
    kernels = [Linear([0, 1]), Gaussian([2, 3]), Linear([4, 5])]
    settings = {"C": 100.0, "normalize": "unit-trace", "approximation": "nystroem", "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = MKLRegressor(kernels, combiner, **settings).fit(X, 1000.0 + 1e-4 * X[:, 0] / 1e6)
    assert 0.0 <= model.duality_gap_ <= 1e-3


@pytest.mark.parametrize("combiner", [ConvexMKL(), LpMKL()], ids=repr)
def test_a_solution_that_is_good_enough_is_no_reason_to_warn(combiner):
    """Weights are learned with solves that should be better than the last one needs to be, which float32 forbids."""
    X = 1e-6 * np.random.default_rng(1).normal(size=(58, 4))
    model = MKLClassifier(
        [Polynomial()], combiner, C=1e-3, machine="least-squares", approximation="nystroem", random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(X, X[:, 0] > 0.0)
    assert 0.0 <= model.duality_gap_ <= 1e-3


def test_refining_a_solution_judges_it_by_the_wanted_gap():
    twin = Twin("squared-hinge")
    kernel = Mean().fit(twin.explicit, twin.machine).operand()
    rough = twin.machine.solve(kernel, gap_tol=1e-2)
    found = twin.machine.refine(kernel, dataclasses.replace(rough, converged=False), 1e-1)
    assert found.converged and found.gap == rough.gap
    better = twin.machine.refine(kernel, rough, 1e-8)
    assert better.converged and better.gap <= 1e-8 * max(1.0, better.objective)
