"""What the three estimators share: from X and kernels to a fitted machine, and from new X to decision values.

A fit opens the samples in memory, in files or on Dask (`samples`), makes the machine (`_targets`) and the stack of
kernels (`training`), lets the combiner find the kernel and the machine's optimum, and stores the combined kernel over
the support vectors or the weight vectors of explicit features. Everything that differs between methods is in the
combiner and its kernel, and everything that differs between forms of kernels is in the stack.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier, is_outlier_detector
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._warnings import warn
from ..arrays import chosen_place
from ..combiners import CombinedKernel, Combiner, FitControl, PerOutput
from ..combiners.base import COMBINED, as_numbers, fit_combiner
from ..combiners.combined import ExplicitState
from ..combiners.named import NAMED, combiner_named
from ..combiners.per_output import OutputKernels, OutputStates
from ..engines.base import Rows
from ..engines.targets import Counts
from ..engines.training import size_of
from ..features import APPROXIMATION
from ..kernels import Kernel
from ..machines import Loss, Machine, Solution
from ..stacks import ExactStack, TrainingStack
from ..validation import Choice, Constraints, Exactly, Flag, Instance, Number, Seed, Whole, check_parameters
from ..validation.inputs import unchanged_on_failure
from ..validation.schemas import (
    Schema,
    Sizes,
    agree,
    by_name,
    check_whole,
    expect,
    indices,
    numbers,
    object_of,
    one_of,
    optional,
    refuse,
)
from ..views import FetchedViews, Views
from ..views.given import new_views
from ..views.table import Fetch
from .explanations import Explanations, labelled
from .kernel_lists import KernelParameters
from .progress import progress_bar
from .samples import Samples, by_blocks, samples_of
from .training import (
    GCV_COSTS,
    check_choice_of_cost,
    check_completion,
    check_features,
    explained_memory_errors,
    rounding,
    training_of,
)

DEVICES = Choice("cpu", "cuda", "auto")
_STORED_BY_SOME = "support_", "dual_coef_", "feature_coef_", "trace_shares_", "gating_summary_", "C_", "gcv_"


class DecisionValues(Explanations, KernelParameters):
    """What all models over kernels do: decision values of new samples from `_kernel` and coefficients."""

    device: str
    _count: Callable[[Rows], Counts]
    kernels_: list[Kernel]
    kernel_names_: list[str]
    dual_coef_: np.ndarray
    _rule: Machine

    def _counts(self, samples: Samples) -> Any:
        """The counts of all samples before a fit, and a check that there are two of them."""
        counts: Any = samples.engine.sum(self._count)
        if counts.n_samples < 2:
            raise ValueError("only one sample has a positive sample_weight; at least 2 samples are needed")
        return counts

    def _output_names(self) -> list[Any]:
        return list(range(len(self.intercept_)))

    def _store_use(self, kernel: Any) -> None:
        active, names = kernel.active, self.kernel_names_
        self.active_kernels_ = [name for name, is_active in zip(names, active, strict=True) if is_active]
        used = [base for base, is_active in zip(self.kernels_, active, strict=True) if is_active]
        columns = [base.columns() for base in used if not base.reads_ids]
        read = np.concatenate([kernel.reads(), *columns])
        self.removable_kernels_ = [
            name
            for name, base, is_active in zip(names, self.kernels_, active, strict=True)
            if not is_active and (base.reads_ids or not np.isin(base.columns(), read).any())
        ]

    def _coefficients(self) -> np.ndarray:
        if "feature_coef_" in self.__dict__:
            return np.concatenate([*self.feature_coef_.values()])
        return self.dual_coef_.T

    def _values(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        return self._values_of(self._new_views(X, fetch))

    def _values_of(self, views: Views) -> np.ndarray:
        coef, place = self._coefficients(), chosen_place(self.device)
        if not place.is_host and not views.can_fetch:
            found = self._kernel.values_in(place, views, coef)
            if found is not None:
                return found + self.intercept_
        values = views.in_blocks(self._values_per_sample(), lambda part: self._kernel.values(part, coef))
        return values + self.intercept_

    def _values_per_sample(self) -> int:
        return self._kernel.values_per_sample(self._coefficients())

    def _decide(self, X: Any, fetch: Fetch | None = None) -> np.ndarray:
        values = self._values(X, fetch)  # an error where the model is not fitted, so that it has no rule
        return self._rule.decision(values)

    def _new_views(self, X: Any, fetch: Fetch | None = None) -> Views:
        check_is_fitted(self)
        if fetch is None:
            return new_views(self, X, self._kernel.columns())
        if not self._kernel.takes_fetch:
            owner = type(getattr(self, "combiner_", self)).__name__
            raise ValueError(
                f"{owner} needs every view of every sample, so fetch is of no use; it is for Localized, whose gates "
                "decide which sample needs which view"
            )
        return FetchedViews(new_views(self, X, self._kernel.reads()), fetch)

    def _labelled(self, values: np.ndarray, X: Any = None, names: list[str] | None = None) -> pd.DataFrame:
        return labelled(values, self.kernel_names_ if names is None else names, self._output_names(), X)

    def prediction_cost(self, costs: Any = None) -> float:
        """What it costs to predict one sample: support vectors times the normalised cost of the active kernels.

        That is ``sum_m s_m d_m / sum_h d_h``, where kernel m compares a new sample with s_m support vectors, all of
        them if its weight is positive and none otherwise (thesis 2.8). Where weights depend on the sample, s_m is an
        average over samples like those of the fit: support vectors with a positive weight, times the share of samples
        with one. Landmarks, or what else explicit features are made of, count in place of support vectors, and so do
        the columns of kernel m in models of columns.

        Parameters
        ----------
        costs : mapping, sequence, number or None
            d_m by kernel name or in order; kernels that a mapping does not name cost 1. None means the costs that the
            combiner was fitted with, or else equal ones.
        """
        check_is_fitted(self)
        if costs is None:
            costs = getattr(getattr(self, "combiner_", None), "costs_", None)
        d = as_numbers(costs, self.kernel_names_, "costs", default=1.0)
        if not d.any():
            raise ValueError("costs must not all be 0")
        evaluations = self._kernel.evaluations(self._coefficients())
        return float(evaluations @ d / d.sum())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")


class KernelMachineEstimator(DecisionValues, ABC):
    _constraints = Constraints(
        combiner=Instance(Combiner, "a combiner such as Mean()") | Choice(*NAMED) | None,
        missing=Choice("native", "complete"),
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
    C: Any
    _start: np.ndarray | None = None  # coefficients that the machine begins at; set by `fit_path` only

    _saved = (
        Schema(
            {
                "dual_coef_": optional(numbers("outputs", "support")),
                "intercept_": numbers("outputs"),
                "support_": optional(indices("support")),
                "feature_coef_": optional(by_name(numbers("own", "outputs"), own=("own",))),
                "storage_": optional(one_of("dense", "lazy")),
                "_rule": object_of(Machine),
            },
            transient={"device": lambda: "cpu"},
        )
        | COMBINED
    )

    def fit_kernel(self, X: Any, y: Any) -> CombinedKernel:
        """Fit, and return the combined kernel over all training samples; a fitted model keeps support vectors only."""
        return self._fit_kernel(X, y, None)

    def _fit_kernel(self, X: Any, y: Any, sample_weight: Any, posterior: Any = None) -> CombinedKernel:
        with unchanged_on_failure(self):
            given = check_parameters(self)
            combiner = clone(combiner_named(given.combiner))
            check_parameters(combiner)
            check_features(self, combiner, posterior)
            check_completion(self, combiner)
            max_steps = None if given.max_iter == -1 else given.max_iter
            control = FitControl(given.random_state, given.tol, max_steps=max_steps)
            samples = samples_of(self, X, y, sample_weight, posterior)
            with samples.engine:
                return self._fit_to(samples, combiner, control)

    def _fit_to(self, samples: Samples, combiner: Combiner, control: FitControl) -> CombinedKernel:
        counts = self._counts(samples)
        targets = self._targets(counts)
        self.combiner_ = self._combiner_for(combiner)
        check_choice_of_cost(self, self.combiner_)
        stack, machine, storage = training_of(self, samples, counts.n_samples, targets, self.combiner_, control.rng)
        if self._start is not None:
            machine = machine.starting_at(self._start)
        watched = progress_bar(f"Fitting {type(self).__name__}") if self.verbose else nullcontext()
        with watched as progress, explained_memory_errors(stack):
            kernel = fit_combiner(self.combiner_, stack, machine, replace(control, progress=progress))
        solution: Any = kernel.solution
        # The gap of the kernel as it was computed, and what rounding of its values may add.
        gap = solution.gap + rounding(self.combiner_, stack, solution.coef)
        solution = replace(solution, gap=float("nan") if kernel.is_indefinite else gap)
        warn_unless_converged(self, solution, explicit=not kernel.of_samples)
        kernel.solution = self._finished(kernel, solution)
        self.storage_ = storage
        self._store(kernel, machine, stack, samples)
        return kernel

    _machines = "svm", "squared-hinge"  # the machines of exact kernels and of explicit features, by default

    @property
    def _machine_name(self) -> str:
        machine = getattr(self, "machine", "auto")
        if not isinstance(machine, str):
            return type(machine).__name__
        return self._machines[self.approximation is not None] if machine == "auto" else machine

    @property
    def _chooses_cost(self) -> bool:
        return isinstance(self.C, str)

    def _cost(self) -> float:
        return float(GCV_COSTS[-1] if self._chooses_cost else self.C)

    @abstractmethod
    def _check_target(self, y: Any, n_samples: int) -> np.ndarray | None:
        """The user's y, checked as a whole, before samples of weight 0 are left out."""

    def _kernel_targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The user's y as supervised kernels get it; samples of weight 0 are left out."""
        return y

    @staticmethod
    @abstractmethod
    def _count(rows: Rows) -> Counts:
        """The counts of a block of samples before a fit, and a check of its targets."""

    @abstractmethod
    def _targets(self, counts: Any) -> Any:
        """Makes the machine of some samples, from the sum of `_count`; see `engines.targets`."""

    def _loss(self) -> Loss | None:
        """The loss of each output, with the default resolved; None where there are no targets."""
        return None

    def _posteriors(self, posterior: Any, y: Any, fitted: Callable[[], ExactStack]) -> np.ndarray | None:
        """Soft labels as machines take them, from those that the user gave or fitted kernels; none by default."""
        return None

    def _finished(self, kernel: CombinedKernel, solution: Solution) -> Solution:
        """The part of a solution that is stored; all of it, by default."""
        return solution

    def _combiner_for(self, combiner: Combiner) -> Combiner:
        return combiner

    def _store(self, kernel: CombinedKernel, machine: Machine, stack: TrainingStack, samples: Samples) -> None:
        earlier = self.__dict__.get("_kernel")
        for name in (*_STORED_BY_SOME, *(() if earlier is None else earlier.shows)):
            self.__dict__.pop(name, None)
        solution: Any = kernel.solution
        support = np.flatnonzero(solution.coef.any(axis=1)) if kernel.of_samples else np.empty(0, dtype=int)
        self._rule, self._kernel = machine.without_samples(), kernel.restrict(support)
        self.machine_ = self._machine_name
        self.kernels_ = stack.kernels
        self.kernel_names_ = stack.names
        if kernel.of_samples:
            self.support_ = np.asarray(samples.kept)[support]
            self.dual_coef_ = np.ascontiguousarray(solution.coef[support].T)
        else:
            own = kernel.kernels[0] if isinstance(kernel, OutputKernels) else kernel
            features: Any = getattr(own, "stack", stack)  # a combiner may have learned others
            parts = [part.copy() for part in np.split(solution.coef, features.offsets[1:-1])]
            self.feature_coef_ = dict(zip(features.names, parts, strict=True))
            self.trace_shares_ = pd.Series([m.trace_share for m in features.maps], features.names, dtype=float)
        self.intercept_ = solution.intercept
        if self._chooses_cost:
            self.C_, self.gcv_ = solution.cost, pd.Series(solution.gcv, pd.Index(GCV_COSTS, name="C"), name="gcv")
        weights = kernel.weights()
        if weights.ndim == 1:
            self.kernel_weights_ = pd.Series(weights, _index(tuple(stack.names)), copy=True)
        else:
            self.kernel_weights_ = pd.DataFrame(weights, self._output_names(), stack.names, copy=True)
        self.objective_ = solution.objective
        self.duality_gap_ = solution.gap
        self.history_ = self._labelled_history(kernel)
        self.n_iter_ = len(kernel.history)
        self._store_use(kernel)
        self.__dict__.update(kernel.attributes())
        self._store_summary(kernel, samples, support)

    def _labelled_history(self, kernel: CombinedKernel) -> pd.DataFrame:
        history = _table(kernel.history)
        if isinstance(self.combiner_, PerOutput):
            names = self._output_names()
            history["output"] = pd.Series([names[place] for place in history["output"]], dtype=object)
        return history

    def _store_summary(self, kernel: CombinedKernel, samples: Samples, support: np.ndarray) -> None:
        totals, weights = getattr(kernel, "totals", None), kernel.training_weights()
        if totals is not None:  # over the blocks
            self.gating_summary_ = totals.table(kernel.names, getattr(self, "classes_", None))
        elif weights is not None:
            labels = samples.whole.y if is_classifier(self) else None
            chosen = {"training": slice(None), "support": support}
            gated = "gates" in self.combiner_.methods
            self.gating_summary_ = summarize(self._labelled(weights), labels, chosen, gated)

    @by_blocks(dask=True)
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
            sample that lacks a view has weight 0 there, and correspondingly more elsewhere, unless views are completed
            (``missing="complete"``).
        """
        views = self._new_views(X, fetch)
        weights = views.in_blocks(self._values_per_sample(), self._kernel.sample_weights)
        return self._labelled(weights, X)

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
            return summarize(self.kernel_weights(X), y, {"given": slice(None)}, "gates" in self.combiner_.methods)
        if not hasattr(self, "gating_summary_"):
            raise ValueError(
                f"{type(self.combiner_).__name__} keeps no weights of the training samples, see kernel_weights_; for "
                "weights of given samples pass X"
            )
        return self.gating_summary_

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """The coefficients are those of samples, or of the explicit features."""
        fields = vars(self)
        state = fields["_state"]
        first = state.states[0] if isinstance(state, OutputStates) and state.states else state
        needed = ("feature_coef_",) if isinstance(first, ExplicitState) else ("dual_coef_", "support_")
        for name in needed:
            if name not in fields:
                refuse(path, f"lacks the attribute {name}")
        if not isinstance(first, ExplicitState):
            return
        if list(self.feature_coef_) != self.kernel_names_:
            refuse(f"{path}.feature_coef_", "has other names than the kernels")
        for coef, found in zip(self.feature_coef_.values(), first.maps, strict=True):
            expect(first.n_copies * found.n_features, len(coef), f"{path}.feature_coef_", "features")
        if isinstance(state, OutputStates):
            n_features = sum(len(coef) for coef in self.feature_coef_.values())
            for place, (own, rows) in enumerate(zip(state.states, state.rows, strict=True)):
                if not isinstance(own, ExplicitState):
                    refuse(f"{path}._state.states[{place}]", "has no explicit features, as others have")
                where = f"{path}._state.rows[{place}]"
                check_whole(rows, where, below=n_features, of="features")
                expect(own.n_copies * sum(found.n_features for found in own.maps), len(rows), where, "features")


def _table(rows: list[dict[str, float]]) -> pd.DataFrame:
    # as DataFrame(rows), in half the time where all rows have the same names
    names = tuple(rows[0]) if rows else ()
    if not names or any(tuple(row) != names for row in rows):
        return pd.DataFrame(rows)
    table = pd.DataFrame({place: np.array([row[name] for row in rows]) for place, name in enumerate(names)})
    table.columns = _index(names)
    return table


def _index(names: tuple[str, ...]) -> pd.Index:
    return _made_once(names).view()  # so that names that users give to one are its own


@lru_cache(maxsize=64)
def _made_once(names: tuple[str, ...]) -> pd.Index:
    return pd.Index(names)


def warn_unless_converged(estimator: Any, solution: Solution, *, explicit: bool = False) -> None:
    if solution.converged:
        return
    one_class = explicit and is_outlier_detector(estimator)
    relative = solution.gap / size_of(solution.objective, 1.0 if one_class else 0.0)
    # The default budget is far beyond what rounding leaves to do, so without max_iter it is rounding that ends.
    if 0 <= estimator.max_iter <= solution.steps:
        advice = "raise max_iter"
    elif explicit and estimator.dtype != "float64":
        advice = 'use dtype="float64", lower C, or raise tol'
    else:
        advice = "lower C, scale the data, or raise tol"
    if explicit:
        found = f"{solution.steps} steps with a relative duality gap of {relative:.2g} (tol is {estimator.tol:g})"
    else:
        found = (
            f"{solution.steps} solver steps with a largest KKT violation of {solution.violation:.2g} "
            f"(tol is {estimator.tol:g})"
        )
        if not isnan(relative):  # as it is where a kernel is not positive semidefinite
            found += f", a relative duality gap of {relative:.2g}"
    warn(f"{type(estimator).__name__} stopped after {found}; {advice}", ConvergenceWarning)


def summarize(weights: pd.DataFrame, y: Any, samples: dict[str, Any], gated: bool = False) -> pd.DataFrame:
    """Mean weight of each kernel, and the share of samples that it is positive for (thesis Table 5.17).

    `weights` are NaN where a sample has no part in an output, and squares of gates where `gated`; `y` has classes to
    sum up by, and `samples` the positions to sum up over, by name. The result has a row for each set of samples, class
    ("all" is first) and kernel, with columns of these names, ``weight``, ``gate`` (if `gated`) and ``share``.

    >>> import pandas as pd
    >>> summarize(pd.DataFrame({"fac": [1.0, 0.0], "fou": [0.5, 0.5]}), None, {"given": slice(None)})
      samples class kernel  weight  share
    0   given   all    fac     0.5    0.5
    1   given   all    fou     0.5    1.0
    """
    labels = None if y is None else np.asarray(y)
    if labels is not None and labels.shape != (len(weights),):
        raise ValueError(f"y has shape {labels.shape}, but there are {len(weights)} samples to sum up")
    columns = weights.columns
    kernels = columns.to_frame(index=False) if columns.nlevels > 1 else pd.DataFrame({"kernel": columns})
    table = []
    for name, positions in samples.items():
        chosen = weights.iloc[positions]
        groups = {} if labels is None else {label: labels[positions] == label for label in np.unique(labels)}
        for label, members in {"all": slice(None), **groups}.items():
            part = chosen[members]
            if len(part):
                shares = (part > 0).where(part.notna()).mean()
                means = {"weight": part.mean().to_numpy()}
                if gated:
                    means["gate"] = np.sqrt(part).mean().to_numpy()
                means["share"] = shares.to_numpy(dtype=float)
                rows = pd.DataFrame({"samples": name, "class": label, **kernels, **means})
                table.append(rows[part.notna().any().to_numpy()])
    summary = pd.concat(table, ignore_index=True)
    return summary.astype(dict.fromkeys(["samples", "class", *kernels], object))


def check_rule(value: Any, sizes: Sizes, path: str) -> None:
    """The rule that makes decisions has as many outputs as there are coefficients, and decides between the classes."""
    rule = vars(value)["_rule"]
    agree(sizes, "outputs", rule.n_outputs, f"{path}._rule")
    if "classes" in sizes:
        decision = rule.decision(np.zeros((1, sizes["outputs"])))
        agree(sizes, "classes", 2 if decision.ndim == 1 else decision.shape[1], f"{path}._rule")
