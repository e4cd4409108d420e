"""Methods of models with learned projections or gates: projected samples, regions, and local values.

=============================  =====================================================
SLDR                           here
=============================  =====================================================
z^m = W_m' x^m                 `project`
W_m                            `projections_`
T                              `gating_projection_`
T' x^G                         `gating_space`
T v_m, v_m0                    `gating_coef_`, `gating_intercept_`
regions of the gating model    `region`
=============================  =====================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.metaestimators import available_if

from ..combiners.projected import component_names
from ..machines import Machine
from ..views import Views
from ..views.table import Fetch
from .prediction import in_files_too, wherever_X_is


def _offered(name: str, remedy: str) -> Callable[[Any], bool]:
    """Whether a method is one of the estimator's combiner, for `available_if`."""

    def check(estimator: Any) -> bool:
        combiner = getattr(estimator, "combiner_", estimator.combiner)
        if name in getattr(combiner, "methods", ()):
            return True
        raise AttributeError(f"{name} needs {remedy}, not {combiner!r:.80}")

    return check


class LocalMethods:
    """Mixin of estimators: the methods that only some combiners have, see `Combiner.methods`."""

    kernel_names_: list[str]
    active_kernels_: list[str]
    _coefficients: Callable[[], np.ndarray]
    intercept_: np.ndarray
    _kernel_weights: Callable[..., pd.DataFrame]
    _kernel: Any
    _rule: Machine
    _new_views: Callable[..., Views]
    _values_per_sample: Callable[[], int]
    _labelled_weights: Callable[..., pd.DataFrame]

    @available_if(_offered("project", "a combiner that learns projections, such as Projected"))
    @in_files_too
    def project(self, X: Any, by_kernel: bool = False) -> pd.DataFrame | dict[str, pd.DataFrame]:
        """Samples in the learned low-dimensional spaces; for the combiner `Projected`.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        by_kernel : bool
            Whether to return the projection of every active kernel by itself, without its gate.

        Returns
        -------
        DataFrame of shape (n_samples, n_components), or dict of them by kernel name
            eta_m(x) W_m' x^m of all kernels side by side, columns ``name__0``, ``name__1``, ...; the decision function
            of linear kernels is linear in them. A kernel that leaves the model, or whose view a sample lacks, is 0
            there. By kernel, only active ones are there and a sample that lacks the view has NaN.
        """
        views = self._new_views(X)

        def compute(part: Views) -> np.ndarray:
            gates, points = self._kernel.project(part)
            return np.hstack([gates, *points])

        table, n_kernels = views.in_blocks(self._values_per_sample(), compute), len(self.kernel_names_)
        ends = np.cumsum([count for _, count in self._kernel.layout.shapes])[:-1]
        gates, points = table[:, :n_kernels], np.split(table[:, n_kernels:], ends, axis=1)
        index = X.index if isinstance(X, pd.DataFrame) else None
        names = [component_names(name, Z.shape[1]) for name, Z in zip(self.kernel_names_, points, strict=True)]
        if by_kernel:
            return {
                name: pd.DataFrame(points[m], columns=names[m], index=index)
                for m, name in enumerate(self.kernel_names_)
                if name in self.active_kernels_
            }
        parts = [np.where(np.isnan(Z), 0.0, gates[:, m, None] * Z) for m, Z in enumerate(points)]
        return pd.DataFrame(np.hstack(parts), columns=[name for part in names for name in part], index=index)

    @available_if(_offered("gating_space", "the combiner Projected with gating_components set"))
    @in_files_too
    def gating_space(self, X: Any) -> pd.DataFrame:
        """Samples in the learned space in which regions are divided; for `Projected` with `gating_components`.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        DataFrame of shape (n_samples, n_gating_components)
            T' x^G, columns ``gating__0``, ``gating__1``, ...
        """
        codes = self._kernel.codes_of(self._new_views(X))
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(codes, columns=component_names("gating", codes.shape[1]), index=index)

    @available_if(_offered("region", "a combiner with a gating model, such as Localized()"))
    @in_files_too
    def region(self, X: Any) -> np.ndarray:
        """The name of the kernel with the largest gate for each sample; for combiners with a gating model.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of object, shape (n_samples,)
            None for a sample whose gates are all closed.
        """
        weights = self._kernel_weights(X).to_numpy()
        names = np.asarray(self.kernel_names_, dtype="O")[weights.argmax(axis=1)]
        names[weights.max(axis=1) == 0.0] = None
        return names

    @available_if(_offered("gates", "a combiner with gates, such as Localized()"))
    @wherever_X_is
    def gates(self, X: Any, fetch: Fetch | None = None) -> pd.DataFrame:
        """How open each kernel is for each sample: g_m(x), whose squares are `kernel_weights`.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        fetch : callable, optional
            As in `predict`.

        Returns
        -------
        DataFrame of shape (n_samples, n_kernels)
            Columns as in `kernel_weights`. Squares sum to 1, unless the gating model has ``norm="paper"``.
        """
        return np.sqrt(self._kernel_weights(X, fetch))

    @available_if(_offered("local_values", "a combiner with gates, such as Localized()"))
    @in_files_too
    def local_values(self, X: Any) -> pd.DataFrame:
        """The decision values of each sample if one kernel's gate were 1 and all others 0.

        These are the local models that gates choose from: ``<w_m, phi_m(x)> + b``. Weighted by the gates, their parts
        without b add up to the decision value less b.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        DataFrame of shape (n_samples, n_kernels)
            Columns are kernel names, or pairs of output and kernel name where the machine has several outputs; NaN
            where a sample lacks the view.
        """
        views = self._new_views(X)
        coef = self._coefficients()
        values = views.in_blocks(self._values_per_sample(), lambda part: self._kernel.local_values(part, coef))
        values += self.intercept_[:, None]
        values = values if values.shape[1] > 1 else values[:, 0]
        return self._labelled_weights(values, X.index if isinstance(X, pd.DataFrame) else None)


def gates_at(model: Any, codes: np.ndarray) -> np.ndarray:
    """The gates of a fitted model at points of its gating space."""
    return model._kernel.gates_at(codes)


def decision_at(model: Any, points: Mapping[str, np.ndarray]) -> np.ndarray:
    """Decision values at points of the spaces of some kernels, whose gates are 1 while all others are 0."""
    values = sum(
        model._kernel.values_at(model.kernel_names_.index(name), Z, model._coefficients()) for name, Z in points.items()
    )
    return model._rule.decision(values + model.intercept_)


def is_linear_in_projections(model: Any) -> bool:
    """Whether the decision values of a fitted model are linear in the columns of `project`."""
    return model._kernel.is_linear
