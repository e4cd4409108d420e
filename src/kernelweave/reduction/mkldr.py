"""`MKLDR`: dimension reduction by graph embedding with learned kernel weights (MKL-DR).

Lin, Liu and Fuh, *Dimensionality reduction for data in multiple feature representations*. `Search` finds the two
unknowns, the sample coefficients A (n x p) and the kernel weights b >= 0; `MKLDR` is the transformer around it. With
``K_b = sum_m b_m K_m``, ``S = K_b L K_b + ridge ||b||^2 I`` and ``S' = K_b L' K_b`` there are three forms:

==============  ==============================================  =====================================================
step            minimised                                       how
==============  ==============================================  =====================================================
"ratio-trace"   f(b) = min_A tr[(A'(S + S')A)^-1 A'SA] / p      b along the slopes of f; then A by eigenvectors, (21)
"trace-ratio"   tr(A'SA) / tr(A'S'A) under A'A = I              A by (18), b by (22), in turns; it never rises
"paper"         tr[(A'S'A)^-1 A'SA] / p, then the trace ratio   A by (21), b by (22), in turns (Algorithm 1)
==============  ==============================================  =====================================================

None changes with the scale of b. Without the ridge the numerators could be zero for every b (a kernel of full rank
collapses each class to a point). The last two may lose components. A trace ratio leaves one empty that has little
spread, since it costs more than it gains. The paper's ratio trace is infinite for a component beyond the rank of K_b,
which must be left out, so the mean gets better when a kernel of low rank takes all the weight and components are lost.
In the first form a component counts between 0, where it fulfils the graph's criterion, and 1, where it is empty; for
`LDAGraph("between")` this is 1 minus the share of scatter that lies between classes, and A is kernel Fisher
discriminant analysis.

======================  =======================================================================
MKL-DR                  here
======================  =======================================================================
N, M, P                 n_samples, n_kernels, `n_components`
A, (15); beta, (5)      `alphas_`; `kernel_weights_`
K^(i) beta              column i of `Search.combined`
S_W^beta, (19)          formed in `solvers.embedding`, where it is needed
S_W^A, (23)             first of `Search.forms`, with the ridge
S_{W'}^A, (24)          second of `Search.forms`
embedding of z, (29)    `MKLDR.transform`
======================  =======================================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.optimize
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn
from ..combiners.base import as_numbers
from ..estimators.fitted import FittedStack, check_some_view
from ..estimators.kernel_lists import KernelParameters
from ..estimators.progress import progress_bar
from ..kernels import KernelStack
from ..kernels.stack import default_kernels
from ..solvers.embedding import GraphLaplacian, mean_spread, principal, ratio_trace, spreads, trace_ratio
from ..solvers.weights import cone_ratio
from ..validation import Choice, Constraints, Flag, Instance, Number, Seed, Whole, check, check_parameters
from ..validation.inputs import check_row_labels, check_target, check_training_data, unchanged_on_failure
from ..validation.schemas import Schema, numbers, series, size
from ..views import Views
from .graphs import Graph, LDAGraph, PCAGraph

# Up to this many kernels the weights are found exactly.
EXACT_KERNELS = 12
# The search along slopes: most evaluations of the objective per iteration, and slopes (relative) that count as zero.
_EVALUATIONS = 20
_FLAT = 1e-9


@dataclass(frozen=True)
class Found:
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
        return float(np.mean(1.0 / (1.0 + self.spread[:n_components])))

    def room(self, n_components: int) -> float:
        """The distance of the objective from 0 or from 1, whichever is nearer, by which changes are measured."""
        gain = float(np.mean(self.spread[:n_components] / (1.0 + self.spread[:n_components])))
        return min(self.objective(n_components), gain) or 1.0


class Search:
    """The search over given Gram matrices and a given graph.

    `numerator` is L, or None for the norm of the projections (kernel PCA); `denominator` is L' or D. The ridges, their
    units and `weights_step` are those of `MKLDR`.
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
        """Search from given weights until the objective changes by at most the share `tol` in an iteration."""
        record = _Record(tol, max_iter, progress)
        if self.step == "ratio-trace" and self.numerator is not None:
            return self._descend(weights, record)
        coefficients: Any = None
        while len(record.history) < max_iter:
            if coefficients is not None:
                weights = self.weights_given(self._of_even_spread(coefficients, weights), weights)
            coefficients, objective = self.coefficients_given(weights, coefficients, tol)
            if record.add(objective) or self._is_settled:
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
            # f does not change with the scale of x; without any kernel no component is filled.
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
        record.settled = self._is_settled
        if limit and not self._is_settled:
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

    @property
    def _is_settled(self) -> bool:
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

    def _of_even_spread(self, coefficients: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """A as the weight step takes it: for the paper's with A'S'A = I, the constraint of (18)."""
        if self.step != "paper":
            return coefficients
        spread = spreads(self.combined(weights), coefficients, self.denominator)
        return coefficients * np.divide(1.0, np.sqrt(spread), out=np.zeros(len(spread)), where=spread > 0)

    def combined(self, weights: np.ndarray) -> np.ndarray:
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
    return float(np.einsum("ij,ij->", first, second, dtype=np.float64))


class MKLDR(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedStack, KernelParameters):
    """Dimension reduction from several kernels: learn projections and kernel weights together.

    Minimises the ratio trace ``tr[(A'(S + S')A)^-1 A'SA] / n_components`` with ``S = K_b L K_b + ridge ||b||^2 I`` and
    ``S' = K_b L'K_b`` over coefficients A and weights ``b >= 0`` of ``K_b = sum_m b_m K_m``, where the graph gives L
    (samples to bring together) and L' (samples to keep apart) or D (Lin, Liu and Fuh 2011, whose equations the numbers
    below are). A sample x is embedded as ``A' K_b(X, x)``. At equal weights, where it starts, this is `KernelFisher` on
    the mean kernel, with the same `ridge`. Weights are learned under `weights_ridge`, and are never worse by that
    objective than the start.

    Parameters
    ----------
    kernels : list of kernels or (name, kernel), or None
        As in `MKLClassifier`; parameters are reached as ``kernels__<name>__<parameter>``.
    graph : Graph or None
        Which samples to bring together and which to keep apart; None means `LDAGraph()`.
    n_components : int or None
        Dimension of the embedding; None means one less than there are classes, or 2 where the graph reads no labels.
        Components that separate no samples are left out, with a warning where a number was given.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
        Normalisation of each kernel, with constants from the training samples.
    step : {"ratio-trace", "trace-ratio", "paper"}
        What is minimised. "ratio-trace": the objective above. Each component counts, large or small: between 0,
        where it fulfils the graph's criterion, and 1, where it is empty. ``A'SA = I``; weights follow the slopes of the
        objective. "trace-ratio" is (18), ``tr(A'SA) / tr(A'S'A)`` under ``A'A = I``, with the weights of (22), by
        turns: components that would be worse than the mean of the others stay empty and are left out (with a warning),
        for kernels of low rank nearly all. "paper" is Algorithm 1: A by (21), ``min tr[(A'S'A)^-1 A'SA]``, weights by
        (22), by turns; the objective may rise, and kernels of low rank may lose components.
    weights_step : {"auto", "exact", "dnn", "paper", "fixed"}
        "fixed" keeps the weights as they begin. The others are ways to solve (22) for "trace-ratio" and "paper".
        "exact": globally, over supports; "dnn": by a doubly non-negative program and a local search; "auto": exactly
        for up to 12 kernels, else "dnn"; "paper": what the relaxation (25)-(28) gives as printed, the unconstrained
        minimum, with negative weights set to zero. `PCAGraph` leaves weights fixed.
    init : {"equal", "identity"}, or weights by kernel name or in order
        Where b begins: at equal weights, at the optimum of (22) for ``AA' = I`` (the paper's choice), or as given.
    ridge : float
        Weight of the ridge above, relative to the mean diagonal of ``K L K`` for the mean kernel K (of ``K L'K`` where
        that is zero), so that it means at equal weights what it means in `KernelFisher`. For "trace-ratio" and "paper"
        in units of the mean of ``tr(K_m L'K_m) / n_samples`` over the kernels. The larger, the smoother the projections
        and the more alike the weights of similar kernels.
    weights_ridge : float
        The same where "ratio-trace" learns weights. Under a small ridge any kernel of full rank draws the training
        samples of a class together, and weights would follow rank instead of information; the larger, the more they
        follow the scatter that each kernel has by itself.
    max_iter : int
        Limit on iterations; the first is A at the starting weights.
    tol : float
        Stop where an iteration changes the objective (or 1 less the ratio trace, if less) by at most this share.
    dtype : {"float64", "float32"}
        Of the base Gram matrices.
    random_state : int, RandomState or None
        For the start of Lanczos' method.
    verbose : int
        Whether to show progress.

    Attributes
    ----------
    kernel_weights_ : Series
        Weight by kernel name; they sum to 1.
    alphas_ : ndarray of shape (n_samples, n_components)
        The sample coefficients A.
    objective_ : float
        The objective at the end: what weights are learned by, with `weights_ridge`, a mean over the components that all
        kernels together can fill; for `PCAGraph` the number of components over their summed variances.
    ridge_ : float
        The weight of the ridge in absolute terms: the ridge is ``ridge_ * sum(kernel_weights_ ** 2)``.
    history_ : DataFrame
        Objective and seconds of each iteration.
    n_iter_ : int
    graph_ : Graph
    kernels_, kernel_names_, n_features_in_, feature_names_in_
        As in `KernelVoting`.

    Notes
    -----
    Cost: O(M n^2 + n^2 p + n^3) per iteration for M kernels, n samples and p components; M n^2 p with the weights of
    (22). Memory: the M Gram matrices, the combined one and at most four more of that size. Afterwards all training
    samples are kept, of their columns only those of kernels with a weight.

    A sample that lacks a view has no similarity to any other in that kernel: its embedding is the sum over the kernels
    it has. (`MKLClassifier` spreads the missing weights over the others; here K_b must be linear in b.) A sample that
    has none of the views whose kernels have a weight is an error.

    References
    ----------
    Y.-Y. Lin, T.-L. Liu, C.-S. Fuh, Dimensionality reduction for data in multiple feature representations, 2008.

    Examples
    --------
    >>> from kernelweave import datasets
    >>> from kernelweave.kernels import Gaussian
    >>> from kernelweave.reduction import MKLDR
    >>> X, y = datasets.load_multifeat(return_X_y=True)
    >>> model = MKLDR([Gaussian("kar"), Gaussian("mor")], n_components=4).fit(X[::10], y[::10])
    >>> model.transform(X[1::10]).shape
    (200, 4)
    >>> model.kernel_weights_.round(1)
    kar    0.7
    mor    0.3
    dtype: float64
    """

    _constraints = Constraints(
        graph=Instance(Graph, "a graph such as LDAGraph()") | None,
        n_components=Whole(1) | None,
        step=Choice("ratio-trace", "trace-ratio", "paper"),
        weights_step=Choice("auto", "exact", "dnn", "paper", "fixed"),
        ridge=Number(above=0),
        weights_ridge=Number(above=0),
        max_iter=Whole(1),
        tol=Number(above=0),
        random_state=Seed(),
        verbose=Flag() | Whole(0),
    )

    _saved = Schema(
        {
            "alphas_": numbers("support", "components"),
            "kernel_weights_": series("kernels"),
            "_n_features_out": size("components"),
        }
    )

    def __init__(
        self,
        kernels: Any = None,
        graph: Graph | None = None,
        *,
        n_components: int | None = None,
        normalize: str | None = "unit-diagonal",
        step: str = "ratio-trace",
        weights_step: str = "auto",
        init: Any = "equal",
        ridge: float = 0.01,
        weights_ridge: float = 10.0,
        max_iter: int = 200,
        tol: float = 1e-4,
        dtype: str = "float64",
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.graph = graph
        self.n_components = n_components
        self.normalize = normalize
        self.step = step
        self.weights_step = weights_step
        self.init = init
        self.ridge = ridge
        self.weights_ridge = weights_ridge
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> MKLDR:
        """Learn kernel weights and projections.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,), optional
            Class labels, where the graph reads them.
        """
        with unchanged_on_failure(self):
            given = check_parameters(self)
            graph = clone(LDAGraph() if given.graph is None else given.graph)
            check_row_labels(X, y=y if graph.reads_labels else None)
            views = Views(*check_training_data(self, X))
            labels = self._labels(graph, y, views.n_samples) if graph.reads_labels else None
            n_components = self._components(given.n_components, graph, labels, views.n_samples)
            kernels = default_kernels(views) if self.kernels is None else self.kernels
            stack = KernelStack(kernels, self.normalize, dtype=self.dtype).fit(views, y=y)
            grams = stack.matrices()
            numerator, denominator = graph.laplacians(grams, stack.present, labels)
            search = Search(
                grams,
                numerator,
                denominator=denominator,
                ridge=given.ridge,
                weights_ridge=given.weights_ridge,
                n_components=n_components,
                step=self.step,
                weights_step=self._weights_step(graph, stack.n_kernels),
                rng=given.random_state,
            )
            start = self._start(search, stack.names)
            with progress_bar("Fitting MKLDR") if given.verbose else nullcontext() as progress:
                found = search.run(start, given.tol, given.max_iter, progress)
            kept = spreads(search.combined(found.weights), found.coefficients, search.denominator) > 0
            self._warn(found, kept)
            self._store(stack, graph, search, found, kept)
            check_some_view(views, stack.present, self._active(), stack.names)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Embed samples, new ones or those of the fit: (29), of shape (n_samples, n_components)."""
        views = self._new_views(X)
        return views.in_blocks(len(self.alphas_), self._embedded)

    def _embedded(self, views: Views) -> np.ndarray:
        present = self._state.presence(views, self._active())
        check_some_view(views, present, self._active(), self.kernel_names_)
        embedded = np.zeros((views.n_samples, self.alphas_.shape[1]))
        for m, weight in enumerate(self.kernel_weights_):
            if weight > 0:
                embedded += weight * (self._state.cross(m, views, present[:, m]) @ self.alphas_)
        return embedded

    def _labels(self, graph: Graph, y: Any, n_samples: int) -> np.ndarray:
        y = check_target(self, y, n_samples)
        labels = graph.encode(y)
        if labels.max() < 1:
            raise ValueError(
                f"MKLDR needs samples of at least two classes, but y has only one class: {y.tolist()[0]!r}; a graph "
                "that reads no labels, such as LPPGraph(), does without them"
            )
        return labels

    def _components(self, n_components: int | None, graph: Graph, labels: np.ndarray | None, n_samples: int) -> int:
        if n_components is None:
            return min(n_samples, graph.default_components(labels, n_samples))
        if n_components > n_samples:
            raise ValueError(f"n_components is {n_components}, but there are only {n_samples} samples")
        return n_components

    def _weights_step(self, graph: Graph, n_kernels: int) -> str:
        if isinstance(graph, PCAGraph):
            if self.weights_step not in ("auto", "fixed"):
                raise ValueError(
                    f'weights_step={self.weights_step!r} has nothing to learn from with PCAGraph; use "fixed" and give '
                    "the weights as init"
                )
            return "fixed"
        if self.step == "ratio-trace" and self.weights_step not in ("auto", "fixed"):
            raise ValueError(
                f'weights_step={self.weights_step!r} is a way to solve (22), which step="ratio-trace" does not take; '
                'use "auto" or "fixed", or step="trace-ratio" or "paper"'
            )
        if self.weights_step == "auto":
            return "exact" if n_kernels <= EXACT_KERNELS else "dnn"
        return self.weights_step

    def _start(self, search: Search, names: list[str]) -> np.ndarray:
        equal = np.full(len(names), 1.0 / len(names))
        if isinstance(self.init, str):
            check(self, "init", self.init, Choice("equal", "identity"))
            stays = self.init == "equal" or search.weights_step == "fixed"
            return equal if stays else search.weights_given(None, None)  # AA' = I, the paper's choice
        weights = as_numbers(self.init, names, "init", default=0.0)
        if not weights.any():
            raise ValueError("init must give one of the kernels a positive weight")
        return weights / weights.sum()

    def _warn(self, found: Any, kept: np.ndarray) -> None:
        if not found.converged:
            last = [entry["objective"] for entry in found.history[-2:]]
            warn(
                f"MKLDR stopped after {len(found.history)} iterations, the last of which changed the objective by "
                f"{abs(last[0] - last[-1]):.2g} of {last[-1]:.2g} (tol is {self.tol:g}); raise max_iter, tol or ridge",
                ConvergenceWarning,
            )
        if kept.all() or (self.n_components is None and self.step == "ratio-trace"):
            return
        reason = "n_components is more than the graph and the rank of the kernels allow"
        if self.step != "ratio-trace":
            reason += f', or than pays under step={self.step!r}; step="ratio-trace" fills all that can be filled'
        warn(f"{np.sum(~kept)} of {len(kept)} components separate no samples and are left out; {reason}")

    def _store(self, stack: KernelStack, graph: Graph, search: Search, found: Any, kept: np.ndarray) -> None:
        self.graph_ = graph
        self.kernels_ = stack.kernels
        self.kernel_names_ = stack.names
        self.kernel_weights_ = pd.Series(found.weights, stack.names, copy=True)
        self.alphas_ = np.ascontiguousarray(found.coefficients[:, kept])
        self.ridge_ = search.ridge
        self.history_ = pd.DataFrame(found.history)
        self.objective_ = float(self.history_["objective"].iloc[-1])
        self.n_iter_ = len(found.history)
        self._n_features_out = self.alphas_.shape[1]
        self._state = stack.restrict(np.arange(stack.n_samples), self._active())

    def _active(self) -> np.ndarray:
        return self.kernel_weights_.to_numpy() > 0

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "alphas_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self.graph is None or getattr(self.graph, "reads_labels", False)
        return tags
