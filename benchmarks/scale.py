"""Time, memory, gap, objective and accuracy against n, for each storage and device: ``python -m benchmarks.scale``.

    python -m benchmarks.scale --quick
    python -m benchmarks.scale --kernels 1 --samples 20000 50000 --rival libsvm onedal
    python -m benchmarks.scale --kernels 6 --samples 50000 --method mean convex localized --rival none
    python -m benchmarks.scale --device cuda --kernels 6 --samples 50000 200000 1000000 --predict 1000000
    python -m benchmarks.scale --explicit 256 --samples 20000 100000 1000000 --method localized --storage dense lazy
    python -m benchmarks.scale --explicit 256 --samples 1000000 --method localized --workers 2
    python -m benchmarks.scale --accuracy 512
    python -m benchmarks.scale --again cpu
    python -m benchmarks.scale --page docs/scale.md

Each cell runs in a process of its own, so that its peak memory is its own: resident memory on the host, and what torch
allocated on a device. Compiled code is loaded before the clock starts, on both sides. Beside the time stands its bound,
what forming the kernel values alone would take at the machine's measured rates (`benchmarks.scale_cells`, which also
defines the problem), and, with one kernel, a row for each rival, timed in the same run at the same tolerance. "gap"
stops at a relative duality gap of 1e-3, "kkt" at libsvm's tolerance of 1e-3, which rivals have. The gap of a rival is
computed afterwards, from its coefficients. With `--loss least-squares` the rivals are the kernel ridge regressions of
scikit-learn and himalaya, which factorise the whole matrix.

`--explicit N` runs cells with N explicit features of each of six kernels instead (`benchmarks.scale_explicit`), and
scikit-learn's `Nystroem` and `LinearSVC` as the rival; with `--workers W`, W Dask workers of one thread against one
process of one thread (`benchmarks.scale_dask`) and nothing else. `--accuracy N` compares their accuracy with that of
exact models on four problems of 8000 samples. Other cells of explicit features join by a function in `EXPLICIT`.

`--results` keeps cells in a JSON file (a cell of the same settings and machine is replaced; ``.csv`` beside it has the
same as a table). `--again cpu` measures all cells of the host in that file anew, and those of `WANTED` that are not in
it yet, the shortest first; cells of devices stay. Cells have the version of the library that they were measured with.
`--page` runs nothing: it writes the tables of these cells into a page, between its markers ``<!-- scale -->`` and
``<!-- /scale -->``, and the curves beside it, as a picture of the same name (`benchmarks.scale_page`).
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.scale_page import COLUMNS, draw, order, shown, texts, write_page
from kernelweave import __version__

RESULTS = Path(__file__).parents[1] / "docs" / "scale.json"
MOST_DENSE = 20_000  # samples up to which both storages are measured, where none is chosen
MOST_OF_RIDGE = 20_000  # samples of which kernel ridge regression of rivals is timed
START = 6.0  # seconds that a cell takes beside its fit, about
MOST_OF_RIVAL = 200_000  # samples: scikit-learn holds features in float64, and copies them
SETTINGS = (
    *("solver", "method", "kernels", "samples", "C", "stop", "storage", "device", "machine"),
    *("components", "problem", "workers", "loss", "classes"),
)
DASK = {"kernels": 6, "components": 256, "storage": "dense", "workers": 2}
#: What `benchmarks.scale_plan` reads beside the cells of the page: exact and explicit ones of other n and P, with about
#: how many seconds they take.
WANTED = (
    (1, {"kernels": 6, "samples": 4000, "storage": "dense", "method": "mean", "stop": "kkt"}),
    (1, {"kernels": 20, "samples": 3000, "storage": "dense", "method": "mean", "stop": "kkt"}),
    (2, {"kernels": 6, "samples": 10_000, "storage": "lazy", "method": "mean", "stop": "kkt"}),
    (20, {"kernels": 20, "samples": 20_000, "storage": "lazy", "method": "mean", "stop": "kkt"}),
    (5, {"kernels": 6, "samples": 5000, "storage": "lazy", "method": "localized", "stop": "kkt"}),
    (95, {"kernels": 6, "samples": 30_000, "storage": "lazy", "method": "localized", "stop": "kkt"}),
    (5, {"kernels": 6, "samples": 20_000, "storage": "dense", "method": "localized", "components": 256}),
    (10, {"kernels": 6, "samples": 20_000, "storage": "lazy", "method": "localized", "components": 256}),
    (10, {"kernels": 6, "samples": 100_000, "storage": "dense", "method": "mean", "components": 256}),
    (30, {"kernels": 6, "samples": 100_000, "storage": "lazy", "method": "mean", "components": 256}),
    (20, {"kernels": 1, "samples": 1_000_000, "storage": "dense", "method": "mean", "components": 256}),
    (30, {"kernels": 20, "samples": 50_000, "storage": "dense", "method": "localized", "components": 256}),
    (80, {"kernels": 6, "samples": 1_000_000, "storage": "dense", "method": "mean", "components": 256}),
    (45, {**DASK, "samples": 200_000, "method": "localized"}),
    (120, {**DASK, "samples": 1_000_000, "method": "mean"}),
)


def cells(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The cells of a run: for each problem our storages and ways to stop, then the rivals."""
    for P, n, C in itertools.product(given.kernels, given.samples, given.C):
        problem = {"kernels": P, "samples": n, "C": C, "device": given.device, "predict": given.predict}
        if given.loss != "svm":
            problem |= {"loss": given.loss, "classes": given.classes}
        storages = given.storage or (["dense", "lazy"] if given.device == "cpu" and n <= MOST_DENSE else ["lazy"])
        for method, storage in itertools.product(given.method, storages):
            for stop in given.stop if method == "mean" else ["kkt"]:
                yield {**problem, "solver": "kernelweave", "method": method, "stop": stop, "storage": storage}
        if P == 1 and given.device == "cpu":
            solvers = given.rival if given.loss == "svm" else ["sklearn", "himalaya"] if n <= MOST_OF_RIDGE else []
            for rival in solvers:
                method = "SVC" if given.loss == "svm" else "KernelRidge"
                yield {**problem, "solver": rival, "method": method, "stop": "kkt", "storage": "", "predict": 0}


def held_or_recomputed(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Explicit features on the host: held, or computed in every pass, and the rival."""
    if given.device != "cpu" or given.workers:
        return
    for P, n, C in itertools.product(given.kernels, given.samples, given.C):
        problem = {"kernels": P, "samples": n, "C": C, "device": "cpu", "components": given.explicit, "stop": "gap"}
        for method, storage in itertools.product(given.method, given.storage or ["dense"]):
            yield {**problem, "solver": "kernelweave", "method": method, "storage": storage}
        if given.sklearn and n <= MOST_OF_RIVAL:
            yield {**problem, "solver": "sklearn", "method": "LinearSVC", "storage": ""}


def against_exact(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Models of explicit features and exact ones, on four problems."""
    from benchmarks.scale_explicit import EXACT, PROBLEMS

    for name, method in itertools.product(PROBLEMS, given.method):
        for components in (given.accuracy, 0):
            problem = {"kernels": 0, "samples": EXACT, "C": 1.0, "device": "cpu", "stop": "gap", "problem": name}
            chosen = {"solver": "kernelweave", "method": method, "storage": "auto", "components": components}
            yield {**problem, **chosen}


def on_workers(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Dask workers of one thread against one process of one thread, for C = 1."""
    if given.device != "cpu" or not given.workers:
        return
    for n, method, storage in itertools.product(given.samples, given.method, given.storage or ["dense"]):
        problem = {"kernels": 6, "samples": n, "C": 1.0, "device": "cpu", "components": given.explicit, "stop": "gap"}
        yield {**problem, "solver": "dask", "method": method, "storage": storage, "workers": given.workers}


#: What gives cells of explicit features.
EXPLICIT = [held_or_recomputed, on_workers]


def chosen_cells(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The cells of a run, by what was asked for."""
    if given.accuracy:
        return against_exact(given)
    if given.explicit:
        return itertools.chain.from_iterable(maker(given) for maker in EXPLICIT)
    return cells(given)


def run(cell: dict[str, Any], timeout: float) -> dict[str, Any] | None:
    """What a cell gives in a process of its own; None, and a line that says why, where it fails."""
    of_features = "benchmarks.scale_dask" if "workers" in cell else "benchmarks.scale_explicit"
    module = of_features if "components" in cell else "benchmarks.scale_cells"
    command = [sys.executable, "-m", module, json.dumps(cell)]
    what = f"{cell['solver']} {cell['storage']} {cell['method']}, n = {cell['samples']}"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        print(f"{what}: not finished after {timeout:g} s")
        return None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        print(f"{what}: {reason}")
        return None
    return {**json.loads(done.stdout.splitlines()[-1]), "version": __version__}


def keep(found: list[dict[str, Any]], path: Path) -> None:
    """Add cells to a file of results."""
    known = json.loads(path.read_text()) if path.exists() else []
    new = {tuple(cell.get(name) for name in SETTINGS): cell for cell in [*known, *found]}
    rows = sorted(new.values(), key=order)
    path.write_text(json.dumps(rows, indent=1) + "\n")
    with path.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["machine", *COLUMNS, "version"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def again(known: list[dict[str, Any]], device: str) -> list[tuple[float, dict[str, Any]]]:
    """The settings of the cells of a device, and those that are wanted beside them, by about how long they take."""
    found = []
    for cell in known:
        if cell["device"] == device:
            chosen = {name: cell[name] for name in (*SETTINGS, "predict") if name in cell and name != "machine"}
            found.append((cell["seconds"] + cell.get("alone_seconds", 0.0), chosen))
    if device == "cpu":
        for seconds, cell in WANTED:
            given = {"C": 1.0, "device": "cpu", "stop": "gap", "solver": "dask" if "workers" in cell else "kernelweave"}
            whole = given | cell | ({} if "components" in cell else {"predict": 0})
            if _settings(whole) not in [_settings(other) for _, other in found]:
                found.append((float(seconds), whole))
    runs = [((2.0 if "workers" in cell else 1.0) * seconds, cell) for seconds, cell in found]
    return sorted(runs, key=lambda pair: pair[0])


def _settings(cell: dict[str, Any]) -> tuple:
    return tuple(cell.get(name) for name in SETTINGS if name != "machine")


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--device", choices=["cpu", "cuda"], default="cpu")
    add("--storage", nargs="+", choices=["auto", "dense", "lazy"], help="dense and lazy up to 20 000, then lazy")
    add("--samples", nargs="+", type=int, default=[2000, 5000, 10_000, 20_000, 50_000])
    add("--kernels", nargs="+", type=int, choices=[1, 6, 20], help="1 and 6, and 6 with --explicit")
    add("--C", nargs="+", type=float, default=[1.0, 10.0])
    add("--method", nargs="+", choices=["mean", "convex", "localized"], default=["mean"])
    add("--stop", nargs="+", choices=["gap", "kkt"], default=["gap", "kkt"])
    add("--rival", nargs="+", choices=["libsvm", "onedal", "none"], default=["libsvm", "onedal"])
    add("--loss", choices=["svm", "least-squares", "squared-hinge"], default="svm")
    add("--classes", type=int, default=2, help="of other losses than the svm")
    add("--predict", type=int, default=0, metavar="N", help="also time the prediction of N new samples")
    add("--explicit", type=int, default=0, metavar="N", help="cells with N explicit features of each kernel")
    add("--accuracy", type=int, default=0, metavar="N", help="accuracy with N landmarks against exact models")
    add("--workers", type=int, default=0, metavar="W", help="with --explicit: W Dask workers against one process")
    add("--no-sklearn", dest="sklearn", action="store_false", help="without scikit-learn's Nystroem and LinearSVC")
    add("--timeout", type=float, default=3600.0, metavar="S", help="seconds that a cell may take")
    add("--quick", action="store_true", help="few samples, nothing kept")
    add("--results", type=Path, help=f"file of kept cells, by default {RESULTS.parent.name}/{RESULTS.name}")
    add("--again", choices=["cpu", "cuda"], help="measure the kept cells of the host, or of devices, anew")
    add("--page", type=Path, help="write tables and curves from kept cells, and run nothing")
    found = parser.parse_args(given)
    found.kernels = found.kernels or ([6] if found.explicit else [1, 6])
    if found.quick:
        found.samples, found.C = [1000, 2000], [1.0]
    found.rival = [name for name in found.rival if name != "none"]
    if "onedal" in found.rival and find_spec("sklearnex") is None:
        print("oneDAL is left out: scikit-learn-intelex is not installed")
        found.rival.remove("onedal")
    return found


def main() -> None:
    given = arguments()
    path = given.results or RESULTS
    if given.page is not None:
        rows = sorted(json.loads(path.read_text()), key=order)
        write_page(rows, given.page, __version__)
        draw(rows, given.page.with_suffix(".png"))
        return
    chosen = chosen_cells(given)
    if given.again:
        runs = again(json.loads(path.read_text()), given.again)
        chosen = [cell for _, cell in runs]
        minutes = sum(seconds + START for seconds, _ in runs) / 60.0
        print(f"{len(runs)} cells, about {minutes:.0f} min")
    print(shown([heading for heading, _ in COLUMNS.values()]))
    for cell in chosen:
        result = run(cell, given.timeout)
        if result is not None:
            print(shown(texts(result)), flush=True)
            if given.results is not None or not given.quick:
                keep([result], path)


if __name__ == "__main__":
    main()
