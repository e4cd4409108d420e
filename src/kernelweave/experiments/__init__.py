"""The papers' tables as runnable, resumable experiments.

An experiment is one short declaration in `tables`: a data set, kernels, methods, a grid of hyper-parameters, a protocol
and the paper's figures (`Experiment`), the same over several data sets (`Collection`), or the errors of any estimators
on several data sets (`Comparison`). `run_experiment` runs each fold by fold, writes every finished cell at once, and
summarises.
"""

from .collection import Collection, over_datasets
from .comparison import Comparison, Contender, Problem
from .comparison_report import error_table
from .comparison_run import ComparisonSummary
from .declaration import Experiment, Method, Paper, SurfaceSearch
from .registry import find_experiment, list_experiments
from .report import markdown, results_page, write_report
from .runner import run_experiment
from .summary import CollectionSummary, Row, Summary

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
    "Summary",
    "SurfaceSearch",
    "error_table",
    "find_experiment",
    "list_experiments",
    "markdown",
    "over_datasets",
    "results_page",
    "run_experiment",
    "write_report",
]
