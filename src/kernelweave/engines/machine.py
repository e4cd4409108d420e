"""`ExplicitMachine`: a machine that is solved in the primal, on kernels with explicit features.

It is the machine that combiners are given in place of one that holds all targets: its targets are in the blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..machines import Machine, Solution
from ..solvers.descent.smooth import minimize_lbfgs
from .base import Engine
from .certificate import best_intercepts, excess_of, scored
from .primal import Amplitudes, Primal

MOST_ITERATIONS = 2000
NOTHING = np.empty(0)


class ExplicitKernel:
    """What an `ExplicitMachine` is solved on: features in blocks, and the amplitude of each kernel for each sample.

    Parameters
    ----------
    engine : Engine
        Over `Block`s.
    amplitudes : Amplitudes
        Without parameters.
    n_features : int
        Of all kernels.
    """

    def __init__(self, engine: Engine, amplitudes: Amplitudes, n_features: int):
        self.engine, self.amplitudes, self.n_features = engine, amplitudes, n_features


class ExplicitMachine:
    """Targets in blocks, and a smooth loss: solved on explicit features by L-BFGS.

    `Solution.coef` holds the weight vectors w, of shape (n_features, n_outputs), and `Solution.image` F'c, of the same
    shape. J is the dual's value.

    Parameters
    ----------
    sample : Machine
        The machine of some of the samples (those of the reservoir), which has the outputs, the classes and the rule by
        which values become decisions.
    n_samples : int
        Number of all samples.
    """

    def __init__(self, sample: Machine, n_samples: int):
        self.sample, self.n_samples = sample, n_samples
        self.n_outputs, self.total = sample.n_outputs, sample.total
        self.detects_novelty, self.strata = sample.detects_novelty, sample.strata

    def solve(
        self,
        K: ExplicitKernel,
        start: Solution | None = None,
        tol: float = 1e-3,
        gap_tol: float | None = None,
        max_steps: int | None = None,
    ) -> Solution:
        """Solve until the duality gap is at most ``gap_tol * max(1, |J|)``; gap_tol is `tol` by default."""
        primal = Primal(K.engine, K.amplitudes, K.n_features, self.n_outputs, total=self.total)
        position = np.zeros((K.n_features + 1) * self.n_outputs)
        if start is not None:
            position = primal.join(start.coef, start.intercept, NOTHING)
        wanted = tol if gap_tol is None else gap_tol
        return certified_descent(primal, position, wanted, max_steps)[0]

    def refine(self, K: ExplicitKernel, solution: Solution, tol: float, max_steps: int | None = None) -> Solution:
        """Bring a solution on this very K to a gap of `tol`."""
        enough = solution.gap <= tol * max(1.0, abs(solution.objective))
        return solution if enough else self.solve(K, solution, tol=tol, max_steps=max_steps)

    def without_samples(self) -> Machine:
        """The rule of decisions."""
        return self.sample.without_samples()


def certified_descent(
    primal: Primal,
    position: np.ndarray,
    gap_tol: float,
    max_steps: int | None = None,
    callback: Callable[[int, Any], bool | None] | None = None,
) -> tuple[Solution, np.ndarray]:
    """Minimise until the certified gap is small; returns the solution and the vector of all parameters."""
    steps, budget, share = 0, MOST_ITERATIONS if max_steps is None else max_steps, 0.5
    while True:

        def enough(iteration: int, point: Any) -> bool:
            w, b, _ = primal.parts(point.gradient)
            told = callback(iteration, point) if callback is not None else False
            return bool(told) or 0.5 * float(np.vdot(w, w)) <= share * gap_tol * max(1.0, abs(point.value))

        end = minimize_lbfgs(
            primal, position, tol=0.0, precision=1e-15, max_iterations=budget - steps, memory=10, callback=enough
        )
        steps += end.steps
        solution = certificate(primal, end.solution, steps)
        small = gap_tol * max(1.0, abs(solution.objective))
        w, _, theta = primal.parts(end.solution)
        position = primal.join(w, solution.intercept, theta)
        if solution.gap <= small or steps >= budget or end.status == "converged" or share < 1e-6:
            return _with(solution, converged=solution.gap <= small), position
        share *= 0.1


def certificate(primal: Primal, position: np.ndarray, steps: int) -> Solution:
    """The solution at a vector of parameters, with the best biases there and its duality gap."""
    w, b, theta = primal.parts(position)
    engine = primal.engine.replace(scored, primal.amplitudes, w, theta)
    b = best_intercepts(engine, b, primal.total)
    value, _, found = primal(primal.join(w, b, theta))
    difference = w - found.pulled
    gap = 0.5 * float(np.vdot(difference, difference)) + excess_of(found.totals, primal.total, b)
    violation = float(np.abs(difference).max(initial=0.0))
    return Solution(w, b, value - gap, gap, violation, steps, True, image=found.pulled)


def _with(solution: Solution, **changes: Any) -> Solution:
    import dataclasses

    return dataclasses.replace(solution, **changes)
