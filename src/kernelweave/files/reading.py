"""`read_views`: read files, match their rows, and put the views side by side."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..validation import shown
from .joining import joined, no_columns
from .matching import match
from .result import ViewTables
from .separators import format_suffix
from .sources import READERS, TargetPlace, load, sources, target_place
from .table import Loaded, Options, Source, Table, no_column
from .target_copies import KeptColumns, without_copies


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
    views = sources(paths)
    place = None if target is None else target_place(target, views)
    files = views if place is None or place.source is None else [*views, place.source]
    options = checked_options(Options(id, sep, decimal, encoding, na_values), files)
    tables, labels = loaded(views, place, options, KeptColumns(keep_columns))
    matching = match([*tables, *([] if labels is None else [labels])], options.id)
    return joined(tables, labels, matching)


def checked_options(options: Options, files: list[Source]) -> Options:
    """The options, or one `ValueError` that names the one at fault."""
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
    """The tables of the views, without other columns of the target's name, and the target's."""
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
    """Refuse two tables of one name."""
    names: dict[str, Table] = {}
    for table in tables:
        other = names.setdefault(table.name, table)
        if other is not table:
            raise ValueError(
                f"the view {table.name!r} would be both {other.shown} and {table.shown}; name one of the files, such "
                "as paths={'first': ..., 'second': ...}"
            )
