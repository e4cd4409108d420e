"""`DeviceBlock`: a block whose arrays are in a place, and the same block as functions for the host read it.

Two products are all that a pass does with features:

    scores    s[i, m, r] = <w_mr, phi_m(x_i)>
    pull      sum_i G[i, m, r] phi_m(x_i)

Losses, gating inputs and presence are in the place too. Functions of a block that have no form for devices (see
`engine`) are given `DeviceBlock.on_host`, whose arrays are NumPy's and whose features stay where they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...arrays import Place
from ...kernels.resources import in_blas_threads
from ...machines import DualTerms
from ..base import ranges, spans_of
from ..block import TILE, Block, FeatureBlock, Respond

PIECE = 2**17  # samples that cross over at once


class DeviceFeatures(ABC):
    """Features of all kernels of a block, in a place.

    Attributes
    ----------
    place : Place
    dtype : {"float32", "float64"}
        Of features and scores.
    n_samples : int
    offsets : ndarray of int, shape (n_kernels + 1,)
        Where the weights of each kernel begin, and where the last ones end.
    """

    place: Place
    dtype: str
    n_samples: int
    offsets: np.ndarray

    @property
    def n_kernels(self) -> int:
        """Number of kernels, P."""
        return len(self.offsets) - 1

    @property
    def spans(self) -> list[slice]:
        """The weights of each kernel."""
        return spans_of(self.offsets)

    @abstractmethod
    def scores(self, weights: np.ndarray) -> Any:
        """s, an array of the place of shape (n_samples, n_kernels, n_outputs), from weights (n_features, n_outputs)."""

    @abstractmethod
    def pull(self, G: Any) -> Any:
        """sum_i G[i, m, r] phi_m(x_i), an array of the place of shape (n_features, n_outputs), float64."""

    @abstractmethod
    def features(self, rows: slice) -> Any:
        """phi of some samples, all kernels side by side, an array of the place."""


@dataclass(frozen=True)
class DeviceBlock:
    """Samples ready for training in a place; attributes are those of `engines.block.Block`.

    Attributes
    ----------
    first : int
    features : DeviceFeatures
    losses : DualTerms
        Of arrays of the place, in the type of the features.
    y : ndarray or None
        A NumPy array: no pass reads it.
    weight : array of the place
    present, codes
        Arrays of the place, or None.
    views : Views or None
    host : Block or None
        What `on_host` returns, where that has more than the attributes of a `Block`.
    kept : dict
        The amplitudes of the last solve, where they have no parameters.
    """

    first: int
    features: DeviceFeatures
    losses: DualTerms
    y: Any
    weight: Any
    present: Any = None
    codes: Any = None
    views: Any = None
    host: Block | None = None
    kept: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def place(self) -> Place:
        """Where the arrays are."""
        return self.features.place

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.features.n_samples

    def with_codes(self, codes: Any) -> DeviceBlock:
        """The block with codes, which some threads compute from slices, and without views."""
        found = in_blas_threads(lambda piece: self._placed(codes[piece]), list(ranges(self.n_samples, PIECE)))
        return replace(self, codes=self.place.xp.concat(found), views=None, kept={})

    def _placed(self, codes: np.ndarray) -> Any:
        floats = codes.dtype.kind == "f"
        return self.place.asarray(np.ascontiguousarray(codes), self.features.dtype if floats else None)

    def on_host(self) -> Block:
        """The same block for functions that read NumPy arrays."""
        if self.host is not None:
            return self.host
        numpy = self.place.numpy
        losses = losses_on_host(self.losses, self.place)
        present, codes = (None if each is None else numpy(each) for each in (self.present, self.codes))
        weight = numpy(self.weight).astype(np.float64)
        found = Block(self.first, FeaturesFromHost(self.features), losses, self.y, weight, present, codes)
        return found if self.views is None else replace(found, views=self.views)


def losses_on_host(losses: DualTerms, place: Place) -> DualTerms:
    """Losses of arrays of a place as NumPy arrays."""
    return losses.mapped(lambda term: place.numpy(term).astype(np.float64))


class FeaturesFromHost(FeatureBlock):
    """Features of a place, for functions of the host: scores and what answers them cross over, features stay."""

    def __init__(self, placed: DeviceFeatures):
        self.placed, self.n_samples, self.offsets = placed, placed.n_samples, placed.offsets

    def sweep(self, weights: np.ndarray, respond: Respond) -> np.ndarray:
        """Scores of all samples come to the host, tile by tile to `respond`, and what it returns goes back."""
        place = self.placed.place
        scores = place.numpy(self.placed.scores(weights)).astype(np.float64)
        G, pulls = np.zeros_like(scores), False
        for rows in ranges(self.n_samples, TILE):
            own = respond(rows, scores[rows])
            if own is not None:
                G[rows], pulls = own, True
        if not pulls:
            return np.zeros(weights.shape)
        return np.asarray(place.numpy(self.placed.pull(place.asarray(G, self.placed.dtype))))

    def features(self, rows: slice) -> np.ndarray:
        """phi of some samples, moved to the host."""
        return np.asarray(self.placed.place.numpy(self.placed.features(rows)))


def placed_block(block: Block, features: DeviceFeatures) -> DeviceBlock:
    """A block of NumPy arrays, with features that are in a place."""
    place, dtype = features.place, features.dtype
    present = None if block.present is None else place.asarray(np.ascontiguousarray(block.present))
    losses = block.losses.mapped(lambda term: place.asarray(np.ascontiguousarray(term), dtype))
    weight = place.asarray(block.weight, dtype)
    host = None if type(block) is Block else block
    found = DeviceBlock(block.first, features, losses, block.y, weight, present, None, block.views, host)
    return found if block.codes is None else found.with_codes(block.codes)  # held, also where they were on demand


def joined(blocks: list[Block], views: Any) -> Block:
    """Consecutive blocks without features as one, with the views of all of them."""
    first = blocks[0]
    if len(blocks) == 1:
        return first
    losses = first.losses.followed_by([each.losses for each in blocks[1:]])
    present, P = None, next((each.present.shape[1] for each in blocks if each.present is not None), 0)
    if P:
        whole = [np.ones((len(b.weight), P), dtype=bool) if b.present is None else b.present for b in blocks]
        present = np.concatenate(whole)
    y = None if first.y is None else np.concatenate([each.y for each in blocks])
    weight = np.concatenate([each.weight for each in blocks])
    return replace(first, losses=losses, y=y, weight=weight, present=present, views=views)
