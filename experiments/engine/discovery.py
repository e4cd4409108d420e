"""All experiments: each is declared by one module below `tables` or `defaults`, and found by walking these folders."""

from __future__ import annotations

import importlib
import pkgutil
import re
from functools import cache
from types import ModuleType

from .. import defaults, tables
from .collection import Collection
from .comparison import DEFAULT, Comparison
from .declaration import Experiment

AnyExperiment = Experiment | Collection | Comparison


@cache
def _all(package: ModuleType) -> dict[str, AnyExperiment]:
    walked = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    names = sorted((module.name for module in walked if not module.ispkg), key=_by_number)
    found = [importlib.import_module(name).EXPERIMENT for name in names]
    return {experiment.name: experiment for experiment in found}


def _by_number(module: str) -> str:
    """A key that orders modules by name, not by folder, with 5_6 before 5_10."""
    return re.sub(r"\d+", lambda number: number.group().zfill(4), module.rpartition(".")[2])


def list_experiments() -> list[AnyExperiment]:
    """Every table of the papers, in their order.

    Examples
    --------
    >>> from kernelweave.experiments import list_experiments
    >>> "5.16" in [experiment.name for experiment in list_experiments()]
    True
    """
    return list(_all(tables).values())


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
    known = _all(tables)
    short = name.lower().removeprefix("table").lstrip(" -_")
    members = {member.name: member for experiment in known.values() for member in experiment.members}
    if short not in known | members:
        raise ValueError(f"there is no experiment {name!r}; the experiments are {', '.join(known)}")
    return (members | known)[short]


def list_defaults() -> list[Comparison]:
    """Every comparison of a default with its alternatives, by name.

    Examples
    --------
    >>> from kernelweave.experiments import list_defaults
    >>> "default-multiclass" in [comparison.name for comparison in list_defaults()]
    True
    """
    return [found for found in _all(defaults).values() if isinstance(found, Comparison)]


def find_default(name: str) -> Comparison:
    """A comparison of a default with its alternatives.

    Parameters
    ----------
    name : str
        Such as ``"multiclass"`` or ``"default-multiclass"``.

    Examples
    --------
    >>> from kernelweave.experiments import find_default
    >>> find_default("multiclass").title
    'More than two classes'
    """
    known = {comparison.name.removeprefix(DEFAULT): comparison for comparison in list_defaults()}
    short = name.lower().removeprefix(DEFAULT)
    if short not in known:
        raise ValueError(f"there is no default {name!r} to compare; the defaults are {', '.join(known)}")
    return known[short]
