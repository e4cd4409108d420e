"""Reports and models of the command line state the call, the seed and a checksum of each file that was read.

Each call fits models, which takes most of the time.
"""

import hashlib
import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernelweave import __version__, load
from kernelweave.cli import inputs as module
from kernelweave.cli import main

FAST = ["--quick", "--jobs", "1"]
ODD = "it's <b>\n5 % |.csv"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two views, of which one has fewer rows and a name of every trap, and a table of labels."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ids = pd.Index([f"p{i}" for i in range(48)], name="sample")
    signal = np.tile([0.0, 3.0], 24)
    rna = pd.DataFrame(rng.normal(size=(48, 2)), index=ids, columns=["g1", "g2"])
    rna["g1"] += signal
    rna.to_csv("rna.csv")
    rna.iloc[4:].add_prefix("h").to_csv(ODD)
    labels = pd.DataFrame({"ill": np.where(signal > 0, "yes", "no"), "house": np.arange(48) % 16}, index=ids)
    labels.to_csv("labels.csv")
    (tmp_path / "kin.csv").write_text(pd.DataFrame(rna.to_numpy() @ rna.to_numpy().T, ids, ids).to_csv())
    return tmp_path


def call(*words):
    assert main([str(word) for word in words]) == 0


def stated(results):
    return json.loads((results / "report.json").read_text())["provenance"]


def hashes(*names):
    return [hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in names]


def test_compare_then_explain_then_report(folder):
    words = ["compare", "rna.csv", f"odd={ODD}", "--target", "labels.csv:ill", "--groups", "labels.csv:house"]
    words += ["--kernel", "kin=kin.csv", "--methods", "linear", "--folds", "2", "--seed", "3", *FAST, "--out", "res"]
    call(*words)
    made = stated(folder / "res")
    assert shlex.split(made["command"]) == ["kernelweave", *words] and str(folder) not in made["command"]
    assert made["seed"] == 3 and made["model"] is None
    assert [one["name"] for one in made["inputs"]] == ["rna.csv", ODD, "kin.csv", "labels.csv"]
    assert [one["sha256"] for one in made["inputs"]] == hashes("rna.csv", ODD, "kin.csv", "labels.csv")
    whats = ["view rna", "view odd", "similarities kin", "target, groups"]
    assert [one["what"] for one in made["inputs"]] == whats
    assert [one["rows"] for one in made["inputs"]] == [48, 44, 48, None]
    assert all(one["bytes"] == (folder / one["name"]).stat().st_size for one in made["inputs"])
    markdown, page = ((folder / "res" / name).read_text() for name in ("report.md", "report.html"))
    for text in (markdown, page):
        assert all(
            found in text for found in (*hashes("rna.csv", ODD), "Random seed: 3.", f"kernelweave {__version__}")
        )
    assert f"kernelweave {shlex.join(words)}" in markdown and "5 % |.csv" in page and "<b>\n" not in page
    record = {"version": __version__, "seed": 3, "inputs": made["inputs"]}
    assert load("res/best.kw").record_ == record

    call("explain", "res/best.kw", "rna.csv", "--target", "labels.csv:ill", "--out", "why")
    explained = stated(folder / "why")
    assert explained["model"] == record
    assert [one["what"] for one in explained["inputs"]] == ["model", "view rna", "target"]
    assert [one["sha256"] for one in explained["inputs"]] == hashes("res/best.kw", "rna.csv", "labels.csv")
    assert explained["inputs"][1]["rows"] == 48

    pages = {name: (folder / "res" / name).read_text() for name in ("report.html", "report.md")}
    (folder / "rna.csv").write_text("changed since")
    call("report", "res")  # what was recorded, whatever the files are now
    assert {name: (folder / "res" / name).read_text() for name in pages} == pages


def test_a_changed_file_and_another_call_are_stated_by_the_next_report(folder):
    words = ["compare", "rna.csv", "--target", "labels.csv:ill", "--methods", "linear", "--folds", "2", *FAST]
    call(*words, "--out", "res")
    first = stated(folder / "res")
    table = pd.read_csv("rna.csv", index_col=0)
    table.iloc[0, 1] += 1.0
    table.to_csv("rna.csv")
    call(*words, "--out", "res", "--margin", "0.1")
    second = stated(folder / "res")
    assert first["inputs"][1] == second["inputs"][1] and second["command"].endswith("--margin 0.1")
    assert [one["inputs"][0]["sha256"] != hashes("rna.csv")[0] for one in (first, second)] == [True, False]


def test_a_file_that_is_read_several_times_is_listed_once(folder, monkeypatch):
    checked = []
    original = module.file_input
    monkeypatch.setattr(module, "file_input", lambda path, *given: checked.append(path) or original(path, *given))
    words = ["a=rna.csv", f"b={folder / 'rna.csv'}", "--target", "rna.csv:g2", "--task", "regression"]
    call("fit", *words, "--method", "linear", *FAST, "--out", "m.kw")
    assert len(checked) == 1
    (one,) = load("m.kw").record_["inputs"]
    assert one["what"] == "view a, view b, target" and one["rows"] == 48 and one["name"] == "rna.csv"


def test_events_have_their_file_too(folder):
    labels = pd.read_csv("labels.csv", index_col=0).assign(days=np.arange(48.0) + 1.0)
    labels[["days"]].to_csv("times.csv")
    labels.to_csv("events.csv")
    words = ["rna.csv", "--target", "times.csv:days", "--event", "events.csv:ill=yes"]
    call("fit", *words, "--method", "mean", *FAST, "--out", "m.kw")
    assert [one["what"] for one in load("m.kw").record_["inputs"]] == ["view rna", "target", "event"]


def test_equal_fits_make_equal_files(folder):
    words = ["fit", "rna.csv", "--target", "labels.csv:ill", "--method", "linear", *FAST]
    for out in ("a.kw", "b.kw"):
        call(*words, "--out", out)
    assert (folder / "a.kw").read_bytes() == (folder / "b.kw").read_bytes()


def test_files_and_folders_that_are_read_in_blocks(folder):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    np.save("rna.npy", rng.normal(size=(120, 3)))
    (folder / "lab").mkdir()
    lab = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    lab[:70].to_parquet("lab/part-2.parquet")
    lab[70:].to_parquet("lab/part-10.parquet")
    np.save("ill.npy", np.tile(["yes", "no"], 60))
    call("fit", "rna.npy", "clinic=lab", "--target", "ill.npy", "--method", "mean", *FAST, "--out", "m.kw")
    found = load("m.kw").record_["inputs"]
    assert [(one["name"], one["what"], one["kind"], one["rows"]) for one in found] == [
        ("rna.npy", "view rna", "file", 120),
        ("lab", "view clinic", "folder", 120),
        ("ill.npy", "target", "file", 120),
    ]
    assert [found[0]["sha256"], found[2]["sha256"]] == hashes("rna.npy", "ill.npy")
    lines = "".join(f"{hashes(f'lab/{part}')[0]}  {part}\n" for part in ("part-2.parquet", "part-10.parquet"))
    assert found[1]["sha256"] == hashlib.sha256(lines.encode()).hexdigest()


def test_a_file_of_several_views(folder):
    rng = np.random.default_rng(0)
    ids = np.array([f"p{i}" for i in range(48)])
    np.savez("both.npz", rna=rng.normal(size=(48, 2)), lab=rng.normal(size=(48, 2)), ids=ids)
    call("fit", "both.npz", "--target", "labels.csv:ill", "--method", "linear", *FAST, "--out", "m.kw")
    first, _ = load("m.kw").record_["inputs"]
    assert first["what"] == "views" and first["rows"] is None and first["sha256"] == hashes("both.npz")[0]
