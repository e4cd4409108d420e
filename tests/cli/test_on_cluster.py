"""``--dask ADDRESS``: folds on a cluster, whose workers read the files."""

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed")

from dask_cluster import client, time_limit  # noqa: F401
from kernelweave.cli import compare as module
from kernelweave.cli import main

pytestmark = pytest.mark.dask
CALL = ["compare", "rna.csv", "lab.csv", "--target", "labels.csv:ill", "--methods", "alone", "mean", "--quick"]
CALL += ["--folds", "2", "--jobs", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    ids = pd.Index([f"p{i}" for i in range(48)], name="sample")
    signal = np.tile([0.0, 3.0], 24)
    pd.DataFrame({"g1": rng.normal(size=48) + signal, "g2": rng.normal(size=48)}, index=ids).to_csv(
        tmp_path / "rna.csv"
    )
    pd.DataFrame({"crp": rng.normal(size=48)}, index=ids).to_csv(tmp_path / "lab.csv")
    pd.DataFrame({"ill": np.where(signal > 0, "yes", "no")}, index=ids).to_csv(tmp_path / "labels.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "write_results", lambda out, *rest, **options: [out / "report.html", out / "best.kw"])
    monkeypatch.setattr(module, "fitted_models", lambda *arguments, **options: None)
    return tmp_path


def cells_of(folder):
    found = {}
    for path in sorted(folder.rglob("fold-*.json")):
        records = json.loads(path.read_text())["records"]
        found[str(path.relative_to(folder))] = [
            {name: value for name, value in record.items() if name != "seconds"} for record in records
        ]
    return found


def test_compare(client, folder, capsys):  # noqa: F811
    assert main([*CALL, "--out", "here"]) == 0
    assert main([*CALL, "--out", "there", "--dask", client.scheduler.address]) == 0
    assert "Comparing 3 methods" in capsys.readouterr().out
    assert cells_of(folder / "here") == cells_of(folder / "there") != {}


def test_reproduce(client, tmp_path, capsys):  # noqa: F811
    call = ["reproduce", "no such table", "--output", str(tmp_path), "--dask", client.scheduler.address]
    assert main(call) == 2 and "no such table" in capsys.readouterr().err


def test_no_scheduler(folder, capsys, monkeypatch):
    monkeypatch.setattr("kernelweave.engines.cluster.waiting.CONNECT", "1s")
    assert main([*CALL, "--out", "out", "--dask", "tcp://127.0.0.1:9"]) == 2
    assert "there is no Dask scheduler at tcp://127.0.0.1:9" in capsys.readouterr().err
