"""`open_views`: views in NPY and Parquet files, folders of them, and memory maps, as one table in blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...validation import shown
from ...validation.columns import SEPARATOR
from ..matching import as_text
from ..separators import format_suffix
from ..table import no_column
from ..target_copies import KeptColumns
from .arrays import ArrayRows
from .columns import StoredColumn, StoredColumns, StoredIds
from .rows import StoredRows
from .sources import Opened, first_part, opened_views
from .table import OpenView, OpenViews
from .targets import target_of

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
        parts of one view, in this order. Columns of an NPY file are named
        ``view__0``, ``view__1``, ...; one of one dimension is the column ``view__view``.
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
    """Whether a column is left out because it has the name of a target."""
    columns = target.columns if isinstance(target, StoredColumns) else [] if target is None else [target]
    names = {_own_name(column.name) for column in columns if not isinstance(first_part(column.rows), ArrayRows)}
    own = one.rows.columns[place].name
    own = _own_name(own) if one.is_whole else own
    files = [one.name, *(file.name for file in one.rows.files)]
    return own in names and kept.leaves_out(one.rows.shown, files, own, own)


def _own_name(name: str) -> str:
    """The name of a column without that of its view."""
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
    """The column of the ids in a table; None where there is none."""
    rows = one.rows
    if isinstance(first_part(rows), ArrayRows) or wanted is False:
        return None
    if isinstance(wanted, Mapping):
        names = [one.name, *(file.name for file in rows.files)]
        wanted = next((wanted[name] for name in names if name in wanted), None)
    if isinstance(wanted, str):
        if wanted not in rows.names:
            raise ValueError(no_column(rows.names, wanted, f"{rows.shown} has no", "id"))
        place = rows.names.index(wanted)
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
    """The number of rows of all tables, or one error that names two that differ."""
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
