"""What the three estimators share: from X and kernels to a fitted machine, and from new X to decision values.

An estimator checks its input, builds the machine (`_machine`), lets the combiner find the kernel and the machine's
optimum, and stores the combined kernel over the support vectors. Everything that differs between methods is in the
combiner and its kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from ..arrays import Place, chosen_place
from ..combiners import CombinedKernel, Combiner, FitControl, Mean, PerOutput
from ..combiners.named import as_numbers
from ..engines.rows import Rows
from ..features.choosing import APPROXIMATION
from ..kernels import KernelStack
from ..kernels.stacking.memory import KernelMemoryError, kernel_memory_error
from ..machines import Machine, Solution
from ..validation import Choice, Constraints, Exactly, Flag, Instance, Number, Seed, Whole, check_parameters
from ..validation.inputs import (
    check_new_data,
    check_posterior,
    check_row_labels,
    check_sample_weight,
    check_training_data,
    unchanged_on_failure,
)
from ..views import FetchedViews, Views
from ..views.fetched import Fetch
from .convergence import warn_unless_converged
from .explanations import Explanations
from .explicit.fit import fit_explicit
from .explicit.on_dask import check_in_memory
from .explicit.prediction import wherever_X_is
from .explicit.samples import Counts
from .explicit.stored import read_whole
from .fitted import FittedKernels
from .kernel_lists.parameters import KernelParameters
from .local_methods import LocalMethods
from .progress import progress_bar
from .storage import TrainingKernels
from .summary import summarize

DEVICES = Choice("cpu", "cuda", "auto")
_STORED_BY_SOME = "support_", "dual_coef_", "feature_coef_", "trace_shares_"


class KernelMachineEstimator(Explanations, LocalMethods, FittedKernels, KernelParameters, ABC):
    """Base of `MKLClassifier`, `MKLRegressor` and `MKLOneClass`."""

    _constraints = Constraints(
        combiner=Instance(Combiner, "a combiner such as Mean()") | None,
        storage=Choice("auto", "dense", "lazy"),
        approximation=APPROXIMATION | None,
        device=DEVICES,
        dtype=Choice("float64", "float32") | None,
        tol=Number(above=0),
        max_iter=Whole(1) | Exactly(-1, "-1 for no limit"),
        n_jobs=Whole(but_not=0) | None,
        random_state=Seed(),
        verbose=Flag() | Whole(0),
    )
    _start: np.ndarray | None = None  # coefficients that the machine begins at; set by `fit_path` only

    def _fit(self, X: Any, y: Any, sample_weight: Any, posterior: Any = None) -> KernelMachineEstimator:
        self._fit_kernel(X, y, sample_weight, posterior)
        return self

    def fit_kernel(self, X: Any, y: Any) -> CombinedKernel:
        """Fit, and return the combined kernel over all training samples; a fitted model keeps support vectors only.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or, for `MKLRegressor`, (n_samples, n_targets)

        Returns
        -------
        CombinedKernel
        """
        return self._fit_kernel(X, y, None)

    def _fit_kernel(self, X: Any, y: Any, sample_weight: Any, posterior: Any = None) -> CombinedKernel:
        with unchanged_on_failure(self):
            given = check_parameters(self)
            combiner = clone(Mean() if given.combiner is None else given.combiner)
            max_steps = None if given.max_iter == -1 else given.max_iter
            control = FitControl(given.random_state, given.tol, max_steps=max_steps)
            if given.approximation is not None:
                return fit_explicit(self, X, y, sample_weight, posterior, combiner, control)
            check_in_memory(self, X)
            X, y, sample_weight = read_whole(self, X, y, sample_weight)
            check_row_labels(X, y=y, sample_weight=sample_weight, posterior=posterior)
            views = Views(*check_training_data(self, X))
            weight = check_sample_weight(sample_weight, views.n_samples)
            y = self._check_target(y, views.n_samples)
            posterior = None if posterior is None else check_posterior(posterior, views.n_samples)
            # A sample of weight 0 is left out: it must not enter any constant.
            kept = np.flatnonzero(weight)
            if len(kept) < len(weight):
                views, weight, y = views.rows(kept), weight[kept], None if y is None else y[kept]
                posterior = None if posterior is None else _safe_indexing(posterior, kept)
            if len(kept) < 2:
                raise ValueError("only one sample has a positive sample_weight; at least 2 samples are needed")
            training = TrainingKernels(self, views, weight, y)
            machine, targets = self._machine(y, weight, posterior, training)
            if self._start is not None:
                machine = machine.starting_at(self._start)
            self.combiner_ = self._combiner_for(combiner, machine)
            stack = training.stack_for(self.combiner_, machine)
            watched = progress_bar(f"Fitting {type(self).__name__}") if given.verbose else nullcontext()
            with watched as progress:
                kernel = self._combined(stack, machine, targets, replace(control, progress=progress))
            vars(stack).pop("instead", None)  # of use while memory may run out
            solution: Any = kernel.solution
            # The gap of the kernel as it was computed, and what rounding of its values may add.
            gap = solution.gap + training.rounding(self.combiner_, stack, solution.coef)
            kernel.solution = replace(solution, gap=float("nan") if kernel.is_indefinite else gap)
            warn_unless_converged(self, kernel.solution)
            self._store_exact(kernel, machine, stack, kept)
            self._store_summary(kernel, y)
        return kernel

    def _combined(self, stack: KernelStack, machine: Machine, y: Any, control: FitControl) -> CombinedKernel:
        """The combined kernel, or an error that names it if memory runs out."""
        try:
            return self.combiner_.fit(stack, machine, y, control)
        except KernelMemoryError:
            raise
        except MemoryError as error:
            if stack.storage == "lazy":
                raise KernelMemoryError(
                    f"out of memory: {stack.n_kernels} kernels of {stack.n_samples} samples are computed in parts, and "
                    "memory does not hold these; use kernelweave.set_config(cache_bytes=0), fewer samples or columns"
                ) from error
            needed = 3, stack.n_samples, stack.dtype, "the combined kernel"
            raise kernel_memory_error(*needed, instead=stack.instead()) from error

    @property
    @abstractmethod
    def _machine_name(self) -> str:
        """What `machine_` is: the name of the loss, with the default resolved, or the class of a loss object."""

    @abstractmethod
    def _check_target(self, y: Any, n_samples: int) -> np.ndarray | None:
        """The user's y, checked; all of it, before samples of weight 0 go."""

    @abstractmethod
    def _machine(
        self, y: Any, weight: np.ndarray, posterior: Any, training: TrainingKernels
    ) -> tuple[Machine, np.ndarray | None]:
        """The machine for these targets, sample weights and posteriors, and the targets as combiners take them.

        Kernels are fitted later, with the storage that goes with the machine; ``training.dense_stack`` is for machines
        that are made from Gram matrices.
        """

    @staticmethod
    @abstractmethod
    def _count(rows: Rows) -> Counts:
        """What is counted in a block of samples before a fit on explicit features; a check of its targets, too."""

    @abstractmethod
    def _targets(self, counts: Any) -> Any:
        """What makes the machine of a block of samples, from the sum of `_count`; see `engines.targets`."""

    def _finished(self, kernel: CombinedKernel, solution: Solution) -> Solution:
        """What is stored of a solution on explicit features; as it is, by default."""
        return solution

    def _combiner_for(self, combiner: Combiner, machine: Machine) -> Combiner:
        """The combiner to fit, from a copy of the user's."""
        return combiner

    def _output_names(self) -> list[Any]:
        """What the machine's outputs are called, where there are several."""
        return list(range(len(self.intercept_)))

    def _store_exact(self, kernel: CombinedKernel, machine: Machine, stack: KernelStack, kept: np.ndarray) -> None:
        solution: Any = kernel.solution
        support = np.flatnonzero(solution.coef.any(axis=1))
        self._forget()
        self.support_ = kept[support]
        self.dual_coef_ = np.ascontiguousarray(solution.coef[support].T)
        self.storage_ = stack.storage
        self._store(kernel, kernel.restrict(support), machine.without_samples(), stack)

    def _forget(self) -> None:
        """Remove what only some fits store."""
        earlier = self.__dict__.get("_kernel")
        for name in (*_STORED_BY_SOME, *(() if earlier is None else earlier.shows)):
            self.__dict__.pop(name, None)

    def _store(self, kernel: CombinedKernel, kept: CombinedKernel, rule: Machine, stack: Any) -> None:
        """Store what exact fits and those on explicit features have in common; `kept` is the kernel of prediction."""
        solution: Any = kernel.solution
        self._rule, self._kernel = rule, kept
        self.machine_ = self._machine_name
        self.kernels_ = stack.kernels
        self.kernel_names_ = stack.names
        weights = kernel.weights()
        if weights.ndim == 1:
            self.kernel_weights_ = pd.Series(weights, stack.names, copy=True)
        else:
            self.kernel_weights_ = pd.DataFrame(weights, self._output_names(), stack.names, copy=True)
        self.intercept_ = solution.intercept
        self.objective_ = solution.objective
        self.duality_gap_ = solution.gap
        self.history_ = self._labelled_history(kernel)
        self.n_iter_ = len(kernel.history)
        self._store_use(kernel)
        self.__dict__.update(kernel.attributes())

    def _labelled_history(self, kernel: CombinedKernel) -> pd.DataFrame:
        """The history, with names of outputs where each has weights of its own."""
        history = pd.DataFrame(kernel.history)
        if isinstance(self.combiner_, PerOutput):
            names = self._output_names()
            history["output"] = pd.Series([names[place] for place in history["output"]], dtype=object)
        return history

    def _store_use(self, kernel: CombinedKernel) -> None:
        """Store which kernels prediction evaluates, and which views may be left out."""
        active, names = kernel.active, self.kernel_names_
        self.active_kernels_ = [name for name, is_active in zip(names, active, strict=True) if is_active]
        read = [*kernel.reads()]
        for base, is_active in zip(self.kernels_, active, strict=True):
            read += [*base.columns()] if is_active and not base.reads_ids else []
        self.removable_kernels_ = [
            name
            for name, base, is_active in zip(names, self.kernels_, active, strict=True)
            if not is_active and (base.reads_ids or not np.isin(base.columns(), read).any())
        ]

    def _store_summary(self, kernel: CombinedKernel, y: np.ndarray | None) -> None:
        """Store a summary of the weights of the training samples, if samples have weights of their own."""
        self.__dict__.pop("gating_summary_", None)
        weights = kernel.training_weights()
        if weights is None:
            return
        labels = y if is_classifier(self) else None
        solution: Any = kernel.solution
        support = np.flatnonzero(solution.coef.any(axis=1))
        self.gating_summary_ = summarize(
            self._labelled_weights(weights),
            labels,
            {"training": slice(None), "support": support},
            "gates" in self.combiner_.offers,
        )

    def _coefficients(self) -> np.ndarray:
        """What the combined kernel's values of new samples are multiplied with, of shape (n_terms, n_outputs)."""
        if "feature_coef_" in self.__dict__:
            return np.concatenate([*self.feature_coef_.values()])
        return self.dual_coef_.T

    def _values(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        """Decision values of each of the machine's outputs, of shape (n_samples, n_outputs)."""
        return self._values_of(self._new_views(X, fetch))

    def _place(self) -> Place:
        """Where new samples are computed with."""
        return chosen_place(self.device)

    def _values_of(self, views: Views) -> np.ndarray:
        coef, place = self._coefficients(), self._place()
        if not place.is_host and not views.can_fetch:
            found = self._kernel.values_in(place, views, coef)
            if found is not None:
                return found + self.intercept_

        def values(part: Views) -> np.ndarray:
            return self._kernel.values(part, coef)

        return views.in_blocks(self._values_per_sample(), values) + self.intercept_

    def _values_per_sample(self) -> int:
        return self._kernel.values_per_sample(self._coefficients())

    def _decide(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        """Public decision values."""
        values = self._values(X, fetch)
        return self._rule.decision(values)

    def _new_views(self, X: Any, fetch: Fetch | None = None) -> Views:
        check_is_fitted(self)
        if fetch is None:
            return Views(*check_new_data(self, X, self._kernel.columns()))
        if not self._kernel.takes_fetch:
            raise ValueError(
                f"{type(self.combiner_).__name__} needs every view of every sample, so fetch is of no use; it is "
                "for Localized, whose gates decide which sample needs which view"
            )
        return FetchedViews(Views(*check_new_data(self, X, self._kernel.reads())), fetch)

    @wherever_X_is
    def kernel_weights(self, X: Any, fetch: Fetch | None = None) -> pd.DataFrame:
        """The weight of each kernel for each sample: what multiplies k_m(x, x) in the combined kernel.

        Where that is no sum over kernels, the docstring of the combiner defines its weights. With gates they are
        g_m(x)^2; the gates themselves are `gates`.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        fetch : callable, optional
            As in `predict`: a view that is missing from X can be had, so it keeps its weight. Nothing is fetched here.

        Returns
        -------
        DataFrame of shape (n_samples, n_kernels)
            Columns are kernel names, or pairs of output and kernel name where each output has weights of its own. A
            sample that lacks a view has weight 0 there, and correspondingly more elsewhere.
        """
        views = self._new_views(X, fetch)
        weights = views.in_blocks(self._values_per_sample(), self._kernel.sample_weights)
        return self._labelled_weights(weights, X.index if isinstance(X, pd.DataFrame) else None)

    def _labelled_weights(self, weights: np.ndarray, index: Any = None) -> pd.DataFrame:
        """Numbers for each sample and kernel, or for each sample, output and kernel, under their names."""
        columns = pd.Index(self.kernel_names_)
        if weights.ndim == 3:
            columns = pd.MultiIndex.from_product([self._output_names(), self.kernel_names_], names=["output", "kernel"])
            weights = weights.reshape(len(weights), -1)
        return pd.DataFrame(weights, columns=columns, index=index)

    def gating_summary(self, X: Any = None, y: Any = None) -> pd.DataFrame:
        """A summary of the kernel weights: their mean, and the share of samples for which they are positive.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features), optional
            Samples whose weights are summed up. None means those of the fit, and its support vectors: what
            `gating_summary_` holds where weights depend on the sample.
        y : array of shape (n_samples,), optional
            Classes, or any labels, to sum up by.

        Returns
        -------
        DataFrame
            Columns ``samples`` ("given", or "training" and "support"), ``class`` ("all" is first), ``kernel``,
            ``weight``, ``gate`` where the model has gates, and ``share``. Shares of one class add up to the average
            number of active kernels (Table 5.17).
        """
        check_is_fitted(self)
        if X is not None:
            return summarize(self.kernel_weights(X), y, {"given": slice(None)}, "gates" in self.combiner_.offers)
        if not hasattr(self, "gating_summary_"):
            raise ValueError(
                f"{type(self.combiner_).__name__} keeps no weights of the training samples, see kernel_weights_; for "
                "weights of given samples pass X"
            )
        return self.gating_summary_

    def prediction_cost(self, costs: Any = None) -> float:
        """What it costs to predict one sample: support vectors times the normalised cost of the active kernels.

        On explicit features, landmarks (or what else features are made of) are counted in place of support vectors.

        That is ``sum_m s_m d_m / sum_h d_h``, where kernel m compares a new sample with s_m support vectors, all of
        them if its weight is positive and none otherwise (thesis 2.8). Where weights depend on the sample, s_m is an
        average over samples like those of the fit: support vectors with a positive weight, times the share of samples
        with one.

        Parameters
        ----------
        costs : mapping, sequence, number or None
            d_m by kernel name or in order; kernels that a mapping does not name cost 1. None means the costs that the
            combiner was fitted with, or else equal ones.
        """
        check_is_fitted(self)
        if costs is None:
            costs = getattr(self.combiner_, "costs_", None)
        d = as_numbers(costs, self.kernel_names_, "costs", default=1.0)
        if not d.any():
            raise ValueError("costs must not all be 0")
        evaluations = self._kernel.evaluations(self._coefficients())
        return float(evaluations @ d / d.sum())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
