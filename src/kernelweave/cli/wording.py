"""Messages of the library in the words of the command line: ``id=False`` is ``--id none`` there."""

from __future__ import annotations

import re
from collections.abc import Callable

_TEXT = r"(?:'([^']*)'|\"([^\"]*)\")"
_PAIR = re.compile(rf"{_TEXT}: {_TEXT}")


def in_options(message: str) -> str:
    """A message with options of the command line in place of parameters of `read_views`.

    >>> in_options("cp1252 is not UTF-8; pass its encoding, such as encoding='cp1252'")
    'cp1252 is not UTF-8; pass its encoding, such as --encoding cp1252'
    """
    for pattern, replacement in _RULES:
        message = pattern.sub(replacement, message)
    return message


def _pairs(match: re.Match) -> str:
    """Columns of ids by file, as options."""
    found = [(a or b, c or d) for a, b, c, d in _PAIR.findall(match[1])]
    return " ".join(f"--id {_quoted(f'{file}={column}')}" for file, column in found)


def _option(name: str) -> Callable[[re.Match], str]:
    return lambda match: f"--{name} {_quoted(match[1] or match[2] or '')}"


def _quoted(word: str) -> str:
    return f'"{word}"' if re.search(r"\s", word) else word


_RULES: list[tuple[re.Pattern, str | Callable[[re.Match], str]]] = [
    (re.compile(r"\bid=False\b"), "--id none"),
    (re.compile(r"\bid=(\{[^{}]*\})"), _pairs),
    (re.compile(rf"pass id as a mapping, such as \{{FILE: {_TEXT}\}}"), lambda m: f"write --id FILE={m[1] or m[2]}"),
    (re.compile(r"pass id as a mapping from views or files to their own columns"), "write --id FILE=COLUMN"),
    (re.compile(r"pass groups as FILE:COLUMN"), "pass --groups FILE:COLUMN"),
    (re.compile(r"\bX lacks (?=\d)"), "the files lack "),
    (re.compile(r"where X has no column of a view at all, the view"), "where a view has no file at all, it"),
    (re.compile(rf"\btarget={_TEXT}"), _option("target")),
    (re.compile(rf"\bkeep_columns=\[{_TEXT}\]"), _option("keep-column")),
    (re.compile(r"^keep_columns has "), "--keep-column has "),
    (re.compile(rf"\bencoding={_TEXT}"), _option("encoding")),
    (re.compile(rf"\bdecimal={_TEXT}"), _option("decimal")),
    (re.compile(r"\b(id|sep)=(?=[,;.]?(?: |$))"), r"--\1"),
    (
        re.compile(r"or pass na_values=\[.*\] if it means that the value is missing"),
        "or empty it if the value is missing",
    ),
    (re.compile(r"\bpaths=(\{.*\}|sorted\(.*\))"), "NAME=FILE"),
]
