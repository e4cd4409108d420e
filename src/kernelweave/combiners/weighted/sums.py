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
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ...kernels import Kernel
from ...kernels.stacking.stack import NewPart
from ...machines import Machine
from ...machines.base import Operand
from ...solvers.stacks.sums import KernelBlock, sum_kernels
from ...stacks import FitControl, TrainingStack, training
from ...stacks.base import missing_factor
from ...views import Views
from ..base import Combiner, takes_targets, with_targets
from ..combined import KernelsTimesAmplitudes


class WeightedSum(KernelsTimesAmplitudes):
    """k(x, z) = sum_m eta_m k_m(x, z) with one weight for each kernel.

    A sample that lacks a view has a zero row in that kernel; its row and column are then scaled by
    ``(sum_m eta_m / sum_{m present} eta_m) ** 0.5``, so that the kernel stays positive semidefinite and a unit diagonal
    stays one.

    Parameters
    ----------
    stack : TrainingStack or KernelStack
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

    def __init__(self, stack: Any, theta: np.ndarray, *, missing: str = "refuse", owner: str = "WeightedSum"):
        self.stack, self.theta = stack, theta
        self.missing, self.owner = missing, owner

    @property
    def active(self) -> np.ndarray:
        """The kernels with a weight."""
        return self.theta != 0

    # Training samples

    def scaling(self) -> np.ndarray:
        """What samples that lack views are multiplied by, see `TrainingStack.scaling`."""
        return training(self.stack).scaling(self.theta, self.missing, self.owner)

    def operand(self, out: np.ndarray | None = None) -> Operand:
        """The sum for the training samples; only kernels with a weight are computed."""
        return training(self.stack).sum(self.theta, self.scaling(), out)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """The sum between some training samples and all of them, without the whole matrix."""
        factor = self.scaling()
        blocks = (KernelBlock(m, self.stack.gram_rows(m, index)) for m in np.flatnonzero(self.theta).tolist())
        return factor[index, None] * sum_kernels(blocks, self.theta) * factor

    # New samples

    def new_parts(self, views: Views) -> tuple[np.ndarray, np.ndarray, Iterator[NewPart]]:
        """All samples that have the view, for each kernel with a weight."""
        present = self.stack.presence(views, self.active)
        factor = missing_factor(self.names, self.theta, present, views, self.missing, self.owner)
        left = present * np.sqrt(np.abs(self.theta)) * factor[:, None]
        used = np.flatnonzero(self.theta).tolist()
        return left, present, ((m, slice(None), views, present[:, m]) for m in used)

    def right(self) -> np.ndarray | None:
        """The same of the training samples, with the signs of the weights."""
        present = self.stack.present
        if present is None:
            return None
        factor = missing_factor(self.names, self.theta, present, None, self.missing, self.owner)
        return np.sign(self.theta) * np.sqrt(np.abs(self.theta)) * factor[:, None]

    def feature_weights(self, m: int, coef: np.ndarray) -> np.ndarray | None:
        """The vectors of kernel m with its weight, for samples that have all views."""
        right = self.right()
        vectors = self.stack.feature_weights(m, coef, None if right is None else right[:, m])
        return None if vectors is None else np.sqrt(np.abs(self.theta[m])) * vectors

    # Weights, and what is kept

    def weights(self) -> np.ndarray:
        """The weights eta."""
        return self.theta

    def sample_weights(self, views: Views) -> np.ndarray:
        """The weights; those of views that a sample lacks are spread over the views that it has."""
        present = self.stack.presence(views, self.active)
        factor = missing_factor(self.names, self.theta, present, views, self.missing, self.owner)
        return present * self.theta * factor[:, None] ** 2

    def restrict(self, index: np.ndarray) -> WeightedSum:
        """The same weights over some training samples."""
        return WeightedSum(self.stack.restrict(index, self.active), self.theta, missing=self.missing, owner=self.owner)

    def compared_with(self, points: Views) -> WeightedSum:
        """The same kernel between samples and other points than the training samples (landmarks)."""
        return WeightedSum(self.stack.compared_with(points), self.theta, missing=self.missing, owner=self.owner)


class ChosenWeights(Combiner):
    """A weighted sum whose weights are chosen first; the machine is then solved once.

    Subclasses implement `choose`; what it returns is checked. One whose `choose` reads whole Gram matrices says so in
    `needs`. Memory: as `WeightedSum`, and what choosing takes.

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
    ...     def choose(self, stack, machine, control):
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
    def choose(self, stack: TrainingStack, machine: Machine, control: FitControl) -> tuple[np.ndarray, int]:
        """The weights eta, of shape (n_kernels,), finite and not all 0, and the number of machine solves it took.

        Parameters are those of `fit`. The operations of the stack are computed on whole matrices, in tiles and on
        explicit features alike.
        """

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """Nothing by default: a weighted sum is had on every stack. One of version 0.2 may read Gram matrices."""
        found = super().needs(kernels) if takes_targets(self.choose) else {}
        if self.any_sign:
            why = f"{type(self).__name__} gives weights of both signs, under which a kernel has no explicit features"
            found["elementwise"] = why
        return found

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> WeightedSum:
        """Choose the weights, then solve the machine once under the weighted sum."""
        begin = time.perf_counter()
        stack.check_memory(3, "the combined kernel")
        eta, solves = self._checked(with_targets(self.choose, stack, machine, control), stack)
        return self.kernel(stack, eta).solve(machine, control, begin, solves=solves)

    def kernel(self, stack: Any, eta: np.ndarray) -> WeightedSum:
        """The weighted sum with given weights."""
        missing = "never" if self.any_sign else "refuse"
        return WeightedSum(stack, eta, missing=missing, owner=type(self).__name__)

    def _checked(self, chosen: Any, stack: TrainingStack) -> tuple[np.ndarray, int]:
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
