"""The example scripts run by themselves, tell a story and draw one picture, with or without data sets of a data home.

Takes many seconds: thirty scripts fit models and draw them. Those that train on hundreds of digits, or on as many
samples as they are told to, have fewer here, and folds are not repeated.
"""

import ast
import re
import runpy
import sys
import warnings
from pathlib import Path

import pytest
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/plot_*.py"))
PACKAGES = {"kernelweave", "matplotlib", "numpy", "pandas", "scipy", "sklearn"} | set(sys.stdlib_module_names)


def test_there_is_one_script_for_each_figure_of_chapter_one():
    stories = " ".join(ast.get_docstring(ast.parse((FOLDER / script).read_text())) for script in SCRIPTS)
    assert all(f"Figure 1.{number})" in re.sub(r"\s+", " ", stories) for number in range(1, 6))


def test_each_section_has_a_header_and_examples():
    for folder in (FOLDER, *(path for path in FOLDER.iterdir() if path.is_dir() and any(path.glob("*.py")))):
        title, line, *_ = (folder / "README.txt").read_text().splitlines()
        assert len(line) == len(title) and set(line) <= set("=-")
    assert not list(FOLDER.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_is_a_story_that_can_be_copied_out(script):
    source = (FOLDER / script).read_text()
    tree = ast.parse(source)
    title, line, *rest = ast.get_docstring(tree).splitlines()
    assert title and line == "=" * len(title) and len(" ".join(rest)) > 100
    assert source.count("\n# %%\n") >= 1 and source.rstrip().endswith("plt.show()")
    imported = {
        alias.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {name.partition(".")[0] for name in imported} <= PACKAGES


def split_off_few(*arrays, **options):
    return train_test_split(*arrays, **options | {"train_size": 150, "test_size": 150})


def split_once(**options):
    return RepeatedStratifiedKFold(**options | {"n_repeats": 1})


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_draws_one_labelled_picture(script, tmp_path, monkeypatch):
    plt = pytest.importorskip("drawing", reason="draws; needs the extra plot").plt
    source = (FOLDER / script).read_text()
    copy = tmp_path / Path(script).name
    copy.write_text(re.sub(r"100_000|6000(?=, random)", "2_000", source).replace("side = 7\n", "side = 3\n"))
    monkeypatch.setattr("sklearn.model_selection.RepeatedStratifiedKFold", split_once)
    if re.search(r"train_size=[345]\d\d\b", source):
        monkeypatch.setattr("sklearn.model_selection.train_test_split", split_off_few)
    monkeypatch.setenv("KERNELWEAVE_DATA", str(tmp_path))
    plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(copy), run_name="__main__")
    (number,) = plt.get_fignums()
    figure = plt.figure(number)
    assert figure.get_figwidth() <= 7.0, "wider pictures are shrunk by the gallery, and their text with them"
    for panel in figure.axes:
        if panel.axison and panel.get_xticks().size and panel.xaxis.get_visible():
            assert panel.get_xlabel() or panel.get_ylabel() or not panel.xaxis.get_tick_params()["labelbottom"]
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    plt.close("all")
