"""How a comparison of any estimators, data sets by methods, is declared.

A table has a row per data set and a column per method; an entry is the mean error over repeats. A method consists of a
few candidate estimators, the best of which counts. `kernelweave compare` has one data set, that of its files.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..model_selection import Protocol, Split
from ..recipes.metrics import survival_scores
from ..recipes.tasks import CLASSES, NUMBERS, SURVIVAL, TASKS, is_outcome
from ..validation import Choice, check

N_TIMES = 17


@dataclass(frozen=True)
class Problem:
    """A data set, from which candidate estimators are made.

    Attributes
    ----------
    X : DataFrame, array or CSR matrix
    y : ndarray
        Classes, numbers, or times and events as `survival.outcome` makes them.
    views : mapping from name to selector
        What kernels take as their view.
    is_classification : bool
    groups : ndarray or None
        The group of each sample, for estimators whose `fit` takes `groups` to keep them together in their own
        cross-validation, and for the protocol.
    """

    X: Any
    y: np.ndarray
    _: KW_ONLY
    views: Mapping[str, Any] = field(default_factory=dict)
    is_classification: bool = True
    groups: np.ndarray | None = None

    @cached_property
    def classes(self) -> np.ndarray:
        """The classes of all samples, sorted; none of a regression."""
        return np.unique(self.y) if self.is_classification else self.y[:0]

    @property
    def task(self) -> str:
        """What is predicted: "classification", "regression" or "survival"."""
        return CLASSES if self.is_classification else SURVIVAL if is_outcome(self.y) else NUMBERS

    @cached_property
    def times(self) -> np.ndarray:
        """Of survival, the times at which predicted survival is compared with what came: of 10 to 90 % of the events.

        At most `N_TIMES`, all before the last time: nothing is known of later ones.
        """
        if self.task != SURVIVAL:
            return np.zeros(0)
        of_events = self.y["time"][self.y["event"]]
        grid = np.unique(np.quantile(of_events, np.linspace(0.1, 0.9, N_TIMES), method="inverted_cdf"))
        return grid[grid < self.y["time"].max()]

    def split(self, protocol: Protocol, **options: Any) -> list[Split]:
        """The folds of a protocol, each with the shares of the classes or of the events."""
        is_even = self.task != NUMBERS
        strata = TASKS[self.task].strata(self.y) if is_even else self.y
        return protocol.split(strata, is_even, groups=self.groups, **options)

    def predictions(self, model: BaseEstimator, X: Any) -> dict[str, Any]:
        """What a model predicts, for cells: positions of `classes`, numbers or risks.

        With probabilities of classes or, of survival, of no event until `times`; None where a model has none.
        """
        predicted = np.asarray(model.predict(X))
        if self.task == SURVIVAL:
            has_survival = hasattr(model, "predict_survival_function")
            chances = model.predict_survival_function(X, self.times).tolist() if has_survival else None
            return {"predicted": predicted.astype(np.float64).tolist(), "probabilities": chances}
        if not self.is_classification:
            return {"predicted": predicted.astype(np.float64).tolist()}
        found: dict[str, Any] = {"predicted": np.searchsorted(self.classes, predicted).tolist(), "probabilities": None}
        if hasattr(model, "predict_proba"):
            shares = np.zeros((len(predicted), len(self.classes)))
            shares[:, np.searchsorted(self.classes, model.classes_)] = model.predict_proba(X)
            found["probabilities"] = shares.tolist()
        return found

    def error(self, model: BaseEstimator, X: Any, part: np.ndarray) -> float:
        """In per cent, the misclassified samples, the variance that is not explained, 1 - R2, or 1 - Harrell's C."""
        return self._error(np.asarray(model.predict(X)), part)

    def record_error(self, predictions: Mapping[str, Any], part: np.ndarray) -> float:
        """The error of what `predictions` returned."""
        predicted = np.asarray(predictions["predicted"])
        return self._error(self.classes[predicted] if self.is_classification else predicted, part)

    def _error(self, predicted: np.ndarray, part: np.ndarray) -> float:
        true = self.y[part]
        if self.is_classification:
            return float(100.0 * np.mean(predicted != true))
        if self.task == SURVIVAL:
            concordant = survival_scores(true, predicted)["C index"]
            return 100.0 * (1.0 - concordant) if np.isfinite(concordant) else 50.0
        squares, variance = (predicted - true) ** 2, np.var(true)
        if variance == 0.0:  # nothing to explain: all or none of it, as in scikit-learn's r2_score
            return 100.0 * float(squares.any())
        return float(100.0 * np.mean(squares) / variance)


_FEW = 8  # data sets that are listed by name

Candidates = Callable[[Problem], Mapping[str, BaseEstimator]]
Measure = Callable[[str, BaseEstimator, Problem, Split, list[Any]], dict[str, Any]]


@dataclass(frozen=True)
class Contender:
    """One column of the table.

    Attributes
    ----------
    name : str
    candidates : callable
        From a `Problem` to named estimators, unfitted: the settings that are tried. It may look at sizes and scales.
        An estimator may also choose its setting by itself, and have it as `setting_` once it is fitted, with the
        validation score of that choice as `validation_score_` and the number of samples that it stores as `n_stored_`.
    """

    name: str
    candidates: Candidates


@dataclass(frozen=True)
class Comparison:
    """A table of test errors in per cent.

    Where a protocol has validation samples, the candidate with the smallest mean error on them counts, for each run of
    the protocol; otherwise the one with the smallest mean test error over all repeats, as papers that report the best
    of several settings do.

    Attributes
    ----------
    name : str
        Such as "skfe-3".
    title, source : str
    datasets : mapping from label to (name, variant), Problem or callable
        Rows: data sets as in `datasets.load_dataset`, data at hand, or what makes a `Problem` of the data home.
    contenders : tuple of Contender
        Columns.
    protocol : Protocol
    paper : mapping from label to (mean, standard deviation) by contender
        The paper's figures.
    prepare : callable or None
        What is done to the data before they are split; without labels.
    scaling : callable or None
        From a `Problem` to a transformer, which is fitted on the training samples of each fold for all contenders.
    level : float
        Of the tests that mark the best contenders.
    default : str or None
        The contender that the others are compared with; the report is then a ranked table.
    skip_absent : bool
        Whether data sets that are not there are left out, and named; otherwise they are an error.
    is_tolerant : bool
        Whether a contender that cannot be fitted on a fold is recorded as failed, with the reason, and warnings are
        counted in the cells; otherwise errors and warnings are the caller's.
    measure : callable or None
        What fits one candidate on a fold and returns the record of it, from the label of the candidate, the unfitted
        estimator, the problem, the split and the samples that train, validate and test; the test error and the seconds
        by default. Where the protocol compares samples it has what `Problem.predictions` makes of the test samples too.
    in_processes : bool
        Whether cells run in processes of their own, one at a time in each, so that memory can be measured; in threads
        of this process otherwise.
    quick : mapping
        Fields to replace in a quick run.
    note : str
        What the paper leaves open, and how it is settled here.
    claim : object or None
        What the paper concludes from the table, with a method `check(name, contenders)` that refuses unknown
        contenders.
    """

    name: str
    title: str
    _: KW_ONLY
    source: str
    datasets: Mapping[str, tuple[str, str | None] | Problem | Callable[[Any], Problem]]
    contenders: tuple[Contender, ...]
    protocol: Protocol
    paper: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    prepare: Callable[[Any], Any] | None = None
    scaling: Callable[[Problem], BaseEstimator] | None = None
    level: float = 0.01
    default: str | None = None
    skip_absent: bool = False
    is_tolerant: bool = False
    measure: Measure | None = None
    in_processes: bool = False
    quick: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    claim: Any = None

    def __post_init__(self):
        names = [contender.name for contender in self.contenders]
        if self.claim is not None:
            self.claim.check(self.name, names)
        if len(set(names)) < len(names):
            raise ValueError(f"contenders of comparison {self.name!r} must have unique names")
        columns = {name for figures in self.paper.values() for name in figures}
        unknown = (set(self.paper) - set(self.datasets)) | (columns - set(names))
        if unknown:
            raise ValueError(f"comparison {self.name!r} has figures of the paper for unknown entries {sorted(unknown)}")
        check(f"comparison {self.name!r}", "default", self.default, Choice(*names, None))

    @property
    def members(self) -> tuple[Comparison, ...]:
        """The comparison itself; a collection has several."""
        return (self,)

    @property
    def dataset_names(self) -> list[str]:
        """The data sets, as `load_dataset` names them."""
        return [place[0] for place in self.datasets.values() if isinstance(place, tuple)]

    @property
    def data_label(self) -> str:
        """The rows in words, or their number where there are many."""
        return ", ".join(self.datasets) if len(self.datasets) <= _FEW else f"{len(self.datasets)} data sets"

    @property
    def n_methods(self) -> int:
        """How many methods are compared."""
        return len(self.contenders)

    def quickened(self) -> Comparison:
        """The same comparison with the fields of `quick` replaced."""
        rows = self.quick.get("datasets", self.datasets)
        paper = {row: figures for row, figures in self.paper.items() if row in rows}
        return dataclasses.replace(self, **{"paper": paper, **self.quick})
