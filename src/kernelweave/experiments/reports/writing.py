"""A summary as JSON and as Markdown, and one page of all full runs (``docs/results.md``)."""

from __future__ import annotations

import json
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from ..._version import __version__
from ..engine.cells import write_atomically
from ..engine.discovery import list_defaults, list_experiments
from ..engine.results import COMPARED, MEASURES, CollectionSummary, Row, Summary
from .layout import Grid, heading, sections

_PAGE_HEAD = """# The papers' tables, reproduced

Written by `kernelweave reproduce`; every table below is a full run (no `--quick`). *Paper* is the mean and standard
deviation as printed, *ours* is measured. A difference is ours less the paper's.
"""

_DEFAULTS_HEAD = """# The defaults, against their alternatives

Written by `kernelweave defaults --data DIR --page docs/defaults.md` from the data sets that are there. Each data set
enters with at most 300 training samples, 100 for validation and 1000 for testing, drawn three times, with the shares of
its classes; dense columns are standardised and sparse views weighted by TF-IDF with rows of unit length, by constants
of the training samples. Everything that is not named is the library's default.

Scores are accuracies in per cent, or 100 R2 for regression. *C = 1* is the default C for all; *C chosen* takes C = 1 or
10, whichever has the better score on the validation samples of the same draw. *Validation*: the mean score on these
samples; all other figures are of the test samples, and where the two disagree the first should count. *Rank*: the
average over data sets of the rank within each, 1 for the best. *Difference*: of the scores to the default's on the same
draws, mean and worst over data sets. *W-T-L*: data sets on which a method beats the default, ties with it, loses to it,
as printed; *p*: Wilcoxon's signed rank test of that. *Seconds*: fits and predictions on one draw, the median over data
sets. Where two are alike, the default is the cheaper one, then the one with fewer surprises.
"""


def stem(summary: Any) -> str:
    """Name of a summary's files, without a suffix."""
    return f"table-{summary.experiment.name}" + ("-quick" if summary.quick else "")


def write_report(summary: Any, output: Any) -> tuple[Path, Path]:
    """Write a summary as JSON and Markdown.

    Parameters
    ----------
    summary : Summary, CollectionSummary or ComparisonSummary
    output : path
        The folder.

    Returns
    -------
    tuple of Path
        The two files.
    """
    folder = Path(output)
    files = folder / f"{stem(summary)}.json", folder / f"{stem(summary)}.md"
    write_atomically(files[0], json.dumps(as_dict(summary), indent=1) + "\n")
    write_atomically(files[1], markdown(summary))
    return files


def results_page(output: Any, page: Any) -> list[str]:
    """Gather the Markdown of all full runs of the papers' tables below a folder into one page.

    Parameters
    ----------
    output : path
        The folder that `write_report` wrote to.
    page : path
        The file to write.

    Returns
    -------
    list of str
        The tables on the page.
    """
    return _gather([experiment.name for experiment in list_experiments()], output, page, _PAGE_HEAD)


def defaults_page(output: Any, page: Any) -> list[str]:
    """Gather the Markdown of all full comparisons of defaults below a folder into one page.

    Parameters
    ----------
    output : path
        The folder that `write_report` wrote to.
    page : path
        The file to write.

    Returns
    -------
    list of str
        The comparisons on the page.
    """
    return _gather([comparison.name for comparison in list_defaults()], output, page, _DEFAULTS_HEAD)


def _gather(names: list[str], output: Any, page: Any, head: str) -> list[str]:
    stored = {name: Path(output) / f"table-{name}.md" for name in names}
    there = {name: path for name, path in stored.items() if path.is_file()}
    if not there:
        raise ValueError(f"there is no full run below {str(output)!r} to gather; name its folder with --output")
    write_atomically(Path(page), "\n".join([head, *(path.read_text("utf-8") for path in there.values())]))
    return list(there)


@singledispatch
def as_dict(summary: Any) -> dict[str, Any]:
    """All numbers of a summary of any kind, ready for JSON."""
    raise TypeError(f"a {type(summary).__name__} is no summary of an experiment")


@as_dict.register
def _(summary: Summary) -> dict[str, Any]:
    experiment = summary.experiment
    return about(summary) | {
        "protocol": repr(experiment.protocol),
        "score": experiment.score_name,
        "baseline": experiment.baseline,
        "test": experiment.protocol.test_name,
        "methods": [_row_dict(row) for row in summary.rows],
    }


@as_dict.register
def _(summary: CollectionSummary) -> dict[str, Any]:
    parts = [as_dict(part) for part in summary.parts]
    return about(summary) | {"data_sets": parts, "counts": _counts_dict(summary)}


def about(summary: Any) -> dict[str, Any]:
    """What a table is, whatever its kind."""
    experiment = summary.experiment
    return {
        "table": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "version": __version__,
        "quick": summary.quick,
    }


def _counts_dict(summary: CollectionSummary) -> dict[str, Any]:
    """Wins, ties and losses of each method against the baseline."""
    first = summary.experiment.members[0]
    others = [method.name for method in first.methods if method.name != first.baseline]
    return {name: {measure: vars(summary.counts(name, measure)) for measure in COMPARED} for name in others}


def _row_dict(row: Row) -> dict[str, Any]:
    paper = row.method.paper
    return {
        "method": row.method.name,
        "paper": None if paper is None else vars(paper),
        "parameters": row.parameters,
        "mean": {measure: row.mean(measure) for measure in MEASURES},
        "std": {measure: row.std(measure) for measure in MEASURES},
        "values": {measure: row.values[measure].tolist() for measure in MEASURES},
        "weights": _by_kernel(row, row.weights),
        "costs": None if row.costs is None else _by_kernel(row, row.costs),
        "n_settings": row.n_settings,
        "path_seconds": row.path_seconds,
        "against_baseline": {
            measure: {"statistic": _finite(result.statistic), "pvalue": result.pvalue}
            for measure, result in row.against_baseline.items()
        },
    }


def _by_kernel(row: Row, values: np.ndarray) -> dict[str, list[float]]:
    return dict(zip(row.method.kernels, values.T.tolist(), strict=True))


def _finite(value: float) -> float | str:
    """A number as JSON can hold it; infinity (results that differ by the same in every fold) as text."""
    return value if np.isfinite(value) else str(value)


def markdown(summary: Any) -> str:
    """A summary as a section of Markdown."""
    parts = [part if isinstance(part, str) else _table(part) for part in sections(summary)]
    return "\n\n".join([f"## {heading(summary)}", *parts]) + "\n"


def _table(grid: Grid) -> str:
    rule = ["---"] * grid.n_text + ["---:"] * (len(grid.headings) - grid.n_text)
    return "\n".join("| " + " | ".join(line) + " |" for line in [grid.headings, rule, *grid.rows])
