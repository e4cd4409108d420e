"""The results of a comparison of methods: which to use and why, the report, and the files with the models.

Everything is made before anything is written.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config

from ..files.base import as_csv
from ..files.read import Cohort
from ..model_selection.statistics import TEST_NAME
from ..recipes import CohortModel
from ..recipes.search import setting_text
from ..reporting import report
from ..reporting.content import Block, Cell, Column, Dot, Dots, Section, Table, Text
from ..reporting.page import Report
from ..reporting.words import listed, p_text, reach
from ..saving import save
from .cells import write_atomically
from .declaration import Declared
from .outcome import CompareOutcome, MethodResult, simplicity
from .run import MeasuredRow

CHOICE = "choice by validation"
BEST, BEST_KERNELS = "best.kw", "best-kernels.kw"
_WITHOUT_KERNELS = ("linear", "forest", "boosting", "stacking")  # their models are no kernel machines
_SHOWN = 5  # files that a row lists
_COLUMNS = {
    "number": ("column of numbers", "columns of numbers"),
    "category": ("column of categories", "columns of categories"),
    "text": ("column of text", "columns of text"),
    "similarity": ("similarity matrix", "similarity matrices"),
    "left out": ("column left out", "columns left out"),
}


def headline(outcome: CompareOutcome) -> list[str]:
    sentences = [*recommendation(outcome), nested_sentence(outcome)]
    return sentences if outcome.is_complete else [*sentences, incomplete_sentence(outcome)]


def recommendation(outcome: CompareOutcome) -> list[str]:
    winner = outcome.winner
    text = []
    if not outcome.beats_chance:
        text.append(
            f"No method is clearly better than always predicting the {chance_label(outcome)} "
            f"({outcome.score_text(float(outcome.chance.mean()))}): these data may not predict the target at all."
        )
    start = "Use" if outcome.beats_chance else "If a model is needed nevertheless, use"
    text.append(f"{start} {winner.label}: {_reason(outcome)}.")
    text += _ties(outcome)
    alternative = simpler_choice(outcome)
    if alternative is None:
        return [*text, *_beside(outcome)]
    gap = _gap_text(outcome, abs(winner.mean - alternative.mean))
    pvalue = outcome.pvalue(alternative, winner)
    text.append(
        f"The difference to {alternative.label} of {gap} is within noise ({p_text(pvalue)}): {alternative.label} is "
        "the simpler choice, and these data do not show that it is worse."
    )
    return text


def _gap_text(outcome: CompareOutcome, value: float) -> str:
    return f"{100.0 * value:.1f} percentage points" if outcome.is_classification else f"{value:.3f}"


def simpler_choice(outcome: CompareOutcome) -> MethodResult | None:
    """The best method that is simpler than the winner and within noise of it, a simple baseline first."""
    winner = outcome.winner
    simpler = [
        result
        for result in outcome.results[1:]
        if simplicity(result.method) < simplicity(winner.method) and outcome.within_noise(winner, result)
    ]
    simpler = [result for result in simpler if result.is_simple] or simpler
    return simpler[0] if simpler else None


def nested_sentence(outcome: CompareOutcome) -> str:
    mean = outcome.score_text(float(outcome.nested.mean()))
    std = outcome.score_text(float(outcome.nested.std(ddof=1)))
    names = {result.method: result.label for result in outcome.results}
    counts = {method: outcome.nested_methods.count(method) for method in dict.fromkeys(outcome.nested_methods)}
    chosen = "; ".join(
        f"{names[method]}, {count} of {len(outcome.folds)} times"
        for method, count in sorted(counts.items(), key=lambda pair: -pair[1])
    )
    count = len(outcome.results)
    best = f": an honest estimate for the winner, whose own score is the best of {count} and so a little too good"
    return (
        f"Where the training samples of each fold choose the method, too, {outcome.measure} is {mean} ± {std} "
        f"(chosen: {chosen}){best if count > 1 else ''}."
    )


def incomplete_sentence(outcome: CompareOutcome) -> str:
    text = f"{outcome.n_done} of {outcome.n_cells} results are there: "
    text += f"{len(outcome.folds)} of {outcome.n_folds} folds count"
    if outcome.unfinished:
        text += f", without {', '.join(outcome.unfinished)}"
    return f"{text}. The same command goes on."


def _reason(outcome: CompareOutcome) -> str:
    winner = outcome.winner
    mean = outcome.score_text(winner.mean)
    if len(outcome.results) == 1:
        return f"it is the only method here, with {outcome.measure} {mean}"
    return f"its {outcome.measure} of {mean} is the highest of {len(outcome.results)} methods"


def _ties(outcome: CompareOutcome) -> list[str]:
    winner = outcome.winner
    others = [result.label for result in outcome.results[1:] if round(result.mean - winner.mean, 10) == 0.0]
    if not others:
        return []
    names = others[0] if len(others) == 1 else f"{', '.join(others[:-1])} and {others[-1]}"
    return [f"That is as high as that of {names}; {winner.label} is the simplest of them."]


def _beside(outcome: CompareOutcome) -> list[str]:
    winner, base = outcome.winner, outcome.baseline
    if len(outcome.results) == 1:
        return []
    is_next = winner.is_simple or base is None
    other = outcome.results[1] if is_next or base is None else base
    what = f"the next, {other.label}," if is_next else f"the best simple method, {other.label},"
    margin, pvalue = _gap_text(outcome, winner.mean - other.mean), p_text(outcome.pvalue(other, winner))
    if not outcome.within_noise(winner, other):
        return [f"It is better than {what} by {margin} ({pvalue})."]
    is_simpler = is_next and simplicity(winner.method) < simplicity(other.method)
    simpler = f", but {winner.label} is the simpler choice" if is_simpler else ""
    return [f"The difference to {what} of {margin} is within noise ({pvalue}){simpler}."]


def chance_label(outcome: CompareOutcome) -> str:
    return "most frequent class" if outcome.is_classification else "mean of the target"


def warnings_text(result: MethodResult) -> str:
    if not result.n_warnings:
        return ""
    number = "1 warning" if result.n_warnings == 1 else f"{result.n_warnings} warnings"
    return f"{number} in the folds, such as {result.warning}"


def methods_section(outcome: CompareOutcome, declared: Declared) -> Section:
    limited = "" if declared.max_train is None else f" (at most {declared.max_train} of them)"
    text = (
        f"Every method was fitted in {len(outcome.folds)} folds of nested cross-validation: its setting was chosen "
        f"inside the training samples of a fold{limited}, and it was scored on samples that had no part in that. "
        f'"{CHOICE.capitalize()}" takes in each fold the method with the best score inside the training samples.'
    )
    blocks: list[Block] = [Text(text=text), _table(outcome), _chart(outcome)]
    return Section(id="methods", title="The methods compared", blocks=blocks)


def _table(outcome: CompareOutcome) -> Table:
    kind = "percent" if outcome.is_classification else "number"
    base = outcome.baseline
    against = "against the best simple method" if base is None else f"against {base.label}"
    columns = [
        Column("method"),
        Column(outcome.measure, kind, "mean over the test samples of all folds"),
        Column("spread", kind, "standard deviation over folds"),
        Column("stored samples", "count", "training samples that the model needs for predictions"),
        Column("seconds", "seconds", "to choose the setting, fit and predict, for a fold"),
        Column("difference", kind, f"of the mean score, {against}"),
        Column("p-value", "p-value", f"{TEST_NAME} {against}"),
    ]
    notes = [warnings_text(result) for result in outcome.results]
    notes += [f"could not be fitted: {result.failed}" for result in outcome.failed]
    rows = [_row(result) for result in [*outcome.results, *outcome.failed]]
    for label, scores in ((CHOICE, outcome.nested), (chance_label(outcome), outcome.chance)):
        rows.append([label, float(scores.mean()), float(scores.std(ddof=1)), None, None, None, None])
    if any(notes):
        columns.append(Column("note"))
        rows = [[*row, note or None] for row, note in zip(rows, [*notes, None, None], strict=True)]
    return Table(title="Methods", columns=columns, rows=rows, marked=[0])


def _row(result: MethodResult) -> list[Cell]:
    if result.failed is not None:
        return [result.label, None, None, None, None, None, None]
    stored = result.mean_stored
    return [
        result.label,
        result.mean,
        result.std,
        None if stored is None else round(stored),
        float(result.seconds.mean()),
        result.difference,
        result.pvalue,
    ]


def _chart(outcome: CompareOutcome) -> Dots:
    ranges = [(result.label, result.scores) for result in outcome.results] + [(CHOICE, outcome.nested)]
    kind = "percent" if outcome.is_classification else "number"
    dots = [
        Dot(label, float(scores.mean()), *reach(float(scores.mean()), float(scores.std(ddof=1)), kind))
        for label, scores in ranges
    ]
    chance, first, base = float(outcome.chance.mean()), outcome.winner, outcome.baseline
    return Dots(
        title=f"{outcome.measure.capitalize()} of each method",
        description=f"The highest mean is {outcome.score_text(first.mean)}, by {first.label}; lines "
        "reach one standard deviation over folds to either side. For comparison, always predicting "
        f"the {chance_label(outcome)} reaches {outcome.score_text(chance)}.",
        axis=outcome.measure,
        dots=dots,
        kind=kind,
        reference=None if base is None else base.mean,
        reference_label="" if base is None else f"best simple method: {base.label}",
        marked=[first.label],
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
    if declared.problem.is_classification:
        folds += ", each with the shares of the classes"
    rows: list[Any] = [
        overlap,
        ("samples", f"{len(declared.problem.y)} with a target"),
        *_matching(tables.matched_by),
        *_columns(declared.kinds["kind"].value_counts()),
        ("task", declared.task, declared.why),
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
    protocol = declared.protocol
    return {
        "task": declared.task,
        "task_reason": declared.why,
        "score": "accuracy" if outcome.is_classification else "R2",
        "winner": outcome.winner.method,
        "baseline": None if outcome.baseline is None else outcome.baseline.method,
        "recommendation": " ".join(recommendation(outcome)),
        "is_complete": outcome.is_complete,
        "n_samples": len(declared.problem.y),
        "n_folds": protocol.n_folds,
        "n_repeats": protocol.n_repeats,
        "max_train": declared.max_train,
        "seed": protocol.random_state,
        "methods": [_method_data(result) for result in [*outcome.results, *outcome.failed]],
        "nested": {
            "mean": float(outcome.nested.mean()),
            "std": float(outcome.nested.std(ddof=1)),
            "scores": outcome.nested.tolist(),
            "methods": outcome.nested_methods,
        },
        "chance": {"mean": float(outcome.chance.mean()), "scores": outcome.chance.tolist()},
        "notes": declared.notes,
    }


def _method_data(result: MethodResult) -> dict[str, Any]:
    if result.failed is not None:
        return {"method": result.method, "label": result.label, "failed": result.failed}
    return {
        "method": result.method,
        "label": result.label,
        "is_simple": result.is_simple,
        "mean": result.mean,
        "std": result.std,
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


def folds_table(measured: MeasuredRow, declared: Declared) -> pd.DataFrame:
    """The results of every finished cell: a row for each method and fold, those that failed without numbers."""
    n_folds = declared.protocol.n_folds
    rows = []
    for method in declared.labels:
        for place in range(len(measured.splits)):
            if (method, place) not in measured.cells:
                continue
            record = measured.cells[method, place][0]
            is_measured = "failed" not in record
            rows.append(
                {
                    "method": method,
                    "repeat": place // n_folds + 1,
                    "fold": place % n_folds + 1,
                    "score": 1.0 - record["test"] / 100.0 if is_measured else np.nan,
                    "validation": 1.0 - record["validation"] / 100.0 if is_measured else np.nan,
                    "stored_samples": record["stored"] if is_measured else None,
                    "seconds": record["seconds"] if is_measured else np.nan,
                    "setting": setting_text(record["setting"]) if is_measured else f"failed: {record['failed']}",
                }
            )
    table = pd.DataFrame(rows)
    return table.assign(stored_samples=table["stored_samples"].astype("Int64"))


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

    With `with_views` it has a cross-validation of what each view gives, which takes a while.
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
    has_views = model.has_needed_views(problem.X)
    rows = data_rows(cohort, declared)
    if not has_views.all():
        rows.append(
            (
                "sections on the model",
                f"leave {int((~has_views).sum())} samples out, which lack all views that it needs",
            )
        )
    groups = None if problem.groups is None else problem.groups[has_views]
    folds: Any = False
    if with_views:
        splits = protocol.split(problem.y[has_views], problem.is_classification, groups=groups)[: protocol.n_folds]
        folds = [(split.train, split.test) for split in splits]
    made = report(
        model,
        problem.X[has_views],
        problem.y[has_views],
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
