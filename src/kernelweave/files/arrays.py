"""Arrays in NPY and NPZ files.

An NPY file is one view. Each array of an NPZ file is a view, named as the array is; where there is only one, it has the
file's name. An array `ids` (or the id's name), or `rna_ids` for the view `rna`, holds the ids of the rows. The files
of `scipy.sparse.save_npz` are one sparse view.
"""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .frames import of_frame
from .table import Key, Loaded, Options, Source, Table, divided, plain_columns, view_name

SUFFIXES = (".npy", ".npz")
_IDS = ("ids", "id", "index", "sample", "samples", "sample_ids")
_SPARSE = {"data", "indices", "indptr", "shape"}


def read(source: Source, options: Options, target: str | None) -> Loaded:
    """The tables of an NPY or NPZ file."""
    try:
        content = np.load(source.path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            frame = _frame(content, source.name, source.shown)
            if content.dtype.names is not None:  # records are a table with names, among them perhaps ids
                return of_frame(frame, source, options, target)
            return divided(Table(source.name, source.shown, frame), target, None)
        with content:
            members = {name: content[name] for name in content.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        if "allow_pickle" in str(error):
            raise ValueError(
                f"{source.shown} holds Python objects, which are not read because they could run code; save arrays of "
                "numbers or text, such as array.astype(float) or array.astype(str)"
            ) from None
        raise ValueError(f"{source.shown} cannot be read as {source.path.suffix[1:].upper()}: {error}") from error
    if not members:
        raise ValueError(f"{source.shown} is empty; it needs an array with a row for each sample")
    return _members(members, source, options.id_of(source), target)


def _members(members: dict[str, np.ndarray], source: Source, wanted: Any, target: str | None) -> Loaded:
    if set(members) >= _SPARSE:
        is_pair = members["shape"].shape == (2,)
        matrix = sp.load_npz(source.path) if "format" in members else None
        if matrix is None and is_pair:
            parts = (members["data"], members["indices"], members["indptr"])
            matrix = sp.csr_matrix(parts, shape=tuple(members["shape"]))
        others = {name: array for name, array in members.items() if name not in _SPARSE | {"format"}}
        arrays: dict[str, Any] = {source.name: sp.csr_matrix(matrix), **others}
    else:
        arrays = dict(members)
    ids = {} if wanted is False else _ids(arrays, wanted, source)
    columns = [name for name in arrays if name not in ids]
    found = None
    if target in columns:
        column = _frame(arrays.pop(target), target, f"{source.shown}, array {target!r}")
        if column.shape[1] > 1:
            raise ValueError(
                f"{source.shown}: the array {target!r} is the target and has {column.shape[1]} columns, not 1"
            )
        found = Table(source.name, f"{source.shown}, array {target!r}", column.set_axis([target], axis=1))
    views = {name: array for name, array in arrays.items() if name not in ids}
    tables = []
    for name, array in views.items():
        own = f"{source.name}_{name}" if source.is_named else name
        view = view_name(own) if len(views) > 1 else source.name
        shown = f"{source.shown}, array {name!r}" if len(members) > 1 else source.shown
        values = array if sp.issparse(array) else plain_columns(_frame(array, view, shown))
        names = [str(j) for j in range(array.shape[1])] if sp.issparse(array) else []
        tables.append(Table(view, shown, values, columns=names))
        tables[-1].key = _key(ids, name, tables[-1])
    if found is not None:
        found.key = _key(ids, str(target), found)
    return Loaded(tables, found, columns)


def _ids(arrays: dict[str, Any], wanted: Any, source: Source) -> dict[str, np.ndarray]:
    """The arrays that hold ids, by name."""
    own = {f"{name}_ids" for name in arrays}
    common = next((name for name in (wanted, *_IDS) if name in arrays), None)
    ids = {name: arrays[name] for name in arrays if name == common or name in own}
    if len(ids) == len(arrays):
        return {}
    for name, array in ids.items():
        if np.ndim(array) != 1:
            raise ValueError(
                f"{source.shown}: the array {name!r} should hold the ids of the samples and has {np.ndim(array)} "
                "dimensions; store the ids as an array of one dimension, or pass id=False to match rows by their order"
            )
    return ids


def _key(ids: dict[str, np.ndarray], member: str, table: Table) -> Key | None:
    own = f"{member}_ids"
    name = own if own in ids else next((name for name in ids if not name.endswith("_ids") or name in _IDS), None)
    if name is None:
        return None
    if len(ids[name]) != table.n_rows:
        raise ValueError(
            f"{table.shown} has {table.n_rows} rows, and the array {name!r} has ids of {len(ids[name])} samples; store "
            f"its own ids as {own!r}"
        )
    return Key(name, ids[name].astype(object), f"array {name!r}", is_certain=True)


def _frame(array: np.ndarray, view: str, shown: str) -> pd.DataFrame:
    if array.dtype.names is not None and array.ndim == 1:
        frame = pd.DataFrame({name: _text(array[name]) for name in array.dtype.names})
    elif array.ndim in (1, 2):
        frame = pd.DataFrame(_text(array))
        frame.columns = [view] if array.ndim == 1 else [str(j) for j in range(frame.shape[1])]
    else:
        raise ValueError(
            f"{shown} has {array.ndim} dimensions; a view has two, samples and columns: reshape it, such as "
            "array.reshape(len(array), -1)"
        )
    if not len(frame) or not frame.shape[1]:
        raise ValueError(f"{shown} is empty (shape {array.shape}); it needs a row for each sample")
    return frame


def _text(array: np.ndarray) -> np.ndarray:
    """An array of text as objects, None where it is empty; others as they are."""
    if array.dtype.kind not in "US":
        return array
    array = array.astype(str).astype(object)
    array[array == ""] = None
    return array
