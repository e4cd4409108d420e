"""The multi-view benchmark: fixed splits, masks of missing views, one budget for every method, published results.

``python -m experiments benchmark`` runs it; `load_cells` reads what a run has finished as one table, `save_results` and
`read_results` write and read the compact file of such a table, and `write_benchmark_page` writes its page. Others enter
a method with one file, see `entries` and docs/benchmark_enter.md.
"""

from experiments.benchmark.data_sets import DATA_SETS, DataSet, choose_data_sets
from experiments.benchmark.entries import Entry, choose_methods, list_methods, load_entry
from experiments.benchmark.page.writing import write_benchmark_page
from experiments.benchmark.results import read_results, save_results, standings
from experiments.benchmark.run import BenchmarkOutcome, load_cells, run_benchmark

__all__ = [
    "DATA_SETS",
    "BenchmarkOutcome",
    "DataSet",
    "Entry",
    "choose_data_sets",
    "choose_methods",
    "list_methods",
    "load_cells",
    "load_entry",
    "read_results",
    "run_benchmark",
    "save_results",
    "standings",
    "write_benchmark_page",
]
