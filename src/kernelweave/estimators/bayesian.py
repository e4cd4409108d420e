"""`BayesianMKLClassifier` and `BayesianMKLRegressor`: a posterior over kernel weights instead of one best choice.

Gönen, *Bayesian efficient multiple kernel learning* (ICML 2012). `solvers.variational` has the model, the updates and
the bound; here are the samples, the classes, and what is kept for prediction. With x_m the row of kernel m of a new
sample, which is zero where it lacks the view,

    E[f_c] = sum_m E[e_m] x_m' E[a_c] + E[b_c]

and V[f_c] is `solvers.variational.variances`. Two classes have the probability Phi(E[f] / sqrt(1 + V[f])), the mean of
Phi(f) over q. Several have the probability that f_c plus standard normal noise is the largest, with f of different
classes taken as independent normals.

=============  ====================================
symbol         name
=============  ====================================
a              `dual_coef_`
e              `kernel_weights_`
b              `intercept_`
s              `spread`
L              `history_`, `lower_bound_`
=============  ====================================
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal, Self, overload

import numpy as np
import pandas as pd
from scipy.special import ndtr
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._warnings import warn
from ..kernels import KernelStack
from ..kernels.stack import default_kernels
from ..solvers.variational import (
    Labels,
    Likelihood,
    Noise,
    Posterior,
    ascend,
    probabilities_of_largest,
    variances,
    whitened,
)
from ..validation import Constraints, Flag, Number, Whole, check_parameters
from ..validation.inputs import (
    check_labels,
    check_numeric_target,
    check_row_labels,
    check_target,
    check_training_data,
    encode_labels,
    unchanged_on_failure,
)
from ..validation.parameters import Constraint, is_number
from ..validation.schemas import CLASS_LABELS, Schema, Sizes, expect, number, numbers, object_of, refuse
from ..views import Views
from .explanations import labelled, part_names
from .fitted import FittedStack
from .kernel_lists import KernelParameters
from .progress import progress_bar


class GammaPrior(Constraint):
    """Shape and rate of a Gamma distribution."""

    def accepts(self, value: Any) -> bool:
        return (
            isinstance(value, tuple | list)
            and len(value) == 2
            and all(is_number(each) and 0.0 < float(each) < np.inf for each in value)
        )

    def convert(self, value: Any) -> tuple[float, float]:
        return float(value[0]), float(value[1])

    def alternatives(self) -> list[str]:
        return ["a pair of positive numbers (shape, rate)"]


@dataclass(frozen=True)
class FittedPosterior:
    """What prediction reads of the posterior."""

    coef: np.ndarray  # E[a], (n_samples, n_outputs)
    coef_precision: np.ndarray  # E[lambda]
    products: np.ndarray  # Q
    weights: np.ndarray  # E[e, b]
    weights_covariance: np.ndarray
    spread: float

    _saved = Schema(
        {
            "coef": numbers("support", "outputs"),
            "coef_precision": numbers("support", "outputs"),
            "products": numbers("support", "support"),
            "weights": numbers("weights"),
            "weights_covariance": numbers("weights", "weights"),
            "spread": number(positive=True),
        }
    )

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        expect(sizes["kernels"] + self.coef.shape[1], len(self.weights), f"{path}.weights", "kernels and outputs")
        if self.coef_precision.size and not self.coef_precision.min() > 0.0:
            refuse(f"{path}.coef_precision", "holds numbers that are not positive")
        for name in ("products", "weights_covariance"):
            matrix = getattr(self, name)
            if not np.array_equal(matrix, matrix.T):
                refuse(f"{path}.{name}", "is not symmetric")
        try:
            self.factors()
        except ValueError as error:
            refuse(f"{path}.products", f"cannot be used: {error}")

    @property
    def n_kernels(self) -> int:
        return len(self.weights) - self.coef.shape[1]

    def parts(self, cross: np.ndarray) -> np.ndarray:
        """E[e_m] x_m' E[a_c], of shape (n_new, n_outputs, n_kernels)."""
        return (self.weights[: self.n_kernels, None, None] * (cross @ self.coef)).transpose(1, 2, 0)

    def means(self, cross: np.ndarray) -> np.ndarray:
        return self.parts(cross).sum(axis=2) + self.weights[self.n_kernels :]

    def factors(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [whitened(self.products, precision, self.spread) for precision in self.coef_precision.T]

    def moments(self, cross: np.ndarray, factors: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Means and variances of f side by side, of shape (n_new, 2 n_outputs)."""
        own = self.coef, factors, self.weights, self.weights_covariance, self.spread
        return np.hstack([self.means(cross), variances(cross, *own)])


class BayesianMKL(FittedStack, KernelParameters):
    """Base of the two estimators: the fit, the moments of decision values, and the parts of each kernel."""

    _constraints = Constraints(
        spread=Number(above=0),
        coef_prior=GammaPrior(),
        weight_prior=GammaPrior(),
        tol=Number(above=0),
        max_iter=Whole(1),
        verbose=Flag() | Whole(0),
    )

    _saved = Schema({"_posterior": object_of(FittedPosterior, "kernels", "support", "outputs")})

    spread: float
    normalize: str | None
    tol: float
    max_iter: int

    def fit(self, X: Any, y: Any) -> Self:
        """Find the posterior.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels of any type, or numbers.
        """
        with unchanged_on_failure(self):
            given = check_parameters(self)
            check_row_labels(X, y=y)
            views = Views(*check_training_data(self, X))
            likelihood = self._likelihood(given, y, views.n_samples)
            kernels = default_kernels(views) if self.kernels is None else self.kernels
            stack = KernelStack(kernels, self.normalize).fit(views, y=y)
            matrices, title = stack.matrices(), f"Fitting {type(self).__name__}"
            try:
                posterior = Posterior(matrices, likelihood, given.spread, given.coef_prior, given.weight_prior)
                with progress_bar(title) if given.verbose else nullcontext() as progress:
                    history, converged = ascend(posterior, given.tol, given.max_iter, progress)
            except (ValueError, np.linalg.LinAlgError) as error:
                raise ValueError(
                    f"{type(self).__name__} cannot compute with these kernels ({error}); normalise them "
                    '(normalize="unit-diagonal"), scale the data, or raise spread'
                ) from error
            self._store(stack, posterior, history)
            if not converged:
                warn(
                    f"{type(self).__name__} stopped after max_iter={self.max_iter} iterations, while the bound still "
                    f"rose by more than tol={self.tol:g} for each sample; raise max_iter or tol",
                    ConvergenceWarning,
                )
        return self

    @abstractmethod
    def _likelihood(self, given: SimpleNamespace, y: Any, n_samples: int) -> Likelihood:
        """The likelihood of checked targets."""

    def _output_names(self) -> list[Any]:
        return [0]

    def _in_units(self, values: np.ndarray) -> np.ndarray:
        """Decision values, or parts of them, in the units of y."""
        return values

    def _offset(self) -> float:
        return 0.0

    def _store(self, stack: KernelStack, posterior: Posterior, history: list[dict[str, float]]) -> None:
        P = stack.n_kernels
        self.kernels_, self.kernel_names_ = stack.kernels, stack.names
        products, precision = posterior.products, posterior.coef_precision.mean
        products = (products + products.T) / 2.0
        covariance = (posterior.weights_covariance + posterior.weights_covariance.T) / 2.0
        self._posterior = FittedPosterior(
            posterior.coef, precision, products, posterior.weights, covariance, posterior.spread
        )
        deviations = np.sqrt(np.diagonal(covariance))
        self.kernel_weights_ = pd.Series(posterior.weights[:P], stack.names, copy=True)
        self.kernel_weights_std_ = pd.Series(deviations[:P], stack.names, copy=True)
        self.dual_coef_ = np.ascontiguousarray(self._in_units(posterior.coef.T))
        self.intercept_ = self._in_units(posterior.weights[P:]) + self._offset()
        self.history_ = pd.DataFrame(history)
        self.lower_bound_, self.n_iter_ = float(history[-1]["bound"]), len(history)
        self.support_ = np.arange(stack.n_samples)
        self._state = stack.restrict(self.support_, self._active())

    def _active(self) -> np.ndarray:
        return np.ones(len(self.kernels_), dtype=bool)

    def _by_sample(self, X: Any, compute: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """A function of kernel values (P, n_new, n) of samples, computed for blocks of them."""

        def of_block(views: Views) -> np.ndarray:
            present = self._state.presence(views)
            rows = [self._state.cross(m, views, there) for m, there in enumerate(present.T)]
            return compute(np.stack(rows))

        # the kernel values, and two arrays of the same size for the variances
        return self._new_views(X).in_blocks(3 * len(self.kernels_) * self._state.n_samples, of_block)

    def _means(self, X: Any) -> np.ndarray:
        return self._by_sample(X, lambda cross: self._posterior.means(cross))

    def _moments(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances of the decision values, each of shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        factors = self._posterior.factors()
        found = self._by_sample(X, lambda cross: self._posterior.moments(cross, factors))
        means, variance = np.hsplit(found, 2)
        return means, variance

    def contributions(self, X: Any) -> pd.DataFrame:
        """What each kernel adds to the mean of the decision value of each sample; the parts add up to it.

        The part of kernel m is ``sum_i E[e_m] E[a_i] k_m(x, x_i)``; it is 0 for a view that the sample lacks.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        DataFrame
            As `MKLClassifier.contributions`: one row for each sample; columns are the kernel names and, last,
            ``"intercept"``, or with more than two classes pairs of class and kernel name.
        """
        parts = self._in_units(self._by_sample(X, lambda cross: self._posterior.parts(cross)))
        intercept = np.broadcast_to(self.intercept_[:, None], (*parts.shape[:2], 1))
        parts = np.concatenate([parts, intercept], axis=2)
        parts = parts if parts.shape[1] > 1 else parts[:, 0]
        return labelled(parts, part_names(self.kernel_names_), self._output_names(), X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_posterior")


class BayesianMKLClassifier(ClassifierMixin, BayesianMKL):
    """Classification with a posterior distribution over kernel weights.

    Maximises the variational lower bound of log p(y) of the model in which kernel m says ``g_m(x) = sum_i a_i k_m(x,
    x_i)`` of a sample, plus noise, with ``a_i ~ N(0, 1 / lambda_i)``; the decision value is ``f(x) = sum_m e_m g_m(x) +
    b`` with ``e_m ~ N(0, 1 / omega_m)``, precisions have Gamma priors, and the class is the sign of f plus standard
    normal noise (probit), or the largest of several such values, which share the weights e (Gönen, 2012). Weights may
    be negative. Probabilities need no calibration set.

    Parameters
    ----------
    kernels : list of kernels or (name, kernel), or None
        As in `MKLClassifier`.
    spread : float
        Standard deviation of the noise of each g_m. The smaller, the more closely all kernels share the coefficients a,
        and the more iterations the fit takes.
    coef_prior, weight_prior : pair of float
        Shape and rate of the Gamma priors of the precisions lambda, and of omega and those of the biases. A small shape
        and a small rate, such as ``(1e-3, 1e-3)``, draw coefficients or weights that explain little to zero.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
    tol : float
        Stop where an iteration raises the bound by less than this for each sample.
    max_iter : int
        Limit on iterations.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    kernel_weights_, kernel_weights_std_ : Series
        Mean and standard deviation of the weights e. All signs of e and a together are arbitrary.
    dual_coef_ : ndarray of shape (n_outputs, n_samples)
        Means of a: one row for two classes, else one for each class.
    support_ : ndarray of int
        The samples that `dual_coef_` belongs to: all training samples.
    intercept_ : ndarray of shape (n_outputs,)
        Means of b.
    lower_bound_ : float
        The bound of log p(y) at the end. Of several `spread` or priors the one with the larger bound explains the
        labels better; that need not be the one that predicts best.
    history_ : DataFrame
        The bound and seconds of each iteration; the bound never falls, but for rounding.
    n_iter_ : int
    classes_, kernels_, kernel_names_, n_features_in_, feature_names_in_
        As in `KernelVoting`.

    Notes
    -----
    Memory: P + 4 matrices of n x n while fitting, for P kernels, and one more for each class in `predict_proba`; all
    training samples and one n x n matrix afterwards. Time: O(P n^2 + n^3) for each iteration and class. Kernels are
    whole matrices: there are no lazy storage, no explicit features and no sample weights.

    A sample that lacks a view has a zero row in its kernel. Standard deviations are those of a product of independent
    factors, which is narrower than the posterior.

    References
    ----------
    M. Gönen, Bayesian efficient multiple kernel learning, ICML 2012.

    Examples
    --------
    >>> from kernelweave import BayesianMKLClassifier, datasets
    >>> from kernelweave.kernels import Gaussian
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = BayesianMKLClassifier([Gaussian("fac"), Gaussian("kar")]).fit(X[::10], y[::10])
    >>> bool(model.score(X[5::20], y[5::20]) > 0.85)
    True
    >>> model.predict_proba(X[:3]).shape, model.kernel_weights_std_.shape
    ((3, 2), (2,))
    """

    _saved = CLASS_LABELS

    def __init__(
        self,
        kernels: Any = None,
        *,
        spread: float = 0.1,
        coef_prior: tuple[float, float] = (1.0, 1.0),
        weight_prior: tuple[float, float] = (1.0, 1.0),
        normalize: str | None = "unit-diagonal",
        tol: float = 1e-3,
        max_iter: int = 500,
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.spread = spread
        self.coef_prior = coef_prior
        self.weight_prior = weight_prior
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def decision_function(self, X: Any) -> np.ndarray:
        """Means of f: (n_samples,) for two classes (positive for ``classes_[1]``), else (n_samples, n_classes)."""
        means = self._means(X)
        return means[:, 0] if len(self.classes_) == 2 else means

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes under the posterior, of shape (n_samples, n_classes)."""
        means, variance = self._moments(X)
        if len(self.classes_) == 2:
            z = means[:, 0] / np.sqrt(1.0 + variance[:, 0])
            return np.column_stack([ndtr(-z), ndtr(z)])
        return probabilities_of_largest(means, 1.0 + variance)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, those with the largest probability."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return self.classes_[(self._means(X)[:, 0] > 0.0).astype(int)]
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _likelihood(self, given: SimpleNamespace, y: Any, n_samples: int) -> Labels:
        self.classes_, labels = encode_labels(self, check_labels(self, y, n_samples))
        return Labels(labels, len(self.classes_))

    def _output_names(self) -> list[Any]:
        return self.classes_.tolist()

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        n_classes = len(self.classes_)
        expect(1 if n_classes == 2 else n_classes, self._posterior.coef.shape[1], f"{path}._posterior.coef", "outputs")


class BayesianMKLRegressor(RegressorMixin, BayesianMKL):
    """Regression with a posterior distribution over kernel weights, and with standard deviations of predictions.

    Maximises the variational lower bound of log p(y) of the model of `BayesianMKLClassifier` in which y is f(x) plus
    normal noise, whose precision has a Gamma prior. The model is of y less its mean, divided by its standard deviation.

    Parameters
    ----------
    kernels, spread, coef_prior, weight_prior, normalize, tol, max_iter, verbose
        As in `BayesianMKLClassifier`; `spread` is in units of the standard deviation of y. A small one fits the
        training samples more closely, and makes standard deviations of predictions too small where y is noisy.
    noise_prior : pair of float
        Shape and rate of the Gamma prior of the precision of the noise of y, in the same units.

    Attributes
    ----------
    kernel_weights_, kernel_weights_std_, support_, lower_bound_, history_, n_iter_
        As in `BayesianMKLClassifier`; the bound is that of the scaled y.
    dual_coef_ : ndarray of shape (1, n_samples)
        Means of a, in units of y.
    intercept_ : ndarray of shape (1,)
    noise_std_ : float
        Standard deviation of the noise, in units of y.
    kernels_, kernel_names_, n_features_in_, feature_names_in_
        As in `KernelVoting`.

    Notes
    -----
    As in `BayesianMKLClassifier`. Far from all training samples, where Gaussian kernels are 0, f is b: the standard
    deviation does not grow there, as that of a Gaussian process does.

    References
    ----------
    M. Gönen, Bayesian efficient multiple kernel learning, ICML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import BayesianMKLRegressor
    >>> from kernelweave.kernels import Gaussian
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = BayesianMKLRegressor([Gaussian(scale=1.0)]).fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict([[1.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.1), bool(std[0] > model.noise_std_)
    (True, True)
    """

    _constraints = Constraints(noise_prior=GammaPrior())

    _saved = Schema(
        {"_center": number(), "_scale": number(positive=True), "noise_std_": number(0.0)},
    )

    def __init__(
        self,
        kernels: Any = None,
        *,
        spread: float = 1.0,
        coef_prior: tuple[float, float] = (1.0, 1.0),
        weight_prior: tuple[float, float] = (1.0, 1.0),
        noise_prior: tuple[float, float] = (1.0, 1.0),
        normalize: str | None = "unit-diagonal",
        tol: float = 1e-3,
        max_iter: int = 500,
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.spread = spread
        self.coef_prior = coef_prior
        self.weight_prior = weight_prior
        self.noise_prior = noise_prior
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...

    def predict(self, X: Any, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Predicted values, of shape (n_samples,), and with `return_std` their standard deviations.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        return_std : bool
            Whether to return standard deviations of y as well: of f under the posterior and of the noise together.
        """
        if not return_std:
            return self._in_units(self._means(X)[:, 0]) + self._center
        means, variance = self._moments(X)
        return self._in_units(means[:, 0]) + self._center, np.hypot(
            self._in_units(np.sqrt(variance[:, 0])), self.noise_std_
        )

    def _likelihood(self, given: SimpleNamespace, y: Any, n_samples: int) -> Noise:
        shape = np.asarray(y).shape
        if len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                f"{type(self).__name__} takes one target, but y has {shape[1]} columns; fit one model for each "
                "(sklearn.multioutput.MultiOutputRegressor), or use MKLRegressor"
            )
        y = check_numeric_target(self, check_target(self, y, n_samples), n_samples)[0]
        with np.errstate(over="ignore", invalid="ignore"):
            self._center, deviation = float(y.mean()), float(y.std())
        if not np.isfinite(deviation):
            raise ValueError("y holds values whose squares are too large; scale y")
        self._scale = deviation if deviation > 0.0 else 1.0
        return Noise((y - self._center) / self._scale, given.noise_prior)

    def _in_units(self, values: np.ndarray) -> np.ndarray:
        return self._scale * values

    def _offset(self) -> float:
        return self._center

    def _store(self, stack: KernelStack, posterior: Posterior, history: list[dict[str, float]]) -> None:
        super()._store(stack, posterior, history)
        self.noise_std_ = float(self._scale / np.sqrt(posterior.likelihood.precision))
