"""Where the parameters of `Projected` stand in theta, and where each of them may go.

=========  =====================================================================
SLDR       here
=========  =====================================================================
V          the first `n_gating` numbers of theta
T          `gating_shape`, of orthonormal columns; none where inputs stay whole
W_m        `shapes[m]`, one matrix for each kernel
=========  =====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...solvers import Domain, ProductSpace, Space, Sphere, Stiefel
from ...validation import Whole, check

CONSTRAINTS = ("orthonormal", "norm", "penalty")
FEWEST = 10  # of n_components="auto"; else one fewer than there are classes, the dimensions of their means


@dataclass(frozen=True)
class Layout:
    """The parts of theta: V, T, and the W_m one after another.

    Attributes
    ----------
    n_gating : int
    gating_shape : tuple of int or None
    shapes : list of tuple of int
    constraint : {"orthonormal", "norm", "penalty"}
        Of each W_m: orthonormal columns; the Frobenius norm of such a matrix; none.
    """

    n_gating: int
    gating_shape: tuple[int, int] | None
    shapes: list[tuple[int, int]]
    constraint: str

    @property
    def first_projection(self) -> int:
        """Where the W_m begin."""
        shape = (0, 0) if self.gating_shape is None else self.gating_shape
        return int(self.n_gating) + int(shape[0]) * int(shape[1])  # Python's integers, which do not wrap

    def gating(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """V and T."""
        if self.gating_shape is None:
            return theta[: self.n_gating], None
        return theta[: self.n_gating], theta[self.n_gating : self.first_projection].reshape(self.gating_shape)

    def projections(self, theta: np.ndarray) -> list[np.ndarray]:
        """The W_m, as views of theta."""
        matrices, begin = [], self.first_projection
        for shape in self.shapes:
            end = begin + shape[0] * shape[1]
            matrices.append(theta[begin:end].reshape(shape))
            begin = end
        return matrices

    def projected_codes(self, theta: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """T' x^G if there is a T, else the codes themselves, SLDR (3)."""
        T = self.gating(theta)[1]
        return codes if T is None else (T.T @ codes.T).T  # in this order BLAS takes two thirds of the time

    def join(self, V: np.ndarray, T: np.ndarray | None, matrices: list[np.ndarray]) -> np.ndarray:
        """theta of its parts."""
        parts = [V, *([] if T is None else [T.ravel()]), *(W.ravel() for W in matrices)]
        return np.concatenate(parts)

    def domain(self) -> Domain:
        """Where theta may go."""
        return ProductSpace([(part.stop - part.start, domain) for part, domain in reversed(self.blocks())])

    def blocks(self) -> list[tuple[slice, Domain]]:
        """The parts in the order in which Algorithm 1 of SLDR moves them: all W_m, T, V."""
        begin = self.first_projection
        size = sum(rows * columns for rows, columns in self.shapes)
        blocks = [(slice(begin, begin + size), self._projection_domain())]
        if self.gating_shape is not None:
            blocks.append((slice(self.n_gating, begin), Stiefel(*self.gating_shape)))
        if self.n_gating:
            blocks.append((slice(0, self.n_gating), Space()))
        return blocks

    def _projection_domain(self) -> Domain:
        if self.constraint == "penalty":
            return Space()
        if self.constraint == "norm":
            return ProductSpace([(rows * columns, Sphere(np.sqrt(columns))) for rows, columns in self.shapes])
        return ProductSpace([(rows * columns, Stiefel(rows, columns)) for rows, columns in self.shapes])


def component_counts(value: Any, names: list[str], n_features: list[int], n_classes: int = 0) -> list[int]:
    """Dimensions R_m of each kernel's projection.

    Parameters
    ----------
    value : "auto", int, mapping from kernel name to int, or sequence
        One number for all is a limit for kernels with fewer features; "auto" is such a number, see `FEWEST`.
    names : list of str
        The kernels.
    n_features : list of int
        How many features each has.
    n_classes : int
        0 where targets are no labels.
    """
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(value, str) and value == "auto":
        value = max(FEWEST, n_classes - 1)
    if isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        count = check("Projected", "n_components", value, Whole(1) | "auto")
        return [min(count, limit) for limit in n_features]
    if isinstance(value, Mapping):
        if set(value) != set(names):
            raise ValueError(f"n_components must name each of the kernels {names}, not {sorted(value, key=str)}")
        value = [value[name] for name in names]
    if len(value) != len(names):
        raise ValueError(f"n_components must have one entry for each of the {len(names)} kernels, not {len(value)}")
    for name, count, limit in zip(names, value, n_features, strict=True):
        if check(f"the kernel {name!r}", "n_components", count, Whole(1)) > limit:
            raise ValueError(f"n_components of the kernel {name!r} is {count}, but it has only {limit} feature(s)")
    return [int(count) for count in value]
