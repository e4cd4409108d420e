"""``kernelweave compare``: methods on people's own files under nested cross-validation, and which of them to use."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import chdir, nullcontext
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..compare import Comparison
from ..compare.declaration import Declared, declare
from ..compare.outcome import CompareOutcome, MethodResult, gather
from ..compare.report import BEST_KERNELS, fitted_models, write_models, write_report
from ..compare.run import measure_row
from ..compare.views import view_comparison
from ..compare.words import chance_label, headline, warnings_text
from ..engines.dask import connected
from ..files.read import Cohort
from ..reporting.formatting import without_minus_zero
from ..reporting.provenance import keep_record
from ..reporting.words import counted, p_text
from .columns import column_options
from .fit import described_cohort, read_training_samples
from .inputs import made_by, training_inputs
from .messages import GOES_ON, INTERRUPTED, counting, one_line, say, working


def run(chosen: argparse.Namespace) -> int:
    until = None if chosen.max_time is None else time.monotonic() + chosen.max_time
    try:
        return _run(chosen, until)
    except KeyboardInterrupt:
        print(GOES_ON, file=sys.stderr)
        return INTERRUPTED


def _run(chosen: argparse.Namespace, until: float | None) -> int:
    cohort = read_training_samples(chosen)
    declared = _declared(cohort, chosen)
    say([*described_cohort(cohort, declared.task, declared.why), *_plan(declared), *declared.notes])
    inputs = training_inputs(chosen, cohort.tables.overlap)
    was_there = (chosen.out / "report.html").exists()
    with nullcontext() if chosen.dask is None else connected(chosen.dask) as client:
        measured = _measured(declared, chosen, until, client)
        outcome = gather(
            measured, declared.labels, scoring=declared.scoring, margin=declared.margin, positive=declared.positive
        )
        _show(outcome)
        with working(f"fitting {outcome.winner.label} to all samples"):
            models = fitted_models(outcome, declared, n_jobs=chosen.jobs)
            for fitted in filter(None, (models.best, models.kernels)):
                keep_record(fitted, chosen.seed, inputs)
            model = write_models(chosen.out, declared, measured, outcome, models)
        views = _measured(declared, chosen, until, client, method=outcome.winner.method)
    try:
        with working("writing the report"):
            made = made_by(chosen, chosen.seed, inputs)
            page = write_report(chosen.out, cohort, declared, outcome, models, views, made)
    except Exception as error:
        raise ValueError(f"the report could not be made ({error}); the model is there: {model}") from error
    say([f"Report: {page}", f"Model:  {model}"])
    if models.kernels_result is not None:
        say([f"{chosen.out / BEST_KERNELS} holds the best kernel machine, {models.kernels_result.label}."])
    if was_there:
        say([f"The report, the models and the tables in {chosen.out} are written anew; the rest there is as it was."])
    return 0


def _declared(cohort: Cohort, chosen: argparse.Namespace) -> Declared:
    assert cohort.tables.y is not None  # there is a target
    return declare(
        cohort.tables.X,
        cohort.tables.y,
        matrices=cohort.matrices,
        groups=cohort.groups,
        **column_options(chosen, cohort.tables.X.columns),
        task=chosen.task,
        methods=chosen.methods,
        folds=chosen.folds,
        repeats=chosen.repeats,
        seed=chosen.seed,
        quick=chosen.quick,
        scoring=chosen.scoring,
        positive=chosen.positive,
        margin=chosen.margin,
        class_weight=chosen.class_weight,
    )


class Reread:
    """The comparison of a call, from its files, where this is called: on a worker, from the folder of the call.

    With `method` it is that of the method with itself without each view.
    """

    def __init__(self, chosen: argparse.Namespace, method: str | None = None):
        options = {name: value for name, value in vars(chosen).items() if name != "parser"}
        self.chosen, self.folder, self.method = argparse.Namespace(**options), Path.cwd(), method

    def __call__(self) -> Comparison:
        with chdir(self.folder):
            found = _comparison(_declared(read_training_samples(self.chosen), self.chosen), self.method)
        assert found is not None  # as where it was declared first
        return found


def _comparison(declared: Declared, method: str | None) -> Comparison | None:
    return declared.comparison if method is None else view_comparison(declared, method)


def _plan(declared: Declared) -> list[str]:
    protocol = declared.protocol
    times = "" if protocol.n_repeats == 1 else f", {protocol.n_repeats} times"
    limit = declared.max_train
    limited = "" if limit is None else f"; --quick: at most {limit} samples train in a fold, all of them in the end"
    number = counted(len(declared.labels), "method")
    return [f"Comparing {number} by nested cross-validation, {protocol.n_folds} folds{times}{limited}."]


def _measured(
    declared: Declared, chosen: argparse.Namespace, until: float | None, client: Any, *, method: str | None = None
) -> Any:
    """The cells of the comparison or, of a method, of what each view gives it; None where it reads fewer than two."""
    comparison = _comparison(declared, method)
    if comparison is None:
        return None
    folder = chosen.out / "cells" / comparison.name
    row, doing = next(iter(comparison.datasets)), "comparing" if method is None else "leaving views out"
    with counting(doing, 28) as show:

        def tell(done: int, total: int, name: str) -> None:
            if done and not name and method is None:
                are = "is" if done == 1 else "are"
                say([f"{done} of {total} results {are} in {folder} from an earlier run, and {are} not computed again."])
            show(done, total, declared.labels.get(name, name) if name else doing)

        return measure_row(
            comparison,
            row,
            folder,
            n_jobs=chosen.jobs,
            progress=tell,
            until=until,
            client=client,
            reread=None if client is None else Reread(chosen, method),
        )


def _show(outcome: CompareOutcome) -> None:
    console = Console()
    console.print(_table(outcome), highlight=False)
    say([f"{result.label} could not be fitted: {result.failed}" for result in outcome.failed])
    say([f"{result.label}: {warnings_text(result)}" for result in outcome.results if result.n_warnings])
    say(headline(outcome))


def _table(outcome: CompareOutcome) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("method", overflow="fold")
    score = outcome.scoring.label.replace("²", "2").replace(" ", "\n")
    areas = ["ROC\nAUC"] if _has_areas(outcome) else []
    for name in (score, "95 %\ninterval", *areas, "seconds", "difference", "p-value"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in outcome.results:
        style = "bold" if result is outcome.winner else None
        table.add_row(Text(one_line(result.label)), *_cells(result, outcome), style=style)
    for result in outcome.failed:
        table.add_row(Text(one_line(result.label)), "failed")
    table.add_section()
    table.add_row(chance_label(outcome), outcome.written(outcome.chance_score))
    return table


def _has_areas(outcome: CompareOutcome) -> bool:
    return outcome.is_classification and outcome.scoring.label != "ROC AUC"


def _cells(result: MethodResult, outcome: CompareOutcome) -> list[str]:
    ends = sorted((outcome.written(end) for end in result.interval), key=lambda text: float(text.removesuffix(" %")))
    cells = [outcome.written(result.score), " to ".join(end.removesuffix(" %") for end in ends)]
    if _has_areas(outcome):
        cells.append(f"{result.all_scores.get('ROC AUC', float('nan')):.3f}")
    cells.append(f"{result.seconds.mean():.1f}")
    if result.difference is None or result.pvalue is None:
        return [*cells, "-", "-"]
    scale = 100.0 if outcome.scoring.is_share else 1.0
    difference = f"{scale * result.difference:+.1f}" if scale > 1.0 else f"{result.difference:+.3f}"
    return [*cells, without_minus_zero(difference), p_text(result.pvalue).removeprefix("p ").removeprefix("= ")]
