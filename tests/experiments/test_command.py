"""``python -m experiments reproduce``."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.command import main
from experiments.discovery import find_experiment
from kernelweave.datasets import list_datasets
from kernelweave.datasets.loading import ENVIRONMENT
from small_experiment import SEVERAL, SMALL


def with_small_grids(name):
    """The table with all its methods on fewer samples, with one value for each hyper-parameter: the last but one."""

    def small(grid):
        return grid and {parameter: values[-2:-1] for parameter, values in grid.items()}

    experiment = find_experiment(name)
    methods = tuple(dataclasses.replace(method, grid=small(method.grid)) for method in experiment.methods)
    return dataclasses.replace(experiment, methods=methods, grid=small(experiment.grid), max_samples=900)


def test_list(capsys):
    assert main(["reproduce", "--list"]) == 0
    printed = capsys.readouterr().out
    for number in ("5.6", "5.10", "5.16", "5.21", "5.22", "5.24"):
        assert number in printed


def test_quick_table_is_printed_and_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("experiments.command.find_experiment", with_small_grids)
    page = tmp_path / "results.md"
    assert main(["reproduce", "5.16", "--quick", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for figure in ("94.97 ± 0.87", "17.93 ± 0.91", "97.69 ± 0.44", "61.90 ± 0.49"):  # the thesis' figures
        assert figure in printed
    content = json.loads((tmp_path / "table-5.16-quick.json").read_text())
    ours = {row["method"]: row["mean"] for row in content["methods"]}
    assert ours["SVM (ALL)"]["test"] > 90 and ours["SVM (MOR)"]["test"] < 80
    assert "Table 5.16" in (tmp_path / "table-5.16-quick.md").read_text()
    page.write_text("results of an earlier run")
    assert main(["reproduce", "--output", str(tmp_path), "--page", str(page)]) == 1  # a quick run is no result
    assert page.read_text() == "results of an earlier run"
    assert "there is no full run below" in capsys.readouterr().err


def test_quick_table_with_projections(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("experiments.command.find_experiment", with_small_grids)
    assert main(["reproduce", "sldr-2", "--quick", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for figure in ("97.09 ± 0.52", "2.89 ± 0.67", "23.34 ± 1.13"):  # the paper's figures
        assert figure in printed
    content = json.loads((tmp_path / "table-sldr-2-quick.json").read_text())
    support = {row["method"]: row["mean"]["support"] for row in content["methods"]}
    assert all(share < support["SVM (ALL)"] for method, share in support.items() if method.startswith("SLDR"))


def test_a_table_of_several_data_sets(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("experiments.command.find_experiment", {"several": SEVERAL}.__getitem__)
    assert main(["reproduce", "several", "--quick", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "IRIS and WDBC (quick run)" in printed and "0.25-0.75" in printed and "over the 2 data sets" in printed
    assert (tmp_path / "table-several-quick.json").exists() and (tmp_path / "table-several-quick.md").exists()


def test_errors_of_the_user_are_one_line(tmp_path, capsys):
    data = tmp_path / "data"
    data.mkdir()
    (data / "concrete.npz").write_bytes(b"PK half a file")
    assert main(["reproduce", "5.22", "--output", str(tmp_path / "out"), "--data", str(data)]) == 1
    assert "Table 5.22" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["reproduce", "5.16", "--jobs", "0"])


@pytest.mark.parametrize(
    ("table", "data", "figures"),
    [
        ("5.11", "pendigits", ["99.40 ± 0.21", "0.75-0.25", "0.74 ± 0.02", "32.80 ± 0.42"]),
        ("5.12", "pendigits", ["99.50 ± 0.11", "0.45-0.51-0.04-0.00", "2.58 ± 0.03", "12.90 ± 0.95"]),
        ("5.10-sonar", "sonar", ["81.14 ± 3.14", "0.48-0.52-0.00", "37.81 ± 3.10"]),
        ("5.21", "olivetti", ["93.28 ± 0.65", "97.50 ± 1.16", "97.03 ± 0.93", "97.97 ± 1.48", "25.94 ± 1.01"]),
        ("5.22", "concrete", ["120.61 ± 2.15", "92.57 ± 4.19", "58.32 ± 3.66", "63.83 ± 9.58", "52.17 ± 2.23"]),
        ("figure-5.19", "waveform", ["Figure 5.19: Projections on WAVEFORM", "88.34", "LPK (P = 3, R = 2)"]),
        ("5.24", "winewhite", ["0.59 ± 0.00", "0.54 ± 0.01", "0.54 ± 0.00", "0.52 ± 0.01", "66.27 ± 1.24"]),
    ],
)
def test_tables_on_data_of_the_data_home(table, data, figures, tmp_path, capsys, monkeypatch):
    if not list_datasets().loc[data, "available"]:
        pytest.skip(f"{data} is not in the data home")
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["reproduce", table, "--quick", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for figure in figures:
        assert figure in printed


def test_interrupted(tmp_path, capsys, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("experiments.command.run_experiment", stop)
    assert main(["reproduce", "5.16", "--output", str(tmp_path)]) == 130
    assert "goes on where it stopped" in capsys.readouterr().err


_INTERRUPTED = """
import runpy, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "experiments.command":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
runpy.run_module("experiments", run_name="__main__")
"""


def test_interrupted_while_starting():
    command = [sys.executable, "-c", _INTERRUPTED]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "Interrupted.\n")


def test_without_a_command_there_is_help(capsys):
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert all(f"    {name}" in printed for name in ("reproduce", "defaults", "benchmark"))


def test_a_report_that_cannot_be_written(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("experiments.command.find_experiment", {"small": SMALL}.__getitem__)
    (tmp_path / "table-small-quick.json").mkdir()
    assert main(["reproduce", "small", "--quick", "--output", str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("cannot write the report: ") and "table-small-quick.json" in line


def test_absent_data(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert main(["reproduce", "5.22", "--output", str(tmp_path), "--data", str(tmp_path)]) == 1
    message = capsys.readouterr().err
    assert "Table 5.22" in message and "CC BY 4.0" in message and "concrete.npz" in message


def test_bad_words(tmp_path, capsys):
    assert main(["reproduce", "9.9", "--output", str(tmp_path)]) == 2
    assert "there is no experiment '9.9'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["reproduce"])
    assert stop.value.code == 2
    assert "name a TABLE" in capsys.readouterr().err
