"""Time, memory, gap, objective and accuracy against n, for each storage and device: ``python -m benchmarks.scale``.

    python -m benchmarks.scale --quick
    python -m benchmarks.scale --kernels 1 --samples 20000 50000 --rival libsvm onedal
    python -m benchmarks.scale --kernels 6 --samples 50000 --method mean convex localized --rival none
    python -m benchmarks.scale --device cuda --kernels 6 --samples 50000 200000 1000000 --predict 1000000
    python -m benchmarks.scale --explicit 256 --samples 20000 100000 1000000 --method localized --storage dense lazy
    python -m benchmarks.scale --explicit 256 --samples 1000000 --method localized --workers 2
    python -m benchmarks.scale --accuracy 512
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
same as a table). `--page` runs nothing: it writes the tables of these cells into a page, between its markers
``<!-- scale -->`` and ``<!-- /scale -->``, and the curves beside it, as a picture of the same name.
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

RESULTS = Path(__file__).parents[1] / "docs" / "scale.json"
MOST_DENSE = 20_000  # samples up to which both storages are measured, where none is chosen
MOST_OF_RIDGE = 20_000  # samples of which kernel ridge regression of rivals is timed
MOST_OF_RIVAL = 200_000  # samples: scikit-learn holds features in float64, and copies them
SETTINGS = (
    *("solver", "method", "kernels", "samples", "C", "stop", "storage", "device", "machine"),
    *("components", "problem", "workers", "loss", "classes"),
)
EMPTY = ("predict", "kernels", "components")  # columns in which 0 is left out
BEGIN, END = "<!-- scale -->\n", "<!-- /scale -->"
# name, heading, format
COLUMNS = (
    ("solver", "solver", "{}"),
    ("storage", "storage", "{}"),
    ("method", "method", "{}"),
    ("loss", "loss", "{}"),
    ("classes", "classes", "{}"),
    ("kernels", "kernels", "{}"),
    ("samples", "n", "{}"),
    ("C", "C", "{:g}"),
    ("stop", "stop", "{}"),
    ("seconds", "s", "{:.3g}"),
    ("bound", "bound s", "{:.3g}"),
    ("gigabytes", "GB", "{:.2f}"),
    ("device_gigabytes", "device GB", "{:.2f}"),
    ("gap", "gap", "{:.1e}"),
    ("violation", "violation", "{:.1e}"),
    ("objective", "objective", "{:.6g}"),
    ("accuracy", "accuracy", "{:.4f}"),
    ("support", "support", "{}"),
    ("solves", "solves", "{}"),
    ("rounds", "rounds", "{}"),
    ("steps", "steps", "{}"),
    ("problem", "problem", "{}"),
    ("components", "landmarks", "{}"),
    ("passes", "passes", "{}"),
    ("workers", "workers", "{}"),
    ("alone_seconds", "one process s", "{:.3g}"),
    ("speedup", "times faster", "{:.2f}"),
    ("pass_seconds", "pass s", "{:.3g}"),
    ("pass_bound", "read s", "{:.3g}"),
    ("pass_ratio", "ratio", "{:.2f}"),
    ("memory_ratio", "memory", "{:.2f}"),
    ("predict", "new", "{}"),
    ("predict_seconds", "predict s", "{:.3g}"),
    ("predict_bound", "its bound s", "{:.3g}"),
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
    for n, C in itertools.product(given.samples, given.C):
        problem = {"kernels": 6, "samples": n, "C": C, "device": "cpu", "components": given.explicit, "stop": "gap"}
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
    return json.loads(done.stdout.splitlines()[-1])


def texts(found: dict[str, Any], columns: Any = COLUMNS) -> list[str]:
    """A row of the table."""
    return [
        "" if found.get(name) in (None, "") or (name in EMPTY and not found[name]) else form.format(found[name])
        for name, _, form in columns
    ]


def shown(line: list[str]) -> str:
    return " ".join(
        f"{text:>{max(len(heading), 11 if name == 'solver' else 9)}}"
        for text, (name, heading, _) in zip(line, COLUMNS, strict=True)
    )


def keep(found: list[dict[str, Any]], path: Path) -> None:
    """Add cells to a file of results."""
    known = json.loads(path.read_text()) if path.exists() else []
    new = {tuple(cell.get(name) for name in SETTINGS): cell for cell in [*known, *found]}
    rows = sorted(new.values(), key=_order)
    path.write_text(json.dumps(rows, indent=1) + "\n")
    with path.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["machine", *(name for name, _, _ in COLUMNS)], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def _order(cell: dict[str, Any]) -> tuple:
    explicit = "components" in cell, cell.get("problem", ""), cell.get("components", 0)
    problem = cell["device"], cell["machine"], *explicit, cell["kernels"], cell["samples"], cell["C"]
    return (*problem, cell["solver"], cell["method"], cell["stop"], cell["storage"])


def write_page(rows: list[dict[str, Any]], page: Path) -> None:
    """Write a table for each machine between the markers of a page."""
    before, rest = page.read_text().split(BEGIN, 1)
    _, after = rest.split(END, 1)
    parts = []
    for (device, machine), group in itertools.groupby(rows, lambda cell: (cell["device"], cell["machine"])):
        of_machine = list(group)
        columns = [column for column in COLUMNS if any(texts(cell, [column])[0] for cell in of_machine)]
        lines = [[heading for _, heading, _ in columns], ["---"] * len(columns)]
        lines += [texts(cell, columns) for cell in of_machine]
        where = "" if device == "cpu" else f' (`device="{device}"`)'
        parts.append(f"### {machine}{where}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines))
    page.write_text(before + BEGIN + "\n" + "\n".join(parts) + "\n" + END + after)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Seconds and memory against n, for C = 1 at libsvm's tolerance."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def line_of(cell: dict[str, Any]) -> tuple:
        return cell["device"], cell["kernels"], cell["solver"], cell["method"], cell["storage"]

    chosen = sorted(
        (cell for cell in rows if cell["C"] == 1 and cell["stop"] == "kkt" and "loss" not in cell), key=line_of
    )
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for (device, P, solver, method, storage), group in itertools.groupby(chosen, line_of):
        cells = sorted(group, key=lambda cell: cell["samples"])
        n = [cell["samples"] for cell in cells]
        name = solver if solver != "kernelweave" else f"{method}, {storage}"
        label = f"{name}, {P} kernel{'s' if P > 1 else ''}" + (f", {device}" if device != "cpu" else "")
        style = {"marker": "o", "markersize": 4, "linestyle": "-" if solver == "kernelweave" else "--"}
        (drawn,) = left.plot(n, [cell["seconds"] for cell in cells], label=label, **style)
        memory = "gigabytes" if device == "cpu" else "device_gigabytes"
        right.plot(n, [cell[memory] for cell in cells], color=drawn.get_color(), **style)
    for axes, title in ((left, "seconds"), (right, "peak memory (of the host or the device), GB")):
        axes.set(xscale="log", yscale="log", xlabel="training samples", title=title)
        axes.grid(True, which="both", alpha=0.25)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--device", choices=["cpu", "cuda"], default="cpu")
    add("--storage", nargs="+", choices=["auto", "dense", "lazy"], help="dense and lazy up to 20 000, then lazy")
    add("--samples", nargs="+", type=int, default=[2000, 5000, 10_000, 20_000, 50_000])
    add("--kernels", nargs="+", type=int, choices=[1, 6], default=[1, 6])
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
    add("--page", type=Path, help="write tables and curves from kept cells, and run nothing")
    found = parser.parse_args(given)
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
        rows = sorted(json.loads(path.read_text()), key=_order)
        write_page(rows, given.page)
        draw(rows, given.page.with_suffix(".png"))
        return
    print(shown([heading for _, heading, _ in COLUMNS]))
    for cell in chosen_cells(given):
        result = run(cell, given.timeout)
        if result is not None:
            print(shown(texts(result)), flush=True)
            if given.results is not None or not given.quick:
                keep([result], path)


if __name__ == "__main__":
    main()
