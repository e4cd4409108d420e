"""Which finished cells count: those of the benchmark as it is declared now, and no others."""

import shutil
import time

import pytest

from experiments.benchmark import choose_data_sets, load_cells, load_entry, run_benchmark
from experiments.benchmark.entries import find_method

ENTRY = """
from sklearn.neighbors import KNeighborsClassifier
from experiments.benchmark.ingredients import on_columns

NAME = "mine"


def candidates(problem):
    return {"": on_columns(problem, KNeighborsClassifier(3))}
"""
OURS = "logistic regression"


@pytest.fixture
def mine(tmp_path):
    """The entry, from a file of its own for each text: modules are loaded once in each process."""

    def make(extra=""):
        path = tmp_path / f"entry{len(extra)}.py"
        path.write_text(ENTRY + extra)
        return load_entry(path)

    return make


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of one method of the library, one split."""
    folder = tmp_path_factory.mktemp("run")
    run(folder, [find_method(OURS)])
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of that run."""
    return shutil.copytree(finished, tmp_path / "run")


def run(folder, methods, **options):
    return run_benchmark(choose_data_sets(["wdbc"]), methods, output=folder, quick=True, splits=1, **options)


def test_cells_of_the_declaration_count_without_a_warning(folder, mine, recwarn):
    outcome = run(folder, [find_method(OURS), mine()])
    cells = load_cells(folder, quick=True, entries=[mine()])
    assert cells.equals(outcome.cells) and cells.attrs == outcome.cells.attrs
    assert dict(zip(cells["method"], cells["family"], strict=True)) == {OURS: "rival", "mine": "entry"}
    assert not [one for one in recwarn if "left out" in str(one.message)]


def test_cells_of_an_older_entry_file_are_left_out_until_it_has_run(folder, mine):
    run(folder, [mine()])
    changed = mine("# changed\n")
    with pytest.warns(UserWarning, match="left out: 1 of 'mine' as it was before .* its file .* changed"):
        assert list(load_cells(folder, quick=True, entries=[changed])["method"]) == [OURS]
    run(folder, [changed])
    assert set(load_cells(folder, quick=True, entries=[changed])["method"]) == {OURS, "mine"}


def test_cells_of_an_entry_that_is_not_given_are_left_out(folder, mine):
    run(folder, [mine()])
    with pytest.warns(UserWarning, match="left out: 1 of 'mine', an entry whose file is not given"):
        assert list(load_cells(folder, quick=True)["method"]) == [OURS]


def test_cells_of_data_sets_that_cannot_be_read_are_left_out(folder, monkeypatch):
    monkeypatch.delenv("KERNELWEAVE_DATA", raising=False)
    cells = folder / "cells" / "benchmark-quick"
    for name in ("sonar", "made-up"):
        shutil.copytree(cells / "wdbc", cells / name)
    with pytest.warns(UserWarning, match=r"1 of 'made-up', which is no data set .*; 1 of sonar, which is not in the"):
        assert list(load_cells(folder, quick=True)["set"]) == ["wdbc"]


def test_cells_of_other_settings_do_not_count(folder, monkeypatch):
    monkeypatch.setattr("experiments.benchmark.run.QUICK_SECONDS", 3.0)
    with pytest.raises(FileNotFoundError, match=f"no cells .* that count .*1 of '{OURS}' as it was before"):
        load_cells(folder, quick=True)


@pytest.mark.parametrize("text", ["", "[]", "{}"])
def test_damaged_cells_are_left_out(folder, mine, text):
    run(folder, [mine()])
    (path,) = folder.rglob("mine/*.json")
    path.write_text(text)
    with pytest.warns(UserWarning, match="left out: 1 of damaged files"):
        assert list(load_cells(folder, quick=True, entries=[mine()])["method"]) == [OURS]


def test_an_unfinished_run_gives_no_cells_of_an_older_entry_file(folder, mine):
    run(folder, [mine()])
    outcome = run(folder, [find_method(OURS), mine("# changed\n")], until=time.monotonic() - 1.0)
    assert outcome.n_missing == 1 and list(outcome.cells["method"]) == [OURS]


def test_no_cells(tmp_path):
    with pytest.raises(FileNotFoundError, match="no cells of the benchmark below '.*'; run it first"):
        load_cells(tmp_path)
