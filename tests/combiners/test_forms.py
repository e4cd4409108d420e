"""Kernels of one weight per kernel: their values, and their gradients through every machine."""

import itertools

import numpy as np
import pytest

from cases import each
from kernelweave.combiners import GeneralizedMKL, PolynomialMKL
from kernelweave.combiners.forms import FormKernel, GaussianForm, Monomials
from kernelweave.kernels import Gaussian, KernelStack, Linear, Precomputed
from kernelweave.machines import (
    BinaryMachine,
    EpsilonInsensitive,
    JointMachine,
    LeastSquaresClassMachine,
    LeastSquaresMachine,
    OneClassMachine,
    OneVsAllMachine,
    OneVsOneMachine,
    PosteriorMachine,
    RegressionMachine,
)
from kernelweave.stacks import training
from kernelweave.views import Views
from reference_qp import exactly

rng = np.random.default_rng(0)
N = 32
X = rng.normal(size=(N, 4))
NEW = rng.normal(size=(7, 4))
LABELS = rng.permutation(np.arange(N) % 3)
BOUND = rng.uniform(0.3, 3.0, N)
TARGET = X[:, 0] + 0.2 * rng.normal(size=N)
KERNELS = [Gaussian([0, 1], scale=2.0), Gaussian([2, 3], scale=1.5), Gaussian(scale=3.0), Linear([1, 2])]
ETA = np.array([0.4, 0.7, 0.2, 0.5])
MACHINES = {
    "binary": BinaryMachine(np.where(LABELS > 0, 1.0, -1.0), BOUND),
    "regression": RegressionMachine(TARGET, BOUND, epsilon=0.1),
    "one-class": OneClassMachine(5 * BOUND / BOUND.sum()),
    "one-vs-one": OneVsOneMachine(LABELS, BOUND),
    "one-vs-all": OneVsAllMachine(LABELS, BOUND),
    "joint": JointMachine(LABELS, BOUND),
    "posterior": PosteriorMachine(rng.random(N), BOUND),
    "least-squares": LeastSquaresMachine(TARGET, BOUND),
    "least-squares, classes": LeastSquaresClassMachine(LABELS, BOUND),
    "targets": EpsilonInsensitive(epsilon=0.1).several_targets(np.column_stack([TARGET, 2.0 * X[:, 2]]), BOUND),
}
COMBINERS = {
    "degree 1": PolynomialMKL(degree=1, constant=0.0, tau=1.0),
    "degree 2": PolynomialMKL(degree=2, constant=0.0, tau=1.0),
    "degree 3, constant": PolynomialMKL(degree=3, constant=0.8, tau=0.25),
    "product": GeneralizedMKL("product", "l1", strength=0.3),
    "sum": GeneralizedMKL("sum", "l2", strength=0.3),
}


GAPPY = [Gaussian([0, 1], scale=2.0), Gaussian([2, 3], scale=1.5), Gaussian([3], scale=1.0), Linear([0, 1])]
MISSING = X.copy()
MISSING[1::5, 2:] = np.nan
MISSING[3::10, :2] = np.nan
STACKS = {
    "complete": training(KernelStack(KERNELS).fit(X)),
    "missing views": training(KernelStack(GAPPY).fit(MISSING)),
}


def form_kernel(stack, form, eta):
    return FormKernel(stack, eta, form, form.diagonals(stack))


@each("stack", STACKS)
@each("combiner", COMBINERS)
@each("machine", MACHINES)
def test_gradient_through_the_solved_machine(machine, combiner, stack):
    machine, family = MACHINES[machine], COMBINERS[combiner].family(STACKS[stack], MACHINES["binary"], None)
    solution = exactly(machine, family.at(ETA).gram())
    gradient = family.pullback(family.at(ETA), solution.coef) + family.penalty(ETA)[1]
    h = 1e-5
    for m in range(4):
        step = h * np.eye(4)[m]
        ahead, behind = (
            exactly(machine, family.at(eta).gram(), solution).objective + family.penalty(eta)[0]
            for eta in (ETA + step, ETA - step)
        )
        assert gradient[m] == pytest.approx((ahead - behind) / (2 * h), rel=1e-3, abs=2e-5)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
@pytest.mark.parametrize("form", [Monomials(1), Monomials(2), Monomials(3, 0.5, 0.6, 0.2), GaussianForm()])
def test_new_samples_are_compared_as_training_samples_are(form, normalize):
    stack = KernelStack(KERNELS, normalize).fit(X)
    kernel = form_kernel(stack, form, ETA)
    K = kernel.gram()
    np.testing.assert_allclose(kernel.cross(Views(X)), K, atol=1e-10 * np.abs(K).max())
    assert np.linalg.eigvalsh(K).min() > -1e-10 * np.abs(K).max()
    lean = kernel.restrict(np.array([3, 9, 20]))
    np.testing.assert_allclose(lean.cross(Views(NEW)), kernel.cross(Views(NEW))[:, [3, 9, 20]], atol=1e-12)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "center", None])
@pytest.mark.parametrize(
    "form",
    [
        Monomials(1),
        Monomials(2),
        Monomials(2, 0.5),
        Monomials(2, 0.5, 0.6, 0.2),
        Monomials(2, 0.5, 0.0, 1.0),
        GaussianForm(),
    ],
)
def test_samples_without_a_view(form, normalize):
    stack = KernelStack(GAPPY, normalize).fit(MISSING)
    kernel = form_kernel(stack, form, ETA)
    K = kernel.gram()
    assert not stack.present.all()
    assert np.linalg.eigvalsh(K).min() > -1e-10 * np.abs(K).max()
    np.testing.assert_allclose(kernel.cross(stack.reference), K, atol=1e-10 * np.abs(K).max())
    if normalize == "unit-diagonal":
        full = form.at_one(ETA) if isinstance(form, Monomials) else 1.0
        np.testing.assert_allclose(K.diagonal(), full)
    weights = kernel.sample_weights(stack.reference)
    np.testing.assert_array_equal(weights > 0, stack.present)
    if isinstance(form, Monomials) and (form.degree == 1 or form.products == 0):
        np.testing.assert_allclose(weights.sum(axis=1), ETA.sum())


def test_a_missing_view_is_at_the_origin_of_the_product():
    stack = STACKS["missing views"]
    K = form_kernel(stack, GaussianForm(), ETA).gram()
    matrices = stack.matrices()
    i, j = np.flatnonzero(~stack.present[:, 0])[0], np.flatnonzero(stack.present.all(axis=1))[0]
    distances = matrices[:, i, i] + matrices[:, j, j] - 2 * matrices[:, i, j]
    assert matrices[0, i, i] == 0 and distances[0] == 1  # a unit vector's distance from the origin
    assert K[i, j] == pytest.approx(np.exp(-ETA @ distances))


def test_a_kernel_without_weight_changes_nothing():
    eta = np.array([0.5, 0.0, 0.3, 0.0])
    few = KernelStack([KERNELS[0], KERNELS[2]]).fit(X)
    for form in (Monomials(2), GaussianForm()):
        all_four, two = form_kernel(STACKS["complete"], form, eta), form_kernel(few, form, eta[[0, 2]])
        np.testing.assert_allclose(all_four.gram(), two.gram())
        np.testing.assert_allclose(all_four.cross(Views(NEW)), two.cross(Views(NEW)))


def test_product_of_linear_kernels_by_feature_is_a_gaussian():
    stack = KernelStack([Linear([m]) for m in range(4)], None).fit(X)
    kernel = form_kernel(stack, GaussianForm(), ETA)
    scaled, new = X * np.sqrt(ETA), NEW * np.sqrt(ETA)
    expected = np.exp(-((new[:, None] - scaled[None]) ** 2).sum(-1))
    np.testing.assert_allclose(kernel.cross(Views(NEW)), expected, atol=1e-12)


@pytest.mark.parametrize(("repair", "normalize"), [("clip", "center"), ("clip", "unit-trace"), ("shift", None)])
def test_distances_of_repaired_kernels(repair, normalize):
    raw = X @ X.T - 2.0 * np.outer(X[:, 0], X[:, 0])
    stack = KernelStack([Precomputed(raw, repair=repair)], normalize).fit(np.arange(N)[:, None])
    kernel = form_kernel(stack, GaussianForm(), ETA[:1])
    K, cross = kernel.gram(), kernel.cross(stack.reference)
    if repair == "shift":  # which counts a training sample that comes again as another one
        assert cross.diagonal().max() < 1.0
        np.fill_diagonal(cross, 1.0)
    np.testing.assert_allclose(cross, K, atol=1e-9)


def test_values_where_all_kernels_are_one():
    eta = np.array([0.5, 2.0])
    expected = sum(np.prod(q) for q in itertools.combinations_with_replacement([0.3, *eta], 3)) - 0.3**3
    assert Monomials(3, 0.3).at_one(eta) == pytest.approx(expected)
    assert Monomials(3, 0.3, 0.5, 2.0).at_one(eta) == pytest.approx(0.5 * expected + 2.0 * eta.sum())
