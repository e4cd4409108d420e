"""`ElasticMKL`: convex multiple kernel learning with a pull towards equal weights, thesis 2.2.1.3."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...solvers.weights.methods import minimize_newton
from ...solvers.weights.sets import Simplex
from ...validation import Constraints, Number
from .base import OptimalWeights, Tell, WeightResult
from .problem import WeightProblem


class ElasticMKL(OptimalWeights):
    """Convex multiple kernel learning with a pull towards equal weights.

    Minimises ``J(eta) + l2 * sum_m (d_m^2 eta_m - 1/P)^2``, J being the optimum of the machine under
    ``sum_m eta_m k_m(x, z)``, over ``eta >= 0`` with ``sum_m d_m^2 eta_m = 1`` (Longworth & Gales 2008, 2009). Works
    with every machine.

    `l2` runs from `ConvexMKL` (0) to `Mean` (large), so a search over it finds how far the weights should follow the
    data. It is in units of J, which grows with C and the number of samples.

    Parameters
    ----------
    l2 : float
        Strength of the pull, at least 0.
    costs : mapping, sequence, number, `EigenvalueCosts` or None
        d_m, as in `ConvexMKL`.
    max_iter : int
        Most solves of the machine.

    Attributes
    ----------
    costs_ : Series
        d_m by kernel name.

    Notes
    -----
    ``tol`` of the estimator is the relative duality gap of J plus the pull; `objective_` is J alone. Memory: the P Gram
    matrices and one n x n matrix; with ``storage="lazy"`` n_samples x P numbers for each output of the machine.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import ElasticMKL
    >>> from kernelweave.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> kernels = [("signal", Linear([0])), ("noise", Linear([1]))]
    >>> model = MKLClassifier(kernels, ElasticMKL(l2=1e6), normalize="unit-trace").fit(X, X[:, 0] > 0)
    >>> model.kernel_weights_.round(2)
    signal    0.5
    noise     0.5
    dtype: float64
    """

    _constraints = Constraints(l2=Number(low=0))

    def __init__(self, l2: float = 1.0, costs: Any = None, *, max_iter: int = 200):
        self.l2 = l2
        self.costs = costs
        self.max_iter = max_iter

    def minimize(self, problem: WeightProblem, costs: np.ndarray, tol: float, tell: Tell) -> WeightResult:
        """The weights on the simplex, with the pull."""
        simplex = Simplex(np.zeros(len(costs)), float(self.l2))
        return WeightResult.of(minimize_newton(problem.evaluate, simplex, tol, self.max_iter, tell))
