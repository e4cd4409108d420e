"""`SparseMKL`: a logarithmic penalty on the weights, sparser than any norm (Subrahmanya & Shin 2010), thesis 2.2.1.3.

    minimise over eta    J(eta)      subject to   eta >= 0,   sum_m d_m^2 psi(eta_m) <= 1

psi(e) = log(1 + e/eps) / log(1 + 1/eps) runs concavely from psi(0) = 0 to psi(1) = 1, so one kernel may have the weight
it has in `ConvexMKL`, but two must share less than that. A concave function lies below its tangents: replacing psi by
its tangent at the last weights gives a smaller feasible set that contains those weights, a simplex. Each round is thus
a problem of `ConvexMKL` with other costs, whose optimum is feasible and no worse than the last one. As eps grows, psi
becomes linear and the problem `ConvexMKL`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...solvers.weights.methods import minimize_newton
from ...solvers.weights.sets import Simplex
from ...validation import Constraints, Number, Whole
from .base import OptimalWeights, Tell, WeightResult
from .problem import WeightProblem


class SparseMKL(OptimalWeights):
    """Multiple kernel learning with a logarithmic penalty: fewer kernels than `ConvexMKL`.

    Minimises ``J(eta)``, the optimum of the machine under ``sum_m eta_m k_m(x, z)``, over ``eta >= 0`` with
    ``sum_m d_m^2 log(1 + eta_m / eps) / log(1 + 1 / eps) <= 1`` (the log penalty of SMKL, Subrahmanya & Shin 2010, as a
    constraint), to a point that no reweighting improves; the constraint is not convex, so there may be several. Works
    with every machine.

    It helps where each kernel that is kept has a lasting cost. Where accuracy is all that counts, `LpMKL` is the better
    choice.

    Parameters
    ----------
    eps : float
        How early the penalty flattens: the smaller, the sparser, down to a single kernel; far above 1 it is
        `ConvexMKL`.
    n_rounds : int
        Most reweightings.
    costs : mapping, sequence, number, `EigenvalueCosts` or None
        d_m, as in `ConvexMKL`.
    max_iter : int
        Most solves of the machine in each round.

    Attributes
    ----------
    costs_ : Series
        d_m by kernel name.
    rounds_ : list of float
        J after each round; it never rises by more than the tolerance.

    Notes
    -----
    The duality gap reported is that of the last round's convex problem. Memory: the P Gram matrices and one n x n
    matrix; with ``storage="lazy"`` n_samples x P numbers for each output of the machine.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import SparseMKL
    >>> from kernelweave.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = MKLClassifier([Linear([0]), Linear([1]), Linear([2])], SparseMKL(), C=0.02, normalize="unit-trace")
    >>> int((model.fit(X, X[:, 0] > 0).kernel_weights_ > 0).sum())
    1
    """

    _constraints = Constraints(eps=Number(above=0), n_rounds=Whole(1))

    def __init__(self, eps: float = 1.0, n_rounds: int = 20, *, costs: Any = None, max_iter: int = 200):
        self.eps = eps
        self.n_rounds = n_rounds
        self.costs = costs
        self.max_iter = max_iter

    def minimize(self, problem: WeightProblem, costs: np.ndarray, tol: float, tell: Tell) -> WeightResult:
        """Convex problems with costs from the tangents, until J stops falling."""
        top = np.log1p(1.0 / self.eps)
        eta = self._equal(costs, top)
        self.rounds_: list[float] = []
        for _ in range(self.n_rounds):
            slope = 1.0 / ((self.eps + eta) * top)
            room = 1.0 - costs**2 @ (np.log1p(eta / self.eps) / top - slope * eta)
            problem.scale = room / (costs**2 * slope)
            bundle = minimize_newton(problem.evaluate, Simplex(np.zeros(len(costs))), tol, self.max_iter, tell)
            eta = problem.scale * bundle.best.point
            self.rounds_.append(bundle.upper)
            if len(self.rounds_) > 1 and self.rounds_[-2] - bundle.upper <= tol * abs(bundle.upper):
                break
        else:
            warn(
                f"SparseMKL stopped after {self.n_rounds} rounds while J still fell, to {bundle.upper:.4g}; raise "
                "n_rounds",
                ConvergenceWarning,
            )
        return WeightResult.of(bundle)

    def _equal(self, costs: np.ndarray, top: float) -> np.ndarray:
        """Equal shares d_m^2 eta_m on the boundary of the feasible set."""

        def excess(share: float) -> float:
            return float(costs**2 @ np.log1p(share / (costs**2 * self.eps))) / top - 1.0

        high = 1.0
        while excess(high) < 0.0:
            high *= 2.0
        return brentq(excess, 0.0, high) / costs**2
