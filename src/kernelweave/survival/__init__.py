"""Times to an event, of which some are censored: outcomes, and curves of survival and hazard."""

from .curves import Curve, SurvivalCurve, breslow, censoring_curve, kaplan_meier, logrank_statistic, permutation_p
from .outcome import check_for_fit, outcome, times_and_events

__all__ = [
    "Curve",
    "SurvivalCurve",
    "breslow",
    "censoring_curve",
    "check_for_fit",
    "kaplan_meier",
    "logrank_statistic",
    "outcome",
    "permutation_p",
    "times_and_events",
]
