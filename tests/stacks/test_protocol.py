"""Every training stack gives the same: whole matrices, tiles, and features with every sample as a landmark."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.combiners import GaussianGate, Localized, Sigmoid, Softmax
from kernelweave.combiners.programs import ClassMeans, Margin
from kernelweave.combiners.similarity import IdealColumns
from kernelweave.kernels import Gaussian, KernelStack, LazyStorageError, Linear
from kernelweave.machines import SquaredHinge
from kernelweave.stacks import FitControl, Matrices, TrainingStack, training
from kernelweave.stacks.tiles import Tiles
from three_stacks import FORMS, RoundedError, RoundedHinge, offers, stack_on

N = 48
rng = np.random.default_rng(3)
X = rng.normal(size=(N, 6))
GAPS = X.copy()
GAPS[::5, :2] = np.nan
GAPS[1::6, 4:] = np.nan
KERNELS = [("product", Gaussian([0, 1])), ("line", Linear([2, 3])), ("noise", Gaussian([4, 5]))]
BOUND, WEIGHT = rng.uniform(0.5, 2.0, N), rng.uniform(0.5, 2.0, N)
SIGNS = np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, 1.0, -1.0)
THREE = np.digitize(X[:, 0] + X[:, 2], [-0.5, 0.5])
NUMBERS = np.column_stack([X[:, 0] * X[:, 1], X[:, 2]])
CASES = {
    "two classes": (RoundedHinge().for_targets(SIGNS, BOUND), None),
    "classes": (RoundedHinge().one_vs_all(THREE, BOUND), None),
    "numbers": (RoundedError().for_targets(NUMBERS[:, 0], BOUND), NUMBERS[:, 0]),
    "targets": (RoundedError().several_targets(NUMBERS, BOUND), NUMBERS),
}
ETA = np.array([0.5, 0.2, 0.3])
SOME = np.array([0.6, 0.0, 0.4])  # a kernel without weight
EVERY = pytest.mark.parametrize("case", CASES)
SAMPLES = pytest.mark.parametrize("samples", ["complete", "missing views"])
CONTROL = FitControl(tol=1e-8)


@cache
def stack(form, case="two classes", samples="complete"):
    """One problem on one stack; kernels keep their scales, and samples have weights."""
    machine, y = CASES[case]
    X_ = X if samples == "complete" else GAPS
    return stack_on(form, KERNELS, X_, machine, y, normalize=None, weight=WEIGHT)


def each(case="two classes", samples="complete", forms=FORMS):
    """The machine of a case, and its stacks."""
    return CASES[case][0], [stack(form, case, samples) for form in forms]


def agree(found, **close):
    """What stacks give, numbers or objects with numbers, is what the first gives."""
    first, *others = [vars(each) if hasattr(each, "__dataclass_fields__") else {"": each} for each in found]
    for other in others:
        for name, value in first.items():
            if value is None:
                assert other[name] is None
            else:
                assert_allclose(other[name], value, err_msg=name, **{"rtol": 1e-7, "atol": 1e-9, **close})


def solved(machine, K, start=None):
    solution = machine.solve(K, start, gap_tol=1e-11)
    assert solution.converged
    return solution


# Weighted sums


@EVERY
@SAMPLES
@pytest.mark.parametrize("eta", [ETA, SOME], ids=["all kernels", "two kernels"])
def test_sums(case, samples, eta):
    machine, stacks = each(case, samples)
    objectives, forms, by_output, supports = [], [], [], []
    for own in stacks:
        sums = own.sums(own.scaling(ETA))
        solution = solved(machine, sums.at(eta))
        objectives += [solution.objective, solved(machine, own.sum(eta, own.scaling(ETA))).objective]
        forms.append(sums.forms(machine, solution))
        by_output.append(sums.by_output(machine, solution))
        supports.append(own.n_support(solution))
        again = machine.solve(sums.at(eta), sums.start(solution), gap_tol=1e-9)
        assert again.steps <= 1 and again.objective == pytest.approx(solution.objective)
    agree(objectives)
    agree(forms, rtol=1e-5)
    agree(by_output, rtol=1e-5)
    assert_allclose(by_output[0].sum(axis=1), forms[0])
    assert supports[0] == supports[1] > 0 and supports[2] is None


@EVERY
@SAMPLES
def test_slopes_and_curvature_are_those_of_differences(case, samples):
    machine, stacks = each(case, samples)
    h = 1e-5
    for own in stacks:
        sums = own.sums(own.scaling(ETA))
        K = sums.at(ETA)
        solution = solved(machine, K)
        found = sums.found(machine, solution)
        q, H = found.forms(), sums.curvature(machine, K, solution, found)
        for m in range(3):
            ends = []
            for t in (h, -h):
                end = solved(machine, sums.at(ETA + t * np.eye(3)[m]))
                ends.append((end.objective, sums.forms(machine, end)))
            assert (ends[0][0] - ends[1][0]) / (2 * h) == pytest.approx(-0.5 * q[m], rel=1e-4)
            # of features, second derivatives only bend steps: they are solved for roughly
            assert_allclose((ends[1][1] - ends[0][1]) / (4 * h), H[m], rtol=1e-2, atol=2e-2 * np.abs(H).max())


@EVERY
def test_scaling_spreads_the_weights_of_missing_views(case):
    machine, stacks = each(case, "missing views")
    for eta in (ETA, np.array([0.2, 0.5, 0.3])):
        matrices = stacks[0].matrices()
        weight = stacks[0].present @ eta
        factor = np.sqrt(eta.sum() / weight)
        expected = solved(machine, np.tensordot(eta, matrices, 1) * np.outer(factor, factor)).objective
        agree([expected, *(solved(machine, own.sum(eta, own.scaling(eta))).objective for own in stacks)])
        plain = solved(machine, np.tensordot(eta, matrices, 1)).objective
        agree([plain, *(solved(machine, own.sum(eta, own.unscaled())).objective for own in stacks)])
        agree([plain, *(solved(machine, own.sum(eta)).objective for own in stacks)])
    _, whole = each(case)
    for own in whole:
        assert solved(machine, own.sum(ETA, own.scaling(ETA))).objective == pytest.approx(
            solved(machine, own.sum(ETA)).objective, rel=1e-9
        )


@pytest.mark.parametrize("form", FORMS)
def test_samples_without_a_view_that_has_a_weight(form):
    own, eta = stack(form, samples="missing views"), np.array([0.0, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"sample 1 has none of the views whose kernels have a weight \(noise\)"):
        own.scaling(eta, "refuse", "Mine")
    with pytest.warns(UserWarning, match="sample 1 has none of the views"):
        own.scaling(eta, "warn", "Mine")
    with pytest.raises(ValueError, match="Mine needs every view of every sample"):
        own.scaling(ETA, "never", "Mine")


# Gates


@SAMPLES
@pytest.mark.parametrize("gating", [Softmax(), Sigmoid("paper"), GaussianGate()], ids=repr)
@pytest.mark.parametrize("tol", [0.0, 0.1])
def test_gates(gating, samples, tol):
    machine, stacks = each("two classes", samples)
    counts, spreads, objectives, means = [], [], [], []
    for own in stacks:
        family = Localized(gating, l2=0.1, gate_tol=tol).family(own, machine, FitControl())
        theta = 30.0 * family.start(machine, np.random.RandomState(1))
        kernel = family.finish(theta)
        counts.append(own_counts(family, kernel))
        spreads.append(np.hstack(family.stack.gate_spread(kernel.function)))
        solution = solved(machine, kernel.operand())
        objectives.append(solution.objective)
        kernel.settle(solution, machine)
        means.append(np.stack([kernel.weights(), kernel.open_share]))
    agree(counts)
    agree(spreads)
    agree(objectives)
    agree(means)


def own_counts(family, kernel):
    counts = family.stack.open_counts(kernel.function)
    assert_array_equal(counts > 0, kernel.active)
    return counts


@SAMPLES
def test_parts_are_judged_alike(samples):
    """The losses of a solution on held-out samples: those that blocks hold out, by positions in the exact stacks."""
    machine, stacks = each("two classes", samples)
    part, family = None, None
    for own in stacks[::-1]:
        family = Localized(l2=0.1).family(own, machine, FitControl())
        theta = 30.0 * family.start(machine, np.random.RandomState(1))
        if part is None:
            part = family.stack.split(machine, 0.3, np.random.RandomState(0))
            held_out = np.flatnonzero(np.concatenate([block.held_out for block in part.stack.engine.blocks]))
            solution = solved(part.machine, family.over(part.stack).at(theta).operand())
            risk = part.risk(family, theta, solution)
            continue
        exact = type(family.stack.split(machine, 0.3, np.random.RandomState(0)))(family.stack, machine, held_out)
        solution = solved(exact.machine, family.over(exact.stack).at(theta).operand())
        assert exact.risk(family, theta, solution) == pytest.approx(risk) and 0.0 < risk < 0.5


# Targets


@EVERY
@SAMPLES
@pytest.mark.parametrize("centered", [True, False])
def test_inner_products(case, samples, centered):
    machine, stacks = each(case, samples)
    k = machine.n_classes
    for pairs in (True, False):
        given = {"mean": k == 0, "centered": centered, "pairs": pairs}
        agree([own.inner_products(IdealColumns(k), **given) for own in stacks])


@SAMPLES
@pytest.mark.parametrize("case", ["two classes", "classes"])
def test_classes(case, samples):
    machine, stacks = each(case, samples)
    k = machine.n_classes
    agree([own.class_moments(k) for own in stacks])
    agree([own.class_counts(machine) for own in stacks])
    means = ClassMeans(stacks[0].class_counts(machine), machine.n_outputs)
    agree([own.forms_of(means) for own in stacks])


@EVERY
@SAMPLES
def test_counts(case, samples):
    _, stacks = each(case, samples)
    agree([own.present_counts() for own in stacks])
    assert all(own.has_targets for own in stacks[:2])
    assert stacks[2].has_targets or case in ("two classes", "classes")  # that of labels is asked of the machine


@SAMPLES
@pytest.mark.parametrize("case", ["two classes", "classes"])
def test_margins(case, samples):
    machine, stacks = each(case, samples)
    found = []
    for own in stacks:
        forms = []
        for part, its_machine in own.margins(machine, Margin(0.3, N)):
            sums = part.sums()
            forms.append(sums.by_output(its_machine, solved(its_machine, sums.at(np.full(3, 1 / 3)))))
        found.append(np.hstack(forms))
    agree(found, rtol=1e-5)


def test_eigenvalue_counts():
    for samples in ("complete", "missing views"):
        _, stacks = each("two classes", samples, ("matrices", "features"))
        agree([own.eigenvalue_counts() for own in stacks])


# Held-out samples, outputs


@EVERY
@SAMPLES
def test_held_out_values_of_one_kernel(case, samples):
    """Folds are drawn otherwise in blocks: the exact stacks are given these."""
    machine, (matrices, tiles, features) = each(case, samples)
    drawn = features.folds(3, machine, np.random.RandomState(0), "Mine")
    fold = np.concatenate([drawn.of(block) for block in features.engine.blocks])
    given = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    for m in range(3):
        found = features.held_out(m, machine, drawn, CONTROL, "Mine")
        for own in (matrices, tiles):
            exact = own.held_out(m, machine, own.folds(given, machine, None, "Mine"), CONTROL, "Mine")
            assert exact.converged and found.converged
            assert found.risk == pytest.approx(exact.risk, rel=1e-5)
            if machine.n_classes == 0:
                assert found.correlation == pytest.approx(exact.correlation, rel=1e-4, abs=1e-5)
    sizes = [
        [len(test) for _, test in own.folds(3, machine, np.random.RandomState(0), "Mine")] for own in (matrices, tiles)
    ]
    assert sizes[0] == sizes[1] and sum(sizes[0]) == N


@pytest.mark.parametrize("case", ["classes", "targets"])
@SAMPLES
def test_outputs(case, samples):
    machine, stacks = each(case, samples)
    optima, values = [], []
    for own in stacks:
        outputs = own.outputs(machine, reads_gram=True)
        assert len(outputs) == machine.n_outputs
        whole, optima_here = solved(machine, own.sum(ETA)), []
        for output, (inner, part, rows) in enumerate(outputs):
            solution = solved(part, inner.sum(ETA))
            optima_here.append(solution.objective)
            own_rows = slice(None) if rows is None else rows
            assert_allclose(solution.coef[:, 0], whole.coef[own_rows, output], atol=1e-4)
        assert sum(optima_here) == pytest.approx(whole.objective)
        optima.append(optima_here)
        counts = [inner.class_counts(part) for inner, part, _ in outputs] if machine.n_classes else []
        values.append(np.ravel(counts))
    agree(optima)
    agree(values)


# What not every stack has


def test_matrices_of_other_stacks_are_one_clear_error():
    assert_allclose(stack("matrices").gram(1), X[:, 2:4] @ X[:, 2:4].T)
    with pytest.raises(LazyStorageError, match=r"the Gram matrix of the kernel 'line' needs a matrix of 48 x 48"):
        stack("tiles").gram(1)
    with pytest.raises(ValueError, match=r"no Gram matrix of the kernel 'line' is made here.*`needs` of the combiner"):
        stack("features").gram(1)


def test_what_a_stack_offers_it_has():
    operations = {"gram": "gram", "elementwise": "elementwise", "eigenvalues": "eigenvalue_counts", "nested": "slopes"}
    for form in FORMS:
        own = stack(form)
        assert own.offers == offers()[form] and isinstance(own, TrainingStack)
        for operation in {"elementwise", "eigenvalues", "nested"}:
            assert (operation in own.offers) == hasattr(own, operations[operation])
    assert "samples" not in offers()["features"]


def test_a_kernel_stack_and_its_training_stack_are_one():
    """They share what they compute."""
    for storage, kind in (("dense", Matrices), ("lazy", Tiles)):
        base = KernelStack(KERNELS, storage=storage).fit(X)
        own = training(base)
        assert type(own) is kind and training(own) is own
        own.prepare()
        assert base.has_matrices == (storage == "dense")
        assert storage == "dense" or base.in_parts() is own.in_parts()
        part = own.subset(np.arange(9))
        assert type(part) is kind and part.n_samples == 9


@EVERY
def test_subsets_have_their_targets(case):
    machine, y = CASES[case]
    rows = np.arange(0, N, 3)
    for form in FORMS[:2]:
        own = stack(form, case)
        part = own.subset(rows)
        assert_array_equal(part.targets, own.targets[rows])
        assert_array_equal(part.weight, WEIGHT[rows])
        expected = solved(machine.subset(rows), stack("matrices", case).sum(ETA)[np.ix_(rows, rows)])
        assert solved(machine.subset(rows), part.sum(ETA)).objective == pytest.approx(expected.objective)
    given = own.for_machine(SquaredHinge().one_vs_all(THREE + 5, BOUND, n_classes=8) if y is None else machine, y)
    assert_array_equal(given.targets, THREE if y is None else y)
