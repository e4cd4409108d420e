"""Rows of a view that were read before the block to which they belong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass
class _Part:
    """Rows, labelled by sample, and which of them still wait."""

    rows: Any
    waits: np.ndarray


class Waiting:
    """Rows that arrive in the order of a file and leave in that of the blocks.

    Where these are the same, at most a block and a chunk of the file wait at a time. Parts that wait longer are merged
    so that each is over twice as large as the next: a block then looks into few of them, however many chunks there
    were.

    Parameters
    ----------
    chunks : iterator of DataFrame
        Rows of the view, labelled by sample, each sample once.
    nothing : DataFrame
        The view without rows.
    """

    def __init__(self, chunks: Iterator[pd.DataFrame], nothing: pd.DataFrame):
        self._chunks, self._nothing = chunks, nothing
        self._parts: list[_Part] = []

    def take(self, samples: pd.Index, n_rows: int) -> pd.DataFrame:
        """The rows of these samples, of which `n_rows` have the view and others get NaN."""
        found = sum(_is_in(part, samples).sum() for part in self._parts)
        while found < n_rows:
            part = _Part(chunk := next(self._chunks), np.ones(len(chunk), dtype=bool))
            self._parts.append(part)
            found += _is_in(part, samples).sum()
        taken = [_taken(part, samples) for part in self._parts]
        self._tidy()
        taken = [rows for rows in taken if len(rows)]
        rows = self._nothing if not taken else taken[0] if len(taken) == 1 else pd.concat(taken)
        return rows if rows.index.equals(samples) else rows.reindex(samples)

    def _tidy(self) -> None:
        parts: list[_Part] = []
        for part in self._parts:
            if not part.waits.any():
                continue
            parts.append(part)
            while len(parts) > 1 and parts[-2].waits.sum() <= 2 * parts[-1].waits.sum():
                last, before = parts.pop(), parts.pop()
                rows = pd.concat([before.rows[before.waits], last.rows[last.waits]])
                parts.append(_Part(rows, np.ones(len(rows), dtype=bool)))
        for part in parts:
            if 2 * part.waits.sum() < len(part.waits):
                part.rows = part.rows[part.waits]
                part.waits = np.ones(len(part.rows), dtype=bool)
        self._parts = parts


def _is_in(part: _Part, samples: pd.Index) -> np.ndarray:
    return part.rows.index.get_indexer(samples) >= 0


def _taken(part: _Part, samples: pd.Index) -> pd.DataFrame:
    places = part.rows.index.get_indexer(samples)
    places = places[places >= 0]
    part.waits[places] = False
    return part.rows.iloc[places]
