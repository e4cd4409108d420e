"""`MKLDR`: dimension reduction by graph embedding with learned kernel weights (MKL-DR).

Lin, Liu and Fuh, *Dimensionality reduction for data in multiple feature representations*. The mathematics is in
`steps`; this is the transformer around it.

=====================  =========================
MKL-DR                 here
=====================  =========================
A, (15)                `alphas_`
beta, (5)              `kernel_weights_`
P                      `n_components`
N, M                   n_samples, n_kernels
embedding of z, (29)   `MKLDR.transform`
=====================  =========================
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning

from ..._warnings import warn
from ...combiners.named import as_numbers
from ...estimators.fitted import FittedStack
from ...estimators.kernel_lists import KernelParameters
from ...estimators.progress import progress_bar
from ...kernels import KernelStack
from ...kernels.stacking.naming import default_kernels
from ...solvers.embedding.graph_embedding import spreads
from ...validation import Choice, Constraints, Flag, Instance, Number, Seed, Whole, check, check_parameters
from ...validation.inputs import check_row_labels, check_target, check_training_data, unchanged_on_failure
from ...views import Views
from ..base import check_some_view
from ..graphs.base import Graph, LDAGraph, PCAGraph
from .steps import EXACT_KERNELS, Search


class MKLDR(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedStack, KernelParameters):
    """Dimension reduction from several kernels: learn projections and kernel weights together.

    Minimises the ratio trace ``tr[(A'(S + S')A)^-1 A'SA] / n_components`` with ``S = K_b L K_b + ridge ||b||^2 I`` and
    ``S' = K_b L'K_b`` over coefficients A and weights ``b >= 0`` of ``K_b = sum_m b_m K_m``, where the graph gives L
    (samples to bring together) and L' (samples to keep apart) or D: MKL-DR, (17). A sample x is embedded as
    ``A' K_b(X, x)`` (29). At equal weights, where it starts, this is `KernelFisher` on the mean kernel, with the same
    `ridge`. Weights are learned under a larger ridge, `weights_ridge`, and are never worse by that objective than the
    start.

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
        Stop where an iteration changes the objective (or 1 less the ratio trace, where that is less) by at most this
        share.
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
    kernels_ : list of Kernel
    kernel_names_ : list of str
    n_features_in_ : int
    feature_names_in_ : ndarray of str

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

        Returns
        -------
        self
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
        """Embed samples, new ones or those of the fit: (29).

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
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
        """Weights to begin with, summing to 1."""
        equal = np.full(len(names), 1.0 / len(names))
        if isinstance(self.init, str):
            check(self, "init", self.init, Choice("equal", "identity"))
            stays = self.init == "equal" or search.weights_step == "fixed"
            return equal if stays else search.identity_weights()
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
