"""Whether a table reaches the paper's figures and bears out its conclusion, by one rule, from the table's numbers.

A figure of the paper is *reached* where ours is better, or worse by no more than the paper's standard deviation (ours,
where the paper prints none) and the rounding of the two decimals that papers print. A conclusion *holds* on a data set
where the means are in the order that it states, and where a method that is said to be as good as another is worse by no
more than its own standard deviation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.declaration import Claim

_LEVEL = 0.05
_ROUNDING = 0.005 + 1e-9  # of figures with two decimals; 97.40 - 0.37 is no 97.03
_ORDERS = {"ahead_of": "test", "sparser_than": "support", "cheaper_than": "total_cost"}
_LOSES = {"test": "is ahead", "support": "stores no more", "total_cost": "costs no more"}

Rows = dict[str, dict[str, Any]]  # of one data set, by method


@dataclass(frozen=True)
class Verdict:
    """What the numbers of a table say of a claim.

    Attributes
    ----------
    ours, paper : (mean, standard deviation or None), or None
        Score of the row that carries the claim; of several data sets the mean over those that have the paper's figure
        (over all where none has), without a standard deviation. None where there is no such figure.
    missed : tuple of str
        Data sets on which the row does not reach the paper's figure.
    n_figures : int
        How many data sets have a figure of the paper for the row.
    all_reached, n_all : int
        How many figures of the whole table are reached, and how many there are.
    n_data : int
        Data sets that have the row.
    against : dict from data set to list of str
        What is against the claim, in words; data sets on which it holds are not there.
    """

    ours: tuple[float, float | None] | None
    paper: tuple[float, float | None] | None
    missed: tuple[str, ...]
    n_figures: int
    all_reached: int
    n_all: int
    n_data: int
    against: dict[str, list[str]]

    @property
    def reached(self) -> int:
        """On how many data sets the row reaches the paper's figure."""
        return self.n_figures - len(self.missed)

    @property
    def holds(self) -> int:
        """On how many data sets the claim holds."""
        return self.n_data - len(self.against)


@dataclass(frozen=True)
class Win:
    """A simpler method that is better than the row that carries a claim.

    Attributes
    ----------
    data, method : str
    score, beaten : float
        Its score, and that of the row.
    certainty : str
        What the table's test says of the difference.
    """

    data: str
    method: str
    score: float
    beaten: float
    certainty: str


def judge(claim: Claim, record: dict[str, Any]) -> Verdict:
    """What the numbers of a table say of its claim.

    Parameters
    ----------
    claim : Claim
    record : dict
        Of the table, see `records`.

    Returns
    -------
    Verdict
    """
    higher, tables = is_higher_better(record), by_data(record)
    carrying = [rows[claim.row] for rows in tables.values() if claim.row in rows]
    printed = [row for row in carrying if "test" in row.get("paper", {})]
    figures = [row for row in record["results"] if "test" in row.get("paper", {})]
    against = {data: _against(claim, rows, higher) for data, rows in tables.items() if claim.row in rows}
    return Verdict(
        ours=mean_figure([row["test"] for row in printed or carrying]),
        paper=mean_figure([row["paper"]["test"] for row in printed]),
        missed=tuple(row["data"] for row in printed if not _reaches(row, higher)),
        n_figures=len(printed),
        all_reached=sum(_reaches(row, higher) for row in figures),
        n_all=len(figures),
        n_data=len(carrying),
        against={data: words for data, words in against.items() if words},
    )


def wins(claim: Claim, record: dict[str, Any]) -> list[Win]:
    """The simpler methods of a table that are better than the row that carries its claim, by data set.

    Parameters
    ----------
    claim : Claim
    record : dict
        Of the table, see `records`.
    """
    return list(_wins(claim, record))


def _wins(claim: Claim, record: dict[str, Any]) -> Iterator[Win]:
    higher = is_higher_better(record)
    for data, rows in by_data(record).items():
        row = rows.get(claim.row)
        for name in claim.simpler if row is not None else ():
            rival = rows.get(name)
            if row is not None and rival is not None and _behind(row["test"][0], rival["test"][0], higher) > 0:
                certainty = _certainty(record, row, rival)
                yield Win(data, name, score=rival["test"][0], beaten=row["test"][0], certainty=certainty)


def is_higher_better(record: dict[str, Any]) -> bool:
    """Whether the score of a record is an accuracy and not an error.

    Parameters
    ----------
    record : dict
    """
    return "accuracy" in record["score"]


def by_data(record: dict[str, Any]) -> dict[str, Rows]:
    """The results of a record by data set and method.

    Parameters
    ----------
    record : dict
    """
    found: dict[str, Rows] = {}
    for result in record["results"]:
        found.setdefault(result["data"], {})[result["method"]] = result
    return found


def _behind(ours: float, other: float, higher: bool) -> float:
    """By how much ours is worse; negative where it is better."""
    return other - ours if higher else ours - other


def _reaches(row: dict[str, Any], higher: bool) -> bool:
    """Whether a row reaches the paper's figure."""
    (ours, own), (paper, printed) = row["test"], row["paper"]["test"]
    return _behind(ours, paper, higher) <= (own if printed is None else printed) + _ROUNDING


def _against(claim: Claim, rows: Rows, higher: bool) -> list[str]:
    """What is against the claim on one data set; methods that were not run have no say."""
    row, found = rows[claim.row], []
    for order, measure in _ORDERS.items():
        is_better_high = higher and measure == "test"
        for name in getattr(claim, order):
            other = rows.get(name, {})
            known = measure in other and measure in row
            if known and _behind(row[measure][0], other[measure][0], is_better_high) >= 0:
                found.append(f"{name} {_LOSES[measure]}")
    for name in claim.no_worse_than:
        if name in rows and _behind(row["test"][0], rows[name]["test"][0], higher) > row["test"][1] + 1e-9:
            found.append(f"{name} is ahead")
    return found


def mean_figure(figures: list[Any]) -> tuple[float, float | None] | None:
    """The one figure with its standard deviation, the mean of several without one, or None where there is none.

    Parameters
    ----------
    figures : list of (mean, standard deviation or None)
    """
    if not figures:
        return None
    return (figures[0][0], figures[0][1]) if len(figures) == 1 else (float(np.mean([one[0] for one in figures])), None)


def _certainty(record: dict[str, Any], row: dict[str, Any], rival: dict[str, Any]) -> str:
    """What is known of the difference between two rows: each is tested against the baseline, or against the best."""
    if "best" in row:
        return "not significant" if row["best"] else "significant" if rival["best"] else "not tested"
    tested = {row["method"]: rival, rival["method"]: row}.get(record.get("baseline", ""))
    if tested is None or "test" not in tested.get("p", {}):
        return "not tested"
    return "significant" if tested["p"]["test"] < _LEVEL else "not significant"
