"""People's own files from end to end: four folders, five commands as processes, interruptions and wrong calls."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import kernelweave
from folders import FOLDERS, SCRIPT

SOME = ["--methods", "alone,mean,stacking,linear"]
METHODS = {"digits": [], "patients": SOME, "families": SOME, "fields": SOME}  # all of them where none are named
FITTED = {"digits": "localized", "patients": "boosting", "families": "alone:kin", "fields": "linear"}
TIMES = {"seconds"}


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


def compare_words(name, folder):
    return ["compare", *folder.files, "--quick", "--folds", "2", "--jobs", "1", *METHODS[name]]


@pytest.fixture(scope="module")
def cohorts(tmp_path_factory):
    """The four folders, each with the results of `compare`, made when they are first asked for."""
    made = {}

    def cohort(name):
        if name not in made:
            place = tmp_path_factory.mktemp(name)
            folder = FOLDERS[name](place / "files")
            run = command(*compare_words(name, folder), "--out", place / "results")
            made[name] = place, folder, run
        return made[name]

    return cohort


@pytest.mark.parametrize("name", FOLDERS)
def test_compare(name, cohorts):
    place, folder, run = cohorts(name)
    results = place / "results"
    written = {path.name for path in results.iterdir()} - {"best-kernels.kw"}  # beside a winner without kernels
    assert written == {"report.html", "report.json", "report.md", "folds.csv", "best.kw", "cells"}
    task = "classification" if folder.classes else "regression"
    assert task in run.stdout and str(results / "report.html") in run.stdout.replace("\n", "")
    folds = pd.read_csv(results / "folds.csv")
    columns = ["method", "repeat", "fold", "score", "validation", "stored_samples", "seconds", "setting"]
    assert list(folds) == columns and folds["score"].notna().all()
    methods = set(folds["method"])
    assert {f"alone:{view}" for view in folder.views} | {"mean", "stacking", "linear"} <= methods
    if name == "digits":
        assert {"concatenation", "lp", "convex", "localized", "projected", "forest", "boosting"} <= methods
    assert (folds.groupby("method")["fold"].nunique() == 2).all()
    assert folds.groupby("method")["score"].mean().max() > (0.7 if folder.classes else 0.5)
    page = (results / "report.html").read_text(encoding="utf-8")
    assert SCRIPT not in page and len(page) < 1_000_000
    headline = json.loads((results / "report.json").read_text(encoding="utf-8"))["headline"]
    assert headline and headline[0] in (results / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FOLDERS)
def test_predict_and_explain_with_the_winner(name, cohorts):
    place, folder, _ = cohorts(name)
    best = place / "results" / "best.kw"
    command("predict", best, *folder.new_files, "--out", place / "predictions.csv")
    predictions = check_predictions(place / "predictions.csv", folder)
    run = command("explain", best, *folder.new_files, "--out", place / "why")
    why = place / "why"
    assert {"contributions.csv", "report.html", "report.json"} <= {path.name for path in why.iterdir()}
    assert SCRIPT not in (why / "report.html").read_text(encoding="utf-8")
    assert str(why) in run.stdout.replace("\n", "") and any(view in run.stdout for view in folder.views)
    parts = pd.read_csv(why / "contributions.csv", index_col=0)
    assert parts.index.name == folder.id_name and set(parts.index) == set(folder.truth.index)
    parts = parts.loc[predictions.index]
    decided = "decision" if folder.classes else "prediction"
    terms = parts.drop(columns=[name for name in ("label", decided) if name in parts])
    assert np.allclose(terms.sum(axis=1), parts[decided], atol=1e-6)
    if folder.classes:
        assert parts["label"].tolist() == predictions["label"].tolist()
    if not folder.classes:
        assert np.allclose(parts["prediction"], predictions["prediction"])


def check_predictions(path, folder):
    """A file of predictions has all samples of the new cohort, and most of them right."""
    predictions = pd.read_csv(path, index_col=0)
    assert predictions.index.name == folder.id_name and set(predictions.index) == set(folder.truth.index)
    truth = folder.truth.loc[predictions.index]
    if not folder.classes:
        assert list(predictions) == ["prediction"]
        assert np.corrcoef(predictions["prediction"], truth)[0, 1] > 0.6
        return predictions
    decisions = ["decision"] if len(folder.classes) == 2 else [f"decision_{label}" for label in folder.classes]
    probabilities = [f"probability_{label}" for label in folder.classes]
    assert list(predictions) == ["label", *decisions, *probabilities]
    assert np.allclose(predictions[probabilities].sum(axis=1), 1.0, atol=1e-5)
    assert (predictions["label"] == truth).mean() > 0.65
    return predictions


@pytest.mark.parametrize("name", FOLDERS)
def test_fit(name, cohorts):
    place, folder, _ = cohorts(name)
    model = place / "models" / "model.kw"
    run = command("fit", *folder.files, "--method", FITTED[name], "--quick", "--jobs", "1", "--out", model)
    assert str(model) in run.stdout.replace("\n", "") and "Task: " in run.stdout
    loaded = kernelweave.load(model)
    assert loaded.method == FITTED[name] and loaded.n_samples_ > 40
    if name == "digits":  # the same numbers as those of the library itself
        command("predict", model, *folder.new_files, "--out", place / "again.csv", "--block-size", "5")
        predictions = check_predictions(place / "again.csv", folder)
        words = [word for word in folder.new_files if "new" in word]
        X = kernelweave.read_views([f"shape={words[0]}", words[1]], id="sample").X
        assert predictions.loc[X.index, "label"].tolist() == loaded.predict(X).tolist()


def test_report_is_drawn_again(cohorts, tmp_path):
    place, _, _ = cohorts("digits")
    results = place / "results"
    pages = {name: (results / name).read_bytes() for name in ("report.html", "report.md")}
    for name in pages:
        (results / name).unlink()
    run = command("report", results)
    assert run.stdout.replace("\n", "").rstrip().endswith(str(results / "report.html"))
    assert {name: (results / name).read_bytes() for name in pages} == pages
    command("report", results / "report.json", "--out", tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / "report.html").read_bytes() == pages["report.html"]


def test_interrupted_and_resumed(cohorts):
    place, folder, _ = cohorts("digits")
    out = place / "resumed"
    words = [*compare_words("digits", folder), "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "kernelweave", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment(),
    )
    until = time.monotonic() + 120
    while len(list(out.rglob("fold-*.json"))) < 3 and time.monotonic() < until and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said and "goes on" in said
    assert {path.name for path in out.iterdir()} == {"cells"}
    cells = {path: path.stat().st_mtime_ns for path in out.rglob("fold-*.json")}
    assert 3 <= len(cells) < len(list((place / "results").rglob("fold-*.json")))
    command(*words)
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


WRONG = {
    "no target": (["compare", "{files}/shape.csv"], "--target"),
    "an unknown column": (["compare", "{files}/shape.csv", "--target", "labels.csv:diget"], "did you mean 'digit'?"),
    "no such file": (["compare", "{files}/shap.csv", "--target", "labels.csv:digit"], "did you mean"),
    "a folder as file": (["fit", "{files}/new", "--target", "labels.csv:digit"], "is a folder"),
    "one fold": (["compare", "{files}/shape.csv", "--target", "labels.csv:digit", "--folds", "1"], "--folds"),
    "an unknown method": (
        ["compare", "{files}/shape.csv", "--target", "labels.csv:digit", "--methods", "boostin"],
        "did you mean 'boosting'?",
    ),
    "an unknown view": (
        ["fit", "{files}/shape.csv", "--target", "labels.csv:digit", "--method", "alone:shade"],
        "alone:shade",
    ),
    "an unknown id": (
        ["fit", "{files}/shape.csv", "--target", "labels.csv:digit", "--id", "sampel"],
        "did you mean 'sample'?",
    ),
    "no jobs": (["fit", "{files}/shape.csv", "--target", "labels.csv:digit", "--jobs", "0"], "--jobs"),
    "a bad time": (["compare", "{files}/shape.csv", "--target", "labels.csv:digit", "--max-time", "x"], "--max-time"),
    "a matrix without name": (
        ["compare", "--kernel", "{files}/shape.csv", "--target", "labels.csv:digit"],
        "write name=file",
    ),
    "no similarity matrix": (
        ["compare", "--kernel", "k={files}/shape.csv", "--target", "labels.csv:digit"],
        "shape.csv",
    ),
    "regression on words": (
        ["fit", "{files}/shape.csv", "--target", "labels.csv:digit", "--task", "regression"],
        "regression",
    ),
    "results in a file": (
        ["compare", "{files}/shape.csv", "--target", "labels.csv:digit", "--out", "{files}/labels.csv"],
        "is a file",
    ),
    "no model": (["predict", "{files}/labels.csv", "{files}/shape.csv"], "labels.csv"),
    "no view of the model": (["predict", "{results}/best.kw", "x={files}/new/shape-new.csv"], "no view 'x'"),
    "no files to explain": (["explain", "{results}/best.kw"], "at least one file"),
    "no results": (["report", "{files}"], "report.json"),
    "a foreign JSON": (["report", "{files}/foreign.json"], "foreign.json"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_is_answered_in_one_line(case, cohorts, tmp_path):
    place, _, _ = cohorts("digits")
    (place / "files" / "foreign.json").write_text('{"menu": [1, 2]}')
    words, message = WRONG[case]
    words = [word.format(files=place / "files", results=place / "results") for word in words]
    before = snapshot(place)
    run = command(*words, status=2, cwd=tmp_path)
    (line,) = run.stderr.splitlines()
    assert line.startswith(f"kernelweave {words[0]}: error: ") and message in line
    assert run.stdout == ""
    assert not list(tmp_path.iterdir()) and snapshot(place) == before  # nothing is written, here or there


def snapshot(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
