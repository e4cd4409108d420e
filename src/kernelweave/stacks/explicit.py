"""`Features`: the training stack of explicit features over blocks of samples, wherever the blocks are.

    q_m = ||F_m'c||^2,      F_m: features of kernel m without weights, rows multiplied by the factors of missing views
    <K_m, T> = ||sum_i w_i phi_im z_i'||^2,      <K_m, K_h> = ||sum_i w_i phi_im phi_ih'||^2

Nothing as long as the data is gathered: functions of targets and features go to the blocks, and sums come back.

F'c of the machine's last pass contains the amplitudes (eta_m)^(1/2), which are 0 for a kernel with weight 0, so that
such kernels take one more pass, without weights. With these vectors, w_m = (eta_m)^(1/2) F_m'c is where a solve at
other weights begins.

Second derivatives of J are those of a least-squares machine: with the losses' own curvature d_i at the solution, 0 for
samples without a coefficient, and the targets g_m = F_m F_m'c,

    a'H a = min over v, b    ||v||^2 + sum_i d_i (sum_m a_m g_im - <v, phi(x_i)> - b)^2

for every vector a, phi being the weighted features. Any v and b, linear in a, give a matrix above H. It is solved by
the same descent as every machine, roughly, since the matrix only bends steps: gaps are certified without it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np

from ..arrays import HOST, Place, place_of
from ..engines.base import Engine, spans_of
from ..engines.coupled import CoupledPrimal, curvature_on_features, pulled_without_weights, with_slopes
from ..engines.device.engine import values_on_device
from ..engines.memory import Block, Samples
from ..engines.moments import means_of, products_of, pulled_by
from ..engines.primal import Hessian, Primal, sweep
from ..engines.reservoir import uniform_keys
from ..engines.training import NOTHING, ExplicitKernel, certified_descent, size_of
from ..features import FeatureMap
from ..features.completion import FeatureCompletion, completion_of, only_presence
from ..kernels import Kernel, KernelStack
from ..machines import DualTerms, Machine, Solution
from ..validation import is_count
from ..validation.schemas import Schema, numbers
from ..views import Views
from .base import ClassMoments, Columns, FitControl, HeldOut, Similarity, TrainingStack, WeightedSums, without_views
from .dense import CONSTANT, no_fold
from .descent import DescentRun, JointDescent, JointProblem, Loop, Start, Watch, beginning
from .held_out import (
    BlockPart,
    CoupledPart,
    Folds,
    Scores,
    block_parts,
    block_split,
    held_out_positions,
    held_out_scores,
    one_kernel_by_folds,
    positions_of_parts,
)
from .localized import (
    Coding,
    GateTotals,
    Term,
    average_and_spread,
    count_open,
    drawn_terms,
    projection_problem,
    totals_of,
)

SMALL = 1e-12  # of the largest weight: the pass without weights is taken where one is smaller
BEND_GAP, BEND_STEPS = 0.01, 50  # how exactly second derivatives are computed
BEND_SIZE = 1e4  # of their least-squares problem at v = 0, so that BEND_GAP is relative where H is not tiny


class WeightAmplitudes:
    """a_m(x) = (eta_m)^(1/2), times the factor of samples that lack views, see `weighted.WeightedSum`.

    The factor of a sample is (sum_m rho_m / sum_{m present} rho_m)^(1/2), and 1 where the sum of those present is 0;
    rho, the reference, are the weights themselves, except while weights are learned. Zeros mean that all factors are 1.

    >>> amplitudes = WeightAmplitudes(np.array([4.0, 5.0]))
    >>> amplitudes.of(np.array([[True, True], [True, False]]))
    array([[2.        , 2.23606798],
           [3.        , 0.        ]])
    """

    n_parameters = 0

    def __init__(self, eta: np.ndarray, reference: np.ndarray | None = None):
        self.eta, self.reference = eta, eta if reference is None else reference

    def values(self, theta: np.ndarray, block: Samples, rows: slice) -> Any:
        place = place_of(block.weight)
        if block.present is None:
            root = place.asarray(np.sqrt(self.eta)[None, :], "float64")
            return place.xp.broadcast_to(root, (rows.stop - rows.start, len(self.eta)))
        return self.of(block.present[rows], place)

    def of(self, present: Any, place: Place = HOST) -> Any:
        """Amplitudes of samples that have these views, an array of bool of a place."""
        xp = place.xp
        there = xp.astype(present, xp.float64)
        root, reference = (place.asarray(values, "float64") for values in (np.sqrt(self.eta), self.reference))
        weight = there @ reference
        some = weight > 0.0
        factor = xp.where(some, xp.sum(reference) / xp.where(some, weight, 1.0), 1.0) ** 0.5
        return there * root[None, :] * factor[:, None]

    def pullback(
        self, theta: np.ndarray, block: Samples, rows: slice, amplitudes: np.ndarray, slopes: np.ndarray
    ) -> np.ndarray:
        return np.empty(0)


class FeatureForms:
    """F_m'c without weights, of shape (n_features, n_outputs), and q_m of each output."""

    def __init__(self, vectors: np.ndarray, squares: np.ndarray):
        self.vectors, self.squares = vectors, squares

    def forms(self) -> np.ndarray:
        return self.squares.sum(axis=1)


class FeatureSums(WeightedSums):
    """Sums of kernels with explicit features; the scaling is the reference of `WeightAmplitudes`."""

    def __init__(self, stack: Features, scaling: np.ndarray):
        self.stack, self.n_kernels = stack, stack.n_kernels
        self._reference, self._eta = scaling, np.zeros(self.n_kernels)
        self._vectors: np.ndarray | None = None
        self._bent: np.ndarray | None = None

    def scale(self, scaling: np.ndarray) -> None:
        self._reference = scaling

    def at(self, eta: np.ndarray) -> ExplicitKernel:
        self._eta = eta.copy()
        return self.stack.sum(self._eta, self._reference)

    def start(self, last: Solution) -> Solution:
        if self._vectors is None:
            return last
        return dataclasses.replace(last, coef=self.stack.repeated(np.sqrt(self._eta)) * self._vectors)

    def found(self, machine: Machine, solution: Solution) -> FeatureForms:
        root = self.stack.repeated(np.sqrt(self._eta))
        if (self._eta > SMALL * self._eta.max()).all():
            vectors = solution.image / root
        elif not machine.is_separable:
            free = WeightAmplitudes(np.ones(self.n_kernels), self._reference)
            vectors = pulled_without_weights(self.at(self._eta), machine, solution.coef, free)
        else:
            free = WeightAmplitudes(np.ones(self.n_kernels), self._reference)
            given = free, root * solution.coef, solution.intercept, NOTHING
            vectors = self.stack.engine.sum(sweep, *given).pulled
        self._vectors = vectors
        return FeatureForms(vectors, self.stack.norms(vectors))

    def by_output(self, machine: Machine, solution: Solution) -> np.ndarray:
        return self.found(machine, solution).squares

    def curvature(self, machine: Machine, K: Any, solution: Solution, found: Any) -> np.ndarray:
        """From a least-squares problem with a column for each kernel and output."""
        engine, q, P = self.stack.engine, machine.n_outputs, self.n_kernels
        free = WeightAmplitudes(np.ones(P), self._reference)
        if not machine.is_separable:
            return curvature_on_features(K, machine, solution.coef, free, found.vectors)
        root = self.stack.repeated(np.sqrt(self._eta))
        given = free, np.hstack([root * solution.coef, found.vectors]), solution.intercept
        size = float(engine.sum(_size, *given))
        if size <= 0.0:
            return np.zeros((P, P))
        unit = np.sqrt(2.0 * BEND_SIZE / size)
        blocks = engine.replace(_bent, *given, unit)
        primal = Primal(blocks, K.amplitudes, self.stack.n_features, P * q)
        begin = np.zeros((self.stack.n_features + 1) * P * q)
        if self._bent is not None:
            begin[: self._bent.size] = unit * self._bent.ravel()
        solved, _ = certified_descent(primal, begin, BEND_GAP, BEND_STEPS)
        self._bent = solved.coef / unit
        v = solved.coef.reshape(-1, P, q)
        left = blocks.sum(_left, K.amplitudes, solved.coef, solved.intercept, q)
        return (np.einsum("jmr,jlr->ml", v, v) + left) / unit**2


def _seen(block: Block, free: WeightAmplitudes, weights: np.ndarray, intercept: np.ndarray) -> tuple[Any, Any]:
    """d_i of a block, of shape (n_samples, n_outputs), and g, of shape (n_samples, n_kernels, n_outputs)."""
    q = len(intercept)
    d, g = np.empty((block.n_samples, q)), np.empty((block.n_samples, len(free.eta), q))

    def respond(rows: slice, scores: np.ndarray) -> None:
        seen = free.values(NOTHING, block, rows)[:, :, None] * scores
        d[rows] = block.losses.of(rows).curvature(seen[:, :, :q].sum(axis=1) + intercept)
        g[rows] = seen[:, :, q:]

    block.features.sweep(weights, respond)
    return d, g


def _size(block: Block, free: WeightAmplitudes, weights: np.ndarray, intercept: np.ndarray) -> float:
    d, g = _seen(block, free, weights, intercept)
    return float((d[:, None, :] * g**2).sum())


def _bent(block: Block, free: WeightAmplitudes, weights: np.ndarray, intercept: np.ndarray, unit: float) -> Block:
    """The same samples with the losses of the least-squares problem, whose columns are those of g times a unit."""
    d, g = _seen(block, free, weights, intercept)
    wide = np.repeat(d[:, None, :], g.shape[1], axis=1).reshape(len(d), -1)
    end = np.where(wide > 0.0, np.inf, 0.0)
    quadratic = 1.0 / np.where(wide > 0.0, wide, 1.0)
    return dataclasses.replace(block, losses=DualTerms(unit * g.reshape(len(d), -1), -end, end, quadratic))


def _left(block: Block, amplitudes: Any, weights: np.ndarray, intercept: np.ndarray, q: int) -> np.ndarray:
    """sum_i d_i e_im e_il of what the least-squares problem leaves, summed over outputs."""
    P = weights.shape[1] // q
    total = np.zeros((P, P))

    def respond(rows: slice, scores: np.ndarray) -> None:
        a, own = amplitudes.values(NOTHING, block, rows), block.losses.of(rows)
        c = own.coefficients((a[:, :, None] * scores).sum(axis=1) + intercept)  # d_i e_i
        rooted = (c * np.sqrt(own.quadratic)).reshape(len(c), P, q)
        total[:] += np.einsum("imr,ilr->ml", rooted, rooted)

    block.features.sweep(weights, respond)
    return total


class Features(TrainingStack):
    """Maps of several kernels, fitted over the `reservoir`, and an engine over `Block`s (None for new samples only)."""

    offers = frozenset({"eigenvalues"})
    targets = present = None  # known in the blocks
    some_codes: Any = None
    coding: Any = None

    def __init__(self, reservoir: KernelStack, maps: list[FeatureMap], engine: Any, n_samples: int):
        self.reservoir, self.maps, self._n_samples = reservoir, maps, n_samples
        self.engine: Engine = engine
        self.names, self.kernels, self.normalizers = reservoir.names, reservoir.kernels, reservoir.normalizers

    @property
    def n_samples(self) -> int:
        return self._n_samples

    def over(self, engine: Engine) -> Features:
        return Features(self.reservoir, self.maps, engine, self.n_samples)

    def for_machine(self, machine: Machine, y: Any) -> Features:
        return self

    @property
    def offsets(self) -> np.ndarray:
        return np.cumsum([0, *(m.n_features for m in self.maps)])

    @property
    def n_features(self) -> int:
        return int(self.offsets[-1])

    def repeated(self, by_kernel: np.ndarray) -> np.ndarray:
        return np.repeat(by_kernel, np.diff(self.offsets))[:, None]

    def norms(self, vectors: np.ndarray) -> np.ndarray:
        return np.stack([(vectors[span] ** 2).sum(axis=0) for span in spans_of(self.offsets)])

    # Operands

    def scaling(self, eta: np.ndarray, missing: str = "refuse", owner: str = "") -> np.ndarray:
        """The weights by which factors are computed in each block; ones where all samples have all views."""
        found: Lacking = self.engine.sum(lacking, eta != 0)
        if missing == "never" and found.some:
            raise ValueError(f"{owner} needs every view of every sample, but some samples lack views")
        if found.first is not None:
            without_views(f"sample {found.first}", self.names, eta, missing)
        return eta if found.some else np.ones(len(eta))

    def unscaled(self) -> np.ndarray:
        return np.zeros(self.n_kernels)

    def sum(self, eta: np.ndarray, scaling: np.ndarray | None = None, out: Any = None) -> ExplicitKernel:
        reference = self.unscaled() if scaling is None else scaling
        return ExplicitKernel(self.engine, WeightAmplitudes(eta, reference), self.n_features)

    def sums(self, scaling: np.ndarray | None = None) -> FeatureSums:
        return FeatureSums(self, self.unscaled() if scaling is None else scaling)

    def n_support(self, solution: Solution) -> None:
        """None: coefficients are those of features."""

    def size_of(self, objective: float, machine: Machine, least: float = 0.0) -> float:
        return size_of(objective, machine.total)

    # Gates

    def sample(self) -> KernelStack:
        return self.reservoir

    def coded(self, inputs: Any, gate: Any, codes: np.ndarray) -> Features:
        other = self.over(self.engine)
        other.some_codes, other.coding = codes[:1], Coding(inputs, gate)
        return other

    def prepare(self) -> None:
        self.engine = self.engine.replace(self.coding)

    def gates(self, function: Any) -> None:
        """Gates are computed in the blocks."""

    def gated(self, function: Any, gates: Any, at: Any, out: Any = None) -> ExplicitKernel:
        return ExplicitKernel(self.engine, function, self.n_features)

    def open_counts(self, function: Any) -> np.ndarray:
        return self.engine.sum(count_open, function)

    def gate_spread(self, function: Any) -> tuple[np.ndarray, float] | None:
        return average_and_spread(self.engine, function)

    def gate_totals(self, function: Any, solution: Solution, machine: Machine) -> GateTotals:
        given = function, solution.coef, solution.intercept, max(machine.n_classes, 1)
        engine = self.engine
        if not machine.is_separable:
            scores = ExplicitKernel(engine, function, self.n_features).scores(solution)
            engine = engine.replace(with_slopes, -machine.slope(scores)[:, 0])
        return GateTotals(*engine.sum(totals_of, *given))

    def parts(self, machine: Machine, rng: np.random.RandomState) -> list[Any]:
        if not machine.is_separable:
            return [CoupledPart(self, machine, rows) for rows in positions_of_parts(machine, rng)]
        return [self._with_codes(part) for part in block_parts(self, machine, rng)]

    def split(self, machine: Machine, fraction: float, rng: np.random.RandomState) -> Any:
        if not machine.is_separable:
            return CoupledPart(self, machine, held_out_positions(machine, fraction, rng))
        return self._with_codes(block_split(self, machine, fraction, rng))

    def _with_codes(self, part: BlockPart) -> BlockPart:
        part.stack.some_codes = self.some_codes
        return part

    def descent(self, family: Any, machine: Machine, watch: Watch | None, loop: Loop) -> DescentRun:
        return JointDescent(family, machine, watch, loop)

    def gate_problem(self, family: Any, machine: Machine, given: Solution | None) -> JointProblem:
        given_to = self.engine, family.amplitudes, self.n_features
        if machine.is_separable:
            primal = Primal(*given_to, machine.n_outputs, total=machine.total, penalty=family.penalty)
        else:
            primal = CoupledPrimal(*given_to, machine, penalty=family.penalty)
        solution = beginning(machine, family.mean) if given is None else given
        return JointProblem(primal, solution, diagonal=Hessian(primal))

    # Projections

    @property
    def sample_targets(self) -> np.ndarray | None:
        return self.reservoir.y

    def terms(self, family: Any, theta: np.ndarray, rng: np.random.RandomState) -> list[Term]:
        return drawn_terms(self, family, theta, rng)

    def projection_problem(self, family: Any, machine: Machine, start: Start) -> JointProblem:
        return projection_problem(self, family, machine, start)

    def mean_of(self, kernels: Any, features: Any, gates: Any) -> ExplicitKernel:
        eta = np.full(self.n_kernels, 1.0 / self.n_kernels)
        return self.sum(eta, self.scaling(eta))

    # Targets

    def class_counts(self, machine: Machine) -> np.ndarray:
        return self.engine.sum(_class_counts, machine.n_classes, False)

    def present_counts(self) -> np.ndarray:
        return self.engine.sum(_present_counts)

    @property
    def has_targets(self) -> bool:
        return self.reservoir.y is not None

    def inner_products(self, columns: Columns, *, mean: bool, centered: bool, pairs: bool) -> Similarity:
        """Two passes over the data, and P^2 / 2 matrices of the size of two kernels' features."""
        engine, offsets = self.engine, self.offsets
        total, sums = engine.sum(_target_sums, OfBlock(columns, weighted=True))
        middle = sums / total
        scale = 1.0 / len(middle) if mean else 1.0  # T is an average over targets
        shift = middle if mean or centered else np.zeros_like(middle)
        target = scale * engine.sum(_target_square, OfBlock(columns, shift))
        totals, means = means_of(engine, offsets)
        means = means if centered else np.zeros_like(means)
        own = OfBlock(columns, middle if mean else 0.0, weighted=True)
        vectors = pulled_by(engine, self.n_features, own)
        if centered:
            sums = engine.sum(_present_targets, own)
            vectors = vectors - means[:, None] * np.repeat(sums, np.diff(offsets), axis=0)
        to_target = scale * self.norms(vectors).sum(axis=1)
        products = products_of(engine, offsets, means, pairs=pairs)
        between = np.zeros((self.n_kernels,) * 2)
        for (m, h), product in products.items():
            between[m, h] = between[h, m] = (product**2).sum()
        squares = np.diagonal(between).copy()
        for m in range(self.n_kernels):
            centre = means[offsets[m] : offsets[m + 1]]
            before = ((products[m, m] + totals[m] * np.outer(centre, centre)) ** 2).sum()
            if squares[m] <= CONSTANT**2 * before:
                to_target[m] = squares[m] = 0.0
                between[m] = between[:, m] = 0.0
        return Similarity(to_target, np.sqrt(squares), float(np.linalg.norm(target)), between if pairs else None)

    def class_moments(self, n_classes: int) -> ClassMoments:
        """One pass gives the centres, and one the spreads of the values around them."""
        k, P = n_classes, self.n_kernels
        totals = self.engine.sum(_class_counts, k, True)
        means = pulled_by(self.engine, self.n_features, _members, k) / totals
        parts = [means[a:b] for a, b in pairwise(self.offsets)]
        inner = np.stack([part.T @ part for part in parts])
        spread = self.engine.sum(_spread, means, inner) / totals[:, None, None]
        return ClassMoments(inner, spread.reshape(k, P, k, P, k))

    def forms_of(self, columns: Columns) -> np.ndarray:
        return self.norms(pulled_by(self.engine, self.n_features, OfBlock(columns)))

    def margins(self, machine: Machine, maker: Any) -> list[tuple[TrainingStack, Machine]]:
        """All problems at once, each class against the others: outputs of one machine."""
        q = machine.n_outputs
        blocks = self.engine.replace(_margins, q, maker)
        return [(self.over(blocks), _two_sided(maker, np.arange(max(2, q)), q))]

    # Held-out samples, outputs

    def folds(self, cv: Any, machine: Machine, rng: np.random.RandomState, owner: str) -> Folds:
        """A number of folds, drawn without regard to classes."""
        if not is_count(cv) or cv < 2:
            raise ValueError(
                f"cv of {owner} must be a number of folds, at least 2, with an approximation: splitters divide lists "
                f"of all samples, which are in blocks there; it is {cv!r:.100}"
            )
        return Folds(int(cv), int(rng.randint(2**31)))

    def held_out(self, m: int, machine: Machine, folds: Any, control: FitControl, owner: str) -> HeldOut:
        """The machines of all folds are columns of one problem, in which a sample's losses of its own fold are 0."""
        if machine.detects_novelty:
            raise ValueError(
                f"{owner} with an approximation judges kernels by their predictions of targets, and there are none; "
                "use Mean, or approximation=None"
            )
        if not machine.is_separable:
            return self._held_out_pairs(m, machine, folds, control)
        q, width = machine.n_outputs, self.maps[m].n_features
        blocks = self.engine.replace(one_kernel_by_folds, m, folds)
        primal = Primal(blocks, WeightAmplitudes(np.ones(1), np.zeros(1)), width, folds.count * q, total=machine.total)
        start = np.zeros((width + 1) * folds.count * q)
        solution, _ = certified_descent(primal, start, control.tol, control.max_steps)
        found: Scores = blocks.sum(held_out_scores, folds, machine.n_classes > 0, solution.coef, solution.intercept)
        if found.count == 0 or not (found.trained > 0).all():
            raise no_fold(owner, self.names[m])
        return HeldOut(found.loss / found.count, found.correlation, solution.converged)

    def _held_out_pairs(self, m: int, machine: Any, folds: Folds, control: FitControl) -> HeldOut:
        """The share of pairs of held-out samples that are in the wrong order, over all folds."""
        alone = ExplicitKernel(
            self.engine, WeightAmplitudes(np.eye(self.n_kernels)[m], self.unscaled()), self.n_features
        )
        fold = np.minimum((uniform_keys(0, self.n_samples, folds.seed) * folds.count).astype(int), folds.count - 1)
        wrong, pairs, converged = 0.0, 0.0, True
        for k in range(folds.count):
            solution = machine.among(fold != k).solve(alone, tol=control.tol, max_steps=control.max_steps)
            judge = machine.among(fold == k)
            wrong += float(judge.importance @ judge.losses(alone.scores(solution)))
            pairs += float(judge.importance.sum())
            converged = converged and solution.converged
        return HeldOut(wrong / pairs if pairs > 0.0 else 0.5, float("nan"), converged)

    def eigenvalue_counts(self) -> list[int]:
        """F'F has the eigenvalues of F F' that are not 0."""
        none = np.zeros(self.n_features)
        n_present, _ = means_of(self.engine, self.offsets, weighted=False)
        moments = products_of(self.engine, self.offsets, none, pairs=False, weighted=False)
        counts = []
        for m, n in enumerate(n_present.tolist()):
            values = np.linalg.eigvalsh(moments[m, m])
            counts.append(max(1, int((values > values.sum() / (2 * max(1.0, n))).sum())))
        return counts

    def outputs(self, machine: Machine, *, reads_gram: bool) -> list[tuple[TrainingStack, Machine, np.ndarray | None]]:
        found: list[tuple[TrainingStack, Machine, np.ndarray | None]] = []
        for output, (_, part) in enumerate(machine.outputs()):
            blocks = self.engine.replace(_one_output, output, part.n_classes > 0)
            found.append((self.over(blocks), part, None))
        return found

    # New samples, and what is kept

    @property
    def completion(self) -> FeatureCompletion | None:
        return completion_of(self.maps)

    @property
    def read_maps(self) -> list[FeatureMap]:
        """The maps of the views as they are, all of which prediction needs where it completes views."""
        return self.maps if self.completion is None else self.completion.maps

    @property
    def read_besides(self) -> np.ndarray:
        """The columns of all kernels, also of those without weight, where a view is completed from the others."""
        columns = [kernel.columns() for kernel in self.kernels if self.completion is not None]
        return np.concatenate([np.empty(0, dtype=int), *columns])

    def presence(self, views: Views, active: np.ndarray | None = None) -> np.ndarray:
        return (self.completion or self.reservoir).presence(views, active)

    def scores(self, m: int, views: Views, present: np.ndarray, coef: np.ndarray, right: Any = None) -> np.ndarray:
        return self.maps[m].transform(views, present) @ coef[self.offsets[m] : self.offsets[m + 1]]

    def crossed(self, parts: Iterable[Any], left: np.ndarray, right: Any) -> np.ndarray:
        """left[i, m] phi_m(x_i) of all kernels side by side, of shape (n_new, n_features)."""
        offsets = self.offsets
        found = np.zeros((len(left), offsets[-1]))
        for m, rows, views, present in parts:
            found[rows, offsets[m] : offsets[m + 1]] = left[rows, m, None] * self.maps[m].transform(views, present)
        return found

    def values_in(
        self, place: Place, views: Views, present: np.ndarray, left: np.ndarray, right: Any, coef: np.ndarray
    ) -> np.ndarray:
        return values_on_device(self, place, views, left, present, coef)

    def values_per_sample(self, active: np.ndarray, coef: np.ndarray) -> int:
        """Raw values and features of a sample for the active kernel (a boolean array) that has the most."""
        if self.completion is not None:
            return sum(found.n_raw + found.n_features for found in self.read_maps)
        return max(found.n_raw + found.n_features for found, used in zip(self.maps, active, strict=True) if used)

    def n_compared(self, coef: np.ndarray) -> np.ndarray:
        return np.array([float(found.n_raw) for found in self.read_maps])

    def feature_weights(self, m: int, coef: np.ndarray, right: Any) -> np.ndarray | None:
        """The vectors of a linear kernel, where its features are kernel values to landmarks or linear in x."""
        return self.maps[m].feature_weights(coef[self.offsets[m] : self.offsets[m + 1]])

    def lookups(self, active: np.ndarray) -> list[tuple[Kernel, np.ndarray]]:
        found: list[tuple[Kernel, np.ndarray]] = []
        for m, is_active in enumerate(active.tolist()):
            landmarks = self.read_maps[m].landmarks
            if landmarks is not None:
                found += landmarks.lookups(np.array([is_active or self.completion is not None]))
        return found

    def replace(self, m: int, kernel: Any) -> None:
        landmarks = self.read_maps[m].landmarks
        if landmarks is not None:
            landmarks.replace(0, kernel)
        self.reservoir.replace(m, kernel)

    def restrict(self, rows: np.ndarray, active: np.ndarray | None = None) -> Features:
        active = np.ones(self.n_kernels, dtype=bool) if active is None else active
        maps = [found if used else NoFeatures(found.n_features) for found, used in zip(self.maps, active, strict=True)]
        return Features(only_presence(self.reservoir, active), maps, None, self.n_samples)


class NoFeatures(FeatureMap):
    """The features of a kernel that prediction does not evaluate: all are 0."""

    _saved = Schema({"whitening": numbers(0, "features")})

    def __init__(self, n_features: int):
        self.whitening, self.trace_share = np.empty((0, n_features)), 0.0

    @property
    def n_raw(self) -> int:
        return 0

    def raw(self, views: Views, present: np.ndarray) -> np.ndarray:
        return np.empty((views.n_samples, 0))


@dataclass(frozen=True)
class OfBlock:
    """Columns of the targets of a block, less a mean, times the weights of samples."""

    columns: Any
    mean: Any = 0.0
    weighted: bool = False

    def __call__(self, block: Block) -> np.ndarray:
        z = self.columns(np.asarray(block.y), block.weight) - self.mean
        return block.weight[:, None] * z if self.weighted else z


@dataclass(frozen=True)
class Lacking:
    """How many samples lack a view, and the position of the first that has none of those in question."""

    some: int
    first: int | None

    def __add__(self, other: Lacking) -> Lacking:
        found = [place for place in (self.first, other.first) if place is not None]
        return Lacking(self.some + other.some, min(found, default=None))


def lacking(block: Block, used: np.ndarray) -> Lacking:
    if block.present is None:
        return Lacking(0, None)
    present = np.asarray(block.present)
    without = np.flatnonzero(~present[:, used].any(axis=1))
    return Lacking(int((~present).any(axis=1).sum()), int(block.first + without[0]) if len(without) else None)


def _class_counts(block: Block, n_classes: int, weighted: bool) -> np.ndarray:
    return np.bincount(np.asarray(block.y), block.weight if weighted else None, minlength=n_classes)


def _members(block: Block, n_classes: int) -> np.ndarray:
    return np.eye(n_classes)[np.asarray(block.y)] * block.weight[:, None]


def _present_counts(block: Block) -> np.ndarray:
    if block.present is None:
        return np.full(len(block.features.offsets) - 1, block.n_samples)
    return np.asarray(block.present).sum(axis=0)


def _present_targets(block: Block, columns: OfBlock) -> np.ndarray:
    z = columns(block)
    if block.present is None:
        return np.repeat(z.sum(axis=0)[None], len(block.features.offsets) - 1, axis=0)
    return block.present.astype(float).T @ z


def _target_sums(block: Block, columns: OfBlock) -> tuple[float, np.ndarray]:
    return float(block.weight.sum()), columns(block).sum(axis=0)


def _target_square(block: Block, columns: OfBlock) -> np.ndarray:
    z = columns(block)
    return z.T @ (block.weight[:, None] * z)


def _spread(block: Block, means: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Sums of products of the values' differences from their class means, of shape (k, n_kernels k, n_kernels k)."""
    k, labels = means.shape[1], np.asarray(block.y)
    found = np.zeros((k, inner.shape[0] * k, inner.shape[0] * k))

    def respond(rows: slice, scores: np.ndarray) -> None:
        own = labels[rows]
        away = (scores - inner.transpose(1, 0, 2)[own]).reshape(len(own), -1)
        away *= np.sqrt(block.weight[rows])[:, None]
        for c in np.unique(own).tolist():
            inside = away[own == c]
            found[c] += inside.T @ inside

    block.features.sweep(means, respond)
    return found


def _two_sided(maker: Any, labels: np.ndarray, n_outputs: int) -> Machine:
    bound = np.ones(len(labels))
    if n_outputs == 1:
        return maker.for_targets(2.0 * labels - 1.0, bound)
    return maker.one_vs_all(labels, bound, n_classes=n_outputs)


def _margins(block: Block, n_outputs: int, maker: Any) -> Block:
    return dataclasses.replace(block, losses=cast(DualTerms, _two_sided(maker, np.asarray(block.y), n_outputs).terms))


def _one_output(block: Block, output: int, has_classes: bool) -> Block:
    if block.losses.n_outputs == 1:
        return block
    y = np.asarray(block.y)
    y = (y == output).astype(int) if has_classes else y[:, output]
    return dataclasses.replace(block, losses=block.losses.column(output), y=y)
