"""All experiments: one module of `tables` each, found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from . import tables
from .declaration import Experiment


@cache
def _all() -> dict[str, Experiment]:
    names = sorted(module.name for module in pkgutil.iter_modules(tables.__path__))
    found = [importlib.import_module(f"{tables.__name__}.{name}").EXPERIMENT for name in names]
    return {experiment.name: experiment for experiment in found}


def list_experiments() -> list[Experiment]:
    """Every experiment, in the order of the tables.

    Examples
    --------
    >>> from kernelweave.experiments import list_experiments
    >>> "5.16" in [experiment.name for experiment in list_experiments()]
    True
    """
    return list(_all().values())


def find_experiment(name: str) -> Experiment:
    """An experiment by the number of its table.

    Parameters
    ----------
    name : str
        Such as ``"5.16"`` or ``"table-5.16"``.

    Examples
    --------
    >>> from kernelweave.experiments import find_experiment
    >>> find_experiment("table-5.16").dataset
    'multifeat'
    """
    known = _all()
    short = name.lower().removeprefix("table").lstrip(" -_")
    if short not in known:
        raise ValueError(f"there is no experiment {name!r}; the experiments are {', '.join(known)}")
    return known[short]
