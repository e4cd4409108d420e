"""What the three estimators share: from X and kernels to a fitted machine, and from new X to decision values.

An estimator checks its input, builds the machine (`_machine`), lets the combiner find the kernel and the machine's
optimum, and stores support vectors. Everything that differs between methods is in the combiner.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..combiners import Combiner, Mean
from ..combiners.base import Combination
from ..kernels import KernelStack, Precomputed
from ..kernels.naming import default_kernels
from ..machines import Machine
from ..views import Views
from .checks import (
    check_max_iter,
    check_new_views,
    check_number,
    check_sample_weight,
    check_training_views,
    unchanged_on_failure,
)
from .parameters import KernelParameters
from .path import RestartedMachine
from .progress import progress_bar
from .soft_labels import check_posterior

# New samples are compared with the support vectors in blocks of about this many kernel values.
_BLOCK_VALUES = 2**23


class KernelMachineEstimator(KernelParameters, ABC):
    """Base of `MKLClassifier`, `MKLRegressor` and `MKLOneClass`."""

    _start: np.ndarray | None = None  # coefficients that the machine begins at; set by `fit_path` only

    def _fit(self, X: Any, y: Any, sample_weight: Any, posterior: Any = None) -> KernelMachineEstimator:
        with unchanged_on_failure(self):
            tol = check_number("tol", self.tol, 0.0)
            max_steps = check_max_iter(self.max_iter)
            combiner = Mean() if self.combiner is None else self.combiner
            if not isinstance(combiner, Combiner):
                raise ValueError(f"combiner must be a combiner such as Mean() or None, not {combiner!r}")
            views = check_training_views(self, X)
            weight = check_sample_weight(sample_weight, views.n_samples)
            y = self._check_target(y, views.n_samples)
            posterior = None if posterior is None else check_posterior(posterior, views.n_samples)
            # A sample of weight 0 is as if it were not there: it must not enter any constant.
            kept = np.flatnonzero(weight)
            if len(kept) < len(weight):
                views, weight, y = views.rows(kept), weight[kept], None if y is None else y[kept]
                posterior = None if posterior is None else posterior[kept]
            if len(kept) < 2:
                raise ValueError("only one sample has a positive sample_weight; at least 2 samples are needed")
            kernels = default_kernels(views) if self.kernels is None else self.kernels
            stack = KernelStack(kernels, self.normalize, self.dtype).fit(views, weight)
            machine, targets = self._machine(y, weight, posterior, stack)
            if self._start is not None:
                machine = RestartedMachine(machine, self._start)
            self.combiner_ = clone(combiner)
            with progress_bar(f"Fitting {type(self).__name__}", self.verbose) as progress:
                rng = check_random_state(self.random_state)
                combination = self.combiner_.fit(stack, machine, targets, rng, tol, max_steps, progress)
            self._store(combination, machine, stack, kept)
        return self

    @abstractmethod
    def _check_target(self, y: Any, n_samples: int) -> np.ndarray | None:
        """The user's y, checked; all of it, before samples of weight 0 go."""

    @abstractmethod
    def _machine(
        self, y: np.ndarray | None, weight: np.ndarray, posterior: np.ndarray | None, stack: KernelStack
    ) -> tuple[Machine, np.ndarray | None]:
        """The machine for these targets, sample weights and posteriors, and the targets as combiners see them."""

    def _store(self, found: Combination, machine: Machine, stack: KernelStack, kept: np.ndarray) -> None:
        solution = found.solution
        if not solution.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after {solution.steps} solver steps with a largest KKT violation of "
                f"{solution.violation:.2g} (tol is {self.tol:g}); raise max_iter, scale the data, or lower C",
                ConvergenceWarning,
                stacklevel=4,
            )
        support = np.flatnonzero(solution.coef.any(axis=1))
        self._rule = machine.without_samples()
        self._state = found.state.restrict(support, self.combiner_.active(found.state, found.theta))
        self._theta = found.theta
        self.kernels_ = stack.kernels
        self.kernel_names_ = stack.names
        weights = self.combiner_.global_weights(found.state, found.theta)
        self.kernel_weights_ = pd.Series(weights, stack.names, copy=True)
        self.support_ = kept[support]
        self.dual_coef_ = np.ascontiguousarray(solution.coef[support].T)
        self.intercept_ = solution.intercept
        self.objective_ = solution.objective
        self.duality_gap_ = solution.gap
        self.history_ = pd.DataFrame(found.history)
        self.n_iter_ = len(found.history)

    def _values(self, X: Any) -> np.ndarray:
        """Decision values of each of the machine's outputs, of shape (n_samples, n_outputs)."""
        views = self._new_views(X)
        n_rows = max(1, _BLOCK_VALUES // max(1, len(self.support_)))
        blocks = [slice(start, start + n_rows) for start in range(0, views.n_samples, n_rows)]
        parts = [views] if len(blocks) == 1 else (views.rows(block) for block in blocks)
        coef = self.dual_coef_.T
        return np.vstack([self.combiner_.cross(self._state, self._theta, part) @ coef for part in parts]) + (
            self.intercept_
        )

    def _decide(self, X: Any) -> np.ndarray:
        """Public decision values."""
        values = self._values(X)
        return self._rule.decision(values)

    def _new_views(self, X: Any) -> Views:
        check_is_fitted(self)
        active = self.combiner_.active(self._state, self._theta)
        used = [kernel.columns() for kernel, is_active in zip(self.kernels_, active, strict=True) if is_active]
        return check_new_views(self, X, np.concatenate(used))

    def kernel_weights(self, X: Any) -> pd.DataFrame:
        """The weight of each kernel for each sample.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        DataFrame of shape (n_samples, n_kernels)
            Columns are kernel names. A sample that lacks a view has weight 0 there, and correspondingly more
            elsewhere.
        """
        views = self._new_views(X)
        weights = self.combiner_.kernel_weights(self._state, self._theta, views)
        return pd.DataFrame(weights, columns=self.kernel_names_, index=X.index if isinstance(X, pd.DataFrame) else None)

    def replace_kernel(self, name: str, kernel: Precomputed) -> KernelMachineEstimator:
        """Install a precomputed kernel that knows further samples, without refitting.

        Parameters
        ----------
        name : str
            One of `kernel_names_`.
        kernel : Precomputed or Distance of a matrix
            The kernel of the fit, extended by new ids (its method `extend`).

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if name not in self.kernel_names_:
            raise ValueError(f"there is no kernel named {name!r}; the kernels are {self.kernel_names_}")
        self._state.replace(self.kernel_names_.index(name), kernel)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
