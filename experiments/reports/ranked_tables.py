"""The report of a default and its alternatives: a ranked table, scores by data set, and where alternatives win."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from ..engine.comparison_run import ComparisonOutcome
from .sections import TextTable
from .standings import DECIMALS, Standing, gains, has_choice, score_table, standings

_COLUMNS = ["validation", "score", "rank", "difference", "worst", "W-T-L", "p", "seconds"]


def ranked_dict(outcome: ComparisonOutcome) -> dict[str, Any]:
    """The standings, ready for JSON."""
    return {
        "default": outcome.experiment.default,
        "absent": list(outcome.absent),
        **{
            f"standings, {label}": [asdict(one) for one in standings(outcome, first)] for label, first in _ways(outcome)
        },
        **{f"scores, {label}": score_table(outcome, first).to_dict("index") for label, first in _ways(outcome)},
    }


def ranked_sections(outcome: ComparisonOutcome) -> list[str | TextTable]:
    """The contents of a report below its title, in order."""
    found: list[str | TextTable] = [_words(outcome)]
    for label, first in _ways(outcome):
        found.append(f"Over the {len(outcome.rows)} data sets, {label}:")
        found.append(_standings(outcome, first))
    for label, first in _ways(outcome):
        found.append(f"Scores by data set, {label} (best in bold):")
        found.append(_scores(outcome, first))
        found.append(_gains(outcome, label, first))
    return found


def _ways(outcome: ComparisonOutcome) -> list[tuple[str, bool]]:
    """The ways to look at results, in words, and whether each is that of the first candidates."""
    if not has_choice(outcome):
        return [("settings as they come", True)]
    several = next(result.candidates for result in outcome.results.values() if len(result.candidates) > 1)
    return [(several[0], True), ("C chosen", False)]


def _words(outcome: ComparisonOutcome) -> str:
    comparison = outcome.experiment
    words = [f"Default: `{comparison.default}`.", comparison.note]
    words.append(f"Protocol: {comparison.protocol.in_words}.")
    if outcome.absent:
        words.append(f"Not there and left out: {', '.join(outcome.absent)}.")
    return " ".join(word for word in words if word)


def _standings(outcome: ComparisonOutcome, first: bool) -> TextTable:
    """Contenders by average rank, the best first."""
    ordered = sorted(standings(outcome, first), key=lambda one: one.rank)
    return TextTable(
        ["", *_COLUMNS], [[_marked(one.name, outcome), *_figures(one, outcome)] for one in ordered], n_text=1
    )


def _figures(one: Standing, outcome: ComparisonOutcome) -> list[str]:
    held = "-" if np.isnan(one.validation) else f"{one.validation:.{DECIMALS}f}"
    against = [f"{one.difference:+.2f}", f"{one.worst:+.{DECIMALS}f}", f"{one.wins}-{one.ties}-{one.losses}"]
    if one.name == outcome.experiment.default:
        against = ["-"] * len(against)
    pvalue = "-" if one.name == outcome.experiment.default else f"{one.pvalue:.3f}"
    return [held, f"{one.score:.{DECIMALS}f}", f"{one.rank:.2f}", *against, pvalue, f"{one.seconds:.2f}"]


def _marked(name: str, outcome: ComparisonOutcome) -> str:
    return f"{name} (default)" if name == outcome.experiment.default else name


def _scores(outcome: ComparisonOutcome, first: bool) -> TextTable:
    scores = score_table(outcome, first).round(DECIMALS)
    rows = [
        [row, *(f"**{value:.{DECIMALS}f}**" if value == best else f"{value:.{DECIMALS}f}" for value in values)]
        for row, best, values in zip(scores.index, scores.max(axis=1), scores.to_numpy(), strict=True)
    ]
    names = [_marked(name, outcome) for name in scores]
    fives = tuple(tuple(range(start, min(start + 5, len(names)))) for start in range(0, len(names), 5))
    return TextTable(["data set", *names], rows, n_text=1, narrow=fives if len(fives) > 1 else ())


def _gains(outcome: ComparisonOutcome, label: str, first: bool) -> str:
    found = gains(outcome, first)
    if not found:
        return f"Nothing beats the default by a point and by two standard errors on any of the data sets ({label})."
    parts = [f"{name} on {', '.join(f'{row} ({d:+.1f})' for row, d in rows.items())}" for name, rows in found.items()]
    return f"Better than the default by at least a point and two standard errors ({label}): {'; '.join(parts)}."
