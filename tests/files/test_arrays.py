"""NPY and NPZ files."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelweave import MKLClassifier, read_views

A = np.arange(6.0).reshape(3, 2)
B = np.arange(3) + 10


def test_an_array_is_a_view(folder):
    np.save("a.npy", A)
    np.save("b.npy", B)
    X = read_views(["a.npy", "b.npy"]).X
    assert list(X.columns) == ["a__0", "a__1", "b__b"]
    np.testing.assert_array_equal(X[["a__0", "a__1"]], A)
    np.testing.assert_array_equal(X["b__b"], B)


def test_arrays_of_one_file_are_views_of_their_names(folder):
    np.savez("data.npz", rna=A, scan__x=A + 1, y=np.array(["u", "v", "u"]))
    tables = read_views(["data.npz"], target="data.npz:y")
    assert list(tables.X.columns) == ["rna__0", "rna__1", "scan_x__0", "scan_x__1"]
    assert tables.y.tolist() == ["u", "v", "u"]
    named = read_views({"visit": "data.npz"}, target="y")
    assert named.matched_by.index.tolist() == ["visit_rna", "visit_scan_x", "data.npz, array 'y'"]


def test_a_single_array_of_a_file_has_the_files_name(folder):
    np.savez_compressed("rna.npz", values=A, ids=np.array(["c", "a", "b"]), y=B)
    tables = read_views(["rna.npz"], target="rna.npz:y", id="sample")
    assert list(tables.X.columns) == ["rna__0", "rna__1"]
    assert list(tables.X.index) == ["c", "a", "b"]
    assert tables.matched_by["rna"] == "array 'ids'"
    assert tables.y.tolist() == [10, 11, 12]


def test_ids_of_each_array(folder, write):
    np.savez("data.npz", rna=A, rna_ids=[1, 2, 3], scan=A[:2], scan_ids=[3, 2])
    write({"labels.csv": "id,y\n1,u\n2,v\n3,u\n"})
    X = read_views(["data.npz"], target="labels.csv:y", id="id").X
    assert list(X.index) == ["1", "2", "3"]
    assert X.loc["3", "scan__0"] == 0.0
    assert X.loc["1", ["scan__0", "scan__1"]].isna().all()


def test_row_order_when_asked_for(folder):
    np.savez("data.npz", rna=A, ids=np.array(["a", "b", "a"]))
    X = read_views(["data.npz"], id=False).X
    assert X["ids__ids"].tolist() == ["a", "b", "a"]


def test_ids_that_do_not_fit(folder):
    np.savez("data.npz", rna=A, ids=np.arange(4))
    with pytest.raises(ValueError, match=r"data.npz, array 'rna' has 3 rows, and the array 'ids' has ids of 4 samples"):
        read_views(["data.npz"])
    np.savez("data.npz", rna=A, ids=A)
    with pytest.raises(ValueError, match="the array 'ids' should hold the ids of the samples and has 2 dimensions"):
        read_views(["data.npz"])


def test_text_and_records(folder):
    np.save("words.npy", np.array([["a", ""], ["b", "c"], ["", ""]]))
    records = np.array([(1, 2.5, b"x"), (3, 4.5, b"y"), (5, 6.5, b"z")], dtype=[("n", int), ("f", float), ("s", "S1")])
    np.save("records.npy", records)
    np.save("flags.npy", np.array([[True], [False], [True]]))
    tables = read_views(["words.npy", "records.npy", "flags.npy"])
    assert list(tables.X.columns) == ["words__0", "words__1", "records__n", "records__f", "records__s", "flags__0"]
    assert tables.X["words__0"].isna().tolist() == [False, False, True]
    assert tables.overlap.loc["words", "samples"] == 2
    assert tables.X["records__s"].tolist() == ["x", "y", "z"]
    assert tables.X["flags__0"].tolist() == [1.0, 0.0, 1.0]
    X = read_views(["records.npy"], id="s").X
    assert list(X.index) == ["x", "y", "z"]
    assert list(X.columns) == ["records__n", "records__f"]


@pytest.mark.parametrize("layout", ["scipy", "parts"])
def test_sparse_matrices(folder, layout):
    matrix = sp.csr_matrix(A)
    if layout == "scipy":
        sp.save_npz("bag.npz", matrix)
    else:
        parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
        np.savez("bag.npz", **parts, y=B)
    np.save("b.npy", B)
    X = read_views(["bag.npz", "b.npy"], target="y" if layout == "parts" else None).X
    assert list(X.columns) == ["bag", "b__b"]
    np.testing.assert_array_equal(X["bag"].array.matrix.toarray(), A)
    assert list(X["bag"].array.dtype.features) == ["0", "1"]


def test_a_model_of_a_sparse_view_from_a_file(folder, write):
    rng = np.random.default_rng(0)
    counts = sp.random(30, 50, 0.2, format="csr", random_state=0)
    np.savez("words.npz", data=counts.data, indices=counts.indices, indptr=counts.indptr, shape=counts.shape)
    np.save("age.npy", rng.normal(size=(30, 2)))
    write({"y.csv": "y\n" + "u\nv\n" * 15})
    tables = read_views(["words.npz", "age.npy"], target="y.csv:y")
    model = MKLClassifier(C=100).fit(tables.X, tables.y)
    assert model.kernel_names_ == ["words", "age"]
    assert (model.predict(tables.X.drop(columns=["age__0", "age__1"])) == tables.y).mean() > 0.9


BAD = {
    "objects": (np.array([{}, {}]), "bad.npy holds Python objects, which are not read.*astype"),
    "three dimensions": (np.zeros((2, 2, 2)), r"bad.npy has 3 dimensions; .*reshape\(len\(array\), -1\)"),
    "a number": (np.array(3.0), "bad.npy has 0 dimensions"),
    "no rows": (np.zeros((0, 2)), r"bad.npy is empty \(shape \(0, 2\)\)"),
    "no columns": (np.zeros((2, 0)), r"bad.npy is empty \(shape \(2, 0\)\)"),
    "all missing": (np.full((2, 2), np.nan), "bad.npy has no usable column"),
}


@pytest.mark.parametrize("case", BAD)
def test_arrays_that_are_no_view(folder, case):
    array, message = BAD[case]
    np.save("bad.npy", array)
    with pytest.raises(ValueError, match=message):
        read_views(["bad.npy"])


def test_files_that_are_no_arrays(write):
    write({"bad.npy": "id,a\n", "bad.npz": "id,a\n", "empty.npy": ""})
    for name in ("bad.npy", "bad.npz", "empty.npy"):
        with pytest.raises(ValueError, match=rf"{name} (cannot be read as NP|holds Python objects)"):
            read_views([name])
    np.savez("none.npz")
    with pytest.raises(ValueError, match="none.npz is empty"):
        read_views(["none.npz"])


def test_a_target_of_several_columns(folder):
    np.savez("data.npz", rna=A, y=A)
    with pytest.raises(ValueError, match="data.npz: the array 'y' is the target and has 2 columns"):
        read_views(["data.npz"], target="data.npz:y")
