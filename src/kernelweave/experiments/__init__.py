"""The papers' tables as runnable, resumable experiments.

An experiment is one short declaration in `tables`: a data set, kernels, methods, a grid of hyper-parameters, a protocol
and the paper's figures. `run_experiment` runs it fold by fold, writes every finished cell at once, and summarises.
"""

from .declaration import Experiment, Method, Paper
from .registry import find_experiment, list_experiments
from .report import markdown, results_page, write_report
from .runner import run_experiment
from .summary import Row, Summary

__all__ = [
    "Experiment",
    "Method",
    "Paper",
    "Row",
    "Summary",
    "find_experiment",
    "list_experiments",
    "markdown",
    "results_page",
    "run_experiment",
    "write_report",
]
