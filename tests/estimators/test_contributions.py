"""Decision values as sums over kernels."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import kernelweave.views.table as table
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, load, report, save, stack_views
from kernelweave.combiners import (
    ClusterGate,
    FixedWeights,
    GaussianGate,
    GeneralizedMKL,
    InstanceGate,
    KernelDifference,
    LinearMKL,
    Localized,
    LpMKL,
    Mean,
    PolynomialMKL,
    Product,
    Projected,
    Sigmoid,
    Softmax,
)
from kernelweave.kernels import Gaussian, Linear, Polynomial
from kernelweave.recipes import CohortModel

rng = np.random.default_rng(0)
COLUMNS = [f"{view}__{column}" for view in ("rna", "protein", "notes") for column in range(2)]
X = pd.DataFrame(rng.normal(size=(60, 6)), columns=COLUMNS, index=[f"patient {row}" for row in range(60)])
TARGET = np.where(X["rna__0"] > 0, X["protein__0"], -X["rna__1"]) + 0.3 * X["notes__0"].to_numpy() ** 2
LABELS = np.array(["low", "mid", "top", "upper"])[np.digitize(TARGET, [-0.5, 0.3, 0.9])]
KERNELS = [Linear("rna"), Gaussian("protein"), Polynomial("notes")]
NAMES = ["rna", "protein", "notes"]
MISSING = X.copy()
MISSING.iloc[::4, 2:4] = np.nan
MISSING.iloc[1::6, :2] = np.nan
SUMS = [
    Mean(),
    FixedWeights([0.5, 0.0, 2.0]),
    LpMKL(),
    GeneralizedMKL("sum", "l2"),
    PolynomialMKL(),
    PolynomialMKL(degree=3, constant=0.5, tau=0.5),
    Localized(l2=0.01),
    Localized(Sigmoid("paper"), l2=0.1),
    Projected(1, Softmax()),
    Projected(2, features="kpca"),
]
OTHERS = [Product(), GeneralizedMKL(strength=3.0), KernelDifference("square")]

pytestmark = pytest.mark.filterwarnings(
    "ignore:every sample has nearly the same", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def by_output(parts):
    """Sums over the kernels and the intercept of each output."""
    return parts.T.groupby(level="output", sort=False).sum().T


@pytest.mark.parametrize("combiner", SUMS, ids=str)
@pytest.mark.parametrize("samples", [X, MISSING], ids=["complete", "missing views"])
class TestOneOutput:
    def test_two_classes(self, combiner, samples):
        model = MKLClassifier(KERNELS, combiner, random_state=0).fit(samples, LABELS > "mid")
        parts = model.contributions(samples)
        assert parts.index.equals(X.index) and parts.columns[-1] == "intercept" and parts.columns.nlevels == 1
        assert list(parts)[:3] == NAMES
        assert_allclose(parts.sum(axis=1), model.decision_function(samples), rtol=0, atol=1e-10)
        for name in NAMES:
            lacks = samples[f"{name}__0"].isna()
            assert (parts.loc[lacks, [term for term in parts if name in term]] == 0.0).all(axis=None)
            assert (name in model.active_kernels_) == parts[name].any()

    def test_regression(self, combiner, samples):
        model = MKLRegressor(KERNELS, combiner, random_state=0).fit(samples, TARGET)
        assert_allclose(model.contributions(samples).sum(axis=1), model.predict(samples), rtol=0, atol=1e-10)

    def test_novelty(self, combiner, samples):
        if isinstance(combiner, Projected):
            combiner = Projected(1, features=combiner.features)
        model = MKLOneClass(KERNELS, combiner, nu=0.3, random_state=0).fit(samples)
        parts = model.contributions(samples)
        assert_allclose(parts.sum(axis=1), model.decision_function(samples), rtol=0, atol=1e-10)
        assert_allclose(parts.drop(columns="intercept").sum(axis=1), model.score_samples(samples), rtol=0, atol=1e-10)
        assert_array_equal(parts["intercept"], -model.offset_)


@pytest.mark.parametrize("gate", [Softmax(), Sigmoid(), GaussianGate(), ClusterGate(), InstanceGate()], ids=str)
def test_every_gate(gate):
    model = MKLRegressor(KERNELS, Localized(gate, l2=0.01), random_state=0).fit(X, TARGET)
    parts, gates = model.contributions(X), model.gates(X)
    assert_allclose(parts.sum(axis=1), model.predict(X), rtol=0, atol=1e-10)
    assert_allclose(parts[NAMES], gates * (model.local_values(X) - model.intercept_[0]), atol=1e-10)
    assert (parts[NAMES].to_numpy()[gates.to_numpy() == 0.0] == 0.0).all()


@pytest.mark.parametrize("combiner", [Mean(), PolynomialMKL(degree=2, tau=0.5), Localized(l2=0.01)], ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": "per-class"},
        {"machine": "least-squares"},
        {"machine": "squared-hinge", "weights": "per-class"},
        {"multiclass": "joint"},
    ],
    ids=str,
)
def test_classes(options, combiner):
    model = MKLClassifier(KERNELS, combiner, random_state=0, **options).fit(MISSING, LABELS)
    parts = model.contributions(MISSING)
    assert parts.columns.names == ["output", "kernel"] and parts.index.equals(X.index)
    sums = by_output(parts)
    assert list(sums) == list(model.classes_)
    assert_allclose(sums, model.decision_function(MISSING), rtol=0, atol=1e-10)
    assert list(parts["low"])[:3] == NAMES and list(parts["low"])[-1] == "intercept"
    assert_array_equal(parts.xs("intercept", axis=1, level="kernel"), np.tile(model.intercept_, (len(X), 1)))


@pytest.mark.parametrize("multiclass", ["one-vs-all", "joint", "one-vs-one"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_any_number_of_classes(multiclass, n_classes):
    """One column for two classes, else one for each class or pair: what decision values are made of, in their order."""
    chosen = np.isin(LABELS, np.unique(LABELS)[:n_classes])
    model = MKLClassifier(KERNELS, Mean(), multiclass=multiclass).fit(X[chosen], LABELS[chosen])
    parts, values = model.contributions(X), model.decision_function(X)
    if n_classes == 2:
        assert_allclose(parts.sum(axis=1), values, rtol=0, atol=1e-10)
        return
    sums = by_output(parts)
    if multiclass == "one-vs-one":
        ordered = [f"{a} vs {b}" for place, a in enumerate(model.classes_) for b in model.classes_[place + 1 :]]
        assert list(sums) == ordered
        assert_allclose(model._rule.decision(sums.to_numpy()), values, rtol=0, atol=1e-10)
    else:
        assert list(sums) == list(model.classes_)
        assert_allclose(sums, values, rtol=0, atol=1e-10)


@pytest.mark.parametrize("weights", ["shared", "per-class"])
def test_pairs(weights):
    kernels = [Linear("rna"), Gaussian("protein", scale=2.0)]  # which learn nothing from samples of other pairs
    model = MKLClassifier(kernels, LpMKL(), multiclass="one-vs-one", weights=weights).fit(X, LABELS)
    sums = by_output(model.contributions(X))
    assert list(sums)[:2] == ["low vs mid", "low vs top"] and sums.shape[1] == 6
    votes = pd.DataFrame(0.0, X.index, model.classes_)
    for pair, values in sums.items():
        first, second = pair.split(" vs ")
        votes[second] += values > 0
        votes[first] += values <= 0
    assert_array_equal(votes, model.decision_function(X).round())
    if weights == "per-class":
        both = np.isin(LABELS, ["low", "upper"])
        alone = MKLClassifier(kernels, LpMKL()).fit(X[both], LABELS[both])
        assert_allclose(sums["low vs upper"], alone.decision_function(X), atol=1e-5)


def test_the_terms_of_a_polynomial():
    combiner = PolynomialMKL(degree=2, constant=1.0, tau=1.0, ball_center=0.7, ball_radius=0.0)
    model = MKLRegressor(KERNELS[:2], combiner, normalize=None, machine="least-squares").fit(X, TARGET)
    parts = model.contributions(X)
    assert list(parts) == ["rna", "protein", "rna^2", "rna*protein", "protein^2", "intercept"]
    base = {name: 0.7 * kernel.cross(X, X) for name, kernel in zip(NAMES, model.kernels_, strict=False)}
    c, constant = np.zeros(len(X)), model.combiner_._form(2, 1.0).constant
    c[model.support_] = model.dual_coef_[0]
    assert_allclose(parts["rna"], constant * base["rna"] @ c, atol=1e-8)
    assert_allclose(parts["rna*protein"], (base["rna"] * base["protein"]) @ c, atol=1e-8)
    assert_allclose(parts["protein^2"], base["protein"] ** 2 @ c, atol=1e-8)
    plain = PolynomialMKL(degree=2, constant=0.0, tau=1.0)
    assert "rna" not in MKLRegressor(KERNELS[:2], plain).fit(X, TARGET).contributions(X)
    assert list(MKLRegressor(KERNELS[:2], PolynomialMKL(tau=0.0)).fit(X, TARGET).contributions(X))[:2] == NAMES[:2]


@pytest.mark.parametrize("combiner", OTHERS, ids=str)
def test_what_is_no_sum_names_the_report(combiner):
    model = MKLRegressor(KERNELS, combiner).fit(X, TARGET)
    with pytest.raises(ValueError, match=rf"{type(combiner).__name__}.*model_selection\.view_report"):
        model.contributions(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda weights: FixedWeights(weights),
        lambda weights: PolynomialMKL(tau=0.5, ball_center=weights, ball_radius=0.0),
        lambda weights: LinearMKL(),
        lambda weights: LpMKL(),
    ],
)
def test_permuted_kernels_have_permuted_parts(make):
    named, weights = list(zip(NAMES, KERNELS, strict=True)), {"rna": 0.5, "protein": 0.0, "notes": 0.2}
    first, second = (
        MKLClassifier(kernels, make(weights), tol=1e-6).fit(X[::2], TARGET[::2] > 0).contributions(X)
        for kernels in (named, named[::-1])
    )
    assert list(second)[:3] == NAMES[::-1]
    for parts in (first, second):
        parts.columns = ["*".join(sorted(term.split("*"))) for term in parts]
    assert_allclose(second[list(first)], first, atol=1e-4)


def test_containers_labels_and_files(tmp_path):
    model = MKLRegressor([Linear([0, 1]), Linear([2, 3])], Mean()).fit(X.to_numpy(), TARGET)
    parts = model.contributions(X.to_numpy())
    assert list(parts) == ["linear", "linear-2", "intercept"] and isinstance(parts.index, pd.RangeIndex)
    sparse = MKLRegressor([Linear([0, 1]), Linear([2, 3])], Mean()).fit(sp.csr_matrix(X.to_numpy()), TARGET)
    assert_allclose(sparse.contributions(sp.csr_matrix(X.to_numpy())), parts, atol=1e-8)
    model = MKLClassifier(KERNELS, PolynomialMKL(tau=0.5)).fit(MISSING, LABELS)
    save(model, tmp_path / "model")
    pd.testing.assert_frame_equal(load(tmp_path / "model").contributions(MISSING), model.contributions(MISSING))


@pytest.mark.parametrize("combiner", [Mean(), PolynomialMKL(degree=2, tau=0.5), Localized(l2=0.01)], ids=str)
def test_blocks_of_samples(combiner, monkeypatch):
    model = MKLClassifier(KERNELS, combiner, random_state=0).fit(MISSING, LABELS)
    whole = model.contributions(MISSING)
    monkeypatch.setattr(table, "BLOCK_VALUES", 500)
    pd.testing.assert_frame_equal(model.contributions(MISSING), whole, rtol=1e-12)


def test_views_are_fetched_where_a_gate_is_open():
    model = MKLRegressor(KERNELS, Localized(inputs="rna", l2=0.01), random_state=0).fit(X, TARGET)
    cheap = X.copy()
    cheap.iloc[:, 2:4] = np.nan
    asked = []

    def fetch(view, rows):
        asked.append(view)
        return X.filter(like=f"{view}__").iloc[rows]

    parts = model.contributions(cheap, fetch)
    pd.testing.assert_frame_equal(parts, model.contributions(X))
    assert set(asked) == {"protein"}
    assert_allclose(parts.sum(axis=1), model.predict(cheap, fetch), rtol=0, atol=1e-10)


def test_before_fit():
    with pytest.raises(NotFittedError):
        MKLClassifier(KERNELS).contributions(X)


def test_centred_kernels_add_nothing_on_average():
    model = MKLClassifier(KERNELS, LpMKL(), normalize="center").fit(X, LABELS)
    assert_allclose(model.contributions(X).mean().unstack()[NAMES], 0.0, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_kernel_called_intercept(n_classes):
    """It has a column of its own, and the intercept keeps its name and its place."""
    X = np.random.RandomState(0).normal(size=(40, 4))
    y = np.arange(40) % n_classes
    model = MKLClassifier([("intercept", Linear([0, 1])), ("other", Gaussian([2, 3]))]).fit(X, y)
    parts = model.contributions(X)
    assert parts.columns.is_unique
    values = model.decision_function(X)
    for place, name in enumerate(model.classes_ if n_classes > 2 else [None]):
        own = parts if name is None else parts[name]
        assert list(own.columns) == ["intercept (view)", "other", "intercept"]
        np.testing.assert_array_equal(own["intercept"], model.intercept_[place])
        np.testing.assert_allclose(own.sum(axis=1), values if name is None else values[:, place])
    assert report(model, X, y, cv=False).contents
    views = stack_views({"intercept": X[:, :2], "other": X[:, 2:]})
    cohort = CohortModel("mean", effort="quick", random_state=0).fit(views, y)
    parts = cohort.contributions(views)
    assert parts.columns.is_unique and len(parts.columns) % (1 if n_classes == 2 else 3) == 0
    page = report(cohort, views, y, cv=False).contents
    bars = next(section for section in page.sections if section.id == "contributions").blocks[-1]
    assert bars.parts == ["intercept (view)", "other", "intercept"]
