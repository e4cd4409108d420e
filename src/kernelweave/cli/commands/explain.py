"""``kernelweave explain``: which views, kernels and columns decided about new samples."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..._warnings import warn
from ...reporting import report
from ...reporting.page import Report
from ..new.explaining import TABLES, deciding_views, explaining_tables
from ..new.predicting import decided
from ..new.reading import NAMED, NewSamples, load_model, without_prediction
from ..telling import counted_samples, listed, say, working, write_table

REPORTS = ("report.json", "report.html", "report.md")


def run(chosen: argparse.Namespace) -> int:
    """Explain the predictions of new samples, write tables and report, and print which views decided.

    Parameters
    ----------
    chosen : Namespace
        The options of `explain`, as `options.parse` returns them.
    """
    model = load_model(chosen)
    samples = NewSamples(chosen, model)
    X = samples.whole()
    able = decided(model, X)
    with working("explaining"):
        tables = explaining_tables(model, X)
        page = _report(model, X, able)
    out: Path = chosen.out
    out.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        if name in tables:
            write_table(out / name, tables[name])
        else:
            (out / name).unlink(missing_ok=True)  # of an earlier call with another model
    for name in REPORTS:
        page.save(out / name)
    if not able.all():
        warn(without_prediction(list(X.index[~able][:NAMED]), int((~able).sum()), samples.wanted))
    counts = deciding_views(model, tables["contributions.csv"])
    views = listed([f"{view} ({counted_samples(count)})" for view, count in counts.items()])
    name = getattr(model, "method", type(model).__name__)
    say(
        [
            *samples.notes,
            f"Explained the predictions of {counted_samples(int(able.sum()))} by {name}.",
            f"Most was added to the decision by {views}.",
            f"Written to {out}: {', '.join([*tables, *REPORTS])}",
            f"Report: {out / 'report.html'}",
        ]
    )
    return 0


def _report(model: Any, X: pd.DataFrame, able: np.ndarray) -> Report:
    """The report of the model on the samples that have a view that it needs."""
    rows = [("samples", f"{len(X)} new samples")]
    if not able.all():
        lacking = counted_samples(int((~able).sum()))
        rows.append(("left out", f"{lacking} without any view that the model needs"))
    return report(model, X[able], data=rows)
