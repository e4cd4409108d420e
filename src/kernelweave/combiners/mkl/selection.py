"""`BinaryMKL`: a fixed number of kernels with weight 1 each, thesis 2.2.1.4.

The thesis gives no budget; without one all weights are 1 at the optimum (J falls as kernels are added), so here
sum(eta) = k. The weights are relaxed to 0 <= eta <= 1, where J(eta) is convex, and the k largest are taken.

=========  =====================================
thesis     here
=========  =====================================
eta        `relaxed_weights_`, then 0 or 1
D          n_kernels: a kernel per feature there
=========  =====================================
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...solvers.weights.methods import Bundle, minimize_newton
from ...solvers.weights.sets import Budget
from ...validation import Constraints, Whole, check_parameters
from ..weighted.sums import ChosenWeights
from .problem import WeightProblem


class BinaryMKL(ChosenWeights):
    """The sum of `n_selected` kernels, those with the largest relaxed weights (Xu et al., 2009).

    Minimises the machine's optimum J(eta) over 0 <= eta <= 1, sum(eta) = k, with a certified bound, then gives weight 1
    to the k kernels with the largest weights and 0 to the others: the machine is trained on their sum. With one kernel
    for each feature it selects features.

    It helps where few kernels should be evaluated at prediction, or to find which they are; where all kernels are good,
    leaving some out costs accuracy. Rounding is a heuristic: compare `objective_` of the model with `bound_`, below
    which no choice of k kernels can get. Works with every machine. While weights are chosen, a sample without a view
    counts as a zero row of that kernel.

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
    Memory: all P matrices and one more of n x n; with ``storage="lazy"`` n_samples x P numbers for each output of the
    machine.

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
        """Weight 1 for the kernels with the largest relaxed weights."""
        given = check_parameters(self)
        n_selected, max_iter = given.n_selected, given.max_iter
        if n_selected > stack.n_kernels:
            raise ValueError(f"n_selected is {n_selected}, but there are only {stack.n_kernels} kernels")
        problem = WeightProblem(stack, machine, np.ones(stack.n_kernels), stack.unscaled(), control.max_steps)

        def tell(bundle: Bundle) -> None:
            control.report(bundle.evaluations, max_iter)

        found = minimize_newton(problem.evaluate, Budget(stack.n_kernels, n_selected), control.tol, max_iter, tell)
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
