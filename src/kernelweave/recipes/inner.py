"""What a `CohortModel` decides by inner validation: its method and setting, class offsets and the calibration.

Members of a portfolio are searched together, on the same folds; earlier fits (`search.remembering`) are taken over.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..kernels import Precomputed
from ..views import Views
from .choice import Selection, chosen, class_offsets
from .kinds import about_matrix
from .layout import TableLayout
from .methods import AUTO, FOLLOWS, QUICK_PARTS, TRIAL_TREES, ModelMaker, grid_of, method_names, portfolio
from .search import Calibration, Candidate, Found, KnownFit, SurvivalCalibration, fitted, inner_splits, search
from .tasks import SURVIVAL, TASKS
from .values import LABELS_COUNT, CohortValues

Splits = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Samples:
    table: pd.DataFrame
    present: np.ndarray  # (n_samples, n_views)
    targets: np.ndarray  # positions of classes, standardised numbers, or times and events
    groups: np.ndarray | None


class InnerValidation(CohortValues):
    method: str
    class_weight: Any
    decisions_: list[str]
    _layout: TableLayout
    _needs: list[str]

    def _pass_on(self, issued: list[warnings.WarningMessage]) -> None:
        raise NotImplementedError

    def _fit_model(self, given: Any, samples: Samples, known: dict[str, KnownFit]) -> None:
        """Choose method and setting, fit the model to all samples, and calibrate it; `known` are earlier fits."""
        makers = self._makers(given, samples)
        is_classes = self.task_ == "classification"
        y = self.classes_[samples.targets] if is_classes else samples.targets
        splits = self._splits(given, next(iter(makers.values())), samples)
        found = self._search(given, makers, samples, y, splits, known)
        choice = chosen(found, y, splits, self._score)
        self._store_choice(choice, found)
        one = known.get(choice.method) or KnownFit(choice.found)
        if one.model is None:
            _fit_all(one, given, makers[choice.method], samples, y)
        else:
            self.spared_seconds_ += one.fit_seconds
        self.decisions_ += one.notes
        self.model_ = one.model
        self._pass_on(one.issued)
        self.calibration_: Calibration | SurvivalCalibration | None = None
        if is_classes:
            values = self._with_offsets(choice.found.values, samples.targets, y, splits)
            if given.calibrate:
                self.calibration_ = self._calibrated(values, samples)
        elif self.task_ == SURVIVAL and given.calibrate:
            self.calibration_ = self._survival_calibrated(choice.found.values, samples, splits)

    def _makers(self, given: Any, samples: Samples) -> dict[str, ModelMaker]:
        table = samples.table
        options = {"n_jobs": given.n_jobs, "random_state": int(given.random_state.randint(2**31 - 1))}
        matrices = {}
        for view in self._layout.views:
            if view.is_matrix:
                matrices[view.name] = Precomputed(given.matrices[view.name], view.name, repair="clip")
                self.decisions_ += about_matrix(matrices[view.name], table)
        weight = given.class_weight if self.task_ == "classification" and given.class_weight != "auto" else None
        shared = (self.task_, given.effort, self._layout, matrices, self._needs, options, given.approximation, weight)
        methods = [self.method]
        if self.method == AUTO:
            methods = portfolio(self._layout, table, samples.present, given.approximation, self.task_)
        return {method: ModelMaker(method, *shared) for method in methods}

    def _splits(self, given: Any, maker: ModelMaker, samples: Samples) -> list[tuple[np.ndarray, np.ndarray]]:
        task, quick = TASKS[self.task_], given.effort == "quick"
        labels = task.strata(samples.targets)
        n_folds = QUICK_PARTS if quick else given.cv
        splits = []
        for train, test in inner_splits(labels, samples.groups, n_folds, given.random_state, only_first=quick):
            train = train[maker.decidable(samples.present[train], samples.present[train])]
            if len(train) > 1 and task.can_learn(labels[train]):
                splits.append((train, test))
        if not splits:
            self.decisions_.append("There are too few samples, classes, events or groups for inner validation.")
        return splits

    def _search(
        self,
        given: Any,
        makers: Mapping[str, ModelMaker],
        samples: Samples,
        y: np.ndarray,
        splits: Splits,
        known: dict[str, KnownFit],
    ) -> dict[str, Found]:
        """What inner validation finds for each method; nothing is fitted again for those that are known."""
        table, present = samples.table, samples.present
        several = self.task_ == "classification" and len(self.classes_) > 2
        tries_weights = given.class_weight == "auto" and self.scoring_ == "balanced_accuracy"
        is_portfolio, views = self.method == AUTO, Views(table)
        decidable = next(iter(makers.values())).decidable  # members of a portfolio read the same views
        self.offsets_, self.spared_seconds_ = None, sum(known[name].seconds for name in makers if name in known)

        def decide(model: Any, rest: Views, train: np.ndarray, test: np.ndarray) -> np.ndarray:
            decided = decidable(present[train], present[test])
            values = self._with_constants(model, rest, decided)
            if self.task_ == SURVIVAL and decided.any():  # risks have no level: the average of those that there are
                values[~decided] = values[decided].mean()
            return values

        def candidate(name: str) -> Candidate:
            def make(rows: np.ndarray, part: Views) -> Any:
                own = part.X if isinstance(part.X, pd.DataFrame) else table.iloc[rows]
                model = makers[name].model(own, present[rows])
                return model.set_params(n_trees=TRIAL_TREES) if is_portfolio and name == "forest" else model

            leader = FOLLOWS.get(name) if is_portfolio else None
            grid = grid_of(name, given.effort, self.task_, tries_weights)
            return Candidate(make, grid if leader is None else {key: (found[leader].setting[key],) for key in grid})

        found = {name: known[name].found for name in makers if name in known}
        leaders = [name for name in makers if name not in found and not (is_portfolio and name in FOLLOWS)]
        followers = [name for name in makers if name not in (*found, *leaders)]
        for names in filter(None, (leaders, followers)):
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of settings that may not be chosen; the last fit's count
                new = search(
                    {name: candidate(name) for name in names},
                    views,
                    y,
                    splits,
                    groups=samples.groups,
                    decide=decide,
                    score=self._score,
                    losses=self._losses,
                    shape=(len(table), len(self.classes_)) if several else (len(table),),
                )
            found |= new
            if not is_portfolio:
                known |= {name: KnownFit(own, time.perf_counter() - start) for name, own in new.items()}
        return {name: found[name] for name in makers}

    def _store_choice(self, choice: Selection, found: Mapping[str, Found]) -> None:
        self._chosen, self.portfolio_ = choice.method, None
        best = choice.found
        self.setting_, self.settings_, self.validation_score_ = best.setting, best.table, best.score
        if self.method != AUTO:
            return
        self.setting_ = {"method": choice.method} | self.setting_
        tables = []
        for name, own in found.items():
            setting = (f"method={name}, " + own.table["setting"]).str.removesuffix(", ")
            tables.append(own.table.assign(setting=setting))
        self.settings_ = pd.concat(tables, ignore_index=True)
        self.portfolio_ = choice.table
        sentence = choice.sentence(method_names(self.task_, self._layout.names))
        self.decisions_ += [] if sentence is None else [sentence]

    def _with_offsets(self, values: np.ndarray, targets: np.ndarray, y: np.ndarray, splits: Splits) -> np.ndarray:
        """Out-of-fold decision values with the class offsets, where labels are counted and these are worth having."""
        if self.scoring_ not in LABELS_COUNT:
            return values
        is_balanced = self.scoring_ == "balanced_accuracy"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of resamples without some class
            offsets = class_offsets(values, targets, y, splits, self._score, is_balanced=is_balanced)
        if offsets is None:
            return values
        self.offsets_, gain = offsets
        self.decisions_.append(
            f"Decision values have an offset for each class: the inner score rises by {gain:.3f}, to "
            f"{self.validation_score_ + gain:.3f}."
        )
        self.validation_score_ += gain
        return values + offsets[0]

    def _count_lacking(self, targets: np.ndarray, kept: np.ndarray) -> None:
        """Let inner scores count the samples that the fit leaves out too, so that scores of all methods compare."""
        lacking = np.delete(targets, kept)
        if not len(lacking):
            return
        values = np.repeat(self._constant()[None], len(lacking), axis=0)
        if self.task_ == "classification":
            score = self._score(values[:, 0] if values.shape[1] == 1 else values, self.classes_[lacking])
        else:
            score = self._score(values[:, 0], lacking)
        if not np.isfinite(score):  # an area under a curve of samples of one class
            return
        share = len(lacking) / len(targets)
        self.validation_score_ = (1.0 - share) * self.validation_score_ + share * score
        scores, spread = self.settings_["score"], self.settings_["std"]
        self.settings_ = self.settings_.assign(score=(1.0 - share) * scores + share * score, std=(1.0 - share) * spread)

    def _survival_calibrated(self, values: np.ndarray, samples: Samples, splits: Splits) -> SurvivalCalibration:
        """By risks out of fold, those of a fold less their mean: the risks of different models have no common level."""
        folds = np.full(len(values), -1)
        for number, (_, test) in enumerate(splits):
            folds[test] = number
        tested = np.isfinite(values) & (folds >= 0)
        if not samples.targets["event"][tested].any():
            self.decisions_.append("Survival is calibrated by the training samples themselves.")
            values, folds = self._decided(self.model_, samples.table), np.zeros(len(values), dtype=int)
            tested = np.ones(len(values), dtype=bool)
        return SurvivalCalibration.fit(values[tested], samples.targets[tested], folds[tested])

    def _calibrated(self, values: np.ndarray, samples: Samples) -> Calibration:
        tested = np.isfinite(values) if values.ndim == 1 else np.isfinite(values).all(axis=1)
        if not tested.any():
            self.decisions_.append("Probabilities are calibrated by the training samples themselves.")
            return Calibration.fit(self._decided(self.model_, samples.table), samples.targets)
        return Calibration.fit(values[tested], samples.targets[tested])


def _fit_all(one: KnownFit, given: Any, maker: ModelMaker, samples: Samples, y: np.ndarray) -> None:
    start = time.perf_counter()
    model = maker.model(samples.table, samples.present).set_params(**one.found.setting)
    if given.verbose and "verbose" in model.get_params(deep=False):
        model.set_params(verbose=given.verbose)
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always", UserWarning)
        one.model = fitted(model, samples.table, y, samples.groups)
    one.issued, one.notes, one.fit_seconds = list(issued), list(maker.notes), time.perf_counter() - start
