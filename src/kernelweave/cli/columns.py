"""``--text``, ``--category``, ``--number``, ``--drop`` and ``--log``: what a user says that columns and views hold.

A column is named by itself, or as ``FILE:COLUMN`` or ``VIEW:COLUMN``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from .options import KINDS, named


def column_options(chosen: argparse.Namespace, columns: Iterable[Any]) -> dict[str, Any]:
    """The parameters `kinds`, `log` and `na_values` of a model, of columns that are called ``view__column``."""
    names = [str(name) for name in columns]
    views = {path: view for view, path in map(named, chosen.files)}
    views |= {Path(path).name: view for path, view in views.items()}
    kinds: dict[str, str] = {}
    given: dict[str, str] = {}
    for option, kind in KINDS.items():
        for word in getattr(chosen, option):
            name = _column(f"--{option} {word}", word, names, views)
            if kinds.get(name, kind) != kind:
                raise ValueError(f"{given[name]} and --{option} {word} are the same column; keep one of them")
            kinds[name], given[name] = kind, f"--{option} {word}"
    log = [_view(word, list(dict.fromkeys(name.partition("__")[0] for name in names)), views) for word in chosen.log]
    return {"kinds": kinds, "log": list(dict.fromkeys(log)), "na_values": chosen.na_values}


def _column(option: str, word: str, names: Sequence[str], views: dict[str, str]) -> str:
    divided = [(word[:place], word[place + 1 :]) for place, letter in enumerate(word) if letter == ":"]
    asked = {word, *(f"{views.get(place, place)}__{column}" for place, column in divided)}
    found = [name for name in names if name in asked or name.partition("__")[2] == word]
    if len(found) == 1:
        return found[0]
    written = {name: name.replace("__", ":", 1) for name in names}
    if found:
        ways = " or ".join(written[name] for name in found[:3])
        raise ValueError(f"{option}: several views have a column of that name; write {ways}")
    known = dict.fromkeys([*(name.partition("__")[2] or name for name in names), *written.values()])
    close = get_close_matches(word, known, n=1)
    meant = f"did you mean {close[0]}?" if close else f"there are {', '.join(list(known)[:8])}, ..."
    raise ValueError(f"{option}: no view has such a column; {meant}")


def _view(word: str, known: Sequence[str], views: dict[str, str]) -> str:
    view = views.get(word, word)
    if view not in known:
        close = get_close_matches(word, known, n=1)
        meant = f"did you mean {close[0]}?" if close else f"the views are {', '.join(known)}"
        raise ValueError(f"--log {word}: there is no such view; {meant}")
    return view
