"""Recipes: from a table of any columns to a fitted, calibrated model, by the name of a method.

A *recipe* is everything between a file and a prediction that people would otherwise decide by hand: what each column
holds (`column_kinds`), how each view is prepared, which kernels it gets, which settings a method tries, how decision
values become probabilities. `CohortModel` follows it; `method_names` lists the methods.
"""

from .cohort import CohortModel
from .kinds import column_kinds, guess_task
from .methods import SIMPLE, method_names, unavailable

__all__ = ["SIMPLE", "CohortModel", "column_kinds", "guess_task", "method_names", "unavailable"]
