"""Where a descent may go: space, convex sets, orthonormal matrices, spheres, and products of them.

A position is one flat vector. A step is chosen among the tangent vectors of the domain at the position, and then made
by `move`: straight ahead in space and in convex sets, whose steps are cut to end inside; along a curve on manifolds.
The curve goes straight and takes the nearest point of the manifold, R(t d) = enter(x + t d), which for orthonormal
matrices is the polar factor, the projection by singular values of the papers (SLDR A.3). Metric and projections are
Euclidean, as in Absil, Mahony and Sepulchre (2008).

===============  =====================================  ====================================================
domain           positions                              tangent vectors at W or x
===============  =====================================  ====================================================
`Space`          all                                    all
`ConvexSet`      project(x) = x                         all, cut by `limit`
`Stiefel`        W'W = I                                Z with W'Z + Z'W = 0
`Sphere`         ||x|| = radius                         z with x'z = 0
`ProductSpace`   parts of the vector in their domains   parts in their tangent spaces
===============  =====================================  ====================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

WELL_CONDITIONED = 0.01  # smallest squared singular value, relative to the largest, that A'A has as exactly as A


class Domain(ABC):
    """Positions that a descent may take. By default all moves are straight lines; subclasses override that."""

    everywhere: bool = False  # whether all positions are allowed and moves are straight: then no method is called
    longest: float = np.inf  # multiple of a step up to which all moves stay inside

    @property
    def size(self) -> int | None:
        """Number of entries, where that is fixed."""
        return None

    @abstractmethod
    def enter(self, position: np.ndarray) -> np.ndarray:
        """The nearest allowed position."""

    def tangent(self, position: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """The nearest tangent vectors at a position, for vectors of shape (..., n)."""
        return vectors

    def limit(self, target: np.ndarray) -> np.ndarray:
        """The nearest allowed end of a straight line, from a position along a tangent vector."""
        return target

    def move(self, position: np.ndarray, direction: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
        """The position at `length` of the curve that leaves in a tangent direction, and its derivative there."""
        return position + length * direction, direction


class Space(Domain):
    """All of space."""

    everywhere = True

    def enter(self, position: np.ndarray) -> np.ndarray:
        return position


@dataclass(frozen=True)
class ConvexSet(Domain):
    """A convex set, given by its Euclidean projection.

    Attributes
    ----------
    project : callable
        ``project(position)`` is the nearest position of the set.

    Examples
    --------
    >>> import numpy as np
    >>> ConvexSet(lambda x: np.maximum(x, 0.0)).enter(np.array([1.0, -1.0]))
    array([1., 0.])
    """

    project: Callable[[np.ndarray], np.ndarray]
    longest = 1.0

    def enter(self, position: np.ndarray) -> np.ndarray:
        return self.project(position)

    def limit(self, target: np.ndarray) -> np.ndarray:
        return self.project(target)


@dataclass(frozen=True)
class Stiefel(Domain):
    """Matrices with orthonormal columns, W'W = I, flattened row by row.

    Moves of square matrices keep the sign of the determinant.

    Attributes
    ----------
    n_rows : int
    n_columns : int
        At most `n_rows`.

    Examples
    --------
    >>> import numpy as np
    >>> W = Stiefel(3, 2).enter(np.array([2.0, 0.0, 0.0, -3.0, 0.0, 0.0]))
    >>> W.reshape(3, 2) + 0.0
    array([[ 1.,  0.],
           [ 0., -1.],
           [ 0.,  0.]])
    """

    n_rows: int
    n_columns: int

    def __post_init__(self):
        if not 1 <= self.n_columns <= self.n_rows:
            raise ValueError(
                f"a matrix of {self.n_rows} rows cannot have {self.n_columns} orthonormal columns; n_columns must be "
                "between 1 and n_rows"
            )

    @property
    def size(self) -> int:
        return self.n_rows * self.n_columns

    def enter(self, position: np.ndarray) -> np.ndarray:
        """The polar factor; one of the nearest matrices where the columns are linearly dependent."""
        U, _, Vt = np.linalg.svd(self._matrix(position), full_matrices=False)
        return (U @ Vt).reshape(-1)

    def tangent(self, position: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """Z - W sym(W'Z), Absil et al. (3.35)."""
        W, Z = self._matrix(position), self._matrix(vectors)
        inner = W.T @ Z
        normal = W @ (0.5 * (inner + np.swapaxes(inner, -1, -2)))
        return np.subtract(Z, normal, out=normal).reshape(vectors.shape)

    def move(self, position: np.ndarray, direction: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
        """The polar factor Q = UV' of W + length Z = U S V', Absil et al. (4.7), and its derivative.

        The derivative of QP = W + tZ, with P = VSV' and Q'dQ = V A V' for a skew-symmetric A, is Z = dQ P + Q dP. Its
        part in the span of Q gives A S + S A = X - X' with X = U'ZV, the rest of it is (I - QQ') dQ P.
        """
        Z = self._matrix(direction)
        U, s, Vt = _thin_svd(self._matrix(position) + length * Z)
        turned = Z @ Vt.T
        X = U.T @ turned
        skew = (X - X.T) / np.add.outer(s, s)
        velocity = (turned / s + U @ (skew - X / s)) @ Vt
        return (U @ Vt).reshape(-1), velocity.reshape(-1)

    def _matrix(self, vectors: np.ndarray) -> np.ndarray:
        return vectors.reshape(*vectors.shape[:-1], self.n_rows, self.n_columns)


def _thin_svd(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, s, V' of a matrix with few columns: from A'A where that loses no digits, which is several times faster."""
    squares, V = np.linalg.eigh(A.T @ A)
    if not squares[0] > WELL_CONDITIONED * squares[-1]:
        return np.linalg.svd(A, full_matrices=False)
    s = np.sqrt(squares)
    return (A @ V) / s, s, V.T


@dataclass(frozen=True)
class Sphere(Domain):
    """Vectors of a fixed Euclidean norm, which are matrices of that Frobenius norm.

    Attributes
    ----------
    radius : float
        Positive.

    Examples
    --------
    >>> import numpy as np
    >>> Sphere(10.0).enter(np.array([3.0, -4.0]))
    array([ 6., -8.])
    """

    radius: float = 1.0

    def __post_init__(self):
        if not 0.0 < self.radius < np.inf:
            raise ValueError(f"radius of a sphere must be positive and finite, not {self.radius!r}")

    def enter(self, position: np.ndarray) -> np.ndarray:
        norm = np.linalg.norm(position)
        if norm == 0.0:
            raise ValueError("a vector of zeros has no direction, so it cannot be scaled to the norm of a sphere")
        return position * (self.radius / norm)

    def tangent(self, position: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """z - x x'z / ||x||^2."""
        return vectors - np.multiply.outer(vectors @ position / self.radius**2, position)

    def move(self, position: np.ndarray, direction: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
        ahead = position + length * direction
        shrink = self.radius / np.linalg.norm(ahead)
        position = shrink * ahead
        return position, shrink * self.tangent(position, direction)


class ProductSpace(Domain):
    """Consecutive parts of the vector, each in a domain of its own.

    Parameters
    ----------
    parts : sequence of (int, Domain)
        Sizes and domains.

    Examples
    --------
    >>> import numpy as np
    >>> ProductSpace([(2, Sphere()), (1, Space())]).enter(np.array([0.0, 2.0, 3.0]))
    array([0., 1., 3.])
    """

    def __init__(self, parts: Sequence[tuple[int, Domain]]):
        for size, domain in parts:
            if domain.size not in (None, size):
                raise ValueError(f"a {type(domain).__name__} of {domain.size} entries cannot take {size} of the vector")
        edges = accumulate((size for size, _ in parts), initial=0)
        self.parts = [(slice(*edge), domain) for edge, (_, domain) in zip(pairwise(edges), parts, strict=True)]
        self._size = sum(size for size, _ in parts)
        self.longest = min((domain.longest for _, domain in parts), default=np.inf)

    @property
    def size(self) -> int:
        return self._size

    def enter(self, position: np.ndarray) -> np.ndarray:
        if len(position) != self.size:
            raise ValueError(f"the parts of the domain have {self.size} entries, the position has {len(position)}")
        return self._join(position, (domain.enter(position[part]) for part, domain in self.parts))

    def tangent(self, position: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        pieces = (domain.tangent(position[part], vectors[..., part]) for part, domain in self.parts)
        return self._join(vectors, pieces)

    def limit(self, target: np.ndarray) -> np.ndarray:
        return self._join(target, (domain.limit(target[part]) for part, domain in self.parts))

    def move(self, position: np.ndarray, direction: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
        moves = [domain.move(position[part], direction[part], length) for part, domain in self.parts]
        return self._join(position, (place for place, _ in moves)), self._join(position, (speed for _, speed in moves))

    def _join(self, like: np.ndarray, pieces: Iterable[np.ndarray]) -> np.ndarray:
        joined = np.empty_like(like)
        for (part, _), piece in zip(self.parts, pieces, strict=True):
            joined[..., part] = piece
        return joined
