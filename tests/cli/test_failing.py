"""Errors, warnings and broken pipes, as people see them."""

import subprocess
import sys
import warnings

import pytest

from kernelweave.cli import guarded
from kernelweave.cli.messages import one_line

_PIPE = """
import sys
from kernelweave.cli.messages import guarded

def command():
    for number in range(100_000):
        print(number)
    return 0

sys.exit(guarded("kernelweave test", command))
"""


def raising(error):
    def command():
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("the view 'rna'\n   has no columns"), "the view 'rna' has no columns"),
        (FileNotFoundError("there is no file 'x'"), "there is no file 'x'"),
        (PermissionError(13, "Permission denied", "x.csv"), "'x.csv': Permission denied"),
        (ImportError("pyarrow is needed"), "pyarrow is needed"),
        (MemoryError(), "not enough memory; give fewer samples or columns"),
        (MemoryError("Unable to allocate 9 GiB"), "not enough memory; Unable to allocate 9 GiB"),
        (ValueError(), "ValueError"),
        (ValueError("red \x1b[31m"), "red ?[31m"),
        (KeyError("rna"), "unexpected KeyError: 'rna'; KERNELWEAVE_TRACEBACK=1 shows where"),
    ],
)
def test_an_error_is_one_line(error, line, capsys, monkeypatch):
    monkeypatch.delenv("KERNELWEAVE_TRACEBACK", raising=False)
    assert guarded("kernelweave fit", raising(error)) == 2
    captured = capsys.readouterr()
    assert captured.err == f"kernelweave fit: error: {line}\n" and captured.out == ""


def test_the_traceback_is_there_for_those_who_want_it(capsys, monkeypatch):
    monkeypatch.setenv("KERNELWEAVE_TRACEBACK", "1")
    assert guarded("kernelweave fit", raising(ValueError("no"))) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Traceback") and lines[-1] == "kernelweave fit: error: no"


def test_interrupted(capsys):
    assert guarded("kernelweave fit", raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_warnings_are_single_lines_and_repeated_ones_come_once(capsys):
    def command():
        for _ in range(3):
            warnings.warn("two columns\n  have one name", stacklevel=1)
        warnings.warn("another", RuntimeWarning, stacklevel=1)
        warnings.warn("of interest to developers", FutureWarning, stacklevel=1)
        return 0

    before = warnings.showwarning
    assert guarded("kernelweave fit", command) == 0
    assert capsys.readouterr().err == "warning: two columns have one name\nwarning: another\n"
    assert warnings.showwarning is before


def test_a_reader_that_has_enough_is_no_error():
    run = subprocess.Popen([sys.executable, "-c", _PIPE], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdout.readline() == b"0\n"
    run.stdout.close()
    assert run.wait(20) == 141 and run.stderr.read() == b""
    run.stderr.close()


def test_letters_that_the_terminal_lacks(monkeypatch):
    code = "from kernelweave.cli.messages import guarded; guarded('kernelweave', lambda: print('0.9 \\u00b1 0.1') or 0)"
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert run.stdout.strip() == rb"0.9 \xb1 0.1"


def test_one_line():
    assert one_line(" a\n\tb\r\nc ") == "a b c"
