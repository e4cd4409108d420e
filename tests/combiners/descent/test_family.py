"""Every kernel family has the properties of families."""

import numpy as np
import pytest

import localized_problem
import projected_problem
from combined_properties import check_combined_kernel, check_family
from kernelweave.combiners import FitControl, GeneralizedMKL, KernelFamily, Localized, PolynomialMKL, Projected
from kernelweave.kernels import Gaussian, Linear, Polynomial
from kernelweave.views import as_views
from localized_problem import BOUND, MACHINES, MISSING, TARGET, X
from three_stacks import FORMS, RoundedError, serve, stack_on

THREE = [Gaussian([0, 1], scale=2.0), Polynomial([2, 3]), Linear([1, 2])]
TWO = [Gaussian([0, 1], scale=2.0), Linear([2, 3])]
SMOOTH = RoundedError().for_targets(TARGET, BOUND)
COMBINERS = [
    PolynomialMKL(degree=1, constant=0.0),
    PolynomialMKL(degree=2),
    PolynomialMKL(degree=3, constant=0.5, tau=0.5),
    GeneralizedMKL("product", strength=3.0),
    GeneralizedMKL("sum", "l2"),
]


EXACT = pytest.mark.parametrize("form", ["matrices", "tiles"])


def form_family(combiner, samples, kernels, form="matrices"):
    family = combiner.family(stack_on(form, kernels, samples, MACHINES["binary"]), MACHINES["binary"], FitControl())
    return family, family.domain().enter(np.linspace(0.3, 0.8, len(kernels)))


@EXACT
@pytest.mark.parametrize("combiner", COMBINERS, ids=str)
def test_families_of_forms(combiner, form):
    for samples, kernels in ((X, THREE), (MISSING, TWO)):
        family, theta = form_family(combiner, samples, kernels, form)
        check_family(family, MACHINES["binary"], theta)


@pytest.mark.parametrize("gate", localized_problem.GATES)
def test_families_of_gated_sums(gate):
    for stack, norm in (("complete", "paper"), ("missing views", "unit")):
        family, theta = localized_problem.prepared(gate, stack, norm=norm)
        check_family(family, MACHINES["regression"], theta)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("gate", localized_problem.GATES)
def test_families_of_gated_sums_on_every_stack(gate, form):
    for samples, kernels in ((X, THREE), (MISSING, TWO)):
        combiner = Localized(localized_problem.GATES[gate], l2=0.3)
        if form in serve(combiner):
            family = combiner.family(stack_on(form, kernels, samples, SMOOTH, TARGET), SMOOTH, FitControl())
            family.strength = 0.3
            check_family(family, SMOOTH, 60.0 * family.start(SMOOTH, np.random.RandomState(1)))


@EXACT
@pytest.mark.parametrize("gating", projected_problem.GATINGS)
def test_families_of_projected_kernels(gating, form):
    family, theta = projected_problem.prepared(gating=gating, storage="lazy" if form == "tiles" else "dense")
    check_family(family, MACHINES["binary"], family.domain().enter(theta))


@pytest.mark.parametrize("gating", ["none", "softmax", "softmax, projected", "gaussian"])
def test_projections_on_features_descend_along_their_gradient(gating):
    """Values and slopes of the function of all parameters; projections move features, so that there is no kernel `at`.

    At the first weight vectors and biases the loss has its kinks elsewhere.
    """
    gate, components = projected_problem.GATINGS[gating]
    combiner = Projected(2, gate, gating_components=components, l2=0.3)
    stack = stack_on("features", projected_problem.KERNELS["mixed"], projected_problem.X, SMOOTH, TARGET)
    family = combiner.family(stack, SMOOTH, FitControl())
    family.strength = 0.3
    family.mean_optimum(SMOOTH)
    start = family.first(SMOOTH, np.random.RandomState(1))
    problem = family.joint(SMOOTH, start)
    primal = problem.primal
    point = primal.join(problem.solution.coef, problem.solution.intercept, start.theta)
    _, gradient, _ = primal(point)
    rng, h = np.random.RandomState(3), 1e-6
    for _ in range(3):
        direction = problem.domain.tangent(point, rng.normal(size=len(point)))
        ahead, behind = (primal(problem.domain.move(point, direction, t)[0])[0] for t in (h, -h))
        np.testing.assert_allclose((ahead - behind) / (2 * h), gradient @ direction, rtol=1e-4, atol=1e-5)
    kernel, begin = problem.finish(family, start.theta, problem.solution)
    solution = SMOOTH.solve(kernel.operand(), begin, gap_tol=1e-9)
    assert solution.converged
    np.testing.assert_array_equal(kernel.theta, start.theta)
    kernel.settle(solution, SMOOTH)
    views, new = as_views(projected_problem.X), as_views(projected_problem.X[::4] + 0.1)
    check_combined_kernel(kernel, views, new, 1e-8)


@pytest.mark.parametrize("constraint", ["norm", "penalty"])
def test_families_of_projected_kernels_of_every_constraint(constraint):
    family, theta = projected_problem.prepared(constraint=constraint)
    check_family(family, MACHINES["binary"], family.domain().enter(theta))


def test_every_family_of_the_package_is_here():
    def below(cls):
        return {cls}.union(*(below(each) for each in cls.__subclasses__()))

    families = {cls.__name__ for cls in below(KernelFamily) if cls.__module__.startswith("kernelweave.")}
    assert families == {
        "KernelFamily",
        "FormFamily",
        "BallFamily",
        "PenalizedFamily",
        "GatedFamily",
        "ProjectedFamily",
    }


def test_a_wrong_pullback_is_found():
    family, theta = form_family(COMBINERS[1], X, THREE)
    right = family.pullback
    family.pullback = lambda kernel, coef: 1.01 * right(kernel, coef)
    with pytest.raises(AssertionError, match="pullback"):
        check_family(family, MACHINES["binary"], theta)
