"""Views completed or left missing, in accuracy: ``python -m benchmarks.missing [--quick]``.

``missing="complete"`` against ``missing="native"`` on the data sets with several views of `experiments.benchmark`,
without 30 per cent of their views, at random and by block: all of them where `KERNELWEAVE_DATA` is a folder that has
them, else the embedded MULTIFEAT. 300 training samples and at most 700 others; linear and Gaussian kernels of dense
views, TF-IDF of sparse ones; least squares with the mean of kernels and with `LpMKL`; C by three folds of the training
samples. A row is the mean over the seeds. With one BLAS thread (``OPENBLAS_NUM_THREADS=1``) it takes minutes.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit

from experiments.benchmark.data_sets import DENSE_VIEWS, SPARSE_VIEWS, find_data_set
from experiments.benchmark.ingredients import kernels_of
from kernelweave import MKLClassifier
from kernelweave.combiners import LpMKL, Mean

COSTS = [1.0, 10.0, 0.1, 100.0]  # the first of equally good ones counts
COMBINERS = {"mean": Mean(), "LpMKL": LpMKL(p=4 / 3)}
RULES = ["native", "complete"]
TRAINING, VALIDATION = 300, 700


def rows() -> list[str]:
    """The masked data sets that are there."""
    home = os.environ.get("KERNELWEAVE_DATA")
    names = [name for name in (*DENSE_VIEWS, *SPARSE_VIEWS) if home and (Path(home) / f"{name}.npz").exists()]
    return [f"{name}-{mask}" for name in dict.fromkeys(["multifeat", *names]) for mask in ("random", "block")]


def accuracies(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """The share of right labels under each rule with each combiner, for one draw of samples."""
    problem = find_data_set(name)(os.environ.get("KERNELWEAVE_DATA"))
    X, y = problem.X, np.unique(problem.y, return_inverse=True)[1]
    n = min(TRAINING, len(y) // 2)
    split = StratifiedShuffleSplit(1, train_size=n, test_size=min(VALIDATION, len(y) - n), random_state=seed)
    train, test = next(split.split(np.zeros((len(y), 1)), y))
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    for label, combiner in COMBINERS.items():
        for rule in RULES:
            model = MKLClassifier(kernels_of(problem), combiner, machine="least-squares", missing=rule)
            search = GridSearchCV(model, {"C": COSTS}, cv=folds).fit(X.iloc[train], y[train])
            score = 100.0 * search.score(X.iloc[test], y[test])
            yield {"set": name, "seed": seed, "combiner": label, "rule": rule, "accuracy": score}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--sets", nargs="*", help="such as multifeat-random; all by default")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    for name in given.sets or rows():
        cells = [cell for seed in range(1 if given.quick else 2) for cell in accuracies(name, 100 + seed)]
        found += cells
        table = pd.DataFrame(cells).groupby(["combiner", "rule"])["accuracy"].mean().unstack()
        parts = [
            f"{label:6} {table.loc[label, 'native']:6.2f} -> {table.loc[label, 'complete']:6.2f}" for label in COMBINERS
        ]
        print(f"{name:22}", *parts, sep="   ", flush=True)
    means = pd.DataFrame(found).groupby(["combiner", "set", "rule"])["accuracy"].mean().unstack()
    for label in COMBINERS:
        gain = (means["complete"] - means["native"])[label]
        error = gain.std() / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
        better, worse = int((gain > 1e-9).sum()), int((gain < -1e-9).sum())
        print(
            f"{label}: {gain.mean():+.2f} points (standard error {error:.2f}) on {len(gain)} rows, {better} better and "
            f"{worse} worse, from {gain.min():+.2f} to {gain.max():+.2f}"
        )


if __name__ == "__main__":
    main()
