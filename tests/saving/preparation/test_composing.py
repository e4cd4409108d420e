"""Projections, pipelines and column transformers, as scikit-learn composes them; what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import scipy.special
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from kernelweave.saving.operations import UFUNCS, FunctionOperation, KeepOperation, NamedOperation
from kernelweave.saving.transformers import as_operation
from prepared import check_operation

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 5))
NEW = rng.normal(size=(6, 5))
FRAME = pd.DataFrame(
    {
        "age": [30.0, np.nan, 50.0, 61.0],
        "dose": [1, 2, 3, 4],
        "city": ["Oslo", "Rome", None, "Rome"],
        "note": ["good day", "bad day", "", "day after day"],
        "flag": [True, False, True, True],
    }
)
OTHER = FRAME.iloc[[2, 0]].assign(city=["Bern", None], age=[np.nan, 7.0], note=["unseen words", "good"])


@pytest.mark.parametrize(
    "projection",
    [
        PCA(),
        PCA(2),
        PCA(3, whiten=True),
        PCA(0.9),
        PCA(2, svd_solver="randomized", random_state=0),
        PCA(2, svd_solver="covariance_eigh", whiten=True),
        TruncatedSVD(2, random_state=0),
    ],
    ids=str,
)
def test_projections(projection):
    check_operation(projection, X, NEW)
    check_operation(projection, pd.DataFrame(X, columns=list("abcde")))
    check_operation(projection, X.astype(np.float32))
    if not isinstance(projection, PCA) or projection.svd_solver == "covariance_eigh":
        check_operation(projection, sp.csr_matrix(X * (X > 0)), sp.csr_matrix(NEW))
    with pytest.raises(ValueError, match="NaN"):
        as_operation(projection, "the transformer", 5).transform(np.full((1, 5), np.nan))


def test_projections_without_variance():
    check_operation(PCA(2, whiten=True, svd_solver="covariance_eigh"), np.ones((4, 3)) * np.arange(4)[:, None])
    check_operation(PCA(1), X[:, :1])


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler(), PCA(2)],
        [SimpleImputer(add_indicator=True), StandardScaler(), Normalizer()],
        ["passthrough", MinMaxScaler(), None],
        [FunctionTransformer(feature_names_out="one-to-one"), StandardScaler()],
        [Pipeline([("inner", StandardScaler())]), PCA(1)],
        [OneHotEncoder(handle_unknown="ignore"), TruncatedSVD(2, random_state=0)],
    ],
    ids=str,
)
def test_pipelines(steps):
    pipeline = Pipeline([(f"step {place}", step) for place, step in enumerate(steps)])
    gaps = np.where(X > 1.5, np.nan, X) if isinstance(steps[0], SimpleImputer) else np.round(X)
    check_operation(pipeline, gaps, np.round(NEW))
    frame = pd.DataFrame(gaps, columns=list("abcde"))
    check_operation(pipeline, frame, frame.iloc[:3])


@pytest.mark.parametrize("name", UFUNCS)
def test_functions_of_numpy(name):
    """By name: the fitted transformer and its operation give the same for arrays, frames and inside pipelines."""
    given = FunctionTransformer(UFUNCS[name])
    with np.errstate(all="ignore"):
        check_operation(given, X, NEW, names=False)
        check_operation(given, pd.DataFrame(np.abs(X), columns=list("abcde")), names=False)
    operation = as_operation(given.fit(X), "the transformer", 5)
    assert (type(operation), operation.name) == (FunctionOperation, name)


def test_functions_of_numpy_among_others():
    check_operation(make_pipeline(FunctionTransformer(np.arctan), StandardScaler()), X, NEW, names=False)
    given = make_column_transformer((FunctionTransformer(np.log1p, np.expm1), ["dose"]), (StandardScaler(), ["age"]))
    check_operation(given, FRAME, OTHER, names=False)
    check_operation(FunctionTransformer(np.sqrt), sp.csr_matrix(np.abs(X)), names=False)
    with pytest.raises(ValueError, match="the table to prepare has 4 features where 5 features are expected"):
        as_operation(FunctionTransformer(np.exp).fit(X), "the transformer", 5).transform(X[:, :4])


def test_a_pipeline_that_does_nothing():
    operation = as_operation(Pipeline([("a", "passthrough")]).fit(X), "the transformer", 5)
    assert isinstance(operation, KeepOperation)
    np.testing.assert_array_equal(operation.transform(X), X)


COLUMNS = [
    make_column_transformer((StandardScaler(), ["age", "dose"]), (OneHotEncoder(handle_unknown="ignore"), ["city"])),
    make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "dose"]),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=[np.number, bool])),
        remainder="passthrough",
    ),
    make_column_transformer((TfidfVectorizer(), "note"), ("passthrough", ["dose"]), ("drop", ["city"])),
    make_column_transformer((CountVectorizer(), "note"), (StandardScaler(), ["dose"]), sparse_threshold=0.0),
    make_column_transformer((CountVectorizer(), 3), (StandardScaler(), slice(0, 2)), sparse_threshold=1.0),
    make_column_transformer(
        (StandardScaler(), [1, 0]), remainder=OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    ),
    make_column_transformer((StandardScaler(), ["dose"]), ("passthrough", []), verbose_feature_names_out=False),
    make_column_transformer((StandardScaler(), []), remainder="drop"),
    make_column_transformer(("passthrough", [False, True, False, False, True])),
    make_column_transformer(("passthrough", ["city", "age"])),
    ColumnTransformer(
        [("a", StandardScaler(), ["dose"]), ("b", OneHotEncoder(sparse_output=False), ["flag"])],
        transformer_weights={"a": 2.5},
    ),
    make_column_transformer(
        (make_column_transformer((StandardScaler(), ["age"]), ("passthrough", ["dose"])), ["dose", "age"]),
    ),
    make_pipeline(
        make_column_transformer((SimpleImputer(), ["age"]), remainder="drop", verbose_feature_names_out=False),
        StandardScaler(),
    ),
]


@pytest.mark.parametrize("given", COLUMNS, ids=range(len(COLUMNS)))
def test_column_transformers(given):
    check_operation(given, FRAME, OTHER)
    array = make_column_transformer((StandardScaler(), [3, 1]), (PCA(2), slice(0, 3)), remainder="passthrough")
    check_operation(array, X, NEW)
    check_operation(array, pd.DataFrame(X, columns=list("abcde")))


def test_column_transformers_of_sparse_tables():
    given = make_column_transformer((StandardScaler(with_mean=False), [0, 3]), remainder="passthrough")
    check_operation(given, sp.csr_matrix(X), sp.csr_matrix(NEW))


def test_names_come_once():
    operation = as_operation(COLUMNS[0].fit(FRAME), "the transformer", 5)
    assert isinstance(operation, NamedOperation) and operation.names == list(FRAME)
    assert not any(isinstance(part, NamedOperation) for part in operation.operation.operations)


class OwnScaler(StandardScaler):
    pass


def first(X):
    return X[:, :1]


@pytest.mark.parametrize(
    ("given", "where"),
    [
        (SelectKBest(k=2), "kernel 'rna': transformer is SelectKBest"),
        (OwnScaler(), "kernel 'rna': transformer is OwnScaler"),
        (VarianceThreshold(), "kernel 'rna': transformer is VarianceThreshold"),
        (FunctionTransformer(first), "kernel 'rna': transformer is FunctionTransformer with a function"),
        (FunctionTransformer(scipy.special.log1p), "kernel 'rna': transformer is FunctionTransformer with a function"),
        (FunctionTransformer(np.isnan), "kernel 'rna': transformer is FunctionTransformer with a function as func"),
        (
            FunctionTransformer(inverse_func=first),
            "kernel 'rna': transformer is FunctionTransformer with a function as inverse_func",
        ),
        (
            FunctionTransformer(np.exp, kw_args={"where": True}),
            "kernel 'rna': transformer is FunctionTransformer with kw_args for exp",
        ),
        (
            Pipeline([("scale", StandardScaler()), ("select", VarianceThreshold())]),
            "kernel 'rna': transformer step 'select' is VarianceThreshold",
        ),
        (
            ColumnTransformer([("num", make_pipeline(StandardScaler(), VarianceThreshold()), [0, 1])]),
            "kernel 'rna': transformer part 'num' step 'variancethreshold' is VarianceThreshold",
        ),
        (
            ColumnTransformer([("num", StandardScaler(), [0])], verbose_feature_names_out="{feature_name}"),
            "kernel 'rna': transformer is ColumnTransformer with a verbose_feature_names_out",
        ),
        (
            make_pipeline(OneHotEncoder(feature_name_combiner=lambda name, category: name)),
            "kernel 'rna': transformer step 'onehotencoder' is OneHotEncoder with a function as feature_name_combiner",
        ),
        (
            SimpleImputer(strategy=np.mean),
            "kernel 'rna': transformer is SimpleImputer with a function as strategy",
        ),
        (
            SimpleImputer(missing_values=pd.NA),
            "kernel 'rna': transformer is SimpleImputer with <NA> as missing_values",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_refused(given, where):
    given.fit(X, np.arange(20) % 2)
    with pytest.raises(ValueError) as caught:
        as_operation(given, "kernel 'rna': transformer", 5)
    message = str(caught.value)
    assert message.startswith(where) and message.endswith(
        ", which a saved model cannot hold; pickle the model instead, or prepare that view outside the model"
    )
