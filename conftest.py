"""What the tests in `tests` and the examples in `src` share."""

from importlib.util import find_spec
from pathlib import Path

import pytest

pytest_plugins = ["durations"]
collect_ignore = ["src/kernelweave/experiments.py"]  # it only says where its names went

DISPLAYS = Path(__file__).parent / "src" / "kernelweave" / "display"


def pytest_collection_modifyitems(items):
    """Skip the examples of the displays, which draw, where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        for item in items:
            if item.path.is_relative_to(DISPLAYS):
                item.add_marker(pytest.mark.skip(reason="draws; needs the extra plot"))
