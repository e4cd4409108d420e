"""``--dask ADDRESS``: folds on a cluster, whose workers read the files; the answers are those without it."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest

from dask_cluster import client, time_limit  # noqa: F401
from experiments.command import main as run_experiments
from kernelweave.cli import compare as module
from kernelweave.cli import main
from kernelweave.compare.report import FittedModels
from small_experiment import SMALL

pytest.importorskip("distributed")


pytestmark = pytest.mark.dask
CALL = ["compare", "rna.csv", "lab.csv", "--target", "labels.csv:ill", "--methods", "alone", "mean", "--quick"]
CALL += ["--folds", "2", "--jobs", "1"]
N = 80


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    ids = pd.Index([f"p{i}" for i in range(N)], name="sample")
    signal = np.tile([0.0, 3.0], N // 2)
    pd.DataFrame({"g1": rng.normal(size=N) + signal, "g2": rng.normal(size=N)}, index=ids).to_csv(tmp_path / "rna.csv")
    pd.DataFrame({"crp": rng.normal(size=N)}, index=ids).to_csv(tmp_path / "lab.csv")
    pd.DataFrame({"ill": np.where(signal > 0, "yes", "no")}, index=ids).to_csv(tmp_path / "labels.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "write_models", lambda out, *rest, **options: out / "best.kw")
    monkeypatch.setattr(module, "write_report", lambda out, *rest, **options: out / "report.html")
    monkeypatch.setattr(module, "fitted_models", lambda *arguments, **options: FittedModels(None))
    return tmp_path


def cells_of(folder):
    found = {}
    for path in sorted(folder.rglob("fold-*.json")):
        records = json.loads(path.read_text())["records"]
        found[str(path.relative_to(folder))] = [
            {name: value for name, value in record.items() if name != "seconds"} for record in records
        ]
    return found


@pytest.fixture
def shipped(monkeypatch):
    """Bytes of each graph that a client sends, and of each result that it fetches."""
    from cloudpickle import dumps
    from distributed import Client

    sizes, get, gather = [], Client.get, Client.gather

    def counted_get(self, graph, *arguments, **options):
        futures = {task for tasks in graph.values() for task in tasks if hasattr(task, "release")}
        assert not futures  # nothing that is on the workers already
        sizes.append(len(dumps(graph)))
        return get(self, graph, *arguments, **options)

    def counted_gather(self, futures, **options):
        found = gather(self, futures, **options)

        async def results():
            values = await found
            sizes.append(len(pickle.dumps(values)))
            return values

        return results()

    monkeypatch.setattr(Client, "get", counted_get)
    monkeypatch.setattr(Client, "gather", counted_gather)
    monkeypatch.setattr(Client, "scatter", None)
    return sizes


def test_compare(client, folder, capsys, shipped):  # noqa: F811
    assert main([*CALL, "--out", "here"]) == 0
    table = capsys.readouterr().out
    assert not shipped
    assert main([*CALL, "--out", "there", "--dask", client.scheduler.address]) == 0
    printed = capsys.readouterr().out
    assert "Comparing 3 methods" in printed
    assert timeless(printed).replace("there", "here") == timeless(table)
    assert cells_of(folder / "here") == cells_of(folder / "there") != {}
    # one graph and a result for each fold; neither X nor a Gram matrix of the samples that train is among them
    assert len(shipped) == 3 and max(shipped) < 8 * (N // 2) ** 2


def timeless(table):
    """A printed table without its column of seconds, which follows the number of stored samples."""
    found, count = re.subn(r"(?m)(\d+|-) +\d+\.\d( +(?:baseline|[-+]))", r"\1\2", table)
    assert count == 3
    return found


def test_reproduce(client, tmp_path, capsys, monkeypatch, shipped):  # noqa: F811
    monkeypatch.setattr("experiments.command.find_experiment", lambda name: SMALL)
    call = ["reproduce", "small", "--quick", "--jobs", "1", "--output"]
    assert run_experiments([*call, str(tmp_path / "here")]) == 0
    assert not shipped
    assert run_experiments([*call, str(tmp_path / "there"), "--dask", client.scheduler.address]) == 0
    assert cells_of(tmp_path / "here") == cells_of(tmp_path / "there") != {}
    here, there = (json.loads((tmp_path / name / "table-small-quick.json").read_text()) for name in ("here", "there"))
    assert without_times(here) == without_times(there)
    assert len(shipped) >= 2 and max(shipped) < 8 * 50**2  # a fold of IRIS trains with more than 50 samples
    capsys.readouterr()


def without_times(content):
    """The content of a report without seconds, dates and versions."""
    return {name: _without_seconds(value) for name, value in content.items() if name in ("methods", "tests", "counts")}


def _without_seconds(value):
    if isinstance(value, dict):
        return {name: _without_seconds(entry) for name, entry in value.items() if "seconds" not in name}
    return [_without_seconds(entry) for entry in value] if isinstance(value, list) else value


def test_reproduce_an_unknown_table(client, tmp_path, capsys):  # noqa: F811
    call = ["reproduce", "no such table", "--output", str(tmp_path), "--dask", client.scheduler.address]
    assert run_experiments(call) == 2 and "no such table" in capsys.readouterr().err


def test_no_scheduler(folder, capsys, monkeypatch):
    monkeypatch.setattr("kernelweave.engines.dask.CONNECT", "1s")
    assert main([*CALL, "--out", "out", "--dask", "tcp://127.0.0.1:9"]) == 2
    assert "there is no Dask scheduler at tcp://127.0.0.1:9" in capsys.readouterr().err
