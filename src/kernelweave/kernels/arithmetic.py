"""Sums and products of kernels, and the constant kernel that numbers stand for.

The thesis is Gönen (2010, PhD thesis, Boğaziçi University).

A sample has a row in a sum or product only where it has one in every part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..validation import Constraints, Number, check_parameters, is_number, shown
from ..views import Views, as_views
from .base import Kernel
from .tiles.functions import JoinFunction, PointFunction


def as_kernel(value: Any) -> Kernel:
    """A kernel as it is, a number as a constant kernel."""
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

    def __init__(self, value: float = 1.0):
        self.value = value

    @property
    def name(self) -> str:
        """The number."""
        return f"{self.value:g}" if is_number(self.value) else "constant"

    def fit(self, X: Any, sample_weight: np.ndarray | None = None, label: str | None = None, y: Any = None) -> Constant:
        """Check the value."""
        check_parameters(self, "a constant in a kernel")
        return self

    def columns(self) -> np.ndarray:
        """No columns."""
        return np.array([], dtype=int)

    def present(self, X: Any) -> np.ndarray:
        """Every sample has it."""
        return np.ones(as_views(X).n_samples, dtype=bool)

    def read(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """One feature, the root of the value, so that `point_function` is linear."""
        return np.full((views.n_samples, 1), np.sqrt(float(self.value))), np.ones(views.n_samples, dtype=bool)

    def point_function(self) -> PointFunction:
        """<a, b> of what `read` gives."""
        return PointFunction("linear")

    def gram(self, X: Any) -> np.ndarray:
        """The value, for every pair of samples."""
        return self.cross(X, X)

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        """The value, for every pair of samples."""
        return np.full((as_views(X).n_samples, as_views(Y).n_samples), float(self.value))

    def diagonal(self, X: Any) -> np.ndarray:
        """The value, for every sample."""
        return np.full(as_views(X).n_samples, float(self.value))


class _Pair(Kernel):
    """Two kernels joined entry by entry by `_join`, written `_symbol`."""

    _symbol: str

    def __init__(self, first: Kernel, second: Kernel):
        self.first = first
        self.second = second

    @property
    def name(self) -> str:
        """The names of the parts, joined."""
        return self._symbol.join(
            f"({part.name})"
            if isinstance(part, _Pair) and part._symbol != self._symbol
            else str(getattr(part, "name", "?"))
            for part in (self.first, self.second)
        )

    @property
    def positive_semidefinite(self) -> bool:
        """Whether both parts are: sums and products of such kernels are too."""
        return self.first.positive_semidefinite and self.second.positive_semidefinite

    @property
    def supervised(self) -> bool:
        """Whether one of the parts is."""
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
        """Fit both parts, each to its own view."""
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
        """The two fitted parts."""
        return JoinFunction(self.first_, self.second_, self._symbol == "*")

    def columns(self) -> np.ndarray:
        """The columns of both parts."""
        return np.union1d(self.first_.columns(), self.second_.columns()).astype(int)

    def present(self, X: Any) -> np.ndarray:
        """The samples that both parts have."""
        views = as_views(X)
        return self.first_.present(views) & self.second_.present(views)

    def gram(self, X: Any) -> np.ndarray:
        """The parts' Gram matrices, joined."""
        views = as_views(X)
        return self._join(self.first_.gram(views), self.second_.gram(views), self.present(views), self.present(views))

    def cross(self, X: Any, Y: Any) -> np.ndarray:
        """The parts' cross matrices, joined."""
        views, others = as_views(X), as_views(Y)
        first, second = self.first_.cross(views, others), self.second_.cross(views, others)
        return self._join(first, second, self.present(views), self.present(others))

    def diagonal(self, X: Any) -> np.ndarray:
        """The parts' diagonals, joined."""
        views = as_views(X)
        return self._join(self.first_.diagonal(views), self.second_.diagonal(views), self.present(views))

    def parts(self) -> list[Kernel]:
        """Those of both parts."""
        return self.first_.parts() + self.second_.parts()

    def lookups(self, X: Any) -> list[tuple[Kernel, np.ndarray]]:
        """Those of both parts."""
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
