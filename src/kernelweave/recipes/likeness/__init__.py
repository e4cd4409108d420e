"""Whether new samples look like those of the training: `CohortSummary` of the latter, `NewCohort` against it."""

from .summary import CohortSummary, NewCohort

__all__ = ["CohortSummary", "NewCohort"]
