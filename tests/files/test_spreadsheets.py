"""CSV files that a spreadsheet opens without running a cell, and ids that are found again."""

import io

import numpy as np
import pandas as pd
import pytest

from kernelweave import read_views
from kernelweave.files.base import as_csv, unescaped

FORMULAS = ["=1+1", "@SUM(A1)", "+cmd", "-cmd|' /C calc'!A0", '=HYPERLINK("x")', "\ttab", "\rreturn", "=a,b\nc"]
HARMLESS = ["p1", "-5", "+3.5", "-1e-3", "'quoted", "a=b", "", "-inf"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_become_text(text):
    table = pd.DataFrame({"id": [text], "value": [-1.5]}, index=[text])
    written = io.StringIO(as_csv(table, index_label="key"))
    found = pd.read_csv(written, keep_default_na=False, lineterminator="\n")
    assert found.iloc[0].tolist() == [f"'{text}", f"'{text}", -1.5]
    assert unescaped(f"'{text}") == text
    header = as_csv(pd.DataFrame([[1.0]], columns=[text])).encode()
    assert header.startswith((b"'", b"\"'"))


def test_other_cells_are_as_they_were():
    mixed = ["a", -1, None, 2.5, "-3", "b", "c", "d"]
    table = pd.DataFrame({"id": HARMLESS, "x": -np.arange(8.0), "b": [True, False] * 4, "mixed": mixed})
    before = table.copy()
    assert as_csv(table) == table.to_csv(index=False, lineterminator="\n")
    assert as_csv(table, index_label="k", header=False) == table.to_csv(header=False, lineterminator="\n")
    pd.testing.assert_frame_equal(table, before)
    assert [unescaped(text) for text in HARMLESS] == HARMLESS
    assert as_csv(table[:0]) == "id,x,b,mixed\n"
    assert as_csv(pd.DataFrame([["=a", "=b"]], columns=["n", "n"])) == "n,n\n'=a,'=b\n"


def test_ids_are_found_again(tmp_path):
    """A table that we wrote is matched with the files that it came from."""
    ids = ["=1+1", "@x", "+y", "-z", "-5", "plain"]
    first = pd.DataFrame({"sample": ids, "a": np.arange(6.0)})
    second = pd.DataFrame({"sample": ids[::-1], "b": np.arange(6.0)[::-1]})
    first.to_csv(tmp_path / "first.csv", index=False)
    (tmp_path / "second.csv").write_text(as_csv(second), encoding="utf-8")
    X = read_views([tmp_path / "first.csv", tmp_path / "second.csv"], id="sample").X
    assert list(X.index) == ids
    np.testing.assert_array_equal(X["first__a"], X["second__b"])
