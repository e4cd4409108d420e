"""``kernelweave explain``: which views, kernels and columns decided about new samples."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._warnings import warn
from ..compare.labelled import LabelledCohort
from ..estimators.explanations import INTERCEPT, part_names
from ..estimators.kernel_lists import kernels_by_view
from ..files.base import as_csv
from ..recipes import CohortModel
from ..recipes.importance import mean_parts, measured_from, part_terms
from ..reporting import report
from ..reporting.page import Report
from ..reporting.provenance import record_of
from ..saving.atomic import replace_file
from .inputs import made_by, new_inputs
from .messages import counted_samples, listed, say, working
from .prediction import (
    NAMED,
    NewSamples,
    decision_name,
    decision_sign,
    has_classes,
    has_risks,
    load_model,
    predictable,
    predictions,
    tell_scores,
    without_prediction,
)

TABLES = ("contributions.csv", "contributions_by_class.csv", "weights.csv", "features.csv")
LEADING = ("label", "class", "pair", "target", "decision", "prediction", "risk")  # columns in front of the parts
REPORTS = ("report.json", "report.html", "report.md")
_SEED = 0  # of the samples that the report draws
_KINDS = ("-linear", "-gaussian")  # what the kernels of a view are called by, behind its name


def explaining_tables(model: Any, X: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables that explain the predictions of samples, whose ids are the index of X, by the names of their files.

    ``contributions.csv`` has one row for each sample; with more than two classes these are the parts of the predicted
    class, and ``contributions_by_class.csv`` has those of all. One row for each sample and target, or pair of classes,
    where a model of the library has such decision values. ``weights.csv`` is there where the model has kernels, and
    ``features.csv`` where some kernel is linear and has one weight for all samples, or the model is a regression on all
    columns. Rows of samples that lack all views that the model needs are empty but for the id.

    Parts of numbers are measured from their means over the training samples (`mean_parts`), so that the
    intercept is the mean prediction; those of two classes are positive for `positive_class`.
    """
    able = predictable(model, X)
    if not able.any():
        who = f"method {model.method}" if isinstance(model, CohortModel) else "model"
        raise ValueError(f"no sample has a view that the {who} needs ({', '.join(_views(model))})")
    everyone, X = X.index, X[able]
    parts = model.contributions(X)
    outputs = _outputs(parts)
    values = (parts.to_numpy() * decision_sign(model) + 0.0).reshape(len(parts), max(len(outputs), 1), -1)
    if not has_classes(model):
        means = mean_parts(model, parts).reshape(values.shape[1:])[:, :-1]
        values[:, :, :-1] -= means
        values[:, :, -1] += means.sum(axis=1)
    names = list(_column_names(_terms(parts), _taken(model, everyone.name)))
    tables = [pd.DataFrame(values[:, place], X.index, names) for place in range(values.shape[1])]
    files = {}
    if not outputs:
        files["contributions.csv"] = _single_output_table(model, X, tables[0])
    elif (word := _output_name(model, outputs)) == "class":
        files["contributions.csv"] = _predicted_class_table(model.predict(X), outputs, tables)
        files["contributions_by_class.csv"] = _all_outputs_table({}, word, "decision", outputs, tables)
    elif word == "pair":
        files["contributions.csv"] = _all_outputs_table({"label": model.predict(X)}, word, "decision", outputs, tables)
    else:
        files["contributions.csv"] = _all_outputs_table({}, word, "prediction", outputs, tables)
    if hasattr(_inner(model), "kernel_weights"):
        files["weights.csv"] = _kernel_weights(model, X)
    files = {name: _with_ids(table, everyone) for name, table in files.items()}
    features = _feature_weights(model)
    return files if features is None else {**files, "features.csv": features}


def deciding_views(model: Any, table: pd.DataFrame) -> pd.Series:
    """For each view, the most frequent first, how many samples it decided, by the table of ``contributions.csv``.

    Its part is then the largest in the direction of the prediction, or "none" counts the sample. The direction is that
    of the predicted class and, for numbers and risks, away from the intercept. Where a sample has several rows, its
    parts in these directions are added, each in units of the spread of its decision value. Only predicted samples
    count.
    """
    ids, table = table.iloc[:, 0], table.iloc[:, 1:]
    is_known = table.iloc[:, 0].notna()
    ids, table = ids[is_known], table[is_known]
    views = _term_views(model, ids.name)
    names = [name for name in table.columns if name not in (*LEADING, decision_name(model))][:-1]
    parts = table[names].astype(float).T.groupby([views.get(name, name) for name in names], sort=False).sum().T
    value = table[_value_name(model)].astype(float)
    output = next((table[name] for name in ("pair", "target") if name in table), pd.Series("", table.index))
    if has_classes(model):
        several = len(getattr(model, "classes_", ())) > 2 and "pair" not in table
        sign = pd.Series(1.0, table.index) if several else np.sign(value)
    else:
        sign = np.sign(value - table[INTERCEPT].astype(float))
    if output.nunique() > 1:
        sign = sign / value.groupby(output).transform("std").replace(0.0, 1.0).fillna(1.0)
    toward = parts.mul(sign, axis=0).groupby(ids.to_numpy(), sort=False).sum()
    found = np.where(toward.max(axis=1) > 0.0, toward.columns[toward.to_numpy().argmax(axis=1)], "none")
    return pd.Series(found).value_counts()


def view_of(term: str, views: list[str]) -> str:
    """The view of a kernel, by its name; a kernel of several views is named as it is."""
    if term in views:
        return term
    return next((view for view in views for kind in _KINDS if term == view + kind), term)


def _inner(model: Any) -> Any:
    return model.model_ if isinstance(model, CohortModel) else model


def _views(model: Any) -> list[str]:
    return model.views if isinstance(model, CohortModel) else list(kernels_by_view(model))


def _terms(parts: pd.DataFrame) -> list[str]:
    if parts.columns.nlevels == 1:
        return [str(name) for name in parts.columns]
    return [str(name) for name in parts.columns.get_level_values(1)][: len(parts.columns) // len(_outputs(parts))]


def _outputs(parts: pd.DataFrame) -> list[Any]:
    return [] if parts.columns.nlevels == 1 else list(dict.fromkeys(parts.columns.get_level_values(0)))


def _taken(model: Any, id_name: Any) -> set[str]:
    return {*LEADING, decision_name(model), INTERCEPT, str(id_name)}


def _column_names(terms: Sequence[str], taken: set[str]) -> dict[str, str]:
    """What the columns of parts are called, all different: a view may be called as another column is."""
    found: dict[str, str] = {}
    for place, term in enumerate(terms):
        name = term
        while place < len(terms) - 1 and name in taken:
            name = f"{name} (view)"
        taken.add(name)
        found[name] = term
    return found


def _term_views(model: Any, id_name: Any) -> dict[str, str]:
    inner = _inner(model)
    terms = part_terms(model) if isinstance(model, CohortModel) else list(inner.kernel_names_)
    own = {}
    if not isinstance(model, CohortModel):
        own = {kernel: view for view, kernels in kernels_by_view(model).items() for kernel in kernels}
    names = _column_names(part_names([*map(str, terms)]), _taken(model, id_name))
    views = [own.get(term) or view_of(term, _views(model)) for term in [*map(str, terms), INTERCEPT]]
    return dict(zip(names, views, strict=True))


def _value_name(model: Any) -> str:
    """The column of what the parts of a sample add up to."""
    return decision_name(model) if has_classes(model) else "risk" if has_risks(model) else "prediction"


def _single_output_table(model: Any, X: pd.DataFrame, parts: pd.DataFrame) -> pd.DataFrame:
    if not has_classes(model):
        return _with_lead({_value_name(model): np.ravel(model.predict(X))}, parts)
    return _with_lead({"label": model.predict(X), decision_name(model): parts.sum(axis=1)}, parts)


def _predicted_class_table(predicted: np.ndarray, outputs: list[Any], tables: list[pd.DataFrame]) -> pd.DataFrame:
    places = [outputs.index(label) for label in predicted]
    values = np.stack([table.to_numpy() for table in tables])[places, np.arange(len(places))]
    own = pd.DataFrame(values, tables[0].index, tables[0].columns)
    return _with_lead({"label": predicted, "decision": own.sum(axis=1)}, own)


def _all_outputs_table(
    lead: dict[str, Any], output_name: str, value_name: str, outputs: list[Any], tables: list[pd.DataFrame]
) -> pd.DataFrame:
    own = [
        _with_lead({**lead, output_name: output, value_name: table.sum(axis=1)}, table)
        for output, table in zip(outputs, tables, strict=True)
    ]
    places = np.tile(np.arange(len(tables[0])), len(outputs))
    return pd.concat(own).iloc[np.argsort(places, kind="stable")]


def _with_lead(lead: dict[str, Any], parts: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([pd.DataFrame(lead, index=parts.index), parts], axis=1)


def _with_ids(table: pd.DataFrame, everyone: pd.Index) -> pd.DataFrame:
    """The index as the first column, under the name that it has in the files, and empty rows for other samples."""
    lacking = everyone[~everyone.isin(table.index)]
    if len(lacking):
        table = pd.concat([table, pd.DataFrame(index=lacking, columns=table.columns, dtype=object)])
    place = pd.Series(range(len(everyone)), everyone)
    table = table.iloc[np.argsort(place.loc[table.index].to_numpy(), kind="stable")]
    ids = pd.Series(table.index, table.index, name="sample" if everyone.name is None else everyone.name)
    return pd.concat([ids, table], axis=1).reset_index(drop=True)


def _kernel_weights(model: Any, X: pd.DataFrame) -> pd.DataFrame:
    weights = _inner(model).kernel_weights(model.table(X) if isinstance(model, CohortModel) else X)
    if weights.columns.nlevels > 1:
        weights = weights.set_axis([f"{output}: {kernel}" for output, kernel in weights.columns], axis=1)
    return weights.set_axis(X.index, axis=0)


def _feature_weights(model: Any) -> pd.DataFrame | None:
    """Feature weights of all linear kernels, or of a regression on all columns (in units of y), the largest first."""
    inner = _inner(model)
    if getattr(inner, "kind_", None) in ("linear", "coxnet"):
        found = [_regression_weights(inner)]
    else:
        found = _linear_kernel_weights(inner) if hasattr(inner, "feature_weights") else []
    if not found:
        return None
    several = has_classes(model) and len(getattr(model, "classes_", ())) > 2
    found = [(_by_class(inner, weights) if several else weights, lead) for weights, lead in found]
    word = _output_name(model, list(found[0][0].columns)) if isinstance(found[0][0], pd.DataFrame) else ""
    table = pd.concat([_long_table(weights, lead, word) for weights, lead in found])
    if isinstance(model, CohortModel) and not has_classes(model):
        table["weight"] *= model.target_scale_
    return table.iloc[np.argsort(-table["weight"].abs().to_numpy(), kind="stable")].reset_index(drop=True)


def _linear_kernel_weights(inner: Any) -> list[tuple[Any, dict[str, Any]]]:
    found = []
    for name, kernel in zip(inner.kernel_names_, inner.kernels_, strict=True):
        if not kernel.is_linear:
            continue
        try:
            weights = inner.feature_weights(name)
        except ValueError:  # gates weigh each sample differently
            continue
        view = kernel.view if isinstance(kernel.view, str) else "all views"
        found.append((weights, {"view": view, "kernel": name}))
    return found


def _regression_weights(inner: Any) -> tuple[Any, dict[str, Any]]:
    weights = inner.coefficients()
    return weights.droplevel("view"), {"view": list(weights.index.get_level_values("view"))}


def _by_class(inner: Any, weights: Any) -> pd.DataFrame:
    """Weights for each class that the model inside knows: of two classes the first has those of the second reversed."""
    if isinstance(weights, pd.DataFrame):
        return weights
    first, second = inner.classes_
    return pd.DataFrame({first: 0.0 - weights, second: weights})


def _output_name(model: Any, outputs: list[Any]) -> str:
    if not has_classes(model):
        return "target"
    return "class" if set(outputs) <= set(model.classes_) else "pair"


def _long_table(weights: Any, lead: dict[str, Any], word: str) -> pd.DataFrame:
    table = weights if isinstance(weights, pd.DataFrame) else weights.to_frame()
    features = [str(feature) for feature in table.index]
    parts = []
    for output in table.columns:
        part = {**lead, "feature": features}
        if isinstance(weights, pd.DataFrame):
            part[word] = output
        parts.append(pd.DataFrame({**part, "weight": table[output].to_numpy()}))
    return pd.concat(parts)


def run(chosen: argparse.Namespace) -> int:
    model = load_model(chosen)
    samples = NewSamples(chosen, model)
    X = samples.whole()
    inputs = new_inputs(chosen, samples.files, samples.counts())
    able = predictable(model, X)
    y = None if samples.labelled is None else samples.labelled.add(samples.targets(X), predictions(model, X))
    with working("explaining"):
        tables = explaining_tables(model, X)
        made = made_by(chosen, _SEED, inputs, record_of(model))
        page = _report(model, X, able, y, samples.labelled)
        page = Report(replace(page.contents, provenance=made))
    out: Path = chosen.out
    out.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        if name in tables:
            write_table(out / name, tables[name])
        else:
            (out / name).unlink(missing_ok=True)  # of an earlier call with another model
    for name in REPORTS:
        page.save(out / name)
    if not able.all():
        warn(without_prediction(list(X.index[~able][:NAMED]), int((~able).sum()), samples.wanted))
    counts = deciding_views(model, tables["contributions.csv"])
    views = listed([f"{view} ({counted_samples(count)})" for view, count in counts.items()])
    name = getattr(model, "method", type(model).__name__)
    say(
        [
            *samples.notes,
            f"Explained the predictions of {counted_samples(int(able.sum()))} by {name}.",
            f"Most was added to the {'risk' if has_risks(model) else 'decision'} by {views}.",
            *([] if has_classes(model) else [f"Parts are measured from {measured_from(model, int(able.sum()))}."]),
        ]
    )
    if samples.labelled is not None:
        tell_scores(samples.labelled, sys.stdout)
    say([f"Written to {out}: {', '.join([*tables, *REPORTS])}", f"Report: {out / 'report.html'}"])
    return 0


def _report(
    model: Any, X: pd.DataFrame, able: np.ndarray, y: pd.Series | None, cohort: LabelledCohort | None
) -> Report:
    """The report on the samples that can be predicted or, with a target, on those of them that have one."""
    rows = [("samples", f"{len(X)} new samples")]
    if not able.all():
        lacking = counted_samples(int((~able).sum()))
        rows.append(("left out", f"{lacking} without any view that the model needs"))
    if y is None or cohort is None or not cohort.n_samples:
        return report(model, X[able], data=rows, random_state=_SEED)
    kept = able & y.notna().to_numpy()
    if cohort.n_unlabelled:
        rows.append(("left out", f"{counted_samples(cohort.n_unlabelled)} without a label"))
    targets = y[kept].to_numpy(dtype=float) if cohort.classes is None else _of_one_type(y[kept])
    found = (cohort.sentences(), cohort.section())
    return report(model, X[kept], targets, cv=False, comparison=found, data=rows, random_state=_SEED)


def _of_one_type(labels: pd.Series) -> np.ndarray:
    """Labels as an array; as text where the model does not know some and has no text itself."""
    values = labels.tolist()
    is_mixed = len({isinstance(value, str) for value in values}) > 1
    return np.array([str(value) for value in values] if is_mixed else values)


def write_table(path: Path, table: pd.DataFrame) -> None:
    content = as_csv(table).encode("utf-8")
    replace_file(path, lambda file: file.write(content))
