"""Columns that equal the target one to one under another name: a leak, or a perfect biomarker.

=========  ============================================================================================================
target     a column is named where, in at least `NEARLY_ALL` of the samples that have it,
=========  ============================================================================================================
classes    each class has one value, and each value belongs to one class
numbers    it has the same numbers; or it grows (or falls) with each step of the target and with no other, so that it is
           the target in another unit, or its logarithm
=========  ============================================================================================================

Columns with a value of their own for each sample, such as ids, have no value that belongs to a class. Where few samples
have a column, or a class has few samples, some of many columns equal the target by chance: a column is named only where
less than one in `CHANCE` such tables would have one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln

from ..views.frames import SparseRows, SparseRowsDtype
from .decisions import named_columns
from .kinds import LEFT_OUT, SIMILARITY

NEARLY_ALL = 0.99
CHANCE = 100
_SAME = 1e-9  # numbers that differ by less, relative to the largest, are the same: files may hold fewer digits
_PROBES = 40  # pairs of samples by which most columns are seen to be no copies
_CHUNK = 256  # columns that are probed together


def copies_of_target(X: pd.DataFrame, y: Any, kinds: pd.DataFrame, task: str) -> list[str]:
    """The columns that equal the target one to one.

    Parameters
    ----------
    X : DataFrame
    y : array of shape (n_samples,)
        Without missing ones.
    kinds : DataFrame
        As `column_kinds` returns.
    task : {"classification", "regression"}

    Returns
    -------
    list of str

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelweave.recipes.kinds import column_kinds
    >>> from kernelweave.recipes.leaks import copies_of_target
    >>> y = ["ill", "well"] * 20
    >>> X = pd.DataFrame({"a__x": range(40), "b__code": [1.0, 0.0] * 20})
    >>> copies_of_target(X, y, column_kinds(X), "classification")
    ['b__code']
    """
    y = np.ravel(np.asarray(y))
    labels = np.unique(y.astype(str) if y.dtype == object else y, return_inverse=True)[1].reshape(-1)
    numbers = y.astype(np.float64) if task == "regression" else None
    n_columns = sum(column.shape[1] for column in _sparse(X)) + X.shape[1]
    found = []
    for name, values, present in _columns(X, kinds, labels, numbers):
        if _is_bijection(values[present], labels[present], n_columns) or (
            numbers is not None and values.dtype.kind == "f" and _is_function(values[present], numbers[present])
        ):
            found.append(name)
    return found


def copies_sentence(names: list[str]) -> str:
    """A warning about such columns.

    Parameters
    ----------
    names : list of str
    """
    one = len(names) == 1
    return (
        f"the {'column' if one else 'columns'} {named_columns(names)} {'equals' if one else 'equal'} the target one to "
        f"one in nearly all samples: if {'it is' if one else 'they are'} not known before the target is, remove "
        f"{'it' if one else 'them'} from the files, or all scores are too good"
    )


def _sparse(X: pd.DataFrame) -> list[Any]:
    """The matrices of sparse views."""
    columns = (X.iloc[:, place] for place, dtype in enumerate(X.dtypes) if isinstance(dtype, SparseRowsDtype))
    return [column.array.matrix for column in columns]


def _columns(
    X: pd.DataFrame, kinds: pd.DataFrame, labels: np.ndarray, numbers: np.ndarray | None
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Names, values (numbers, or codes of texts) and presence of the columns that may be copies."""
    used = ~kinds["kind"].isin([LEFT_OUT, SIMILARITY]).to_numpy()
    is_plain = np.array([isinstance(dtype, np.dtype) and dtype.kind in "fiub" for dtype in X.dtypes])
    plain = np.flatnonzero(used & is_plain)
    for start in range(0, len(plain), _CHUNK):
        places = plain[start : start + _CHUNK]
        block = X.iloc[:, places].to_numpy(dtype=np.float64)
        for place in np.flatnonzero(_probed(block, labels, numbers)):
            yield str(X.columns[places[place]]), block[:, place], ~np.isnan(block[:, place])
    for place in np.flatnonzero(used & ~is_plain):
        column = X.iloc[:, place]
        if isinstance(column.array, SparseRows):
            matrix, present = column.array.matrix.tocsc(), column.array.present
            for start in range(0, matrix.shape[1], _CHUNK):
                block = matrix[:, start : start + _CHUNK].toarray()
                for feature in np.flatnonzero(_probed(block, labels, numbers)):
                    name = column.array.dtype.features[start + feature]
                    yield f"{X.columns[place]}, {name}", block[:, feature], present
        else:
            codes = pd.factorize(column.astype(object))[0]
            yield str(X.columns[place]), codes, codes >= 0


def _probed(block: np.ndarray, labels: np.ndarray, numbers: np.ndarray | None) -> np.ndarray:
    """Which columns may be copies, by some pairs of samples with targets next to each other.

    A copy is right in nearly all of them, also where some of its samples are wrong, and most columns are right in few.
    """
    order = np.argsort(labels, kind="stable")
    chosen = np.unique(np.linspace(0, len(order) - 2, min(_PROBES, len(order) - 1)).astype(int))
    first, second = order[chosen], order[chosen + 1]
    change = block[second] - block[first]
    known = np.isfinite(change)
    is_same = (labels[first] == labels[second])[:, None]
    right = (change == 0.0) == is_same
    if numbers is None or 2 * labels.max() < len(labels):
        return (right | ~known).mean(axis=0) >= 0.5
    # Numbers that differ from sample to sample: nearly all neighbours rise, or nearly all fall.
    return np.maximum(*(((part | ~known).mean(axis=0)) for part in (change > 0.0, change < 0.0))) >= 0.8


def _is_bijection(values: np.ndarray, labels: np.ndarray, n_columns: int) -> bool:
    """Whether values and classes belong together one to one, in nearly all samples and not by chance."""
    n_samples = len(values)
    if n_samples < 2:
        return False
    codes, classes = (np.unique(part, return_inverse=True)[1].reshape(-1) for part in (values, labels))
    if 2 * min(codes.max(), classes.max()) >= n_samples:  # ids, or numbers that differ from sample to sample
        return False
    pairs, counts = np.unique(np.stack([codes, classes]), axis=1, return_counts=True)
    of_value, of_class = np.zeros(codes.max() + 1), np.zeros(classes.max() + 1)
    np.maximum.at(of_value, pairs[0], counts)
    np.maximum.at(of_class, pairs[1], counts)
    is_own = (counts == of_value[pairs[0]]) & (counts == of_class[pairs[1]])
    own = counts[is_own]
    if len(own) < 2 or any(len(np.unique(part[is_own])) < len(own) for part in pairs):
        return False
    wrong = n_samples - own.sum()
    if wrong > (1.0 - NEARLY_ALL) * n_samples + _SAME:
        return False
    # One of n! / (n_1! n_2! ...) orders of the values is that of the classes; some samples of it may be wrong.
    log_orders = gammaln(own.sum() + 1.0) - gammaln(own + 1.0).sum()
    log_wrong = gammaln(n_samples + 1.0) - gammaln(wrong + 1.0) - gammaln(n_samples - wrong + 1.0)
    return bool(log_orders - log_wrong > np.log(CHANCE * n_columns))


def _is_function(values: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether a column has the numbers of the target, or others in the same or the opposite order."""
    if len(values) < 10 or np.ptp(numbers) == 0.0 or np.ptp(values) == 0.0:
        return False
    scale = np.abs(numbers).max()
    if (np.abs(values - numbers) <= _SAME * scale).mean() >= NEARLY_ALL:
        return True
    order = np.lexsort((values, numbers))
    steps, others = np.sign(np.diff(numbers[order])), np.sign(np.diff(values[order]))
    # A wrong sample makes two steps wrong.
    return bool(max((others == steps).mean(), (others == -steps).mean()) >= 1.0 - 2.0 * (1.0 - NEARLY_ALL))
