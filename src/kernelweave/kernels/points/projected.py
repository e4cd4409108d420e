"""Kernels of projected samples, weighted by gates: values, products and the pullback (SLDR A.1 to A.3).

Also section 4.2 of Gönen (2010, PhD thesis, Boğaziçi University).

    K = sum_m diag(g_m) K_m diag(g_m),      K_m[i, j] = k_m(z_i^m, z_j^m),      z^m = W_m' x^m

The points z^m are few numbers per sample, so nothing here costs more than n x n values of small inner products, and
what only concerns support vectors costs their number squared. All linear kernels together are one low-rank product A A'
with A = [g_1 z^1, g_2 z^2, ...]: products with K and its pullback then never form a matrix of kernel values.

=============  ================================================
SLDR           here
=============  ================================================
z_i^m          points[m][i]
eta_m(x_i)     gates[i, m]
k_m            kernels[m], a `PointKernel`
Upsilon        C C', the outer product of coefficients
=============  ================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..base import ViewKernel


@dataclass(frozen=True)
class PointKernel:
    """A kernel between points, times a constant.

    Attributes
    ----------
    kernel : ViewKernel
        Fitted and differentiable; its view plays no part here.
    gain : float
        The constant; 1 for a linear kernel, whose points can be scaled instead.
    """

    kernel: ViewKernel
    gain: float = 1.0

    def __post_init__(self):
        if self.is_linear and self.gain != 1.0:
            raise ValueError("a linear kernel has no gain; scale its points")

    def with_width_of(self, points: np.ndarray, sample_weight: np.ndarray) -> PointKernel:
        """The same, with the width that the kernel learns from these points; itself where the kernel has no width."""
        return replace(self, kernel=self.kernel.learned_from(points, sample_weight)) if self.kernel.has_width else self

    def of_width(self, kernel: ViewKernel) -> PointKernel:
        """The same, with the width of another kernel; itself where the kernel has no width."""
        return replace(self, kernel=kernel) if self.kernel.has_width else self

    @property
    def is_linear(self) -> bool:
        """Whether this is the inner product."""
        return self.kernel.is_linear

    def gram(self, points: np.ndarray) -> np.ndarray:
        """Values among points, a new array."""
        values = self.kernel.gram_of(points)
        return values if self.gain == 1.0 else np.multiply(values, self.gain, out=values)

    def cross(self, points: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Values between points and others, a new array."""
        values = self.kernel.cross_of(points, others)
        return values if self.gain == 1.0 else np.multiply(values, self.gain, out=values)

    def contract(self, points: np.ndarray, weighted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """K B, and half the gradient of <K, B B'> by the points, for coefficients B of shape (n_points, n_outputs)."""
        if self.is_linear:
            inner = points.T @ weighted
            return points @ inner, weighted @ inner.T
        pulled = self.kernel.pullback(points, points, weighted @ weighted.T)
        return self.gram(points) @ weighted, self.gain * pulled


class ProjectedSum:
    """The gated sum of kernels of points, computed in parts or as a whole.

    Parameters
    ----------
    kernels : list of PointKernel
    points : list of ndarray of shape (n_samples, n_components)
        The projected samples, for each kernel.
    gates : ndarray of shape (n_samples, n_kernels)

    Notes
    -----
    Memory: `gram` makes one n x n matrix, and holds a second while it adds a kernel that is not linear to others.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.kernels import Linear
    >>> from kernelweave.kernels.points.projected import PointKernel, ProjectedSum
    >>> K = ProjectedSum([PointKernel(Linear())], [np.array([[1.0], [2.0]])], np.array([[1.0], [0.5]]))
    >>> K.gram(), K.product(np.array([1]), np.array([3.0]))
    (array([[1., 1.],
           [1., 1.]]), array([3., 3.]))
    """

    def __init__(self, kernels: list[PointKernel], points: list[np.ndarray], gates: np.ndarray):
        self.kernels, self.points, self.gates = kernels, points, gates
        flat = [gates[:, m, None] * points[m] for m, kernel in enumerate(kernels) if kernel.is_linear]
        self._flat = np.hstack(flat) if flat else np.zeros((len(gates), 0))
        self._curved = [m for m, kernel in enumerate(kernels) if not kernel.is_linear]

    def gram(self, out: np.ndarray | None = None, dtype: np.dtype | type = np.float64) -> np.ndarray:
        """All of K, written to `out` where it is given."""
        if out is None:
            out = np.empty((len(self.gates), len(self.gates)), dtype)
        self._fill(out, slice(None))
        return out

    def block(self, rows: np.ndarray) -> np.ndarray:
        """K at these rows and columns."""
        out = np.empty((len(rows), len(rows)))
        self._fill(out, rows)
        return out

    def product(self, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """K times a vector that is zero but for these entries."""
        result = self._flat @ (self._flat[rows].T @ coef)
        for m in self._curved:
            values = self.kernels[m].cross(self.points[m], self.points[m][rows])
            result += self.gates[:, m] * (values @ (self.gates[rows, m] * coef))
        return result

    def pullback(self, rows: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """The gradient of -1/2 sum_r c_r' K c_r by gates and by points.

        Parameters
        ----------
        rows : ndarray of int, shape (n_rows,)
            The samples with coefficients; the gradient is zero for the others.
        coef : ndarray of shape (n_rows, n_outputs)

        Returns
        -------
        by_gates : ndarray of shape (n_rows, n_kernels)
        by_points : list of ndarray of shape (n_rows, n_components)
        """
        by_gates, by_points = np.empty((len(rows), len(self.kernels))), []
        for m, kernel in enumerate(self.kernels):
            weighted = self.gates[rows, m, None] * coef
            image, pulled = kernel.contract(self.points[m][rows], weighted)
            by_gates[:, m] = -np.einsum("ir,ir->i", coef, image)  # SLDR A.2
            by_points.append(-pulled)  # SLDR A.3
        return by_gates, by_points

    def _fill(self, out: np.ndarray, rows: np.ndarray | slice) -> None:
        started = self._flat.shape[1] > 0
        if started:
            flat = self._flat[rows].astype(out.dtype, copy=False)
            np.matmul(flat, flat.T, out=out)
        for m in self._curved:
            values = self._weighted_gram(m, rows)
            if started:
                out += values
            else:
                out[...] = values
            started = True
            del values  # or it would still be there while the next one is made

    def _weighted_gram(self, m: int, rows: np.ndarray | slice) -> np.ndarray:
        values, gates = self.kernels[m].gram(self.points[m][rows]), self.gates[rows, m]
        values *= gates[:, None]
        values *= gates
        return values
