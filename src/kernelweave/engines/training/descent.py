"""L-BFGS on P(w, b, theta), with the diagonal of the Hessian, so that few passes are needed.

Features of a kernel are nearly uncorrelated, and their second moments differ by orders of magnitude: the Hessian by the
weights is badly scaled, but nearly diagonal. With the samples A whose loss curves (those inside the margin, for a
squared hinge), its diagonal is

    d2P/dw_j^2 = 1 + sum_(i in A) a_im^2 phi_j(x_i)^2 / h_i,        d2P/db^2 = sum_(i in A) 1 / h_i

which is estimated from a share of the samples of each block at the start, and again after 5, 10, 20, 40 ... steps. For
theta it is that of Gauss and Newton, sum_(i in A) (df_i/dtheta)^2 / h_i, estimated with random signs, and the
penalty's.

Evaluations until half the squared gradient by w is 5e-4 of P, for the mean kernel, without the diagonal (10 steps
remembered) and with it (30), and P after 50 steps of softmax gates; 8000 samples of generated problems
(`benchmarks.scale_explicit`), and of the data sets "letter" (first classes against last ones) and "spambase" (4601),
with three to six Gaussian kernels of 128 or 256 landmarks:

==========  ====  ============  ====================
problem     C     evaluations   P of gates
==========  ====  ============  ====================
regions     1     54, 22        -
regions     30    289, 50       -
waves       1     77, 23        -
waves       30    396, 145      -
skewed      1     49, 38        -
skewed      30    179, 168      -
letter      1     122, 57       1777, 1536
letter      30    > 400, 274    41020, 32713
spambase    1     48, 56        429, 405
spambase    30    365, 248      13659, 10436
==========  ====  ============  ====================
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ...solvers.descent import Point
from ..base import spans_of
from ..block import Block
from .primal import Amplitudes, Primal

ROWS, SHARE = 256, 16  # the Hessian is estimated from this many samples of each block, or one of so many
MEMORY = 30  # steps whose curvature is remembered
FIRST = 5  # step before which the Hessian is estimated for the second time
PROBES = 8  # vectors of random signs, for the parameters theta
TINY = 1e-12
SMOOTH = 0.1  # share of the estimate that is taken as if all samples curved alike


@dataclass(frozen=True)
class Curvature:
    """Sums over samples that the diagonal of the Hessian is made of; those of blocks add up.

    Attributes
    ----------
    weights : ndarray of shape (n_features, n_outputs)
        a^2 phi^2 / h over samples whose loss curves.
    intercept : ndarray of shape (n_outputs,)
        1 / h over the same.
    all_weights, all_intercept : ndarray
        The same over all samples.
    theta : ndarray of shape (n_parameters, PROBES)
        Derivatives of the values by theta, times h^(-1/2) and random signs, of the samples whose loss curves: the mean
        of their squares over probes is an estimate of the sum of squares over samples.
    """

    weights: np.ndarray
    intercept: np.ndarray
    all_weights: np.ndarray
    all_intercept: np.ndarray
    theta: np.ndarray

    def __add__(self, other: Curvature) -> Curvature:
        parts = fields(self)
        return Curvature(*(getattr(self, part.name) + getattr(other, part.name) for part in parts))


def curvature(
    block: Block, amplitudes: Amplitudes, weights: np.ndarray, intercept: np.ndarray, theta: np.ndarray
) -> Curvature:
    """Estimates of the sums over a block, from some of its samples."""
    n, n_outputs, shapes = block.n_samples, len(intercept), (weights.shape, intercept.shape)
    sums = [np.zeros(shape) for shape in (*shapes, *shapes, (amplitudes.n_parameters, PROBES))]
    if not n:
        return Curvature(*sums)
    rows = slice(0, min(n, max(ROWS, n // SHARE)))
    losses, share = block.losses.of(rows), n / rows.stop
    phi = np.asarray(block.features.features(rows), dtype=np.float64)
    a = np.asarray(amplitudes.values(theta, block, rows), dtype=np.float64)
    spans = spans_of(block.features.offsets)
    scores = np.stack([phi[:, span] @ weights[span] for span in spans], axis=1)
    _, c = losses.respond(np.einsum("im,imr->ir", a, scores) + intercept)
    h = np.broadcast_to(np.asarray(losses.quadratic, dtype=np.float64), (rows.stop, n_outputs))
    curves = losses.curves(c)
    phi = np.square(phi)  # not in place: float64 features are those of the block
    for place, rate in ((0, share * curves / h), (2, share / h)):
        for m, span in enumerate(spans):
            sums[place][span] = phi[:, span].T @ (np.square(a[:, m, None]) * rate)
        sums[place + 1] = rate.sum(axis=0)
    if amplitudes.n_parameters:
        signs = np.random.default_rng(block.first).choice([-1.0, 1.0], size=(PROBES, *h.shape))
        for probe, pull in enumerate(signs * np.sqrt(share * curves / h)):
            slopes = np.einsum("ir,imr->im", pull, scores)
            sums[4][:, probe] = amplitudes.pullback(theta, block, rows, a, slopes)
    return Curvature(*sums)


class Hessian:
    """The diagonal of the Hessian in the course of a descent; see `minimize_lbfgs`.

    Parameters
    ----------
    primal : Primal

    Attributes
    ----------
    intercept : ndarray of shape (n_outputs,) or None
        The last estimate for the biases.
    """

    def __init__(self, primal: Primal):
        self.primal, self.due = primal, 0
        self.intercept: np.ndarray | None = None

    def __call__(self, steps: int, point: Point, last: np.ndarray | None) -> np.ndarray:
        """An estimate at a point, new where one is due."""
        if last is not None and steps < self.due:
            return last
        self.due = FIRST if last is None else 2 * self.due
        w, b, theta = self.primal.parts(point.position)
        found: Curvature = self.primal.engine.sum(curvature, self.primal.amplitudes, w, b, theta)
        share = np.maximum(found.intercept / np.maximum(found.all_intercept, TINY), 1e-3)
        bend = 1.0 + (1.0 - SMOOTH) * found.weights + SMOOTH * share * found.all_weights
        self.intercept = np.maximum(share * found.all_intercept, TINY)
        return self.primal.join(bend, self.intercept, self._theta(theta, found))

    def _theta(self, theta: np.ndarray, found: Curvature) -> np.ndarray:
        """Half the estimate of each parameter, which few probes make uncertain, and half the mean of all."""
        bend = np.square(found.theta).mean(axis=1)
        if len(theta):
            bend = 0.5 * (bend + bend.mean())
            if self.primal.penalty is not None:
                bend = bend + np.maximum(self.primal.penalty(np.ones_like(theta))[1], 0.0)
        return np.maximum(bend, TINY)
