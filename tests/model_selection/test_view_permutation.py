import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, MKLRegressor, stack_views
from kernelweave.combiners import Product
from kernelweave.kernels import Gaussian, Linear, Precomputed, Spectrum
from kernelweave.model_selection import view_importance

rng = np.random.default_rng(0)
N = 120
A, B, C = rng.normal(size=(N, 3)), rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
X = stack_views({"a": A, "b": B, "c": C})
Y = np.where(A[:, 0] + 0.5 * B[:, 0] > 0, "yes", "no")
MODEL = MKLClassifier([Linear("a"), Gaussian("a"), Linear("b"), ("last", Gaussian("c"))]).fit(X[:60], Y[:60])
NEW, LABELS = X[60:], Y[60:]


def importance(model=MODEL, X=NEW, y=LABELS, **options):
    return view_importance(model, X, y, **{"random_state": 0, "n_repeats": 5} | options)


class Watched(BaseEstimator):
    """A fitted estimator that keeps every X that it has predicted."""

    def __init__(self):
        self.seen = []

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def score(self, X, y, sample_weight=None):
        self.seen.append(X)
        return 1.0 if len(self.seen) == 1 else 0.25


def test_views_in_order_of_their_importance():
    found = importance()
    assert list(found.index) == ["a", "b", "c"]
    assert found["importance"].is_monotonic_decreasing
    assert found.loc["a", "importance"] > 0.2
    assert found["share"].sum() == pytest.approx(1.0)
    assert (found["samples"] == 60).all()
    assert found.attrs["score"] == MODEL.score(NEW, LABELS)


def test_the_loss_is_that_of_the_score():
    found = importance(Watched(), n_repeats=3)
    np.testing.assert_allclose(found["importance"], 0.75)
    np.testing.assert_allclose(found["std"], 0.0)
    np.testing.assert_allclose(found["share"], 1 / 3)


@pytest.mark.parametrize("kind", ["frame", "array", "sparse"])
def test_rows_of_a_group_move_together_and_nothing_else_moves(kind):
    data = {"frame": NEW, "array": NEW.to_numpy(), "sparse": sp.csr_matrix(NEW.to_numpy())}[kind]
    model = Watched()
    importance(model, data, groups={"a": [2, 0, 1], "b": [3, 4]}, n_repeats=2)
    whole, *permuted = [part.toarray() if sp.issparse(part) else np.asarray(part) for part in model.seen]
    np.testing.assert_array_equal(whole, NEW)
    assert len(permuted) == 4
    for part, moved in zip(permuted, [[0, 1, 2]] * 2 + [[3, 4]] * 2, strict=True):
        rest = np.setdiff1d(np.arange(7), moved)
        np.testing.assert_array_equal(part[:, rest], whole[:, rest])
        assert not np.array_equal(part[:, moved], whole[:, moved])
        assert {tuple(row) for row in part[:, moved]} == {tuple(row) for row in whole[:, moved]}
    assert not np.array_equal(permuted[0], permuted[1])
    if kind == "frame":
        pd.testing.assert_frame_equal(model.seen[1][["b__0"]], NEW[["b__0"]])
        assert list(model.seen[1].columns) == list(NEW.columns)


def test_sparse_views_of_stack_views():
    sparse = sp.random(N, 9, 0.5, random_state=0, format="csr")
    data = stack_views({"b": B, "s": pd.DataFrame.sparse.from_spmatrix(sparse), "a": A, "t": sparse[:, :2]})
    data.loc[::4, "s"] = np.nan
    assert data.shape[1] == 2 + 1 + 3 + 1
    model = MKLClassifier([Linear("a"), Linear("s"), Linear("b")]).fit(data[:60], Y[:60])
    found = importance(model, data[60:])
    assert found["samples"].to_dict() == {"a": 60, "s": 45, "b": 60}
    assert found.loc["a", "importance"] > 0.2
    watched = Watched()
    importance(watched, data[60:], groups={"part": ["s__1", "a__0"]}, n_repeats=1)
    whole, part = watched.seen
    before, after = (np.asarray(one["s"].array.matrix.todense()) for one in (whole, part))
    np.testing.assert_array_equal(before[:, [0, *range(2, 9)]], after[:, [0, *range(2, 9)]])
    assert not np.array_equal(before[:, 1], after[:, 1])
    pairs = [set(zip(one["a__0"], matrix[:, 1], strict=True)) for one, matrix in ((whole, before), (part, after))]
    assert pairs[0] == pairs[1]


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({name: NEW[name].to_numpy() for name in NEW})
    pd.testing.assert_frame_equal(importance(X=frame, y=polars.Series(LABELS)), importance())


def test_a_missing_view_stays_missing():
    data = NEW.copy()
    gone = np.arange(0, 60, 2)
    data.iloc[gone, 3:5] = np.nan
    data.iloc[1, 5] = np.nan  # one cell of c, which moves with its row
    model = Watched()
    found = importance(model, data, groups=["b", "c"])
    assert found["samples"].to_dict() == {"b": 30, "c": 60}
    for part in model.seen[1:6]:
        np.testing.assert_array_equal(np.flatnonzero(part["b__0"].isna()), gone)
    places = [np.flatnonzero(part["c__0"].isna()).tolist() for part in model.seen[6:]]
    assert all(len(place) == 1 for place in places)
    assert len({place[0] for place in places}) > 1
    assert importance(MODEL, data.fillna({"c__0": 0.0}))["importance"].notna().all()


def test_no_sample_gets_a_part_of_a_view_that_it_lacks():
    data = NEW.copy()
    data.iloc[::3, 3:5] = np.nan  # b
    groups = {"across": ["a__0", "b__0"], "whole": ["a", "b"]}
    found = importance(MODEL, data, groups=groups)  # would fail: "is NaN in some columns"
    assert found["importance"].gt(0).all()
    watched = Watched()
    importance(watched, data, groups=groups, n_repeats=3)
    for part in watched.seen[1:4]:
        np.testing.assert_array_equal(part["b__0"].isna(), data["b__0"].isna())
    for part in watched.seen[4:]:  # whole views move, missing or not
        np.testing.assert_array_equal(part["b__0"].isna(), part["b__1"].isna())
        assert not part["b__0"].isna().equals(data["b__0"].isna())


def test_columns_are_found_by_name_in_any_order():
    pd.testing.assert_frame_equal(importance(X=NEW[NEW.columns[::-1]]), importance())


def test_a_view_that_is_not_there_loses_nothing():
    found = importance(X=NEW.drop(columns=["b__0", "b__1"]))
    assert found.loc["b", ["importance", "samples"]].tolist() == [0.0, 0]


def test_groups_as_kernels_select_columns():
    groups = {
        "one": "a__0",
        "slice": slice("a__1", "b__0"),
        "mask": np.arange(7) > 4,
        "called": lambda X: ["c"],
        "places": [0, 3],
    }
    found = importance(groups=groups)
    assert list(found.index) == list(groups)
    assert found.loc["mask", "importance"] == found.loc["called", "importance"]
    assert found.loc["places", "importance"] > found.loc["one", "importance"] > 0
    assert list(importance(groups=["a", [0, 1]]).index) == ["a", "group 1"]


def test_every_kernel_and_combiner():
    text = ["".join(rng.choice(list("xy"), size=6)) for _ in range(N)]
    data = stack_views({"a": A, "word": text, "id": np.arange(N)})
    model = MKLClassifier([Linear("a"), Spectrum("word", k=2), Precomputed(B @ B.T, "id")], Product())
    found = importance(model.fit(data[:60], Y[:60]), data[60:])
    assert list(found.index) == ["a", "word", "id"]
    assert found.loc["a", "importance"] > 0


def test_pipelines_searches_and_other_estimators():
    pipeline = make_pipeline(StandardScaler(), MKLClassifier([Linear([0, 1, 2]), Linear([3, 4])])).fit(X, Y)
    assert list(importance(pipeline).index) == ["a", "b", "c"]
    search = GridSearchCV(MKLClassifier([Linear("b"), Linear("a")]), {"C": [1.0, 2.0]}, cv=2).fit(X, Y)
    assert list(importance(search).index) == ["b", "a"]
    assert list(importance(LogisticRegression().fit(X, Y)).index) == ["a", "b", "c"]
    data = X.assign(age=1.0, rest__0=0.0)
    assert list(importance(LogisticRegression().fit(data, Y), data, Y).index) == [
        "a",
        "b",
        "c",
        "rest",
        "other columns",
    ]
    plain = LogisticRegression().fit(X.to_numpy(), Y)
    with pytest.raises(ValueError, match="give groups"):
        importance(plain, NEW.to_numpy())
    assert importance(plain, NEW.to_numpy(), groups={"a": [0, 1, 2]}).loc["a", "importance"] > 0.2


def test_regression_weights_and_scoring():
    target = A[:, 0]
    model = MKLRegressor([Linear("a"), Linear("b")]).fit(X[:60], target[:60])
    found = importance(model, NEW, pd.Series(target[60:], NEW.index), scoring="neg_mean_squared_error")
    assert found.loc["a", "importance"] > 1.0
    weight = np.r_[np.ones(30), np.zeros(30)]
    weighted = importance(model, NEW, target[60:], sample_weight=weight)
    assert weighted.attrs["score"] == pytest.approx(model.score(NEW[:30], target[60:90]))


def test_the_result_depends_on_the_seed_and_not_on_n_jobs():
    first = importance()
    with parallel_config("threading"):
        pd.testing.assert_frame_equal(first, importance(n_jobs=2))
    assert not first.equals(importance(random_state=1))


def test_nothing_of_importance_has_no_shares():
    class Constant(Watched):
        def score(self, X, y, sample_weight=None):
            return 1.0

    assert importance(Constant())["share"].isna().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": None}, "view_importance needs y"),
        ({"groups": {}}, "groups must map names to columns"),
        ({"groups": "a"}, "groups must map names to columns"),
        ({"groups": {"x": "nothing"}}, "the view 'nothing' matches no column"),
        ({"scoring": ["accuracy"]}, "one metric"),
        ({"n_repeats": 0}, "n_repeats of view_importance must be"),
        ({"y": LABELS[:5]}, "inconsistent numbers of samples"),
        ({"X": {"a": A, "b": B}}, "stack_views"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        importance(**options)


def test_only_fitted_models():
    with pytest.raises(NotFittedError):
        importance(MKLClassifier())
