"""Runnable, resumable comparisons of methods: the papers' tables, and the library's defaults against alternatives.

The thesis is M. Gönen's PhD thesis (Boğaziçi University, 2010); SLDR, SKFE and MKL-DR are papers whose tables
are in `tables`.

An experiment is one short declaration in `tables` or `defaults`: a data set, kernels, methods, a grid of
hyper-parameters, a protocol and the paper's figures (`Experiment`), the same over several data sets (`Collection`), or
the errors of any estimators on several data sets (`kernelweave.compare.Comparison`), ranked where one of them is the
default.
`run_experiment` runs each fold by fold, writes every finished cell at once, and gathers the outcome.
"""

from experiments.declaration import Claim, Collection, Experiment, Method, Paper, SurfaceSearch, over_datasets
from experiments.discovery import find_default, find_experiment, list_defaults, list_experiments
from experiments.outcome import CollectionOutcome, Outcome, Row
from experiments.reports.comparisons import Standing, error_table, rank_table, score_table, standings
from experiments.reports.writing import markdown, write_page, write_report
from experiments.runner import run_experiment

__all__ = [
    "Claim",
    "Collection",
    "CollectionOutcome",
    "Experiment",
    "Method",
    "Outcome",
    "Paper",
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
