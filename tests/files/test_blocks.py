"""Blocks of samples: one below the other they are what `read_views` reads, whatever the files look like."""

import bz2
import gzip
import io
import lzma
import os

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from pandas._libs.parsers import STR_NA_VALUES

from kernelweave import read_views, read_views_in_blocks
from kernelweave.files.read import RowBuffer
from kernelweave.views.frames import SparseRowsDtype


def check_same(paths, *, block_size, **options):
    """The blocks of some files are those of `read_views`; returns them as one frame."""
    expected = read_views(paths, **options)
    blocks = read_views_in_blocks(paths, block_size=block_size, **options)
    frames = list(blocks)
    assert blocks.n_samples == len(expected.X) == sum(map(len, frames))
    assert max(map(len, frames)) <= block_size
    assert all(frame.dtypes.equals(frames[0].dtypes) for frame in frames)
    pd.testing.assert_frame_equal(blocks.overlap, expected.overlap)
    pd.testing.assert_series_equal(blocks.matched_by, expected.matched_by)
    X = pd.concat(frames)
    for name in [name for name, dtype in X.dtypes.items() if isinstance(dtype, SparseRowsDtype)]:
        assert (X[name].array == expected.X[name].array).all()
        X, expected.X[name] = X.assign(**{name: 0.0}), 0.0
    whole = [name for name, dtype in expected.X.dtypes.items() if dtype.kind in "iu"]
    pd.testing.assert_frame_equal(X, expected.X.astype(dict.fromkeys(whole, float)))
    return X


def as_text(frame: pd.DataFrame, random, *, sep=",", decimal=".") -> str:
    out = io.StringIO()
    frame.to_csv(out, sep=sep, decimal=decimal, na_rep=random.choice(["", "NA", "NaN"]), lineterminator="\n")
    return out.getvalue()


def table(random, ids) -> pd.DataFrame:
    """A table of some samples, with gaps, whole numbers, truth values, and text with odd letters."""
    n = len(ids)
    texts = np.array(["ill", "well", 'a "b"', "two\nlines", "x;y,z", "7", "1.5", " é "], dtype=object)
    frame = pd.DataFrame(
        {
            "number": random.normal(size=n).round(4),
            "whole": random.integers(-5, 5, n),
            "word": random.choice(texts, n),
            "truth": random.choice([True, False], n),
            "late": np.where(np.arange(n) < n - 1, "3", "word"),
            "nothing": np.nan,
            "gaps": np.where(random.random(n) < 0.3, np.nan, random.normal(size=n).round(3)),
        },
        index=pd.Index(ids, name="sample"),
    )
    frame = frame.drop(columns=list(random.choice(frame.columns[1:], random.integers(0, 4), replace=False)))
    empty = random.random(n) < random.choice([0, 0.2])
    empty[random.integers(n)] = False
    return frame.mask(np.broadcast_to(empty[:, None], frame.shape)) if empty.any() else frame


@pytest.mark.parametrize("seed", range(14))
@pytest.mark.filterwarnings("ignore:.*the column is read as text")
def test_blocks_are_the_rows_of_read_views(folder, seed):
    random = np.random.default_rng(seed)
    everyone = [f"s{k}" for k in range(random.integers(3, 30))]
    sep, decimal = [(",", "."), (";", ","), ("\t", "."), (";", ".")][random.integers(4)]
    paths: list = []
    shared = random.choice(everyone)
    for view in range(random.integers(1, 4)):
        ids = [one for one in everyone if random.random() < random.choice([1, 0.7])]
        ids = list(dict.fromkeys([*ids, shared]))
        ids = ids if random.random() < 0.5 else list(random.permutation(ids))
        content = as_text(table(random, ids), random, sep=sep, decimal=decimal).encode(
            random.choice(["utf-8", "utf-8-sig", "utf-16"])
        )
        suffix, pack = [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)][
            random.integers(4)
        ]
        paths.append(f"view{view}.{'tsv' if sep == chr(9) else 'csv'}{suffix}")
        (folder / paths[-1]).write_bytes(pack(content))
    wanted = [None, "sample"][random.integers(2)]
    check_same(paths, block_size=int(random.integers(1, 12)), id=wanted, decimal=decimal)


@pytest.mark.parametrize("wanted", [None, False])
def test_rows_without_ids_go_in_step(write, wanted):
    write({"a.csv": "x,y\n" + "1.5,2\n2.5,3\n,\n3.5,4\n", "b.csv": "z\nu\nv\n\nw\n"})
    X = check_same(["a.csv", "b.csv"], block_size=2, id=wanted)
    assert list(X.index) == [0, 1, 3]
    assert list(read_views_in_blocks(["a.csv", "b.csv"], id=wanted).empty) == [2]


def test_a_first_column_may_hold_values(write):
    write({"a.csv": "x,y\n1.5,\n,\n2.5,3\n1.5,4\n", "b.csv": "word,z\nu,1\nu,2\nu,3\nv,4\n"})
    X = check_same(["a.csv", "b.csv"], block_size=3)
    assert list(X.columns) == ["a__x", "a__y", "b__word", "b__z"]


def test_some_tables_without_ids(write):
    write({"a.csv": "id,y\np,1\nq,2\nr,3\n", "b.csv": "z\n1.5\n2.5\n3.5\n"})
    X = check_same(["a.csv", "b.csv"], block_size=2)
    assert list(X.index) == ["p", "q", "r"]


@pytest.mark.parametrize("cell", [*sorted(STR_NA_VALUES - {""}), "-9", "-9.0", "?", "  "])
def test_cells_that_mean_a_missing_value(write, cell):
    write({"a.csv": f"id,y,w\np,1,u\nq,{cell},{cell}\nr,3,v\n"})
    options = {"id": "id", "na_values": ["?", -9]} if cell in ("-9", "-9.0", "?") else {"id": "id"}
    X = check_same(["a.csv"], block_size=2, **options)
    assert list(X.index) == ["p", "r"]


def test_a_row_that_only_blanks_keep_from_being_missing(write):
    write({"a.csv": "id,y,w\np,1,u\nq,NA , NA \nr,3,v\n"})
    assert list(check_same(["a.csv"], block_size=2, id="id").index) == ["p", "q", "r"]


def test_columns_without_name_and_values(write):
    write({"a.csv": "id,y,,\np,1,,\nq,2,,7\nr,3,,\n", "b.csv": "id,z,\np,1,\nq,2,\n"})
    assert list(check_same(["a.csv", "b.csv"], block_size=1, id="id").columns) == ["a__y", "a__Unnamed: 3", "b__z"]


def test_files_of_other_formats(write, folder):
    random = np.random.default_rng(0)
    ids = np.array([f"s{k}" for k in range(9)])
    write({"a.csv": "id,y\n" + "".join(f"{one},{k}\n" for k, one in enumerate(ids))})
    order = random.permutation(9)
    np.savez(folder / "b.npz", X=random.normal(size=(9, 3)), ids=ids[order])
    sp.save_npz(folder / "c.npz", sp.random(9, 4, 0.3, format="csr", random_state=0))
    np.save(folder / "d.npy", random.normal(size=(9, 2)))
    pytest.importorskip("pyarrow")
    pd.DataFrame({"id": ids, "w": list("abcdefghi"), "n": np.arange(9)}).to_parquet(folder / "e.parquet")
    check_same(["a.csv", "b.npz", "e.parquet"], block_size=4, id="id")
    X = check_same(["a.csv", "c.npz", "d.npy"], block_size=4)
    assert list(X.columns) == ["a__y", "c", "d__0", "d__1"]


class TestTypes:
    def test_types_do_not_depend_on_the_block(self, write):
        write({"a.csv": "id,w,n\np,1,1\nq,2,\nr,x,3\n"})
        first = next(iter(read_views_in_blocks(["a.csv"], block_size=1)))
        assert first["a__w"].tolist() == ["1"]
        assert first["a__n"].dtype == float

    @pytest.mark.parametrize("cells", [("True", "1"), ("1", "True"), ("", "True"), ("x", "2"), ("True", "x")])
    def test_types_of_all_blocks_make_that_of_the_column(self, write, cells):
        write({"a.csv": "id,w,n\n" + "".join(f"{one},{cell},1\n" for one, cell in zip("pq", cells, strict=True))})
        check_same(["a.csv"], block_size=1, id="id")

    def test_given_types_hold(self, write):
        write({"a.csv": "id,w,n,t\np,01,1,True\nq,2.0,,false\n"})
        types = {"a__w": "text", "a__n": "number", "a__t": "number"}
        (X,) = read_views_in_blocks(["a.csv"], types=types)
        assert X["a__w"].tolist() == ["01", "2.0"]
        assert X["a__t"].tolist() == [1.0, 0.0]

    def test_given_types_of_a_file_that_is_read_whole(self, folder):
        pytest.importorskip("pyarrow")
        pd.DataFrame({"id": ["p", "q"], "w": [1.0, 2.5], "n": ["3", "4.5"]}).to_parquet(folder / "a.parquet")
        (X,) = read_views_in_blocks(["a.parquet"], types={"a__w": "text", "a__n": "number"})
        assert X["a__w"].tolist() == ["1", "2.5"]
        assert X["a__n"].tolist() == [3.0, 4.5]

    @pytest.mark.parametrize(
        ("cell", "remedy"),
        [("high", r"pass na_values=\['high'\]"), ('"3,5"', "pass decimal=','")],
    )
    def test_a_cell_that_is_no_number(self, write, cell, remedy):
        write({"a.csv": f'id,w,n\np,"a\nb",1\nq,b,2\nr,c,{cell}\n'})
        blocks = read_views_in_blocks(["a.csv"], block_size=2, types={"a__w": "text", "a__n": "number"})
        assert len(next(iter(blocks))) == 2
        with pytest.raises(ValueError, match=rf"a\.csv, line 5, column 'n': '{cell.strip(chr(34))}' is no.*{remedy}"):
            list(blocks)

    def test_points_of_thousands_are_no_decimals(self, write):
        write({"a.csv": "id;n\np;1,5\nq;1.234\n"})
        with pytest.raises(ValueError, match=r"line 3, column 'n': '1\.234' is no number"):
            list(read_views_in_blocks(["a.csv"], decimal=",", types={"a__n": "number"}))

    def test_chosen_columns_only(self, write):
        write({"a.csv": "id,w,n\np,1,1\nq,2,\nr,x,3\n"})
        blocks = read_views_in_blocks(["a.csv"], columns=["a__n", "a__other", "b__w"], id="id")
        (X,) = blocks
        assert list(X.columns) == ["a__n"]
        assert list(X.index) == ["p", "r"]
        assert list(blocks.empty) == ["q"]
        with pytest.raises(ValueError, match="no column beside the ids"):
            read_views_in_blocks(["a.csv"], columns=["b__w"], id="id")
        with pytest.raises(ValueError, match=r"a.csv has none of the 1 columns of the view 'a' \('other'\)"):
            read_views_in_blocks(["a.csv"], columns=["a__other"], id="id")

    def test_a_first_column_that_is_not_asked_for_holds_ids(self, write):
        write({"a.csv": "id,n\n7,1\n3,2\n", "b.csv": "weight,n\n7.5,1\n3.5,2\n", "c.csv": "id,n\np,1\np,2\n"})
        (X,) = read_views_in_blocks(["a.csv"], columns=["a__n"])
        assert list(X.index) == ["7", "3"] and list(X.columns) == ["a__n"]
        (X,) = read_views_in_blocks(["b.csv"], columns=["b__n"])
        assert list(X.index) == [0, 1] and list(X.columns) == ["b__n"]
        with pytest.raises(ValueError, match="the id 'p' stands in line 2 and again in line 3"):
            read_views_in_blocks(["c.csv"], columns=["c__n"])

    def test_odd_cells_are_warned_of(self, write):
        rows = "".join(f"s{k},{k}\n" for k in range(30))
        write({"a.csv": f"id,n\n{rows}t,high\n{rows.replace('s', 'u')}"})
        with pytest.warns(UserWarning, match="line 32, column 'n'.*60 of 61 cells are numbers and this one is 'high'"):
            read_views_in_blocks(["a.csv"], block_size=7)


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ({"a.csv": "id,n\np,1\np,2\n"}, {"id": "id"}),
        ({"a.csv": "id,n\np,1\n,2\n"}, {"id": "id"}),
        ({"a.csv": "id,n\np,1\nq,2,3\n"}, {}),
        ({"a.csv": 'id,n\np,1\nq,"2\n'}, {}),
        ({"a.csv": "id,n\n"}, {}),
        ({"a.csv": ""}, {}),
        ({"a.csv": "id,n\np,\n"}, {}),
        ({"a.csv": "id,n\np,1\n"}, {"id": "sample"}),
        ({"a.csv": "id\np\nq\n"}, {"id": "id"}),
        ({"a.csv": b"id,n\np,\xff\n"}, {}),
        ({"a.csv": "id,n\nP1,1\n", "b.csv": "id,n\np-1,1\n"}, {}),
        ({"a.csv": "n\n1\n2\n", "b.csv": "n\n1\n"}, {}),
        ({"a.csv": "id,n\np,1\n"}, {"sep": "ab"}),
        ({"a.csv": "id,n\np,1\n"}, {"id": {"x": "id"}}),
    ],
)
def test_messages_are_those_of_read_views(write, files, options):
    write(files)
    with pytest.raises(ValueError) as expected:
        read_views(list(files), **options)
    with pytest.raises(ValueError) as found:
        read_views_in_blocks(list(files), **options)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("block_size", [0, True, 2.5, None])
def test_sizes_that_no_block_can_have(write, block_size):
    write({"a.csv": "id,n\np,1\n"})
    with pytest.raises(ValueError, match="block_size must be"):
        read_views_in_blocks(["a.csv"], block_size=block_size)


@pytest.mark.parametrize("types", [["a"], {"a__n": "float"}])
def test_types_that_no_column_can_have(write, types):
    write({"a.csv": "id,n\np,1\n"})
    with pytest.raises(ValueError, match="'number' or 'text'"):
        read_views_in_blocks(["a.csv"], types=types)


def test_a_file_that_changes_in_between(write):
    write({"a.csv": "id,n\np,1\nq,2\n"})
    blocks = read_views_in_blocks(["a.csv"])
    write({"a.csv": "id,n\nq,2\np,1\n"})
    os.utime("a.csv", ns=(1, 1))
    with pytest.raises(ValueError, match="has changed since its ids were read"):
        list(blocks)


def test_files_with_long_cells_are_read_in_turns(write):
    word = "w" * 200_000
    lines = "".join(f'p{k},"{word}"\n' for k in range(4))
    write({"a.csv": f"id,n\n{lines}", "b.csv": f"id,n\n{lines}"})
    check_same(["a.csv", "b.csv"], block_size=1, id="id")


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_rows_wait_only_where_files_differ_in_their_order(write, monkeypatch, is_shuffled):
    n, size, most = 400, 20, 0
    take = RowBuffer.take

    def watched(self, samples, n_rows):
        nonlocal most
        rows = take(self, samples, n_rows)
        most = max(most, sum(len(part.rows) for part in self._parts))
        assert len(self._parts) < 6
        return rows

    monkeypatch.setattr(RowBuffer, "take", watched)
    order = np.random.default_rng(0).permutation(n) if is_shuffled else np.arange(n)
    # The second file has samples that the first lacks, which come last and do not wait for their turn.
    write({"a.csv": "id,x\n" + "".join(f"s{k},{k}\n" for k in range(0, n, 2))})
    write({"b.csv": "id,x\n" + "".join(f"s{k},{k}\n" for k in order)})
    check_same(["a.csv", "b.csv"], block_size=size, id="id")
    assert (most > n / 4) if is_shuffled else (most < size)


@pytest.mark.parametrize("target", ["labels.csv:diagnosis", "labels.csv:grade", "a.csv:word", "number"])
def test_targets_are_those_of_read_views(tmp_path, target):
    random = np.random.default_rng(0)
    ids = [f"p{k}" for k in range(20)]
    frame = table(random, ids)
    frame.to_csv(tmp_path / "a.csv")
    table(random, ids[3:17]).drop(columns="number", errors="ignore").to_csv(tmp_path / "b.csv")
    labels = pd.DataFrame({"diagnosis": ["ill", "well"] * 10, "grade": range(20)}, index=pd.Index(ids, name="sample"))
    labels[::-1].assign(diagnosis=lambda t: t["diagnosis"].where(np.arange(20) > 3)).to_csv(tmp_path / "labels.csv")
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    expected = read_views(paths, target, id="sample", keep_columns=["b.csv:word"] if "word" in target else [])
    blocks = read_views_in_blocks(paths, target=target, id="sample", block_size=6)
    y = blocks.y[blocks.y.index.isin(expected.X.index)].loc[expected.X.index]
    assert y.tolist() == expected.y.tolist()
    X = pd.concat(list(blocks))
    assert set(X) == set(expected.X) and len(X) == 20
    assert target.rpartition(":")[2] not in [name.partition("__")[2] for name in X if name.startswith("a__")]


def test_messages_on_targets_name_the_remedy(tmp_path):
    pd.DataFrame({"sample": ["a", "b"], "x": [1.0, 2.0], "y": [1.0, 2.0]}).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame({"sample": ["c", "d"], "y": [1.0, 2.0]}).to_csv(tmp_path / "l.csv", index=False)
    for target, message in (
        ("l.csv:z", "l.csv has no column 'z'"),
        ("z", "a.csv has no column 'z'"),
        ("l.csv:y", "have no sample in common"),
        ("l.csv:sample", "is both id and target"),
    ):
        with pytest.raises(ValueError, match=message):
            read_views_in_blocks([tmp_path / "a.csv"], target=target, id="sample")
