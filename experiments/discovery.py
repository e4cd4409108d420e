"""All experiments: the tuples `EXPERIMENTS` of the modules of `tables` and of `defaults`."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from experiments import defaults, tables
from experiments.declaration import DEFAULT, Collection, Experiment
from kernelweave.compare import Comparison

AnyExperiment = Experiment | Collection | Comparison


@cache
def _tables() -> dict[str, AnyExperiment]:
    """Those with a name first, the numbered tables of the thesis last; 5.6 before 5.10."""
    modules = [import_module(f"{tables.__name__}.{found.name}") for found in iter_modules(tables.__path__)]
    every = {experiment.name: experiment for module in modules for experiment in module.EXPERIMENTS}
    return {name: every[name] for name in sorted(every, key=_by_number)}


def _by_number(name: str) -> tuple[bool, str]:
    return name[0].isdigit(), re.sub(r"\d+", lambda number: number.group().zfill(4), name)


def list_experiments() -> list[AnyExperiment]:
    """Every table of the papers, in their order.

    Examples
    --------
    >>> from experiments import list_experiments
    >>> "5.16" in [experiment.name for experiment in list_experiments()]
    True
    """
    return list(_tables().values())


def find_experiment(name: str) -> AnyExperiment:
    """An experiment by the number of its table.

    Parameters
    ----------
    name : str
        Such as ``"5.16"``, ``"table-5.16"`` or ``"skfe-3"``; one data set of a collection as ``"5.10-heart"``.

    Examples
    --------
    >>> from experiments import find_experiment
    >>> find_experiment("table-5.16").dataset
    'multifeat'
    """
    known = _tables()
    short = name.lower().removeprefix("table").lstrip(" -_")
    members = {member.name: member for experiment in known.values() for member in experiment.members}
    if short not in known | members:
        raise ValueError(f"there is no experiment {name!r}; the experiments are {', '.join(known)}")
    return (members | known)[short]


def list_defaults() -> list[Comparison]:
    """Every comparison of a default with its alternatives, by name.

    Examples
    --------
    >>> from experiments import list_defaults
    >>> "default-multiclass" in [comparison.name for comparison in list_defaults()]
    True
    """
    return sorted(defaults.EXPERIMENTS, key=lambda comparison: comparison.name)


def find_default(name: str) -> Comparison:
    """A comparison of a default with its alternatives.

    Parameters
    ----------
    name : str
        Such as ``"multiclass"`` or ``"default-multiclass"``.

    Examples
    --------
    >>> from experiments import find_default
    >>> find_default("multiclass").title
    'More than two classes'
    """
    known = {comparison.name.removeprefix(DEFAULT): comparison for comparison in list_defaults()}
    short = name.lower().removeprefix(DEFAULT)
    if short not in known:
        raise ValueError(f"there is no default {name!r} to compare; the defaults are {', '.join(known)}")
    return known[short]
