"""Cuts below a convex function of the kernel weights, and the certified gap they give.

    minimise over x    J(x) + r(x)      in a convex set (`sets`),      r(x) = pull * ||x - 1/P||^2

where J(x) = max_C l(C) - 1/2 sum_m x_m q_m(C) is a machine's optimum and q_m(C) = sum_r c_r' K_m c_r. Any feasible C,
optimal for some x or not, gives a *cut*, a linear function that is nowhere above J:

    l(C) - 1/2 q(C)'x <= J(x),       and so   min_x  l(C) - 1/2 q(C)'x + r(x)   bounds the optimum from below.

The same holds for convex combinations of cuts. From above the optimum is bounded by the machine's primal at the best x.

==========  ============================
symbol      name
==========  ============================
x           point
l(C)        Evaluation.intercept
q(C)        Evaluation.forms
==========  ============================

----------
Kernel weights by several methods that solve the same problem, each with a certified gap.

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

----------
Kernel weights in the unit ball of the lp norm, by a weight step in closed form (Kloft et al. 2010, 2011).

    minimise over x    J(x)      subject to   x >= 0,   ||x||_p <= 1

With w_m the machine's weight vector in the space of kernel m, ||w_m||^2 = x_m^2 q_m, J(x) is the minimum over w of a
function that is convex in (w, x) together, and for fixed w the best weights are known:

    x_m = ||w_m||^(2 / (p + 1)) / (sum_h ||w_h||^(2p / (p + 1)))^(1/p).

Alternating between that step and the machine never raises J. The lower bound is that of `sets.GroupBall` with one
group.

----------
Kernel weights on a simplex by one cone program over all dual variables, thesis (2.5), solved by Clarabel.

    minimise over z, t, s    1/2 z'diag(h)z - p'z + 1/2 (1 - sum(lower)) t + 1/2 s
    subject to               sum_r ||L_m' c_r||^2 <= t  for every kernel  (K_m = L_m L_m'),
                             sum_r ||L_0' c_r||^2 <= s  (K_0 = sum_m lower_m K_m),  the machine's bounds and sums

The multipliers of the first constraints are the weights above their lower limits. Takes memory for P factors of n x
rank numbers and the factorisation of a system of that size: a few hundred samples.

Costs and kernels of any size make coefficients and forms of any size, so the program is written in units (`Units`) that
a solve of the machine gives: with z = size z', t = form t' and the objective divided by J all numbers are near 1. Equal
weights give the first units; where those at the program's weights are others, it is solved again in these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ..base import quiet_settings
from ..program import DualProgram
from .sets import GroupBall, Simplex

MOST_CUTS = 60
MODEL_TOLERANCE = 1e-12  # of the cone solver: what it leaves open, the lower bound lacks
INNER_SHARE = 0.1  # of the gap that one evaluation may leave open


@dataclass(frozen=True)
class Evaluation:
    """J at one point, with the cut it gives.

    Attributes
    ----------
    point : ndarray of shape (P,)
    value : float
        The machine's dual objective there.
    gap : float
        The machine's duality gap: J is at most ``value + gap``.
    forms : ndarray of shape (P,)
        q(C) at the machine's solution.
    curvature : callable
        Second derivatives of J there, of shape (P, P).
    detail : object
        Anything that is to be kept with the best point.
    least : float
        What J counts as at least where a gap is relative to it, see `Machine.least_objective`.
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


class WeightSet(Protocol):
    """A convex set of weights, and a penalty that pulls them towards equal ones."""

    @property
    def pull(self) -> float:
        """The weight of r(x)."""

    def start(self) -> np.ndarray:
        """A point in the middle."""

    def penalty(self, x: np.ndarray) -> float:
        """r(x)."""

    def smallest(self, intercept: float, forms: np.ndarray) -> float:
        """The minimum of ``intercept - 1/2 forms'x + r(x)`` over the set."""

    def clean(self, x: np.ndarray) -> np.ndarray:
        """A point that a solver returned, made exactly feasible, with what is nearly zero put there."""

    def constraints(self) -> tuple[np.ndarray, np.ndarray, list]:
        """A, b and Clarabel's cones of ``b - A (x, helpers)``, which hold exactly for the x in the set."""


@dataclass
class Bundle:
    """The cuts so far, the best point, and the certified gap between them.

    Attributes
    ----------
    feasible : WeightSet
    tol : float
        Wanted gap, relative to the objective's size.
    evaluations : int
    best : Evaluation
        Where the certified upper bound is smallest; from the first evaluation on.
    upper, lower : float
        The optimum lies between them.
    """

    feasible: WeightSet
    tol: float
    evaluations: int = 0
    best: Evaluation = field(init=False)
    upper: float = np.inf
    lower: float = -np.inf
    history: list[float] = field(default_factory=list)
    _intercepts: list[float] = field(default_factory=list)
    _forms: list[np.ndarray] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """How far the best point is from the optimum at most."""
        return self.upper - self.lower

    @property
    def size(self) -> float:
        """What gaps are relative to."""
        return max(abs(self.upper), self.best.least)

    @property
    def converged(self) -> bool:
        """Whether the gap is as small as wanted."""
        return self.gap <= self.tol * self.size

    @property
    def inner_gap(self) -> float:
        """The gap that the next evaluation may leave open."""
        return max(INNER_SHARE * self.gap, 0.5 * INNER_SHARE * self.tol * self.size)

    def add(self, evaluation: Evaluation) -> bool:
        """Take an evaluation in; whether its point is the best so far."""
        self.evaluations += 1
        self.cut(evaluation.intercept, evaluation.forms)
        upper = evaluation.value + evaluation.gap + self.feasible.penalty(evaluation.point)
        improved = upper < self.upper
        if improved:
            self.best, self.upper = evaluation, upper
        self.history.append(self.upper)
        return improved

    def cut(self, intercept: float, forms: np.ndarray) -> None:
        """Take a cut in; the oldest goes where there are too many."""
        self._intercepts.append(intercept)
        self._forms.append(forms)
        if len(self._intercepts) > MOST_CUTS:
            del self._intercepts[0], self._forms[0]
        self.lower = max(self.lower, self.feasible.smallest(intercept, forms))

    def step(self, metric: np.ndarray | None, level: float | None = None) -> np.ndarray | None:
        """The minimiser of the largest cut plus r plus ``1/2 (x - best)' metric (x - best)`` over the set.

        With a `level`, the cuts plus r are held below it and only the metric is minimised (r must be zero then).
        The multipliers of the cuts combine them into one that raises the lower bound. None where the cone solver fails,
        which happens where the gap is near the resolution of floating point.
        """
        found = _solve_model(
            np.array(self._intercepts), np.array(self._forms), self.feasible, metric, self.best.point, level
        )
        if found is None:
            return None
        x, multipliers = found
        total = multipliers.sum()
        if level is None and total > 0.0:
            shares = multipliers / total
            combined = self.feasible.smallest(shares @ self._intercepts, shares @ np.array(self._forms))
            self.lower = max(self.lower, min(combined, self.upper))
        return self.feasible.clean(x)

    def promised(self, x: np.ndarray, metric: np.ndarray) -> float:
        """By how much the largest cut plus r, bent by a metric as in `step`, is below the upper bound at a point."""
        largest = (np.array(self._intercepts) - 0.5 * np.array(self._forms) @ x).max() + self.feasible.penalty(x)
        move = x - self.best.point
        return float(self.upper - largest - 0.5 * move @ metric @ move)


def _solve_model(
    intercepts: np.ndarray,
    forms: np.ndarray,
    feasible: WeightSet,
    metric: np.ndarray | None,
    center: np.ndarray,
    level: float | None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """The cone program of `Bundle.step` over (x, top of the cuts, helpers of the set): x and the cuts' multipliers."""
    n_cuts, n = forms.shape
    scale = max(np.abs(intercepts).max(), 0.5 * np.abs(forms).max(), np.finfo(float).tiny)
    constraints, bounds, cones = feasible.constraints()
    n_helpers = constraints.shape[1] - n
    size = n + 1 + n_helpers
    Q = np.zeros((size, size))
    linear = np.zeros(size)
    if metric is not None:
        Q[:n, :n] = metric / scale
        linear[:n] = -(metric @ center) / scale
    Q[np.arange(n), np.arange(n)] += 2.0 * feasible.pull / scale
    linear[:n] -= 2.0 * feasible.pull / (n * scale)
    linear[n] = 1.0
    top = np.zeros((1, size))
    top[0, n] = 1.0
    cuts = np.hstack([-0.5 * forms / scale, -np.ones((n_cuts, 1)), np.zeros((n_cuts, n_helpers))])
    own = np.hstack([constraints[:, :n], np.zeros((len(constraints), 1)), constraints[:, n:]])
    rows, right, all_cones = [own, cuts], [bounds, -intercepts / scale], [*cones, clarabel.NonnegativeConeT(n_cuts)]
    if level is not None:
        rows, right = [*rows, top], [*right, [level / scale]]
        linear[n] = 0.0
        all_cones.append(clarabel.NonnegativeConeT(1))
    A = sp.csc_matrix(np.vstack(rows))
    settings = quiet_settings()
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = MODEL_TOLERANCE
    solver = clarabel.DefaultSolver(sp.csc_matrix(np.triu(Q)), linear, A, np.concatenate(right), all_cones, settings)
    solution = solver.solve()
    x, multipliers = np.array(solution.x)[:n], np.array(solution.z)[len(constraints) : len(constraints) + n_cuts]
    usable = np.isfinite(x).all() and np.isfinite(multipliers).all() and x.max() > 1e-3 / n
    if not usable or str(solution.status) not in ("Solved", "AlmostSolved", "InsufficientProgress"):
        return None
    return x, np.maximum(multipliers, 0.0)


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


def best_weights(norms: np.ndarray, p: float) -> np.ndarray:
    """The x that minimises ``sum_m ||w_m||^2 / x_m`` over the unit ball of the lp norm.

    Parameters
    ----------
    norms : ndarray of shape (P,)
        ||w_m||, not all zero.
    p : float
        Above 1, possibly infinite.

    Examples
    --------
    >>> import numpy as np
    >>> best_weights(np.array([0.0, 2.0]), p=2.0)
    array([0., 1.])
    """
    if np.isinf(p):
        return np.ones(len(norms))
    a = (norms / norms.max()) ** (2.0 / (p + 1.0))
    return a / (a**p).sum() ** (1.0 / p)


def minimize_in_norm_ball(evaluate: Evaluate, p: float, n: int, tol: float, most: int, progress: Progress) -> Bundle:
    """Alternate between the machine and the weights in closed form; parameters as in `methods.minimize_newton`."""
    ball = GroupBall(np.zeros(n, dtype=int), p)
    bundle = Bundle(ball, tol)
    evaluation = evaluate(ball.start(), None)
    bundle.add(evaluation)
    progress(bundle)
    while not bundle.converged and bundle.evaluations < most:
        norms = evaluation.point * np.sqrt(np.maximum(evaluation.forms, 0.0))
        x = best_weights(norms, p) if norms.any() else evaluation.point
        evaluation = evaluate(x, bundle.inner_gap)
        bundle.add(evaluation)
        progress(bundle)
    return bundle


MOST_PROGRAMS = 3  # that are solved, each in better units
SOLVED = ("Solved", "AlmostSolved")
RANK = 1e-10  # eigenvalues below this share of the largest are left out


def minimize_conic(
    evaluate: Callable[[np.ndarray, float | None], Evaluation],
    simplex: Simplex,
    programs: list[DualProgram],
    matrices: np.ndarray,
    tol: float,
    most: int,
) -> Bundle:
    """Solve the cone program, then evaluate J at its weights for the certificate.

    Parameters
    ----------
    evaluate : callable
        Point and allowed gap -> Evaluation.
    simplex : Simplex
        Without a pull.
    programs : list of DualProgram
    matrices : ndarray of shape (P, n, n)
        The kernels that x weighs.
    tol : float
        Wanted relative gap.
    most : int
        Most evaluations of J.
    """
    bundle = Bundle(simplex, tol)
    first = evaluate(simplex.start(), None)
    bundle.add(first)
    status = ""
    for _ in range(MOST_PROGRAMS):
        weights, z, status = _solve(simplex, programs, matrices, Units.of(first))
        first = evaluate(simplex.clean(weights), None)
        bundle.add(first)
        bundle.cut(*_cut(programs, matrices, z))
        while not bundle.converged and bundle.evaluations < most and first.gap > INNER_SHARE * bundle.gap:
            before = bundle.gap
            first = evaluate(first.point, 0.3 * INNER_SHARE * bundle.gap)
            bundle.add(first)
            if bundle.gap > 0.9 * before:
                break
        if bundle.converged or bundle.evaluations >= most:
            break
    if status not in SOLVED and not bundle.converged:
        raise ValueError(
            f'solver="conic" could not solve this problem (Clarabel: {status}); use solver="auto", kernels of a more '
            "similar size, or another C"
        )
    return bundle


@dataclass(frozen=True)
class Units:
    """The sizes in which the program is written.

    Attributes
    ----------
    size : float
        Of coefficients.
    form : float
        Of sum_r c_r' K_m c_r.
    value : float
        Of the objective.
    """

    size: float
    form: float
    value: float

    @classmethod
    def of(cls, first: Evaluation) -> Units:
        """Those of a solution; 1 where it is 0."""
        size, form = float(np.abs(first.detail.coef).max(initial=0.0)), float(np.max(first.forms))
        return cls(size or 1.0, form if form > 0.0 else 1.0, max(abs(first.value), form) or 1.0)


def _solve(
    simplex: Simplex, programs: list[DualProgram], matrices: np.ndarray, units: Units
) -> tuple[np.ndarray, list[np.ndarray], str]:
    """Weights and dual variables of the cone program, and how the solver ended."""
    n = matrices.shape[1]
    sizes = [len(program.linear) for program in programs]
    n_variables = sum(sizes)
    incidence = [_incidence(program, n) for program in programs]
    limited = bool(simplex.lower.any())
    factors = [_factor(K) for K in matrices]
    if limited:
        factors.append(_factor(np.tensordot(simplex.lower, matrices, axes=1)))
    width = n_variables + 1 + limited
    slope, bend, form = units.size / units.value, units.size**2 / units.value, units.form / units.value
    above = [0.5 * form * (1.0 - simplex.lower.sum())]
    linear = np.concatenate([*(-slope * program.linear for program in programs), above, [0.5 * form] * limited])
    quadratic = np.concatenate([*(bend * program.quadratic for program in programs), np.zeros(1 + limited)])
    rows, right, cones = _linear_part(programs, incidence, width, units.size)
    gain = 2.0 * units.size / np.sqrt(units.form)
    for m, factor in enumerate(factors):
        top = sp.csc_matrix(([1.0], ([0], [n_variables + (limited and m == len(matrices))])), shape=(1, width))
        images = [sp.csc_matrix(factor.T) @ block for part in incidence for block in part]
        body = sp.vstack(
            [_placed(image, start, width) for image, start in zip(images, _starts(incidence), strict=True)]
        )
        rows += [-top, -top, -gain * body]
        right += [np.array([1.0, -1.0]), np.zeros(body.shape[0])]
        cones.append(clarabel.SecondOrderConeT(2 + body.shape[0]))
    A = sp.csc_matrix(sp.vstack(rows))
    solver = clarabel.DefaultSolver(
        sp.diags(quadratic).tocsc(), linear, A, np.concatenate(right), cones, quiet_settings()
    )
    solution = solver.solve()
    found, multipliers = (np.nan_to_num(values) for values in (solution.x, solution.z))  # of a solver that failed
    z = np.split(units.size * found[:n_variables], np.cumsum(sizes)[:-1])
    return simplex.lower + _weights(multipliers, cones, len(matrices)) / form, z, str(solution.status)


def _incidence(program: DualProgram, n: int) -> list[sp.csc_matrix]:
    """For each of the program's columns of C, the matrix that makes it of z."""
    everything = np.arange(len(program.linear))
    signs = program.incidence(everything)
    return [sp.csc_matrix((column, (program.sample, everything)), shape=(n, len(everything))) for column in signs.T]


def _starts(incidence: list[list[sp.csc_matrix]]) -> list[int]:
    """Where the variables of each block begin."""
    starts, start = [], 0
    for part in incidence:
        starts += [start] * len(part)
        start += part[0].shape[1]
    return starts


def _placed(block: sp.spmatrix, start: int, width: int) -> sp.csc_matrix:
    before = sp.csc_matrix((block.shape[0], start))
    after = sp.csc_matrix((block.shape[0], width - start - block.shape[1]))
    return sp.hstack([before, block, after], format="csc")


def _linear_part(programs: list[DualProgram], incidence: list, width: int, size: float) -> tuple[list, list, list]:
    """Column sums and bounds as rows of the cone program, of coefficients in units of a size."""
    starts = _starts(incidence)
    blocks = [block for part in incidence for block in part]
    sums = [
        _placed(sp.csc_matrix(block.sum(axis=0)), start, width) for block, start in zip(blocks, starts, strict=True)
    ]
    totals = np.concatenate([np.full(len(part), p.total) for p, part in zip(programs, incidence, strict=True)])
    lower = np.concatenate([program.lower for program in programs])
    upper = np.concatenate([program.upper for program in programs])
    select = sp.eye(len(lower), width, format="csr")
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    rows = [*sums, -select[has_lower], select[has_upper]]
    right = [totals / size, -lower[has_lower] / size, upper[has_upper] / size]
    cones = [clarabel.ZeroConeT(len(sums)), clarabel.NonnegativeConeT(int(has_lower.sum() + has_upper.sum()))]
    return rows, right, cones


def _factor(K: np.ndarray) -> np.ndarray:
    """L with K = L L', of full column rank."""
    values, vectors = np.linalg.eigh(np.asarray(K, dtype=np.float64))
    kept = values > RANK * max(values[-1], np.finfo(float).tiny)
    return vectors[:, kept] * np.sqrt(values[kept])


def _weights(multipliers: np.ndarray, cones: list, n_kernels: int) -> np.ndarray:
    """Twice the multiplier of each constraint on t, from the first two entries of its second-order cone."""
    sizes = np.cumsum([0, *(cone.dim for cone in cones)])
    begins = sizes[2 : 2 + n_kernels]
    return np.maximum(2.0 * (multipliers[begins] + multipliers[begins + 1]), 0.0)


def _cut(programs: list[DualProgram], matrices: np.ndarray, z: list[np.ndarray]) -> tuple[float, np.ndarray]:
    """l(C) and q(C) at the program's own solution, clipped to its bounds."""
    intercept, forms = 0.0, np.zeros(len(matrices))
    for program, part in zip(programs, z, strict=True):
        part = np.clip(part, program.lower, program.upper)
        intercept += float(program.linear @ part - 0.5 * program.quadratic @ part**2)
        C = np.column_stack([block @ part for block in _incidence(program, matrices.shape[1])])
        forms += np.array([np.sum(C * (K @ C)) for K in matrices])
    return intercept, forms
