"""Runnable, resumable comparisons of methods: the papers' tables, and the library's defaults against alternatives.

The thesis is M. Gönen's PhD thesis (Boğaziçi University, 2010); SLDR, SKFE and MKL-DR are papers whose tables
are in `tables`.

An experiment is one short declaration in `tables` or `defaults`: a data set, kernels, methods, a grid of
hyper-parameters, a protocol and the paper's figures (`Experiment`), the same over several data sets (`Collection`), or
the errors of any estimators on several data sets (`Comparison`), ranked where one of them is the default.
`run_experiment` runs each fold by fold, writes every finished cell at once, and gathers the outcome.
"""

from .engine.claim import Claim
from .engine.collection import Collection, over_datasets
from .engine.comparison import Comparison, Contender, Problem
from .engine.comparison_run import ComparisonOutcome
from .engine.declaration import Experiment, Method, Paper, SurfaceSearch
from .engine.discovery import find_default, find_experiment, list_defaults, list_experiments
from .engine.outcome import CollectionOutcome, Outcome, Row
from .engine.runner import run_experiment
from .reports.error_tables import error_table
from .reports.standings import Standing, rank_table, score_table, standings
from .reports.writing import markdown, write_page, write_report

__all__ = [
    "Claim",
    "Collection",
    "CollectionOutcome",
    "Comparison",
    "ComparisonOutcome",
    "Contender",
    "Experiment",
    "Method",
    "Outcome",
    "Paper",
    "Problem",
    "Row",
    "Standing",
    "SurfaceSearch",
    "error_table",
    "find_default",
    "find_experiment",
    "list_defaults",
    "list_experiments",
    "markdown",
    "over_datasets",
    "rank_table",
    "run_experiment",
    "score_table",
    "standings",
    "write_page",
    "write_report",
]
