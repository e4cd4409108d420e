"""One fold of an experiment: its base kernels, computed once, and the measurement of methods on them.

Features are standardised and kernels normalised with constants of the fold's training part. Each kernel becomes a
`Precomputed` one whose ids are the training samples followed by the validation and test samples, so methods and
hyper-parameters share its values.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from ..estimators.path import fit_path
from ..kernels import KernelStack, Precomputed
from ..model_selection import Split
from ..views import Views
from .declaration import Experiment, Method


class Fold:
    """The data of one fold.

    Parameters
    ----------
    experiment : Experiment
    X : DataFrame or sparse matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    split : Split
    """

    def __init__(self, experiment: Experiment, X: Any, y: np.ndarray, split: Split):
        self.experiment = experiment
        if experiment.standardize and not isinstance(X, pd.DataFrame):
            raise ValueError(f"experiment {experiment.name!r} has sparse data, which it must not standardize")
        views = _standardized(X, split.train) if experiment.standardize else Views(X)
        order = np.concatenate([split.train, split.validation, split.test])
        self._train = views.rows(split.train)
        self._new = views.rows(order[len(split.train) :])
        ends = np.cumsum([0, len(split.train), len(split.validation), len(split.test)])
        frame = self._frame(views.rows(order))
        self._parts = [frame.iloc[first:last] for first, last in pairwise(ends)]
        self._targets = [y[order[first:last]] for first, last in pairwise(ends)]
        self._kernels: dict[str, Precomputed] = {}

    def kernel(self, name: str) -> Precomputed:
        """One of the experiment's kernels over this fold, computed on first use."""
        if name not in self._kernels:
            stack = KernelStack([(name, self.experiment.kernels[name])], self.experiment.normalize).fit(self._train)
            K = stack.gram(0)
            rows = stack.cross(0, self._new, stack.presence(self._new)[:, 0])
            # Only normalisation reads the diagonal of new samples, and these values are normalised already.
            self._kernels[name] = Precomputed(K, view="id").extend(rows, np.ones(len(rows)))
        return self._kernels[name]

    def measure(self, method: Method) -> list[dict[str, Any]]:
        """Fit a method with every setting of its hyper-parameters; one record of results each."""
        estimator = self.experiment.estimator(method, [(name, self.kernel(name)) for name in method.kernels])
        outer, last, values = self.experiment.paths(method)
        records = []
        for setting in outer:
            path = fit_path(estimator.set_params(**setting), self._parts[0], self._targets[0], last, values)
            for value in values:
                start = time.perf_counter()
                model = next(path)
                seconds = time.perf_counter() - start
                records.append(
                    {"parameters": _plain(setting | {last: value}), **self._record(model, method), "seconds": seconds}
                )
        return records

    def _record(self, model: Any, method: Method) -> dict[str, Any]:
        """What a fitted model achieves and what it costs.

        ``cost`` is the number of kernel evaluations for a new sample, each weighted by its kernel's cost: support
        vectors times the kernels whose weight for the sample is not zero, averaged over test samples.
        """
        n_train, n_support = len(self._parts[0]), len(model.support_)
        active = model.kernel_weights(self._parts[2]).to_numpy() > 0
        costs = np.array([self.experiment.costs.get(name, 1.0) for name in method.kernels])
        return {
            "validation": self._score(model, 1) if len(self._parts[1]) else None,
            "test": self._score(model, 2),
            "support": 100.0 * n_support / n_train,
            "active_kernels": float(active.sum(axis=1).mean()),
            "cost": float(n_support * (active @ costs).mean()),
            "solves": int(model.history_["solves"].sum()),
            "gap": float(model.duality_gap_ / max(1.0, abs(model.objective_))),
        }

    def _score(self, model: Any, part: int) -> float:
        predicted, y = model.predict(self._parts[part]), self._targets[part]
        if self.experiment.is_classification:
            return float(100.0 * np.mean(predicted == y))
        return float(np.mean((predicted - y) ** 2))

    def _frame(self, views: Views) -> pd.DataFrame:
        """Ids for the precomputed kernels, beside the views that methods see as features."""
        frame = pd.DataFrame({"id": np.arange(views.n_samples)})
        for view in self.experiment.features:
            columns = views.columns(view)
            values, _ = views.read(columns, view)
            frame = frame.join(pd.DataFrame(values, columns=views.names[columns]))
        return frame


def _standardized(X: pd.DataFrame, train: np.ndarray) -> Views:
    values = X.to_numpy(dtype=float)
    return Views(StandardScaler().fit(values[train]).transform(values), X.columns)


def _plain(setting: dict[str, Any]) -> dict[str, Any]:
    """A setting as JSON can hold it: numbers, text, booleans and None as they are, other values described."""
    unpacked = {name: value.item() if isinstance(value, np.generic) else value for name, value in setting.items()}
    return {
        name: value if value is None or isinstance(value, bool | int | float | str) else repr(value)
        for name, value in unpacked.items()
    }
