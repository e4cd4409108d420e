"""Kernels without approximation over samples in memory: what dense stacks and tiles share (`ExactStack`), and whole
Gram matrices (`Matrices`), held or made when they are read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.linalg import get_lapack_funcs

from ..arrays import HOST, Place
from ..kernels import KernelStack
from ..kernels.base import Tile, symmetric
from ..kernels.points import PointKernel, ProjectedSum, points_in_parts
from ..kernels.tiles.sources import declared
from ..kernels.tiles.stack import TileStack
from ..kernels.tiles.sums import TiledSum
from ..machines import Machine, Solution
from ..machines.base import Operand
from ..solvers import DualProgram
from ..solvers.program import curvature
from ..solvers.sums import GatedKernel, Images, KernelBlock, centred_square, gated_pullback, images, sum_kernels
from ..validation import blamed_on, is_count
from .base import ClassMoments, Columns, FitControl, HeldOut, Similarity, TrainingStack, WeightedSums, missing_factor
from .descent import DescentRun, Loop, NestedDescent, Watch
from .held_out import ExactPart, held_out_positions, positions_of_parts
from .regional import region_factors, warn_of_no_view

# A centred kernel with less than this share of the norm that it had is constant up to rounding.
CONSTANT = 1e-10


class ExactStack(KernelStack, TrainingStack):
    """Kernels without approximation, samples in memory; attributes are those of both bases."""

    targets: np.ndarray | None = None
    memberships: np.ndarray | None = None  # of samples in regions, of shape (n_samples, n_regions), see `in_regions`

    @classmethod
    def _of(cls, stack: KernelStack) -> Self:
        found = cls.__new__(cls)
        found.__dict__.update(stack.__dict__)
        return found

    def for_machine(self, machine: Machine, y: np.ndarray | None) -> Self:
        other = copy(self)
        other.targets = y if machine.strata is None else np.unique(machine.strata, return_inverse=True)[1]
        return other

    def subset(self, rows: np.ndarray) -> Self:
        part = self._of(super().subset(rows))
        part.targets = None if self.targets is None else self.targets[rows]
        part.codes, part.chosen = None if self.codes is None else self.codes[rows], rows
        part.memberships = None if self.memberships is None else self.memberships[rows]
        return part

    def scaling(self, eta: np.ndarray, missing: str = "refuse", owner: str = "") -> np.ndarray:
        if self.memberships is None:
            return missing_factor(self.names, eta, self.present, self.support, missing, owner)
        by_region = eta.reshape(self.n_kernels, -1)
        warn_of_no_view(self.names, by_region, self.present, self.memberships, self.support)
        return self.memberships * region_factors(by_region, self.present)

    def in_regions(self, function: Any) -> Self:
        other, n_regions = copy(self), len(function.active)
        everywhere = np.ones((self.n_samples, n_regions), dtype=bool)
        other.memberships = function.gate.values(function.fixed, self.codes, everywhere, function.tol)
        return other

    def unscaled(self) -> np.ndarray:
        return np.ones(self.n_samples)

    def n_support(self, solution: Solution) -> int:
        return int(np.count_nonzero(solution.coef.any(axis=1)))

    # Gates

    def sample(self) -> ExactStack:
        return self

    def coded(self, inputs: Any, gate: Any, codes: np.ndarray) -> Self:
        other = copy(self)
        other.codes = codes
        return other

    @property
    def some_codes(self) -> np.ndarray:
        return self.codes

    def gates(self, function: Any) -> np.ndarray:
        return function.gate.values(function.fixed, self.codes, self.present & function.active, function.tol)

    def open_counts(self, function: Any) -> np.ndarray:
        return (self.gates(function) > 0.0).sum(axis=0)

    def gate_spread(self, function: Any) -> tuple[np.ndarray, float] | None:
        whole = self.present.all(axis=1)  # samples that lack views have other gates anyway
        if not whole.any():
            return None
        weights = self.gates(function)[whole] ** 2
        average = weights.mean(axis=0)
        return average, 0.5 * float(np.abs(weights - average).sum(axis=1).mean())

    def gate_totals(self, function: Any, solution: Solution, machine: Machine) -> None:
        """The gates of all samples are known."""

    def parts(self, machine: Machine, rng: np.random.RandomState) -> list[ExactPart]:
        return [ExactPart(self, machine, held_out) for held_out in positions_of_parts(machine, rng)]

    def split(self, machine: Machine, fraction: float, rng: np.random.RandomState) -> ExactPart:
        return ExactPart(self, machine, held_out_positions(machine, fraction, rng))

    def descent(self, family: Any, machine: Machine, watch: Watch | None, loop: Loop) -> DescentRun:
        return NestedDescent(family, machine, watch, loop)

    # Projections

    @property
    def sample_targets(self) -> np.ndarray | None:
        return self.targets

    def terms(self, family: Any, theta: np.ndarray, rng: np.random.RandomState) -> None:
        """Nothing is drawn at random for a start."""

    # Targets

    def class_counts(self, machine: Machine) -> np.ndarray:
        return np.unique(np.asarray(machine.strata), return_counts=True)[1]

    def present_counts(self) -> np.ndarray:
        return self.present.sum(axis=0)

    @property
    def has_targets(self) -> bool:
        return self.targets is not None

    @abstractmethod
    def images(self, columns: np.ndarray) -> np.ndarray:
        """Each kernel times a few columns of its own: (n_kernels, n_samples, n_columns), in double precision."""

    @abstractmethod
    def read(
        self, columns: np.ndarray, roots: np.ndarray, centered: bool, pairs: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Products of the kernels with a few columns, and the inner products of the kernels.

        The last `columns`, (n_kernels, n_samples, n_columns), are shares of samples, by which row means are taken, and
        `roots`, (n_kernels, n_samples), those of their weights, 0 where they lack the view. Without `pairs`, products
        are those of each kernel with itself.
        """

    def inner_products(self, columns: Columns, *, mean: bool, centered: bool, pairs: bool) -> Similarity:
        """Centring subtracts row means on the way, without a centred copy."""
        factor = columns(self.targets, self.weight)
        if mean:
            factor = (factor - np.average(factor, axis=0, weights=self.weight)) / np.sqrt(factor.shape[1])
        roots = self.present.T * np.sqrt(self.weight)
        totals = (roots**2).sum(axis=1)
        shares = roots**2 / np.maximum(totals, np.finfo(float).tiny)[:, None]  # no sample of these classes has it: 0
        wide = roots[:, :, None] ** 2 * (factor - (shares @ factor)[:, None] if centered else factor)
        images, products = self.read(np.concatenate([wide, shares[:, :, None]], axis=2), roots, centered, pairs)
        to_target = np.einsum("mic,mic->m", wide, images[:, :, :-1])  # <K_m, T> = tr(Z'K_m Z)
        means, grand = row_means(images, shares, centered)
        squares = np.diagonal(products).copy() if pairs else products
        # Squares of kernel, row means and mean differ as they do in an analysis of variance.
        before = squares + 2.0 * totals * (roots**2 * means**2).sum(axis=1) - (totals * grand) ** 2
        constant = squares <= CONSTANT**2 * before
        to_target[constant] = squares[constant] = 0.0
        if pairs:
            products[constant] = products[:, constant] = 0.0
        centre = np.average(factor, axis=0, weights=self.weight) if centered else 0.0
        rooted = np.sqrt(self.weight)[:, None] * (factor - centre)
        target_norm = float(np.linalg.norm(rooted.T @ rooted))
        return Similarity(to_target, np.sqrt(squares), target_norm, products if pairs else None)

    def class_moments(self, n_classes: int) -> ClassMoments:
        labels, k, P = np.asarray(self.targets), n_classes, self.n_kernels
        members = np.eye(k)[labels] * self.weight[:, None]
        shares = members / members.sum(axis=0)
        means = self.images(np.repeat(shares[None], P, axis=0))
        inner = np.einsum("mib,ia->mab", means, shares)
        spread = np.empty((k, P, k, P, k))
        for c in range(k):
            own, weight = means[:, labels == c].transpose(0, 2, 1).reshape(P * k, -1), self.weight[labels == c]
            spread[c] = np.cov(own, aweights=weight, bias=True).reshape(P, k, P, k)
        return ClassMoments(inner, spread)

    def forms_of(self, columns: Columns) -> np.ndarray:
        z = columns(self.targets, self.weight)
        return np.einsum("ic,mic->mc", z, self.images(np.repeat(z[None], self.n_kernels, axis=0)))

    def margins(self, machine: Machine, maker: Any) -> list[tuple[TrainingStack, Machine]]:
        found: list[tuple[TrainingStack, Machine]] = []
        for rows, signs in machine.two_class_problems():
            if (signs > 0).any() and (signs < 0).any():
                part = maker.for_targets(signs, np.ones(len(signs)))
                found.append((self.among(rows).for_machine(part, None), part))
        return found

    def among(self, rows: np.ndarray) -> ExactStack:
        """The kernels among some samples, with the constants of all."""
        if len(rows) == self.n_samples:
            return self
        self.prepare()
        return self.subset(rows)

    # Held-out samples, outputs

    def folds(self, cv: Any, machine: Machine, rng: np.random.RandomState, owner: str) -> Sequence[Any]:
        """Positions of training and test samples; a number of folds is stratified and shuffled."""
        from sklearn.model_selection import KFold, StratifiedKFold, check_cv

        strata = machine.dealt_by
        if is_count(cv):
            smallest = machine.n_samples if strata is None else np.unique(strata, return_counts=True)[1].min()
            n_folds = min(cv, int(smallest))
            if n_folds < 2:
                raise ValueError(
                    f"{owner} cannot split the samples into {cv} folds: it needs cv of at least 2 and two "
                    f"samples of every class (or two events), but cv is {cv} and the smallest class has {smallest}"
                )
            splitter = KFold if strata is None else StratifiedKFold
            cv = splitter(n_folds, shuffle=True, random_state=rng)
        everybody = np.arange(machine.n_samples)
        with blamed_on(f"cv of {owner}"):
            folds = check_cv(cv, strata, classifier=strata is not None).split(np.zeros((machine.n_samples, 1)), strata)
            splits = [(everybody[train], everybody[test]) for train, test in folds]
        if not splits or any(len(part) == 0 for split in splits for part in split):
            raise ValueError(f"cv of {owner} gives no folds, or a fold without training or test samples")
        return splits

    @abstractmethod
    def alone(self, m: int) -> Operand:
        """Kernel m by itself."""

    @abstractmethod
    def part(self, K: Any, rows: np.ndarray) -> Operand:
        """An operand among some samples."""

    @abstractmethod
    def values(self, K: Any, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """An operand between some samples and others, times coefficients of the others."""

    def held_out(self, m: int, machine: Machine, folds: Sequence[Any], control: FitControl, owner: str) -> HeldOut:
        alone, present = self.alone(m), self.present[:, m]
        tests, values, risk, converged = [], [], 0.0, True
        for train, test in folds:
            train, test = train[present[train]], test[present[test]]
            if len(train) == 0 or len(test) == 0:
                raise no_fold(owner, self.names[m])
            among = self.part(alone, train)
            solution = machine.subset(train).solve(among, tol=control.tol, max_steps=control.max_steps)
            values.append(self.values(alone, test, train, solution.coef) + solution.intercept)
            risk += len(test) * machine.subset(test).risk(values[-1])
            tests.append(test)
            converged = converged and solution.converged
        chosen = np.concatenate(tests)
        return HeldOut(risk / len(chosen), self._correlation(machine, chosen, values), converged)

    def _correlation(self, machine: Machine, chosen: np.ndarray, values: list[np.ndarray]) -> float:
        if machine.strata is not None or self.targets is None:
            return float("nan")
        true = self.targets.reshape(self.n_samples, -1)[chosen]
        predicted = np.concatenate([machine.decision(each) for each in values]).reshape(true.shape)
        predicted, true = predicted - predicted.mean(axis=0), true - true.mean(axis=0)
        sizes = np.linalg.norm(predicted, axis=0) * np.linalg.norm(true, axis=0)
        products = (predicted * true).sum(axis=0)
        return float(np.divide(products, sizes, out=np.zeros_like(sizes), where=sizes > 0).mean())

    @abstractmethod
    def diagonals(self) -> np.ndarray:
        """k_m(x, x) of each sample, of shape (n_samples, n_kernels)."""

    @abstractmethod
    def rows_of(self, K: Any, rows: np.ndarray) -> np.ndarray:
        """An operand between some samples and all of them."""

    @abstractmethod
    def block_of(self, K: Any, rows: np.ndarray) -> np.ndarray:
        """An operand among some samples, as a matrix."""

    def outputs(self, machine: Machine, *, reads_gram: bool) -> list[tuple[TrainingStack, Machine, np.ndarray | None]]:
        parts = machine.outputs()
        if reads_gram and any(len(rows) < self.n_samples for rows, _ in parts):
            self.prepare()
        found: list[tuple[TrainingStack, Machine, np.ndarray | None]] = []
        for output, (rows, part) in enumerate(parts):
            own = self if len(rows) == self.n_samples else self.subset(rows)
            y = self.targets
            found.append((own.for_machine(part, y if y is None or y.ndim == 1 else y[:, output]), part, rows))
        return found


class ExactSums(WeightedSums):
    """Weighted sums of exact kernels: F (sum_m eta_m K_m) F, with F the diagonal matrix of the scaling."""

    n_samples: int
    n_kernels: int
    _rows: list[np.ndarray] | None = None
    _programs: list[DualProgram] | None = None

    @abstractmethod
    def images(self, outputs: list[tuple[np.ndarray, Solution]]) -> Images:
        """Every F K_m F C of solutions on the latest sum, each given with the positions of its samples."""

    def found(self, machine: Machine, solution: Solution) -> Images:
        if not solution.outputs:
            return self.images([(np.arange(machine.n_samples), solution)])
        if self._rows is None:
            self._rows = [rows for rows, _ in machine.outputs()]
        return self.images(list(zip(self._rows, solution.outputs, strict=True)))

    def by_output(self, machine: Machine, solution: Solution) -> np.ndarray:
        found = self.found(machine, solution)
        shares = found.values * found.coef
        return np.stack([np.bincount(found.columns, own, machine.n_outputs) for own in shares])

    def curvature(self, machine: Machine, K: Any, solution: Solution, found: Any) -> np.ndarray:
        if not machine.is_separable:
            return machine.curvature(K, solution, found)
        if self._programs is None:
            self._programs = machine.programs()
        return curvature(self._programs, K, solution.coef, found)

    def _coef(self, outputs: list[tuple[np.ndarray, Solution]]) -> np.ndarray:
        coef = np.zeros((self.n_samples, sum(solution.coef.shape[1] for _, solution in outputs)))
        column = 0
        for rows, solution in outputs:
            width = solution.coef.shape[1]
            coef[rows, column : column + width] = solution.coef
            column += width
        return coef


def no_fold(owner: str, name: str) -> ValueError:
    return ValueError(
        f"cv of {owner} gives a fold in which no training or no test sample has the view of the kernel {name!r}; use "
        "fewer folds or remove that kernel"
    )


def row_means(images: np.ndarray, shares: np.ndarray, centered: bool) -> tuple[np.ndarray, np.ndarray]:
    """What centring subtracts: the row means of each kernel, which are its last image, and their mean; or zeros."""
    means = images[:, :, -1] if centered else np.zeros(shares.shape)
    return means, np.einsum("mi,mi->m", shares, means)


@dataclass(frozen=True)
class Points:
    """Kernels between points of all training samples, such as projected ones, in the place of the base kernels."""

    kernels: list[PointKernel]
    points: list[Any]
    made: dict[str, Any] = field(default_factory=dict, compare=False)

    def sum_of(self, gates: np.ndarray) -> ProjectedSum:
        known = self.made.get("sum")
        if known is None or known[0] is not gates:
            known = self.made["sum"] = gates, ProjectedSum(self.kernels, self.points, gates)
        return known[1]

    def tiled(self, place: Place, dtype: np.dtype) -> TileStack:
        if "tiles" not in self.made:
            self.made["tiles"] = points_in_parts(self.kernels, self.points, place, dtype)
        return self.made["tiles"]


LEAST_SAMPLES = 1000  # below, whole matrices are made as fast as some of their rows
MOST_UPDATES = 20  # of the combined kernel before it is summed afresh
# Rows are centred in blocks of about this many kernel values, which stay in the processor's cache.
_BLOCK_VALUES = 2**17


class Matrices(ExactStack):
    """Whole Gram matrices; parameters and attributes are those of `KernelStack`."""

    offers = frozenset({"gram", "elementwise", "eigenvalues", "nested", "samples", "kernels"})
    has_cheap_blocks = True

    def sum(self, eta: np.ndarray, scaling: np.ndarray | None = None, out: np.ndarray | None = None) -> np.ndarray:
        K = self._summed(eta, out)
        if scaling is not None and (scaling != 1).any():
            K *= scaling[:, None]
            K *= scaling[None, :]
        return K

    def _summed(self, eta: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        """The sum of the Gram matrices in memory, or else in tiles of kernels that have them, then of the others."""
        if self.has_matrices:
            return sum_kernels(self.matrices(), eta, out=out)
        used = np.flatnonzero(eta).tolist()
        tiles = {m: tile for m in used if (tile := self.tile(m)) is not None}
        if tiles:
            out = symmetric(self.n_samples, _weighted(tiles, eta), out=out, dtype=self.dtype)
        others = (KernelBlock(m, self.gram(m)) for m in used if m not in tiles)
        return sum_kernels(others, eta, out=out, add=bool(tiles))

    def sum_in_few_rows(self, eta: np.ndarray) -> TiledSum | None:
        """Of kernels that take time (not of products of features), over samples that have all views."""
        used = np.flatnonzero(eta).tolist()
        if self.n_samples < LEAST_SAMPLES or self.has_matrices or not (eta >= 0.0).all() or not self.present.all():
            return None
        if any(self.normalizers[m].needs_all_samples for m in used) or not all(map(self._is_pointwise, used)):
            return None
        return TiledSum(self.at(HOST).in_parts(), np.ones((self.n_samples, self.n_kernels)), eta)

    def _is_pointwise(self, m: int) -> bool:
        function = declared(self.kernels[m], "point_function") if self.kernels[m].is_stationary else None
        return function is not None and self.repairs[m].trusted

    def sums(self, scaling: np.ndarray | None = None) -> MatrixSums:
        found = (MatrixSums if scaling is None or scaling.ndim == 1 else RegionalMatrixSums)(self)
        found.scale(self.unscaled() if scaling is None else scaling)
        return found

    def elementwise(self, kernel: Any, out: np.ndarray | None = None) -> np.ndarray:
        return kernel.gram(out)

    def form_pullback(self, form: Any, kernel: Any, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return form.whole_pullback(kernel, rows, coef)

    def kept_sum(self) -> None:
        """Matrices keep no images."""

    def rows_of(self, K: Any, rows: np.ndarray) -> np.ndarray:
        return K[rows]

    def block_of(self, K: Any, rows: np.ndarray) -> np.ndarray:
        return K[np.ix_(rows, rows)]

    # Gates, over base kernels or points

    def gated(self, function: Any, gates: Any, at: Points | None, out: np.ndarray | None = None) -> np.ndarray:
        if at is not None:
            return at.sum_of(gates).gram(out, self.dtype)
        return sum_kernels(self.matrices(), gates, out=out)

    def gated_block(self, gates: np.ndarray, at: Points | None, rows: np.ndarray) -> np.ndarray:
        return (GatedKernel(self.matrices(), gates) if at is None else at.sum_of(gates)).block(rows)

    def gated_product(self, gates: np.ndarray, at: Points | None, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        kernel: Any = GatedKernel(self.matrices(), gates) if at is None else at.sum_of(gates)
        if coef.ndim == 1:
            return kernel.product(rows, coef)
        return np.column_stack([kernel.product(rows, column) for column in coef.T])

    def gated_rows(self, gates: np.ndarray, at: Points | None, rows: np.ndarray) -> np.ndarray:
        if at is not None:
            blocks = (
                KernelBlock(m, k.cross(Z[rows], Z)) for m, (k, Z) in enumerate(zip(at.kernels, at.points, strict=True))
            )
        else:
            blocks = (KernelBlock(m, self.matrices()[m][rows]) for m in range(self.n_kernels))
        return sum_kernels(blocks, gates[rows], gates, out=np.empty((len(rows), len(gates))))

    def gated_values(
        self, gates: np.ndarray, at: Points | None, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray
    ) -> np.ndarray:
        values = np.zeros((len(rows), coef.shape[1]))
        for m in range(self.n_kernels):
            if at is None:
                block = self.matrices()[m][rows][:, columns]
            else:
                block = at.kernels[m].cross(at.points[m][rows], at.points[m][columns])
            values += gates[rows, m, None] * (block @ (gates[columns, m, None] * coef))
        return values

    def slopes(
        self, gates: np.ndarray, at: Points | None, rows: np.ndarray, coef: np.ndarray, solution: Any = None
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """dJ by the gates, and by the points if there are any, for the samples with coefficients."""
        if at is not None:
            return at.sum_of(gates).pullback(rows, coef)
        return gated_pullback(self.matrices(), gates, rows, coef)[rows], []

    def mean_of(self, kernels: list[Any], features: list[Any], gates: np.ndarray) -> np.ndarray:
        blocks = (KernelBlock(m, k.gram(F)) for m, (k, F) in enumerate(zip(kernels, features, strict=True)))
        return sum_kernels(blocks, gates, out=np.empty((self.n_samples,) * 2, self.dtype))

    def prepare(self) -> None:
        self.matrices()

    def images(self, columns: np.ndarray) -> np.ndarray:
        matrices = self.matrices() if self.has_matrices else None
        grams = (self.gram(m) if matrices is None else matrices[m] for m in range(self.n_kernels))
        return np.stack([_times(K, own) for K, own in zip(grams, columns, strict=True)])

    def read(
        self, columns: np.ndarray, roots: np.ndarray, centered: bool, pairs: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        n_kernels = self.n_kernels
        matrices = self.matrices() if pairs else None
        found, squares = np.empty(columns.shape), np.zeros(n_kernels)
        means, grand = np.zeros(roots.shape), np.zeros(n_kernels)
        for m in range(n_kernels):
            K = self.gram(m) if matrices is None else matrices[m]
            found[m] = _times(K, columns[m])
            one = slice(m, m + 1)
            means[one], grand[one] = row_means(found[one], columns[one, :, -1], centered)
            if matrices is None:
                squares[m] = centred_square(K, means[m], grand[m], roots[m])
        return found, squares if matrices is None else _between(matrices, means, grand, roots)

    def alone(self, m: int) -> np.ndarray:
        return self.gram(m)

    part = block_of

    def values(self, K: Any, rows: np.ndarray, columns: np.ndarray, coef: np.ndarray) -> np.ndarray:
        return K[np.ix_(rows, columns)] @ coef

    def eigenvalue_counts(self) -> list[int]:
        return [_n_large_eigenvalues(self.gram(m), self.present[:, m]) for m in range(self.n_kernels)]

    def diagonals(self) -> np.ndarray:
        return np.ascontiguousarray(self.matrices().diagonal(axis1=1, axis2=2).T, dtype=float)


class MatrixSums(ExactSums):
    """Sums of the Gram matrices of a stack; few changed weights are an update of the last sum."""

    def __init__(self, stack: Matrices):
        self.matrices = stack.matrices()
        self.n_kernels, self.n_samples = self.matrices.shape[:2]
        self.factor: np.ndarray | None = None
        self._K = np.empty(self.matrices.shape[1:], self.matrices.dtype)
        self._weights: np.ndarray | None = None
        self._updates = 0

    def scale(self, scaling: np.ndarray) -> None:
        self.factor = None if (scaling == 1.0).all() else scaling

    def at(self, eta: np.ndarray) -> np.ndarray:
        moved = None if self._weights is None else eta - self._weights
        few = moved is not None and np.count_nonzero(moved) <= min(2, int(np.count_nonzero(eta)) - 1)
        if moved is not None and few and self.factor is None and self._updates < MOST_UPDATES:
            if moved.any():
                sum_kernels(self.matrices, moved, out=self._K, add=True)
                self._updates += 1
        else:
            sum_kernels(self.matrices, eta, out=self._K)
            self._updates = 0
            if self.factor is not None:
                self._K *= self.factor[:, None]
                self._K *= self.factor
        self._weights = None if self.factor is not None else eta.copy()
        return self._K

    def images(self, outputs: list[tuple[np.ndarray, Solution]]) -> Images:
        coef = self._coef(outputs)
        if self.factor is None:
            return images(self.matrices, coef)
        return images(self.matrices, self.factor[:, None] * coef).scaled(self.factor)


class RegionalMatrixSums(MatrixSums):
    """sum_j F_j (sum_m eta_mj K_m) F_j, with a scaling F_j for each region j; a weight for each kernel and region."""

    factor: np.ndarray

    def scale(self, scaling: np.ndarray) -> None:
        self.factor = scaling

    def at(self, eta: np.ndarray) -> np.ndarray:
        roots = np.sqrt(eta.reshape(self.n_kernels, -1))
        for j, factor in enumerate(self.factor.T):
            sum_kernels(self.matrices, factor[:, None] * roots[:, j], out=self._K, add=j > 0)
        return self._K

    def images(self, outputs: list[tuple[np.ndarray, Solution]]) -> Images:
        coef = self._coef(outputs)
        columns, rows = np.nonzero(coef.T)
        values = np.zeros((self.n_kernels, self.factor.shape[1], len(rows)))
        for j, factor in enumerate(self.factor.T):
            scaled = factor[:, None] * coef
            inside = scaled[rows, columns] != 0.0
            values[:, j, inside] = images(self.matrices, scaled).values * factor[rows[inside]]
        return Images(rows, columns, coef[rows, columns], values.reshape(-1, len(rows)))


def _weighted(tiles: dict[int, Tile], eta: np.ndarray) -> Tile:
    def tile(rows: slice, columns: slice) -> np.ndarray:
        total: Any = None
        for m, tile_of in tiles.items():
            values = tile_of(rows, columns)
            if eta[m] != 1.0:
                values *= eta[m]
            total = values if total is None else np.add(total, values, out=total)
        return total

    return tile


def _times(K: np.ndarray, columns: np.ndarray) -> np.ndarray:
    if K.dtype == np.float64:
        return K @ columns
    n_rows = max(1, _BLOCK_VALUES // len(K))
    starts = range(0, len(K), n_rows)
    return np.vstack([K[first : first + n_rows].astype(np.float64) @ columns for first in starts])


def _between(matrices: np.ndarray, means: np.ndarray, grand: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """<K_m, K_h> for all pairs, a few centred rows at a time."""
    n_kernels, n_samples = means.shape
    n_rows = max(1, _BLOCK_VALUES // (n_kernels * n_samples))
    between = np.zeros((n_kernels, n_kernels))
    for first in range(0, n_samples, n_rows):
        rows = slice(first, first + n_rows)
        block = matrices[:, rows].astype(np.float64)
        if means.any():
            block += (grand[:, None] - means[:, rows])[:, :, None]
            block -= means[:, None, :]
        if not (roots == 1.0).all():
            block *= roots[:, rows, None]
            block *= roots[:, None, :]
        flat = block.reshape(n_kernels, -1)
        between += flat @ flat.T
    return between


def _n_large_eigenvalues(K: np.ndarray, present: np.ndarray) -> int:
    """Eigenvalues above half of their mean among the samples that have the view; at least 1; overwrites K."""
    if not present.all():
        K = K[np.ix_(present, present)]
    threshold = np.trace(K) / (2 * max(1, len(K)))  # Bach et al. (2005): 1 / (2 n) at unit trace
    K.flat[:: len(K) + 1] -= threshold
    return max(1, _n_positive_eigenvalues(K))


def _n_positive_eigenvalues(A: np.ndarray) -> int:
    """By Sylvester's law of inertia, from the signs of D in A = L D L' (Bunch and Kaufman 1977); overwrites A."""
    factorize, workspace = get_lapack_funcs(("sytrf", "sytrf_lwork"), (A,))
    n_work, _ = workspace(len(A), lower=1)
    # The transpose of a symmetric matrix in row order is the matrix in LAPACK's column order: no copy is made.
    D, pivots, _ = factorize(A.T, lwork=int(n_work), lower=1, overwrite_a=1)
    single = pivots > 0
    # A 2 x 2 block of D has one positive and one negative eigenvalue, and stands in two entries of `pivots`.
    return int((np.diagonal(D)[single] > 0).sum() + np.count_nonzero(~single) // 2)
