"""Warnings that point at the user's line, wherever in the library they arise."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from types import FrameType

# What stands between the user's line and the library: a pipeline, a search, a worker thread, a minimiser's callback.
_IN_BETWEEN = {"kernelweave", "sklearn", "joblib", "numpy", "scipy", "pandas"}
_IN_BETWEEN |= {"threading", "concurrent", "multiprocessing", "contextlib", "functools", "runpy"}


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Emit a warning at the user's line: the first frame outside of this library and of what calls it.

    For a worker thread it is the line where the main thread waits for it, or else the method that it was given.
    """
    frame = _users_frame(sys._getframe(1))
    space = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        module=space.get("__name__") or "<unknown>",
        registry=space.setdefault("__warningregistry__", {}),
    )


def _users_frame(innermost: FrameType) -> FrameType:
    own = list(_outwards(innermost))
    main = sys._current_frames().get(threading.main_thread().ident or 0)
    waiting = list(_outwards(main)) if main is not None and _is_in_between(main) else []
    outside = (frame for frame in own + waiting if not _is_in_between(frame))
    return next(outside, [frame for frame in own if _package(frame) == "kernelweave"][-1])


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_in_between(frame: FrameType) -> bool:
    return _package(frame) in _IN_BETWEEN


def _package(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__", "")
    if name == "__main__":  # python -m package.module: a worker process, or this library's command line
        name = getattr(frame.f_globals.get("__spec__"), "name", name)
    return name.partition(".")[0]
