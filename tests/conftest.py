"""One thread of linear algebra for each worker, and code that is compiled before the workers begin.

With as many threads as cores in each of as many workers as cores, threads wait for each other: that takes 1.6 times the
processor time of one thread for each worker.
"""

import os
import subprocess
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy is imported; workers inherit it

WARM_UP = Path(__file__).parent / "warmup.py"
SOLVERS = Path(__file__).parents[1] / "src" / "kernelweave" / "solvers"


def pytest_sessionstart(session):
    """Compile in two processes, each its half, when there are workers to come and nothing compiled yet."""
    workers = getattr(session.config.option, "numprocesses", None)
    if workers and not session.config.option.collectonly and not any(SOLVERS.rglob("*.nbi")):
        halves = [subprocess.Popen([sys.executable, WARM_UP, half]) for half in ("0", "1")]
        if any([half.wait() for half in halves]):
            raise RuntimeError(f"{WARM_UP} failed")
