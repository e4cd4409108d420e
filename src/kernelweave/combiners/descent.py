"""Kernel families, and the descent that finds their parameters theta.

    minimise over theta   J(theta) + penalty(theta),      J(theta) = max_C l(C) - 1/2 sum_r c_r' K_theta c_r

A family has the combined kernels K_theta of all theta over the same training samples. J(theta) is a solved machine, and
by Danskin's theorem its gradient is the contraction -1/2 sum_r c_r' (dK/dtheta) c_r at the solution (thesis (3.8) and
section 3.3, for any machine). So a family supplies the kernel at theta (`at`), that contraction (`pullback`), where to
start (`start`) and, if it has them, a penalty and a domain of theta.

=========  ==========================================
thesis     here
=========  ==========================================
eta, V     theta, always one vector
J          `Solution.objective`
Upsilon    C C', the coefficients' outer product
=========  ==========================================
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn
from ..kernels import Kernel
from ..machines import Machine, Solution
from ..machines.independent import in_threads
from ..solvers import Domain, Space
from ..stacks import FitControl, TrainingStack, training
from ..stacks.descent import OPTIMIZERS, DescentRun, Loop, Start, Watch
from ..validation import Choice, Constraints, Whole, check_parameters
from .base import Combiner, with_targets
from .combined import CombinedKernel

Learner = Callable[["KernelFamily", Machine], DescentRun]


class KernelFamily(ABC):
    """Combined kernels K_theta over the same training samples, with the gradient of J by theta.

    Parameters
    ----------
    stack : TrainingStack
        The base kernels over the training samples.

    Attributes
    ----------
    precision : float
        Relative duality gap of a solve within the descent, in units of the progress that ends it.
    """

    precision = 0.1

    def __init__(self, stack: TrainingStack):
        self.stack = stack

    @property
    def is_settled(self) -> bool:
        """Whether theta stays where it starts; by default it does not."""
        return False

    @abstractmethod
    def at(self, theta: np.ndarray) -> CombinedKernel:
        """The combined kernel K_theta."""

    @abstractmethod
    def pullback(self, kernel: CombinedKernel, coef: np.ndarray) -> np.ndarray:
        """The gradient -1/2 sum_r c_r' (dK_theta / dtheta) c_r, of shape (n_parameters,).

        Parameters
        ----------
        kernel : CombinedKernel
            What `at` returned for theta.
        coef : ndarray of shape (n_samples, n_outputs)
            Only rows of samples with coefficients count, see `support_rows`.
        """

    def gradient(self, kernel: CombinedKernel, solution: Solution) -> np.ndarray:
        """`pullback` of a machine's solution under the kernel; for families that find more in it than coefficients."""
        return self.pullback(kernel, solution.coef)

    @abstractmethod
    def start(self, machine: Machine, rng: np.random.RandomState) -> np.ndarray:
        """A first theta, of shape (n_parameters,)."""

    def starts(self, machine: Machine, rng: np.random.RandomState, n_init: int, learner: Learner) -> list[Start]:
        """Where each of `n_init` descents begins; what must be fixed before them is fixed here.

        Parameters
        ----------
        machine, rng
            As in `start`, which gives each theta by default.
        n_init : int
        learner : callable
            ``learner(family, machine)`` minimises over some of the samples, see `DescentRun`.
        """
        seeds = rng.randint(np.iinfo(np.int32).max, size=n_init)
        return [self.first(machine, np.random.RandomState(seed)) for seed in seeds]

    def first(self, machine: Machine, rng: np.random.RandomState) -> Start:
        """One start."""
        return Start(with_targets(self.start, self.stack, machine, rng))

    def penalty(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """What is added to J, and its gradient; nothing by default."""
        return 0.0, np.zeros_like(theta)

    def domain(self) -> Domain:
        """Where theta may be; everywhere by default."""
        return Space()

    def blocks(self) -> list[tuple[slice, Domain]] | None:
        """Parts of theta, and their domains, that Armijo descent moves in turn; None (the default) is all at once."""
        return None

    def watch(self, machine: Machine, rng: np.random.RandomState) -> Watch | None:
        """Samples to hold out and watch for early stopping; None (the default) learns from all."""
        return None

    def finish(self, theta: np.ndarray) -> CombinedKernel:
        """The kernel that the machine is solved under at last, such as K_theta with what is almost 0 set to 0."""
        return self.at(theta)


def support_rows(coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = np.flatnonzero(coef.any(axis=1))
    return rows, np.ascontiguousarray(coef[rows])


class DescentCombiner(Combiner):
    """A combiner whose parameters minimise the machine's optimum J(theta) plus a penalty, by gradients.

    Subclasses implement `family`, and `remember` if they have fitted attributes. Those that offer the parameters below
    to their users set them in ``__init__``; the others work with these values.

    Parameters
    ----------
    optimizer : {"lbfgs", "armijo"}
        Limited-memory BFGS, or the papers' gradient descent with Armijo's rule, block after block if theta has
        `blocks`.
    max_iter : int
        Most outer iterations; reaching it is a `ConvergenceWarning`. They end earlier once the relative progress
        of one is below the estimator's `tol`.
    n_init : int
        Number of starts, of which the one with the smallest objective wins.
    n_jobs : int or None
        Threads among which the starts are divided; the result does not depend on it.

    Notes
    -----
    The machine's last solve meets the estimator's `tol` as that of a plain machine does. Memory of the loop itself: one
    n x n matrix for each thread, and what the machine takes.
    """

    _constraints = Constraints(
        optimizer=Choice(*OPTIMIZERS), max_iter=Whole(1), n_init=Whole(1), n_jobs=Whole(but_not=0) | None
    )
    optimizer = "lbfgs"
    max_iter = 200
    n_init = 1
    n_jobs: int | None = None

    @abstractmethod
    def family(self, stack: TrainingStack, machine: Machine, control: FitControl) -> KernelFamily:
        """Check the parameters, and return the kernels to choose from; parameters are those of `fit`."""

    def needs(self, kernels: Sequence[tuple[str, Kernel]] = ()) -> dict[str, str]:
        """The machine is solved at each step by default."""
        return {
            **super().needs(kernels),
            "nested": f"{type(self).__name__} solves the machine on whole kernels at every step",
        }

    def remember(self, family: KernelFamily, kernel: CombinedKernel) -> None:
        """Set the combiner's fitted attributes; none by default."""

    def learn(self, stack: TrainingStack, machine: Machine, control: FitControl) -> CombinedKernel:
        begin = time.perf_counter()
        check_parameters(self)
        family = with_targets(self.family, stack, stack, machine, control)
        finished = itertools.count(1)  # counting is atomic, so that threads can share it
        total = self.n_init * self.max_iter
        loop = Loop(self.optimizer, self.max_iter, control, begin, lambda: control.report(next(finished), total))
        earlier: list[DescentRun] = []

        def learner(part: KernelFamily, its_machine: Machine) -> DescentRun:
            earlier.append(training(part.stack).descent(part, its_machine, None, loop))
            return earlier[-1]

        starts = family.starts(machine, control.rng, self.n_init, learner)
        watch = family.watch(machine, control.rng)
        runs = [training(family.stack).descent(family, machine, watch, loop) for _ in starts]
        runs[0].count += sum(run.total for run in earlier)
        ends = in_threads(lambda k: runs[k].descend(starts[k]), range(len(starts)), self.n_jobs)
        chosen = min(range(len(starts)), key=lambda k: (runs[k].risk, ends[k].objective))
        end, window = ends[chosen], runs[chosen].window
        if end.status == "max_iterations":
            warn(
                f"{type(self).__name__} stopped after {end.steps} outer iterations with a relative progress of "
                f"{end.progress:.2g} in the last {window if window > 1 else 'one'} (tol is {control.tol:g}); raise the "
                "combiner's max_iter, or tol",
                ConvergenceWarning,
            )
        kernel = runs[chosen].close(end)
        self.remember(family, kernel)
        return kernel
