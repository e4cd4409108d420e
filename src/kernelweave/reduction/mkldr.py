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

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..combiners.named import as_numbers
from ..estimators.checks import check_count, check_number, check_target, check_training_views, unchanged_on_failure
from ..estimators.fitted import FittedKernels, in_blocks
from ..estimators.parameters import KernelParameters
from ..estimators.progress import progress_bar
from ..kernels import KernelStack
from ..kernels.naming import default_kernels
from ..solvers.embedding import spreads
from ..views import Views
from .graphs import Graph, LDAGraph, PCAGraph
from .steps import EXACT_KERNELS, Alternation

_STEPS = ("trace-ratio", "ratio-trace")
_WEIGHTS_STEPS = ("auto", "exact", "dnn", "paper", "fixed")


class MKLDR(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedKernels, KernelParameters):
    """Dimension reduction from several kernels: learn projections and kernel weights together.

    Minimises ``[tr(A'K_b L K_b A) + eps ||A||^2 ||b||^2] / tr(A'K_b L'K_b A)`` over coefficients A with ``A'A = I`` and
    weights ``b >= 0`` of ``K_b = sum_m b_m K_m``, where the graph gives L (samples to bring together) and L' (samples
    to keep apart) or D: MKL-DR, (17), by turns in A and in b. A sample x is embedded as ``A' K_b(X, x)`` (29).

    Parameters
    ----------
    kernels : list of kernels or (name, kernel), or None
        As in `MKLClassifier`; parameters are reached as ``kernels__<name>__<parameter>``.
    graph : Graph or None
        Which samples to bring together and which to keep apart; None means `LDAGraph()`.
    n_components : int or None
        Dimension of the embedding; None means one less than there are classes, or 2 where the graph reads no labels.
    normalize : {"unit-diagonal", "unit-trace", "center", None}
        Normalisation of each kernel, with constants from the training samples.
    step : {"trace-ratio", "ratio-trace"}
        How A is found. "trace-ratio" minimises the objective above and it never rises. "ratio-trace" is the paper's
        (21), ``min tr[(A'S'A)^-1 A'SA] / p``, S and S' the matrices of numerator and denominator, scaled to ``A'SA =
        I``: the space of kernel discriminant analysis for `LDAGraph`. There each direction counts whatever its spread,
        which serves kernels of low rank (linear ones) better, but the objective may rise. The trace ratio leaves
        components empty (with a warning) that would be worse than the mean of the others.
    weights_step : {"auto", "exact", "dnn", "paper", "fixed"}
        How b is found. "exact": globally, over supports; "dnn": by a doubly non-negative program and a local search;
        "auto": exactly for up to 12 kernels, else "dnn". "paper": what the relaxation (25)-(28) gives as printed, the
        unconstrained minimum, with negative weights set to zero. "fixed": not at all. `PCAGraph` leaves weights fixed.
    init : {"identity", "equal"}, or weights by kernel name or in order
        Where b begins: at its optimum for ``AA' = I`` (the paper's choice), at equal or at given weights.
    eps : float
        Weight of the term above, in units of the mean of ``tr(K_m L'K_m) / n_samples`` over the kernels. The larger,
        the smoother the projections and the more alike the weights of similar kernels.
    max_iter : int
        Limit on iterations (one step in each of b and A).
    tol : float
        Stop where the objective changes by at most this share.
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
        The objective at the end; for `PCAGraph` the number of components over their summed variances.
    eps_ : float
        `eps` in the units of the objective.
    history_ : DataFrame
        Objective and seconds so far by iteration.
    n_iter_ : int
    graph_ : Graph
    kernels_ : list of Kernel
    kernel_names_ : list of str
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Cost: O(M n^2 p + n^3) an iteration for M kernels, n samples and p components. Memory: the M Gram matrices, the
    combined one and at most four more of that size. Afterwards all training samples are kept, of their columns only
    those of kernels with a weight.

    A sample that lacks a view has no similarity to any other in that kernel: its embedding is the sum over the kernels
    it has. (`MKLClassifier` spreads the missing weights over the others; here K_b must be linear in b.)

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

    def __init__(
        self,
        kernels: Any = None,
        graph: Graph | None = None,
        n_components: int | None = None,
        *,
        normalize: str | None = "unit-diagonal",
        step: str = "trace-ratio",
        weights_step: str = "auto",
        init: Any = "identity",
        eps: float = 0.01,
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
        self.eps = eps
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
            eps, tol, max_iter = self._check_parameters()
            graph = clone(LDAGraph() if self.graph is None else self.graph)
            views = check_training_views(self, X)
            labels = graph.encode(check_target(self, y, views.n_samples)) if graph.reads_labels else None
            n_components = self._components(graph, labels, views.n_samples)
            kernels = default_kernels(views) if self.kernels is None else self.kernels
            stack = KernelStack(kernels, self.normalize, self.dtype).fit(views)
            grams = stack.matrices()
            alternation = Alternation(
                grams,
                *graph.laplacians(grams, stack.present, labels),
                eps,
                n_components,
                self.step,
                self._weights_step(graph, stack.n_kernels),
                check_random_state(self.random_state),
            )
            start = self._start(alternation, stack.names)
            with progress_bar("Fitting MKLDR", self.verbose) as progress:
                found = alternation.run(start, tol, max_iter, progress)
            self._warn(alternation, found)
            self._store(stack, graph, alternation, found)
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
        return in_blocks(views, len(self.alphas_), self._embedded)

    def _embedded(self, views: Views) -> np.ndarray:
        present = self._state.presence(views, self._active())
        embedded = np.zeros((views.n_samples, self.alphas_.shape[1]))
        for m, weight in enumerate(self.kernel_weights_):
            if weight > 0:
                embedded += weight * (self._state.cross(m, views, present[:, m]) @ self.alphas_)
        return embedded

    def _check_parameters(self) -> tuple[float, float, int]:
        if self.graph is not None and not isinstance(self.graph, Graph):
            raise ValueError(f"graph must be a graph such as LDAGraph() or None, not {self.graph!r}")
        if self.step not in _STEPS:
            raise ValueError(f"step must be one of {_STEPS}, not {self.step!r}")
        if self.weights_step not in _WEIGHTS_STEPS:
            raise ValueError(f"weights_step must be one of {_WEIGHTS_STEPS}, not {self.weights_step!r}")
        return (
            check_number("eps", self.eps, 0.0),
            check_number("tol", self.tol, 0.0),
            check_count("max_iter", self.max_iter),
        )

    def _components(self, graph: Graph, labels: np.ndarray | None, n_samples: int) -> int:
        n_components = check_count("n_components", self.n_components, or_none=True)
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
        if self.weights_step == "auto":
            return "exact" if n_kernels <= EXACT_KERNELS else "dnn"
        return self.weights_step

    def _start(self, alternation: Alternation, names: list[str]) -> np.ndarray:
        """Weights to begin with, summing to 1."""
        equal = np.full(len(names), 1.0 / len(names))
        if isinstance(self.init, str):
            if self.init not in ("identity", "equal"):
                raise ValueError(f'init must be "identity", "equal" or weights by kernel, not {self.init!r}')
            stays = self.init == "equal" or alternation.weights_step == "fixed"
            return equal if stays else alternation.identity_weights()
        weights = as_numbers(self.init, names, "init", default=0.0)
        if not weights.any():
            raise ValueError("init must give one of the kernels a positive weight")
        return weights / weights.sum()

    def _warn(self, alternation: Alternation, found: Any) -> None:
        if not found.converged:
            last = [entry["objective"] for entry in found.history[-2:]]
            warnings.warn(
                f"MKLDR stopped after {len(found.history)} iterations, the last of which changed the objective by "
                f"{abs(last[0] - last[-1]):.2g} of {last[-1]:.2g} (tol is {self.tol:g}); raise max_iter, tol or eps",
                ConvergenceWarning,
                stacklevel=3,
            )
        silent = spreads(alternation.combined(found.weights), found.coefficients, alternation.denominator) == 0
        if silent.any():
            warnings.warn(
                f"{silent.sum()} of {len(silent)} components tell no samples apart; n_components is more than the "
                'graph and the rank of the kernels allow, or than pays under step="trace-ratio", which leaves '
                "directions empty that are worse than the mean",
                UserWarning,
                stacklevel=3,
            )

    def _store(self, stack: KernelStack, graph: Graph, alternation: Alternation, found: Any) -> None:
        self.graph_ = graph
        self.kernels_ = stack.kernels
        self.kernel_names_ = stack.names
        self.kernel_weights_ = pd.Series(found.weights, stack.names, copy=True)
        self.alphas_ = found.coefficients
        self.eps_ = alternation.eps
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
