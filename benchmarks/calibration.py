"""Probabilities by each method of `CalibratedClassifierCV`: ``python -m benchmarks.calibration``.

Prints the mean log loss on test samples, over three splits with at most 300 training samples, for five data sets whose
columns are divided into two views. The last column takes decision values for logarithms of probabilities, as they are.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier
from kernelweave.datasets import load_multifeat
from kernelweave.kernels import Gaussian, Linear

SAMPLES = 300
METHODS = [(method, ensemble) for method in ("sigmoid", "isotonic", "temperature") for ensemble in (True, False)]


def problems() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Samples and labels by name."""
    found = {
        load.__name__[5:]: load(return_X_y=True) for load in (load_iris, load_wine, load_breast_cancer, load_digits)
    }
    X, y = load_multifeat(return_X_y=True)
    chosen = X.columns.str.startswith(("kar", "fou"))
    return {**found, "multifeat": (X.loc[:, chosen].to_numpy(), np.asarray(y))}


def losses(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    """The log loss of each method on one split."""
    half = len(y) // 2
    sizes = {"train_size": min(SAMPLES, half), "test_size": min(500, half - 1)}
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=seed, **sizes)
    middle = X.shape[1] // 2
    kernels = [("first", Gaussian(slice(0, middle))), ("second", Linear(slice(middle, None)))]
    model = make_pipeline(StandardScaler(), MKLClassifier(kernels))
    found = {}
    for method, ensemble in METHODS:
        calibrated = CalibratedClassifierCV(model, method=method, ensemble=ensemble, cv=5).fit(X, y)
        found[method + ("" if ensemble else ", one model")] = log_loss(y_test, calibrated.predict_proba(X_test))
    values = model.fit(X, y).decision_function(X_test)
    values = np.column_stack([-values, values]) if values.ndim == 1 else values
    naive = np.exp(values - values.max(axis=1, keepdims=True))
    return {**found, "softmax": log_loss(y_test, naive / naive.sum(axis=1, keepdims=True))}


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    rows = {name: pd.DataFrame([losses(X, y, seed) for seed in range(3)]).mean() for name, (X, y) in problems().items()}
    print(pd.DataFrame(rows).T.round(3).to_string())


if __name__ == "__main__":
    main()
