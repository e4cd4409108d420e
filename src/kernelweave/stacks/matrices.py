"""`Matrices`: the training stack of whole Gram matrices, which are held or made when they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from ..kernels.symmetric import Tile, symmetric
from ..machines import Solution
from ..solvers.stacks.images import Images, images
from ..solvers.stacks.products import centred_square
from ..solvers.stacks.sums import GatedKernel, KernelBlock, gated_pullback, sum_kernels
from .dense import ExactStack, ExactSums, row_means
from .points import Points

MOST_UPDATES = 20  # of the combined kernel before it is summed afresh
# Rows are centred in blocks of about this many kernel values, which stay in the processor's cache.
_BLOCK_VALUES = 2**17


class Matrices(ExactStack):
    """Whole Gram matrices; parameters and attributes are those of `KernelStack`."""

    offers = frozenset({"gram", "elementwise", "eigenvalues", "nested", "samples"})
    has_cheap_blocks = True

    def sum(self, eta: np.ndarray, scaling: np.ndarray | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """A matrix; only kernels with a weight are computed."""
        K = self._summed(eta, out)
        if scaling is not None and (scaling != 1).any():
            K *= scaling[:, None]
            K *= scaling[None, :]
        return K

    def _summed(self, eta: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        """The sum of the matrices that are there, or in tiles of kernels that have them and then of the others."""
        if self.has_matrices:
            return sum_kernels(self.matrices(), eta, out=out)
        used = np.flatnonzero(eta).tolist()
        tiles = {m: tile for m in used if (tile := self.tile(m)) is not None}
        if tiles:
            out = symmetric(self.n_samples, _weighted(tiles, eta), out=out, dtype=self.dtype)
        others = (KernelBlock(m, self.gram(m)) for m in used if m not in tiles)
        return sum_kernels(others, eta, out=out, add=bool(tiles))

    def sums(self, scaling: np.ndarray | None = None) -> MatrixSums:
        """Over all matrices, which are computed here."""
        found = MatrixSums(self)
        found.scale(self.unscaled() if scaling is None else scaling)
        return found

    def elementwise(self, kernel: Any, out: np.ndarray | None = None) -> np.ndarray:
        """The matrix of a function of the values of the kernels."""
        return kernel.gram(out)

    def form_pullback(self, form: Any, kernel: Any, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """The derivative by the weights of a form, for the samples with coefficients."""
        return form.whole_pullback(kernel, rows, coef)

    def kept_sum(self) -> None:
        """Matrices keep no images."""

    def rows_of(self, K: Any, rows: np.ndarray) -> np.ndarray:
        """Rows."""
        return K[rows]

    def block_of(self, K: Any, rows: np.ndarray) -> np.ndarray:
        """Rows and columns."""
        return K[np.ix_(rows, rows)]

    # Gates, over base kernels or points

    def gated(self, function: Any, gates: Any, at: Points | None, out: np.ndarray | None = None) -> np.ndarray:
        """sum_m g_m(x) k_m(x, z) g_m(z)."""
        if at is not None:
            return at.sum_of(gates).gram(out, self.dtype)
        return sum_kernels(self.matrices(), gates, out=out)

    def gated_block(self, gates: np.ndarray, at: Points | None, rows: np.ndarray) -> np.ndarray:
        """The gated sum among some samples."""
        return (GatedKernel(self.matrices(), gates) if at is None else at.sum_of(gates)).block(rows)

    def gated_product(self, gates: np.ndarray, at: Points | None, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """The gated sum times coefficients of some samples, one column after the other."""
        kernel: Any = GatedKernel(self.matrices(), gates) if at is None else at.sum_of(gates)
        if coef.ndim == 1:
            return kernel.product(rows, coef)
        return np.column_stack([kernel.product(rows, column) for column in coef.T])

    def gated_rows(self, gates: np.ndarray, at: Points | None, rows: np.ndarray) -> np.ndarray:
        """The gated sum between some samples and all of them."""
        if at is not None:
            blocks = (
                KernelBlock(m, k.cross(Z[rows], Z)) for m, (k, Z) in enumerate(zip(at.kernels, at.points, strict=True))
            )
        else:
            blocks = (KernelBlock(m, self.matrices()[m][rows]) for m in range(self.n_kernels))
        return sum_kernels(blocks, gates[rows], gates, out=np.empty((len(rows), len(gates))))

    def gated_values(
        self, gates: np.ndarray, at: Points | None, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray
    ) -> np.ndarray:
        """The gated sum between some samples and others, times coefficients of the others that are not 0."""
        values = np.zeros((len(rows), coef.shape[1]))
        for m in range(self.n_kernels):
            if at is None:
                block = self.matrices()[m][np.ix_(rows, columns)]
            else:
                block = at.kernels[m].cross(at.points[m][rows], at.points[m][columns])
            values += gates[rows, m, None] * (block @ (gates[columns, m, None] * coef))
        return values

    def slopes(
        self, gates: np.ndarray, at: Points | None, rows: np.ndarray, coef: np.ndarray, solution: Any = None
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """dJ by the gates, and by the points where there are some, of the samples with coefficients."""
        if at is not None:
            return at.sum_of(gates).pullback(rows, coef)
        return gated_pullback(self.matrices(), gates, rows, coef)[rows], []

    def mean_of(self, kernels: list[Any], features: list[Any], gates: np.ndarray) -> np.ndarray:
        """The gated sum of kernels of whole features."""
        blocks = (KernelBlock(m, k.gram(F)) for m, (k, F) in enumerate(zip(kernels, features, strict=True)))
        return sum_kernels(blocks, gates, out=np.empty((self.n_samples,) * 2, self.dtype))

    def prepare(self) -> None:
        """All matrices."""
        self.matrices()

    def images(self, columns: np.ndarray) -> np.ndarray:
        """One matrix after the other."""
        return np.stack([_times(self.gram(m), columns[m]) for m in range(self.n_kernels)])

    def read(
        self, columns: np.ndarray, roots: np.ndarray, centered: bool, pairs: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """One matrix after the other, or all of them for `pairs`."""
        n_kernels = self.n_kernels
        matrices = self.matrices() if pairs else None
        found, squares = np.empty(columns.shape), np.zeros(n_kernels)
        means, grand = np.zeros(roots.shape), np.zeros(n_kernels)
        for m in range(n_kernels):
            K = self.gram(m) if matrices is None else matrices[m]
            found[m] = _times(K, columns[m])
            one = slice(m, m + 1)
            means[one], grand[one] = row_means(found[one], columns[one, :, -1], centered)
            if matrices is None:
                squares[m] = centred_square(K, means[m], grand[m], roots[m])
        return found, squares if matrices is None else _between(matrices, means, grand, roots)

    def alone(self, m: int) -> np.ndarray:
        """Its matrix."""
        return self.gram(m)

    part = block_of

    def values(self, K: Any, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """A product."""
        return K[np.ix_(rows, columns)] @ coef

    def eigenvalue_counts(self) -> list[int]:
        """By the inertia of each matrix."""
        return [_n_large_eigenvalues(self.gram(m), self.present[:, m]) for m in range(self.n_kernels)]

    def diagonals(self) -> np.ndarray:
        """k_m(x, x) of each sample, of shape (n_samples, n_kernels)."""
        return np.ascontiguousarray(self.matrices().diagonal(axis1=1, axis2=2).T, dtype=float)


class MatrixSums(ExactSums):
    """Sums of the Gram matrices of a stack; few changed weights are an update of the last sum."""

    def __init__(self, stack: Matrices):
        self.matrices = stack.matrices()
        self.n_kernels, self.n_samples = self.matrices.shape[:2]
        self.factor: np.ndarray | None = None
        self._K = np.empty(self.matrices.shape[1:], self.matrices.dtype)
        self._weights: np.ndarray | None = None
        self._updates = 0

    def scale(self, scaling: np.ndarray) -> None:
        """Of the next sum on."""
        self.factor = None if (scaling == 1.0).all() else scaling

    def at(self, eta: np.ndarray) -> np.ndarray:
        """The combined kernel, updated or summed afresh; overwritten by the next call."""
        moved = None if self._weights is None else eta - self._weights
        few = moved is not None and np.count_nonzero(moved) <= min(2, int(np.count_nonzero(eta)) - 1)
        if moved is not None and few and self.factor is None and self._updates < MOST_UPDATES:
            if moved.any():
                sum_kernels(self.matrices, moved, out=self._K, add=True)
                self._updates += 1
        else:
            sum_kernels(self.matrices, eta, out=self._K)
            self._updates = 0
            if self.factor is not None:
                self._K *= self.factor[:, None]
                self._K *= self.factor
        self._weights = None if self.factor is not None else eta.copy()
        return self._K

    def images(self, outputs: list[tuple[np.ndarray, Solution]]) -> Images:
        """Products with the matrices."""
        coef = self._coef(outputs)
        if self.factor is None:
            return images(self.matrices, coef)
        return images(self.matrices, self.factor[:, None] * coef).scaled(self.factor)


def _weighted(tiles: dict[int, Tile], eta: np.ndarray) -> Tile:
    """The weighted sum of tiles, by kernel."""

    def tile(rows: slice, columns: slice) -> np.ndarray:
        total: Any = None
        for m, tile_of in tiles.items():
            values = tile_of(rows, columns)
            if eta[m] != 1.0:
                values *= eta[m]
            total = values if total is None else np.add(total, values, out=total)
        return total

    return tile


def _times(K: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """K times a few columns in double precision, without a copy of K."""
    if K.dtype == np.float64:
        return K @ columns
    n_rows = max(1, _BLOCK_VALUES // len(K))
    starts = range(0, len(K), n_rows)
    return np.vstack([K[first : first + n_rows].astype(np.float64) @ columns for first in starts])


def _between(matrices: np.ndarray, means: np.ndarray, grand: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """<K_m, K_h> for all pairs, a few centred rows at a time."""
    n_kernels, n_samples = means.shape
    n_rows = max(1, _BLOCK_VALUES // (n_kernels * n_samples))
    between = np.zeros((n_kernels, n_kernels))
    for first in range(0, n_samples, n_rows):
        rows = slice(first, first + n_rows)
        block = matrices[:, rows].astype(np.float64)
        if means.any():
            block += (grand[:, None] - means[:, rows])[:, :, None]
            block -= means[:, None, :]
        if not (roots == 1.0).all():
            block *= roots[:, rows, None]
            block *= roots[:, None, :]
        flat = block.reshape(n_kernels, -1)
        between += flat @ flat.T
    return between


def _n_large_eigenvalues(K: np.ndarray, present: np.ndarray) -> int:
    """Eigenvalues above half of their mean among the samples that have the view; at least 1; overwrites K."""
    if not present.all():
        K = K[np.ix_(present, present)]
    threshold = np.trace(K) / (2 * max(1, len(K)))  # Bach et al. (2005): 1 / (2 n) at unit trace
    K.flat[:: len(K) + 1] -= threshold
    return max(1, _n_positive_eigenvalues(K))


def _n_positive_eigenvalues(A: np.ndarray) -> int:
    """By Sylvester's law of inertia, from the signs of D in A = L D L' (Bunch and Kaufman 1977); overwrites A."""
    factorize, workspace = get_lapack_funcs(("sytrf", "sytrf_lwork"), (A,))
    n_work, _ = workspace(len(A), lower=1)
    # The transpose of a symmetric matrix in row order is the matrix in LAPACK's column order: no copy is made.
    D, pivots, _ = factorize(A.T, lwork=int(n_work), lower=1, overwrite_a=1)
    single = pivots > 0
    # A 2 x 2 block of D has one positive and one negative eigenvalue, and stands in two entries of `pivots`.
    return int((np.diagonal(D)[single] > 0).sum() + np.count_nonzero(~single) // 2)
