"""`LpMKL`: multiple kernel learning with an lp norm on the weights (Kloft et al. 2010, 2011), thesis 2.2.1.2."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...solvers.weights.methods import minimize_in_norm_ball, minimize_newton
from ...solvers.weights.sets import GroupBall, Simplex
from ...validation import Choice, Constraints, Exactly, Number
from .base import OptimalWeights, Tell, WeightResult
from .problem import WeightProblem


class LpMKL(OptimalWeights):
    """Multiple kernel learning with weights in the unit ball of the lp norm.

    Minimises ``J(eta)``, the optimum of the machine under ``sum_m eta_m k_m(x, z)``, over ``eta >= 0`` with
    ``sum_m (d_m^2 eta_m)^p <= 1`` (Kloft et al. 2010, 2011; thesis (Gönen 2010), 2.2.1.2). Works with every machine.

    p = 1 is `ConvexMKL`, sparse; the larger p, the more equal the weights, up to the plain sum of the kernels for p =
    infinity. Where every kernel carries something of its own, p around 2 is the safe choice; it leaves no kernel out.

    Parameters
    ----------
    p : float
        At least 1.
    costs : mapping, sequence, number, `EigenvalueCosts` or None
        d_m, as in `ConvexMKL`.
    solver : {"auto", "newton", "closed-form"}
        "closed-form" alternates between the machine and Kloft's weights in closed form; "auto" is "newton", which
        takes fewer solves of the machine to the same certified gap.
    max_iter : int
        Most solves of the machine.

    Attributes
    ----------
    costs_ : Series
        d_m by kernel name.

    Notes
    -----
    ``tol`` of the estimator is the relative duality gap. Memory: the P Gram matrices and one n x n matrix; with
    ``storage="lazy"`` n_samples x P numbers for each output of the machine. The weights add up to more than 1, so C is
    not comparable with that of `Mean`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import LpMKL
    >>> from kernelweave.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = MKLClassifier([("signal", Linear([0])), ("noise", Linear([1]))], LpMKL(p=2), normalize="unit-trace")
    >>> weights = model.fit(X, X[:, 0] > 0).kernel_weights_
    >>> float((weights**2).sum().round(6))
    1.0
    """

    _constraints = Constraints(
        p=Number(low=1, high=1e6) | Exactly(np.inf, "infinity"),
        solver=Choice("auto", "newton", "closed-form"),
    )

    def __init__(self, p: float = 2.0, costs: Any = None, *, solver: str = "auto", max_iter: int = 200):
        self.p = p
        self.costs = costs
        self.solver = solver
        self.max_iter = max_iter

    def minimize(self, problem: WeightProblem, costs: np.ndarray, tol: float, tell: Tell) -> WeightResult:
        """The weights in the ball; on the simplex for p = 1."""
        n_kernels, p = len(costs), float(self.p)
        if p == 1.0:
            bundle = minimize_newton(problem.evaluate, Simplex(np.zeros(n_kernels)), tol, self.max_iter, tell)
        elif self.solver == "closed-form":
            bundle = minimize_in_norm_ball(problem.evaluate, p, n_kernels, tol, self.max_iter, tell)
        else:
            ball = GroupBall(np.zeros(n_kernels, dtype=int), p)
            bundle = minimize_newton(problem.evaluate, ball, tol, self.max_iter, tell)
        return WeightResult.of(bundle)
