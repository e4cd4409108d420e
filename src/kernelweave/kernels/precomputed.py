"""`Precomputed`: samples are looked up in a given Gram matrix by a column of ids.

The ids are positions in the matrix or, where it is a data frame, its labels: text or numbers, which are compared as
text. A whole number is its digits, so that 101, 101.0 (what pandas makes of 101 in a column with missing entries) and
"101" (what it makes of 101 in the header of a file) are one label; "007" and 7 are two.

A `Block` has similarities of new samples to those of a matrix, checked and in the order of its columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..validation import blamed_on, is_number, shown
from ..validation.inputs import check_plain
from ..validation.schemas import (
    Schema,
    Sizes,
    agree,
    anything,
    flags,
    indices,
    label_index,
    maybe,
    numbers,
    optional,
    refuse,
)
from ..views import Views, as_views
from .base import ViewKernel
from .tiles.functions import MatrixFunction

_EXACT = 2.0**53  # from here on different whole numbers may be one floating-point number
_LOOKED_THROUGH = 2000  # labels that are compared with an unknown one
_NAMED = 3


def as_text(entries: Iterable[Any], what: str) -> np.ndarray:
    texts = [_as_text(entry, what) for entry in entries]
    found = np.empty(len(texts), dtype=object)
    found[:] = texts
    return found


def _as_text(entry: Any, what: str) -> str:
    if isinstance(entry, str):
        return str(entry)
    if isinstance(entry, Integral) and not isinstance(entry, bool):
        return str(int(entry))
    if isinstance(entry, Real) and not isinstance(entry, bool) and np.isfinite(float(entry)):
        number = float(entry)
        if not number.is_integer():
            return repr(number)
        if abs(number) < _EXACT:
            return str(int(number))
        raise ValueError(f"{what} must not be numbers as large as {number:.0f}, which are rounded; give them as text")
    raise ValueError(f"{what} must be text or numbers, but one is {shown(entry)}; .astype(str) makes text of labels")


def unique_labels(index: pd.Index, what: str) -> pd.Index:
    labels = pd.Index(as_text(index.tolist(), what), dtype=object)
    if not labels.is_unique:
        raise ValueError(f"the label {labels[labels.duplicated()][0]!r} is there twice in {what}")
    return labels


def is_numbered(index: pd.Index) -> bool:
    """Whether an index is what pandas gives to rows or columns without labels: 0, 1, 2, ..."""
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def square_matrix(frame: pd.DataFrame, what: str) -> tuple[np.ndarray, pd.Index | None]:
    """The values of a square data frame, columns in the order of the rows, and its labels if it has any."""
    dtype = np.float32 if (frame.dtypes == np.float32).all() else np.float64
    with blamed_on(what):
        values = frame.to_numpy(dtype=dtype, na_value=np.nan)
    if is_numbered(frame.index) and is_numbered(frame.columns):
        return values, None
    rows = unique_labels(frame.index, f"the index of {what}")
    columns = unique_labels(frame.columns, f"the columns of {what}")
    for some, others, missing in ((rows, columns, "row but no column"), (columns, rows, "column but no row")):
        alone = some[~some.isin(others)]
        if len(alone):
            raise ValueError(
                f"{what} must have the same labels in rows and columns, but there is a {missing} {alone[0]!r}; "
                "pd.DataFrame(K, index=labels, columns=labels) gives an array labels"
            )
    return (values if rows.equals(columns) else values[:, columns.get_indexer(rows)]), rows


def named(labels: pd.Index) -> str:
    some = ", ".join(repr(label) for label in labels[:_NAMED])
    return some if len(labels) <= _NAMED else f"{some} and {len(labels) - _NAMED} more"


def alternatives(label: str, labels: pd.Index) -> str:
    """What a message says beside an unknown label: labels that are much like it, and the first of those that exist."""
    close = get_close_matches(label, labels[:_LOOKED_THROUGH].tolist(), n=_NAMED)
    known = f"the {len(labels)} ids are {named(labels)}" if len(labels) else "there are no ids"
    return f"(did you mean {' or '.join(repr(other) for other in close)}?) {known}" if close else known


TOLERANCE = {4: 1e-5, 8: 1e-8}  # of single and double precision, relative to the largest entry


class ShownBySize(np.ndarray):
    def __repr__(self) -> str:
        return f"<{self.shape[0]} x {self.shape[1]} matrix>" if self.ndim == 2 else repr(np.asarray(self))


class FrameShownBySize(pd.DataFrame):
    def __repr__(self) -> str:
        return f"<{self.shape[0]} x {self.shape[1]} matrix>"


def check_symmetric(K: np.ndarray, what: str, labels: pd.Index | None = None) -> None:
    ending = "" if what.startswith("the values") else "s"
    if not np.isfinite(K).all():
        raise ValueError(f"{what} contain{ending} NaN or infinity{_entry(~np.isfinite(K), labels)}")
    largest = np.abs(K).max(initial=0.0)
    for start in range(0, len(K), 512):  # blockwise: no second matrix of this size
        rows = slice(start, start + 512)
        difference = np.abs(K[rows] - K[:, rows].T)
        most = difference.max(initial=0.0)
        if most > TOLERANCE[K.dtype.itemsize] * max(largest, np.finfo(float).tiny):
            raise ValueError(
                f"{what} must be symmetric, but differ{ending} from the transpose by up to {most:.3g}"
                f"{_entry(difference == most, labels, start)}; (K + K.T) / 2 makes a matrix symmetric"
            )


def _entry(wrong: np.ndarray, labels: pd.Index | None, start: int = 0) -> str:
    if labels is None:
        return ""
    row, column = np.argwhere(wrong)[0].tolist()
    return f" (in the row {labels[start + row]!r}, column {labels[column]!r})"


@dataclass(frozen=True)
class Block:
    """Similarities of new samples to those of a matrix, (n_new, n_columns), NaN in columns that nobody needs.

    The diagonal, each sample's similarity to itself, is NaN where it was not given; `absent` samples lack this view.
    """

    labels: pd.Index | None
    values: np.ndarray
    diagonal: np.ndarray
    absent: np.ndarray

    def take(self, places: np.ndarray, labels: pd.Index | None) -> Block:
        """The block of the samples in these places, with these labels; where a place is -1, of one without the view."""
        there = places >= 0
        values = np.zeros((len(places), self.values.shape[1]))
        diagonal, absent = np.zeros(len(places)), np.ones(len(places), dtype=bool)
        values[there], diagonal[there] = self.values[places[there]], self.diagonal[places[there]]
        absent[there] = self.absent[places[there]]
        return Block(labels, values, diagonal, absent)


def _columns_of(frame: pd.DataFrame, wanted: pd.Index, needed: np.ndarray, what: str) -> np.ndarray:
    labels = unique_labels(frame.columns, f"the columns of {what}")
    places = labels.get_indexer(wanted)
    lacking = wanted[(places < 0) & needed]
    if len(lacking):
        raise ValueError(
            f"{what} must have a column for each of the {np.count_nonzero(needed)} samples that new ones are compared "
            f"with, but lacks {named(lacking)}"
        )
    values = np.full((len(frame), len(wanted)), np.nan)
    there = np.flatnonzero(places >= 0)
    with blamed_on(what):
        values[:, there] = frame.iloc[:, places[there]].to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _own_diagonal(frame: pd.DataFrame, labels: pd.Index) -> np.ndarray:
    places = pd.Index(as_text(frame.columns.tolist(), "columns"), dtype=object).get_indexer(labels)
    found = np.full(len(frame), np.nan)
    for row in np.flatnonzero(places >= 0):
        found[row] = frame.iat[row, places[row]]
    return found


def _diagonal(diagonal: Any, labels: pd.Index | None, absent: np.ndarray, what: str) -> np.ndarray:
    n_new = len(absent)
    if diagonal is None:
        return np.full(n_new, np.nan)
    check_plain(diagonal, f"diagonal of {what}")
    if isinstance(diagonal, pd.Series) and labels is not None:
        places = unique_labels(diagonal.index, f"diagonal of {what}").get_indexer(labels)
        if (places[~absent] < 0).any():
            raise ValueError(f"diagonal of {what} lacks {named(labels[(places < 0) & ~absent])}")
        diagonal = np.where(places < 0, np.nan, np.asarray(diagonal, dtype=np.float64)[places])
    with blamed_on(f"diagonal of {what}"):
        diagonal = np.asarray(diagonal, dtype=np.float64)
    diagonal = np.full(n_new, float(diagonal)) if diagonal.ndim == 0 else diagonal
    if diagonal.shape != (n_new,):
        raise ValueError(
            f"diagonal of {what} must have one entry for each of {n_new} new samples, not {diagonal.shape}"
        )
    if not np.isfinite(diagonal[~absent]).all():
        raise ValueError(f"diagonal of {what} holds NaN or infinity")
    return diagonal


class Precomputed(ViewKernel):
    """The kernel k(x, z) = K[id(x), id(z)], where a column of X holds each sample's id.

    Splitting X then splits every precomputed kernel alike, so any number of them work unchanged in
    cross-validation and searches. The kernel is immutable and cloning returns the kernel itself: K is never copied.

    Parameters
    ----------
    K : array or DataFrame of shape (n_ids, n_ids)
        Symmetric and finite; kept, not copied, so do not change it afterwards. A data frame has the samples' ids as
        labels of its rows and columns, in any order: text, or numbers. Labels are compared as text, a whole number by
        its digits.
    view : str, list, slice, mask, callable or None
        The one column with the ids; None means that X has only that column. Ids are the labels of a data frame, and
        0 ... n_ids - 1 otherwise. A missing id (NaN or None) is a sample without this view.
    repair : {"clip", "shift", None}
        What a model does where K is not positive semidefinite among its training samples, see `Repair`; None only
        warns.

    Attributes
    ----------
    labels : Index or None
        The ids that samples may have, as text, where K is a data frame.

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

    A matrix with labels, such as a file of similarities gives, and new samples by label:

    >>> import pandas as pd
    >>> K = pd.DataFrame([[2.0, 1.0], [1.0, 3.0]], index=["ann", "bob"], columns=["ann", "bob"])
    >>> kernel = Precomputed(K).fit([["ann"], ["bob"]])
    >>> kernel.gram([["bob"], ["ann"]])
    array([[3., 1.],
           [1., 2.]])
    >>> more = kernel.extend(pd.DataFrame({"bob": 0.25, "ann": 0.5}, index=["cid"]), diagonal=1.0)
    >>> more.cross([["cid"]], [["ann"], ["bob"]])
    array([[0.5 , 0.25]])
    """

    reads_ids = True
    takes_text = True
    labels: pd.Index | None = None
    absent: np.ndarray | None = None  # which ids lack this view; None where none does
    _noun, _parameter = "precomputed kernel", "K of the precomputed kernel"

    _saved = Schema(
        {
            "repair": anything,
            "K": numbers("ids", "columns_kept"),
            "rows": numbers("further", "columns_kept", nan=True),
            "self_similarity": numbers("all", nan=True),
            "labels": optional(label_index("all")),
            "absent": optional(flags("all")),
            "columns_kept": maybe(indices("columns_kept", below="ids", ascending=True)),
            "columns_": indices(1, below="columns"),
        }
    )

    def __init__(self, K: Any, view: Any = None, *, repair: str | None = None):
        what = self._parameter if view is None else f"{self._parameter} of view {shown(view)}"
        if sp.issparse(K) or np.iscomplexobj(K):
            raise ValueError(
                f"{what} must be a dense array of real numbers, not {type(K).__name__} (sparse or complex)"
            )
        check_plain(K, what)
        labels = None
        if isinstance(K, pd.DataFrame):
            K, labels = square_matrix(K, what)
        with blamed_on(what):
            K = np.asarray(K, dtype=None if getattr(K, "dtype", None) in (np.float32, np.float64) else np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"{what} must be a square matrix, not of shape {K.shape}")
        check_symmetric(K, what, labels)
        rows, similarity = np.empty((0, len(K))), _read_only(np.diagonal(K))
        self._put(K=_read_only(K), view=view, repair=repair, rows=rows, self_similarity=similarity, columns_kept=None)
        if labels is not None:
            self._put(labels=labels)

    def _put(self, **attributes: Any) -> None:
        """Set attributes, also those that users cannot change."""
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("K", "view", "repair", "labels"):
            raise AttributeError("a Precomputed kernel cannot be changed; make a new one")
        super().__setattr__(name, value)

    def __sklearn_clone__(self) -> Precomputed:
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; K is shown by its size wherever scikit-learn prints parameters."""
        params = super().get_params(deep)
        K = params["K"]
        if self.labels is None:
            return {**params, "K": K.view(ShownBySize)}
        return {**params, "K": FrameShownBySize(K, self.labels[: len(K)], self._column_labels(), copy=False)}

    def extend(self, rows: Any, diagonal: Any = None) -> Precomputed:
        """A kernel with further ids for new samples, which can be predicted but not trained on.

        A fitted model takes it by `replace_kernel`; the model's `extend_kernels` does both for several kernels.

        Parameters
        ----------
        rows : DataFrame, or array of shape (n_new, n_ids of the original K)
            Similarities of the new samples to the original ones; for a kernel from `with_columns` also of shape
            ``(n_new, len(columns_kept))``, to those ids only. Where K has labels a data frame, whose row labels are the
            new ids and whose columns are found by label: there may be more, in any order.
        diagonal : Series, array of shape (n_new,), number or None
            Similarity of each new sample to itself, which normalisation to a unit diagonal needs; one number for all.
            None takes it from the columns of a data frame with labels that are those of its rows, if it has them, and
            leaves it unknown otherwise.

        Returns
        -------
        Precomputed
            New samples have the labels of the rows or, where K has no labels, the ids that follow the existing ones.
        """
        block = self.read_block(rows, diagonal, "rows of extend")
        if block.absent.any():
            raise ValueError("extend got rows with NaN or infinity")
        if self.labels is not None:
            if block.labels is None:
                raise ValueError(
                    f"K has labels, so extend needs rows with labels too: a data frame with a row for each new sample "
                    f"and columns such as {named(self._column_labels())}"
                )
            known = block.labels[block.labels.isin(self.labels)]
            if len(known):
                raise ValueError(f"extend got the id {known[0]!r}, which the kernel has already")
        return self.with_block(block)

    def read_block(self, rows: Any, diagonal: Any, what: str, needed: np.ndarray | None = None) -> Block:
        """Similarities of new samples in the order of this kernel's columns.

        Rows and diagonal are those of `extend`, but a row that is wholly NaN is a sample without this view. Messages
        call the rows `what`; the `needed` ids must have similarities, by default all that the kernel keeps.
        """
        check_plain(rows, what)
        kept, has_ids = self._kept_ids(), self.labels is not None
        needs = np.ones(len(kept), dtype=bool) if needed is None else np.isin(kept, needed)
        labels = None
        if isinstance(rows, pd.DataFrame) and (has_ids or not is_numbered(rows.index)):
            labels = unique_labels(rows.index, f"the index of {what}")
        by_label = isinstance(rows, pd.DataFrame) and (has_ids or not is_numbered(rows.columns))
        if by_label:
            source = what if has_ids else f"{what} (whose matrix has no labels but positions)"
            values = _columns_of(rows, self._column_labels(), needs, source)
        else:
            with blamed_on(what):
                values = np.atleast_2d(np.asarray(rows, dtype=np.float64))
            if values.ndim == 2 and values.shape[1] == len(self.K):
                values = values[:, kept]
            if values.ndim != 2 or values.shape[1] != len(kept):
                raise ValueError(f"{what} must be of shape (n_new, {len(self.K)}), not {np.shape(rows)}")
        compared = values[:, needs]
        absent = np.isnan(compared).all(axis=1) if compared.shape[1] else np.zeros(len(values), dtype=bool)
        wrong = np.flatnonzero(~np.isfinite(compared).all(axis=1) & ~absent)
        if len(wrong):
            row = f"row {wrong[0]}" if labels is None else f"the row {labels[wrong[0]]!r}"
            raise ValueError(f"{what}: {row} holds NaN or infinity, and only a whole row can be missing")
        if diagonal is None and by_label and labels is not None and has_ids:
            return Block(labels, values, _own_diagonal(rows, labels), absent)
        return Block(labels, values, _diagonal(diagonal, labels, absent, what), absent)

    def with_block(self, block: Block) -> Precomputed:
        """A kernel with the samples of a block; an id that `with_block` added before has the new similarities.

        Similarities of samples that K holds must agree with K. A sample that the block lacks and that has an id stays
        as it is.
        """
        n_ids, n_before = len(self.K), len(self.self_similarity)
        ids = np.full(len(block.values), -1) if self.labels is None else self.labels.get_indexer(block.labels)
        new = ids < 0
        ids[new] = n_before + np.arange(np.count_nonzero(new))
        self._check_agrees(block, ids)
        n_after = n_before + np.count_nonzero(new)
        rows, similarity = np.zeros((n_after - n_ids, self.K.shape[1])), np.zeros(n_after)
        absent = np.zeros(n_after, dtype=bool)
        rows[: len(self.rows)], similarity[:n_before] = self.rows, self.self_similarity
        absent[:n_before] = False if self.absent is None else self.absent
        taken = (ids >= n_ids) & (new | ~block.absent)
        rows[ids[taken] - n_ids] = np.where(block.absent[taken, None], 0.0, block.values[taken])
        similarity[ids[taken]] = np.where(block.absent[taken], 0.0, block.diagonal[taken])
        absent[ids[taken]] = block.absent[taken]
        changes: dict[str, Any] = {"rows": _read_only(rows), "self_similarity": _read_only(similarity)}
        if absent.any() or self.absent is not None:
            changes["absent"] = _read_only(absent)
        if self.labels is not None and block.labels is not None:
            changes["labels"] = self.labels.append(block.labels[new])
        return self._copy(**changes)

    def _check_agrees(self, block: Block, ids: np.ndarray) -> None:
        known = np.flatnonzero((ids < len(self.K)) & ~block.absent)
        difference = np.abs(np.nan_to_num(block.values[known] - self.K[ids[known]])).max(axis=1, initial=0.0)
        largest = np.abs(self.K).max(initial=np.finfo(float).tiny) if len(known) else 1.0
        other = known[difference > TOLERANCE[self.K.dtype.itemsize] * largest]
        if len(other) and block.labels is not None:
            raise ValueError(
                f"the {self._noun} {getattr(self, 'label_', self.name)!r} holds {block.labels[other[0]]!r} already, "
                "with other similarities; give new samples ids of their own"
            )

    def equals(self, other: Precomputed) -> bool:
        """Whether another kernel has the same matrix, with the same labels."""
        if self.K is other.K:
            return True
        labels, others = (None if one.labels is None else one.labels[: len(one.K)] for one in (self, other))
        same = others is None if labels is None else others is not None and labels.equals(others)
        if not same or not np.array_equal(self.K[:1], other.K[:1]):  # the first row, since that is nearly always enough
            return False
        return np.array_equal(self.K, other.K) and np.array_equal(self.columns_kept, other.columns_kept)

    def over(self, matrix: Precomputed) -> Precomputed:
        """The kernel with another matrix, such as an extended one: that matrix."""
        return matrix

    def _kept_ids(self) -> np.ndarray:
        return np.arange(len(self.K)) if self.columns_kept is None else self.columns_kept

    def _column_labels(self) -> pd.Index:
        kept = self._kept_ids()
        return pd.Index(as_text(kept.tolist(), "ids"), dtype=object) if self.labels is None else self.labels[kept]

    def with_columns(self, ids: np.ndarray) -> Precomputed:
        """A kernel that compares any sample with these ids only, and stores no other column of K.

        That is all a fitted model needs whose support vectors have these ids, so saved models keep it. It can be
        extended, but trained on with these ids only. All ids must be known where this is such a kernel already.
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
        if X is None:
            return [(self, np.empty(0, dtype=np.int64))]
        values, present = self.read(as_views(X))
        return [(self, self.ids(values[present]))]

    def fit(
        self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None, y: Any = None
    ) -> Precomputed:
        """A copy, sharing K, that is bound to the id column of X."""
        return super(Precomputed, self._copy()).fit(X, sample_weight, label, y)

    def read(self, views: Views) -> tuple[Any, np.ndarray]:
        values, present = super().read(views)
        return values, self.there(values, present)

    def there(self, values: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Which of the samples that have an id have this view."""
        if self.absent is None or not present.any():
            return present
        there = present.copy()
        there[present] = ~self.absent[self.ids(values[present])]
        return there

    def bound_like(self, other: Precomputed) -> Precomputed:
        """A copy, sharing K, that reads ids where another, fitted kernel does."""
        return self._copy(columns_=other.columns_, label_=other.label_)

    def _copy(self, **changes: Any) -> Precomputed:
        other = copy(self)
        other._put(**changes)
        return other

    def learn(self, values, sample_weight):
        if self.columns_.size != 1:
            raise ValueError(
                f"the {self._noun} {self.label_!r} needs one column of ids, but its view has "
                f"{self.columns_.size} columns; name the id column with view="
            )
        ids = self.ids(values)
        if len(ids) and ids.max() >= len(self.K):
            one = f"ids from {len(self.K)}" if self.labels is None else f"ids such as {self.labels[ids.max()]!r}"
            raise ValueError(
                f"the {self._noun} {self.label_!r} was extended by samples that can be predicted but not "
                f"trained on: {one} have no similarities among each other"
            )
        self._places(ids)

    def matrix_function(self):
        return MatrixFunction(self)

    def cross_of(self, A, B):
        return self.entries(self.ids(A), self.ids(B))

    def entries(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The entries of K between two sets of ids, a new array of float64; the second are no ids of new samples."""
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
        if self.columns_kept is None:
            return ids
        unknown = ids[~np.isin(ids, self.columns_kept)]
        if unknown.size:
            one = unknown[0] if self.labels is None else repr(self.labels[unknown[0]])
            raise ValueError(
                f"the precomputed kernel {getattr(self, 'label_', self.name)!r} keeps the similarities to the "
                f"{len(self.columns_kept)} support vectors of a saved model only, and id {one} is none of them; "
                "to fit again, give the whole matrix: set_params(kernels=[... Precomputed(K) ...])"
            )
        return np.searchsorted(self.columns_kept, ids)

    def diagonal_of(self, A):
        return self.self_similarity[self.ids(A)]

    def ids(self, column: np.ndarray) -> np.ndarray:
        """The positions of ids in the matrix."""
        column = column[:, 0]
        what, n_ids = f"the ids of the {self._noun} {self.label_!r}", len(self.self_similarity)
        if self.labels is not None:
            return self._labelled_ids(self.labels, as_text(column.tolist(), what))
        if column.dtype.kind == "O":
            text = next(entry for entry in column if isinstance(entry, str) or not is_number(entry))
            raise ValueError(
                f"{what} must be whole numbers, but one is {shown(text)}: the "
                "matrix has no labels; give it as a data frame with the ids as labels of rows and columns, "
                "pd.DataFrame(K, index=ids, columns=ids)"
            )
        ids = column.astype(np.int64)
        wrong = (ids != column) | (ids < 0) | (ids >= n_ids)
        if wrong.any():
            raise ValueError(
                f"{what} must be whole numbers from 0 to {n_ids - 1}, but one is {column[wrong][0]:g}; did a scaler "
                "touch the id column?"
            )
        return ids

    def _labelled_ids(self, labels: pd.Index, column: np.ndarray) -> np.ndarray:
        ids = labels.get_indexer(column)
        if (ids < 0).any():
            unknown = column[ids < 0][0]
            raise ValueError(
                f"the {self._noun} {self.label_!r} has no id {unknown!r}: {alternatives(unknown, labels)}; new "
                "samples come by extend_kernels of the fitted model"
            )
        return ids

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """Every id has a similarity to itself; all columns are there unless there is a list of those that were kept."""
        n_ids = len(self.K) + len(self.rows)
        if len(self.self_similarity) != n_ids:
            refuse(f"{path}.self_similarity", f"has {len(self.self_similarity)} numbers for {n_ids} ids")
        if self.columns_kept is None:
            agree(sizes, "columns_kept", len(self.K), f"{path}.K")


def _read_only(array: np.ndarray) -> np.ndarray:
    array = array.view()
    array.flags.writeable = False
    return array
