"""`WeightedSum`, the kernel with one weight for each base kernel, and combiners that choose such weights first.

=========  =====================================================
thesis     here
=========  =====================================================
eta        `WeightedSum.theta`, one weight for each kernel
k_eta      `gram` (training samples), `cross` (new samples)
=========  =====================================================
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from ...arrays import Place
from ...kernels import KernelStack
from ...kernels.parts.prediction import cross_values, parts_at
from ...kernels.parts.sums import SumInParts
from ...kernels.stacking.feature_weights import feature_weights
from ...kernels.tiles import Tile, symmetric
from ...machines import Machine
from ...solvers.stacks.sums import KernelBlock, sum_kernels
from ...views import Views
from ..base import Combiner, FitControl
from ..combined import CombinedKernel
from ..explicit.kernel import ExplicitSum
from .missing import without_views


class WeightedSum(CombinedKernel):
    """k(x, z) = sum_m eta_m k_m(x, z) with one weight for each kernel.

    A sample that lacks a view has a zero row in that kernel; its row and column are then scaled by
    ``(sum_m eta_m / sum_{m present} eta_m) ** 0.5``, so that the kernel stays positive semidefinite and a unit diagonal
    stays one.

    Parameters
    ----------
    stack : KernelStack
    theta : ndarray of shape (n_kernels,)
        The weights eta.
    missing : {"refuse", "warn", "never"}
        What happens for a sample without any view that has a weight: an error, or a warning and a zero row. "never" is
        for weights of both signs, which allow no scaling: every sample needs every view that has a weight.
    owner : str
        What errors call the combiner.

    Notes
    -----
    Memory: an n x n matrix for the sum, another for a kernel being added that is not computed in tiles (`Kernel.tile`),
    and at most one more inside the machine. With ``storage="lazy"`` there is none of them: the machine is solved on
    rows of the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.combiners import WeightedSum
    >>> from kernelweave.kernels import KernelStack, Linear
    >>> stack = KernelStack([Linear([0]), Linear([1])], None).fit([[1.0, 2.0], [3.0, 0.0]])
    >>> WeightedSum(stack, np.array([1.0, 0.5])).gram()
    array([[3., 3.],
           [3., 9.]])
    """

    is_sum = True

    def __init__(self, stack: KernelStack, theta: np.ndarray, *, missing: str = "refuse", owner: str = "WeightedSum"):
        self.stack, self.theta = stack, theta
        self.missing, self.owner = missing, owner

    @property
    def active(self) -> np.ndarray:
        """The kernels with a weight."""
        return self.theta != 0

    def gram(self, out: np.ndarray | None = None) -> np.ndarray:
        """The sum for the training samples; only kernels with a weight are computed."""
        factor = self.missing_factor(self.stack.present, self.stack.support)
        return _scaled(self._gram(out), factor, factor)

    def _gram(self, out: np.ndarray | None) -> np.ndarray:
        """The sum of the matrices that are there, or in tiles of kernels that have them and then of the others."""
        if self.stack.has_matrices:
            return sum_kernels(self.stack.matrices(), self.theta, out=out)
        used = np.flatnonzero(self.theta).tolist()
        tiles = {m: tile for m in used if (tile := self.stack.tile(m)) is not None}
        if tiles:
            out = symmetric(self.stack.n_samples, self._tile(tiles), out=out, dtype=self.stack.dtype)
        others = (KernelBlock(m, self.stack.gram(m)) for m in used if m not in tiles)
        return sum_kernels(others, self.theta, out=out, add=bool(tiles))

    def _tile(self, tiles: dict[int, Tile]) -> Tile:
        """The weighted sum of tiles, by kernel."""

        def tile(rows: slice, columns: slice) -> np.ndarray:
            total: Any = None
            for m, tile_of in tiles.items():
                values = tile_of(rows, columns)
                if self.theta[m] != 1.0:
                    values *= self.theta[m]
                total = values if total is None else np.add(total, values, out=total)
            return total

        return tile

    def lazy(self) -> SumInParts:
        """The sum in parts."""
        factor = self.missing_factor(self.stack.present, self.stack.support)
        left = np.repeat(factor[:, None], self.n_kernels, axis=1)
        return SumInParts(self.stack.in_parts(), left, self.theta)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """The sum between some training samples and all of them, without the whole matrix."""
        factor = self.missing_factor(self.stack.present, self.stack.support)
        return _scaled(self._sum(lambda m: self.stack.gram_rows(m, index)), factor[index], factor)

    def cross(self, views: Views) -> np.ndarray:
        """The sum for new samples; only kernels with a weight are computed."""
        present = self.stack.presence(views, self.active)
        K = self._sum(lambda m: self.stack.cross(m, views, present[:, m]))
        columns = self.missing_factor(self.stack.present, self.stack.support, known=True)
        return _scaled(K, self.missing_factor(present, views), columns)

    def values_in(self, place: Place, views: Views, coef: np.ndarray) -> np.ndarray:
        """The sum for new samples times coefficients, in parts in a place."""
        new = self.missing_factor(self.stack.presence(views, self.active), views)
        train = self.missing_factor(self.stack.present, self.stack.support, known=True)
        return cross_values(parts_at(self.stack, place), views, new[:, None], train[:, None], self.theta, coef)

    def shares(self, views: Views, coef: np.ndarray) -> np.ndarray:
        """eta_m k_m of new samples times coefficients, for each kernel."""
        present = self.stack.presence(views, self.active)
        rows = self.missing_factor(present, views)[:, None]
        coef = self.missing_factor(self.stack.present, self.stack.support, known=True)[:, None] * coef
        shares = np.zeros((views.n_samples, coef.shape[1], self.n_kernels))
        for m in np.flatnonzero(self.theta).tolist():
            shares[:, :, m] = self.theta[m] * rows * (self.stack.cross(m, views, present[:, m]) @ coef)
        return shares

    def feature_weights(self, m: int, coef: np.ndarray) -> np.ndarray:
        """eta_m times the vectors of kernel m, for samples that have all views."""
        factor = self.missing_factor(self.stack.present, self.stack.support, known=True)
        return feature_weights(self.stack, m, self.theta[m] * factor[:, None] * coef)

    def weights(self) -> np.ndarray:
        """The weights eta."""
        return self.theta

    def sample_weights(self, views: Views) -> np.ndarray:
        """The weights; those of views that a sample lacks are spread over the views that it has."""
        present = self.stack.presence(views, self.active)
        return present * self.theta * self.missing_factor(present, views)[:, None] ** 2

    def restrict(self, index: np.ndarray) -> WeightedSum:
        """The same weights over some training samples."""
        return WeightedSum(self.stack.restrict(index, self.active), self.theta, missing=self.missing, owner=self.owner)

    def compared_with(self, points: Views) -> WeightedSum:
        """The same kernel between samples and other points than the training samples (landmarks)."""
        return WeightedSum(self.stack.compared_with(points), self.theta, missing=self.missing, owner=self.owner)

    def missing_factor(self, present: np.ndarray, views: Views, *, known: bool = False) -> np.ndarray:
        """By what the rows of samples are multiplied, given which views they have.

        Parameters
        ----------
        present : ndarray of bool, shape (n_samples, n_kernels)
        views : Views
        known : bool
            Whether these are training samples of a fitted model, about which nothing needs to be said again.
        """
        if self.missing == "never":
            check_every_view(self.owner, self.stack, present | (self.theta == 0), views)
            return np.ones(len(present))
        used = self.theta > 0
        if used.any() and present[:, used].all():
            return np.ones(len(present))
        weight = present @ self.theta
        without = weight <= 0
        if without.any() and not known:
            self._complain(views.first(without))
        return np.sqrt(np.divide(self.theta.sum(), weight, out=np.ones(len(weight)), where=~without))

    def scaling(self) -> np.ndarray:
        """The factor of each training sample, for `mkl.operands.Operands.scale`."""
        return self.missing_factor(self.stack.present, self.stack.support)

    def _complain(self, sample: str) -> None:
        without_views(sample, self.names, self.theta, self.missing)

    def _sum(self, kernel_of: Callable[[int], np.ndarray], out: np.ndarray | None = None) -> np.ndarray:
        return sum_kernels(
            (KernelBlock(m, kernel_of(m)) for m in np.flatnonzero(self.theta).tolist()), self.theta, out=out
        )


class ChosenWeights(Combiner):
    """A weighted sum whose weights are chosen first; the machine is then solved once.

    Subclasses implement `choose`; what it returns is checked. One whose `choose` reads no whole Gram matrix has the
    attribute ``why_dense = None``. Memory: as `WeightedSum`, and what choosing takes.

    Attributes
    ----------
    any_sign : bool
        Whether weights may be negative. Every sample then needs every view that has a weight.

    Examples
    --------
    Weights that fall with the trace of each kernel:

    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import ChosenWeights
    >>> from kernelweave.kernels import Linear
    >>> class InverseTrace(ChosenWeights):
    ...     def choose(self, stack, machine, y, control):
    ...         return [1.0 / stack.gram(m).trace() for m in range(stack.n_kernels)], 0
    >>> kernels = [("a", Linear([0])), ("b", Linear([1]))]
    >>> model = MKLClassifier(kernels, InverseTrace(), normalize=None)
    >>> model.fit([[1.0, 2.0], [3.0, 4.0]], [0, 1]).kernel_weights_
    a    0.10
    b    0.05
    dtype: float64
    """

    any_sign = False

    @abstractmethod
    def choose(
        self, stack: KernelStack, machine: Machine, y: np.ndarray | None, control: FitControl
    ) -> tuple[np.ndarray, int]:
        """The weights eta, of shape (n_kernels,), finite and not all 0, and the number of machine solves it took.

        Parameters are those of `fit`.
        """

    def fit(
        self, stack: KernelStack, machine: Machine, y: np.ndarray | None, control: FitControl | None = None
    ) -> WeightedSum:
        """Choose the weights, then solve the machine once under the weighted sum."""
        begin, control = time.perf_counter(), control or FitControl()
        stack.check_memory(3, "the combined kernel")
        eta, solves = self._checked(self.choose(stack, machine, y, control), stack)
        return self.kernel(stack, eta).solve(machine, control, begin, solves=solves)

    def kernel(self, stack: Any, eta: np.ndarray) -> Any:
        """The weighted sum with given weights."""
        missing = "never" if self.any_sign else "refuse"
        if stack.storage == "explicit":
            return ExplicitSum(stack, eta, missing=missing, owner=type(self).__name__)
        return WeightedSum(stack, eta, missing=missing, owner=type(self).__name__)

    def _checked(self, chosen: Any, stack: KernelStack) -> tuple[np.ndarray, int]:
        """The weights and the number of solves that `choose` returned, or a ValueError."""
        who = f"choose of {type(self).__name__}"
        if not isinstance(chosen, tuple) or len(chosen) != 2 or not isinstance(chosen[1], Integral):
            raise ValueError(f"{who} must return the weights and the number of machine solves, not {chosen!r:.200}")
        try:
            eta = np.asarray(chosen[0], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{who} must return weights that are numbers, not {chosen[0]!r:.200}") from None
        if eta.shape != (stack.n_kernels,):
            raise ValueError(
                f"{who} must return one weight for each of the {stack.n_kernels} kernels, but its weights have the "
                f"shape {eta.shape}"
            )
        for wrong, problem in ((~np.isfinite(eta), "not finite"), ((eta < 0) & (not self.any_sign), "negative")):
            if wrong.any():
                m = int(np.flatnonzero(wrong)[0])
                raise ValueError(
                    f"{who} returned a weight for the kernel {stack.names[m]!r} that is {problem}: {eta[m]}"
                )
        if not eta.any():
            raise ValueError(f"{who} returned the weight 0 for every kernel; at least one must have another")
        return eta, int(chosen[1])


def check_every_view(owner: str, stack: KernelStack, present: np.ndarray, views: Views) -> None:
    """Raise an error that names the first sample without a row in some kernel.

    Parameters
    ----------
    owner : str
        What the error calls the combiner.
    stack : KernelStack
    present : ndarray of bool, shape (n_samples, n_kernels)
        Which sample has a row in which kernel.
    views : Views
        The samples.
    """
    incomplete = ~present.all(axis=1)
    if incomplete.any():
        m = np.flatnonzero(~present[incomplete][0])[0]
        raise ValueError(
            f"{owner} needs every view of every sample, but {views.first(incomplete)} lacks the view of the kernel "
            f"{stack.names[m]!r}; Mean and FixedWeights work with missing views"
        )


def _scaled(K: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    if (rows != 1).any() or (columns != 1).any():
        K *= rows[:, None]
        K *= columns[None, :]
    return K
