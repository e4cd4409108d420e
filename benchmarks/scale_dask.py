"""Two Dask workers of one thread against one process of one thread: ``python -m benchmarks.scale_dask``.

    python -m benchmarks.scale_dask --samples 100000 --method mean localized
    python -m benchmarks.scale_dask --samples 1000000 --storage dense

The problem is that of `benchmarks.scale_cells`: six views, one Gaussian kernel of 256 features for each. The process
has X in memory. Workers make their chunks of it themselves, from the same generator, before the clock starts; the clock
covers the whole fit, from chunks to the fitted model. Each side has loaded its compiled code by a small fit before.
Beside the times stand the passes and the seconds of one (median), in which the overhead of a step on the cluster shows.
"""

from __future__ import annotations

import argparse
import os
import time

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # before NumPy is imported; workers inherit it

from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from benchmarks.scale_cells import FEATURES, problem  # noqa: E402

VIEWS, CHUNK, SMALL = 6, 50_000, 4000


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
    combiner = Mean() if method == "mean" else Localized()
    approximation = NystroemFeatures(n_components)
    return MKLClassifier(kernels, combiner, approximation=approximation, storage=storage, tol=tol, random_state=0)


class Passes:
    """The seconds of the passes of a fit."""

    def __init__(self, engine: type):
        self.engine, self.seconds = engine, []

    def __enter__(self) -> Passes:
        self.plain = plain = self.engine.sum
        seconds = self.seconds

        def timed(engine: Any, function: Any, *arguments: Any) -> Any:
            begun = time.perf_counter()
            found = plain(engine, function, *arguments)
            if getattr(function, "__name__", "") == "sweep":
                seconds.append(time.perf_counter() - begun)
            return found

        self.engine.sum = timed
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.sum = self.plain


def timed(estimator: Any, X: Any, y: Any, engine: type) -> tuple[float, Any, list[float]]:
    """Seconds of a fit, the fitted model, and the seconds of its passes."""
    with Passes(engine) as passes:
        begun = time.perf_counter()
        estimator.fit(X, y)
        return time.perf_counter() - begun, estimator, passes.seconds


def main() -> None:
    """Time both sides and print a table."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from kernelweave.engines import InMemory
    from kernelweave.engines.cluster import OnDask

    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--samples", type=int, nargs="+", default=[100_000])
    parser.add_argument("--method", choices=["mean", "localized"], nargs="+", default=["mean"])
    parser.add_argument("--components", type=int, default=256)
    parser.add_argument("--storage", choices=["auto", "dense", "lazy"], default="auto")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    print("| method | n | one process s | workers s | ratio | passes | s a pass | on workers | objective differs by |")
    print("|---|---|---|---|---|---|---|---|---|")
    for method in chosen.method:
        settings = method, chosen.components, chosen.storage, chosen.tol
        for n in chosen.samples:
            sizes = [min(CHUNK, n - first) for first in range(0, n, CHUNK)]
            parts = [chunk(number, size) for number, size in enumerate(sizes)]
            whole = np.concatenate(parts)
            del parts
            model(*settings).fit(whole[:SMALL, :-1], whole[:SMALL, -1])
            alone, one, passes = timed(model(*settings), whole[:, :-1], whole[:, -1], InMemory)
            del whole
            options = {"threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
            with LocalCluster(n_workers=chosen.workers, **options) as cluster, Client(cluster):
                lazy = [
                    da.from_delayed(dask.delayed(chunk)(number, size), (size, VIEWS * FEATURES + 1), float)
                    for number, size in enumerate(sizes)
                ]
                table = da.concatenate(lazy).persist()
                wait(table)
                small = da.from_array(np.asarray(table[:SMALL]), chunks=(SMALL // chosen.workers, -1))
                model(*settings).fit(small[:, :-1], small[:, -1])
                spread, two, others = timed(model(*settings), table[:, :-1], table[:, -1], OnDask)
            differs = abs(two.objective_ / one.objective_ - 1.0)
            print(
                f"| {method} | {n} | {alone:.1f} | {spread:.1f} | {alone / spread:.2f} | {len(passes)}, {len(others)} "
                f"| {np.median(passes):.3f} | {np.median(others):.3f} | {differs:.0e} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
