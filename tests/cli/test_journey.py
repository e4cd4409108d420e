"""People's own files from end to end: four folders, five commands, interruptions and wrong calls.

On the digits the commands are those of the examples in ``--help``. Each process imports everything, which takes
seconds: processes are `compare` and `predict` of the digits, the interrupted run and wrong calls that are found before
any import; the other commands are called in this process.
"""

import contextlib
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import kernelweave
from folders import FOLDERS, SCRIPT
from kernelweave.cli import main
from kernelweave.cli.options import EXAMPLES

pytestmark = pytest.mark.long

METHODS = {"patients": "alone,mean,boosting", "families": "mean,stacking", "fields": "alone,linear"}
FITTED = {"digits": "localized", "families": "alone:kin"}  # localized is that of the example


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8", "COLUMNS": "150"}


def command(*words, status=0, cwd=None):
    """Run a command in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "kernelweave", *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        env=environment(),
        cwd=cwd,
        timeout=300,
        check=False,
    )
    assert run.returncode == status, run.stderr
    assert "Traceback" not in run.stderr
    return run


def called(*words, cwd=None):
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd or "."), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert main([*map(str, words)]) == 0, err.getvalue()
    return subprocess.CompletedProcess(words, 0, out.getvalue(), err.getvalue())


def runner(name, word):
    """What runs a command on a folder."""
    return command if name == "digits" and word in ("compare", "predict") else called


def words_of(name, command, folder):
    """The words of a call in a folder; for the digits they are those of the example in ``--help``."""
    extra = ["--quick", "--jobs", "1"] if command in ("compare", "fit") else []
    extra += ["--folds", "2"] if command == "compare" else []
    if name == "digits":
        return [*shlex.split(EXAMPLES[command])[1:], *extra]
    if command == "compare":
        return ["compare", *folder.files, "--out", "results", "--methods", METHODS[name], *extra]
    if command == "fit":
        return ["fit", *folder.files, "--method", FITTED[name], "--out", "model.kw", *extra]
    out = {"predict": "predictions.csv", "explain": "why"}[command]
    return [command, "results/best.kw", *folder.new_files, "--out", out]


@pytest.fixture(scope="module")
def cohorts(tmp_path_factory):
    """The four folders, each with the results of `compare`, made when they are first asked for."""
    made = {}

    def cohort(name):
        if name not in made:
            place = tmp_path_factory.mktemp(name) / "files"
            folder = FOLDERS[name](place)
            made[name] = place, folder, runner(name, "compare")(*words_of(name, "compare", folder), cwd=place)
        return made[name]

    return cohort


@pytest.mark.parametrize("name", FOLDERS)
def test_compare(name, cohorts):
    place, folder, run = cohorts(name)
    results = place / "results"
    written = {path.name for path in results.iterdir()} - {"best-kernels.kw"}  # beside a winner without kernels
    names = {"report.html", "report.json", "report.md", "folds.csv", "out_of_fold.csv", "best.kw", "cells"}
    assert written == names
    task = "classification" if folder.classes else "regression"
    assert task in run.stdout and "results/report.html" in run.stdout
    folds = pd.read_csv(results / "folds.csv")
    columns = ["method", "repeat", "fold", "score", "validation", "stored_samples", "seconds", "setting"]
    assert list(folds) == columns and folds["score"].notna().all()
    methods = set(folds["method"])
    alone = {f"alone:{view}" for view in folder.views}
    combined = {"concatenation", "mean", "least-squares", "lp", "lp-least-squares", "lp-scales", "convex", "localized"}
    combined |= {"projected", "stacking", "auto", "completed", "lp-completed"}  # some digits lack views
    usual = {"linear", "forest", "boosting"}
    named = set(METHODS[name].split(",")) if name in METHODS else {"alone", *combined, *usual}
    assert methods == (named - {"alone"}) | (alone if "alone" in named else set())
    assert (folds.groupby("method")["fold"].nunique() == 2).all()
    assert folds.groupby("method")["score"].mean().max() > (0.7 if folder.classes else 0.5)
    page = (results / "report.html").read_text(encoding="utf-8")
    assert SCRIPT not in page and len(page) < 1_000_000
    headline = json.loads((results / "report.json").read_text(encoding="utf-8"))["headline"]
    assert headline and headline[0][:60] in (results / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FOLDERS)
def test_predict_and_explain_with_the_winner(name, cohorts):
    place, folder, _ = cohorts(name)
    runner(name, "predict")(*words_of(name, "predict", folder), cwd=place)
    predictions = check_predictions(place / "predictions.csv", folder)
    run = called(*words_of(name, "explain", folder), cwd=place)
    why = place / "why"
    assert {"contributions.csv", "report.html", "report.json"} <= {path.name for path in why.iterdir()}
    assert SCRIPT not in (why / "report.html").read_text(encoding="utf-8")
    assert "why/report.html" in run.stdout and any(view in run.stdout for view in folder.views)
    parts = pd.read_csv(why / "contributions.csv", index_col=0)
    assert parts.index.name == folder.id_name and set(parts.index) == set(folder.truth.index)
    parts = parts.loc[predictions.index]
    decided = decision_of(folder) if folder.classes else "prediction"
    terms = parts.drop(columns=[name for name in ("label", decided) if name in parts])
    assert np.allclose(terms.sum(axis=1), parts[decided], atol=1e-6)
    if folder.classes:
        assert parts["label"].tolist() == predictions["label"].tolist()
    if not folder.classes:
        assert np.allclose(parts["prediction"], predictions["prediction"])


def decision_of(folder):
    """The column of decision values in contributions.csv: of two classes it names the one for which they speak."""
    return f"decision_{folder.classes[1]}" if len(folder.classes) == 2 else "decision"


def check_predictions(path, folder):
    """A file of predictions has all samples of the new cohort, and most of them right."""
    predictions = pd.read_csv(path, index_col=0)
    assert predictions.index.name == folder.id_name and set(predictions.index) == set(folder.truth.index)
    truth = folder.truth.loc[predictions.index]
    if not folder.classes:
        assert list(predictions) == ["prediction"]
        assert np.corrcoef(predictions["prediction"], truth)[0, 1] > 0.6
        return predictions
    several = [f"decision_{label}" for label in folder.classes]
    decisions = [decision_of(folder)] if len(folder.classes) == 2 else several
    probabilities = [f"probability_{label}" for label in folder.classes]
    assert list(predictions) == ["label", *decisions, *probabilities]
    assert np.allclose(predictions[probabilities].sum(axis=1), 1.0, atol=1e-5)
    assert (predictions["label"] == truth).mean() > 0.65
    return predictions


@pytest.mark.parametrize("name", FITTED)
def test_fit(name, cohorts):
    place, folder, _ = cohorts(name)
    run = called(*words_of(name, "fit", folder), cwd=place)
    assert "model.kw" in run.stdout and "Task: " in run.stdout
    model = kernelweave.load(place / "model.kw")
    assert model.method == FITTED[name] and model.n_samples_ > 40
    if name == "digits":  # the same numbers as those of the library itself
        new = [place / "rna-new.csv", f"protein={place / 'protein-new.csv'}"]
        called("predict", "model.kw", *new, "--out", "again/and again.csv", "--block-size", "5", cwd=place)
        predictions = check_predictions(place / "again" / "and again.csv", folder)
        X = kernelweave.read_views([f"rna={new[0]}", new[1]], id="sample").X
        assert predictions.loc[X.index, "label"].tolist() == model.predict(X).tolist()
        assert np.allclose(predictions.filter(like="probability_").loc[X.index], model.predict_proba(X))


def test_report_is_drawn_again(cohorts, tmp_path):
    place, _, _ = cohorts("digits")
    results = place / "results"
    pages = {name: (results / name).read_bytes() for name in ("report.html", "report.md")}
    for name in pages:
        (results / name).unlink()
    run = called(*words_of("digits", "report", None), cwd=place)
    assert run.stdout.rstrip().endswith("results/report.html")
    assert {name: (results / name).read_bytes() for name in pages} == pages
    called("report", results / "report.json", "--out", tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / "report.html").read_bytes() == pages["report.html"]


def test_interrupted_and_resumed(cohorts):
    place, folder, _ = cohorts("patients")
    out = place / "resumed"
    words = [*words_of("patients", "compare", folder), "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "kernelweave", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment(),
        cwd=place,
    )
    until = time.monotonic() + 120
    while len(list(out.rglob("fold-*.json"))) < 2 and time.monotonic() < until and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said and "goes on" in said
    assert {path.name for path in out.iterdir()} == {"cells"}
    cells = {path: path.stat().st_mtime_ns for path in out.rglob("fold-*.json")}
    assert 2 <= len(cells) < len(list((place / "results").rglob("fold-*.json")))
    called(*words, cwd=place)
    assert cells == {path: path.stat().st_mtime_ns for path in cells}  # nothing is computed again
    straight, resumed = (pd.read_csv(folder / "folds.csv") for folder in (place / "results", out))
    assert straight.drop(columns="seconds").equals(resumed.drop(columns="seconds"))
    first, second = (json.loads((folder / "report.json").read_text("utf-8")) for folder in (place / "results", out))
    assert without_times(first["data"]) == without_times(second["data"])


def without_times(value):
    """Data of a report without what differs from run to run."""
    if isinstance(value, dict):
        return {key: without_times(part) for key, part in value.items() if not is_time(key)}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def is_time(key):
    return "seconds" in key or "time" in key or key in ("out", "path")


# Wrong calls that are found before anything is read, and those that take a look at the files.
WRONG = {
    "no target": (["compare", "{files}/rna.csv"], "--target"),
    "no such file": (["compare", "{files}/rnaa.csv", "--target", "labels.csv:diagnosis"], "did you mean"),
    "a folder as file": (["fit", "{files}/results", "--target", "labels.csv:diagnosis"], "folds.csv is a text file"),
    "one fold": (["compare", "{files}/rna.csv", "--target", "labels.csv:diagnosis", "--folds", "1"], "--folds"),
    "an unknown method": (
        ["compare", "{files}/rna.csv", "--target", "labels.csv:diagnosis", "--methods", "boostin"],
        "did you mean 'boosting'?",
    ),
    "no jobs": (["fit", "{files}/rna.csv", "--target", "labels.csv:diagnosis", "--jobs", "0"], "--jobs"),
    "a bad time": (["compare", "{files}/rna.csv", "--target", "labels.csv:diagnosis", "--max-time", "x"], "--max-time"),
    "a matrix without name": (
        ["compare", "--kernel", "{files}/rna.csv", "--target", "labels.csv:diagnosis"],
        "write name=file",
    ),
    "results in a file": (
        ["compare", "{files}/rna.csv", "--target", "labels.csv:diagnosis", "--out", "{files}/labels.csv"],
        "is a file",
    ),
    "no files to explain": (["explain", "{results}/best.kw"], "at least one file"),
    "no results": (["report", "{files}"], "report.json"),
}
WRONG_IN_FILES = {
    "an unknown column": (
        ["compare", "{files}/rna.csv", "--target", "labels.csv:diagnoses"],
        "did you mean 'diagnosis'?",
    ),
    "an unknown view": (
        ["fit", "{files}/rna.csv", "--target", "labels.csv:diagnosis", "--method", "alone:rne"],
        "alone:rne",
    ),
    "an unknown id": (
        ["fit", "{files}/rna.csv", "--target", "labels.csv:diagnosis", "--id", "sampel"],
        "did you mean 'sample'?",
    ),
    "no similarity matrix": (
        ["compare", "--kernel", "k={files}/rna.csv", "--target", "labels.csv:diagnosis"],
        "rna.csv",
    ),
    "regression on words": (
        ["fit", "{files}/rna.csv", "--target", "labels.csv:diagnosis", "--task", "regression"],
        "regression",
    ),
    "too many folds": (
        ["compare", "{files}/rna.csv", "--target", "labels.csv:diagnosis", "--folds", "5000"],
        "5000",
    ),
    "no model": (["predict", "{files}/labels.csv", "{files}/rna.csv"], "labels.csv"),
    "no view of the model": (["predict", "{results}/best.kw", "x={files}/rna-new.csv"], "no view 'x'"),
    "an unclear view": (["explain", "{results}/best.kw", "{files}/labels.csv", "{files}/rna.csv"], "VIEW={files}"),
    "a foreign JSON": (["report", "{files}/foreign.json"], "foreign.json"),
}


def wrong_call(case, place):
    """The words of a wrong call, and what its answer has to contain."""
    (place / "foreign.json").write_text('{"menu": [1, 2]}')
    words, message = (WRONG | WRONG_IN_FILES)[case]
    places = {"files": place, "results": place / "results"}
    return [word.format(**places) for word in words], message.format(**places)


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_is_answered_in_one_line(case, cohorts, tmp_path):
    place, _, _ = cohorts("digits")
    words, message = wrong_call(case, place)
    before = snapshot(place)
    run = command(*words, status=2, cwd=tmp_path)
    (line,) = run.stderr.splitlines()
    assert line.startswith(f"kernelweave {words[0]}: error: ") and message in line and run.stdout == ""
    assert not list(tmp_path.iterdir()) and snapshot(place) == before  # nothing is written, here or there


@pytest.mark.parametrize("case", WRONG_IN_FILES)
def test_files_that_do_not_fit_are_answered_in_one_line(case, cohorts, tmp_path, monkeypatch, capsys):
    place, _, _ = cohorts("digits")
    words, message = wrong_call(case, place)
    before = snapshot(place)
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"kernelweave {words[0]}: error: ") and message in line
    assert not list(tmp_path.iterdir()) and snapshot(place) == before


def snapshot(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
