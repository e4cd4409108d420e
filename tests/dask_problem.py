"""Samples, models and functions of blocks for tests on a Dask cluster; its worker processes import them from here."""

import os
import time

import numpy as np
import pandas as pd

from kernelweave import MKLClassifier
from kernelweave.compare.workers import FoldSource
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian

N = 240


def samples(n=N, seed=0):
    """Two views of three columns, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    y = np.array(["no", "yes"])[(X[:, 0] * X[:, 1] + X[:, 3] + 0.3 * rng.normal(size=n) > 0).astype(int)]
    return X, y


def frame_of(X):
    return pd.DataFrame(X, columns=[f"{view}__{j}" for view in ("first", "second") for j in range(3)])


def model(combiner=None, kernels=None, **parameters):
    kernels = [Gaussian([0, 1, 2]), Gaussian([3, 4, 5])] if kernels is None else kernels
    settings = {"approximation": NystroemFeatures(40), "dtype": "float64", "tol": 1e-7, "random_state": 0}
    return MKLClassifier(kernels, combiner, **(settings | parameters))


def frame_model(combiner=None, **parameters):
    return model(combiner, [Gaussian("first"), Gaussian("second")], **parameters)


def count(rows):
    return np.array([rows.n_samples, rows.weight.sum(), rows.first])


def values(rows):
    return rows.views.X[:, 0] * 1.0


def shifted(rows, by):
    return rows.views.X[:, 0] + by[0]


def total(block, factor=1.0):
    return factor * block.sum()


def sleep(block, seconds):
    time.sleep(seconds)
    return 1


def leave(block):
    """Ends the process, as a lack of memory does."""
    os._exit(1)


def fail_if(block, number, message):
    if number == 2:
        raise OSError(message)
    return block


def without_columns(frame, partition_info=None):
    if partition_info is not None and partition_info["number"] == 1:
        return frame[frame.columns[:3]]
    return frame


class SlowFolds(FoldSource):
    """Folds that take a moment."""

    data = "'slow'"

    def load(self):
        return "data"

    def digest(self, loaded):
        return "same"

    def prepare(self, loaded, fold):
        def measure(method):
            time.sleep(1.0)
            return [{"fold": fold, "method": method}]

        return measure
