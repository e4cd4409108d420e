"""Seconds for each test file at the end of a run: the slowest ten, and by name every file that takes over 20 s."""

from __future__ import annotations

from collections import Counter

import pytest

LIMIT = 20.0
SHOWN = 10


class Durations:
    """Adds up the reports of all workers, setup and teardown included."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a report of one phase of one test."""
        self.seconds[report.nodeid.split("::")[0]] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table, when more than one file was run."""
        if len(self.seconds) < 2:
            return
        terminalreporter.section("seconds for each file, the slowest")
        for place, (file, seconds) in enumerate(self.seconds.most_common()):
            if place < SHOWN or seconds > LIMIT:
                terminalreporter.write_line(f"{seconds:7.1f}  {file}{'  OVER 20 s' if seconds > LIMIT else ''}")


def pytest_configure(config: pytest.Config) -> None:
    """Count in the process that prints, not in xdist's workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(), "durations by file")
