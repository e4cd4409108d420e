"""Feature vectors prepared by torch, on the device that compares them: centred, in units, rounded.

The host only hands the columns over. For kinds whose k(x, x) is a constant; see `PointSource.of` for the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....arrays import Place
from ..functions import UNITS, PointFunction
from ..packing import rounded

FARTHEST = 2.0**13  # in units; the squares of some thousand such features do not overflow
ROWS = 2**18  # samples that are there in float64 at a time


def serves(function: PointFunction) -> bool:
    """Whether features of a kernel are prepared by torch."""
    return function.kind in UNITS


def means(raw: np.ndarray, present: np.ndarray, place: Place) -> np.ndarray:
    """The mean of each column over the samples that are present, of which there is at least one."""
    known = slice(None) if present.all() else present
    total = place.zeros(raw.shape[1])
    for first in range(0, len(raw), ROWS):
        part = raw[first : first + ROWS]
        part = part if isinstance(known, slice) else part[present[first : first + ROWS]]
        total += place.xp.sum(place.asarray(part, "float64"), axis=0)
    return place.numpy(total) / np.count_nonzero(present)


def features(
    function: PointFunction,
    raw: np.ndarray,
    present: np.ndarray,
    shift: Any,
    unit: float,
    limit: float | None,
    place: Place,
    dtype: str,
) -> Any:
    """Features as they are compared, in the place: lowered, multiplied by a unit, 0 for absent samples.

    Parameters
    ----------
    function : PointFunction
        In units.
    raw : ndarray of shape (n, n_columns)
    present : ndarray of bool, shape (n,)
    shift, unit
        What features are lowered and multiplied by.
    limit : float or None
        The size of features up to which float32 is enough, see `precision`. None for new samples, which are compared
        with samples of such a size: the error of k(x, z) falls off with ||x|| as the value does. Their features are
        clipped at `FARTHEST`, where the value is 0.
    place : Place
    dtype : {"float32", "float64"}
        Wanted; float64 is what is returned where float32 is not enough.
    """
    xp, narrow, complete = place.xp, dtype == "float32", bool(present.all())
    found = place.zeros(raw.shape, dtype)
    lowered, largest = place.asarray(np.broadcast_to(shift, raw.shape[1:]), "float64"), place.zeros(())
    for first in range(0, len(raw), ROWS):
        rows = slice(first, first + ROWS)
        part = place.asarray(raw[rows], "float64") - lowered
        part *= unit
        if not complete:
            part = xp.where(place.asarray(present[rows])[:, None], part, xp.zeros_like(part))
        if narrow and limit is None:
            part = xp.clip(part, -FARTHEST, FARTHEST)
        elif narrow and part.shape[0]:
            largest = xp.maximum(largest, xp.max(_sizes(function, part, xp)))
        found[rows] = part
    if narrow and limit is not None and not float(largest) <= limit:
        return features(function, raw, present, shift, unit, limit, place, "float64")
    return rounded(found, function.kind, place) if narrow else found


def _sizes(function: PointFunction, values: Any, xp: Any) -> Any:
    """What `precision.size_of` takes the largest of."""
    if function.kind == "gaussian":
        return xp.sum(values * values, axis=1) / function.scale**2
    return xp.sum(xp.abs(values), axis=1) / function.scale
