"""`MKLRegressor`: epsilon-insensitive or least-squares regression with several kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from .._warnings import warn
from ..combiners import Combiner, PerOutput
from ..engines.targets import NumberCounts, NumberTargets, count_numbers
from ..machines import EpsilonInsensitive, RegressionLoss, SquaredEpsilonInsensitive, SquaredError
from ..validation import Choice, Constraints, Instance, Number
from ..validation.inputs import check_numeric_target
from ..validation.schemas import Schema, Sizes, is_entry, optional, refuse, several
from ..views.table import Fetch
from .base import KernelMachineEstimator, check_rule
from .samples import ScoreMixin, by_blocks, set_target_names


def _check_label(value: Any, sizes: Sizes, path: str) -> None:
    if not all(map(is_entry, value if type(value) is tuple else (value,))):
        refuse(path, "is no label: neither text nor a number")


class NumberPredictions(ScoreMixin, RegressorMixin):
    """Mixin of regressors over kernels: predicted values of one or several targets, and the targets of a fit."""

    _decide: Callable[..., np.ndarray]

    _saved = Schema({"target_names_": optional(several(_check_label, "outputs"))}, check_rule)

    @by_blocks(dask=True)
    def predict(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        """Predicted values, of shape (n_samples,) or, where y of the fit had two dimensions, (n_samples, n_targets).

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        fetch : callable, optional
            As in `MKLClassifier.predict`.
        """
        values = self._decide(X, fetch)
        return values.reshape(len(values), -1) if hasattr(self, "target_names_") else values

    def _check_target(self, y: Any, n_samples: int) -> np.ndarray:
        y, names = check_numeric_target(self, y, n_samples)
        set_target_names(self, names)
        return y

    def _warn_of_the_tube(self, spread: np.ndarray, epsilon: float) -> None:
        inside = np.flatnonzero((spread > 0.0) & (spread <= 2.0 * epsilon)).tolist()
        if inside:
            names = getattr(self, "target_names_", None)
            what = "y varies" if names is None else f"the target {names[inside[0]]!r} varies"
            more = f" (and so do {len(inside) - 1} more targets)" if len(inside) > 1 else ""
            warn(
                f"{what} by {spread[inside[0]]:.2g} only{more}, which the tube of epsilon={epsilon:g} to both sides "
                "holds, so that its prediction is constant; lower epsilon, or scale y: "
                "TransformedTargetRegressor(model, transformer=StandardScaler())"
            )

    _count = staticmethod(count_numbers)

    def _output_names(self) -> list[Any]:
        return getattr(self, "target_names_", [0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class MKLRegressor(NumberPredictions, KernelMachineEstimator):
    """Support vector regression with a combination of kernels over several views.

    Minimises ``1/2 ||w||^2 + sum_i C_i max(0, |y_i - f(x_i)| - epsilon)`` over ``f(x) = <w, phi(x)> + b`` in the space
    of the combined kernel (thesis (Gönen 2010), (1.5)), with ``C_i = C * sample_weight``. With
    ``machine="squared-epsilon-insensitive"`` the loss is ``1/2 sum_i C_i max(0, |y_i - f(x_i)| - epsilon)^2``, with
    ``machine="least-squares"`` it is ``1/2 sum_i C_i (y_i - f(x_i))^2``. With several targets, a column of y for each,
    the sum over targets is minimised: each has a function of its own, and all share one kernel unless
    ``weights="per-target"``.

    Parameters
    ----------
    kernels, combiner, normalize, missing, storage, device, dtype, approximation, tol, max_iter, random_state, verbose
        As in `MKLClassifier`.
    C : float or "gcv"
        Cost of an error beyond the tube, or of half a squared error; "gcv" as in `MKLClassifier`, for all targets.
    epsilon : float
        Half the width of the tube in which errors do not count; for machines given by name, and least squares has none.
    machine : {"auto", "svm", "least-squares", "squared-epsilon-insensitive"} or RegressionLoss
        The loss, by name or as an object such as ``machines.SquaredEpsilonInsensitive(epsilon=0.2)`` or one of your own
        ("A machine of your own" in the documentation), whose parameters replace `epsilon` and are reached as
        ``machine__<parameter>``. "auto" is "svm", the epsilon-insensitive loss, and with an `approximation`, which
        needs a smooth loss, its squared form; `machine_` is which. Least squares stores every training sample; it
        solves several targets by one factorisation of the kernel, so that they cost little more than one.
    weights : {"shared", "per-target"}
        Whether all targets share one combined kernel, or each has weights of its own, as if it were fitted alone:
        `kernel_weights_` is then a data frame with a row for each, and `combiner_.combiners_` holds their combiners.
    n_jobs : int or None
        Threads that solve the machines of several targets; the result does not depend on it.

    Attributes
    ----------
    kernels_, kernel_names_, kernel_weights_, combiner_, support_, intercept_, objective_, duality_gap_, history_
        As in `MKLClassifier`, where it says why `duality_gap_` is NaN with a kernel that is not positive semidefinite.
    C_, gcv_, n_iter_, storage_, active_kernels_, removable_kernels_, gating_summary_, gating_coef_, gating_intercept_
        As in `MKLClassifier`, and so are `projections_`, `feature_importance_`, `gating_projection_`, `coef_`,
        `region_weights_`, `machine_`, `feature_coef_`, `trace_shares_` and `approximation_`.
    dual_coef_ : ndarray of shape (n_targets, n_support)
        ``alpha_i^+ - alpha_i^-``, a row for each target. A sample is a support vector where it has a coefficient for
        some target, and has 0 for the others.
    intercept_ : ndarray of shape (n_targets,)
    target_names_ : list
        The names of the columns of y (their positions where y is no data frame); only where y has two dimensions.

    Notes
    -----
    The data should be scaled: with a unit-diagonal kernel, `C` bounds how far one sample can move the prediction.
    Several targets should be on one scale, since `C` and `epsilon` are the same for all and a shared kernel is the one
    that fits the largest targets best: ``TransformedTargetRegressor(MKLRegressor(...), transformer=StandardScaler())``.
    Memory as in `MKLClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLRegressor
    >>> from kernelweave.kernels import Gaussian
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = MKLRegressor([Gaussian(scale=1.0)], C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.1)
    True

    Two targets, with one kernel for both:

    >>> import pandas as pd
    >>> y = pd.DataFrame({"sine": np.sin(X[:, 0]), "cosine": np.cos(X[:, 0])})
    >>> model = MKLRegressor([Gaussian(scale=1.0)], C=10.0, machine="least-squares").fit(X, y)
    >>> model.predict([[1.5], [3.0]]).shape, model.dual_coef_.shape, model.target_names_
    ((2, 2), (2, 60), ['sine', 'cosine'])
    """

    _constraints = Constraints(
        C=Number(above=0) | "gcv",
        epsilon=Number(low=0),
        machine=Choice("auto", "svm", "least-squares", "squared-epsilon-insensitive")
        | Instance(RegressionLoss, "a RegressionLoss object"),
        weights=Choice("shared", "per-target"),
    )

    def __init__(
        self,
        kernels: Any = None,
        combiner: Any = None,
        *,
        C: float | str = 1.0,
        epsilon: float = 0.1,
        normalize: str | None = "unit-diagonal",
        missing: str = "native",
        machine: str | RegressionLoss = "auto",
        weights: str = "shared",
        storage: str = "auto",
        device: str = "cpu",
        dtype: str | None = None,
        approximation: Any = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.combiner = combiner
        self.C = C
        self.epsilon = epsilon
        self.normalize = normalize
        self.missing = missing
        self.machine = machine
        self.weights = weights
        self.storage = storage
        self.device = device
        self.dtype = dtype
        self.approximation = approximation
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MKLRegressor:
        """Fit the regressor.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features), or OpenViews
            Files that are opened by `open_views` are read block by block with an `approximation`, and whole without.
        y : array of shape (n_samples,), or array or DataFrame of shape (n_samples, n_targets)
            Without NaN: a sample that lacks a target has to be left out. None where X is an `OpenViews` with a target.
        sample_weight : array of shape (n_samples,) or str, optional
            Factors of C by sample, for all targets; a sample of weight 0 is left out. Of an `OpenViews` also the name
            of a column, which is no part of X then.
        """
        self._fit_kernel(X, y, sample_weight)
        return self

    def _targets(self, counts: NumberCounts) -> NumberTargets:
        loss = self._loss()
        if isinstance(loss, EpsilonInsensitive | SquaredEpsilonInsensitive):
            self._warn_of_the_tube(counts.high - counts.low, float(loss.epsilon))
        return NumberTargets(loss, self._cost(), self.n_jobs if self.approximation is None else None)

    _machines = "svm", "squared-epsilon-insensitive"
    _smooth = "squared-epsilon-insensitive", "least-squares"

    def _loss(self) -> RegressionLoss:
        by_name = {
            "svm": EpsilonInsensitive(epsilon=float(self.epsilon)),
            "least-squares": SquaredError(),
            "squared-epsilon-insensitive": SquaredEpsilonInsensitive(epsilon=float(self.epsilon)),
        }
        return by_name[self._machine_name] if isinstance(self.machine, str) else self.machine

    def _combiner_for(self, combiner: Combiner) -> Combiner:
        several = self.weights == "per-target" and hasattr(self, "target_names_")
        return PerOutput(combiner) if several else combiner
