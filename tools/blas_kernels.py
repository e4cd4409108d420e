"""Run the numerical tests under other BLAS kernels than those that OpenBLAS chooses for this processor.

python tools/blas_kernels.py [--one] [options of pytest]

Another processor rounds differently, because OpenBLAS has other kernels for it. ``OPENBLAS_CORETYPE`` chooses those of
an older processor on a newer one. Each core type that this processor can run and whose kernels are built in is tested,
with 1 and 2 threads; with ``--one`` the newest that differs from what other runs have here, on a quick selection and
with 1 thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
CPUINFO = Path("/proc/cpuinfo")
#: Core types, the flags of a processor that runs their kernels, and what OpenBLAS may call these: a wheel of NumPy or
#: SciPy has kernels for some types only, and one that it lacks is served by those of its nearest ancestor.
CORES = {
    "Prescott": ({"pni"}, {"Prescott", "Katmai"}),
    "Haswell": ({"avx2", "fma"}, {"Haswell"}),
    "SkylakeX": ({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}, {"SkylakeX"}),
    "Zen": ({"avx2", "fma"}, {"Zen", "Haswell"}),
}
PACKAGES = ("solvers", "machines", "engines", "stacks", "combiners", "kernels", "features", "estimators")
NUMERICAL = [*(f"tests/{name}" for name in PACKAGES), "tests/test_storage.py"]
QUICK = ["tests/solvers", "tests/machines", "tests/engines/training", "tests/features"]
MARKS = "not dask and not long"
ASK = (
    "import json, numpy, scipy.linalg, threadpoolctl;"
    "print(json.dumps([each.get('architecture') for each in threadpoolctl.threadpool_info()"
    " if each['internal_api'] == 'openblas']))"
)


def flags(cpuinfo: str) -> set[str]:
    """The flags of a processor, from the text that Linux has of it.

    >>> sorted(flags("model : 2\\nflags : pni avx2\\n"))
    ['avx2', 'pni']
    """
    lines = (line.partition(":") for line in cpuinfo.splitlines())
    return {flag for name, _, value in lines if name.strip() == "flags" for flag in value.split()}


def cores_of(known: set[str]) -> list[str]:
    """The core types whose kernels run on a processor with these flags.

    >>> cores_of({"pni", "avx2", "fma"})
    ['Prescott', 'Haswell', 'Zen']
    """
    return [name for name, (needed, _) in CORES.items() if needed <= known]


def architectures(core: str | None) -> tuple[str, ...]:
    """What the OpenBLAS of NumPy and that of SciPy compute with, in a process with this core type."""
    found = subprocess.run([sys.executable, "-c", ASK], env=environment(core, 1), capture_output=True, check=True)
    return tuple(json.loads(found.stdout))


def environment(core: str | None, threads: int) -> dict[str, str]:
    """The variables of a process with a core type; None is that of other runs."""
    found = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    return found if core is None else {**found, "OPENBLAS_CORETYPE": core}


def chosen() -> dict[str, tuple[str, ...]]:
    """Core types to test, with what they are served by; each set of kernels once.

    Raises
    ------
    SystemExit
        Where a core type that this processor can run is not what its process computes with.
    """
    known = flags(CPUINFO.read_text()) if CPUINFO.exists() else set()
    found: dict[str, tuple[str, ...]] = {}
    for core in cores_of(known):
        served = architectures(core)
        if not served:
            print("NumPy and SciPy have no OpenBLAS here, so that OPENBLAS_CORETYPE changes nothing")
            return {}
        if not set(served) <= CORES[core][1]:
            sys.exit(f"OPENBLAS_CORETYPE={core} has no effect: NumPy and SciPy compute with {', '.join(served)}")
        if served in found.values():
            print(f"{core}: the same kernels as {next(name for name, own in found.items() if own == served)} here")
        else:
            found[core] = served
    left_out = [core for core in CORES if core not in cores_of(known)]
    if left_out:
        print(f"not run by this processor, or its flags are not known: {', '.join(left_out)}")
    return found


def status_of(core: str | None, threads: int, options: list[str]) -> int:
    """The exit status of pytest under a core type."""
    begun = time.monotonic()
    print(f"== OPENBLAS_CORETYPE={core or '(default)'}, {threads} thread{'s' * (threads > 1)}", flush=True)
    command = [sys.executable, "-m", "pytest", "-m", MARKS, "-n", str(2 // threads), "--dist", "worksteal", *options]
    status = subprocess.run(command, env=environment(core, threads), cwd=ROOT).returncode
    print(f"== {'FAILED' if status else 'passed'} in {time.monotonic() - begun:.0f} s", flush=True)
    return status


def main(arguments: list[str]) -> int:
    """Run them; the exit status is 0 where all pass."""
    cores = chosen()
    if "--one" in arguments:
        usual = architectures(None)
        others = [core for core, served in cores.items() if served != usual]
        options = [*QUICK, *(each for each in arguments if each != "--one")]
        return status_of(others[-1] if others else None, 1, options)
    runs = [(core, threads) for core in cores or [None] for threads in (1, 2)]
    return max(status_of(core, threads, [*NUMERICAL, *arguments]) for core, threads in runs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
