"""Parameters with one number per kernel: given by kernel name or in order, and reached by name in a search.

``FixedWeights(weights={"fac": 2.0})`` and ``set_params(weights__fac=2.0)`` have the same effect, so that
``combiner__weights__fac`` or ``combiner__costs__fac`` of an estimator is an ordinary parameter of a search.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from ..validation import is_number, shown


def as_numbers(value: Any, names: list[str], parameter: str, default: float) -> np.ndarray:
    """One finite number per kernel, of at least 0, in the order of the kernels.

    Parameters
    ----------
    value : mapping or Series from kernel name to number, sequence, one number for all, or None
        Kernels that a mapping does not name, and None, get the default.
    names : list of str
        The kernels.
    parameter : str
        What the numbers are called in errors.
    default : float
    """
    if value is None:
        value = {}
    if isinstance(value, pd.Series):  # such as the kernel_weights_ of another model
        if not value.index.is_unique:
            raise ValueError(f"{parameter} is a series that names a kernel twice")
        value = value.to_dict()
    if isinstance(value, Mapping):
        unknown = sorted(set(value) - set(names), key=str)
        if unknown:
            raise ValueError(f"{parameter} names kernels that are not there: {unknown}; there are {names}")
        value = [value.get(name, default) for name in names]
    try:
        numbers = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{parameter} must be numbers, by kernel name or in order, not {shown(value)}") from None
    if numbers.ndim == 0:
        numbers = np.full(len(names), float(numbers))
    if numbers.shape != (len(names),):
        raise ValueError(f"{parameter} must have one entry for each of the {len(names)} kernels, not {numbers.shape}")
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        raise ValueError(f"{parameter} must be finite and at least 0, not {numbers.tolist()}")
    return numbers


def entries_of(value: Any, names: list[str], kept: list[str]) -> Any:
    """The value of a parameter with an entry for each kernel, for some of the kernels.

    Parameters
    ----------
    value : mapping or Series by kernel name, sequence in the order of the kernels, or anything else
        A value that has no entry for each kernel is returned as it is.
    names, kept : list of str
        All kernels, and those that stay.

    Examples
    --------
    >>> from kernelweave.combiners.named import entries_of
    >>> entries_of({"a": 2, "b": 3}, ["a", "b", "c"], ["b", "c"]), entries_of([2, 3, 4], ["a", "b", "c"], ["b", "c"])
    ({'b': 3}, [3, 4])
    """
    if isinstance(value, Mapping | pd.Series):
        gone = set(names) - set(kept)
        return {name: entry for name, entry in value.items() if name not in gone}
    if isinstance(value, list | tuple | np.ndarray) and np.shape(value)[:1] == (len(names),):
        return [entry for entry, name in zip(value, names, strict=True) if name in kept]
    return value


class NamedNumbers(BaseEstimator):
    """`get_params` and `set_params` that reach into parameters with one number per kernel, by kernel name.

    A subclass lists such parameters in `_numbers`. Where one of them is an object with parameters of its own, these are
    reached as usual.
    """

    _numbers: tuple[str, ...] = ()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; with `deep`, also the entries of mappings from kernel name to number."""
        params = super().get_params(deep=deep)
        for parameter in self._numbers if deep else ():
            if isinstance(params[parameter], Mapping):
                params |= {f"{parameter}__{name}": number for name, number in params[parameter].items()}
        return params

    def set_params(self, **params: Any) -> NamedNumbers:
        """Set parameters, also single numbers such as ``costs__fac``; a mapping is copied, never written to."""
        entries: dict[str, dict[str, Any]] = {}
        for key in list(params):
            parameter, separator, name = key.partition("__")
            if separator and parameter in self._numbers:
                value = params.get(parameter, getattr(self, parameter))
                if value is None or isinstance(value, Mapping | pd.Series) or _is_zero(value):
                    entries.setdefault(parameter, {})[name] = params.pop(key)
                elif not hasattr(value, "set_params"):
                    raise ValueError(f"{key} cannot be set: {parameter} is not a mapping from kernel name to number")
        super().set_params(**params)
        for parameter, changed in entries.items():
            value = getattr(self, parameter)
            setattr(self, parameter, {**({} if value is None or _is_zero(value) else dict(value)), **changed})
        return self


def _is_zero(value: Any) -> bool:
    """Whether all kernels have the number 0, as in a mapping without entries where 0 is the default."""
    return is_number(value) and value == 0
