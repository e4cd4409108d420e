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

from ..._extras import optional
from ..._warnings import warn
from ...files.spreadsheets import as_csv
from ...persistence.replacing import naming, replace_file
from ...recipes.drift import NewCohort
from ..failing import one_line
from ..new.predicting import has_classes, predictions
from ..new.reading import NAMED, NewSamples, load_model, without_prediction
from ..telling import listed

STANDARD_OUTPUT = Path("-")


def run(chosen: argparse.Namespace) -> int:
    """Predict the samples of the files, write the predictions, and print how many there are of each label.

    Parameters
    ----------
    chosen : Namespace
        The options of `predict`, as `options.parse` returns them.
    """
    model = load_model(chosen)
    samples = NewSamples(chosen, model)
    found = _Found(NewCohort(model.cohort_) if getattr(model, "cohort_", None) is not None else None)
    with tempfile.TemporaryFile() as file:
        write = _write_parquet if chosen.out.suffix.lower() in (".parquet", ".pq") else _write
        with naming(Path(tempfile.gettempdir())):
            write(samples, model, found, file)
            file.flush()
        if not found.n_samples - found.n_without:
            raise ValueError(f"none of the {found.n_samples} samples has a view that the model reads: {samples.wanted}")
        _put(file, chosen.out)
    for sentence in found.sentences(samples.wanted):
        warn(sentence)
    told = sys.stderr if chosen.out == STANDARD_OUTPUT else sys.stdout
    for line in [*samples.notes, found.summary(has_classes(model)), f"Predictions: {chosen.out}"]:
        print(one_line(line), file=told)
    return 0


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
        self.without += list(table.index[~known][: NAMED - len(self.without)])
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
            found.append(without_prediction(self.without, self.n_without, wanted))
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


def _write(samples: NewSamples, model: Any, found: _Found, file: BinaryIO) -> None:
    """Predict all blocks into a file."""
    with _progress() as advance:
        for X in samples:
            table = predictions(model, X)
            found.add(X, table, samples.matrices)
            name = "sample" if X.index.name is None else str(X.index.name)
            content = as_csv(table, header=file.tell() == 0, index_label=name)
            file.write(content.encode("utf-8"))
            advance(len(X))


def _write_parquet(samples: NewSamples, model: Any, found: _Found, file: BinaryIO) -> None:
    """Predict all blocks into a Parquet file."""
    arrow = optional("pyarrow", "to write Parquet", "parquet")
    parquet = optional("pyarrow.parquet", "to write Parquet", "parquet")
    writer = None
    with _progress() as advance:
        for X in samples:
            table = predictions(model, X)
            found.add(X, table, samples.matrices)
            name = "sample" if X.index.name is None else str(X.index.name)
            columns = {name: X.index.astype(str).to_numpy(dtype=object)} | {
                key: values.to_numpy(dtype=object if key == "label" else float) for key, values in table.items()
            }
            if writer is None:
                schema = arrow.table(columns).schema
                known = next((label for label in getattr(model, "classes_", [])), None)
                if "label" in columns and known is not None:  # the first block may have no label at all
                    schema = schema.set(
                        schema.get_field_index("label"), arrow.field("label", arrow.array([known]).type)
                    )
                writer = parquet.ParquetWriter(file, schema)
            writer.write_table(arrow.table(columns, schema=writer.schema))
            advance(len(X))
        if writer is not None:
            writer.close()


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
