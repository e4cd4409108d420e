"""The protocol of a training stack: base kernels over the training samples, and all that mathematics asks of them.

A combiner reaches kernels and targets only through these operations, so that it is written once for whole matrices,
tiles and explicit features. An *operand* is what a machine is solved on; only the stack and the machine know what it
is. Targets live where the samples do, in memory or in blocks: functions of targets are handed down, and their sums
come back.

==============================  =======================================================================
needed by                       operations
==============================  =======================================================================
all weights                     `sum`, `scaling`
learned weights                 `sums`
learned widths                  `with_kernels`
localized kernels               `coded`, `gates`, `gated`, `open_counts`, `gate_spread`
weights of regions              `coded`, `in_regions`, and of that stack `scaling`, `sums`, `gate_totals`
localized and projected ones    `descent`, `split`, `parts`, `sample`, `mean_of`, `terms`
products, polynomials           `elementwise`
determinants, conic solvers     `gram`, `matrices`
similarity to the targets       `inner_products`, `class_moments`; of EasyMKL `forms_of`, `margins`
scores of single kernels        `folds`, `held_out`, `class_counts`, `present_counts`
`EigenvalueCosts`               `eigenvalue_counts`
weights by output               `outputs`
histories                       `n_support`
prediction                      `scores`, `crossed`, `values_in`, `restrict`
==============================  =======================================================================

A combiner says which operations it needs beyond weighted sums, and why (`Combiner.needs`); a stack says what it offers
(`offers`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from .._warnings import warn
from ..kernels import Kernel, KernelStack
from ..machines import Machine, Solution
from ..machines.base import Operand
from ..views import Views

Progress = Callable[[int, int], None]
#: From targets and weights of some samples to columns, of shape (n_samples, n_columns).
Columns = Callable[[Any, np.ndarray], np.ndarray]
_FINENESS = 1000  # parts of a solve that progress is reported in


@dataclass(frozen=True)
class FitControl:
    """What every fit is given beside data.

    Attributes
    ----------
    rng : RandomState
        The source of all random numbers.
    tol : float
        Tolerance of the machine's last solve, and the relative progress or gap that ends learning.
    max_steps : int or None
        Most solver steps of one solve of the machine.
    progress : callable or None
        Called with the number of finished and of all units of work.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.combiners import FitControl, Mean
    >>> from kernelweave.kernels import KernelStack, Linear
    >>> from kernelweave.machines import BinaryMachine
    >>> stack = KernelStack([Linear()]).fit([[1.0], [-1.0]])
    >>> kernel = Mean().fit(stack, BinaryMachine(np.array([1.0, -1.0]), 10.0), FitControl(tol=1e-6))
    >>> kernel.solution.converged
    True
    """

    rng: np.random.RandomState = field(default_factory=lambda: np.random.RandomState(0))
    tol: float = 1e-3
    _: KW_ONLY
    max_steps: int | None = None
    progress: Progress | None = None

    def report(self, done: int, total: int) -> None:
        """Report progress, if there is a callable for it."""
        if self.progress is not None:
            self.progress(done, total)

    def share_of(self, n_solves: int) -> Callable[[float], None]:
        """A callable that reports how much of several solves in a row is done, given the share of the present one.

        Shares grow from 0 to 1 in each solve; a smaller one than the last belongs to the next solve.
        """
        finished, last = 0, 0.0

        def report(share: float) -> None:
            nonlocal finished, last
            finished += share < last
            last = share
            self.report(round(_FINENESS * (min(finished, n_solves - 1) + share)), _FINENESS * n_solves)

        return report

    def quiet(self, seed: int) -> FitControl:
        """The same for a part of the work: random numbers of its own, and no progress."""
        return replace(self, rng=np.random.RandomState(seed), progress=None)


@dataclass(frozen=True)
class Similarity:
    """Frobenius inner products of P kernels and of the ideal kernel T.

    `to_target` is <K_m, T>, `norms` ||K_m||, `target_norm` ||T|| and `between` <K_m, K_h>, where it was asked for.
    """

    to_target: np.ndarray
    norms: np.ndarray
    target_norm: float
    between: Any

    @property
    def alignments(self) -> np.ndarray:
        """A(K_m, T), the cosine of the angle between kernel and target; 0 where one of them is zero."""
        product = self.norms * self.target_norm
        return np.divide(self.to_target, product, out=np.zeros_like(product), where=product > 0)


@dataclass(frozen=True)
class ClassMoments:
    """Means and spreads, by class, of the mean kernel values of samples to each class.

    With v_ma(x) the mean of k_m(x, x_i) over class a, both by the weights of samples, `inner`, of shape (n_kernels, k,
    k), is the mean of v_mb over class a, the inner product of the two centres; `spread`, of shape (k, n_kernels, k,
    n_kernels, k), is the covariance within each class of v_ma and v_hb.
    """

    inner: np.ndarray
    spread: np.ndarray


@dataclass(frozen=True)
class HeldOut:
    """How well machines on one kernel predict samples that were held out, and whether all of them converged."""

    risk: float
    correlation: float
    converged: bool


class WeightedSums(ABC):
    """Weighted sums of the kernels for many weights in turn, and what learning them needs; of one thread."""

    @abstractmethod
    def scale(self, scaling: np.ndarray) -> None:
        """Take another `TrainingStack.scaling` from now on."""

    @abstractmethod
    def at(self, eta: np.ndarray) -> Operand:
        """The operand of sum_m eta_m K_m, which the next call may overwrite."""

    def start(self, last: Solution) -> Solution:
        """Where to begin a solve on the latest sum, given the last solution."""
        return last

    @abstractmethod
    def found(self, machine: Machine, solution: Solution) -> Any:
        """What a solution on the latest sum gives, an object with a method ``forms``: q_m = sum_r c_r' K_m c_r."""

    @abstractmethod
    def curvature(self, machine: Machine, K: Any, solution: Solution, found: Any) -> np.ndarray:
        """Second derivatives of J by the weights, of shape (n_kernels, n_kernels)."""

    @abstractmethod
    def by_output(self, machine: Machine, solution: Solution) -> np.ndarray:
        """The same of each output, of shape (n_kernels, n_outputs)."""

    def forms(self, machine: Machine, solution: Solution) -> np.ndarray:
        """q_m = sum_r c_r' K_m c_r of a solution on the latest sum; dJ/deta_m is -1/2 q_m."""
        return self.found(machine, solution).forms()


class TrainingStack(ABC):
    """Base kernels over the training samples; the docstring of the module lists the operations.

    Attributes
    ----------
    names : list of str
    kernels : list of Kernel
        Fitted.
    targets : ndarray or None
        Labels from 0, numbers of shape (n_samples,) or (n_samples, n_targets); None where there are none, and where
        they are in blocks.
    offers : frozenset of str
        The operations that not every stack has: "gram", "elementwise", "eigenvalues", "nested" (the machine is solved
        at each step of a descent), "samples" (each sample may have parameters of its own), "kernels" (others over the
        same samples may take their place, `with_kernels`).
    """

    names: list[str]
    kernels: list[Kernel]
    targets: Any
    codes: Any = None  # what gates read of each sample, see `coded`
    chosen: Any = slice(None)  # positions of the samples in the stack that this is a subset of
    offers: frozenset[str] = frozenset()
    has_cheap_blocks = False  # whether blocks of gated sums cost less than the whole

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """Number of training samples."""

    @property
    def n_kernels(self) -> int:
        """Number of base kernels, P."""
        return len(self.kernels)

    @abstractmethod
    def for_machine(self, machine: Machine, y: Any) -> TrainingStack:
        """The same stack with the targets of a machine: its labels, or y; blocks have theirs already."""

    @abstractmethod
    def prepare(self) -> None:
        """Compute what all that follows can share."""

    # Operands

    def gram(self, m: int) -> np.ndarray:
        """The n x n matrix of kernel m, of a stack that offers "gram"."""
        raise ValueError(
            f"no Gram matrix of the kernel {self.names[m]!r} is made here: train without approximation, and say "
            '{"gram": reason} in the method `needs` of the combiner, so that this is refused before training'
        )

    def matrices(self) -> np.ndarray:
        """Those of all kernels, (n_kernels, n_samples, n_samples)."""
        return np.stack([self.gram(m) for m in range(self.n_kernels)])

    @abstractmethod
    def scaling(self, eta: np.ndarray, missing: str = "refuse", owner: str = "") -> np.ndarray:
        """What rows of samples that lack views are multiplied by under these weights; only `sum` and `sums` read it.

        Parameters
        ----------
        eta : ndarray of shape (n_kernels,)
        missing : {"refuse", "warn", "never"}
            What happens for a sample without any view that has a weight, see `WeightedSum`.
        owner : str
            What errors call the combiner.
        """

    @abstractmethod
    def unscaled(self) -> np.ndarray:
        """The `scaling` under which no row is multiplied by anything."""

    @abstractmethod
    def sum(self, eta: np.ndarray, scaling: np.ndarray | None = None, out: np.ndarray | None = None) -> Operand:
        """The operand of sum_m eta_m K_m, scaled for missing views; `out` is a matrix that may be overwritten."""

    def sum_in_few_rows(self, eta: np.ndarray) -> Operand | None:
        """The sum in parts, where few of its rows are computed sooner than the whole; None where not, by default."""
        return None

    @abstractmethod
    def sums(self, scaling: np.ndarray | None = None) -> WeightedSums:
        """Such operands for many weights in turn; nothing is scaled by default."""

    def with_kernels(self, kernels: Sequence[tuple[str, int, Kernel]], *, keeps_matrices: bool = True) -> Any:
        """Other kernels over the same samples, see `KernelStack.with_kernels`; of a stack that offers "kernels"."""
        raise ValueError(f"{type(self).__name__} has no other kernels over its samples")

    @abstractmethod
    def n_support(self, solution: Solution) -> int | None:
        """How many samples have coefficients; None where coefficients are those of features."""

    def check_memory(self, n_matrices: int, what: str, *, per_kernel: bool = False) -> None:  # noqa: B027
        """Warn where so many Gram matrices do not fit into memory; nothing to do where none is made."""

    def size_of(self, objective: float, machine: Machine, least: float = 0.0) -> float:
        """What the gap of learned weights is relative to."""
        return max(abs(objective), least)

    # Targets

    @abstractmethod
    def class_counts(self, machine: Machine) -> np.ndarray:
        """How many samples each class has."""

    @abstractmethod
    def present_counts(self) -> np.ndarray:
        """How many samples have the view of each kernel."""

    @property
    @abstractmethod
    def has_targets(self) -> bool:
        """Whether samples have targets."""

    @abstractmethod
    def inner_products(self, columns: Columns, *, mean: bool, centered: bool, pairs: bool) -> Similarity:
        """Inner products of the kernels with T = Z Z' and, with `pairs`, with each other; weights of samples count.

        Parameters
        ----------
        columns : callable
            z of some samples.
        mean : bool
            Whether z is lowered by its mean over all samples and divided by the root of the number of columns.
        centered : bool
            Whether kernels are centred, over the samples that have the view.
        pairs : bool
        """

    @abstractmethod
    def class_moments(self, n_classes: int) -> ClassMoments:
        """Means and spreads of kernel values by class, for targets that are labels from 0."""

    @abstractmethod
    def margins(self, machine: Machine, maker: Any) -> list[tuple[TrainingStack, Machine]]:
        """The two-class problems of a machine that have both classes, each with the stack of its samples.

        `maker`, a `BinaryLoss`, makes the machine of samples with labels +1 and -1 at cost 1 each.
        """

    @abstractmethod
    def forms_of(self, columns: Columns) -> np.ndarray:
        """z' K_m z of each column z, of shape (n_kernels, n_columns)."""

    # Held-out samples, outputs

    @abstractmethod
    def folds(self, cv: Any, machine: Machine, rng: np.random.RandomState, owner: str) -> Any:
        """The folds of a cross-validation; `owner` is what errors call the combiner."""

    @abstractmethod
    def held_out(self, m: int, machine: Machine, folds: Any, control: FitControl, owner: str) -> HeldOut:
        """How well the machine predicts held-out samples with kernel m alone, those that have its view."""

    @abstractmethod
    def outputs(self, machine: Machine, *, reads_gram: bool) -> list[tuple[TrainingStack, Machine, np.ndarray | None]]:
        """A stack and a machine for each output, with the positions of its samples where these have coefficients."""

    # Gates, projections

    @abstractmethod
    def sample(self) -> KernelStack:
        """Samples in memory to learn constants of: all of them, or a reservoir."""

    @property
    @abstractmethod
    def sample_targets(self) -> np.ndarray | None:
        """The targets of `sample`."""

    @abstractmethod
    def coded(self, inputs: Any, gate: Any, codes: np.ndarray) -> TrainingStack:
        """The stack with what a gating model reads of each sample; `codes` is that of `sample`."""

    @property
    @abstractmethod
    def some_codes(self) -> np.ndarray:
        """What gates read of `sample`."""

    @abstractmethod
    def gates(self, function: Any) -> np.ndarray | None:
        """Gates of all samples, (n_samples, n_kernels); None where they are computed block by block."""

    @abstractmethod
    def gated(self, function: Any, gates: Any, at: Any, out: np.ndarray | None = None) -> Operand:
        """The operand of sum_m g_m(x) k_m(x, z) g_m(z), of kernels at other points where `at` has some."""

    @abstractmethod
    def in_regions(self, function: Any) -> TrainingStack:
        """The same stack, where `sums` are sum_j c_j(x) (sum_m eta_mj k_m(x, z)) c_j(z), of codes and with c_j given.

        `scaling` and `sums` then take a weight for each kernel and region: those of the first kernel, then those of
        the second. c is `function`, with an output for each region in the place of a gate for each kernel.
        """

    @abstractmethod
    def open_counts(self, function: Any) -> np.ndarray:
        """For how many samples each gate is open."""

    @abstractmethod
    def gate_spread(self, function: Any) -> tuple[np.ndarray, float] | None:
        """Mean squared gates of the samples that have all views, and half the mean distance from them, if any."""

    @abstractmethod
    def gate_totals(self, function: Any, solution: Solution, machine: Machine) -> Any:
        """What is summed up of gates where no array of them is kept; None where one is."""

    @abstractmethod
    def mean_of(self, kernels: Any, features: Any, gates: Any) -> Operand:
        """The operand of the mean kernel of samples before they are projected."""

    @abstractmethod
    def terms(self, family: Any, theta: np.ndarray, rng: np.random.RandomState) -> Any:
        """What is drawn at random for a descent that begins at theta, if anything."""

    @abstractmethod
    def parts(self, machine: Machine, rng: np.random.RandomState) -> Sequence[Any]:
        """Samples to hold out, part after part."""

    @abstractmethod
    def split(self, machine: Machine, fraction: float, rng: np.random.RandomState) -> Any:
        """One part to hold out, stratified by class where there are classes."""

    @abstractmethod
    def descent(self, family: Any, machine: Machine, watch: Any, loop: Any) -> Any:
        """The outer loop over a family of kernels, see `stacks.descent`."""

    def gate_problem(self, family: Any, machine: Machine, given: Solution | None) -> Any:
        """What a descent minimises that is not nested: in weight vectors, biases and gating parameters."""
        raise TypeError(f"{type(self).__name__} solves the machine at each step")

    def projection_problem(self, family: Any, machine: Machine, start: Any) -> Any:
        """The same with projections."""
        raise TypeError(f"{type(self).__name__} solves the machine at each step")

    # New samples, and what is kept

    @abstractmethod
    def restrict(self, rows: np.ndarray, active: np.ndarray | None = None) -> Any:
        """What prediction needs where only these training samples, and these kernels, count."""

    @abstractmethod
    def presence(self, views: Views, active: np.ndarray | None = None) -> np.ndarray:
        """Which samples have a row in which kernel, of shape (n_samples, n_kernels)."""


def missing_factor(
    names: list[str], eta: np.ndarray, present: np.ndarray, views: Views | None, missing: str, owner: str
) -> np.ndarray:
    """(sum_m eta_m / sum_{m present} eta_m)^(1/2) of each sample, given which views it has; 1 where it has none.

    Messages name samples by `views`, which is None where those that cannot be used are known; `missing` and `owner` are
    those of `TrainingStack.scaling`.
    """
    if missing == "never":
        if views is not None:
            check_every_view(owner, names, present | (eta == 0), views)
        return np.ones(len(present))
    used = eta > 0
    if used.any() and present[:, used].all():
        return np.ones(len(present))
    weight = present @ eta
    without = weight <= 0
    if without.any() and views is not None:
        without_views(views.first(without), names, eta, missing)
    return np.sqrt(np.divide(eta.sum(), weight, out=np.ones(len(weight)), where=~without))


def without_views(sample: str, names: list[str], eta: np.ndarray, missing: str) -> None:
    used = ", ".join(name for name, weight in zip(names, eta, strict=True) if weight > 0)
    problem = f"{sample} has none of the views whose kernels have a weight ({used})"
    if missing == "refuse":
        raise ValueError(f"{problem}; remove such samples or give another kernel a weight")
    warn(f"{problem}; its prediction is the bias alone. LpMKL gives every kernel a weight")


def check_every_view(owner: str, names: list[str], present: np.ndarray, views: Any) -> None:
    incomplete = ~present.all(axis=1)
    if incomplete.any():
        m = np.flatnonzero(~present[incomplete][0])[0]
        raise ValueError(
            f"{owner} needs every view of every sample, but {views.first(incomplete)} lacks the view of the kernel "
            f"{names[m]!r}; Mean and FixedWeights work with missing views"
        )
