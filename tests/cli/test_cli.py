import subprocess
import sys

import pytest

import kernelweave
from kernelweave.cli import main
from kernelweave.cli.demo import methods


def test_demo_prints_a_table_and_saves_a_picture(tmp_path, capsys):
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
