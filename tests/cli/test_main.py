import importlib
import subprocess
import sys

import pytest

import kernelweave
from kernelweave.cli import main
from kernelweave.cli.demo import methods
from kernelweave.datasets import load_multifeat
from kernelweave.views.digests import digest

N_COLUMNS = 5  # of each view


def narrow(target=None, return_X_y=False):
    """The digits with the first columns of each view."""
    digits = load_multifeat(target)
    digits.data = digits.data[[name for name in digits.data if int(name.partition("__")[2]) < N_COLUMNS]]
    return (digits.data[::12], digits.target[::12]) if return_X_y else digits


@pytest.fixture
def few_digits(monkeypatch):
    """The demo with a twelfth of the digits, a few columns of each view and two values of C."""
    monkeypatch.setattr("kernelweave.cli.demo.load_multifeat", narrow)
    monkeypatch.setattr("kernelweave.cli.demo.COSTS", [0.1, 10.0])
    monkeypatch.setattr("kernelweave.cli.demo._STEP", 40)


def test_demo_prints_a_table_and_saves_a_picture_and_a_report(tmp_path, capsys, few_digits):
    pytest.importorskip("matplotlib", reason="draws; needs the extra plot")
    picture = tmp_path / "new folder" / "demo.png"
    assert main(["demo", "--repeats", "1", "--output", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "94.97" in printed and "17.93" in printed  # the thesis' figures for fac
    for method in methods():
        assert method.name in printed
    assert picture.read_bytes().startswith(b"\x89PNG")
    page = picture.with_suffix(".html").read_text(encoding="utf-8")
    assert printed.rstrip().endswith(f"Report saved as {picture.with_suffix('.html')}")
    assert "Seventeen ways to use six views" in page and "What each view gives" in page
    for method in methods():
        assert method.name in page
    assert "kernelweave demo --repeats 1 --output " in page and "Random seed: 0." in page
    assert digest(narrow("small-vs-large").data) in page  # of all digits, not of the few shown


def test_demo_without_matplotlib_prints_the_table_and_how_to_get_the_picture(tmp_path, capsys, monkeypatch, few_digits):
    monkeypatch.setattr("kernelweave.cli.demo.methods", lambda: methods()[:2])
    monkeypatch.setattr("kernelweave.cli.demo.write_demo_report", lambda *given, **options: None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # what makes `import matplotlib` fail
    picture = tmp_path / "demo.png"
    assert main(["demo", "--repeats", "1", "--output", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "SVM on fou" in printed and "90.54" in printed
    assert "No picture is saved: matplotlib is needed to draw; pip install kernelweave[plot]" in printed.replace(
        "\n", " "
    )
    assert "Picture saved" not in printed and not picture.exists()


def test_version_and_help():
    run = subprocess.run([sys.executable, "-m", "kernelweave", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == f"kernelweave {kernelweave.__version__}"


@pytest.mark.parametrize("words", [["demo", "--repeats", "0"], ["demo", "--repeats", "x"], ["dance"]])
def test_bad_words_are_answered_in_one_line(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("kernelweave") and ": error: " in line and line.endswith(" --help")


class _Interrupt:
    """An importer during whose work the user presses Ctrl-C."""

    def find_spec(self, name, path=None, target=None):
        if name == "kernelweave.cli.report":
            raise KeyboardInterrupt


def test_interrupted_while_importing(tmp_path, capsys, monkeypatch):
    (tmp_path / "report.json").touch()
    monkeypatch.delitem(sys.modules, "kernelweave.cli.report", raising=False)
    monkeypatch.delattr("kernelweave.cli.report", raising=False)
    monkeypatch.setattr(sys, "meta_path", [_Interrupt(), *sys.meta_path])
    assert main(["report", str(tmp_path)]) == 130
    captured = capsys.readouterr()
    assert captured.err == "Interrupted.\n" and captured.out == ""


_INTERRUPTED = """
import runpy, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "kernelweave.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
runpy.run_module("kernelweave", run_name="__main__")
"""


def test_interrupted_while_starting():
    run = subprocess.run([sys.executable, "-c", _INTERRUPTED], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "Interrupted.\n")


@pytest.mark.parametrize("name", ["reproduce", "defaults", "benchmark"])
def test_commands_that_have_moved_say_where_they_are(name, capsys):
    for words in ([name], [name, "--help"], [name, "5.16", "--quick"]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{name} has moved: run python -m experiments {name}" in line
    main([])
    assert f"    {name}" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["kernelweave.experiments", "kernelweave.experiments.benchmark"])
def test_the_package_that_has_moved_says_where_it_is(name):
    with pytest.raises(ImportError, match=r"Problem are in kernelweave\.compare, .*: python -m experiments"):
        importlib.import_module(name)
