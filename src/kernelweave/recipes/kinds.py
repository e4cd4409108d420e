"""What the columns of a table hold: numbers, categories, documents, or nothing that a model could use.

No label is read. The rules, for the cells of a column that are not missing; the first that applies decides:

==========================================================  ===========================================
a column                                                    is
==========================================================  ===========================================
without any value, or with the same value in all samples    left out
of numbers or booleans, also among objects                  number
of sparse rows                                              number
of dates, times or time spans, also written as text         left out
of values that are neither numbers nor text                 left out
of phrases: text with several words and many values         text
of text with few different values                           category
of text that spells numbers                                 number
of other text: names and codes that differ nearly always    left out
==========================================================  ===========================================

"Few" is at most half as many different values as there are samples with a value, or two. "Several words" are three on
average, of at least two letters. "Many" are at least ten different values, of which each stands in fewer than five
samples on average: the rule by which 93 different phrases in 250 samples are text, and 30 different diagnoses of as
many words are categories. A category of fewer samples can hardly be learned from; words that phrases share are in
more. In simulated columns of 250 samples, words predict better than categories where they have to do with the target,
by 0.01 of the area under the ROC curve at 10 % different values, 0.04 at 20 % and 0.1 at 40 %; where only the phrase
as a whole has, they predict worse by 0.03 to 0.05 at all of these. From 20 % on there is more to be gained than lost.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api import types

from ..kernels import Precomputed
from ..kernels.normalization import approximate_smallest
from ..validation import counted, shown
from ..validation.columns import SEPARATOR
from ..validation.inputs import as_pandas, is_date, spelled_number
from ..validation.schemas import (
    COLUMNS,
    Schema,
    Sizes,
    array,
    check_classes,
    numbers,
    one_of,
    optional,
    refuse,
)
from ..views.frames import SparseRows, SparseRowsDtype, adjacent
from .tasks import SURVIVAL, is_outcome

NUMBER, CATEGORY, TEXT, LEFT_OUT, SIMILARITY = "number", "category", "text", "left out", "similarity"
KINDS = (NUMBER, CATEGORY, TEXT, LEFT_OUT)
ONLY_VIEW = "X"  # what the view of a table without view names is called
_MOST_DIFFERENT = 0.5  # share of different values above which a column has no categories
_FEWEST_WORDS = 3.0  # words in a document, on average
_FEWEST_PHRASES = 10  # different values of a column of phrases
_MOST_REPEATED = 5.0  # samples of each phrase, on average; where there are more, phrases are categories
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?(Z| ?[+-]\d{2}:?\d{2})?)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([T ]\d{1,2}:\d{2}(:\d{2})?)?"
    r"|\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?"
)
_WORD = re.compile(r"\w\w+")
_CHUNK = 2048  # columns of numbers that are read together


def column_kinds(X: Any, *, matrices: Collection[str] = ()) -> pd.DataFrame:
    """Decide what each column of a table holds, without labels.

    Columns are numbers (also booleans and whole numbers), categories (text with few different values), text (several
    words, and many different values) or left out: empty and constant columns, identifiers, dates. A date is left out
    because its unit would decide what is learned: turn it into a number, such as days since the first.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n_samples, n_features)
        Columns of a data frame are named ``view__column``, as `read_views` and `stack_views` name them. A column
        without a view name is a view by itself; where no column has one, all are the one view ``"X"``.
    matrices : collection of str
        Names of columns that hold ids in a similarity matrix.

    Returns
    -------
    DataFrame
        A row for each column of X: its ``view``, its ``kind`` ("number", "category", "text", "left out", or
        "similarity" for ids), and ``why`` in words.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelweave.recipes import column_kinds
    >>> X = pd.DataFrame({"lab__crp": [1.0, 7.5, 2.0, 3.1], "lab__unit": ["mg"] * 4, "who__sex": ["f", "m", "m", "f"]})
    >>> column_kinds(X)[["view", "kind"]]
              view      kind
    column
    lab__crp   lab    number
    lab__unit  lab  left out
    who__sex   who  category
    """
    X = as_frame(X)
    views = column_views(X, matrices)
    plain = _plain_numbers(X)
    found = []
    names = X.columns.tolist()
    for place, name in enumerate(names):
        if isinstance(name, str) and name in matrices:
            found.append((SIMILARITY, f"the sample's id in the similarity matrix {name!r}"))
        else:
            found.append(plain[place] if place in plain else _kind(X.iloc[:, place]))
    index = pd.Index(names, name="column", dtype=object)
    kinds = pd.DataFrame({"view": views, "kind": [k for k, _ in found], "why": [w for _, w in found]}, dtype=object)
    return kinds.set_index(index)


def given_kinds(kinds: pd.DataFrame, given: Any) -> pd.DataFrame:
    if isinstance(given, pd.DataFrame) and "kind" in given:
        given = given["kind"]
    if not isinstance(given, pd.Series | Mapping):
        raise ValueError(f"kinds must be a Series or a dict from column to kind, not {shown(given)}")
    found, why = list(kinds["kind"]), list(kinds["why"])
    rows = {name: place for place, name in enumerate(kinds.index)}
    for name, kind in dict(given).items():
        if name not in rows:
            raise ValueError(f"kinds names the column {name!r}, which X does not have")
        place = rows[name]
        if found[place] == SIMILARITY:
            continue
        if kind not in KINDS:
            raise ValueError(f"the kind of the column {name!r} must be one of {', '.join(KINDS)}, not {shown(kind)}")
        if kind != found[place]:
            found[place], why[place] = kind, "as given"
    columns = {"view": list(kinds["view"]), "kind": found, "why": why}
    return pd.DataFrame(columns, index=kinds.index, dtype=object)


def with_log(kinds: pd.DataFrame, log: Any) -> pd.DataFrame:
    """The kinds of columns, where the numbers of the views that `log` names are taken as log(1 + x)."""
    if isinstance(log, str) or not isinstance(log, Collection):
        raise ValueError(f"log must be a list of names of views, such as ['rna'], not {shown(log)}")
    for view in log:
        own = kinds["kind"][kinds["view"] == view]
        if not len(own):
            there = ", ".join(dict.fromkeys(kinds["view"]))
            raise ValueError(f"log names the view {view!r}, which X does not have; its views are {there}")
        if NUMBER not in set(own):
            raise ValueError(f"log names the view {view!r}, which has no column of numbers")
    is_logged = (kinds["view"].isin(list(log)) & (kinds["kind"] == NUMBER)).to_numpy()
    why = [f"{text}, taken as log(1 + x)" if own else text for text, own in zip(kinds["why"], is_logged, strict=True)]
    return kinds.assign(why=pd.Series(why, index=kinds.index, dtype=object))


def as_frame(X: Any) -> pd.DataFrame:
    """A table as a data frame; columns of an array are numbered, and a sparse matrix is one column of sparse rows."""
    X = as_pandas(X)
    if sp.issparse(X):
        return pd.DataFrame({ONLY_VIEW: SparseRows(X.tocsr())})
    return X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))


def column_views(X: pd.DataFrame, matrices: Collection[str] = ()) -> list[str]:
    names = [str(name) for name in X.columns.tolist()]
    prefix = [name.partition(SEPARATOR)[0] for name in names]
    is_named = [bool(view) and SEPARATOR in name for view, name in zip(prefix, names, strict=True)]
    is_alone = [
        isinstance(dtype, SparseRowsDtype) or name in matrices for name, dtype in zip(names, X.dtypes, strict=True)
    ]
    if not any(is_named) and not any(isinstance(dtype, SparseRowsDtype) for dtype in X.dtypes):
        return [name if alone else ONLY_VIEW for name, alone in zip(names, is_alone, strict=True)]
    # A column without a view name is a view by itself, of which "__" would separate its columns.
    return [
        view if named else name.replace(SEPARATOR, "_")
        for view, named, name in zip(prefix, is_named, names, strict=True)
    ]


def number_as_text(value: Any) -> Any:
    """A cell of a column of categories or documents as text: 2 and 2.0 as "2"; missing cells stay missing."""
    if isinstance(value, str):
        return value
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
        return np.nan
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        return str(int(value)) if float(value).is_integer() else str(value)
    return str(value)


def _plain_numbers(X: pd.DataFrame) -> dict[int, tuple[str, str]]:
    """The kinds of columns of plain numbers, by position: there may be many thousands, so all at once."""
    places = [place for place, dtype in enumerate(X.dtypes) if isinstance(dtype, np.dtype) and dtype.kind in "fiu"]
    if not places:
        return {}
    positions = np.array(places)
    parts = [positions[first : first + _CHUNK] for first in range(0, len(places), _CHUNK)]
    ends = [extremes(X.iloc[:, adjacent(part)].to_numpy(dtype=np.float64)) for part in parts]
    low, high = np.concatenate(ends, axis=1)
    found = dict.fromkeys(places, (NUMBER, "numbers"))
    for own in np.flatnonzero(low >= high).tolist():
        is_empty = low[own] > high[own]
        why = "no sample has a value" if is_empty else f"the same value in all samples ({low[own]:g})"
        found[places[own]] = LEFT_OUT, why
    return found


def extremes(values: np.ndarray) -> np.ndarray:
    """The smallest and the largest number of each column; infinity and -infinity where there is none."""
    return np.array([np.fmin.reduce(values, 0, initial=np.inf), np.fmax.reduce(values, 0, initial=-np.inf)])


def _kind(column: pd.Series) -> tuple[str, str]:
    dtype = column.dtype
    if isinstance(dtype, SparseRowsDtype):
        return NUMBER, f"a sparse matrix of {counted(len(dtype.features), 'column')}"
    values = column[column.notna().to_numpy()]
    if len(values) == 0:
        return LEFT_OUT, "no sample has a value"
    if types.is_complex_dtype(dtype):
        return LEFT_OUT, "complex numbers"
    if types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        return LEFT_OUT, "dates or time spans: turn them into numbers, such as days since the first"
    if types.is_bool_dtype(dtype) or types.is_numeric_dtype(dtype):
        return _kind_of_numbers(np.asarray(values, dtype=np.float64), str(np.asarray(values).dtype))
    return _kind_of_objects(values.to_numpy(dtype=object), isinstance(dtype, pd.CategoricalDtype))


def _kind_of_numbers(values: np.ndarray, what: str) -> tuple[str, str]:
    if (values == values[0]).all():
        return LEFT_OUT, f"the same value in all samples ({values[0]:g})"
    return NUMBER, "true or false" if what == "bool" else "numbers"


def _kind_of_objects(values: np.ndarray, is_categorical: bool) -> tuple[str, str]:
    texts = sum(isinstance(value, str) for value in values)
    if any(is_date(value) for value in values):
        return LEFT_OUT, "dates or time spans: turn them into numbers, such as days since the first"
    is_number = [isinstance(value, int | float | np.number | np.bool_) for value in values]
    if texts + sum(is_number) < len(values):
        return LEFT_OUT, "values that are neither numbers nor text"
    if texts == 0 and not is_categorical:
        return _kind_of_numbers(values.astype(np.float64), "objects")
    cells = [number_as_text(value) for value in values]
    different = len(set(cells))
    if different == 1:
        return LEFT_OUT, "the same value in all samples"
    if is_categorical:
        return CATEGORY, f"{different} categories"
    if sum(_DATE.fullmatch(cell.strip()) is not None for cell in cells) > 0.9 * len(cells):
        return LEFT_OUT, "dates or times: turn them into numbers, such as days since the first"
    words = np.array([len(_WORD.findall(cell)) for cell in cells]).mean()
    if words >= _FEWEST_WORDS and different >= _FEWEST_PHRASES and len(cells) < _MOST_REPEATED * different:
        return TEXT, f"{words:.0f} words on average, and {different} different values"
    if different <= max(2.0, _MOST_DIFFERENT * len(cells)) and different < len(cells):
        return CATEGORY, f"{different} different values"
    return _kind_of_different(cells, words, different)


def _kind_of_different(cells: list[str], words: float, different: int) -> tuple[str, str]:
    spells = [_spells_number(cell) for cell in cells]
    if all(spells):
        return NUMBER, "text that spells numbers"
    if sum(spells) > 0.9 * len(cells):
        odd = cells[spells.index(False)]
        return LEFT_OUT, f"nearly all are numbers, but {shown(odd)} is none: mend or empty such cells"
    if words >= _FEWEST_WORDS:
        return TEXT, f"{words:.0f} words on average, mostly different"
    if different == len(cells):
        return LEFT_OUT, "a value of its own in each sample, such as a name or a code"
    return LEFT_OUT, f"{different} different values in {len(cells)} samples, such as names or codes"


def _spells_number(cell: str) -> bool:
    number = spelled_number(cell)
    return number is not None and (bool(np.isfinite(number)) or cell.strip().lower() in ("nan", "inf", "-inf"))


_MOST_CLASSES = 20  # of whole numbers that count as classes
_FEWEST_SAMPLES = 3  # of a class, on average


def _check_task(value: Any, sizes: Sizes, path: str) -> None:
    if (value.task_ == "classification") != ("classes_" in vars(value)):
        refuse(f"{path}.classes_", f"are not those of a {value.task_}")
    if value.task_ == "classification":
        check_classes(value, sizes, path)


# What a file holds of the task of a model.
TASK = COLUMNS | Schema(
    {
        "task_": one_of("classification", "regression", "survival"),
        "classes_": optional(array("biufUSO", "classes")),
        "class_count_": optional(numbers("classes", low=0.0)),
    },
    _check_task,
)


def guess_task(y: Any) -> tuple[str, str]:
    """Guess whether targets are classes, numbers to predict, or times to an event.

    Times with events (`survival.outcome`, or a data frame of both) are times to an event. Text, booleans and categories
    are classes, and so are two different numbers, and whole numbers where there are at most 20 different ones with at
    least 3 samples each on average. All other numbers are predicted as numbers.

    Parameters
    ----------
    y : array or Series of shape (n_samples,), or times and events
        Missing targets do not count.

    Returns
    -------
    task : {"classification", "regression", "survival"}
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
    if is_outcome(y):
        return SURVIVAL, "the target has times, and which of them are times of an event"
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


_INDEFINITE = 1e-6  # of the norm of a matrix: smaller negative eigenvalues are rounding
_SHOWN = 5  # how many columns a sentence lists
_WORDS = {NUMBER: "numbers", CATEGORY: "categories", TEXT: "text"}


def about_columns(kinds: pd.DataFrame) -> list[str]:
    alike: dict[tuple[str, ...], dict[str, pd.DataFrame]] = {}
    for view, part in kinds.groupby("view", sort=False):
        used = part["kind"].value_counts().drop(LEFT_OUT, errors="ignore")
        alike.setdefault(tuple(str(kind) for kind in used.index), {})[str(view)] = part
    found = [_about_views(used, parts) for used, parts in alike.items()]
    for why, part in kinds[kinds["kind"] == LEFT_OUT].groupby("why", sort=False):
        word = "column" if len(part) == 1 else "columns"
        verb = "is" if len(part) == 1 else "are"
        found.append(f"The {word} {named_columns(part.index)} {verb} left out: {why}.")
    return found


def _about_views(used: tuple[str, ...], parts: dict[str, pd.DataFrame]) -> str:
    (view, part), *others = parts.items()
    if not others:
        if not used:
            return f"The view {view!r} is left out: none of its columns can be used."
        if used == (SIMILARITY,):
            return f"The view {view!r} is a similarity matrix."
        return f"The view {view!r} has {_counted(part, part['kind'].value_counts().drop(LEFT_OUT, errors='ignore'))}."
    views = f"The views {named_columns(parts)}"
    if not used:
        return f"{views} are left out: none of their columns can be used."
    if used == (SIMILARITY,):
        return f"{views} are similarity matrices."
    count = sum(int((one["kind"] != LEFT_OUT).sum()) for one in parts.values())
    return f"{views} have columns of {' and of '.join(_WORDS[kind] for kind in used)}, {count} in all."


def named_columns(names: Iterable[Any]) -> str:
    given = [repr(str(name)) for name in names]
    more = f" and {len(given) - _SHOWN} more" if len(given) > _SHOWN else ""
    return f"{', '.join(given[:_SHOWN])}{more}"


def _counted(part: pd.DataFrame, used: pd.Series) -> str:
    why = part["why"].iloc[0]
    if len(part) == 1 and why.startswith("a sparse matrix"):
        return why
    words = [f"{count} of {_WORDS[kind]}" for kind, count in used.items()]
    words[0] = words[0].replace(" of", f" column{'' if used.iloc[0] == 1 else 's'} of", 1)
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def about_matrix(matrix: Precomputed, table: pd.DataFrame) -> list[str]:
    ids = table[[matrix.view]].dropna()
    K = matrix.fit(ids).gram(ids)
    smallest = approximate_smallest(K)
    if smallest >= -_INDEFINITE * np.linalg.norm(K):
        return []
    return [
        f"The similarity matrix {matrix.view!r} is not positive semidefinite (its smallest eigenvalue is about "
        f"{smallest:.3g}): the negative part is left out."
    ]
