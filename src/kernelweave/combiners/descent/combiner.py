"""`DescentCombiner`: the one outer loop of combiners that learn their parameters theta by gradients.

A subclass defines a `KernelFamily`; the loop minimises J(theta) + penalty(theta) over it from each start, takes the
best end, and solves the machine there.
"""

from __future__ import annotations

import itertools
import time
from abc import abstractmethod
from collections.abc import Sequence

from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...kernels import Kernel
from ...machines import Machine
from ...machines.independent import in_threads
from ...solvers import Descent
from ...stacks import FitControl, TrainingStack, training
from ...stacks.descent import OPTIMIZERS, DescentRun, Loop
from ...validation import Choice, Constraints, Whole, check_parameters
from ..base import Combiner, with_targets
from ..combined import CombinedKernel
from .family import KernelFamily


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
        """Minimise from each start, then solve the machine under the best theta."""
        begin = time.perf_counter()
        check_parameters(self)
        family = with_targets(self.family, stack, machine, control)
        finished = itertools.count(1)  # counting is atomic, so that threads can share it
        loop = Loop(
            self.optimizer,
            self.max_iter,
            control,
            begin,
            lambda: control.report(next(finished), self.n_init * self.max_iter),
        )
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
        self._warn_unless_converged(ends[chosen], runs[chosen].window, control.tol)
        kernel = runs[chosen].close(ends[chosen])
        self.remember(family, kernel)
        return kernel

    def _warn_unless_converged(self, end: Descent, window: int, tol: float) -> None:
        if end.status == "max_iterations":
            warn(
                f"{type(self).__name__} stopped after {end.steps} outer iterations with a relative progress of "
                f"{end.progress:.2g} in the last {window if window > 1 else 'one'} (tol is {tol:g}); raise the "
                "combiner's max_iter, or tol",
                ConvergenceWarning,
            )
