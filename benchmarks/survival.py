"""Survival: this library and scikit-survival on its data sets, and the time of the ranking loss.

python -m benchmarks.survival                    # tables of concordance and Brier score, over ten fixed splits
python -m benchmarks.survival --sets veterans --splits 3
python -m benchmarks.survival --many             # fits of 100 000 samples with explicit features
python -m benchmarks.survival --speed            # one fit of the ranking loss against FastKernelSurvivalSVM

Each of ten random splits, the same for all methods, has 70 % of the samples for training, with as many events in both
parts. Every method chooses its penalty (the forest the size of its leaves) by the concordance of three inner folds.
Columns are standardised; the kernels of a view are a linear and a Gaussian one. "kernel SVM" has the objective of
scikit-survival's `FastKernelSurvivalSVM`, whose solver takes minutes for what is solved here in milliseconds
(``--speed``). Brier scores are integrated from the tenth to the ninetieth percentile of training times of events; the
ranking loss has no survival function.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLSurvival
from kernelweave.combiners import ConvexMKL, Localized, LpMKL, Mean
from kernelweave.kernels import Gaussian, Linear
from kernelweave.survival import concordance, integrated_brier_score, kaplan_meier, outcome

from .survival_sets import SETS, load

COSTS = [1e-3, 1e-2, 0.1, 1.0]
ALPHAS = [1e-2, 0.1, 1.0, 10.0, 100.0]
SPLITS, FOLDS, TRAINING = 10, 3, 0.7
TIMES = np.linspace(0.1, 0.9, 15)  # quantiles of training times of events, between which Brier scores are integrated

Searched = Callable[[pd.DataFrame, np.ndarray, Any], Any]


def kernels_of(X: pd.DataFrame) -> list[Any]:
    views = list(dict.fromkeys(X.columns.str.partition("__").get_level_values(0)))
    return [kind(view, transformer=StandardScaler()) for view in views for kind in (Linear, Gaussian)]


def ours(combiner: Any, loss: str = "cox", joined: bool = False) -> Searched:
    def fit(X: pd.DataFrame, y: np.ndarray, folds: Any) -> Any:
        kernels = [Linear(transformer=StandardScaler())] if joined else kernels_of(X)
        options = {"normalize": "unit-trace"} if joined else {}
        model = MKLSurvival(kernels, combiner, loss=loss, random_state=0, **options)
        return GridSearchCV(model, {"C": COSTS}, cv=folds).fit(X, y).best_estimator_

    return fit


def theirs(name: str) -> Searched:
    def fit(X: pd.DataFrame, y: np.ndarray, folds: Any) -> Any:
        from sksurv.ensemble import RandomSurvivalForest
        from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis

        if name == "forest":
            model, grid = RandomSurvivalForest(200, random_state=0), {"min_samples_leaf": [3, 10, 30]}
        elif name == "coxnet":
            model = CoxnetSurvivalAnalysis(l1_ratio=0.9, fit_baseline_model=True)
            grid = {"coxnetsurvivalanalysis__alphas": [[a] for a in (0.2, 0.1, 0.05, 0.02, 0.01)]}
            model = make_pipeline(StandardScaler(), model)
        else:
            model = make_pipeline(StandardScaler(), CoxPHSurvivalAnalysis(ties="efron", n_iter=200))
            grid = {"coxphsurvivalanalysis__alpha": ALPHAS}
        return GridSearchCV(model, grid, cv=folds).fit(X.to_numpy(), y).best_estimator_

    return fit


METHODS: dict[str, Searched] = {
    "mean of kernels": ours(Mean()),
    "LpMKL": ours(LpMKL()),
    "ConvexMKL": ours(ConvexMKL()),
    "Localized": ours(Localized()),
    "one linear kernel": ours(Mean(), joined=True),
    "kernel SVM": ours(Mean(), loss="ranking"),
    "Cox ridge (scikit-survival)": theirs("ridge"),
    "Coxnet (scikit-survival)": theirs("coxnet"),
    "survival forest (scikit-survival)": theirs("forest"),
}


def survival_of(model: Any, X: pd.DataFrame, times: np.ndarray) -> np.ndarray | None:
    if isinstance(model, MKLSurvival):
        return model.predict_survival_function(X, times) if model.loss == "cox" else None
    return np.array([curve(times) for curve in model.predict_survival_function(X.to_numpy())])


def splits(y: np.ndarray, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for seed in range(count):
        yield train_test_split(np.arange(len(y)), train_size=TRAINING, stratify=y["event"], random_state=seed)


def scores(name: str, count: int, methods: list[str]) -> pd.DataFrame:
    """A row for each split and method."""
    X, y = load(name)
    rows = []
    for split, (train, test) in enumerate(splits(y, count)):
        folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(train, y["event"][train]))
        events = y["time"][train][y["event"][train]]
        last = min(y["time"][train].max(), y["time"][test].max())
        times = np.unique(np.quantile(events[events < last], TIMES))
        judged = test[y["time"][test] < y["time"][train].max()]  # later ones have no weight of censoring
        nothing = np.broadcast_to(kaplan_meier(y[train])(times), (len(judged), len(times)))
        brier = integrated_brier_score(y[train], y[judged], nothing, times)
        rows.append({"set": name, "split": split, "method": "Kaplan-Meier", "C": 0.5, "Brier": brier, "seconds": 0.0})
        for method in methods:
            begin = time.perf_counter()
            model = METHODS[method](X.iloc[train], y[train], folds)
            seconds = time.perf_counter() - begin
            risk = model.predict(X.iloc[test] if isinstance(model, MKLSurvival) else X.iloc[test].to_numpy())
            S = survival_of(model, X.iloc[judged], times)
            brier = np.nan if S is None else integrated_brier_score(y[train], y[judged], S, times)
            row = {"C": concordance(y[test], risk), "Brier": brier, "seconds": seconds}
            rows.append({"set": name, "split": split, "method": method, **row})
    return pd.DataFrame(rows)


def table(found: pd.DataFrame, score: str, digits: int) -> str:
    """Means over splits of 100 times a score, methods by sets, with the mean rank; the best of each set is bold."""
    means = 100.0 * found.groupby(["method", "set"], sort=False)[score].mean().unstack()[found["set"].unique()]
    means = means.dropna(how="all")
    if score == "C":
        means = means.drop(index="Kaplan-Meier")
    best = means.max() if score == "C" else means.min()
    ranks = means.rank(ascending=score != "C").mean(axis=1)
    lines = ["| method | mean rank | " + " | ".join(means.columns) + " |", "|---" * (2 + len(means.columns)) + "|"]
    for method in ranks.sort_values(kind="stable").index:
        cells = [
            f"**{value:.{digits}f}**" if value == best[name] else f"{value:.{digits}f}"
            for name, value in means.loc[method].items()
        ]
        lines.append(f"| {method} | {ranks[method]:.1f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def speed() -> None:
    """Fits of the ranking loss at the same objective, one after the other, on one core."""
    from sksurv.svm import FastKernelSurvivalSVM

    print(
        "| samples | MKLSurvival s | FastKernelSurvivalSVM s | times faster | correlation of risks |\n"
        + "|---" * 5
        + "|"
    )
    rng = np.random.default_rng(0)
    for n in (200, 400, 2000):
        X = rng.standard_normal((n, 5))
        moment, seen = rng.exponential(np.exp(-X[:, 0])), rng.exponential(size=n)
        y = outcome(np.minimum(moment, seen), moment <= seen)
        model = MKLSurvival([Gaussian()], loss="ranking", tol=1e-6)
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            model.fit(X, y)
            times.append(time.perf_counter() - begin)
        begin, K = time.perf_counter(), model.fit_kernel(X, y).gram()
        other = FastKernelSurvivalSVM(alpha=1.0 / n, kernel="precomputed", max_iter=20).fit(K, y)
        seconds, mine = time.perf_counter() - begin, float(np.median(times))
        agreement = np.corrcoef(model.predict(X), other.predict(K))[0, 1]
        print(f"| {n} | {mine:.3f} | {seconds:.1f} | {seconds / mine:.0f} | {agreement:.6f} |", flush=True)


def many() -> None:
    """Seconds of fits of 100 000 samples with three Gaussian kernels of ten columns, and their concordance."""
    rng, n = np.random.default_rng(0), 100_000
    X = rng.standard_normal((n, 30))
    moment = rng.exponential(np.exp(-X[:, 0] - 0.5 * X[:, 12] ** 2))
    seen = rng.exponential(2.0, size=n)
    y = outcome(np.minimum(moment, seen), moment <= seen)
    kernels = [Gaussian(list(range(first, first + 10))) for first in (0, 10, 20)]
    print("| loss | combiner | seconds | relative gap | C |\n" + "|---" * 5 + "|")
    for loss in ("ranking", "cox"):
        for combiner in (Mean(), LpMKL(), Localized(l2=0.1)):
            begin = time.perf_counter()
            model = MKLSurvival(kernels, combiner, loss=loss, C=0.1, approximation="nystroem", random_state=0).fit(X, y)
            seconds, gap = time.perf_counter() - begin, model.duality_gap_ / abs(model.objective_)
            print(f"| {loss} | {combiner} | {seconds:.1f} | {gap:.1e} | {model.score(X, y):.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--many", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.many:
        many()
        return
    if given.speed:
        speed()
        return
    found = pd.concat([scores(name, given.splits, given.methods) for name in given.sets])
    print("Concordance, 100 C, mean over splits:\n\n" + table(found, "C", 1))
    print("\nIntegrated Brier score, times 100:\n\n" + table(found, "Brier", 2))
    print("\nSeconds of one choice and fit, mean over sets and splits:\n")
    print(found.groupby("method", sort=False)["seconds"].mean().drop("Kaplan-Meier").round(2).to_string())


if __name__ == "__main__":
    main()
