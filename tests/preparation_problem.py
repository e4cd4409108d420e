"""Views that kernels prepare, for tests of models with transformers."""

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from kernelweave.kernels import Gaussian, KernelStack, Laplacian, Linear, Polynomial

rng = np.random.default_rng(0)
N, N_TRAIN = 50, 36
VALUES = rng.normal(size=(N, 6)) * [1.0, 5.0, 20.0, 0.1, 1.0, 3.0] + [0.0, 5.0, -20.0, 1.0, 2.0, 0.0]
COLUMNS = [f"{view}__{column}" for view in ("a", "b", "c") for column in range(2)]
X = pd.DataFrame(VALUES, columns=COLUMNS)
Y = np.where(VALUES[:, 0] + (VALUES[:, 1] - 5.0) / 5.0 + 0.3 * rng.normal(size=N) > 0, "yes", "no")
NUMBERS = VALUES[:, 0] + np.sin(VALUES[:, 4])
MISSING = X.copy()
MISSING.loc[[3, 17, 40], ["a__0", "a__1"]] = np.nan
MISSING.loc[[8, 45], ["b__0", "b__1"]] = np.nan
KERNELS = [Linear("a"), Gaussian("b"), Polynomial("c"), ("again", Laplacian("a"))]
DIFFERENTIABLE = KERNELS[:3]


def with_scalers(kernels):
    """The same kernels, each with a scaler."""
    named = [entry if isinstance(entry, tuple) else (entry.name, entry) for entry in kernels]
    return [(name, clone(kernel).set_params(transformer=StandardScaler())) for name, kernel in named]


def scaled(frame):
    """A frame scaled by hand, view by view, by constants of those of its first samples that have the view."""
    frame = frame.copy()
    for view in ("a", "b", "c"):
        columns = [f"{view}__0", f"{view}__1"]
        frame[columns] = StandardScaler().fit(frame[columns][:N_TRAIN].dropna()).transform(frame[columns])
    return frame


def rounds_alike():
    """Whether kernels of views that were scaled by hand are equal to the last bit to those that scale them.

    They are not where a data frame's columns lie in memory in another order than those of its selections (pandas 2.1).
    """
    pairs = ((KERNELS, scaled(X)), (with_scalers(KERNELS), X))
    by_hand, inside = (KernelStack(kernels).fit(frame[:N_TRAIN]) for kernels, frame in pairs)
    return np.array_equal(by_hand.matrices(), inside.matrices())
