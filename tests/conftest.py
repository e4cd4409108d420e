"""One thread of linear algebra for each worker, code that is compiled once, and the same random numbers.

With as many threads as cores in each of as many workers as cores, threads wait for each other: that takes 1.6 times the
processor time of one thread for each worker.

Which tests a worker runs differs from run to run, so random numbers from a generator of a test's module must not depend
on the tests before it.
"""

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy is imported; workers inherit it

# Bytecode is kept, as numba's compiled code in the same folders is: without it each process compiles all modules again,
# which takes half of the time of collecting the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Shells ignore Ctrl-C for what they run in the background, and processes that tests start inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

import numpy as np  # noqa: E402

WARM_UP = Path(__file__).parent / "warmup.py"
SOLVERS = Path(__file__).parents[1] / "src" / "kernelweave" / "solvers"


def pytest_sessionstart(session):
    """Compile in two processes, each its half, when there are workers to come and nothing compiled yet."""
    workers = getattr(session.config.option, "numprocesses", None)
    if workers and not session.config.option.collectonly and not any(SOLVERS.rglob("*.nbi")):
        halves = [subprocess.Popen([sys.executable, WARM_UP, half]) for half in ("0", "1")]
        if any([half.wait() for half in halves]):
            raise RuntimeError(f"{WARM_UP} failed")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect without the garbage collector, which looks at all tests again and again: a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


_states = {}  # of each generator, when the first test of its module began


@pytest.fixture(autouse=True)
def same_random_numbers_in_any_order(request):
    """Set the generators of the test's module back to where they were after its import."""
    for value in list(vars(getattr(request.node, "module", None) or object).values()):
        if isinstance(value, np.random.Generator):
            value.bit_generator.state = _states.setdefault(id(value), value.bit_generator.state)
