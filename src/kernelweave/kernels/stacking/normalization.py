"""Normalisation of kernels, with constants from the training samples for new ones.

The thesis is Gönen (2010, PhD thesis, Boğaziçi University).

=================  ====================================================================================
method             k'(x, z)
=================  ====================================================================================
``unit-diagonal``  k(x, z) / sqrt(k(x, x) k(z, z)), thesis (2.9); a row with k(x, x) = 0 stays zero
``unit-trace``     k(x, z) / mean_i k(x_i, x_i) over training samples: a diagonal of 1 on average, so that C means
                   what it means with a unit diagonal (a trace of exactly 1 would divide C by the number of samples)
``center``         <phi(x) - mean, phi(z) - mean>, the mean over training samples
``None``           k(x, z)
=================  ====================================================================================

Samples without the view take no part in any constant, and their rows are zero afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from ..._warnings import warn
from ...validation import Choice, check
from ..tiles.functions import drowns

_BAND = 16  # rows that are scaled together, so that their factors stay in the cache

METHODS = ("unit-diagonal", "unit-trace", "center", None)


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
        What the features of a linear kernel that is centred are lowered by before they are compared, see `rounding`.

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

    def __init__(self, method: str | None, name: str):
        check(None, "normalize", method, Choice(*METHODS))
        self.method = method
        self.name = name

    @property
    def needs_all_samples(self) -> bool:
        """Whether new samples must be compared with every training sample, not only with support vectors."""
        return self.method == "center"

    def gram(self, K: np.ndarray, present: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Learn the constants from a training Gram matrix and normalise it.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
        present : ndarray of bool
            The samples that have the view.
        weight : ndarray
            How often each sample counts.
        """
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
        """Learn the constants from the diagonal of the training Gram matrix; not for "center".

        Parameters
        ----------
        diagonal : ndarray of shape (n_samples,)
        present, weight : ndarray of shape (n_samples,)
            As in `gram`.
        """
        self.present_ = present
        if self.method == "unit-diagonal":
            self.factor_: Any = self._inverse_root(diagonal, told=present)
        elif self.method == "unit-trace":
            weight = np.where(present, weight, 0.0)
            shares = weight / max(weight.sum(), np.finfo(float).tiny)
            self.factor_ = self._inverse_mean(float(shares @ diagonal))

    def learn_means(
        self, means_of: Callable[[np.ndarray], np.ndarray], present: np.ndarray, weight: np.ndarray
    ) -> None:
        """Learn the constants of "center" from products of the training Gram matrix.

        Parameters
        ----------
        means_of : callable
            From a vector w to K w, of shape (n_samples,).
        present, weight : ndarray of shape (n_samples,)
            As in `gram`.
        """
        self.present_ = present
        weight = np.where(present, weight, 0.0)
        self.weight_ = weight / max(weight.sum(), np.finfo(float).tiny)
        self.means_ = means_of(self.weight_)
        self.mean_ = float(self.means_ @ self.weight_)

    def training_scale(self, diagonal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What rows and columns of the training samples are multiplied by (0 if absent), and the normalised k(x, x).

        Parameters
        ----------
        diagonal : ndarray of shape (n_samples,)
            k(x, x) before.
        """
        factor: Any = np.where(self.present_, 1.0, 0.0)
        if self.method == "unit-diagonal":
            factor = factor * self.factor_
            return factor, np.where(factor > 0.0, 1.0, 0.0)
        if self.method == "unit-trace":
            factor = factor * np.sqrt(self.factor_)
        if self.method == "center":
            diagonal = diagonal - 2.0 * self.means_ + self.mean_
        return factor, factor**2 * diagonal

    def new_scale(
        self, diagonal: np.ndarray, present: np.ndarray, means: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """What rows of new samples are multiplied by (0 if absent), and their normalised k(x, x).

        Parameters
        ----------
        diagonal, present
            As in `cross`.
        means : ndarray of shape (n_new,)
            The mean of k(x, x_i) over the training samples, for "center".
        """
        factor: Any = np.where(present, 1.0, 0.0)
        if self.method == "unit-diagonal":
            factor = factor * self._inverse_root(diagonal)
            return factor, np.where(factor > 0.0, 1.0, 0.0)
        if self.method == "unit-trace":
            factor = factor * np.sqrt(self.factor_)
        if means is not None:
            diagonal = diagonal - 2.0 * means + self.mean_
        return factor, factor**2 * diagonal

    def gram_rows(self, K: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Normalise rows of the training Gram matrix with the constants that are learned already.

        Parameters
        ----------
        K : ndarray of shape (n_chosen, n_samples)
        chosen : ndarray of int, shape (n_chosen,)
            Which samples the rows are.
        """
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
        """Multiply values between training samples, in place; without the exact diagonal, and not for "center".

        Parameters
        ----------
        K : ndarray of shape (n_rows, n_columns)
        rows, columns : ndarray of int or slice
            Which samples the rows and columns are.
        """
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

    def _inverse_root(self, diagonal: np.ndarray, told: np.ndarray | None = None) -> np.ndarray:
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
        if told is not None and (zero & told).any():
            warn(
                f"the kernel {self.name!r} is zero for {np.count_nonzero(zero & told)} sample(s), which stay zero "
                "after normalisation to a unit diagonal",
            )
        return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(diagonal)), where=~zero)

    def _inverse_mean(self, mean: float) -> float:
        if mean < 0:
            raise ValueError(f"the kernel {self.name!r} has a negative trace and cannot be scaled to a unit trace")
        return 1.0 / mean if mean > 0 else 0.0


def warn_if_lost(raw: np.ndarray, centred: np.ndarray, name: str) -> None:
    """Warn where the differences of samples are small beside a kernel's values, by k(x, x) before and after centring.

    A constant kernel has no differences to lose: its mean over n samples is its value but for n roundings.
    """
    sizes = np.abs(raw).max(initial=0.0), np.abs(centred).max(initial=0.0)
    is_constant = (raw == raw[:1]).all() and sizes[1] <= len(raw) * np.finfo(float).eps * sizes[0]
    if drowns(raw, centred, np.float64) and not is_constant:
        warn(
            f"the values of the kernel {name!r} differ so little from each other that rounding hides more than a "
            "millionth of what tells samples apart, perhaps all of it; standardise its view, where columns have a "
            "large mean (transformer=StandardScaler()), or choose other kernel parameters"
        )


def check_known(diagonal: np.ndarray, name: str) -> None:
    """Raise a `ValueError` where k(x, x) is unknown (NaN), as of samples by which a precomputed kernel was extended."""
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
