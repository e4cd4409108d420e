"""The one outer loop for combiners that learn their parameters theta by gradients.

    minimise over theta   J(theta) + penalty(theta),      J(theta) = max_C l(C) - 1/2 sum_r c_r' K_theta c_r

J(theta) is a solved machine, and by Danskin's theorem its gradient is the contraction -1/2 sum_r c_r' (dK/dtheta) c_r
at the solution (thesis (3.8) and section 3.3, for any machine). So a subclass of `LearnedCombiner` supplies the kernel,
that contraction (its *pullback*), where to start and, if it has them, a penalty and a domain of theta; the loop does
the rest, and knows nothing of weights, gates or projections.

Each evaluation restarts the machine from the last solution and solves it to a tenth of the progress that ends the loop.
(Rougher solves at first do not pay: after a restart they are hardly cheaper, and their gradients lengthen the loop.)
What training samples leave for prediction is the *state*: the stack itself, or an `AugmentedStack` where a combiner
needs more of each sample than its kernel values.

=========  ==========================================
thesis     here
=========  ==========================================
eta, V     theta, always one vector
J          `Solution.objective`
Upsilon    C C', the coefficients' outer product
=========  ==========================================
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._parameters import is_choice, is_count, shown
from ..._warnings import warn
from ...kernels import KernelStack
from ...machines import Machine, Solution
from ...machines.multiclass import in_threads
from ...solvers.descent.alternating import minimize_alternating
from ...solvers.descent.domains import Domain, Space
from ...solvers.descent.smooth import Descent, Point, minimize_armijo, minimize_lbfgs
from ...solvers.qp.working_set import LazyKernel
from ..base import Combination, Combiner
from .watching import PATIENCE, Watch

Learner = Callable[[Any, Machine], "Run"]
_OPTIMIZERS = {"lbfgs": minimize_lbfgs, "armijo": minimize_armijo}
_PRECISION = 0.1  # relative duality gap of a solve within the loop, in units of tol


class LearnedCombiner(Combiner):
    """A combiner whose parameters minimise the machine's optimum J(theta) plus a penalty, by gradients.

    Subclasses implement `start`, `gram`, `pullback` and what `Combiner` asks for prediction; `prepare`, `penalize`,
    `domain`, `blocks`, `watch` and `finish` have defaults. Those that offer the parameters below to their users set
    them in ``__init__``; the others work with these values.

    Parameters
    ----------
    optimizer : {"lbfgs", "armijo"}
        Limited-memory BFGS, or the papers' gradient descent with Armijo's rule, block after block where theta has
        `blocks`.
    max_iter : int
        Most outer iterations; reaching it is a `ConvergenceWarning`. They end earlier where the relative progress
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

    optimizer = "lbfgs"
    max_iter = 200
    n_init = 1
    n_jobs: int | None = None

    def prepare(self, stack: KernelStack, y: np.ndarray | None, rng: np.random.RandomState) -> Any:
        """The state that the other methods work on; offers `restrict`, `replace` and `lookups` as a stack does."""
        stack.matrices()
        return stack

    @abstractmethod
    def start(self, state: Any, machine: Machine, y: np.ndarray | None, rng: np.random.RandomState) -> np.ndarray:
        """A first theta, of shape (n_parameters,)."""

    @abstractmethod
    def gram(self, state: Any, theta: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """K_theta of the training samples, written to `out` where it is given."""

    @abstractmethod
    def pullback(self, state: Any, theta: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """The gradient -1/2 sum_r c_r' (dK_theta / dtheta) c_r for coefficients of shape (n_samples, n_outputs).

        Only rows of samples with coefficients count, see `support_rows`.
        """

    def starts(
        self, state: Any, machine: Machine, y: np.ndarray | None, rng: np.random.RandomState, learner: Learner
    ) -> list[np.ndarray]:
        """A theta for each of `n_init` descents to begin at; what else has to be settled before them is settled here.

        Parameters
        ----------
        state, machine, y, rng
            As in `start`, which gives each of them by default.
        learner : callable
            ``learner(state, machine)`` minimises over some of the samples, see `Run`.
        """
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_init)
        return [self.start(state, machine, y, np.random.RandomState(seed)) for seed in seeds]

    def lazy_kernel(self, state: Any, theta: np.ndarray) -> LazyKernel | None:
        """K_theta in parts, for combiners that can compute some entries faster than all; None by default."""
        return None

    def penalize(self, state: Any, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """What is added to J, and its gradient; nothing by default."""
        return 0.0, np.zeros_like(theta)

    def domain(self, state: Any) -> Domain:
        """Where theta may be; everywhere by default."""
        return Space()

    def is_settled(self, state: Any) -> bool:
        """Whether theta stays where it starts; by default it does not."""
        return False

    def blocks(self, state: Any) -> list[tuple[slice, Domain]] | None:
        """Parts of theta, and their domains, that Armijo descent moves in turn; None (the default) is all at once."""
        return None

    def watch(self, state: Any, machine: Machine, rng: np.random.RandomState) -> Watch | None:
        """Samples to hold out and watch for early stopping; None (the default) learns from all."""
        return None

    def finish(self, state: Any, theta: np.ndarray) -> np.ndarray:
        """The last word on theta before the final solve, such as a check or setting what is almost 0 to 0."""
        return theta

    def fit(self, stack, machine, y, rng, tol=1e-3, max_steps=None, progress=None) -> Combination:
        """Minimise from each start, then solve the machine under the best theta."""
        begin = time.perf_counter()
        self._check_loop()
        state = self.prepare(stack, y, rng)
        finished = itertools.count(1)  # counting is atomic, so that threads can share it

        def report() -> None:
            if progress is not None:
                progress(next(finished), self.n_init * self.max_iter)

        earlier: list[Run] = []

        def learner(part: Any, its_machine: Machine) -> Run:
            earlier.append(Run(self, part, its_machine, None, tol, max_steps, begin, report))
            return earlier[-1]

        starts = self.starts(state, machine, y, rng, learner)
        watch = self.watch(state, machine, rng)
        runs = [Run(self, state, machine, watch, tol, max_steps, begin, report) for _ in starts]
        runs[0].solves = sum(run.total for run in earlier)
        ends = in_threads(lambda k: runs[k].descend(starts[k]), range(len(starts)), self.n_jobs)
        chosen = min(range(len(starts)), key=lambda k: (runs[k].risk, ends[k].objective))
        self._warn_unless_converged(ends[chosen], tol)
        return runs[chosen].close(self.finish(state, ends[chosen].solution), ends[chosen].detail)

    def _check_loop(self) -> None:
        if not is_choice(self.optimizer, _OPTIMIZERS):
            raise ValueError(f"optimizer must be one of {list(_OPTIMIZERS)}, not {shown(self.optimizer)}")
        if self.n_jobs is not None and (not is_count(self.n_jobs)):
            raise ValueError(f"n_jobs of {type(self).__name__} must be an integer or None, not {shown(self.n_jobs)}")
        for name in ("max_iter", "n_init"):
            value = getattr(self, name)
            if not is_count(value) or value < 1:
                raise ValueError(
                    f"{name} of {type(self).__name__} must be an integer of at least 1, not {shown(value)}"
                )

    def _warn_unless_converged(self, end: Descent, tol: float) -> None:
        if end.status == "max_iterations":
            warn(
                f"{type(self).__name__} stopped after {end.steps} outer iterations with a relative progress of "
                f"{end.progress:.2g} in the last one (tol is {tol:g}); raise the combiner's max_iter, or tol",
                ConvergenceWarning,
            )


class Run:
    """Descents over the same samples: the function that they minimise, and their history."""

    def __init__(self, combiner, state, machine, watch, tol, max_steps, begin, report):
        self.combiner, self.whole, self.watch = combiner, (state, machine), watch
        self.state, self.machine = self.whole if watch is None else (watch.state, watch.machine)
        self.tol, self.max_steps = tol, max_steps
        self.report = report
        self.last: Solution | None = None
        self.K: np.ndarray | None = None
        self.solves = 0  # since the last row of the history
        self.total = 0
        self.clock = begin
        self.history: list[dict[str, float]] = []
        self.risk = np.inf  # of the held-out samples, the least so far
        self.best: tuple[int, Point] | None = None

    def descend(self, theta: np.ndarray) -> Descent:
        """Minimise from theta."""
        if self.combiner.is_settled(self.state):
            value, gradient, solution = self.evaluate(theta)
            self.record(0, Point(theta, value, gradient, solution))
            return Descent(theta, value, solution, 0, 1, 0.0, "converged")
        size = np.linalg.norm(theta)
        blocks = self.combiner.blocks(self.state) if self.combiner.optimizer == "armijo" else None
        minimize = _OPTIMIZERS[self.combiner.optimizer] if blocks is None else minimize_alternating
        end = minimize(
            self.evaluate,
            theta,
            self.combiner.domain(self.state) if blocks is None else blocks,
            tol=self.tol,
            precision=_PRECISION * self.tol,
            max_iterations=self.combiner.max_iter,
            first_step=size if size > 0.0 else 1.0,
            callback=self.record,
        )
        if self.best is None:
            return end
        _, point = self.best
        return dataclasses.replace(end, solution=point.position, objective=point.value, detail=point.detail)

    def evaluate(self, theta: np.ndarray) -> tuple[float, np.ndarray, Solution]:
        """J + penalty, its gradient and the machine's solution."""
        value, gradient = self.combiner.penalize(self.state, theta)
        solution = self._solve_in_part(theta)
        if solution is None:
            self.K = self.combiner.gram(self.state, theta, self.K)
            if not np.isfinite(self.K.diagonal()).all():  # theta so large that the kernel overflows
                return np.inf, gradient, self.last
            gap_tol = _PRECISION * self.tol
            solution = self.machine.solve(self.K, start=self.last, gap_tol=gap_tol, max_steps=self.max_steps)
        self.solves += 1
        self.total += 1
        self.last = solution
        gradient = gradient + self.combiner.pullback(self.state, theta, solution.coef)
        return solution.objective + value, gradient, solution

    def _solve_in_part(self, theta: np.ndarray) -> Solution | None:
        """The machine's solution without forming all of the kernel, or None where that is not to be had."""
        if self.last is None:
            return None
        kernel = self.combiner.lazy_kernel(self.state, theta)
        if kernel is None:
            return None
        return self.machine.solve_in_part(kernel, self.last, _PRECISION * self.tol, self.max_steps)

    def record(self, iteration: int, point: Point) -> bool:
        """A row of the history; True where held-out samples say that it is time to stop."""
        self._add_row(point.value, point.detail)
        if iteration > 0:
            self.report()
        if self.watch is None:
            return False
        risk = self.watch.risk(point.position, point.detail)
        self.history[-1]["validation_risk"] = risk
        if risk <= self.risk:
            self.risk, self.best = risk, (iteration, point)
        return iteration - self.best[0] >= PATIENCE

    def close(self, theta: np.ndarray, nearby: Solution) -> Combination:
        """Solve the machine at the end point to the full tolerance; that belongs to the last iteration.

        Where samples were held out, it is a row of the history by itself, because its machine has all samples.
        """
        state, machine = self.whole
        K, start = (self.K, nearby) if self.watch is None else (None, None)
        K = self.combiner.gram(state, theta, K)
        solution = machine.solve(K, start=start, tol=self.tol, max_steps=self.max_steps)
        self.solves += 1
        self._add_row(solution.objective + self.combiner.penalize(state, theta)[0], solution)
        if self.watch is not None:
            return Combination(state, theta, solution, self.history)
        last, final = self.history[-2:]
        final["solves"] += last["solves"]
        final["seconds"] += last["seconds"]
        return Combination(state, theta, solution, [*self.history[:-2], final])

    def _add_row(self, objective: float, solution: Solution) -> None:
        now = time.perf_counter()
        self.history.append(
            {
                "objective": objective,
                "solves": self.solves,
                "seconds": now - self.clock,
                "n_support": int(solution.coef.any(axis=1).sum()),
            }
        )
        self.solves, self.clock = 0, now


class AugmentedStack:
    """A state: the kernels, and numbers of each training sample that prediction needs beside them.

    Parameters
    ----------
    stack : KernelStack
    samples : ndarray of shape (n_samples, ...)
        Whatever a combiner needs of each training sample.
    """

    def __init__(self, stack: KernelStack, samples: np.ndarray):
        self.stack = stack
        self.samples = samples

    @property
    def n_kernels(self) -> int:
        """Number of kernels, P."""
        return self.stack.n_kernels

    def restrict(self, rows: np.ndarray, active: np.ndarray | None = None) -> AugmentedStack:
        """What is left where only these training samples and active kernels count."""
        return type(self)(self.stack.restrict(rows, active), self.samples[rows])

    def replace(self, m: int, kernel: Any) -> None:
        """Put an extended kernel in the place of kernel m, see `KernelStack.replace`."""
        self.stack.replace(m, kernel)

    def lookups(self, active: np.ndarray) -> list:
        """The precomputed matrices inside the kernels, see `KernelStack.lookups`."""
        return self.stack.lookups(active)


def support_rows(coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the samples with coefficients, and those coefficients."""
    rows = np.flatnonzero(coef.any(axis=1))
    return rows, np.ascontiguousarray(coef[rows])
