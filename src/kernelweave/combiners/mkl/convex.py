"""`ConvexMKL`: multiple kernel learning with a convex combination of kernels, thesis (2.4), (2.5).

The primal (2.4) has the weighted l1 norm of the norms in each feature space,

    minimise  1/2 (sum_m d_m ||w_m||)^2 + C sum_i xi_i

which is the same as minimising the machine's optimum J(eta) over { eta >= 0, sum_m d_m^2 eta_m = 1 } (Bach et al. 2004,
Rakotomamonjy et al. 2008). With d_m = sqrt(tr(K_m) / c) it is the QCQP of Lanckriet et al. (2004). Its dual (2.5) is

    maximise  l(C) - 1/2 max_m q_m(C) / d_m^2,      q_m(C) = sum_r c_r' K_m c_r

for every machine. De Bie et al. (2007) put lower limits on the weights, so that no kernel is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...kernels import Kernel
from ...solvers.weights.methods import (
    minimize_conic,
    minimize_level,
    minimize_newton,
    minimize_reduced_gradient,
    minimize_silp,
)
from ...solvers.weights.sets import Simplex
from ...validation import Choice, Constraints
from ..named import as_numbers
from .base import OptimalWeights, Tell, WeightResult
from .problem import WeightProblem

SOLVERS = {
    "newton": minimize_newton,
    "reduced-gradient": minimize_reduced_gradient,
    "silp": minimize_silp,
    "level": minimize_level,
}


class ConvexMKL(OptimalWeights):
    """Multiple kernel learning: the convex combination of kernels under which the machine's optimum is smallest.

    Minimises ``J(eta)``, the optimum of the machine under ``sum_m eta_m k_m(x, z)``, over ``eta_m >= min_weight`` with
    ``sum_m d_m^2 eta_m = 1`` (thesis (Gönen 2010), (2.4) and (2.5); Bach, Lanckriet & Jordan 2004). Works with every
    machine.

    The l1 norm of the weights makes them sparse: kernels that do not help get weight 0 and are never evaluated in
    prediction. It helps where a few of many kernels carry the signal, or where kernels cost something to evaluate.
    Where all kernels are informative `Mean` is as good, and a kernel of pure noise does *not* reliably get weight 0 at
    large C: look at the weights against C.

    Parameters
    ----------
    costs : mapping, sequence, number, `EigenvalueCosts` or None
        d_m, positive. A cost of 2 allows a kernel at most a quarter of the weight that a cost of 1 allows. Single costs
        of a mapping are parameters: ``costs__<name>``. None means 1 each.
    min_weight : float, mapping or sequence
        Lower limits on the weights (De Bie et al. 2007).
    solver : {"auto", "newton", "reduced-gradient", "silp", "level", "conic"}
        All solve the same problem to the same certified gap. "auto" is the fastest, "newton" (cuts bent by the
        curvature of J); "reduced-gradient" is SimpleMKL, "silp" the semi-infinite linear program, "level" the extended
        level method, and "conic" hands the whole problem to a cone solver (a few hundred samples at most).
    max_iter : int
        Most solves of the machine.

    Attributes
    ----------
    costs_ : Series
        d_m by kernel name.

    Notes
    -----
    ``tol`` of the estimator is the relative duality gap. Memory: the P Gram matrices and one n x n matrix; "conic"
    takes about P times the memory of one more stack. With ``storage="lazy"`` (not "conic"): n_samples x P numbers for
    each output of the machine. With explicit features (not "conic"): 4 n_samples x P numbers for each output.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import ConvexMKL
    >>> from kernelweave.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = MKLClassifier([("signal", Linear([0])), ("noise", Linear([1]))], ConvexMKL(), normalize="unit-trace")
    >>> model.fit(X, X[:, 0] > 0).kernel_weights_.round(2)
    signal    1.0
    noise     0.0
    dtype: float64
    """

    _numbers = ("costs", "min_weight")
    by_kernel = ("min_weight",)

    _constraints = Constraints(solver=Choice("auto", *SOLVERS, "conic"))

    def __init__(
        self,
        costs: Any = None,
        min_weight: float | Mapping[str, float] | Any = 0.0,
        *,
        solver: str = "auto",
        max_iter: int = 200,
    ):
        self.costs = costs
        self.min_weight = min_weight
        self.solver = solver
        self.max_iter = max_iter

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """The cone solver takes whole matrices."""
        if self.solver == "conic":
            return {"gram": 'ConvexMKL with solver="conic" hands whole Gram matrices to a cone solver'}
        return super().needs(kernels)

    def minimize(self, problem: WeightProblem, costs: np.ndarray, tol: float, tell: Tell) -> WeightResult:
        """The weights on the simplex by the chosen solver."""
        simplex = Simplex(self._limits(problem.names, costs))
        if self.solver == "conic":
            programs = problem.machine.programs()
            matrices = problem.scaled_matrices()
            return WeightResult.of(minimize_conic(problem.evaluate, simplex, programs, matrices, tol, self.max_iter))
        minimize: Any = SOLVERS["newton" if self.solver == "auto" else self.solver]
        return WeightResult.of(minimize(problem.evaluate, simplex, tol, self.max_iter, tell))

    def _limits(self, names: list[str], costs: np.ndarray) -> np.ndarray:
        limits = costs**2 * as_numbers(self.min_weight, names, "min_weight", default=0.0)
        if limits.sum() >= 1.0:
            raise ValueError(
                f"min_weight leaves nothing to learn: sum_m costs_m^2 min_weight_m is {limits.sum():.3g}, but must be "
                "less than 1"
            )
        return limits
