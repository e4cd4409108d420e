"""The function that `Projected` minimises on explicit features, as a sum over samples.

    P(u, b, theta) = sum_m penalty_m(u_m, W_m) + total sum_r b_r + sum_i loss_i(f_i) + penalty(theta)
    f_ir = sum_m eta_m(x_i|V, T) <u_mr, phi_m(W_m' x_i^m)> + b_r,      theta = (V, T, W)

One pass over the data gives value and gradient by all parameters. At the optimum over (u, b) it is J(theta) of the
approximate kernel plus the penalties, so that no machine has to be solved within the descent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ....engines.base import Engine
from ....engines.block import TILE, Block
from ....engines.slices import ranges, spans_of
from ....engines.training.primal import Pass
from ...gates.base import Gate
from ...projected.layout import Layout
from .terms import Term


@dataclass(frozen=True)
class Model:
    """Gates, projections and features without parameters; small, and sent to wherever blocks are."""

    gate: Gate
    layout: Layout
    terms: list[Term]

    @property
    def offsets(self) -> np.ndarray:
        """Where the features of each kernel begin, and where the last ones end."""
        return np.cumsum([0, *(term.n_features for term in self.terms)])


def projected_sweep(block: Block, model: Model, u: np.ndarray, intercept: np.ndarray, theta: np.ndarray) -> Pass:
    """One pass over a block whose features are those that are projected, tile by tile."""
    layout = model.layout
    matrices = layout.projections(theta)
    terms = [term.at(W) for term, W in zip(model.terms, matrices, strict=True)]
    spans = spans_of(model.offsets)
    own = [u[span] for span in spans]
    loss, totals, pulled = np.zeros(len(intercept)), np.zeros(len(intercept)), np.zeros(u.shape)
    V, T = layout.gating(theta)
    by_V, by_T = np.zeros(len(V)), None if T is None else np.zeros(T.shape)
    by_W = [np.zeros(W.shape) for W in matrices]
    columns = spans_of(block.features.offsets)
    for rows in ranges(block.n_samples, TILE):
        tile = block.features.features(rows).astype(np.float64, copy=False)
        points = [tile[:, span] @ W for span, W in zip(columns, matrices, strict=True)]
        features = [term.features(Z) for term, Z in zip(terms, points, strict=True)]
        scores = np.stack([F @ w for F, w in zip(features, own, strict=True)], axis=1)
        codes = block.codes[rows]
        projected = codes if T is None else codes @ T
        gates = model.gate.values(V, projected, _present(block, rows, len(terms)))
        cost, c = block.losses.of(rows).respond(np.einsum("im,imr->ir", gates, scores) + intercept)
        loss += cost
        totals += c.sum(axis=0)
        by_scores = model.gate.score_slopes(V, projected, gates, -np.einsum("ir,imr->im", c, scores))
        by_V += model.gate.scores_pullback(V, projected, by_scores)
        if by_T is not None and model.gate.codes_pullback is not None:
            by_T += codes.T @ model.gate.codes_pullback(V, projected, by_scores)
        for m, (term, w) in enumerate(zip(terms, own, strict=True)):
            G = gates[:, m, None] * c
            pulled[spans[m]] += features[m].T @ G
            by_points, by_landmarks = term.pullback(points[m], -(G @ w.T))
            by_W[m] += tile[:, columns[m]].T @ by_points
            if by_landmarks is not None:
                by_W[m] += by_landmarks
    return Pass(loss, pulled, totals, layout.join(by_V, by_T, by_W))


def _present(block: Block, rows: slice, n_kernels: int) -> np.ndarray:
    if block.present is None:
        return np.ones((rows.stop - rows.start, n_kernels), dtype=bool)
    return block.present[rows]


class ProjectedPrimal:
    """P and its gradient, over vectors [u, b, theta].

    Parameters
    ----------
    engine : Engine
        Over `Block`s with codes, whose features are those that are projected.
    model : Model
    n_outputs : int
    total : float
        What a bias costs.
    penalty : callable
        Of theta: value and gradient.
    """

    def __init__(
        self,
        engine: Engine,
        model: Model,
        n_outputs: int,
        *,
        total: float,
        penalty: Callable[[np.ndarray], tuple[float, np.ndarray]],
    ):
        self.engine, self.model, self.total, self.penalty = engine, model, total, penalty
        self.shape = int(model.offsets[-1]), n_outputs
        self.evaluations = 0

    def parts(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """u, b and theta of a vector."""
        D, q = self.shape
        return position[: D * q].reshape(D, q), position[D * q : D * q + q], position[D * q + q :]

    def join(self, u: np.ndarray, intercept: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """A vector of u, b and theta."""
        return np.concatenate([u.ravel(), intercept, theta])

    def __call__(self, position: np.ndarray) -> tuple[float, np.ndarray, None]:
        """P and its gradient."""
        u, b, theta = self.parts(position)
        found: Pass = self.engine.sum(projected_sweep, self.model, u, b, theta)
        self.evaluations += 1
        value, by_theta = self.penalty(theta)
        by_u, by_W = np.empty_like(u), []
        offsets, layout = self.model.offsets, self.model.layout
        for m, (term, W) in enumerate(zip(self.model.terms, layout.projections(theta), strict=True)):
            span = slice(offsets[m], offsets[m + 1])
            own, by_u[span], slopes = term.at(W).penalty(u[span])
            value += own
            by_W.append(np.zeros(W.shape) if slopes is None else slopes)
        V, T = layout.gating(theta)
        by_theta = by_theta + layout.join(np.zeros_like(V), None if T is None else np.zeros_like(T), by_W)
        value += self.total * float(b.sum()) + float(found.loss.sum())
        return value, self.join(by_u - found.pulled, self.total - found.totals, by_theta + found.slopes), None
