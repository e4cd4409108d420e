"""Paths and names of views."""

from pathlib import Path

import pytest

from kernelweave import read_views

TABLE = "id,a\ns1,1\ns2,2\n"


def views(paths):
    return list(read_views(paths, id="id").matched_by.index)


def test_views_are_named_by_files_or_as_given(write):
    write({"rna.v2.csv": TABLE, "sub/RNA.CSV": TABLE, "a__b_.csv": TABLE, "x=y.csv": TABLE, "s.tsv": "id\ta\ns1\t1\n"})
    assert views(["rna.v2.csv", Path("sub/RNA.CSV"), "a__b_.csv", "x=y.csv", "s.tsv"]) == [
        *("rna.v2", "RNA", "a_b", "x=y", "s")
    ]
    assert views({"one": "rna.v2.csv", "two": Path("sub/RNA.CSV")}) == ["one", "two"]
    assert views([("one", "rna.v2.csv"), "two=sub/RNA.CSV", "s.tsv"]) == ["one", "two", "s"]
    assert views("s.tsv") == views(Path("s.tsv")) == ["s"]
    assert views(iter(["s.tsv"])) == ["s"]


def test_a_home_directory_is_expanded(write, folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    write({"rna.csv": TABLE, "labels.csv": "id,y\ns1,1\ns2,2\n"})
    assert read_views(["~/rna.csv"], target="~/labels.csv:y").y.tolist() == [1, 2]


BAD = {
    "same stem": (["rna.csv", "sub/rna.csv"], "the view 'rna' would be both rna.csv and .*rna.csv; give them names"),
    "twice": (["rna.csv", "rna.csv"], "the view 'rna' would be both rna.csv and rna.csv"),
    "folder": (["sub"], r"sub is a folder; give its files, such as paths=sorted\(Path\('sub'\).glob\('\*.csv'\)\)"),
    "suffix": (
        ["a.dat"],
        r"a.dat has the suffix '.dat', and files of these can be read: .csv, .tsv.*the name must end",
    ),
    "no suffix": (["README"], "README has the suffix ''"),
    "spreadsheet": (["a.xlsx"], "a.xlsx has the suffix '.xlsx'.*save the sheet as CSV"),
    "separator in a name": ([("a__b", "rna.csv")], "the view name 'a__b' of rna.csv must be a text without '__'"),
    "underscore at the end": ({"a_": "rna.csv"}, "the view name 'a_' of rna.csv must be a text"),
    "no text": ({3: "rna.csv"}, "the view name 3 of rna.csv must be a text"),
    "none": ([], "paths is empty"),
    "number": (3, "paths must be paths of files, or a mapping from view names to paths, not 3"),
    "numbers": ([3], "an entry of paths must be a path, not 3; stack_views takes data in memory"),
    "triple": ([("a", "b", "c")], r"an entry of paths must be a path or \(name, path\)"),
    "only underscores": (["__.csv"], "__.csv has no name that a view could have"),
}


@pytest.mark.parametrize("case", BAD)
def test_paths_that_cannot_be_read(write, case):
    write({name: TABLE for name in ("rna.csv", "sub/rna.csv", "a.dat", "README", "a.xlsx", "__.csv")})
    paths, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        read_views(paths, id="id")


def test_files_that_do_not_exist(write):
    with pytest.raises(FileNotFoundError, match=r"there is no file 'rna.csv' \(the working directory is"):
        read_views(["rna.csv"])
    with pytest.raises(FileNotFoundError, match=r"a pattern is not expanded: pass sorted\(glob.glob\(pattern\)\)"):
        read_views("data/*.csv")


def test_arrays_and_files_of_one_name(write):
    import numpy as np

    write({"rna.csv": TABLE})
    np.savez("all.npz", rna=np.eye(2), dna=np.eye(2))
    with pytest.raises(ValueError, match="the view 'rna' would be both rna.csv and all.npz, array 'rna'"):
        read_views(["rna.csv", "all.npz"])
