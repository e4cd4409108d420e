"""`EasyMKL`: weights from one quadratic program on the sum of the kernels (Aiolli & Donini 2015).

The margin problem is between the convex hulls of the two classes, gamma being a distribution over each class:

    minimise over gamma    (1 - lam) gamma'Y K Y gamma + lam ||gamma||^2,     eta_m proportional to gamma'Y K_m Y gamma

K being the sum of the kernels, here divided by their number, so that `lam` does not depend on it. It is the hard-margin
machine on K' = (1 - lam) K + lam I: if alpha maximises sum(alpha) - 1/2 alpha'YK'Y alpha with alpha >= 0 and
alpha'y = 0, then gamma = 2 alpha / sum(alpha). With explicit features that is the squared-hinge machine on K at
C = (1 - lam) / lam, whose dual has K + I / C: see `easy_explicit`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...machines import BinaryMachine, Machine, Solution
from ...validation import Constraints, Number, check_parameters
from ..base import FitControl
from ..weighted.sums import ChosenWeights
from .easy_explicit import explicit_margins
from .operands import operands_of


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

    why_dense = None
    why_exact = None

    _constraints = Constraints(lam=Number(above=0, high=1))

    def __init__(self, lam: float = 0.1):
        self.lam = lam

    def choose(self, stack, machine, y, control):
        """The weights, averaged over the machine's binary problems."""
        check_parameters(self)
        if machine.strata is None:
            raise ValueError("EasyMKL compares classes, so it needs a classifier; use ConvexMKL or LpMKL instead")
        if stack.storage == "explicit":
            return explicit_margins(stack, machine, float(self.lam), control)
        operands = operands_of(stack)
        K = operands.sum(np.full(stack.n_kernels, (1.0 - self.lam) / stack.n_kernels), ridge=self.lam)
        problems = binary_problems(machine)
        total = np.zeros(stack.n_kernels)
        for done, (rows, signs) in enumerate(problems):
            solution = self._distribution(operands.among(K, rows), signs, control)
            forms = np.maximum(operands.images([(rows, solution)]).forms(), 0.0)
            total += forms / forms.sum() if forms.any() else 1.0 / stack.n_kernels
            control.report(done + 1, len(problems))
        return total / total.sum(), len(problems)

    def _distribution(self, K: Any, signs: np.ndarray, control: FitControl) -> Solution:
        """gamma with the signs of the classes, up to a factor, as the coefficients of a machine."""
        # K' - lam I is positive semidefinite, so gamma'YK'Y gamma >= lam (1/n+ + 1/n-) and alpha stays below this:
        bound = 4.0 / (self.lam * ((1.0 / (signs > 0).sum()) + 1.0 / (signs < 0).sum()))
        solution = BinaryMachine(signs, bound).solve(K, tol=control.tol, max_steps=control.max_steps)
        if not solution.converged:
            warn(
                f"EasyMKL's margin problem stopped after {solution.steps} solver steps; raise max_iter or lam",
                ConvergenceWarning,
            )
        return solution


def binary_problems(machine: Machine) -> list[tuple[np.ndarray, np.ndarray]]:
    """Samples and signs of each two-class problem of the machine that has samples of both classes."""
    return [(rows, signs) for rows, signs in machine.two_class_problems() if (signs > 0).any() and (signs < 0).any()]
