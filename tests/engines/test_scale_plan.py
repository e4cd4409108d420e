"""What `benchmarks.scale_plan` works out from cells, and which cells `benchmarks.scale --again` measures."""

from __future__ import annotations

import pytest
from benchmarks.scale import WANTED, again
from benchmarks.scale_page import table
from benchmarks.scale_plan import Cell, Plan, choice


def cell(way, method, kernels, samples, seconds, memory=1e9, device="cpu"):
    return Cell("a machine", device, way, method, kernels, samples, seconds, memory, "0.3.0")


def costs(n, P):
    return 1e-4 * n + 1e-9 * P * n**2


CELLS = [
    *(cell("parts", "mean", P, n, costs(n, P)) for P, n in ((1, 4000), (1, 50_000), (6, 10_000), (6, 50_000))),
    cell("parts", "mean", 6, 20_000, 2.0 * costs(20_000, 6)),
    cell("parts", "localized", 6, 20_000, 10.0 * costs(20_000, 6)),
    cell("held", "localized", 6, 100_000, 3.0 + 12.0, 0.4e9 + 0.6e9),
    cell("held", "localized", 6, 1_000_000, 3.0 + 120.0, 0.4e9 + 6e9),
    cell("again", "localized", 6, 100_000, 60.0, 0.2e9),
]
PLAN = Plan(CELLS, "a machine")


def test_formulas_go_through_the_cells_that_set_them_and_others_check_them():
    assert PLAN.costs("parts", "mean", 6).seconds(30_000, 20) == pytest.approx(costs(30_000, 20))
    held = PLAN.costs("held", "localized", 6)
    assert held.seconds(10**6, 12) == pytest.approx(6.0 + 240.0) and held.memory(10**6, 6) == pytest.approx(6.4e9)
    ((checked, seconds, _),) = PLAN.checks()
    assert (checked.kernels, checked.samples, checked.method) == (6, 20_000, "mean")
    assert seconds / checked.seconds == pytest.approx(0.5)
    assert PLAN.costs("parts", "localized", 6).factor == pytest.approx(5.0)  # to the same cell of the mean
    assert PLAN.costs("held", "mean", 6).at_most and not held.at_most


def test_no_number_of_a_formula_is_negative():
    flat = Plan([cell("parts", "mean", 6, 10_000, 2.0), cell("parts", "mean", 6, 20_000, 3.0)], "a machine")
    found = flat.costs("parts", "mean", 6).seconds
    assert (
        found.second == 0.0 and found(20_000, 6) == pytest.approx(3.0) and [c.samples for c in found.cells] == [20_000]
    )
    assert [c.samples for c, *_ in flat.checks()] == [10_000]


def test_the_rule():
    assert choice(PLAN, 20_000, 6, "localized", 0.5).way == "parts"
    assert choice(PLAN, 200_000, 6, "mean", 0.5).way == "held"  # above what the library warns of
    assert choice(PLAN, 2 * 10**6, 6, "mean", 0.5).way == "again"  # 12 GB of features are more than 0.6 of 16 GB
    far = choice(PLAN, 10**8, 6, "localized", 0.5)
    assert far.workers == 4 and far.seconds == pytest.approx(60_000.0 / (4 * 0.5))


def test_cells_of_a_device_are_not_measured_on_the_host():
    kept = {"solver": "kernelweave", "method": "mean", "kernels": 6, "samples": 99, "C": 1.0, "stop": "kkt"}
    known = [
        {**kept, "device": device, "seconds": 3.0, "storage": "lazy", "machine": "m"} for device in ("cpu", "cuda")
    ]
    runs = again(known, "cpu")
    assert len(runs) == 1 + len(WANTED) and [seconds for seconds, _ in runs] == sorted(seconds for seconds, _ in runs)
    own = [cell for _, cell in runs if cell["samples"] == 99]
    assert own == [{**kept, "device": "cpu", "storage": "lazy"}]
    assert [cell["device"] for _, cell in again(known, "cuda")] == ["cuda"]


def test_columns_that_tell_nothing_are_left_out():
    row = {"solver": "a", "storage": "lazy", "samples": 5, "seconds": 1.0, "gap": None}
    names = "solver", "storage", "samples", "seconds", "gap", "version"
    text = table([row, {**row, "solver": "b"}], names, "0.3.0")
    assert text.startswith("All rows: storage lazy, measured with 0.2 (this is 0.3.0).")
    assert "| solver | n | s |" in text
    assert "measured with |" in table([row, {**row, "version": "0.3.0"}], names, "0.3.0")
