"""Tables of other libraries as pandas objects; several tables at once, and arrays of other libraries, are refused.

Data frames and series of polars and pyarrow, and arrays of torch, CuPy, JAX and others, are recognised by the module of
their type, so that none of these libraries is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

_LIBRARIES = ("polars", "pyarrow")
_ARRAYS = {  # libraries whose arrays may be on a device, and how one of theirs becomes one of NumPy
    "torch": "{}.cpu().numpy()",
    "cupy": "cupy.asnumpy({})",
    "jax": "numpy.asarray({})",
    "jaxlib": "numpy.asarray({})",
    "tensorflow": "{}.numpy()",
    "mlx": "numpy.asarray({})",
}
_SHOWN = 3  # how many views the example in a message has


def as_pandas(table: Any, what: str = "X") -> Any:
    """A data frame or series of polars or pyarrow as one of pandas, with rows numbered from 0; anything else as it is.

    Columns are converted one by one by their `to_numpy`; what is null becomes NaN, or None among objects. Arrays of
    other libraries are refused, see `check_array_of_numpy`.

    Parameters
    ----------
    table : object
    what : str
        What messages call it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kernelweave.validation.tables import as_pandas
    >>> as_pandas(pa.table({"rna__0": [1.0, None], "word": ["ab", "ba"]}))
       rna__0 word
    0     1.0   ab
    1     NaN   ba
    """
    if not is_foreign(table):
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

    Parameters
    ----------
    text : str
    decimal : str
        The decimal mark.

    Examples
    --------
    >>> from kernelweave.validation.tables import spelled_number
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
    """Raise a `ValueError` with advice where values are an array of torch, CuPy, JAX or the like, or a list of such.

    Parameters
    ----------
    values : object
    what : str
        What the message calls them.

    Examples
    --------
    >>> from kernelweave.validation.tables import check_array_of_numpy
    >>> check_array_of_numpy([[1.0, 2.0]], "X")
    """
    inside = values[0] if isinstance(values, list | tuple) and values else values
    library = type(inside).__module__.partition(".")[0]
    is_array = hasattr(inside, "shape") and (library in _ARRAYS or hasattr(inside, "__dlpack__"))
    if not is_array or isinstance(inside, np.ndarray | np.generic) or is_foreign(inside):
        return
    name = f"{library}.{type(inside).__name__}"
    if inside is values:
        kind, how = f"of the type {name}", _ARRAYS.get(library, "numpy.asarray({})").format(what)
    else:
        kind, how = f"a {type(values).__name__} of {name}", f"numpy.stack([... for row in {what}])"
    raise ValueError(
        f"{what} is {kind}, but must be an array of NumPy or a table: pass {how}; estimators with "
        'device="cuda" move features to the device by themselves'
    )


def is_foreign(table: Any) -> bool:
    """Whether something is a data frame or series of polars or pyarrow."""
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
    if isinstance(X, Mapping):
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
    return isinstance(entry, Mapping) or is_foreign(entry) or getattr(entry, "ndim", 0) == 2
