"""The tables of the benchmark's page, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from experiments.benchmark.page.findings import FAMILY_WORDS, OURS, Lead, escaped
from experiments.benchmark.page.ranks import Against, Ranking, SharedCells, data_set_of
from kernelweave.datasets import load_dataset
from kernelweave.datasets.catalogue import CATALOGUE
from kernelweave.reporting.markdown import markdown_table

_COLUMNS = 6  # data sets beside each other
_LONGEST_REASON = 200
_PARTICULARS = r"'[^']*'|\d+"


def overall_table(shared: SharedCells, ranking: Ranking, baseline: str) -> str:
    """All methods, the best mean rank first.

    Parameters
    ----------
    shared : SharedCells
    ranking : Ranking
    baseline : str
    """
    accuracy, failed = ranking.accuracy.mean(), ranking.accuracy.isna().sum()
    log_loss = mean_over_sets(shared, ranking, "log_loss")
    against = ranking.against(baseline) if baseline in ranking.accuracy else {}
    lines = []
    for name, rank in ranking.mean.items():
        one = against.get(str(name))
        record = ["-", "-"] if one is None else [_record(one), p_value(one.adjusted)]
        lines.append(
            [
                _with_family(str(name), shared),
                _aside(number(100.0 * accuracy[name], 1), failed[name] > 0),
                number(rank, 2),
                *record,
                _aside(number(log_loss[name], 3), failed[name] > 0),
                str(int(failed[name])),
            ]
        )
    return markdown_table(["method", "accuracy", "rank", "W-T-L", "p", "log loss", "failed"], lines)


def costs_table(shared: SharedCells, ranking: Ranking) -> str:
    """What the methods cost, in the order of their mean ranks.

    Parameters
    ----------
    shared : SharedCells
    ranking : Ranking
    """
    digits = {"stored": 0, "seconds": 2, "predict_seconds": 3, "memory_mb": 0}
    means = {column: mean_over_sets(shared, ranking, column) for column in digits}
    lines = [
        [_with_family(str(name), shared), *(number(means[column][name], digits[column]) for column in digits)]
        for name in ranking.mean.index
    ]
    return markdown_table(["method", "stored", "seconds", "prediction", "MB"], lines)


def mean_over_sets(shared: SharedCells, ranking: Ranking, column: str) -> pd.Series:
    """By method, the mean of a measure over the data sets of a ranking.

    Parameters
    ----------
    shared : SharedCells
    ranking : Ranking
    column : str
    """
    return shared.table(column).loc[ranking.accuracy.index, ranking.accuracy.columns].mean()


def _with_family(method: str, shared: SharedCells) -> str:
    family = shared.families[method]
    return escaped(method) if family == OURS else f"{escaped(method)} ({FAMILY_WORDS[family]})"


def _aside(text: str, is_aside: bool) -> str:
    return f"({text})" if is_aside else text


def _record(one: Against) -> str:
    """Wins, ties and losses, with hyphens at which no line breaks."""
    return f"{one.wins}\u2011{one.ties}\u2011{one.losses}"


def sets_table(shared: SharedCells) -> str:
    """The data sets: samples, views, classes, and what a split has.

    Parameters
    ----------
    shared : SharedCells
    """
    once = shared.cells.drop_duplicates("set").set_index("set")
    splits = shared.cells.groupby("set")["split"].nunique()
    lines = []
    for row, cell in once.iterrows():
        spec = CATALOGUE.get(data_set_of(str(row)))
        known = ["-"] * 3
        if spec is not None:
            known = [str(spec.n_samples), str(_n_views(data_set_of(str(row)))), str(len(spec.classes))]
        counts = [str(int(cell["n_train"])), str(int(cell["n_test"])), str(int(splits[row]))]
        lines.append([escaped(str(row)), str(cell["kind"]), *known, *counts])
    headings = ["data set", "kind", "samples", "views", "classes", "train", "test", "splits"]
    return markdown_table(headings, lines, text=(0, 1))


def _n_views(name: str) -> int:
    """Number of views of a data set; the catalogue has the columns of an embedded set as one array."""
    spec = CATALOGUE[name]
    return len(load_dataset(name).views) if spec.origin == "embedded" else max(len(spec.views), 1)


def leads_table(found: Sequence[Lead]) -> str:
    """For each data set the best method of Kernelweave and the best of the others, the largest leads of others first.

    Parameters
    ----------
    found : sequence of Lead
    """
    lines = []
    for lead in sorted(found, key=lambda lead: -lead.ahead):
        sides = ((lead.ours, lead.ours_accuracy), (lead.other, lead.other_accuracy))
        shown = [(escaped(name), _bold(f"{100 * value:.1f}", lead.best == name)) for name, value in sides]
        pvalue = _bold(p_value(lead.pvalue), lead.is_sure)
        lines.append([escaped(lead.row), *shown[0], *shown[1], f"{-100 * lead.ahead:+.1f}", pvalue])
    headings = ["data set", "best of Kernelweave", "%", "best of the others", "%", "ahead", "p"]
    return markdown_table(headings, lines, text=(0, 1, 3))


def _bold(text: str, is_bold: bool) -> str:
    return f"**{text}**" if is_bold else text


def measure_tables(
    shared: SharedCells, column: str, methods: Sequence[str], *, scale: float, decimals: int, least: bool = False
) -> list[str]:
    """Means of a measure over splits, methods by data sets, in tables of a few data sets; the best of a set is bold.

    Parameters
    ----------
    shared : SharedCells
    column : str
    methods : sequence of str
        In the order of the rows.
    scale : float
        What the measure is multiplied with.
    decimals : int
    least : bool
        Whether the least value is the best one.
    """
    table = (scale * shared.table(column)).round(decimals)
    methods = [name for name in methods if name in table]
    best = table.min(axis=1) if least else table.max(axis=1)
    found = []
    for start in range(0, len(table), _COLUMNS):
        part = table.index[start : start + _COLUMNS]
        lines = [
            [escaped(name), *(_value(shared, row, name, table.loc[row, name], best[row], decimals) for row in part)]
            for name in methods
        ]
        found.append(markdown_table(["method", *(escaped(str(row)) for row in part)], lines))
    return found


def _value(shared: SharedCells, row: str, method: str, value: float, best: float, decimals: int) -> str:
    if np.isnan(value):
        return "failed" if shared.failed.loc[row, method] else "-"
    return _bold(f"{value:.{decimals}f}", bool(value == best))


def failures_table(cells: pd.DataFrame) -> str:
    """The methods that failed, why, and on which data sets.

    Parameters
    ----------
    cells : DataFrame
        Those with a reason.
    """
    lines = []
    alike = cells["failed"].str.replace(_PARTICULARS, "", regex=True)  # reasons that name other samples and kernels
    for (method, _), part in cells.groupby(["method", alike], sort=False):
        short = " ".join(str(part["failed"].iloc[0]).split())
        short = short if len(short) <= _LONGEST_REASON else short[:_LONGEST_REASON] + " ..."
        counts = part.groupby("set", sort=False).size()
        rows = ", ".join(f"{escaped(str(row))} ({count})" for row, count in counts.items())
        lines.append([escaped(str(method)), escaped(short), rows])
    return markdown_table(["method", "reason", "data sets (splits)"], lines, text=(0, 1, 2))


def number(value: float, decimals: int) -> str:
    """A number, "-" where it is NaN.

    Examples
    --------
    >>> from experiments.benchmark.page.tables import number
    >>> number(1.25, 1), number(float("nan"), 1)
    ('1.2', '-')
    """
    return "-" if np.isnan(value) else f"{value:.{decimals}f}"


def p_value(value: float) -> str:
    """A p-value with three decimals.

    Examples
    --------
    >>> from experiments.benchmark.page.tables import p_value
    >>> p_value(0.0304), p_value(1e-9), p_value(float("nan"))
    ('0.030', '<0.001', '-')
    """
    return "<0.001" if value < 0.001 else number(value, 3)
