"""What the cells of the benchmark show, in generated sentences: who is ahead, on which data sets, and how surely.

On one data set the best method of Kernelweave is compared with the best of all others by the test of held-out losses
(`paired_loss_test`). Cells hold accuracies, and not which labels are wrong, so that the test takes the case in which as
few as possible are wrong in both: the variance is the largest one that fits the accuracies, and the p-value an upper
limit. The best of a family is chosen by the accuracy on the test samples, which favours the family with more methods;
the page says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

import numpy as np
import pandas as pd

from experiments.benchmark.page.ranks import LEVEL, Ranking, SharedCells
from kernelweave.model_selection import paired_loss_test

OURS = "kernelweave"
FAMILY_WORDS = {OURS: "Kernelweave", "rival": "rival", "entry": "entry"}
_AHEAD = 0.01  # a lead that is named
_NEAR, _BEHIND = 0.005, 0.015  # of the named method: as good as the best of the others, and worse by so much
_SAME = 1e-9


@dataclass(frozen=True)
class Lead:
    """The best method of Kernelweave and the best of the others on one data set.

    Attributes
    ----------
    row : str
        The data set.
    ours, other : str
        The two methods.
    ours_accuracy, other_accuracy : float
        Means over the splits.
    pvalue : float
        An upper limit to that of the test of held-out losses; NaN where there is one split.
    """

    row: str
    _: KW_ONLY
    ours: str
    other: str
    ours_accuracy: float
    other_accuracy: float
    pvalue: float

    @property
    def ahead(self) -> float:
        """By how much the best of the others is ahead, negative where it is behind."""
        return self.other_accuracy - self.ours_accuracy

    @property
    def best(self) -> str | None:
        """The better one of the two, None where they tie."""
        if abs(self.ahead) < _SAME:
            return None
        return self.other if self.ahead > 0 else self.ours

    @property
    def is_sure(self) -> bool:
        """Whether the test rejects that they are alike."""
        return bool(self.pvalue < LEVEL)


def leads(shared: SharedCells, named: str | None = None) -> list[Lead]:
    """For each data set with methods of both sides, the best of either.

    Parameters
    ----------
    shared : SharedCells
    named : str, optional
        The one method of Kernelweave that counts.
    """
    accuracy = shared.table("accuracy")
    is_ours = np.array([shared.families[name] == OURS for name in accuracy])
    counts = is_ours if named is None else accuracy.columns == named
    found = []
    for row, values in accuracy.iterrows():
        sides = [values[counts].dropna(), values[~is_ours].dropna()]
        if min(len(side) for side in sides) == 0:
            continue
        ours, other = (str(side.idxmax()) for side in sides)
        found.append(
            Lead(
                str(row),
                ours=ours,
                other=other,
                ours_accuracy=float(values[ours]),
                other_accuracy=float(values[other]),
                pvalue=_pvalue(shared.cells[shared.cells["set"] == row], ours, other),
            )
        )
    return found


def _pvalue(cells: pd.DataFrame, first: str, second: str) -> float:
    """An upper limit to the p-value of two methods on one data set."""
    values = [cells.loc[cells["method"] == name, "accuracy"] for name in (first, second)]
    if len(values[0]) < 2:
        return float("nan")
    n_test, n_train = round(cells["n_test"].mean()), float(cells["n_train"].mean())
    place = np.arange(n_test)
    # The first samples are those that one method has wrong, and the last ones those of the other.
    wrong = [n_test * (1.0 - own.mean()) for own in values]
    losses = [np.clip(count - order, 0.0, 1.0) for count, order in zip(wrong, (place, place[::-1]), strict=True)]
    return paired_loss_test(*losses, n_train=n_train).pvalue


def named_sentences(shared: SharedCells, ranking: Ranking, named: str) -> list[str]:
    """How one method compares with the best of the others on each data set, and its mean rank.

    Parameters
    ----------
    shared : SharedCells
    ranking : Ranking
    named : str
    """
    found = leads(shared, named)
    if not found:
        return []
    near = sum(lead.ahead <= _NEAR + _SAME for lead in found)
    behind = sorted((lead for lead in found if lead.ahead > _BEHIND + _SAME), key=lambda lead: -lead.ahead)
    n_failed = int(shared.failed[named].sum())
    said = (
        f"{italic(named)} is ahead of the best of the others, or within {100 * _NEAR:g} points of it, on {near} of "
        f"{counted(len(found), 'data set')}"
    )
    said += f" (and failed on {n_failed} more)." if n_failed else "."
    if behind:
        said += f" It is more than {100 * _BEHIND:g} points behind on {len(behind)}: {'; '.join(map(_gap, behind))}."
    else:
        said += f" It is nowhere more than {100 * _BEHIND:g} points behind."
    said += " The best of the others is chosen for each data set by the accuracy on its test samples."
    said += " [How auto chooses](recipes.md#how-auto-chooses) says what it misses."
    if named not in ranking.mean or named == ranking.mean.index[0]:  # the next sentence says so
        return [said]
    rank = ranking.mean[named]
    place = int((ranking.mean < rank).sum()) + 1
    return [said, f"The mean rank of {italic(named)} is {rank:.2f}, place {place} of {len(ranking.mean)}."]


def _gap(lead: Lead) -> str:
    test = "" if np.isnan(lead.pvalue) else f", {p_words(lead.pvalue)}"
    return f"{escaped(lead.row)} ({-100 * lead.ahead:+.1f} to {italic(lead.other)}{test})"


def named_against_best(ranking: Ranking, families: dict[str, str], named: str) -> str | None:
    """One method of Kernelweave, chosen before any score was seen, against the best of the others by mean rank.

    Parameters
    ----------
    ranking : Ranking
    families : dict from method to family
    named : str
    """
    others = [str(name) for name in ranking.mean.index if families[str(name)] != OURS]
    if named not in ranking.mean or not others:
        return None
    record = ranking.against(others[0])[named]
    both = 100.0 * ranking.accuracy[[named, others[0]]].dropna()
    if both.empty:
        return None
    ours, other = both.mean()
    return (
        f"The one method of Kernelweave that was named beforehand, {italic(named)}, is more accurate than "
        f"{italic(others[0])}, the best of {counted(len(others), 'other')} by mean rank, on {record.wins} of "
        f"{counted(len(ranking.accuracy), 'data set')}, as accurate on {record.ties} and less accurate on "
        f"{record.losses}: {ours:.1f} against {other:.1f} per cent in the mean (Wilcoxon's signed rank test: "
        f"{p_words(record.pvalue)})."
    )


def standing_sentences(ranking: Ranking, families: dict[str, str]) -> list[str]:
    """Which method has the best mean rank, and which of the others are ahead of all of Kernelweave's.

    Parameters
    ----------
    ranking : Ranking
    families : dict from method to family
    """
    mean = ranking.mean
    said = [f"The best mean rank is that of {_named(str(mean.index[0]), families)}, {mean.iloc[0]:.2f} of {len(mean)}."]
    ours = [str(name) for name in mean.index if families[str(name)] == OURS]
    others = [str(name) for name in mean.index if families[str(name)] != OURS]
    if not ours or not others:
        return said
    before = [name for name in others if mean[name] < mean[ours[0]]]
    if before:
        said.append(f"Ahead of every method of Kernelweave by mean rank: {listed(before)}.")
        said.append(f"The best of Kernelweave is {italic(ours[0])} ({mean[ours[0]]:.2f}).")
    else:
        said.append(f"The best of the others is {italic(others[0])} ({mean[others[0]]:.2f}).")
    return said


def critical_sentences(ranking: Ranking) -> list[str]:
    """What the tests of Friedman and Nemenyi say.

    Parameters
    ----------
    ranking : Ranking
    """
    if not ranking.is_tested:
        return ["There is no test with fewer than two methods or two data sets."]
    mean, result = ranking.mean, ranking.friedman
    rejects = "rejects" if result.pvalue < LEVEL else "does not reject"
    close = [str(name) for name in mean.index[1:] if mean[name] - mean.iloc[0] < ranking.critical_difference]
    told = f"not told apart from the best: {listed(close)}" if close else "the best is told apart from all others"
    return [
        f"Friedman's test in Iman and Davenport's form {rejects} that all methods are alike "
        f"(F = {result.statistic:.2f}, {p_words(result.pvalue)}, N = {ranking.n_independent:.3g}).",
        f"The critical difference is {ranking.critical_difference:.2f}; {told}.",
    ]


def lead_sentences(found: list[Lead]) -> list[str]:
    """Where the others are ahead of all methods of Kernelweave.

    Parameters
    ----------
    found : list of Lead
        Not empty.
    """
    said = []
    ahead = sorted((lead for lead in found if lead.ahead >= _AHEAD), key=lambda lead: -lead.ahead)
    if ahead:
        said.append(f"Ahead of every method of Kernelweave by a point or more: {_where(ahead)}.")
    else:
        said.append("On no data set is another method ahead of all of Kernelweave's by a point or more.")
    sure = [lead for lead in found if lead.ahead > 0 and lead.is_sure]
    if sure:
        said.append(f"Significantly ahead (test of held-out losses, 0.05): {_where(sure)}.")
    elif not all(np.isnan(lead.pvalue) for lead in found):
        said.append("On no data set is another method significantly ahead (test of held-out losses, 0.05).")
    return said


def count_words(found: list[Lead]) -> str:
    """On how many data sets the best method is one of Kernelweave's, or another one.

    Parameters
    ----------
    found : list of Lead
    """
    ours = sum(lead.best == lead.ours for lead in found)
    ties = sum(lead.best is None for lead in found)
    others = len(found) - ours - ties
    n_sets = counted(len(found), "data set")
    said = f"The best method is one of Kernelweave's on {ours} of {n_sets}, another one on {others}"
    return said + (f", and both tie on {ties}" if ties else "")


def _where(found: Iterable[Lead]) -> str:
    by_method: dict[str, list[str]] = {}
    for lead in found:
        by_method.setdefault(lead.other, []).append(f"{escaped(lead.row)} ({100 * lead.ahead:+.1f})")
    return "; ".join(f"{italic(method)} on {', '.join(rows)}" for method, rows in by_method.items())


def baseline_sentences(ranking: Ranking, baseline: str) -> list[str]:
    """Which methods Wilcoxon's test with Holm's correction tells apart from the baseline.

    Parameters
    ----------
    ranking : Ranking
    baseline : str
    """
    if baseline not in ranking.accuracy or not ranking.is_tested:
        return []
    against = ranking.against(baseline)
    sure = {name: one for name, one in against.items() if one.adjusted < LEVEL}
    better = [name for name, one in sure.items() if one.is_better]
    worse = [name for name, one in sure.items() if not one.is_better]
    test = "Wilcoxon's signed rank test with Holm's correction"
    words = [listed(names) if names else "none" for names in (better, worse)]
    return [
        f"Against {italic(baseline)}, by {test}, significantly better: {words[0]}; significantly worse: {words[1]}."
    ]


def cost_sentences(accuracy: pd.Series, seconds: pd.Series, stored: pd.Series) -> list[str]:
    """The fastest method, and the one that stores least, among those within a per cent of the most accurate.

    Parameters
    ----------
    accuracy : Series
        Relative to the best method of each data set, in per cent, by method.
    seconds, stored : Series
        By method.
    """
    if accuracy.isna().all():
        return []
    near = accuracy.index[accuracy > accuracy.max() - 1.0]
    fast = str(seconds[near].idxmin())
    if len(near) == 1:
        return [f"No other method is within one per cent of the most accurate one, {italic(fast)}, in the mean."]
    said = f"Among the {len(near)} methods within one per cent of the most accurate one, the fastest is {italic(fast)}"
    said += f" ({seconds[fast]:.2g} seconds"
    nothing = [str(name) for name in near if not stored[name] > 0]
    if nothing:
        return [f"{said}); {listed(nothing)} store no training samples."]
    few = str(stored[near].idxmin())
    return [f"{said}) and the one that stores fewest samples is {italic(few)} ({stored[few]:.0f})."]


def counted(number: int, what: str) -> str:
    """A number of things.

    Examples
    --------
    >>> from experiments.benchmark.page.findings import counted
    >>> counted(1, "data set"), counted(3, "loss")
    ('1 data set', '3 losses')
    """
    ending = "" if number == 1 else "es" if what.endswith("s") else "s"
    return f"{number} {what}{ending}"


def p_words(pvalue: float) -> str:
    """A p-value in words for a sentence.

    Examples
    --------
    >>> from experiments.benchmark.page.findings import p_words
    >>> p_words(0.0304), p_words(1e-9)
    ('p = 0.030', 'p < 0.001')
    """
    return "p < 0.001" if pvalue < 0.001 else f"p = {pvalue:.3f}"


def listed(names: list[str]) -> str:
    """Names in italics, as English lists them.

    Examples
    --------
    >>> from experiments.benchmark.page.findings import listed
    >>> listed(["a", "b", "c"])
    '*a*, *b* and *c*'
    """
    shown = [italic(name) for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def italic(name: str) -> str:
    """A name in italics: some names have a comma."""
    return f"*{escaped(name)}*"


def escaped(text: str) -> str:
    """A text in one line, as Markdown shows it unchanged, also in a table.

    Examples
    --------
    >>> from experiments.benchmark.page.findings import escaped
    >>> print(escaped("a_b | c"))
    a\\_b \\| c
    """
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", " ".join(text.split()))


def _named(method: str, families: dict[str, str]) -> str:
    return f"{italic(method)} ({FAMILY_WORDS[families[method]]})"
