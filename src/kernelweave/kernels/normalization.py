"""Normalisation and repair of kernels, with constants from the training samples for new ones.

=================  ====================================================================================
normalisation      k'(x, z)
=================  ====================================================================================
``unit-diagonal``  k(x, z) / sqrt(k(x, x) k(z, z)), thesis (2.9); a row with k(x, x) = 0 stays zero
``unit-trace``     k(x, z) / mean_i k(x_i, x_i) over training samples: a diagonal of 1 on average, so that C means
                   what it means with a unit diagonal (a trace of exactly 1 would divide C by the number of samples)
``center``         <phi(x) - mean, phi(z) - mean>, the mean over training samples
``None``           k(x, z)
=================  ====================================================================================

Samples without the view take no part in any constant, and their rows are zero afterwards.

Kernels that are not positive semidefinite are repaired before that. With the training Gram matrix K = U Lambda U', U_+
and Lambda_+ its positive part, lambda the smallest eigenvalue, and k the row of a new sample's values to the training
samples:

=========  ==========================  ========================  ======================================
repair     training samples            new to training samples   new sample to itself
=========  ==========================  ========================  ======================================
``clip``   U_+ Lambda_+ U_+'           k U_+ U_+'                k U_+ Lambda_+^-1 U_+' k'
``shift``  K + abs(lambda) I           k                         k(x, x) + abs(lambda)
``None``   K, with a warning           k                         k(x, x)
=========  ==========================  ========================  ======================================

``clip`` leaves out the part of a sample that no positive semidefinite kernel can hold; it treats a training sample that
comes again as a new one the same way, but must compare new samples with every training sample. ``shift`` leaves all
similarities alone and makes every sample more like itself; copies of a sample count as different samples. MKL-DR, below
(8), warns of such kernels.

A kernel counts as not positive semidefinite where K has an eigenvalue below -1e-6 ||K|| (Frobenius norm): values that
were rounded to single precision, by at most 2^-24 of their size, move no eigenvalue by more than 2^-24 ||K||, and a few
more roundings when they were computed are allowed for. In lazy storage K is the Gram matrix of at most 1000 samples.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from .._warnings import warn
from ..validation import Choice, check
from ..validation.schemas import Schema, Sizes, flag, flags, maybe, number, numbers, one_of, optional, text
from .resources import lazy_storage_error
from .tiles.functions import drowns

_ROWS = 512  # whose kernel values are in memory at once
_BAND = 16  # rows that are scaled together, so that their factors stay in the cache

NORMALIZATIONS = ("unit-diagonal", "unit-trace", "center", None)


class Normalizer:
    """Normalise one kernel, first the Gram matrix of the training samples, then that of new samples to them.

    Parameters
    ----------
    method : {"unit-diagonal", "unit-trace", "center", None}
    name : str
        What messages call the kernel.

    Attributes
    ----------
    shift_ : ndarray of shape (n_columns,) or None
        What the features of a linear kernel that is centred are lowered by before they are compared.

    `gram` and `cross` work in place; nothing of size n x n is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Normalizer
    >>> normalizer = Normalizer("unit-diagonal", "x")
    >>> normalizer.gram(np.array([[4.0, 2.0], [2.0, 4.0]]), np.array([True, True]), np.ones(2))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    shift_: np.ndarray | None = None

    _saved = Schema({"method": one_of(*NORMALIZATIONS), "name": text, "present_": optional(flags("reference"))})

    def __init__(self, method: str | None, name: str):
        check(None, "normalize", method, Choice(*NORMALIZATIONS))
        self.method = method
        self.name = name

    @property
    def needs_all_samples(self) -> bool:
        """Whether new samples must be compared with every training sample, not only with support vectors."""
        return self.method == "center"

    def gram(self, K: np.ndarray, present: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Learn constants from a training Gram matrix, of samples `present` counted by `weight`, and normalise it."""
        if self.method == "center":
            self.learn_means(lambda shares: K @ shares, present, weight)
            raw = np.diagonal(K)[present]
            warn_if_lost(raw, raw - 2.0 * self.means_[present] + self.mean_, self.name)
        else:
            self.learn(np.diagonal(K), present, weight)
        return self.gram_rows(K, np.arange(len(K)))

    @property
    def is_learned(self) -> bool:
        """Whether the constants of the training samples are known."""
        return hasattr(self, "present_")

    @property
    def needs_gram(self) -> bool:
        """Whether constants are to be learned that only the whole Gram matrix gives."""
        return self.method == "center" and not self.is_learned

    def learn(self, diagonal: np.ndarray, present: np.ndarray, weight: np.ndarray) -> None:
        """Learn the constants from the diagonal of the training Gram matrix, as `gram` does; not for "center"."""
        self.present_ = present
        if self.method == "unit-diagonal":
            self.factor_: Any = self._inverse_root(diagonal, training=present)
        elif self.method == "unit-trace":
            weight = np.where(present, weight, 0.0)
            shares = weight / max(weight.sum(), np.finfo(float).tiny)
            mean = float(shares @ diagonal)
            if mean < 0:
                raise ValueError(f"the kernel {self.name!r} has a negative trace and cannot be scaled to a unit trace")
            self.factor_ = 1.0 / mean if mean > 0 else 0.0

    def over(self, kernel: Any, samples: Any) -> Normalizer:
        """The same for another kernel over the same training samples, with the same k(x, x); constants are learned."""
        if self.method != "center":
            return self
        other = Normalizer(self.method, self.name)
        blocks = np.array_split(np.arange(len(self.present_)), -(-len(self.present_) // _ROWS))

        def means_of(weight: np.ndarray) -> np.ndarray:
            return np.concatenate([kernel.gram_rows(samples, block) @ weight for block in blocks])

        other.learn_means(means_of, self.present_, self.weight_)
        return other

    def learn_means(
        self, means_of: Callable[[np.ndarray], np.ndarray], present: np.ndarray, weight: np.ndarray
    ) -> None:
        """Learn the constants of "center" as `gram` does, from products: `means_of` maps w to K w, (n_samples,)."""
        self.present_ = present
        weight = np.where(present, weight, 0.0)
        self.weight_ = weight / max(weight.sum(), np.finfo(float).tiny)
        self.means_ = means_of(self.weight_)
        self.mean_ = float(self.means_ @ self.weight_)

    def training_scale(self, diagonal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What rows and columns of training samples are multiplied by (0 if absent), and the normalised k(x, x)."""
        roots = self.factor_ if self.method == "unit-diagonal" else None
        return self._scales(diagonal, self.present_, roots, self.means_ if self.method == "center" else None)

    def new_scale(
        self, diagonal: np.ndarray, present: np.ndarray, means: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """What rows of new samples are multiplied by (0 if absent), and their normalised k(x, x).

        `means`, for "center", has the mean of k(x, x_i) over the training samples for each new sample.
        """
        roots = self._inverse_root(diagonal) if self.method == "unit-diagonal" else None
        return self._scales(diagonal, present, roots, means)

    def _scales(self, diagonal: np.ndarray, present: np.ndarray, roots: Any, means: Any) -> tuple[Any, Any]:
        factor: Any = np.where(present, 1.0, 0.0)
        if self.method == "unit-diagonal":
            factor = factor * roots
            return factor, np.where(factor > 0.0, 1.0, 0.0)
        if self.method == "unit-trace":
            factor = factor * np.sqrt(self.factor_)
        if means is not None:
            diagonal = diagonal - 2.0 * means + self.mean_
        return factor, factor**2 * diagonal

    def gram_rows(self, K: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Normalise the rows `chosen` of the training Gram matrix with the constants that are learned already."""
        if self.method == "unit-diagonal":
            self.scale(K, chosen, slice(None))
            K[np.arange(len(chosen)), chosen] = np.where(self.factor_[chosen] > 0, 1.0, 0.0)
        elif self.method == "unit-trace":
            K *= self.factor_
        elif self.method == "center":
            K -= self.means_[chosen, None]
            K -= self.means_[None, :]
            K += self.mean_
        if not self.present_.all():
            K[~self.present_[chosen]] = 0.0
            K[:, ~self.present_] = 0.0
        return K

    def scale(self, K: np.ndarray, rows: np.ndarray | slice, columns: slice) -> None:
        """Multiply values between training samples, in place; without the exact diagonal, and not for "center"."""
        if self.method == "unit-trace":
            K *= self.factor_
        elif self.method == "unit-diagonal" and (self.factor_ != 1.0).any():
            left, right = self.factor_[rows, None], self.factor_[columns]
            for first in range(0, len(K), _BAND):
                band = slice(first, first + _BAND)
                K[band] *= left[band] * right  # the factor of both first, so that a symmetric matrix stays exactly so

    def gram_diagonal(self, diagonal: np.ndarray) -> np.ndarray:
        """Normalise the diagonal of the training Gram matrix; not for "center"."""
        if self.method == "unit-diagonal":
            return np.where(self.factor_ > 0, 1.0, 0.0)
        return self.factor_ * diagonal if self.method == "unit-trace" else diagonal

    def cross(
        self, K: np.ndarray, diagonal: np.ndarray, present: np.ndarray, reference: np.ndarray | slice
    ) -> np.ndarray:
        """Normalise kernel values of new samples (rows) to training samples (columns).

        Parameters
        ----------
        K : ndarray of shape (n_new, n_reference)
        diagonal : ndarray of shape (n_new,)
            k(x, x) of the new samples.
        present : ndarray of bool, shape (n_new,)
            The new samples that have the view.
        reference : ndarray of int or slice
            Which training samples the columns are; all of them, in order, where `needs_all_samples`.
        """
        if self.method == "unit-diagonal":
            K *= self._inverse_root(diagonal)[:, None]
            K *= self.factor_[reference][None, :]
        elif self.method == "unit-trace":
            K *= self.factor_
        elif self.method == "center":
            K -= (K @ self.weight_)[:, None]
            K -= self.means_[None, :]
            K += self.mean_
        K[~present] = 0.0
        K[:, ~self.present_[reference]] = 0.0
        return K

    def diagonal(self, K: np.ndarray, diagonal: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Normalised k'(x, x) of new samples, from what `cross` takes (K as it was before)."""
        if self.method == "unit-diagonal":
            diagonal = (diagonal > 0).astype(float)
        elif self.method == "unit-trace":
            diagonal = self.factor_ * diagonal
        elif self.method == "center":
            diagonal = diagonal - 2.0 * (K @ self.weight_) + self.mean_
        return np.where(present, diagonal, 0.0)

    def restrict(self, rows: np.ndarray) -> Normalizer:
        """The constants that comparing new samples with these training samples needs."""
        lean = copy(self)
        for name in ("present_", "factor_", "weight_", "means_"):
            value: Any = getattr(self, name, None)
            if np.ndim(value):
                setattr(lean, name, value[rows])
        return lean

    def _inverse_root(self, diagonal: np.ndarray, training: np.ndarray | None = None) -> np.ndarray:
        if (diagonal == 1.0).all():
            return np.ones(len(diagonal))
        check_known(diagonal, self.name)
        if (diagonal < 0).any():
            sample = int(np.flatnonzero(diagonal < 0)[0])
            raise ValueError(
                f"the kernel {self.name!r} has a negative diagonal entry (sample {sample}), so it is no kernel and "
                'cannot be scaled to a unit diagonal; use repair="clip" on the kernel, normalize=None or another kernel'
            )
        zero = diagonal == 0
        if training is not None and (zero & training).any():
            warn(
                f"the kernel {self.name!r} is zero for {np.count_nonzero(zero & training)} sample(s), which stay zero "
                "after normalisation to a unit diagonal",
            )
        return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(diagonal)), where=~zero)

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """A fitted one has the constants of its method; that of a kernel that is not used has none."""
        if "present_" not in vars(self):
            return
        needed = {
            "unit-diagonal": {"factor_": numbers("reference")},
            "unit-trace": {"factor_": number()},
            "center": {"weight_": numbers("reference"), "means_": numbers("reference"), "mean_": number()},
        }.get(str(self.method), {})
        for name, kind in needed.items():
            kind(vars(self).get(name), sizes, f"{path}.{name}")


def warn_if_lost(raw: np.ndarray, centred: np.ndarray, name: str) -> None:
    """Warn where differences of samples are small beside a kernel's values, by k(x, x) before and after centring."""
    sizes = np.abs(raw).max(initial=0.0), np.abs(centred).max(initial=0.0)
    is_constant = (raw == raw[:1]).all() and sizes[1] <= len(raw) * np.finfo(float).eps * sizes[0]
    if drowns(raw, centred, np.float64) and not is_constant:
        warn(
            f"the values of the kernel {name!r} differ so little from each other that rounding hides more than a "
            "millionth of what tells samples apart, perhaps all of it; standardise its view, where columns have a "
            "large mean (transformer=StandardScaler()), or choose other kernel parameters"
        )


def check_known(diagonal: np.ndarray, name: str) -> None:
    if np.isnan(diagonal).any():
        raise ValueError(
            f"the kernel {name!r} lacks the similarity of {np.count_nonzero(np.isnan(diagonal))} new sample(s) to "
            "themselves; give it as diagonal= of extend_kernels or extend (1.0 where every sample has it)"
        )


def finite(compute: Callable[[], np.ndarray], name: str) -> np.ndarray:
    """Kernel values, or one error that names the kernel where they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        K = compute()
        is_finite = np.isfinite(K.sum())
    if not is_finite:
        raise ValueError(
            f"the kernel {name!r} gives NaN, infinite or overflowing values; scale its view first "
            "(sklearn.preprocessing.StandardScaler) or choose other kernel parameters"
        )
    return K


REPAIRS = ("clip", "shift", None)

# Eigenvalues above minus this share of the matrix' norm are rounding (of single precision, too).
_NEGLIGIBLE = 1e-6
# Positive eigenvalues below this share of the largest carry only rounding, which the inverse would blow up.
_ZERO = 1e-10
_DENSE_SAMPLES = 200
_LANCZOS_STEPS = 40


def check_repair(method: Any, name: str) -> None:
    check(f"the kernel {name!r}", "repair", method, Choice(*REPAIRS))


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

    _saved = Schema(
        {
            "method": one_of(*REPAIRS),
            "name": text,
            "trusted": flag,
            "smallest_": maybe(number()),
            "_looked_at": flag,
        }
    )

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

        `present` says which samples have the view; the others take no part. `weight` says how often each sample counts;
        clipping is then that of a matrix where it stands so often.
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
        """Repair the rows `chosen` of a training Gram matrix with the constants that are learned already."""
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
            return
        if self.method == "shift":
            self.smallest_ = float(eigh(K, eigvals_only=True, subset_by_index=[0, 0])[0])
            return
        root = np.sqrt(weight[present])
        eigenvalues, vectors = eigh(K * root[:, None] * root[None, :], overwrite_a=True)
        positive = eigenvalues > _ZERO * np.abs(eigenvalues).max()
        if not positive.any():
            raise ValueError(f"the kernel {self.name!r} has no positive eigenvalue, so clipping leaves nothing of it")
        self.eigenvalues_ = eigenvalues[positive]
        self.basis_ = np.zeros((len(present), len(self.eigenvalues_)))  # absent samples have zero rows
        self.basis_[present] = vectors[:, positive]
        self.root_weight_ = np.sqrt(weight)

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if self.needs_all_samples:
            numbers("values", low=np.finfo(float).tiny)(vars(self).get("eigenvalues_"), sizes, f"{path}.eigenvalues_")
            numbers("reference", "values")(vars(self).get("basis_"), sizes, f"{path}.basis_")
            weight = vars(self).get("root_weight_")
            numbers("reference", low=np.finfo(float).tiny)(weight, sizes, f"{path}.root_weight_")


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
