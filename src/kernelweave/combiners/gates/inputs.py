"""Gating inputs, what a gating model reads of a sample: x^G of the thesis (Gönen 2010), section 3.1.

Features of some views (`FeatureSource`) or values of a kernel (`KernelMap`, (3.5)) are standardised, second-order terms
are added with `quadratic`, and rows are scaled: large inputs saturate a softmax at once. All constants come from the
training samples and are kept for new ones. A part of the inputs that a sample lacks is 0 after standardisation, the
mean; a sample that lacks all of them is an error. Sparse views are gating inputs with ``scaling=None`` only: they are
then made dense, as large as standardising would make them, because the user chose that.

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
import scipy.sparse as sp
from sklearn.base import clone

from ...kernels import KernelStack
from ...kernels.base import Kernel
from ...kernels.features import squared_norms
from ...validation import Choice, Flag, blamed_on, check
from ...views import Views
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


class FeatureSource:
    """The features of some views, side by side.

    Parameters
    ----------
    selector : view selector or None
        None means the views of all kernels. Each name in a list of names is a view that a sample may lack by itself;
        any other selector is one view.
    """

    takes_sparse = False

    def __init__(self, selector: Any):
        self.selector = selector

    def fit(self, stack: KernelStack, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Resolve the views into columns; returns what `read` gives of the training samples."""
        if self.selector is None:
            groups = [(name, _features(name, kernel)) for name, kernel in zip(stack.names, stack.kernels, strict=True)]
        elif isinstance(self.selector, list | tuple) and all(isinstance(entry, str) for entry in self.selector):
            with blamed_on("inputs"):
                groups = [(view, _columns(view, stack)) for view in self.selector]
        else:
            label = self.selector if isinstance(self.selector, str) else "gating inputs"
            with blamed_on("inputs"):
                groups = [(label, stack.support.columns(self.selector))]
        self.groups_: list[tuple[str, np.ndarray]] = []
        taken = np.empty(0, dtype=int)
        for label, columns in groups:
            new = np.setdiff1d(columns, taken)
            if len(new):
                self.groups_.append((label, new))
                taken = np.union1d(taken, new)
        if not self.groups_:
            raise ValueError(f"the combiner's inputs selects no columns: {self.selector!r}")
        return self.read(stack.support)

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Values, and which of them are there, both of shape (n_samples, n_inputs)."""
        parts, there = [], []
        for label, columns in self.groups_:
            values, present = views.read(columns, label)
            values = _dense(values, f"the gating input {label!r}", self.takes_sparse)
            parts.append(values)
            there.append(np.broadcast_to(present[:, None], values.shape))
        known = np.hstack(there)
        _check_nothing_to_fetch(views, known)
        nothing = ~np.any(known, axis=1)
        if nothing.any():
            labels = ", ".join(label for label, _ in self.groups_)
            raise ValueError(
                f"{views.first(nothing)} lacks all gating inputs ({labels}); impute them, or set the combiner's inputs "
                "to views that every sample has"
            )
        return np.hstack(parts), known

    def columns(self) -> np.ndarray:
        """Positions of the columns that are read."""
        return np.concatenate([columns for _, columns in self.groups_])

    def names(self, stack: KernelStack) -> list[str]:
        """The columns' names, or their positions."""
        names = stack.support.names
        return [str(column if names is None else names[column]) for column in self.columns()]

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """Features are not looked up."""
        return []

    def replace(self, old: Kernel, new: Kernel) -> None:
        """There is no gating kernel."""


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
        self.chosen = [m for m in range(len(maps)) if not any(_equal(features[m], features[h]) for h in range(m))]

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
            values = _dense(features(m), f"the view of the kernel {self.stack.names[m]!r}", self.takes_sparse)
            parts.append(values)
            there.append(np.broadcast_to(self.stack.kernels[m].present(views)[:, None], values.shape))
        known = np.hstack(there)
        _check_nothing_to_fetch(views, known)
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


def _dense(values: Any, what: str, takes_sparse: bool) -> np.ndarray:
    """Features as an array; sparse ones only with ``scaling=None``, by which the user allows it."""
    if not sp.issparse(values):
        return values
    if takes_sparse:
        return values.toarray()
    raise ValueError(
        f"{what} is sparse, and standardising would make it dense; set the combiner's inputs to dense columns, or to "
        "KernelMap(...) for kernel values as inputs, or its scaling to None for values as they are"
    )


def _check_nothing_to_fetch(views: Views, there: np.ndarray) -> None:
    """Refuse samples that lack gating inputs where views can be fetched: the gates would decide what is.

    Parameters
    ----------
    views : Views
    there : ndarray of bool, shape (n_samples, n_inputs)
        Which of the inputs are there.
    """
    if views.can_fetch and not there.all():
        raise ValueError(
            f"{views.first(~there.all(axis=1))} lacks gating inputs, which cannot be fetched: they decide what is; "
            "fit with the combiner's inputs set to views that every sample has"
        )


def _columns(view: str, stack: KernelStack) -> np.ndarray:
    """The columns of a view, or those of the kernel of that name where several kernels read one view."""
    named = dict(zip(stack.names, stack.kernels, strict=True))
    names: Any = [] if stack.support.names is None else stack.support.names
    is_view = any(name == view or str(name).startswith(f"{view}__") for name in names)
    return stack.support.columns(view) if is_view or view not in named else _features(view, named[view])


def _features(name: str, kernel: Kernel) -> np.ndarray:
    """The columns of a kernel's features, or an error where it has none."""
    if kernel.reads_ids or getattr(kernel, "takes_text", False):
        raise ValueError(
            f"the kernel {name!r} ({type(kernel).__name__}) has no features that could be gating inputs; set the "
            "combiner's inputs to columns of numbers, or to KernelMap(...) for kernel values as inputs"
        )
    return kernel.columns()


def _equal(features: Any, others: Any) -> bool:
    if features.shape != others.shape or sp.issparse(features) != sp.issparse(others):
        return False
    return (features != others).nnz == 0 if sp.issparse(features) else np.array_equal(features, others)
