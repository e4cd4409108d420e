"""`Precomputed`: samples are looked up in a given Gram matrix by an integer id column."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import ViewKernel

_SYMMETRY_TOLERANCE = 1e-8


class Precomputed(ViewKernel):
    """The kernel k(x, z) = K[id(x), id(z)], where a column of X holds each sample's id.

    Splitting X then splits every precomputed kernel alike, so any number of them work unchanged in
    cross-validation and searches. The kernel is immutable and cloning returns the kernel itself: K is never copied.

    Parameters
    ----------
    K : array of shape (n_ids, n_ids)
        Symmetric and finite; kept, not copied, so do not change it afterwards.
    view : str, list, slice, mask, callable or None
        The one column with the ids 0 ... n_ids - 1; None means that X has only that column. A NaN id is a sample
        without this view.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Precomputed
    >>> kernel = Precomputed(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> kernel.fit([[0], [1]]).cross([[1]], [[0], [1]])
    array([[1., 3.]])
    >>> more = kernel.extend(rows=[[0.5, 0.25]], diagonal=[1.0])  # a new sample with id 2
    >>> more.fit([[0], [1]]).cross([[2]], [[0], [1]])
    array([[0.5 , 0.25]])
    """

    def __init__(self, K: Any, view: Any = None):
        K = np.asarray(K, dtype=None if getattr(K, "dtype", None) in (np.float32, np.float64) else np.float64)
        what = "the precomputed kernel" if view is None else f"the precomputed kernel of view {view!r}"
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"{what} must be a square matrix, not of shape {K.shape}")
        check_symmetric(K, what)
        rows = np.empty((0, len(K)))
        self.__dict__.update(K=_read_only(K), view=view, rows=rows, self_similarity=_read_only(np.diagonal(K)))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("K", "view"):
            raise AttributeError("a Precomputed kernel cannot be changed; make a new one")
        super().__setattr__(name, value)

    def __sklearn_clone__(self) -> Precomputed:
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"Precomputed(<{len(self.self_similarity)} ids>, view={self.view!r})"

    def extend(self, rows: Any, diagonal: Any) -> Precomputed:
        """A kernel with further ids for new samples, which can be predicted but not trained on.

        Parameters
        ----------
        rows : array of shape (n_new, n_ids of the original K)
            Similarities of the new samples to the original ones.
        diagonal : array of shape (n_new,)
            Similarity of each new sample to itself, which normalisation needs.

        Returns
        -------
        Precomputed
            New samples have the ids that follow the existing ones.
        """
        rows = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        diagonal = np.atleast_1d(np.asarray(diagonal, dtype=np.float64))
        if rows.ndim != 2 or rows.shape[1] != len(self.K) or diagonal.shape != (len(rows),):
            raise ValueError(
                f"extend needs rows of shape (n_new, {len(self.K)}) and a diagonal of length n_new, "
                f"not {rows.shape} and {diagonal.shape}"
            )
        if not (np.isfinite(rows).all() and np.isfinite(diagonal).all()):
            raise ValueError("extend got rows or a diagonal with NaN or infinity")
        return self._copy(
            rows=_read_only(np.vstack([self.rows, rows])),
            self_similarity=_read_only(np.concatenate([self.self_similarity, diagonal])),
        )

    def fit(self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None) -> Precomputed:
        """A copy, sharing K, that is bound to the id column of X."""
        return super(Precomputed, self._copy()).fit(X, sample_weight, label)

    def bound_like(self, other: Precomputed) -> Precomputed:
        """A copy, sharing K, that reads ids where another, fitted kernel does."""
        return self._copy(columns_=other.columns_, label_=other.label_)

    def _copy(self, **changes: Any) -> Precomputed:
        copy = object.__new__(Precomputed)
        copy.__dict__.update(self.__dict__, **changes)
        return copy

    def _learn(self, values, sample_weight):
        if self.columns_.size != 1:
            raise ValueError(
                f"the precomputed kernel {self.label_!r} needs one column of ids, but its view has "
                f"{self.columns_.size} columns; name the id column with view="
            )
        if len(self._ids(values)) and self._ids(values).max() >= len(self.K):
            raise ValueError(
                f"the precomputed kernel {self.label_!r} was extended by samples that can be predicted but not "
                f"trained on: ids from {len(self.K)} have no similarities among each other"
            )

    def _gram(self, A):
        return self._cross(A, A)

    def _cross(self, A, B):
        first, second = self._ids(A), self._ids(B)
        n_ids = len(self.K)
        if second.size and second.max() >= n_ids:
            raise ValueError(f"the kernel {self.label_!r} knows no similarities to the samples added by extend")
        values = np.empty((len(first), len(second)))
        known = first < n_ids
        values[known] = self.K[np.ix_(first[known], second)]
        values[~known] = self.rows[np.ix_(first[~known] - n_ids, second)]
        return values

    def _diagonal(self, A):
        return self.self_similarity[self._ids(A)]

    def _ids(self, column: np.ndarray) -> np.ndarray:
        column = column[:, 0]
        ids = column.astype(np.int64)
        if (ids != column).any() or ((ids < 0) | (ids >= len(self.self_similarity))).any():
            wrong = column[(ids != column) | (ids < 0) | (ids >= len(self.self_similarity))][0]
            raise ValueError(
                f"the ids of the precomputed kernel {self.label_!r} must be whole numbers from 0 to "
                f"{len(self.self_similarity) - 1}, but one is {wrong:g}; did a scaler touch the id column?"
            )
        return ids


def check_symmetric(K: np.ndarray, what: str) -> None:
    """Raise a `ValueError` where a square matrix is not finite or not symmetric (relative to its largest entry)."""
    if not np.isfinite(K).all():
        raise ValueError(f"{what} contain{'s' if what.startswith('the pre') else ''} NaN or infinity")
    largest = np.abs(K).max(initial=0.0)
    for start in range(0, len(K), 512):  # blockwise: no second matrix of this size
        rows = slice(start, start + 512)
        difference = np.abs(K[rows] - K[:, rows].T).max(initial=0.0)
        if difference > _SYMMETRY_TOLERANCE * max(largest, np.finfo(float).tiny):
            raise ValueError(
                f"{what} must be symmetric, but differ{'s' if what.startswith('the pre') else ''} from the transpose "
                f"by up to {difference:.3g}; (K + K.T) / 2 makes a matrix symmetric"
            )


def _read_only(array: np.ndarray) -> np.ndarray:
    array = array.view()
    array.flags.writeable = False
    return array
