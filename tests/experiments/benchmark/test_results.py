"""Cells as a table, the compact file of it, and the standings."""

import json

import numpy as np
import pandas as pd
import pytest

from experiments.benchmark import read_results, save_results
from experiments.benchmark.results import COLUMNS, standings


def made_up(**accuracies):
    """Two splits of sets by method; None where the method failed."""
    rows = []
    for method, by_set in accuracies.items():
        for name, accuracy in by_set.items():
            for split in (0, 1):
                row = dict.fromkeys(COLUMNS, np.nan) | {"set": name, "kind": "views", "method": method, "split": split}
                row |= {"family": "entry", "setting": "", "digest": "abc", "n_train": 10, "n_test": 20}
                row |= {"failed": "no luck" if accuracy is None else "", "accuracy": accuracy, "seconds": 1 / 3}
                rows.append(row)
    return pd.DataFrame(rows)[list(COLUMNS)]


def test_standings_rank_by_set_and_failures_are_last():
    cells = made_up(good={"x": 0.9, "y": 0.8}, tied={"x": 0.9, "y": 0.7}, fails={"x": None, "y": 0.9})
    found = standings(cells)
    assert found["rank"].to_dict() == {"good": 1.75, "fails": 2.0, "tied": 2.25}
    assert found.loc["fails", "failed"] == 1 and found.loc["fails", "accuracy"] == pytest.approx(0.9)


def test_standings_count_only_the_sets_that_all_methods_have():
    cells = made_up(good={"x": 0.9, "y": 0.1}, other={"x": 0.8})
    found = standings(cells)
    assert found["rank"].to_dict() == {"good": 1.0, "other": 2.0}
    assert found["sets"].to_dict() == {"good": 2, "other": 1}


def test_a_file_holds_the_table(tmp_path):
    cells = made_up(good={"x": 0.9}, fails={"x": None})
    save_results(cells, tmp_path / "results.json")
    found = read_results(tmp_path / "results.json")
    assert list(found.columns) == list(COLUMNS)
    both = [frame.sort_values(["method", "split"]).reset_index(drop=True) for frame in (found, cells)]
    assert np.allclose(both[0]["seconds"], 1 / 3, rtol=1e-5)
    assert np.allclose(both[0]["accuracy"], both[1]["accuracy"].astype(float), equal_nan=True)
    assert list(both[0]["failed"]) == list(both[1]["failed"])
    assert found["n_train"].dtype.kind == "i" and np.isnan(found["stored"]).all()


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.json"
    for text in ("[]", "nothing", json.dumps({"columns": {}})):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"other.json is no file of results"):
            read_results(path)
    path.write_text(json.dumps({"format": 99, "columns": {}}))
    with pytest.raises(ValueError, match="another format"):
        read_results(path)
