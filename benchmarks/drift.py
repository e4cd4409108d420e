"""False alarms and detections of "unlike the training data": ``python -m benchmarks.drift [--quick]``.

Each data set (from the folder ``KERNELWEAVE_DATA``, and from scikit-learn) is split at random into training samples and
a new cohort of 5, 10, 20 or 50 samples, or as many as there are training samples. `NewCohort.sentences` should have
nothing to say about new cohorts as they are, and should speak up where the cohort was changed: all views on the log
scale or times 10, all columns of one view shifted by a standard deviation, the columns of one view in another order,
three columns in other units (times 1000), and categories spelled differently. Sets with heavy tails are generated.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from kernelweave import stack_views
from kernelweave.recipes.drift import CohortSummary, NewCohort
from kernelweave.recipes.kinds import column_kinds

SIZES = (5, 10, 20, 50, None)
FILES = (
    *("multifeat", "landuse21", "cub10", "pie10", "wikipedia", "mnist4", "ccv", "protein_fold", "leukemia1", "dlbcl"),
    *("prostate_tumor", "brain_tumor1", "spambase", "ionosphere", "sonar", "pima", "heart", "bupa", "winewhite"),
    *("concrete", "olivetti", "segment", "letter", "movies", "ngs", "reuters1200", "tr23"),
)
N_MOST = 300  # training samples
COLUMNS_MOST = 300  # of a view


def data_sets() -> dict[str, pd.DataFrame]:
    """Tables by name: those of the data home that are there, three of scikit-learn's, and two with heavy tails."""
    home = Path(os.environ.get("KERNELWEAVE_DATA", "."))
    found = {name: _read(home / f"{name}.npz") for name in FILES if (home / f"{name}.npz").exists()}
    for name, load in {"wine": load_wine, "diabetes": load_diabetes, "wdbc": load_breast_cancer}.items():
        found[name] = stack_views({"x": load(as_frame=True).data})
    random = np.random.default_rng(0)
    factor = random.standard_cauchy(size=(600, 1))
    found["cauchy"] = stack_views({"x": random.standard_cauchy(size=(600, 50)), "common": factor * random.random(30)})
    found["lognormal"] = stack_views({"x": np.exp(2 * random.normal(size=(600, 1)) + random.normal(size=(600, 40)))})
    ages = np.repeat(random.choice(["low", "middle", "high", "rare", "one"], 600, p=[0.5, 0.3, 0.18, 0.015, 0.005]), 1)
    town = np.array([f"town {k}" for k in random.zipf(1.7, 600) % 97], dtype=object)
    mixed = pd.DataFrame({"age": random.normal(size=600), "group": ages, "town": town}, dtype=object)
    found["categories"] = stack_views({"x": mixed.assign(age=mixed["age"].astype(float))})
    return found


def _read(path: Path) -> pd.DataFrame:
    with np.load(path) as content:
        arrays = {name: content[name] for name in content.files if name not in ("y", "is_train")}
    views = {}
    for name in arrays:
        start = name.removesuffix("data") if name.endswith("data") else None
        if start is not None:
            parts = [arrays[f"{start}{part}"] for part in ("data", "indices", "indptr")]
            views[start.rstrip("_") or "X"] = sp.csr_matrix(tuple(parts), shape=tuple(arrays[f"{start}shape"]))
        elif arrays[name].ndim == 2 and arrays[name].shape[1] > 0:
            views[name] = arrays[name][:, :COLUMNS_MOST].astype(float)
    return stack_views(views)


def split(X: pd.DataFrame, size: int | None, random: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training samples and a new cohort."""
    order = random.permutation(len(X))
    n_new = min(N_MOST, len(X) // 2) if size is None else size
    return X.iloc[order[n_new : n_new + N_MOST]], X.iloc[order[:n_new]].copy()


def _numbers(X: pd.DataFrame) -> list[str]:
    return [str(name) for name, dtype in X.dtypes.items() if isinstance(dtype, np.dtype) and dtype.kind == "f"]


def _first_view(X: pd.DataFrame) -> list[str]:
    names = _numbers(X)
    return [name for name in names if name.partition("__")[0] == names[0].partition("__")[0]]


def log_scale(train: pd.DataFrame, new: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame | None:
    """The logarithm of all numbers, of sets without negative ones."""
    names = _numbers(new)
    return new.assign(**np.log1p(new[names])) if names and (train[names] >= 0).all(axis=None) else None


def times_ten(train: pd.DataFrame, new: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame | None:
    """All numbers, and sparse views, times 10."""
    names = _numbers(new)
    return new.assign(**(new[names] * 10)) if names else None


def shift(train: pd.DataFrame, new: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame | None:
    """One standard deviation more in all columns of the first view."""
    if not _numbers(new):
        return None
    names = _first_view(new)
    return new.assign(**(new[names] + train[names].std()))


def permuted(train: pd.DataFrame, new: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame | None:
    """The columns of the first view in another order."""
    if len(_numbers(new)) < 8:
        return None
    names = _first_view(new)
    return new.assign(**dict(zip(names, new[list(random.permutation(names))].to_numpy().T, strict=True)))


def units(train: pd.DataFrame, new: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame | None:
    """Three columns times 1000."""
    names = list(random.permutation([name for name in _numbers(new) if train[name].nunique() > 10]))[:3]
    return new.assign(**(new[names] * 1000)) if names else None


def spelling(train: pd.DataFrame, new: pd.DataFrame, random: np.random.Generator) -> pd.DataFrame | None:
    """Categories in capitals."""
    names = [name for name in new if not isinstance(new[name].dtype, np.dtype) or new[name].dtype == object]
    texts = [name for name in names if isinstance(new[name].iloc[0], str)]
    return new.assign(**{name: new[name].str.upper() for name in texts}) if texts else None


AS_IT_IS = "as it is"
CHANGES = {
    AS_IT_IS: lambda train, new, random: new,
    "log scale": log_scale,
    "times 10": times_ten,
    "shifted by 1 sd": shift,
    "columns permuted": permuted,
    "units of 3 columns": units,
    "categories spelled": spelling,
}


def alarms(X: pd.DataFrame, size: int | None, n_splits: int, n_changed: int) -> dict[str, tuple[int, int]]:
    """For each change in how many splits there is something to say, and of how many."""
    counts = dict.fromkeys(CHANGES, (0, 0))
    for seed in range(n_splits):
        random = np.random.default_rng(seed)
        train, new = split(X, size, random)
        summary = CohortSummary.of(train, column_kinds(train))
        for name, change in list(CHANGES.items())[: len(CHANGES) if seed < n_changed else 1]:
            changed = change(train, new, random)
            if changed is not None:
                cohort = NewCohort(summary)
                cohort.add(changed)
                counts[name] = counts[name][0] + bool(cohort.sentences()), counts[name][1] + 1
    return counts


def main() -> None:
    """Print the share of alarms by change and size over all sets, and the sets that are alarmed of or missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer splits")
    chosen = parser.parse_args()
    n_splits, n_changed = (6, 1) if chosen.quick else (20, 2)
    sets = data_sets()
    print(f"{len(sets)} data sets, {n_splits} splits each, {n_changed} of them changed")
    found = {size: {key: alarms(X, size, n_splits, n_changed) for key, X in sets.items()} for size in SIZES}
    print(f"{'share of alarms':20s}" + "".join(f"{'half' if size is None else size:>8}" for size in SIZES))
    for name in CHANGES:
        shares = [np.sum([counts[name] for counts in found[size].values()], axis=0) for size in SIZES]
        print(f"{name:20s}" + "".join(f"{n_alarms / max(1, n_tried):8.1%}" for n_alarms, n_tried in shares))
        for size in SIZES:
            wrong = {
                key: n_alarms if name == AS_IT_IS else n_tried - n_alarms
                for key, (n_alarms, n_tried) in ((key, counts[name]) for key, counts in found[size].items())
                if (n_alarms > 0 if name == AS_IT_IS else n_alarms < n_tried)
            }
            print(f"    {'half' if size is None else size}: {'alarms' if name == AS_IT_IS else 'missed'} {wrong}")


if __name__ == "__main__":
    main()
