"""``kernelweave explain``: which views, kernels and columns decided about new samples."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..reporting import report
from .explaining import deciding_views, explaining_tables
from .new_samples import load_model, read_new_samples
from .telling import listed, say, working, write_table

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
        page = report(model, X)
    out: Path = chosen.out
    out.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        write_table(out / name, table)
    for name in REPORTS:
        page.save(out / name)
    counts = deciding_views(model, tables["contributions.csv"])
    say(
        [
            f"Explained the predictions of {len(X)} samples by {model.method}.",
            "Largest part of the decision: "
            + listed([f"{view} {count} times" for view, count in counts.items()])
            + ".",
            f"Written to {out}: {', '.join([*tables, *REPORTS])}",
            f"Report: {out / 'report.html'}",
        ]
    )
    return 0
