"""The dual QP of the joint multiclass machine, thesis (1.11), with margins of any sign (section 1.5).

    maximise over alpha    sum_il m_il alpha_i^l - 1/2 sum_l c_l' K c_l      with   C[i, l] = [y_i = l] A_i - alpha_i^l
    subject to             0 <= alpha_i^l <= C_i  (l != y_i),      sum_i C[i, l] = 0  for every class l

A_i being the sum of alpha_i^l over l. Its Lagrangian dual is the machine's primal (1.9): for any biases b,

    P(b) = 1/2 sum_l c_l' K c_l + sum_il C_i max(0, m_il - (f_{y_i}(x_i) - f_l(x_i))),      f = K C + b,

bounds the optimum from above, which certifies the solution.

The solver keeps every class balanced by moving along cycles of classes (`cycles`). Each round ranks the samples by how
far they disagree with the best biases, solves the worst few as one dense block, and adds their change to the slopes of
all samples, so that a round reads one row of K for each sample that moved. Once the free alphas are few and settled, a
Newton step on them ends the slow tail. Kernels of low rank leave many more alphas free than they can determine, and
steps crawl at large bounds: after a number of steps that grows with its cost, an interior point gives a better place to
go on from.

With K = L L', L of few columns, the dual is a program in the alphas and the weights v_l = L'c_l of each class,

    minimise    1/2 sum_l ||v_l||^2 - sum_il m_il alpha_i^l
    subject to  v_l = L'c_l,    sum_i C[i, l] = 0,    0 <= alpha_i^l <= C_i,

whose Newton systems shrink to one row for each class and column of L, however many alphas are free. Clarabel solves it
in a few tens of them from any C. A factor that leaves a millionth of K brings the alphas near enough as a rule; finer
ones, of higher rank, are tried where it does not. Its alphas lie strictly inside their box; those whose distance from a
bound is smaller than that bound's multiplier are set to it, and a few steps along cycles from there end the solve.
Alphas are in units of the largest bound, or the solver would treat large costs as if there were no bounds.

m_il is margins[i, l], alpha_i^l alpha[l, i], dJ / d alpha_i^l slope[l, i], C `Result.solution` (n, k), and b
`Result.multiplier` (k,).
"""

from __future__ import annotations

from collections.abc import Callable

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dtrmv

from .base import Result, solve_cone_program
from .box_qp import GAP_PER_TOL, as_float
from .cycles import best_cycle, class_edges, gap_of, mean_biases, polish_biases, potentials, sample_ranks, solve_cycles

LEAST, MOST = 96, 512  # samples in a block
INNER = 0.3  # a block is solved to this fraction of the violation that chose it
STALL = 3  # rounds without progress before floating point is blamed
CHUNK = 64  # rows of K read at a time
MOST_FREE = 1024  # free alphas in a Newton step
BLOCK_STEPS = 10  # steps for each sample of a block before all samples are ranked again
NEWTON_ROUNDS = 4  # bounds met in one Newton step before the rest is left to the pairs ...
FEW_FREE = 64  # ... in proportion more of them where fewer than this are free
NEWTON_WAIT = 4  # steps along cycles for each free alpha between two Newton steps, which cost about as much
SETTLED = 0.2  # share of free alphas that may have changed since the last round for a Newton step to be tried ...
FEW = 4  # ... and so many more
RIDGE = 1e-11  # times the largest diagonal entry
PATIENCE = 2500  # least steps before an interior point is thought of, and again before each
RANKS = 1e-6, 1e-9, 1e-12  # what factors, ever finer, may leave of the diagonal of K, times its largest entry
MOST_ROWS = 3000  # classes times columns of L
MOST_ENTRIES = 4_000_000  # of the program's matrix: some hundred megabytes
ACCURACY = 1e-9
WORK_PER_STEP = 5000  # multiplications in one Newton system for each step along cycles that is tried before


def solve_joint_qp(
    K: np.ndarray,
    labels: np.ndarray,
    margins: np.ndarray,
    bound: np.ndarray,
    start: np.ndarray | None = None,
    tol: float = 1e-3,
    gap_tol: float | None = None,
    max_steps: int | None = None,
) -> Result:
    """Maximise ``sum(margins*alpha) - sum_l c_l'K c_l/2`` over alpha in its box, every column of C having sum 0.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric positive semidefinite, float64 or float32; read only, never copied as a whole.
    labels : ndarray of int, shape (n,)
        Classes 0 .. k - 1.
    margins : ndarray of shape (n, k)
        Wanted lead of the own class over each other one, of any sign; entries of the own class are ignored.
    bound : ndarray of shape (n,)
        Largest alpha of each sample.
    start : ndarray of shape (n, k), optional
        Signed coefficients C to start from, feasible or not: they are clipped, and classes balanced by
        lowering some. A start whose objective is worse than that of zero coefficients is dropped.
    tol : float, default=1e-3
        Largest KKT violation: the mean slope of the best cycle of classes (for two classes, the violation of libsvm).
        The gap is then at most ``10 * tol * max(1, |objective|)``.
    gap_tol : float, optional
        If given, solve instead until ``gap <= gap_tol * max(1, |objective|)``.
    max_steps : int, optional
        Most steps along cycles; ``max(2_000_000, 100 n k)`` by default.

    Returns
    -------
    Result
        ``solution`` is C of shape (n, k), ``steps`` counts steps along cycles, ``multiplier`` holds the k biases,
        whose mean is 0.

    Notes
    -----
    Beside K, memory is a dozen arrays of shape (n, k), one block (at most 512 samples) and one Newton matrix (at
    most 1024 free alphas). Solves of more than 5000 steps use an interior point, with some hundred megabytes, where the
    rank of K is low enough.

    Examples
    --------
    >>> import numpy as np
    >>> result = solve_joint_qp(np.eye(3), np.arange(3), np.full((3, 3), 2.0), np.full(3, 10.0), gap_tol=1e-9)
    >>> np.round(result.solution, 6) + 0.0
    array([[ 1.333333, -0.666667, -0.666667],
           [-0.666667,  1.333333, -0.666667],
           [-0.666667, -0.666667,  1.333333]])
    """
    problem = _Problem(K, labels, margins, bound)
    budget = max(2_000_000, 100 * margins.size) if max_steps is None else int(max_steps)
    problem.begin(start)
    steps, idle, best = 0, 0, np.inf
    while True:
        objective, gap, bias, violation = problem.certify()
        idle = 0 if gap < 0.9 * best else idle + 1
        best = min(best, gap)
        allowed = (GAP_PER_TOL * tol if gap_tol is None else gap_tol) * max(1.0, abs(objective))
        converged = gap <= allowed and (gap_tol is not None or violation <= tol)
        wanted = violation * min(0.3, max(1e-3, 0.5 * allowed / gap)) if gap > 0.0 else 0.0
        if gap_tol is None and violation > tol:
            wanted = tol
        if converged or idle > STALL or steps >= budget:
            break
        done = problem.rounds(wanted, min(budget, problem.leaps.due) - steps)
        steps += done
        if done == 0:
            idle = STALL
        problem.refresh()
        if steps >= problem.leaps.due:
            problem.leap(problem.leaps.next_point(steps))
            idle, best = 0, np.inf
    if not (np.isfinite(objective) and np.isfinite(gap)):
        raise ValueError("K contains NaN or infinity, or its entries times the bounds overflow: check and rescale K")
    return Result(problem.coefficients(), objective, gap, steps, bool(converged), violation, bias)


def checked_joint(shape, diagonal, labels, margins, bound):
    """Labels, margins and bound as arrays; a `ValueError` where they do not fit a kernel, or are not finite."""
    labels = np.ascontiguousarray(labels, dtype=np.int64)
    bound = np.ascontiguousarray(bound, dtype=np.float64)
    margins = np.asarray(margins, dtype=np.float64)
    n = len(labels)
    if shape != (n, n) or margins.ndim != 2 or len(margins) != n or bound.shape != (n,):
        raise ValueError(
            f"K must be square and labels, margins, bound must match it, got shapes {shape}, "
            f"{labels.shape}, {margins.shape} and {bound.shape}"
        )
    if n == 0 or labels.min() < 0 or labels.max() >= margins.shape[1]:
        raise ValueError("labels must lie in 0 .. k - 1, k being the number of columns of margins")
    if not (np.isfinite(margins).all() and np.isfinite(bound).all() and (bound >= 0).all()):
        raise ValueError("margins and bound must be finite, bound not negative")
    if not np.isfinite(diagonal).all():
        raise ValueError("the diagonal of K contains NaN or infinity")
    return labels, margins, bound


def solve_within(
    K: np.ndarray,
    labels: np.ndarray,
    bound: np.ndarray,
    coef: np.ndarray,
    slope: np.ndarray,
    tol: float,
    max_steps: int,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Steps among some samples, the others fixed, from C and slopes (n, k) to a violation; classes keep their sums."""
    problem = _Problem(K, labels, np.zeros_like(slope), bound)
    problem.alpha = -coef.T.copy()
    problem.alpha[labels, np.arange(len(labels))] = 0.0
    problem.slope = np.zeros_like(problem.alpha)
    problem._add(np.arange(len(labels)), problem.alpha)
    within, problem.slope = problem.slope, np.ascontiguousarray(slope.T)
    problem.slope[labels, np.arange(len(labels))] = 0.0
    problem.margins = problem.slope - within  # with what comes of the other samples
    steps = problem.rounds(tol, max_steps)
    return problem.coefficients(), problem.slope.T, steps


class _Problem:
    def __init__(self, K, labels, margins, bound):
        self.K = as_float(K)
        self.labels, margins, self.bound = checked_joint(self.K.shape, self.K.diagonal(), labels, margins, bound)
        n = len(self.labels)
        self.margins = np.ascontiguousarray(margins.T)
        self.margins[self.labels, np.arange(n)] = 0.0
        self.scale = float(np.abs(self.K.diagonal()).max())
        self.leaps = Leaps(self.K.__getitem__, self.K.diagonal(), self.labels, self.margins, self.bound)
        self.jitter = np.random.RandomState(0).random_sample(n)  # fixed: results are a function of the arrays alone

    def begin(self, start):
        self.alpha = np.zeros_like(self.margins)
        self.slope = self.margins.copy()
        if start is None:
            return
        start = np.asarray(start, dtype=np.float64)
        if start.shape != self.margins.T.shape or not np.isfinite(start).all():
            raise ValueError(f"start must hold {self.margins.T.shape} finite coefficients")
        self.alpha = np.clip(-start.T, 0.0, self.bound)
        self.alpha[self.labels, np.arange(len(self.labels))] = 0.0
        self.refresh()
        if self._objective() < 0.0:
            self.begin(None)

    def coefficients(self):
        return signed(self.alpha, self.labels)

    def refresh(self):
        """Slopes anew, and balanced classes, without what rounding has done to them."""
        if np.abs(self.coefficients().sum(axis=0)).max() > 1e-13 * self.alpha.sum():
            balance(self.alpha, self.labels)
        self.slope = self.margins.copy()
        self._add(np.flatnonzero(self.alpha.any(axis=0)), self.alpha)

    def certify(self):
        """Objective, gap at good biases, those biases, KKT violation."""
        arrays = (self.alpha, self.slope, self.labels, self.bound)
        edge, _ = class_edges(*arrays)
        mean, _ = best_cycle(edge)
        bias = potentials(edge, mean)
        fitted = mean_biases(*arrays, bias)
        if gap_of(*arrays, fitted) < gap_of(*arrays, bias):
            bias = fitted
        gap, bias = polished_gap(*arrays, bias, gap_of(*arrays, bias))
        return self._objective(), gap, bias - bias.mean(), max(0.0, mean)

    def rounds(self, tol, budget):
        """Rounds until the KKT violation is at most tol; returns the number of steps."""
        steps, idle, best = 0, 0, np.inf
        # From a start the free alphas are mostly right: a Newton step may come after the first round.
        pattern, waited = (self._free(), np.inf) if self.alpha.any() else (None, 0)
        while steps < budget and idle < STALL:
            edge, sample = class_edges(self.alpha, self.slope, self.labels, self.bound)
            mean, cycle = best_cycle(edge)
            if not mean > tol:
                break
            rank = sample_ranks(self.alpha, self.slope, self.labels, self.bound, potentials(edge, mean))
            block = self._choose(rank, sample[np.roll(cycle, -1), cycle])
            before = self._objective()
            done = self._solve_block(block, max(0.9 * tol, INNER * mean), budget - steps)
            steps, waited = steps + done, waited + done
            old, pattern = pattern, self._free()
            if old is not None and _settled(old, pattern) and waited > NEWTON_WAIT * np.count_nonzero(pattern):
                steps, waited = steps + self._newton(), 0
            gained = self._objective() - before > 1e-15 * abs(before)
            idle = 0 if gained or mean < 0.9 * best else idle + 1
            best = min(best, mean)
        return steps

    def leap(self, alpha):
        """Go on from an interior point, once its free entries make up for the others' way to the bounds, if better."""
        if alpha is None:
            return
        old, before = (self.alpha, self.slope), self._objective()
        self.alpha = alpha
        self.refresh()
        if np.count_nonzero(self._free()) <= MOST_FREE:
            self._newton()
        if not self._objective() > before:
            self.alpha, self.slope = old

    def _free(self):
        return (self.alpha > 0.0) & (self.alpha < self.bound)

    def _choose(self, rank, critical):
        """Samples ranked worst, among them those of the most violating cycle, in the order of their classes."""
        n = len(rank)
        size = min(n, MOST, max(n // 3, LEAST), max(LEAST, 4 * int(np.count_nonzero(rank > 0.0)) // 3))
        if size == n:
            chosen = np.arange(n)
        else:  # equal ranks are broken at random, or sorted samples would give a lopsided block
            rank = rank + 1e-6 * np.abs(rank[np.isfinite(rank)]).max(initial=0.0) * self.jitter
            chosen = np.union1d(np.argpartition(rank, n - size)[n - size :], critical)
        return chosen[np.argsort(self.labels[chosen], kind="stable")]

    def _solve_block(self, block, tol, budget):
        starts = np.searchsorted(self.labels[block], np.arange(len(self.margins) + 1))
        K = np.ascontiguousarray(self.K[np.ix_(block, block)], dtype=np.float64)
        old = self.alpha[:, block]
        alpha, slope = old.copy(), self.slope[:, block]
        budget = min(budget, BLOCK_STEPS * len(block))
        steps = solve_cycles(K, alpha, slope, self.bound[block], starts, tol, budget)
        self._add(block, alpha - old)
        self.alpha[:, block] = alpha
        return steps

    def _add(self, rows, change):
        C = signed(change if change.shape[1] == len(rows) else change[:, rows], self.labels[rows])
        moved = np.flatnonzero(C.any(axis=1))
        F = np.zeros((len(self.labels), len(self.margins)))
        for first in range(0, len(moved), CHUNK):
            part = moved[first : first + CHUNK]
            F += self.K[rows[part]].T @ C[part]
        self.slope += F.T
        self.slope -= F[np.arange(len(F)), self.labels]

    def _objective(self):
        return 0.5 * float(np.sum(self.alpha * (self.margins + self.slope)))

    def _newton(self):
        """Newton steps on the free alphas, each as far as the first bound; returns their number."""
        cls, who = np.nonzero(self._free())
        steps = 0
        most = max(NEWTON_ROUNDS, NEWTON_ROUNDS * FEW_FREE // max(1, len(who)))
        while len(who) and steps < most:
            own = self.labels[who]
            E = np.eye(len(self.margins))[own] - np.eye(len(self.margins))[cls]
            Q = E @ E.T
            Q *= self.K[np.ix_(who, who)]
            Q[np.diag_indices_from(Q)] += RIDGE * self.scale
            slope = self.slope[cls, who]
            try:
                factor = cho_factor(Q.T, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                break
            solved = cho_solve(factor, np.column_stack([slope, E]), check_finite=False)
            bias = np.linalg.lstsq(E.T @ solved[:, 1:], E.T @ solved[:, 0], rcond=1e-13)[0]
            step = solved[:, 0] - solved[:, 1:] @ bias
            size = np.abs(step).max()
            for _ in range(2):  # thesis (1.10): no class may gain
                step -= E @ np.linalg.lstsq(E.T @ E, E.T @ step, rcond=1e-9)[0]
            if np.abs(step).max() <= 1e-9 * size:
                break  # nothing but rounding is left
            gain, bend = slope @ step, np.sum(dtrmv(factor[0], step, lower=1, trans=1) ** 2)
            if not gain > 0.0:
                break
            alpha, bound = self.alpha[cls, who], self.bound[who]
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(step > 0.0, (bound - alpha) / step, np.where(step < 0.0, -alpha / step, np.inf))
            best = min(1.0, gain / bend) if bend > 0.0 else 1.0
            length = min(best, room.min())
            new = np.clip(alpha + length * step, 0.0, bound)
            met = room <= length
            new[met] = np.where(step[met] > 0.0, bound[met], 0.0)
            change = np.zeros_like(self.alpha)
            change[cls, who] = new - alpha
            self.alpha[cls, who] = new
            self._add(np.unique(who), change)
            steps += 1
            if length >= best:
                break
            cls, who = cls[~met], who[~met]
        return steps


def polished_gap(alpha, slope, labels, bound, bias, gap):
    """A gap that is not larger, and its biases, after a few sweeps of `polish_biases`."""
    arrays = (alpha, slope, labels, bound)
    for _ in range(3):
        polished = bias.copy()
        polish_biases(*arrays, polished)
        less = gap_of(*arrays, polished)
        if not less < 0.99 * gap:
            break
        bias, gap = polished, less
    return gap, bias


def _settled(old, new):
    free = np.count_nonzero(new)
    return 0 < free <= MOST_FREE and np.count_nonzero(old != new) <= SETTLED * free + FEW


def signed(alpha, labels):
    """C[i, l] = [y_i = l] A_i - alpha_i^l of shape (n, k), thesis (1.10), from alpha of shape (k, n)."""
    C = -alpha.T
    C[np.arange(len(labels)), labels] = alpha.sum(axis=0)
    return C


def balance(alpha, labels):
    """Lower some alphas, in place, until every class gains as much as it gives.

    Any flow is a circulation plus paths from classes that give too much to classes that gain too much; the paths are
    taken off one by one.
    """
    k = len(alpha)
    flow = np.stack([np.bincount(labels, row, minlength=k) for row in alpha])  # flow[l, y]
    wanted = flow.copy()
    surplus = wanted.sum(axis=1) - wanted.sum(axis=0)  # given minus gained
    small = 1e-15 * max(1e-300, flow.sum())
    for source in np.flatnonzero(surplus > small):
        while surplus[source] > small:
            path = _path(wanted, source, surplus < -small)
            if path is None:
                break
            ends = (path[:-1], path[1:])
            amount = min(surplus[source], -surplus[path[-1]], wanted[ends].min())
            wanted[ends] -= amount
            wanted[wanted < small] = 0.0
            surplus = wanted.sum(axis=1) - wanted.sum(axis=0)
    factor = np.divide(wanted, flow, out=np.zeros_like(flow), where=flow > 0.0)
    alpha *= factor[:, labels]


def _path(flow, source, sinks):
    """Classes on a shortest path with flow from `source` to one of the sinks, or None."""
    before = {int(source): -1}
    queue = [int(source)]
    for node in queue:
        if sinks[node]:
            path = [node]
            while before[path[-1]] >= 0:
                path.append(before[path[-1]])
            return np.array(path[::-1])
        for following in np.flatnonzero(flow[node] > 0.0):
            if int(following) not in before:
                before[int(following)] = node
                queue.append(int(following))
    return None


class Leaps:
    """Interior points of a kernel of low rank, given by its rows: the next is due after as many steps as it is worth.

    `due` is when, `shares` after which share of K, and `factor` by which factor the next one comes.
    """

    def __init__(
        self,
        row: Callable[[int], np.ndarray],
        diagonal: np.ndarray,
        labels: np.ndarray,
        margins: np.ndarray,
        bound: np.ndarray,
    ):
        self.row, self.diagonal, self.problem = row, diagonal, (labels, margins, bound)
        self.due: float = PATIENCE
        self.shares = list(RANKS)
        self.factor: np.ndarray | None = None

    def next_point(self, steps: int) -> np.ndarray | None:
        """Alpha of shape (k, n) by the factor that there is, if one is, and the next factor."""
        alpha, rank, n_classes = None, 0, len(self.problem[1])
        if self.factor is not None:
            rank = self.factor.shape[1]
            alpha = solve_interior(self.factor, *self.problem)
        self.due = np.inf
        while self.shares and self.due == np.inf:
            self.factor = low_rank_factor(self.row, self.diagonal, n_classes, self.shares.pop(0))
            if self.factor is None:
                break
            if self.factor.shape[1] > rank:
                self.due = steps + max(PATIENCE, steps_worth(self.factor, n_classes))
        return alpha


def low_rank_factor(
    row: Callable[[int], np.ndarray], diagonal: np.ndarray, n_classes: int, share: float
) -> np.ndarray | None:
    """L of shape (n, r), K - L L' being positive semidefinite and at most `share` of the largest entry of K.

    By pivoted Cholesky, which reads r rows of K; None where r is too large for `solve_interior`.
    """
    n = len(diagonal)
    most = min(MOST_ROWS // n_classes - 1, MOST_ENTRIES // (2 * n * n_classes))
    rest = diagonal.astype(np.float64)
    enough = max(share, 8.0 * np.finfo(diagonal.dtype).eps) * rest.max()
    rows = np.empty((0, n))
    pivot = int(rest.argmax())
    while not rest[pivot] <= enough:
        if len(rows) >= most or not np.isfinite(rest[pivot]):
            return None
        found = (row(pivot) - rows[:, pivot] @ rows) / np.sqrt(rest[pivot])
        rest = np.maximum(rest - found**2, 0.0)
        rest[pivot] = 0.0
        rows = np.vstack([rows, found])
        pivot = int(rest.argmax())
    return rows.T


def steps_worth(L: np.ndarray, n_classes: int) -> int:
    """Steps along cycles to try before, in proportion to the work of one Newton system."""
    width = L.shape[1] + 1
    return int(((width * n_classes) ** 3 / 3 + 2.0 * len(L) * n_classes * width**2) / WORK_PER_STEP)


def solve_interior(L: np.ndarray, labels: np.ndarray, margins: np.ndarray, bound: np.ndarray) -> np.ndarray | None:
    """Alpha of shape (k, n) near the optimum, classes balanced but for rounding; None where Clarabel gives up."""
    k, rank = len(margins), L.shape[1]
    cls, who = np.nonzero((np.arange(k)[:, None] != labels) & (bound > 0.0))
    if not len(cls):
        return None
    unit = bound.max()
    count, n_weights, n_sums = len(cls), k * rank, k * (rank + 1)
    image = _image(np.column_stack([np.sqrt(unit) * L, np.ones(len(L))]), labels[who], cls, who, k)
    weights = sp.eye(n_sums, n_weights)
    box = sp.eye(count, count + n_weights)
    A = sp.vstack([sp.hstack([image, -weights]), -box, box])
    upper = bound[who] / unit
    P = sp.diags(np.repeat([0.0, 1.0], [count, n_weights]))
    linear = np.concatenate([-margins[cls, who], np.zeros(n_weights)])
    limits = np.concatenate([np.zeros(n_sums + count), upper])
    cones = [clarabel.ZeroConeT(n_sums), clarabel.NonnegativeConeT(2 * count)]
    feasible = {"tol_infeas_abs": 1e-30, "tol_infeas_rel": 1e-30}  # zero is, and the box is bounded
    answer = solve_cone_program(P, linear, A, limits, cones, ACCURACY, **feasible)
    if str(answer.status) not in ("Solved", "AlmostSolved"):
        return None
    value = np.clip(np.array(answer.x)[:count], 0.0, upper)
    below, above = np.split(np.array(answer.z)[n_sums:], 2)
    value = np.where(value < below, 0.0, np.where(upper - value < above, upper, value))
    alpha = np.zeros_like(margins)
    alpha[cls, who] = np.where(value == upper, bound[who], unit * value)
    return alpha


def _image(features, own, cls, who, k):
    """The matrix that makes sums over samples, features' C of shape (columns, k) in one vector, of the alphas."""
    columns = features.shape[1]
    place = k * np.arange(columns)[:, None]
    rows = np.concatenate([(place + own).ravel(), (place + cls).ravel()])
    values = features[who].T.ravel()
    alphas = np.tile(np.arange(len(who)), 2 * columns)
    return sp.csc_matrix((np.concatenate([values, -values]), (rows, alphas)), shape=(k * columns, len(who)))
