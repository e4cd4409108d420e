"""Packages that Kernelweave needs for some purposes only and that are extras of its installation."""

from __future__ import annotations

from typing import Any


def pyplot() -> Any:
    """matplotlib's pyplot, imported on first use; where matplotlib is absent, an ImportError names the extra."""
    try:
        import matplotlib
    except ModuleNotFoundError as absent:
        if absent.name != "matplotlib":  # something that matplotlib needs is absent: another matter
            raise
        raise ImportError("matplotlib is needed to draw; install kernelweave[plot]", name="matplotlib") from absent
    import matplotlib.pyplot

    return matplotlib.pyplot
