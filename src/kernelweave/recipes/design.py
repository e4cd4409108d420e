"""`Design`: the table of numbers that a model of all columns is fitted to, made of X by a transformer.

The transformer, mostly a `ColumnTransformer`, gets the columns of X as a data frame (or an array where X is one), with
NaN in missing cells, of all samples, also of those that lack views. A column that it takes as documents, by its name
alone rather than in a list, has empty text where a document is missing.

Gradient boosting takes missing numbers as they are, needs no scaling, and reads a table that is not sparse, in time
that grows with its columns. So `lean_preparation` neither fills in nor scales numbers for it, and reduces documents and
sparse tables to their leading singular directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from ..kernels.components import Origin, origin_of
from ..kernels.preparation import TableKind, are_equal, reads_numbers
from ..validation import is_number, shown
from ..validation.columns import SEPARATOR
from ..validation.schemas import Schema, Sizes, agree, indices, object_of, refuse, size
from ..views import Views
from ..views.table import prefixes

REST = "rest"  # the view of columns without a prefix, as in `MKLClassifier`


class Design:
    """A fitted transformer of whole samples, and the kind of table that it takes; made by `Design.fit`."""

    _saved = Schema(
        {
            "n_in": size("columns"),
            "kind": object_of(TableKind, own="columns"),
            "read": indices("read", below="columns"),
            "documents": indices("documents", below="columns"),
            "width": size("features"),
            "transformer": object_of("Operation"),
        }
    )

    def __init__(
        self,
        transformer: Any,
        kind: TableKind,
        *,
        n_in: int,
        read: np.ndarray,
        documents: np.ndarray,
        width: int,
    ):
        self.transformer = transformer
        self.kind = kind
        self.n_in = n_in
        self.read = read
        self.documents = documents
        self.width = width

    @classmethod
    def fit(cls, transformer: Any, views: Views, y: Any = None, *, components: int | None = None) -> Design:
        """The design of some samples; the one that an equal transformer was fitted to before, where there is one."""
        known = views.kept(("designs", components), list)
        for given, design in known:
            if are_equal(given, (transformer, y)):
                return design
        design = cls._fitted(transformer, views, y, components)
        known.append(((clone(transformer), y), design))
        return design

    @classmethod
    def _fitted(cls, transformer: Any, views: Views, y: Any, components: int | None) -> Design:
        columns = np.arange(views.X.shape[1])
        kind = TableKind.of(views, columns, None, set(), as_array=reads_numbers(transformer))
        design = cls(transformer, kind, n_in=len(columns), read=columns, documents=columns[:0], width=0)
        source = design._source(views)
        if isinstance(transformer, ColumnTransformer):
            design.documents = _documents(transformer, source)
        filled = design._filled(source)
        fitted = design.transformer = clone(transformer)
        try:
            if components is not None:
                fitted = design.transformer = lean_preparation(fitted, filled, components=components)
            fitted.fit(filled, y)
        except MemoryError:
            raise
        except Exception as error:
            raise ValueError(f"the preparation {type(fitted).__name__} of all columns fails: {error}") from error
        if isinstance(fitted, ColumnTransformer):
            design.read = _read(fitted, source)
        design.width = design.table(views).shape[1]
        if design.width == 0:
            raise ValueError("the preparation makes no features of the columns of X, so there is nothing to fit to")
        return design

    def table(self, views: Views, without: np.ndarray | None = None) -> Any:
        """The features of samples: an array or CSR matrix of shape (n_samples, width), not to be written to."""
        return views.kept(self, lambda: self._table(views, None)) if without is None else self._table(views, without)

    def _table(self, views: Views, without: np.ndarray | None) -> Any:
        source = self._source(views)
        if without is not None:
            source = _without(source, without)
        try:
            values = self.transformer.transform(self._filled(source))
        except MemoryError:
            raise
        except Exception as error:
            raise ValueError(f"the columns of X cannot be prepared as those of the fit were: {error}") from error
        if sp.issparse(values):
            return values.tocsr().astype(np.float64)
        values = np.asarray(values)
        try:
            values = values.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise ValueError(
                f"the preparation leaves values that are not numbers ({shown(_first_text(values))}); encode such "
                "columns, by OneHotEncoder() or TfidfVectorizer()"
            ) from None
        if np.isinf(values).any():
            raise ValueError("the columns of X contain infinity; remove or replace it")
        return values

    def views(self, names: np.ndarray | None) -> dict[str, np.ndarray]:
        if names is None:
            return {REST: self.read}
        groups = {prefix or REST: positions for prefix, positions in prefixes(names).items()}
        found = {view: np.intersect1d(positions, self.read) for view, positions in groups.items()}
        return {view: positions for view, positions in found.items() if len(positions)}

    def origin(self, names: np.ndarray | None) -> tuple[pd.MultiIndex, Origin]:
        """The view and the name of each feature, or of what components are made of, and how weights get there."""
        columns = [f"x{place}" for place in range(self.n_in)] if names is None else [str(name) for name in names]
        origin = origin_of(self.transformer, columns, self.width)
        documents = {f"text{number}__": columns[place] for number, place in enumerate(self.documents.tolist())}
        pairs = views_and_features(origin.names, columns, documents)
        return pd.MultiIndex.from_tuples(pairs, names=["view", "feature"]), origin

    def _source(self, views: Views) -> Any:
        table, _ = self.kind.table(views, np.arange(self.n_in), "X")
        return table

    def _filled(self, table: Any) -> Any:
        table = table.copy()
        for place in self.documents.tolist():
            if isinstance(table, pd.DataFrame):
                column = table.iloc[:, place].astype(object)
                table.isetitem(place, column.where(column.notna(), ""))
            else:
                table[:, place] = np.where(pd.isna(table[:, place]), "", table[:, place])
        return table

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        agree(sizes, "columns", self.transformer.n_in, f"{path}.transformer")
        agree(sizes, "features", self.transformer.n_out, f"{path}.transformer")
        if self.transformer.takes_documents:
            refuse(f"{path}.transformer", "takes documents in the place of a table")


def views_and_features(
    features: Sequence[str], columns: Sequence[str], documents: Mapping[str, str], view: str | None = None
) -> list[tuple[str, str]]:
    """The view and the name of each feature: the column, a category behind it, or a word behind it.

    `documents` are columns of text, by what names of words begin with; columns are of one `view`, or ``view__column``.
    """
    views = sorted((own for own in prefixes(np.asarray(columns, dtype=object)) if own), key=len, reverse=True)
    known, pairs = set(columns), []
    lengths = {len(column) for column in known}  # far fewer than columns, of which there may be many thousands
    for feature in features:
        part = next((part for part in documents if feature.startswith(part)), None)
        rest = feature.partition(SEPARATOR)[2]
        if part is not None:
            feature = f"{documents[part]}{SEPARATOR}{feature.removeprefix(part)}"
        elif any(rest[:length] in known for length in lengths):  # behind the name of a part
            feature = rest
        own = next((own for own in views if feature.startswith(f"{own}{SEPARATOR}")), REST) if view is None else view
        pairs.append((own, feature.removeprefix(f"{own}{SEPARATOR}")))
    return pairs


def _documents(transformer: ColumnTransformer, table: Any) -> np.ndarray:
    alone = [columns for _, _, columns in transformer.transformers if isinstance(columns, str | Integral)]
    return np.concatenate([np.empty(0, dtype=int), *(_positions(table, columns) for columns in alone)])


def _read(transformer: ColumnTransformer, table: Any) -> np.ndarray:
    read: set[int] = set()
    for _, part, columns in transformer.transformers_:
        if not (isinstance(part, str) and part == "drop"):
            read |= set(_positions(table, columns).tolist())
    return np.array(sorted(read), dtype=int)


def _positions(table: Any, columns: Any) -> np.ndarray:
    places = pd.Series(np.arange(table.shape[1]), index=getattr(table, "columns", None))
    ends = (columns.start, columns.stop) if isinstance(columns, slice) else np.ravel(np.asarray(columns, dtype=object))
    is_named = any(isinstance(end, str) for end in ends)
    found = places.loc[columns] if is_named else places.to_numpy()[columns]
    return np.atleast_1d(np.asarray(found, dtype=int))


def _without(table: Any, places: np.ndarray) -> Any:
    if sp.issparse(table):
        kept = np.ones(table.shape[1])
        kept[places] = 0.0
        return sp.csr_matrix(table @ sp.diags(kept))  # what is absent from a sparse table is 0
    if not isinstance(table, pd.DataFrame):
        table = table.astype(object if table.dtype.kind == "O" else np.float64)
        table[:, places] = np.nan
        return table
    plain = [place for place in places.tolist() if pd.api.types.is_numeric_dtype(table.dtypes.iloc[place])]
    others = sorted(set(places.tolist()) - set(plain))
    kept = np.setdiff1d(np.arange(table.shape[1]), places)
    missing = [pd.Series(np.nan, index=table.index, dtype=table.dtypes.iloc[place]) for place in others]
    blank = pd.DataFrame(np.full((len(table), len(plain)), np.nan), index=table.index, columns=table.columns[plain])
    order = np.argsort(np.concatenate([kept, others, plain]).astype(int))
    parts = [table.iloc[:, kept], *missing, blank]
    return pd.concat(parts, axis=1).iloc[:, order].set_axis(table.columns, axis=1)


def _first_text(values: np.ndarray) -> Any:
    return next((value for value in np.ravel(values) if isinstance(value, str)), None)


_PLAIN = (SimpleImputer, StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler, FunctionTransformer)


def lean_preparation(preparation: Any, table: Any, *, components: int) -> Any:
    """The preparation for gradient boosting, without what only fills numbers in and scales them."""
    if sp.issparse(table):
        return _reduced(preparation, table, components)
    if not isinstance(preparation, ColumnTransformer):
        return FunctionTransformer() if _is_plain(preparation) else preparation
    lean = clone(preparation).set_params(sparse_threshold=0.0)
    parts = []
    for name, part, columns in lean.transformers:
        if _is_plain(part):
            part = "passthrough"
        elif not isinstance(part, str) and isinstance(columns, str | int | np.integer):
            documents = table[columns] if isinstance(columns, str) else _column(table, int(columns))
            part = _reduced(part, documents, components)
        parts.append((name, part, columns))
    return lean.set_params(transformers=parts)


def _is_plain(transformer: Any) -> bool:
    """Whether a transformer does nothing but fill numbers in and scale them."""
    if isinstance(transformer, Pipeline):
        return all(_is_plain(step) for _, step in transformer.steps)
    if isinstance(transformer, FunctionTransformer):
        return transformer.func is None
    if isinstance(transformer, SimpleImputer):
        return transformer.strategy in ("mean", "median") or (
            transformer.strategy == "constant" and is_number(transformer.fill_value)
        )
    return isinstance(transformer, _PLAIN)


def _column(table: Any, place: int) -> Any:
    return table.iloc[:, place] if hasattr(table, "iloc") else table[:, place]


def _reduced(transformer: Any, given: Any, components: int) -> Any:
    n_samples, width = clone(transformer).fit_transform(given).shape
    if width <= components:
        return transformer
    reduction = TruncatedSVD(min(components, width - 1, n_samples), random_state=0)
    return Pipeline([("prepared", transformer), ("reduced", reduction)])
