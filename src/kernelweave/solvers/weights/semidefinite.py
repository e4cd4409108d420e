"""Semidefinite programs over weights of any sign, thesis 2.2.1.1 and 2.3.1.1, through Clarabel.

Both choose eta with K_eta = sum_m eta_m K_m positive semidefinite. The margin program is the least optimum of a box QP
(see `box_qp`) over such kernels of a given trace,

    minimise   1/2 t + total b - lower'nu + upper'delta     over   eta, t, b, nu >= 0, delta >= 0, |s| <= e
    with       [ K_eta  z ; z'  t ] >= 0,    z = p - b 1 - s + nu - delta,    tr(K_eta) = c

whose block is the thesis' one with rows and columns multiplied by the labels (its (yy')K is the Hadamard product) for
the binary machine; it already implies that K_eta is positive semidefinite. The alignment program is

    maximise   <K_eta, T>     with   ||K_eta|| <= 1,   K_eta >= 0

where the thesis writes the norm with a further n x n matrix A and also requires tr(K_eta) = 1; trace and norm 1
together would force rank one, so only the norm stays.

All kernels are zero outside the sum of their ranges. The programs are written in an orthonormal basis U of it, which
makes them smaller and strictly feasible; z must lie in it. And the weights are those of orthonormal directions x of the
kernels' span: kernels that are repeated, or nearly so, would leave eta undetermined.

eta is `Result.solution` and ``weights x``; p is `linear`, e `insensitivity`, c `trace`, and <K_m, T> `to_target`.
"""

from __future__ import annotations

import clarabel
import numpy as np

from ..base import Result, solve_cone_program, triangle

# Directions in which no kernel has more than this share of its norm are outside the range of all.
RANGE = 1e-7
# Combinations of kernels with less than this share of the norm (squared) of the largest are no direction of their own.
SPAN = 1e-12
TOLERANCE = 1e-8
# What Clarabel adds to the diagonal of its linear systems; the answer does not depend on it. With its own 1e-8 the very
# first system of about one program in ten is lost to rounding, which it may take for infeasibility.
RIDGES = (1e-6, 1e-5, 1e-7)
_USABLE = ("Solved", "AlmostSolved")


def solve_margin_program(
    matrices: np.ndarray,
    linear: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    total: float,
    insensitivity: float,
    trace: float,
) -> Result:
    """Weights of the positive semidefinite combination, of a given trace, with the least optimum of the box QP.

    Parameters
    ----------
    matrices : ndarray of shape (n_kernels, n, n)
    linear, lower, upper, total, insensitivity
        The box QP, as in `solve_box_qp`.
    trace : float
        tr(K_eta), positive.

    Returns
    -------
    Result
        `solution` the weights, `objective` the optimum J of the box QP there, `gap` Clarabel's.

    Notes
    -----
    Memory grows with the fourth power of the rank r of the kernels' joint range, about 15 r^4 bytes.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, -1.0, 1.0, -1.0])
    >>> stack = np.stack([np.eye(4), np.outer(y, y)])
    >>> result = solve_margin_program(stack, y, np.minimum(y, 0), np.maximum(y, 0), 0.0, 0.0, trace=4.0)
    >>> np.round(result.solution, 5) + 0.0, round(result.objective, 5)
    (array([0., 1.]), 0.5)
    """
    n = len(linear)
    weights, directions, inside, outside = _reduce(matrices)
    rank = inside.shape[1]
    place, residual = _variables(len(directions), n, tube=insensitivity > 0)
    cost = np.zeros(residual.shape[1])
    size = float(max(np.abs(lower).max(), np.abs(upper).max()))  # J and t in units of C, z in units of sqrt(C)
    cost[place["t"]], cost[place["b"]] = 0.5, total / size
    cost[place["nu"]], cost[place["delta"]] = -lower / size, upper / size
    equal = np.vstack([np.zeros(len(cost)), outside.T @ residual])  # the trace, and z inside the range
    equal[0, place["x"]] = np.trace(directions, axis1=1, axis2=2)
    every = np.eye(len(cost))
    signs = -every[place["nu"].start : place["delta"].stop]
    tube = np.vstack([every[place["s"]], -every[place["s"]]])
    block = np.zeros((rank * (rank + 1) // 2 + rank + 1, len(cost)))  # its last column is (U'z, t)
    block[: -rank - 1, place["x"]] = -np.stack([triangle(K) for K in directions], axis=1)
    block[-rank - 1 : -1] = -np.sqrt(2.0 / size) * (inside.T @ residual)
    block[-1, place["t"]] = -1.0
    constant = np.zeros(len(block))
    constant[-rank - 1 : -1] = np.sqrt(2.0 / size) * (inside.T @ linear)
    right = [[trace], -outside.T @ linear, np.zeros(2 * n), np.full(len(tube), insensitivity), constant]
    cones = [
        clarabel.ZeroConeT(len(equal)),
        clarabel.NonnegativeConeT(2 * n + len(tube)),
        clarabel.PSDTriangleConeT(rank + 1),
    ]
    return _solve(cost, [equal, signs, tube, block], right, cones, weights, size, matrices)


def solve_alignment_program(matrices: np.ndarray, to_target: np.ndarray, between: np.ndarray) -> Result:
    """Weights of the positive semidefinite combination of Frobenius norm 1 with the largest <K_eta, T>.

    Parameters
    ----------
    matrices : ndarray of shape (n_kernels, n, n)
    to_target : ndarray of shape (n_kernels,)
        <K_m, T>.
    between : ndarray of shape (n_kernels, n_kernels)
        <K_m, K_h>.

    Returns
    -------
    Result
        `solution` the weights, `objective` <K_eta, T>; memory as in `solve_margin_program`.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, -1.0])
    >>> stack = np.stack([np.eye(2), np.ones((2, 2))])  # yy' = 2 I - 11'
    >>> result = solve_alignment_program(stack, np.array([2.0, 0.0]), np.array([[2.0, 2.0], [2.0, 4.0]]))
    >>> np.round(result.solution, 3)
    array([ 1. , -0.5])
    """
    weights, directions, inside, _ = _reduce(matrices)
    rank = inside.shape[1]
    values, vectors = np.linalg.eigh(weights.T @ between @ weights)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T  # ||K_eta|| = ||root x||
    goal = weights.T @ to_target
    size = float(max(np.abs(goal).max(), np.finfo(float).tiny))
    norm = np.vstack([np.zeros((1, len(goal))), -root])
    block = -np.stack([triangle(K) for K in directions], axis=1)
    cones = [clarabel.SecondOrderConeT(len(norm)), clarabel.PSDTriangleConeT(rank)]
    right = [np.r_[1.0, np.zeros(len(root))], np.zeros(len(block))]
    return _solve(-goal / size, [norm, block], right, cones, weights, -size, matrices)


def joint_rank(matrices: np.ndarray) -> int:
    """Dimension of the sum of the ranges of several matrices: the size of both programs."""
    return _reduce(matrices)[2].shape[1]


def _reduce(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """An orthonormal basis of the kernels' span, as weights and as matrices, and a basis of their joint range.

    That is `weights` with eta = weights x, of shape (n_kernels, n_directions); the kernels of x in the basis `inside`,
    of the norm of an identity; `inside` and `outside`, of shape (n, rank) and (n, n - rank): orthonormal bases of the
    joint range, and of what is orthogonal to it.
    """
    matrices = np.asarray(matrices, dtype=np.float64)
    # In units of the norm of an identity, so that a unit-diagonal kernel stays about as large as it is.
    units = np.linalg.norm(matrices, axis=(1, 2)) / np.sqrt(matrices.shape[1])
    units[units == 0.0] = 1.0
    scaled = matrices / units[:, None, None]
    values, vectors = np.linalg.eigh(np.tensordot(scaled, scaled, ([1, 2], [1, 2])) / matrices.shape[1])
    kept = values > SPAN * max(values[-1], np.finfo(float).tiny)
    weights = vectors[:, kept] / np.sqrt(values[kept])
    directions = np.tensordot(weights.T, scaled, 1)
    values, vectors = np.linalg.eigh(sum(K @ K for K in scaled))
    kept = values > RANGE**2 * values[-1]
    inside, outside = vectors[:, kept], vectors[:, ~kept]
    return weights / units[:, None], np.stack([inside.T @ K @ inside for K in directions]), inside, outside


def _variables(n_directions: int, n: int, tube: bool) -> tuple[dict[str, slice], np.ndarray]:
    """Where each variable of the margin program stands, and the matrix R with z = p + R x."""
    sizes = {"x": n_directions, "t": 1, "b": 1, "nu": n, "delta": n, "s": n if tube else 0}
    ends = np.cumsum(list(sizes.values()))
    place = {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
    eye = np.eye(n)
    residual = np.hstack([np.zeros((n, n_directions + 1)), -np.ones((n, 1)), eye, -eye, -eye[:, : sizes["s"]]])
    return place, residual


def _solve(
    cost: np.ndarray, rows: list, right: list, cones: list, weights: np.ndarray, sign: float, matrices: np.ndarray
) -> Result:
    """Minimise cost'x with right - rows x in the cones; the first variables are x, and eta = weights x."""
    A, b = np.vstack(rows), np.concatenate(right)
    statuses: list[str] = []
    for ridge in RIDGES:
        answer = solve_cone_program(None, cost, A, b, cones, TOLERANCE, static_regularization_constant=ridge)
        statuses.append(str(answer.status))
        if statuses[-1] in _USABLE:
            gap = float(abs(sign) * abs(answer.obj_val - answer.obj_val_dual))
            eta, converged = weights @ np.array(answer.x)[: weights.shape[1]], statuses[-1] == "Solved"
            return Result(eta, sign * answer.obj_val, gap, int(answer.iterations), converged, float(answer.r_prim), 0.0)
    if all("PrimalInfeasible" in status for status in statuses) and not any(map(_is_semidefinite, matrices)):
        raise ValueError("no combination of the kernels is positive semidefinite with a positive trace")
    raise RuntimeError(
        f"the semidefinite program over the kernels' weights could not be solved (Clarabel: {', '.join(statuses)}); "
        "remove kernels that others nearly repeat, or learn weights of one sign (AlignmentWeights, ConvexMKL)"
    )


def _is_semidefinite(K: np.ndarray) -> bool:
    values = np.linalg.eigvalsh(K)
    return bool(values[-1] > 0.0 and values[0] >= -RANGE * values[-1])
