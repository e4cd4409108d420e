"""Combiners by the names of the methods that learn with them, in `kernelweave compare` and in `recipes`.

==============  ======================================================================
name            combiner
==============  ======================================================================
``mean``        `Mean()`
``lp``          `LpMKL(p=4/3)`
``convex``      `ConvexMKL()`
``localized``   `Localized()`
``projected``   `Projected(Softmax(), n_components=10, gating_components=2)`
==============  ======================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .base import Combiner
from .gates import Softmax
from .localized import Localized
from .mkl import ConvexMKL, LpMKL
from .projected import Projected
from .weighted import Mean

NAMED: dict[str, Callable[[], Combiner]] = {
    "mean": Mean,
    "lp": lambda: LpMKL(p=4.0 / 3.0),
    "convex": ConvexMKL,
    "localized": Localized,
    "projected": lambda: Projected(gating=Softmax(), n_components=10, gating_components=2),
}


def combiner_named(given: Any) -> Any:
    """The combiner of a name, and `Mean()` for None; anything else as it is."""
    if given is None:
        return Mean()
    return NAMED[given]() if isinstance(given, str) and given in NAMED else given
