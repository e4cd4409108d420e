"""`show_versions`: what a report of a bug should name of the machine and of the installed packages."""

from __future__ import annotations

import platform
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from ._version import __version__

DEPENDENCIES = (
    *("numpy", "scipy", "scikit-learn", "numba", "clarabel", "pandas", "joblib", "threadpoolctl", "rich", "jinja2"),
    "array-api-compat",
    "llvmlite",  # numba's compiler
)
OPTIONAL = {
    "matplotlib": "plot",
    "pyarrow": "parquet",
    "mudata": "mudata",
    "torch": "torch",
    "dask": "dask",
    "distributed": "dask",
    "scikit-survival": "survival",
    "polars": "",
}  # and the extra that has it


def show_versions() -> None:
    """Print the versions of Python, Kernelweave and the packages that it uses, and the thread pools in use.

    Paste what it prints into a report of a bug.

    Examples
    --------
    >>> import kernelweave
    >>> kernelweave.show_versions()
    System:
        python: 3...
    """
    import threadpoolctl

    parts = {
        "System": {
            "python": sys.version.replace("\n", " "),
            "executable": sys.executable,
            "platform": platform.platform(),
        },
        "Packages": {"kernelweave": __version__, **{name: _version(name) for name in DEPENDENCIES}},
        "Optional packages": {name: _version(name, extra) for name, extra in OPTIONAL.items()},
        "numba": _numba(),
    }
    for title, entries in parts.items():
        _print(title, entries)
    for module in ("numpy", "scipy.linalg", "sklearn"):  # their libraries are seen once they are loaded
        import_module(module)
    for pool in threadpoolctl.threadpool_info():
        _print("Thread pool", {name: str(value) for name, value in pool.items()})


def _version(name: str, extra: str = "") -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return f"not installed (kernelweave[{extra}])" if extra else "not installed"


def _numba() -> dict[str, str]:
    from numba import config

    return {
        "threads": str(config.NUMBA_NUM_THREADS),
        "threading layer": str(config.THREADING_LAYER),
        "compiled": "no (NUMBA_DISABLE_JIT is set)" if config.DISABLE_JIT else "yes",
    }


def _print(title: str, entries: dict[str, str]) -> None:
    print(f"{title}:")
    width = max(len(name) for name in entries)
    for name, value in entries.items():
        print(f"  {name:>{width}}: {value}")
    print()
