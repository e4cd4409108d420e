"""The results of a comparison of methods: the files with models and tables, and then the report on which to use."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..files.base import as_csv
from ..files.read import Cohort
from ..model_selection.statistics import TEST_NAME
from ..recipes import CohortModel
from ..recipes.metrics import SHARES, SHOWN_AS, SMALLER_IS_BETTER
from ..recipes.search import setting_text
from ..recipes.tasks import NUMBERS, SURVIVAL
from ..reporting.content import Block, Cell, Column, Dot, Dots, Provenance, Section, Table, Text
from ..reporting.model_report import assembled
from ..reporting.page import Report
from ..reporting.provenance import made_in_python
from ..reporting.scores import Evaluation, score_of
from ..reporting.subject import Subject
from ..reporting.words import listed
from ..saving import save
from ..validation import counted
from .cells import write_atomically
from .declaration import Declared, target_name
from .held_out import held_out_section, out_of_fold_values
from .out_of_fold import OutOfFold, out_of_fold_table
from .outcome import CompareOutcome, MethodResult
from .run import MeasuredRow
from .views import scores_of_views
from .words import best_of_rivals, chance_label, headline, recommendation, warnings_text

BEST, BEST_KERNELS = "best.kw", "best-kernels.kw"
_SHOWN = 5  # files that a row lists
_COLUMNS = {
    "number": ("column of numbers", "columns of numbers"),
    "category": ("column of categories", "columns of categories"),
    "text": ("column of text", "columns of text"),
    "similarity": ("similarity matrix", "similarity matrices"),
    "left out": ("column left out", "columns left out"),
}


def methods_section(outcome: CompareOutcome, declared: Declared) -> Section:
    limited = "" if declared.max_train is None else f" (at most {declared.max_train} of them)"
    times = outcome.n_folds // outcome.folds_of_repeat
    repeats = "" if times == 1 else f", {times} times"
    text = (
        f"Every method was fitted in {len(outcome.folds)} folds of nested cross-validation{repeats}: its setting was "
        f"chosen inside the training samples of a fold{limited}, and it predicted samples that had no part in that. "
        "All scores are those of these out-of-fold predictions, which are in out_of_fold.csv. Intervals of 95 % take "
        "other samples and other training sets into account; p-values are corrected for the number of methods."
    )
    blocks: list[Block] = [Text(text=text), _table(outcome), _chart(outcome), _scores_table(outcome)]
    return Section(id="methods", title="The methods compared", blocks=blocks)


def _kind(outcome: CompareOutcome) -> str:
    return "percent" if outcome.scoring.is_share else "number"


def _shown(outcome: CompareOutcome, value: float) -> float:
    return -value if outcome.scoring.is_error else value


def _table(outcome: CompareOutcome) -> Table:
    kind, rival = _kind(outcome), outcome.rival
    against = "" if rival is None else f"against {rival.label}"
    columns = [
        Column("method"),
        Column(outcome.scoring.label, kind, "of the out-of-fold predictions"),
        Column("from", kind, "lower end of the 95 % interval"),
        Column("to", kind, "upper end of the 95 % interval"),
        Column("stored samples", "count", "training samples that the model needs for predictions"),
        Column("seconds", "seconds", "to choose the setting, fit and predict, for a fold"),
        Column("difference", kind, f"of the scores, {against}; positive ones are better"),
        Column("p-value", "p-value", f"{TEST_NAME} {against}, corrected for the number of methods"),
    ]
    notes = [warnings_text(result) for result in outcome.results]
    notes += [f"could not be fitted: {result.failed}" for result in outcome.failed]
    rows = [_row(result, outcome) for result in [*outcome.results, *outcome.failed]]
    rows.append([chance_label(outcome), _shown(outcome, outcome.chance_score), *[None] * 6])
    if any(notes):
        columns.append(Column("note"))
        rows = [[*row, note or None] for row, note in zip(rows, [*notes, None], strict=True)]
    marked = [outcome.results.index(outcome.winner)]
    return Table(title="Methods", columns=columns, rows=rows, marked=marked)


def _row(result: MethodResult, outcome: CompareOutcome) -> list[Cell]:
    if result.failed is not None:
        return [result.label, *[None] * 7]
    stored = result.mean_stored
    return [
        result.label,
        _shown(outcome, result.score),
        *sorted(_shown(outcome, end) for end in result.interval),
        None if stored is None else round(stored),
        float(result.seconds.mean()),
        result.difference,
        result.pvalue,
    ]


def _scores_table(outcome: CompareOutcome) -> Table:
    chance = outcome.judge.all_scores(outcome.chance)
    names = list(chance)
    columns = [
        Column("method"),
        *(Column(SHOWN_AS.get(name, name), "percent" if name in SHARES else "number") for name in names),
    ]
    rows: list[list[Cell]] = [
        [result.label, *(result.all_scores.get(name) for name in names)] for result in outcome.results
    ]
    rows.append([chance_label(outcome), *(chance[name] for name in names)])
    smaller = listed([SHOWN_AS.get(name, name) for name in names if name in SMALLER_IS_BETTER])
    return Table(
        title="All scores",
        columns=columns,
        rows=rows,
        marked=[outcome.results.index(outcome.winner)],
        note=f"Of {smaller} smaller values are better.",
    )


def _chart(outcome: CompareOutcome) -> Dots:
    kind, rival, winner = _kind(outcome), outcome.rival, outcome.winner
    dots = []
    for result in outcome.results:
        low, high = sorted(_shown(outcome, end) for end in result.interval)
        dots.append(Dot(result.label, _shown(outcome, result.score), low, high))
    highest = outcome.highest
    extreme = "lowest" if outcome.scoring.is_error else "highest"
    label = outcome.scoring.label
    return Dots(
        title=f"{label[:1].upper()}{label[1:]} of each method",
        description=f"The {extreme} is {outcome.written(highest.score)}, by {highest.label}; lines are 95 % intervals. "
        f"For comparison, always predicting the {chance_label(outcome)} reaches "
        f"{outcome.written(outcome.chance_score)}.",
        axis=label,
        dots=dots,
        kind=kind,
        reference=None if rival is None else _shown(outcome, rival.score),
        reference_label=""
        if rival is None
        else f"{best_of_rivals(outcome) if rival.is_simple else 'next'}: {rival.label}",
        marked=[winner.label],
    )


def data_rows(cohort: Cohort, declared: Declared) -> list[Any]:
    tables, protocol = cohort.tables, declared.protocol
    overlap = Table(
        title="Samples in the files",
        columns=[Column("where"), *(Column(str(name), "count") for name in tables.overlap.columns)],
        rows=[
            [str(name), *(int(count) for count in row)]
            for name, row in zip(tables.overlap.index, tables.overlap.to_numpy(), strict=True)
        ],
    )
    folds = f"{protocol.n_folds} folds" + (f", {protocol.n_repeats} times" if protocol.n_repeats > 1 else "")
    if declared.problem.task != NUMBERS:
        folds += f", each with the shares of the {'events' if declared.task == SURVIVAL else 'classes'}"
    rows: list[Any] = [
        overlap,
        ("samples", f"{len(declared.problem.y)} with a target"),
        *_matching(tables.matched_by),
        *_columns(declared.kinds["kind"].value_counts()),
        ("task", declared.task, declared.why),
        *([] if declared.positive is None else [("positive class", str(declared.positive))]),
        ("folds", folds),
        ("settings", "chosen inside the training samples of each fold"),
        ("random seed", str(protocol.random_state)),
    ]
    if declared.max_train is not None:
        rows.append(
            (
                "training samples",
                f"at most {declared.max_train} in a fold, because of --quick; the saved model is fitted to all",
            )
        )
    if cohort.groups is not None:
        n_groups = cohort.groups.nunique()
        rows.append(("groups", f"{n_groups} of {cohort.groups.name}, never in training and test at once"))
    rows += [("note", note) for note in declared.notes]
    return rows


def _matching(matched_by: pd.Series) -> list[tuple[str, ...]]:
    hows = matched_by.astype(str)
    if hows.nunique() == 1:
        return [("rows matched by", hows.iloc[0], "the same in every file" if len(hows) > 1 else "")]
    return [("rows matched by", how, listed(part.index, _SHOWN)) for how, part in hows.groupby(hows, sort=False)]


def _columns(counts: pd.Series) -> list[tuple[str, ...]]:
    words = [f"{count:,} {_COLUMNS[str(kind)][count != 1]}" for kind, count in counts.items()]
    return [("columns", ", ".join(words))] if words else []


def results_data(outcome: CompareOutcome, declared: Declared) -> dict[str, Any]:
    protocol, corrected, verdict = declared.protocol, outcome.corrected, outcome.verdict
    return {
        "task": declared.task,
        "task_reason": declared.why,
        "positive": None if declared.positive is None else str(declared.positive),
        "score": outcome.scoring.name,
        "margin": outcome.margin,
        "winner": outcome.winner.method,
        "highest": outcome.highest.method,
        "baseline": None if outcome.baseline is None else outcome.baseline.method,
        "verdict": {
            "kind": verdict.kind,
            "other": None if verdict.other is None else verdict.other.method,
            "difference": verdict.difference,
            "interval": list(verdict.interval),
            "p_value": verdict.pvalue,
            "needed": verdict.needed,
        },
        "beats_chance": outcome.beats_chance,
        "recommendation": " ".join(recommendation(outcome)),
        "corrected": None if corrected is None else dataclasses.asdict(corrected),
        "is_complete": outcome.is_complete,
        "n_samples": len(declared.problem.y),
        "n_folds": protocol.n_folds,
        "n_repeats": protocol.n_repeats,
        "max_train": declared.max_train,
        "seed": protocol.random_state,
        "methods": [_method_data(result) for result in [*outcome.results, *outcome.failed]],
        "nested": {"score": outcome.nested_score, "methods": outcome.nested_methods},
        "chance": {"score": outcome.chance_score, "scores": outcome.judge.all_scores(outcome.chance)},
        "notes": declared.notes,
    }


def _method_data(result: MethodResult) -> dict[str, Any]:
    if result.failed is not None:
        return {"method": result.method, "label": result.label, "failed": result.failed}
    return {
        "method": result.method,
        "label": result.label,
        "is_simple": result.is_simple,
        "score": result.score,
        "interval": list(result.interval),
        "all_scores": result.all_scores,
        "stored_samples": result.mean_stored,
        "seconds": float(result.seconds.mean()),
        "difference": result.difference,
        "p_value": result.pvalue,
        "scores": result.scores.tolist(),
        "validations": result.validations.tolist(),
        "settings": result.settings,
        "n_warnings": result.n_warnings,
        "warning": result.warning,
    }


def folds_table(measured: MeasuredRow, outcome: CompareOutcome, declared: Declared) -> pd.DataFrame:
    """The results of every finished cell: a row for each method and fold, those that failed without numbers."""
    n_folds = declared.protocol.n_folds
    rows = []
    for method in declared.labels:
        for place, split in enumerate(measured.splits):
            if (method, place) not in measured.cells:
                continue
            record = measured.cells[method, place][0]
            is_measured = "failed" not in record
            found = OutOfFold.of([split], [record], [place]) if is_measured else None
            rows.append(
                {
                    "method": method,
                    "repeat": place // n_folds + 1,
                    "fold": place % n_folds + 1,
                    "score": np.nan if found is None else float(outcome.judge.fold_scores(found)[0]),
                    "validation": 1.0 - record["validation"] / 100.0 if is_measured else np.nan,
                    "stored_samples": record["stored"] if is_measured else None,
                    "seconds": record["seconds"] if is_measured else np.nan,
                    "setting": setting_text(record["setting"]) if is_measured else f"failed: {record['failed']}",
                }
            )
    table = pd.DataFrame(rows)
    return table.assign(stored_samples=table["stored_samples"].astype("Int64"))


def predictions_table(outcome: CompareOutcome) -> pd.DataFrame:
    found = {result.method: result.predictions for result in outcome.results}
    return out_of_fold_table(outcome.problem, outcome.problem.X.index, found)


@dataclass(frozen=True)
class FittedModels:
    """The winner, fitted to all samples, and the best kernel machine where the winner is none."""

    best: CohortModel
    kernels: CohortModel | None = None
    kernels_result: MethodResult | None = None


def fitted_models(outcome: CompareOutcome, declared: Declared, *, n_jobs: int | None = None) -> FittedModels:
    def fitted(method: str) -> CohortModel:
        problem = declared.problem
        return declared.model(method, n_jobs=n_jobs).fit(problem.X, problem.y, groups=problem.groups)

    best = fitted(outcome.winner.method)
    others = outcome.task.without_kernels
    if outcome.winner.method not in others:
        return FittedModels(best)
    machine = next((result for result in outcome.results if result.method not in others), None)
    return FittedModels(best) if machine is None else FittedModels(best, fitted(machine.method), machine)


def write_models(
    out: Path, declared: Declared, measured: MeasuredRow, outcome: CompareOutcome, models: FittedModels
) -> Path:
    """Write the models and the tables of folds and predictions; the path of the recommended model."""
    tables = {"folds.csv": folds_table(measured, outcome, declared), "out_of_fold.csv": predictions_table(outcome)}
    texts = {name: as_csv(table) for name, table in tables.items()}
    out.mkdir(parents=True, exist_ok=True)
    save(models.best, out / BEST)
    if models.kernels is not None:
        save(models.kernels, out / BEST_KERNELS)
    else:
        (out / BEST_KERNELS).unlink(missing_ok=True)  # of an earlier run, whose winner was another
    for name, text in texts.items():
        write_atomically(out / name, text)
    return out / BEST


def write_report(
    out: Path,
    cohort: Cohort,
    declared: Declared,
    outcome: CompareOutcome,
    models: FittedModels,
    views: MeasuredRow | None = None,
    provenance: Provenance | None = None,
) -> Path:
    """Write the report as a page, as text and as data; the path of the page."""
    page = build_report(cohort, declared, outcome, models, views, provenance)
    texts = {"report.html": page.to_html(), "report.json": page.to_json(), "report.md": page.to_markdown()}
    for name, text in texts.items():
        write_atomically(out / name, text)
    return out / "report.html"


def build_report(
    cohort: Cohort,
    declared: Declared,
    outcome: CompareOutcome,
    models: FittedModels,
    views: MeasuredRow | None = None,
    provenance: Provenance | None = None,
) -> Report:
    """The report: which method to use, what it predicted, its model; `views` are cells of `view_comparison`.

    Without `provenance` it was made from Python, of the samples of the comparison.
    """
    problem, model, seed = declared.problem, models.best, declared.protocol.random_state
    sentences = headline(outcome)
    if models.kernels_result is not None:
        sentences.append(f"The best kernel machine is {models.kernels_result.label}; it is saved as {BEST_KERNELS}.")
    has_views = model.has_needed_views(problem.X)
    rows = data_rows(cohort, declared)
    n_lacking = int((~has_views).sum())
    if n_lacking:
        lacks = "which lacks" if n_lacking == 1 else "which lack"
        rows.append(
            (
                "sections on the model",
                f"leave {counted(n_lacking, 'sample')} out, {lacks} all views that it needs",
            )
        )
    subject = Subject(model, problem.X[has_views], problem.y[has_views])
    found = scores_of_views(outcome, declared, views)
    made = assembled(
        subject,
        Evaluation(score_of(subject, None), found, why_not="There is one view only."),
        sentences,
        [methods_section(outcome, declared), held_out_section(outcome)],
        data=rows,
        out_of_fold=out_of_fold_values(outcome, has_views),
        title=f"Comparison of methods for {'the target' if cohort.tables.y is None else target_name(cohort.tables.y)}",
        random_state=seed,
        provenance=provenance or made_in_python(problem.X, problem.y, seed),
    )
    data = {"comparison": results_data(outcome, declared), "model": made.contents.data}
    return Report(dataclasses.replace(made.contents, data=data))
