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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import clarabel
import numpy as np
import scipy.sparse as sp

from ..clarabel_settings import quiet_settings

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
