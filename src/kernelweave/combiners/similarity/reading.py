"""Products of the kernels of a stack with a few columns and with each other: of whole matrices, or in parts.

The storage of the stack decides. In parts the kernels are computed in tiles, of which one for each kernel is in memory.
"""

from __future__ import annotations

import numpy as np

from ...kernels import KernelStack
from ...solvers.stacks.products import centred_square

# Rows are centred in blocks of about this many kernel values, which stay in the processor's cache.
_BLOCK_VALUES = 2**17
_TILE_VALUES = 2**22  # of all kernels in parts together
_LEAST_ROWS = 64  # of a tile, so that products of features stay fast


def images_of(stack: KernelStack, columns: np.ndarray) -> np.ndarray:
    """Each kernel times a few columns of its own, in double precision; in parts all kernels in one pass.

    Parameters
    ----------
    stack : KernelStack
    columns : ndarray of shape (n_kernels, n_samples, n_columns)

    Returns
    -------
    ndarray of the same shape
    """
    if stack.storage == "dense":
        return np.stack([_times(stack.gram(m), columns[m]) for m in range(stack.n_kernels)])
    parts = stack.in_parts()
    V = parts.place.asarray(np.ascontiguousarray(columns.transpose(1, 0, 2)), "float64")
    return parts.place.numpy(parts.images(None, None, V)).transpose(1, 0, 2)


def read(
    stack: KernelStack, columns: np.ndarray, roots: np.ndarray, centered: bool, pairs: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Products of the kernels with a few columns, and the inner products of the kernels.

    Parameters
    ----------
    stack : KernelStack
    columns : ndarray of shape (n_kernels, n_samples, n_columns)
        For each kernel; the last of them has the shares of the samples in row means.
    roots : ndarray of shape (n_kernels, n_samples)
        Roots of the samples' weights, 0 for samples that lack the view.
    centered, pairs : bool
        Whether the kernels are centred before their inner products are taken, and whether all of those are wanted.

    Returns
    -------
    images : ndarray of the shape of `columns`
    products : ndarray of shape (n_kernels, n_kernels), or (n_kernels,) without `pairs`
        <K_m, K_h> or ||K_m||^2.
    """
    reading = _read_whole if stack.storage == "dense" else _read_in_parts
    return reading(stack, columns, roots, centered, pairs)


def row_means(images: np.ndarray, shares: np.ndarray, centered: bool) -> tuple[np.ndarray, np.ndarray]:
    """What centring subtracts: the row means of each kernel, which are its last image, and their mean; or zeros."""
    means = images[:, :, -1] if centered else np.zeros(shares.shape)
    return means, np.einsum("mi,mi->m", shares, means)


def _read_whole(
    stack: KernelStack, columns: np.ndarray, roots: np.ndarray, centered: bool, pairs: bool
) -> tuple[np.ndarray, np.ndarray]:
    """`read` of whole matrices."""
    n_kernels = stack.n_kernels
    matrices = stack.matrices() if pairs else None
    images, squares = np.empty(columns.shape), np.zeros(n_kernels)
    means, grand = np.zeros(roots.shape), np.zeros(n_kernels)
    for m in range(n_kernels):
        K = stack.gram(m) if matrices is None else matrices[m]
        images[m] = _times(K, columns[m])
        one = slice(m, m + 1)
        means[one], grand[one] = row_means(images[one], columns[one, :, -1], centered)
        if matrices is None:
            squares[m] = centred_square(K, means[m], grand[m], roots[m])
    return images, squares if matrices is None else _between(matrices, means, grand, roots)


def _read_in_parts(
    stack: KernelStack, columns: np.ndarray, roots: np.ndarray, centered: bool, pairs: bool
) -> tuple[np.ndarray, np.ndarray]:
    """`read` of kernels in parts: one pass for the images, and one for the inner products."""
    images = images_of(stack, columns)
    means, grand = row_means(images, columns[:, :, -1], centered)
    parts, n_kernels, n_samples = stack.in_parts(), stack.n_kernels, stack.n_samples
    place, xp = parts.place, parts.place.xp
    shift, mean, scale = (place.asarray(values, "float64") for values in (grand[:, None] - means, means, roots))
    scaled = not (roots == 1.0).all()
    products = np.zeros((n_kernels, n_kernels) if pairs else n_kernels)
    for rows, others in _tiles(n_samples, n_kernels):
        here, there = slice(rows[0], rows[-1] + 1), slice(others[0], others[-1] + 1)
        tile = xp.empty((n_kernels, len(rows), len(others)), dtype=xp.float64, device=place.device)
        for m in range(n_kernels):
            tile[m, ...] = xp.astype(parts.block(m, rows, others), xp.float64)
        if centered:
            tile += shift[:, here][:, :, None]
            tile -= mean[:, there][:, None, :]
        if scaled:
            tile *= scale[:, here][:, :, None]
            tile *= scale[:, there][:, None, :]
        flat = xp.reshape(tile, (n_kernels, -1))
        found = flat @ flat.T if pairs else xp.sum(flat * flat, axis=1)
        # a tile beside the diagonal stands for its transpose too
        products += (1.0 if others[0] == rows[0] else 2.0) * place.numpy(found)
    return images, products


def _tiles(n_samples: int, n_kernels: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows and columns of square tiles on the diagonal, and of tiles to the right of them."""
    room = max(1, _TILE_VALUES // n_kernels)
    height = min(n_samples, max(_LEAST_ROWS, min(room // n_samples, int(room**0.5))))
    width = max(1, room // height)
    tiles = []
    for first in range(0, n_samples, height):
        last = min(first + height, n_samples)
        rows = np.arange(first, last)
        tiles.append((rows, rows))
        tiles += [(rows, np.arange(j, min(j + width, n_samples))) for j in range(last, n_samples, width)]
    return tiles


def _times(K: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """K times a few columns in double precision, without a copy of K."""
    if K.dtype == np.float64:
        return K @ columns
    n_rows = max(1, _BLOCK_VALUES // len(K))
    starts = range(0, len(K), n_rows)
    return np.vstack([K[first : first + n_rows].astype(np.float64) @ columns for first in starts])


def _between(matrices: np.ndarray, means: np.ndarray, grand: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """<K_m, K_h> for all pairs, a few centred rows at a time."""
    n_kernels, n_samples = means.shape
    n_rows = max(1, _BLOCK_VALUES // (n_kernels * n_samples))
    between = np.zeros((n_kernels, n_kernels))
    for first in range(0, n_samples, n_rows):
        rows = slice(first, first + n_rows)
        block = matrices[:, rows].astype(np.float64)
        if means.any():
            block += (grand[:, None] - means[:, rows])[:, :, None]
            block -= means[:, None, :]
        if not (roots == 1.0).all():
            block *= roots[:, rows, None]
            block *= roots[:, None, :]
        flat = block.reshape(n_kernels, -1)
        between += flat @ flat.T
    return between
