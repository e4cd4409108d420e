"""`Projected`: low-dimensional projections, one for each kernel, learned with the machine (thesis chapter 4, SLDR).

    k(x, z) = sum_m eta_m(x|V, T) k_m(W_m' x^m, W_m' z^m) eta_m(z|V, T)                        SLDR (3), (5)
    minimise over V, T, W_m   J + l2/2 J0 ||V||^2,     J = max_C l(C) - 1/2 sum_r c_r' K c_r,     any machine

One kernel without gating is GPK (Figure 4.1), gates over copies of one kernel are LPK (Figure 4.2), one kernel for each
representation is SLDR.

==================  ====================================================
paper               here
==================  ====================================================
W_m, R_m            `Layout.projections`, n_components
T, R_G              `Layout.gating`, gating_components
V                   the parameters of the gating model
z^m                 `ProjectedKernel.points`
x^m                 features, normalised before they are projected
Upsilon             C C', the outer product of coefficients
==================  ====================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...kernels import Kernel, KernelStack
from ...machines import Machine
from ...stacks import FitControl, TrainingStack
from ...validation import Choice, Constraints, Instance, Number, Whole
from ..gates.base import Gate
from ..gates.even import EvenGate
from ..gates.inputs import GatingInputs, NoInputs, ProjectedFeatures
from ..localized.combiner import GatedCombiner
from .family import ProjectedFamily, ProjectionOptions
from .feature_maps import feature_maps
from .layout import CONSTRAINTS, Layout, component_counts
from .starts import STARTS


class Projected(GatedCombiner):
    """Projection kernels: k(x, z) = sum_m eta_m(x) k_m(W_m' x^m, W_m' z^m) eta_m(z), with learned W_m and eta.

    Minimises J(V, T, W) + l2/2 J0 ||V||^2 over the projections W_m of each kernel's features, the parameters V of the
    gating model and the projection T of its inputs, where J is the optimum of the machine under that kernel and J0 that
    under the mean kernel. With one kernel and no gating these are global projection kernels, with gating over copies of
    one kernel local ones (thesis (Gönen 2010), 4.1 and 4.2), with gating over several representations supervised and
    localized dimensionality reduction (SLDR). J is not convex; this is a local minimum, the best of `n_init`.

    Parameters
    ----------
    n_components : "auto", int, sequence or mapping from kernel name to int
        Dimensions R_m to project to. One number for all is a limit: a view with fewer features keeps those. "auto" is
        one fewer than there are classes, the dimensions in which class means differ, and at least 10, which is also the
        number for regression and novelty. Two can be drawn, but tell many classes apart badly.
    gating : Gate or None
        `Softmax()`, `Sigmoid()`, ...; None combines kernels evenly, every gate being 1 / sqrt(n_kernels).
    gating_components : int or None
        Dimensions R_G that the gating inputs are projected to (at most as many as they have); None keeps them whole.
    constraint : {"orthonormal", "norm", "penalty"}
        Without any, W would lower J by its scale alone. W_m' W_m = I, as in SLDR; or only the Frobenius norm of such a
        matrix; or none, but ``projection_l2/2 sum_m ||W_m||^2`` added to J. T always has orthonormal columns.
    projection_l2 : float
        Its weight, with ``constraint="penalty"``; positive.
    init : {"lda", "pca", "random"} or mapping from kernel name to array of shape (n_features, n_components)
        Where projections begin: at directions between classes (of a ridge regression, for a numeric target; where there
        is no target, as "pca"), at principal components, or at random. The first two are turned at random. A direction
        unrelated to the classes is a stationary point, so take several components with random starts. A given matrix is
        brought to meet `constraint`; kernels that a mapping does not name begin at random.
    features : {"auto", "kpca", "map"} or mapping from kernel name to {"view", "kpca", "map"}
        What is projected: features of the view ("view"), of kernel PCA ("kpca"), or values of the kernel to all
        training samples ("map"). "auto" takes the view's features for kernels that are differentiable by them
        (`Linear`, `Polynomial`, `Gaussian` and those of users that declare `is_differentiable`), which are then kernels
        of the projected features, and kernel PCA for all others.
    inputs : view selector, KernelMap or None
        What the gating model reads of a sample; None means the features of all kernels side by side.
    quadratic : bool
        Whether to add products of two inputs, for curved boundaries.
    scaling : {"standard", "unit-mean", "unit-row", None}
        Of the gating inputs, see `Localized`. Standardised inputs let regions and projections be learned at one pace.
    optimizer : {"lbfgs", "armijo"}
        Limited-memory BFGS on the product of manifolds, all parameters at once; or the papers' descent, in which W, T
        and V take turns, with Armijo's rule and projections by a singular value decomposition.
    l2 : float
        Weight of the penalty on V, biases included, in units of the optimum J0 under the mean kernel.
    n_init : int
        Number of starts, of which the smallest objective (or validation risk) wins. Minima differ much, so several
        starts pay, above all for local projections of one view.
    max_iter, n_jobs, validation_fraction, gate_tol
        As in `Localized`.

    Attributes
    ----------
    gating_ : Gate
        The gating model, fitted.
    layout_ : Layout
        Where each parameter stands in theta.

    Notes
    -----
    Normalisation of the estimator is applied to features, before the projection. A Gaussian kernel whose `scale` is a
    rule takes its width from the first starting projection: samples lie closer there than in the whole view. Gates of
    unit length keep the scale of the mean kernel, of which orthonormal projections leave a part: the diagonal of K is
    at most that of the mean kernel, and equal to it for Gaussian kernels. Kernel PCA is not centred, unless
    ``normalize="center"``. J depends on W_m only through W_m W_m', and with softmax and sigmoid gates on T and V only
    through T V.

    With explicit features (`approximation` of the estimator) W, V and T are learned together with the weight vectors,
    by L-BFGS over all samples in blocks: linear kernels with `ExactFeatures`, Gaussian ones with `FourierFeatures` of
    the projected samples, and all kernels with derivatives by `NystroemFeatures`, whose landmarks are projected too.
    That takes no kernel PCA, no `validation_fraction` and no ``optimizer="armijo"``.

    A fitted estimator offers `project`, `gating_space`, `region`, `projections_`, `gating_projection_`, `gating_coef_`,
    `active_kernels_` and `feature_importance_`; `display.ProjectionDisplay` draws them. Views whose gate never opens
    are not read any more.

    Memory: the features, one n x n matrix for each thread and one more where a kernel is not linear, two for the mean
    kernel before learning starts, and what the machine takes. No Gram matrices of base kernels are kept, but features
    of kernel PCA and of the kernel map are up to n x n for each kernel, and as large again (four times as large for a
    moment) as gating inputs. In lazy storage, which takes features of views only: the features, the projected samples,
    and P numbers for each sample.

    References
    ----------
    M. Gönen, E. Alpaydın, Supervised learning of local projection kernels, Neurocomputing 73, 2010; Supervised and
    localized dimensionality reduction from multiple feature representations or kernels, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import Projected
    >>> from kernelweave.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> model = MKLClassifier([Linear()], Projected(1), normalize=None, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> model.projections_["linear"].abs().round(1).T
                 0    1    2    3    4
    linear__0  0.7  0.7  0.1  0.1  0.0
    """

    reads_gram = False
    by_kernel = ("n_components", "init", "features")

    _constraints = Constraints(
        gating_components=Whole(1) | None,
        constraint=Choice(*CONSTRAINTS),
        projection_l2=Number(low=0),
        init=Choice(*STARTS) | Instance(Mapping, "a mapping from kernel name to matrix"),
        features=Choice("auto", "kpca", "map") | Instance(Mapping, "a mapping from kernel name to word"),
    )

    def __init__(
        self,
        n_components: Any = "auto",
        gating: Gate | None = None,
        *,
        gating_components: int | None = None,
        constraint: str = "orthonormal",
        projection_l2: float = 1.0,
        init: Any = "lda",
        features: Any = "auto",
        inputs: Any = None,
        quadratic: bool = False,
        scaling: str | None = "standard",
        optimizer: str = "lbfgs",
        l2: float = 0.1,
        max_iter: int = 200,
        n_init: int = 1,
        n_jobs: int | None = None,
        validation_fraction: float = 0.0,
        gate_tol: float = 1e-5,
    ):
        self.n_components = n_components
        self.gating = gating
        self.gating_components = gating_components
        self.constraint = constraint
        self.projection_l2 = projection_l2
        self.init = init
        self.features = features
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

    @property
    def methods(self) -> frozenset[str]:
        """Projections, and what the gating model allows."""
        found = super().methods | {"project"}
        found = found if self.gating_components is None else found | {"gating_space"}
        return found if self.gating is not None else found - {"region"}

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """Features from kernel values take a whole matrix for each kernel; features of views do not."""
        found = super().needs(kernels)
        given = {} if isinstance(self.features, str) else dict(self.features)
        named = [self.features] if isinstance(self.features, str) else list(given.values())
        if "kpca" in named:
            found["gram"] = "Projected takes kernel PCA of whole Gram matrices for its features"
        elif "map" in named:
            found["gram"] = "Projected takes the kernel values of all pairs of samples for its features"
        for name, kernel in kernels:
            if not kernel.is_differentiable and given.get(name) != "view":
                kind = type(kernel).__name__
                found["gram"] = f"Projected takes kernel PCA of the whole Gram matrix of {name!r} ({kind})"
        if self.validation_fraction > 0.0:
            found["nested"] = "Projected(validation_fraction=...) holds out samples of whole kernels"
        return found

    def family(self, stack: TrainingStack, machine: Machine, control: FitControl) -> ProjectedFamily:
        """Check the parameters, find the features of all kernels and the gating inputs."""
        self._check()
        self._check_machine(machine)
        sample = stack.sample()
        maps = feature_maps(self.features, sample)
        by_kernel = sum(each.by_kernel for each in maps)
        gated = self.gating is not None and self.inputs is None
        needed = 3 + by_kernel * (4 if gated else 1)
        what = "the combined kernel and features from kernel values"
        stack.check_memory(needed, what, per_kernel=by_kernel > 0)
        features = [each.fit(sample, m) for m, each in enumerate(maps)]
        inputs = self._inputs(maps, features)
        gate, coded, codes = self._coded(EvenGate() if self.gating is None else self.gating, inputs, stack, control)
        layout = self._layout(sample, machine, features, codes, gate)
        penalty = self.projection_l2 if self.constraint == "penalty" else 0.0
        projection = ProjectionOptions(self.init, penalty)
        return ProjectedFamily(coded, gate, inputs, self._options(), layout, maps, features, codes, projection)

    def remember(self, family: Any, kernel: Any) -> None:
        """The gating model, and the layout of theta."""
        super().remember(family, kernel)
        self.layout_ = family.layout

    def _inputs(self, maps: list, features: list) -> GatingInputs | NoInputs:
        if self.gating is None:
            return NoInputs()
        source = self.inputs
        if source is None and any(each.by_kernel for each in maps):
            source = ProjectedFeatures(maps, features)
        return GatingInputs(source, self.quadratic, self.scaling)

    def _layout(self, stack: KernelStack, machine: Machine, features: list, codes: np.ndarray, gate: Gate) -> Layout:
        n_classes = 0 if machine.strata is None else len(np.unique(machine.strata))
        counts = component_counts(self.n_components, stack.names, [F.shape[1] for F in features], n_classes)
        shapes = [(F.shape[1], count) for F, count in zip(features, counts, strict=True)]
        gating_shape = None
        if self.gating_components is not None:
            gating_shape = (codes.shape[1], min(int(self.gating_components), codes.shape[1]))
        codes = codes if gating_shape is None else codes[:, : gating_shape[1]]
        n_gating = len(gate.start(codes, stack.n_kernels, np.random.RandomState(0)))
        return Layout(n_gating, gating_shape, shapes, self.constraint)

    def _check_machine(self, machine: Machine) -> None:
        if self.constraint == "penalty" and machine.detects_novelty:
            raise ValueError(
                'constraint="penalty" does not bound the projections of a one-class machine, whose J falls with the '
                'square of their scale; use "orthonormal" or "norm"'
            )

    def _check(self) -> None:
        super()._check()
        if self.constraint == "penalty" and self.projection_l2 == 0.0:
            raise ValueError("projection_l2 of Projected must be positive: without it W lowers J by its scale alone")
        if self.gating_components is not None and getattr(self.gating, "codes_pullback", None) is None:
            raise ValueError(
                "gating_components projects the inputs of Softmax(), Sigmoid() and GaussianGate(), not those of "
                f"gating={self.gating!r}; set gating to one of them, or gating_components to None"
            )
        if self.gating is None and self.inputs is not None:
            raise ValueError("inputs of Projected are what a gating model reads; set gating=Softmax(), or inputs=None")
