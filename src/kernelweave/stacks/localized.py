"""What gates and projections need of explicit features: codes, sums of gates, and features of projected samples.

Codes are what a gating model reads of a sample. Where features are held, codes are computed once and held beside them,
in the same precision; where features are computed again in every pass, codes are too, or they would be a copy of X.

Explicit features of projected samples are functions of the projection W:

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
is when W moves. The ridge then keeps directions in which K_LL is nearly 0 from growing.

The function that is minimised is a sum over samples,

    P(u, b, theta) = sum_m penalty_m(u_m, W_m) + total sum_r b_r + sum_i loss_i(f_i) + penalty(theta)
    f_ir = sum_m eta_m(x_i|V, T) <u_mr, phi_m(W_m' x_i^m)> + b_r,      theta = (V, T, W)
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..arrays import HOST, place_of
from ..engines.base import Engine, on_device, ranges, spans_of
from ..engines.coupled import coupled_pass
from ..engines.memory import TILE, Block, StoredFeatures
from ..engines.primal import MEMORY, Pass, Vectors
from ..features import FeatureMap
from ..features.base import n_compared_by
from ..features.exact import ExactMap
from ..features.fourier import FourierMap, frequencies_of
from ..features.nystroem import NystroemMap, root_inverse
from ..kernels import Kernel
from ..kernels.base import ViewKernel
from ..kernels.points import PointKernel
from ..machines import Machine, Solution
from ..solvers import ProductSpace, Space, minimize_lbfgs
from ..solvers.base import above_rounding
from ..validation.schemas import (
    Schema,
    Sizes,
    agree,
    maybe,
    number,
    numbers,
    object_of,
    refuse,
    size,
)
from ..views import Views
from .descent import JointProblem, Start, learned

if TYPE_CHECKING:
    from .explicit import Features

FARTHEST = 1e15  # where codes in float32 are cut, so that their squares stay finite
NOTHING = np.empty(0)
PIECE = 2**17  # samples of a block on a device whose gates are summed at a time


@dataclass(frozen=True)
class CodesOnDemand:
    """Codes of a block that are computed whenever they are read, for some rows (a slice) at a time."""

    inputs: Any
    gate: Any
    views: Views
    dtype: np.dtype
    last: dict[tuple[int, int], np.ndarray] = field(default_factory=dict, compare=False)  # read twice in a pass

    def __getitem__(self, rows: slice) -> np.ndarray:
        key = rows.start, rows.stop
        found = self.last.get(key)
        if found is None:
            self.views.is_finite()  # found out for all rows, once
            views = self.views.rows(rows)
            if self.dtype == np.float32 and self.gate.reads_inputs:
                found = self.inputs.narrow(views, FARTHEST)
            else:
                found = encoded(self.gate, self.inputs.transform(views), self.dtype)
            self.last.clear()
            self.last[key] = found
        return found


@dataclass(frozen=True)
class Coding:
    """What computes the codes of a block; small, so that it can be sent to where the blocks are."""

    inputs: Any
    gate: Any

    def __call__(self, block: Block) -> Block:
        """The block with codes and without views; they are held where features are."""
        dtype = np.dtype(getattr(block.features, "dtype", np.float64))
        codes: Any = CodesOnDemand(self.inputs, self.gate, block.views, dtype)
        if isinstance(block.features, StoredFeatures):
            codes = codes[slice(0, block.n_samples)]
        return dataclasses.replace(block, codes=codes, views=None)

    def on_device(self, block: Any) -> Any:
        return block.with_codes(CodesOnDemand(self.inputs, self.gate, block.views, np.dtype(block.features.dtype)))


def encoded(gate: Any, inputs: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """What a gating model reads of samples with these inputs: numbers in a precision, or positions as they are."""
    codes = gate.encode(inputs)
    if codes.dtype.kind != "f" or codes.dtype == dtype:
        return codes
    return np.clip(codes, -FARTHEST, FARTHEST).astype(dtype)


# Sums of gates: the same functions of blocks of the host and of a device


@dataclass(frozen=True)
class GateTotals:
    """Sums over samples, for each class (one row where there are no classes).

    Each is over all samples and over support vectors: `count` of shape (2, n_classes), and `weights`, `gates` and
    `opened` (squared gates, gates, and how many are open) of shape (2, n_classes, n_kernels).
    """

    count: np.ndarray
    weights: np.ndarray
    gates: np.ndarray
    opened: np.ndarray

    def table(self, kernels: Sequence[str], classes: Any = None) -> pd.DataFrame:
        """Mean weight and gate of each kernel, and the share of samples for which it is open."""
        parts = []
        labels = [] if classes is None else list(classes)
        sets = [("all", slice(None)), *((label, slice(k, k + 1)) for k, label in enumerate(labels))]
        columns = {"weight": self.weights, "gate": self.gates, "share": self.opened}
        for which, name in enumerate(("training", "support")):
            for label, rows in sets:
                count = self.count[which, rows].sum()
                if count:
                    means = {column: sums[which, rows].sum(axis=0) / count for column, sums in columns.items()}
                    parts.append(pd.DataFrame({"samples": name, "class": label, "kernel": list(kernels), **means}))
        summary = pd.concat(parts, ignore_index=True)
        return summary.astype(dict.fromkeys(["samples", "class", "kernel"], object))


def in_every_place(function: Any) -> Any:
    return on_device(function)(function)


def pieces(block: Any) -> Iterator[slice]:
    return ranges(block.n_samples, TILE if isinstance(block, Block) else PIECE)


@in_every_place
def count_open(block: Any, amplitudes: Any) -> Any:
    xp, found = place_of(block.weight).xp, 0.0
    for rows in pieces(block):
        found = found + xp.sum(xp.astype(amplitudes.values(NOTHING, block, rows) > 0.0, xp.float64), axis=0)
    return found


@in_every_place
def totals_of(
    block: Any, amplitudes: Any, weights: np.ndarray, intercept: np.ndarray, n_classes: int
) -> tuple[Any, ...]:
    """What `GateTotals` of the samples of a block are made of, at a solution."""
    place, found = place_of(block.weight), list[Any]()
    xp, P = place.xp, len(amplitudes.active)
    if block.n_samples == 0:
        return place.zeros((2, n_classes), "float64"), *(place.zeros((2, n_classes, P), "float64") for _ in range(3))

    def respond(rows: slice, scores: Any) -> None:
        a = amplitudes.values(NOTHING, block, rows)
        values = xp.sum(a[:, :, None] * scores, axis=1)
        c = block.losses.of(rows).coefficients(values + xp.astype(place.asarray(intercept), values.dtype, copy=False))
        labels = np.zeros(a.shape[0], dtype=int) if n_classes == 1 else np.asarray(block.y[rows])
        members = place.asarray((labels == np.arange(n_classes)[:, None]).astype(np.float64))
        both = xp.concat([members, members * xp.astype(xp.any(c != 0.0, axis=1), xp.float64)])
        a = xp.astype(amplitudes.by_kernel(a), xp.float64, copy=False)
        found.append([xp.sum(both, axis=1), *(both @ terms for terms in (a * a, a, xp.astype(a > 0.0, xp.float64)))])

    if isinstance(block, Block):
        block.features.sweep(weights, respond)
    else:
        scores = block.features.scores(weights)
        for rows in pieces(block):
            respond(rows, scores[rows, ...])
    count, *sums = map(sum, zip(*found, strict=True))
    return xp.reshape(count, (2, n_classes)), *(xp.reshape(total, (2, n_classes, P)) for total in sums)


@in_every_place
def spread_of(block: Any, amplitudes: Any, average: np.ndarray | None) -> tuple[int, Any]:
    """How many samples have all views, and sums of their squared gates or of distances of these from an average."""
    place, count, total = place_of(block.weight), 0, 0.0
    xp = place.xp
    for rows in pieces(block):
        weights = xp.astype(amplitudes.values(NOTHING, block, rows), xp.float64) ** 2
        if block.present is not None:
            weights = weights[xp.all(block.present[rows, ...], axis=1)]
        if average is not None:
            weights = xp.abs(weights - place.asarray(average))
        count, total = count + weights.shape[0], total + xp.sum(weights, axis=0)
    return count, total


def average_and_spread(engine: Engine, amplitudes: Any) -> tuple[np.ndarray, float] | None:
    """Mean squared gates of the samples that have all views, and half the mean distance from them; None without any."""
    count, total = engine.sum(spread_of, amplitudes, None)
    if count == 0:
        return None
    average = total / count
    _, away = engine.sum(spread_of, amplitudes, average)
    return average, 0.5 * float(away.sum()) / count


# Features of projected samples

RIDGE = 1e-3  # in units of the largest eigenvalue
FIRST_STEPS = 20  # of the weight vectors alone, at the start of a descent


class Term(ABC):
    """Features of one kernel's points; small, so that it can be sent to where the blocks are."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Length of phi(z)."""

    def at(self, W: np.ndarray) -> Term:
        return self

    def settled(self) -> Term:
        """The same without what is only needed at other projections."""
        return self

    def whitening(self, W: np.ndarray) -> np.ndarray | None:
        """What turns raw values at a projection into features, see `ProjectedMap`."""
        return None

    def raw(self, Z: np.ndarray) -> np.ndarray:
        return self.features(Z)

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

    _saved = Schema({"width": size("components")})

    @property
    def n_features(self) -> int:
        return self.width

    def whitening(self, W: np.ndarray) -> np.ndarray:
        return W

    def features(self, Z: np.ndarray) -> np.ndarray:
        return Z

    def pullback(self, Z: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, None]:
        return slopes, None


@dataclass(frozen=True)
class FourierTerm(Term):
    """Cosines and sines, for frequencies of shape (n_components, h); of squared norm `gain`."""

    frequencies: np.ndarray
    gain: float

    _saved = Schema({"frequencies": numbers("components", "frequencies"), "gain": number(0.0)})

    @property
    def n_features(self) -> int:
        return 2 * self.frequencies.shape[1]

    @property
    def _size(self) -> float:
        return float(np.sqrt(self.gain / self.frequencies.shape[1]))

    def features(self, Z: np.ndarray) -> np.ndarray:
        angles = Z @ self.frequencies
        return self._size * np.hstack([np.cos(angles), np.sin(angles)])

    def pullback(self, Z: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, None]:
        angles, h = Z @ self.frequencies, self.frequencies.shape[1]
        by_angles = self._size * (np.cos(angles) * slopes[:, h:] - np.sin(angles) * slopes[:, :h])
        return by_angles @ self.frequencies.T, None


@dataclass(frozen=True)
class NystroemTerm(Term):
    """Kernel values to landmarks, times R (`basis`, of shape (n_landmarks, n_features)).

    `landmarks` are those before their projection, of shape (n_landmarks, n_columns), and `points` those at a
    projection, of shape (n_landmarks, n_components).
    """

    kernel: PointKernel
    landmarks: np.ndarray
    basis: np.ndarray
    points: Any = None

    _saved = Schema(
        {
            "kernel": object_of(PointKernel),
            "points": numbers("landmarks", "components"),
            "landmarks": numbers(0, "read"),
            "basis": numbers(0, "features"),
        }
    )

    @property
    def n_features(self) -> int:
        return self.basis.shape[1]

    @classmethod
    def of(cls, kernel: PointKernel, landmarks: np.ndarray, W: np.ndarray) -> NystroemTerm:
        values, vectors = np.linalg.eigh(kernel.gram(landmarks @ W))
        ridge = RIDGE * max(values[-1], np.finfo(float).tiny)
        return cls(kernel, landmarks, vectors / np.sqrt(np.maximum(values, 0.0) + ridge))

    def at(self, W: np.ndarray) -> NystroemTerm:
        return replace(self, points=self.landmarks @ W)

    def settled(self) -> NystroemTerm:
        return replace(self, landmarks=self.landmarks[:0], basis=self.basis[:0])

    def whitening(self, W: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(self.kernel.gram(self.points))
        return root_inverse(values, vectors, above_rounding(values))

    def raw(self, Z: np.ndarray) -> np.ndarray:
        return self.kernel.cross(Z, self.points)

    def features(self, Z: np.ndarray) -> np.ndarray:
        return self.raw(Z) @ self.basis

    def pullback(self, Z: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        by_values = self.kernel.gain * (slopes @ self.basis.T)
        by_points = self.kernel.kernel.pullback(self.points, Z, by_values.T)
        return by_points, self.landmarks.T @ self.kernel.kernel.pullback(Z, self.points, by_values)

    def penalty(self, u: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        v = self.basis @ u
        image, pulled = self.kernel.contract(self.points, v)
        return 0.5 * float(np.vdot(v, image)), self.basis.T @ image, self.landmarks.T @ pulled


class ProjectedMap(FeatureMap):
    """phi(W' x), where x are the normalised features of a kernel's view, which `kernel` reads."""

    _saved = Schema(
        {
            "features": object_of("ViewFeatures", own="read"),
            "kernel": object_of(Kernel, "columns"),
            "directions": numbers("read", "components"),
            "term": object_of(Term, "components"),
            "whitening": maybe(numbers("whitened", "features")),
        }
    )

    def __init__(self, features: Any, kernel: ViewKernel, directions: np.ndarray, term: Term):
        self.features, self.kernel, self.directions = features, kernel, directions
        self.term, self.whitening, self.trace_share = term.settled(), term.whitening(directions), 1.0

    @property
    def n_raw(self) -> int:
        return self.term.n_features if self.whitening is None else len(self.whitening)

    @property
    def names(self) -> list[str]:
        return self.features.names

    def points(self, views: Views) -> np.ndarray:
        return np.asarray(self.features.of(self.kernel, views) @ self.directions)

    @property
    def is_linear(self) -> bool:
        return isinstance(self.term, LinearTerm)

    def features_at(self, points: np.ndarray) -> np.ndarray:
        values = self.term.raw(points)
        return values if self.is_linear or self.whitening is None else values @ self.whitening

    def raw(self, views: Views, present: np.ndarray) -> np.ndarray:
        """Features that are projected, kernel values to landmarks, or cosines and sines."""
        if self.is_linear:
            values = self.features.of(self.kernel, views)
            values = values.copy() if isinstance(values, np.ndarray) else values.toarray()
        else:
            values = self.term.raw(self.points(views))
        values[~present] = 0.0
        return values

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """The kernel's features are what is projected; landmarks and frequencies are those of projected samples."""
        agree(sizes, "read", n_compared_by(self.kernel, f"{path}.kernel"), f"{path}.directions")
        term = self.term
        if isinstance(term, NystroemTerm):
            numbers("raw", "components")(term.points, sizes, f"{path}.term.points")
        if isinstance(term, FourierTerm):
            agree(sizes, "components", len(term.frequencies), f"{path}.term.frequencies")
        rows = {LinearTerm: sizes["read"], NystroemTerm: sizes.get("raw")}.get(type(term))
        if rows != (None if self.whitening is None else len(self.whitening)):
            refuse(f"{path}.whitening", "does not fit the features")


@dataclass(frozen=True)
class Model:
    """Gates, projections and features without parameters; small, so that it can be sent to where the blocks are."""

    gate: Any
    layout: Any
    terms: list[Term]

    @property
    def offsets(self) -> np.ndarray:
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
    """P and its gradient, over vectors [u, b, theta]."""

    def __init__(
        self,
        engine: Engine,
        model: Model,
        n_outputs: int,
        *,
        total: float,
        penalty: Callable[[np.ndarray], tuple[float, np.ndarray]],
        coupled: Any = None,
    ):
        self.engine, self.model, self.total, self.penalty = engine, model, total, penalty
        self.coupled = coupled  # the machine, where it couples samples
        self.shape = int(model.offsets[-1]), n_outputs

    def __call__(self, position: np.ndarray) -> tuple[float, np.ndarray, None]:
        u, b, theta = self.parts(position)
        given = projected_sweep, self.model, u, b, theta
        found = self.engine.sum(*given) if self.coupled is None else coupled_pass(self.engine, self.coupled, *given)
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
class ViewFeatureBlocks:
    """What gives a block codes and the features that are projected; small, so that it can be sent to the blocks."""

    maps: list[Any]
    kernels: list[ViewKernel]
    inputs: Any
    gate: Any

    def __call__(self, block: Block) -> Block:
        parts = [each.of(kernel, block.views) for each, kernel in zip(self.maps, self.kernels, strict=True)]
        dense = [part.toarray() if sp.issparse(part) else part for part in parts]
        return _replaced(block, [part.shape[1] for part in dense], dense, self.gate, self.inputs)


@dataclass(frozen=True)
class ProjectedBlocks:
    """What gives a block the explicit features at learned projections, and codes as the gating model reads them."""

    maps: list[ProjectedMap]
    inputs: Any
    gate: Any
    T: np.ndarray | None

    def __call__(self, block: Block) -> Block:
        there = _present(block, slice(0, block.n_samples), len(self.maps))
        parts = (each.transform(block.views, there[:, m]) for m, each in enumerate(self.maps))
        found = _replaced(block, [each.n_features for each in self.maps], parts, self.gate, self.inputs)
        return found if self.T is None else dataclasses.replace(found, codes=found.codes @ self.T)


def _replaced(block: Block, widths: list[int], parts: Iterable[np.ndarray], gate: Any, inputs: Any) -> Block:
    offsets = np.cumsum([0, *widths])
    matrix = np.empty((block.n_samples, offsets[-1]), dtype=getattr(block.features, "dtype", np.float64))
    for span, part in zip(spans_of(offsets), parts, strict=True):
        matrix[:, span] = part
    codes = encoded(gate, inputs.transform(block.views), np.dtype(np.float64))
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
    """Landmarks of a kernel's features; for exact ones, which have none, as many samples as there are features."""
    found, reservoir = stack.maps[m], stack.reservoir
    if found.landmarks is not None:
        return found.landmarks.support
    drawn = rng.permutation(np.flatnonzero(reservoir.present[:, m]))[: found.n_features]
    return reservoir.support.rows(np.sort(drawn))


def projection_problem(stack: Features, family: Any, machine: Machine, start: Start) -> JointProblem:
    """The descent from a start, where weight vectors begin at 0 and are first learned alone, roughly."""
    blocks = ViewFeatureBlocks(family.maps, stack.kernels, family.inputs, family.gate)
    model = Model(family.gate, family.layout, start.rest)
    q = machine.n_outputs
    coupled = None if machine.is_separable else machine
    given: dict[str, Any] = {"total": machine.total, "penalty": family.penalty, "coupled": coupled}
    primal = ProjectedPrimal(stack.engine.replace(blocks), model, q, **given)
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
    matrices = family.layout.projections(theta)
    maps: list[Any] = [
        ProjectedMap(each, cast(Any, kernel), W.copy(), term.at(W))
        for each, kernel, W, term in zip(family.maps, stack.kernels, matrices, terms, strict=True)
    ]
    keep = not stack.engine.sum(_is_computed_again)
    blocks = ProjectedBlocks(maps, family.inputs, family.gate, family.layout.gating(theta)[1])
    return type(stack)(stack.reservoir, maps, stack.engine.replace(blocks, keep=keep), stack.n_samples)


def _whitened(terms: list[Term], stack: Features, u: np.ndarray) -> np.ndarray:
    """Weight vectors of the features from those of the terms: w = A' K_LL R u of landmarks, where K_LL^-1 = A A'."""
    parts = np.split(u, np.cumsum([term.n_features for term in terms])[:-1])
    for m, (term, found) in enumerate(zip(terms, stack.maps, strict=True)):
        if isinstance(term, NystroemTerm):
            placed = cast(Any, found)
            parts[m] = placed.whitening.T @ (term.kernel.gram(placed.term.points) @ (term.basis @ parts[m]))
    return np.vstack(parts)


def _check_map(name: str, kernel: Any, found: Any) -> None:
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
