"""Projections on explicit features: features of projected samples as functions of the projection, and the descent.

    z = W' x,      k(z, z') ~ <phi(z), phi(z')>

==============  =======================  =============================================================
term            kernels                  phi(z)
==============  =======================  =============================================================
`LinearTerm`    linear                   z
`FourierTerm`   Gaussian                 cosines and sines of random frequencies of z
`NystroemTerm`  differentiable           k(z, L) with landmarks L = W' x_l, which move with W
==============  =======================  =============================================================

A function is f = phi v with the penalty 1/2 ||v||^2, of landmarks 1/2 v' K_LL(W) v. The v of landmarks are written as
v = R u with R = (K_LL + ridge I)^(-1/2) at some W: in these coordinates descent is well conditioned, and R stays as it
is when W moves. The ridge keeps directions that K_LL hardly has from growing then.

The function that is minimised is a sum over samples,

    P(u, b, theta) = sum_m penalty_m(u_m, W_m) + total sum_r b_r + sum_i loss_i(f_i) + penalty(theta)
    f_ir = sum_m eta_m(x_i|V, T) <u_mr, phi_m(W_m' x_i^m)> + b_r,      theta = (V, T, W)

and one pass over the data gives value and gradient by all parameters. At the optimum over (u, b) it is J(theta) of the
approximate kernel plus the penalties, so that no machine has to be solved within the descent.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp

from ..arrays import HOST
from ..engines.base import Engine, ranges, spans_of
from ..engines.memory import TILE, Block, StoredFeatures
from ..engines.primal import MEMORY, Pass, Vectors
from ..features import FeatureMap
from ..features.exact import ExactMap
from ..features.fourier import FourierMap, frequencies_of
from ..features.nystroem import NystroemMap, root_inverse
from ..kernels.base import ViewKernel
from ..kernels.points.projected import PointKernel
from ..machines import Machine, Solution
from ..solvers.descent.domains import ProductSpace, Space
from ..solvers.descent.smooth import minimize_lbfgs
from ..solvers.spectrum import above_rounding
from ..views import Views
from .descent import JointProblem, Start, learned
from .gate_totals import encoded

if TYPE_CHECKING:
    from .features import Features

RIDGE = 1e-3  # in units of the largest eigenvalue
FIRST_STEPS = 20  # of the weight vectors alone, at the start of a descent


class Term(ABC):
    """Features of one kernel's points; small, and sent to wherever blocks are."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Length of phi(z)."""

    def at(self, W: np.ndarray) -> Term:
        """The term at a projection."""
        return self

    def settled(self) -> Term:
        """What features at a projection take."""
        return self

    @abstractmethod
    def features(self, Z: np.ndarray) -> np.ndarray:
        """phi of points, of shape (n_points, n_features)."""

    @abstractmethod
    def pullback(self, Z: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Slopes by the points from slopes by their features; for landmarks also slopes by W that come of these."""

    def penalty(self, u: np.ndarray) -> tuple[float, np.ndarray, np.ndarray | None]:
        """The penalty, and its slopes by u and by W."""
        return 0.5 * float(np.vdot(u, u)), u, None


@dataclass(frozen=True)
class LinearTerm(Term):
    """phi(z) = z, of points of `width` numbers."""

    width: int

    @property
    def n_features(self) -> int:
        """As many as there are components."""
        return self.width

    def features(self, Z: np.ndarray) -> np.ndarray:
        """The points."""
        return Z

    def pullback(self, Z: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, None]:
        """The slopes."""
        return slopes, None


@dataclass(frozen=True)
class FourierTerm(Term):
    """Cosines and sines, for frequencies of shape (n_components, h); of squared norm `gain`."""

    frequencies: np.ndarray
    gain: float

    @property
    def n_features(self) -> int:
        """A cosine and a sine for each frequency."""
        return 2 * self.frequencies.shape[1]

    @property
    def _size(self) -> float:
        return float(np.sqrt(self.gain / self.frequencies.shape[1]))

    def features(self, Z: np.ndarray) -> np.ndarray:
        """Cosines, then sines."""
        angles = Z @ self.frequencies
        return self._size * np.hstack([np.cos(angles), np.sin(angles)])

    def pullback(self, Z: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, None]:
        """By the angles first."""
        angles, h = Z @ self.frequencies, self.frequencies.shape[1]
        by_angles = self._size * (np.cos(angles) * slopes[:, h:] - np.sin(angles) * slopes[:, :h])
        return by_angles @ self.frequencies.T, None


@dataclass(frozen=True)
class NystroemTerm(Term):
    """Kernel values to landmarks, times R.

    Attributes
    ----------
    kernel : PointKernel
    landmarks : ndarray of shape (n_landmarks, n_columns)
        Before their projection.
    basis : ndarray of shape (n_landmarks, n_features)
        R.
    points : ndarray of shape (n_landmarks, n_components)
        The landmarks at a projection.
    """

    kernel: PointKernel
    landmarks: np.ndarray
    basis: np.ndarray
    points: Any = None

    @property
    def n_features(self) -> int:
        """Columns of R."""
        return self.basis.shape[1]

    @classmethod
    def of(cls, kernel: PointKernel, landmarks: np.ndarray, W: np.ndarray) -> NystroemTerm:
        """The term with R of a projection."""
        values, vectors = np.linalg.eigh(kernel.gram(landmarks @ W))
        ridge = RIDGE * max(values[-1], np.finfo(float).tiny)
        return cls(kernel, landmarks, vectors / np.sqrt(np.maximum(values, 0.0) + ridge))

    def at(self, W: np.ndarray) -> NystroemTerm:
        """The landmarks, projected."""
        return replace(self, points=self.landmarks @ W)

    def settled(self) -> NystroemTerm:
        """The kernel and the landmarks, projected."""
        return replace(self, landmarks=self.landmarks[:0], basis=self.basis[:0])

    def features(self, Z: np.ndarray) -> np.ndarray:
        """k(z, L) R."""
        return self.kernel.cross(Z, self.points) @ self.basis

    def pullback(self, Z: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both the points and the landmarks move."""
        by_values = self.kernel.gain * (slopes @ self.basis.T)
        by_points = self.kernel.kernel.pullback(self.points, Z, by_values.T)
        return by_points, self.landmarks.T @ self.kernel.kernel.pullback(Z, self.points, by_values)

    def penalty(self, u: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """1/2 v' K_LL v with v = R u."""
        v = self.basis @ u
        image, pulled = self.kernel.contract(self.points, v)
        return 0.5 * float(np.vdot(v, image)), self.basis.T @ image, self.landmarks.T @ pulled


class ProjectedMap(FeatureMap):
    """phi(W' x), where x are the normalised features of a kernel's view.

    Parameters
    ----------
    features : ViewFeatures
        Fitted: what is projected.
    kernel : ViewKernel
        Fitted: it reads the view.
    directions : ndarray of shape (n_columns, n_components)
        W.
    term : Term
        At W.
    whitening : ndarray or None
        Of kernel values to landmarks; W itself of a linear kernel, whose raw values are the features x.
    """

    def __init__(self, features: Any, kernel: ViewKernel, directions: np.ndarray, term: Term):
        self.features, self.kernel, self.directions = features, kernel, directions
        self.term, self.whitening, self.trace_share = term.settled(), None, 1.0
        if isinstance(term, LinearTerm):
            self.whitening = directions
        elif isinstance(term, NystroemTerm):
            values, vectors = np.linalg.eigh(term.kernel.gram(term.points))
            self.whitening = root_inverse(values, vectors, above_rounding(values))

    @property
    def n_raw(self) -> int:
        """Number of raw values of a sample."""
        return self.term.n_features if self.whitening is None else len(self.whitening)

    @property
    def names(self) -> list[str]:
        """What the features that are projected are called."""
        return self.features.names

    def points(self, views: Views) -> np.ndarray:
        """W' x of samples."""
        return np.asarray(self.features.of(self.kernel, views) @ self.directions)

    @property
    def is_linear(self) -> bool:
        """Whether features are linear in the points."""
        return isinstance(self.term, LinearTerm)

    def features_at(self, points: np.ndarray) -> np.ndarray:
        """phi of points."""
        if isinstance(self.term, NystroemTerm):
            return self.term.kernel.cross(points, self.term.points) @ self.whitening
        return self.term.features(points)

    def raw(self, views: Views, present: np.ndarray) -> np.ndarray:
        """Features that are projected, kernel values to landmarks, or cosines and sines."""
        values: Any
        if isinstance(self.term, LinearTerm):
            values = self.features.of(self.kernel, views)
            values = values.copy() if isinstance(values, np.ndarray) else values.toarray()
        elif isinstance(self.term, NystroemTerm):
            values = self.term.kernel.cross(self.points(views), self.term.points)
        else:
            values = self.term.features(self.points(views))
        values[~present] = 0.0
        return values


@dataclass(frozen=True)
class Model:
    """Gates, projections and features without parameters; small, and sent to wherever blocks are."""

    gate: Any
    layout: Any
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


class ProjectedPrimal(Vectors):
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


@dataclass(frozen=True)
class Reading:
    """What gives a block the features that are projected, and codes; small, and sent to wherever blocks are."""

    maps: list[Any]
    kernels: list[ViewKernel]
    inputs: Any
    gate: Any

    def __call__(self, block: Block) -> Block:
        """The block with these features, in the precision of those that it has."""
        dtype = np.dtype(getattr(block.features, "dtype", np.float64))
        parts = [each.of(kernel, block.views) for each, kernel in zip(self.maps, self.kernels, strict=True)]
        dense = [part.toarray() if sp.issparse(part) else part for part in parts]
        offsets = np.cumsum([0, *(part.shape[1] for part in dense)])
        codes = encoded(self.gate, self.inputs.transform(block.views), np.dtype(np.float64))
        features = StoredFeatures(np.hstack(dense).astype(dtype), offsets)
        return dataclasses.replace(block, features=features, codes=codes, views=None)


@dataclass(frozen=True)
class Projecting:
    """What gives a block the explicit features at learned projections, and codes as the gating model reads them."""

    maps: list[ProjectedMap]
    inputs: Any
    gate: Any
    T: np.ndarray | None

    def __call__(self, block: Block) -> Block:
        """The block with these features, in the precision of those that it has."""
        dtype = np.dtype(getattr(block.features, "dtype", np.float64))
        offsets = np.cumsum([0, *(each.n_features for each in self.maps)])
        matrix = np.empty((block.n_samples, offsets[-1]), dtype=dtype)
        for m, each in enumerate(self.maps):
            there = np.ones(block.n_samples, dtype=bool) if block.present is None else block.present[:, m]
            matrix[:, offsets[m] : offsets[m + 1]] = each.transform(block.views, there)
        codes = encoded(self.gate, self.inputs.transform(block.views), np.dtype(np.float64))
        codes = codes if self.T is None else codes @ self.T
        return dataclasses.replace(block, features=StoredFeatures(matrix, offsets), codes=codes, views=None)


def _is_computed_again(block: Block) -> int:
    return int(not isinstance(block.features, StoredFeatures))


def drawn_terms(stack: Features, family: Any, theta: np.ndarray, rng: np.random.RandomState) -> list[Term]:
    """Explicit features of kernels of projected samples; those of landmarks are whitened at theta."""
    if not getattr(stack.engine, "place", HOST).is_host:
        raise ValueError('Projected on explicit features is learned on the CPU; use device="cpu"')
    for name, kernel, found in zip(stack.names, stack.kernels, stack.maps, strict=True):
        _check_map(name, kernel, found)
    return [_term(stack, family.maps[m], m, W, rng) for m, W in enumerate(family.layout.projections(theta))]


def _term(stack: Features, features: Any, m: int, W: np.ndarray, rng: np.random.RandomState) -> Term:
    kernel, found = features.kernel, cast(Any, stack.maps[m])
    if kernel.is_linear:
        return LinearTerm(W.shape[1])
    if isinstance(found, FourierMap):
        count = found.frequencies.shape[1]
        return FourierTerm(frequencies_of(kernel.kernel.point_function(), W.shape[1], count, rng), kernel.gain)
    landmarks: Any = features.of(stack.kernels[m], _landmarks(stack, m, rng))
    return NystroemTerm.of(kernel, landmarks.toarray() if sp.issparse(landmarks) else landmarks, W)


def _landmarks(stack: Features, m: int, rng: np.random.RandomState) -> Views:
    """Those of a kernel's features; of exact ones, which have none, as many samples as there are features."""
    found, reservoir = stack.maps[m], stack.reservoir
    if found.landmarks is not None:
        return found.landmarks.support
    drawn = rng.permutation(np.flatnonzero(reservoir.present[:, m]))[: found.n_features]
    return reservoir.support.rows(np.sort(drawn))


def projection_problem(stack: Features, family: Any, machine: Machine, start: Start) -> JointProblem:
    """The descent from a start, where weight vectors begin at 0 and are first learned alone, roughly."""
    reading = Reading(family.maps, stack.kernels, family.inputs, family.gate)
    model = Model(family.gate, family.layout, start.rest)
    q = machine.n_outputs
    primal = ProjectedPrimal(stack.engine.replace(reading), model, q, total=machine.total, penalty=family.penalty)
    n_first = (primal.shape[0] + 1) * q

    def at_start(first: np.ndarray) -> tuple[float, np.ndarray, None]:
        value, gradient, _ = primal(np.concatenate([first, start.theta]))
        return value, gradient[:n_first], None

    first = minimize_lbfgs(at_start, np.zeros(n_first), tol=0.0, max_iterations=FIRST_STEPS, memory=MEMORY)
    u, b, _ = primal.parts(np.concatenate([first.solution, start.theta]))

    def finish(family: Any, theta: np.ndarray, solution: Solution) -> tuple[Any, Solution]:
        placed = _stack_at(family.stack, family, start.rest, theta)
        begin = learned(_whitened(start.rest, placed, solution.coef), solution.intercept)
        return family.finished(placed, placed.maps, theta), begin

    domain = ProductSpace([(n_first, Space()), (len(start.theta), family.domain())])
    return JointProblem(primal, learned(u, b), finish, domain)


def _stack_at(stack: Features, family: Any, terms: list[Term], theta: np.ndarray) -> Features:
    """The kernels at projections, with explicit features of all samples."""
    matrices = family.layout.projections(theta)
    maps: list[Any] = [
        ProjectedMap(each, cast(Any, kernel), W.copy(), term.at(W))
        for each, kernel, W, term in zip(family.maps, stack.kernels, matrices, terms, strict=True)
    ]
    keep = not stack.engine.sum(_is_computed_again)
    making = Projecting(maps, family.inputs, family.gate, family.layout.gating(theta)[1])
    return type(stack)(stack.reservoir, maps, stack.engine.replace(making, keep=keep), stack.n_samples)


def _whitened(terms: list[Term], stack: Features, u: np.ndarray) -> np.ndarray:
    """Weight vectors of the features from those of the terms: w = A' K_LL R u of landmarks, where K_LL^-1 = A A'."""
    parts = np.split(u, np.cumsum([term.n_features for term in terms])[:-1])
    for m, (term, found) in enumerate(zip(terms, stack.maps, strict=True)):
        if isinstance(term, NystroemTerm):
            placed = cast(Any, found)
            parts[m] = placed.whitening.T @ (term.kernel.gram(placed.term.points) @ (term.basis @ parts[m]))
    return np.vstack(parts)


def _check_map(name: str, kernel: Any, found: Any) -> None:
    """Raise a `ValueError` where a kernel's approximation cannot follow a projection."""
    if not kernel.is_differentiable:
        raise ValueError(
            f"Projected on explicit features takes kernels that are differentiable by their features, such as Linear "
            f"and Gaussian, but {name!r} is {type(kernel).__name__}; use approximation=None for it"
        )
    if not isinstance(found, ExactMap | FourierMap | NystroemMap):
        raise ValueError(
            f"Projected cannot take this approximation of the kernel {name!r} ({type(kernel).__name__}), because it "
            "cannot follow a projection: use NystroemFeatures, FourierFeatures for Gaussian kernels, or ExactFeatures"
        )
