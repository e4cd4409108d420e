"""Settings of the recipes behind ``kernelweave compare``: ``python -m benchmarks.recipes [--part NAME] [--quick]``.

Scores of validation samples (accuracy in per cent, 100 R2 for regression), averages over draws of at most 240 training
samples; no part of this chooses by test samples. Files of data sets (``NAME.npz``) are read from ``KERNELWEAVE_DATA``;
a set that is not there is left out, with a word, and those of scikit-learn remain. Columns are standardised and words
weighted by TF-IDF, by the training samples; a set of one view is dealt to two, the even and the odd columns. Targets
of a regression are standardised. In each table: the score by set, the mean over sets, the mean and the worst difference
to the best setting of each set, and CPU seconds for a fit (mean).
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
import scipy.sparse as sp
from sklearn import datasets as sklearn_datasets
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from kernelweave import MKLClassifier, MKLRegressor
from kernelweave.combiners import ConvexMKL, Localized, LpMKL, Mean, Projected, Softmax
from kernelweave.datasets import load_dataset
from kernelweave.kernels import Gaussian, Linear
from kernelweave.views import stack_views

VIEWS = ("multifeat", "protein_fold", "landuse21", "cub10", "wikipedia", "ccv", "movies", "reuters1200")
TABLES = ("heart", "ionosphere", "pima", "sonar", "wdbc", "prostate_tumor", "brain_tumor1", "digits", "wine")
NUMBERS = ("concrete", "winewhite", "diabetes", "friedman", "sparse linear")
FEW = ("multifeat", "landuse21", "wikipedia", "movies", "ionosphere", "pima", "prostate_tumor")
COSTS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
TRAINING, VALIDATION = 240, 300


@dataclass(frozen=True)
class Draw:
    """Training and validation samples of one set, prepared."""

    views: Mapping[str, tuple[Any, Any]]
    y: np.ndarray
    y_new: np.ndarray
    is_classification: bool

    @property
    def X(self) -> Any:
        return stack_views({name: parts[0] for name, parts in self.views.items()})

    @property
    def X_new(self) -> Any:
        return stack_views({name: parts[1] for name, parts in self.views.items()})


def raw(name: str) -> tuple[dict[str, Any], np.ndarray, bool]:
    """Views, target, and whether it is a classification."""
    if name in ("digits", "wine", "diabetes"):
        X, y = getattr(sklearn_datasets, f"load_{name}")(return_X_y=True)
        return _dealt(X), y, name != "diabetes"
    if name == "friedman":
        X, y = sklearn_datasets.make_friedman1(600, n_features=12, noise=1.0, random_state=0)
        return _dealt(X), y, False
    if name == "sparse linear":
        X, y = sklearn_datasets.make_regression(600, n_features=400, n_informative=20, noise=30.0, random_state=0)
        return _dealt(X), y, False
    data = load_dataset(name)
    X, classes = data.data, bool(len(data.target_names))
    if sp.issparse(X):
        return {view: X[:, columns] for view, columns in data.views.items()}, data.target, classes
    if len(data.views) == 1:
        return _dealt(X.to_numpy(float)), data.target, classes
    return {view: X.filter(regex=f"^{view}__").to_numpy(float) for view in data.views}, data.target, classes


def _dealt(X: np.ndarray) -> dict[str, np.ndarray]:
    return {"even": X[:, ::2], "odd": X[:, 1::2]} if X.shape[1] > 1 else {"only": X}


def draws(name: str, n_draws: int, training: int = TRAINING) -> list[Draw]:
    views, y, classes = raw(name)
    if classes:  # a class needs a sample in each part
        kept = np.isin(y, [label for label in np.unique(y) if np.sum(y == label) >= 8])
        views, y = {view: values[kept] for view, values in views.items()}, y[kept]
    size = min(training, int(0.6 * len(y)))
    split = StratifiedShuffleSplit if classes else ShuffleSplit
    splitter = split(n_draws, train_size=size, test_size=min(VALIDATION, len(y) - size), random_state=0)
    return [_prepared(views, y, classes, *parts) for parts in splitter.split(y, y)]


def _prepared(views: Mapping, y: np.ndarray, classes: bool, old: np.ndarray, new: np.ndarray) -> Draw:
    parts = {}
    for name, values in views.items():
        scaler = TfidfTransformer() if sp.issparse(values) else StandardScaler()
        pair = [scaler.fit_transform(values[old]), scaler.transform(values[new])]
        if sp.issparse(values):
            words = np.flatnonzero(np.asarray((pair[0] != 0).sum(axis=0)).ravel() > 1)
            pair = [part[:, words].toarray() for part in pair]
        parts[name] = tuple(pair)
    return Draw(parts, y[old], y[new], classes)


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
    X, X_new, began = draw.X, draw.X_new, time.process_time()
    model.fit(X, draw.y)
    return 100.0 * model.score(X_new, draw.y_new), time.process_time() - began


Settings = Mapping[str, Callable[[Draw], Any]]


def table(title: str, settings: Settings, sets: Sequence[str], n_draws: int, training: int = TRAINING) -> pd.DataFrame:
    """Print the scores of settings by set."""
    rows, seconds = {}, []
    for name in sets:
        try:
            found = draws(name, n_draws, training)
        except FileNotFoundError:
            print(f"{name} is not in the data directory; set KERNELWEAVE_DATA")
            continue
        cells = np.array([[score(make(draw), draw) for make in settings.values()] for draw in found])
        rows[name], _ = cells[:, :, 0].mean(axis=0), seconds.append(cells[:, :, 1].mean(axis=0))
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
    make, sets = _combined(Mean()), (FEW if few else VIEWS + TABLES) + NUMBERS
    labels = [f"{', '.join(f'{C:g}' for C in grid)}; {inner}" for inner in INNER for grid in GRIDS]
    rows = {}
    for name in sets:
        try:
            found = draws(name, n_draws)
        except FileNotFoundError:
            continue
        rows[name] = np.mean([_nested_scores(make, draw) for draw in found], axis=0)
    frame = pd.DataFrame(rows, index=labels)
    behind = frame - frame.max()
    summary = pd.DataFrame({"mean": frame.mean(axis=1), "behind": behind.mean(axis=1), "worst": behind.min(axis=1)})
    for kind, names in {"classification": [n for n in frame if n not in NUMBERS], "regression": [n for n in frame if n in NUMBERS]}.items():
        part = frame[names]
        summary[kind] = part.mean(axis=1)
        summary[kind+" worst"] = (part-part.max()).min(axis=1)
    print(f"\nC chosen by inner folds, mean kernel\n{summary.round(2).to_string()}", flush=True)


def _nested_scores(make: Callable, draw: Draw) -> list[float]:
    X, outer = draw.X, np.array([score(make(draw, C), draw)[0] for C in COSTS])
    scores = []
    for n_folds, share in INNER.values():
        kind = (StratifiedKFold, StratifiedShuffleSplit) if draw.is_classification else (KFold, ShuffleSplit)
        splitter = kind[0](n_folds, shuffle=True, random_state=1) if share == 0.0 else kind[1](1, test_size=share, random_state=1)
        inner = np.zeros(len(COSTS))
        for old, new in splitter.split(X, draw.y):
            parts = X.iloc[old], X.iloc[new]
            for place, C in enumerate(COSTS):
                inner[place] += make(draw, C).fit(parts[0], draw.y[old]).score(parts[1], draw.y[new])
        for grid in GRIDS:
            places = [COSTS.index(C) for C in grid]
            scores.append(outer[places[int(np.argmax(inner[places]))]])
    return scores


def norms(n_draws: int, few: bool) -> None:
    """p of lp."""
    sets = FEW if few else VIEWS + TABLES + NUMBERS
    make = lambda draw, p: machine(draw, kernels_of(draw), LpMKL(p=p), middle(draw))  # noqa: E731
    table("p of lp", over(make, (1.1, 1.33, 2.0, 4.0), "p={:g}"), sets, n_draws)


def middle(draw: Draw) -> float:
    """The C of other parts."""
    return 3.0 if draw.is_classification else 1.0


def localized(n_draws: int, few: bool) -> None:
    """Penalty of the gates."""
    sets = FEW if few else VIEWS + ("heart", "ionosphere", "pima", "sonar", "wdbc", "prostate_tumor", "digits") + NUMBERS
    make = lambda draw, l2: machine(draw, kernels_of(draw), Localized(l2=l2), middle(draw))  # noqa: E731
    settings = {"mean": lambda draw: machine(draw, kernels_of(draw), Mean(), middle(draw))}
    settings |= over(make, ("auto", 0.1, 0.03, 0.01), "l2={}")
    table("Localized", settings, sets, n_draws)


@dataclass(frozen=True)
class Projection:
    """A setting of the projected method; linear kernels of the leading principal components of each view."""

    n_components: int = 2
    gated: bool = True
    gating_components: int | None = 2
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
    settings = {"as it is": Projection(n_components=10)}
    settings |= {f"n_components={k}": Projection(n_components=k) for k in (2, 5, 15, 20)}
    def changed(**options):
        return Projection(**{"n_components": 10, **options})
    settings |= {"no gates": changed(gated=False)}
    settings |= {f"gating={k}": changed(gating_components=k) for k in (1,)}
    settings |= {"n_init=3": changed(n_init=3)}
    settings |= {f"features={k}": changed(features=k) for k in (20, 100)}
    settings |= {f"C={C:g}": changed(C=C) for C in (1.0, 3.0, 100.0)}
    settings |= {"l2=1": changed(l2=1.0), "init=pca": changed(init="pca")}
    table("Projected", settings, ("landuse21","movies", "wikipedia", "protein_fold", "cub10", "ionosphere","wdbc", "heart", "brain_tumor1", "concrete", "diabetes", "friedman"), n_draws)


def linear(n_draws: int, few: bool) -> None:
    """Logistic and ridge regression on all columns."""
    make = lambda draw, C: LogisticRegression(C=C, max_iter=2000)  # noqa: E731
    table("C of logistic regression", over(make, (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)), FEW if few else VIEWS + TABLES, n_draws)
    ridge = lambda draw, alpha: _standardised(Ridge(alpha))  # noqa: E731
    table("alpha of ridge regression", over(ridge, (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)), NUMBERS, n_draws)


def trees(n_draws: int, few: bool) -> None:
    """Forests and boosting on all columns."""
    sets = ("multifeat", "landuse21", "wikipedia", "ionosphere", "pima", "prostate_tumor", "concrete", "diabetes")
    table("forest", {
        f"{n} trees{extra}": lambda draw, n=n, o=options: _forest(draw, n, **o)
        for n, extra, options in (
            (100, "", {}), (200, "", {}), (500, "", {}), (200, ", leaf 3", {"min_samples_leaf": 3}), (200, ", third", {"max_features": 0.33}),
        )
    }, sets, n_draws)
    table("boosting", {
        name: lambda draw, o=options: _boosting(draw, **o)
        for name, options in {
            "default": {},
            "30 iterations": {"max_iter": 30},
            "0.2, 30": {"max_iter": 30, "learning_rate": 0.2},
            "0.1, 15 leaves": {"max_leaf_nodes": 15},
            "0.1, 50, depth 3": {"max_depth": 3, "max_iter": 50},
            "0.1, 100, depth 3": {"max_depth": 3},
            "0.3 of features": {"max_features": 0.3},
            "0.1 of features": {"max_features": 0.1},
            "0.1 of features, 50": {"max_features": 0.1, "max_iter": 50},
            "early": {"early_stopping": True},
            "0.1 of features, 50, depth 3": {"max_features": 0.1, "max_iter": 50, "max_depth": 3},
        }.items()
    }, sets, n_draws)


def _forest(draw: Draw, n_estimators: int, **options: Any) -> Any:
    kind = RandomForestClassifier if draw.is_classification else RandomForestRegressor
    return kind(n_estimators, random_state=0, **options)


def _boosting(draw: Draw, **options: Any) -> Any:
    kind = HistGradientBoostingClassifier if draw.is_classification else HistGradientBoostingRegressor
    return kind(random_state=0, **options)


PARTS = {
    "costs": costs,
    "regression": costs_of_regression,
    "folds": nested,
    "lp": norms,
    "localized": localized,
    "projected": projected,
    "linear": linear,
    "trees": trees,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=list(PARTS), action="append", help="only this part; may be given several times")
    parser.add_argument("--quick", action="store_true", help="one draw of seven sets")
    chosen = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # settings at the ends of grids stop early
        for name in chosen.part or PARTS:
            PARTS[name](1 if chosen.quick else 2, chosen.quick)


if __name__ == "__main__":
    main()
