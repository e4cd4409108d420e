"""The digest: every table in one line (ours, paper, difference, reached or not, why not), on one page.

It is written from the declarations (what is claimed, and why it is not reached) and from the records of full runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.declaration import Claim
from experiments.reports.sections import label
from experiments.reports.verdicts import Verdict, judge, mean_figure, wins
from kernelweave import __version__
from kernelweave.reporting.markdown import markdown_table

_HEAD = """# The papers' tables, reproduced

Written by `make results`, which runs `python -m experiments reproduce all --page docs/results.md`, from full runs; a
run goes on where an earlier one stopped. Each line links to the page with all rows, settings, weights, costs and times
of its table.

*Ours* and *paper*: mean test score and standard deviation of the row that carries the paper's claim (accuracy in per
cent, mean squared error for regression, error in per cent for SKFE and the missing views), or its mean over data sets.
*Diff.*: ours less the paper's. *Reached*: ours is better than the paper's figure, or worse by no more than the paper's
standard deviation (ours, where the paper prints none) and the rounding of its two decimals. *Of all*: how many figures
of the whole table are reached. *Claim holds*: our means are in the order that the paper states; "as good as" allows for
a standard deviation. Rows, claims and longer reasons are [below](#the-claims). The papers print no results by fold, so
ours and theirs cannot be tested against each other.
"""
_PLUS_MINUS = "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"
_CLAIMS = """## The claims

What each paper concludes, the row that carries it, what is against it here, and why.
"""
_FORMS = """## The papers' forms and ours

Tables with gates are runs of the papers' gates by name: softmax gates of sum 1, sigmoid gates between 0 and 1, with a
small penalty, relative to the mean kernel's optimum, that validation chooses. The library's own default is gates of
unit length, which choose their penalty by themselves. Both on the same folds:
"""
_WINS = """## Where simpler rivals win

Methods of the same table that are simpler than the row that carries the claim and have the better mean on the same
folds. *Test*: the test that the table's page names, at its level; "not tested" where the table tests neither of the two
against the other.
"""
_HEADINGS = ["table", "ours", "paper", "diff.", "reached", "of all", "claim holds", "why not, remarks", "run with"]
_ABSENT = """## What cannot be reproduced

The data are not to be had:
"""


def digest(experiments: Sequence[Any], records: Mapping[str, dict[str, Any]], absent: Mapping[str, str]) -> str:
    """The page, as Markdown.

    Parameters
    ----------
    experiments : sequence of Experiment, Collection or Comparison
        In the order of the page.
    records : mapping from table to record
        Of full runs.
    absent : mapping from data to tables
        What cannot be reproduced.

    Returns
    -------
    str
    """
    run = [one for one in experiments if one.name in records and one.claim is not None]
    judged = {one.name: judge(one.claim, records[one.name]) for one in run}
    parts = [_HEAD, _summary(run, judged, records)]
    lines = [_line(one, judged[one.name], records[one.name]) for one in run]
    parts.append(markdown_table(_HEADINGS, lines, text=(0, 4, 6, 7, 8)))
    parts += [_claims(run, judged), _forms(run, records), _rivals(run, records)]
    parts.append(_ABSENT + "\n" + "\n".join(f"- {data}: {tables}" for data, tables in absent.items()))
    without = [label(one.name) for one in experiments if one.name not in records]
    if without:
        parts.append(f"Declared and never run in full: {', '.join(without)}.")
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _summary(run: Sequence[Any], judged: Mapping[str, Verdict], records: Mapping[str, dict[str, Any]]) -> str:
    judged = {one.name: judged[one.name] for one in run if not one.claim.again}
    printed = [verdict for verdict in judged.values() if verdict.n_figures]
    reached = sum(verdict.reached == verdict.n_figures for verdict in printed)
    holds = sum(verdict.holds == verdict.n_data for verdict in judged.values())
    figures, all_reached = (sum(getattr(v, name) for v in judged.values()) for name in ("n_all", "all_reached"))
    old = [label(one.name) for one in run if records[one.name]["version"] != __version__]
    words = (
        f"Of the {len(printed)} tables whose paper has a figure for that row, {reached} reach it on every data set; "
        f"the claim holds on every data set of {holds} of the {len(judged)} tables; {all_reached} of all {figures} "
        "figures are reached."
    )
    again = [label(one.name) for one in run if one.claim.again]
    words += f" These counts are without {', '.join(again)}, which measure figures once more." if again else ""
    if old:
        words += (
            f" This is version {__version__}. {len(old)} tables were last run with an earlier one (*old* in their "
            "lines) and not rerun since: what was changed in the meantime may move them a little."
        )
    return words


def _line(experiment: Any, verdict: Verdict, record: dict[str, Any]) -> list[str]:
    claim: Claim = experiment.claim
    version = record["version"]
    return [
        _link(experiment),
        _score(verdict.ours),
        _score(verdict.paper),
        _difference(verdict),
        _counted(verdict.reached, verdict.n_figures, verdict.n_data),
        f"{verdict.all_reached}/{verdict.n_all}" if verdict.n_all else "-",
        _counted(verdict.holds, verdict.n_data, verdict.n_data),
        "; ".join(words for words in (claim.reason if _is_short(verdict) else "", claim.remark) if words),
        version if version == __version__ else f"{version}, old",
    ]


def _is_short(verdict: Verdict) -> bool:
    """Whether a figure or the claim is not reached, or was not looked at."""
    return verdict.reached < verdict.n_figures or verdict.holds < verdict.n_data or verdict.n_data == 0


def _link(experiment: Any) -> str:
    return f"[{label(experiment.name)}](results/{experiment.name}.md)"


def _counted(reached: int, of: int, n_data: int) -> str:
    """Whether something is so, or on how many data sets."""
    if n_data == 0:
        return "not run"
    if of == 0:
        return "-"
    return "yes" if reached == of else "**no**" if of == 1 else f"**{reached} of {of}**"


def _claims(run: Sequence[Any], judged: Mapping[str, Verdict]) -> str:
    lines = []
    for one in run:
        verdict, claim = judged[one.name], one.claim
        words = f"- {_link(one)}, {one.title}. {claim.words}: `{claim.row}`."
        if verdict.n_figures > 1 and verdict.missed:
            words += f" Not reached on {', '.join(verdict.missed)}."
        found = [f"{data}: {', '.join(said)}" if data else ", ".join(said) for data, said in verdict.against.items()]
        if found:
            words += f" Against it: {'; '.join(found)}."
        lines.append(f"{words} {claim.details}" if _is_short(verdict) and claim.details else words)
    return _CLAIMS + "\n" + "\n".join(lines)


def _score(figure: tuple[float, float | None] | None) -> str:
    if figure is None:
        return "-"
    mean, std = figure
    places = _places(mean)
    return f"{mean:.{places}f}" if std is None else f"{mean:.{places}f}{_PLUS_MINUS}{std:.{places}f}"


def _difference(verdict: Verdict) -> str:
    if verdict.ours is None or verdict.paper is None:
        return "-"
    return f"{verdict.ours[0] - verdict.paper[0]:+.{_places(verdict.ours[0])}f}"


def _places(score: float) -> int:
    return 2 if score >= 1 else 3


def _forms(run: Sequence[Any], records: Mapping[str, dict[str, Any]]) -> str:
    """A table of the papers' forms beside the library's own."""
    lines = []
    for one in run:
        names = (one.claim.row, one.claim.own)
        results = [[row for row in records[one.name]["results"] if row["method"] == name] for name in names]
        if all(results):
            cells = [
                _score(mean_figure([row[measure] for row in rows if measure in row]))
                for measure in ("test", "support")
                for rows in results
            ]
            lines.append([label(one.name), *names, *cells])
    headings = ["table", "paper's form", "our form", "score, paper's", "score, ours", "support %, paper's", "ours"]
    return _FORMS + "\n" + markdown_table(headings, lines, text=(0, 1, 2)) if lines else ""


def _rivals(run: Sequence[Any], records: Mapping[str, dict[str, Any]]) -> str:
    lines = []
    for one in run:
        for win in wins(one.claim, records[one.name]):
            name = label(one.name) + (f", {win.data}" if win.data else "")
            scores = [_score((win.score, None)), _score((win.beaten, None))]
            lines.append([name, win.method, scores[0], one.claim.row, scores[1], win.certainty])
    if not lines:
        return _WINS + "\nThere are none."
    headings = ["table", "simpler", "its score", "row", "its score", "difference"]
    return _WINS + "\n" + markdown_table(headings, lines, text=(0, 1, 3, 5))
