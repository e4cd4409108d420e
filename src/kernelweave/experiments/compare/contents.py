"""What a report says about a comparison: the section on methods, the rows on data, and the numbers for programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...files.cohort import Cohort
from ...model_selection.paired_losses import TEST_NAME
from ...recipes.search import setting_text
from ...reporting.content import Block, Cell, Column, Dot, Dots, Section, Table, Text
from ...reporting.words import listed, reach
from ..engine.comparison_run import MeasuredRow
from .declaration import Declared
from .outcome import CompareOutcome, MethodResult
from .words import incomplete_sentence, nested_sentence, recommendation, score_text

CHOICE = "choice by validation"
_SHOWN = 5  # files that a row lists
_COLUMNS = {
    "number": ("column of numbers", "columns of numbers"),
    "category": ("column of categories", "columns of categories"),
    "text": ("column of text", "columns of text"),
    "similarity": ("similarity matrix", "similarity matrices"),
    "left out": ("column left out", "columns left out"),
}


def chance_label(outcome: CompareOutcome) -> str:
    """What tables call the prediction that reads nothing of a sample."""
    return "most frequent class" if outcome.is_classification else "mean of the target"


def headline(outcome: CompareOutcome) -> list[str]:
    """The sentences to read first."""
    sentences = [*recommendation(outcome), nested_sentence(outcome)]
    return sentences if outcome.is_complete else [*sentences, incomplete_sentence(outcome)]


def warnings_text(result: MethodResult) -> str:
    """How many warnings there were while a method was fitted, and the first of them; empty for none."""
    if not result.n_warnings:
        return ""
    number = "1 warning" if result.n_warnings == 1 else f"{result.n_warnings} warnings"
    return f"{number} in the folds, such as {result.warning}"


def methods_section(outcome: CompareOutcome, declared: Declared) -> Section:
    """The table of methods and the chart of their scores.

    Parameters
    ----------
    outcome : CompareOutcome
    declared : Declared
    """
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
        Column(_measure(outcome), kind, "mean over the test samples of all folds"),
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
        title=f"{_measure(outcome).capitalize()} of each method",
        description=f"The highest mean is {score_text(first.mean, outcome.is_classification)}, by {first.label}; lines "
        "reach one standard deviation over folds to either side. For comparison, always predicting "
        f"the {chance_label(outcome)} reaches {score_text(chance, outcome.is_classification)}.",
        axis=_measure(outcome),
        dots=dots,
        kind=kind,
        reference=None if base is None else base.mean,
        reference_label="" if base is None else f"best simple method: {base.label}",
        marked=[first.label],
    )


def _measure(outcome: CompareOutcome) -> str:
    return "accuracy" if outcome.is_classification else "R²"


def data_rows(cohort: Cohort, declared: Declared) -> list[Any]:
    """What was read and decided, for the section on data: the overlap of the files, and rows of decisions.

    Parameters
    ----------
    cohort : Cohort
    declared : Declared
    """
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
    """By what the rows of the files belong together: one row where it is the same for all files."""
    hows = matched_by.astype(str)
    if hows.nunique() == 1:
        return [("rows matched by", hows.iloc[0], "the same in every file" if len(hows) > 1 else "")]
    return [("rows matched by", how, listed(part.index, _SHOWN)) for how, part in hows.groupby(hows, sort=False)]


def _columns(counts: pd.Series) -> list[tuple[str, ...]]:
    """How many columns of each kind there are."""
    words = [f"{count:,} {_COLUMNS[str(kind)][count != 1]}" for kind, count in counts.items()]
    return [("columns", ", ".join(words))] if words else []


def results_data(outcome: CompareOutcome, declared: Declared) -> dict[str, Any]:
    """The results for programs.

    Parameters
    ----------
    outcome : CompareOutcome
    declared : Declared
    """
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
    """The results of every finished cell: a row for each method and fold, those that failed without numbers.

    Parameters
    ----------
    measured : MeasuredRow
    declared : Declared
    """
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
