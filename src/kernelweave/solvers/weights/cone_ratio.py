"""Minimise a ratio of quadratic forms over non-negative vectors: the kernel-weight step (22) of MKL-DR.

    min  b'Nb / b'Db   over  b >= 0, b != 0       (the result sums to 1)

N is positive definite, D positive semidefinite, both M x M for M kernels. The problem is not convex. Three ways:

`exact`
    A minimum with support T is the smallest generalised eigenvector of the T block, and the smallest eigenvalue of a
    block bounds the ratio of every vector supported in it from below. So supports are searched from the full set
    downwards and cut off where the bound is no better than the best vector found. Few are visited as a rule, 2^M at
    worst: meant for M up to 12.
`relaxed`
    The doubly non-negative program ``min <N, B>, <D, B> = 1, B >= 0 elementwise and positive semidefinite`` bounds the
    ratio from below; its leading eigenvector starts a local search. The distance to the bound is the `gap`.
`printed`
    The relaxation (25)-(28) as it stands in the paper. Its objective does not contain b and b = 0 is feasible for every
    B, so its optimum is B = vv' of the *unconstrained* smallest generalised eigenvector v, and b = t v is non-negative
    for some t != 0 only where v has no two signs. v is found directly; its negative entries are set to zero.

N is S_W^A of MKL-DR, D its S_{W'}^A, b its beta and e_m, and B its B.
"""

from __future__ import annotations

from collections.abc import Callable

import clarabel
import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse as sp

from ..base import Result, solve_cone_program, triangle

# Eigenvector entries this small, relative to the largest, count as zero.
_ZERO = 1e-10
_RELATIVE_SLACK = 1e-12


def exact(N: np.ndarray, D: np.ndarray, start: np.ndarray | None = None) -> Result:
    """The global minimum, by branch and bound over supports, which `steps` counts; not worse than `start`.

    >>> exact(np.array([[1.0, 0.9], [0.9, 1.0]]), np.diag([1.0, 0.5])).solution
    array([1., 0.])
    """
    best = local(N, D, _start(N, D) if start is None else start)
    b, value = best.solution, best.objective
    # (support, how many of its first members must stay): each support is reached in one way only
    to_visit = [(list(range(len(N))), 0)]
    visited = 0
    while to_visit:
        support, fixed = to_visit.pop()
        bound, vector = _smallest(N, D, support)
        visited += 1
        if bound >= value * (1.0 - _RELATIVE_SLACK):
            continue
        if (vector >= 0).all():
            b, value = np.zeros(len(N)), bound
            b[support] = vector
            continue
        # The minimum over this support has a zero. Removing the most negative entries first finds it soonest.
        order = support[:fixed] + [support[i] for i in fixed + np.argsort(-vector[fixed:], kind="stable")]
        to_visit += [(order[:i] + order[i + 1 :], i) for i in range(fixed, len(order)) if len(order) > 1]
    return _result(N, D, b, 0.0, visited)


def relaxed(N: np.ndarray, D: np.ndarray, start: np.ndarray | None = None) -> Result:
    """A local minimum from the doubly non-negative relaxation, at most `gap` above its bound; not worse than `start`.

    >>> found = relaxed(np.array([[1.0, 0.9], [0.9, 1.0]]), np.diag([1.0, 0.5]))
    >>> found.solution.round(6), bool(found.gap < 1e-6)
    (array([1., 0.]), True)
    """
    bound, B = _doubly_non_negative(N, D)
    leading = np.abs(np.linalg.eigh(B)[1][:, -1])
    begins = [leading] if start is None else [leading, start]
    found = min((local(N, D, begin) for begin in begins), key=lambda result: result.objective)
    return _result(N, D, found.solution, max(found.objective - bound, 0.0), found.steps)


def printed(N: np.ndarray, D: np.ndarray, start: np.ndarray | None = None) -> Result:
    """What the relaxation (25)-(28) gives: the unconstrained minimum, its negative entries set to zero.

    `gap` is the distance of `objective` to the relaxation's optimum, 0 where that has no two signs.

    >>> found = printed(np.array([[1.0, 0.9], [0.9, 1.0]]), np.diag([1.0, 0.5]))
    >>> found.solution, bool(found.gap > 0.1)
    (array([1., 0.]), True)
    """
    bound, vector = _smallest(N, D, list(range(len(N))))
    found = _result(N, D, np.maximum(vector, 0.0), 0.0, 1)
    return _result(N, D, found.solution, max(found.objective - bound, 0.0), 1)


def local(N: np.ndarray, D: np.ndarray, start: np.ndarray) -> Result:
    """A local minimum that is not worse than `start`, which is non-negative with ``start' D start > 0``.

    >>> local(np.eye(2), np.diag([1.0, 0.5]), np.ones(2)).solution.round(6)
    array([1., 0.])
    """
    start = start / start.sum()
    candidates = [start]
    scale = _value(N, D, start)

    def ratio(b: np.ndarray) -> tuple[float, np.ndarray]:
        above, below = b @ N @ b, b @ D @ b
        if not below > 0:
            return np.inf, np.zeros(len(b))
        return above / below / scale, 2.0 * (N @ b - above / below * (D @ b)) / below / scale

    found = scipy.optimize.minimize(
        ratio,
        start,
        jac=True,
        bounds=[(0.0, None)] * len(N),
        method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-15},
    )
    if found.x.any():
        candidates.append(found.x)
        # On the support that the search ends in, the minimum is an eigenvector: exact to the last digits.
        support = np.flatnonzero(found.x > _ZERO * found.x.max())
        vector = _smallest(N, D, support.tolist())[1]
        if (vector >= 0).all():
            refined = np.zeros(len(N))
            refined[support] = vector
            candidates.append(refined)
    best = min(candidates, key=lambda b: _value(N, D, b))
    return _result(N, D, best, np.inf, int(found.nit))


METHODS: dict[str, Callable[..., Result]] = {"exact": exact, "dnn": relaxed, "paper": printed}


def _result(N: np.ndarray, D: np.ndarray, b: np.ndarray, gap: float, steps: int) -> Result:
    b = b / b.sum()
    value = _value(N, D, b)
    gradient = 2.0 * (N @ b - value * (D @ b)) / (b @ D @ b)
    violation = np.abs(np.where(b > 0, gradient, np.minimum(gradient, 0.0))).max()
    return Result(b, float(value), float(gap), steps, True, float(violation), 0.0)


def _value(N: np.ndarray, D: np.ndarray, b: np.ndarray) -> float:
    below = b @ D @ b
    return float(b @ N @ b / below) if below > 0 else np.inf


def _start(N: np.ndarray, D: np.ndarray) -> np.ndarray:
    """The best single kernel; its ratio is finite, for D has a positive diagonal entry."""
    with np.errstate(divide="ignore"):
        ratios = np.where(np.diagonal(D) > 0, np.diagonal(N) / np.diagonal(D), np.inf)
    return (np.arange(len(N)) == ratios.argmin()).astype(float)


def _smallest(N: np.ndarray, D: np.ndarray, support: list[int]) -> tuple[float, np.ndarray]:
    """The smallest ratio over all vectors with a support, and the vector, its sum of entries not negative."""
    rows = np.ix_(support, support)
    # As the largest b'Db / b'Nb, since D may be singular.
    k = len(support) - 1
    inverse, vectors = scipy.linalg.eigh(D[rows], N[rows], subset_by_index=[k, k], check_finite=False)
    vector = vectors[:, 0] * (1.0 if vectors[:, 0].sum() >= 0 else -1.0)
    vector[np.abs(vector) <= _ZERO * np.abs(vector).max()] = 0.0
    return (1.0 / inverse[0] if inverse[0] > 0 else np.inf), vector


def _doubly_non_negative(N: np.ndarray, D: np.ndarray) -> tuple[float, np.ndarray]:
    """The optimum of min <N, B>, <D, B> = 1, B elementwise and positive semidefinite, and B."""
    M = len(N)
    columns, rows = np.tril_indices(M)
    # In units in which the best single ratio is 1, so that tolerances mean the same for every problem.
    above, below = triangle(N / np.trace(N)), triangle(D / np.trace(D))
    size = len(above)
    A = sp.vstack([sp.csr_matrix(below), -sp.identity(size), -sp.identity(size)])
    b = np.concatenate([[1.0], np.zeros(2 * size)])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(size), clarabel.PSDTriangleConeT(M)]
    answer = solve_cone_program(None, above, A, b, cones, 1e-9)
    B = np.zeros((M, M))
    B[rows, columns] = np.array(answer.x) / np.where(rows == columns, 1.0, np.sqrt(2.0))
    B = np.where(B == 0, B.T, B)
    # The dual value is a bound also where the solver stopped early.
    return answer.obj_val_dual * np.trace(N) / np.trace(D), B
