"""Two Dask workers of one thread against one process of one thread: ``python -m benchmarks.scale_dask``.

    python -m benchmarks.scale_dask --samples 100000 --method mean localized
    python -m benchmarks.scale_dask --samples 1000000 --storage dense --method mean localized
    python -m benchmarks.scale --explicit 256 --workers 2 --samples 1000000 --method mean localized

The last keeps the results, see `benchmarks.scale`, which runs this module with a cell as its only argument.

The problem is that of `benchmarks.scale_cells`: six views, one Gaussian kernel of 256 features for each. The process
has X in memory. Workers make their chunks of it themselves, from the same generator, before the clock starts; the clock
covers the whole fit, from chunks to the fitted model. Each side has loaded its compiled code by a small fit before.
Beside the times stand the passes of each side, the seconds of one (median), in which the overhead of a step on the
cluster shows, and the seconds before the first, for landmarks and features. Gates have a fixed penalty, so that both
sides make the same passes but for rounding.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # before NumPy is imported; workers inherit it

from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from benchmarks.scale_cells import FEATURES, GAP, machine_of, problem  # noqa: E402

VIEWS, CHUNK, SMALL = 6, 50_000, 4000
WITH_BOTH = (("passes", "d"), ("pass_seconds", ".3f"), ("before", ".1f"))  # shown for both sides


def chunk(number: int, n: int) -> np.ndarray:
    """Samples of one chunk, with their target in the last column."""
    X, y = problem(n, VIEWS, number)
    return np.column_stack([X, y])


def model(method: str, n_components: int, storage: str, tol: float) -> Any:
    """The estimator of both sides."""
    from kernelweave import MKLClassifier
    from kernelweave.combiners import Localized, Mean
    from kernelweave.features import NystroemFeatures
    from kernelweave.kernels import Gaussian

    kernels = [Gaussian(list(range(v * FEATURES, (v + 1) * FEATURES)), scale=FEATURES**0.5) for v in range(VIEWS)]
    combiner = {"mean": Mean(), "localized": Localized(l2=0.01)}[method]
    approximation = NystroemFeatures(n_components)
    return MKLClassifier(kernels, combiner, approximation=approximation, storage=storage, tol=tol, random_state=0)


class Passes:
    """The seconds of the passes of a fit, and when the first began."""

    def __init__(self, engine: type):
        self.engine, self.seconds = engine, []
        self.first = 0.0

    def __enter__(self) -> Passes:
        self.plain = plain = self.engine.sum

        def timed(engine: Any, function: Any, *arguments: Any) -> Any:
            begun = time.perf_counter()
            found = plain(engine, function, *arguments)
            if getattr(function, "__name__", "") == "sweep":
                self.first = self.first or begun
                self.seconds.append(time.perf_counter() - begun)
            return found

        self.engine.sum = timed
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.sum = self.plain


def timed(estimator: Any, X: Any, y: Any, engine: type) -> dict[str, Any]:
    """Fit twice; of the faster fit its seconds, passes, seconds of one and before the first.

    The first touches memory that a virtual machine may have to be given by its host, which takes seconds a gigabyte.
    """
    return min((_timed(estimator, X, y, engine) for _ in range(2)), key=lambda found: found["seconds"])


def _timed(estimator: Any, X: Any, y: Any, engine: type) -> dict[str, Any]:
    with Passes(engine) as passes:
        begun = time.perf_counter()
        estimator.fit(X, y)
        seconds = time.perf_counter() - begun
    return {
        "seconds": seconds,
        "passes": len(passes.seconds),
        "pass_seconds": float(np.median(passes.seconds)),
        "before": passes.first - begun,
        "objective": estimator.objective_,
        "gap": estimator.duality_gap_ / max(1.0, abs(estimator.objective_)),
    }


def alone(settings: tuple, sizes: list[int]) -> dict[str, Any]:
    """One process, with all samples in memory."""
    from kernelweave.engines import InMemory

    whole = np.empty((sum(sizes), VIEWS * FEATURES + 1))
    first = 0
    for number, size in enumerate(sizes):
        whole[first : first + size] = chunk(number, size)
        first += size
    model(*settings).fit(whole[:SMALL, :-1], whole[:SMALL, -1])
    return timed(model(*settings), whole[:, :-1], whole[:, -1], InMemory)


def spread(settings: tuple, sizes: list[int], workers: int) -> dict[str, Any]:
    """Workers of one thread each, which make the samples."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from kernelweave.engines.dask import OnDask

    options = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster):
        lazy = [
            da.from_delayed(dask.delayed(chunk)(number, size), (size, VIEWS * FEATURES + 1), float)
            for number, size in enumerate(sizes)
        ]
        table = da.concatenate(lazy).persist()
        wait(table)
        small = da.from_array(np.asarray(table[:SMALL]), chunks=(SMALL // workers, -1))
        model(*settings).fit(small[:, :-1], small[:, -1])
        return timed(model(*settings), table[:, :-1], table[:, -1], OnDask)


def measured(cell: dict[str, Any]) -> dict[str, Any]:
    """Both sides of a cell of `benchmarks.scale`: the columns of the workers, and "alone" with those of one process."""
    settings = cell["method"], cell["components"], cell["storage"], cell.get("tol", GAP)
    sizes = [min(CHUNK, cell["samples"] - first) for first in range(0, cell["samples"], CHUNK)]
    one = alone(settings, sizes)
    two = spread(settings, sizes, cell["workers"])
    return {**two, "alone": one, "alone_seconds": one["seconds"], "speedup": one["seconds"] / two["seconds"]}


def main() -> None:
    """Time both sides and print a table, or the result of one cell."""
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        cell = json.loads(sys.argv[1])
        print(json.dumps({**cell, **measured(cell), "machine": machine_of("cpu")}))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--samples", type=int, nargs="+", default=[100_000])
    parser.add_argument("--method", choices=["mean", "localized"], nargs="+", default=["mean"])
    parser.add_argument("--components", type=int, default=256)
    parser.add_argument("--storage", choices=["auto", "dense", "lazy"], default="auto")
    parser.add_argument("--tol", type=float, default=GAP)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    headings = ["method", "n", "one process s", "workers s", "ratio", "passes", "s a pass", "s before passes"]
    print("|", " | ".join([*headings, "objective differs by"]), "|")
    print("|---" * (len(headings) + 1) + "|")
    for method in chosen.method:
        for n in chosen.samples:
            cell = {"method": method, "samples": n, "components": chosen.components, "storage": chosen.storage}
            two = measured({**cell, "tol": chosen.tol, "workers": chosen.workers})
            one = two["alone"]
            pairs = [f"{one[k]:{form}}, {two[k]:{form}}" for k, form in WITH_BOTH]
            differs = f"{abs(two['objective'] / one['objective'] - 1.0):.0e}"
            times = [f"{one['seconds']:.1f}", f"{two['seconds']:.1f}", f"{two['speedup']:.2f}"]
            print("|", " | ".join([method, str(n), *times, *pairs, differs]), "|", flush=True)


if __name__ == "__main__":
    main()
