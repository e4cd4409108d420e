"""Kernel weights by several methods that solve the same problem, each with a certified gap.

    minimise over x    J(x) + r(x)      in a convex set (`sets`),      r(x) = pull * ||x - 1/P||^2

where J(x) = max_C l(C) - 1/2 sum_m x_m q_m(C) is a machine's optimum and q_m(C) = sum_r c_r' K_m c_r. Any feasible C,
optimal for some x or not, gives a *cut*, a linear function that is nowhere above J:

    l(C) - 1/2 q(C)'x <= J(x),       and so   min_x  l(C) - 1/2 q(C)'x + r(x)   bounds the optimum from below.

The same holds for convex combinations of cuts. From above the optimum is bounded by the machine's primal at the best x.

=====================  ==============================================================================================
method                 how the next point is found
=====================  ==============================================================================================
newton                 largest cut so far, bent by the curvature of J at the best point (a bundle method in J's own
                       metric; quadratic where the free variables stay the same)
level                  the point nearest to the best one where every cut is below a level between both bounds (Xu et
                       al., *An extended level method for multiple kernel learning*, 2009)
silp                   the minimum of the largest cut, a linear program (Sonnenburg et al. 2006), thesis 2.2.1.3
cuts                   the same over a set that is curved itself, a cone program
reduced-gradient       descent along the reduced gradient with a line search (Rakotomamonjy et al., *SimpleMKL*, 2008)
norm ball              the weights in closed form for the weight vectors of the machine (Kloft et al. 2010, 2011)
conic                  weights and dual variables together, one cone program, thesis (2.5)
=====================  ==============================================================================================

Each evaluation is one solve of a machine, no more exact than the gap so far requires.

x is `point`, l(C) `Evaluation.intercept`, and q(C) `Evaluation.forms`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ..base import solve_cone_program
from ..program import DualProgram, joined
from .sets import GroupBall, Simplex, WeightSet

MOST_CUTS = 60
MODEL_TOLERANCE = 1e-12  # of the cone solver: what it leaves open, the lower bound lacks
INNER_SHARE = 0.1  # of the gap that one evaluation may leave open
LEVEL = 0.5  # between the lower and the upper bound
PROXIMITY = 0.05  # of the gap: keeps the steps finite where J has no curvature
NEAR = 1e-5  # relative gap below which the lower bound is raised by the cuts alone, too
FINEST = 1e-9  # share of the allowed inner gap below which tighter solves have ceased to help
CLOSED = 0.5  # share of the gap that a step should close
PROMISED = 0.0003  # share of the gap that a step must promise where the one before has not done so
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
MOST_PROGRAMS = 3  # that are solved, each in better units
SOLVED = ("Solved", "AlmostSolved")
RANK = 1e-10  # eigenvalues below this share of the largest are left out


@dataclass(frozen=True)
class Evaluation:
    """J at one point, with the cut it gives.

    `value` is the machine's dual objective there, and J is at most ``value + gap``. `forms` is q(C) at the machine's
    solution, and `curvature` gives second derivatives of J, of shape (P, P). `detail` is anything that belongs to the
    best point, and `least` what J counts as at least where a gap is relative to it, see `Machine.least_objective`.
    """

    point: np.ndarray
    value: float
    gap: float
    forms: np.ndarray
    curvature: Callable[[], np.ndarray]
    detail: Any = None
    least: float = 0.0

    @property
    def intercept(self) -> float:
        """l(C): the cut is ``intercept - 1/2 forms'x``."""
        return self.value + 0.5 * float(self.forms @ self.point)


class Bundle:
    """The cuts so far, the best point, and the certified gap between them; begins with an evaluation at the start.

    The optimum is between `lower` and `upper`; the certified upper bound is smallest at `best`.
    """

    best: Evaluation

    def __init__(
        self, evaluate: Evaluate, feasible: WeightSet, tol: float, most: int, progress: Progress | None = None
    ):
        self.evaluate, self.feasible, self.tol, self.most, self.progress = evaluate, feasible, tol, most, progress
        self.evaluations, self.upper, self.lower = 0, np.inf, -np.inf
        self._intercepts: list[float] = []
        self._forms: list[np.ndarray] = []
        self.visit(feasible.start(), None)

    @property
    def gap(self) -> float:
        return self.upper - self.lower

    @property
    def size(self) -> float:
        return max(abs(self.upper), self.best.least)

    @property
    def converged(self) -> bool:
        return self.gap <= self.tol * self.size

    @property
    def ends(self) -> bool:
        return self.converged or self.evaluations >= self.most

    @property
    def inner_gap(self) -> float:
        return max(INNER_SHARE * self.gap, 0.5 * INNER_SHARE * self.tol * self.size)

    def visit(self, x: np.ndarray, gap: float | None) -> Evaluation:
        evaluation = self.evaluate(x, gap)
        self.evaluations += 1
        self.cut(evaluation.intercept, evaluation.forms)
        upper = evaluation.value + evaluation.gap + self.feasible.penalty(evaluation.point)
        if upper < self.upper:
            self.best, self.upper = evaluation, upper
        if self.progress is not None:
            self.progress(self)
        return evaluation

    def cut(self, intercept: float, forms: np.ndarray) -> None:
        """Add a cut; the oldest is dropped where there are too many."""
        self._intercepts.append(intercept)
        self._forms.append(forms)
        if len(self._intercepts) > MOST_CUTS:
            del self._intercepts[0], self._forms[0]
        self.lower = max(self.lower, self.feasible.smallest(intercept, forms))

    def combine(self, multipliers: np.ndarray, intercepts: Any, forms: Any) -> None:
        """Raise the lower bound by the combination of cuts with these multipliers."""
        shares = multipliers / multipliers.sum()
        combined = self.feasible.smallest(shares @ np.asarray(intercepts), shares @ np.asarray(forms))
        self.lower = max(self.lower, min(combined, self.upper))

    def step(self, metric: np.ndarray | None, level: float | None = None) -> np.ndarray | None:
        """The minimiser of the largest cut plus r plus ``1/2 (x - best)' metric (x - best)`` over the set.

        With a `level`, the cuts plus r are held below it and only the metric is minimised (r must be zero then).
        The multipliers of the cuts combine them into one that raises the lower bound. None where the cone solver fails,
        which happens where the gap is near the resolution of floating point.
        """
        found = self._solve_model(np.array(self._intercepts), np.array(self._forms), metric, level)
        if found is None:
            return None
        x, multipliers = found
        if level is None and multipliers.any():
            self.combine(multipliers, self._intercepts, self._forms)
        return self.feasible.clean(x)

    def promised(self, x: np.ndarray, metric: np.ndarray) -> float:
        """By how much the largest cut plus r, bent by a metric as in `step`, is below the upper bound at a point."""
        largest = (np.array(self._intercepts) - 0.5 * np.array(self._forms) @ x).max() + self.feasible.penalty(x)
        move = x - self.best.point
        return float(self.upper - largest - 0.5 * move @ metric @ move)

    def _solve_model(
        self, intercepts: np.ndarray, forms: np.ndarray, metric: np.ndarray | None, level: float | None
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The cone program of `step` over (x, top of the cuts, helpers of the set): x and the cuts' multipliers."""
        n_cuts, n = forms.shape
        scale = _largest_size(intercepts, forms)
        constraints, bounds, cones = self.feasible.constraints()
        size = constraints.shape[1] + 1
        Q = np.zeros((size, size))
        linear = np.zeros(size)
        if metric is not None:
            Q[:n, :n] = metric / scale
            linear[:n] = -(metric @ self.best.point) / scale
        Q[np.arange(n), np.arange(n)] += 2.0 * self.feasible.pull / scale
        linear[:n] -= 2.0 * self.feasible.pull / (n * scale)
        linear[n] = 1.0
        cuts = np.zeros((n_cuts, size))
        cuts[:, :n], cuts[:, n] = -0.5 * forms / scale, -1.0
        rows = [np.insert(constraints, n, 0.0, axis=1), cuts]
        right: list[Any] = [bounds, -intercepts / scale]
        cones = [*cones, clarabel.NonnegativeConeT(n_cuts)]
        if level is not None:
            linear[n] = 0.0
            rows.append(np.eye(1, size, n))
            right.append([level / scale])
            cones.append(clarabel.NonnegativeConeT(1))
        solution = solve_cone_program(
            np.triu(Q), linear, np.vstack(rows), np.concatenate(right), cones, MODEL_TOLERANCE
        )
        x, multipliers = np.array(solution.x)[:n], np.array(solution.z)[len(constraints) : len(constraints) + n_cuts]
        usable = np.isfinite(x).all() and np.isfinite(multipliers).all() and x.max() > 1e-3 / n
        if not usable or str(solution.status) not in (*SOLVED, "InsufficientProgress"):
            return None
        return x, np.maximum(multipliers, 0.0)


Evaluate = Callable[[np.ndarray, float | None], Evaluation]
Progress = Callable[[Bundle], None]


def _largest_size(intercepts: np.ndarray, forms: np.ndarray) -> float:
    return max(np.abs(intercepts).max(), 0.5 * np.abs(forms).max(), np.finfo(float).tiny)


def minimize_newton(evaluate: Evaluate, feasible: WeightSet, tol: float, most: int, progress: Progress) -> Bundle:
    """Steps to the minimum of the cuts bent by the curvature of J; a failed step adds a cut and bends more.

    Where the combined kernel of the free variables is singular, J has a kink towards kernels that would add to its
    rank: its curvature there is the inverse of a rounding error and would keep them out for good. So the curvature is
    cut down where steps close little of the gap and promise no more.
    """
    bundle = Bundle(evaluate, feasible, tol, most, progress)
    bend, precision, gap = 1.0, 1.0, np.inf
    metric = None
    while not bundle.ends and precision > FINEST:
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
        evaluation = bundle.visit(x, precision * bundle.inner_gap)
        if bundle.best is evaluation:
            bend = max(1.0, 0.5 * bend)
            metric = None
        if evaluation.value > before:  # too far
            bend *= 2.0
        elif before - bundle.upper < evaluation.gap:  # what the machine left open hides what the step has done
            precision *= 0.3
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
    """The level method: project the best point to where the cuts allow a share of the gap."""
    bundle = Bundle(evaluate, simplex, tol, most, progress)
    identity = np.eye(len(simplex.lower))
    while not bundle.ends:
        bundle.step(None)  # raises the lower bound to the minimum of the cuts
        if bundle.converged:
            break
        x = bundle.step(identity, level=bundle.lower + LEVEL * bundle.gap)
        if x is None:
            break
        bundle.visit(x, bundle.inner_gap)
    return bundle


def minimize_silp(evaluate: Evaluate, simplex: Simplex, tol: float, most: int, progress: Progress) -> Bundle:
    """The semi-infinite linear program by cutting planes, solved by HiGHS."""
    bundle = Bundle(evaluate, simplex, tol, most, progress)
    cuts = [bundle.best]
    n = len(simplex.lower)
    while not bundle.ends:
        intercepts, forms = np.array([cut.intercept for cut in cuts]), np.array([cut.forms for cut in cuts])
        scale = _largest_size(intercepts, forms)
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
        bundle.combine(np.maximum(-found.ineqlin.marginals, 0.0), intercepts, forms)
        if bundle.converged:
            break
        cuts.append(bundle.visit(simplex.clean(found.x[:n]), bundle.inner_gap))
    return bundle


def minimize_cuts(evaluate: Evaluate, feasible: WeightSet, tol: float, most: int, progress: Progress) -> Bundle:
    """The minimum of the largest cut, for sets that are curved themselves, such as `RootSimplex`."""
    bundle = Bundle(evaluate, feasible, tol, most, progress)
    while not bundle.ends:
        x = bundle.step(None)  # raises the lower bound to the minimum of the cuts
        if x is None or bundle.converged:
            break
        bundle.visit(x, None)
    return bundle


def minimize_reduced_gradient(
    evaluate: Evaluate, simplex: Simplex, tol: float, most: int, progress: Progress
) -> Bundle:
    """SimpleMKL: along the reduced gradient until weights vanish, then a line search, with the gap of single cuts."""
    bundle = Bundle(evaluate, simplex, tol, most, progress)
    precision = 1.0
    current = bundle.best
    while not bundle.ends:
        direction = _reduced_direction(current, simplex)
        moved = current
        while bundle.evaluations < most:  # as far as J falls, weight by weight
            longest, gone = _longest_step(moved.point, direction, simplex)
            if not np.isfinite(longest):
                break
            trial_point = moved.point + longest * direction
            trial_point[gone] = simplex.lower[gone]
            trial = bundle.visit(simplex.clean(trial_point), precision * bundle.inner_gap)
            if trial.value >= moved.value or bundle.converged:
                break
            moved = trial
            direction = direction.copy()
            direction[np.argmax(moved.point)] += direction[gone]
            direction[gone] = 0.0
        if bundle.converged:
            break
        found = _search_line(bundle, moved, direction, simplex, precision)
        if found.value >= current.value - found.gap:  # no descent that the machine's own gap does not hide
            precision *= 0.3
            found = bundle.visit(bundle.best.point, precision * bundle.inner_gap)
        current = found
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
    falling = direction < 0.0
    steps = np.full(len(point), np.inf)
    steps[falling] = (point[falling] - simplex.lower[falling]) / -direction[falling]
    gone = int(np.argmin(steps))
    return float(steps[gone]), gone


def _search_line(
    bundle: Bundle, start: Evaluation, direction: np.ndarray, simplex: Simplex, precision: float
) -> Evaluation:
    """Minimum of J along a direction: J is convex, so the slopes at both ends of an interval bracket it."""
    longest, _ = _longest_step(start.point, direction, simplex)
    low, high, best = 0.0, longest if np.isfinite(longest) else 0.0, start
    low_slope, high_slope = -0.5 * float(start.forms @ direction), None
    flat = 0.05 * abs(low_slope)
    while low_slope < 0.0 and high - low > 1e-6 * longest and not bundle.ends:
        share = GOLDEN if high_slope is None else np.clip(low_slope / (low_slope - high_slope), 0.1, 0.9)
        middle = low + share * (high - low)
        trial = bundle.visit(simplex.clean(start.point + middle * direction), precision * bundle.inner_gap)
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


def minimize_in_norm_ball(evaluate: Evaluate, p: float, n: int, tol: float, most: int, progress: Progress) -> Bundle:
    """Alternate between the machine and the weights in closed form, over the unit ball of the lp norm, x >= 0.

    With w_m the machine's weight vector in the space of kernel m, ||w_m||^2 = x_m^2 q_m, J(x) is the minimum over w of
    a function that is convex in (w, x) together, and for fixed w the best weights are known, so J never rises.
    """
    ball = GroupBall(np.zeros(n, dtype=int), p)
    bundle = Bundle(evaluate, ball, tol, most, progress)
    evaluation = bundle.best
    while not bundle.ends:
        norms = evaluation.point * np.sqrt(np.maximum(evaluation.forms, 0.0))
        x = best_weights(norms, p) if norms.any() else evaluation.point
        evaluation = bundle.visit(x, bundle.inner_gap)
    return bundle


def best_weights(norms: np.ndarray, p: float) -> np.ndarray:
    """The x in the unit ball of the lp norm that minimises ``sum_m ||w_m||^2 / x_m``; not all norms are zero.

    x_m = ||w_m||^(2 / (p + 1)) / (sum_h ||w_h||^(2p / (p + 1)))^(1/p)

    >>> best_weights(np.array([0.0, 2.0]), p=2.0)
    array([0., 1.])
    """
    if np.isinf(p):
        return np.ones(len(norms))
    a = (norms / norms.max()) ** (2.0 / (p + 1.0))
    return a / (a**p).sum() ** (1.0 / p)


def minimize_conic(
    evaluate: Evaluate, simplex: Simplex, programs: list[DualProgram], matrices: np.ndarray, tol: float, most: int
) -> Bundle:
    """Weights on a simplex without a pull by one cone program over all dual variables, then J there to certify them.

        minimise over z, t, s    1/2 z'diag(h)z - p'z + 1/2 (1 - sum(lower)) t + 1/2 s
        subject to               sum_r ||L_m' c_r||^2 <= t  for every kernel  (K_m = L_m L_m'),
                                 sum_r ||L_0' c_r||^2 <= s  (K_0 = sum_m lower_m K_m),  the machine's bounds and sums

    The multipliers of the first constraints are the weights above their lower limits. Takes memory for P factors of n x
    rank numbers and the factorisation of a system of that size: a few hundred samples. `matrices`, of shape (P, n, n),
    are the kernels that x weighs.

    Costs and kernels of any size make coefficients and forms of any size, so the program is written in units that a
    solve of the machine gives: with z = size z', t = form t' and the objective divided by J all numbers are near 1.
    Equal weights give the first units; where those at the program's weights are others, it is solved again in these.
    """
    bundle = Bundle(evaluate, simplex, tol, most)
    first, program, status = bundle.best, joined(programs), ""
    for _ in range(MOST_PROGRAMS):
        weights, z, status = _solve_conic(simplex, program, matrices, first)
        first = bundle.visit(simplex.clean(weights), None)
        bundle.cut(*_cut(program, matrices, z))
        while not bundle.ends and first.gap > INNER_SHARE * bundle.gap:
            before = bundle.gap
            first = bundle.visit(first.point, 0.3 * INNER_SHARE * bundle.gap)
            if bundle.gap > 0.9 * before:
                break
        if bundle.ends:
            break
    if status not in SOLVED and not bundle.converged:
        raise ValueError(
            f'solver="conic" could not solve this problem (Clarabel: {status}); use solver="auto", kernels of a more '
            "similar size, or another C"
        )
    return bundle


def _solve_conic(
    simplex: Simplex, program: DualProgram, matrices: np.ndarray, last: Evaluation
) -> tuple[np.ndarray, np.ndarray, str]:
    """Weights and dual variables of the cone program in units of an evaluation, and how the solver ended."""
    form = float(np.max(last.forms))
    size, value = float(np.abs(last.detail.coef).max(initial=0.0)) or 1.0, max(abs(last.value), form) or 1.0
    form = form if form > 0.0 else 1.0
    slope, bend, gain, form = size / value, size**2 / value, 2.0 * size / np.sqrt(form), form / value
    n_variables, n_kernels = len(program.linear), len(matrices)
    limited = bool(simplex.lower.any())
    width = n_variables + 1 + limited
    factors = [_factor(K) for K in matrices]
    if limited:
        factors.append(_factor(np.tensordot(simplex.lower, matrices, axes=1)))
    above = [0.5 * form * (1.0 - simplex.lower.sum())] + [0.5 * form] * limited
    blocks = _incidence(program, len(matrices[0]), width)
    select = sp.eye(n_variables, width, format="csr")
    has_lower, has_upper = np.isfinite(program.lower), np.isfinite(program.upper)
    rows = [*(sp.csc_matrix(block.sum(axis=0)) for block in blocks), -select[has_lower], select[has_upper]]
    totals = np.full(len(blocks), program.total)
    right = [totals / size, -program.lower[has_lower] / size, program.upper[has_upper] / size]
    cones = [clarabel.ZeroConeT(len(blocks)), clarabel.NonnegativeConeT(int(has_lower.sum() + has_upper.sum()))]
    begins = np.cumsum([sum(len(part) for part in right), *(2 + len(blocks) * factor.shape[1] for factor in factors)])
    for m, factor in enumerate(factors):
        top = sp.csc_matrix(([1.0], ([0], [n_variables + (limited and m == n_kernels)])), shape=(1, width))
        body = sp.vstack([sp.csc_matrix(factor.T) @ block for block in blocks])
        rows += [-top, -top, -gain * body]
        right += [np.array([1.0, -1.0]), np.zeros(body.shape[0])]
        cones.append(clarabel.SecondOrderConeT(2 + body.shape[0]))
    quadratic = sp.diags(np.append(bend * program.quadratic, np.zeros(1 + limited)))
    linear = np.append(-slope * program.linear, above)
    solution = solve_cone_program(quadratic, linear, sp.vstack(rows), np.concatenate(right), cones)
    found, multipliers = (np.nan_to_num(values) for values in (solution.x, solution.z))  # of a solver that failed
    # twice the multiplier of each constraint on t, from the first two entries of its second-order cone
    begins = begins[:n_kernels]
    weights = np.maximum(2.0 * (multipliers[begins] + multipliers[begins + 1]), 0.0)
    return simplex.lower + weights / form, size * found[:n_variables], str(solution.status)


def _incidence(program: DualProgram, n: int, width: int) -> list[sp.csc_matrix]:
    found = []
    for signs in program.incidence(np.arange(len(program.linear))).T:
        used = np.flatnonzero(signs)
        found.append(sp.csc_matrix((signs[used], (program.sample[used], used)), shape=(n, width)))
    return found


def _factor(K: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(np.asarray(K, dtype=np.float64))
    useful = values > RANK * max(values[-1], np.finfo(float).tiny)
    return vectors[:, useful] * np.sqrt(values[useful])


def _cut(program: DualProgram, matrices: np.ndarray, z: np.ndarray) -> tuple[float, np.ndarray]:
    z = np.clip(z, program.lower, program.upper)
    intercept = float(program.linear @ z - 0.5 * program.quadratic @ z**2)
    C = np.column_stack([block @ z for block in _incidence(program, len(matrices[0]), len(z))])
    return intercept, np.array([np.sum(C * (K @ C)) for K in matrices])
