"""`view_importance`: what a fitted model loses where the rows of a view, or of other columns, are permuted together.

Permuting one column at a time, as `sklearn.inspection.permutation_importance` does, tells little of views, since the
columns of a view stand in for each other. Here all columns of a group move together, so that each row of the group
stays a possible one, and only its relation to the other views and to the target is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..estimators.kernel_lists import fitted_model, fitted_views, has_steps_before
from ..validation import Seed, Whole, check, shown
from ..validation.inputs import as_pandas, check_one_table, check_row_labels, without_mask
from ..views import Views
from ..views.frames import SparseRows
from ..views.table import prefixes
from .view_comparison import one_metric


def view_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    scoring: Any = None,
    n_repeats: int = 10,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> pd.DataFrame:
    """How much worse a fitted model predicts where the rows of a view, or of a group of columns, are permuted.

    The columns of a group are permuted together, the model predicts, and its score is compared with that on X as it is.
    It works for every kernel and combiner, and for any other estimator. Take samples that the model was not fitted to.

    Parameters
    ----------
    model : fitted estimator
    X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,) or (n_samples, n_targets)
    groups : mapping from name to selector, list of selectors, or None
        Columns to permute together, each selected as kernels select a view: the name of a view or of a column, a list
        of names or positions, a slice, a boolean mask or a callable. None means the views of the model's kernels. For
        a pipeline with steps before the model, and for other estimators, None means the prefixes of a data frame's
        columns (``view__column``; columns without a prefix then form the group ``rest``).
    scoring : str, callable or None
        One metric; None means the `score` of the model. Higher is better.
    n_repeats : int
        How often each group is permuted.
    sample_weight : array of shape (n_samples,), optional
        Weights in the score.
    n_jobs : int or None
        Groups at a time, by joblib's current backend; the result does not depend on it.
    random_state : int, RandomState or None
        For the permutations.

    Returns
    -------
    DataFrame
        A row for each group, in order, with the columns

        ``importance``, ``std``
            Mean and standard deviation over the repeats of the loss: the score on X less that on permuted X.
        ``share``
            The importance as a share of the sum over the groups, negative ones counted as 0; NaN where there are none.
        ``samples``
            How many samples have the group.

        ``attrs["score"]`` is the score on X as it is.

    Notes
    -----
    A sample that lacks all columns of a group keeps lacking them: rows are permuted among the samples that have the
    group, and cells that are missing in a row move with it. Where a group has some columns of a view only, rows are
    permuted among samples that lack the same of these columns, so that no sample gets a part of a view that it lacks. A
    view that few samples have cannot be important for all. Precomputed kernels that read the same column of ids are
    permuted together; with a column of ids for each of them they are views of their own.

    Views that say the same can stand in for each other: each of them may be of little importance, though together they
    are of much. `view_report` fits models with and without each view instead.

    See Also
    --------
    view_report : models with and without each view, by cross-validation.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> from kernelweave.model_selection import view_importance
    >>> X, y = datasets.load_multifeat(target="even-vs-odd", return_X_y=True)
    >>> model = MKLClassifier([Linear("fou"), Gaussian("mor"), Gaussian("kar")]).fit(X[::4], y[::4])
    >>> view_importance(model, X[1::4], y[1::4], random_state=0).round(3)
         importance    std  share  samples
    fou       0.023  0.005  0.052      500
    mor       0.014  0.004  0.030      500
    kar       0.410  0.025  0.917      500

    Groups of columns, here the first and the other half of a view:

    >>> halves = {"first": slice("kar__0", "kar__31"), "others": slice("kar__32", "kar__63")}
    >>> view_importance(model, X[1::4], y[1::4], groups=halves, random_state=0)["importance"].round(2)
    first     0.39
    others    0.00
    Name: importance, dtype: float64
    """
    check("view_importance", "n_repeats", n_repeats, Whole(1))
    check("view_importance", "random_state", random_state, Seed())
    check_is_fitted(model)
    if y is None:
        raise ValueError("view_importance needs y: a model is scored by how well it predicts the targets")
    check_one_table(X)
    check_row_labels(X, y=y, sample_weight=sample_weight)
    X, y = without_mask(as_pandas(X)), as_pandas(y)
    X = X.tocsr() if sp.issparse(X) else X if isinstance(X, pd.DataFrame) else np.asarray(X)
    check_consistent_length(X, y, sample_weight)
    views = _columns(model, X)
    columns = views if groups is None else _selected(groups, X)
    if not columns:
        raise ValueError(
            "view_importance cannot find the views of X for this model: give groups, a mapping from name to columns"
        )
    scorer = check_scoring(model, scoring=one_metric(scoring))
    weight = {} if sample_weight is None else {"sample_weight": sample_weight}
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_repeats)
    score = scorer(model, X, y, **weight)

    strata = {name: _strata(X, chosen, views.values()) for name, chosen in columns.items()}

    def drops(name: str) -> list[float]:
        orders = (_order(strata[name], np.random.RandomState(seed)) for seed in seeds)
        return [score - scorer(model, _permuted(X, columns[name], order), y, **weight) for order in orders]

    losses = np.array(Parallel(n_jobs=n_jobs)(delayed(drops)(name) for name in columns))
    mean = losses.mean(axis=1)
    total = mean.clip(min=0.0).sum()
    report = pd.DataFrame(
        {
            "importance": mean,
            "std": losses.std(axis=1),
            "share": mean.clip(min=0.0) / total if total > 0.0 else np.nan,
            "samples": [int((stratum >= 0).sum()) for stratum in strata.values()],
        },
        index=list(columns),
    )
    report.attrs["score"] = float(score)
    return report


def exchanged(X: pd.DataFrame, columns: np.ndarray, random: np.random.RandomState) -> pd.DataFrame:
    """A table whose samples have exchanged their rows of a view (positions of columns), among those that have it."""
    order = _order(np.where(X.iloc[:, columns].isna().all(axis=1), -1, 0), random)
    others = np.setdiff1d(np.arange(X.shape[1]), columns)
    moved = X.iloc[order, columns].set_axis(X.index, axis=0)
    return pd.concat([X.iloc[:, others], moved], axis=1).iloc[:, np.argsort(np.concatenate([others, columns]))]


def _columns(model: Any, X: Any) -> dict[str, np.ndarray]:
    inside = fitted_model(model)
    names = Views(X).names
    if inside is not None and not has_steps_before(model):
        views = fitted_views(inside)
        fitted_names = getattr(inside, "feature_names_in_", None)
        if names is None or fitted_names is None:
            return views
        place = {name: position for position, name in enumerate(names)}  # X may have its columns in another order
        return {
            view: np.array([place[name] for name in fitted_names[read] if name in place], dtype=int)
            for view, read in views.items()
        }
    found = {} if names is None else prefixes(names)
    if set(found) <= {""}:
        return {}
    if "" in found:
        found["other columns" if "rest" in found else "rest"] = found.pop("")
    return found


def _selected(groups: Any, X: Any) -> dict[str, np.ndarray]:
    if isinstance(groups, list | tuple):
        groups = {
            selector if isinstance(selector, str) else f"group {k}": selector for k, selector in enumerate(groups)
        }
    if not isinstance(groups, Mapping) or not groups:
        raise ValueError(f"groups must map names to columns, or be a list of columns, not {shown(groups)}")
    views = Views(X)
    return {name: views.columns(selector) for name, selector in groups.items()}


def _strata(X: Any, columns: np.ndarray, views: Iterable[np.ndarray]) -> np.ndarray:
    """A number for each sample: rows move among samples of the same number; -1 for samples without the group."""
    if sp.issparse(X):
        return np.zeros(X.shape[0], dtype=int)
    divided = np.zeros(0, dtype=int)
    for view in views:
        shared = np.intersect1d(columns, view)
        if 0 < len(shared) < len(view):
            divided = np.union1d(divided, shared)
    strata = np.zeros(X.shape[0], dtype=int)
    if len(divided) > 0:
        strata = np.unique(_lacking(X, divided), axis=0, return_inverse=True)[1].ravel()
    return np.where(_lacking(X, columns).all(axis=1), -1, strata)


def _lacking(X: Any, columns: np.ndarray) -> np.ndarray:
    """Which samples lack which columns (of a data frame: those that hold the features)."""
    values = X.iloc[:, list(_in_frame(X, columns))] if isinstance(X, pd.DataFrame) else X[:, columns]
    return np.asarray(pd.isna(values), dtype=bool)


def _order(strata: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    order = np.arange(len(strata))
    for stratum in np.unique(strata[strata >= 0]):
        rows = np.flatnonzero(strata == stratum)
        order[rows] = rng.permutation(rows)
    return order


def _permuted(X: Any, columns: np.ndarray, order: np.ndarray) -> Any:
    if sp.issparse(X):
        return _permuted_matrix(X, order, columns)
    if not isinstance(X, pd.DataFrame):
        X = X.copy()
        X[:, columns] = X[np.ix_(order, columns)]
        return X
    touched = _in_frame(X, columns)
    others, moving = np.setdiff1d(np.arange(X.shape[1]), list(touched)), np.array(list(touched), dtype=int)
    moved = X.iloc[order, moving].set_axis(X.index, axis=0)
    for place, (column, features) in enumerate(touched.items()):
        if features is not None:
            rows: Any = X.iloc[:, column].array
            matrix = _permuted_matrix(rows.matrix, order, features)
            moved.isetitem(place, SparseRows(matrix, rows.dtype.features, rows.present))
    return pd.concat([X.iloc[:, others], moved], axis=1).iloc[:, np.argsort(np.concatenate([others, moving]))]


def _permuted_matrix(X: Any, order: np.ndarray, columns: np.ndarray) -> Any:
    moves = np.isin(np.arange(X.shape[1]), columns).astype(float)
    return (X @ sp.diags(1.0 - moves) + X[order] @ sp.diags(moves)).tocsr()


def _in_frame(X: pd.DataFrame, columns: np.ndarray) -> dict[int, np.ndarray | None]:
    """The columns of a data frame that hold these features, each with those among several that it holds."""
    arrays = [X.iloc[:, place].array for place in range(X.shape[1])]
    sizes = [len(array.dtype.features) if isinstance(array, SparseRows) else 1 for array in arrays]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    found: dict[int, np.ndarray | None] = {}
    for place in np.unique(np.searchsorted(first, columns, side="right") - 1).tolist():
        chosen = columns[(columns >= first[place]) & (columns < first[place + 1])] - first[place]
        found[place] = None if len(np.unique(chosen)) == sizes[place] else chosen
    return found
