"""Two Dask workers of one thread against one process of one thread: ``python -m benchmarks.scale_dask``.

    python -m benchmarks.scale_dask --samples 100000 --method mean localized
    python -m benchmarks.scale_dask --samples 1000000 --storage dense --method mean localized
    python -m benchmarks.scale --explicit 256 --workers 2 --samples 1000000 --method mean localized

The last keeps the results, see `benchmarks.scale`, which runs this module with a cell as its only argument.

The problem is that of `benchmarks.scale_cells`: six views, one Gaussian kernel of 256 features for each. The process
has X in memory. Workers make their chunks of it themselves, from the same generator, before the clock starts; the clock
covers the whole fit, from chunks to the fitted model. Each side has loaded its compiled code by a small fit before.
Beside the times stand the passes of each side and the seconds of one (median), in which the overhead of a step on the
cluster shows. A second table has the seconds of each part of a fit (`Parts`), and what part of a fit by one process the
workers do not share: by Amdahl's law, no number of workers is faster than its inverse. Gates have a fixed penalty, so
that both sides make the same passes but for rounding.

    python -m benchmarks.scale_dask --page docs/dask.md

runs nothing and writes the second table of each kept cell into the page.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # before NumPy is imported; workers inherit it

from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from benchmarks.scale_cells import FEATURES, GAP, machine_of, problem  # noqa: E402
from benchmarks.scale_page import BEFORE_VERSIONS  # noqa: E402

KEPT = Path(__file__).parents[1] / "docs" / "scale.json"
VIEWS, CHUNK, SMALL = 6, 50_000, 4000
WITH_BOTH = (("passes", "d"), ("pass_seconds", ".3f"))  # shown for both sides
ALONE = "landmarks", "the rest"  # parts that workers do not share
BEGIN, END = "<!-- parts -->\n", "<!-- /parts -->"


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


PARTS = ("counts and reservoir", "landmarks", "features", "passes", "other sums", "the rest")


class Parts:
    """The seconds of the parts of a fit, and of each pass.

    Blocks are made when a sum first needs them on a cluster, so that the sum after features were asked for belongs to
    these. Landmarks are fitted between the reservoir and that; the rest is what the optimiser and the client do beside
    sums.
    """

    def __init__(self, engine: type):
        self.engine, self.passes = engine, []
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.first = self.last = 0.0  # when the first pass began, and the last sum ended
        self.makes_features = False

    def __enter__(self) -> Parts:
        self.sum, self.replace = plain, made = self.engine.sum, self.engine.replace
        self.begun = time.perf_counter()

        def timed_sum(engine: Any, function: Any, *arguments: Any) -> Any:
            begun = time.perf_counter()
            found = plain(engine, function, *arguments)
            self._note(getattr(function, "__name__", ""), begun)
            return found

        def timed_replace(engine: Any, function: Any, *arguments: Any, **options: Any) -> Any:
            begun = time.perf_counter()
            found = made(engine, function, *arguments, **options)
            if type(function).__name__ == "Preparation":
                self.seconds["landmarks"] = begun - self.last
                self.seconds["features"] += time.perf_counter() - begun
                self.makes_features = True
            else:
                self.seconds["other sums"] += time.perf_counter() - begun
            return found

        self.engine.sum, self.engine.replace = timed_sum, timed_replace
        return self

    def _note(self, name: str, begun: float) -> None:
        self.last = time.perf_counter()
        part = "other sums"
        if name.startswith("count_") or name == "reservoir_of":
            part = "counts and reservoir"
        elif self.makes_features:
            part, self.makes_features = "features", False
        elif name == "sweep":
            part, self.first = "passes", self.first or begun
            self.passes.append(self.last - begun)
        self.seconds[part] += self.last - begun

    def __exit__(self, *_: object) -> None:
        self.engine.sum, self.engine.replace = self.sum, self.replace
        self.seconds["the rest"] = time.perf_counter() - self.begun - sum(self.seconds.values())


def timed(estimator: Any, X: Any, y: Any, engine: type) -> dict[str, Any]:
    """Fit twice; of the faster fit its seconds, those of its parts, passes, seconds of one and before the first.

    The first touches memory that a virtual machine may have to be given by its host, which takes seconds a gigabyte.
    """
    return min((_timed(estimator, X, y, engine) for _ in range(2)), key=lambda found: found["seconds"])


def _timed(estimator: Any, X: Any, y: Any, engine: type) -> dict[str, Any]:
    with Parts(engine) as parts:
        begun = time.perf_counter()
        estimator.fit(X, y)
        seconds = time.perf_counter() - begun
    return {
        "seconds": seconds,
        "passes": len(parts.passes),
        "pass_seconds": float(np.median(parts.passes)),
        "before": parts.first - begun,
        "parts": parts.seconds,
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


def parts_table(cell: dict[str, Any]) -> str:
    """The parts of both fits of a cell in Markdown, and what the workers do not share."""
    one, two, workers = cell["alone"]["parts"], cell["parts"], cell["workers"]
    lines = [f"| part | one process s | {workers} workers s | times |", "|---|---|---|---|"]
    for name in (*(name for name in PARTS if name in one), "all"):
        left, right = (sum(each.values()) if name == "all" else each[name] for each in (one, two))
        lines.append(f"| {name} | {left:.2f} | {right:.2f} | {left / max(right, 1e-9):.2f} |")
    alone = sum(one.get(name, 0.0) for name in ALONE)
    share = alone / sum(one.values())
    ideal = 1.0 / (share + (1.0 - share) / workers)
    lines += [
        "",
        f"{' and '.join(ALONE).capitalize()} are {alone:.2f} s of one process, {share:.1%}, which more workers do not "
        f"make shorter: without any other loss {workers} workers would be {ideal:.2f} times as fast.",
    ]
    return "\n".join(lines)


def write_page(cells: list[dict[str, Any]], page: Path) -> None:
    """Write the parts of kept cells between the markers of a page."""
    before, rest = page.read_text().split(BEGIN, 1)
    _, after = rest.split(END, 1)
    found = []
    for cell in sorted(cells, key=lambda cell: cell["samples"]):
        if cell.get("workers") and "parts" in cell:
            n = f"{cell['samples']:,}".replace(",", " ")
            what = f"`{cell['method'].capitalize()}`, {n} samples, {cell['kernels']} x {cell['components']} features"
            version = cell.get("version", BEFORE_VERSIONS)
            found.append(f"{what}, on {cell['machine']}, measured with {version}:\n\n{parts_table(cell)}\n")
    page.write_text(f"{before}{BEGIN}\n" + "\n".join(found) + f"\n{END}{after}")


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
    parser.add_argument("--page", type=Path, help="write the parts of kept cells into a page, and run nothing")
    chosen = parser.parse_args()
    if chosen.page is not None:
        write_page(json.loads(KEPT.read_text()), chosen.page)
        return
    headings = ["method", "n", "one process s", "workers s", "ratio", "passes", "s a pass"]
    print("|", " | ".join([*headings, "objective differs by"]), "|")
    print("|---" * (len(headings) + 1) + "|")
    found = []
    for method in chosen.method:
        for n in chosen.samples:
            cell = {"method": method, "samples": n, "components": chosen.components, "storage": chosen.storage}
            two = measured({**cell, "tol": chosen.tol, "workers": chosen.workers})
            one = two["alone"]
            pairs = [f"{one[k]:{form}}, {two[k]:{form}}" for k, form in WITH_BOTH]
            differs = f"{abs(two['objective'] / one['objective'] - 1.0):.0e}"
            times = [f"{one['seconds']:.1f}", f"{two['seconds']:.1f}", f"{two['speedup']:.2f}"]
            print("|", " | ".join([method, str(n), *times, *pairs, differs]), "|", flush=True)
            found.append(f"{method}, n = {n}\n\n{parts_table(two | {'workers': chosen.workers})}")
    print("", *found, sep="\n\n")


if __name__ == "__main__":
    main()
