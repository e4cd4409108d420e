"""`GatedSum`: the kernel sum_m eta_m(x) k_m(x, z) eta_m(z), with gates eta that depend on the sample.

Thesis (3.9) holds for every k_m: a base kernel (here), or the kernel of a learned projection (`ProjectedKernel`).
Prediction evaluates a kernel only between samples whose gates are both open.

==============  ==========================================================
thesis          here
==============  ==========================================================
eta_m(x|V)      `gates` (training samples), `gates_of` (new samples)
V               `theta`
==============  ==========================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...arrays import Place
from ...kernels import KernelStack
from ...kernels.parts.prediction import cross_values, parts_at
from ...kernels.parts.stack import StackInParts
from ...kernels.parts.sums import SumInParts
from ...solvers.stacks.sums import GatedKernel, KernelBlock, sum_kernels
from ...views import Views
from ..gates.base import Gate
from ..gates.inputs import GatingInputs, NoInputs
from ..gates.kernel import KernelWithGates


class GatedSum(KernelWithGates):
    """k(x, z) = sum_m eta_m(x) k_m(x, z) eta_m(z): base kernels, weighted by gates.

    Parameters
    ----------
    stack : KernelStack
    theta : ndarray
        The parameters of the gating model.
    gate : Gate
        The gating model, fitted.
    inputs : GatingInputs or NoInputs
        What the gating model reads of samples, fitted.
    gates : ndarray of shape (n_samples, n_kernels)
        The gates of the training samples.
    gate_tol : float
        Gates of new samples whose square is below are closed.
    active : ndarray of bool, shape (n_kernels,), optional
        The kernels that are open for some training sample; all by default.
    open_share : ndarray of shape (n_kernels,), optional
        For which share of the training samples each kernel is open; all of them by default.
    codes : ndarray of shape (n_samples, ...), optional
        The training samples as the gating model reads them, while its parameters are learned.

    Notes
    -----
    Memory: `gram` makes one n x n matrix beside the P Gram matrices of the stack. In lazy storage there is no such
    matrix: `lazy` keeps P numbers for each sample.
    """

    def __init__(
        self,
        stack: KernelStack,
        theta: np.ndarray,
        gate: Gate,
        inputs: GatingInputs | NoInputs,
        gates: np.ndarray,
        *,
        gate_tol: float = 0.0,
        active: np.ndarray | None = None,
        open_share: np.ndarray | None = None,
        codes: np.ndarray | None = None,
    ):
        self.stack, self.theta, self.gate, self.inputs = stack, theta, gate, inputs
        self.gates, self.gate_tol, self.codes = gates, gate_tol, codes
        self.open_kernels = np.ones(stack.n_kernels, dtype=bool) if active is None else active
        self.open_share = np.ones(stack.n_kernels) if open_share is None else open_share

    @property
    def n_samples(self) -> int:
        """Number of training samples, or of those that `restrict` kept."""
        return len(self.gates)

    # Training samples

    @property
    def has_cheap_blocks(self) -> bool:  # type: ignore[override]  # an attribute of other kernels, computed here
        """Whether the P matrices are there, of which `block` and `product` read a part; not in lazy storage."""
        return not self.is_lazy

    @property
    def is_lazy(self) -> bool:
        """Whether no matrix of all training samples is made."""
        return self.stack.storage == "lazy"

    @property
    def parts(self) -> StackInParts:
        """The kernels k_m of the training samples in parts, without gates."""
        return self.stack.in_parts()

    def lazy(self) -> SumInParts:
        """K_eta in parts; images are kept for each kernel, which is what the derivative by the gates needs."""
        return SumInParts(self.parts, self.gates, keeps_images=True)

    def images(self, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """k_m among some training samples, times their gates and coefficients, for each kernel; for lazy storage.

        Parameters
        ----------
        rows : ndarray of int
        coef : ndarray of shape (n_rows, n_outputs)

        Returns
        -------
        ndarray of shape (n_rows, n_kernels, n_outputs)
            Without the gates of the rows.
        """
        parts = self.parts
        V = parts.place.asarray(self.gates[rows][:, :, None] * coef[:, None, :], "float64")
        return parts.place.numpy(parts.images(rows, rows, V))

    def gram(self, out: np.ndarray | None = None) -> np.ndarray:
        """K_eta of the training samples, thesis (3.9)."""
        return sum_kernels(self.stack.matrices(), self.gates, out=out)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """K_eta between some training samples and all of them."""
        blocks = (KernelBlock(m, self.training_block(m, index, None)) for m in np.flatnonzero(self.active).tolist())
        return sum_kernels(blocks, self.gates[index], self.gates, out=np.empty((len(index), self.n_samples)))

    def block(self, index: np.ndarray) -> np.ndarray:
        """K_eta among some training samples."""
        if self.is_lazy:
            return self.lazy().block(index)
        return GatedKernel(self.stack.matrices(), self.gates).block(index)

    def product(self, index: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """K_eta times coefficients, without K_eta."""
        if self.is_lazy:
            return self.lazy().product(np.arange(self.n_samples), index, coef)
        kernel = GatedKernel(self.stack.matrices(), self.gates)
        if coef.ndim == 1:
            return kernel.product(index, coef)
        return np.column_stack([kernel.product(index, column) for column in coef.T])

    def training_block(self, m: int, rows: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        """k_m between some training samples and some others (None: all), without gates."""
        if self.is_lazy:
            return np.array(self.parts.place.numpy(self.parts.block(m, rows, columns)), dtype=np.float64)
        K = self.stack.matrices()[m]
        return K[rows] if columns is None else K[np.ix_(rows, columns)]

    # New samples

    def new_block(self, m: int, views: Views, columns: np.ndarray | None) -> np.ndarray:
        """k_m between new samples, which all have its view, and some of the kept training samples (None: all)."""
        return self.stack.cross(m, views, np.ones(views.n_samples, dtype=bool), columns)

    def cross(self, views: Views) -> np.ndarray:
        """K_eta between new samples and training samples."""
        new = self.gates_of(views)
        return sum_kernels(
            self._open_blocks(views, new), new, self.gates, out=np.empty((views.n_samples, self.n_samples))
        )

    def values_in(self, place: Place, views: Views, coef: np.ndarray) -> np.ndarray | None:
        """K_eta of new samples times coefficients, in parts in a place; gates are computed on the host."""
        gates, active = self.gates_of(views), self.active.astype(float)
        return cross_values(parts_at(self.stack, place), views, gates, self.gates, active, coef)

    def _open_shares(self, views: Views, coef: np.ndarray) -> Iterator[tuple[int, Any, np.ndarray]]:
        """Each kernel that is open for some samples, those samples, and what it adds to their values."""
        new = self.gates_of(views)
        for m, block, rows, columns in self._open_blocks(views, new):
            yield m, rows, new[rows, m, None] * (block @ (self.gates[columns, m, None] * coef[columns]))

    def alone(self, m: int, views: Views, coef: np.ndarray) -> np.ndarray:
        """sum_i k_m(x, x_i) eta_m(x_i) c_i."""
        return self.new_block(m, views, None) @ (self.gates[:, m, None] * coef)

    # Weights

    def weights(self) -> np.ndarray:
        """The squared gates, averaged over the training samples."""
        return (self.gates**2).mean(axis=0)

    def training_weights(self) -> np.ndarray:
        """The squared gates of the training samples."""
        return self.gates**2

    # What prediction takes, and what is kept

    def evaluations(self, coef: np.ndarray) -> np.ndarray:
        """Support vectors with an open gate, times the share of training samples with one.

        That is with how many of them a new sample is compared on average, if it is like the training samples.
        """
        return (self.gates > 0.0).sum(axis=0) * self.open_share

    def restrict(self, index: np.ndarray) -> GatedSum:
        """The kernel over some training samples, with what prediction needs."""
        return GatedSum(
            self.stack.restrict(index, self.active),
            self.theta,
            self.gate,
            self.inputs,
            self.gates[index],
            gate_tol=self.gate_tol,
            active=self.active,
            open_share=self.open_share,
        )

    def _open_blocks(self, views: Views, new: np.ndarray) -> Iterator[KernelBlock]:
        """Kernel values between new and training samples whose gates are both open, for each kernel."""
        for m in range(self.n_kernels):
            rows, columns = np.flatnonzero(new[:, m]), np.flatnonzero(self.gates[:, m])
            if len(rows) and len(columns):
                part = self.complete(m, views, rows)
                some = None if len(columns) == self.n_samples else columns
                yield KernelBlock(m, self.new_block(m, part, some), rows, columns)
