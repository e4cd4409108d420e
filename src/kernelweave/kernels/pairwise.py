"""`Pairwise`: samples that are pairs of objects, such as two proteins (Ben-Hur and Noble, 2005).

The thesis is Gönen (2010, PhD thesis, Boğaziçi University), section 2.1:

==================  ==========================================================================
thesis              here
==================  ==========================================================================
{x_i^a, x_j^a}      one sample: its `first` and its `second` object
k(x_i^a, x_i^b)     `kernel`, the kernel of single objects
==================  ==========================================================================

The thesis combines such kernels in two orders: a sum of pairwise kernels,
``Pairwise(k1, first=a, second=b) + Pairwise(k2, first=a, second=b)`` (or each its own entry in an estimator's kernels),
and the pairwise kernel of a sum, ``Pairwise(k1 + k2, first=a, second=b)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..validation import blamed_on, shown
from ..views import Views, as_views
from ..views.selectors import SEPARATOR, describe
from .base import Kernel

_BLOCK_ROWS = 32


class Pairwise(Kernel):
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

    def __init__(self, kernel: Kernel, first: Any, *, second: Any):
        self.kernel = kernel
        self.first = first
        self.second = second

    @property
    def name(self) -> str:
        """``pairwise-`` and the name of the objects' kernel."""
        return f"pairwise-{getattr(self.kernel, 'name', 'kernel')}"

    @property
    def positive_semidefinite(self) -> bool:
        """Whether the objects' kernel is."""
        return self.kernel.positive_semidefinite

    @property
    def supervised(self) -> bool:
        """Whether the objects' kernel is."""
        return self.kernel.supervised

    @property
    def repair(self) -> str | None:  # type: ignore[override]  # an attribute of other kernels, computed here
        """The repair of the objects' kernel; the pairwise kernel is then repaired as a whole."""
        return self.kernel.repair

    def fit(self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None, y: Any = None) -> Pairwise:
        """Find the columns of the two objects and fit the kernel to all objects."""
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
        """Positions of the columns that the kernel reads of either object."""
        check_is_fitted(self)
        used = self.kernel_.columns()
        return np.union1d(self.columns_[0][used], self.columns_[1][used]).astype(int)

    def present(self, X: Any) -> np.ndarray:
        """The samples that have both objects."""
        first, second = self._objects(as_views(X))
        return self.kernel_.present(first) & self.kernel_.present(second)

    def gram(self, X: Any) -> np.ndarray:
        """Kernel values among pairs; memory for two more matrices of that size while it is computed."""
        first, second = self._objects(as_views(X))
        K = self.kernel_.gram(first)
        K *= self.kernel_.gram(second)
        swapped = self.kernel_.cross(first, second)
        K += swapped * swapped.T
        return K

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        """Kernel values between the pairs of X and those of Y; memory as for `gram`."""
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
        own = self.kernel_.diagonal(first) * self.kernel_.diagonal(second)
        return own + self._within(first, second) ** 2

    def _within(self, first: Views, second: Views) -> np.ndarray:
        """k(x1, x2) of each pair, from small square blocks: kernels do not compare samples one to one."""
        values = np.empty(first.n_samples)
        for start in range(0, len(values), _BLOCK_ROWS):
            rows = np.arange(start, min(start + _BLOCK_ROWS, len(values)))
            values[rows] = np.diagonal(self.kernel_.cross(first.rows(rows), second.rows(rows)))
        return values

    def _objects(self, views: Views) -> tuple[Views, Views]:
        check_is_fitted(self)
        first, second = self.columns_
        return views.objects(first, self.names_), views.objects(second, self.names_)

    def _object_names(self, views: Views) -> list[str] | None:
        """The columns' names inside an object, or None where they have none."""
        first, second = self.columns_
        if len(first) != len(second):
            raise ValueError(
                f"the two objects of the kernel {self.label_!r} (Pairwise) must have equally many columns, but "
                f"first={describe(self.first)} has {len(first)} and second={describe(self.second)} has {len(second)}"
            )
        if not (isinstance(self.first, str) and isinstance(self.second, str)):
            return None
        labels = np.asarray(views.names)
        names = [_after(self.first, labels[first]), _after(self.second, labels[second])]
        if names[0] != names[1]:
            raise ValueError(
                f"the two objects of the kernel {self.label_!r} (Pairwise) must have the same columns in the same "
                f"order, but {self.first!r} has {describe(names[0])} and {self.second!r} has {describe(names[1])}"
            )
        return names[0] if all(names[0]) else None


def _after(prefix: str, names: np.ndarray) -> list[str]:
    """What follows the prefix in column names; nothing in a column of that very name."""
    return [name[len(prefix) + len(SEPARATOR) :] for name in names]
