"""`ColumnBoostingClassifier`, `ColumnBoostingRegressor`: sums of few kernel columns, found by column generation.

A column is one kernel at one sample, k_m(x_i, .). The model is f(x) = sum_j a_j k_{m_j}(x_{i_j}, x) + b with an l1
penalty on a (Bennett, Momma and Embrechts 2002; Bi, Zhang and Bennett 2004), so that most of the n P columns are not in
it. The penalty is on coefficients and not a norm of the kernels' feature spaces: there is no combined kernel and no
combiner, and a kernel need not be positive semidefinite. `solvers.columns` states the problem, its dual and the
certificate; `Columns` stands for the combined kernel where new samples are compared and values are explained.

The pairs (i_j, m_j) are `columns_`, a is `dual_coef_` and b `intercept_`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn
from ..arrays import Place
from ..combiners import Mean
from ..engines.targets import ClassTargets, LabelCounts, NumberCounts, NumberTargets
from ..kernels import Kernel, KernelStack
from ..machines import EpsilonInsensitive, Hinge, Machine, SquaredError, SquaredMargin
from ..solvers.columns import ColumnFit, generate_columns
from ..stacks import ExactStack
from ..validation import Choice, Constraints, Flag, Number, Whole, check_parameters
from ..validation.inputs import unchanged_on_failure
from ..validation.schemas import Schema, Sizes, check_whole, indices, numbers, object_of, one_of, refuse, series
from ..views import Views
from .base import DEVICES, DecisionValues
from .classifier import ClassDecisions
from .progress import progress_bar
from .regressor import NumberPredictions
from .samples import samples_of
from .training import ExactKernels, explained_memory_errors

_FINENESS = 1000  # parts that progress is reported in
_CONSTANT = 1e-10  # of C: what rounding leaves of products of constant columns with numbers that add up to 0


class Columns:
    """Kernel columns over new samples: what a fitted model asks of a combined kernel, a coefficient for each column.

    Parameters
    ----------
    stack : KernelStack
    samples, kernels : ndarray of int, shape (n_columns,)
        Positions in the stack.
    """

    is_sum, takes_fetch = True, False

    def __init__(self, stack: KernelStack, samples: np.ndarray, kernels: np.ndarray):
        self.stack, self.samples, self.kernels = stack, samples, kernels

    @property
    def active(self) -> np.ndarray:
        """Which kernels have columns; all where there are none, so that new samples are checked nevertheless."""
        used = np.bincount(self.kernels, minlength=self.stack.n_kernels) > 0
        return used if used.any() else ~used

    @property
    def terms(self) -> list[str]:
        return self.stack.names

    def _parts(self, views: Views) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Each kernel that is used, which columns are its own, and their values."""
        present = self.stack.presence(views, self.active)
        for m in np.flatnonzero(self.active).tolist():
            own = np.flatnonzero(self.kernels == m)
            yield m, own, self.stack.cross(m, views, present[:, m], self.samples[own])

    def values(self, views: Views, coef: np.ndarray) -> np.ndarray:
        return self.shares(views, coef).sum(axis=2)

    def sizes(self, views: Views, coef: np.ndarray) -> np.ndarray:
        found = np.zeros((views.n_samples, coef.shape[1]))
        for _, own, values in self._parts(views):
            found += np.abs(values) @ np.abs(coef[own])
        return found

    def shares(self, views: Views, coef: np.ndarray) -> np.ndarray:
        found = np.zeros((views.n_samples, coef.shape[1], self.stack.n_kernels))
        for m, own, values in self._parts(views):
            found[:, :, m] = values @ coef[own]
        return found

    def values_in(self, place: Place, views: Views, coef: np.ndarray) -> np.ndarray | None:
        by_kernel = np.zeros((self.stack.n_samples, self.stack.n_kernels, coef.shape[1]))
        by_kernel[self.samples, self.kernels] = coef
        there = np.zeros(by_kernel.shape[:2])
        there[self.samples, self.kernels] = 1.0
        present = self.stack.presence(views, self.active)
        return self.stack.values_in(place, views, present, present.astype(float), there, by_kernel)

    def feature_weights(self, m: int, coef: np.ndarray) -> np.ndarray | None:
        own = self.kernels == m
        of_samples = np.zeros((self.stack.n_samples, coef.shape[1]))
        of_samples[self.samples[own]] = coef[own]
        return self.stack.feature_weights(m, of_samples, np.ones(self.stack.n_samples))

    def values_per_sample(self, coef: np.ndarray) -> int:
        return self.stack.values_per_sample(self.active, coef)

    def evaluations(self, coef: np.ndarray) -> np.ndarray:
        return np.bincount(self.kernels, minlength=self.stack.n_kernels).astype(float)

    def columns(self) -> np.ndarray:
        used = [self.stack.kernels[m].columns() for m in np.flatnonzero(self.active)]
        return np.concatenate([*used, self.reads()])

    def reads(self) -> np.ndarray:
        return getattr(self.stack, "read_besides", np.empty(0, dtype=int))

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        return self.stack.lookups(self.active)

    def replace(self, m: int, kernel: Any) -> None:
        self.stack.replace(m, kernel)


class ColumnBoosting(DecisionValues, ABC):
    """Base of the two estimators."""

    _constraints = Constraints(
        C=Number(above=0),
        missing=Choice("native", "complete"),
        columns_per_step=Whole(1),
        max_columns=Whole(1) | None,
        storage=Choice("auto", "dense", "lazy"),
        device=DEVICES,
        tol=Number(above=0),
        verbose=Flag() | Whole(0),
    )
    approximation: Any = None  # what parameters of other estimators can be here: exact kernels, in double precision
    dtype: str | None = "float64"
    C: float
    verbose: int
    _state: KernelStack

    _saved = Schema(
        {
            "dual_coef_": numbers("outputs", "stored"),
            "intercept_": numbers("outputs"),
            "columns_": indices("stored", 2),
            "support_": indices("support", ascending=True),
            "kernel_weights_": series("kernels"),
            "storage_": one_of("dense", "lazy"),
            "_rule": object_of(Machine),
            "_state": object_of(KernelStack, "columns", "kernels", "support"),
        },
        transient={"device": lambda: "cpu"},
    )

    @abstractmethod
    def _targets(self, counts: Any) -> Any:
        """Makes the machine of some samples, from the sum of `_count`; see `engines.targets`."""

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        with unchanged_on_failure(self):
            given = check_parameters(self)
            samples = samples_of(self, X, y, sample_weight)
            with samples.engine:
                rows = samples.whole
                machine, _ = self._targets(self._counts(samples))(rows.y, rows.weight)
                stack = ExactKernels(self, rows, Mean()).stack_for(Mean(), machine)
                watched = progress_bar(f"Fitting {type(self).__name__}") if self.verbose else nullcontext()
                with watched as progress, explained_memory_errors(stack):
                    stack.prepare()
                    fits = _fitted(stack, machine, given, progress)
                self._store(fits, machine, stack, np.asarray(samples.kept))
        return self

    def _store(self, fits: list[ColumnFit], machine: Machine, stack: ExactStack, kept: np.ndarray) -> None:
        n = stack.n_samples
        keys = [(fit.kernels * n + fit.samples)[fit.coef != 0.0] for fit in fits]
        used = np.unique(np.concatenate(keys))  # of any output, by kernel and then by sample
        coef = np.zeros((len(fits), len(used)))
        for row, own, fit in zip(coef, keys, fits, strict=True):
            row[np.searchsorted(used, own)] = fit.coef[fit.coef != 0.0]
        kernels, samples = np.divmod(used, n)
        support = np.unique(samples)
        masses = np.bincount(kernels, np.abs(coef).sum(axis=0), minlength=stack.n_kernels)
        self._state = stack.restrict(support, Columns(stack, samples, kernels).active)
        self._rule = machine.without_samples()
        self.kernels_, self.kernel_names_, self.storage_ = stack.kernels, stack.names, stack.storage
        self.support_, self.columns_ = kept[support], np.column_stack([kept[samples], kernels])
        self.dual_coef_, self.intercept_ = coef, np.array([fit.intercept for fit in fits])
        self.kernel_weights_ = pd.Series(masses / (masses.sum() or 1.0), pd.Index(stack.names))
        self.objective_ = sum(fit.objective for fit in fits)
        self.duality_gap_ = sum(fit.gap for fit in fits)
        self.n_iter_ = max(len(fit.history) for fit in fits)
        self.history_ = self._history(fits)
        self._store_use(self._kernel)
        self._warn_of(fits, machine.terms)

    def _history(self, fits: list[ColumnFit]) -> pd.DataFrame:
        if len(fits) == 1:
            return pd.DataFrame(fits[0].history)
        tables = [pd.DataFrame(fit.history) for fit in fits]
        named = zip(self._output_names(), tables, strict=True)
        outputs = pd.Series([name for name, table in named for _ in range(len(table))], dtype=object, name="output")
        return pd.concat([outputs, pd.concat(tables, ignore_index=True)], axis=1)

    def _warn_of(self, fits: list[ColumnFit], terms: Any) -> None:
        open_ones = [fit for fit in fits if not fit.converged]
        if open_ones:
            n_columns = max(len(fit.coef) for fit in open_ones)
            full = self.max_columns is not None and n_columns >= self.max_columns
            advice = "raise max_columns" if full else "lower C, scale the data, or raise tol"
            warn(
                f"{type(self).__name__} stopped after {self.n_iter_} steps with {n_columns} columns: another violates "
                f"the dual by {max(fit.largest for fit in open_ones) - 1.0:.2g} (tol is {self.tol:g}), a relative "
                f"duality gap of {self.duality_gap_ / self.objective_:.2g}; {advice}",
                ConvergenceWarning,
            )
        elif not len(self.columns_) and (np.ptp(terms.linear, axis=0) > 2.0 * terms.insensitivity).any():
            largest = max(fit.largest for fit in fits)  # grows with C while there is no column
            advice = "samples are equal under every kernel, so give others"
            if largest > _CONSTANT * self.C:
                advice = f"raise C, which is {self.C:g}, above about {self.C / largest:.2g}"
            warn(
                f"no column of {type(self).__name__} is worth its penalty, so that every prediction is the intercept; "
                f"{advice}"
            )

    @property
    def _kernel(self) -> Columns:  # type: ignore[override]  # not stored: the stack and `columns_` are
        samples, kernels = self.columns_.T
        return Columns(self._state, np.searchsorted(self.support_, samples), kernels)

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        samples, kernels = self.columns_.T
        check_whole(kernels, f"{path}.columns_", below=sizes["kernels"], of="kernels")
        if not np.array_equal(np.unique(samples), self.support_):
            refuse(f"{path}.columns_", "has other samples than support_")
        if not self._state.active[kernels].all():
            refuse(f"{path}._state.active", "lacks kernels of columns_")


def _fitted(stack: ExactStack, machine: Machine, given: Any, progress: Any) -> list[ColumnFit]:
    n, P = stack.n_samples, stack.n_kernels

    def columns(kernels: np.ndarray, samples: np.ndarray) -> np.ndarray:
        found = np.empty((n, len(kernels)))
        for m in np.unique(kernels).tolist():
            own = kernels == m
            found[:, own] = stack.gram_rows(m, samples[own]).T
        return found

    return generate_columns(
        machine.terms,
        lambda V: stack.images(np.broadcast_to(V, (P, *V.shape))),
        columns,
        tol=given.tol,
        per_step=given.columns_per_step,
        most=given.max_columns,
        progress=None if progress is None else lambda share: progress(round(_FINENESS * share), _FINENESS),
    )


class ColumnBoostingClassifier(ClassDecisions, ColumnBoosting):
    """Classification by a sum of few kernel columns, boosting with an l1 penalty.

    Minimises ``sum_im |a_im| + sum_i C_i max(0, 1 - y_i f(x_i))`` over ``f(x) = sum_im a_im k_m(x_i, x) + b``, where i
    are the training samples, m the kernels, and ``C_i = C * class_weight * sample_weight``. With ``loss="squared"`` the
    loss is ``1/2 sum_i C_i (y_i - f(x_i))^2``. More than two classes have one such function each, against all others.
    Most coefficients are 0: a prediction compares a sample with few others, each by few kernels.

    Parameters
    ----------
    kernels, C, normalize, missing, class_weight, device
        As in `MKLClassifier`. A kernel is a source of columns only, and need not be positive semidefinite. A sample
        that lacks a view has values of 0 there; nothing is scaled for it.
    loss : {"hinge", "squared"}
        A linear program, solved by HiGHS, or the lasso, solved by coordinate descent.
    columns_per_step : int
        How many columns enter at once, those that violate the dual most; every step reads all kernels once. 1 gives the
        best model where `max_columns` ends the fit.
    max_columns : int or None
        How many columns may enter, for each class; None until the optimum over all of them is reached.
    storage : {"auto", "dense", "lazy"}
        As in `MKLClassifier`; kernels in parts are computed in float64.
    tol : float
        By how much a column may violate the dual in the end: about the relative duality gap.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    classes_, class_count_, kernels_, kernel_names_, storage_, active_kernels_, removable_kernels_
        As in `MKLClassifier`, and so are `n_features_in_`, `feature_names_in_` and `coef_`.
    columns_ : ndarray of int, shape (n_columns, 2)
        The position of the sample in the training data, and of the kernel in `kernel_names_`, of each column that has
        a coefficient in some output.
    support_ : ndarray of int, shape (n_support,)
        The positions of these samples, each once: what is stored.
    dual_coef_ : ndarray of shape (n_outputs, n_columns)
        The coefficients a, a row for two classes and otherwise one for each class.
    intercept_ : ndarray of shape (n_outputs,)
    kernel_weights_ : Series
        By kernel name, the share of ``sum |a|`` that its columns have; 0 for all where there is no column.
    objective_ : float
        The objective above, summed over outputs.
    duality_gap_ : float
        How far it is from the optimum over all columns, at most.
    history_ : DataFrame
        For each step the number of columns that have entered and that have a coefficient, the objective, its gap, by
        how much a column violates the dual, and the seconds so far.
    n_iter_ : int
        Steps.

    Notes
    -----
    The objective is an l1 norm of coefficients, so that it depends on the scale of a kernel: keep kernels normalised.
    Memory: as the Gram matrices or tiles, and the columns that have entered. scikit-learn's `score` and `GridSearchCV`
    work as with any classifier; `prediction_cost` counts columns.

    Examples
    --------
    >>> from kernelweave import ColumnBoostingClassifier, datasets
    >>> from kernelweave.kernels import Gaussian
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = ColumnBoostingClassifier([Gaussian("fac"), Gaussian("kar")]).fit(X[::10], y[::10])
    >>> bool(model.score(X[5::10], y[5::10]) > 0.9), bool(len(model.columns_) < 80)
    (True, True)
    >>> bool(model.duality_gap_ <= 1e-3 * model.objective_)
    True
    """

    _constraints = Constraints(loss=Choice("hinge", "squared"))

    def __init__(
        self,
        kernels: Any = None,
        *,
        C: float = 1.0,
        loss: str = "hinge",
        class_weight: Any = None,
        normalize: str | None = "unit-diagonal",
        missing: str = "native",
        columns_per_step: int = 20,
        max_columns: int | None = None,
        storage: str = "auto",
        device: str = "cpu",
        tol: float = 1e-3,
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.normalize = normalize
        self.missing = missing
        self.columns_per_step = columns_per_step
        self.max_columns = max_columns
        self.storage = storage
        self.device = device
        self.tol = tol
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ColumnBoostingClassifier:
        """Fit the classifier.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features), or OpenViews
            Files that are opened by `open_views` are read whole.
        y : array of shape (n_samples,)
            Class labels of any type; None where X is an `OpenViews` with a target.
        sample_weight : array of shape (n_samples,) or str, optional
            As in `MKLClassifier.fit`.
        """
        return self._fit(X, y, sample_weight)

    def _targets(self, counts: LabelCounts) -> ClassTargets:
        by_class = self._weights_of_classes(counts, self.C)
        loss = Hinge() if self.loss == "hinge" else SquaredMargin()
        return ClassTargets(loss, self.classes_, float(self.C), by_class)

    def _output_names(self) -> list[Any]:
        return list(self.classes_) if len(self.intercept_) > 1 else [self.classes_[1]]


class ColumnBoostingRegressor(NumberPredictions, ColumnBoosting):
    """Regression by a sum of few kernel columns, boosting with an l1 penalty.

    Minimises ``sum_im |a_im| + sum_i C_i max(0, |y_i - f(x_i)| - epsilon)`` over
    ``f(x) = sum_im a_im k_m(x_i, x) + b``, where i are the training samples, m the kernels, and
    ``C_i = C * sample_weight``. With ``loss="squared"`` the loss is ``1/2 sum_i C_i (y_i - f(x_i))^2``. Several
    targets, a column of y for each, have one such function each.

    Parameters
    ----------
    kernels, C, normalize, missing, columns_per_step, max_columns, storage, device, tol, verbose
        As in `ColumnBoostingClassifier`.
    loss : {"epsilon-insensitive", "squared"}
        A linear program, solved by HiGHS, or the lasso, solved by coordinate descent.
    epsilon : float
        Half the width of the tube in which errors do not count; "squared" has none.

    Attributes
    ----------
    columns_, support_, dual_coef_, intercept_, kernel_weights_, objective_, duality_gap_, history_, n_iter_
        As in `ColumnBoostingClassifier`, and so are `kernels_`, `kernel_names_`, `storage_`, `active_kernels_`,
        `removable_kernels_`, `n_features_in_`, `feature_names_in_` and `coef_`.
    target_names_ : list
        The names of the columns of y (their positions where y is no data frame); only where y has two dimensions.

    Notes
    -----
    y should be scaled: `C` and `epsilon` are in its units.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import ColumnBoostingRegressor
    >>> from kernelweave.kernels import Gaussian
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = ColumnBoostingRegressor([Gaussian(scale=1.0), Gaussian(scale=4.0)]).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.15), len(model.columns_) < 10
    (True, True)
    """

    _constraints = Constraints(loss=Choice("epsilon-insensitive", "squared"), epsilon=Number(low=0))

    def __init__(
        self,
        kernels: Any = None,
        *,
        C: float = 1.0,
        loss: str = "epsilon-insensitive",
        epsilon: float = 0.1,
        normalize: str | None = "unit-diagonal",
        missing: str = "native",
        columns_per_step: int = 20,
        max_columns: int | None = None,
        storage: str = "auto",
        device: str = "cpu",
        tol: float = 1e-3,
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.C = C
        self.loss = loss
        self.epsilon = epsilon
        self.normalize = normalize
        self.missing = missing
        self.columns_per_step = columns_per_step
        self.max_columns = max_columns
        self.storage = storage
        self.device = device
        self.tol = tol
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ColumnBoostingRegressor:
        """Fit the regressor.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features), or OpenViews
            Files that are opened by `open_views` are read whole.
        y : array of shape (n_samples,), or array or DataFrame of shape (n_samples, n_targets)
            Without NaN; None where X is an `OpenViews` with a target.
        sample_weight : array of shape (n_samples,) or str, optional
            As in `MKLRegressor.fit`.
        """
        return self._fit(X, y, sample_weight)

    def _targets(self, counts: NumberCounts) -> NumberTargets:
        if self.loss == "squared":
            return NumberTargets(SquaredError(), float(self.C))
        self._warn_of_the_tube(counts.high - counts.low, float(self.epsilon))
        return NumberTargets(EpsilonInsensitive(epsilon=float(self.epsilon)), float(self.C))
