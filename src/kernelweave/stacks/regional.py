"""Regions: each kernel is there once for each region j, as c_j(x) k_m(x, z) c_j(z), with a weight of its own.

    K = sum_m sum_j eta_mj a_mj a_mj' * K_m      (products by entries),      a_mj = c_j(x) f_j(x) of the samples x

c_j are memberships, of shape (n_samples, n_regions), and f_j what samples that lack views are multiplied by in region j
(`weighted.WeightedSum`, with the weights of that region). On whole matrices and in tiles c_j f_j is the scaling of a
sum, with a column for each region; on explicit features it is a part of the amplitudes. Either way each kernel value
and each feature is computed and held once: regions are further columns of the coefficients.

Weights, and coefficients of features, are those of all regions of the first kernel, then those of the second.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..arrays import HOST, Place, place_of
from ..engines.base import spans_of
from ..engines.memory import Block, FeatureBlock, Respond, Samples
from ..views import Views
from .base import without_views

NOTHING = np.empty(0)


def region_factors(eta: np.ndarray, present: Any, place: Place = HOST) -> Any:
    """f of samples that have these views, an array of bool of a place; eta of shape (n_kernels, n_regions).

    >>> region_factors(np.array([[3.0, 0.0], [1.0, 2.0]]), np.array([[True, True], [False, True]]))
    array([[1., 1.],
           [2., 1.]])
    """
    xp = place.xp
    weights = place.asarray(eta, "float64")
    there = xp.astype(present, xp.float64) @ weights
    some = there > 0.0
    whole = xp.broadcast_to(xp.sum(weights, axis=0), there.shape)
    return xp.where(some, whole / xp.where(some, there, 1.0), xp.ones_like(there)) ** 0.5


def region_amplitudes(eta: np.ndarray, reference: np.ndarray, memberships: Any, present: Any, place: Place) -> Any:
    """(eta_mj)^(1/2) c_j f_j, 0 for views that are missing: of shape (n_samples, n_kernels, n_regions).

    `present` is None where all samples have all views; f is that of the weights `reference`.
    """
    xp = place.xp
    roots = place.asarray(np.sqrt(eta), "float64")
    left = xp.astype(memberships, xp.float64)
    if present is None:
        return left[:, None, :] * roots[None, :, :]
    left = left * region_factors(reference, present, place)
    return left[:, None, :] * roots[None, :, :] * xp.astype(present, xp.float64)[:, :, None]


def warn_of_no_view(
    names: list[str], eta: np.ndarray, present: np.ndarray, memberships: np.ndarray, views: Views | None
) -> None:
    """Warn of a sample none of whose views has a weight in a region that it belongs to."""
    without = ((present @ eta) * memberships).sum(axis=1) <= 0.0
    if views is not None and without.any():
        without_views(views.first(without), names, eta.sum(axis=1), "warn")


class RegionAmplitudes:
    """Of explicit features, see `region_amplitudes`; `function` gives memberships of codes, as a `GateFunction`."""

    n_parameters = 0

    def __init__(self, function: Any, eta: np.ndarray, reference: np.ndarray):
        self.function, self.eta, self.reference = function, eta, reference
        self.active = np.ones(len(eta) // len(function.active), dtype=bool)  # of the kernels

    def values(self, theta: np.ndarray, block: Samples, rows: slice) -> Any:
        codes, function = block.codes, self.function
        codes = codes[rows, ...] if hasattr(codes, "shape") else codes[rows]  # the latter where they are on demand
        place, n_regions = place_of(codes), len(function.active)
        everywhere = place.asarray(np.ones((codes.shape[0], n_regions), dtype=bool))
        memberships = function.gate.values(function.fixed, codes, everywhere, function.tol)
        eta, reference = (weights.reshape(-1, n_regions) for weights in (self.eta, self.reference))
        present = None if block.present is None else block.present[rows, ...]
        found = region_amplitudes(eta, reference, memberships, present, place)
        return place.xp.reshape(found, (codes.shape[0], len(self.eta)))

    def pullback(
        self, theta: np.ndarray, block: Samples, rows: slice, amplitudes: np.ndarray, slopes: np.ndarray
    ) -> np.ndarray:
        return NOTHING

    def by_kernel(self, amplitudes: Any) -> Any:
        """The root of what multiplies k_m(x, x), of shape (n_samples, n_kernels)."""
        xp, (n, n_weights), n_kernels = place_of(amplitudes).xp, amplitudes.shape, len(self.active)
        return xp.sum(xp.reshape(amplitudes**2, (n, n_kernels, n_weights // n_kernels)), axis=2) ** 0.5


def wide_weights(weights: np.ndarray, n_copies: int) -> np.ndarray:
    """Weights of the copies of one kernel's features, side by side: (n_features, n_copies x n_outputs)."""
    n, q = len(weights) // n_copies, weights.shape[1]
    return weights.reshape(n_copies, n, q).transpose(1, 0, 2).reshape(n, n_copies * q)


class RepeatedFeatures(FeatureBlock):
    """Features of a block, those of each kernel several times; they are held, or computed, once."""

    def __init__(self, once: FeatureBlock, n_copies: int):
        self.once, self.n_copies, self.n_samples = once, n_copies, once.n_samples
        self.offsets = np.cumsum([0, *np.repeat(np.diff(once.offsets), n_copies)])

    @property
    def dtype(self) -> Any:
        return getattr(self.once, "dtype", np.dtype(np.float64))

    def features(self, rows: slice) -> np.ndarray:
        found = self.once.features(rows)
        return np.hstack([np.tile(found[:, span], (1, self.n_copies)) for span in spans_of(self.once.offsets)])

    def sweep(self, weights: np.ndarray, respond: Respond) -> np.ndarray:
        """The copies of a kernel are further outputs of it."""
        k, q = self.n_copies, weights.shape[1]
        n_kernels, spans = len(self.once.offsets) - 1, spans_of(self.once.offsets)
        wide = [wide_weights(weights[k * span.start : k * span.stop], k) for span in spans]

        def each(rows: slice, scores: np.ndarray) -> np.ndarray | None:
            G = respond(rows, scores.reshape(len(scores), n_kernels * k, q))
            return None if G is None else G.reshape(len(G), n_kernels, k * q)

        pulled = self.once.sweep(np.concatenate(wide), each)
        back = [pulled[span].reshape(-1, k, q).transpose(1, 0, 2).reshape(-1, q) for span in spans]
        return np.concatenate(back)


def in_copies(block: Block, n_copies: int) -> Block:
    return dataclasses.replace(block, features=RepeatedFeatures(block.features, n_copies))
