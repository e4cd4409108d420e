"""`GeneralizedMKL`: a sum or a product of kernels under a penalty on their weights (Varma and Babu 2009).

Thesis (Gönen 2010), section 2.2.2 (GMKL): minimise J(eta) + r(eta) over eta >= 0, with no other constraint.

==========  ==================================================================
paper       here
==========  ==================================================================
d, eta      theta, one weight per kernel
r           penalty, times strength
k^S, k^P    form "sum", "product"
==========  ==================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...kernels import Kernel
from ...machines import Machine
from ...solvers import ConvexSet
from ...stacks import ExactStack, FitControl, TrainingStack, training
from ...validation import Choice, Constraints, Number
from ..descent.combiner import DescentCombiner
from .forms import FormFamily, FormKernel, Monomials
from .gaussian_form import GaussianForm

_FORMS: dict[str, Monomials | GaussianForm] = {"sum": Monomials(1), "product": GaussianForm()}
_PENALTIES = ("l1", "l2")


class GeneralizedMKL(DescentCombiner):
    """A weighted sum or a product of Gaussians; minimises J(eta) + r(eta) over eta >= 0 (Varma and Babu 2009).

    - ``form="product"``: k(x, z) = exp(-sum_m eta_m d_m^2(x, z)), where d_m is the distance in the feature space of
      kernel m, d_m^2(x, z) = k_m(x, x) + k_m(z, z) - 2 k_m(x, z) after normalisation. With one `Linear` kernel for each
      feature and ``normalize=None`` it is the Gaussian kernel with a width for each feature. J is not convex; this is a
      local minimum.
    - ``form="sum"``: k(x, z) = sum_m eta_m k_m(x, z), a convex problem. For novelty detection only the sum under the l2
      penalty makes sense; J alone would be smallest for a constant kernel.

    r(eta) is ``strength * sum_m eta_m`` ("l1", which drops kernels: their weights are exactly 0 and prediction never
    evaluates them) or ``strength / 2 * sum_m eta_m^2`` ("l2", which keeps most).

    Parameters
    ----------
    form : {"product", "sum"}
    penalty : {"l1", "l2"}
    strength : float
        Weight of the penalty. It stands against J, which grows with C and the number of samples. Positive for the sum,
        because its J falls without limit as weights grow.
    optimizer : {"lbfgs", "armijo"}
        Quasi-Newton steps within eta >= 0, or projected gradient descent with Armijo's rule.
    max_iter : int
        Most outer iterations.

    Notes
    -----
    The product starts at eta_m = 1 / (P v_m), where v_m is the variance of the training samples in kernel m's feature
    space; the sum starts at 1 / P. In the product, a sample that lacks a view stands at the origin of that kernel's
    feature space (with ``normalize="center"`` the mean of the training samples); in the sum its row is rescaled as in
    `WeightedSum`. `kernel_weights_` are eta: what multiplies k_m in the sum, and d_m^2 in the exponent of the product.

    Memory: the P Gram matrices, the combined one, and at most one more inside the machine; in lazy storage no matrix of
    all samples.

    References
    ----------
    M. Varma, B. R. Babu, More generality in efficient multiple kernel learning, ICML 2009. M. Gönen, Localized multiple
    kernel algorithms for machine learning, PhD thesis, Boğaziçi University, 2010, section 2.2.2.

    Examples
    --------
    One kernel for each feature, of which the second decides:

    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import GeneralizedMKL
    >>> from kernelweave.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.abs(X[:, 1]) > 0.7
    >>> features = [(f"x{m}", Linear([m])) for m in range(3)]
    >>> model = MKLClassifier(features, GeneralizedMKL("product", strength=3.0), normalize=None).fit(X, y)
    >>> (model.kernel_weights_ > 0).to_dict()
    {'x0': False, 'x1': True, 'x2': False}
    """

    _constraints = Constraints(form=Choice(*_FORMS), penalty=Choice(*_PENALTIES), strength=Number(low=0))

    def __init__(
        self,
        form: str = "product",
        penalty: str = "l1",
        *,
        strength: float = 1.0,
        optimizer: str = "lbfgs",
        max_iter: int = 200,
    ):
        self.form = form
        self.penalty = penalty
        self.strength = strength
        self.optimizer = optimizer
        self.max_iter = max_iter

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """A function of all kernel values."""
        why = "GeneralizedMKL learns a function of kernels, whose explicit features would be all products of theirs"
        return {"elementwise": why}

    def family(self, stack: TrainingStack, machine: Machine, control: FitControl) -> PenalizedFamily:
        """Check the parameters."""
        if self.strength == 0.0 and self.form == "sum":
            raise ValueError(
                'strength of GeneralizedMKL must be positive for form="sum": without a penalty, J falls without limit'
            )
        if machine.detects_novelty and (self.form, self.penalty) != ("sum", "l2"):
            # J = -1/2 c'Kc: weights of a product fall to 0 (K = 1), those of a sum under l1 too, or grow without limit.
            raise ValueError(
                'GeneralizedMKL needs form="sum" and penalty="l2" for novelty detection: otherwise J is smallest '
                "where all weights are 0 or infinite"
            )
        return PenalizedFamily(stack, self.kernel_form(stack.n_kernels), self.penalty, self.strength)

    def kernel_form(self, n_kernels: int) -> Monomials | GaussianForm:
        """The weighted sum or the product."""
        return _FORMS[self.form]


class PenalizedFamily(FormFamily):
    """A form with all non-negative weights, under a penalty.

    Parameters
    ----------
    stack : KernelStack
    form : Monomials or GaussianForm
    norm : {"l1", "l2"}
    strength : float
    """

    def __init__(self, stack: TrainingStack, form: Monomials | GaussianForm, norm: str, strength: float):
        super().__init__(stack, form)
        self.norm, self.strength = norm, strength

    def start(self, machine: Machine, rng: np.random.RandomState) -> np.ndarray:
        """Equal shares, of the squared distance (product) or of the kernel (sum)."""
        n_kernels = self.stack.n_kernels
        if self.diagonals is None:
            return np.full(n_kernels, 1.0 / n_kernels)
        variances = _variances(training(self.stack))
        return np.divide(1.0, n_kernels * variances, out=np.zeros_like(variances), where=variances > 0.0)

    def domain(self) -> ConvexSet:
        """The non-negative weights."""
        return ConvexSet(lambda eta: np.maximum(eta, 0.0))

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """r(eta) and its gradient."""
        if self.norm == "l1":
            return self.strength * theta.sum(), np.full_like(theta, self.strength)
        return 0.5 * self.strength * (theta @ theta), self.strength * theta

    def finish(self, theta: np.ndarray) -> FormKernel:
        """The kernel, of which at least one weight must be positive."""
        if not theta.any():
            raise ValueError(
                f"the penalty of GeneralizedMKL has removed every kernel; lower strength ({self.strength:g})"
            )
        return self.at(theta)


def _variances(stack: ExactStack) -> np.ndarray:
    """Variance of the training samples that have the view, in each kernel's feature space."""
    weight = np.where(stack.present, stack.weight[:, None], 0.0)
    weight = weight / np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    diagonals, images = stack.diagonals(), stack.images(weight.T[:, :, None])[:, :, 0].T
    variances = (weight * (diagonals - images)).sum(axis=0)
    return np.where(variances > 1e-12 * (weight * np.abs(diagonals)).sum(axis=0), variances, 0.0)
