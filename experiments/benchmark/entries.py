"""Methods of the benchmark as entries: files with a ``NAME`` and a function ``candidates(problem)``.

The library's own methods and the rivals are such files in `methods`; a method of somebody else's is one more, given as
``python -m experiments benchmark --entry FILE.py``. An entry is sent to other processes by the name of its file, and is
loaded where it runs.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin

from experiments.benchmark import methods
from experiments.benchmark.selection import BUDGET, BudgetedSelection
from kernelweave.compare import Problem

EXAMPLE = "docs/benchmark_enter.md shows one"


@dataclass(frozen=True)
class Entry:
    """One method of the benchmark.

    Attributes
    ----------
    name : str
        What tables call it.
    source : str
        The module, or the file, that declares it.
    family : {"kernelweave", "rival", "entry"}
    version : str
        A digest of the file, for entries of others: a cell of another version is computed again.
    max_seconds : float or None
        As of `BudgetedSelection`.

    Examples
    --------
    >>> from experiments.benchmark.data_sets import find_data_set
    >>> from experiments.benchmark.entries import find_method
    >>> entry = find_method("logistic regression")
    >>> list(entry(find_data_set("wdbc")(None))["logistic regression"].candidates)[:2]
    ['C=1', 'C=0.1']
    """

    name: str
    source: str
    _: KW_ONLY
    family: str = "entry"
    version: str = ""
    max_seconds: float | None = None

    def __call__(self, problem: Problem) -> dict[str, BudgetedSelection]:
        """The method for a problem: the selection among its settings.

        Parameters
        ----------
        problem : Problem
        """
        declared = _load_file(self.source) if self.family == "entry" else import_module(self.source)
        try:
            found = declared.candidates(problem)
        except Exception as error:  # it cannot do this data set; the reason is recorded in the cells
            found = {"": Refused(f"candidates(problem) raised {type(error).__name__}: {error}")}
        settings = _checked(found, self.source)
        return {self.name: BudgetedSelection(settings, max_seconds=self.max_seconds, version=self.version)}


class Refused(ClassifierMixin, BaseEstimator):
    """In place of settings that could not be had: `fit` raises the reason.

    Parameters
    ----------
    reason : str

    Examples
    --------
    >>> from experiments.benchmark.entries import Refused
    >>> Refused("it needs two views").fit([[0.0], [1.0]], [0, 1])
    Traceback (most recent call last):
        ...
    ValueError: it needs two views
    """

    def __init__(self, reason: str):
        self.reason = reason

    def fit(self, X: Any, y: Any) -> Refused:
        """Raise the reason.

        Parameters
        ----------
        X, y : ignored
        """
        raise ValueError(self.reason)


def load_entry(path: Any) -> Entry:
    """The method that a file declares.

    Parameters
    ----------
    path : path
        A Python file with ``NAME`` and ``candidates``. It is run: load only files that you trust.

    Raises
    ------
    FileNotFoundError, ValueError
        One that names the file and what to do.
    """
    file = Path(path).absolute()
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r} to enter; --entry takes a Python file, {EXAMPLE}")
    declared = _load_file(str(file))
    name = getattr(declared, "NAME", None)
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{path}: NAME must be the name of the method, such as NAME = 'my method'; {EXAMPLE}")
    if not callable(getattr(declared, "candidates", None)):
        raise ValueError(
            f"{path}: there is no function candidates(problem), which returns a dict from label to unfitted "
            f"classifier; {EXAMPLE}"
        )
    if name in {entry.name for entry in list_methods()}:
        raise ValueError(f"{path}: the benchmark has a method {name!r} already; choose another NAME")
    return Entry(name, str(file), version=hashlib.sha256(file.read_bytes()).hexdigest()[:16])


def list_methods() -> list[Entry]:
    """All methods of the library and all rivals, those too whose packages are absent.

    Examples
    --------
    >>> from experiments.benchmark.entries import list_methods
    >>> [entry.name for entry in list_methods() if entry.family == "rival"][:2]
    ['gradient boosting', 'himalaya ridge']
    """
    found = []
    for info in iter_modules(methods.__path__):
        source = f"{methods.__name__}.{info.name}"
        declared = import_module(source)
        found.append(Entry(declared.NAME, source, family=declared.FAMILY))
    return sorted(found, key=lambda entry: (entry.family != "rival", entry.name.lower()))


def is_there(entry: Entry) -> bool:
    """Whether the package that a method needs is installed.

    Parameters
    ----------
    entry : Entry
    """
    needed = None if entry.family == "entry" else getattr(import_module(entry.source), "REQUIRES", None)
    return needed is None or find_spec(needed) is not None


def find_method(name: str) -> Entry:
    """A method by its name, or an error that names the one that was meant.

    Parameters
    ----------
    name : str
        As tables call it; letters may be small or large.
    """
    known = {entry.name.lower(): entry for entry in list_methods()}
    if name.lower() in known:
        return known[name.lower()]
    close = get_close_matches(name.lower(), known, n=1)
    hint = f"did you mean {known[close[0]].name!r}?" if close else "python -m experiments benchmark --list names them"
    raise ValueError(f"there is no method {name!r} in the benchmark; {hint}")


def choose_methods(names: Sequence[str] | None) -> list[Entry]:
    """Methods by name or family; all whose packages are installed where there are no names.

    Parameters
    ----------
    names : sequence of str or None
        "kernelweave" and "rival" stand for all methods of the family.
    """
    every = [entry for entry in list_methods() if is_there(entry)]
    found: dict[str, Entry] = {}
    for name in names if names is not None else ("rival", "kernelweave"):
        family = [entry for entry in every if entry.family == name]
        found |= {entry.name: entry for entry in family or [find_method(name)]}
    absent = [entry.name for entry in found.values() if not is_there(entry)]
    if absent:
        raise ValueError(f"the package of {absent[0]!r} is not installed; install it or leave the method out")
    return list(found.values())


@cache
def _load_file(path: str) -> ModuleType:
    """A file as a module, run once in each process."""
    name = f"kernelweave_entry_{hashlib.sha256(path.encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file; its name must end in .py")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ValueError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    return module


def _checked(found: Any, source: str) -> dict[str, Any]:
    """Settings that a selection can try, or an error that names the file."""
    file = source.rpartition("/")[2]
    if not isinstance(found, Mapping):
        raise ValueError(
            f"{file}: candidates(problem) must return a dict from label to unfitted classifier, not "
            f"{type(found).__name__}"
        )
    if not 1 <= len(found) <= BUDGET:
        raise ValueError(
            f"{file}: candidates(problem) returned {len(found)} settings; every method may try 1 to {BUDGET} of them"
        )
    for label, model in found.items():
        if not all(hasattr(model, name) for name in ("fit", "predict", "get_params", "set_params")) and not isinstance(
            model, Refused
        ):
            raise ValueError(
                f"{file}: the setting {label!r} is no classifier of scikit-learn's kind but {type(model).__name__}; "
                "derive it from ClassifierMixin and BaseEstimator, with fit and predict"
            )
        if isinstance(model, type):
            raise ValueError(f"{file}: the setting {label!r} is a class; make an object of it, {model.__name__}(...)")
    return {str(label): model for label, model in found.items()}
