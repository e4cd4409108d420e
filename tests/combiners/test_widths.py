"""`WidthMKL`: Gaussians of all widths of a range, against `ConvexMKL` over given ones."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from combined_properties import check_combined_kernel
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, stack_views
from kernelweave.combiners import ConvexMKL, FitControl, FixedWeights, WidthMKL
from kernelweave.combiners.widths import WidthFamily
from kernelweave.estimators.kernel_lists import fitted_views, kernels_by_view
from kernelweave.kernels import Constant, Gaussian, KernelStack, Linear, Pairwise, Polynomial, Precomputed
from kernelweave.kernels.normalization import NORMALIZATIONS
from kernelweave.machines import BinaryMachine, RegressionMachine
from kernelweave.model_selection import ResponseSurfaceSearchCV
from kernelweave.reporting.words import kernel_in_words
from kernelweave.stacks import training
from kernelweave.views import as_views

N = 70
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
F = np.sin(3.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=N)
TWO, THREE = F > 0.0, np.digitize(F, [-0.5, 0.5])
NEW = rng.normal(size=(9, 3))
MISSING = X.copy()
MISSING[::5, 0] = np.nan
MISSING[1::10, 1:] = np.nan
GAPS = NEW.copy()
GAPS[1, 0] = np.nan
GAPS[2, 1:] = np.nan
KERNELS = [("a", Gaussian([0])), ("b", Gaussian([1, 2])), ("line", Linear([1, 2]))]
GRID = np.geomspace(0.1, 10.0, 9)


def on_grid(kernels, factors, X=X):
    """The Gaussians among named kernels at all factors of their widths, and the others."""
    found = []
    for name, kernel in kernels:
        if isinstance(kernel, Gaussian):
            spread = Gaussian(kernel.view).fit(X).scale_
            found += [(f"{name} {factor:.4g}", Gaussian(kernel.view, factor * spread)) for factor in factors]
        else:
            found.append((name, kernel))
    return found


def found_widths(model, kernels=KERNELS):
    """The model's kernels as single ones of given width, and their weights."""
    table, weights = model.combiner_.widths_, model.kernel_weights_
    views = dict(kernels)
    named = zip(table.index, table["scale"].tolist(), strict=True)
    singles = [(f"{name} {scale}", Gaussian(views[name].view, scale)) for name, scale in named]
    others = [(name, kernel) for name, kernel in kernels if not isinstance(kernel, Gaussian)]
    return singles + others, [*table["weight"], *(weights[name] for name, _ in others)]


@pytest.mark.parametrize("kind", ["binary", "regression"])
@pytest.mark.parametrize("u", [-0.7, 0.0, 0.8])
def test_the_derivative_by_the_width_is_that_of_the_optimum(kind, u):
    """dJ/du = -1/2 eta q'(u), through the machine solved anew at either side."""
    stack = training(KernelStack([Gaussian(), Polynomial()]).fit(X))
    stack.prepare()
    family = WidthFamily.of(stack, 0)
    machine = (
        BinaryMachine(np.where(TWO, 1.0, -1.0), 2.0) if kind == "binary" else RegressionMachine(F, 2.0, epsilon=0.1)
    )

    def solved(u):
        other = stack.with_kernels([("narrow", 0, family.at(u)), ("polynomial", 1, stack.kernels[1])])
        solution = machine.solve(other.sum(np.array([0.6, 0.4])), gap_tol=1e-12)
        assert solution.converged
        return solution

    h = 1e-4
    _, slopes, _ = family.forms(solved(u).coef).along(np.array([[u]]))
    difference = (solved(u + h).objective - solved(u - h).objective) / (2.0 * h)
    assert difference == pytest.approx(-0.5 * 0.6 * slopes[0, 0], rel=1e-4)


@pytest.mark.parametrize("C", [1.0, 30.0])
def test_no_grid_gets_below_the_bound(C):
    """The cone solver, over given widths, is an independent one; over those that were found it has the same optimum."""
    model = MKLClassifier(KERNELS, WidthMKL(), C=C, tol=1e-5).fit(X, TWO)
    J, gap = model.objective_, model.duality_gap_
    assert gap <= 1e-5 * J and len(model.combiner_.widths_) > 2
    conic = MKLClassifier(on_grid(KERNELS, GRID), ConvexMKL(solver="conic"), C=C, tol=1e-6).fit(X, TWO)
    assert J - gap <= conic.objective_ + conic.duality_gap_
    fine = MKLClassifier(on_grid(KERNELS, np.geomspace(0.1, 10.0, 33)), ConvexMKL(), C=C, tol=1e-6).fit(X, TWO)
    assert J - gap <= fine.objective_ + fine.duality_gap_ and fine.objective_ + gap >= J
    assert fine.objective_ < conic.objective_
    same = MKLClassifier(found_widths(model)[0], ConvexMKL(solver="conic"), C=C, tol=1e-6).fit(X, TWO)
    assert abs(same.objective_ - J) <= gap + same.duality_gap_
    assert model.combiner_.profile_["ratio"].max() <= 1.0 + 4.0 * gap / J


def test_a_kernel_above_the_level_lowers_the_optimum_and_no_other_does():
    given = [("a", Gaussian([0], 2.0)), ("b", Gaussian([1, 2], 2.0))]
    stack = training(KernelStack(given).fit(X))
    machine = BinaryMachine(np.where(TWO, 1.0, -1.0), 1.0)
    control = FitControl(tol=1e-8)
    first = ConvexMKL().fit(stack, machine, control)
    family = WidthFamily.of(stack, 0)
    forms = family.forms(first.solution.coef)
    level = forms.along(np.array([[0.0]]))[0].item()
    lowered = []
    for u in (-1.5, -1.0, 0.5, 1.5):
        more = [("a", 0, stack.kernels[0]), ("b", 1, stack.kernels[1]), ("c", 0, family.at(u))]
        J = ConvexMKL().fit(stack.with_kernels(more), machine, control).solution.objective
        above = forms.along(np.array([[u]]))[0].item() > 1.001 * level
        lowered.append(above)
        assert (first.solution.objective * (1.0 - 1e-5) > J) == above
        assert first.solution.objective * (1.0 + 1e-7) >= J
    assert set(lowered) == {True, False}


MODELS = {
    "one-vs-one": (MKLClassifier(KERNELS, multiclass="one-vs-one"), THREE),
    "one-vs-all": (MKLClassifier(KERNELS, multiclass="one-vs-all"), THREE),
    "joint": (MKLClassifier(KERNELS, multiclass="joint"), THREE),
    "least squares": (MKLClassifier(KERNELS, machine="least-squares"), TWO),
    "squared hinge": (MKLClassifier(KERNELS, machine="squared-hinge"), TWO),
    "regression": (MKLRegressor(KERNELS), F),
    "one class": (MKLOneClass(KERNELS, nu=0.3), None),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_machine(name):
    """The gap is that of the infinite problem: a fit to a hundredth of it is between both ends."""
    model, y = MODELS[name]
    rough, fine = (model.set_params(combiner=WidthMKL(), tol=tol).fit(X, y).__dict__.copy() for tol in (1e-2, 1e-4))
    J, gap = rough["objective_"], rough["duality_gap_"]
    assert 0.0 <= gap <= 1e-2 * abs(J) and 0.0 <= fine["duality_gap_"] <= 1e-4 * abs(fine["objective_"])
    assert J - gap <= fine["objective_"] + fine["duality_gap_"] and fine["objective_"] <= J + gap
    grid = model.set_params(kernels=on_grid(KERNELS, GRID), combiner=ConvexMKL()).fit(X, y)
    model.set_params(kernels=KERNELS)
    assert fine["objective_"] - fine["duality_gap_"] <= grid.objective_ + grid.duality_gap_


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("samples", ["complete", "missing views"])
def test_predictions_are_those_of_the_widths_as_kernels_of_their_own(normalize, samples):
    """In both storages, under each normalisation, with samples that count differently."""
    whole = samples == "complete"
    data, new = (X, NEW) if whole else (MISSING, GAPS)
    weight = np.linspace(0.5, 2.0, N)
    model = MKLClassifier(KERNELS, WidthMKL(0.2, 5.0), normalize=normalize, tol=1e-5).fit(data, TWO, weight)
    singles, eta = found_widths(model)
    given = MKLClassifier(singles, FixedWeights(eta), normalize=normalize, tol=1e-7).fit(data, TWO, weight)
    assert abs(given.objective_ - model.objective_) <= 1e-4 * model.objective_
    assert_allclose(model.decision_function(new), given.decision_function(new), atol=2e-3)
    assert_allclose(model.kernel_weights(new).sum(axis=1), given.kernel_weights(new).sum(axis=1), rtol=1e-9)
    # the largest form of all widths is the level of those in use, whatever scales the coefficients of samples
    assert model.combiner_.profile_["ratio"].max() == pytest.approx(1.0, abs=1e-3)
    parts = model.contributions(new)
    assert_allclose(parts.sum(axis=1), model.decision_function(new), atol=1e-9)
    assert list(parts.columns)[:3] == ["a", "b", "line"]
    lazy = MKLClassifier(KERNELS, WidthMKL(0.2, 5.0), normalize=normalize, tol=1e-5, storage="lazy", dtype="float64")
    assert_allclose(lazy.fit(data, TWO, weight).decision_function(new), model.decision_function(new), atol=2e-3)


@pytest.mark.parametrize("storage", ["dense", "lazy"])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "center"])
def test_combined_kernels(storage, normalize):
    for data, new in ((X, NEW), (MISSING, GAPS)):
        kernels = KERNELS if data is X else KERNELS[:2]
        stack = training(KernelStack(kernels, normalize, storage=storage).fit(data))
        kernel = WidthMKL().fit(stack, BinaryMachine(np.where(TWO, 1.0, -1.0), 10.0))
        assert len(kernel.stack.kernels[0].parts()) > 1  # several widths
        check_combined_kernel(kernel, as_views(data), as_views(new), 1e-8)


def test_kernels_of_each_class():
    for multiclass in ("one-vs-one", "one-vs-all"):
        one, other = (
            MKLClassifier(
                KERNELS, WidthMKL(), multiclass=multiclass, weights="per-class", normalize="center"
            ).set_params(storage=storage, dtype="float64", tol=1e-5)
            for storage in ("dense", "lazy")
        )
        one.fit(X, THREE)
        other.fit(X, THREE)
        assert one.kernel_weights_.shape == (3, 3) and len(one.combiner_.combiners_) == 3
        assert_allclose(one.decision_function(NEW), other.decision_function(NEW), atol=5e-3)


def test_one_width_is_convex_mkl():
    ours = MKLClassifier(KERNELS, WidthMKL(1.0, 1.0, costs={"b": 0.5}), tol=1e-6).fit(X, TWO)
    convex = MKLClassifier(KERNELS, ConvexMKL(costs={"b": 0.5}), tol=1e-6).fit(X, TWO)
    assert ours.objective_ == pytest.approx(convex.objective_, rel=2e-6)
    assert_allclose(ours.kernel_weights_, convex.kernel_weights_, atol=2e-3)
    none = MKLClassifier([Linear([0]), Polynomial([1])], WidthMKL()).fit(X, TWO)
    assert len(none.combiner_.widths_) == len(none.combiner_.profile_) == 0
    assert none.objective_ == pytest.approx(MKLClassifier(none.kernels, ConvexMKL()).fit(X, TWO).objective_, rel=2e-3)


def test_costs():
    """A cost d divides the forms of a kernel by d^2: very dear kernels get no weight."""
    dear = MKLClassifier(KERNELS, WidthMKL(costs={"a": 100.0})).fit(X, TWO)
    assert dear.kernel_weights_["a"] < 1e-4 and set(dear.combiner_.widths_.index) == {"b"}
    costs = dear.combiner_.costs_
    assert (costs**2 * dear.kernel_weights_).sum() == pytest.approx(1.0)


def test_the_ends_of_the_range_are_the_identity_and_a_constant():
    """Coefficients of the identity are all at 1 with C = 1, J is then sum alpha - 1/2 sum alpha^2."""
    y = np.where(np.arange(N) % 2, 1.0, -1.0)
    narrow = MKLClassifier([Gaussian()], WidthMKL(1e-3, 1.0), tol=1e-6).fit(X, rng.permutation(y))
    exact = MKLClassifier([Gaussian(scale=1e-6)], FixedWeights([1.0]), tol=1e-6).fit(X, narrow.classes_[0] == y)
    assert exact.objective_ == pytest.approx(N / 2)
    assert narrow.duality_gap_ <= 1e-6 * narrow.objective_ and narrow.objective_ <= N / 2 * (1 + 1e-6)
    wide = MKLOneClass([Gaussian()], WidthMKL(1.0, 1e3)).fit(X)
    assert wide.combiner_.widths_["scale"].max() == pytest.approx(1e3 * Gaussian().fit(X).scale_)


def test_constant_columns_copies_and_one_view():
    same = np.repeat(X[:10], 7, axis=0)
    labels = np.arange(N) % 7 < 3
    for data in (np.ones((N, 2)), same):
        model = MKLClassifier([Gaussian()], WidthMKL()).fit(data, labels)
        assert 0.0 <= model.duality_gap_ <= 1e-3 * model.objective_
        assert np.isfinite(model.decision_function(data)).all()
        assert model.objective_ == pytest.approx(MKLClassifier([Gaussian()]).fit(data, labels).objective_, rel=0.5)


def test_the_gap_is_honest_where_kernels_or_solves_run_out():
    best = MKLClassifier(KERNELS[:2], WidthMKL(), C=30.0, tol=1e-5).fit(X, TWO).objective_
    for combiner, remedy in ((WidthMKL(max_kernels=2), "raise max_kernels"), (WidthMKL(max_iter=3), "max_iter")):
        with pytest.warns(ConvergenceWarning, match=remedy):
            model = MKLClassifier(KERNELS[:2], combiner, C=30.0).fit(X, TWO)
        assert model.duality_gap_ > 1e-3 * model.objective_
        assert model.objective_ - model.duality_gap_ <= best


@pytest.mark.parametrize(
    ("options", "combiner", "message"),
    [
        ({"approximation": "nystroem"}, WidthMKL(), "kernels of other widths"),
        ({"missing": "complete"}, WidthMKL(), 'missing="native"'),
        ({"missing": "complete", "weights": "per-class", "multiclass": "one-vs-all"}, WidthMKL(), 'missing="native"'),
        ({}, WidthMKL(max_kernels=2), "max_kernels of WidthMKL is 2"),
        ({}, WidthMKL(narrowest=0.0), "narrowest of WidthMKL"),
        ({}, WidthMKL(widest=0.5), "widest of WidthMKL"),
        ({}, WidthMKL(costs={"a": 0.0}), "costs must be positive"),
        ({}, WidthMKL(costs={"z": 1.0}), "costs names kernels that are not there"),
    ],
)
def test_refusals(options, combiner, message):
    model = MKLClassifier(KERNELS, combiner, **options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, THREE)
    assert not hasattr(model, "kernels_") and not hasattr(combiner, "widths_")


def test_a_transformer_stays_inside_and_kernels_tell_their_widths():
    kernels = [("a", Gaussian([0, 1], transformer=StandardScaler()))]
    model = MKLClassifier(kernels, WidthMKL(0.01, 10.0), C=30.0).fit(100.0 * X, TWO)
    plain = MKLClassifier([("a", Gaussian([0, 1]))], WidthMKL(0.01, 10.0), C=30.0)
    scaled = StandardScaler().fit(100.0 * X)
    plain.fit(scaled.transform(100.0 * X), TWO)
    assert_allclose(model.combiner_.widths_, plain.combiner_.widths_, rtol=1e-6)
    expected = plain.decision_function(scaled.transform(100.0 * NEW))
    assert_allclose(model.decision_function(100.0 * NEW), expected, atol=1e-6)
    words = kernel_in_words(model.kernels_[0])
    assert len(model.combiner_.widths_) > 1 and words.count("Gaussian of width") == len(model.combiner_.widths_)


def test_precomputed_kernels_beside_are_extended_twice():
    """Kernels of the combiner's own are another list than the one of the fit."""
    everybody = np.vstack([X, NEW])
    K = everybody @ everybody.T
    ids = np.column_stack([np.arange(len(K)), everybody])
    kernels = [("known", Precomputed(K[:N, :N], [0])), ("a", Gaussian([1])), ("b", Gaussian([2, 3]))]
    whole = [("known", Precomputed(K, [0])), *kernels[1:]]
    for options in ({}, {"weights": "per-class", "multiclass": "one-vs-all"}):
        model = MKLClassifier(kernels, WidthMKL(), **options).fit(ids[:N], THREE)
        expected = MKLClassifier(whole, WidthMKL(), **options).fit(ids[:N], THREE).decision_function(ids[N:])
        seen = []
        for first, last in ((N, N + 4), (N + 4, N + 9)):
            block = K[first:last, :N]
            known = model.extend_kernels({"known": block}, {"known": np.diagonal(K)[first:last]})
            known.iloc[:, 1:] = ids[first:last, 1:]
            assert_allclose(model.decision_function(known), expected[first - N : last - N], atol=1e-6)
            seen.append(known)
        assert_allclose(model.decision_function(pd.concat(seen)), expected, atol=1e-6)


def test_searches_share_kernels():
    searches = [
        ResponseSurfaceSearchCV(
            MKLClassifier(KERNELS[:1], WidthMKL(0.5, 2.0)), ["C"], cv=2, max_iter=1, share_kernels=share
        )
        for share in (True, False)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, other = (search.fit(X, TWO) for search in searches)
    assert_allclose(one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], atol=0.03)


def test_constants_and_sums_keep_their_widths():
    """A Gaussian inside a sum or product is no family."""
    kernels = [("sum", Gaussian([0]) + Constant(1.0)), ("a", Gaussian([0]))]
    model = MKLClassifier(kernels, WidthMKL()).fit(X, TWO)
    assert set(model.combiner_.profile_.index) == {"a"}


def test_sums_have_the_view_of_their_parts():
    """By which reports name it, whatever the kernel is called."""
    assert (0.5 * Gaussian("v") + 0.5 * Gaussian("v", 2.0)).view == "v"
    several = [
        Gaussian("v") + Linear("w"),
        Gaussian("v") * Pairwise(Linear(), first="v", second="w"),
        Linear([0]) + 1.0,
    ]
    assert all(kernel.view is None for kernel in [*several, Linear([0]) * Gaussian([0])])
    data = stack_views({"v": X[:, :2], "w": X[:, 2:]})
    model = MKLClassifier([("other", Gaussian("v")), Linear("w")], WidthMKL(), C=30.0).fit(data, TWO)
    assert len(model.kernels_[0].parts()) > 1
    assert fitted_views(model).keys() == {"v", "w"} and kernels_by_view(model)["v"] == ["other"]
