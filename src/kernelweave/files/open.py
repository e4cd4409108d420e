"""`open_views`: views in NPY and Parquet files, folders of them, and memory maps, as one table in blocks.

`OpenViews` is that table, of which blocks of rows are read when they are wanted. Beside X there are columns for
targets, sample weights and ids; the target is a column of a view, another file, or an array.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..validation import shown
from ..validation.columns import SEPARATOR
from ..views import TableInBlocks
from .base import KeptColumns, column_place, counted, no_column, view_name
from .cells import without_blanks
from .matching import as_text
from .rows import ArrayRows, StoredRows
from .sources import STORED_SUFFIXES, Opened, first_part, opened_views, stored_rows
from .text import format_suffix


@dataclass(frozen=True)
class StoredColumn:
    """One column beside X, such as the target; without `place` all columns of an NPY file with several targets."""

    rows: StoredRows
    place: int | None
    role: str

    @property
    def shown(self) -> str:
        return self.rows.shown

    @property
    def name(self) -> str:
        return self.rows.shown if self.place is None else self.rows.columns[self.place].name

    @property
    def names(self) -> list[Any] | None:
        return list(range(len(self.rows.columns))) if self.place is None else None

    @property
    def tables(self) -> list[StoredRows]:
        return [self.rows]

    @property
    def taken(self) -> list[tuple[str, int]]:
        places = range(len(self.rows.columns)) if self.place is None else [self.place]
        return [(self.rows.shown, place) for place in places]

    def read(self, first: int, last: int, *, may_lack: bool = False) -> np.ndarray:
        if self.place is None:
            places = list(range(len(self.rows.columns)))
            values = self.rows.frame(first, last, places, [np.dtype(np.float64)] * len(places)).to_numpy()
        else:
            values = _as_labels(self.rows.values(first, last, self.place))
        missing = np.asarray(pd.isna(values)).reshape(len(values), -1).any(axis=1)
        if missing.any() and not may_lack:
            row = first + int(missing.argmax())
            raise ValueError(
                f"{self.rows.shown}, row {row + 1}: the {self.role} {self.name!r} is missing; leave such samples out "
                "of the files"
            )
        return values


@dataclass(frozen=True)
class StoredColumns:
    """Several columns of numbers beside X, side by side: the targets of a regression."""

    columns: tuple[StoredColumn, ...]

    @property
    def shown(self) -> str:
        return ", ".join(dict.fromkeys(column.shown for column in self.columns))

    @property
    def name(self) -> str:
        return ", ".join(self.names)

    @property
    def names(self) -> list[Any]:
        return [column.name for column in self.columns]

    @property
    def tables(self) -> list[StoredRows]:
        return [column.rows for column in self.columns]

    @property
    def taken(self) -> list[tuple[str, int]]:
        return [place for column in self.columns for place in column.taken]

    def read(self, first: int, last: int) -> np.ndarray:
        values = np.empty((last - first, len(self.columns)))
        for place, column in enumerate(self.columns):
            own = column.read(first, last)
            if own.dtype.kind not in "fiub":
                raise ValueError(
                    f"{column.shown}: the target {column.name!r} holds no numbers; several targets are for MKLRegressor"
                )
            values[:, place] = own
        return values


@dataclass(frozen=True)
class StoredIds:
    columns: tuple[tuple[StoredRows, int], ...]

    @property
    def name(self) -> str | None:
        """What they are called; None where pandas stored an index without a name."""
        rows, place = self.columns[0]
        name = rows.columns[place].name
        return None if name.startswith("__index_level_") else name

    def read(self, first: int, last: int) -> pd.Index:
        (rows, place), *others = self.columns
        ids = as_text(rows.values(first, last, place))
        if None in ids:
            raise ValueError(f"{rows.shown}, row {first + ids.index(None) + 1}: the sample's id is missing")
        for other, where in others:
            found = as_text(other.values(first, last, where))
            if found != ids:
                row = next(k for k, (a, b) in enumerate(zip(ids, found, strict=True)) if a != b)
                raise ValueError(
                    f"{other.shown}, row {first + row + 1}: the id is {found[row]!r}, not {ids[row]!r} as in "
                    f"{rows.shown}; all files need their rows in the same order: sort them by id (a sample that "
                    "lacks a view has a row without values there), or use read_views, which matches ids of data that "
                    "fit into memory"
                )
        return pd.Index(ids, dtype=object, name=self.name)


def _as_labels(values: np.ndarray) -> np.ndarray:
    if values.dtype != object:
        return values
    cleaned = np.empty(len(values), dtype=object)
    cleaned[:] = [without_blanks(value) for value in values]
    return cleaned


BLOCK_BYTES = 2**23  # about how many bytes of X a block takes
MOST_ROWS, LEAST_ROWS = 8192, 64  # of a block, by default
TEXT_BYTES = 64  # bytes of a cell of text, about


@dataclass(frozen=True)
class OpenView:
    """The columns of X that one file, folder or array has: their positions there and names in X."""

    rows: StoredRows
    places: list[int]
    names: list[str]

    @property
    def dtypes(self) -> list[np.dtype]:
        """float32 or float64, or object; a column without any value holds numbers that are missing."""
        found = [self.rows.columns[place].dtype for place in self.places]
        return [np.dtype(np.float64) if dtype is None else dtype for dtype in found]

    def frame(self, first: int, last: int) -> pd.DataFrame:
        return self.rows.frame(first, last, self.places, self.dtypes).set_axis(self.names, axis=1)


class OpenViews(TableInBlocks):
    """Views in files as one table that is read block by block; made by `open_views`.

    Estimators take it in the place of X: `fit` finds the targets in it, and `predict` and its siblings return what they
    return for data in memory. It can be pickled, without rows: another process opens the files itself.

    Attributes
    ----------
    n_samples : int
    columns : Index of str
        Names as in the X of `read_views`: ``view__column``.
    dtypes : Series
        float32, float64 or object (text), by column; the same in all blocks.
    target : str or None
        What the targets are called.
    block_size : int
        How many samples a block has; the last one may have fewer.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from kernelweave import open_views
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "size.npy", np.arange(10.0).reshape(5, 2))
    >>> np.save(folder / "label.npy", np.array(["a", "b", "a", "b", "b"]))
    >>> table = open_views([folder / "size.npy"], target=folder / "label.npy", block_size=2)
    >>> for first, X, y in table.blocks():
    ...     print(first, X.to_numpy().tolist(), y)
    0 [[0.0, 1.0], [2.0, 3.0]] ['a' 'b']
    2 [[4.0, 5.0], [6.0, 7.0]] ['a' 'b']
    4 [[8.0, 9.0]] ['b']
    >>> table.take([4, 0])
       size__0  size__1
    4      8.0      9.0
    0      0.0      1.0
    """

    def __init__(
        self,
        views: list[OpenView],
        target: StoredColumn | StoredColumns | None,
        *,
        ids: StoredIds | None,
        n_samples: int,
        block_size: int | None,
    ):
        self._views, self._target, self._ids, self.n_samples = views, target, ids, n_samples
        self._checked: set[int] = set()  # blocks whose ids were found to be in the same order everywhere
        self.columns = pd.Index([name for view in views for name in view.names], dtype=object)
        self.dtypes = pd.Series([dtype for view in views for dtype in view.dtypes], self.columns, dtype=object)
        self.block_size = block_size or int(np.clip(BLOCK_BYTES // self._row_bytes(), LEAST_ROWS, MOST_ROWS))

    def _row_bytes(self) -> int:
        return sum(TEXT_BYTES if dtype.kind == "O" else dtype.itemsize for dtype in self.dtypes)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of columns."""
        return self.n_samples, len(self.columns)

    @property
    def nbytes(self) -> int:
        return self.n_samples * self._row_bytes()

    @property
    def target(self) -> str | None:
        return None if self._target is None else self._target.name

    @property
    def files(self) -> list[Path]:
        tables = [view.rows for view in self._views] + ([] if self._target is None else self._target.tables)
        return list(dict.fromkeys(file for rows in tables for file in rows.files))

    @property
    def target_names(self) -> list[Any] | None:
        """The names of the targets where each sample has several (0, 1, ... in an NPY file); None where it has one."""
        return None if self._target is None else self._target.names

    @property
    def has_ids(self) -> bool:
        return self._ids is not None

    def __len__(self) -> int:
        return self.n_samples

    def blocks(self) -> Iterator[tuple[int, pd.DataFrame, np.ndarray | None]]:
        """Go through all blocks.

        Yields
        ------
        first : int
            Position of the first sample of the block.
        X : DataFrame
            With the sample ids as index, or their positions.
        y : ndarray or None
        """
        for number in range(self.n_blocks):
            yield self.block(number)

    def block(self, number: int) -> tuple[int, pd.DataFrame, np.ndarray | None]:
        """A block by its number, from 0: the position of its first sample, X and y."""
        first, last = self.limits(number)
        return first, self.rows(first, last), self.targets(first, last)

    def rows(self, first: int, last: int, *, with_ids: bool = True) -> pd.DataFrame:
        """The samples from position `first` to before `last`.

        Parameters
        ----------
        first, last : int
        with_ids : bool
            Whether the index holds the sample ids, where there are any; else it holds positions. That all files have
            the same ids is found out when a block is first read.
        """
        index: pd.Index = pd.RangeIndex(first, last)
        if self._ids is not None and (with_ids or (len(self._ids.columns) > 1 and first not in self._checked)):
            ids = self._ids.read(first, last)
            self._checked.add(first)
            index = ids if with_ids else index
        parts = [view.frame(first, last) for view in self._views]
        X = parts[0] if len(parts) == 1 else pd.concat(parts, axis=1)
        return X.set_axis(index, axis=0)

    def targets(self, first: int, last: int) -> np.ndarray | None:
        return None if self._target is None else self._target.read(first, last)

    def targets_where_known(self, first: int, last: int) -> np.ndarray:
        """The targets, of which some may be missing."""
        if not isinstance(self._target, StoredColumn) or self._target.place is None:
            raise ValueError("samples have several targets here, or none; give one column")
        return self._target.read(first, last, may_lack=True)

    def head(self, n: int = 5) -> pd.DataFrame:
        """The first samples."""
        last = min(max(int(n), 0), self.n_samples)
        return self.rows(0, last) if last else self.rows(0, 1).iloc[:0]

    def take(self, rows: Any) -> pd.DataFrame:
        """Samples by their positions, an array of int in any order."""
        rows = np.asarray(rows)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ValueError(f"rows must be positions, whole numbers in one dimension, not {shown(rows)}")
        if not rows.size:
            return self.head(0)
        if rows.min() < 0 or rows.max() >= self.n_samples:
            raise IndexError(f"rows must be from 0 to {self.n_samples - 1}, not from {rows.min()} to {rows.max()}")
        order = np.argsort(rows, kind="stable")
        parts = []
        for number in np.unique(rows // self.block_size):
            first, last = self.limits(int(number))
            wanted = rows[order][(rows[order] >= first) & (rows[order] < last)]
            parts.append(self.rows(first, last).iloc[wanted - first])
        return pd.concat(parts).iloc[np.argsort(order, kind="stable")]

    def column(self, name: str, role: str) -> StoredColumn:
        """A column by its name in X or in its file, for what is read beside X; messages call it `role`."""
        found = [
            StoredColumn(view.rows, place, role)
            for view in self._views
            for place, known in zip(view.places, view.names, strict=True)
            if name in (known, view.rows.columns[place].name)
        ]
        if len(found) != 1:
            why = (
                no_column([*self.columns], name, "the table has no", "target")
                if not found
                else (f"{len(found)} columns are named {name!r}")
            )
            raise ValueError(f"{role}: {why.partition(';')[0]}; write it as in the table's columns")
        return found[0]

    def without(self, name: str) -> OpenViews:
        """The table without one of its columns, given by its name in X or in its file."""
        views = []
        for view in self._views:
            kept = [
                (place, known)
                for place, known in zip(view.places, view.names, strict=True)
                if name not in (known, view.rows.columns[place].name)
            ]
            if kept:
                views.append(OpenView(view.rows, [place for place, _ in kept], [known for _, known in kept]))
        return OpenViews(views, self._target, ids=self._ids, n_samples=self.n_samples, block_size=self.block_size)

    def __repr__(self) -> str:
        size = self.nbytes
        scale = next((scale for scale in ("TB", "GB", "MB", "kB") if size >= _UNITS[scale]), "kB")
        target = "" if self._target is None else f", target {self._target.name!r}"
        return (
            f"OpenViews of {counted(self.n_samples, 'sample')} and {counted(len(self.columns), 'column')} "
            f"({size / _UNITS[scale]:.3g} {scale}){target}, in {counted(self.n_blocks, 'block')} of at most "
            f"{self.block_size}"
        )


_UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


_WAYS = "a column, a path, (path, column), a list of columns or an array"


def target_of(target: Any, opened: list[Opened]) -> tuple[StoredColumn | StoredColumns | None, Opened | None]:
    """The column, or the columns, of the targets, and the table that has it where that is none of the views."""
    if target is None:
        return None, None
    if _are_columns(target, opened):
        return _several([_named(name, opened) for name in target]), None
    if isinstance(target, np.ndarray | list) or hasattr(target, "to_numpy"):
        array = np.asarray(target)
        array = np.asarray(array.tolist()) if array.dtype == object else array
        rows: StoredRows = ArrayRows(array, "target", "the array of the target")
        return StoredColumn(rows, 0 if len(rows.columns) == 1 else None, "target"), None
    if isinstance(target, tuple):
        return _of_pair(target, opened)
    if not isinstance(target, str | os.PathLike) or not os.fspath(target):
        raise ValueError(f"target must be {_WAYS}, not {shown(target)}")
    text = os.fspath(target)
    named = _columns_named(text, opened)
    if named:
        return _only_one_column(named, text), None
    found = _found_rows(text, opened)
    if found is not None:
        return _in_file(found, None, opened)
    for colon in re.finditer(":", text):
        found = _found_rows(text[: colon.start()], opened)
        if found is not None and text[colon.end() :]:
            return _in_file(found, text[colon.end() :], opened)
    if isinstance(target, os.PathLike) or format_suffix(text) in STORED_SUFFIXES:
        _needed_rows(text, opened)
    return _named(text, opened), None


def _are_columns(target: Any, opened: list[Opened]) -> bool:
    """Whether a list holds names of columns, and not labels: they are columns, or not one text for each sample."""
    if not isinstance(target, list) or not target or not all(isinstance(name, str) for name in target):
        return False
    return len(target) != opened[0].rows.n_rows or all(_columns_named(name, opened) for name in target)


def _named(name: str, opened: list[Opened]) -> StoredColumn:
    found = _columns_named(name, opened)
    if found:
        return _only_one_column(found, name)
    names = [known for one in opened for known in one.rows.names]
    start = f"{opened[0].rows.shown} has no" if len(opened) == 1 else f"none of the {len(opened)} views has a"
    raise ValueError(no_column(names, name, start, "target"))


def _several(columns: list[StoredColumn]) -> StoredColumns:
    names = [column.name for column in columns]
    for column in columns:
        if names.count(column.name) > 1:
            raise ValueError(f"the target {column.name!r} is named twice; name each column once")
    return StoredColumns(tuple(columns))


def _of_pair(target: tuple[Any, ...], opened: list[Opened]) -> tuple[StoredColumn | StoredColumns, Opened | None]:
    names = target[1] if len(target) == 2 else None
    if isinstance(names, str):
        return _in_file(_needed_rows(os.fspath(target[0]), opened), names, opened)
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"target must be {_WAYS}, not {shown(target)}")
    path = _needed_rows(os.fspath(target[0]), opened)
    first, beside = _in_file(path, names[0], opened)
    rows = first.rows
    places = [column_place(rows.names, name, rows.shown, "target") for name in names]
    return _several([StoredColumn(rows, place, "target") for place in places]), beside


def _columns_named(name: str, opened: list[Opened]) -> list[StoredColumn]:
    return [
        StoredColumn(one.rows, place, "target")
        for one in opened
        for place, column in enumerate(one.rows.columns)
        if name == one.named(place) or (name == column.name and not isinstance(first_part(one.rows), ArrayRows))
    ]


def _only_one_column(found: list[StoredColumn], name: str) -> StoredColumn:
    if len(found) > 1:
        files = " and ".join(column.rows.shown for column in found)
        raise ValueError(f"the target {name!r} is a column of {files}; pass target='VIEW__{name}' or (path, {name!r})")
    return found[0]


def _in_file(path: Path, column: str | None, opened: list[Opened]) -> tuple[StoredColumn, Opened | None]:
    same = next((one for one in opened if any(file.samefile(path) for file in one.rows.files)), None)
    one = same or Opened(view_name(path.stem) or "target", stored_rows(path, "target"))
    rows = one.rows
    if isinstance(first_part(rows), ArrayRows):
        place = 0 if len(rows.columns) == 1 else None
        if column is not None:
            place = column_place(rows.names, column, rows.shown, "target")
        return StoredColumn(rows, place, "target"), None
    if column is None:
        others = [name for j, name in enumerate(rows.names) if j != rows.id_place]
        if len(others) != 1:
            raise ValueError(
                f"{rows.shown} has {len(others)} columns that could be the target ({', '.join(others[:8])}); pass "
                "target=(path, column)"
            )
        column = others[0]
    return StoredColumn(rows, column_place(rows.names, column, rows.shown, "target"), "target"), None if same else one


def _found_rows(path: str, opened: list[Opened]) -> Path | None:
    try:
        given = Path(path).expanduser()
        folders = dict.fromkeys(file.parent for one in opened for file in one.rows.files)
        places = [given, *(folder / given for folder in folders)]
        return next(
            (p for p in places if p.exists() and (p.is_dir() or format_suffix(p.name) in STORED_SUFFIXES)), None
        )
    except (OSError, ValueError):  # a text that no path can be
        return None


def _needed_rows(path: str, opened: list[Opened]) -> Path:
    found = _found_rows(path, opened)
    if found is None:
        raise FileNotFoundError(
            f"there is no NPY or Parquet file {path!r} for the target, neither in the working directory ({Path.cwd()}) "
            "nor beside the views"
        )
    return found


_N_TRIED = 1000  # rows whose ids are looked at before a first column of text is taken for ids


def open_views(
    paths: Any, target: Any = None, *, id: Any = None, block_size: int | None = None, keep_columns: Any = ()
) -> OpenViews:
    """Open views in files that are larger than memory, as one table that estimators read block by block.

    The blocks one below the other are the X that `read_views` would return for the same files, with all numbers as
    floats. Rows stay in the files: `fit` and `predict` of the estimators go through them a block at a time, as often as
    they need to, and `predict_views` writes predictions into files the same way.

    Parameters
    ----------
    paths : mapping from name to path, list of paths or array, sequence of paths, or one path
        A path leads to an NPY file, a Parquet file (.parquet or .pq; needs pyarrow), or a folder with files of one of
        these formats, which are the parts of one table in the order of their names (numbers in names count as numbers).
        An array may be a memory map. A view is named as the key of the mapping, or by its file or folder. One path
        alone, with columns that are named ``view__column``, holds several views. In a mapping, a list of paths is the
        parts of one view, in this order. Columns of an NPY file are named ``view__0``, ``view__1``, ...; one of one
        dimension is the column ``view__view``.
    target : str, path, tuple, list or array, optional
        What to predict: a column, by its name in X (``view__column``) or in its file, which is no part of X then;
        ``"file:column"`` or ``(path, column)`` for a column of another Parquet file; the path of an NPY file with a
        label or number for each sample (or a row of numbers, for several targets); or an array. A list of columns,
        also as ``(path, [column, ...])``, is several targets of a regression.
    id : str, mapping, None or False
        The column of the sample ids in Parquet files, for all or by view. None: the index that pandas stored, or a
        first column of text that differs from row to row (in the first 1000). False: there are none.
    block_size : int, optional
        How many samples are read at a time. None: as many as take 8 MB, from 64 to 8192.
    keep_columns : sequence of str
        A column of a view that has the name of the target is left out, with a warning: it would give the answer away.
        ``"file:column"`` keeps it, where it is something else.

    Returns
    -------
    OpenViews

    Raises
    ------
    ValueError, FileNotFoundError
        One that names file and remedy: different numbers of rows, a part with other columns or types, a file that is
        cut off, no such column. Where ids differ between files, or rows cannot be read, it is raised when a block is
        read, and names the rows.

    Notes
    -----
    Row k of all files is the same sample. Where several Parquet files have ids these are compared, block by block; rows
    in another order are an error. A sample that lacks a view has a row of missing values (NaN, null) there. Whole
    numbers of up to 16 bits and truth values are read as float32, others as float64. Columns of text, of dictionaries
    of text (pandas' categories) and of other types are read as objects.

    Text files have to be read from the beginning to find a row; convert them once, see the page "Data larger than
    memory".

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from kernelweave import open_views
    >>> folder = Path(tempfile.mkdtemp())
    >>> random = np.random.default_rng(0)
    >>> np.save(folder / "image.npy", random.normal(size=(500, 16)).astype(np.float32))
    >>> np.save(folder / "sound.npy", random.normal(size=(500, 4)).astype(np.float32))
    >>> table = open_views([folder / "image.npy", folder / "sound.npy"], target=random.integers(0, 2, 500))
    >>> table
    OpenViews of 500 samples and 20 columns (40 kB), target 'target', in 1 block of at most 8192
    """
    if block_size is not None and (
        isinstance(block_size, bool) or not isinstance(block_size, int | np.integer) or block_size < 1
    ):
        raise ValueError(f"block_size must be a whole number of at least 1, or None, not {shown(block_size)}")
    kept = KeptColumns(keep_columns)
    opened = opened_views(paths)
    _check_id(id, opened)
    column, beside = target_of(target, opened)
    taken = set() if column is None else set(column.taken)
    ids: list[tuple[StoredRows, int]] = []
    views: list[OpenView] = []
    for one in [*opened, *([] if beside is None else [beside])]:
        place = _id_place(one, id, taken)
        if place is not None:
            ids.append((one.rows, place))
        hidden = {place, one.rows.id_place}
        chosen = [j for j in range(len(one.rows.columns)) if j not in hidden and (one.rows.shown, j) not in taken]
        if one is beside:
            continue
        given, chosen = chosen, [j for j in chosen if not _is_copy(one, j, column, kept)]
        if chosen:
            views.append(OpenView(one.rows, chosen, [one.named(j) for j in chosen]))
        elif not given and not any(shown == one.rows.shown for shown, _ in taken):
            raise ValueError(f"{one.rows.shown} has no column beside the ids; a view needs one: leave the file out")
    kept.check_used(None if column is None else column.name)
    if not views:
        raise ValueError("no file has columns for a view beside ids and target; give the files of the views as paths")
    n_samples = _common_length([*(one.rows for one in opened), *([] if column is None else column.tables)])
    _check_unique([name for view in views for name in view.names])
    found = StoredIds(tuple(ids)) if ids else None
    return OpenViews(views, column, ids=found, n_samples=n_samples, block_size=_whole(block_size))


def _is_copy(one: Opened, place: int, target: StoredColumn | StoredColumns | None, kept: KeptColumns) -> bool:
    columns = target.columns if isinstance(target, StoredColumns) else [] if target is None else [target]
    names = {_own_name(column.name) for column in columns if not isinstance(first_part(column.rows), ArrayRows)}
    own = one.rows.columns[place].name
    own = _own_name(own) if one.is_whole else own
    files = [one.name, *(file.name for file in one.rows.files)]
    return own in names and kept.leaves_out(one.rows.shown, files, own, own)


def _own_name(name: str) -> str:
    return name.partition(SEPARATOR)[2] or name


def _whole(number: Any) -> int | None:
    return None if number is None else int(number)


def _check_id(given: Any, opened: list[Opened]) -> None:
    if isinstance(given, Mapping):
        names = {name for one in opened for name in (one.name, *(file.name for file in one.rows.files))}
        wrong = [name for name in given if name not in names and not format_suffix(str(name))]
        if wrong:
            raise ValueError(f"id names {wrong[0]!r}, which is none of the views {', '.join(o.name for o in opened)}")
    elif given is not None and given is not False and not (isinstance(given, str) and given):
        raise ValueError(
            f"id must be a column's name, a mapping from views to names, None or False, not {shown(given)}"
        )
    elif isinstance(given, str) and all(isinstance(first_part(one.rows), ArrayRows) for one in opened):
        raise ValueError(f"id={given!r}, but NPY files and arrays have no column of ids; leave id out")


def _id_place(one: Opened, wanted: Any, taken: set[tuple[str, int]]) -> int | None:
    rows = one.rows
    if isinstance(first_part(rows), ArrayRows) or wanted is False:
        return None
    if isinstance(wanted, Mapping):
        names = [one.name, *(file.name for file in rows.files)]
        wanted = next((wanted[name] for name in names if name in wanted), None)
    if isinstance(wanted, str):
        place = column_place(rows.names, wanted, rows.shown, "id")
        if (rows.shown, place) in taken:
            raise ValueError(f"{rows.shown}: the column {wanted!r} is both id and target; name two different columns")
        return place
    if rows.id_place is not None:
        return rows.id_place
    places = [j for j in range(len(rows.columns)) if (rows.shown, j) not in taken]
    if len(places) < 2 or rows.columns[places[0]].what != "text" or not rows.n_rows:
        return None
    texts = as_text(rows.values(0, min(rows.n_rows, _N_TRIED), places[0]))
    return places[0] if None not in texts and len(set(texts)) == len(texts) else None


def _common_length(tables: list[StoredRows]) -> int:
    first = tables[0]
    for other in tables[1:]:
        if other.n_rows != first.n_rows:
            raise ValueError(
                f"{first.shown} has {first.n_rows} rows and {other.shown} has {other.n_rows}; row k of all files is "
                "the same sample, so a sample that lacks a view needs a row of missing values there (read_views "
                "matches rows by id, for data that fit into memory)"
            )
    if not first.n_rows:
        raise ValueError(f"{first.shown} has no rows; it needs one for each sample")
    return first.n_rows


def _check_unique(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two columns would be named {name!r}; rename one of them, or its view")
        seen.add(name)
