"""Times to an event on the command line: the journey from files to a report, and what is refused in one line."""

import json

import numpy as np
import pandas as pd
import pytest

from kernelweave import load
from kernelweave.cli import main
from kernelweave.cli.events import events_of, split_event
from kernelweave.cli.options import times
from kernelweave.survival import concordance, outcome
from survival_cohort import cohort, write_files

TARGET = ["--target", "labels.csv:time", "--event", "labels.csv:event"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The files of a cohort and of new samples, a comparison of them and a fitted model."""
    folder = tmp_path_factory.mktemp("survival")
    write_files(folder, *cohort(lacking=3))
    write_files(folder / "new", *cohort(40, seed=1, lacking=2))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        words = ["rna.csv", "clinical.csv", "--target", "labels.csv:time", "--event", "labels.csv:status=dead"]
        options = ["--quick", "--folds", "2", "--jobs", "1", "--methods", "mean", "alone:clinical", "--out", "res"]
        assert main(["compare", *words, *options]) == 0
        assert main(["fit", "rna.csv", "clinical.csv", *TARGET, "--quick", "--method", "lp", "--out", "lp.kw"]) == 0
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    monkeypatch.setenv("COLUMNS", "100")
    return made


NEW = ["new/rna.csv", "new/clinical.csv"]


def test_compare_writes_risks_survival_and_a_report(folder):
    table = pd.read_csv("res/out_of_fold.csv")
    assert set(table["method"]) == {"mean", "alone:clinical"}
    X, y = cohort(lacking=3)
    own = table[table["method"] == "mean"].set_index("sample").loc[X.index]
    np.testing.assert_array_equal(own["event"], y["event"])
    chances = own.filter(like="survival_")
    assert (
        chances.shape[1] > 10
        and chances.to_numpy().min() >= 0.0
        and (chances.diff(axis=1).iloc[:, 1:] <= 0).to_numpy().all()
    )
    report = json.loads((folder / "res" / "report.json").read_text())
    found = report["data"]["comparison"]
    assert found["task"] == "survival" and found["score"] == "concordance"
    means = {one["method"]: one["score"] for one in found["methods"]}
    folds = [concordance(outcome(part["time"], part["event"]), part["risk"]) for _, part in own.groupby("fold")]
    assert means["mean"] == pytest.approx(np.mean(folds), abs=1e-9)
    assert [section["id"] for section in report["sections"]][:3] == ["methods", "held-out", "views"]
    titles = [block.get("title") for section in report["sections"] for block in section["blocks"]]
    for title in ("Survival of the risk groups", "Numbers at risk", "Errors of predicted survival over time", "Times"):
        assert title in titles
    text = (folder / "res" / "report.md").read_text()
    assert "## The highest risks, and what drives them" in text and "each bar begins at the average risk" in text
    assert "Kaplan-Meier" in text and (folder / "res" / "report.html").stat().st_size > 50_000


def test_predict_writes_risks_and_survival(folder, capsys):
    assert main(["predict", "lp.kw", *NEW, "--times", "365,100", "--out", "p.csv"]) == 0
    table = pd.read_csv("p.csv", index_col=0)
    assert list(table.columns) == ["risk", "survival_100", "survival_365"] and len(table) == 40
    assert (table["survival_100"] >= table["survival_365"]).all() and table["risk"].std() > 0.1
    _, y = cohort(40, seed=1)
    assert concordance(y, table["risk"]) > 0.65
    model = load("lp.kw")
    X, _ = cohort(40, seed=1, lacking=2)
    np.testing.assert_allclose(table["risk"], model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(table["survival_365"], model.predict_survival_function(X, [365.0])[:, 0], rtol=1e-12)
    assert "Predicted 40 samples: from " in capsys.readouterr().out
    assert main(["predict", "lp.kw", "new/rna.csv", "--out", "p.csv"]) == 0
    assert list(pd.read_csv("p.csv", index_col=0).columns) == ["risk"]


def test_explain_says_which_view_drives_the_risk(folder, capsys):
    assert main(["explain", "lp.kw", *NEW, "--out", "why"]) == 0
    assert "Most was added to the risk by rna (" in capsys.readouterr().out
    table = pd.read_csv("why/contributions.csv", index_col=0)
    assert table.columns[0] == "risk" and table.columns[-1] == "intercept"
    np.testing.assert_allclose(table.iloc[:, 1:].sum(axis=1), table["risk"], atol=1e-9)
    np.testing.assert_allclose(table["intercept"], 0.0, atol=1e-9)  # parts are measured from their means
    assert pd.read_csv("why/features.csv")["feature"].iloc[0] == "g0"
    sections = [section["id"] for section in json.loads((folder / "why" / "report.json").read_text())["sections"]]
    assert "contributions" in sections


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            "labels.csv:status",
            "but has alive, dead; write which value means the event, such as --event labels.csv:status=dead",
        ),
        ("labels.csv:code", "but has 1, 2; write which value means the event, such as --event labels.csv:code=2"),
        ("labels.csv:status=gone", "the column has no 'gone'; it has alive, dead"),
        ("labels.csv:evnt", "labels.csv has no column 'evnt'"),
        ("labels.csv:time", "the column 'time' of labels.csv is both target and event; name two columns"),
        ("labels.csv", "--event names no column; pass --event labels.csv:COLUMN"),
    ],
)
def test_events_that_cannot_be_read(folder, capsys, event, message):
    words = ["fit", "rna.csv", "--target", "labels.csv:time", "--event", event, "--out", "none.kw"]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not (folder / "none.kw").exists()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["2020-01-07"] * 90, "the target 'time' must hold durations as numbers, such as days since the diagnosis"),
        (["lost", *["7"] * 89], "must hold times as numbers, but has 'lost'"),
        (np.arange(90.0) - 1.0, "'time' of the target is negative"),
        (np.full(90, 3.0), "all times are the same"),
    ],
)
def test_times_that_cannot_be_used(folder, capsys, column, message):
    X, y = cohort()
    pd.DataFrame({"time": column, "event": y["event"]}, X.index).to_csv("odd.csv")
    words = ["compare", "rna.csv", "--target", "odd.csv:time", "--event", "odd.csv:event", "--out", "odd", "--quick"]
    assert main(words) == 2
    assert message in capsys.readouterr().err and not (folder / "odd").exists()


def test_options_that_do_not_fit(folder, capsys):
    words = ["compare", "rna.csv", "--target", "labels.csv:time"]
    for more, message in (
        (["--task", "survival"], "--task survival needs --event FILE:COLUMN"),
        (
            ["--event", "labels.csv:event", "--task", "regression"],
            "--event is for times until an event, not for --task",
        ),
        (
            ["--event", "labels.csv:event", "--scoring", "accuracy"],
            "'accuracy' is for a classification, not a survival",
        ),
    ):
        assert main([*words, *more]) == 2
        assert message in capsys.readouterr().err
    assert main(["fit", "rna.csv", *TARGET, "--method", "boosting"]) == 2
    assert "scikit-learn has no gradient boosting of times to an event" in capsys.readouterr().err
    assert main(["predict", "lp.kw", *NEW, "--target", "new/labels.csv:time"]) == 2
    assert "--target is for models of classes or numbers" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["predict", "lp.kw", *NEW, "--times", "soon"])
    assert "must be numbers of at least 0, such as 365,730" in capsys.readouterr().err


def test_samples_without_an_event_are_left_out_with_a_warning(folder, capsys):
    labels = pd.read_csv("labels.csv", index_col=0)
    labels.loc["p004", "status"] = None
    labels.to_csv("gaps.csv")
    words = ["fit", "rna.csv", "--target", "gaps.csv:time", "--event", "gaps.csv:status=dead", "--quick"]
    assert main([*words, "--method", "mean", "--out", "gaps.kw"]) == 0
    assert "1 sample with a time is left out for want of a value in --event gaps.csv:status" in capsys.readouterr().err
    assert load("gaps.kw").n_samples_ == 89


def test_words_of_events():
    for words in (["yes", "No", "YES"], ["true", "false", "TRUE"], [1, 0, 1], [1.0, 0.0, 1.0], [True, False, True]):
        found = events_of(pd.Series(words, name="e"), "e", None)
        np.testing.assert_array_equal(found, [True, False, True])
    np.testing.assert_array_equal(events_of(pd.Series([2.0, 1.0]), "e", "2"), [True, False])
    assert split_event("a/b.csv:last state=dead = sure") == ("a/b.csv:last state", "dead = sure")
    assert split_event("status") == ("status", None) and split_event("status=1") == ("status", "1")
    assert times("730, 365;10") == [10.0, 365.0, 730.0]


def test_times_and_events_in_the_file_of_a_view_are_no_part_of_it(folder, capsys):
    X, y = cohort()
    table = X.filter(like="clinical__").rename(columns=lambda name: name.partition("__")[2])
    table.assign(os=y["time"], dead=y["event"]).to_csv("whole.csv")
    words = ["fit", "rna.csv", "whole.csv", "--target", "os", "--event", "dead", "--quick", "--method", "mean"]
    assert main([*words, "--out", "whole.kw"]) == 0
    out, err = capsys.readouterr()
    assert "Target os: times from" in out and "one to one" not in err
    model = load("whole.kw")
    assert model.task_ == "survival" and {"whole__os", "whole__dead"}.isdisjoint(model.feature_names_in_)
    table.assign(os=y["time"], dead=y["event"], state=np.where(y["event"], "d", "a")).to_csv("leaky.csv")
    assert main([*words[:2], "leaky.csv", *words[3:], "--out", "leaky.kw"]) == 0
    assert "warning: the column 'leaky__state' equals the target one to one" in capsys.readouterr().err
