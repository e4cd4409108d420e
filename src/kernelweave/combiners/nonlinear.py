"""Nonlinear combinations: products, polynomials and differences of kernels, thesis section 2.2.2.

`Product` is (2.3). `GeneralizedMKL` (GMKL, Varma and Babu 2009) minimises J(eta) + r(eta) over eta >= 0 for a sum k^S
or a product k^P of kernels, with no other constraint. `PolynomialMKL` (Cortes et al. 2010) has the simplified form

    k(x, z) = sum_{q in R} prod_m (eta_m k_m(x, z))^q_m,      R = {q : sum_m q_m = d}

and minimises J(eta) over {eta >= 0, ||eta - eta_0|| <= Lambda} (eta_0 is `ball_center`, Lambda `ball_radius`). J falls
with every weight that grows, so the set must be bounded. A constant kernel among the k_m adds the monomials of lower
degree, as in the paper's full form. Products of sparse similarities are nearly diagonal and tell nothing of new
samples, so a share 1 - tau is the weighted sum itself, and tau is chosen on held-out samples.

`KernelDifference` (de Diego 2004) is K = 1/2 (K_1 + K_2) + tau f(K_1 - K_2), for more kernels recursively. With
f = ``"square"`` a new sample has (k_1 - k_2)(K_1 - K_2) of its row, the product that training samples have.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn
from ..kernels import Kernel, KernelStack, Repair
from ..kernels.tiles.sums import TiledFunction
from ..machines import Machine
from ..solvers import ConvexSet, project_ball
from ..stacks import ExactStack, FitControl, TrainingStack, training
from ..stacks.base import check_every_view
from ..stacks.held_out import positions_of_parts
from ..validation import Choice, Constraints, Number, Whole, check_parameters
from ..validation.schemas import (
    Schema,
    Sizes,
    count,
    expect,
    indices,
    maybe,
    number,
    numbers,
    object_of,
    one_of,
    refuse,
    several,
)
from ..views import Views
from .base import Combiner, NamedNumbers, as_numbers
from .combined import CombinedKernel, ExplicitState, PointwiseKernel, Record, written
from .descent import DescentCombiner
from .forms import AugmentedStack, FormFamily, FormKernel, GaussianForm, Monomials


class Product(Combiner):
    """The product of the kernels, k(x, z) = prod_m k_m(x, z): thesis (Gönen 2010), (2.3).

    Nothing is learned. Samples are similar only if they are similar in every view; every sample needs every view. All
    factors count alike, so each kernel's weight is 1.

    Memory: two n x n matrices, the product and a kernel, and at most one more inside the machine; in lazy storage none.

    Examples
    --------
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Product
    >>> from kernelweave.kernels import Gaussian, Polynomial
    >>> model = MKLClassifier([Polynomial(), Gaussian()], combiner=Product())
    >>> model.fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]).predict([[1.5], [5.5]])
    array([0, 1])
    """

    _uses_all = True

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        return {"elementwise": "Product multiplies kernels, whose explicit features would be all products of theirs"}

    def largest_value(self, names: list[str], largest: np.ndarray) -> float:
        return float(largest.prod())

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> ProductKernel:
        begin = time.perf_counter()
        stack.check_memory(3, "the combined kernel")
        return ProductKernel(training(stack)).solve(machine, control, begin)

    def _kernel_of(self, stack: Any, theta: np.ndarray) -> ProductKernel:
        return ProductKernel(stack)


class ProductKernel(PointwiseKernel):
    def __init__(self, stack: KernelStack):
        super().__init__(stack, np.ones(stack.n_kernels))

    def combine(self, values: Iterator[np.ndarray]) -> np.ndarray:
        product = next(values)
        for other in values:
            product *= other
        return product

    def in_parts(self) -> TiledFunction:
        found = super().in_parts()
        found.combine = lambda values, rows, columns: self.combine(values)
        return found

    def check(self, present: np.ndarray, views: Views) -> None:
        check_every_view("Product", self.names, present, views)

    def sample_weights(self, views: Views) -> np.ndarray:
        return np.ones((views.n_samples, self.n_kernels))

    def restrict(self, index: np.ndarray) -> ProductKernel:
        return ProductKernel(self.stack.restrict(index))


FORMS = ("absolute", "difference", "square")


class DifferenceState(Record):
    """The samples of the kernel itself are the ``rows`` of the samples of ``differences``."""

    taken = ("stack", "signs", "first_coef", "first_intercept", "repair", "differences")
    _saved = Schema(
        {
            "stack": object_of(KernelStack, "columns", "kernels", support="reference"),
            "signs": maybe(numbers("reference")),
            "first_coef": maybe(numbers("reference", 1)),
            "first_intercept": maybe(numbers(1)),
            "repair": object_of(Repair, "reference"),
            "rows": indices("support", below="reference"),
            "differences": several(numbers("reference", "reference")),
        }
    )

    @classmethod
    def of(cls, kernel: Any) -> Self:
        return cls(**vars(super().of(kernel)), rows=kernel.index)

    def restored(self, combiner: Any, theta: np.ndarray) -> DifferenceKernel:
        given = {name: getattr(self, name) for name in ("signs", "first_coef", "first_intercept", "differences")}
        return DifferenceKernel(self.stack, combiner.form, combiner.tau, self.repair, index=self.rows, **given)


class KernelDifference(Combiner):
    """The mean of two kernels plus tau times a function of their difference (de Diego et al., 2004).

    ``k(x, z) = 1/2 (k_1 + k_2) + tau f(k_1 - k_2)`` with f = ``y_x y_z |k_1 - k_2|`` (``"absolute"``), f = ``y_x y_z
    (k_1 - k_2)`` (``"difference"``) or the square of the matrix K_1 - K_2 (``"square"``). Three and more kernels are
    combined one after the other, so that their order matters. Nothing is optimised; choose `tau` by cross-validation.

    It helps, at best, where each of two kernels is good for other samples; the first two forms write the training
    labels into the kernel, so that training samples look far better separated than new ones are, and a large `tau`
    repeats the errors of the machine on the mean kernel. The forms with labels take two classes only, ``"square"``
    takes every machine; every sample needs every view.

    Parameters
    ----------
    form : {"absolute", "difference", "square"}
    tau : float
        Weight of the difference, at least 0; 0 is the mean (recursively) of the kernels.
    repair : {"clip", "shift", None}
        What to do where the combined kernel is not positive semidefinite, as the forms with labels can make it; see
        `kernels.Repair`. None warns only, and the machine may then stop at a point that is no optimum.

    Notes
    -----
    The label of a new sample is estimated by the same machine trained on the mean kernel: its decision value cut to
    [-1, 1]. Training samples that are predicted count as new ones. `kernel_weights_` are those of the kernels in the
    part without differences. Memory: six n x n matrices while fitting; for ``"square"`` one more for each kernel after
    the first, which the model keeps. Prediction compares new samples with all training samples.

    Examples
    --------
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import KernelDifference
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> model = MKLClassifier([Linear(), Gaussian()], combiner=KernelDifference("square", tau=0.1))
    >>> model.fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]).predict([[1.5], [5.5]])
    array([0, 1])
    """

    _constraints = Constraints(form=Choice(*FORMS), tau=Number(low=0))

    _saved = Schema({"form": one_of(*FORMS), "tau": number(0.0)})
    _records = DifferenceState, ExplicitState
    _uses_all = True

    def __init__(self, form: str = "absolute", tau: float = 0.1, *, repair: str | None = "clip"):
        self.form = form
        self.tau = tau
        self.repair = repair

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """The square is a product of whole matrices; the forms with labels need the eigenvalues of the whole kernel."""
        if self.form == "square":
            return {"gram": "KernelDifference squares the whole matrix of differences"}
        return {"gram": "KernelDifference repairs the combined kernel by the eigenvalues of its whole matrix"}

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> DifferenceKernel:
        begin = time.perf_counter()
        check_parameters(self)
        repair = Repair(self.repair, "combined", trusted=self.form == "square")
        exact = training(stack)
        check_every_view(type(self).__name__, exact.names, exact.present, exact.reference)
        kept = stack.n_kernels - 1 if self.form == "square" else 0
        stack.check_memory(6 + kept, "the combined kernel", per_kernel=kept > 0)
        signs = first = None
        if self.form != "square":
            signs = self._signs(machine)
            mean: Any = sum(stack.gram(m) for m in range(stack.n_kernels)) / stack.n_kernels
            first = machine.solve(mean, tol=control.tol, max_steps=control.max_steps)
            del mean
            if not first.converged:
                warn(
                    f"the machine on the mean kernel, by which KernelDifference labels new samples, stopped after "
                    f"{first.steps} steps; raise max_iter, scale the data, or lower C",
                    ConvergenceWarning,
                )
        kernel = DifferenceKernel(
            exact,
            self.form,
            self.tau,
            repair,
            signs=signs,
            first_coef=None if first is None else first.coef,
            first_intercept=None if first is None else first.intercept,
        )
        return kernel.solve(machine, control, begin, solves=int(first is not None))

    def _signs(self, machine: Machine) -> np.ndarray:
        if machine.strata is None or len(np.unique(machine.strata)) != 2:
            raise ValueError(
                f'KernelDifference with form="{self.form}" multiplies by labels +1 and -1, so it is for two classes '
                'only; form="square" works for every machine'
            )
        return np.where(machine.strata == np.max(machine.strata), 1.0, -1.0)

    def _check_record(self, record: Any, theta: np.ndarray, sizes: Sizes, path: str) -> None:
        super()._check_record(record, theta, sizes, path)
        if self.form == "square":
            expect(sizes["kernels"] - 1, len(record.differences), f"{path}._state.differences", "differences")
        elif record.signs is None or record.first_coef is None or record.first_intercept is None:
            refuse(f"{path}._state", f"lacks the labels that the form {self.form!r} needs")


class DifferenceKernel(CombinedKernel):
    def __init__(
        self,
        stack: KernelStack,
        form: str,
        tau: float,
        repair: Repair,
        *,
        signs: np.ndarray | None = None,
        first_coef: np.ndarray | None = None,
        first_intercept: np.ndarray | None = None,
        differences: list[np.ndarray] | None = None,
        index: np.ndarray | None = None,
    ):
        self.stack, self.form, self.tau, self.repair = stack, form, tau, repair
        self.signs, self.first_coef, self.first_intercept = signs, first_coef, first_intercept
        self.differences = [] if differences is None else differences
        self.index = np.arange(stack.n_samples) if index is None else index
        n_kernels = stack.n_kernels
        self.theta = 0.5 ** np.minimum(n_kernels - np.arange(n_kernels), n_kernels - 1.0)

    @property
    def n_samples(self) -> int:
        return len(self.index)

    @property
    def is_indefinite(self) -> bool:
        return self.repair.is_left or (self.repair.trusted and super().is_indefinite)

    def gram(self, out: np.ndarray | None = None) -> np.ndarray:
        stack, signs = self.stack, np.asarray(self.signs)
        self.differences = []

        def term(step: int, D: np.ndarray) -> np.ndarray:
            if self.form == "square":
                self.differences.append(stack.weight[:, None] * D)
                return D @ self.differences[step]  # thesis 2.2.2, third form; samples count by their weight
            return np.outer(signs, signs) * self._size(D)  # thesis 2.2.2, first and second form

        K = self._recursion((stack.gram(m) for m in range(stack.n_kernels)), term)
        K = self.repair.gram(K.astype(np.float64, copy=False), np.ones(len(K), dtype=bool), stack.weight)
        return written(K if len(self.index) == len(K) else K[np.ix_(self.index, self.index)], out)

    def cross(self, views: Views) -> np.ndarray:
        stack = self.stack
        present = stack.presence(views)
        check_every_view("KernelDifference", stack.names, present, views)
        values = [stack.cross(m, views, present[:, m]) for m in range(stack.n_kernels)]
        if self.form == "square":
            K = self._recursion(values, lambda step, D: D @ self.differences[step])
            return K[:, self.index]
        mean: Any = sum(values) / len(values)
        guess = np.clip(mean @ self.first_coef + self.first_intercept, -1.0, 1.0)
        K = self._recursion(values, lambda step, D: guess * self._size(D) * self.signs)
        K, _ = self.repair.cross(K, np.zeros(len(K)), self.index)
        return K if self.repair.needs_all_samples else K[:, self.index]

    def weights(self) -> np.ndarray:
        return self.theta

    def sample_weights(self, views: Views) -> np.ndarray:
        return np.tile(self.theta, (views.n_samples, 1))

    def restrict(self, index: np.ndarray) -> DifferenceKernel:
        every = np.arange(self.stack.n_samples)
        return self._over(self.stack.restrict(every, self.active), index=self.index[index])

    def _recursion(self, kernels: Iterable[np.ndarray], term: Callable[[int, np.ndarray], np.ndarray]) -> np.ndarray:
        K: Any = None
        for step, other in enumerate(kernels, start=-1):
            K = other if K is None else 0.5 * (K + other) + self.tau * term(step, K - other)
        return K

    def _size(self, D: np.ndarray) -> np.ndarray:
        return np.abs(D) if self.form == "absolute" else D

    def _record(self) -> DifferenceState:
        return DifferenceState.of(self)


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

    Memory: the P Gram matrices, the combined one, and at most one more inside the machine; in lazy storage none.

    References
    ----------
    M. Varma, B. R. Babu, More generality in efficient multiple kernel learning, ICML 2009; thesis (Gönen 2010), 2.2.2.

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

    _saved = Schema({"form": one_of("product", "sum")})

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
        why = "GeneralizedMKL learns a function of kernels, whose explicit features would be all products of theirs"
        return {"elementwise": why}

    def family(self, stack: TrainingStack, machine: Machine, control: FitControl) -> PenalizedFamily:
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

    def _kernel_of(self, stack: Any, theta: np.ndarray) -> FormKernel:
        return FormKernel(stack, theta, self.kernel_form(stack.n_kernels), None)

    @property
    def _records(self) -> tuple[type, type]:  # type: ignore[override]  # an attribute of other combiners
        return AugmentedStack if self.form == "product" else KernelStack, ExplicitState


class PenalizedFamily(FormFamily):
    def __init__(self, stack: TrainingStack, form: Monomials | GaussianForm, norm: str, strength: float):
        super().__init__(stack, form)
        self.norm, self.strength = norm, strength

    def start(self, machine: Machine, rng: np.random.RandomState) -> np.ndarray:
        n_kernels = self.stack.n_kernels
        if self.diagonals is None:
            return np.full(n_kernels, 1.0 / n_kernels)
        variances = _variances(training(self.stack))
        return np.divide(1.0, n_kernels * variances, out=np.zeros_like(variances), where=variances > 0.0)

    def domain(self) -> ConvexSet:
        return ConvexSet(lambda eta: np.maximum(eta, 0.0))

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        if self.norm == "l1":
            return self.strength * theta.sum(), np.full_like(theta, self.strength)
        return 0.5 * self.strength * (theta @ theta), self.strength * theta

    def finish(self, theta: np.ndarray) -> FormKernel:
        if not theta.any():
            raise ValueError(
                f"the penalty of GeneralizedMKL has removed every kernel; lower strength ({self.strength:g})"
            )
        return self.at(theta)


def _variances(stack: ExactStack) -> np.ndarray:
    weight = np.where(stack.present, stack.weight[:, None], 0.0)
    weight = weight / np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    diagonals, images = stack.diagonals(), stack.images(weight.T[:, :, None])[:, :, 0].T
    variances = (weight * (diagonals - images)).sum(axis=0)
    return np.where(variances > 1e-12 * (weight * np.abs(diagonals)).sum(axis=0), variances, 0.0)


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
        lower degrees, more of them the larger it is. 0 leaves the full degree only, as in the thesis (Gönen 2010).
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
    all samples. Samples that lack a view are treated as in `forms.Monomials`.

    References
    ----------
    C. Cortes, M. Mohri, A. Rostamizadeh, Learning non-linear combinations of kernels, NIPS 22, 2010.

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

    _saved = Schema({"degree": count(1, 1000), "constant": number(0.0), "tau_": number(0.0)})

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
        why = "PolynomialMKL learns a polynomial of kernels, whose explicit features would be all products of theirs"
        return {"elementwise": why}

    def family(self, stack: TrainingStack, machine: Machine, control: FitControl) -> BallFamily:
        uniform = self._uniform(stack.n_kernels)
        given = 0.5 * uniform if self.ball_center is None else self.ball_center
        center = as_numbers(given, stack.names, "ball_center", default=0.0)
        radius = float(np.linalg.norm(uniform - center) if self.ball_radius is None else self.ball_radius)
        chosen = isinstance(self.tau, str)
        self.tau_ = self._held_out_tau(training(stack), machine, control) if chosen else float(self.tau)
        return BallFamily(stack, self.kernel_form(stack.n_kernels), center, radius)

    def kernel_form(self, n_kernels: int) -> Monomials:
        """The sum and the monomials, with the constant in units of the uniform weights."""
        return self._form(n_kernels, self.tau_)

    def _form(self, n_kernels: int, tau: float) -> Monomials:
        uniform = self._uniform(n_kernels)
        return Monomials(self.degree, self.constant * uniform, tau, (1.0 - tau) / (n_kernels * uniform))

    def _uniform(self, n_kernels: int) -> float:
        """The weight u: h_d(constant u, u, .., u) - (constant u)^d = u^d (h_d(constant, 1, .., 1) - constant^d) = 1."""
        return Monomials(self.degree, self.constant).at_one(np.ones(n_kernels)) ** (-1.0 / self.degree)

    def _held_out_tau(self, stack: ExactStack, machine: Machine, control: FitControl) -> float:
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

    def _kernel_of(self, stack: Any, theta: np.ndarray) -> FormKernel:
        return FormKernel(stack, theta, self.kernel_form(stack.n_kernels), None)


class BallFamily(FormFamily):
    def __init__(self, stack: TrainingStack, form: Monomials, center: np.ndarray, radius: float):
        super().__init__(stack, form)
        self.center, self.radius = center, radius

    def start(self, machine: Machine, rng: np.random.RandomState) -> np.ndarray:
        return self.center + self.radius / np.sqrt(len(self.center))

    def domain(self) -> ConvexSet:
        return ConvexSet(lambda eta: project_ball(eta, self.center, self.radius))

    def finish(self, theta: np.ndarray) -> FormKernel:
        if not theta.any():
            raise ValueError("every weight of PolynomialMKL is 0; give it another ball_center or a larger ball_radius")
        return self.at(theta)
