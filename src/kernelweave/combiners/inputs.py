"""Gating inputs, what a gating model reads of a sample: x^G of the thesis (Gönen 2010), section 3.1.

Features of some views (`FeatureSource`) or values of a kernel (`KernelMap`, (3.5); section 2.2 of Gönen and Alpaydın,
Multiple kernel machines using localized kernels, 2009) are standardised, second-order terms are added with `quadratic`,
and rows are scaled: large inputs saturate a softmax at once. All constants come from the training samples and are kept
for new ones. A part of the inputs that a sample lacks is 0 after standardisation, the mean; a sample that lacks all of
them is an error. Sparse views are made dense; those of more than 8192 columns are gating inputs with ``scaling=None``
only, by which the user chooses that. A kernel with a transformer compares what that returns, and gates read the same
features. Two kernels that prepare a view alike give them once.

==========  =======================================
paper       here
==========  =======================================
x^G         `GatingInputs.transform`
Phi_G(x)    the same, with second-order terms
k_G         `KernelMap.kernel`
x_1 ...     `KernelMap.landmarks_`, training samples
==========  =======================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from ..kernels import KernelStack, Precomputed
from ..kernels.base import Kernel, ViewKernel, check_sparse, n_features_of
from ..kernels.vectors import squared_norms
from ..solvers.tiles import standardize
from ..validation import Choice, Constraints, Flag, Instance, Whole, blamed_on, check, check_parameters
from ..validation.schemas import (
    Schema,
    Sizes,
    agree,
    anything,
    count,
    flag,
    indices,
    maybe,
    nothing,
    number,
    numbers,
    object_of,
    optional,
    refuse,
    several,
    text,
    together,
)
from ..views import Views
from .feature_maps import KernelFeatures, ViewFeatures

FARTHEST = 1e50  # where new samples are cut, so that squares of products of their inputs stay finite
SCALINGS = ("unit-mean", "unit-row", "standard", None)


class Source:
    """What gating inputs are made of: `fit` and `read` give values of samples, and a mask of those that are there."""

    takes_sparse = False

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices that are read beside those of the kernels; none by default."""
        return []

    def replace(self, old: Kernel, new: Kernel) -> None:
        """Install a kernel with further ids in the place of the gating kernel; there is none by default."""

    def joined(self, views: Views, parts: Iterable[tuple[Any, np.ndarray, str]]) -> tuple[np.ndarray, np.ndarray]:
        """Features side by side; each part has values, a mask of the samples that have them, and a name for errors."""
        values, there = [], []
        for features, present, what in parts:
            values.append(dense(features, what, self.takes_sparse))
            there.append(np.broadcast_to(present[:, None], values[-1].shape))
        known = np.hstack(there)
        check_nothing_to_fetch(views, known)
        return np.hstack(values), known


class GatingInputs:
    _saved = Schema(
        {
            "source": object_of(("FeatureSource", "KernelMap", "ProjectedFeatures"), "columns", "kernels", "inputs"),
            "quadratic": flag,
            "scaling": maybe(text),
            "mean_": numbers("inputs"),
            "spread_": numbers("inputs", inf=True, low=np.finfo(float).tiny),
            "length_": number(positive=True),
        }
    )

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
        return self._scaled(self._expanded(*self.source.read(views)))

    def narrow(self, views: Views, farthest: float) -> np.ndarray:
        """`transform` in float32, with absolute values cut at `farthest`."""
        values, there = self.source.read(views)
        if self.quadratic or self.scaling == "unit-row" or not is_whole(there):
            inputs = self._scaled(self._expanded(values, there))
            return np.clip(inputs, -farthest, farthest, out=inputs).astype(np.float32)
        found = np.empty(values.shape, dtype=np.float32)
        standardize(np.ascontiguousarray(values), self.mean_, self.spread_ * self.length_, farthest, found)
        return found

    @property
    def reads_features(self) -> bool:
        return isinstance(self.source, ProjectedFeatures)

    def restrict(self, stack: KernelStack) -> GatingInputs:
        if not self.reads_features:
            return self
        lean = copy(self)
        lean.source = self.source.restrict(stack)
        return lean

    def replace(self, old: Kernel, new: Kernel) -> None:
        self.source.replace(old, new)

    def columns(self) -> np.ndarray:
        return self.source.columns()

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        return self.source.lookups()

    def names(self, stack: KernelStack) -> list[str]:
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
    return bool(there[:1, :1].all() if there.strides == (0, 0) else there.all())


def needs_of(inputs: Any) -> dict[str, str]:
    """What gating inputs need of a stack, see `Combiner.needs`."""
    if isinstance(inputs, KernelMap) and inputs.n_landmarks is None:
        return {"gram": "KernelMap without n_landmarks reads the kernel values of all pairs of samples"}
    return {}


class NoInputs(Source):
    reads_features = False
    source = None

    def fit(self, stack: KernelStack, rng: np.random.RandomState) -> np.ndarray:
        return np.zeros((stack.n_samples, 0))

    def transform(self, views: Views) -> np.ndarray:
        return np.zeros((views.n_samples, 0))

    def narrow(self, views: Views, farthest: float) -> np.ndarray:
        return np.zeros((views.n_samples, 0), dtype=np.float32)

    def restrict(self, stack: KernelStack) -> NoInputs:
        return self

    def names(self, stack: KernelStack) -> list[str]:
        return []

    def columns(self) -> np.ndarray:
        return np.empty(0, dtype=int)


class ProjectedFeatures(Source):
    """A source of gating inputs: all features that are projected, side by side; equal ones once."""

    _saved = Schema(
        {
            "stack": object_of(KernelStack, "columns", "kernels"),
            "maps": several(object_of((ViewFeatures, KernelFeatures)), "kernels"),
            "chosen": several(count()),
            "takes_sparse": optional(flag),
            "_features": nothing,
        }
    )

    def __init__(self, maps: list[Any], features: list[Any]):
        self.maps = maps
        self._features: list[Any] | None = features  # until `fit`
        self.chosen = [m for m in range(len(maps)) if not any(equal(features[m], features[h]) for h in range(m))]

    def fit(self, stack: KernelStack, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        self.stack = stack
        features, self._features = self._features or [], None
        return self.joined(stack.support, self._parts(stack.support, lambda m: features[m]))

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        def features(m: int) -> Any:
            values = self.maps[m].read(self.stack, m, views)
            return self.maps[m].features(values) if self.maps[m].by_kernel else values

        return self.joined(views, self._parts(views, features))

    def _parts(self, views: Views, features: Callable[[int], Any]) -> Iterator[tuple[Any, np.ndarray, str]]:
        for m in self.chosen:
            present = self.stack.kernels[m].present(views)
            yield features(m), present, f"the view of the kernel {self.stack.names[m]!r}"

    def restrict(self, stack: KernelStack) -> ProjectedFeatures:
        lean = copy(self)
        lean.stack = stack
        lean.maps = [each if m in self.chosen else each.settled() for m, each in enumerate(self.maps)]
        return lean

    def columns(self) -> np.ndarray:
        return np.concatenate([self.stack.kernels[m].columns() for m in self.chosen])

    def names(self, stack: KernelStack) -> list[str]:
        return [f"{stack.names[m]}: {name}" for m in self.chosen for name in self.maps[m].names]

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        total = 0
        for m in self.chosen:
            if m >= sizes["kernels"]:
                refuse(f"{path}.chosen", f"names the kernel {m} of {sizes['kernels']}")
            own = self.maps[m]
            own.check_kernel(self.stack, m, f"{path}.maps[{m}]", is_read=True)
            training = own.training if own.by_kernel else None
            total += own.n_read(self.stack, m) if training is None else training.shape[1]
        agree(sizes, "inputs", total, f"{path}.chosen")


WIDEST = 8192  # columns of a sparse view that may become dense: for as many samples that is one more Gram matrix
_Group = tuple[str, np.ndarray, ViewKernel | None]  # name, columns, and the kernel that prepares them


class FeatureSource(Source):
    readers_: list[ViewKernel | None] | None = None  # the kernels that prepare groups, if some do

    _saved = Schema(
        {
            "selector": anything,
            "takes_sparse": optional(flag),
            "groups_": several(together(text, indices("own", below="columns", filled=True)), own=("own",)),
            "readers_": optional(maybe(several(maybe(object_of(ViewKernel, "columns"))))),
        }
    )

    def __init__(self, selector: Any):
        self.selector = selector

    def fit(self, stack: KernelStack, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
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
        if self.readers_ is None and views.is_finite():
            values, _ = views.read(self.columns(), "gating inputs")
            return values, np.broadcast_to(np.True_, values.shape)

        def parts() -> Iterator[tuple[Any, np.ndarray, str]]:
            for label, columns, reader in self._groups():
                found = views.read(columns, label) if reader is None else reader.read(views)
                yield *found, f"the gating input {label!r}"

        values, known = self.joined(views, parts())
        nothing = ~np.any(known, axis=1)
        if nothing.any():
            labels = ", ".join(label for label, _ in self.groups_)
            raise ValueError(
                f"{views.first(nothing)} lacks all gating inputs ({labels}); impute them, or set the combiner's inputs "
                "to views that every sample has"
            )
        return values, known

    def columns(self) -> np.ndarray:
        return np.concatenate([columns for _, columns in self.groups_])

    def names(self, stack: KernelStack) -> list[str]:
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

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """There are columns, and they (or what kernels make of them) are as many as the inputs."""
        if not self.groups_:
            refuse(f"{path}.groups_", "are empty")
        readers = [None] * len(self.groups_) if self.readers_ is None else self.readers_
        if len(readers) != len(self.groups_):
            refuse(f"{path}.readers_", f"has {len(readers)} entries for {len(self.groups_)} groups of columns")
        total = 0
        for (_, columns), reader in zip(self.groups_, readers, strict=True):
            if reader is not None and not np.array_equal(reader.columns_, columns):
                refuse(f"{path}.readers_", "has a kernel of other columns")
            total += len(columns) if reader is None else n_features_of(reader)
        agree(sizes, "inputs", total, f"{path}.groups_")


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
    """Refuse samples that lack gating inputs where views can be fetched: gates decide which views are fetched."""
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
    return kernel if isinstance(kernel, ViewKernel) and kernel.preparation_ is not None else None


def _features(name: str, kernel: Kernel) -> list[_Group]:
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
    if features.shape != others.shape or sp.issparse(features) != sp.issparse(others):
        return False
    return (features != others).nnz == 0 if sp.issparse(features) else np.array_equal(features, others)


class KernelMap(BaseEstimator):
    """The empirical kernel map x^G = (k_G(x_1, x), ..., k_G(x_N, x)) as the gating inputs of `Localized`.

    For sequences, graphs or ids, and views with many more features than samples: thesis (Gönen 2010), (3.5).

    Parameters
    ----------
    kernel : Kernel
        k_G, one of the combined kernels or another one.
    n_landmarks : int or None
        How many training samples to compare with, drawn at random from those that have the kernel's view; None means
        all of them, which is an n x n matrix and not for models in lazy storage.

    Notes
    -----
    Memory: n_samples x n_landmarks numbers while fitting; the landmarks' columns afterwards.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import KernelMap, Localized
    >>> from kernelweave.kernels import Gaussian, Precomputed
    >>> A = np.random.default_rng(0).normal(size=(40, 3))
    >>> kernel = Precomputed(A @ A.T)
    >>> model = MKLClassifier([kernel, kernel], Localized(inputs=KernelMap(kernel)), random_state=0)
    >>> model.fit(np.arange(40)[:, None], A[:, 0] * A[:, 1] > 0).kernel_weights([[3]]).shape
    (1, 2)
    """

    _constraints = Constraints(kernel=Instance(Kernel, "a kernel such as Gaussian()"), n_landmarks=Whole(1) | None)

    _saved = Schema(
        {"kernel_": object_of(Kernel, "columns"), "landmarks_": object_of(Views, "columns", samples="inputs")}
    )

    def __init__(self, kernel: Kernel, n_landmarks: int | None = None):
        self.kernel = kernel
        self.n_landmarks = n_landmarks

    def fit(self, stack: KernelStack, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Fit the kernel and choose the landmarks among the samples of a stack; returns what `read` gives of them."""
        check_parameters(self)
        views = stack.support
        self.kernel_ = clone(self.kernel).fit(views, stack.weight, "gating kernel", stack.y)
        present = np.flatnonzero(self.kernel_.present(views))
        if self.n_landmarks is not None:
            present = np.sort(rng.permutation(present)[: self.n_landmarks])
        if len(present) == 0:
            raise ValueError("no training sample has the view of the gating kernel; choose another kernel")
        self.landmarks_ = views.keep(present, self.kernel_.columns())
        return self.read(views)

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Kernel values, and which of them are there, both of shape (n_samples, n_landmarks)."""
        present = self.kernel_.present(views)
        if not present.all():
            raise ValueError(
                f"{views.first(~present)} lacks the view of the gating kernel; impute it, or give KernelMap a kernel "
                "of a view that every sample has"
            )
        values = self.kernel_.cross(views, self.landmarks_)
        return values, np.ones(values.shape, dtype=bool)

    def names(self, stack: KernelStack) -> list[str]:
        """The landmarks."""
        return [f"sample {position}" for position in self.landmarks_.positions]

    def columns(self) -> np.ndarray:
        """Positions of the columns that are read."""
        return self.kernel_.columns()

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices that are read."""
        return self.kernel_.lookups(self.landmarks_)

    def replace(self, old: Kernel, new: Kernel) -> None:
        """Install a kernel with further ids in the place of the gating kernel, if that reads the same matrix."""
        if self.kernel_.reads_ids and type(self.kernel_) is type(old) and _matrix(self.kernel_).equals(_matrix(old)):
            self.kernel_ = new.bound_like(self.kernel_)

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        check_sparse(self.kernel_, self.landmarks_.X, f"{path}.kernel_")


def _matrix(kernel: Kernel) -> Precomputed:
    ((matrix, _),) = kernel.lookups(None)
    return matrix
