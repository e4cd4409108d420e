"""Arrays that go with a given one: in the same place, and in the same precision."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

from .place import HOST, Place


def place_of(array: Any) -> Place:
    """The place of an array.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.arrays import HOST, place_of
    >>> place_of(np.ones(3)) is HOST
    True
    """
    if isinstance(array, np.ndarray):
        return HOST
    return Place(array_api_compat.array_namespace(array), array_api_compat.device(array))


def precision_of(array: Any) -> str:
    """ "float32" or "float64", the type of an array; "float64" for arrays of integers.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.arrays import precision_of
    >>> precision_of(np.ones(3, dtype="float32")), precision_of(np.arange(3))
    ('float32', 'float64')
    """
    name = str(array.dtype).rpartition(".")[2]
    return name if name.startswith("float") else "float64"
