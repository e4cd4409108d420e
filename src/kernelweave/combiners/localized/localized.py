"""`Localized`: kernel weights that depend on the sample, learned by gradients (thesis chapter 3).

    k_eta(x, z) = sum_m eta_m(x|V) k_m(x, z) eta_m(z|V)                              (3.9)
    minimise over V   J(V) + l2/2 J0 ||V||^2,     J(V) = max_C l(C) - 1/2 sum_r c_r' K_eta c_r      (3.8), any machine

where J0 is the optimum under the mean kernel, so that l2 means the same for every C, machine and number of samples, and
V = 0 is the mean kernel (with gates of unit length; the papers' gates have it times a constant there).

With gates g (n_samples x n_kernels) K_eta = sum_m diag(g_m) K_m diag(g_m), positive semidefinite for any g. The
gradient is one contraction with the coefficients, dJ/dg_im = -sum_r c_ir (K_m (g_m * c_r))_i, that the gating model
pulls back to V. So classification, regression, novelty detection and multiclass problems need no formula of their own.

==============  ========================================================
thesis          here
==============  ========================================================
eta_m(x|V)      gates; `Gate.values`
V               theta
x^G             the codes of `GatedFamily`, made by `GatingInputs`
Upsilon_i^j     C C', the outer product of coefficients
==============  ========================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...machines import Machine
from ...stacks import FitControl, TrainingStack
from ...validation import Constraints, Exactly, Number
from ..gates.base import Gate, Softmax
from ..gates.inputs import GatingInputs
from .combiner import GatedCombiner
from .family import GatedFamily


class Localized(GatedCombiner):
    """Localized multiple kernel learning: k(x, z) = sum_m eta_m(x) k_m(x, z) eta_m(z), with a learned gating model eta.

    Minimises J(V) + l2/2 J0 ||V||^2 over the parameters V of the gating model, where J is the optimum of the machine
    under that kernel (thesis (Gönen 2010), (3.6), (3.8) and (3.9)), and J0 its optimum under the mean kernel. J is not
    convex; this is a local minimum, the best of `n_init`. The same kernel may be given several times: three linear
    kernels make a piecewise linear model.

    Parameters
    ----------
    gating : Gate
        `Softmax()` (kernels compete for a sample), `Sigmoid()`, `GaussianGate()`, `ClusterGate()` or `InstanceGate()`.
    inputs : view selector, KernelMap or None
        What the gating model reads of a sample. A view, a list of views, any other selector of columns, or a
        `KernelMap` for kernel values; None means the features of all combined kernels side by side.
    quadratic : bool
        Whether to add products of two inputs, for curved boundaries.
    scaling : {"unit-mean", "unit-row", "standard", None}
        Inputs are standardised ("standard") and then divided by the root of the mean squared length of rows
        ("unit-mean") or by each row's own length ("unit-row", which leaves only directions, so not for one or two
        inputs). None leaves them as they are. Constants come from the training samples.
    optimizer : {"lbfgs", "armijo"}
        Limited-memory BFGS, or the papers' gradient descent with Armijo's rule.
    l2 : float or "auto"
        Weight of the penalty on V, biases included, in units of J0. A strong one (inf) is the mean kernel; a weak one
        lets gates overfit, but leaves fewer support vectors. "auto" takes the strongest of inf, 0.3, 0.1, 0.03, 0.01,
        0.003 whose 0-1 loss (squared loss for regression) on held-out samples is within one standard error of the best,
        in four folds, or on one quarter from 1000 samples on, samples counting by their weight; gates are then learned
        from all samples. One-class machines have no such loss and `InstanceGate` cannot be held out: they take 0.3 and
        3 / n_samples.
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
        Gates whose square is below are closed (0) in the fitted model; what stays open is scaled to length 1 again.

    Attributes
    ----------
    gating_ : Gate
        The gating model, fitted.
    l2_ : float
        The penalty, inf where "auto" took the mean kernel.
    l2_path_ : DataFrame
        With ``l2="auto"``, for each penalty the mean loss on held-out samples (``risk``), how much more that is than
        the least (``difference``), and the standard error of that (``error``).

    Notes
    -----
    A sample that lacks a view has gate 0 there, while fitting and later; a softmax is taken over the views that it has.
    A part of the gating inputs that it lacks counts as average; a sample that lacks all of them is an error. A kernel
    whose gate is closed for every training sample leaves the model; its view need not be there any more unless the
    gates read it (`removable_kernels_` lists those that can go), so name views that stay as `inputs` to let others go.
    Prediction evaluates a kernel only between samples and support vectors whose gates are both open.

    Gates of unit length (the default of every gating model) leave the combined kernel the diagonal sum_m g_m^2
    k_m(x, x): 1 where the kernels have a unit diagonal and no zero rows, else a weighted mean of theirs. So C means
    what it means for the mean kernel, and no kernel wins by its scale, as with ``norm="paper"``. J still prefers
    kernels under which all training samples differ: a Gaussian kernel so narrow that it is nearly the identity takes
    most of the weight if the penalty lets it. A one-class machine's J only prefers the kernel of largest similarities;
    for novelty detection take `Mean`.

    `kernel_weights(X)` of a fitted estimator are the squared gates of each sample, which multiply k_m(x, x), `gates(X)`
    the gates, and `kernel_weights_` the squares averaged over the training samples. Where scores are linear (`Softmax`,
    `Sigmoid`), `gating_coef_` and `gating_intercept_` are their slopes v_m by the gating inputs and their biases.

    Memory: the P Gram matrices, the combined one for each thread, and at most one more inside the machine; with
    `validation_fraction` or ``l2="auto"`` a copy of the training part of the P matrices for each thread. In lazy
    storage no such matrix: the features, and for each thread P numbers for each sample and output of the machine.
    Gating inputs are then features, or a `KernelMap` with `n_landmarks`.

    On explicit features (an estimator's `approximation`) V is learned together with the weight vectors and biases of
    the machine, by L-BFGS: an iteration is about one pass over the samples, and `max_iter` counts these. They end where
    ten of them bring a relative progress below `tol`; the machine is then solved at the final gates. Samples are held
    out by a hash of their positions; ``l2="auto"`` is chosen on at most 40 000 samples. Constants of the gating inputs,
    and clusters, come from the reservoir. `InstanceGate`, `KernelMap` without `n_landmarks` and ``optimizer="armijo"``
    are for exact models. Memory beside the features: the codes that gates read, in the same precision, or none where
    features are computed again in each pass.

    References
    ----------
    M. Gönen, E. Alpaydın, Localized multiple kernel learning, ICML 2008. M. Gönen, Localized multiple kernel algorithms
    for machine learning, PhD thesis, Boğaziçi University, 2010, chapter 3.

    Examples
    --------
    Two linear kernels on one view, switched by the sign of the first feature:

    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Localized, Softmax
    >>> from kernelweave.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = X[:, 1] * np.sign(X[:, 0]) > 0
    >>> model = MKLClassifier([Linear()] * 2, Localized(Softmax(), l2=0.003), C=10.0, random_state=0)
    >>> model = model.fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:]) > 0.9
    True
    >>> model.kernel_weights(X[:1]).sum(axis=1).round(6)
    0    1.0
    dtype: float64
    """

    _constraints = Constraints(l2=Number(low=0) | Exactly(np.inf, "infinity") | "auto")

    def __init__(
        self,
        gating: Gate | None = None,
        inputs: Any = None,
        *,
        quadratic: bool = False,
        scaling: str | None = "unit-mean",
        optimizer: str = "lbfgs",
        l2: float | str = "auto",
        max_iter: int = 200,
        n_init: int = 1,
        n_jobs: int | None = None,
        validation_fraction: float = 0.0,
        gate_tol: float = 1e-5,
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

    def family(self, stack: TrainingStack, machine: Machine, control: FitControl) -> GatedFamily:
        """Check the parameters, compute the gating inputs and what else all gates share."""
        self._check()
        stack.check_memory(stack.n_kernels + 2, "the kernels and their combination", per_kernel=True)
        inputs = GatingInputs(self.inputs, self.quadratic, self.scaling)
        gate, coded, _ = self._coded(Softmax() if self.gating is None else self.gating, inputs, stack, control)
        coded.prepare()
        return GatedFamily(coded, gate, inputs, self._options())
