"""All experiments: one module of `tables` each, found by itself."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache

from . import tables
from .collection import Collection
from .comparison import Comparison
from .declaration import Experiment

AnyExperiment = Experiment | Collection | Comparison


@cache
def _all() -> dict[str, AnyExperiment]:
    names = sorted((module.name for module in pkgutil.iter_modules(tables.__path__)), key=_by_number)
    found = [importlib.import_module(f"{tables.__name__}.{name}").EXPERIMENT for name in names]
    return {experiment.name: experiment for experiment in found}


def _by_number(module: str) -> str:
    """A key by which 5_6 comes before 5_10."""
    return re.sub(r"\d+", lambda number: number.group().zfill(4), module)


def list_experiments() -> list[AnyExperiment]:
    """Every experiment, in the order of the tables.

    Examples
    --------
    >>> from kernelweave.experiments import list_experiments
    >>> "5.16" in [experiment.name for experiment in list_experiments()]
    True
    """
    return list(_all().values())


def find_experiment(name: str) -> AnyExperiment:
    """An experiment by the number of its table.

    Parameters
    ----------
    name : str
        Such as ``"5.16"``, ``"table-5.16"`` or ``"skfe-3"``; one data set of a collection as ``"5.10-heart"``.

    Examples
    --------
    >>> from kernelweave.experiments import find_experiment
    >>> find_experiment("table-5.16").dataset
    'multifeat'
    """
    known = _all()
    short = name.lower().removeprefix("table").lstrip(" -_")
    members = {member.name: member for experiment in known.values() for member in experiment.members}
    if short not in known | members:
        raise ValueError(f"there is no experiment {name!r}; the experiments are {', '.join(known)}")
    return (members | known)[short]
