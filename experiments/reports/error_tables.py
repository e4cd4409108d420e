"""A finished comparison as JSON, Markdown and text.

A paper's table has ours and the paper's errors side by side; a default and its alternatives make a ranked table.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..engine.comparison_run import ComparisonOutcome, ContenderResult
from .ranked_tables import ranked_dict, ranked_sections
from .sections import TextTable, sections
from .writing import about, as_dict


def error_table(outcome: ComparisonOutcome) -> pd.DataFrame:
    """Mean errors, data sets by contenders.

    Parameters
    ----------
    outcome : ComparisonOutcome

    Returns
    -------
    DataFrame
    """
    names = _names(outcome)
    rows = {row: [outcome.results[row, name].mean for name in names] for row in outcome.rows}
    return pd.DataFrame.from_dict(rows, orient="index", columns=names)


@as_dict.register
def _(outcome: ComparisonOutcome) -> dict[str, Any]:
    comparison = outcome.experiment
    ranked = {} if comparison.default is None else ranked_dict(outcome)
    return (about(outcome) | ranked) | {
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
            for (row, name), result in outcome.results.items()
        ],
    }


@sections.register
def _(outcome: ComparisonOutcome) -> list[str | TextTable]:
    if outcome.experiment.default is not None:
        return ranked_sections(outcome)
    return [_settings(outcome), _errors(outcome), _significance(outcome), _details(outcome)]


def _settings(outcome: ComparisonOutcome) -> str:
    comparison = outcome.experiment
    protocol = f"Protocol: {comparison.protocol.in_words}; {outcome.n_folds} folds."
    words = f"{comparison.source}. Test errors in per cent. {protocol}"
    return words + (f" {comparison.note}" if comparison.note else "")


def _significance(outcome: ComparisonOutcome) -> str:
    comparison = outcome.experiment
    return (
        f"Marked *: no method is significantly better on the same splits ({comparison.protocol.test_name} against the "
        f"best one, level {comparison.level:g})."
    )


def _errors(outcome: ComparisonOutcome) -> TextTable:
    """Two lines a data set, ours and the paper's."""
    comparison, names, rows = outcome.experiment, _names(outcome), []
    for row in comparison.datasets:
        results = [outcome.results[row, name] for name in names]
        rows.append([row, "ours", *(_error(r.mean, r.std) + ("*" if r.best else "") for r in results)])
        figures = comparison.paper.get(row, {})
        if figures:
            rows.append(["", "paper", *(_error(*figures[name]) if name in figures else "-" for name in names)])
    return TextTable(["data set", "", *names], rows, n_text=2, narrow=_threes(len(names)))


def _error(mean: float, std: float) -> str:
    return f"{mean:.2f} ± {std:.2f}"


def _details(outcome: ComparisonOutcome) -> TextTable:
    """Which candidates counted, and the seconds that all candidates took on one fold."""
    names = _names(outcome)
    rows = [
        [row, *(f"{_choice(result)} ({result.seconds:.2f})" for result in (outcome.results[row, n] for n in names))]
        for row in outcome.experiment.datasets
    ]
    return TextTable(["settings chosen (seconds a fold)", *names], rows, n_text=1, narrow=_threes(len(names)))


def _choice(result: ContenderResult) -> str:
    """The candidate, or the most frequent one where runs differ."""
    counts = pd.Series(result.chosen).value_counts()
    return str(counts.index[0]) if len(counts) == 1 else f"mostly {counts.index[0]}"


def _names(outcome: ComparisonOutcome) -> list[str]:
    return [contender.name for contender in outcome.experiment.contenders]


def _threes(n_columns: int) -> tuple[tuple[int, ...], ...]:
    """Three methods beside each other fit a terminal of 80 columns."""
    return tuple(tuple(range(first, min(first + 3, n_columns))) for first in range(0, n_columns, 3))
