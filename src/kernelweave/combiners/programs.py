"""Weights from one program of their own, solved before the machine: a quadratic, a relaxed and a semidefinite one.

`EasyMKL` (Aiolli & Donini 2015): the margin problem between the convex hulls of the two classes, gamma being a
distribution over each class,

    minimise over gamma    (1 - lam) gamma'Y K Y gamma + lam ||gamma||^2,     eta_m proportional to gamma'Y K_m Y gamma

K being the sum of the kernels, here divided by their number, so that `lam` does not depend on it. It is the hard-margin
machine on K' = (1 - lam) K + lam I: if alpha maximises sum(alpha) - 1/2 alpha'YK'Y alpha with alpha >= 0 and
alpha'y = 0, then gamma = 2 alpha / sum(alpha). Up to the scale of alpha that is the squared-hinge machine on K at
C = (1 - lam) / lam, whose dual has K + I / C; at lam = 1 gamma is 1/n for each class.

`BinaryMKL` (thesis 2.2.1.4): the thesis gives no budget; without one all weights are 1 at the optimum (J falls as
kernels are added), so here sum(eta) = k. The weights are relaxed to 0 <= eta <= 1, where J(eta) is convex
(`relaxed_weights_`), and the k largest are taken. The thesis' D is the number of kernels: one for each feature there.

`LinearMKL`: weights of any sign with K_eta positive semidefinite on the training samples (transductive in the thesis).

===========================  ======================================================  ========================
thesis                       here                                                    criterion
===========================  ======================================================  ========================
2.2.1.1, omega(K_eta)        the machine's optimum J                                 ``"margin"``
2.3.1.1, A(K_eta, yy')       alignment, not centred                                  ``"alignment"``
tr(K_eta) = c                `trace`; for the alignment only a scale                 both
===========================  ======================================================  ========================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn
from ..machines import DualTerms, Machine, SquaredHinge
from ..solvers import solve_alignment_program, solve_margin_program
from ..solvers.weights.methods import minimize_newton
from ..solvers.weights.semidefinite import joint_rank
from ..solvers.weights.sets import Budget
from ..stacks import FitControl, TrainingStack
from ..stacks.base import check_every_view
from ..validation import Choice, Constraints, Number, Whole, check_parameters
from .mkl import WeightProblem
from .similarity import compared_with_targets
from .weighted import ChosenWeights


class EasyMKL(ChosenWeights):
    """Kernel weights proportional to how far apart each kernel puts the two classes.

    Minimises ``(1 - lam) gamma'Y K Y gamma + lam ||gamma||^2`` over distributions gamma on each class, K being the mean
    of the kernels, and gives kernel m the weight ``gamma'Y K_m Y gamma``, all divided by their sum (Aiolli & Donini
    2015). For classification; with several classes the weights are averaged over the machines of the classes or pairs.

    One machine on the mean kernel is all it takes, so it copes with very many kernels. The weights are never sparse and
    stay near equal where the kernels are about equally good.

    Parameters
    ----------
    lam : float
        Above 0 and at most 1: at 1 every sample counts alike, near 0 only the samples at the margin. The paper and
        MKLpy add up the P kernels where this takes their mean: a lam of theirs is ``lam / ((1 - lam) P + lam)`` here,
        and a lam of this class is ``lam P / (1 - lam + lam P)`` there.

    Notes
    -----
    Memory: the P Gram matrices and one n x n matrix; with ``storage="lazy"`` n_samples x P numbers, and with explicit
    features n_samples numbers for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import EasyMKL
    >>> from kernelweave.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = MKLClassifier([("signal", Linear([0])), ("noise", Linear([1]))], EasyMKL(), normalize="unit-trace")
    >>> weights = model.fit(X, X[:, 0] > 0).kernel_weights_
    >>> bool(weights["signal"] > 0.9)
    True
    """

    _constraints = Constraints(lam=Number(above=0, high=1))

    def __init__(self, lam: float = 0.1):
        self.lam = lam

    def choose(self, stack, machine, control):
        check_parameters(self)
        if machine.strata is None:
            raise ValueError("EasyMKL compares classes, so it needs a classifier; use ConvexMKL or LpMKL instead")
        shares: list[np.ndarray] = []
        problems = stack.margins(machine, Margin(float(self.lam), stack.n_samples))
        for done, (part, its_machine) in enumerate(problems):
            forms = np.maximum(self._forms(part, its_machine, control), 0.0)  # of shape (n_kernels, n_outputs)
            sizes = forms.sum(axis=0)
            shares += list(np.divide(forms, sizes, out=np.full(forms.shape, 1.0 / len(forms)), where=sizes > 0.0).T)
            control.report(done + 1, len(problems))
        total = np.sum(shares, axis=0)
        return total / total.sum(), len(shares)

    def _forms(self, stack: TrainingStack, machine: Machine, control: FitControl) -> np.ndarray:
        """gamma'Y K_m Y gamma of each output, up to a factor."""
        if self.lam == 1.0:
            return stack.forms_of(ClassMeans(stack.class_counts(machine), machine.n_outputs))
        sums, P = stack.sums(), stack.n_kernels
        solution = machine.solve(sums.at(np.full(P, 1.0 / P)), tol=control.tol, max_steps=control.max_steps)
        if not solution.converged:
            warn(
                f"EasyMKL's margin problem stopped after {solution.steps} solver steps; raise max_iter or lam",
                ConvergenceWarning,
            )
        return sums.by_output(machine, solution)


class Margin(SquaredHinge):
    """The squared hinge at C = (1 - lam) / lam for every sample; with bounds that no coefficient reaches.

    1/2 c_i^2 / C is a part of the optimum J, which is at most the loss of f = 0, n C / 2.
    """

    by_pairs = True  # a rough solution is enough, and C is small

    def __init__(self, lam: float, n_samples: int):
        self.lam, self.n_samples = lam, n_samples

    def terms(self, y: np.ndarray, bound: np.ndarray) -> DualTerms:
        C = (1.0 - self.lam) / self.lam if self.lam < 1.0 else 1.0
        most = 1.1 * C * np.sqrt(self.n_samples)
        return DualTerms(y, np.where(y > 0.0, 0.0, -most), np.where(y > 0.0, most, 0.0), quadratic=1.0 / C)


@dataclass(frozen=True)
class ClassMeans:
    """Coefficients at lam = 1: the sign of each problem, divided by the number of samples on its side."""

    counts: np.ndarray
    n_outputs: int

    def __call__(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        chosen = np.arange(self.n_outputs) if self.n_outputs > 1 else np.ones(1, dtype=int)
        inside = self.counts[chosen]
        return np.where(y[:, None] == chosen, 1.0 / inside, -1.0 / (self.counts.sum() - inside))


class BinaryMKL(ChosenWeights):
    """The sum of `n_selected` kernels, those with the largest relaxed weights (Xu et al., 2009).

    Minimises the machine's optimum J(eta) over 0 <= eta <= 1, sum(eta) = k, with a certified bound, then gives weight 1
    to the k kernels with the largest weights and 0 to the others: the machine is trained on their sum. With one kernel
    for each feature it selects features.

    It helps where few kernels should be evaluated at prediction, or to find which they are; where all kernels are good,
    leaving some out costs accuracy. Rounding is a heuristic: compare `objective_` of the model with `bound_`, below
    which no choice of k kernels can get. Works with every machine. While choosing, a missing view counts as a zero row.

    Parameters
    ----------
    n_selected : int
        k, from 1 to the number of kernels.
    max_iter : int
        Most machines to solve while choosing.

    Attributes
    ----------
    relaxed_weights_ : Series
        The weights before rounding.
    relaxed_objective_ : float
        J at the relaxed weights.
    bound_ : float
        No weights in the relaxed set, and so no k kernels, have a smaller J.

    Notes
    -----
    Memory: all P matrices and one more of n x n; with ``storage="lazy"`` n_samples x P numbers for each output.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import BinaryMKL
    >>> from kernelweave.kernels import Gaussian
    >>> X, y = datasets.make_gauss(4, 120, random_state=0)
    >>> noisy = np.hstack([X, np.random.default_rng(0).normal(size=(120, 2))])
    >>> kernels = [(name, Gaussian([i])) for i, name in enumerate(["x", "y", "noise", "more noise"])]
    >>> MKLClassifier(kernels, BinaryMKL(2), C=0.1).fit(noisy, y).kernel_weights_
    x             1.0
    y             1.0
    noise         0.0
    more noise    0.0
    dtype: float64
    """

    _constraints = Constraints(n_selected=Whole(1), max_iter=Whole(1))

    def __init__(self, n_selected: int, max_iter: int = 500):
        self.n_selected = n_selected
        self.max_iter = max_iter

    def for_kernels(self, names, kept):
        """A copy that selects no more kernels than there are."""
        return super().for_kernels(names, kept).set_params(n_selected=min(self.n_selected, len(kept)))

    def choose(self, stack, machine, control):
        given = check_parameters(self)
        n_selected, max_iter = given.n_selected, given.max_iter
        if n_selected > stack.n_kernels:
            raise ValueError(f"n_selected is {n_selected}, but there are only {stack.n_kernels} kernels")
        problem = WeightProblem(stack, machine, np.ones(stack.n_kernels), stack.unscaled(), control.max_steps)
        found = minimize_newton(
            problem.evaluate,
            Budget(stack.n_kernels, n_selected),
            control.tol,
            max_iter,
            lambda bundle: control.report(bundle.evaluations, max_iter),
        )
        if not found.converged:
            warn(
                f"BinaryMKL stopped after {found.evaluations} machines with a gap of {found.gap:.2g} (J is "
                f"{found.upper:.4g}); raise its max_iter or the estimator's tol",
                ConvergenceWarning,
            )
        relaxed = found.best.point
        self.relaxed_weights_ = pd.Series(relaxed, index=stack.names)
        self.relaxed_objective_ = found.upper
        self.bound_ = found.lower
        eta = np.zeros(stack.n_kernels)
        eta[np.argsort(-relaxed, kind="stable")[:n_selected]] = 1.0
        return eta, found.evaluations


CRITERIA = ("margin", "alignment")
LARGEST_RANK = 100
# Weights whose kernel has less than this share of the norm of the largest part are an interior point's zeros.
_ZERO = 1e-8


class LinearMKL(ChosenWeights):
    """Weights of any sign, with a positive semidefinite combined kernel, from a semidefinite program.

    Minimises the machine's optimum J(K_eta) (``"margin"``) or maximises the alignment <K_eta, T> / ||K_eta||
    (``"alignment"``) over all real weights for which K_eta is positive semidefinite on the training samples and has
    trace c (Lanckriet et al., 2004). T is that of `AlignmentWeights`, not centred.

    It helps where one kernel contains what is noise in another, which a negative weight takes out; otherwise signs are
    one more way to overfit, and it is for small samples only. Every sample needs every view. ``"margin"`` takes support
    vector machines with one output: two classes, regression, novelty detection; ``"alignment"`` every one with targets.

    Parameters
    ----------
    criterion : {"margin", "alignment"}
    trace : float or None
        c; None is the mean trace of the kernels. For ``"margin"`` only c times C matters.

    Attributes
    ----------
    program_objective_ : float
        J, or the alignment, at the optimum of the program.
    gap_ : float
        Its duality gap.

    Notes
    -----
    Kernels that repeat others share their weight.
    The size of the program is the rank r of all kernels together, at most the number of samples; r is limited to 100.
    Memory: all P matrices of n x n, and about 15 r^4 bytes for the program: 0.2 GB for r = 60, 1.5 GB for r = 100. Time
    grows with r^6, from below a second for r = 30 to minutes for r = 100. ``storage="lazy"`` is refused.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import LinearMKL
    >>> from kernelweave.kernels import Linear
    >>> rng = np.random.default_rng(0)
    >>> signal, noise = rng.normal(size=(2, 30))
    >>> X = np.column_stack([signal, 2 * noise])
    >>> kernels = [("both", Linear()), ("noise", Linear([1]))]
    >>> model = MKLClassifier(kernels, LinearMKL(), normalize="unit-trace").fit(X, signal > 0)
    >>> bool(model.kernel_weights_["noise"] < 0)
    True
    """

    any_sign = True

    _constraints = Constraints(criterion=Choice(*CRITERIA), trace=Number(above=0) | None)

    def __init__(self, criterion: str = "margin", trace: float | None = None):
        self.criterion = criterion
        self.trace = trace

    def needs(self, kernels=()):
        return {"gram": "LinearMKL solves a semidefinite program of whole Gram matrices"}

    def choose(self, stack, machine, control):
        given = check_parameters(self)
        check_every_view(type(self).__name__, stack.names, stack.present, stack.reference)
        problem = self._problem(machine) if self.criterion == "margin" else None
        matrices = stack.matrices()
        rank = joint_rank(matrices)
        if rank > LARGEST_RANK:
            raise ValueError(
                f"LinearMKL solves a semidefinite program of the size of the kernels' joint rank, which is {rank} here "
                f"and may be at most {LARGEST_RANK}; use fewer samples, or weights of one sign (AlignmentWeights)"
            )
        traces = np.trace(matrices, axis1=1, axis2=2, dtype=np.float64)
        trace = traces.mean() if given.trace is None else given.trace
        if problem is not None:
            result = solve_margin_program(matrices, **problem, trace=trace)
            eta, self.program_objective_, self.gap_ = result.solution, result.objective, result.gap
        else:
            found = compared_with_targets(stack, machine, self, centered=False, pairs=True)
            result = solve_alignment_program(matrices, found.to_target, found.between)
            eta = result.solution * trace / (traces @ result.solution)
            self.program_objective_, self.gap_ = result.objective / found.target_norm, result.gap / found.target_norm
        if not result.converged:
            warn(
                f"LinearMKL stopped after {result.steps} steps with a duality gap of {result.gap:.2g}; scale the "
                "kernels alike, or remove kernels that others repeat",
                ConvergenceWarning,
            )
        parts = np.abs(eta) * np.linalg.norm(matrices, axis=(1, 2))
        return np.where(parts > _ZERO * parts.max(), eta, 0.0), 0

    def _problem(self, machine: Any) -> dict[str, Any]:
        if not machine.has_box_dual:
            raise ValueError(
                'LinearMKL with criterion="margin" needs a support vector machine with one output (two classes, '
                'regression or novelty detection); criterion="alignment" takes any machine with targets, and several '
                'classes or targets are taken one by one with weights="per-class" or weights="per-target"'
            )
        return machine.problem()
