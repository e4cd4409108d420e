"""The protocol of a kernel family: the combined kernels K_theta of all theta, over the same training samples.

    minimise over theta   J(theta) + penalty(theta),      J(theta) = max_C l(C) - 1/2 sum_r c_r' K_theta c_r

J(theta) is a solved machine, and by Danskin's theorem its gradient is the contraction -1/2 sum_r c_r' (dK/dtheta) c_r
at the solution (thesis (3.8) and section 3.3, for any machine). So a family supplies the kernel at theta (`at`), that
contraction (`pullback`), where to start (`start`) and, if it has them, a penalty and a domain of theta. The descent
(`DescentCombiner`, `stacks.descent`) uses nothing else: it serves weights, gates and projections alike.

=========  ==========================================
thesis     here
=========  ==========================================
eta, V     theta, always one vector
J          `Solution.objective`
Upsilon    C C', the coefficients' outer product
=========  ==========================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ...machines import Machine, Solution
from ...solvers import Domain, Space
from ...stacks import TrainingStack
from ...stacks.descent import DescentRun, Start, Watch
from ..base import takes_targets, warn_of_targets
from ..combined import CombinedKernel

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
        """K_theta."""

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
        start: Any = self.start
        if not takes_targets(start):
            return Start(start(machine, rng))
        warn_of_targets(start)
        return Start(start(machine, getattr(self.stack, "targets", None), rng))

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
    """Positions of the samples with coefficients, and those coefficients."""
    rows = np.flatnonzero(coef.any(axis=1))
    return rows, np.ascontiguousarray(coef[rows])
