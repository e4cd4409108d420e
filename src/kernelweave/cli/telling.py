"""What the commands print, in plain lines."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from ..files.base import as_csv
from ..persistence.replacing import replace_file
from .failing import one_line

_MOST_LISTED = 12
_NARROWEST = 40


def say(lines: Iterable[str]) -> None:
    """Print lines; sentences are wrapped, and what does not end with a full stop, such as a path, is printed whole."""
    width = max(shutil.get_terminal_size((100, 24)).columns, _NARROWEST)
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    for line in map(one_line, lines):
        wrapper.subsequent_indent = "  " if line.startswith("- ") else ""
        print(wrapper.fill(line) if line.endswith(".") else line)


def described_cohort(cohort: Any, task: str, why: str) -> list[str]:
    """What was read: samples, views, target and task.

    Parameters
    ----------
    cohort : files.cohort.Cohort
    task : str
    why : str
        What the task was guessed by.
    """
    tables = cohort.tables
    overlap = tables.overlap
    views = overlap["labelled"].iloc[: list(overlap.index).index("in all views")]
    lines = [
        f"Read {counted_samples(len(tables.X))} with a target: "
        + listed([f"{count} {'has' if count == 1 else 'have'} {view}" for view, count in views.items()])
        + "."
    ]
    without, alone = (int(overlap.loc[name, "samples"]) for name in ("without a label", "only with a label"))
    if without:
        lines.append(f"{counted_samples(without)} without a target {_be(without)} left out.")
    if alone:
        lines.append(f"{counted_samples(alone)} with a target {_be(alone)} in none of the files.")
    if task == "classification":
        counts = tables.y.value_counts()
        lines.append(f"Target {tables.y.name}: {listed([f'{label} ({count})' for label, count in counts.items()])}.")
    else:
        lines.append(f"Target {tables.y.name}: numbers from {tables.y.min():g} to {tables.y.max():g}.")
    lines.append(f"Task: {task} ({why}).")
    if cohort.groups is not None:
        lines.append(
            f"Groups: {cohort.groups.nunique()} of {cohort.groups.name}; each stays in one part of every split."
        )
    return lines


def described_setting(model: Any, label: str) -> list[str]:
    """The chosen setting of a fitted model and its score.

    Parameters
    ----------
    model : CohortModel
    label : str
        The method in words.
    """
    setting = listed([f"{name} = {value}" for name, value in model.setting_.items()]) or "nothing to choose"
    measure = "accuracy" if model.task_ == "classification" else "R2"
    lines = [
        f"Method: {label}. Setting chosen by cross-validation: {setting}.",
        f"Score of that setting in cross-validation ({measure}): {model.validation_score_:.3f}; it was chosen by this "
        "score, which is therefore a little too high. kernelweave compare has unbiased ones.",
    ]
    if model.n_stored_ is not None:
        lines.append(f"The model stores {model.n_stored_} of {model.n_samples_} samples.")
    return lines


@contextmanager
def working(description: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is going on, and for how long; what is no terminal is left alone.

    Yields a function that replaces the description.
    """
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(one_line(description), total=None)
        yield lambda text: progress.update(task, description=one_line(text))


def listed(parts: list[str]) -> str:
    """Parts with commas between them, the first dozen of them."""
    more = f" and {len(parts) - _MOST_LISTED} more" if len(parts) > _MOST_LISTED else ""
    return ", ".join(parts[:_MOST_LISTED]) + more


def counted_samples(count: int) -> str:
    """A number of samples, in words."""
    return f"{count} sample" if count == 1 else f"{count} samples"


def _be(count: int) -> str:
    return "is" if count == 1 else "are"


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as a CSV file, UTF-8, at once."""
    content = as_csv(table).encode("utf-8")
    replace_file(path, lambda file: file.write(content))
