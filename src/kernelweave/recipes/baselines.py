"""Baselines that `compare` sets beside kernel machines: models of all columns, and late integration of views.

`ColumnModel` is logistic or ridge regression, a random forest or gradient boosting on all columns; of times to an event
a random survival forest or Cox regression with an elastic net, both of scikit-survival. `StackedViews` is a
kernel machine for each view and a regression on their decision values: with f_v(x) those of view v, and mean_v their
mean over training samples that the machine was not fitted to, it decides by

    g(x) = b + sum_v <w_v, f_v(x) - mean_v>

where w and b are those of a logistic (multinomial) or ridge regression, fitted to cross-fitted decision values. A view
that a sample lacks adds 0. `Decisions` is what both share.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.validation import check_is_fitted

from .._extras import optional
from ..estimators import MKLClassifier, MKLRegressor
from ..estimators.classifier import EPS, without_ties
from ..estimators.explanations import part_names
from ..estimators.fitted import extension, lookups_of, n_compared
from ..survival import check_for_fit, concordance
from ..validation import Choice, Constraints, Instance, Number, Offers, Seed, Whole, check_parameters, shown
from ..validation.columns import SEPARATOR
from ..validation.inputs import (
    check_labels,
    check_numeric_target,
    check_row_labels,
    encode_labels,
    unchanged_on_failure,
)
from ..validation.schemas import (
    Schema,
    Sizes,
    agree,
    count,
    expect,
    indices,
    maybe,
    numbers,
    object_of,
    one_of,
    refuse,
    several,
    text,
)
from ..views import Views
from ..views.given import new_views, training_views
from .design import Design
from .kinds import TASK
from .search import balanced_folds
from .tasks import CLASSES, NUMBERS, SURVIVAL, TASKS, outcomes_of
from .trees import LinearScores, TreeSum

CLASS_WEIGHT = Choice("balanced", None) | Instance(Mapping, "a mapping from class to weight")


class Decisions(BaseEstimator):
    """Base of models with `task_` and, for classification, `classes_`."""

    task_: str
    classes_: np.ndarray
    n_features_in_: int

    _saved = TASK

    def _targets(self, y: Any, n_samples: int) -> np.ndarray:
        """Positions in `classes_`, numbers, or times and events; sets `classes_`."""
        for name in ("classes_", "class_count_"):
            self.__dict__.pop(name, None)
        if self.task_ == "classification":
            self.classes_, labels = encode_labels(self, check_labels(self, y, n_samples))
            self.class_count_ = np.bincount(labels).astype(np.float64)
            return labels
        if self.task_ == SURVIVAL:
            found = outcomes_of(y)
            check_for_fit(found["event"])
            if len(found) != n_samples:
                raise ValueError(f"X and y have inconsistent numbers of samples: {n_samples} and {len(found)}")
            return found
        values, names = check_numeric_target(self, y, n_samples)
        if names is not None and values.shape[1] != 1:
            raise ValueError(f"{type(self).__name__} takes one target, but y has {values.shape[1]} columns")
        return np.ravel(values)

    def _weights_of_positions(self, class_weight: Any) -> Any:
        if not isinstance(class_weight, Mapping):
            return class_weight
        known = dict(zip(self.classes_.tolist(), range(len(self.classes_)), strict=True))
        unknown = [label for label in class_weight if label not in known]
        if unknown:
            raise ValueError(f"class_weight names {shown(unknown[0])}, which is no class; those are {list(known)}")
        return {known[label]: weight for label, weight in class_weight.items()}

    def _outputs(self) -> list[Any]:
        several = self.task_ == "classification" and len(self.classes_) > 2
        return list(self.classes_) if several else [0]

    def _task(self) -> str:
        raise NotImplementedError

    def _n_terms(self) -> int:
        raise NotImplementedError

    def _decided(self, X: Any) -> np.ndarray:
        """Decision values of shape (n_samples, n_outputs)."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values, positive for ``classes_[1]``, or by class of more than two; of a regression predictions."""
        check_is_fitted(self)
        values = self._decided(X)

        def rounding(rows: np.ndarray) -> np.ndarray:
            return EPS * self._n_terms() * (1.0 + np.abs(values[rows]))

        return without_ties(_as_public, values, vars(self).get("class_count_"), rounding)

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, of the largest decision value (of nearly equal ones the most frequent), numbers, or risks."""
        values = self.decision_function(X)
        if self.task_ != CLASSES:
            return values
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    def score(self, X: Any, y: Any) -> float:
        measure = {CLASSES: accuracy_score, NUMBERS: r2_score, SURVIVAL: concordance}[self.task_]
        return float(measure(y, self.predict(X)))

    def _as_contributions(self, parts: np.ndarray, views: list[str], X: Any) -> pd.DataFrame:
        """Parts of shape (n_samples, n_outputs, n_views + 1) as a data frame; the last part is the intercept."""
        names = part_names(views)
        columns = pd.Index(names)
        if parts.shape[1] > 1:
            columns = pd.MultiIndex.from_product([self._outputs(), names], names=["output", "kernel"])
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(parts.reshape(len(parts), -1), columns=columns, index=index)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        if self._task() == "classification":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif self._task() == NUMBERS:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags


def _as_public(values: np.ndarray) -> np.ndarray:
    return values[:, 0] if values.shape[1] == 1 else values


ESTIMATORS = ("linear", "forest", "boosting")
_LINEAR = ("linear", "coxnet")
_OF_TASK = {CLASSES: ESTIMATORS, NUMBERS: ESTIMATORS, SURVIVAL: ("coxnet", "forest")}
# Scikit-learn's defaults but for coarse bins, which take a third of the time (three classes, 1400 samples, 200
# columns: 2.4 s for 7.0 s) and are as accurate within noise on twenty generated and real sets, and for
# l2_regularization, without which gradient boosting can diverge on rare classes (PROTEIN FOLD, learning rate 0.2:
# accuracy 0.10 for 0.60).
BOOSTING: dict[str, Any] = {
    "max_bins": 63,
    "l2_regularization": 1.0,
    "n_iter_no_change": 5,
    "categorical_features": None,
}
# Smaller trees and some columns for each split are better for few samples (docs/recipes.md), and worse for many where
# columns interact: R2 0.50 for 0.83 of a sum of two products, 3000 samples.
FEW = 500
FOR_FEW = {"max_leaf_nodes": 8, "max_features": 0.3}
LEAF, SMALL_LEAF = 20, 5  # samples of a leaf; the smaller one where most columns are flags of rare categories
MOST_COLUMNS = 1000  # of which a split is the best
LARGE, RAREST = 10_000, 20
COMPONENTS = 50  # components of documents and sparse tables that gradient boosting reads


class ColumnModel(Decisions):
    """Logistic or ridge regression, a random forest or gradient boosting of scikit-learn on all columns of X.

    The columns of all views become one table of numbers, to which the model is fitted: what is often taken in the place
    of kernel machines over several views. Of the fitted model only arrays are kept (`scores_`), coefficients or the
    nodes of trees, so that it can be saved without code; no training sample is (`n_stored_` is None).

    Parameters
    ----------
    estimator : {"linear", "forest", "boosting", "coxnet"}
        "linear" is logistic regression, or ridge regression where the task is one. Of survival there are "forest", the
        random survival forest of scikit-survival, and "coxnet", its Cox regression with an elastic net.
    preparation : transformer or None
        What makes numbers of the columns, mostly a `ColumnTransformer`. None is for columns of numbers: a missing one
        is taken as the median of its column, and those of linear models are scaled. Gradient boosting takes missing
        numbers as they are, also where a preparation would fill them in, and the leading singular directions of
        documents and of sparse tables.
    task : {"classification", "regression", "survival"}
    C : float
        Of linear models: the cost of errors; ridge regression has the penalty ``alpha = 1 / C``, and "coxnet" 1 / C of
        the least penalty that leaves no column.
    n_trees : int
        Of a forest.
    learning_rate : float
        Of gradient boosting, which has ``10 / learning_rate`` rounds: 0.2 takes half the time of 0.1.
    class_weight : "balanced", mapping from class to weight, or None
        How much errors of a class count; "balanced" means the inverse of its share.
    n_jobs : int or None
        Threads that a forest is grown by; the result does not depend on it.
    random_state : int, RandomState or None

    Examples
    --------
    >>> from kernelweave import datasets
    >>> from kernelweave.recipes.baselines import ColumnModel
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = ColumnModel("linear", C=0.1).fit(X[::10], y[::10])
    >>> model.views
    ['fac', 'fou', 'kar', 'mor', 'pix', 'zer']
    >>> bool(model.score(X[5::20], y[5::20]) > 0.9)
    True
    """

    _constraints = Constraints(
        estimator=Choice(*ESTIMATORS, "coxnet"),
        preparation=Offers("fit", "transform", words="a transformer such as a ColumnTransformer") | None,
        task=Choice(*TASKS),
        C=Number(above=0),
        n_trees=Whole(1),
        learning_rate=Number(low=0.01, high=1.0),
        class_weight=CLASS_WEIGHT,
        n_jobs=Whole(but_not=0) | None,
        random_state=Seed(),
    )
    n_stored_ = None

    _saved = Schema(
        {
            "kind_": one_of(*ESTIMATORS, "coxnet"),
            "design_": object_of(Design, "columns", "features"),
            "scores_": object_of((LinearScores, TreeSum), "features"),
        }
    )

    def __init__(
        self,
        estimator: str = "linear",
        preparation: Any = None,
        *,
        task: str = "classification",
        C: float = 1.0,
        n_trees: int = 300,
        learning_rate: float = 0.1,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.preparation = preparation
        self.task = task
        self.C = C
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ColumnModel:
        """Fit the model; columns of a data frame are named ``view__column``, others form the view ``rest``."""
        with unchanged_on_failure(self):
            given = check_parameters(self)
            if given.estimator not in _OF_TASK[given.task]:
                there = ", ".join(map(repr, _OF_TASK[given.task]))
                raise ValueError(f"estimator={given.estimator!r} is not for the task {given.task!r}, which has {there}")
            check_row_labels(X, y=y)
            views = training_views(self, X)
            self.task_ = given.task
            targets = self._targets(y, views.n_samples)
            preparation = default_preparation(given.estimator) if self.preparation is None else self.preparation
            self.kind_ = given.estimator
            components = COMPONENTS if given.estimator == "boosting" else None
            self.design_ = Design.fit(preparation, views, targets, components=components)
            self.scores_ = self._fitted(given, self._numbers(views), targets)
        return self

    def _fitted(self, given: Any, table: Any, targets: np.ndarray) -> LinearScores | TreeSum:
        if given.task == "classification":
            given.class_weight = self._weights_of_positions(given.class_weight)
        if given.estimator == "linear":
            model = linear_model(given.task, given.C, given.class_weight)
            return LinearScores.of(model.fit(table, targets))
        if given.estimator == "coxnet":
            return coxnet(given, table, targets)
        if given.estimator == "forest":
            return TreeSum.of_forest(forest(given).fit(table, targets), table)
        # scikit-learn fails on a column without any value; as a constant it is never read.
        table = np.where(np.isnan(table).all(axis=0), 0.0, table)
        return TreeSum.of_boosting(boosting(given, table, targets).fit(table, targets), table)

    @property
    def views(self) -> list[str]:
        check_is_fitted(self)
        return list(self._columns_by_view())

    def contributions(self, X: Any) -> pd.DataFrame:
        """By how much each view changes the decision value of each sample: its value less that without the view.

        Without a view means that all its columns are taken as missing, as for a sample that lacks the view. Columns are
        the views and ``"intercept"``, pairs of class and view where there are more than two classes. Each row adds up
        to the decision value: the intercept is what the views leave. It is the same for all samples that have all cells
        in a linear model, whose parts are those of the coefficients; in other models it also has what views do only
        together.
        """
        views = self._new_views(X)
        values = self._scored(self._numbers(views))
        groups = self._columns_by_view()
        parts = np.empty((*values.shape, len(groups) + 1))
        for place, columns in enumerate(groups.values()):
            parts[:, :, place] = values - self._scored(self._numbers(views, without=columns))
        parts[:, :, -1] = values - parts[:, :, :-1].sum(axis=2)
        return self._as_contributions(parts, list(groups), X)

    def coefficients(self) -> pd.Series | pd.DataFrame:
        """The coefficients of a linear model by view and feature, a column for each of several classes.

        They are those of features as the preparation makes them: of numbers in units of their standard deviation, as
        `CohortModel` and the default prepare them, of categories and of words. Those of principal components (`PCA`,
        `TruncatedSVD`) are carried back to the columns that these are made of. A forest has none: a ValueError.
        """
        check_is_fitted(self)
        if not isinstance(self.scores_, LinearScores):
            raise ValueError(f'coefficients needs estimator="linear" or "coxnet", and this model is a {self.kind_!r}')
        index, origin = self.design_.origin(getattr(self, "feature_names_in_", None))
        coef = origin.carried(self.scores_.coef.T)
        return pd.Series(coef[:, 0], index) if coef.shape[1] == 1 else pd.DataFrame(coef, index, self._outputs())

    def _task(self) -> str:
        return self.task

    def _decided(self, X: Any) -> np.ndarray:
        return self._scored(self._numbers(self._new_views(X)))

    def _new_views(self, X: Any) -> Views:
        check_is_fitted(self)
        return new_views(self, X, self.design_.read)

    def _columns_by_view(self) -> dict[str, np.ndarray]:
        return self.design_.views(getattr(self, "feature_names_in_", None))

    def _numbers(self, views: Views, without: np.ndarray | None = None) -> Any:
        table = self.design_.table(views, without)
        return table.toarray() if self.kind_ == "boosting" and sp.issparse(table) else table

    def _scored(self, table: Any) -> np.ndarray:
        """Decision values of the rows of a table: log-odds, logarithms of probabilities or predictions."""
        values = self.scores_.predict(table)
        if self.kind_ != "forest" or self.task_ == NUMBERS or not isinstance(self.scores_, TreeSum):
            return values
        smallest = 0.5 * self.scores_.factor  # no class is impossible because no tree has a leaf for it
        logs = np.log(np.maximum(values, smallest))
        if self.task_ == SURVIVAL:  # of the expected number of events: as of Cox's model, where differences count
            return logs
        return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs

    def _n_terms(self) -> int:
        return self.scores_.n_terms

    def _lookups(self) -> list:
        return []

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if isinstance(self.scores_, LinearScores) != (self.kind_ in _LINEAR):
            refuse(f"{path}.scores_", f"is a {type(self.scores_).__name__}, which the kind {self.kind_!r} never has")
        both = self.kind_ == "forest" and self.task_ == "classification"
        expected = len(self.classes_) if both else len(self._outputs())
        expect(expected, self.scores_.n_outputs, f"{path}.scores_", "outputs")
        expect(self.design_.width, self.scores_.width, f"{path}.scores_", "features")
        if isinstance(self.scores_, TreeSum) and not self.scores_.factor > 0:
            refuse(f"{path}.scores_.factor", "is not positive")


def default_preparation(estimator: str) -> Any:
    """The transformer of columns of numbers for a model of this name."""
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    if estimator in _LINEAR:
        return make_pipeline(fill, StandardScaler())
    return fill if estimator == "forest" else FunctionTransformer()


def linear_model(task: str, C: float, class_weight: Any = None) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge

    if task == "regression":
        return Ridge(alpha=1.0 / C)
    return LogisticRegression(C=C, max_iter=5000, class_weight=class_weight)


def forest(given: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    options = {"n_estimators": given.n_trees, "n_jobs": given.n_jobs, "random_state": given.random_state}
    if given.task == SURVIVAL:
        return _scikit_survival("ensemble").RandomSurvivalForest(low_memory=True, **options)
    if given.task == "regression":
        return RandomForestRegressor(max_features=1.0 / 3.0, **options)
    return RandomForestClassifier(class_weight=given.class_weight, **options)


_L1_RATIO, _N_ALPHAS = 0.5, 50  # of the elastic net, and steps on its path


def coxnet(given: Any, table: Any, targets: np.ndarray) -> LinearScores:
    """The end of the path from the least penalty that leaves no column to 1 / C of it."""
    dense = table.toarray() if sp.issparse(table) else table
    ratio = min(1.0 / given.C, 0.999)
    options = {"l1_ratio": _L1_RATIO, "n_alphas": _N_ALPHAS, "alpha_min_ratio": ratio, "max_iter": 10_000}
    model = _scikit_survival("linear_model").CoxnetSurvivalAnalysis(**options).fit(dense, targets)
    return LinearScores(np.array(model.coef_[:, -1:].T, dtype=np.float64, order="C"), np.zeros(1))


def _scikit_survival(module: str) -> Any:
    optional("sksurv", "for survival forests and Coxnet", "survival")
    return import_module(f"sksurv.{module}")


def boosting(given: Any, table: np.ndarray, targets: np.ndarray) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    # A tenth of the samples is held out only where they are many; scikit-learn cannot split a class of one sample.
    rarest = np.bincount(targets).min() if given.task == "classification" else len(targets)
    options = {
        **BOOSTING,
        "learning_rate": given.learning_rate,
        "max_iter": round(10.0 / given.learning_rate),
        **_tree_options(table),
        "early_stopping": bool(len(targets) > LARGE and rarest >= RAREST),
        "random_state": given.random_state,
    }
    if given.task == "regression":
        return HistGradientBoostingRegressor(**options)
    return HistGradientBoostingClassifier(class_weight=given.class_weight, **options)


def _tree_options(table: np.ndarray) -> dict[str, Any]:
    if len(table) < FEW:
        # Fewer than ten samples cannot be split into two leaves of 5; of 12 samples, leaves of 3 gave better
        # predictions on five of six data sets (iris 0.88 for 0.79).
        return FOR_FEW | {"min_samples_leaf": min(SMALL_LEAF, max(1, len(table) // 4))}
    # A leaf of usual size could not tell samples with rare flags apart.
    are_rare = (table != 0.0).sum(axis=0) < 2 * LEAF
    leaf = SMALL_LEAF if are_rare.mean() > 0.5 else LEAF
    return {"max_features": min(1.0, MOST_COLUMNS / table.shape[1]), "min_samples_leaf": leaf}


class StackedViews(Decisions):
    """A kernel machine for each view, and a logistic or ridge regression on their decision values.

    Each machine is fitted to the samples that have its view. The regression is fitted to decision values of samples
    that the machines were not fitted to: those of `cv` folds. It minimises
    ``C sum_i loss(y_i, b + sum_v <w_v, f_v(x_i)>) + 1/2 sum_v ||w_v||^2`` over centred decision values f_v, scaled so
    that the largest standard deviation is 1, with the logistic loss, or half the squared error of a regression.

    Parameters
    ----------
    machines : list of (view, MKLClassifier) or of (view, MKLRegressor)
        Unfitted, over the columns of their view: those named ``view__...``, or the column of that name.
    C : float
        Cost of errors in the regression on decision values.
    cv : int
        Number of folds that decision values are computed by.
    class_weight : "balanced", mapping from class to weight, or None
        Of all machines and of the regression: how much errors of a class count; "balanced" means the inverse of its
        share.
    random_state : int, RandomState or None
        For the folds.

    Attributes
    ----------
    machines_ : list of MKLClassifier or MKLRegressor or None
        Fitted to all training samples that have the view; None for a view that too few of them have, or samples of one
        class only.
    coef_ : ndarray of shape (n_outputs, n_views, n_values)
        What decision values are multiplied by; a machine of more than two classes has one value for each class.
    means_ : ndarray of shape (n_views, n_values)
        What is subtracted from decision values before.
    n_stored_ : int
        Number of training samples that are support vectors of some machine.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.recipes.baselines import StackedViews
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = StackedViews([("fac", MKLClassifier()), ("kar", MKLClassifier())], random_state=0)
    >>> model.fit(X[::10], y[::10]).contributions(X[:1]).columns.tolist()
    ['fac', 'kar', 'intercept']
    """

    _constraints = Constraints(C=Number(above=0), cv=Whole(2), class_weight=CLASS_WEIGHT, random_state=Seed())

    _saved = Schema(
        {
            "views_": several(text, "views"),
            "machines_": several(maybe(object_of((MKLClassifier, MKLRegressor))), "views"),
            "means_": numbers("views", "values"),
            "coef_": numbers("outputs", "views", "values"),
            "intercept_": numbers("outputs"),
            "n_stored_": count(),
        }
    )

    def __init__(
        self,
        machines: Any,
        *,
        C: float = 1.0,
        cv: int = 3,
        class_weight: Any = None,
        random_state: Any = None,
    ):
        self.machines = machines
        self.C = C
        self.cv = cv
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> StackedViews:
        """Fit the machines and the regression on their decision values; samples of one group are in one fold."""
        with unchanged_on_failure(self):
            given = check_parameters(self)
            machines = self._checked_machines()
            check_row_labels(X, y=y, groups=groups)
            whole = training_views(self, X)
            self.views_ = [view for view, _ in machines]
            self.task_ = self._task()
            n_samples = whole.n_samples
            targets = self._targets(y, n_samples)
            labels = targets if self.task_ == "classification" else np.zeros(n_samples, dtype=int)
            folds = balanced_folds(_as_groups(groups, n_samples), labels, given.cv, given.random_state)
            values = np.full((n_samples, len(machines), len(self._outputs())), np.nan)
            self.machines_ = []
            support, landmarks = np.zeros(n_samples, dtype=bool), 0
            for place, (view, machine) in enumerate(machines):
                own, there = _of_view(whole, view)
                rows = np.flatnonzero(there)
                for fold in range(given.cv):
                    train, test = rows[folds[rows] != fold], rows[folds[rows] == fold]
                    fitted = self._fitted(machine, own, targets, train)
                    if fitted is not None and len(test):
                        values[test, place] = self._values_of(fitted, own.rows(test))
                fitted = self._fitted(machine, own, targets, rows)
                self.machines_.append(fitted)
                if fitted is not None and hasattr(fitted, "support_"):
                    support[rows[fitted.support_]] = True
                elif fitted is not None:
                    landmarks += n_compared(fitted)
            self.n_stored_ = int(support.sum()) + landmarks
            self._fit_regression(values, targets, given.C)
        return self

    def _checked_machines(self) -> list[tuple[str, Any]]:
        kinds = (MKLClassifier, MKLRegressor)
        entries = self.machines if isinstance(self.machines, list | tuple) else []
        right = all(
            isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], kinds)
            for entry in entries
        )
        if not entries or not right or len({type(machine) for _, machine in entries}) > 1:
            raise ValueError(
                "machines of StackedViews must be a list of pairs of a view's name and an MKLClassifier, or of such "
                f"pairs with MKLRegressor, not {shown(self.machines)}"
            )
        names = [view for view, _ in entries]
        repeated = [view for view in names if names.count(view) > 1]
        if repeated:
            raise ValueError(f"machines of StackedViews has the view {repeated[0]!r} twice")
        return list(entries)

    def _fitted(self, machine: Any, own: Views, targets: np.ndarray, rows: np.ndarray) -> Any:
        is_classification = self.task_ == "classification"
        if len(rows) < 2 or (is_classification and len(np.unique(targets[rows])) < 2):
            return None
        # Labels are positions among all classes, so that machines that saw fewer can be put beside others.
        machine = clone(machine)
        if self.class_weight is not None:
            machine.set_params(class_weight=self._weights_of_positions(self.class_weight))
        return machine.fit(own.rows(rows), targets[rows])

    def _values_of(self, machine: Any, own: Views) -> np.ndarray:
        """Decision values of shape (n_samples, n_values), NaN for classes that the machine was not fitted to."""
        if self.task_ == "regression":
            return machine.predict(own).reshape(-1, 1)
        values = machine.decision_function(own)
        if len(self._outputs()) == 1:
            return values.reshape(-1, 1)
        if values.ndim == 1:
            values = np.column_stack([-values, values])
        found = np.full((len(values), len(self._outputs())), np.nan)
        found[:, machine.classes_] = values
        return found

    def _fit_regression(self, values: np.ndarray, targets: np.ndarray, C: float) -> None:
        known = ~np.isnan(values)
        n_known = np.maximum(known.sum(axis=0), 1)
        self.means_ = np.where(known, values, 0.0).sum(axis=0) / n_known
        centred = np.where(known, values - self.means_, 0.0)
        # One scale for all views: values that hardly vary are noise, which is not to be as large as the others.
        scale = float(np.sqrt((centred**2).sum(axis=0) / n_known).max())
        scale = scale if scale > 0.0 else 1.0
        table = (centred / scale).reshape(len(values), -1)
        model = linear_model(self.task_, C, self._weights_of_positions(self.class_weight)).fit(table, targets)
        coef = np.reshape(model.coef_, (-1, *self.means_.shape))
        self.coef_ = np.array(coef / scale, dtype=np.float64, order="C")
        self.intercept_ = np.array(np.ravel(model.intercept_), dtype=np.float64)

    @property
    def views(self) -> list[str]:
        check_is_fitted(self)
        return list(self.views_)

    def contributions(self, X: Any) -> pd.DataFrame:
        """What each view adds to the decision value of each sample; with the intercept, the parts add up to it.

        The part of a view is ``<w_v, f_v(x) - mean_v>``: coefficients times decision values of its machine, less their
        means over the training samples. It is exactly 0 for a view that the sample lacks. Columns are the views and
        ``"intercept"``, pairs of class and view where there are more than two classes.
        """
        check_is_fitted(self)
        return self._as_contributions(self._parts(X), self.views_, X)

    def _task(self) -> str:
        machines = self.machines if isinstance(self.machines, list | tuple) else []
        is_regression = any(isinstance(part, MKLRegressor) for pair in machines for part in pair)
        return "regression" if is_regression else "classification"

    def _n_terms(self) -> int:
        return 1 + self.coef_[0].size

    def _decided(self, X: Any) -> np.ndarray:
        return self._parts(X).sum(axis=2)

    def _parts(self, X: Any) -> np.ndarray:
        """Contributions of views, and the intercept, of shape (n_samples, n_outputs, n_views + 1)."""
        whole = new_views(self, X, self._used())
        parts = np.zeros((whole.n_samples, len(self.coef_), len(self.machines_) + 1))
        parts[:, :, -1] = self.intercept_
        for place, (view, machine) in enumerate(zip(self.views_, self.machines_, strict=True)):
            own, there = _of_view(whole, view)
            rows = np.flatnonzero(there)
            if machine is None or not len(rows):
                continue
            centred = self._values_of(machine, own.rows(rows)) - self.means_[place]
            parts[rows, :, place] = np.where(np.isnan(centred), 0.0, centred) @ self.coef_[:, place].T
        return parts

    def _used(self) -> np.ndarray:
        names = self.feature_names_in_
        return np.flatnonzero([any(_is_of(name, view) for view in self.views_) for name in names])

    def extend_kernels(self, blocks: Any, diagonal: Any = None) -> pd.DataFrame:
        """Give precomputed kernels new samples, and return these as an X to predict, as `MKLClassifier` does.

        Blocks are named by a precomputed kernel in some machine, or by the view where its machine has one such kernel.
        New samples are in the order in which they first occur; columns that are no ids are missing.
        """
        check_is_fitted(self)
        if not isinstance(blocks, Mapping) or not blocks:
            raise ValueError(f"extend_kernels needs a dict from names of kernels to blocks, not {shown(blocks)}")
        by_name = {name: self._place_of(name) for name in blocks}
        if isinstance(diagonal, Mapping):
            for name in diagonal:
                self._place_of(name)
        calls = []
        for machine in dict.fromkeys(place for place, _ in by_name.values()):
            own = {kernel: blocks[name] for name, (place, kernel) in by_name.items() if place == machine}
            given = diagonal
            if isinstance(diagonal, Mapping):
                places = {name: self._place_of(name) for name in diagonal}
                given = {kernel: diagonal[name] for name, (place, kernel) in places.items() if place == machine}
            calls.append((self.machines_[machine], own, given))
        for fitted, own, given in calls:  # raises before any machine is changed
            extension(fitted.kernel_names_, fitted.kernels_, lookups_of(fitted), own, given)
        found = [fitted.extend_kernels(own, diagonal=given) for fitted, own, given in calls]
        index = found[0].index
        for part in found[1:]:
            index = index.append(part.index[~part.index.isin(index)])
        X = pd.DataFrame(np.nan, index=index, columns=list(self.feature_names_in_), dtype=object)
        for part in found:
            X.loc[part.index, part.columns] = part.astype(object)
        return X.infer_objects()

    @property
    def matrices(self) -> dict[str, Any]:
        check_is_fitted(self)
        found = {name: (self.machines_[place], kernel) for name, (place, kernel) in self._lookups_by_name().items()}
        return {
            name: machine.kernels_[machine.kernel_names_.index(kernel)] for name, (machine, kernel) in found.items()
        }

    def _lookups_by_name(self) -> dict[str, tuple[int, str]]:
        """Machine and kernel that look samples up, by the name of the kernel and, where it is alone, of its view."""
        taking: dict[str, tuple[int, str]] = {}
        for place, (view, machine) in enumerate(zip(self.views_, self.machines_, strict=True)):
            own = [] if machine is None else zip(machine.kernel_names_, machine.kernels_, strict=True)
            kernels = [kernel for kernel, each in own if each.reads_ids]
            taking |= {kernel: (place, kernel) for kernel in kernels}
            if len(kernels) == 1:
                taking[view] = place, kernels[0]
        return taking

    def _place_of(self, name: Any) -> tuple[int, str]:
        taking = self._lookups_by_name()
        if name not in taking:
            raise ValueError(
                f"extend_kernels got {shown(name)}, but no kernel that is looked up by id is called so; those are "
                f"{list(taking)}"
            )
        return taking[name]

    def _lookups(self) -> list[tuple[Any, np.ndarray]]:
        return [found for machine in self.machines_ if machine is not None for found in lookups_of(machine)]

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        n_values = len(self._outputs())
        agree(sizes, "outputs", n_values, f"{path}.intercept_")
        agree(sizes, "values", n_values, f"{path}.means_")
        kind = MKLClassifier if self.task_ == "classification" else MKLRegressor
        for place, machine in enumerate(self.machines_):
            where = f"{path}.machines_[{place}]"
            if machine is None:
                continue
            if type(machine) is not kind:
                refuse(where, f"is a {type(machine).__name__}, which a {self.task_} never has")
            if kind is MKLClassifier:
                known = indices("known", below="classes")
                known(machine.classes_, {"classes": len(self.classes_)}, f"{where}.classes_")
            elif machine.intercept_.shape != (1,):
                refuse(where, "has several targets")
        names = vars(self).get("feature_names_in_", ())
        for view in self.views_:
            if not any(name == view or name.startswith(f"{view}__") for name in names):
                refuse(f"{path}.views_", f"has the view {view!r}, of which there is no column")


def _of_view(X: Views, view: str) -> tuple[Views, np.ndarray]:
    """The columns of a view by themselves, and which samples have some of them."""
    if X.names is None:
        raise ValueError("StackedViews needs a data frame with columns named by view (see stack_views)")
    chosen = np.flatnonzero([_is_of(name, view) for name in X.names.tolist()])
    if not len(chosen):
        raise ValueError(f"the view {view!r} of StackedViews matches no column of X")
    own = X.objects(chosen, X.names[chosen])
    return own, own.read(np.arange(len(chosen)), view, text=True, partly=True)[1]


def _is_of(name: Any, view: str) -> bool:
    return isinstance(name, str) and (name == view or name.startswith(view + SEPARATOR))


def _as_groups(groups: Any, n_samples: int) -> np.ndarray:
    if groups is None:
        return np.arange(n_samples)
    found = np.asarray(groups)
    if found.shape != (n_samples,):
        raise ValueError(f"groups must have one entry for each of the {n_samples} samples, not shape {found.shape}")
    if pd.isna(found).any():
        raise ValueError("groups has missing entries; give such samples a group of their own")
    return pd.factorize(found)[0]
