"""Dask collections as lists of chunks: an engine over their samples, and lazy predictions of them.

A chunk of X has some samples and all columns. Targets and weights follow the chunks of X: where they are divided
otherwise they are divided anew, lazily. Chunks are read once, each into a part on a worker: X as it is, targets and
weights checked, samples of weight 0 left out. Then the numbers of samples are known, and parts become batches of
blocks, one for each thread of the cluster, with as many samples each; parts leave their workers only where these have
too many. Small chunks are joined and large ones are cut, by a rule that depends on the chunks only.

What a method of a fitted model returns for samples in memory it returns lazily for a Dask collection (`lazily`): a Dask
array in place of an array, a Dask data frame in place of a data frame. Each chunk of the result depends on one chunk of
X.
"""

from __future__ import annotations

import sys
import uuid
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .._extras import optional
from ..validation.inputs import without_mask
from ..views import Views
from .base import Engine, Rows
from .dask import OnDask, begun_at, dask_package, distributed, fetched, lost, places_of, shares, wait_for
from .memory import InMemory


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, data frame or series; Dask is not imported for this."""
    if "dask" not in sys.modules or not type(X).__module__.startswith("dask"):
        return False
    return bool(sys.modules["dask"].base.is_dask_collection(X)) and hasattr(X, "ndim")


def is_array(X: Any) -> bool:
    return hasattr(X, "chunks")


@dataclass(frozen=True)
class Chunks:
    """X, y and weights as lists of lazy values (`dask.delayed`), one for each chunk, or of None.

    `targets` are the columns of y where it is a data frame, or their positions where it is an array of two dimensions.
    """

    X: list[Any]
    y: list[Any]
    weight: list[Any]
    columns: list[Any] | None
    n_columns: int
    targets: list[Any] | None


def chunks_of(X: Any, y: Any, sample_weight: Any) -> Chunks:
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (samples, columns), not {X.ndim}")
    columns = None if is_array(X) else list(X.columns)
    if is_array(X) and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    rows, names = _Lengths(X), None
    if getattr(y, "ndim", 1) == 2:
        names = list(y.columns) if hasattr(y, "columns") else list(range(y.shape[1]))
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
        if self.known is None:
            size = dask_package().delayed(_n_rows, pure=False)
            sizes = [size(part, dask_key_name=f"length-{uuid.uuid4().hex}") for part in self.parts]
            self.known = tuple(small_results(sizes))
        return self.known


def delayed_parts(X: Any) -> list[Any]:
    """The chunks of a collection, as lazy values.

    Graphs of data frames are taken as they are: Dask would join partitions of files of which few columns are read, so
    that X and y of one table had different ones.
    """
    if not is_array(X):
        return list(X.to_delayed(optimize_graph=False))
    return list(np.ravel(np.array(X.to_delayed(), dtype=object)))


def _divided(values: Any, name: str, rows: _Lengths) -> list[Any]:
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
    """A series or data frame divided as X is, or an array of known chunks where that is impossible."""
    X = rows.X
    if is_array(X):
        return values.to_dask_array(lengths=True)
    if values.npartitions == X.npartitions and values.divisions == X.divisions:
        return values
    if values.known_divisions and X.known_divisions and values.divisions[0] == X.divisions[0]:
        return values.repartition(divisions=X.divisions, force=True)
    return values if values.npartitions == X.npartitions else values.to_dask_array(lengths=True)


def _sliced(values: Any, name: str, rows: _Lengths) -> list[Any]:
    values = values if isinstance(values, pd.Series | pd.DataFrame) else np.asarray(values)
    if values.ndim == 0:
        raise ValueError(f"{name} must have an entry for each sample")
    if len(values) != sum(rows.lengths):
        raise ValueError(_unequal(sum(rows.lengths), name, len(values)))
    ends = np.cumsum([0, *rows.lengths])
    taken = values.iloc if hasattr(values, "iloc") else values
    return [taken[first:last] for first, last in pairwise(ends)]


def _unequal(n: int, name: str, other: int) -> str:
    if name == "sample_weight":
        return f"sample_weight has {other} entries, but X has {n} samples"
    return f"X and {name} have inconsistent numbers of samples: {n} and {other}"


def _n_rows(part: Any) -> int:
    return int(part.shape[0])


class ChunkError(ValueError):
    """A chunk that is not like the others; the message names it."""


def active_client() -> Any:
    if "distributed" not in sys.modules:
        return None
    try:
        return distributed().get_client()
    except ValueError:
        return None


def small_results(parts: list[Any]) -> list[Any]:
    client = active_client()
    return computed_here(parts) if client is None else gathered(client, client.compute(parts))


def computed_here(parts: list[Any]) -> list[Any]:
    try:
        return list(dask_package().compute(*parts))
    except ChunkError:
        raise
    except Exception:
        # Dask's error does not name the chunk: they are tried one after the other.
        for number, part in enumerate(parts):
            try:
                part.compute()
            except Exception as error:
                raise unreadable(number, error) from error
        raise


def gathered(client: Any, futures: list[Any]) -> list[Any]:
    try:
        wait_for(client, futures)
        for number, future in enumerate(futures):
            if future.status in ("error", "cancelled"):
                error = future.exception()
                raise unreadable(number, error) from error
        return fetched(client, futures)
    finally:
        for future in futures:
            future.release()


def unreadable(number: int, error: BaseException) -> Exception:
    if isinstance(error, ChunkError):
        return error
    kind = ValueError if isinstance(error, ValueError) else RuntimeError
    message = f"chunk {number} of X, or of what goes with it, cannot be read: {type(error).__name__}: {error}"
    return lost(error, f"read, chunk {number} of X") or kind(message)


UNIT_ROWS = 16384  # samples that small chunks are joined to, on average at least half of it; longer chunks are cut


@dataclass(frozen=True)
class Part:
    X: Any
    y: np.ndarray | None
    weight: np.ndarray

    @property
    def n_samples(self) -> int:
        return len(self.weight)


@dataclass(frozen=True)
class Reader:
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
    """
    if target is None:
        y = None
    chunks = chunks_of(X, y, sample_weight)
    reader = Reader(chunks.columns, chunks.n_columns, target)
    read, token = dask_package().delayed(reader, pure=False), uuid.uuid4().hex
    parts = [
        read(number, *of_chunk, dask_key_name=f"read-{token}-{number}")
        for number, of_chunk in enumerate(zip(chunks.X, chunks.y, chunks.weight, strict=True))
    ]
    client = active_client()
    engine = _in_memory(parts) if client is None else _on_workers(client, X, parts)
    return engine, chunks


def _in_memory(parts: list[Any]) -> InMemory:
    found: list[Part] = computed_here(parts)
    width = unit_width([part.n_samples for part in found])
    units = _units([part.n_samples for part in found], width)
    return InMemory([rows for unit in units for rows in unit.blocks(found[unit.start : unit.stop])])


def _on_workers(client: Any, X: Any, parts: list[Any]) -> OnDask:
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
    """Some adjacent parts, numbers `start` to `stop` - 1: they are joined, and cut where they are long."""

    start: int
    stop: int
    first: int
    n_samples: int

    def blocks(self, parts: list[Part]) -> list[Rows]:
        parts = [part for part in parts if part.n_samples] or parts[:1]
        X = parts[0].X if len(parts) == 1 else _joined([part.X for part in parts])
        y = None if parts[0].y is None else np.concatenate([part.y for part in parts])
        weight = np.concatenate([part.weight for part in parts])
        whole = Rows(self.first, Views(X), y, weight)
        ends = np.linspace(0, len(weight), max(1, -(-len(weight) // UNIT_ROWS)) + 1).astype(int).tolist()
        return [whole.some(slice(a, b)) for a, b in pairwise(ends)]


def _units(lengths: list[int], width: int) -> list[Unit]:
    firsts, n = np.cumsum([0, *lengths]), len(lengths)
    ends = [(start, min(start + width, n)) for start in range(0, n, width)]
    return [Unit(start, stop, int(firsts[start]), int(firsts[stop] - firsts[start])) for start, stop in ends]


def _batch(units: list[Unit], parts: list[list[Part]]) -> list[list[Rows]]:
    return [unit.blocks(own) for unit, own in zip(units, parts, strict=True)]


def _joined(tables: list[Any]) -> Any:
    if isinstance(tables[0], pd.DataFrame):
        return pd.concat(tables)
    return sp.vstack(tables, format="csr") if sp.issparse(tables[0]) else np.concatenate(tables)


def lazily(model: Any, method: str, X: Any, like: Any, options: dict[str, Any] | None = None) -> Any:
    """The results of a method for the samples of a Dask collection; `like` are those for no sample."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (samples, columns), not {X.ndim}")
    if is_array(X) and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    call = Call(method, options or {}, like)
    shared = dask_package().delayed(model, name=f"model-{uuid.uuid4().hex}", pure=False, traverse=False)
    work = dask_package().delayed(call, pure=False)
    token = uuid.uuid4().hex
    parts = [
        work(shared, part, dask_key_name=f"{method}-{token}-{number}") for number, part in enumerate(delayed_parts(X))
    ]
    if isinstance(like, pd.DataFrame):
        frames = optional("dask.dataframe", "for Dask data frames", "dask")
        divisions = None if is_array(X) else X.divisions
        return frames.from_delayed(parts, meta=like, divisions=divisions, verify_meta=False)
    arrays = optional("dask.array", "for Dask arrays", "dask")
    rows = X.chunks[0] if is_array(X) else (np.nan,) * len(parts)
    return arrays.concatenate(
        [
            arrays.from_delayed(part, shape=(n, *like.shape[1:]), meta=like, dtype=like.dtype)
            for part, n in zip(parts, rows, strict=True)
        ],
        allow_unknown_chunksizes=True,
    )


class Call:
    """A method of a model on one chunk; `like` is its result for no sample."""

    def __init__(self, method: str, options: dict[str, Any], like: Any):
        self.method, self.options, self.like = method, options, like

    def __call__(self, model: Any, X: Any) -> Any:
        if not X.shape[0]:
            return self.like
        found = getattr(model, self.method)(X, **self.options)
        return found if isinstance(found, pd.DataFrame) else np.asarray(found, dtype=self.like.dtype)
