"""Lost workers, chunks that cannot be read, interruptions: the right answer, or one error in bounded time."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dask_problem

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.dataframe as dd
from distributed import Client, LocalCluster

from dask_problem import count, fail_if, frame_model, frame_of, leave, model, samples, sleep, values
from kernelweave.engines import dask_collections
from kernelweave.engines.dask import OnDask, WorkersLostError
from kernelweave.engines.dask_collections import rows_on_dask

pytestmark = pytest.mark.dask
X, Y = samples()


@pytest.fixture(autouse=True)
def small_units(monkeypatch):
    monkeypatch.setattr(dask_collections, "UNIT_ROWS", 32)


def lazy(chunks=30):
    return da.from_array(X, chunks=(chunks, 6))


@pytest.fixture
def lone_worker():
    """A cluster with one worker process that nothing restarts, its client, and the process."""
    with LocalCluster(n_workers=0, dashboard_address=None) as cluster, Client(cluster) as client:
        call = [sys.executable, "-m", "dask", "worker", cluster.scheduler_address, "--nthreads", "1"]
        paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        worker = subprocess.Popen([*call, "--no-nanny", "--no-dashboard"], env=os.environ | paths)
        try:
            client.wait_for_workers(1, timeout=40)
            yield client, worker
        finally:
            worker.kill()
            worker.wait()


def test_all_workers_lost_for_good(lone_worker, no_futures):
    client, worker = lone_worker
    with dask.config.set({"kernelweave.without-workers": "1s"}):
        engine, _ = rows_on_dask(lazy(), Y, None, "labels")
        with engine:
            engine.sum(count)
            threading.Timer(0.3, worker.kill).start()
            begun = time.monotonic()
            with pytest.raises(WorkersLostError, match="no workers for 1 s"):
                engine.sum(sleep, 1.0)
            assert time.monotonic() - begun < 15.0
        begun = time.monotonic()
        with pytest.raises(WorkersLostError, match="no workers for 1 s"):
            model().fit(lazy(), Y)  # there are none from the start
        assert time.monotonic() - begun < 15.0
    assert no_futures(client)


@pytest.mark.parametrize("with_client", [True, False])
def test_a_chunk_that_cannot_be_read(request, with_client, no_futures):
    client = request.getfixturevalue("client") if with_client else None
    parts = [
        da.from_delayed(dask.delayed(fail_if)(X[k * 60 : k * 60 + 60], k, "no disk"), shape=(60, 6), dtype=float)
        for k in range(4)
    ]
    estimator = model()
    with pytest.raises(RuntimeError, match="chunk 2 of X, .*cannot be read: OSError: no disk"):
        estimator.fit(da.concatenate(parts), Y)
    assert not hasattr(estimator, "n_features_in_") and not hasattr(estimator, "intercept_")
    assert client is None or no_futures(client)


def test_a_view_missing_in_one_chunk(client):
    frame = dd.from_pandas(frame_of(X), npartitions=4)
    lacking = frame.map_partitions(dask_problem.without_columns, meta=frame_of(X).iloc[:0])
    with pytest.raises(ValueError, match="(?s)chunk 1 of X, .*Missing: .*second__0"):
        frame_model().fit(lacking, Y)
    # NaN in all of its columns is how samples lack a view
    holes = X.copy()
    holes[60:120, 3:] = np.nan
    found = frame_model().fit(dd.from_pandas(frame_of(holes), npartitions=4), Y)
    whole = frame_model().fit(frame_of(holes), Y)
    np.testing.assert_allclose(
        found.decision_function(frame_of(holes)), whole.decision_function(frame_of(holes)), atol=1e-6
    )


def test_interrupted(client, no_futures):
    engine, _ = rows_on_dask(lazy(), Y, None, "labels")
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    begun = time.monotonic()
    with engine, pytest.raises(KeyboardInterrupt):
        engine.sum(sleep, 2.0)
    assert time.monotonic() - begun < 2.0
    assert no_futures(client)


def test_errors_of_steps_pass_unchanged(client):
    engine, _ = rows_on_dask(da.from_array(np.full((60, 6), "a", dtype=object), chunks=(30, 6)), Y[:60], None, "labels")
    with engine, pytest.raises(KeyError):
        engine.replace(values).sum(dask_problem.total)


# The cluster of all tests loses workers from here on, and starts others.


def kill_a_worker(client):
    """Kill -9 one of the worker processes."""
    address, process = next(iter(client.run(os.getpid).items()))
    os.kill(process, signal.SIGKILL)
    return address


def test_a_worker_killed_in_the_middle_of_training(client, monkeypatch, no_futures):
    whole = model().fit(X, Y)
    passes, killed, plain = [], [], OnDask.sum

    def sum_and_kill(self, function, *arguments):
        if function.__name__ == "sweep":
            passes.append(1)
        if len(passes) == 3 and not killed:
            held = {place for places in client.who_has(self.batches).values() for place in places}
            assert len(held) == 2  # both have blocks
            killed.append(kill_a_worker(client))
            assert killed[0] in held
        return plain(self, function, *arguments)

    monkeypatch.setattr(OnDask, "sum", sum_and_kill)
    found = model().fit(lazy(), Y)
    assert killed and len(passes) > 4  # some follow
    np.testing.assert_allclose(found.decision_function(X), whole.decision_function(X), atol=1e-6)
    assert no_futures(client)


def test_a_worker_killed_while_it_computes(client):
    engine, _ = rows_on_dask(lazy(), Y, None, "labels")
    with engine:
        engine.sum(count)
        threading.Timer(0.3, kill_a_worker, [client]).start()
        assert engine.sum(sleep, 0.2) == 8  # blocks


def test_a_task_that_ends_each_worker(client):
    before = client.run_on_scheduler(_allow_failures, 0)  # of the cluster that all tests share
    try:
        engine, _ = rows_on_dask(lazy(240), Y, None, "labels")
        with engine, pytest.raises(WorkersLostError, match="'leave' was lost.*memory"):
            engine.sum(leave)
    finally:
        client.run_on_scheduler(_allow_failures, before)
    client.wait_for_workers(2, timeout=40)


def _allow_failures(number, dask_scheduler):
    before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, number
    return before
