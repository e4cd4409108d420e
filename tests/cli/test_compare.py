"""``kernelweave compare`` in this process: what it prints, how it stops and goes on, and what it refuses."""

import time

import numpy as np
import pandas as pd
import pytest

from kernelweave import load
from kernelweave.cli import compare as module
from kernelweave.cli import main
from kernelweave.compare import run as comparison_run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    ids = pd.Index([f"p{i}" for i in range(48)], name="sample")
    signal = np.tile([0.0, 3.0], 24)
    rna = pd.DataFrame(rng.normal(size=(48, 2)), index=ids, columns=["g1", "g2"])
    rna["g1"] += signal
    rna.to_csv(tmp_path / "rna.csv")
    pd.DataFrame({"crp": rng.normal(size=48)}, index=ids).to_csv(tmp_path / "lab[red].csv")
    labels = pd.DataFrame({"ill": np.where(signal > 0, "yes", "no"), "one": "same"}, index=ids)
    labels.to_csv(tmp_path / "labels.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(module, "write_report", lambda out, *rest, **options: _written(out))
    return tmp_path


def _written(out):
    """The report takes long, and is the matter of `compare.report`."""
    (out / "report.html").write_text("")
    return out / "report.html"


WORDS = ["compare", "rna.csv", "lab[red].csv", "--target", "labels.csv:ill", "--methods", "alone", "mean"]
FAST = ["--quick", "--folds", "2", "--jobs", "1"]


@pytest.fixture
def measured(monkeypatch):
    calls = []
    measure = comparison_run._measure

    def counted(label, model, *arguments, **options):
        calls.append(model.method)
        return measure(label, model, *arguments, **options)

    monkeypatch.setattr(comparison_run, "_measure", counted)
    return calls


def rows_of(out):
    return [line.split("%")[0].split() for line in out.splitlines() if "%" in line and ":" not in line]


def test_a_table_a_sentence_and_where_the_files_are(folder, capsys, measured):
    assert main([*WORDS, *FAST, "--out", "res"]) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "Task: classification" in out and "Comparing 3 methods by nested cross-validation, 2 folds." in out
    rows = rows_of(out)
    assert ["lab[red]", "alone"] in [row[:2] for row in rows]  # no markup
    assert ["most", "frequent"] in [row[:2] for row in rows]
    assert "\nUse " in out and "res/report.html" in out and "res/best.kw" in out
    assert len(measured) == 6
    measured.clear()
    assert main([*WORDS, *FAST, "--out", "res"]) == 0
    again = capsys.readouterr().out
    assert measured == [] and rows == rows_of(again)
    assert "6 of 6 results are in res/cells/2-folds-seed-0-quick from an earlier run" in again.replace("\n", " ")


def shown(capsys):
    captured = capsys.readouterr()
    return " ".join(captured.out.split()), captured.err


def test_the_target_does_not_leak_by_its_own_name(folder, capsys):
    """The advice of an error is followed, and what is left of the target's name is no feature."""
    rng = np.random.default_rng(1)
    ids = pd.Index([f"p{i}" for i in range(60)], name="sample")
    dx = rng.permutation(np.repeat(["u", "v"], 30))
    pd.DataFrame(rng.normal(size=(60, 3)), index=ids).add_prefix("g").to_csv("noise.csv")
    pd.DataFrame({"p": rng.normal(size=60), "dx": dx}, index=ids).to_csv("prot_dx.csv")
    pd.DataFrame({"dx": dx, "age": rng.normal(size=60)}, index=ids).to_csv("more.csv")
    words = ["compare", "noise.csv", "prot_dx.csv", "more.csv", *FAST, "--methods", "mean", "--out", "res"]
    assert main([*words, "--target", "dx"]) == 2
    assert "pass --target prot_dx.csv:dx" in capsys.readouterr().err
    assert main([*words, "--target", "prot_dx.csv:dx"]) == 0
    out, err = shown(capsys)
    assert "warning: more.csv: the column 'dx' has the name of the target and is left out" in err
    assert err.rstrip().endswith("pass --keep-column more.csv:dx") and err.count("\n") == 1
    assert float(out.split("mean of kernels ")[1].split()[0]) < 75
    assert main([*words, "--target", "prot_dx.csv:dx", "--keep-column", "more.csv:dx"]) == 0
    out, err = shown(capsys)
    assert "warning: the column 'more__dx' equals the target one to one in nearly all samples" in err
    assert "Warning: the column 'more__dx' equals the target" in out  # a note, which is in the report too
    assert float(out.split("mean of kernels ")[1].split()[0]) > 90
    assert main([*words, "--target", "prot_dx.csv:dx", "--keep-column", "more.csv:age"]) == 2
    assert "error: --keep-column has 'more.csv:age', but there is no such column" in capsys.readouterr().err


def test_the_same_sample_under_two_ids_is_in_one_fold(folder, capsys):
    rng = np.random.default_rng(2)
    ids = pd.Index([f"p{i}" for i in range(80)], name="sample")
    views = {name: rng.normal(size=(40, 4)) for name in ("one", "two")}
    for name, values in views.items():
        pd.DataFrame(np.tile(values, (2, 1)), index=ids).add_prefix("c").to_csv(f"{name}.csv")
    dx = np.tile(rng.permutation(np.repeat(["u", "v"], 20)), 2)
    pd.DataFrame({"dx": dx}, index=ids).to_csv("dx.csv")
    words = ["compare", "one.csv", "two.csv", "--target", "dx.csv:dx", *FAST, "--methods", "alone", "mean"]
    assert main([*words, "--out", "res"]) == 0
    out, _ = shown(capsys)
    assert "80 samples are equal to another one in all views (40 different ones): they are kept together" in out
    assert float(out.split("mean of kernels ")[1].split()[0]) < 70 and "No method is clearly better" in out


def test_it_stops_in_time_and_goes_on(folder, capsys, measured, monkeypatch):
    start = time.monotonic
    assert main([*WORDS, *FAST, "--out", "res", "--max-time", "0.001s"]) == 2
    captured = capsys.readouterr()
    assert "0 of 6 results are there" in captured.err and captured.err.count("\n") == 1
    assert not (folder / "res" / "report.html").exists()
    monkeypatch.setattr(time, "monotonic", lambda: start() + 100.0 * len(measured))
    assert main([*WORDS, *FAST, "--out", "res", "--max-time", "450s"]) == 0
    out = capsys.readouterr().out.replace("\n", " ")
    assert "5 of 6 results are there: 2 of 2 folds count, without mean of kernels. The same command goes on." in out
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(module, "write_report", lambda out, *rest, **options: _written(out))
    assert main([*WORDS, *FAST, "--out", "res"]) == 0
    out = capsys.readouterr().out.replace("\n", " ")
    assert "results are there" not in out
    assert "5 of 6 results are in res/cells/2-folds-seed-0-quick from an earlier run, and are not computed" in out
    assert "The report, the models and the tables in res are written anew; the rest there is as it was." in out


def test_the_model_is_written_where_the_report_cannot_be_made(folder, capsys, monkeypatch):
    def fails(*arguments, **options):
        raise RuntimeError("no paper")

    monkeypatch.setattr(module, "write_report", fails)
    assert main([*WORDS, *FAST, "--out", "res"]) == 2
    error = capsys.readouterr().err
    assert "error: the report could not be made (no paper); the model is there: res/best.kw" in error
    assert load(folder / "res" / "best.kw").method in ("alone:rna", "mean")
    assert len(pd.read_csv(folder / "res" / "out_of_fold.csv")) == 3 * 48


def test_interrupted(folder, capsys, monkeypatch):
    def interrupts(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison_run, "_measure", interrupts)
    assert main([*WORDS, *FAST, "--out", "res"]) == 130
    assert capsys.readouterr().err == "Interrupted; the same command goes on where it stopped.\n"
    assert not (folder / "res" / "report.html").exists()


def test_a_method_that_fails_is_shown_and_the_others_go_on(folder, capsys, monkeypatch):
    measure = comparison_run._measure

    def fails(label, model, *arguments, **options):
        if model.method == "mean":
            raise ValueError("no [b]luck")
        return measure(label, model, *arguments, **options)

    monkeypatch.setattr(comparison_run, "_measure", fails)
    assert main([*WORDS, *FAST, "--out", "res"]) == 0
    out = capsys.readouterr().out
    assert "mean of kernels could not be fitted: no [b]luck" in out and "Use rna alone" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "labels.csv:one"], "one class only"),
        (["--target", "labels.csv:ill", "--folds", "49"], "49 folds need at least 49 samples"),
        (["--target", "labels.csv:ill", "--groups", "labels.csv:one"], "as many groups"),
        (["--target", "labels.csv:ill", "--task", "regression"], "must hold numbers"),
        (["--target", "labels.csv:ill", "--kernel", "kin=rna.csv"], "similarity matrix"),
        (["--target", "labels.csv:ill", "--methods", "alone:dna"], "there is no method 'alone:dna'"),
    ],
)
def test_wrong_calls_are_answered_in_one_line_and_leave_nothing(folder, capsys, words, message):
    assert main(["compare", "rna.csv", *words, "--out", "res"]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and not (folder / "res").exists()
