"""``kernelweave explain``: which views, kernels and columns decided about new samples."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from ..recipes import CohortModel
from ..reporting import report
from ..reporting.page import Report
from .explaining import TABLES, deciding_views, explaining_tables
from .new_samples import load_model, read_new_samples
from .telling import counted_samples, listed, say, working, write_table

REPORTS = ("report.json", "report.html", "report.md")


def run(chosen: argparse.Namespace) -> int:
    """Explain the predictions of new samples, write tables and report, and print which views decided.

    Parameters
    ----------
    chosen : Namespace
        The options of `explain`, as `options.parse` returns them.
    """
    model = load_model(chosen.model)
    X = read_new_samples(chosen, model)
    with working("explaining"):
        tables = explaining_tables(model, X)
        page = _report(model, X)
    out: Path = chosen.out
    out.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        if name in tables:
            write_table(out / name, tables[name])
        else:
            (out / name).unlink(missing_ok=True)  # of an earlier call with another model
    for name in REPORTS:
        page.save(out / name)
    counts = deciding_views(model, tables["contributions.csv"])
    views = listed([f"{view} ({counted_samples(count)})" for view, count in counts.items()])
    say(
        [
            f"Explained the predictions of {len(X)} samples by {model.method}.",
            f"Most was added to the decision by {views}.",
            f"Written to {out}: {', '.join([*tables, *REPORTS])}",
            f"Report: {out / 'report.html'}",
        ]
    )
    return 0


def _report(model: CohortModel, X: pd.DataFrame) -> Report:
    """The report of the model on the samples that have a view that it needs."""
    decided = model.has_needed_views(X)
    rows = [("samples", f"{len(X)} new samples")]
    if not decided.all():
        lacking = counted_samples(int((~decided).sum()))
        rows.append(("left out", f"{lacking} without any view that the method needs"))
    return report(model, X[decided], data=rows)
