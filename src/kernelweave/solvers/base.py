"""What the solvers share: their `Result`, cone programs through Clarabel, and which eigenvalues of a matrix count."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp

# Entries that are wrong by a few eps of k(x, x) change eigenvalues by at most as many eps of the trace, n k(x, x),
# since ||E||_2 <= ||E||_F. That is at most n eps of the largest eigenvalue, and less where this is nearly the whole
# trace, as with a large mean.
FEW = 4.0
INDEFINITE = 1e-6  # a negative eigenvalue that is no rounding, relative to the largest
CLIPPED = 1e-10  # of an indefinite matrix: a positive eigenvalue that can be divided by, relative to the largest


@dataclass(frozen=True)
class Result:
    """The end point of one solve, with its certificate.

    Attributes
    ----------
    solution : ndarray
        The variables at the end point.
    objective : float
        The objective there.
    gap : float
        Duality gap: how far, at most, the objective is from its optimum.
    steps : int
        Work done, in the solver's own unit.
    converged : bool
        Whether the requested tolerance was reached; False where the step budget, or the resolution of floating point,
        ended the solve first.
    violation : float
        Largest violation of the optimality (KKT) conditions.
    multiplier : float or ndarray
        Multiplier of the equality constraint, or of each of several; the bias b of a kernel machine.
    rounds : int
        Working sets of a solve in parts; 0 for other solvers.
    image : image or None
        What a kernel in parts stores of its product with the solution.

    Examples
    --------
    >>> import numpy as np
    >>> Result(np.zeros(2), 0.0, 0.0, 3, True, 0.0, 0.0).steps
    3
    """

    solution: np.ndarray
    objective: float
    gap: float
    steps: int
    converged: bool
    violation: float
    multiplier: float | np.ndarray
    rounds: int = field(default=0, kw_only=True)
    image: Any = field(default=None, repr=False, kw_only=True)


def solve_cone_program(
    Q: Any, linear: np.ndarray, A: Any, right: np.ndarray, cones: list, tol: float | None = None, **options: Any
) -> clarabel.DefaultSolution:
    """Minimise ``1/2 x'Qx + linear'x`` with ``right - A x`` in the cones; Q of None is zero."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1  # a forked child would wait for its threads
    if tol is not None:
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    for name, value in options.items():
        setattr(settings, name, value)
    Q = (len(linear),) * 2 if Q is None else Q
    return clarabel.DefaultSolver(sp.csc_matrix(Q), linear, sp.csc_matrix(A), right, cones, settings).solve()


def triangle(M: np.ndarray) -> np.ndarray:
    """A symmetric matrix for Clarabel's semidefinite cone: upper triangle by columns, sqrt(2) times off-diagonal."""
    columns, rows = np.tril_indices(len(M))  # the lower triangle by rows is the upper one by columns
    return M[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))


def above_rounding(values: np.ndarray, dtype: np.dtype | type = np.float64) -> np.ndarray:
    """Which eigenvalues, in ascending order, are more than rounding of a matrix of this type leaves of them.

    A matrix that should be positive semidefinite has negative eigenvalues by rounding, and positive ones of their size.

    >>> above_rounding(np.array([-1e-12, 1e-12, 1e-9, 1.0]))
    array([False, False,  True,  True])
    """
    largest = max(float(values[-1]), 0.0)
    if is_indefinite(values):
        return values > CLIPPED * largest
    return values > max(FEW * float(np.finfo(dtype).eps) * float(np.abs(values).sum()), -2.0 * float(values[0]))


def is_indefinite(values: np.ndarray) -> bool:
    smallest, largest = float(values[0]), max(float(values[-1]), 0.0)
    return smallest < -INDEFINITE * max(largest, -smallest * INDEFINITE)
