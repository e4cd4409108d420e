"""Times to an event, of which some are censored: outcomes, curves of survival and hazard, metrics."""

from .curves import Curve, SurvivalCurve, breslow, censoring_curve, kaplan_meier, logrank_statistic, permutation_p
from .metrics import brier_scores, concordance, dynamic_auc, integrated_brier_score, uno_concordance
from .outcome import check_for_fit, outcome, times_and_events

__all__ = [
    "Curve",
    "SurvivalCurve",
    "breslow",
    "brier_scores",
    "censoring_curve",
    "check_for_fit",
    "concordance",
    "dynamic_auc",
    "integrated_brier_score",
    "kaplan_meier",
    "logrank_statistic",
    "outcome",
    "permutation_p",
    "times_and_events",
    "uno_concordance",
]
