"""`Clinical`: tables of continuous, ordinal and nominal variables (Daemen and De Moor, 2009).

The paper is "Development of a kernel function for clinical data", in the Annual International Conference of the IEEE
Engineering in Medicine and Biology Society. Its k_v is the kernel of one variable, a column of the view, and its r is
`spread_`, the range of a continuous or ordinal variable.

Each k_v is positive semidefinite: for values in a range of length r, 1 - |x - z| / r is the share of the thresholds in
that range of which both values are on the same side. A missing cell makes the row of k_v zero, and dividing rows and
columns of the sum by roots of numbers of cells scales it, so that the whole kernel is positive semidefinite too. (The
mean over the variables that both samples have would not be.)
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from ..validation import blamed_on, shown
from ..validation.columns import SEPARATOR
from ..validation.inputs import is_date
from ..validation.schemas import Schema, flags, maybe, numbers, several, text
from ..views import Views, as_views
from ..views.frames import take_columns
from .base import UnitDiagonal
from .precomputed import as_text

_BLOCK_VALUES = 2**17  # kernel values that are computed at a time: what fits into a processor's cache
_CODES = 2**52  # categories are whole numbers below


class Clinical(UnitDiagonal):
    """The clinical kernel: the mean over variables of similarities from 0 to 1 (Daemen and De Moor, 2009).

    A continuous or ordinal variable gives k_v(x, z) = (r - \\|x - z\\|) / r, where r is its range among the training
    samples; new values beyond the range count as its ends. A nominal variable gives 1 for equal values and 0 otherwise.
    The kernel is their mean, so that variables count alike whatever their scales are.

    Some cells may be missing (NaN or None). The kernel is then sum_v k_v(x, z) / (p(x) p(z))^(1/2), over the variables
    that both samples have, where p(x) counts those that x has. So k(x, x) = 1 for every sample, and the kernel is
    positive semidefinite. A sample without any cell lacks the view.

    Parameters
    ----------
    view : str, list, slice, mask, callable or None
        The columns to use; None means all.
    ordinal : dict from column to list of levels, list of columns, or None
        Levels from lowest to highest, for columns of text: ``{"stage": ["I", "II", "III"]}``. Ordered categories of
        pandas have an order already, and so have numbers, which are continuous as well.
    nominal : list of columns or None
        Columns of numbers that are codes. Text, truth values and unordered categories of pandas are nominal anyway.

    Attributes
    ----------
    kinds_ : Series
        "continuous", "ordinal" or "nominal" by column, or "unused" where no training sample has a value.
    low_, spread_ : ndarray of shape (n_columns,)
        The smallest value and the range r among the training samples; 0 for nominal variables. Levels of an ordinal
        variable are 0, 1, 2, ...

    Notes
    -----
    Columns are named as in X or, where the view is a name, by what follows it: "stage" is the column "clinical__stage"
    of the view "clinical". A category that no training sample has is equal to none of theirs. A level that is not in
    the order is an error. A variable with one value among the training samples is compared as a nominal one, and one
    without any value is not used.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelweave.kernels import Clinical
    >>> X = pd.DataFrame({"age": [40.0, 50.0, 60.0], "sex": ["f", "m", "f"], "stage": ["I", None, "III"]})
    >>> kernel = Clinical(ordinal={"stage": ["I", "II", "III"]}).fit(X)
    >>> kernel.gram(X).round(3)
    array([[1.   , 0.204, 0.333],
           [0.204, 1.   , 0.204],
           [0.333, 0.204, 1.   ]])
    >>> kernel.kinds_.to_dict()
    {'age': 'continuous', 'sex': 'nominal', 'stage': 'ordinal'}
    """

    takes_text = True
    takes_missing_cells = True
    positive_semidefinite = True

    kinds_: pd.Series

    _saved = Schema(
        {"variables_": several(text, "own"), "levels_": several(maybe(several(text)), "own")}
        | {"is_nominal_": flags("own"), "low_": numbers("own", nan=True), "spread_": numbers("own", low=0.0)}
    )

    def __init__(self, view: Any = None, *, ordinal: Any = None, nominal: Any = None):
        self.view = view
        self.ordinal = ordinal
        self.nominal = nominal

    def fit(self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None, y: Any = None) -> Clinical:
        views = as_views(X)
        self.label_ = self.name if label is None else label
        self.columns_ = views.columns(self.view)
        self.variables_ = [str(c if views.names is None else views.names[c]) for c in self.columns_.tolist()]
        if views.is_sparse(self.columns_):
            raise ValueError(f"the kernel {self.label_!r} (Clinical) does not take sparse views")
        levels, nominal = self._given()
        self.levels_: list[list[str] | None] = []
        kinds = []
        for v, column in enumerate(self.columns_.tolist()):
            kind, order = _kind(_column(views, column), levels.get(v), v in nominal, self._name(v))
            if v in levels and kind == "nominal":
                raise ValueError(f"{self._name(v)} is text, so ordinal must give its levels from lowest to highest")
            kinds.append("ordinal" if v in levels else kind)
            self.levels_.append(order)
        self.kinds_ = pd.Series(kinds, self.variables_, dtype=object)
        self.is_nominal_ = np.array([kind == "nominal" for kind in kinds])
        self.low_, self.spread_ = np.zeros(len(self.columns_)), np.zeros(len(self.columns_))
        super().fit(views, sample_weight, label)
        return self

    def learn(self, values, sample_weight):
        seen = np.any(~np.isnan(values), axis=0)
        for v in np.flatnonzero(seen & ~self.is_nominal_).tolist():
            self.low_[v], high = np.nanmin(values[:, v]), np.nanmax(values[:, v])
            self.spread_[v] = high - self.low_[v]
            if not np.isfinite(self.spread_[v]):
                raise ValueError(f"{self._name(v)} has numbers that are too large ({high:g}); use another unit")
        self.low_[~seen] = np.nan
        self.kinds_ = self.kinds_.where(seen, "unused")

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Values as numbers, NaN where they are missing, and which samples have any."""
        values, present = super().read(views)
        numbers = np.full(values.shape, np.nan)
        for v in np.flatnonzero(~np.isnan(self.low_)).tolist():  # others have no value among the training samples
            there = present & ~np.asarray(pd.isna(values[:, v]))
            numbers[there, v] = self._numbers(v, values[there, v])
        return numbers, np.any(~np.isnan(numbers), axis=1)

    def cross_of(self, A, B):
        """The mean similarity of variables; a block of rows at a time, so that there is one matrix of this size."""
        K = np.zeros((len(A), len(B)))
        n_rows = max(1, _BLOCK_VALUES // max(1, len(B)))
        shares, others = self._in_range(A), self._in_range(B)
        there, others_there = _n_there(A), _n_there(B)
        for start in range(0, len(A), n_rows):
            block = slice(start, start + n_rows)
            part = np.empty((len(K[block]), len(B)))
            for v in range(A.shape[1]):
                if self.spread_[v] > 0:
                    np.subtract.outer(shares[block, v], others[:, v], out=part)
                    np.abs(part, out=part)
                    np.subtract(1.0, part, out=part)
                    np.fmax(part, 0.0, out=part)  # NaN, where either is missing, becomes 0
                    K[block] += part
                else:
                    K[block] += np.equal.outer(shares[block, v], others[:, v])
            np.multiply.outer(there[block], others_there, out=part)
            K[block] /= np.sqrt(part, out=part)
        return K

    def _in_range(self, A: np.ndarray) -> np.ndarray:
        has_range = self.spread_ > 0
        shares = (A - np.where(has_range, self.low_, 0.0)) / np.where(has_range, self.spread_, 1.0)
        shares[:, has_range] = np.clip(shares[:, has_range], 0.0, 1.0)
        return np.asfortranarray(shares)

    def _numbers(self, v: int, entries: np.ndarray) -> np.ndarray:
        """These entries of a variable as numbers: values, positions of levels, or codes of categories."""
        if not self.is_nominal_[v] and self.levels_[v] is None:
            return _measurements(entries, self._name(v))
        with blamed_on(self._name(v)):
            places, distinct = pd.factorize(entries)
            texts = as_text(
                (int(each) if isinstance(each, bool | np.bool_) else each for each in distinct), "categories and levels"
            )
        order = self.levels_[v]
        if order is None:
            return np.array([_code(text) for text in texts], dtype=np.float64)[places]
        unknown = [text for text in texts if text not in order]
        if unknown:
            raise ValueError(f"{self._name(v)} has the level {unknown[0]!r}, which is not in its order {shown(order)}")
        return np.array([order.index(text) for text in texts], dtype=np.float64)[places]

    def _name(self, v: int) -> str:
        return f"the column {self.variables_[v]!r} of the kernel {self.label_!r} (Clinical)"

    def _given(self) -> tuple[dict[int, list[str] | None], set[int]]:
        """The orders of levels and the nominal variables that the parameters give, by their place in the view."""
        levels: dict[int, list[str] | None] = {}
        for column in _listed(self.ordinal, "ordinal"):
            order = self.ordinal[column] if isinstance(self.ordinal, Mapping) else None
            levels[self._place(column, "ordinal")] = order if order is None else _checked_order(order, column)
        nominal = {self._place(column, "nominal") for column in _listed(self.nominal, "nominal")}
        both = nominal & set(levels)
        if both:
            raise ValueError(f"{self._name(min(both))} is in both ordinal and nominal; it can be one of them")
        return levels, nominal

    def _place(self, column: Any, parameter: str) -> int:
        """The place of a column in the view, from its name or position in X, or what follows the view's name."""
        found: list[int] = []
        if isinstance(column, Integral) and not isinstance(column, bool):
            found = [v for v, position in enumerate(self.columns_.tolist()) if position == column]
        elif isinstance(column, str):
            prefix = f"{self.view}{SEPARATOR}" if isinstance(self.view, str) else ""
            found = [v for v, name in enumerate(self.variables_) if name in (column, f"{prefix}{column}")]
        if len(found) != 1:
            raise ValueError(
                f"{parameter} of the kernel {self.label_!r} (Clinical) has {shown(column)}, which is not one of the "
                f"view's columns: {shown(self.variables_)}"
            )
        return found[0]


def _listed(columns: Any, parameter: str) -> list[Any]:
    if columns is None:
        return []
    if isinstance(columns, str) or (isinstance(columns, Integral) and not isinstance(columns, bool)):
        return [columns]
    if isinstance(columns, list | tuple | set | np.ndarray | pd.Index) or (
        parameter == "ordinal" and isinstance(columns, Mapping)
    ):
        return list(columns)
    kinds = "a list of columns, a dict from column to levels" if parameter == "ordinal" else "a list of columns"
    raise ValueError(f"{parameter} of a Clinical kernel must be {kinds} or None, not {shown(columns)}")


def _checked_order(order: Any, column: Any) -> list[str]:
    what = f"the levels of {shown(column)} in ordinal"
    if isinstance(order, str) or not isinstance(order, list | tuple | np.ndarray | pd.Index) or len(order) == 0:
        raise ValueError(f"{what} must be a list from lowest to highest, not {shown(order)}")
    texts = as_text(order, what).tolist()
    if len(set(texts)) < len(texts):
        raise ValueError(f"{what} hold {next(text for text in texts if texts.count(text) > 1)!r} twice")
    return texts


def _column(views: Views, column: int) -> pd.Series:
    if isinstance(views.X, pd.DataFrame):
        return views.X.iloc[:, column]
    values = pd.Series(take_columns(views.X, np.array([column]))[:, 0])
    return values.astype(views.dtypes[column]) if column in views.dtypes else values


def _kind(column: pd.Series, order: list[str] | None, nominal: bool, what: str) -> tuple[str, list[str] | None]:
    if nominal:
        return "nominal", None
    if order is not None:
        return "ordinal", order
    if isinstance(column.dtype, pd.CategoricalDtype):
        if column.dtype.ordered:
            return "ordinal", as_text(column.dtype.categories.tolist(), what).tolist()
        return "nominal", None
    if pd.api.types.is_bool_dtype(column.dtype):
        return "nominal", None
    if pd.api.types.is_numeric_dtype(column.dtype):
        return "continuous", None
    entries = [entry for entry in column.tolist() if not pd.isna(entry)]
    dates = next((entry for entry in entries if is_date(entry)), None)
    if dates is not None:
        raise ValueError(f"{what} holds dates ({dates!s}); turn them into numbers, such as days since the first")
    texts = [isinstance(entry, str | bool | np.bool_) for entry in entries]
    if any(texts) and not all(texts):
        text, number = entries[texts.index(True)], entries[texts.index(False)]
        raise ValueError(
            f"{what} mixes text and numbers ({shown(text)} and {shown(number)}); make it numbers, with NaN where they "
            "are missing, or name it in nominal"
        )
    return ("nominal" if any(texts) else "continuous"), None


def _measurements(entries: np.ndarray, what: str) -> np.ndarray:
    if entries.dtype.kind == "O":
        wrong = next((entry for entry in entries if not isinstance(entry, Real) or is_date(entry)), None)
        if wrong is not None:
            raise ValueError(
                f"{what} is continuous, but has {shown(wrong)}; give numbers, with NaN where they are missing"
            )
    numbers = entries.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} has infinite values; remove or replace them")
    return numbers


def _code(text: str) -> int:
    """The number of a category: the same in every table, and different for different categories."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") % _CODES


def _n_there(A: np.ndarray) -> np.ndarray:
    return np.maximum(np.count_nonzero(~np.isnan(A), axis=1), 1).astype(np.float64)
