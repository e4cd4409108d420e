"""Classes of users: kernels, gates, combiners and machines that are not part of kernelweave, saved by their names.

A file holds such an object as it holds others, its attributes under the name of its class, and lists the names of all
such classes (``classes`` in the document, only if there are any). `load` makes them only from the classes that its
caller gives. Their attributes are set without a call of the class, and there is no list of what they may be: `load`
checks only those that a base class of kernelweave has, and the objects of kernelweave's own classes among them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ..combiners import CombinedKernel, Combiner, Gate
from ..kernels.base import Kernel
from ..machines import Loss, Machine
from .registry import CLASSES

_PACKAGE = __name__.partition(".")[0]

# The base classes that users extend.
EXTENSIBLE: tuple[type, ...] = (Kernel, Gate, Combiner, CombinedKernel, Loss, Machine)


def is_registered(cls: type) -> bool:
    """Whether objects of this class are part of saved models by themselves."""
    return CLASSES.get(cls.__name__) is cls


def is_extension(cls: type) -> bool:
    """Whether a class extends kernelweave without being part of it."""
    return issubclass(cls, EXTENSIBLE) and not _is_ours(cls)


def _is_ours(cls: type) -> bool:
    """Whether a class is defined in a module of kernelweave (the classes of an example in a docstring are not)."""
    module = sys.modules.get(cls.__module__)
    return cls.__module__.partition(".")[0] == _PACKAGE and getattr(module, cls.__name__, None) is cls


def is_known(cls: type) -> bool:
    """Whether objects of this class can be in a file."""
    return is_registered(cls) or is_extension(cls)


def clash(cls: type, others: dict[str, type]) -> str | None:
    """Why the name of a user's class cannot stand for it beside other classes of users; None if it can."""
    if cls.__name__ in CLASSES:
        return f"has the name of a class of kernelweave, {cls.__name__}; give it another name"
    if others.get(cls.__name__, cls) is not cls:
        return f"has the name of another class, {cls.__name__}; classes are saved by name, so give one another name"
    return None


def given_classes(classes: Iterable[type] | None) -> dict[str, type]:
    """The classes that a caller of `load` gives, by name; a `ValueError` where one cannot be in a file."""
    wanted = "classes must be a list of your own classes of kernels, gates, combiners or machines"
    try:
        listed = list(classes or ())
    except TypeError:
        raise ValueError(f"{wanted}, not {classes!r}") from None
    found: dict[str, type] = {}
    for cls in listed:
        if not isinstance(cls, type):
            raise ValueError(f"{wanted}; {cls!r} is no class")
        if is_registered(cls):
            raise ValueError(f"{wanted}; {cls.__name__} is part of kernelweave and need not be given")
        if not is_extension(cls):
            bases = ", ".join(base.__name__ for base in EXTENSIBLE)
            raise ValueError(f"{wanted}; {cls.__name__} is derived from none of {bases}")
        problem = clash(cls, found)
        if problem is not None:
            raise ValueError(f"classes: {cls.__module__}.{cls.__qualname__} {problem}")
        found[cls.__name__] = cls
    return found


def needed_classes(names: Any, given: dict[str, type]) -> dict[str, type]:
    """Of the given classes those that a file names; a `ValueError` names those that are lacking."""
    if type(names) is not list or not all(type(name) is str for name in names):
        raise ValueError("its list of classes is not valid")
    if known := [name for name in names if name in CLASSES]:
        raise ValueError(f"it lists {known[0]!r}, a class of kernelweave, among the classes of users")
    missing = [name for name in names if name not in given]
    if missing:
        what = "the class" if len(missing) == 1 else "the classes"
        raise ValueError(
            f"it needs {what} {', '.join(map(repr, missing))}, not part of kernelweave and saved by name only; pass "
            f"load(path, classes=[{', '.join(names)}]) with the classes that the model was made with"
        )
    return {name: given[name] for name in names}
