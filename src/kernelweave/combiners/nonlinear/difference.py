"""`KernelDifference`: the mean of two kernels plus what they disagree about, thesis 2.2.2 (de Diego et al., 2004).

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

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._parameters import is_choice, shown
from ..._warnings import warn
from ...kernels import KernelStack
from ...kernels.stacking.memory import warn_if_too_large
from ...kernels.stacking.repair import Repair
from ...machines import Solution
from ...views import Views
from ..base import Combination, Combiner
from ..checks import check_every_view, non_negative
from ..similarity.inner_products import labels_of

FORMS = ("absolute", "difference", "square")


class KernelDifference(Combiner):
    """The mean of two kernels plus tau times a function of their difference (de Diego et al., 2004).

    k(x, z) = 1/2 (k_1 + k_2) + tau f(k_1 - k_2) with f = y_x y_z |k_1 - k_2| (``"absolute"``), y_x y_z (k_1 - k_2)
    (``"difference"``) or the square of the matrix K_1 - K_2 (``"square"``). Three and more kernels are combined one
    after the other, so that their order matters. Nothing is optimised; choose `tau` by cross-validation.

    It helps, at best, where two kernels are right about different samples; the first two forms write the training
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

    def __init__(self, form: str = "absolute", tau: float = 0.1, repair: str | None = "clip"):
        self.form = form
        self.tau = tau
        self.repair = repair

    def fit(self, stack, machine, y, rng, tol=1e-3, max_steps=None, progress=None) -> Combination:
        """Solve the machine on the mean kernel where labels of new samples are needed, then on the combined one."""
        start = time.perf_counter()
        if not is_choice(self.form, FORMS):
            raise ValueError(f"form must be one of {list(FORMS)}, not {shown(self.form)}")
        non_negative("tau", self.tau)
        repair = Repair(self.repair, "combined", trusted=self.form == "square")
        check_every_view(self, stack, stack.present, stack.reference)
        kept = stack.n_kernels - 1 if self.form == "square" else 0
        warn_if_too_large(6 + kept, stack.n_samples, stack.dtype, "the combined kernel", per_kernel=kept > 0)
        signs = first = None
        if self.form != "square":
            signs = self._signs(machine)
            mean = sum(stack.gram(m) for m in range(stack.n_kernels)) / stack.n_kernels
            first = machine.solve(mean, tol=tol, max_steps=max_steps)
            del mean
            self._warn(first)
        state = DifferenceState(stack, signs, first, repair)
        K = self._train(state)
        solution = machine.solve(K, tol=tol, max_steps=max_steps)
        solves = 1 + (first is not None)
        history = [{"objective": solution.objective, "solves": solves, "seconds": time.perf_counter() - start}]
        theta = 0.5 ** np.minimum(stack.n_kernels - np.arange(stack.n_kernels), stack.n_kernels - 1.0)
        return Combination(state, theta, solution, history)

    def active(self, state: DifferenceState, theta: np.ndarray) -> np.ndarray:
        """Every kernel."""
        return np.ones(len(theta), dtype=bool)

    def gram(self, state: DifferenceState, theta: np.ndarray) -> np.ndarray:
        """The combined kernel of the training samples, repaired."""
        return self._train(state)

    def cross(self, state: DifferenceState, theta: np.ndarray, views: Views) -> np.ndarray:
        """The combined kernel of new samples, with estimated labels."""
        stack = state.stack
        present = stack.presence(views)
        check_every_view(self, stack, present, views)
        values = [stack.cross(m, views, present[:, m]) for m in range(stack.n_kernels)]
        if self.form == "square":
            K = self._recursion(values, lambda step, D: D @ state.differences[step])
            return K[:, state.rows]
        guess = np.clip(sum(values) / len(values) @ state.first_coef + state.first_intercept, -1.0, 1.0)
        K = self._recursion(values, lambda step, D: guess * self._size(D) * state.signs)
        K, _ = state.repair.cross(K, np.zeros(len(K)), state.rows)
        return K if state.repair.needs_all_samples else K[:, state.rows]

    def kernel_weights(self, state: DifferenceState, theta: np.ndarray, views: Views) -> np.ndarray:
        """The weights of the kernels in the part without differences, the same for each sample."""
        return np.tile(theta, (views.n_samples, 1))

    def global_weights(self, state: DifferenceState, theta: np.ndarray) -> np.ndarray:
        """The weights of the kernels in the part without differences."""
        return theta

    def _train(self, state: DifferenceState) -> np.ndarray:
        """The combined kernel of the training samples; keeps what new samples need of it in the state."""
        stack = state.stack
        state.differences = []

        def term(step: int, D: np.ndarray) -> np.ndarray:
            if self.form == "square":
                state.differences.append(stack.weight[:, None] * D)
                return D @ state.differences[step]  # thesis 2.2.2, third form; samples count by their weight
            return state.signs[:, None] * self._size(D) * state.signs  # thesis 2.2.2, first and second form

        K = self._recursion((stack.gram(m) for m in range(stack.n_kernels)), term)
        K = K.astype(np.float64, copy=False)
        return state.repair.gram(K, np.ones(len(K), dtype=bool), stack.weight)

    def _recursion(self, kernels, term) -> np.ndarray:
        K = None
        for step, other in enumerate(kernels, start=-1):
            K = other if K is None else 0.5 * (K + other) + self.tau * term(step, K - other)
        return K

    def _size(self, D: np.ndarray) -> np.ndarray:
        return np.abs(D) if self.form == "absolute" else D

    def _warn(self, first: Solution) -> None:
        if not first.converged:
            warn(
                f"the machine on the mean kernel, by which KernelDifference labels new samples, stopped after "
                f"{first.steps} steps; raise max_iter, scale the data, or lower C",
                ConvergenceWarning,
            )

    def _signs(self, machine) -> np.ndarray:
        if machine.strata is None or len(np.unique(machine.strata)) != 2:
            raise ValueError(
                f'KernelDifference with form="{self.form}" multiplies by labels +1 and -1, so it is for two classes '
                'only; form="square" works for every machine'
            )
        return 2.0 * labels_of(machine, self) - 1.0


class DifferenceState:
    """What `KernelDifference` keeps of the training samples: all of them, because each enters every difference."""

    def __init__(self, stack: KernelStack, signs: np.ndarray | None, first: Solution | None, repair: Repair):
        self.stack = stack
        self.signs = signs
        self.first_coef = None if first is None else first.coef
        self.first_intercept = None if first is None else first.intercept
        self.repair = repair
        self.rows = np.arange(stack.n_samples)
        self.differences: list[np.ndarray] = []

    def restrict(self, rows: np.ndarray, active: np.ndarray) -> DifferenceState:
        """The state for prediction with these training samples as support vectors."""
        lean = object.__new__(DifferenceState)
        everyone = np.arange(self.stack.n_samples)
        lean.__dict__.update(self.__dict__, stack=self.stack.restrict(everyone, active), rows=self.rows[rows])
        return lean

    def replace(self, m: int, kernel) -> None:
        """Put a kernel that is extended by new ids in the place of kernel m."""
        self.stack.replace(m, kernel)

    def lookups(self, active: np.ndarray) -> list:
        """The precomputed matrices inside the kernels, as in `KernelStack.lookups`."""
        return self.stack.lookups(active)
