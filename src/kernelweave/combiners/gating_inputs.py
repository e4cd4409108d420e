"""What gating models see of a sample: x^G of the thesis, section 3.1.

Features of some views (`FeatureSource`) or values of a kernel (`KernelMap`, (3.5)) are standardised, second-order terms
are added if asked for, and rows are scaled: large inputs saturate a softmax at once. All constants come from the
training samples and are kept for new ones. A part of the inputs that a sample lacks is 0 after standardisation, the
mean; a sample that lacks all of them is an error.

==========  =======================================
paper       here
==========  =======================================
x^G         `GatingInputs.transform`
Phi_G(x)    the same, with second-order terms
==========  =======================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..kernels import KernelStack
from ..kernels.base import Kernel
from ..views import Views
from .kernel_map import KernelMap

FARTHEST = 1e100  # where new samples are cut, so that squares of their inputs stay finite
SCALINGS = ("unit-mean", "unit-row", "standard", None)


class GatingInputs:
    """The gating inputs of samples, by constants of the training samples.

    Parameters
    ----------
    source : KernelMap, or a view selector, or None
        None means the features of all kernels.
    quadratic : bool
        Whether to add products of two inputs.
    scaling : {"unit-mean", "unit-row", "standard", None}
        "standard" gives every input mean 0 and variance 1; "unit-mean" divides that by the root of the mean squared
        length of rows and "unit-row" by each row's own length; None leaves the values as they are.
    """

    def __init__(self, source: Any, quadratic: bool, scaling: str | None):
        if scaling not in SCALINGS:
            raise ValueError(f"scaling of Localized must be one of {list(SCALINGS)}, not {scaling!r}")
        self.source = clone(source) if isinstance(source, KernelMap) else FeatureSource(source)
        self.quadratic = quadratic
        self.scaling = scaling

    def fit(self, stack: KernelStack, rng: np.random.RandomState) -> np.ndarray:
        """Learn the constants from the samples of a stack; returns their inputs."""
        self.source.fit(stack, rng)
        values, there = self.source.read(stack.support)
        self.mean_, self.spread_ = np.zeros(values.shape[1]), np.ones(values.shape[1])
        self.length_ = 1.0
        weight = stack.weight
        if self.scaling is not None:
            total = np.maximum(weight @ there, np.finfo(float).tiny)
            size = np.abs(values).max(axis=0)  # moments of values / size neither overflow nor vanish
            size[size == 0.0] = 1.0
            small = values / size
            mean = weight @ small / total  # absent values are 0
            centered = np.where(there, small - mean, 0.0)
            spread = np.sqrt(weight @ np.square(centered, out=centered) / total)
            self.mean_, self.spread_ = size * mean, np.where(spread > 1e-10, size * spread, np.inf)
        inputs = self._expanded(values, there)
        if self.scaling == "unit-mean":
            length = np.sqrt(np.average((inputs**2).sum(axis=1), weights=weight))
            self.length_ = length if length > 0.0 else 1.0
        return self._scaled(inputs)

    def transform(self, views: Views) -> np.ndarray:
        """The inputs of new samples, of shape (n_samples, n_inputs)."""
        return self._scaled(self._expanded(*self.source.read(views)))

    def columns(self) -> np.ndarray:
        """Positions of the columns that are read."""
        return self.source.columns()

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices that are read, see `KernelStack.lookups`."""
        return self.source.lookups()

    def _expanded(self, values: np.ndarray, there: np.ndarray) -> np.ndarray:
        inputs = np.where(there, np.clip((values - self.mean_) / self.spread_, -FARTHEST, FARTHEST), 0.0)
        if not self.quadratic:
            return inputs
        first, second = np.triu_indices(inputs.shape[1])
        return np.hstack([inputs, inputs[:, first] * inputs[:, second]])  # end of section 2.2 of the paper

    def _scaled(self, inputs: np.ndarray) -> np.ndarray:
        if self.scaling != "unit-row":
            return inputs / self.length_
        lengths = np.sqrt((inputs**2).sum(axis=1, keepdims=True))
        return np.divide(inputs, lengths, out=np.zeros_like(inputs), where=lengths > 0.0)


class FeatureSource:
    """The features of some views, side by side.

    Parameters
    ----------
    selector : view selector or None
        None means the views of all kernels. Each name in a list of names is a view that a sample may lack by itself;
        any other selector is one view.
    """

    def __init__(self, selector: Any):
        self.selector = selector

    def fit(self, stack: KernelStack, rng: np.random.RandomState) -> None:
        """Resolve the views into columns."""
        if self.selector is None:
            groups = [(name, _features(name, kernel)) for name, kernel in zip(stack.names, stack.kernels, strict=True)]
        elif isinstance(self.selector, list | tuple) and all(isinstance(entry, str) for entry in self.selector):
            groups = [(view, stack.support.columns(view)) for view in self.selector]
        else:
            label = self.selector if isinstance(self.selector, str) else "gating inputs"
            groups = [(label, stack.support.columns(self.selector))]
        self.groups_: list[tuple[str, np.ndarray]] = []
        taken = np.empty(0, dtype=int)
        for label, columns in groups:
            new = np.setdiff1d(columns, taken)
            if len(new):
                self.groups_.append((label, new))
                taken = np.union1d(taken, new)
        if not self.groups_:
            raise ValueError(f"inputs of Localized selects no columns: {self.selector!r}")

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Values, and which of them are there, both of shape (n_samples, n_inputs)."""
        parts, there = [], []
        for label, columns in self.groups_:
            values, present = views.read(columns, label)
            if sp.issparse(values):
                raise ValueError(
                    f"the gating input {label!r} is sparse, and standardising would make it dense; set inputs of "
                    "Localized to dense columns, or to KernelMap(...) for kernel values as inputs"
                )
            parts.append(values)
            there.append(np.broadcast_to(present[:, None], values.shape))
        there = np.hstack(there)
        if views.can_fetch and not there.all():
            raise ValueError(
                f"{views.first(~there.all(axis=1))} lacks gating inputs, which cannot be fetched: they decide what is; "
                "fit with inputs of Localized set to views that every sample has"
            )
        nothing = ~there.any(axis=1)
        if nothing.any():
            labels = ", ".join(label for label, _ in self.groups_)
            raise ValueError(
                f"{views.first(nothing)} lacks all gating inputs ({labels}); impute them, or set inputs of Localized "
                "to views that every sample has"
            )
        return np.hstack(parts), there

    def columns(self) -> np.ndarray:
        """Positions of the columns that are read."""
        return np.concatenate([columns for _, columns in self.groups_])

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """Features are not looked up."""
        return []


def _features(name: str, kernel: Kernel) -> np.ndarray:
    """The columns of a kernel's features, or an error where it has none."""
    if kernel.reads_ids or getattr(kernel, "takes_text", False):
        raise ValueError(
            f"the kernel {name!r} ({type(kernel).__name__}) has no features that could be gating inputs; set inputs of "
            "Localized to columns of numbers, or to KernelMap(...) for kernel values as inputs"
        )
    return kernel.columns()
