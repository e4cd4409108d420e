"""`CohortModel`: one estimator from a table of any columns to calibrated predictions, by the name of a method."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._warnings import warn
from ..estimators import MKLClassifier, MKLRegressor, MKLSurvival
from ..estimators.base import APPROXIMATION
from ..estimators.explanations import part_names
from ..estimators.fitted import lookups_of, n_compared
from ..estimators.samples import by_blocks, targets_given, whole_targets
from ..survival import check_for_fit, concordance
from ..validation import Choice, Constraints, Flag, Instance, Seed, Whole, check_parameters, counted, shown
from ..validation.inputs import (
    as_pandas,
    check_labels,
    check_new_data,
    check_numeric_target,
    check_row_labels,
    check_target,
    check_training_data,
    encode_labels,
    unchanged_on_failure,
)
from ..validation.schemas import (
    Schema,
    Sizes,
    agree,
    expect,
    maybe,
    number,
    numbers,
    object_of,
    optional,
    refuse,
    several,
    text,
)
from ..views import TableInBlocks, Views
from .drift import CohortSummary
from .extension import extended
from .importance import MOST_AVERAGED, feature_importance, inner_parts, part_terms
from .in_blocks import fit_in_blocks, in_memory
from .inner import InnerValidation, Samples
from .kinds import (
    TASK,
    about_columns,
    as_frame,
    column_kinds,
    given_kinds,
    guess_task,
    named_columns,
    with_log,
)
from .layout import TableLayout, ViewColumns
from .leaks import checked_groups, copies_of_target, copies_sentence, find_twins, merged_groups
from .methods import method_layout, needed_views, reason_against
from .scoring import positive_place, scoring_named
from .search import Calibration, SurvivalCalibration, known_fits
from .tasks import CLASSES, NUMBERS, SURVIVAL, TASKS, is_outcome, outcomes_of

_UNCALIBRATED = "this model was fitted with calibrate=False; set calibrate=True and fit it again"


def _classifies(model: CohortModel) -> bool:
    return getattr(model, "task_", model.task) not in (NUMBERS, SURVIVAL)


def _survives(model: CohortModel) -> bool:
    return getattr(model, "task_", model.task) == SURVIVAL and bool(model.calibrate)


def _cell(value: Any, sizes: Sizes, path: str) -> None:
    if not isinstance(value, str | int | float):
        refuse(path, f"is {value!r} where text or a number is expected")


def _calibrates(model: CohortModel) -> bool:
    return _classifies(model) and bool(model.calibrate)


class CohortModel(InnerValidation, BaseEstimator):
    """A model of samples that are described by several tables, made by the name of a method alone.

    Decides what each column holds, prepares each view (numbers scaled, categories one-hot, text TF-IDF), gives each a
    linear and a Gaussian kernel, chooses the method's setting by inner cross-validation, fits it to all samples, and
    calibrates its decision values. The method's model minimises what its own docstring states; the default "auto" takes
    the one of five methods, kernel machines and a random forest, that is best by inner validation.

    Parameters
    ----------
    method : str
        "auto", "alone:VIEW", "concatenation", "mean", "least-squares", "lp", "lp-least-squares", "lp-scales",
        "completed", "lp-completed", "convex", "localized", "projected", "stacking", "linear" (logistic or ridge
        regression), "forest" or "boosting"; see `method_names`. What "auto" chooses from may improve in later versions;
        another name fixes the method.
    matrices : mapping from name to DataFrame, or None
        Similarity matrices, with the samples' ids as labels of rows and columns. X has a column of the matrix's name
        with the id of each sample in it; a sample without an id lacks that view.
    kinds : Series, mapping or None
        What columns hold, from column to "number", "category", "text" or "left out". Columns that it does not name,
        and all where it is None, are as `column_kinds` decides.
    log : list of str or None
        Views whose numbers x are taken as log(1 + x), such as counts or concentrations. None of them may be negative.
    na_values : list of str or None
        What further cells of text files mean a missing value, as in `read_views`. X has been read when `fit` gets it:
        the model keeps them for ``kernelweave predict`` and ``explain``, which read the files of new samples so.
    task : {"auto", "classification", "regression", "survival"}
        "auto" takes what `guess_task` finds.
    effort : {"full", "quick"}
        "quick" tries fewer settings, on one hold-out.
    scoring : str or None
        The score that chooses settings, by scikit-learn's name, such as "roc_auc" or "neg_mean_absolute_error". None
        means Harrell's C of survival ("concordance"), R2 of a regression, and accuracy of a classification, but
        balanced accuracy where the smallest class has less than half its even share: under 25 % of two classes, 17 % of
        three.
    positive : label or None
        Which of two classes, also as text, "f1", "precision", "recall", "jaccard" and "average_precision" are about;
        None means the second in sorted order. Neither `classes_` nor the sign of decision values depends on it.
    class_weight : {"auto", "balanced"}, mapping from class to weight, or None
        "balanced" weights the errors of a class by the inverse of its share. "auto" tries this and no weights where
        balanced accuracy chooses settings, and takes no weights elsewhere.
    calibrate : bool
        Whether to fit what `predict_proba`, or of survival `predict_survival_function`, needs.
    cv : int
        Folds of the inner cross-validation.
    approximation : object
        Explicit features in the place of exact kernels, as in `MKLClassifier`: "nystroem", for example. With it `fit`
        takes files that are larger than memory, see `open_views`.
    n_jobs : int or None
        Threads: so many classes of a model or trees of a forest are fitted at a time. The result does not depend on it.
    random_state : int, RandomState or None
        For the folds, and methods that draw random numbers.
    verbose : int
        Whether to show progress of the last fit.

    Attributes
    ----------
    model_ : MKLClassifier, MKLRegressor, MKLSurvival, StackedViews or ColumnModel
        Fitted to all samples, as `table` makes of X what it takes.
    task_ : str
    classes_ : ndarray of shape (n_classes,)
        Of a classification.
    kinds_ : DataFrame
        As `column_kinds` returns, with given kinds.
    decisions_ : list of str
        What was decided about columns, views and matrices, in sentences.
    scoring_ : str
        The score that chose the setting, by scikit-learn's name.
    setting_ : dict
        The parameters that were chosen, with "auto" the ``method`` among them.
    settings_ : DataFrame
        Inner score of each setting, mean and standard deviation over folds, and the mean ``loss`` by which settings are
        compared: the squared error where R2 is the score, Brier's score of calibrated probabilities where accuracy or
        balanced accuracy is. With other scores there is none, and they decide themselves.
    portfolio_ : DataFrame or None
        With "auto", a row for each method tried, the chosen one first: inner ``score``, mean ``loss``, how far it is
        ``behind``, and the ``std_error`` of that. Chosen is the simplest within 0.25 standard errors of the best.
    offsets_ : ndarray of shape (n_classes,), or (1,) for two classes, or None
        What is added to decision values, see `decision_function`.
    validation_score_ : float
        Inner score of the chosen setting by `scoring_`; R2 is relative to the variance of all training targets. Samples
        that the fit leaves out count by what is predicted for them.
    calibration_ : Calibration, SurvivalCalibration or None
    target_mean_, target_scale_ : float
        Of a regression, whose target is standardised for the fit. Of survival, what is added to the risks of `model_`,
        so that the average training sample has a risk of 0, and 1.
    mean_contributions_ : ndarray of shape (n_parts,)
        Of a regression, and of survival, the means of `contributions` over the training samples, at most 1000 of them,
        evenly spread.
    n_stored_ : int or None
        Support vectors; None for models that store no samples.
    n_samples_ : int
    cohort_ : CohortSummary
        What the samples looked like, with which new ones are compared.
    record_ : dict
        Of a model that ``kernelweave fit`` or ``compare`` saved: its version, seed, and the checksums of its files.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    A new table may lack columns. One without any column of a view lacks the view. Columns that it lacks of a view of
    which it has at least half are taken as missing, with a warning, and filled in as gaps in the training samples are
    (numbers by their mean or median, categories as unknown ones, text as empty), but not in a sparse view, nor where
    another column has nearly that name: that is an error.

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
        task=Choice("auto", *TASKS),
        effort=Choice("full", "quick"),
        scoring=Instance(str, "the name of a score of scikit-learn") | None,
        na_values=Instance(list, "a list such as ['999', 'unknown']") | None,
        class_weight=Choice("auto", "balanced", None) | Instance(Mapping, "a mapping from class to weight"),
        calibrate=Flag(),
        cv=Whole(2),
        approximation=APPROXIMATION | None,
        n_jobs=Whole(but_not=0) | None,
        random_state=Seed(),
        verbose=Flag() | Whole(0),
    )

    _saved = TASK | Schema(
        {
            "target_mean_": optional(number()),
            "target_scale_": optional(number(positive=True)),
            "mean_contributions_": optional(numbers("parts")),
            "_prior": numbers("prior", low=0.0),
            "_layout": object_of(TableLayout, "columns"),
            "_needs": several(text),
            "model_": object_of((MKLClassifier, MKLRegressor, MKLSurvival, "StackedViews", "ColumnModel")),
            "calibration_": maybe(object_of((Calibration, SurvivalCalibration))),
            "_chosen": optional(text),
            "offsets_": optional(maybe(numbers("offsets"))),
            "cohort_": optional(object_of(CohortSummary)),
            "na_values": optional(maybe(several(_cell))),
        },
        transient=dict.fromkeys(("matrices", "kinds"), lambda: None),  # only a fit reads them
    )

    def __init__(
        self,
        method: str = "auto",
        *,
        matrices: Any = None,
        kinds: Any = None,
        log: Any = None,
        na_values: list[str] | None = None,
        task: str = "auto",
        effort: str = "full",
        scoring: str | None = None,
        positive: Any = None,
        class_weight: Any = "auto",
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
        self.log = log
        self.na_values = na_values
        self.task = task
        self.effort = effort
        self.scoring = scoring
        self.positive = positive
        self.class_weight = class_weight
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
        y : array of shape (n_samples,), or times and events
            Class labels of any type, numbers, or times to an event as `survival.outcome` makes them; None where X is an
            `OpenViews` with a target.
        groups : array of shape (n_samples,), optional
            Samples of one group stay together in inner folds. So do samples that are equal in all views, unless they
            may be equal by chance.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            given = check_parameters(self)
            self.__dict__.pop("record_", None)
            if isinstance(X, TableInBlocks):
                if given.approximation is not None:
                    return fit_in_blocks(self, X, y, groups)
                X, y = in_memory(self, X, y)
            check_row_labels(X, y=y, groups=groups)
            source, y = X, outcomes_of(y) if self._is_survival(y) else y
            X, _ = check_training_data(self, X)
            self.decisions_: list[str] = []
            targets = self._fit_task(y, X.shape[0])
            self.scoring_ = self._fit_scoring(targets)
            frame = as_frame(X)
            layout = self._fit_layout(frame, given.matrices or {})
            groups = self._fit_groups(frame, given.matrices, y, groups)
            table, present = self._fit_views(layout, X)
            kept = self._fitted_to(present, targets)
            own = None if groups is None else groups[kept]
            table = table if len(kept) == len(table) else table.iloc[kept]
            samples = Samples(table, present[kept], targets[kept], own)
            self._fit_model(given, samples, known_fits(self, source, targets))
            self._store_use()
            self._store_means(samples.table)
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
        check_is_fitted(self)
        X, lacking = with_gaps(self, self._with_ids(X))
        if lacking is not None:
            warn(lacking)
        X, _ = check_new_data(self, X, self._layout.used())
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

    @property
    def method_(self) -> str:
        """The method of `model_`: the one that was chosen where `method` is "auto", else `method`."""
        check_is_fitted(self)
        return getattr(self, "_chosen", self.method)  # files of earlier versions have none

    @property
    def positive_(self) -> Any:
        """Of two classes, the label of the positive one; None of another target."""
        check_is_fitted(self)
        classes = getattr(self, "classes_", ())
        return classes[positive_place(self.positive, classes)] if len(classes) == 2 else None

    @available_if(_classifies)
    @by_blocks(dask=True)
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values: (n_samples,) for two classes (positive for ``classes_[1]``), else (n_samples, n_classes).

        They contain `offsets_`, where these raise accuracy or balanced accuracy in inner validation by more than a
        standard error. Those of a sample that lacks all views that the method needs are logarithms of the shares of the
        classes (their difference, for two classes).

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features)
        """
        return self._values(X)[0]

    def _values(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        table, decided = self._table(X)
        return self._with_constants(self.model_, Views(table), decided), decided

    @by_blocks(dask=True)
    def predict(self, X: Any) -> np.ndarray:
        """Class labels, those with the largest decision value (of equal ones that of more samples), numbers, or risks.

        The risk of an event is 0 for the average training sample, and larger where the event is expected earlier: of
        a Cox model the logarithm of how many times as likely it is at any time.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features)
        """
        values, _ = self._values(X)
        if self.task_ != CLASSES:
            return values * self.target_scale_ + self.target_mean_
        return self._labels(values)

    @available_if(_calibrates)
    @by_blocks(dask=True)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probabilities, a column for each of `classes_`.

        The most probable class is that of `predict`: probabilities are held beyond 1/2 where the sigmoid disagrees.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features)
        """
        values, decided = self._values(X)
        if not isinstance(self.calibration_, Calibration):
            raise ValueError(_UNCALIBRATED)
        probabilities = self.calibration_.probabilities(values)
        probabilities[~decided] = self._prior
        return probabilities

    @property
    def event_times_(self) -> np.ndarray:
        """Of survival, the times of events by which survival is calibrated: the default of `times`."""
        check_is_fitted(self)
        calibration: Any = self.calibration_
        return calibration.times

    @available_if(_survives)
    def predict_survival_function(self, X: Any, times: Any = None) -> np.ndarray:
        """The chance of no event until each time, of shape (n_samples, n_times), by a Cox model of the risks.

        It is fitted to risks of samples that the model was not fitted to, those of the inner folds
        (`recipes.search`), and is constant after the last of their events.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features)
        times : array of shape (n_times,), optional
            None takes `event_times_`.
        """
        risks, calibration = self.predict(X), self.calibration_
        if not isinstance(calibration, SurvivalCalibration):
            raise ValueError(_UNCALIBRATED)
        at = self.event_times_ if times is None else np.ravel(np.asarray(times, dtype=np.float64))
        if not np.isfinite(at).all() or (at < 0.0).any():
            raise ValueError(f"times must be finite numbers of at least 0, not {shown(times)}")
        return calibration.survival(risks, at)

    def score(self, X: Any, y: Any = None) -> float:
        """Accuracy, the share of the variance of y that is explained (R2), or Harrell's C of times and events.

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
        if self.task_ == SURVIVAL:
            return float(concordance(y, predicted))
        return float((accuracy_score if self.task_ == "classification" else r2_score)(y, predicted))

    @by_blocks(dask=True)
    def contributions(self, X: Any) -> pd.DataFrame:
        """What each kernel (of models of columns, each view) adds to the decision value of each sample.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        DataFrame
            Columns for kernels and ``"intercept"``, which add up to the decision value of two classes (positive for
            ``classes_[1]``), to the prediction of a regression, in units of y, or to the risk. With more classes, pairs
            of class and kernel, for all of `classes_`: the columns of a class add up to its column of
            `decision_function`. The parts of a sample that lacks all views that the method needs are 0, but for the
            intercept, and so are those of a class of which no training sample has such a view.
        """
        table, decided = self._table(X)
        names = part_names(part_terms(self))
        constant = self._constant()
        parts = np.zeros((len(table), len(constant), len(names)))
        parts[:, :, -1] = constant
        if decided.any():
            found = inner_parts(self, table if decided.all() else table.iloc[decided])
            parts[decided] = self._of_all_classes(self.model_, found)
            offsets = getattr(self, "offsets_", None)
            parts[decided, :, -1] += 0.0 if offsets is None else offsets
        if self.task_ != CLASSES:
            parts *= self.target_scale_
            parts[:, :, -1] += self.target_mean_
        columns = pd.Index(names)
        if len(constant) > 1:
            columns = pd.MultiIndex.from_product([list(self.classes_), names], names=["output", "kernel"])
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(parts.reshape(len(parts), -1), index=index, columns=columns)

    def feature_importance(self) -> pd.DataFrame | None:
        """How much each feature counts in the decision, by view and the name of its column, the largest first.

        Features are columns, categories of a column (``sex_f``) and words of a text (``text__fever``). The number
        means:

        - in kernel machines, the absolute weight in their linear kernels: by how much the decision value changes with
          one unit of the prepared feature, in a sample of average length (with an `approximation`, and in "projected",
          of length 1, so that only features of one view compare) and, in "localized" and "projected", with the root
          mean square of the training samples' gates. Gaussian kernels and similarity matrices have no weights of
          features, and what they decide is not counted;
        - in "linear", the absolute coefficient of the prepared feature;
        - in "forest" and "boosting", the share of all splits' decrease of the impurity, or of the loss, that splits of
          this feature have, in the training samples.

        A prepared number is in units of its standard deviation; values of a regression are in the unit of y. With
        several classes it is the mean over classes. What principal components (or singular directions) count is carried
        back to the columns that they are made of, in trees by their squared loadings.

        Returns
        -------
        DataFrame or None
            Columns ``view``, ``feature``, ``importance`` (not negative) and, where features have one signed weight,
            ``weight``, which is positive for ``classes_[1]``. None for "stacking", whose machines have features of
            their own, for models without a linear kernel, for "projected" with an `approximation`, and for a forest or
            boosting from a file of an earlier version.

        Examples
        --------
        >>> from kernelweave import datasets
        >>> from kernelweave.recipes import CohortModel
        >>> X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
        >>> model = CohortModel("linear", effort="quick", random_state=0).fit(X[::10], y[::10])
        >>> model.feature_importance().columns.tolist()
        ['view', 'feature', 'importance', 'weight']
        """
        check_is_fitted(self)
        return feature_importance(self)

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

    def _is_survival(self, y: Any) -> bool:
        return self.task == SURVIVAL or (self.task == "auto" and is_outcome(y))

    def _fit_task(self, y: Any, n_samples: int) -> np.ndarray:
        """Targets as the model takes them: positions of classes, standardised numbers, or times and events."""
        for name in ("classes_", "target_mean_", "target_scale_"):
            self.__dict__.pop(name, None)
        if self.task == "auto":
            self.task_, why = guess_task(y if is_outcome(y) else check_target(self, y, n_samples))
            self.decisions_.append(f"The task is {self.task_}: {why}.")
        else:
            self.task_ = self.task
        if self.task_ == SURVIVAL:
            if len(y) != n_samples:
                raise ValueError(f"X and y have inconsistent numbers of samples: {n_samples} and {len(y)}")
            check_for_fit(y["event"])
            self.target_mean_, self.target_scale_, self._prior = 0.0, 1.0, np.zeros(1)
            return y
        if self.task_ == "classification":
            self.classes_, labels = encode_labels(self, check_labels(self, y, n_samples))
            self._prior = np.bincount(labels) / len(labels)
            return labels
        shape = np.asarray(as_pandas(y)).shape
        if len(shape) == 2 and shape[1] > 1:
            raise ValueError(f"CohortModel predicts one target, but y has {shape[1]} columns; fit one for each")
        values, _ = check_numeric_target(self, check_target(self, y, n_samples), n_samples)
        self.target_mean_, spread = float(values.mean()), float(values.std())
        self.target_scale_ = spread if np.isfinite(spread) and spread > 0 else 1.0
        self._prior = np.zeros(1)
        return (values - self.target_mean_) / self.target_scale_

    def _fit_scoring(self, targets: np.ndarray) -> str:
        if self.positive is not None:
            classes = getattr(self, "classes_", ())
            label = classes[positive_place(self.positive, classes)]
            self.decisions_.append(f"The positive class is {str(label)!r}, as given.")
        return scoring_named(self.scoring, self.task_, targets).name

    def _fit_layout(self, frame: pd.DataFrame, matrices: Mapping[str, Any]) -> TableLayout:
        absent = [name for name in matrices if name not in frame.columns]
        if absent:
            raise ValueError(
                f"X has no column {absent[0]!r}, which holds the ids of the samples in the similarity matrix of that "
                "name"
            )
        self.kinds_ = column_kinds(frame, matrices=tuple(matrices))
        if self.kinds is not None:
            self.kinds_ = given_kinds(self.kinds_, self.kinds)
        log = () if self.log is None else self.log
        self.kinds_ = with_log(self.kinds_, log)
        self.decisions_ += about_columns(self.kinds_)
        if log:
            views = "view" if len(log) == 1 else "views"
            self.decisions_.append(f"Numbers x of the {views} {named_columns(log)} are taken as log(1 + x).")
        return TableLayout.of(frame, self.kinds_, log)

    def _fit_groups(self, frame: pd.DataFrame, matrices: Any, y: Any, groups: Any) -> np.ndarray | None:
        """The groups that stay together in folds, equal samples too; notes what gives the target away."""
        groups = None if groups is None else checked_groups(groups, len(frame))
        twins = find_twins(frame, self.kinds_, matrices)
        self.decisions_ += [] if twins is None else [twins.sentence]
        copies = copies_of_target(frame, as_pandas(y), self.kinds_, self.task_)
        if copies:
            text = copies_sentence(copies)
            self.decisions_.append(f"{text[:1].upper()}{text[1:]}.")
        return merged_groups(groups, twins)

    def _fit_views(self, layout: TableLayout, X: Any) -> tuple[pd.DataFrame, np.ndarray]:
        """The table of the training samples; views that fewer than two samples have are left out."""
        table, present = layout.table(X)
        every, counts = layout.views, present.sum(axis=0)
        for view, count in zip(every, counts.tolist(), strict=True):
            if count < 2:
                has = "no sample has it" if count == 0 else "only one sample has it"
                self.decisions_.append(f"The view {view.name!r} is left out: {has}.")
        layout = layout.only([view.name for view, count in zip(every, counts, strict=True) if count > 1])
        own = method_layout(self.method, layout, self.task_)
        reason = reason_against(self.method, layout, X.shape[0], self.task_)
        if reason:
            raise ValueError(f"the method {self.method!r} cannot be had for these data: {reason}")
        if own.joined or own.views != every:
            table, present = own.table(X)
        self._layout = own.with_means(table)
        self._needs = needed_views(self.method, own, present)
        lacking = int((~self._decidable(present)).sum())
        if lacking:
            what = f"the view {own.names[0]!r}" if len(self._needs) == 1 else "all views that the method needs"
            lack, them = ("lacks", "it") if lacking == 1 else ("lack", "them")
            self.decisions_.append(
                f"{counted(lacking, 'sample')} {lack} {what}: the fit leaves {them} out, and the prediction of such "
                f"samples is {TASKS[self.task_].constant}."
            )
        return table, present

    def _decidable(self, present: np.ndarray) -> np.ndarray:
        return np.asarray(present[:, [self._layout.names.index(name) for name in self._needs]].any(axis=1))

    def _fitted_to(self, present: np.ndarray, targets: np.ndarray) -> np.ndarray:
        kept = np.flatnonzero(self._decidable(present))
        if self.task_ == SURVIVAL and not targets["event"][kept].any():
            raise ValueError(
                f"the method {self.method!r} cannot be had for these data: all samples that have a view it needs "
                f"({', '.join(self._needs)}) are censored"
            )
        if self.task_ == "classification" and len(np.unique(targets[kept])) < 2:
            only = self.classes_[targets[kept]][:1].tolist()
            raise ValueError(
                f"the method {self.method!r} cannot be had for these data: all samples that have a view it needs "
                f"({', '.join(self._needs)}) are of one class, {', '.join(map(repr, only))}"
            )
        return kept

    def _store_use(self) -> None:
        """Store which views the fitted model reads, and how many samples it compares new ones with."""
        self._needs = self._read_views()
        is_machine = hasattr(self.model_, "support_") or hasattr(self.model_, "feature_coef_")
        self.n_stored_ = n_compared(self.model_) if is_machine else getattr(self.model_, "n_stored_", None)

    def _store_means(self, table: pd.DataFrame) -> None:
        """Of numbers and risks, store what each part of a prediction is on average over the samples of the fit."""
        if self.task_ == CLASSES:
            return
        rows = np.unique(np.linspace(0, len(table) - 1, MOST_AVERAGED).round().astype(int))
        means = inner_parts(self, table.iloc[rows])[:, 0].mean(axis=0) * self.target_scale_
        if self.task_ == SURVIVAL:
            self.target_mean_ = -float(means.sum())
        means[-1] += self.target_mean_
        self.mean_contributions_ = means

    def _pass_on(self, issued: list[warnings.WarningMessage]) -> None:
        """Note the advice of the model's warnings, and issue those that are about convergence again."""
        for warning in issued:
            if issubclass(warning.category, ConvergenceWarning) or not issubclass(warning.category, UserWarning):
                warn(str(warning.message), warning.category)
            else:
                text = str(warning.message)
                self.decisions_ += [] if text in self.decisions_ else [f"{text[:1].upper()}{text[1:]}."]

    def _read_views(self) -> list[str]:
        active = getattr(self.model_, "active_kernels_", None)
        if active is None or self._chosen in ("localized", "concatenation"):
            return self._needs
        pairs = zip(self.model_.kernel_names_, self.model_.kernels_, strict=True)
        read = {kernel.view for name, kernel in pairs if name in active}
        return [name for name in self._needs if name in read] or self._needs

    def _lookups(self) -> list[tuple[Any, np.ndarray]]:
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
        elif task == NUMBERS:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        return tags

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """The model inside is of the task, knows no other classes, and reads the columns of the table."""
        inside = vars(self)
        classifies = inside["task_"] == "classification"
        if classifies == ("target_mean_" in inside and "target_scale_" in inside):
            refuse(f"{path}.task_", "is not that of the other attributes")
        if classifies:
            agree(sizes, "prior", len(self.classes_), f"{path}.classes_")
            if not (inside["_prior"] > 0).all():
                refuse(f"{path}._prior", "has classes without a sample")
        else:
            agree(sizes, "prior", 1, f"{path}._prior")
        machines = {CLASSES: MKLClassifier, NUMBERS: MKLRegressor, SURVIVAL: MKLSurvival}
        if isinstance(self.model_, tuple(machines.values())):
            is_right = isinstance(self.model_, machines[self.task_])
        else:
            is_right = self.model_.task_ == self.task_
        if not is_right or (isinstance(self.model_, MKLRegressor) and self.model_.intercept_.shape != (1,)):
            refuse(f"{path}.model_", f"is none of a {self.task_}")
        if classifies and not set(self.model_.classes_.tolist()) <= set(self.classes_.tolist()):
            refuse(f"{path}.model_.classes_", "are not among the classes")
        if "mean_contributions_" in inside:
            expect(len(part_terms(self)) + 1, len(self.mean_contributions_), f"{path}.mean_contributions_", "parts")
        known = SurvivalCalibration if self.task_ == SURVIVAL else Calibration
        if self.calibration_ is not None and type(self.calibration_) is not known:
            refuse(f"{path}.calibration_", f"is none of a {self.task_}")
        layout, needs = inside["_layout"], inside["_needs"]
        if not needs or not set(needs) <= set(layout.names):
            refuse(f"{path}._needs", "are no views of the model")
        width = sum(len(view.names) for view in layout.views)
        expect(width, self.model_.n_features_in_, f"{path}.model_.n_features_in_", "table columns")
        expected = np.array([name for view in layout.views for name in _table_names(view)], dtype=object)
        names = vars(self.model_).get("feature_names_in_")
        if names is None or not np.array_equal(names, expected):
            refuse(f"{path}.model_.feature_names_in_", "are not the columns of the layout")


def with_gaps(model: CohortModel, X: Any) -> tuple[Any, str | None]:
    """X with the columns that it lacks of views that have others, missing, and a sentence about them or None."""
    return model._layout.with_gaps(X, getattr(model, "feature_names_in_", None))


def _table_names(view: ViewColumns) -> list[str]:
    return [f"{view.name}__{name}" for name in view.names] if view.is_sparse else view.names
