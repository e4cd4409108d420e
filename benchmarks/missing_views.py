"""Samples that lack views: ``python -m benchmarks.missing_views [--quick]``.

MULTIFEAT small-vs-large, 667 training samples, where 30 % of the (sample, view) pairs are removed at random, among
training and test samples alike (each sample keeps at least one view). The library's own treatment of missing views is
compared with imputation of the missing features before the same model: by the mean of the training samples, and by the
5 nearest training samples.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.problems import VIEWS
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Localized, Mean, Sigmoid, Softmax
from kernelweave.kernels import Linear

SHARE = 0.3
IMPUTERS = {
    "as they are": None,
    "mean imputed": SimpleImputer(),
    "5 neighbours imputed": KNNImputer(n_neighbors=5),
}


def remove_views(X: pd.DataFrame, share: float, rng: np.random.Generator) -> pd.DataFrame:
    """NaN in a share of the (sample, view) pairs, all features of the view; every sample keeps one at least."""
    gone = rng.random((len(X), len(VIEWS))) < share
    gone[gone.all(axis=1), rng.integers(len(VIEWS))] = False
    X = X.copy()
    for place, view in enumerate(VIEWS):
        X.loc[gone[:, place], [name for name in X.columns if name.startswith(f"{view}__")]] = np.nan
    return X


def scores(combiner, C: float, splits: list[tuple]) -> np.ndarray:
    """Test accuracies, of shape (n_splits,)."""
    kernels = [Linear(view) for view in VIEWS]
    models = [MKLClassifier(kernels, combiner, C=C, random_state=0).fit(X, y) for X, y, *_ in splits]
    return np.array([model.score(X, y) for model, (*_, X, y) in zip(models, splits, strict=True)])


def prepared(imputer, n_splits: int) -> list[tuple]:
    """Standardised and, if asked for, imputed training and test samples of each split, with labels."""
    X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
    splits = []
    for seed in range(n_splits):
        train, test = train_test_split(np.arange(len(y)), train_size=667, stratify=y, random_state=seed)
        if imputer == "complete":
            gappy, fill = X.astype(float), None
        else:
            gappy, fill = remove_views(X.astype(float), SHARE, np.random.default_rng(seed)), imputer
        scaler = StandardScaler().set_output(transform="pandas").fit(gappy.iloc[train])  # leaves NaN alone
        parts = [scaler.transform(gappy.iloc[rows]) for rows in (train, test)]
        if fill is not None:
            fill = fill.set_output(transform="pandas").fit(parts[0])
            parts = [fill.transform(part) for part in parts]
        splits.append((parts[0], y[train], parts[1], y[test]))
    return splits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two splits")
    n_splits = 2 if parser.parse_args().quick else 5
    combiners = {
        "Mean()": Mean(),
        "Localized(Softmax(), l2=0.01)": Localized(Softmax(), l2=0.01),
        "Localized(Sigmoid(), l2=0.01)": Localized(Sigmoid(), l2=0.01),
    }
    print(
        f"MULTIFEAT small-vs-large, {SHARE:.0%} of (sample, view) pairs removed; test accuracy over {n_splits} splits"
    )
    print(f"{'missing views':<24}" + "".join(f"{f'{name}, C = {C:g}':>32}" for name in combiners for C in (1.0, 10.0)))
    with threadpool_limits(1):
        for label, imputer in {"none removed": "complete", **IMPUTERS}.items():
            splits = prepared(imputer, n_splits)
            cells = [scores(combiner, C, splits) for combiner in combiners.values() for C in (1.0, 10.0)]
            line = "".join(f"{f'{100 * cell.mean():.2f} +- {100 * cell.std(ddof=1):.2f}':>32}" for cell in cells)
            print(f"{label:<24}{line}", flush=True)


if __name__ == "__main__":
    main()
