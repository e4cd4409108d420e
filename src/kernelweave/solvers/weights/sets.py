"""Sets that kernel weights are chosen from, projections onto them, and minimisation of smooth functions over a simplex.

=============  ==========================================  =====================================================
set            x                                           smallest of l - 1/2 q'x
=============  ==========================================  =====================================================
`Simplex`      sum(x) = 1, x >= lower                      l - 1/2 (lower'q + (1 - sum(lower)) max_m q_m)
`Budget`       sum(x) = k, 0 <= x <= 1                     l - 1/2 (sum of the k largest q_m)
`GroupBall`    x >= 0, sum_g ||x_g||_p <= 1                l - 1/2 max_g ||q_g||_p*        with 1/p + 1/p* = 1
`RootSimplex`  x >= 0, sum_m sqrt(x_m) >= 1                l + 1/2 / sum_m 1 / (-q_m)      where no q_m is positive
=============  ==========================================  =====================================================

The thesis swaps the exponents of the dual norm (section 2.2.1.2, Kloft et al.); it is (sum_m q_m^(p/(p-1)))^((p-1)/p).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
from scipy.optimize import brentq, minimize

from ..base import Result

ZERO = 1e-7  # weights above their lower limit by less than this are at the limit
ZERO_GROUP = 1e-5  # cone solvers leave more of a group that should vanish
SUFFICIENT = 1e-4  # share of the predicted decrease that Armijo's condition requires
HALVINGS = 60
STEP_RANGE = 1e-12, 1e12


def project_on_simplex(point: np.ndarray, total: float = 1.0) -> np.ndarray:
    """The nearest point with entries of at least 0 that sum to `total`.

    Parameters
    ----------
    point : ndarray of shape (n,)
    total : float, default=1

    Examples
    --------
    >>> import numpy as np
    >>> project_on_simplex(np.array([0.5, 1.5, -3.0]))
    array([0., 1., 0.])
    """
    point = point - point.max()  # adds to every entry alike, and keeps huge ones from swallowing the total
    ordered = np.sort(point)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(point) + 1)
    return np.maximum(point - excess[np.flatnonzero(ordered > excess)[-1]], 0.0)


def minimize_on_simplex(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    tol: float = 1e-6,
    max_steps: int = 1000,
) -> Result:
    """Minimise a smooth function over the simplex {eta >= 0, sum(eta) = 1} by projected gradients.

    Each step tries the projected point P(eta - s g), with the step length s of Barzilai and Borwein, and moves along
    the segment to it until Armijo's condition holds, so the objective never rises. For a convex function
    ``g'(eta - e_best)``, e_best being the corner with the smallest gradient entry, bounds the distance to the minimum
    (the gap of Frank and Wolfe); for any function it is zero just at stationary points.

    Parameters
    ----------
    function : callable
        Gives value and gradient at a point of the simplex.
    start : ndarray of shape (n,)
        Projected onto the simplex first.
    tol : float, default=1e-6
        Stop where the gap is at most ``tol * max(1, |objective|)``. Rounding of the objective ends the search at a gap
        of about 1e-8.
    max_steps : int, default=1000

    Returns
    -------
    Result
        `gap` bounds the distance to the minimum where the function is convex; `multiplier` is the smallest gradient
        entry.

    Examples
    --------
    >>> import numpy as np
    >>> target = np.array([0.2, 0.9, -0.4])
    >>> result = minimize_on_simplex(lambda x: (((x - target) ** 2).sum(), 2 * (x - target)), np.ones(3) / 3, 1e-10)
    >>> np.round(result.solution, 4), result.converged
    (array([0.15, 0.85, 0.  ]), True)
    """
    point = project_on_simplex(np.asarray(start, dtype=np.float64))
    value, gradient = function(point)
    length, steps, stuck = 1.0 / max(np.abs(gradient).max(), STEP_RANGE[0]), 0, False
    gap = gradient @ point - gradient.min()
    while gap > tol * max(1.0, abs(value)) and steps < max_steps and not stuck:
        direction = project_on_simplex(point - length * gradient) - point
        slope = gradient @ direction
        share, stuck = 1.0, True
        for _ in range(HALVINGS):
            trial = point + share * direction
            new_value, new_gradient = function(trial)
            if new_value <= value + SUFFICIENT * share * slope and slope < 0.0:
                stuck = False
                break
            share /= 2.0
        if stuck:  # the resolution of floating point
            break
        moved, turned = trial - point, new_gradient - gradient
        bend = moved @ turned
        length = np.clip(moved @ moved / bend if bend > 0.0 else 2.0 * length, *STEP_RANGE)
        point, value, gradient = trial, new_value, new_gradient
        gap = gradient @ point - gradient.min()
        steps += 1
    converged = bool(gap <= tol * max(1.0, abs(value)))
    return Result(point, float(value), float(gap), steps, converged, float(gap), float(gradient.min()))


def project_ball(point: np.ndarray, center: np.ndarray, radius: float) -> np.ndarray:
    """The nearest point x >= 0 with ||x - center|| <= radius; the centre must be >= 0.

    The optimality conditions give x = max(0, (point + t center) / (1 + t)) with the smallest t >= 0 that is in the
    ball. The distance to the centre falls as t grows, so t is found by bisection.

    Examples
    --------
    >>> import numpy as np
    >>> project_ball(np.array([3.0, -1.0]), center=np.array([1.0, 1.0]), radius=1.0).round(3)
    array([1.707, 0.293])
    """
    inside = np.maximum(point, 0.0)
    if np.linalg.norm(inside - center) <= radius:
        return inside
    if radius == 0.0:
        return center.copy()
    low, high = 0.0, float(np.linalg.norm(point - center)) / radius  # at t + 1 = high the unclipped point is inside
    for _ in range(100):
        middle = 0.5 * (low + high)
        inside = np.maximum((point + middle * center) / (1.0 + middle), 0.0)
        if np.linalg.norm(inside - center) > radius:
            low = middle
        else:
            high = middle
        if high - low <= 1e-15 * high:
            break
    return np.maximum((point + high * center) / (1.0 + high), 0.0)


def minimize_scale_free(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    tol: float = 1e-5,
    max_steps: int = 10_000,
) -> Result:
    """Minimise a function f with f(s x) = f(x) for s > 0 over x >= 0, sum(x) = 1.

    Cosines and ratios of kernels are such functions of the weights. Scale costs nothing, so bounds suffice (L-BFGS-B)
    and the solution is scaled to sum 1 at the end. There g'x = 0, and -min(g) is zero just at stationary points.

    Parameters
    ----------
    function : callable
        Gives value and gradient at x >= 0, x != 0.
    start : ndarray of shape (n,)
        At least 0, one entry positive.
    tol : float, default=1e-5
        Converged where ``-min(gradient) <= tol * max(1, |objective|)`` at sum 1.
    max_steps : int, default=10000

    Returns
    -------
    Result
        `violation`, also as `gap`, is ``-min(gradient)``. It bounds the distance to the minimum only where f is convex
        on the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> def ratio(x):  # |x| / (x_1 + 2 x_2)
    ...     size, weight = np.linalg.norm(x), np.array([1.0, 2.0])
    ...     return size / (weight @ x), x / size / (weight @ x) - size * weight / (weight @ x) ** 2
    >>> np.round(minimize_scale_free(ratio, np.ones(2)).solution, 4)
    array([0.3333, 0.6667])
    """
    size = len(start)
    answer = minimize(
        function,
        start * (size / start.sum()),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * size,
        options={"maxiter": max_steps, "maxfun": 10 * max_steps, "ftol": 1e-15, "gtol": 0.01 * tol / size},
    )
    point = answer.x / answer.x.sum()
    value, gradient = function(point)
    violation = float(max(0.0, -gradient.min()))
    converged = bool(violation <= tol * max(1.0, abs(value)))
    return Result(point, float(value), violation, int(answer.nit), converged, violation, 0.0)


class WeightSet(ABC):
    """A convex set of weights, and a penalty r(x) = pull ||x - 1/P||^2 that pulls them towards equal ones."""

    pull: float = 0.0

    @abstractmethod
    def start(self) -> np.ndarray:
        """A point in the middle."""

    def penalty(self, x: np.ndarray) -> float:
        return self.pull * float(((x - 1.0 / len(x)) ** 2).sum())

    @abstractmethod
    def smallest(self, intercept: float, forms: np.ndarray) -> float:
        """The minimum of ``intercept - 1/2 forms'x + r(x)`` over the set."""

    @abstractmethod
    def clean(self, x: np.ndarray) -> np.ndarray:
        """A point that a solver returned, made exactly feasible, with what is nearly zero put there."""

    @abstractmethod
    def constraints(self) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """A, b and Clarabel's cones of ``b - A (x, helpers)``, which hold exactly for the x in the set."""


@dataclass(frozen=True)
class Simplex(WeightSet):
    """The simplex { x : sum(x) = 1, x >= lower }, the lower limits having a sum of less than 1.

    >>> Simplex(np.zeros(2)).smallest(1.0, np.array([2.0, 4.0]))
    -1.0
    """

    lower: np.ndarray
    pull: float = 0.0

    def start(self) -> np.ndarray:
        return self.lower + (1.0 - self.lower.sum()) / len(self.lower)

    def smallest(self, intercept: float, forms: np.ndarray) -> float:
        spare = 1.0 - self.lower.sum()
        if self.pull == 0.0:
            return float(intercept - 0.5 * (self.lower @ forms + spare * forms.max()))
        x = self.project(1.0 / len(forms) + forms / (4.0 * self.pull))
        return float(intercept - 0.5 * forms @ x) + self.penalty(x)

    def project(self, x: np.ndarray) -> np.ndarray:
        return self.lower + project_on_simplex(x - self.lower, 1.0 - self.lower.sum())

    def clean(self, x: np.ndarray) -> np.ndarray:
        x = self.project(x)
        free = np.where(x - self.lower < ZERO, 0.0, x - self.lower)
        return self.lower + free * ((1.0 - self.lower.sum()) / free.sum())

    def constraints(self) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        n = len(self.lower)
        A = np.vstack([np.ones((1, n)), -np.eye(n)])
        return A, np.append(1.0, -self.lower), [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)]


@dataclass(frozen=True)
class Budget(WeightSet):
    """The set { x : sum(x) = k, 0 <= x <= 1 }.

    >>> Budget(3, 2).smallest(5.0, np.array([2.0, 6.0, 4.0]))
    0.0
    """

    n_kernels: int
    k: int

    def start(self) -> np.ndarray:
        return np.full(self.n_kernels, self.k / self.n_kernels)

    def smallest(self, intercept: float, forms: np.ndarray) -> float:
        return float(intercept - 0.5 * np.sort(forms)[self.n_kernels - self.k :].sum())

    def clean(self, x: np.ndarray) -> np.ndarray:
        shift = brentq(lambda shift: np.clip(x - shift, 0.0, 1.0).sum() - self.k, x.min() - 1.0, x.max(), xtol=1e-15)
        return np.clip(x - shift, 0.0, 1.0)

    def constraints(self) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        n = self.n_kernels
        A = np.vstack([np.ones((1, n)), -np.eye(n), np.eye(n)])
        b = np.concatenate([[float(self.k)], np.zeros(n), np.ones(n)])
        return A, b, [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]


@dataclass(frozen=True)
class GroupBall(WeightSet):
    """The set { x >= 0 : sum_g ||x_g||_p <= 1 }: sparse over groups, not within.

    `groups` holds the group of each kernel, 0 .. n_groups - 1; p is above 1, infinity for equal weights in a group.

    >>> GroupBall(np.zeros(2, dtype=int), p=2.0).smallest(5.0, np.array([6.0, 8.0]))
    0.0
    """

    groups: np.ndarray
    p: float

    def start(self) -> np.ndarray:
        sizes = np.bincount(self.groups).astype(float)
        return (sizes ** (-1.0 / self.p) / len(sizes))[self.groups]

    def smallest(self, intercept: float, forms: np.ndarray) -> float:
        dual = 1.0 if np.isinf(self.p) else self.p / (self.p - 1.0)
        return float(intercept - 0.5 * self._norms(np.maximum(forms, 0.0), dual).max())

    def clean(self, x: np.ndarray) -> np.ndarray:
        norms = self._norms(np.maximum(x, 0.0), self.p)
        norms[norms < ZERO_GROUP * norms.sum()] = 0.0
        return np.where(norms[self.groups] > 0.0, np.maximum(x, 0.0), 0.0) / norms.sum()

    def constraints(self) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """With norms s_g as helpers, sum_{m in g} v_m <= s_g and v_m^(1/p) s_g^(1 - 1/p) >= x_m where p is finite."""
        n, n_groups = len(self.groups), self.groups.max() + 1
        member = 1.0 * (self.groups[:, None] == np.arange(n_groups))
        every = np.eye(2 * n + n_groups)  # of x, s and v
        total = every[n : n + n_groups].sum(axis=0)
        if np.isinf(self.p):
            above = np.hstack([np.eye(n), -member])
            A = np.vstack([-every[:n, : n + n_groups], above, total[: n + n_groups]])
            return A, np.append(np.zeros(2 * n), 1.0), [clarabel.NonnegativeConeT(2 * n + 1)]
        sums = np.hstack([np.zeros((n_groups, n)), -np.eye(n_groups), member.T])
        powers = -every[np.column_stack([n + n_groups + np.arange(n), n + self.groups, np.arange(n)]).ravel()]
        A = np.vstack([-every[:n], total, sums, powers])
        b = np.concatenate([np.zeros(n), [1.0], np.zeros(n_groups + 3 * n)])
        cones = [clarabel.PowerConeT(1.0 / self.p)] * n
        return A, b, [clarabel.NonnegativeConeT(n + 1 + n_groups), *cones]

    def _norms(self, x: np.ndarray, p: float) -> np.ndarray:
        return np.array([np.linalg.norm(x[self.groups == g], p) for g in range(self.groups.max() + 1)])


@dataclass(frozen=True)
class RootSimplex(WeightSet):
    """The set { x >= 0 : sum_m sqrt(x_m) >= 1 }: the squares of weights that add up to 1, and all that is above them.

    For functions that do not fall where a weight grows, whose forms q are not positive; they are least on the edge.

    >>> RootSimplex(2).smallest(0.0, np.array([-2.0, -2.0]))
    0.5
    """

    n_kernels: int

    def start(self) -> np.ndarray:
        return np.full(self.n_kernels, self.n_kernels**-2.0)

    def smallest(self, intercept: float, forms: np.ndarray) -> float:
        slopes = np.maximum(-0.5 * forms, 0.0)
        if not slopes.all():
            return float(intercept)
        return float(intercept + 1.0 / (1.0 / slopes).sum())

    def clean(self, x: np.ndarray) -> np.ndarray:
        roots = np.sqrt(np.maximum(x, 0.0))
        return (roots / roots.sum()) ** 2

    def constraints(self) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        """With roots r_m as helpers, sum(r) >= 1 and r_m^2 <= x_m, in units in which equal weights have x_m = 1."""
        n = self.n_kernels
        A, b = np.zeros((1 + 3 * n, 2 * n)), np.zeros(1 + 3 * n)
        A[0, n:], b[0] = -1.0, -1.0
        first = 1 + 3 * np.arange(n)
        A[first, np.arange(n)] = A[first + 1, np.arange(n)] = -(n**2.0)  # ||(x - 1, 2 r)|| <= x + 1
        b[first], b[first + 1] = 1.0, -1.0
        A[first + 2, n + np.arange(n)] = -2.0 * n
        return A, b, [clarabel.NonnegativeConeT(1), *[clarabel.SecondOrderConeT(3)] * n]
