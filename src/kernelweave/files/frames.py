"""Tables in Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pandas as pd

from .table import Key, Loaded, Options, Source, Table, check_once, divided, no_column, unique_names

SUFFIXES = (".parquet", ".pq")


def read(source: Source, options: Options, target: str | None) -> Loaded:
    """The table of a Parquet file; an index that pandas stored counts as its first column."""
    stored = names(source)
    check_once(stored, stored, source.shown)  # pandas cannot read such a file
    with named_parquet(source.shown):
        frame = pd.read_parquet(source.path)
    return of_frame(frame, source, options, target)


def names(source: Source) -> list[str]:
    """The names of the columns of a Parquet file, its index included."""
    with named_parquet(source.shown):
        schema = import_module("pyarrow.parquet").read_schema(source.path)
    return [str(name) for name in schema.names]


@contextmanager
def named_parquet(shown: str) -> Iterator[None]:
    """Errors of Parquet files name the file."""
    try:
        yield
    except ImportError as absent:
        raise ImportError(f"{shown}: pyarrow is needed to read Parquet; pip install kernelweave[parquet]") from absent
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors
        raise ValueError(f"{shown} cannot be read as Parquet: {error}") from error


def of_frame(frame: pd.DataFrame, source: Source, options: Options, target: str | None) -> Loaded:
    """The table of a data frame."""
    if not isinstance(frame.index, pd.RangeIndex):
        levels = [name if name is not None else "" for name in frame.index.names]
        index = frame.index.to_frame(index=False, name=range(len(levels)))
        names = [*levels, *frame.columns]
        frame = pd.concat([index, frame.reset_index(drop=True)], axis=1).set_axis(names, axis=1)
    if not len(frame):
        raise ValueError(f"{source.shown} has no rows; it needs one for each sample")
    given = [str(name).strip() for name in frame.columns]
    wanted = options.id_of(source)
    check_once(given, [wanted, target], source.shown)
    names = unique_names(given, source.shown)
    frame = frame.set_axis(names, axis=1).reset_index(drop=True)
    key = _key(frame, given, wanted, target, source)
    return divided(Table(source.name, source.shown, frame, key), target, wanted)


def _key(frame: pd.DataFrame, given: list[str], wanted: Any, target: str | None, source: Source) -> Key | None:
    names = list(frame.columns)
    if wanted is False:
        return None
    if wanted is None:
        places = [place for place, name in enumerate(names) if name != target]
        if not places or len(names) == 1:
            return None
        name, is_named = names[places[0]], bool(given[places[0]])
        how = f"first column {name!r}" if is_named else "first column (no name)"
        return Key(name, frame[name].to_numpy(dtype=object), how, is_certain=not is_named)
    if wanted in names:
        return Key(wanted, frame[wanted].to_numpy(dtype=object), f"column {wanted!r}", is_certain=True)
    if not given[0]:
        return Key(names[0], frame[names[0]].to_numpy(dtype=object), "first column (no name)", is_certain=True)
    raise ValueError(no_column(given, wanted, f"{source.shown} has no", "id"))
