"""Parquet files."""

import decimal
import sys

import numpy as np
import pandas as pd
import pytest

from kernelweave import open_views, read_views, read_views_in_blocks

FRAME = pd.DataFrame({"sample": ["a", "b", "c"], "x": [1.0, 2.0, 3.0], "s": ["u", None, "w"]})


def test_a_stored_index_is_a_first_column(folder):
    FRAME.set_index("sample").to_parquet("named.parquet")
    FRAME.set_index("sample").rename_axis(None).to_parquet("unnamed.pq")
    FRAME.to_parquet("plain.parquet")
    for name in ("named.parquet", "unnamed.pq", "plain.parquet"):
        for wanted in ("sample", None):
            X = read_views([name], id=wanted).X
            view = name.partition(".")[0]
            assert list(X.columns) == [f"{view}__x", f"{view}__s"]
            assert list(X.index) == ["a", "b", "c"]


def test_an_index_of_several_levels(folder):
    index = pd.MultiIndex.from_tuples([("a", 1), ("b", 1), ("c", 2)], names=["sample", "visit"])
    FRAME.drop(columns="sample").set_index(index).to_parquet("a.parquet")
    X = read_views(["a.parquet"], id="sample").X
    assert list(X.columns) == ["a__visit", "a__x", "a__s"]
    assert X.loc["c"].tolist() == [2, 3.0, "w"]


def test_a_target_that_stands_twice(folder):
    FRAME.rename(columns={"s": " x"}).to_parquet("a.parquet")
    with pytest.raises(ValueError, match="a.parquet has 2 columns named 'x'"):
        read_views(["a.parquet"], target="x", id="sample")


def test_columns_of_pandas_own_types_are_plain(folder):
    frame = pd.DataFrame(
        {
            "sample": ["a", "b", "c"],
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "truth": pd.array([True, None, False], dtype="boolean"),
            "money": [decimal.Decimal("1.5"), None, decimal.Decimal("2.5")],
            "kind": pd.Categorical(["u", None, "v"]),
            "day": pd.to_datetime(["2020-01-01", "2020-01-02", None]),
            "words": pd.array(["u", None, "v"], dtype="string"),
        }
    )
    frame.to_parquet("a.parquet")
    X = read_views(["a.parquet"], id="sample").X
    for name, values in {"whole": [1, np.nan, 3], "truth": [1, np.nan, 0], "money": [1.5, np.nan, 2.5]}.items():
        assert X[f"a__{name}"].dtype == np.float64
        np.testing.assert_array_equal(X[f"a__{name}"], values)
    assert X["a__kind"].tolist()[0] == "u"
    assert X["a__day"].dtype.kind == "M"
    for target, expected in {"whole": [1, 3], "truth": [True, False], "kind": ["u", "v"], "words": ["u", "v"]}.items():
        y = read_views(["a.parquet"], target=target, id="sample").y
        assert y.tolist() == expected
        assert not isinstance(y.dtype, pd.CategoricalDtype)
        assert y.dtype.kind in "ibO" or pd.api.types.is_string_dtype(y.dtype)


def test_names_that_are_numbers(folder):
    frame = pd.DataFrame(np.eye(3), index=pd.Index([5, 6, 7], name="id"))
    frame.columns = ["0", "1", "2"]
    frame.to_parquet("a.parquet")
    assert list(read_views(["a.parquet"], id="id").X.columns) == ["a__0", "a__1", "a__2"]


def test_what_is_no_parquet(write):
    write({"a.parquet": "id,a\n"})
    with pytest.raises(ValueError, match="a.parquet cannot be read as Parquet"):
        read_views(["a.parquet"])
    FRAME[:0].to_parquet("b.parquet")
    with pytest.raises(ValueError, match="b.parquet has no rows"):
        read_views(["b.parquet"])


def test_a_missing_id(folder):
    FRAME.to_parquet("a.parquet")
    with pytest.raises(ValueError, match=r"a.parquet has no column 'case' \(there are 'sample', 'x', 's'\)"):
        read_views(["a.parquet"], id="case")


def test_without_a_reader_of_parquet_the_extra_is_named(folder, monkeypatch):
    FRAME.to_parquet("a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    with pytest.raises(
        ImportError, match=r"a.parquet: pyarrow is needed to read Parquet; pip install kernelweave\[parquet\]"
    ):
        read_views(["a.parquet"])


def test_columns_of_one_name_in_the_file(folder):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = [["a", "b"], [1.0, 2.0], [3.0, 4.0]]
    parquet.write_table(arrow.table(columns, names=["sample", "x", "x"]), "a.parquet")
    for reader in (read_views, read_views_in_blocks, open_views):
        with pytest.raises(ValueError, match="^a.parquet has 2 columns named 'x'; rename all but one of them$"):
            reader(["a.parquet"], id="sample")
