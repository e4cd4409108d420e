"""`WidthMKL`: multiple kernel learning over all widths of each Gaussian, infinitely many kernels.

    minimise over eta >= 0    J(eta)      subject to    sum_m d_m^2 sum_s eta_ms = 1      (s in [s_low, s_high])

where K = sum_ms eta_ms K_ms, K_ms is the Gaussian of view m with width s, and J is the machine's optimum. A kernel of
another kind has one "width". As in `mkl`, every feasible C bounds the optimum from below, here by

    l(C) - 1/2 max_m sup_s q_ms(C) / d_m^2,        q_ms(C) = sum_r c_r' K_ms c_r.

Some optimal kernel is the sum of at most n + 1 of them (Argyriou, Micchelli and Pontil 2005). They are found one after
the other, as by Gehler and Nowozin (2008): `ConvexMKL` is the *master problem* over the kernels so far; the largest
q_ms / d_m^2 of each view under its C is the *sub-problem*, in one variable. Where it exceeds the level of the master,
the largest of its own kernels, that Gaussian enters; kernels without a weight leave. The sub-problem is solved with a
bound of q_ms that holds for all widths (`solvers.weights.widths`), so that the fit ends with a gap of the infinite
problem, by the bound above at the best C.

=====================  =================================================================
Gehler and Nowozin     here
=====================  =================================================================
theta                  u = log(s / s_0), with s_0 the width that the kernel itself has
T(theta; alpha)        q_ms / d_m^2 / 2
restricted master      `WeightProblem` over the columns (m, u)
sub-problem            `largest_form`
=====================  =================================================================

The combined kernel is a `WeightedSum` of the model's kernels, in which a Gaussian is the weighted sum of its widths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from ..kernels import Kernel
from ..kernels.arithmetic import weighted
from ..kernels.tiles.sources import declared
from ..machines import Machine
from ..solvers.weights.methods import Bundle, Evaluation, minimize_newton
from ..solvers.weights.sets import Simplex
from ..solvers.weights.widths import Peak, WidthForms, largest_form
from ..stacks import FitControl, TrainingStack
from ..validation import Constraints, Number, Whole, check_parameters
from .mkl import OptimalWeights, WeightProblem
from .weighted import WeightedSum

#: Shares of the gap that is allowed: of a kernel that enters, and of what the bound of the sub-problem leaves open.
ENTERS, SLACK = 0.2, 0.2
MASTER = 0.3  # that of the master's gap
INNER_SHARE = 0.1  # of the gap so far: the master's, while there are kernels to be found
FINEST = 1e-12
#: A kernel of the master problem: the number of a kernel of the model, and the logarithm of its width relative to that
#: one's; 0 is the kernel itself.
Column = tuple[int, float]


class WidthSum(WeightedSum):
    """The weighted sum whose Gaussians have the widths found; `kernels_` of an estimator are those, too."""

    shows = ("kernels_",)

    def attributes(self) -> dict[str, Any]:
        return {"kernels_": self.stack.kernels}


class WidthMKL(OptimalWeights):
    """Multiple kernel learning that finds the widths of Gaussians, too: among all widths of a range at once.

    Minimises ``J(eta)``, the optimum of any machine under ``sum_m sum_s eta_ms k_ms(x, z)``, over ``eta_ms >= 0`` with
    ``sum_m d_m^2 sum_s eta_ms = 1``, where ``k_ms(x, z) = exp(-||x - z||^2 / s^2)`` on the view of kernel m, for every
    width s from ``narrowest`` to ``widest`` times the one that the kernel itself has (Argyriou, Micchelli & Pontil
    2005; Gehler & Nowozin 2008). A kernel that is no `Gaussian` is one candidate, as it is.

    The problem is convex in the weights, and the gap that is reported is that of the infinite problem: no kernel with
    whatever widths in the range gets below it. A few widths have a weight, mostly one to three for each view. It is for
    the question which scale of a view carries the signal, and where no width is known beforehand. It is not a way
    around validation: J is about the training samples, and with a large C it favours widths that are too narrow. One
    width chosen by cross-validation was a little better on average (docs/methods/widths.md).

    Parameters
    ----------
    narrowest, widest : float
        The range of widths, as factors of the width that each Gaussian has by its own `scale`: from 0.001 to 1, and
        from 1 to 1000. The Gram matrix of a very narrow Gaussian is the identity, that of a very wide one is constant.
    costs : mapping, sequence, number, `EigenvalueCosts` or None
        d_m, as in `ConvexMKL`; the same for all widths of a kernel.
    max_kernels : int
        Most kernels in the master problem at a time; not less than the kernels of the model.
    max_iter : int
        Most solves of the machine.

    Attributes
    ----------
    widths_ : DataFrame
        ``scale`` and ``weight`` of each Gaussian with a weight, by kernel name; `kernel_weights_` of the estimator are
        sums over the widths of a kernel, and its `kernels_` have these widths.
    profile_ : DataFrame
        ``scale`` and ``ratio`` of all widths that were looked at last, by kernel name: ``q_ms / d_m^2`` over the
        largest of the kernels in use. It is about 1 at the widths that have a weight, and hardly above 1 anywhere.
    costs_ : Series
        d_m by kernel name.

    Notes
    -----
    ``tol`` of the estimator is the relative duality gap of the infinite problem, up to rounding of kernel values.
    Memory: the Gram matrices of the kernels in the master problem, twice where some of them leave; with
    ``storage="lazy"`` as `ConvexMKL` over as many kernels. Sub-problems take some dozens of exponentials for each pair
    of support vectors, view and round. Explicit features and ``missing="complete"`` take given widths: `ConvexMKL`.

    For novelty detection the widest Gaussian has the smallest J, so nothing is learned there.

    References
    ----------
    A. Argyriou, C. A. Micchelli, M. Pontil, Learning convex combinations of continuously parameterized basic kernels,
    COLT 2005. P. V. Gehler, S. Nowozin, Infinite kernel learning, technical report 178, MPI for Biological Cybernetics,
    2008.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import WidthMKL
    >>> from kernelweave.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(200, 2))
    >>> y = np.sin(4 * X[:, 0]) > 0  # changes over short distances in the first column
    >>> model = MKLClassifier([("a", Gaussian([0])), ("b", Gaussian([1]))], WidthMKL()).fit(X, y)
    >>> model.kernel_weights_.round(1).to_dict()
    {'a': 1.0, 'b': 0.0}
    >>> bool((model.combiner_.widths_["scale"] < 0.6).all())
    True
    """

    _constraints = Constraints(
        narrowest=Number(low=1e-3, high=1), widest=Number(low=1, high=1e3), max_kernels=Whole(1), max_iter=Whole(1)
    )

    def __init__(
        self,
        narrowest: float = 0.1,
        widest: float = 10.0,
        *,
        costs: Any = None,
        max_kernels: int = 100,
        max_iter: int = 500,
    ):
        self.narrowest = narrowest
        self.widest = widest
        self.costs = costs
        self.max_kernels = max_kernels
        self.max_iter = max_iter

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        why = "WidthMKL compares the training samples by kernels of other widths, found during the fit"
        return {**super().needs(kernels), "kernels": why}

    def kernel(self, stack: Any, eta: np.ndarray) -> WidthSum:
        return WidthSum(stack, eta, missing="warn", owner=type(self).__name__)

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> WidthSum:
        check_parameters(self)
        if self.max_kernels < stack.n_kernels:
            raise ValueError(
                f"max_kernels of WidthMKL is {self.max_kernels}, but the model has {stack.n_kernels} kernels; give at "
                "least as many"
            )
        costs = self.costs_of(stack)
        stack.check_memory(2 * stack.n_kernels + 2, "the kernels, their widths and their combination", per_kernel=True)
        stack.prepare()
        found = _Generation(self, stack, machine, costs, control)
        found.run()
        advice = "raise max_kernels of the combiner" if found.is_full else None
        make = partial(self.kernel, found.problem.stack)
        _, solution = self.solved(found.problem, found.bundle, control.tol, make, advice)
        self.costs_ = pd.Series(costs, stack.names)
        eta = found.problem.scale * found.bundle.best.point
        self.widths_, self.profile_ = found.widths(eta), found.profile()
        return found.combined(eta).solved(solution, found.problem.history)


@dataclass(frozen=True)
class _Simplex(Simplex):
    """The simplex, beginning with the weights of the last master problem."""

    first: np.ndarray | None = None

    def start(self) -> np.ndarray:
        return super().start() if self.first is None else self.first


class WidthFamily:
    """The Gaussians of kernel m of a stack, for all widths: their forms q, and the kernels themselves."""

    def __init__(self, stack: Any, m: int, gaussian: Any):
        self.gaussian, self.rows = gaussian, stack.rows
        self.values, self.present = gaussian.read(stack.reference)
        self.centre = stack.normalizers[m].weight_ if stack.normalizers[m].needs_all_samples else None

    @classmethod
    def of(cls, stack: Any, m: int) -> WidthFamily | None:
        """None where the kernel is no Gaussian of features."""
        parts = stack.kernels[m].parts()
        is_one = len(parts) == 1 and parts[0].has_exponents and declared(parts[0], "point_function") is not None
        return cls(stack, m, parts[0]) if is_one else None

    def at(self, u: float) -> Any:
        return self.gaussian.at_scale(self.scale(u))

    def scale(self, u: Any) -> Any:
        return self.gaussian.scale_ * np.exp(u)

    def forms(self, coef: np.ndarray) -> WidthForms:
        """q of coefficients of the training samples; those of centred kernels are centred instead."""
        full = np.zeros((len(self.present), coef.shape[1]))
        full[self.rows] = coef
        full[~self.present] = 0.0
        if self.centre is not None:
            full -= self.centre[:, None] * full.sum(axis=0)
        used = np.flatnonzero(full.any(axis=1))
        A = self.values[used]
        return WidthForms(lambda rows, others: self.gaussian.exponents_of(A[rows], A[others]), full[used])


def _lower(cut: Evaluation) -> float:
    return cut.intercept - 0.5 * float(cut.forms.max())


class _Generation:
    """The columns so far, the last master problem over them, and its sub-problems' `peaks` under one solution, `cut`.

    Of all solutions of the master the cut is that with the highest bound from below.
    """

    problem: WeightProblem
    bundle: Bundle
    cut: Evaluation
    peaks: dict[int, Peak]
    is_full = False

    def __init__(self, combiner: WidthMKL, stack: Any, machine: Machine, costs: np.ndarray, control: FitControl):
        self.combiner, self.base, self.machine, self.costs, self.control = combiner, stack, machine, costs, control
        self.range = float(np.log(combiner.narrowest)), float(np.log(combiner.widest))
        found = {m: WidthFamily.of(stack, m) for m in range(stack.n_kernels)}
        self.families = {m: family for m, family in found.items() if family is not None}
        self.factor = combiner.kernel(stack, costs**-2.0 / stack.n_kernels).scaling()
        self.history: list[dict[str, float]] = []
        self.stack = stack
        self.columns: list[Column] = [(m, 0.0) for m in range(stack.n_kernels)]

    def run(self) -> None:
        """Solve master and sub-problems in turn until the gap, which `bundle` has then, is small enough."""
        combiner, tol = self.combiner, self.control.tol
        lower, inner, weights = -np.inf, INNER_SHARE, None
        while True:
            self._solve_master(inner, weights)
            bundle, cut = self.bundle, self.cut
            level, size = float(cut.forms.max()), bundle.size
            self._find_peaks(level, 2.0 * SLACK * tol * size)
            lower = max(lower, cut.intercept - 0.5 * max([level, *(peak.bound for peak in self.peaks.values())]))
            bundle.lower, bundle.tol = lower, tol
            if bundle.converged or len(self.history) >= combiner.max_iter or not cut.detail.coef.any():
                return
            new = [m for m, peak in self.peaks.items() if peak.value > level + 2.0 * ENTERS * tol * size]
            if new:
                inner = max(INNER_SHARE * bundle.gap / size, MASTER * tol)
                weights = self._exchange(sorted(new, key=lambda m: -self.peaks[m].value))
                if self.is_full:
                    return
            elif inner > FINEST:  # one solution bounds less than the cuts of several, until the weights are exact
                inner, weights = INNER_SHARE * inner, bundle.best.point
            else:
                return

    def _solve_master(self, tol: float, weights: np.ndarray | None) -> None:
        scale = self.costs[[m for m, _ in self.columns]] ** -2.0
        problem = WeightProblem(self.stack, self.machine, scale, self.factor, self.control.max_steps)
        problem.history, first_gap = self.history, None
        if weights is not None:
            problem.last, first_gap = self.problem.last, INNER_SHARE * self.bundle.gap

        found: list[Evaluation] = []

        def evaluate(point: np.ndarray, gap: float | None) -> Evaluation:
            evaluation = problem.evaluate(point, first_gap if gap is None else gap)
            found[:] = [max(*found, evaluation, key=_lower)] if found else [evaluation]
            return evaluation

        most, simplex = self.combiner.max_iter, _Simplex(np.zeros(len(scale)), first=weights)
        left, control = max(1, most - len(self.history)), self.control
        self.problem = problem
        self.bundle = minimize_newton(evaluate, simplex, tol, left, lambda _: control.report(len(self.history), most))
        self.cut = found[0]

    def _find_peaks(self, level: float, slack: float) -> None:
        coef = self.factor[:, None] * self.cut.detail.coef
        self.peaks = {
            m: largest_form(family.forms(coef / self.costs[m]), *self.range, level, slack)
            for m, family in self.families.items()
        }

    def _exchange(self, new: list[int]) -> np.ndarray:
        """Peaks enter as columns, and columns without a weight leave; the weights to begin with are returned.

        Of each kernel one column stays, from which the stack takes how that kernel is normalised.
        """
        weights, stays = self.bundle.best.point, {}
        for place in np.argsort(weights, kind="stable").tolist():
            stays[self.columns[place][0]] = place
        kept = [place for place in range(len(weights)) if weights[place] > 0.0 or place in stays.values()]
        room = self.combiner.max_kernels - len(kept)
        self.is_full = room <= 0
        named = [(self.stack.names[place], place, self.stack.kernels[place]) for place in kept]
        columns = [self.columns[place] for place in kept]
        for m in new[:room]:
            family, u = self.families[m], self.peaks[m].point
            named.append((f"{self.base.names[m]} of width {family.scale(u):.6g}", stays[m], family.at(u)))
            columns.append((m, u))
        self.stack, self.columns = self.stack.with_kernels(named), columns
        return np.append(weights[kept], np.zeros(len(columns) - len(kept)))

    # What is found

    def widths(self, eta: np.ndarray) -> pd.DataFrame:
        found = [(m, self.families[m].scale(u), weight) for m, u, weight in self._weighted(eta)]
        return self._table(found, "scale", "weight")

    def profile(self) -> pd.DataFrame:
        level = float(self.cut.forms.max()) or 1.0
        found = [
            (m, self.families[m].scale(u), value / level)
            for m, peak in self.peaks.items()
            for u, value in zip(peak.points.tolist(), peak.values.tolist(), strict=True)
        ]
        return self._table(found, "scale", "ratio")

    def _weighted(self, eta: np.ndarray) -> list[tuple[int, float, float]]:
        """Kernel, width and weight of the Gaussians that have one."""
        rows = [(m, u, weight) for (m, u), weight in zip(self.columns, eta.tolist(), strict=True)]
        return sorted(row for row in rows if row[0] in self.families and row[2] > 0.0)

    def _table(self, rows: list[tuple[int, float, float]], *columns: str) -> pd.DataFrame:
        index = pd.Index([self.base.names[m] for m, *_ in rows], name="kernel")
        return pd.DataFrame(np.array([values for _, *values in rows]).reshape(-1, 2), index, list(columns))

    def combined(self, eta: np.ndarray) -> WidthSum:
        """The weighted sum of the model's own kernels, a Gaussian being the weighted sum of its widths."""
        totals = np.bincount([m for m, _ in self.columns], eta, self.base.n_kernels)
        kernels = list(self.base.kernels)
        for m, rows in groupby(self._weighted(eta), key=lambda row: row[0]):
            found = list(rows)
            if [u for _, u, _ in found] != [0.0]:
                shares = [1.0 if len(found) == 1 else weight / totals[m] for *_, weight in found]
                kernels[m] = weighted([self.families[m].at(u) for _, u, _ in found], shares)
        named = [(name, m, kernel) for m, (name, kernel) in enumerate(zip(self.base.names, kernels, strict=True))]
        return self.combiner.kernel(self.base.with_kernels(named, keeps_matrices=False), totals)
