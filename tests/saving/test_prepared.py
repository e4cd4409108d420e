"""Models whose kernels prepare their views: what comes back, what is refused, and what forged files cannot do."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler

import saved_files
from forging import SavedModel
from kernelweave import MKLClassifier, load, save, stack_views
from kernelweave.combiners import FixedWeights
from kernelweave.kernels import Gaussian, Linear, Polynomial, ViewKernel
from kernelweave.saving import models
from kernelweave.saving.documents import CountTermsOperation
from kernelweave.saving.operations import (
    ChainOperation,
    FunctionOperation,
    KeepOperation,
    OneHotOperation,
    Operation,
    RotateOperation,
    ScaleOperation,
)
from saved_builders import TWO, A, N
from saved_models import MODELS, callables_of

rng = np.random.default_rng(1)
WORDS = ["good", "bad", "day", "night", "ß"]
FRAME = pd.DataFrame(
    {
        "rna__a": rng.normal(size=N),
        "rna__b": 100.0 * rng.normal(size=N),
        "notes": [" ".join(rng.choice(WORDS, 4)) for _ in range(N)],
        "clinical__age": np.where(np.arange(N) % 5 == 0, np.nan, rng.integers(20, 90, N)),
        "clinical__stage": pd.Categorical(rng.choice(["I", "II", "III"], N)),
        "clinical__visits": pd.array(rng.integers(0, 9, N), dtype="Int64"),
        "clinical__smoker": rng.choice([True, False], N),
        "clinical__ward": np.where(np.arange(N) % 7 == 0, None, rng.choice(["north", "south"], N)),
    }
)
FRAME.loc[3, "clinical__visits"] = pd.NA
FRAME.loc[[4, 9], ["rna__a", "rna__b"]] = np.nan
FRAME.loc[[5], "notes"] = None
CLINICAL = make_column_transformer(
    (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age", "visits"]),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=[np.number, bool])),
    remainder="passthrough",
)
KERNELS = [
    Linear("rna", transformer=StandardScaler()),
    Linear("notes", transformer=TfidfVectorizer()),
    Gaussian("clinical", transformer=CLINICAL),
]
NEW = FRAME.iloc[::-1].assign(clinical__ward="west", notes=[f"{word} unseen" for word in (WORDS * 5)[:N]])


@pytest.fixture
def again(tmp_path):
    """Save a model and load it."""

    def through_file(model):
        save(model, tmp_path / "model")
        loaded = load(tmp_path / "model")
        save(loaded, tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
        return loaded

    return through_file


def shown(model):
    """Without the places of selectors in memory."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(model))


def test_a_frame_of_all_kinds_of_columns(again):
    model = MKLClassifier(KERNELS).fit(FRAME, TWO)
    loaded = again(model)
    for X in (FRAME, NEW, NEW.astype({"clinical__stage": object}), NEW.iloc[:1]):
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    for before, after in zip(model.kernels_, loaded.kernels_, strict=True):
        assert isinstance(after.transformer_, Operation)
        assert after.feature_names() == before.feature_names()
        assert after.transformer_.get_feature_names_out().tolist() == list(before.transformer_.get_feature_names_out())


@pytest.mark.parametrize("dtype", ["category", "str", object])
def test_one_column_of_categories_with_gaps(again, dtype):
    fill = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder(handle_unknown="ignore"))
    parts = make_column_transformer((SimpleImputer(), ["age"]), (fill, ["ward"]))
    frame = FRAME.astype({"clinical__ward": dtype})
    model = MKLClassifier([Gaussian("clinical", transformer=parts), Linear("rna")]).fit(frame, TWO)
    new = FRAME.assign(clinical__ward=(["north", None, "east"] * N)[:N]).astype({"clinical__ward": dtype})
    np.testing.assert_array_equal(again(model).decision_function(new), model.decision_function(new))


def test_documents_behind_a_step_that_does_nothing(again):
    transformer = make_pipeline(FunctionTransformer(), TfidfVectorizer())
    model = MKLClassifier([Linear("notes", transformer=transformer), Linear("rna")]).fit(FRAME, TWO)
    np.testing.assert_array_equal(again(model).decision_function(NEW), model.decision_function(NEW))


def test_a_loaded_model_is_fitted_again_with_the_same_preparation(again):
    model = MKLClassifier(KERNELS).fit(FRAME.iloc[:18], TWO[:18])
    loaded = again(model)
    assert shown(loaded) == shown(model) and shown(clone(loaded)) == shown(model)
    assert loaded.get_params()["kernels__rna__transformer__with_mean"] is True
    expected = model.fit(FRAME, TWO).decision_function(NEW)
    for other in (clone(loaded), loaded.set_params(C=1.0), clone(again(loaded))):
        other.fit(FRAME, TWO)
        assert isinstance(other.kernels_[0].transformer_, StandardScaler)
        np.testing.assert_array_equal(other.decision_function(NEW), expected)
    changed = loaded.set_params(kernels__rna__transformer__with_mean=False).fit(FRAME, TWO)
    assert changed.kernels_[0].transformer_.mean_ is not None and not changed.kernels_[0].transformer_.with_mean


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("prepared")])
def test_models_of_all_kinds_are_fitted_again(name, again):
    model, new = MODELS[name]()
    loaded = clone(again(model))
    X, y = new[: len(TWO)], np.where(np.arange(11) % 2, "yes", "no")
    if name in ("prepared, regressor",):
        y = np.arange(11.0)
    loaded.fit(X, y)
    expected = model.fit(X, y)
    method = "decision_function" if hasattr(model, "decision_function") else "predict"
    method = method if hasattr(model, method) else "transform"
    np.testing.assert_array_equal(getattr(loaded, method)(new), getattr(expected, method)(new))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_tables_without_names(kind, again):
    X = kind(np.round(A, 1))
    kernels = [Linear([0, 1, 2], transformer=StandardScaler(with_mean=False)), Gaussian([3, 4], transformer=PCA(1))]
    model = MKLClassifier(kernels).fit(X, TWO)
    loaded = again(model)
    for new in (X, sp.csr_matrix(A), A, A[:1]):
        np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))
    assert loaded.kernels_[1].feature_names() == ["pca0"]


def test_sparse_views_beside_others(again):
    """As a CSR matrix, but as a data frame where the transformer mentions names; samples may lack the view."""
    genes = pd.DataFrame.sparse.from_spmatrix(
        sp.random(N, 9, 0.3, format="csr", random_state=0), columns=[f"g{k}" for k in range(9)]
    )
    dense = pd.DataFrame(A[:, :2], columns=["a", "b"]).assign(word=np.where(A[:, 0] > 0, "x", "y"))
    X = stack_views({"genes": genes.iloc[2:], "dense": dense.iloc[:-2]})
    kernels = [
        Linear("genes", transformer=MaxAbsScaler()),
        ("svd", Gaussian("genes", transformer=TruncatedSVD(2, random_state=0))),
        ("some", Linear("genes", transformer=make_column_transformer((StandardScaler(), ["g0", "g7"])))),
        Linear("dense", transformer=make_column_transformer((OneHotEncoder(), ["word"]), (PCA(1), ["a", "b"]))),
    ]
    model = MKLClassifier(kernels).fit(X, TWO)
    loaded = again(model)
    assert model.kernels_[0].sparse_ and not model.kernels_[2].sparse_
    assert [kernel.feature_names()[0] for kernel in loaded.kernels_[1:]] == [
        "truncatedsvd0",
        "standardscaler__g0",
        "onehotencoder__word_x",
    ]
    whole = stack_views({"genes": genes.sparse.to_dense(), "dense": dense}).loc[X.index]
    for new in (X, whole):
        np.testing.assert_array_equal(loaded.decision_function(new), model.decision_function(new))
    both = X.index.isin(range(2, N - 2))
    np.testing.assert_allclose(model.decision_function(whole)[both], model.decision_function(X)[both], atol=1e-12)


def test_results_keep_their_container(again):
    frame = FRAME.drop(index=[5])
    model = MKLClassifier([Linear("notes", transformer=CountVectorizer())]).fit(frame, TWO[frame.index])
    loaded = again(model)
    assert model.kernels_[0].sparse_ and loaded.kernels_[0].sparse_
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


def test_unknown_categories_are_named_as_before(again):
    frame = FRAME.dropna()
    kernel = Linear("clinical", transformer=make_column_transformer((OneHotEncoder(), ["ward"])))
    model = MKLClassifier([kernel]).fit(frame, TWO[frame.index])
    for fitted, name in ((model, " ColumnTransformer"), (again(model), "")):
        message = rf"^the transformer{name} of the kernel 'clinical'.*Found unknown categories \['west'\] in column 0"
        with pytest.raises(ValueError, match=message):
            fitted.predict(NEW.dropna())


def test_categories_that_are_numbers_in_a_new_table(again):
    frame = pd.DataFrame({"clinical__grade": np.resize(["1", "2", "X"], N), "clinical__age": A[:, 0]})
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["grade"]), remainder="passthrough")
    model = MKLClassifier([Gaussian("clinical", transformer=encoder)]).fit(frame, TWO)
    texts = frame.iloc[:2]
    for fitted in (model, again(model)):
        found = fitted.decision_function(texts.assign(clinical__grade=[1, 2]))
        np.testing.assert_array_equal(found, model.decision_function(texts))


def test_shared_transformers_are_shared_again(again):
    scaler = StandardScaler()
    loaded = again(MKLClassifier([Linear([0], transformer=scaler), Gaussian([1], transformer=scaler)]).fit(A, TWO))
    assert loaded.kernels[0].transformer is loaded.kernels[1].transformer


def test_a_kernel_without_weight_keeps_its_preparation(again):
    kernels = [Linear([0], transformer=StandardScaler()), Linear([1, 2], transformer=PCA(1))]
    model = MKLClassifier(kernels, FixedWeights([1.0, 0.0])).fit(A, TWO)
    loaded = again(model)
    np.testing.assert_array_equal(loaded.decision_function(A), model.decision_function(A))
    assert isinstance(loaded.kernels_[1].transformer_, Operation)


class Own(ViewKernel):
    def __init__(self, view=None, transformer=None):
        self.view = view
        self.transformer = transformer

    def cross_of(self, P, Q):
        return P @ Q.T


def test_kernels_of_users(tmp_path):
    model = MKLClassifier([Own([0, 1], transformer=StandardScaler())]).fit(A, TWO)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model", classes=[Own])
    np.testing.assert_array_equal(loaded.decision_function(A), model.decision_function(A))
    assert isinstance(loaded.kernels_[0].transformer_, ScaleOperation)


def test_files_from_before_there_were_transformers(tmp_path):
    saved_files.unpack("version-1", "binary", tmp_path / "old")
    assert b"transformer" not in (tmp_path / "old").read_bytes()
    loaded = load(tmp_path / "old", callables_of("binary"))
    for kernel in (*loaded.kernels, *loaded.kernels_):
        assert kernel.transformer is None and kernel.get_params()["transformer"] is None
    assert not hasattr(loaded.kernels_[0], "transformer_")


@pytest.mark.parametrize(
    ("transformer", "what"),
    [
        (SelectKBest(k=1), "kernel 'rna': transformer is SelectKBest"),
        (
            Pipeline([("scale", StandardScaler()), ("select", SelectKBest(k=1))]),
            "kernel 'rna': transformer step 'select' is SelectKBest",
        ),
        (
            make_column_transformer((make_pipeline(VarianceThreshold()), [0, 1])),
            "kernel 'rna': transformer part 'pipeline' step 'variancethreshold' is VarianceThreshold",
        ),
        (FunctionTransformer(np.cumsum), "kernel 'rna': transformer is FunctionTransformer with a function as func"),
    ],
)
def test_what_is_refused(tmp_path, transformer, what):
    (tmp_path / "model").write_bytes(b"before")
    X = pd.DataFrame(A[:, :2], columns=["rna__a", "rna__b"])
    model = MKLClassifier([Linear("rna", transformer=transformer)]).fit(X, TWO)
    message = f"^{re.escape(what)}, which a saved model cannot hold; pickle the model instead, or prepare that view"
    with pytest.raises(ValueError, match=message):
        save(model, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"before"


@pytest.fixture(scope="module")
def prepared_file(tmp_path_factory):
    """A saved model with preparations."""
    frame, path = FRAME.drop(index=[4, 5, 9]), tmp_path_factory.mktemp("prepared") / "model"
    save(MKLClassifier([*KERNELS, Polynomial("rna")]).fit(frame, TWO[frame.index]), path)
    return path


@pytest.fixture
def forge(prepared_file, tmp_path, monkeypatch):
    """Change one attribute of a saved model with preparations, and say what `load` says."""

    def attempt(kernel, path, value):
        with monkeypatch.context() as patch:
            patch.setattr(models.Decoder, "unpack", lambda decoder: None)
            loaded = load(prepared_file)
        owner = loaded.kernels_[kernel]
        *steps, name = path.split(".")
        for step in steps:
            owner = owner[int(step)] if step.isdigit() else getattr(owner, step)
        old = vars(owner).get(name)
        vars(owner)[name] = value(old) if callable(value) else value
        with monkeypatch.context() as patch:
            patch.setattr(models, "_SupportColumns", lambda model: lambda value: value)
            save(loaded, tmp_path / "forged")
        with pytest.raises(ValueError, match="^cannot load .*: its ") as caught:
            load(tmp_path / "forged")
        return str(caught.value).partition(": its ")[2]

    return attempt


WIDER = RotateOperation(np.ones((2, 3)), None, None, "pca")  # takes three columns and gives two
SCALE, TERMS = "preparation_.transformer", "preparation_.transformer.steps.0"
GROUPS = "preparation_.transformer.operation"
IMPUTER, FLAGS = f"{GROUPS}.operations.0.steps.0", f"{GROUPS}.operations.1"


@pytest.mark.parametrize(
    ("kernel", "path", "value", "message"),
    [
        (0, "preparation_", None, "preparation_ is a NoneType, which it never is"),
        (3, "transformer", StandardScaler(), "has a transformer that was not fitted, or the other way round"),
        (0, "preparation_.n_features", 3, "transformer has the length 2 where 3 .features. is expected"),
        (0, "preparation_.documents", True, "documents is True for an operation of the other kind"),
        (0, "preparation_.kind.names", ["a"], "kind.names has the length 1 where 2 .own. is expected"),
        (0, "preparation_.kind.is_frame", 1, "kind.is_frame is 1 where True or False is expected"),
        (0, "preparation_.kind.texts", [True], "kind.texts has the length 1 where 2 .own. is expected"),
        (0, "preparation_.kind.texts", [1, 0], r"kind.texts\[0\] is 1 where True or False is expected"),
        (0, "preparation_.transformer", KeepOperation(10**9), "transformer has the length 1000000000 where 2"),
        (0, "preparation_.transformer", FunctionOperation(2, "load"), "name is 'load', which is none of"),
        (0, "preparation_.transformer", WIDER, "transformer has the length 3 where 2 .own. is expected"),
        (2, "preparation_.transformer.names", ["a"], "operation has the length 5 where 1 .in. is expected"),
        (0, f"{SCALE}.center", lambda old: old[1:], "center has the length 1 where 2 .in. is expected"),
        (0, f"{SCALE}.center", lambda old: old.astype(int), "center is an array of int64, which it never is"),
        (0, f"{SCALE}.divisor", lambda old: 0.0 * old, "divisor holds 0"),
        (0, f"{SCALE}.divisor", lambda old: np.inf * old, "divisor holds NaN or infinity"),
        (0, f"{SCALE}.width", 3, "center has the length 2 where 3 .in. is expected"),
        (0, f"{SCALE}.limits", (0.0, "x"), r"limits\[1\] is 'x', which is no number"),
        (0, f"{SCALE}.more", 1, "has the attribute more, which a ScaleOperation never has"),
        (1, "preparation_.transformer.steps", lambda old: [], "steps are empty"),
        (1, "preparation_.transformer.steps", lambda old: old[::-1], r"steps\[1\]"),
        (1, f"{TERMS}.terms", lambda old: [*old, 5], r"terms\[\d+\] is 5 where text is expected"),
        (1, f"{TERMS}.terms", lambda old: old[1:], r"steps\[1\] has the length 4 where 3 .features. is expected"),
        (1, f"{TERMS}.token_pattern", r"(\w+)+x", "token_pattern is not trusted: the pattern"),
        (1, f"{TERMS}.token_pattern", None, "token_pattern is None where text is expected"),
        (1, f"{TERMS}.analyzer", "line", "analyzer is 'line', which is none of"),
        (1, f"{TERMS}.ngram_range", (1, 10**9), r"ngram_range\[1\] is 1000000000"),
        (1, f"{TERMS}.ngram_range", (3, 2), "counts nothing"),
        (1, f"{TERMS}.dtype", "object", "dtype is 'object', which is none of"),
        (1, f"{TERMS}.stop_words", "the", "stop_words is a str where a list is expected"),
        (1, "preparation_.transformer.steps.1.weights", lambda old: -old[1:], "weights has the length"),
        (1, "preparation_.transformer.steps.1.norm", "max", "norm is 'max', which is none of"),
        (2, f"{GROUPS}.columns", lambda old: [old[0] + 9, *old[1:]], "columns.* holds .* where numbers below 5"),
        (2, f"{GROUPS}.columns", lambda old: [old[0][:1], *old[1:]], r"columns\[0\] has the length 1 where 2"),
        (2, f"{GROUPS}.single", lambda old: [True, *old[1:]], r"single\[0\] is True for an operation of the other"),
        (2, f"{GROUPS}.names", lambda old: old[:-1], "has the length 3 where 2 .groups. is expected"),
        (2, f"{IMPUTER}.values", lambda old: old.astype(object), "values are of the type object, which is not for"),
        (2, f"{IMPUTER}.kept", lambda old: old + 5, "kept holds 6 where numbers below 2 .in. are expected"),
        (2, f"{IMPUTER}.marker", [1], "marker is a list, which is neither text nor a number"),
        (2, f"{IMPUTER}.kind", "text", "kind is 'text', which is none of"),
        (2, f"{FLAGS}.places", lambda old: [old[1], old[0]], r"places\[0\]"),
        (2, f"{FLAGS}.places", lambda old: [old[0] + 99, old[1]], "holds .* where numbers below .* .out. are expected"),
        (2, f"{FLAGS}.places", lambda old: old[:1], "places has the length 1 where 2 .in. is expected"),
        (2, f"{FLAGS}.categories", lambda old: [old[0][:0], old[1]], r"categories\[0\] is empty"),
        (2, f"{FLAGS}.categories", lambda old: [np.array([2.0, 1.0, 3.0]), old[1]], r"categories\[0\] are not sorted"),
        (2, f"{FLAGS}.owners", lambda old: 0 * old, r"places\[1\] are flags of another column"),
        (2, f"{FLAGS}.labels", lambda old: old[1:], "labels has the length .* where .* .out. is expected"),
        (2, f"{FLAGS}.unknown", lambda old: old - 5, "unknown holds -6, which is less than -1"),
    ],
)
def test_attributes_that_do_not_fit(forge, kernel, path, value, message):
    assert re.search(message, forge(kernel, path, value))


def test_documents_that_are_no_text(tmp_path):
    frame = FRAME.drop(index=[5])
    model = MKLClassifier([Linear("notes", transformer=CountVectorizer())]).fit(frame, TWO[frame.index])
    save(model, tmp_path / "model")
    file = SavedModel((tmp_path / "model").read_bytes())
    rows = file.document["rows"]
    (place,) = (k for k, row in enumerate(rows) if row["kind"] == "objects" and len(row["parts"]) > 10)
    parts = [rows[place]["parts"][0], *range(len(rows[place]["parts"]) - 1)]
    rows = [*rows[:place], {**rows[place], "parts": parts}, *rows[place + 1 :]]
    file.written(tmp_path / "forged", rows=rows)
    with pytest.raises(ValueError, match="kernel 'notes'.*document 0 is 0.*, which is no text"):
        load(tmp_path / "forged").predict(frame)


def test_unknown_transformers_are_not_made(tmp_path):
    save(MKLClassifier([Linear(transformer=StandardScaler())]).fit(A, TWO), tmp_path / "model")
    file = SavedModel((tmp_path / "model").read_bytes())
    for change, message in [
        ({"class": "SelectKBest"}, "a transformer of the unknown class 'SelectKBest'"),
        ({"class": "Linear"}, "a transformer of the unknown class 'Linear'"),
        ({"fields": {"func": 3}}, "gives a StandardScaler the parameter 'func'"),
        ({"output": "paper"}, "with the output 'paper'"),
    ]:
        rows = [{**row, **change} if row["kind"] == "transformer" else row for row in file.document["rows"]]
        file.written(tmp_path / "forged", rows=rows)
        with pytest.raises(ValueError, match=f"^cannot load .*{message}"):
            load(tmp_path / "forged")


def test_operations_show_their_widths_only():
    assert repr(KeepOperation(3)) == "KeepOperation(n_in=3, n_out=3)"
    chain = ChainOperation([KeepOperation(2), KeepOperation(2)])
    assert repr(chain) == "ChainOperation(n_in=2, n_out=2)" and not chain.takes_documents
    assert CountTermsOperation.takes_documents and not OneHotOperation.takes_documents


def test_the_last_category_may_be_missing(tmp_path):
    """Numbers of an encoder that has seen NaN, in which the categories of a file end."""
    table = pd.DataFrame({"kind": np.tile([1.0, 2.0, np.nan], 10), "x": np.linspace(0.0, 1.0, 30)})
    y = np.tile([0, 0, 1], 10)
    model = MKLClassifier([Linear(["kind", "x"], transformer=OneHotEncoder(handle_unknown="ignore"))]).fit(table, y)
    save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(load(tmp_path / "model.kw").predict(table), model.predict(table))
