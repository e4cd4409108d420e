"""Low-dimensional projections, one for each kernel, learned with the machine (thesis chapter 4, SLDR).

    k(x, z) = sum_m eta_m(x|V, T) k_m(W_m' x^m, W_m' z^m) eta_m(z|V, T)                        SLDR (3), (5)
    minimise over V, T, W_m   J + l2/2 J0 ||V||^2,     J = max_C l(C) - 1/2 sum_r c_r' K c_r,     any machine

One kernel without gating is GPK (Figure 4.1), gates over copies of one kernel are LPK (Figure 4.2), one kernel for each
representation is SLDR. The gradient goes from kernel values to the projected points z_i^m and from there to W_m,
dJ/dW_m = sum_i x_i^m (dJ/dz_i^m)', a sum over support vectors only.

==================  ===========================================================================
paper               here
==================  ===========================================================================
W_m, R_m            `Layout.projections` of theta, n_components: one matrix for each kernel
T, R_G              `Layout.gating`, gating_components: orthonormal columns, or whole inputs
V                   the parameters of the gating model, the first numbers of theta
z^m                 `ProjectedKernel.points` (training samples), `project` (new samples)
x^m                 features, normalised before they are projected (`feature_maps`)
T' x^G              `codes_of`
Upsilon             C C', the outer product of coefficients
==================  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from ..arrays import Place
from ..kernels import Kernel, KernelStack
from ..kernels.components import Origin
from ..kernels.stack import NewPart
from ..machines import Machine
from ..machines.base import Operand
from ..solvers import Domain, ProductSpace, Space, Sphere, Stiefel
from ..solvers.sums import KernelBlock, sum_kernels
from ..stacks import FitControl, TrainingStack
from ..stacks.dense import Points
from ..stacks.descent import JointProblem, Start
from ..stacks.explicit import Features
from ..validation import Choice, Constraints, Instance, Number, Whole, check
from ..validation.schemas import (
    Schema,
    Sizes,
    agree,
    anything,
    count,
    expect,
    maybe,
    nothing,
    numbers,
    object_of,
    refuse,
    several,
    text,
    together,
)
from ..views import Views
from .feature_maps import (
    STARTS,
    KernelFeatures,
    ViewFeatures,
    class_indicators,
    feature_maps,
    given_projections,
    starting_projection,
)
from .gates import SMALL, EvenGate, Gate
from .inputs import GatingInputs, NoInputs, ProjectedFeatures
from .localized import ExplicitGates, GatedCombiner, GatedFamily, GatedStack, GatedSum, n_codes

CONSTRAINTS = ("orthonormal", "norm", "penalty")
FEWEST = 10  # of n_components="auto"; else one fewer than there are classes, the dimensions of their means


@dataclass(frozen=True)
class Layout:
    """The parts of theta: V, T, and the W_m one after another."""

    n_gating: int
    gating_shape: tuple[int, int] | None
    shapes: list[tuple[int, int]]
    constraint: str

    _saved = Schema(
        {
            "n_gating": count(),
            "gating_shape": maybe(together(count(), count())),
            "shapes": several(together(count(), count())),
            "constraint": text,
        }
    )

    @property
    def first_projection(self) -> int:
        shape = (0, 0) if self.gating_shape is None else self.gating_shape
        return int(self.n_gating) + int(shape[0]) * int(shape[1])  # Python's integers, which do not wrap

    def gating(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        if self.gating_shape is None:
            return theta[: self.n_gating], None
        return theta[: self.n_gating], theta[self.n_gating : self.first_projection].reshape(self.gating_shape)

    def projections(self, theta: np.ndarray) -> list[np.ndarray]:
        matrices, begin = [], self.first_projection
        for shape in self.shapes:
            end = begin + shape[0] * shape[1]
            matrices.append(theta[begin:end].reshape(shape))
            begin = end
        return matrices

    def projected_codes(self, theta: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """T' x^G if there is a T, else the codes themselves, SLDR (3)."""
        T = self.gating(theta)[1]
        return codes if T is None else (T.T @ codes.T).T  # in this order BLAS takes two thirds of the time

    def join(self, V: np.ndarray, T: np.ndarray | None, matrices: list[np.ndarray]) -> np.ndarray:
        parts = [V, *([] if T is None else [T.ravel()]), *(W.ravel() for W in matrices)]
        return np.concatenate(parts)

    def domain(self) -> Domain:
        return ProductSpace([(part.stop - part.start, domain) for part, domain in reversed(self.blocks())])

    def blocks(self) -> list[tuple[slice, Domain]]:
        """The parts in the order in which Algorithm 1 of SLDR moves them: all W_m, T, V."""
        begin = self.first_projection
        size = sum(rows * columns for rows, columns in self.shapes)
        blocks = [(slice(begin, begin + size), self._projection_domain())]
        if self.gating_shape is not None:
            blocks.append((slice(self.n_gating, begin), Stiefel(*self.gating_shape)))
        if self.n_gating:
            blocks.append((slice(0, self.n_gating), Space()))
        return blocks

    def _projection_domain(self) -> Domain:
        if self.constraint == "penalty":
            return Space()
        if self.constraint == "norm":
            return ProductSpace([(rows * columns, Sphere(np.sqrt(columns))) for rows, columns in self.shapes])
        return ProductSpace([(rows * columns, Stiefel(rows, columns)) for rows, columns in self.shapes])


def component_counts(value: Any, names: list[str], n_features: list[int], n_classes: int = 0) -> list[int]:
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(value, str) and value == "auto":
        value = max(FEWEST, n_classes - 1)
    if isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        count = check("Projected", "n_components", value, Whole(1) | "auto")
        return [min(count, limit) for limit in n_features]
    if isinstance(value, Mapping):
        if set(value) != set(names):
            raise ValueError(f"n_components must name each of the kernels {names}, not {sorted(value, key=str)}")
        value = [value[name] for name in names]
    if len(value) != len(names):
        raise ValueError(f"n_components must have one entry for each of the {len(names)} kernels, not {len(value)}")
    for name, count, limit in zip(names, value, n_features, strict=True):
        if check(f"the kernel {name!r}", "n_components", count, Whole(1)) > limit:
            raise ValueError(f"n_components of the kernel {name!r} is {count}, but it has only {limit} feature(s)")
    return [int(count) for count in value]


class ProjectedStack(GatedStack):
    """As `GatedStack`, with the projected support vectors and the directions of the projections."""

    taken = (*GatedStack.taken, "maps", "points", "directions")
    _saved = Schema(
        {
            "stack": object_of(KernelStack, "columns", "kernels", support="compared"),
            "maps": several(object_of((ViewFeatures, KernelFeatures)), "kernels"),
            "points": several(numbers("some", "components"), "kernels", own=("some", "components")),
            "directions": several(numbers("read", "components"), "kernels", own=("read", "components")),
            "features": nothing,
            "evaluation": nothing,
            "has_widths": anything,
        }
    )

    @classmethod
    def of(cls, kernel: Any) -> Self:
        return cls(**vars(super().of(kernel)), features=None, evaluation=None, has_widths=False)

    def restored(self, combiner: Any, theta: np.ndarray) -> ProjectedKernel:
        gated = self.stack, theta, combiner.gating_, self.inputs, self.gates
        projections = combiner.layout_, self.maps, self.points
        shares = {"gate_tol": combiner.gate_tol, "active": self.active, "open_share": self.open_share}
        return ProjectedKernel(*gated, *projections, directions=self.directions, **shares)

    def _check_saved(self, sizes: Sizes, path: str) -> None:
        """Active kernels have points of all support vectors and directions for what their map reads."""
        for m, (points, directions) in enumerate(zip(self.points, self.directions, strict=True)):
            if self.active[m]:
                agree(sizes, "support", len(points), f"{path}.points[{m}]")
                n_read = self.maps[m].n_read(self.stack, m)
                expect(n_read, len(directions), f"{path}.directions[{m}]", "features")
            if points.shape[1] != directions.shape[1]:
                refuse(f"{path}.directions[{m}]", f"has {directions.shape[1]} columns for points of {points.shape[1]}")
            self.maps[m].check_kernel(self.stack, m, f"{path}.maps[{m}]", bool(self.active[m]))


class ProjectedKernel(GatedSum):
    """k(x, z) = sum_m eta_m(x) k_m(W_m' x^m, W_m' z^m) eta_m(z): kernels of projected samples, weighted by gates."""

    shows = (*GatedSum.shows, "projections_", "feature_importance_", "gating_projection_")

    _record_of_samples = ProjectedStack

    def __init__(
        self,
        stack: Any,
        theta: np.ndarray,
        gate: Gate,
        inputs: GatingInputs | NoInputs,
        gates: np.ndarray | None,
        layout: Layout,
        maps: list[Any],
        points: list[np.ndarray] | None,
        *,
        directions: list[np.ndarray] | None = None,
        **rest: Any,
    ):
        super().__init__(stack, theta, gate, inputs, gates, **rest)
        self.layout, self.maps, self.points, self._directions = layout, maps, points, directions
        self.at = None if points is None else Points([each.kernel for each in maps], points)

    @property
    def directions(self) -> list[np.ndarray]:
        """The matrices that turn what the maps read of new samples into points, for each kernel."""
        if self._directions is None:
            matrices = self.layout.projections(self.theta)
            self._directions = [each.directions(W) for each, W in zip(self.maps, matrices, strict=True)]
        return self._directions

    # New samples

    def points_of(self, m: int, views: Views) -> np.ndarray:
        if self.points is None:
            return self.maps[m].points(views)
        return np.asarray(self.maps[m].read(self.stack, m, views) @ self.directions[m])

    def scores(self, m: int, views: Views, present: np.ndarray, coef: np.ndarray, right: Any) -> np.ndarray:
        if self.points is None:
            return super().scores(m, views, present, coef, right)
        columns = np.flatnonzero(right)
        values = self.maps[m].kernel.cross(self.points_of(m, views), self.points[m][columns])
        return values @ (right[columns, None] * coef[columns])

    def crossed(self, parts: Iterator[NewPart], left: np.ndarray) -> np.ndarray:
        if self.points is None:
            return super().crossed(parts, left)
        points: Any = self.points
        blocks = (
            KernelBlock(m, self.maps[m].kernel.cross(self.points_of(m, views), points[m]), rows)
            for m, rows, views, _ in parts
        )
        return sum_kernels(blocks, left, self.right(), out=np.empty((len(left), self.n_samples)))

    def values_in(self, place: Place, views: Views, coef: np.ndarray) -> np.ndarray | None:
        return super().values_in(place, views, coef) if self.points is None else None

    def values_at(self, m: int, points: np.ndarray, coef: np.ndarray) -> np.ndarray:
        if self.points is None:
            offsets = self.stack.offsets
            return self.maps[m].features_at(points) @ coef[offsets[m] : offsets[m + 1]]
        return self.maps[m].kernel.cross(points, self.points[m]) @ (np.asarray(self.gates)[:, m, None] * coef)

    def feature_weights(self, m: int, coef: np.ndarray) -> np.ndarray | None:
        """Those of `local_weights` times the gate, where no gating model weighs samples differently."""
        local = None if self.gate.learns else self.local_weights(m, coef)
        return None if local is None else self.gates_at(np.empty((1, 0)))[0, m] * local

    def local_weights(self, m: int, coef: np.ndarray) -> np.ndarray | None:
        """W_m W_m' sum_i c_i g_m(x_i) x_i."""
        features = self.maps[m]
        if self.points is None or not isinstance(features, ViewFeatures):
            return None
        own = self.points[m].T @ (np.asarray(self.gates)[:, m, None] * coef)
        return features.factor * (self.directions[m] @ own)

    @property
    def is_linear(self) -> bool:
        used = [each for each, on in zip(self.maps, self.active, strict=True) if on]
        return all(each.is_linear if self.points is None else each.kernel.is_linear for each in used)

    @property
    def gate_parameters(self) -> np.ndarray:
        return self.layout.gating(self.theta)[0]

    def codes_of(self, views: Views) -> np.ndarray:
        return self.layout.projected_codes(self.theta, super().codes_of(views))

    def gating_coefficients(self) -> tuple[np.ndarray, np.ndarray] | None:
        """T v_m, for scores are linear in the inputs before their projection too, and v_m0."""
        found, T = super().gating_coefficients(), self.layout.gating(self.theta)[1]
        return found if found is None or T is None else (T @ found[0], found[1])

    def project(self, views: Views) -> tuple[np.ndarray, list[np.ndarray]]:
        gates = self.gates_of(views)
        present = self.stack.presence(views, self.active)
        found = []
        for m, (_, n_components) in enumerate(self.layout.shapes):
            points = np.full((views.n_samples, n_components), np.nan)
            rows = np.flatnonzero(present[:, m])
            if len(rows):
                points[rows] = self.points_of(m, views if len(rows) == len(points) else views.rows(rows))
            found.append(points)
        return gates, found

    # What prediction takes, and what is kept

    def values_per_sample(self, coef: np.ndarray) -> int:
        if self.points is None:
            return super().values_per_sample(coef)
        return max(len(coef), self.stack.n_samples)

    def evaluations(self, coef: np.ndarray) -> np.ndarray:
        if self.points is None:
            return super().evaluations(coef)
        share = 1.0 if self.inputs.reads_features else self.open_share
        return np.where(self.stack.active, self.stack.n_samples * share, super().evaluations(coef))

    def restrict(self, index: np.ndarray) -> ProjectedKernel:
        """Training samples stay only where kernel values give the features of new ones."""
        if self.points is None:
            lean: Any = super().restrict(index)
            lean.stack.maps = self.maps
            return lean
        by_kernel = np.array([each.by_kernel for each in self.maps])
        compared = by_kernel & (self.active | self.inputs.reads_features)
        rows = np.arange(self.stack.n_samples) if compared.any() else np.empty(0, dtype=int)
        stack = self.stack.restrict(rows, compared)
        maps = [each.settled() for each in self.maps]
        points = [Z[index] if on else Z[:0] for Z, on in zip(self.points, self.active, strict=True)]
        return self._over(
            stack,
            inputs=self.inputs.restrict(stack),
            gates=np.asarray(self.gates)[index],
            maps=maps,
            points=points,
            at=Points([each.kernel for each in maps], points),
            _directions=[D if on else D[:0] for D, on in zip(self.directions, self.active, strict=True)],
        )

    def lookups(self) -> list[tuple[Kernel, np.ndarray]]:
        used = self.active if self.points is None else self.stack.active
        return [*self.stack.lookups(used), *self.inputs.lookups()]

    def attributes(self) -> Mapping[str, Any]:
        found = {**super().attributes(), "projections_": {}, "feature_importance_": {}}
        for name, own, kernel, W in zip(
            self.names, self.maps, self.stack.kernels, self.layout.projections(self.theta), strict=True
        ):
            preparation = None if getattr(own, "by_kernel", False) else getattr(kernel, "preparation_", None)
            origin = Origin(own.names) if preparation is None else preparation.origin(kernel.columns())
            W = origin.carried(W)
            found["projections_"][name] = pd.DataFrame(W, origin.names, component_names(name, W.shape[1]), copy=True)
            found["feature_importance_"][name] = pd.Series(np.linalg.norm(W, axis=1), origin.names, name=name)
        T = self.layout.gating(self.theta)[1]
        if T is not None:
            found["gating_projection_"] = pd.DataFrame(T, self.input_names(), copy=True).add_prefix("gating__")
        return found


def component_names(name: str, count: int) -> list[str]:
    return [f"{name}__{k}" for k in range(count)]


SCORES = 0.2  # spread of the scores of standardised gating inputs at the start


class ProjectedFamily(GatedFamily):
    # J has many minima in W: with solves to a tenth of tol, models of dense and of lazy storage differ by up to 1 % in
    # J, with these by 4e-5 at most (n = 2000, four machines); that takes hardly longer.
    precision = 1e-3

    def __init__(
        self,
        stack: TrainingStack,
        gate: Gate,
        inputs: GatingInputs | NoInputs,
        options: Projected,
        layout: Layout,
        maps: list[ViewFeatures | KernelFeatures],
        features: list[Any],
        codes: Any,
    ):
        super().__init__(stack, gate, inputs, options)
        self.layout, self.maps, self.features, self.codes = layout, maps, features, codes
        self.init, self.has_widths = options.init, False
        self.projection_l2 = options.projection_l2 if options.constraint == "penalty" else 0.0

    def over(self, stack: TrainingStack) -> ProjectedFamily:
        features, codes = [F[stack.chosen] for F in self.features], self.codes[stack.chosen]
        options: Any = self.options
        return ProjectedFamily(stack, self.gate, self.inputs, options, self.layout, self.maps, features, codes)

    def at(self, theta: np.ndarray) -> ProjectedKernel:
        stack = self._coded_at(theta)
        return self._at_points(stack, theta, stack.gates(self.gate_function(self.layout.gating(theta)[0])))

    def _coded_at(self, theta: np.ndarray) -> Any:
        stack = copy(self.stack)
        stack.codes = self.layout.projected_codes(theta, self.codes)
        return stack

    def _at_points(self, stack: TrainingStack, theta: np.ndarray, gates: np.ndarray, **rest: Any) -> ProjectedKernel:
        matrices = self.layout.projections(theta)
        points = [np.asarray(F @ W) for F, W in zip(self.features, matrices, strict=True)]
        return ProjectedKernel(stack, theta, self.gate, self.inputs, gates, self.layout, self.maps, points, **rest)

    def _from_slopes(
        self, kernel: Any, rows: np.ndarray, by_gates: np.ndarray, by_points: list[np.ndarray]
    ) -> np.ndarray:
        """dJ/dtheta from dJ/dgates and dJ/dpoints of some samples, SLDR A.2 and A.3 for any machine."""
        codes = kernel.stack.codes[rows]
        V, T = self.layout.gating(kernel.theta)
        by_scores = self.gate.score_slopes(V, codes, kernel.gates[rows], by_gates)
        by_V = self.gate.scores_pullback(V, codes, by_scores)
        to_codes = self.gate.codes_pullback
        by_T = None if T is None or to_codes is None else self.codes[rows].T @ to_codes(V, codes, by_scores)
        matrices = [np.asarray(F[rows].T @ slopes) for F, slopes in zip(self.features, by_points, strict=True)]
        return self.layout.join(by_V, by_T, matrices)

    def first(self, machine: Machine, rng: np.random.RandomState) -> Start:
        theta = self.start(machine, rng)
        return Start(theta, rest=self.stack.terms(self, theta, rng))

    def start(self, machine: Machine, rng: np.random.RandomState) -> np.ndarray:
        init, layout, weight = self.init, self.layout, self.stack.sample().weight
        method = init if isinstance(init, str) else "random"
        strata = machine.strata
        target = class_indicators(strata) if strata is not None else _numeric(self.stack.sample_targets)
        matrices = [
            starting_projection(method, F, n_components, target, weight, rng)
            for F, (_, n_components) in zip(self.features, layout.shapes, strict=True)
        ]
        if not isinstance(init, str):
            given = given_projections(init, self.stack.names, layout.shapes)
            if layout.constraint != "penalty":  # their scale means nothing
                given = {m: W / np.abs(W).max() for m, W in given.items()}
            matrices = [given.get(m, W) for m, W in enumerate(matrices)]
        T, codes = None, self.codes
        if layout.gating_shape is not None:
            T = starting_projection(method, codes, layout.gating_shape[1], target, weight, rng)
            codes = codes @ T
        V = self.gate.start(codes, self.n_kernels, rng)
        if codes.ndim == 2 and codes.shape[1]:
            V = V * (SCORES / (SMALL * np.sqrt(codes.shape[1])))
        theta = layout.domain().enter(layout.join(V, T, matrices))
        if not self.has_widths:
            self._learn_widths(layout.projections(theta))
        return theta

    def mean_optimum(self, machine: Machine) -> float:
        """J0 under the mean of the kernels without projection; 1 where there is nothing to penalise."""
        return super().mean_optimum(machine) if self.gate.learns else 1.0

    def mean_operand(self) -> Operand:
        kernels = [each.kernel.of_width(self.stack.sample().kernels[m]) for m, each in enumerate(self.maps)]
        gates = self.stack.gates(self.gate_function(np.empty(0), EvenGate()))
        return self.stack.mean_of(kernels, self.features, gates)

    def joint(self, machine: Machine, start: Start) -> JointProblem:
        return self.stack.projection_problem(self, machine, start)

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """l2/2 J0 ||V||^2, and penalty/2 ||W||^2 if W is free."""
        gradient, n_gating, first = np.zeros_like(theta), self.layout.n_gating, self.layout.first_projection
        value, gradient[:n_gating] = super().penalty(theta[:n_gating])
        if self.projection_l2:
            W = theta[first:]
            value += 0.5 * self.projection_l2 * float(W @ W)
            gradient[first:] = self.projection_l2 * W
        return value, gradient

    def domain(self) -> Domain:
        return self.layout.domain()

    def blocks(self) -> list[tuple[slice, Domain]]:
        return self.layout.blocks()

    def finish(self, theta: np.ndarray) -> ProjectedKernel:
        stack = self._coded_at(theta)
        function = self.closed(stack, self.layout.gating(theta)[0])
        gates = stack.gates(function)
        rest = {"gate_tol": function.tol, "active": function.active, "open_share": (gates > 0.0).mean(axis=0)}
        return self._at_points(stack, theta, gates, **rest)

    def finished(self, stack: TrainingStack, maps: list, theta: np.ndarray) -> ProjectedKernel:
        function = self.closed(stack, self.layout.gating(theta)[0])
        given: Any = stack, theta, self.gate, self.inputs, None, self.layout, maps, None
        return ProjectedKernel(*given, gate_tol=function.tol, active=function.active)

    def _learn_widths(self, matrices: list[np.ndarray]) -> None:
        sample = self.stack.sample()
        for m, (each, F, W) in enumerate(zip(self.maps, self.features, matrices, strict=True)):
            present, weight = sample.present[:, m], sample.weight
            each.kernel = each.kernel.with_width_of(np.asarray(F @ W)[present], weight[present])
        self.has_widths = True


def _numeric(y: np.ndarray | None) -> np.ndarray | None:
    return None if y is None else np.asarray(y, dtype=float).reshape(len(y), -1)


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
    inputs, quadratic, max_iter, n_jobs, validation_fraction, gate_tol
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
    `active_kernels_` and `feature_importance_`; `display.ProjectionDisplay` draws them. Rows of `projections_` and
    `feature_importance_` are features or, where a kernel's transformer ends in `PCA` or `TruncatedSVD`, the columns
    before it, to which W_m is carried back (V'W_m, with the components as the rows of V). Views whose gate never opens
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

    _saved = Schema({"layout_": object_of(Layout)})
    _records = ProjectedStack, ExplicitGates

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
        self._check()
        if self.constraint == "penalty" and machine.detects_novelty:
            raise ValueError(
                'constraint="penalty" does not bound the projections of a one-class machine, whose J falls with the '
                'square of their scale; use "orthonormal" or "norm"'
            )
        sample = stack.sample()
        maps = feature_maps(self.features, sample)
        by_kernel = sum(each.by_kernel for each in maps)
        gated = self.gating is not None and self.inputs is None
        needed = 3 + by_kernel * (4 if gated else 1)
        what = "the combined kernel and features from kernel values"
        stack.check_memory(needed, what, per_kernel=by_kernel > 0)
        features = [each.fit(sample, m) for m, each in enumerate(maps)]
        inputs: GatingInputs | NoInputs = NoInputs()
        if self.gating is not None:
            source = ProjectedFeatures(maps, features) if gated and by_kernel else self.inputs
            inputs = GatingInputs(source, self.quadratic, self.scaling)
        gate, coded, codes = self._coded(EvenGate() if self.gating is None else self.gating, inputs, stack, control)
        layout = self._layout(sample, machine, features, codes, gate)
        return ProjectedFamily(coded, gate, inputs, self, layout, maps, features, codes)

    def remember(self, family: Any, kernel: Any) -> None:
        super().remember(family, kernel)
        self.layout_ = family.layout

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

    def _of_features(self, stack: Features, theta: np.ndarray, inputs: Any, **shares: Any) -> ProjectedKernel:
        return ProjectedKernel(stack, theta, self.gating_, inputs, None, self.layout_, stack.maps, None, **shares)

    def _check_record(self, record: Any, theta: np.ndarray, sizes: Sizes, path: str) -> None:
        """The gating model and the projections have as many parameters as inputs and kernels require."""
        layout, n_inputs = self.layout_, n_codes(record.inputs)
        if layout.gating_shape is not None:
            expect(n_inputs, layout.gating_shape[0], f"{path}.combiner_.layout_.gating_shape", "inputs")
            n_inputs = layout.gating_shape[1]
        in_all = layout.first_projection + sum(int(rows) * int(columns) for rows, columns in layout.shapes)
        expect(in_all, len(theta), f"{path}._theta", "parameters")
        points_of = vars(record).get("points") or [
            vars(each).get("directions", np.empty((0, 0))) for each in record.maps
        ]
        for m, (shape, points) in enumerate(zip(layout.shapes, points_of, strict=True)):
            expect(shape[1], points.shape[1], f"{path}._state.points[{m}]", "components")
        self._check_gating(n_inputs, layout.n_gating, sizes, path)
