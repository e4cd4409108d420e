"""The scripts around the code do what they promise: `.ci/run`, `tools/oldest.py` and the table of durations."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from durations import Durations

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def oldest():
    return runpy.run_path(str(ROOT / "tools" / "oldest.py"))["oldest"]


def test_lower_bounds_become_constraints(oldest):
    assert oldest(["numpy>=1.26", "scipy >= 1.11.1"]) == ["numpy==1.26", "scipy==1.11.1"]


@pytest.mark.parametrize("requirement", ["numpy", "numpy>=1.26,<3", "numpy==2.0", "numpy<3"])
def test_a_requirement_without_a_lower_bound_or_with_an_upper_one_is_refused(oldest, requirement):
    with pytest.raises(ValueError, match="lower bound"):
        oldest([requirement])


def test_every_dependency_has_a_lower_bound_and_nothing_else():
    command = [sys.executable, str(ROOT / "tools" / "oldest.py")]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {"numpy", "numba", "matplotlib", "pytest"} <= {line.split("==")[0] for line in lines}


def run_ci(tmp_path, make, apt="true"):
    """Run `.ci/run` with scripts in the place of make, and of what installs packages."""
    scripts = {"make": make, "apt-get": apt, "sudo": '"$@"'}
    for name, script in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(["bash", str(ROOT / ".ci" / "run")], env=environment, capture_output=True, text=True)


@pytest.mark.skipif(sys.platform == "win32", reason="a bash script")
def test_ci_runs_every_stage_and_times_it(tmp_path):
    run = run_ci(tmp_path, 'echo "make $1"')
    assert run.returncode == 0
    targets = {"lint": "lint", "types": "types", "tests": "test", "dask": "test-dask", "survival": "test-survival"}
    targets |= {"site": "docs-quick", "browser": "test-browser"}
    for name, target in targets.items():
        assert re.search(f"== {name}: .*make {target}.*\nmake {target}\n== {name} passed in [0-9]+ s", run.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="a bash script")
def test_ci_ends_with_the_status_of_the_stage_that_failed(tmp_path):
    run = run_ci(tmp_path, '[ "$1" != lint ] || exit 3')
    assert run.returncode == 3
    assert "== lint FAILED with status 3" in run.stderr
    assert "make test" not in run.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a bash script")
def test_ci_fails_where_the_browser_cannot_be_installed(tmp_path):
    run = run_ci(tmp_path, 'echo "make $1"', apt='[ "$1" != install ] || exit 100')
    assert run.returncode == 100
    assert "== chromium FAILED with status 100" in run.stderr
    assert "make test-browser" not in run.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a bash script")
def test_ci_takes_skipped_tests_of_the_browser_for_failures(tmp_path):
    run = run_ci(tmp_path, 'echo "$1 ${KERNELWEAVE_BROWSER:-}"')
    assert "test-browser required\n" in run.stdout
    assert "test \n" in run.stdout


def test_seconds_are_added_up_by_file_and_slow_files_named():
    durations, lines = Durations(), []
    for file, seconds in [("tests/a.py", 15.0), ("tests/b.py", 1.0), ("tests/a.py", 5.5)]:
        durations.pytest_runtest_logreport(SimpleNamespace(nodeid=f"{file}::test_it[a::b]", duration=seconds))
    printer = SimpleNamespace(section=lambda title: None, write_line=lines.append)
    durations.pytest_terminal_summary(printer)
    assert [line.split(maxsplit=2) for line in lines] == [["20.5", "tests/a.py", "OVER 20 s"], ["1.0", "tests/b.py"]]


def test_ignored_types_are_few_and_have_reasons():
    ignored = [
        (path, line)
        for path in (ROOT / "src").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "type: ignore" in line
    ]
    assert len(ignored) <= 20
    for path, line in ignored:
        assert re.search(r"# type: ignore\[[a-z-]+\]  # \w+", line), f"{path}: {line}"
