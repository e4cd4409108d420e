"""Settings of the recipes behind ``kernelweave compare``: ``python -m benchmarks.recipes [--part NAME] [--quick]``.

Scores of validation samples (accuracy in per cent, 100 R2 for regression), averages over draws of the data sets of
`recipe_sets`; nothing is chosen by test samples. In each table: the score by set, the mean over sets, the mean and the
worst difference to the best setting of each set, and CPU seconds for a fit (mean). Targets of a regression are
standardised. All parts take about fifteen minutes of one core.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.recipe_sets import NUMBERS, TABLES, TRAINING, VIEWS, Draw, available
from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import ConvexMKL, Localized, LpMKL, Mean, Projected, Softmax
from kernelweave.kernels import Gaussian, Linear
from kernelweave.recipes.baselines import ColumnModel, StackedViews

SOME = ("landuse21", "protein_fold", "wikipedia", "ionosphere", "pima", "sonar", "concrete", "diabetes", "friedman")
SMALL = ("multifeat", "landuse21", "cub10", "wikipedia", "heart", "ionosphere", "pima", "sonar", "wdbc", "digits")
FEW = ("multifeat", "wikipedia", "ionosphere", "pima", "digits", "wine")
COSTS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def kernels_of(draw: Draw) -> list:
    return [(f"{name}-{kind}", make(name)) for name in draw.views for kind, make in KINDS.items()]


KINDS: Mapping[str, Callable] = {"linear": Linear, "gaussian": Gaussian}


def machine(draw: Draw, kernels: Any, combiner: Any, C: float, epsilon: float = 0.1) -> Any:
    if draw.is_classification:
        return MKLClassifier(kernels, combiner, C=C, random_state=0)
    return _standardised(MKLRegressor(kernels, combiner, C=C, epsilon=epsilon, random_state=0))


def _standardised(model: Any) -> Any:
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def score(model: Any, draw: Draw) -> tuple[float, float]:
    """The score in per cent, and CPU seconds for the fit."""
    X, X_new, began = draw.table(0), draw.table(1), time.process_time()
    model.fit(X, draw.y)
    return 100.0 * model.score(X_new, draw.y_new), time.process_time() - began


Settings = Mapping[str, Callable[[Draw], Any]]


def table(title: str, settings: Settings, sets: Sequence[str], n_draws: int, training: int = TRAINING) -> pd.DataFrame:
    """Print the scores of settings by set."""
    rows, seconds = {}, []
    for name, found in available(sets, n_draws, training).items():
        cells = np.array([[score(make(draw), draw) for make in settings.values()] for draw in found])
        rows[name] = cells[:, :, 0].mean(axis=0)
        seconds.append(cells[:, :, 1].mean(axis=0))
    frame = pd.DataFrame(rows, index=list(settings)).T
    behind = frame.sub(frame.max(axis=1), axis=0)
    frame.loc["mean"] = frame.mean()
    frame.loc["behind the best"], frame.loc["worst behind"] = behind.mean(), behind.min()
    frame.loc["CPU seconds"] = np.mean(seconds, axis=0)
    print(f"\n{title}\n{frame.round(2).to_string()}", flush=True)
    return frame


def _combined(combiner: Any) -> Callable[[Draw, float], Any]:
    return lambda draw, C: machine(draw, kernels_of(draw), combiner, C)


def _together(draw: Draw, C: float) -> Any:
    """Concatenation: a linear and a Gaussian kernel on all columns."""
    return machine(draw, [Linear(), Gaussian()], Mean(), C)


def over(make: Callable[[Draw, Any], Any], values: Sequence[Any], label: str = "{:g}") -> Settings:
    return {label.format(value): lambda draw, value=value: make(draw, value) for value in values}


def costs(n_draws: int, few: bool) -> None:
    """C of machines on kernels of unit diagonal."""
    sets = FEW if few else VIEWS + TABLES
    for name, make in {"mean": _combined(Mean()), "lp": _combined(LpMKL()), "convex": _combined(ConvexMKL())}.items():
        table(f"C, {name}", over(make, COSTS), sets, n_draws)
    table("C, concatenation", over(_together, COSTS), sets, n_draws)
    table("C, mean, 60 training samples", over(_combined(Mean()), COSTS), sets, n_draws, 60)


def costs_of_regression(n_draws: int, few: bool) -> None:
    """C and epsilon of regressions with standardised targets."""
    for name, combiner in {"mean": Mean(), "lp": LpMKL(), "convex": ConvexMKL()}.items():
        table(f"C of a regression, {name}", over(_combined(combiner), COSTS), NUMBERS, n_draws)
    pairs = {
        f"C={C:g} epsilon={e:g}": lambda draw, C=C, e=e: machine(draw, kernels_of(draw), Mean(), C, e)
        for C in (1.0, 10.0)
        for e in (0.01, 0.05, 0.1, 0.2, 0.5)
    }
    table("epsilon, mean", pairs, NUMBERS, n_draws)


GRIDS = (
    (1.0,),
    (3.0,),
    (10.0,),
    (1.0, 10.0),
    (0.3, 3.0),
    (0.1, 1.0, 10.0),
    (0.3, 3.0, 30.0),
    (1.0, 3.0, 10.0),
    (0.3, 1.0, 3.0, 10.0),
    (0.1, 1.0, 10.0, 100.0),
    (0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
    COSTS,
)
INNER: Mapping[str, tuple[int, float]] = {"hold-out": (1, 0.25), "3 folds": (3, 0.0), "5 folds": (5, 0.0)}


def nested(n_draws: int, few: bool) -> None:
    """Validation score of the C that inner folds of the training samples choose: grids by numbers of folds."""
    make, rows = _combined(Mean()), {}
    for name, found in available((FEW if few else VIEWS + TABLES) + NUMBERS, 2 * n_draws).items():
        rows[name] = np.mean([_nested_scores(make, draw) for draw in found], axis=0)
    labels = [f"{', '.join(f'{C:g}' for C in grid)}; {inner}" for inner in INNER for grid in GRIDS]
    frame, summary = pd.DataFrame(rows, index=labels), pd.DataFrame(index=labels)
    for task, own in {"classification": frame.drop(columns=list(NUMBERS)), "regression": frame[list(NUMBERS)]}.items():
        behind = own - own.max()
        summary[task], summary[f"{task}, behind"] = own.mean(axis=1), behind.mean(axis=1)
        summary[f"{task}, worst"] = behind.min(axis=1)
    print(f"\nC chosen by inner folds, mean kernel\n{summary.round(2).to_string()}", flush=True)


def _nested_scores(make: Callable, draw: Draw) -> list[float]:
    X, outer = draw.table(0), np.array([score(make(draw, C), draw)[0] for C in COSTS])
    scores = []
    for n_folds, share in INNER.values():
        kinds = (StratifiedKFold, StratifiedShuffleSplit) if draw.is_classification else (KFold, ShuffleSplit)
        if share:
            splitter = kinds[1](1, test_size=share, random_state=1)
        else:
            splitter = kinds[0](n_folds, shuffle=True, random_state=1)
        inner = np.zeros(len(COSTS))
        for old, new in splitter.split(X, draw.y):
            for place, C in enumerate(COSTS):
                inner[place] += make(draw, C).fit(X.iloc[old], draw.y[old]).score(X.iloc[new], draw.y[new])
        for grid in GRIDS:
            places = [COSTS.index(C) for C in grid]
            scores.append(outer[places[int(np.argmax(inner[places]))]])
    return scores


def middle(draw: Draw) -> float:
    """The C of parts that do not change it."""
    return 3.0 if draw.is_classification else 1.0


def norms(n_draws: int, few: bool) -> None:
    """p of lp, and C: the sum of weights, and with it what C means, grows with p."""
    settings = {
        f"p={p:g} C={C:g}": lambda draw, p=p, C=C: machine(draw, kernels_of(draw), LpMKL(p=p), C)
        for p in (1.1, 4.0 / 3.0, 2.0)
        for C in (0.3, 1.0, 3.0, 10.0)
    }
    table("p of lp", settings, FEW if few else VIEWS + TABLES, n_draws)
    table("p of lp", settings, NUMBERS, n_draws)


def localized(n_draws: int, few: bool) -> None:
    """Penalty of the gates, as it is given, by "auto", or chosen with C by three inner folds."""
    make = lambda draw, l2: machine(draw, kernels_of(draw), Localized(l2=l2), middle(draw))  # noqa: E731
    settings = {"mean": lambda draw: machine(draw, kernels_of(draw), Mean(), middle(draw))}
    settings |= over(make, ("auto", 0.1, 0.03, 0.01), "l2={}")
    sets = (*VIEWS, "heart", "ionosphere", "pima", "sonar", "wdbc", "prostate_tumor", "digits", *NUMBERS)
    table("Localized", settings, FEW if few else sets, n_draws)
    numbers = ("concrete", "diabetes", "friedman")
    table("Localized, 60 training samples", settings, FEW if few else SMALL + numbers, n_draws, 60)
    grids = {
        "l2='auto', C of (0.3, 3, 30)": {"C": [0.3, 3.0, 30.0]},
        "l2 of (0.1, 0.01), C of (0.3, 3, 30)": {"C": [0.3, 3.0, 30.0], "combiner__l2": [0.1, 0.01]},
        "l2 of (0.1, 0.01), C of (1, 10)": {"C": [1.0, 10.0], "combiner__l2": [0.1, 0.01]},
    }
    chosen = {name: lambda draw, grid=grid: _searched(draw, Localized(), grid) for name, grid in grids.items()}
    table("Localized, chosen by three inner folds", chosen, FEW if few else (*SOME, "sparse linear"), 1)


def _searched(draw: Draw, combiner: Any, grid: Mapping[str, Sequence[Any]]) -> Any:
    prefix = "" if draw.is_classification else "regressor__"
    own = {f"{prefix}{name}": list(values) for name, values in grid.items()}
    return GridSearchCV(machine(draw, kernels_of(draw), combiner, middle(draw)), own, cv=3)


@dataclass(frozen=True)
class Projection:
    """A setting of the projected method; linear kernels of the leading principal components of each view."""

    n_components: int = 10
    gated: bool = True
    gating_components: int = 2
    n_init: int = 1
    features: int = 50
    C: float = 10.0
    l2: float = 0.1
    init: str = "lda"

    def __call__(self, draw: Draw) -> Any:
        combiner = Projected(
            self.n_components,
            Softmax() if self.gated else None,
            gating_components=self.gating_components if self.gated else None,
            n_init=self.n_init,
            l2=self.l2,
            init=self.init,
        )
        kernels = []
        for name, (part, _) in draw.views.items():
            wide = part.shape[1] > self.features
            reduction = PCA(min(self.features, len(draw.y) - 1), random_state=0) if wide else None
            kernels.append((name, Linear(name, transformer=reduction)))
        return machine(draw, kernels, combiner, self.C)


def projected(n_draws: int, few: bool) -> None:
    """One setting changed at a time."""
    settings = {"as it is": Projection(), "no gates": Projection(gated=False)}
    settings |= {f"n_components={k}": Projection(n_components=k) for k in (2, 5, 15, 20)}
    settings |= {"gating_components=1": Projection(gating_components=1), "n_init=3": Projection(n_init=3)}
    settings |= {f"features={k}": Projection(features=k) for k in (20, 100)}
    settings |= {f"C={C:g}": Projection(C=C) for C in (1.0, 3.0, 100.0)}
    settings |= {"l2=1": Projection(l2=1.0), "init=pca": Projection(init="pca")}
    views = ("landuse21", "movies", "wikipedia", "protein_fold", "cub10")
    tables = ("ionosphere", "wdbc", "heart", "brain_tumor1", "concrete", "diabetes", "friedman")
    table("Projected", settings, FEW if few else views + tables, 1)


def stacking(n_draws: int, few: bool) -> None:
    """C of the regression on decision values; the machines of the views have C = 3."""

    def make(draw: Draw, C: float) -> Any:
        machines = []
        for view in draw.views:
            own = machine(draw, [Linear(view), Gaussian(view)], Mean(), 3.0)
            machines.append((view, own if draw.is_classification else own.regressor))
        stacked = StackedViews(machines, C=C, random_state=0)
        return stacked if draw.is_classification else _standardised(stacked)

    table("C of stacking", over(make, (0.01, 0.1, 1.0, 10.0, 100.0)), FEW if few else SOME, n_draws)


def linear(n_draws: int, few: bool) -> None:
    """Logistic and ridge regression on all columns."""
    logistic = lambda draw, C: LogisticRegression(C=C, max_iter=2000)  # noqa: E731
    costs = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
    table("C of logistic regression", over(logistic, costs), FEW if few else VIEWS + TABLES, n_draws)
    ridge = lambda draw, alpha: _standardised(Ridge(alpha))  # noqa: E731
    table("alpha of ridge regression", over(ridge, (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)), NUMBERS, n_draws)


def trees(n_draws: int, few: bool) -> None:
    """Forests by their size, and gradient boosting by its learning rate, against scikit-learn's own settings."""

    def column_model(draw: Draw, kind: str, **options: Any) -> Any:
        task = "classification" if draw.is_classification else "regression"
        return ColumnModel(kind, task=task, random_state=0, **options)

    def plain(draw: Draw) -> Any:
        kind = HistGradientBoostingClassifier if draw.is_classification else HistGradientBoostingRegressor
        return kind(random_state=0)

    sets = FEW if few else SOME
    grow = lambda draw, n_trees: column_model(draw, "forest", n_trees=n_trees)  # noqa: E731
    table("trees of a forest", over(grow, (30, 100, 300, 1000)), sets, n_draws)
    boost = lambda draw, rate: column_model(draw, "boosting", learning_rate=rate)  # noqa: E731
    settings = {"scikit-learn's": plain, **over(boost, (0.05, 0.1, 0.2, 0.4), "learning_rate={:g}")}
    table("gradient boosting", settings, sets, 1)


PARTS = {
    "costs": costs,
    "regression": costs_of_regression,
    "folds": nested,
    "lp": norms,
    "localized": localized,
    "projected": projected,
    "stacking": stacking,
    "linear": linear,
    "trees": trees,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=list(PARTS), action="append", help="this part only; may be repeated")
    parser.add_argument("--quick", action="store_true", help="one draw of a few sets")
    chosen = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # settings at the ends of grids stop early
        for name in chosen.part or PARTS:
            PARTS[name](1 if chosen.quick else 2, chosen.quick)


if __name__ == "__main__":
    main()
