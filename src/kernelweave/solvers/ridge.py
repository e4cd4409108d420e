"""The dual QP of machines with a smooth loss: the box QP of `box_qp` with a diagonal added to the kernel.

    maximise over c    p'c - e ||c||_1 - 1/2 c'Hc - 1/2 c'Kc     subject to   sum(c) = total,   lower <= c <= upper

with H = diag(h), every h_i > 0, and bounds that may be infinite. The squared hinge, the squared epsilon-insensitive
loss and Huber's losses are members of this family. For any b the primal of the machine

    P(c, b) = 1/2 c'Kc + sum_i loss_i(p_i - (Kc)_i - b) + b total,   loss_i(z) = max_v  z v - e |v| - h_i/2 v^2

(lower_i <= v <= upper_i) is at least the dual D at any feasible c. The maximiser is v_i(z) = clip(soft(z, e) / h_i), so
P has a continuous, piecewise linear gradient. It is minimised by Newton's method: the bias b with sum_i v_i = total is
found exactly, samples whose v_i is strictly between its bounds are free, and a step solves

    (K_FF + H_FF) c_F + b 1 = p_F - e sign(v_F) - K_FB v_B,     1'c_F = total - 1'v_B,     c_B = v_B

followed by a line search on P. At the solution c = v(p - Kc - b). The duality gap of a feasible c is

    P(c, b) - D(c) = sum_i  loss_i(z_i) - (z_i c_i - e |c_i| - h_i/2 c_i^2),      z = p - Kc - b,

a sum of terms that are not negative (Fenchel and Young), so that primal and dual do not cancel.

p is `linear`, h `quadratic`, e `insensitivity`, v `response`, and z `slope`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .base import Result
from .box_qp import GAP_PER_TOL, as_float, as_rows, one_sided_slopes
from .compiled import compiled
from .pairs import down_shift, subtract_rows, up_shift

MOST_NEWTON = 500  # steps; each ends with another set of free samples, and a handful is usual
MOST_TRIALS = 40  # of one line search
MOST_BALANCE = 200  # trials of a bias
BEYOND = 1e-9  # how far the search for a bias goes past a kink, relatively
FLATTER = 0.1  # a line search ends where the slope is at most this share of the first one
SUM_ERROR = 1e-10  # of the coefficients' sum, relative
BOX_ERROR = 1e-13  # of a coefficient beyond its bound, relative to the largest one
ROUNDING = 1e-12  # of the objective: gaps below are rounding


def solve_ridged_qp(
    K: np.ndarray,
    linear: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    quadratic: np.ndarray,
    total: float = 0.0,
    insensitivity: float = 0.0,
    start: np.ndarray | None = None,
    tol: float = 1e-3,
    gap_tol: float | None = None,
    max_steps: int | None = None,
) -> Result:
    """Maximise ``linear'c - insensitivity*|c|_1 - c'(K + diag(quadratic))c/2`` with ``sum(c) = total`` in a box.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric positive semidefinite matrix, float64 or float32; never written to or copied as a whole.
    linear, lower, upper : ndarray of shape (n,)
        Linear term p and the bounds, which may be infinite.
    quadratic : ndarray of shape (n,)
        The diagonal h, positive and finite.
    total : float, default=0
        Required sum of the coefficients.
    insensitivity : float, default=0
        Weight of the l1 term.
    start : ndarray of shape (n,), optional
        Starting point, feasible or not. One that is worse than zero coefficients is dropped.
    tol : float, default=1e-3
        Largest KKT violation. The gap is then at most ``10 * tol * max(1, |objective|)``.
    gap_tol : float, optional
        If given, solve instead until ``gap <= gap_tol * max(1, |objective|)``.
    max_steps : int, optional
        Most Newton steps.

    Returns
    -------
    Result
        ``steps`` counts Newton steps, and ``multiplier`` is b.

    Notes
    -----
    Each step factorises the kernel of the free samples in double precision, the only matrix that is made.

    Examples
    --------
    The squared hinge at C = 2 on two samples: c = (1/2, -1/2) would be the hard margin.

    >>> import numpy as np
    >>> y, infinite = np.array([1.0, -1.0]), np.array([np.inf, np.inf])
    >>> result = solve_ridged_qp(np.outer(y, y), y, np.array([0.0, -np.inf]), np.array([np.inf, 0.0]), np.full(2, 0.5))
    >>> result.solution, result.steps, result.converged
    (array([ 0.4, -0.4]), 1, True)
    """
    problem = _Problem(K, linear, lower, upper, quadratic, float(total), float(insensitivity))
    c = problem.begin(start)
    image = problem.product(c)
    b, response = problem.balance(image, 0.0)
    most = MOST_NEWTON if max_steps is None else int(max_steps)
    steps = 0
    while True:
        if problem.is_feasible(c):
            found = problem.certify(c, image, b, steps, tol, gap_tol)
            if found.converged:
                return found
        if steps >= most:
            break
        before = c
        c, image, b, response = problem.step(c, image, b, response)
        steps += 1
        if np.array_equal(before, c):
            break
    image = problem.product(response)  # the step budget, or floating point, ends here: v is always feasible
    found = problem.certify(response, image, problem.balance(image, b)[0], steps, tol, gap_tol)
    if not found.converged and (max_steps is None or steps < most):
        check_rounding(problem.K, problem.quadratic, found.objective, found.gap)
    return found


def check_rounding(K: np.ndarray, diagonal: np.ndarray, objective: float, gap: float) -> None:
    """Raise a `ValueError` where rounding of K, n 2^-52 of its largest entry, hides the diagonal 1 / C added to it."""
    largest = float(np.abs(K.diagonal()).max())
    if gap > abs(objective) and len(K) * np.finfo(float).eps * largest >= diagonal.min():
        raise ValueError(
            f"K has values up to {largest:.2g}, of which rounding is more than 1 / C ({diagonal.min():.2g}), so that "
            "the machine cannot be solved; scale the view or normalise the kernel "
            '(normalize="unit-diagonal"), or lower C'
        )


@compiled(inner=True, error_model="numpy")
def best_response(z, lower, upper, quadratic, insensitivity):
    v = (z - insensitivity) / quadratic if z > insensitivity else 0.0
    if z < -insensitivity:
        v = (z + insensitivity) / quadratic
    return min(max(v, lower), upper)


@compiled(error_model="numpy")
def flat_piece(slope, lower, upper, quadratic, insensitivity, response):
    """The ends of the interval of b in which no response moves, where none of them is free."""
    below, above = -np.inf, np.inf
    for k in range(slope.shape[0]):
        v = response[k]
        if lower[k] == upper[k]:
            continue
        place = slope[k] - quadratic[k] * v
        below = max(below, place + up_shift(v, upper[k], insensitivity))  # at the lower bound, or at zero
        above = min(above, place + down_shift(v, lower[k], insensitivity))
    return below, above


@compiled(error_model="numpy")
def balance(slope, lower, upper, quadratic, insensitivity, total, b, response):
    """The b at which the responses to slope - b add up to total; writes them to response.

    Their sum falls in b and is linear between kinks, so that Newton's method ends; bisection keeps it within bounds.
    Where no response depends on b the search goes on beyond the next kink; if the sum is right there, any b of the
    piece is, and its middle, or its only end, is returned.
    """
    low, high = -np.inf, np.inf
    for trial in range(MOST_BALANCE):
        found, rate, size = 0.0, 0.0, abs(total)
        for k in range(slope.shape[0]):
            v = best_response(slope[k] - b, lower[k], upper[k], quadratic[k], insensitivity)
            response[k] = v
            found += v
            size += abs(v)
            if lower[k] < v < upper[k] and (v != 0.0 or insensitivity == 0.0):
                rate += 1.0 / quadratic[k]
        excess = found - total
        right = abs(excess) <= 4e-16 * size
        if right and rate > 0.0:
            return b
        if excess > 0.0:
            low = b
        else:
            high = b
        if rate > 0.0:
            new = b + excess / rate
        else:
            below, above = flat_piece(slope, lower, upper, quadratic, insensitivity, response)
            if right and np.isfinite(below):
                return 0.5 * (below + above) if np.isfinite(above) else below
            if right:
                return above if np.isfinite(above) else b
            new = above + BEYOND * max(1.0, abs(above)) if excess > 0.0 else below - BEYOND * max(1.0, abs(below))
        bounded = np.isfinite(low) and np.isfinite(high)
        if bounded and (not low < new < high or (trial > 20 and trial % 2 == 1)):
            new = 0.5 * (low + high)
        if not np.isfinite(new) or new in (b, low, high):
            return b
        b = new
    return b


def responses(
    slope: np.ndarray, lower: np.ndarray, upper: np.ndarray, quadratic: np.ndarray, insensitivity: float
) -> np.ndarray:
    """The v in [lower, upper] that maximise ``slope v - insensitivity |v| - quadratic v^2 / 2``, for each sample.

    Where quadratic is 0 this is an end of the box or the point nearest to 0; the latter is returned where several are
    as good.

    Examples
    --------
    >>> import numpy as np
    >>> responses(np.array([3.0, 0.5, -9.0]), np.full(3, -2.0), np.full(3, 2.0), np.array([2.0, 2.0, 0.0]), 1.0)
    array([ 1.,  0., -2.])
    """
    nearest = np.clip(0.0, lower, upper)
    soft = np.sign(slope) * np.maximum(np.abs(slope) - insensitivity, 0.0)
    curved = quadratic > 0.0
    free = np.divide(soft, quadratic, out=np.zeros_like(soft), where=curved)
    rising = slope - insensitivity * np.where(nearest >= 0.0, 1.0, -1.0) > 0.0
    falling = slope - insensitivity * np.where(nearest > 0.0, 1.0, -1.0) < 0.0
    flat = np.where(rising, upper, np.where(falling, lower, nearest))
    return np.where(curved, np.clip(free, lower, upper), flat)


def factorise(copied: Callable[[], np.ndarray], diagonal: np.ndarray, error: str) -> tuple[np.ndarray, bool]:
    """Cholesky factor of a matrix with this diagonal, or with a little more where rounding makes that indefinite."""
    extra = 0.0
    for _ in range(6):
        H = copied()
        H[np.diag_indices_from(H)] = diagonal + extra
        try:
            return cho_factor(H.T, lower=True, overwrite_a=True, check_finite=False)  # H is symmetric
        except LinAlgError:
            extra = max(100.0 * extra, 1e-14 * np.abs(diagonal).max() * len(diagonal))
    raise ValueError(error)


class _Problem:
    def __init__(self, K, linear, lower, upper, quadratic, total, insensitivity):
        K = as_float(K)
        arrays = [np.ascontiguousarray(v, dtype=np.float64) for v in (linear, lower, upper, quadratic)]
        n = len(arrays[0])
        if n == 0 or K.shape != (n, n) or any(array.shape != (n,) for array in arrays):
            shapes = ", ".join(str(array.shape) for array in arrays)
            raise ValueError(
                f"K must be square and linear, lower, upper, quadratic must match it, got shapes {K.shape}, {shapes}"
            )
        self.linear, self.lower, self.upper, self.quadratic = arrays
        if not (np.isfinite(self.linear).all() and np.isfinite(self.quadratic).all() and (self.quadratic > 0.0).all()):
            raise ValueError("linear must be finite, and quadratic positive and finite")
        if not (self.lower <= self.upper).all():
            raise ValueError("lower must not exceed upper")
        if not np.isfinite(insensitivity) or insensitivity < 0.0:
            raise ValueError(f"insensitivity must be finite and not negative, got {insensitivity}")
        if not self.lower.sum() - 1e-12 <= total <= self.upper.sum() + 1e-12:
            raise ValueError(f"no feasible point: sum(lower) <= {total} <= sum(upper) does not hold")
        if not np.isfinite(K.diagonal()).all():
            raise ValueError("the diagonal of K contains NaN or infinity")
        self.K = as_rows(K)
        self.total, self.insensitivity = total, insensitivity

    def product(self, c: np.ndarray) -> np.ndarray:
        """K c, of which only the rows of nonzero coefficients are read."""
        image = np.zeros(len(c))
        rows = np.flatnonzero(c)
        if len(rows):
            subtract_rows(self.K, rows, -c[rows], image)
        if not np.isfinite(image).all():
            raise ValueError("K contains NaN or infinity, or overflows when multiplied by the coefficients")
        return image

    def begin(self, start: np.ndarray | None) -> np.ndarray:
        """The start within the box, or zeros where these have the smaller primal value."""
        zeros = np.zeros(len(self.linear))
        if start is None:
            return zeros
        start = np.array(start, dtype=np.float64).reshape(-1)
        if start.shape != zeros.shape or not np.isfinite(start).all():
            raise ValueError(f"start must hold {len(zeros)} finite coefficients")
        c = np.clip(start, self.lower, self.upper)
        image = self.product(c)
        value = self.primal(c, image, *self.balance(image, 0.0))
        return c if value <= self.primal(zeros, zeros, *self.balance(zeros, 0.0)) else zeros

    def primal(self, c: np.ndarray, image: np.ndarray, b: float, response: np.ndarray) -> float:
        worth = self._worth(response, self.linear - image - b)
        return 0.5 * float(c @ image) + float(worth.sum()) + b * self.total

    def _worth(self, v: np.ndarray, slope: np.ndarray) -> np.ndarray:
        return slope * v - self.insensitivity * np.abs(v) - 0.5 * self.quadratic * v**2

    def balance(self, image: np.ndarray, b: float) -> tuple[float, np.ndarray]:
        """The bias at which the responses to p - K c - b add up to the total, found from a guess, and the responses."""
        response = np.empty(len(image))
        b = balance(
            self.linear - image, self.lower, self.upper, self.quadratic, self.insensitivity, self.total, b, response
        )
        return float(b), response

    def is_feasible(self, c: np.ndarray) -> bool:
        size = np.abs(c).max(initial=0.0)
        beyond = np.maximum(c - self.upper, self.lower - c).max()
        return beyond <= BOX_ERROR * size and abs(c.sum() - self.total) <= SUM_ERROR * max(np.abs(c).sum(), self.total)

    def step(self, c, image, b, response):
        """The next point, its image, bias and responses: the Newton point, or one on the way to it where P is less."""
        target = self._newton(response)
        direction = target - c
        moved = self.product(direction)
        first = float(moved @ (c - response))
        before = self.primal(c, image, b, response)
        low, high, t = 0.0, 1.0, 1.0
        for _ in range(MOST_TRIALS):
            point = target if t == 1.0 else c + t * direction
            there = self.product(target) if t == 1.0 else image + t * moved
            found = (point, there, *self.balance(there, b))
            rise = float(moved @ (point - found[3]))
            if t == 1.0 and (rise <= 0.0 or abs(first) <= ROUNDING * max(1.0, abs(before))):
                return found
            if abs(rise) <= FLATTER * abs(first) and self.primal(*found) <= before + ROUNDING * abs(before):
                return found
            low, high = (low, t) if rise > 0.0 else (t, high)
            t = 0.5 * (low + high)
        return found

    def _newton(self, response: np.ndarray) -> np.ndarray:
        """The point that is optimal if the free samples are those of the response."""
        target = response.copy()
        inside = (response > self.lower) & (response < self.upper)  # moves with its slope
        free = np.flatnonzero(inside & (response != 0.0) if self.insensitivity > 0.0 else inside)
        if len(free) == 0:
            return target
        target[free] = 0.0
        fixed = np.flatnonzero(target)
        right = self.linear[free] - self.insensitivity * np.sign(response[free]) * (self.insensitivity > 0.0)
        if len(fixed):
            right = right - self.product(target)[free]
        factor = factorise(
            lambda: self.K[np.ix_(free, free)].astype(np.float64, copy=False),
            self.K.diagonal()[free] + self.quadratic[free],
            "K plus the diagonal is not positive definite: K has a clearly negative eigenvalue; repair the kernel",
        )
        solved, ones = cho_solve(factor, np.column_stack([right, np.ones(len(free))])).T
        b = (solved.sum() - (self.total - target.sum())) / ones.sum()
        target[free] = solved - b * ones
        return target

    def certify(
        self, c: np.ndarray, image: np.ndarray, b: float, steps: int, tol: float, gap_tol: float | None
    ) -> Result:
        slope = self.linear - image - b
        best = responses(slope, self.lower, self.upper, self.quadratic, self.insensitivity)
        gap = float(np.maximum(self._worth(best, slope) - self._worth(c, slope), 0.0).sum())
        objective = float(self._worth(c, self.linear).sum() - 0.5 * c @ image)
        bent = slope - self.quadratic * c
        up, down = one_sided_slopes(c, bent, self.lower, self.upper, self.insensitivity)
        violation = max(0.0, float(up.max() - down.min()))
        relative = gap / max(1.0, abs(objective))
        limits = (tol, GAP_PER_TOL * tol) if gap_tol is None else (np.inf, gap_tol)
        reached = violation <= limits[0] and relative <= limits[1]
        return Result(c, objective, gap, steps, bool(reached), violation, b)
