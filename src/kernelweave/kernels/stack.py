"""`KernelStack`: the kernels of a model, fitted and normalised, over one set of training samples.

It computes the P Gram matrices when they are asked for, knows which sample has which view, and compares new
samples with the training samples by the same constants. Combiners see kernels only through it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from ..views import Views, as_views
from .memory import warn_if_too_large
from .naming import named_kernels
from .normalization import Normalizer
from .precomputed import Precomputed


class KernelStack:
    """Gram matrices of several kernels over the same samples.

    Parameters
    ----------
    kernels : list of kernels or (name, kernel)
    normalize : {"unit-diagonal", "unit-trace", "center", None}
    dtype : {"float64", "float32"}
        Of the Gram matrices; values are computed in float64 and stored in this type.

    Attributes
    ----------
    names : list of str
    kernels : list of Kernel
        Fitted copies.
    present : ndarray of bool, shape (n_samples, n_kernels)
        Which sample has a row in which kernel.

    Notes
    -----
    Memory: `gram` makes one n x n matrix, `matrices` keeps all P of them and warns beforehand (`MemoryWarning`)
    where that exceeds the machine's free memory.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Gaussian, KernelStack, Linear
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> stack = KernelStack([Linear(), Gaussian(scale=2.0)]).fit(X)
    >>> stack.matrices().shape
    (2, 5, 5)
    """

    def __init__(self, kernels: Any, normalize: str | None = "unit-diagonal", dtype: str = "float64"):
        if dtype not in ("float64", "float32"):
            raise ValueError(f'dtype must be "float64" or "float32", not {dtype!r}')
        pairs = named_kernels(kernels)
        self.names = [name for name, _ in pairs]
        self.kernels = [clone(kernel) for _, kernel in pairs]
        self.normalizers = [Normalizer(normalize, name) for name in self.names]
        self.dtype = np.dtype(dtype)
        self._matrices: np.ndarray | None = None

    @property
    def n_kernels(self) -> int:
        """Number of kernels, P."""
        return len(self.kernels)

    @property
    def n_samples(self) -> int:
        """Number of training samples (or of those kept by `restrict`)."""
        return len(self.rows)

    def fit(self, X: Any, sample_weight: np.ndarray | None = None) -> KernelStack:
        """Fit every kernel to the training samples and find out who has which view.

        Parameters
        ----------
        X : array, DataFrame, sparse matrix or Views
        sample_weight : ndarray of shape (n_samples,), optional
            How often each sample counts in learned constants; all positive.
        """
        self.reference = as_views(X)
        self.rows = np.arange(self.reference.n_samples)
        self.weight = np.ones(len(self.rows)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.kernels = [
            kernel.fit(self.reference, self.weight, label)
            for label, kernel in zip(self.names, self.kernels, strict=True)
        ]
        self.present = self.presence(self.reference)
        self._matrices = None
        return self

    def presence(self, views: Views, active: np.ndarray | None = None) -> np.ndarray:
        """Which samples have a row in which kernel, of shape (n_samples, n_kernels).

        Views of kernels that are not `active` (a boolean array) are not looked at; nobody has a row there.
        A sample without a row in any kernel is an error.
        """
        present = np.zeros((views.n_samples, self.n_kernels), dtype=bool)
        for m in range(self.n_kernels) if active is None else np.flatnonzero(active):
            present[:, m] = self.kernels[m].present(views)
        alone = ~present.any(axis=1)
        if alone.any():
            asked = [name for m, name in enumerate(self.names) if active is None or active[m]]
            raise ValueError(
                f"{views.first(alone)} has no view at all: X is NaN for it in every kernel "
                f"that is used ({', '.join(asked)}); remove such samples"
            )
        return present

    def gram(self, m: int) -> np.ndarray:
        """The normalised Gram matrix of kernel m over the training samples; a new array each time."""
        K = _finite(lambda: self.kernels[m].gram(self.reference), self.names[m])
        K = self.normalizers[m].gram(K, self.present[:, m], self.weight)
        return K.astype(self.dtype, copy=False)

    def matrices(self) -> np.ndarray:
        """All Gram matrices, of shape (n_kernels, n_samples, n_samples), computed once and kept."""
        if self._matrices is None:
            shape = (self.n_kernels, self.n_samples, self.n_samples)
            warn_if_too_large(self.n_kernels + 1, self.n_samples, self.dtype, f"a stack of {self.n_kernels} kernels")
            matrices = np.empty(shape, dtype=self.dtype)
            for m in range(self.n_kernels):
                matrices[m] = self.gram(m)
            self._matrices = matrices
        return self._matrices

    def cross(self, m: int, views: Views, present: np.ndarray) -> np.ndarray:
        """Normalised values of kernel m between new samples (rows) and the training samples (columns).

        Parameters
        ----------
        m : int
        views : Views
            The new samples.
        present : ndarray of bool, shape (n_new,)
            Which of them have the view.
        """
        kernel, normalizer = self.kernels[m], self.normalizers[m]
        K = _finite(lambda: kernel.cross(views, self.reference), self.names[m])
        everything = normalizer.needs_all_samples
        columns = slice(None) if everything else self.rows
        K = normalizer.cross(K, kernel.diagonal(views), present, columns)
        return K[:, self.rows] if everything else K

    def restrict(self, rows: np.ndarray) -> KernelStack:
        """What prediction needs where only these training samples count (support vectors).

        All training samples are kept where centring compares new samples with each of them.
        """
        lean = object.__new__(KernelStack)
        kept = self.rows if self.normalizers[0].needs_all_samples else rows
        lean.__dict__.update(
            self.__dict__, _matrices=None, rows=rows, present=self.present[rows], reference=self.reference.rows(kept)
        )
        return lean

    def replace(self, m: int, kernel: Precomputed) -> None:
        """Put a precomputed kernel, extended by new ids, in the place of kernel m; the training samples must agree."""
        old, name = self.kernels[m], self.names[m]
        if not isinstance(kernel, Precomputed) or not isinstance(old, Precomputed):
            raise ValueError(f"only a Precomputed kernel can replace a Precomputed one, but {name!r} is {old!r}")
        new = kernel.bound_like(old)
        if not np.array_equal(new.cross(self.reference, self.reference), old.cross(self.reference, self.reference)):
            raise ValueError(
                f"the new kernel {name!r} has other values among the training samples than the one the model was "
                "fitted with; extend that kernel, or fit again"
            )
        self.kernels[m] = new


def _finite(compute: Callable[[], np.ndarray], name: str) -> np.ndarray:
    """Kernel values, or one error that names the kernel where they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        K = compute()
        finite = np.isfinite(K.sum())
    if not finite:
        raise ValueError(
            f"the kernel {name!r} gives NaN, infinite or overflowing values; scale its view first "
            "(sklearn.preprocessing.StandardScaler) or choose other kernel parameters"
        )
    return K
