"""The dual QP of every plain kernel machine: a box and one equality, in signed coefficients.

    maximise over c    p'c - e ||c||_1 - 1/2 c'Kc     subject to   sum(c) = total,   lower <= c <= upper

In the thesis (Gönen 2010, PhD thesis, Boğaziçi University), (1.3), the dual of (1.5) and the dual of (1.7) are members
of this family:

=====================  ==============================  ============  =====================  =====  =====
machine                c                               p             box                    total  e
=====================  ==============================  ============  =====================  =====  =====
binary SVM (1.3)       alpha y                         y             [0, C] y               0      0
epsilon-SVR (1.5)      alpha+ - alpha-                 y             [-C, C]                0      eps
one-class (1.8)        alpha                           0             [0, C]                 1      0
=====================  ==============================  ============  =====================  =====  =====

Its Lagrangian dual is the machine's primal. For any b, with f = K c,

    P(b) = 1/2 c'Kc + sum_i h_i(p_i - f_i - b) + b total,    h_i(z) = max_{lower_i <= v <= upper_i} z v - e|v|

bounds the optimum D from above. So does the primal at any other point; scaling the weight vector w by t >= 0,

    P(t, b) = t^2/2 c'Kc + sum_i h_i(p_i - t f_i - b) + b total

is convex in both, and gap = min P(t, b) - D certifies the solution. Decision values are K c + b, with b from the free
samples.

======================  ==================
symbol                  name
======================  ==================
p                       linear
e, epsilon              insensitivity
c                       c, Result.solution
b                       Result.multiplier
p - K c                 gradient
======================  ==================
"""

from __future__ import annotations

import math

import numpy as np

from ..result import Result
from ._block import subtract_rows
from ._certificate import least_gap
from ._rounds import certify, solve_rounds

RESOLUTION = np.finfo(np.float64).eps
GAP_PER_TOL = 10.0  # a KKT violation of tol comes with a relative gap of at most this times tol
LEAST_SIZE = 1e-6  # of an objective without linear term, relative to that of one sample, see `least_size`
SUM_ERROR = 1e-13  # of the coefficients' sum, relative; more is repaired


def solve_box_qp(
    K: np.ndarray,
    linear: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    total: float = 0.0,
    insensitivity: float = 0.0,
    start: np.ndarray | None = None,
    tol: float = 1e-3,
    gap_tol: float | None = None,
    max_steps: int | None = None,
) -> Result:
    """Maximise ``linear'c - insensitivity*|c|_1 - c'Kc/2`` with ``sum(c) = total``, ``lower <= c <= upper``.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric matrix, float64 or float32 (other types are converted). Never written to; copied only when
        it is contiguous in neither order. It should be positive semidefinite; for an indefinite K the solve still
        ends, at a point that satisfies the first-order conditions or without having converged.
    linear, lower, upper : ndarray of shape (n,)
        Linear term p and the finite bounds.
    total : float, default=0
        Required sum of the coefficients.
    insensitivity : float, default=0
        Weight of the l1 term (the epsilon of regression).
    start : ndarray of shape (n,), optional
        Starting point, feasible or not: it is clipped to the box and its sum repaired. A start whose
        objective is below that of zero coefficients (where these are not feasible: whose gap exceeds
        ``total**2 / 2`` times the largest diagonal entry) comes from too different a kernel and is dropped, so that
        it costs one gradient and no more.
    tol : float, default=1e-3
        Largest KKT violation, as in libsvm. The gap is then at most ``10 * tol`` of ``max(1, |objective|)``, or of
        ``|objective|`` where there is no linear term (one-class; at least ``1e-6 * total**2`` times the largest
        diagonal entry, for objectives of 0).
    gap_tol : float, optional
        If given, solve instead until ``gap <= gap_tol * max(1, |objective|)``, at any violation.
    max_steps : int, optional
        Most pair updates; ``max(10_000_000, 100 n)`` by default.

    Returns
    -------
    Result
        ``steps`` counts pair updates (a Newton step on f free samples of a block of m counts as f^3 / 50 m of
        them, which is about its time), and ``multiplier`` is b.

    Notes
    -----
    Beside K, memory is a dozen vectors and the rows of the block being solved that were touched: of n/3 samples, or
    half as many again as there are free ones, so at most a ninth of K unless most samples are free. The gradient
    is double precision throughout, and is computed afresh where the rounding of its updates could matter. Where
    ``2.2e-16 * max|K| * sum(upper - lower)`` exceeds the linear term, double precision does not hold the gradient at
    the bounds, and the solve may end there without having converged.

    Examples
    --------
    Two samples, one in each class, whose margin is 1 at c = (1/2, -1/2):

    >>> import numpy as np
    >>> y = np.array([1.0, -1.0])
    >>> result = solve_box_qp(np.outer(y, y), y, np.array([0.0, -10.0]), np.array([10.0, 0.0]))
    >>> result.solution, float(result.objective), result.converged
    (array([ 0.5, -0.5]), 0.5, True)
    """
    K, linear, lower, upper = _checked(K, linear, lower, upper, total, insensitivity)
    problem = (linear, lower, upper, float(insensitivity))
    diagonal = np.ascontiguousarray(K.diagonal(), dtype=np.float64)
    if not _finite(diagonal):
        raise ValueError("the diagonal of K contains NaN or infinity")
    budget = max(10_000_000, 100 * len(linear)) if max_steps is None else int(max_steps)
    c, gradient = _begin(K, linear, lower, upper, total, insensitivity, start)
    goal = (np.inf, gap_tol, 1.0)
    if gap_tol is None:  # without a linear term the objective has no other size than its own
        goal = (tol, GAP_PER_TOL * tol, 1.0 if linear.any() else least_size(diagonal, total))
    (objective, gap, violation, b), steps, converged = _solve(K, diagonal, c, gradient, problem, total, *goal, budget)
    if not (np.isfinite(objective) and np.isfinite(gap) and _finite(gradient)):
        raise ValueError("K contains NaN or infinity, or overflows when multiplied by the bounds")
    return Result(c, objective, gap, steps, converged, violation, b)


def least_size(diagonal, total):
    """What an objective without linear term counts as at least, where a gap is relative to it.

    Its optimum is 0 where 0 is a mixture of the samples that the bounds allow (one-class: of centred samples, with a
    bound of few of them), and no gap is small against that. The objective and the gap are sums of terms c_i K_ij c_j,
    which are at most total^2 max K_ii together, so rounding leaves about 2e-16 of that number open: a tolerance of 1e-6
    of it is met down to tolerances of 1e-9.
    """
    return LEAST_SIZE * total**2 * float(np.abs(diagonal).max())


def _checked(K, linear, lower, upper, total, insensitivity):
    """The arrays in the types that the compiled code takes, or a ValueError."""
    K = np.asarray(K)
    if K.dtype not in (np.float64, np.float32):
        K = K.astype(np.float64)
    linear, lower, upper = checked_problem(K.shape, linear, lower, upper, total, insensitivity)
    if not K.flags.c_contiguous:
        K = K.T if K.flags.f_contiguous else np.ascontiguousarray(K)  # K is symmetric
    K = K.view()
    K.flags.writeable = False  # one compiled specialisation serves writable and read-only kernels
    return K, linear, lower, upper


def checked_problem(shape, linear, lower, upper, total, insensitivity):
    """The vectors of a problem on a kernel of this shape, in double precision, or a ValueError."""
    linear, lower, upper = (np.ascontiguousarray(v, dtype=np.float64) for v in (linear, lower, upper))
    n = len(linear)
    if n == 0 or shape != (n, n) or linear.shape != (n,) or lower.shape != (n,) or upper.shape != (n,):
        raise ValueError(
            f"K must be square and linear, lower, upper must match it, got shapes {shape}, {linear.shape}, "
            f"{lower.shape} and {upper.shape}"
        )
    if not (_finite(linear) and _finite(lower) and _finite(upper)):
        raise ValueError("linear, lower and upper must be finite")
    if not np.isfinite(insensitivity) or insensitivity < 0:
        raise ValueError(f"insensitivity must be finite and not negative, got {insensitivity}")
    if (lower > upper).any():
        raise ValueError("lower must not exceed upper")
    slack = 1e-12 * (np.abs(lower).sum() + np.abs(upper).sum())
    if not lower.sum() - slack <= total <= upper.sum() + slack:
        raise ValueError(f"no feasible point: sum(lower) <= {total} <= sum(upper) does not hold")
    return linear, lower, upper


def _finite(values):
    """Whether all are finite. The sum of squares shows it in a third of the time, unless it overflows."""
    return math.isfinite(np.dot(values, values)) or bool(np.isfinite(values).all())


def _begin(K, linear, lower, upper, total, insensitivity, start):
    """First point and its gradient: the given start, unless it is worse than starting from nothing."""
    if start is not None:
        c = feasible(np.array(start, dtype=np.float64).reshape(-1), lower, upper, total)
        gradient = _gradient(K, linear, c)
        objective, gap, _, _ = certify(c, gradient, linear, lower, upper, insensitivity)
        zero_is_feasible = total == 0.0 and (lower <= 0.0).all() and (upper >= 0.0).all()
        # Zero has objective 0. Where it is not feasible, a cold start's own gradient would cost as much again, so the
        # yardstick is the largest gap that one sample alone can have.
        useless = objective < 0.0 if zero_is_feasible else gap > 0.5 * total**2 * np.max(K.diagonal())
        if not useless or not np.isfinite(gap):
            return c, gradient
    c = _cold_start(K, linear, lower, upper, total)
    return c, _gradient(K, linear, c)


def _cold_start(K, linear, lower, upper, total):
    """Zero where the box allows it; any missing sum goes to the samples that a rough gradient prefers."""
    c = np.minimum(np.maximum(0.0, lower), upper)
    missing = total - c.sum()
    if missing == 0.0:
        return c
    return spread(c, missing, linear - missing * K[some_rows(len(c))].mean(axis=0), lower, upper)


def some_rows(n):
    """Positions of samples that stand for all of them in a rough gradient."""
    return np.unique(np.linspace(0, n - 1, 32).astype(int))


def spread(c, missing, gradient, lower, upper):
    """Coefficients with a missing sum given to the samples that the gradient prefers."""
    preference = np.sign(missing) * gradient
    order = np.argsort(-preference, kind="stable")
    room = (upper - c if missing > 0 else c - lower)[order]
    before = np.cumsum(room) - room
    c[order] += np.sign(missing) * np.clip(abs(missing) - before, 0.0, room)
    return np.clip(c, lower, upper)


def feasible(start, lower, upper, total):
    """The start clipped to the box; its sum is repaired by shrinking coefficients towards zero first."""
    if start.shape != lower.shape or not np.isfinite(start).all():
        raise ValueError(f"start must hold {len(lower)} finite coefficients")
    c = np.clip(start, lower, upper)
    origin = np.clip(0.0, lower, upper)
    scale = np.abs(c).sum() + abs(total)
    for target in (origin, None):
        excess = c.sum() - total
        if abs(excess) <= 4 * RESOLUTION * scale:
            break
        if target is None:
            target = lower if excess > 0 else upper
        room = np.maximum(np.sign(excess) * (c - target), 0.0)
        if room.sum() > 0.0:
            c -= np.sign(excess) * room * min(1.0, abs(excess) / room.sum())
    return np.clip(c, lower, upper)


def _gradient(K, linear, c):
    """The gradient p - K c, reading only the rows of nonzero coefficients."""
    gradient = linear.copy()
    rows = np.flatnonzero(c)
    if len(rows):
        subtract_rows(K, rows, c[rows], gradient)
    return gradient


def _refresh(K, c, gradient, problem, total):
    """Remove what rounding has done: to the sum, at the sample with most room on its side, and to the gradient."""
    linear, lower, upper, _ = problem
    excess = c.sum() - total
    room = np.minimum(np.minimum(upper - c, c - lower), np.abs(c))  # zeros stay zero: an l1 term has a kink there
    widest = np.argmax(room)
    if SUM_ERROR * np.abs(c).sum() < abs(excess) < room[widest]:
        c[widest] -= excess
    gradient[:] = _gradient(K, linear, c)


def _solve(K, diagonal, c, gradient, problem, total, tol, gap_tol, floor, budget):
    """Rounds until the violation is at most tol and gap <= gap_tol * max(floor, |J|), or rounding ends progress.

    The gap falls with the violation, which is tightened until it does. Returns the certificate, the steps and whether
    both were reached.
    """
    linear, lower, upper, insensitivity = problem
    steps = 0
    best = np.inf
    while True:
        objective, gap, b, violation = certify(c, gradient, linear, lower, upper, insensitivity)
        limit = gap_tol * max(floor, abs(objective))
        ends = steps >= budget or not violation <= 0.9 * best
        target = tol
        if violation <= tol:
            # A required gap is first sought at b itself, which makes the coefficients as exact as they can be.
            if gap > limit and (ends or tol < np.inf):
                gap = least_gap(c, gradient, linear, lower, upper, insensitivity, total, gap, limit, violation)
            if gap <= limit:
                return (objective, gap, violation, b), steps, True
            target = violation * min(0.3, max(1e-3, 0.5 * limit / gap))
        if ends:
            return (objective, gap, violation, b), steps, False
        best = violation
        done, drift, _ = solve_rounds(K, diagonal, c, gradient, lower, upper, insensitivity, target, budget - steps)
        steps += done
        if drift > 0.01 * target or abs(c.sum() - total) > SUM_ERROR * np.abs(c).sum():
            _refresh(K, c, gradient, problem, total)
