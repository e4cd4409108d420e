"""Views of images: PENDIGITS' bitmaps drawn from pen points (thesis 5.2.3.2) and OLIVETTI's patches (5.3.1.2).

==========  =======================================================================
thesis      here
==========  =======================================================================
DYN         ``dyn``: eight successive pen points x, y in 0 ... 100
STA16       ``sta16``: the points joined by line segments on a 16 x 16 bitmap
STA8, STA4  ``sta8``, ``sta4``: means of its 2 x 2 and 4 x 4 blocks
x^G         ``x4``, ``x8``, ``x16``, ``x32``, ``x64``: a face at several resolutions
x^m         ``patch0`` ... ``patch15``: non-overlapping 16 x 16 patches of a face
==========  =======================================================================
"""

from __future__ import annotations

import numpy as np

_SIDE = 16
_LARGEST = 100.0  # of a pen coordinate


def pen_views(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    dyn = arrays["X"]
    sta16 = draw_strokes(dyn)
    return {"dyn": dyn, "sta4": shrink(sta16, _SIDE, 4), "sta8": shrink(sta16, _SIDE, 8), "sta16": sta16}


def face_views(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    faces = arrays["X"] / 255.0
    views = {f"x{side}": shrink(faces, 64, side) for side in (4, 8, 16, 32)}
    views["x64"] = faces
    patches = faces.reshape(-1, 4, 16, 4, 16).swapaxes(2, 3).reshape(-1, 16, 256)
    return views | {f"patch{m}": patches[:, m] for m in range(16)}


def saliency_maps(weights: np.ndarray, layout: tuple[int, int], *, patch: tuple[int, int]) -> np.ndarray:
    """The weights of kernels over image patches as pictures: each patch is as bright as its weight (Figure 5.11).

    `weights`, of shape (n_samples, n_patches), are such as ``kernel_weights(X)`` of a localized model, in the order of
    patches: row by row from the top. `layout` has the numbers of rows and columns of patches, `patch` the height and
    width of one; pictures have the shape (n_samples, height, width).

    >>> saliency_maps([[0.0, 1.0]], layout=(1, 2), patch=(2, 2))
    array([[[0., 0., 1., 1.],
            [0., 0., 1., 1.]]])
    """
    weights = np.asarray(weights, dtype=float)
    if weights.ndim != 2 or weights.shape[1] != layout[0] * layout[1]:
        wanted = layout[0] * layout[1]
        raise ValueError(f"weights must have {wanted} columns for a layout of {layout}, not shape {weights.shape}")
    return np.kron(weights.reshape(-1, *layout), np.ones((1, *patch)))


def draw_strokes(points: np.ndarray) -> np.ndarray:
    """Join successive pen points by line segments on a 16 x 16 bitmap.

    Points, x and y of each in 0 ... 100 with y upwards, have the shape (n_samples, 2 * n_points); bitmaps have the
    shape (n_samples, 256), rows from the top, 1.0 where the pen was.
    """
    grid = np.rint(np.asarray(points, dtype=float) * ((_SIDE - 1) / _LARGEST)).astype(int)
    column, row = grid[:, ::2], _SIDE - 1 - grid[:, 1::2]
    bitmap = np.zeros((len(grid), _SIDE, _SIDE))
    sample = np.arange(len(grid))[:, None]
    rise, run = np.diff(row, axis=1), np.diff(column, axis=1)
    # As many steps as the longer side of a segment has pixels, so that no pixel of the line is left out.
    steps = np.maximum(np.maximum(np.abs(rise), np.abs(run)), 1)
    for step in range(_SIDE):
        share = np.minimum(step / steps, 1.0)
        here = np.rint(row[:, :-1] + share * rise).astype(int), np.rint(column[:, :-1] + share * run).astype(int)
        bitmap[sample, here[0], here[1]] = 1.0
    return bitmap.reshape(len(grid), -1)


def shrink(images: np.ndarray, side: int, target: int) -> np.ndarray:
    block = side // target
    return images.reshape(-1, target, block, target, block).mean(axis=(2, 4)).reshape(-1, target * target)
