"""Gating inputs, what a gating model reads of a sample: x^G of the thesis (Gönen 2010), section 3.1.

Features of some views (`FeatureSource`) or values of a kernel (`KernelMap`, (3.5)) are standardised, second-order terms
are added with `quadratic`, and rows are scaled: large inputs saturate a softmax at once. All constants come from the
training samples and are kept for new ones. A part of the inputs that a sample lacks is 0 after standardisation, the
mean; a sample that lacks all of them is an error. Sparse views are made dense, as standardising them would; those of
more than 8192 columns are gating inputs with ``scaling=None`` only, by which the user chooses that.

==========  =======================================
paper       here
==========  =======================================
x^G         `GatingInputs.transform`
Phi_G(x)    the same, with second-order terms
==========  =======================================
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from ...kernels import KernelStack
from ...kernels.base import Kernel
from ...kernels.features import squared_norms
from ...solvers.tiles import standardize
from ...validation import Choice, Flag, check
from ...views import Views
from .feature_source import FeatureSource, check_nothing_to_fetch, dense, equal
from .kernel_map import KernelMap

FARTHEST = 1e50  # where new samples are cut, so that squares of products of their inputs stay finite
SCALINGS = ("unit-mean", "unit-row", "standard", None)


class GatingInputs:
    """The gating inputs of samples, by constants of the training samples.

    Parameters
    ----------
    source : KernelMap, ProjectedFeatures, or a view selector, or None
        None means the features of all kernels.
    quadratic : bool
        Whether to add products of two inputs.
    scaling : {"unit-mean", "unit-row", "standard", None}
        "standard" gives every input mean 0 and variance 1; "unit-mean" divides that by the root of the mean squared
        length of rows and "unit-row" by each row's own length; None leaves the values as they are.
    """

    def __init__(self, source: Any, quadratic: bool, scaling: str | None):
        check("the gating inputs", "scaling", scaling, Choice(*SCALINGS))
        if isinstance(source, KernelMap):
            source = clone(source)
        else:
            source = source if isinstance(source, ProjectedFeatures) else FeatureSource(source)
            source.takes_sparse = scaling is None
        self.source = source
        self.quadratic = check("the gating inputs", "quadratic", quadratic, Flag())
        self.scaling = scaling

    def fit(self, stack: KernelStack, rng: np.random.RandomState) -> np.ndarray:
        """Learn the constants from the samples of a stack; returns their inputs."""
        values, there = self.source.fit(stack, rng)
        self.mean_, self.spread_ = np.zeros(values.shape[1]), np.ones(values.shape[1])
        self.length_ = 1.0
        weight = stack.weight
        if self.scaling is not None:
            total = np.maximum(weight @ there, np.finfo(float).tiny)
            size = np.abs(values).max(axis=0)  # moments of values / size neither overflow nor vanish
            size[size == 0.0] = 1.0
            small = values / size
            mean = weight @ small / total  # absent values are 0
            small -= mean
            small *= there
            spread = np.sqrt(weight @ np.square(small, out=small) / total)
            del small
            self.mean_, self.spread_ = size * mean, np.where(spread > 1e-10, size * spread, np.inf)
        inputs = self._expanded(values, there)
        if self.scaling == "unit-mean":
            length = np.sqrt(np.average(squared_norms(inputs), weights=weight))
            self.length_ = length if length > 0.0 else 1.0
        return self._scaled(inputs)

    def transform(self, views: Views) -> np.ndarray:
        """The inputs of new samples, of shape (n_samples, n_inputs)."""
        return self._scaled(self._expanded(*self.source.read(views)))

    def narrow(self, views: Views, farthest: float) -> np.ndarray:
        """The same in float32, with absolute values cut at `farthest`."""
        values, there = self.source.read(views)
        if self.quadratic or self.scaling == "unit-row" or not is_whole(there):
            inputs = self._scaled(self._expanded(values, there))
            return np.clip(inputs, -farthest, farthest, out=inputs).astype(np.float32)
        found = np.empty(values.shape, dtype=np.float32)
        standardize(np.ascontiguousarray(values), self.mean_, self.spread_ * self.length_, farthest, found)
        return found

    @property
    def reads_features(self) -> bool:
        """Whether the inputs are the features that are projected, of all kernels."""
        return isinstance(self.source, ProjectedFeatures)

    def restrict(self, stack: KernelStack) -> GatingInputs:
        """The same with what prediction keeps of the kernels."""
        if not self.reads_features:
            return self
        lean = copy(self)
        lean.source = self.source.restrict(stack)
        return lean

    def replace(self, old: Kernel, new: Kernel) -> None:
        """Install a kernel with further ids in the place of the gating kernel, if that reads the same matrix."""
        self.source.replace(old, new)

    def columns(self) -> np.ndarray:
        """Positions of the columns that are read."""
        return self.source.columns()

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices that are read, see `KernelStack.lookups`."""
        return self.source.lookups()

    def names(self, stack: KernelStack) -> list[str]:
        """What the inputs are called, of a stack that they were fitted with."""
        names = self.source.names(stack)
        if not self.quadratic:
            return names
        first, second = np.triu_indices(len(names))
        return names + [f"{names[a]} * {names[b]}" for a, b in zip(first, second, strict=True)]

    def _expanded(self, values: np.ndarray, there: np.ndarray) -> np.ndarray:
        inputs = np.subtract(values, self.mean_, order="C")
        inputs /= self.spread_
        np.clip(inputs, -FARTHEST, FARTHEST, out=inputs)
        if not is_whole(there):
            inputs *= there
        if not self.quadratic:
            return inputs
        first, second = np.triu_indices(inputs.shape[1])
        return np.hstack([inputs, inputs[:, first] * inputs[:, second]])  # end of section 2.2 of the paper

    def _scaled(self, inputs: np.ndarray) -> np.ndarray:
        if self.scaling != "unit-row":
            return np.divide(inputs, self.length_, out=inputs)
        lengths = np.sqrt(squared_norms(inputs))[:, None]
        return np.divide(inputs, lengths, out=np.zeros_like(inputs), where=lengths > 0.0)


def is_whole(there: np.ndarray) -> bool:
    """Whether no value is missing."""
    return bool(there[:1, :1].all() if there.strides == (0, 0) else there.all())


class NoInputs:
    """The inputs of a model without a gating model: none."""

    reads_features = False
    source = None

    def fit(self, stack: KernelStack, rng: np.random.RandomState) -> np.ndarray:
        """Rows without columns."""
        return np.zeros((stack.n_samples, 0))

    def transform(self, views: Views) -> np.ndarray:
        """Rows without columns."""
        return np.zeros((views.n_samples, 0))

    def narrow(self, views: Views, farthest: float) -> np.ndarray:
        """Rows without columns, in float32."""
        return np.zeros((views.n_samples, 0), dtype=np.float32)

    def restrict(self, stack: KernelStack) -> NoInputs:
        """There is nothing to leave out."""
        return self

    def names(self, stack: KernelStack) -> list[str]:
        """No columns have names."""
        return []

    def replace(self, old: Kernel, new: Kernel) -> None:
        """There is no gating kernel."""

    def columns(self) -> np.ndarray:
        """No columns are read."""
        return np.empty(0, dtype=int)

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """Nothing is looked up."""
        return []


class ProjectedFeatures:
    """A source of gating inputs: all features that are projected, side by side; equal ones once.

    Parameters
    ----------
    maps : list of ViewFeatures or KernelFeatures
        Fitted.
    features : list of ndarray
        Those of the training samples.
    """

    takes_sparse = False

    def __init__(self, maps: list[Any], features: list[Any]):
        self.maps = maps
        self._features: list[Any] | None = features  # until `fit`
        self.chosen = [m for m in range(len(maps)) if not any(equal(features[m], features[h]) for h in range(m))]

    def fit(self, stack: KernelStack, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Remember the samples that kernels compare with; returns what `read` would, from the features at hand."""
        self.stack = stack
        features, self._features = self._features or [], None
        return self._joined(stack.support, lambda m: features[m])

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Values, and which of them are there, both of shape (n_samples, n_inputs)."""

        def features(m: int) -> Any:
            values = self.maps[m].read(self.stack, m, views)
            return self.maps[m].features(values) if self.maps[m].by_kernel else values

        return self._joined(views, features)

    def _joined(self, views: Views, features: Callable[[int], Any]) -> tuple[np.ndarray, np.ndarray]:
        parts, there = [], []
        for m in self.chosen:
            values = dense(features(m), f"the view of the kernel {self.stack.names[m]!r}", self.takes_sparse)
            parts.append(values)
            there.append(np.broadcast_to(self.stack.kernels[m].present(views)[:, None], values.shape))
        known = np.hstack(there)
        check_nothing_to_fetch(views, known)
        return np.hstack(parts), known

    def restrict(self, stack: KernelStack) -> ProjectedFeatures:
        """The same with what prediction keeps of the kernels."""
        lean = copy(self)
        lean.stack = stack
        lean.maps = [each if m in self.chosen else each.settled() for m, each in enumerate(self.maps)]
        return lean

    def columns(self) -> np.ndarray:
        """Positions of the columns that are read."""
        return np.concatenate([self.stack.kernels[m].columns() for m in self.chosen])

    def names(self, stack: KernelStack) -> list[str]:
        """Kernel and feature."""
        return [f"{stack.names[m]}: {name}" for m in self.chosen for name in self.maps[m].names]

    def lookups(self) -> list:
        """None beside those of the kernels, which `ProjectedKernel.lookups` lists."""
        return []

    def replace(self, old: Kernel, new: Kernel) -> None:
        """There is no gating kernel beside the kernels."""
