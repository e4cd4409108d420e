"""Times to an event: outcomes, some of them censored."""

from .outcome import check_for_fit, outcome, times_and_events

__all__ = [
    "check_for_fit",
    "outcome",
    "times_and_events",
]
