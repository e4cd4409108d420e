"""Weights of the features of linear kernels."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, load, save
from kernelweave.combiners import (
    ConvexMKL,
    FixedWeights,
    GeneralizedMKL,
    LinearMKL,
    Localized,
    LpMKL,
    Mean,
    PolynomialMKL,
    Product,
    Projected,
    Softmax,
)
from kernelweave.kernels import Gaussian, Linear, Precomputed, Spectrum
from kernelweave.recipes.preparation import FewComponents

rng = np.random.default_rng(0)
COLUMNS = ["rna__a", "rna__b", "rna__c", "protein__a", "protein__b", "age"]
X = pd.DataFrame(rng.normal(size=(50, 6)) + 0.5, columns=COLUMNS)
TARGET = (X["rna__a"] - 2.0 * X["protein__b"] + 0.1 * rng.normal(size=50)).to_numpy()
LABELS = np.array(["low", "mid", "top", "upper"])[np.digitize(TARGET, [-1.5, -0.5, 0.3])]
KERNELS = [Linear("rna"), Linear("protein"), ("years", Linear(["age", "rna__a"]))]  # rna__a is in two views
VIEWS = {"rna": COLUMNS[:3], "protein": COLUMNS[3:5], "years": ["age", "rna__a"]}
MISSING = X.copy()
MISSING.iloc[::4, 3:5] = np.nan
MISSING.iloc[1::6, :3] = np.nan
MISSING_KERNELS = [Linear("rna"), Linear("protein"), ("years", Linear(["age"]))]
MEAN = X.mean()
WEIGHTED = [
    Mean(),
    FixedWeights({"rna": 0.5, "protein": 2.0}),
    ConvexMKL(),
    LpMKL(),
    GeneralizedMKL("sum", "l2"),
    PolynomialMKL(degree=3, tau=0.0),
    PolynomialMKL(degree=1),
    Projected(1),
]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def normalised(part, normalize, mean=MEAN):
    """The features of a view, as the kernel compares them."""
    values = part.to_numpy()
    if normalize == "unit-diagonal":
        return values / np.linalg.norm(values, axis=1, keepdims=True)
    return values - mean[part.columns].to_numpy() if normalize == "center" else values


@pytest.mark.parametrize("combiner", WEIGHTED, ids=str)
class TestTheIdentity:
    @pytest.mark.parametrize("normalize", ["unit-diagonal", "unit-trace", "center", None])
    def test_parts_are_products_with_normalised_samples(self, combiner, normalize):
        model = MKLRegressor(KERNELS, combiner, normalize=normalize, random_state=0).fit(X, TARGET)
        parts = model.contributions(X)
        for name, columns in VIEWS.items():
            weights = model.feature_weights(name)
            assert isinstance(weights, pd.Series) and weights.name == name and list(weights.index) == columns
            assert_allclose(normalised(X[columns], normalize) @ weights, parts[name], rtol=0, atol=1e-10)

    @pytest.mark.parametrize(
        "options", [{}, {"weights": "per-class"}, {"multiclass": "joint"}, {"multiclass": "one-vs-one"}], ids=str
    )
    def test_classes_and_pairs(self, combiner, options):
        model = MKLClassifier(KERNELS, combiner, random_state=0, **options).fit(X, LABELS)
        parts = model.contributions(X)
        for name, columns in VIEWS.items():
            weights = model.feature_weights(name)
            assert list(weights.index) == columns and weights.columns.name == "output"
            assert list(weights) == list(parts.columns.unique("output"))
            own = parts.xs(name, axis=1, level="kernel")
            assert_allclose(normalised(X[columns], "unit-diagonal") @ weights, own, rtol=0, atol=1e-10)

    @pytest.mark.parametrize("normalize", ["unit-diagonal", "center"])
    def test_missing_views(self, combiner, normalize):
        model = MKLRegressor(MISSING_KERNELS, combiner, normalize=normalize, random_state=0).fit(MISSING, TARGET)
        parts = model.contributions(X)  # of samples that have all views
        for name, columns in {**VIEWS, "years": ["age"]}.items():
            product = normalised(X[columns], normalize, MISSING.mean()) @ model.feature_weights(name)
            assert_allclose(product, parts[name], rtol=0, atol=1e-10)

    def test_coef(self, combiner):
        check_coef(X, combiner, None)


@pytest.mark.parametrize("combiner", [LpMKL(), Projected(1)], ids=str)
def test_coef_of_scaled_kernels(combiner):
    check_coef(X, combiner, "unit-trace")


@pytest.mark.parametrize("samples", [X.to_numpy(), sp.csr_matrix(X.to_numpy())], ids=["array", "sparse"])
def test_coef_of_other_containers(samples):
    check_coef(samples, LpMKL(), None)


def check_coef(samples, combiner, normalize):
    """`coef_` is there, and gives the decision values, for every estimator and machine."""
    kernels = [("rna", Linear([0, 1, 2])), ("protein", Linear(slice(3, 5))), ("years", Linear([5, 0]))]
    options = {"normalize": normalize, "random_state": 0}
    models = [
        (MKLRegressor(kernels, combiner, **options), TARGET),
        (MKLRegressor(kernels, combiner, machine="least-squares", **options), TARGET),
        (MKLOneClass(kernels, combiner, nu=0.3, **options), None),
        (MKLClassifier(kernels, combiner, multiclass="one-vs-one", **options), LABELS > "mid"),
        (MKLClassifier(kernels, combiner, **options), LABELS),
        (MKLClassifier(kernels, combiner, weights="per-class", **options), LABELS),
        (MKLClassifier(kernels, combiner, machine="squared-hinge", **options), LABELS),
        (MKLClassifier(kernels, combiner, multiclass="joint", **options), LABELS),
    ]
    for model, y in models:
        assert not hasattr(model, "coef_")
        model.fit(samples, y)
        n_outputs = 4 if y is LABELS else 1
        assert model.coef_.shape == (n_outputs, 6) and model.intercept_.shape == (n_outputs,)
        decided = model.predict(samples) if isinstance(model, MKLRegressor) else model.decision_function(samples)
        values = samples @ model.coef_.T + model.intercept_
        assert_allclose(np.asarray(values).reshape(decided.shape), decided, rtol=0, atol=1e-10)


def test_coef_is_that_of_scikit_learn():
    model = MKLClassifier([Linear()], normalize=None, C=2.0, tol=1e-8).fit(X, LABELS > "mid")
    theirs = SVC(kernel="linear", C=2.0, tol=1e-8).fit(X, LABELS > "mid")
    assert_allclose(model.coef_, theirs.coef_, atol=1e-5)
    assert model.coef_.shape == theirs.coef_.shape and model.intercept_.shape == theirs.intercept_.shape
    assert SelectFromModel(clone(model)).fit(X, LABELS > "mid").get_support().any()


class TestWhereThereIsNoCoef:
    @pytest.mark.parametrize(
        ("model", "reason"),
        [
            (MKLClassifier(KERNELS), "normalised"),
            (MKLClassifier(KERNELS, normalize="center"), "normalised"),
            (MKLClassifier(KERNELS, normalize=None, multiclass="one-vs-one"), "votes"),
            (MKLClassifier([*KERNELS, Gaussian("rna")], normalize=None), "'rna-2' is not linear"),
            (MKLClassifier(KERNELS, Product(), normalize=None), "Product does not give each kernel one weight"),
            (MKLClassifier(KERNELS, PolynomialMKL(tau=0.5), normalize=None), "PolynomialMKL does not"),
            (MKLClassifier(KERNELS, Localized(l2=0.01), normalize=None, random_state=0), "Localized does not"),
            (MKLClassifier(KERNELS, Projected(1, Softmax()), normalize=None, random_state=0), "Projected does not"),
            (MKLClassifier(KERNELS, Projected(1, features="kpca"), normalize=None, random_state=0), "Projected does"),
        ],
        ids=lambda part: part if isinstance(part, str) else "",
    )
    def test_fitted(self, model, reason):
        assert not hasattr(model, "coef_")
        model.fit(X, LABELS)
        assert not hasattr(model, "coef_")
        with pytest.raises(AttributeError, match=f"has no coef_: .*{reason}"):
            model.coef_  # noqa: B018

    def test_before_fit(self):
        with pytest.raises(AttributeError, match="not fitted"):
            MKLClassifier(KERNELS, normalize=None).coef_  # noqa: B018

    def test_parameters_set_after_the_fit_change_nothing(self):
        model = MKLRegressor(KERNELS).fit(X, TARGET).set_params(normalize=None)
        assert not hasattr(model, "coef_")

    def test_other_kernels_without_weight(self):
        weights = FixedWeights({"rna": 1.0})
        model = MKLRegressor([Linear("rna"), Gaussian("protein")], weights, normalize=None).fit(X, TARGET)
        assert_array_equal(model.coef_[0, 3:], 0.0)
        assert_allclose(X @ model.coef_[0] + model.intercept_, model.predict(X), rtol=0, atol=1e-10)
        text = X.assign(notes="a tall tree")
        model = MKLRegressor([Linear("rna"), ("notes", Spectrum(view="notes"))], weights, normalize=None)
        assert not hasattr(model.fit(text, TARGET), "coef_")


class TestNames:
    def test_kernels_first_then_views(self):
        kernels = [("counts", Linear("rna")), ("protein", Linear(["age"])), ("other", Linear("protein"))]
        model = MKLRegressor(kernels).fit(X, TARGET)
        assert list(model.feature_weights("rna").index) == COLUMNS[:3] and model.feature_weights("rna").name == "counts"
        assert list(model.feature_weights("protein").index) == ["age"]
        pd.testing.assert_series_equal(model.feature_weights("counts"), model.feature_weights("rna"))

    def test_a_linear_kernel_beside_others_on_the_same_view(self):
        model = MKLRegressor([Gaussian("rna"), Linear("rna"), Linear("protein")]).fit(X, TARGET)
        assert model.feature_weights("rna").name == "rna-2"
        twice = MKLRegressor([("a", Linear("rna")), ("b", Linear("rna"))]).fit(X, TARGET)
        with pytest.raises(ValueError, match=r"several linear kernels read the view 'rna': name one of \['a', 'b'\]"):
            twice.feature_weights("rna")

    def test_columns_without_names(self):
        model = MKLRegressor([Linear([4, 2]), Linear([0])]).fit(X.to_numpy(), TARGET)
        assert list(model.feature_weights("linear").index) == list(model.kernels_[0].columns())
        assert list(model.feature_weights("linear-2").index) == [0]

    def test_a_kernel_without_weight_has_weights_of_0(self):
        for options in ({}, {"weights": "per-class"}):
            model = MKLClassifier(KERNELS, FixedWeights({"rna": 1.0}), **options).fit(X, LABELS)
            weights = model.feature_weights("protein")
            assert list(weights.index) == COLUMNS[3:5] and (weights == 0.0).all(axis=None)

    def test_a_kernel_that_only_some_classes_use(self):
        model = MKLClassifier(KERNELS[:2], ConvexMKL(), weights="per-class", C=0.1).fit(X, X["rna__b"].round())
        for name in ("rna", "protein"):
            own = model.contributions(X).xs(name, axis=1, level="kernel")
            assert_allclose(normalised(X[VIEWS[name]], "unit-diagonal") @ model.feature_weights(name), own, atol=1e-10)


class TestErrors:
    def test_other_kernels_name_the_permutation_importance(self):
        model = MKLRegressor([Gaussian("rna"), Linear("protein")]).fit(X, TARGET)
        with pytest.raises(ValueError, match=r"'rna' \(Gaussian\) is not linear.*model_selection\.view_importance"):
            model.feature_weights("rna")

    @pytest.mark.parametrize(
        "combiner", [Localized(l2=0.01), Product(), Projected(1, Softmax()), PolynomialMKL(tau=0.5)]
    )
    def test_other_combiners(self, combiner):
        model = MKLRegressor(KERNELS, combiner, random_state=0).fit(X, TARGET)
        with pytest.raises(ValueError, match=r"no single vector.*contributions.*model_selection\.view_importance"):
            model.feature_weights("rna")

    def test_unknown_names(self):
        model = MKLRegressor(KERNELS).fit(X, TARGET)
        with pytest.raises(ValueError, match=r"named 'dna'; the kernels are \['rna', 'protein', 'years'\]"):
            model.feature_weights("dna")

    def test_before_fit(self):
        with pytest.raises(NotFittedError):
            MKLRegressor(KERNELS).feature_weights("rna")


def test_weights_of_both_signs():
    model = MKLClassifier(KERNELS, LinearMKL(), normalize=None).fit(X[::2], LABELS[::2] > "mid")
    assert_allclose(X @ model.coef_[0] + model.intercept_, model.decision_function(X), rtol=0, atol=1e-10)


def test_saved_models(tmp_path):
    for kernels, combiner, normalize in ((KERNELS, LpMKL(), None), (KERNELS, Projected(1), "unit-trace")):
        model = MKLClassifier(kernels, combiner, normalize=normalize, random_state=0).fit(X, LABELS)
        save(model, tmp_path / "model")
        again = load(tmp_path / "model")
        assert_array_equal(again.coef_, model.coef_)
        pd.testing.assert_frame_equal(again.feature_weights("years"), model.feature_weights("years"))


def test_a_model_without_support_vectors():
    model = MKLRegressor(KERNELS, normalize=None, epsilon=100.0).fit(X, TARGET)
    assert len(model.support_) == 0 and (model.feature_weights("rna") == 0.0).all()
    assert_allclose(X @ model.coef_[0] + model.intercept_, model.predict(X))


def test_precomputed_kernels_are_not_linear_in_columns():
    ids = np.arange(50.0)[:, None]
    model = MKLRegressor([Precomputed(X.to_numpy() @ X.to_numpy().T)], normalize=None).fit(ids, TARGET)
    assert not hasattr(model, "coef_")


class TestTransformers:
    def test_scaled_columns(self):
        kernels = [Linear("rna", transformer=StandardScaler()), Linear("protein")]
        model = MKLRegressor(kernels, normalize=None).fit(X, TARGET)
        weights = model.feature_weights("rna")
        assert list(weights.index) == model.kernels_[0].feature_names() == ["a", "b", "c"]
        scaled = StandardScaler().fit_transform(X[COLUMNS[:3]])
        assert_allclose(scaled @ weights, model.contributions(X)["rna"], rtol=0, atol=1e-10)
        assert not hasattr(model, "coef_")

    def test_words_and_categories(self):
        texts = [" ".join(rng.choice(["tall", "oak", "old", "elm"], 3)) for _ in range(50)]
        table = X.assign(notes=texts, clinical__sex=rng.choice(["f", "m"], 50), clinical__age=X["age"])
        table.iloc[::5, table.columns.get_loc("notes")] = None
        mixed = make_column_transformer((OneHotEncoder(), ["clinical__sex"]), remainder="passthrough")
        kernels = [Linear("notes", transformer=TfidfVectorizer()), Linear("clinical", transformer=mixed), Linear("rna")]
        model = MKLClassifier(kernels, LpMKL()).fit(table, LABELS)
        words = model.feature_weights("notes")
        assert list(words.index) == ["elm", "oak", "old", "tall"] and list(words) == list(model.classes_)
        there = table["notes"].notna()
        tfidf = TfidfVectorizer().fit_transform(table["notes"][there])
        parts = model.contributions(table[there]).xs("notes", axis=1, level="kernel")
        assert_allclose(tfidf @ words.to_numpy(), parts, rtol=0, atol=1e-10)
        clinical = model.feature_weights("clinical")
        assert len(clinical) == 3 and clinical.index[0].endswith("sex_f")


def test_several_targets():
    Y = pd.DataFrame({"mass": TARGET, "height": TARGET**2 - X["age"]})
    for options in ({}, {"weights": "per-target"}, {"machine": "least-squares"}):
        model = MKLRegressor(KERNELS, LpMKL(), normalize=None, **options).fit(X, Y)
        parts = model.contributions(X)
        assert list(parts.columns.unique("output")) == ["mass", "height"]
        assert_allclose(parts.T.groupby(level="output", sort=False).sum().T, model.predict(X), rtol=0, atol=1e-10)
        assert list(model.feature_weights("protein")) == ["mass", "height"]
        assert model.coef_.shape == (2, 6)
        assert_allclose(X @ model.coef_.T + model.intercept_, model.predict(X), rtol=0, atol=1e-10)
    one = MKLRegressor(KERNELS, normalize=None).fit(X, Y[["mass"]])
    assert list(one.contributions(X)) == ["rna", "protein", "years", "intercept"]
    assert_allclose(X @ one.coef_.T + one.intercept_, one.predict(X), rtol=0, atol=1e-10)


SCALED = StandardScaler()
COMPONENTS = [  # what stands before the components, and these
    (SCALED, PCA(2)),
    (SCALED, PCA(2, whiten=True)),
    (SCALED, TruncatedSVD(2, random_state=0)),
    (SCALED, FewComponents(2)),
    ("passthrough", PCA(1)),
    (FunctionTransformer(np.arctan), make_pipeline(PCA(3), make_pipeline(TruncatedSVD(2, random_state=0)))),
    (make_column_transformer((SCALED, ["c", "a"]), ("passthrough", ["b"])), PCA(2)),
]


@pytest.mark.parametrize("normalize", [None, "unit-diagonal", "unit-trace", "center"])
@pytest.mark.parametrize(("before", "components"), COMPONENTS, ids=str)
def test_weights_of_components_are_carried_back_to_columns(before, components, normalize, tmp_path):
    """The decision value is that of the weights and the prepared columns, up to what all samples share."""
    kernel = Linear("rna", transformer=Pipeline([("before", before), ("components", components)]))
    model = MKLClassifier([kernel], normalize=normalize, C=10.0).fit(X, TARGET > 0)
    weights, fitted = model.feature_weights("rna"), model.kernels_[0].transformer_
    by_columns = ["standardscaler__c", "standardscaler__a", "passthrough__b"]
    assert weights.index.tolist() == (by_columns if hasattr(before, "transformers") else ["a", "b", "c"])
    rna = X[COLUMNS[:3]].set_axis(["a", "b", "c"], axis=1)
    part = np.asarray(fitted[:-1].transform(rna)) @ weights.to_numpy()
    own = model.contributions(X)["rna"].to_numpy()
    if normalize == "unit-diagonal":
        own = own * np.linalg.norm(fitted.transform(rna), axis=1)
    assert_allclose(part - part.mean(), own - own.mean(), atol=1e-8)
    save(model, tmp_path / "model.kw")
    pd.testing.assert_series_equal(load(tmp_path / "model.kw").feature_weights("rna"), weights)


def test_components_of_some_columns_of_several_classes():
    """Other parts of a transformer by columns keep their names; a step behind components keeps those of components."""
    transformer = make_column_transformer((PCA(1), ["a", "b"]), (SCALED, ["c"]))
    model = MKLClassifier([Linear("rna", transformer=transformer)]).fit(X, LABELS)
    assert model.feature_weights("rna").index.tolist() == ["pca__a", "pca__b", "standardscaler__c"]
    assert model.feature_weights("rna").columns.tolist() == ["low", "mid", "top", "upper"]
    scaled = MKLClassifier([Linear("rna", transformer=make_pipeline(PCA(2), SCALED))]).fit(X, LABELS)
    assert scaled.feature_weights("rna").index.tolist() == ["pca0", "pca1"]


def test_projections_of_components_are_by_column():
    transformer = make_pipeline(SCALED, PCA(2))
    model = MKLClassifier([Linear("rna", transformer=transformer)], Projected(1), random_state=0).fit(X, TARGET > 0)
    (W,) = model.projections_.values()
    assert W.index.tolist() == model.feature_importance_["rna"].index.tolist() == ["a", "b", "c"]
    fitted = model.kernels_[0].transformer_
    z = fitted.transform(X[COLUMNS[:3]].set_axis(["a", "b", "c"], axis=1))
    columns = fitted[0].transform(X[COLUMNS[:3]].set_axis(["a", "b", "c"], axis=1))
    expected = (columns @ W.to_numpy())[:, 0] / np.linalg.norm(z, axis=1)
    assert_allclose(model.project(X).to_numpy()[:, 0], expected, atol=1e-8)
