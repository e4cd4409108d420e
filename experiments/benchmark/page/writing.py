"""`write_benchmark_page`: the page of the benchmark with its pictures, written from the table of cells alone."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.benchmark.data_sets import DATA_SETS
from experiments.benchmark.entries import list_methods
from experiments.benchmark.page.findings import (
    OURS,
    Lead,
    baseline_sentences,
    cost_sentences,
    count_words,
    counted,
    critical_sentences,
    escaped,
    italic,
    lead_sentences,
    leads,
    listed,
    named_against_best,
    named_sentences,
    standing_sentences,
)
from experiments.benchmark.page.pictures import draw_accuracy_against, draw_critical_differences
from experiments.benchmark.page.ranks import KINDS, NAMED, Ranking, SharedCells, rank_methods, shared_cells
from experiments.benchmark.page.tables import (
    costs_table,
    failures_table,
    leads_table,
    mean_over_sets,
    measure_tables,
    overall_table,
    sets_table,
)
from experiments.benchmark.page.tasks import task_sections
from experiments.benchmark.results import save_results
from experiments.benchmark.run import MAX_SECONDS, QUICK_SECONDS, SPLITS
from experiments.benchmark.selection import BUDGET, FOLDS
from experiments.benchmark.tasks.task import TASKS, find_task, read_task
from kernelweave.compare.cells import write_atomically

_LEGEND = """| column | meaning |
| --- | --- |
| method | those of others than Kernelweave are marked |
| accuracy | of the test samples, per cent |
| rank | mean over data sets, 1 for the best; equal ones share the mean of their ranks, failed ones are last |
| W-T-L | data sets on which the method beats *{baseline}*, ties with it and loses to it |
| p | Wilcoxon's signed rank test of mean differences by data set, after Holm's correction for the number of methods |
| log loss | of the test samples |
| failed | data sets on which the method could not be fitted; its accuracy and log loss leave them out, and are in \
brackets because they cannot be compared |"""
_COST_LEGEND = """Means over the same data sets. *Stored*: training samples that predictions need, none for linear
models and trees (where *auto* chose a forest on some sets, the mean over the others); *seconds*: processor time of
selection and fit; *prediction*: seconds for all test samples; *MB*: memory above that at the start."""
_MARKS = """One mark for each method: the mean over data sets of its accuracy relative to that of the best method there,
against what it costs. A star marks methods that failed on some data sets, which their means leave out. The axis of
accuracies is logarithmic in what is missing to 100 per cent."""
_CRITICAL = """Mean ranks on one axis, after Demšar (2006): a bar joins methods that Nemenyi's test does not tell apart
at the level 0.05. N is the effective number of data sets: the masked forms of one set are not independent, and count as
if they were copies."""
_LEADS = """The best of the {n_ours} methods of Kernelweave and the best of the {n_others} others on each data set, the
largest leads of others first. *Ahead*: accuracy of the first less that of the second, in points. Both are chosen by
the accuracy on the test samples, which favours the side with more methods. *p*: test of held-out losses of the two,
an upper limit because cells hold accuracies only; bold below 0.05, without a correction for the number of data sets."""
_RUN = """Every method chooses among at most {budget} settings by {folds} stratified folds of the training samples.
After {seconds:g} seconds of a cell no further setting is begun. A method that chooses by itself, as *auto* does, counts
as one setting: its folds are its own, and no limit stops it. All {n_cells} cells are in `results.json` beside the
pictures, from which `read_results` and `write_benchmark_page` of `experiments.benchmark` write this page
again."""
_SETS = """*views*: several views; *masked*: the same with views that are missing at random (`-random`) or by block
(`-block`); *kernels*: one table, which several kernels compare. *Train*, *test*: samples of a split."""
_KIND_TITLES = {
    None: "All data sets",
    "views": "Several views",
    "masked": "Views that are missing",
    "kernels": "Several kernels of one table",
}
_COSTS = {
    "stored": ("stored training samples, mean over data sets", "none"),
    "seconds": ("seconds of processor time for selection and fit, mean over data sets", ""),
}


def write_benchmark_page(cells: pd.DataFrame, page: Any) -> list[Path]:
    """Write the page of the benchmark in Markdown, and beside it a folder with its pictures and ``results.json``.

    Everything on the page is computed from the cells. Where cells are missing, ranks leave methods or data sets out and
    the page names them. Without matplotlib the page has no pictures.

    Parameters
    ----------
    cells : DataFrame
        As `load_cells` or `read_results` returns it.
    page : path
        The file to write, such as ``docs/benchmark.md``; the folder is then ``docs/benchmark``.

    Returns
    -------
    list of Path
        The files that were written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from experiments.benchmark import write_benchmark_page
    >>> cells = pd.DataFrame({"set": ["wdbc", "heart"] * 2, "method": ["EasyMKL"] * 2 + ["random forest"] * 2})
    >>> cells = cells.assign(kind="kernels", family=["kernelweave"] * 2 + ["rival"] * 2, split=0, failed="")
    >>> cells = cells.assign(n_train=80, n_test=200, accuracy=[0.9, 0.8, 0.95, 0.7], log_loss=0.3, stored=40.0)
    >>> cells = cells.assign(seconds=[2.0, 2.0, 1.0, 1.0], predict_seconds=0.1, memory_mb=10.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write_benchmark_page(cells, Path(folder) / "benchmark.md")
    ...     text = files[0].read_text()
    >>> text.splitlines()[0]
    '# Benchmark: kernels over several views'
    """
    if cells.empty:
        raise ValueError("there are no cells to write a page of; run python -m experiments benchmark first")
    path = Path(page)
    shared = shared_cells(cells)
    rankings = {kind: rank_methods(shared.of_kind(kind)) for kind in (None, *KINDS) if kind in {None, *cells["kind"]}}
    found = leads(shared)
    folder = path.with_suffix("")
    files = [folder / "results.json"]
    save_results(cells, files[0])
    pictures = _draw(shared, rankings, folder) if find_spec("matplotlib") is not None else {}
    parts = [
        *_head(cells, path, named_against_best(rankings[None], shared.families, NAMED)),
        *_findings(shared, rankings, found),
        *_overall(shared, rankings[None], pictures),
        *_by_kind(rankings, pictures),
        *_where_others_win(shared, found),
        *_run(cells, shared, path),
        *_tables(shared, rankings),
        *_failures(cells),
        *_tasks(path),
        *_missing(cells, path),
    ]
    write_atomically(path, "\n\n".join(parts) + "\n")
    return [path, *files, *(path.parent / link for link in pictures.values())]


def _head(cells: pd.DataFrame, path: Path, first: str | None) -> list[str]:
    about = cells.attrs.get("about", {})
    made = [f"Kernelweave {about['version']}"] if "version" in about else []
    made += [f"run until {about['date']}"] if "date" in about else []
    made += [f"a machine with {counted(about['cores'], 'core')}"] if about.get("cores") else []
    has_rules = (path.parent / "benchmark_enter.md").exists()
    rules = "[Entering a method](benchmark_enter.md)" if has_rules else "The page on entering a method"
    n_methods, n_sets, n_splits = (cells[column].nunique() for column in ("method", "set", "split"))
    said = [
        f"{counted(n_methods, 'method')} on {counted(n_sets, 'data set')}, by {counted(n_splits, 'fixed split')} of "
        "each and under one budget" + (f" ({', '.join(made)})." if made else "."),
        "`python -m experiments benchmark` writes this page from the cells of its run.",
        f"{rules} has the protocol, and how a method of yours joins.",
    ]
    if NAMED in set(cells["method"]):
        said.insert(1, f"{italic(NAMED)} is what `CohortModel` does by default: it chooses by inner validation.")
    if about.get("quick"):
        said.insert(1, "**This is a quick run: few training samples and little time.**")
    return ["# Benchmark: kernels over several views", *([first] if first else []), "\n".join(said)]


def _findings(shared: SharedCells, rankings: dict[str | None, Ranking], found: list[Lead]) -> list[str]:
    ranking = rankings[None]
    said = named_sentences(shared, ranking, NAMED)
    said += standing_sentences(ranking, shared.families) if len(ranking.mean) else []
    said += lead_sentences(found) if found else []
    for kind in KINDS if len(rankings) > 2 else ():
        if kind in rankings and len(rankings[kind].mean):
            mean = rankings[kind].mean
            best = f"{_KIND_TITLES[kind]}: the best mean rank is that of {italic(mean.index[0])} ({mean.iloc[0]:.2f})"
            best += f"; {italic(NAMED)} has {mean[NAMED]:.2f}." if NAMED in mean.index[1:] else "."
            said.append(best)
    said += baseline_sentences(ranking, NAMED)
    if len(ranking.mean):
        seconds, stored = (mean_over_sets(shared, ranking, column) for column in ("seconds", "stored"))
        said += cost_sentences(_relative(ranking), seconds, stored)
    return [
        "## What it shows",
        "\n".join(f"- {sentence}" for sentence in said or ["Too little was run to say anything."]),
    ]


def _overall(shared: SharedCells, ranking: Ranking, pictures: dict[str, str]) -> list[str]:
    parts = ["## Overall", *_left_out(ranking)]
    if not len(ranking.mean):
        return parts
    n_sets = counted(len(ranking.accuracy), "data set")
    parts.append(f"Means over {n_sets}, each the mean of its splits; the best mean rank is first.")
    parts += [overall_table(shared, ranking, NAMED), _LEGEND.format(baseline=NAMED)]
    parts += ["### What it costs", _COST_LEGEND, costs_table(shared, ranking)]
    drawn = [column for column in _COSTS if column in pictures]
    if drawn:
        parts.append(_MARKS)
    parts += [f"![Accuracy against {_COSTS[column][0]}]({pictures[column]})" for column in drawn]
    return parts if pictures else [*parts, "Pictures need matplotlib, the extra `plot` of the installation."]


def _by_kind(rankings: dict[str | None, Ranking], pictures: dict[str, str]) -> list[str]:
    parts = ["## Critical differences", _CRITICAL]
    for kind, ranking in rankings.items():
        if not len(ranking.mean) or (kind is not None and len(rankings) == 2):
            continue
        parts.append(f"### {_KIND_TITLES[kind]}")
        if kind is not None:
            parts += _left_out(ranking)
        name = kind or "all"
        if name in pictures:
            parts.append(f"![Mean ranks and critical difference: {_KIND_TITLES[kind].lower()}]({pictures[name]})")
        parts.append(" ".join(critical_sentences(ranking)))
    return parts


def _where_others_win(shared: SharedCells, found: list[Lead]) -> list[str]:
    n_ours = sum(family == OURS for family in shared.families.values())
    words = _LEADS.format(n_ours=n_ours, n_others=len(shared.families) - n_ours)
    return ["## Where others win", f"{words} {count_words(found)}.", leads_table(found)] if found else []


def _run(cells: pd.DataFrame, shared: SharedCells, page: Path) -> list[str]:
    splits = int(cells.groupby("set")["split"].nunique().max())
    is_quick = cells.attrs.get("about", {}).get("quick", False)
    options = f" --splits {splits}" if splits != SPLITS else ""
    options += " --quick" if is_quick else ""
    options += " --entry FILE.py" if (cells["family"] == "entry").any() else ""
    seconds = QUICK_SECONDS if is_quick else MAX_SECONDS
    return [
        "## What was run",
        "```sh\npython -m experiments benchmark --data DATA"
        f"{options} \\\n    --output results/ --page {page.name}\n```",
        _RUN.format(budget=BUDGET, folds=FOLDS, seconds=seconds, n_cells=len(cells)),
        sets_table(shared),
        _SETS,
    ]


def _tables(shared: SharedCells, rankings: dict[str | None, Ranking]) -> list[str]:
    methods = [str(name) for name in rankings[None].mean.index]
    methods += [name for name in shared.families if name not in methods]
    parts = []
    for title, column, words, scale, decimals in (
        (
            "Accuracy by data set",
            "accuracy",
            "Per cent, mean over the splits; the best of a data set is bold.",
            100.0,
            1,
        ),
        ("Log loss by data set", "log_loss", "Mean over the splits; the least of a data set is bold.", 1.0, 3),
    ):
        parts += [f"## {title}", words]
        for kind in rankings:
            if kind is not None:
                own = shared.of_kind(kind)
                parts.append(f"### {title}: {_KIND_TITLES[kind].lower()}")
                is_loss = column == "log_loss"
                parts += measure_tables(own, column, methods, scale=scale, decimals=decimals, least=is_loss)
    return parts


def _failures(cells: pd.DataFrame) -> list[str]:
    failed = cells[cells["failed"] != ""]
    if failed.empty:
        return ["## Failures", "Every method could be fitted on every data set it was run on."]
    return ["## Failures", failures_table(failed)]


def task_file(page: Any, name: str) -> Path:
    """Where the cells of a task lie beside a page, from which its section is written.

    Parameters
    ----------
    page : path
    name : str
        One of `TASKS`.
    """
    return Path(page).with_suffix("") / f"{name}.json"


def _tasks(page: Path) -> list[str]:
    files = {name: task_file(page, name) for name in TASKS}
    found = {name: read_task(file) for name, file in files.items() if file.exists()}
    return [part for name, cells in found.items() for part in task_sections(find_task(name), cells)]


def _missing(cells: pd.DataFrame, page: Path) -> list[str]:
    sets = [name for name in DATA_SETS if name not in set(cells["set"])]
    methods = [entry.name for entry in list_methods() if entry.name not in set(cells["method"])]
    said = []
    if sets:
        said.append(f"Data sets of the benchmark that were not run: {', '.join(escaped(name) for name in sets)}.")
    if methods:
        said.append(f"Methods of the benchmark that were not run: {listed(methods)}.")
    said += [f"The task {name} was not run." for name in TASKS if not task_file(page, name).exists()]
    return ["## What is missing", *(said or ["Nothing: all methods were run on all data sets of the benchmark."])]


def _left_out(ranking: Ranking) -> list[str]:
    said = []
    if ranking.left_out_methods:
        said.append(f"Left out of the ranks because of missing cells: {listed(list(ranking.left_out_methods))}.")
    if ranking.left_out_sets:
        rows = ", ".join(escaped(name) for name in ranking.left_out_sets)
        said.append(f"Data sets left out of the ranks because some method was not run there: {rows}.")
    return [" ".join(said)] if said else []


def _draw(shared: SharedCells, rankings: dict[str | None, Ranking], folder: Path) -> dict[str, str]:
    """Draw all pictures; returns the links from the page to them, by what they show."""
    found: dict[str, str] = {}
    for kind, ranking in rankings.items():
        if ranking.is_tested:
            name = kind or "all"
            title = f"{_KIND_TITLES[kind]} ({len(ranking.accuracy)})"
            file = folder / f"ranks_{name}.png"
            draw_critical_differences(ranking, file, families=shared.families, title=title)
            found[name] = f"{folder.name}/{file.name}"
    overall = rankings[None]
    starred = {name: f"{name}*" if overall.accuracy[name].isna().any() else str(name) for name in overall.accuracy}
    families = {starred.get(name, name): family for name, family in shared.families.items()}
    if len(overall.mean):
        for column, (label, none) in _COSTS.items():
            file = folder / f"accuracy_{column}.png"
            cost = mean_over_sets(shared, overall, column).rename(starred)
            draw_accuracy_against(
                _relative(overall).rename(starred), cost, file, families=families, cost_label=label, none=none
            )
            found[column] = f"{folder.name}/{file.name}"
    return found


def _relative(ranking: Ranking) -> pd.Series:
    """By method, the mean over data sets of the accuracy relative to the best method there, in per cent."""
    return 100.0 * ranking.accuracy.div(ranking.accuracy.max(axis=1), axis=0).mean()
