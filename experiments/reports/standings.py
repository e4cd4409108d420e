"""A default against its alternatives over several data sets: mean scores, ranks, differences, wins and losses.

Scores are accuracies in per cent, or 100 R2 for regression. On each data set the contenders are ranked by their mean
score over the repeats, 1 for the best, equal ones by their mean rank; differences to the default are taken on the same
repeats. Wins, ties and losses compare mean scores as printed, and Wilcoxon's signed rank test looks at all data sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from ...model_selection import wilcoxon_signed_rank, win_tie_loss
from ..engine.comparison_run import ComparisonOutcome, ContenderResult

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
    >>> from kernelweave.experiments.reports.standings import rank_table
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
        clear = {row: float(d.mean()) for row, d in differences.items() if d.mean() >= max(least, 2.0 * _error(d))}
        if clear:
            found[name] = dict(sorted(clear.items(), key=lambda item: -item[1]))
    return found


def has_choice(outcome: ComparisonOutcome) -> bool:
    """Whether some contender has several candidates."""
    return any(outcome.results[key].candidates != result.candidates for key, result in outcome.first.items())


def _of(outcome: ComparisonOutcome, first: bool) -> Mapping[tuple[str, str], ContenderResult]:
    return outcome.first if first else outcome.results


def _error(values: np.ndarray) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
