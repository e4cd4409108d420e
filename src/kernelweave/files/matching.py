"""Which rows of several tables belong to the same sample, and the tables with matched rows side by side.

Ids are compared as text: 7, 7.0 and "7" are one id, and "007" is another. Where no id column is named, a first column
of unique text is taken, or a first column of unique whole numbers that all tables have under one name and with mostly
the same values. Otherwise rows are matched by their order: all tables are then of equal length, and those that have ids
have the same ones in the same order.

A similarity matrix has the ids of the rows in the first column and those of the columns in the first line. It becomes a
table with one column, the ids of its rows, so that its samples are matched as any other view's.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .._warnings import warn
from ..validation.columns import SEPARATOR
from ..views import stack_views
from ..views.frames import Labelled, Remedies, check_shared, nothing_shared, reason, warn_of_near_labels
from .base import Key, Options, Source, Table, ViewTables, counted, unescaped
from .cells import without_blanks
from .sources import load

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"-?\d+")
_FLOAT = re.compile(r"(-?\d+)\.0+")
_ROW_ORDER = "row order"


@dataclass(frozen=True)
class Matching:
    """The id of each row of each table, positions where there are none, and how its rows were matched, in words."""

    ids: list[np.ndarray]
    how: list[str]
    name: str | None
    keys: list[Key | None]


def match(tables: list[Table], wanted: Any) -> Matching:
    chosen = _chosen_keys(tables)
    _cut_empty_rows(tables, chosen)
    keys = [table.key if table.key is not None and id(table.key) in chosen else None for table in tables]
    ids: list[Any] = [
        None if key is None else _checked(chosen[id(key)], key, t) for key, t in zip(keys, tables, strict=True)
    ]
    how = [_ROW_ORDER if key is None else key.how for key in keys]
    if all(key is None for key in keys):
        _check_lengths(tables)
        _warn_of_numbered_rows(tables)
        return Matching([np.arange(table.n_rows) for table in tables], how, None, keys)
    if any(key is None for key in keys):
        common = _common_order(tables, ids)
        ids = [common if one is None else one for one in ids]
    named = (key.name for key in keys if key is not None and key.name and not key.name.startswith("Unnamed: "))
    return Matching(ids, how, wanted if isinstance(wanted, str) else next(named, None), keys)


def as_text(values: Any) -> list[str | None]:
    texts = [_one_as_text(value) for value in values]
    if all(text is None or _FLOAT.fullmatch(text) for text in texts):  # whole numbers, which were written as floats
        return [None if text is None else text.partition(".")[0] for text in texts]
    return texts


def _one_as_text(value: Any) -> str | None:
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if isinstance(value, str):
        return unescaped(value.strip()).strip() or None
    if value is None or pd.isna(value):
        return None
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _chosen_keys(tables: list[Table]) -> dict[int, list[str | None]]:
    """The keys that hold ids, by identity, each with the ids as text."""
    keys = {id(table.key): table.key for table in tables if table.key is not None}
    texts = {id(table.key): as_text(table.key.values[: table.n_filled]) for table in tables if table.key is not None}
    chosen = {one: texts[one] for one, key in keys.items() if key.is_certain or _is_unique_text(key, texts[one])}
    doubtful = [one for one in keys if one not in chosen]
    if len(doubtful) > 1 and len(doubtful) == len(keys) and _are_shared_numbers([keys[d] for d in doubtful], texts):
        chosen = {one: texts[one] for one in doubtful}
    known = {keys[one].name for one in chosen}
    for one in doubtful:
        # Ids of one table have the same name in others; one that repeats some is no table without ids.
        own = texts[one]
        is_id = is_text(keys[one], own) or (is_whole(own) and len(set(own)) == len(own))
        if one not in chosen and keys[one].name in known and is_id:
            chosen[one] = own
    return chosen


def _cut_empty_rows(tables: list[Table], chosen: dict[int, list[str | None]]) -> None:
    """Cut the empty rows at the end of text files off, where they are not samples that have a row in other tables."""
    n_rows = max(table.n_filled for table in tables)
    for table in tables:
        has_ids = table.key is not None and id(table.key) in chosen
        table.cut(table.n_filled if has_ids else n_rows)


def _is_unique_text(key: Key, texts: list[str | None]) -> bool:
    there = [text for text in texts if text is not None]
    return 2 * len(there) > len(texts) and len(set(there)) == len(there) and is_text(key, texts)


def is_text(key: Key, texts: list[str | None]) -> bool:
    """Whether a column holds text; in a text file, mostly cells that are no numbers, or numbers such as 007."""
    there = [text for text in texts if text is not None]
    if not key.is_raw:
        return bool(there) and isinstance(next(v for v in key.values if _one_as_text(v) is not None), str | bytes)
    if any(re.fullmatch(r"0\d+", text) for text in there):
        return True
    return 2 * sum(_NUMBER.fullmatch(text) is None for text in there) > len(there)


def is_whole(texts: list[str | None]) -> bool:
    return all(text is not None and _WHOLE.fullmatch(text) for text in texts)


def _are_shared_numbers(keys: list[Key], texts: dict[int, list[str | None]]) -> bool:
    columns = [texts[id(key)] for key in keys]
    if len({key.name for key in keys}) > 1:
        return False
    for column in columns:
        if len(set(column)) < len(column) or not is_whole(column):
            return False
    first = set(columns[0])
    return all(2 * len(first & set(column)) >= min(len(first), len(column)) for column in columns[1:])


def _checked(texts: list[str | None], key: Key, table: Table) -> np.ndarray:
    column = f", column {key.name!r}" if key.how.startswith(("column", "first column '")) else f" ({key.how})"
    otherwise = (
        "" if key.is_certain else "; pass id= to name the column of ids, or id=False to match rows by their order"
    )
    if None in texts:
        row = texts.index(None)
        n_missing = texts.count(None)
        more = f" ({n_missing} rows lack it)" if n_missing > 1 else ""
        raise ValueError(
            f"{table.shown}, {table.place(row)}{column}: the sample's id is missing{more}; fill it in, or remove the "
            f"row{otherwise}"
        )
    if len(set(texts)) < len(texts):
        counts = Counter(texts)
        repeated = [text for text, count in counts.items() if count > 1]
        first = texts.index(repeated[0])
        second = texts.index(repeated[0], first + 1)
        more = f" ({len(repeated)} ids are repeated)" if len(repeated) > 1 else ""
        raise ValueError(
            f"{table.shown}{column}: the id {repeated[0]!r} stands in {table.place(first)} and again in "
            f"{table.place(second)}{more}; a sample has one row in each table: remove or rename one of them{otherwise}"
        )
    return np.array(texts, dtype=object)


def _check_lengths(tables: list[Table]) -> None:
    lengths = dict.fromkeys((table.shown, table.n_rows) for table in tables)
    if len({n_rows for _, n_rows in lengths}) > 1:
        listed = ", ".join(f"{shown} has {n_rows}" for shown, n_rows in lengths)
        raise ValueError(
            f"without sample ids rows are matched by their order, but the tables have different numbers of rows "
            f"({listed}); give each table a column of ids and pass its name as id="
        )


def _warn_of_numbered_rows(tables: list[Table]) -> None:
    found = [(table, as_text(table.key.values[: table.n_rows])) for table in tables if table.key is not None]
    numbered = [(table, texts) for table, texts in found if all(text and _WHOLE.fullmatch(text) for text in texts)]
    for table, texts in numbered[1:]:
        first, order = numbered[0]
        if texts != order and len(set(texts)) == len(texts) and set(texts) == set(order):
            names = [one.key.name for one in (first, table) if one.key is not None]
            warn(
                f"rows are matched by their order, but the columns {names[0]!r} of {first.shown} and {names[1]!r} of "
                f"{table.shown} hold the same whole numbers in different orders; if these are ids pass "
                f"id={{{first.name!r}: {names[0]!r}, {table.name!r}: {names[1]!r}}}, and id=False if they are not"
            )
            return


def _common_order(tables: list[Table], ids: list[Any]) -> np.ndarray:
    without = next(table for table, one in zip(tables, ids, strict=True) if one is None)
    labelled = [(table, one) for table, one in zip(tables, ids, strict=True) if one is not None]
    first, order = labelled[0]
    remedy = (
        "give it a column of ids"
        if isinstance(without.values, pd.DataFrame) and without.lines is not None
        else "store ids with it (an array 'ids' in an NPZ file)"
    )
    start = (
        f"{without.shown} has no sample ids, and its rows can be matched by their order only where all tables have the"
    )
    for table, one in labelled[1:]:
        if not np.array_equal(one, order):
            raise ValueError(
                f"{start} same samples in the same order; {first.shown} and {table.shown} differ in that; {remedy}"
            )
    for table, one in zip(tables, ids, strict=True):
        if one is None and table.n_rows != len(order):
            raise ValueError(
                f"{start} same samples; {table.shown} has {table.n_rows} rows and {first.shown} has {len(order)}; "
                f"{remedy}"
            )
    return order


REMEDIES = Remedies(
    alike="write the ids alike, or name the right column as id=",
    turned="transpose the table, such as by pandas.read_csv(FILE, index_col=0).T.to_csv(FILE, index_label='sample')",
)
_log = logging.getLogger("kernelweave.files")


@dataclass(frozen=True)
class View:
    """The rows of a table that hold something (where `rows` is true), with their ids."""

    table: Table
    rows: np.ndarray
    ids: pd.Index

    @property
    def labelled(self) -> Labelled:
        return Labelled(self.table.shown, self.ids, self.table.features)

    def nothing(self) -> Any:
        return next(self.table.chunks(np.zeros_like(self.rows), 1))

    def all_rows(self) -> Any:
        return next(self.table.chunks(self.rows, len(self.ids))).set_axis(self.ids, axis=0)

    def chunks(self, samples: pd.Index, size: int) -> Iterator[Any]:
        """The rows of some samples, in the order of the file, perhaps `size` at a time."""
        is_wanted = among(self.ids, samples)
        if not is_wanted.any():
            return
        rows = self.rows.copy()
        rows[rows] = is_wanted
        ids, done = self.ids[is_wanted], 0
        for frame in self.table.chunks(rows, size):
            yield frame.set_axis(ids[done : done + len(frame)], axis=0)
            done += len(frame)


def among(some: pd.Index, others: pd.Index) -> np.ndarray:
    """Which ids are among others, each of which is there once; `Index.isin` takes fifty times as long for text."""
    return others.get_indexer(some) >= 0


def joined(tables: list[Table], labels: Table | None, matching: Matching) -> ViewTables:
    views, matched_by, order = matched_views(tables, matching, labels=labels)
    labelled = [view.labelled for view in views]
    if labels is None:
        check_shared(labelled, REMEDIES)
        warn_of_near_labels(labelled, labelled, REMEDIES)
        return ViewTables(
            X=_stacked(views, order), y=None, overlap=overlap(views, order), matched_by=matched_by, unlabelled=None
        )
    y = targets_of(labels, pd.Index(matching.ids[-1], name=matching.name))
    if all(labels.shown != view.table.shown for view in views):
        matched_by = pd.concat([matched_by, _matched({labels.shown: matching.how[-1]})])
    _check_labelled(views, y.index, labels, dict(zip([table.name for table in tables], matching.ids, strict=False)))
    warn_of_near_labels(labelled, [Labelled(labels.shown, y.index, pd.Index([]))], REMEDIES)
    is_labelled = among(order, y.index)
    chosen = order[is_labelled]
    _log.info(
        "%s: target %r, %s, rows matched by %s; %s with a label and a view",
        *(labels.shown, y.name, counted(len(y), "label"), matching.how[-1], counted(len(chosen), "sample")),
    )
    return ViewTables(
        X=_stacked(views, chosen),
        y=y.loc[chosen],
        overlap=overlap(views, order, y.index),
        matched_by=matched_by,
        unlabelled=_stacked(views, order[~is_labelled]),
    )


def matched_views(
    tables: list[Table],
    matching: Matching,
    *,
    labels: Table | None = None,
    columns: set[str] | None = None,
    unread: Collection[str] = (),
) -> tuple[list[View], pd.Series, pd.Index]:
    """The tables that are views, how the rows of each were matched, and all samples in order."""
    views, how = [], {}
    for table, ids, key, by in zip(tables, matching.ids, matching.keys, matching.how, strict=False):
        if key is not None:
            table.without_key(key)
        if table.name in unread:
            continue
        if len(table.features):
            is_filled = _filled_rows(table)
            views.append(View(table, is_filled, pd.Index(ids, name=matching.name)[is_filled]))
            how[table.name] = by
        elif table.has_lost_columns or (labels is not None and labels.shown == table.shown):
            _log.info("%s holds ids and the target only, and is no view", table.shown)
        else:
            raise ValueError(no_columns(table.shown, table.name, columns))
    for view in views:
        _log.info(
            "%s: view %r, %s, %s, rows matched by %s",
            *(view.table.shown, view.table.name, counted(len(view.ids), "sample")),
            *(counted(len(view.table.features), "column"), how[view.table.name]),
        )
    if not views:
        raise ValueError("no file has columns for a view beside ids and target; give the files of the views as paths")
    return views, _matched(how), _in_order([view.ids for view in views])


def no_columns(shown: str, name: str = "", columns: set[str] | None = None) -> str:
    start = f"{name}{SEPARATOR}"
    wanted = sorted(column.removeprefix(start) for column in columns or () if column.startswith(start))
    if not wanted:
        return f"{shown} has no column beside the ids; a view needs one: add columns, or leave the file out"
    listed = ", ".join(map(repr, wanted[:3])) + (", ..." if len(wanted) > 3 else "")
    return f"{shown} has none of the {len(wanted)} columns of the view {name!r} ({listed}); is it the right file?"


def _filled_rows(table: Table) -> np.ndarray:
    is_filled = table.is_filled()
    if not is_filled.any():
        raise ValueError(
            f"{table.shown} has no usable column: every cell beside the ids is empty or means a missing value; fill "
            "them in, or leave the file out: the view is then missing for all samples"
        )
    if not is_filled.all():
        row = int(np.flatnonzero(~is_filled)[0])
        _log.info(
            "%s: %s without any value (first %s): the view is missing for these samples",
            *(table.shown, counted(int((~is_filled).sum()), "row"), table.place(row)),
        )
    return is_filled


def _in_order(indexes: list[pd.Index]) -> pd.Index:
    samples = dict.fromkeys(sample for index in indexes for sample in index)
    return pd.Index(list(samples), name=indexes[0].name, dtype=indexes[0].dtype)


def _stacked(views: list[View], samples: pd.Index) -> pd.DataFrame:
    return stack_views({view.table.name: view.all_rows().reindex(samples) for view in views})


def _matched(by: dict[str, str]) -> pd.Series:
    return pd.Series(by, name="matched_by", dtype=object)


def targets_of(labels: Table, ids: pd.Index) -> pd.Series:
    """The targets that are there, by id: text without blanks around it, whole numbers as such."""
    column = labels.values.iloc[:, 0].set_axis(ids)
    y = column.astype(column.cat.categories.dtype) if isinstance(column.dtype, pd.CategoricalDtype) else column
    if y.dtype == object or pd.api.types.is_string_dtype(y.dtype):
        y = y.map(without_blanks)
    y = y[y.notna()]
    if not len(y):
        raise ValueError(
            f"{labels.shown}, column {column.name!r}: every cell is empty, so no sample has a target; fill them in, or "
            "pass the column of the targets as target='FILE:COLUMN'"
        )
    if y.dtype == object:
        y = y.infer_objects()
    elif not isinstance(y.dtype, np.dtype) and (pd.api.types.is_bool_dtype(y) or pd.api.types.is_numeric_dtype(y)):
        is_whole = pd.api.types.is_integer_dtype(y)
        y = y.astype(bool if pd.api.types.is_bool_dtype(y) else np.int64 if is_whole else np.float64)
    if len(y) < len(column) and pd.api.types.is_float_dtype(y.dtype) and (y == y.round()).all():
        y = y.astype(np.int64)  # pandas reads whole numbers with gaps as floats
    return y


def overlap(views: list[View], order: pd.Index, labelled: pd.Index | None = None) -> pd.DataFrame:
    everywhere = np.logical_and.reduce([among(order, view.ids) for view in views])
    groups = {view.table.name: view.ids for view in views} | {"in all views": order[everywhere]}
    if labelled is None:
        groups["in X"] = order
        return pd.Series({name: len(index) for name, index in groups.items()}).to_frame("samples")
    has_label = among(order, labelled)
    groups["only with a label"] = labelled[~among(labelled, order)]
    groups["without a label"] = order[~has_label]
    groups["in X"] = order[has_label]
    counts = {name: (len(index), int(among(index, labelled).sum())) for name, index in groups.items()}
    return pd.DataFrame.from_dict(counts, orient="index", columns=["samples", "labelled"])


def _check_labelled(views: list[View], labelled: pd.Index, labels: Table, rows: dict[str, np.ndarray]) -> None:
    """Every view has a sample with a label; `rows` are the ids of all rows of each view, empty ones too."""
    for view in views:
        if not among(view.ids, labelled).any():
            if np.isin(rows[view.table.name], labelled).any():
                raise ValueError(
                    f"{view.table.shown} has no value for any sample that has a label in {labels.shown}: the rows of "
                    "these samples are empty; fill them in, or leave the file out"
                )
            of_labels = Labelled(labels.shown, labelled, pd.Index([]))
            raise ValueError(
                f"{nothing_shared(view.labelled, of_labels)}, so the view {view.table.name!r} has no labels: "
                f"{reason(view.labelled, labelled, REMEDIES)}"
            )


ID_COLUMN = "id"  # the one column of a matrix' table


def read_matrix(source: Source, options: Options, *, square: bool = True) -> pd.DataFrame:
    """The similarities in a file, with the ids of rows and columns as text.

    The ids are always the first column (``options.id`` is not used). With `square` rows and columns are the same
    samples, in any order, and columns are put in the order of the rows; otherwise rows are new samples, named as the
    first column is, and columns what they are compared with. Without ids (NPY), pandas' own numbers are the labels.
    """
    with warnings.catch_warnings():
        # Ids that are numbers look like a file without column names.
        warnings.filterwarnings("ignore", message=".* the first line is read as column names")
        loaded = load(source, replace(options, id=None), None)
    if len(loaded.tables) != 1:
        raise ValueError(
            f"{source.shown} must hold one similarity matrix, with the samples' ids in the first column and in the "
            f"first line, and holds {len(loaded.tables)}"
        )
    table = loaded.tables[0]
    frame = _labelled(table)
    wrong = [name for name, dtype in frame.dtypes.items() if not _is_numeric(dtype)]
    if wrong:
        raise ValueError(
            f"{source.shown}, column {wrong[0]!r}: a similarity matrix must hold numbers only, beside the ids in its "
            "first column and first line"
        )
    frame = frame.astype(np.float64)
    missing = np.argwhere(~np.isfinite(frame.to_numpy()))
    if len(missing):
        row, column = missing[0]
        raise ValueError(
            f"{source.shown}, row {frame.index[row]!r}, column {frame.columns[column]!r}: the similarity is missing or "
            "not finite; leave samples without similarities out of the matrix, rows and columns"
        )
    return _squared(frame, source) if square else frame.rename_axis(index=_id_name(table))


def matrix_table(name: str, shown: str, matrix: pd.DataFrame) -> Table:
    """The samples of a matrix as a table to be matched with others; its one column holds their ids in the matrix."""
    ids = matrix.index.astype(str).to_numpy(dtype=object)
    is_labelled = not isinstance(matrix.index, pd.RangeIndex)
    key = Key(str(matrix.index.name or ""), list(ids), "ids of the matrix", is_certain=True) if is_labelled else None
    return Table(name, shown, pd.DataFrame({ID_COLUMN: ids}), key)


def with_text_labels(matrix: pd.DataFrame) -> pd.DataFrame:
    if not isinstance(matrix.index, pd.RangeIndex):
        return matrix
    return matrix.set_axis(matrix.index.astype(str), axis=0).set_axis(matrix.columns.astype(str), axis=1)


def _id_name(table: Table) -> str | None:
    name = "" if table.key is None else str(table.key.name)
    return None if not name or name.startswith("Unnamed: ") else name


def _labelled(table: Table) -> pd.DataFrame:
    values, key = table.values, table.key
    if sp.issparse(values):
        values = pd.DataFrame(values.toarray(), columns=table.columns)
    values = values.iloc[: table.n_filled]
    if key is None:  # an array
        return values.set_axis(pd.RangeIndex(len(values)), axis=0).set_axis(pd.RangeIndex(values.shape[1]), axis=1)
    values = values.drop(columns=key.name, errors="ignore")
    rows = as_text(key.values[: table.n_filled])
    if None in rows:
        raise ValueError(f"{table.shown}, {table.place(rows.index(None))}: the row of the matrix has no id")
    # An NPZ file has ids for the rows only: where the matrix is square they are those of the columns, too.
    is_array = table.lines is None and not key.is_raw and values.shape[0] == values.shape[1]
    names = list(rows) if is_array and not set(map(str, values.columns)) & set(rows) else as_text(values.columns)
    frame = values.set_axis(pd.Index(rows, dtype=object), axis=0).set_axis(pd.Index(names, dtype=object), axis=1)
    for labels, what in ((frame.index, "rows"), (frame.columns, "columns")):
        if not labels.is_unique:
            raise ValueError(f"{table.shown}: the id {labels[labels.duplicated()][0]!r} stands over two {what}")
    return frame


def _is_numeric(dtype: object) -> bool:
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)


def _squared(frame: pd.DataFrame, source: Source) -> pd.DataFrame:
    for some, others, missing in (
        (frame.index, frame.columns, "row but no column"),
        (frame.columns, frame.index, "column but no row"),
    ):
        alone = some[~some.isin(others)]
        if len(alone) and isinstance(frame.index, pd.RangeIndex):
            raise ValueError(f"{source.shown}: a similarity matrix must be square, not of shape {frame.shape}")
        if len(alone):
            raise ValueError(
                f"{source.shown}: a similarity matrix has the same ids in its first column and in its first line, but "
                f"there is a {missing} {alone[0]!r}"
            )
    return frame[frame.index]
