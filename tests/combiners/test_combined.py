"""Every combined kernel has the properties of combined kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import localized_problem
import projected_problem
from combined_doubles import DenseKernel, Doubled, FeatureKernel, RowKernel
from combined_properties import check_combined_kernel
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, load, save
from kernelweave.combiners import (
    CombinedKernel,
    ConvexLocalized,
    ConvexMKL,
    FitControl,
    FixedWeights,
    GeneralizedMKL,
    KernelDifference,
    KernelMap,
    LinearMKL,
    Localized,
    Mean,
    PerOutput,
    PolynomialMKL,
    Product,
    Projected,
    Sigmoid,
    Softmax,
    WeightedSum,
)
from kernelweave.combiners.forms import Monomials
from kernelweave.kernels import Distance, Function, Gaussian, KernelStack, Linear, Polynomial, Precomputed
from kernelweave.views import as_views
from localized_problem import BOUND, LABELS, MACHINES, MISSING, NEW, SIGNS, TARGET, N, X
from three_stacks import RoundedHinge, serve, stack_on

NORMALIZATIONS = ["unit-diagonal", "unit-trace", "center", None]
THREE = [Gaussian([0, 1], scale=2.0), Polynomial([2, 3]), Linear([1, 2])]
TWO = [Gaussian([0, 1], scale=2.0), Linear([2, 3])]
SMOOTH = RoundedHinge().for_targets(SIGNS, BOUND)
GAPS = NEW.copy()
GAPS[1, 2:] = np.nan
GAPS[4, :2] = np.nan


def fitted(combiner, kernels=THREE, samples=X, normalize="unit-diagonal", machine="binary", form="matrices", **options):
    """The combined kernel of a fit."""
    machine = MACHINES[machine] if form != "features" else SMOOTH
    stack = stack_on(form, kernels, samples, machine, normalize=normalize, **options)
    return clone(combiner).fit(stack, machine, FitControl(tol=1e-2))


def check_everywhere(combiner, kernels=THREE, samples=X, new=NEW, tolerance=1e-9, normalize="unit-diagonal"):
    """The combined kernel of a fit on each stack that offers what the combiner needs."""
    forms = serve(combiner)
    assert forms[0] == "matrices"
    for form in forms:
        kernel = fitted(combiner, kernels, samples, normalize, form=form)
        check_combined_kernel(kernel, as_views(samples), as_views(new), tolerance)


# The three doubles


@pytest.mark.parametrize("kind", ["dense", "rows", "features"])
class TestDoubles:
    KERNELS = (Linear([0, 1]), Linear([2, 3]), Linear([0]), Linear([3]))

    def double(self, kind, normalize=None):
        return Doubled(kind).kernel(KernelStack(self.KERNELS, normalize).fit(X))

    def test_properties(self, kind):
        check_combined_kernel(self.double(kind), as_views(X), as_views(NEW))
        if kind != "features":
            check_combined_kernel(self.double(kind, "unit-diagonal"), as_views(X), as_views(NEW))
            check_combined_kernel(self.double(kind, "center"), as_views(X), as_views(NEW))

    def test_it_is_the_weighted_sum(self, kind):
        kernel = self.double(kind)
        assert type(kernel) is {"dense": DenseKernel, "rows": RowKernel, "features": FeatureKernel}[kind]
        assert_allclose(kernel.gram(), WeightedSum(KernelStack(self.KERNELS, None).fit(X), kernel.theta).gram())

    @pytest.mark.parametrize("machine", MACHINES)
    def test_machines_are_solved_on_it(self, kind, machine):
        kernel, machine = self.double(kind), MACHINES[machine]
        solution = machine.solve(kernel.gram(), gap_tol=1e-4)
        assert solution.converged
        values = kernel.product(np.arange(N), solution.coef) + solution.intercept
        assert_allclose(values, kernel.values(as_views(X), solution.coef) + solution.intercept, atol=1e-8)

    def test_products_form_no_matrix(self, kind):
        kernel, index = self.double(kind), np.array([3, 5])
        product, expected = kernel.product(index, np.ones(2)), kernel.gram()[:, index].sum(axis=1)
        assert_allclose(product, expected)
        if kind == "rows":
            lazy = self.double(kind)
            lazy.product(index, np.ones(2))
            assert lazy.largest == 2 and not lazy.stack.has_matrices

    @pytest.mark.parametrize(
        ("model", "y"),
        [
            (MKLClassifier(), LABELS > 0),
            (MKLClassifier(multiclass="one-vs-all"), LABELS),
            (MKLClassifier(multiclass="one-vs-one"), LABELS),
            (MKLClassifier(multiclass="one-vs-all", weights="per-class"), LABELS),
            (MKLClassifier(multiclass="joint"), LABELS),
            (MKLClassifier(machine="squared-hinge"), LABELS),
            (MKLRegressor(), TARGET),
            (MKLOneClass(), None),
        ],
        ids=lambda part: repr(part)[:60] if not isinstance(part, np.ndarray) else "",
    )
    def test_estimators_take_it(self, kind, model, y, tmp_path):
        model.set_params(kernels=self.KERNELS, combiner=Doubled(kind), normalize=None)
        model.fit(X, y)
        decide = model.predict if isinstance(model, MKLRegressor) else model.decision_function
        same = type(model)(**{**model.get_params(deep=False), "combiner": FixedWeights([1.0, 1 / 2, 1 / 3, 0.0])})
        same.fit(X, y)
        expected = (same.predict if isinstance(model, MKLRegressor) else same.decision_function)(NEW)
        assert_allclose(decide(NEW), expected, atol=1e-2 * np.abs(expected).max())
        assert len(model.active_kernels_) == 3
        weights = model.kernel_weights(NEW)
        assert len(weights) == len(NEW) and weights.shape[1] % 4 == 0
        save(model, tmp_path / "model")
        again = load(tmp_path / "model", classes=[Doubled, DenseKernel, RowKernel, FeatureKernel])
        decided = (again.predict if isinstance(model, MKLRegressor) else again.decision_function)(NEW)
        np.testing.assert_array_equal(decided, decide(NEW))
        np.testing.assert_array_equal(again.kernel_weights(NEW), weights)


# The kernels of the package


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("combiner", [Mean(), FixedWeights([0.5, 0.0, 2.0]), Product()], ids=str)
def test_sums_and_products(combiner, normalize):
    check_everywhere(combiner, normalize=normalize)
    kernel = fitted(combiner, normalize=normalize)
    kernel.stack.matrices()  # not one by one
    check_combined_kernel(kernel, as_views(X), as_views(NEW))


def test_sums_with_missing_views():
    check_everywhere(FixedWeights([0.5, 2.0]), TWO, MISSING, GAPS)
    kernel = fitted(FixedWeights([0.5, 2.0]), TWO, MISSING)
    kernel.stack.matrices()
    check_combined_kernel(kernel, as_views(MISSING), as_views(GAPS))


def test_sums_with_weights_of_both_signs():
    stack = KernelStack([*TWO, TWO[1]]).fit(X)
    check_combined_kernel(WeightedSum(stack, np.array([1.0, 1.0, -0.5]), missing="never"), as_views(X), as_views(NEW))
    check_combined_kernel(fitted(LinearMKL()), as_views(X), as_views(NEW), 1e-8)


@pytest.mark.parametrize("combiner", [Mean(), Product(), GeneralizedMKL(), Localized(l2=0.1)], ids=str)
def test_single_precision(combiner):
    kernel = fitted(combiner, dtype="float32")
    assert kernel.gram().dtype == np.float32
    check_combined_kernel(kernel, as_views(X), as_views(NEW), 1e-5)


@pytest.mark.parametrize("combiner", [Mean(), Product(), Localized(inputs=[0, 1], l2=0.1)], ids=str)
@pytest.mark.parametrize("repair", ["clip", "shift"])
def test_repaired_kernels(repair, combiner):
    kernels = [Linear([0, 1]), Function(lambda A, B: np.tanh(A @ B.T - 1.0), [2, 3], repair=repair)]
    kernel = fitted(combiner, kernels, normalize=None)
    assert kernel.stack.repairs[1].smallest_ < 0
    check_combined_kernel(kernel, as_views(X), as_views(NEW), 1e-8, cross_is_gram=repair == "clip")


FORMS = [
    PolynomialMKL(degree=1, constant=0.0),
    PolynomialMKL(degree=2),
    PolynomialMKL(degree=3, constant=0.5, tau=0.5),
    GeneralizedMKL("product", strength=3.0),
    GeneralizedMKL("sum", "l2"),
]


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("combiner", FORMS, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_forms(combiner, normalize):
    check_everywhere(combiner, tolerance=1e-8, normalize=normalize)


@pytest.mark.parametrize("combiner", FORMS, ids=str)
def test_forms_with_missing_views(combiner):
    check_everywhere(combiner, TWO, MISSING, GAPS, 1e-8)


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("repair", ["clip", "shift"])
@pytest.mark.parametrize("form", ["absolute", "difference", "square"])
def test_differences(form, repair, normalize):
    kernel = fitted(KernelDifference(form, tau=0.7, repair=repair), normalize=normalize)
    check_combined_kernel(kernel, as_views(X), as_views(NEW), 1e-8, cross_is_gram=form == "square")


@pytest.mark.parametrize("gate", localized_problem.GATES)
def test_gated_sums(gate):
    family, theta = localized_problem.prepared(gate, "complete", gate_tol=0.05)
    check_combined_kernel(family.finish(theta), as_views(X), as_views(NEW))
    check_everywhere(Localized(localized_problem.GATES[gate], l2=0.01, gate_tol=0.2))


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
def test_gated_sums_of_every_normalisation(normalize):
    check_everywhere(Localized(l2=0.01), normalize=normalize)


@pytest.mark.parametrize("combiner", [Localized(l2=0.01), Localized(Sigmoid("paper"), l2=0.1)], ids=str)
def test_gated_sums_with_missing_views(combiner):
    check_everywhere(combiner, TWO, MISSING, GAPS)


def test_gated_sums_with_a_closed_kernel():
    family, theta = localized_problem.prepared("softmax", "complete", gate_tol=0.2)
    theta[-2] = -1e3
    kernel = family.finish(theta)
    assert not kernel.active.all() and (kernel.gates == 0.0).any()
    check_combined_kernel(kernel, as_views(X), as_views(NEW))
    check_combined_kernel(family.at(theta), as_views(X), as_views(NEW))  # while it is learned


REGIONS = [ConvexLocalized(2, p=1, softness=0), ConvexLocalized(3, inputs=[0, 1]), ConvexLocalized([0, 3], p=np.inf)]


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("combiner", REGIONS[:2], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_regional_sums(combiner, normalize):
    check_everywhere(combiner, normalize=normalize)


def test_regional_sums_with_given_memberships():
    check_everywhere(REGIONS[2], samples=np.abs(X), new=np.abs(NEW))
    kernel = fitted(REGIONS[1], dtype="float32")
    check_combined_kernel(kernel, as_views(X), as_views(NEW), 1e-5)


@pytest.mark.parametrize("combiner", [ConvexLocalized(2, p=1), ConvexLocalized(2, softness=0.2)], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_regional_sums_with_missing_views(combiner):
    check_everywhere(combiner, TWO, MISSING, GAPS)


WIDE = projected_problem.X
WIDE_NEW = np.random.default_rng(7).normal(size=(6, WIDE.shape[1]))
FEW = WIDE_NEW.copy()
FEW[1, 3:] = np.nan
FEW[4, :3] = np.nan


@pytest.mark.parametrize("features", ["auto", "kpca", "map"])
@pytest.mark.parametrize("gating", ["none", "softmax", "softmax, projected", "gaussian"])
def test_projected_kernels(gating, features):
    family, theta = projected_problem.prepared(gating=gating, features=features, gate_tol=0.05)
    for kernel in (family.at(theta), family.finish(theta)):
        check_combined_kernel(kernel, as_views(WIDE), as_views(WIDE_NEW), 1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:.*this model is not localized")
@pytest.mark.parametrize("gate", [None, Softmax()], ids=str)
def test_projected_kernels_on_every_stack(gate):
    """Those of features are in tests/combiners/descent/test_family.py, too."""
    for kernels, samples, new in (("mixed", WIDE, WIDE_NEW), ("linear", projected_problem.MISSING, FEW)):
        combiner = Projected(2, gate, inputs=None if gate is None else [0, 5], max_iter=5)
        if gate is None or samples is WIDE:
            check_everywhere(combiner, projected_problem.KERNELS[kernels], samples, new, 1e-8)


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("kernels", ["linear", "cubic", "gaussian"])
def test_projected_kernels_of_every_normalisation(kernels, normalize):
    family, theta = projected_problem.prepared(kernels, normalize=normalize, inputs=[0, 5])
    check_combined_kernel(family.finish(theta), as_views(WIDE), as_views(WIDE_NEW), 1e-8)


def test_projected_kernels_with_missing_views():
    family, theta = projected_problem.prepared("linear", "softmax", projected_problem.MISSING)
    check_combined_kernel(family.finish(theta), as_views(projected_problem.MISSING), as_views(FEW), 1e-8)


def test_projected_kernels_with_a_closed_kernel():
    for features in ("auto", "kpca"):
        family, theta = projected_problem.prepared(gating="softmax", features=features, gate_tol=0.2)
        theta[family.layout.n_gating - 2] = -1e3
        kernel = family.finish(theta)
        assert not kernel.active.all()
        check_combined_kernel(kernel, as_views(WIDE), as_views(WIDE_NEW), 1e-8)


IDS = np.arange(N + 9.0)[:, None]
EVERYBODY = np.vstack([X, NEW])
SIMILARITY = EVERYBODY @ EVERYBODY.T
DISTANCES = np.linalg.norm(EVERYBODY[:, None] - EVERYBODY, axis=2)
WHOLE = [Precomputed(SIMILARITY), Distance(DISTANCES)]
KNOWN = [Precomputed(SIMILARITY[:N, :N]), Distance(DISTANCES[:N, :N])]


@pytest.mark.parametrize(
    "make",
    [
        lambda kernel: Mean(),
        lambda kernel: FixedWeights([1.0, 0.0]),
        lambda kernel: Product(),
        lambda kernel: GeneralizedMKL(),
        lambda kernel: KernelDifference("square", tau=0.1),
        lambda kernel: Localized(inputs=KernelMap(kernel), l2=0.1),
        lambda kernel: ConvexLocalized(2, inputs=KernelMap(kernel)),
        lambda kernel: Projected(1, Softmax(), features="kpca"),
    ],
    ids=["mean", "one kernel", "product", "form", "difference", "gated", "regional", "projected"],
)
def test_precomputed_kernels_are_found_in_it_and_replaced(make):
    whole = fitted(make(WHOLE[0]), WHOLE, IDS[:N])
    new = as_views(IDS[N:])
    check_combined_kernel(whole, as_views(IDS[:N]), new, 1e-8)
    kernel = fitted(make(KNOWN[0]), KNOWN, IDS[:N])
    found = [base for base, ids in kernel.lookups() if len(ids)]
    assert len(found) >= kernel.active.sum() and all(len(base.K) == N for base in found)
    lean = kernel.restrict(np.arange(0, N, 2))
    lean.replace(0, KNOWN[0].extend(SIMILARITY[N:, :N], np.diagonal(SIMILARITY)[N:]))
    lean.replace(1, KNOWN[1].extend(DISTANCES[N:, :N]))
    assert_allclose(lean.cross(new), whole.cross(new)[:, ::2], atol=1e-6)


class TestOutputs:
    """`OutputKernels` is no single kernel: what can hold of it does."""

    def kernel(self, machine, combiner=None):
        combiner = ConvexMKL() if combiner is None else combiner
        return fitted(PerOutput(combiner), machine=machine)

    @pytest.mark.parametrize("machine", ["one-vs-all", "one-vs-one"])
    @pytest.mark.parametrize("combiner", [ConvexMKL(), Localized(l2=0.1)], ids=str)
    def test_values_are_those_of_each_output(self, machine, combiner):
        kernel, new, P = self.kernel(machine, combiner), as_views(NEW), len(THREE)
        coef = kernel.solution.coef
        n_outputs = coef.shape[1]
        assert kernel.n_samples == N and kernel.n_kernels == P and kernel.weights().shape == (n_outputs, P)
        assert kernel.sample_weights(new).shape == (len(NEW), n_outputs, P)
        values = kernel.values(new, coef)
        for own, rows, column in zip(kernel.kernels, kernel.rows_of, range(n_outputs), strict=True):
            assert_allclose(values[:, column], own.cross(new) @ coef[rows, column], atol=1e-9)
        shares = kernel.shares(new, coef)
        assert kernel.is_sum and kernel.terms == kernel.names and shares.shape == (len(NEW), n_outputs, P)
        assert_allclose(shares.sum(axis=2), values, atol=1e-9)
        support = np.flatnonzero(coef.any(axis=1))
        lean = kernel.restrict(support)
        assert_allclose(lean.shares(new, coef[support]), shares, atol=1e-9)
        assert lean.n_samples == len(support) and lean.solution is None
        assert_allclose(lean.values(new, coef[support]), values, atol=1e-9)
        again = lean.restrict(np.arange(len(support)))
        assert_allclose(again.values(new, coef[support]), values, atol=1e-9)
        assert_allclose(lean.sample_weights(new), kernel.sample_weights(new))
        evaluations = lean.evaluations(coef[support])
        assert evaluations.shape == (P,) and (evaluations >= 0).all() and (evaluations <= len(support)).all()
        assert not evaluations[~lean.active].any() and lean.values_per_sample(coef[support]) >= 1
        assert set(kernel.attributes()) <= set(kernel.shows)
        assert len(kernel.theta) == sum(len(own.theta) for own in kernel.kernels)
        training = kernel.training_weights()
        assert (training is None) == (combiner.__class__ is ConvexMKL)
        assert training is None or training.shape == (N, n_outputs, P)

    def test_outputs_with_different_terms(self):
        kernel = self.kernel("one-vs-all", PolynomialMKL(degree=2, tau=0.5))
        first = kernel.kernels[0]
        first.form = Monomials(2, products=0.0, sums=1.0)
        new, coef = as_views(NEW), kernel.solution.coef
        assert first.terms == kernel.names and len(kernel.terms) > len(kernel.names)
        shares = kernel.shares(new, coef)
        assert not shares[:, 0, len(kernel.names) :].any() and shares[:, 1, len(kernel.names) :].any()
        assert_allclose(shares.sum(axis=2), kernel.values(new, coef), atol=1e-9)

    def test_an_output_that_is_no_sum(self):
        assert not self.kernel("one-vs-all", Product()).is_sum

    def test_there_is_no_single_kernel(self):
        kernel = self.kernel("one-vs-all")
        for call in (kernel.gram, lambda: kernel.rows(np.arange(2)), lambda: kernel.cross(as_views(NEW))):
            with pytest.raises(ValueError, match="no single combined kernel"):
                call()


def test_every_combined_kernel_of_the_package_is_here():
    def below(cls):
        return {cls}.union(*(below(each) for each in cls.__subclasses__()))

    ours = {cls.__name__ for cls in below(CombinedKernel) if cls.__module__.startswith("kernelweave.")}
    assert ours == {
        "CombinedKernel",
        "DifferenceKernel",
        "FormKernel",
        "GatedSum",
        "KernelsTimesAmplitudes",
        "OutputKernels",
        "PointwiseKernel",
        "ProductKernel",
        "ProjectedKernel",
        "ReadsInputs",
        "RegionalSum",
        "WeightedSum",
        "WidthSum",
    }


# The list itself


class TestTheListFindsBrokenPromises:
    def broken(self, **members):
        kind = type("Broken", (RowKernel,), members)
        return kind(KernelStack(THREE).fit(X), np.array([1.0, 2.0, 0.0]))

    @pytest.mark.parametrize(
        ("members", "message"),
        [
            ({"gram": lambda self, out=None: RowKernel.gram(self)}, "return out"),
            ({"gram": lambda self, out=None: -RowKernel.gram(self, out)}, "negative"),
            ({"block": lambda self, index: self.rows(index)}, "block"),
            ({"product": lambda self, index, coef: self.rows(index).T @ coef + 1.0}, "product"),
            ({"cross": lambda self, views: 2.0 * RowKernel.cross(self, views)}, "not gram"),
            ({"values": lambda self, views, coef: 2.0 * self.cross(views) @ coef}, "values"),
            ({"weights": lambda self: self.theta + 1.0}, "weight"),
            ({"attributes": lambda self: {"odd_": 1}}, "shows"),
            ({"restrict": lambda self, index: self}, "restrict"),
            ({"evaluations": lambda self, coef: np.ones(3)}, "evaluated"),
        ],
    )
    def test_kernels(self, members, message):
        if "evaluations" in members:
            members = {**members, "restrict": lambda self, index: type(self)(self.stack.restrict(index), self.theta)}
        with pytest.raises(AssertionError, match=message):
            check_combined_kernel(self.broken(**members), as_views(X), as_views(NEW))
