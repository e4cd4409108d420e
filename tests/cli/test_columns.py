"""What a user says that columns and views hold: which column is meant, and what `fit` and `predict` make of it."""

import pickle

import numpy as np
import pandas as pd
import pytest

from kernelweave import load
from kernelweave.cli import check, main
from kernelweave.cli.columns import column_options
from kernelweave.cli.compare import Reread
from kernelweave.cli.options import parse

FILES = ["fit", "data/rna.csv", "lab=blood.csv", "--target", "labels.csv:dx"]
COLUMNS = ["rna__TP53", "rna__note", "rna__a:b", "lab__crp", "lab__note", "lab__ward"]


def chosen(*words):
    return column_options(parse([*FILES, *words]), COLUMNS)


def test_nothing_is_said():
    assert chosen() == {"kinds": {}, "log": [], "na_values": []}


@pytest.mark.parametrize(
    ("word", "column"),
    [
        ("ward", "lab__ward"),
        ("lab:ward", "lab__ward"),
        ("blood.csv:ward", "lab__ward"),
        ("lab__ward", "lab__ward"),
        ("rna.csv:note", "rna__note"),
        ("data/rna.csv:note", "rna__note"),
        ("a:b", "rna__a:b"),
        ("rna:a:b", "rna__a:b"),
    ],
)
def test_which_column_is_meant(word, column):
    assert chosen("--category", word)["kinds"] == {column: "category"}


def test_kinds_and_views():
    words = ["--text", "lab:note", "--category", "ward", "--number", "TP53", "--drop", "crp", "--drop", "a:b"]
    kinds = {"lab__note": "text", "lab__ward": "category", "rna__TP53": "number"}
    assert chosen(*words)["kinds"] == kinds | {"lab__crp": "left out", "rna__a:b": "left out"}
    assert chosen("--log", "lab", "--log", "blood.csv", "--log", "data/rna.csv")["log"] == ["lab", "rna"]
    assert chosen("--na-values", "999", "x", "--na-values", "?")["na_values"] == ["999", "x", "?"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--text", "nte"], "--text nte: no view has such a column; did you mean note?"),
        (["--drop", "rna:TP35"], "--drop rna:TP35: no view has such a column; did you mean rna:TP53?"),
        (["--drop", "xyzzy"], "--drop xyzzy: no view has such a column; there are TP53, note, a:b, crp, ward"),
        (["--text", "note"], "--text note: several views have a column of that name; write rna:note or lab:note"),
        (["--log", "rma"], "--log rma: there is no such view; did you mean rna?"),
        (["--log", "zzz"], "--log zzz: there is no such view; the views are rna, lab"),
        (["--number", "ward", "--drop", "lab:ward"], "--number ward and --drop lab:ward are the same column"),
    ],
)
def test_columns_that_are_not_there(words, message):
    with pytest.raises(ValueError) as error:
        chosen(*words)
    assert message in str(error.value)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    ids = pd.Index([f"p{k}" for k in range(60)], name="sample")
    dx = np.tile(["ill", "well"], 30)
    rna = pd.DataFrame(np.exp(random.normal(size=(60, 2)) + (dx == "ill")[:, None]), index=ids, columns=["a", "b"])
    rna.to_csv("rna.csv")
    clinic = pd.DataFrame({"age": random.integers(30, 80, 60), "ward": random.integers(1, 5, 60)}, index=ids)
    clinic.loc[ids[::9], "age"] = 999
    clinic["mood"] = random.choice(["rather good today", "not so good today"], 60)
    clinic["crp"] = [*map(str, random.random(59).round(3)), "n.d."]
    clinic.to_csv("clinic.csv")
    pd.DataFrame({"dx": dx}, index=ids).to_csv("labels.csv")
    return tmp_path


FIT = ["fit", "rna.csv", "clinic.csv", "--target", "labels.csv:dx", "--quick", "--jobs", "1", "--method", "linear"]


def test_a_model_keeps_what_was_said(folder, capsys):
    words = ["--category", "ward", "--text", "clinic:mood", "--drop", "b", "--log", "rna", "--positive", "ill"]
    assert main([*FIT, *words, "--scoring", "f1", "--na-values", "999", "n.d.", "--out", "m.kw"]) == 0
    out, err = capsys.readouterr()
    assert "Numbers x of the view 'rna' are taken as log(1 + x)." in out and "in cross-validation, F1: " in " ".join(
        out.split()
    )
    assert err == ""  # of no odd cell
    model = load("m.kw")
    kinds = {"rna__a": "number", "rna__b": "left out", "clinic__age": "number", "clinic__ward": "category"}
    assert model.kinds_["kind"].to_dict() == kinds | {"clinic__mood": "text", "clinic__crp": "number"}
    assert model.positive_ == "ill"
    assert main(["predict", "m.kw", "rna.csv", "clinic.csv", "--out", "with.csv"]) == 0
    empty = pd.read_csv("clinic.csv", index_col=0).replace({"age": {999: None}, "crp": {"n.d.": None}})
    empty.to_csv("clinic.csv")
    assert main(["predict", "m.kw", "rna.csv", "clinic.csv", "--out", "without.csv"]) == 0
    assert (folder / "with.csv").read_bytes() == (folder / "without.csv").read_bytes()
    (folder / "clinic.csv").write_text((folder / "clinic.csv").read_text().replace(",0.", ",?0."))
    capsys.readouterr()
    assert main(["predict", "m.kw", "rna.csv", "clinic.csv", "--out", "p.csv"]) == 2
    assert "or write --na-values ?0." in capsys.readouterr().err


def test_workers_read_the_same(folder):
    """What is said of columns goes along to workers of a cluster, which read the files themselves."""
    words = ["compare", *FIT[1:-2], "--category", "ward", "--log", "rna", "--na-values", "999", "n.d."]
    given = parse([*words, "--positive", "ill", "--methods", "linear"])
    check(given)
    comparison = pickle.loads(pickle.dumps(Reread(given)))()
    (problem,) = comparison.datasets.values()
    (model,) = comparison.contenders[0].candidates(problem).values()
    assert (model.log, model.positive, model.na_values) == (["rna"], "ill", ["999", "n.d."])
    assert model.kinds["clinic__ward"] == "category" and model.kinds["clinic__crp"] == "number"


def test_further_missing_values_of_new_samples(folder, capsys):
    assert main([*FIT, "--na-values", "999", "n.d.", "--out", "m.kw"]) == 0
    text = (folder / "clinic.csv").read_text()
    (folder / "clinic.csv").write_text(text.replace("n.d.", "unknown"))
    assert main(["predict", "m.kw", "rna.csv", "clinic.csv", "--na-values", "unknown", "--out", "p.csv"]) == 0
    (folder / "clinic.csv").write_text(text)
    assert main(["predict", "m.kw", "rna.csv", "clinic.csv", "--out", "q.csv"]) == 0
    assert (folder / "p.csv").read_bytes() == (folder / "q.csv").read_bytes()


def test_what_cannot_be_is_one_error(folder, capsys):
    for words, message in (
        (["--number", "crp"], "sample 'p59' has 'n.d.' there; correct the cell, or write --na-values n.d. if it means"),
        (
            ["--log", "clinic", "--drop", "crp", "--drop", "age", "--drop", "ward"],
            "--log names the view 'clinic', which",
        ),
        (["--positive", "sick"], "--positive sick is no class of the target, which has 'ill' and 'well'"),
    ):
        assert main([*FIT, *words]) == 2
        assert message in capsys.readouterr().err
    negative = pd.read_csv("rna.csv", index_col=0)
    negative.iloc[3, 1] = -2.5
    negative.to_csv("rna.csv")
    for command in (FIT, ["compare", *FIT[1:-2], "--methods", "linear"]):
        assert main([*command, "--log", "rna"]) == 2
        error = capsys.readouterr().err
        assert "the view 'rna' is taken as log(1 + x), but its column 'rna__b' has the negative number -2.5" in error
        assert error.rstrip().endswith("correct it, or leave the view out of --log")


def test_a_copy_of_the_target_that_is_dropped(folder, capsys):
    clinic = pd.read_csv("clinic.csv", index_col=0).drop(columns="crp").assign(code=np.tile([3, 7], 30))
    clinic.to_csv("clinic.csv")
    for words, is_said in (([], True), (["--drop", "code"], False)):
        assert main([*FIT, *words, "--out", "m.kw"]) == 0
        assert ("the column 'clinic__code' equals the target" in "".join(capsys.readouterr())) is is_said
    assert main([*FIT[:-1], "alone:rna", "--drop", "a", "--drop", "b"]) == 2
    assert "--method alone:rna cannot be had for these data: no column of the view 'rna'" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_of_files_in_blocks(folder, suffix):
    pytest.importorskip("pyarrow")
    clinic = pd.read_csv("clinic.csv", index_col=0).drop(columns="crp").assign(dx=np.tile(["ill", "well"], 30))
    clinic.to_parquet("clinic.parquet")
    pd.read_csv("rna.csv", index_col=0).to_parquet("rna.parquet")
    words = ["fit", "rna.parquet", "clinic.parquet", "--target", "dx", "--quick", "--jobs", "1", "--log", "rna"]
    blocks = [] if suffix == "csv" else ["--in-blocks"]
    assert main([*words, *blocks, "--drop", "age", "--category", "clinic:ward", "--out", "m.kw"]) == 0
    kinds = load("m.kw").kinds_["kind"]
    assert kinds["clinic__age"] == "left out" and kinds["clinic__ward"] == "category"
    assert load("m.kw").log == ["rna"]
