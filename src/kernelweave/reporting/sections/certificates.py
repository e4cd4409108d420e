"""The section `certificates`: how near the fit is to its optimum, what it took, and what prediction takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ...combiners import DescentCombiner, PerOutput
from ..content import Block, Cell, Column, Line, Lines, Section, Table, Text
from .subject import Subject

_LARGE = 0.01  # relative duality gap that is worth a warning
_MOST_LINES = 8


def certificates_section(subject: Subject) -> Section | None:
    """Duality gap, work and size of a kernel machine; None for other models."""
    if subject.model is None:
        return None
    model = subject.model
    blocks: list[Block] = [Text(text=sentence) for sentence in sentences(model)]
    blocks.append(_table(subject, model))
    chart = _chart(model)
    return Section(
        id="certificates",
        title="How well the fit is solved, and what it costs",
        blocks=blocks if chart is None else [*blocks, chart],
    )


def relative_gap(model: Any) -> float:
    """The duality gap as a share of the objective."""
    return float(model.duality_gap_) / max(1.0, abs(float(model.objective_)))


def is_certified(model: Any) -> bool:
    """Whether there is a gap: there is none where a kernel is not positive semidefinite."""
    return bool(np.isfinite(model.duality_gap_))


def is_solved(model: Any) -> bool:
    """Whether the certified distance to the optimum is small."""
    return relative_gap(model) <= max(_LARGE, 10.0 * model.tol)


def ran_out_of_steps(model: Any) -> bool:
    """Whether a combiner that descends took all the iterations that it was allowed."""
    combiner = model.combiner_
    return isinstance(combiner, DescentCombiner) and len(model.history_) > combiner.max_iter


def inner_combiner(model: Any) -> Any:
    """The combiner; that of each output where they have weights of their own."""
    combiner = model.combiner_
    return combiner.combiner if isinstance(combiner, PerOutput) else combiner


def sentences(model: Any) -> list[str]:
    """What the certificate means."""
    share, descends = relative_gap(model), isinstance(inner_combiner(model), DescentCombiner)
    if not is_certified(model):
        return [
            "Nothing certifies the fit: a kernel is not positive semidefinite, so that the problem has several local "
            'optima, and the fit ended in one of them. Repair the kernel (repair="clip") for a certified fit.'
        ]
    at = ", for the weights that were found," if descends else ""
    found = [
        f"The fit is certified: its objective is{at} within {_share(share)} of the best possible value (the duality "
        "gap). Further computing would not change the predictions visibly."
        if is_solved(model)
        else f"The fit is not finished: its objective is known only to be within {_share(share)} of the best possible "
        "value (the duality gap). Predictions may still change; try a smaller C, scaled data or a larger max_iter."
    ]
    if hasattr(model, "trace_shares_"):
        least = model.trace_shares_.idxmin()
        found.append(
            "Each kernel is replaced by explicit features, and the certificate is about the kernels of these features. "
            f"They have from {_percent(model.trace_shares_.min())} ({least}) to "
            f"{_percent(model.trace_shares_.max())} of the kernels' traces; more components bring them nearer to 100 %."
        )
    if descends:
        found.append(
            "Gates, projections and products of kernels are learned by descent to a local optimum: another start may "
            "end in another one (n_init of the combiner tries several)."
        )
    if ran_out_of_steps(model):
        found.append("Learning stopped at the largest number of iterations; raise max_iter of the combiner.")
    return found


def _share(share: float) -> str:
    return "0.001 %" if share < 1e-5 else f"{100.0 * share:.2g} %"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"


def _table(subject: Subject, model: Any) -> Table:
    history = pd.DataFrame(model.history_)
    rows: list[list[Cell]] = [
        ["objective", float(model.objective_), "the value that the machine optimises"],
        ["duality gap", float(model.duality_gap_), "a certified limit to how far the objective is from the optimum"],
        ["relative gap", relative_gap(model), "the gap divided by the objective"],
        ["tolerance", float(model.tol), "the parameter tol, at which solving stops"],
        ["outer iterations", int(model.n_iter_), "updates of the kernel weights; 1 where none are learned"],
    ]
    for column, words in (("solves", "how often the machine was solved"), ("seconds", "time that the fit took")):
        if column in history:
            rows.append([column, float(history[column].sum()), words])
    rows += _stored(model)
    rows += [
        [
            "prediction cost",
            float(model.prediction_cost()),
            "comparisons with stored samples for a new one, all kernels together counting as one",
        ],
    ]
    columns = [Column("quantity"), Column("value", "number"), Column("what it is")]
    return Table(title="Certificates", columns=columns, rows=rows)


def _stored(model: Any) -> list[list[Cell]]:
    """Rows about what the model compares new samples with."""
    if hasattr(model, "support_"):
        words = "training samples that the model stores and compares new samples with"
        return [["support vectors", len(model.support_), words]]
    features = sum(len(coef) for coef in model.feature_coef_.values())
    rows: list[list[Cell]] = [["explicit features", features, "numbers that all kernels together make of a sample"]]
    for name, share in model.trace_shares_.items():
        words = "share of the kernel that its features have (trace); near 1 the approximation is as good as the kernel"
        rows.append([f"trace share of {name}", float(share), words])
    return rows


def _chart(model: Any) -> Lines | None:
    """The objective against the solves of the machine; None where there is a single value."""
    history = pd.DataFrame(model.history_)
    if len(history) < 2 or not {"objective", "solves"} <= set(history):
        return None
    parts = list(history.groupby("output", sort=False)) if "output" in history else [("objective", history)]
    lines = []
    for label, part in parts[:_MOST_LINES]:
        known = np.isfinite(part["objective"].to_numpy(dtype=float))
        x, y = part["solves"].cumsum()[known], part["objective"][known]
        lines.append(Line(str(label), [float(value) for value in x], [float(value) for value in y]))
    note = "" if len(parts) <= _MOST_LINES else f"The first {_MOST_LINES} of {len(parts)} classes or targets are drawn."
    return Lines(
        title="The objective while the fit went on",
        description="What the fit minimises, step by step. Where the line ends flat, more steps would gain nothing.",
        note=note,
        x_axis="solves of the machine",
        y_axis="objective",
        lines=lines,
    )
