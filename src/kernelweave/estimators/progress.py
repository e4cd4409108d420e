"""A progress bar for long fits, for estimators with `verbose` set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from threading import local
from typing import Any

_shown = local()  # has `bars` while some are on the screen: there is one display


@contextmanager
def progress_bar(description: str, *, transient: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A callback ``(done, total)`` that moves a bar; a `transient` one is for a terminal only and goes away in the end.

    The total is the most that a fit may take: one that converges earlier fills the bar when the block ends.
    """
    from rich.console import Console
    from rich.progress import Progress

    around = getattr(_shown, "bars", None)
    console = Console(stderr=True) if transient else None
    if around is None and console is not None and not console.is_terminal:
        yield lambda done, total: None  # rich prints an empty line there, even for a display that is disabled
        return
    own: Any = Progress(console=console, transient=transient) if around is None else nullcontext(around)
    with own as bars:
        _shown.bars = bars
        bar = bars.add_task(description, total=None)
        try:
            yield lambda done, total: bars.update(bar, completed=min(done, total), total=total)
            total = bars.tasks[0].total or 1
            if around is None:
                bars.update(bar, completed=total, total=total)
        finally:
            _shown.bars = around
            if around is not None:
                bars.remove_task(bar)


def bars_of(estimator: Any, description: str) -> Any:
    return partial(progress_bar, description, transient=True) if estimator.verbose else None
