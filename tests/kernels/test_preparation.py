"""Kernels that prepare their view: what the transformer gets, what the kernel compares, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from kernelweave import stack_views
from kernelweave.kernels import (
    ChiSquared,
    Distance,
    Function,
    Gaussian,
    KernelStack,
    Laplacian,
    Linear,
    Pairwise,
    Polynomial,
)
from kernelweave.views import Views

rng = np.random.default_rng(0)
A = rng.normal(size=(20, 4)) * [1.0, 10.0, 100.0, 0.1] + 3.0
Y = np.where(A[:, 0] > 3.0, "ill", "well")
TEXT = pd.DataFrame({"notes": [" ".join(rng.choice(["tall", "small", "oak", "fir", "ash"], 4)) for _ in range(20)]})
MIXED = pd.DataFrame(
    {
        "clinical__age": rng.integers(20, 80, 20),
        "clinical__sex": pd.Categorical(rng.choice(["f", "m"], 20)),
        "clinical__site": rng.choice(["north", "south", "west"], 20),
        "rna__a": A[:, 0],
        "rna__b": A[:, 1],
    }
)


class Recorder(TransformerMixin, BaseEstimator):
    """Remembers what it gets, and returns zeros."""

    def fit(self, X, y=None, sample_weight=None):
        self.got_, self.y_, self.sample_weight_ = X, y, sample_weight
        return self

    def transform(self, X):
        self.new_ = X
        return np.zeros((len(X), 2))


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Polynomial(),
        Gaussian(),
        Laplacian(),
        Distance("chebyshev"),
        Distance("seuclidean"),
        Function(lambda A, B: np.tanh(A @ B.T)),
    ],
)
def test_a_kernel_with_a_scaler_is_the_kernel_of_scaled_samples(kernel):
    scaler = StandardScaler().fit(A[:15])
    by_hand = clone(kernel).fit(scaler.transform(A[:15]))
    inside = clone(kernel).set_params(transformer=StandardScaler()).fit(A[:15])
    np.testing.assert_allclose(inside.gram(A[:15]), by_hand.gram(scaler.transform(A[:15])), atol=1e-12)
    np.testing.assert_allclose(inside.cross(A[15:], A[:15]), by_hand.cross(*map(scaler.transform, (A[15:], A[:15]))))
    np.testing.assert_allclose(inside.diagonal(A[15:]), by_hand.diagonal(scaler.transform(A[15:])))


def test_the_parameter_is_not_fitted_and_the_copy_is():
    scaler = StandardScaler()
    kernel = Linear(transformer=scaler).fit(A)
    assert kernel.transformer is scaler and not hasattr(scaler, "mean_")
    np.testing.assert_allclose(kernel.transformer_.mean_, A.mean(axis=0))
    assert not hasattr(Linear().fit(A), "transformer_") and not hasattr(clone(kernel), "transformer_")
    assert not hasattr(kernel.set_params(transformer=None).fit(A), "transformer_")
    assert kernel.set_params(transformer=StandardScaler(), transformer__with_mean=False).transformer.with_mean is False


class Writing(TransformerMixin, BaseEstimator):
    """Centres samples, and writes to what it gets."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        X[:] = 0.0
        return self

    def transform(self, X):
        X -= self.mean_
        return X


@pytest.mark.parametrize("transformer", [StandardScaler(copy=False), MaxAbsScaler(copy=False), Writing()], ids=str)
@pytest.mark.parametrize("make", [np.array, pd.DataFrame], ids=["array", "frame"])
def test_transformers_that_write_to_what_they_get(make, transformer):
    X = make(A)
    by_hand = clone(transformer).fit(A.copy())
    expected = by_hand.transform(A.copy())
    views = Views(X)
    kernel = Linear(transformer=transformer).fit(views)
    np.testing.assert_allclose(kernel.gram(views), expected @ expected.T, rtol=1e-9)
    np.testing.assert_allclose(kernel.cross(X, X), expected @ expected.T, rtol=1e-9)
    assert_array_equal(X, A)


def test_samples_without_the_view_are_left_out():
    some = A.copy()
    some[[2, 7]] = np.nan
    kernel = Linear(transformer=StandardScaler()).fit(some)
    np.testing.assert_allclose(kernel.transformer_.mean_, np.nanmean(some, axis=0))
    K, present = kernel.gram(some), kernel.present(some)
    assert np.flatnonzero(~present).tolist() == [2, 7] and not K[2].any() and not K[:, 7].any()
    assert not kernel.cross(some[[2]], some).any() and not kernel.diagonal(some[[2]]).any()
    with pytest.raises(ValueError, match="no training sample has the view of the kernel 'linear'"):
        Linear(transformer=StandardScaler()).fit(np.full((3, 2), np.nan))


def test_cells_may_be_missing_where_a_transformer_fills_them():
    some = A.copy()
    some[2, 0] = some[5, 3] = np.nan
    with pytest.raises(ValueError, match="NaN in some of its columns"):
        Linear().fit(some)
    with pytest.raises(ValueError, match="StandardScaler of the kernel 'linear'.*returned NaN; put SimpleImputer"):
        Linear(transformer=StandardScaler()).fit(some)
    fill = make_pipeline(SimpleImputer(), StandardScaler())
    kernel = Linear(transformer=fill).fit(some)
    Z = clone(fill).fit_transform(some)
    np.testing.assert_allclose(kernel.gram(some), Z @ Z.T)
    assert kernel.present(some).all()


def test_documents_make_a_sparse_kernel():
    for transformer in (TfidfVectorizer(), make_pipeline(CountVectorizer(), MaxAbsScaler()), HashingVectorizer()):
        kernel = Linear("notes", transformer=transformer).fit(TEXT)
        Z = clone(transformer).fit_transform(TEXT["notes"])
        assert sp.issparse(kernel.read(Views(TEXT))[0])
        np.testing.assert_allclose(kernel.gram(TEXT), (Z @ Z.T).toarray())
    both = make_union(CountVectorizer(), CountVectorizer(analyzer="char"))
    Z = clone(both).fit_transform(TEXT["notes"])
    np.testing.assert_allclose(Linear(transformer=both).fit(TEXT).gram(TEXT), (Z @ Z.T).toarray())
    with pytest.raises(ValueError, match="takes one column of documents, but the view has 5 columns"):
        Linear(transformer=TfidfVectorizer()).fit(MIXED)


class Lengths(BaseEstimator):
    """What a user may write for documents: it declares nothing about its input."""

    def fit(self, documents, y=None):
        self.n_documents_ = len(documents)
        return self

    def transform(self, documents):
        return np.array([[len(document), document.count("a")] for document in documents])


@pytest.mark.parametrize("kind", [object, "str", "string[pyarrow]"])
def test_functions_and_own_classes_get_a_column_of_text_as_documents(kind):
    table = TEXT[["notes"]].astype(kind)
    expected = Lengths().transform(TEXT["notes"])
    for transformer in (
        Lengths(),
        FunctionTransformer(Lengths().transform),
        make_union(Lengths()),
        make_pipeline(FunctionTransformer(), Lengths()),
    ):
        np.testing.assert_array_equal(Linear(transformer=transformer).fit(table).read(Views(table))[0], expected)
    upper = make_pipeline(FunctionTransformer(lambda notes: [note.upper() for note in notes]), CountVectorizer())
    plain = Linear(transformer=CountVectorizer()).fit(table)
    np.testing.assert_array_equal(Linear(transformer=upper).fit(table).gram(table), plain.gram(table))
    values = TEXT[["notes"]].to_numpy(dtype=object)
    np.testing.assert_array_equal(Linear(transformer=Lengths()).fit(values).read(Views(values))[0], expected)


def test_transformers_of_tables_get_a_column_of_text_as_a_table():
    table = TEXT[["notes"]]
    for transformer in (
        OneHotEncoder(),
        OrdinalEncoder(),
        make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()),
        make_column_transformer((CountVectorizer(), "notes")),
    ):
        Z = clone(transformer).fit_transform(table)
        Z = Z.toarray() if sp.issparse(Z) else Z
        np.testing.assert_allclose(Linear(transformer=transformer).fit(table).gram(table), Z @ Z.T)
    coded = table.astype("category")
    codes = FunctionTransformer(lambda frame: frame.apply(lambda column: column.cat.codes))
    assert Linear(transformer=codes).fit(coded).read(Views(coded))[0].shape == (len(table), 1)
    with pytest.raises(ValueError, match="could not convert string to float"):
        Linear(transformer=PCA()).fit(table)


def test_absent_documents_and_kernels_that_are_not_sparse():
    some = TEXT.copy()
    some.loc[3, "notes"] = None
    kernel = ChiSquared("notes", transformer=CountVectorizer()).fit(some)
    assert np.flatnonzero(~kernel.present(some)).tolist() == [3]
    assert isinstance(kernel.read(Views(some))[0], np.ndarray)
    K = Linear("notes", transformer=CountVectorizer()).fit(some).gram(some)
    Z = CountVectorizer().fit_transform(some["notes"].drop(3)).toarray()
    kept = np.arange(20) != 3
    np.testing.assert_allclose(K[np.ix_(kept, kept)], Z @ Z.T)
    assert not K[3].any()


def test_transformers_that_look_at_numbers_only_get_an_array_of_a_frame_of_numbers():
    numbers, whole = MIXED[["rna__a", "rna__b"]], MIXED.assign(rna__c=range(20), rna__d=A[:, 2].astype(np.float32))
    fill = make_pipeline(SimpleImputer(), StandardScaler())
    own = [name for name in whole if name.startswith("rna")]
    gap = whole.assign(**whole[own].astype(float).reindex(range(3)).reindex(whole.index))
    for frame in (numbers, numbers.astype(np.float32), whole, gap):
        table = frame[[name for name in frame if name.startswith("rna")]]
        there = table.dropna()
        for transformer in (StandardScaler(), MaxAbsScaler(), PCA(2), fill):
            kernel = Linear("rna", transformer=transformer).fit(frame)
            expected = clone(transformer).fit(there)
            assert not hasattr(kernel.transformer_, "feature_names_in_") and hasattr(expected, "feature_names_in_")
            values, present = kernel.read(Views(frame))
            np.testing.assert_allclose(values[present], expected.transform(there), rtol=1e-5, atol=1e-5)
            assert len(kernel.feature_names()) == values.shape[1]
    assert Linear("rna", transformer=fill).fit(whole).feature_names() == ["a", "b", "c", "d"]


def test_other_transformers_and_columns_stay_a_frame():
    to_frame = StandardScaler().set_output(transform="pandas")
    for frame, transformer in (
        (MIXED[["rna__a", "rna__b"]], to_frame),
        (MIXED[["rna__a", "rna__b"]], make_pipeline(to_frame, PCA(1))),
        (MIXED[["rna__a"]].assign(rna__b="oak"), SimpleImputer(strategy="most_frequent")),
        (MIXED[["rna__a"]].astype("Float64"), SimpleImputer()),
    ):
        try:
            fitted = Linear("rna", transformer=transformer).fit(frame).transformer_
        except ValueError as error:
            assert "not numbers" in str(error)  # what SimpleImputer makes of text
            continue
        assert fitted.feature_names_in_.tolist() == [name.removeprefix("rna__") for name in frame]
    got = []
    passed = FunctionTransformer(lambda X: got.append(X) or X)
    Linear("rna", transformer=make_pipeline(passed, StandardScaler())).fit(MIXED)
    assert all(isinstance(X, pd.DataFrame) and list(X) == ["a", "b"] for X in got)


def test_a_frame_is_handed_over_with_names_and_types():
    kernel = Linear("clinical", transformer=Recorder()).fit(MIXED, np.arange(1.0, 21.0), y=Y)
    got = kernel.transformer_.got_
    assert got.columns.tolist() == ["age", "sex", "site"]
    assert got["age"].dtype.kind == "i" and got["sex"].dtype == "category" and got.index.equals(MIXED.index)
    assert kernel.transformer_.y_.tolist() == Y.tolist() and kernel.transformer_.sample_weight_[3] == 4.0
    assert Linear("clinical", transformer=Recorder()).fit(MIXED, np.ones(20)).transformer_.sample_weight_ is None
    kept = Views(MIXED).keep(np.array([4, 2]), kernel.columns())
    kernel.gram(kept)
    pd.testing.assert_frame_equal(
        kernel.transformer_.new_.reset_index(drop=True), got.iloc[[4, 2]].reset_index(drop=True)
    )
    everything = Linear(transformer=Recorder()).fit(MIXED).transformer_.got_
    assert everything.columns.tolist() == MIXED.columns.tolist()


@pytest.mark.parametrize("dtype", [object, "string", "category"])
def test_missing_cells_are_one_thing_in_the_fit_and_in_what_prediction_keeps(dtype):
    frame = pd.DataFrame(
        {"a": ["x", None, "y", np.nan, "x", "z"], "b": ["u", "u", None, "v", pd.NA, "v"]}, dtype=object
    )
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    kernel, views = Linear(transformer=encoder), Views(frame.astype(dtype))
    values, _ = kernel.fit(views).read(views)
    assert_array_equal(values, [[0, 0], [-2, 0], [1, -2], [-2, 1], [0, -2], [2, 1]])
    kept = views.keep(np.arange(6), kernel.columns())
    assert_array_equal(kernel.read(kept)[0], values)
    assert_array_equal(kernel.read(Views(frame))[0], values)


@pytest.mark.parametrize("names", [["age"], ["clinical__age"], [0], "age"])
def test_columns_by_short_names_full_names_and_places(names):
    scaler = FunctionTransformer(lambda values: np.asarray(values, dtype=float).reshape(-1, 1))
    encoder = (OneHotEncoder(), ["clinical__sex"] if names == ["clinical__age"] else ["sex"])
    kernel = Linear("clinical", transformer=make_column_transformer((scaler, names), encoder)).fit(MIXED)
    values, _ = kernel.read(Views(MIXED))
    np.testing.assert_allclose(values[:, 0], MIXED["clinical__age"])
    np.testing.assert_allclose(values[:, 1], MIXED["clinical__sex"] == "f")


def test_names_in_lists_of_views():
    for names in (["age"], ["clinical__age"]):
        kernel = Linear(["clinical"], transformer=make_column_transformer((StandardScaler(), names)))
        assert kernel.fit(MIXED).feature_names() == [f"standardscaler__{names[0]}"]
    twice = pd.DataFrame(A, columns=["a__x", "a__y", "b__x", "b__z"])
    kernel = Linear(["a", "b"], transformer=StandardScaler()).fit(twice)
    assert kernel.feature_names() == twice.columns.tolist()
    with pytest.raises(ValueError, match="ColumnTransformer of the kernel .* fails"):
        Linear(["a", "b"], transformer=make_column_transformer((StandardScaler(), ["x"]))).fit(twice)


def test_names_of_features():
    assert Linear("rna").fit(MIXED).feature_names(MIXED.columns) == ["rna__a", "rna__b"]
    assert Linear([1, 2]).fit(A).feature_names() == [1, 2]
    assert Linear("rna", transformer=StandardScaler()).fit(MIXED).feature_names() == ["a", "b"]
    assert Linear([1, 2], transformer=StandardScaler()).fit(A).feature_names() == ["1", "2"]
    assert Linear(transformer=CountVectorizer()).fit(TEXT).feature_names() == ["ash", "fir", "oak", "small", "tall"]
    unnamed = FunctionTransformer(lambda X: X[:, :1])
    assert Linear(transformer=unnamed).fit(A).feature_names() == ["functiontransformer0"]


def test_targets_reach_the_transformer():
    kernel = Linear(transformer=SelectKBest(k=1)).fit(A, y=Y)
    assert kernel.transformer_.get_support().tolist() == [True, False, False, False]
    parts = Linear([0, 1], transformer=SelectKBest(k=1)) + Gaussian([2, 3], transformer=SelectKBest(k=1))
    assert parts.supervised and parts.fit(A, y=Y).first_.read(Views(A))[0].shape == (20, 1)
    pairs = Pairwise(Linear(transformer=SelectKBest(k=1)), first=[0, 1], second=[2, 3])
    assert pairs.supervised and pairs.fit(A, y=Y).kernel_.transformer_.n_features_in_ == 2
    assert not Linear().supervised


def test_pickles_have_the_fitted_transformer():
    kernel = Linear("clinical", transformer=make_pipeline(OneHotEncoder())).fit(MIXED)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel)).gram(MIXED), kernel.gram(MIXED))


def test_what_a_view_gives_is_transformed_once():
    class Counting(Recorder):
        calls = 0

        def transform(self, X):
            Counting.calls += 1
            return super().transform(X)

    kernel, views = Linear(transformer=Counting()), Views(A)
    kernel.fit(views)
    kernel.gram(views), kernel.diagonal(views), kernel.present(views), kernel.cross(views, views)
    assert Counting.calls == 1


class Scaling(TransformerMixin, BaseEstimator):
    fits = transforms = 0

    def __init__(self, power=1.0, parts=()):
        self.power = power
        self.parts = parts

    def fit(self, X, y=None, sample_weight=None):
        Scaling.fits += 1
        self.scale_ = np.average(np.abs(np.asarray(X)), axis=0, weights=sample_weight)
        return self

    def transform(self, X):
        Scaling.transforms += 1
        return np.asarray(X) / self.scale_**self.power


@pytest.mark.parametrize("X", [A, pd.DataFrame(A, columns=["a__0", "a__1", "b__0", "b__1"])], ids=["array", "frame"])
def test_kernels_of_a_view_share_one_preparation(X):
    def fits(*kernels, **options):
        Scaling.fits = Scaling.transforms = 0
        stack = KernelStack([*kernels]).fit(X, **options)
        done = Scaling.transforms
        stack.matrices()
        assert Scaling.transforms == done
        return Scaling.fits

    a, b = [0, 1], [2, 3]
    same = [Linear(a, transformer=Scaling()), Gaussian(a, transformer=Scaling())]
    assert fits(*same) == fits(*same, sample_weight=np.arange(1.0, 21.0), y=Y) == 1
    assert fits(same[0] + same[1], Laplacian(a, transformer=Scaling())) == 1
    assert fits(*(kernel(a, transformer=make_pipeline(Scaling(), Scaling(2.0))) for kernel in (Linear, Gaussian))) == 2
    assert fits(same[0], Gaussian(b, transformer=Scaling())) == 2
    assert fits(same[0], Gaussian(a, transformer=Scaling(2.0))) == 2
    assert fits(same[0], Gaussian(a, transformer=Scaling(parts=[np.zeros(2)]))) == 2
    views = Views(X)
    kernels = [
        kernel.fit(views, weight, y=Y) for kernel, weight in zip(same, [None, np.arange(1.0, 21.0)], strict=True)
    ]
    assert kernels[0].preparation_ is not kernels[1].preparation_
    np.testing.assert_allclose(kernels[0].transformer_.scale_, np.abs(A[:, :2]).mean(axis=0))


def test_a_shared_preparation_transforms_new_samples_once_and_survives_a_pickle():
    stack = KernelStack([Linear(transformer=Scaling()), Gaussian(transformer=Scaling())]).fit(A)
    Scaling.transforms = 0
    for kernels in (stack.kernels, pickle.loads(pickle.dumps(stack.kernels))):
        views = Views(A[:3])
        values = [kernel.read(views)[0] for kernel in kernels]
        np.testing.assert_array_equal(*values)
    assert Scaling.transforms == 2


@pytest.mark.parametrize(
    ("transformer", "message"),
    [
        (StandardScaler, "must be None or an object with fit and transform"),
        (np.log1p, "wrap a function as FunctionTransformer"),
        (FunctionTransformer(lambda X: X[:, 0]), "returned shape .* for 20 samples"),
        (FunctionTransformer(lambda X: X[:3]), "returned shape .* for 20 samples"),
        (FunctionTransformer(lambda X: X / 0.0), "returned (NaN|infinity)"),
        (FunctionTransformer(lambda X: np.full(X.shape, "a")), "returned values that are not numbers"),
        (FunctionTransformer(lambda X: X + 1j), r"returned values that are not numbers \(complex"),
        (FunctionTransformer(lambda X: np.ma.array(X, mask=X > 3.0)), "returned NaN"),
        (SelectKBest(k=1), "SelectKBest of the kernel 'linear' .* fails: "),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_refused(transformer, message):
    with pytest.raises(ValueError, match=message):
        Linear(transformer=transformer).fit(A)


def test_new_samples_that_the_transformer_refuses():
    kernel = Linear("clinical", transformer=OneHotEncoder()).fit(MIXED)
    new = MIXED.assign(clinical__site="east")
    with pytest.raises(ValueError, match="OneHotEncoder of the kernel 'clinical'.*unknown categories"):
        kernel.gram(new)
    changing = Linear(transformer=FunctionTransformer(lambda X: X[:, : len(X)])).fit(A)
    with pytest.raises(ValueError, match="returned 2 features, but 4 of the training samples"):
        changing.gram(A[:2])
    with pytest.raises(ValueError, match="looks distances up by id"):
        Distance(np.zeros((3, 3)), transformer=StandardScaler()).fit(np.arange(3.0)[:, None])


@pytest.mark.parametrize("dtype", [object, "str"])
@pytest.mark.parametrize("beside", ["nothing", "sparse"])
def test_categories_that_a_new_table_has_as_numbers(dtype, beside):
    """A column "1", "2", "X" of one file is a column of numbers in another file without "X", and NaN if it is empty."""
    grade = np.resize(["1", "2", "2.5", "X"], 20)
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["grade"]), remainder="passthrough")
    frame = pd.DataFrame({"clinical__grade": pd.Series(grade, dtype=dtype), "clinical__age": A[:, 0]})
    if beside == "sparse":
        frame = frame.assign(words=stack_views({"words": sp.eye(20, format="csr")})["words"])
    kernel = Linear("clinical", transformer=encoder).fit(frame)
    texts = frame.iloc[[0, 1, 2, 0]].reset_index(drop=True)
    assert_array_equal(kernel.gram(texts.assign(clinical__grade=[1.0, 2.0, 2.5, 1.0])), kernel.gram(texts))
    texts, missing = texts.iloc[[0, 1, 3]], pd.Series([None] * 3, dtype=object, index=[0, 1, 3])
    assert_array_equal(kernel.gram(texts.assign(clinical__grade=[1, 2, 1])), kernel.gram(texts))
    assert_array_equal(
        kernel.gram(texts.assign(clinical__grade=np.nan)), kernel.gram(texts.assign(clinical__grade=missing))
    )


def test_numbers_as_documents():
    kernel = Linear("notes", transformer=CountVectorizer(analyzer="char")).fit(pd.DataFrame({"notes": ["12", "a1"]}))
    assert_array_equal(kernel.gram(pd.DataFrame({"notes": [12.0]})), kernel.gram(pd.DataFrame({"notes": ["12"]})))
