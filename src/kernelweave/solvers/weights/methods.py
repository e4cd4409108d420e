"""Kernel weights by several methods that solve the same problem, each with a certified gap.

    minimise over x    J(x) + r(x)      in a convex set (`bundle`, `sets`)

=====================  ==============================================================================================
method                 how the next point is found
=====================  ==============================================================================================
newton                 largest cut so far, bent by the curvature of J at the best point (a bundle method in J's own
                       metric; quadratic where the free variables stay the same)
level                  the point nearest to the best one where every cut is below a level between both bounds (Xu et
                       al., *An extended level method for multiple kernel learning*, 2009)
silp                   the minimum of the largest cut, a linear program (Sonnenburg et al. 2006), thesis 2.2.1.3
reduced-gradient       descent along the reduced gradient with a line search (Rakotomamonjy et al., *SimpleMKL*, 2008)
=====================  ==============================================================================================

Each evaluation is one solve of a machine, no more exact than the gap so far requires.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import linprog

from .bundle import Bundle, Evaluation, WeightSet
from .sets import Simplex

LEVEL = 0.5  # between the lower and the upper bound
PROXIMITY = 0.05  # of the gap: keeps the steps finite where J has no curvature
NEAR = 1e-5  # relative gap below which the lower bound is raised by the cuts alone, too
FINEST = 1e-9  # share of the allowed inner gap below which tighter solves have ceased to help
CLOSED = 0.5  # share of the gap that a step should close
PROMISED = 0.0003  # share of the gap that a step must promise where the one before has not done so
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)

Evaluate = Callable[[np.ndarray, float | None], Evaluation]
Progress = Callable[[Bundle], None]


def minimize_newton(evaluate: Evaluate, feasible: WeightSet, tol: float, most: int, progress: Progress) -> Bundle:
    """Steps to the minimum of the cuts bent by the curvature of J; a failed step adds a cut and bends more.

    Where the combined kernel of the free variables is singular, J has a kink towards kernels that would add to its
    rank: its curvature there is the inverse of a rounding error and would keep them out for good. So the curvature is
    cut down where steps close little of the gap and promise no more.

    Parameters
    ----------
    evaluate : callable
        Point and allowed gap (None for a first, rough one) -> Evaluation.
    feasible : WeightSet
        The set of allowed weights; the other methods take a `Simplex` only.
    tol : float
        Wanted relative gap.
    most : int
        Most evaluations.
    progress : callable
        Called with the bundle after each evaluation.
    """
    bundle = _begin(evaluate, feasible, tol, progress)
    bend, precision, gap = 1.0, 1.0, np.inf
    metric = None
    while not bundle.converged and bundle.evaluations < most and precision > FINEST:
        if metric is None:
            metric = bundle.best.curvature()
        x = bundle.step(bend * metric + PROXIMITY * bundle.gap * np.eye(len(metric)))
        if bundle.gap < NEAR * bundle.size:
            bundle.step(None)  # the bend's share of the multipliers leaves open what the cuts alone can certify
        if x is not None and bundle.gap > (1.0 - CLOSED) * gap:
            x = _promising_step(bundle, bend * metric, x)
        if x is None or bundle.converged:
            break
        before, gap = bundle.upper, bundle.gap
        evaluation = evaluate(x, precision * bundle.inner_gap)
        if bundle.add(evaluation):
            bend = max(1.0, 0.5 * bend)
            metric = None
        if evaluation.value > before:  # too far
            bend *= 2.0
        elif before - bundle.upper < evaluation.gap:  # what the machine left open hides what the step has done
            precision *= 0.3
        progress(bundle)
    return bundle


def _promising_step(bundle: Bundle, metric: np.ndarray, x: np.ndarray | None) -> np.ndarray | None:
    """The step x, or one in a metric whose largest eigenvalues are cut down until it promises a share of the gap."""
    proximity = PROXIMITY * bundle.gap * np.eye(len(metric))
    values, vectors = np.linalg.eigh(metric)
    while x is not None and not bundle.converged and values[-1] > proximity[0, 0]:
        if bundle.promised(x, metric) >= PROMISED * bundle.gap:
            break
        values = np.minimum(values, 0.1 * values[-1])
        metric = (vectors * values) @ vectors.T
        x = bundle.step(metric + proximity)
    return x


def minimize_level(evaluate: Evaluate, simplex: Simplex, tol: float, most: int, progress: Progress) -> Bundle:
    """The level method: project the best point to where the cuts allow a share of the gap; see `minimize_newton`."""
    bundle = _begin(evaluate, simplex, tol, progress)
    identity = np.eye(len(simplex.lower))
    while not bundle.converged and bundle.evaluations < most:
        bundle.step(None)  # raises the lower bound to the minimum of the cuts
        if bundle.converged:
            break
        x = bundle.step(identity, level=bundle.lower + LEVEL * bundle.gap)
        if x is None:
            break
        bundle.add(evaluate(x, bundle.inner_gap))
        progress(bundle)
    return bundle


def minimize_silp(evaluate: Evaluate, simplex: Simplex, tol: float, most: int, progress: Progress) -> Bundle:
    """The semi-infinite linear program by cutting planes, solved by HiGHS; see `minimize_newton`."""
    bundle = _begin(evaluate, simplex, tol, progress)
    cuts: list[tuple[float, np.ndarray]] = [(bundle.best.intercept, bundle.best.forms)]
    n = len(simplex.lower)
    while not bundle.converged and bundle.evaluations < most:
        intercepts, forms = np.array([cut[0] for cut in cuts]), np.array([cut[1] for cut in cuts])
        scale = max(np.abs(intercepts).max(), 0.5 * np.abs(forms).max(), np.finfo(float).tiny)
        found = linprog(
            np.append(np.zeros(n), 1.0),
            A_ub=np.column_stack([-0.5 * forms / scale, -np.ones(len(forms))]),
            b_ub=-intercepts / scale,
            A_eq=np.append(np.ones(n), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[*((low, None) for low in simplex.lower), (None, None)],
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.status != 0:
            break  # the gap so far is what there is to report
        shares = np.maximum(-found.ineqlin.marginals, 0.0)
        shares /= shares.sum()
        bundle.lower = max(bundle.lower, min(simplex.smallest(shares @ intercepts, shares @ forms), bundle.upper))
        if bundle.converged:
            break
        evaluation = evaluate(simplex.clean(found.x[:n]), bundle.inner_gap)
        cuts.append((evaluation.intercept, evaluation.forms))
        bundle.add(evaluation)
        progress(bundle)
    return bundle


def minimize_reduced_gradient(
    evaluate: Evaluate, simplex: Simplex, tol: float, most: int, progress: Progress
) -> Bundle:
    """SimpleMKL: move along the reduced gradient to where weights vanish while J falls, then search the line.

    See `minimize_newton` for the parameters. The gap is that of single cuts, as in SimpleMKL.
    """
    bundle = _begin(evaluate, simplex, tol, progress)
    precision = 1.0

    def visit(x: np.ndarray) -> Evaluation:
        evaluation = evaluate(x, precision * bundle.inner_gap)
        bundle.add(evaluation)
        progress(bundle)
        return evaluation

    current = bundle.best
    while not bundle.converged and bundle.evaluations < most:
        direction = _reduced_direction(current, simplex)
        moved = current
        while bundle.evaluations < most:  # as far as J falls, weight by weight
            longest, gone = _longest_step(moved.point, direction, simplex)
            if not np.isfinite(longest):
                break
            trial_point = moved.point + longest * direction
            trial_point[gone] = simplex.lower[gone]
            trial = visit(simplex.clean(trial_point))
            if trial.value >= moved.value or bundle.converged:
                break
            moved = trial
            direction = direction.copy()
            direction[np.argmax(moved.point)] += direction[gone]
            direction[gone] = 0.0
        if bundle.converged:
            break
        found = _search_line(visit, bundle, moved, direction, simplex, most)
        if found.value >= current.value - found.gap:  # no descent that the machine's own gap does not hide
            precision *= 0.3
            found = visit(bundle.best.point)
        current = found
    return bundle


def _begin(evaluate: Evaluate, feasible: WeightSet, tol: float, progress: Progress) -> Bundle:
    bundle = Bundle(feasible, tol)
    bundle.add(evaluate(feasible.start(), None))
    progress(bundle)
    return bundle


def _reduced_direction(evaluation: Evaluation, simplex: Simplex) -> np.ndarray:
    """Descent direction of sum zero that leaves the largest weight as the dependent one."""
    gradient = -0.5 * evaluation.forms
    free = evaluation.point - simplex.lower
    largest = int(np.argmax(free))
    reduced = gradient - gradient[largest]
    direction = np.where((free <= 0.0) & (reduced > 0.0), 0.0, -reduced)
    direction[largest] = 0.0
    direction[largest] = -direction.sum()
    return direction


def _longest_step(point: np.ndarray, direction: np.ndarray, simplex: Simplex) -> tuple[float, int]:
    """Largest feasible step, and the weight that reaches its limit there."""
    falling = direction < 0.0
    steps = np.full(len(point), np.inf)
    steps[falling] = (point[falling] - simplex.lower[falling]) / -direction[falling]
    gone = int(np.argmin(steps))
    return float(steps[gone]), gone


def _search_line(
    visit: Callable[[np.ndarray], Evaluation],
    bundle: Bundle,
    start: Evaluation,
    direction: np.ndarray,
    simplex: Simplex,
    most: int,
) -> Evaluation:
    """Minimum of J along a direction: J is convex, so the slopes at both ends of an interval bracket it."""
    longest, _ = _longest_step(start.point, direction, simplex)
    low, high, best = 0.0, longest if np.isfinite(longest) else 0.0, start
    low_slope, high_slope = -0.5 * float(start.forms @ direction), None
    flat = 0.05 * abs(low_slope)
    while low_slope < 0.0 and high - low > 1e-6 * longest and bundle.evaluations < most and not bundle.converged:
        share = GOLDEN if high_slope is None else np.clip(low_slope / (low_slope - high_slope), 0.1, 0.9)
        middle = low + share * (high - low)
        trial = visit(simplex.clean(start.point + middle * direction))
        slope = -0.5 * float(trial.forms @ direction)
        if trial.value < best.value:
            best = trial
        if abs(slope) <= flat:
            break
        if slope < 0.0:
            low, low_slope = middle, slope
        else:
            high, high_slope = middle, slope
    return best
