"""`stack_views`: several descriptions of the same samples side by side in one data frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..validation.columns import check_unique_columns
from ..validation.inputs import as_pandas, check_unmasked, without_mask
from .labels import Labelled, Remedies, check_shared, nothing_shared, reason, shares
from .selectors import SEPARATOR
from .sparse_rows import SparseRows, from_pandas, is_sparse_zero

_REMEDIES = Remedies(
    alike="write the row labels alike, such as by view.set_axis(view.index.astype(str))",
    turned="transpose it (view.T)",
)


def stack_views(views: Mapping[str, Any], y: Any = None) -> pd.DataFrame | tuple[pd.DataFrame, pd.Series]:
    """Put several descriptions of the same samples side by side in one data frame.

    Columns of a two-dimensional view are named ``view__0``, ``view__1``, ... (or ``view__column`` for a data frame); a
    one-dimensional view, such as a list of strings, is the one column ``view``. Kernels then select views by name.

    A sparse matrix, or a data frame of sparse columns, stays sparse: it is the one column ``view`` whose cells are
    sparse rows; models call its features ``view__0``, ``view__1``, ... (or ``view__column``).

    A model fitted on such a frame finds the columns of new frames by name, in any order; a view of which a new frame
    has no column is missing for all its samples.

    Parameters
    ----------
    views : mapping from name to array, data frame, series, list or sparse matrix
        All of the same length; masked entries of an array become NaN. Where every view is a series or data frame of
        pandas, rows are matched by index label, and samples that lack a view get NaN there (a missing view). A view
        that shares no label with the others is an error where labels look alike, such as 7 and "7", and a warning
        where they do not. Tables of polars and pyarrow, which have no labels, count as arrays.
    y : series, array or list, optional
        A target for each sample. A series is matched by label like a view; every sample must have a target, and every
        target a sample.

    Returns
    -------
    DataFrame of shape (n_samples, total number of columns)
        Or, where `y` is given, this data frame and the targets as a series with its row labels. The index has the name
        that the indices of labelled views have.

    Examples
    --------
    >>> from kernelweave import stack_views
    >>> stack_views({"size": [[1.0, 2.0], [3.0, 4.0]], "word": ["ab", "ba"]})
       size__0  size__1 word
    0      1.0      2.0   ab
    1      3.0      4.0   ba

    Rows are matched by label where there are labels:

    >>> import pandas as pd
    >>> size = pd.DataFrame({"height": [1.8, 1.6]}, index=["ann", "bob"])
    >>> X, y = stack_views({"size": size}, y=pd.Series([0, 1], index=["bob", "ann"]))
    >>> X.assign(y=y)
         size__height  y
    ann           1.8  1
    bob           1.6  0

    Sparse views stay sparse:

    >>> import scipy.sparse as sp
    >>> stack_views({"size": [1.8, 1.6], "words": sp.csr_array([[0, 0, 1], [2, 0, 1]])})
       size         words
    0   1.8  <1 entries>
    1   1.6  <2 entries>
    """
    if not isinstance(views, Mapping) or not views:
        raise ValueError("stack_views needs a mapping from view names to arrays with at least one view")
    for name in views:
        _check_name(name)
    frames = {f"view {name!r}": _frame(name, values) for name, values in views.items()}
    if y is not None:
        frames["y"] = _target(y)
    given = [*views.values()] + ([] if y is None else [y])
    labelled = {
        name: frame.index
        for (name, frame), values in zip(frames.items(), given, strict=True)
        if isinstance(values, pd.DataFrame | pd.Series)
    }
    if len(labelled) < len(frames):
        index = _common_index(frames, labelled)
        frames = {name: frame.set_axis(index) for name, frame in frames.items()}
    elif any(not index.equals(frame.index) for index in labelled.values() for frame in frames.values()):
        _check_unique_index(labelled)
        _check_shared(views, labelled)
    target = frames.pop("y", None)
    X = pd.concat(frames.values(), axis=1, sort=False)
    X.index = _named(X.index, [*labelled.values()])
    return X if target is None else (X, _matched(target, X.index).set_axis(X.index))


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise ValueError(f"view names must be non-empty strings, not {name!r}")
    if SEPARATOR in name:
        raise ValueError(f"the view name {name!r} contains {SEPARATOR!r}, which separates a view from its columns")


def _frame(name: str, values: Any) -> pd.DataFrame:
    if sp.issparse(values):
        if values.ndim != 2:
            raise ValueError(f"the sparse view {name!r} must have two dimensions, not {values.ndim}")
        return pd.DataFrame({name: SparseRows(values)})
    values = as_pandas(values, f"views[{name!r}]")
    if isinstance(values, pd.Series):
        return values.to_frame(name)
    if isinstance(values, pd.DataFrame):
        check_unique_columns(values.columns, f"the view {name!r}")
        if values.shape[1] and all(is_sparse_zero(dtype) for dtype in set(values.dtypes)):
            return pd.DataFrame({name: from_pandas(values)}, index=values.index)
        return values.set_axis([f"{name}{SEPARATOR}{column}" for column in values.columns], axis=1)
    values = without_mask(values)
    array = np.asarray(values)
    if array.dtype.kind in "US":
        array = np.asarray(values, dtype=object)
    if array.ndim == 1:
        return pd.DataFrame({name: array})
    if array.ndim == 2:
        return pd.DataFrame(array, columns=[f"{name}{SEPARATOR}{j}" for j in range(array.shape[1])])
    raise ValueError(f"view {name!r} must have one or two dimensions, not {array.ndim}")


def _target(y: Any) -> pd.Series:
    y = as_pandas(y, "y")
    if isinstance(y, pd.Series):
        return y
    if np.ndim(y) != 1:
        raise ValueError(f"y must have one dimension, a target for each sample, not {np.ndim(y)}")
    check_unmasked(y, "y")
    return pd.Series(y)


def _matched(y: pd.Series, index: pd.Index) -> pd.Series:
    """The targets in the order of the samples' labels."""
    if y.index.equals(index):
        return y
    for some, others, problem in ((index, y.index, "has no target in y"), (y.index, index, "has a target but no view")):
        alone = some[~some.isin(others)]
        if len(alone):
            raise ValueError(
                f"sample {alone[0]!r} {problem} ({len(alone)} such samples); leave them out, for example by "
                "view.loc[view.index.isin(y.index)] and y.loc[y.index.isin(view.index)]"
            )
    return y.loc[index]


def _common_index(frames: dict[str, pd.DataFrame], labelled: dict[str, pd.Index]) -> pd.Index:
    """The rows' labels where some views are plain arrays, which follow the order of the others."""
    lengths = {name: len(frame) for name, frame in frames.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            "the views have different numbers of samples: "
            + ", ".join(f"{name} has {length}" for name, length in lengths.items())
        )
    if not labelled:
        return next(iter(frames.values())).index
    first, index = next(iter(labelled.items()))
    for name, other in labelled.items():
        if not other.equals(index):
            raise ValueError(
                f"{first} and {name} have different row labels; give all of them with labels, as data frames or series "
                "(rows are then matched by label), or all as arrays in the same order"
            )
    return index


def _named(index: pd.Index, given: list[pd.Index]) -> pd.Index:
    """Row labels under the name that they have where they have one; under none where there are several."""
    names = {one.name for one in given if one.nlevels == 1 and one.name is not None}
    return index if index.nlevels > 1 else index.rename(names.pop() if len(names) == 1 else None)


def _check_shared(views: Mapping[str, Any], labelled: dict[str, pd.Index]) -> None:
    """Views, and y, have samples in common; one without a sample has none to compare."""
    given = [
        Labelled(shown, index, _column_names(values))
        for (shown, index), values in zip(labelled.items(), [*views.values(), None], strict=False)
        if len(index)
    ]
    for view in given:
        if given[-1].shown == "y" and not shares(view.labels, given[-1].labels):
            target = given[-1]
            raise ValueError(f"{nothing_shared(view, target)}: {reason(view, target.labels, _REMEDIES)}")
    check_shared([view for view in given if view.shown != "y"], _REMEDIES)


def _column_names(values: Any) -> pd.Index:
    """Names that a table was given, which may be ids of samples; not the numbers that pandas counts columns by."""
    named = isinstance(values, pd.DataFrame) and not isinstance(values.columns, pd.RangeIndex)
    return values.columns if named else pd.Index([])


def _check_unique_index(labelled: dict[str, pd.Index]) -> None:
    for name, index in labelled.items():
        if not index.is_unique:
            raise ValueError(f"{name} has repeated row labels, so its rows cannot be matched by label")
