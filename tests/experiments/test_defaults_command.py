"""``python -m experiments defaults``."""

import dataclasses
import json

import pytest
from sklearn.neighbors import KNeighborsClassifier

from experiments.command import main
from experiments.discovery import find_default, list_defaults
from kernelweave.compare import Contender
from kernelweave.model_selection import RepeatedDraws
from toy_data import write_toy

SMALL = dataclasses.replace(
    find_default("multiclass"),
    datasets={"iris": ("iris", None), "newthyroid": ("newthyroid", None), "usps": ("usps", None)},
    contenders=tuple(Contender(f"{k} neighbours", lambda data, k=k: {"": KNeighborsClassifier(k)}) for k in (1, 7, 15)),
    protocol=RepeatedDraws(n_repeats=2, n_train=40, n_validation=20, n_test=50),
    default="7 neighbours",
)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The only comparison there is, and data for two of its three sets."""
    monkeypatch.setattr("experiments.command.list_defaults", lambda: [SMALL])
    monkeypatch.setattr("experiments.reports.writing.list_defaults", lambda: [SMALL])
    write_toy(tmp_path, "newthyroid")
    return tmp_path


def test_list(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["defaults", "--list"]) == 0
    printed = capsys.readouterr().out
    for comparison in list_defaults():
        assert comparison.name in printed


def test_all_defaults_are_run_and_gathered(small, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    page = small / "docs" / "defaults.md"
    words = ["defaults", "--data", str(small), "--output", str(small / "out"), "--page", str(page)]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "Default multiclass: More than two classes" in printed and "7 neighbours (default)" in printed
    assert "Not there and left out: usps." in printed
    text = page.read_text()
    assert text.startswith("# The defaults") and "## Default multiclass" in text and "| newthyroid |" in text
    scores = json.loads((small / "out" / "table-default-multiclass.json").read_text())["scores, settings as they come"]
    assert scores["iris"]["7 neighbours"] > 80
    cells = {path: path.stat().st_mtime_ns for path in (small / "out").rglob("fold-*.json")}
    assert len(cells) == 2 * 3 * 2
    assert main(words) == 0 and page.read_text() == text  # nothing is computed again
    assert cells == {path: path.stat().st_mtime_ns for path in (small / "out").rglob("fold-*.json")}


def test_a_quick_run_is_no_page(small, capsys):
    page = small / "defaults.md"
    words = ["defaults", "--quick", "--data", str(small), "--output", str(small / "out"), "--page", str(page)]
    assert main(words) == 1
    assert not page.exists() and "there is no full run below" in capsys.readouterr().err


def test_interrupted(small, capsys, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("experiments.command.run_experiment", stop)
    assert main(["defaults", "--output", str(small)]) == 130
    assert "goes on where it stopped" in capsys.readouterr().err


def test_bad_words(tmp_path, capsys):
    assert main(["defaults", "colour", "--output", str(tmp_path)]) == 2
    assert "there is no default 'colour' to compare" in capsys.readouterr().err


def test_nothing_there(tmp_path, capsys, monkeypatch):
    lonely = dataclasses.replace(SMALL, datasets={"usps": ("usps", None)})
    monkeypatch.setattr("experiments.command.list_defaults", lambda: [lonely])
    assert main(["defaults", "--data", str(tmp_path), "--output", str(tmp_path)]) == 1
    assert "Default multiclass: none of the data sets" in capsys.readouterr().err
