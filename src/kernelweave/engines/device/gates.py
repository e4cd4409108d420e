"""Linear gates on a CUDA device: two programs in the place of some thirty operations of torch on small rows.

They serve gates of samples that have all views, with scores <v_m, x> + v_m0 of a few codes x; amplitudes name such
gates by `linear_kind`. All others are computed by the amplitudes themselves.
"""

from __future__ import annotations

from typing import Any

from .block import DeviceBlock
from .fused import is_fused

#: Kinds of linear gates, in the order of their numbers in the programs.
KINDS = ("softmax-unit", "softmax-paper", "sigmoid-unit", "sigmoid-paper")
MOST_CODES, MOST_KERNELS = 128, 32
ROWS = 64  # samples of a tile
SHARE = 512  # samples of a program


def kind_of(block: DeviceBlock, amplitudes: Any) -> int | None:
    """The number of the kind of gates; None where the programs do not serve them."""
    kind = getattr(amplitudes, "linear_kind", None)
    if kind not in KINDS or block.present is not None or block.codes is None or not is_fused(block.place):
        return None
    narrow = block.codes.dtype == block.place.xp.float32 and block.codes.ndim == 2
    small = narrow and block.codes.shape[1] <= MOST_CODES and block.features.n_kernels <= MOST_KERNELS
    return KINDS.index(kind) if small else None


def gates(block: DeviceBlock, kind: int, theta: Any) -> Any:
    """The gates of a block, a tensor of shape (n_samples, n_kernels)."""
    from . import _triton  # imports Triton

    xp, n, P = block.place.xp, block.n_samples, block.features.n_kernels
    found = xp.empty((n, P), dtype=xp.float32, device=block.place.device)
    options = _options(block, kind)
    _triton.gate_tiles[(-(-n // SHARE),)](block.codes, theta, found, n, SHARE, block.codes.shape[1], P, **options)
    return found


def pullback(block: DeviceBlock, kind: int, theta: Any, a: Any, slopes: Any) -> Any:
    """dP/dtheta from gates and dP/dgates, a tensor of float64: slopes of all kernels, then biases."""
    from . import _triton

    xp, n, P, n_codes = block.place.xp, block.n_samples, block.features.n_kernels, block.codes.shape[1]
    options, programs = _options(block, kind), -(-n // SHARE)
    padded, width = options["PADDED"], options["CODES"]
    out = xp.empty((programs, padded * (width + 1)), dtype=xp.float32, device=block.place.device)
    _triton.gate_pull_tiles[(programs,)](block.codes, theta, a, slopes, out, n, SHARE, n_codes, P, **options)
    total = xp.sum(out, axis=0, dtype=xp.float64)
    by_code = xp.reshape(total[: padded * width], (padded, width))[:P, :n_codes]
    return xp.concat([xp.reshape(by_code, (-1,)), total[padded * width :][:P]])


def _options(block: DeviceBlock, kind: int) -> dict[str, int]:
    n_codes, P = block.codes.shape[1], block.features.n_kernels
    padded, width = (max(16, 1 << (count - 1).bit_length()) for count in (P, n_codes))
    return {"KIND": kind, "PADDED": padded, "CODES": width, "ROWS": ROWS, "num_warps": 4}
