"""``kernelweave predict``: predict new samples with a saved model, block by block."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from .._warnings import warn
from ..files import ViewBlocks, read_views_in_blocks
from ..files.matrices import read_matrix, with_text_labels
from ..files.sources import sources
from ..files.table import Options
from ..persistence import load
from ..persistence.replacing import replace_file
from ..recipes.likeness import NewCohort
from .assigning import assigned
from .failing import one_line
from .new_samples import check_matrix, given_diagonals
from .predicting import PREDICTS, ModelColumns, columns_of, has_classes, predictions
from .telling import listed

STANDARD_OUTPUT = Path("-")
_NAMED = 3  # samples that a warning names


def run(chosen: argparse.Namespace) -> int:
    """Predict the samples of the files, write the predictions, and print how many there are of each label.

    Parameters
    ----------
    chosen : Namespace
        The options of `predict`, as `options.parse` returns them.
    """
    model = load(chosen.model)
    if not isinstance(model, PREDICTS):
        known = ", ".join(one.__name__ for one in PREDICTS)
        raise ValueError(f"{chosen.model} holds a {type(model).__name__}; predict takes models of these: {known}")
    columns = columns_of(model)
    files, notes = _files(chosen, columns)
    matrices = _matrices(chosen, columns)
    if not files and not matrices:
        raise ValueError(_no_view(columns))
    samples = _NewSamples(chosen, model, columns, files, matrices)
    _warn_of_missing_views(samples.views, columns)
    found = _Found(NewCohort(model.cohort_) if getattr(model, "cohort_", None) is not None else None)
    with tempfile.TemporaryFile() as file:
        _write(samples, model, found, file)
        if not found.n_samples - found.n_without:
            raise ValueError(f"none of the {found.n_samples} samples has a view that the model reads: {samples.wanted}")
        _put(file, chosen.out)
    for sentence in found.sentences(samples.wanted):
        warn(sentence)
    told = sys.stderr if chosen.out == STANDARD_OUTPUT else sys.stdout
    for line in [*notes, found.summary(has_classes(model)), f"Predictions: {chosen.out}"]:
        print(one_line(line), file=told)
    return 0


def _files(chosen: argparse.Namespace, columns: ModelColumns) -> tuple[list[str], list[str]]:
    """The files of views that the model reads, as ``"view=path"``, and sentences about what was decided."""
    files, notes = assigned(chosen.files, columns.views, chosen)
    unread = [word for word in files if word.partition("=")[0] in set(columns.views) - set(columns.read)]
    for word in unread:
        view, _, path = word.partition("=")
        notes.append(f"{path} is not read: the model does without the view {view!r}.")
    return [word for word in files if word not in unread], notes


def _matrices(chosen: argparse.Namespace, columns: ModelColumns) -> dict[str, pd.DataFrame]:
    """Similarities of the new samples (rows) with the training samples, by the matrix' name."""
    if not chosen.kernel:
        return {}
    options = Options(None, chosen.sep, chosen.decimal, chosen.encoding)
    found = {}
    for source in sources(chosen.kernel):
        check_matrix(source.name, columns.matrices)
        found[source.name] = with_text_labels(read_matrix(source, options, square=False))
    return found


def _warn_of_missing_views(there: set[str], columns: ModelColumns) -> None:
    """Warn of views that no file has; a call that leaves none is refused."""
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


def _no_view(columns: ModelColumns) -> str:
    return f"no file has a view that the model reads; it reads {', '.join(columns.read)}, given as name=path"


class _NewSamples:
    """The new samples, in blocks, and their similarities, which the model is given."""

    def __init__(
        self,
        chosen: argparse.Namespace,
        model: Any,
        columns: ModelColumns,
        files: list[str],
        matrices: dict[str, pd.DataFrame],
    ):
        self.matrices, self._size = matrices, chosen.block_size
        self.wanted = ", ".join(columns.read)
        self._blocks = _blocks(chosen, columns, files)
        if matrices and self._blocks is not None and (self._blocks.matched_by == "row order").all():
            raise ValueError(
                "the files have no sample ids, by which the rows of --kernel are found; give them a column of ids and "
                "name it by --id"
            )
        self._ids = pd.DataFrame(index=pd.Index([], dtype=object))
        if matrices:
            extended = model.extend_kernels(matrices, given_diagonals(chosen) or None)
            self._ids = extended[[name for name in matrices if name in extended]]

    @property
    def views(self) -> set[str]:
        """The views that there are."""
        return {*self.matrices, *([] if self._blocks is None else self._blocks.matched_by.index)}

    def __iter__(self) -> Iterator[pd.DataFrame]:
        seen: set[str] = set()
        name = None
        for X in [] if self._blocks is None else self._blocks:
            name = X.index.name
            yield self._with_ids(X)
            seen.update(X.index if len(self._ids) else ())
        rest = self._ids[[sample not in seen for sample in self._ids.index]].rename_axis(name)
        for start in range(0, len(rest), self._size):
            yield rest.iloc[start : start + self._size]
        if self._blocks is not None:
            empty = self._blocks.empty[~self._blocks.empty.isin(rest.index)]
            if len(empty):
                yield pd.DataFrame(index=empty)

    def _with_ids(self, X: pd.DataFrame) -> pd.DataFrame:
        return X if not len(self._ids) else X.join(self._ids)


def _blocks(chosen: argparse.Namespace, columns: ModelColumns, files: list[str]) -> ViewBlocks | None:
    if not files:
        return None
    return read_views_in_blocks(
        files,
        id=chosen.id,
        block_size=chosen.block_size,
        columns=columns.columns,
        types=columns.types,
        sep=chosen.sep,
        decimal=chosen.decimal,
        encoding=chosen.encoding,
    )


@dataclass
class _Found:
    """What was predicted, added up over blocks."""

    cohort: NewCohort | None
    n_samples: int = 0
    n_without: int = 0
    without: list[Any] = field(default_factory=list)
    labels: Counter[Any] = field(default_factory=Counter)
    total: float = 0.0
    low: float = float("inf")
    high: float = float("-inf")

    def add(self, X: pd.DataFrame, table: pd.DataFrame, matrices: dict[str, pd.DataFrame]) -> None:
        """Count the predictions of some samples."""
        first = table.iloc[:, 0]
        known = first.notna().to_numpy()
        self.n_samples += len(table)
        self.n_without += int((~known).sum())
        self.without += list(table.index[~known][: _NAMED - len(self.without)])
        if table.columns[0] == "label":
            self.labels.update(first[known])
        elif known.any():
            self.total += float(first[known].sum())
            self.low, self.high = min(self.low, float(first.min())), max(self.high, float(first.max()))
        if self.cohort is not None and X.shape[1]:
            own = {name: block[block.index.isin(X[name])] for name, block in matrices.items() if name in X}
            self.cohort.add(X, own)

    def sentences(self, wanted: str) -> list[str]:
        """What people should know about the new samples."""
        found = []
        if self.n_without:
            named = ", ".join(map(str, self.without)) + (", ..." if self.n_without > _NAMED else "")
            count = "1 sample has" if self.n_without == 1 else f"{self.n_without} samples have"
            found.append(
                f"{count} no view that the model needs, and so no prediction ({named}); the model reads {wanted}"
            )
        unlike = [] if self.cohort is None else self.cohort.sentences()
        return [*found, *(f"unlike the training data: {sentence}" for sentence in unlike)]

    def summary(self, with_labels: bool) -> str:
        """How many samples were predicted, and what."""
        n = self.n_samples - self.n_without
        start = f"Predicted {n} sample{'' if n == 1 else 's'}"
        if with_labels:
            return f"{start}: {listed([f'{label} {count}' for label, count in self.labels.most_common()])}."
        if self.high == float("-inf"):
            return f"{start}."
        return f"{start}: from {self.low:g} to {self.high:g}, mean {self.total / n:g}."


def _write(samples: _NewSamples, model: Any, found: _Found, file: BinaryIO) -> None:
    """Predict all blocks into a file."""
    names = None
    with _progress() as advance:
        for X in samples:
            table = predictions(model, X)
            found.add(X, table, samples.matrices)
            name = "sample" if X.index.name is None else str(X.index.name)
            names = names or [name, *table.columns]
            content = table.to_csv(
                header=names[1:] if file.tell() == 0 else False, index_label=names[0], lineterminator="\n"
            )
            file.write(content.encode("utf-8"))
            advance(len(X))


@contextmanager
def _progress() -> Iterator[Any]:
    """A line on standard error with the number of samples, on a terminal only."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    text = TextColumn("predicting: {task.completed} samples", markup=False)
    with Progress(
        SpinnerColumn(), text, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("predicting", total=None)
        yield lambda count: progress.advance(task, count)


def _put(file: BinaryIO, out: Path) -> None:
    """Bring the predictions to their place, at once."""
    file.seek(0)
    if out == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.write(file.read().decode("utf-8"))
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    replace_file(out, lambda target: shutil.copyfileobj(file, target))
