"""Preparation inside a kernel: a transformer of scikit-learn that makes the feature vectors of a view.

A kernel with ``transformer=`` fits a copy of it to the training samples that have the view, and compares what it
returns for training and for new samples. It is always fitted and then applied (`fit`, then `transform`, never
`fit_transform`), so that training samples and new ones are treated alike.

A transformer gets a data frame where X is one, else an array or a sparse matrix; one of documents gets the view's one
column as a list. Checking the columns of a data frame one by one takes far longer than scaling them, so that a view of
numbers is an array for the transformers of scikit-learn that look at numbers only (`_READ_NUMBERS`). Missing cells come
as NaN, and samples that lack the whole view do not come at all. A fitted model keeps columns without names
(`KeptColumns`), so that a `TableKind` remembers what the table of the fit was: the same columns, from any container,
become a table of the same kind.

Kernels of one view with equal transformers share one `Preparation`, which is fitted once and transforms samples once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ..validation import shown
from ..validation.columns import SEPARATOR
from ..validation.inputs import without_mask
from ..validation.schemas import (
    Schema,
    Sizes,
    agree,
    count,
    expect,
    flag,
    maybe,
    object_of,
    optional,
    refuse,
    several,
    text,
)
from ..views.frames import KeptColumns, take_columns
from ..views.table import Views
from .components import Origin, names_out, origin_of

# Transformers of scikit-learn that make the same of an array of numbers as of a data frame.
_READ_NUMBERS = (
    *("StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler", "Normalizer", "QuantileTransformer"),
    *("PowerTransformer", "SimpleImputer", "KNNImputer", "PCA", "TruncatedSVD", "TfidfTransformer"),
    *("VarianceThreshold", "SelectKBest"),
)


@dataclass(eq=False)
class Preparation:
    """A fitted transformer, and the kind of table that it takes; made by `prepare`."""

    transformer: Any
    kind: TableKind
    _: KW_ONLY
    documents: bool
    n_features: int

    _saved = Schema(
        {
            "transformer": object_of("Operation"),
            "kind": object_of("TableKind", "own"),
            "documents": flag,
            "n_features": count(),
        }
    )

    def read(self, views: Views, columns: np.ndarray, who: str, label: str) -> tuple[Any, np.ndarray]:
        """The features of all samples (0 where the view is lacking) and which have it; computed once per `Views`."""

        def compute() -> tuple[Any, np.ndarray]:
            table, present = self.input(views, columns, label)
            if not present.any():
                return np.zeros((len(present), self.n_features)), present
            values = _result(self.transformer, table, int(present.sum()), who)
            if values.shape[1] != self.n_features:
                raise ValueError(
                    f"{_named(self.transformer, who)} returned {values.shape[1]} features, but {self.n_features} of "
                    "the training samples; it must return the same features for any samples"
                )
            return _with_zero_rows(values, present), present

        return views.prepared(self, compute)

    def feature_names(self, columns: np.ndarray) -> list[str]:
        return names_out(self.transformer, self._given(columns), self.n_features)

    def origin(self, columns: np.ndarray) -> Origin:
        """What the features are made of: columns in the place of components."""
        return origin_of(self.transformer, self._given(columns), self.n_features)

    def _given(self, columns: np.ndarray) -> list[str]:
        return [str(column) for column in columns] if self.kind.names is None else self.kind.names

    def input(self, views: Views, columns: np.ndarray, label: str) -> tuple[Any, np.ndarray]:
        table, present = self.kind.table(views, columns, label)
        if not present.all():
            table = _rows(table, present)
        elif not self.documents:
            table = _copied(table, self.transformer)  # it may share memory with X
        if not self.documents:
            return table, present
        column = table.iloc[:, 0].to_numpy() if isinstance(table, pd.DataFrame) else table[:, 0]
        return column.tolist(), present

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        agree(sizes, "own", self.transformer.n_in, f"{path}.transformer")
        expect(self.n_features, self.transformer.n_out, f"{path}.transformer", "features")
        if self.transformer.takes_documents != self.documents:
            refuse(f"{path}.documents", f"is {self.documents} for an operation of the other kind")


def prepare(
    transformer: Any,
    views: Views,
    columns: np.ndarray,
    *,
    view: Any,
    who: str,
    label: str,
    sample_weight: np.ndarray | None = None,
    y: Any = None,
) -> Preparation:
    """Fit a copy of a transformer to samples that have a view, or take the equal one that was fitted to the same."""
    _check_transformer(transformer, who)
    known = views.kept(("preparations", columns.tobytes(), view if isinstance(view, str) else None), list)
    for given, preparation in known:
        if are_equal(given, (sample_weight, y)) and are_equal(preparation.transformer, transformer):
            return preparation
    preparation = _fitted(transformer, views, columns, view, who, label, sample_weight, y)
    known.append(((sample_weight, y), preparation))
    return preparation


def _fitted(
    transformer: Any,
    views: Views,
    columns: np.ndarray,
    view: Any,
    who: str,
    label: str,
    sample_weight: np.ndarray | None,
    y: Any,
) -> Preparation:
    fitted = clone(transformer)
    documents = _takes_documents(fitted, _is_text_column(views, columns))
    if documents and (len(columns) != 1 or views.is_sparse(columns)):
        found = "is sparse" if len(columns) == 1 else f"has {len(columns)} columns"
        raise ValueError(
            f"{_named(transformer, who)} takes one column of documents, but the view {found}; select the column of "
            'text by view=, or say which columns it is for: make_column_transformer((TfidfVectorizer(), "text"), ...)'
        )
    kind = TableKind.of(views, columns, view, set(_strings(transformer)), as_array=reads_numbers(transformer))
    preparation = Preparation(fitted, kind, documents=documents, n_features=0)
    table, present = preparation.input(views, columns, label)
    n_present = int(present.sum())
    if n_present == 0:
        raise ValueError(f"no training sample has the view of {who}; remove that kernel")
    options: dict[str, Any] = {}
    if sample_weight is not None and np.ptp(sample_weight[present]) and has_fit_parameter(fitted, "sample_weight"):
        options["sample_weight"] = sample_weight[present]
    targets = [None if y is None else np.asarray(y)[present]] if has_fit_parameter(fitted, "y") else []
    with _blamed_on_transformer(transformer, who):
        fitted.fit(table if documents else _copied(table, fitted), *targets, **options)
    values = _result(fitted, table, n_present, who)
    preparation.n_features = values.shape[1]
    views.prepared(preparation, lambda: (_with_zero_rows(values, present), present))
    return preparation


def _copied(table: Any, transformer: Any) -> Any:
    """A copy for a transformer that may write to it, as with copy=False; in the same order: sums round alike then."""
    if reads_numbers(transformer) and getattr(_first_step(transformer), "copy", True) is True:
        return table
    return np.copy(table) if isinstance(table, np.ndarray) else table.copy()


def _first_step(transformer: Any) -> Any:
    """What gets the view: the transformer, or that of a pipeline; None where it has no steps."""
    steps = getattr(transformer, "steps", None)
    if not isinstance(steps, list) or hasattr(transformer, "takes_documents"):  # no pipeline, or that of a loaded model
        return transformer
    return next((_first_step(step) for _, step in steps if step not in (None, "passthrough")), None)


def _rows(table: Any, chosen: np.ndarray) -> Any:
    """Some rows, in the same order in memory."""
    if not isinstance(table, np.ndarray):
        return table.loc[chosen] if isinstance(table, pd.DataFrame) else table[chosen]
    return np.asarray(table[chosen], order="F" if table.strides[0] < table.strides[1] else "C")


def are_equal(first: Any, second: Any) -> bool:
    """Whether two parameters are the same, or estimators with the same parameters, tables, or lists of such."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, BaseEstimator):
        outputs = [vars(each).get("_sklearn_output_config") for each in (first, second)]
        return outputs[0] == outputs[1] and are_equal(first.get_params(deep=False), second.get_params(deep=False))
    if isinstance(first, dict):
        return list(first) == list(second) and all(are_equal(first[name], second[name]) for name in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(are_equal, first, second))
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    if isinstance(first, pd.DataFrame | pd.Series):
        return bool(first.equals(second))
    return isinstance(first, str | int | float | np.generic) and bool(first == second)


def reads_numbers(transformer: Any) -> bool:
    """Whether an array of numbers is to a transformer what a data frame is; a pipeline by its first step."""
    transformer = _first_step(transformer)
    cls = type(transformer)
    if cls.__name__ not in _READ_NUMBERS or not cls.__module__.startswith("sklearn."):
        return False
    output = vars(transformer).get("_sklearn_output_config", {}).get("transform")
    return (output or get_config()["transform_output"]) == "default"


def _check_transformer(transformer: Any, who: str) -> None:
    wrong = isinstance(transformer, type) or not (hasattr(transformer, "fit") and hasattr(transformer, "transform"))
    if wrong:
        advice = "; wrap a function as FunctionTransformer(f)" if callable(transformer) else ""
        raise ValueError(
            f"transformer of {who} must be None or an object with fit and transform, such as StandardScaler(), not "
            f"{shown(transformer)}{advice}"
        )


def _takes_documents(transformer: Any, is_text: bool) -> bool:
    """Whether a transformer takes a sequence of documents rather than a table; pipelines by their first step.

    One that declares nothing of that (a function, a class of the user's) gets a column of text as documents.
    """
    transformer = _first_step(transformer)
    if isinstance(transformer, str) or transformer is None:  # "passthrough" and "drop"
        return False
    branches = getattr(transformer, "transformer_list", None)
    if isinstance(branches, list):
        return any(_takes_documents(step, is_text) for _, step in branches)
    if not hasattr(transformer, "__sklearn_tags__"):
        return is_text
    tags = get_tags(transformer)
    takes = tags.input_tags
    if takes.string and not takes.two_d_array:
        return True
    takes_any_table = takes.string or takes.categorical or takes.allow_nan or hasattr(transformer, "transformers")
    is_own = type(transformer).__module__.partition(".")[0] != "sklearn"
    return is_text and not takes_any_table and (is_own or tags.no_validation)


def _is_text_column(views: Views, columns: np.ndarray) -> bool:
    if len(columns) != 1 or views.is_sparse(columns):
        return False
    X = views.X
    column = X.iloc[:, columns[0]] if isinstance(X, pd.DataFrame) else take_columns(X, columns)[:, 0]
    return not isinstance(column.dtype, pd.CategoricalDtype) and pd.api.types.infer_dtype(column) == "string"


def _strings(value: Any) -> Iterator[str]:
    """All strings among the parameters of a transformer and of those inside it, such as names of columns."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple | set | pd.Index):
        for entry in value:
            yield from _strings(entry)
    elif isinstance(value, slice):
        yield from _strings([value.start, value.stop])
    elif isinstance(value, BaseEstimator) and not isinstance(value, type):
        yield from _strings(value.get_params(deep=False))


def _named(transformer: Any, who: str) -> str:
    # A loaded model has operations in the place of transformers (`saving.operations`), which users never named.
    name = "" if hasattr(transformer, "takes_documents") else f" {type(transformer).__name__}"
    return f"the transformer{name} of {who}"


@contextmanager
def _blamed_on_transformer(transformer: Any, who: str) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"{_named(transformer, who)} fails: {error}") from error


def _result(transformer: Any, table: Any, n_samples: int, who: str) -> Any:
    with _blamed_on_transformer(transformer, who):
        values = transformer.transform(table)
    if not sp.issparse(values):
        values = np.asarray(without_mask(values))
    if values.ndim != 2 or values.shape[0] != n_samples:
        raise ValueError(
            f"{_named(transformer, who)} returned shape {values.shape} for {n_samples} samples; it must return one row "
            "of features for each sample"
        )
    try:
        if values.dtype.kind == "c":
            raise TypeError("complex")
        values = values.tocsr().astype(np.float64) if sp.issparse(values) else values.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{_named(transformer, who)} returned values that are not numbers ({error}); encode columns of text, for "
            "example by OneHotEncoder()"
        ) from error
    entries = values.data if sp.issparse(values) else values
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(entries.sum()) or np.isfinite(entries).all()
    if not finite:
        what = "infinity; remove or replace such values"
        if np.isnan(entries).any():
            what = "NaN; put SimpleImputer() before it, make_pipeline(SimpleImputer(), ...)"
        raise ValueError(f"{_named(transformer, who)} returned {what}")
    return values


def _with_zero_rows(values: Any, present: np.ndarray) -> Any:
    if present.all():
        return values
    if not sp.issparse(values):
        every = np.zeros((len(present), values.shape[1]))
        every[present] = values
        return every
    lengths = np.zeros(len(present), dtype=values.indptr.dtype)
    lengths[present] = np.diff(values.indptr)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(values.indptr.dtype)
    return sp.csr_matrix((values.data, values.indices, ends), shape=(len(present), values.shape[1]))


def _nothing_inside(value: Any, sizes: Sizes, path: str) -> None:
    if type(value) is not dict or value:
        refuse(path, "is not an empty dict")


@dataclass(frozen=True)
class TableKind:
    """What kind of table some columns become.

    It is a data frame, or else an array or, where X or the view is sparse, a CSR matrix (of which a data frame is made
    only where the transformer mentions the names of columns). An array may have names, which only say what its columns
    are called; names of None number the columns from 0. `dtypes` are the types of columns that are not numbers, by
    their place, without those of text. `texts` flags the columns that held text in the fit: where such a column holds
    numbers later (a file in which the categories "1", "2" and "X" are all numbers, or empty) they are text again.
    """

    is_frame: bool
    names: list[str] | None = None
    dtypes: dict[int, Any] = field(default_factory=dict)
    texts: list[bool] | None = None

    _saved = Schema(
        {
            "is_frame": flag,
            "names": maybe(several(text, "own")),
            "dtypes": _nothing_inside,
            "texts": optional(maybe(several(flag, "own"))),
        }
    )

    @classmethod
    def of(cls, views: Views, columns: np.ndarray, view: Any, wanted: set[str], *, as_array: bool = False) -> TableKind:
        """The kind of some columns of the training samples; `as_array`: an array, where all of them are numbers.

        Where the selector `view` is a name, columns are called what follows it and the separator: ``age`` for
        ``clinical__age``; otherwise they have their full names. Names that the transformer mentions (`wanted`) come
        before that: columns have full names where one of these is wanted, and else short ones where one of these is.
        """
        key = columns.tobytes(), view if isinstance(view, str) else None, frozenset(wanted)
        names = views.known(key, lambda: _names(views.names, columns, view, wanted))
        if views.is_sparse(columns):
            return cls(bool(wanted & set(names or ())), names)
        if isinstance(views.X, pd.DataFrame):
            found = views.X.dtypes.iloc[columns].tolist()
        elif isinstance(views.X, KeptColumns):
            found = [views.dtypes.get(column, np.dtype(float)) for column in columns.tolist()]
        else:
            found = [views.X.dtype] * len(columns)
        plain = all(isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in set(found))
        if plain and as_array:
            return cls(False, names)
        dtypes = {} if plain else {place: dtype for place, dtype in enumerate(found) if not _is_text(dtype)}
        texts = [] if plain else [_holds_text(views.X, c, dtype) for c, dtype in zip(columns, found, strict=True)]
        is_frame = isinstance(views.X, pd.DataFrame) or names is not None
        return cls(is_frame, names, dtypes, texts if is_frame and any(texts) else None)

    def table(self, views: Views, columns: np.ndarray, label: str) -> tuple[Any, np.ndarray]:
        """These columns as such a table, with NaN (or NaT) for missing cells, and which samples have some value."""
        X = views.X
        if views.is_sparse(columns):
            values, present = _sparse(views, columns, label)
            return (pd.DataFrame(values.toarray(), columns=self._labels(columns)) if self.is_frame else values), present
        if not self.is_frame:
            values = _with_nan_array(take_columns(X, columns))
            return values, ~pd.isna(values).all(axis=1)
        if isinstance(X, pd.DataFrame):
            frame = _with_nan(X.iloc[:, columns].set_axis(self._labels(columns), axis=1))
        else:
            frame = self._typed(_with_nan(_as_frame(X, columns, self._labels(columns))))
        frame = self._with_texts(frame)
        return frame, ~frame.isna().to_numpy().all(axis=1)

    def _with_texts(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Numbers as text in columns that held text in the fit: 2 and 2.0 as "2"."""
        places = [place for place, is_text in enumerate(self.texts or ()) if is_text]
        places = [place for place in places if pd.api.types.is_numeric_dtype(frame.dtypes.iloc[place])]
        frame = frame.copy(deep=False) if places else frame
        for place in places:
            frame.isetitem(place, frame.iloc[:, place].map(_number_as_text).astype(object))
        return frame

    def _typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Columns that arrays or `KeptColumns` hold as objects, or as plain numbers, with the types of the fit."""
        changes = {}
        for place, wanted in self.dtypes.items():
            label, is_number = frame.columns[place], isinstance(wanted, np.dtype) and wanted.kind in "fiub"
            if not is_number:
                changes[label] = wanted
            elif frame.dtypes.iloc[place].kind == "O":
                changes[label] = np.dtype(float)  # of which NaN is one
        return frame.astype(changes) if changes else frame

    def _labels(self, columns: np.ndarray) -> list[Any]:
        return list(range(len(columns))) if self.names is None else self.names


def _names(names: np.ndarray | None, columns: np.ndarray, view: Any, wanted: set[str]) -> list[str] | None:
    if names is None:
        return None
    full = [str(name) for name in names[columns].tolist()]
    if isinstance(view, str):
        start = view + SEPARATOR
        short = [name.removeprefix(start) or name for name in full]
    elif wanted:
        short = [name.removeprefix(name.partition(SEPARATOR)[0] + SEPARATOR) or name for name in full]
    else:
        return full
    if len(set(short)) < len(short) or (wanted and wanted & (set(full) - set(short))):
        return full
    return short if isinstance(view, str) or wanted & (set(short) - set(full)) else full


def _sparse(views: Views, columns: np.ndarray, label: str) -> tuple[Any, np.ndarray]:
    X = views.X
    if sp.issparse(X):
        return X[:, columns], np.ones(views.n_samples, dtype=bool)
    if np.isin(columns, X.sparse_positions()).all():
        values, there = X.take_sparse(columns)
        if np.array_equal(there.any(axis=1), there.all(axis=1)):
            return values, there.all(axis=1)
    return views.read(columns, label)


def _is_text(dtype: Any) -> bool:
    """Whether columns of this type become objects (those of pyarrow's numbers become float64)."""
    if isinstance(dtype, np.dtype):
        return dtype.kind not in "fiubmM"
    return isinstance(dtype, pd.StringDtype | pd.ArrowDtype)


def _holds_text(X: Any, column: int, dtype: Any) -> bool:
    if not _is_text(dtype) or isinstance(dtype, pd.StringDtype):
        return isinstance(dtype, pd.StringDtype)
    values = X.iloc[:, column] if isinstance(X, pd.DataFrame) else take_columns(X, np.array([column]))[:, 0]
    return pd.api.types.infer_dtype(values, skipna=True) == "string"


def _number_as_text(value: Any) -> Any:
    if pd.isna(value):
        return np.nan
    is_whole = not isinstance(value, bool | np.bool_) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)


def _as_frame(X: Any, columns: np.ndarray, labels: list[Any]) -> pd.DataFrame:
    if not isinstance(X, KeptColumns) or any(np.isin(columns, positions).all() for positions, _ in X.blocks):
        return pd.DataFrame(take_columns(X, columns), columns=labels)
    return pd.concat([pd.Series(X.take(columns[[j]])[:, 0]) for j in range(len(columns))], axis=1).set_axis(
        labels, axis=1
    )


def _with_nan_array(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind in "fiub":
        return values
    values = values.astype(object)
    missing = pd.isna(values)
    return np.where(missing, np.array(np.nan, dtype=object), values) if missing.any() else values


def _with_nan(frame: pd.DataFrame) -> pd.DataFrame:
    is_text = [_is_text(dtype) for dtype in frame.dtypes.tolist()]
    if not any(is_text):
        return frame
    columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    return pd.concat(
        [_plain_column(column) if text else column for column, text in zip(columns, is_text, strict=True)], axis=1
    )


def _plain_column(column: pd.Series) -> pd.Series:
    if isinstance(column.dtype, pd.ArrowDtype) and pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = _with_nan_array(column.to_numpy(dtype=object))
    return pd.Series(values, index=column.index, name=column.name, dtype=values.dtype)
