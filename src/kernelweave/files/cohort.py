"""`read_cohort`: views, similarity matrices, targets and groups of the same samples, from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from .joining import joined
from .matching import Matching, match
from .matrices import ID_COLUMN, matrix_table, read_matrix, with_text_labels
from .reading import check_names, checked_options, loaded
from .result import ViewTables, counted
from .sources import load, sources, target_place
from .table import Options, Source, Table, no_column
from .target_copies import KeptColumns


@dataclass(frozen=True, eq=False, kw_only=True)
class Cohort:
    """Samples that were read from files.

    Attributes
    ----------
    tables : ViewTables
        As `read_views` returns them; for each similarity matrix X has a column of the matrix' name with the sample's id
        in it, NaN where the matrix lacks the sample.
    matrices : dict from name to DataFrame
        Similarities, with the samples' ids as labels of rows and columns.
    groups : Series or None
        The group of each sample of X, as text.
    """

    tables: ViewTables
    matrices: dict[str, pd.DataFrame]
    groups: pd.Series | None


def read_cohort(
    paths: Sequence[Any],
    target: Any = None,
    *,
    matrices: Sequence[Any] = (),
    groups: str | None = None,
    id: Any = None,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    na_values: Any = None,
    keep_columns: Any = (),
) -> Cohort:
    """Read views, similarity matrices, targets and groups from files and match their samples by id.

    Parameters
    ----------
    paths : sequence
        Files of views, as for `read_views`; there may be none where there are matrices.
    target : str, optional
        As for `read_views`.
    matrices : sequence of "name=path" or (name, path)
        Files with the ids of the samples in the first column and in the first line. Samples that are in matrices only
        count too.
    groups : str, optional
        ``"file:column"``, or a column of one of the views, which is no part of the view then: samples of the same group
        are kept together in cross-validation.
    id, sep, decimal, encoding, na_values, keep_columns
        As for `read_views`; the ids of matrices stand in their first columns, whatever these are called.

    Returns
    -------
    Cohort

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelweave.files.cohort import read_cohort
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "blood.csv").write_text("sample,iron\\nann,1.5\\nbob,2.5\\n")
    >>> _ = (folder / "trees.csv").write_text(",bob,cid\\nbob,1.0,0.5\\ncid,0.5,1.0\\n")
    >>> _ = (folder / "labels.csv").write_text("sample,diagnosis,clinic\\nann,ill,A\\nbob,well,A\\ncid,ill,B\\n")
    >>> cohort = read_cohort(
    ...     [folder / "blood.csv"],
    ...     "labels.csv:diagnosis",
    ...     matrices=[f"trees={folder / 'trees.csv'}"],
    ...     groups="labels.csv:clinic",
    ... )
    >>> cohort.tables.X.assign(y=cohort.tables.y, group=cohort.groups)
            blood__iron trees     y group
    sample
    ann             1.5   NaN   ill     A
    bob             2.5   bob  well     A
    cid             NaN   cid   ill     B
    """
    if not len(paths) and not len(matrices):
        raise ValueError("give at least one file of a view, or a similarity matrix")
    views = sources(paths) if len(paths) else []
    compared = sources(matrices) if len(matrices) else []
    beside = [*views, *compared]  # where further files are looked for
    place = None if target is None else target_place(target, beside)
    group_place = None if groups is None else target_place(groups, beside, role="groups")
    if not views and place is not None and place.source is None:
        raise ValueError(f"without files of views the target {target!r} needs a file; pass FILE:COLUMN")
    asked = [one.source for one in (place, group_place) if one is not None and one.source is not None]
    options = checked_options(Options(id, sep, decimal, encoding, na_values), [*beside, *asked])
    found = {source.name: read_matrix(source, options) for source in compared}
    tables, labels = loaded(views, place, options, KeptColumns(keep_columns))
    grouping = None if group_place is None else _groups(group_place, tables, labels, options)
    tables = [table for table in tables if table.values.shape[1]]
    tables += [matrix_table(source.name, source.shown, found[source.name]) for source in compared]
    check_names(tables)
    further = [table for table in (grouping, labels) if table is not None]
    matching = match([*tables, *further], options.id)
    result = joined(tables, labels, matching)
    renamed = {f"{name}__{ID_COLUMN}": name for name in found}
    result = replace(
        result,
        X=result.X.rename(columns=renamed),
        unlabelled=None if result.unlabelled is None else result.unlabelled.rename(columns=renamed),
    )
    return Cohort(
        tables=result,
        matrices={name: with_text_labels(matrix) for name, matrix in found.items()},
        groups=_matched_groups(grouping, matching, len(tables), result.X.index),
    )


def _groups(place: Any, tables: list[Table], labels: Table | None, options: Options) -> Table:
    """The column of the groups, taken out of the view's table where it stands in one."""
    column = place.column
    if column is None:
        raise ValueError(f"the groups need a column; pass --groups {place.source.shown}:COLUMN")
    if labels is not None and str(labels.values.columns[0]) == column and _is_of(labels, place.source):
        raise ValueError(f"the column {column!r} of {labels.shown} is both target and groups; name two columns")
    within = [
        table
        for table in tables
        if _is_of(table, place.source) and isinstance(table.values, pd.DataFrame) and column in table.values.columns
    ]
    if len(within) > 1:
        files = " and ".join(table.shown for table in within)
        raise ValueError(f"the column {column!r} of the groups is in {files}; pass FILE:COLUMN")
    if within:
        table = within[0]
        values = table.values[[column]]
        table.values = table.values.drop(columns=column)
        return Table(table.name, table.shown, values, table.key, table.lines, n_trailing=table.n_trailing)
    if place.source is None:
        raise ValueError(f"none of the views has the column {column!r} of the groups; pass FILE:COLUMN")
    content = load(place.source, options, column)
    if content.target is None:
        raise ValueError(no_column(content.columns, column, f"{place.source.shown} has no", "groups"))
    return content.target


def _is_of(table: Table, source: Source | None) -> bool:
    return source is None or table.shown == source.shown


def _matched_groups(grouping: Table | None, matching: Matching, place: int, samples: pd.Index) -> pd.Series | None:
    if grouping is None:
        return None
    column = grouping.values.iloc[:, 0].set_axis(matching.ids[place])
    column = column[column.notna()]
    absent = samples[~samples.isin(column.index)]
    if len(absent):
        raise ValueError(
            f"{grouping.shown}, column {column.name!r}: {counted(len(absent), 'sample')} of {len(samples)} "
            f"{'has' if len(absent) == 1 else 'have'} no group, such as {str(absent[0])!r}; a sample that belongs to "
            "no group needs one of its own"
        )
    return column.loc[samples].map(_as_name).rename(str(column.name))


def _as_name(value: Any) -> str:
    """A group as text: 7 and 7.0 (a number in a column with gaps) are one group."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
