"""Localized kernels in lazy storage: those of dense storage, without a matrix of all samples."""

import array_api_strict
import numpy as np
import pytest
from sklearn.base import clone

from kernelweave import MKLClassifier
from kernelweave.arrays import Place
from kernelweave.combiners import (
    ClusterGate,
    FitControl,
    GaussianGate,
    InstanceGate,
    KernelMap,
    Localized,
    Sigmoid,
    Softmax,
)
from kernelweave.kernels import Gaussian, KernelStack, Linear, Polynomial
from kernelweave.kernels.tiles.stack import TileStack
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
N = 60
X = rng.normal(size=(N, 6))
MISSING = X.copy()
MISSING[1::5, 2:4] = np.nan
MISSING[3::10, :2] = np.nan
LABELS = rng.permutation(np.arange(N) % 3)
SIGNS = np.where(X[:, 0] * X[:, 2] > 0, 1.0, -1.0)
BOUND = rng.uniform(0.3, 3.0, N)
KERNELS = [Gaussian([0, 1], scale=2.0), Linear([2, 3]), Polynomial([4, 5], degree=2)]
MACHINES = {
    "binary": BinaryMachine(SIGNS, BOUND),
    "regression": RegressionMachine(X[:, 0] + 0.2 * rng.normal(size=N), BOUND, epsilon=0.1),
    "one-class": OneClassMachine(5 * BOUND / BOUND.sum()),
    "one-vs-one": OneVsOneMachine(LABELS, BOUND),
    "one-vs-all": OneVsAllMachine(LABELS, BOUND),
    "joint": JointMachine(LABELS, BOUND),
}
GATES = [Softmax(), Sigmoid(), GaussianGate(), ClusterGate(n_clusters=3), InstanceGate()]
GATES += [Softmax(norm="paper"), Sigmoid(norm="paper")]
STRICT = Place(array_api_strict)


def prepared(storage, gate=None, samples=X, kernels=KERNELS, normalize="unit-diagonal", **options):
    """A family, and a theta whose gates differ from sample to sample."""
    stack = KernelStack(kernels, normalize, storage=storage, **options).fit(samples)
    family = Localized(Softmax() if gate is None else clone(gate), l2=0.1).family(training(stack), None, FitControl())
    theta = family.gate.start(family.stack.codes, len(kernels), np.random.RandomState(1))
    return family, 15.0 * theta


@pytest.mark.parametrize("samples", [X, MISSING], ids=["complete", "missing views"])
@pytest.mark.parametrize("gate", GATES, ids=repr)
@pytest.mark.parametrize("machine", MACHINES)
def test_objective_and_gradient_are_those_of_dense_storage(machine, gate, samples):
    (dense, theta), (lazy, _) = (prepared(storage, gate, samples) for storage in ("dense", "lazy"))
    check_lazy_family(dense, lazy, MACHINES[machine], theta)


@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
@pytest.mark.parametrize("samples", [X, MISSING], ids=["complete", "missing views"])
def test_kernel_is_that_of_dense_storage(normalize, samples):
    families = [prepared(storage, None, samples, normalize=normalize) for storage in ("dense", "lazy")]
    check_lazy_kernel(*(family.at(theta) for family, theta in families))
    check_lazy_kernel(*(family.finish(theta) for family, theta in families))
    rows = np.arange(0, N, 2)
    check_lazy_kernel(*(family.over(family.stack.subset(rows)).at(theta) for family, theta in families))


@pytest.mark.parametrize("gate", [Softmax(), Sigmoid(norm="paper"), GaussianGate()], ids=repr)
@pytest.mark.parametrize("machine", ["binary", "regression", "one-vs-all"])
def test_gradient_through_the_machine_solved_again(machine, gate):
    family, theta = prepared("lazy", gate)
    machine = MACHINES[machine]
    solution = machine.solve(family.at(theta).operand(), tol=1e-9)
    check_differences(family, machine, theta, solution, np.random.RandomState(2))


def test_kept_images_are_read_and_not_computed_again(monkeypatch):
    family, theta = prepared("lazy")
    for machine in (MACHINES["binary"], MACHINES["one-vs-all"], MACHINES["joint"]):
        kernel = family.at(theta)
        solution = machine.solve(kernel.operand())
        expected = family.pullback(kernel, solution.coef)
        with monkeypatch.context() as patch:
            patch.setattr(TileStack, "images", None)
            np.testing.assert_allclose(family.gradient(kernel, solution), expected, rtol=1e-9)


@pytest.mark.parametrize("machine", MACHINES)
def test_held_out_values_are_those_of_dense_storage(machine):
    (dense, theta), (lazy, _) = (prepared(storage) for storage in ("dense", "lazy"))
    kept, held_out = np.arange(0, N, 2), np.arange(1, N, 2)
    coef = MACHINES[machine].subset(kept).solve(dense.over(dense.stack.subset(kept)).at(theta).gram(), tol=1e-6).coef
    expected = dense.at(theta).gram()[np.ix_(held_out, kept)] @ coef
    for family in (dense, lazy):
        np.testing.assert_allclose(family.at(theta).between(held_out, kept, coef), expected, atol=1e-9)


FITS = {
    "softmax": (Localized(l2=0.03), "binary"),
    "auto": (Localized(), "binary"),
    "validation": (Localized(Sigmoid(), l2=0.03, validation_fraction=0.3), "binary"),
    "starts": (Localized(GaussianGate(), l2=0.1, n_init=2, n_jobs=2), "regression"),
    "instance": (Localized(InstanceGate()), "binary"),
    "classes": (Localized(l2=0.1), "one-vs-all"),
    "pairs": (Localized(l2=0.1), "one-vs-one"),
    "joint": (Localized(l2=0.1), "joint"),
    "novelty": (Localized(), "one-class"),
    "kernel map": (Localized(inputs=KernelMap(Gaussian(scale=2.0), n_landmarks=5), l2=0.1), "binary"),
    "settled": (Localized(l2=np.inf), "binary"),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:.*this model is not localized")
@pytest.mark.parametrize("samples", [X, MISSING], ids=["complete", "missing views"])
@pytest.mark.parametrize("case", FITS)
def test_whole_fits_reach_the_same_objective(case, samples):
    """From a state in which the best of the starts that were learned on parts is clearly better than the others."""
    combiner, machine = FITS[case]
    if case == "kernel map":
        samples = X  # the gating kernel needs every view
    ends = []
    for storage in ("dense", "lazy"):
        stack = KernelStack(KERNELS, storage=storage).fit(samples)
        control = FitControl(np.random.RandomState(3), tol=1e-6)
        ends.append(clone(combiner).fit(stack, MACHINES[machine], None, control))
    dense, lazy = (kernel.history[-1]["objective"] for kernel in ends)
    assert abs(dense - lazy) <= 1e-3 * max(1.0, abs(dense))


def test_single_precision_is_enough():
    families = [prepared("dense"), prepared("lazy", dtype="float32")]
    check_lazy_family(*(family for family, _ in families), MACHINES["binary"], families[0][1], tolerance=1e-4)


@pytest.mark.parametrize("machine", ["binary", "one-vs-all"])
def test_gates_work_in_another_namespace(machine):
    (dense, theta), (lazy, _) = prepared("dense"), prepared("lazy", place=STRICT)
    kernel, machine = lazy.at(theta), MACHINES[machine]
    coef = machine.solve(dense.at(theta).gram(), tol=1e-6).coef
    expected = dense.pullback(dense.at(theta), coef)
    np.testing.assert_allclose(lazy.pullback(kernel, coef), expected, rtol=0.0, atol=1e-8 * np.abs(expected).max())
    rows = np.arange(0, N, 3)
    np.testing.assert_allclose(
        kernel.product(rows, coef[rows]), dense.at(theta).gram()[:, rows] @ coef[rows], atol=1e-8
    )


def test_nothing_of_the_size_of_all_pairs_is_made():
    n = 6000
    samples = np.random.default_rng(1).normal(size=(n, 6))
    kernels = [Gaussian([0, 1, 2], scale=2.0), Linear([3, 4, 5])]
    coef = np.random.default_rng(2).normal(size=(n, 1))

    def evaluate():
        family, theta = prepared("lazy", samples=samples, kernels=kernels)
        family.pullback(family.at(theta), coef)
        family.at(theta).between(np.arange(n), np.arange(N), BinaryMachine(SIGNS, 1.0).solve(np.eye(N)).coef)

    assert peak_bytes(evaluate) < 0.5 * 8 * n**2


def test_kernel_maps_to_all_samples_are_refused():
    combiner = Localized(inputs=KernelMap(Gaussian()))
    assert "KernelMap" in combiner.needs()["gram"]
    assert not Localized().needs() and not Localized(inputs=KernelMap(Gaussian(), n_landmarks=3)).needs()
    with pytest.raises(ValueError, match=r"KernelMap without n_landmarks.*60 x 60"):
        MKLClassifier(KERNELS, combiner, storage="lazy").fit(X, SIGNS)
