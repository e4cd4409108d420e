"""`Views`: one X, read view by view, in blocks, or with values that are fetched when they are needed.

Each view is checked separately when a kernel first reads it: a sample whose view is wholly missing
(NaN, masked, or None in text columns) has no row there and is reported absent; a view that is partly missing,
infinite or of the wrong type is an error that names it. Sparse views of a data frame are read as CSR matrices.

A selector says which columns are a view:

================  ===========================================================
selector          columns
================  ===========================================================
``"fac"``         the columns named ``fac`` or starting ``fac__``
list              each entry a position, a column's name or else a view's; each column once
slice             positions, or column names with both ends included
boolean mask      one truth value per column
callable          what ``selector(X)`` returns, resolved by these rules
``None``          all columns
================  ===========================================================

Where a view is costly (a scan, a laboratory test), a model whose weights depend on the sample needs it for some samples
only (Gönen 2010, PhD thesis, end of 5.3.1.2). Such a model calls `FetchedViews.complete` for the samples and columns
that it compares.
"""

from __future__ import annotations

import hashlib
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..validation import shown
from ..validation.columns import SEPARATOR, text_names
from ..validation.inputs import as_pandas, check_one_table, is_date, without_mask
from ..validation.schemas import (
    Schema,
    Sizes,
    agree,
    csr,
    either,
    indices,
    nothing,
    numbers,
    object_of,
    optional,
    several,
    together,
)
from .frames import (
    KeptColumns,
    as_numbers,
    has_sparse_views,
    is_number,
    kept_columns,
    small_array,
    take_columns,
    taken_apart,
)


def resolve_columns(selector: Any, names: np.ndarray | None, n_features: int, X: Any = None) -> np.ndarray:
    """Positions of the columns that a selector means; a `ValueError` names a selector that means none."""
    if callable(selector) and not isinstance(selector, type):
        selector = selector(X)
    if selector is None:
        columns = np.arange(n_features)
    elif isinstance(selector, str):
        columns = _named_columns(selector, names)
    elif isinstance(selector, slice):
        columns = np.arange(n_features)[_positional_slice(selector, names)]
    else:
        columns = _listed_columns(selector, names, n_features)
    if len(columns) == 0:
        raise ValueError(f"the view {shown(selector)} selects no column of X")
    return columns


def prefixes(names: np.ndarray) -> dict[str, np.ndarray]:
    """The view prefixes of column names, in order, each with the positions of its columns.

    Columns without the separator share the key ``""``, except that a column named as a prefix belongs to it.
    """
    known = {name.partition(SEPARATOR)[0] for name in names if SEPARATOR in name}
    found: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        prefix = name.partition(SEPARATOR)[0]
        found.setdefault(prefix if prefix in known else "", []).append(position)
    return {prefix: np.array(positions) for prefix, positions in found.items()}


def _named_columns(view: str, names: np.ndarray | None) -> np.ndarray:
    if names is None:
        raise ValueError(
            f"the view {view!r} is a name, but X has no column names; pass a data frame "
            "(see stack_views) or select columns by position, such as kernels=[Linear([0, 1])]"
        )
    start = view + SEPARATOR
    columns = np.flatnonzero([name.startswith(start) or name == view for name in names.tolist()])
    if len(columns) == 0:
        known = sorted({name.partition(SEPARATOR)[0] for name in names})
        some = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
        close = get_close_matches(view, known, n=1)
        meant = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"the view {view!r} matches no column of X; {meant}the views of X are: {some}")
    return columns


def _column_or_view(entry: Any, names: np.ndarray | None, n_features: int) -> np.ndarray:
    """The column at a position or of exactly that name, or else all columns of the view of that name."""
    if isinstance(entry, str) and names is not None and (names == entry).any():
        return np.flatnonzero(names == entry)
    return resolve_columns(entry, names, n_features)


def _positional_slice(selector: slice, names: np.ndarray | None) -> slice:
    def position(end: Any, offset: int) -> Any:
        return _named_columns(end, names)[-1 if offset else 0] + offset if isinstance(end, str) else end

    return slice(position(selector.start, 0), position(selector.stop, 1), selector.step)


def _listed_columns(selector: Any, names: np.ndarray | None, n_features: int) -> np.ndarray:
    entries = np.atleast_1d(np.asarray(selector))
    names_inside = entries.dtype.kind in "UO" and np.ndim(selector) == 1
    if names_inside and all(isinstance(entry, str | Integral) for entry in list(selector)):
        groups = [_column_or_view(entry, names, n_features) for entry in list(selector)]
        return np.array(list(dict.fromkeys(np.concatenate(groups).tolist())))  # each column once
    if entries.dtype.kind == "b":
        if entries.shape != (n_features,):
            raise ValueError(f"the view mask has {entries.size} entries, but X has {n_features} columns")
        return np.flatnonzero(entries)
    if entries.size == 0:
        return np.array([], dtype=int)
    if entries.dtype.kind not in "iu" or entries.ndim != 1:
        raise ValueError(
            f"the view {shown(selector)} is not a name, a list of names or positions, a slice, "
            "a boolean mask, a callable or None"
        )
    if entries.min() < -n_features or entries.max() >= n_features:
        raise ValueError(f"the view {shown(selector)} names columns that X ({n_features}) does not have")
    return entries % n_features


def digests_of(X: Any) -> list[bytes]:
    """A digest of each row of an array, data frame, sparse matrix or `KeptColumns`: the same for equal entries."""
    return [hashlib.blake2b(row, digest_size=16).digest() for row in _rows_as_bytes(X)]


def _rows_as_bytes(X: Any) -> list[Any]:
    """The entries of each row as bytes (or an array of numbers), the same for equal entries."""
    if sp.issparse(X):
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        return [X.indices[a:b].astype(np.int64).tobytes() + X.data[a:b].tobytes() for a, b in ends]
    if isinstance(X, pd.DataFrame):
        is_number = np.array([isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in X.dtypes])
        parts = [X.loc[:, is_number].to_numpy(), X.loc[:, ~is_number].to_numpy(dtype=object)]
    else:
        parts = [values for _, values in X.blocks] if isinstance(X, KeptColumns) else [X]
    rows = [_array_rows(part) for part in parts if part.shape[1]]
    if isinstance(X, KeptColumns):
        for _, values, present in X.sparse or ():
            values = sp.csr_matrix(values, dtype=np.float64)
            rows += [_rows_as_bytes(values), [there.tobytes() for there in present]]
    return rows[0] if len(rows) == 1 else [b"".join(entries) for entries in zip(*rows, strict=True)]


def _array_rows(values: np.ndarray) -> list[Any]:
    if values.dtype.kind in "fiub":
        return list(np.ascontiguousarray(values, dtype=np.float64))
    values = np.where(pd.isna(values), np.array(None), values)
    return [b"".join(pickle.dumps(entry) for entry in row) for row in values]


MANY_COLUMNS = 8  # columns are many if they are more than one in so many
BLOCK_VALUES = 2**23  # how many kernel values `Views.in_blocks` lets a block of samples take


def as_views(X: Any, names: Any = None) -> Views:
    """Wrap an array, data frame or sparse matrix as `Views`; `Views` pass unchanged."""
    return X if isinstance(X, Views) else Views(X, names)


def _check_points(value: Any, sizes: Sizes, path: str) -> None:
    together(object_of("Preparation"), numbers("samples", "features"))(value, sizes, path)
    agree(sizes, "features", value[0].n_features, f"{path}[1]")


class Views:
    """The views of one X.

    Parameters
    ----------
    X : ndarray, DataFrame (of pandas, polars or pyarrow) or sparse matrix of shape (n_samples, n_features)
        Masked entries of an array are missing.
    names : sequence of str, optional
        Column names; taken from a data frame whose column names are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.views import Views
    >>> views = Views(np.array([[1.0, 2.0], [np.nan, 4.0]]), names=["a", "b"])
    >>> values, present = views.read(views.columns("a"), "a")
    >>> present
    array([ True, False])

    `source` is one object for all `Views` that were made of this one by `rows` and `keep`. `labels` is the index of a
    data frame, by which messages name samples; None where X is no frame, or has the default index (numbers from 0).
    `dtypes` has the types of the dense columns, by position, where X is a data frame with sparse views.

    Memory: each view is converted to float64 once, on first use, and kept; a block of adjacent columns
    of a float64 array is not copied.
    """

    holds_points = False  # whether some rows are points that were not made of columns, see `hold_points`
    can_fetch = False  # whether missing values can be fetched, see `FetchedViews`

    _saved = Schema(
        {
            "X": either(
                (KeptColumns, object_of(KeptColumns, "samples", "columns")), (object, csr("samples", "columns"))
            ),
            "names": nothing,
            "positions": indices("samples"),
            "points": optional(several(_check_points, own=("features",))),
        },
        transient={
            **dict.fromkeys(("_read", "_prepared", "_known", "dtypes"), dict),
            "holds_points": bool,
            "source": object,
            "labels": lambda: None,
        },
    )

    def __init__(self, X: Any, names: Any = None):
        check_one_table(X)
        X = as_pandas(X)
        if not sp.issparse(X) and not isinstance(X, pd.DataFrame | KeptColumns):
            X = np.asarray(without_mask(X))
            if X.ndim != 2:
                raise ValueError(f"X must have two dimensions (samples, columns), not {X.ndim}")
        has_labels = isinstance(X, pd.DataFrame) and not X.index.equals(pd.RangeIndex(len(X)))
        self.labels: pd.Index | None = X.index if has_labels else None
        self.dtypes: dict[int, Any] = {}
        if isinstance(X, pd.DataFrame):
            names = text_names(X) if names is None else names
            if has_sparse_views(X):
                X, features, self.dtypes = taken_apart(X)
                names = features if names is not None and len(names) < len(features) else names
        self.X = X.tocsr() if sp.issparse(X) else X
        self.names = None if names is None else np.asarray(names, dtype=object)
        self.positions = np.arange(self.X.shape[0])
        self.source = object()
        self._read: dict[Any, Any] = {}
        self._prepared: dict[Any, tuple[Any, np.ndarray]] = {}
        self._known: dict[Any, Any] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of columns."""
        return self.X.shape

    @property
    def n_samples(self) -> int:
        """Number of samples (rows)."""
        return self.X.shape[0]

    def columns(self, selector: Any) -> np.ndarray:
        """Column positions of a selector."""
        if callable(selector) and not isinstance(selector, type) and isinstance(self.X, KeptColumns):
            raise ValueError("X has sparse views, which a function cannot select; give the names of views or columns")
        if not isinstance(selector, str):
            return resolve_columns(selector, self.names, self.X.shape[1], self.X)
        return self.known(selector, lambda: resolve_columns(selector, self.names, self.X.shape[1]))

    def known(self, key: Any, find: Callable[[], Any]) -> Any:
        """What a function finds of columns, many thousand perhaps, for these and other rows: found once."""
        if key not in self._known:
            self._known[key] = find()
        return self._known[key]

    def is_sparse(self, columns: np.ndarray) -> bool:
        """Whether some of these columns are read as a CSR matrix."""
        if isinstance(self.X, KeptColumns):
            return bool(np.isin(columns, self.X.sparse_positions()).any())
        return sp.issparse(self.X)

    def rows(self, index: np.ndarray | slice) -> Views:
        """These samples only; their `positions` are those in the whole X, which has the same `source`."""
        if isinstance(self.X, KeptColumns):
            X: Any = self.X.rows(index)
        else:
            X = self.X.iloc[index] if isinstance(self.X, pd.DataFrame) else self.X[index]
        part = copy(self)  # without what was read
        part.X, part.positions = X, self.positions[index]
        part.labels = None if self.labels is None else self.labels[index]
        part._prepared = self._prepared_rows(index)
        if self._read.get("finite"):
            part._read["finite"] = True
        return part

    def in_blocks(self, n_values: int, compute: Callable[[Views], np.ndarray]) -> np.ndarray:
        """The result of a function for all samples, computed for a block of them at a time.

        The function maps views to an array with a row for each of their samples; each takes `n_values` kernel values.
        """
        n_rows = max(1, BLOCK_VALUES // max(1, n_values))
        if self.n_samples <= n_rows:
            return compute(self)
        starts = range(0, self.n_samples, n_rows)
        return np.concatenate([compute(self.rows(slice(start, start + n_rows))) for start in starts])

    def complete(self, columns: np.ndarray, label: str, *, partly: bool = False) -> Views:
        """These samples with the columns that a kernel is about to read; there is nothing to fetch here."""
        return self

    def objects(self, columns: np.ndarray, names: Any = None) -> Views:
        """These columns only, under other names (or none): what one of several objects in a sample consists of."""
        key = ("objects", columns.tobytes(), None if names is None else tuple(names))
        if key not in self._read:
            if isinstance(self.X, KeptColumns):
                X: Any = self.X.select(columns)
            elif isinstance(self.X, pd.DataFrame):
                X = self.X.iloc[:, columns].set_axis(range(len(columns)), axis=1)
            else:
                X = self.X[:, columns]
            part = self._over(X, names)
            part.dtypes = {place: self.dtypes[c] for place, c in enumerate(columns.tolist()) if c in self.dtypes}
            self._read[key] = part
        return self._read[key]

    def _over(self, X: Any, names: Any = None) -> Views:
        part = Views(X, names)
        part.positions, part.labels = self.positions, self.labels
        return part

    def followed_by(self, other: Views) -> Views:
        """These samples and then those of another X with the same columns."""
        if isinstance(self.X, pd.DataFrame):
            X = pd.concat([self.X, other.X], ignore_index=True)
        elif isinstance(self.X, KeptColumns):
            X = self.X.followed_by(other.X)
        else:
            X = sp.vstack([self.X, other.X]) if sp.issparse(self.X) else np.concatenate([self.X, other.X])
        joined = Views(X, self.names)
        joined.positions = np.concatenate([self.positions, other.positions])
        joined.dtypes = self.dtypes
        if self.labels is not None and other.labels is not None:
            joined.labels = self.labels.append(other.labels)
        return joined

    def keep(self, index: np.ndarray, columns: np.ndarray) -> Views:
        """A copy of these samples in which only these columns can be read, at the positions they have here."""
        kept = Views(kept_columns(self.X, columns, index))
        kept.positions, kept.source = self.positions[index], self.source
        kept.labels = None if self.labels is None else self.labels[index]
        if self.holds_points:
            kept.holds_points, kept._prepared = True, self._prepared_rows(index)
        return kept

    def _prepared_rows(self, index: np.ndarray | slice) -> dict[Any, tuple[Any, np.ndarray]]:
        return {key: (values[index], there[index]) for key, (values, there) in self._prepared.items()}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_read": {}, "_prepared": self._prepared if self.holds_points else {}}

    def read(
        self, columns: np.ndarray, label: str, text: bool = False, *, partly: bool = False
    ) -> tuple[Any, np.ndarray]:
        """Values of some columns, and which samples have them.

        Parameters
        ----------
        columns : ndarray of int
        label : str
            What messages call this view.
        text : bool
            Whether columns that are not numbers are allowed; they come as an object array.
        partly : bool
            Whether a sample may lack some of the columns; its missing cells are then NaN (None in an object array).

        Returns
        -------
        values : float64 ndarray, CSR matrix or object ndarray of shape (n_samples, n_columns)
            Rows of absent samples are zero (None in an object array).
        present : ndarray of bool, shape (n_samples,)
        """
        key = (text, partly, columns.tobytes())
        if key not in self._read:
            self._read[key] = self._check(columns, label, text, partly)
        return self._read[key]

    def prepared(self, key: Any, compute: Callable[[], tuple[Any, np.ndarray]]) -> tuple[Any, np.ndarray]:
        """Feature vectors that a function makes of these samples, and which samples have them; computed once.

        They are kept, also in `rows`, for the `key`: the object that prepares a view.
        """
        if key not in self._prepared:
            self._prepared[key] = compute()
        return self._prepared[key]

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """What a function makes for these samples, made once; `rows` and pickles do not have it."""
        if key not in self._read:
            self._read[key] = make()
        return self._read[key]

    def hold_points(self, key: Any, values: Any) -> None:
        """Make these rows points with such feature vectors, which were not made of columns and stay when pickled."""
        self.holds_points = True
        self._prepared[key] = values, np.ones(values.shape[0], dtype=bool)

    def prepared_points(self) -> list[tuple[Any, np.ndarray]]:
        """The points that were given by `hold_points`: pairs of key and feature vectors."""
        return [(key, values) for key, (values, _) in self._prepared.items()] if self.holds_points else []

    def digests(self) -> list[bytes]:
        """A digest of each sample's entries: samples of equal digests have equal entries in all columns."""
        return self.kept("digests", lambda: digests_of(self.X))

    def _check(self, columns: np.ndarray, label: str, text: bool, partly: bool) -> tuple[Any, np.ndarray]:
        if sp.issparse(self.X):
            entries = self.X[:, columns].astype(np.float64)
            if not np.isfinite(entries.data).all():
                raise ValueError(
                    f"view {label!r} is sparse and contains NaN or infinity; sparse views cannot be missing"
                )
            return entries, np.ones(self.n_samples, dtype=bool)
        if isinstance(self.X, KeptColumns) and self.is_sparse(columns):
            return self._checked_parts(self.X, columns, label)
        if "table" not in self._read:
            self._read["table"] = small_array(self.X)
        values = take_columns(self._read["table"], columns)
        if values.dtype.kind not in "fiub":
            numbers = as_numbers(values)
            if numbers is None and text:
                values = values.astype(object)
                return self._without_missing(values, label, None, partly)
            if numbers is None:
                raise ValueError(
                    f"view {label!r} holds values that are not numbers{self._example(values, columns)}; this kernel "
                    "needs numbers: encode them inside the kernel by transformer=, such as OneHotEncoder() or "
                    "TfidfVectorizer(); a callable kernel can compare other values"
                )
            values = numbers
        return self._checked_numbers(values.astype(np.float64, copy=False), label, partly)

    def _checked_parts(self, X: KeptColumns, columns: np.ndarray, label: str) -> tuple[Any, np.ndarray]:
        """Columns of sparse views, and dense ones beside them, as one CSR matrix."""
        is_sparse = np.isin(columns, X.sparse_positions())
        values, there = X.take_sparse(columns[is_sparse])
        values = values.astype(np.float64)
        if not is_sparse.all():
            dense, present = self._check(columns[~is_sparse], label, text=False, partly=False)
            values = sp.hstack([values, sp.csr_matrix(dense)], format="csr")
            order = np.concatenate([np.flatnonzero(is_sparse), np.flatnonzero(~is_sparse)])
            values, there = values[:, np.argsort(order)], np.column_stack([there, present])
        wrong = np.zeros(self.n_samples, dtype=bool)
        wrong[np.repeat(np.arange(self.n_samples), np.diff(values.indptr))[~np.isfinite(values.data)]] = True
        if wrong.any():
            raise ValueError(
                f"the sparse view {label!r} contains NaN or infinity ({self.first(wrong)}); impute those values, or "
                "make the whole view NaN for a sample that does not have it"
            )
        partly = there.any(axis=1) & ~there.all(axis=1)
        if partly.any():
            raise ValueError(
                f"view {label!r} of {self.first(partly)} is NaN in some of its columns but not in all; take the views "
                "that it consists of in kernels of their own"
            )
        return values, np.asarray(there.all(axis=1))

    def _example(self, values: np.ndarray, columns: np.ndarray) -> str:
        for column, entries in zip(columns.tolist(), values.T, strict=True):
            other = next((entry for entry in entries if not is_number(entry)), None)
            if other is not None:
                name = column if self.names is None else self.names[column]
                remedy = ": turn dates into numbers, such as days since the first" if is_date(other) else ""
                return f" (column {name!r} has {str(other)!r}{remedy})"
        return ""

    def _checked_numbers(self, values: np.ndarray, label: str, partly: bool) -> tuple[np.ndarray, np.ndarray]:
        # Where the sum is not finite (of huge entries too), each entry is checked. Of many columns the sum of all of X
        # shows it faster.
        is_finite = values.shape[1] * MANY_COLUMNS >= self.X.shape[1] and self.is_finite()
        with np.errstate(over="ignore", invalid="ignore"):
            if is_finite or np.isfinite(values.sum()):
                return values, np.ones(len(values), dtype=bool)
        infinite = np.isinf(values).any(axis=1)
        if infinite.any():
            raise ValueError(f"view {label!r} contains infinity ({self.first(infinite)}); remove or replace it")
        return self._without_missing(values, label, 0.0, partly)

    def is_finite(self) -> bool:
        """Whether X is known to be an array of finite numbers, in which no sample lacks a view.

        That is found out once; parts that are taken by `rows` afterwards need not be looked through again.
        """
        if "finite" not in self._read:
            finite = isinstance(self.X, np.ndarray) and self.X.dtype.kind == "f"
            if finite:
                with np.errstate(over="ignore", invalid="ignore"):
                    flat = self.X.reshape(-1) if self.X.flags.c_contiguous else self.X.sum(axis=0)
                    finite = bool(np.isfinite(flat @ flat))  # by several threads
            self._read["finite"] = finite
        return self._read["finite"]

    def _without_missing(
        self, values: np.ndarray, label: str, fill: Any, partly: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        missing = np.asarray(pd.isna(values))
        absent = np.asarray(missing.all(axis=1))
        some = np.logical_and(missing.any(axis=1), ~absent)
        word = "missing (NaN)" if fill is None else "NaN"
        if some.any() and not partly:
            raise ValueError(
                f"view {label!r} of {self.first(some)} is {word} in some of its columns but not in all; impute "
                f"those values, here or inside the kernel by transformer=, such as SimpleImputer(), or make the whole "
                f"view {word} for a sample that does not have it"
            )
        if some.any() and fill is None:
            values = np.where(missing, np.array(None), values)
        if absent.any():
            values = values.copy()
            values[absent] = fill
        return values, ~absent

    def first(self, mask: ArrayLike) -> str:
        """Name the first sample of a boolean mask in a message: by its label, else by its position in the whole X."""
        place = np.flatnonzero(mask)[0]
        if self.labels is None:
            return f"sample {self.positions[place]}"
        label = self.labels[place]
        return f"sample {shown(tuple(map(_plain, label)) if isinstance(label, tuple) else _plain(label))}"


def _plain(label: Any) -> Any:
    """A NumPy number or string as one of Python, which reads better in a message."""
    return label.item() if isinstance(label, np.generic) else label


Fetch = Callable[[str, np.ndarray], Any]


class FetchedViews(Views):
    """Views with a function that supplies what is missing.

    Parameters
    ----------
    views : Views
    fetch : callable
        ``fetch(view, rows)`` returns the columns of a view for samples given by their positions in X: an array with the
        columns in the order of X, or a data frame with columns of those names. It is called once per sample and view.

    Examples
    --------
    >>> import numpy as np
    >>> views = Views(np.array([[1.0, np.nan], [2.0, np.nan]]), names=["cheap", "costly"])
    >>> fetched = FetchedViews(views, lambda view, rows: 10.0 * rows[:, None])
    >>> fetched.rows(np.array([1])).complete(np.array([1]), "costly").read(np.array([1]), "costly")[0]
    array([[10.]])
    """

    can_fetch = True

    def __init__(self, views: Views, fetch: Fetch):
        if not callable(fetch):
            raise ValueError(f"fetch must be a function fetch(view, rows) or None, not {shown(fetch)}")
        self.__dict__.update(views.__dict__)  # what was read already is shared
        self._fetch = fetch
        self._fetched: dict[bytes, dict[int, np.ndarray]] = {}

    def rows(self, index: np.ndarray | slice) -> FetchedViews:
        """These samples only; values fetched for them are stored for all."""
        part = FetchedViews(super().rows(index), self._fetch)
        part._fetched = self._fetched
        return part

    def complete(self, columns: np.ndarray, label: str, *, partly: bool = False) -> Views:
        """These samples with these columns, of which nothing is missing; `partly`: of no sample all of them."""
        if sp.issparse(self.X):
            return self
        columns = np.sort(columns)
        if isinstance(self.X, KeptColumns) and np.isin(columns, self.X.sparse_positions()).all():
            values, there = self.X.take_sparse(columns)
            missing = np.flatnonzero(~there.all(axis=1))
            if len(missing):
                place = sp.identity(len(there), format="csc")[:, missing]
                values = values + place @ sp.csr_matrix(self._rows_of(missing, columns, label, False), dtype=float)
                block = (columns, values, np.ones(len(there), dtype=bool))
                return self._over(KeptColumns(self.n_samples, self.X.shape[1], [], [block]))
            return self
        values = take_columns(self.X, columns)
        missing = np.flatnonzero(pd.isna(values).all(axis=1) if partly else pd.isna(values).any(axis=1))
        if len(missing) == 0:
            return self
        new = self._rows_of(missing, columns, label, partly)
        values = values.astype(np.result_type(values, new) if new.dtype.kind in "fiub" else object)
        values[missing] = new
        return self._over(KeptColumns(self.n_samples, self.X.shape[1], [(columns, np.ascontiguousarray(values))]))

    def _rows_of(self, missing: np.ndarray, columns: np.ndarray, label: str, partly: bool) -> np.ndarray:
        known = self._fetched.setdefault(columns.tobytes(), {})
        unknown = np.array([row for row in self.positions[missing] if row not in known], dtype=int)
        if len(unknown):
            known.update(zip(unknown.tolist(), self._ask(label, unknown, columns, partly), strict=True))
        return np.stack([known[row] for row in self.positions[missing].tolist()])

    def _ask(self, label: str, rows: np.ndarray, columns: np.ndarray, partly: bool) -> np.ndarray:
        got = self._fetch(label, rows)
        if isinstance(got, pd.DataFrame) and self.names is not None:
            wanted = list(self.names[columns])
            if not set(wanted) <= set(got.columns):
                raise ValueError(f"fetch({label!r}, ...) returned a data frame without the view's columns {wanted}")
            got = got[wanted]
        got = got.toarray() if sp.issparse(got) else np.asarray(without_mask(got))
        if got.shape != (len(rows), len(columns)):
            raise ValueError(
                f"fetch({label!r}, ...) returned an array of shape {got.shape}; {len(rows)} samples and {len(columns)} "
                f"columns were needed, shape {(len(rows), len(columns))}"
            )
        if (pd.isna(got).all(axis=1) if partly else pd.isna(got)).any():
            raise ValueError(f"fetch({label!r}, ...) returned missing values (NaN)")
        return got


class ColumnInBlocks(Protocol):
    """One column beside X, such as sample weights."""

    @property
    def shown(self) -> str:
        """What messages call the file that has it."""

    def read(self, first: int, last: int) -> np.ndarray:
        """The values from position `first` to before `last`."""


class TableInBlocks(ABC):
    """Samples that are read a block at a time; `files.OpenViews` is one.

    Attributes
    ----------
    n_samples : int
    columns : Index of str
    block_size : int
        How many samples a block has; the last one may have fewer.
    """

    n_samples: int
    columns: pd.Index
    block_size: int

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_samples // self.block_size)

    def limits(self, number: int) -> tuple[int, int]:
        """The first position of a block, and the one after its last."""
        if not 0 <= number < self.n_blocks:
            raise IndexError(f"there is no block {number}; there are {self.n_blocks}, numbered from 0")
        first = number * self.block_size
        return first, min(first + self.block_size, self.n_samples)

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The memory that X would take, about."""

    @property
    @abstractmethod
    def files(self) -> list[Path]:
        """All files that are read."""

    @property
    @abstractmethod
    def target(self) -> str | None:
        """What the targets are called, None where there are none."""

    @property
    @abstractmethod
    def target_names(self) -> list[Any] | None:
        """The names of the targets where each sample has several; None where the target is one column."""

    @property
    @abstractmethod
    def has_ids(self) -> bool:
        """Whether samples have ids."""

    @abstractmethod
    def rows(self, first: int, last: int, *, with_ids: bool = True) -> pd.DataFrame:
        """The samples from position `first` to before `last`."""

    @abstractmethod
    def targets(self, first: int, last: int) -> np.ndarray | None:
        """The targets from position `first` to before `last`; None where there are none."""

    @abstractmethod
    def column(self, name: str, role: str) -> ColumnInBlocks:
        """A column by its name, for what is read beside X."""

    @abstractmethod
    def without(self, name: str) -> Any:
        """The table without one of its columns."""
