"""A finished comparison as JSON, Markdown and text.

A paper's table has ours and the paper's errors side by side. A default and its alternatives make a ranked table: mean
scores over several data sets, ranks, differences, wins and losses, and where alternatives win. Scores are accuracies in
per cent, or 100 R2 for regression. On each data set the contenders are ranked by their mean score over the repeats, 1
for the best, equal ones by their mean rank; differences to the default are taken on the same repeats. Wins, ties and
losses compare mean scores as printed, and Wilcoxon's signed rank test looks at all data sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from experiments.reports.sections import TextTable, sections
from experiments.reports.writing import about, as_dict
from kernelweave.compare import ComparisonOutcome
from kernelweave.compare.run import ContenderResult
from kernelweave.model_selection import wilcoxon_signed_rank, win_tie_loss

DECIMALS = 1  # of the scores as printed, which decide wins and ties


@dataclass(frozen=True)
class Standing:
    """One contender over all data sets.

    Attributes
    ----------
    name : str
    score : float
        Mean over the data sets.
    rank : float
        Average rank.
    difference, worst : float
        Of the score to the default's: mean over the data sets, and the smallest one.
    wins, ties, losses : int
        Data sets on which the contender is better than the default, as good, and worse.
    pvalue : float
        Of Wilcoxon's test against the default; 1 for the default itself.
    validation : float
        Mean score on the validation samples.
    seconds : float
        For all candidates on one fold; the median over the data sets, since the first ones may compile code.
    """

    name: str
    score: float
    _: KW_ONLY
    rank: float
    difference: float
    worst: float
    wins: int
    ties: int
    losses: int
    pvalue: float
    validation: float
    seconds: float


def score_table(outcome: ComparisonOutcome, first: bool = False) -> pd.DataFrame:
    """Mean scores, data sets by contenders.

    Parameters
    ----------
    outcome : ComparisonOutcome
    first : bool
        Of the first candidate of each contender in place of the chosen one.
    """
    results = _of(outcome, first)
    names = [contender.name for contender in outcome.experiment.contenders]
    rows = {row: [100.0 - results[row, name].mean for name in names] for row in outcome.rows}
    return pd.DataFrame.from_dict(rows, orient="index", columns=names)


def rank_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Ranks within each data set, 1 for the largest score; equal scores, as printed, share their mean rank.

    Examples
    --------
    >>> import pandas as pd
    >>> from experiments.reports.comparisons import rank_table
    >>> rank_table(pd.DataFrame({"a": [90.0, 70.0], "b": [95.0, 70.0], "c": [80.0, 60.0]})).to_numpy().tolist()
    [[2.0, 1.0, 3.0], [1.5, 1.5, 3.0]]
    """
    shown = np.round(scores.to_numpy(), DECIMALS)
    return pd.DataFrame(rankdata(-shown, axis=1), scores.index, scores.columns)


def standings(outcome: ComparisonOutcome, first: bool = False) -> list[Standing]:
    """Every contender of a comparison that has a default, in the order of its columns.

    Parameters
    ----------
    outcome : ComparisonOutcome
    first : bool
        Of the first candidate of each contender in place of the chosen one.
    """
    results, scores = _of(outcome, first), score_table(outcome, first)
    ranks, default = rank_table(scores), outcome.experiment.default
    found = []
    for name in scores:
        difference = scores[name] - scores[default]
        counts = win_tie_loss(scores[default].tolist(), scores[name].tolist(), decimals=DECIMALS)
        shown = [np.round(scores[column], DECIMALS) for column in (default, name)]
        wins, ties, losses = counts.direct
        found.append(
            Standing(
                name,
                float(scores[name].mean()),
                rank=float(ranks[name].mean()),
                difference=float(difference.mean()),
                worst=float(difference.min()),
                wins=wins,
                ties=ties,
                losses=losses,
                pvalue=1.0 if name == default else wilcoxon_signed_rank(*shown).pvalue,
                validation=100.0 - float(np.mean([results[row, name].validation for row in outcome.rows])),
                seconds=float(np.median([results[row, name].seconds for row in outcome.rows])),
            )
        )
    return found


def gains(outcome: ComparisonOutcome, first: bool = False, least: float = 1.0) -> dict[str, dict[str, float]]:
    """Where a contender is better than the default by some points, and by more than twice the standard error.

    Parameters
    ----------
    outcome : ComparisonOutcome
    first : bool
        Of the first candidate of each contender in place of the chosen one.
    least : float
        Points.

    Returns
    -------
    dict from contender to dict from data set to points
    """
    results, default, found = _of(outcome, first), str(outcome.experiment.default), {}
    for name in (contender.name for contender in outcome.experiment.contenders):
        differences = {row: results[row, default].errors - results[row, name].errors for row in outcome.rows}
        clear = {
            row: float(d.mean()) for row, d in differences.items() if d.mean() >= max(least, 2.0 * _standard_error(d))
        }
        if clear:
            found[name] = dict(sorted(clear.items(), key=lambda item: -item[1]))
    return found


def has_choice(outcome: ComparisonOutcome) -> bool:
    """Whether some contender has several candidates."""
    return any(outcome.results[key].candidates != result.candidates for key, result in outcome.first.items())


def _of(outcome: ComparisonOutcome, first: bool) -> Mapping[tuple[str, str], ContenderResult]:
    return outcome.first if first else outcome.results


def _standard_error(values: np.ndarray) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


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
