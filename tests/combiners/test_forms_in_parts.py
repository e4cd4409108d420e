"""Forms and products of kernels in lazy storage: those of dense storage, without a matrix of all samples."""

import itertools

import array_api_strict
import numpy as np
import pytest
from sklearn.base import clone

from kernelweave.arrays import HOST, Place
from kernelweave.combiners import FitControl, GeneralizedMKL, KernelDifference, PointwiseKernel, PolynomialMKL, Product
from kernelweave.combiners.nonlinear import ProductKernel
from kernelweave.kernels import Gaussian, KernelStack, LazyStorageError, Linear, Polynomial
from kernelweave.kernels.tiles import sums
from kernelweave.machines import (
    BinaryMachine,
    JointMachine,
    OneClassMachine,
    OneVsAllMachine,
    OneVsOneMachine,
    RegressionMachine,
)
from kernelweave.stacks import training
from kernelweave.stacks.tiles import Tiles
from lazy_properties import check_differences, check_lazy_family, check_lazy_kernel, peak_bytes

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=(N, 8))
MISSING = X.copy()
MISSING[1::5, 2:4] = np.nan
MISSING[3::10, :2] = np.nan
LABELS = rng.permutation(np.arange(N) % 3)
SIGNS = np.where(X[:, 0] * X[:, 2] > 0, 1.0, -1.0)
BOUND = rng.uniform(0.3, 3.0, N)
KERNELS = [Gaussian([0, 1], scale=2.0), Linear([2, 3]), Gaussian([4, 5], scale=1.5), Polynomial([6, 7])]
ETA = np.array([0.4, 0.7, 0.2, 0.5])
MACHINES = {
    "binary": BinaryMachine(SIGNS, BOUND),
    "regression": RegressionMachine(X[:, 0] + 0.2 * rng.normal(size=N), BOUND, epsilon=0.1),
    "one-class": OneClassMachine(5 * BOUND / BOUND.sum()),
    "one-vs-one": OneVsOneMachine(LABELS, BOUND),
    "one-vs-all": OneVsAllMachine(LABELS, BOUND),
    "joint": JointMachine(LABELS, BOUND),
}
COMBINERS = {
    "degree 1": PolynomialMKL(degree=1, constant=0.0, tau=1.0),
    "no products": PolynomialMKL(degree=2, tau=0.0),
    "degree 2": PolynomialMKL(degree=2, constant=0.0, tau=1.0),
    "degree 3, constant": PolynomialMKL(degree=3, constant=0.8, tau=0.25),
    "product": GeneralizedMKL("product", "l1", strength=0.3),
    "sum": GeneralizedMKL("sum", "l2", strength=0.3),
}
STRICT = Place(array_api_strict)


def family(storage, combiner, samples=X, normalize="unit-diagonal", **options):
    stack = KernelStack(KERNELS, normalize, storage=storage, **options).fit(samples)
    return clone(COMBINERS[combiner]).family(training(stack), MACHINES["binary"], FitControl())


@pytest.mark.parametrize("samples", [X, MISSING], ids=["complete", "missing views"])
@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("machine", MACHINES)
def test_objective_and_gradient_are_those_of_dense_storage(machine, combiner, samples):
    check_lazy_family(family("dense", combiner, samples), family("lazy", combiner, samples), MACHINES[machine], ETA)


@pytest.mark.parametrize("eta", [ETA, ETA * [1.0, 0.0, 1.0, 0.0]], ids=["all kernels", "two kernels"])
@pytest.mark.parametrize("samples", [X, MISSING], ids=["complete", "missing views"])
@pytest.mark.parametrize("combiner", COMBINERS)
def test_kernel_is_that_of_dense_storage(combiner, samples, eta):
    check_lazy_kernel(family("dense", combiner, samples).at(eta), family("lazy", combiner, samples).at(eta))


@pytest.mark.parametrize("normalize", ["unit-trace", "center", None])
@pytest.mark.parametrize("combiner", ["degree 2", "product", "sum"])
def test_normalisations(combiner, normalize):
    pair = [family(storage, combiner, MISSING, normalize) for storage in ("dense", "lazy")]
    check_lazy_family(*pair, MACHINES["one-vs-all"], 0.1 * ETA)


@pytest.mark.parametrize("samples", [X, MISSING], ids=["complete", "missing views"])
@pytest.mark.parametrize("combiner", COMBINERS)
def test_gradient_through_the_machine_solved_again(combiner, samples):
    lazy, machine = family("lazy", combiner, samples), MACHINES["binary"]
    solution = machine.solve(lazy.at(ETA).operand(), tol=1e-9)
    check_differences(lazy, machine, ETA, solution, np.random.RandomState(2))


def test_tiles_add_up(monkeypatch):
    coef = np.random.default_rng(3).normal(size=(N, 2))
    monkeypatch.setattr(sums, "HEIGHT", 7)
    monkeypatch.setattr(sums, "WIDTH", 11)
    monkeypatch.setattr(sums, "TILE_VALUES", 7 * N)
    for combiner, samples, place in itertools.product(("degree 3, constant", "product"), (X, MISSING), (HOST, STRICT)):
        dense, lazy = family("dense", combiner, samples), family("lazy", combiner, samples, place=place)
        expected = dense.pullback(dense.at(ETA), coef)
        np.testing.assert_allclose(lazy.pullback(lazy.at(ETA), coef), expected, rtol=1e-9)
        check_lazy_kernel(dense.at(ETA), lazy.at(ETA))


def test_images_of_a_weighted_sum_stay_true_when_weights_change(monkeypatch):
    lazy, machine = family("lazy", "sum"), MACHINES["binary"]
    first = machine.solve(lazy.at(ETA).operand(), tol=1e-3)
    other = lazy.at(ETA[::-1].copy()).operand()
    assert other.reuses(first.image)
    value = other.value(first.image, first.coef[:, 0])
    expected = family("dense", "sum").at(ETA[::-1].copy()).gram() @ first.coef[:, 0]
    np.testing.assert_allclose(value, expected, atol=1e-9)
    kernel = lazy.at(ETA)
    again = machine.solve(kernel.operand(), tol=1e-6)
    expected = lazy.pullback(kernel, again.coef)
    monkeypatch.setattr(lazy, "pullback", None)
    np.testing.assert_allclose(lazy.gradient(kernel, again), expected, rtol=1e-9)


@pytest.mark.parametrize("samples", [X, MISSING], ids=["complete", "missing views"])
@pytest.mark.parametrize("machine", ["binary", "regression", "one-vs-all", "one-vs-one"])
@pytest.mark.parametrize("combiner", [*COMBINERS.values(), PolynomialMKL()], ids=[*COMBINERS, "tau by itself"])
def test_whole_fits_reach_the_same_objective(combiner, machine, samples):
    ends, shares = [], []
    for storage in ("dense", "lazy"):
        stack, own = KernelStack(KERNELS, storage=storage).fit(samples), clone(combiner)
        control = FitControl(np.random.RandomState(0), tol=1e-5)
        ends.append(own.fit(stack, MACHINES[machine], control).history[-1]["objective"])
        shares.append(getattr(own, "tau_", 0.0))
    assert abs(ends[0] - ends[1]) <= 1e-3 * max(1.0, abs(ends[0]))
    assert shares[0] == shares[1]


def test_held_out_share_reads_the_products():
    signs = np.where(X[:, 0] * X[:, 2] > 0, 1.0, -1.0)
    kernels = [Linear([0]), Linear([2])]
    for storage in ("dense", "lazy"):
        stack, combiner = KernelStack(kernels, None, storage=storage).fit(X), PolynomialMKL(degree=2)
        combiner.fit(stack, BinaryMachine(signs, 10.0), FitControl(np.random.RandomState(0)))
        assert combiner.tau_ > 0.0


class Smallest(PointwiseKernel):
    """A function of the values that only NumPy computes."""

    def combine(self, values):
        return np.min(np.stack(list(values)), axis=0)


@pytest.mark.parametrize("kernel", [ProductKernel, lambda stack: Smallest(stack, np.empty(0))], ids=["product", "own"])
@pytest.mark.parametrize("place", [None, STRICT], ids=["host", "strict"])
def test_pointwise_kernels_are_those_of_dense_storage(kernel, place):
    rest = {} if place is None else {"place": place}
    stacks = KernelStack(KERNELS).fit(X), KernelStack(KERNELS, storage="lazy", **rest).fit(X)
    check_lazy_kernel(*(kernel(stack) for stack in stacks))


@pytest.mark.parametrize("combiner", COMBINERS)
def test_forms_work_in_another_namespace(combiner):
    dense, lazy = family("dense", combiner, MISSING), family("lazy", combiner, MISSING, place=STRICT)
    coef = np.random.default_rng(4).normal(size=(N, 2))
    coef[::3] = 0.0
    expected = dense.pullback(dense.at(ETA), coef)
    np.testing.assert_allclose(lazy.pullback(lazy.at(ETA), coef), expected, rtol=1e-8, atol=1e-8)
    check_lazy_kernel(dense.at(ETA), lazy.at(ETA), tolerance=1e-8)


@pytest.mark.parametrize("combiner", COMBINERS)
def test_nothing_of_the_size_of_all_pairs_is_made(combiner):
    n = 2500
    samples, coef = np.random.default_rng(1).normal(size=(n, 8)), np.random.default_rng(2).normal(size=(n, 1))

    def evaluate():
        lazy = family("lazy", combiner, samples)
        lazy.start(None, None)
        lazy.pullback(lazy.at(ETA), coef)
        lazy.at(ETA).product(np.arange(n), coef)

    assert peak_bytes(evaluate) < 0.7 * 8 * n**2


def test_products_fit_and_differences_are_refused():
    assert all(Tiles.offers >= each.needs().keys() for each in (Product(), PolynomialMKL(), GeneralizedMKL()))
    stack = KernelStack(KERNELS, storage="lazy").fit(X)
    for form, reason in (("absolute", "eigenvalues"), ("difference", "eigenvalues"), ("square", "squares")):
        combiner = KernelDifference(form)
        assert reason in combiner.needs()["gram"]
        with pytest.raises(LazyStorageError, match=r"60 x 60 float64"):
            combiner.fit(stack, MACHINES["binary"])
    lazy = Product().fit(stack, MACHINES["binary"])
    dense = Product().fit(KernelStack(KERNELS).fit(X), MACHINES["binary"])
    assert lazy.solution.objective == pytest.approx(dense.solution.objective, rel=1e-3)
