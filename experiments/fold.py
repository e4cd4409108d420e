"""One fold of an experiment: its base kernels, computed once, and the measurement of methods on them.

Features are standardised and kernels normalised with constants of the fold's training part. Each kernel becomes a
`Precomputed` one whose ids are the training samples followed by the validation and test samples, so methods and
hyper-parameters share its values. Methods that project are given the features in the place of kernel values.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from experiments.declaration import Experiment, Method
from kernelweave.estimators.base import KernelMachineEstimator
from kernelweave.estimators.fitted import n_compared
from kernelweave.estimators.reuse import fit_path
from kernelweave.kernels import KernelStack, Precomputed
from kernelweave.model_selection import Split
from kernelweave.views import Views


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
            self._kernels[name] = _FoldKernel(K, view="id").extend(rows, np.ones(len(rows)))
        return self._kernels[name]

    def measure(self, method: Method) -> list[dict[str, Any]]:
        """Fit a method with every setting of its hyper-parameters; one record of results each."""
        kernel = self.experiment.kernels.__getitem__ if method.from_features else self.kernel
        estimator = self.experiment.estimator(method, [(name, kernel(name)) for name in method.kernels])
        parts = self._seen_by(method)
        outer, last, values = self.experiment.paths(method)
        records = []
        fits = fit_path if method.estimator is None else _fits
        for setting in outer:
            path = fits(estimator.set_params(**setting), parts[0], self._targets[0], last, values)
            for value in values:
                start = time.perf_counter()
                model = next(path)
                seconds = time.perf_counter() - start
                parameters = {"parameters": _plain(setting | {last: value})}
                records.append(parameters | self._record(model, method, parts) | {"seconds": seconds})
        return records

    def _seen_by(self, method: Method) -> list[pd.DataFrame]:
        """Training, validation and test samples as they are given to a method."""
        return [part.drop(columns="id") for part in self._parts] if method.from_features else self._parts

    def _record(self, model: Any, method: Method, parts: list[pd.DataFrame]) -> dict[str, Any]:
        """What a fitted model achieves, its kernel weights (alike where it learns none), and what it costs."""
        validation, test = (self._score(model, part, y) for part, y in zip(parts[1:], self._targets[1:], strict=True))
        scores = {"validation": validation, "test": test}
        machine, new = (model[-1], model[:-1].transform) if isinstance(model, Pipeline) else (model, lambda X: X)
        if isinstance(machine, KernelMachineEstimator):
            return scores | self._machine_costs(machine, new(parts[2]), method)
        first = model[0] if isinstance(model, Pipeline) else model
        n_kernels, n_train = len(method.kernels), len(parts[0])
        alike = pd.Series(1.0 / n_kernels, list(method.kernels))
        weights = getattr(first, "kernel_weights_", alike)
        # Every training sample is looked at, by the kernels with a weight.
        return scores | {
            **self._charges(method, n_train, weights.to_numpy()[None, :] > 0),
            "weights": {name: float(weight) for name, weight in weights.items()},
            "costs": None,
            "solves": int(getattr(first, "n_iter_", 1)),
            "gap": 0.0,
        }

    def _machine_costs(self, model: KernelMachineEstimator, X: Any, method: Method) -> dict[str, Any]:
        """Costs of a kernel machine for samples X; ``costs`` are the d_m that it learned with, where it has any."""
        weights = model.gates(X) if hasattr(model, "gates") else model.kernel_weights(X)  # as the papers print them
        learned_with = getattr(model.combiner_, "costs_", None)
        relative = float(model.duality_gap_ / max(1.0, abs(model.objective_)))
        return {
            **self._charges(method, n_compared(model), weights.to_numpy() > 0),
            "weights": {name: float(weight) for name, weight in zip(method.kernels, weights.mean(), strict=True)},
            "costs": None if learned_with is None else {name: float(cost) for name, cost in learned_with.items()},
            "solves": int(model.history_["solves"].sum()),
            "gap": relative if np.isfinite(relative) else None,  # JSON has no NaN
        }

    def _charges(self, method: Method, n_support: int, active: np.ndarray) -> dict[str, float]:
        """What prediction takes, from the training samples and the kernels (by sample) that it looks at.

        ``cost`` is the number of kernel evaluations for a new sample, each weighted by its kernel's cost: support
        vectors times the kernels whose weight for the sample is not zero, averaged over test samples. ``total_cost``
        is the cost of thesis 2.8 in per cent of what all training samples and all kernels of the method would cost.
        """
        n_train = len(self._parts[0])
        costs = np.array([self.experiment.costs.get(name, 1.0) for name in method.kernels])
        charged = n_support * (active @ costs).mean()
        return {
            "support": 100.0 * n_support / n_train,
            "active_kernels": float(active.sum(axis=1).mean()),
            "cost": float(charged),
            "total_cost": float(100.0 * charged / (n_train * costs.sum())),  # thesis 2.8
        }

    def _score(self, model: Any, X: pd.DataFrame, y: np.ndarray) -> float | None:
        if len(y) == 0:
            return None
        predicted = model.predict(X)
        if self.experiment.is_classification:
            return float(100.0 * np.mean(predicted == y))
        return float(np.mean((predicted - y) ** 2))

    def _frame(self, views: Views) -> pd.DataFrame:
        """Ids for the precomputed kernels, beside the views that methods get as features."""
        frame = pd.DataFrame({"id": np.arange(views.n_samples)})
        for view in self.experiment.features:
            columns = views.columns(view)
            values, _ = views.read(columns, view)
            frame = frame.join(pd.DataFrame(values, columns=np.asarray(views.names)[columns]))
        return frame


class _FoldKernel(Precomputed):
    """Values of a kernel over a fold, checked by the stack that computed them, so that no fit checks them again."""

    positive_semidefinite = True


def _standardized(X: pd.DataFrame, train: np.ndarray) -> Views:
    values = X.to_numpy(dtype=float)
    return Views(StandardScaler().fit(values[train]).transform(values), X.columns)


def _fits(estimator: Any, X: Any, y: np.ndarray, name: str, values: list[Any]) -> Iterator[Any]:
    """One fit after the other along the values of a parameter."""
    for value in values:
        yield clone(estimator).set_params(**{name: value}).fit(X, y)


def _plain(setting: dict[str, Any]) -> dict[str, Any]:
    """A setting as JSON can hold it: numbers, text, booleans and None as they are, other values described."""
    unpacked = {name: value.item() if isinstance(value, np.generic) else value for name, value in setting.items()}
    return {
        name: value if value is None or isinstance(value, bool | int | float | str) else repr(value)
        for name, value in unpacked.items()
    }
