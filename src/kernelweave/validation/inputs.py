"""Checks of the arguments of `fit` and `predict`: X, y, sample weights, posteriors. Each failure is one error.

A masked entry of X is a missing one: NaN (None among objects), so that a view that is wholly masked is a missing view.
Where nothing can be missing (targets, weights, a Gram matrix) masked entries are an error. Dates and time spans are no
numbers, although NumPy would convert them: their unit would decide what is learned.

Data frames and series of polars and pyarrow become those of pandas; arrays of torch, CuPy, JAX and others, and several
tables at once, are refused. They are recognised by the module of their type, so that none of these libraries is
imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, time, timedelta
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_array, column_or_1d, validate_data

from .columns import are_found_by_name, by_name, check_unique_columns, feature_names, has_sparse_rows, text_names
from .parameters import shown

_ARRAYS = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
_DATES = (date, time, timedelta, np.datetime64, np.timedelta64, pd.Period)
_LIBRARIES = ("polars", "pyarrow")
_DEVICE_ARRAYS = {  # libraries whose arrays may be on a device, and how one of theirs becomes one of NumPy
    "torch": "{}.cpu().numpy()",
    "cupy": "cupy.asnumpy({})",
    "jax": "numpy.asarray({})",
    "jaxlib": "numpy.asarray({})",
    "tensorflow": "{}.numpy()",
    "mlx": "numpy.asarray({})",
}
_SHOWN = 3  # how many views the example in a message has


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


def check_training_data(estimator: Any, X: Any) -> tuple[Any, np.ndarray | None]:
    """X of a fit, and the names of its columns or None; the estimator gets `n_features_in_` and `feature_names_in_`."""
    X = _one_table(X)
    if isinstance(X, pd.DataFrame):
        check_unique_columns(X.columns)
        names = text_names(X)
        if names is None:
            validate_data(estimator, X, skip_check_array=True)
        else:  # scikit-learn takes long for many thousand names
            estimator.n_features_in_, estimator.feature_names_in_ = len(names), names
        if len(X) < 2 or X.shape[1] < 1:
            raise ValueError(
                f"Found a data frame with {len(X)} sample(s) and {X.shape[1]} feature(s) (shape={X.shape}), "
                f"but {type(estimator).__name__} needs at least 2 samples and 1 feature"
            )
        if has_sparse_rows(X):
            features = feature_names(X)
            estimator.n_features_in_ = len(features)
            if hasattr(estimator, "feature_names_in_"):
                estimator.feature_names_in_ = np.array(features, dtype=object)
    else:
        X = validate_data(estimator, X, ensure_min_samples=2, **_ARRAYS)
    return X, getattr(estimator, "feature_names_in_", None)


def check_new_data(estimator: Any, X: Any, used: np.ndarray) -> tuple[Any, np.ndarray | None]:
    """X of a prediction, and the names of its columns or None.

    Where columns are named by view they are found by name, and a view may be absent; see `columns.by_name`. Other names
    must be those of the fit, in that order, as in scikit-learn. `used` has the positions of the columns that are read.
    """
    names = getattr(estimator, "feature_names_in_", None)
    X = _one_table(X)
    if not isinstance(X, pd.DataFrame):
        return validate_data(estimator, X, reset=False, **_ARRAYS), names
    if names is not None and not has_sparse_rows(X) and np.array_equal(X.columns.to_numpy(dtype=object), names):
        pass
    elif names is not None and are_found_by_name(estimator, X, names):
        X = by_name(estimator, X, names, used)
    else:
        if names is not None:
            absent = set(names) - set(X.columns)
            if absent and not absent & set(names[used]) and [n for n in names if n not in absent] == list(X.columns):
                X = X.reindex(columns=list(names))
        check_unique_columns(X.columns)
        validate_data(estimator, X, reset=False, skip_check_array=True)
    if len(X) < 1:
        raise ValueError(f"Found a data frame with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X, names


def check_matrix(estimator: Any, X: Any, **options: Any) -> np.ndarray:
    """X as one array of float64 without missing entries, for transformers that have no views."""
    check_one_table(X)
    X = without_mask(as_pandas(X))
    if isinstance(X, pd.DataFrame):
        check_unique_columns(X.columns)
    if holds_dates(X):
        wrong = [name for name in X.columns if holds_dates(X[name])] if isinstance(X, pd.DataFrame) else []
        where = f" in the column {wrong[0]!r}" if wrong else ""
        raise ValueError(f"X holds dates or time spans{where}; turn them into numbers, such as days since the first")
    return validate_data(estimator, X, dtype=np.float64, **options)


def _one_table(X: Any) -> Any:
    check_one_table(X)
    X = without_mask(as_pandas(X))
    _check_not_a_row_of_documents(X)
    return _other_than_numbers_as_frame(X)


def _check_not_a_row_of_documents(X: Any) -> None:
    """Refuse one-dimensional text; NumPy would say that it cannot be converted into numbers."""
    is_plain = isinstance(X, list | tuple | pd.Series | pd.Index) or (isinstance(X, np.ndarray) and X.ndim == 1)
    if is_plain and len(X) and any(isinstance(entry, str) for entry in X):
        how = "X.to_frame()" if isinstance(X, pd.Series | pd.Index) else "np.array(X, dtype=object)[:, None]"
        raise ValueError(
            "Expected 2D array, got 1D array of text instead: X must have one row for each sample. Reshape your data: "
            f"documents, or ids, are one column, {how}, or a view of stack_views"
        )


def _other_than_numbers_as_frame(X: Any) -> Any:
    """Arrays and lists with text, or dates (numbers to NumPy), as data frames, checked by view; others as they are."""
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
        X.dtype.kind in "mM" or (X.dtype.kind in "UOT" and any(_is_other(entry) for entry in X.ravel()))
    )
    return pd.DataFrame(X if X.dtype.kind in "mM" else X.astype(object)) if holds_others else X


def _is_other(entry: Any) -> bool:
    return isinstance(entry, str) or is_date(entry)


def check_row_labels(X: Any, **others: Any) -> None:
    """Refuse arguments whose rows carry the labels of X in another order; rows are matched by position.

    Only pandas objects carry labels. Where the labels are not all the same ones (numbers that pandas gave beside names,
    or rows of another time) they cannot be compared, and positions count, as in scikit-learn.
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
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    y = as_pandas(y, "y")
    check_unmasked(y, "y")
    labels = y.index if isinstance(y, pd.Series | pd.DataFrame) else None
    if not _is_vector(y):
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=False), warn=True)
    _check_finite(y, labels)
    if len(y) != n_samples:
        raise ValueError(f"X and y have inconsistent numbers of samples: {n_samples} and {len(y)}")
    return y


def _is_vector(y: Any) -> bool:
    # what scikit-learn's checks, which take long beside a small fit, would make of it
    return type(y) is np.ndarray and y.ndim == 1 and len(y) > 0 and y.dtype.kind in "biuf"


def _check_finite(y: np.ndarray, labels: pd.Index | None) -> None:
    missing = pd.isna(y)
    wrong = np.flatnonzero(missing | np.isinf(y) if y.dtype.kind == "f" else missing)
    if len(wrong):
        what = "NaN" if missing[wrong[0]] else f"infinity or a value too large for {y.dtype!r}"
        sample = shown(wrong[0].item() if labels is None else labels[wrong[0]])
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise ValueError(f"Input y contains {what}: sample {sample}{more}; leave such samples out")


def check_numeric_target(estimator: Any, y: Any, n_samples: int) -> tuple[np.ndarray, list[Any] | None]:
    """Numbers to predict, and the names of the targets where y has two dimensions, a column for each target."""
    check_array_of_numpy(y, "y")
    check_plain(y, "y of a regression")
    names = list(getattr(y, "columns", ()))
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"y has several columns of the name {repeated[0]!r}; give each target a name of its own")
    options = {"ensure_2d": False, "dtype": None, "ensure_all_finite": False, "ensure_min_features": 0}
    table = None if y is None else check_array(y, **options, input_name="y")
    if table is None or table.ndim != 2:
        y = check_target(estimator, y, n_samples)
        check_plain(y, "y of a regression")  # a list of dates
        return _as_numbers(y, "y of a regression must be numbers"), None
    check_plain(table, "y of a regression")
    names = names or list(range(table.shape[1]))
    if len(table) != n_samples:
        raise ValueError(f"X and y have inconsistent numbers of samples: {n_samples} and {len(table)}")
    if not names:
        raise ValueError(f"y has no columns (shape {table.shape}), so there is no target to fit")
    numbers = np.empty(table.shape)
    for place, name in enumerate(names):
        numbers[:, place] = _as_numbers(
            table[:, place], f"y of a regression must be numbers, but target {name!r} is not"
        )
        wrong = np.flatnonzero(~np.isfinite(numbers[:, place]))
        if len(wrong):
            what = "NaN" if np.isnan(numbers[wrong[0], place]) else "infinity"
            sample = y.index[wrong[0]] if isinstance(y, pd.DataFrame) else wrong[0].item()
            more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            raise ValueError(
                f"Input y contains {what}: target {name!r} of sample {sample!r}{more}; leave such samples out, or fit "
                "that target by itself on the samples that have it"
            )
    return numbers, names


def _as_numbers(y: np.ndarray, message: str) -> np.ndarray:
    try:
        if any(isinstance(entry, str) and spelled_number(entry) is None for entry in y.flat if y.dtype.kind in "OU"):
            raise ValueError
        return y.astype(float, copy=False)
    except (TypeError, ValueError):
        raise ValueError(message) from None


def check_labels(estimator: Any, y: Any, n_samples: int) -> np.ndarray:
    y = check_target(estimator, y, n_samples)
    if y.dtype.kind in "bi" and len(y) and int(y.max()) - int(y.min()) < len(y) // 2:  # labels, and few of them
        return y
    try:
        check_classification_targets(y)
    except TypeError:
        raise ValueError("y mixes labels of types that cannot be sorted, such as numbers and text") from None
    return y


def encode_labels(estimator: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise one_class_error(estimator, classes)
    return classes, labels


def one_class_error(estimator: Any, classes: np.ndarray) -> ValueError:
    return ValueError(
        f"{type(estimator).__name__} needs samples of at least two classes, but y has only one class: "
        f"{classes.tolist()[0]!r}"
    )


def check_sample_weight(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Finite weights of at least 0, one for each sample and not all of them 0; None means 1 each."""
    if sample_weight is None:
        return np.ones(n_samples)
    sample_weight = as_pandas(sample_weight, "sample_weight")
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


def check_posterior(posterior: Any, n_samples: int) -> np.ndarray | pd.Series | pd.DataFrame:
    """Probabilities by sample, or one error; series and data frames stay, because their names are the classes."""
    posterior = as_pandas(posterior, "posterior")
    check_plain(posterior, "posterior")
    labelled = isinstance(posterior, pd.Series | pd.DataFrame)
    try:
        posterior = posterior.astype(float) if labelled else np.asarray(posterior, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("posterior must be an array of probabilities") from None
    if posterior.ndim not in (1, 2) or len(posterior) != n_samples:
        raise ValueError(
            f"posterior must have one row for each of the {n_samples} samples of X, but its shape is {posterior.shape}"
        )
    values = np.asarray(posterior)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("posterior must hold probabilities from 0 to 1, without NaN")
    return posterior


def without_mask(X: Any) -> Any:
    """A masked array as a plain one whose masked entries are NaN, or None among objects; anything else as it is.

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
    check_unmasked(values, what)
    if holds_dates(values):
        raise ValueError(f"{what} holds dates or time spans; turn them into numbers, such as days since the first date")


def check_unmasked(values: Any, what: str) -> None:
    if np.ma.is_masked(values):
        place = np.argwhere(np.ma.getmaskarray(values))[0].tolist()
        raise ValueError(
            f"{what} is masked at {place[0] if len(place) == 1 else tuple(place)}; nothing can be missing there: "
            "remove such samples, or fill the values in"
        )


def holds_dates(values: Any) -> bool:
    if isinstance(values, pd.DataFrame):
        others = [j for j, dtype in enumerate(values.dtypes) if getattr(dtype, "kind", "O") not in "fiub"]
        return any(holds_dates(values.iloc[:, j]) for j in others)
    if isinstance(values, pd.Series) and not isinstance(values.dtype, np.dtype):
        return isinstance(values.dtype, pd.DatetimeTZDtype | pd.PeriodDtype)
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    return kind in ("m", "M") or (kind == "O" and any(is_date(entry) for entry in np.ravel(values)))


def is_date(entry: Any) -> bool:
    return isinstance(entry, _DATES)


def as_pandas(table: Any, what: str = "X") -> Any:
    """A data frame or series of polars or pyarrow as one of pandas, with rows numbered from 0; anything else as it is.

    Columns are converted one by one by their `to_numpy`; what is null becomes NaN, or None among objects. Arrays of
    other libraries are refused, see `check_array_of_numpy`.

    >>> import pyarrow as pa
    >>> as_pandas(pa.table({"rna__0": [1.0, None], "word": ["ab", "ba"]}))
       rna__0 word
    0     1.0   ab
    1     NaN   ba
    """
    if not _is_foreign(table):
        check_array_of_numpy(table, what)
        return table
    if hasattr(table, "collect"):
        raise ValueError(f"{type(table).__name__} is a table that is not computed yet; pass what its collect() returns")
    names = getattr(table, "column_names", None)
    names = getattr(table, "columns", None) if names is None else names
    if names is None:
        return pd.Series(_plain(table), name=getattr(table, "name", None) or None)
    columns = {place: _plain(table[place] if _is_arrow(table) else table[name]) for place, name in enumerate(names)}
    frame = pd.DataFrame(columns, index=pd.RangeIndex(len(table)))
    return frame.set_axis(list(names), axis=1)


def spelled_number(text: str, decimal: str = ".") -> float | None:
    """The number that a cell of text spells, or None where it spells none; every reader of tables asks here.

    What Python takes beyond what is usual in tables is no number: underscores between digits (``1_000``) and digits
    other than 0 to 9. pandas does not take them either, so a column with them is text.

    >>> spelled_number("1,5", decimal=","), spelled_number("1_000"), spelled_number("1e3")
    (1.5, None, 1000.0)
    """
    if not text.isascii() or "_" in text:
        return None
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return None


def check_array_of_numpy(values: Any, what: str) -> None:
    """Raise a `ValueError` with advice where values are an array of torch, CuPy, JAX or the like, or a list of such."""
    inside = values[0] if isinstance(values, list | tuple) and values else values
    library = type(inside).__module__.partition(".")[0]
    is_array = hasattr(inside, "shape") and (library in _DEVICE_ARRAYS or hasattr(inside, "__dlpack__"))
    if not is_array or isinstance(inside, np.ndarray | np.generic) or _is_foreign(inside):
        return
    name = f"{library}.{type(inside).__name__}"
    if inside is values:
        kind, how = f"of the type {name}", _DEVICE_ARRAYS.get(library, "numpy.asarray({})").format(what)
    else:
        kind, how = f"a {type(values).__name__} of {name}", f"numpy.stack([... for row in {what}])"
    raise ValueError(
        f"{what} is {kind}, but must be an array of NumPy or a table: pass {how}; estimators with "
        'device="cuda" move features to the device by themselves'
    )


def _is_foreign(table: Any) -> bool:
    module = type(table).__module__.partition(".")[0]
    return module in _LIBRARIES and any(hasattr(table, name) for name in ("to_numpy", "column_names", "collect"))


def _is_arrow(table: Any) -> bool:
    return type(table).__module__.partition(".")[0] == "pyarrow"


def _plain(column: Any) -> np.ndarray:
    values = np.asarray(column.to_numpy())
    return values.astype(object) if values.dtype.kind in "US" else values


def check_one_table(X: Any) -> None:
    """Raise a `ValueError` where X is several tables (a dict, or a list of arrays), or a table that stays in files."""
    if hasattr(X, "n_blocks") and hasattr(X, "limits"):
        raise ValueError(
            f"X is an {type(X).__name__}, which MKLClassifier, MKLRegressor, MKLOneClass and CohortModel read block by "
            "block; here X must be in memory: pass X.rows(0, X.n_samples)"
        )
    if isinstance(X, Mapping) and not sp.issparse(X):  # a sparse matrix by keys is a dict in SciPy 1.11
        names = [repr(name) for name in list(X)[:_SHOWN]]
        what = "a dict"
    elif isinstance(X, list | tuple) and any(_is_table(entry) for entry in X):
        names = [f'"view{place}"' for place in range(min(len(X), _SHOWN))]
        what = f"a {type(X).__name__} of tables"
    else:
        return
    example = ", ".join(f"{name}: ..." for name in names) + (", ..." if len(X) > _SHOWN else "")
    raise ValueError(
        f"X is {what}, but must be one table with all views side by side; X = stack_views({{{example}}}) makes it "
        "(kernelweave.stack_views), and kernels then select views by name"
    )


def _is_table(entry: Any) -> bool:
    return isinstance(entry, Mapping) or _is_foreign(entry) or getattr(entry, "ndim", 0) == 2
