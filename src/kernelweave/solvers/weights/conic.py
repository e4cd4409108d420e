"""Kernel weights on a simplex by one cone program over all dual variables, thesis (2.5), solved by Clarabel.

    minimise over z, t, s    1/2 z'diag(h)z - p'z + 1/2 (1 - sum(lower)) t + 1/2 s
    subject to               sum_r ||L_m' c_r||^2 <= t  for every kernel  (K_m = L_m L_m'),
                             sum_r ||L_0' c_r||^2 <= s  (K_0 = sum_m lower_m K_m),  the machine's bounds and sums

The multipliers of the first constraints are the weights above their lower limits. Takes memory for P factors of n x
rank numbers and the factorisation of a system of that size: a few hundred samples.
"""

from __future__ import annotations

from collections.abc import Callable

import clarabel
import numpy as np
import scipy.sparse as sp

from ..clarabel_settings import quiet_settings
from ..qp.program import DualProgram
from .bundle import INNER_SHARE, Bundle, Evaluation
from .sets import Simplex

RANK = 1e-10  # eigenvalues below this share of the largest are left out


def minimize_conic(
    evaluate: Callable[[np.ndarray, float | None], Evaluation],
    simplex: Simplex,
    programs: list[DualProgram],
    matrices: np.ndarray,
    tol: float,
    most: int,
) -> Bundle:
    """Solve the cone program, then evaluate J at its weights for the certificate.

    Parameters
    ----------
    evaluate : callable
        Point and allowed gap -> Evaluation.
    simplex : Simplex
        Without a pull.
    programs : list of DualProgram
    matrices : ndarray of shape (P, n, n)
        The kernels that x weighs.
    tol : float
        Wanted relative gap.
    most : int
        Most evaluations of J.
    """
    weights, z = _solve(simplex, programs, matrices)
    bundle = Bundle(simplex, tol)
    first = evaluate(simplex.clean(weights), None)
    bundle.add(first)
    bundle.cut(*_cut(programs, matrices, z))
    while not bundle.converged and bundle.evaluations < most and first.gap > INNER_SHARE * bundle.gap:
        before = bundle.gap
        first = evaluate(first.point, 0.3 * INNER_SHARE * bundle.gap)
        bundle.add(first)
        if bundle.gap > 0.9 * before:
            break
    return bundle


def _solve(simplex: Simplex, programs: list[DualProgram], matrices: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Weights and dual variables of the cone program."""
    n = matrices.shape[1]
    sizes = [len(program.linear) for program in programs]
    n_variables = sum(sizes)
    incidence = [_incidence(program, n) for program in programs]
    limited = bool(simplex.lower.any())
    factors = [_factor(K) for K in matrices]
    if limited:
        factors.append(_factor(np.tensordot(simplex.lower, matrices, axes=1)))
    width = n_variables + 1 + limited
    linear = np.concatenate([*(-program.linear for program in programs), [0.5 * (1.0 - simplex.lower.sum())]])
    linear = np.append(linear, 0.5) if limited else linear
    quadratic = np.concatenate([*(program.quadratic for program in programs), np.zeros(1 + limited)])
    rows, right, cones = _linear_part(programs, incidence, width)
    for m, factor in enumerate(factors):
        top = sp.csc_matrix(([1.0], ([0], [n_variables + (limited and m == len(matrices))])), shape=(1, width))
        images = [sp.csc_matrix(factor.T) @ block for part in incidence for block in part]
        body = sp.vstack(
            [_placed(image, start, width) for image, start in zip(images, _starts(incidence), strict=True)]
        )
        rows += [-top, -top, -2.0 * body]
        right += [np.array([1.0, -1.0]), np.zeros(body.shape[0])]
        cones.append(clarabel.SecondOrderConeT(2 + body.shape[0]))
    A = sp.csc_matrix(sp.vstack(rows))
    solver = clarabel.DefaultSolver(
        sp.diags(quadratic).tocsc(), linear, A, np.concatenate(right), cones, quiet_settings()
    )
    solution = solver.solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        raise RuntimeError(f"the cone solver ended with the status {solution.status}; choose another solver")
    z = np.split(np.array(solution.x)[:n_variables], np.cumsum(sizes)[:-1])
    return simplex.lower + _weights(np.array(solution.z), cones, len(matrices)), z


def _incidence(program: DualProgram, n: int) -> list[sp.csc_matrix]:
    """For each of the program's columns of C, the matrix that makes it of z."""
    everything = np.arange(len(program.linear))
    signs = program.incidence(everything)
    return [sp.csc_matrix((column, (program.sample, everything)), shape=(n, len(everything))) for column in signs.T]


def _starts(incidence: list[list[sp.csc_matrix]]) -> list[int]:
    """Where the variables of each block begin."""
    starts, start = [], 0
    for part in incidence:
        starts += [start] * len(part)
        start += part[0].shape[1]
    return starts


def _placed(block: sp.spmatrix, start: int, width: int) -> sp.csc_matrix:
    before = sp.csc_matrix((block.shape[0], start))
    after = sp.csc_matrix((block.shape[0], width - start - block.shape[1]))
    return sp.hstack([before, block, after], format="csc")


def _linear_part(programs: list[DualProgram], incidence: list, width: int) -> tuple[list, list, list]:
    """Column sums and bounds as rows of the cone program."""
    starts = _starts(incidence)
    blocks = [block for part in incidence for block in part]
    sums = [
        _placed(sp.csc_matrix(block.sum(axis=0)), start, width) for block, start in zip(blocks, starts, strict=True)
    ]
    totals = np.concatenate([np.full(len(part), p.total) for p, part in zip(programs, incidence, strict=True)])
    lower = np.concatenate([program.lower for program in programs])
    upper = np.concatenate([program.upper for program in programs])
    select = sp.eye(len(lower), width, format="csr")
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    rows = [*sums, -select[has_lower], select[has_upper]]
    right = [totals, -lower[has_lower], upper[has_upper]]
    cones = [clarabel.ZeroConeT(len(sums)), clarabel.NonnegativeConeT(int(has_lower.sum() + has_upper.sum()))]
    return rows, right, cones


def _factor(K: np.ndarray) -> np.ndarray:
    """L with K = L L', of full column rank."""
    values, vectors = np.linalg.eigh(np.asarray(K, dtype=np.float64))
    kept = values > RANK * max(values[-1], np.finfo(float).tiny)
    return vectors[:, kept] * np.sqrt(values[kept])


def _weights(multipliers: np.ndarray, cones: list, n_kernels: int) -> np.ndarray:
    """Twice the multiplier of each constraint on t, from the first two entries of its second-order cone."""
    sizes = np.cumsum([0, *(cone.dim for cone in cones)])
    begins = sizes[2 : 2 + n_kernels]
    return np.maximum(2.0 * (multipliers[begins] + multipliers[begins + 1]), 0.0)


def _cut(programs: list[DualProgram], matrices: np.ndarray, z: list[np.ndarray]) -> tuple[float, np.ndarray]:
    """l(C) and q(C) at the program's own solution, clipped to its bounds."""
    intercept, forms = 0.0, np.zeros(len(matrices))
    for program, part in zip(programs, z, strict=True):
        part = np.clip(part, program.lower, program.upper)
        intercept += float(program.linear @ part - 0.5 * program.quadratic @ part**2)
        C = np.column_stack([block @ part for block in _incidence(program, matrices.shape[1])])
        forms += np.array([np.sum(C * (K @ C)) for K in matrices])
    return intercept, forms
