"""`as_operation`: a fitted transformer of scikit-learn as an operation on arrays, or a refusal that names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from sklearn import __version__ as sklearn_version
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from ...recipes.preparation import FewComponents
from .analysis import LONGEST_NGRAM, check_pattern
from .base import Operation
from .categories import UNKNOWN, OneHotOperation, OrdinalOperation, codes_of
from .composing import ByColumnsOperation, ChainOperation, KeepOperation, NamedOperation
from .filling import FillOperation
from .neighbors import NeighborsFillOperation
from .rotation import RotateOperation
from .scaling import ScaleOperation, UnitNormOperation
from .text import CountTermsOperation, WeighTermsOperation

# The types that results may have.
TYPES = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool")
# Before scikit-learn 1.8 "warn" left unknown categories without a flag.
_VERSION = tuple(map(int, sklearn_version.split(".")[:2]))
_UNKNOWN_IS_RARE = ("infrequent_if_exist", *(("warn",) if _VERSION >= (1, 8) else ()))
_REMEDY = "which a saved model cannot hold; pickle the model instead, or prepare that view outside the model"


def refuse_transformer(where: str, what: str) -> NoReturn:
    """Raise the `ValueError` that names what cannot be saved."""
    raise ValueError(f"{where} is {what}, {_REMEDY}")


def as_operation(transformer: Any, where: str, width: int) -> Operation:
    """The operation that does what a fitted transformer does.

    Parameters
    ----------
    transformer : transformer of scikit-learn, fitted, or Operation
        Of one of the classes of `CONVERTERS`; an operation is returned as it is.
    where : str
        What messages call it.
    width : int
        Number of columns that it is given.

    Raises
    ------
    ValueError
        Where it, or a step or part of it, is of another class or has a function among its parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from kernelweave.persistence.preparation import as_operation
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
    """The names of the columns of the fit, None where they had none."""
    if isinstance(transformer, Pipeline):
        first = next((step for _, step in transformer.steps if not _passes(step)), None)
        return _names_in(first)
    return getattr(transformer, "feature_names_in_", None)


def _passes(step: Any) -> bool:
    """Whether a step or part leaves columns as they are."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def _converted(transformer: Any, where: str, width: int) -> Operation:
    convert = CONVERTERS.get(type(transformer))
    if convert is None:
        refuse_transformer(where, _class_of(transformer))
    return convert(transformer, where, width)


def _class_of(value: Any) -> str:
    return type(value).__name__ if not isinstance(value, str) else repr(value)


def _own(array: Any) -> Any:
    """Constants as an array of floating-point numbers, without sharing the transformer's memory; None stays."""
    if array is None:
        return None
    array = np.array(array, order="K")
    return array if array.dtype in (np.float64, np.float32) else array.astype(float)


def _standard(given: StandardScaler, where: str, width: int) -> Operation:
    center = given.mean_ if given.with_mean else None
    return ScaleOperation(width, center=_own(center), divisor=_own(given.scale_ if given.with_std else None))


def _min_max(given: MinMaxScaler, where: str, width: int) -> Operation:
    low, high = given.feature_range
    limits = (float(low), float(high)) if given.clip else None
    return ScaleOperation(width, factor=_own(given.scale_), offset=_own(given.min_), limits=limits)


def _robust(given: RobustScaler, where: str, width: int) -> Operation:
    center = given.center_ if given.with_centering else None
    return ScaleOperation(width, center=_own(center), divisor=_own(given.scale_ if given.with_scaling else None))


def _max_abs(given: MaxAbsScaler, where: str, width: int) -> Operation:
    return ScaleOperation(width, divisor=_own(given.scale_), limits=(-1.0, 1.0) if _option(given, "clip") else None)


def _option(given: Any, name: str) -> Any:
    """An attribute that not all versions of scikit-learn, or not all fits, have; False without it."""
    return getattr(given, name, False)


def _normalizer(given: Normalizer, where: str, width: int) -> Operation:
    return UnitNormOperation(width, given.norm)


def _imputer(given: SimpleImputer, where: str, width: int) -> Operation:
    if callable(given.strategy):
        refuse_transformer(where, "SimpleImputer with a function as strategy")
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


def _neighbors(given: KNNImputer, where: str, width: int) -> Operation:
    for name in ("weights", "metric"):
        if callable(getattr(given, name)):
            refuse_transformer(where, f"KNNImputer with a function as {name}")
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


def _flagged(given: SimpleImputer | KNNImputer) -> np.ndarray | None:
    return np.array(given.indicator_.features_, dtype=int) if given.add_indicator else None


def _type(dtype: Any, where: str, what: str) -> str:
    name = np.dtype(dtype).name
    if name not in TYPES:
        refuse_transformer(where, f"{what} with the dtype {name}")
    return name


def _groups(given: OneHotEncoder | OrdinalEncoder, place: int, without: int | None = None) -> tuple[np.ndarray, bool]:
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


def _categories(given: OneHotEncoder | OrdinalEncoder, where: str) -> list[np.ndarray]:
    """The categories of each column: numbers, or objects for text."""
    found = [np.array(own) if own.dtype.kind in "fiub" else own.astype(object) for own in given.categories_]
    for own in found:
        if own.dtype.kind == "O" and not all(_is_plain(entry) for entry in own):
            refuse_transformer(where, f"{_class_of(given)} of categories that are neither text nor numbers")
    return found


def _is_plain(entry: Any) -> bool:
    return entry is None or isinstance(entry, str | bool | int | float | np.number | np.bool_)


def _one_hot(given: OneHotEncoder, where: str, width: int) -> Operation:
    if callable(given.feature_name_combiner):
        refuse_transformer(where, "OneHotEncoder with a function as feature_name_combiner")
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


def _ordinal(given: OrdinalEncoder, where: str, width: int) -> Operation:
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


def _counts(given: CountVectorizer | TfidfVectorizer, where: str, width: int) -> Operation:
    what = _class_of(given)
    for name in ("preprocessor", "tokenizer", "analyzer", "strip_accents"):
        if callable(getattr(given, name)):
            refuse_transformer(where, f"{what} with a function as {name}")
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
    stop_words = ENGLISH_STOP_WORDS if given.stop_words == "english" else given.stop_words
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


def _weighed(given: TfidfTransformer | TfidfVectorizer, where: str, width: int) -> Operation:
    weights = _own(given.idf_) if given.use_idf else None
    return WeighTermsOperation(width, weights=weights, sublinear=bool(given.sublinear_tf), norm=given.norm)


def _tfidf(given: TfidfVectorizer, where: str, width: int) -> Operation:
    counts = _counts(given, where, width)
    return ChainOperation([counts, _weighed(given, where, counts.n_out)])


def _pca(given: PCA, where: str, width: int) -> Operation:
    scale = None
    if given.whiten:
        scale = np.sqrt(given.explained_variance_)
        scale[scale < np.finfo(scale.dtype).eps] = np.finfo(scale.dtype).eps
    return RotateOperation(_own(given.components_), mean=_own(given.mean_), scale=_own(scale), prefix="pca")


def _truncated(given: TruncatedSVD, where: str, width: int) -> Operation:
    return RotateOperation(_own(given.components_), mean=None, scale=None, prefix="truncatedsvd")


def _few(given: FewComponents, where: str, width: int) -> Operation:
    return _converted(given.reduction_, where, width)


def _function(given: FunctionTransformer, where: str, width: int) -> Operation:
    if given.func is not None:
        refuse_transformer(where, "FunctionTransformer with a function")
    return KeepOperation(width)


def _pipeline(given: Pipeline, where: str, width: int) -> Operation:
    steps: list[Operation] = []
    for name, step in given.steps:
        if not (_passes(step) or (isinstance(step, FunctionTransformer) and step.func is None)):
            steps.append(_converted(step, f"{where} step {name!r}", steps[-1].n_out if steps else width))
    return ChainOperation(steps) if steps else KeepOperation(width)


def _by_columns(given: ColumnTransformer, where: str, width: int) -> Operation:
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
    sparse, prefixes = bool(_option(given, "sparse_output_")), given.verbose_feature_names_out
    return ByColumnsOperation(width, names, columns, single, operations, weights, sparse=sparse, prefixes=prefixes)


CONVERTERS: dict[type, Callable[[Any, str, int], Operation]] = {
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    RobustScaler: _robust,
    MaxAbsScaler: _max_abs,
    Normalizer: _normalizer,
    SimpleImputer: _imputer,
    KNNImputer: _neighbors,
    OneHotEncoder: _one_hot,
    OrdinalEncoder: _ordinal,
    CountVectorizer: _counts,
    TfidfVectorizer: _tfidf,
    TfidfTransformer: _weighed,
    PCA: _pca,
    TruncatedSVD: _truncated,
    FewComponents: _few,
    FunctionTransformer: _function,
    Pipeline: _pipeline,
    ColumnTransformer: _by_columns,
}
