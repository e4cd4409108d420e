"""`kernelweave.persistence` is deprecated since 0.3 and goes in 0.4; use those names of `kernelweave`."""

from typing import Any

from . import saving
from ._warnings import warn

_MOVED = ("load", "predict_views", "save")

__all__ = [*_MOVED]


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn(
        f"kernelweave.persistence.{name} is deprecated since 0.3 and goes in 0.4; use kernelweave.{name}", FutureWarning
    )
    return getattr(saving, name)
