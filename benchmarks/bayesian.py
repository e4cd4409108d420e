"""The posterior over kernel weights: ``python -m benchmarks.bayesian [time] [protein] [sets] [numbers] [defaults]``.

- ``time``: the fit of `BayesianMKLClassifier` in units (one SVM on the mean kernel) on MULTIFEAT small-vs-large, six
  linear kernels, n = 667, Gram matrices excluded on both sides; and the accuracy on the other 1333 samples.
- ``protein``: the 27 folds of ``protein_fold`` with the published division into 311 training and 383 test proteins.
- ``sets``: beside `LpMKL` with calibrated probabilities on sets of several views and on single tables: accuracy, log
  loss and Brier score (the sum of squares over the classes), means over three splits with at most 300 training samples.
  C of `LpMKL` is chosen among 1, 10 and 100 by three folds, `spread` is the default or is chosen among 0.03, 0.1, 0.3
  and 1 by the log loss of three folds.
- ``numbers``: `BayesianMKLRegressor` by `spread`, beside `MKLRegressor` with `LpMKL`: R2, the share of test samples
  within 1.96 standard deviations, and their mean negative log density; 400 training and 600 test samples, three splits.
- ``defaults``: how the defaults of `spread` were chosen: the mean negative log probability, or density, of validation
  samples, which are a part of the training samples of the others; with the mean rank of each value over the sets.

`protein`, `sets`, `numbers` and `defaults` read the folder ``KERNELWEAVE_DATA``; a set that is not there is left out,
with a word.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.timing import interleaved, multifeat, quartiles, unit
from kernelweave import (
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    MKLClassifier,
    MKLRegressor,
    calibrated,
    stack_views,
)
from kernelweave.combiners import LpMKL
from kernelweave.kernels import Gaussian, Linear, Polynomial
from kernelweave.solvers.variational import Labels, Posterior, ascend

ONE = (1.0, 1.0)
NUMBERS = "concrete", "winewhite", "mcycle"
SETS = "wikipedia", "mnist4", "landuse21", "nutrimouse", "heart", "pima", "sonar"
SPREADS, NUMBER_SPREADS = (0.03, 0.1, 0.3, 1.0), (0.1, 0.3, 0.5, 1.0, 2.0)


def time_in_units(repeats: int = 15) -> None:
    """One line: units with quartiles, iterations, and the accuracy."""
    everything, labels = multifeat(2000)
    n, matrices = 667, everything.matrices()
    K = np.ascontiguousarray(matrices[:, :n, :n])
    mean, y, found = K.mean(axis=0), labels[:n], []

    def fit() -> None:
        posterior = Posterior(K, Labels((y > 0).astype(int), 2), 0.1, ONE, ONE)
        found.append((posterior, ascend(posterior, 1e-3, 500)))

    times = interleaved(lambda: unit(mean, y), fit, repeats=repeats)
    posterior, (history, converged) = found[-1]
    parts = np.tensordot(posterior.weights[:6], matrices[:, n:, :n] @ posterior.coef[:, 0], 1)
    accuracy = np.mean((parts + posterior.weights[6] > 0) == (labels[n:] > 0))
    once, ours = 1e3 * np.median(times, axis=0)
    print(f"MULTIFEAT small-vs-large, n = {n}: unit {once:.1f} ms, fit {ours:.0f} ms")
    print(f"units and quartiles {quartiles(times[:, 1] / times[:, 0])} {len(history)} iterations, {converged=}")
    print(f"accuracy on the other samples {100 * accuracy:.2f} %", flush=True)


def tables(name: str) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray | None] | None:
    """The views of a set, its labels, and the published training part; None where the set is not there."""
    path = Path(os.environ.get("KERNELWEAVE_DATA", ".")) / f"{name}.npz"
    if not path.exists():
        print(f"{name} is not in KERNELWEAVE_DATA and is left out")
        return None
    with np.load(path, allow_pickle=False) as data:
        y = data["y"]
        views = {view: data[view] for view in data.files if data[view].ndim == 2 and len(data[view]) == len(y)}
        is_train = data["is_train"].astype(bool) if "is_train" in data.files else None
    return {view: values.astype(float) for view, values in views.items()}, y, is_train


def kernels_of(views: dict[str, np.ndarray]) -> list[tuple[str, Any]]:
    """A linear and a Gaussian kernel of each view; of a single table also narrower and wider Gaussian ones."""
    found: list[tuple[str, Any]] = []
    for view, values in views.items():
        found += [(f"{view} linear", Linear(view, transformer=StandardScaler()))]
        factors = (1.0,) if len(views) > 1 else (0.5, 1.0, 2.0)
        width = np.sqrt(values.shape[1])  # the default of `Gaussian`
        found += [(f"{view} {f}", Gaussian(view, scale=f * width, transformer=StandardScaler())) for f in factors]
    return found


def protein() -> None:
    """Accuracies and seconds on the published division, one line for each list of kernels."""
    found = tables("protein_fold")
    if found is None:
        return
    views, y, is_train = found
    X = stack_views(views)
    of_all = [(view, Gaussian(view, transformer=StandardScaler())) for view in views]
    smith = "swblosum62", "swpam50"
    mixed = [(view, (Linear if view in smith else Polynomial)(view, transformer=StandardScaler())) for view in views]
    print(f"PROTEIN, 27 folds: {is_train.sum()} training and {(~is_train).sum()} test samples, {len(views)} views")
    for name, kernels in {"Gaussian": of_all, "polynomial, linear": mixed, "all": kernels_of(views)}.items():
        for model in (BayesianMKLClassifier(kernels), MKLClassifier(kernels, LpMKL(), C=10.0)):
            start = process_time()
            model.fit(X[is_train], y[is_train])
            seconds = process_time() - start
            accuracy = 100 * model.score(X[~is_train], y[~is_train])
            print(f"{name:<20}{type(model).__name__:<24}{accuracy:6.1f} %{seconds:8.1f} s", flush=True)


def scores(model: Any, X: Any, y: np.ndarray) -> tuple[float, float, float]:
    p = model.predict_proba(X)
    own = y[:, None] == model.classes_
    losses = log_loss(y, np.clip(p, 1e-6, 1.0), labels=model.classes_)
    return float(np.mean(model.predict(X) == y)), float(losses), float(((p - own) ** 2).sum(axis=1).mean())


def splits(X: pd.DataFrame, y: np.ndarray) -> Iterator[list[Any]]:
    n_train = min(300, len(y) // 2)
    for seed in range(3):
        sizes = {"train_size": n_train, "test_size": min(600, len(y) - n_train)}
        yield train_test_split(X, y, stratify=y, random_state=seed, **sizes)


def compare(name: str, chosen: bool) -> None:
    """A line for each model on one set."""
    found = tables(name)
    if found is None:
        return
    views, y, _ = found
    X, kernels = stack_views(views), kernels_of(views)
    fixed = BayesianMKLClassifier(kernels)
    lp = GridSearchCV(MKLClassifier(kernels, LpMKL()), {"C": [1.0, 10.0, 100.0]}, cv=3)
    models = {"LpMKL, calibrated": calibrated(lp, cv=3), "Bayesian": fixed}
    if chosen:
        models["Bayesian, spread chosen"] = GridSearchCV(fixed, {"spread": SPREADS}, cv=3, scoring="neg_log_loss")
    for label, model in models.items():
        lines = []
        for X_train, X_test, y_train, y_test in splits(X, y):
            start = process_time()
            model.fit(X_train, y_train)
            lines.append([*scores(model, X_test, y_test), process_time() - start])
        accuracy, logs, brier, seconds = np.mean(lines, axis=0)
        print(f"{name:<12}{label:<26}{100 * accuracy:8.1f}{logs:10.3f}{brier:8.3f}{seconds:10.1f}", flush=True)


def numbers(name: str) -> None:
    """A line for each value of `spread`, and one for the support vector machine, on one set."""
    found = tables(name)
    if found is None:
        return
    views, y, _ = found
    X, y, lines = stack_views(views), y.astype(float), {}
    for seed in range(3):
        X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, test_size=600, random_state=seed)
        for spread in NUMBER_SPREADS:
            model = BayesianMKLRegressor(kernels_of(views), spread=spread).fit(X_train, y_train)
            mean, std = model.predict(X_test, return_std=True)
            z = (y_test - mean) / std
            density = np.mean(0.5 * z**2 + np.log(std) + 0.5 * np.log(2.0 * np.pi))
            line = [model.score(X_test, y_test), np.mean(np.abs(z) < 1.96), density]
            lines.setdefault(f"spread={spread:g}", []).append(line)
        machine = MKLRegressor(kernels_of(views), LpMKL(), epsilon=0.1 * y_train.std())
        search = GridSearchCV(machine, {"C": [y_train.std() * C for C in (0.3, 1.0, 10.0, 100.0)]}, cv=3)
        lines.setdefault("LpMKL", []).append([search.fit(X_train, y_train).score(X_test, y_test), np.nan, np.nan])
    for label, found_lines in lines.items():
        score, share, density = np.mean(found_lines, axis=0)
        print(f"{name:<12}{label:<16}{score:8.3f}{share:10.3f}{density:10.3f}", flush=True)


def validated(name: str, numeric: bool) -> dict[float, float]:
    """The mean negative log density of validation samples for each value of `spread`; empty without the set."""
    found = tables(name)
    if found is None:
        return {}
    views, y, _ = found
    X, losses = stack_views(views), {}
    for seed in range(3):
        size = min(300, len(y) // 2)
        train, _ = train_test_split(
            np.arange(len(y)), train_size=size, random_state=seed, stratify=None if numeric else y
        )
        rows, held = train[: 2 * size // 3], train[2 * size // 3 :]
        for spread in NUMBER_SPREADS if numeric else SPREADS:
            kind = BayesianMKLRegressor if numeric else BayesianMKLClassifier
            model = kind(kernels_of(views), spread=spread).fit(
                X.iloc[rows], y[rows].astype(float) if numeric else y[rows]
            )
            if numeric:
                mean, std = model.predict(X.iloc[held], return_std=True)
                loss = np.mean(0.5 * ((y[held] - mean) / std) ** 2 + np.log(std) + 0.5 * np.log(2.0 * np.pi))
            else:
                known = np.isin(y[held], model.classes_)
                p = np.clip(model.predict_proba(X.iloc[held[known]]), 1e-6, 1.0)
                loss = -np.mean(np.log(p[np.arange(known.sum()), np.searchsorted(model.classes_, y[held[known]])]))
            losses.setdefault(spread, []).append(loss)
    return {spread: float(np.mean(found)) for spread, found in losses.items()}


def defaults() -> None:
    for numeric, names in ((False, ("nutrimouse", "heart", "pima", "sonar", "ionosphere", "wdbc")), (True, NUMBERS)):
        table = pd.DataFrame({name: each for name in names if (each := validated(name, numeric))}).T
        print(f"\nspread for {'numbers' if numeric else 'classes'}, validation samples\n{table.round(3).to_string()}")
        print("mean rank", table.rank(axis=1).mean().round(2).to_dict(), flush=True)


def main() -> None:
    """Print the parts that were asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["time", "protein", "sets", "numbers"])
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if "time" in given.parts:
            time_in_units(given.repeats)
        if "protein" in given.parts:
            protein()
        if "sets" in given.parts:
            print(f"{'set':<12}{'model':<26}{'accuracy':>8}{'log loss':>10}{'Brier':>8}{'seconds':>10}")
            for name in given.sets:
                compare(name, chosen=name not in ("landuse21",))
        if "numbers" in given.parts:
            print(f"{'set':<12}{'model':<16}{'R2':>8}{'within':>10}{'density':>10}")
            for name in NUMBERS[:2]:
                numbers(name)
        if "defaults" in given.parts:
            defaults()


if __name__ == "__main__":
    main()
