"""Sums and blocks on a cluster are those in memory."""

import time

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask.array as da
from dask.utils import key_split

import dask_problem
from dask_problem import N, count, samples, sleep, total, values
from kernelweave.engines import InMemory, dask_collections
from kernelweave.engines import dask as module
from kernelweave.engines.dask import OnDask, places_of, shares, step_name
from kernelweave.engines.dask_collections import rows_on_dask
from kernelweave.engines.reservoir import reservoir_of
from kernelweave.estimators.samples import rows_in_memory
from kernelweave.views import Views

pytestmark = pytest.mark.dask
X, Y = samples()


def engine_of(chunks=30, y=Y):
    return rows_on_dask(da.from_array(X, chunks=(chunks, 6)), y, None, "labels")[0]


@pytest.fixture
def small_units(monkeypatch):
    monkeypatch.setattr(dask_collections, "UNIT_ROWS", 32)


def test_sums_and_blocks(client, small_units):
    with engine_of() as engine:
        assert isinstance(engine, OnDask) and len(engine.batches) == 2
        np.testing.assert_array_equal(engine.sum(count), [N, N, sum(range(0, N, 30))])
        held = engine.replace(values)
        again = engine.replace(values, keep=False)
        assert held.batches != engine.batches and again.batches == engine.batches
        assert held.sum(total, 2.0) == again.sum(total, 2.0) == pytest.approx(2.0 * X[:, 0].sum(), rel=1e-12)


def test_blocks_that_nobody_uses_are_released(client, small_units, no_futures):
    with engine_of() as engine:
        assert engine.replace(values).sum(total) == pytest.approx(X[:, 0].sum())
        assert no_futures(client, but=len(engine.batches))


def test_blocks_are_on_both_workers(client, small_units):
    with engine_of() as engine:
        engine.sum(count)
        places = client.who_has(engine.batches)
        workers = [place[0] for place in places.values()]
        assert sorted(workers.count(worker) for worker in set(workers)) == [1, 1]


def test_all_is_released(client, small_units, no_futures):
    with engine_of() as engine:
        engine.replace(values).sum(total)
        engine.replace(sleep, 1.0)  # not finished when the engine is closed
        begun = time.monotonic()
    assert no_futures(client) and time.monotonic() - begun < 5.0
    assert engine_of().sum(count)[0] == N


def test_the_next_sum_does_not_wait_for_a_message(client, small_units, no_futures):
    """The futures of a sum are let go when the next has begun: the client would send that message 10 ms later."""
    with engine_of() as engine:
        held = len(engine.batches)
        for _ in range(3):
            engine.sum(count)
            client.nthreads()  # by when the client has done what it was told
            assert len(engine.last) == held and no_futures(client, but=2 * held)
            assert {future.key for future in engine.last} <= set(client.futures)
        with pytest.raises(TypeError):
            engine.sum(count, "too many arguments")
        assert no_futures(client, but=held)
    assert not engine.last and no_futures(client)


def in_turns(sizes, places, threads):
    """What two workers get that have every other unit."""
    return [(worker, list(range(first, len(sizes), 2))) for first, worker in enumerate(sorted(threads))]


@pytest.mark.parametrize("dealt", [shares, in_turns])
def test_the_reservoir_does_not_depend_on_chunks(client, small_units, monkeypatch, dealt):
    monkeypatch.setattr(dask_collections, "shares", dealt)
    alone = rows_in_memory(Views(X), Y, np.ones(N)).sum(reservoir_of, 50, 3)
    for chunks in (30, (100, 139, 1)):
        with engine_of(chunks) as engine:
            found = engine.sum(reservoir_of, 50, 3)
        np.testing.assert_array_equal(found.positions, alone.positions)
        np.testing.assert_array_equal(found.views.X, X[found.positions])
        np.testing.assert_array_equal(found.y, Y[found.positions])


def test_without_a_client_blocks_are_in_memory(small_units):
    engine = engine_of()
    assert isinstance(engine, InMemory)
    np.testing.assert_array_equal(engine.sum(count), [N, N, sum(range(0, N, 30))])


def test_many_batches_are_added_on_the_workers(client, small_units, monkeypatch):
    monkeypatch.setattr(module, "FAN_IN", 2)
    monkeypatch.setattr(
        dask_collections, "shares", lambda sizes, places, threads: [("", [k]) for k in range(len(sizes))]
    )
    with engine_of() as engine:
        assert len(engine.batches) == 8
        np.testing.assert_array_equal(engine.sum(count), [N, N, sum(range(0, N, 30))])


def test_each_thread_has_as_many_samples():
    sizes = [10] * 20
    interleaved = shares(sizes, ["a", "b"] * 10, {"a": 1, "b": 1})
    assert interleaved == [("a", list(range(0, 20, 2))), ("b", list(range(1, 20, 2)))]  # nothing moves
    for places in (["a"] * 20, ["a"] * 13 + ["b"] * 7, [None] * 20):
        found = shares(sizes, places, {"a": 1, "b": 3})
        assert sorted(unit for _, units in found for unit in units) == list(range(20))
        assert [len(units) for _, units in found] == [5] * 4 and sum(worker == "b" for worker, _ in found) == 3
    assert shares([7], ["b"], {"a": 2, "b": 1}) == [("b", [0])]
    # half of one too many is let be, more is moved
    assert shares([10, 10, 10], ["a"] * 3, {"a": 1, "b": 1}) == [("a", [0, 1]), ("b", [2])]


def test_batches_stay_where_they_are(client, small_units):
    """Also where the arguments of a step, which are large, are on one worker."""
    with engine_of() as engine:
        engine.sum(count)
        made = engine.replace(dask_problem.shifted, np.zeros(10**6))
        made.sum(total)
        for batches in (engine.batches, made.batches):
            holders = client.who_has(batches)
            assert [list(holders[batch.key]) for batch in batches] == [[place] for place in engine.places]


def test_steps_have_names():
    from functools import partial

    from kernelweave.engines.primal import sweep

    assert step_name(sweep) == "pass"
    assert step_name(partial(partial(reservoir_of, size=3), seed=4)) == "reservoir"
    assert key_split((f"{step_name(values)}-0123456789abcdef0123456789abcdef", 3)) == "values"


class _Workers:
    def nthreads(self):
        return {"a": 1, "b": 3}


def test_chunks_are_placed_by_threads():
    lazy = da.from_array(X, chunks=(30, 6))
    assert places_of(_Workers(), lazy, 8) == ["a"] * 2 + ["b"] * 6
