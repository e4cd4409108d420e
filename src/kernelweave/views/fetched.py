"""`FetchedViews`: views whose missing values are fetched when a kernel is about to read them, and only then.

Where a view is costly (a scan, a laboratory test), a model whose weights depend on the sample needs it for some samples
only (Gönen 2010, PhD thesis, end of 5.3.1.2). Such a model calls `complete` for the samples and columns that it
compares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..validation import shown
from ..validation.inputs import without_mask
from .kept import KeptColumns
from .table import Views, _take

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
        super().__init__(views.X, views.names)
        self.positions, self.source, self.labels = views.positions, views.source, views.labels
        self.dtypes = views.dtypes
        self._read, self._prepared = views._read, views._prepared
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
            return self._complete_sparse(self.X, columns, label)
        values = _take(self.X, columns)
        missing = np.flatnonzero(pd.isna(values).all(axis=1) if partly else pd.isna(values).any(axis=1))
        if len(missing) == 0:
            return self
        new = self._rows_of(missing, columns, label, partly)
        values = values.astype(np.result_type(values, new) if new.dtype.kind in "fiub" else object)
        values[missing] = new
        part = Views(KeptColumns(self.X.shape[0], self.X.shape[1], [(columns, np.ascontiguousarray(values))]))
        part.positions, part.labels = self.positions, self.labels
        return part

    def _complete_sparse(self, X: KeptColumns, columns: np.ndarray, label: str) -> Views:
        values, there = X.take_sparse(columns)
        missing = np.flatnonzero(~there.all(axis=1))
        if len(missing) == 0:
            return self
        place = sp.identity(len(there), format="csc")[:, missing]
        values = values + place @ sp.csr_matrix(self._rows_of(missing, columns, label, False), dtype=float)
        block = (columns, values, np.ones(len(there), dtype=bool))
        part = Views(KeptColumns(X.n_samples, X.n_features, [], [block]))
        part.positions, part.labels = self.positions, self.labels
        return part

    def _rows_of(self, missing: np.ndarray, columns: np.ndarray, label: str, partly: bool) -> np.ndarray:
        """The values of samples that lack them, each fetched once."""
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
