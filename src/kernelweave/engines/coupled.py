"""Machines whose loss couples samples, on explicit features in blocks: scores are gathered, slopes are scattered.

    scores     f_i = sum_m a_m(x_i) <w_m, phi_m(x_i)>          n numbers from the blocks
    slopes     d = -slope of L at f                            n numbers to the blocks
    images     F'd = sum_i d_i a_m(x_i) phi_m(x_i)             a sum over blocks

A pass over blocks takes the slopes as the terms of a loss that is linear, -d_i f_i, so that everything that is a sum
over samples, derivatives by parameters theta among them, is computed as for other losses. Newton's method is that of
`solvers.coupled`, in the space of the weight vectors.

The machine is that of all samples; a sample without a part has the weight 0 there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..machines import DualTerms, Solution
from ..machines.survival import solution_of
from ..solvers.coupled import AtScores, curvature, plus, solve_coupled
from .base import Engine
from .memory import Block
from .primal import Amplitudes, Pass, Penalty, Primal, scored, sweep

NOTHING = np.empty(0)


@dataclass(frozen=True)
class Gathered:
    """Values of samples by the position of the first of them; those of blocks add up."""

    parts: dict[int, np.ndarray]

    def __add__(self, other: Gathered) -> Gathered:
        return Gathered(self.parts | other.parts)

    def joined(self) -> np.ndarray:
        return np.concatenate([self.parts[first] for first in sorted(self.parts)])


def gather(block: Block, amplitudes: Amplitudes, weights: np.ndarray, theta: np.ndarray) -> Gathered:
    """Scores of a block, of shape (n_samples, n_columns)."""
    return Gathered({block.first: scored(block, amplitudes, weights, theta).scores})


def gather_by_kernel(block: Block, amplitudes: Amplitudes, weights: np.ndarray) -> Gathered:
    """The part of each kernel in scores of one column, of shape (n_samples, n_kernels)."""
    found = np.zeros((block.n_samples, len(block.features.offsets) - 1))

    def respond(rows: slice, scores: np.ndarray) -> None:
        found[rows] = amplitudes.values(NOTHING, block, rows) * scores[:, :, 0]

    block.features.sweep(weights, respond)
    return Gathered({block.first: found})


def pull(block: Block, d: np.ndarray, amplitudes: Amplitudes, n_features: int, theta: np.ndarray) -> np.ndarray:
    """F'd of a block for columns d of all samples."""
    own = d[block.first : block.first + block.n_samples]

    def respond(rows: slice, _: np.ndarray) -> np.ndarray:
        return np.asarray(amplitudes.values(theta, block, rows))[:, :, None] * own[rows, None, :]

    return block.features.sweep(np.zeros((n_features, d.shape[1])), respond)


def with_slopes(block: Block, d: np.ndarray) -> Block:
    """The same samples with the losses -d_i f_i."""
    own = d[block.first : block.first + block.n_samples, None]
    return dataclasses.replace(block, losses=DualTerms(np.zeros_like(own), own, own))


def scattered(block: Block, d: np.ndarray, function: Callable[..., Pass], *given: Any) -> Pass:
    return function(with_slopes(block, d), *given)


def with_bends(block: Block, f: np.ndarray, d: np.ndarray, bend: np.ndarray) -> Block:
    """The same samples with quadratic losses of these slopes and second derivatives at scores f."""
    f, d, bend = (values[block.first : block.first + block.n_samples, None] for values in (f, d, bend))
    end = np.where(bend > 0.0, np.inf, 0.0)
    h = 1.0 / np.where(bend > 0.0, bend, 1.0)
    return dataclasses.replace(block, losses=DualTerms(f + h * d, -end, end, h))


@dataclass(frozen=True)
class _Recorder:
    """In the place of losses: keeps the values that it is given."""

    values: np.ndarray

    def of(self, rows: slice) -> _Recorder:
        return _Recorder(self.values[rows])

    def respond(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.values[:] = values
        return np.zeros(values.shape[1]), np.zeros_like(values)


def recorded(block: Block, function: Callable[..., Pass], *given: Any) -> Gathered:
    """The values at which a pass evaluates losses."""
    found = np.zeros((block.n_samples, 1))
    losses: Any = _Recorder(found)
    function(dataclasses.replace(block, losses=losses), *given)
    return Gathered({block.first: found})


def coupled_pass(engine: Engine, machine: Any, function: Callable[..., Pass], *given: Any) -> Pass:
    """A pass over all blocks whose losses are those of a machine that couples samples."""
    at = machine.at(engine.sum(recorded, function, *given).joined()[:, 0])
    found: Pass = engine.sum(scattered, -at.slope, function, *given)
    return dataclasses.replace(found, loss=np.array([at.value]))


class FeatureSpace:
    """The space of `solvers.coupled` on explicit features; points are weight vectors and scores."""

    def __init__(self, kernel: Any):
        self.engine, self.amplitudes, self.n_features = kernel.engine, kernel.amplitudes, kernel.n_features
        self.progress = kernel.progress

    def nothing(self) -> tuple[Any, ...]:
        return self.at(np.zeros((self.n_features, 1)))

    def at(self, weights: np.ndarray) -> tuple[Any, ...]:
        return weights, self.engine.sum(gather, self.amplitudes, weights, NOTHING).joined()

    def of(self, coef: np.ndarray) -> tuple[Any, ...]:
        return self.at(self.engine.sum(pull, coef, self.amplitudes, self.n_features, NOTHING))

    def afresh(self, point: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.at(point[0])

    def inner(self, x: tuple[Any, ...], y: tuple[Any, ...]) -> np.ndarray:
        return (x[0] * y[0]).sum(axis=0)

    def plus(self, x: tuple[Any, ...], factor: Any, y: tuple[Any, ...]) -> tuple[Any, ...]:
        return plus(x, factor, y)


def solve_on_features(
    kernel: Any, machine: Any, start: Solution | None, gap_tol: float, max_steps: int | None
) -> Solution:
    """`Machine.solve` on an `ExplicitKernel`; the image of the solution is F'd."""
    space = FeatureSpace(kernel)
    point = None if start is None else space.at(start.coef)
    found = solve_coupled(space, machine, point, gap_tol=gap_tol, least=machine.least_gap, max_steps=max_steps)
    pulled = space.engine.sum(pull, -found.slope[:, None], space.amplitudes, space.n_features, NOTHING)
    return solution_of(found, pulled)


def pulled_without_weights(kernel: Any, machine: Any, weights: np.ndarray, free: Amplitudes) -> np.ndarray:
    """F'd at weight vectors, where d belongs to the scores of a kernel, and F to other amplitudes."""
    d = -machine.at(FeatureSpace(kernel).at(weights)[1][:, 0]).slope
    return kernel.engine.sum(pull, d[:, None], free, kernel.n_features, NOTHING)


def curvature_on_features(
    kernel: Any, machine: Any, weights: np.ndarray, free: Amplitudes, vectors: np.ndarray
) -> np.ndarray:
    """Second derivatives of J by weights of kernels, whose values g_m = F_m F_m'd have amplitudes without weights."""
    seen = kernel.engine.sum(gather_by_kernel, free, vectors).joined()
    space = FeatureSpace(kernel)
    return curvature(space, machine.at(space.at(weights)[1][:, 0]), seen)


class CoupledPrimal(Primal):
    """`Primal` of a machine that couples samples: two passes for each evaluation, and the Hessian of the last one."""

    def __init__(
        self, engine: Engine, amplitudes: Amplitudes, n_features: int, machine: Any, *, penalty: Penalty | None = None
    ):
        super().__init__(engine, amplitudes, n_features, 1, penalty=penalty)
        self.machine, self._last = machine, (np.zeros(machine.n_samples), machine.at(np.zeros(machine.n_samples)))

    def passed(self, w: np.ndarray, b: np.ndarray, theta: np.ndarray) -> Pass:
        f = self._engine.sum(gather, self.amplitudes, w, theta).joined()[:, 0]
        at: AtScores = self.machine.at(f)
        self._last = f, at
        found: Pass = self._engine.sum(scattered, -at.slope, sweep, self.amplitudes, w, b, theta)
        return dataclasses.replace(found, loss=np.array([at.value]))

    @property
    def engine(self) -> Engine:
        """The blocks, with quadratic losses like that of the last evaluation."""
        f, at = self._last
        return self._engine.replace(with_bends, f, -at.slope, at.bend)

    @engine.setter
    def engine(self, engine: Engine) -> None:
        self._engine = engine
