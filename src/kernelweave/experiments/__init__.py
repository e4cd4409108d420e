"""Runnable, resumable comparisons of methods: the papers' tables, and the library's defaults against alternatives.

An experiment is one short declaration in `tables` or `defaults`: a data set, kernels, methods, a grid of
hyper-parameters, a protocol and the paper's figures (`Experiment`), the same over several data sets (`Collection`), or
the errors of any estimators on several data sets (`Comparison`), ranked where one of them is the default.
`run_experiment` runs each fold by fold, writes every finished cell at once, and summarises.
"""

from .engine.collection import Collection, over_datasets
from .engine.comparison import Comparison, Contender, Problem
from .engine.comparison_run import ComparisonSummary
from .engine.declaration import Experiment, Method, Paper, SurfaceSearch
from .engine.discovery import find_default, find_experiment, list_defaults, list_experiments
from .engine.results import CollectionSummary, Row, Summary
from .engine.runner import run_experiment
from .reports.error_tables import error_table
from .reports.standings import Standing, rank_table, score_table, standings
from .reports.writing import defaults_page, markdown, results_page, write_report

__all__ = [
    "Collection",
    "CollectionSummary",
    "Comparison",
    "ComparisonSummary",
    "Contender",
    "Experiment",
    "Method",
    "Paper",
    "Problem",
    "Row",
    "Standing",
    "Summary",
    "SurfaceSearch",
    "defaults_page",
    "error_table",
    "find_default",
    "find_experiment",
    "list_defaults",
    "list_experiments",
    "markdown",
    "over_datasets",
    "rank_table",
    "results_page",
    "run_experiment",
    "score_table",
    "standings",
    "write_report",
]
