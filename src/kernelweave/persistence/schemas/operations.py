"""What the preparation of a view and its operations (see `preparation`) consist of, in the words of `language`.

Sizes: ``in`` and ``out`` are the columns that an operation takes and gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...kernels.preparation import Preparation, TableKind
from ..preparation import (
    OPERATIONS,
    TRANSFORMERS,
    ByColumnsOperation,
    ChainOperation,
    CountTermsOperation,
    FillOperation,
    KeepOperation,
    NamedOperation,
    NeighborsFillOperation,
    OneHotOperation,
    OrdinalOperation,
    RotateOperation,
    ScaleOperation,
    UnitNormOperation,
    WeighTermsOperation,
)
from ..preparation.analysis import ACCENTS, ANALYZERS, LONGEST_NGRAM, check_pattern
from ..preparation.converting import TYPES
from .language import (
    Schema,
    Sizes,
    agree,
    array,
    count,
    flag,
    maybe,
    number,
    numbers,
    one_of,
    optional,
    part,
    positions,
    refuse,
    several,
    size,
    text,
    together,
)

_SMALLEST = float(np.finfo(np.float32).tiny)


def operation(value: Any, sizes: Sizes, path: str) -> None:
    """An operation, that is right in itself."""
    part(OPERATIONS)(value, {}, path)


def transformer(value: Any, sizes: Sizes, path: str) -> None:
    """A transformer of scikit-learn, not fitted, which prediction does not read."""
    if TRANSFORMERS.get(type(value).__name__) is not type(value):
        refuse(path, f"is a {type(value).__name__}, which it never is")


def points(value: Any, sizes: Sizes, path: str) -> None:
    """What prepares the view of a kernel, and points among the features that it makes."""
    together(part(Preparation), numbers("samples", "features"))(value, sizes, path)
    agree(sizes, "features", value[0].n_features, f"{path}[1]")


def _nothing_inside(value: Any, sizes: Sizes, path: str) -> None:
    """An empty dict."""
    if type(value) is not dict or value:
        refuse(path, "is not an empty dict")


def _preparation_rule(value: Preparation, sizes: Sizes, path: str) -> None:
    """The operation takes the view's columns, or documents, and gives the features."""
    agree(sizes, "own", value.transformer.n_in, f"{path}.transformer")
    agree({"features": value.n_features}, "features", value.transformer.n_out, f"{path}.transformer")
    if value.transformer.takes_documents != value.documents:
        refuse(f"{path}.documents", f"is {value.documents} for an operation of the other kind")


def _entry(value: Any, sizes: Sizes, path: str) -> None:
    """Text, a number (which may be NaN), or None."""
    if not (value is None or isinstance(value, str | bool | int | float | np.number | np.bool_)):
        refuse(path, f"is a {type(value).__name__}, which is neither text nor a number")


def _any_number(value: Any, sizes: Sizes, path: str) -> None:
    """A number, which may be NaN."""
    if not (isinstance(value, float) and value != value):
        number()(value, sizes, path)


def _categories(value: Any, sizes: Sizes, path: str) -> None:
    """Sorted numbers, of which the last may be NaN, or objects that are text, numbers or None."""
    array("fiubO", "own", nan=True, inf=True, filled=True)(value, sizes, path)
    if value.dtype.kind == "O":
        for entry in value:
            _entry(entry, sizes, path)
        return
    known = value[:-1] if value[-1] != value[-1] else value
    if (known[1:] <= known[:-1]).any() or pd.isna(known).any():
        refuse(path, "are not sorted")


def _scale_rule(value: ScaleOperation, sizes: Sizes, path: str) -> None:
    """Nothing is divided by 0."""
    if value.divisor is not None and (value.divisor == 0.0).any():
        refuse(f"{path}.divisor", "holds 0")


def _fill_rule(value: FillOperation, sizes: Sizes, path: str) -> None:
    """Objects are filled with objects, and numbers with numbers."""
    if (value.values.dtype.kind == "O") != (value.kind == "object"):
        refuse(f"{path}.values", f"are of the type {value.values.dtype}, which is not for cells of kind {value.kind}")
    if value.values.dtype.kind == "O":
        for entry in value.values:
            _entry(entry, sizes, f"{path}.values")


def _one_hot_rule(value: OneHotOperation, sizes: Sizes, path: str) -> None:
    """Each category of a column has one place, which is that of a flag of this column."""
    agree(sizes, "in", len(value.places), f"{path}.places")
    for column, (categories, places) in enumerate(zip(value.categories, value.places, strict=True)):
        agree({"categories": len(categories)}, "categories", len(places), f"{path}.places[{column}]")
        used = np.append(places, value.unknown[column])
        if (value.owners[used[used >= 0]] != column).any():
            refuse(f"{path}.places[{column}]", "are flags of another column")


def _ordinal_rule(value: OrdinalOperation, sizes: Sizes, path: str) -> None:
    """There is a number for each category."""
    agree(sizes, "in", len(value.numbers), f"{path}.numbers")
    for column, (categories, own) in enumerate(zip(value.categories, value.numbers, strict=True)):
        agree({"categories": len(categories)}, "categories", len(own), f"{path}.numbers[{column}]")


def _terms_rule(value: CountTermsOperation, sizes: Sizes, path: str) -> None:
    """There are n-grams, and words are found by a pattern that takes little time."""
    if value.ngram_range[0] > value.ngram_range[1] or not value.terms:
        refuse(path, "counts nothing")
    if value.analyzer == "word":
        text(value.token_pattern, sizes, f"{path}.token_pattern")
        try:
            check_pattern(str(value.token_pattern))
        except ValueError as error:
            refuse(f"{path}.token_pattern", f"is not trusted: {error}")


def _chain_rule(value: ChainOperation, sizes: Sizes, path: str) -> None:
    """Each step takes what the one before gives."""
    if not value.steps:
        refuse(f"{path}.steps", "are empty")
    for place, (first, second) in enumerate(zip(value.steps[:-1], value.steps[1:], strict=True)):
        agree({"features": first.n_out}, "features", second.n_in, f"{path}.steps[{place + 1}]")
        if second.takes_documents:
            refuse(f"{path}.steps[{place + 1}]", "takes documents, but is not the first step")


def _by_columns_rule(value: ByColumnsOperation, sizes: Sizes, path: str) -> None:
    """Each group has as many columns as its operation takes, and documents come as one column."""
    for place, (columns, own) in enumerate(zip(value.columns, value.operations, strict=True)):
        agree({"columns": own.n_in}, "columns", len(columns), f"{path}.columns[{place}]")
        if own.takes_documents != value.single[place]:
            refuse(f"{path}.single[{place}]", f"is {value.single[place]} for an operation of the other kind")


def _named_rule(value: NamedOperation, sizes: Sizes, path: str) -> None:
    """There is a name for each column of a table."""
    agree(sizes, "in", value.operation.n_in, f"{path}.operation")
    if value.operation.takes_documents:
        refuse(f"{path}.operation", "takes documents, which have no names")


_constants = maybe(numbers("in", nan=True))

OPERATION_SCHEMAS: dict[type, Schema] = {
    Preparation: Schema(
        {"transformer": operation, "kind": part(TableKind, "own"), "documents": flag, "n_features": count()},
        _preparation_rule,
    ),
    TableKind: Schema(
        {
            "is_frame": flag,
            "names": maybe(several(text, "own")),
            "dtypes": _nothing_inside,
            "texts": optional(maybe(several(flag, "own"))),
        }
    ),
    KeepOperation: Schema({"width": size("in")}),
    ScaleOperation: Schema(
        {
            "width": size("in"),
            **dict.fromkeys(("center", "divisor", "factor", "offset"), _constants),
            "limits": maybe(together(number(), number())),
        },
        _scale_rule,
    ),
    UnitNormOperation: Schema({"width": size("in"), "norm": one_of("l1", "l2", "max")}),
    FillOperation: Schema(
        {
            "width": size("in"),
            "marker": _entry,
            "kept": positions("kept", below="in"),
            "values": array("fiO", "kept", nan=True, inf=True),
            "flagged": maybe(positions("flagged", below="in")),
            "kind": one_of("float", "object", "any"),
        },
        _fill_rule,
    ),
    NeighborsFillOperation: Schema(
        {
            "samples": numbers("donors", "in", nan=True),
            "n_neighbors": count(1),
            "by_distance": flag,
            "kept": positions("kept", below="in"),
            "flagged": maybe(positions("flagged", below="in")),
        }
    ),
    OneHotOperation: Schema(
        {
            "categories": several(_categories, "in", own=("own",)),
            "owners": positions("out", below="in"),
            "labels": several(text, "out"),
            "places": several(positions("own", low=-1, below="out"), own=("own",)),
            "unknown": positions("in", low=-1, below="out"),
            "refuses": flag,
            "warns": flag,
            "sparse": flag,
            "dtype": one_of(*TYPES),
        },
        _one_hot_rule,
    ),
    OrdinalOperation: Schema(
        {
            "categories": several(_categories, "in", own=("own",)),
            "numbers": several(numbers("own", nan=True), own=("own",)),
            "unknown": maybe(_any_number),
            "dtype": one_of(*TYPES),
        },
        _ordinal_rule,
    ),
    CountTermsOperation: Schema(
        {
            "terms": several(text, "out"),
            "analyzer": one_of(*ANALYZERS),
            "ngram_range": together(count(1, LONGEST_NGRAM), count(1, LONGEST_NGRAM)),
            "lowercase": flag,
            "strip_accents": one_of(*ACCENTS),
            "stop_words": maybe(several(text)),
            "token_pattern": maybe(text),
            "binary": flag,
            "dtype": one_of(*TYPES),
        },
        _terms_rule,
    ),
    WeighTermsOperation: Schema(
        {
            "width": size("in"),
            "weights": maybe(numbers("in", inf=True)),
            "sublinear": flag,
            "norm": one_of(None, "l1", "l2"),
        }
    ),
    RotateOperation: Schema(
        {
            "components": numbers("out", "in"),
            "mean": maybe(numbers("in")),
            "scale": maybe(numbers("out", low=_SMALLEST)),
            "prefix": text,
        }
    ),
    ChainOperation: Schema({"steps": several(operation)}, _chain_rule),
    ByColumnsOperation: Schema(
        {
            "width": size("in"),
            "names": several(text, "groups"),
            "columns": several(positions("own", below="in"), "groups", own=("own",)),
            "single": several(flag, "groups"),
            "operations": several(operation, "groups"),
            "weights": several(maybe(number()), "groups"),
            "sparse": flag,
            "prefixes": flag,
        },
        _by_columns_rule,
    ),
    NamedOperation: Schema({"names": several(text, "in"), "operation": operation}, _named_rule),
}
