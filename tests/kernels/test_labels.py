"""Matrices with labels: ids are text or numbers, and samples are found by label."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from kernelweave import MKLClassifier, stack_views
from kernelweave.combiners import KernelMap, Localized
from kernelweave.kernels import Distance, Linear, Pairwise, Precomputed
from kernelweave.kernels.precomputed import as_text

rng = np.random.default_rng(0)
N = 30
A = rng.normal(size=(N, 3))
IDS = np.array([f"p{row:02d}" for row in range(N)])
K = pd.DataFrame(A @ A.T, IDS, IDS)
D = pd.DataFrame(np.linalg.norm(A[:, None] - A, axis=2), IDS, IDS)
Y = np.where(A[:, 0] > 0, "up", "down")
SHUFFLED = rng.permutation(N)


def column(ids):
    return np.array([[each] for each in ids], dtype=object)


def test_rows_and_columns_in_any_order():
    kernel = Precomputed(K.iloc[SHUFFLED].iloc[:, rng.permutation(N)]).fit(column(IDS))
    np.testing.assert_array_equal(kernel.gram(column(IDS)), K)
    np.testing.assert_array_equal(kernel.cross(column(["p07"]), column(IDS)), K.loc[["p07"]])
    np.testing.assert_array_equal(kernel.diagonal(column(["p09"])), [K.loc["p09", "p09"]])


def test_labels_in_order_are_not_copied_and_single_precision_stays():
    for dtype in (np.float64, np.float32):
        values = np.asarray(K, dtype=dtype)
        frame = pd.DataFrame(values, IDS, IDS, copy=False)
        assert np.shares_memory(Precomputed(frame).K, values) and Precomputed(frame).K.dtype == dtype


@pytest.mark.parametrize("kind", ["int", "float", "csv", "object", "categorical", "missing"])
def test_numbers_as_labels(kind):
    """Whole numbers are one label however pandas holds them."""
    numbers = np.arange(101, 101 + N)
    frame = K.set_axis(numbers).set_axis(numbers, axis=1)
    if kind == "csv":
        frame = pd.read_csv(io.StringIO(frame.to_csv()), index_col=0)
        assert frame.columns[0] == "101" and frame.index[0] == 101
    ids = pd.Series(numbers)
    ids = {"float": ids.astype(float), "object": ids.astype(object), "categorical": ids.astype("category")}.get(
        kind, ids
    )
    X = pd.DataFrame({"id": ids})
    if kind == "missing":
        X.loc[4, "id"] = np.nan
    kernel = Precomputed(frame, "id").fit(X)
    expected = K.to_numpy().copy()
    if kind == "missing":
        expected[4] = expected[:, 4] = 0
        assert kernel.present(X).tolist() == [row != 4 for row in range(N)]
    np.testing.assert_allclose(kernel.gram(X), expected, rtol=1e-12)


def test_what_labels_are_as_text():
    entries = ["a", np.str_("b"), 3, np.int64(4), 5.0, np.float32(6), 0.5, "007"]
    assert as_text(entries, "ids").tolist() == ["a", "b", "3", "4", "5", "6", "0.5", "007"]
    for wrong in (None, np.nan, True, pd.Timestamp("2020-01-01"), b"x", ("a", 1)):
        with pytest.raises(ValueError, match="ids must be text or numbers, but one is"):
            as_text([wrong], "ids")
    with pytest.raises(ValueError, match="numbers as large as 9007199254740992, which are rounded; give them as text"):
        as_text([2.0**53], "ids")
    assert as_text([2**60 + 1], "ids").tolist() == [str(2**60 + 1)]


def test_a_frame_without_labels_has_positions():
    kernel = Precomputed(pd.DataFrame(K.to_numpy()))
    assert kernel.labels is None
    np.testing.assert_array_equal(kernel.fit([[0], [1]]).gram([[3], [1]]), K.iloc[[3, 1], [3, 1]])
    more = kernel.extend(pd.DataFrame(K.to_numpy()[:1]), [1.0])
    assert len(more.self_similarity) == N + 1


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (K.rename(columns={"p07": "q07"}), "same labels in rows and columns, but there is a row but no column 'p07'"),
        (K.drop(index="p03"), "there is a column but no row 'p03'"),
        (pd.DataFrame(K.to_numpy(), index=IDS), "row but no column 'p00'.*index=labels, columns=labels"),
        (K.rename(index={"p05": "p04"}), "the label 'p04' is there twice in the index of K"),
        (K.rename(columns={"p05": "p04"}), "the label 'p04' is there twice in the columns of K"),
        (K.rename(index={"p05": None}), "must be text or numbers, but one is"),
        (K.astype(object).replace({K.iloc[0, 0]: "x"}), "K of the precomputed kernel of view 'id' cannot be used"),
        (K.where(K.iloc[0, 0] != K), "contains NaN"),
        (K + np.tri(N), "must be symmetric"),
    ],
)
def test_bad_frames(frame, message):
    with pytest.raises(ValueError, match=message):
        Precomputed(frame, "id")


def test_unknown_ids_are_named():
    kernel = Precomputed(K, "id").fit(pd.DataFrame({"id": IDS}))
    with pytest.raises(ValueError, match="'id' has no id 'p7': .did you mean .*'p07'.*the 30 ids are 'p00', 'p01'"):
        kernel.gram(pd.DataFrame({"id": ["p01", "p7"]}))
    with pytest.raises(ValueError, match="has no id '3': the 30 ids"):
        kernel.gram(pd.DataFrame({"id": [3]}))
    with pytest.raises(ValueError, match="whole numbers, but one is 'p00': the matrix has no labels; give it"):
        Precomputed(K.to_numpy(), "id").fit(pd.DataFrame({"id": IDS}))
    with pytest.raises(ValueError, match="needs one column of ids, but its view has 2"):
        Precomputed(K).fit(pd.DataFrame({"id": IDS, "other": IDS}))


def test_is_immutable_and_shown_by_size():
    kernel = Precomputed(K, "id")
    assert clone(kernel) is kernel and repr(kernel) == "Precomputed(K=<30 x 30 matrix>, view='id')"
    with pytest.raises(AttributeError, match="cannot be changed"):
        kernel.labels = None
    shown = kernel.get_params()["K"]
    assert shown.index.tolist() == shown.columns.tolist() == IDS.tolist() and np.array_equal(shown, K)
    again = Precomputed(**kernel.get_params())
    assert again.labels.equals(kernel.labels) and np.shares_memory(again.K, kernel.K)
    model = MKLClassifier([("k", kernel)])
    for text in (repr(model), model._repr_html_(), repr(GridSearchCV(model, {"C": [1.0]}))):
        assert "30 x 30 matrix" in text and "p07" not in text
    assert pickle.loads(pickle.dumps(kernel)).labels.equals(kernel.labels)


def test_cross_validation_and_searches_are_those_of_positions():
    labelled = MKLClassifier([("a", Precomputed(K.iloc[SHUFFLED], "id")), ("d", Distance(D, "id"))])
    plain = MKLClassifier([("a", Precomputed(K.to_numpy(), "id")), ("d", Distance(D.to_numpy(), "id"))])
    X, numbered = K.index.to_frame(name="id"), pd.DataFrame({"id": range(N)})
    np.testing.assert_array_equal(cross_val_score(labelled, X, Y, cv=5), cross_val_score(plain, numbered, Y, cv=5))
    grid = {"C": [0.1, 1.0], "kernels__d__scale": [1.0, 2.0]}
    scores = [
        GridSearchCV(model, grid, cv=3).fit(Z, Y).cv_results_["mean_test_score"]
        for model, Z in ((labelled, X), (plain, numbered))
    ]
    np.testing.assert_array_equal(*scores)


def test_matrices_of_different_samples_take_a_column_each():
    some, others = IDS[:20], IDS[10:]
    X = stack_views({"a": pd.Series(some, some), "b": pd.Series(others, others)})
    model = MKLClassifier([Precomputed(K.loc[some, some], "a"), Precomputed(K.loc[others, others], "b")])
    model.fit(X, Y)
    present = model._kernel.stack.presence(model._new_views(X))
    np.testing.assert_array_equal(present, [[row < 20, row >= 10] for row in range(N)])


def test_parts_of_kernels_and_gates_take_labels():
    X = pd.DataFrame({"id": IDS, "x": A[:, 0]})
    both = (Precomputed(K, "id") * Linear("x")).fit(X)
    np.testing.assert_allclose(both.gram(X), K.to_numpy() * np.outer(A[:, 0], A[:, 0]))
    pairs = pd.DataFrame({"one": IDS, "other": IDS[::-1]})
    plain = pd.DataFrame({"one": range(N), "other": range(N)[::-1]})
    pairwise = Pairwise(Precomputed(K), first="one", second="other").fit(pairs).gram(pairs)
    expected = Pairwise(Precomputed(K.to_numpy()), first="one", second="other").fit(plain).gram(plain)
    np.testing.assert_allclose(pairwise, expected)
    gated = [
        MKLClassifier([Precomputed(M, "id"), Linear("x")], Localized(inputs=KernelMap(Precomputed(M, "id")), l2=0.1))
        .set_params(random_state=0)
        .fit(Z, Y)
        .decision_function(Z)
        for M, Z in ((K, X), (K.to_numpy(), X.assign(id=range(N))))
    ]
    np.testing.assert_allclose(*gated)


class TestExtend:
    known, new = IDS[:20], IDS[20:]
    kernel = Precomputed(K.loc[known, known], "id")
    block = K.loc[new, known]

    def test_columns_by_label(self):
        wide = K.loc[self.new, IDS[rng.permutation(N)]]  # more columns, in another order
        more = self.kernel.extend(wide, pd.Series(np.diagonal(K), IDS)).fit(pd.DataFrame({"id": self.known}))
        ids = pd.DataFrame({"id": self.new})
        np.testing.assert_array_equal(more.cross(ids, pd.DataFrame({"id": self.known})), self.block)
        np.testing.assert_array_equal(more.diagonal(ids), np.diagonal(K)[20:])
        assert self.kernel.labels.tolist() == self.known.tolist()  # it is not changed

    @pytest.mark.parametrize("diagonal", [None, 2.0, np.arange(10.0)])
    def test_diagonals(self, diagonal):
        expected = np.diagonal(K)[20:] if diagonal is None else np.zeros(10) + diagonal
        more = self.kernel.extend(K.loc[self.new] if diagonal is None else self.block, diagonal)
        np.testing.assert_array_equal(more.self_similarity[20:], expected)
        assert np.isnan(self.kernel.extend(self.block).self_similarity[20:]).all()

    @pytest.mark.parametrize(
        ("change", "diagonal", "message"),
        [
            (lambda block: block.drop(columns="p03"), 1.0, "each of the 20 samples .* but lacks 'p03'"),
            (lambda block: block.rename(index={"p25": "p02"}), 1.0, "the id 'p02', which the kernel has already"),
            (
                lambda block: block.rename(index={"p25": "p24"}),
                1.0,
                "'p24' is there twice in the index",
            ),
            (lambda block: block.to_numpy(), 1.0, "K has labels, so extend needs rows with labels too"),
            (lambda block: block.where(block != block.iloc[2, 3]), 1.0, "the row 'p22' holds NaN"),
            (lambda block: block * np.nan, 1.0, "extend got rows with NaN"),
            (
                lambda block: block,
                pd.Series([1.0], ["p20"]),
                "lacks 'p21', 'p22', 'p23' and 6 more",
            ),
            (lambda block: block, np.ones(3), "one entry for each of 10 new samples"),
            (lambda block: block, np.nan, "diagonal of rows of extend holds NaN"),
        ],
    )
    def test_bad_blocks(self, change, diagonal, message):
        with pytest.raises(ValueError, match=message):
            self.kernel.extend(change(self.block), diagonal)

    def test_a_matrix_without_labels_needs_numbered_columns(self):
        plain = Precomputed(self.kernel.K)
        with pytest.raises(ValueError, match="matrix has no labels but positions.*lacks '0', '1', '2' and 17 more"):
            plain.extend(self.block, 1.0)
        shuffled = self.block.set_axis(range(20), axis=1).iloc[:, rng.permutation(20)]
        np.testing.assert_array_equal(plain.extend(shuffled, 1.0).rows, self.block)

    def test_distances(self):
        kernel = Distance(D.loc[self.known, self.known], "id", scale=2.0)
        more = kernel.extend(D.loc[self.new]).fit(pd.DataFrame({"id": self.known}))
        cross = more.cross(pd.DataFrame({"id": self.new}), pd.DataFrame({"id": self.known}))
        np.testing.assert_allclose(cross, np.exp(-(D.loc[self.new, self.known] ** 2) / 4.0))

    def test_some_columns(self):
        few = self.kernel.with_columns([5, 2])
        np.testing.assert_array_equal(few.extend(self.block[["p05", "p02"]], 1.0).rows, self.block[["p02", "p05"]])
        with pytest.raises(ValueError, match="and id 'p03' is none of them"):
            few.fit(pd.DataFrame({"id": ["p02", "p03"]}))


@pytest.mark.parametrize("n", [N, 600])  # less and more than a block of rows
def test_wrong_entries_are_named_by_label(n):
    labels = [f"p{row:03d}" for row in range(n)]
    for value, message in ((np.nan, "contains NaN or infinity"), (3.0, "differs from the transpose by up to 3")):
        matrix = pd.DataFrame(np.eye(n), labels, labels)
        matrix.iloc[n - 1, 7] = value
        with pytest.raises(ValueError, match=message) as caught:
            Precomputed(matrix)
        assert "'p007'" in str(caught.value) and f"'p{n - 1:03d}'" in str(caught.value)


@pytest.mark.parametrize("kind", [pd.Series, pd.Index, np.array, list])
def test_ids_in_one_dimension(kind):
    model = MKLClassifier([Precomputed(K)])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array of text.*ids, are one column"):
        model.fit(kind(IDS), Y)
    model.fit(pd.Index(IDS).to_frame(), Y)
    with pytest.raises(ValueError, match="got 1D array of text"):
        model.predict(kind(IDS))
