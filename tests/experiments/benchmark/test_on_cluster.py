"""The benchmark on a Dask cluster, whose workers read the data and the entries themselves."""

from pathlib import Path

import pytest

pytest.importorskip("distributed")

from dask_cluster import client, time_limit  # noqa: F401
from experiments.benchmark import choose_data_sets, load_entry, run_benchmark
from experiments.benchmark.results import COLUMNS

pytestmark = pytest.mark.dask
EXAMPLE = Path(__file__).parents[3] / "docs" / "benchmark_entry.py"


def test_cells_are_those_of_this_process(client, tmp_path):  # noqa: F811
    sets, entries = choose_data_sets(["wdbc"]), [load_entry(EXAMPLE)]
    here = run_benchmark(sets, entries, output=tmp_path / "here", quick=True, splits=2).cells
    there = run_benchmark(sets, entries, output=tmp_path / "there", quick=True, splits=2, client=client).cells
    same = [name for name in COLUMNS if name not in ("seconds", "predict_seconds", "memory_mb")]
    assert len(here) == 2 and here[same].equals(there[same])
