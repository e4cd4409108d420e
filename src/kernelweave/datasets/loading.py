"""Loaders: MULTIFEAT, which is embedded, and the papers' other data sets from a data home.

A data home is a folder with one ``NAME.npz`` per data set: an array for each view (``X`` where there is one view) and
``y``; text sets hold ``data``, ``indices``, ``indptr`` and ``shape`` of a CSR matrix, sets of sparse views the same for
each view (``VIEW_data``, ...). Files are read without pickle and checked.

``data/multifeat.npz`` is the Multiple Features data set of the UCI Machine Learning Repository (R. Duin,
doi:10.24432/C5HC70), licensed CC BY 4.0; see ``data/LICENSE.md``.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.utils import Bunch

from ..validation import Choice, check
from ..views import stack_views
from .catalogue import CATALOGUE, DatasetSpec, find_spec

ENVIRONMENT = "KERNELWEAVE_DATA"
_CSR = ("data", "indices", "indptr", "shape")
_SCIKIT_LEARN = {"iris": load_iris, "wdbc": load_breast_cancer}
_VIEWS = {
    "fac": "216 profile correlations",
    "fou": "76 Fourier coefficients of the character shapes",
    "kar": "64 Karhunen-Loeve coefficients",
    "mor": "6 morphological features",
    "pix": "240 pixel averages in 2 x 3 windows",
    "zer": "47 Zernike moments",
}


def load_dataset(name: str, variant: str | None = None, *, return_X_y: bool = False, data_home: Any = None) -> Any:
    """Load one of the papers' data sets.

    MULTIFEAT is embedded, IRIS and WDBC come with scikit-learn; every other set is read from the data home.

    Parameters
    ----------
    name : str
        A name of `list_datasets`, or the papers' name of it ("thyroid", "whitewine", ...).
    variant : str or None
        One of the papers' binary or merged-class problems made of it, such as "small-vs-large", "1vs8", "gender" or
        "merged"; None for the classes of the file.
    return_X_y : bool
        Whether to return only ``(data, target)``.
    data_home : path, optional
        The folder with the files; the environment variable ``KERNELWEAVE_DATA`` by default.

    Returns
    -------
    Bunch
        With ``data`` (a DataFrame with columns ``view__0``, ``view__1``, ...; a CSR matrix for text and other sparse
        views), ``target`` (0, 1, ... in the order of ``target_names``, or the numbers to predict), ``target_names``,
        ``original_target`` (the labels of the file: modes and groups within merged classes), ``view_names``, ``views``
        (from each name to what a kernel takes as its view: the name itself, or the slice of a CSR matrix's columns),
        ``DESCR`` and, for PROTEIN, ``is_train``.

    Raises
    ------
    FileNotFoundError
        Where the file is absent; the message names the original archive, its licence and what to put where.
    ValueError
        Where the name, the variant or the contents of the file are wrong.

    Examples
    --------
    >>> from kernelweave.datasets import load_dataset
    >>> iris = load_dataset("iris", variant="merged")
    >>> iris.data.shape, iris.target_names, int(iris.target.sum())
    ((150, 4), ['setosa or virginica', 'versicolor'], 50)
    """
    name, spec = find_spec(name)
    check(repr(name), "variant", variant, Choice(None, *spec.variants))
    merge = None if variant is None else spec.variants[variant]
    data, labels, extras = _read(name, spec, data_home)
    if spec.classes:
        target, kept, target_names = _encode(name, spec, labels, merge)
        data = data.iloc[kept].reset_index(drop=True) if isinstance(data, pd.DataFrame) else data[kept]
        labels, extras = labels[kept], {key: values[kept] for key, values in extras.items()}
    else:
        target, target_names = labels.astype(float), []
    if return_X_y:
        return data, target
    views = _selectors(spec, data)
    return Bunch(
        data=data,
        target=target,
        target_names=target_names,
        original_target=labels,
        view_names=list(views),
        views=views,
        DESCR=_description(name, spec, data, variant),
        **extras,
    )


def list_datasets(data_home: Any = None) -> pd.DataFrame:
    """Every data set that `load_dataset` can load.

    Parameters
    ----------
    data_home : path, optional
        As for `load_dataset`.

    Returns
    -------
    DataFrame
        One row per data set: its title, published number of samples, number of classes (0 for regression), variants,
        and whether it is there.

    Examples
    --------
    >>> from kernelweave.datasets import list_datasets
    >>> list_datasets().loc["optdigits", "variants"]
    '1vs8, 3vs9'
    """
    home = _home(data_home)
    rows = {
        name: {
            "title": spec.title,
            "samples": spec.n_samples,
            "classes": len(spec.classes),
            "variants": ", ".join(spec.variants),
            "available": spec.origin != "home" or (home is not None and (home / f"{name}.npz").is_file()),
        }
        for name, spec in CATALOGUE.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def _home(data_home: Any) -> Path | None:
    chosen = os.environ.get(ENVIRONMENT) if data_home is None else data_home
    return Path(chosen).expanduser() if chosen else None


def data_folder(data_home: Any = None) -> Path | None:
    """The folder with the files as an absolute path, for other processes too; None where there is none."""
    home = _home(data_home)
    return None if home is None else home.absolute()


def _read(name: str, spec: DatasetSpec, data_home: Any) -> tuple[Any, np.ndarray, dict[str, np.ndarray]]:
    if spec.origin == "embedded":
        return *load_multifeat(return_X_y=True), {}
    if spec.origin == "scikit-learn":
        values, labels = _SCIKIT_LEARN[name](return_X_y=True)
        return stack_views({"x": values}), labels, {}
    path = _find_file(name, spec, data_home)
    arrays = _load_arrays(path, [*_stored(spec), "y", *spec.extras])
    labels, extras = arrays.pop("y"), {key: arrays.pop(key) for key in spec.extras}
    found: Any = _sparse_views(path, spec, arrays) if spec.is_sparse else stack_views(_views(path, spec, arrays))
    for key, values in {"y": labels, **extras}.items():
        if values.shape != (found.shape[0],):
            raise ValueError(f"{path.name}: {key!r} must have one entry for each of {found.shape[0]} samples")
    return found, labels, extras


def _stored(spec: DatasetSpec) -> list[str]:
    if spec.sparse:
        return [f"{view}_{part}" for view in spec.views for part in _CSR]
    return list(spec.views or _CSR)


def _selectors(spec: DatasetSpec, data: Any) -> dict[str, Any]:
    """The view of a kernel, by name: the name itself, or the positions of a CSR matrix's columns."""
    if spec.is_text:
        return {"x": slice(0, data.shape[1])}
    if spec.sparse:
        ends = np.cumsum([0, *spec.views.values()]).tolist()
        return {view: slice(*pair) for view, pair in zip(spec.views, pairwise(ends), strict=True)}
    return {name: name for name in dict.fromkeys(str(column).partition("__")[0] for column in data.columns)}


def _find_file(name: str, spec: DatasetSpec, data_home: Any) -> Path:
    home = _home(data_home)
    path = None if home is None else home / f"{name}.npz"
    if path is not None and path.is_file():
        return path
    arrays = {view: f"({spec.n_samples}, {columns})" for view, columns in spec.views.items()}
    if spec.is_sparse:
        arrays = {part: "part of a CSR matrix" for part in _stored(spec)}
    arrays |= {"y": f"({spec.n_samples},)", **{extra: f"({spec.n_samples},)" for extra in spec.extras}}
    inside = ", ".join(f"{key} {what}" for key, what in arrays.items())
    where = f"no data home is set ({ENVIRONMENT} or data_home)" if path is None else f"there is no file {path}"
    raise FileNotFoundError(
        f"the data set {name!r} ({spec.title}) does not come with kernelweave, and {where}. Get it from: "
        f"{spec.archive}; licence: {spec.licence}. Save its arrays with numpy.savez_compressed as {name}.npz in a "
        f"folder and name that folder by data_home or the environment variable {ENVIRONMENT}. Arrays: {inside}"
    )


def _load_arrays(path: Path, needed: list[str]) -> dict[str, np.ndarray]:
    """The named arrays of an npz file, numbers only; nothing of the file is executed."""
    try:
        with np.load(path, allow_pickle=False) as file:
            absent = [key for key in needed if key not in file.files]
            if absent:
                raise ValueError(f"it lacks the array(s) {', '.join(absent)}")
            arrays = {key: file[key] for key in needed}
    except (ValueError, OSError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} is not a data file that load_dataset can read: {error}") from error
    for key, values in arrays.items():
        if values.dtype.kind not in "fiub" or not np.isfinite(values).all():
            raise ValueError(f"{path.name}: the array {key!r} must hold finite numbers")
    return arrays


def _views(path: Path, spec: DatasetSpec, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    n_samples = len(next(iter(arrays.values())))
    for view, n_columns in spec.views.items():
        _check_shape(path, view, arrays[view].shape, (n_samples, n_columns))
    numbers = {view: values.astype(float) for view, values in arrays.items()}
    if spec.derive is not None:
        return spec.derive(numbers)
    return {view.lower(): values for view, values in numbers.items()}


def _sparse_views(path: Path, spec: DatasetSpec, arrays: dict[str, np.ndarray]) -> sp.csr_matrix:
    if spec.is_text:
        return _sparse(path, arrays)
    parts = {view: _sparse(path, {part: arrays[f"{view}_{part}"] for part in _CSR}) for view in spec.views}
    n_samples = next(iter(parts.values())).shape[0]
    for view, n_columns in spec.views.items():
        _check_shape(path, view, parts[view].shape, (n_samples, n_columns))
    return sp.hstack(list(parts.values()), format="csr")


def _check_shape(path: Path, view: str, shape: tuple[int, ...], expected: tuple[int, int]) -> None:
    if shape != expected:
        raise ValueError(f"{path.name}: the array {view!r} must be of shape {expected}, not {shape}")


def _sparse(path: Path, parts: Mapping[str, np.ndarray]) -> sp.csr_matrix:
    shape = tuple(int(size) for size in parts["shape"])
    try:
        matrix = sp.csr_matrix((parts["data"].astype(float), parts["indices"], parts["indptr"]), shape=shape)
        matrix.check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{path.name} does not hold the parts of a CSR matrix: {error}") from error
    return matrix


def _encode(
    name: str, spec: DatasetSpec, labels: np.ndarray, merge: Mapping[str, tuple[int, ...]] | None
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    known = np.arange(len(spec.classes)) + spec.first_label
    strange = np.setdiff1d(labels, known)
    if len(strange):
        raise ValueError(
            f"the labels of {name!r} must be {known[0]} ... {known[-1]}, but some are {strange[:5].tolist()}"
        )
    if merge is None:
        merge = {class_name: (label,) for class_name, label in zip(spec.classes, known.tolist(), strict=True)}
    target = np.full(len(labels), -1)
    for new, members in enumerate(merge.values()):
        target[np.isin(labels, members)] = new
    kept = np.flatnonzero(target >= 0)
    return target[kept], kept, list(merge)


def _description(name: str, spec: DatasetSpec, data: Any, variant: str | None) -> str:
    n_classes = len(spec.classes if variant is None else spec.variants[variant])
    lines = [f"{spec.title} ({name}{'' if variant is None else ', ' + variant}): {data.shape[0]} samples, "]
    lines[0] += f"{data.shape[1]} columns, " + (f"{n_classes} classes." if n_classes else "regression.")
    if variant is not None:
        named = "; ".join(
            f"{new}: {', '.join(spec.classes[label - spec.first_label] for label in members)}"
            for new, members in spec.variants[variant].items()
        )
        lines.append(f"Variant {variant}: {named}.")
    lines += [spec.note] if spec.note else []
    return "\n".join([*lines, f"Source: {spec.archive}. Licence: {spec.licence}."])


def load_multifeat(target: str | None = None, return_X_y: bool = False) -> Any:
    """Load MULTIFEAT: 2000 handwritten digits, 200 of each, described by six views.

    ========  ================================================
    view      columns
    ========  ================================================
    ``fac``   216 profile correlations
    ``fou``   76 Fourier coefficients of the character shapes
    ``kar``   64 Karhunen-Loeve coefficients
    ``mor``   6 morphological features
    ``pix``   240 pixel averages in 2 x 3 windows
    ``zer``   47 Zernike moments
    ========  ================================================

    Parameters
    ----------
    target : {None, "small-vs-large", "even-vs-odd"}
        None for the ten digits; "small-vs-large" (MULTIFEAT-SL of the thesis (Gönen 2010)) for 0 to 4 (class 0) against
        5 to 9 (class 1); "even-vs-odd" for even (class 0) against odd digits (class 1).
    return_X_y : bool
        Whether to return only ``(X, y)``.

    Returns
    -------
    Bunch
        With ``data`` (DataFrame of shape (2000, 649), columns ``fac__0`` ... ``zer__46``), ``target``,
        ``target_names``, ``view_names`` and ``DESCR``; or ``(data, target)``.

    References
    ----------
    R. Duin, Multiple Features, UCI Machine Learning Repository, doi:10.24432/C5HC70 (CC BY 4.0).

    Examples
    --------
    >>> from kernelweave import datasets
    >>> X, y = datasets.load_multifeat(return_X_y=True)
    >>> X.shape, X.columns[0]
    ((2000, 649), 'fac__0')
    """
    spec = CATALOGUE["multifeat"]
    check(None, "target", target, Choice(None, *spec.variants))
    with files(__package__).joinpath("data/multifeat.npz").open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        data = stack_views({view: arrays[view].astype(float) for view in _VIEWS})
        digits = arrays["y"].astype(int)
    y, _, names = _encode("multifeat", spec, digits, None if target is None else spec.variants[target])
    if return_X_y:
        return data, y
    return Bunch(data=data, target=y, target_names=names, view_names=list(_VIEWS), DESCR=_multifeat_description())


def _multifeat_description() -> str:
    views = "\n".join(f"- {name}: {text}" for name, text in _VIEWS.items())
    return (
        "Multiple Features (MULTIFEAT): 2000 handwritten digits, 200 of each, from Dutch utility maps.\n"
        f"{views}\n"
        "Source: R. Duin, Multiple Features, UCI Machine Learning Repository, doi:10.24432/C5HC70, CC BY 4.0."
    )
