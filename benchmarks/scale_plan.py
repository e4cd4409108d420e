"""What to take at which size, and what it costs, worked out from measured cells: ``python -m benchmarks.scale_plan``.

    python -m benchmarks.scale_plan                                # print
    python -m benchmarks.scale_plan --page docs/choosing_scale.md  # write the page's tables

The cells are those of ``docs/scale.json`` (`benchmarks.scale`, whose `WANTED` are for this page) and of
``docs/scale_features_device.json``. Their problem is that of `benchmarks.scale_cells`: views of 20 columns, a Gaussian
kernel for each, C = 1; explicit features are of 256 landmarks for each kernel. A way is one of "dense" and "parts"
(exact kernels), "held" and "again" (explicit features that are held, or computed again in each pass).

========  ==============================================  ===============================================
way       seconds, for n samples and P kernels            bytes
========  ==============================================  ===============================================
dense     b P n^2                                         c P n^2
parts     a n + b P n^2, for P = 1 and for more apart     c + e P n
held      a P + b P n                                     c + e P n
again     a P + b P n                                     c + e P n
========  ==============================================  ===============================================

The smallest and the largest cell of a machine, method and way set a and b (c and e): of six kernels, or of one. Where
that would make one of them negative it is 0, and the largest cell sets the other. All other cells check them. Where a
combiner has one cell only, its exact fits take those of `Mean` times the ratio to `Mean` at that n. Upper limits are,
for `Mean` without explicit cells, those of `Localized`, which makes more passes, and for one kernel without cells in
parts those of several.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.scale_page import BEFORE_VERSIONS
from kernelweave import get_config
from kernelweave.estimators.training import LARGEST_ON_DEVICE, LARGEST_ON_HOST, MEMORY_SHARE

DOCS = Path(__file__).parents[1] / "docs"
COMPONENTS = 256
SIZES = tuple(10**power for power in range(3, 9))
COLUMNS = ((1, "mean"), (6, "mean"), (6, "localized"), (20, "mean"), (20, "localized"))
NAMES = {"mean": "`Mean`", "localized": "`Localized`", "convex": "`ConvexMKL`"}
PATIENCE = 600.0  # seconds up to which the exact model is taken
LONGEST = 36_000.0  # seconds up to which one machine is taken
QUICK = 10.0  # seconds of a fit on the CPU that is not worth a device
MEMORY = {"cpu": 16e9, "cuda": 139 * 2.0**30}  # bytes of the machine that the tables are for
WORDS = {
    "dense": "exact, dense",
    "parts": "exact, in parts",
    "held": "explicit, held",
    "again": "explicit, computed again",
    "files": "explicit, from files",
}


class Cell(NamedTuple):
    """A measured fit."""

    machine: str
    device: str
    way: str
    method: str
    kernels: int
    samples: int
    seconds: float
    memory: float
    version: str


def measured_cells() -> list[Cell]:
    """The cells that the page is made of: C = 1, our own fits, with X in memory."""
    found = []
    for cell in json.loads((DOCS / "scale.json").read_text()):
        plain = cell["solver"] == "kernelweave" and cell["C"] == 1 and not cell.get("problem") and "loss" not in cell
        explicit = "components" in cell
        if not plain or (explicit and cell["components"] != COMPONENTS) or (not explicit and cell["stop"] != "kkt"):
            continue
        ways = {"dense": "held", "lazy": "again"} if explicit else {"dense": "dense", "lazy": "parts"}
        memory = cell["gigabytes"] if cell["device"] == "cpu" else cell["device_gigabytes"]
        where = cell["machine"], cell["device"], ways[cell["storage"]], cell["method"], cell["kernels"]
        version = cell.get("version", BEFORE_VERSIONS)
        found.append(Cell(*where, cell["samples"], cell["seconds"], 1e9 * memory, version))
    on_device = json.loads((DOCS / "scale_features_device.json").read_text())
    for cell in on_device["cells"]:
        seconds = sum(cell["seconds"][part] for part in ("landmarks", "blocks", "training"))
        way = "held" if cell["storage"] == "dense" else "again"
        where = on_device["device"], "cuda", way, cell["combiner"].lower(), 6
        version = on_device.get("version", BEFORE_VERSIONS)
        found.append(Cell(*where, cell["samples"], seconds, float(cell["peak bytes"]), version))
    return found


# Formulas

Terms = Callable[[int, int], tuple[float, float]]
TIME: dict[str, Terms] = {
    "dense": lambda n, P: (0.0, P * n**2),
    "parts": lambda n, P: (n, P * n**2),
    "held": lambda n, P: (P, P * n),
    "again": lambda n, P: (P, P * n),
}
SPACE: dict[str, Terms] = {
    "dense": lambda n, P: (0.0, P * n**2),
    "parts": lambda n, P: (1.0, P * n),
    "held": lambda n, P: (1.0, P * n),
    "again": lambda n, P: (1.0, P * n),
}


@dataclass(frozen=True)
class Formula:
    """first * u + second * v, with the terms (u, v) of n and P; `cells` set the numbers."""

    terms: Terms
    first: float
    second: float
    cells: tuple[Cell, ...]

    def __call__(self, n: int, P: int) -> float:
        u, v = self.terms(n, P)
        return self.first * u + self.second * v


def formula_of(terms: Terms, small: Cell, large: Cell, value: Callable[[Cell], float]) -> Formula:
    """The formula through two cells; of one term, through the larger cell, where the other would be negative."""
    (u, v), (x, y) = (terms(cell.samples, cell.kernels) for cell in (small, large))
    determinant = u * y - x * v
    first = (value(small) * y - value(large) * v) / determinant if determinant else 0.0
    second = (u * value(large) - x * value(small)) / determinant if determinant else value(large) / y
    if second < 0.0:
        return Formula(terms, value(large) / x, 0.0, (large,))
    if first < 0.0 or not determinant:
        return Formula(terms, 0.0, value(large) / y, (large,))
    return Formula(terms, first, second, (small, large))


class Costs(NamedTuple):
    """Formulas of seconds and bytes, `factor` times the first; an upper limit or not."""

    seconds: Formula
    memory: Formula
    factor: float = 1.0
    at_most: bool = False


class Plan:
    """What fits cost on one machine."""

    def __init__(self, cells: list[Cell], machine: str):
        self.cells = [cell for cell in cells if cell.machine == machine]
        self.machine, self.device = machine, self.cells[0].device

    def of(self, way: str, method: str, kernels: int) -> list[Cell]:
        """The cells that the formula of a way and method may be set by, the smallest first."""
        apart = way == "parts" and kernels == 1
        own = [cell for cell in self.cells if (cell.way, cell.method) == (way, method)]
        most = max((cell.kernels for cell in own if cell.kernels <= 6), default=0)
        chosen = [cell for cell in own if way == "dense" or cell.kernels == (1 if apart else most)]
        return sorted(chosen, key=lambda cell: cell.samples)

    def costs(self, way: str, method: str, kernels: int) -> Costs | None:
        """What a way costs; None where nothing is measured that it could be worked out from."""
        own = self.of(way, method, kernels)
        if way in ("held", "again") and not own:
            other = self.costs(way, "localized", kernels) if method == "mean" else None
            return None if other is None else other._replace(at_most=True)
        if way in ("dense", "parts") and method != "mean" and len(own) < 2:
            ratio, mean = self.ratio(method), self.costs(way, "mean", kernels)
            return None if ratio is None or mean is None else mean._replace(factor=ratio)
        if not own:
            several = self.costs(way, method, 6) if way == "parts" and kernels == 1 else None
            return None if several is None else several._replace(at_most=True)
        small, large = own[0], own[-1]
        seconds = formula_of(TIME[way], small, large, lambda cell: cell.seconds)
        memory = formula_of(SPACE[way], small, large, lambda cell: cell.memory)
        return Costs(seconds, memory)

    def ratio(self, method: str) -> float | None:
        """How many times as long exact fits of a method take as those of `Mean`, with the most samples of both."""
        mean = {cell.samples: cell.seconds for cell in self.of("parts", "mean", 6)}
        both = [cell for cell in self.of("parts", method, 6) if cell.samples in mean]
        return both[-1].seconds / mean[both[-1].samples] if both else None

    def checks(self) -> list[tuple[Cell, float, float | None]]:
        """Cells that do not set the seconds, with what the formulas say: seconds, and bytes that they do not set."""
        found = []
        for cell in self.cells:
            costs = self.costs(cell.way, cell.method, cell.kernels)
            if costs is None or costs.at_most or cell in costs.seconds.cells:
                continue
            if costs.factor != 1.0:  # set by the ratio at this cell, or at one of as many samples
                continue
            size = cell.samples, cell.kernels
            memory = None if cell in costs.memory.cells else costs.memory(*size)
            found.append((cell, costs.seconds(*size), memory))
        return found


class Choice(NamedTuple):
    """What the page says to take."""

    way: str
    seconds: float
    memory: float
    at_most: bool = False
    workers: int = 0


def choice(plan: Plan, n: int, P: int, method: str, efficiency: float) -> Choice | None:
    """The rule of the page; None where nothing is measured."""
    memory = MEMORY[plan.device]
    largest = LARGEST_ON_HOST if plan.device == "cpu" else LARGEST_ON_DEVICE
    dense = plan.device == "cpu" and 8.0 * P * n**2 <= get_config()["dense_bytes"]
    exact = plan.costs("dense" if dense else "parts", method, P)
    if exact is not None and n <= largest:
        seconds, used = exact.factor * exact.seconds(n, P), exact.memory(n, P)
        if dense or (seconds <= PATIENCE and used <= memory):
            return Choice("dense" if dense else "parts", seconds, used, exact.at_most)
    held, again = plan.costs("held", method, P), plan.costs("again", method, P)
    if held is None or again is None:
        return None
    held_bytes = 4.0 * COMPONENTS * P * n
    if held_bytes <= MEMORY_SHARE * memory:
        return Choice("held", held.seconds(n, P), held.memory(n, P), held.at_most)
    seconds, used = again.seconds(n, P), again.memory(n, P)
    if plan.device != "cpu":
        return Choice("again", seconds, used, again.at_most) if used <= memory else None
    if seconds > LONGEST:
        ways = [("held", held.seconds(n, P), held_bytes / (MEMORY_SHARE * memory)), ("again", seconds, 1.0)]
        least = [max(math.ceil(time / (LONGEST * efficiency)), math.ceil(room)) for _, time, room in ways]
        place = least.index(min(least))
        way, time, _ = ways[place]
        return Choice(way, time / (least[place] * efficiency), 0.0, again.at_most, least[place])
    return (
        Choice("again", seconds, used, again.at_most)
        if used <= memory
        else Choice("files", seconds, 0.0, again.at_most)
    )


# Words


def duration(seconds: float) -> str:
    """A time in words."""
    if seconds < 1.0:
        return "under 1 s"
    for unit, length in (("s", 60.0), ("min", 60.0), ("h", 24.0)):
        if seconds < length:
            return f"{seconds:.2g} {unit}"
        seconds /= length
    return f"{seconds:.2g} d"


def size(n_bytes: float) -> str:
    """A number of bytes in words."""
    return f"{max(n_bytes / 1e9, 0.1):.1f} GB" if n_bytes < 1e10 else f"{n_bytes / 1e9:.0f} GB"


def number(n: int) -> str:
    """A number of samples, with its thousands apart."""
    return f"{n:,}".replace(",", " ")


def what(found: Choice) -> str:
    """A cell of the tables."""
    where = f" on Dask, {found.workers} machines" if found.workers else ""
    memory = f", {size(found.memory)}" if found.memory else ""
    return f"{WORDS[found.way]}{where}: {'at most ' if found.at_most else ''}{duration(found.seconds)}{memory}"


def dask_efficiency() -> tuple[float, dict[str, Any]]:
    """How many times as fast workers were, over their number, with the most samples; that cell."""
    cells = [cell for cell in json.loads((DOCS / "scale.json").read_text()) if cell.get("workers")]
    largest = max(cells, key=lambda cell: cell["samples"])
    return largest["speedup"] / largest["workers"], largest


def tables(plans: list[Plan]) -> str:
    """What to take on each machine."""
    efficiency, _ = dask_efficiency()
    parts = []
    host = next(plan for plan in plans if plan.device == "cpu")
    for plan in plans:
        headings = [f"{P} kernel{'s, ' + NAMES[method] if P > 1 else ''}" for P, method in COLUMNS]
        lines = [f"| n | {' | '.join(headings)} |", "|---" * (len(COLUMNS) + 1) + "|"]
        for n in SIZES:
            texts = []
            for P, method in COLUMNS:
                found, on_host = (choice(each, n, P, method, efficiency) for each in (plan, host))
                if plan is not host and on_host is not None and on_host.seconds <= QUICK:
                    texts.append("as on the CPU")
                elif found is None:
                    texts.append("" if plan is host else "more than the device holds: as on the CPU")
                else:
                    texts.append(what(found))
            lines.append(f"| 10^{len(str(n)) - 1} | {' | '.join(texts)} |")
        title = f"**{plan.machine}**, with {size(MEMORY[plan.device])} of memory"
        parts.append(f"{title}:\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def rule() -> str:
    """The rule of the tables, with the library's limits."""
    limit = get_config()["dense_bytes"]
    one, six, twenty = (int((limit / (8.0 * P)) ** 0.5) // 100 * 100 for P in (1, 6, 20))
    efficiency, cell = dask_efficiency()
    counts = f"{number(one)} samples with one kernel, {number(six)} with six, {number(twenty)} with twenty"
    steps = (
        f"Exact, dense, while all Gram matrices take at most {limit / 1e9:g} GB (`dense_bytes` of the configuration): "
        f"{counts}.",
        f"Exact, in parts, while a fit takes at most {duration(PATIENCE)} and n is at most {number(LARGEST_ON_HOST)} "
        f"({number(LARGEST_ON_DEVICE)} on a device), above which the library warns. Nothing is approximated, and "
        'nothing has to be chosen: the default `storage="auto"` takes 1 or 2.',
        f'Explicit features, held, while they take at most {MEMORY_SHARE:g} of the memory, as `storage="auto"` does.',
        "Explicit features, computed again in each pass, while what a fit needs fits into memory.",
        "The same from files beyond that; reading them in each pass comes on top.",
        f"Where that takes more than {duration(LONGEST)}: the smallest number of such machines on Dask with which it "
        f"does not. Each counts as {efficiency:.0%} of a machine, as measured with {cell['workers']} workers and "
        f"{number(cell['samples'])} samples.",
    )
    return "\n".join(wrapped(f"{place}. ", step) for place, step in enumerate(steps, 1))


def wrapped(mark: str, text: str) -> str:
    """An entry of a list."""
    return textwrap.fill(text, 120, initial_indent=mark, subsequent_indent=" " * len(mark), break_on_hyphens=False)


def sources(plans: list[Plan]) -> str:
    """Which cells set the formulas."""
    lines = [
        "| machine | way | combiner | kernels | set by n (seconds) | a, seconds | b, seconds | measured with |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for plan in plans:
        for way, method, P in itertools.product(TIME, NAMES, (1, 6)):
            costs, own = plan.costs(way, method, P), plan.of(way, method, P)
            if costs is None or costs.at_most or costs.factor != 1.0 or own[-1].kernels != P:
                continue
            cells = costs.seconds.cells
            of = ", ".join(f"{number(cell.samples)} ({cell.seconds:.3g})" for cell in cells)
            numbers = f"{costs.seconds.first:.2g} | {costs.seconds.second:.2g}"
            versions = ", ".join(sorted({cell.version for cell in cells}))
            lines.append(f"| {plan.machine} | {WORDS[way]} | {NAMES[method]} | {P} | {of} | {numbers} | {versions} |")
    return "\n".join(lines)


def checks(plans: list[Plan]) -> str:
    """Predicted and measured seconds of the cells that set nothing."""
    lines = [
        "| machine | way | combiner | kernels | n | predicted s | measured s | predicted / measured | of memory |",
        "|---" * 9 + "|",
    ]
    found = [check for plan in plans for check in plan.checks()]
    for cell, seconds, memory in found:
        ratios = f"{seconds / cell.seconds:.2f} | {'' if memory is None else f'{memory / cell.memory:.2f}'}"
        name = f"{cell.machine} | {WORDS[cell.way]} | {NAMES[cell.method]} | {cell.kernels} | {number(cell.samples)}"
        lines.append(f"| {name} | {seconds:.3g} | {cell.seconds:.3g} | {ratios} |")
    ratios_of_time = sorted(seconds / cell.seconds for cell, seconds, _ in found)
    return (
        "\n".join(lines) + f"\n\nBetween {ratios_of_time[0]:.2f} and {ratios_of_time[-1]:.2f} of what was measured.\n"
    )


def dearer(plans: list[Plan]) -> str:
    """How much longer matrices, combiners and a larger C take, by pairs of cells that differ in nothing else."""
    lines = []
    for plan in plans:
        dense = {cell[3:6]: cell.seconds for cell in plan.cells if cell.way == "dense"}
        for cell in plan.cells:
            if cell.way == "parts" and cell[3:6] in dense:
                took = f"took {dense[cell[3:6]]:.3g} s dense and {cell.seconds:.3g} s in parts"
                where = f"{kernels_of(cell.kernels)}, n = {number(cell.samples)}, {plan.machine}"
                lines.append(f"One fit {took} ({where}); matrices serve several fits.")
        ratios = [f"{NAMES[each]} {plan.ratio(each):.1f} times" for each in ("convex", "localized") if plan.ratio(each)]
        if ratios:
            lines.append(f"Exact in parts, {' and '.join(ratios)} as long as `Mean` ({plan.machine}).")
    cells = [cell for cell in json.loads((DOCS / "scale.json").read_text()) if cell["solver"] == "kernelweave"]
    names = "machine", "method", "kernels", "samples", "stop", "storage", "components", "loss"
    groups: dict[tuple, dict[float, float]] = {}
    for cell in cells:
        groups.setdefault(tuple(cell.get(name) for name in names), {})[cell["C"]] = cell["seconds"]
    found = []
    for (machine, method, P, n, stop, *_), seconds in groups.items():
        if 1.0 in seconds and 10.0 in seconds:
            where = f"{machine}, {NAMES[method]}, {kernels_of(P)}, n = {number(n)}, to {stop}"
            found.append(f"{seconds[10.0] / seconds[1.0]:.1f} times ({where})")
    lines.append(f"C = 10 takes longer than C = 1, exact in parts: {', '.join(found)}.")
    return "\n".join(wrapped("- ", line) for line in lines)


def kernels_of(P: int) -> str:
    return f"{P} kernel{'s' * (P > 1)}"


BLOCKS = {"plan": tables, "rule": lambda plans: rule(), "sources": sources, "checks": checks, "dearer": dearer}


def main() -> None:
    """Print, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="a page whose tables are written anew")
    given = parser.parse_args()
    cells = measured_cells()
    plans = [Plan(cells, machine) for machine in dict.fromkeys(cell.machine for cell in cells)]
    texts = {name: block(plans).rstrip() for name, block in BLOCKS.items()}
    if given.page is None:
        print(*texts.values(), sep="\n\n")
        return
    page = given.page.read_text()
    for name, text in texts.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, rest = page.split(begin, 1)
        page = f"{before}{begin}\n{text}\n\n{end}{rest.split(end, 1)[1]}"
    given.page.write_text(page)


if __name__ == "__main__":
    main()
