"""`Subject`: what all sections read: a fitted model, its samples, what it predicts of them, and their names."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..combiners import Projected
from ..estimators import MKLClassifier, MKLOneClass, MKLRegressor, MKLSurvival
from ..estimators.fitted import presence_of
from ..estimators.kernel_lists import fitted_model, kernels_by_view, model_input
from ..recipes import CohortModel, method_names
from ..recipes.scoring import Scoring
from ..recipes.tasks import CLASSES, NUMBERS, SURVIVAL, TASKS, outcomes_of
from ..validation import shown
from ..validation.inputs import as_pandas, check_labels, check_numeric_target, check_one_table, check_row_labels
from .words import sample_labels

_SAME = 1e-6  # spread of weights that counts as none


class Subject:
    """A fitted estimator and samples; `cohort` is it if a `CohortModel`, `model` its kernel machine, or None."""

    def __init__(self, estimator: Any, X: Any, y: Any = None):
        check_one_table(X)
        self.estimator = estimator
        self.cohort: Any = estimator if isinstance(estimator, CohortModel) else None
        self.model: Any = _kernel_machine(estimator)
        self.X = as_pandas(X)
        self.n_samples = _num_samples(self.X)
        self.task = _task(estimator if self.cohort is not None else self.model)
        self.y: Any = self._checked(as_pandas(y))
        self.labels = sample_labels(getattr(self.X, "index", None), self.n_samples)

    @property
    def inside(self) -> Any:
        """The `CohortModel`, or the kernel machine, that the estimator is or contains."""
        return self.model if self.cohort is None else self.cohort

    @property
    def scoring(self) -> Scoring:
        """The score that chose the setting of a `CohortModel`; of other models, and of old files, the usual one."""
        usual = {NUMBERS: "r2", SURVIVAL: "concordance"}.get(self.task, "accuracy")
        return Scoring(getattr(self.cohort, "scoring_", usual))

    def _checked(self, y: Any) -> np.ndarray | None:
        check_row_labels(self.X, y=y)
        if y is None or self.task == "novelty":
            return None if y is None else np.asarray(y)
        if self.task == SURVIVAL:
            found = outcomes_of(y)
            if len(found) != self.n_samples:
                raise ValueError(f"X and y have inconsistent numbers of samples: {self.n_samples} and {len(found)}")
            return found
        if self.task == "classification":
            return check_labels(self.estimator, y, self.n_samples)
        return check_numeric_target(self.estimator, y, self.n_samples)[0]

    # The model

    @cached_property
    def inner(self) -> Any:
        return model_input(self.estimator, self.X) if self.cohort is None else self.cohort.table(self.X)

    @cached_property
    def inner_targets(self) -> Any:
        if self.y is None or self.cohort is None or self.task != "regression":
            return self.y
        return (self.y - self.cohort.target_mean_) / self.cohort.target_scale_

    @cached_property
    def views(self) -> dict[str, list[str]]:
        """The kernels of each view; a model without kernels has views without any."""
        if self.model is not None:
            return kernels_by_view(self.model)
        return {str(view): [] for view in self.cohort.views}

    @cached_property
    def view_of(self) -> dict[str, str]:
        return {kernel: view for view, kernels in self.views.items() for kernel in kernels}

    @cached_property
    def present(self) -> Any:
        """Which samples (rows) have which view (columns), a data frame; None for a model without kernels."""
        if self.model is None:
            return None
        found = pd.DataFrame(presence_of(self.model, self.inner), columns=self.model.kernel_names_)
        return pd.DataFrame({view: found[kernels].any(axis=1) for view, kernels in self.views.items()})

    @cached_property
    def decided(self) -> np.ndarray:
        """Positions of the samples that the model decides on: a `CohortModel` also takes samples without any view."""
        return (
            np.arange(self.n_samples) if self.present is None else np.flatnonzero(self.present.any(axis=1).to_numpy())
        )

    def of_samples(self, compute: Callable[[Any], pd.DataFrame]) -> pd.DataFrame:
        """What a method of the kernel machine gives for each sample; NaN for samples without any view."""
        found = compute(_safe_indexing(self.inner, self.decided))
        return found.set_axis(self.decided, axis=0).reindex(range(self.n_samples))

    @cached_property
    def view_weights(self) -> Any:
        """The weight of each view, a series: the sum over its kernels; None for a model without kernels."""
        if self.model is None:
            return None
        weights = overall_weights(self.model)
        return pd.Series({view: float(weights[kernels].sum()) for view, kernels in self.views.items()})

    @property
    def methods(self) -> frozenset[str]:
        return frozenset() if self.model is None else self.model.combiner_.methods

    @cached_property
    def sample_weights(self) -> Any:
        """The kernel weights of each sample, a data frame (means over outputs); None where all samples share them."""
        if "gates" not in self.methods:
            return None
        weights = self.of_samples(self.model.kernel_weights)
        if weights.columns.nlevels > 1:
            weights = weights.T.groupby(level=1, sort=False).mean().T[self.model.kernel_names_]
        return weights.fillna(0.0)

    @property
    def is_gated(self) -> bool:
        """Whether gates are learned, so that weights may differ from sample to sample."""
        combiner = getattr(self.model, "combiner_", None)
        return "gates" in self.methods and not (isinstance(combiner, Projected) and combiner.gating is None)

    @cached_property
    def has_even_gates(self) -> bool:
        """Whether gates came out the same for all samples that have all views."""
        if not self.is_gated:
            return False
        complete = self.sample_weights[self.present.all(axis=1).to_numpy()]
        return bool(len(complete) > 1 and np.ptp(complete.to_numpy(), axis=0).max() < _SAME)

    # Samples

    @cached_property
    def classes(self) -> list[Any]:
        """The classes that the model tells apart, and others that y has."""
        if self.task != "classification":
            return []
        known = [*self.estimator.classes_]
        return known + ([] if self.y is None else [label for label in np.unique(self.y) if label not in known])

    @cached_property
    def targets(self) -> list[str]:
        names = getattr(self.model, "target_names_", [])
        return [str(name) for name in names] if len(names) > 1 else []

    @cached_property
    def predicted(self) -> np.ndarray:
        if self.estimator is self.model and self.task == "classification":
            values = self.decision
            return self.model.classes_[values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(int)]
        return np.asarray(self.estimator.predict(self.X))

    @cached_property
    def decision(self) -> np.ndarray:
        """Decision values; of a regression, what the kernel machine predicts."""
        if self.cohort is not None:
            decide = self.cohort.decision_function if self.task == "classification" else self.cohort.predict
            return np.asarray(decide(self.X))
        return np.asarray(
            self.model.predict(self.inner)
            if self.task in TASKS and self.task != CLASSES
            else self.model.decision_function(self.inner)
        )

    def contributions(self, rows: np.ndarray) -> pd.DataFrame:
        source, X = (self.cohort, self.X) if self.cohort is not None else (self.model, self.inner)
        return source.contributions(_safe_indexing(X, rows)).reset_index(drop=True)

    @cached_property
    def groups(self) -> tuple[np.ndarray, list[str]]:
        """A group of samples for colours: the class, or the third of the target or risk; and the groups' names."""
        given = self.predicted if self.y is None or self.task in ("novelty", SURVIVAL) else self.y
        if self.task == "classification":
            return np.array([self.classes.index(label) for label in given.tolist()]), [str(c) for c in self.classes]
        if self.task == "novelty":
            return (np.asarray(self.predicted) < 0).astype(int), ["like the samples of the fit", "unlike them"]
        values = given.reshape(self.n_samples, -1)[:, 0].astype(float)
        limits = np.quantile(values, [1 / 3, 2 / 3])
        of = " of the risks" if self.task == SURVIVAL else f" of {self.targets[0]}" if self.targets else ""
        return np.searchsorted(limits, values), [f"{third} third{of}" for third in ("lowest", "middle", "highest")]

    @property
    def group_word(self) -> str:
        if self.task == SURVIVAL:
            return "predicted risk"
        known = "true" if self.y is not None else "predicted"
        return {"classification": f"{known} class", "regression": f"{known} value", "novelty": "prediction"}[self.task]


def overall_weights(model: Any) -> pd.Series:
    weights = model.kernel_weights_
    return weights.mean(axis=0) if isinstance(weights, pd.DataFrame) else weights


def method_in_words(cohort: Any) -> str:
    words = method_names(cohort.task_, cohort.views).get(cohort.method_, cohort.method_)
    return words if cohort.method_ == cohort.method else f"{words} (the best of several by inner validation)"


def _kernel_machine(estimator: Any) -> Any:
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    inside = estimator.model_ if isinstance(estimator, CohortModel) else estimator
    model = fitted_model(inside)
    if isinstance(model, MKLClassifier | MKLRegressor | MKLSurvival | MKLOneClass):
        check_is_fitted(model)
        return model
    if isinstance(estimator, CohortModel):
        return None
    several = len(getattr(estimator, "calibrated_classifiers_", [])) > 1
    raise ValueError(
        "report needs a fitted MKLClassifier, MKLRegressor, MKLSurvival, MKLOneClass or CohortModel, alone, as the "
        f"last step of a pipeline or inside a search, not {shown(estimator)}"
        + ("; it holds several models: pass ensemble=False to CalibratedClassifierCV" if several else "")
    )


def _task(estimator: Any) -> str:
    if hasattr(estimator, "task_"):
        return estimator.task_
    if isinstance(estimator, MKLSurvival):
        return SURVIVAL
    return "classification" if is_classifier(estimator) else "regression" if is_regressor(estimator) else "novelty"
