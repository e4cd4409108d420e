"""Kernels made of other kernels: sums, products, kernels of pairs, and kernels whose values several fits share.

A number in a sum or product stands for the constant kernel. A sample has a row in a sum or product only where it has
one in every part.

`Pairwise` is for samples that are pairs of objects, such as two proteins (Ben-Hur and Noble, 2005; thesis, 2.1).
There {x_i^a, x_j^a} is one sample, its `first` and its `second` object, and k(x_i^a, x_i^b) the `kernel` of single
objects. The thesis combines such kernels in two orders: a sum of pairwise kernels,
``Pairwise(k1, first=a, second=b) + Pairwise(k2, first=a, second=b)`` (or each its own entry in an estimator's kernels),
and the pairwise kernel of a sum, ``Pairwise(k1 + k2, first=a, second=b)``.

A search fits many models to the same few sets of training samples. A `KernelSheet` holds what one kernel gives for one
such set: the fitted kernel, and its values between the training samples and the training and further samples. It
recognises samples by their entries, so that a model is the same whether its values are looked up or computed: a sample
that is not on the sheet is computed, each model does its own normalisation and repair, and models may be steps of
pipelines. Recognising takes time in proportion to the entries of X, and pays for all but the cheapest kernels. Where
training and further samples are rows of one `Views`, they are known by their positions, which takes no time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..validation import Constraints, Number, blamed_on, check_parameters, is_number, shown
from ..validation.columns import SEPARATOR
from ..validation.schemas import Schema, indices, maybe, number, object_of, several, text, together
from ..views import Views, as_views
from .base import Kernel
from .tiles.functions import JoinFunction, PointFunction


def as_kernel(value: Any) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if is_number(value):
        return Constant(float(value))
    raise TypeError(f"a kernel can be combined with a kernel or a number, not with {shown(value)}")


class Constant(Kernel):
    """The kernel k(x, z) = value; numbers in sums and products of kernels become this.

    Parameters
    ----------
    value : float
        At least 0.

    Examples
    --------
    >>> from kernelweave.kernels import Linear
    >>> kernel = 2.0 * Linear()
    >>> kernel.fit([[1.0], [3.0]]).gram([[1.0], [3.0]])
    array([[ 2.,  6.],
           [ 6., 18.]])
    """

    positive_semidefinite = True

    _constraints = Constraints(value=Number(low=0))

    _saved = Schema({"value": number(0.0)})

    def __init__(self, value: float = 1.0):
        self.value = value

    @property
    def name(self) -> str:
        return f"{self.value:g}" if is_number(self.value) else "constant"

    def fit(self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None, y: Any = None) -> Constant:
        check_parameters(self, "a constant in a kernel")
        return self

    def columns(self) -> np.ndarray:
        return np.array([], dtype=int)

    def present(self, X: Any) -> np.ndarray:
        return np.ones(as_views(X).n_samples, dtype=bool)

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """One feature, the root of the value, so that `point_function` is linear."""
        return np.full((views.n_samples, 1), np.sqrt(float(self.value))), np.ones(views.n_samples, dtype=bool)

    def point_function(self) -> PointFunction:
        return PointFunction("linear")

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        return np.full((as_views(X).n_samples, as_views(Y).n_samples), float(self.value))

    def diagonal(self, X: Any) -> np.ndarray:
        return np.full(as_views(X).n_samples, float(self.value))


class _Pair(Kernel):
    """Two kernels joined entry by entry by `_join`, written `_symbol`."""

    _symbol: str

    _saved = Schema({"first_": object_of(Kernel, "columns"), "second_": object_of(Kernel, "columns")})

    def __init__(self, first: Kernel, second: Kernel):
        self.first = first
        self.second = second

    @property
    def name(self) -> str:
        return self._symbol.join(
            f"({part.name})"
            if isinstance(part, _Pair) and part._symbol != self._symbol
            else str(getattr(part, "name", "?"))
            for part in (self.first, self.second)
        )

    @property
    def view(self) -> Any:
        """The name of the view that both parts read, beside constants; None where it is not one."""
        parts = [part for part in (self.first, self.second) if not isinstance(part, Constant)]
        views = [getattr(part, "view", None) for part in parts]
        return views[0] if views and all(isinstance(view, str) and view == views[0] for view in views) else None

    @property
    def positive_semidefinite(self) -> bool:
        return self.first.positive_semidefinite and self.second.positive_semidefinite

    @property
    def supervised(self) -> bool:
        return self.first.supervised or self.second.supervised

    @property
    def repair(self) -> str | None:  # type: ignore[override]  # an attribute of other kernels, computed here
        """The repair of the parts; the sum or product is then repaired as a whole."""
        asked = {part.repair for part in (self.first, self.second) if part.repair is not None}
        if len(asked) > 1:
            raise ValueError(
                f"the parts of the kernel {self.name!r} have different repairs {sorted(asked)}, but a sum or "
                "product is repaired as a whole; give them the same"
            )
        return next(iter(asked), None)

    def fit(self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None, y: Any = None) -> _Pair:
        for parameter in ("first", "second"):
            if not isinstance(getattr(self, parameter), Kernel):
                raise ValueError(
                    f"the {parameter} part of a {type(self).__name__} must be a kernel, not "
                    f"{shown(getattr(self, parameter))}"
                )
        views = as_views(X)
        self.first_ = self.first.fit(views, sample_weight, y=y)
        self.second_ = self.second.fit(views, sample_weight, y=y)
        return self

    def _join(self, first: np.ndarray, second: np.ndarray, *present: np.ndarray) -> np.ndarray:
        """The parts' values joined, in place of the first; zero where a sample (of each axis) is not present."""
        raise NotImplementedError

    def join_function(self) -> JoinFunction:
        return JoinFunction(self.first_, self.second_, self._symbol == "*")

    def columns(self) -> np.ndarray:
        return np.union1d(self.first_.columns(), self.second_.columns()).astype(int)

    def present(self, X: Any) -> np.ndarray:
        views = as_views(X)
        return self.first_.present(views) & self.second_.present(views)

    def gram(self, X: Any) -> np.ndarray:
        views = as_views(X)
        present = self.present(views)
        return self._join(self.first_.gram(views), self.second_.gram(views), present, present)

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        views, others = as_views(X), as_views(Y)
        first, second = self.first_.cross(views, others), self.second_.cross(views, others)
        return self._join(first, second, self.present(views), self.present(others))

    def diagonal(self, X: Any) -> np.ndarray:
        views = as_views(X)
        return self._join(self.first_.diagonal(views), self.second_.diagonal(views), self.present(views))

    def parts(self) -> list[Kernel]:
        return self.first_.parts() + self.second_.parts()

    def lookups(self, X: Any) -> list[tuple[Kernel, np.ndarray]]:
        return self.first_.lookups(X) + self.second_.lookups(X)


class KernelSum(_Pair):
    """The kernel k(x, z) = first(x, z) + second(x, z), thesis (Gönen 2010), (2.2); written ``first + second``.

    Parameters
    ----------
    first, second : Kernel

    Examples
    --------
    >>> from kernelweave.kernels import Linear, Polynomial
    >>> X = [[1.0, 2.0], [3.0, 0.0]]
    >>> (Linear([0]) + Linear([1])).fit(X).gram(X)
    array([[5., 3.],
           [3., 9.]])
    """

    _symbol = "+"

    def _join(self, first, second, *present):
        first += second
        for axis, there in enumerate(present):  # a part that a sample lacks is zero, but the other one need not be
            if not there.all():
                first[(slice(None),) * axis + (~there,)] = 0.0
        return first


class KernelProduct(_Pair):
    """The kernel k(x, z) = first(x, z) * second(x, z), thesis (Gönen 2010), (2.2); written ``first * second``.

    Parameters
    ----------
    first, second : Kernel

    Examples
    --------
    >>> from kernelweave.kernels import Linear
    >>> X = [[1.0, 2.0], [3.0, 0.0]]
    >>> (Linear() * Linear()).fit(X).gram(X)
    array([[25.,  9.],
           [ 9., 81.]])
    """

    _symbol = "*"

    def _join(self, first, second, *present):
        first *= second
        return first


def weighted(kernels: Sequence[Kernel], weights: Sequence[float]) -> Kernel:
    """The fitted kernel sum_j weights[j] kernels[j] of fitted kernels, whose constants it takes as they are.

    >>> from kernelweave.kernels import Linear
    >>> X = [[1.0], [3.0]]
    >>> weighted([Linear().fit(X), Linear().fit(X)], [0.5, 1.0]).gram(X)
    array([[ 1.5,  4.5],
           [ 4.5, 13.5]])
    """
    terms = [
        kernel if weight == 1.0 else _of_fitted(KernelProduct, Constant(float(weight)), kernel)
        for kernel, weight in zip(kernels, weights, strict=True)
    ]
    return reduce(partial(_of_fitted, KernelSum), terms)


def _of_fitted(kind: type[_Pair], first: Kernel, second: Kernel) -> Kernel:
    joined = kind(first, second)
    joined.first_, joined.second_ = first, second
    return joined


_BLOCK_ROWS = 32


class _OfKernel(Kernel):
    """A kernel made of another one, `kernel`, whose capabilities and repair it has."""

    kernel: Kernel

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def positive_semidefinite(self) -> bool:
        return self.kernel.positive_semidefinite

    @property
    def supervised(self) -> bool:
        return self.kernel.supervised

    @property
    def repair(self) -> str | None:  # type: ignore[override]  # an attribute of other kernels, computed here
        """The repair of the kernel; what is made of it is repaired as a whole."""
        return self.kernel.repair


class Pairwise(_OfKernel):
    """The pairwise kernel k({x1, x2}, {z1, z2}) = k(x1, z1) k(x2, z2) + k(x1, z2) k(x2, z1).

    It is that of the thesis (Gönen 2010), section 2.1. Which object of a pair comes first does not matter. The kernel
    of the objects is fitted to the objects of both places together.

    Parameters
    ----------
    kernel : Kernel
        The kernel k of single objects. Its views are relative to an object: None is all of the object's columns,
        positions count from the object's first column, and where `first` and `second` are names, a name is what
        follows theirs: with ``first="bait"``, the view ``"seq"`` is the column ``bait__seq``. `Precomputed` takes
        one column of ids per object.
    first, second : str, list, slice, mask or callable
        The columns of the two objects, as many and in the same order.

    Examples
    --------
    >>> from kernelweave import stack_views
    >>> from kernelweave.kernels import Linear, Pairwise
    >>> X = stack_views({"bait": [[1.0, 0.0], [0.0, 1.0]], "prey": [[0.0, 2.0], [3.0, 0.0]]})
    >>> Pairwise(Linear(), first="bait", second="prey").fit(X).gram(X)
    array([[4., 6.],
           [6., 9.]])
    """

    _saved = Schema(
        {
            "label_": text,
            "columns_": together(
                indices("object", below="columns", filled=True), indices("object", below="columns", filled=True)
            ),
            "names_": maybe(several(text, "object")),
            "kernel_": object_of(Kernel, columns="object"),
        }
    )

    def __init__(self, kernel: Kernel, first: Any, *, second: Any):
        self.kernel = kernel
        self.first = first
        self.second = second

    @property
    def name(self) -> str:
        return f"pairwise-{getattr(self.kernel, 'name', 'kernel')}"

    def fit(self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None, y: Any = None) -> Pairwise:
        views = as_views(X)
        self.label_ = self.name if label is None else label
        if not isinstance(self.kernel, Kernel):
            raise ValueError(
                f"kernel of the kernel {self.label_!r} (Pairwise) must be a kernel of single objects, such as "
                f"Linear(), not {shown(self.kernel)}; wrap a function as Function(f)"
            )
        with blamed_on("first"):
            first = views.columns(self.first)
        with blamed_on("second"):
            second = views.columns(self.second)
        self.columns_ = first, second
        self.names_ = self._object_names(views)
        objects = Views.followed_by(*self._objects(views))
        weight = np.ones(views.n_samples) if sample_weight is None else sample_weight
        y = None if y is None else np.concatenate([y, y])
        self.kernel_ = clone(self.kernel).fit(objects, np.concatenate([weight, weight]), self.label_, y)
        return self

    def columns(self) -> np.ndarray:
        check_is_fitted(self)
        used = self.kernel_.columns()
        return np.union1d(self.columns_[0][used], self.columns_[1][used]).astype(int)

    def present(self, X: Any) -> np.ndarray:
        first, second = self._objects(as_views(X))
        return self.kernel_.present(first) & self.kernel_.present(second)

    def gram(self, X: Any) -> np.ndarray:
        """Kernel values among pairs; `gram` and `cross` take memory for two more matrices of that size meanwhile."""
        first, second = self._objects(as_views(X))
        K = self.kernel_.gram(first)
        K *= self.kernel_.gram(second)
        swapped = self.kernel_.cross(first, second)
        K += swapped * swapped.T
        return K

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        (x1, x2), (z1, z2) = self._objects(as_views(X)), self._objects(as_views(Y))
        K = self.kernel_.cross(x1, z1)
        K *= self.kernel_.cross(x2, z2)
        swapped = self.kernel_.cross(x1, z2)
        swapped *= self.kernel_.cross(x2, z1)
        K += swapped
        return K

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x1, x1) k(x2, x2) + k(x1, x2)^2 of each pair."""
        first, second = self._objects(as_views(X))
        within = np.empty(first.n_samples)  # k(x1, x2), from small square blocks: kernels do not compare one to one
        for start in range(0, len(within), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            within[rows] = np.diagonal(self.kernel_.cross(first.rows(rows), second.rows(rows)))
        return self.kernel_.diagonal(first) * self.kernel_.diagonal(second) + within**2

    def _objects(self, views: Views) -> tuple[Views, Views]:
        check_is_fitted(self)
        first, second = self.columns_
        return views.objects(first, self.names_), views.objects(second, self.names_)

    def _object_names(self, views: Views) -> list[str] | None:
        first, second = self.columns_
        if len(first) != len(second):
            raise ValueError(
                f"the two objects of the kernel {self.label_!r} (Pairwise) must have equally many columns, but "
                f"first={shown(self.first)} has {len(first)} and second={shown(self.second)} has {len(second)}"
            )
        if not (isinstance(self.first, str) and isinstance(self.second, str)):
            return None
        labels = np.asarray(views.names)
        # Inside an object a column is called what follows the object's name; nothing, if it has that very name.
        names = [
            [name[len(prefix) + len(SEPARATOR) :] for name in labels[columns]]
            for prefix, columns in ((self.first, first), (self.second, second))
        ]
        if names[0] != names[1]:
            raise ValueError(
                f"the two objects of the kernel {self.label_!r} (Pairwise) must have the same columns in the same "
                f"order, but {self.first!r} has {shown(names[0])} and {self.second!r} has {shown(names[1])}"
            )
        return names[0] if all(names[0]) else None


class SharedKernel(_OfKernel):
    """The kernel k(x, z) of `kernel`, with the values of known samples looked up.

    Fitted to the training samples of one of its sheets (with the same weights and, where it is supervised, targets) it
    is that sheet; fitted to others it is `kernel`, fitted. Cloning returns the kernel itself: sheets are never copied.

    >>> from kernelweave.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0], [3.0], [4.0]])
    >>> kernel = SharedKernel(Gaussian(), [KernelSheet.compute(Gaussian(), X[:3], X[3:])])
    >>> kernel.fit(X[:3])
    KernelSheet(Gaussian(), <3 training samples, 1 other>)
    >>> kernel.fit(X[1:])
    Gaussian()
    """

    def __init__(self, kernel: Kernel, sheets: Sequence[KernelSheet] = ()):
        self.kernel = kernel
        self.sheets = sheets

    def __sklearn_clone__(self) -> SharedKernel:
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"SharedKernel({self.kernel!r}, <{len(self.sheets)} sheets>)"

    def fit(self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None, y: Any = None) -> Kernel:
        views = as_views(X)
        given = views, sample_weight, y if self.supervised else None
        known = next((sheet for sheet in self.sheets if sheet.is_of(*given)), None)
        return clone(self.kernel).fit(views, sample_weight, label, y) if known is None else known.bound(views)


@dataclass(eq=False, repr=False)
class KernelSheet(_OfKernel):
    """Values of a fitted kernel among its training samples, and between those and other samples; made by `compute`.

    Rows of `values`, of shape (n_training + n_others, n_training), begin with the training samples.
    """

    kernel: Kernel
    key: Any
    _: KW_ONLY
    places: dict[bytes, int]
    values: np.ndarray
    self_similarity: np.ndarray
    presence: np.ndarray
    _source: object = field(default=None, init=False)
    _place_of_position: np.ndarray = field(init=False)

    @classmethod
    def compute(
        cls,
        kernel: Kernel,
        X: Any,
        others: Any,
        sample_weight: np.ndarray | None = None,
        label: str | None = None,
        y: Any = None,
    ) -> KernelSheet:
        views, others = as_views(X), as_views(others)
        fitted = clone(kernel).fit(views, sample_weight, label, y)
        is_one = others.source is views.source
        places: dict[bytes, int] = {}
        for place, digest in enumerate([] if is_one else [*views.digests(), *others.digests()]):
            places.setdefault(digest, place)
        values = np.vstack([fitted.gram(views), fitted.cross(others, views)])
        self_similarity = np.concatenate([fitted.diagonal(views), fitted.diagonal(others)])
        presence = np.concatenate([fitted.present(views), fitted.present(others)])
        given = views, sample_weight, y if kernel.supervised else None
        key = _in_source(*given) if is_one else _training_key(*given)
        sheet = cls(fitted, key, places=places, values=values, self_similarity=self_similarity, presence=presence)
        if is_one:
            sheet._bind(views.source, np.concatenate([views.positions, others.positions]))
        return sheet

    @property
    def is_of_rows(self) -> bool:
        """Whether training and further samples are rows of one `Views`; no other sample is compared then."""
        return not isinstance(self.key, bytes)

    def is_of(self, views: Views, sample_weight: np.ndarray | None, y: Any) -> bool:
        """Whether this is the sheet of some training samples, with their weights and targets."""
        if not self.is_of_rows:
            return self.key == _training_key(views, sample_weight, y)
        return views.source is self._source and all(map(np.array_equal, self.key, _in_source(views, sample_weight, y)))

    def bound(self, views: Views) -> KernelSheet:
        """A copy, sharing the values, that finds these `Views` of the training samples by position."""
        bound = copy(self)
        if not self.is_of_rows:
            bound._bind(views.source, views.positions)
        return bound

    def _bind(self, source: object, positions: np.ndarray) -> None:
        self._source = source
        self._place_of_position = np.full(positions.max(initial=-1) + 1, -1)
        self._place_of_position[positions[::-1]] = np.arange(len(positions))[::-1]  # the first of equal ones

    def __sklearn_clone__(self) -> KernelSheet:
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        n_all, n_training = self.values.shape
        return f"KernelSheet({self.kernel!r}, <{n_training} training samples, {n_all - n_training} other>)"

    def parts(self) -> list[Kernel]:
        return self.kernel.parts()

    def lookups(self, X: Any) -> list[tuple[Kernel, np.ndarray]]:
        return self.kernel.lookups(X)

    def columns(self) -> np.ndarray:
        return self.kernel.columns()

    def compared(self) -> np.ndarray:
        return self.columns()[:0] if self.is_of_rows else self.columns()

    def present(self, X: Any) -> np.ndarray:
        places = self._found(X)
        return self.presence[places] if (places >= 0).all() else self.kernel.present(X)

    def gram(self, X: Any) -> np.ndarray:
        places = self._found(X)
        n_training = self.values.shape[1]
        if np.array_equal(places, np.arange(n_training)):
            return np.array(self.values[:n_training])
        return self.values[np.ix_(places, places)] if self._known(places, places) else self.kernel.gram(X)

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        rows, columns = self._found(X), self._found(Y)
        return self.values[np.ix_(rows, columns)] if self._known(rows, columns) else self.kernel.cross(X, Y)

    def diagonal(self, X: Any) -> np.ndarray:
        places = self._found(X)
        return self.self_similarity[places] if (places >= 0).all() else self.kernel.diagonal(X)

    def _found(self, X: Any) -> np.ndarray:
        views = as_views(X)
        if views.source is self._source:
            last = len(self._place_of_position) - 1
            return np.where(views.positions > last, -1, self._place_of_position[np.minimum(views.positions, last)])
        return np.array([self.places.get(digest, -1) for digest in views.digests()], dtype=int)

    def _known(self, rows: np.ndarray, columns: np.ndarray) -> bool:
        return bool((rows >= 0).all() and (columns >= 0).all() and (columns < self.values.shape[1]).all())


def _in_source(views: Views, sample_weight: np.ndarray | None, y: Any) -> tuple[np.ndarray, ...]:
    """What tells the training samples of a kernel apart among rows of one `Views`."""
    weight = np.ones(views.n_samples) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    return views.positions, weight, np.empty(0) if y is None else np.asarray(y)


def _training_key(views: Views, sample_weight: np.ndarray | None, y: Any) -> bytes:
    """A digest of all that a kernel may learn constants from."""
    digest = hashlib.blake2b(digest_size=16)
    for row in views.digests():
        digest.update(row)
    weight = np.ones(views.n_samples) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    digest.update(weight.tobytes())
    if y is not None:
        digest.update(repr(np.asarray(y).ravel().tolist()).encode())
    return digest.digest()
