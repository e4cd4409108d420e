"""`KernelDifference`: the mean of two kernels plus a function of their difference (thesis 2.2.2; de Diego 2004).

K = 1/2 (K_1 + K_2) + tau f(K_1 - K_2), for more kernels recursively: the combination of the first two with the third,
and so on.

==========================================  =====================
thesis                                      form
==========================================  =====================
f = y_i y_j |k_1 - k_2|                     ``"absolute"``
f = y_i y_j (k_1 - k_2)                     ``"difference"``
f = (K_1 - K_2)(K_1 - K_2), matrices        ``"square"``
==========================================  =====================

New samples. In the first two forms the label of a new sample is unknown; it is estimated by the same machine trained on
the mean of the kernels, as that machine's decision value cut to [-1, 1]: samples outside its margin count with their
label, the others with less. In the third, (k_1 - k_2)(K_1 - K_2) of a new sample's row is the same product as for
training samples.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...kernels import Kernel, KernelStack
from ...kernels.stacking.repair import Repair
from ...machines import Machine, Solution
from ...stacks import FitControl, TrainingStack, training
from ...stacks.base import check_every_view
from ...validation import Choice, Constraints, Number, check_parameters
from ...views import Views
from ..base import Combiner
from ..combined import CombinedKernel

FORMS = ("absolute", "difference", "square")


class KernelDifference(Combiner):
    """The mean of two kernels plus tau times a function of their difference (de Diego et al., 2004).

    ``k(x, z) = 1/2 (k_1 + k_2) + tau f(k_1 - k_2)`` with f = ``y_x y_z |k_1 - k_2|`` (``"absolute"``), f = ``y_x y_z
    (k_1 - k_2)`` (``"difference"``) or the square of the matrix K_1 - K_2 (``"square"``). Three and more kernels are
    combined one after the other, so that their order matters. Nothing is optimised; choose `tau` by cross-validation.

    It helps, at best, where each of two kernels is good for other samples; the first two forms write the training
    labels into the kernel, so that training samples look far better separated than new ones are, and a large `tau`
    repeats the errors of the machine on the mean kernel. The forms with labels take two classes only, ``"square"``
    takes every machine; every sample needs every view.

    Parameters
    ----------
    form : {"absolute", "difference", "square"}
    tau : float
        Weight of the difference, at least 0; 0 is the mean (recursively) of the kernels.
    repair : {"clip", "shift", None}
        What to do where the combined kernel is not positive semidefinite, as the forms with labels can make it; see
        `kernels.Repair`. None warns only, and the machine may then stop at a point that is no optimum.

    Notes
    -----
    The label of a new sample is estimated by the same machine trained on the mean kernel: its decision value cut to
    [-1, 1]. Training samples that are predicted count as new ones. `kernel_weights_` are those of the kernels in the
    part without differences.
    Memory: six n x n matrices while fitting; for ``"square"`` one more for each kernel after the first, which the model
    keeps. Prediction compares new samples with all training samples.

    Examples
    --------
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import KernelDifference
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> model = MKLClassifier([Linear(), Gaussian()], combiner=KernelDifference("square", tau=0.1))
    >>> model.fit([[1.0], [2.0], [5.0], [6.0]], [0, 0, 1, 1]).predict([[1.5], [5.5]])
    array([0, 1])
    """

    _constraints = Constraints(form=Choice(*FORMS), tau=Number(low=0))

    def __init__(self, form: str = "absolute", tau: float = 0.1, *, repair: str | None = "clip"):
        self.form = form
        self.tau = tau
        self.repair = repair

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """The square is a product of whole matrices; the forms with labels need the eigenvalues of the whole kernel."""
        if self.form == "square":
            return {"gram": "KernelDifference squares the whole matrix of differences"}
        return {"gram": "KernelDifference repairs the combined kernel by the eigenvalues of its whole matrix"}

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> DifferenceKernel:
        """Solve the machine on the mean kernel if labels of new samples are needed, then on the combined one."""
        begin = time.perf_counter()
        check_parameters(self)
        repair = Repair(self.repair, "combined", trusted=self.form == "square")
        exact = training(stack)
        check_every_view(type(self).__name__, exact.names, exact.present, exact.reference)
        kept = stack.n_kernels - 1 if self.form == "square" else 0
        stack.check_memory(6 + kept, "the combined kernel", per_kernel=kept > 0)
        signs = first = None
        if self.form != "square":
            signs = self._signs(machine)
            mean: Any = sum(stack.gram(m) for m in range(stack.n_kernels)) / stack.n_kernels
            first = machine.solve(mean, tol=control.tol, max_steps=control.max_steps)
            del mean
            self._warn(first)
        kernel = DifferenceKernel(
            exact,
            self.form,
            self.tau,
            repair,
            signs=signs,
            first_coef=None if first is None else first.coef,
            first_intercept=None if first is None else first.intercept,
        )
        return kernel.solve(machine, control, begin, solves=int(first is not None))

    def _warn(self, first: Solution) -> None:
        if not first.converged:
            warn(
                f"the machine on the mean kernel, by which KernelDifference labels new samples, stopped after "
                f"{first.steps} steps; raise max_iter, scale the data, or lower C",
                ConvergenceWarning,
            )

    def _signs(self, machine: Machine) -> np.ndarray:
        if machine.strata is None or len(np.unique(machine.strata)) != 2:
            raise ValueError(
                f'KernelDifference with form="{self.form}" multiplies by labels +1 and -1, so it is for two classes '
                'only; form="square" works for every machine'
            )
        return np.where(machine.strata == np.max(machine.strata), 1.0, -1.0)


class DifferenceKernel(CombinedKernel):
    """The mean of two kernels plus tau times a function of their difference, for more kernels recursively.

    Prediction needs all training samples, because each of them enters every difference.

    Parameters
    ----------
    stack : KernelStack
    form : {"absolute", "difference", "square"}
    tau : float
    repair : Repair
    signs : ndarray of shape (n_training,) or None
        Labels +1 and -1 of all training samples, for the forms that multiply by labels.
    first_coef, first_intercept : ndarray or None
        The machine on the mean kernel, which estimates the labels of new samples.
    differences : list of ndarray of shape (n_training, n_training)
        For "square": what the rows of new samples are multiplied by; computed by `gram`.
    index : ndarray of int, optional
        The training samples that columns of the kernel belong to; all of them by default.
    """

    def __init__(
        self,
        stack: KernelStack,
        form: str,
        tau: float,
        repair: Repair,
        *,
        signs: np.ndarray | None = None,
        first_coef: np.ndarray | None = None,
        first_intercept: np.ndarray | None = None,
        differences: list[np.ndarray] | None = None,
        index: np.ndarray | None = None,
    ):
        self.stack, self.form, self.tau, self.repair = stack, form, tau, repair
        self.signs, self.first_coef, self.first_intercept = signs, first_coef, first_intercept
        self.differences = [] if differences is None else differences
        self.index = np.arange(stack.n_samples) if index is None else index
        n_kernels = stack.n_kernels
        self.theta = 0.5 ** np.minimum(n_kernels - np.arange(n_kernels), n_kernels - 1.0)

    @property
    def n_samples(self) -> int:
        """Number of training samples, or of those that `restrict` kept."""
        return len(self.index)

    @property
    def is_indefinite(self) -> bool:
        """Whether the combined kernel is; the form of squares is not repaired, and is if a base kernel is."""
        return self.repair.is_left or (self.repair.trusted and super().is_indefinite)

    def gram(self, out: np.ndarray | None = None) -> np.ndarray:
        """The combined kernel of the training samples, repaired; also computes what new samples need."""
        stack, signs = self.stack, np.asarray(self.signs)
        self.differences = []

        def term(step: int, D: np.ndarray) -> np.ndarray:
            if self.form == "square":
                self.differences.append(stack.weight[:, None] * D)
                return D @ self.differences[step]  # thesis 2.2.2, third form; samples count by their weight
            return np.outer(signs, signs) * self._size(D)  # thesis 2.2.2, first and second form

        K = self._recursion((stack.gram(m) for m in range(stack.n_kernels)), term)
        K = self.repair.gram(K.astype(np.float64, copy=False), np.ones(len(K), dtype=bool), stack.weight)
        K = K if len(self.index) == len(K) else K[np.ix_(self.index, self.index)]
        if out is None:
            return K
        out[...] = K
        return out

    def cross(self, views: Views) -> np.ndarray:
        """The combined kernel of new samples, with estimated labels."""
        stack = self.stack
        present = stack.presence(views)
        check_every_view("KernelDifference", stack.names, present, views)
        values = [stack.cross(m, views, present[:, m]) for m in range(stack.n_kernels)]
        if self.form == "square":
            K = self._recursion(values, lambda step, D: D @ self.differences[step])
            return K[:, self.index]
        mean: Any = sum(values) / len(values)
        guess = np.clip(mean @ self.first_coef + self.first_intercept, -1.0, 1.0)
        K = self._recursion(values, lambda step, D: guess * self._size(D) * self.signs)
        K, _ = self.repair.cross(K, np.zeros(len(K)), self.index)
        return K if self.repair.needs_all_samples else K[:, self.index]

    def weights(self) -> np.ndarray:
        """The weights of the kernels in the part without differences."""
        return self.theta

    def sample_weights(self, views: Views) -> np.ndarray:
        """The weights of the kernels in the part without differences, the same for each sample."""
        return np.tile(self.theta, (views.n_samples, 1))

    def restrict(self, index: np.ndarray) -> DifferenceKernel:
        """The kernel with columns for some training samples; it keeps all of them."""
        return DifferenceKernel(
            self.stack.restrict(np.arange(self.stack.n_samples), self.active),
            self.form,
            self.tau,
            self.repair,
            signs=self.signs,
            first_coef=self.first_coef,
            first_intercept=self.first_intercept,
            differences=self.differences,
            index=self.index[index],
        )

    def _recursion(self, kernels: Iterable[np.ndarray], term: Callable[[int, np.ndarray], np.ndarray]) -> np.ndarray:
        K: Any = None
        for step, other in enumerate(kernels, start=-1):
            K = other if K is None else 0.5 * (K + other) + self.tau * term(step, K - other)
        return K

    def _size(self, D: np.ndarray) -> np.ndarray:
        return np.abs(D) if self.form == "absolute" else D
