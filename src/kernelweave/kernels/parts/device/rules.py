"""What is settled before kernels are computed on a device: whether they fit into its memory, and which stay on the CPU.

Memory of a solve in parts, for n samples and P kernels:

==================  =======================================================================================
features            n x the numbers of a packed sample (`packing.packed_width`), and those before packing
matrices            all entries, of kernels that look values up by id
images              a few arrays of n x P in float64
vectors             a dozen and a half arrays of n in float64: coefficients, bounds, gradient, what is chosen
columns, a block    one chunk of columns (`triton_images.CHUNK`), and blocks of a working set
==================  =======================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...._warnings import warn
from ...resources import KernelMemoryError
from ..making import declared
from ..packing import SERVED, packed_width
from ..sources import Source
from .triton_images import CHUNK

if TYPE_CHECKING:
    from ....views import Views
    from ...base import Kernel
    from ...stack import KernelStack

IMAGES = 3
VECTORS = 18
BLOCKS = 3 * 2048**2 * 8


def check_device_memory(stack: KernelStack) -> None:
    """Raise a `KernelMemoryError` where the parts of a stack do not fit into the free memory of its device."""
    free = stack.place.free_memory()
    if free is None:
        return
    n, used = stack.reference.n_samples, np.flatnonzero(stack.active).tolist()
    kept = [_kept(stack.kernels[m], stack.reference, n, stack.dtype) for m in used]
    features = sum(size for size, _ in kept)
    others = 8 * n * (IMAGES * len(used) + VECTORS)
    passing = 4 * CHUNK * sum(width for _, width in kept) + BLOCKS
    needed = features + others + passing
    if needed > free:
        count = f"{len(used)} kernels" if len(used) > 1 else "a kernel"
        raise KernelMemoryError(
            f"{count} over {n} samples in parts need about {_shown(needed)} on the device (features "
            f"{_shown(features)}, images and vectors {_shown(others)}, columns and blocks {_shown(passing)}), and "
            f'{_shown(free)} are free; use device="cpu", fewer samples or fewer kernels'
        )


def _kept(kernel: Kernel, views: Views, n: int, dtype: np.dtype) -> tuple[int, int]:
    """Bytes that a kernel keeps on a device, and the numbers of a packed sample."""
    join = declared(kernel, "join_function")
    if join is not None:
        first, second = (_kept(each, views, n, dtype) for each in (join.first, join.second))
        return first[0] + second[0], first[1] + second[1]
    matrix = declared(kernel, "matrix_function")
    if matrix is not None:
        return matrix.lookup.K.size * dtype.itemsize + 24 * n, 1
    function = declared(kernel, "point_function")
    if function is None:  # computed on the host
        return 16 * n, 0
    plain = getattr(kernel, "transformer", None) is None
    n_features = len(kernel.columns()) if plain else kernel.read(views)[0].shape[1]
    if dtype.itemsize > 4 or function.kind not in SERVED:
        return n * (8 * n_features + 16), n_features
    width = packed_width(function.kind, n_features)
    return n * (4 * (width + n_features) + 16), width


def _shown(size: float) -> str:
    return f"{size / 2**30:.2g} GiB"


def warn_of_host_kernels(names: Sequence[str], sources: Sequence[Source]) -> None:
    """One warning that names the kernels whose values are computed on the CPU and moved to the device."""
    staying = [repr(name) for name, source in zip(names, sources, strict=True) if source.on_host]
    if staying:
        what = f"kernel {staying[0]} is" if len(staying) == 1 else f"kernels {', '.join(staying)} are"
        warn(
            f"the {what} computed on the CPU and moved to the device, which takes longer; Linear, Polynomial, "
            "Gaussian, Laplacian and ChiSquared kernels of dense columns, and Precomputed ones, are computed there"
        )
