"""The joint multiclass dual by an interior point, for where steps along cycles crawl: low rank and large bounds.

With K = L L', L of few columns, the dual is a program in the alphas and the weights v_l = L'c_l of each class,

    minimise    1/2 sum_l ||v_l||^2 - sum_il m_il alpha_i^l
    subject to  v_l = L'c_l,    sum_i C[i, l] = 0,    0 <= alpha_i^l <= C_i,

whose Newton systems shrink to one row for each class and column of L, however many alphas are free. Clarabel solves it
in a few tens of them from any C. A factor that leaves a millionth of K brings the alphas near enough as a rule; finer
ones, of higher rank, are tried where it does not. Its alphas lie strictly inside their box; those whose distance from a
bound is smaller than that bound's multiplier are set to it, and a few steps along cycles from there end the solve.
Alphas are in units of the largest bound, or the solver would treat large costs as if there were no bounds.
"""

from __future__ import annotations

import clarabel
import numpy as np
import scipy.sparse as sp

from ..clarabel_settings import quiet_settings

RANKS = 1e-6, 1e-9, 1e-12  # what factors, ever finer, may leave of the diagonal of K, times its largest entry
MOST_ROWS = 3000  # classes times columns of L
MOST_ENTRIES = 4_000_000  # of the program's matrix: some hundred megabytes
ACCURACY = 1e-9
WORK_PER_STEP = 5000  # multiplications in one Newton system for each step along cycles that is tried before


def low_rank_factor(K: np.ndarray, n_classes: int, share: float) -> np.ndarray | None:
    """L of shape (n, r), K - L L' being positive semidefinite and at most `share` of the largest entry of K.

    By pivoted Cholesky, which reads r rows of K; None where r is too large for `solve_interior`.
    """
    n = len(K)
    most = min(MOST_ROWS // n_classes - 1, MOST_ENTRIES // (2 * n * n_classes))
    rest = K.diagonal().astype(np.float64)
    enough = max(share, 8.0 * np.finfo(K.dtype).eps) * rest.max()
    rows = np.empty((0, n))
    pivot = int(rest.argmax())
    while not rest[pivot] <= enough:
        if len(rows) >= most or not np.isfinite(rest[pivot]):
            return None
        row = (K[pivot] - rows[:, pivot] @ rows) / np.sqrt(rest[pivot])
        rest = np.maximum(rest - row**2, 0.0)
        rest[pivot] = 0.0
        rows = np.vstack([rows, row])
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
    A = sp.vstack([sp.hstack([image, -weights]), -box, box], format="csc")
    upper = bound[who] / unit
    P = sp.diags(np.repeat([0.0, 1.0], [count, n_weights]), format="csc")
    linear = np.concatenate([-margins[cls, who], np.zeros(n_weights)])
    limits = np.concatenate([np.zeros(n_sums + count), upper])
    cones = [clarabel.ZeroConeT(n_sums), clarabel.NonnegativeConeT(2 * count)]
    answer = clarabel.DefaultSolver(P, linear, A, limits, cones, _settings()).solve()
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


def _settings():
    settings = quiet_settings()
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = ACCURACY
    settings.tol_infeas_abs = settings.tol_infeas_rel = 1e-30  # zero is feasible and the box is bounded
    return settings
