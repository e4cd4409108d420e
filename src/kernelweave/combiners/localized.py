"""`Localized`: kernel weights that depend on the sample, learned by gradients (thesis chapter 3).

    k_eta(x, z) = sum_m eta_m(x|V) k_m(x, z) eta_m(z|V)                              (3.9)
    minimise over V   J(V) + l2/2 ||V||^2,     J(V) = max_C l(C) - 1/2 sum_r c_r' K_eta c_r      (3.8), any machine

With gates g (n_samples x n_kernels) K_eta = sum_m diag(g_m) K_m diag(g_m), positive semidefinite for any g. The
gradient is one contraction with the coefficients, dJ/dg_im = -sum_r c_ir (K_m (g_m * c_r))_i, that the gating model
pulls back to V. So classification, regression, novelty detection and multiclass problems need no formula of their own.

==============  ========================================================
thesis          here
==============  ========================================================
eta_m(x|V)      gates; `Gate.values`
V               theta
x^G             the codes of `GatedStack`, made by `GatingInputs`
Upsilon_i^j     C C', the outer product of coefficients
==============  ========================================================
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from ..kernels import KernelStack
from ..kernels.memory import warn_if_too_large
from ..machines import Machine, OneClassMachine, Solution
from ..solvers.gated import GatedKernel, gated_pullback, gated_sum
from ..views import Views
from .base import Combination
from .gated_stack import GatedStack
from .gating import Gate, Softmax
from .gating_inputs import GatingInputs
from .learning import LearnedCombiner, support_rows
from .watching import Watch, split


class Localized(LearnedCombiner):
    """Localized multiple kernel learning: k(x, z) = sum_m eta_m(x) k_m(x, z) eta_m(z), with a learned gating model eta.

    Minimises J(V) + l2/2 ||V||^2 over the parameters V of the gating model, where J is the optimum of the machine under
    that kernel: thesis (3.6), (3.8), (3.9). J is not convex; this is a local minimum, the best of `n_init`. Several
    copies of one kernel are welcome: three linear kernels make a piecewise linear model.

    Parameters
    ----------
    gating : Gate
        `Softmax()` (kernels compete for a sample), `Sigmoid()`, `GaussianGate()`, `ClusterGate()` or `InstanceGate()`.
    inputs : view selector, KernelMap or None
        What the gating model sees of a sample. A view, a list of views, any other selector of columns, or a `KernelMap`
        for kernel values; None means the features of all combined kernels side by side.
    quadratic : bool
        Whether to add products of two inputs, for curved boundaries.
    scaling : {"unit-mean", "unit-row", "standard", None}
        Inputs are standardised ("standard") and then divided by the root of the mean squared length of rows
        ("unit-mean") or by each row's own length ("unit-row", which leaves only directions, so not for one or two
        inputs). None leaves them as they are. Constants come from the training samples.
    optimizer : {"lbfgs", "armijo"}
        Limited-memory BFGS, or the papers' gradient descent with Armijo's rule.
    l2 : float
        Weight of the penalty on V, biases excepted. It stands against J, which grows with C and the number of samples.
        Sigmoid gates need it (or `validation_fraction`): without it they go to 1 for ever.
    max_iter : int
        Most outer iterations. They end earlier where the relative progress of one is below the estimator's `tol`.
    n_init : int
        Number of random starts, of which the smallest objective (or validation risk) wins.
    n_jobs : int or None
        Threads among which the starts are divided; the result does not depend on it.
    validation_fraction : float
        Share of the training samples, stratified, to hold out while V is learned, so as to keep the V of least risk on
        them; the machine is then solved for all samples. 0 learns from all samples to the end.
    gate_tol : float
        Gates below are closed (0) in the fitted model. Softmax gates are then scaled to sum to 1 again.

    Attributes
    ----------
    gating_ : Gate
        The gating model, fitted.

    Notes
    -----
    A sample that lacks a view has gate 0 there, while fitting and later; a softmax is taken over the views that it has.
    A part of the gating inputs that it lacks counts as average; a sample that lacks all of them is an error. A kernel
    whose gate is closed for every training sample leaves the model, and its view need not be there any more. Prediction
    evaluates a kernel only between samples and support vectors whose gates are both open.

    `kernel_weights_` of a fitted estimator are the gates averaged over the training samples, `kernel_weights(X)` the
    gates of each sample.

    Memory: the P Gram matrices, the combined one for each thread, and at most one more inside the machine; with
    `validation_fraction` a copy of the training part of the P matrices.

    References
    ----------
    M. Gönen, E. Alpaydın, Localized multiple kernel learning, ICML 2008. Thesis chapter 3.

    Examples
    --------
    Two linear kernels on one view, switched by the sign of the first feature:

    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Localized, Softmax
    >>> from kernelweave.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = X[:, 1] * np.sign(X[:, 0]) > 0
    >>> model = MKLClassifier([Linear()] * 2, Localized(Softmax(), l2=0.01), C=10.0, random_state=0)
    >>> model = model.fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:]) > 0.9
    True
    >>> model.kernel_weights(X[:1]).sum(axis=1).round(6)
    0    1.0
    dtype: float64
    """

    takes_fetch = True

    def __init__(
        self,
        gating: Gate | None = None,
        inputs: Any = None,
        quadratic: bool = False,
        scaling: str | None = "unit-mean",
        optimizer: str = "lbfgs",
        l2: float = 0.1,
        max_iter: int = 200,
        n_init: int = 1,
        n_jobs: int | None = None,
        validation_fraction: float = 0.0,
        gate_tol: float = 1e-3,
    ):
        self.gating = gating
        self.inputs = inputs
        self.quadratic = quadratic
        self.scaling = scaling
        self.optimizer = optimizer
        self.l2 = l2
        self.max_iter = max_iter
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.validation_fraction = validation_fraction
        self.gate_tol = gate_tol

    def fit(self, stack, machine, y, rng, tol=1e-3, max_steps=None, progress=None) -> Combination:
        """Learn the gating model, close small gates, then solve the machine."""
        found = super().fit(stack, machine, y, rng, tol, max_steps, progress)
        if isinstance(getattr(machine, "_machine", machine), OneClassMachine):
            self._warn_of_collapse(found.state)
        return found

    def prepare(self, stack: KernelStack, y: np.ndarray | None, rng: np.random.RandomState) -> GatedStack:
        """Check the parameters, compute the gating inputs and all Gram matrices."""
        self._check()
        warn_if_too_large(stack.n_kernels + 2, stack.n_samples, stack.dtype, "the kernels and their combination")
        inputs = GatingInputs(self.inputs, self.quadratic, self.scaling)
        values = inputs.fit(stack, rng)
        self.gating_ = Softmax() if self.gating is None else clone(self.gating)
        self.gating_.prepare(values, rng)
        stack.matrices()
        return GatedStack(stack, inputs, self.gating_.encode(values))

    def start(self, state: GatedStack, machine, y, rng: np.random.RandomState) -> np.ndarray:
        """Small random parameters."""
        return self.gating_.start(state.codes, state.n_kernels, rng)

    def gram(self, state: GatedStack, theta: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """K_eta of the training samples, thesis (3.9)."""
        return gated_sum(state.stack.matrices(), self._training_gates(state, theta), out)

    def lazy_kernel(self, state: GatedStack, theta: np.ndarray) -> GatedKernel:
        """K_eta in parts: few samples are support vectors, and only their rows matter."""
        return GatedKernel(state.stack.matrices(), self._training_gates(state, theta))

    def pullback(self, state: GatedStack, theta: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """-1/2 sum_r c_r' (dK_eta / dV) c_r, thesis section 3.3 for any machine."""
        rows, coef = support_rows(coef)
        gates = self._training_gates(state, theta)
        slopes = gated_pullback(state.stack.matrices(), gates, rows, coef)
        return self.gating_.pullback(theta, state.codes[rows], gates[rows], slopes[rows])

    def penalize(self, state: GatedStack, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """l2/2 ||V||^2, without the biases."""
        gradient = np.zeros_like(theta)
        part = self.gating_.penalized(theta, state.n_kernels)
        self.gating_.penalized(gradient, state.n_kernels)[:] = self.l2 * part
        return 0.5 * self.l2 * float(part @ part), gradient

    def watch(self, state: GatedStack, machine: Machine, rng: np.random.RandomState) -> Watch | None:
        """Hold out a part of the samples for early stopping."""
        if self.validation_fraction == 0.0:
            return None
        if self.gating_.per_sample:
            raise ValueError(
                f"validation_fraction must be 0 with {type(self.gating_).__name__}, which has parameters of its own "
                "for each sample: those of held-out samples could not be learned"
            )
        training, held_out = split(machine, self.validation_fraction, rng)
        judge, matrices = machine.subset(held_out), state.stack.matrices()

        def risk(theta: np.ndarray, solution: Solution) -> float:
            gates = self._gates(theta, state.codes, state.stack.present)
            rows, coef = support_rows(solution.coef)
            columns = training[rows]
            values = np.zeros((len(held_out), coef.shape[1])) + solution.intercept
            for m, K in enumerate(matrices):
                inner = K[np.ix_(held_out, columns)] @ (gates[columns, m, None] * coef)
                values += gates[held_out, m, None] * inner
            return judge.risk(values)

        return Watch(state.subset(training), machine.subset(training), risk)

    def finish(self, state: GatedStack, theta: np.ndarray) -> np.ndarray:
        """Close small gates; kernels that are closed everywhere leave the model."""
        active = self._gates(theta, state.codes, state.stack.present, self.gate_tol).any(axis=0)
        if not active.any():
            raise ValueError(f"every gate of every sample is below gate_tol ({self.gate_tol:g}); lower gate_tol, or l2")
        state.settle(self._gates(theta, state.codes, state.stack.present & active, self.gate_tol), active)
        return theta

    def active(self, state: GatedStack, theta: np.ndarray) -> np.ndarray:
        """The kernels that are open for some training sample."""
        return state.active

    def cross(self, state: GatedStack, theta: np.ndarray, views: Views) -> np.ndarray:
        """K_eta between new samples and training samples, thesis (3.9)."""
        K = np.zeros((views.n_samples, len(state.gates)))
        for m, new, rows, columns, block in self._open_blocks(state, theta, views):
            block *= new[rows, m, None]
            block *= state.gates[columns, m]
            K[np.ix_(rows, columns)] += block
        return K

    def values(self, state: GatedStack, theta: np.ndarray, views: Views, coef: np.ndarray) -> np.ndarray:
        """K_eta of new samples times coefficients, without forming K_eta."""
        values = np.zeros((views.n_samples, coef.shape[1]))
        for m, new, rows, columns, block in self._open_blocks(state, theta, views):
            values[rows] += new[rows, m, None] * (block @ (state.gates[columns, m, None] * coef[columns]))
        return values

    def kernel_weights(self, state: GatedStack, theta: np.ndarray, views: Views) -> np.ndarray:
        """The gates of new samples."""
        if views.can_fetch:  # whatever is needed can be had
            present = np.tile(state.active, (views.n_samples, 1))
        else:
            present = state.stack.presence(views, state.active)
        return self._gates(theta, self.gating_.encode(state.inputs.transform(views)), present, self.gate_tol)

    def sample_weights(self, state: GatedStack, theta: np.ndarray) -> np.ndarray:
        """The gates of the training samples."""
        return state.gates

    def global_weights(self, state: GatedStack, theta: np.ndarray) -> np.ndarray:
        """The gates averaged over the training samples."""
        return state.gates.mean(axis=0)

    def reads(self, state: GatedStack) -> np.ndarray:
        """The columns of the gating inputs."""
        return state.inputs.columns()

    def evaluations(self, state: GatedStack, theta: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Support vectors with an open gate, times the share of training samples with one.

        That is how many of them a new sample is compared with on average, if it is like the training samples.
        """
        return (state.gates > 0.0).sum(axis=0) * state.open_share

    def _open_blocks(
        self, state: GatedStack, theta: np.ndarray, views: Views
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Kernel values between new and training samples whose gates are both open, kernel by kernel."""
        new = self.kernel_weights(state, theta, views)
        for m in range(state.n_kernels):
            rows, columns = np.flatnonzero(new[:, m]), np.flatnonzero(state.gates[:, m])
            if len(rows) and len(columns):
                part = views if len(rows) == views.n_samples else views.rows(rows)
                part = part.complete(state.stack.kernels[m].columns(), state.view_name(m))
                some = None if len(columns) == len(state.gates) else columns
                block = state.stack.cross(m, part, np.ones(len(rows), dtype=bool), some)
                yield m, new, rows, columns, block

    def _training_gates(self, state: GatedStack, theta: np.ndarray) -> np.ndarray:
        """The gates of the training samples: final ones, those of the last theta, or new ones."""
        if state.gates is not None:
            return state.gates
        last, gates = state.latest
        if last is not theta:
            gates = self._gates(theta, state.codes, state.stack.present)
            state.latest = theta, gates
        return gates

    def _gates(self, theta: np.ndarray, codes: np.ndarray, present: np.ndarray, tol: float = 0.0) -> np.ndarray:
        return self.gating_.values(theta, codes, present, tol)

    def _check(self) -> None:
        if self.gating is not None and not isinstance(self.gating, Gate):
            raise ValueError(f"gating must be a gating model such as Softmax() or None, not {self.gating!r}")
        for name, limit in (("l2", np.inf), ("gate_tol", 1.0), ("validation_fraction", 1.0)):
            value = getattr(self, name)
            if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 <= value < limit:
                raise ValueError(f"{name} of Localized must be a number from 0 and below {limit:g}, not {value!r}")

    def _warn_of_collapse(self, state: GatedStack) -> None:
        """Gates that are 0 or 1, and the same for every sample, as one-class machines like them."""
        present = state.stack.present
        free = present.sum(axis=1) > 1  # samples with one view have no choice
        if not free.any():
            return
        gates, present = state.gates[free], present[free]
        on = gates.sum(axis=0) > 0.5 * present.sum(axis=0)
        if np.abs(np.where(present, gates - on, 0.0)).max() < 0.05:
            names = ", ".join(name for name, is_on in zip(state.stack.names, on, strict=True) if is_on)
            others = "" if on.all() else ", and 0 for the other kernels"
            warnings.warn(
                f"the gates have collapsed: every sample has gate 1 for {names}{others}; this one-class model is not "
                "localized (raise l2, or use a combiner with one weight per kernel)",
                UserWarning,
                stacklevel=4,
            )
