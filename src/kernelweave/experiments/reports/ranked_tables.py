"""What a report says of a default and its alternatives: a ranked table, scores by data set, and who wins where."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from ..engine.comparison_run import ComparisonSummary
from .layout import Grid
from .standings import DECIMALS, Standing, gains, has_choice, score_table, standings

_COLUMNS = ["validation", "score", "rank", "difference", "worst", "W-T-L", "p", "seconds"]


def ranked_dict(summary: ComparisonSummary) -> dict[str, Any]:
    """The standings, ready for JSON."""
    return {
        "default": summary.experiment.default,
        "absent": list(summary.absent),
        **{
            f"standings, {label}": [asdict(one) for one in standings(summary, first)] for label, first in _ways(summary)
        },
        **{f"scores, {label}": score_table(summary, first).to_dict("index") for label, first in _ways(summary)},
    }


def ranked_sections(summary: ComparisonSummary) -> list[str | Grid]:
    """All that a report says below its title, in order."""
    found: list[str | Grid] = [_words(summary)]
    for label, first in _ways(summary):
        found.append(f"Over the {len(summary.rows)} data sets, {label}:")
        found.append(_standings(summary, first))
    for label, first in _ways(summary):
        found.append(f"Scores by data set, {label} (best in bold):")
        found.append(_scores(summary, first))
        found.append(_gains(summary, label, first))
    return found


def _ways(summary: ComparisonSummary) -> list[tuple[str, bool]]:
    """The ways to look at results, in words, and whether each is that of the first candidates."""
    if not has_choice(summary):
        return [("settings as they come", True)]
    several = next(result.candidates for result in summary.results.values() if len(result.candidates) > 1)
    return [(several[0], True), ("C chosen", False)]


def _words(summary: ComparisonSummary) -> str:
    comparison = summary.experiment
    words = [f"Default: `{comparison.default}`.", comparison.note]
    words.append(f"Protocol: {comparison.protocol!r}.")
    if summary.absent:
        words.append(f"Not there and left out: {', '.join(summary.absent)}.")
    return " ".join(word for word in words if word)


def _standings(summary: ComparisonSummary, first: bool) -> Grid:
    """Contenders by average rank, the best first."""
    ordered = sorted(standings(summary, first), key=lambda one: one.rank)
    return Grid(["", *_COLUMNS], [[_marked(one.name, summary), *_figures(one, summary)] for one in ordered], n_text=1)


def _figures(one: Standing, summary: ComparisonSummary) -> list[str]:
    held = "-" if np.isnan(one.validation) else f"{one.validation:.{DECIMALS}f}"
    against = [f"{one.difference:+.2f}", f"{one.worst:+.{DECIMALS}f}", f"{one.wins}-{one.ties}-{one.losses}"]
    if one.name == summary.experiment.default:
        against = ["-"] * len(against)
    pvalue = "-" if one.name == summary.experiment.default else f"{one.pvalue:.3f}"
    return [held, f"{one.score:.{DECIMALS}f}", f"{one.rank:.2f}", *against, pvalue, f"{one.seconds:.2f}"]


def _marked(name: str, summary: ComparisonSummary) -> str:
    return f"{name} (default)" if name == summary.experiment.default else name


def _scores(summary: ComparisonSummary, first: bool) -> Grid:
    scores = score_table(summary, first).round(DECIMALS)
    rows = [
        [row, *(f"**{value:.{DECIMALS}f}**" if value == best else f"{value:.{DECIMALS}f}" for value in values)]
        for row, best, values in zip(scores.index, scores.max(axis=1), scores.to_numpy(), strict=True)
    ]
    names = [_marked(name, summary) for name in scores]
    fives = tuple(tuple(range(start, min(start + 5, len(names)))) for start in range(0, len(names), 5))
    return Grid(["data set", *names], rows, n_text=1, narrow=fives if len(fives) > 1 else ())


def _gains(summary: ComparisonSummary, label: str, first: bool) -> str:
    found = gains(summary, first)
    if not found:
        return f"Nothing beats the default by a point and by two standard errors on any of the data sets ({label})."
    parts = [f"{name} on {', '.join(f'{row} ({d:+.1f})' for row, d in rows.items())}" for name, rows in found.items()]
    return f"Better than the default by at least a point and two standard errors ({label}): {'; '.join(parts)}."
