"""The sections on what was learned, and how well: `weights` of the kernels, and `certificates` of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..combiners import DescentCombiner
from ..estimators.explanations import terms_of
from ..recipes.tasks import SURVIVAL
from .content import Bars, Block, Cell, Column, Heatmap, Line, Lines, Section, Table, Text
from .subject import Subject, overall_weights
from .words import MOST, counted, inner_combiner, kernel_in_words, listed, only_some, written

_MOST_ROWS = 40


def weights_section(subject: Subject) -> Section | None:
    if subject.model is None:
        return None
    model = subject.model
    weights = overall_weights(model)
    blocks: list[Block] = [Text(text=sentence) for sentence in _about_weights(subject, weights)]
    if not are_equal(weights):
        blocks.append(_weight_chart(weights))
    by_class = weights_by_class(subject)
    if by_class is not None:
        blocks += [Text(text=_about_classes(subject)), _heatmap(subject, by_class)]
    blocks.append(_weight_table(subject, weights))
    return Section(id="weights", title="Weights of the kernels", blocks=blocks)


def weights_by_class(subject: Subject) -> pd.DataFrame | None:
    """Weights of each class or pair (rows), with gates the mean over its samples; None where classes share them."""
    model = subject.model
    if isinstance(model.kernel_weights_, pd.DataFrame):
        return model.kernel_weights_
    if subject.task != "classification" or not subject.is_gated:
        return None
    of_samples, names = subject.groups
    means = subject.sample_weights.groupby(of_samples).mean()
    return means.set_axis([names[group] for group in means.index], axis=0)


def _about_weights(subject: Subject, weights: pd.Series) -> list[str]:
    model = subject.model
    sentences = [
        "A kernel compares two samples by one view: it is a number that is large where they are alike. The model adds "
        "the kernels up with weights; a kernel with a larger weight counts more."
        if is_weighted_sum(model)
        else f"The combination {type(model.combiner_).__name__} is not a plain weighted sum of kernels, so that its "
        "weights cannot be read as shares; the documentation of that class defines them."
    ]
    if subject.is_gated:
        sentences.append("Weights differ from sample to sample here; those below are means over the training samples.")
    zero = [name for name in weights.index if name not in model.active_kernels_]
    if zero:
        sentences.append(
            f"{counted(len(zero), 'kernel')} of {len(weights)} got no weight and need not be computed for new samples: "
            f"{listed(zero)}."
        )
    if len(weights) > 1 and are_equal(weights):
        sentences.append("All kernels have the same weight.")
    if model.normalize is None:
        sentences.append(
            "Kernels were not normalised, so that weights of kernels of different size cannot be compared."
        )
    return sentences


def are_equal(weights: pd.Series) -> bool:
    values = weights.to_numpy()
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def is_weighted_sum(model: Any) -> bool:
    return terms_of(model) == list(model.kernel_names_)


def _weight_chart(weights: pd.Series) -> Bars:
    largest = weights.abs().sort_values(ascending=False, kind="stable").index[:MOST]
    shown = weights[largest]
    return Bars(
        title="Weight of each kernel",
        description=f"The largest weight is that of {shown.index[0]} ({written(float(shown.iloc[0]))}).",
        note=only_some(len(shown), len(weights), "kernels with the largest weights"),
        axis="weight",
        labels=[str(name) for name in shown.index],
        parts=["weight"],
        values=[[float(value)] for value in shown],
    )


def _about_classes(subject: Subject) -> str:
    if isinstance(subject.model.kernel_weights_, pd.DataFrame):
        what = "target" if subject.task == "regression" else "class"
        return f"Each {what} has weights of its own, learned as if it were the only one."
    return (
        f"Gates give each sample weights of its own. The means over the samples of each {subject.group_word} show "
        "whether classes are recognised by different views."
    )


def _heatmap(subject: Subject, by_class: pd.DataFrame) -> Heatmap:
    columns = by_class.abs().mean().sort_values(ascending=False, kind="stable").index[:MOST]
    columns = [name for name in by_class.columns if name in columns]
    shown = by_class[columns].iloc[:_MOST_ROWS]
    what = "target" if subject.task == "regression" else "class"
    notes = []
    if len(columns) < by_class.shape[1]:
        notes.append(f"Drawn are the {len(columns)} kernels with the largest weights, of {by_class.shape[1]}.")
    if len(shown) < len(by_class):
        notes.append(f"Drawn are the first {len(shown)} of {len(by_class)} rows.")
    return Heatmap(
        title=f"Weights by {what}",
        description=f"A row for each {what}, a column for each kernel; cells of a stronger colour are larger weights.",
        note=" ".join(notes),
        rows=[str(name) for name in shown.index],
        columns=[str(name) for name in shown.columns],
        values=[[float(value) for value in row] for row in shown.to_numpy()],
        signed=bool((shown.to_numpy() < 0.0).any()),
        row_axis=what,
        column_axis="kernel",
    )


def _weight_table(subject: Subject, weights: pd.Series) -> Table:
    model = subject.model
    columns = [Column("kernel"), Column("view"), Column("what it is"), Column("weight", "number")]
    columns.append(Column("used for new samples", "text"))
    rows: list[list[Cell]] = [
        [
            str(name),
            subject.view_of[name],
            kernel_in_words(kernel),
            float(weights[name]),
            "yes" if name in model.active_kernels_ else "no",
        ]
        for name, kernel in zip(model.kernel_names_, model.kernels_, strict=True)
    ]
    return Table(title="Kernels and their weights", columns=columns, rows=rows)


_LARGE = 0.01  # relative duality gap that is worth a warning
_MOST_LINES = 8


_MOST_FEATURES = 15
_MEANING = {
    "linear": "the size of its coefficient in the regression",
    "coxnet": "the size of its coefficient in the regression",
    "forest": "its share of what all splits gain on the training samples",
    "boosting": "its share of what all splits gain on the training samples",
}


def features_section(subject: Subject) -> Section | None:
    """The features that count most, where the model is a `CohortModel` whose method has such numbers."""
    found = None if subject.cohort is None else subject.cohort.feature_importance()
    if found is None or not len(found):
        return None
    shown = found.iloc[:_MOST_FEATURES]
    default = "the size of its weight in the linear kernels; what Gaussian kernels decide is not counted"
    text = (
        f"The importance of a feature is {_MEANING.get(subject.cohort.method_, default)}. Columns of numbers were "
        "standardised before, so that they compare. Features that say the same share it, so that a small number is no "
        "proof that a feature says nothing."
    )
    columns = [Column("view"), Column("feature"), Column("importance", "number")]
    signed = "weight" in found
    if signed:
        speaks = f"positive ones raise the {'risk' if subject.task == SURVIVAL else 'prediction'}"
        if subject.task == "classification":
            speaks = f"positive ones speak for {subject.estimator.classes_[1]}"
        columns.append(Column("weight", "number", speaks))
    rows: list[list[Cell]] = [
        [str(row["view"]), str(row["feature"]), float(row["importance"]), *([float(row["weight"])] if signed else [])]
        for _, row in shown.iterrows()
    ]
    note = "" if len(shown) == len(found) else f"The first {len(shown)} of {len(found):,} features."
    table = Table(title="Features", columns=columns, rows=rows, note=note)
    return Section(id="features", title="Features that count most", blocks=[Text(text=text), table])


def certificates_section(subject: Subject) -> Section | None:
    if subject.model is None:
        return None
    model = subject.model
    blocks: list[Block] = [Text(text=sentence) for sentence in about_certificate(model)]
    blocks.append(_certificate_table(subject, model))
    chart = _objective_chart(model)
    return Section(
        id="certificates",
        title="How well the fit is solved, and what it costs",
        blocks=blocks if chart is None else [*blocks, chart],
    )


def relative_gap(model: Any) -> float:
    return float(model.duality_gap_) / max(1.0, abs(float(model.objective_)))


def is_certified(model: Any) -> bool:
    """Whether there is a gap: there is none where a kernel is not positive semidefinite."""
    return bool(np.isfinite(model.duality_gap_))


def is_solved(model: Any) -> bool:
    return relative_gap(model) <= max(_LARGE, 10.0 * model.tol)


def ran_out_of_steps(model: Any) -> bool:
    combiner = model.combiner_
    return isinstance(combiner, DescentCombiner) and len(model.history_) > combiner.max_iter


def about_certificate(model: Any) -> list[str]:
    share, descends = relative_gap(model), isinstance(inner_combiner(model.combiner_), DescentCombiner)
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


def _certificate_table(subject: Subject, model: Any) -> Table:
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
    if hasattr(model, "support_"):
        words = "training samples that the model stores and compares new samples with"
        return [["support vectors", len(model.support_), words]]
    features = sum(len(coef) for coef in model.feature_coef_.values())
    rows: list[list[Cell]] = [["explicit features", features, "numbers that all kernels together make of a sample"]]
    for name, share in model.trace_shares_.items():
        words = "share of the kernel that its features have (trace); near 1 the approximation is as good as the kernel"
        rows.append([f"trace share of {name}", float(share), words])
    return rows


def _objective_chart(model: Any) -> Lines | None:
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
