"""A finished comparison as JSON, Markdown and text.

A paper's table has ours and the paper's errors side by side; a default and its alternatives make a ranked table.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..engine.comparison_run import ComparisonSummary, Result
from .layout import Grid, sections
from .ranked_tables import ranked_dict, ranked_sections
from .writing import about, as_dict


def error_table(summary: ComparisonSummary) -> pd.DataFrame:
    """Mean errors, data sets by contenders.

    Parameters
    ----------
    summary : ComparisonSummary

    Returns
    -------
    DataFrame
    """
    names = _names(summary)
    rows = {row: [summary.results[row, name].mean for name in names] for row in summary.rows}
    return pd.DataFrame.from_dict(rows, orient="index", columns=names)


@as_dict.register
def _(summary: ComparisonSummary) -> dict[str, Any]:
    comparison = summary.experiment
    ranked = {} if comparison.default is None else ranked_dict(summary)
    return (about(summary) | ranked) | {
        "protocol": repr(comparison.protocol),
        "score": "error %",
        "test": comparison.protocol.test_name,
        "level": comparison.level,
        "results": [
            {
                "data": row,
                "method": name,
                "paper": comparison.paper.get(row, {}).get(name),
                "mean": result.mean,
                "std": result.std,
                "errors": result.errors.tolist(),
                "chosen": result.chosen,
                "seconds": result.seconds,
                "best": result.best,
            }
            for (row, name), result in summary.results.items()
        ],
    }


@sections.register
def _(summary: ComparisonSummary) -> list[str | Grid]:
    if summary.experiment.default is not None:
        return ranked_sections(summary)
    return [_settings(summary), _errors(summary), _significance(summary), _details(summary)]


def _settings(summary: ComparisonSummary) -> str:
    comparison = summary.experiment
    words = f"{comparison.source}. Test errors in per cent. Protocol: {comparison.protocol!r}, {summary.n_folds} folds."
    return words + (f" {comparison.note}" if comparison.note else "")


def _significance(summary: ComparisonSummary) -> str:
    comparison = summary.experiment
    return (
        f"Marked *: no method is significantly better on the same splits ({comparison.protocol.test_name} against the "
        f"best one, level {comparison.level:g})."
    )


def _errors(summary: ComparisonSummary) -> Grid:
    """Two lines a data set, ours and the paper's."""
    comparison, names, rows = summary.experiment, _names(summary), []
    for row in comparison.datasets:
        results = [summary.results[row, name] for name in names]
        rows.append([row, "ours", *(_error(r.mean, r.std) + ("*" if r.best else "") for r in results)])
        figures = comparison.paper.get(row, {})
        if figures:
            rows.append(["", "paper", *(_error(*figures[name]) if name in figures else "-" for name in names)])
    return Grid(["data set", "", *names], rows, n_text=2, narrow=_threes(len(names)))


def _error(mean: float, std: float) -> str:
    return f"{mean:.2f} ± {std:.2f}"


def _details(summary: ComparisonSummary) -> Grid:
    """Which candidates counted, and the seconds that all candidates took on one fold."""
    names = _names(summary)
    rows = [
        [row, *(f"{_choice(result)} ({result.seconds:.2f})" for result in (summary.results[row, n] for n in names))]
        for row in summary.experiment.datasets
    ]
    return Grid(["settings chosen (seconds a fold)", *names], rows, n_text=1, narrow=_threes(len(names)))


def _choice(result: Result) -> str:
    """The candidate, or the most frequent one where runs differ."""
    counts = pd.Series(result.chosen).value_counts()
    return str(counts.index[0]) if len(counts) == 1 else f"mostly {counts.index[0]}"


def _names(summary: ComparisonSummary) -> list[str]:
    return [contender.name for contender in summary.experiment.contenders]


def _threes(n_columns: int) -> tuple[tuple[int, ...], ...]:
    """Three methods beside each other fit a terminal of 80 columns."""
    return tuple(tuple(range(first, min(first + 3, n_columns))) for first in range(0, n_columns, 3))
