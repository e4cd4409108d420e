"""Packages that Kernelweave needs for some purposes only and that are extras of its installation."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(package: str, purpose: str, extra: str) -> Any:
    """A package, imported on first use; where it is absent, an ImportError names the extra that installs it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as absent:
        if absent.name != package:  # something that the package needs is absent: another matter
            raise
        raise ImportError(f"{package} is needed {purpose}; pip install kernelweave[{extra}]", name=package) from absent


def pyplot() -> Any:
    """matplotlib's pyplot, imported on first use; where matplotlib is absent, an ImportError names the extra."""
    optional("matplotlib", "to draw", "plot")
    return import_module("matplotlib.pyplot")
