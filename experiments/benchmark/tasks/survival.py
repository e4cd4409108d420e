"""Survival: this library and scikit-survival on its data sets (`survival_sets`), over ten fixed splits.

Each random split, the same for all methods, has 70 % of the samples for training, with as many events in both parts.
Every method chooses its penalty (the forest the size of its leaves) by the concordance of three inner folds; *auto* is
`CohortModel` and chooses by folds of its own. Columns are standardised; the kernels of a view are a linear and a
Gaussian one. "kernel SVM" has the objective of scikit-survival's `FastKernelSurvivalSVM`, whose solver takes minutes
for what is solved here in milliseconds (``python -m benchmarks.survival --speed``). Brier scores are integrated from
the tenth to the ninetieth percentile of training times of events; the ranking loss has no survival function.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.benchmark.tasks.survival_sets import SETS, load
from experiments.benchmark.tasks.task import OURS, RIVAL, Score, Task
from kernelweave._extras import optional
from kernelweave.combiners import ConvexMKL, Localized, LpMKL, Mean
from kernelweave.estimators import MKLSurvival
from kernelweave.kernels import Gaussian, Linear
from kernelweave.recipes import CohortModel
from kernelweave.survival import concordance, integrated_brier_score, kaplan_meier
from kernelweave.views.digests import data_digest

COSTS = [1e-3, 1e-2, 0.1, 1.0]
ALPHAS = [1e-2, 0.1, 1.0, 10.0, 100.0]
SPLITS, FOLDS, TRAINING = 10, 3, 0.7
TIMES = np.linspace(0.1, 0.9, 15)  # quantiles of training times of events, between which Brier scores are integrated
NOTHING = "Kaplan-Meier"  # the same curve for all

Searched = Callable[[pd.DataFrame, np.ndarray, Any], Any]


def _kernels_of(X: pd.DataFrame) -> list[Any]:
    views = list(dict.fromkeys(X.columns.str.partition("__").get_level_values(0)))
    return [kind(view, transformer=StandardScaler()) for view in views for kind in (Linear, Gaussian)]


def _ours(combiner: Any, loss: str = "cox", joined: bool = False) -> Searched:
    def fit(X: pd.DataFrame, y: np.ndarray, folds: Any) -> Any:
        kernels = [Linear(transformer=StandardScaler())] if joined else _kernels_of(X)
        options: dict[str, Any] = {"normalize": "unit-trace"} if joined else {}
        model = MKLSurvival(kernels, combiner, loss=loss, random_state=0, **options)
        return GridSearchCV(model, {"C": COSTS}, cv=folds).fit(X, y).best_estimator_

    return fit


def _theirs(name: str) -> Searched:
    def fit(X: pd.DataFrame, y: np.ndarray, folds: Any) -> Any:
        ensemble, linear = (
            optional(f"sksurv.{name}", "as a rival", "survival") for name in ("ensemble", "linear_model")
        )
        model: Any
        grid: dict[str, list[Any]]
        if name == "forest":
            model, grid = ensemble.RandomSurvivalForest(200, random_state=0), {"min_samples_leaf": [3, 10, 30]}
        elif name == "coxnet":
            model = linear.CoxnetSurvivalAnalysis(l1_ratio=0.9, fit_baseline_model=True)
            grid = {"coxnetsurvivalanalysis__alphas": [[a] for a in (0.2, 0.1, 0.05, 0.02, 0.01)]}
            model = make_pipeline(StandardScaler(), model)
        else:
            model = make_pipeline(StandardScaler(), linear.CoxPHSurvivalAnalysis(ties="efron", n_iter=200))
            grid = {"coxphsurvivalanalysis__alpha": ALPHAS}
        return GridSearchCV(model, grid, cv=folds).fit(X.to_numpy(), y).best_estimator_

    return fit


METHODS: dict[str, tuple[str, Searched | None]] = {
    "auto": (OURS, lambda X, y, folds: CohortModel(random_state=0).fit(X, y)),
    "mean of kernels": (OURS, _ours(Mean())),
    "LpMKL": (OURS, _ours(LpMKL())),
    "ConvexMKL": (OURS, _ours(ConvexMKL())),
    "Localized": (OURS, _ours(Localized())),
    "one linear kernel": (OURS, _ours(Mean(), joined=True)),
    "kernel SVM": (OURS, _ours(Mean(), loss="ranking")),
    "Cox ridge (scikit-survival)": (RIVAL, _theirs("ridge")),
    "Coxnet (scikit-survival)": (RIVAL, _theirs("coxnet")),
    "survival forest (scikit-survival)": (RIVAL, _theirs("forest")),
    NOTHING: (RIVAL, None),
}


def _survival_of(model: Any, X: pd.DataFrame, times: np.ndarray) -> np.ndarray | None:
    if isinstance(model, CohortModel):
        return model.predict_survival_function(X, times)
    if isinstance(model, MKLSurvival):
        return model.predict_survival_function(X, times) if model.loss == "cox" else None
    return np.array([curve(times) for curve in model.predict_survival_function(X.to_numpy())])


def _measure(data: tuple[pd.DataFrame, np.ndarray], method: str, split: int) -> dict[str, float]:
    X, y = data
    train, test = train_test_split(np.arange(len(y)), train_size=TRAINING, stratify=y["event"], random_state=split)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(train, y["event"][train]))
    events = y["time"][train][y["event"][train]]
    last = min(y["time"][train].max(), y["time"][test].max())
    times = np.unique(np.quantile(events[events < last], TIMES))
    judged = test[y["time"][test] < y["time"][train].max()]  # later ones have no weight of censoring
    fit = METHODS[method][1]
    if fit is None:
        S: Any = np.broadcast_to(kaplan_meier(y[train])(times), (len(judged), len(times)))
        return {"Brier": 100.0 * integrated_brier_score(y[train], y[judged], S, times), "seconds": 0.0}
    begin = time.process_time()
    model = fit(X.iloc[train], y[train], folds)
    seconds = time.process_time() - begin
    is_ours = isinstance(model, (MKLSurvival, CohortModel))
    risk = model.predict(X.iloc[test] if is_ours else X.iloc[test].to_numpy())
    S = _survival_of(model, X.iloc[judged], times)
    brier = np.nan if S is None else 100.0 * integrated_brier_score(y[train], y[judged], S, times)
    return {"C": 100.0 * concordance(y[test], risk), "Brier": brier, "seconds": seconds}


TASK = Task(
    "survival",
    title="Times to an event",
    named="auto",
    named_as="what `CohortModel` does by default",
    sets=tuple(SETS),
    methods={name: family for name, (family, _) in METHODS.items()},
    n_folds=SPLITS,
    fold_name="split",
    scores=(Score("C", "Concordance x 100"), Score("Brier", "Integrated Brier score x 100", decimals=2, is_loss=True)),
    load=lambda name, data_home: load(name),
    digest=lambda data: data_digest(data[0], data[1]["time"], data[1]["event"]),
    size=lambda data: len(data[1]),
    measure=_measure,
)
