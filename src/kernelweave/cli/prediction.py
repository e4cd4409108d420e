"""``kernelweave predict``: predict new samples with a saved model, block by block.

Files of new samples are assigned to the model's views by their names or their columns. `explain` does as well.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
import pandas as pd

from .._extras import optional
from .._warnings import warn
from ..compare.labelled import LabelledCohort
from ..estimators import MKLClassifier, MKLOneClass, MKLRegressor, MKLSurvival
from ..estimators.fitted import presence_of
from ..files import OpenViews, ViewBlocks, read_views_in_blocks
from ..files.base import Options, as_csv
from ..files.matching import read_matrix, with_text_labels
from ..files.read import column_names, targets_of_matrices
from ..files.sources import sources
from ..recipes import CohortModel
from ..recipes.cohort import with_gaps
from ..recipes.drift import NewCohort
from ..recipes.kinds import LEFT_OUT, NUMBER, SIMILARITY, column_views
from ..recipes.tasks import CLASSES, SURVIVAL
from ..saving import load
from ..saving.atomic import naming, replace_file
from .fit import opened
from .messages import listed, one_line, print_table, working
from .options import without_suffix

NAMED = 3  # samples that a warning names
PREDICTS = (CohortModel, MKLClassifier, MKLRegressor, MKLSurvival, MKLOneClass)
MOST_CLASSES = 8  # whose confusion matrix a terminal has room for
STANDARD_OUTPUT = Path("-")
_BLOCK = 10_000  # samples that `explain` reads at a time
_MOST = 0.5  # share of a view's columns above which a file is that view
_SEVERAL = (".npz", ".h5mu")  # files that may hold several views, with names of their own


def named_views(words: Sequence[str], views: Sequence[str]) -> list[str]:
    """Files of new samples as ``"view=path"``, with the views' names in the model.

    A file that is given as ``view=path`` is that view. One without a name is the view that it is called by, or whose
    name its own begins or ends with: ``rna-new.csv``, ``rna_2024.csv`` and ``new.rna.csv`` are the view ``rna``. Where
    a model has one view, one file is that view, whatever its name. What cannot be decided, and two files that would be
    one view, are a ValueError.
    """
    entries = [_entry(word, views, is_only=len(words) == 1) for word in words]
    taken: dict[str, str] = {}
    for name, path in entries:
        if name is not None and name in taken:
            raise ValueError(
                f"both {taken[name]} and {path} would be the view {name!r}; write VIEW={path} for one of them"
            )
        if name is not None:
            taken[name] = path
    return [path if name is None else f"{name}={path}" for name, path in entries]


def _entry(word: str, views: Sequence[str], *, is_only: bool) -> tuple[str | None, str]:
    """Name and path of a file; no name where the file holds several views with names of their own."""
    before, equals, after = word.partition("=")
    if equals and before and not set(before) & set("/\\") and not Path(os.path.expanduser(word)).exists():
        if before not in views:
            raise ValueError(f"the model has no view {before!r}; its views are {', '.join(views)}")
        return before, after
    stem = without_suffix(Path(word).name)
    if stem in views:
        return None if _holds_several(word) else stem, word
    if _holds_several(word):
        return None, word
    found = [view for view in views if _is_version(stem, view)]
    longest = [view for view in found if len(view) == max(map(len, found))]
    if len(longest) == 1:
        return longest[0], word
    if is_only and len(views) == 1:
        return views[0], word
    raise ValueError(
        f"it is not clear which view {word} is; write VIEW={word}, where the model's views are {', '.join(views)}"
    )


def _is_version(stem: str, view: str) -> bool:
    """Whether a name is that of a view with a word in front or behind."""
    view, stem = re.escape(view.casefold()), stem.casefold()
    return re.fullmatch(rf"{view}[\W_].*|.*[\W_]{view}|{view}", stem, re.DOTALL) is not None


def _holds_several(path: str) -> bool:
    file = Path(os.path.expanduser(path))
    if file.suffix.lower() not in _SEVERAL:
        return False
    if file.suffix.lower() == ".h5mu":
        return True
    try:
        with zipfile.ZipFile(file) as archive:
            arrays = [name.removesuffix(".npy") for name in archive.namelist()]
    except (OSError, zipfile.BadZipFile):  # the reader has a message for it
        return False
    return len([name for name in arrays if not name.endswith("ids")]) > 1


def assigned_views(
    words: Sequence[str], columns: Mapping[str, Collection[str]], chosen: argparse.Namespace
) -> tuple[list[str], list[str]]:
    """Files as ``view=path``, and what was decided by their columns, in sentences.

    A file is the view that it is given as, called by as a whole, whose columns it has, or whose name its own has.
    """
    files: list[str] = []
    notes: list[str] = []
    for word in words:
        file = Path(os.path.expanduser(word))
        view = None
        if file.is_file() and without_suffix(file.name) not in columns:  # no "view=path"
            options = Options(None, chosen.sep, chosen.decimal, chosen.encoding)
            found = set(column_names(file, options))
            shared = {name: len(found & set(own)) for name, own in columns.items()}
            alike = [name for name, count in shared.items() if count > _MOST * len(set(columns[name]))]
            view = alike[0] if len(alike) == 1 else None
        if view is not None:
            count = f"{shared[view]} of its {len(set(columns[view]))} columns"
            notes.append(f"{word} is read as the view {view!r}, by its columns: it has {count}.")
        files.append(word if view is None else f"{view}={word}")
    return named_views(files, list(columns)), notes


@dataclass(frozen=True)
class ModelColumns:
    """The columns of a fitted model.

    `views` has those that the training samples had in files, without the view's name; `matrices` are views that are
    similarity matrices. `read` are the views that the model reads, matrices included, and `columns` those of its
    columns, named as in X, without ids in matrices; `types` is "number" or "text" by column, None if unknown.
    """

    views: dict[str, list[str]]
    matrices: list[str]
    read: list[str]
    columns: list[str]
    types: dict[str, str] | None


def columns_of(model: Any) -> ModelColumns:
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if not names:
        raise ValueError(
            f"the {type(model).__name__} was fitted to columns without names; fit it to a data frame, such as "
            "read_views returns"
        )
    if isinstance(model, CohortModel):
        kinds = dict(zip(map(str, model.kinds_.index), model.kinds_["kind"], strict=True))
        own = dict(zip(map(str, model.kinds_.index), model.kinds_["view"], strict=True))
        matrices = [name for name in names if kinds.get(name) == SIMILARITY]
        # The columns of a sparse view have no rows of their own among the kinds.
        views = [own.get(name, name.partition("__")[0]) for name in names]
        used = [
            (name, kinds.get(name, NUMBER))
            for name, view in zip(names, views, strict=True)
            if view in model.views and kinds.get(name) not in (LEFT_OUT, SIMILARITY)
        ]
        types = {name: "number" if kind == NUMBER else "text" for name, kind in used}
        return ModelColumns(_grouped(names, views, matrices), matrices, model.views, list(types), types)
    matrices = [kernel.view for kernel in getattr(model, "kernels_", []) if kernel.reads_ids]
    grouped = _grouped(names, column_views(pd.DataFrame(columns=names)), matrices)
    columns = [name for name in names if name not in matrices]
    return ModelColumns(grouped, matrices, [*grouped, *matrices], columns, None)


def _grouped(names: list[str], views: list[str], matrices: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, view in zip(names, views, strict=True):
        if name not in matrices:
            found.setdefault(view, []).append(name.removeprefix(f"{view}__"))
    return found


def positive_class(model: Any) -> Any:
    """The class for which positive decision values speak, as tables have them; None where there are not two classes."""
    classes = getattr(model, "classes_", np.zeros(0)).tolist()
    return getattr(model, "positive_", classes[1]) if len(classes) == 2 else None


def decision_name(model: Any) -> str:
    """What the column of decision values is called: with two classes it names the one for which they speak."""
    positive = positive_class(model)
    return "decision" if positive is None else f"decision_{positive}"


def decision_sign(model: Any) -> float:
    """-1 where the model's own values are positive for the other class than `positive_class`."""
    positive = positive_class(model)
    return 1.0 if positive is None or positive == model.classes_[1] else -1.0


def has_classes(model: Any) -> bool:
    if isinstance(model, CohortModel):
        return model.task_ == CLASSES
    return not isinstance(model, MKLRegressor | MKLSurvival)


def has_risks(model: Any) -> bool:
    return model.task_ == SURVIVAL if isinstance(model, CohortModel) else isinstance(model, MKLSurvival)


def predictable(model: Any, X: pd.DataFrame) -> np.ndarray:
    able = X.notna().to_numpy().any(axis=1)
    if not able.any():
        return able
    if isinstance(model, CohortModel):
        return able & model.has_needed_views(X)
    able[able] = presence_of(model, X[able]).any(axis=1)
    return able


def predictions(model: Any, X: pd.DataFrame, times: Sequence[float] = ()) -> pd.DataFrame:
    """Labels, decision values and probabilities, numbers, or risks and survival until some times, with the index of X.

    Rows of samples without a view that the model needs are empty.
    """
    able = predictable(model, X)
    known = X[able]
    if has_risks(model):
        parts = _risks(model, known, times)
    else:
        parts = _labelled(model, known) if has_classes(model) else _numbers(model, known)
    table = pd.DataFrame(parts, index=known.index)
    return table if able.all() else table.reindex(X.index)


def _numbers(model: Any, X: pd.DataFrame) -> dict[str, Any]:
    predicted = np.asarray(model.predict(X)) if len(X) else np.zeros(0)
    if predicted.ndim == 1:
        return {"prediction": predicted}
    return {f"prediction_{place}": column for place, column in enumerate(predicted.T)}


def _risks(model: Any, X: pd.DataFrame, times: Sequence[float]) -> dict[str, Any]:
    table: dict[str, Any] = {"risk": np.asarray(model.predict(X)) if len(X) else np.zeros(0)}
    chances = model.predict_survival_function(X, times) if len(X) and len(times) else np.zeros((len(X), len(times)))
    return table | {f"survival_{time:g}": column for time, column in zip(times, chances.T, strict=True)}


def _labelled(model: Any, X: pd.DataFrame) -> dict[str, Any]:
    classes = getattr(model, "classes_", np.zeros(0)).tolist()
    several = len(classes) > 2
    width = len(classes) if several else 1
    labels = model.predict(X).tolist() if len(X) else []
    values = np.reshape(model.decision_function(X), (len(X), -1)) if len(X) else np.zeros((0, width))
    names = [f"decision_{label}" for label in classes] if several and values.shape[1] == len(classes) else None
    if names is None:
        one = values.shape[1] == 1
        names = [decision_name(model)] if one else [f"decision_{place}" for place in range(values.shape[1])]
        values = values * decision_sign(model) + 0.0  # 0 stays 0, and never becomes -0
    table: dict[str, Any] = {"label": np.array([*labels, None], dtype=object)[:-1]}
    table |= dict(zip(names, values.T, strict=True))
    if isinstance(model, CohortModel) and model.calibration_ is not None:
        shares = model.predict_proba(X) if len(X) else np.zeros((0, len(classes)))
        table |= {f"probability_{label}": column for label, column in zip(classes, shares.T, strict=True)}
    return table


def load_model(chosen: argparse.Namespace) -> Any:
    model = load(chosen.model)
    if not isinstance(model, PREDICTS):
        known = ", ".join(one.__name__ for one in PREDICTS)
        raise ValueError(
            f"{chosen.model} holds a {type(model).__name__}; {chosen.command} takes models of these: {known}"
        )
    if getattr(chosen, "times", None) and not has_risks(model):
        raise ValueError(f"--times is for models of times until an event, and {chosen.model} is none")
    return model


class OpenBlocks:
    """The blocks of a table as `files.ViewBlocks`; `y` are the targets of the last block."""

    def __init__(self, table: OpenViews):
        self._table = table
        self.y: pd.Series | None = None
        views = dict.fromkeys(str(name).partition("__")[0] for name in table.columns)
        how = "row order" if not table.has_ids else "ids in the same order"
        self.matched_by = pd.Series(dict.fromkeys(views, how), dtype=object)
        self.empty = pd.Index([], dtype=object, name=table.head(1).index.name)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        for number in range(self._table.n_blocks):
            limits = self._table.limits(number)
            X = self._table.rows(*limits)
            if self._table.target is not None:
                self.y = pd.Series(self._table.targets_where_known(*limits), X.index)
            yield X


class NewSamples:
    """The samples of the files of a call, in blocks, and their similarities, which the model is given.

    Samples that have no view that the model reads come last, in a data frame without columns. `notes` are sentences on
    what was decided about files, `files` those of views, as ``view=path``, `matrices` similarities of the new samples
    (rows) with the training samples, and `wanted` the views that the model reads. With a target, `labelled` is what is
    known of it. `times` are those until which survival is predicted.
    """

    def __init__(self, chosen: argparse.Namespace, model: Any):
        columns = columns_of(model)
        files, self.notes = assigned_views(chosen.files, columns.views, chosen)
        self.files = files
        unread = _unread(files, columns, self.notes)
        na_values = [*(getattr(model, "na_values", None) or []), *chosen.na_values]
        self.matrices = _matrices(chosen, columns, na_values)
        self.wanted, self._model = ", ".join(columns.read), model
        self.labelled = _labelled_cohort(chosen.target, model)
        self._size = getattr(chosen, "block_size", _BLOCK)
        self.times = getattr(chosen, "times", None) or []
        if len(unread) == len(files) and not self.matrices:
            raise ValueError(_no_view(columns))
        self._blocks: ViewBlocks | OpenBlocks | None = None
        if len(unread) < len(files):
            read = [word for word in files if word.partition("=")[0] not in unread]
            in_blocks = hasattr(chosen, "in_blocks")
            table = opened(chosen, read, target=chosen.target, block_size=self._size) if in_blocks else None
            if table is not None:
                self._blocks = OpenBlocks(table)
            else:
                self._blocks = read_views_in_blocks(
                    files,
                    target=chosen.target,
                    id=chosen.id,
                    block_size=self._size,
                    columns=columns.columns,
                    types=columns.types,
                    ids_of=unread,
                    sep=chosen.sep,
                    decimal=chosen.decimal,
                    encoding=chosen.encoding,
                    na_values=na_values or None,
                )
        if self.matrices and self._blocks is not None and (self._blocks.matched_by == "row order").all():
            raise ValueError(
                "the files have no sample ids, by which the rows of --kernel are found; give them a column of ids and "
                "name it by --id"
            )
        self._ids = pd.DataFrame(index=pd.Index([], dtype=object))
        if self.matrices:
            words = [word.partition("=") for word in chosen.diagonal]
            diagonals = {name: float(number) for name, _, number in words}
            extended = model.extend_kernels(self.matrices, diagonals or None)
            self._ids = extended[[name for name in self.matrices if name in extended]]
        self._y: pd.Series | None = None
        if self._blocks is None and chosen.target is not None:
            options = Options(chosen.id, chosen.sep, chosen.decimal, chosen.encoding)
            self._y = targets_of_matrices(chosen.target, chosen.kernel, self.matrices, options)
        self._warn_of_missing_views(columns)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        seen: set[str] = set()
        name = self._id_name()
        told = False
        for X in [] if self._blocks is None else self._blocks:
            if isinstance(self._model, CohortModel):
                X, lacking = with_gaps(self._model, X)
                if lacking is not None and not told:
                    warn(lacking)
                told |= lacking is not None
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
        return pd.concat(list(self))

    def counts(self) -> dict[str, int]:
        """How many samples have each view or similarity matrix, where files were matched by id."""
        overlap = getattr(self._blocks, "overlap", None)
        views = {} if overlap is None else overlap["samples"].iloc[:-2].to_dict()  # without "in all views" and "in X"
        return views | {name: len(matrix) for name, matrix in self.matrices.items()}

    def targets(self, X: pd.DataFrame) -> pd.Series:
        """The targets of samples of the last block, or of any where files are read by id; NaN for none."""
        y = self._y if self._blocks is None else self._blocks.y
        assert y is not None
        return y if y.index.equals(X.index) else y.reindex(X.index)

    def _id_name(self) -> Any:
        if self._blocks is not None:
            return self._blocks.empty.name
        return next((matrix.index.name for matrix in self.matrices.values() if matrix.index.name), None)

    def _warn_of_missing_views(self, columns: ModelColumns) -> None:
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
    """A warning: `count` samples, of which some are named, have no view that the model needs."""
    named = ", ".join(map(str, samples[:NAMED])) + (", ..." if count > NAMED else "")
    start = "1 sample has" if count == 1 else f"{count} samples have"
    return f"{start} no view that the model needs, and so no prediction ({named}); the model reads {wanted}"


def _unread(files: list[str], columns: ModelColumns, notes: list[str]) -> dict[str, list[str]]:
    found = {}
    for word in files:
        view, _, path = word.partition("=")
        if view in set(columns.views) - set(columns.read):
            found[view] = columns.views[view]
            notes.append(f"{path} is read for its samples only: the model does without the view {view!r}.")
    return found


def _matrices(chosen: argparse.Namespace, columns: ModelColumns, na_values: list[str]) -> dict[str, pd.DataFrame]:
    if not chosen.kernel:
        return {}
    options = Options(None, chosen.sep, chosen.decimal, chosen.encoding, na_values or None)
    found = {}
    for source in sources(chosen.kernel):
        if source.name not in columns.matrices:
            there = f"its matrices are {', '.join(columns.matrices)}" if columns.matrices else "it has none"
            raise ValueError(f"--kernel {source.name}: the model has no similarity matrix of that name; {there}")
        found[source.name] = with_text_labels(read_matrix(source, options, square=False))
    return found


def _labelled_cohort(target: str | None, model: Any) -> LabelledCohort | None:
    if target is None:
        return None
    if has_risks(model):
        raise ValueError(
            "--target is for models of classes or numbers; predictions of times until an event are scored by "
            "kernelweave compare, or from Python by kernelweave.survival.concordance"
        )
    if isinstance(model, MKLOneClass):
        raise ValueError("--target is for models of classes or numbers; a MKLOneClass was fitted without any")
    if isinstance(model, MKLRegressor) and len(model.target_names_) > 1:
        raise ValueError(f"--target is one column, and the model predicts {len(model.target_names_)} numbers")
    return LabelledCohort(list(model.classes_) if has_classes(model) else None, target)


def _no_view(columns: ModelColumns) -> str:
    return f"no file has a view that the model reads; it reads {', '.join(columns.read)}, given as name=path"


def run(chosen: argparse.Namespace) -> int:
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
    for line in [*samples.notes, found.summary(has_classes(model))]:
        print(one_line(line), file=told)
    if samples.labelled is not None:
        tell_scores(samples.labelled, told)
    print(one_line(f"Predictions: {chosen.out}"), file=told)
    return 0


def tell_scores(cohort: LabelledCohort, told: TextIO) -> None:
    if cohort.warning():
        warn(cohort.warning())
    if not cohort.n_samples:
        print(one_line(" ".join(["No sample is scored.", *cohort.left_out()])), file=told)
        return
    for line in cohort.sentences():
        print(one_line(line), file=told)
    for table in cohort.tables(MOST_CLASSES):
        print_table(table, told)


@dataclass
class _Found:
    cohort: NewCohort | None
    n_samples: int = 0
    n_without: int = 0
    without: list[Any] = field(default_factory=list)
    labels: Counter[Any] = field(default_factory=Counter)
    total: float = 0.0
    low: float = float("inf")
    high: float = float("-inf")

    def add(self, X: pd.DataFrame, table: pd.DataFrame, matrices: dict[str, pd.DataFrame]) -> None:
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
        found = []
        if self.n_without:
            found.append(without_prediction(self.without, self.n_without, wanted))
        unlike = [] if self.cohort is None else self.cohort.sentences()
        return [*found, *(f"unlike the training data: {sentence}" for sentence in unlike)]

    def summary(self, with_labels: bool) -> str:
        n = self.n_samples - self.n_without
        start = f"Predicted {n} sample{'' if n == 1 else 's'}"
        if with_labels:
            return f"{start}: {listed([f'{label} {count}' for label, count in self.labels.most_common()])}."
        if self.high == float("-inf"):
            return f"{start}."
        return f"{start}: from {self.low:g} to {self.high:g}, mean {self.total / n:g}."


def _predicted(samples: NewSamples, model: Any, found: _Found) -> Iterator[tuple[str, pd.DataFrame]]:
    with working("predicting: 0 samples") as show:
        for X in samples:
            table = predictions(model, X, samples.times)
            found.add(X, table, samples.matrices)
            if samples.labelled is not None:
                table.insert(1, "target", samples.labelled.add(samples.targets(X), table))
            yield "sample" if X.index.name is None else str(X.index.name), table
            show(f"predicting: {found.n_samples} samples")


def _write(samples: NewSamples, model: Any, found: _Found, file: BinaryIO) -> None:
    for name, table in _predicted(samples, model, found):
        file.write(as_csv(table, header=file.tell() == 0, index_label=name).encode("utf-8"))


def _write_parquet(samples: NewSamples, model: Any, found: _Found, file: BinaryIO) -> None:
    arrow = optional("pyarrow", "to write Parquet", "parquet")
    parquet = optional("pyarrow.parquet", "to write Parquet", "parquet")
    writer = None
    texts = ("label", "target") if has_classes(model) else ()
    for name, table in _predicted(samples, model, found):
        columns = {name: table.index.astype(str).to_numpy(dtype=object)} | {
            key: values.to_numpy(dtype=object if key in texts else float) for key, values in table.items()
        }
        if "target" in columns and len({isinstance(one, str) for one in columns["target"] if one is not None}) > 1:
            raise ValueError("the target has text beside numbers, which a Parquet file cannot hold; write a .csv file")
        if writer is None:
            schema = arrow.table(columns).schema
            known = next((label for label in getattr(model, "classes_", [])), None)
            for key in texts if known is not None else ():  # the first block may have no label at all
                if key in columns:
                    schema = schema.set(schema.get_field_index(key), arrow.field(key, arrow.array([known]).type))
            writer = parquet.ParquetWriter(file, schema)
        writer.write_table(arrow.table(columns, schema=writer.schema))
    if writer is not None:
        writer.close()


def _put(file: BinaryIO, out: Path) -> None:
    file.seek(0)
    if out == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.write(file.read().decode("utf-8"))
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    replace_file(out, lambda target: shutil.copyfileobj(file, target))
