"""The pass over a block in a place, and what certificates need, in the array API.

The formulas are those of `engines.training.primal`. Results stay in the place until
the sums over all blocks are made.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Place
from ...machines import DualTerms
from ..training.descent import PROBES, ROWS, SHARE, Curvature
from ..training.primal import Amplitudes, Pass, Scored
from . import fused, gates
from .block import DeviceBlock, losses_on_host

CURVED = 2**15  # samples of a block, at most, that curvature is estimated from


def sweep(
    block: DeviceBlock, amplitudes: Amplitudes, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray
) -> Pass:
    """One pass over a block; see `primal.sweep`. Arrays of the result are in the place, float64."""
    place, learns = block.place, amplitudes.n_parameters > 0
    xp, dtype = place.xp, block.features.dtype
    parameters, a = amplitudes_of(block, amplitudes, theta)
    if fused.serves(block, weights.shape[1]):
        loss, pulled, totals, by_amplitude = fused.sweep(block, a, weights, intercept, learns)
    else:
        s = block.features.scores(weights)
        values = xp.sum(a[:, :, None] * s, axis=1) + place.asarray(intercept, dtype)
        loss, c = block.losses.respond(values)
        totals = xp.sum(c, axis=0, dtype=xp.float64)
        pulled = block.features.pull(a[:, :, None] * c[:, None, :])
        by_amplitude = -xp.sum(c[:, None, :] * s, axis=2) if learns else None
    slopes: Any = place.zeros(0)
    if learns:
        kind, rows = gates.kind_of(block, amplitudes), slice(0, block.n_samples)
        if kind is None:
            slopes = amplitudes.pullback(parameters, block, rows, a, by_amplitude)
        else:
            slopes = gates.pullback(block, kind, parameters, a, by_amplitude)
        slopes = xp.astype(slopes, xp.float64, copy=False)
    return Pass(loss, pulled, totals, slopes)


def amplitudes_of(block: DeviceBlock, amplitudes: Amplitudes, theta: np.ndarray) -> tuple[Any, Any]:
    """Parameters and amplitudes of a block, in the type of its features; those without parameters are kept."""
    place, known = block.place, block.kept.get("amplitudes")
    parameters: Any = place.asarray(theta, block.features.dtype)
    if known is not None and known[0]() is amplitudes:
        return parameters, known[1]
    kind = gates.kind_of(block, amplitudes) if amplitudes.n_parameters else None
    if kind is not None:
        return parameters, gates.gates(block, kind, parameters)
    found: Any = amplitudes.values(parameters, block, slice(0, block.n_samples))
    found = place.xp.astype(found, getattr(place.xp, block.features.dtype), copy=False)
    if not amplitudes.n_parameters:
        block.kept["amplitudes"] = weakref.ref(amplitudes), found
    return parameters, found


@dataclass(frozen=True)
class ScoredOnDevice:
    """The scores of a block without biases, in the type of the features, with losses and weights of its samples."""

    scores: Any
    losses: DualTerms
    weight: Any
    place: Place

    def on_host(self) -> Scored:
        """The same for functions that read NumPy arrays."""
        scores, weight = (self.place.numpy(each).astype(np.float64) for each in (self.scores, self.weight))
        return Scored(scores, losses_on_host(self.losses, self.place), weight)


def scored(block: DeviceBlock, amplitudes: Amplitudes, weights: np.ndarray, theta: np.ndarray) -> ScoredOnDevice:
    """Scores sum_m a_im s_imr of a block; see `primal.scored`."""
    place, a = block.place, amplitudes_of(block, amplitudes, theta)[1]
    found = place.xp.sum(a[:, :, None] * block.features.scores(weights), axis=1)
    return ScoredOnDevice(found, block.losses, block.weight, place)


def slopes(block: ScoredOnDevice, intercept: np.ndarray) -> tuple[Any, Any, Any]:
    """Sums of c at some biases, of |c|, and how fast the first fall; see `primal.slopes`."""
    place, losses = block.place, block.losses
    xp = place.xp
    values = xp.astype(block.scores, xp.float64) + place.asarray(intercept, "float64")
    c, fall = losses.coefficients(values), losses.curvature(values)
    sums, sizes, falls = (xp.sum(each, axis=0, dtype=xp.float64) for each in (c, xp.abs(c), fall))
    return sums, sizes, falls


def curvature(
    block: DeviceBlock, amplitudes: Amplitudes, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray
) -> Curvature:
    """Sums that the diagonal of the Hessian is made of, from some samples; see `descent.curvature`."""
    place, dtype, n = block.place, block.features.dtype, block.n_samples
    xp = place.xp
    rows = slice(0, min(n, max(ROWS, min(n // SHARE, CURVED))))
    losses = block.losses.of(rows)
    phi, (parameters, a) = block.features.features(rows), amplitudes_of(block, amplitudes, theta)
    a, w = a[rows, :], place.asarray(weights, dtype)
    spans = block.features.spans
    scores = xp.stack([phi[:, span] @ w[span, :] for span in spans], axis=1)
    c = losses.coefficients(xp.sum(a[:, :, None] * scores, axis=1) + place.asarray(intercept, dtype))
    all_rates = (n / rows.stop) / losses.quadratic
    rates = xp.where(losses.curves(c), all_rates, xp.zeros_like(all_rates))
    phi, sums = phi * phi, []
    for rate in (rates, all_rates):
        parts = [phi[:, span].T @ (a[:, m, None] ** 2 * rate) for m, span in enumerate(spans)]
        sums += [xp.astype(xp.concat(parts), xp.float64), xp.sum(rate, axis=0, dtype=xp.float64)]
    bends: list[Any] = []
    if amplitudes.n_parameters:
        signs = np.random.default_rng(block.first).choice([-1.0, 1.0], size=(PROBES, *c.shape))
        for pull in signs:
            slopes = xp.sum((place.asarray(pull, dtype) * rates**0.5)[:, None, :] * scores, axis=2)
            bend = amplitudes.pullback(parameters, block, rows, a, slopes)
            bends.append(xp.astype(bend, xp.float64))
    sums.append(xp.stack(bends, axis=1) if bends else place.zeros((0, PROBES)))
    return Curvature(*sums)
