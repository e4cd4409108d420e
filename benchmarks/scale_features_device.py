"""Explicit features on a CUDA device.

    python -m benchmarks.scale_features_device docs/scale_features_device.json
    python -m benchmarks.scale_features_device docs/scale_features_device.json --page docs/choosing_scale.md

The second command measures nothing: it writes the cells as a table into the page.

Six Gaussian kernels on views of 20 columns, 256 landmarks each, squared hinge, C = 1; the problem of `scale_cells`.
Samples are drawn block by block on the device and handed over as NumPy arrays. For each cell the phases of a fit are
timed: landmarks, making blocks (moving X, features), training, and for a pass its seconds beside the bound: reading the
features once at the rate at which the device reads, or, where features are computed in each pass, forming the kernel
values at the measured rates (`device_rates`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale_page import BEFORE_VERSIONS
from kernelweave import __version__

FEATURES, KERNELS, LANDMARKS, NOISE = 20, 6, 256, 0.5
BLOCK = 2**22
MOST_STEPS = 300  # of each solve
MARK = "<!-- device -->", "<!-- /device -->"
CELLS = (
    {"samples": 1_000_000, "combiner": "Mean"},
    {"samples": 1_000_000, "combiner": "Localized"},
    {"samples": 1_000_000, "combiner": "Localized", "storage": "lazy"},
    {"samples": 10_000_000, "combiner": "Mean"},
    {"samples": 10_000_000, "combiner": "Localized"},
    {"samples": 10_000_000, "combiner": "Localized", "storage": "lazy"},
    {"samples": 100_000_000, "combiner": "Localized"},
)


def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples, in float32, and labels 0 and 1; see `scale_cells.problem`."""
    import torch

    generator = torch.Generator(device="cuda").manual_seed(seed)
    directions = np.random.default_rng(1234).normal(size=(2, FEATURES))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    d = torch.tensor(directions, dtype=torch.float32, device="cuda")
    X = torch.randn((n, KERNELS * FEATURES), generator=generator, device="cuda")
    region = X[:, 0] + X[:, FEATURES] > 0
    rule = torch.where(region, X[:, :FEATURES] @ d[0], X[:, FEATURES : 2 * FEATURES] @ d[1])
    y = rule + NOISE * torch.randn(n, generator=generator, device="cuda") > 0
    found = X.cpu().numpy(), y.cpu().numpy().astype(np.int64)
    del X, rule, region, y
    torch.cuda.empty_cache()
    return found


class Clock:
    """Seconds spent in some functions of modules and classes, each call until the device is done."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}

    def watch(self, owner: Any, name: str, label: str) -> None:
        import torch

        function = getattr(owner, name)

        def timed(*arguments: Any, **options: Any) -> Any:
            torch.cuda.synchronize()
            begin = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                torch.cuda.synchronize()
                self.seconds[label] = self.seconds.get(label, 0.0) + time.perf_counter() - begin
                self.calls[label] = self.calls.get(label, 0) + 1

        setattr(owner, name, timed)


def rows_of(n: int) -> Iterator[Any]:
    """The samples block by block."""
    from kernelweave.engines.base import Rows
    from kernelweave.views import as_views

    for first in range(0, n, BLOCK):
        X, y = drawn(min(BLOCK, n - first), first)
        yield Rows(first, as_views(X), y, np.ones(len(y)))


def fit(cell: dict[str, Any], clock: Clock) -> dict[str, Any]:
    """One fit, with the seconds of its phases."""
    import torch

    from kernelweave.arrays import torch_place
    from kernelweave.combiners import FitControl, Localized, Mean
    from kernelweave.engines import InMemory
    from kernelweave.engines.device import blocks_on_device
    from kernelweave.engines.reservoir import fitted_maps
    from kernelweave.engines.targets import ClassTargets
    from kernelweave.estimators.training import Preparation
    from kernelweave.features import NystroemFeatures
    from kernelweave.kernels import Gaussian
    from kernelweave.machines import SquaredHinge
    from kernelweave.stacks.explicit import Features
    from kernelweave.views import as_views

    n, views = cell["samples"], [slice(k * FEATURES, (k + 1) * FEATURES) for k in range(KERNELS)]
    kernels = [Gaussian(view, scale=float(np.sqrt(FEATURES))) for view in views]
    torch.cuda.reset_peak_memory_stats()
    begin, rng = time.perf_counter(), np.random.RandomState(0)
    first = next(rows_of(n))
    targets = ClassTargets(SquaredHinge(), np.arange(2), 1.0, np.ones(2))
    dtype = np.dtype("float32")
    approximation = NystroemFeatures(LANDMARKS)
    _, stack, maps, _ = fitted_maps(InMemory([first]), kernels, "unit-diagonal", approximation, rng, dtype)
    del first
    seconds = {"landmarks": time.perf_counter() - begin}
    begin, before = time.perf_counter(), clock.seconds.get("drawing", 0.0)
    preparation, place = Preparation(maps, stack, targets, dtype), torch_place("cuda")
    engine, held = blocks_on_device(rows_of(n), n, preparation, place, cell.get("storage", "auto"))
    torch.cuda.synchronize()
    drawing = clock.seconds["drawing"] - before
    seconds |= {"drawing": drawing, "blocks": time.perf_counter() - begin - drawing}
    machine = targets(np.arange(2), np.ones(2))[0]
    combiner = Mean() if cell["combiner"] == "Mean" else Localized(inputs=views[0], l2=0.01)
    begin, known = time.perf_counter(), (dict(clock.seconds), dict(clock.calls))
    kernel = combiner.fit(Features(stack, maps, engine, n), machine, FitControl(rng, 1e-3, max_steps=MOST_STEPS))
    torch.cuda.synchronize()
    seconds["training"] = time.perf_counter() - begin
    for label in clock.seconds.keys() - {"drawing"}:
        seconds[label] = clock.seconds[label] - known[0].get(label, 0.0)
    calls = {label: count - known[1].get(label, 0) for label, count in clock.calls.items()}
    X, y = drawn(200_000, n + 1)
    solution: Any = kernel.solution
    bare = kernel.restrict(np.empty(0, dtype=int))
    begin = time.perf_counter()
    values = bare.values_in(place, as_views(X), solution.coef) + solution.intercept
    predicting = time.perf_counter() - begin
    size = sum(map_.n_features for map_ in maps) * 4 * n
    return {
        **cell, "storage": "dense" if held else "lazy", "seconds": seconds, "calls": calls,
        "passes": calls["pass"], "seconds per pass": seconds["pass"] / calls["pass"],
        "feature bytes": size, "peak bytes": int(torch.cuda.max_memory_allocated()),
        "objective": float(solution.objective), "gap": float(solution.gap / abs(solution.objective)),
        "accuracy": float(((values[:, 0] > 0) == (y == 1)).mean()), "prediction of 200 000": predicting,
        "trace share": float(np.mean([map_.trace_share for map_ in maps])),
    }  # fmt: skip


def reading_rate() -> float:
    """Bytes a second at which the device reads: the sum of 8 GiB of float32."""
    import torch

    values = torch.rand(2**31, device="cuda")
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        values.sum()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return values.nbytes / min(times)


def bound(found: dict[str, Any], reads: float, products: float, exponentials: float) -> float:
    """Seconds that a pass cannot take less than."""
    if found["storage"] == "dense":
        return found["feature bytes"] / reads
    pairs = float(found["samples"]) * KERNELS * LANDMARKS
    return max(2.0 * FEATURES * pairs / products, pairs / exponentials)


def rounded(value: Any) -> Any:
    """Numbers of a cell to five digits."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return float(f"{value:.5g}") if isinstance(value, float) else value


def measure(target: Path) -> None:
    """Measure all cells, and write them to a JSON file as they come."""
    import torch

    from benchmarks.device_rates import device_rates
    from kernelweave.engines import primal, training
    from kernelweave.engines.primal import Primal
    from kernelweave.stacks.descent import JointDescent

    clock = Clock()
    clock.watch(sys.modules[__name__], "drawn", "drawing")
    for owner, name, label in (
        (Primal, "__call__", "pass"), (JointDescent, "descend", "descent"),
        (training, "certificate", "certificate"), (training.ExplicitKernel, "solve", "solving machines"),
        (primal.Hessian, "__call__", "curvature"),
    ):  # fmt: skip
        clock.watch(owner, name, label)
    reads, (products, exponentials) = reading_rate(), device_rates()
    torch.backends.cuda.matmul.allow_tf32 = False
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name(), "version": __version__, "bytes read a second": rounded(reads),
        "TF32 operations a second": rounded(products), "exponentials a second": rounded(exponentials), "cells": [],
    }  # fmt: skip
    warm = {"samples": 20_000, "combiner": "Localized"}
    fit(warm, clock)  # compiles the programs
    fit({**warm, "storage": "lazy"}, clock)
    for cell in CELLS:
        row = fit(cell, clock)
        row["bound of a pass"] = bound(row, reads, products, exponentials)
        row["times the bound"] = row["seconds per pass"] / row["bound of a pass"]
        found["cells"].append(rounded(row))
        print({k: v for k, v in row.items() if k != "calls"}, flush=True)
        target.write_text(json.dumps(found, indent=1) + "\n")
        torch.cuda.empty_cache()


def table(found: dict[str, Any]) -> str:
    """The cells in Markdown, below the rates that bound a pass."""
    reads, products, exponentials = (
        found[name] / 1e12 for name in ("bytes read a second", "TF32 operations a second", "exponentials a second")
    )
    lines = [
        f"Measured on one {found['device']}, which reads {reads:.3g} TB/s and computes {products:.3g} TFLOP/s (TF32) "
        f"and {exponentials:.2g} 10^12 exponentials a second, with {found.get('version', BEFORE_VERSIONS)} (this is "
        f"{__version__}).",
        "",
        "| n | combiner | features | making blocks | training | passes | a pass | times the bound | relative gap | "
        "accuracy | peak memory |",
        "|" + "---|" * 11,
    ]
    for cell in found["cells"]:
        seconds, way = cell["seconds"], "held" if cell["storage"] == "dense" else "computed again"
        lines.append(
            f"| 10^{len(str(cell['samples'])) - 1} | `{cell['combiner']}` | {way} | {seconds['blocks']:.2g} s | "
            f"{seconds['training']:.2g} s | {cell['passes']} | {1e3 * cell['seconds per pass']:.3g} ms | "
            f"{cell['times the bound']:.2g} | {cell['gap']:.1e} | {cell['accuracy']:.3f} | "
            f"{cell['peak bytes'] / 1e9:.3g} GB |"
        )
    return "\n".join(lines)


def write_page(source: Path, page: Path) -> None:
    """Put the table between the marks of a page."""
    before, rest = page.read_text().split(MARK[0])
    after = rest.split(MARK[1])[1]
    page.write_text(f"{before}{MARK[0]}\n\n{table(json.loads(source.read_text()))}\n\n{MARK[1]}{after}")


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description="Explicit features on a CUDA device.")
    parser.add_argument("cells", type=Path, help="the JSON file of the cells")
    parser.add_argument("--page", type=Path, help="a page to write the cells into, instead of measuring")
    given = parser.parse_args()
    if given.page is None:
        measure(given.cells)
    else:
        write_page(given.cells, given.page)


if __name__ == "__main__":
    main()
