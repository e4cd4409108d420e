"""`ViewTables`: what `read_views` returns."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

_SHOWN_VIEWS = 20


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ViewTables:
    """Views that were read from files: the samples of all tables in one frame, their targets, and the overlap.

    Attributes
    ----------
    X : DataFrame of shape (n_samples, total number of columns)
        Columns are named ``view__column``, rows by sample id. A view that a sample lacks is NaN in all its columns.
        With a target these are the samples that have one.
    y : Series of shape (n_samples,) or None
        The targets of the samples of X, in their order; None where no target was asked for.
    overlap : DataFrame
        How many samples there are in each view, in all views, only with a label (in no view), without a label, and in
        X; with a target the second column counts those that have a label.
    matched_by : Series of str
        For each table how its rows were matched: the column of ids, or row order.
    unlabelled : DataFrame or None
        The samples that have no target, with the columns of X; None where no target was asked for.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelweave import read_views
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "blood.csv").write_text("sample,iron,zinc\\nann,1.5,7\\nbob,2.5,8\\n")
    >>> _ = (folder / "labels.csv").write_text("sample,diagnosis\\nbob,ill\\nann,well\\n")
    >>> tables = read_views([folder / "blood.csv"], target="labels.csv:diagnosis", id="sample")
    >>> tables.X.assign(y=tables.y)
            blood__iron  blood__zinc     y
    sample
    ann             1.5            7  well
    bob             2.5            8   ill
    >>> tables.matched_by["blood"]
    "column 'sample'"
    """

    X: pd.DataFrame
    y: pd.Series | None
    overlap: pd.DataFrame
    matched_by: pd.Series
    unlabelled: pd.DataFrame | None

    def __repr__(self) -> str:
        target = "" if self.y is None else f", target {_cut(str(self.y.name))!r}"
        overlap = self.overlap.rename(index=_cut)
        matched = self.matched_by.rename(index=_cut).map(_cut)
        return (
            f"ViewTables of {counted(len(self.X), 'sample')} and {counted(self.X.shape[1], 'column')}{target}\n\n"
            f"{overlap.to_string(max_rows=_SHOWN_VIEWS)}\n\n"
            f"rows matched by\n{matched.to_string(max_rows=_SHOWN_VIEWS, dtype=False, name=False)}"
        )


def counted(number: int, word: str) -> str:
    """A number of things, in words."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _cut(text: str) -> str:
    return text if len(text) <= 36 else f"{text[:33]}..."
