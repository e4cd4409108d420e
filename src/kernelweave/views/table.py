"""`Views`: one X, read view by view.

Each view is checked separately when a kernel first reads it: a sample whose view is wholly missing
(NaN, masked, or None in text columns) has no row there and is reported absent; a view that is partly missing,
infinite or of the wrong type is an error that names it. Sparse views of a data frame are read as CSR matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..validation import shown
from ..validation.inputs import as_pandas, check_one_table, is_date, without_mask
from .digests import digests_of
from .kept import (
    KeptColumns,
    as_numbers,
    has_sparse_views,
    is_number,
    kept_columns,
    small_array,
    take_columns,
    taken_apart,
)
from .selectors import resolve_columns

MANY_COLUMNS = 8  # columns are many if they are more than one in so many
BLOCK_VALUES = 2**23  # how many kernel values `Views.in_blocks` lets a block of samples take


def as_views(X: Any, names: Any = None) -> Views:
    """Wrap an array, data frame or sparse matrix as `Views`; `Views` pass unchanged."""
    return X if isinstance(X, Views) else Views(X, names)


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

    def __init__(self, X: Any, names: Any = None):
        check_one_table(X)
        X = as_pandas(X)
        if not sp.issparse(X) and not isinstance(X, pd.DataFrame | KeptColumns):
            X = np.asarray(without_mask(X))
            if X.ndim != 2:
                raise ValueError(f"X must have two dimensions (samples, columns), not {X.ndim}")
        labels = _labels_of(X)
        self.dtypes: dict[int, Any] = {}
        if isinstance(X, pd.DataFrame):
            names = X.columns if names is None and all(isinstance(c, str) for c in X.columns) else names
            if has_sparse_views(X):
                X, features, self.dtypes = taken_apart(X)
                names = features if names is not None and len(names) < len(features) else names
        self.X = X.tocsr() if sp.issparse(X) else X
        self.names = None if names is None else np.asarray(names, dtype=object)
        self.positions = np.arange(self.X.shape[0])
        self.source = object()
        self.labels = labels
        self._read: dict[Any, Any] = {}
        self._prepared: dict[Any, tuple[Any, np.ndarray]] = {}

    @property
    def n_samples(self) -> int:
        """Number of samples (rows)."""
        return self.X.shape[0]

    def columns(self, selector: Any) -> np.ndarray:
        """Column positions of a selector."""
        if callable(selector) and not isinstance(selector, type) and isinstance(self.X, KeptColumns):
            raise ValueError("X has sparse views, which a function cannot select; give the names of views or columns")
        return resolve_columns(selector, self.names, self.X.shape[1], self.X)

    def is_sparse(self, columns: np.ndarray) -> bool:
        """Whether some of these columns are read as a CSR matrix."""
        if isinstance(self.X, KeptColumns):
            return bool(np.isin(columns, self.X.sparse_positions()).any())
        return sp.issparse(self.X)

    def rows(self, index: np.ndarray | slice) -> Views:
        """These samples only; their `positions` are those in the whole X, which has the same `source`."""
        part = Views(_take_rows(self.X, index), self.names)
        part.positions, part.source = self.positions[index], self.source
        part.labels = None if self.labels is None else self.labels[index]
        part.dtypes = self.dtypes
        part._prepared = {key: (values[index], there[index]) for key, (values, there) in self._prepared.items()}
        if self.holds_points:
            part.holds_points = True
        if self._read.get("finite"):
            part._read["finite"] = True
        return part

    def in_blocks(self, n_values: int, compute: Callable[[Views], np.ndarray]) -> np.ndarray:
        """The result of a function for all samples, computed for a block of them at a time.

        Parameters
        ----------
        n_values : int
            How many kernel values each sample takes.
        compute : callable
            From views to an array with a row for each of their samples.
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
            self._read[key] = self._objects(columns, names)
        return self._read[key]

    def _objects(self, columns: np.ndarray, names: Any) -> Views:
        if isinstance(self.X, KeptColumns):
            X = self.X.select(columns)
        elif isinstance(self.X, pd.DataFrame):
            X = self.X.iloc[:, columns].set_axis(range(len(columns)), axis=1)
        else:
            X = self.X[:, columns]
        part = Views(X, names)
        part.positions, part.labels = self.positions, self.labels
        part.dtypes = {place: self.dtypes[c] for place, c in enumerate(columns.tolist()) if c in self.dtypes}
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
        part = self.rows(index)
        kept = Views(kept_columns(part.X, columns))
        kept.positions, kept.source, kept.labels = part.positions, part.source, part.labels
        if self.holds_points:
            kept.holds_points, kept._prepared = True, part._prepared
        return kept

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

        Parameters
        ----------
        key : hashable
            What the features are kept for, also in `rows`: the object that prepares a view.
        compute : callable
            Without arguments.
        """
        if key not in self._prepared:
            self._prepared[key] = compute()
        return self._prepared[key]

    def hold_points(self, key: Any, values: Any) -> None:
        """Make these rows points with such feature vectors, which were not made of columns and stay when pickled."""
        self.holds_points = True
        self._prepared[key] = values, np.ones(values.shape[0], dtype=bool)

    def prepared_points(self) -> list[tuple[Any, np.ndarray]]:
        """The points that were given by `hold_points`: pairs of key and feature vectors."""
        return [(key, values) for key, (values, _) in self._prepared.items()] if self.holds_points else []

    def digests(self) -> list[bytes]:
        """A digest of each sample's entries: samples of equal digests have equal entries in all columns."""
        if "digests" not in self._read:
            self._read["digests"] = digests_of(self.X)
        return self._read["digests"]

    def _check(self, columns: np.ndarray, label: str, text: bool, partly: bool) -> tuple[Any, np.ndarray]:
        if sp.issparse(self.X):
            return _checked_sparse(self.X[:, columns], label)
        if isinstance(self.X, KeptColumns) and self.is_sparse(columns):
            return self._checked_parts(self.X, columns, label)
        if "table" not in self._read:
            self._read["table"] = small_array(self.X)
        values = _take(self._read["table"], columns)
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
        """The first column that is not of numbers, in a message."""
        for column, entries in zip(columns.tolist(), values.T, strict=True):
            other = next((entry for entry in entries if not is_number(entry)), None)
            if other is not None:
                name = column if self.names is None else self.names[column]
                remedy = ": turn dates into numbers, such as days since the first" if is_date(other) else ""
                return f" (column {name!r} has {str(other)!r}{remedy})"
        return ""

    def _checked_numbers(self, values: np.ndarray, label: str, partly: bool) -> tuple[np.ndarray, np.ndarray]:
        # One sum shows whether every entry is finite; where it is not (huge entries too), each entry is checked.
        if self._has_finite_sum(values):
            return values, np.ones(len(values), dtype=bool)
        infinite = np.isinf(values).any(axis=1)
        if infinite.any():
            raise ValueError(f"view {label!r} contains infinity ({self.first(infinite)}); remove or replace it")
        return self._without_missing(values, label, 0.0, partly)

    def _has_finite_sum(self, values: np.ndarray) -> bool:
        """Whether the sum of some columns is finite: from the sum of all, which is faster where they are many."""
        if values.shape[1] * MANY_COLUMNS >= self.X.shape[1] and self.is_finite():
            return True
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(values.sum()))

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


def _labels_of(X: Any) -> pd.Index | None:
    """The index of a data frame, unless it is the default one."""
    if not isinstance(X, pd.DataFrame) or X.index.equals(pd.RangeIndex(len(X))):
        return None
    return X.index


def _take_rows(X: Any, index: np.ndarray | slice) -> Any:
    if isinstance(X, KeptColumns):
        return X.rows(index)
    return X.iloc[index] if isinstance(X, pd.DataFrame) else X[index]


def _take(X: Any, columns: np.ndarray) -> np.ndarray:
    """These columns as an array, without a copy where they are adjacent columns of an array."""
    if isinstance(X, KeptColumns):
        return X.take(columns)
    return X.iloc[:, columns].to_numpy() if isinstance(X, pd.DataFrame) else take_columns(X, columns)


def _checked_sparse(values: sp.csr_matrix, label: str) -> tuple[sp.csr_matrix, np.ndarray]:
    values = values.astype(np.float64)
    if not np.isfinite(values.data).all():
        raise ValueError(f"view {label!r} is sparse and contains NaN or infinity; sparse views cannot be missing")
    return values, np.ones(values.shape[0], dtype=bool)
