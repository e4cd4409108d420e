"""The protocol of a machine: targets and a cost for each sample, and a dual that is solved on any kernel.

A machine of n samples and q outputs minimises, over weight vectors w_r and biases b_r (r = 1 .. q),

    P = 1/2 sum_r ||w_r||^2 + loss(f) + total sum_r b_r,       f[i, r] = <w_r, phi(x_i)> + b_r

where ``loss`` is convex and contains the costs C_i. With w_r = sum_i C[i, r] phi(x_i), raw values are f = K C + b, and
the dual over the signed coefficients C = [c_1 .. c_q] is

    D = -conjugate(C) - 1/2 sum_r c_r' K c_r       with  sum_i C[i, r] = total  for each r.

``conjugate(C)`` is the convex conjugate of ``loss`` at -C, which is  max_f -<C, f> - loss(f).  P >= D always (Fenchel
and Young), and at the optimum P = D = J and C = -slope(f). ``total`` is 0 except for the one-class machine, where it is
1. Since dJ/dtheta = -1/2 sum_r c_r' (dK/dtheta) c_r  (Danskin), a caller that learns the kernel needs no more than a
`Solution`.

Dual solvers and descent on explicit features read the loss from `terms`, which state it once for each sample and
output; `loss`, `slope` and `conjugate` follow from them.

C is `Solution.coef`, b `Solution.intercept`, J `Solution.objective`, and C_i the `bound` of a sample.

The terms of a dual are, for each sample and output, with z_i = p_i - f_i,

    loss_i(f_i) = max_v  z_i v - e |v| - h_i/2 v^2      over   lower_i <= v <= upper_i,

so that the slope of the loss is -v at the maximiser, and its conjugate at -c is  -p_i c_i + e |c_i| + h_i/2 c_i^2
within the bounds and infinite outside.

========================  ==================  ===========  ==============  ====  =========
loss                      p                   bounds       e               h     total
========================  ==================  ===========  ==============  ====  =========
hinge                     y                   [0, C] y     0               0     0
squared hinge             y                   [0, inf) y   0               1/C   0
epsilon-insensitive       y                   [-C, C]      epsilon         0     0
its square                y                   (-inf, inf)  epsilon         1/C   0
one-class                 0                   [0, C]       0               0     1
squared error             y                   (-inf, inf)  0               1/C   0
========================  ==================  ===========  ==============  ====  =========
"""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeGuard, cast

import numpy as np

from ..arrays import HOST, place_of
from ..solvers import DualProgram, Result, responses, solve_box_qp, solve_ridged_qp
from ..solvers.box_qp import KernelBlocks, solve_in_working_set
from ..solvers.in_parts import KernelInParts, ManyColumns, RidgedInParts, is_in_parts, solve_in_parts
from ..solvers.newton_in_parts import solve_newton_in_parts
from ..solvers.sums import Images

TERMS = ("linear", "lower", "upper", "quadratic")

MOST_VALUES = 0.35  # of a matrix, whose symmetric half is made otherwise: where a solve on few rows ends
BEYOND = 1e-9  # of the largest coefficient: what rounding may leave outside of the bounds


@dataclass(frozen=True)
class DualTerms:
    """What the dual ``max p'c - e |c|_1 - 1/2 c'Hc - 1/2 c'Kc`` has besides the kernel.

    Attributes
    ----------
    linear : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        p: the targets.
    lower, upper : ndarray of the same shape
        Bounds of the coefficients; infinite ones only where quadratic is positive.
    quadratic : ndarray of the same shape or float, default=0
        h: zero for losses with a kink, positive for smooth ones. All zero, or all positive.
    insensitivity : float, default=0
        e: half the width of the tube in which errors are free.
    total : float, default=0
        Required sum of the coefficients: what a bias costs.

    Examples
    --------
    >>> import numpy as np
    >>> hinge = DualTerms(np.array([1.0, -1.0]), np.array([0.0, -2.0]), np.array([2.0, 0.0]))
    >>> hinge.loss(np.array([0.5, 3.0]))
    array([1., 8.])
    >>> hinge.slope(np.array([0.5, 3.0]))
    array([-2.,  2.])
    """

    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    quadratic: Any = 0.0
    insensitivity: float = 0.0
    total: float = 0.0

    def __post_init__(self):
        if isinstance(self.linear, np.ndarray):
            quadratic = np.broadcast_to(np.asarray(self.quadratic, dtype=np.float64), np.shape(self.linear))
            object.__setattr__(self, "quadratic", quadratic)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return 1 if self.linear.ndim == 1 else self.linear.shape[1]

    @property
    def is_smooth(self) -> bool:
        """Whether the loss has a slope everywhere: all quadratic terms are positive."""
        return bool((self.quadratic > 0.0).all())

    @property
    def is_bounded(self) -> bool:
        """Whether all coefficients have finite bounds, so that the dual is a box QP on the kernel plus a diagonal."""
        return bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())

    # Some of the samples and outputs

    def mapped(self, function: Callable[[Any], Any]) -> DualTerms:
        """The terms with a function of each of the four arrays in their place."""
        return self.with_terms({name: function(getattr(self, name)) for name in TERMS})

    def with_terms(self, found: dict[str, Any]) -> DualTerms:
        """The terms with other arrays."""
        return dataclasses.replace(self, **found)

    def of(self, rows: slice | np.ndarray) -> DualTerms:
        """Those of some of the samples."""
        return self.mapped(lambda term: term[rows, ...])

    def column(self, output: int) -> DualTerms:
        """Those of one output."""
        return self.mapped(lambda term: term[:, output : output + 1])

    def followed_by(self, others: list[DualTerms]) -> DualTerms:
        """Those of several sets of samples, one after the other."""
        joined = {name: np.concatenate([getattr(each, name) for each in (self, *others)]) for name in TERMS}
        return self.with_terms(joined)

    def without(self, rows: np.ndarray) -> DualTerms:
        """The same for samples of which some (a boolean array) have no loss."""
        left_out = rows if self.linear.ndim == 1 else rows[:, None]
        lower, upper = (np.where(left_out, 0.0, end) for end in (self.lower, self.upper))
        return dataclasses.replace(self, lower=lower, upper=upper)

    # The loss

    def loss(self, values: Any) -> Any:
        """What the values f cost each sample."""
        z = self.linear - values
        return self.worth(self.response(z), z)

    def slope(self, values: Any) -> Any:
        """The derivative of `loss` by f; at a kink, the slope of the flatter side."""
        return -self.coefficients(values)

    def coefficients(self, values: Any) -> Any:
        """c of each sample at the values f: minus the slope."""
        return self.response(self.linear - values)

    def respond(self, values: Any) -> tuple[Any, Any]:
        """The sum of the losses for each output, in float64, and c of each sample."""
        xp, z = place_of(values).xp, self.linear - values
        c = self.response(z)
        return xp.sum(self.worth(c, z), axis=0, dtype=xp.float64), c

    def curvature(self, values: Any) -> Any:
        """Second derivatives of a smooth loss: 1/h for coefficients inside the bounds."""
        xp = place_of(values).xp
        inside = self.curves(self.coefficients(values))
        return xp.where(inside, 1.0 / self.quadratic, xp.zeros_like(self.quadratic))

    def curves(self, c: Any) -> Any:
        """Whether the loss of a sample with coefficient c has a second derivative that is not 0."""
        inside = (c > self.lower) & (c < self.upper)
        return inside & (c != 0.0) if self.insensitivity else inside

    def conjugate(self, coef: np.ndarray) -> np.ndarray:
        """The conjugate of each sample's loss at -coef: ``max_f -coef f - loss(f)``."""
        slack = BEYOND * np.abs(coef).max(initial=0.0)
        inside = (coef >= self.lower - slack) & (coef <= self.upper + slack)
        return np.where(inside, -self.worth(coef, self.linear), np.inf)

    def response(self, z: Any) -> Any:
        """v of each sample, at z = p - f."""
        if isinstance(z, np.ndarray) and z.size and self.quadratic.flat[0] == 0.0:
            return responses(z, self.lower, self.upper, self.quadratic, self.insensitivity)
        xp, e = HOST.xp if isinstance(z, np.ndarray) else place_of(z).xp, self.insensitivity
        free = xp.sign(z) * xp.clip(xp.abs(z) - e, min=0.0) if e else z
        return xp.minimum(xp.maximum(free / self.quadratic, self.lower), self.upper)

    def worth(self, v: Any, z: Any) -> Any:
        """``z v - e |v| - h v^2 / 2``, of which the loss is the largest value."""
        worth = z * v - 0.5 * self.quadratic * v**2
        return worth - self.insensitivity * abs(v) if self.insensitivity else worth


@dataclass(frozen=True)
class Solution:
    """A solved machine.

    Attributes
    ----------
    coef : ndarray of shape (n_samples, n_outputs)
        Signed dual coefficients C.
    intercept : ndarray of shape (n_outputs,)
        Biases b; raw values of samples with kernel rows `k` are ``k @ coef + intercept``.
    objective : float
        J, summed over outputs.
    gap : float
        Duality gap, summed over outputs: the optimum is at most ``objective + gap``.
    violation : float
        Largest KKT violation of any output.
    steps : int
        Pair updates, summed over outputs.
    converged : bool
        Whether every output reached the tolerance.
    outputs : tuple of Solution
        The solutions of independent outputs, each on its own samples, where there are several.
    rounds : int
        Working sets, summed over outputs, where the machine was solved in parts.
    image : image or None
        What a kernel in parts keeps of its product with the coefficients, where there is one output; a tuple, an image
        for each, where several outputs are solved together.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.machines import BinaryMachine
    >>> solution = BinaryMachine(np.array([1.0, -1.0]), bound=10.0).solve(np.eye(2))
    >>> solution.coef.shape, solution.converged
    ((2, 1), True)
    """

    coef: np.ndarray
    intercept: np.ndarray
    objective: float
    gap: float
    violation: float
    steps: int
    converged: bool
    outputs: tuple[Solution, ...] = field(default=(), repr=False, kw_only=True)
    rounds: int = field(default=0, kw_only=True)
    image: Any = field(default=None, repr=False, kw_only=True)

    @property
    def images(self) -> list[Any]:
        """The image of each column; None for those without one."""
        if self.outputs:
            return [part.image for part in self.outputs]
        return list(self.image) if isinstance(self.image, tuple) else [self.image] * self.coef.shape[1]


def join(parts: list[Solution], coef: np.ndarray) -> Solution:
    """Independent columns as one solution: J, gaps and steps add up, the worst violation counts."""
    return Solution(
        coef=coef,
        intercept=np.concatenate([part.intercept for part in parts]),
        objective=sum(part.objective for part in parts),
        gap=sum(part.gap for part in parts),
        violation=max(part.violation for part in parts),
        steps=sum(part.steps for part in parts),
        converged=all(part.converged for part in parts),
        rounds=sum(part.rounds for part in parts),
        outputs=tuple(parts),
    )


class KernelInBlocks(Protocol):
    """A kernel with explicit features over blocks of samples, which have the targets: machines are solved by descent.

    Coefficients of a `Solution` are then weight vectors of the features, of shape (n_features, n_outputs).
    """

    n_features: int

    def solve(self, machine: Machine, start: Any, tol: float, gap_tol: float | None, max_steps: int | None) -> Solution:
        """Minimise the machine's loss over weight vectors and biases; parameters are those of `Machine.solve`."""

    def refine(self, machine: Machine, solution: Solution, tol: float, max_steps: int | None) -> Solution:
        """Bring a solution on this kernel to a relative duality gap of `tol`."""


Operand = np.ndarray | KernelInParts | KernelInBlocks


def is_in_blocks(K: Any) -> TypeGuard[KernelInBlocks]:
    return not isinstance(K, np.ndarray) and hasattr(K, "n_features") and hasattr(K, "refine")


class Machine(ABC):
    """Targets and costs of a kernel machine, ready to be solved on any Gram matrix of its samples.

    The docstring of this module defines the protocol. A subclass supplies the abstract methods; a machine with one
    output is more easily written as a `losses.Loss`.

    Attributes
    ----------
    n_samples : int
        Number of samples n.
    n_outputs : int
        Number of columns q of the coefficients.
    bound : ndarray of shape (n_samples,)
        Cost C_i of each sample.
    strata : ndarray of shape (n_samples,) or None
        Labels by which to stratify splits of the samples, where there are any.
    total : float
        Required sum of each column of the coefficients: what a bias costs in the primal.
    n_jobs : int or None
        Threads on which independent outputs are solved.
    detects_novelty : bool
        Whether the machine has no targets and separates the samples from the origin.
    n_classes : int
        Number of classes; 0 where targets are no labels.
    is_separable : bool
        Whether the loss is a sum over samples, so that the slope of a sample depends on its own scores only.
    dealt_by : ndarray of shape (n_samples,) or None
        Labels of samples that folds share evenly: `strata` by default.
    importance : ndarray of shape (n_samples,)
        By which the `losses` of held-out samples are averaged: `bound` by default.
    is_smooth : bool
        Whether the loss has a slope everywhere, which descent on explicit features takes.
    has_box_dual : bool
        Whether the dual is one box QP, whose arguments for `solvers.solve_box_qp` the method `problem` returns.
    takes_parts : bool
        Whether the machine is solved on a kernel in parts, of which the whole Gram matrix is never made.
    start : ndarray of shape (n_samples, n_outputs) or None
        Where `solve` begins if it is given no start; set by `starting_at`.
    decides_with : tuple of str
        The attributes that `decision` reads; all that `without_samples` keeps.
    """

    n_samples: int
    bound: np.ndarray
    strata: np.ndarray | None
    total: float = 0.0
    n_jobs: int | None = None
    detects_novelty: bool = False
    n_classes: int = 0
    is_separable: bool = True
    start: np.ndarray | None = None
    decides_with: tuple[str, ...] = ()

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of columns of the coefficients: a property, or an attribute that the class declares."""

    @property
    def has_box_dual(self) -> bool:
        """Whether the dual is one box QP; False by default."""
        return False

    @property
    def takes_parts(self) -> bool:
        """Whether `solve` takes a kernel in parts; by default, whether the loss is smooth."""
        return self.is_unbounded

    @property
    def is_unbounded(self) -> bool:
        """Whether the loss is smooth and coefficients have no bounds: Newton's method solves it on kernels in parts."""
        return self.is_smooth and not self._terms().is_bounded

    @property
    def dealt_by(self) -> np.ndarray | None:
        """Labels of samples that folds share evenly, where there are any."""
        return self.strata

    @property
    def importance(self) -> np.ndarray:
        """By what the `losses` of held-out samples are averaged, of shape (n_samples,)."""
        return self.bound

    @property
    def n_solves(self) -> int:
        """How many solves `solve` takes on a kernel in parts, one after the other: one for each output by default."""
        return self.n_outputs

    @property
    def terms(self) -> DualTerms | None:
        """The loss of each sample and output by the terms of its dual; None where it has no such form."""
        return None

    @property
    def is_smooth(self) -> bool:
        """Whether the loss has `terms`, and these have a slope everywhere."""
        return self.terms is not None and self.terms.is_smooth

    def solve(
        self,
        K: Operand,
        start: np.ndarray | Solution | None = None,
        tol: float = 1e-3,
        gap_tol: float | None = None,
        max_steps: int | None = None,
    ) -> Solution:
        """Solve the machine on a kernel of its samples: the dual on a Gram matrix or in parts, the primal in blocks.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples), KernelInParts or KernelInBlocks
            Symmetric positive semidefinite, float64 or float32; read only. Kernels in parts where `takes_parts`, those
            in blocks where `is_smooth`: the blocks have the targets then, and those of this machine are not read.
        start : ndarray of shape (n_samples, n_outputs) or Solution, optional
            Coefficients to start from, usually the solution on a nearby kernel; `self.start` by default.
        tol : float, default=1e-3
            Largest KKT violation, as in libsvm; the duality gap is then at most ``10 * tol * max(1, |J|)``. On kernels
            in parts, for smooth losses without bounds, the largest relative gap instead.
        gap_tol : float, optional
            If given, solve until ``gap <= gap_tol * max(1, |J|)`` instead (for each output).
        max_steps : int, optional
            Most pair updates for each output.
        """
        if is_in_blocks(K):
            return K.solve(self, start, tol, gap_tol, max_steps)
        if is_in_parts(K) and self.is_unbounded:
            return self._solve_newton(cast(ManyColumns, K), start, tol if gap_tol is None else gap_tol, max_steps)
        return self.solve_dual(cast(Any, K), start, tol, gap_tol, max_steps)

    def _solve_newton(
        self, K: ManyColumns, start: np.ndarray | Solution | None, gap_tol: float, max_steps: int | None
    ) -> Solution:
        """All outputs at once on a kernel in parts; each of them is a solution of its own, with its image."""
        if K.n_samples != self.n_samples:
            raise ValueError(f"K must have {self.n_samples} samples, got {K.n_samples}")
        first = self.first(start)
        images = K.joined(start.images) if first is not None and isinstance(start, Solution) else None
        found = solve_newton_in_parts(K, self._terms(), first, images, gap_tol=gap_tol, max_steps=max_steps)
        parts = []
        for output, (rows, _) in enumerate(self.outputs()):
            some = None if len(rows) == self.n_samples else rows
            parts.append(
                Solution(
                    coef=found.coef[rows, output : output + 1],
                    intercept=found.intercept[output : output + 1],
                    objective=float(found.objectives[output]),
                    gap=float(found.gaps[output]),
                    violation=float(found.violations[output]),
                    steps=found.steps,
                    converged=bool(found.converged[output]),
                    image=K.column(found.images, output, some),
                )
            )
        return parts[0] if self.n_outputs == 1 else dataclasses.replace(join(parts, found.coef), steps=found.steps)

    def solve_dual(
        self,
        K: np.ndarray | KernelInParts,
        start: np.ndarray | Solution | None,
        tol: float,
        gap_tol: float | None,
        max_steps: int | None,
    ) -> Solution:
        """`solve` on a Gram matrix or a kernel in parts, which a subclass implements."""
        raise TypeError(f"{type(self).__name__} needs a method solve_dual, or solve")

    def refine(self, K: Operand, solution: Solution, tol: float, max_steps: int | None = None) -> Solution:
        """Bring a solution on this very K to a KKT violation of `tol`; outputs that are there already are kept.

        One that did not reach the gap that was asked for may have all that `tol` asks for, which a solve sees at once.
        In blocks `tol` is a relative duality gap.
        """
        if is_in_blocks(K):
            return K.refine(self, solution, tol, max_steps)
        if is_in_parts(K) and self.is_unbounded:
            sizes = [(part.gap, part.objective) for part in solution.outputs or (solution,)]
            is_there = all(gap <= tol * max(1.0, abs(objective)) for gap, objective in sizes)
        else:
            is_there = solution.converged and solution.violation <= tol
        return solution if is_there else self.solve(K, solution, tol=tol, max_steps=max_steps)

    def least_objective(self, K: Operand) -> float:
        """What J counts as at least where a gap is relative to it: 0, unless J is 0 for coefficients that are not."""
        return 0.0

    def solve_in_working_set(
        self, kernel: KernelBlocks, start: Solution, gap_tol: float, max_steps: int | None = None
    ) -> Solution | None:
        """Solve on blocks of a kernel, from a nearby solution; parameters are those of `solve`.

        None where this machine has no such way (the default), or it would take too many samples.
        """
        return None

    def solve_on_few_rows(self, kernel: Callable[[], Any], tol: float) -> Solution | None:
        """Solve on a kernel in parts, which a function makes, if few values do; else a start for `solve`, or None."""
        return None

    def matrix(self, K: np.ndarray | KernelInParts) -> np.ndarray:
        """Return the Gram matrix K as an array; a `ValueError` for a kernel in parts, or one of another shape."""
        n = self.n_samples
        if is_in_parts(K):
            raise ValueError(
                f"a {self.kind} is solved on the whole Gram matrix ({n:,} x {n:,} samples, {8e-9 * n * n:.2g} GB) and "
                "not on a kernel in parts: use storage='dense', or a machine that takes parts (hinge, "
                "epsilon-insensitive or one-class, also one-vs-one, one-vs-all and joint)"
            )
        K = np.asarray(K)
        if K.shape != (n, n):
            raise ValueError(f"K must be of shape ({n}, {n}), got {K.shape}")
        return K

    @property
    def kind(self) -> str:
        """What the machine is called in messages: the name of its class."""
        return type(self).__name__

    def starting_at(self, coef: np.ndarray) -> Machine:
        """Return the same machine whose solves, given no start, begin at these coefficients if their shape is right."""
        if np.shape(coef) != (self.n_samples, self.n_outputs):
            return self
        machine = copy.copy(self)
        machine.start = coef
        return machine

    def first(self, start: np.ndarray | Solution | None) -> np.ndarray | None:
        """Return the coefficients at which a solve begins, of shape (n_samples, n_outputs); None for a cold start."""
        start = self.start if start is None else start
        if start is None:
            return None
        return columns(start.coef if isinstance(start, Solution) else start, self.n_outputs, self.n_samples)

    def loss(self, values: np.ndarray) -> float:
        """Return what raw values of shape (n_samples, n_outputs) cost, costs C_i included, summed over samples.

        Of a loss that is not separable, by how much that is more than values of 0 cost.
        """
        return float(self._terms().loss(columns(values, self.n_outputs, self.n_samples)).sum())

    def slope(self, values: np.ndarray) -> np.ndarray:
        """Return the derivative of `loss` by raw values, of shape (n_samples, n_outputs); a subgradient at kinks."""
        return self._terms().slope(columns(values, self.n_outputs, self.n_samples))

    def conjugate(self, coef: np.ndarray) -> float:
        """Return the convex conjugate of `loss` at ``-coef``; infinite where no coefficients may be."""
        return float(self._terms().conjugate(columns(coef, self.n_outputs, self.n_samples)).sum())

    def _terms(self) -> DualTerms:
        if self.terms is None:
            raise TypeError(f"{type(self).__name__} has no terms: it needs methods loss, slope and conjugate")
        return self.terms

    @abstractmethod
    def programs(self) -> list[DualProgram]:
        """The dual written out, one program for each independent part."""

    def curvature(self, K: Any, solution: Solution, images: Images) -> np.ndarray:
        """Second derivatives of J by weights of kernels, (P, P), where the loss is not separable; others have programs.

        K is a matrix or in parts, and the images are products of the kernels with C.
        """
        raise TypeError(f"{type(self).__name__} needs a method curvature")

    def outputs(self) -> list[tuple[np.ndarray, Machine]]:
        """Independent machines, one for each column of C, each with the positions of its samples."""
        if self.n_outputs == 1:
            return [(np.arange(self.n_samples), self)]
        raise ValueError(f"the outputs of a {type(self).__name__} are solved together and cannot be taken apart")

    def two_class_problems(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Samples and labels +1 and -1 of each two-class problem: by default, each class against the others.

        Two classes are one problem; a machine without classes has none.
        """
        if self.strata is None:
            return []
        everybody = np.arange(self.n_samples)
        classes, codes = np.unique(self.strata, return_inverse=True)
        chosen = [1] if len(classes) == 2 else range(len(classes))
        return [(everybody, np.where(codes == k, 1.0, -1.0)) for k in chosen]

    @abstractmethod
    def subset(self, index: np.ndarray) -> Machine:
        """Return the same machine on the chosen samples (integer positions or a boolean mask)."""

    @abstractmethod
    def decision(self, values: np.ndarray) -> np.ndarray:
        """Public decision values from raw values ``K C + b`` of shape (n, n_outputs)."""

    def without_samples(self) -> Machine:
        """What a fitted model keeps of the machine: it offers `decision`, but cannot be solved."""
        rule = object.__new__(type(self))
        rule.__dict__.update((name, getattr(self, name)) for name in self.decides_with)
        return rule

    @abstractmethod
    def losses(self, values: np.ndarray) -> np.ndarray:
        """What raw values of shape (n_samples, n_outputs) cost each sample: 1 for a wrong class, or a squared error."""

    def risk(self, values: np.ndarray) -> float:
        """How far raw values are from this machine's own targets: the mean loss, by default."""
        return float(np.mean(self.losses(values)))


class PlainMachine(Machine):
    """A machine with one output whose dual is a box QP, with or without a diagonal; a subclass supplies `problem`."""

    n_outputs = 1
    unit = 1.0  # of the KKT violation: slopes of the objective are compared with `tol * unit`
    by_pairs: bool = False  # whether a diagonal is added to K for the time of the solve, which is that of a box QP then

    @abstractmethod
    def problem(self) -> dict:
        """Return the arguments of `solve_box_qp`; with ``quadratic``, those of `solve_ridged_qp`."""

    @property
    def has_box_dual(self) -> bool:
        return True

    @property
    def takes_parts(self) -> bool:
        """Whether coefficients have bounds, so that the dual is a box QP, or the loss is smooth."""
        return self.terms.is_bounded or self.is_smooth

    @cached_property
    def terms(self) -> DualTerms:
        found = self.problem()
        found.update({name: np.asarray(found[name], dtype=np.float64)[:, None] for name in TERMS if name in found})
        return DualTerms(**found)

    def solve_dual(
        self,
        K: np.ndarray | KernelInParts,
        start: np.ndarray | Solution | None,
        tol: float,
        gap_tol: float | None,
        max_steps: int | None,
    ) -> Solution:
        first = self.first(start)
        given: dict[str, Any] = {
            "start": None if first is None else first[:, 0],
            "tol": tol * self.unit,
            "gap_tol": gap_tol,
            "max_steps": max_steps,
        }
        if self.terms.is_bounded and is_in_parts(K):
            image, problem = start.image if isinstance(start, Solution) else None, self.problem()
            ridge = problem.pop("quadratic", None)
            kernel = K if ridge is None else RidgedInParts(K, ridge)
            return solution_of(solve_in_parts(kernel, **problem, image=image, **given), self.unit)
        K, problem = self.matrix(K), self.problem()
        if self.by_pairs:
            places = np.diag_indices_from(K)
            diagonal = K[places]
            K[places] += problem.pop("quadratic")
            try:
                return solution_of(solve_box_qp(K, **problem, **given), self.unit)
            finally:
                K[places] = diagonal
        solver = solve_box_qp if self.has_box_dual else solve_ridged_qp
        return solution_of(solver(K, **problem, **given), self.unit)

    def solve_in_working_set(
        self, kernel: KernelBlocks, start: Solution, gap_tol: float, max_steps: int | None = None
    ) -> Solution | None:
        """None for a smooth loss, under which few coefficients are zero, too."""
        if not self.has_box_dual:
            return None
        result = solve_in_working_set(
            kernel, **self.problem(), start=start.coef[:, 0], gap_tol=gap_tol, max_steps=max_steps
        )
        return None if result is None else solution_of(result, self.unit)

    def solve_on_few_rows(self, kernel: Callable[[], Any], tol: float) -> Solution | None:
        problem, first = self.problem(), self.first(None)
        if not self.has_box_dual or "quadratic" in problem or problem["total"] != 0.0:
            return None  # under a smooth loss few coefficients are zero
        K, start = kernel(), None if first is None else first[:, 0]
        if K is None:
            return None
        return solution_of(solve_in_parts(K, **problem, start=start, tol=tol * self.unit, most=MOST_VALUES), self.unit)

    def programs(self) -> list[DualProgram]:
        return [box_program(**self.problem(), sample=np.arange(self.n_samples))]

    def decision(self, values: np.ndarray) -> np.ndarray:
        return columns(values, 1)[:, 0]


def solution_of(result: Result, unit: float = 1.0) -> Solution:
    return Solution(
        coef=result.solution if result.solution.ndim == 2 else result.solution[:, None],
        intercept=np.atleast_1d(result.multiplier),
        objective=result.objective,
        gap=result.gap,
        violation=result.violation / unit,
        steps=result.steps,
        converged=result.converged,
        rounds=result.rounds,
        image=result.image,
    )


def box_program(
    linear: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    total: float,
    insensitivity: float,
    sample: np.ndarray,
    column: int | np.ndarray = 0,
    quadratic: np.ndarray | float = 0.0,
) -> DualProgram:
    """The box QP of `solve_box_qp` as a program of one column; an l1 term splits each variable in two."""
    here, none = np.broadcast_to(column, len(sample)), np.full(len(sample), -1)
    bend = np.zeros(len(sample)) + quadratic
    if insensitivity == 0.0:
        return DualProgram(linear, bend, lower, upper, sample, here, none, total)
    return DualProgram(
        linear=np.concatenate([linear - insensitivity, -linear - insensitivity]),
        quadratic=np.concatenate([bend, bend]),
        lower=np.zeros(2 * len(sample)),
        upper=np.concatenate([upper, -lower]),
        sample=np.concatenate([sample, sample]),
        plus=np.concatenate([here, none]),
        minus=np.concatenate([none, here]),
        total=total,
    )


def columns(values: np.ndarray, n_outputs: int, n_samples: int | None = None) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    if n_outputs == 1 and values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] != n_outputs or n_samples not in (None, len(values)):
        raise ValueError(f"expected an array of shape ({n_samples or 'n'}, {n_outputs}), got {values.shape}")
    return values


def wrong_sides(values: np.ndarray, y_signed: np.ndarray) -> np.ndarray:
    """1 for samples on the wrong side of zero (zero counts as -1)."""
    return (np.where(columns(values, 1, len(y_signed))[:, 0] > 0.0, 1.0, -1.0) != y_signed).astype(float)


def as_bound(bound: float | np.ndarray, n_samples: int) -> np.ndarray:
    bound = np.full(n_samples, bound, np.float64) if np.ndim(bound) == 0 else np.asarray(bound, dtype=np.float64)
    if bound.shape != (n_samples,):
        raise ValueError(f"bound must be one number or {n_samples}, got shape {bound.shape}")
    if not np.isfinite(bound).all() or (bound < 0).any():
        raise ValueError("bound (C times the sample weight) must be finite and not negative")
    return bound
