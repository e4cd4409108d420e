"""Repair of kernels that are not positive semidefinite, with constants from the training samples for new ones.

With the training Gram matrix K = U Lambda U', U_+ and Lambda_+ its positive part, lambda the smallest eigenvalue,
and k the row of a new sample's values to the training samples:

=========  ==========================  ========================  ======================================
method     training samples            new to training samples   new sample to itself
=========  ==========================  ========================  ======================================
``clip``   U_+ Lambda_+ U_+'           k U_+ U_+'                k U_+ Lambda_+^-1 U_+' k'
``shift``  K + abs(lambda) I           k                         k(x, x) + abs(lambda)
``None``   K, with a warning           k                         k(x, x)
=========  ==========================  ========================  ======================================

``clip`` leaves out the part of a sample that no positive semidefinite kernel can hold; it treats a training sample that
comes again as a new one the same way, but must compare new samples with every training sample. ``shift`` leaves all
similarities alone and makes every sample more like itself; copies of a sample count as different samples.

Repair comes before normalisation. MKL-DR, below (8), warns of such kernels.

A kernel counts as not positive semidefinite where K has an eigenvalue below -1e-6 ||K|| (Frobenius norm): values that
were rounded to single precision, by at most 2^-24 of their size, move no eigenvalue by more than 2^-24 ||K||, and a few
more roundings when they were computed are allowed for. In lazy storage K is the Gram matrix of at most 1000 samples.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..._warnings import warn
from ...validation import Choice, check
from .memory import lazy_storage_error

METHODS = ("clip", "shift", None)

# Eigenvalues above minus this share of the matrix' norm are rounding (of single precision, too).
_NEGLIGIBLE = 1e-6
# Positive eigenvalues below this share of the largest carry only rounding, which the inverse would blow up.
_ZERO = 1e-10
_DENSE_SAMPLES = 200
_LANCZOS_STEPS = 40


def check_repair(method: Any, name: str) -> None:
    """Raise a `ValueError` where a kernel's `repair` is not one of `METHODS`."""
    check(f"the kernel {name!r}", "repair", method, Choice(*METHODS))


class IndefiniteKernelWarning(UserWarning):
    """A kernel has a negative eigenvalue among the training samples, and nothing repairs it."""


@dataclass(eq=False)
class Repair:
    """Make one kernel positive semidefinite: first the Gram matrix of training samples, then new samples' values.

    Whether there is anything to repair is found out once, by a Cholesky factor, which takes one more n x n matrix while
    it is computed. Kernels that need no repair are left exactly as they are.

    Parameters
    ----------
    method : {"clip", "shift", None}
        None only warns (`IndefiniteKernelWarning`).
    name : str
        What messages call the kernel.
    trusted : bool
        Whether the kernel is known to be positive semidefinite, so that there is nothing to find out.

    Attributes
    ----------
    smallest_ : float or None
        The most negative eigenvalue of the training Gram matrix (approximate where nothing is repaired), or None
        where the matrix is positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Repair
    >>> repair = Repair("shift", "x")
    >>> repair.gram(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([True, True]), np.ones(2))
    array([[2., 2.],
           [2., 2.]])
    >>> repair.smallest_
    -1.0
    """

    method: str | None
    name: str
    _: KW_ONLY
    trusted: bool = False
    smallest_: float | None = None
    _looked_at: bool = False  # whether there is nothing left to find out

    @property
    def is_learned(self) -> bool:
        """Whether the Gram matrix of the training samples was checked."""
        return self._looked_at

    @classmethod
    def of(cls, kernel: Any, name: str) -> Repair:
        """The repair that a kernel declares, of which nothing is found out yet."""
        if kernel.repair is not None:
            check_repair(kernel.repair, name)
        return cls(kernel.repair, name, trusted=kernel.positive_semidefinite).unlearned()

    def unlearned(self) -> Repair:
        """The same without what was found out."""
        return Repair(self.method, self.name, trusted=self.trusted, _looked_at=self.trusted)

    @property
    def is_left(self) -> bool:
        """Whether the kernel is not positive semidefinite, and nothing repairs it."""
        return self.method is None and self.smallest_ is not None

    @property
    def is_clipped(self) -> bool:
        """Whether new samples must be compared with every training sample to repair their values."""
        return not self.trusted and self.needs_all_samples

    def check_parts(self, n_samples: int) -> None:
        """Raise a `LazyStorageError` where the repair takes the eigenvalues of the whole Gram matrix."""
        if not self.trusted and self.method is not None:
            what = f"repair={self.method!r} of the kernel {self.name!r}"
            raise lazy_storage_error(1, n_samples, np.float64, what, "repair=None")

    @property
    def needs_all_samples(self) -> bool:
        """Whether new samples must be compared with every training sample, not only with support vectors."""
        return self.method == "clip" and self.smallest_ is not None

    def gram(self, K: np.ndarray, present: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Learn the constants from a training Gram matrix and repair it, in place where possible.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        present : ndarray of bool
            The samples that have the view; the others take no part.
        weight : ndarray
            How often each sample counts; clipping is then that of a matrix where it stands so often.
        """
        if not (self.trusted or self._looked_at):
            check_repair(self.method, self.name)
            self._learn(K if present.all() else K[np.ix_(present, present)], present, weight)
            self._looked_at = True
        if self.smallest_ is None or self.method is None:
            return K
        if self.method == "shift":
            K.flat[:: len(K) + 1] -= self.smallest_
            return K
        half = self._half()
        return np.matmul(half, half.T, out=K)

    def gram_rows(self, K: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Repair some rows of a training Gram matrix with the constants that are learned already, see `is_learned`.

        Parameters
        ----------
        K : ndarray of shape (n_chosen, n_samples)
        chosen : ndarray of int, shape (n_chosen,)
            Which samples the rows are.
        """
        if self.smallest_ is None or self.method is None:
            return K
        if self.method == "shift":
            K[np.arange(len(chosen)), chosen] -= self.smallest_
            return K
        half = self._half()
        return np.matmul(half[chosen], half.T, out=K)

    def gram_diagonal(self, diagonal: np.ndarray) -> np.ndarray:
        """The diagonal of a training Gram matrix, repaired with the constants that are learned already."""
        if self.smallest_ is None or self.method is None:
            return diagonal
        return diagonal - self.smallest_ if self.method == "shift" else (self._half() ** 2).sum(axis=1)

    def _half(self) -> np.ndarray:
        """U_+ Lambda_+^(1/2), without the samples' weights."""
        half = self.basis_ * np.sqrt(self.eigenvalues_)
        half /= self.root_weight_[:, None]
        return half

    def cross(self, K: np.ndarray, diagonal: np.ndarray, columns: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
        """Repair kernel values of new samples (rows) to training samples (columns), and of new samples to themselves.

        Parameters
        ----------
        K : ndarray of shape (n_new, n_reference)
            All training samples, in order, where `needs_all_samples`.
        diagonal : ndarray of shape (n_new,)
            k(x, x) of the new samples.
        columns : ndarray of int or slice
            Which training samples the result is wanted for.

        Returns
        -------
        K : ndarray of shape (n_new, n_columns)
        diagonal : ndarray of shape (n_new,)
        """
        if self.smallest_ is None or self.method is None:
            return K, diagonal
        if self.method == "shift":
            return K, diagonal - self.smallest_
        coordinates = (K * self.root_weight_) @ self.basis_
        values = coordinates @ self.basis_[columns].T
        values /= self.root_weight_[columns]
        return values, (coordinates**2 / self.eigenvalues_).sum(axis=1)

    def _learn(self, K: np.ndarray, present: np.ndarray, weight: np.ndarray) -> None:
        smallest = approximate_smallest(K)
        if smallest >= -_NEGLIGIBLE * np.linalg.norm(K):
            return
        self.smallest_ = smallest
        if self.method is None:
            warn(
                f"the kernel {self.name!r} is not positive semidefinite: its most negative eigenvalue over the "
                f'training samples is about {smallest:.3g}; use repair="clip" or repair="shift" (Precomputed, Distance '
                "and Function take it), or another kernel",
                IndefiniteKernelWarning,
            )
        elif self.method == "shift":
            self.smallest_ = float(eigh(K, eigvals_only=True, subset_by_index=[0, 0])[0])
        else:
            self._learn_clip(K, present, weight)

    def _learn_clip(self, K: np.ndarray, present: np.ndarray, weight: np.ndarray) -> None:
        root = np.sqrt(weight[present])
        eigenvalues, vectors = eigh(K * root[:, None] * root[None, :], overwrite_a=True)
        kept = eigenvalues > _ZERO * np.abs(eigenvalues).max()
        if not kept.any():
            raise ValueError(f"the kernel {self.name!r} has no positive eigenvalue, so clipping leaves nothing of it")
        self.eigenvalues_ = eigenvalues[kept]
        self.basis_ = np.zeros((len(present), len(self.eigenvalues_)))  # absent samples have zero rows
        self.basis_[present] = vectors[:, kept]
        self.root_weight_ = np.sqrt(weight)


def approximate_smallest(K: np.ndarray) -> float:
    """The smallest eigenvalue of a symmetric matrix: exact for small ones, otherwise by Lanczos, never too small.

    0 for a large matrix without an eigenvalue that is negative beyond rounding, which a Cholesky factor tells for sure:
    Lanczos steps from a random start find only those that stand apart.
    """
    n_samples = len(K)
    if n_samples == 0:
        return 0.0
    if n_samples <= _DENSE_SAMPLES:
        return float(np.linalg.eigvalsh(K)[0])
    # The largest eigenvalue of norm * I - K, so that the tolerance is relative to K and not to an eigenvalue near 0;
    # with a loose tolerance the first Krylov space decides, which bounds the cost.
    norm = float(np.linalg.norm(K))
    if norm == 0 or not np.isfinite(norm):  # nothing to find, or values whose squares overflow
        return 0.0
    if _is_semidefinite(K, norm):
        return 0.0
    operator = LinearOperator(K.shape, matvec=lambda x: norm * x - K @ x, dtype=np.float64)
    start = np.random.RandomState(0).normal(size=n_samples)
    try:
        largest = eigsh(operator, k=1, which="LA", v0=start, ncv=_LANCZOS_STEPS, tol=1e-2, return_eigenvectors=False)[0]
    except ArpackNoConvergence:
        return float(eigh(K, eigvals_only=True, subset_by_index=[0, 0])[0])
    return min(float(norm - largest), -_NEGLIGIBLE * norm * (1.0 + _ZERO))


def _is_semidefinite(K: np.ndarray, norm: float) -> bool:
    """Whether no eigenvalue is below -_NEGLIGIBLE ||K||; the rounding of the factor, n 2^-53 ||K||, is far less."""
    H = K / norm  # values of any size
    H.flat[:: len(H) + 1] += _NEGLIGIBLE
    try:
        cho_factor(H.T, lower=True, overwrite_a=True, check_finite=False)  # symmetric: no copy is made
    except LinAlgError:
        return False
    return True
