"""``kernelweave compare`` in this process: what it prints, how it stops and goes on, and what it refuses."""

import time

import numpy as np
import pandas as pd
import pytest

from kernelweave.cli import main
from kernelweave.cli.commands import compare as module
from kernelweave.experiments.engine import comparison_run


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
    monkeypatch.setattr(module, "write_results", lambda out, *rest, **options: _written(out))
    return tmp_path


def _written(out):
    """The files take long, and are the matter of `experiments.compare.writing`."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.html").write_text("")
    return [out / "report.html", out / "best.kw"]


WORDS = ["compare", "rna.csv", "lab[red].csv", "--target", "labels.csv:ill", "--methods", "alone", "mean"]
FAST = ["--quick", "--folds", "2", "--jobs", "1"]


@pytest.fixture
def measured(monkeypatch):
    calls = []
    measure = comparison_run._measure

    def counted(label, model, *arguments):
        calls.append(model.method)
        return measure(label, model, *arguments)

    monkeypatch.setattr(comparison_run, "_measure", counted)
    return calls


def test_a_table_a_sentence_and_where_the_files_are(folder, capsys, measured):
    assert main([*WORDS, *FAST, "--out", "res"]) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "Task: classification" in out and "Comparing 3 methods by nested cross-validation, 2 folds." in out
    rows = [line.split("%")[0].split() for line in out.splitlines() if "%" in line and ":" not in line]
    assert ["lab[red]", "alone"] in [row[:2] for row in rows]  # no markup
    assert ["most", "frequent", "class"] in [row[:3] for row in rows]
    assert "\nUse " in out and "res/report.html" in out and "res/best.kw" in out
    assert len(measured) == 6
    measured.clear()
    assert main([*WORDS, *FAST, "--out", "res"]) == 0
    assert measured == [] and capsys.readouterr().out == out


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
    monkeypatch.setattr(module, "write_results", lambda out, *rest, **options: _written(out))
    assert main([*WORDS, *FAST, "--out", "res"]) == 0
    assert "results are there" not in capsys.readouterr().out


def test_interrupted(folder, capsys, monkeypatch):
    def interrupts(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison_run, "_measure", interrupts)
    assert main([*WORDS, *FAST, "--out", "res"]) == 130
    assert capsys.readouterr().err == "Interrupted; the same command goes on where it stopped.\n"
    assert not (folder / "res" / "report.html").exists()


def test_a_method_that_fails_is_shown_and_the_others_go_on(folder, capsys, monkeypatch):
    measure = comparison_run._measure

    def fails(label, model, *arguments):
        if model.method == "mean":
            raise ValueError("no [b]luck")
        return measure(label, model, *arguments)

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
