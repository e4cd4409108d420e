"""`PolynomialMKL`: a weighted sum of kernels and their products, with learned weights (Cortes et al. 2010).

Thesis section 2.2.2, the simplified form:

    k(x, z) = sum_{q in R} prod_m (eta_m k_m(x, z))^q_m,      R = {q : sum_m q_m = d}

minimise J(eta) over {eta >= 0, ||eta - eta_0|| <= Lambda}. J falls wherever a weight grows, so the set must be bounded.
The paper's full form has the monomials of lower degree, too; a constant kernel among the k_m adds them. Products of
sparse similarities are nearly diagonal and carry no information about new samples, so a share 1 - tau of the kernel is
the weighted sum itself, and the share of the products is chosen on held-out samples.

==========  ==================================
paper       here
==========  ==================================
mu, eta     theta, one weight per kernel
mu_0        ball_center
Lambda      ball_radius
d           degree
==========  ==================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...kernels import Kernel
from ...machines import Machine
from ...solvers import ConvexSet, project_ball
from ...stacks import ExactStack, FitControl, TrainingStack, training
from ...stacks.held_out import positions_of_parts
from ...validation import Constraints, Number, Whole
from ..descent.combiner import DescentCombiner
from ..named import NamedNumbers, as_numbers
from .forms import FormFamily, FormKernel, Monomials

TAUS = (0.0, 0.25, 0.5, 1.0)
UNSEEN_TAU = 0.0  # where no samples can be held out


class PolynomialMKL(NamedNumbers, DescentCombiner):
    """A weighted sum of kernels and their products; minimises J(eta) over weights in a ball (Cortes et al. 2010).

    k(x, z) = (1 - tau) / (P u) sum_m eta_m k_m(x, z) + tau sum over all q with sum_m q_m = degree of prod_m (eta_m
    k_m(x, z))^q_m, where a constant kernel may be one of the k_m in the products (not by itself: it would change
    nothing but the scale). The weights minimise the machine's optimum J(eta) subject to eta >= 0 and
    ||eta - ball_center|| <= ball_radius, from the uniform direction: a local minimum, J is not convex. Products of
    kernels are large where several views agree, which no weighted sum is; they pay where each view alone is weak, and
    fail where kernel values of different samples are near 0, as those of texts, whose products are nearly diagonal. A
    machine of degree 2 keeps more support vectors than a weighted sum.

    In what follows, u stands for the uniform weights at which kernels of unit diagonal give a kernel of unit diagonal,
    so that C means what it means for `Mean`; with tau = 0 they give that of `Mean`.

    Parameters
    ----------
    degree : int
        Number of factors of a monomial; 1 is a weighted sum.
    constant : float
        Weight of the constant kernel 1 as one more factor, in units of u: a positive one adds the monomials of all
        lower degrees, more of them the larger it is. 0 leaves only those of the full degree, the form of
        the thesis (Gönen 2010).
    ball_center : mapping or Series from kernel name to weight, sequence, one number for all, or None
        The centre of the ball. None is u / 2. Single weights of a mapping are parameters: ``ball_center__<name>``.
    ball_radius : float or None
        The radius of the ball. None is the distance from the centre to u; 0 keeps the centre.
    optimizer : {"lbfgs", "armijo"}
        Quasi-Newton steps within the ball, or projected gradient descent with Armijo's rule.
    max_iter : int
        Most outer iterations.
    tau : float or "auto"
        Share of the products, from 0 to 1: 0 is a weighted sum, 1 the thesis' form. "auto" takes, of 0, 1/4, 1/2 and 1,
        the one whose machine, under uniform weights, makes the least error on held-out samples, the smallest of equals:
        four folds, of which only the first is used from 1000 samples on, split with the estimator's `random_state`.
        Novelty detection has no error to hold out for; there, and where no class has two samples, it is 0.

    Attributes
    ----------
    tau_ : float
        The share of the products in use.

    Notes
    -----
    `kernel_weights_` are the weights eta. The kernel is a sum over kernels for ``tau_ = 0`` only, and kernel m is then
    multiplied by eta_m / (P u).

    Memory: the P Gram matrices, the combined one, and at most one more inside the machine; in lazy storage no matrix of
    all samples. Samples that lack a view are
    treated as in `forms.Monomials`.

    References
    ----------
    C. Cortes, M. Mohri, A. Rostamizadeh, Learning non-linear combinations of kernels, NIPS 22, 2010. M. Gönen,
    Localized multiple kernel algorithms for machine learning, PhD thesis, Boğaziçi University, 2010, section 2.2.2.

    Examples
    --------
    The sign of a product is in no view, nor in a sum of them:

    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Mean, PolynomialMKL
    >>> from kernelweave.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> views = [Linear([0]), Linear([1])]
    >>> model = MKLClassifier(views, PolynomialMKL(degree=2), normalize=None, C=10.0, random_state=0)
    >>> model.fit(X[:100], y[:100]).score(X[100:], y[100:]) > 0.9
    True
    """

    _constraints = Constraints(
        degree=Whole(1), constant=Number(low=0), ball_radius=Number(low=0) | None, tau=Number(low=0, high=1) | "auto"
    )
    _numbers = ("ball_center",)
    by_kernel = ("ball_center",)

    def __init__(
        self,
        degree: int = 2,
        constant: float = 1.0,
        *,
        ball_center: Mapping[str, float] | Any = None,
        ball_radius: float | None = None,
        optimizer: str = "lbfgs",
        max_iter: int = 200,
        tau: float | str = "auto",
    ):
        self.degree = degree
        self.constant = constant
        self.ball_center = ball_center
        self.ball_radius = ball_radius
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tau = tau

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """A function of all kernel values."""
        why = "PolynomialMKL learns a polynomial of kernels, whose explicit features would be all products of theirs"
        return {"elementwise": why}

    def family(self, stack: TrainingStack, machine: Machine, control: FitControl) -> BallFamily:
        """The forms with weights in the ball; also chooses the share of the products."""
        ball = self._ball(stack)
        chosen = isinstance(self.tau, str)
        self.tau_ = self._held_out_tau(training(stack), machine, control) if chosen else float(self.tau)
        return BallFamily(stack, self.kernel_form(stack.n_kernels), *ball)

    def kernel_form(self, n_kernels: int) -> Monomials:
        """The sum and the monomials, with the constant in units of the uniform weights."""
        return self._form(n_kernels, self.tau_)

    def _form(self, n_kernels: int, tau: float) -> Monomials:
        uniform = self._uniform(n_kernels)
        return Monomials(self.degree, self.constant * uniform, tau, (1.0 - tau) / (n_kernels * uniform))

    def _uniform(self, n_kernels: int) -> float:
        """The weight u: h_d(constant u, u, .., u) - (constant u)^d = u^d (h_d(constant, 1, .., 1) - constant^d) = 1."""
        return Monomials(self.degree, self.constant).at_one(np.ones(n_kernels)) ** (-1.0 / self.degree)

    def _ball(self, stack: TrainingStack) -> tuple[np.ndarray, float]:
        uniform = self._uniform(stack.n_kernels)
        center = as_numbers(
            0.5 * uniform if self.ball_center is None else self.ball_center, stack.names, "ball_center", default=0.0
        )
        if self.ball_radius is None:
            return center, float(np.linalg.norm(uniform - center))
        return center, float(self.ball_radius)

    def _held_out_tau(self, stack: ExactStack, machine: Machine, control: FitControl) -> float:
        """The share of least held-out error under uniform weights."""
        parts = [] if machine.detects_novelty else positions_of_parts(machine, control.rng)
        if not parts:
            return UNSEEN_TAU
        eta = np.full(stack.n_kernels, self._uniform(stack.n_kernels))
        K: Any = None
        errors = np.zeros(len(TAUS))
        for t, tau in enumerate(TAUS):
            K = FormKernel(stack, eta, self._form(stack.n_kernels, tau), None).operand(K)
            for held_out in parts:
                training = np.setdiff1d(np.arange(machine.n_samples), held_out)
                part = stack.part(K, training)
                solution = machine.subset(training).solve(part, tol=control.tol, max_steps=control.max_steps)
                values = stack.values(K, held_out, training, solution.coef) + solution.intercept
                errors[t] += machine.bound[held_out] @ machine.subset(held_out).losses(values)
        return TAUS[int(errors.argmin())]


class BallFamily(FormFamily):
    """A form with the weights of the non-negative part of a ball.

    Parameters
    ----------
    stack : KernelStack
    form : Monomials
    center : ndarray of shape (n_kernels,)
    radius : float
    """

    def __init__(self, stack: TrainingStack, form: Monomials, center: np.ndarray, radius: float):
        super().__init__(stack, form)
        self.center, self.radius = center, radius

    def start(self, machine: Machine, rng: np.random.RandomState) -> np.ndarray:
        """The point of the ball furthest in the uniform direction."""
        return self.center + self.radius / np.sqrt(len(self.center))

    def domain(self) -> ConvexSet:
        """The non-negative part of the ball."""
        return ConvexSet(lambda eta: project_ball(eta, self.center, self.radius))

    def finish(self, theta: np.ndarray) -> FormKernel:
        """The kernel, of which at least one weight must be positive."""
        if not theta.any():
            raise ValueError("every weight of PolynomialMKL is 0; give it another ball_center or a larger ball_radius")
        return self.at(theta)
