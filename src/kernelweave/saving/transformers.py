"""Transformers of scikit-learn: what a saved model holds of them in their place.

`as_operation` turns a fitted transformer into an operation on arrays, of plain data, which gives what it gave.
`described` and `built` write down and make again the transformer that a kernel was given, as class and parameters:
what a loaded model needs to be fitted again. Only classes of `TRANSFORMERS` are made, by their constructors, which
store their arguments and do nothing else. Parameters that have their default are not written, so that a file does not
depend on the version of scikit-learn.

==========================  ======================================================================
operation                   transformers of scikit-learn
==========================  ======================================================================
`ScaleOperation`            `StandardScaler`, `MinMaxScaler`, `RobustScaler`, `MaxAbsScaler`
`UnitNormOperation`         `Normalizer`
`FillOperation`             `SimpleImputer`
`NeighborsFillOperation`    `KNNImputer`
`OneHotOperation`           `OneHotEncoder`
`OrdinalOperation`          `OrdinalEncoder`
`CountTermsOperation`       `CountVectorizer`, with the built-in analysers
`WeighTermsOperation`       `TfidfTransformer`; behind `CountTermsOperation`: `TfidfVectorizer`
`RotateOperation`           `PCA`, `TruncatedSVD`
`KeepOperation`             ``"passthrough"``, `FunctionTransformer` without a function
`FunctionOperation`         `FunctionTransformer` of a function of NumPy, such as ``np.log1p`` (`UFUNCS`)
`ChainOperation`            `Pipeline`
`ByColumnsOperation`        `ColumnTransformer`
==========================  ======================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any, NoReturn

import numpy as np
from sklearn import __version__ as sklearn_version

from .documents import LONGEST_NGRAM, CountTermsOperation, WeighTermsOperation, check_pattern
from .operations import (
    TYPES,
    UFUNCS,
    UNKNOWN,
    ByColumnsOperation,
    ChainOperation,
    FillOperation,
    FunctionOperation,
    KeepOperation,
    NamedOperation,
    NeighborsFillOperation,
    OneHotOperation,
    Operation,
    OrdinalOperation,
    RotateOperation,
    ScaleOperation,
    UnitNormOperation,
    codes_of,
    is_plain,
)

# Before scikit-learn 1.8 "warn" left unknown categories without a flag.
_VERSION = tuple(map(int, sklearn_version.split(".")[:2]))
_FUNCTIONS = ("func", "inverse_func")
_UNKNOWN_IS_RARE = ("infrequent_if_exist", *(("warn",) if _VERSION >= (1, 8) else ()))
_REMEDY = "which a saved model cannot hold; pickle the model instead, or prepare that view outside the model"


def refuse_transformer(where: str, what: str) -> NoReturn:
    raise ValueError(f"{where} is {what}, {_REMEDY}")


def as_operation(transformer: Any, where: str, width: int) -> Operation:
    """The operation that does what a fitted transformer does.

    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[0.0], [2.0]])
    >>> as_operation(scaler, "the transformer", 1).transform([[4.0]])
    array([[3.]])
    """
    if isinstance(transformer, Operation):
        return transformer
    operation = _converted(transformer, where, width)
    names = _names_in(transformer)
    return operation if names is None or operation.takes_documents else NamedOperation(list(names), operation)


def _names_in(transformer: Any) -> Any:
    if type(transformer).__name__ == "Pipeline":
        first = next((step for _, step in transformer.steps if not _passes(step)), None)
        return _names_in(first)
    return getattr(transformer, "feature_names_in_", None)


def _passes(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _converted(transformer: Any, where: str, width: int) -> Operation:
    convert = TRANSFORMERS[type(transformer).__name__][1] if _is_listed(transformer) else None
    if convert is None:
        refuse_transformer(where, _class_of(transformer))
    for name, value in transformer.get_params(deep=False).items():
        if callable(value) and not isinstance(value, type) and _ufunc_name(value, name, transformer) is None:
            refuse_transformer(where, f"{_class_of(transformer)} with a function as {name}")
    return convert(transformer, where, width)


def _ufunc_name(value: Any, parameter: str, owner: Any) -> str | None:
    """The name of a function of `UFUNCS` that a `FunctionTransformer` applies; None of anything else."""
    if parameter not in _FUNCTIONS or type(owner).__name__ != "FunctionTransformer" or not isinstance(value, np.ufunc):
        return None
    return value.__name__ if UFUNCS.get(value.__name__) is value else None


def _class_of(value: Any) -> str:
    return type(value).__name__ if not isinstance(value, str) else repr(value)


def _own(array: Any) -> Any:
    """Constants as an array of floating-point numbers, without sharing the transformer's memory; None stays."""
    if array is None:
        return None
    array = np.array(array, order="K")
    return array if array.dtype in (np.float64, np.float32) else array.astype(float)


def _standard(given: Any, where: str, width: int) -> Operation:
    center = given.mean_ if given.with_mean else None
    return ScaleOperation(width, center=_own(center), divisor=_own(given.scale_ if given.with_std else None))


def _min_max(given: Any, where: str, width: int) -> Operation:
    low, high = given.feature_range
    limits = (float(low), float(high)) if given.clip else None
    return ScaleOperation(width, factor=_own(given.scale_), offset=_own(given.min_), limits=limits)


def _robust(given: Any, where: str, width: int) -> Operation:
    center = given.center_ if given.with_centering else None
    return ScaleOperation(width, center=_own(center), divisor=_own(given.scale_ if given.with_scaling else None))


def _max_abs(given: Any, where: str, width: int) -> Operation:
    limits = (-1.0, 1.0) if getattr(given, "clip", False) else None  # not all versions of scikit-learn have it
    return ScaleOperation(width, divisor=_own(given.scale_), limits=limits)


def _normalizer(given: Any, where: str, width: int) -> Operation:
    return UnitNormOperation(width, given.norm)


def _imputer(given: Any, where: str, width: int) -> Operation:
    marker = given.missing_values
    marker = marker.item() if isinstance(marker, np.generic) else marker
    if not (marker is None or isinstance(marker, str | int | float)):
        refuse_transformer(where, f"SimpleImputer with {given.missing_values!r} as missing_values")
    values = given.statistics_
    empty = np.array([value != value for value in values.tolist()], dtype=bool)
    kept = np.arange(len(values)) if given.keep_empty_features else np.flatnonzero(~empty)
    reads_numbers = given.strategy in ("mean", "median")
    fitted = getattr(given, "_fit_dtype", values.dtype)  # constants are objects, whatever they fill
    kind = "object" if fitted.kind == "O" else "float" if reads_numbers else "any"
    return FillOperation(
        width,
        marker=marker,
        kept=kept,
        values=values[kept].astype(object if kind == "object" else int if fitted.kind in "iu" else float),
        flagged=_flagged(given),
        kind=kind,
    )


def _neighbors(given: Any, where: str, width: int) -> Operation:
    if given.missing_values == given.missing_values:
        refuse_transformer(where, f"KNNImputer with {given.missing_values!r} as missing_values")
    samples = _own(given._fit_X)
    kept = np.arange(width) if given.keep_empty_features else np.flatnonzero(~np.isnan(samples).all(axis=0))
    return NeighborsFillOperation(
        samples,
        n_neighbors=int(given.n_neighbors),
        by_distance=given.weights == "distance",
        kept=kept,
        flagged=_flagged(given),
    )


def _flagged(given: Any) -> np.ndarray | None:
    return np.array(given.indicator_.features_, dtype=int) if given.add_indicator else None


def _type(dtype: Any, where: str, what: str) -> str:
    name = np.dtype(dtype).name
    if name not in TYPES:
        refuse_transformer(where, f"{what} with the dtype {name}")
    return name


def _groups(given: Any, place: int, without: int | None = None) -> tuple[np.ndarray, bool]:
    """The group of each category of a column, and whether the last group is that of rare categories.

    The category `without` (the missing one) is in no group, and its number means nothing.
    """
    categories = given.categories_[place]
    rare = getattr(given, "infrequent_categories_", [None] * len(given.categories_))[place]
    is_rare = np.zeros(len(categories), dtype=bool)
    if rare is not None:
        is_rare[codes_of(np.asarray(rare), categories)] = True
    counts = ~is_rare
    if without is not None:
        counts[without] = False
    return np.where(is_rare, counts.sum(), np.cumsum(counts) - 1), rare is not None


def _categories(given: Any, where: str) -> list[np.ndarray]:
    found = [np.array(own) if own.dtype.kind in "fiub" else own.astype(object) for own in given.categories_]
    for own in found:
        if own.dtype.kind == "O" and not all(is_plain(entry) for entry in own):
            refuse_transformer(where, f"{_class_of(given)} of categories that are neither text nor numbers")
    return found


def _one_hot(given: Any, where: str, width: int) -> Operation:
    categories = _categories(given, where)
    places: list[np.ndarray] = []
    unknown: list[int] = []
    owners: list[int] = []
    labels: list[str] = []
    for column in range(len(categories)):
        groups, has_rare = _groups(given, column)
        dropped = None if given.drop_idx_ is None else given.drop_idx_[column]
        dropped = UNKNOWN if dropped is None else groups[dropped]
        numbers = np.full(groups.max() + 1, UNKNOWN)
        kept = np.flatnonzero(np.arange(len(numbers)) != dropped)
        numbers[kept] = len(labels) + np.arange(len(kept))
        places.append(numbers[groups])
        takes_rare = has_rare and given.handle_unknown in _UNKNOWN_IS_RARE
        unknown.append(numbers[-1] if takes_rare else UNKNOWN)
        names = [str(entry) for entry in given.categories_[column]]
        first = {group: names[place] for place, group in reversed(list(enumerate(groups)))}
        if has_rare:
            first[len(numbers) - 1] = "infrequent_sklearn"
        labels += [first[group] for group in kept]
        owners += [column] * len(kept)
    return OneHotOperation(
        categories,
        places,
        unknown=np.array(unknown, dtype=int),
        owners=np.array(owners, dtype=int),
        labels=labels,
        refuses=given.handle_unknown == "error",
        warns=given.handle_unknown == "warn" or (given.drop is not None and given.handle_unknown != "error"),
        sparse=bool(given.sparse_output),
        dtype=_type(given.dtype, where, "OneHotEncoder"),
    )


def _ordinal(given: Any, where: str, width: int) -> Operation:
    categories = _categories(given, where)
    numbers = []
    for column, own in enumerate(categories):
        missing = next((place for place, entry in enumerate(own.tolist()) if entry != entry), None)
        groups, _ = _groups(given, column, missing)
        codes = groups.astype(float)
        if missing is not None:
            codes[missing] = given.encoded_missing_value
        numbers.append(codes)
    unknown = None if given.handle_unknown == "error" else float(given.unknown_value)
    return OrdinalOperation(categories, numbers, unknown, dtype=_type(given.dtype, where, "OrdinalEncoder"))


def _counts(given: Any, where: str, width: int) -> Operation:
    what = _class_of(given)
    if given.input != "content" or (given.encoding, given.decode_error) != ("utf-8", "strict"):
        refuse_transformer(where, f"{what} with other documents than text (input, encoding or decode_error is set)")
    if given.ngram_range[1] > LONGEST_NGRAM:
        refuse_transformer(where, f"{what} with n-grams of more than {LONGEST_NGRAM} parts")
    by_words = given.analyzer == "word"
    if by_words:
        try:
            check_pattern(given.token_pattern)
        except ValueError as error:
            refuse_transformer(where, f"{what} with a token_pattern that loading would not trust ({error})")
    terms = sorted(given.vocabulary_, key=given.vocabulary_.__getitem__)
    if not all(type(term) is str for term in terms):
        refuse_transformer(where, f"{what} with a vocabulary of other things than text")
    stop_words = given.get_stop_words()
    return CountTermsOperation(
        terms,
        analyzer=given.analyzer,
        ngram_range=(int(given.ngram_range[0]), int(given.ngram_range[1])),
        lowercase=bool(given.lowercase),
        strip_accents=given.strip_accents or None,
        stop_words=sorted(map(str, stop_words)) if by_words and stop_words is not None else None,
        token_pattern=given.token_pattern if by_words else None,
        binary=bool(given.binary),
        dtype=_type(given.dtype, where, what),
    )


def _weighed(given: Any, where: str, width: int) -> Operation:
    weights = _own(given.idf_) if given.use_idf else None
    return WeighTermsOperation(width, weights=weights, sublinear=bool(given.sublinear_tf), norm=given.norm)


def _tfidf(given: Any, where: str, width: int) -> Operation:
    counts = _counts(given, where, width)
    return ChainOperation([counts, _weighed(given, where, counts.n_out)])


def _pca(given: Any, where: str, width: int) -> Operation:
    scale = None
    if given.whiten:
        scale = np.sqrt(given.explained_variance_)
        scale[scale < np.finfo(scale.dtype).eps] = np.finfo(scale.dtype).eps
    return RotateOperation(_own(given.components_), mean=_own(given.mean_), scale=_own(scale), prefix="pca")


def _truncated(given: Any, where: str, width: int) -> Operation:
    return RotateOperation(_own(given.components_), mean=None, scale=None, prefix="truncatedsvd")


def _few(given: Any, where: str, width: int) -> Operation:
    return _converted(given.reduction_, where, width)


def _function(given: Any, where: str, width: int) -> Operation:
    if given.func is None:
        return KeepOperation(width)
    if given.kw_args:
        refuse_transformer(where, f"FunctionTransformer with kw_args for {given.func.__name__}")
    return FunctionOperation(width, given.func.__name__)


def _pipeline(given: Any, where: str, width: int) -> Operation:
    steps: list[Operation] = []
    for name, step in given.steps:
        if not (_passes(step) or (_is_a(step, "FunctionTransformer") and step.func is None)):
            steps.append(_converted(step, f"{where} step {name!r}", steps[-1].n_out if steps else width))
    return ChainOperation(steps) if steps else KeepOperation(width)


def _by_columns(given: Any, where: str, width: int) -> Operation:
    if not isinstance(given.verbose_feature_names_out, bool):
        refuse_transformer(where, "ColumnTransformer with a verbose_feature_names_out that is not True or False")
    names, columns, single, operations, weights = [], [], [], [], []
    for name, part, chosen in given.transformers_:
        positions = np.array(given._transformer_to_input_indices[name], dtype=int)
        if (isinstance(part, str) and part == "drop") or len(positions) == 0:
            continue
        place = f"{where} part {name!r}"
        operations.append(KeepOperation(len(positions)) if _passes(part) else _converted(part, place, len(positions)))
        names.append(name)
        columns.append(positions)
        single.append(isinstance(chosen, str | int | np.integer))
        weight = (given.transformer_weights or {}).get(name)
        weights.append(None if weight is None else float(weight))
    sparse, prefixes = bool(getattr(given, "sparse_output_", False)), given.verbose_feature_names_out
    return ByColumnsOperation(width, names, columns, single, operations, weights, sparse=sparse, prefixes=prefixes)


# The classes that are made: the module of each, and how a fitted one becomes an operation.
TRANSFORMERS: dict[str, tuple[str, Callable[[Any, str, int], Operation] | None]] = {
    "StandardScaler": ("sklearn.preprocessing", _standard),
    "MinMaxScaler": ("sklearn.preprocessing", _min_max),
    "RobustScaler": ("sklearn.preprocessing", _robust),
    "MaxAbsScaler": ("sklearn.preprocessing", _max_abs),
    "Normalizer": ("sklearn.preprocessing", _normalizer),
    "SimpleImputer": ("sklearn.impute", _imputer),
    "KNNImputer": ("sklearn.impute", _neighbors),
    "OneHotEncoder": ("sklearn.preprocessing", _one_hot),
    "OrdinalEncoder": ("sklearn.preprocessing", _ordinal),
    "CountVectorizer": ("sklearn.feature_extraction.text", _counts),
    "TfidfVectorizer": ("sklearn.feature_extraction.text", _tfidf),
    "TfidfTransformer": ("sklearn.feature_extraction.text", _weighed),
    "PCA": ("sklearn.decomposition", _pca),
    "TruncatedSVD": ("sklearn.decomposition", _truncated),
    "FewComponents": ("kernelweave.recipes.preparation", _few),
    "FunctionTransformer": ("sklearn.preprocessing", _function),
    "Pipeline": ("sklearn.pipeline", _pipeline),
    "ColumnTransformer": ("sklearn.compose", _by_columns),
    "make_column_selector": ("sklearn.compose", None),
}
_OUTPUTS = ("default", "pandas", "polars")


@cache
def transformer_named(name: str) -> type:
    return getattr(import_module(TRANSFORMERS[name][0]), name)


def _is_listed(value: Any) -> bool:
    name = type(value).__name__
    return name in TRANSFORMERS and transformer_named(name) is type(value)


def _is_a(value: Any, name: str) -> bool:
    return type(value).__name__ == name and _is_listed(value)


@dataclass
class Description:
    """Class name, changed parameters (transformers as descriptions) and `set_output` of one of `TRANSFORMERS`."""

    name: str
    parameters: dict[str, Any]
    output: str | None = None


def described(transformer: Any, where: str, known: dict[int, Description]) -> Description:
    """The description of a transformer, `known` by its id or made now, or a refusal that names it."""
    if id(transformer) not in known:
        name = type(transformer).__name__
        if not _is_listed(transformer):
            refuse_transformer(where, name)
        if "_metadata_request" in vars(transformer):
            refuse_transformer(where, f"{name} with requests of metadata")
        parameters = {
            parameter: _held(getattr(transformer, parameter), parameter, transformer, where, known)
            for parameter, default in _parameters(name).items()
            if not _is_same(getattr(transformer, parameter), default)
        }
        output = vars(transformer).get("_sklearn_output_config", {}).get("transform")
        known[id(transformer)] = Description(name, parameters, output)
    return known[id(transformer)]


def _held(value: Any, parameter: str, owner: Any, where: str, known: dict[int, Description]) -> Any:
    if _is_a(value, "make_column_selector"):
        return described(value, where, known)
    if parameter == "steps":
        return [
            (name, step if _is_word(step) else described(step, f"{where} step {name!r}", known)) for name, step in value
        ]
    if parameter == "transformers":
        return [
            (
                name,
                step if _is_word(step) else described(step, f"{where} part {name!r}", known),
                _held(columns, "columns", owner, where, known),
            )
            for name, step, columns in value
        ]
    if parameter == "remainder" and not _is_word(value):
        return described(value, f"{where} part 'remainder'", known)
    if callable(value) and not isinstance(value, type):
        name = _ufunc_name(value, parameter, owner)
        if name is None:
            refuse_transformer(where, f"{type(owner).__name__} with a function as {parameter}")
        return name
    return sorted(value) if isinstance(value, set | frozenset) else value


def _is_word(step: Any) -> bool:
    return step is None or isinstance(step, str)


def _is_same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return type(value) is type(default) and (bool(value == default) or (value != value and default != default))


@cache
def _parameters(name: str) -> dict[str, Any]:
    return {each.name: each.default for each in signature(transformer_named(name)).parameters.values()}


def built(name: Any, parameters: dict[str, Any], output: Any) -> Any:
    """The transformer of a description that a file holds, not fitted; a `ValueError` where there is none."""
    if not isinstance(name, str) or name not in TRANSFORMERS:
        raise ValueError(f"it holds a transformer of the unknown class {name!r}; this kernelweave does not make those")
    for parameter in parameters:
        if parameter not in _parameters(name):
            raise ValueError(f"it gives a {name} the parameter {parameter!r}, which this version of it does not have")
    if name == "FunctionTransformer":
        parameters = parameters | {each: _ufunc(parameters[each]) for each in _FUNCTIONS if each in parameters}
    transformer = transformer_named(name)(**parameters)
    if name == "Pipeline":
        _check_parts(transformer.steps, 2, f"a {name} of other things than steps")
    if name == "ColumnTransformer":
        _check_parts(transformer.transformers, 3, f"a {name} of other things than groups of columns")
        if not _is_step(transformer.remainder):
            raise ValueError(f"it holds a {name} whose remainder is no transformer")
    if output is not None:
        if output not in _OUTPUTS or name == "make_column_selector":
            raise ValueError(f"it holds a {name} with the output {output!r}, which there is not")
        transformer._sklearn_output_config = {"transform": output}
    return transformer


def _ufunc(name: Any) -> np.ufunc:
    if not isinstance(name, str) or name not in UFUNCS:
        raise ValueError(f"it holds a FunctionTransformer of the unknown function {name!r}")
    return UFUNCS[name]


def _check_parts(parts: Any, length: int, what: str) -> None:
    right = type(parts) is list and all(
        type(part) is tuple and len(part) == length and type(part[0]) is str and _is_step(part[1]) for part in parts
    )
    if not right:
        raise ValueError(f"it holds {what}")


def _is_step(step: Any) -> bool:
    return _is_word(step) or (_is_listed(step) and not _is_a(step, "make_column_selector"))
