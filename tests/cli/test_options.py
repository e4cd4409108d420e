"""The options of the commands for people's own files, and what is checked of them before anything is read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelweave.cli import check
from kernelweave.cli.options import EXAMPLES, METHODS, build_parser, parse

COMPARE = ["compare", "rna.csv", "--target", "labels.csv:diagnosis"]
PREDICT = ["predict", "best.kw", "rna.csv"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with the files that the calls below name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    views = ("rna.csv", "protein.csv", "labels.csv", "matrix.csv", "sub/rna.csv", "a=b.csv")
    for name in (*views, "best.kw", "old.json", "page.html"):
        (tmp_path / name).write_text("")
    return tmp_path


def checked(*words):
    chosen = parse(words)
    check(chosen)
    return chosen


@pytest.mark.parametrize("name", EXAMPLES)
def test_help_ends_with_an_example_that_parses(name, capsys):
    with pytest.raises(SystemExit) as stop:
        parse([name, "--help"])
    assert stop.value.code == 0
    last = capsys.readouterr().out.rstrip().splitlines()[-1].split()
    assert last[:2] == ["kernelweave", name] and parse(last[1:]).command == name


def test_what_the_commands_are_given():
    words = "rna.csv p=x.csv --kernel k=m.csv --target l.csv:y --id none --sep tab --decimal , --task regression"
    words += " --text a --text b:c --log rna --na-values 999 -1 --na-values x --positive ill"
    words += " --methods mean lp --max-time 1h30m --jobs 3 --out o/ --seed 7"
    chosen = parse(["compare", *words.split()])
    assert chosen.files == ["rna.csv", "p=x.csv"] and chosen.kernel == ["k=m.csv"] and chosen.id is False
    assert (chosen.sep, chosen.decimal, chosen.encoding, chosen.task) == ("\t", ",", None, "regression")
    assert (chosen.text, chosen.number, chosen.log, chosen.na_values) == (["a", "b:c"], [], ["rna"], ["999", "-1", "x"])
    assert chosen.positive == "ill" and parse(PREDICT).na_values == []
    assert (chosen.folds, chosen.repeats, chosen.methods, chosen.seed) == (None, 1, ["mean", "lp"], 7)
    assert (chosen.max_time, chosen.jobs, chosen.quick, chosen.out, chosen.groups) == (5400, 3, False, Path("o"), None)
    chosen = parse([*PREDICT, "--diagonal", "k=1", "--id", "sample", "--block-size", "7"])
    assert (chosen.model, chosen.files, chosen.kernel, chosen.diagonal) == ("best.kw", ["rna.csv"], [], ["k=1"])
    assert (chosen.id, chosen.block_size, chosen.out) == ("sample", 7, Path("predictions.csv"))
    chosen = parse(["fit", "rna.csv", "--target", "y"])
    assert (chosen.method, chosen.out, chosen.jobs >= 1) == ("auto", Path("model.kw"), True)
    chosen = parse(["report", "results"])
    assert (chosen.results, chosen.out) == (Path("results"), None)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("30m", 1800), ("2h", 7200), ("0.5m", 30)])
def test_times(text, seconds):
    assert parse([*COMPARE, "--max-time", text]).max_time == seconds


def test_files_may_stand_behind_options():
    assert parse([*COMPARE, "--id", "sample", "protein.csv"]).files == ["rna.csv", "protein.csv"]
    assert parse(["predict", "best.kw", "--out", "p.csv", "rna.csv"]).files == ["rna.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*COMPARE, "--folds", "1"], "--folds: must be a whole number of at least 2, not '1'"),
        ([*COMPARE, "--folds", "2.5"], "at least 2, not '2.5'"),
        ([*COMPARE, "--repeats", "0"], "--repeats: must be a whole number of at least 1"),
        ([*COMPARE, "--jobs", "0"], "--jobs: must be a whole number of at least 1"),
        ([*COMPARE, "--seed", "-1"], "--seed: must be a whole number of at least 0 and at most 4294967295"),
        ([*COMPARE, "--max-time", "soon"], "--max-time: must be a time such as 90s, 30m or 2h, not 'soon'"),
        ([*COMPARE, "--max-time", "0"], "must be a time"),
        ([*COMPARE, "--max-time", "5x"], "must be a time"),
        ([*COMPARE, "--max-time", ""], "must be a time"),
        ([*COMPARE, "--task", "clustering"], "invalid choice: 'clustering'"),
        ([*COMPARE, "--sep", "ab"], "--sep: must be one character"),
        ([*COMPARE, "--encoding", "klingon"], "--encoding: must be the name of an encoding"),
        ([*COMPARE, "--id", ""], "--id: must be the name of a column"),
        ([*COMPARE, "--out", ""], "--out: must be a path"),
        ([*COMPARE, "--folsd", "3"], "there is no option --folsd; did you mean --folds?"),
        ([*COMPARE, "--dance"], "there is no option --dance"),
        (["compare", "rna.csv"], "the following arguments are required: --target"),
        (["predict"], "required: MODEL"),
        ([*PREDICT, "--block-size", "0"], "--block-size: must be a whole number"),
        (["report", "a", "b"], "unexpected words: b"),
        ([*COMPARE, "--dance\n--wildly"], "there is no option --dance --wildly"),
    ],
)
def test_wrong_values_are_answered_in_one_line(words, message, capsys):
    with pytest.raises(SystemExit) as stop:
        parse(words)
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"kernelweave {words[0]}: error: ") and message in line
    assert line.endswith(f" see kernelweave {words[0]} --help")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "--target", "y"], "give at least one file"),
        (["compare", "rne.csv", "--target", "y"], "there is no file 'rne.csv'; did you mean rna.csv?"),
        (["compare", "x=rne.csv", "--target", "y"], "there is no file 'rne.csv'"),
        (["compare", "x=", "--target", "y"], "there is no file ''"),
        (["compare", "sub", "--target", "y"], "'sub' is a folder, not a file"),
        (["compare", "rna.csv", "sub/rna.csv", "--target", "y"], "give one of them another name, such as rna2=sub/rna"),
        (["compare", "rna.csv", "--kernel", "rna=matrix.csv", "--target", "y"], "the view 'rna' would be both"),
        ([*COMPARE, "--kernel", "matrix.csv"], "--kernel matrix.csv: write name=file"),
        ([*COMPARE, "--kernel", "=matrix.csv"], "write name=file, such as --kernel similarity=matrix.csv"),
        ([*COMPARE, "--methods", "mean,locallized"], "no method 'locallized'; did you mean 'localized'?"),
        ([*COMPARE, "--methods", "xyz"], f"no method 'xyz'; the methods are {', '.join(METHODS)}"),
        ([*COMPARE, "--methods", "alone:"], "there is no method 'alone:'; did you mean 'alone:rna'?"),
        ([*COMPARE, "--methods", ","], "--methods names no method"),
        ([*COMPARE, "--methods", "mean", "protein.csv"], "'protein.csv' behind --methods is a file"),
        ([*COMPARE, "--out", "labels.csv"], "--out labels.csv is a file; compare needs a folder"),
        ([*COMPARE, "--out", "labels.csv/results"], "labels.csv is a file"),
        (["fit", "rna.csv", "--target", "y", "--method", "men"], "no method 'men'; did you mean 'mean'?"),
        (["fit", "rna.csv", "--target", "y", "--method", "alone"], "--method alone needs a view, such as alone:rna"),
        (["fit", "rna.csv", "--target", "y", "--out", "sub"], "--out sub is a folder; fit needs a file, such as sub"),
        (["fit", "rna.csv", "--target", "y", "--out", "rna.csv"], "--out rna.csv would replace rna.csv"),
        (["predict", "bst.kw", "rna.csv"], "there is no file 'bst.kw'; did you mean best.kw?"),
        (["predict", "sub", "rna.csv"], "'sub' is a folder, not the model"),
        ([*PREDICT, "--out", "best.kw"], "--out best.kw would replace best.kw"),
        (["explain", "best.kw"], "give at least one file"),
        (["report", "sub"], "there is no report.json in sub"),
        (["report", "raport.json"], "there is no file 'raport.json'"),
        (
            ["report", "page.html"],
            "page.html is the page itself; give the report.json beside it, or the folder of both",
        ),
        (["report", "rna.csv"], "rna.csv is no report.json; give"),
        ([*PREDICT, "--out", "p.xlsx"], "written as .csv, which spreadsheets open, or .parquet; write --out p.csv"),
        ([*PREDICT, "--out", "sub/p.ODS"], "write --out sub/p.csv"),
        ([*COMPARE, "--na-values", "999", "protein.csv"], "'protein.csv' behind --na-values is a file, not a value"),
        (["report", "old.json", "--out", "protein.csv"], "--out protein.csv is a file; report needs a folder"),
        (["explain", "best.kw", "rna.csv", "--out", "best.kw"], "--out best.kw is a file; explain needs a folder"),
        ([*PREDICT, "--diagonal", "k=1"], "--diagonal k=1: there is no --kernel k=FILE"),
        ([*PREDICT, "--kernel", "k=matrix.csv", "--diagonal", "k=one"], "--diagonal k=one: write name=number"),
        ([*PREDICT, "--kernel", "k=matrix.csv", "--diagonal", "k=nan"], "--diagonal k=nan: write name=number"),
    ],
)
def test_wrong_calls_are_found_before_anything_is_read(words, message, folder):
    before = sorted(folder.rglob("*"))
    with pytest.raises((ValueError, OSError)) as error:
        checked(*words)
    assert message in str(error.value)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(folder):
    (folder / "sub").chmod(0o500)
    with pytest.raises(PermissionError, match="no permission to write in"):
        checked(*COMPARE, "--out", "sub/results")


def test_calls_that_are_right(folder):
    assert checked(*COMPARE).methods is None
    assert checked(*COMPARE, "--methods", "mean, lp,,mean", "alone").methods == ["mean", "lp", "alone"]
    assert checked("compare", "x,y=rna.csv", "--target", "y", "--methods", "alone:x,y").methods == ["alone:x,y"]
    checked("compare", "rna.csv", "other=sub/rna.csv", "--target", "y", "--out", "sub")
    checked("compare", "a=b.csv", "--target", "y", "--out", "new/folder/")
    checked("compare", "--kernel", "k=matrix.csv", "--target", "y")
    checked(*PREDICT, "--kernel", "k=matrix.csv", "--diagonal", "k=1e0")
    checked("fit", "rna.csv", "--target", "y", "--method", "alone:rna", "--out", "new/model.kw")
    assert not (folder / "new").exists()


def test_a_column_of_ids_for_each_file(folder):
    words = ["compare", "rna.csv", "p=protein.csv", "--target", "labels.csv:case:y"]
    assert checked(*words).id is None and checked(*words, "--id", "none").id is False
    assert checked(*words, "--id", "a=b").id == "a=b"  # a column of that name
    assert checked(*words, "--id", "p=code").id == {"protein.csv": "code"}
    several = [*words, "--id", "sample", "--id", "protein.csv=code"]
    assert checked(*several).id == {"rna.csv": "sample", "protein.csv": "code", "labels.csv": "sample"}
    same = ["compare", "rna.csv", "q=sub/rna.csv", "--target", "y", "--id", "sample", "--id", "q=code"]
    assert checked(*same).id == {"rna": "sample", "q": "code"}
    with pytest.raises(ValueError, match="--id names two columns for all files, 'a' and 'b'"):
        checked(*words, "--id", "a", "--id", "b")
    with pytest.raises(ValueError, match="--id none is for all files"):
        checked(*words, "--id", "none", "--id", "p=code")


def test_a_wrong_call_imports_nothing_heavy():
    code = "import sys; from kernelweave.cli import main; main(['fit', 'no.csv', '--target', 'y']); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "sklearn", "rich"} & set(run.stdout.split())
    assert run.stderr.startswith("kernelweave fit: error: there is no file 'no.csv'")


def test_every_command_is_listed():
    listed = build_parser().format_help()
    for name in (*EXAMPLES, "demo"):
        assert f"    {name}" in listed
