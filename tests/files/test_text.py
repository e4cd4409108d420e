"""Text files: separators, encodings, odd names and cells, and errors that name the line."""

import bz2
import gzip
import lzma
import warnings

import numpy as np
import pandas as pd
import pytest

from kernelweave import read_views, read_views_in_blocks
from kernelweave.recipes import column_kinds
from kernelweave.recipes.layout import TableLayout


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def read(write, content, name="x.csv", **options):
    """The X of one file, with the view's name cut off the columns."""
    write({name: content})
    X = read_views([name], **{"id": "id", **options}).X
    return X.set_axis([column.partition("__")[2] for column in X.columns], axis=1)


PLAIN = pd.DataFrame({"a": [1.5, 2.5], "b": ["u", "v"]}, index=pd.Index(["s1", "s2"], name="id"))

WAYS = {
    "plain": ("id,a,b\ns1,1.5,u\ns2,2.5,v\n", {}),
    "no end of line": ("id,a,b\ns1,1.5,u\ns2,2.5,v", {}),
    "byte-order mark": ("\ufeffid,a,b\ns1,1.5,u\ns2,2.5,v\n", {}),
    "byte-order mark, encoding named": ("\ufeffid,a,b\ns1,1.5,u\ns2,2.5,v\n", {"encoding": "utf-8"}),
    "UTF-16": ("id,a,b\ns1,1.5,u\ns2,2.5,v\n".encode("utf-16"), {}),
    "blank lines": ("\n\nid,a,b\ns1,1.5,u\n\ns2,2.5,v\n\n  \n\n", {}),
    "lines of separators at the end": ("id,a,b\ns1,1.5,u\ns2,2.5,v\n,,\n , ,\n\n", {}),
    "quoted blank lines at the end": ('id,a,b\ns1,1.5,u\ns2,2.5,v\n"","",""\n', {}),
    "Windows": ("id,a,b\r\ns1,1.5,u\r\ns2,2.5,v\r\n", {}),
    "old Macintosh": ("id,a,b\rs1,1.5,u\rs2,2.5,v\r", {}),
    "blanks": (" id , a,b \n s1, 1.5 , u\ns2 ,2.5,v\n", {}),
    "quotes": ('"id","a","b"\n"s1","1.5","u"\n"s2","2.5","v"\n', {}),
    "semicolons": ("id;a;b\ns1;1.5;u\ns2;2.5;v\n", {}),
    "decimal commas": ("id;a;b\ns1;1,5;u\ns2;2,5;v\n", {"decimal": ","}),
    "decimal commas in quotes": ('id,a,b\ns1,"1,5",u\ns2,"2,5",v\n', {"decimal": ","}),
    "tabs in a csv file": ("id\ta\tb\ns1\t1.5\tu\ns2\t2.5\tv\n", {}),
    "a separator that is given": ("id|a|b\ns1|1.5|u\ns2|2.5|v\n", {"sep": "|"}),
    "separators at the ends of lines": ("id,a,b,\ns1,1.5,u,\ns2,2.5,v,\n", {}),
    "separators at the ends of rows": ("id,a,b\ns1,1.5,u,\ns2,2.5,v,\n", {}),
    "row names of R": ('"a","b"\n"s1",1.5,"u"\n"s2",2.5,"v"\n', {}),
    "comments above": ("# made by hand\n#\n\nid,a,b\ns1,1.5,u\ns2,2.5,v\n", {}),
    "a header like a comment": ("# made, by, hand, today\n#id,a,b\ns1,1.5,u\ns2,2.5,v\n", {"id": "#id"}),
    "vertical bars": ("id|a|b\ns1|1.5|u\ns2|2.5|v\n", {}),
    "a separator that the file declares": ("sep=;\nid;a;b\ns1;1.5;u\ns2;2.5;v\n", {}),
    "unnamed index of pandas": (",a,b\ns1,1.5,u\ns2,2.5,v\n", {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_table_in_many_ways(write, way):
    content, options = WAYS[way]
    X = read(write, content, **options).rename_axis("id")
    pd.testing.assert_frame_equal(X, PLAIN, check_dtype=False, check_index_type=False, check_column_type=False)


@pytest.mark.parametrize("name", ["x.tsv", "x.tab", "x.txt"])
def test_tables_with_tabs(write, name):
    X = read(write, "id\ta\tb\ns1\t1.5\tu, v; w\ns2\t2.5\tx\n", name)
    assert X["b"].tolist() == ["u, v; w", "x"]


def test_a_line_of_comments_keeps_the_count_of_lines(write):
    with pytest.raises(ValueError, match="the id 's1' stands in line 3 and again in line 4"):
        read(write, "# made by hand\nid,a\ns1,1\ns1,2\n")


def test_row_names_of_r_beside_one_column(write):
    assert read(write, '"y"\n"s1" "u"\n"s2" "v w"\n', "x.txt")["y"].tolist() == ["u", "v w"]
    assert read(write, '"y"\n"s1","u"\n"s2","v"\n')["y"].tolist() == ["u", "v"]


def test_blanks_around_text_are_no_part_of_it(write):
    found = read(write, 'id,a,b,c\ns1, x ,"y ",TRUE\ns2,x,y,\ns3,"  ",y,FALSE\n')
    assert found["a"].tolist()[:2] == ["x", "x"] and found["a"].isna().tolist() == [False, False, True]
    assert found["b"].tolist() == ["y", "y", "y"]
    np.testing.assert_array_equal(found["c"], [1.0, np.nan, 0.0])


def test_compressed_files_without_the_suffix(write):
    with pytest.raises(ValueError, match=r"x\.csv is compressed; its name must end with \.gz, such as x\.csv\.gz"):
        read(write, gzip.compress(b"id,a\ns1,1\n"))


@pytest.mark.parametrize("content", [b"PK\x03\x04\xff\xfe", bytes(range(256))])
def test_what_is_no_text(write, content):
    with pytest.raises(ValueError, match="x.csv is no text file; if it is a spreadsheet save it as CSV"):
        read(write, content)


def test_a_text_file_with_blanks_between_columns(write):
    X = read(write, '"a" "b"\n"s1" 1.5 "u v"\n"s2" 2.5 "w"\n', "x.txt")
    assert X.to_dict() == {"a": {"s1": 1.5, "s2": 2.5}, "b": {"s1": "u v", "s2": "w"}}


@pytest.mark.parametrize(("suffix", "compress"), [("gz", None), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_compressed_files(write, folder, suffix, compress):
    content = b"id,a,b\ns1,1.5,u\ns2,2.5,v\n"
    X = read(write, content if compress is None else compress(content), f"x.csv.{suffix}")
    assert X["a"].tolist() == [1.5, 2.5]
    write({f"x.csv.{suffix}": b"id,a\ns1,1\n"})
    (folder / f"x.csv.{suffix}").write_bytes(b"id,a\ns1,1\n")
    with pytest.raises(ValueError, match=rf"x.csv.{suffix} cannot be decompressed.*write the file again"):
        read_views([f"x.csv.{suffix}"])


def test_cut_off_compressed_files(write, folder):
    write({"x.csv.gz": "id,a\n" + "".join(f"s{j},{j}\n" for j in range(9999))})
    whole = (folder / "x.csv.gz").read_bytes()
    (folder / "x.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="x.csv.gz cannot be decompressed"):
        read_views(["x.csv.gz"])


def test_other_encodings_are_named(write):
    content = "id,a\ns1,grün\ns2,blau\n".encode("latin-1")
    assert read(write, content, encoding="latin-1")["a"].tolist() == ["grün", "blau"]
    with pytest.raises(ValueError, match=r"x.csv, line 2: the text is not UTF-8; .*encoding='cp1252'"):
        read(write, content)
    with pytest.raises(ValueError, match=r"x.csv, line 2: the text is not ascii"):
        read(write, content, encoding="ascii")


def test_odd_column_names_are_kept(write):
    names = ["a b", "c.d", "e__f", "g:h", "ü", "1", 'say "i"', "x, y", "l\nm"]
    header = ",".join(f'"{name}"' if name != 'say "i"' else '"say ""i"""' for name in names)
    X = read(write, f"id,{header}\ns1,{','.join('1' * 9)}\ns2,{','.join('2' * 9)}\n")
    assert list(X.columns) == names


def test_columns_without_a_name_are_named_by_position(write):
    X = read(write, "id,,b\ns1,1,2\ns2,3,4\n")
    assert list(X.columns) == ["Unnamed: 1", "b"]


def test_repeated_names_are_numbered_with_a_warning(write):
    with pytest.warns(
        UserWarning, match=r"x.csv: the name 'a' stands over column 2 and column 4, which is read as 'a.2'"
    ):
        X = read(write, "id,a,a.1,a,a\ns1,1,2,3,4\ns2,5,6,7,8\n")
    assert list(X.columns) == ["a", "a.1", "a.2", "a.3"]
    assert X.loc["s2"].tolist() == [5, 6, 7, 8]


def test_a_repeated_id_column_is_an_error(write):
    with pytest.raises(ValueError, match="x.csv has 2 columns named 'id'; rename all but one"):
        read(write, "id,a,id\ns1,1,s1\n")
    with pytest.raises(ValueError, match="x.csv has 2 columns named 'y'"):
        read(write, "id,a,y,y\ns1,1,2,3\n", target="y")


def test_cells_with_line_ends_keep_the_count_of_lines(write):
    X = read(write, 'id,a\ns1,"two\nlines"\ns2,"a ""b"""\n')
    assert X["a"].tolist() == ["two\nlines", 'a "b"']
    with pytest.raises(ValueError, match="x.csv, column 'id': the id 's1' stands in line 2 and again in line 5"):
        read(write, 'id,a\ns1,"two\nlines"\ns2,b\ns1,c\n')


def test_a_quotation_mark_inside_a_cell_is_a_letter(write):
    assert read(write, 'id,a\ns1,5" pipe\ns2,6" pipe\n')["a"].tolist() == ['5" pipe', '6" pipe']


def test_very_long_cells(write):
    assert len(read(write, f'id,a\ns1,"{"x" * 200_000}"\ns2,y\n')["a"].iloc[0]) == 200_000


def test_truth_values_are_numbers(write):
    X = read(write, "id,a,b\ns1,TRUE,True\ns2,FALSE,\ns3,TRUE,False\n")
    assert X["a"].tolist() == [1.0, 0.0, 1.0]
    assert X["b"].isna().tolist() == [False, True, False]
    assert set(X.dtypes) == {np.dtype(float)}


def test_cells_that_mean_missing(write):
    X = read(write, "id,a,b\ns1,-9,x\ns2,0,unknown\ns3,1,y\n", na_values=[-9, "unknown"])
    assert X["a"].isna().tolist() == [True, False, False]
    assert X["b"].isna().tolist() == [False, True, False]


def test_dates_stay_text(write):
    assert read(write, "id,a\ns1,2020-01-02\ns2,2021-03-04\n")["a"].tolist() == ["2020-01-02", "2021-03-04"]


def test_a_blank_line_in_a_single_column_is_an_empty_cell(write):
    write({"x.csv": "a\n1\n\n3\n\n\n", "y.csv": "b\nu\nv\n"})
    with pytest.raises(ValueError, match="x.csv has 3, y.csv has 2"):
        read_views(["x.csv", "y.csv"])
    write({"y.csv": "b\nu\n\nw\n"})
    tables = read_views(["x.csv", "y.csv"])
    assert tables.X["x__a"].tolist() == [1, 3]
    assert tables.X["y__b"].tolist() == ["u", "w"]
    assert list(tables.X.index) == [0, 2]


def test_an_empty_row_at_the_end_is_a_sample_where_other_tables_have_its_row(write):
    write({"x.csv": "a,b\n1,2\n3,4\n,\n,\n", "y.csv": "c,d\n5,6\n,\n7,8\n"})
    tables = read_views(["x.csv", "y.csv"])
    assert tables.X["x__a"].tolist()[:2] == [1, 3]
    assert tables.overlap["samples"].to_dict() == {"x": 2, "y": 2, "in all views": 1, "in X": 3}


def test_an_empty_row_at_the_end_of_a_table_with_ids_is_no_sample(write):
    write({"x.csv": "id,a\ns1,1\ns2,2\n,\n,\n", "y.csv": "id,b\ns1,1\ns2,2\ns3,3\ns4,4\n"})
    assert read_views(["x.csv", "y.csv"], id="id").overlap["samples"].tolist() == [2, 4, 2, 4]


def test_a_blank_line_within_several_columns_is_left_out(write):
    assert len(read(write, "a,b\n1,2\n\n3,4\n", id=None)) == 2


def numbers_and(cell, n_rows=20):
    rows = [f"s{j},{j}.5,{j}" for j in range(n_rows)]
    return "\n".join(["id,a,b", *rows, f"sx,{cell},7"]) + "\n"


def test_a_stray_text_among_numbers_is_a_warning(write):
    message = (
        r"x.csv, line 22, column 'a': the column is read as text, because 20 of 21 cells are numbers and this one is "
        r"'<0.1'; correct the cell, or pass na_values=\['<0.1'\]"
    )
    with pytest.warns(UserWarning, match=message) as caught:
        X = read(write, numbers_and("<0.1"))
    assert caught[0].filename == __file__
    assert X["a"].iloc[-1] == "<0.1"
    assert read(write, numbers_and("<0.1"), na_values=["<0.1"])["a"].isna().sum() == 1


@pytest.mark.parametrize("cell", ["1_000", "\u0661\u0662"])
def test_a_cell_is_a_number_to_all_readers_or_to_none(write, cell):
    """Python takes underscores and digits of other scripts; a table is read as pandas reads it."""
    with pytest.warns(UserWarning, match=rf"20 of 21 cells are numbers and this one is '{cell}'"):
        X = read(write, numbers_and(cell))
    assert column_kinds(X).loc["a", "kind"] == "left out"
    with pytest.raises(ValueError, match=rf"'{cell}' is no number, and the column should hold numbers"):
        list(read_views_in_blocks(["x.csv"], id="id", types={"x__a": "number"}))
    numbers = read(write, numbers_and("5"))
    layout = TableLayout.of(numbers, column_kinds(numbers))
    with pytest.raises(ValueError, match=rf"the column 'X__a' holds numbers, but .* has '{cell}' there"):
        layout.table(X)


def test_forgotten_decimal_commas_are_a_warning(write):
    with pytest.warns(UserWarning, match=r"line 2, column 'a'.*commas, '1,5' .*1 more columns.*decimal=','"):
        read(write, "id;a;b\ns1;1,5;1\ns2;2,5;1,5\ns3;3,25;\n")


def test_categories_are_no_reason_for_a_warning(write):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(write, "id,a,b\ns1,1,x\ns2,2,y\ns3,unknown,1\n")
    assert found["a"].tolist() == ["1", "2", "unknown"]


def test_a_sample_as_column_names_is_a_warning(write):
    with pytest.warns(UserWarning, match="x.csv: the first .* all of them but 's1' are numbers, from '0.3' to '0.1'"):
        read(write, "s1,0.3,-2,0.1\ns2,0.5,1,0.2\ns3,0.5,1,0.2\n", id=None)
    read(write, "id,0,1,2\ns2,0.5,1,0.2\n")
    read(write, "id,2,1,a\ns2,0.5,1,0.2\n")


def test_numbers_as_column_names_are_a_warning(write):
    with pytest.warns(UserWarning, match="x.csv: the first line is read as column names.*'0.3' to '0.1'"):
        read(write, "0.3,0.7,0.1\n1,2,3\n4,5,6\n", id=None)
    assert len(read(write, "0,1,2\n1,2,3\n4,5,6\n", id=None)) == 2


RAGGED = {
    "too many": ("id,a\ns1,1\ns2,2,3\n", r"x.csv, line 3 \(which begins with 's2'\): 3 fields where the header has 2"),
    "too few": (
        "id,a,b\ns1,1,2\ns2,2\n",
        r"x.csv, line 3 .*: 2 fields where the header has 3 columns, separated by commas",
    ),
    "first too many": ("id,a\ns1,1,5\ns2,2\n", r"x.csv, line 2 .*: 3 fields where the header has 2"),
    "later too few": ("a,b\ns1,1,5\ns2,2,5\ns3,3\n", r"x.csv, line 4 .*: 2 fields where the header has 3"),
    "after line ends": ('id,a\ns1,"x\ny"\n\ns2\n', r"x.csv, line 5 .*: 1 fields? where the header has 2"),
    "far down": ("id,a\n" + "s,1\n" * 5000 + "s,1,1\n", r"x.csv, line 5002"),
    "open quote at the end": (
        'id,a\ns1,x\ns2,"y\n',
        r"x.csv, line 3: a cell begins with a quotation mark that is never",
    ),
    "open quote": (
        'id,a\ns1,"x\ns2,y\ns3,z\n',
        r"x.csv, line 2: a cell begins with a quotation mark that is never closed",
    ),
}


@pytest.mark.parametrize("case", RAGGED)
def test_ragged_lines_are_named(write, case):
    content, message = RAGGED[case]
    with pytest.raises(ValueError, match=message):
        read(write, content)


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", ",,\n,,\n"])
def test_empty_files(write, content):
    with pytest.raises(ValueError, match="x.csv is empty; it needs a line of column names"):
        read(write, content)


def test_a_header_without_rows(write):
    with pytest.raises(ValueError, match="x.csv has column names and no rows"):
        read(write, "id,a,b\n\n,,\n")
