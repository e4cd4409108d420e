"""`OnDevice`: an engine over blocks whose arrays are on a device.

Functions of blocks that a fit calls again and again have a form for devices, in `PLACED` or given by `base.on_device`.
All others are given the block as NumPy arrays; features stay on the device, see `block`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ...arrays import Place
from ..base import Engine, added
from ..block import Block
from ..training import descent, primal
from . import passes
from .block import DeviceBlock, DeviceFeatures, FeaturesFromHost, placed_block
from .held import HeldFeatures
from .layout import aligned

ROUNDING = 1e-8  # of a pass in float32: weights are rounded to it, and scores are
#: Functions of blocks, and their forms for devices.
PLACED: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = (
    (primal.sweep, passes.sweep),
    (primal.scored, passes.scored),
    (primal.slopes, passes.slopes),
    (descent.curvature, passes.curvature),
)


class OnDevice(Engine):
    """Blocks on a device, one after the other: the device itself works on all samples of a block at once.

    Parameters
    ----------
    blocks : sequence
    place : Place
    """

    takes_products = False

    def __init__(self, blocks: Sequence[Any], place: Place):
        self.blocks, self.place = list(blocks), place
        narrow = any(isinstance(block, DeviceBlock) and block.features.dtype == "float32" for block in self.blocks)
        self.rounding = ROUNDING if narrow else 0.0

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The host waits once, for the sum."""
        return fetched(added(self._results(function, arguments)), self.place)

    def replace(self, function: Callable[..., Any], *arguments: Any, keep: bool = True) -> OnDevice:
        """Results stay on the device; all are held."""
        return OnDevice(list(self._results(function, arguments)), self.place)

    def _results(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        own = next((placed for known, placed in PLACED if known is function), getattr(function, "on_device", None))
        for block in self.blocks:
            if own is not None:
                yield own(block, *arguments)
            elif isinstance(block, DeviceBlock):
                yield self._placed(function(block.on_host(), *arguments), block.features)
            elif isinstance(block, passes.ScoredOnDevice):
                yield function(block.on_host(), *arguments)
            else:
                yield function(block, *arguments)

    def _placed(self, result: Any, features: DeviceFeatures) -> Any:
        """A block that a function of the host made goes to the place; other results stay as they are."""
        if not isinstance(result, Block):
            return result
        if isinstance(result.features, FeaturesFromHost):
            return placed_block(result, result.features.placed)
        offsets = result.features.offsets
        starts, step = aligned(offsets)
        matrix = np.zeros((result.n_samples, step))
        given = result.features.features(slice(0, result.n_samples))
        for a, first, last in zip(starts, offsets[:-1], offsets[1:], strict=True):
            matrix[:, a : a + last - first] = given[:, first:last]
        place, dtype = self.place, features.dtype
        return placed_block(result, HeldFeatures(place.asarray(matrix, dtype), offsets, place, dtype))


def fetched(result: Any, place: Place) -> Any:
    """A result with NumPy arrays in the place of arrays of the device, which cross over as one."""
    arrays: list[Any] = []
    _walk(result, place, arrays.append)
    if not arrays:
        return result
    xp = place.xp
    flat = place.numpy(xp.concat([xp.reshape(xp.astype(each, xp.float64, copy=False), (-1,)) for each in arrays]))
    sizes = [int(np.prod(each.shape)) for each in arrays]
    parts = iter(np.split(flat, np.cumsum(sizes)[:-1]))
    return _walk(result, place, lambda each: next(parts).reshape(tuple(each.shape)))


def _walk(result: Any, place: Place, visit: Callable[[Any], Any]) -> Any:
    """The result with `visit` of each array of a place, in tuples and data classes."""
    if isinstance(result, tuple):
        return tuple(_walk(each, place, visit) for each in result)
    if is_dataclass(result) and not isinstance(result, type):
        names = [field.name for field in fields(result)]
        return type(result)(*(_walk(getattr(result, name), place, visit) for name in names))
    is_own = not place.is_host and hasattr(result, "shape") and not isinstance(result, (np.ndarray, np.generic))
    return visit(result) if is_own else result
