"""`KLDivergence`: weights by the divergence between Gaussians with combined and ideal covariance, thesis 2.3.2.

KL(N(0, K) || N(0, S)) = 1/2 (tr(S^-1 K) - log det K + log det S - n) is convex in K. The target of the thesis, yy', has
rank one and an infinite divergence; S = T + sigma I has not. With T = Z Z' of few columns,

    tr(S^-1 K) = (tr K - tr((sigma I + Z'Z)^-1 Z'KZ)) / sigma

needs no n x n inverse, so that only log det K_eta does.

=========  =============================================  ==================
thesis     here                                           name
=========  =============================================  ==================
K_eta      combined kernel plus a small ridge             `_Divergence`
yy'        ideal kernel T plus sigma I                    `ideal_factor`
=========  =============================================  ==================
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, lapack
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...solvers import minimize_on_simplex
from ...validation import Constraints, Number, check_parameters
from ..weighted.sums import ChosenWeights
from .inner_products import ideal_factor

_TOLERANCE = 1e-4


class KLDivergence(ChosenWeights):
    """Weights for which the Gaussian with covariance K_eta is nearest to the one of the ideal kernel.

    Minimises KL(N(0, K_eta + r I) || N(0, T + sigma I)) over eta >= 0, sum(eta) = 1, by projected gradients that never
    raise it (Ying et al., 2009). T is that of `AlignmentWeights`. The problem is convex and solved to a gap of 1e-4 per
    sample.

    It helps to keep kernels of high rank beside an informative one: log det K rewards kernels under which samples
    differ, for any targets; with a small `sigma` the targets decide. It costs an n x n factorisation for each step. A
    sample without a view counts as a zero row of that kernel, and sample weights do not enter.

    Parameters
    ----------
    sigma : float
        Variance that no target explains, added to T; in units of T, whose diagonal is 1 for classification.
    ridge : float
        r in units of the mean diagonal of the kernels: what keeps log det finite for singular kernels.

    Attributes
    ----------
    divergence_ : float
        The minimum found.
    gap_ : float
        How far, at most, it is from its minimum.

    Notes
    -----
    Memory: all P matrices and two more of n x n; ``storage="lazy"`` is refused.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.combiners import KLDivergence
    >>> from kernelweave.kernels import Linear
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = MKLClassifier([Linear("fou"), Linear("zer")], KLDivergence()).fit(X[::20], y[::20])
    >>> bool(model.kernel_weights_.sum().round(6) == 1)
    True
    """

    _constraints = Constraints(sigma=Number(above=0), ridge=Number(above=0))

    def __init__(self, sigma: float = 0.1, ridge: float = 1e-3):
        self.sigma = sigma
        self.ridge = ridge

    def needs(self, kernels=()):
        """Determinants of whole matrices."""
        return {"gram": "KLDivergence takes determinants of whole Gram matrices"}

    def choose(self, stack, machine, control):
        """The minimiser of the divergence on the simplex."""
        given = check_parameters(self)
        if not any(K.any() for K in stack.matrices()):
            raise ValueError(f"KLDivergence needs a kernel that is not zero, but all are: {stack.names}")
        divergence = _Divergence(stack.matrices(), ideal_factor(stack, machine, self), given.sigma, given.ridge)
        start = np.full(stack.n_kernels, 1.0 / stack.n_kernels)
        result = minimize_on_simplex(divergence, start, tol=_TOLERANCE)
        if not result.converged:
            warn(
                f"KLDivergence stopped after {result.steps} steps with a gap of {result.gap:.2g} per sample; "
                "raise sigma or ridge",
                ConvergenceWarning,
            )
        self.divergence_ = result.objective * stack.n_samples
        self.gap_ = result.gap * stack.n_samples
        return result.solution, 0


class _Divergence:
    """KL per sample and its gradient in the weights."""

    def __init__(self, matrices: np.ndarray, factor: np.ndarray, sigma: float, ridge: float):
        self.matrices = matrices
        n_samples = matrices.shape[1]
        inner = factor.T @ factor
        noisy = inner + sigma * np.eye(len(inner))
        traces = np.array([np.trace(K, dtype=np.float64) for K in matrices])
        explained = [np.trace(np.linalg.solve(noisy, factor.T @ (K @ factor))) for K in matrices]
        self.traces = (traces - explained) / sigma  # tr(S^-1 K_m)
        self.ridge = ridge * max(traces.mean() / n_samples, np.finfo(float).tiny)
        log_det = np.linalg.slogdet(noisy)[1] + (n_samples - len(inner)) * np.log(sigma)
        ridge_trace = self.ridge * (n_samples - np.trace(np.linalg.solve(noisy, inner))) / sigma
        self.constant = log_det + ridge_trace - n_samples

    def __call__(self, eta: np.ndarray) -> tuple[float, np.ndarray]:
        n_samples = self.matrices.shape[1]
        K = np.tensordot(eta, self.matrices, axes=1).astype(np.float64, copy=False)
        K.flat[:: n_samples + 1] += self.ridge
        try:
            factor = cho_factor(K, lower=True, overwrite_a=True)[0]
        except LinAlgError:
            raise ValueError(
                "KLDivergence needs positive semidefinite kernels; repair them (repair='clip'), or raise ridge"
            ) from None
        log_det = 2.0 * np.log(np.diagonal(factor)).sum()
        # The lower triangle of the inverse, entries below the diagonal twice: products with symmetric matrices agree.
        inverse = np.tril(lapack.dpotri(factor, lower=1)[0])
        inverse *= 2.0
        inverse.flat[:: n_samples + 1] /= 2.0
        slopes = self.traces - np.array([np.vdot(inverse, K_m) for K_m in self.matrices])
        value = self.traces @ eta - log_det + self.constant
        return 0.5 * value / n_samples, 0.5 * slopes / n_samples
