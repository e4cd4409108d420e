"""What a saved model holds of the transformers of its kernels: small operations on arrays, made of plain data.

`transformers` makes them of fitted transformers of scikit-learn; `documents` has those that take text. Each states what
a valid file may hold of it, in the words of `validation.schemas`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils import check_array

from .._warnings import warn
from ..validation.schemas import (
    Schema,
    Sizes,
    agree,
    array,
    count,
    expect,
    flag,
    indices,
    maybe,
    number,
    numbers,
    object_of,
    one_of,
    refuse,
    several,
    size,
    text,
    together,
)

UNKNOWN = -1
# The types that results may have.
TYPES = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool")
_FLOATS = [np.float64, np.float32]
_BLOCK_VALUES = 2**24  # distances that are in memory at a time
_CONSTANTS = maybe(numbers("in", nan=True))
_ORDINALS = several(numbers("own", nan=True), own=("own",))


class Operation:
    """One step of preparation: a function of a table (or of documents) whose constants are plain data.

    An operation has the two methods of scikit-learn's transformers that kernels call, and gives what the transformer
    gave that it was made from. It cannot be fitted again.
    """

    width: int
    takes_documents = False

    @property
    def n_in(self) -> int:
        return self.width

    @property
    def n_out(self) -> int:
        return self.n_in

    def transform(self, X: Any) -> Any:
        """The prepared samples: an array or a CSR matrix of shape (n_samples, n_out)."""
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Names of the result's columns, made of those of the table's (by default x0, x1, ...)."""
        return self._names_in(input_features)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_in={self.n_in}, n_out={self.n_out})"

    def _names_in(self, given: Sequence[str] | None) -> np.ndarray:
        if given is None:
            return np.array([f"x{place}" for place in range(self.n_in)], dtype=object)
        names = np.asarray(given, dtype=object)
        if names.shape != (self.n_in,):
            raise ValueError(f"input_features should have length equal to number of features ({self.n_in})")
        return names

    def _table(self, X: Any, *, dtype: Any = _FLOATS, nan: bool = False, sparse: str | bool = False) -> Any:
        """A checked copy of a table that has as many columns as the one of the fit."""
        values = check_array(
            X,
            accept_sparse=sparse,
            dtype=dtype,
            ensure_all_finite="allow-nan" if nan else True,
            copy=True,
            force_writeable=True,  # pandas gives columns of text or categories read-only
            ensure_min_samples=0,
            ensure_min_features=0,
        )
        self._check_width(values)
        return values

    def _check_width(self, X: Any) -> None:
        if X.ndim != 2 or X.shape[1] != self.n_in:
            found = f"{X.shape[1]} features" if X.ndim == 2 else f"{X.ndim} dimension(s)"
            raise ValueError(f"the table to prepare has {found} where {self.n_in} features are expected")


@dataclass(frozen=True, eq=False, repr=False)
class KeepOperation(Operation):
    width: int

    _saved = Schema({"width": size("in")})

    def transform(self, X: Any) -> Any:
        self._check_width(X)
        return X


@dataclass(frozen=True, eq=False, repr=False)
class ScaleOperation(Operation):
    """z = clip((x - center) / divisor * factor + offset), column by column, where None leaves a step out; NaN stays."""

    width: int
    center: np.ndarray | None = None
    divisor: np.ndarray | None = None
    factor: np.ndarray | None = None
    offset: np.ndarray | None = None
    limits: tuple[float, float] | None = None

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if self.divisor is not None and (self.divisor == 0.0).any():
            refuse(f"{path}.divisor", "holds 0")

    _saved = Schema(
        {
            "width": size("in"),
            **dict.fromkeys(("center", "divisor", "factor", "offset"), _CONSTANTS),
            "limits": maybe(together(number(), number())),
        },
    )

    def transform(self, X: Any) -> Any:
        """The scaled columns; a sparse table stays sparse and is not shifted."""
        values = self._table(X, dtype=[*_FLOATS, np.float16], nan=True, sparse="csr")
        is_sparse = sp.issparse(values)
        if is_sparse and (self.center is not None or self.offset is not None):
            raise ValueError("a sparse table cannot be shifted; it was not sparse when the scaling was fitted")
        cells = values.data if is_sparse else values
        if self.center is not None:
            cells -= self.center
        if self.divisor is not None:
            if is_sparse:
                cells *= (1.0 / self.divisor)[values.indices]
            else:
                cells /= self.divisor
        if self.factor is not None:
            cells *= self.factor[values.indices] if is_sparse else self.factor
        if self.offset is not None:
            cells += self.offset
        if self.limits is not None:
            np.clip(cells, *self.limits, out=cells)
        return values


#: Functions of NumPy that a file may name: of one number each, without a state.
UFUNCS: dict[str, np.ufunc] = {
    function.__name__: function
    for function in (
        *(np.log, np.log2, np.log10, np.log1p, np.exp, np.exp2, np.expm1, np.sqrt, np.cbrt, np.square),
        *(np.absolute, np.fabs, np.negative, np.positive, np.reciprocal, np.sign, np.rint, np.floor, np.ceil, np.trunc),
        *(np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.deg2rad, np.rad2deg),
        *(np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh),
    )
}


@dataclass(frozen=True, eq=False, repr=False)
class FunctionOperation(Operation):
    """z = f(x), cell by cell, with f one of `UFUNCS`."""

    width: int
    name: str

    _saved = Schema({"width": size("in"), "name": one_of(*UFUNCS)})

    def transform(self, X: Any) -> Any:
        self._check_width(X)
        values = UFUNCS[self.name](X)
        return values.to_numpy() if hasattr(values, "iloc") else values


@dataclass(frozen=True, eq=False, repr=False)
class UnitNormOperation(Operation):
    """Rows divided by their norm, which is ``"l1"``, ``"l2"`` or ``"max"``; rows of zeros stay so."""

    width: int
    norm: str

    _saved = Schema({"width": size("in"), "norm": one_of("l1", "l2", "max")})

    def transform(self, X: Any) -> Any:
        from sklearn.preprocessing import normalize  # slow to import

        return normalize(self._table(X, sparse="csr"), norm=self.norm, axis=1, copy=False)


@dataclass(frozen=True, eq=False, repr=False)
class RotateOperation(Operation):
    """z = (x - mean) V' / scale, with the components as the rows of V."""

    components: np.ndarray
    mean: np.ndarray | None
    scale: np.ndarray | None
    prefix: str

    _saved = Schema(
        {
            "components": numbers("out", "in"),
            "mean": maybe(numbers("in")),
            "scale": maybe(numbers("out", low=float(np.finfo(np.float32).tiny))),
            "prefix": text,
        }
    )

    n_in = property(lambda self: self.components.shape[1])
    n_out = property(lambda self: self.components.shape[0])
    loadings_ = property(lambda self: self.components if self.scale is None else self.components / self.scale[:, None])

    def transform(self, X: Any) -> np.ndarray:
        projected = np.asarray(self._table(X, sparse="csr") @ self.components.T)
        if self.mean is not None:
            projected -= self.mean.reshape(1, -1) @ self.components.T  # afterwards: a sparse table stays sparse
        if self.scale is not None:
            projected /= self.scale
        return projected

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        return np.array([f"{self.prefix}{place}" for place in range(self.n_out)], dtype=object)


def _check_entry(value: Any, sizes: Sizes, path: str) -> None:
    if not is_plain(value):
        refuse(path, f"is a {type(value).__name__}, which is neither text nor a number")


def is_plain(entry: Any) -> bool:
    return entry is None or isinstance(entry, str | bool | int | float | np.number | np.bool_)


class _Filling(Operation):
    """Columns that are `kept`, filled, and behind them flags of those that are `flagged`, 1 where a cell is missing."""

    kept: np.ndarray
    flagged: np.ndarray | None

    @property
    def n_out(self) -> int:
        return len(self.kept) + (0 if self.flagged is None else len(self.flagged))

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        names = self._names_in(input_features)
        flags = [] if self.flagged is None else [f"missingindicator_{name}" for name in names[self.flagged]]
        return np.concatenate([names[self.kept], np.array(flags, dtype=object)])

    def _with_flags(self, filled: np.ndarray, missing: np.ndarray) -> np.ndarray:
        return filled if self.flagged is None else np.hstack([filled, _chosen_columns(missing, self.flagged)])


@dataclass(frozen=True, eq=False, repr=False)
class FillOperation(_Filling):
    """Missing cells of each kept column are filled with its value; then come columns that flag missing cells.

    A missing cell holds `marker`. `kept` are the positions of the columns with a value to fill in, `values` these
    values (numbers, or objects for text), and `flagged` the positions of the columns whose missing cells are flagged.
    Cells are read as numbers ("float"), as objects ("object") or as they are ("any").
    """

    width: int
    marker: Any
    kept: np.ndarray
    values: np.ndarray
    flagged: np.ndarray | None
    kind: str

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        dtype = self.values.dtype
        if (dtype.kind == "O") != (self.kind == "object"):
            refuse(f"{path}.values", f"are of the type {dtype}, which is not for cells of kind {self.kind}")
        for entry in self.values if dtype.kind == "O" else ():
            _check_entry(entry, sizes, f"{path}.values")

    _saved = Schema(
        {
            "width": size("in"),
            "marker": _check_entry,
            "kept": indices("kept", below="in"),
            "values": array("fiO", "kept", nan=True, inf=True),
            "flagged": maybe(indices("flagged", below="in")),
            "kind": one_of("float", "object", "any"),
        },
    )

    def transform(self, X: Any) -> Any:
        """The filled table and the flags; a sparse table stays sparse, its empty cells are zeros."""
        types = {"float": [*_FLOATS, np.float16], "object": object, "any": None}[self.kind]
        values = self._table(X, dtype=types, nan=_is_nan(self.marker), sparse="csc")
        if sp.issparse(values):
            return self._sparse(values)
        missing = _cells(values, self.marker)
        filled = _chosen_columns(values, self.kept)
        rows, places = np.nonzero(_chosen_columns(missing, self.kept))
        filled[rows, places] = self.values[places]
        return self._with_flags(filled, missing)

    def _sparse(self, values: Any) -> Any:
        missing = type(values)((_cells(values.data, self.marker), values.indices, values.indptr), shape=values.shape)
        filled = values[:, self.kept]
        places = np.repeat(np.arange(len(self.kept)), np.diff(filled.indptr))
        gaps = _cells(filled.data, self.marker)
        filled.data[gaps] = self.values[places[gaps]]
        if self.flagged is None:
            return filled.tocsr()
        flags = missing[:, self.flagged]
        flags.eliminate_zeros()
        return sp.hstack([filled, flags], format="csr")


def _chosen_columns(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Some columns of an array; the array itself where these are all, since a choice has another order in memory."""
    return values if np.array_equal(places, np.arange(values.shape[1])) else values[:, places]


def _is_nan(marker: Any) -> bool:
    return isinstance(marker, float) and marker != marker


def _cells(values: np.ndarray, marker: Any) -> np.ndarray:
    if _is_nan(marker):
        return values != values
    if isinstance(marker, str) and values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    return np.asarray(values == marker, dtype=bool)


@dataclass(frozen=True, eq=False, repr=False)
class NeighborsFillOperation(_Filling):
    """A missing cell is the mean of its column over the nearest samples of the fit that have it.

    Distances are Euclidean over the columns that both samples have, scaled to all columns. Where a sample shares no
    column with any of them, the mean of the column takes its place. Behind the filled columns come those that flag
    missing cells. `samples` are those of the fit, with NaN for missing cells, which count by the inverse of their
    distance where `by_distance`; of the `kept` columns, one that no sample of the fit has is 0.
    """

    samples: np.ndarray
    n_neighbors: int
    by_distance: bool
    kept: np.ndarray
    flagged: np.ndarray | None

    _saved = Schema(
        {
            "samples": numbers("donors", "in", nan=True),
            "n_neighbors": count(1),
            "by_distance": flag,
            "kept": indices("kept", below="in"),
            "flagged": maybe(indices("flagged", below="in")),
        }
    )

    n_in = property(lambda self: self.samples.shape[1])

    def transform(self, X: Any) -> np.ndarray:
        from sklearn.metrics.pairwise import nan_euclidean_distances  # slow to import

        values = self._table(X, dtype=[*_FLOATS, np.float16], nan=True)
        missing, donors = np.isnan(values), ~np.isnan(self.samples)
        filled = values.copy()
        filled[:, ~donors.any(axis=0)] = 0.0
        columns = np.flatnonzero(donors.any(axis=0))
        rows = np.flatnonzero(missing[:, columns].any(axis=1))
        n_rows = max(1, _BLOCK_VALUES // max(1, len(self.samples)))
        for start in range(0, len(rows), n_rows):
            block = rows[start : start + n_rows]
            distances = nan_euclidean_distances(values[block], self.samples)
            for column in columns:
                gaps = missing[block, column]
                if gaps.any():
                    among, known = distances[gaps][:, donors[:, column]], self.samples[donors[:, column], column]
                    filled[block[gaps], column] = self._means(among, known)
        is_whole = not donors.any(axis=0)[self.kept].all()  # empty columns are among those that are kept: all of them
        return self._with_flags(_chosen_columns(filled, self.kept) if is_whole else filled[:, self.kept], missing)

    def _means(self, distances: np.ndarray, known: np.ndarray) -> np.ndarray:
        """The mean over the nearest donors of each row, or over all of them where no distance is known."""
        found = np.full(len(distances), known.mean())
        near = ~np.isnan(distances).all(axis=1)
        distances = distances[near]
        if len(distances):
            n_neighbors = min(self.n_neighbors, len(known))
            chosen = np.argpartition(distances, n_neighbors - 1, axis=1)[:, :n_neighbors]
            weights = self._weights(np.take_along_axis(distances, chosen, axis=1))
            found[near] = np.average(known.take(chosen), axis=1, weights=weights)
        return found

    def _weights(self, distances: np.ndarray) -> np.ndarray:
        """What each donor counts: 0 where the distance is not known; only equal samples where there are some."""
        if not self.by_distance:
            return (~np.isnan(distances)).astype(float)
        with np.errstate(divide="ignore"):
            weights = 1.0 / distances
        equal = np.isinf(weights)
        weights = np.where(equal.any(axis=1, keepdims=True), equal.astype(float), weights)
        return np.nan_to_num(weights, nan=0.0)


def codes_of(values: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """The position of each value among categories, sorted if numbers (NaN may be the last); `UNKNOWN` if not there."""
    if values.dtype.kind in "fiub" and categories.dtype.kind in "fiub":
        places = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
        found = categories[places]
        return np.where((found == values) | ((found != found) & (values != values)), places, UNKNOWN)
    entries = categories.tolist()
    table = {entry: place for place, entry in enumerate(entries) if entry == entry}
    nan = next((place for place, entry in enumerate(entries) if entry != entry), UNKNOWN)
    return np.array([table.get(value, UNKNOWN) if value == value else nan for value in values.tolist()], dtype=int)


def _check_categories(value: Any, sizes: Sizes, path: str) -> None:
    """Sorted numbers, of which the last may be NaN, or objects that are text, numbers or None."""
    array("fiubO", "own", nan=True, inf=True, filled=True)(value, sizes, path)
    if value.dtype.kind == "O":
        for entry in value:
            _check_entry(entry, sizes, path)
        return
    known = value[:-1] if value[-1] != value[-1] else value
    if (known[1:] <= known[:-1]).any() or pd.isna(known).any():
        refuse(path, "are not sorted")


def _check_number(value: Any, sizes: Sizes, path: str) -> None:
    if not _is_nan(value):
        number()(value, sizes, path)


def _check_lengths(operation: _Encoding, name: str, sizes: Sizes, path: str) -> None:
    entries = getattr(operation, name)
    agree(sizes, "in", len(entries), f"{path}.{name}")
    for column, (categories, own) in enumerate(zip(operation.categories, entries, strict=True)):
        expect(len(categories), len(own), f"{path}.{name}[{column}]", "categories")


class _Encoding(Operation):
    categories: list[np.ndarray]

    n_in = property(lambda self: len(self.categories))

    def _codes(self, X: Any, refuses: bool) -> list[np.ndarray]:
        """The codes of each column; a `ValueError` names unknown categories where they are refused."""
        columns = _columns_of(X)
        if len(columns) != self.n_in:
            raise ValueError(f"the table to prepare has {len(columns)} features where {self.n_in} are expected")
        codes = [codes_of(values, own) for values, own in zip(columns, self.categories, strict=True)]
        if refuses:
            for place, (values, own) in enumerate(zip(columns, codes, strict=True)):
                if (own == UNKNOWN).any():
                    unknown = sorted(set(values[own == UNKNOWN].tolist()), key=str)
                    raise ValueError(f"Found unknown categories {unknown} in column {place} during transform")
        return codes


def _columns_of(X: Any) -> list[np.ndarray]:
    if hasattr(X, "iloc"):
        columns = [X.iloc[:, place] for place in range(X.shape[1])]
        return [check_array(column, ensure_2d=False, dtype=None, ensure_all_finite="allow-nan") for column in columns]
    if sp.issparse(X):
        raise ValueError("categories cannot be read from a sparse table")
    table = check_array(X, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=0, ensure_min_features=0)
    return [table[:, place] for place in range(table.shape[1])]


@dataclass(frozen=True, eq=False, repr=False)
class OneHotOperation(_Encoding):
    """A column of flags per category, or per group of rare ones; each category of a column sets at most one flag.

    For each category, `places` has the position of its flag in the result, -1 where it has none; `unknown` has that of
    unknown categories for each column of the table, and `refuses` and `warns` say whether these are an error, or worth
    a warning. For each flag, `owners` has the column of the table, and `labels` the categories as parts of its name.
    """

    categories: list[np.ndarray]
    places: list[np.ndarray]
    unknown: np.ndarray
    owners: np.ndarray
    labels: list[str]
    refuses: bool
    warns: bool
    sparse: bool
    dtype: str

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """Each category of a column has one place, which is that of a flag of this column."""
        _check_lengths(self, "places", sizes, path)
        for column, places in enumerate(self.places):
            used = np.append(places, self.unknown[column])
            if (self.owners[used[used >= 0]] != column).any():
                refuse(f"{path}.places[{column}]", "are flags of another column")

    _saved = Schema(
        {
            "categories": several(_check_categories, "in", own=("own",)),
            "owners": indices("out", below="in"),
            "labels": several(text, "out"),
            "places": several(indices("own", low=-1, below="out"), own=("own",)),
            "unknown": indices("in", low=-1, below="out"),
            **dict.fromkeys(("refuses", "warns", "sparse"), flag),
            "dtype": one_of(*TYPES),
        },
    )

    n_out = property(lambda self: len(self.labels))

    def transform(self, X: Any) -> Any:
        codes = self._codes(X, self.refuses)
        strange = [place for place, own in enumerate(codes) if (own == UNKNOWN).any()]
        if self.warns and strange:
            warn(f"columns {strange} hold categories that training samples do not have; see handle_unknown")
        n_samples = len(codes[0]) if codes else len(X)
        flags = np.full((n_samples, self.n_in), UNKNOWN)
        for place, own in enumerate(codes):
            flags[:, place] = np.append(self.places[place], self.unknown[place])[own]  # the code -1 is the last one
        set_ = flags != UNKNOWN
        ends = np.concatenate([[0], np.cumsum(set_.sum(axis=1))])
        shape = (n_samples, self.n_out)
        result = sp.csr_matrix((np.ones(ends[-1], dtype=self.dtype), flags[set_], ends), shape=shape)
        return result if self.sparse else result.toarray()

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        names = self._names_in(input_features)
        pairs = zip(names[self.owners], self.labels, strict=True)
        return np.array([f"{name}_{label}" for name, label in pairs], dtype=object)


@dataclass(frozen=True, eq=False, repr=False)
class OrdinalOperation(_Encoding):
    """A number, which may be NaN, for each category; unknown ones are an error where `unknown` is None."""

    categories: list[np.ndarray]
    numbers: list[np.ndarray]
    unknown: float | None
    dtype: str

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        _check_lengths(self, "numbers", sizes, path)

    _saved = Schema(
        {
            "categories": several(_check_categories, "in", own=("own",)),
            "numbers": _ORDINALS,
            "unknown": maybe(_check_number),
            "dtype": one_of(*TYPES),
        },
    )

    def transform(self, X: Any) -> np.ndarray:
        codes = self._codes(X, self.unknown is None)
        other = np.nan if self.unknown is None else self.unknown
        columns = [np.append(own, other)[code] for own, code in zip(self.numbers, codes, strict=True)]
        return np.stack(columns, axis=1).astype(self.dtype) if columns else np.empty((len(X), 0), dtype=self.dtype)


@dataclass(frozen=True, eq=False, repr=False)
class ChainOperation(Operation):
    """One operation after another; `steps` is a list of at least one."""

    steps: list[Operation]

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if not self.steps:
            refuse(f"{path}.steps", "are empty")
        for place, (first, second) in enumerate(zip(self.steps[:-1], self.steps[1:], strict=True)):
            expect(first.n_out, second.n_in, f"{path}.steps[{place + 1}]", "features")
            if second.takes_documents:
                refuse(f"{path}.steps[{place + 1}]", "takes documents, but is not the first step")

    _saved = Schema({"steps": several(object_of(Operation))})

    takes_documents = property(lambda self: self.steps[0].takes_documents)
    n_in = property(lambda self: self.steps[0].n_in)
    n_out = property(lambda self: self.steps[-1].n_out)

    def transform(self, X: Any) -> Any:
        for step in self.steps:
            X = step.transform(X)
        return X

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        names: Any = input_features
        for step in self.steps:
            names = step.get_feature_names_out(names)
        return np.asarray(names, dtype=object)


@dataclass(frozen=True, eq=False, repr=False)
class ByColumnsOperation(Operation):
    """Operations on groups of columns, and their results side by side.

    For each group there are a name, the positions of its columns, whether it is a single column that is passed on as a
    sequence (of documents, for example), an operation, and the weight of the result, None for 1. `prefixes`: the names
    of the result begin with those of the groups.
    """

    width: int
    names: list[str]
    columns: list[np.ndarray]
    single: list[bool]
    operations: list[Operation]
    weights: list[float | None]
    sparse: bool
    prefixes: bool

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        for place, (columns, own) in enumerate(zip(self.columns, self.operations, strict=True)):
            expect(own.n_in, len(columns), f"{path}.columns[{place}]", "columns")
            if own.takes_documents != self.single[place]:
                refuse(f"{path}.single[{place}]", f"is {self.single[place]} for an operation of the other kind")

    _saved = Schema(
        {
            "width": size("in"),
            "names": several(text, "groups"),
            "columns": several(indices("own", below="in"), "groups", own=("own",)),
            "single": several(flag, "groups"),
            "operations": several(object_of(Operation), "groups"),
            "weights": several(maybe(number()), "groups"),
            "sparse": flag,
            "prefixes": flag,
        },
    )

    n_out = property(lambda self: sum(int(operation.n_out) for operation in self.operations))

    def transform(self, X: Any) -> Any:
        if not hasattr(X, "shape"):
            X = check_array(X, dtype=object, ensure_all_finite="allow-nan")
        self._check_width(X)
        results = []
        groups = zip(self.columns, self.single, self.operations, self.weights, strict=True)
        for columns, single, operation, weight in groups:
            chosen: Any = columns[0] if single else columns
            result = operation.transform(X.iloc[:, chosen] if hasattr(X, "iloc") else X[:, chosen])
            results.append(result if weight is None else result * weight)
        if not results:
            return np.zeros((X.shape[0], 0))
        if self.sparse:
            numeric = [check_array(result, accept_sparse=True, ensure_all_finite=False) for result in results]
            return sp.csr_matrix(sp.hstack(numeric, format="csr"))
        return np.hstack([result.toarray() if sp.issparse(result) else result for result in results])

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """The names that the groups give, each behind the group's name and ``__`` where there are prefixes."""
        names = self._names_in(input_features)
        found = []
        for group, columns, operation in zip(self.names, self.columns, self.operations, strict=True):
            own = operation.get_feature_names_out(names[columns])
            found += [f"{group}__{name}" for name in own] if self.prefixes else list(own)
        return np.array(found, dtype=object)


@dataclass(frozen=True, eq=False, repr=False)
class NamedOperation(Operation):
    names: list[str]
    operation: Operation

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        agree(sizes, "in", self.operation.n_in, f"{path}.operation")
        if self.operation.takes_documents:
            refuse(f"{path}.operation", "takes documents, which have no names")

    _saved = Schema({"names": several(text, "in"), "operation": object_of(Operation)})

    n_in = property(lambda self: len(self.names))
    n_out = property(lambda self: self.operation.n_out)

    def transform(self, X: Any) -> Any:
        return self.operation.transform(X)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        if input_features is not None and list(input_features) != self.names:
            raise ValueError("input_features is not equal to feature_names_in_")
        return self.operation.get_feature_names_out(self.names)
