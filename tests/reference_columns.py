"""Independent answers for sums of columns with an l1 penalty: all columns at once, by HiGHS (primal) and Clarabel."""

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.linear_model import Lasso


def design(K):
    """All columns of kernels (n_kernels, n_samples, n_samples) side by side."""
    return np.hstack(list(K))


def program(K, p, bound, epsilon=0.0, *, hinge):
    """min c'x  with  A x >= b, x >= lower:  a+, a-, one slack for each sample (two without the hinge), and the bias."""
    Phi, n = design(K), len(p)
    t, none, one, eye = Phi.shape[1], np.zeros((n, n)), np.ones((n, 1)), np.eye(n)
    if hinge:
        A = np.hstack([p[:, None] * Phi, -p[:, None] * Phi, eye, p[:, None]])
        cost, least = np.concatenate([np.ones(2 * t), bound, [0.0]]), np.ones(n)
    else:
        above, below = np.hstack([Phi, -Phi, eye, none, one]), np.hstack([-Phi, Phi, none, eye, -one])
        A, cost = np.vstack([above, below]), np.concatenate([np.ones(2 * t), bound, bound, [0.0]])
        least = np.concatenate([p, -p]) - epsilon
    return cost, A, least


def by_highs(cost, A, least):
    bounds = [(0.0, None)] * (len(cost) - 1) + [(None, None)]
    found = linprog(cost, A_ub=-A, b_ub=-least, bounds=bounds, method="highs")
    assert found.status == 0, found.message
    return found.fun


def by_clarabel(cost, A, least):
    m, n_variables = A.shape
    rows = sparse.csc_matrix(np.vstack([-A, -np.eye(n_variables)[:-1]]))
    right = np.concatenate([-least, np.zeros(n_variables - 1)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    P, cones = sparse.csc_matrix((n_variables, n_variables)), [clarabel.NonnegativeConeT(m + n_variables - 1)]
    answer = clarabel.DefaultSolver(P, cost, rows, right, cones, settings).solve()
    assert str(answer.status) in ("Solved", "AlmostSolved"), answer.status
    return answer.obj_val


def by_lasso(K, p, weight):
    """The optimum of sum |a| + 1/2 sum_i w_i (p_i - f_i)^2 by scikit-learn, whose objective is divided by sum w."""
    Phi, total = design(K), weight.sum()
    model = Lasso(alpha=1.0 / total, max_iter=10**6, tol=1e-12).fit(Phi, p, sample_weight=weight)
    residual = p - model.predict(Phi)
    return np.abs(model.coef_).sum() + 0.5 * weight @ residual**2
