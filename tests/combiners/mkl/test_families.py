"""Every member of the convex, lp, group, elastic families with every machine, against the full cone program."""

import time

import numpy as np
import pytest

from cases import each
from kernelweave.combiners import ConvexMKL, ElasticMKL, FitControl, GroupMKL, LpMKL
from kernelweave.machines import RegressionMachine
from reference_mkl import P, convex_optimum, elastic_optimum, group_optimum, small_problem, stack_of

MATRICES, MACHINES, TARGETS = small_problem(26)
STACK = stack_of(MATRICES)
COSTS = np.array([1.0, 0.7, 1.5, 1.0, 2.0])
GROUPS = np.array([0, 0, 1, 1, 2])
TOL = 3e-6

FAMILIES = {
    "convex": (ConvexMKL(), lambda programs: convex_optimum(programs, MATRICES)),
    "costs": (ConvexMKL(costs=COSTS), lambda programs: convex_optimum(programs, MATRICES, COSTS)),
    "limits": (
        ConvexMKL(costs=COSTS, min_weight=0.04),
        lambda programs: convex_optimum(programs, MATRICES, COSTS, 0.04 * COSTS**2),
    ),
    "lp 1.3": (LpMKL(p=1.3), lambda programs: group_optimum(programs, MATRICES, np.zeros(P), 1.3)),
    "lp 2": (LpMKL(p=2), lambda programs: group_optimum(programs, MATRICES, np.zeros(P), 2.0)),
    "lp 2, closed form": (
        LpMKL(p=2, solver="closed-form"),
        lambda programs: group_optimum(programs, MATRICES, np.zeros(P), 2.0),
    ),
    "lp, costs": (
        LpMKL(p=3, costs=COSTS),
        lambda programs: group_optimum(programs, MATRICES / COSTS[:, None, None] ** 2, np.zeros(P), 3.0),
    ),
    "group": (GroupMKL(GROUPS), lambda programs: group_optimum(programs, MATRICES, GROUPS, 2.0)),
    "group 4": (GroupMKL(GROUPS, p=4), lambda programs: group_optimum(programs, MATRICES, GROUPS, 4.0)),
    "elastic": (ElasticMKL(l2=3.0), lambda programs: elastic_optimum(programs, MATRICES, 3.0)),
}


def fitted(combiner, machine, tol=TOL):
    return combiner.fit(STACK, machine, FitControl(tol=tol))


POWER_CONES = ["lp 1.3", "lp, costs", "group 4"]  # which the reference cannot do for several columns of C
PAIRS = [
    (family, machine)
    for family in FAMILIES
    for machine in MACHINES
    if family not in POWER_CONES or machine in ("binary", "regression", "one-class", "posterior")
    if machine != "targets" or family in ("convex", "lp 2", "elastic")  # the reference takes seconds for two targets
]


@each(("family", "machine"), PAIRS)
def test_objective_gap_and_kernel_of_every_family_with_every_machine(family, machine):
    combiner, reference = FAMILIES[family]
    found = fitted(combiner, MACHINES[machine])
    expected = reference(MACHINES[machine].programs())
    size = abs(expected)
    penalty = 3.0 * ((found.theta - 1 / P) ** 2).sum() if family == "elastic" else 0.0
    reached = found.solution.objective + penalty
    assert reached == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert 0.0 <= found.solution.gap <= 2.0 * TOL * size + 1e-9
    assert reached - found.solution.gap <= expected + 1e-7 * size  # the certificate holds
    K = np.tensordot(found.theta, MATRICES, axes=1)
    again = MACHINES[machine].solve(K, gap_tol=1e-9)
    assert again.objective + penalty == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_where_they_should_be(family):
    combiner, _ = FAMILIES[family]
    eta = fitted(combiner, MACHINES["binary"]).theta
    x = eta * COSTS**2 if combiner.costs is not None else eta
    assert (eta >= 0.0).all()
    if isinstance(combiner, LpMKL):
        assert np.linalg.norm(x, combiner.p) == pytest.approx(1.0)
    elif isinstance(combiner, GroupMKL):
        assert sum(np.linalg.norm(x[g == GROUPS], combiner.p) for g in range(3)) == pytest.approx(1.0)
    else:
        assert x.sum() == pytest.approx(1.0)
    if family == "limits":
        assert eta.min() == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("machine", "min_weight"), [*((machine, 0.0) for machine in MACHINES), ("binary", 0.05), ("joint", 0.05)]
)
def test_all_solvers_agree(machine, min_weight):
    """Limits of the weights are none of the machine's business: with each machine they are above, as a family."""
    found = {
        solver: fitted(ConvexMKL(solver=solver, min_weight=min_weight, max_iter=1000), MACHINES[machine])
        for solver in ("newton", "level", "silp", "reduced-gradient", "conic")
    }
    for solver, combination in found.items():
        assert combination.solution.objective == pytest.approx(found["newton"].solution.objective, rel=1e-5), solver
        np.testing.assert_allclose(combination.theta, found["newton"].theta, atol=5e-3, err_msg=solver)
        assert combination.solution.gap <= 3.0 * TOL * abs(combination.solution.objective), solver


def test_the_default_needs_few_solves():
    counts = {
        solver: len(fitted(ConvexMKL(solver=solver), MACHINES["binary"], tol=1e-3).history)
        for solver in ("auto", "newton", "silp")
    }
    assert counts["auto"] == counts["newton"] <= 10 < counts["silp"]


def test_history_tells_of_every_solve():
    start = time.perf_counter()
    found = fitted(ConvexMKL(), MACHINES["binary"])
    elapsed = time.perf_counter() - start
    assert all(line["solves"] == 1 and line["n_support"] > 0 for line in found.history)
    seconds = [line["seconds"] for line in found.history]  # of each solve by itself
    assert min(seconds) > 0.0 and sum(seconds) <= elapsed


@pytest.mark.parametrize("combiner", [ConvexMKL(), LpMKL(p=2), GroupMKL(GROUPS), ElasticMKL(l2=3.0)], ids=repr)
def test_optima_below_the_tolerance_of_a_first_solve(combiner):
    values = np.random.default_rng(5).normal(size=STACK.n_samples)
    values *= 0.202 / np.ptp(values)  # just wider than the tube, so that J is small and a rough solution is 0
    found = fitted(combiner, RegressionMachine(values, bound=1.0, epsilon=0.1), tol=1e-3).solution
    assert 0.0 < found.objective < 1e-3
    assert found.gap < 2e-3 * found.objective
    found = fitted(combiner, RegressionMachine(0.9 * values, bound=1.0, epsilon=0.1), tol=1e-3).solution
    assert found.objective == found.gap == 0.0
