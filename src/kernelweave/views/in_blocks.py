"""`TableInBlocks`: samples that are read a block at a time, which estimators take in the place of X."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd


class ColumnInBlocks(Protocol):
    """One column beside X, such as sample weights."""

    @property
    def shown(self) -> str:
        """What messages call the file that has it."""

    def read(self, first: int, last: int) -> np.ndarray:
        """The values from position `first` to before `last`."""


class TableInBlocks(ABC):
    """Samples that are read a block at a time; `files.OpenViews` is one.

    Attributes
    ----------
    n_samples : int
    columns : Index of str
    block_size : int
        How many samples a block has; the last one may have fewer.
    """

    n_samples: int
    columns: pd.Index
    block_size: int

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_samples // self.block_size)

    def limits(self, number: int) -> tuple[int, int]:
        """The first position of a block, and the one after its last."""
        if not 0 <= number < self.n_blocks:
            raise IndexError(f"there is no block {number}; there are {self.n_blocks}, numbered from 0")
        first = number * self.block_size
        return first, min(first + self.block_size, self.n_samples)

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The memory that X would take, about."""

    @property
    @abstractmethod
    def files(self) -> list[Path]:
        """All files that are read."""

    @property
    @abstractmethod
    def target(self) -> str | None:
        """What the targets are called, None where there are none."""

    @property
    @abstractmethod
    def target_names(self) -> list[Any] | None:
        """The names of the targets where each sample has several; None where the target is one column."""

    @property
    @abstractmethod
    def has_ids(self) -> bool:
        """Whether samples have ids."""

    @abstractmethod
    def rows(self, first: int, last: int, *, with_ids: bool = True) -> pd.DataFrame:
        """The samples from position `first` to before `last`."""

    @abstractmethod
    def targets(self, first: int, last: int) -> np.ndarray | None:
        """The targets from position `first` to before `last`; None where there are none."""

    @abstractmethod
    def column(self, name: str, role: str) -> ColumnInBlocks:
        """A column by its name, for what is read beside X."""

    @abstractmethod
    def without(self, name: str) -> Any:
        """The table without one of its columns."""
