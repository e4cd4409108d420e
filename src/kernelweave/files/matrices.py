"""Similarity matrices from files: the ids of the rows in the first column, those of the columns in the first line.

A matrix becomes a table with one column, the ids of its rows, so that its samples are matched with those of other
tables as any other view's. Ids are compared as text, as in `matching`.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .matching import as_text
from .sources import load
from .table import Key, Options, Source, Table

ID_COLUMN = "id"  # the one column of a matrix' table


def read_matrix(source: Source, options: Options, *, square: bool = True) -> pd.DataFrame:
    """The similarities in a file, with the ids of rows and columns as text.

    Parameters
    ----------
    source : Source
    options : Options
        `id` is not read: the ids of a matrix stand in the first column, whatever it is called.
    square : bool
        Whether rows and columns are the same samples, in any order; otherwise rows are new samples and columns are
        those that they are compared with.

    Returns
    -------
    DataFrame
        Where rows and columns are the same samples, the columns are in the order of the rows. A matrix without any ids
        (an NPY file) has pandas' own numbers as labels. The rows of new samples are named as the first column is.
    """
    with warnings.catch_warnings():
        # Ids that are numbers look like a file without column names.
        warnings.filterwarnings("ignore", message=".* the first line is read as column names")
        loaded = load(source, replace(options, id=None), None)
    if len(loaded.tables) != 1:
        raise ValueError(
            f"{source.shown} must hold one similarity matrix, with the samples' ids in the first column and in the "
            f"first line, and holds {len(loaded.tables)}"
        )
    table = loaded.tables[0]
    frame = _labelled(table)
    wrong = [name for name, dtype in frame.dtypes.items() if not _is_numeric(dtype)]
    if wrong:
        raise ValueError(
            f"{source.shown}, column {wrong[0]!r}: a similarity matrix must hold numbers only, beside the ids in its "
            "first column and first line"
        )
    frame = frame.astype(np.float64)
    missing = np.argwhere(~np.isfinite(frame.to_numpy()))
    if len(missing):
        row, column = missing[0]
        raise ValueError(
            f"{source.shown}, row {frame.index[row]!r}, column {frame.columns[column]!r}: the similarity is missing or "
            "not finite; leave samples without similarities out of the matrix, rows and columns"
        )
    return _squared(frame, source) if square else frame.rename_axis(index=_id_name(table))


def matrix_table(name: str, shown: str, matrix: pd.DataFrame) -> Table:
    """The samples of a matrix as a table to be matched with others; its one column holds their ids in the matrix."""
    ids = matrix.index.astype(str).to_numpy(dtype=object)
    is_labelled = not isinstance(matrix.index, pd.RangeIndex)
    key = Key(str(matrix.index.name or ""), list(ids), "ids of the matrix", is_certain=True) if is_labelled else None
    return Table(name, shown, pd.DataFrame({ID_COLUMN: ids}), key)


def with_text_labels(matrix: pd.DataFrame) -> pd.DataFrame:
    """A matrix without ids with the numbers of its rows and columns as text."""
    if not isinstance(matrix.index, pd.RangeIndex):
        return matrix
    return matrix.set_axis(matrix.index.astype(str), axis=0).set_axis(matrix.columns.astype(str), axis=1)


def _id_name(table: Table) -> str | None:
    """What a file calls the column of ids; None for an array, and for a column without name."""
    name = "" if table.key is None else str(table.key.name)
    return None if not name or name.startswith("Unnamed: ") else name


def _labelled(table: Table) -> pd.DataFrame:
    values, key = table.values, table.key
    if sp.issparse(values):
        values = pd.DataFrame(values.toarray(), columns=table.columns)
    values = values.iloc[: table.n_filled]
    if key is None:  # an array
        return values.set_axis(pd.RangeIndex(len(values)), axis=0).set_axis(pd.RangeIndex(values.shape[1]), axis=1)
    values = values.drop(columns=key.name, errors="ignore")
    rows = as_text(key.values[: table.n_filled])
    if None in rows:
        raise ValueError(f"{table.shown}, {table.place(rows.index(None))}: the row of the matrix has no id")
    # An NPZ file has ids for the rows only: where the matrix is square they are those of the columns, too.
    is_array = table.lines is None and not key.is_raw and values.shape[0] == values.shape[1]
    names = list(rows) if is_array and not set(map(str, values.columns)) & set(rows) else as_text(values.columns)
    frame = values.set_axis(pd.Index(rows, dtype=object), axis=0).set_axis(pd.Index(names, dtype=object), axis=1)
    for labels, what in ((frame.index, "rows"), (frame.columns, "columns")):
        if not labels.is_unique:
            raise ValueError(f"{table.shown}: the id {labels[labels.duplicated()][0]!r} stands over two {what}")
    return frame


def _is_numeric(dtype: object) -> bool:
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)


def _squared(frame: pd.DataFrame, source: Source) -> pd.DataFrame:
    """The columns in the order of the rows; one `ValueError` where they are not the same samples."""
    for some, others, missing in (
        (frame.index, frame.columns, "row but no column"),
        (frame.columns, frame.index, "column but no row"),
    ):
        alone = some[~some.isin(others)]
        if len(alone) and isinstance(frame.index, pd.RangeIndex):
            raise ValueError(f"{source.shown}: a similarity matrix must be square, not of shape {frame.shape}")
        if len(alone):
            raise ValueError(
                f"{source.shown}: a similarity matrix has the same ids in its first column and in its first line, but "
                f"there is a {missing} {alone[0]!r}"
            )
    return frame[frame.index]
