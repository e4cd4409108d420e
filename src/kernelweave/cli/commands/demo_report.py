"""The report of ``kernelweave demo``: the table of methods, and what one localized model tells about its views."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from joblib import parallel_config
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from ...datasets import load_multifeat
from ...estimators import MKLClassifier
from ...kernels import Linear
from ...reporting import report
from ...reporting.content import Cell, Column, Dot, Dots, Section, Table

if TYPE_CHECKING:
    from .demo import DemoRow

SHOWN = "localized, sigmoid"  # the method whose model is reported on
_STEP = 4  # every fourth sample, for a report in seconds


def write_demo_report(rows: Sequence[DemoRow], output: Path, *, random_state: int = 0) -> None:
    """Fit the method `SHOWN` with the C that the demo chose, and save a report on it.

    Parameters
    ----------
    rows : sequence of DemoRow
    output : Path
        The page.
    random_state : int
        Seed of the folds.
    """
    digits = load_multifeat(target="small-vs-large")
    X, y = digits.data.iloc[::_STEP], np.array(digits.target_names)[digits.target[::_STEP]]
    X.index = [
        f"a {digit}, no. {number}" for number, digit in zip(X.index, load_multifeat().target[::_STEP], strict=True)
    ]
    shown = next(row for row in rows if row.method.name == SHOWN)
    combiner = shown.method.make(shown.C).combiner
    kernels = [Linear(view, transformer=StandardScaler()) for view in digits.view_names]
    model = MKLClassifier(kernels, combiner, C=shown.C, random_state=random_state).fit(X, y)
    folds = StratifiedKFold(3, shuffle=True, random_state=random_state)
    with parallel_config(backend="threading"):  # other processes would import everything for a few seconds of work
        page = report(
            model,
            X,
            y,
            cv=folds,
            comparison=(_headline(rows, shown, len(X)), _methods(rows)),
            title="Small digits against large ones, from six views",
            n_jobs=-1,
            random_state=random_state,
        )
    page.save(output)


def _headline(rows: Sequence[DemoRow], shown: DemoRow, n_samples: int) -> list[str]:
    best = max(rows, key=lambda row: row.accuracy.mean())
    single = max((row for row in rows if row.method.is_single), key=lambda row: row.accuracy.mean())
    return [
        f"{_capital(best.method.name)} is right for {best.accuracy.mean():.1f} % of new digits.",
        f"The best view alone ({single.method.name}) reaches {single.accuracy.mean():.1f} %. The sections below the "
        f"table are about {shown.method.name}, fitted to {n_samples} of the digits.",
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _methods(rows: Sequence[DemoRow]) -> Section:
    """The table of the demo, and its picture."""
    ranked = sorted(rows, key=lambda row: -row.accuracy.mean())
    columns = [
        Column("method"),
        Column("C", "number", "chosen by cross-validation, but for the two slowest methods, which have one C"),
        Column("accuracy", "percent", "mean over ten machines, on a third of the samples that no machine has seen"),
        Column("spread", "percent", "standard deviation over the ten machines"),
        Column("paper", "percent", "Gönen's thesis (2010), Table 5.16; for projections SLDR (2010), Table 2"),
        Column("stored samples", "percent", "share of the training samples that the machine needs for predictions"),
    ]
    cells: list[list[Cell]] = []
    dots = []
    for row in ranked:
        mean, spread = row.accuracy.mean() / 100.0, row.accuracy.std(ddof=1) / 100.0
        paper = None if row.method.paper is None else row.method.paper[0] / 100.0
        cells.append([row.method.name, row.C, mean, spread, paper, row.support.mean() / 100.0])
        dots.append(Dot(row.method.name, mean, mean - spread, mean + spread, "kernelweave"))
        if paper is not None:
            dots.append(Dot(row.method.name, paper, series="papers"))
    chart = Dots(
        title="Accuracy of each method",
        description="Mean over ten machines and one standard deviation to either side; beside it the papers' figures.",
        axis="accuracy",
        dots=dots,
        kind="percent",
    )
    table = Table(title="Methods", columns=columns, rows=cells, marked=[0])
    return Section(id="methods", title="Seventeen ways to use six views", blocks=[table, chart])
