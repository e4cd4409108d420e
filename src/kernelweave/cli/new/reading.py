"""New samples for a saved model, from files and similarity matrices: what `predict` and `explain` share."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..._warnings import warn
from ...files import ViewBlocks, read_views_in_blocks
from ...files.base import Options
from ...files.matching import read_matrix, with_text_labels
from ...files.sources import sources
from ...persistence import load
from ..in_blocks import OpenBlocks, opened
from .assigning import assigned
from .predicting import PREDICTS, ModelColumns, columns_of

_BLOCK = 10_000
NAMED = 3  # samples that a warning names


def load_model(chosen: argparse.Namespace) -> Any:
    """The model of a call, or one `ValueError` that names what `predict` and `explain` take.

    Parameters
    ----------
    chosen : Namespace
        The options of `predict` or `explain`.
    """
    model = load(chosen.model)
    if not isinstance(model, PREDICTS):
        known = ", ".join(one.__name__ for one in PREDICTS)
        raise ValueError(
            f"{chosen.model} holds a {type(model).__name__}; {chosen.command} takes models of these: {known}"
        )
    return model


class NewSamples:
    """The samples of the files of a call, in blocks, and their similarities, which the model is given.

    Samples that have no view that the model reads come last, in a data frame without columns.

    Parameters
    ----------
    chosen : Namespace
        The options of `predict` or `explain`.
    model : CohortModel, MKLClassifier, MKLRegressor or MKLOneClass
        Its similarity matrices take the new samples.

    Attributes
    ----------
    notes : list of str
        What was decided about files, in sentences.
    matrices : dict from name to DataFrame
        Similarities of the new samples (rows) with the training samples.
    wanted : str
        The views that the model reads.
    """

    def __init__(self, chosen: argparse.Namespace, model: Any):
        columns = columns_of(model)
        files, self.notes = assigned(chosen.files, columns.views, chosen)
        unread = _unread(files, columns, self.notes)
        self.matrices = _matrices(chosen, columns)
        self.wanted = ", ".join(columns.read)
        self._size = getattr(chosen, "block_size", _BLOCK)
        if len(unread) == len(files) and not self.matrices:
            raise ValueError(_no_view(columns))
        self._blocks: ViewBlocks | OpenBlocks | None = None
        if len(unread) < len(files):
            read = [word for word in files if word.partition("=")[0] not in unread]
            table = opened(chosen, read, block_size=self._size) if hasattr(chosen, "in_blocks") else None
            self._blocks = _blocks(chosen, columns, files, unread, self._size) if table is None else OpenBlocks(table)
        if self.matrices and self._blocks is not None and (self._blocks.matched_by == "row order").all():
            raise ValueError(
                "the files have no sample ids, by which the rows of --kernel are found; give them a column of ids and "
                "name it by --id"
            )
        self._ids = pd.DataFrame(index=pd.Index([], dtype=object))
        if self.matrices:
            extended = model.extend_kernels(self.matrices, given_diagonals(chosen) or None)
            self._ids = extended[[name for name in self.matrices if name in extended]]
        self._warn_of_missing_views(columns)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        seen: set[str] = set()
        name = self._id_name()
        for X in [] if self._blocks is None else self._blocks:
            yield X.join(self._ids) if len(self._ids) else X
            seen.update(X.index if self.matrices else ())
        rest = self._ids[[sample not in seen for sample in self._ids.index]].rename_axis(name)
        for start in range(0, len(rest), self._size):
            yield rest.iloc[start : start + self._size]
        others = [] if self._blocks is None else list(self._blocks.empty)
        others += [sample for matrix in self.matrices.values() for sample in matrix.index]
        lacking = pd.Index(dict.fromkeys(others), name=name, dtype=object)
        lacking = lacking[~lacking.isin(rest.index) & ~lacking.isin(list(seen))]
        if len(lacking):
            yield pd.DataFrame(index=lacking)

    def whole(self) -> pd.DataFrame:
        """All samples as one data frame."""
        return pd.concat(list(self))

    def _id_name(self) -> Any:
        """What the files call the ids, or the matrices where there are no files."""
        if self._blocks is not None:
            return self._blocks.empty.name
        return next((matrix.index.name for matrix in self.matrices.values() if matrix.index.name), None)

    def _warn_of_missing_views(self, columns: ModelColumns) -> None:
        """Warn of views that no file has; a call that leaves none is refused."""
        there = {*self.matrices, *([] if self._blocks is None else self._blocks.matched_by.index)}
        missing = [view for view in columns.read if view not in there]
        if len(missing) == len(columns.read):
            raise ValueError(_no_view(columns))
        if missing:
            options = [f"--kernel {view}=FILE" if view in columns.matrices else f"{view}=FILE" for view in missing]
            word, it = ("view", "it") if len(missing) == 1 else ("views", "them")
            warn(
                f"no file has the {word} {', '.join(missing)}, which the model reads: missing for all samples (give "
                f"{' '.join(options)} to use {it})"
            )


def without_prediction(samples: list[Any], count: int, wanted: str) -> str:
    """A warning: some samples have no view that the model needs.

    Parameters
    ----------
    samples : list
        The first of them.
    count : int
        How many there are.
    wanted : str
        The views that the model reads.

    Examples
    --------
    >>> from kernelweave.cli.new.reading import without_prediction
    >>> without_prediction(["eve"], 1, "rna, protein")
    '1 sample has no view that the model needs, and so no prediction (eve); the model reads rna, protein'
    """
    named = ", ".join(map(str, samples[:NAMED])) + (", ..." if count > NAMED else "")
    start = "1 sample has" if count == 1 else f"{count} samples have"
    return f"{start} no view that the model needs, and so no prediction ({named}); the model reads {wanted}"


def given_diagonals(chosen: argparse.Namespace) -> dict[str, float]:
    """The numbers of ``--diagonal name=number``."""
    words = [word.partition("=") for word in chosen.diagonal]
    return {name: float(number) for name, _, number in words}


def _unread(files: list[str], columns: ModelColumns, notes: list[str]) -> dict[str, list[str]]:
    """The views in files that the model does without, with their columns; a sentence about each is added to notes."""
    found = {}
    for word in files:
        view, _, path = word.partition("=")
        if view in set(columns.views) - set(columns.read):
            found[view] = columns.views[view]
            notes.append(f"{path} is read for its samples only: the model does without the view {view!r}.")
    return found


def _matrices(chosen: argparse.Namespace, columns: ModelColumns) -> dict[str, pd.DataFrame]:
    """Similarities of the new samples (rows) with the training samples, by the matrix' name."""
    if not chosen.kernel:
        return {}
    options = Options(None, chosen.sep, chosen.decimal, chosen.encoding)
    found = {}
    for source in sources(chosen.kernel):
        if source.name not in columns.matrices:
            there = f"its matrices are {', '.join(columns.matrices)}" if columns.matrices else "it has none"
            raise ValueError(f"--kernel {source.name}: the model has no similarity matrix of that name; {there}")
        found[source.name] = with_text_labels(read_matrix(source, options, square=False))
    return found


def _no_view(columns: ModelColumns) -> str:
    return f"no file has a view that the model reads; it reads {', '.join(columns.read)}, given as name=path"


def _blocks(
    chosen: argparse.Namespace, columns: ModelColumns, files: list[str], unread: dict[str, list[str]], size: int
) -> ViewBlocks:
    return read_views_in_blocks(
        files,
        id=chosen.id,
        block_size=size,
        columns=columns.columns,
        types=columns.types,
        ids_of=unread,
        sep=chosen.sep,
        decimal=chosen.decimal,
        encoding=chosen.encoding,
    )
