"""What each view gives the recommended method, on the folds of the comparison.

===========  ======================================================================================================
alone        the method ``alone:VIEW`` of the comparison, where it is one of those compared
without      the recommended method without the columns of the view, its setting chosen anew in each fold
exchanged    the recommended method as it was fitted in a fold, where the test samples exchange their rows of the view
===========  ======================================================================================================

A view without which much is lost has something that no other has; one whose exchange costs much is one that the method
relies on. All are cells, in a row of their own, so that a run that was stopped goes on.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from ..model_selection import Split
from ..model_selection.statistics import TEST_NAME, LossTestResult, holm
from ..model_selection.view_permutation import exchanged
from ..recipes import CohortModel
from ..recipes.kinds import LEFT_OUT, SIMILARITY
from ..recipes.methods import ALONE, joins_columns
from ..reporting.scores import COLUMNS, Score, ViewScores
from ..reporting.words import counted
from .comparison import Comparison, Contender, Problem
from .declaration import Declared
from .out_of_fold import OutOfFold
from .outcome import CompareOutcome
from .run import MeasuredRow, measure_candidate

ROW = "views"  # of the comparison, and the folder of its cells
_EXCHANGED = "exchanged"


def views_of(declared: Declared, method: str) -> list[str]:
    """The views that a method reads; none where it reads one alone."""
    if method.startswith(ALONE):
        return []
    kinds = declared.kinds
    left_out = [LEFT_OUT, SIMILARITY] if joins_columns(method) else [LEFT_OUT]
    return list(dict.fromkeys(kinds["view"][~kinds["kind"].isin(left_out)]))


def view_comparison(declared: Declared, method: str) -> Comparison | None:
    """The comparison of a method with itself without each view; None where it reads fewer than two."""
    views = views_of(declared, method)
    if len(views) < 2:
        return None
    models = {f"{method} without {view}": {"": _without(declared, method, view)} for view in views}
    models[f"{method} {_EXCHANGED}"] = {_EXCHANGED: declared.model(method)}
    columns = {view: np.flatnonzero((declared.kinds["view"] == view).to_numpy()) for view in views}
    return dataclasses.replace(
        declared.comparison,
        datasets={ROW: declared.problem},
        contenders=tuple(Contender(name, partial(_given, candidates)) for name, candidates in models.items()),
        measure=partial(_measure, columns=columns),
    )


def _given(candidates: dict[str, CohortModel], problem: Problem) -> dict[str, CohortModel]:
    return candidates


def _without(declared: Declared, method: str, view: str) -> CohortModel:
    """The method without a view: its columns are left out, and so is its similarity matrix."""
    kinds = declared.kinds["kind"].mask(declared.kinds["view"] == view, LEFT_OUT)
    matrices = {name: matrix for name, matrix in (declared.options["matrices"] or {}).items() if name != view}
    return declared.model(method, kinds=kinds, matrices=matrices or None)


def _measure(
    label: str, model: Any, problem: Problem, split: Split, parts: list[Any], *, columns: dict[str, np.ndarray]
) -> dict[str, Any]:
    if label != _EXCHANGED:
        return measure_candidate(label, model, problem, split, parts, keeps=True)
    groups = {} if problem.groups is None else {"groups": problem.groups[split.train]}
    fitted = clone(model).fit(parts[0], problem.y[split.train], **groups)
    random = np.random.RandomState(split.test)
    found = {view: problem.predictions(fitted, exchanged(parts[2], own, random)) for view, own in columns.items()}
    return {"candidate": label, _EXCHANGED: found}


def scores_of_views(outcome: CompareOutcome, declared: Declared, measured: MeasuredRow | None) -> ViewScores | None:
    """What each view gives the recommended method in the folds that count; None without two views, or any result."""
    names = list(dict.fromkeys(declared.kinds["view"][declared.kinds["kind"] != LEFT_OUT]))
    table = pd.DataFrame(index=names, columns=COLUMNS, dtype=np.float64)
    sign = -1.0 if outcome.scoring.is_error else 1.0
    for result in outcome.results:
        if result.method.startswith(ALONE):
            ends = sorted(sign * end for end in result.interval)
            table.loc[result.method.removeprefix(ALONE), ["alone", "alone low", "alone high"]] = [
                sign * result.score,
                *ends,
            ]
    tests = [] if measured is None else [_add_losses(table, view, outcome, measured) for view in names]
    if len(names) < 2 or table[["alone", "without"]].isna().all(axis=None):
        return None
    pvalues = np.array([np.nan if test is None else test.pvalue for test in tests] or [np.nan] * len(names))
    table["p"] = np.where(np.isnan(pvalues), np.nan, holm(np.nan_to_num(pvalues, nan=1.0)))
    return ViewScores(
        table,
        Score(outcome.scoring.label, "percent" if outcome.scoring.is_share else "number", outcome.scoring.is_error),
        sign * outcome.winner.score,
        where=f"{counted(len(outcome.folds), 'fold')} of {counted(outcome.n_tested, 'sample')}",
        about=_about(outcome, measured),
        spread="Bars are 95 % intervals.",
        test=TEST_NAME,
        margin=outcome.margin,
    )


def _add_losses(
    table: pd.DataFrame, view: str, outcome: CompareOutcome, measured: MeasuredRow
) -> LossTestResult | None:
    """Write into the table what is lost without a view, and where it is exchanged; the test of the former."""
    method, whole, judge = outcome.winner.method, outcome.winner.predictions, outcome.judge
    sign = -1.0 if outcome.scoring.is_error else 1.0
    exchanged_view = _predictions(outcome, measured, f"{method} {_EXCHANGED}", view)
    if exchanged_view is not None:
        test = judge.test(whole, exchanged_view)
        table.loc[view, ["permuted", "permuted low", "permuted high"]] = [test.difference, *test.interval()]
    found = _predictions(outcome, measured, f"{method} without {view}")
    if found is None:
        return None
    test = judge.test(whole, found)
    ends = sorted(sign * end for end in judge.interval(found))
    table.loc[view, ["without", "without low", "without high"]] = [sign * judge.score(found), *ends]
    table.loc[view, ["loss", "loss low", "loss high"]] = [test.difference, *test.interval()]
    return test


def _predictions(
    outcome: CompareOutcome, measured: MeasuredRow, contender: str, view: str | None = None
) -> OutOfFold | None:
    """The predictions of a cell in all folds that count; None where one is missing, failed or reads no such view."""
    cells = [measured.cells.get((contender, fold)) for fold in outcome.folds]
    if any(cell is None or "failed" in cell[0] for cell in cells):
        return None
    whole = [cell[0] for cell in cells if cell is not None]
    if view is not None and any(view not in record[_EXCHANGED] for record in whole):
        return None
    records = whole if view is None else [record[_EXCHANGED][view] for record in whole]
    return OutOfFold.of([measured.splits[fold] for fold in outcome.folds], records, outcome.folds)


def _about(outcome: CompareOutcome, measured: MeasuredRow | None) -> str:
    label = outcome.winner.label
    alone = "The scores of each view alone are those of the comparison above."
    if outcome.winner.method.startswith(ALONE):
        return f"{alone} {label} reads no other view."
    if measured is None:
        return f"{alone} What {label} loses without each view was not measured, for want of time or of views."
    failed = {cell[0]["failed"] for cell in measured.cells.values() if "failed" in cell[0]}
    reasons = f" Some could not be fitted: {'; '.join(sorted(failed))}." if failed else ""
    return (
        f"In the same folds {label} was fitted again without each view, and predicted the test samples where they "
        f"exchange their rows of a view. {alone} A view that scores high alone is informative; one without which much "
        "is lost has something that no other view has; one whose exchange costs much is one that the method relies on. "
        f"Views that say the same score high alone and cost little to leave out.{reasons}"
    )
