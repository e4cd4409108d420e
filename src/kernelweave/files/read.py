"""Reading files whole, or some samples at a time (`read_views_in_blocks`), with rows matched by sample id."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..validation import shown
from ..validation.columns import SEPARATOR
from ..views import stack_views
from ..views.alike import difference
from ..views.frames import Labelled, check_shared, nothing_shared, reason, warn_of_near_labels
from .base import KeptColumns, Loaded, Options, Source, Table, ViewTables, counted, no_column, without_copies
from .cells import NUMBER, TEXT, as_kinds
from .matching import (
    ID_COLUMN,
    REMEDIES,
    Matching,
    View,
    among,
    as_text,
    is_text,
    is_whole,
    joined,
    match,
    matched_views,
    matrix_table,
    no_columns,
    overlap,
    read_matrix,
    targets_of,
    with_text_labels,
)
from .rows import PARQUET_SUFFIXES, parquet_names
from .sources import READERS, TargetPlace, check_distinct, load, sources, target_place
from .text import SEPARATORS, format_suffix, opened, scan, started


def read_views(
    paths: Any,
    target: Any = None,
    *,
    id: Any = None,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    na_values: Any = None,
    keep_columns: Any = (),
) -> ViewTables:
    """Read views from files, match their rows by sample id, and align the targets.

    Each file is a view. Samples that a table lacks have that view missing (NaN in all its columns), which kernels and
    combiners take. What was done with each file is in the result and is logged (logger ``kernelweave.files``, level
    INFO).

    Parameters
    ----------
    paths : sequence of paths, or mapping from name to path
        A view is named by its file without suffixes (``rna.csv.gz`` is the view ``rna``), or as given, by a mapping, by
        ``"name=path"`` or by ``(name, path)``. Formats: .csv, .tsv, .tab and .txt (also compressed: .gz, .bz2, .xz),
        .parquet and .pq (needs pyarrow), .npy, .npz (each array is a view; an array ``ids`` holds the sample ids),
        .h5mu and .h5ad (needs mudata; each modality is a view, and its ``obs_names`` are the sample ids).
    target : str, optional
        ``"file:column"``, or the name of a column that one of the views' tables has; it is no part of the view then.
        The file is looked for where it is given, and beside the views. None, as for new samples: no y.
    id : str, mapping, None or False
        The column of the sample ids, for all tables or by view. None: the first column where it has unique text, and
        otherwise the order of rows, where all tables have equally many. False: the order of rows. Ids are compared as
        text: 7 and 7.0 are "7"; "007" is another.
    sep : str, optional
        What separates the columns of text files; found out where None.
    decimal : str
        The decimal mark of text files, "." or ",".
    encoding : str, optional
        The encoding of text files; UTF-8 (or UTF-16 with a byte-order mark) where None.
    na_values : str, number or list, optional
        What further cells of text files mean a missing value, beside those of `pandas.read_csv` ("", "NA", "nan", ...).
    keep_columns : sequence of str
        A column of a view that has the name of the target is left out, with a warning: it would give the answer away.
        ``"file:column"`` keeps it, where it is something else.

    Returns
    -------
    ViewTables
        With ``X``, ``y``, ``overlap``, ``matched_by`` and ``unlabelled``.

    Raises
    ------
    ValueError
        One that names file, column and line, and the remedy: repeated or missing ids, lines with too many or too few
        fields, a missing target, a table without usable columns, tables that have no sample in common.
    FileNotFoundError
        Where a file does not exist.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelweave import read_views
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "rna.csv").write_text("sample,TP53,MYC\\np1,0.5,1.5\\np2,2.5,0.1\\np3,1.0,1.0\\n")
    >>> _ = (folder / "clinical.csv").write_text("sample,age,sex\\np3,61,f\\np1,54,m\\n")
    >>> _ = (folder / "labels.csv").write_text("sample,diagnosis\\np1,ill\\np2,well\\np3,well\\np9,ill\\n")
    >>> views = [folder / "rna.csv", folder / "clinical.csv"]
    >>> tables = read_views(views, target="labels.csv:diagnosis", id="sample")
    >>> tables.X
            rna__TP53  rna__MYC  clinical__age clinical__sex
    sample
    p1            0.5       1.5           54.0             m
    p2            2.5       0.1            NaN           NaN
    p3            1.0       1.0           61.0             f
    >>> tables.overlap
                       samples  labelled
    rna                      3         3
    clinical                 2         2
    in all views             2         2
    only with a label        1         1
    without a label          0         0
    in X                     3         3
    """
    options = Options(id, sep, decimal, encoding, na_values)
    return _cohort(sources(paths), [], target, {}, options, KeptColumns(keep_columns)).tables


_BLOCK = 10_000  # labels that are read at a time


def checked_options(options: Options, files: list[Source]) -> Options:
    if isinstance(options.id, Mapping):
        names = dict.fromkeys(name for file in files for name in (file.name, file.path.name))
        # The same mapping may serve new samples, for which the file of the target is not read.
        wrong = [name for name in options.id if name not in names and format_suffix(str(name)) not in READERS]
        if wrong:
            raise ValueError(f"id names {wrong[0]!r}, which is none of the views and files {', '.join(names)}")
        options = replace(options, id=dict(options.id))
    elif options.id is not None and options.id is not False and not (isinstance(options.id, str) and options.id):
        raise ValueError(
            f"id must be a column's name, a mapping from views to names, None or False, not {shown(options.id)}"
        )
    if options.decimal not in (".", ","):
        raise ValueError(f"decimal must be '.' or ',', not {shown(options.decimal)}")
    if options.sep is not None and (not isinstance(options.sep, str) or len(options.sep) != 1):
        raise ValueError(f"sep must be one character, such as ';' or '\\t', or None, not {shown(options.sep)}")
    if options.encoding is not None:
        try:
            codecs.lookup(options.encoding)
        except (LookupError, TypeError):
            raise ValueError(f"encoding must be a name such as 'cp1252', not {shown(options.encoding)}") from None
    return options


def loaded(
    views: list[Source], place: TargetPlace | None, options: Options, kept: KeptColumns
) -> tuple[list[Table], Table | None]:
    column = None if place is None else place.column
    if place is not None and place.source is not None and column is None:
        column = _only_column(place.source, options)
    loads: list[Loaded] = []
    labels: list[Table] = []
    for view in views:
        is_asked = place is not None and place.source in (None, view)
        loads.append(load(view, options, column if is_asked else None))
        found = loads[-1].target
        if found is not None:
            labels.append(found)
        elif is_asked and place is not None and place.source is view:
            raise ValueError(no_column(loads[-1].columns, str(column), f"{view.shown} has no", "target"))
        if not loads[-1].tables and found is None:
            raise ValueError(no_columns(view.shown))
    if place is not None and place.source is not None and place.source not in views:
        content = load(place.source, options, column)
        if content.target is None:
            raise ValueError(no_column(content.columns, str(column), f"{place.source.shown} has no", "target"))
        labels.append(content.target)
    tables = [table for one in loads for table in one.tables]
    check_names(tables)
    if place is None:
        kept.check_used(None)
        return tables, None
    target = _only_one(labels, str(column), [name for one in loads for name in one.columns], views)
    tables = without_copies(tables, str(column), kept)
    kept.check_used(str(column))
    return tables, target


def _only_column(source: Source, options: Options) -> str:
    columns = load(source, options, None).columns
    wanted = options.id_of(source)
    others = [name for name in columns if name != wanted] if isinstance(wanted, str) else columns[len(columns) > 1 :]
    if len(others) != 1:
        listed = ", ".join(others[:8])
        raise ValueError(
            f"{source.shown} has {len(others)} columns that could be the target ({listed}); pass 'FILE:COLUMN'"
        )
    return others[0]


def _only_one(labels: list[Table], column: str, columns: list[str], views: list[Source]) -> Table:
    if not labels:
        start = f"{views[0].shown} has no" if len(views) == 1 else f"none of the {len(views)} files has a"
        raise ValueError(no_column(columns, column, start, "target"))
    if len(labels) > 1:
        files = " and ".join(table.shown for table in labels)
        raise ValueError(f"the target {column!r} is a column of {files}; pass target='{labels[0].shown}:{column}'")
    return labels[0]


def check_names(tables: list[Table]) -> None:
    named = [(table.name, table.shown) for table in tables]
    check_distinct(named, "name one of the files, such as paths={{'first': ..., 'second': ...}}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Cohort:
    """Samples read from files; in X each similarity matrix is a column of its name: the sample's id there, or NaN."""

    tables: ViewTables
    matrices: dict[str, pd.DataFrame]
    groups: pd.Series | None
    event: pd.Series | None = None  # of survival, as it stands in its column; NaN where a sample has none


def read_cohort(
    paths: Sequence[Any],
    target: Any = None,
    *,
    matrices: Sequence[Any] = (),
    groups: str | None = None,
    event: str | None = None,
    id: Any = None,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    na_values: Any = None,
    keep_columns: Any = (),
) -> Cohort:
    """Read views, similarity matrices, targets, groups and events from files and match their samples by id.

    Arguments are those of `read_views`, and three more. `matrices` are files, as "name=path" or (name, path), with the
    ids of the samples in the first column and in the first line; samples that are in matrices only count too, and there
    may be no views beside them. `groups` is ``"file:column"``, or a column of one of the views, which is no part of the
    view then: samples of the same group are kept together in cross-validation. `event` is such a column, too: it says
    of a target of times which of them are times of an event.
    """
    if not len(paths) and not len(matrices):
        raise ValueError("give at least one file of a view, or a similarity matrix")
    views = sources(paths) if len(paths) else []
    compared = sources(matrices) if len(matrices) else []
    options = Options(id, sep, decimal, encoding, na_values)
    return _cohort(views, compared, target, {"groups": groups, "event": event}, options, KeptColumns(keep_columns))


def _cohort(
    views: list[Source],
    compared: list[Source],
    target: Any,
    further: Mapping[str, str | None],
    options: Options,
    kept: KeptColumns,
) -> Cohort:
    beside = [*views, *compared]  # where further files are looked for
    place = None if target is None else target_place(target, beside)
    places = {role: target_place(where, beside, role=role) for role, where in further.items() if where is not None}
    if not views and place is not None and place.source is None:
        raise ValueError(f"without files of views the target {target!r} needs a file; pass FILE:COLUMN")
    asked = [one.source for one in (place, *places.values()) if one is not None and one.source is not None]
    options = checked_options(options, [*beside, *asked])
    found = {source.name: read_matrix(source, options) for source in compared}
    tables, labels = loaded(views, place, options, kept)
    columns = {role: _further(role, one, tables, labels, options) for role, one in places.items()}
    tables = [table for table in tables if table.values.shape[1]]
    tables += [matrix_table(source.name, source.shown, found[source.name]) for source in compared]
    check_names(tables)
    labelled = [] if labels is None else [labels]
    matching = match([*tables, *columns.values(), *labelled], options.id)
    result = joined(tables, labels, matching)
    if found:
        renamed = {f"{name}__{ID_COLUMN}": name for name in found}
        others = None if result.unlabelled is None else result.unlabelled.rename(columns=renamed)
        result = replace(result, X=result.X.rename(columns=renamed), unlabelled=others)
    ids = dict(zip(columns, matching.ids[len(tables) :], strict=False))
    groups, event = (columns.get(role) for role in ("groups", "event"))
    samples = result.X.index
    return Cohort(
        tables=result,
        matrices={name: with_text_labels(matrix) for name, matrix in found.items()},
        groups=None if groups is None else _matched_groups(groups, ids["groups"], samples),
        event=None if event is None else targets_of(event, pd.Index(ids["event"])).reindex(samples),
    )


def _further(role: str, place: Any, tables: list[Table], labels: Table | None, options: Options) -> Table:
    """The table of the column of groups or events, which is taken out of the view where it stands in one."""
    column = place.column
    if column is None:
        raise ValueError(f"--{role} names no column; pass --{role} {place.source.shown}:COLUMN")
    if labels is not None and str(labels.values.columns[0]) == column and _is_of(labels, place.source):
        raise ValueError(f"the column {column!r} of {labels.shown} is both target and {role}; name two columns")
    within = [
        table
        for table in tables
        if _is_of(table, place.source) and isinstance(table.values, pd.DataFrame) and column in table.values.columns
    ]
    if len(within) > 1:
        files = " and ".join(table.shown for table in within)
        raise ValueError(f"the column {column!r} of the {role} is in {files}; pass FILE:COLUMN")
    if within:
        table = within[0]
        values = table.values[[column]]
        table.values = table.values.drop(columns=column)
        return Table(table.name, table.shown, values, table.key, table.lines, n_trailing=table.n_trailing)
    if place.source is None:
        raise ValueError(f"none of the views has the column {column!r} of the {role}; pass FILE:COLUMN")
    content = load(place.source, options, column)
    if content.target is None:
        raise ValueError(no_column(content.columns, column, f"{place.source.shown} has no", role))
    return content.target


def _is_of(table: Table, source: Source | None) -> bool:
    return source is None or table.shown == source.shown


def _matched_groups(grouping: Table, ids: Any, samples: pd.Index) -> pd.Series:
    column = grouping.values.iloc[:, 0].set_axis(ids)
    column = column[column.notna()]
    absent = samples[~among(samples, column.index)]
    if len(absent):
        near = difference(absent, column.index)
        remedy = "a sample that belongs to no group needs one of its own"
        if near is not None and near.is_sure:
            remedy = f"{near.sentence('the views', grouping.shown)}; {REMEDIES.alike}"
        raise ValueError(
            f"{grouping.shown}, column {column.name!r}: {counted(len(absent), 'sample')} of {len(samples)} "
            f"{'has' if len(absent) == 1 else 'have'} no group, such as {str(absent[0])!r}; {remedy}"
        )
    return column.loc[samples].map(_as_name).rename(str(column.name))


def _as_name(value: Any) -> str:
    """A group as text: 7 and 7.0 (a number in a column with gaps) are one group."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class _BufferedRows:
    """Rows, labelled by sample, and a mask of those that were not taken yet."""

    def __init__(self, rows: Any):
        self.rows, self.waits = rows, np.ones(len(rows), dtype=bool)

    def places(self, samples: pd.Index) -> np.ndarray:
        found = self.rows.index.get_indexer(samples)
        return found[found >= 0]

    def take(self, places: np.ndarray) -> Any:
        self.waits[places] = False
        return self.rows.iloc[places]

    def left(self) -> Any:
        return self.rows[self.waits]


class RowBuffer:
    """Rows, each sample once, that arrive in the order of a file and leave in that of the blocks.

    Where these are the same, at most a block and a chunk of the file wait at a time. Parts that wait longer are merged
    so that each is over twice as large as the next: a block then looks into few of them, however many chunks there
    were. `nothing` is the view without rows.
    """

    def __init__(self, chunks: Iterator[Any], nothing: Any):
        self._chunks, self._nothing = chunks, nothing
        self._parts: list[_BufferedRows] = []

    def take(self, samples: pd.Index, n_rows: int) -> Any:
        found = [(part, part.places(samples)) for part in self._parts]
        while sum(len(places) for _, places in found) < n_rows:
            part = _BufferedRows(next(self._chunks))
            self._parts.append(part)
            found.append((part, part.places(samples)))
        taken = [part.take(places) for part, places in found if len(places)]
        self._tidy()
        rows = self._nothing if not taken else taken[0] if len(taken) == 1 else pd.concat(taken)
        return rows if rows.index.equals(samples) else rows.reindex(samples)

    def _tidy(self) -> None:
        parts: list[_BufferedRows] = []
        for part in self._parts:
            if not part.waits.any():
                continue
            parts.append(part)
            while len(parts) > 1 and parts[-2].waits.sum() <= 2 * parts[-1].waits.sum():
                last, before = parts.pop(), parts.pop()
                parts.append(_BufferedRows(pd.concat([before.left(), last.left()])))
        is_sparse = [2 * part.waits.sum() < len(part.waits) for part in parts]
        self._parts = [
            _BufferedRows(part.left()) if sparse else part for part, sparse in zip(parts, is_sparse, strict=True)
        ]


def column_names(path: Any, options: Options) -> list[str]:
    """The names above the columns of a text or Parquet file; none for files of other formats."""
    (source,) = sources([path])
    suffix = format_suffix(source.path.name)
    options = replace(options, id=None)
    if suffix in SEPARATORS:
        with opened(source, options) as handle:
            header, _ = started(handle, source, options, None)
            return [name for name in header.names if name]
    return parquet_names(source) if suffix in PARQUET_SUFFIXES else []


def read_views_in_blocks(
    paths: Any,
    *,
    target: Any = None,
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
    target : str, optional
        As for `read_views`; targets are in ``ViewBlocks.y``. Blocks have samples without a target, too. A column of a
        view is no part of it then, unless `columns` names it.
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
    place = None if target is None else target_place(target, files)
    beside = [] if place is None or place.source is None else [place.source]
    options = checked_options(Options(id, sep, decimal, encoding, na_values), [*files, *beside])
    if isinstance(block_size, bool) or not isinstance(block_size, int | np.integer) or block_size < 1:
        raise ValueError(f"block_size must be a whole number of at least 1, not {shown(block_size)}")
    kinds = _checked_types(types)
    wanted = None if columns is None else set(columns)
    unread = {f"{view}{SEPARATOR}{name}" for view, names in (ids_of or {}).items() for name in names}
    labels = None if place is None else labels_in(place, files, options, int(block_size))
    tables: list[Table] = []
    for file in files:
        column = None if labels is None or labels.shown != file.shown else str(labels.values.columns[0])
        column = None if f"{file.name}{SEPARATOR}{column}" in (wanted or ()) else column
        tables += _tables_of(file, options, wanted, kinds, column, ids_of=tuple(ids_of or ()), size=int(block_size))
    check_names(tables)
    further = [] if labels is None else [labels]
    if wanted is not None:
        for table in [*tables, *further]:
            _take_first_column_as_ids(table, wanted | unread)
    matching = match([*tables, *further], options.id)
    views, matched_by, order = matched_views(tables, matching, columns=wanted, unread=tuple(ids_of or ()))
    labelled = [view.labelled for view in views]
    check_shared(labelled, REMEDIES)
    warn_of_near_labels(labelled, labelled, REMEDIES)
    of_views = matching.ids[: len(tables)]
    everyone = pd.Index(dict.fromkeys(sample for ids in of_views for sample in ids), name=order.name)
    return ViewBlocks(
        n_samples=len(order),
        block_size=int(block_size),
        overlap=overlap(views, order),
        matched_by=matched_by,
        empty=everyone[~among(everyone, order)],
        y=None if labels is None else matched_labels(labels, matching, everyone),
        _views=views,
    )


def labels_in(place: TargetPlace, files: list[Source], options: Options, size: int) -> Table:
    """The column of the target, of text files without their other columns."""
    column = place.column
    if column is None:
        assert place.source is not None
        column = _only_column(place.source, options)
    found: list[Table] = []
    names: list[str] = []
    for file in files if place.source is None else [place.source]:
        if format_suffix(file.path.name) in SEPARATORS:
            there = column_names(file.path, options)
            found += [_text_column(file, options, column, size)] if column in there else []
        else:
            content = load(file, options, column)
            there = content.columns
            found += [] if content.target is None else [content.target]
        names += there
    if place.source is not None and not found:
        raise ValueError(no_column(names, column, f"{place.source.shown} has no", "target"))
    return _only_one(found, column, names, files)


def targets_of_matrices(
    target: Any, paths: Sequence[Any], matrices: Mapping[str, pd.DataFrame], options: Options
) -> pd.Series:
    """The targets of the samples in the rows of similarity matrices, where there are no other files."""
    files = sources(paths)
    place = target_place(target, files)
    if place.source is None:
        raise ValueError(f"without files of views the target {target!r} needs a file; pass FILE:COLUMN")
    options = checked_options(options, [*files, place.source])
    labels = labels_in(place, files, options, _BLOCK)
    tables = [matrix_table(file.name, file.shown, matrices[file.name]) for file in files if file.name in matrices]
    _take_first_column_as_ids(labels, set())
    matching = match([*tables, labels], options.id)
    return matched_labels(labels, matching, pd.Index(np.concatenate(matching.ids[: len(tables)])))


def _text_column(file: Source, options: Options, column: str, size: int) -> Table:
    table = scan(file, options, columns={column}, kinds={}, target=column, size=size)
    if column == options.id_of(file):
        raise ValueError(f"{file.shown}: the column {column!r} is both id and target; name two different columns")
    values = pd.concat([*table.chunks(np.ones(table.n_rows, dtype=bool), size)], ignore_index=True)
    return Table(file.name, file.shown, values, table.key, table.lines, n_trailing=table.n_trailing)


def matched_labels(labels: Table, matching: Matching, samples: pd.Index) -> pd.Series:
    """The targets that are there, by the ids of samples; `labels` are the last of the tables that were matched."""
    y = targets_of(labels, pd.Index(matching.ids[-1]))
    if not among(y.index, samples).any():
        views, own = Labelled("the views", samples, pd.Index([])), Labelled(labels.shown, y.index, pd.Index([]))
        raise ValueError(f"{nothing_shared(views, own)}: {reason(views, y.index, REMEDIES)}")
    return y


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
    y : Series or None
        The targets that are there, by sample, also of samples that no block has; None where no target was asked for.

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
    y: pd.Series | None
    _views: list[View]

    def __iter__(self) -> Iterator[pd.DataFrame]:
        done = pd.Index([], dtype=object)
        for first in self._views:
            # The samples that this view has and none before it: all views go through them together.
            samples = first.ids[~among(first.ids, done)]
            done = done.append(samples) if len(done) else samples
            if len(samples):
                yield from self._blocks(samples)

    def _blocks(self, samples: pd.Index) -> Iterator[pd.DataFrame]:
        buffers = [RowBuffer(view.chunks(samples, self.block_size), view.nothing()) for view in self._views]
        there = [among(samples, view.ids) for view in self._views]
        for start in range(0, len(samples), self.block_size):
            block = slice(start, start + self.block_size)
            rows = {
                view.table.name: buffer.take(samples[block], int(is_there[block].sum()))
                for view, buffer, is_there in zip(self._views, buffers, there, strict=True)
            }
            yield stack_views(rows)

    def __repr__(self) -> str:
        return f"ViewBlocks of {counted(self.n_samples, 'sample')}, at most {self.block_size} in each"


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
    """Take a first column that no view has as the ids for sure."""
    key = table.key
    if key is None or key.is_certain or f"{table.name}{SEPARATOR}{key.name}" in columns:
        return
    texts = as_text(key.values[: table.n_filled])
    if is_text(key, texts) or (is_whole(texts) and len(set(texts)) == len(texts)):
        table.key = replace(key, is_certain=True)


def _tables_of(
    file: Source,
    options: Options,
    columns: set[str] | None,
    kinds: dict[str, str],
    target: str | None,
    *,
    ids_of: Collection[str],
    size: int,
) -> list[Table]:
    if format_suffix(file.path.name) in SEPARATORS:
        columns = set() if file.name in ids_of else columns
        start = f"{file.name}{SEPARATOR}"
        own = None if columns is None else {name.removeprefix(start) for name in columns if name.startswith(start)}
        named = {name.removeprefix(start): kind for name, kind in kinds.items() if name.startswith(start)}
        return [scan(file, options, columns=own, kinds=named, target=target, size=size)]
    tables = load(file, options, target).tables
    for table in tables:
        if not sp.issparse(table.values):
            table.values = _typed(table, options, columns, kinds)
    # Of several, some may have none that is asked for.
    tables = [table for table in tables if table.values.shape[1] or table.name in ids_of]
    if not tables:
        raise ValueError(no_columns(file.shown, file.name, columns))
    return tables


def _typed(table: Table, options: Options, columns: set[str] | None, kinds: dict[str, str]) -> pd.DataFrame:
    own = {name: f"{table.name}{SEPARATOR}{name}" for name in table.values.columns}
    frame = table.values[[name for name in own if columns is None or own[name] in columns]]
    holds = {
        name: kinds.get(own[name]) or (NUMBER if pd.api.types.is_numeric_dtype(dtype) else TEXT)
        for name, dtype in frame.dtypes.items()
    }
    return as_kinds(frame, holds, options.decimal, lambda row: f"{table.shown}, {table.place(row)}")
