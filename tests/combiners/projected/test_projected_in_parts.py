"""Projected kernels in lazy storage: those of dense storage, without a matrix of all samples."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from kernelweave.arrays import Place
from kernelweave.combiners import FitControl, GaussianGate, InstanceGate, Projected, Sigmoid, Softmax
from kernelweave.kernels import Gaussian, KernelStack, Laplacian, LazyStorageError, Linear, Polynomial, Precomputed
from kernelweave.machines import (
    BinaryMachine,
    JointMachine,
    OneClassMachine,
    OneVsAllMachine,
    OneVsOneMachine,
    RegressionMachine,
)
from kernelweave.stacks import training
from lazy_properties import check_differences, check_lazy_family, check_lazy_kernel, peak_bytes

rng = np.random.default_rng(0)
N = 50
X = rng.normal(size=(N, 9))
MISSING = X.copy()
MISSING[1::5, 3:6] = np.nan
MISSING[3::10, :3] = np.nan
LABELS = rng.permutation(np.arange(N) % 3)
SIGNS = np.where(X[:, 0] * X[:, 3] > 0, 1.0, -1.0)
BOUND = rng.uniform(0.3, 3.0, N)
A, B, C = [0, 1, 2], [3, 4, 5], [6, 7, 8]


class Quartic(Linear):
    """A kernel of the user's own, which is no function that is known: (<x, z> + 1)^4 / 16."""

    is_linear = False

    def cross_of(self, A, B):
        return (A @ B.T + 1.0) ** 4 / 16.0

    def gram_of(self, A):
        return self.cross_of(A, A)

    def diagonal_of(self, A):
        return ((A**2).sum(axis=1) + 1.0) ** 4 / 16.0

    def pullback(self, A, Z, weights):
        return (weights * (A @ Z.T + 1.0) ** 3 / 4.0).T @ A


KERNELS = {
    "linear": [Linear(A), Linear(B)],
    "gaussian": [Gaussian(A, scale=2.0), Gaussian(B, scale=1.5)],
    "mixed": [Linear(A), Polynomial(B, degree=3, coef0=0.5), Gaussian(C)],
    "own": [Quartic(A), Polynomial(B, degree=1), Gaussian(C, scale=2.0)],
}
MACHINES = {
    "binary": BinaryMachine(SIGNS, BOUND),
    "regression": RegressionMachine(X[:, 0] + 0.2 * rng.normal(size=N), BOUND, epsilon=0.1),
    "one-class": OneClassMachine(5 * BOUND / BOUND.sum()),
    "one-vs-one": OneVsOneMachine(LABELS, BOUND),
    "one-vs-all": OneVsAllMachine(LABELS, BOUND),
    "joint": JointMachine(LABELS, BOUND),
}
GATINGS = {
    "none": {"gating": None},
    "softmax": {"gating": Softmax()},
    "softmax, projected": {"gating": Softmax(norm="paper"), "gating_components": 2},
    "sigmoid": {"gating": Sigmoid()},
    "gaussian, projected": {"gating": GaussianGate(), "gating_components": 2},
    "instance": {"gating": InstanceGate()},
}


def prepared(storage, kernels="mixed", gating="softmax", samples=X, normalize="unit-diagonal", options=None, **rest):
    """A family, and a theta whose gates differ from sample to sample."""
    stack = KernelStack(KERNELS[kernels], normalize, storage=storage, **rest).fit(samples)
    combiner = Projected(2, l2=0.1, **GATINGS[gating], **(options or {}))
    family = clone(combiner).family(training(stack), MACHINES["binary"], FitControl())
    theta = family.start(MACHINES["one-class"], np.random.RandomState(1))
    theta[: family.layout.n_gating] *= 10.0
    return family, theta


@pytest.mark.parametrize("samples", [X, MISSING], ids=["complete", "missing views"])
@pytest.mark.parametrize("gating", ["none", "softmax"])
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_objective_and_gradient_are_those_of_dense_storage(machine, kernels, gating, samples):
    (dense, theta), (lazy, _) = (prepared(storage, kernels, gating, samples) for storage in ("dense", "lazy"))
    check_lazy_family(dense, lazy, MACHINES[machine], theta)


@pytest.mark.parametrize("gating", GATINGS)
@pytest.mark.parametrize("normalize", ["unit-trace", "center", None])
def test_gates_and_normalisations(gating, normalize):
    families = [prepared(storage, gating=gating, normalize=normalize) for storage in ("dense", "lazy")]
    (dense, theta), (lazy, _) = families
    check_lazy_family(dense, lazy, MACHINES["one-vs-all"], theta)


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("samples", [X, MISSING], ids=["complete", "missing views"])
def test_kernel_is_that_of_dense_storage(kernels, samples):
    families = [prepared(storage, kernels, samples=samples) for storage in ("dense", "lazy")]
    check_lazy_kernel(*(family.at(theta) for family, theta in families))
    check_lazy_kernel(*(family.finish(theta) for family, theta in families))
    rows = np.arange(0, N, 2)
    check_lazy_kernel(*(family.over(family.stack.subset(rows)).at(theta) for family, theta in families))


@pytest.mark.parametrize("kernels", KERNELS)
def test_gradient_through_the_machine_solved_again(kernels):
    family, theta = prepared("lazy", kernels, options={"constraint": "penalty"})
    machine = MACHINES["binary"]
    solution = machine.solve(family.at(theta).operand(), tol=1e-9)
    check_differences(family, machine, theta, solution, np.random.RandomState(2))


@pytest.mark.parametrize("kernels", KERNELS)
def test_mean_optimum_is_that_of_dense_storage(kernels):
    first, second = (prepared(storage, kernels)[0].mean_optimum(MACHINES["binary"]) for storage in ("dense", "lazy"))
    assert abs(first - second) <= 2e-4 * first


FITS = {
    "global": (Projected(2), "linear", "binary"),
    "local": (Projected(2, Softmax(), l2=0.1), "mixed", "binary"),
    "validation": (Projected(2, Softmax(), validation_fraction=0.3, max_iter=20), "gaussian", "binary"),
    "classes": (Projected(2, Softmax(), gating_components=2), "linear", "one-vs-all"),
    "regression": (Projected(1, constraint="penalty"), "mixed", "regression"),
    "norm": (Projected(2, constraint="norm"), "gaussian", "binary"),
    "armijo": (Projected(2, Softmax(), optimizer="armijo", max_iter=5), "linear", "binary"),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:.*this model is not localized")
@pytest.mark.parametrize("case", FITS)
def test_whole_fits_reach_the_same_objective(case):
    combiner, kernels, machine = FITS[case]
    ends = []
    for storage in ("dense", "lazy"):
        stack = KernelStack(KERNELS[kernels], storage=storage).fit(X)
        control = FitControl(np.random.RandomState(0), tol=1e-6)
        ends.append(clone(combiner).fit(stack, MACHINES[machine], None, control).history[-1]["objective"])
    assert abs(ends[0] - ends[1]) <= 1e-3 * max(1.0, abs(ends[0]))


def test_sparse_views_are_compared_by_the_kernel_itself():
    samples = sp.random(N, 20, density=0.3, random_state=0, format="csr")
    stacks = [
        KernelStack([Linear(), Gaussian(scale=1.0)], storage=storage).fit(samples) for storage in ("dense", "lazy")
    ]
    families = [Projected(2).family(training(stack), MACHINES["binary"], FitControl()) for stack in stacks]
    theta = families[0].start(MACHINES["binary"], np.random.RandomState(0))
    families[1].start(MACHINES["binary"], np.random.RandomState(0))
    check_lazy_family(*families, MACHINES["binary"], theta)
    np.testing.assert_allclose(
        families[1].mean_operand().block(np.arange(N)), families[0].mean_operand(), rtol=0.0, atol=1e-12
    )


@pytest.mark.parametrize("kernels", ["linear", "mixed"])
def test_projections_work_in_another_namespace(kernels):
    (dense, theta), (lazy, _) = prepared("dense", kernels), prepared("lazy", kernels, place=Place(array_api_strict))
    coef = MACHINES["one-vs-all"].solve(dense.at(theta).gram(), tol=1e-6).coef
    expected = dense.pullback(dense.at(theta), coef)
    found = lazy.pullback(lazy.at(theta), coef)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8 * np.abs(expected).max())


def test_many_outputs_are_multiplied_some_at_a_time(monkeypatch):
    from kernelweave.kernels import points as in_parts

    (dense, theta), (lazy, _) = (prepared(storage) for storage in ("dense", "lazy"))
    coef = np.random.default_rng(3).normal(size=(N, 7))
    monkeypatch.setattr(in_parts, "COLUMNS", 5)
    monkeypatch.setattr(in_parts, "TILE_VALUES", 200)
    expected = dense.pullback(dense.at(theta), coef)
    found = lazy.pullback(lazy.at(theta), coef)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kernels", KERNELS)
def test_without_coefficients_the_derivative_is_zero(kernels):
    family, theta = prepared("lazy", kernels)
    found = family.pullback(family.at(theta), np.zeros((N, 2)))
    assert found.shape == theta.shape and not found.any()


def test_nothing_of_the_size_of_all_pairs_is_made():
    n = 6000
    samples = np.random.default_rng(1).normal(size=(n, 9))
    coef = np.random.default_rng(2).normal(size=(n, 1))

    def evaluate():
        stack = KernelStack(KERNELS["mixed"], storage="lazy").fit(samples)
        family = Projected(2, Softmax()).family(
            training(stack), BinaryMachine(np.sign(samples[:, 0]), 1.0), FitControl()
        )
        theta = family.start(MACHINES["one-class"], np.random.RandomState(1))
        family.pullback(family.at(theta), coef)
        assert family.mean_operand().n_samples == n

    assert peak_bytes(evaluate) < 0.5 * 8 * n**2


@pytest.mark.parametrize("features", ["auto", "kpca", "map"])
def test_features_from_kernel_values_are_refused(features):
    kernels = [("a", Linear(A)), ("b", Laplacian(B, scale=2.0))]
    combiner = Projected(2, features=features)
    assert ("gram" in combiner.needs()) == (features != "auto")
    assert "whole Gram" in combiner.needs(kernels)["gram"] or features == "map"
    assert not Projected(2).needs(kernels[:1])
    with pytest.raises(LazyStorageError, match=r"the kernel '[ab]' needs a matrix of 50 x 50 float64 "):
        combiner.fit(KernelStack(kernels, storage="lazy").fit(X), MACHINES["binary"])


def test_precomputed_kernels_are_refused():
    stack = KernelStack([Precomputed(np.eye(N))], storage="lazy").fit(np.arange(N)[:, None])
    with pytest.raises(LazyStorageError, match="the kernel 'precomputed' needs a matrix"):
        Projected(2).fit(stack, MACHINES["binary"])
