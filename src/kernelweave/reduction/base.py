"""Base of the transformers of one kernel: from X to a Gram matrix, and from coefficients to features of new samples.

Every extracted feature is a function ``<z, phi(x)> + offset`` of the kernel's feature space whose direction z is a
combination of training samples (or of a few *landmarks*), so a fitted transformer is one matrix of coefficients.

==========  ==========================================================  ==========================
SKFE        here                                                        name
==========  ==========================================================  ==========================
K           Gram matrix of the training samples                         `CombinedKernel.gram`
psi(x)      kernel values of x to the points that are kept, (14)        one row of the cross matrix
Z = X W     directions, combinations of training samples, (2)           `coef_`
X_w         extracted features, (9)                                     `transform`
==========  ==========================================================  ==========================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from ..combiners import CombinedKernel, Combiner, Mean, WeightedSum
from ..combiners.base import COMBINED
from ..estimators.base import KernelMachineEstimator
from ..estimators.fitted import FittedKernels, check_some_view
from ..kernels import Kernel, KernelStack, Linear
from ..kernels.resources import warn_if_too_large
from ..validation import Constraints, Whole, check_parameters, shown
from ..validation.inputs import check_labels, check_row_labels, check_training_data, encode_labels, unchanged_on_failure
from ..validation.schemas import CLASS_LABELS, Schema, numbers, size
from ..views import Views

# Shares of the largest eigenvalue below which directions count as dependent.
_RANK = 1e-12


@dataclass(frozen=True)
class TrainingSamples:
    """The samples of a fit with their kernel, which may be a combined one."""

    views: Views
    combiner: Combiner
    kernel: CombinedKernel
    kernels: list[Kernel]
    names: list[str]


@dataclass(frozen=True)
class Extraction:
    """The result of a method: features are ``k(x, points) coef + offset``."""

    coef: np.ndarray
    offset: Any
    features: np.ndarray
    kernel: CombinedKernel | None = None

    def with_axes(self) -> Extraction:
        """The same subspace in the principal axes of its features, strongest first, where the offset is 0."""
        axes = np.linalg.eigh(self.features.T @ self.features)[1][:, ::-1]
        return replace(self, coef=self.coef @ axes, features=self.features @ axes)

    def with_signs(self) -> Extraction:
        """The same features, each with the sign that makes its largest value positive, so that it is determined."""
        largest = np.abs(self.features).argmax(axis=0)
        signs = np.where(self.features[largest, np.arange(self.features.shape[1])] < 0.0, -1.0, 1.0)
        return replace(self, coef=self.coef * signs, offset=self.offset * signs, features=self.features * signs)


class NamedComponents(ClassNamePrefixFeaturesOutMixin):
    """`get_feature_names_out` of transformers with the attribute `n_components_`."""

    n_components_: int

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


class KernelTransformer(NamedComponents, TransformerMixin, FittedKernels, BaseEstimator, ABC):
    """Base of the supervised feature extractors over one kernel; subclasses implement `_extract`.

    Their parameter `kernel` is a kernel, a callable ``f(A, B)``, or an unfitted `MKLClassifier`.
    """

    _constraints = Constraints(n_components=Whole(1) | None)

    _saved = (
        CLASS_LABELS
        | Schema(
            {
                "coef_": numbers("support", "components"),
                "offset_": numbers("components"),
                "n_components_": size("components"),
            }
        )
        | COMBINED
    )

    def fit(self, X: Any, y: Any) -> KernelTransformer:
        """Find the directions."""
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any) -> np.ndarray:
        """Find the directions and return the training samples' features, without comparing samples again."""
        return self._fit(X, y)

    def transform(self, X: Any) -> np.ndarray:
        """Features of samples, (9)."""
        views = self._new_views(X)

        def features(part: Views) -> np.ndarray:
            self._check_presence(self._kernel, part)
            return self._kernel.values(part, self.coef_)

        return views.in_blocks(len(self.coef_), features) + self.offset_

    @abstractmethod
    def _extract(self, samples: TrainingSamples, labels: np.ndarray, given: SimpleNamespace) -> Extraction:
        """Coefficients of the features."""

    def _fit(self, X: Any, y: Any) -> np.ndarray:
        with unchanged_on_failure(self):
            given = check_parameters(self)
            check_row_labels(X, y=y)
            views = Views(*check_training_data(self, X))
            self.classes_, labels = encode_labels(self, check_labels(self, y, views.n_samples))
            samples = self._samples(X, views, y)
            found = self._extract(samples, labels, given).with_signs()
            self.combiner_ = samples.combiner
            self.kernels_, self.kernel_names_ = samples.kernels, samples.names
            self._check_presence(samples.kernel, views)
            everything = np.arange(views.n_samples)
            self._kernel = samples.kernel.restrict(everything) if found.kernel is None else found.kernel
            self.coef_ = np.ascontiguousarray(found.coef)
            self.n_components_ = self.coef_.shape[1]
            self.offset_ = np.broadcast_to(np.asarray(found.offset, dtype=float), (self.n_components_,)).copy()
        return found.features

    def _check_presence(self, kernel: CombinedKernel, views: Views) -> None:
        active, names = kernel.active, kernel.names
        present = np.zeros((views.n_samples, len(names)), dtype=bool)
        for m in np.flatnonzero(active):
            present[:, m] = self.kernels_[m].present(views)
        check_some_view(views, present, active, names)

    def _samples(self, X: Any, views: Views, y: Any) -> TrainingSamples:
        kernel = Linear() if self.kernel is None else self.kernel
        if isinstance(kernel, KernelMachineEstimator):
            if self.normalize is not None:
                raise ValueError(
                    f"kernel is a {type(kernel).__name__}, which normalises its kernels by itself; leave normalize "
                    f"None here and set that of the {type(kernel).__name__}"
                )
            self.kernel_ = clone(kernel)
            kernel = self.kernel_.fit_kernel(X, y)
            return TrainingSamples(
                views, self.kernel_.combiner_, kernel, self.kernel_.kernels_, self.kernel_.kernel_names_
            )
        if isinstance(kernel, list | tuple | type) or not (isinstance(kernel, Kernel) or callable(kernel)):
            raise ValueError(
                f"kernel must be one kernel, a callable f(A, B), or an MKLClassifier that combines several, not "
                f"{shown(kernel)}"
            )
        stack = KernelStack([kernel], self.normalize).fit(views, y=y)
        warn_if_too_large(2, stack.n_samples, stack.dtype, "the kernel", has_dtype=False)
        self.kernel_ = stack.kernels[0]
        mean = WeightedSum(stack, np.ones(1), owner="Mean")
        return TrainingSamples(views, Mean(), mean, stack.kernels, stack.names)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def orthonormal(W: np.ndarray, KW: np.ndarray, ridge: float = 0.0, limit: int | None = None) -> np.ndarray:
    """A basis of what independent columns of W span, orthonormal in feature space, strongest first, SKFE (5)-(8)."""
    products = W.T @ KW + ridge * (W.T @ W)
    # Columns of unit length first, so that small ones do not pass for dependent ones.
    length = np.sqrt(np.maximum(np.diagonal(products), 0.0))
    kept = np.flatnonzero(length > _RANK * length.max(initial=0.0))
    products = products[np.ix_(kept, kept)] / np.outer(length[kept], length[kept])
    values, vectors = eigh((products + products.T) / 2.0) if len(kept) else (np.empty(0), np.empty((0, 0)))
    strong = np.flatnonzero(values > _RANK * values.max(initial=0.0))[::-1][:limit]
    return (W[:, kept] / length[kept]) @ (vectors[:, strong] / np.sqrt(values[strong]))  # T of (7)
