"""Warnings while cells are measured, kept apart by thread.

Python has one place where warnings are shown for the whole process. Folds run as threads, so what is shown there is
put on the list of the thread that warns.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# About code, not about data: nothing that somebody who compares methods could act on.
_ABOUT_CODE = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)
_here = threading.local()


@contextmanager
def warnings_by_thread() -> Iterator[None]:
    """While this lasts, warnings go to the list of their thread where `heard` has made one; others are shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for category in _ABOUT_CODE:
            warnings.simplefilter("ignore", category)
        before = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **options: Any) -> None:
            texts = getattr(_here, "texts", None)
            if texts is None:
                before(message, category, *place, **options)
            else:
                texts.append(f"{category.__name__}: {message}")

        warnings.showwarning = show
        yield


@contextmanager
def heard() -> Iterator[list[str]]:
    """The warnings of this thread, inside `warnings_by_thread`."""
    texts: list[str] = []
    _here.texts = texts
    try:
        yield texts
    finally:
        _here.texts = None
