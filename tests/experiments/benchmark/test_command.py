"""`python -m experiments benchmark`: lists, the example of the documents, wrong calls, the page."""

from pathlib import Path

import pytest

from experiments.benchmark import command as benchmark
from experiments.command import main

EXAMPLE = Path(__file__).parents[3] / "docs" / "benchmark_entry.py"


def call(*words, tmp_path):
    return main(["benchmark", *words, "--output", str(tmp_path / "out"), "--jobs", "1"])


def test_the_example_enters_and_joins_the_table(tmp_path, capsys):
    words = ("wdbc", "--methods", "logistic regression", "--entry", str(EXAMPLE), "--quick", "--splits", "1")
    assert call(*words, tmp_path=tmp_path) == 0
    printed = capsys.readouterr().out
    assert "2 methods on 1 data sets, 1 splits each." in printed
    assert "nearest neighbours" in printed and "logistic regression" in printed
    assert "wdbc: splits " in printed


def test_the_page_of_documents_shows_the_example():
    page = (EXAMPLE.parent / "benchmark_enter.md").read_text()
    assert EXAMPLE.read_text().split('"""\n\n', 1)[1] in page


def test_an_entry_alone(tmp_path, capsys):
    words = ("wdbc", "--methods", "none", "--entry", str(EXAMPLE), "--quick", "--splits", "1")
    assert call(*words, tmp_path=tmp_path) == 0
    assert "1 methods" in capsys.readouterr().out
    assert call("wdbc", "--methods", "none", tmp_path=tmp_path) == 2
    assert "leaves nothing to run" in capsys.readouterr().err


def test_lists(tmp_path, capsys):
    assert call("--list", tmp_path=tmp_path) == 0
    printed = capsys.readouterr().out
    assert "cora-block" in printed and "EasyMKL" in printed and "random forest" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sonr",), "no data set 'sonr'"),
        (("wdbc", "--methods", "LpMLK"), "did you mean 'LpMKL'"),
        (("wdbc", "--entry", "nowhere.py"), "no file 'nowhere.py' to enter"),
    ],
)
def test_wrong_calls_in_one_line(words, message, tmp_path, capsys):
    assert call(*words, tmp_path=tmp_path) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_the_page_is_written_from_all_cells(tmp_path, capsys, monkeypatch):
    written = []
    monkeypatch.setattr(benchmark, "write_benchmark_page", lambda cells, page: written.append((len(cells), page)))
    words = ("wdbc", "--methods", "logistic regression", "--quick", "--splits", "2", "--page", "some/page.md")
    assert call(*words, tmp_path=tmp_path) == 0
    assert written == [(2, Path("some/page.md"))]
    assert "Written: some/page.md" in capsys.readouterr().out


def test_the_page_has_the_entries_that_are_given_as_they_are_now(tmp_path, capsys, monkeypatch):
    written = []
    monkeypatch.setattr(benchmark, "write_benchmark_page", lambda cells, page: written.append(set(cells["method"])))
    words = ("wdbc", "--quick", "--splits", "1", "--page", "page.md", "--methods", "logistic regression")
    assert call(*words, "--entry", str(EXAMPLE), tmp_path=tmp_path) == 0
    assert "left out" not in capsys.readouterr().err
    assert call(*words, tmp_path=tmp_path) == 0
    assert written == [{"logistic regression", "nearest neighbours"}, {"logistic regression"}]
    assert "1 of 'nearest neighbours', an entry whose file is not given" in capsys.readouterr().err


def test_absent_sets_are_named(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("KERNELWEAVE_DATA", raising=False)
    words = ("wdbc", "sonar", "--methods", "logistic regression", "--quick", "--splits", "1")
    assert call(*words, tmp_path=tmp_path) == 0
    assert "Not in the data home, and left out: sonar." in capsys.readouterr().out
