"""A progress bar for long fits, shown where `verbose` asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .._parameters import is_count, is_flag, shown


@contextmanager
def progress_bar(description: str, verbose: int) -> Iterator[Callable[[int, int], None] | None]:
    """A callback ``(done, total)`` that moves a bar, or None where `verbose` is 0.

    The total is the most that a fit may take. One that converges earlier fills the bar when the block ends; one that
    fails leaves it where it was.
    """
    if not (is_flag(verbose) or is_count(verbose)) or verbose < 0:
        raise ValueError(f"verbose must be True, False or a whole number from 0, not {shown(verbose)}")
    if not verbose:
        yield None
        return
    from rich.progress import Progress

    with Progress() as bars:
        bar = bars.add_task(description, total=None)
        yield lambda done, total: bars.update(bar, completed=min(done, total), total=total)
        total = bars.tasks[0].total or 1
        bars.update(bar, completed=total, total=total)
