"""`EasyMKL`: weights from one quadratic program on the sum of the kernels (Aiolli & Donini 2015).

The margin problem is between the convex hulls of the two classes, gamma being a distribution over each class:

    minimise over gamma    (1 - lam) gamma'Y K Y gamma + lam ||gamma||^2,     eta_m proportional to gamma'Y K_m Y gamma

K being the sum of the kernels, here divided by their number, so that `lam` does not depend on it. It is the hard-margin
machine on K' = (1 - lam) K + lam I: if alpha maximises sum(alpha) - 1/2 alpha'YK'Y alpha with alpha >= 0 and
alpha'y = 0, then gamma = 2 alpha / sum(alpha). Up to the scale of alpha that is the squared-hinge machine on K at
C = (1 - lam) / lam, whose dual has K + I / C; at lam = 1 gamma is 1/n for each class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...machines import DualTerms, Machine, SquaredHinge
from ...stacks import FitControl, TrainingStack
from ...validation import Constraints, Number, check_parameters
from ..weighted.sums import ChosenWeights


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
        """The weights, averaged over the machine's binary problems."""
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
    """The squared hinge at C = (1 - lam) / lam, whatever a sample costs; with bounds that no coefficient reaches.

    1/2 c_i^2 / C is a part of the optimum J, which is at most the loss of f = 0, n C / 2.

    Parameters
    ----------
    lam : float
    n_samples : int
        n: at least as many as the machine has.
    """

    by_pairs = True  # a rough solution is enough, and C is small

    def __init__(self, lam: float, n_samples: int):
        self.lam, self.n_samples = lam, n_samples

    def terms(self, y: np.ndarray, bound: np.ndarray) -> DualTerms:
        """Those of the squared hinge."""
        C = (1.0 - self.lam) / self.lam if self.lam < 1.0 else 1.0
        most = 1.1 * C * np.sqrt(self.n_samples)
        return DualTerms(y, np.where(y > 0.0, 0.0, -most), np.where(y > 0.0, most, 0.0), quadratic=1.0 / C)


@dataclass(frozen=True)
class ClassMeans:
    """Coefficients at lam = 1: the sign of each problem, divided by the number of samples on its side.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
        Samples of each class.
    n_outputs : int
        1 for two classes, else one for each class against the others.
    """

    counts: np.ndarray
    n_outputs: int

    def __call__(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Of shape (n_samples, n_outputs)."""
        chosen = np.arange(self.n_outputs) if self.n_outputs > 1 else np.ones(1, dtype=int)
        inside = self.counts[chosen]
        return np.where(y[:, None] == chosen, 1.0 / inside, -1.0 / (self.counts.sum() - inside))
