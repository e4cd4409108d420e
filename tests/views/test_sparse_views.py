"""Sparse views in a data frame, beside dense and text ones: never made dense, whatever is done with the frame."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from kernelweave import MKLClassifier, load, save, stack_views
from kernelweave.combiners import Localized, Projected
from kernelweave.kernels import Clinical, Gaussian, Linear, Pairwise, Spectrum
from kernelweave.reduction import MKLDR
from kernelweave.views import FetchedViews, Views
from kernelweave.views.frames import SparseRows

N = 30
RNG = np.random.default_rng(0)
Y = np.tile([0, 1], N // 2)
DENSE = np.where(RNG.random((N, 40)) < 0.2, RNG.normal(size=(N, 40)) + 2.0 * Y[:, None], 0.0)
S = sp.csr_matrix(DENSE)
D = RNG.normal(size=(N, 3)) + Y[:, None]
WORDS = ["abab" if label else "bcbc" for label in Y]
X = stack_views({"s": S, "d": D, "word": WORDS})
PLAIN = stack_views({"s": DENSE, "d": D, "word": WORDS})
KERNELS = [Linear("s"), Gaussian("s"), Gaussian("d"), Spectrum(k=2, view="word"), Linear(["s__3", "d", "s__1"])]
IN_S = [f"s__{j}" for j in range(40)]


@pytest.fixture(autouse=True)
def _nothing_is_made_dense(monkeypatch):
    """Refuse to make the view dense."""
    for cls in (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_matrix, sp.coo_array):
        before = cls.toarray

        def toarray(self, *arguments, _before=before, **options):
            assert self.shape[1] != 40 or self.shape[0] == 1, "a sparse view was made dense"
            return _before(self, *arguments, **options)

        monkeypatch.setattr(cls, "toarray", toarray)


@pytest.fixture
def allow_dense(monkeypatch):
    monkeypatch.undo()


def same(first, second):
    assert sp.issparse(first) and first.shape == second.shape
    assert (first != second).nnz == 0


def test_the_frame():
    assert list(X.columns) == ["s", "d__0", "d__1", "d__2", "word"]
    assert str(X.dtypes["s"]) == "sparse rows [40]"
    assert f"<{S[0].nnz} entries>" in X.head(2).to_string()
    same(X["s"].array.matrix, S)
    for kind in (sp.csc_array(S), sp.coo_matrix(S), sp.csr_array(S)):
        same(sp.csr_matrix(stack_views({"s": kind})["s"].array.matrix), S)


@pytest.mark.parametrize(
    "rows", [np.array([4, 2, 2]), np.arange(N) % 3 == 0, slice(3, 17, 2), np.array([], dtype=int)], ids=range(4)
)
def test_rows_of_the_frame(rows):
    part = X.iloc[rows]
    same(part["s"].array.matrix, S[rows])
    same(pd.concat([part, X])["s"].array.matrix, sp.vstack([S[rows], S], format="csr"))
    same(pickle.loads(pickle.dumps(part))["s"].array.matrix, S[rows])
    views = Views(X).rows(rows)
    same(views.read(views.columns("s"), "s")[0], S[rows])
    assert Views(part).digests() == views.digests() == [Views(X).digests()[i] for i in np.arange(N)[rows]]


def test_equal_samples_and_only_they_have_equal_digests():
    frame = stack_views({"s": sp.csr_matrix([[0, 1.0], [1.0, 0], [0, 1.0], [0, 0], [0, 0]]), "d": np.zeros((5, 1))})
    frame.loc[4, "s"] = np.nan
    digests = Views(frame).digests()
    assert digests[0] == digests[2] and len(set(digests)) == 4


def test_models_give_what_they_give_for_dense_views(allow_dense):
    model, plain = MKLClassifier(KERNELS).fit(X, Y), MKLClassifier(KERNELS).fit(PLAIN, Y)
    assert [kernel.sparse_ for kernel in model.kernels_] == [True, True, False, False, True]
    assert model.n_features_in_ == 44 and list(model.feature_names_in_) == list(PLAIN.columns)
    wanted = plain.decision_function(PLAIN)
    for fitted in (model, plain):
        for new in (X, PLAIN, X[["word", "d__2", "s", "d__1", "d__0"]], PLAIN.iloc[:, ::-1], X.assign(z__0=1.0)):
            np.testing.assert_allclose(fitted.decision_function(new), wanted, atol=1e-12)


def test_searches_and_other_models_keep_it_sparse():
    kernels = KERNELS[:4]
    assert cross_val_score(MKLClassifier(kernels), X, Y, cv=3).shape == (3,)
    search = GridSearchCV(MKLClassifier(kernels), {"C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert search.predict(X).shape == (N,)
    assert MKLDR([Gaussian("s"), Gaussian("d")]).fit(X, Y).transform(X).shape[0] == N
    localized = MKLClassifier([Linear("s"), Linear("d")], Localized(inputs="d", l2=0.1), random_state=0).fit(X, Y)
    assert localized.gates(X).shape == (N, 2)
    projected = MKLClassifier([Linear("s"), Linear("d")], Projected(1), random_state=0).fit(X, Y)
    assert projected.project(X).shape == (N, 2)
    assert [kernel.name for kernel in MKLClassifier().fit(X[["s", "d__0"]], Y).kernels_] == ["s", "d"]


def test_pairs_of_sparse_objects():
    frame = stack_views({"one": S[:, :20], "two": S[:, 20:], "d": D})
    plain = stack_views({"one": DENSE[:, :20], "two": DENSE[:, 20:], "d": D})
    kernel = Pairwise(Linear(), first="one", second="two")
    np.testing.assert_allclose(kernel.fit(frame).gram(frame), kernel.fit(plain).gram(plain), atol=1e-10)
    one = Views(frame).objects(np.arange(20))
    same(one.followed_by(one).read(np.arange(20), "one")[0], sp.vstack([S[:, :20]] * 2, format="csr"))
    with pytest.raises(ValueError, match="some are sparse and others are not"):
        one.followed_by(Views(frame).objects(np.arange(21, 41)))


def test_missing_sparse_views():
    holes, plain = X.copy(), PLAIN.copy()
    holes.loc[3, "s"] = np.nan
    plain.loc[3, IN_S] = np.nan
    assert list(X["s"].isna()) == [False] * N and holes["s"].isna()[3]
    values, present = Views(holes).read(np.arange(40), "s")
    assert not present[3] and present.sum() == N - 1 and values[[3]].nnz == 0
    model, wanted = MKLClassifier(KERNELS[:4]).fit(holes, Y), MKLClassifier(KERNELS[:4]).fit(plain, Y)
    np.testing.assert_allclose(model.decision_function(holes), wanted.decision_function(plain), atol=1e-12)
    with pytest.raises(ValueError, match="view 'linear' of sample 3 is NaN in some of its columns"):
        MKLClassifier(KERNELS[4:]).fit(holes, Y)
    absent = model.decision_function(X.drop(columns="s"))
    all_missing = X.copy()
    all_missing["s"] = all_missing["s"].array.take(np.full(N, -1), allow_fill=True)
    np.testing.assert_allclose(absent, model.decision_function(all_missing), rtol=1e-12)


def test_labelled_sparse_views_are_matched():
    rows = pd.DataFrame.sparse.from_spmatrix(S[:20], index=[f"p{i}" for i in range(20)])
    rows.columns = [f"gene{j}" for j in rows.columns]
    other = pd.DataFrame(D[10:], index=[f"p{i}" for i in range(10, N)])
    frame = stack_views({"s": rows, "d": other})
    assert list(frame.index) == [f"p{i}" for i in range(N)] and list(frame["s"].isna()) == [False] * 20 + [True] * 10
    same(frame["s"].array.matrix[:20], S[:20])
    model = MKLClassifier([Linear("s"), Linear("d")]).fit(frame, Y)
    assert model.feature_names_in_[3] == "s__gene3"
    shuffled = rows[rows.columns[::-1]]  # the features of a sparse view are found by name too
    again = stack_views({"d": other, "s": shuffled}).loc[frame.index]
    np.testing.assert_allclose(model.decision_function(again), model.decision_function(frame), atol=1e-12)
    with pytest.raises(ValueError, match="X lacks 2 of 40 columns of the view 's': 's__gene0', 's__gene39'"):
        model.predict(stack_views({"s": rows.iloc[:, 1:39]}))
    with pytest.raises(ValueError, match="the column 'a' occurs more than once in the view 's'"):
        stack_views({"s": rows.iloc[:, :2].set_axis(["a", "a"], axis=1)})


def test_features_that_are_not_read_may_be_absent():
    model = MKLClassifier([Linear(["s__1", "s__3"]), Linear("d")]).fit(X, Y)
    some = stack_views({"d": D, "s": pd.DataFrame.sparse.from_spmatrix(S[:, [3, 7, 1]]).set_axis([3, 7, 1], axis=1)})
    np.testing.assert_allclose(model.decision_function(some), model.decision_function(X), atol=1e-12)


def test_sparse_columns_of_pandas_are_read_as_sparse():
    frame = pd.DataFrame.sparse.from_spmatrix(S).set_axis(IN_S, axis=1).assign(d__0=D[:, 0])
    same(Views(frame).read(np.arange(40), "s")[0], S)
    model, wanted = MKLClassifier().fit(frame, Y), MKLClassifier().fit(PLAIN[frame.columns], Y)
    assert [kernel.sparse_ for kernel in model.kernels_] == [True, False]
    np.testing.assert_allclose(model.decision_function(frame), wanted.decision_function(PLAIN), atol=1e-12)
    holes = frame.copy()
    for column in IN_S:
        values = frame[column].to_numpy().copy()
        values[2] = np.nan
        holes[column] = pd.arrays.SparseArray(values, fill_value=0.0)
    values, present = Views(holes).read(np.arange(40), "s")
    assert list(np.flatnonzero(~present)) == [2]
    partly = frame.copy()
    partly["s__0"] = pd.arrays.SparseArray(np.where(np.arange(N) == 5, np.nan, 0.0), fill_value=0.0)
    with pytest.raises(ValueError, match=r"the sparse view 's' contains NaN or infinity \(sample 5\)"):
        Views(partly).read(np.arange(40), "s")
    dummies = pd.get_dummies(pd.Series(list("aab")), prefix="c_", sparse=True)
    same(Views(dummies).read(np.arange(2), "c")[0], sp.csr_matrix([[1.0, 0], [1, 0], [0, 1]]))


def test_saved_models(tmp_path):
    holes = X.copy()
    holes.loc[::4, "s"] = np.nan
    model = MKLClassifier([Linear("s"), Gaussian("d")]).fit(holes, Y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(holes), model.decision_function(holes))
    kept = again._kernel.stack.reference.X
    assert [positions.tolist() for positions, *_ in kept.sparse] == [list(range(40))] and not kept.sparse[0][2].all()
    without = MKLClassifier([Linear("s"), Gaussian("d")]).fit(X[["d__0", "s", "d__1", "d__2"]], Y)
    assert without.kernel_names_ == ["s", "d"]


def test_kernels_that_take_no_sparse_views_say_so():
    with pytest.raises(ValueError, match="does not take sparse views"):
        MKLClassifier([Spectrum(k=2, view="s__1"), Linear("d")]).fit(X, Y)
    with pytest.raises(ValueError, match="X has sparse views, which a function cannot select"):
        MKLClassifier([Linear(make_column_selector("^d"))]).fit(X, Y)
    with pytest.raises(ValueError, match="not numbers .column 'word'"):
        MKLClassifier([Linear()]).fit(X, Y)


def test_fetched_sparse_views():
    holes = X.copy()
    holes.loc[[2, 5], "s"] = np.nan
    asked = []

    def fetch(view, rows):
        asked.append((view, rows.tolist()))
        return S[rows].tocoo().tocsr().astype(float) if view == "sparse" else PLAIN[IN_S].iloc[rows]

    views = FetchedViews(Views(holes), fetch).rows(np.arange(1, 9))
    for _ in range(2):
        same(views.complete(np.arange(40), "s").read(np.arange(40), "s")[0], S[1:9])
    assert asked == [("s", [2, 5])]
    there = views.rows(np.array([0]))
    assert there.complete(np.arange(40), "s") is there


def test_transformers_of_sparse_views_and_of_those_beside_them(tmp_path, allow_dense):
    clinic = pd.DataFrame(
        {
            "age": D[:, 0],
            "sex": pd.Categorical(RNG.choice(["f", "m"], N)),
            "stage": pd.Categorical(RNG.choice(["I", "II", "III"], N), ordered=True),
        }
    )
    encoder = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["sex", "stage"]))
    kernels = [
        Linear("s", transformer=MaxAbsScaler()),
        Gaussian("clinic", transformer=encoder),
        Linear("word", transformer=TfidfVectorizer()),
        Clinical("clinic"),
    ]
    frame = stack_views({"s": S, "clinic": clinic, "word": WORDS})
    plain = stack_views({"s": DENSE, "clinic": clinic, "word": WORDS})
    model, wanted = MKLClassifier(kernels).fit(frame, Y), MKLClassifier(kernels).fit(plain, Y)
    assert [kernel.sparse_ for kernel in model.kernels_] == [True, False, True, False]
    weighted = MKLClassifier(kernels).fit(frame, Y, sample_weight=np.r_[0.0, np.ones(N - 1)])  # a sample is left out
    for fitted in (model, weighted):
        assert list(fitted.kernels_[3].kinds_) == ["continuous", "nominal", "ordinal"]
    save(model, tmp_path / "model")
    for fitted in (model, wanted, load(tmp_path / "model")):
        for new in (frame, plain):
            np.testing.assert_allclose(fitted.decision_function(new), wanted.decision_function(plain), atol=1e-12)
    holes = frame.copy()
    holes.loc[3, "s"] = np.nan
    assert (MKLClassifier(kernels).fit(holes, Y).kernel_weights(holes)["s"] == 0).tolist() == [i == 3 for i in range(N)]
    with pytest.raises(ValueError, match="the kernel 's' .Clinical. does not take sparse views"):
        MKLClassifier([Clinical("s")]).fit(frame, Y)
    with pytest.raises(ValueError, match="takes one column of documents, but the view is sparse"):
        MKLClassifier([Linear("s__1", transformer=TfidfVectorizer())]).fit(frame, Y)


def test_cells():
    rows = SparseRows(S, present=np.arange(N) > 0)
    assert rows.matrix[[0]].nnz == 0 and repr(rows[1]) == f"<{S[1].nnz} entries>" and np.isnan(rows[0])
    assert list(rows == rows.copy()) == [False] + [True] * (N - 1)
    changed = rows.copy()
    changed[[0, 1]] = rows[[2, 3]]
    same(changed.matrix[:2], S[2:4])
    changed[4] = rows[5]
    same(changed.matrix[[4]], S[[5]])
    with pytest.raises(TypeError, match="sparse rows or missing"):
        changed[0] = 1.0
    with pytest.raises(ValueError, match="-1 or more"):
        rows.take([-2], allow_fill=True)
    assert rows.dtype == rows.copy().dtype and rows.dtype != SparseRows(S[:, :2]).dtype
    same(rows.select(np.array([2, -1]))[1:].matrix, sp.csr_matrix(np.c_[DENSE[1:, 2], np.zeros(N - 1)]))
