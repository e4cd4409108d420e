"""Modalities in MuData files (.h5mu), and the one of AnnData files (.h5ad): each is a view."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .._extras import optional
from .table import Key, Loaded, Options, Source, Table, plain_columns, unique_names, view_name

SUFFIXES = (".h5mu", ".h5ad")


def read(source: Source, options: Options, target: str | None) -> Loaded:
    """The tables of a MuData or AnnData file; the target is a column of `.obs`."""
    is_one = source.path.suffix.lower() == ".h5ad"
    package = optional("anndata" if is_one else "mudata", f"to read {source.shown}", "mudata")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages to their own users
        try:
            data = package.read_h5ad(source.path) if is_one else package.read_h5mu(source.path)
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(f"{source.shown} cannot be read as {source.path.suffix[1:]}: {error}") from error
    modalities = {source.name: data} if is_one else dict(data.mod)
    if len(modalities) == 1 and source.is_named:
        modalities = {source.name: next(iter(modalities.values()))}
    wanted = options.id_of(source)
    tables = []
    for name, modality in modalities.items():
        own = f"{source.name}_{name}" if source.is_named and len(modalities) > 1 else str(name)
        view = view_name(own)
        shown = source.shown if is_one else f"{source.shown}, modality {name!r}"
        tables.append(_table(modality, view, shown, wanted))
    parts = [data, *modalities.values()]
    columns = list(dict.fromkeys(str(column) for part in parts for column in part.obs.columns))
    return Loaded(tables, _target(parts, target, wanted, source), columns)


def _table(modality: Any, view: str, shown: str, wanted: Any) -> Table:
    values = modality.X
    if values is None or not values.shape[0] or not values.shape[1]:
        raise ValueError(f"{shown} has no values in .X; store them there, or leave the modality out")
    names = unique_names([str(name) for name in modality.var_names], shown)
    key = _key(modality, wanted)
    if sp.issparse(values):
        return Table(view, shown, sp.csr_matrix(values), key, columns=names)
    return Table(view, shown, plain_columns(pd.DataFrame(np.asarray(values), columns=names)), key)


def _key(part: Any, wanted: Any) -> Key | None:
    if wanted is False:
        return None
    if isinstance(wanted, str) and wanted in part.obs.columns:
        return Key(wanted, part.obs[wanted].to_numpy(dtype=object), f"column {wanted!r} of obs", is_certain=True)
    return Key(str(part.obs_names.name or ""), part.obs_names.to_numpy(dtype=object), "obs_names", is_certain=True)


def _target(parts: list[Any], target: str | None, wanted: Any, source: Source) -> Table | None:
    for part in parts:
        if target is not None and target in part.obs.columns:
            frame = part.obs[[target]].reset_index(drop=True)
            return Table(source.name, source.shown, frame, _key(part, wanted))
    return None
