"""Kernels that prepare tables of people: mixed columns, documents, sparse views, searches, messages and files."""

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from kernelweave import MKLClassifier, MKLRegressor, load, save
from kernelweave.combiners import Localized, Projected
from kernelweave.estimators import SparseLargeMarginClassifier
from kernelweave.estimators.reuse import SharedFoldKernels
from kernelweave.kernels import Gaussian, Linear
from kernelweave.kernels.arithmetic import KernelSheet
from kernelweave.model_selection import ResponseSurfaceSearchCV
from kernelweave.views.frames import SparseRows
from preparation_problem import KERNELS, MISSING, N_TRAIN, NUMBERS, VALUES, N, X, Y, rng, with_scalers

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*this model is not localized", "ignore:KernelDifference", "ignore::sklearn.exceptions.ConvergenceWarning"
)


CLINICAL = pd.DataFrame(
    {
        "clinical__age": rng.integers(20, 80, N).astype(float),
        "clinical__sex": pd.Categorical(rng.choice(["f", "m"], N)),
        "clinical__site": rng.choice(["north", "south", "west"], N),
        "clinical__smoker": pd.array(rng.integers(0, 2, N), dtype="Int64"),
        "clinical__seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), unit="D"),
        "notes__text": [" ".join(rng.choice(["tall", "small", "oak", "fir", "ash"], 5)) for _ in range(N)],
    }
)
GAPS = CLINICAL.copy()
GAPS.loc[[1, 7, 39], "clinical__age"] = np.nan
GAPS.loc[[2, 41], "clinical__sex"] = np.nan
GAPS.loc[[3, 5, 42], "clinical__site"] = None
GAPS.loc[[4, 43], "clinical__smoker"] = pd.NA
GAPS.loc[6, "clinical__seen"] = pd.NaT
GAPS.loc[[9, 44], [name for name in GAPS if name.startswith("clinical")]] = None
GAPS.loc[[10, 45], "notes__text"] = None


def days(frame):
    """Days since a date, of a frame of dates."""
    return pd.DataFrame({name: (frame[name] - pd.Timestamp("2020-01-01")).dt.days for name in frame})


def clinical(prefix=""):
    """A transformer of all columns of the clinical view."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    texts = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    dates = make_pipeline(FunctionTransformer(days, feature_names_out="one-to-one"), SimpleImputer(), StandardScaler())
    return make_column_transformer(
        (numbers, [f"{prefix}age", f"{prefix}smoker"]),
        (texts, [f"{prefix}sex", f"{prefix}site"]),
        (dates, [f"{prefix}seen"]),
    )


@pytest.mark.parametrize("prefix", ["", "clinical__"])
@pytest.mark.parametrize("frame", [CLINICAL, GAPS], ids=["whole", "gaps"])
def test_a_clinical_table(frame, prefix):
    own = frame[[name for name in frame if name.startswith("clinical")]]
    text = own["clinical__site"].astype(object)
    own = own.assign(clinical__site=text.where(text.notna(), np.nan))  # scikit-learn does not impute None
    whole = ~own.isna().all(axis=1).to_numpy()
    train = np.arange(N) < N_TRAIN
    by_hand = clinical("clinical__").fit(own[whole & train])
    values = np.full((N, len(by_hand.get_feature_names_out())), np.nan)
    values[whole] = by_hand.transform(own[whole])
    given = pd.DataFrame(values).add_prefix("clinical__").assign(b__0=VALUES[:, 0])
    expected = MKLClassifier([Gaussian("clinical"), Linear("b")]).fit(given[train], Y[train]).decision_function(given)
    table = frame.assign(b__0=VALUES[:, 0])
    model = MKLClassifier([Gaussian("clinical", transformer=clinical(prefix)), Linear("b")])
    model.fit(table[train], Y[train])
    assert_allclose(model.decision_function(table), expected, atol=1e-10)
    assert_allclose(pickle.loads(pickle.dumps(model)).decision_function(table), expected, atol=1e-10)
    names = [name.replace("clinical__", "") for name in by_hand.get_feature_names_out()]
    assert [name.replace("clinical__", "") for name in model.kernels_[0].feature_names(table.columns)] == names


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(handle_unknown="ignore"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
    ],
)
def test_support_vectors_are_encoded_as_training_samples_are(encoder):
    """Categories, text and missing cells: what prediction keeps of them is encoded as it was in the fit."""
    gaps = GAPS[:36].assign(b__0=VALUES[:36, 0])
    model = MKLClassifier([Gaussian(["clinical__sex", "clinical__site"], transformer=encoder), Linear("b")])
    model.fit(gaps, Y[:36])
    kernel, support = model.kernels_[0], model.support_
    fitted, _ = kernel.read(model._kernel.stack.support)
    table = GAPS[["clinical__sex", "clinical__site"]]
    known = ~table.iloc[support].isna().all(axis=1).to_numpy()
    expected = clone(encoder).fit_transform(table[:36].dropna(how="all").where(lambda part: part.notna(), np.nan))
    expected = expected.toarray() if sp.issparse(expected) else expected
    places = np.cumsum(~table[:36].isna().all(axis=1).to_numpy())[support] - 1
    fitted = fitted.toarray() if sp.issparse(fitted) else fitted
    assert_allclose(fitted[known], expected[places][known])


@pytest.mark.parametrize("vectorizer", [TfidfVectorizer(), make_pipeline(CountVectorizer(), TruncatedSVD(2))])
def test_documents(vectorizer):
    if not isinstance(vectorizer, TfidfVectorizer):
        vectorizer.set_params(truncatedsvd__random_state=0)
    words = GAPS["notes__text"].to_numpy()
    there = ~GAPS["notes__text"].isna().to_numpy()
    train = np.arange(N) < N_TRAIN
    by_hand = clone(vectorizer).fit(words[there & train])
    values = np.zeros((N, by_hand.transform(words[:1]).shape[1]))
    found = by_hand.transform(words[there])
    values[there] = found.toarray() if sp.issparse(found) else found
    values[~there] = np.nan
    given = pd.DataFrame(values).add_prefix("notes__").assign(b__0=VALUES[:, 0])
    expected = MKLClassifier([Linear("notes"), Linear("b")]).fit(given[train], Y[train]).decision_function(given)
    table = GAPS[["notes__text"]].assign(b__0=VALUES[:, 0])
    model = MKLClassifier([Linear("notes", transformer=vectorizer), Linear("b")]).fit(table[train], Y[train])
    assert_allclose(model.decision_function(table), expected, atol=1e-10)


def test_gates_beside_documents():
    table = CLINICAL[["notes__text"]].assign(b__0=VALUES[:, 0], b__1=VALUES[:, 1])
    kernels = [Linear("notes", transformer=TfidfVectorizer()), Gaussian("b", transformer=StandardScaler())]
    wide = [Linear("notes", transformer=HashingVectorizer()), Linear("b")]
    with pytest.raises(ValueError, match="gating input 'notes' is sparse"):
        MKLClassifier(wide, Localized()).fit(table, Y)
    model = MKLClassifier(wide, Localized(inputs=["b"], l2=0.01), random_state=0).fit(table, Y)
    assert model.predict(table).shape == (N,)
    for scaling in ("unit-mean", None):
        model = MKLClassifier(kernels, Localized(scaling=scaling, l2=0.01), random_state=0).fit(table, Y)
        assert model.gating_coef_.index.tolist()[:2] == ["notes: ash", "notes: fir"]
        assert model.gating_coef_.index.tolist()[-2:] == ["b: 0", "b: 1"]
        assert model.predict(table).shape == (N,)
    model = MKLClassifier(kernels, Projected(1), random_state=0).fit(table, Y)
    assert model.projections_["notes"].index.tolist() == ["ash", "fir", "oak", "small", "tall"]
    assert model.predict(table).shape == (N,)


def test_sparse_samples():
    S = sp.csr_matrix(sp.random(N, 8, 0.5, random_state=0).toarray() + np.eye(8)[0])
    svd = TruncatedSVD(2, random_state=0)
    model = MKLClassifier([Linear([0, 1, 2], transformer=MaxAbsScaler()), Gaussian(slice(3, 8), transformer=svd)])
    model.fit(S[:36], Y[:36])
    D = S.toarray()
    first = MaxAbsScaler().fit(D[:36, :3]).transform(D[:, :3])
    second = TruncatedSVD(2, random_state=0).fit(S[:36, 3:]).transform(S[:, 3:])
    both = np.hstack([first, second])
    expected = MKLClassifier([Linear([0, 1, 2]), Gaussian([3, 4])]).fit(both[:36], Y[:36]).decision_function(both)
    assert_allclose(model.decision_function(S), expected, atol=1e-9)
    assert_allclose(model.decision_function(D), expected, atol=1e-9)


@pytest.mark.parametrize("unit", ["ns", "us"])
def test_sparse_views_beside_others(unit, tmp_path):
    """Columns beside sparse ones are handed over with the types that they have alone."""
    table = GAPS.assign(clinical__seen=GAPS["clinical__seen"].astype(f"datetime64[{unit}]"), b__0=VALUES[:, 0])
    counts = sp.random(N, 6, 0.6, "csr", random_state=0)
    sparse = pd.DataFrame({"counts": SparseRows(counts, present=np.arange(N) != 4)}, index=table.index)
    both = pd.concat([sparse, table], axis=1)
    kernels = [Gaussian("clinical", transformer=clinical()), Linear("b")]
    expected = MKLClassifier(kernels).fit(table[:36], Y[:36]).decision_function(table)
    assert_allclose(MKLClassifier(kernels).fit(both[:36], Y[:36]).decision_function(both), expected, atol=1e-12)
    kernels = [
        Linear("counts", transformer=MaxAbsScaler()),
        Linear("b"),
        Linear("notes", transformer=TfidfVectorizer()),
    ]
    model = MKLClassifier(kernels).fit(both[:36], Y[:36])
    there = np.arange(36) != 4
    assert_allclose(model.kernels_[0].transformer_.max_abs_, counts[:36][there].max(axis=0).toarray().ravel())
    assert model.kernels_[0].feature_names() == [str(place) for place in range(6)]
    found = model.decision_function(both)
    assert_allclose(pickle.loads(pickle.dumps(model)).decision_function(both), found, atol=1e-12)
    save(model, tmp_path / "model")
    assert_allclose(load(tmp_path / "model").decision_function(both), found, atol=1e-12)


def test_missing_cells_of_sparse_samples():
    D = np.where(rng.random((N, 5)) < 0.5, 0.0, rng.normal(size=(N, 5))) + np.eye(5)[0]
    D[3, 1] = D[40, 2] = np.nan
    prepare = make_pipeline(SimpleImputer(), MaxAbsScaler())
    model = MKLClassifier([Linear(transformer=prepare)]).fit(sp.csr_matrix(D)[:36], Y[:36])
    filled = clone(prepare).fit(D[:36]).transform(D)
    expected = MKLClassifier([Linear()]).fit(filled[:36], Y[:36]).decision_function(filled)
    assert_allclose(model.decision_function(sp.csr_matrix(D)), expected, atol=1e-10)
    frame = pd.DataFrame({"s": SparseRows(sp.csr_matrix(D))})
    model = MKLClassifier([Linear("s", transformer=prepare)]).fit(frame[:36], Y[:36])
    assert_allclose(model.decision_function(frame), expected, atol=1e-10)


# Searches


def test_parameters_of_transformers():
    model = MKLClassifier([Linear("a", transformer=StandardScaler()), Linear("b")])
    assert model.get_params()["kernels__a__transformer__with_mean"] is True
    model.set_params(kernels__a__transformer__with_mean=False, kernels__b__transformer=PCA(1))
    model.set_params(kernels__b__transformer__whiten=True)
    assert model.kernels[0].transformer.with_mean is False and model.kernels[1].transformer.whiten is True
    other = clone(model)
    assert other.kernels[0].transformer is not model.kernels[0].transformer
    model.fit(X, Y)
    for name, kernel in zip(("a", "b"), model.kernels, strict=True):
        assert not vars(kernel.transformer).keys() & {"mean_", "components_", "n_features_in_"}, name
    assert set(vars(other.kernels[0])) == {"view", "transformer"}


def test_a_grid_search_is_a_search_over_pipelines():
    model = MKLClassifier([Linear("a", transformer=StandardScaler()), Gaussian("b", transformer=PCA(1))])
    grid = {"kernels__a__transformer": [None, StandardScaler()], "kernels__b__transformer__n_components": [1, 2]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, Y)
    assert len(search.cv_results_["params"]) == 4 and search.predict(X).shape == (N,)
    alone = MKLClassifier([Linear(transformer=StandardScaler())], C=0.3)
    pipeline = make_pipeline(StandardScaler(), MKLClassifier([Linear()], C=0.3))
    assert_allclose(cross_val_score(alone, X, Y, cv=5), cross_val_score(pipeline, X, Y, cv=5))


@pytest.mark.parametrize("transformer", [SelectKBest(f_regression, k=1), PLSRegression(1), StandardScaler()])
def test_shared_kernels_are_those_of_the_targets(transformer):
    y = NUMBERS
    model = MKLRegressor([("a", Gaussian(transformer=transformer)), ("b", Linear("b"))])
    train, test = np.arange(30), np.arange(30, N)
    shared = SharedFoldKernels(model, ["C"])
    parameters = shared.parameters([shared.of_fold(X, y, train, test)])
    for targets in (y[train], y[train][::-1]):
        expected = clone(model).fit(X.iloc[train], targets).predict(X.iloc[test])
        found = clone(model).set_params(**parameters).fit(X.iloc[train], targets)
        assert isinstance(found.kernels_[0], KernelSheet) == (targets is not None and np.array_equal(targets, y[train]))
        assert isinstance(found.kernels_[1], KernelSheet)
        assert_allclose(found.predict(X.iloc[test]), expected, atol=1e-10)
    changing = SharedFoldKernels(model, ["kernels__a__transformer", "C"]).of_fold(X, y, train, test)
    assert [sheet is None for _, _, sheet in changing] == [True, False]
    changing = SharedFoldKernels(model, ["kernels__a__transformer__k"]).of_fold(X, y, train, test)
    assert [sheet is None for _, _, sheet in changing] == [True, False]


def test_shared_kernels_of_weighted_samples():
    model = MKLClassifier([("a", Gaussian(transformer=SelectKBest(k=2)))])
    train, test, weight = np.arange(30), np.arange(30, N), np.r_[0.0, 0.0, np.linspace(0.1, 2.0, N - 2)]
    shared = SharedFoldKernels(model, ["C"])
    parameters = shared.parameters([shared.of_fold(X, Y, train, test, {"sample_weight": weight})])
    expected = clone(model).fit(X.iloc[train], Y[train], sample_weight=weight[train]).decision_function(X.iloc[test])
    found = clone(model).set_params(**parameters).fit(X.iloc[train], Y[train], sample_weight=weight[train])
    assert isinstance(found.kernels_[0], KernelSheet)
    assert_allclose(found.decision_function(X.iloc[test]), expected, atol=1e-10)


def test_a_surface_search_over_supervised_transformers():
    model = MKLClassifier([("a", Gaussian(transformer=SelectKBest(k=2))), ("b", Linear("b"))])
    results = [
        ResponseSurfaceSearchCV(model, ["C"], cv=3, max_iter=3, share_kernels=share).fit(X, Y).cv_results_
        for share in (False, True)
    ]
    assert_allclose(results[0]["mean_test_score"], results[1]["mean_test_score"])


# What goes wrong


def test_messages_name_the_transformer():
    frame = CLINICAL.assign(a__0=VALUES[:, 0])
    with pytest.raises(ValueError, match="'clinical__sex' has .*transformer=, such as OneHotEncoder"):
        MKLClassifier([Linear("clinical__sex")]).fit(frame, Y)
    with pytest.raises(ValueError, match=r"NaN in some of its columns.*transformer=, such as SimpleImputer\(\)"):
        MKLClassifier([Linear("a")]).fit(X.assign(a__0=np.where(np.arange(N) == 3, np.nan, 1.0)), Y)
    model = MKLClassifier([Linear("a", transformer=StandardScaler())])
    with pytest.raises(ValueError, match=r"StandardScaler of the kernel 'a' \(Linear\).*NaN; put SimpleImputer"):
        model.fit(X.assign(a__0=np.where(np.arange(N) == 3, np.nan, 1.0)), Y)
    assert not hasattr(model, "kernels_")
    strict = MKLClassifier([Linear("clinical__site", transformer=OneHotEncoder())]).fit(frame, Y)
    with pytest.raises(ValueError, match="OneHotEncoder of the kernel 'clinical_site'.*unknown categories"):
        strict.predict(frame.assign(clinical__site="east"))
    with pytest.raises(ValueError, match="VarianceThreshold .* fails: No feature"):
        MKLClassifier([Linear("a", transformer=VarianceThreshold(1e9))]).fit(X, Y)


@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
def test_new_samples_may_come_in_other_containers():
    model = MKLClassifier([Linear("a", transformer=StandardScaler())]).fit(X, Y)
    assert_allclose(model.decision_function(X.to_numpy()), model.decision_function(X))
    model = MKLClassifier([Linear([0, 1], transformer=StandardScaler())]).fit(X.to_numpy(), Y)
    assert_allclose(model.decision_function(X.astype("float32").astype(float)), model.decision_function(X), rtol=1e-4)
    whole = X.round().astype(int)
    model = MKLClassifier([Linear("a", transformer=StandardScaler())]).fit(whole, Y)
    assert_allclose(model.decision_function(whole.astype(float)), model.decision_function(whole))
    selected = make_column_transformer((StandardScaler(), make_column_selector(dtype_include=np.number)))
    model = MKLClassifier([Linear(transformer=selected)]).fit(CLINICAL[["clinical__age", "clinical__site"]], Y)
    assert model.kernels_[0].feature_names() == ["standardscaler__clinical__age"]


def test_no_sample_of_a_prediction_has_the_view():
    model = MKLClassifier([Linear("a", transformer=StandardScaler()), Linear("b")]).fit(MISSING, Y)
    assert np.isfinite(model.decision_function(MISSING.iloc[[3, 17]])).all()


def test_fetched_views_are_prepared():
    kernels = [Linear("b", transformer=StandardScaler()), Gaussian("clinical", transformer=clinical())]
    table = CLINICAL.assign(b__0=VALUES[:, 0], b__1=VALUES[:, 1])
    model = MKLClassifier(kernels, Localized(inputs=["b"], l2=0.01), random_state=0).fit(table, Y)
    own = [name for name in table if name.startswith("clinical")]
    lacking = table.copy()
    lacking.loc[:, own] = lacking[own].mask(np.ones((N, len(own)), dtype=bool))
    asked = []

    def fetch(view, rows):
        asked.extend(rows)
        return table[own].iloc[rows]

    assert_allclose(model.decision_function(lacking, fetch=fetch), model.decision_function(table), atol=1e-10)
    assert asked
    partly = table.copy()
    partly.loc[5, "clinical__age"] = np.nan
    asked.clear()
    assert_allclose(model.decision_function(partly, fetch=fetch), model.decision_function(partly), atol=1e-10)
    assert not asked


def test_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "preparation.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    names = {}
    exec(compile(code, page.name, "exec"), names)
    search = names["search"]
    assert search.best_estimator_.kernels_[2].feature_names() == ["and", "fever", "no", "pain"]
    assert search.best_score_ == 1.0


def test_saved_gates_read_prepared_views(tmp_path):
    model = MKLClassifier(with_scalers(KERNELS), Localized(inputs=["a", "c"], l2=0.01), random_state=0).fit(X, Y)
    save(model, tmp_path / "model")
    assert_allclose(load(tmp_path / "model").decision_function(X), model.decision_function(X), atol=1e-12)
    points = SparseLargeMarginClassifier(2, Gaussian("a", transformer=StandardScaler()), random_state=0).fit(X, Y)
    save(points, tmp_path / "points")
    assert_allclose(load(tmp_path / "points").decision_function(X), points.decision_function(X), atol=1e-12)
