"""`predict_views`: predictions of samples in files, written into a file block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from .._extras import optional
from ..engines.files import FromFiles
from ..estimators.progress import progress_bar
from ..estimators.samples import StoredFrames
from ..validation import shown
from ..views import TableInBlocks
from .atomic import replace_file

PARQUET = (".parquet", ".pq")
METHODS = (
    *("predict", "decision_function", "predict_proba", "score_samples"),
    *("kernel_weights", "gates", "region", "contributions"),
)
_NAMES = {"predict": "prediction", "decision_function": "decision", "predict_proba": "probability"}


def predict_views(
    model: Any, table: TableInBlocks, path: Any, *, what: str | tuple[str, ...] = "predict", progress: bool = True
) -> Path:
    """Predict the samples of an open table and write the results into a file, block by block.

    Nothing of the size of all samples is held in memory. The file is there when all of it is written, and not before:
    after an error, or Ctrl-C, the old one is as it was.

    Parameters
    ----------
    model : fitted estimator
        With exact kernels or explicit features; or any model that takes data frames.
    table : OpenViews
        See `open_views`.
    path : path
        A name that ends with .parquet (or .pq): a table with the sample ids, where there are any, in its first column.
        One that ends with .npy: an array with a row for each sample.
    what : str, or tuple of str
        The methods whose results are written: "predict", "decision_function", "predict_proba", "score_samples",
        "kernel_weights", "gates", "region" or "contributions", as far as the model has them. Several go into one
        Parquet file, side by side.
    progress : bool
        Whether to show a progress bar, on a terminal.

    Returns
    -------
    Path
        Where the results are.

    Notes
    -----
    Columns of a Parquet file are named ``prediction``, ``decision``, ``probability`` or as the method, followed by
    ``_`` and the class (the kernel, the number of the target) where there are several: ``decision_ill``,
    ``kernel_weights_rna``. Text labels in an NPY file are Unicode strings.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier, open_views, predict_views
    >>> folder = Path(tempfile.mkdtemp())
    >>> random = np.random.default_rng(0)
    >>> size = random.normal(size=(300, 2))
    >>> np.save(folder / "size.npy", size)
    >>> table = open_views([folder / "size.npy"], target=np.where(size[:, 0] > 0, "up", "down"))
    >>> model = MKLClassifier(approximation="nystroem", random_state=0).fit(table)
    >>> _ = predict_views(model, table, folder / "predictions.npy", progress=False)
    >>> np.load(folder / "predictions.npy").shape
    (300,)
    """
    if not isinstance(table, TableInBlocks):
        raise ValueError(f"table must be what open_views returns, not {shown(table)}; predict takes data in memory")
    names = (what,) if isinstance(what, str) else tuple(what)
    for name in names:
        if name not in METHODS:
            raise ValueError(f"what must be one of {', '.join(METHODS)}, or several, not {shown(name)}")
        getattr(model, name)  # its AttributeError says what the model lacks
    if not names:
        raise ValueError(f"what must be one of {', '.join(METHODS)}, or several, not {shown(what)}")
    path = Path(os.path.expanduser(os.fspath(path)))
    suffix = path.suffix.lower()
    if suffix not in (".npy", *PARQUET):
        raise ValueError(f"path must end with .npy or {' or '.join(PARQUET)}, not {shown(str(path))}")
    if suffix == ".npy" and len(names) > 1:
        raise ValueError(f"an NPY file holds one result, not {len(names)}; write a Parquet file")
    if any(path.exists() and file.samefile(path) for file in table.files):
        raise ValueError(f"{path} is one of the files of the table; choose another path")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to write {path.name!r} in")
    watch = partial(progress_bar, f"Writing {path.name}", transient=True) if progress else None
    results = FromFiles(StoredFrames(table), watch=watch).results(_results, model, names)
    write = _write_npy if suffix == ".npy" else _write_parquet
    replace_file(path, lambda file: write(file, results, model, names, table))
    return path


def _results(X: pd.DataFrame, model: Any, names: tuple[str, ...]) -> tuple[pd.Index, list[Any]]:
    return X.index, [getattr(model, name)(X) for name in names]


def _write_npy(
    file: BinaryIO, results: Iterator[Any], model: Any, names: tuple[str, ...], table: TableInBlocks
) -> None:
    dtype = None
    for _, (found,) in results:
        values = np.asarray(found)
        if dtype is None:
            dtype = _npy_type(values, model)
            header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False}
            np.lib.format.write_array_header_2_0(file, {**header, "shape": (table.n_samples, *values.shape[1:])})
        file.write(np.ascontiguousarray(values, dtype=dtype).tobytes())


def _npy_type(values: np.ndarray, model: Any) -> np.dtype:
    if values.dtype != object:
        return values.dtype
    labels = [*getattr(model, "classes_", ()), *getattr(model, "kernel_names_", ())]
    if not labels or not all(isinstance(label, str) for label in labels):
        raise ValueError("these results are no numbers and no text, which is all that NPY holds; write a Parquet file")
    return np.asarray(labels, dtype=str).dtype


def _write_parquet(
    file: BinaryIO, results: Iterator[Any], model: Any, names: tuple[str, ...], table: TableInBlocks
) -> None:
    arrow = optional("pyarrow", "to write Parquet", "parquet")
    parquet = optional("pyarrow.parquet", "to write Parquet", "parquet")
    writer = None
    try:
        for index, found in results:
            columns: dict[str, Any] = {}
            if table.has_ids:
                columns[str(index.name or "sample")] = index.to_numpy()
            for name, values in zip(names, found, strict=True):
                columns |= _columns(name, values, model)
            block = arrow.table(columns)
            if writer is None:
                writer = parquet.ParquetWriter(file, block.schema)
            writer.write_table(block)
    finally:
        if writer is not None:
            writer.close()


def _columns(name: str, values: Any, model: Any) -> dict[str, Any]:
    start = _NAMES.get(name, name)
    if isinstance(values, pd.DataFrame):
        keys = ["__".join(map(str, key)) if isinstance(key, tuple) else str(key) for key in values.columns]
        return {f"{start}_{key}": values.iloc[:, place].to_numpy() for place, key in enumerate(keys)}
    values = np.asarray(values)
    if values.ndim == 1:
        return {start: values}
    classes = list(getattr(model, "classes_", ()))
    keys = [str(one) for one in (classes if len(classes) == values.shape[1] else range(values.shape[1]))]
    return {f"{start}_{key}": values[:, place] for place, key in enumerate(keys)}
