import subprocess
import sys

import pytest

import kernelweave
from kernelweave.cli import main
from kernelweave.cli.demo import methods
from kernelweave.datasets import load_multifeat


def test_demo_prints_a_table_and_saves_a_picture(tmp_path, capsys, monkeypatch):
    X, y = load_multifeat(target="small-vs-large", return_X_y=True)
    monkeypatch.setattr("kernelweave.cli.demo.load_multifeat", lambda **options: (X[::6], y[::6]))
    monkeypatch.setattr("kernelweave.cli.demo.COSTS", [0.1, 10.0])
    picture = tmp_path / "new folder" / "demo.png"
    assert main(["demo", "--repeats", "1", "--output", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "94.97" in printed and "17.93" in printed  # the thesis' figures for fac
    for method in methods():
        assert method.name in printed
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_version_and_help():
    run = subprocess.run([sys.executable, "-m", "kernelweave", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == f"kernelweave {kernelweave.__version__}"


@pytest.mark.parametrize("words", [["demo", "--repeats", "0"], ["demo", "--repeats", "x"], ["dance"]])
def test_bad_words_end_in_usage(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert "usage: kernelweave" in capsys.readouterr().err
