"""The example scripts run and write their picture; those whose data are absent say so.

Takes many seconds: twenty scripts fit models and draw them. Those that train on a third of the digits, or on as many
samples as they are told to, have fewer here, and folds are not repeated.
"""

import runpy
import sys
from pathlib import Path

import pytest
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split

FOLDER = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(path.name for path in FOLDER.glob("plot_*.py"))


def test_there_is_one_script_for_each_figure_of_chapter_one():
    titles = " ".join((FOLDER / script).read_text().partition("\n")[0] for script in SCRIPTS)
    assert all(f"Figure 1.{number})" in titles for number in range(1, 6))


def split_off_few(*arrays, **options):
    return train_test_split(*arrays, **options | {"train_size": 150, "test_size": 150})


def split_once(**options):
    return RepeatedStratifiedKFold(**options | {"n_repeats": 1})


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_writes_its_picture(script, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="draws; needs the extra plot")
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", [script, "--output", str(picture), "--samples", "2000"])
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr("sklearn.model_selection.RepeatedStratifiedKFold", split_once)
    if "train_size=667" in (FOLDER / script).read_text():
        monkeypatch.setattr("sklearn.model_selection.train_test_split", split_off_few)
    runpy.run_path(str(FOLDER / script), run_name="__main__")
    said = capsys.readouterr().out
    if said.startswith("Nothing is drawn: "):  # a data set that is not part of the package
        assert not picture.exists()
        pytest.skip(said.strip())
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000
