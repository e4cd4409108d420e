"""Memory, traffic and time of fits on many samples, worked out from measured constants.

    python -m benchmarks.scale_plan --measure               # the constants of this machine, into docs/scale_plan.json
    python -m benchmarks.scale_plan --measure --device cuda
    python -m benchmarks.scale_plan --page docs/choosing_scale.md

Constants are the time of a pass over explicit features for each sample and feature, with features held and computed
again, and how many passes a fit of `Localized` takes; those of exact fits are the cells of ``docs/scale.json``. The
problem is that of `benchmarks.scale_cells`: views of 20 columns, Gaussian kernels, 256 landmarks for each.

==============  ==============================================================================================
quantity        formula, for n samples, P kernels, D features, d columns, w workers
==============  ==============================================================================================
Gram matrices   8 P n^2 bytes
X               4 d n bytes (float32)
features        4 D n bytes (float32)
traffic, held   4 D n bytes of memory in each pass
computed again  4 d n bytes in each pass
cluster         16 (D + 1) w bytes between machines in each pass: parameters out, gradients back
time            passes * n * D * (seconds for each sample and feature) / w
exact           seconds of the largest measured fit, times (n / n_measured)^2
==============  ==============================================================================================
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale_cells import FEATURES, problem

DOCS = Path(__file__).parents[1] / "docs"
CONSTANTS, CELLS = DOCS / "scale_plan.json", DOCS / "scale.json"
KERNELS, COMPONENTS = 6, 256
SIZES = (10**4, 10**5, 10**6, 10**7, 10**8, 10**9)
WORKERS = 16
MARK = "<!-- plan -->", "<!-- /plan -->"


def measure(n_samples: int, device: str, repeats: int) -> dict[str, Any]:
    """The constants of this machine: seconds of a pass for each sample and feature, and passes of a fit."""
    from kernelweave import MKLClassifier
    from kernelweave.combiners import Localized
    from kernelweave.engines.primal import Primal
    from kernelweave.features import NystroemFeatures
    from kernelweave.kernels import Gaussian
    from kernelweave.kernels.resources import blas_threads

    X, y = problem(n_samples, KERNELS, 0)
    views = [list(range(FEATURES * m, FEATURES * (m + 1))) for m in range(KERNELS)]
    found: dict[str, Any] = {"samples": n_samples, "device": device, "threads": blas_threads()}
    for storage, name in (("dense", "held"), ("lazy", "computed")):
        model = MKLClassifier(
            [(f"v{m}", Gaussian(view, scale=FEATURES**0.5)) for m, view in enumerate(views)],
            Localized(l2=0.01),
            approximation=NystroemFeatures(COMPONENTS),
            storage=storage,
            device=device,
            random_state=0,
        )
        begin = time.perf_counter()
        kernel: Any = model.fit_kernel(X, y)
        found[f"{name}_fit_seconds"] = time.perf_counter() - begin
        K = kernel.operand()
        primal = Primal(K.engine, K.amplitudes, K.n_features, 1)
        position = primal.join(kernel.solution.coef, kernel.solution.intercept, np.empty(0))
        seconds = []
        for _ in range(repeats):
            begin = time.perf_counter()
            primal(position)
            seconds.append(time.perf_counter() - begin)
        found[name] = min(seconds) / (n_samples * K.n_features)
        found["features"] = K.n_features
        found["passes"] = int(model.history_["passes"].sum())
    return found


def machine_of(device: str) -> str:
    """What the machine is called."""
    if device != "cpu":
        import torch

        return torch.cuda.get_device_name()
    from kernelweave.kernels.resources import blas_threads

    return f"{blas_threads()} {platform.machine()} cores"


def exact_seconds(machine: str) -> tuple[int, float] | None:
    """Samples and seconds of the largest measured exact fit with gates on a machine; None where there is none."""
    cells = [
        cell
        for cell in json.loads(CELLS.read_text())
        if cell["machine"].startswith(machine.split(" (")[0])
        and cell["solver"] == "kernelweave"
        and cell["method"] == "localized"
        and not cell.get("components")
    ]
    largest = max(cells, key=lambda cell: cell["samples"], default=None)
    return None if largest is None else (largest["samples"], largest["seconds"])


def plan(n: int, machine: str, constants: dict[str, Any]) -> dict[str, Any]:
    """Memory, traffic and time of a fit of n samples."""
    D, d, passes = constants["features"], FEATURES * KERNELS, constants["passes"]
    measured = exact_seconds(machine)
    held, computed = (passes * n * D * constants[name] for name in ("held", "computed"))
    return {
        "samples": n,
        "Gram matrices": 8.0 * KERNELS * n**2,
        "X": 4.0 * d * n,
        "features": 4.0 * D * n,
        "read in a pass, held": 4.0 * D * n,
        "read in a pass, computed": 4.0 * d * n,
        "sent in a pass": 16.0 * (D + 1) * WORKERS,
        "exact": None if measured is None else measured[1] * (n / measured[0]) ** 2,
        "held": held,
        "computed": computed,
        "cluster": held / WORKERS,
    }


def size(n_bytes: float) -> str:
    """A number of bytes in words."""
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if n_bytes < 1000.0:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000.0
    return f"{n_bytes:.3g} EB"


def duration(seconds: float | None) -> str:
    """A time in words."""
    if seconds is None:
        return ""
    for unit, length in (("s", 60.0), ("min", 60.0), ("h", 24.0), ("d", 365.0)):
        if seconds < length:
            return f"{seconds:.2g} {unit}"
        seconds /= length
    return f"{seconds:.2g} years"


def tables(measured: dict[str, dict[str, Any]]) -> str:
    """The tables of the page, in Markdown."""
    found = []
    for machine, constants in measured.items():
        rows = [plan(n, machine, constants) for n in SIZES]
        found += [
            f"### {machine}\n",
            f"A pass takes {constants['held']:.2g} s for each sample and feature with features held and "
            f"{constants['computed']:.2g} s with features computed again "
            f"({constants['computed'] / constants['held']:.1f} times), measured with {constants['samples']} samples of "
            f"{constants['features']} features; a fit of `Localized` took {constants['passes']} passes.\n",
            "| n | Gram matrices | X | features | read in a pass: held / computed again | exact | explicit, held | "
            f"explicit, computed again | {WORKERS} such machines | sent in a pass |",
            "| --- |" + " --- |" * 9,
        ]
        for row in rows:
            cells = [
                f"10^{len(str(row['samples'])) - 1}",
                *(size(row[name]) for name in ("Gram matrices", "X", "features")),
                f"{size(row['read in a pass, held'])} / {size(row['read in a pass, computed'])}",
                *(duration(row[name]) for name in ("exact", "held", "computed", "cluster")),
                size(row["sent in a pass"]),
            ]
            found.append(f"| {' | '.join(cells)} |")
        found.append("")
    return "\n".join(found)


def main() -> None:
    """Measure, print, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="measure the constants of this machine and keep them")
    parser.add_argument("--device", default="cpu", help="where to measure")
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--page", type=Path, help="a page whose tables are written anew")
    given = parser.parse_args()
    measured = json.loads(CONSTANTS.read_text()) if CONSTANTS.exists() else {}
    if given.measure:
        measured[machine_of(given.device)] = measure(given.samples, given.device, given.repeats)
        CONSTANTS.write_text(json.dumps(measured, indent=1) + "\n")
    text = tables(measured)
    if given.page is None:
        print(text)
        return
    page = given.page.read_text()
    begin, end = page.index(MARK[0]) + len(MARK[0]), page.index(MARK[1])
    given.page.write_text(f"{page[:begin]}\n\n{text}\n{page[end:]}")


if __name__ == "__main__":
    main()
