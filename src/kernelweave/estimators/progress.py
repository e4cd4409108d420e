"""A progress bar for long fits, for estimators with `verbose` set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[int, int], None]]:
    """A callback ``(done, total)`` that moves a bar.

    The total is the most that a fit may take. One that converges earlier fills the bar when the block ends; one that
    fails leaves it where it was.
    """
    from rich.progress import Progress

    with Progress() as bars:
        bar = bars.add_task(description, total=None)
        yield lambda done, total: bars.update(bar, completed=min(done, total), total=total)
        total = bars.tasks[0].total or 1
        bars.update(bar, completed=total, total=total)
