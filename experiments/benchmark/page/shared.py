"""`SharedCells`: the cells of the benchmark on which methods can be compared, as tables of data sets by methods.

A run may be unfinished, and entries of others may have more splits. On each data set only the splits count that all
methods have finished there; a method that lacks the split which most others have counts as missing on that set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from ..data_sets import DATA_SETS

KINDS = ("views", "masked", "kernels")


@dataclass(frozen=True)
class SharedCells:
    """The cells that count, and means over their splits.

    Attributes
    ----------
    cells : DataFrame
        As `load_cells` returns it, without the splits that do not count.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelweave.experiments.benchmark.page.shared import shared_cells
    >>> cells = pd.DataFrame({"set": ["s"] * 3, "method": ["a", "a", "b"], "split": [0, 1, 0], "failed": ""})
    >>> shared_cells(cells.assign(accuracy=[0.8, 0.9, 0.7])).table("accuracy")
    method    a    b
    set
    s       0.8  0.7
    """

    cells: pd.DataFrame

    @cached_property
    def present(self) -> pd.DataFrame:
        """Whether a method was run on a data set, data sets by methods, in the order of the cells."""
        counts = self.cells.groupby(["set", "method"], sort=False).size().unstack()
        return counts.reindex(index=self.cells["set"].unique(), columns=self.cells["method"].unique()).notna()

    @cached_property
    def failed(self) -> pd.DataFrame:
        """Whether a method failed on some split of a data set, data sets by methods."""
        failed = (self.cells["failed"] != "").groupby([self.cells["set"], self.cells["method"]]).any().unstack()
        return failed.reindex_like(self.present).where(self.present, False).astype(bool)

    @cached_property
    def families(self) -> dict[str, str]:
        """From each method to its family."""
        return dict(zip(self.cells["method"], self.cells["family"], strict=True))

    @cached_property
    def kinds(self) -> dict[str, str]:
        """From each data set to its kind."""
        return dict(zip(self.cells["set"], self.cells["kind"], strict=True))

    def table(self, column: str) -> pd.DataFrame:
        """Means over the splits, data sets by methods; NaN where a method is missing or failed.

        Parameters
        ----------
        column : str
            A column of numbers.
        """
        means = self.cells.groupby(["set", "method"])[column].mean().unstack()
        return means.reindex_like(self.present).mask(self.failed)

    def of_kind(self, kind: str | None) -> SharedCells:
        """The cells of the data sets of one kind, or all where it is None.

        Parameters
        ----------
        kind : {"views", "masked", "kernels"} or None
        """
        return self if kind is None else SharedCells(self.cells[self.cells["kind"] == kind])


def shared_cells(cells: pd.DataFrame) -> SharedCells:
    """The cells on which methods can be compared.

    Parameters
    ----------
    cells : DataFrame
        As `load_cells` returns it.
    """
    kept = []
    for _, part in cells.groupby("set", sort=False):
        splits = part.groupby("method")["split"].agg(frozenset)
        most_common = part["split"].value_counts(sort=False).sort_index().idxmax()
        splits = splits[[most_common in own for own in splits]]
        shared = frozenset.intersection(*splits)
        kept.append(part[part["method"].isin(splits.index) & part["split"].isin(shared)])
    return SharedCells(pd.concat(kept))


def data_set_of(row: str) -> str:
    """The data set behind a row of the benchmark: the masked forms of a set are not independent of it.

    Parameters
    ----------
    row : str

    Examples
    --------
    >>> from kernelweave.experiments.benchmark.page.shared import data_set_of
    >>> data_set_of("cora-block"), data_set_of("my set")
    ('cora', 'my set')
    """
    return DATA_SETS[row].dataset if row in DATA_SETS else row
