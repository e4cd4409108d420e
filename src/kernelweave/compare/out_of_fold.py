"""Out-of-fold predictions: what methods predict of samples that they were not fitted to, and what follows from them.

Every number of a comparison is computed from them: scores, paired tests, intervals and the score of the best method
corrected for its choice. Each sample is tested once in each repeat of the folds.

===================  ==============================================================================================
score                of all predictions of a repeat together, averaged over repeats; of a score that compares
                     decision values, of those of a fold, averaged over folds (`recipes.scoring`)
losses               of each sample, averaged over repeats, of a score that is a mean over samples
interval             score ± t SE, SE^2 = (1 / n + 1 / n_train) Var(loss): what other samples and training sets give
corrected score      of the best of several methods (Tsamardinos et al. 2018): samples are drawn with replacement, the
                     best method is chosen on those drawn, and scored on the others; the mean over 1000 draws
===================  ==============================================================================================

The largest of several scores is too high, because it is the largest also by luck; the corrected score is not. Draws are
stratified by class, and draw groups where samples have some.

References
----------
I. Tsamardinos, E. Greasidou, G. Borboudakis, Bootstrapping the out-of-sample predictions for efficient and accurate
cross-validation, Machine Learning 107, 2018.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..model_selection import LossTestResult, Split, paired_loss_test
from ..model_selection.statistics import least_error, mean_by_sample, paired_ratio_test, paired_score_test
from ..model_selection.view_comparison import N_RESAMPLES, areas
from ..recipes.metrics import scores, survival_scores
from ..recipes.scoring import Scoring
from ..recipes.tasks import NUMBERS, SURVIVAL
from .comparison import Problem

N_DRAWS = 1000  # of the corrected score
_MOST_IN_PAIRS = 3000  # samples of a fold whose pairs are kept as a matrix
_TIED = 1e-8  # of risks, as in `survival.concordance`


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """The predictions of one method, one entry for each tested sample of each fold.

    `rows` are positions of samples, `predicted` those of classes, numbers or risks; `probabilities`, of classes or of
    no event until the times of the problem, are None without any.
    """

    rows: np.ndarray
    repeat: np.ndarray
    fold: np.ndarray
    predicted: np.ndarray
    probabilities: np.ndarray | None = None

    @classmethod
    def of(cls, splits: Sequence[Split], records: Sequence[Mapping[str, Any]], places: Sequence[int]) -> OutOfFold:
        lengths = [len(split.test) for split in splits]
        shares = [record.get("probabilities") for record in records]
        known = all(part is not None for part in shares)
        return cls(
            rows=np.concatenate([split.test for split in splits]),
            repeat=np.repeat([split.run for split in splits], lengths),
            fold=np.repeat(np.asarray(places), lengths),
            predicted=np.concatenate([np.asarray(record["predicted"]) for record in records]),
            probabilities=np.concatenate([np.asarray(part, dtype=np.float64) for part in shares]) if known else None,
        )

    def part(self, chosen: np.ndarray) -> OutOfFold:
        shares = None if self.probabilities is None else self.probabilities[chosen]
        return OutOfFold(
            self.rows[chosen], self.repeat[chosen], self.fold[chosen], self.predicted[chosen], probabilities=shares
        )

    def by(self, key: np.ndarray) -> list[OutOfFold]:
        return [self.part(key == value) for value in np.unique(key)]


@dataclass(frozen=True, eq=False)
class Judge:
    """The score and the tests of out-of-fold predictions; `n_train` samples train in a fold, on average."""

    problem: Problem
    scoring: Scoring
    n_train: float

    @cached_property
    def targets(self) -> np.ndarray:
        """Positions of classes, numbers, or times and events."""
        y = self.problem.y
        if self.problem.task == SURVIVAL:
            return y
        return np.searchsorted(self.problem.classes, y) if self.problem.is_classification else y.astype(np.float64)

    @property
    def n_classes(self) -> int:
        return len(self.problem.classes)

    def _value(self, part: OutOfFold) -> float:
        return self.scoring.value(self.targets[part.rows], part.predicted, part.probabilities, self.n_classes)

    def score(self, found: OutOfFold) -> float:
        if self.scoring.needs_probabilities and found.probabilities is None:
            return np.nan
        values = [self._value(part) for part in found.by(found.fold if self.scoring.within_folds else found.repeat)]
        defined = [value for value in values if np.isfinite(value)]
        return float(np.mean(defined)) if defined else np.nan

    def fold_scores(self, found: OutOfFold) -> np.ndarray:
        if self.scoring.needs_probabilities and found.probabilities is None:
            return np.full(len(np.unique(found.fold)), np.nan)
        return np.array([self._value(part) for part in found.by(found.fold)])

    def all_scores(self, found: OutOfFold) -> dict[str, float]:
        """All scores of `recipes.metrics`, by name: of a repeat together; areas and C within folds, on average."""
        task = self.problem.task

        def of(part: OutOfFold) -> dict[str, float]:
            if task == SURVIVAL:
                return survival_scores(self.targets[part.rows], part.predicted, part.probabilities, self.problem.times)
            return scores(task, self.targets[part.rows], part.predicted, part.probabilities, np.arange(self.n_classes))

        repeats, folds = (pd.DataFrame([of(part) for part in found.by(key)]) for key in (found.repeat, found.fold))
        means = {name: float(repeats[name].mean()) for name in repeats}
        return means | {name: float(folds[name].mean()) for name in folds if name in ("ROC AUC", "C index")}

    def losses(self, found: OutOfFold) -> np.ndarray:
        """What is lost on each tested sample, in the order of the samples; for a score that is a mean over samples."""
        parts = found.by(found.repeat)
        values = [
            self.scoring.losses(self.targets[part.rows], part.predicted, part.probabilities, self.n_classes)
            for part in parts
        ]
        return mean_by_sample([part.rows for part in parts], values)[1]

    def _units(self, rows: np.ndarray) -> np.ndarray:
        groups = np.arange(len(self.targets)) if self.problem.groups is None else self.problem.groups
        return np.unique(groups[rows].astype(str) if groups.dtype.kind == "O" else groups[rows], return_inverse=True)[1]

    def test(self, first: OutOfFold, second: OutOfFold) -> LossTestResult:
        """The test of two methods; its difference is how much better the first one is."""
        rows = np.unique(first.rows)
        if self.scoring.is_mean:
            found = self._loss_test(rows, self.losses(first), self.losses(second))
        else:
            found = paired_score_test(
                self.score(first) - self.score(second),
                self.resampled(first) - self.resampled(second),
                n_samples=len(rows),
                n_units=int(self._units(rows).max()) + 1,
                n_train=self.n_train,
            )
        return replace(found, error=max(found.error, self._least_error(len(rows))))

    def chance_test(self, found: OutOfFold, chance: OutOfFold) -> LossTestResult:
        """Test against chance: labels by differences, numbers by the ratio of errors, others by the ROC curve."""
        if self.problem.is_classification:
            return self.test(found, chance) if self.scoring.is_mean else self.area_test(found)
        if not self.scoring.is_mean:
            return self.test(found, chance)
        rows = np.unique(found.rows)
        groups = None if self.problem.groups is None else self._units(rows)
        return paired_ratio_test(self.losses(found), self.losses(chance), n_train=self.n_train, groups=groups)

    def _least_error(self, n_samples: int) -> float:
        """Of scores of labels and of orders; numbers that are equal are equal."""
        has_labels = self.problem.task != NUMBERS and not self.scoring.is_error
        return least_error(n_samples, self.n_train) if has_labels else 0.0

    def _loss_test(self, rows: np.ndarray, first: np.ndarray, second: np.ndarray) -> LossTestResult:
        groups = None if self.problem.groups is None else self._units(rows)
        strata = self.targets[rows] if self.scoring.is_balanced else None
        return paired_loss_test(first, second, n_train=self.n_train, groups=groups, strata=strata)

    def interval(self, found: OutOfFold, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of the score of a method, with training sets as they vary."""
        score, rows = self.score(found), np.unique(found.rows)
        if not np.isfinite(score):
            return np.nan, np.nan
        if not self.scoring.is_mean:
            n_units = int(self._units(rows).max()) + 1
            resampled = self.resampled(found) - score
            result = paired_score_test(0.0, resampled, n_samples=len(rows), n_units=n_units, n_train=self.n_train)
            # As below: a score that is the same in all resamples is no certainty.
            least = least_error(len(rows), self.n_train) if self.problem.task != NUMBERS else 0.0
            low, high = replace(result, error=max(result.error, least)).interval(level)
            lowest = 0.0 if self.scoring.within_folds else -np.inf
            return max(score + low, lowest), min(score + high, 0.0 if self.scoring.is_error else 1.0)
        losses = self.losses(found)
        result = self._loss_test(rows, np.zeros(len(losses)), losses)
        # No loss at all is no certainty: as in the test, one sample more each way might be lost.
        unit = float(losses[losses != 0].mean()) if losses.any() else 1.0
        error = max(result.error, least_error(len(rows), self.n_train, unit))
        low, high = replace(result, error=error).interval(level)
        bounds = score - (high - result.difference), score + (result.difference - low)
        best = self.scoring.base if not self.scoring.is_error else 0.0
        floor = 0.0 if self.scoring.is_share else -np.inf
        return max(bounds[0], floor), min(bounds[1], best)

    @cached_property
    def _counts(self) -> np.ndarray:
        """How often each unit (sample, or group) is drawn in each resample."""
        n_units = int(self._units(np.arange(len(self.targets))).max()) + 1
        drawn = np.random.default_rng(0).integers(n_units, size=(N_RESAMPLES, n_units))
        return np.stack([np.bincount(units, minlength=n_units) for units in drawn])

    def resampled(self, found: OutOfFold) -> np.ndarray:
        """The score where samples, or groups, are drawn with replacement; NaN where it is not defined."""
        times = self._counts[:, self._units(np.arange(len(self.targets)))]
        if self.scoring.name.startswith("roc_auc") and found.probabilities is not None:
            return self.resampled_areas(found)
        parts = found.by(found.fold)
        if self.scoring.name == "concordance" and max(len(part.rows) for part in parts) <= _MOST_IN_PAIRS:
            own = [resampled_concordances(self.targets[p.rows], p.predicted, times[:, p.rows]) for p in parts]
            return _mean_of_defined(own)
        values = np.full(len(times), np.nan)
        for place, own in enumerate(times):
            values[place] = self.score(found.part(np.repeat(np.arange(len(found.rows)), own[found.rows])))
        return values

    def resampled_areas(self, found: OutOfFold) -> np.ndarray:
        """The areas under the ROC curve of the resamples: means over folds and, of several classes, over classes."""
        times = self._counts[:, self._units(np.arange(len(self.targets)))]
        assert found.probabilities is not None
        columns = [1] if self.n_classes == 2 else range(self.n_classes)
        folds = []
        for part in found.by(found.fold):
            assert part.probabilities is not None
            own = self.targets[part.rows]
            found_areas = [areas(part.probabilities[:, c], own == c, times[:, part.rows]) for c in columns]
            folds.append(_mean_of_defined(found_areas))
        return _mean_of_defined(folds)

    def area_test(self, found: OutOfFold) -> LossTestResult:
        """The test of whether probabilities rank samples better than chance: an area of more than one half."""
        rows = np.unique(found.rows)
        difference = self.all_scores(found)["ROC AUC"] - 0.5
        return paired_score_test(
            difference,
            self.resampled_areas(found) - 0.5,
            n_samples=len(rows),
            n_units=int(self._units(rows).max()) + 1,
            n_train=self.n_train,
        )

    def corrected(self, methods: Sequence[OutOfFold]) -> Corrected:
        """The score of the best of some methods, corrected for its choice; of equal ones the first counts."""
        losses = np.array([self.losses(found) for found in methods])
        rows = np.unique(methods[0].rows)
        strata = self.targets[rows] if self.problem.is_classification else np.zeros(len(rows), dtype=int)
        values = _drawn_scores(losses, strata, self._units(rows), self.problem.groups is not None)
        scores_of = self.scoring.base - values[np.isfinite(values)]
        raw = self.scoring.base - float(losses.mean(axis=1).min())
        low, high = np.quantile(scores_of, [0.025, 0.975])
        estimate = min(float(scores_of.mean()), raw)
        # Draws that are all alike are no certainty: the interval is no narrower than that of the best score itself.
        best = methods[int(losses.mean(axis=1).argmin())]
        below, above = (end - raw for end in self.interval(best))
        return Corrected(estimate, min(float(low), estimate + below), max(float(high), estimate + above))


def resampled_concordances(y: np.ndarray, risks: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Harrell's C where sample i counts ``times[r, i]`` times, for each r; NaN where no pair is comparable.

    With P_ij whether i is known to have the event before j, and Q_ij whether its risk is larger (ties count half), it
    is ``sum_ij w_i w_j P_ij Q_ij / sum_ij w_i w_j P_ij``.
    """
    own = np.flatnonzero(y["event"])
    time, others = y["time"][own][:, None], y["time"][None]
    comparable = (time < others) | ((time == others) & ~y["event"][None])
    ahead = risks[own][:, None] - risks[None]
    right = comparable * np.where(np.abs(ahead) <= _TIED, 0.5, ahead > 0.0)
    weights = times.astype(np.float64)
    found, all_pairs = (((weights @ pairs.T) * weights[:, own]).sum(axis=1) for pairs in (right, comparable))
    return np.divide(found, all_pairs, out=np.full(len(weights), np.nan), where=all_pairs > 0.0)


@dataclass(frozen=True)
class Corrected:
    score: float
    low: float
    high: float


def _mean_of_defined(values: Sequence[np.ndarray]) -> np.ndarray:
    table = np.array(values)
    known = np.isfinite(table)
    total = np.where(known, table, 0.0).sum(axis=0)
    count = known.sum(axis=0)
    return np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)


def _drawn_scores(losses: np.ndarray, strata: np.ndarray, units: np.ndarray, grouped: bool) -> np.ndarray:
    """The loss, on samples that are not drawn, of the method with the smallest loss on those that are, for each draw.

    Means over samples not drawn are taken within classes and weighted by their shares, as all samples have them.
    """
    random = np.random.default_rng(0)
    shares = np.bincount(strata) / len(strata)
    n_units = int(units.max()) + 1
    of_unit = np.zeros(n_units, dtype=int)
    of_unit[units] = strata  # of a group of several classes that of one of its samples
    members = [np.flatnonzero(of_unit == stratum) for stratum in np.unique(of_unit)]
    indicators = (strata[:, None] == np.arange(len(shares))).astype(np.float64)
    found = np.full(N_DRAWS, np.nan)
    for place in range(N_DRAWS):
        drawn = np.concatenate([random.choice(own, len(own)) for own in members])
        times = np.bincount(drawn, minlength=n_units)[units]
        best = int((losses @ times).argmin())
        left = indicators[times == 0]
        counts = left.sum(axis=0)
        there = counts > 0
        if not there.any():
            continue
        means = (losses[best, times == 0] @ left)[there] / counts[there]
        found[place] = float(means @ shares[there] / shares[there].sum())
    return found


def out_of_fold_table(problem: Problem, labels: Any, methods: Mapping[str, OutOfFold]) -> pd.DataFrame:
    """Predictions of methods: sample, repeat, fold, method, target, label (or prediction, risk) and probabilities."""
    samples = np.asarray(labels, dtype=object)
    tables = []
    for method, found in methods.items():
        own: dict[str, Any] = {"sample": samples[found.rows], "repeat": found.repeat + 1}
        within = pd.Series(found.fold).groupby(found.repeat).transform(lambda part: pd.factorize(part, sort=True)[0])
        own |= {"fold": within.to_numpy() + 1, "method": method}
        if problem.task == SURVIVAL:
            own |= {name: problem.y[name][found.rows] for name in ("time", "event")} | {"risk": found.predicted}
            columns = np.zeros((0, 0)) if found.probabilities is None else found.probabilities.T
            own |= {f"survival_{t:g}": part for t, part in zip(problem.times, columns, strict=False)}
            tables.append(pd.DataFrame(own))
            continue
        own["target"] = problem.y[found.rows]
        if not problem.is_classification:
            tables.append(pd.DataFrame(own | {"prediction": found.predicted}))
            continue
        own["label"] = problem.classes[found.predicted]
        if found.probabilities is not None:
            columns = found.probabilities.T
            own |= {f"probability_{c}": part for c, part in zip(problem.classes, columns, strict=True)}
        tables.append(pd.DataFrame(own))
    return pd.concat(tables, ignore_index=True)
