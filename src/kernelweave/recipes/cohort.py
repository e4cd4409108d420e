"""`CohortModel`: one estimator from a table of any columns to calibrated predictions, by the name of a method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..estimators.base import APPROXIMATION
from ..estimators.explanations import part_names
from ..estimators.fitted import lookups_of
from ..estimators.samples import by_blocks, targets_given, whole_targets
from ..validation import Choice, Constraints, Flag, Instance, Seed, Whole, check_parameters
from ..validation.inputs import as_pandas, check_new_data, check_row_labels, check_training_data, unchanged_on_failure
from ..views import TableInBlocks
from .extending import extended
from .fitting import CohortFit
from .in_blocks import fit_in_blocks, in_memory
from .kinds import as_frame
from .likeness.summary import CohortSummary


def _classifies(model: CohortModel) -> bool:
    return getattr(model, "task_", model.task) != "regression"


def _calibrates(model: CohortModel) -> bool:
    return _classifies(model) and bool(model.calibrate)


class CohortModel(CohortFit, BaseEstimator):
    """A model of samples that are described by several tables, made by the name of a method alone.

    Decides what each column holds, prepares each view (numbers scaled, categories one-hot, text TF-IDF), gives each a
    linear and a Gaussian kernel, chooses the method's setting by inner cross-validation, fits it to all samples, and
    calibrates its decision values. The method's model minimises what its own docstring states, see ``docs/recipes.md``.

    Parameters
    ----------
    method : str
        "alone:VIEW", "concatenation", "mean", "least-squares", "lp", "convex", "localized", "projected", "stacking",
        "linear" (logistic or ridge regression), "forest" or "boosting"; see `method_names`.
    matrices : mapping from name to DataFrame, or None
        Similarity matrices, with the samples' ids as labels of rows and columns. X has a column of the matrix's name
        with the id of each sample in it; a sample without an id lacks that view.
    kinds : Series, mapping or None
        What columns hold, from column to "number", "category", "text" or "left out". Columns that it does not name,
        and all where it is None, are as `column_kinds` decides.
    task : {"auto", "classification", "regression"}
        "auto" takes what `guess_task` finds.
    effort : {"full", "quick"}
        "quick" tries fewer settings, on one hold-out.
    calibrate : bool
        Whether to fit what `predict_proba` needs.
    cv : int
        Folds of the inner cross-validation.
    approximation : object
        Explicit features in the place of exact kernels, as in `MKLClassifier`: "nystroem", for example. With it `fit`
        takes files that are larger than memory, see `open_views`.
    n_jobs : int or None
        Threads, or processes of a forest; the result does not depend on it.
    random_state : int, RandomState or None
        For the folds, and methods that draw random numbers.
    verbose : int
        Whether to show progress of the last fit.

    Attributes
    ----------
    model_ : MKLClassifier, MKLRegressor, StackedViews or ColumnModel
        Fitted to all samples, as `table` makes of X what it takes.
    task_ : str
    classes_ : ndarray of shape (n_classes,)
        Of a classification.
    kinds_ : DataFrame
        As `column_kinds` returns, with given kinds.
    decisions_ : list of str
        What was decided about columns, views and matrices, in sentences.
    setting_ : dict
        The parameters that were chosen.
    settings_ : DataFrame
        Inner score of each setting, mean and standard deviation over folds.
    validation_score_ : float
        Inner score of the chosen setting, accuracy or R2 (relative to the variance of all training targets). Samples
        that the fit leaves out count by what is predicted for them.
    calibration_ : Calibration or None
    target_mean_, target_scale_ : float
        Of a regression, whose target is standardised for the fit.
    n_stored_ : int or None
        Support vectors; None for models that store no samples.
    n_samples_ : int
    cohort_ : CohortSummary
        What the samples looked like, with which new ones are compared.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Every sample gets a prediction. One that lacks all views that the method reads (of "alone:VIEW", the view) is left
    out of the fit, and is predicted by the majority class or the mean target.

    Examples
    --------
    >>> from kernelweave import datasets
    >>> from kernelweave.recipes import CohortModel
    >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    >>> model = CohortModel("mean", effort="quick", random_state=0).fit(X[::10], y[::10])
    >>> model.setting_
    {'C': 3.0}
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """

    _constraints = Constraints(
        method=Instance(str, 'the name of a method, such as "mean"'),
        matrices=Instance(Mapping, "a mapping from name to similarity matrix") | None,
        task=Choice("auto", "classification", "regression"),
        effort=Choice("full", "quick"),
        calibrate=Flag(),
        cv=Whole(2),
        approximation=APPROXIMATION | None,
        n_jobs=Whole(but_not=0) | None,
        random_state=Seed(),
        verbose=Flag() | Whole(0),
    )

    def __init__(
        self,
        method: str = "mean",
        *,
        matrices: Any = None,
        kinds: Any = None,
        task: str = "auto",
        effort: str = "full",
        calibrate: bool = True,
        cv: int = 3,
        approximation: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.method = method
        self.matrices = matrices
        self.kinds = kinds
        self.task = task
        self.effort = effort
        self.calibrate = calibrate
        self.cv = cv
        self.approximation = approximation
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> CohortModel:
        """Choose the setting by inner cross-validation, fit it to all samples, and calibrate.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features), or OpenViews
            As `read_views` and `stack_views` make it; columns of an array, and of a data frame without view names, are
            the one view ``"X"``. Of files (`open_views`), with an `approximation`, a fifth of the samples, at most
            5000, are read into memory: they decide what columns hold, choose the setting and calibrate. The model is
            fitted to the others, block by block. Without an approximation all samples are read into memory.
        y : array of shape (n_samples,)
            Class labels of any type, or numbers; None where X is an `OpenViews` with a target.
        groups : array of shape (n_samples,), optional
            Samples of one group stay together in inner folds. So do samples that are equal in all views, unless they
            may be equal by chance.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            given = check_parameters(self)
            if isinstance(X, TableInBlocks):
                if given.approximation is not None:
                    return fit_in_blocks(self, X, y, groups)
                X, y = in_memory(self, X, y)
            check_row_labels(X, y=y, groups=groups)
            X, _ = check_training_data(self, X)
            self.decisions_ = []
            targets = self._fit_task(y, X.shape[0])
            frame = as_frame(X)
            layout = self._fit_layout(frame, given.matrices or {})
            groups = self._fit_groups(frame, given.matrices, y, groups)
            table, present = self._fit_views(layout, X)
            kept = self._fitted_to(present, targets)
            own = None if groups is None else groups[kept]
            self._fit_model(given, table.iloc[kept], present[kept], targets[kept], own)
            self._count_lacking(targets, kept)
            self.n_samples_ = X.shape[0]
            self.cohort_ = CohortSummary.of(X, self.kinds_, given.matrices)
        return self

    def table(self, X: Any) -> pd.DataFrame:
        """X as `model_` takes it: the columns that it reads, with one type each, named ``view__column``.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features)
        """
        return self._table(X)[0]

    def _table(self, X: Any) -> tuple[pd.DataFrame, np.ndarray]:
        """The table, and which samples have a view that the method needs."""
        check_is_fitted(self)
        X, _ = check_new_data(self, self._with_ids(X), self._layout.used())
        table, present = self._layout.table(X)
        return table, self._decidable(present)

    def _with_ids(self, X: Any) -> Any:
        """X with a column of missing ids for each similarity matrix of which it has none."""
        X = as_pandas(X)
        ids = [view.name for view in self._layout.views if view.is_matrix]
        if not ids or not isinstance(X, pd.DataFrame):
            return X
        X = X.assign(**{name: np.nan for name in ids if name not in X.columns})
        known = [name for name in self.feature_names_in_ if name in X.columns]
        return X if any("__" in name for name in self.feature_names_in_) else X[known]

    def has_needed_views(self, X: Any) -> np.ndarray:
        """Which samples have a view that the method needs; others are predicted by the shares of the training samples.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features)
        """
        return self._table(X)[1]

    @property
    def views(self) -> list[str]:
        """The names of the views that the model reads."""
        check_is_fitted(self)
        return self._layout.names

    @available_if(_classifies)
    @by_blocks(dask=True)
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values: (n_samples,) for two classes (positive for ``classes_[1]``), else (n_samples, n_classes).

        Those of a sample that lacks all views that the method needs are logarithms of the shares of the classes (their
        difference, for two classes).

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features)
        """
        return self._values(X)[0]

    def _values(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Decision values, or standardised predictions, and which samples the model decides on."""
        table, decided = self._table(X)
        return self._with_constants(self.model_, table, decided), decided

    @by_blocks(dask=True)
    def predict(self, X: Any) -> np.ndarray:
        """Class labels, those with the largest decision value, or predicted numbers.

        Of classes whose values differ by no more than rounding, it is the one of more training samples.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features)
        """
        values, _ = self._values(X)
        if self.task_ == "regression":
            return values * self.target_scale_ + self.target_mean_
        return self._labels(values)

    @available_if(_calibrates)
    @by_blocks(dask=True)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probabilities, a column for each of `classes_`.

        The most probable class is the one that `predict` returns. Of two classes the sigmoid need not be 1/2 where the
        decision value is 0, so that probabilities are held just beyond 1/2 from there to where it is.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features)
        """
        values, decided = self._values(X)
        if self.calibration_ is None:
            raise ValueError("this model was fitted with calibrate=False; set calibrate=True and fit it again")
        probabilities = self.calibration_.probabilities(values)
        probabilities[~decided] = self._prior
        return probabilities

    def score(self, X: Any, y: Any = None) -> float:
        """Accuracy, or the share of the variance of y that is explained (R2).

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features), or OpenViews
        y : array of shape (n_samples,)
            None where X is an `OpenViews` with a target, which is compared then.
        """
        predicted = self.predict(X)
        if y is None and isinstance(X, TableInBlocks):
            targets_given(self, X, y)
            y = whole_targets(X)
        if y is None:
            raise ValueError("CohortModel requires y to be passed, but the target y is None")
        return float((accuracy_score if self.task_ == "classification" else r2_score)(y, predicted))

    @by_blocks(dask=True)
    def contributions(self, X: Any) -> pd.DataFrame:
        """What each kernel (of "linear", "forest" and "boosting", each view) adds to the decision value of each sample.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        DataFrame
            Columns for kernels and ``"intercept"``, which add up to the decision value of two classes (positive for
            ``classes_[1]``), or to the prediction of a regression, in units of y. With more classes, pairs of class and
            kernel, for all of `classes_`: the columns of a class add up to its column of `decision_function`. The parts
            of a sample that lacks all views that the method needs are 0, but for the intercept, and so are those of a
            class of which no training sample has such a view.
        """
        table, decided = self._table(X)
        names = part_names(getattr(self.model_, "kernel_names_", getattr(self.model_, "views", [])))
        constant = self._constant()
        parts = np.zeros((len(table), len(constant), len(names)))
        parts[:, :, -1] = constant
        if decided.any():
            found = self.model_.contributions(table if decided.all() else table.iloc[decided])
            parts[decided] = self._of_all_classes(self.model_, found.to_numpy().reshape(len(found), -1, len(names)))
        if self.task_ == "regression":
            parts *= self.target_scale_
            parts[:, :, -1] += self.target_mean_
        columns = pd.Index(names)
        if len(constant) > 1:
            columns = pd.MultiIndex.from_product([list(self.classes_), names], names=["output", "kernel"])
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(parts.reshape(len(parts), -1), index=index, columns=columns)

    def extend_kernels(self, blocks: Any, diagonal: Any = None) -> pd.DataFrame:
        """Give similarity matrices new samples, and return these as an X to predict.

        Parameters
        ----------
        blocks : dict from matrix name to DataFrame
            Similarities of the new samples (rows) to the samples of the fit (columns, found by label), see
            `MKLClassifier.extend_kernels`. Blocks of matrices that the method does not read are not looked at.
        diagonal : dict from matrix name to Series or number, or one of these for all, or None
            The similarity of each new sample to itself. None takes it from the blocks, where they have a column for
            each new sample, and otherwise the number that all samples of the fit have, where they have the same.

        Returns
        -------
        DataFrame
            The new samples, with missing values in all columns but those of ids: fill them in where there are others.
        """
        check_is_fitted(self)
        return extended(self, blocks, diagonal)

    def _lookups(self) -> list[tuple[Any, np.ndarray]]:
        """The similarity matrices that prediction looks new samples up in, see `lookups_of`."""
        return lookups_of(self.model_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        task = getattr(self, "task_", self.task)
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        if task == "classification":
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags()
        elif task == "regression":
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        return tags
