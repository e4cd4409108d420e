"""An outcome as JSON and as Markdown, and pages of all full runs (``docs/results.md``, ``docs/defaults.md``)."""

from __future__ import annotations

import json
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from experiments.discovery import list_defaults, list_experiments
from experiments.outcome import COMPARED, MEASURES, CollectionOutcome, Outcome, Row
from experiments.reports.digest import digest
from experiments.reports.records import read_records, record_of, write_records
from experiments.reports.sections import heading, sections
from experiments.tables import NOT_TO_BE_HAD
from kernelweave import __version__
from kernelweave.compare.cells import write_atomically
from kernelweave.reporting.markdown import markdown_table

_DEFAULTS_HEAD = """# The defaults, against their alternatives

Written by `python -m experiments defaults --data DIR --page docs/defaults.md` from the data sets that are there. Each
data set enters with at most 300 training samples, 100 for validation and 1000 for testing, drawn three times, with the
shares of its classes; dense columns are standardised and sparse views weighted by TF-IDF with rows of unit length, by
constants of the training samples. Everything that is not named is the library's default.

Scores are accuracies in per cent, or 100 R2 for regression. *C = 1* is the default C for all; *C chosen* takes C = 1 or
10, whichever has the better score on the validation samples of the same draw. *Validation*: the mean score on these
samples; all other figures are of the test samples, and where the two disagree the first should count. *Rank*: the
average over data sets of the rank within each, 1 for the best. *Difference*: of the scores to the default's on the same
draws, mean and worst over data sets. *W-T-L*: data sets on which a method beats the default, ties with it, loses to it,
as printed; *p*: Wilcoxon's signed rank test of that. *Seconds*: fits and predictions on one draw, the median over data
sets. Where two are alike, the default is the cheaper one, then the one with fewer surprises.
"""


def stem(outcome: Any) -> str:
    """Name of an outcome's files, without a suffix."""
    return f"table-{outcome.experiment.name}" + ("-quick" if outcome.quick else "")


def write_report(outcome: Any, output: Any) -> tuple[Path, Path]:
    """Write an outcome as JSON and Markdown.

    Parameters
    ----------
    outcome : Outcome, CollectionOutcome or ComparisonOutcome
    output : path
        The folder.

    Returns
    -------
    tuple of Path
        The two files.
    """
    folder = Path(output)
    files = folder / f"{stem(outcome)}.json", folder / f"{stem(outcome)}.md"
    write_atomically(files[0], json.dumps(as_dict(outcome), indent=1) + "\n")
    write_atomically(files[1], markdown(outcome))
    return files


def write_page(output: Any, page: Any, *, defaults: bool = False) -> list[str]:
    """Write the page of all full runs below a folder.

    For the papers' tables that is the digest, and in a folder of the page's name beside it a page for each table and
    ``results.json``, the figures that the digest shows. Tables that were not run again keep their page and figures.
    Comparisons of defaults are gathered on the one page.

    Parameters
    ----------
    output : path
        The folder that `write_report` wrote to.
    page : path
        The file to write.
    defaults : bool
        Whether to gather comparisons of defaults instead of the papers' tables.

    Returns
    -------
    list of str
        The names of the experiments whose full runs were found.
    """
    experiments = list_defaults() if defaults else list_experiments()
    folder = Path(page).with_suffix("")
    records = {} if defaults else read_records(folder)
    found = [one.name for one in experiments if (Path(output) / f"table-{one.name}.md").is_file()]
    if not found and not records:
        raise ValueError(f"there is no full run below {str(output)!r} to gather; name its folder with --output")
    texts = {name: (Path(output) / f"table-{name}.md").read_text("utf-8") for name in found}
    if defaults:
        write_atomically(Path(page), "\n".join([_DEFAULTS_HEAD, *texts.values()]))
        return found
    for name, text in texts.items():
        records[name] = record_of(json.loads((Path(output) / f"table-{name}.json").read_text("utf-8")))
        write_atomically(folder / f"{name}.md", table_page(name, text, records[name]["version"]))
    records = {one.name: records[one.name] for one in experiments if one.name in records}
    write_records(folder, records)
    write_atomically(Path(page), digest(experiments, records, NOT_TO_BE_HAD))
    return found


def table_page(name: str, text: str, version: str) -> str:
    """The page of one table: its Markdown, with the version and the command that wrote it.

    Parameters
    ----------
    name : str
        Of the experiment.
    text : str
        A section of Markdown, as `markdown` writes it.
    version : str
        Of the library that ran it.
    """
    title, _, rest = text.removeprefix("## ").partition("\n")
    run = f"Run with version {version}: `python -m experiments reproduce {name}`."
    return f"# {title}\n\n{run} All tables: [on one page](../results.md).\n{rest}"


@singledispatch
def as_dict(outcome: Any) -> dict[str, Any]:
    """All numbers of an outcome of any kind, ready for JSON."""
    raise TypeError(f"a {type(outcome).__name__} is no outcome of an experiment")


@as_dict.register
def _(outcome: Outcome) -> dict[str, Any]:
    experiment = outcome.experiment
    return about(outcome) | {
        "protocol": repr(experiment.protocol),
        "score": experiment.score_name,
        "baseline": experiment.baseline,
        "test": experiment.protocol.test_name,
        "methods": [_row_dict(row) for row in outcome.rows],
    }


@as_dict.register
def _(outcome: CollectionOutcome) -> dict[str, Any]:
    parts = [as_dict(part) for part in outcome.parts]
    return about(outcome) | {"data_sets": parts, "counts": _counts_dict(outcome)}


def about(outcome: Any) -> dict[str, Any]:
    """What a table is, whatever its kind."""
    experiment = outcome.experiment
    return {
        "table": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "version": __version__,
        "quick": outcome.quick,
    }


def _counts_dict(outcome: CollectionOutcome) -> dict[str, Any]:
    """Wins, ties and losses of each method against the baseline."""
    first = outcome.experiment.members[0]
    others = [method.name for method in first.methods if method.name != first.baseline]
    return {name: {measure: vars(outcome.counts(name, measure)) for measure in COMPARED} for name in others}


def _row_dict(row: Row) -> dict[str, Any]:
    paper = row.method.paper
    return {
        "method": row.method.name,
        "paper": None if paper is None else vars(paper),
        "parameters": row.parameters,
        "mean": {measure: row.mean(measure) for measure in MEASURES},
        "std": {measure: row.std(measure) for measure in MEASURES},
        "values": {measure: row.values[measure].tolist() for measure in MEASURES},
        "weights": _by_kernel(row, row.weights),
        "costs": None if row.costs is None else _by_kernel(row, row.costs),
        "n_settings": row.n_settings,
        "path_seconds": row.path_seconds,
        "against_baseline": {
            measure: {"statistic": _finite(result.statistic), "pvalue": result.pvalue}
            for measure, result in row.against_baseline.items()
        },
    }


def _by_kernel(row: Row, values: np.ndarray) -> dict[str, list[float]]:
    return dict(zip(row.method.kernels, values.T.tolist(), strict=True))


def _finite(value: float) -> float | str:
    """A number as JSON can hold it; infinity (results that differ by the same in every fold) as text."""
    return value if np.isfinite(value) else str(value)


def markdown(outcome: Any) -> str:
    """An outcome as a section of Markdown."""
    parts = [
        part if isinstance(part, str) else markdown_table(part.headings, part.rows, text=range(part.n_text))
        for part in sections(outcome)
    ]
    return "\n\n".join([f"## {heading(outcome)}", *parts]) + "\n"
