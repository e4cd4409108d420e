"""The protocol of kernels, and the base of kernels over one view.

`Kernel` lists everything that models use of a kernel. X is an array, a data frame, a sparse matrix or `Views`. A kernel
declares what it can do (its capabilities) in class attributes, such as ``is_linear = True``, or in properties. Models
read nothing else: no code depends on the class of a kernel.

==========================  ==================================================================================
capability                  what it allows
==========================  ==================================================================================
``positive_semidefinite``   no check of eigenvalues, see `Repair`
``is_linear``               points can be scaled and kernels added as one low-rank product
``is_stationary``           k(x, x) is the same for all x
``is_differentiable``       projections and landmarks can be learned
``has_exponents``           a width can be learned, see `WidthMKL`
``supervised``              values are those of other samples *and* other targets
==========================  ==================================================================================

A kernel that is a function of feature vectors also has the array functions ``cross_of(A, B)``, ``gram_of(A)``,
``diagonal_of(A)``, ``learn(A, sample_weight)``, ``learned_from(A, sample_weight)`` and, where it is differentiable,
``pullback(A, Z, weights)``. `ViewKernel` makes all of the above of these; a new kernel needs no more than a constructor
and ``cross_of``.

A Gram matrix takes several steps for each value (a product, an exponential, a normalisation). Step by step over the
whole matrix each of them would read and write all of it; `symmetric` goes tile by tile, so that values stay in the
cache and only the result is written. Tiles are computed in threads; the result does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.utils.validation import check_is_fitted

from ..validation import Parametrised
from ..validation.schemas import Schema, Sizes, flag, indices, maybe, object_of, optional, refuse, text, unfitted
from ..views import Views, as_views
from .preparation import Preparation, prepare
from .resources import in_blas_threads
from .tiles.functions import JoinFunction, MatrixFunction, PointFunction

_BLOCK_ROWS = 32


class Kernel(Parametrised):
    """A similarity of samples: k(x, z), symmetric and positive semidefinite.

    Subclasses implement `fit`, `cross`, `diagonal`, `present` and `columns`, and declare their capabilities. A kernel
    that is positive semidefinite for all data declares `positive_semidefinite`; the others are checked when a model is
    fitted, and mended by the method `repair` (see `Repair`).
    """

    repair: str | None = None

    @property
    def positive_semidefinite(self) -> bool:
        """Whether no Gram matrix has a negative eigenvalue, for all data."""
        return False

    @property
    def is_linear(self) -> bool:
        """Whether k(x, z) = <x, z>, the inner product of the features."""
        return False

    @property
    def is_stationary(self) -> bool:
        """Whether k(x, z) depends on x - z only, so that k(x, x) is the same for all x."""
        return False

    @property
    def is_differentiable(self) -> bool:
        """Whether `pullback` gives derivatives by the features."""
        return False

    @property
    def has_width(self) -> bool:
        """Whether `learn` finds a width for any points."""
        return False

    @property
    def has_exponents(self) -> bool:
        """Whether k(x, z) = exp(-e(x, z) / scale^2), with ``exponents_of(A, B)`` and ``at_scale(scale)``."""
        return False

    @property
    def reads_ids(self) -> bool:
        """Whether samples are looked up by an id column."""
        return False

    @property
    def supervised(self) -> bool:
        """Whether `fit` reads the targets."""
        return False

    @property
    def name(self) -> str:
        """What the kernel is called where the user gives it no name: by default the name of its class."""
        return type(self).__name__.lower()

    def fit(self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None, y: Any = None) -> Kernel:
        """The kernel with the constants that the training samples give; usually this object itself.

        Parameters
        ----------
        X : array, DataFrame, sparse matrix or Views of shape (n_samples, n_features)
        sample_weight : ndarray of shape (n_samples,), optional
            How often each sample counts in learned constants.
        label : str, optional
            What messages call this kernel, by default its `name`.
        y : array of shape (n_samples,) or (n_samples, n_targets), optional
            The targets as the user gives them; read by kernels that are `supervised`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement fit")

    def columns(self) -> np.ndarray:
        """Positions of the columns that the fitted kernel reads."""
        raise NotImplementedError(f"{type(self).__name__} does not implement columns")

    def compared(self) -> np.ndarray:
        """Positions of the columns of training samples that new ones are compared with."""
        return self.columns()

    def present(self, X: Any) -> np.ndarray:
        """Which samples have the kernel's view: a boolean array of shape (n_samples,)."""
        raise NotImplementedError(f"{type(self).__name__} does not implement present")

    def gram(self, X: Any) -> np.ndarray:
        """Kernel values among samples, shape (n_samples, n_samples); a new array each time."""
        return self.cross(X, X)

    def gram_rows(self, X: Any, chosen: np.ndarray) -> np.ndarray:
        """Values between the samples of X at the positions `chosen` and all of them, as in `gram`."""
        views = as_views(X)
        return self.cross(views.rows(chosen), views)

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        """Kernel values between the samples of X and those of Y, shape (len(X), len(Y)); a new array each time."""
        raise NotImplementedError(f"{type(self).__name__} does not implement cross")

    def tile(self, X: Any) -> Tile | None:
        """A function that gives `gram` between two ranges of samples, see `symmetric`; by default None: no tiles."""
        return None

    def diagonal(self, X: Any) -> np.ndarray:
        """k(x, x) of each sample."""
        raise NotImplementedError(f"{type(self).__name__} does not implement diagonal")

    def read(self, views: Views) -> tuple[Any, np.ndarray]:
        """The feature vectors that the array functions take, and which samples have them."""
        raise TypeError(f"the kernel {type(self).__name__} is no function of the features of one view")

    def point_function(self) -> PointFunction | None:
        """The fitted kernel as a function of what `read` gives, computed on any device; None if it is no such one."""
        return None

    def matrix_function(self) -> MatrixFunction | None:
        """The fitted kernel as a lookup in a matrix; None if it is no such one."""
        return None

    def join_function(self) -> JoinFunction | None:
        """The fitted kernel as a sum or product of two; None if it is no such one."""
        return None

    @property
    def takes_parts(self) -> bool:
        """Whether rows can be computed without the whole Gram matrix: nothing of it has to be repaired."""
        return self.positive_semidefinite or self.repair is None

    def pullback(self, A: Any, Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The gradient of ``sum_ij weights_ij k(a_i, z_j)`` by the rows of Z; only where `is_differentiable`.

        Parameters
        ----------
        A : ndarray or CSR matrix of shape (n, n_columns)
            Feature vectors, such as `read` gives.
        Z : ndarray of shape (n_points, n_columns)
        weights : ndarray of shape (n, n_points)

        Examples
        --------
        >>> import numpy as np
        >>> from kernelweave.kernels import Linear
        >>> A = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> Linear().fit(A).pullback(A, np.zeros((1, 2)), np.array([[1.0], [10.0]]))
        array([[31., 42.]])
        """
        raise TypeError(f"the kernel {type(self).__name__} has no derivatives by features")

    def parts(self) -> list[Kernel]:
        """The fitted kernels that this one is a sum or product of; by default itself."""
        return [self]

    def lookups(self, X: Any) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices in which `cross` looks up X (None: no sample), with the ids; none by default."""
        return []

    def __add__(self, other: Any) -> Kernel:
        from .arithmetic import KernelSum, as_kernel

        return KernelSum(self, as_kernel(other))

    def __mul__(self, other: Any) -> Kernel:
        from .arithmetic import KernelProduct, as_kernel

        return KernelProduct(self, as_kernel(other))

    __radd__ = __add__
    __rmul__ = __mul__


class ViewKernel(Kernel):
    """A kernel over one view.

    Subclasses store `view` and implement ``cross_of(A, B)`` on the checked values of the samples that have the view
    (the others get 0). They override ``gram_of(A)`` and ``diagonal_of(A)`` where those can be computed more exactly or
    faster, ``learn(A, sample_weight)`` where they learn constants or have parameters to check, and
    ``pullback(A, Z, weights)`` where they are differentiable. They declare capabilities, `takes_text` and
    `takes_sparse` as class attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import ViewKernel
    >>> class Cosine(ViewKernel):
    ...     positive_semidefinite = True
    ...
    ...     def __init__(self, view=None):
    ...         self.view = view
    ...
    ...     def cross_of(self, A, B):
    ...         A, B = (C / np.linalg.norm(C, axis=1, keepdims=True) for C in (A, B))
    ...         return A @ B.T
    >>> Cosine().fit([[3.0, 4.0], [0.0, 2.0]]).gram([[3.0, 4.0], [0.0, 2.0]])
    array([[1. , 0.8],
           [0.8, 1. ]])
    """

    sparse_: bool | None = None  # whether the samples of the fit were
    lowered_by: np.ndarray | None = None  # what features are lowered by as they are read, see `stack.centre_of`
    transformer: Any = None  # kernels that take one have a parameter of this name
    preparation_: Preparation | None = None
    view: Any
    label_: str
    columns_: np.ndarray

    _saved = Schema(
        {
            "label_": text,
            "columns_": indices("own", below="columns", filled=True),
            "sparse_": optional(maybe(flag)),
            "transformer": optional(maybe(unfitted)),
            "preparation_": optional(object_of(Preparation, "own")),
        }
    )

    @property
    def takes_text(self) -> bool:
        """Whether the kernel takes columns that are not numbers."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether the kernel takes CSR matrices."""
        return False

    @property
    def supervised(self) -> bool:
        """Whether there is a transformer, which is fitted with y."""
        return self.transformer is not None

    @property
    def transformer_(self) -> Any:
        """The fitted transformer, where the kernel has one."""
        if self.preparation_ is None:
            raise AttributeError(f"this {type(self).__name__} has no fitted transformer")
        return self.preparation_.transformer

    @property
    def takes_missing_cells(self) -> bool:
        """Whether a sample may lack some columns of the view, by default where there is a transformer.

        Array functions of a kernel that declares this get NaN (None in text) there, or what a transformer makes of it.
        """
        return self.transformer is not None

    @property
    def name(self) -> str:
        """The view's name, or the kernel's where the view has none."""
        return self.view if isinstance(self.view, str) else super().name

    def fit(
        self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None, y: Any = None
    ) -> ViewKernel:
        views = as_views(X)
        self.label_ = self.name if label is None else label
        self.columns_ = views.columns(self.view)
        self.sparse_ = None
        self.__dict__.pop("preparation_", None)
        if self.transformer is not None:
            called = {"view": self.view, "who": self._described, "label": self._view_label}
            self.preparation_ = prepare(
                self.transformer, views, self.columns_, **called, sample_weight=sample_weight, y=y
            )
        values, present = self.read(views)
        self.sparse_ = sp.issparse(values)
        weight = np.ones(views.n_samples) if sample_weight is None else sample_weight
        self.learn(*((values, weight) if present.all() else (values[present], weight[present])))
        return self

    def learned_from(self, values: Any, sample_weight: np.ndarray) -> ViewKernel:
        """A copy of the fitted kernel whose constants are learned from other points (such as projected samples)."""
        other = copy(self)
        other.learn(values, sample_weight)
        return other

    def columns(self) -> np.ndarray:
        check_is_fitted(self)
        return self.columns_

    def present(self, X: Any) -> np.ndarray:
        return self.read(as_views(X))[1]

    def gram(self, X: Any) -> np.ndarray:
        values, present = self.read(as_views(X))
        if present.all():
            return self.gram_of(values)
        return _with_zeros(self.gram_of(values[present]), present, present)

    def gram_rows(self, X: Any, chosen: np.ndarray) -> np.ndarray:
        values, present = self.read(as_views(X))
        there = present[chosen]
        K = np.zeros((len(chosen), len(present)))
        if there.any():
            K[np.ix_(there, present)] = self.cross_of(values[chosen[there]], values[present])
            K[np.flatnonzero(there), chosen[there]] = self.diagonal_of(values[chosen[there]])  # as exact as in `gram`
        return K

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        values, present = self.read(as_views(X))
        others, there = self.read(as_views(Y))
        if present.all() and there.all():
            return self.cross_of(values, others)
        if not (present.any() and there.any()):
            return np.zeros((len(present), len(there)))
        return _with_zeros(self.cross_of(values[present], others[there]), present, there)

    def diagonal(self, X: Any) -> np.ndarray:
        values, present = self.read(as_views(X))
        if present.all():
            return self.diagonal_of(values)
        diagonal = np.zeros(len(present))
        diagonal[present] = self.diagonal_of(values[present])
        return diagonal

    def learn(self, values: Any, sample_weight: np.ndarray) -> None:
        """Check parameters and learn constants from feature vectors; there are none by default."""

    def cross_of(self, A: Any, B: Any) -> np.ndarray:
        """k(a, b) for all pairs of rows, a new array."""
        raise NotImplementedError(f"{type(self).__name__} does not implement cross_of")

    def gram_of(self, A: Any) -> np.ndarray:
        """k(a, a') for all pairs of rows of A, a new array."""
        return self.cross_of(A, A)

    def diagonal_of(self, A: Any) -> np.ndarray:
        """k(a, a) of each row, by default from small square blocks: a whole Gram matrix would be wasteful."""
        blocks = [A[start : start + _BLOCK_ROWS] for start in range(0, A.shape[0], _BLOCK_ROWS)]
        return np.concatenate([np.diagonal(self.cross_of(block, block)) for block in blocks] or [np.empty(0)])

    def read(self, views: Views) -> tuple[Any, np.ndarray]:
        if "columns_" not in self.__dict__:
            check_is_fitted(self)  # takes longer than reading a few samples
        if self.preparation_ is None:
            values, present = views.read(
                self.columns_, self._view_label, text=self.takes_text, partly=self.takes_missing_cells
            )
        else:
            values, present = self.preparation_.read(views, self.columns_, self._described, self._view_label)
            values = values.toarray() if sp.issparse(values) and not self.takes_sparse else values
        if sp.issparse(values) and not self.takes_sparse:
            raise ValueError(f"the kernel {self.label_!r} ({type(self).__name__}) does not take sparse views")
        # Samples to predict may come in another container than those of the fit; kernels get one kind only.
        if self.sparse_ is True and not sp.issparse(values):
            values = sp.csr_matrix(values)
        elif self.sparse_ is False and sp.issparse(values):
            values = values.toarray()
        if self.lowered_by is not None:
            values = np.where(present[:, None], values - self.lowered_by, 0.0)
        return values, present

    def feature_names(self, names: Any = None) -> list[Any]:
        """What the features that the fitted kernel compares are called.

        By the transformer (`get_feature_names_out`) where there is one, else the names of the view's columns.

        Parameters
        ----------
        names : sequence of str, optional
            The names of all columns of X; without them, columns are called by their positions.

        Examples
        --------
        >>> from sklearn.feature_extraction.text import CountVectorizer
        >>> from kernelweave.kernels import Linear
        >>> Linear(transformer=CountVectorizer()).fit([["a tall tree"], ["tall oaks"]]).feature_names()
        ['oaks', 'tall', 'tree']
        """
        if self.preparation_ is not None:
            return self.preparation_.feature_names(self.columns_)
        return self.columns_.tolist() if names is None else [names[column] for column in self.columns_]

    @property
    def _described(self) -> str:
        return f"the kernel {self.label_!r} ({type(self).__name__}), view {self._view_label!r},"

    @property
    def _view_label(self) -> str:
        return self.view if isinstance(self.view, str) else self.label_

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        if (self.transformer is None) != (self.preparation_ is None):
            refuse(path, "has a transformer that was not fitted, or the other way round")


def n_features_of(kernel: Kernel) -> int:
    """How many numbers of a sample the kernel compares."""
    preparation = kernel.preparation_ if isinstance(kernel, ViewKernel) else None
    return len(kernel.columns()) if preparation is None else preparation.n_features


class UnitDiagonal(ViewKernel):
    """A kernel over one view with k(x, x) = 1 for every sample that has it."""

    def gram_of(self, A):
        K = super().gram_of(A)
        np.fill_diagonal(K, 1.0)
        return K

    def diagonal_of(self, A):
        return np.ones(A.shape[0])


def _with_zeros(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    K = np.zeros((len(rows), len(columns)))
    K[np.ix_(rows, columns)] = values
    return K


TILE = 192  # rows of a tile; its values take a third of a megabyte
_CORNER = 32  # rows of a tile on the diagonal that are mirrored together
_ABOVE = np.triu(np.ones((_CORNER, _CORNER), dtype=bool), 1)

Tile = Callable[[slice, slice], np.ndarray]
"""Values between two ranges of samples, a new array of float64."""


def symmetric(n: int, tile: Tile, *, out: np.ndarray | None = None, dtype: DTypeLike = np.float64) -> np.ndarray:
    """The n x n matrix whose tiles on and below the diagonal a function gives; exactly symmetric."""
    K = np.empty((n, n), dtype) if out is None else out
    ranges = [slice(first, min(first + TILE, n)) for first in range(0, n, TILE)]

    def band(place: int) -> None:
        rows = ranges[place]
        for columns in ranges[:place]:
            values = tile(rows, columns)
            K[rows, columns] = values
            for first in range(0, len(values), _CORNER):  # transposed, strips are written faster than the whole
                strip = values[first : first + _CORNER]
                K[columns, rows.start + first : rows.start + first + len(strip)] = strip.T
        values = tile(rows, rows)
        _mirror(values)
        K[rows, rows] = values

    in_blas_threads(band, reversed(range(len(ranges))))  # the longest first
    return K


def _mirror(K: np.ndarray) -> None:
    for first in range(0, len(K), _CORNER):
        last = first + _CORNER
        K[first:last, last:] = K[last:, first:last].T
        corner = K[first:last, first:last]
        np.copyto(corner, corner.T.copy(), where=_ABOVE[: len(corner), : len(corner)])


def check_sparse(kernel: Kernel, X: Any, path: str, of_objects: bool = False) -> None:
    """Refuse a kernel that makes samples sparse although neither those of the fit were nor its transformer did."""
    parts = vars(kernel)
    prepared = isinstance(kernel, ViewKernel) and kernel.preparation_ is not None
    if parts.get("sparse_") is True and not (
        kernel.takes_sparse if prepared else _is_sparse(X, None if of_objects else parts.get("columns_"))
    ):
        refuse(f"{path}.sparse_", "is True where the training samples are not sparse")
    for name in ("first_", "second_", "kernel_"):
        if isinstance(parts.get(name), Kernel):  # `kernel_` counts columns inside an object
            check_sparse(parts[name], X, f"{path}.{name}", of_objects or name == "kernel_")


def _is_sparse(X: Any, columns: np.ndarray | None) -> bool:
    if sp.issparse(X):
        return True
    places = X.sparse_positions()
    return len(places) > 0 if columns is None else bool(np.isin(columns, places).any())
