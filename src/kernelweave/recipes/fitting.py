"""The fit of a `CohortModel`: what is decided before, the inner search, the model of all samples, its calibration."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn
from ..estimators.fitted import n_compared
from ..kernels import Precomputed
from ..validation.inputs import as_pandas, check_labels, check_numeric_target, check_target, encode_labels
from .calibration import Calibration
from .decisions import about_columns, about_matrix
from .folds import inner_splits
from .kinds import column_kinds, given_kinds
from .layout import TableLayout
from .leaks import copies_of_target, copies_sentence
from .methods import ModelMaker, method_layout, needed_views, reason_against
from .search import Found, fitted, search
from .settings import QUICK_PARTS, grid_of
from .tasks import guess_task
from .twins import find_twins, merged_groups


class CohortFit:
    """Mixin of `CohortModel`: the steps of its fit."""

    method: str
    kinds: Any
    task: str
    task_: str
    classes_: np.ndarray
    kinds_: pd.DataFrame
    decisions_: list[str]
    model_: Any
    _layout: TableLayout
    _needs: list[str]
    _prior: np.ndarray
    settings_: pd.DataFrame
    validation_score_: float

    def _fit_task(self, y: Any, n_samples: int) -> np.ndarray:
        """Targets as the model takes them: positions of classes, or standardised numbers."""
        for name in ("classes_", "target_mean_", "target_scale_"):
            self.__dict__.pop(name, None)
        if self.task == "auto":
            self.task_, why = guess_task(check_target(self, y, n_samples))
            self.decisions_.append(f"The task is {self.task_}: {why}.")
        else:
            self.task_ = self.task
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

    def _fit_layout(self, frame: pd.DataFrame, matrices: Mapping[str, Any]) -> TableLayout:
        """Decide what the columns hold and what the method reads; sets `kinds_`."""
        absent = [name for name in matrices if name not in frame.columns]
        if absent:
            raise ValueError(
                f"X has no column {absent[0]!r}, which holds the ids of the samples in the similarity matrix of that "
                "name"
            )
        self.kinds_ = column_kinds(frame, matrices=tuple(matrices))
        if self.kinds is not None:
            self.kinds_ = given_kinds(self.kinds_, self.kinds)
        self.decisions_ += about_columns(self.kinds_)
        return TableLayout.of(frame, self.kinds_)

    def _fit_groups(self, frame: pd.DataFrame, matrices: Any, y: Any, groups: Any) -> np.ndarray | None:
        """The groups that stay together in folds, equal samples too; what gives the target away is noted."""
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
        counts = layout.table(X)[1].sum(axis=0)
        for view, count in zip(layout.views, counts.tolist(), strict=True):
            if count < 2:
                has = "no sample has it" if count == 0 else "only one sample has it"
                self.decisions_.append(f"The view {view.name!r} is left out: {has}.")
        layout = layout.only([view.name for view, count in zip(layout.views, counts, strict=True) if count > 1])
        own = method_layout(self.method, layout)
        reason = reason_against(self.method, layout, X.shape[0])
        if reason:
            raise ValueError(f"the method {self.method!r} cannot be had for these data: {reason}")
        table, present = own.table(X)
        self._layout = own.with_means(table)
        self._needs = needed_views(self.method, own, present)
        lacking = int((~self._decidable(present)).sum())
        if lacking:
            what = f"the view {own.names[0]!r}" if len(self._needs) == 1 else "all views that the method needs"
            self.decisions_.append(
                f"{lacking} samples lack {what}: the fit leaves them out, and the prediction of such samples is "
                + ("the most frequent class." if self.task_ == "classification" else "the mean target.")
            )
        return table, present

    def _decidable(self, present: np.ndarray) -> np.ndarray:
        """Which samples have a view that the method needs."""
        return np.asarray(present[:, [self._layout.names.index(name) for name in self._needs]].any(axis=1))

    def _fitted_to(self, present: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Positions of the samples that the model is fitted to, or an error where they are of one class."""
        kept = np.flatnonzero(self._decidable(present))
        if self.task_ == "classification" and len(np.unique(targets[kept])) < 2:
            only = self.classes_[targets[kept]][:1].tolist()
            raise ValueError(
                f"the method {self.method!r} cannot be had for these data: all samples that have a view it needs "
                f"({', '.join(self._needs)}) are of one class, {', '.join(map(repr, only))}"
            )
        return kept

    def _fit_model(
        self, given: Any, table: pd.DataFrame, present: np.ndarray, targets: np.ndarray, groups: np.ndarray | None
    ) -> None:
        """Search, fit to all samples, calibrate."""
        options = {"n_jobs": given.n_jobs, "random_state": int(given.random_state.randint(2**31 - 1))}
        matrices = {}
        for view in self._layout.views:
            if view.is_matrix:
                matrices[view.name] = Precomputed(given.matrices[view.name], view.name, repair="clip")
                self.decisions_ += about_matrix(matrices[view.name], table)
        maker = ModelMaker(
            self.method, self.task_, given.effort, self._layout, matrices, self._needs, options, given.approximation
        )
        is_classes = self.task_ == "classification"
        y = self.classes_[targets] if is_classes else targets
        found = self._search(given, maker, table, present, targets, groups)
        self.setting_, self.settings_, self.validation_score_ = found.setting, found.table, found.score
        model = maker.model(table, present).set_params(**found.setting)
        if given.verbose and "verbose" in model.get_params(deep=False):
            model.set_params(verbose=given.verbose)
        self.decisions_ += maker.notes
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always", UserWarning)
            self.model_ = fitted(model, table, y, groups)
        self._pass_on(issued)
        self._store_use()
        self.calibration_ = None
        if is_classes and given.calibrate:
            self.calibration_ = self._calibrated(found.values, targets, table)

    def _store_use(self) -> None:
        """Store which views the fitted model reads, and how many samples it compares new ones with."""
        self._needs = self._read_views()
        is_machine = hasattr(self.model_, "support_") or hasattr(self.model_, "feature_coef_")
        self.n_stored_ = n_compared(self.model_) if is_machine else getattr(self.model_, "n_stored_", None)

    def _pass_on(self, issued: list[warnings.WarningMessage]) -> None:
        """Note the advice of the model's warnings, and issue those that are about convergence again."""
        for warning in issued:
            if issubclass(warning.category, ConvergenceWarning) or not issubclass(warning.category, UserWarning):
                warn(str(warning.message), warning.category)
            else:
                text = str(warning.message)
                self.decisions_ += [] if text in self.decisions_ else [f"{text[:1].upper()}{text[1:]}."]

    def _read_views(self) -> list[str]:
        """The needed views that the fitted model reads: kernels without weight are not evaluated any more."""
        active = getattr(self.model_, "active_kernels_", None)
        if active is None or self.method in ("localized", "concatenation"):
            return self._needs
        pairs = zip(self.model_.kernel_names_, self.model_.kernels_, strict=True)
        read = {kernel.view for name, kernel in pairs if name in active}
        return [name for name in self._needs if name in read] or self._needs

    def _search(
        self,
        given: Any,
        maker: ModelMaker,
        table: pd.DataFrame,
        present: np.ndarray,
        targets: np.ndarray,
        groups: np.ndarray | None,
    ) -> Found:
        is_classes = self.task_ == "classification"
        quick = given.effort == "quick"
        labels = targets if is_classes else np.zeros(len(targets), dtype=int)
        n_folds = QUICK_PARTS if quick else given.cv
        splits = []
        for train, test in inner_splits(labels, groups, n_folds, given.random_state, only_first=quick):
            train = train[maker.decidable(present[train], present[train])]
            if len(train) > 1 and (not is_classes or len(np.unique(labels[train])) > 1):
                splits.append((train, test))
        if not splits:
            self.decisions_.append("There are too few samples, classes or groups for inner validation.")
        several = is_classes and len(self.classes_) > 2

        def decide(model: Any, train: np.ndarray, test: np.ndarray) -> np.ndarray:
            known = maker.decidable(present[train], present[test])
            return self._with_constants(model, table.iloc[test], known)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of settings that may not be chosen; the last fit's count
            return search(
                lambda rows: maker.model(table.iloc[rows], present[rows]),
                grid_of(self.method, given.effort, self.task_),
                table,
                self.classes_[targets] if is_classes else targets,
                splits,
                groups=groups,
                decide=decide,
                score=self._accuracy if is_classes else _explained,
                shape=(len(table), len(self.classes_)) if several else (len(table),),
            )

    def _count_lacking(self, targets: np.ndarray, kept: np.ndarray) -> None:
        """Let inner scores count also the samples that the fit leaves out, so that scores of all methods compare."""
        lacking = np.delete(targets, kept)
        if not len(lacking):
            return
        predicted = self._prior.argmax()
        score = float((lacking == predicted).mean()) if self.task_ == "classification" else _explained(0.0, lacking)
        share = len(lacking) / len(targets)
        self.validation_score_ = (1.0 - share) * self.validation_score_ + share * score
        scores, spread = self.settings_["score"], self.settings_["std"]
        self.settings_ = self.settings_.assign(score=(1.0 - share) * scores + share * score, std=(1.0 - share) * spread)

    def _calibrated(self, values: np.ndarray, targets: np.ndarray, table: pd.DataFrame) -> Calibration:
        """The calibration by decision values of samples that models were not fitted to."""
        tested = np.isfinite(values) if values.ndim == 1 else np.isfinite(values).all(axis=1)
        if not tested.any():
            self.decisions_.append("Probabilities are calibrated by the training samples themselves.")
            return Calibration.fit(self._decided(self.model_, table), targets)
        return Calibration.fit(values[tested], targets[tested])

    def _decided(self, model: Any, table: pd.DataFrame) -> np.ndarray:
        """Decision values for all classes of the fit, also where a model was fitted to samples of some only."""
        if self.task_ == "regression":
            return model.predict(table)
        values = model.decision_function(table)
        if len(model.classes_) == len(self.classes_):
            return values
        return self._of_all_classes(model, values.reshape(len(values), -1, 1))[:, :, 0]

    def _of_all_classes(self, model: Any, parts: np.ndarray) -> np.ndarray:
        """Parts that add up to decision values, (n_samples, n_outputs, n_parts), for all classes of the fit.

        Of a model that was fitted to samples of two out of several classes, the first has the opposite of its decision
        value. A class that a model does not know comes last: its value is below all others, and all in the last part.
        """
        if parts.shape[1] == len(self._constant()):
            return parts
        if parts.shape[1] == 1:
            parts = np.concatenate([0.0 - parts, parts], axis=1)  # 0 stays 0, and never becomes -0
        every = np.zeros((len(parts), len(self.classes_), parts.shape[2]))
        every[:, :, -1] = parts.sum(axis=2).min(axis=1, keepdims=True) - 1.0
        every[:, np.searchsorted(self.classes_, model.classes_)] = parts
        return every

    def _with_constants(self, model: Any, table: pd.DataFrame, decided: np.ndarray) -> np.ndarray:
        """Decision values of all samples of a table, of which the model decides on some."""
        constant = self._constant()
        values = np.repeat(constant[None], len(table), axis=0)
        values = values[:, 0] if len(constant) == 1 else values
        if decided.any():
            values[decided] = self._decided(model, table if decided.all() else table.iloc[decided])
        return values

    def _constant(self) -> np.ndarray:
        """Decision values of samples that the model cannot decide on."""
        if self.task_ == "regression":
            return np.zeros(1)
        logs = np.log(self._prior)
        return logs[1:] - logs[:1] if len(logs) == 2 else logs

    def _accuracy(self, values: np.ndarray, y: np.ndarray) -> float:
        return float((self._labels(values) == y).mean())

    def _labels(self, values: np.ndarray) -> np.ndarray:
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]


def checked_groups(groups: Any, n_samples: int) -> np.ndarray:
    """The group of each sample as a number."""
    groups = np.ravel(as_pandas(groups))
    if len(groups) != n_samples:
        raise ValueError(f"groups has {len(groups)} entries, but X has {n_samples} samples")
    if pd.isna(groups).any():
        raise ValueError(f"groups is missing for sample {int(np.flatnonzero(pd.isna(groups))[0])}")
    return np.unique(groups.astype(str), return_inverse=True)[1]


def _explained(values: np.ndarray | float, y: np.ndarray) -> float:
    """R2 of standardised targets, relative to the variance of all training samples."""
    return 1.0 - float(((values - y) ** 2).mean())
