"""A summary as JSON and as Markdown, and one page of all full runs (``docs/results.md``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from .cells import write_atomically
from .registry import list_experiments
from .summary import MEASURES, Row, Summary

_PAGE_HEAD = """# The papers' tables, reproduced

Written by `kernelweave reproduce`; every table below is a full run (no `--quick`). *Paper* is the mean and standard
deviation as printed, *ours* is measured. A difference is ours less the paper's.
"""


def stem(summary: Summary) -> str:
    """Name of a summary's files, without a suffix."""
    return f"table-{summary.experiment.name}" + ("-quick" if summary.quick else "")


def write_report(summary: Summary, output: Any) -> tuple[Path, Path]:
    """Write a summary as JSON and Markdown.

    Parameters
    ----------
    summary : Summary
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
    """Gather the Markdown of all full runs below a folder into one page.

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
    stored = {experiment.name: Path(output) / f"table-{experiment.name}.md" for experiment in list_experiments()}
    there = {name: path for name, path in stored.items() if path.is_file()}
    if not there:
        raise ValueError(f"there is no full run below {str(output)!r} to gather; name its folder with --output")
    write_atomically(Path(page), "\n".join([_PAGE_HEAD, *(path.read_text("utf-8") for path in there.values())]))
    return list(there)


def as_dict(summary: Summary) -> dict[str, Any]:
    """All numbers of a summary, ready for JSON."""
    experiment = summary.experiment
    return {
        "table": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "version": __version__,
        "quick": summary.quick,
        "protocol": repr(experiment.protocol),
        "score": experiment.score_name,
        "baseline": experiment.baseline,
        "test": experiment.protocol.test_name,
        "methods": [_row_dict(row) for row in summary.rows],
    }


def _row_dict(row: Row) -> dict[str, Any]:
    paper = row.method.paper
    return {
        "method": row.method.name,
        "paper": None if paper is None else vars(paper),
        "parameters": row.parameters,
        "mean": {measure: row.mean(measure) for measure in MEASURES},
        "std": {measure: row.std(measure) for measure in MEASURES},
        "values": {measure: row.values[measure].tolist() for measure in MEASURES},
        "path_seconds": row.path_seconds,
        "against_baseline": {
            measure: {"statistic": _finite(result.statistic), "pvalue": result.pvalue}
            for measure, result in row.against_baseline.items()
        },
    }


def _finite(value: float) -> float | str:
    """A number as JSON can hold it; infinity (results that differ by the same in every fold) as text."""
    return value if np.isfinite(value) else str(value)


def markdown(summary: Summary) -> str:
    """A summary as a section of Markdown."""
    experiment = summary.experiment
    heading = f"## Table {experiment.name}: {experiment.title}" + (" (quick run)" if summary.quick else "")
    results = table(results_headings(summary), [results_cells(summary, row) for row in summary.rows])
    costs = table(COST_HEADINGS, [cost_cells(row) for row in summary.rows])
    return "\n\n".join([heading, settings(summary), results, significance(summary), costs, COST_NOTE]) + "\n"


def settings(summary: Summary) -> str:
    """One paragraph on what was run."""
    experiment = summary.experiment
    data = experiment.dataset + ("" if experiment.variant is None else f" ({experiment.variant})")
    grid = "; ".join(
        f"{name} in {', '.join(_short(value) for value in values)}" for name, values in experiment.grid.items()
    )
    scaling = "standardised features" if experiment.standardize else "features as they are"
    kernels = f"{experiment.normalize} kernels" if experiment.normalize else "kernels as they are"
    words = (
        f"{experiment.source}. Data: {data}; {scaling}, {kernels}, constants from the training part of each fold. "
        f"Protocol: {experiment.protocol!r}, {summary.n_folds} folds. Grid: {grid}."
    )
    return words + (f" {experiment.note}" if experiment.note else "")


def significance(summary: Summary) -> str:
    """What the p-values compare, precisely."""
    protocol, n_results = summary.experiment.protocol, len(summary.rows[0].values["test"])
    return (
        f"p: {protocol.test_name} of our {n_results} results of a method against our {n_results} results of "
        f"{summary.experiment.baseline} on the same folds (score, then support vectors); * where p < 0.05. The papers "
        "print no results by fold, so ours and theirs cannot be tested against each other."
    )


COST_HEADINGS = ["method", "active kernels", "cost", "fit s", "grid s", "solves"]
COST_NOTE = (
    "Cost: kernel evaluations to predict a new sample (support vectors times active kernels, weighted by the kernels' "
    "costs). Fit s: seconds for the chosen setting, Gram matrices excluded; grid s: seconds for all settings of one "
    "fold. Solves: of the machine, for the chosen setting."
)


def results_headings(summary: Summary) -> list[str]:
    """Column headings of the results."""
    name, last = summary.experiment.score_name, "support %"
    parameters = ", ".join(summary.experiment.grid)
    return [
        "method",
        parameters,
        f"{name}, ours",
        "paper",
        "diff.",
        f"{last}, ours",
        "paper",
        "diff.",
        "p",
        "p (support)",
    ]


def results_cells(summary: Summary, row: Row) -> list[str]:
    """One line of the results."""
    paper = row.method.paper
    digits = 2 if row.mean("test") >= 10 else 3
    columns = [row.method.name, chosen(row)]
    for measure, mean, std in (
        ("test", paper and paper.score, paper and paper.score_std),
        ("support", paper and paper.support, paper and paper.support_std),
    ):
        places = digits if measure == "test" else 2
        columns.append(f"{row.mean(measure):.{places}f} ± {row.std(measure):.{places}f}")
        columns += (
            ["-", "-"] if mean is None else [f"{mean:.2f} ± {std:.2f}", f"{row.mean(measure) - mean:+.{places}f}"]
        )
    return columns + [p_value(row, measure) for measure in ("test", "support")]


def cost_cells(row: Row) -> list[str]:
    """One line on what a method costs."""
    return [
        row.method.name,
        f"{row.mean('active_kernels'):.2f}",
        f"{row.mean('cost'):.1f}",
        f"{row.mean('seconds'):.4f}",
        f"{row.path_seconds:.3f}",
        f"{row.mean('solves'):.1f}",
    ]


def chosen(row: Row) -> str:
    """The chosen hyper-parameters, or that runs chose differently."""
    settings_of = {", ".join(_short(value) for value in setting.values()) for setting in row.parameters}
    return settings_of.pop() if len(settings_of) == 1 else "by run"


def p_value(row: Row, measure: str) -> str:
    """A p-value with a star where it is below 0.05; a dash for the baseline."""
    if measure not in row.against_baseline:
        return "-"
    result = row.against_baseline[measure]
    return f"{result.pvalue:.3f}" + ("*" if result.significant() else "")


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value)
