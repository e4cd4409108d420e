"""`AlignmentWeights`: weights by the alignment of kernels with the targets, thesis 2.3.1.

With alignments a_m = <K_m, T> and products G_mh = <K_m, K_h>:

==============  ============================================================  ==========================
thesis          problem                                                       rule
==============  ============================================================  ==========================
(2.7)           eta_m = A(K_m, T) / sum_h A(K_h, T)                           ``"proportional"``
2.3.1.2, end    maximise a'eta - eta'G eta - lambda ||eta||^2, eta >= 0       ``"qp"`` (Kandola)
(2.6)           maximise a'eta, eta'G eta <= 1, eta >= 0                      ``"qcqp"`` (Lanckriet)
2.3.1.1         maximise A(K_eta, T) by its gradient, here with eta >= 0      ``"gradient"`` (Igel)
==============  ============================================================  ==========================

Scaling eta changes no alignment, so ``"qcqp"`` and ``"gradient"`` have the same solution and ``"qp"`` has it too where
lambda = 0: a'eta - eta'G eta is largest, over all multiples of eta, at (a'eta)^2 / (4 eta'G eta), which grows with the
alignment. Weights of any sign are not offered: without the constraint they fit noise (see `LinearMKL` for signs that
keep the kernel positive semidefinite).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...solvers import minimize_scale_free
from ...stacks.base import Similarity
from ...validation import Choice, Constraints, Flag, Number, check_parameters
from ..weighted.sums import ChosenWeights
from .inner_products import compared_with_targets

RULES = ("proportional", "qp", "qcqp", "gradient")
# Eigenvalues of <K_m, K_h>, of kernels scaled to norm 1, below this share of the largest are rounding.
_DEPENDENT = 1e-12


class AlignmentWeights(ChosenWeights):
    """Weights that align the combined kernel with the ideal kernel T of the targets.

    Maximises the cosine <K_eta, T> / (||K_eta|| ||T||), Frobenius inner products, over eta >= 0 (``"qcqp"``,
    ``"gradient"``), the same with a penalty on large weights (``"qp"``), or simply takes each kernel's own alignment as
    its weight (``"proportional"``). Weights sum to 1. Alignment after Cristianini et al. (2002); the rules after Qiu
    and Lane (2009), Kandola et al. (2002), Lanckriet et al. (2004) and Igel et al. (2007); centring after Cortes, Mohri
    and Rostamizadeh (2012).

    It helps where some kernels are unrelated to the targets, and costs less than one fit of the machine; where all
    kernels are good it does about as well as `Mean`. ``"qcqp"`` gives weight 0 to kernels that repeat others;
    ``"proportional"`` gives each of them its weight.

    T is yy' for two classes, 1 within and -1/(k - 1) between k classes, and yy' with centred y for regression,
    averaged over targets.
    A sample without a view counts as a zero row of that kernel. Without any kernel of positive alignment all weights
    are equal, with a warning.

    Parameters
    ----------
    rule : {"proportional", "qp", "qcqp", "gradient"}
        ``"proportional"`` needs no products of kernels with each other, and so less memory and time.
    center : bool
        Whether to centre kernels and targets in feature space first; without it a kernel that is large everywhere
        counts as aligned with the majority class.
    ridge : float
        lambda of ``"qp"``, in units of the mean of ||K_m||^2. Large values make weights proportional to <K_m, T>.

    Attributes
    ----------
    alignments_ : Series
        A(K_m, T) by kernel name.
    alignment_ : float
        A(K_eta, T), except for ``"proportional"``, which does not compute it.

    Notes
    -----
    Multiplying a kernel by a constant leaves the combined kernel of ``"qcqp"`` and ``"gradient"`` as it is, and the
    weights of ``"proportional"``.
    Memory: one n x n matrix at a time for ``"proportional"``, all P of them for the other rules; with
    ``storage="lazy"`` a tile of each, in two passes over the kernels. With explicit features: a matrix of the size of
    two kernels' features for each kernel, or for each pair of them.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import AlignmentWeights
    >>> from kernelweave.kernels import Linear
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = MKLClassifier([Linear("fou"), Linear("zer")], AlignmentWeights()).fit(X[::10], y[::10])
    >>> model.kernel_weights_.round(2)
    fou    0.62
    zer    0.38
    dtype: float64
    """

    _constraints = Constraints(rule=Choice(*RULES), center=Flag(), ridge=Number(low=0))

    def __init__(self, rule: str = "proportional", center: bool = True, *, ridge: float = 0.1):
        self.rule = rule
        self.center = center
        self.ridge = ridge

    def choose(self, stack, machine, control):
        """Weights of the chosen rule, scaled to sum 1."""
        given = check_parameters(self)
        found = compared_with_targets(stack, machine, self, given.center, pairs=self.rule != "proportional")
        self.alignments_ = pd.Series(found.alignments, index=stack.names)
        if not (found.alignments > 0).any():
            warn("no kernel is aligned with the targets, so all weights are equal")
            eta = np.ones(stack.n_kernels)
        elif self.rule == "proportional":
            eta = np.maximum(found.alignments, 0.0)  # thesis (2.7)
        elif self.rule == "gradient":
            eta = _ascent(found)
        else:  # thesis (2.6), whose solution is a multiple of that of Kandola's problem without a penalty
            penalty = given.ridge * np.mean(found.norms**2) if self.rule == "qp" else 0.0
            eta = _non_negative_optimum(found.between + penalty * np.eye(stack.n_kernels), found.to_target)
        if found.between is not None:
            norm = np.sqrt(eta @ found.between @ eta) * found.target_norm
            self.alignment_ = float(found.to_target @ eta / norm) if norm > 0 else 0.0
        return eta / eta.sum(), 0


def _non_negative_optimum(G: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The maximiser of a'eta - eta'G eta / 2 over eta >= 0, as a least-squares problem of the size of G.

    Kernels are scaled to G_mm = 1 first, so that no kernel is lost to rounding; one with G_mm = 0 has weight 0.
    """
    scale = np.sqrt(np.diagonal(G))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    values, vectors = np.linalg.eigh(G * inverse[:, None] * inverse[None, :])
    kept = values > _DEPENDENT * values[-1]
    root = np.sqrt(values[kept])
    basis = vectors[:, kept].T
    return nnls(root[:, None] * basis, basis @ (a * inverse) / root)[0] * inverse


def _ascent(found: Similarity) -> np.ndarray:
    """Ascend the alignment by its gradient, thesis 2.3.1.1, over weights of kernels scaled to norm 1."""
    known = found.norms > 0
    norms = found.norms[known]
    G = found.between[np.ix_(known, known)] / np.outer(norms, norms)
    a = found.alignments[known]

    def descent(eta):
        image = G @ eta
        square = eta @ image
        value = a @ eta / np.sqrt(square)
        gradient = (a * square - (a @ eta) * image) / square**1.5  # thesis 2.3.1.1, Igel et al. (2007)
        return -value, -gradient

    # Alignments of non-negative combinations have no other local maxima where they are positive.
    result = minimize_scale_free(descent, np.maximum(a, 0.0))
    if not result.converged:
        warn(
            f"AlignmentWeights stopped after {result.steps} steps with a violation of {result.violation:.2g}; "
            'rule="qcqp" finds the same weights directly',
            ConvergenceWarning,
        )
    eta = np.zeros(len(known))
    eta[known] = result.solution / norms
    return eta
