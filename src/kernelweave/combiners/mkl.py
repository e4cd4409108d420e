"""Multiple kernel learning: weights, one for each kernel, that minimise the machine's own optimum.

    minimise over eta    J(eta) + r(eta),      J(eta) = max_C l(C) - 1/2 sum_m eta_m q_m(C)

where q_m(C) = sum_r c_r' K_m c_r. J is the optimum of the machine under K = sum_m eta_m K_m, convex in eta, with
dJ/deta_m = -1/2 q_m (Danskin). Costs d_m enter as a change of variables x_m = d_m^2 eta_m, kernels K_m / d_m^2 with
plain constraints on x. Solvers see x only, by `WeightProblem.evaluate`; subclasses of `OptimalWeights` define its set.

==========  ========================================================================
thesis      here
==========  ========================================================================
d_m         costs; by `EigenvalueCosts` e_m ** gamma (EMKL, 2.7.2, Bach et al. 2005)
e_m         number of eigenvalues of K_m above tr(K_m) / (2 n)
eta_m       weights; theta of a `WeightedSum`
gamma, t    the largest q_m / d_m^2
==========  ========================================================================

(For e_m the thesis counts eigenvalues above 1/2, which is tr(K_m) / (2 n) for kernels of unit diagonal.)

`ConvexMKL` has the primal (2.4), with the weighted l1 norm of the norms in each feature space,

    minimise  1/2 (sum_m d_m ||w_m||)^2 + C sum_i xi_i

which is the same as minimising the machine's optimum J(eta) over { eta >= 0, sum_m d_m^2 eta_m = 1 } (Bach et al. 2004,
Rakotomamonjy et al. 2008). With d_m = sqrt(tr(K_m) / c) it is the QCQP of Lanckriet et al. (2004). Its dual (2.5) is

    maximise  l(C) - 1/2 max_m q_m(C) / d_m^2

for every machine. De Bie et al. (2007) put lower limits on the weights, so that no kernel is left out.

`GroupMKL` (2.2.1.3): Szafranski's composite kernels have weights eta_m = sigma_g^(1/2) tau_m^(1/2) with sum_g sigma_g =
sum_m tau_m = 1. The norms of the groups are then ||eta_g||_2 = (sigma_g sum_{m in g} tau_m)^(1/2), whose sum is at most
1, with equality for the best sigma and tau; so that problem is the one here with p = 2.

`SparseMKL` (2.2.1.3):    minimise over eta    J(eta)      subject to   eta >= 0,   sum_m d_m^2 psi(eta_m) <= 1

psi(e) = log(1 + e/eps) / log(1 + 1/eps) runs concavely from psi(0) = 0 to psi(1) = 1, so one kernel may have the weight
it has in `ConvexMKL`, but two must share less than that. A concave function lies below its tangents: replacing psi by
its tangent at the last weights gives a smaller feasible set that contains those weights, a simplex. Each round is thus
a problem of `ConvexMKL` with other costs, whose optimum is feasible and no worse than the last one. As eps grows, psi
becomes linear and the problem `ConvexMKL`.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn
from ..kernels import Kernel
from ..machines import Machine, Solution
from ..solvers.weights.methods import (
    Bundle,
    Evaluation,
    minimize_conic,
    minimize_in_norm_ball,
    minimize_level,
    minimize_newton,
    minimize_reduced_gradient,
    minimize_silp,
)
from ..solvers.weights.sets import GroupBall, Simplex, WeightSet
from ..stacks import FitControl, TrainingStack, training
from ..validation import Choice, Constraints, Exactly, Number, Whole, check_parameters, shown
from .base import Combiner, NamedNumbers, as_numbers, entries_of
from .combined import CombinedKernel
from .weighted import WeightedSum

MOST_STEPS = 200_000  # of one solve on the way, or 50 per sample: a rough solution gives a valid cut too
FIRST_TOLERANCE = 1e-2  # largest KKT violation of the first solve, far from the optimal weights
MOST_FIRST_SOLVES = 5  # finer ones, until there is a coefficient


class WeightProblem:
    """J as a function of x = d^2 eta, evaluated by solving the machine from its last solution."""

    def __init__(
        self, stack: TrainingStack, machine: Machine, scale: np.ndarray, factor: np.ndarray, max_steps: int | None
    ):
        self.stack, self.names, self.sums = stack, stack.names, stack.sums(factor)
        self.views = [tuple(kernel.columns()) for kernel in stack.kernels]
        self.machine, self.scale, self.factor, self.max_steps = machine, scale, factor, max_steps
        self.last: Solution | None = None
        self.history: list[dict[str, float]] = []
        self._clock = time.perf_counter()
        self._weights: np.ndarray | None = None
        self._K: Any = None

    def evaluate(self, point: np.ndarray, gap: float | None) -> Evaluation:
        """J at a point to within a gap; None for a first, rough solve. The curvature is of the latest point only."""
        K, n_samples = self._kernel(self.scale * point), self.stack.n_samples
        most = min(max(MOST_STEPS, 50 * n_samples), self.max_steps or MOST_STEPS * n_samples)
        if gap is None or self.last is None:
            solution = self.machine.solve(K, tol=FIRST_TOLERANCE, max_steps=most)
            for _ in range(MOST_FIRST_SOLVES):
                if solution.coef.any() or solution.gap <= 0.0:
                    break
                # The optimum is small against the tolerance, and the cut of coefficients 0 says nothing of the weights.
                gap_tol = 0.1 * solution.gap / self.machine.n_outputs
                solution = self.machine.solve(K, solution, gap_tol=gap_tol, max_steps=most)
        else:
            # The machine's rule is gap <= gap_tol * max(1, |J|) for each output.
            gap_tol = gap / (self.machine.n_outputs + abs(self.last.objective))
            solution = self.machine.solve(K, self.sums.start(self.last), gap_tol=gap_tol, max_steps=most)
        return self.record(point, solution)

    def finish(self, eta: np.ndarray, factor: np.ndarray, tol: float) -> Solution:
        same = self._weights is not None and np.array_equal(eta, self._weights) and np.array_equal(factor, self.factor)
        if same and self.last is not None:
            solution = self.machine.refine(self._K, self.last, tol, self.max_steps)
        else:
            self.factor = factor
            self.sums.scale(factor)
            K, start = self._kernel(eta), None if self.last is None else self.sums.start(self.last)
            solution = self.machine.solve(K, start, tol=tol, max_steps=self.max_steps)
        self._note(solution)
        return solution

    def record(self, point: np.ndarray, solution: Solution) -> Evaluation:
        found = self.sums.found(self.machine, solution)
        forms = self.scale * found.forms()
        self._note(solution)

        def bend() -> np.ndarray:
            H = self.sums.curvature(self.machine, self._K, solution, found)
            return self.scale[:, None] * H * self.scale

        return Evaluation(point, solution.objective, solution.gap, forms, bend, solution, self.least)

    @property
    def least(self) -> float:
        """The least value of J that relative gaps are measured by, at the latest weights."""
        return self.machine.least_objective(self._K)

    def _note(self, solution: Solution) -> None:
        self.last = solution
        now = time.perf_counter()
        line = {"objective": solution.objective, "solves": 1, "seconds": now - self._clock}
        support = self.stack.n_support(solution)
        if support is not None:
            line["n_support"] = support
        self.history.append(line)
        self._clock = now

    def scaled_matrices(self) -> np.ndarray:
        return self.scale[:, None, None] * self.stack.matrices() * np.outer(self.factor, self.factor)

    def _kernel(self, eta: np.ndarray) -> Any:
        """What the machine is solved on; overwritten by the next call."""
        self._weights, self._K = eta.copy(), self.sums.at(eta)
        return self._K


Tell = Callable[[Bundle], None]  # after each evaluation
Make = Callable[[np.ndarray], Any]  # a combined kernel with these weights
WeightResult = Bundle  # the cuts, the best point and the certified gap


class OptimalWeights(NamedNumbers, Combiner):
    """k(x, z) = sum_m eta_m k_m(x, z) with weights that minimise the machine's optimum: what such combiners share.

    Samples that lack views: the weights are learned with the rows and columns of the combined kernel scaled as for
    equal weights, so that the problem stays convex, and the machine is then solved with the scaling of the learned
    weights; the gap reported is the sum of both.
    """

    _constraints = Constraints(max_iter=Whole(1))
    _numbers: tuple[str, ...] = ("costs",)
    costs: Any
    max_iter: int

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        if not hasattr(self.costs, "costs"):
            return {}
        reads = {"gram": f"{type(self.costs).__name__}, the costs of {type(self).__name__}, reads whole Gram matrices"}
        return self.costs.needs() if hasattr(self.costs, "needs") else reads

    def _feasible(self, problem: WeightProblem, costs: np.ndarray) -> WeightSet:
        raise NotImplementedError

    def minimize(self, problem: WeightProblem, costs: np.ndarray, tol: float, tell: Tell) -> WeightResult:
        """The weights x, by evaluations of `problem` with a call of `tell` after each, to a relative gap of `tol`."""
        return minimize_newton(problem.evaluate, self._feasible(problem, costs), tol, self.max_iter, tell)

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> CombinedKernel:
        check_parameters(self)
        costs = self.costs_of(stack)
        self.costs_ = pd.Series(costs, stack.names)
        return self._optimal(stack, machine, control, costs, partial(self.kernel, stack))

    def _optimal(
        self, stack: TrainingStack, machine: Machine, control: FitControl, costs: np.ndarray, make: Make
    ) -> Any:
        """The combined kernel that `make` makes of the optimal weights, one for each of the costs."""
        stack.check_memory(stack.n_kernels + 2, "the kernels and their combination", per_kernel=True)
        scale = costs**-2.0
        factor = make(scale / stack.n_kernels).scaling()
        problem = WeightProblem(stack, machine, scale, factor, control.max_steps)
        found = self.minimize(
            problem, costs, control.tol, lambda bundle: control.report(len(problem.history), self.max_iter)
        )
        kernel, solution = self.solved(problem, found, control.tol, make)
        return kernel.solved(solution, problem.history)

    def solved(
        self, problem: WeightProblem, found: WeightResult, tol: float, make: Make, advice: str | None = None
    ) -> tuple[Any, Solution]:
        """The kernel with the best weights, and the machine's optimum under it with the gap of both; it may warn."""
        point, factor, stack = found.best.point, problem.factor, problem.stack
        eta = problem.scale * point
        kernel = make(eta)
        final = kernel.scaling()
        solution = problem.finish(eta, final, tol)
        reached = found.upper
        if np.array_equal(factor, final):
            reached = solution.objective + found.feasible.penalty(point)
        gap = max(reached - found.lower, 0.0)
        size = max(abs(reached), problem.least)
        small = tol * stack.size_of(reached, problem.machine, problem.least)
        if not found.converged and gap > small and solution.coef.any():  # without any J = 0 whatever the weights are
            self._warn(len(problem.history) - 1, gap, size, tol, advice)
        return kernel, dataclasses.replace(solution, gap=gap + solution.gap)

    def for_kernels(self, names: list[str], kept: list[str]) -> OptimalWeights:
        """A copy for some kernels, the least cost kept: a dear kernel alone would be regularised more for no gain."""
        other: Any = super().for_kernels(names, kept)
        if self.costs is None or hasattr(self.costs, "costs"):
            return other
        costs = dict(zip(names, as_numbers(self.costs, names, "costs", default=1.0).tolist(), strict=True))
        least = min(costs[name] for name in kept)
        factor = min(costs.values()) / least if least > 0.0 else 1.0
        return other.set_params(costs={name: costs[name] * factor for name in kept})

    def kernel(self, stack: Any, eta: np.ndarray) -> WeightedSum:
        """The weighted sum with given weights, which may leave a sample without any: its row is then zero."""
        return WeightedSum(stack, eta, missing="warn", owner=type(self).__name__)

    def costs_of(self, stack: TrainingStack) -> np.ndarray:
        """The cost d_m of each kernel, positive."""
        if hasattr(self.costs, "costs"):
            costs = self.costs.costs(stack)
        else:
            costs = as_numbers(self.costs, stack.names, "costs", default=1.0)
        if not (costs > 0.0).all():
            raise ValueError(f"costs must be positive, not {costs.tolist()}")
        return costs

    def _warn(self, solves: int, gap: float, size: float, tol: float, advice: str | None) -> None:
        reached = gap / max(size, np.finfo(float).tiny)
        if advice is not None:
            pass
        elif solves >= self.max_iter:
            advice = "raise max_iter of the combiner, scale the kernels, or lower C"
        else:
            advice = f"further solves do not narrow it, so take a tol of {2.0 * reached:.1g} or more"
        warn(
            f"{type(self).__name__} stopped after {solves} solves of the machine with a relative duality gap of "
            f"{reached:.2g} (tol is {tol:g}); {advice}",
            ConvergenceWarning,
        )


_LARGEST = 100  # largest logarithm of costs, whose squares are used


class EigenvalueCosts(BaseEstimator):
    """Costs d_m = e_m^gamma, with e_m the number of eigenvalues of K_m above tr(K_m) / (2 n) (Bach et al., 2005).

    A kernel with many large eigenvalues follows the training samples more closely, so it is made dearer beforehand:
    EMKL of the thesis (Gönen 2010), 2.7.2. With gamma 0 all costs are 1. Give it as the `costs` of a combiner, and
    search ``combiner__costs__gamma`` (the thesis tries 0, 0.1, ..., 1). The scale of a kernel changes nothing.

    The eigenvalues are counted, not computed: one factorisation of each kernel, O(n^3) time for n samples and the
    memory of two n x n matrices, so that ``storage="lazy"`` is refused unless gamma is 0. Of explicit features they are
    computed, from their second moments. A sample that lacks a kernel's view does not count there.

    Parameters
    ----------
    gamma : float
        At least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.combiners import EigenvalueCosts
    >>> from kernelweave.kernels import Gaussian, KernelStack, Linear
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> EigenvalueCosts(gamma=1.0).costs(KernelStack([Linear(), Gaussian(scale=0.1)]).fit(X))
    array([ 2., 48.])
    """

    _constraints = Constraints(gamma=Number(low=0))

    def __init__(self, gamma: float = 0.5):
        self.gamma = gamma

    def needs(self) -> dict[str, str]:
        """Eigenvalues, where some are to be counted."""
        if np.all(self.gamma == 0):
            return {}
        return {"eigenvalues": f"{type(self).__name__} counts eigenvalues of whole Gram matrices"}

    def costs(self, stack: TrainingStack) -> np.ndarray:
        """One cost per kernel over the training samples, each at least 1, of shape (n_kernels,)."""
        gamma = check_parameters(self).gamma
        if gamma == 0:
            return np.ones(stack.n_kernels)
        counts = np.array(training(stack).eigenvalue_counts(), dtype=float)
        if gamma * np.log10(counts.max()) > _LARGEST:
            raise ValueError(f"gamma of EigenvalueCosts is {shown(gamma)}: costs overflow; take a smaller one")
        return counts**gamma


SOLVERS = {
    "newton": minimize_newton,
    "reduced-gradient": minimize_reduced_gradient,
    "silp": minimize_silp,
    "level": minimize_level,
}


class ConvexMKL(OptimalWeights):
    """Multiple kernel learning: the convex combination of kernels under which the machine's optimum is smallest.

    Minimises ``J(eta)``, the optimum of any machine under ``sum_m eta_m k_m(x, z)``, over ``eta_m >= min_weight`` with
    ``sum_m d_m^2 eta_m = 1`` (thesis (Gönen 2010), (2.4) and (2.5); Bach, Lanckriet & Jordan 2004).

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
        simplex = self._feasible(problem, costs)
        if self.solver == "conic":
            programs = problem.machine.programs()
            matrices = problem.scaled_matrices()
            return minimize_conic(problem.evaluate, simplex, programs, matrices, tol, self.max_iter)
        minimize: Any = SOLVERS["newton" if self.solver == "auto" else self.solver]
        return minimize(problem.evaluate, simplex, tol, self.max_iter, tell)

    def _feasible(self, problem: WeightProblem, costs: np.ndarray) -> Simplex:
        limits = costs**2 * as_numbers(self.min_weight, problem.names, "min_weight", default=0.0)
        if limits.sum() >= 1.0:
            raise ValueError(
                f"min_weight leaves nothing to learn: sum_m costs_m^2 min_weight_m is {limits.sum():.3g}, but must be "
                "less than 1"
            )
        return Simplex(limits)


class ElasticMKL(OptimalWeights):
    """Convex multiple kernel learning with a pull towards equal weights.

    Minimises ``J(eta) + l2 * sum_m (d_m^2 eta_m - 1/P)^2``, J being the optimum of any machine under
    ``sum_m eta_m k_m(x, z)``, over ``eta >= 0`` with ``sum_m d_m^2 eta_m = 1`` (Longworth & Gales 2008, 2009).

    `l2` runs from `ConvexMKL` (0) to `Mean` (large), so a search over it finds how far the weights should follow the
    data. It is in units of J, which grows with C and the number of samples.

    Parameters
    ----------
    l2 : float
        Strength of the pull, at least 0.
    costs, max_iter
        As in `ConvexMKL`.

    Attributes
    ----------
    costs_ : Series
        d_m by kernel name.

    Notes
    -----
    ``tol`` is the relative duality gap of J plus the pull; `objective_` is J alone. Memory as in `ConvexMKL`.

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

    def _feasible(self, problem: WeightProblem, costs: np.ndarray) -> Simplex:
        return Simplex(np.zeros(len(costs)), float(self.l2))


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
    ``tol`` of the estimator is the relative duality gap. Memory as in `ConvexMKL`. The weights add up to more than 1,
    so C is not comparable with that of `Mean`.

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
        if self.solver == "closed-form" and self.p != 1.0:
            return minimize_in_norm_ball(problem.evaluate, float(self.p), len(costs), tol, self.max_iter, tell)
        return super().minimize(problem, costs, tol, tell)

    def _feasible(self, problem: WeightProblem, costs: np.ndarray) -> WeightSet:
        if self.p == 1.0:
            return Simplex(np.zeros(len(costs)))
        return GroupBall(np.zeros(len(costs), dtype=int), float(self.p))


class GroupMKL(OptimalWeights):
    """Multiple kernel learning that takes all or none of the kernels of a group.

    Minimises ``J(eta)``, the optimum of any machine under ``sum_m eta_m k_m(x, z)``, over ``eta >= 0`` with
    ``sum_g (sum_{m in g} (d_m^2 eta_m)^p)^(1/p) <= 1`` (Szafranski, Grandvalet & Rakotomamonjy 2008, for p = 2).

    It helps where several kernels are computed from one view: a view that is not needed need not be measured, and
    within a view nothing is saved by leaving a kernel out.

    Parameters
    ----------
    groups : mapping from group name to kernel names, mapping from kernel name to group, or sequence of group labels
        Kernels that a mapping does not name are groups of their own. None groups kernels over the same view.
    p : float
        At least 1; 1 is `ConvexMKL`, infinity gives all kernels of a group the same weight.
    costs, max_iter
        As in `ConvexMKL`.

    Attributes
    ----------
    costs_ : Series
        d_m by kernel name.

    Notes
    -----
    ``tol`` of the estimator is the relative duality gap. Memory as in `ConvexMKL`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import GroupMKL
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> kernels = [("a", Linear([0])), ("b", Gaussian([0])), ("c", Linear([1])), ("d", Gaussian([1]))]
    >>> groups = GroupMKL({"signal": ["a", "b"], "noise": ["c", "d"]})
    >>> model = MKLClassifier(kernels, groups, C=0.02, normalize="unit-trace")
    >>> (model.fit(X, X[:, 0] > 0).kernel_weights_ > 0).tolist()
    [True, True, False, False]
    """

    _constraints = Constraints(p=Number(low=1, high=1e6) | Exactly(np.inf, "infinity"))

    def __init__(self, groups: Any = None, p: float = 2.0, *, costs: Any = None, max_iter: int = 200):
        self.groups = groups
        self.p = p
        self.costs = costs
        self.max_iter = max_iter

    def for_kernels(self, names: list[str], kept: list[str]) -> GroupMKL:
        other: Any = super().for_kernels(names, kept)
        if isinstance(self.groups, Mapping):
            stay = set(kept) | (set(_label_of(self.groups)) - set(names))
            groups: Any = {
                key: value if _is_label(value) else [name for name in value if name in stay]
                for key, value in self.groups.items()
                if not _is_label(value) or key in stay
            }
        else:
            groups = entries_of(self.groups, names, kept)
        return other.set_params(groups=groups)

    def _feasible(self, problem: WeightProblem, costs: np.ndarray) -> WeightSet:
        if self.p == 1.0:
            return Simplex(np.zeros(len(costs)))
        return GroupBall(group_numbers(self.groups, problem.names, problem.views), float(self.p))


def group_numbers(groups: Any, names: list[str], views: list[Any]) -> np.ndarray:
    if groups is None:
        labels = views
    elif isinstance(groups, Mapping):
        label_of = _label_of(groups)
        unknown = sorted(set(label_of) - set(names), key=str)
        if unknown:
            raise ValueError(f"groups names kernels that are not there: {unknown}; there are {names}")
        labels = [("group", label_of[name]) if name in label_of else ("kernel", name) for name in names]
    elif isinstance(groups, Sequence | np.ndarray) and not isinstance(groups, str) and len(groups) == len(names):
        labels = list(groups)
    else:
        raise ValueError(
            f"groups must map group names to kernel names, or give one label for each of the {len(names)} kernels, "
            f"not {groups!r}"
        )
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(label, len(seen)) for label in labels])


def _label_of(groups: Mapping) -> dict[str, Any]:
    label_of: dict[str, Any] = {}
    for key, value in groups.items():
        members = {key: value} if _is_label(value) else dict.fromkeys(value, key)
        twice = sorted(set(members) & set(label_of), key=str)
        if twice:
            raise ValueError(f"groups puts the kernels {twice} into two groups")
        label_of |= members
    return label_of


def _is_label(value: Any) -> bool:
    return isinstance(value, str) or not isinstance(value, Sequence)


class SparseMKL(OptimalWeights):
    """Multiple kernel learning with a logarithmic penalty: fewer kernels than `ConvexMKL`.

    Minimises ``J(eta)``, the optimum of any machine under ``sum_m eta_m k_m(x, z)``, over ``eta >= 0`` with
    ``sum_m d_m^2 log(1 + eta_m / eps) / log(1 + 1 / eps) <= 1`` (the log penalty of SMKL, Subrahmanya & Shin 2010, as a
    constraint), to a point that no reweighting improves; the constraint is not convex, so there may be several.

    It helps where each kernel that is kept has a lasting cost. Where only accuracy counts, `LpMKL` is better.

    Parameters
    ----------
    eps : float
        How early the penalty flattens: the smaller, the sparser, to a single kernel; far above 1 it is `ConvexMKL`.
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
    The duality gap reported is that of the last round's convex problem. Memory as in `ConvexMKL`.

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
        return bundle

    def _equal(self, costs: np.ndarray, top: float) -> np.ndarray:
        """Equal shares d_m^2 eta_m on the boundary of the feasible set."""

        def excess(share: float) -> float:
            return float(costs**2 @ np.log1p(share / (costs**2 * self.eps))) / top - 1.0

        high = 1.0
        while excess(high) < 0.0:
            high *= 2.0
        return brentq(excess, 0.0, high) / costs**2
