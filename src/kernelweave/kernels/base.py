"""What every kernel offers, and the base of kernels over one view.

`Kernel` is the contract: `fit`, `gram`, `cross`, `diagonal` and `present`, with X an array, a data frame, a
sparse matrix or `Views`. `ViewKernel` does the part that kernels over one view share, that is selecting and
checking the columns; such a kernel only writes the four functions of plain arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..views import Views, as_views


class Kernel(BaseEstimator):
    """A similarity of samples: k(x, z), symmetric and positive semidefinite.

    Subclasses implement `fit`, `gram`, `cross`, `diagonal`, `present`, `columns` and `name`.
    """

    def __add__(self, other: Any) -> Kernel:
        """k(x, z) + other(x, z); a number stands for the constant kernel."""
        from .arithmetic import KernelSum, as_kernel

        return KernelSum(self, as_kernel(other))

    def __mul__(self, other: Any) -> Kernel:
        """k(x, z) * other(x, z); a number stands for the constant kernel."""
        from .arithmetic import KernelProduct, as_kernel

        return KernelProduct(self, as_kernel(other))

    __radd__ = __add__
    __rmul__ = __mul__


class ViewKernel(Kernel):
    """A kernel over one view.

    Subclasses store `view` and implement ``_gram(A)``, ``_cross(A, B)``, ``_diagonal(A)`` on the checked values
    of the view and, where they learn constants or have parameters to check, ``_learn(A, sample_weight)``.
    `takes_text` says whether columns that are not numbers are welcome, `takes_sparse` whether CSR matrices are.
    """

    takes_text = False
    takes_sparse = False

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
        values, present = self._values(views)
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
        return self._gram(self._values(as_views(X))[0])

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        """Kernel values between the samples of X and those of Y, shape (len(X), len(Y))."""
        return self._cross(self._values(as_views(X))[0], self._values(as_views(Y))[0])

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) of each sample."""
        return self._diagonal(self._values(as_views(X))[0])

    def _learn(self, values: Any, sample_weight: np.ndarray) -> None:
        """Check parameters and learn constants; the default has none."""

    def _values(self, views: Views) -> tuple[Any, np.ndarray]:
        check_is_fitted(self)
        label = self.view if isinstance(self.view, str) else self.label_
        values, present = views.read(self.columns_, label, text=self.takes_text)
        if not isinstance(values, np.ndarray) and not self.takes_sparse:
            raise ValueError(f"the kernel {self.label_!r} ({type(self).__name__}) does not take sparse views")
        return values, present
