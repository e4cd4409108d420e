"""Accuracy against kernel evaluations: ``python -m benchmarks.columns [--quick] [--sets NAME ...]``.

`ColumnBoostingClassifier` beside the support vector machine on the mean of the kernels, `ConvexMKL` and `Projected`, on
data sets of `experiments.benchmark`: those of `SETS` that are in the folder `KERNELWEAVE_DATA`, else the two that are
embedded. 300 training samples, at most 700 others, the kernels of the benchmark, C among 1, 10 and 100 (of `Projected`
among 10 and 100) by three folds of the training samples. "evaluations" are the values k_m(x_i, x) that a prediction
takes, "stored" the training samples. Rows are means over three draws. With one BLAS thread it takes about half an hour;
``--quick`` takes one draw of the embedded sets.

``--cost`` prints seconds and stored columns of single fits instead, with six Gaussian kernels of MULTIFEAT, beside
those of the support vector machine on their mean.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from experiments.benchmark.data_sets import find_data_set
from experiments.benchmark.ingredients import kernels_of
from kernelweave import ColumnBoostingClassifier, ColumnBoostingRegressor, MKLClassifier
from kernelweave.combiners import ConvexMKL, Mean, Projected
from kernelweave.datasets import load_multifeat
from kernelweave.kernels import Gaussian

EMBEDDED = ["multifeat", "wdbc"]
SETS = [*EMBEDDED, "banana", "heart", "pima", "ionosphere", "sonar", "spambase", "waveform", "mnist4", "wikipedia"]
TRAINING, VALIDATION = 300, 700
COSTS = [1.0, 10.0, 100.0]
MOST = [10, 30]


def methods(kernels: Any) -> dict[str, tuple[Any, list[float]]]:
    """Models to fit, and the values of C to try."""
    limited = {
        f"columns, at most {most}": (ColumnBoostingClassifier(kernels, max_columns=most, columns_per_step=1), COSTS)
        for most in MOST
    }
    return {
        "mean": (MKLClassifier(kernels, Mean()), COSTS),
        "ConvexMKL": (MKLClassifier(kernels, ConvexMKL()), COSTS),
        "Projected(2)": (MKLClassifier(kernels, Projected(2), random_state=0), COSTS[1:]),
        "columns, hinge": (ColumnBoostingClassifier(kernels), COSTS),
        "columns, squared": (ColumnBoostingClassifier(kernels, loss="squared"), COSTS),
        **limited,
    }


def cells(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """What each method gives on one draw of samples."""
    problem = find_data_set(name)(os.environ.get("KERNELWEAVE_DATA"))
    X, y = problem.X, np.unique(problem.y, return_inverse=True)[1]
    n = min(TRAINING, len(y) // 2)
    split = StratifiedShuffleSplit(1, train_size=n, test_size=min(VALIDATION, len(y) - n), random_state=seed)
    train, test = next(split.split(np.zeros((len(y), 1)), y))
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    for label, (model, costs) in methods(kernels_of(problem)).items():
        begin = time.process_time()
        search = GridSearchCV(model, {"C": costs}, cv=folds).fit(X.iloc[train], y[train])
        seconds, best = time.process_time() - begin, search.best_estimator_
        yield {
            "set": name,
            "method": label,
            "accuracy": 100.0 * search.score(X.iloc[test], y[test]),
            "evaluations": best.prediction_cost() * len(best.kernels_),
            "stored": float(len(best.support_)),
            "C": float(best.C),
            "seconds": seconds,
        }


def print_costs() -> None:
    """Processor time of fits by number of samples."""
    X, y = load_multifeat(target="small-vs-large", return_X_y=True)
    kernels = [Gaussian(view, transformer=StandardScaler()) for view in ("fac", "fou", "kar", "mor", "pix", "zer")]
    numbers = np.unique(y, return_inverse=True)[1] - 0.5
    models = {
        "machine on the mean": MKLClassifier(kernels),
        **{f"hinge, C={C:g}": ColumnBoostingClassifier(kernels, C=C) for C in (1.0, 10.0)},
        **{f"squared, C={C:g}": ColumnBoostingClassifier(kernels, C=C, loss="squared") for C in (1.0, 10.0)},
        "tube of 0.1, C=1": ColumnBoostingRegressor(kernels),
    }
    for model in models.values():  # compiles
        model.fit(X.iloc[::50], numbers[::50] if isinstance(model, ColumnBoostingRegressor) else y[::50])
    for n in (300, 600, 1200):
        rows = np.random.default_rng(0).permutation(len(y))[:n]
        for name, model in models.items():
            begin = time.process_time()
            model.fit(X.iloc[rows], numbers[rows] if isinstance(model, ColumnBoostingRegressor) else y[rows])
            seconds = time.process_time() - begin
            print(
                f"{n:5} samples   {name:20} {seconds:6.2f} s   {getattr(model, 'columns_', model.support_).shape[0]:4}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one seed, the embedded data sets")
    parser.add_argument("--sets", nargs="*", help="names of data sets")
    parser.add_argument("--cost", action="store_true", help="seconds of single fits")
    given = parser.parse_args()
    if given.cost:
        print_costs()
        return
    warnings.simplefilter("ignore")
    home = os.environ.get("KERNELWEAVE_DATA")
    there = [name for name in SETS if name in EMBEDDED or (home and (Path(home) / f"{name}.npz").exists())]
    found = []
    for name in given.sets or (EMBEDDED if given.quick else there):
        rows = [cell for seed in range(1 if given.quick else 3) for cell in cells(name, 100 + seed)]
        found += rows
        table = pd.DataFrame(rows).drop(columns="set").groupby("method", sort=False).mean()
        print(name, table.round(1).to_string(), sep="\n", flush=True)
    every = pd.DataFrame(found)
    means = every.groupby(["set", "method"], sort=False)[["accuracy", "evaluations", "stored", "seconds"]].mean()
    over = means.groupby("method", sort=False)
    print(f"means over {every['set'].nunique()} sets (of evaluations and stored samples: geometric)")
    table = pd.DataFrame(
        {
            "accuracy": over["accuracy"].mean(),
            "least minus mean": (means["accuracy"] - means["accuracy"].xs("mean", level="method"))
            .groupby("method")
            .min(),
            "evaluations": np.exp(np.log(means["evaluations"]).groupby("method").mean()),
            "stored": np.exp(np.log(means["stored"]).groupby("method").mean()),
            "seconds": over["seconds"].mean(),
        }
    )
    print(table.loc[list(over.groups)].round(1).to_string())
    print("C that validation chose:")
    print(every.groupby("method", sort=False)["C"].value_counts().unstack(fill_value=0).sort_index(axis=1).to_string())


if __name__ == "__main__":
    main()
