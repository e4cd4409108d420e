"""Dask collections as lists of chunks: X, y and sample weights, divided alike.

A chunk of X has some samples and all columns. Targets and weights follow the chunks of X: where they are divided
otherwise they are divided anew, lazily. Nothing is computed here but lengths of chunks, where they are needed and not
known.
"""

from __future__ import annotations

import sys
import uuid
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ..._extras import optional
from .chunk_results import small_results


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, data frame or series; Dask is not imported for this."""
    if "dask" not in sys.modules or not type(X).__module__.startswith("dask"):
        return False
    return bool(sys.modules["dask"].base.is_dask_collection(X)) and hasattr(X, "ndim")


def is_array(X: Any) -> bool:
    """Whether a Dask collection is an array."""
    return hasattr(X, "chunks")


def dask() -> Any:
    """The package `dask`."""
    return optional("dask", "for Dask arrays and data frames", "dask")


@dataclass(frozen=True)
class Chunks:
    """X, y and weights as lists of lazy values (`dask.delayed`), one for each chunk.

    Attributes
    ----------
    X, y, weight : list
        y and weight are lists of None where there is none.
    columns : list or None
        Names of the columns of a data frame.
    n_columns : int
    targets : list or None
        Names of the targets where y is a data frame, or their positions where it is an array of two dimensions.
    """

    X: list[Any]
    y: list[Any]
    weight: list[Any]
    columns: list[Any] | None
    n_columns: int
    targets: list[Any] | None


def chunks_of(X: Any, y: Any, sample_weight: Any) -> Chunks:
    """The chunks of collections, divided alike.

    Parameters
    ----------
    X : Dask array or data frame
    y, sample_weight : Dask array, series or data frame, NumPy array, pandas object, sequence or None
    """
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (samples, columns), not {X.ndim}")
    columns = None if is_array(X) else list(X.columns)
    if is_array(X) and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    rows = _Lengths(X)
    names = _target_names(y)
    return Chunks(
        rows.parts,
        _divided(y, "y", rows),
        _divided(sample_weight, "sample_weight", rows),
        columns,
        len(columns) if columns is not None else int(X.shape[1]),
        names,
    )


class _Lengths:
    """The chunks of X, and how many samples each has, computed where Dask has no such number."""

    def __init__(self, X: Any):
        self.X = X
        self.parts = delayed_parts(X)
        self.known = tuple(X.chunks[0]) if is_array(X) and not np.isnan(X.chunks[0]).any() else None

    @property
    def lengths(self) -> tuple[int, ...]:
        """Numbers of samples."""
        if self.known is None:
            size = dask().delayed(_n_rows, pure=False)
            sizes = [size(part, dask_key_name=f"length-{uuid.uuid4().hex}") for part in self.parts]
            self.known = tuple(small_results(sizes))
        return self.known


def delayed_parts(X: Any) -> list[Any]:
    """The chunks of a collection, as lazy values.

    Graphs of data frames are taken as they are: Dask would join partitions of files of which few columns are read, so
    that X and y of one table had different ones. Both depend on the same tasks, which read the files once.
    """
    if not is_array(X):
        return list(X.to_delayed(optimize_graph=False))
    return list(np.ravel(np.array(X.to_delayed(), dtype=object)))


def _divided(values: Any, name: str, rows: _Lengths) -> list[Any]:
    """One lazy value for each chunk of X."""
    if values is None or (np.isscalar(values) and name == "sample_weight"):
        return [values] * len(rows.parts)
    if not is_dask(values):
        return _sliced(values, name, rows)
    if not is_array(values):
        values = _like_frame(values, rows)
    if is_array(values):
        if values.ndim == 2 and values.numblocks[1] > 1:
            values = values.rechunk({1: -1})
        if not np.isnan(values.chunks[0]).any() and tuple(values.chunks[0]) != rows.lengths:
            if values.shape[0] != sum(rows.lengths):
                raise ValueError(_unequal(sum(rows.lengths), name, values.shape[0]))
            values = values.rechunk({0: rows.lengths})
    parts = delayed_parts(values)
    if len(parts) != len(rows.parts):
        raise ValueError(
            f"X has {len(rows.parts)} chunks and {name} has {len(parts)}, of unknown lengths; divide them alike, or "
            f"call {name}.compute_chunk_sizes() first"
        )
    return parts


def _like_frame(values: Any, rows: _Lengths) -> Any:
    """A series or data frame that is divided as X is, or as an array of known chunks where that is not to be had."""
    X = rows.X
    if is_array(X):
        return values.to_dask_array(lengths=True)
    if values.npartitions == X.npartitions and values.divisions == X.divisions:
        return values
    if values.known_divisions and X.known_divisions and values.divisions[0] == X.divisions[0]:
        return values.repartition(divisions=X.divisions, force=True)
    return values if values.npartitions == X.npartitions else values.to_dask_array(lengths=True)


def _sliced(values: Any, name: str, rows: _Lengths) -> list[Any]:
    """Slices of values that are in memory."""
    values = values if isinstance(values, pd.Series | pd.DataFrame) else np.asarray(values)
    if values.ndim == 0:
        raise ValueError(f"{name} must have an entry for each sample")
    if len(values) != sum(rows.lengths):
        raise ValueError(_unequal(sum(rows.lengths), name, len(values)))
    ends = np.cumsum([0, *rows.lengths])
    taken = values.iloc if hasattr(values, "iloc") else values
    return [taken[first:last] for first, last in pairwise(ends)]


def _target_names(y: Any) -> list[Any] | None:
    if getattr(y, "ndim", 1) != 2:
        return None
    return list(y.columns) if hasattr(y, "columns") else list(range(y.shape[1]))


def _unequal(n: int, name: str, other: int) -> str:
    if name == "sample_weight":
        return f"sample_weight has {other} entries, but X has {n} samples"
    return f"X and {name} have inconsistent numbers of samples: {n} and {other}"


def _n_rows(part: Any) -> int:
    return int(part.shape[0])
