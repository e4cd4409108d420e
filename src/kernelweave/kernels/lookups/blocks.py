"""Blocks: similarities of new samples to those of a matrix, checked and in the order of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...validation import blamed_on
from ...validation.inputs import check_plain
from .labels import as_text, is_numbered, named, unique_labels


@dataclass(frozen=True)
class Block:
    """Similarities of new samples to those of a matrix, with the columns of the matrix.

    Attributes
    ----------
    labels : Index or None
        Of the new samples, as text.
    values : ndarray of shape (n_new, n_columns)
        NaN in columns that nobody needs.
    diagonal : ndarray of shape (n_new,)
        Similarity of each sample to itself; NaN where it was not given.
    absent : ndarray of bool, shape (n_new,)
        The samples that lack this view.
    """

    labels: pd.Index | None
    values: np.ndarray
    diagonal: np.ndarray
    absent: np.ndarray

    def take(self, places: np.ndarray, labels: pd.Index | None) -> Block:
        """The block of other samples: of those in these places, and, where a place is -1, of samples without the view.

        Parameters
        ----------
        places : ndarray of int
        labels : Index or None
            Of these samples.
        """
        there = places >= 0
        values = np.zeros((len(places), self.values.shape[1]))
        diagonal, absent = np.zeros(len(places)), np.ones(len(places), dtype=bool)
        values[there], diagonal[there] = self.values[places[there]], self.diagonal[places[there]]
        absent[there] = self.absent[places[there]]
        return Block(labels, values, diagonal, absent)


def labelled_block(
    rows: pd.DataFrame, diagonal: Any, columns: pd.Index, *, needed: np.ndarray, ids: bool, what: str
) -> Block:
    """A block from a data frame whose columns are found by label.

    Parameters
    ----------
    rows : DataFrame
        A row that is wholly NaN is a sample without this view.
    diagonal : Series, array, number or None
        Similarity of each new sample to itself.
    columns : Index
        The labels of the matrix' columns, as text.
    needed : ndarray of bool
        Which of them must be there.
    ids : bool
        Whether the matrix has labels, so that those of the rows are ids. Otherwise they need not be there.
    what : str
        What messages call the rows.
    """
    check_plain(rows, what)
    named_rows = ids or not is_numbered(rows.index)
    labels = unique_labels(rows.index, f"the index of {what}") if named_rows else None
    values = _columns_of(rows, columns, needed, what if ids else f"{what} (whose matrix has no labels but positions)")
    absent = _absent(values[:, needed], labels, what)
    if diagonal is None and ids and labels is not None:
        return Block(labels, values, _own_diagonal(rows, labels), absent)
    return Block(labels, values, _diagonal(diagonal, labels, absent, what), absent)


def plain_block(
    rows: Any, diagonal: Any, n_ids: int, kept: np.ndarray, *, needed: np.ndarray, labels: pd.Index | None, what: str
) -> Block:
    """A block from an array with a column for each id of the matrix, or for each that it keeps.

    Parameters
    ----------
    rows, diagonal, what
        As in `labelled_block`.
    n_ids : int
    kept : ndarray of int
        The ids of the matrix' columns.
    needed : ndarray of bool
        Which of these columns must not be NaN.
    labels : Index or None
        Of the rows.
    """
    check_plain(rows, what)
    with blamed_on(what):
        values = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    if values.ndim == 2 and values.shape[1] == n_ids:
        values = values[:, kept]
    if values.ndim != 2 or values.shape[1] != len(kept):
        raise ValueError(f"{what} must be of shape (n_new, {n_ids}), not {np.shape(rows)}")
    absent = _absent(values[:, needed], labels, what)
    return Block(labels, values, _diagonal(diagonal, labels, absent, what), absent)


def _absent(values: np.ndarray, labels: pd.Index | None, what: str) -> np.ndarray:
    """Which rows are wholly NaN; a `ValueError` names a row that is partly NaN, or infinite."""
    missing = np.isnan(values)
    absent = missing.all(axis=1) if values.shape[1] else np.zeros(len(values), dtype=bool)
    wrong = np.flatnonzero(~np.isfinite(values).all(axis=1) & ~absent)
    if len(wrong):
        row = f"row {wrong[0]}" if labels is None else f"the row {labels[wrong[0]]!r}"
        raise ValueError(f"{what}: {row} holds NaN or infinity, and only a whole row can be missing")
    return absent


def _columns_of(frame: pd.DataFrame, wanted: pd.Index, needed: np.ndarray, what: str) -> np.ndarray:
    """The columns of a data frame that have these labels; NaN where it has none and none is needed.

    Parameters
    ----------
    frame : DataFrame
    wanted : Index
        Labels, as text.
    needed : ndarray of bool
        Which of them must be there.
    what : str
        What messages call the data frame.
    """
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
    """The similarity of each row's sample to itself where the data frame has a column for it; NaN elsewhere."""
    columns = pd.Index(as_text(frame.columns.tolist(), "columns"), dtype=object)
    places = columns.get_indexer(labels)
    found = np.full(len(frame), np.nan)
    for row in np.flatnonzero(places >= 0):
        found[row] = frame.iat[row, places[row]]
    return found


def _diagonal(diagonal: Any, labels: pd.Index | None, absent: np.ndarray, what: str) -> np.ndarray:
    """The similarity of each new sample to itself, NaN where it is unknown."""
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
