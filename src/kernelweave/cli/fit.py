"""``kernelweave fit``: one method on people's own files, its setting chosen by cross-validation, saved as a model."""

from __future__ import annotations

import argparse

from ..files.cohort import read_cohort
from ..persistence import save
from ..recipes import CohortModel, guess_task, method_names, unavailable
from .telling import described_cohort, described_setting, say


def run(chosen: argparse.Namespace) -> int:
    """Read the files, fit the method, save the model, and print what was decided.

    Parameters
    ----------
    chosen : Namespace
        The options of `fit`, as `options.parse` returns them.
    """
    cohort = read_cohort(
        chosen.files,
        chosen.target,
        matrices=chosen.kernel,
        groups=chosen.groups,
        id=chosen.id,
        sep=chosen.sep,
        decimal=chosen.decimal,
        encoding=chosen.encoding,
    )
    X, y = cohort.tables.X, cohort.tables.y
    task, why = (chosen.task, "--task") if chosen.task else guess_task(y)
    reason = unavailable(task, X, cohort.matrices).get(chosen.method)
    if reason is not None:
        raise ValueError(f"the method {chosen.method!r} cannot be had for these data: {reason}")
    say(described_cohort(cohort, task, why))
    model = CohortModel(
        chosen.method,
        matrices=cohort.matrices or None,
        task=task,
        effort="quick" if chosen.quick else "full",
        n_jobs=chosen.jobs,
        random_state=chosen.seed,
        verbose=1,
    ).fit(X, y, groups=cohort.groups)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    save(model, chosen.out)
    say(["Decided:", *(f"- {sentence}" for sentence in model.decisions_)])
    label = method_names(task, model.views).get(chosen.method, chosen.method)
    say(described_setting(model, label))
    say([f"Model saved: {chosen.out}"])
    return 0
