"""Tables with matched rows side by side: X, y, the overlap, and what is wrong where there is none."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..views import stack_views
from ..views.frames import Labelled, Remedies, SparseRows, check_shared, nothing_shared, reason
from .matching import Matching
from .result import ViewTables, counted
from .table import Key, Table

REMEDIES = Remedies(
    alike="write the ids alike, or name the right column as id=",
    turned="transpose the table, such as by pandas.read_csv(FILE, index_col=0).T.to_csv(FILE, index_label='sample')",
)
_log = logging.getLogger("kernelweave.files")


@dataclass
class View:
    """The rows of a view that hold something, with their ids.

    The values are a data frame, or a series of sparse rows (None where they are still in the file); `features` are the
    names of what they hold.
    """

    table: Table
    values: Any
    ids: pd.Index
    features: pd.Index

    @property
    def labelled(self) -> Labelled:
        """What a message about its ids needs."""
        return Labelled(self.table.shown, self.ids, self.features)


def joined(tables: list[Table], labels: Table | None, matching: Matching) -> ViewTables:
    """Put matched tables side by side."""
    how = dict(zip([table.name for table in tables], matching.how[: len(tables)], strict=True))
    views = [
        view
        for table, ids, key in zip(tables, matching.ids, matching.keys, strict=False)
        if (view := filled_rows(table, ids, key, labels, matching.name)) is not None
    ]
    matched_by, order = overview(views, how)
    if labels is None:
        check_shared([view.labelled for view in views], REMEDIES)
        return ViewTables(
            X=_stacked(views, order), y=None, overlap=overlap(views, order), matched_by=matched_by, unlabelled=None
        )
    y = _targets(labels, pd.Index(matching.ids[-1], name=matching.name))
    if all(labels.shown != view.table.shown for view in views):
        matched_by = pd.concat([matched_by, _matched({labels.shown: matching.how[-1]})])
    _check_labelled(views, y.index, labels, dict(zip([table.name for table in tables], matching.ids, strict=False)))
    is_labelled = order.isin(y.index)
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


def overview(views: list[View], how: dict[str, str]) -> tuple[pd.Series, pd.Index]:
    """How the rows of each view were matched, and all samples in the order of X; what was found is logged."""
    for view in views:
        n_rows, n_columns = len(view.ids), len(view.features)
        _log.info(
            "%s: view %r, %s, %s, rows matched by %s",
            *(view.table.shown, view.table.name, counted(n_rows, "sample"), counted(n_columns, "column")),
            how[view.table.name],
        )
    if not views:
        raise ValueError("no file has columns for a view beside ids and target; give the files of the views as paths")
    return _matched({view.table.name: how[view.table.name] for view in views}), _in_order([v.ids for v in views])


def filled_rows(table: Table, ids: np.ndarray, key: Key | None, labels: Table | None, name: str | None) -> View | None:
    """A view's rows without those that are wholly empty, or None for a table of ids and target alone."""
    values = table.values
    index = pd.Index(ids, name=name)
    if sp.issparse(values):
        rows = SparseRows(values.astype(np.float64), table.columns)
        return View(table, pd.Series(rows, index=index), index, pd.Index(table.columns))
    if key is not None and key.name in values.columns and not key.is_certain:
        values = values.drop(columns=key.name)
    if not values.shape[1]:
        if table.has_lost_columns or (labels is not None and labels.shown == table.shown):
            _log.info("%s holds ids and the target only, and is no view", table.shown)
            return None
        raise ValueError(no_columns(table.shown))
    is_filled = values.notna().to_numpy().any(axis=1)
    check_filled(table, is_filled)
    values = values.set_axis(index, axis=0)
    if not is_filled.all():
        values = values[is_filled]
    return View(table, values, values.index, values.columns)


def no_columns(shown: str) -> str:
    """A message: a file has ids and nothing else."""
    return f"{shown} has no column beside the ids; a view needs one: add columns, or leave the file out"


def check_filled(table: Table, is_filled: np.ndarray) -> None:
    """Refuse a view without any value; log where some rows have none."""
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


def _in_order(indexes: list[pd.Index]) -> pd.Index:
    """All samples: those of the first view in its order, then further ones of the next."""
    samples = dict.fromkeys(sample for index in indexes for sample in index)
    return pd.Index(list(samples), name=indexes[0].name, dtype=indexes[0].dtype)


def _stacked(views: list[View], samples: pd.Index) -> pd.DataFrame:
    return stack_views({view.table.name: view.values.reindex(samples) for view in views})


def _matched(by: dict[str, str]) -> pd.Series:
    return pd.Series(by, name="matched_by", dtype=object)


def _targets(labels: Table, ids: pd.Index) -> pd.Series:
    """The targets that are there, by id: text without blanks around it, whole numbers as such."""
    column = labels.values.iloc[:, 0].set_axis(ids)
    y = column.astype(column.cat.categories.dtype) if isinstance(column.dtype, pd.CategoricalDtype) else column
    if y.dtype == object or pd.api.types.is_string_dtype(y.dtype):
        y = y.map(lambda value: (value.strip() or None) if isinstance(value, str) else value)
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
    """How many samples there are in each view, in all views and in X."""
    everywhere = np.logical_and.reduce([order.isin(view.ids) for view in views])
    groups = {view.table.name: view.ids for view in views} | {"in all views": order[everywhere]}
    if labelled is None:
        groups["in X"] = order
        return pd.Series({name: len(index) for name, index in groups.items()}).to_frame("samples")
    has_label = order.isin(labelled)
    groups["only with a label"] = labelled[~labelled.isin(order)]
    groups["without a label"] = order[~has_label]
    groups["in X"] = order[has_label]
    counts = {name: (len(index), int(index.isin(labelled).sum())) for name, index in groups.items()}
    return pd.DataFrame.from_dict(counts, orient="index", columns=["samples", "labelled"])


def _check_labelled(views: list[View], labelled: pd.Index, labels: Table, rows: dict[str, np.ndarray]) -> None:
    """Every view has a sample with a label; `rows` are the ids of all rows of each view, empty ones too."""
    for view in views:
        if not view.ids.isin(labelled).any():
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
