"""Values of new samples on a device: features are made there, piece by piece, and leave as one number per output."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...arrays import Place
from ...features import FeatureMap
from ...views import Views
from ..base import ranges
from .making import PlacedMap

VALUES = 2**25  # raw values of new samples that are there at once
PENDING = 8  # pieces whose values are waited for at once

# The maps of each stack at the last place; no part of its state, so that a copy or a saved model is without them.
_PLACED: WeakKeyDictionary[Any, tuple[Place, list[Any], list[PlacedMap]]] = WeakKeyDictionary()


def maps_at(stack: Any, place: Place) -> list[PlacedMap]:
    """The feature maps of a stack in a place, in float64; the last ones are kept."""
    known, made_of = _PLACED.get(stack), [_made_of(found) for found in stack.maps]
    if known is None or known[0] != place or any(a is not b for a, b in zip(known[1], made_of, strict=True)):
        known = _PLACED[stack] = place, made_of, [PlacedMap.of(found, place, "float64") for found in stack.maps]
    return known[2]


def _made_of(found: FeatureMap) -> Any:
    """What a placed map depends on: the kernel, which may be replaced by one with further ids, or the map."""
    return found if found.landmarks is None else found.landmarks.kernels[0]


def values_on_device(
    stack: Any, place: Place, views: Views, amplitudes: np.ndarray, present: np.ndarray, coef: np.ndarray
) -> np.ndarray:
    """sum_m a_m(x) <w_m, phi_m(x)> of new samples, computed in float64, whitening folded into w.

    Parameters
    ----------
    stack : stacks.features.Features
    place : Place
    views : Views
    amplitudes : ndarray of shape (n_new, n_kernels)
        0 for kernels that are not to be computed.
    present : ndarray of bool, shape (n_new, n_kernels)
    coef : ndarray of shape (n_features, n_outputs)

    Returns
    -------
    ndarray of shape (n_new, n_outputs)
    """
    place = place.precisely()
    maps, offsets = maps_at(stack, place), stack.offsets
    used = [m for m in range(len(maps)) if amplitudes[:, m].any()]
    values = np.zeros((views.n_samples, coef.shape[1]))
    if not used or not views.n_samples:
        return values
    folded = {}
    for m in used:
        white, own = maps[m].map.whitening, coef[offsets[m] : offsets[m + 1]]
        folded[m] = place.asarray(own if white is None else white @ own, "float64")
    n_rows = max(1, VALUES // max(found.shape[0] for found in folded.values()))
    pending: list[tuple[slice, Any]] = []  # the host reads the next piece while a device is at work
    for rows in ranges(views.n_samples, n_rows):
        part = views if n_rows >= views.n_samples else views.rows(rows)
        total: Any = None
        for m in used:
            raw = maps[m].raw(part, present[rows, m], place)
            share = place.asarray(amplitudes[rows, m], "float64")[:, None] * (raw @ folded[m])
            total = share if total is None else total + share
        pending.append((rows, total))
        if len(pending) == PENDING or rows.stop == views.n_samples:
            for done, found in pending:
                values[done] = place.numpy(found)
            pending.clear()
    return values
