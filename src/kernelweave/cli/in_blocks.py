"""When `fit` and `predict` leave rows in their files and read them block by block, and the table of such files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from ..files import OpenViews, open_views
from ..files.sources import STORED_SUFFIXES, split_entry
from ..files.text import format_suffix
from ..kernels.stacking.memory import available_memory
from ..recipes import CohortModel
from ..recipes.search import watched
from .telling import counted_samples, listed

SHARE = 0.25  # of the free memory, above which files are read block by block


def opened(
    chosen: argparse.Namespace, words: Sequence[str], *, target: str | None = None, block_size: int | None = None
) -> OpenViews | None:
    """The table of the files of a call where it is read block by block; None where it is read as ever.

    That is so with ``--in-blocks``, where a file is a folder of parts, and for NPY and Parquet files that would take
    more than a quarter of the free memory.

    Parameters
    ----------
    chosen : Namespace
        The options of `fit` or `predict`.
    words : sequence of str
        Paths or ``"view=path"``.
    target : str, optional
    block_size : int, optional
    """
    paths = [Path(split_entry(word)[1]).expanduser() for word in words]
    is_wanted = chosen.in_blocks or any(path.is_dir() for path in paths)
    others = [path for path in paths if not path.is_dir() and format_suffix(path.name) not in STORED_SUFFIXES]
    beside = [option for option in ("kernel", "groups", "diagonal") if getattr(chosen, option, None)]
    if is_wanted and beside:
        raise ValueError(f"--{beside[0]} is for files that are read into memory, not for folders or --in-blocks")
    if not paths or beside or (others and not is_wanted):
        return None
    free = available_memory()
    size = sum(path.stat().st_size for path in paths if path.is_file())
    # A quarter of what is there is never reached by much smaller files, however well they are compressed.
    if not is_wanted and (free is None or size * 20 < SHARE * free):
        return None
    kept = getattr(chosen, "keep_column", [])
    table = open_views(list(words), target, id=chosen.id, block_size=block_size, keep_columns=kept)
    return table if is_wanted or (free is not None and table.nbytes > SHARE * free) else None


def fitted_in_blocks(chosen: argparse.Namespace, table: OpenViews, label: str) -> CohortModel:
    """The model of `fit` for samples that stay in their files.

    Parameters
    ----------
    chosen : Namespace
    table : OpenViews
    label : str
        The method in words.
    """
    from ..estimators.progress import progress_bar

    model = CohortModel(
        chosen.method,
        task=chosen.task or "auto",
        effort="quick" if chosen.quick else "full",
        approximation="nystroem",
        n_jobs=chosen.jobs,
        random_state=chosen.seed,
        verbose=1,
    )
    with progress_bar(f"fitting {label}", transient=True) as show, watched(show):
        model.fit(table)
    return model.set_params(verbose=0)


def described_table(table: OpenViews) -> list[str]:
    """What is read block by block: samples, views and target."""
    views = dict.fromkeys(str(name).partition("__")[0] for name in table.columns)
    return [
        f"Reading {counted_samples(table.n_samples)} block by block, {table.block_size} at a time: {listed([*views])}.",
        f"Target {table.target}.",
    ]


class OpenBlocks:
    """The blocks of a table, for what goes through `files.ViewBlocks`.

    Parameters
    ----------
    table : OpenViews
    """

    def __init__(self, table: OpenViews):
        self._table = table
        views = dict.fromkeys(str(name).partition("__")[0] for name in table.columns)
        how = "row order" if not table.has_ids else "ids in the same order"
        self.matched_by = pd.Series(dict.fromkeys(views, how), dtype=object)
        self.empty = pd.Index([], dtype=object, name=table.head(1).index.name)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        for number in range(self._table.n_blocks):
            yield self._table.rows(*self._table.limits(number))
