"""The tables of kept cells of `benchmarks.scale`, in a page, and their curves.

Cells of a machine are divided by what they measure (`GROUPS`), each with a table of its own columns. A column is left
out where it is empty, and where it has one value in all rows, which the line above the table has instead. All
columns of all cells are in the CSV file.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

BEFORE_VERSIONS = "0.2"  # with which cells were measured that have no version
EMPTY = ("predict", "kernels", "components")  # columns in which 0 is left out
BEGIN, END = "<!-- scale -->\n", "<!-- /scale -->"
# heading and format by name
COLUMNS = {
    "solver": ("solver", "{}"),
    "storage": ("storage", "{}"),
    "method": ("method", "{}"),
    "loss": ("loss", "{}"),
    "classes": ("classes", "{}"),
    "kernels": ("kernels", "{}"),
    "samples": ("n", "{}"),
    "C": ("C", "{:g}"),
    "stop": ("stop", "{}"),
    "seconds": ("s", "{:.3g}"),
    "bound": ("bound s", "{:.3g}"),
    "gigabytes": ("GB", "{:.2f}"),
    "device_gigabytes": ("device GB", "{:.2f}"),
    "gap": ("gap", "{:.1e}"),
    "violation": ("violation", "{:.1e}"),
    "objective": ("objective", "{:.6g}"),
    "accuracy": ("accuracy", "{:.4f}"),
    "support": ("support", "{}"),
    "solves": ("solves", "{}"),
    "rounds": ("rounds", "{}"),
    "steps": ("steps", "{}"),
    "problem": ("problem", "{}"),
    "components": ("landmarks", "{}"),
    "passes": ("passes", "{}"),
    "workers": ("workers", "{}"),
    "alone_seconds": ("one process s", "{:.3g}"),
    "speedup": ("times faster", "{:.2f}"),
    "pass_seconds": ("pass s", "{:.3g}"),
    "pass_bound": ("read s", "{:.3g}"),
    "pass_ratio": ("ratio", "{:.2f}"),
    "memory_ratio": ("memory", "{:.2f}"),
    "predict": ("new", "{}"),
    "predict_seconds": ("predict s", "{:.3g}"),
    "predict_bound": ("its bound s", "{:.3g}"),
}
EXACT = (
    *("solver", "storage", "method", "loss", "classes", "kernels", "samples", "C", "stop", "seconds", "bound"),
    *("gigabytes", "device_gigabytes", "gap", "accuracy", "support", "predict_seconds", "predict_bound", "version"),
)
# columns by what cells measure
GROUPS = {
    "One kernel, support vector machine": EXACT,
    "Several kernels, support vector machine": EXACT,
    "Other losses": EXACT,
    "Explicit features": (
        *("solver", "storage", "method", "kernels", "components", "samples", "C", "stop", "seconds", "gigabytes"),
        *("gap", "accuracy", "passes", "pass_seconds", "pass_bound", "pass_ratio", "memory_ratio", "version"),
    ),
    "Dask workers against one process": (
        *("storage", "method", "kernels", "components", "samples", "workers", "alone_seconds", "seconds"),
        *("speedup", "passes", "pass_seconds", "gap", "version"),
    ),
    "Accuracy, exact and with explicit features": (
        *("problem", "method", "samples", "C", "stop", "components", "storage", "seconds", "gap", "accuracy"),
        "version",
    ),
}
# which are left out where they have one value in all rows
COMMON = "solver", "storage", "method", "loss", "classes", "kernels", "C", "stop", "components", "workers", "version"


def group_of(cell: dict[str, Any]) -> str:
    """Which of `GROUPS` a cell belongs to."""
    if cell.get("workers"):
        return "Dask workers against one process"
    if cell.get("problem"):
        return "Accuracy, exact and with explicit features"
    if "components" in cell:
        return "Explicit features"
    if "loss" in cell:
        return "Other losses"
    return f"{'One kernel' if cell['kernels'] == 1 else 'Several kernels'}, support vector machine"


def texts(found: dict[str, Any], names: Sequence[str] = tuple(COLUMNS)) -> list[str]:
    """A row of a table."""
    return [_text(found, name) for name in names]


def _text(found: dict[str, Any], name: str) -> str:
    if name == "version":
        return found.get("version") or BEFORE_VERSIONS
    if name == "components" and found.get("problem") and not found[name]:
        return "exact"
    empty = found.get(name) in (None, "") or (name in EMPTY and not found[name])
    return "" if empty else COLUMNS[name][1].format(found[name])


def shown(line: list[str]) -> str:
    return " ".join(
        f"{text:>{max(len(heading), 11 if name == 'solver' else 9)}}"
        for text, (name, (heading, _)) in zip(line, COLUMNS.items(), strict=True)
    )


def order(cell: dict[str, Any]) -> tuple:
    explicit = "components" in cell, cell.get("problem", ""), cell.get("components", 0)
    problem = cell["device"], cell["machine"], *explicit, cell["kernels"], cell["samples"], cell["C"]
    return (*problem, cell["solver"], cell["method"], cell["stop"], cell["storage"])


def table(cells: list[dict[str, Any]], names: Sequence[str], version: str) -> str:
    """A table in Markdown, below a line of what all its rows have in common."""
    columns = {name: [_text(cell, name) for cell in cells] for name in names}
    columns = {name: column for name, column in columns.items() if any(column)}
    same = {name: column[0] for name, column in columns.items() if name in COMMON and len(set(column)) == 1}
    varied = {name: column for name, column in columns.items() if name not in same}
    headings = {name: COLUMNS[name][0] if name in COLUMNS else "measured with" for name in names}
    common = ", ".join(
        f"{headings[name]} {text}{f' (this is {version})' if name == 'version' and text != version else ''}"
        for name, text in same.items()
    )
    lines = [[headings[name] for name in varied], ["---"] * len(varied), *zip(*varied.values(), strict=True)]
    return f"All rows: {common}.\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def tables(rows: list[dict[str, Any]], version: str) -> str:
    """The tables of each machine."""
    parts = []
    for (device, machine), of_machine in itertools.groupby(rows, lambda cell: (cell["device"], cell["machine"])):
        where = "" if device == "cpu" else f' (`device="{device}"`)'
        cells = list(of_machine)
        parts.append(f"### {machine}{where}\n")
        for title, names in GROUPS.items():
            own = [cell for cell in cells if group_of(cell) == title]
            if own:
                parts.append(f"**{title}.** {table(own, names, version)}")
    return "\n".join(parts)


def write_page(rows: list[dict[str, Any]], page: Path, version: str) -> None:
    """Write the tables between the markers of a page; `version` is that of the library."""
    before, rest = page.read_text().split(BEGIN, 1)
    _, after = rest.split(END, 1)
    page.write_text(before + BEGIN + "\n" + tables(rows, version) + "\n" + END + after)


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
