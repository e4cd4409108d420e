"""Compare estimators on data sets by a protocol of splits; finished cells are stored, so that a run can be resumed.

A `Comparison` declares the data sets (`Problem`), the estimators (`Contender`) and the protocol, and `run_comparison`
runs it. ``kernelweave compare`` is such a comparison of all methods of `recipes` on the files of a call, with nested
cross-validation, and says which of them to use.
"""

from .comparison import Comparison, Contender, Problem
from .run import ComparisonOutcome, run_comparison

__all__ = ["Comparison", "ComparisonOutcome", "Contender", "Problem", "run_comparison"]
