"""Ways to the width of a Gaussian, compared by validation: ``python -m benchmarks.widths [SET ...] [--splits 5]``.

One Gaussian for each view, on standardised columns. What differs is where its width comes from:

=============  =====================================================================================================
scale          the spread of the samples, ``scale="scale"``, under `Mean`
median         the median distance, ``scale="median"``, under `Mean`
validated      the spread times one factor for all views, chosen with C by the inner folds, under `Mean`
grid, convex   nine factors as separate kernels, under `ConvexMKL`
grid, lp       the same under `LpMKL(p=2)`
learned        `WidthMKL`, over the range of these factors
=============  =====================================================================================================

C is 0.1, 1, 10 or 100 by three inner folds of the training samples for every method; test samples are for the score
only. There are at most 200 training samples and at most half of the set, drawn anew for each split. Sets (``NAME.npz``)
are read from the folder ``KERNELWEAVE_DATA``; one that is not there is left out, with a word.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, stack_views
from kernelweave.combiners import ConvexMKL, LpMKL, WidthMKL
from kernelweave.kernels import Gaussian

SETS = ("heart", "ionosphere", "sonar", "pima", "cub10", "wikipedia")
FACTORS = np.geomspace(0.1, 10.0, 9)
COSTS = [0.1, 1.0, 10.0, 100.0]
TRAINING, TEST = 200, 1000


def data_set(name: str) -> tuple[pd.DataFrame, np.ndarray] | None:
    path = Path(os.environ.get("KERNELWEAVE_DATA", ".")) / f"{name}.npz"
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as file:
        views = {view: file[view].astype(float) for view in file.files if view not in ("y", "is_train")}
        return stack_views(views), file["y"]


def of_scale(views: list[str], scale: Any) -> list[tuple[str, Gaussian]]:
    return [(view, Gaussian(view, scale, transformer=StandardScaler())) for view in views]


def methods(X: pd.DataFrame, views: list[str]) -> dict[str, tuple[MKLClassifier, list[dict[str, Any]]]]:
    """By name a model, and what is searched; `X` are training samples, by which the spread of a view is known."""
    spread = {name: kernel.fit(X).scale_ for name, kernel in of_scale(views, "scale")}
    times = {
        factor: [(v, k.set_params(scale=factor * spread[v])) for v, k in of_scale(views, 1.0)] for factor in FACTORS
    }
    grid = [(f"{view} {factor:.3g}", kernel) for factor, own in times.items() for view, kernel in own]
    costs = {"C": COSTS}
    by_scale = of_scale(views, "scale")
    return {
        "scale": (MKLClassifier(by_scale), [costs]),
        "median": (MKLClassifier(of_scale(views, "median")), [costs]),
        "validated": (MKLClassifier(by_scale), [{"kernels": list(times.values()), **costs}]),
        "grid, convex": (MKLClassifier(grid, ConvexMKL()), [costs]),
        "grid, lp": (MKLClassifier(grid, LpMKL(p=2.0)), [costs]),
        "learned": (MKLClassifier(by_scale, WidthMKL(FACTORS[0], FACTORS[-1])), [costs]),
    }


def compare(name: str, X: pd.DataFrame, y: np.ndarray, n_splits: int) -> pd.DataFrame:
    """A row for each split and method: accuracies, seconds of the last fit, C, and kernels or widths with a weight."""
    views = list(dict.fromkeys(column.partition("__")[0] for column in X.columns))
    n = min(TRAINING, len(y) // 2)
    splitter = StratifiedShuffleSplit(n_splits, train_size=n, test_size=min(TEST, len(y) - n), random_state=0)
    rows = []
    for split, (train, test) in enumerate(splitter.split(X, y)):
        for method, (model, searched) in methods(X.iloc[train], views).items():
            search = GridSearchCV(model, searched, cv=3, refit=False).fit(X.iloc[train], y[train])
            model.set_params(**search.best_params_)
            begin = time.perf_counter()
            model.fit(X.iloc[train], y[train])
            seconds = time.perf_counter() - begin
            found = getattr(model.combiner_, "widths_", model.active_kernels_)
            row = {
                "set": name,
                "split": split,
                "method": method,
                "accuracy": 100.0 * model.score(X.iloc[test], y[test]),
            }
            rows.append(
                {**row, "inner": 100.0 * search.best_score_, "seconds": seconds, "C": model.C, "kernels": len(found)}
            )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--splits", type=int, default=5)
    given = parser.parse_args()
    tables = []
    for name in given.sets:
        found = data_set(name)
        if found is None:
            print(f"{name} is not in the data directory; set KERNELWEAVE_DATA")
            continue
        tables.append(compare(name, *found, given.splits))
        print(
            tables[-1].groupby("method", sort=False)[["accuracy", "inner", "seconds", "C", "kernels"]].mean().round(2),
            flush=True,
        )
    if tables:
        every = pd.concat(tables)
        for value, title in (
            ("accuracy", "test accuracy, %"),
            ("inner", "inner folds, %"),
            ("seconds", "seconds of the last fit"),
        ):
            table = every.pivot_table(value, "set", "method", sort=False)
            table.loc["mean"] = table.mean()
            print(f"\n{title}\n{table.round(1 if value != 'seconds' else 2)}")
        wide = every.pivot_table("accuracy", ["set", "split"], "method", sort=False)
        gains = wide.sub(wide["validated"], axis=0).groupby("set", sort=False).agg(["mean", "sem"]).round(1)
        print(f"\ntest accuracy beside 'validated', mean over splits and its standard error\n{gains['learned']}")


if __name__ == "__main__":
    main()
