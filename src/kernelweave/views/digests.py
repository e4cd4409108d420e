"""Digests of data in memory: SHA-256 of values, types, names and the order of rows and columns.

`frame_digest` and `data_digest` are part of the fingerprints of stored results, so that what they return for the same
data stays as it is. `digest` is that of any one table, matrix or array.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .frames import SparseRows

_CHUNK = 1024  # columns that are read together


def digest(values: Any) -> str:
    """The digest of a data frame, a series, a sparse matrix or an array; equal ones have the same.

    >>> import numpy as np
    >>> digest([[1.0, 2.0], [3.0, 4.0]]) == digest(np.array([[1.0, 2.0], [3.0, 4.0]]))
    True
    >>> digest([[1.0, 2.0], [3.0, 4.0]]) == digest([[3.0, 4.0], [1.0, 2.0]])
    False
    """
    if isinstance(values, pd.DataFrame | pd.Series):
        return frame_digest(pd.DataFrame(values))
    if sp.issparse(values):
        matrix = sp.csr_matrix(values, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        shape, parts = matrix.shape, [matrix.data, *(a.astype(np.int64) for a in (matrix.indices, matrix.indptr))]
    else:
        array = np.asarray(values)
        # Texts of one length in the array of another are the same texts.
        shape, parts = array.shape, [array.astype(object) if array.dtype.kind in "US" else array]
    found = hashlib.sha256(f"{shape} {parts[0].dtype}".encode())
    for part in parts:
        found.update(_bytes(part))
    return found.hexdigest()


def data_digest(X: Any, y: np.ndarray, *others: Any) -> str:
    digest = hashlib.sha256()
    parts = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X if isinstance(X, np.ndarray) else _numbers(X)]
    for part in [*parts, y, *others]:
        if part is not None:
            digest.update(_bytes(np.asarray(part)))
    return digest.hexdigest()


def frame_digest(X: pd.DataFrame) -> str:
    digest = hashlib.sha256(_bytes(X.index.to_numpy(dtype=object)))
    dtypes, rows = X.dtypes.tolist(), None
    for place, name in enumerate(X.columns.tolist()):
        if place % _CHUNK == 0 and set(dtypes[place : place + _CHUNK]) == {np.dtype(np.float64)}:
            rows = np.ascontiguousarray(X.iloc[:, place : place + _CHUNK].to_numpy().T)
        digest.update(f"{name!r} {dtypes[place]}".encode())
        if rows is not None:
            digest.update(rows[place % _CHUNK])
            rows = None if (place + 1) % _CHUNK == 0 else rows
            continue
        column = X.iloc[:, place]
        if isinstance(column.array, SparseRows):
            matrix = column.array.matrix
            parts = [matrix.data, matrix.indices, matrix.indptr, column.array.present]
            parts.append(column.array.dtype.features.to_numpy(dtype=object))
        elif isinstance(column.dtype, np.dtype):
            parts = [column.to_numpy()]
        else:
            parts = [column.to_numpy(dtype=object)]
        for part in parts:
            digest.update(_bytes(part))
    return digest.hexdigest()


def _bytes(part: np.ndarray) -> bytes:
    """The bytes of an array; of objects, which are stored as addresses, those of their text."""
    if part.dtype.kind == "O":
        return json.dumps([_text(entry) for entry in part.ravel()]).encode()
    return np.ascontiguousarray(part).tobytes()


def _text(entry: Any) -> str:
    """An entry with its type; NumPy would cut a long array short."""
    return f"{type(entry).__name__} {entry.tolist() if isinstance(entry, np.ndarray) else entry}"


def _numbers(X: pd.DataFrame) -> np.ndarray:
    values = X.to_numpy()
    return values if values.dtype.kind in "fiub" else pd.util.hash_pandas_object(X, index=False).to_numpy()
