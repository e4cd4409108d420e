"""`Projected`: low-dimensional projections, one for each kernel, learned with the machine (thesis chapter 4, SLDR).

    k(x, z) = sum_m eta_m(x|V, T) k_m(W_m' x^m, W_m' z^m) eta_m(z|V, T)                        SLDR (3), (5)
    minimise over V, T, W_m   J + l2/2 J0 ||V||^2,     J = max_C l(C) - 1/2 sum_r c_r' K c_r,     any machine

A projection is one more block of parameters. Its gradient goes from kernel values to the projected points z_i^m and
from there to W_m, dJ/dW_m = sum_i x_i^m (dJ/dz_i^m)', a sum over support vectors only. One kernel without gating is GPK
(Figure 4.1), gates over copies of one kernel are LPK (Figure 4.2), one kernel for each representation is SLDR.

==================  ====================================================
paper               here
==================  ====================================================
W_m, R_m            `Layout.projections`, n_components
T, R_G              `Layout.gating`, gating_components
V                   the parameters of the gating model
z^m                 `ProjectedStack.points`
x^m                 features, normalised before they are projected
Upsilon             C C', the outer product of coefficients
==================  ====================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._parameters import is_choice, shown
from ...kernels import KernelStack
from ...kernels.points.projected import ProjectedSum
from ...kernels.stacking.memory import warn_if_too_large
from ...machines import Machine
from ...solvers.descent.domains import Domain
from ...views import Views
from ..base import Combination
from ..descent.learning import support_rows
from ..gates.base import SMALL, Gate
from ..gates.even import EvenGate
from ..gates.inputs import SCALINGS, GatingInputs, NoInputs, ProjectedFeatures
from ..localized.gated import GatedCombiner, is_one_class
from .feature_maps import feature_maps
from .layout import CONSTRAINTS, Layout, as_count, component_counts
from .projected_stack import Evaluation, ProjectedStack
from .starts import STARTS, class_indicators, given_projections, starting_projection

SCORES = 0.2  # spread of the scores of standardised gating inputs at the start


class Projected(GatedCombiner):
    """Projection kernels: k(x, z) = sum_m eta_m(x) k_m(W_m' x^m, W_m' z^m) eta_m(z), with learned W_m and eta.

    Minimises J(V, T, W) + l2/2 J0 ||V||^2 over the projections W_m of each kernel's features, the parameters V of the
    gating model and the projection T of its inputs, where J is the optimum of the machine under that kernel and J0 that
    under the mean kernel. With one
    kernel and no gating these are global projection kernels, with gating over copies of one kernel local ones (thesis
    4.1, 4.2), with gating over several representations supervised and localized dimensionality reduction (SLDR). J is
    not convex; this is a local minimum, the best of `n_init`.

    Parameters
    ----------
    n_components : int, sequence or mapping from kernel name to int
        Dimensions R_m to project to. One number for all is a limit: a view with fewer features keeps those.
    gating : Gate or None
        `Softmax()`, `Sigmoid()`, ...; None combines kernels evenly, every gate being 1 / sqrt(n_kernels).
    gating_components : int or None
        Dimensions R_G that the gating inputs are projected to (at most as many as they have); None keeps them whole.
    constraint : {"orthonormal", "norm", "penalty"}
        Without any, W would lower J by its scale alone. W_m' W_m = I, as in SLDR; or only the Frobenius norm of such a
        matrix; or none, but ``penalty/2 sum_m ||W_m||^2`` added to J. T always has orthonormal columns.
    penalty : float
        Its weight, with ``constraint="penalty"``; positive.
    init : {"lda", "pca", "random"} or mapping from kernel name to array of shape (n_features, n_components)
        Where projections begin: at directions between classes (of a ridge regression, for a numeric target; where there
        is no target, as "pca"), at principal components, or at random. The first two are turned at random. A line that
        tells the classes nothing is a stationary point, so random starts want several components. A given matrix is
        brought to what `constraint` asks; kernels that a mapping does not name begin at random.
    features : {"auto", "kpca", "map"} or mapping from kernel name to {"view", "kpca", "map"}
        What is projected: features of the view ("view"), of kernel PCA ("kpca"), or values of the kernel to all
        training samples ("map"). "auto" takes the view's features for `Linear`, `Polynomial` and `Gaussian` kernels,
        which are then kernels of the projected features, and kernel PCA for all others.
    inputs : view selector, KernelMap or None
        What the gating model sees of a sample; None means the features of all kernels side by side.
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
        Number of starts, of which the smallest objective (or validation risk) wins. Minima differ much: a few starts
        are worth their time, for local projections of one view above all.
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

    A fitted estimator offers `project`, `gating_space`, `region`, `projections_`, `gating_projection_`, `gating_coef_`,
    `active_kernels_` and `feature_importance_`; `display.ProjectionDisplay` draws them. Views whose gate never opens
    are not read any more.

    Memory: the features, one n x n matrix for each thread and one more where a kernel is not linear, two for the mean
    kernel before learning starts, and what the machine takes. No Gram matrices of base kernels are kept, but features
    of kernel PCA and of the kernel map are up to n x n for each kernel, and as large again (four times as large for a
    moment) as gating inputs.

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

    def __init__(
        self,
        n_components: Any = 2,
        gating: Gate | None = None,
        gating_components: int | None = None,
        constraint: str = "orthonormal",
        penalty: float = 1.0,
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
        self.penalty = penalty
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

    def fit(self, stack, machine, y, rng, tol=1e-3, max_steps=None, progress=None) -> Combination:
        """Learn projections and the gating model, close small gates, then solve the machine."""
        if is_choice(self.constraint, ("penalty",)) and is_one_class(machine):
            raise ValueError(
                'constraint="penalty" does not bound the projections of a one-class machine, whose J falls with the '
                'square of their scale; use "orthonormal" or "norm"'
            )
        return super().fit(stack, machine, y, rng, tol, max_steps, progress)

    def prepare(self, stack: KernelStack, y: np.ndarray | None, rng: np.random.RandomState) -> ProjectedStack:
        """Check the parameters, find the features of all kernels and the gating inputs."""
        self._check()
        maps = feature_maps(self.features, stack)
        by_kernel = sum(each.by_kernel for each in maps)
        gated = self.gating is not None and self.inputs is None
        needed = 3 + by_kernel * (4 if gated else 1)
        what = "the combined kernel and features from kernel values"
        warn_if_too_large(needed, stack.n_samples, stack.dtype, what, per_kernel=by_kernel > 0)
        features = [each.fit(stack, m) for m, each in enumerate(maps)]
        inputs = self._inputs(maps, features)
        codes = self._codes(inputs, EvenGate() if self.gating is None else self.gating, stack, rng)
        self.layout_ = self._layout(stack, features, codes)
        return ProjectedStack(stack, inputs, codes, maps, features)

    def start(self, state: ProjectedStack, machine: Machine, y, rng: np.random.RandomState) -> np.ndarray:
        """Random gating parameters that tell regions apart a little, and projections as `init` says."""
        method = self.init if isinstance(self.init, str) else "random"
        shapes, weight = self.layout_.shapes, state.stack.weight
        target = class_indicators(machine.strata) if machine.strata is not None else _numeric(y)
        matrices = [
            starting_projection(method, F, n_components, target, weight, rng)
            for F, (_, n_components) in zip(state.features, shapes, strict=True)
        ]
        if not isinstance(self.init, str):
            given = given_projections(self.init, state.stack.names, shapes)
            if self.constraint != "penalty":  # their scale means nothing
                given = {m: W / np.abs(W).max() for m, W in given.items()}
            matrices = [given.get(m, W) for m, W in enumerate(matrices)]
        T, codes = None, state.codes
        if self.layout_.gating_shape is not None:
            T = starting_projection(method, codes, self.layout_.gating_shape[1], target, weight, rng)
            codes = codes @ T
        V = self.gating_.start(codes, state.n_kernels, rng)
        if codes.ndim == 2 and codes.shape[1]:
            V = V * (SCORES / (SMALL * np.sqrt(codes.shape[1])))
        theta = self.layout_.domain().enter(self.layout_.join(V, T, matrices))
        if not state.has_widths:
            state.learn_widths(self.layout_.projections(theta))
        return theta

    def gram(self, state: ProjectedStack, theta: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """K of the training samples, SLDR A.1."""
        return self._evaluate(state, theta).kernel.gram(out, state.stack.dtype)

    def mean_gram(self, state: ProjectedStack) -> np.ndarray:
        """The mean of the kernels of whole features, without projection."""
        return state.whole_gram(EvenGate().values(np.empty(0), state.codes, state.stack.present))

    def lazy_kernel(self, state: ProjectedStack, theta: np.ndarray) -> ProjectedSum:
        """K in parts: few samples are support vectors, and only their rows matter."""
        return self._evaluate(state, theta).kernel

    def pullback(self, state: ProjectedStack, theta: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """-1/2 sum_r c_r' (dK / dtheta) c_r, SLDR A.2 and A.3 for any machine."""
        rows, coef = support_rows(coef)
        _, codes, kernel = self._evaluate(state, theta)
        by_gates, by_points = kernel.pullback(rows, coef)
        V, T = self.layout_.gating(theta)
        by_scores = self.gating_.score_slopes(V, codes[rows], kernel.gates[rows], by_gates)
        by_V = self.gating_.scores_pullback(V, codes[rows], by_scores)
        by_T = None if T is None else state.codes[rows].T @ self.gating_.codes_pullback(V, codes[rows], by_scores)
        matrices = [np.asarray(F[rows].T @ slopes) for F, slopes in zip(state.features, by_points, strict=True)]
        return self.layout_.join(by_V, by_T, matrices)

    def penalize(self, state: ProjectedStack, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """l2/2 J0 ||V||^2, and penalty/2 ||W||^2 where W is free."""
        gradient, n_gating, first = np.zeros_like(theta), self.layout_.n_gating, self.layout_.first_projection
        value, gradient[:n_gating] = super().penalize(state, theta[:n_gating])
        if self.constraint == "penalty":
            W = theta[first:]
            value += 0.5 * self.penalty * float(W @ W)
            gradient[first:] = self.penalty * W
        return value, gradient

    def domain(self, state: ProjectedStack) -> Domain:
        """Stiefel manifolds for T and W_m, spheres or all of space for the W_m as `constraint` says."""
        return self.layout_.domain()

    def blocks(self, state: ProjectedStack) -> list[tuple[slice, Domain]]:
        """W, T and V, which take turns in the papers' descent."""
        return self.layout_.blocks()

    def finish(self, state: ProjectedStack, theta: np.ndarray) -> np.ndarray:
        """Close small gates, drop kernels that are closed everywhere, and make the projections final."""
        theta = super().finish(state, theta)
        state.settle_projections(self.layout_.projections(theta))
        return theta

    def block(self, state: ProjectedStack, theta: np.ndarray, m: int, views: Views, columns) -> np.ndarray:
        """k_m between projected samples."""
        points = state.points[m] if columns is None else state.points[m][columns]
        return state.maps[m].kernel.cross(self._points(state, m, views), points)

    def training_block(self, state: ProjectedStack, theta: np.ndarray, m: int, rows, columns) -> np.ndarray:
        """k_m between projected training samples."""
        points = self._evaluate(state, theta).kernel.points[m]
        return state.maps[m].kernel.cross(points[rows], points[columns])

    def values_per_sample(self, state: ProjectedStack, coef: np.ndarray) -> int:
        """Support vectors, or all training samples where kernel values give features."""
        return max(len(coef), state.stack.n_samples)

    def evaluations(self, state: ProjectedStack, theta: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """As for `Localized`, but kernels whose values give features compare with all training samples.

        They do for every new sample where the gating model reads those features, else for those with an open gate.
        """
        share = 1.0 if state.inputs.reads_features else state.open_share
        return np.where(state.stack.active, state.stack.n_samples * share, super().evaluations(state, theta, coef))

    def project(self, state: ProjectedStack, theta: np.ndarray, views: Views) -> tuple[np.ndarray, list[np.ndarray]]:
        """The gates of new samples, and their projections for each kernel, NaN where a sample lacks the view."""
        gates = self.gates(state, theta, views)
        present = state.stack.presence(views, state.active)
        found = []
        for m, (_, n_components) in enumerate(self.layout_.shapes):
            points = np.full((views.n_samples, n_components), np.nan)
            rows = np.flatnonzero(present[:, m])
            if len(rows):
                points[rows] = self._points(state, m, views if len(rows) == len(points) else views.rows(rows))
            found.append(points)
        return gates, found

    def gating_space(self, state: ProjectedStack, theta: np.ndarray, views: Views) -> np.ndarray:
        """What the gating model reads of new samples: T' x^G where there is a T, x^G otherwise."""
        return self._gating(theta, self.gating_.encode(state.inputs.transform(views)))[1]

    def gates_at(self, state: ProjectedStack, theta: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The gates of samples that have all views and of which the gating model reads this."""
        present = np.tile(state.active, (len(codes), 1))
        return self.gating_.values(self.layout_.gating(theta)[0], codes, present, self.gate_tol)

    def gating_coefficients(self, theta: np.ndarray, n_kernels: int) -> tuple[np.ndarray, np.ndarray] | None:
        """T v_m, for scores are linear in the inputs before their projection too, and v_m0."""
        V, T = self.layout_.gating(theta)
        found = super().gating_coefficients(V, n_kernels)
        return found if found is None or T is None else (T @ found[0], found[1])

    def values_at(self, state: ProjectedStack, m: int, points: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """What kernel m adds to the values of samples that lie at these points of its space and have gate 1 there."""
        return state.maps[m].kernel.cross(points, state.points[m]) @ (state.gates[:, m, None] * coef)

    def _points(self, state: ProjectedStack, m: int, views: Views) -> np.ndarray:
        return np.asarray(state.maps[m].read(state.stack, m, views) @ state.directions[m])

    def _evaluate(self, state: ProjectedStack, theta: np.ndarray) -> Evaluation:
        """Points and gates of the training samples under theta; those of the last theta are kept."""
        last = state.evaluation
        if last is not None and last.theta is theta:
            return last
        matrices = self.layout_.projections(theta)
        points = [np.asarray(F @ W) for F, W in zip(state.features, matrices, strict=True)]
        V, codes = self._gating(theta, state.codes)
        gates = state.gates if state.gates is not None else self.gating_.values(V, codes, state.stack.present)
        kernels = [each.kernel for each in state.maps]
        found = Evaluation(theta, codes, ProjectedSum(kernels, points, gates))
        state.evaluation = found  # other threads may put theirs here at any time
        return found

    def _gating(self, theta: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        V, T = self.layout_.gating(theta)
        return V, codes if T is None else (T.T @ codes.T).T  # SLDR (3); in this order BLAS takes two thirds of the time

    def _inputs(self, maps: list, features: list) -> GatingInputs | NoInputs:
        if self.gating is None:
            return NoInputs()
        source = self.inputs
        if source is None and any(each.by_kernel for each in maps):
            source = ProjectedFeatures(maps, features)
        return GatingInputs(source, self.quadratic, self.scaling)

    def _layout(self, stack: KernelStack, features: list, codes: np.ndarray) -> Layout:
        counts = component_counts(self.n_components, stack.names, [F.shape[1] for F in features])
        shapes = [(F.shape[1], count) for F, count in zip(features, counts, strict=True)]
        gating_shape = None
        if self.gating_components is not None:
            limit = as_count(self.gating_components, "gating_components of Projected")
            gating_shape = (codes.shape[1], min(limit, codes.shape[1]))
        codes = codes if gating_shape is None else codes[:, : gating_shape[1]]
        n_gating = len(self.gating_.start(codes, stack.n_kernels, np.random.RandomState(0)))
        return Layout(n_gating, gating_shape, shapes, self.constraint)

    def _check(self) -> None:
        super()._check()
        self._check_number("penalty", np.inf)
        if not is_choice(self.constraint, CONSTRAINTS):
            raise ValueError(
                f"constraint of Projected must be one of {list(CONSTRAINTS)}, not {shown(self.constraint)}"
            )
        if self.constraint == "penalty" and self.penalty == 0.0:
            raise ValueError("penalty of Projected must be positive: without it W lowers J by its scale alone")
        if isinstance(self.init, str) and self.init not in STARTS:
            raise ValueError(f"init of Projected must be one of {list(STARTS)} or a mapping, not {shown(self.init)}")
        if self.gating_components is not None and getattr(self.gating, "codes_pullback", None) is None:
            raise ValueError(
                "gating_components projects the inputs of Softmax(), Sigmoid() and GaussianGate(), not those of "
                f"gating={self.gating!r}; set gating to one of them, or gating_components to None"
            )
        if not is_choice(self.scaling, SCALINGS):
            raise ValueError(f"scaling of Projected must be one of {list(SCALINGS)}, not {shown(self.scaling)}")
        if self.gating is None and self.inputs is not None:
            raise ValueError("inputs of Projected are what a gating model sees; set gating=Softmax(), or inputs=None")


def _numeric(y: np.ndarray | None) -> np.ndarray | None:
    return None if y is None else np.asarray(y, dtype=float).reshape(len(y), -1)
