"""Both storages give the same models: objectives within 1e-3, predictions and attributes alike.

Each combiner and each machine that both storages serve is fitted twice, which is why this file takes long: weights,
gates and machines at n = 2000 for one combiner each, the others at n = 800.
"""

import copy
import inspect
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, combiners, config_context, load, save, set_config
from kernelweave.combiners import (
    AccuracyWeights,
    AlignmentWeights,
    BestSingle,
    BinaryMKL,
    Combiner,
    ConvexLocalized,
    ConvexMKL,
    CorrelationWeights,
    EasyMKL,
    EigenvalueCosts,
    ElasticMKL,
    ErrorWeights,
    FeatureSpaceMeasure,
    FixedWeights,
    GaussianGate,
    GeneralizedMKL,
    GroupMKL,
    IdealKernelDistance,
    KernelDifference,
    KLDivergence,
    LinearMKL,
    Localized,
    LpMKL,
    Mean,
    PerOutput,
    PolynomialMKL,
    Product,
    Projected,
    Sigmoid,
    Softmax,
    SparseMKL,
    WidthMKL,
)
from kernelweave.estimators.reuse import SharedFoldKernels, fit_path
from kernelweave.estimators.training import lacking
from kernelweave.kernels import Distance, Gaussian, Laplacian, Linear, Polynomial
from kernelweave.stacks.tiles import Tiles
from three_stacks import WholeHinge, WholeTube

N = 2000
WIDTH = 3  # features of a view


def problem(n, seed=0):
    """Three views; which of the first two decides depends on the region, and the third is noise."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3 * WIDTH)), columns=[f"{v}__{j}" for v in "abc" for j in range(WIDTH)])
    values = X.to_numpy()
    rule = np.where(values[:, 0] + values[:, WIDTH] > 0, values[:, 1], values[:, WIDTH + 1])
    return X, rule + 0.3 * rng.normal(size=n)


X, RULE = problem(N)
NEW, _ = problem(200, seed=1)
TWO = np.where(RULE > 0, "ill", "well")
THREE = np.digitize(RULE, [-0.5, 0.5])
KERNELS = [Gaussian("a", scale=2.0), Laplacian("b", scale=3.0), Polynomial("c", degree=2)]

# Combiners that kernels in parts serve, with what makes them fast enough here.
COMBINERS = {
    "accuracy": AccuracyWeights(cv=2),
    "alignment": AlignmentWeights(),
    "alignment qcqp": AlignmentWeights("qcqp"),
    "best": BestSingle(cv=2),
    "binary": BinaryMKL(2),
    "convex": ConvexMKL(),
    "convex localized": ConvexLocalized(3),
    "correlation": CorrelationWeights(cv=2),
    "easy": EasyMKL(),
    "elastic": ElasticMKL(l2=100.0),
    "errors": ErrorWeights(cv=2),
    "feature space": FeatureSpaceMeasure(),
    "fixed": FixedWeights({"a": 0.5, "b": 0.4, "c": 0.1}),
    "generalized": GeneralizedMKL("product", "l1", strength=10.0),
    "generalized sum": GeneralizedMKL("sum", "l2", strength=10.0),
    "group": GroupMKL({"first": ["a", "b"], "second": ["c"]}),
    "ideal": IdealKernelDistance(),
    "localized": Localized(l2=0.03),
    "localized sigmoid": Localized(Sigmoid(), l2=0.03),
    "localized regions": Localized(GaussianGate(), l2=0.1),
    "lp": LpMKL(p=2.0),
    "mean": Mean(),
    "polynomial": PolynomialMKL(tau=0.5),
    "product": Product(),
    "projected": Projected(2, Softmax()),
    "sparse": SparseMKL(),
    "widths": WidthMKL(0.3, 3.0),
}
FEWER = 800
FEWEST = {"projected": 500}  # slow in both storages
LARGE = {("mean", "binary"), ("convex", "binary"), ("localized", "binary"), ("mean", "regression")}
DIFFERENTIABLE = [Gaussian("a", scale=2.0), Gaussian("b"), Linear("c")]  # kernels whose features can be projected
MACHINES = {
    "binary": (MKLClassifier(KERNELS), TWO),
    "one-vs-all": (MKLClassifier(KERNELS), THREE),
    "one-vs-one": (MKLClassifier(KERNELS, multiclass="one-vs-one"), THREE),
    "per-class": (MKLClassifier(KERNELS, weights="per-class"), THREE),
    "regression": (MKLRegressor(KERNELS, epsilon=0.3), RULE),
    "targets": (MKLRegressor(KERNELS, epsilon=0.3), np.column_stack([RULE, X["a__0"]])),
    "one-class": (MKLOneClass(KERNELS), None),
    "least squares": (MKLClassifier(KERNELS, machine="least-squares"), THREE),
    "least squares one-vs-one": (MKLClassifier(KERNELS, machine="least-squares", multiclass="one-vs-one"), THREE),
    "squared hinge": (MKLClassifier(KERNELS, machine="squared-hinge"), THREE),
    "squared tube": (MKLRegressor(KERNELS, machine="squared-epsilon-insensitive", epsilon=0.3), RULE),
    "least-squares regression": (MKLRegressor(KERNELS, machine="least-squares"), np.column_stack([RULE, X["a__0"]])),
}
PAIRS = [(name, "regression" if name in ("correlation", "errors") else "binary") for name in COMBINERS]
PAIRS += [(name, machine) for name in ("mean", "convex") for machine in MACHINES]
PAIRS += [("easy", "one-vs-one")]
PAIRS += [("localized", machine) for machine in ("one-vs-one", "regression", "one-class")]
PAIRS += [("projected", "regression"), ("polynomial", "one-vs-all"), ("localized", "squared hinge")]
MORE = [(name, "least squares") for name in COMBINERS if name not in ("correlation", "errors")]
MORE += [(name, "squared tube") for name in ("correlation", "errors", "lp", "localized", "projected", "product")]
PAIRS = [*dict.fromkeys(PAIRS), *(pytest.param(*pair, marks=pytest.mark.long) for pair in MORE if pair not in PAIRS)]


def test_every_combiner_that_takes_parts_is_here():
    public = [getattr(combiners, name) for name in combiners.__all__]
    concrete = {
        cls
        for cls in public
        if inspect.isclass(cls) and issubclass(cls, Combiner) and cls is not Combiner and not inspect.isabstract(cls)
    }
    here = {type(combiner) for combiner in COMBINERS.values()} | {PerOutput}  # the machine "per-class"
    refused = {KLDivergence, KernelDifference, LinearMKL}
    assert all(lacking(Tiles, cls(), ()) is not None for cls in refused)
    assert concrete == here | refused


def fitted(combiner, machine, storage):
    model, y = MACHINES[machine]
    kernels = DIFFERENTIABLE if combiner == "projected" else KERNELS
    model = clone(model).set_params(kernels=kernels, combiner=COMBINERS[combiner], storage=storage, random_state=0)
    n = N if (combiner, machine) in LARGE else FEWEST.get(combiner, FEWER)
    return model.fit(X[:n], None if y is None else y[:n])


def values_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize(("combiner", "machine"), PAIRS)
def test_both_storages_give_the_same_model(combiner, machine):
    dense, lazy = (fitted(combiner, machine, storage) for storage in ("dense", "lazy"))
    assert (dense.storage_, lazy.storage_) == ("dense", "lazy")
    share = 4e-3 if combiner == "elastic" else 1e-3  # without its penalty, which weights trade for it
    assert abs(lazy.objective_ - dense.objective_) <= share * abs(dense.objective_)
    assert 0 <= lazy.duality_gap_ <= 2e-2 * abs(lazy.objective_)
    np.testing.assert_allclose(lazy.kernel_weights_, dense.kernel_weights_, atol=0.05)
    first, second = values_of(dense, NEW), values_of(lazy, NEW)
    if machine.endswith("one-vs-one"):  # votes
        assert (first.argmax(axis=1) == second.argmax(axis=1)).mean() > 0.97
    else:
        assert np.abs(first - second).max() <= 0.05 * np.abs(first).max() + 1e-3
    assert set(vars(dense)) == set(vars(lazy))
    assert [type(value) for _, value in sorted(vars(dense).items())] == [
        type(value) for _, value in sorted(vars(lazy).items())
    ]
    assert list(dense.history_.columns) == list(lazy.history_.columns)


# When


def small(storage="auto", **parameters):
    return MKLClassifier(KERNELS, storage=storage, **parameters)


@pytest.mark.parametrize(("dtype", "size"), [(None, 8), ("float64", 8), ("float32", 4)])
def test_auto_is_dense_up_to_the_size_of_all_gram_matrices(dtype, size):
    n = 100
    with config_context(dense_bytes=3 * n**2 * size):
        assert small(dtype=dtype).fit(X[:n], TWO[:n]).storage_ == "dense"
    with config_context(dense_bytes=3 * n**2 * size - 1):
        assert small(dtype=dtype).fit(X[:n], TWO[:n]).storage_ == "lazy"
        assert small("dense", dtype=dtype).fit(X[:n], TWO[:n]).storage_ == "dense"
        weight = np.ones(n)
        weight[0] = 0.0  # that sample is left out
        assert small(dtype=dtype).fit(X[:n], TWO[:n], sample_weight=weight).storage_ == "dense"


def test_a_setting_holds_for_fits():
    try:
        set_config(dense_bytes=0)
        assert small().fit(X[:50], TWO[:50]).storage_ == "lazy"
    finally:
        set_config(dense_bytes=2e9)
    assert small().fit(X[:50], TWO[:50]).storage_ == "dense"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            MKLClassifier(KERNELS, ConvexMKL(solver="conic")),
            r'ConvexMKL with solver="conic" hands whole .* such as Mean',
        ),
        (
            MKLClassifier(KERNELS, LpMKL(costs=EigenvalueCosts())),
            "EigenvalueCosts counts eigenvalues of whole Gram",
        ),
        (MKLClassifier(KERNELS, KLDivergence()), "KLDivergence takes determinants of whole Gram matrices"),
        (MKLClassifier(KERNELS[2:], LinearMKL("alignment")), "LinearMKL solves a semidefinite program of whole Gram"),
        (MKLClassifier(KERNELS, KernelDifference("square")), r"KernelDifference squares .* another combiner"),
        (MKLClassifier(KERNELS, machine=WholeHinge()), r"loss WholeHinge is solved on .*machine=\"svm\""),
        (
            MKLClassifier(KERNELS, KLDivergence(), multiclass="joint", soft_labels="knn"),
            "KLDivergence takes determinants of whole Gram matrices",
        ),
        (
            MKLClassifier([*KERNELS[:2], ("far", Distance("cityblock", "c", repair="clip"))]),
            r"the kernel 'far' has repair='clip'.* repair=None for that kernel",
        ),
    ],
)
def test_what_cannot_be_had_in_parts(model, message):
    """Refused at once, with sizes and the remedy; with "auto" such a model stays dense."""
    n = 60
    with config_context(dense_bytes=0):
        assert clone(model).fit(X[:n], THREE[:n]).storage_ == "dense"
    model = clone(model).set_params(storage="lazy")
    before = dict(vars(model))
    sizes = rf'^storage="lazy" .*: (3 matrices|a matrix) of {n} x {n} float64, .* GiB; use storage="dense", or '
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(X[:n], THREE[:n])
    assert re.search(sizes, str(caught.value))
    assert vars(model) == before


@pytest.mark.parametrize("n_targets", [1, 2])
def test_the_remedy_of_a_regressor_is_one_for_regressors(n_targets):
    with pytest.raises(ValueError, match=r'or the support vector machine, machine="svm", or approximation="nystroem"$'):
        MKLRegressor(KERNELS, machine=WholeTube(), storage="lazy").fit(
            X[:30], np.repeat(RULE[:30, None], n_targets, axis=1)
        )


def test_nothing_is_computed_before_a_refusal():
    def never(A, B):
        raise AssertionError("computed")

    with pytest.raises(ValueError, match="WholeHinge"):
        MKLClassifier([never, Linear()], machine=WholeHinge(), storage="lazy").fit(X[:20], TWO[:20])


@pytest.mark.parametrize(
    ("parameter", "value"), [("storage", "sparse"), ("storage", None), ("device", "gpu"), ("device", 0)]
)
def test_parameters_are_checked(parameter, value):
    with pytest.raises(ValueError, match=f"{parameter} of MKLRegressor must be"):
        MKLRegressor(**{parameter: value}).fit(X[:20], RULE[:20])


# Nothing else depends on the storage


@pytest.fixture(scope="module")
def pair():
    return [MKLClassifier(KERNELS, storage=storage).fit(X[:300], TWO[:300]) for storage in ("dense", "lazy")]


def test_predictions_of_a_lazy_model_are_those_of_its_copies(pair, tmp_path):
    dense, lazy = pair
    save(lazy, tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.storage_, again.storage, again.device) == ("lazy", "lazy", "cpu")
    for other in (again, pickle.loads(pickle.dumps(lazy)), copy.deepcopy(lazy)):
        np.testing.assert_array_equal(other.decision_function(NEW), lazy.decision_function(NEW))
        assert other.storage_ == "lazy"
    save(dense, tmp_path / "dense")
    assert load(tmp_path / "dense").storage_ == "dense"
    assert clone(lazy).get_params()["storage"] == "lazy"


def test_device_is_not_saved(pair, tmp_path):
    model = copy.copy(pair[1])
    model.device = "auto"
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").device == "cpu"
    assert load(tmp_path / "model", device="auto").device == "auto"
    with pytest.raises(ValueError, match='device of load must be "cpu", "cuda" or "auto"'):
        load(tmp_path / "model", device="gpu")


def test_explanations_are_alike(pair):
    dense, lazy = pair
    parts = [model.contributions(NEW) for model in pair]
    np.testing.assert_allclose(parts[1].sum(axis=1), lazy.decision_function(NEW), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(parts[0], parts[1], atol=0.02)
    np.testing.assert_allclose(dense.kernel_weights(NEW), lazy.kernel_weights(NEW))
    assert dense.prediction_cost() == pytest.approx(lazy.prediction_cost(), rel=0.05)
    assert lazy.active_kernels_ == dense.active_kernels_


def test_displays_draw_lazy_models(pair):
    pytest.importorskip("matplotlib")
    from kernelweave.display import KernelWeightsDisplay

    shown = [KernelWeightsDisplay.from_estimator(model) for model in pair]
    assert [type(display) for display in shown] == [KernelWeightsDisplay] * 2
    assert repr(pair[1]).startswith("MKLClassifier(") and 'storage="lazy"' in repr(pair[1]).replace("'", '"')


def test_paths_and_the_kernel_of_all_samples():
    models = list(fit_path(small("lazy"), X[:200], TWO[:200], "C", [0.1, 1.0]))
    cold = small("lazy").fit(X[:200], TWO[:200])
    assert models[1].objective_ == pytest.approx(cold.objective_, rel=1e-3) and models[1].storage_ == "lazy"
    kernel = small("lazy").fit_kernel(X[:200], TWO[:200])
    assert kernel.n_samples == 200 and kernel.cross(kernel.stack.reference).shape == (200, 200)


def test_missing_views_and_weights():
    holes = X[:300].copy()
    holes.loc[holes.index[::7], [f"b__{j}" for j in range(WIDTH)]] = np.nan
    weight = np.linspace(0.5, 2.0, 300)
    dense, lazy = (small(s).fit(holes, TWO[:300], sample_weight=weight) for s in ("dense", "lazy"))
    assert lazy.objective_ == pytest.approx(dense.objective_, rel=1e-3)
    np.testing.assert_allclose(lazy.decision_function(NEW), dense.decision_function(NEW), atol=0.02)


def test_n_jobs_and_searches_do_not_notice():
    one, two = (MKLClassifier(KERNELS, storage="lazy", n_jobs=n_jobs).fit(X[:200], THREE[:200]) for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.decision_function(NEW), two.decision_function(NEW))
    search = GridSearchCV(small("lazy"), {"C": [0.1, 1.0]}, cv=2).fit(X[:120], TWO[:120])
    assert search.best_estimator_.storage_ == "lazy"


@pytest.mark.parametrize(
    ("model", "limit", "shared"),
    [(small(), 2e9, True), (small(), 0, False), (small("dense"), 0, True), (small("lazy"), 2e9, False)],
)
def test_kernels_are_shared_only_where_fits_hold_them(model, limit, shared):
    sharing = SharedFoldKernels(model, ["C"])
    with config_context(dense_bytes=limit):
        if sharing.possible:
            fold = sharing.of_fold(X[:60], TWO[:60], range(40), range(40, 60))
            assert all((sheet is not None) == shared for _, _, sheet in fold)
        else:
            assert not shared
    assert not SharedFoldKernels(model, ["storage"]).possible


def test_a_lazy_solve_that_ends_early_warns_with_advice():
    with pytest.warns(ConvergenceWarning, match=r"stopped after \d+ solver steps .*; raise max_iter"):
        model = small("lazy", max_iter=20).fit(X[:300], TWO[:300])
    assert model.duality_gap_ > 0 and model.predict(NEW).shape == (len(NEW),)


# Accuracy


@pytest.mark.parametrize("kernel", [Polynomial("a", degree=2), Gaussian("a", scale=20.0)], ids=["polynomial", "wide"])
@pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
def test_large_costs_need_rows_in_float64(kernel, normalize):
    """With a cost of 1e6, float32 rows of such a kernel would change the objective by up to a fifth."""
    dense, lazy = (
        MKLClassifier([kernel], C=1e6, normalize=normalize, storage=s).fit(X[:300], TWO[:300])
        for s in ("dense", "lazy")
    )
    assert lazy.objective_ == pytest.approx(dense.objective_, rel=1e-5)
    assert lazy.duality_gap_ <= 1e-3 * lazy.objective_


@pytest.mark.parametrize(("scale", "C"), [(1e-6, 1.0), (1.0, 1e6)])
def test_costs_of_a_regression_are_measured_by_its_targets(scale, C):
    y = scale * np.column_stack([RULE, X["a__0"]])[:200]
    dense, lazy = (
        MKLRegressor([Polynomial("a", degree=2)], C=C, epsilon=0.1 * scale, tol=1e-6 * scale, storage=s).fit(X[:200], y)
        for s in ("dense", "lazy")
    )
    assert lazy.objective_ == pytest.approx(dense.objective_, rel=1e-5)


@pytest.mark.parametrize(
    ("parameters", "dtype"),
    [
        ({}, "float32"),
        ({"C": 1e4}, "float64"),
        ({"C": 1e4, "dtype": "float32"}, "float64"),
        ({"C": 100.0, "dtype": "float32"}, "float32"),
        ({"dtype": "float64"}, "float64"),
    ],
)
def test_the_type_of_rows(parameters, dtype):
    assert small("lazy", **parameters).fit(X[:60], TWO[:60])._kernel.stack.dtype == dtype
