"""Convex localized multiple kernel learning: weights of their own for each of a few regions, which are given.

    k(x, z) = sum_j c_j(x) (sum_m beta_jm k_m(x, z)) c_j(z)
    minimise over beta    J(beta)      subject to   beta >= 0,   sum_m (d_m^2 beta_jm)^p <= 1   for each region j

J is the optimum of the machine under k, and c_j(x) the membership of a sample in region j: the regions are found, or
given, before the machine is solved, and stay as they are. J is then a maximum of linear functions of beta, as in `mkl`,
and the set is a product of balls: the problem is convex, and solved by the same method to a certified gap. `Localized`
learns the regions too, by a descent that ends at one of several local minima.

Memberships have unit length, sum_j c_j(x)^2 = 1. Equal weights of all regions then leave the diagonal of their common
kernel as it is, so C means what it means there, and the weight of kernel m for a sample is a mean over regions,

    eta_m(x) = sum_j c_j(x)^2 beta_jm        what multiplies k_m(x, x)

Regions that are found are clusters: k-means on the gating inputs gives centres v_j, and

    c_j(x)^2 = exp(-||x - v_j||^2 / s) / sum_h exp(-||x - v_h||^2 / s),      s = softness * t

with t the mean over the training samples by how much further the second nearest centre is than the nearest, in squared
distances. So the memberships of a typical sample in these two have the ratio exp(1 / softness).

==============  ============================================================
paper           here
==============  ============================================================
beta_jm         `RegionalSum.beta`, of shape (n_kernels, n_regions)
c_j(x)          memberships; the paper divides them by their sum
tau             1 / s
S_j             clusters, whose centres are parameters of a `GaussianGate`
==============  ============================================================

Paper: Y. Lei, A. Binder, U. Dogan, M. Kloft, Localized multiple kernel learning - a convex approach, ACML 2016.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import HOST, Place, place_of, precision_of
from ..kernels import Kernel, KernelStack
from ..kernels.stack import NewPart
from ..machines import Machine, Solution
from ..machines.base import Operand
from ..solvers.weights.sets import GroupBall, Separate, Simplex, WeightSet
from ..stacks import FitControl, TrainingStack, training
from ..stacks.explicit import RegionalFeatures
from ..stacks.regional import region_amplitudes, warn_of_no_view
from ..validation import Choice, Constraints, Exactly, Number, blamed_on, check_parameters, is_count, shown
from ..validation.schemas import Schema, Sizes, agree, count, expect, is_own, numbers, object_of, refuse
from ..views import Views
from .combined import ExplicitState, Record, written
from .gates import LARGEST_LOG, ClusterGate, Gate, GateFunction, GaussianGate
from .inputs import SCALINGS, GatingInputs, needs_of
from .localized import ReadsInputs, n_codes
from .mkl import OptimalWeights, WeightProblem

CLOSED = 1e-5  # memberships whose square is below are 0


class RegionalStack(Record):
    """The memberships of the support vectors, and what new ones are computed of."""

    taken: tuple[str, ...] = ("stack", "inputs", "memberships")
    _saved = Schema(
        {
            "stack": object_of(KernelStack, "columns", "kernels", "support"),
            "inputs": object_of(GatingInputs, "columns", "kernels"),
            "memberships": numbers("support", "regions", low=0.0),
        }
    )

    @property
    def n_copies(self) -> int:
        return self.memberships.shape[1]

    def restored(self, combiner: Any, theta: np.ndarray) -> RegionalSum:
        return RegionalSum(self.stack, theta, combiner.gating_, self.inputs, self.n_copies, self.memberships)


class ExplicitRegions(ExplicitState):
    taken = ("inputs", "n_copies", "mean_weights")
    _saved = Schema(
        {
            "inputs": object_of(GatingInputs, "columns", "kernels"),
            "n_copies": count(1),
            "mean_weights": numbers("kernels", low=0.0),
        }
    )

    def restored(self, combiner: Any, theta: np.ndarray) -> RegionalSum:
        plain = self.features()
        stack = RegionalFeatures(plain.reservoir, plain.maps, None, plain.n_samples, self.n_copies)
        found = RegionalSum(stack, theta, combiner.gating_, self.inputs, self.n_copies, None)
        found.mean_weights = self.mean_weights
        return found


class GivenRegions(Gate):
    """Memberships that are given: c_j(x)^2 are the gating inputs, divided by their sum.

    Examples
    --------
    >>> import numpy as np
    >>> codes = GivenRegions().encode(np.array([[3.0, 1.0], [0.0, 2.0]]))
    >>> GivenRegions().values(np.empty(0), codes, np.ones((2, 2), dtype=bool)).round(3)
    array([[0.866, 0.5  ],
           [0.   , 1.   ]])
    """

    learns = False

    def encode(self, inputs: np.ndarray) -> np.ndarray:
        wrong = ~((inputs >= 0.0).all(axis=1) & (inputs > 0.0).any(axis=1))
        if wrong.any():
            found = inputs[wrong.argmax()].tolist()
            raise ValueError(
                "the memberships that `regions` of ConvexLocalized selects must be at least 0, and one of each sample "
                f"positive; those of a sample are {found}"
            )
        return inputs / inputs.sum(axis=1, keepdims=True)

    def start(self, codes: np.ndarray, n_kernels: int, rng: np.random.RandomState) -> np.ndarray:
        return np.empty(0)

    def scores(self, theta: Any, codes: Any, n_kernels: int) -> Any:
        xp = place_of(codes).xp
        return xp.log(xp.clip(codes, float(xp.finfo(codes.dtype).smallest_normal), None))

    def scores_pullback(self, theta: Any, codes: Any, slopes: Any) -> Any:
        return place_of(slopes).zeros(0, precision_of(slopes))

    def _n_parameters(self, n_inputs: int, n_kernels: int) -> int:
        return 0


class RegionalSum(ReadsInputs):
    """k(x, z) = sum_j c_j(x) (sum_m beta_mj k_m(x, z)) c_j(z); theta is beta, kernel by kernel, and that of the gate.

    A sample that lacks views is scaled in each region by itself, as in `WeightedSum` with the weights of the region.
    """

    shows: tuple[str, ...] = ("region_weights_",)
    mean_weights: np.ndarray | None = None
    totals: Any = None
    _of_fit = (*ReadsInputs._of_fit, "totals")

    def __init__(
        self,
        stack: Any,
        theta: np.ndarray,
        gate: Gate,
        inputs: GatingInputs,
        n_regions: int,
        memberships: np.ndarray | None,
    ):
        self.stack, self.theta, self.gate, self.inputs = stack, theta, gate, inputs
        self.n_copies, self.memberships = n_regions, memberships

    @property
    def beta(self) -> np.ndarray:
        """The weights, of shape (n_kernels, n_regions)."""
        return self.theta[: self.n_kernels * self.n_copies].reshape(self.n_kernels, -1)

    @property
    def active(self) -> np.ndarray:
        return np.asarray(self.beta.any(axis=1))

    # Training samples

    def scaling(self) -> np.ndarray:
        """What rows are multiplied by in each region, see `TrainingStack.in_regions`."""
        return training(self.stack).scaling(self.beta.ravel(), "warn", "ConvexLocalized")

    def operand(self, out: np.ndarray | None = None) -> Operand:
        K: Any = training(self.stack).sums(self.scaling()).at(self.beta.ravel())
        return written(K, out) if isinstance(K, np.ndarray) else K

    def rows(self, index: np.ndarray) -> np.ndarray:
        a = self.right()
        parts = (self.stack.gram_rows(m, index) * (a[index, m] @ a[:, m].T) for m in np.flatnonzero(self.active))
        return sum(parts, np.zeros((len(index), len(a))))

    def settle(self, solution: Solution, machine: Machine) -> None:
        """Find what a fitted model shows of the weights of training samples in blocks, at a solution."""
        if self.memberships is None:
            stack: Any = self.stack
            amplitudes = stack.amplitudes(self.beta.ravel(), self.scaling())
            self.totals = stack.gate_totals(amplitudes, solution, machine)
            self.mean_weights = self.totals.weights[0].sum(axis=0) / self.totals.count[0].sum()

    # New samples

    def new_memberships(self, views: Views) -> np.ndarray:
        everywhere = np.ones((views.n_samples, self.n_copies), dtype=bool)
        return self.gate.values(self.theta[self.beta.size :], self.codes_of(views), everywhere, CLOSED)

    def left(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Amplitudes of new samples, of shape (n_new, n_kernels, n_regions), and which views they have."""
        present, memberships = self.stack.presence(views, self.active), self.new_memberships(views)
        warn_of_no_view(self.names, self.beta, present, memberships, views)
        return region_amplitudes(self.beta, self.beta, memberships, present, HOST), present

    def right(self) -> Any:
        """Those of the training samples."""
        return region_amplitudes(self.beta, self.beta, self.memberships, self.stack.present, HOST)

    def new_parts(self, views: Views) -> tuple[np.ndarray, np.ndarray, Iterator[NewPart]]:
        left, present = self.left(views)
        used = np.flatnonzero(self.active).tolist()
        return left, present, ((m, slice(None), views, present[:, m]) for m in used)

    def cross(self, views: Views) -> np.ndarray:
        left, _, parts = self.new_parts(views)
        if self.of_samples:
            right = self.right()
            blocks = (self.stack.cross(m, part, there) * (left[:, m] @ right[:, m].T) for m, _, part, there in parts)
            return sum(blocks, np.zeros((len(left), len(right))))
        found, offsets = np.zeros((len(left), self.stack.n_features)), self.stack.offsets
        for m, _, part, there in parts:
            span = slice(offsets[m], offsets[m + 1])
            wide = left[:, m, :, None] * self.stack.maps[m].transform(part, there)[:, None, :]
            found[:, span] = wide.reshape(len(left), span.stop - span.start)
        return found

    def _shares(self, views: Views, coef: np.ndarray) -> Iterator[tuple[int, Any, np.ndarray]]:
        """Each kernel is computed once, for all regions."""
        left, _, parts = self.new_parts(views)
        right = self.right() if self.of_samples else None
        k, q = self.n_copies, coef.shape[1]
        for m, rows, part, there in parts:
            wide = coef if right is None else (right[:, m, :, None] * coef[:, None, :]).reshape(len(coef), k * q)
            scores = self.stack.scores(m, part, there, wide).reshape(len(left), k, q)
            yield m, rows, np.einsum("ij,ijr->ir", left[:, m], scores)

    def values_in(self, place: Place, views: Views, coef: np.ndarray) -> np.ndarray | None:
        """In parts for each region; explicit features are computed on the host."""
        if not self.of_samples:
            return None
        (left, present), right = self.left(views), self.right()
        pairs = zip(np.moveaxis(left, 2, 0), np.moveaxis(right, 2, 0), strict=True)
        return sum(self.stack.values_in(place, views, present, new, own, coef) for new, own in pairs)

    # Weights, and what is kept

    def weights(self) -> np.ndarray:
        own = self.training_weights()
        return np.asarray(self.mean_weights if own is None else own.mean(axis=0))

    def training_weights(self) -> np.ndarray | None:
        return None if self.memberships is None else (self.right() ** 2).sum(axis=2)

    def sample_weights(self, views: Views) -> np.ndarray:
        return (self.left(views)[0] ** 2).sum(axis=2)

    def restrict(self, index: np.ndarray) -> RegionalSum:
        memberships = None if self.memberships is None else self.memberships[index]
        return self._over(self.stack.restrict(index, self.active), memberships=memberships)

    def attributes(self) -> Mapping[str, Any]:
        return {"region_weights_": pd.DataFrame(self.beta.T, columns=self.names, copy=True)}

    def _record(self) -> Record:
        return (RegionalStack if self.of_samples else ExplicitRegions).of(self)


class ConvexLocalized(OptimalWeights):
    """Convex localized multiple kernel learning: kernel weights for each region of given regions of the samples.

    Minimises ``J(beta)``, the optimum of any machine under ``sum_j c_j(x) (sum_m beta_jm k_m(x, z)) c_j(z)``, over
    ``beta >= 0`` with ``sum_m (d_m^2 beta_jm)^p <= 1`` for each region j; c_j(x) is the membership of a sample in
    region j (Lei, Binder, Dogan & Kloft 2016). The regions are clusters, or given, and are not learned: so the problem
    is convex, and the gap certified, where that of `Localized` has local minima. One region is `LpMKL`.

    It helps where it is known, or clusters show, which samples are alike in what describes them: sites, devices,
    subtypes. Where the border between regions has to be learned from the targets, take `Localized`. Samples of
    different hard regions learn nothing from each other, so that each region needs samples enough.

    Parameters
    ----------
    regions : int, or view selector
        A number of clusters of the gating inputs, at most as many as there are different samples; or columns with the
        memberships of each sample, at least 0, of which c_j(x)^2 are the shares. Both are for new samples too. A single
        column is given as a list.
    p : float
        At least 1; 1 is sparse in each region, infinity takes all kernels alike.
    inputs : view selector, KernelMap or None
        What clusters are found of, as in `Localized`; not read where `regions` are columns.
    softness : float
        How gradually samples pass from one cluster to the next: the squared memberships of a typical sample in its
        nearest and its second cluster have the ratio exp(1 / softness). 0 puts each sample into one region.
    scaling : {"unit-mean", "unit-row", "standard", None}
        How gating inputs are scaled, as in `Localized`; given memberships are not.
    costs : mapping, sequence, number, `EigenvalueCosts` or None
        d_m, as in `ConvexMKL`, the same in all regions.
    max_iter : int
        Most solves of the machine.

    Attributes
    ----------
    costs_ : Series
        d_m by kernel name.
    gating_ : Gate
        What makes memberships of gating inputs.

    Notes
    -----
    A fitted estimator has the weights beta as `region_weights_`, a data frame with a row for each region;
    `kernel_weights(X)` are ``sum_j c_j(x)^2 beta_jm``, what multiplies k_m(x, x), and `gates(X)` their roots.
    ``sum_j c_j(x)^2`` is 1.

    A sample that lacks views is scaled in each region, as in `LpMKL`. `tol` of the estimator is the relative duality
    gap. Weights of a region add up to more than 1 where p is, so C is not comparable with that of `Mean`.

    Memory as in `LpMKL`, with n_samples x P numbers for each region; each kernel value or feature is computed once for
    all regions. On a device features are copied for each region, and prediction from features is on the host.

    References
    ----------
    Y. Lei, A. Binder, U. Dogan, M. Kloft, Localized multiple kernel learning - a convex approach, ACML 2016.

    Examples
    --------
    Two regions along the first feature; in each, another feature tells the classes apart:

    >>> import numpy as np
    >>> from kernelweave import MKLClassifier
    >>> from kernelweave.combiners import ConvexLocalized
    >>> from kernelweave.kernels import Linear
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([np.repeat([-3.0, 3.0], 100) + rng.normal(size=200), rng.normal(size=(200, 2))])
    >>> y = np.where(X[:, 0] < 0, X[:, 1], X[:, 2]) > 0
    >>> kernels = [("second", Linear([1])), ("third", Linear([2]))]
    >>> combiner = ConvexLocalized(regions=2, p=1, inputs=[0], softness=0)
    >>> model = MKLClassifier(kernels, combiner, normalize="unit-trace", random_state=0).fit(X, y)
    >>> model.kernel_weights(X[[0, -1]]).round(1).to_numpy().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    _constraints = Constraints(
        p=Number(low=1, high=1e6) | Exactly(np.inf, "infinity"),
        softness=Number(low=0),
        scaling=Choice(*SCALINGS),
    )
    _saved = Schema({"gating_": object_of(Gate)})
    _records = RegionalStack, ExplicitRegions
    gating_: Gate

    def __init__(
        self,
        regions: Any = 3,
        p: float = 2.0,
        *,
        inputs: Any = None,
        softness: float = 1.0,
        scaling: str | None = "unit-mean",
        costs: Any = None,
        max_iter: int = 200,
    ):
        self.regions = regions
        self.p = p
        self.inputs = inputs
        self.softness = softness
        self.scaling = scaling
        self.costs = costs
        self.max_iter = max_iter

    @property
    def methods(self) -> frozenset[str]:
        return frozenset({"gates", "region"})

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """Whole matrices for kernel values to all samples, where clusters are found of these."""
        return {**super().needs(kernels), **(needs_of(self.inputs) if is_count(self.regions) else {})}

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> RegionalSum:
        check_parameters(self)
        costs = self.costs_of(stack)
        self.costs_ = pd.Series(costs, stack.names)
        inputs, codes, V, n_regions = self._regions(stack, control)
        function = GateFunction(self.gating_, np.ones(n_regions, dtype=bool), fixed=V, tol=CLOSED)
        regional = stack.coded(inputs, self.gating_, codes).in_regions(function)

        def make(beta: np.ndarray) -> RegionalSum:
            memberships = getattr(regional, "memberships", None)
            return RegionalSum(regional, np.append(beta, V), self.gating_, inputs, n_regions, memberships)

        kernel = self._optimal(regional, machine, control, np.repeat(costs, n_regions), make)
        kernel.settle(kernel.solution, machine)
        return kernel

    def _regions(self, stack: TrainingStack, control: FitControl) -> tuple[GatingInputs, np.ndarray, np.ndarray, int]:
        """Gating inputs, the codes that `gating_` makes of them, its parameters, and the number of regions."""
        wrong = self.regions < 1 if is_count(self.regions) else self.regions is None or np.isscalar(self.regions)
        if wrong and not isinstance(self.regions, str):
            raise ValueError(
                "regions of ConvexLocalized must be a number of clusters, at least 1, or columns of memberships, not "
                f"{shown(self.regions)}"
            )
        if is_count(self.regions):
            inputs = GatingInputs(self.inputs, False, self.scaling)
            values = inputs.fit(stack.sample(), control.rng)
            clusters = ClusterGate(self.regions)
            clusters.prepare(values, control.rng)
            self.gating_ = GaussianGate()
            return inputs, values, cluster_parameters(values, clusters.centers_, self.softness), len(clusters.centers_)
        inputs = GatingInputs(self.regions, False, None)
        with blamed_on("regions of ConvexLocalized"):
            values = inputs.fit(stack.sample(), control.rng)
        self.gating_ = GivenRegions()
        return inputs, self.gating_.encode(values), np.empty(0), values.shape[1]

    def _feasible(self, problem: WeightProblem, costs: np.ndarray) -> WeightSet:
        n_kernels = len(problem.names)
        n_regions = len(costs) // n_kernels
        zeros = np.zeros(n_kernels)
        own = Simplex(zeros) if self.p == 1.0 else GroupBall(zeros.astype(int), float(self.p))
        return Separate([own] * n_regions, np.tile(np.arange(n_regions), n_kernels))

    def _check_record(self, record: Any, theta: np.ndarray, sizes: Sizes, path: str) -> None:
        stack, n_regions = record.stack, record.n_copies
        n_weights = stack.n_kernels * n_regions
        agree(sizes, "kernels", stack.n_kernels, f"{path}._state")
        if is_own(type(self.gating_)):
            own = self.gating_._n_parameters(n_codes(record.inputs), n_regions)
            expect(n_weights + own, len(theta), f"{path}._theta", "parameters")
        used = theta[:n_weights].reshape(-1, n_regions).any(axis=1)
        if (theta[:n_weights] < 0.0).any() or not used.any() or (used & ~stack.active).any():
            refuse(f"{path}._theta", "has negative weights, uses no kernel, or one of which nothing is kept")


def cluster_parameters(values: np.ndarray, centers: np.ndarray, softness: float) -> np.ndarray:
    """Those of a `GaussianGate` with these means, and the spread that the docstring of the module defines."""
    limit, log_spread = LARGEST_LOG["float64"], 0.0
    if len(centers) > 1:
        from sklearn.metrics import euclidean_distances

        distances = np.sort(euclidean_distances(values, centers, squared=True), axis=1)
        with np.errstate(divide="ignore"):
            log_spread = 0.5 * float(np.log(softness * (distances[:, 1] - distances[:, 0]).mean()))
    return np.append(centers.ravel(), np.full(len(centers), np.clip(log_spread, -limit, limit)))
