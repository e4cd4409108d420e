"""What `show_versions` prints."""

import platform
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd

import kernelweave
from kernelweave import _environment

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]


def name_of(requirement):
    return requirement.partition(">=")[0].partition("[")[0]


def test_versions_are_printed(capsys):
    assert kernelweave.show_versions() is None
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    for name, version in (
        ("kernelweave", kernelweave.__version__),
        ("numpy", np.__version__),
        ("pandas", pd.__version__),
    ):
        assert f"{name}: {version}" in printed
    assert any(line.startswith(f"python: {platform.python_version()}") for line in printed)
    assert f"platform: {platform.platform()}" in printed
    assert "Thread pool:" in printed and any(line.startswith("num_threads: ") for line in printed)
    assert any(line.startswith("threading layer: ") for line in printed)


def test_packages_that_are_not_installed(monkeypatch, capsys):
    def version(name):
        raise _environment.PackageNotFoundError(name)

    monkeypatch.setattr(_environment, "version", version)
    kernelweave.show_versions()
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "matplotlib: not installed (kernelweave[plot])" in printed and "polars: not installed" in printed


def test_every_declared_package_is_printed():
    assert set(map(name_of, PROJECT["dependencies"])) <= set(_environment.DEPENDENCIES)
    for extra in set(PROJECT["optional-dependencies"]) - {"test", "lint", "dev", "docs"}:
        for requirement in PROJECT["optional-dependencies"][extra]:
            assert _environment.OPTIONAL[name_of(requirement)] == extra
