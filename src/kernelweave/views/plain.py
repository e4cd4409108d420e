"""What arrays may bring along beside numbers: masks, dates and time spans.

A masked entry of X is a missing one: NaN (None among objects), so that a view that is wholly masked is a missing view.
Where nothing can be missing (targets, weights, a Gram matrix) masked entries are an error. Dates and time spans are no
numbers, although NumPy would convert them: their unit would decide what is learned.
"""

from __future__ import annotations

from datetime import date, time, timedelta
from typing import Any

import numpy as np
import pandas as pd

_DATES = (date, time, timedelta, np.datetime64, np.timedelta64, pd.Period)


def without_mask(X: Any) -> Any:
    """A masked array as a plain one whose masked entries are NaN, or None among objects; anything else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.views.plain import without_mask
    >>> without_mask(np.ma.array([[1, 2], [3, 4]], mask=[[True, True], [False, False]]))
    array([[nan, nan],
           [ 3.,  4.]])
    """
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return np.asarray(X)
    numbers = X.dtype.kind in "fiub"
    plain = np.array(X.data, dtype=np.float64 if numbers else object)
    plain[np.ma.getmaskarray(X)] = np.nan if numbers else None
    return plain


def check_plain(values: Any, what: str) -> None:
    """Raise a `ValueError` where an array or series that must be numbers is masked, or holds dates or time spans."""
    check_unmasked(values, what)
    if holds_dates(values):
        raise ValueError(f"{what} holds dates or time spans; turn them into numbers, such as days since the first date")


def check_unmasked(values: Any, what: str) -> None:
    """Raise a `ValueError` that names the first masked entry of an array."""
    if np.ma.is_masked(values):
        place = np.argwhere(np.ma.getmaskarray(values))[0].tolist()
        raise ValueError(
            f"{what} is masked at {place[0] if len(place) == 1 else tuple(place)}; nothing can be missing there: "
            "remove such samples, or fill the values in"
        )


def holds_dates(values: Any) -> bool:
    """Whether an array, series or data frame holds dates or time spans."""
    if isinstance(values, pd.DataFrame):
        return any(holds_dates(values.iloc[:, j]) for j in range(values.shape[1]))
    if isinstance(values, pd.Series) and not isinstance(values.dtype, np.dtype):
        return isinstance(values.dtype, pd.DatetimeTZDtype | pd.PeriodDtype)
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    return kind in ("m", "M") or (kind == "O" and any(is_date(entry) for entry in np.ravel(values)))


def is_date(entry: Any) -> bool:
    """Whether a value is a date, a time or a time span."""
    return isinstance(entry, _DATES)
