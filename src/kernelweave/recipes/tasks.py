"""`guess_task`: whether targets are classes or numbers to predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from ..validation.inputs import as_pandas

_MOST_CLASSES = 20  # of whole numbers that count as classes
_FEWEST_SAMPLES = 3  # of a class, on average


def guess_task(y: Any) -> tuple[str, str]:
    """Guess whether targets are classes or numbers to predict.

    Text, booleans and categories are classes, and so are two different numbers, and whole numbers where there are at
    most 20 different ones with at least 3 samples each on average. All other numbers are predicted as numbers.

    Parameters
    ----------
    y : array or Series of shape (n_samples,)
        Missing targets do not count.

    Returns
    -------
    task : {"classification", "regression"}
    why : str
        The reason in words.

    Examples
    --------
    >>> from kernelweave.recipes import guess_task
    >>> guess_task(["ill", "well", "ill"])
    ('classification', 'the target has 2 different values that are not numbers')
    >>> guess_task([0.3, 1.7, 2.9, 4.0])
    ('regression', 'the target has numbers with fractions')
    """
    column = pd.Series(np.ravel(as_pandas(y)) if not isinstance(as_pandas(y), pd.Series) else as_pandas(y))
    column = column[column.notna().to_numpy()]
    different = column.nunique()
    if types.is_bool_dtype(column.dtype):
        return "classification", "the target is true or false"
    if not types.is_numeric_dtype(column.dtype):
        kinds = types.infer_dtype(column, skipna=True)
        if kinds not in ("integer", "floating", "mixed-integer-float", "decimal"):
            return "classification", f"the target has {different} different values that are not numbers"
    values = np.asarray(column, dtype=np.float64)
    if different <= 2:
        return "classification", f"the target has only {different} different value{'s' if different > 1 else ''}"
    if not (np.isfinite(values).all() and (values == np.round(values)).all()):
        return "regression", "the target has numbers with fractions"
    if different <= _MOST_CLASSES and len(values) >= _FEWEST_SAMPLES * different:
        return "classification", f"the target has only {different} different whole numbers"
    return "regression", f"the target has {different} different whole numbers"
