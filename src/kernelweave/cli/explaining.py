"""What explains the predictions of new samples, as tables: contributions, weights of kernels, weights of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..recipes import CohortModel

TABLES = ("contributions.csv", "contributions_by_class.csv", "weights.csv", "features.csv")
LEADING = ("label", "class", "decision", "prediction", "intercept")  # columns that are no parts of views
_KINDS = ("-linear", "-gaussian")  # what the kernels of a view are called by, behind its name


def explaining_tables(model: CohortModel, X: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables that explain the predictions of samples, by the names of their files.

    Parameters
    ----------
    model : CohortModel
        Fitted.
    X : DataFrame of shape (n_samples, n_features)
        The samples, with their ids as index.

    Returns
    -------
    dict from file name to DataFrame
        ``contributions.csv``, one row for each sample; with more than two classes these are the parts of the predicted
        class, and ``contributions_by_class.csv`` has those of all. ``weights.csv`` where the model has kernels, and
        ``features.csv`` where some kernel is linear and has one weight for all samples. Rows of samples that lack all
        views that the method needs are empty but for the id.
    """
    decided = model.has_needed_views(X)
    if not decided.any():
        raise ValueError(f"no sample has a view that the method {model.method} needs ({', '.join(model.views)})")
    everyone, X = X.index, X[decided]
    parts = model.contributions(X)
    taken = {name: f"{name} (view)" for name in LEADING[:-1]}  # a view may be called so
    parts = parts.rename(columns=taken, level=1) if parts.columns.nlevels > 1 else parts.rename(columns=taken)
    predicted = model.predict(X)
    files = {}
    if parts.columns.nlevels > 1:
        files["contributions.csv"] = _with_ids(_of_predicted(parts, predicted), everyone)
        files["contributions_by_class.csv"] = _with_ids(_of_all(parts), everyone)
    else:
        lead = {"label": predicted, "decision": parts.sum(axis=1)} if _has_classes(model) else {"prediction": predicted}
        files["contributions.csv"] = _with_ids(_led(lead, parts), everyone)
    if hasattr(model.model_, "kernel_weights"):
        files["weights.csv"] = _with_ids(_kernel_weights(model, X), everyone)
        features = _feature_weights(model)
        if features is not None:
            files["features.csv"] = features
    return files


def deciding_views(model: CohortModel, table: pd.DataFrame) -> pd.Series:
    """For each view how many samples it decided: its part is the largest in the direction of the prediction.

    The direction is that of the predicted class and, for numbers, away from the mean prediction of these samples, from
    which parts are measured then.

    Parameters
    ----------
    model : CohortModel
    table : DataFrame
        The table of ``contributions.csv``.

    Returns
    -------
    Series
        By view, the most frequent first; ``"none"`` counts samples of which no view points to the prediction. Samples
        without a prediction do not count.
    """
    table = table[table.iloc[:, 1].notna()]
    names = [name for name in table.columns[1:] if name not in LEADING]
    views = [view_of(name, model.views) for name in names]
    parts = table[names].astype(float).T.groupby(views, sort=False).sum().T
    if _has_classes(model):
        several = len(model.classes_) > 2
        sign = 1.0 if several else np.where(table["label"] == model.classes_[1], 1.0, -1.0)[:, None]
    else:
        parts = parts - parts.mean()
        sign = np.sign(table["prediction"].astype(float) - table["prediction"].mean()).to_numpy()[:, None]
    toward = parts * sign
    found = np.where(toward.max(axis=1) > 0.0, toward.columns[toward.to_numpy().argmax(axis=1)], "none")
    return pd.Series(found).value_counts()


def view_of(term: str, views: list[str]) -> str:
    """The view of a kernel, by its name; a kernel of several views is named as it is.

    Examples
    --------
    >>> from kernelweave.cli.explaining import view_of
    >>> view_of("rna-linear", ["rna", "protein"])
    'rna'
    """
    if term in views:
        return term
    return next((view for view in views for kind in _KINDS if term == view + kind), term)


def _has_classes(model: CohortModel) -> bool:
    return model.task_ == "classification"


def _of_predicted(parts: pd.DataFrame, predicted: np.ndarray) -> pd.DataFrame:
    """One row for each sample: the parts of the class that is predicted."""
    outputs = list(dict.fromkeys(parts.columns.get_level_values(0)))
    terms = list(dict.fromkeys(parts.columns.get_level_values(1)))
    values = parts.to_numpy().reshape(len(parts), len(outputs), len(terms))
    places = [outputs.index(label) for label in predicted]
    own = pd.DataFrame(values[np.arange(len(parts)), places], parts.index, terms)
    return _led({"label": predicted, "decision": own.sum(axis=1)}, own)


def _of_all(parts: pd.DataFrame) -> pd.DataFrame:
    """One row for each sample and class."""
    outputs = list(dict.fromkeys(parts.columns.get_level_values(0)))
    own = [_led({"class": label, "decision": parts[label].sum(axis=1)}, parts[label]) for label in outputs]
    places = np.tile(np.arange(len(parts)), len(outputs))
    return pd.concat(own).iloc[np.argsort(places, kind="stable")]


def _led(lead: dict[str, Any], parts: pd.DataFrame) -> pd.DataFrame:
    """Columns in front of the parts; a term that is called as one of them keeps its name."""
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


def _kernel_weights(model: CohortModel, X: pd.DataFrame) -> pd.DataFrame:
    """Weights of kernels by sample."""
    weights = model.model_.kernel_weights(model.table(X))
    if weights.columns.nlevels > 1:
        weights = weights.set_axis([f"{output}: {kernel}" for output, kernel in weights.columns], axis=1)
    return weights.set_axis(X.index, axis=0)


def _feature_weights(model: CohortModel) -> pd.DataFrame | None:
    """Weights of the features of all linear kernels, the largest first; None where no kernel has such weights.

    Those of a regression are in units of y, as the contributions are.
    """
    inner: Any = model.model_
    found = []
    for name, kernel in zip(inner.kernel_names_, inner.kernels_, strict=True):
        if not kernel.is_linear:
            continue
        try:
            weights = inner.feature_weights(name)
        except ValueError:  # gates weigh each sample differently
            continue
        found.append(_long(weights, name, kernel))
    if not found:
        return None
    table = pd.concat(found, ignore_index=True)
    if not _has_classes(model):
        table["weight"] *= model.target_scale_
    return table.iloc[np.argsort(-table["weight"].abs().to_numpy(), kind="stable")].reset_index(drop=True)


def _long(weights: Any, name: str, kernel: Any) -> pd.DataFrame:
    """Weights of one kernel, one row for each feature (and class)."""
    view = kernel.view if isinstance(kernel.view, str) else "all views"
    table = weights if isinstance(weights, pd.DataFrame) else weights.to_frame()
    features = [str(feature) for feature in table.index]
    parts = []
    for output in table.columns:
        part = {"view": view, "kernel": name, "feature": features}
        if isinstance(weights, pd.DataFrame):
            part["class"] = output
        parts.append(pd.DataFrame({**part, "weight": table[output].to_numpy()}))
    return pd.concat(parts)
