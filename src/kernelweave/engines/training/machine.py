"""`ExplicitKernel`: a kernel with explicit features in blocks, on which machines are solved in the primal."""

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
    """What machines are solved on with explicit features: blocks, and the amplitude of each kernel for each sample.

    The blocks have the targets; of a machine only the number of outputs and the cost of biases are read.

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

    def solve(
        self,
        machine: Machine,
        start: Solution | None = None,
        tol: float = 1e-3,
        gap_tol: float | None = None,
        max_steps: int | None = None,
    ) -> Solution:
        """Solve until the duality gap is at most ``gap_tol * max(1, |J|)``; gap_tol is `tol` by default."""
        primal = Primal(self.engine, self.amplitudes, self.n_features, machine.n_outputs, total=machine.total)
        position = np.zeros((self.n_features + 1) * machine.n_outputs)
        if start is not None:
            position = primal.join(start.coef, start.intercept, NOTHING)
        wanted = tol if gap_tol is None else gap_tol
        return certified_descent(primal, position, wanted, max_steps, progress=self.progress)[0]

    def refine(self, machine: Machine, solution: Solution, tol: float, max_steps: int | None = None) -> Solution:
        """Bring a solution on this kernel to a gap of `tol`."""
        if solution.gap <= tol * size_of(solution.objective, machine.total):  # whatever was wanted of its solve
            return replace(solution, converged=True)
        return self.solve(machine, solution, tol=tol, max_steps=max_steps)


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
