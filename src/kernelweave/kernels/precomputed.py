"""`Precomputed`: samples are looked up in a given Gram matrix by an integer id column."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..validation import blamed_on, shown
from ..validation.inputs import check_plain
from ..views import as_views
from .base import ViewKernel

_SYMMETRY_TOLERANCE = {4: 1e-5, 8: 1e-8}  # of single and double precision, relative to the largest entry


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
    repair : {"clip", "shift", None}
        What a model does where K is not positive semidefinite among its training samples, see `Repair`; None only
        warns.

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

    reads_ids = True
    _noun, _parameter = "precomputed kernel", "K of the precomputed kernel"

    def __init__(self, K: Any, view: Any = None, *, repair: str | None = None):
        what = self._parameter if view is None else f"{self._parameter} of view {shown(view)}"
        if sp.issparse(K) or np.iscomplexobj(K):
            raise ValueError(
                f"{what} must be a dense array of real numbers, not {type(K).__name__} (sparse or complex)"
            )
        check_plain(K, what)
        with blamed_on(what):
            K = np.asarray(K, dtype=None if getattr(K, "dtype", None) in (np.float32, np.float64) else np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"{what} must be a square matrix, not of shape {K.shape}")
        check_symmetric(K, what)
        self._put(
            K=_read_only(K),
            view=view,
            repair=repair,
            rows=np.empty((0, len(K))),
            self_similarity=_read_only(np.diagonal(K)),
            columns_kept=None,
        )

    def _put(self, **attributes: Any) -> None:
        """Set attributes, also those that users cannot change."""
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("K", "view", "repair"):
            raise AttributeError("a Precomputed kernel cannot be changed; make a new one")
        super().__setattr__(name, value)

    def __sklearn_clone__(self) -> Precomputed:
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; K is shown by its size wherever scikit-learn prints parameters."""
        params = super().get_params(deep)
        return {**params, "K": params["K"].view(_ShownBySize)}

    def extend(self, rows: Any, diagonal: Any) -> Precomputed:
        """A kernel with further ids for new samples, which can be predicted but not trained on.

        Parameters
        ----------
        rows : array of shape (n_new, n_ids of the original K)
            Similarities of the new samples to the original ones; for a kernel from `with_columns` also of shape
            ``(n_new, len(columns_kept))``, to those ids only.
        diagonal : array of shape (n_new,)
            Similarity of each new sample to itself, which normalisation needs.

        Returns
        -------
        Precomputed
            New samples have the ids that follow the existing ones.
        """
        check_plain(rows, "rows of extend")
        check_plain(diagonal, "diagonal of extend")
        rows = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        diagonal = np.atleast_1d(np.asarray(diagonal, dtype=np.float64))
        if self.columns_kept is not None and rows.ndim == 2 and rows.shape[1] == len(self.K):
            rows = rows[:, self.columns_kept]
        if rows.ndim != 2 or rows.shape[1] != self.K.shape[1] or diagonal.shape != (len(rows),):
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

    def with_columns(self, ids: np.ndarray) -> Precomputed:
        """A kernel that compares any sample with these ids only, and stores no other column of K.

        That is all a fitted model needs whose support vectors have these ids, so saved models keep it. It can be
        extended, but trained on with these ids only.

        Parameters
        ----------
        ids : ndarray of int
            Ids below ``len(K)``; all of them must be known where this is such a kernel already.
        """
        ids = np.unique(np.asarray(ids, dtype=np.int64))
        if self.columns_kept is not None and np.array_equal(ids, self.columns_kept):
            return self
        places = self._places(ids)
        return self._copy(
            K=_read_only(np.ascontiguousarray(self.K[:, places])),
            rows=_read_only(np.ascontiguousarray(self.rows[:, places])),
            self_similarity=_read_only(np.ascontiguousarray(self.self_similarity)),
            columns_kept=_read_only(ids),
        )

    def lookups(self, X: Any) -> list[tuple[Precomputed, np.ndarray]]:
        """This kernel, with the ids of the samples that have one."""
        if X is None:
            return [(self, np.empty(0, dtype=np.int64))]
        values, present = self.read(as_views(X))
        return [(self, self._ids(values[present]))]

    def fit(
        self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None, y: Any = None
    ) -> Precomputed:
        """A copy, sharing K, that is bound to the id column of X."""
        return super(Precomputed, self._copy()).fit(X, sample_weight, label, y)

    def bound_like(self, other: Precomputed) -> Precomputed:
        """A copy, sharing K, that reads ids where another, fitted kernel does."""
        return self._copy(columns_=other.columns_, label_=other.label_)

    def _copy(self, **changes: Any) -> Precomputed:
        """A copy, sharing K, with these attributes changed."""
        other = copy(self)
        other._put(**changes)
        return other

    def learn(self, values, sample_weight):
        """Check the ids of the training samples."""
        if self.columns_.size != 1:
            raise ValueError(
                f"the {self._noun} {self.label_!r} needs one column of ids, but its view has "
                f"{self.columns_.size} columns; name the id column with view="
            )
        ids = self._ids(values)
        if len(ids) and ids.max() >= len(self.K):
            raise ValueError(
                f"the {self._noun} {self.label_!r} was extended by samples that can be predicted but not "
                f"trained on: ids from {len(self.K)} have no similarities among each other"
            )
        self._places(ids)

    def cross_of(self, A, B):
        """K[id(a), id(b)]."""
        first, second = self._ids(A), self._ids(B)
        n_ids = len(self.K)
        if second.size and second.max() >= n_ids:
            raise ValueError(f"the kernel {self.label_!r} has no similarities to the samples added by extend")
        places = self._places(second)
        values = np.empty((len(first), len(second)))
        known = first < n_ids
        values[known] = self.K[np.ix_(first[known], places)]
        values[~known] = self.rows[np.ix_(first[~known] - n_ids, places)]
        return values

    def _places(self, ids: np.ndarray) -> np.ndarray:
        """The columns of K that stand for these ids."""
        if self.columns_kept is None:
            return ids
        unknown = ids[~np.isin(ids, self.columns_kept)]
        if unknown.size:
            raise ValueError(
                f"the precomputed kernel {getattr(self, 'label_', self.name)!r} keeps the similarities to the "
                f"{len(self.columns_kept)} support vectors of a saved model only, and id {unknown[0]} is none of them; "
                "to fit again, give the whole matrix: set_params(kernels=[... Precomputed(K) ...])"
            )
        return np.searchsorted(self.columns_kept, ids)

    def diagonal_of(self, A):
        """K[id(a), id(a)]."""
        return self.self_similarity[self._ids(A)]

    def _ids(self, column: np.ndarray) -> np.ndarray:
        column = column[:, 0]
        ids = column.astype(np.int64)
        if (ids != column).any() or ((ids < 0) | (ids >= len(self.self_similarity))).any():
            wrong = column[(ids != column) | (ids < 0) | (ids >= len(self.self_similarity))][0]
            raise ValueError(
                f"the ids of the {self._noun} {self.label_!r} must be whole numbers from 0 to "
                f"{len(self.self_similarity) - 1}, but one is {wrong:g}; did a scaler touch the id column?"
            )
        return ids


class _ShownBySize(np.ndarray):
    """A matrix whose repr is its size."""

    def __repr__(self) -> str:
        return f"<{self.shape[0]} x {self.shape[1]} matrix>" if self.ndim == 2 else repr(np.asarray(self))


def check_symmetric(K: np.ndarray, what: str) -> None:
    """Raise a `ValueError` where a square matrix is not finite or not symmetric (relative to its largest entry)."""
    ending = "" if what.startswith("the values") else "s"
    if not np.isfinite(K).all():
        raise ValueError(f"{what} contain{ending} NaN or infinity")
    largest = np.abs(K).max(initial=0.0)
    for start in range(0, len(K), 512):  # blockwise: no second matrix of this size
        rows = slice(start, start + 512)
        difference = np.abs(K[rows] - K[:, rows].T).max(initial=0.0)
        if difference > _SYMMETRY_TOLERANCE[K.dtype.itemsize] * max(largest, np.finfo(float).tiny):
            raise ValueError(
                f"{what} must be symmetric, but differ{ending} from the transpose "
                f"by up to {difference:.3g}; (K + K.T) / 2 makes a matrix symmetric"
            )


def _read_only(array: np.ndarray) -> np.ndarray:
    array = array.view()
    array.flags.writeable = False
    return array
