"""`Block`: samples ready for training, with targets, features and gating inputs.

    scores    s[i, m, r] = <w_mr, phi_m(x_i)>
    sweep     sum_i G[i, m, r] phi_m(x_i)      where G is a function of the scores

`FeatureBlock.sweep` is all that a pass does with features: it goes through them once, tile by tile, and hands the
scores of a tile to a function that returns what each sample pulls with. Features are held (`StoredFeatures`) or
computed again in every pass (`host.recomputed.RecomputedFeatures`). On the host, `HostFeatures.products` does the same
by compiled loops for the plain losses, see `host.fused`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..machines.terms import DualTerms
from .host.products import HeldRows, HeldTiles, Products
from .slices import ranges, spans_of

Respond = Callable[[slice, np.ndarray], np.ndarray | None]
TILE = 512  # samples whose scores are worked on together


class FeatureBlock(ABC):
    """Features of all kernels of a block of samples.

    Attributes
    ----------
    n_samples : int
    offsets : ndarray of int, shape (n_kernels + 1,)
        Features of kernel m are the columns from offsets[m] on, up to offsets[m + 1].
    """

    n_samples: int
    offsets: np.ndarray

    @abstractmethod
    def features(self, rows: slice) -> np.ndarray:
        """phi of some samples, all kernels side by side."""

    def sweep(self, weights: np.ndarray, respond: Respond) -> np.ndarray:
        """One pass: scores of a tile go to `respond`, whose result pulls the features; sums over tiles in float64.

        Parameters
        ----------
        weights : ndarray of shape (n_features, n_outputs)
            float64.
        respond : callable
            ``respond(rows, scores)`` with a slice of samples and their scores, of shape (n_rows, n_kernels, n_outputs),
            returns G of the same shape, or None where nothing is pulled.

        Returns
        -------
        ndarray of shape (n_features, n_outputs)
            float64.
        """
        pulled = np.zeros(weights.shape)
        spans = spans_of(self.offsets)
        for rows in ranges(self.n_samples, TILE):
            tile = self.features(rows).astype(np.float64, copy=False)  # biases are found from these scores, to rounding
            G = respond(rows, np.stack([tile[:, span] @ weights[span] for span in spans], axis=1))
            if G is not None:
                for m, span in enumerate(spans):
                    pulled[span] += tile[:, span].T @ G[:, m]
        return pulled


class HostFeatures(FeatureBlock):
    """Features on the host, with compiled products."""

    @abstractmethod
    def products(self, weights: np.ndarray) -> Products:
        """What a fused pass does with these features and weight vectors, of shape (n_features, n_outputs)."""


class StoredFeatures(HostFeatures):
    """Features that are held, of shape (n_samples, n_features), float32 or float64."""

    def __init__(self, matrix: np.ndarray, offsets: np.ndarray):
        self.matrix, self.offsets = matrix, offsets
        self.n_samples = len(matrix)

    @property
    def dtype(self) -> np.dtype:
        """Precision of the features."""
        return self.matrix.dtype

    def features(self, rows: slice) -> np.ndarray:
        """A part of the matrix."""
        return self.matrix[rows]

    def products(self, weights: np.ndarray) -> Products:
        """One compiled loop for one output, BLAS for several."""
        return (HeldRows if weights.shape[1] == 1 else HeldTiles)(self.matrix, self.offsets, weights)


class Samples(Protocol):
    """The attributes of a block that amplitudes read: of a `Block`, or of a `device.block.DeviceBlock`."""

    @property
    def weight(self) -> Any:
        """See `Block`."""

    @property
    def present(self) -> Any:
        """See `Block`."""

    @property
    def codes(self) -> Any:
        """See `Block`."""


@dataclass(frozen=True)
class Block:
    """Samples ready for training.

    Attributes
    ----------
    first : int
        Position of the first sample in the whole data.
    features : FeatureBlock
    losses : DualTerms
        What values of these samples cost.
    y : ndarray or None
        Targets as combiners take them (encoded labels).
    weight : ndarray of shape (n_samples,)
    present : ndarray of bool, shape (n_samples, n_kernels), or None
        Which sample has which view; None where each has all.
    codes : ndarray or None
        What a gating model reads of each sample; read by slices of samples only, as it may be computed then.
    views : Views or None
        The samples as given, for combiners that read more of them than features.
    """

    first: int
    features: FeatureBlock
    losses: DualTerms
    y: Any
    weight: np.ndarray
    present: np.ndarray | None = None
    codes: Any = None
    views: Any = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.features.n_samples
