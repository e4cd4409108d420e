"""matplotlib for the tests that draw: a test file that imports this module is skipped where matplotlib is absent."""

import pytest

pytest.importorskip("matplotlib", reason="draws; needs the extra plot").use("Agg")
from matplotlib import pyplot as plt  # noqa: E402 - the backend is chosen first
from matplotlib.colors import to_hex, to_rgba  # noqa: E402
from matplotlib.contour import ContourSet  # noqa: E402

__all__ = ["ContourSet", "plt", "to_hex", "to_rgba"]
