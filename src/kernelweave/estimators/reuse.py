"""What fits with different settings share: the kernels of folds, and solutions along a path.

Models that differ in the combiner's parameters or in C, fitted to the same samples, have the same base kernels. A
search computes those fold by fold (`SharedFoldKernels.of_fold`) and sets `parameters` on each candidate, whose kernels
then look values up.

Neighbouring values of C have neighbouring solutions, once scaled by the ratio of the values, so a path of fits
(`fit_path`), each restarted from the last solution, usually takes fewer solver steps than its fits one by one; little
is saved where C grows tenfold. A machine ignores a start that is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..combiners.named import combiner_named
from ..kernels import Kernel, named_kernels
from ..kernels.arithmetic import KernelSheet, SharedKernel
from ..kernels.resources import warn_if_too_large
from ..kernels.stack import default_kernels
from ..validation.inputs import check_sample_weight
from ..views import Views
from ..views.given import new_views, training_views
from .base import KernelMachineEstimator
from .training import is_small


class SharedFoldKernels:
    """Which kernels of an estimator stay the same while some parameters change, and their values on given folds.

    Kernels whose own parameters change are left as they are, and so are precomputed ones. Nothing is shared by other
    estimators than ours, alone or as the last step of a pipeline, where a parameter of another step changes, with
    combiners that read no Gram matrices (`Projected`), or where no whole Gram matrix is made. Memory: a matrix of
    n_training x n_samples values for each kernel and fold.
    """

    def __init__(self, estimator: Any, changing: Iterable[str]):
        from sklearn.pipeline import Pipeline

        changing = list(changing)
        in_pipeline = isinstance(estimator, Pipeline) and len(estimator.steps) > 0
        self._before = estimator[:-1] if in_pipeline and len(estimator.steps) > 1 else None
        self._model = estimator.steps[-1][1] if in_pipeline else estimator
        self._prefix = f"{estimator.steps[-1][0]}__" if in_pipeline else ""
        self._changing = [name[len(self._prefix) :] for name in changing]
        self.possible = (
            isinstance(self._model, KernelMachineEstimator)
            and all(name.startswith(self._prefix) for name in changing)
            and "kernels" not in self._changing
            and getattr(combiner_named(self._model.combiner), "reads_gram", True)
            and not {"storage", "device"} & set(self._changing)
            and self._model.storage != "lazy"
            and self._model.device == "cpu"
            and self._model.approximation is None
        )

    def _is_small(self, n_kernels: int, n_samples: int) -> bool:
        return self._model.storage == "dense" or is_small(n_kernels, n_samples, self._model.dtype)

    def of_fold(
        self,
        X: Any,
        y: Any,
        train: Sequence[int],
        test: Sequence[int],
        fit_params: Mapping[str, Any] | None = None,
    ) -> list[tuple[str, Kernel, KernelSheet | None]]:
        """Name, unfitted kernel and values of each kernel on a fold (None for a kernel that is not shared)."""
        parts = [
            X.rows(np.asarray(part)) if isinstance(X, Views) else _safe_indexing(X, np.asarray(part))
            for part in (train, test)
        ]
        targets = None if y is None else _safe_indexing(y, np.asarray(train))
        if self._before is not None:
            before = clone(self._before)
            first = before.fit_transform(parts[0], targets)
            parts = [first, before.transform(parts[1])]
        weight = (fit_params or {}).get(f"{self._prefix}sample_weight")
        weight = None if weight is None else _safe_indexing(np.asarray(weight), np.asarray(train))
        return self.of_parts(parts[0], parts[1], targets, weight)

    def of_parts(
        self, X: Any, others: Any, targets: Any, sample_weight: np.ndarray | None = None
    ) -> list[tuple[str, Kernel, KernelSheet | None]]:
        """The same from the training samples of a fold and its others, as the estimator gets them."""
        model = clone(self._model)
        views = training_views(model, X)
        new = new_views(model, others, np.arange(model.n_features_in_))
        weight = check_sample_weight(sample_weight, views.n_samples)
        targets = None if targets is None else np.asarray(targets)
        if not weight.all():
            kept = np.flatnonzero(weight)
            views, weight = views.rows(kept), weight[kept]
            targets = None if targets is None else targets[kept]
        targets = None if targets is None else model._kernel_targets(targets, weight)
        kernels = default_kernels(views) if model.kernels is None else named_kernels(model.kernels)
        if not self._is_small(len(kernels), views.n_samples):
            return [(name, kernel, None) for name, kernel in kernels]
        return [(name, kernel, self._sheet(name, kernel, views, new, weight, targets)) for name, kernel in kernels]

    def warn_of_memory(self, n_samples: int, n_folds: int) -> None:
        n_kernels = 1 if self._model.kernels is None else len(self._model.kernels)
        if not self._is_small(n_kernels, n_samples):
            return
        what = f"sharing {n_kernels} kernels of {n_folds} folds (share_kernels)"
        warn_if_too_large(n_kernels * n_folds, n_samples, np.float64, what, per_kernel=True, has_dtype=False)

    def parameters(self, folds: Sequence[list[tuple[str, Kernel, KernelSheet | None]]]) -> dict[str, Any]:
        """The parameters with which fits to these folds, as `of_fold` returns them, look kernel values up."""
        kernels = []
        for kernel_by_fold in zip(*folds, strict=True):
            name, kernel, first = kernel_by_fold[0]
            sheets = [sheet for _, _, sheet in kernel_by_fold]
            kernels.append((name, kernel if first is None else SharedKernel(kernel, sheets)))
        return {f"{self._prefix}kernels": kernels}

    def _sheet(
        self, name: str, kernel: Kernel, views: Views, new: Views, weight: np.ndarray, y: np.ndarray | None
    ) -> KernelSheet | None:
        """The values of a kernel, or None where its parameters change, or where it looks values up itself."""
        own = f"kernels__{name}"
        changes = any(parameter == own or parameter.startswith(f"{own}__") for parameter in self._changing)
        return None if changes or kernel.reads_ids else KernelSheet.compute(kernel, views, new, weight, name, y)


def fit_path(estimator: Any, X: Any, y: Any, parameter: str, values: Sequence[Any]) -> Iterator[Any]:
    """Fit an estimator once for each value of a parameter, in order, restarting from the last solution.

    Yields a fitted clone for each value, whose solution meets the same tolerance as without restarts; a path from small
    to large C is usually fastest. Another scikit-learn estimator works too, without restarts.

    >>> from kernelweave import MKLClassifier, datasets
    >>> X, y = datasets.make_gauss(4, 200, random_state=0)
    >>> small, large = fit_path(MKLClassifier(), X, y, "C", [0.01, 1.0])
    >>> len(large.support_) < len(small.support_)
    True
    """
    if parameter == "C" and any(isinstance(value, str) for value in values):
        raise ValueError('fit_path takes numbers as values of C, and not "gcv", which chooses C by itself')
    start, last = None, None
    for value in values:
        model = clone(estimator).set_params(**{parameter: value})
        if start is not None:
            model._start = start * (_growth(value, last) if parameter == "C" else 1.0)
        model.fit(X, y)
        model.__dict__.pop("_start", None)
        start, last = _coefficients(model, np.shape(X)[0]), value
        yield model


def _growth(value: Any, last: Any) -> float:
    """Ratio of two costs: coefficients at their bound stay there. Without it a restart costs more than it saves."""
    return float(value) / float(last) if isinstance(value, Real) and isinstance(last, Real) else 1.0


def _coefficients(model: Any, n_samples: int) -> np.ndarray | None:
    if not hasattr(model, "dual_coef_") or not hasattr(type(model), "_start"):
        return None
    coef = np.zeros((n_samples, len(model.dual_coef_)))
    coef[model.support_] = model.dual_coef_.T
    return coef
