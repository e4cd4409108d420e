"""``kernelweave fit``: one method on the user's files, its setting chosen by cross-validation, saved as a model.

`compare` reads its files as `fit` does. `fit` and `predict` leave rows of large files in place and read them block by
block.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from .._warnings import warn
from ..files import OpenViews, open_views
from ..files.read import Cohort, read_cohort
from ..files.sources import STORED_SUFFIXES, split_entry
from ..files.text import format_suffix
from ..kernels.resources import available_memory
from ..recipes import CohortModel, column_kinds, guess_task, method_names, unavailable
from ..recipes.kinds import given_kinds
from ..recipes.leaks import copies_of_target, copies_sentence
from ..recipes.scoring import Scoring
from ..recipes.search import watched
from ..recipes.tasks import SURVIVAL, TASKS
from ..reporting.provenance import keep_record
from ..saving import save
from .columns import column_options
from .events import split_event, with_outcomes
from .inputs import open_inputs, training_inputs
from .messages import counted_samples, listed, say, working

SHARE = 0.25  # share of the free memory above which files are read block by block


def run(chosen: argparse.Namespace) -> int:
    table = opened(chosen, chosen.files, target=chosen.target)
    model, label = _fitted(chosen) if table is None else _fitted_in_blocks(chosen, table)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    save(model, chosen.out)
    say(["Decided:", *(f"- {sentence}" for sentence in model.decisions_ if not sentence.startswith("The task is "))])
    say(described_setting(model, label))
    say([f"Model saved: {chosen.out}"])
    return 0


def _fitted(chosen: argparse.Namespace) -> tuple[CohortModel, str]:
    cohort = read_training_samples(chosen)
    X, y = cohort.tables.X, cohort.tables.y
    matrices: Any = cohort.matrices or None
    given = "as given by --task" if chosen.event is None else "as given by --event"
    task, why = (chosen.task, given) if chosen.task else guess_task(y)
    options = column_options(chosen, X.columns)
    kinds = given_kinds(column_kinds(X, matrices=tuple(cohort.matrices)), options["kinds"])
    reasons = unavailable(task, X, matrices=matrices, kinds=kinds) | dict(TASKS[task].lacks)
    if chosen.method in reasons:
        raise ValueError(f"--method {chosen.method} cannot be had for these data: {reasons[chosen.method]}")
    label = _label(chosen.method, method_names(task, _views(X), without=reasons))
    if task == "regression":
        _check_numbers(y)
    copies = copies_of_target(X, y, kinds, task)
    if copies:
        warn(copies_sentence(copies))
    say(described_cohort(cohort, task, why))
    inputs = training_inputs(chosen, cohort.tables.overlap)
    model = _model(chosen, options, matrices=matrices)
    with working(f"fitting {label}") as show, watched(lambda done, total: show(progress_text(label, done, total))):
        model.fit(X, y, groups=cohort.groups)
    keep_record(model, chosen.seed, inputs)
    return model, label


def _fitted_in_blocks(chosen: argparse.Namespace, table: OpenViews) -> tuple[CohortModel, str]:
    from ..estimators.progress import progress_bar

    views = _views(table)
    label = _label(chosen.method, method_names(chosen.task or "classification", views))
    size = f"{table.block_size} at a time"
    say([f"Reading {counted_samples(table.n_samples)} block by block, {size}: {listed(views)}."])
    say([f"Target {table.target}."])
    inputs = open_inputs(chosen, table)
    model = _model(chosen, column_options(chosen, table.columns), approximation="nystroem", verbose=1)
    with progress_bar(f"fitting {label}", transient=True) as show, watched(show):
        model.fit(table)
    keep_record(model, chosen.seed, inputs)
    say([f"Task: {model.task_}."])
    return model.set_params(verbose=0), label


def _model(chosen: argparse.Namespace, said: dict[str, Any], **options: Any) -> CohortModel:
    effort = "quick" if chosen.quick else "full"
    given: dict[str, Any] = {name: value or None for name, value in said.items()}
    return CohortModel(
        chosen.method,
        task=chosen.task or "auto",
        effort=effort,
        **given,
        scoring=chosen.scoring,
        positive=chosen.positive,
        class_weight=chosen.class_weight,
        n_jobs=chosen.jobs,
        random_state=chosen.seed,
        **options,
    )


def _views(table: Any) -> list[str]:
    return list(dict.fromkeys(str(name).partition("__")[0] for name in table.columns))


def _label(method: str, names: dict[str, str]) -> str:
    if method not in names:
        raise ValueError(f"there is no method {method!r} for these data; the methods are {', '.join(names)}")
    return names[method]


def opened(
    chosen: argparse.Namespace, words: Sequence[str], *, target: str | None = None, block_size: int | None = None
) -> OpenViews | None:
    """The table of the files (``path`` or ``view=path``) of `fit` or `predict` if it is read block by block, or None.

    That is so with ``--in-blocks``, for a folder of parts, and for NPY and Parquet of over 1/4 of the free memory.
    """
    paths = [Path(split_entry(word)[1]).expanduser() for word in words]
    is_wanted = chosen.in_blocks or any(path.is_dir() for path in paths)
    others = [path for path in paths if not path.is_dir() and format_suffix(path.name) not in STORED_SUFFIXES]
    beside = [option for option in ("kernel", "groups", "event", "diagonal") if getattr(chosen, option, None)]
    if is_wanted and beside:
        raise ValueError(f"--{beside[0]} is for files that are read into memory, not for folders or --in-blocks")
    if not paths or beside or (others and not is_wanted):
        return None
    free = available_memory()
    size = sum(path.stat().st_size for path in paths if path.is_file())
    # Much smaller files cannot take a quarter of the memory, however well they are compressed.
    if not is_wanted and (free is None or size * 20 < SHARE * free):
        return None
    kept = getattr(chosen, "keep_column", [])
    table = open_views(list(words), target, id=chosen.id, block_size=block_size, keep_columns=kept)
    return table if is_wanted or (free is not None and table.nbytes > SHARE * free) else None


def read_training_samples(chosen: argparse.Namespace) -> Cohort:
    cohort = read_cohort(
        chosen.files,
        chosen.target,
        matrices=chosen.kernel,
        groups=chosen.groups,
        event=None if chosen.event is None else split_event(chosen.event)[0],
        id=chosen.id,
        sep=chosen.sep,
        decimal=chosen.decimal,
        encoding=chosen.encoding,
        na_values=chosen.na_values or None,
        keep_columns=chosen.keep_column,
    )
    return cohort if chosen.event is None else with_outcomes(cohort, chosen.event)


def described_cohort(cohort: Any, task: str, why: str) -> list[str]:
    tables = cohort.tables
    overlap = tables.overlap
    views = overlap["labelled"].iloc[: list(overlap.index).index("in all views")]
    lines = [
        f"Read {counted_samples(len(tables.X))} with a target: "
        + listed([f"{count} {'has' if count == 1 else 'have'} {view}" for view, count in views.items()])
        + "."
    ]
    without, alone = (int(overlap.loc[name, "samples"]) for name in ("without a label", "only with a label"))
    if without:
        lines.append(f"{counted_samples(without)} without a target {'is' if without == 1 else 'are'} left out.")
    if alone:
        lines.append(f"{counted_samples(alone)} with a target {'is' if alone == 1 else 'are'} in none of the files.")
    if task == SURVIVAL:
        time, event = tables.y.iloc[:, 0], tables.y["event"]
        lines.append(
            f"Target {time.name}: times from {time.min():g} to {time.max():g}; {int(event.sum())} of "
            f"{counted_samples(len(event))} have the event, the others are censored."
        )
    elif task == "classification":
        counts = tables.y.value_counts()
        lines.append(f"Target {tables.y.name}: {listed([f'{label} ({count})' for label, count in counts.items()])}.")
    else:
        lines.append(f"Target {tables.y.name}: numbers from {tables.y.min():g} to {tables.y.max():g}.")
    lines.append(f"Task: {task} ({why}).")
    if cohort.groups is not None:
        lines.append(
            f"Groups: {cohort.groups.nunique()} of {cohort.groups.name}; each stays in one part of every split."
        )
    return lines


def described_setting(model: Any, label: str) -> list[str]:
    setting = listed([f"{name} = {value}" for name, value in model.setting_.items()]) or "nothing to choose"
    scoring, score = Scoring(model.scoring_), model.validation_score_
    measured = f"{scoring.label}: {-score:.3f}" if scoring.is_error else f"{scoring.label}: {score:.3f}"
    lines = [
        f"Method: {label}. Setting chosen by cross-validation: {setting}.",
        f"Score of that setting in cross-validation, {measured}; it was chosen on the same folds, so that this is a "
        "little too good. kernelweave compare has unbiased ones.",
    ]
    if model.n_stored_ is not None:
        lines.append(f"The model stores {model.n_stored_} of {model.n_samples_} samples.")
    return lines


def progress_text(label: str, done: int, total: int) -> str:
    return f"fitting {label}: {f'{done} of {total} fits to choose the setting' if done < total else 'to all samples'}"


def _check_numbers(y: Any) -> None:
    numbers = pd.to_numeric(y, errors="coerce")
    wrong = y[numbers.isna().to_numpy() & y.notna().to_numpy()]
    if len(wrong):
        raise ValueError(
            f"a regression needs numbers, and the target {y.name!r} of {wrong.index[0]!r} is {wrong.iloc[0]!r}; "
            "leave --task out, or write --task classification"
        )
