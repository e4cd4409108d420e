"""How similar kernels with explicit features are to the targets and to each other, by sums over blocks of samples.

With features phi_m, centred over the samples that have the view or not, and T = Z Z' (see `inner_products`),

    <K_m, T> = ||sum_i w_i phi_im z_i'||^2,      <K_m, K_h> = ||sum_i w_i phi_im phi_ih'||^2

so that two passes over the data and P^2 / 2 matrices of the size of two kernels' features are all it takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engines.block import Block
from ...engines.moments import means_of, products_of, pulled_by
from .inner_products import CONSTANT, Similarity


class IdealColumns:
    """z of the samples of a block, of shape (n_samples, n_columns): T = Z Z' is the ideal kernel.

    Parameters
    ----------
    n_classes : int or None
        None for numbers.
    mean : ndarray or float
        What is subtracted.
    weighted : bool
        Whether rows are multiplied by the weights of the samples.
    """

    def __init__(self, n_classes: int | None, mean: Any = 0.0, weighted: bool = False):
        self.n_classes, self.mean, self.weighted = n_classes, mean, weighted

    def __call__(self, block: Block) -> np.ndarray:
        """z, or w z."""
        y = np.asarray(block.y)
        if self.n_classes is None:
            z = y.reshape(len(y), -1).astype(float)
        elif self.n_classes == 2:
            z = 2.0 * y[:, None] - 1.0
        else:
            k = self.n_classes
            z = np.sqrt(k / (k - 1)) * (np.eye(k)[y] - 1.0 / k)
        z = z - self.mean
        return block.weight[:, None] * z if self.weighted else z


def n_classes_of(machine: Any, combiner: object) -> int | None:
    """The number of classes of a machine with explicit features; None where its targets are numbers."""
    if machine.detects_novelty:
        raise ValueError(f"{type(combiner).__name__} compares kernels with targets, and there are none; use Mean")
    if machine.strata is None:
        return None
    return 2 if machine.n_outputs == 1 else machine.n_outputs


def explicit_similarities(stack: Any, machine: Any, combiner: object, centered: bool, pairs: bool) -> Similarity:
    """Inner products of kernels with explicit features, see `inner_products.similarities`.

    Parameters
    ----------
    stack : ExplicitStack
    machine : ExplicitMachine
    combiner
        What errors name.
    centered, pairs : bool
    """
    engine, offsets, n_classes = stack.engine, stack.offsets, n_classes_of(machine, combiner)
    total, sums = engine.sum(_target_sums, IdealColumns(n_classes, weighted=True))
    mean = sums / total
    shift = mean if n_classes is None or centered else np.zeros_like(mean)
    scale = 1.0 / len(mean) if n_classes is None else 1.0  # T is an average over targets
    target = scale * engine.sum(_target_square, IdealColumns(n_classes, shift))
    totals, means = means_of(engine, offsets)
    means = means if centered else np.zeros_like(means)
    mine = mean if n_classes is None else 0.0
    vectors = pulled_by(engine, stack.n_features, IdealColumns(n_classes, mine, weighted=True))
    if centered:
        sums = engine.sum(_present_targets, IdealColumns(n_classes, mine, weighted=True))
        vectors = vectors - means[:, None] * np.repeat(sums, np.diff(offsets), axis=0)
    to_target = scale * stack.norms(vectors)
    products = products_of(engine, offsets, means, pairs=pairs)
    between = np.zeros((stack.n_kernels,) * 2)
    for (m, h), product in products.items():
        between[m, h] = between[h, m] = (product**2).sum()
    squares = np.diagonal(between).copy()
    for m in range(stack.n_kernels):
        own = means[offsets[m] : offsets[m + 1]]
        before = ((products[m, m] + totals[m] * np.outer(own, own)) ** 2).sum()
        if squares[m] <= CONSTANT**2 * before:
            to_target[m] = squares[m] = 0.0
            between[m] = between[:, m] = 0.0
    return Similarity(to_target, np.sqrt(squares), float(np.linalg.norm(target)), between if pairs else None)


def _present_targets(block: Block, columns: IdealColumns) -> np.ndarray:
    """sum_i w_i p_im z_i of each kernel, of shape (n_kernels, n_columns)."""
    z = columns(block)
    if block.present is None:
        return np.repeat(z.sum(axis=0)[None], len(block.features.offsets) - 1, axis=0)
    return block.present.astype(float).T @ z


def _target_sums(block: Block, columns: IdealColumns) -> tuple[float, np.ndarray]:
    return float(block.weight.sum()), columns(block).sum(axis=0)


def _target_square(block: Block, columns: IdealColumns) -> np.ndarray:
    z = columns(block)
    return z.T @ (block.weight[:, None] * z)
