"""What a fitted model with learned projections or gates tells: projected samples, regions, and which features count.

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

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.metaestimators import available_if

from ..combiners import Projected
from ..combiners.localized.gated import GatedCombiner
from ..views import Views
from ..views.fetched import Fetch
from .fitted import in_blocks

_ATTRIBUTES = ("projections_", "gating_projection_", "feature_importance_", "gating_coef_", "gating_intercept_")


def _has_projections(estimator: Any) -> bool:
    combiner = getattr(estimator, "combiner_", estimator.combiner)
    if not isinstance(combiner, Projected):
        raise AttributeError(f"project needs the combiner Projected, not {type(combiner).__name__}")
    return True


def _has_gates(estimator: Any) -> bool:
    combiner = getattr(estimator, "combiner_", estimator.combiner)
    if not isinstance(combiner, GatedCombiner):
        raise AttributeError(f"this needs the combiner Localized or Projected, not {type(combiner).__name__}")
    return True


def _weighs_by_gates(estimator: Any) -> bool:
    combiner = getattr(estimator, "combiner_", estimator.combiner)
    if not isinstance(getattr(combiner, "combiner", combiner), GatedCombiner):
        raise AttributeError(f"gates needs the combiner Localized or Projected, not {type(combiner).__name__}")
    return True


def _has_regions(estimator: Any) -> bool:
    _has_gates(estimator)
    combiner = getattr(estimator, "combiner_", estimator.combiner)
    if isinstance(combiner, Projected) and combiner.gating is None:
        raise AttributeError("region needs a gating model, such as Projected(gating=Softmax())")
    return True


def _has_gating_projection(estimator: Any) -> bool:
    combiner = getattr(estimator, "combiner_", estimator.combiner)
    if not isinstance(combiner, Projected) or combiner.gating_components is None:
        raise AttributeError("gating_space needs the combiner Projected with gating_components set")
    return True


class ProjectionMethods:
    """Mixin of estimators whose combiner may be `Localized` or `Projected`."""

    @available_if(_has_projections)
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
            gates, points = self.combiner_.project(self._state, self._theta, part)
            return np.hstack([gates, *points])

        table, n_kernels = in_blocks(views, self._values_per_sample(), compute), len(self.kernel_names_)
        ends = np.cumsum([count for _, count in self.combiner_.layout_.shapes])[:-1]
        gates, points = table[:, :n_kernels], np.split(table[:, n_kernels:], ends, axis=1)
        index = X.index if isinstance(X, pd.DataFrame) else None
        names = [_component_names(name, Z.shape[1]) for name, Z in zip(self.kernel_names_, points, strict=True)]
        if by_kernel:
            return {
                name: pd.DataFrame(points[m], columns=names[m], index=index)
                for m, name in enumerate(self.kernel_names_)
                if name in self.active_kernels_
            }
        parts = [np.where(np.isnan(Z), 0.0, gates[:, m, None] * Z) for m, Z in enumerate(points)]
        return pd.DataFrame(np.hstack(parts), columns=[name for part in names for name in part], index=index)

    @available_if(_has_gating_projection)
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
        codes = self.combiner_.gating_space(self._state, self._theta, self._new_views(X))
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(codes, columns=_component_names("gating", codes.shape[1]), index=index)

    @available_if(_has_regions)
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
        weights = self.kernel_weights(X).to_numpy()
        names = np.array(self.kernel_names_, dtype=object)[weights.argmax(axis=1)]
        names[weights.max(axis=1) == 0.0] = None
        return names

    @available_if(_weighs_by_gates)
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
        return np.sqrt(self.kernel_weights(X, fetch))

    @available_if(_has_gates)
    def local_values(self, X: Any) -> pd.DataFrame:
        """What the model would say of each sample if one kernel's gate were 1 and all others 0.

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
        coef = self.dual_coef_.T
        values = in_blocks(
            views,
            self._values_per_sample(),
            lambda part: self.combiner_.local_values(self._state, self._theta, part, coef),
        )
        values += self.intercept_[:, None]
        values = values if values.shape[1] > 1 else values[:, 0]
        return self._labelled_weights(values, X.index if isinstance(X, pd.DataFrame) else None)

    def _gates_at(self, codes: np.ndarray) -> np.ndarray:
        """The gates at points of the gating space."""
        return self.combiner_.gates_at(self._state, self._theta, codes)

    def _decision_at(self, points: Mapping[str, np.ndarray]) -> np.ndarray:
        """Decision values at points of the spaces of some kernels, whose gates are 1 while all others are 0."""
        values = sum(
            self.combiner_.values_at(self._state, self.kernel_names_.index(name), Z, self.dual_coef_.T)
            for name, Z in points.items()
        )
        return self._rule.decision(values + self.intercept_)

    def _is_linear_in_projections(self) -> bool:
        """Whether decision values are linear in what `project` gives."""
        return all(each.kernel.is_linear for each, on in zip(self._state.maps, self._active(), strict=True) if on)

    def _store_projections(self, state: Any, theta: np.ndarray) -> None:
        """Store which kernels are in use and, with learned projections, what they are."""
        active = self.combiner_.active(state, theta)
        names = self.kernel_names_
        self.active_kernels_ = [name for name, is_active in zip(names, active, strict=True) if is_active]
        read = [*self.combiner_.reads(state)]
        for kernel, is_active in zip(self.kernels_, active, strict=True):
            read += [*kernel.columns()] if is_active and not kernel.reads_ids else []
        self.removable_kernels_ = [
            name
            for name, kernel, is_active in zip(names, self.kernels_, active, strict=True)
            if not is_active and (kernel.reads_ids or not np.isin(kernel.columns(), read).any())
        ]
        for attribute in _ATTRIBUTES:
            self.__dict__.pop(attribute, None)
        if isinstance(self.combiner_, GatedCombiner):
            self._store_gating(state, theta)
        if not isinstance(self.combiner_, Projected):
            return
        matrices = self.combiner_.layout_.projections(theta)
        self.projections_ = {
            name: pd.DataFrame(W, state.maps[m].names, _component_names(name, W.shape[1]), copy=True)
            for m, (name, W) in enumerate(zip(names, matrices, strict=True))
        }
        self.feature_importance_ = {
            name: pd.Series(np.linalg.norm(W, axis=1), state.maps[m].names, name=name)
            for m, (name, W) in enumerate(zip(names, matrices, strict=True))
        }
        T = self.combiner_.layout_.gating(theta)[1]
        if T is not None:
            self.gating_projection_ = pd.DataFrame(T, state.inputs.names(state.stack), copy=True).add_prefix("gating__")

    def _store_gating(self, state: Any, theta: np.ndarray) -> None:
        found = self.combiner_.gating_coefficients(theta, len(self.kernel_names_))
        if found is not None:
            inputs = state.inputs.names(state.stack)
            self.gating_coef_ = pd.DataFrame(found[0], inputs, self.kernel_names_, copy=True)
            self.gating_intercept_ = pd.Series(found[1], self.kernel_names_, copy=True)


def _component_names(name: str, count: int) -> list[str]:
    return [f"{name}__{k}" for k in range(count)]
