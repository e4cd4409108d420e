"""What separates the columns of a text file, and which lines stand above its header."""

from __future__ import annotations

import csv
import re
from itertools import islice

from .records import long_cells
from .table import Options, Source

SEPARATORS = {".csv": ",;\t|", ".tsv": "\t,;|", ".tab": "\t,;|", ".txt": "\t,;| "}
COMPRESSIONS = (".gz", ".bz2", ".xz")


def sniffed(lines: list[str], source: Source, options: Options) -> str:
    """The separator of a file: the one that makes most fields of the header, and as many of the next row."""
    candidates = SEPARATORS[format_suffix(source.path.name)]
    if options.decimal in candidates:
        candidates = candidates.replace(options.decimal, "") + options.decimal
    filled = [line for line in lines if line.strip()]
    wanted = options.id_of(source)

    def rank(sep: str) -> tuple[bool, bool, bool, bool, int]:
        with long_cells():
            rows = list(islice(csv.reader(filled, delimiter=sep, skipinitialspace=sep != " "), 2))
        header, row = [len(rows[0]), len(rows[-1])] if rows else [0, 0]
        several = header > 1
        has_id = several and wanted in [name.strip() for name in rows[0]]
        has_row_names = header == 1 and row == 2 and (sep != " " or filled[1].startswith('"'))
        weight = header if several and sep not in (" ", "|", options.decimal) else 0
        return has_id, several and abs(header - row) <= 1, has_row_names, several, weight

    return max(candidates, key=rank)  # the first of equals


def declared(lines: list[str]) -> str | None:
    """The separator that a first line "sep=;" names, as spreadsheets write it; the line is emptied."""
    match = re.fullmatch(r'"?sep=(.)"?\s*', lines[0]) if lines else None
    if match is None:
        return None
    lines[0] = "\n"
    return match[1]


def without_comments(lines: list[str], sep: str | None = None) -> list[str]:
    """Lines with those of "#" above the header emptied; the last is the header if it has the next one's separators."""
    places = [place for place, line in enumerate(lines) if line.strip()]
    n_comments = next((k for k, place in enumerate(places) if not lines[place].lstrip().startswith("#")), 0)
    comments = places[:n_comments]
    if comments and sep is not None:
        n_separators = lines[comments[-1]].count(sep)
        if n_separators and n_separators == lines[places[n_comments]].count(sep):
            comments.pop()
    return ["\n" if place in comments else line for place, line in enumerate(lines)]


def format_suffix(name: str) -> str:
    """The suffix of a file's format, in small letters, without that of a compression."""
    parts = name.lower().split(".")
    while len(parts) > 2 and f".{parts[-1]}" in COMPRESSIONS:
        parts.pop()
    return f".{parts[-1]}" if len(parts) > 1 else ""
