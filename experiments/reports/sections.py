"""The contents of a report as paragraphs and tables, the same on a terminal and in Markdown.

A table of one data set and one of several are laid out by the same lines; the latter have a first column that names
the data set, and close with wins, ties and losses over the data sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from experiments.declaration import DEFAULT, Paper
from experiments.outcome import COMPARED, CollectionOutcome, Outcome, Row

AnyOutcome = Outcome | CollectionOutcome

_COST_NOTE = (
    "Cost: kernel evaluations to predict a new sample (support vectors times active kernels, weighted by the kernels' "
    "costs); total cost: in per cent of what all training samples and all kernels of the method would cost. Fit s: "
    "seconds for the chosen setting, Gram matrices excluded; grid s: seconds for all settings of one fold. Solves: of "
    "the machine, for the chosen setting."
)
_MEASURES = {"test": "score", "support": "support vectors", "total_cost": "total cost"}


@dataclass(frozen=True)
class TextTable:
    """A table.

    Attributes
    ----------
    headings : list of str
    rows : list of list of str
    n_text : int
        The first columns are text, the others numbers.
    narrow : tuple of tuples of int
        Columns after the text that make tables for a terminal of 80 columns; empty for all of them in one.
    """

    headings: list[str]
    rows: list[list[str]]
    n_text: int
    narrow: tuple[tuple[int, ...], ...] = ()

    def narrowed(self) -> list[TextTable]:
        """The tables for a terminal."""
        if not self.narrow:
            return [self]
        lines = []
        for columns in self.narrow:
            kept = [*range(self.n_text), *(self.n_text + column for column in columns)]
            lines.append([[line[column] for column in kept] for line in [self.headings, *self.rows]])
        return [TextTable(headings, rows, self.n_text) for headings, *rows in lines]


def heading(outcome: Any) -> str:
    """The title of a report."""
    return f"{label(outcome.experiment.name)}: {outcome.experiment.title}" + (" (quick run)" if outcome.quick else "")


def label(name: str) -> str:
    """What a table, figure or default is called, from the name of its experiment."""
    if name.startswith(DEFAULT):
        return f"Default {name.removeprefix(DEFAULT)}"
    return f"Figure {name.replace('figure-', '')}" if "figure-" in name else f"Table {name}"


@singledispatch
def sections(outcome: Any) -> list[str | TextTable]:
    """The contents of a report below its title, in order.

    Parameters
    ----------
    outcome : Outcome or CollectionOutcome
    """
    raise TypeError(f"a {type(outcome).__name__} is no outcome of an experiment")


@sections.register
def _(outcome: Outcome) -> list[str | TextTable]:
    return _by_method(outcome)


@sections.register
def _(outcome: CollectionOutcome) -> list[str | TextTable]:
    return [*_by_method(outcome), _counts(outcome), _counts_note(outcome)]


def _by_method(outcome: AnyOutcome) -> list[str | TextTable]:
    """The contents for one data set or several: the settings, and tables with a line for each method."""
    layouts = [layout for part in outcome.parts for layout in _paper_layouts(part)]
    found: list[str | TextTable] = [_settings(outcome), *layouts, _results(outcome), _significance(outcome)]
    if any(_learns_weights(row) for part in outcome.parts for row in part.rows):
        found += [_weights(outcome), _weights_note(outcome)]
    return [*found, _costs(outcome), _cost_note(outcome)]


def _cost_note(outcome: AnyOutcome) -> str:
    own = any(row.method.from_features for part in outcome.parts for row in part.rows)
    return _COST_NOTE + (" Methods that see features compute their own." if own else "")


def _settings(outcome: AnyOutcome) -> str:
    """One paragraph on what was run."""
    first = outcome.parts[0].experiment
    grid = "; ".join(f"{name} in {', '.join(_short(value) for value in values)}" for name, values in first.grid.items())
    scaling = "standardised features" if first.standardize else "features as they are"
    kernels = f"{first.normalize} kernels" if first.normalize else "kernels as they are"
    words = (
        f"{outcome.experiment.source}. Data: {outcome.experiment.data_label}; {scaling}, {kernels}, constants from the "
        f"training part of each fold. Protocol: {first.protocol.in_words}; {outcome.parts[0].n_folds} folds. "
        f"Grid: {grid}."
    )
    if first.max_samples is not None:
        words += f" At most {first.max_samples} samples."
    return words + (f" {outcome.experiment.note}" if outcome.experiment.note else "")


def _paper_layouts(part: Outcome) -> list[TextTable]:
    """Scores, and support vectors where they are fewer than samples, as the paper arranges its methods."""
    found = [("test", part.experiment.score_name)] if part.experiment.layout else []
    if found and any(row.mean("support") < 100.0 for row in part.rows):
        found.append(("support", "support vectors %"))
    return [_paper_layout(part, measure, name) for measure, name in found]


def _paper_layout(part: Outcome, measure: str, measure_name: str) -> TextTable:
    layout = part.experiment.layout
    columns = list(dict.fromkeys(column for row in layout.values() for column in row))
    rows = []
    for name, row in layout.items():
        found = [part.row(row[column]) if column in row else None for column in columns]
        rows.append([name, *("-" if r is None else f"{r.mean(measure):.2f} ± {r.std(measure):.2f}" for r in found)])
    return TextTable([measure_name, *columns], rows, n_text=1)


def _results(outcome: AnyOutcome) -> TextTable:
    first = outcome.parts[0].experiment
    own = [", ".join(first.grid), f"{first.score_name}, ours", "paper", "diff."]
    headings = [*own, "support %, ours", "paper", "diff.", "p", "p (support)"]
    return _grid(outcome, headings, results_cells, narrow=((0, 1, 2, 3, 7), (4, 5, 6, 8)))


def results_cells(part: Outcome, row: Row) -> list[str]:
    """The chosen setting, scores and support vectors of a method, ours and the paper's, and p-values."""
    paper: Any = row.method.paper
    digits = 2 if row.mean("test") >= 10 else 3
    cells = [_chosen(part, row)]
    cells += _beside_paper(row, "test", paper and paper.score, paper and paper.score_std, digits)
    cells += _beside_paper(row, "support", paper and paper.support, paper and paper.support_std)
    return [*cells, _p_value(row, "test"), _p_value(row, "support")]


def _beside_paper(row: Row, measure: str, mean: float | None, std: float | None, places: int = 2) -> list[str]:
    """Ours, the paper's, and the difference."""
    ours = f"{row.mean(measure):.{places}f} ± {row.std(measure):.{places}f}"
    if mean is None:
        return [ours, "-", "-"]
    theirs = f"{mean:g}" if std is None else f"{mean:.2f} ± {std:.2f}"
    return [ours, theirs, f"{row.mean(measure) - mean:+.{places}f}"]


def _significance(outcome: AnyOutcome) -> str:
    """What the p-values compare, precisely."""
    part = outcome.parts[0]
    protocol, n_results = part.experiment.protocol, len(part.rows[0].values["test"])
    return (
        f"p: {protocol.test_name} of our {n_results} results of a method against our {n_results} results of "
        f"{part.experiment.baseline} on the same folds (score, then support vectors); * where p < 0.05. The papers "
        "print no results by fold, so ours and theirs cannot be tested against each other."
    )


def _weights(outcome: AnyOutcome) -> TextTable:
    headings = ["weights, ours", "paper"]
    narrow: tuple[tuple[int, ...], ...] = ((0, 1),)
    if _prints_costs(outcome):
        headings, narrow = [*headings, "d, ours", "paper"], ((0, 1), (2, 3))
    return _grid(outcome, headings, lambda part, row: _weight_cells(row, len(headings)), _learns_weights, narrow)


def _weight_cells(row: Row, n_cells: int) -> list[str]:
    paper = row.method.paper
    costs = None if row.costs is None else row.costs.mean(axis=0)
    ours, theirs = (row.weights.mean(axis=0), costs), (paper and paper.weights, paper and paper.costs)
    return [_numbers(values) for pair in zip(ours, theirs, strict=True) for values in pair][:n_cells]


def _weights_note(outcome: AnyOutcome) -> str:
    first = outcome.parts[0].experiment
    sets = dict.fromkeys(row.method.kernels for row in outcome.parts[0].rows if _learns_weights(row))
    names = " or ".join(" - ".join(kernels) for kernels in sets)
    words = f"Weights of {names}, averaged over test samples and folds" + (
        ", of sum 1" if first.normalize_weights else ""
    )
    return words + ("; d: the costs that the method learned with." if _prints_costs(outcome) else ".")


def _prints_costs(outcome: AnyOutcome) -> bool:
    """Whether the paper prints the costs d, because methods choose them."""
    return any(row.method.paper and row.method.paper.costs for part in outcome.parts for row in part.rows)


def _learns_weights(row: Row) -> bool:
    """Whether there are weights to show; an estimator without weights counts all its kernels alike."""
    learned = row.method.combiner is not None or (row.method.estimator is not None and np.ptp(row.weights) > 0)
    return learned and len(row.method.kernels) > 1


def _costs(outcome: AnyOutcome) -> TextTable:
    headings = ["active kernels", "paper", "cost", "total cost %, ours", "paper", "diff.", "p (cost)"]
    headings += ["fit s", "grid s", "settings", "solves"]
    return _grid(outcome, headings, _cost_cells, narrow=((0, 1), (3, 4, 5, 6), (2, 7, 8, 9, 10)))


def _cost_cells(part: Outcome, row: Row) -> list[str]:
    paper: Any = row.method.paper
    return [
        f"{row.mean('active_kernels'):.2f}",
        _paper_active(paper),
        f"{row.mean('cost'):.1f}",
        *_beside_paper(row, "total_cost", paper and paper.cost, paper and paper.cost_std),
        _p_value(row, "total_cost"),
        f"{row.mean('seconds'):.4f}",
        f"{row.path_seconds:.3f}",
        str(row.n_settings),
        f"{row.mean('solves'):.1f}",
    ]


def _paper_active(paper: Paper | None) -> str:
    """How many kernels the paper's method uses, as printed, or as counted from its weights."""
    if paper is not None and paper.active is not None:
        return f"{paper.active:.2f}"
    return str(np.count_nonzero(paper.weights)) if paper is not None and paper.weights else "-"


def _counts(outcome: CollectionOutcome) -> TextTable:
    """Wins, ties and losses against the baseline over the data sets: the last lines of the thesis' tables."""
    headings = ["method", "by", "test of each, ours", "paper", "averages, ours", "paper", "Wilcoxon, ours", "paper"]
    rows = []
    first = outcome.experiment.members[0]
    for method in first.methods:
        for measure in COMPARED if method.name != first.baseline else ():
            ours = outcome.counts(method.name, measure)
            theirs = outcome.experiment.paper_counts.get((method.name, measure), ("-", "-", "-"))
            shown = ["-" if ours.tested is None else _triple(ours.tested), _triple(ours.direct), ours.wilcoxon]
            pairs = zip(shown, theirs, strict=True)
            rows.append([method.name, _MEASURES[measure], *(cell for pair in pairs for cell in pair)])
    return TextTable(headings, rows, n_text=2)


def _counts_note(outcome: CollectionOutcome) -> str:
    first = outcome.experiment.members[0]
    return (
        f"Wins-ties-losses of a method against {first.baseline} over the {len(outcome.parts)} data sets: by the "
        f"{first.protocol.test_name} on each (level 0.05), by comparison of the averages as printed, and by Wilcoxon's "
        "signed rank test of the averages. Fewer support vectors and lower costs win."
    )


def _grid(
    outcome: AnyOutcome, headings: list[str], cells: Any, wanted: Any = None, narrow: tuple[tuple[int, ...], ...] = ()
) -> TextTable:
    """A table with a line for each method (of each data set): `cells` of the rows that are `wanted`."""
    several = isinstance(outcome, CollectionOutcome)
    rows = [
        [*([part.experiment.title] if several else []), row.method.name, *cells(part, row)]
        for part in outcome.parts
        for row in part.rows
        if wanted is None or wanted(row)
    ]
    text = ["data set", "method"] if several else ["method"]
    return TextTable([*text, *headings], rows, len(text), narrow)


def _chosen(part: Outcome, row: Row) -> str:
    """The chosen hyper-parameters, or that runs chose differently; those that only this method has come by name."""
    common, own = part.experiment.grid, part.experiment.grid_of(row.method)
    texts = set()
    for setting in row.parameters:
        short = {name if name in common else name.rpartition("__")[2]: _short(setting[name]) for name in own}
        words = [short.pop(name) for name in common if name in short]
        words += [f"{name} {value}" for name, value in short.items()]
        texts.add(", ".join(words))
    return texts.pop() if len(texts) == 1 else "by run"


def _p_value(row: Row, measure: str) -> str:
    """A p-value with a star where it is below 0.05; a dash for the baseline."""
    if measure not in row.against_baseline:
        return "-"
    result = row.against_baseline[measure]
    return f"{result.pvalue:.3f}" + ("*" if result.significant() else "")


def _numbers(values: Any) -> str:
    """Numbers of kernels as the thesis prints them."""
    return "-".join(f"{value:.2f}" for value in values) if values is not None and len(values) else "-"


def _triple(counts: tuple[int, int, int]) -> str:
    return "-".join(str(count) for count in counts)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value)
