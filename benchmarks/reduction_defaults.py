"""`MKLDR` as it is by default and `KernelFisher` on the mean kernel: ``python -m benchmarks.reduction --part default``.

Held-out accuracy in per cent of the nearest neighbour and of the nearest class mean in each space, averages over splits
into halves with at most 300 samples each. Dense columns are standardised and words weighted by their inverse document
frequency, both by the training half; linear kernels see rows of unit length, Gaussian ones have the width sqrt(sum of
the columns' variances). ``weights_ridge`` was chosen by the first table, as the value with the best worst cell, on five
sets named beforehand, with and without a view of 200 columns of noise beside the others. The second table shows the
defaults, on other sets first; the third shows where the other forms of the objective go. Files of data sets
(``NAME.npz``) are read from ``KERNELWEAVE_DATA``; a set that is not there is left out, with a word.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from kernelweave.kernels import Gaussian, Kernel, Linear
from kernelweave.reduction import MKLDR, KernelFisher, LDAGraph

CHOSEN_ON = ("60 classes, 4 views", "pie10", "multifeat", "movies", "wikipedia")
SHOWN_ON = (
    "100 classes, 3 views",
    "100 classes, noise view",
    "olivetti",
    "protein_fold",
    "landuse21",
    "cub10",
    "reuters1200",
    "ngs",
    "ccv",
)
WEIGHTS_RIDGES = (0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0)
LARGEST = 600
STEPS = ("ratio-trace", "trace-ratio", "paper")
LOW_RANK = ("100 classes, 3 views", "60 classes, 4 views", "landuse21")
TURNS = {"init": "identity", "max_iter": 30, "random_state": 0}


def generated(n_classes: int, widths: tuple[int, ...], noise_columns: int = 0) -> tuple[dict, np.ndarray]:
    """Classes that are normal around centres, in views of few columns (kernels of low rank), ten samples each."""
    rng = np.random.default_rng(7)
    y = np.repeat(np.arange(n_classes), 10)
    views = {
        f"v{i}": rng.normal(size=(n_classes, d))[y] + 0.5 * rng.normal(size=(len(y), d)) for i, d in enumerate(widths)
    }
    if noise_columns:
        views["noise"] = rng.normal(size=(len(y), noise_columns))
    return views, y


def views_of(name: str) -> tuple[dict, np.ndarray]:
    """The views of a set, dense or sparse, and its labels."""
    if name == "60 classes, 4 views":
        return generated(60, (6, 6, 6, 6))
    if name.startswith("100 classes"):
        return generated(100, (6, 8, 10), 200 if "noise" in name else 0)
    with np.load(Path(os.environ.get("KERNELWEAVE_DATA", ".")) / f"{name}.npz", allow_pickle=False) as file:
        arrays = dict(file)
    y = arrays.pop("y")
    sparse = sorted(key[:-7] for key in arrays if key.endswith("_indptr"))
    if sparse:
        return {view: _sparse(arrays, view) for view in sparse}, y
    if name == "olivetti":
        faces = arrays["X"].astype(float).reshape(-1, 64, 64)
        arrays = {"upper": faces[:, :32], "lower": faces[:, 32:], "edges": np.abs(np.diff(faces))[:, ::4, ::4]}
    return {view: values.reshape(len(y), -1).astype(float) for view, values in arrays.items() if view != "is_train"}, y


def _sparse(arrays: dict, view: str) -> sp.csr_matrix:
    parts = tuple(arrays[f"{view}_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_matrix((parts[0].astype(float), *parts[1:]), shape=tuple(arrays[f"{view}_shape"]))


def scaled(values: np.ndarray | sp.csr_matrix, training: np.ndarray, unit_rows: bool) -> np.ndarray:
    """A view as kernels see it, by constants of the training samples."""
    if sp.issparse(values):
        documents = np.asarray((values[training] != 0).sum(axis=0)).ravel()
        values = (values @ sp.diags(np.log((1 + len(training)) / (1 + documents)) + 1)).toarray()
        unit_rows = True
    else:
        spread = values[training].std(axis=0)
        values = (values - values[training].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return values / np.where(lengths > 0, lengths, 1.0) if unit_rows else values


def splits(name: str, kind: str, n_splits: int, noise: bool) -> Iterator[tuple[list[Kernel], tuple, tuple]]:
    """Kernels, training part and new part of each split."""
    views, y = views_of(name)
    if noise:
        views = views | {"noise": np.random.default_rng(3).normal(size=(len(y), 200))}
    size = min(LARGEST, len(y)) // 2
    for training, new in StratifiedShuffleSplit(n_splits, train_size=size, test_size=size, random_state=0).split(y, y):
        parts = [scaled(values, training, kind == "linear") for values in views.values()]
        ends = np.cumsum([part.shape[1] for part in parts])
        columns = [slice(int(end) - part.shape[1], int(end)) for end, part in zip(ends, parts, strict=True)]
        if kind == "linear":
            kernels = [Linear(view) for view in columns]
        else:
            widths = [float(part[training].var(axis=0).sum() ** 0.5) for part in parts]
            kernels = [Gaussian(view, scale=width) for view, width in zip(columns, widths, strict=True)]
        X = np.hstack(parts)
        yield kernels, (X[training], y[training]), (X[new], y[new])


def accuracies(model: MKLDR | KernelFisher, training: tuple, new: tuple) -> tuple[float, float]:
    """Of the nearest neighbour and of the nearest class mean, in per cent."""
    Z, Z_new = model.fit(*training).transform(training[0]), model.transform(new[0])
    rules = (KNeighborsClassifier(1), NearestCentroid())
    return tuple(100.0 * rule.fit(Z, training[1]).score(Z_new, new[1]) for rule in rules)


def fisher(kernels: list[Kernel], ridge: float) -> KernelFisher:
    return KernelFisher(sum(kernels) * (1.0 / len(kernels)), ridge=ridge)


def available(names: tuple[str, ...]) -> list[str]:
    """The sets that are there."""
    found = []
    for name in names:
        try:
            views_of(name)
        except FileNotFoundError:
            print(f"{name} is not in the data directory; set KERNELWEAVE_DATA")
        else:
            found.append(name)
    return found


def choose(n_splits: int) -> None:
    """Differences to equal weights by `weights_ridge`: average and worst over sets, kernels and a noise view."""
    print("\nweights_ridge: accuracy less that of equal weights, average / worst of all cells")
    cells = []
    for name in available(CHOSEN_ON):
        for kind in ("linear", "gaussian"):
            for noise in (False, True):
                rows = []
                for kernels, training, new in splits(name, kind, n_splits, noise):
                    models = [MKLDR(kernels, weights_step="fixed")]
                    models += [MKLDR(kernels, weights_ridge=value) for value in WEIGHTS_RIDGES]
                    rows.append([accuracies(model, training, new) for model in models])
                cells.append(np.mean(rows, axis=0))
    differences = np.array(cells)[:, 1:] - np.array(cells)[:, :1]
    print(f"{'':<20}" + "".join(f"{value:>15g}" for value in WEIGHTS_RIDGES))
    for rule, values in zip(("1-NN", "class mean"), np.moveaxis(differences, 2, 0), strict=True):
        print(f"{rule:<20}" + "".join(f"{f'{v.mean():+.2f} / {v.min():+.1f}':>15}" for v in values.T), flush=True)


def show(n_splits: int) -> None:
    """The defaults against the mean kernel."""
    print("\n1-NN / class mean, and 1-NN of MKLDR less that of KernelFisher with ridge=0.01 (standard error)")
    print("| set | kernels | KernelFisher | ridge=0.01 | MKLDR | difference |")
    print("|---|---|---:|---:|---:|---:|")
    for name in available((*SHOWN_ON, *CHOSEN_ON)):
        for kind in ("linear", "gaussian"):
            rows = []
            for kernels, training, new in splits(name, kind, n_splits, False):
                models = [fisher(kernels, 1e-3), fisher(kernels, 0.01), MKLDR(kernels)]
                rows.append([accuracies(model, training, new) for model in models])
            difference = np.array(rows)[:, 2, 0] - np.array(rows)[:, 1, 0]
            error = difference.std(ddof=1) / len(difference) ** 0.5
            cells = [f"{near:.1f} / {mean:.1f}" for near, mean in np.mean(rows, axis=0)]
            label = name + (" *" if name in CHOSEN_ON else "")
            print(
                f"| {label} | {kind} | " + " | ".join([*cells, f"{difference.mean():+.1f} ({error:.1f})"]) + " |",
                flush=True,
            )
    print("* weights_ridge was chosen on it")


def forms(n_splits: int) -> None:
    """The three forms of the objective on linear kernels of low rank."""
    print(f"\n1-NN / class mean (components) on linear kernels, at most {TURNS['max_iter']} iterations")
    print("| set | " + " | ".join(STEPS) + " |")
    print("|---|" + "---:|" * len(STEPS))
    for name in available(LOW_RANK):
        rows = []
        for kernels, training, new in splits(name, "linear", n_splits, False):
            models = [MKLDR(kernels)]
            models += [MKLDR(kernels, LDAGraph("total"), step=step, **TURNS) for step in STEPS[1:]]
            rows.append([(*accuracies(model, training, new), model.alphas_.shape[1]) for model in models])
        cells = [f"{near:.1f} / {mean:.1f} ({count:.0f})" for near, mean, count in np.mean(rows, axis=0)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def compare(quick: bool) -> None:
    """Both tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zero rows, and forms that stop early or leave components empty
        choose(2 if quick else 5)
        show(2 if quick else 5)
        forms(2)
