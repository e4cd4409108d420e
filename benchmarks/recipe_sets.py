"""Data sets on which the settings of recipes are chosen: ``benchmarks.recipes`` and ``benchmarks.portfolio``.

`raw` returns a set as it is. `draws` have at most 240 training and 300 validation samples: columns are standardised and
words weighted by TF-IDF, by the training samples, and a set of one view is dealt to two, the even and the odd columns.
Files of data sets (``NAME.npz``) are read from ``KERNELWEAVE_DATA``; a set that is not there is left out, with a word,
and those of scikit-learn remain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import datasets as sklearn_datasets
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from kernelweave.datasets import load_dataset
from kernelweave.datasets.loading import data_folder
from kernelweave.views import stack_views

VIEWS = ("multifeat", "protein_fold", "landuse21", "cub10", "wikipedia", "ccv", "movies", "reuters1200")
TABLES = ("heart", "ionosphere", "pima", "sonar", "wdbc", "prostate_tumor", "brain_tumor1", "digits", "wine")
NUMBERS = ("concrete", "winewhite", "diabetes", "friedman", "sparse linear")
COHORTS = ("nutrimouse", "multidrug", "stemcells", "livertox")
TRAINING, VALIDATION = 240, 300


@dataclass(frozen=True)
class Draw:
    """Training and validation samples of one set, prepared."""

    views: Mapping[str, tuple[Any, Any]]
    y: np.ndarray
    y_new: np.ndarray
    is_classification: bool

    def table(self, part: int) -> Any:
        """All views side by side: of the training samples, 0, or of the validation samples, 1."""
        return stack_views({name: parts[part] for name, parts in self.views.items()})


def raw(name: str) -> tuple[dict[str, Any], np.ndarray, bool]:
    """Views, target, and whether it is a classification; ``livertox:3`` is its target 3."""
    if name in ("digits", "wine", "diabetes"):
        X, y = getattr(sklearn_datasets, f"load_{name}")(return_X_y=True)
        return {"X": X}, y, name != "diabetes"
    if name == "friedman":
        X, y = sklearn_datasets.make_friedman1(600, n_features=12, noise=1.0, random_state=0)
        return {"X": X}, y, False
    if name == "sparse linear":
        X, y = sklearn_datasets.make_regression(600, n_features=400, n_informative=20, noise=30.0, random_state=0)
        return {"X": X}, y, False
    if name.partition(":")[0] in COHORTS:
        return _cohort(*name.partition(":")[::2])
    data = load_dataset(name)
    X, classes = data.data, bool(len(data.target_names))
    if sp.issparse(X):
        return {view: X[:, columns].tocsr() for view, columns in data.views.items()}, data.target, classes
    if len(data.views) == 1:
        return {"X": X.to_numpy(float)}, data.target, classes
    return {view: X.filter(regex=f"^{view}__").to_numpy(float) for view in data.views}, data.target, classes


def _cohort(name: str, target: str) -> tuple[dict[str, Any], np.ndarray, bool]:
    """A small cohort of the data directory, with its ``y``, another target or a column of ``y``."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(name)
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        skipped = ("y", "genotype", "groups", "target_names")
        views = {key: file[key].astype(float) for key in file.files if key not in skipped}
        if target.isdecimal():
            return views, file["y"][:, int(target)].astype(float), False
        return views, file[target or "y"], True


def dealt(views: dict[str, Any]) -> dict[str, Any]:
    """The even and the odd columns of an only view that is not sparse."""
    X = next(iter(views.values()))
    if len(views) > 1 or sp.issparse(X):
        return views
    return {"even": X[:, ::2], "odd": X[:, 1::2]} if X.shape[1] > 1 else {"only": X}


def draws(name: str, n_draws: int, training: int = TRAINING) -> list[Draw]:
    views, y, classes = raw(name)
    views = dealt(views)
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


def available(sets: Sequence[str], n_draws: int, training: int = TRAINING) -> dict[str, list[Draw]]:
    """The draws of the sets that are there."""
    found = {}
    for name in sets:
        try:
            found[name] = draws(name, n_draws, training)
        except FileNotFoundError:
            print(f"{name} is not in the data directory; set KERNELWEAVE_DATA")
    return found
