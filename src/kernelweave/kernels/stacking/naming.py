"""Names of kernels: from the user's list of kernels, or of ``(name, kernel)``, to unique names.

Unnamed kernels take their view's name; a second one on the same view is called ``view-2``. Plain callables
``f(A, B)`` become `Function` kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...validation import shown
from ...views import Views
from ...views.selectors import prefixes
from ..base import Kernel
from ..features import Linear
from ..function import Function


def named_kernels(kernels: Any) -> list[tuple[str, Kernel]]:
    """Unique names and kernel objects for a user's list of kernels.

    Examples
    --------
    >>> from kernelweave.kernels import Linear, Gaussian, named_kernels
    >>> [name for name, _ in named_kernels([Linear("fac"), Gaussian("fac"), ("shape", Linear("mor"))])]
    ['fac', 'fac-2', 'shape']
    """
    if isinstance(kernels, Kernel) or callable(kernels):
        raise ValueError("kernels must be a list; wrap a single kernel as [kernel]")
    try:
        entries = list(kernels)
    except TypeError:
        raise ValueError(f"kernels must be a list of kernels or (name, kernel) pairs, not {shown(kernels)}") from None
    if not entries:
        raise ValueError("kernels is empty; give at least one kernel, or None for one Linear kernel per view")
    given = [_split(entry) for entry in entries]
    taken = [name for name, _ in given if name is not None]
    repeated = {name for name in taken if taken.count(name) > 1}
    if repeated:
        raise ValueError(f"kernel names must be unique, but these are given twice: {sorted(repeated)}")
    names: list[str] = []
    for name, kernel in given:
        names.append(_unique(kernel.name, set(names) | set(taken)) if name is None else name)
    return list(zip(names, (kernel for _, kernel in given), strict=True))


def default_kernels(views: Views) -> list[tuple[str, Kernel]]:
    """One `Linear` kernel per view prefix, or one over all columns where there are none.

    Columns without a prefix, beside others with one, together make the view ``rest``.
    """
    groups = {} if views.names is None else prefixes(views.names)
    if set(groups) <= {""}:
        return named_kernels([Linear()])
    rest = groups.pop("", np.array([], dtype=int))
    kernels: list[Any] = [Linear(prefix) for prefix in groups]
    if len(rest):
        kernels.append((_unique("rest", set(groups)), Linear(rest.tolist())))
    return named_kernels(kernels)


def _split(entry: Any) -> tuple[str | None, Kernel]:
    name = None
    if isinstance(entry, tuple):
        if len(entry) != 2 or not isinstance(entry[0], str) or not entry[0]:
            raise ValueError(f"an entry of kernels must be a kernel or a (name, kernel) pair, not {shown(entry)}")
        name, entry = entry
        if "__" in name:
            raise ValueError(f"the kernel name {name!r} must not contain '__'")
    if isinstance(entry, Kernel):
        return name, entry
    if callable(entry) and not isinstance(entry, type):
        return name, Function(entry)
    raise ValueError(f"kernels has an entry that is neither a kernel nor a callable f(A, B): {entry!r}")


def _unique(name: str, taken: set[str]) -> str:
    name = name.replace("__", "_")  # '__' separates parameters
    candidate, count = name, 1
    while candidate in taken:
        count += 1
        candidate = f"{name}-{count}"
    return candidate
