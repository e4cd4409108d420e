"""`ExplicitMachine`: a machine that is solved in the primal, on kernels with explicit features.

It is the machine that combiners are given in place of one that holds all targets: its targets are in the blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...machines import Machine, Solution
from ...solvers.descent.smooth import Descent, minimize_lbfgs
from ..base import Engine
from .certificate import best_intercepts, gap_around, scored, summed
from .descent import MEMORY, Hessian
from .newton import Newton
from .primal import Amplitudes, Primal

MOST_ITERATIONS = 2000
SHARE = 0.5  # of the gap that is allowed, at which a descent ends
FINER = 1e-6  # of that, at which Newton's method ends: its last steps bring nearly all
ROUNDING = 1e-13  # relative, of sums over samples
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

    n_solves = 1  # all outputs are solved together

    def __init__(self, engine: Engine, amplitudes: Amplitudes, n_features: int):
        self.engine, self.amplitudes, self.n_features = engine, amplitudes, n_features
        self.progress: Callable[[float], None] | None = None  # called with the share of a solve that is done


class ExplicitMachine:
    """Targets in blocks, and a smooth loss: solved on explicit features by L-BFGS or Newton's method.

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

    @property
    def n_classes(self) -> int:
        """Number of classes, also of those that `sample` lacks; 0 where targets are no labels."""
        return 0 if self.strata is None else max(2, self.n_outputs)

    def solve(
        self,
        K: ExplicitKernel,
        start: Solution | None = None,
        tol: float = 1e-3,
        gap_tol: float | None = None,
        max_steps: int | None = None,
    ) -> Solution:
        """Solve until the duality gap is at most ``gap_tol * max(1, |J|)``; gap_tol is `tol` by default.

        J of a one-class machine is small, so that its gap is at most ``gap_tol * |J|``.
        """
        primal = Primal(K.engine, K.amplitudes, K.n_features, self.n_outputs, total=self.total)
        position = np.zeros((K.n_features + 1) * self.n_outputs)
        if start is not None:
            position = primal.join(start.coef, start.intercept, NOTHING)
        wanted = tol if gap_tol is None else gap_tol
        return certified_descent(primal, position, wanted, max_steps, progress=K.progress)[0]

    def refine(self, K: ExplicitKernel, solution: Solution, tol: float, max_steps: int | None = None) -> Solution:
        """Bring a solution on this very K to a gap of `tol`."""
        enough = solution.gap <= tol * size_of(solution.objective, self.total)
        if enough:  # whatever was wanted of the solve that found it
            return replace(solution, converged=True)
        return self.solve(K, solution, tol=tol, max_steps=max_steps)

    def without_samples(self) -> Machine:
        """The rule of decisions."""
        return self.sample.without_samples()

    def least_objective(self, K: Any) -> float:
        """0: the loss is smooth, so that J is 0 only without coefficients."""
        return 0.0


def size_of(value: float, total: float) -> float:
    """What tolerances are relative to: max(1, |J|), and |J| of a one-class machine (`total` is 1), which is small."""
    return max(1.0, abs(value)) if total == 0.0 else abs(value)


def certified_descent(
    primal: Primal,
    position: np.ndarray,
    gap_tol: float,
    max_steps: int | None = None,
    callback: Callable[[int, Any], bool | None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Solution, np.ndarray]:
    """Minimise until the certified gap is small; returns the solution and the vector of all parameters.

    L-BFGS has as many steps as Newton's method would take time for, and then it is that method's turn; where these are
    few, it begins. It is used for amplitudes without parameters, see `newton`.

    Half the squared gradient by w is the gap, but for the biases, which are not yet the best: the descent ends where it
    is `share` of what is allowed, and so is the decrease that better biases promise. No pass is needed to see that. The
    certificate takes two passes or three; where it is not good enough after all, the descent goes on with a smaller
    share, and it is made again after the next step.

    Parameters
    ----------
    primal : Primal
    position : ndarray
        The start.
    gap_tol : float
        Relative to max(1, |J|), or to |J| for a one-class machine.
    max_steps : int or None
        Most iterations.
    callback : callable, optional
        Of `minimize_lbfgs`.
    progress : callable, optional
        Called with the share of the work that is done, from 0 to 1.
    """
    steps, budget, share = 0, MOST_ITERATIONS if max_steps is None else max_steps, SHARE
    watch, newton = _Watch(primal, gap_tol, callback, progress), Newton(primal)
    patience = newton.patience(gap_tol)
    solution: Solution | None = None
    while True:
        turn = steps >= patience  # of Newton's method
        if turn:
            watch.bend, watch.share = newton, FINER * share
            end = newton.minimize(position, budget - steps, watch)
        else:
            watch.bend, watch.share = Hessian(primal), share
            end = _lbfgs(primal, position, int(min(budget, patience)) - steps, watch)
        steps += end.steps
        if end.status == "max_iterations" and steps < budget:  # the other method goes on
            position, patience = end.solution, np.inf if turn else patience
            continue
        if solution is None or solution.steps < steps:
            solution = certificate(primal, end.solution, steps, gap_tol)
            w, _, theta = primal.parts(end.solution)
            position = primal.join(w, solution.intercept, theta)
        small = gap_tol * size_of(solution.objective, primal.total)
        stuck = end.status == "converged"
        if solution.gap <= small or steps >= budget or (stuck and not turn) or watch.told or share < 1e-6:
            return replace(solution, converged=solution.gap <= small), position
        patience, share = np.inf if stuck else patience, 0.1 * share


def _lbfgs(primal: Primal, position: np.ndarray, max_steps: int, watch: _Watch) -> Descent:
    """L-BFGS until the watch ends it."""
    return minimize_lbfgs(
        primal,
        position,
        tol=0.0,
        precision=ROUNDING,
        max_iterations=max_steps,
        memory=MEMORY,
        callback=watch,
        diagonal=watch.bend,
        noise=primal.engine.rounding,
    )


class _Watch:
    """Called at each point of a descent: whether it is good enough, and how much of the work is done."""

    def __init__(self, primal: Primal, gap_tol: float, callback: Any, progress: Callable[[float], None] | None):
        self.primal, self.gap_tol, self.callback, self.progress = primal, gap_tol, callback, progress
        self.share, self.told, self.first, self.done = SHARE, False, 0.0, 0.0
        self.bend: Any = None  # what has the second derivatives by the biases, as `intercept`

    def __call__(self, iteration: int, point: Any) -> bool:
        """Whether to end."""
        w, b, _ = self.primal.parts(point.gradient)
        allowed = self.share * self.gap_tol * size_of(point.value, self.primal.total)
        gap = 0.5 * float(np.vdot(w, w))
        if self.progress is not None:
            self.progress(self._done(gap, allowed))
        if self.callback is not None and self.callback(iteration, point):
            self.told = True
            return True
        bend = self.bend.intercept
        promised = 0.0 if bend is None else 0.5 * float((b**2 / bend).sum())
        return gap <= allowed and promised <= allowed

    def _done(self, gap: float, allowed: float) -> float:
        """The share of the work by the logarithm of the gap."""
        self.first = max(self.first, gap)
        if gap > 0.0 and self.first > allowed:
            share = np.log(self.first / gap) / np.log(self.first / max(allowed, 1e-300))
            self.done = max(self.done, float(np.clip(share, 0.0, 1.0)))
        return self.done


def certificate(primal: Primal, position: np.ndarray, steps: int, gap_tol: float = 0.0) -> Solution:
    """The solution at a vector of parameters, with the best biases there and its duality gap.

    The mean of the features takes one more pass: it is used where the gap is larger than what is wanted without.
    """
    w, b, theta = primal.parts(position)
    engine = primal.engine.replace(scored, primal.amplitudes, w, theta)
    b = best_intercepts(engine, b, primal.total)
    value, _, found = primal(primal.join(w, b, theta))
    given = w, b, found.pulled, found.totals - primal.total
    gap = gap_around(0.0, *given)
    if gap > gap_tol * size_of(value - gap, primal.total):
        sums, weight = primal.engine.sum(summed, primal.amplitudes, len(w), theta)
        gap = min(gap, gap_around(sums / weight, *given))
    violation = float(np.abs(w - found.pulled).max(initial=0.0))
    return Solution(w, b, value - gap, gap, violation, steps, True, image=found.pulled)
