"""MKL-DR's two unknowns, the sample coefficients A (n x p) and the kernel weights b >= 0, in three forms.

With ``K_b = sum_m b_m K_m``, ``S = K_b L K_b + ridge ||b||^2 I`` and ``S' = K_b L' K_b`` the forms are

==============  ==============================================  =====================================================
step            minimised                                       how
==============  ==============================================  =====================================================
"ratio-trace"   f(b) = min_A tr[(A'(S + S')A)^-1 A'SA] / p      b along the slopes of f; then A by eigenvectors, (21)
"trace-ratio"   tr(A'SA) / tr(A'S'A) under A'A = I              A by (18), b by (22), in turns; it never rises
"paper"         tr[(A'S'A)^-1 A'SA] / p, then the trace ratio   A by (21), b by (22), in turns (Algorithm 1)
==============  ==============================================  =====================================================

None changes with the scale of b. Without the ridge the numerators could be zero for every b (a kernel of full
rank collapses each class to a point), and nothing would be learned about b.

The last two may lose components. A trace ratio leaves one empty that has little spread, since it costs more than it
gains. The paper's ratio trace is infinite for a component beyond the rank of K_b, which must be left out, so the mean
gets better when a kernel of low rank takes all the weight and components are lost. In the first form a component counts
between 0, where it fulfils the graph's criterion, and 1, where it is empty; for `LDAGraph("between")` this is 1 minus
the share of scatter that lies between classes, and A is kernel Fisher discriminant analysis. Its weights are learned
under a larger ridge than A: under a small one any kernel of full rank draws the training samples of a class together,
and weights would follow rank instead of information.

====================  ===================================================
MKL-DR                here
====================  ===================================================
K^(i) beta            column i of `Search.combined`
S_W^beta, (19)        formed in `solvers.embedding`, where it is needed
S_W^A, (23)           first of `Search.forms`, with the ridge
S_{W'}^A, (24)        second of `Search.forms`
====================  ===================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize

from ...solvers.embedding import GraphLaplacian, mean_spread, principal, ratio_trace, spreads, trace_ratio
from ...solvers.weights import cone_ratio

# Up to this many kernels the weights are found exactly.
EXACT_KERNELS = 12
# The search along slopes: most evaluations of the objective per iteration, and slopes (relative) that count as zero.
_EVALUATIONS = 20
_FLAT = 1e-9


@dataclass(frozen=True)
class Found:
    """The end of the search: coefficients, weights, history, and whether it converged."""

    coefficients: np.ndarray
    weights: np.ndarray
    history: list[dict[str, float]]
    converged: bool


@dataclass(frozen=True)
class _Point:
    """Kernel weights, the spread 1 / lambda of each column of their best A, and the slopes of p f by the weights."""

    weights: np.ndarray
    spread: np.ndarray
    slopes: np.ndarray

    def objective(self, n_components: int) -> float:
        """The mean of lambda / (1 + lambda) over so many components."""
        return float(np.mean(1.0 / (1.0 + self.spread[:n_components])))

    def room(self, n_components: int) -> float:
        """How far the objective is from 0 or from 1, whichever is nearer: what changes are measured by."""
        gain = float(np.mean(self.spread[:n_components] / (1.0 + self.spread[:n_components])))
        return min(self.objective(n_components), gain) or 1.0


class Search:
    """The search over given Gram matrices and a given graph.

    Parameters
    ----------
    grams : ndarray of shape (n_kernels, n_samples, n_samples)
    numerator : GraphLaplacian or None
        L; None for the norm of the projections (kernel PCA).
    denominator : GraphLaplacian
        L' or D.
    ridge : float
        For "ratio-trace" such that the term ``ridge ||b||^2`` at equal weights is this share of the mean diagonal of
        ``K L K``, K the mean kernel (of ``K L'K`` where that is zero); else in units of the mean of
        tr(K_m L'K_m) / n_samples over the kernels.
    weights_ridge : float
        The same where "ratio-trace" learns weights.
    n_components : int
    step : {"ratio-trace", "trace-ratio", "paper"}
    weights_step : {"exact", "dnn", "paper", "fixed"}
        How (22) is solved; "fixed" keeps the weights.
    rng : RandomState

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.reduction.mkldr.steps import Search
    >>> from kernelweave.solvers.embedding import class_laplacians
    >>> labels = np.array([0, 0, 1, 1])
    >>> signal, noise = np.array([0.0, 0.1, 1.0, 1.1]), np.array([0.3, 1.0, 0.2, 0.9])
    >>> grams = np.exp(-np.array([(x[:, None] - x) ** 2 for x in (signal, noise)]))
    >>> within, between = class_laplacians(labels)
    >>> search = Search(
    ...     grams,
    ...     within,
    ...     denominator=between,
    ...     ridge=0.1,
    ...     weights_ridge=10.0,
    ...     n_components=1,
    ...     step="ratio-trace",
    ...     weights_step="exact",
    ...     rng=np.random.RandomState(0),
    ... )
    >>> found = search.run(np.array([0.5, 0.5]), tol=1e-4, max_iter=50)
    >>> bool(found.weights[0] > found.weights[1])
    True
    """

    def __init__(
        self,
        grams: np.ndarray,
        numerator: GraphLaplacian | None,
        *,
        denominator: GraphLaplacian,
        ridge: float,
        weights_ridge: float,
        n_components: int,
        step: str,
        weights_step: str,
        rng: np.random.RandomState,
    ):
        self.grams, self.denominator = grams, denominator
        self.numerator: Any = numerator
        self.n_components, self.step, self.weights_step, self.rng = n_components, step, weights_step, rng
        unit = self._unit()
        self.ridge, self.weights_ridge = ridge * unit, weights_ridge * unit

    def _unit(self) -> float:
        """The unit of the ridge."""
        n_kernels = len(self.grams)
        if self.step != "ratio-trace" or self.numerator is None:
            unit = float(np.mean([mean_spread(K, self.denominator) for K in self.grams]))
        else:
            K = self.combined(np.full(n_kernels, 1.0 / n_kernels))
            apart = mean_spread(K, self.denominator)
            unit = n_kernels * (mean_spread(K, self.numerator) or apart) if apart else 0.0
        if not unit > 0:
            raise ValueError(
                "the graph finds nothing to keep apart: the samples that it keeps apart do not differ in any kernel"
            )
        return unit

    def run(
        self, weights: np.ndarray, tol: float, max_iter: int, progress: Callable[[int, int], None] | None = None
    ) -> Found:
        """Search from given weights until the objective changes by at most the share `tol` in an iteration.

        Parameters
        ----------
        weights : ndarray of shape (n_kernels,)
        tol : float
        max_iter : int
        progress : callable, optional
            Called with the number of finished iterations and the limit.
        """
        record = _Record(tol, max_iter, progress)
        if self.step == "ratio-trace" and self.numerator is not None:
            return self._descend(weights, record)
        coefficients: Any = None
        while len(record.history) < max_iter:
            if coefficients is not None:
                weights = self.weights_given(self._of_even_spread(coefficients, weights), weights)
            coefficients, objective = self.coefficients_given(weights, coefficients, tol)
            if record.add(objective) or self._alone():
                return Found(coefficients, weights, record.history, True)
        return Found(coefficients, weights, record.history, False)

    def _descend(self, weights: np.ndarray, record: _Record) -> Found:
        """Lower f along its slopes (L-BFGS-B); the best point is kept, so the result is never worse than the start.

        f is a minimum of smooth functions of b, one for each A, so its slopes are those at the best A.
        """
        n_kernels = len(weights)
        best = self._point(weights)
        if not best.spread.any():
            raise ValueError("init gives weight only to kernels in which the samples to keep apart do not differ")
        # Components that all kernels together cannot fill would only add a constant to f.
        widest = best if weights.all() else self._point(np.full(n_kernels, 1.0 / n_kernels))
        count = max(1, int(np.count_nonzero(widest.spread)))
        unit = best.room(count)
        record.add(best.objective(count), unit)

        def relative(x: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal best
            # f does not change with the scale of x, and no kernel at all fills no component.
            if not x.any():
                return 1.0 / unit, np.zeros(n_kernels)
            point = self._point(x / x.sum())
            if point.objective(count) < best.objective(count):
                best = point
            return point.objective(count) / unit, point.slopes / (count * unit * x.sum())

        def accepted(x: np.ndarray) -> None:
            if record.add(best.objective(count), best.room(count)):
                raise StopIteration

        limit = record.max_iter - 1
        record.settled = self._alone()
        if limit and not self._alone():
            ended = scipy.optimize.minimize(
                relative,
                n_kernels * weights,
                jac=True,
                bounds=[(0.0, None)] * n_kernels,
                method="L-BFGS-B",
                callback=accepted,
                options={"maxiter": limit, "maxfun": _EVALUATIONS * limit, "ftol": 0.0, "gtol": _FLAT},
            )
            # Status 1 is a limit; a line search that finds nothing lower (2) is at the accuracy of floating point.
            record.settled = record.settled or ended.status != 1
        A = ratio_trace(self.combined(best.weights), *self._problem(best.weights, self.ridge)).solution
        return Found(A, best.weights, record.history, record.settled)

    def _point(self, weights: np.ndarray) -> _Point:
        """f at given weights, and the slopes of ``sum_i lambda_i / (1 + lambda_i)`` by the weights.

        With mu = 1 / lambda, a'Sa = 1 and z = K a the slope of mu by b_m is ``2 (K_m a)'(L'z - mu L z) - 2 mu ridge b_m
        a'a``; the sum over i needs one product with A for all kernels together.
        """
        K = self.combined(weights)
        if not mean_spread(K, self.denominator):
            return _Point(weights, np.zeros(self.n_components), np.zeros(len(weights)))
        A = ratio_trace(K, *self._problem(weights, self.weights_ridge)).solution
        mu, Z = spreads(K, A, self.denominator), K @ A
        share = (1.0 + mu) ** -2
        D = (share * self.denominator.dot(Z) - share * mu * self.numerator.dot(Z)) @ A.T
        pull = self.weights_ridge * float(np.sum(share * mu * (A**2).sum(axis=0)))
        slopes = [-2.0 * (_inner(gram, D) - pull * weight) for gram, weight in zip(self.grams, weights, strict=True)]
        return _Point(weights, mu, np.array(slopes))

    def _alone(self) -> bool:
        """Whether there are no weights to learn."""
        return len(self.grams) == 1 or self.weights_step == "fixed"

    def _problem(
        self, weights: np.ndarray, ridge: float
    ) -> tuple[Any, GraphLaplacian, float, int, np.random.RandomState]:
        return self.numerator, self.denominator, ridge * float(weights @ weights), self.n_components, self.rng

    def coefficients_given(self, weights: np.ndarray, start: np.ndarray | None, tol: float) -> tuple[np.ndarray, float]:
        """The A step: (18) by the trace-ratio iteration, or (21)."""
        K = self.combined(weights)
        if self.numerator is None:
            found = principal(K, self.denominator, self.n_components)
            return found.solution, found.objective
        problem = (K, *self._problem(weights, self.ridge))
        if self.step == "trace-ratio":
            found = trace_ratio(*problem, start, tol)
            return found.solution, found.objective
        A = ratio_trace(*problem).solution
        spread = spreads(K, A, self.denominator)  # 1 / lambda
        return A, float(np.mean(1.0 / spread[spread > 0]))

    def weights_given(self, coefficients: np.ndarray | None, start: np.ndarray | None) -> np.ndarray:
        """The kernel-weight step (22); `coefficients` None stands for AA' = I."""
        return cone_ratio.METHODS[self.weights_step](*self.forms(coefficients), start).solution

    def identity_weights(self) -> np.ndarray:
        """The weights to begin with that AA' = I gives: the paper's choice."""
        return self.weights_given(None, None)

    def _of_even_spread(self, coefficients: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """A as the weight step takes it: for the paper's with A'S'A = I, the constraint of (18).

        The ratio of traces is then the ratio trace itself (divided by p), so both steps look at one quantity.
        """
        if self.step != "paper":
            return coefficients
        spread = spreads(self.combined(weights), coefficients, self.denominator)
        return coefficients * np.divide(1.0, np.sqrt(spread), out=np.zeros(len(spread)), where=spread > 0)

    def combined(self, weights: np.ndarray) -> np.ndarray:
        """K_b in float64; kernels without weight are not touched."""
        K = np.zeros(self.grams.shape[1:])
        for m in np.flatnonzero(weights):
            K += weights[m] * self.grams[m]
        return K

    def forms(self, coefficients: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The quadratic forms of b in numerator and denominator, for given A (None for AA' = I)."""
        if coefficients is None:
            embedded: Any = self.grams
            norm = self.grams.shape[1]
        else:
            embedded = [K @ coefficients.astype(K.dtype, copy=False) for K in self.grams]
            norm = np.vdot(coefficients, coefficients)
        above = _form(embedded, self.numerator) + self.ridge * norm * np.eye(len(self.grams))  # (23)
        return above, _form(embedded, self.denominator)  # (24)


class _Record:
    """The history, one entry per iteration, and whether the objective has settled."""

    def __init__(self, tol: float, max_iter: int, progress: Callable[[int, int], None] | None):
        self.tol, self.max_iter, self.progress = tol, max_iter, progress
        self.history: list[dict[str, float]] = []
        self.settled = False
        self._clock = time.perf_counter()

    def add(self, objective: float, size: float | None = None) -> bool:
        """Note an iteration; True where it changed the objective by at most the share `tol` (of `size`)."""
        now = time.perf_counter()
        before = self.history[-1]["objective"] if self.history else np.inf
        self.history.append({"objective": objective, "seconds": now - self._clock})
        self._clock = now
        if self.progress is not None:
            self.progress(len(self.history), self.max_iter)
        self.settled = bool(abs(before - objective) <= self.tol * abs(objective if size is None else size))
        return self.settled


def _form(embedded: np.ndarray | list[np.ndarray], laplacian: GraphLaplacian) -> np.ndarray:
    """tr(Z_m' L Z_l) for all pairs of kernels."""
    n_kernels = len(embedded)
    form = np.zeros((n_kernels, n_kernels))
    for m in range(n_kernels):
        spread = laplacian.dot(embedded[m])
        for other in range(m + 1):
            form[m, other] = form[other, m] = _inner(embedded[other], spread)
    return form


def _inner(first: np.ndarray, second: np.ndarray) -> float:
    """The sum of products of entries, in float64."""
    return float(np.einsum("ij,ij->", first, second, dtype=np.float64))
