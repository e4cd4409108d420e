"""Which rows belong together: ids as text, first columns, row order, and mixtures of them."""

import warnings

import numpy as np
import pandas as pd
import pytest

from kernelweave import read_views
from kernelweave.files.matching import as_text


def test_ids_are_compared_as_text():
    assert as_text([7, 8.0, np.int32(9), "007", " a ", b"b", None, np.nan, ""]) == [
        *("7", "8", "9", "007", "a", "b"),
        *(None, None, None),
    ]
    assert as_text(["7.0", "8.0", ""]) == ["7", "8", None]
    assert as_text(["7.0", "v1"]) == ["7.0", "v1"]
    assert as_text([1.5, pd.NA]) == ["1.5", None]
    assert as_text([pd.Timestamp("2020-01-02"), pd.NaT]) == ["2020-01-02", None]


def test_numbers_of_any_type_match(write, folder):
    pd.DataFrame({"a": [1.0, 2.0, 3.0], "id": [7, 8, 9]}).to_parquet("a.parquet")
    write({"b.csv": "id,b\n9.0,x\n7.0,y\n", "c.csv": "c,id\n5,8\n6,007\n"})
    X = read_views(["a.parquet", "b.csv", "c.csv"], id="id").X
    assert list(X.index) == ["7", "8", "9", "007"]
    assert X.loc["7", "b__b"] == "y"
    assert X.loc["9", "b__b"] == "x"
    assert X.loc["8", "c__c"] == 5
    assert X.loc["007"].isna().tolist() == [True, True, False]


def test_ids_that_pandas_takes_for_missing_are_ids(write):
    write({"a.csv": "id,a\nNA,1\nnull,2\n", "b.csv": "id,b\nnull,3\nNA,4\n"})
    X = read_views(["a.csv", "b.csv"], id="id").X
    assert list(X.index) == ["NA", "null"]
    assert X["b__b"].tolist() == [4, 3]


def test_ids_with_leading_zeros_are_text(write):
    write({"a.csv": "nr,a\n001,1\n002,2\n100,3\n", "b.csv": "code,b\n100,3\n001,4\n"})
    tables = read_views(["a.csv", "b.csv"])
    assert tables.X.loc["001"].tolist() == [1, 4]
    assert tables.matched_by.tolist() == ["first column 'nr'", "first column 'code'"]


def test_numbers_in_a_first_column_are_ids_only_where_all_tables_share_them(write):
    write({"a.csv": "patient,a\n3,1\n1,2\n2,3\n", "b.csv": "patient,b\n1,5\n2,6\n3,7\n4,8\n"})
    tables = read_views(["a.csv", "b.csv"])
    assert list(tables.X.columns) == ["a__a", "b__b"]
    assert tables.X.loc["3"].tolist() == [1, 7]
    write({"c.csv": "x,a\n3,1\n1,2\n2,3\n", "d.csv": "y,b\n1,5\n2,6\n3,7\n"})
    with pytest.warns(UserWarning, match="in different orders"):
        tables = read_views(["c.csv", "d.csv"])
    assert list(tables.X.columns) == ["c__x", "c__a", "d__y", "d__b"]
    assert list(tables.X.index) == [0, 1, 2]
    assert tables.matched_by.tolist() == ["row order", "row order"]
    write({"e.csv": "x,a\n30,1\n10,2\n20,3\n"})
    assert "e__x" in read_views(["c.csv", "e.csv"]).X


def test_row_order_is_taken_where_no_first_column_has_unique_text(write):
    write({"a.csv": "sex,a\nf,1\nm,2\nf,3\n", "b.csv": "b,c\n1.5,2\n2.5,4\n3.5,6\n", "y.csv": "y\nu\nv\nu\n"})
    tables = read_views(["a.csv", "b.csv"], target="y.csv:y")
    assert list(tables.X.columns) == ["a__sex", "a__a", "b__b", "b__c"]
    assert tables.y.tolist() == ["u", "v", "u"]
    assert set(tables.matched_by) == {"row order"}


def test_numbers_with_gaps_are_no_ids(write):
    write({"a.csv": "a,b\n1.5,1\nNA,2\n3.5,3\n2.25,4\n"})
    assert list(read_views(["a.csv"]).X.columns) == ["a__a", "a__b"]


def test_row_order_when_asked(write):
    write({"a.csv": "note,a\nuno,1\ndue,2\n", "b.csv": "b\n5\n6\n"})
    X = read_views(["a.csv", "b.csv"], id=False).X
    assert X["a__note"].tolist() == ["uno", "due"]
    assert list(X.index) == [0, 1]


def test_a_single_column_of_text_is_a_view(write):
    write({"a.csv": "note\nuno\ndue\n", "b.csv": "b,c\n5,1\n6,2\n"})
    tables = read_views(["a.csv", "b.csv"])
    assert tables.X["a__note"].tolist() == ["uno", "due"]


def test_an_id_for_each_table(write):
    write({"a.csv": "x,barcode\n1,s1\n2,s2\n", "b.csv": "y,case\n3,s2\n4,s1\n", "l.csv": "s,y\ns1,u\ns2,v\n"})
    ids = {"a": "barcode", "b.csv": "case"}
    tables = read_views(["a.csv", "b.csv"], target="l.csv:y", id=ids, keep_columns=["b.csv:y"])
    assert tables.X.loc["s1"].tolist() == [1, 4]
    assert tables.matched_by.tolist() == ["column 'barcode'", "column 'case'", "first column 's'"]


def test_the_ids_of_all_samples_are_in_the_order_of_the_tables(write):
    write({"a.csv": "id,a\nz,1\nb,2\n", "b.csv": "id,b\nc,1\nz,2\na,3\n"})
    assert list(read_views(["a.csv", "b.csv"], id="id").X.index) == ["z", "b", "c", "a"]
    assert list(read_views(["b.csv", "a.csv"], id="id").X.index) == ["c", "z", "a", "b"]


def test_arrays_follow_the_only_order_of_ids(write):
    np.save("scan.npy", np.arange(6.0).reshape(3, 2))
    write(
        {"a.csv": "id,a\ns3,1\ns1,2\ns2,3\n", "b.csv": "id,b\ns3,4\ns1,5\ns2,6\n", "c.csv": "id,b\ns1,4\ns3,5\ns2,6\n"}
    )
    tables = read_views(["scan.npy", "a.csv", "b.csv"], id="id")
    assert list(tables.X.index) == ["s3", "s1", "s2"]
    assert tables.X["scan__0"].tolist() == [0, 2, 4]
    assert tables.matched_by["scan"] == "row order"
    with pytest.raises(ValueError, match=r"scan.npy has no sample ids.*a.csv and c.csv differ.*'ids' in an NPZ file"):
        read_views(["scan.npy", "a.csv", "c.csv"], id="id")
    write({"d.csv": "id,b\ns1,4\ns3,5\n"})
    with pytest.raises(ValueError, match=r"scan.npy has 3 rows and d.csv has 2"):
        read_views(["scan.npy", "d.csv"], id="id")


def test_numbers_in_first_columns_of_different_names(write):
    write({"a.csv": "id,a\n1,5\n2,6\n3,7\n", "b.csv": "case,b\n3,7\n1,5\n2,6\n", "c.csv": "no,c\n1,2\n2,3\n3,4\n"})
    message = r"'id' of a.csv and 'case' of b.csv hold the same .* pass id=\{'a': 'id', 'b': 'case'\}, and"
    with pytest.warns(UserWarning, match=message):
        tables = read_views(["a.csv", "b.csv"])
    assert tables.X["b__b"].tolist() == [7, 5, 6]  # as documented: row order
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_views(["a.csv", "b.csv"], id={"a": "id", "b": "case"}).X["b__b"].tolist() == [5, 6, 7]
        read_views(["a.csv", "b.csv"], id=False)
        read_views(["a.csv", "c.csv"])


def test_tables_of_different_length_without_ids(write):
    write({"a.csv": "a,b\n1,2\n3,4\n", "b.csv": "c\n1\n2\n3\n"})
    with pytest.raises(
        ValueError, match=r"different numbers of rows \(a.csv has 2, b.csv has 3\).*pass its name as id="
    ):
        read_views(["a.csv", "b.csv"])


REPEATED = "id,a\ns1,1\ns2,2\n\ns1,3\ns2,5\n"


def test_repeated_ids(write):
    message = (
        r"a.csv, column 'id': the id 's1' stands in line 2 and again in line 5 \(2 ids are repeated\); a sample has "
        "one row in each table: remove or rename one of them"
    )
    write({"a.csv": REPEATED, "b.csv": "id,b\ns1,1\ns2,2\n"})
    with pytest.raises(ValueError, match=message):
        read_views(["a.csv"], id="id")
    # Without a name: the other table's first column of this name has ids, so this one's are ids too.
    with pytest.raises(ValueError, match=f"{message}; pass id= to name the column of ids, or id=False"):
        read_views(["a.csv", "b.csv"])


def test_repeated_ids_of_labels(write):
    write({"labels.csv": REPEATED, "b.csv": "id,b\ns1,1\ns2,2\n"})
    with pytest.raises(ValueError, match="labels.csv, column 'id': the id 's1' stands in line 2 and again in line 5"):
        read_views(["b.csv"], target="labels.csv:a", id="id")


def test_repeated_ids_in_a_frame(folder):
    pd.DataFrame({"id": ["a", "b", "a"], "x": [1, 2, 3]}).to_parquet("a.parquet")
    with pytest.raises(ValueError, match="a.parquet, column 'id': the id 'a' stands in row 1 and again in row 3"):
        read_views(["a.parquet"], id="id")


@pytest.mark.parametrize("wanted", ["id", None])
def test_missing_ids(write, wanted):
    write({"a.csv": "id,a\ns1,1\n,2\ns2,3\n  ,4\ns3,5\ns4,5\n"})
    with pytest.raises(ValueError, match=r"a.csv, line 3, column 'id': the sample's id is missing \(2 rows lack it\)"):
        read_views(["a.csv"], id=wanted)
