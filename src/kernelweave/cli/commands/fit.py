"""``kernelweave fit``: one method on people's own files, its setting chosen by cross-validation, saved as a model."""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd

from ..._warnings import warn
from ...files import OpenViews
from ...files.read import Cohort
from ...persistence import save
from ...recipes import CohortModel, column_kinds, guess_task, method_names, unavailable
from ...recipes.leaks import copies_of_target, copies_sentence
from ...recipes.search import watched
from ..in_blocks import described_table, fitted_in_blocks, opened
from ..telling import described_cohort, described_setting, say, working
from .training_samples import read_training_samples


def run(chosen: argparse.Namespace) -> int:
    """Read the files, fit the method, save the model, and print what was decided.

    Parameters
    ----------
    chosen : Namespace
        The options of `fit`, as `options.parse` returns them.
    """
    table = opened(chosen, chosen.files, target=chosen.target)
    if table is not None:
        return _run_in_blocks(chosen, table)
    cohort = read_training_samples(chosen)
    X, y = cohort.tables.X, cohort.tables.y
    task, why = (chosen.task, "as given by --task") if chosen.task else guess_task(y)
    label = _label(chosen.method, cohort, task)
    if task == "regression":
        _check_numbers(y)
    copies = copies_of_target(X, y, column_kinds(X, matrices=tuple(cohort.matrices)), task)
    if copies:
        warn(copies_sentence(copies))
    say(described_cohort(cohort, task, why))
    model = CohortModel(
        chosen.method,
        matrices=cohort.matrices or None,
        task=chosen.task or "auto",
        effort="quick" if chosen.quick else "full",
        n_jobs=chosen.jobs,
        random_state=chosen.seed,
    )
    with working(f"fitting {label}") as show, watched(lambda done, total: show(progress_text(label, done, total))):
        model.fit(X, y, groups=cohort.groups)
    return _saved(chosen, model, label)


def _run_in_blocks(chosen: argparse.Namespace, table: OpenViews) -> int:
    """The same for samples that stay in their files."""
    views = list(dict.fromkeys(str(name).partition("__")[0] for name in table.columns))
    names = method_names(chosen.task or "classification", views)
    if chosen.method not in names:
        raise ValueError(f"there is no method {chosen.method!r} for these data; the methods are {', '.join(names)}")
    say(described_table(table))
    model = fitted_in_blocks(chosen, table, names[chosen.method])
    say([f"Task: {model.task_}."])
    return _saved(chosen, model, names[chosen.method])


def _saved(chosen: argparse.Namespace, model: CohortModel, label: str) -> int:
    """Save the model and print what was decided."""
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    save(model, chosen.out)
    say(["Decided:", *(f"- {sentence}" for sentence in model.decisions_ if not sentence.startswith("The task is "))])
    say(described_setting(model, label))
    say([f"Model saved: {chosen.out}"])
    return 0


def progress_text(label: str, done: int, total: int) -> str:
    """How far the choice of a setting is, in words.

    Examples
    --------
    >>> from kernelweave.cli.commands.fit import progress_text
    >>> progress_text("mean of kernels", 2, 9)
    'fitting mean of kernels: 2 of 9 fits to choose the setting'
    >>> progress_text("mean of kernels", 9, 9)
    'fitting mean of kernels: to all samples'
    """
    return f"fitting {label}: {f'{done} of {total} fits to choose the setting' if done < total else 'to all samples'}"


def _check_numbers(y: Any) -> None:
    """Refuse words as the target of a regression."""
    numbers = pd.to_numeric(y, errors="coerce")
    wrong = y[numbers.isna().to_numpy() & y.notna().to_numpy()]
    if len(wrong):
        raise ValueError(
            f"a regression needs numbers, and the target {y.name!r} of {wrong.index[0]!r} is {wrong.iloc[0]!r}; "
            "leave --task out, or write --task classification"
        )


def _label(method: str, cohort: Cohort, task: str) -> str:
    """The method in words, or an error where it cannot be had for these data."""
    matrices: Any = cohort.matrices or None
    reasons = unavailable(task, cohort.tables.X, matrices=matrices)
    if method in reasons:
        raise ValueError(f"--method {method} cannot be had for these data: {reasons[method]}")
    views = list(dict.fromkeys(str(name).partition("__")[0] for name in cohort.tables.X.columns))
    names = method_names(task, views, without=reasons)
    if method not in names:
        raise ValueError(f"there is no method {method!r} for these data; the methods are {', '.join(names)}")
    return names[method]
