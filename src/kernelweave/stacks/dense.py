"""What the two exact stacks share: targets and samples in memory, folds, classes and outputs.

`Matrices` and `Tiles` are a `KernelStack` with the operations of `TrainingStack`; `training` makes one of a stack.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from ..kernels import KernelStack
from ..machines import Machine, Solution
from ..machines.base import Operand
from ..solvers.qp.program import DualProgram, curvature
from ..solvers.stacks.images import Images
from ..validation import blamed_on, is_count
from .base import ClassMoments, Columns, FitControl, HeldOut, Similarity, TrainingStack, WeightedSums
from .descent import DescentRun, Loop, NestedDescent, Watch
from .held_out import ExactPart, exact_split, positions_of_parts
from .missing import missing_factor

# A centred kernel with less than this share of the norm that it had is constant up to rounding.
CONSTANT = 1e-10


class ExactStack(KernelStack, TrainingStack):
    """Kernels without approximation, over samples in memory; attributes are those of `KernelStack`.

    Attributes
    ----------
    targets : ndarray or None
        Labels from 0, numbers of shape (n_samples,) or (n_samples, n_targets), or None.
    """

    targets: np.ndarray | None = None

    def for_machine(self, machine: Machine, y: np.ndarray | None) -> Self:
        """The same stack with the targets of a machine: its labels, or y."""
        other = copy(self)
        other.targets = y if machine.strata is None else np.unique(machine.strata, return_inverse=True)[1]
        return other

    def subset(self, rows: np.ndarray) -> Self:
        """The same kernels and targets over some of the training samples, see `KernelStack.subset`."""
        part = training(super().subset(rows))
        part.targets = None if self.targets is None else self.targets[rows]
        part.codes, part.chosen = None if self.codes is None else self.codes[rows], rows
        return part

    def scaling(self, eta: np.ndarray, missing: str = "refuse", owner: str = "") -> np.ndarray:
        """A factor of each sample."""
        return missing_factor(self.names, eta, self.present, self.support, missing, owner)

    def unscaled(self) -> np.ndarray:
        """Ones."""
        return np.ones(self.n_samples)

    def n_support(self, solution: Solution) -> int:
        """Rows that are not 0."""
        return int(np.count_nonzero(solution.coef.any(axis=1)))

    # Gates

    def sample(self) -> ExactStack:
        """The samples on which gating inputs are fitted: all."""
        return self

    def coded(self, inputs: Any, gate: Any, codes: np.ndarray) -> Self:
        """The same stack, with what a gating model reads of the samples; `codes` is that of `sample`."""
        other = copy(self)
        other.codes = codes
        return other

    @property
    def some_codes(self) -> np.ndarray:
        """Codes of samples, from whose shape parameters follow."""
        return self.codes

    def gates(self, function: Any) -> np.ndarray:
        """The gates of all samples, of shape (n_samples, n_kernels), by a `GateFunction` with its parameters."""
        return function.gate.values(function.fixed, self.codes, self.present & function.active, function.tol)

    def open_counts(self, function: Any) -> np.ndarray:
        """For how many samples each gate is open."""
        return (self.gates(function) > 0.0).sum(axis=0)

    def gate_spread(self, function: Any) -> tuple[np.ndarray, float] | None:
        """Mean squared gates of the samples that have all views, and half the mean distance from them, if any."""
        whole = self.present.all(axis=1)  # samples that lack views have other gates anyway
        if not whole.any():
            return None
        weights = self.gates(function)[whole] ** 2
        average = weights.mean(axis=0)
        return average, 0.5 * float(np.abs(weights - average).sum(axis=1).mean())

    def gate_totals(self, function: Any, solution: Solution, machine: Machine) -> None:
        """The gates of all samples are known."""

    def parts(self, machine: Machine, rng: np.random.RandomState) -> list[ExactPart]:
        """Parts of the samples to choose a parameter with."""
        return [ExactPart(self, machine, held_out) for held_out in positions_of_parts(machine, rng)]

    def split(self, machine: Machine, fraction: float, rng: np.random.RandomState) -> ExactPart:
        """A part of the samples to stop early with."""
        return exact_split(self, machine, fraction, rng)

    def descent(self, family: Any, machine: Machine, watch: Watch | None, loop: Loop) -> DescentRun:
        """The machine is solved at each step."""
        return NestedDescent(family, machine, watch, loop)

    # Projections

    @property
    def sample_targets(self) -> np.ndarray | None:
        """Those of all samples."""
        return self.targets

    def terms(self, family: Any, theta: np.ndarray, rng: np.random.RandomState) -> None:
        """Nothing is drawn at random for a start."""

    # Targets

    def class_counts(self, machine: Machine) -> np.ndarray:
        """By the labels of the machine."""
        return np.unique(np.asarray(machine.strata), return_counts=True)[1]

    def present_counts(self) -> np.ndarray:
        """From the table of views."""
        return self.present.sum(axis=0)

    @property
    def has_targets(self) -> bool:
        """Whether they are known."""
        return self.targets is not None

    def _columns(self, columns: Columns) -> np.ndarray:
        return columns(self.targets, self.weight)

    @abstractmethod
    def images(self, columns: np.ndarray) -> np.ndarray:
        """Each kernel times a few columns of its own: (n_kernels, n_samples, n_columns), in double precision."""

    @abstractmethod
    def read(
        self, columns: np.ndarray, roots: np.ndarray, centered: bool, pairs: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Products of the kernels with a few columns, and the inner products of the kernels.

        Parameters
        ----------
        columns : ndarray of shape (n_kernels, n_samples, n_columns)
            The last are shares of the samples, by which row means are taken.
        roots : ndarray of shape (n_kernels, n_samples)
            Roots of the weights of samples, 0 for those that lack the view.
        centered, pairs : bool

        Returns
        -------
        images : ndarray of the shape of `columns`
        products : ndarray of shape (n_kernels, n_kernels), or (n_kernels,) without `pairs`
        """

    def inner_products(self, columns: Columns, *, mean: bool, centered: bool, pairs: bool) -> Similarity:
        """Centring subtracts row means on the way, without a centred copy."""
        factor = self._columns(columns)
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
        """From the mean kernel values of each sample to each class."""
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
        """From the images of the columns."""
        z = self._columns(columns)
        return np.einsum("ic,mic->mc", z, self.images(np.repeat(z[None], self.n_kernels, axis=0)))

    def margins(self, machine: Machine, maker: Any) -> list[tuple[TrainingStack, Machine]]:
        """One problem after the other."""
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

    @abstractmethod
    def prepare(self) -> None:
        """Compute what all subsets share."""

    # Held-out samples, outputs

    def folds(self, cv: Any, machine: Machine, rng: np.random.RandomState, owner: str) -> Sequence[Any]:
        """Positions of training and test samples; a number of folds is stratified and shuffled."""
        from sklearn.model_selection import KFold, StratifiedKFold, check_cv

        strata = machine.strata
        if is_count(cv):
            smallest = machine.n_samples if strata is None else np.unique(strata, return_counts=True)[1].min()
            n_folds = min(cv, int(smallest))
            if n_folds < 2:
                raise ValueError(
                    f"{owner} cannot split the samples into {cv} folds: it needs cv of at least 2 and two "
                    f"samples of every class, but cv is {cv} and the smallest class has {smallest}"
                )
            splitter = KFold if strata is None else StratifiedKFold
            cv = splitter(n_folds, shuffle=True, random_state=rng)
        else:
            with blamed_on(f"cv of {owner}"):
                cv = check_cv(cv, strata, classifier=strata is not None)
        everybody = np.arange(machine.n_samples)
        with blamed_on(f"cv of {owner}"):
            folds = list(cv.split(np.zeros((machine.n_samples, 1)), strata))
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
        """A machine for each fold."""
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
        """Pearson's correlation of predictions and targets, averaged over targets; NaN where targets are no numbers."""
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
        """The samples of each output; matrices are computed once for all."""
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
        """The images of all coefficients."""
        if not solution.outputs:
            return self.images([(np.arange(machine.n_samples), solution)])
        if self._rows is None:
            self._rows = [rows for rows, _ in machine.outputs()]
        return self.images(list(zip(self._rows, solution.outputs, strict=True)))

    def by_output(self, machine: Machine, solution: Solution) -> np.ndarray:
        """q_m of each output."""
        found = self.found(machine, solution)
        shares = found.values * found.coef
        return np.stack([np.bincount(found.columns, own, machine.n_outputs) for own in shares])

    def curvature(self, machine: Machine, K: Any, solution: Solution, found: Any) -> np.ndarray:
        """By the programs of the machine."""
        if self._programs is None:
            self._programs = machine.programs()
        return curvature(self._programs, K, solution.coef, found)

    def _coef(self, outputs: list[tuple[np.ndarray, Solution]]) -> np.ndarray:
        """The coefficients of all samples, one column for each solution of one output."""
        coef = np.zeros((self.n_samples, sum(solution.coef.shape[1] for _, solution in outputs)))
        column = 0
        for rows, solution in outputs:
            width = solution.coef.shape[1]
            coef[rows, column : column + width] = solution.coef
            column += width
        return coef


def no_fold(owner: str, name: str) -> ValueError:
    """The error of a fold in which nobody has a view."""
    return ValueError(
        f"cv of {owner} gives a fold in which no training or no test sample has the view of the kernel {name!r}; use "
        "fewer folds or remove that kernel"
    )


def row_means(images: np.ndarray, shares: np.ndarray, centered: bool) -> tuple[np.ndarray, np.ndarray]:
    """What centring subtracts: the row means of each kernel, which are its last image, and their mean; or zeros."""
    means = images[:, :, -1] if centered else np.zeros(shares.shape)
    return means, np.einsum("mi,mi->m", shares, means)


def training(stack: Any) -> Any:
    """A stack with the operations of `TrainingStack`: itself, or the same kernels and samples where it has none.

    Parameters
    ----------
    stack : TrainingStack or KernelStack
        The latter is whole matrices or tiles by its ``storage``.
    """
    from .matrices import Matrices
    from .tiles import Tiles

    if isinstance(stack, TrainingStack) or not isinstance(stack, KernelStack):
        return stack
    kind = Matrices if stack.storage == "dense" else Tiles
    found = kind.__new__(kind)
    found.__dict__.update(stack.__dict__)
    return found
