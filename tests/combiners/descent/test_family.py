"""Every kernel family has the properties of families."""

import numpy as np
import pytest

import localized_problem
import projected_problem
from combined_properties import check_family
from kernelweave.combiners import FitControl, GeneralizedMKL, KernelFamily, PolynomialMKL
from kernelweave.kernels import Gaussian, KernelStack, Linear, Polynomial
from localized_problem import LABELS, MACHINES, MISSING, X

THREE = [Gaussian([0, 1], scale=2.0), Polynomial([2, 3]), Linear([1, 2])]
TWO = [Gaussian([0, 1], scale=2.0), Linear([2, 3])]
FORMS = [
    PolynomialMKL(degree=1, constant=0.0),
    PolynomialMKL(degree=2),
    PolynomialMKL(degree=3, constant=0.5, tau=0.5),
    GeneralizedMKL("product", strength=3.0),
    GeneralizedMKL("sum", "l2"),
]


def form_family(combiner, samples, kernels):
    family = combiner.family(KernelStack(kernels).fit(samples), MACHINES["binary"], LABELS, FitControl())
    return family, family.domain().enter(np.linspace(0.3, 0.8, len(kernels)))


@pytest.mark.parametrize("combiner", FORMS, ids=str)
def test_families_of_forms(combiner):
    for samples, kernels in ((X, THREE), (MISSING, TWO)):
        family, theta = form_family(combiner, samples, kernels)
        check_family(family, MACHINES["binary"], theta)


@pytest.mark.parametrize("gate", localized_problem.GATES)
def test_families_of_gated_sums(gate):
    for stack, norm in (("complete", "paper"), ("missing views", "unit")):
        family, theta = localized_problem.prepared(gate, stack, norm=norm)
        check_family(family, MACHINES["regression"], theta)


@pytest.mark.parametrize("gating", projected_problem.GATINGS)
def test_families_of_projected_kernels(gating):
    family, theta = projected_problem.prepared(gating=gating)
    check_family(family, MACHINES["binary"], family.domain().enter(theta))


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
    family, theta = form_family(FORMS[1], X, THREE)
    right = family.pullback
    family.pullback = lambda kernel, coef: 1.01 * right(kernel, coef)
    with pytest.raises(AssertionError, match="pullback"):
        check_family(family, MACHINES["binary"], theta)
