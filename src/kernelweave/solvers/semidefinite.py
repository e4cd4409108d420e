"""Semidefinite programs over weights of any sign, thesis 2.2.1.1 and 2.3.1.1, through Clarabel.

Both choose eta with K_eta = sum_m eta_m K_m positive semidefinite. The margin program is the least optimum of a box QP
(see `box`) over such kernels of a given trace,

    minimise   1/2 t + total b - lower'nu + upper'delta     over   eta, t, b, nu >= 0, delta >= 0, |s| <= e
    with       [ K_eta  z ; z'  t ] >= 0,    z = p - b 1 - s + nu - delta,    tr(K_eta) = c

whose block is the thesis' one with rows and columns multiplied by the labels (its (yy')K is the Hadamard product) for
the binary machine; it already says that K_eta is positive semidefinite. The alignment program is

    maximise   <K_eta, T>     with   ||K_eta|| <= 1,   K_eta >= 0

where the thesis writes the norm with a further n x n matrix A and also asks for tr(K_eta) = 1; trace and norm 1
together would force rank one, so only the norm stays.

All kernels live in the sum of their ranges. The programs are written in an orthonormal basis U of it, which makes them
smaller and strictly feasible; z must lie in it.

Clarabel stores a symmetric matrix as the columns of its upper triangle, entries off the diagonal times sqrt(2).

==============  ====================
symbol          name
==============  ====================
eta             Result.solution
p, e            linear, insensitivity
c               trace
<K_m, T>        to_target
==============  ====================
"""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse

from .result import Result

# Directions in which no kernel has more than this share of its norm are outside the range of all.
RANGE = 1e-7
TOLERANCE = 1e-8


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
    units, scaled, inside, outside = _reduce(matrices)
    rank = inside.shape[1]
    place, residual = _variables(len(matrices), n, tube=insensitivity > 0)
    cost = np.zeros(residual.shape[1])
    cost[place["t"]], cost[place["b"]], cost[place["nu"]], cost[place["delta"]] = 0.5, total, -lower, upper
    equal = np.vstack([np.zeros(len(cost)), outside.T @ residual])  # the trace, and z inside the range
    equal[0, place["eta"]] = np.trace(matrices, axis1=1, axis2=2) / units
    signs = np.zeros((2 * n, len(cost)))
    signs[:, place["nu"].start : place["delta"].stop] = -np.eye(2 * n)
    n_tube = place["s"].stop - place["s"].start
    tube = np.zeros((2 * n_tube, len(cost)))
    tube[:, place["s"]] = np.vstack([np.eye(n_tube), -np.eye(n_tube)])
    block = np.zeros((rank * (rank + 1) // 2 + rank + 1, len(cost)))  # its last column is (U'z, t)
    block[: -rank - 1, place["eta"]] = -np.stack([_triangle(K) for K in scaled], axis=1)
    block[-rank - 1 : -1] = -np.sqrt(2.0) * (inside.T @ residual)
    block[-1, place["t"]] = -1.0
    constant = np.zeros(len(block))
    constant[-rank - 1 : -1] = np.sqrt(2.0) * (inside.T @ linear)
    right = [[trace], -outside.T @ linear, np.zeros(2 * n), np.full(2 * n_tube, insensitivity), constant]
    cones = [
        clarabel.ZeroConeT(len(equal)),
        clarabel.NonnegativeConeT(2 * n + 2 * n_tube),
        clarabel.PSDTriangleConeT(rank + 1),
    ]
    return _solve(cost, [equal, signs, tube, block], right, cones, units, sign=1.0)


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
        `solution` the weights, `objective` <K_eta, T>.

    Notes
    -----
    Memory as in `solve_margin_program`.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, -1.0])
    >>> stack = np.stack([np.eye(2), np.ones((2, 2))])  # yy' = 2 I - 11'
    >>> result = solve_alignment_program(stack, np.array([2.0, 0.0]), np.array([[2.0, 2.0], [2.0, 4.0]]))
    >>> np.round(result.solution, 3)
    array([ 1. , -0.5])
    """
    units, scaled, inside, _ = _reduce(matrices)
    rank = inside.shape[1]
    values, vectors = np.linalg.eigh(between / np.outer(units, units))
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T  # ||K_eta|| = ||root eta||
    goal = to_target / units
    size = max(np.abs(goal).max(), np.finfo(float).tiny)
    norm = np.vstack([np.zeros((1, len(goal))), -root])
    block = -np.stack([_triangle(K) for K in scaled], axis=1)
    cones = [clarabel.SecondOrderConeT(len(norm)), clarabel.PSDTriangleConeT(rank)]
    right = [np.r_[1.0, np.zeros(len(root))], np.zeros(len(block))]
    return _solve(-goal / size, [norm, block], right, cones, units, sign=-size)


def joint_rank(matrices: np.ndarray) -> int:
    """Dimension of the sum of the ranges of several matrices: the size of both programs."""
    return _reduce(matrices)[2].shape[1]


def _reduce(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Norms by kernel (1 for a zero one), kernels over them in a basis of the joint range, that basis, and the rest."""
    matrices = np.asarray(matrices, dtype=np.float64)
    # In units of the norm of an identity, so that a unit-diagonal kernel stays about as large as it is.
    units = np.linalg.norm(matrices, axis=(1, 2)) / np.sqrt(matrices.shape[1])
    units[units == 0.0] = 1.0
    scaled = matrices / units[:, None, None]
    values, vectors = np.linalg.eigh(sum(K @ K for K in scaled))
    kept = values > RANGE**2 * values[-1]
    inside, outside = vectors[:, kept], vectors[:, ~kept]
    return units, np.stack([inside.T @ K @ inside for K in scaled]), inside, outside


def _variables(n_kernels: int, n: int, tube: bool) -> tuple[dict[str, slice], np.ndarray]:
    """Where each variable of the margin program stands, and the matrix R with z = p + R x."""
    sizes = {"eta": n_kernels, "t": 1, "b": 1, "nu": n, "delta": n, "s": n if tube else 0}
    ends = np.cumsum(list(sizes.values()))
    place = {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
    residual = np.zeros((n, ends[-1]))
    residual[:, place["b"]] = -1.0
    residual[:, place["nu"]] = np.eye(n)
    residual[:, place["delta"]] = -np.eye(n)
    residual[:, place["s"]] = -np.eye(n)[:, : sizes["s"]]
    return place, residual


def _triangle(M: np.ndarray) -> np.ndarray:
    """The upper triangle of a symmetric matrix, column by column, off the diagonal times sqrt(2)."""
    columns, rows = np.tril_indices(len(M))  # the lower triangle by rows is the upper one by columns
    return M[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))


def _solve(cost: np.ndarray, rows: list, right: list, cones: list, units: np.ndarray, sign: float) -> Result:
    """Minimise cost'x with right - rows x in the cones; the first variables are weights of kernels over `units`."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    nothing = sparse.csc_matrix((len(cost), len(cost)))
    A = sparse.csc_matrix(np.vstack(rows))
    answer = clarabel.DefaultSolver(nothing, cost, A, np.concatenate(right), cones, settings).solve()
    status = str(answer.status)
    if "Infeasible" in status:
        raise ValueError("no combination of the kernels is positive semidefinite with a positive trace")
    gap = abs(sign) * abs(answer.obj_val - answer.obj_val_dual)
    return Result(
        solution=np.array(answer.x)[: len(units)] / units,
        objective=sign * answer.obj_val,
        gap=float(gap),
        steps=int(answer.iterations),
        status="converged" if status == "Solved" else "max_steps",
        violation=float(answer.r_prim),
        multiplier=0.0,
    )
