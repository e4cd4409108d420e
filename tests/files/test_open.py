"""`open_views`: blocks one below the other are what is in the files, and what is wrong is one clear error."""

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernelweave import open_views, read_views
from kernelweave.files.rows import ReadingError

pytest.importorskip("pyarrow")


def whole(table):
    """All blocks of a table as one X and one y; reading a block again gives the same."""
    blocks = list(table.blocks())
    assert [first for first, _, _ in blocks] == list(range(0, table.n_samples, table.block_size))
    assert all(X.dtypes.equals(blocks[0][1].dtypes) for _, X, _ in blocks)
    for number in reversed(range(table.n_blocks)):
        pd.testing.assert_frame_equal(table.block(number)[1], blocks[number][1])
    X = pd.concat([X for _, X, _ in blocks])
    y = None if blocks[0][2] is None else np.concatenate([y for _, _, y in blocks])
    return X, y


def mixed(random, n):
    """A table with numbers of several types, gaps, text and categories."""
    return pd.DataFrame(
        {
            "number": random.normal(size=n),
            "narrow": random.normal(size=n).astype(np.float32),
            "whole": random.integers(-5, 5, n),
            "truth": random.random(n) < 0.5,
            "gaps": pd.array(np.where(random.random(n) < 0.3, None, random.integers(0, 9, n)), dtype="Int64"),
            "word": random.choice(np.array(["ab", "ba", None], dtype=object), n),
            "kind": pd.Categorical(random.choice(["x", "y"], n)),
        },
        index=pd.Index([f"s{k}" for k in range(n)], name="sample"),
    )


@pytest.mark.parametrize("block_size", [1, 7, 30, 1000])
@pytest.mark.parametrize("row_group_size", [4, 100])
def test_parquet_is_what_read_views_reads(folder, block_size, row_group_size):
    random = np.random.default_rng(0)
    mixed(random, 40).to_parquet("a.parquet", row_group_size=row_group_size)
    b = pd.DataFrame({"x": random.normal(size=40), "label": random.choice(["ill", "well"], 40)})
    b.set_axis([f"s{k}" for k in range(40)]).rename_axis("sample").to_parquet("b.parquet")
    table = open_views(["a.parquet", "b.parquet"], target="label", block_size=block_size)
    X, y = whole(table)
    expected = read_views(["a.parquet", "b.parquet"], target="label")
    for name in ("a__word", "a__kind"):
        column = expected.X[name].astype(object)
        expected.X[name] = column.where(column.notna(), None)
    pd.testing.assert_frame_equal(X, expected.X, check_dtype=False, check_index_type=False)
    assert list(y) == list(expected.y)
    assert list(table.columns) == list(expected.X.columns)
    assert table.dtypes.astype(str).tolist() == [str(dtype) for dtype in X.dtypes]
    kinds = ["float64", "float32", "float64", "float32", "float64", "object", "object", "float64"]
    assert table.dtypes.astype(str).tolist() == kinds


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", ">f8", "i8", "u1", "?"])
def test_npy_files_maps_and_arrays(folder, order, dtype):
    array = np.asarray(np.random.default_rng(0).integers(0, 2, (23, 3)), dtype=dtype, order=order)
    np.save("a.npy", array)
    raw = np.memmap("raw.bin", dtype=dtype, mode="w+", shape=array.shape, order=order)
    raw[:] = array
    for given in ("a.npy", ["a.npy"], {"a": np.load("a.npy", mmap_mode="r")}, {"a": raw}, {"a": array}):
        table = open_views(given, block_size=5)
        X, y = whole(pickle.loads(pickle.dumps(table)))
        assert y is None
        assert list(X.columns) == ["a__0", "a__1", "a__2"]
        assert np.array_equal(X.to_numpy(), array)
        assert set(X.dtypes.astype(str)) == {"float32" if dtype in ("f4", "u1", "?") else "float64"}


def test_a_slice_of_a_memory_map_is_found_again_in_another_process(folder):
    raw = np.memmap("raw.bin", dtype="f8", mode="w+", shape=(20, 3), offset=16)
    raw[:] = np.arange(60.0).reshape(20, 3)
    raw.flush()
    for part in (raw[5:15], raw[5:15][2:4], raw[:, 1:], raw.T[1:]):
        table = open_views({"a": part})
        state = pickle.dumps(table)
        assert np.array_equal(pickle.loads(state).rows(0, len(part)).to_numpy(), part)
    assert b"raw.bin" in pickle.dumps(open_views({"a": raw[5:15]}))


def test_no_rows_are_pickled(folder):
    np.save("a.npy", np.zeros((10000, 4)))
    pd.DataFrame({"x": np.zeros(10000)}).to_parquet("b.parquet")
    table = open_views(["a.npy", "b.parquet"])
    table.block(0)
    assert len(pickle.dumps(table)) < 5000


def test_folders_of_parts_in_the_order_of_their_numbers(folder):
    rows = np.arange(60.0).reshape(20, 3)
    for name in ("npy", "table"):
        (folder / name).mkdir()
    for k, part in enumerate(np.split(rows, [2, 3, 9, 9, 12, 13, 14, 15, 16, 17, 18])):
        frame = pd.DataFrame(part, columns=list("abc"))
        frame[frame.columns[:: -1 if k % 2 else 1]].to_parquet(folder / "table" / f"part.{k}.parquet")
        np.save(folder / "npy" / f"part-{k}.npy", part)
    for name in ("_SUCCESS", ".part.0.parquet.crc", "part.0.parquet.crc", "README.txt"):
        (folder / "table" / name).touch()
    X, _ = whole(open_views(["npy", "table"], block_size=4))
    assert list(X.columns) == ["npy__0", "npy__1", "npy__2", "table__a", "table__b", "table__c"]
    assert np.array_equal(X.to_numpy(), np.hstack([rows, rows]))


def test_a_list_of_files_is_the_parts_of_a_view(folder):
    np.save("q.npy", np.zeros((2, 1)))
    np.save("p.npy", np.ones((1, 1)))
    table = open_views({"a": ["q.npy", folder / "p.npy"], "b": np.arange(3.0)})
    assert whole(table)[0].to_numpy().tolist() == [[0.0, 0.0], [0.0, 1.0], [1.0, 2.0]]
    assert list(table.columns) == ["a__0", "b__b"]


def test_relative_paths_hold_where_the_working_directory_changes(folder, monkeypatch):
    np.save("a.npy", np.arange(4.0)[:, None])
    pd.DataFrame({"x": np.arange(4.0)}).to_parquet("b.parquet")
    (folder / "other").mkdir()
    table = open_views(["a.npy", "b.parquet"])
    monkeypatch.chdir(folder / "other")
    assert table.head(2).to_numpy().tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert pickle.loads(pickle.dumps(table)).take([3]).to_numpy().tolist() == [[3.0, 3.0]]


def test_one_path_alone_with_named_views(folder):
    frame = pd.DataFrame({"a__x": [1.0, 2.0], "b__y": [3.0, 4.0], "label": ["u", "v"]}, index=["p", "q"])
    frame.to_parquet("all.parquet")
    X, y = whole(open_views("all.parquet", target="label"))
    pd.testing.assert_frame_equal(X, frame[["a__x", "b__y"]], check_index_type=False)
    assert list(y) == ["u", "v"]
    assert list(open_views(["all.parquet"]).columns[:2]) == ["all__a__x", "all__b__y"]
    assert list(open_views("all.parquet", target="b__y").columns) == ["a__x", "label"]


def targets(folder):
    y = np.array(["u", "v", "w", "u"])
    np.save("y.npy", y)
    pd.DataFrame({"label": y, "other": [1, 2, 3, 4]}).to_parquet("labels.parquet")
    pd.DataFrame({"only": y}).to_parquet("only.parquet")
    yield from ("y.npy", folder / "y.npy", y, list(y), pd.Series(y), "labels.parquet:label")
    yield from (("labels.parquet", "label"), (folder / "labels.parquet", "label"), folder / "only.parquet", "t__label")
    yield "label"


def test_ways_to_give_a_target(folder):
    np.save("a.npy", np.zeros((4, 2)))
    pd.DataFrame({"label": ["u", "v", "w", "u"], "x": np.arange(4.0)}).to_parquet("t.parquet")
    for target in targets(folder):
        named = isinstance(target, tuple) or (isinstance(target, str) and target.startswith("labels.parquet"))
        kept = ["t.parquet:label"] if named else []  # the name of the target, elsewhere
        table = open_views(["a.npy", "t.parquet"], target, id=False, keep_columns=kept)
        assert list(whole(table)[1]) == ["u", "v", "w", "u"], target
        inside = target in ("label", "t__label") if isinstance(target, str) else False
        assert ("t__label" in table.columns) != inside
        assert table.target is not None


def test_a_column_with_the_name_of_the_target_is_left_out(folder):
    frame = pd.DataFrame({"label": ["u", "v", "w", "u"], "x": np.arange(4.0)})
    frame.to_parquet("t.parquet")
    frame.to_parquet("s.parquet")
    frame[["label"]].to_parquet("only.parquet")
    with pytest.warns(UserWarning, match="t.parquet: the column 'label' has the name of the target and is left out"):
        table = open_views(["t.parquet", "s.parquet"], ("s.parquet", "label"), id=False)
    assert list(table.columns) == ["t__x", "s__x"]
    with pytest.warns(UserWarning, match="only.parquet: the column 'label'"):
        table = open_views(["s.parquet", "only.parquet"], ("s.parquet", "label"), id=False)
    assert list(table.columns) == ["s__x"]
    whole_file = pd.DataFrame({"a__x": [1.0, 2.0], "a__y": [1.0, 2.0], "b__y": [3.0, 4.0]})
    whole_file.to_parquet("all.parquet")
    with pytest.warns(UserWarning, match="the column 'y' has the name of the target"):
        assert list(open_views("all.parquet", target="b__y").columns) == ["a__x"]
    with pytest.raises(ValueError, match="keep_columns has 't.parquet:x', but there is no such column"):
        open_views(["t.parquet"], "label", id=False, keep_columns=["t.parquet:x"])


def test_targets_keep_their_type(folder):
    np.save("a.npy", np.zeros((4, 2)))
    for values, kind in (([0, 1, 1, 0], "i"), ([True, False, True, True], "b"), ([0.5, 1.0, 2.0, 3.0], "f")):
        pd.DataFrame({"y": values}).to_parquet("y.parquet")
        np.save("y.npy", np.array(values))
        for target in ("y.parquet:y", "y.npy"):
            y = open_views(["a.npy"], target).block(0)[2]
            assert y.dtype.kind == kind and y.tolist() == values
    np.save("two.npy", np.arange(8).reshape(4, 2))
    table = open_views(["a.npy"], "two.npy", block_size=3)
    assert table.target_names == [0, 1] and np.array_equal(whole(table)[1], np.arange(8.0).reshape(4, 2))
    assert list(open_views(["a.npy", "two.npy"], "two.npy").columns) == ["a__0", "a__1"]


def test_several_targets_by_name(folder):
    np.save("a.npy", np.zeros((3, 1)))
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "u": [4, 5, 6], "v": [0.5, 1.5, 2.5], "word": list("pqr")})
    frame.to_parquet("t.parquet")
    expected = frame[["v", "u"]].to_numpy(dtype=float)
    for paths, target in (
        (["a.npy", "t.parquet"], ["v", "u"]),
        (["a.npy", "t.parquet"], ["t__v", "u"]),
        (["a.npy", "t.parquet"], ("t.parquet", ["v", "u"])),
        (["a.npy"], (folder / "t.parquet", ["v", "u"])),
    ):
        table = open_views(paths, target, block_size=2, id=False)
        assert table.target_names == ["v", "u"] and table.target == "v, u"
        assert np.array_equal(whole(table)[1], expected)
        assert list(table.columns) == (["a__0", "t__x", "t__word"] if len(paths) == 2 else ["a__0"])
    labels = open_views(["a.npy", "t.parquet"], ["v", "u", "no"])  # one for each sample, of which one is no column
    assert labels.target_names is None and list(labels.block(0)[2]) == ["v", "u", "no"]
    with pytest.raises(ValueError, match="t.parquet: the target 'word' holds no numbers; several targets are for"):
        open_views("t.parquet", ["u", "word"], id=False).block(0)
    frame.assign(u=[4, None, 6]).to_parquet("t.parquet")
    with pytest.raises(ValueError, match="t.parquet, row 2: the target 'u' is missing"):
        open_views("a.npy", ("t.parquet", ["v", "u"])).block(0)


def test_ids_are_found_and_compared(folder):
    names = [f"p{k}" for k in range(10)]
    pd.DataFrame({"who": names, "x": np.arange(10.0)}).to_parquet("a.parquet")
    pd.DataFrame({"z": np.arange(10.0), "who": names}).to_parquet("b.parquet")
    np.save("c.npy", np.zeros((10, 1)))
    table = open_views(["a.parquet", "b.parquet", "c.npy"], id="who", block_size=3)
    X, _ = whole(table)
    assert list(X.index) == names and X.index.name == "who" and list(X.columns) == ["a__x", "b__z", "c__0"]
    assert list(open_views(["a.parquet"]).head().index) == names[:5]
    assert list(open_views(["a.parquet"], id=False).columns) == ["a__who", "a__x"]
    assert list(open_views(["a.parquet", "c.npy"], id={"a": "who"}).head(1).index) == ["p0"]
    swapped = [*names[:7], "p8", "p7", "p9"]
    pd.DataFrame({"z": np.arange(10.0), "who": swapped}).to_parquet("b.parquet")
    table = open_views(["a.parquet", "b.parquet"], id="who", block_size=3)
    table.block(0)
    with pytest.raises(ValueError, match=r"b.parquet, row 8: the id is 'p8', not 'p7' as in a.parquet; .*read_views"):
        table.rows(6, 9, with_ids=False)


def test_samples_by_position(folder):
    np.save("a.npy", np.arange(20.0)[:, None])
    table = open_views(["a.npy"], block_size=6)
    for rows in ([19, 0, 7, 7], [3], [], np.arange(20)):
        assert table.take(rows)["a__0"].tolist() == list(rows)
        assert table.take(rows).index.tolist() == list(rows)
    assert len(table.head()) == 5 and len(table.head(0)) == 0 and len(table.head(100)) == 20
    assert table.shape == (20, 1) and len(table) == 20 and table.nbytes == 160
    for rows, error in (([20], IndexError), ([-1], IndexError), ([0.5], ValueError), ([[1]], ValueError)):
        with pytest.raises(error, match="rows must be"):
            table.take(rows)
    with pytest.raises(IndexError, match="no block 4; there are 4"):
        table.block(4)


def wrong_calls():
    yield {"paths": []}, "paths is empty"
    yield {"paths": "none.npy"}, "there is no file or folder 'none.npy'"
    yield {"paths": "a.csv"}, "a.csv is a text file.*to_parquet"
    yield {"paths": "a.xlsx"}, "suffix '.xlsx', and open_views takes .npy"
    yield {"paths": "empty"}, "the folder empty has no NPY or Parquet files"
    yield {"paths": "nested"}, "the folder nested has no NPY or Parquet files.*such as 'inside'"
    yield {"paths": "hive"}, "the folder hive is partitioned: .*such as 'year=1'.*column 'year'.*write_dataset"
    yield {"paths": "hive/*.parquet"}, "no file or folder .*name the folder"
    yield {"paths": "several"}, "files of several formats"
    yield {"paths": "other"}, "part-1.parquet lacks the column 'y', unlike .*part-0.parquet"
    yield {"paths": "types"}, "the column 'x' holds numbers in .*part-0.parquet and text in .*part-1.parquet"
    yield {"paths": "wide"}, "part-1.npy has a column '2', unlike"
    yield {"paths": ["a.npy", "short.parquet"]}, "a.npy has 4 rows and short.parquet has 3; row k of all files"
    yield {"paths": "a.npy", "target": np.zeros(3)}, "a.npy has 4 rows and the array of the target has 3"
    yield {"paths": "zero.parquet"}, "zero.parquet has no rows"
    yield {"paths": "zero.npy"}, "zero.npy has no rows"
    yield {"paths": {"a": np.zeros((0, 2))}}, "the array of the view 'a' is empty"
    yield {"paths": "flat.npy"}, "flat.npy has no columns"
    yield {"paths": "cut.npy"}, "cut.npy is cut off: .* takes 192 bytes, and the file has 150"
    yield {"paths": "cut.parquet"}, "cut.parquet cannot be read as Parquet"
    yield {"paths": "cube.npy"}, "cube.npy has 3 dimensions"
    yield {"paths": "objects.npy"}, "objects.npy holds Python objects"
    yield {"paths": "records.npy"}, "records.npy holds records"
    yield {"paths": "no.npy"}, "no.npy cannot be read as NPY"
    yield {"paths": "lists.parquet"}, "the column 'x' holds lists or records"
    yield {"paths": np.zeros((3, 2))}, "an array has no name.*mapping"
    yield {"paths": {"a": [1, 2]}}, "must be a path, an array of NumPy or, by view, a list of paths"
    yield {"paths": {"a__b": "a.npy"}}, "view name 'a__b'"
    yield {"paths": ["a.npy", "empty/../a.npy"]}, "the view 'a' would be both a.npy and"
    yield {"paths": pd.DataFrame({"x": [1.0]})}, "paths must be paths.*take data frames as they are"
    yield {"paths": 3}, "paths must be paths"
    yield {"paths": "t.parquet", "target": "lable"}, "t.parquet has no column 'lable'.*did you mean 'label'"
    yield {"paths": ["a.npy", "t.parquet"], "target": "none"}, "none of the 2 views has a column 'none'"
    yield {"paths": ["t.parquet", "u=t.parquet"], "target": "label"}, "'label' is a column of t.parquet and t.parquet"
    yield {"paths": "a.npy", "target": "none.npy"}, "there is no NPY or Parquet file 'none.npy' for the target"
    yield {"paths": "a.npy", "target": "t.parquet"}, "t.parquet has 2 columns that could be the target"
    yield {"paths": "a.npy", "target": ("t.parquet", "no")}, "t.parquet has no column 'no'"
    yield {"paths": "a.npy", "target": 3}, "target must be a column, a path"
    yield {"paths": "t.parquet", "target": ("t.parquet", ["x", 3])}, "target must be a column, a path"
    yield {"paths": "t.parquet", "target": ["x", "lable"]}, "t.parquet has no column 'lable'"
    yield {"paths": "a.npy", "target": ("t.parquet", ["x", "no"])}, "t.parquet has no column 'no'"
    yield {"paths": "t.parquet", "target": ["x", "x"]}, "the target 'x' is named twice"
    yield {"paths": "t.parquet", "id": "who"}, "t.parquet has no column 'who'"
    yield {"paths": "t.parquet", "id": "label", "target": "label"}, "'label' is both id and target"
    yield {"paths": "a.npy", "id": "who"}, "NPY files and arrays have no column of ids"
    yield {"paths": "a.npy", "id": 3}, "id must be a column's name"
    yield {"paths": "a.npy", "id": {"b": "who"}}, "id names 'b'"
    yield {"paths": "only.parquet", "target": "label"}, "no file has columns for a view"
    yield {"paths": "a.npy", "block_size": 0}, "block_size must be a whole number"


@pytest.fixture(scope="module")
def odd_folder(tmp_path_factory):
    folder, before = tmp_path_factory.mktemp("odd"), Path.cwd()
    os.chdir(folder)
    try:
        _write_odd_files(folder)
    finally:
        os.chdir(before)
    return folder


def _write_odd_files(folder):
    np.save("a.npy", np.zeros((4, 2)))
    (folder / "a.csv").write_text("x\n1\n")
    (folder / "a.xlsx").touch()
    for name in ("empty", "nested", "nested/inside", "several", "other", "types", "wide", "hive", "hive/year=1"):
        (folder / name).mkdir()
    np.save("several/a.npy", np.zeros((4, 2)))
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    frame.to_parquet("several/b.parquet")
    frame.to_parquet("other/part-0.parquet")
    frame[["x"]].to_parquet("other/part-1.parquet")
    frame.to_parquet("types/part-0.parquet")
    frame.assign(x=["u", "v"]).to_parquet("types/part-1.parquet")
    np.save("wide/part-0.npy", np.zeros((2, 2)))
    np.save("wide/part-1.npy", np.zeros((2, 3)))
    pd.DataFrame({"x": [1.0, 2.0, 3.0]}).to_parquet("short.parquet")
    frame.iloc[:0].to_parquet("zero.parquet")
    np.save("zero.npy", np.zeros((0, 2)))
    np.save("flat.npy", np.zeros((4, 0)))
    (folder / "cut.npy").write_bytes((folder / "a.npy").read_bytes()[:150])
    (folder / "cut.parquet").write_bytes((folder / "short.parquet").read_bytes()[:-20])
    np.save("cube.npy", np.zeros((4, 2, 2)))
    np.save("objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    np.save("records.npy", np.zeros(3, dtype=[("x", "f8")]))
    (folder / "no.npy").write_bytes(b"text")
    pd.DataFrame({"x": [[1.0], [2.0]]}).to_parquet("lists.parquet")
    pd.DataFrame({"label": list("uvwu"), "x": np.arange(4.0)}).to_parquet("t.parquet")
    pd.DataFrame({"label": list("uvwu")}).to_parquet("only.parquet")


@pytest.mark.parametrize(("call", "message"), list(wrong_calls()), ids=lambda value: str(value)[:40])
def test_one_error_names_the_file_and_the_remedy(odd_folder, monkeypatch, call, message):
    monkeypatch.chdir(odd_folder)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        open_views(**call)


def test_missing_targets_and_ids_are_named_by_row(folder):
    np.save("a.npy", np.zeros((6, 1)))
    for missing in (None, " "):
        pd.DataFrame({"y": ["u", "v", "u", "v", missing, "u"]}).to_parquet("y.parquet")
        table = open_views(["a.npy"], "y.parquet:y", block_size=2)
        table.block(1)
        with pytest.raises(ValueError, match="y.parquet, row 5: the target 'y' is missing"):
            table.block(2)
    pd.DataFrame({"y": [1.0, np.nan]}).to_parquet("n.parquet")
    with pytest.raises(ValueError, match="n.parquet, row 2: the target"):
        open_views({"a": np.zeros((2, 1))}, "n.parquet:y").block(0)
    pd.DataFrame({"who": ["p", None], "x": [1.0, 2.0]}).to_parquet("i.parquet")
    with pytest.raises(ValueError, match="i.parquet, row 2: the sample's id is missing"):
        open_views(["i.parquet"], id="who").block(0)


def test_a_file_that_changes_or_goes_is_an_error_that_names_the_rows(folder):
    np.save("a.npy", np.zeros((6, 2)))
    pd.DataFrame({"x": np.zeros(6)}).to_parquet("b.parquet")
    for name in ("a.npy", "b.parquet"):
        table = open_views([name], block_size=2)
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-8])
        with pytest.raises(ReadingError, match=f"{name} has changed since it was opened"):
            table.block(1)
        (folder / name).unlink()
        with pytest.raises(ReadingError, match=f"{name} cannot be read any more"):
            table.block(1)


def test_a_damaged_block_is_an_error_that_names_file_and_rows(folder):
    random = np.random.default_rng(0)
    pd.DataFrame({"x": random.normal(size=4000)}).to_parquet("b.parquet", row_group_size=1000, compression="snappy")
    content = bytearray((folder / "b.parquet").read_bytes())
    middle = len(content) // 2
    content[middle - 6000 : middle + 6000] = bytes(12000)
    (folder / "b.parquet").write_bytes(bytes(content))
    table = open_views(["b.parquet"], block_size=500)
    table.block(0)
    with pytest.raises(ReadingError, match=r"b.parquet, rows \d+ to \d+: cannot be read"):
        list(table.blocks())


def test_text_arrays_and_one_dimension(folder):
    np.save("word.npy", np.array(["ab", "", "ba"]))
    np.save("size.npy", np.array([1.0, np.nan, 3.0]))
    X, _ = whole(open_views(["word.npy", "size.npy"], block_size=2))
    assert list(X.columns) == list(read_views(["word.npy", "size.npy"]).X.columns)
    assert X["word__word"].tolist() == ["ab", None, "ba"]
    assert X["size__size"].isna().tolist() == [False, True, False]


def test_repr_has_sizes(folder):
    np.save("a.npy", np.zeros((2500, 40)))
    assert repr(open_views(["a.npy"], target=np.zeros(2500, dtype=int))) == (
        "OpenViews of 2500 samples and 40 columns (800 kB), target 'target', in 1 block of at most 8192"
    )


def test_without_pyarrow_the_error_names_the_extra(folder, monkeypatch):
    pd.DataFrame({"x": [1.0]}).to_parquet("b.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"b.parquet: pyarrow is needed .* pip install kernelweave\[parquet\]"):
        open_views(["b.parquet"])
