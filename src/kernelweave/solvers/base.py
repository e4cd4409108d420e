"""The result that every solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


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
        What a kernel in parts keeps of its product with the solution, see `qp.in_parts`.

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
