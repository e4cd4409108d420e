"""Checks that the three estimators share; each failure is one error that names what is wrong and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, assert_all_finite, check_array, column_or_1d, validate_data

from .._parameters import is_count, is_number, shown
from ..views import Views
from ..views.plain import check_plain, check_unmasked, holds_dates, is_date, without_mask


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was where the block raises: nothing is half-fitted."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def check_number(name: str, value: Any, low: float, inclusive: bool = False, high: float = np.inf) -> float:
    """A finite number above (or from) `low` and at most `high`."""
    if is_number(value) and abs(value) < np.inf and (low <= value if inclusive else low < value) and value <= high:
        return float(value)
    limits = f"{'at least' if inclusive else 'greater than'} {low:g}"
    limits += f" and at most {high:g}" if np.isfinite(high) else ""
    raise ValueError(f"{name} must be a finite number {limits}, not {shown(value)}")


def check_count(name: str, value: Any, least: int = 1, or_none: bool = False) -> Any:
    """A parameter that counts something, from a least value on; None where that is allowed."""
    if or_none and value is None:
        return None
    if is_count(value) and value >= least:
        return int(value)
    wanted = "a positive whole number" if least == 1 else f"a whole number of at least {least}"
    raise ValueError(f"{name} must be {wanted}{' or None' if or_none else ''}, not {shown(value)}")


def check_max_iter(value: Any) -> int | None:
    """A limit on solver steps: a positive whole number, or None for -1."""
    if is_count(value) and (value > 0 or value == -1):
        return None if value == -1 else int(value)
    raise ValueError(f"max_iter must be a positive whole number, or -1 for no limit, not {shown(value)}")


def check_n_jobs(value: Any) -> int | None:
    """A number of threads; -1 for one a core."""
    if value is None or (is_count(value) and value != 0):
        return value
    raise ValueError(f"n_jobs must be None or a whole number other than 0 (-1 for all cores), not {shown(value)}")


def check_seed(random_state: Any) -> np.random.RandomState:
    """The random numbers that the parameter `random_state` stands for."""
    try:
        return check_random_state(random_state)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(
            f"random_state must be None, a whole number from 0 to 2**32 - 1 or a RandomState, not {shown(random_state)}"
        ) from None


def check_training_views(estimator: Any, X: Any) -> Views:
    """X of a fit as `Views`; records `n_features_in_` and `feature_names_in_`."""
    X = _other_than_numbers_as_frame(without_mask(X))
    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, skip_check_array=True)
        if len(X) < 2 or X.shape[1] < 1:
            raise ValueError(
                f"Found a data frame with {len(X)} sample(s) and {X.shape[1]} feature(s) (shape={X.shape}), "
                f"but {type(estimator).__name__} needs at least 2 samples and 1 feature"
            )
    else:
        X = validate_data(estimator, X, ensure_min_samples=2, **_ARRAYS)
    return Views(X, getattr(estimator, "feature_names_in_", None))


def check_new_views(estimator: Any, X: Any, used: np.ndarray) -> Views:
    """X of a prediction as `Views`; columns that the model does not use may be absent from a data frame.

    Parameters
    ----------
    estimator : fitted estimator
    X : array, DataFrame or sparse matrix
    used : ndarray of int
        Positions of the columns that the model reads.
    """
    names = getattr(estimator, "feature_names_in_", None)
    X = _other_than_numbers_as_frame(without_mask(X))
    if not isinstance(X, pd.DataFrame):
        return Views(validate_data(estimator, X, reset=False, **_ARRAYS), names)
    if names is not None:
        absent = set(names) - set(X.columns)
        if absent and not absent & set(names[used]) and [n for n in names if n not in absent] == list(X.columns):
            X = X.reindex(columns=list(names))
    validate_data(estimator, X, reset=False, skip_check_array=True)
    if len(X) < 1:
        raise ValueError(f"Found a data frame with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    return Views(X, names)


def check_matrix(estimator: Any, X: Any, **options: Any) -> np.ndarray:
    """X as one array of float64 without missing entries, for transformers that have no views."""
    X = without_mask(X)
    if holds_dates(X):
        wrong = [name for name in X.columns if holds_dates(X[name])] if isinstance(X, pd.DataFrame) else []
        where = f" in the column {wrong[0]!r}" if wrong else ""
        raise ValueError(f"X holds dates or time spans{where}; turn them into numbers, such as days since the first")
    return validate_data(estimator, X, dtype=np.float64, **options)


def _other_than_numbers_as_frame(X: Any) -> Any:
    """Arrays and lists that hold text or dates as data frames, whose views are checked one by one; others as they are.

    NumPy would turn dates into numbers, without a word.
    """
    if isinstance(X, list | tuple):
        if not (
            X
            and isinstance(X[0], list | tuple)
            and any(_is_other(entry) for row in X if isinstance(row, list | tuple) for entry in row)
        ):
            return X
        X = np.array(X, dtype=object)
    is_table = isinstance(X, np.ndarray) and X.ndim == 2
    holds_others = is_table and (
        X.dtype.kind in "mM" or (X.dtype.kind in "UO" and any(_is_other(entry) for entry in X.ravel()))
    )
    return pd.DataFrame(X if X.dtype.kind in "mM" else X.astype(object)) if holds_others else X


def _is_other(entry: Any) -> bool:
    return isinstance(entry, str) or is_date(entry)


def check_row_labels(X: Any, **others: Any) -> None:
    """Refuse arguments whose rows carry the labels of X in another order; rows are matched by position.

    Only pandas objects carry labels. Where the labels are not all the same ones (numbers that pandas gave beside names,
    or rows of another time) nothing can be said, and positions count, as in scikit-learn.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix
    **others : Series, DataFrame or anything else
        By the name of the argument.
    """
    if not isinstance(X, pd.DataFrame):
        return
    for name, other in others.items():
        if not isinstance(other, pd.Series | pd.DataFrame) or len(other) != len(X) or X.index.equals(other.index):
            continue
        if Counter(X.index) == Counter(other.index):
            row = next(i for i, (a, b) in enumerate(zip(X.index, other.index, strict=True)) if a != b)
            remedy = "sort both alike" if X.index.has_duplicates else f"pass {name}.loc[X.index]"
            raise ValueError(
                f"X and {name} carry the same row labels in another order: row {row} is {X.index[row]!r} in X and "
                f"{other.index[row]!r} in {name}; {remedy} to match rows by label (stack_views(views, y=y) does so), "
                f"or {name}.to_numpy() if row by row they belong together as they are"
            )


def check_target(estimator: Any, y: Any, n_samples: int) -> np.ndarray:
    """A one-dimensional y without NaN, as long as X."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    check_unmasked(y, "y")
    y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=False), warn=True)
    assert_all_finite(y, input_name="y")
    if len(y) != n_samples:
        raise ValueError(f"X and y have inconsistent numbers of samples: {n_samples} and {len(y)}")
    return y


def check_labels(estimator: Any, y: Any, n_samples: int) -> np.ndarray:
    """Class labels, one for each sample, that can be sorted."""
    y = check_target(estimator, y, n_samples)
    try:
        check_classification_targets(y)
    except TypeError:
        raise ValueError("y mixes labels of types that cannot be sorted, such as numbers and text") from None
    return y


def encode_labels(estimator: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes, at least two, and the position of each label among them."""
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least two classes, but y has only one class: "
            f"{classes.tolist()[0]!r}"
        )
    return classes, labels


def check_sample_weight(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Finite weights from 0, one for each sample, not all of them 0; None means 1 each."""
    if sample_weight is None:
        return np.ones(n_samples)
    check_plain(sample_weight, "sample_weight")
    try:
        weight = np.asarray(sample_weight, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"sample_weight must be an array of {n_samples} numbers or one number, not {shown(sample_weight)}"
        ) from None
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, not of shape {weight.shape}")
    if _num_samples(weight) != n_samples:
        raise ValueError(f"sample_weight has {len(weight)} entries, but X has {n_samples} samples")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("sample_weight must be finite and at least 0")
    if not weight.any():
        raise ValueError("sample_weight is zero for every sample, so there is nothing to learn from")
    return weight


_ARRAYS = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
