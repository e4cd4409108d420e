"""`OpenViews`: views in files as one table, of which blocks of rows are read when they are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...validation import shown
from ...views import TableInBlocks
from ..result import counted
from ..table import no_column
from .columns import StoredColumn, StoredColumns, StoredIds
from .rows import StoredRows

BLOCK_BYTES = 2**23  # of X, that a block takes about
MOST_ROWS, LEAST_ROWS = 8192, 64  # of a block, by default
TEXT_BYTES = 64  # of a cell of text, about


@dataclass(frozen=True)
class OpenView:
    """The columns of X that one file, folder or array has.

    Attributes
    ----------
    rows : StoredRows
    places : list of int
        Their positions there.
    names : list of str
        Their names in X.
    """

    rows: StoredRows
    places: list[int]
    names: list[str]

    @property
    def dtypes(self) -> list[np.dtype]:
        """float32 or float64, or object; a column without any value holds numbers that are missing."""
        found = [self.rows.columns[place].dtype for place in self.places]
        return [np.dtype(np.float64) if dtype is None else dtype for dtype in found]

    def frame(self, first: int, last: int) -> pd.DataFrame:
        """Some rows."""
        return self.rows.frame(first, last, self.places, self.dtypes).set_axis(self.names, axis=1)


class OpenViews(TableInBlocks):
    """Views in files as one table that is read block by block; made by `open_views`.

    Estimators take it in the place of X: `fit` finds the targets in it, and `predict` and its siblings return what they
    return for data in memory. It can be pickled, without rows: another process opens the files itself.

    Attributes
    ----------
    n_samples : int
    columns : Index of str
        Names as in the X of `read_views`: ``view__column``.
    dtypes : Series
        float32, float64 or object (text), by column; the same in all blocks.
    target : str or None
        What the targets are called.
    block_size : int
        How many samples a block has; the last one may have fewer.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from kernelweave import open_views
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "size.npy", np.arange(10.0).reshape(5, 2))
    >>> np.save(folder / "label.npy", np.array(["a", "b", "a", "b", "b"]))
    >>> table = open_views([folder / "size.npy"], target=folder / "label.npy", block_size=2)
    >>> for first, X, y in table.blocks():
    ...     print(first, X.to_numpy().tolist(), y)
    0 [[0.0, 1.0], [2.0, 3.0]] ['a' 'b']
    2 [[4.0, 5.0], [6.0, 7.0]] ['a' 'b']
    4 [[8.0, 9.0]] ['b']
    >>> table.take([4, 0])
       size__0  size__1
    4      8.0      9.0
    0      0.0      1.0
    """

    def __init__(
        self,
        views: list[OpenView],
        target: StoredColumn | StoredColumns | None,
        *,
        ids: StoredIds | None,
        n_samples: int,
        block_size: int | None,
    ):
        self._views, self._target, self._ids, self.n_samples = views, target, ids, n_samples
        self._checked: set[int] = set()  # blocks whose ids were found to be in the same order everywhere
        self.columns = pd.Index([name for view in views for name in view.names], dtype=object)
        self.dtypes = pd.Series([dtype for view in views for dtype in view.dtypes], self.columns, dtype=object)
        self.block_size = block_size or int(np.clip(BLOCK_BYTES // self._row_bytes(), LEAST_ROWS, MOST_ROWS))

    def _row_bytes(self) -> int:
        return sum(TEXT_BYTES if dtype.kind == "O" else dtype.itemsize for dtype in self.dtypes)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of columns."""
        return self.n_samples, len(self.columns)

    @property
    def nbytes(self) -> int:
        """The memory that X would take, about."""
        return self.n_samples * self._row_bytes()

    @property
    def target(self) -> str | None:
        """What the targets are called, None where there are none."""
        return None if self._target is None else self._target.name

    @property
    def files(self) -> list[Path]:
        """All files that are read."""
        tables = [view.rows for view in self._views] + ([] if self._target is None else self._target.tables)
        return list(dict.fromkeys(file for rows in tables for file in rows.files))

    @property
    def target_names(self) -> list[Any] | None:
        """The names of the targets where each sample has several (0, 1, ... in an NPY file); None where it has one."""
        return None if self._target is None else self._target.names

    @property
    def has_ids(self) -> bool:
        """Whether samples have ids."""
        return self._ids is not None

    def __len__(self) -> int:
        return self.n_samples

    def blocks(self) -> Iterator[tuple[int, pd.DataFrame, np.ndarray | None]]:
        """Go through all blocks.

        Yields
        ------
        first : int
            Position of the first sample of the block.
        X : DataFrame
            With the sample ids as index, or their positions.
        y : ndarray or None
        """
        for number in range(self.n_blocks):
            yield self.block(number)

    def block(self, number: int) -> tuple[int, pd.DataFrame, np.ndarray | None]:
        """A block by its number, from 0: the position of its first sample, X and y."""
        first, last = self.limits(number)
        return first, self.rows(first, last), self.targets(first, last)

    def rows(self, first: int, last: int, *, with_ids: bool = True) -> pd.DataFrame:
        """The samples from position `first` to before `last`.

        Parameters
        ----------
        first, last : int
        with_ids : bool
            Whether the index holds the sample ids, where there are any; else it holds positions. That all files have
            the same ids is found out when a block is first read.
        """
        index: pd.Index = pd.RangeIndex(first, last)
        if self._ids is not None and (with_ids or (len(self._ids.columns) > 1 and first not in self._checked)):
            ids = self._ids.read(first, last)
            self._checked.add(first)
            index = ids if with_ids else index
        parts = [view.frame(first, last) for view in self._views]
        X = parts[0] if len(parts) == 1 else pd.concat(parts, axis=1)
        return X.set_axis(index, axis=0)

    def targets(self, first: int, last: int) -> np.ndarray | None:
        """The targets from position `first` to before `last`; None where there are none."""
        return None if self._target is None else self._target.read(first, last)

    def head(self, n: int = 5) -> pd.DataFrame:
        """The first samples."""
        last = min(max(int(n), 0), self.n_samples)
        return self.rows(0, last) if last else self.rows(0, 1).iloc[:0]

    def take(self, rows: Any) -> pd.DataFrame:
        """Samples by their positions, in any order.

        Parameters
        ----------
        rows : array of int
        """
        rows = np.asarray(rows)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ValueError(f"rows must be positions, whole numbers in one dimension, not {shown(rows)}")
        if not rows.size:
            return self.head(0)
        if rows.min() < 0 or rows.max() >= self.n_samples:
            raise IndexError(f"rows must be from 0 to {self.n_samples - 1}, not from {rows.min()} to {rows.max()}")
        order = np.argsort(rows, kind="stable")
        parts = []
        for number in np.unique(rows // self.block_size):
            first, last = self.limits(int(number))
            wanted = rows[order][(rows[order] >= first) & (rows[order] < last)]
            parts.append(self.rows(first, last).iloc[wanted - first])
        return pd.concat(parts).iloc[np.argsort(order, kind="stable")]

    def column(self, name: str, role: str) -> StoredColumn:
        """A column by its name in X or in its file, for what is read beside X, such as sample weights.

        Parameters
        ----------
        name : str
        role : str
            What messages call it.
        """
        found = [
            StoredColumn(view.rows, place, role)
            for view in self._views
            for place, known in zip(view.places, view.names, strict=True)
            if name in (known, view.rows.columns[place].name)
        ]
        if len(found) != 1:
            why = (
                no_column([*self.columns], name, "the table has no", "target")
                if not found
                else (f"{len(found)} columns are named {name!r}")
            )
            raise ValueError(f"{role}: {why.partition(';')[0]}; write it as in the table's columns")
        return found[0]

    def without(self, name: str) -> OpenViews:
        """The table without one of its columns, given by its name in X or in its file."""
        views = []
        for view in self._views:
            kept = [
                (place, known)
                for place, known in zip(view.places, view.names, strict=True)
                if name not in (known, view.rows.columns[place].name)
            ]
            if kept:
                views.append(OpenView(view.rows, [place for place, _ in kept], [known for _, known in kept]))
        return OpenViews(views, self._target, ids=self._ids, n_samples=self.n_samples, block_size=self.block_size)

    def __repr__(self) -> str:
        size = self.nbytes
        scale = next((scale for scale in ("TB", "GB", "MB", "kB") if size >= _UNITS[scale]), "kB")
        target = "" if self._target is None else f", target {self._target.name!r}"
        return (
            f"OpenViews of {counted(self.n_samples, 'sample')} and {counted(len(self.columns), 'column')} "
            f"({size / _UNITS[scale]:.3g} {scale}){target}, in {counted(self.n_blocks, 'block')} of at most "
            f"{self.block_size}"
        )


_UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
