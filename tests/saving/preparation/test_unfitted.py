"""Transformers as class and parameters, there and back."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from kernelweave.saving.codecs import Decoder, Encoder
from kernelweave.saving.transformers import TRANSFORMERS, built, described, transformer_named

SCALER = StandardScaler()
GIVEN = [
    StandardScaler(with_mean=False),
    MinMaxScaler((-1, np.float64(2.5)), clip=True),
    SimpleImputer(missing_values=None, strategy="constant", fill_value="none"),
    SimpleImputer(missing_values=-1, add_indicator=True),
    OneHotEncoder(categories=[["a", "b"], np.array([1.0, np.nan])], dtype=np.float32, drop=["a", 1.0]),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, dtype=int),
    CountVectorizer(vocabulary={"b": 0, "a": 1}, ngram_range=(1, 3), stop_words=["the"]),
    TfidfVectorizer(stop_words="english", sublinear_tf=True, dtype=np.dtype("float32")),
    PCA(0.9, whiten=True, random_state=3),
    Pipeline([("a", StandardScaler()), ("b", "passthrough"), ("c", None), ("d", make_pipeline(PCA(1)))]),
    make_column_transformer(
        (SCALER, ["a", "b"]),
        (SCALER, slice(1, None)),
        (OneHotEncoder(), make_column_selector("^x", dtype_include=[np.number, object, "category"])),
        (PCA(), make_column_selector(dtype_exclude=float)),
        (TfidfVectorizer(), "text"),
        ("drop", [0, 2]),
        ("passthrough", np.array([True, False])),
        (StandardScaler(), pd.Index(["u", "v"])),
        remainder=MinMaxScaler(),
        verbose_feature_names_out="{feature_name}",
    ),
    ColumnTransformer([("a", "passthrough", range(3))], transformer_weights={"a": 2.0}),
    FunctionTransformer(accept_sparse=True),
    FunctionTransformer(np.log1p, np.expm1, check_inverse=False),
    make_pipeline(FunctionTransformer(inverse_func=np.sqrt), StandardScaler()),
    make_pipeline(StandardScaler(), PCA(2)).set_output(transform="pandas"),
]


def again(transformer):
    """Through the rows of a file."""
    encoder = Encoder(lambda value: value)
    encoder.value(described(transformer, "kernel 'rna': transformer", {}), "model")
    return Decoder(encoder.arrays, encoder.callables, {}).model(encoder.rows), encoder.rows


def shown(value):
    """Without the places of selectors in memory."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


def test_selectors():
    first, second = (again(GIVEN[10])[0].transformers[place][2] for place in (2, 3))
    assert vars(first) == vars(GIVEN[10].transformers[2][2]) and vars(second) == vars(GIVEN[10].transformers[3][2])


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: type(given).__name__)
def test_there_and_back(given):
    found, rows = again(given)
    assert type(found) is type(given) and shown(found) == shown(given)
    assert shown(clone(found).get_params()) == shown(given.get_params())
    assert vars(found).get("_sklearn_output_config") == vars(given).get("_sklearn_output_config")
    assert again(found)[1] == rows


def test_defaults_are_not_written():
    assert again(TfidfVectorizer(token_pattern=r"(?u)\b\w\w+\b"))[1] == [
        {"kind": "transformer", "class": "TfidfVectorizer", "fields": {}}
    ]


def test_what_is_used_twice_is_described_once():
    found, rows = again(GIVEN[10])
    assert found.transformers[0][1] is found.transformers[1][1]
    assert [row["class"] for row in rows if row["kind"] == "transformer"].count("StandardScaler") == 2


def test_a_fitted_transformer_is_described_by_its_parameters():
    found, _ = again(StandardScaler(with_std=False).fit([[1.0], [2.0]]))
    assert vars(found) == vars(StandardScaler(with_std=False))


def test_a_set_of_terms_becomes_a_list():
    assert again(CountVectorizer(vocabulary={"b", "a"}))[0].vocabulary == ["a", "b"]


class OwnScaler(StandardScaler):
    pass


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            OwnScaler(),
            "transformer is OwnScaler, which a saved model cannot hold; pickle the model instead, or prepare",
        ),
        (make_pipeline(StandardScaler(), SelectKBest()), "transformer step 'selectkbest' is SelectKBest, which"),
        (make_column_transformer((SelectKBest(), [0])), "transformer part 'selectkbest' is SelectKBest, which"),
        (
            make_column_transformer((PCA(), [0]), remainder=OwnScaler()),
            "transformer part 'remainder' is OwnScaler, which",
        ),
        (
            make_column_transformer((PCA(), lambda X: [0])),
            "transformer is ColumnTransformer with a function as columns",
        ),
        (FunctionTransformer(np.cumsum), "transformer is FunctionTransformer with a function as func, which"),
        (FunctionTransformer(np.add), "transformer is FunctionTransformer with a function as func, which"),
        (TfidfVectorizer(tokenizer=np.log1p), "transformer is TfidfVectorizer with a function as tokenizer, which"),
        (TfidfVectorizer(tokenizer=str.split), "transformer is TfidfVectorizer with a function as tokenizer, which"),
        (PCA(random_state=np.random.RandomState(0)), "model.random_state is a random number generator"),
        (SimpleImputer(missing_values=pd.NA), "model.missing_values is of the class NAType"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_refused(given, message):
    with pytest.raises(ValueError) as caught:
        again(given)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["add", "load", "os.system", "LOG1P", "", 1.5, None, True])
@pytest.mark.parametrize("parameter", ["func", "inverse_func"])
def test_forged_names_of_functions(parameter, name):
    _, rows = again(FunctionTransformer(np.log1p, np.expm1))
    rows[0]["fields"][parameter] = name
    with pytest.raises(ValueError, match="FunctionTransformer of the unknown function"):
        Decoder({}, {}, {}).model(rows)


def test_requests_of_metadata_are_refused():
    with config_context(enable_metadata_routing=True):
        given = StandardScaler().set_fit_request(sample_weight=True)
    with pytest.raises(ValueError, match="transformer is StandardScaler with requests of metadata, which a saved"):
        again(given)


@pytest.mark.parametrize(
    ("name", "parameters", "output", "message"),
    [
        ("SelectKBest", {}, None, "unknown class 'SelectKBest'"),
        (["StandardScaler"], {}, None, "unknown class"),
        ("StandardScaler", {"mean_": 0.0}, None, "gives a StandardScaler the parameter 'mean_', which this version"),
        ("Pipeline", {"steps": 3}, None, "a Pipeline of other things than steps"),
        ("Pipeline", {"steps": [("a", 3)]}, None, "a Pipeline of other things than steps"),
        ("Pipeline", {"steps": [("a", make_column_selector())]}, None, "a Pipeline of other things than steps"),
        ("ColumnTransformer", {"transformers": [("a", PCA())]}, None, "of other things than groups of columns"),
        ("ColumnTransformer", {"transformers": [], "remainder": 3}, None, "whose remainder is no transformer"),
        ("PCA", {}, "paper", "a PCA with the output 'paper'"),
        ("make_column_selector", {}, "pandas", "a make_column_selector with the output 'pandas'"),
    ],
)
def test_forged_descriptions(name, parameters, output, message):
    with pytest.raises(ValueError, match=message):
        built(name, parameters, output)


def test_every_class_has_parameters_with_plain_names():
    for name in TRANSFORMERS:
        cls = transformer_named(name)
        assert name == cls.__name__
        if name not in ("Pipeline", "ColumnTransformer"):
            assert type(built(name, {}, None)) is cls
