"""Which rows of several tables belong to the same sample.

Ids are compared as text: 7, 7.0 and "7" are one id, and "007" is another. Where no id column is named, a first column
of unique text is taken, or a first column of unique whole numbers that all tables have under one name and with mostly
the same values. Otherwise rows are matched by their order: all tables are then of equal length, and those that have ids
have the same ones in the same order.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from .._warnings import warn
from .spreadsheets import unescaped
from .table import Key, Table

_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"-?\d+")
_FLOAT = re.compile(r"(-?\d+)\.0+")
_ROW_ORDER = "row order"


@dataclass(frozen=True)
class Matching:
    """The id of each row of each table.

    Attributes
    ----------
    ids : list of ndarray
        For each table; positions where there are no ids.
    how : list of str
        For each table how its rows were matched, in words.
    name : str or None
        What the ids are called.
    keys : list of Key or None
        What was taken as ids.
    """

    ids: list[np.ndarray]
    how: list[str]
    name: str | None
    keys: list[Key | None]


def match(tables: list[Table], wanted: Any) -> Matching:
    """Match the rows of tables; one `ValueError` says where that cannot be done."""
    chosen = _chosen_keys(tables)
    _cut_empty_rows(tables, chosen)
    keys = [table.key if table.key is not None and id(table.key) in chosen else None for table in tables]
    ids: list[Any] = [
        None if key is None else _checked(chosen[id(key)], key, t) for key, t in zip(keys, tables, strict=True)
    ]
    how = [_ROW_ORDER if key is None else key.how for key in keys]
    if all(key is None for key in keys):
        _check_lengths(tables)
        _warn_of_numbered_rows(tables)
        return Matching([np.arange(table.n_rows) for table in tables], how, None, keys)
    if any(key is None for key in keys):
        common = _common_order(tables, ids)
        ids = [common if one is None else one for one in ids]
    named = (key.name for key in keys if key is not None and key.name and not key.name.startswith("Unnamed: "))
    return Matching(ids, how, wanted if isinstance(wanted, str) else next(named, None), keys)


def as_text(values: Any) -> list[str | None]:
    """Ids as text; None where one is missing."""
    texts = [_one_as_text(value) for value in values]
    if all(text is None or _FLOAT.fullmatch(text) for text in texts):  # whole numbers, which were written as floats
        return [None if text is None else text.partition(".")[0] for text in texts]
    return texts


def _one_as_text(value: Any) -> str | None:
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if isinstance(value, str):
        return unescaped(value.strip()).strip() or None
    if value is None or pd.isna(value):
        return None
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _chosen_keys(tables: list[Table]) -> dict[int, list[str | None]]:
    """The keys that hold ids, by identity, each with the ids as text."""
    keys = {id(table.key): table.key for table in tables if table.key is not None}
    texts = {id(table.key): as_text(table.key.values[: table.n_filled]) for table in tables if table.key is not None}
    chosen = {one: texts[one] for one, key in keys.items() if key.is_certain or _is_unique_text(key, texts[one])}
    doubtful = [one for one in keys if one not in chosen]
    if len(doubtful) > 1 and len(doubtful) == len(keys) and _are_shared_numbers([keys[d] for d in doubtful], texts):
        chosen = {one: texts[one] for one in doubtful}
    known = {keys[one].name for one in chosen}
    for one in doubtful:
        # Ids of one table have the same name in others; one that repeats some is no table without ids.
        if one not in chosen and keys[one].name in known and is_text(keys[one], texts[one]):
            chosen[one] = texts[one]
    return chosen


def _cut_empty_rows(tables: list[Table], chosen: dict[int, list[str | None]]) -> None:
    """Cut the empty rows at the end of text files off, where they are not samples that have a row in other tables."""
    n_rows = max(table.n_filled for table in tables)
    for table in tables:
        has_ids = table.key is not None and id(table.key) in chosen
        table.cut(table.n_filled if has_ids else n_rows)


def _is_unique_text(key: Key, texts: list[str | None]) -> bool:
    there = [text for text in texts if text is not None]
    return 2 * len(there) > len(texts) and len(set(there)) == len(there) and is_text(key, texts)


def is_text(key: Key, texts: list[str | None]) -> bool:
    """Whether a column holds text; in a text file, mostly cells that are no numbers, or numbers such as 007."""
    there = [text for text in texts if text is not None]
    if not key.is_raw:
        return bool(there) and isinstance(next(v for v in key.values if _one_as_text(v) is not None), str | bytes)
    if any(re.fullmatch(r"0\d+", text) for text in there):
        return True
    return 2 * sum(_NUMBER.fullmatch(text) is None for text in there) > len(there)


def is_whole(texts: list[str | None]) -> bool:
    """Whether all cells are whole numbers."""
    return all(text is not None and _WHOLE.fullmatch(text) for text in texts)


def _are_shared_numbers(keys: list[Key], texts: dict[int, list[str | None]]) -> bool:
    columns = [texts[id(key)] for key in keys]
    if len({key.name for key in keys}) > 1:
        return False
    for column in columns:
        if len(set(column)) < len(column) or not is_whole(column):
            return False
    first = set(columns[0])
    return all(2 * len(first & set(column)) >= min(len(first), len(column)) for column in columns[1:])


def _checked(texts: list[str | None], key: Key, table: Table) -> np.ndarray:
    column = f", column {key.name!r}" if key.how.startswith(("column", "first column '")) else f" ({key.how})"
    otherwise = (
        "" if key.is_certain else "; pass id= to name the column of ids, or id=False to match rows by their order"
    )
    if None in texts:
        row = texts.index(None)
        n_missing = texts.count(None)
        more = f" ({n_missing} rows lack it)" if n_missing > 1 else ""
        raise ValueError(
            f"{table.shown}, {table.place(row)}{column}: the sample's id is missing{more}; fill it in, or remove the "
            f"row{otherwise}"
        )
    if len(set(texts)) < len(texts):
        counts = Counter(texts)
        repeated = [text for text, count in counts.items() if count > 1]
        first = texts.index(repeated[0])
        second = texts.index(repeated[0], first + 1)
        more = f" ({len(repeated)} ids are repeated)" if len(repeated) > 1 else ""
        raise ValueError(
            f"{table.shown}{column}: the id {repeated[0]!r} stands in {table.place(first)} and again in "
            f"{table.place(second)}{more}; a sample has one row in each table: remove or rename one of them{otherwise}"
        )
    return np.array(texts, dtype=object)


def _check_lengths(tables: list[Table]) -> None:
    lengths = dict.fromkeys((table.shown, table.n_rows) for table in tables)
    if len({n_rows for _, n_rows in lengths}) > 1:
        listed = ", ".join(f"{shown} has {n_rows}" for shown, n_rows in lengths)
        raise ValueError(
            f"without sample ids rows are matched by their order, but the tables have different numbers of rows "
            f"({listed}); give each table a column of ids and pass its name as id="
        )


def _warn_of_numbered_rows(tables: list[Table]) -> None:
    """Warn where rows are matched by order although first columns hold the same whole numbers in another order."""
    found = [(table, as_text(table.key.values[: table.n_rows])) for table in tables if table.key is not None]
    numbered = [(table, texts) for table, texts in found if all(text and _WHOLE.fullmatch(text) for text in texts)]
    for table, texts in numbered[1:]:
        first, order = numbered[0]
        if texts != order and len(set(texts)) == len(texts) and set(texts) == set(order):
            names = [one.key.name for one in (first, table) if one.key is not None]
            warn(
                f"rows are matched by their order, but the columns {names[0]!r} of {first.shown} and {names[1]!r} of "
                f"{table.shown} hold the same whole numbers in different orders; if these are ids pass "
                f"id={{{first.name!r}: {names[0]!r}, {table.name!r}: {names[1]!r}}}, and id=False if they are not"
            )
            return


def _common_order(tables: list[Table], ids: list[Any]) -> np.ndarray:
    """The ids that all tables with ids have in the same order, for the tables without."""
    without = next(table for table, one in zip(tables, ids, strict=True) if one is None)
    labelled = [(table, one) for table, one in zip(tables, ids, strict=True) if one is not None]
    first, order = labelled[0]
    remedy = (
        "give it a column of ids"
        if isinstance(without.values, pd.DataFrame) and without.lines is not None
        else "store ids with it (an array 'ids' in an NPZ file)"
    )
    start = (
        f"{without.shown} has no sample ids, and its rows can be matched by their order only where all tables have the"
    )
    for table, one in labelled[1:]:
        if not np.array_equal(one, order):
            raise ValueError(
                f"{start} same samples in the same order; {first.shown} and {table.shown} differ in that; {remedy}"
            )
    for table, one in zip(tables, ids, strict=True):
        if one is None and table.n_rows != len(order):
            raise ValueError(
                f"{start} same samples; {table.shown} has {table.n_rows} rows and {first.shown} has {len(order)}; "
                f"{remedy}"
            )
    return order
