"""A cluster of two local processes for all tests that need one, and a time limit for each of them."""

import atexit
import faulthandler
import signal
import threading
import time
from functools import cache

import pytest

SECONDS = 90  # that a test may take, most of them for code that is compiled once


@pytest.fixture(autouse=True)
def time_limit():
    """A test that hangs fails after a while; where even that is not possible the run ends."""

    def too_late(*_):
        pytest.fail(f"the test took more than {SECONDS} s")  # no TimeoutError, which waits of Dask end with

    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(SECONDS)
    faulthandler.dump_traceback_later(2 * SECONDS, exit=True)
    try:
        yield
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


@cache
def the_cluster():
    """One for the whole run, which ends with the process."""
    from distributed import LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)

    def end():
        cluster.close()
        the_cluster.cache_clear()  # before the interpreter takes apart what the cluster's destructor needs

    atexit.register(end)
    return cluster


@pytest.fixture
def client():
    """A client of the two workers, both of them there."""
    from distributed import Client

    with Client(the_cluster()) as client:
        client.wait_for_workers(2, timeout=30)
        yield client


@pytest.fixture
def no_futures():
    return _no_futures


def _no_futures(client, seconds=20.0, but=0):
    """Whether a client holds so many only, or lets go of all others soon: releasing is asynchronous."""
    end = time.monotonic() + seconds
    while len(client.futures) > but and time.monotonic() < end:
        time.sleep(0.05)
    return len(client.futures) == but
