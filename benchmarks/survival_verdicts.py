"""How often `kernelweave compare` is wrong about times to an event, and whether its test of risk groups is valid.

    python -m benchmarks.survival_verdicts [--quick]

Each cohort has three views of six columns; the methods predict it by the folds and tests of `kernelweave compare`. What
is said depends on the risks of the methods alone, so that quick models stand in for them, under their names: with r_i
the events of sample i beyond those that the hazard of all expects, ``w = X' r`` (Cox regression at its strongest
penalty) of a view (alone), of all columns (linear) or of these and their squares (localized), sums over a narrow
Gaussian kernel (forest), and sums of the standardised risks of the views, with equal weights and with those of their
training statistics (mean, lp).

What is true is told by models fitted to the whole cohort on 5000 fresh samples. Columns of the table:

===================  =================================================================================================
better than chance   how often the headline says so; in brackets how often the highest is not above C = 1/2 by two
                     standard errors on fresh samples
groups p <= 0.05     of the test in the report, of the recommended method
uncorrected          the same test by plain exchanges within folds, neither for shared training samples nor for the
                     choice of the method
log-rank             the log-rank test of the pooled groups
C, true C, covered   of the highest, on the folds and on fresh samples; in how many of 100 cohorts its 95 % interval has
                     the true one
===================  =================================================================================================
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
from scipy.stats import chi2

from kernelweave import stack_views
from kernelweave.compare.declaration import declare
from kernelweave.compare.outcome import CompareOutcome, gather
from kernelweave.compare.run import MeasuredRow
from kernelweave.compare.survival import RiskGroups, excess_events
from kernelweave.survival import concordance, logrank_statistic, outcome

from .verdicts import N_COLUMNS, VIEWS

_SLICES = [slice(N_COLUMNS * place, N_COLUMNS * (place + 1)) for place in range(len(VIEWS))]
N_FRESH = 5000
Risks = Callable[[np.ndarray], np.ndarray]


def linear(X: np.ndarray, y: np.ndarray, columns: slice = slice(None)) -> Risks:
    weights = X[:, columns].T @ excess_events(y)
    return lambda new: new[:, columns] @ weights


def squares(X: np.ndarray, y: np.ndarray) -> Risks:
    own = linear(np.hstack([X, X**2]), y)
    return lambda new: own(np.hstack([new, new**2]))


def narrow(X: np.ndarray, y: np.ndarray) -> Risks:
    excess, width = excess_events(y), X.shape[1]

    def risks(new: np.ndarray) -> np.ndarray:
        squared = (new**2).sum(axis=1)[:, None] + (X**2).sum(axis=1) - 2.0 * new @ X.T
        return np.exp(-squared / width) @ excess

    return risks


def summed(X: np.ndarray, y: np.ndarray, *, learned: bool) -> Risks:
    models = [linear(X, y, part) for part in _SLICES]
    spreads = [model(X).std() for model in models]
    excess = excess_events(y)
    gains = [
        max(float(model(X) @ excess) / spread, 0.0) if learned else 1.0
        for model, spread in zip(models, spreads, strict=True)
    ]
    return lambda new: sum(g * model(new) / s for g, model, s in zip(gains, models, spreads, strict=True))


METHODS: dict[str, Callable[[np.ndarray, np.ndarray], Risks]] = {
    **{f"alone:{v}": lambda X, y, part=part: linear(X, y, part) for v, part in zip(VIEWS, _SLICES, strict=True)},
    "linear": linear,
    "mean": lambda X, y: summed(X, y, learned=False),
    "lp": lambda X, y: summed(X, y, learned=True),
    "forest": narrow,
    "localized": squares,
}


@dataclass(frozen=True)
class Kind:
    """Cohorts of one kind: the log hazard ratio of one column of each view, and the median of the censoring times."""

    n_samples: int
    signals: tuple[float, ...]
    censoring: float  # in units of the median time of the event without signal
    steps: int = 0  # times are rounded to so many different ones, of which many tie; 0 for none

    def samples(self, random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        X = random.normal(size=(n, N_COLUMNS * len(VIEWS)))
        risk = sum(signal * X[:, part.start] for signal, part in zip(self.signals, _SLICES, strict=True))
        time, seen = random.exponential(np.exp(-risk)), self.censoring * random.exponential(size=n)
        observed = np.minimum(time, seen)
        if self.steps:
            observed = np.ceil(np.minimum(observed, 2.0) * self.steps / 2.0)
        return X, outcome(observed, time <= seen)


KINDS = {
    "no signal": Kind(100, (0.0, 0.0, 0.0), 1.5),
    "no signal, most censored": Kind(150, (0.0, 0.0, 0.0), 0.3),
    "no signal, few samples": Kind(40, (0.0, 0.0, 0.0), 2.0),
    "no signal, tied times": Kind(100, (0.0, 0.0, 0.0), 1.5, steps=6),
    "a weak view": Kind(100, (0.4, 0.0, 0.0), 1.5),
    "two views": Kind(200, (0.7, 0.5, 0.0), 1.5),
}


def compared(X: np.ndarray, y: np.ndarray, seed: int) -> CompareOutcome:
    """The outcome of a comparison of the stand-ins in the folds of `kernelweave compare`."""
    frame = stack_views({view: X[:, part] for view, part in zip(VIEWS, _SLICES, strict=True)})
    target = pd.DataFrame({"time": y["time"], "event": y["event"]}, frame.index)
    methods = [method for method in METHODS if method != "forest"]
    declared = declare(frame, target, seed=seed, methods=methods)  # the forest may not be installed
    problem = declared.problem
    splits = problem.split(declared.protocol)
    shown: dict[str, Any] = {"stored": None, "seconds": 0.0, "setting": {}, "n_warnings": 0, "warning": None}
    cells = {}
    for fold, split in enumerate(splits):
        known = X[split.train], y[split.train]
        for method, make in METHODS.items():
            found = {"predicted": make(*known)(X[split.test]), "probabilities": None, "validation": 50.0}
            cells[method, fold] = [found | shown]
    return gather(MeasuredRow(problem, splits, cells), {method: method for method in METHODS})


def judged(
    found: CompareOutcome, X: np.ndarray, y: np.ndarray, fresh: tuple[np.ndarray, np.ndarray]
) -> dict[str, float]:
    """What is said of a cohort, and what of that is wrong; the C of the highest, on folds and on fresh samples."""
    risks = METHODS[found.highest.method](X, y)(fresh[0])
    parts = np.array_split(np.arange(len(risks)), 10)
    each = np.array([concordance(fresh[1][part], risks[part]) for part in parts])
    true, error = float(each.mean()), float(2.0 * each.std(ddof=1) / np.sqrt(len(parts)))
    groups = RiskGroups.of(found.winner.predictions)
    own = y[groups.found.rows]
    others = [one.predictions for one in found.results if one is not found.winner]
    pooled = chi2.sf(logrank_statistic(own, groups.group), 2) if np.ptp(groups.group) else 1.0
    low, high = found.highest.interval
    return {
        "beats": int(found.beats_chance),
        "beats wrong": int(found.beats_chance and true <= 0.5 + error),
        "p": int(groups.pvalue(y, found.judge.n_train, others) <= 0.05),
        "uncorrected": int(groups.pvalue(y, np.inf) <= 0.05),
        "log-rank": int(pooled <= 0.05),
        "C": found.highest.score,
        "true": true,
        "covered": int(low <= true <= high),
    }


def simulated(kind: Kind, n_times: int, seed: int) -> Counter[str]:
    """The sums of `judged` over cohorts."""
    total: Counter[str] = Counter()
    for number in range(n_times):
        random = np.random.default_rng((seed, number))
        X, y = kind.samples(random, kind.n_samples)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = compared(X, y, number)
        total.update(judged(found, X, y, kind.samples(random, N_FRESH)))
    return total


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How often verdicts on times to an event are said, and wrong.")
    parser.add_argument("--quick", action="store_true", help="20 cohorts of each kind in the place of 100")
    n_times = 20 if parser.parse_args().quick else 100
    print(f"Of {n_times} cohorts of each kind, in per cent: said (wrong).\n")
    names = ("better than chance", "groups p <= 0.05", "uncorrected", "log-rank", "C", "true C", "covered")
    print(f"| cohorts | {' | '.join(names)} |")
    print("|---|" + "---:|" * len(names))
    for seed, (name, kind) in enumerate(KINDS.items()):
        total = simulated(kind, n_times, seed)
        share = {key: 100.0 * value / n_times for key, value in total.items()}
        said = [f"{share['beats']:.1f} ({share['beats wrong']:.1f})"]
        said += [f"{share[key]:.1f}" for key in ("p", "uncorrected", "log-rank", "C", "true", "covered")]
        print(f"| {name} | {' | '.join(said)} |", flush=True)


if __name__ == "__main__":
    main()
