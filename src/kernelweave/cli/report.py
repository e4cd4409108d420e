"""``kernelweave report``: draw report.html and report.md again from report.json, which holds all that they show."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..reporting.page import Report
from .messages import say

NAMES = ("report.html", "report.md")


def run(chosen: argparse.Namespace) -> int:
    source = chosen.results / "report.json" if chosen.results.is_dir() else chosen.results
    report = Report.load(source)
    folder: Path = source.parent if chosen.out is None else chosen.out
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        report.save(folder / name)
    say([f"Report: {folder / NAMES[0]}"])
    return 0
