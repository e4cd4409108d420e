"""The section `data`: samples, classes, views and what is missing, and what was decided about all of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..recipes.tasks import SURVIVAL
from ..validation import shown
from .content import Block, Cell, Column, Section, Table, Text
from .subject import Subject
from .words import combiner_in_words, counted, listed, normalisation_in_words, written

_ABOUT_A_VIEW = re.compile(r"""The view ('.*?'|".*?") ((?:is|has) .*)""", re.DOTALL)
_MOST_PATTERNS = 10
_MOST_ROWS = 200
_MOST_OF_A_VIEW = 20  # columns, where all views together have more than _MOST_ROWS
_NOT_SETTINGS = (
    "kernels",
    "combiner",
    "normalize",
    "verbose",
    "n_jobs",
    "storage",
    "device",
    "dtype",
    "matrices",
    "kinds",
)


def data_section(subject: Subject, given: Any = None) -> Section:
    blocks: list[Block] = [*_given(given), Text(text=_overview(subject))]
    if subject.classes:
        blocks.append(_classes(subject))
    elif subject.task == "regression" and subject.y is not None:
        blocks.append(_targets(subject))
    elif subject.task == SURVIVAL and subject.y is not None:
        blocks.append(_outcomes(subject.y))
    if subject.model is not None:
        blocks += [_views(subject), *_patterns(subject), *_model(subject)]
    if subject.cohort is not None:
        blocks += _cohort(subject.cohort)
    return Section(id="data", title="Data, and what was decided", blocks=blocks)


def _given(given: Any) -> list[Block]:
    if given is None:
        return []
    entries: Iterable[Any] = given.items() if isinstance(given, Mapping) else given
    blocks: list[Block] = []
    rows: list[list[Cell]] = []
    for entry in entries:
        if isinstance(entry, Block):
            blocks.append(entry)
        elif isinstance(entry, str):
            blocks.append(Text(text=entry))
        else:
            rows.append([cell if isinstance(cell, int | float) else str(cell) for cell in entry])
    if rows:
        width = max(len(row) for row in rows)
        names = ["about", "decision", *("reason" if k == 2 else f"detail {k - 1}" for k in range(2, width))]
        filled: list[list[Cell]] = [[*row, *[None] * (width - len(row))] for row in rows]
        blocks.append(Table(title="What was decided", columns=[Column(name) for name in names[:width]], rows=filled))
    return blocks


def _overview(subject: Subject) -> str:
    n_columns = subject.X.shape[1] if getattr(subject.X, "ndim", 1) == 2 else 1
    text = (
        f"{counted(subject.n_samples, 'sample')} with {counted(n_columns, 'column')}, in "
        f"{counted(len(subject.views), 'view')}: {listed(subject.views, 12)}."
    )
    if subject.cohort is not None and subject.cohort.n_samples_ != subject.n_samples:
        text += f" The model was fitted to {counted(subject.cohort.n_samples_, 'sample')}."
    if subject.present is not None:
        whole = int(subject.present.all(axis=1).sum())
        text += (
            " Every sample has every view."
            if whole == subject.n_samples
            else f" {whole} of them have every view; the others lack at least one."
        )
    return text


def _classes(subject: Subject) -> Table:
    labels = subject.predicted if subject.y is None else subject.y
    counts = pd.Series(labels).value_counts()
    rows: list[list[Cell]] = [
        [str(label), int(counts.get(label, 0)), float(counts.get(label, 0)) / subject.n_samples]
        for label in subject.classes
    ]
    title = "Predicted classes" if subject.y is None else "Classes"
    return Table(
        title=title, columns=[Column("class"), Column("samples", "count"), Column("share", "percent")], rows=rows
    )


def _targets(subject: Subject) -> Table:
    values = np.asarray(subject.y, dtype=float).reshape(subject.n_samples, -1)
    names = subject.targets or ["target"]
    rows: list[list[Cell]] = [
        [name, *(float(f(column)) for f in (np.min, np.median, np.mean, np.max, np.std))]
        for name, column in zip(names, values.T, strict=True)
    ]
    numbers = ["least", "median", "mean", "largest", "standard deviation"]
    columns = [Column("target"), *(Column(name, "number") for name in numbers)]
    return Table(title="Targets", columns=columns, rows=rows)


def _outcomes(y: np.ndarray) -> Table:
    rows: list[list[Cell]] = []
    for name, own in (("the event", y["time"][y["event"]]), ("censored", y["time"][~y["event"]])):
        numbers = [float(f(own)) if len(own) else None for f in (np.min, np.median, np.max)]
        rows.append([name, len(own), len(own) / len(y), *numbers])
    columns = [Column("samples with"), Column("samples", "count"), Column("share", "percent")]
    columns += [Column(f"{name} time", "number") for name in ("least", "median", "largest")]
    return Table(title="Times", columns=columns, rows=rows)


def _views(subject: Subject) -> Table:
    model, present = subject.model, subject.present
    columns_of = dict(zip(model.kernel_names_, (kernel.columns() for kernel in model.kernels_), strict=True))
    rows: list[list[Cell]] = []
    for view, kernels in subject.views.items():
        read = np.unique(np.concatenate([columns_of[name] for name in kernels]))
        there = int(present[view].sum())
        rows.append([view, len(read), len(kernels), there, subject.n_samples - there])
    names = ["columns", "kernels", "samples with it", "samples without it"]
    return Table(title="Views", columns=[Column("view"), *(Column(name, "count") for name in names)], rows=rows)


def _patterns(subject: Subject) -> list[Block]:
    present = subject.present
    if present.to_numpy().all() or len(present.columns) < 2:
        return []
    # How many samples have which combination of views, by tuples of what they have.
    patterns = present.groupby(list(present.columns)).size().sort_values(ascending=False, kind="stable")
    rows: list[list[Cell]] = []
    for pattern, count in patterns.iloc[:_MOST_PATTERNS].items():
        has = [view for view, there in zip(present.columns, pattern, strict=True) if there]
        lacks = [view for view, there in zip(present.columns, pattern, strict=True) if not there]
        what = "all views" if not lacks else f"all but {listed(lacks)}"
        what = f"only {listed(has)}" if len(lacks) > len(has) else what
        rows.append([what, len(has), int(count), float(count) / subject.n_samples])
    n_more = len(patterns) - len(rows)
    note = f"{counted(n_more, 'further combination')} not shown." if n_more > 0 else ""
    columns = [
        Column("views"),
        Column("number of views", "count"),
        Column("samples", "count"),
        Column("share", "percent"),
    ]
    return [Table(title="Missing views", columns=columns, rows=rows, note=note)]


def _model(subject: Subject) -> list[Block]:
    model = subject.model
    text = (
        f"The model is an {type(model).__name__}, which combines {counted(len(model.kernel_names_), 'kernel')} by "
        f"{combiner_in_words(model.combiner_)}. Before that, {normalisation_in_words(model.normalize)}."
    )
    rows: list[list[Cell]] = [[name, value] for name, value in _settings(model)]
    rows.append(["combiner", shown(model.combiner_)])
    return [Text(text=text), Table(title="Settings", columns=[Column("parameter"), Column("value")], rows=rows)]


def _settings(estimator: Any) -> list[tuple[str, str]]:
    """Parameters that a user may want to see: C, and those that are not as by default."""
    defaults = inspect.signature(type(estimator).__init__).parameters
    found = []
    for name, value in estimator.get_params(deep=False).items():
        is_default = name in defaults and _same(value, defaults[name].default)
        if name not in _NOT_SETTINGS and (name == "C" or not is_default):
            found.append((name, shown(value)))
    return found


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and repr(value) == repr(default)


def _cohort(cohort: Any) -> list[Block]:
    blocks: list[Block] = []
    if len(cohort.decisions_):
        rows: list[list[Cell]] = [[sentence] for sentence in folded(cohort.decisions_)]
        blocks.append(Table(title="What was decided about the data", columns=[Column("decision")], rows=rows))
    kinds = cohort.kinds_
    if len(kinds):
        counts = kinds.groupby(["view", "kind"], sort=False).size()
        rows = [[str(view), str(kind), int(count)] for (view, kind), count in counts.items()]
        columns = [Column("view"), Column("kind of columns"), Column("columns", "count")]
        blocks.append(Table(title="Kinds of columns", columns=columns, rows=rows))
        blocks.append(columns_table(kinds))
    return [*blocks, *_cohort_settings(cohort)]


def columns_table(kinds: pd.DataFrame) -> Table:
    """What each column holds; of many columns the first of each view, plain numbers last."""
    rows: list[list[Cell]] = []
    most = _MOST_ROWS if len(kinds) <= _MOST_ROWS else _MOST_OF_A_VIEW
    for view, own in kinds.groupby("view", sort=False):
        is_plain = (own["kind"] == "number") & (own["why"] == "numbers")
        own = pd.concat([own[~is_plain], own[is_plain]]) if len(own) > most else own
        for name, row in own.iloc[:most].iterrows():
            rows.append([str(view), str(name).removeprefix(f"{view}__"), str(row["kind"]), str(row["why"])])
        more = own.iloc[most:]
        if len(more):
            counts = ", ".join(f"{kind} ({count:,})" for kind, count in more["kind"].value_counts().items())
            rows.append([str(view), f"and {len(more):,} more", counts, ""])
    columns = [Column("view"), Column("column"), Column("kind"), Column("why")]
    note = "Another kind can be given: --text, --category, --number or --drop COLUMN; kinds={column: kind} in Python."
    return Table(title="What each column is taken as", columns=columns, rows=rows, note=note)


def folded(decisions: Iterable[str]) -> list[str]:
    """Sentences that say the same about several views as one sentence, where the first of them stood.

    >>> folded(["The view 'rna' is left out.", "Yes.", "The view 'lab' is left out."])
    ["Each of the views 'rna' and 'lab' is left out.", 'Yes.']
    """
    views: dict[str, list[str]] = {}
    for decision in map(str, decisions):
        found = _ABOUT_A_VIEW.fullmatch(decision)
        rest = views.setdefault(found.group(2) if found else decision, [])
        rest += [found.group(1)] if found else []
    return [_about(names, rest) for rest, names in views.items()]


def _about(views: list[str], rest: str) -> str:
    if len(views) > 1:
        return f"Each of the views {listed(views)} {rest}"
    return f"The view {views[0]} {rest}" if views else rest


def _cohort_settings(cohort: Any) -> list[Block]:
    settings = cohort.settings_
    if len(settings) < 2:
        return []
    chosen = ", ".join(f"{name} = {_plain(value)}" for name, value in cohort.setting_.items())
    names = {"score": "score", "std": "standard deviation", "loss": "loss"}
    names = {key: name for key, name in names.items() if key in settings}
    rows: list[list[Cell]] = [
        [str(row["setting"]), *(float(row[key]) for key in names)] for _, row in settings.iterrows()
    ]
    columns = [Column("setting"), *(Column(name, "number") for name in names.values())]
    text = (
        f"The setting {chosen} was chosen among {len(rows)} by cross-validation, with a score of "
        f"{written(float(cohort.validation_score_))}."
    )
    if "loss" in names and cohort.task_ == "classification":
        text += " Settings are compared by the loss, the squared error of calibrated probabilities (Brier's score)."
    return [Text(text=text), Table(title="Settings that were tried", columns=columns, rows=rows)]


def _plain(value: Any) -> str:
    return written(value) if isinstance(value, float) else str(value)
