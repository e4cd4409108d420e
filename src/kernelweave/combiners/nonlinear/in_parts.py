"""Forms of kernels in parts: values, products and derivatives, tile by tile, without a matrix of all samples.

A form without products is a weighted sum (`TiledSum`), whose images K_m c are kept for each kernel: they stay true
when the weights change, and give the derivative for nothing. Any other form is a function of the values of the kernels
(`TiledFunction`). Its derivative takes the values among support vectors once more, half of them by symmetry:

    -1/2 sum_ij G_ij dK_ij / deta_m,        G = sum_r c_r c_r'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.tiles.sums import TiledFunction, TiledSum, in_tiles, tile_shape

if TYPE_CHECKING:
    from .forms import FormKernel, Monomials


def sum_in_parts(kernel: FormKernel, form: Monomials, factor: np.ndarray) -> TiledSum:
    """A form without products, which shares images with the kernel's `base` where it has one."""
    weights = kernel.theta * form.factor_of(1)
    if kernel.base is not None:
        return kernel.base.with_weights(weights)
    left = np.repeat(factor[:, None], kernel.n_kernels, axis=1)
    return TiledSum(kernel.stack.in_parts(), left, weights, keeps_images=True)


def form_in_parts(kernel: FormKernel, factor: np.ndarray | None) -> TiledFunction:
    """A form as a function of the values of the kernels with a weight."""
    form: Any = kernel.form
    eta, parts = kernel.theta, kernel.stack.in_parts()
    used = np.flatnonzero(eta).tolist()
    xp, place = parts.place.xp, parts.place
    shifts = None if kernel.diagonals is None else place.asarray(kernel.diagonals @ eta, "float64")

    def combine(values: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
        weighted = (float(eta[m]) * x for m, x in zip(used, values, strict=True))
        if shifts is None:
            return form.value_of(weighted, None, xp)
        left, right = (place.take(shifts, index) for index in (rows, columns))
        return form.value_of(weighted, left[:, None] + right[None, :], xp)

    diagonals = parts.diagonals()
    if kernel.diagonals is None:
        diagonal = np.asarray(form.value_of((eta[m] * diagonals[:, m] for m in used), None, np))
    else:
        diagonal = np.ones(len(diagonals))
    return TiledFunction(parts, combine, diagonal, kernels=used, factor=factor)


def sum_images(operand: TiledSum, rows: np.ndarray | None, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """k_m between some samples and others, times the factors and coefficients of the latter, for each kernel."""
    place = operand.place
    V = place.asarray(operand.left[columns][:, :, None] * coef[:, None, :], "float64")
    return place.numpy(operand.tiles.images(rows, columns, V))


def sum_pullback(
    operand: TiledSum, rows: np.ndarray, coef: np.ndarray, images: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """-1/2 sum_r c_r' K_m c_r of each kernel in a weighted sum, and sum_j G_ij K_ij of each row.

    Parameters
    ----------
    operand : TiledSum
    rows : ndarray of int
        The samples with coefficients.
    coef : ndarray of shape (n_rows, n_outputs)
    images : ndarray of shape (n_rows, n_kernels, n_outputs)
        What `sum_images` gives of them.
    """
    shares = operand.left[rows] * np.einsum("ir,imr->im", coef, images)
    return -0.5 * shares.sum(axis=0), shares @ operand.weights


def form_pullback(
    kernel: FormKernel, rows: np.ndarray, coef: np.ndarray, *, sums: bool
) -> tuple[np.ndarray, np.ndarray]:
    """-1/2 sum_ij G_ij dK_ij / deta_m of each weight, and sum_j G_ij K_ij of each row.

    Parameters
    ----------
    kernel : FormKernel
    rows : ndarray of int
        The samples with coefficients.
    coef : ndarray of shape (n_rows, n_outputs)
        Times the factors of samples that lack views.
    sums : bool
        Whether sums of rows are wanted; if not, they are 0, and each pair of samples is computed once.
    """
    parts, eta = kernel.stack.in_parts(), kernel.theta
    xp, place = parts.place.xp, parts.place
    form: Any = kernel.form
    C = place.asarray(coef, "float64")
    diagonals = None if kernel.diagonals is None else place.asarray(kernel.diagonals[rows], "float64")
    n_rows = len(rows)
    height, width = tile_shape(place, n_rows)
    n_tasks = -(-n_rows // height)
    gradients, row_sums = np.zeros((n_tasks, len(eta))), np.zeros(n_rows)

    def work(task: int) -> None:
        first, last = task * height, min((task + 1) * height, n_rows)
        stop = n_rows if sums else last
        for left in range(0, stop, width):
            right = min(left + width, stop)
            tile = rows[first:last], rows[left:right]
            values = [xp.astype(parts.block(m, *tile), xp.float64, copy=False) for m in range(len(eta))]
            both = None if diagonals is None else (diagonals[first:last, :], diagonals[left:right, :])
            K, slopes = form.derivatives(values, eta, both, xp)
            G = C[first:last, :] @ C[left:right, :].T
            if sums:
                row_sums[first:last] += place.numpy(xp.sum(G * K, axis=1))
            counted = np.where(np.arange(left, right) < (0 if sums else first), 1.0, 0.5)  # pairs left out count twice
            for m, slope in enumerate(slopes):
                gradients[task, m] -= place.numpy(xp.sum(G * slope, axis=0)) @ counted

    in_tiles(place, work, n_tasks)
    return gradients.sum(axis=0), row_sums
