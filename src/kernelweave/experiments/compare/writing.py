"""The models of a comparison fitted to all samples, and its files: everything is made before anything is written."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import parallel_config

from ...files.cohort import Cohort
from ...files.spreadsheets import as_csv
from ...persistence import save
from ...recipes import CohortModel
from ...reporting import report
from ...reporting.page import Report
from ..engine.cells import write_atomically
from ..engine.comparison_run import MeasuredRow
from .contents import data_rows, folds_table, headline, methods_section, results_data
from .declaration import Declared
from .outcome import CompareOutcome, MethodResult

BEST, BEST_KERNELS = "best.kw", "best-kernels.kw"
_WITHOUT_KERNELS = ("linear", "forest", "boosting", "stacking")  # their models are no kernel machines


@dataclass(frozen=True)
class FittedModels:
    """The winner, fitted to all samples, and the best kernel machine where the winner is none.

    Attributes
    ----------
    best : CohortModel
    kernels : CohortModel or None
    kernels_result : MethodResult or None
    """

    best: CohortModel
    kernels: CohortModel | None = None
    kernels_result: MethodResult | None = None


def fitted_models(outcome: CompareOutcome, declared: Declared, *, n_jobs: int | None = None) -> FittedModels:
    """Fit the winner to all samples, and the best kernel machine where the winner is none.

    Parameters
    ----------
    outcome : CompareOutcome
    declared : Declared
    n_jobs : int, optional
    """

    def fitted(method: str) -> CohortModel:
        problem = declared.problem
        return declared.model(method, n_jobs=n_jobs).fit(problem.X, problem.y, groups=problem.groups)

    best = fitted(outcome.winner.method)
    if outcome.winner.method not in _WITHOUT_KERNELS:
        return FittedModels(best)
    machine = next((result for result in outcome.results if result.method not in _WITHOUT_KERNELS), None)
    return FittedModels(best) if machine is None else FittedModels(best, fitted(machine.method), machine)


def write_results(
    out: Path,
    cohort: Cohort,
    declared: Declared,
    measured: MeasuredRow,
    outcome: CompareOutcome,
    models: FittedModels,
    *,
    n_jobs: int | None = None,
    with_views: bool = True,
) -> list[Path]:
    """Write the report, the folds and the models, each file at once; returns the paths of the page and of the model.

    Parameters
    ----------
    out : Path
    cohort : Cohort
    declared : Declared
    measured : MeasuredRow
    outcome : CompareOutcome
    models : FittedModels
    n_jobs : int, optional
    with_views : bool
        Whether the report has a cross-validation of what each view gives, which takes a while.
    """
    with parallel_config(backend="threading"):  # other processes would print warnings past the caller's filters
        page = build_report(cohort, declared, outcome, models, n_jobs=n_jobs, with_views=with_views)
    texts = {
        "report.html": page.to_html(),
        "report.json": page.to_json(),
        "report.md": page.to_markdown(),
        "folds.csv": as_csv(folds_table(measured, declared)),
    }
    out.mkdir(parents=True, exist_ok=True)
    save(models.best, out / BEST)
    if models.kernels is not None:
        save(models.kernels, out / BEST_KERNELS)
    else:
        (out / BEST_KERNELS).unlink(missing_ok=True)  # of an earlier run, whose winner was another
    for name, text in texts.items():
        write_atomically(out / name, text)
    return [out / "report.html", out / BEST]


def build_report(
    cohort: Cohort,
    declared: Declared,
    outcome: CompareOutcome,
    models: FittedModels,
    *,
    n_jobs: int | None = None,
    with_views: bool = True,
) -> Report:
    """The report of a comparison: which method to use, and then what the model is like.

    Parameters are those of `write_results`.
    """
    problem, protocol = declared.problem, declared.protocol
    sentences = headline(outcome)
    model = models.best
    if models.kernels is not None and models.kernels_result is not None:
        model = models.kernels
        sentences.append(
            f"The winner, {outcome.winner.label}, is no kernel machine: the sections on the model are about the best "
            f"of these, {models.kernels_result.label}, which is saved as {BEST_KERNELS}."
        )
    kept = model.has_needed_views(problem.X)
    rows = data_rows(cohort, declared)
    if not kept.all():
        rows.append(
            ("sections on the model", f"leave {int((~kept).sum())} samples out, which lack all views that it needs")
        )
    groups = None if problem.groups is None else problem.groups[kept]
    folds: Any = False
    if with_views:
        splits = protocol.split(problem.y[kept], problem.is_classification, groups=groups)[: protocol.n_folds]
        folds = [(split.train, split.test) for split in splits]
    made = report(
        model,
        problem.X[kept],
        problem.y[kept],
        cv=folds,
        groups=groups,
        comparison=(sentences, methods_section(outcome, declared)),
        data=rows,
        title=f"Comparison of methods for {cohort.tables.y.name if cohort.tables.y is not None else 'the target'}",
        n_jobs=n_jobs,
        random_state=protocol.random_state,
    )
    data = {"comparison": results_data(outcome, declared), "model": made.contents.data}
    return Report(dataclasses.replace(made.contents, data=data))
