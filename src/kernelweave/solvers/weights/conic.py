"""Kernel weights on a simplex by one cone program over all dual variables, thesis (2.5), solved by Clarabel.

    minimise over z, t, s    1/2 z'diag(h)z - p'z + 1/2 (1 - sum(lower)) t + 1/2 s
    subject to               sum_r ||L_m' c_r||^2 <= t  for every kernel  (K_m = L_m L_m'),
                             sum_r ||L_0' c_r||^2 <= s  (K_0 = sum_m lower_m K_m),  the machine's bounds and sums

The multipliers of the first constraints are the weights above their lower limits. Takes memory for P factors of n x
rank numbers and the factorisation of a system of that size: a few hundred samples.

Costs and kernels of any size make coefficients and forms of any size, so the program is written in units (`Units`) that
a solve of the machine gives: with z = size z', t = form t' and the objective divided by J all numbers are near 1. Equal
weights give the first units; where those at the program's weights are others, it is solved again in these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.sparse as sp

from ..clarabel_settings import quiet_settings
from ..qp.program import DualProgram
from .bundle import INNER_SHARE, Bundle, Evaluation
from .sets import Simplex

MOST_PROGRAMS = 3  # that are solved, each in better units
SOLVED = ("Solved", "AlmostSolved")
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
    bundle = Bundle(simplex, tol)
    first = evaluate(simplex.start(), None)
    bundle.add(first)
    status = ""
    for _ in range(MOST_PROGRAMS):
        weights, z, status = _solve(simplex, programs, matrices, Units.of(first))
        first = evaluate(simplex.clean(weights), None)
        bundle.add(first)
        bundle.cut(*_cut(programs, matrices, z))
        while not bundle.converged and bundle.evaluations < most and first.gap > INNER_SHARE * bundle.gap:
            before = bundle.gap
            first = evaluate(first.point, 0.3 * INNER_SHARE * bundle.gap)
            bundle.add(first)
            if bundle.gap > 0.9 * before:
                break
        if bundle.converged or bundle.evaluations >= most:
            break
    if status not in SOLVED and not bundle.converged:
        raise ValueError(
            f'solver="conic" could not solve this problem (Clarabel: {status}); use solver="auto", kernels of a more '
            "similar size, or another C"
        )
    return bundle


@dataclass(frozen=True)
class Units:
    """The sizes in which the program is written.

    Attributes
    ----------
    size : float
        Of coefficients.
    form : float
        Of sum_r c_r' K_m c_r.
    value : float
        Of the objective.
    """

    size: float
    form: float
    value: float

    @classmethod
    def of(cls, first: Evaluation) -> Units:
        """Those of a solution; 1 where it is 0."""
        size, form = float(np.abs(first.detail.coef).max(initial=0.0)), float(np.max(first.forms))
        return cls(size or 1.0, form if form > 0.0 else 1.0, max(abs(first.value), form) or 1.0)


def _solve(
    simplex: Simplex, programs: list[DualProgram], matrices: np.ndarray, units: Units
) -> tuple[np.ndarray, list[np.ndarray], str]:
    """Weights and dual variables of the cone program, and how the solver ended."""
    n = matrices.shape[1]
    sizes = [len(program.linear) for program in programs]
    n_variables = sum(sizes)
    incidence = [_incidence(program, n) for program in programs]
    limited = bool(simplex.lower.any())
    factors = [_factor(K) for K in matrices]
    if limited:
        factors.append(_factor(np.tensordot(simplex.lower, matrices, axes=1)))
    width = n_variables + 1 + limited
    slope, bend, form = units.size / units.value, units.size**2 / units.value, units.form / units.value
    above = [0.5 * form * (1.0 - simplex.lower.sum())]
    linear = np.concatenate([*(-slope * program.linear for program in programs), above, [0.5 * form] * limited])
    quadratic = np.concatenate([*(bend * program.quadratic for program in programs), np.zeros(1 + limited)])
    rows, right, cones = _linear_part(programs, incidence, width, units.size)
    gain = 2.0 * units.size / np.sqrt(units.form)
    for m, factor in enumerate(factors):
        top = sp.csc_matrix(([1.0], ([0], [n_variables + (limited and m == len(matrices))])), shape=(1, width))
        images = [sp.csc_matrix(factor.T) @ block for part in incidence for block in part]
        body = sp.vstack(
            [_placed(image, start, width) for image, start in zip(images, _starts(incidence), strict=True)]
        )
        rows += [-top, -top, -gain * body]
        right += [np.array([1.0, -1.0]), np.zeros(body.shape[0])]
        cones.append(clarabel.SecondOrderConeT(2 + body.shape[0]))
    A = sp.csc_matrix(sp.vstack(rows))
    solver = clarabel.DefaultSolver(
        sp.diags(quadratic).tocsc(), linear, A, np.concatenate(right), cones, quiet_settings()
    )
    solution = solver.solve()
    found, multipliers = (np.nan_to_num(values) for values in (solution.x, solution.z))  # of a solver that failed
    z = np.split(units.size * found[:n_variables], np.cumsum(sizes)[:-1])
    return simplex.lower + _weights(multipliers, cones, len(matrices)) / form, z, str(solution.status)


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


def _linear_part(programs: list[DualProgram], incidence: list, width: int, size: float) -> tuple[list, list, list]:
    """Column sums and bounds as rows of the cone program, of coefficients in units of a size."""
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
    right = [totals / size, -lower[has_lower] / size, upper[has_upper] / size]
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
