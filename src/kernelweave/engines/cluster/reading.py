"""From chunks of Dask collections to an engine over `Rows`.

Chunks are read once, each into a part on a worker: X as it is, targets and weights checked, samples of weight 0 left
out. Then the numbers of samples are known, and parts become batches of blocks, one for each thread of the cluster, with
as many samples each; parts leave their workers only where these have too many. Small chunks are joined and large ones
are cut, by a rule that depends on the chunks only.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...validation.inputs import without_mask
from ...views import Views
from ..base import Engine, InMemory, Rows
from .chunk_results import ChunkError, active_client, computed_here, gathered
from .collections import Chunks, chunks_of, dask
from .engine import OnDask
from .placing import begun_at, places_of, shares

UNIT_ROWS = 16384  # samples that small chunks are joined to, on average at least half of it; longer chunks are cut


@dataclass(frozen=True)
class Part:
    """The samples of one chunk with a positive weight."""

    X: Any
    y: np.ndarray | None
    weight: np.ndarray

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.weight)


@dataclass(frozen=True)
class Reader:
    """What makes a `Part` of a chunk, where the chunk is.

    Attributes
    ----------
    columns : list or None
        Names of the columns of a data frame.
    n_columns : int
    target : {"labels", "numbers"} or None
        What y is, or None where there is none.
    """

    columns: list[Any] | None
    n_columns: int
    target: str | None

    def __call__(self, number: int, X: Any, y: Any, weight: Any) -> Part:
        """The part; a `ChunkError` where X, y or weights of this chunk are of other sizes or kinds."""
        where = f"chunk {number} of X"
        X = self.table(X, where)
        n = X.shape[0]
        y = None if self.target is None else self.targets(y, n, where)
        weight = weights_of(weight, n, where)
        kept = np.flatnonzero(weight)
        if len(kept) < n:
            X = X.iloc[kept] if isinstance(X, pd.DataFrame) else X[kept]
            y, weight = None if y is None else y[kept], weight[kept]
        return Part(X, y, weight)

    def table(self, X: Any, where: str) -> Any:
        """X with all columns in order."""
        if self.columns is None:
            X = without_mask(X)
            X = X.tocsr() if sp.issparse(X) else np.asarray(X)
            if X.ndim != 2 or X.shape[1] != self.n_columns:
                shape = "x".join(map(str, X.shape))
                raise ChunkError(f"{where} has the shape {shape}, but X has {self.n_columns} columns")
            if X.dtype.kind not in "fiub":
                X = pd.DataFrame(X.astype(object)) if X.dtype.kind in "OUTmM" else X.astype(np.float64)
            return X
        absent = [name for name in self.columns if name not in X.columns]
        if absent:
            named = ", ".join(map(repr, absent[:5])) + (f" and {len(absent) - 5} more" if len(absent) > 5 else "")
            views = sorted({str(name).split("__")[0] for name in absent if "__" in str(name)})
            which = f" (view {', '.join(map(repr, views))})" if views else ""
            raise ChunkError(
                f"{where} lacks the columns {named}{which}, which the other chunks have; where samples do not have a "
                "view, its columns are to be there and NaN"
            )
        return X if list(X.columns) == self.columns else X[self.columns]

    def targets(self, y: Any, n: int, where: str) -> np.ndarray:
        """Targets of a chunk as an array."""
        y = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1 and self.target == "labels":
            y = y[:, 0]
        if len(y) != n or y.ndim not in ((1,) if self.target == "labels" else (1, 2)):
            raise ChunkError(f"{where} has {n} samples, and y of this chunk has the shape {y.shape}")
        if self.target == "labels":
            return y
        try:
            return y.astype(np.float64)
        except (TypeError, ValueError):
            raise ChunkError(f"y of a regression must be numbers, but those of {where} are not") from None


def weights_of(weight: Any, n: int, where: str) -> np.ndarray:
    """Sample weights of a chunk, checked; None means 1 each."""
    if weight is None:
        return np.ones(n)
    try:
        found = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ChunkError(f"sample_weight must be numbers, but those of {where} are not") from None
    found = np.full(n, float(found)) if found.ndim == 0 else found
    if found.shape != (n,):
        raise ChunkError(f"{where} has {n} samples, and sample_weight of this chunk has the shape {found.shape}")
    if not np.isfinite(found).all() or (found < 0).any():
        raise ChunkError(f"sample_weight must be finite and at least 0; it is not in {where}")
    return found


def rows_on_dask(X: Any, y: Any, sample_weight: Any, target: str | None) -> tuple[Engine, Chunks]:
    """An engine over the `Rows` of Dask collections, and their chunks.

    They are on the workers of the client that is active; where none is, Dask's threads compute the chunks, and the
    blocks are in memory.

    Parameters
    ----------
    X : Dask array or data frame
    y, sample_weight : Dask array, series or data frame, array or None
    target : {"labels", "numbers"} or None
        What y is.
    """
    if target is None:
        y = None
    chunks = chunks_of(X, y, sample_weight)
    reader = Reader(chunks.columns, chunks.n_columns, target)
    read, token = dask().delayed(reader, pure=False), uuid.uuid4().hex
    parts = [
        read(number, *of_chunk, dask_key_name=f"read-{token}-{number}")
        for number, of_chunk in enumerate(zip(chunks.X, chunks.y, chunks.weight, strict=True))
    ]
    client = active_client()
    engine = _in_memory(parts) if client is None else _on_workers(client, X, parts)
    return engine, chunks


def _in_memory(parts: list[Any]) -> InMemory:
    """Blocks of parts that Dask's own threads compute."""
    found: list[Part] = computed_here(parts)
    width = unit_width([part.n_samples for part in found])
    units = _units([part.n_samples for part in found], width)
    return InMemory([rows for unit in units for rows in unit.blocks(found[unit.start : unit.stop])])


def _on_workers(client: Any, X: Any, parts: list[Any]) -> OnDask:
    """Parts on the workers, then batches of blocks there."""
    places = places_of(client, X, len(parts))
    futures: list[Any] = [None] * len(parts)
    for worker in dict.fromkeys(places):
        numbers = [number for number, place in enumerate(places) if place == worker]
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        found = client.compute([parts[number] for number in numbers], **where)
        for number, future in zip(numbers, found, strict=True):
            futures[number] = future
    try:
        lengths = _lengths(client, futures)
        return _batches(client, futures, lengths)
    finally:
        for future in futures:
            future.release()


def _batches(client: Any, parts: list[Any], lengths: list[int]) -> OnDask:
    """The units of each thread of the cluster as a batch, most of whose parts are on the worker already."""
    units, holders = _units(lengths, unit_width(lengths)), client.who_has(parts)
    at = [(holders.get(part.key) or [None])[0] for part in parts]
    # The worker that has the middle part of a unit has most of them, as adjacent parts are together.
    places = [at[(unit.start + unit.stop) // 2] for unit in units]
    found = shares([unit.n_samples for unit in units], places, client.nthreads() or {"": 1})
    token = uuid.uuid4().hex
    graph, workers = {}, {}
    for k, (worker, numbers) in enumerate(found):
        own = [units[number] for number in numbers]
        graph["rows-" + token, k] = (_batch, own, [parts[unit.start : unit.stop] for unit in own])
        workers["rows-" + token, k] = worker or None
    return OnDask(client, begun_at(client, graph, list(graph), workers), list(workers.values()))


def _lengths(client: Any, futures: list[Any]) -> list[int]:
    """Numbers of samples of parts; one error, which names the chunk, where one cannot be read."""
    name = f"length-{uuid.uuid4().hex}"
    graph = {(name, number): (_n_samples, future) for number, future in enumerate(futures)}
    return gathered(client, client.get(graph, list(graph), sync=False))


def _n_samples(part: Part) -> int:
    return part.n_samples


def unit_width(lengths: list[int]) -> int:
    """How many adjacent chunks make a unit: a power of 2, so that units have about `UNIT_ROWS` samples at most."""
    mean = max(1.0, float(np.mean(lengths)))
    return 2 ** max(0, int(np.floor(np.log2(UNIT_ROWS / mean)))) if mean < UNIT_ROWS else 1


@dataclass(frozen=True)
class Unit:
    """Some adjacent parts: they are joined, and cut where they are long.

    Attributes
    ----------
    start, stop : int
        Numbers of the parts.
    first : int
        Position of the first sample.
    n_samples : int
    """

    start: int
    stop: int
    first: int
    n_samples: int

    def blocks(self, parts: list[Part]) -> list[Rows]:
        """The blocks."""
        parts = [part for part in parts if part.n_samples] or parts[:1]
        X = parts[0].X if len(parts) == 1 else _joined([part.X for part in parts])
        y = None if parts[0].y is None else np.concatenate([part.y for part in parts])
        weight = np.concatenate([part.weight for part in parts])
        whole, first = Views(X), self.first
        n_pieces = max(1, -(-len(weight) // UNIT_ROWS))
        if n_pieces == 1:
            return [Rows(first, whole, y, weight)]
        ends = np.linspace(0, len(weight), n_pieces + 1).astype(int)
        pieces = [slice(a, b) for a, b in pairwise(ends)]
        return [Rows(first + p.start, whole.rows(p), None if y is None else y[p], weight[p]) for p in pieces]


def _units(lengths: list[int], width: int) -> list[Unit]:
    """All units, of so many parts each."""
    firsts, n = np.cumsum([0, *lengths]), len(lengths)
    ends = [(start, min(start + width, n)) for start in range(0, n, width)]
    return [Unit(start, stop, int(firsts[start]), int(firsts[stop] - firsts[start])) for start, stop in ends]


def _batch(units: list[Unit], parts: list[list[Part]]) -> list[list[Rows]]:
    """The units of a batch as blocks."""
    return [unit.blocks(own) for unit, own in zip(units, parts, strict=True)]


def _joined(tables: list[Any]) -> Any:
    if isinstance(tables[0], pd.DataFrame):
        return pd.concat(tables)
    return sp.vstack(tables, format="csr") if sp.issparse(tables[0]) else np.concatenate(tables)
