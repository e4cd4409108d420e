"""`read_views_in_blocks`: what `read_views` reads, some samples at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...validation import shown
from ...views import stack_views
from ...views.frames import check_shared
from ..joining import REMEDIES, View, check_filled, filled_rows, no_columns, overlap, overview
from ..matching import Matching, as_text, is_text, is_whole, match
from ..reading import check_names, checked_options
from ..result import counted
from ..separators import SEPARATORS, format_suffix
from ..sources import load, sources
from ..table import Key, Options, Source, Table
from .kinds import NUMBER, TEXT, as_kind
from .scanning import TextView, scan
from .waiting import Waiting

SEPARATOR = "__"


def read_views_in_blocks(
    paths: Any,
    *,
    id: Any = None,
    block_size: int = 1000,
    columns: Iterable[str] | None = None,
    types: Mapping[str, str] | None = None,
    ids_of: Mapping[str, Iterable[str]] | None = None,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    na_values: Any = None,
) -> ViewBlocks:
    """Read views of new samples from files that are larger than memory, some samples at a time.

    The blocks one below the other are the ``X`` of ``read_views(paths, id=id, ...)``, except that all numbers are
    floats. Files are checked and rows are matched by the rules of `read_views`, with its messages.

    Text files are read twice: first for the ids, the empty rows and, where `types` does not have them, the types of the
    columns; then for the values. Memory holds the ids of all samples and a few blocks for each view where the files
    have their rows in the same order. A row of another file that stands before the rows of earlier samples waits in
    memory for its block, in the worst case, that of shuffled files, all of them. Samples that the first file lacks come
    after those that it has, and cost another pass over the files that have them. Files of other formats are read whole.

    Parameters
    ----------
    paths : sequence of paths, or mapping from name to path
        As for `read_views`.
    id : str, mapping, None or False
        The column of the sample ids, as for `read_views`.
    block_size : int
        How many samples a block has at most.
    columns : iterable of str, optional
        What is read, named ``view__column`` as in X; None: all columns. A sample that has no value in these columns of
        a view lacks the view. A first column that is not among them holds the ids where it has text, or whole numbers
        that are all different.
    types : mapping from str to "number" or "text", optional
        What columns, named as in X, hold, as in the training data of a model. Columns that are not named hold numbers
        where that is so in the whole file. A cell that is no number in a column of numbers is an error.
    ids_of : mapping from str to iterable of str, optional
        Views of which the ids alone are read, each with the names of its columns, which hold no ids. Samples that
        stand nowhere else are in ``ViewBlocks.empty``.
    sep, decimal, encoding, na_values
        As for `read_views`.

    Returns
    -------
    ViewBlocks
        An iterable of data frames; it can be gone through several times.

    Raises
    ------
    ValueError, FileNotFoundError
        As `read_views` does, before the first block; where a cell is no number, at its block.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelweave import read_views_in_blocks
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "rna.csv").write_text("sample,TP53,MYC\\np1,0.5,1.5\\np2,2.5,0.1\\np3,1.0,1.0\\n")
    >>> _ = (folder / "clinical.csv").write_text("sample,age,sex\\np3,61,f\\np1,54,m\\n")
    >>> blocks = read_views_in_blocks([folder / "rna.csv", folder / "clinical.csv"], id="sample", block_size=2)
    >>> blocks.n_samples
    3
    >>> for X in blocks:
    ...     print(X)
            rna__TP53  rna__MYC  clinical__age clinical__sex
    sample
    p1            0.5       1.5           54.0             m
    p2            2.5       0.1            NaN           NaN
            rna__TP53  rna__MYC  clinical__age clinical__sex
    sample
    p3            1.0       1.0           61.0             f
    """
    files = sources(paths)
    options = checked_options(Options(id, sep, decimal, encoding, na_values), files)
    if isinstance(block_size, bool) or not isinstance(block_size, int | np.integer) or block_size < 1:
        raise ValueError(f"block_size must be a whole number of at least 1, not {shown(block_size)}")
    kinds = _checked_types(types)
    wanted = None if columns is None else set(columns)
    unread = {f"{view}{SEPARATOR}{name}" for view, names in (ids_of or {}).items() for name in names}
    views = [
        view
        for file in files
        for view in _opened(file, options, wanted, kinds, ids_of=tuple(ids_of or ()), size=int(block_size))
    ]
    tables = [view.table for view in views]
    check_names(tables)
    if wanted is not None:
        for table in tables:
            _take_first_column_as_ids(table, wanted | unread)
    matching = match(tables, options.id)
    parts = [
        _part(view, ids, key, matching, wanted)
        for view, ids, key in zip(views, matching.ids, matching.keys, strict=True)
        if view.table.name not in (ids_of or ())
    ]
    how = dict(zip([table.name for table in tables], matching.how, strict=True))
    matched_by, order = overview([part.view for part in parts], how)
    check_shared([part.view.labelled for part in parts], REMEDIES)
    everyone = pd.Index(dict.fromkeys(sample for ids in matching.ids for sample in ids), name=order.name)
    return ViewBlocks(
        n_samples=len(order),
        block_size=int(block_size),
        overlap=overlap([part.view for part in parts], order),
        matched_by=matched_by,
        empty=everyone[~everyone.isin(order)],
        _parts=parts,
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ViewBlocks:
    """Views of samples in files, as data frames of some samples each.

    Attributes
    ----------
    n_samples : int
        How many samples all blocks have.
    block_size : int
        How many a block has at most.
    overlap : DataFrame
        How many samples there are in each view, in all views, and in X.
    matched_by : Series of str
        For each table how its rows were matched: the column of ids, or row order.
    empty : Index
        The samples that have rows in the files and no value in any that is read; no block has them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelweave import read_views_in_blocks
    >>> file = Path(tempfile.mkdtemp()) / "blood.csv"
    >>> _ = file.write_text("sample,iron,zinc\\nann,1.5,7\\nbob,2.5,8\\neve,,\\n")
    >>> blocks = read_views_in_blocks([file], id="sample")
    >>> [len(X) for X in blocks], list(blocks.empty)
    ([2], ['eve'])
    """

    n_samples: int
    block_size: int
    overlap: pd.DataFrame
    matched_by: pd.Series
    empty: pd.Index
    _parts: list[_Part]

    def __iter__(self) -> Iterator[pd.DataFrame]:
        done = pd.Index([], dtype=object)
        for first in self._parts:
            # The samples that this view has and none before it: all views go through them together.
            samples = first.view.ids[~first.view.ids.isin(done)]
            done = done.append(samples) if len(done) else samples
            if len(samples):
                yield from self._blocks(samples)

    def _blocks(self, samples: pd.Index) -> Iterator[pd.DataFrame]:
        waiting = [Waiting(part.chunks(samples, self.block_size), part.nothing) for part in self._parts]
        for start in range(0, len(samples), self.block_size):
            block = samples[start : start + self.block_size]
            rows = {
                part.view.table.name: one.take(block, int(block.isin(part.view.ids).sum()))
                for part, one in zip(self._parts, waiting, strict=True)
            }
            yield stack_views(rows)

    def __repr__(self) -> str:
        return f"ViewBlocks of {counted(self.n_samples, 'sample')}, at most {self.block_size} in each"


@dataclass(frozen=True)
class _Part:
    """A view whose rows are matched: its ids are those of the rows that hold something.

    Attributes
    ----------
    view : View
    nothing : DataFrame or Series
        The view without rows.
    rows : ndarray of int
        The rows that hold something, by position; those of `view.ids`.
    file : TextView or None
        Where the values are, unless they are in the view.
    key : Key or None
    """

    view: View
    nothing: Any
    rows: np.ndarray
    file: TextView | None
    key: Key | None

    def chunks(self, samples: pd.Index, size: int) -> Iterator[Any]:
        """The rows of these samples in the order of the file, labelled by sample."""
        is_wanted = self.view.ids.isin(samples)
        if not is_wanted.any():
            return
        ids = self.view.ids[is_wanted]
        if self.file is None:
            yield self.view.values[is_wanted]
            return
        rows = np.zeros(self.file.table.n_rows, dtype=bool)
        rows[self.rows[is_wanted]] = True
        done = 0
        for frame in self.file.chunks(rows, self.key, size):
            yield frame.set_axis(ids[done : done + len(frame)], axis=0)
            done += len(frame)


@dataclass(frozen=True)
class _Whole:
    """A view that was read whole."""

    table: Table


def _checked_types(types: Any) -> dict[str, str]:
    if types is None:
        return {}
    if not isinstance(types, Mapping):
        raise ValueError(f"types must be a mapping from columns to 'number' or 'text', not {shown(types)}")
    for name, kind in types.items():
        if kind not in (NUMBER, TEXT):
            raise ValueError(f"types of the column {name!r} must be 'number' or 'text', not {shown(kind)}")
    return dict(types)


def _take_first_column_as_ids(table: Table, columns: set[str]) -> None:
    """Be certain of ids in a first column that no view has."""
    key = table.key
    if key is None or key.is_certain or f"{table.name}{SEPARATOR}{key.name}" in columns:
        return
    texts = as_text(key.values[: table.n_filled])
    if is_text(key, texts) or (is_whole(texts) and len(set(texts)) == len(texts)):
        table.key = replace(key, is_certain=True)


def _opened(
    file: Source,
    options: Options,
    columns: set[str] | None,
    kinds: dict[str, str],
    *,
    ids_of: Collection[str],
    size: int,
) -> list[TextView | _Whole]:
    """The views of a file."""
    if format_suffix(file.path.name) in SEPARATORS:
        columns = set() if file.name in ids_of else columns
        start = f"{file.name}{SEPARATOR}"
        own = None if columns is None else {name.removeprefix(start) for name in columns if name.startswith(start)}
        named = {name.removeprefix(start): kind for name, kind in kinds.items() if name.startswith(start)}
        return [scan(file, options, columns=own, kinds=named, size=size)]
    tables = load(file, options, None).tables
    for table in tables:
        if not sp.issparse(table.values):
            table.values = _typed(table, options, columns, kinds)
    # Of several, some may have none that is asked for.
    tables = [table for table in tables if table.values.shape[1] or table.name in ids_of]
    if not tables:
        raise ValueError(_lacking(file.shown, file.name, columns))
    return [_Whole(table) for table in tables]


def _lacking(shown: str, name: str, columns: set[str] | None) -> str:
    """A message: a file has no column, or none of those that are asked for."""
    start = f"{name}{SEPARATOR}"
    wanted = sorted(column.removeprefix(start) for column in columns or () if column.startswith(start))
    if not wanted:
        return no_columns(shown)
    listed = ", ".join(map(repr, wanted[:3])) + (", ..." if len(wanted) > 3 else "")
    return f"{shown} has none of the {len(wanted)} columns of the view {name!r} ({listed}); is it the right file?"


def _typed(table: Table, options: Options, columns: set[str] | None, kinds: dict[str, str]) -> pd.DataFrame:
    """The chosen columns of a table in memory, of the kinds that they should have."""

    def place(row: int) -> str:
        return f"{table.shown}, {table.place(row)}"

    start = f"{table.name}{SEPARATOR}"
    typed = {}
    for name in table.values.columns:
        if columns is None or f"{start}{name}" in columns:
            column = table.values[name]
            is_number = pd.api.types.is_numeric_dtype(column.dtype)
            kind = kinds.get(f"{start}{name}") or (NUMBER if is_number else TEXT)
            typed[name] = as_kind(column, kind, options.decimal, place)
    return pd.DataFrame(typed, index=table.values.index)


def _part(
    view: TextView | _Whole, ids: np.ndarray, key: Key | None, matching: Matching, wanted: set[str] | None
) -> _Part:
    table = view.table
    if isinstance(view, _Whole):
        whole = filled_rows(table, ids, key, None, matching.name)
        assert whole is not None  # only a table of targets is none
        return _Part(whole, whole.values.iloc[:0], np.arange(len(whole.ids)), None, key)
    columns = view.columns(key)
    if not columns:
        raise ValueError(_lacking(table.shown, table.name, wanted))
    is_filled = view.is_filled(key)
    check_filled(table, is_filled)
    index = pd.Index(ids, name=matching.name)[is_filled]
    names = pd.Index(list(columns.values()))
    return _Part(View(table, None, index, names), view.empty(key), np.flatnonzero(is_filled), view, key)
