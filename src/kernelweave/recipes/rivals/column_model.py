"""`ColumnModel`: logistic or ridge regression, a random forest or gradient boosting on all columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from ...validation import Choice, Constraints, Number, Offers, Seed, Whole, check_parameters
from ...validation.inputs import check_new_data, check_row_labels, check_training_data, unchanged_on_failure
from ...views import Views
from .decisions import Decisions
from .design import Design
from .linear import LinearScores
from .trees import TreeSum

ESTIMATORS = ("linear", "forest", "boosting")
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
COMPONENTS = 50  # of documents, and of sparse tables, that gradient boosting reads


class ColumnModel(Decisions):
    """Logistic or ridge regression, a random forest or gradient boosting of scikit-learn on all columns of X.

    The columns of all views become one table of numbers, to which the model is fitted: what is often taken in the place
    of kernel machines over several views. Of the fitted model only arrays are kept, coefficients or the nodes of trees,
    so that it can be saved without code.

    Parameters
    ----------
    estimator : {"linear", "forest", "boosting"}
        "linear": logistic regression, or ridge regression where the task is one. "forest": `RandomForestClassifier` or
        `RandomForestRegressor`. "boosting": `HistGradientBoostingClassifier` or `HistGradientBoostingRegressor`.
    preparation : transformer or None
        What makes numbers of the columns, mostly a `ColumnTransformer`. None is for columns of numbers: a missing one
        is taken as the median of its column, and those of linear models are scaled. Gradient boosting takes missing
        numbers as they are, also where a preparation would fill them in, and the leading singular directions of
        documents and of sparse tables.
    task : {"classification", "regression"}
    C : float
        Of linear models: the cost of errors, which the squared coefficients are weighed against. Ridge regression has
        the penalty ``alpha = 1 / C``.
    n_trees : int
        Of a forest.
    learning_rate : float
        Of gradient boosting, which has ``10 / learning_rate`` rounds: 0.2 takes half the time of 0.1.
    n_jobs : int or None
        Threads that a forest is grown by; the result does not depend on it.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        For a classification.
    task_, kind_ : str
        The task and the kind of model of the fit.
    design_ : Design
        The fitted preparation.
    scores_ : LinearScores or TreeSum
        What is kept of the fitted model.
    n_stored_ : None
        Number of training samples that are kept: the model needs none.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from kernelweave import datasets
    >>> from kernelweave.recipes.rivals import ColumnModel
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = ColumnModel("linear", C=0.1).fit(X[::10], y[::10])
    >>> model.views
    ['fac', 'fou', 'kar', 'mor', 'pix', 'zer']
    >>> bool(model.score(X[5::20], y[5::20]) > 0.9)
    True
    """

    _constraints = Constraints(
        estimator=Choice(*ESTIMATORS),
        preparation=Offers("fit", "transform", words="a transformer such as a ColumnTransformer") | None,
        task=Choice("classification", "regression"),
        C=Number(above=0),
        n_trees=Whole(1),
        learning_rate=Number(low=0.01, high=1.0),
        n_jobs=Whole(but_not=0) | None,
        random_state=Seed(),
    )
    n_stored_ = None

    def __init__(
        self,
        estimator: str = "linear",
        preparation: Any = None,
        *,
        task: str = "classification",
        C: float = 1.0,
        n_trees: int = 300,
        learning_rate: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.preparation = preparation
        self.task = task
        self.C = C
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ColumnModel:
        """Fit the model.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
            Columns are named ``view__column``; those without a prefix form the view ``rest``.
        y : array of shape (n_samples,)
            Class labels, or numbers.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            given = check_parameters(self)
            check_row_labels(X, y=y)
            views = Views(*check_training_data(self, X))
            self.task_ = given.task
            targets = self._targets(y, views.n_samples)
            preparation = default_preparation(given.estimator) if self.preparation is None else self.preparation
            self.kind_ = given.estimator
            components = COMPONENTS if given.estimator == "boosting" else None
            self.design_ = Design.fit(preparation, views, targets, components=components)
            self.scores_ = self._fitted(given, self._numbers(views), targets)
        return self

    def _fitted(self, given: Any, table: Any, targets: np.ndarray) -> LinearScores | TreeSum:
        """What is kept of the model that is fitted to a table."""
        if given.estimator == "linear":
            return LinearScores.of(linear_model(given).fit(table, targets))
        if given.estimator == "forest":
            return TreeSum.of_forest(forest(given).fit(table, targets), table)
        # scikit-learn fails on a column without any value; as a constant it is never read.
        table = np.where(np.isnan(table).all(axis=0), 0.0, table)
        return TreeSum.of_boosting(boosting(given, table, targets).fit(table, targets), table)

    @property
    def views(self) -> list[str]:
        """The names of the views whose columns the model reads."""
        check_is_fitted(self)
        return list(self._columns_by_view())

    def contributions(self, X: Any) -> pd.DataFrame:
        """By how much each view changes the decision value of each sample: its value less that without the view.

        Without a view means that all its columns are taken as missing, as for a sample that lacks the view.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        DataFrame
            One row for each sample, with the row labels of X. Columns are the views and ``"intercept"``, pairs of class
            and view where there are more than two classes. Each row adds up to the decision value: the intercept is
            what the views leave. It is the same for all samples that have all cells in a linear model, whose parts are
            those of the coefficients; in other models it also has what views do only together.

        Examples
        --------
        >>> import pandas as pd
        >>> from kernelweave.recipes.rivals import ColumnModel
        >>> X = pd.DataFrame({"a__0": [0.0, 1.0, 2.0], "b__0": [1.0, 0.0, 2.0]})
        >>> model = ColumnModel("linear", task="regression", C=1e6).fit(X, [2.0, 3.0, 7.0])
        >>> model.contributions(X).round(2)
             a    b  intercept
        0 -2.0  0.0        4.0
        1  0.0 -1.0        4.0
        2  2.0  1.0        4.0
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
        """The coefficients of logistic or ridge regression.

        They are those of features as the preparation makes them: of numbers in units of their standard deviation, as
        `CohortModel` and the default prepare them, of categories and of words.

        Returns
        -------
        Series, or DataFrame of shape (n_features, n_classes)
            By view and feature; a data frame with a column for each class where there are more than two.

        Raises
        ------
        ValueError
            If the model is a forest or gradient boosting, which have none.

        Examples
        --------
        >>> import pandas as pd
        >>> from kernelweave.recipes.rivals import ColumnModel
        >>> X = pd.DataFrame({"a__0": [0.0, 1.0, 2.0], "b__0": [1.0, 0.0, 2.0]})
        >>> ColumnModel("linear", task="regression", C=1e6).fit(X, [2.0, 3.0, 7.0]).coefficients().round(2)
        view  feature
        a     0          1.63
        b     0          0.82
        dtype: float64
        """
        check_is_fitted(self)
        if not isinstance(self.scores_, LinearScores):
            raise ValueError(f'coefficients needs estimator="linear", and this model is a {self.kind_!r}')
        index = self.design_.features(getattr(self, "feature_names_in_", None))
        if len(self.scores_.coef) == 1:
            return pd.Series(self.scores_.coef[0], index)
        return pd.DataFrame(self.scores_.coef.T, index, columns=self._outputs())

    def _task(self) -> str:
        return self.task

    def _decided(self, X: Any) -> np.ndarray:
        return self._scored(self._numbers(self._new_views(X)))

    def _new_views(self, X: Any) -> Views:
        check_is_fitted(self)
        return Views(*check_new_data(self, X, self.design_.read))

    def _columns_by_view(self) -> dict[str, np.ndarray]:
        return self.design_.views(getattr(self, "feature_names_in_", None))

    def _numbers(self, views: Views, without: np.ndarray | None = None) -> Any:
        """The table that the model takes."""
        table = self.design_.table(views, without)
        return table.toarray() if self.kind_ == "boosting" and sp.issparse(table) else table

    def _scored(self, table: Any) -> np.ndarray:
        """Decision values of the rows of a table: log-odds, logarithms of probabilities or predictions."""
        values = self.scores_.predict(table)
        if self.kind_ != "forest" or self.task_ == "regression" or not isinstance(self.scores_, TreeSum):
            return values
        smallest = 0.5 * self.scores_.factor  # no class is impossible because no tree has a leaf for it
        logs = np.log(np.maximum(values, smallest))
        return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs

    def _n_terms(self) -> int:
        return self.scores_.n_terms

    def _lookups(self) -> list:
        """Precomputed matrices that a saved model needs: none."""
        return []


def default_preparation(estimator: str) -> Any:
    """The transformer of columns of numbers for a model of this name.

    Examples
    --------
    >>> from kernelweave.recipes.rivals.column_model import default_preparation
    >>> default_preparation("forest")
    SimpleImputer(keep_empty_features=True, strategy='median')
    """
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    if estimator == "linear":
        return make_pipeline(fill, StandardScaler())
    return fill if estimator == "forest" else FunctionTransformer()


def linear_model(given: Any) -> Any:
    """Logistic or ridge regression, unfitted."""
    from sklearn.linear_model import LogisticRegression, Ridge

    if given.task == "regression":
        return Ridge(alpha=1.0 / given.C)
    return LogisticRegression(C=given.C, max_iter=5000)


def forest(given: Any) -> Any:
    """A random forest, unfitted."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    options = {"n_estimators": given.n_trees, "n_jobs": given.n_jobs, "random_state": given.random_state}
    if given.task == "regression":
        return RandomForestRegressor(max_features=1.0 / 3.0, **options)
    return RandomForestClassifier(**options)


def boosting(given: Any, table: np.ndarray, targets: np.ndarray) -> Any:
    """Gradient boosting, unfitted."""
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
    return HistGradientBoostingClassifier(**options)


def _tree_options(table: np.ndarray) -> dict[str, Any]:
    """Columns for each split, leaves of a tree and samples of a leaf."""
    if len(table) < FEW:
        # Fewer than ten samples cannot be split into two leaves of 5; of 12 samples, leaves of 3 gave better
        # predictions on five of six data sets (iris 0.88 for 0.79).
        return FOR_FEW | {"min_samples_leaf": min(SMALL_LEAF, max(1, len(table) // 4))}
    # A leaf of usual size could not tell samples with rare flags apart.
    are_rare = (table != 0.0).sum(axis=0) < 2 * LEAF
    leaf = SMALL_LEAF if are_rare.mean() > 0.5 else LEAF
    return {"max_features": min(1.0, MOST_COLUMNS / table.shape[1]), "min_samples_leaf": leaf}
