"""What every kernel offers, and the base of kernels over one view.

`Kernel` is the contract: `fit`, `gram`, `cross`, `diagonal` and `present`, with X an array, a data frame, a
sparse matrix or `Views`. `ViewKernel` does the part that kernels over one view share, that is selecting and
checking the columns; such a kernel only writes the four functions of plain arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..views import Views, as_views


class Kernel(BaseEstimator):
    """A similarity of samples: k(x, z), symmetric and positive semidefinite.

    Subclasses implement `fit`, `gram`, `cross`, `diagonal`, `present`, `columns` and `name`. One that is positive
    semidefinite whatever the data says so in `positive_semidefinite`; the others are looked at when a model is fitted,
    and mended as `repair` says (see `Repair`). `reads_ids` says whether samples are looked up by an id column.
    """

    positive_semidefinite = False
    repair: str | None = None
    reads_ids = False

    def __add__(self, other: Any) -> Kernel:
        """k(x, z) + other(x, z); a number stands for the constant kernel."""
        from .arithmetic import KernelSum, as_kernel

        return KernelSum(self, as_kernel(other))

    def __mul__(self, other: Any) -> Kernel:
        """k(x, z) * other(x, z); a number stands for the constant kernel."""
        from .arithmetic import KernelProduct, as_kernel

        return KernelProduct(self, as_kernel(other))

    def lookups(self, X: Any) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices in which `cross` looks the samples of X up, each with their ids; none by default.

        X may be None, for no sample; the matrices are then told with no ids.
        """
        return []

    __radd__ = __add__
    __rmul__ = __mul__


class ViewKernel(Kernel):
    """A kernel over one view.

    Subclasses store `view` and implement ``_gram(A)``, ``_cross(A, B)``, ``_diagonal(A)`` on the checked values of the
    samples that have the view (the others get 0) and, where they learn constants or have parameters to check,
    ``_learn(A, sample_weight)``. `takes_text` says whether columns that are not numbers are welcome, `takes_sparse`
    whether CSR matrices are.
    """

    takes_text = False
    takes_sparse = False
    sparse_: bool | None = None  # whether the samples of the fit were

    @property
    def name(self) -> str:
        """The view's name, or the kernel's where the view has none."""
        return self.view if isinstance(self.view, str) else type(self).__name__.lower()

    def fit(self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None) -> ViewKernel:
        """Resolve the view into columns and learn constants from the samples that have it.

        Parameters
        ----------
        X : array, DataFrame, sparse matrix or Views of shape (n_samples, n_features)
        sample_weight : ndarray of shape (n_samples,), optional
            How often each sample counts in learned constants.
        label : str, optional
            What messages call this kernel, by default its `name`.
        """
        views = as_views(X)
        self.label_ = self.name if label is None else label
        self.columns_ = views.columns(self.view)
        self.sparse_ = None
        values, present = self._values(views)
        self.sparse_ = sp.issparse(values)
        weight = np.ones(views.n_samples) if sample_weight is None else sample_weight
        self._learn(values[present], weight[present])
        return self

    def columns(self) -> np.ndarray:
        """Positions of the columns that the fitted kernel reads."""
        check_is_fitted(self)
        return self.columns_

    def present(self, X: Any) -> np.ndarray:
        """Which samples have this view: a boolean array of shape (n_samples,)."""
        return self._values(as_views(X))[1]

    def gram(self, X: Any) -> np.ndarray:
        """Kernel values among samples, shape (n_samples, n_samples); a new array each time."""
        values, present = self._values(as_views(X))
        if present.all():
            return self._gram(values)
        return _scattered(self._gram(values[present]), present, present)

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        """Kernel values between the samples of X and those of Y, shape (len(X), len(Y))."""
        values, present = self._values(as_views(X))
        others, there = self._values(as_views(Y))
        if present.all() and there.all():
            return self._cross(values, others)
        if not (present.any() and there.any()):
            return np.zeros((len(present), len(there)))
        return _scattered(self._cross(values[present], others[there]), present, there)

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) of each sample."""
        values, present = self._values(as_views(X))
        if present.all():
            return self._diagonal(values)
        diagonal = np.zeros(len(present))
        diagonal[present] = self._diagonal(values[present])
        return diagonal

    def _learn(self, values: Any, sample_weight: np.ndarray) -> None:
        """Check parameters and learn constants; the default has none."""

    @property
    def _view_label(self) -> str:
        """What messages call the view."""
        return self.view if isinstance(self.view, str) else self.label_

    def _values(self, views: Views) -> tuple[Any, np.ndarray]:
        check_is_fitted(self)
        values, present = views.read(self.columns_, self._view_label, text=self.takes_text)
        if not isinstance(values, np.ndarray) and not self.takes_sparse:
            raise ValueError(f"the kernel {self.label_!r} ({type(self).__name__}) does not take sparse views")
        # Samples to predict may come in another container than those of the fit; kernels see one kind only.
        if self.sparse_ is True and not sp.issparse(values):
            values = sp.csr_matrix(values)
        elif self.sparse_ is False and sp.issparse(values):
            values = values.toarray()
        return values, present


def _scattered(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Kernel values of the samples that have the view, in a matrix of all samples that is 0 elsewhere."""
    K = np.zeros((len(rows), len(columns)))
    K[np.ix_(rows, columns)] = values
    return K


def binary_unit(size: float) -> float:
    """The power of two at or below a size, by which numbers are divided without rounding; 1 for size 0."""
    return float(np.ldexp(1.0, np.frexp(size)[1] - 1)) if size > 0.0 else 1.0
