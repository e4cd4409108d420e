"""`FeatureSource`: features of views as gating inputs, as they are in X or as the kernels prepare them.

A kernel with a transformer compares what that returns, and gates read the same features. Two kernels that prepare a
view alike give them once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...kernels import KernelStack
from ...kernels.base import Kernel, ViewKernel
from ...validation import blamed_on
from ...views import Views

WIDEST = 8192  # columns of a sparse view that may become dense: for as many samples that is one more Gram matrix
_Group = tuple[str, np.ndarray, ViewKernel | None]  # name, columns, and the kernel that prepares them


class FeatureSource:
    """The features of some views, side by side.

    Parameters
    ----------
    selector : view selector or None
        None means the views of all kernels. Each name in a list of names is a view that a sample may lack by itself;
        any other selector is one view. A view that kernels prepare by a transformer is read as the first of them does.
    """

    takes_sparse = False
    readers_: list[ViewKernel | None] | None = None  # the kernels that prepare groups, if some do

    def __init__(self, selector: Any):
        self.selector = selector

    def fit(self, stack: KernelStack, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Resolve the views into columns; returns what `read` gives of the training samples."""
        if self.selector is None:
            groups = [
                group
                for name, kernel in zip(stack.names, stack.kernels, strict=True)
                for group in _features(name, kernel)
            ]
        elif isinstance(self.selector, list | tuple) and all(isinstance(entry, str) for entry in self.selector):
            with blamed_on("inputs"):
                groups = [group for view in self.selector for group in _named(view, stack)]
        else:
            label = self.selector if isinstance(self.selector, str) else "gating inputs"
            with blamed_on("inputs"):
                groups = [_group(label, stack.support.columns(self.selector), stack)]
        self.groups_: list[tuple[str, np.ndarray]] = []
        readers: list[ViewKernel | None] = []
        taken, prepared = np.empty(0, dtype=int), list[Any]()
        for label, columns, reader in groups:
            if reader is not None:
                values, _ = reader.read(stack.support)
                new = columns[:0] if any(equal(values, others) for others in prepared) else columns
                prepared.append(values)
            else:
                new = np.setdiff1d(columns, taken)
                taken = np.union1d(taken, new)
            if len(new):
                self.groups_.append((label, new))
                readers.append(reader)
        if not self.groups_:
            raise ValueError(f"the combiner's inputs selects no columns: {self.selector!r}")
        self.readers_ = readers if prepared else None
        return self.read(stack.support)

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Values, and which of them are there, both of shape (n_samples, n_inputs)."""
        if self.readers_ is None and views.is_finite():
            values, _ = views.read(self.columns(), "gating inputs")
            return values, np.broadcast_to(np.True_, values.shape)
        parts, there = [], []
        for label, columns, reader in self._groups():
            values, present = views.read(columns, label) if reader is None else reader.read(views)
            values = dense(values, f"the gating input {label!r}", self.takes_sparse)
            parts.append(values)
            there.append(np.broadcast_to(present[:, None], values.shape))
        known = np.hstack(there)
        check_nothing_to_fetch(views, known)
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
        """The columns' names, or their positions; after the name of the kernel those of what it prepares."""
        names, found = stack.support.names, []
        for label, columns, reader in self._groups():
            if reader is None:
                found += [str(column if names is None else names[column]) for column in columns]
            else:
                found += [f"{label}: {name}" for name in reader.feature_names()]
        return found

    def _groups(self) -> Iterator[tuple[str, np.ndarray, ViewKernel | None]]:
        readers = [None] * len(self.groups_) if self.readers_ is None else self.readers_
        for (label, columns), reader in zip(self.groups_, readers, strict=True):
            yield label, columns, reader

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """Features are not looked up."""
        return []

    def replace(self, old: Kernel, new: Kernel) -> None:
        """There is no gating kernel."""


def dense(values: Any, what: str, takes_sparse: bool) -> np.ndarray:
    """Features as an array; sparse ones of many columns only with ``scaling=None``, by which the user allows it."""
    if not sp.issparse(values):
        return values
    if takes_sparse or values.shape[1] <= WIDEST:
        return values.toarray()
    raise ValueError(
        f"{what} is sparse, and standardising would make its {values.shape[1]} columns dense; set the combiner's "
        "inputs to other columns, or to KernelMap(...) for kernel values as inputs, or its scaling to None for values "
        "as they are"
    )


def check_nothing_to_fetch(views: Views, there: np.ndarray) -> None:
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


def _named(view: str, stack: KernelStack) -> list[_Group]:
    """The columns of a view, or those of the kernel of that name where several kernels read one view."""
    named = dict(zip(stack.names, stack.kernels, strict=True))
    names: Any = [] if stack.support.names is None else stack.support.names
    is_view = any(name == view or str(name).startswith(f"{view}__") for name in names)
    if is_view or view not in named:
        return [_group(view, stack.support.columns(view), stack)]
    return _features(view, named[view])


def _group(label: str, columns: np.ndarray, stack: KernelStack) -> _Group:
    """Columns as they are or, where all kernels of just these columns prepare them, as the first of those does."""
    parts = [part for kernel in stack.kernels for part in kernel.parts()]
    same = [part for part in parts if np.array_equal(np.sort(part.columns()), np.sort(columns))]
    readers = [_reader(part) for part in same]
    return label, columns, readers[0] if readers and None not in readers else None


def _reader(kernel: Kernel) -> ViewKernel | None:
    """A kernel that has a transformer."""
    return kernel if isinstance(kernel, ViewKernel) and kernel.preparation_ is not None else None


def _features(name: str, kernel: Kernel) -> list[_Group]:
    """The features of a kernel, or an error where it has none."""
    parts = kernel.parts()
    if any(_reader(part) is not None for part in parts):
        return [(name, part.columns(), _reader(part)) for part in parts if len(part.columns())]
    if kernel.reads_ids or getattr(kernel, "takes_text", False):
        raise ValueError(
            f"the kernel {name!r} ({type(kernel).__name__}) has no features that could be gating inputs; set the "
            "combiner's inputs to columns of numbers, or to KernelMap(...) for kernel values as inputs"
        )
    return [(name, kernel.columns(), None)]


def equal(features: Any, others: Any) -> bool:
    """Whether two arrays, or two CSR matrices, of features are the same."""
    if features.shape != others.shape or sp.issparse(features) != sp.issparse(others):
        return False
    return (features != others).nnz == 0 if sp.issparse(features) else np.array_equal(features, others)
