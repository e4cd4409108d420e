"""The pass of one output over features that are held on a CUDA device: one program reads them once.

For several outputs, features in float64, and rows longer than the registers hold, see `held`.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...arrays import Place
from ...machines.base import TERMS
from .block import DeviceBlock
from .held import HeldFeatures

MOST_NUMBERS = 2**12  # of a row, with those that fill up to powers of 2
# Samples of a tile, warps and stages, by the numbers of a row. Those of rows of 2048 numbers are the fastest of a dozen
# on an H200; those of shorter and longer rows follow them and were not compared with others.
TILES = {1024: (1, 1, 3), 2048: (1, 1, 3), 4096: (1, 2, 3)}
SHARE = 1024  # about so many samples for each program
PROGRAMS = 6  # programs of a multiprocessor at a time, of which there are whole multiples
ON_CPU = 4  # multiprocessors where Triton's interpreter runs programs


@cache
def is_fused(place: Place) -> bool:
    """Whether passes of a place are programs of Triton: on a CUDA device."""
    return place.is_cuda and find_spec("triton") is not None


def serves(block: DeviceBlock, n_outputs: int) -> bool:
    """Whether `sweep` serves a block."""
    features = block.features
    if n_outputs != 1 or features.dtype != "float32" or not isinstance(features, HeldFeatures):
        return False
    return is_fused(features.place) and features.layout.padded * features.layout.width <= MOST_NUMBERS


def sweep(
    block: DeviceBlock, a: Any, weights: np.ndarray, intercept: np.ndarray, learns: bool
) -> tuple[Any, Any, Any, Any]:
    """Loss, F'c, the sum of c and, where amplitudes are learned, dP/da of each sample.

    Parameters
    ----------
    block : DeviceBlock
    a : tensor of shape (n_samples, n_kernels)
        Amplitudes; all rows may be the same memory.
    weights : ndarray of shape (n_features, 1)
    intercept : ndarray of shape (1,)
    learns : bool
        Whether dP/da is wanted.
    """
    from . import _triton  # imports Triton

    features: Any = block.features
    place, n, xp = features.place, features.n_samples, features.place.xp
    layout = features.layout
    padded, width = layout.padded, layout.width
    rows, warps, stages = TILES[max(1024, padded * width)]
    wave = _multiprocessors(place) * PROGRAMS
    share = rows * -(-n // (rows * wave * max(1, round(n / (wave * SHARE)))))
    programs = -(-n // share)
    narrow = np.zeros(features.step + 2, dtype=np.float32)
    narrow[layout.columns] = weights[:, 0]
    narrow[-2:] = intercept[0], block.losses.insensitivity
    w = place.asarray(narrow)
    if a.stride(1) != 1:
        a = a.contiguous()
    by_amplitude = xp.empty((n, features.n_kernels) if learns else (1,), dtype=xp.float32, device=place.device)
    pulled = xp.empty((programs, padded * width), dtype=xp.float32, device=place.device)
    sums = xp.empty((programs, 2), dtype=xp.float64, device=place.device)
    terms = (getattr(block.losses, name) for name in TERMS)
    _triton.pass_tiles[(programs,)](
        features.matrix, layout.starts, layout.widths, w, a, *terms, w[features.step :], by_amplitude, pulled, sums, n,
        share, features.step, a.stride(0), N_KERNELS=features.n_kernels, PADDED=padded, WIDTH=width, ROWS=rows,
        STAGES=stages, LEARNS=learns, num_warps=warps,
    )  # fmt: skip
    found = xp.sum(pulled, axis=0, dtype=xp.float64)[layout.places]
    both = xp.sum(sums, axis=0)
    return both[:1], found[:, None], both[1:], by_amplitude if learns else None


@cache
def _multiprocessors(place: Place) -> int:
    if not place.is_cuda:
        return ON_CPU
    import torch

    return int(torch.cuda.get_device_properties(place.device).multi_processor_count)
