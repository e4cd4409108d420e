"""Digests of samples, by which equal ones are found."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .kept import KeptColumns


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
