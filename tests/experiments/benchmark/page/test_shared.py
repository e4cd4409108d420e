"""Which cells methods are compared on."""

import numpy as np

from experiments.benchmark.page.ranks import shared_cells
from made_up_cells import made_up_cells


def test_more_splits_of_one_method_do_not_count():
    cells = made_up_cells(["heart", "sonar"], splits=4)
    given = cells[(cells["split"] < 2) | (cells["method"] == "LpMKL")]
    shared = shared_cells(given)
    assert set(shared.cells["split"]) == {0, 1}
    assert shared.present.to_numpy().all()
    expected = cells[(cells["split"] < 2) & (cells["method"] == "LpMKL")].groupby("set")["accuracy"].mean()
    assert np.allclose(shared.table("accuracy")["LpMKL"], expected[["heart", "sonar"]])


def test_a_method_without_the_common_split_is_missing():
    cells = made_up_cells(["heart", "sonar"])
    is_late = (cells["method"] == "LpMKL") & (cells["set"] == "sonar") & (cells["split"] == 0)
    is_other = (cells["method"] != "LpMKL") & (cells["set"] == "sonar") & (cells["split"] > 0)
    shared = shared_cells(cells[~is_other & ~is_late])
    assert not shared.present.loc["sonar", "LpMKL"]
    assert shared.present.to_numpy().sum() == shared.present.size - 1
    assert np.isnan(shared.table("accuracy").loc["sonar", "LpMKL"])


def test_one_failed_split_is_a_failure():
    cells = made_up_cells(["heart"])
    first = cells.index[(cells["method"] == "LpMKL") & (cells["split"] == 1)]
    cells.loc[first, "failed"] = "no luck"
    shared = shared_cells(cells)
    assert shared.failed.loc["heart", "LpMKL"] and shared.failed.to_numpy().sum() == 1
    assert np.isnan(shared.table("accuracy").loc["heart", "LpMKL"])


def test_kinds():
    shared = shared_cells(made_up_cells())
    assert list(shared.of_kind("masked").present.index) == ["multifeat-random", "cora-random", "cora-block"]
    assert shared.of_kind(None) is shared
    assert shared.kinds["heart"] == "kernels" and shared.families["LpMKL"] == "kernelweave"
