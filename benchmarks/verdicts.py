"""How often `kernelweave compare` says each of its verdicts, and how often they are wrong.

    python -m benchmarks.verdicts [--quick]

Each cohort has three views of six columns; methods predict it by the folds, groups and tests of `kernelweave compare`.
A verdict depends on the predictions of methods alone, so that quick models of scikit-learn stand in for the methods,
under their names: discriminant analysis of a view (alone), of all columns (linear, concatenation) or of these and their
squares (localized), naive Bayes (forest), and means of the views' probabilities with equal and with learned weights
(mean, lp).

What is true of a cohort is told by the models fitted to all its samples on 20 000 fresh ones. A verdict is wrong where

=================  ===================================================================================================
better than chance the recommended method is not above chance by two standard errors of the fresh samples
better             the highest is not above the other method by two standard errors of their difference
as good            the simpler method is below the highest by more than the margin
=================  ===================================================================================================

So a method that is equal to another counts as wrongly better, too.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from kernelweave import stack_views
from kernelweave.compare.declaration import declare
from kernelweave.compare.outcome import AS_GOOD, BETTER, CANNOT_TELL, SIMPLEST, CompareOutcome, gather
from kernelweave.compare.run import MeasuredRow

N_FRESH = 20_000
VIEWS = ("a", "b", "c")
N_COLUMNS = 6  # of a view
_SLICES = [slice(N_COLUMNS * place, N_COLUMNS * (place + 1)) for place in range(len(VIEWS))]


class Averaged:
    """Discriminants of the views whose probabilities are averaged, by inner accuracy above chance where `learned`."""

    def __init__(self, learned: bool):
        self.learned = learned

    def fit(self, X: np.ndarray, y: np.ndarray) -> Averaged:
        models = [discriminant() for _ in _SLICES]
        self.models = [model.fit(X[:, part], y) for model, part in zip(models, _SLICES, strict=True)]
        self.classes_ = self.models[0].classes_
        self.weights = np.ones(len(_SLICES))
        if self.learned:
            chance = np.bincount(np.unique(y, return_inverse=True)[1]).max() / len(y)
            found = [inner_accuracy(discriminant, X[:, part], y) for part in _SLICES]
            self.weights = np.maximum(np.array(found) - chance, 0.01)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        shares = [model.predict_proba(X[:, part]) for model, part in zip(self.models, _SLICES, strict=True)]
        return np.average(shares, axis=0, weights=self.weights)


class OfColumns:
    """A model that reads some of the columns."""

    def __init__(self, model: Any, columns: slice):
        self.model, self.columns = model, columns

    def fit(self, X: np.ndarray, y: np.ndarray) -> OfColumns:
        self.model.fit(X[:, self.columns], y)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict_proba(X[:, self.columns])


def inner_accuracy(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> float:
    """Of models that are fitted to two thirds of the samples, on the others."""
    right = 0
    for train, test in StratifiedKFold(3).split(X, y):
        model = make().fit(X[train], y[train])
        right += int((model.classes_[model.predict_proba(X[test]).argmax(axis=1)] == y[test]).sum())
    return right / len(y)


def discriminant(shrinkage: float = 0.1) -> LinearDiscriminantAnalysis:
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage)


METHODS: dict[str, Callable[[], Any]] = {
    **{f"alone:{v}": lambda part=part: OfColumns(discriminant(), part) for v, part in zip(VIEWS, _SLICES, strict=True)},
    "linear": discriminant,
    "concatenation": lambda: discriminant(0.7),
    "forest": GaussianNB,
    "mean": lambda: Averaged(learned=False),
    "lp": lambda: Averaged(learned=True),
    "localized": lambda: make_pipeline(FunctionTransformer(lambda X: np.hstack([X, X**2])), discriminant()),
}


@dataclass(frozen=True)
class Kind:
    """Cohorts of one kind: shares of the classes, distances of their means in each view, and what else is special.

    The columns of the first view are `spread` times as wide in the second class, which only squares of columns show.
    With `is_leaky` each sample is in the cohort twice, under two ids.
    """

    n_samples: int
    shares: tuple[float, ...]
    distances: tuple[float, ...]
    spread: float = 1.0
    is_leaky: bool = False

    def samples(self, random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Classes have their shares exactly, so that those of a cohort say nothing of fresh samples."""
        y = random.permutation(np.searchsorted(np.cumsum(self.shares), (np.arange(n) + 0.5) / n))
        X = random.normal(size=(n, N_COLUMNS * len(VIEWS)))
        X[y == 1, _SLICES[0]] *= self.spread
        for part, distance in zip(_SLICES, self.distances, strict=True):
            X[np.arange(n), part.start + y % N_COLUMNS] += distance
        return X, y

    def cohort(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, y = self.samples(random, self.n_samples // (2 if self.is_leaky else 1))
        return (np.vstack([X, X]), np.concatenate([y, y])) if self.is_leaky else (X, y)


KINDS = {
    "no signal": Kind(100, (0.5, 0.5), (0.0, 0.0, 0.0)),
    "a strong view": Kind(100, (0.5, 0.5), (1.7, 0.0, 0.0)),
    "unbalanced": Kind(200, (0.73, 0.17, 0.10), (1.5, 1.0, 0.0)),
    "equal methods": Kind(5000, (0.5, 0.5), (1.7, 0.0, 0.0)),
    "one method better": Kind(300, (0.5, 0.5), (0.7, 0.0, 0.0), spread=2.0),
    "few samples": Kind(30, (0.5, 0.5), (1.5, 1.0, 0.5)),
    "a leak": Kind(100, (0.5, 0.5), (0.0, 0.0, 0.0), is_leaky=True),
}


def record(model: Any, X: np.ndarray) -> dict[str, Any]:
    """The predictions of a fitted model, as cells hold them."""
    probabilities = model.predict_proba(X)
    predicted = model.classes_[probabilities.argmax(axis=1)]
    shown = {"stored": None, "seconds": 0.0, "setting": {}, "n_warnings": 0, "warning": None}
    return {"predicted": predicted, "probabilities": probabilities} | shown


def compared(X: np.ndarray, y: np.ndarray, seed: int) -> CompareOutcome:
    """The outcome of a comparison of the stand-ins in the folds of `kernelweave compare`."""
    frame = stack_views({view: X[:, part] for view, part in zip(VIEWS, _SLICES, strict=True)})
    target = pd.Series(y, index=frame.index, name="target")
    declared = declare(frame, target, task="classification", seed=seed, methods=list(METHODS))
    problem = declared.problem
    splits = declared.protocol.split(problem.y, True, groups=problem.groups)
    cells = {}
    for fold, split in enumerate(splits):
        known = X[split.train], y[split.train]
        for method, make in METHODS.items():
            validation = 100.0 * (1.0 - inner_accuracy(make, *known))
            cells[method, fold] = [record(make().fit(*known), X[split.test]) | {"validation": validation}]
    return gather(MeasuredRow(problem, splits, cells), {m: declared.labels[m] for m in METHODS})


@dataclass(frozen=True)
class Truth:
    """What fresh samples say of methods that were fitted to a whole cohort."""

    outcome: CompareOutcome
    X: np.ndarray
    y: np.ndarray
    fresh: tuple[np.ndarray, np.ndarray]

    def losses(self, method: str | None) -> np.ndarray:
        """Of a method, or of the most frequent class; their mean is 1 less the score."""
        X, y = self.fresh
        n_classes, scoring = int(y.max()) + 1, self.outcome.scoring
        if method is None:
            return scoring.losses(y, np.full(len(y), np.bincount(self.y).argmax()), None, n_classes)
        return scoring.losses(y, record(METHODS[method]().fit(self.X, self.y), X)["predicted"], None, n_classes)

    def gain(self, method: str, other: str | None) -> tuple[float, float]:
        """How much higher a score is than another one, and two standard errors of that."""
        difference = self.losses(other) - self.losses(method)
        return float(difference.mean()), float(2.0 * difference.std() / np.sqrt(len(difference)))


def judged(outcome: CompareOutcome, truth: Truth) -> dict[str, float]:
    """What is said of a cohort, and what of that is wrong; the scores of the highest, as found, corrected and true."""
    verdict, found = outcome.verdict, Counter({"n": 1})
    found["corrected"] = outcome.corrected.score if outcome.corrected is not None else np.nan
    found["nested"] = outcome.nested_score
    found["raw"], found["true"] = outcome.highest.score, 1.0 - truth.losses(outcome.highest.method).mean()
    low, high = outcome.highest.interval
    found["covered"] = int(low <= found["true"] <= high)
    if not outcome.beats_chance:
        return found
    gain, error = truth.gain(outcome.winner.method, None)
    found |= {"beats": 1, "beats wrong": int(gain <= error), verdict.kind: 1}
    if verdict.other is not None and verdict.kind in (BETTER, AS_GOOD):
        gain, error = truth.gain(outcome.highest.method, verdict.other.method)
        found[f"{verdict.kind} wrong"] = int(gain <= error if verdict.kind == BETTER else gain > outcome.margin)
    return found


def simulated(kind: Kind, n_times: int, seed: int) -> Counter[str]:
    """The sums of `judged` over cohorts."""
    total: Counter[str] = Counter()
    for number in range(n_times):
        random = np.random.default_rng((seed, number))
        X, y = kind.cohort(random)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = compared(X, y, number)
            total.update(judged(outcome, Truth(outcome, X, y, kind.samples(random, N_FRESH))))
    return total


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How often verdicts are said, and how often they are wrong.")
    parser.add_argument("--quick", action="store_true", help="20 cohorts of each kind in the place of 200")
    n_times = 20 if parser.parse_args().quick else 200
    print(f"Of {n_times} cohorts of each kind: said (wrong).\n")
    names = (
        "better than chance",
        BETTER,
        AS_GOOD,
        CANNOT_TELL,
        SIMPLEST,
        "score",
        "corrected",
        "nested",
        "true",
        "covered",
    )
    print(f"| cohorts | {' | '.join(names)} |")
    print("|---|" + "---:|" * len(names))
    for seed, (name, kind) in enumerate(KINDS.items()):
        total = simulated(kind, n_times, seed)
        said = [f"{total[key]:.0f} ({total[f'{key} wrong']:.0f})" for key in ("beats", BETTER, AS_GOOD)]
        said += [f"{total[key]:.0f}" for key in (CANNOT_TELL, SIMPLEST)]
        means = [f"{100.0 * total[key] / n_times:.1f}" for key in ("raw", "corrected", "nested", "true", "covered")]
        print(f"| {name} | {' | '.join([*said, *means])} |", flush=True)


if __name__ == "__main__":
    main()
